// Prints the official glTF validator's report on each file given, one line of JSON a file.
import { readFileSync } from "node:fs";
import { validateBytes } from "gltf-validator";

for (const path of process.argv.slice(2)) {
  const report = await validateBytes(new Uint8Array(readFileSync(path)), { maxIssues: 20 });
  const { numErrors, numWarnings, numInfos, messages } = report.issues;
  console.log(JSON.stringify({ path, numErrors, numWarnings, numInfos, messages }));
}
