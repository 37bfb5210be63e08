// Runs one scenario in Chromium and prints what it found as JSON.
// Usage: node browser.mjs SCENARIO ARGUMENTS.json
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import * as measuring from "./bench.mjs";
import * as gpu from "./gpu.mjs";
import * as scenarios from "./scenarios.mjs";
import * as serving from "./serve_scenarios.mjs";
import * as streaming from "./stream_scenarios.mjs";

const [name, argumentsPath] = process.argv.slice(2);
const options = JSON.parse(readFileSync(argumentsPath, "utf8"));
const { chromium } = createRequire(options.modules)("playwright-core");

const flags = [
  "--no-sandbox",
  "--disable-gpu",
  "--use-gl=angle",
  "--use-angle=swiftshader",
  "--enable-unsafe-swiftshader",
  "--disable-quic",
  "--no-first-run",
  "--disable-background-networking",
  "--disable-component-update",
  "--disable-sync",
];
const browser = await chromium.launch({ executablePath: options.chromium, headless: true, args: flags });
try {
  const context = await browser.newContext(options.context ?? { viewport: { width: 1280, height: 800 } });
  const page = await context.newPage();
  const faults = [];
  const hosts = new Set();
  page.on("pageerror", (error) => faults.push(String(error)));
  page.on("console", (message) => {
    if (message.type() === "error") faults.push(message.text());
  });
  page.on("request", (request) => {
    if (/^https?:/.test(request.url())) hosts.add(new URL(request.url()).host);
  });
  const found = await (scenarios[name] ?? gpu[name] ?? serving[name] ?? streaming[name] ?? measuring[name])(page, options);
  if (options.screenshot) await page.screenshot({ path: options.screenshot });
  process.stdout.write(JSON.stringify({ ...found, faults, hosts: [...hosts] }));
} finally {
  await browser.close();
}
