// Files that the bundler puts into the bundle as bytes.
declare module "*.wasm" {
  const bytes: Uint8Array;
  export default bytes;
}
declare module "*.bin" {
  const bytes: Uint8Array;
  export default bytes;
}
declare module "*.csv" {
  const text: string;
  export default text;
}
declare module "*.txt" {
  const bytes: Uint8Array;
  export default bytes;
}
