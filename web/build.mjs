// Builds dist/ (the npm package) and the player's page into the Python package.
// Usage: node build.mjs [--wasm FILE] [--assets FOLDER]
import { execFileSync } from "node:child_process";
import { cpSync, existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { dirname, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import { build } from "esbuild";

const here = dirname(fileURLToPath(import.meta.url));
const { values: options } = parseArgs({
  options: {
    wasm: { type: "string", default: resolve(here, "../build/kinepack.wasm") },
    assets: { type: "string", default: resolve(here, "../src/kinepack/web_assets") },
  },
});
const wasm = resolve(options.wasm);
if (!existsSync(wasm)) throw new Error(`${wasm} is missing: make build/kinepack.wasm builds it`);

const shared = {
  bundle: true,
  format: "esm",
  target: "es2022",
  legalComments: "none",
  logLevel: "warning",
  loader: { ".wasm": "binary", ".bin": "binary", ".txt": "binary", ".csv": "text" },
  alias: {
    "kinepack.wasm": wasm,
    "kinepack-skeletons.txt": resolve(here, "../src/kinepack/container/skeletons.txt"),
  },
  absWorkingDir: here,
};

rmSync(resolve(here, "dist"), { recursive: true, force: true });
execFileSync(process.execPath, [resolve(here, "node_modules/typescript/bin/tsc"), "--emitDeclarationOnly"], {
  cwd: here,
  stdio: "inherit",
});
for (const part of ["player", "serve"]) rmSync(resolve(here, "dist/types", part), { recursive: true }); // no part of the npm package

/** The licences of what is bundled, as those licences ask. */
const licences = (...names) =>
  names.map((name) => `${name}\n\n${readFileSync(resolve(here, "node_modules", name, "LICENSE"), "utf8")}`).join("\n\n");

await build({
  ...shared,
  entryPoints: { kinepack: "src/index.ts", three: "src/three/loader.ts" },
  outdir: "dist",
  splitting: true, // the loader shares the wasm module with the plain reader
  chunkNames: "shared-[hash]",
  external: ["three"],
});

mkdirSync(options.assets, { recursive: true });
await build({
  ...shared,
  entryPoints: { player: "src/player/main.ts", style: "src/player/style.css" },
  outdir: options.assets,
  minify: true,
});
cpSync(resolve(here, "src/player/index.html"), resolve(options.assets, "index.html"));
await build({
  ...shared,
  entryPoints: { live: "src/serve/live.ts", energy: "src/serve/energy.ts", pages: "src/serve/style.css" },
  outdir: options.assets,
  minify: true,
});
for (const page of ["live.html", "energy.html"]) cpSync(resolve(here, "src/serve", page), resolve(options.assets, page));
writeFileSync(resolve(options.assets, "licences.txt"), licences("three", "fflate", "fzstd"));
writeFileSync(resolve(here, "dist/licences.txt"), licences("fflate", "fzstd"));
cpSync(resolve(here, "../LICENSE"), resolve(here, "dist/LICENSE"));

// The codecs this build decodes and their versions, for those who compare it with the Python package.
const { codecs } = await import(resolve(here, "dist/kinepack.js"));
writeFileSync(resolve(here, "dist/codecs.txt"), [...codecs.values()].map(({ id, version }) => `${id} ${version}\n`).join(""));
