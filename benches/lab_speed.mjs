// Runs a benchmark scenario in the engine of the lab, under V8: node lab_speed.mjs ENGINE SCENARIO DURATION REPEATS.
// Prints packet-hops a second of each run, in millions. The compiler optimises during the first runs.

import { readFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { pathToFileURL } from "node:url";

const [folder, scenario, duration, repeats] = process.argv.slice(2);
const engine = await import(pathToFileURL(resolve(folder, "forebay_wasm.js")));
engine.initSync({ module: readFileSync(join(folder, "forebay_wasm_bg.wasm")) });
const text = readFileSync(scenario, "utf8");
const speeds = [];
let digest;
for (let repeat = 0; repeat < Number(repeats); repeat += 1) {
  const run = engine.run(text, [["duration", duration]], {}, undefined, undefined, () => true);
  speeds.push(run.engine.packet_hops / run.engine.cpu_s / 1e6);
  digest = run.digest;
}
console.log(JSON.stringify({ speeds, digest }));
