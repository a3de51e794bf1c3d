#!/usr/bin/env bash
# Node's avsc writes the Avro JSON form of one union of a record right, and of another one as a record of nothing but defaults.
#
# One would guess: a value in the form of Avro's JSON encoding, {"full.Name": {...}}, is good for every union of a schema or
#   for none, and one that cannot be written is an error.
# What happens: by default each union decides for itself. Beside ["record A", "record B"], whose values must be wrapped, a
#   union ["null", "record"] takes bare values. A wrapped value there is valid, too: its only key is no field of the record
#   and is ignored, so that each field gets its default. isValid says true, no error, the value is lost. With
#   wrapUnions: true all unions want the wrapped form, and the bare one is an error.
# Versions: avsc 5.7.9, Node 20.20.2.
# Date: 2026-11-28.
# Why it matters: event schemas have both kinds of unions in one record (a list of changes, an optional part of a table), and
#   Kafka's serializers for Node stand on avsc. An event that a tool of Java printed as JSON is published with values lost.
# Source: avsc's documentation of Type.forSchema says that wrapUnions "auto" takes the unwrapped form wherever it can be told
#   apart; that the wrapped one is then taken for a record of defaults is behaviour as run here. isValid with
#   noUndeclaredFields: true refuses it.
#
# usage: findings/avsc_wrapped_union.sh ; needs Node and npm, installs into a temporary folder, ends with 0 if all is as said
# above.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
npm init --yes >/dev/null
npm install --silent --no-audit --no-fund avsc@5.7.9 >/dev/null
node - <<'NODE'
const avro = require("avsc");
const {isDeepStrictEqual} = require("util");

console.log("avsc", require("avsc/package.json").version, "node", process.version);
const text = (name) => ({name, type: "string"});
const schema = {
  type: "record", name: "Event", namespace: "example", fields: [
    {name: "changes", type: {type: "array", items: [
      {type: "record", name: "Added", fields: [text("table")]},
      {type: "record", name: "Dropped", fields: [text("table")]},
    ]}},
    {name: "storage", default: null, type: ["null", {type: "record", name: "Storage", fields: [
      {name: "slots", type: "long", default: 0},
      {name: "eviction", type: "string", default: "none"},
    ]}]},
  ],
};
const changes = [{"example.Dropped": {table: "ads"}}];
const storage = {slots: 3, eviction: "lru"};
const wrapped = {changes, storage: {"example.Storage": storage}};
const bare = {changes, storage};

function written(value, options, check) {
  const type = avro.Type.forSchema(schema, options);
  if (!type.isValid(value, check)) {
    return "invalid";
  }
  return JSON.parse(JSON.stringify(type.fromBuffer(type.toBuffer(value)).storage));
}

const cases = [
  ["wrapped, by default", written(wrapped, {}), {slots: 0, eviction: "none"}],
  ["bare, by default", written(bare, {}), storage],
  ["wrapped, noUndeclaredFields", written(wrapped, {}, {noUndeclaredFields: true}), "invalid"],
  ["wrapped, wrapUnions: true", written(wrapped, {wrapUnions: true}), {"example.Storage": storage}],
  ["bare, wrapUnions: true", written(bare, {wrapUnions: true}), "invalid"],
];
for (const [what, seen, expected] of cases) {
  const same = isDeepStrictEqual(seen, expected);
  console.log(`storage ${what}: ${JSON.stringify(seen)}${same ? "" : `; expected ${JSON.stringify(expected)}`}`);
  process.exitCode ||= same ? 0 : 1;
}
NODE
