#!/usr/bin/env node
// Verifies an exported ledger with nothing but BELIEF_PROTOCOL.md in hand: every hash is recomputed here.
//
//   node conformance/verify.mjs ledger.jsonl        (or: ... < ledger.jsonl)
//
// Prints `ok <n> events, head <hash>` and exits 0, or names the first bad event (or line) and exits 5.
import { createHash } from "node:crypto";
import { readFileSync, realpathSync } from "node:fs";
import { fileURLToPath } from "node:url";

const FORMAT = "beliefd-ledger/1";
const PROTOCOL = "belief/1";
const MAX_DEPTH = 64;
const MAX_NOTES = 2000;
const STATE_HASH_EVERY = 256;
const GROWING = [
  "bundles", "endings", "ended", "steps", "approvals", "grants", "rejectedWords", "shapers", "sparse", "snapshots", "written", "calls", "callKeys", "capabilities", "memory",
  "insufficient", "costs", "issued", "asked", "derived", "pins", "offered", "context", "begun", "refusedSinks",
  "observations", "measurements", "measuredWords", "experiments", "attempts", "runs", "evidence", "tries", "byClaim", "intents", "propositions", "speculative",
  "speculated", "tokens", "spaces", "imported", "keys", "erased",
];
const TIERS = ["READ_ONLY", "WRITE_LIMITED", "MODIFY", "DELETE", "PRIVILEGE"];
const TRAIL_LENGTH = 32;
const AMOUNTS = ["tokens", "cpu_ms", "disk_bytes"];
const HEX = /^[0-9a-f]{64}$/;
const LONE_SURROGATE = /\p{Surrogate}/u;
const REQUIRED = [
  "actor", "delta", "event_id", "payload", "policy_hash", "prev_hash", "protocol", "seq", "session_id",
  "survivors_after_hash", "survivors_before_hash", "ts", "verb",
];
const OPTIONAL = ["facts", "notes", "state_hash"];
const OBJECTS = ["actor", "delta", "payload", "facts"];
const MARK = "erasable:sha256:";

export const sha256 = (...chunks) => {
  const hash = createHash("sha256");
  for (const chunk of chunks) hash.update(chunk);
  return hash.digest();
};
const hex = (value) => sha256(canonical(value)).toString("hex");

// ---- protocol section 2: strict JSON in, canonical JSON out ------------------------------------
// Objects become Maps: no key is special, and a key that comes twice can be refused.

export function parse(text) {
  let at = 0;
  const fail = (reason) => {
    throw new Error(`not strict JSON at character ${at}: ${reason}`);
  };
  const space = () => {
    while (" \t\n\r".includes(text[at]) && at < text.length) at++;
  };
  const take = (token) => {
    space();
    if (!text.startsWith(token, at)) fail(`expected ${token}`);
    at += token.length;
  };
  const string = () => {
    const start = at++;
    while (text[at] !== '"') {
      if (at >= text.length) fail("unfinished text");
      at += text[at] === "\\" ? 2 : 1;
    }
    let value;
    try {
      value = JSON.parse(text.slice(start, ++at)); // refuses raw control characters and bad escapes
    } catch {
      fail("bad text");
    }
    if (LONE_SURROGATE.test(value)) fail("lone surrogate");
    return value;
  };
  const number = () => {
    const token = /-?(0|[1-9]\d*)(\.\d+)?([eE][+-]?\d+)?/y;
    token.lastIndex = at;
    const match = token.exec(text);
    if (!match) fail("expected a value");
    const value = Number(match[0]);
    const whole = !match[2] && !match[3];
    if (!Number.isFinite(value)) fail("number out of range");
    if (Math.abs(value) > Number.MAX_SAFE_INTEGER && (whole || Math.abs(value) < 1e21)) {
      fail("number past 2^53 - 1");
    }
    at += match[0].length;
    return value;
  };
  const object = (depth) => {
    const members = new Map();
    take("{");
    space();
    while (text[at] !== "}") {
      if (members.size) take(",");
      space();
      if (text[at] !== '"') fail("expected a key");
      const key = string();
      if (members.has(key)) fail(`key ${JSON.stringify(key)} appears twice`);
      take(":");
      members.set(key, value(depth + 1));
      space();
    }
    at++;
    return members;
  };
  const array = (depth) => {
    const items = [];
    take("[");
    space();
    while (text[at] !== "]") {
      if (items.length) take(",");
      items.push(value(depth + 1));
      space();
    }
    at++;
    return items;
  };
  const value = (depth) => {
    if (depth > MAX_DEPTH) fail(`nested deeper than ${MAX_DEPTH} levels`);
    space();
    switch (text[at]) {
      case "{": return object(depth);
      case "[": return array(depth);
      case '"': return string();
      case "t": take("true"); return true;
      case "f": take("false"); return false;
      case "n": take("null"); return null;
      default: return number();
    }
  };
  const result = value(0);
  space();
  if (at < text.length) fail("something follows the value");
  return result;
}

export function canonical(value) {
  if (Array.isArray(value)) return `[${value.map(canonical).join(",")}]`;
  if (value instanceof Map) {
    // `sort` without a comparator orders by UTF-16 code units, as RFC 8785 asks.
    const keys = [...value.keys()].sort();
    return `{${keys.map((key) => `${JSON.stringify(key)}:${canonical(value.get(key))}`).join(",")}}`;
  }
  return JSON.stringify(value); // texts, numbers, true, false, null: ECMAScript's form is the canonical one
}

/** A line with nothing but the white space of JSON: that of Unicode is not skipped. */
export const isBlank = (line) => /^[ \t\r\n]*$/.test(line);

const record = (members) => new Map(Object.entries(members));

// ---- protocol section 3: the hashes ------------------------------------------------------------

export class Universe {
  constructor(hypotheses) {
    this.ids = [...new Set(hypotheses)].map((id) => Buffer.from(id)).sort(Buffer.compare);
    this.places = new Map(this.ids.map((id, place) => [id.toString(), place]));
    const framed = this.ids.flatMap((id) => {
      const length = Buffer.alloc(4);
      length.writeUInt32BE(id.length);
      return [length, id];
    });
    this.hash = sha256("belief/1 universe\0", ...framed);
  }
}

export class Survivors {
  constructor(universe) {
    this.universe = universe;
    this.bitmap = Buffer.alloc(Math.ceil(universe.ids.length / 8));
    for (let place = 0; place < universe.ids.length; place++) this.bitmap[place >> 3] |= 0x80 >> (place & 7);
  }
  remove(id) {
    const place = this.universe.places.get(id);
    const mask = 0x80 >> (place & 7);
    if (place === undefined || !(this.bitmap[place >> 3] & mask)) return false;
    this.bitmap[place >> 3] &= ~mask;
    return true;
  }
  get hash() {
    return sha256("belief/1 survivors\0", this.universe.hash, this.bitmap).toString("hex");
  }
}

export const genesisHash = (sessionId, ontology, universe) =>
  hex(record({
    ontology, protocol: PROTOCOL, session_id: sessionId, universe_hash: universe.hash.toString("hex"),
  }));

export const stateHash = (session) => {
  const full = {
    session_id: session.id,
    survivors_hash: session.survivors.hash,
    eliminations: session.eliminations,
    witnessed: session.witnessed,
    obligations: [...session.obligations].map(([id, kept]) => [id, record(kept)]),
    conclusions: session.conclusions,
    last_conclusion: session.lastConclusion,
    conclusion_streak: session.streak,
    terminated: session.terminated,
    bundles: session.bundles,
    endings: session.endings,
    ended: session.ended,
    steps: session.steps,
    approvals: session.approvals,
    grants: session.grants,
    rejected_words: session.rejectedWords,
    shapers: session.shapers,
    trail: session.trail,
    sparse: session.sparse,
    state_version: session.stateVersion,
    committed: session.committed,
    snapshots: session.snapshots,
    written: session.written,
    lowered_mode: session.mode,
    mode_since: session.modeSince,
    set_mode: session.setMode,
    lowered_by: session.loweredBy,
    interruption: session.interruption,
    raised: session.raised,
    wakes: session.wakes,
    excited: session.excited,
    episode: session.episode,
    calls: session.calls,
    call_keys: session.callKeys,
    capabilities: session.capabilities,
    costs: session.costs,
    issued: session.issued,
    asked: session.asked,
    derived: session.derived,
    derived_under: session.derivedUnder,
    derived_size: session.derivedSize,
    s_core: session.sCore,
    pins: session.pins,
    offered: session.offered,
    memory: session.memory,
    context: session.context,
    begun: session.begun,
    refused_sinks: session.refusedSinks,
    observations: session.observations,
    measurements: session.measurements,
    measured_words: session.measuredWords,
    insufficient: session.insufficient,
    experiments: session.experiments,
    attempts: session.attempts,
    runs: session.runs,
    evidence: session.evidence,
    tries: session.tries,
    by_claim: session.byClaim,
    intents: session.intents,
    propositions: session.propositions,
    speculative: session.speculative,
    speculated: session.speculated,
    tokens: session.tokens,
    spaces: session.spaces,
    imported: session.imported,
    keys: session.keys,
    adopted_policy: session.adoptedPolicy,
    restored: session.restored,
    archived: session.archived,
    unarchived: session.unarchived,
    sealed_refusals: session.sealedRefusals,
    foreign: session.foreign,
    erased: session.erased,
    seal: session.seal,
  };
  const empty = (value) => !value || value.length === 0 || value.size === 0;
  return hex(new Map(Object.entries(full).filter(([, value]) => !empty(value))));
};

// ---- protocol section 4: what each kind of event does to the state -----------------------------

const begin = (id, payload) => ({
  id,
  survivors: new Survivors(new Universe(payload.get("hypotheses"))),
  eliminations: 0,
  witnessed: 0,
  obligations: new Map(),
  conclusions: new Map(),
  lastConclusion: null,
  streak: 0,
  terminated: false,
  bundles: new Map(),
  endings: new Map(),
  ended: new Map(),
  steps: new Map(),
  approvals: new Map(),
  grants: new Map(),
  rejectedWords: new Map(),
  shapers: new Map(),
  trail: [],
  sparse: new Map(),
  stateVersion: 0,
  committed: "",
  snapshots: new Map(),
  written: new Map(),
  mode: "",
  modeSince: "",
  setMode: null,
  loweredBy: null,
  interruption: null,
  raised: new Map(),
  wakes: [],
  excited: false,
  episode: null,
  calls: new Map(),
  callKeys: new Map(),
  capabilities: new Map(),
  costs: new Map(),
  issued: new Map(),
  asked: new Map(),
  derived: new Map(),
  derivedUnder: "",
  derivedSize: 0,
  sCore: null,
  pins: new Map(),
  offered: new Map(),
  memory: new Map(),
  context: new Map(),
  begun: new Map(),
  refusedSinks: new Map(),
  observations: new Map(),
  measurements: new Map(),
  measuredWords: new Map(),
  insufficient: new Map(),
  experiments: new Map(),
  attempts: new Map(),
  runs: new Map(),
  evidence: new Map(),
  tries: new Map(),
  byClaim: new Map(),
  intents: new Map(),
  propositions: new Map(),
  speculative: new Map(),
  speculated: new Map(),
  tokens: new Map(),
  spaces: new Map(),
  imported: new Map(),
  keys: new Map(),
  adoptedPolicy: "",
  restored: 0,
  archived: 0,
  unarchived: 0,
  sealedRefusals: 0,
  foreign: null,
  erased: new Map(),
  seal: null,
});

const stateHashDue = (session, seq) => {
  const held = GROWING.reduce((sum, name) => sum + session[name].size, 0);
  const doublings = held < 1024 ? 0 : Math.floor(Math.log2(Math.floor(held / 1024))) + 1;
  return seq % (STATE_HASH_EVERY * 2 ** doublings) === 0;
};

const known = (map, id) => {
  if (!map.has(id)) throw new Error(`its delta names \`${id}\`, which is not there`);
  return map.get(id);
};
const keepShaped = (session, shaped) => {
  for (const content of shaped?.get("content") ?? []) {
    const people = new Set([...(session.shapers.get(content) ?? []), ...shaped.get("by")]);
    session.shapers.set(content, [...people]);
  }
};
const keepApproval = (session, approval) => {
  keepShaped(session, approval.get("shaped"));
  session.approvals.set(approval.get("approval_id"), approval);
};
const CONTENT = ["bundle", "candidate", "change"];
const closedApproval = (approval, status, successor, by) => {
  const subject = new Map(approval.get("subject")); // it keeps its name, not its content
  for (const name of CONTENT) if (subject.has(name)) subject.set(name, null);
  const closed = new Map(approval).set("status", status).set("subject", subject);
  for (const name of ["words", "shaped"]) closed.delete(name);
  return closed.set("successor", successor).set("decided_by", by);
};
const keepReceipts = (session, receipts) => {
  for (const one of receipts) {
    session.measurements.set(one.get("measurement_id"), one);
    const known = session.measuredWords.get(one.get("gist")) ?? [];
    session.measuredWords.set(one.get("gist"), [...known, one.get("measurement_id")]);
  }
};
const keepBundle = (session, id, eventId, decision, approvalId) =>
  session.bundles.set(id, record({ approval_id: approvalId, decision, event_id: eventId }));
// A line feed stands in no id, so that a bundle and a claim never share a key.
const keepEnded = (session, ended, eventId) => {
  const id = ended.get("bundle_id");
  known(session.bundles, id);
  session.endings.set(eventId, ended);
  session.ended.set(id, eventId);
  for (const name of ended.get("claim_ids")) session.ended.set(`${id}\n${name}`, eventId);
  if (ended.has("correction")) session.steps.set(ended.get("correction"), ended.get("step"));
};
const keepGated = (session, gated, eventId) => {
  const approval = gated.get("approval");
  keepShaped(session, gated.get("shaped"));
  if (approval) keepApproval(session, approval);
  const bundle = gated.get("bundle");
  keepBundle(session, bundle.get("id"), eventId, bundle.get("decision"), approval?.get("approval_id") ?? null);
  if (gated.has("ended")) keepEnded(session, gated.get("ended"), eventId);
};
const keepTokens = (session, tokens) => {
  for (const one of tokens) session.tokens.set(one.get("token").get("token_id"), one);
};
const ended = (map, at) => {
  for (const [id, one] of map) map.set(id, new Map(one).set("revoked_at", one.get("revoked_at") ?? at));
};
// Of each of these, the members that say that somebody saw or confirmed it.
const UNSEEN = {
  memory: { confirmed: false, confirmed_by: null, witness: null },
  observations: { witnesses: [], label: "attested" },
  experiments: { label: "attested" },
  evidence: { label: "attested" },
};
const unseen = (map, members) => {
  for (const [id, one] of map) map.set(id, new Map([...one, ...Object.entries(members)]));
};
// Whatever was said elsewhere lets nothing happen here: as if nobody had said anything yet.
const unsaid = (approval, by) => {
  const proposers = approval.get("proposers");
  const left = new Map(approval).set("proposers", proposers.includes(by) ? proposers : [...proposers, by]);
  left.delete("overridden");
  return left.set("approvals", []).set("earlier", []).set("approved_gates", []);
};
const countBegun = (session, id, more) => session.begun.set(id, Math.max(0, (session.begun.get(id) ?? 0) + more));
const uncount = (session, call) => session.begun.has(call.get("tool_id")) && countBegun(session, call.get("tool_id"), -1);
const keepTraced = (session, result) => {
  if (!result.has("refused_sinks")) return;
  if (result.get("call")) countBegun(session, result.get("call").get("tool_id"), 1);
  const asked = result.get("approval")?.get("content_hash") ?? "";
  for (const sink of result.get("refused_sinks")) session.refusedSinks.set(sink, asked);
};
const keepContext = (session, item) => session.context.set(String(session.context.size + 1), item);
const keepPin = (session, pin) => {
  session.pins.set(pin.get("tool").get("name"), pin);
  session.offered.delete(pin.get("tool").get("name"));
};
const keepGrant = (session, delta) => session.grants.set(delta.get("grant").get("grant_id"), delta.get("grant"));

// Uses count against a capability and against all that it came out of.
const use = (session, id, spent, member = "used") => {
  for (let at = id; at; at = session.capabilities.get(at).get("parent")) {
    const capability = new Map(known(session.capabilities, at));
    const sums = new Map(capability.get(member) ?? AMOUNTS.map((name) => [name, 0]));
    for (const [name, more] of Object.entries(spent)) {
      sums.set(name, Math.max(0, Math.min(sums.get(name) + more, Number.MAX_SAFE_INTEGER)));
    }
    // Nothing set aside is not written down.
    if (member === "reserved" && AMOUNTS.every((name) => sums.get(name) === 0)) capability.delete(member);
    else capability.set(member, sums);
    session.capabilities.set(at, capability);
  }
};
const amounts = (from, sign = 1) => Object.fromEntries(AMOUNTS.map((name) => [name, sign * from.get(name)]));
// What was set aside for a call is settled when it ends; while nobody knows how, all of it counts as used.
const settle = (session, call, delta) => {
  const [id, aside, tool] = [call.get("capability_id"), call.get("reserved"), call.get("tool_id")];
  const wasUnknown = known(session.calls, call.get("call_id")).get("status") === "unknown";
  if (!wasUnknown) use(session, id, amounts(aside, -1), "reserved");
  if (call.get("status") === "unknown") {
    if (!wasUnknown) use(session, id, amounts(aside));
    return;
  }
  if (wasUnknown) use(session, id, amounts(aside, -1));
  use(session, id, amounts(delta));
  const most = session.costs.get(tool) ?? new Map(AMOUNTS.map((name) => [name, 0]));
  session.costs.set(tool, new Map(AMOUNTS.map((name) => [name, Math.max(most.get(name), delta.get(name))])));
};
const keepIssued = (session, issued) => {
  for (const one of issued ?? []) {
    session.capabilities.set(one.get("capability_id"), one);
    session.issued.set(`${one.get("rule")}\n${one.get("agent_id")}`, one.get("capability_id"));
  }
};
const keepCapability = (session, delta) => {
  keepIssued(session, delta.get("issued"));
  session.capabilities.set(delta.get("capability").get("capability_id"), delta.get("capability"));
};
const keepKey = (session, call, key) => session.callKeys.set(`${call.get("tool_id")}\n${key}`, call.get("call_id"));
const startCall = (session, call) => {
  use(session, call.get("capability_id"), amounts(call.get("reserved")), "reserved");
  session.calls.set(call.get("call_id"), call);
  if (call.has("join_key")) keepKey(session, call, call.get("join_key"));
};
const stopCall = (session, call) => {
  const key = call.get("idempotency_key"); // it never ran: its key is free again, and so is what it counted as
  if (key !== null) session.callKeys.delete(`${call.get("tool_id")}\n${key}`);
  use(session, call.get("capability_id"), { calls: -1 });
  session.calls.set(call.get("call_id"), call);
  uncount(session, call);
};
const write = (session, set, remove) => {
  session.stateVersion++;
  for (const key of [...remove, ...set.keys()]) session.written.set(key, session.stateVersion);
  for (const key of remove) session.sparse.delete(key);
  for (const [key, value] of set) session.sparse.set(key, value);
};
const keepDerived = (session, derived) => {
  if (!derived) return;
  const [set, fell] = [derived.get("set"), derived.get("fell")];
  for (const key of fell) session.derived.delete(key);
  for (const [key, fact] of set) {
    session.derived.set(key, record({ rule: fact.get("rule"), inputs: fact.get("inputs") }));
  }
  if (set.size || fell.length) write(session, new Map([...set].map(([key, fact]) => [key, fact.get("value")])), fell);
  session.derivedUnder = derived.get("under");
  session.derivedSize = derived.get("size");
};
const keepResult = (session, result) => {
  const [approval, call, patch] = [result.get("approval"), result.get("call"), result.get("patch")];
  if (result.has("stopped")) stopCall(session, result.get("stopped"));
  if (result.has("started")) startCall(session, result.get("started"));
  if (result.has("asks") && approval) session.asked.set(result.get("asks"), approval.get("approval_id"));
  if (approval) keepApproval(session, approval);
  if (call) {
    session.calls.set(call.get("call_id"), call);
    const key = call.get("idempotency_key");
    if (key !== null) keepKey(session, call, key);
    use(session, call.get("capability_id"), { calls: 1 });
    if (call.has("reserved")) use(session, call.get("capability_id"), amounts(call.get("reserved")), "reserved");
  }
  if (patch) write(session, patch.get("set"), patch.get("remove"));
  keepDerived(session, result.get("derived"));
  if (result.has("vector")) session.sCore = result.get("vector");
};
const keepRaised = (session, owner, wakes, excited) => {
  session.raised = new Map(session.raised);
  if (wakes.length || excited) session.raised.set(owner, new Map(Object.entries({ excited, wakes })));
  else session.raised.delete(owner);
};

const keepMode = (session, mode) => {
  if (!mode) return;
  if (mode.get("over")) session.setMode = null;
  const back = mode.get("mode") === (session.setMode?.get("mode") ?? "normal"); // as if nothing had lowered it
  session.mode = back ? "" : mode.get("mode");
  session.modeSince = back ? "" : mode.get("since");
  session.loweredBy = back ? null : (mode.get("by") ?? session.loweredBy);
};
const keepResults = (session, results, delta) => {
  const before = session.stateVersion;
  keepDerived(session, delta.get("derived"));
  for (const result of results) {
    keepResult(session, result);
    keepShaped(session, result.get("shaped"));
    keepTraced(session, result);
  }
  if (session.stateVersion > before) {
    session.committed = delta.get("event_id");
    session.snapshots.set(session.committed, session.stateVersion);
  }
  keepMode(session, delta.get("mode"));
};

const keepIntents = (session, intents, propositions = []) => {
  for (const intent of intents) session.intents.set(intent.get("intent_id"), intent);
  for (const one of propositions) session.propositions.set(one.get("claim_id"), one);
};

const FOLDS = {
  declared() {},
  refused() {},
  eliminated(session, delta) {
    for (const id of delta.get("eliminated")) {
      if (!session.survivors.remove(id)) throw new Error(`its delta eliminates \`${id}\`, which was no survivor`);
      session.eliminations++;
    }
    if (delta.get("label") === "witnessed") session.witnessed += delta.get("eliminated").length;
  },
  merged(session, delta) {
    FOLDS.eliminated(session, delta);
    session.witnessed += (delta.get("witnessed") ?? []).length;
  },
  obligation_entered(session, delta) {
    session.obligations.delete(delta.get("obligation_id")); // entering again moves it to the end
    session.obligations.set(delta.get("obligation_id"), {
      active: true,
      entered_at: session.eliminations,
      min_total_eliminations: delta.get("min_total_eliminations"),
    });
  },
  exit_ruled(session, delta) {
    const kept = session.obligations.get(delta.get("obligation_id"));
    if (!kept) throw new Error("its delta rules on an obligation that was never entered");
    if (delta.get("approved")) kept.active = false;
  },
  conclusion_ruled(session, delta) {
    if (!delta.get("accepted")) return;
    const id = delta.get("conclusion_id");
    session.conclusions.set(id, (session.conclusions.get(id) ?? 0) + 1);
    session.streak = id === session.lastConclusion ? session.streak + 1 : 1;
    session.lastConclusion = id;
  },
  termination_ruled(session, delta) {
    session.terminated = delta.get("approved");
  },
  bundle_gated(session, delta) {
    const gated = delta.get("gated");
    if (delta.get("superseded") !== null) {
      const successor = gated.get("approval")?.get("approval_id") ?? null;
      const old = known(session.approvals, delta.get("superseded"));
      keepApproval(session, closedApproval(old, "superseded", successor, delta.get("proposer")));
    }
    if (delta.get("grant_id") !== null) {
      const used = new Map(known(session.grants, delta.get("grant_id")));
      session.grants.set(delta.get("grant_id"), used.set("uses", used.get("uses") + 1));
    }
    keepGated(session, gated, delta.get("event_id"));
    keepReceipts(session, delta.get("receipts") ?? []);
    const declared = gated.get("bundle").get("claims").map((claim) => claim.get("risk_tier"));
    const raised = (gated.get("raised") ?? []).map((one) => one.get("tier"));
    const tiers = [...declared, ...raised].map((tier) => TIERS.indexOf(tier));
    session.trail = [...session.trail, [delta.get("proposer"), Math.max(...tiers)]].slice(-TRAIL_LENGTH);
  },
  approval_decided(session, delta) {
    const [approval, replaced] = [delta.get("approval"), delta.get("replaced")];
    keepApproval(session, approval);
    if (delta.get("opened")) keepApproval(session, delta.get("opened"));
    if (approval.get("status") === "approved") {
      for (const [sink, asked] of session.refusedSinks) {
        if (asked === approval.get("content_hash")) session.refusedSinks.delete(sink);
      }
    }
    if (approval.get("status") === "rejected") {
      for (const words of approval.get("words") ?? []) session.rejectedWords.set(words, approval.get("approval_id"));
    }
    keepIntents(session, delta.get("intents") ?? [], delta.get("propositions") ?? []);
    if (delta.has("pinned")) keepPin(session, delta.get("pinned"));
    if (delta.get("result")) return keepResults(session, [delta.get("result")], delta);
    if (replaced) {
      const id = approval.get("subject").get("bundle_id");
      keepBundle(session, id, delta.get("event_id"), replaced.get("decision"), delta.get("approval_id"));
    }
    if (delta.get("gated")) keepGated(session, delta.get("gated"), delta.get("event_id"));
  },
  claims_retracted: (session, delta) => keepEnded(session, delta.get("ended"), delta.get("event_id")),
  approval_closed(session, delta) {
    keepApproval(session, delta.get("approval"));
    keepIntents(session, delta.get("intents") ?? []);
    if (delta.get("successor")) keepApproval(session, delta.get("successor"));
    if (!delta.get("bundle")) return;
    const waits = delta.get("successor")?.get("approval_id") ?? delta.get("approval_id");
    const id = delta.get("approval").get("subject").get("bundle_id");
    keepBundle(session, id, delta.get("event_id"), delta.get("bundle").get("decision"), waits);
  },
  arbitrated(session, delta) {
    keepIssued(session, delta.get("issued"));
    keepResults(session, delta.get("results"), delta);
    if (!delta.has("episode")) return;
    session.episode = delta.get("episode").get("episode");
    session.interruption = delta.get("episode").get("interruption");
  },
  mode_set(session, delta) {
    if (delta.has("lowered")) {
      keepMode(session, delta.get("lowered"));
      return;
    }
    session.setMode = delta.get("set_mode");
    session.mode = session.modeSince = "";
    session.loweredBy = null;
  },
  interrupted(session, delta) {
    for (const call of delta.get("stopped")) stopCall(session, call);
    session.interruption = delta.get("interruption");
    if (!delta.get("carries")) session.episode = null;
    const owner = delta.get("interruption").get("owner");
    if (owner !== undefined) return keepRaised(session, owner, delta.get("wakes"), delta.get("excited"));
    session.wakes = delta.get("wakes");
    session.excited = delta.get("excited");
  },
  signal_noted(session, delta) {
    const owner = delta.get("owner");
    if (owner === undefined) session.excited = delta.get("excited");
    else keepRaised(session, owner, session.raised.get(owner)?.get("wakes") ?? [], delta.get("excited"));
  },
  resumed: (session, delta) => {
    session.interruption = null;
    if (!delta.get("carries")) session.episode = null;
  },
  call_started: (session, delta) => startCall(session, delta.get("call")),
  call_stopped(session, delta) {
    stopCall(session, delta.get("call"));
    keepMode(session, delta.get("mode"));
  },
  outcome_recorded(session, delta) {
    const call = delta.get("call");
    if (call.has("reserved")) settle(session, call, delta);
    else use(session, call.get("capability_id"), amounts(delta));
    session.calls.set(call.get("call_id"), call);
    if (delta.has("context")) keepContext(session, delta.get("context"));
    if (!session.episode) return;
    const tokens = Math.min(session.episode.get("tokens") + delta.get("tokens"), Number.MAX_SAFE_INTEGER);
    session.episode = new Map([...session.episode, ["tokens", tokens]]);
  },
  context_added(session, delta) {
    if (delta.get("item").get("kind") !== "announcement") keepContext(session, delta.get("item"));
  },
  tools_pinned(session, delta) {
    for (const pin of delta.get("pinned")) keepPin(session, pin);
    for (const name of delta.get("restored")) session.offered.delete(name);
    for (const offer of delta.get("offers")) {
      const approval = offer.get("approval");
      session.offered.set(offer.get("name"), record({ hash: offer.get("hash"), approval_id: approval.get("approval_id") }));
      keepApproval(session, approval);
    }
  },
  capability_issued: keepCapability,
  capability_revoked: keepCapability,
  remembered(session, delta) {
    const names = ["confirmed", "confirmed_by", "entry", "expires_at", "remembered_at", "seen", "witness"];
    const state = Object.fromEntries(names.map((name) => [name, delta.get(name)]));
    session.memory.set(delta.get("entry").get("memory_id"), record(state));
    const insufficient = delta.get("insufficient");
    if (insufficient.length) session.insufficient.set(delta.get("value_hash"), insufficient);
  },
  token_made: (session, delta) => keepTokens(session, [delta.get("token")]),
  token_revoked: (session, delta) => keepTokens(session, [delta.get("token")]),
  tokens_adopted: (session, delta) => keepTokens(session, delta.get("tokens")),
  policy_adopted: (session, delta) => (session.adoptedPolicy = delta.get("policy_hash")),
  space_made: (session, delta) => session.spaces.set(delta.get("space"), delta.get("made_by")),
  ledger_imported: (session, delta) => session.imported.set(delta.get("session_id"), delta.get("foreign")),
  key_changed: (session, delta) => session.keys.set(delta.get("name"), delta.get("fingerprint")),
  store_restored: (session) => (session.restored += 1),
  ledger_archived: (session) => (session.archived += 1),
  ledger_unarchived: (session) => (session.unarchived += 1),
  refusal_noted: (session) => (session.sealedRefusals += 1),
  session_sealed: (session, delta) => (session.seal = delta.get("seal")),
  session_unsealed: (session) => (session.seal = null),
  ledger_received(session, delta) {
    session.foreign = delta.get("foreign");
    ended(session.grants, delta.get("at"));
    ended(session.capabilities, delta.get("at"));
    for (const name of ["context", "begun", "refusedSinks"]) session[name] = new Map();
    session.witnessed = 0;
    session.derivedUnder = "";
    if (session.setMode?.get("mode") === "boost") session.setMode = null;
    for (const [name, members] of Object.entries(UNSEEN)) unseen(session[name], members);
    for (const [id, one] of session.measurements) {
      session.measurements.set(id, new Map([...one].filter(([name]) => name !== "witnesses")));
    }
    for (const [id, one] of session.approvals) {
      if (["pending", "information"].includes(one.get("status"))) {
        session.approvals.set(id, unsaid(one, session.foreign.get("by")));
      }
    }
  },
  erased: (session, delta) => {
    for (const digest of delta.get("digests")) session.erased.set(digest, delta.get("event_id"));
  },
  grant_given: keepGrant,
  grant_revoked: keepGrant,
  speculated(session, delta) {
    for (const one of delta.get("hypotheses")) {
      session.speculative.set(one.get("hypothesis_id"), one);
      session.speculated.set(one.get("claim_id"), (session.speculated.get(one.get("claim_id")) ?? 0) + 1);
    }
  },
  claim_speculated: (session, delta) =>
    session.speculative.set(delta.get("claim").get("intent_id"), delta.get("claim")),
  measured: (session, delta) => keepReceipts(session, [delta.get("measurement")]),
  observed: (session, delta) =>
    session.observations.set(delta.get("observation").get("observation_id"), delta.get("observation")),
  experiment_designed(session, delta) {
    const one = delta.get("experiment");
    session.experiments.set(one.get("experiment_id"), one);
    session.attempts.set(`${one.get("claim_id")} ${one.get("designed_by")}`, one.get("attempt"));
    for (const body of one.get("bodies")) {
      const key = `${body} ${one.get("designed_by")}`;
      session.tries.set(key, (session.tries.get(key) ?? 0) + 1);
    }
  },
  run_started(session, delta) {
    const run = delta.get("run");
    session.runs.set(run.get("run_id"), run);
    const experiment = new Map(known(session.experiments, run.get("experiment_id")));
    session.experiments.set(run.get("experiment_id"), experiment.set("run_id", run.get("run_id")));
  },
  run_recorded(session, delta) {
    session.runs.set(delta.get("run").get("run_id"), delta.get("run"));
    const evidence = delta.get("evidence");
    if (evidence) {
      const [id, claim] = [evidence.get("evidence_id"), evidence.get("claim_id")];
      session.evidence.set(id, evidence);
      session.byClaim.set(claim, [...(session.byClaim.get(claim) ?? []), id]);
    }
    keepIntents(session, [], delta.get("propositions"));
  },
  evidence_linked(session, delta) {
    const one = delta.get("evidence");
    session.evidence.set(one.get("evidence_id"), one);
    keepIntents(session, [], delta.get("propositions"));
    FOLDS.eliminated(session, delta);
    if (one.get("label") === "witnessed") session.witnessed += delta.get("eliminated").length;
  },
  intent_staged(session, delta) {
    const [intent, old] = [delta.get("intent"), delta.get("superseded")];
    const waited = old && session.approvals.get(old.get("approval_id"));
    if (waited && waited.get("status") === "pending") {
      const by = intent.get("proposer").get("id");
      keepApproval(session, closedApproval(waited, "superseded", intent.get("approval_id"), by));
    }
    if (delta.get("approval")) keepApproval(session, delta.get("approval"));
    keepIntents(session, old ? [old, intent] : [intent], delta.get("propositions"));
  },
};

// ---- protocol section 9: verification ----------------------------------------------------------

const must = (holds, reason) => {
  if (!holds) throw new Error(reason);
};

const texts = (value) => Array.isArray(value) && value.every((item) => typeof item === "string");

function readHeader(header) {
  must(header instanceof Map && header.get("format") === FORMAT, `not the header of a ${FORMAT} export`);
  must(header.get("protocol") === PROTOCOL, `protocol is not ${PROTOCOL}`);
  must(header.get("policies") instanceof Map, "the header has no policies");
  must(header.get("head") instanceof Map && Number.isInteger(header.get("head").get("seq")), "the header has no head");
  for (const [name, policy] of header.get("policies")) {
    must(hex(policy) === name, `policy \`${name}\` does not hash to its name`);
  }
  const parts = header.get("parts") ?? new Map();
  must(parts instanceof Map, "its parts are no object");
  for (const [digest, part] of parts) {
    must(sha256(String(part)).toString("hex") === digest, `part \`${digest}\` does not hash to its name`);
  }
  return header;
}

// ---- protocol section 7: what an entry withholds, each a digest in the place of a text or a number -----

const MARKED = new RegExp(`^${MARK}([0-9a-f]{64})$`);

function marks(value, names) {
  if (value instanceof Map) {
    const under = names.length ? (value.has(names[0]) ? [value.get(names[0])] : []) : [...value.values()];
    return under.flatMap((one) => marks(one, names.slice(1)));
  }
  if (Array.isArray(value)) return value.flatMap((one) => marks(one, names));
  const found = typeof value === "string" && !names.length && MARKED.exec(value);
  return found ? [found[1]] : [];
}

function withheldIn(entry, policy) {
  const places = policy.get("erasable") ?? new Map();
  const paths = [...(places.get(entry.get("verb")) ?? []), ...(places.get("*") ?? [])];
  return paths.flatMap((path) => (path === "notes" ? marks(entry.get("notes"), []) : marks(entry.get("payload"), path.split("."))));
}

function checkEntry(entry, place, previous, header, session, withheld) {
  must(entry instanceof Map, "it is not an object");
  const claimed = entry.get("hash");
  entry.delete("hash");
  must(typeof claimed === "string" && HEX.test(claimed) && hex(entry) === claimed, "its hash does not match its bytes");
  must(REQUIRED.every((name) => entry.has(name)), "a field is missing");
  must([...entry.keys()].every((name) => REQUIRED.includes(name) || OPTIONAL.includes(name)), "a field is unknown");
  for (const [name, value] of entry) {
    const object = OBJECTS.includes(name);
    const fits = object ? value instanceof Map : typeof value === (name === "seq" ? "number" : "string");
    must(fits, `its \`${name}\` is of the wrong type`);
  }
  const notes = entry.get("notes") ?? " ";
  must(typeof notes === "string" && notes && [...notes].length <= MAX_NOTES, "its notes are no text of fitting length");
  must(texts(entry.get("delta").get("eliminated")), "its delta does not list what it eliminated");
  must(entry.get("protocol") === PROTOCOL, `its protocol is not ${PROTOCOL}`);
  must(entry.get("session_id") === header.get("session_id"), "it belongs to another session");
  must(entry.get("seq") === place, `it stands at place ${place} but says ${entry.get("seq")}`);
  must(header.get("policies").has(entry.get("policy_hash")), "its policy is not in the header");

  const payload = entry.get("payload");
  const delta = entry.get("delta");
  if (!session) {
    must(entry.get("verb") === "DECLARE_SESSION" && delta.get("kind") === "declared", "it does not declare a session");
    must(texts(payload.get("hypotheses")) && payload.get("hypotheses").length > 0, "it declares no hypotheses");
    session = begin(entry.get("session_id"), payload);
    previous = genesisHash(session.id, payload.get("ontology"), session.survivors.universe);
  }
  must(entry.get("prev_hash") === previous, "its `prev_hash` is not the hash of what comes before it");
  must(entry.get("survivors_before_hash") === session.survivors.hash, "its `survivors_before_hash` does not hold");
  must(Object.hasOwn(FOLDS, delta.get("kind")), `its kind of event is unknown: ${delta.get("kind")}`);
  FOLDS[delta.get("kind")](session, delta);
  must(entry.get("survivors_after_hash") === session.survivors.hash, "its `survivors_after_hash` does not hold");
  must(entry.has("state_hash") === stateHashDue(session, place), "its `state_hash` is missing or out of place");
  must(!entry.has("state_hash") || entry.get("state_hash") === stateHash(session), "its `state_hash` does not hold");
  for (const digest of withheldIn(entry, header.get("policies").get(entry.get("policy_hash")))) withheld.add(digest);
  return { session, hash: claimed, eventId: entry.get("event_id") };
}

/** What became of what entries withhold; nothing is said of a ledger that withholds nothing. */
function held(withheld, session, header) {
  if (!withheld.size) return "";
  const erased = [...withheld].filter((digest) => session.erased.has(digest)).length;
  const absent = [...withheld].filter((digest) => !session.erased.has(digest) && !header.get("parts")?.has(digest)).length;
  return `; ${withheld.size} parts withheld, ${erased} erased, ${absent} not in the file`;
}

function checkHead(reached, count, header) {
  const [seq, id, hash] = ["seq", "event_id", "hash"].map((name) => header.get("head").get(name));
  must(count > 0 && count >= seq, `the ledger ends here, but its head is event ${seq}`);
  must(count <= seq, `the ledger goes on past its head, event ${seq}`);
  must(reached.eventId === id && reached.hash === hash, "it is not the head that was promised");
}

/** What a good verdict does not say. Whoever reads `ok` shall not take it for more than it is. */
export const UNCHECKED = [
  "decisions: that each command leads to its event under its facts and policy (`beliefd audit verify` decides again)",
  "the end: that no entry followed the head (compare it with one that was kept elsewhere)",
  "content: that evidence which is cited by its hash is there, and says what is claimed",
  "times and names: that `ts` and `actor` are true",
];

/** The verdict on an export's bytes: `{ok, text, unchecked}`, with the line to print and what was not looked at. */
export function verify(bytes) {
  let where = "line 1";
  try {
    const decoder = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });
    let header;
    let reached = { session: null, hash: null };
    let count = 0;
    let line = 0;
    const withheld = new Set();
    for (let start = 0, end; start < bytes.length; start = end + 1) {
      end = bytes.indexOf(10, start);
      if (end < 0) end = bytes.length;
      where = `line ${++line}`;
      const text = decoder.decode(bytes.subarray(start, end));
      if (isBlank(text)) continue;
      const value = parse(text);
      if (!header) {
        header = readHeader(value);
        continue;
      }
      where = `event ${count + 1}`;
      reached = checkEntry(value, count + 1, reached.hash, header, reached.session, withheld);
      count++;
    }
    must(header, "the file is empty");
    const promised = header.get("head").get("seq");
    where = `event ${count === promised && count > 0 ? count : Math.min(count, promised) + 1}`;
    checkHead(reached, count, header);
    return { ok: true, text: `ok ${count} events, head ${reached.hash}${held(withheld, reached.session, header)}`, unchecked: UNCHECKED };
  } catch (error) {
    return { ok: false, text: `bad ${where}: ${error.message}`, unchecked: [] };
  }
}

if (process.argv[1] && realpathSync(process.argv[1]) === fileURLToPath(import.meta.url)) {
  const [name, ...surplus] = process.argv.slice(2);
  if (surplus.length || name === "-h" || name === "--help") {
    console.error("usage: node verify.mjs [ledger.jsonl]");
    process.exit(2);
  }
  let bytes;
  try {
    bytes = readFileSync(name === undefined || name === "-" ? 0 : name);
  } catch (error) {
    console.error(`cannot read the ledger: ${error.message}`);
    process.exit(2);
  }
  const verdict = verify(bytes);
  console.log([verdict.text, ...verdict.unchecked.map((what) => `not checked: ${what}`)].join("\n"));
  process.exit(verdict.ok ? 0 : 5);
}
