#!/usr/bin/env node
// Checks what a checkpoint of the log covers, from files alone, with nothing but BELIEF_PROTOCOL.md in hand.
//
//   node conformance/verify_log.mjs [--witness KEYS]... KEYS CHECKPOINT LEDGER [PROOF]
//   node conformance/verify_log.mjs [--witness KEYS]... KEYS CHECKPOINT --later CHECKPOINT CONSISTENCY
//
// KEYS has public keys of the log, one per line. Every witness whose key is given must have cosigned; it says when:
// what the checkpoint covers was in the log by then. The first form says which events of an exported ledger were in
// the log when the checkpoint was signed; the proof is in the ledger's header, or in a file. Whether the session has
// events after those of the file is not seen: a file that was cut short has a proof for its new end. The second says
// whether the later checkpoint keeps all that the earlier one has. Exits 0, or says what is wrong and exits 5.
import { createHash, createPublicKey, verify as verifySignature } from "node:crypto";
import { readFileSync, realpathSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { isBlank, parse, verify } from "./verify.mjs";

const HASH_BYTES = 32;
const LOG_KEY = 1;
const WITNESS_KEY = 4;
const SIGNATURE_BYTES = 64;
const TIME_BYTES = 8;
const LAST_DATE = 8.64e15; // of what JavaScript can write, in milliseconds
const KEY_ID_BYTES = 4;
const MAX_NOTE_BYTES = 1 << 20;
const MAX_SIGNATURES = 100;
const MAX_LEAVES = 2 ** 53;
const HEX = /^[0-9a-f]{64}$/;
const NAME = /^[^\p{White_Space}+]{1,255}$/u; // of a key
const CONTROL = /[\u0000-\u0009\u000b-\u001f]/;
const EMPTY_ROOT = createHash("sha256").digest();
const SPKI = Buffer.from("302a300506032b6570032100", "hex"); // what stands before an Ed25519 key in DER
const sha256 = (...parts) => {
  const hash = createHash("sha256");
  for (const part of parts) hash.update(part);
  return hash.digest();
};
class Bad extends Error {}
const fail = (code, reason) => {
  throw new Bad(`${code}: ${reason}`);
};

// ---- signed notes and checkpoints ----------------------------------------------------------------

const base64 = (text) => {
  const bytes = Buffer.from(text, "base64");
  return bytes.toString("base64") === text ? bytes : null; // one text per value
};

export const readKey = (line) => keyOf(line, LOG_KEY);
export const readWitness = (line) => keyOf(line, WITNESS_KEY);

function keyOf(line, kind) {
  const [name, id, ...rest] = line.split("+");
  const blob = base64(rest.join("+"));
  if (!NAME.test(name) || blob === null || blob.length !== 1 + HASH_BYTES || blob[0] !== kind) {
    fail("INVALID_REQUEST", `not the public key of a ${kind === LOG_KEY ? "log" : "witness"}: ${line.slice(0, 64)}`);
  }
  const keyId = sha256(name, "\n", blob).subarray(0, 4);
  if (keyId.toString("hex") !== id) fail("INVALID_REQUEST", "the id of the key is that of another");
  return { name, keyId, key: createPublicKey({ key: Buffer.concat([SPKI, blob.subarray(1)]), format: "der", type: "spki" }) };
}

// Bytes that are no UTF-8 are not put right, and a byte order mark is not passed over.
const utf8 = (bytes) => new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(bytes);

// The text of a note and the lines under it.
function readNote(bytes) {
  const forged = (reason) => fail("CHECKPOINT_FORGED", reason);
  if (bytes.length > MAX_NOTE_BYTES) forged(`a signed note has ${MAX_NOTE_BYTES} bytes at most`);
  let note;
  try {
    note = utf8(bytes);
  } catch {
    forged("a signed note is UTF-8");
  }
  const end = note.lastIndexOf("\n\n");
  if (end < 0 || !note.endsWith("\n") || CONTROL.test(note)) forged("not a signed note");
  const lines = note.slice(end + 2, -1).split("\n");
  if (lines.length > MAX_SIGNATURES) forged(`a signed note has ${MAX_SIGNATURES} signatures at most`);
  const signatures = lines.map((line) => {
    const [dash, name, encoded, ...more] = line.split(" ");
    const blob = base64(encoded ?? "");
    if (dash !== "\u2014" || !NAME.test(name ?? "") || !(blob?.length > KEY_ID_BYTES) || more.length) {
      forged("a line that is no signature");
    }
    return { name, keyId: blob.subarray(0, KEY_ID_BYTES), signature: blob.subarray(KEY_ID_BYTES) };
  });
  return { text: note.slice(0, end + 1), signatures };
}

// When a witness says that it has seen a text, in seconds.
function cosignedAt(text, key, blob) {
  if (blob.length !== TIME_BYTES + SIGNATURE_BYTES) fail("CHECKPOINT_FORGED", `the signature of ${key.name} has not the length of one`);
  const time = blob.readBigUInt64BE(0);
  const message = Buffer.from(`cosignature/v1\ntime ${time}\n${text}`);
  if (!verifySignature(null, message, key.key, blob.subarray(TIME_BYTES))) {
    fail("CHECKPOINT_FORGED", `the signature of ${key.name} is forged, or of another text`);
  }
  return time;
}

function cosignatures(text, signatures, witnesses) {
  return witnesses.map((key) => {
    const found = signatures.filter(({ name, keyId }) => key.name === name && key.keyId.equals(keyId));
    if (!found.length) fail("WITNESS_MISSING", `the checkpoint is not cosigned by ${key.name}`);
    // All of them must be right; the first counts.
    return { name: key.name, time: found.map(({ signature }) => cosignedAt(text, key, signature))[0] };
  });
}

export function readCheckpoint(bytes, keys, witnesses = []) {
  const { text, signatures } = readNote(bytes);
  const [origin, size, encoded, ...extensions] = text.slice(0, -1).split("\n");
  const root = base64(encoded ?? "");
  if (!origin || !/^(0|[1-9]\d{0,15})$/.test(size ?? "") || BigInt(size) > MAX_LEAVES || root?.length !== HASH_BYTES || extensions.includes("")) {
    fail("CHECKPOINT_FORGED", "not a checkpoint");
  }
  let signed = false;
  for (const { name, keyId, signature } of signatures) {
    for (const one of keys) {
      if (one.name !== name || !one.keyId.equals(keyId)) continue;
      if (!verifySignature(null, Buffer.from(text), one.key, signature)) {
        fail("CHECKPOINT_FORGED", `the signature of ${name} is forged, or of another text`);
      }
      signed ||= name === origin;
    }
  }
  if (!signed) fail("CHECKPOINT_FORGED", "no key that is trusted has signed it");
  return { origin, size: Number(size), root, cosigned: cosignatures(text, signatures, witnesses) };
}

// ---- the tree: RFC 6962 and RFC 9162 -------------------------------------------------------------

const leafHash = (data) => sha256(Buffer.from([0]), data);
const nodeHash = (left, right) => sha256(Buffer.from([1]), left, right);
const halved = (number) => Math.floor(number / 2);
const isOdd = (number) => number % 2 === 1;

function hashes(path) {
  // A list of one text has the same text as that text: it must be one itself.
  if (!Array.isArray(path) || !path.every((one) => typeof one === "string" && HEX.test(one))) fail("PROOF_INVALID", "a hash has 64 digits of 0-9a-f");
  return path.map((one) => Buffer.from(one, "hex"));
}

// The way up from a place: each hash of the path, and whether it stands on the left.
function* climb(place, last, path) {
  for (const beside of path) {
    if (last === 0) fail("PROOF_INVALID", "it has more hashes than a proof for these places");
    const left = isOdd(place) || place === last;
    while (place === last && place > 0 && !isOdd(place)) [place, last] = [halved(place), halved(last)];
    yield [beside, left];
    [place, last] = [halved(place), halved(last)];
  }
  if (last !== 0) fail("PROOF_INVALID", "it has fewer hashes than a proof for these places");
}

export function rootOf(leaf, index, size, path) {
  if (!Number.isSafeInteger(index) || index < 0 || index >= size) fail("PROOF_INVALID", "no leaf of this log");
  let root = leaf;
  for (const [beside, left] of climb(index, size - 1, path)) {
    root = left ? nodeHash(beside, root) : nodeHash(root, beside);
  }
  return root;
}

export function checkConsistency(earlier, later, path) {
  const split = (reason) => fail("SPLIT_VIEW", reason);
  if (earlier.origin !== later.origin) fail("PROOF_INVALID", "they are of two logs");
  if (later.size < earlier.size) fail("LOG_ROLLED_BACK", `${later.size} leaves, and there were ${earlier.size}`);
  if (earlier.size === later.size && !earlier.root.equals(later.root)) split("two checkpoints of one size with different roots");
  if (earlier.size === 0 || earlier.size === later.size) {
    if (path.length) fail("PROOF_INVALID", "between these sizes a proof has no hashes");
    if (earlier.size === 0 && !earlier.root.equals(EMPTY_ROOT)) split("a log without leaves has another root");
    return;
  }
  let [place, last] = [earlier.size - 1, later.size - 1];
  while (isOdd(place)) [place, last] = [halved(place), halved(last)];
  const whole = place === 0; // the earlier tree is one subtree, whose root is known already
  const [first, ...rest] = whole ? [earlier.root, ...path] : path;
  if (first === undefined) fail("PROOF_INVALID", "it has fewer hashes than a proof for these places");
  let [before, after] = [first, first];
  for (const [beside, left] of climb(place, last, rest)) {
    if (left) before = nodeHash(beside, before);
    after = left ? nodeHash(beside, after) : nodeHash(after, beside);
  }
  if (!before.equals(earlier.root) || !after.equals(later.root)) {
    split(`the log of ${later.size} leaves does not begin with the one of ${earlier.size}`);
  }
}

// The same of a proof as the server gives it, for these two sizes.
export function checkLater(earlier, later, proofText) {
  const proof = parse(proofText);
  const told = [proof.get("from_size"), proof.get("to_size")];
  if (earlier.size < later.size && (told[0] !== earlier.size || told[1] !== later.size)) {
    fail("PROOF_INVALID", `it is for the sizes ${told[0]} and ${told[1]}`);
  }
  checkConsistency(earlier, later, hashes(proof.get("path")));
}

// ---- a ledger and its proof ----------------------------------------------------------------------

export function checkLedger(checkpoint, ledger, proofText) {
  const verdict = verify(ledger);
  if (!verdict.ok) fail("LEDGER_BROKEN", verdict.text);
  const [first, ...lines] = utf8(ledger).split("\n").filter((line) => !isBlank(line));
  const header = parse(first);
  const proof = proofText === undefined ? header.get("proof") : parse(proofText);
  if (!(proof instanceof Map)) fail("NOT_COVERED", "there is no proof in the header of the ledger");
  const seq = proof.get("seq");
  if (proof.get("session_id") !== header.get("session_id")) fail("PROOF_INVALID", "it is about another session");
  const entry = Number.isSafeInteger(seq) && lines[seq - 1] !== undefined ? parse(lines[seq - 1]) : undefined;
  if (!entry || ["event_id", "hash"].some((name) => entry.get(name) !== proof.get(name))) {
    fail("PROOF_INVALID", `it is not about event ${seq} of this ledger`);
  }
  if (proof.get("size") !== checkpoint.size) {
    fail("PROOF_INVALID", `it is for a log of ${proof.get("size")} leaves, and the checkpoint is of ${checkpoint.size}`);
  }
  const leaf = leafHash(Buffer.from(entry.get("hash"), "hex"));
  if (!rootOf(leaf, proof.get("index"), checkpoint.size, hashes(proof.get("path"))).equals(checkpoint.root)) {
    fail("PROOF_INVALID", "it leads to another root than the checkpoint's");
  }
  return { covered: seq, inFile: lines.length };
}

function keysIn(file, read) {
  const keys = readFileSync(file, "utf8").split("\n").filter((line) => line.trim()).map((line) => read(line));
  if (!keys.length) throw new Error(`${file} holds no key`);
  return keys;
}

function told({ cosigned }) {
  const written = (time) => (time <= LAST_DATE / 1000 ? new Date(Number(time) * 1000).toISOString().replace(".000", "") : `${time} seconds after 1970`);
  return cosigned.map(({ name, time }) => `\ncosigned by ${name} at ${written(time)}: it was in the log by then`).join("");
}

function main(given) {
  const witnesses = [];
  while (given[0] === "--witness" && given.length > 1) {
    witnesses.push(...keysIn(given[1], readWitness));
    given = given.slice(2);
  }
  const [keyFile, checkpointFile, ...rest] = given;
  if (!rest.length || (rest[0] === "--later" && rest.length !== 3)) {
    throw new Error("give KEYS CHECKPOINT LEDGER [PROOF], or KEYS CHECKPOINT --later CHECKPOINT CONSISTENCY");
  }
  const keys = keysIn(keyFile, readKey);
  const checkpoint = readCheckpoint(readFileSync(checkpointFile), keys, witnesses);
  if (rest[0] === "--later") {
    const later = readCheckpoint(readFileSync(rest[1]), keys, witnesses);
    checkLater(checkpoint, later, utf8(readFileSync(rest[2])));
    return `ok the log of ${later.size} leaves begins with the ${checkpoint.size} of the earlier checkpoint${told(later)}`;
  }
  const [ledger, proof] = rest;
  const found = checkLedger(checkpoint, readFileSync(ledger), proof && utf8(readFileSync(proof)));
  const covered = `events 1 to ${found.covered} of ${found.inFile} in the file are covered by the checkpoint of size ${checkpoint.size}`;
  return `ok ${covered}; whether more followed cannot be seen from it${told(checkpoint)}`;
}

if (process.argv[1] && realpathSync(process.argv[1]) === fileURLToPath(import.meta.url)) {
  try {
    console.log(main(process.argv.slice(2)));
  } catch (error) {
    console.log(error instanceof Bad ? error.message : `INVALID_REQUEST: ${error.message}`);
    process.exitCode = error instanceof Bad ? 5 : 2;
  }
}
