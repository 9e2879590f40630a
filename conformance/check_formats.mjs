#!/usr/bin/env node
// Checks the format vectors with the functions of verify.mjs: canonical JSON, and every hash of section 3.
//
//   node conformance/check_formats.mjs
//
// Prints `ok <n> values` and exits 0, or names the first value that differs and exits 5.
import { readFileSync } from "node:fs";
import { canonical, genesisHash, parse, sha256, Survivors, Universe } from "./verify.mjs";

const read = (name) => parse(readFileSync(new URL(`./vectors/formats/${name}`, import.meta.url), "utf8"));
let checked = 0;
const same = (what, made, expected) => {
  if (made !== expected) {
    console.log(`bad value ${what}: made ${made}, expected ${expected}`);
    process.exit(5);
  }
  checked++;
};
const refuses = (text) => {
  try {
    parse(text);
    return false;
  } catch {
    return true;
  }
};

const formats = read("canonical.json");
for (const vector of formats.get("accepted")) {
  const written = canonical(parse(vector.get("json")));
  same(vector.get("name"), written, vector.get("canonical"));
  same(vector.get("name"), sha256(written).toString("hex"), vector.get("sha256"));
}
for (const vector of formats.get("refused")) same(vector.get("name"), refuses(vector.get("json")), true);

const hashes = read("hashes.json");
for (const vector of hashes.get("universes")) {
  const universe = new Universe(vector.get("hypotheses"));
  same("universe hash", universe.hash.toString("hex"), vector.get("universe_hash"));
  for (const wanted of vector.get("survivors")) {
    const survivors = new Survivors(universe);
    const kept = new Set(wanted.get("surviving"));
    for (const id of new Set(vector.get("hypotheses"))) if (!kept.has(id)) survivors.remove(id);
    same("bitmap", survivors.bitmap.toString("hex"), wanted.get("bitmap"));
    same("survivors hash", survivors.hash, wanted.get("survivors_hash"));
  }
}
for (const vector of hashes.get("genesis")) {
  const universe = new Universe(vector.get("hypotheses"));
  const made = genesisHash(vector.get("session_id"), vector.get("ontology"), universe);
  same("genesis hash", made, vector.get("genesis_hash"));
}
for (const vector of hashes.get("policies")) {
  same("policy hash", sha256(canonical(vector.get("document"))).toString("hex"), vector.get("policy_hash"));
}
console.log(`ok ${checked} values`);
