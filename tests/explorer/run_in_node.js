// node run_in_node.js /path/of/engine.js kernel.wasm < cases.json > results.json
const fs = require("node:fs");
const [engine, wasm] = process.argv.slice(2);
require(engine);
require("./run_cases.js");
const cases = JSON.parse(fs.readFileSync(0, "utf8"));
globalThis.runCases(fs.readFileSync(wasm).toString("base64"), cases).then(
  (found) => fs.writeFileSync(1, JSON.stringify(found)),
  (error) => {
    console.error(error);
    process.exitCode = 1;
  },
);
