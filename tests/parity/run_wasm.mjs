// Runs a list of kernel calls in one WebAssembly instance.
// Usage: node run_wasm.mjs MODULE.wasm JOBS.json INPUT.bin OUTPUT.bin
//
// A job is {function, arguments}; an argument is {number} or {offset, size}: a buffer of the input file, passed as a
// pointer (size -1: a null pointer). The output is, for each job, an int32 status and then all its buffers as the
// kernel left them.
import { readFileSync, writeFileSync } from "node:fs";

const [modulePath, jobsPath, inputPath, outputPath] = process.argv.slice(2);
const module = new WebAssembly.Module(readFileSync(modulePath));
const { exports } = new WebAssembly.Instance(module, {});
const input = readFileSync(inputPath);
const heap = exports.__heap_base.value;

function reserve(end) {
  const missing = end - exports.memory.buffer.byteLength;
  if (missing > 0) exports.memory.grow(Math.ceil(missing / 65536));
}

function place(buffers) {
  let next = Math.ceil(heap / 16) * 16;
  const addresses = buffers.map(({ size }) => {
    const address = next;
    next += Math.ceil(size / 16) * 16 + 16;
    return address;
  });
  reserve(next);
  const memory = new Uint8Array(exports.memory.buffer);
  buffers.forEach(({ offset, size }, i) => memory.set(input.subarray(offset, offset + size), addresses[i]));
  return addresses;
}

function run(job) {
  const buffers = job.arguments.filter((argument) => argument.size >= 0);
  const addresses = place(buffers);
  let used = 0;
  const values = job.arguments.map((argument) => {
    if ("number" in argument) return argument.number;
    return argument.size < 0 ? 0 : addresses[used++];
  });
  const status = Buffer.alloc(4);
  status.writeInt32LE(exports[job.function](...values));
  const memory = Buffer.from(exports.memory.buffer);
  const results = buffers.map(({ size }, i) => Buffer.from(memory.subarray(addresses[i], addresses[i] + size)));
  return Buffer.concat([status, ...results]);
}

const jobs = JSON.parse(readFileSync(jobsPath, "utf8"));
writeFileSync(outputPath, Buffer.concat(jobs.map(run)));
