// Written by `python -m scripts.reference`; change the code or that, not this file.

/** A hypothesis of the session, or a proposition by its claim id. */
export type About = {
  /** Id of the hypothesis */
  hypothesis?: string;
  /** Id of the proposition */
  proposition?: string;
};

/** Who brought the policy into force, and when; None where nobody adopted it. */
export type Adopted = {
  /** Who adopted it; null for the defaults */
  by?: string | null;
  /** When it came into force, in UTC; null for the defaults */
  at?: string | null;
};

/** From which threat on a person decides, and what detectors may cost: a longer bundle is not read at all. `detectors` names those that must be asked, else all that the server was started with are. `combine` makes one score of theirs: the highest (`max`), the lowest (`min`), or one minus the product of what each leaves (`noisy_or`). `max_bytes` of text are read, 131072 unless given. */
export type AdversarialPolicy = {
  /** Above this it is put off */
  defer_above?: number;
  /** How long detectors may take, in milliseconds */
  timeout_ms?: number;
  /** `detectors` names those that must be asked, else all that the server was started with are. */
  detectors?: Array<string>;
  /** `combine` makes one score of theirs: the highest (`max`), the lowest (`min`), or one minus the product of what each leaves (`noisy_or`). */
  combine?: "max" | "min" | "noisy_or";
  /** `max_bytes` of text are read, 131072 unless given. */
  max_bytes?: number;
};

/** How many people must agree, and who has. */
export type AgreementProgress = {
  /** How many people must approve */
  required: number;
  /** Approvals that were given so far */
  given: Array<HumanApproval>;
};

/** An idea, as its author puts it. It may be anything; that is why it stays in its lane. */
export type Alternative = {
  /** What is claimed, in words */
  statement: string;
  /** How it could have come about, in words */
  mechanism?: string;
  /** What it predicts, in words */
  prediction?: string;
  /** How sure it is, from 0 to 1 */
  confidence?: number | null;
};

/** What calls use beside being calls. */
export type Amounts = {
  /** Tokens of a model */
  tokens?: number;
  /** Milliseconds of processor time */
  cpu_ms?: number;
  /** Bytes written to disk */
  disk_bytes?: number;
};

/** A place that this server writes checkpoints to: the size of the last that reached it, and why no newer one has. Events up to that size are covered by an anchored checkpoint. */
export type AnchorView = {
  /** Where the file with the archived ledger is */
  place: string;
  /** How large it is, in bytes */
  size?: number | null;
  /** Why it failed; empty if it did not */
  failure?: string | null;
};

/** More for a calibration set: class probabilities with known labels, or the scores themselves. */
export type AppendCalibration = {
  /** Its name */
  name?: string;
  /** Probabilities per class, for each item */
  probabilities?: Array<Array<number>> | null;
  /** The right class of each item, by its place */
  labels?: Array<number> | null;
  /** One score per item */
  scores?: Array<number> | null;
  /** The group of each item, where coverage is per group */
  groups?: Array<string> | null;
};

/** One item of the inbox: what it is about, who may decide it, and what was said about it. `event_id` names the event that opened it, which holds its content for ever. `tier` is the highest that counts, `raised` are the claims whose tier is higher than declared. The subject keeps its content while the item is open: exactly that is judged again. `approvals` are the words on this item, `earlier` those on the items that led to it: the one of another gate, or the one that timed out before this was `escalated`. `overridden` are the gates that people have let it pass by those. `words` are the digests of what its claims say, kept if it is rejected. `gates` are those whose questions stand on it; a yes answers those and no other. `shaped` says who shaped what waits, if it is no bundle. `led_to` is the call that was let through. */
export type Approval = {
  /** Id of an item of the inbox, `apr-` and the id of the event that opened it */
  approval_id: string;
  /** `event_id` names the event that opened it, which holds its content for ever. */
  event_id: string;
  /** What waits: a bundle, a call, a change of state or belief, a tool's definition */
  subject: BundleSubject | InformationSubject | CallSubject | DeltaSubject | IntentSubject | DefinitionSubject;
  /** SHA-256 of exactly what was looked at; decisions are bound to it */
  content_hash: string;
  /** All who have a part in the proposal; none of them can approve it */
  proposers: Array<string>;
  /** The principal who proposed it */
  proposer: Principal;
  /** The gate that this is about: evidence, uncertainty, security, adversarial or human */
  gate: string;
  /** `tier` is the highest that counts, `raised` are the claims whose tier is higher than declared. */
  tier: string;
  /** `tier` is the highest that counts, `raised` are the claims whose tier is higher than declared. */
  raised?: Array<RaisedTier>;
  /** Why, in words */
  reason: string;
  /** One result per candidate or gate, in order */
  results?: Array<GateResult>;
  /** How far each claim and its evidence can be relied on */
  standings?: Record<string, ClaimStanding>;
  /** Who may decide, and how many must */
  rule: ApproverRule;
  /** When it was put into the inbox, in UTC */
  opened_at: string;
  /** When it ends by itself, in UTC */
  expires_at: string;
  /** How it stands */
  status?: "approved" | "deferred" | "information" | "modified" | "pending" | "rejected" | "seen" | "superseded" | "timed_out" | "withdrawn";
  /** `approvals` are the words on this item, `earlier` those on the items that led to it: the one of another gate, or the one that timed out before this was `escalated`. */
  approvals?: Array<HumanApproval>;
  /** `approvals` are the words on this item, `earlier` those on the items that led to it: the one of another gate, or the one that timed out before this was `escalated`. */
  earlier?: Array<HumanApproval>;
  /** Gates that an approval stands in for */
  approved_gates?: Array<string>;
  /** `overridden` are the gates that people have let it pass by those. */
  overridden?: Array<GateOverride>;
  /** `words` are the digests of what its claims say, kept if it is rejected. */
  words?: Array<string>;
  /** `gates` are those whose questions stand on it; a yes answers those and no other. */
  gates?: Array<string>;
  /** `shaped` says who shaped what waits, if it is no bundle. */
  shaped?: Shaped;
  /** `led_to` is the call that was let through. */
  led_to?: string;
  /** Whether the deadline has passed */
  overdue?: boolean;
  /** `approvals` are the words on this item, `earlier` those on the items that led to it: the one of another gate, or the one that timed out before this was `escalated`. */
  escalated?: boolean;
  /** Who decided it; null while nobody has */
  decided_by?: string | null;
  /** The item that goes on in its place; null if there is none */
  successor?: string | null;
};

/** All that a person needs to decide: what it is about, why it stopped, what it costs, what changes. The `subject` keeps its content when the item is decided. A bundle has the `title` and the `tier` of its riskiest claim; `raised` are the claims whose tier is higher than their `risk_tier`, `standings` is what claims rest on. `proposer` is the principal that proposed it, `proposers` are also those who edited it. `asking` are the gates whose questions a yes answers, and `required` how many people must agree by today's policy. `cannot_run` says why a yes would be in vain now, `came_to` what became of what was approved. `allowed_decisions` are without a yes for a person who proposed or edited it, under whatever name. `progress` says who has agreed while it waits, and still may; `overridden` which gates people let it pass. `ended` are claims of a published bundle that do not stand any more, `corrects` is what it puts right. `measurements` with their raw answers, and `proposition`, if a status would change, are there if the item was asked for by itself. In a list, what is very long comes `shortened`, without its content. `foreign` is there if the session began elsewhere: words that were said there do not count, and who imported it cannot decide. `call` says how a call or a change of state was judged, `before` which of the last settled items of the session were about the same (null if there are too many to look), `follows` which item led to this one; these are there if it was asked for by itself. `session_title` is what the session is called, `signs` what was found out about a call that speaks for care, the gravest first, and `decided_at` when a settled item was settled, where its ledger says so in its words. `observed` are the values of observations that claims cite, in words, by source. */
export type ApprovalCard = {
  /** Id of an item of the inbox, `apr-` and the id of the event that opened it */
  approval_id: string;
  /** Id of a session; ids are ordered by time */
  session_id: string;
  /** A bundle has the `title` and the `tier` of its riskiest claim; `raised` are the claims whose tier is higher than their `risk_tier`, `standings` is what claims rest on. */
  title: string;
  /** The `subject` keeps its content when the item is decided. */
  subject: BundleSubject | InformationSubject | CallSubject | DeltaSubject | IntentSubject | DefinitionSubject;
  /** How it stands */
  status: string;
  /** The gate that this is about: evidence, uncertainty, security, adversarial or human */
  gate: string;
  /** `asking` are the gates whose questions a yes answers, and `required` how many people must agree by today's policy. */
  asking: Array<string>;
  /** A bundle has the `title` and the `tier` of its riskiest claim; `raised` are the claims whose tier is higher than their `risk_tier`, `standings` is what claims rest on. */
  tier: string;
  /** A bundle has the `title` and the `tier` of its riskiest claim; `raised` are the claims whose tier is higher than their `risk_tier`, `standings` is what claims rest on. */
  raised: Array<RaisedTier>;
  /** Why, in words */
  reason: string;
  /** SHA-256 of exactly what was looked at; decisions are bound to it */
  content_hash: string;
  /** The result of every gate, with its limit and what it observed */
  gates: Array<GateResult>;
  /** A bundle has the `title` and the `tier` of its riskiest claim; `raised` are the claims whose tier is higher than their `risk_tier`, `standings` is what claims rest on. */
  standings: Record<string, ClaimStanding>;
  /** `measurements` with their raw answers, and `proposition`, if a status would change, are there if the item was asked for by itself. */
  measurements: Array<MeasurementView>;
  /** `proposer` is the principal that proposed it, `proposers` are also those who edited it. */
  proposer: string;
  /** `proposer` is the principal that proposed it, `proposers` are also those who edited it. */
  proposers: Array<string>;
  /** What still needs a person, in words */
  required_approvals: Array<string>;
  /** `asking` are the gates whose questions a yes answers, and `required` how many people must agree by today's policy. */
  required: number;
  /** `allowed_decisions` are without a yes for a person who proposed or edited it, under whatever name. */
  allowed_decisions: Array<string>;
  /** Approvals that were given so far */
  approvals: Array<HumanApproval>;
  /** Who decided it; null while nobody has */
  decided_by: string | null;
  /** What happens if it is approved */
  on_approval: string;
  /** When it was put into the inbox, in UTC */
  opened_at: string;
  /** When it ends by itself, in UTC */
  expires_at: string;
  /** Whether the deadline has passed */
  overdue: boolean;
  /** The item that goes on in its place; null if there is none */
  successor: string | null;
  /** `cannot_run` says why a yes would be in vain now, `came_to` what became of what was approved. */
  cannot_run: string | null;
  /** `cannot_run` says why a yes would be in vain now, `came_to` what became of what was approved. */
  came_to: string | null;
  /** The newest event of the session */
  audit_head_event_id: string;
  /** `progress` says who has agreed while it waits, and still may; `overridden` which gates people let it pass. */
  progress?: AgreementProgress | null;
  /** `progress` says who has agreed while it waits, and still may; `overridden` which gates people let it pass. */
  overridden?: Array<GateOverride>;
  /** `ended` are claims of a published bundle that do not stand any more, `corrects` is what it puts right. */
  ended?: Record<string, EndedClaim>;
  /** `ended` are claims of a published bundle that do not stand any more, `corrects` is what it puts right. */
  corrects?: Correction | null;
  /** `measurements` with their raw answers, and `proposition`, if a status would change, are there if the item was asked for by itself. */
  proposition?: StatusCard | null;
  /** In a list, what is very long comes `shortened`, without its content. */
  shortened?: boolean;
  /** `foreign` is there if the session began elsewhere: words that were said there do not count, and who imported it cannot decide. */
  foreign?: Foreign | null;
  /** `call` says how a call or a change of state was judged, `before` which of the last settled items of the session were about the same (null if there are too many to look), `follows` which item led to this one; these are there if it was asked for by itself. */
  call?: AskedCall | null;
  /** `call` says how a call or a change of state was judged, `before` which of the last settled items of the session were about the same (null if there are too many to look), `follows` which item led to this one; these are there if it was asked for by itself. */
  before?: Array<DecidedBefore> | null;
  /** `call` says how a call or a change of state was judged, `before` which of the last settled items of the session were about the same (null if there are too many to look), `follows` which item led to this one; these are there if it was asked for by itself. */
  follows?: string | null;
  /** `session_title` is what the session is called, `signs` what was found out about a call that speaks for care, the gravest first, and `decided_at` when a settled item was settled, where its ledger says so in its words. */
  session_title?: string;
  /** `session_title` is what the session is called, `signs` what was found out about a call that speaks for care, the gravest first, and `decided_at` when a settled item was settled, where its ledger says so in its words. */
  signs?: Array<Sign>;
  /** `session_title` is what the session is called, `signs` what was found out about a call that speaks for care, the gravest first, and `decided_at` when a settled item was settled, where its ledger says so in its words. */
  decided_at?: string | null;
  /** `observed` are the values of observations that claims cite, in words, by source. */
  observed?: Record<string, string>;
};

/** An approval ended without a person's yes or no: withdrawn by its proposer, or timed out. `outcome` says what policy made of a time-out; it is never told as a denial. What was there for information only lapses. */
export type ApprovalClosed = {
  /** Which of the shapes this is */
  kind: "approval_closed";
  /** Id of an event of the ledger; ids are ordered by time */
  event_id: string;
  /** Id of an item of the inbox, `apr-` and the id of the event that opened it */
  approval_id: string;
  /** `outcome` says what policy made of a time-out; it is never told as a denial. */
  outcome: "escalate" | "keep" | "lapse" | "refuse" | "withdrawn";
  /** The item of the inbox that this is about */
  approval: Approval;
  /** A bundle of claims, which is published as a whole or not at all */
  bundle?: ClaimBundle | null;
  /** The item that goes on in its place; null if there is none */
  successor?: Approval | null;
  /** Write intents as they stand after it */
  intents?: Array<Intent>;
  /** Hypotheses that fall, by their ids */
  eliminated?: Array<string>;
};

/** A person decided. `gated` is the resumed chain of a bundle, `result` the verdict on a confirmed call or change of state; with neither, and not rejected, more people must agree first. `intents` and `propositions` are those that it changes, `opened` is the approval of the intent that came out of an edit. `pinned` is the definition of a tool that counts from now on. `derived` is what the rules of the policy made of the state before the result. */
export type ApprovalDecided = {
  /** Which of the shapes this is */
  kind: "approval_decided";
  /** Id of an event of the ledger; ids are ordered by time */
  event_id: string;
  /** Id of an item of the inbox, `apr-` and the id of the event that opened it */
  approval_id: string;
  /** What was decided */
  decision: "APPROVED" | "DEFERRED" | "MODIFIED" | "REJECTED" | "SEEN";
  /** Who decided */
  approver: string;
  /** The item of the inbox that this is about */
  approval: Approval;
  /** `gated` is the resumed chain of a bundle, `result` the verdict on a confirmed call or change of state; with neither, and not rejected, more people must agree first. */
  gated?: Gated | null;
  /** The bundle as it was changed; null if it was not */
  replaced?: ClaimBundle | null;
  /** `gated` is the resumed chain of a bundle, `result` the verdict on a confirmed call or change of state; with neither, and not rejected, more people must agree first. */
  result?: CandidateResult | null;
  /** The mode that the session was lowered to; null if it was not */
  mode?: ModeChange | null;
  /** `intents` and `propositions` are those that it changes, `opened` is the approval of the intent that came out of an edit. */
  intents?: Array<Intent>;
  /** `intents` and `propositions` are those that it changes, `opened` is the approval of the intent that came out of an edit. */
  propositions?: Array<Proposition>;
  /** `intents` and `propositions` are those that it changes, `opened` is the approval of the intent that came out of an edit. */
  opened?: Approval | null;
  /** `pinned` is the definition of a tool that counts from now on. */
  pinned?: Pinned;
  /** `derived` is what the rules of the policy made of the state before the result. */
  derived?: Derivation;
  /** Hypotheses that fall, by their ids */
  eliminated?: Array<string>;
};

/** When a person must decide, who that is, and what follows when nobody does. Calls of the tools in `tools_without_person`, by their exact ids, need no person though their tier is DELETE or PRIVILEGE. The roles in `decisions_without_action` may decide something without naming it. */
export type ApprovalPolicy = {
  /** Tiers that need a person */
  require_human?: Array<"DELETE" | "MODIFY" | "PRIVILEGE" | "READ_ONLY" | "WRITE_LIMITED">;
  /** Who may decide, by risk tier */
  approvers?: Record<string, ApproverRule>;
  /** Who decides where no rule is for the tier */
  otherwise?: ApproverRule;
  /** After how many seconds an item of the inbox expires */
  expires_seconds?: number;
  /** What follows if nobody decides in time */
  on_expiry?: "escalate" | "keep" | "refuse";
  /** Who decides if nobody has in time */
  escalate_to?: ApproverRule;
  /** Calls of the tools in `tools_without_person`, by their exact ids, need no person though their tier is DELETE or PRIVILEGE. */
  tools_without_person?: Array<string>;
  /** The roles in `decisions_without_action` may decide something without naming it. */
  decisions_without_action?: Array<Role>;
};

/** Who may decide, and how many of them must agree. Nobody named means: can only be rejected. */
export type ApproverRule = {
  /** Roles that this is for */
  roles?: Array<Role>;
  /** Ids of principals, such as `agent://triage` */
  principals?: Array<string>;
  /** How many people must approve */
  required?: number;
};

/** A proposal was judged; what was allowed takes effect with this event, and nothing else does. `issued` are the capabilities that policy issues to the proposer for these calls, of which it had none. `derived` is what the rules of the policy make of the state that was left by others. `episode` is what it makes of the session's episode, where policy gives episodes budgets. */
export type Arbitrated = {
  /** Which of the shapes this is */
  kind: "arbitrated";
  /** Id of an event of the ledger; ids are ordered by time */
  event_id: string;
  /** The snapshot of the symbolic state that it was made on */
  state_snapshot_id: string;
  /** One result per candidate or gate, in order */
  results: Array<CandidateResult>;
  /** The mode that the session was lowered to; null if it was not */
  mode?: ModeChange | null;
  /** `issued` are the capabilities that policy issues to the proposer for these calls, of which it had none. */
  issued?: Array<Capability>;
  /** `derived` is what the rules of the policy make of the state that was left by others. */
  derived?: Derivation;
  /** `episode` is what it makes of the session's episode, where policy gives episodes budgets. */
  episode?: EpisodeChange;
  /** Hypotheses that fall, by their ids */
  eliminated?: Array<string>;
};

/** How constraints are read, and what an answer is called. `constraints` is the newest version that is read: under 1, those of version 2 are malformed, and deny. With `reasons: effect`, the reason code of what a person is asked about is `ASK`, of what is put off `DEFER`; with `failure` it is that of the first reason. `patterns: linear` is for ledgers from before patterns and their texts were bounded, and does not come into force any more. With `failures: all`, whatever stands in the way counts: that nothing allows it, and broken invariants, too. With `first`, a constraint that fails hides both: what nothing allows may wait for a person, and invariants are looked at only if nothing else fails. Under `scheduling: 1`, a mode that an event records recovers from that event on, shares of budgets are taken in floating point, and programs resume and use up each other's interrupts. `meaning` is the version of what else is read. From 2 on, a path that can be read in two ways is refused, times are read as RFC 3339 writes them, what rules copy leaves room for what they say outright, and what a program interrupts and resumes is one episode. From 3 on, facts that are derived anew keep invariants, every call says where it comes from, and every lowered mode at whose word. The next change raises it: no seventh member comes. */
export type ArbitrationPolicy = {
  /** `constraints` is the newest version that is read: under 1, those of version 2 are malformed, and deny. */
  constraints?: number;
  /** Whether the reason code names the effect or the first failure */
  reasons?: "effect" | "failure";
  /** Which version of the scheduling rules is in force */
  scheduling?: number;
  /** `meaning` is the version of what else is read. */
  meaning?: number;
  /** How long patterns and their texts may be */
  patterns?: "bounded" | "linear";
  /** Whether all that stands in the way counts, or only the first */
  failures?: "all" | "first";
};

/** Take a sealed ledger out of the store, whose export is kept at `place` in a file with this hash. */
export type ArchiveSession = {
  /** Take a sealed ledger out of the store, whose export is kept at `place` in a file with this hash. */
  place: string;
  /** SHA-256 of the content, in hex */
  sha256: string;
};

/** A session whose ledger is not in the store: where it is, and what it must be. */
export type ArchivedSession = {
  /** Id of a session; ids are ordered by time */
  session_id: string;
  /** Events, oldest first */
  events: number;
  /** The newest event and its hash; null of a ledger without events */
  head: Head;
  /** Where the file with the archived ledger is */
  place: string;
  /** SHA-256 of the file that it was taken from */
  file_sha256: string;
  /** When it was archived, in UTC */
  archived_at: string;
  /** Who archived it */
  archived_by: string;
};

/** Which ledgers to decide again, and under which policy: those of `sessions`, or all that one may see. `limit` is how many decisions one answer may take, `after` is where to go on from: `next` of the answer before. */
export type AskBacktest = {
  /** The policy */
  policy: Policy;
  /** Which ledgers to decide again, and under which policy: those of `sessions`, or all that one may see. */
  sessions?: Array<string> | null;
  /** `limit` is how many decisions one answer may take, `after` is where to go on from: */
  limit?: number;
  /** `limit` is how many decisions one answer may take, `after` is where to go on from: */
  after?: Reached | null;
};

/** `conclusions_after` is `conclusions_next` of the answer before. */
export type AskCounterfactual = {
  /** What to take away: sources, principals, or all that rests on somebody's word */
  without: Without;
  /** `conclusions_after` is `conclusions_next` of the answer before. */
  conclusions_after?: string | null;
};

/** The server's own model is asked `k` times. Without a `question` it is asked whether the words hold. */
export type Asked = {
  /** Without a `question` it is asked whether the words hold. */
  question?: string | null;
  /** The server's own model is asked `k` times. */
  k?: number | null;
};

/** A tool call or a change of state as it was judged when it was asked for. `description` is the tool's own, `origin` are the values that were traced, each with where it stood, `reasons` what stood in the way with what was read. `policy_hash` is the policy that asked. `values_now` is what a change that waits would set or remove, as it is at the moment; what is not there is left out. `told` is what the session was told as the user's word until then: the last texts, the newest last, and only for those who may read its content. `words` are those of a shell command that the user did not give and that stand in what was read. */
export type AskedCall = {
  /** `description` is the tool's own, `origin` are the values that were traced, each with where it stood, `reasons` what stood in the way with what was read. */
  description: string;
  /** The tier that the tool is registered with; null if nobody has said */
  declared_tier: "DELETE" | "MODIFY" | "PRIVILEGE" | "READ_ONLY" | "WRITE_LIMITED" | null;
  /** `description` is the tool's own, `origin` are the values that were traced, each with where it stood, `reasons` what stood in the way with what was read. */
  origin: Array<ValueFact>;
  /** `description` is the tool's own, `origin` are the values that were traced, each with where it stood, `reasons` what stood in the way with what was read. */
  reasons: Array<Reason>;
  /** `policy_hash` is the policy that asked. */
  policy_hash: string;
  /** Whether the caller runs it, and not this server */
  run_by_caller: boolean;
  /** `values_now` is what a change that waits would set or remove, as it is at the moment; what is not there is left out. */
  values_now?: Record<string, unknown>;
  /** `told` is what the session was told as the user's word until then: the last texts, the newest last, and only for those who may read its content. */
  told?: Array<UserText>;
  /** `words` are those of a shell command that the user did not give and that stand in what was read. */
  words?: Array<ValueFact>;
};

/** A witness that this server submits checkpoints to, at `url`: the size that it has cosigned last, as far as this server knows, and what has come of the newest one otherwise. */
export type AskedWitness = {
  /** A witness that this server submits checkpoints to, at `url`: the size that it has cosigned last, as far as this server knows, and what has come of the newest one otherwise. */
  url: string;
  /** How large it is, in bytes */
  size?: number | null;
  /** Why it failed; empty if it did not */
  failure?: ErrorBody | null;
};

/** The claim holds in at least this share of replicates. */
export type AtLeast = {
  /** The form of the criterion */
  region: "probability";
  /** The smallest probability that counts as agreement */
  at_least: number;
};

/** What data may do that only their proposer vouches for, or that were there before the claim was worded. `supports` is whether attested data alone may lift a claim to `supported`: `never`, past a `person` who is told whose numbers they are, or as anything else may (`as_witnessed`). `eliminates` and `proves` let data do so that are attested or came before the wording. */
export type AttestedPolicy = {
  /** `supports` is whether attested data alone may lift a claim to `supported`: */
  supports?: "as_witnessed" | "never" | "person";
  /** `eliminates` and `proves` let data do so that are attested or came before the wording. */
  eliminates?: boolean;
  /** `eliminates` and `proves` let data do so that are attested or came before the wording. */
  proves?: boolean;
};

/** Entries that were found, session by session, each in its order. `looked_at` is how many were read for that; `next` goes on, also where an answer without a hit had looked at as many as one answer may. `archived` is how many sessions are archived, 1,000 at most: their ledgers are not searched here. `broken` are the sessions whose ledgers do not verify: they are not searched either, and hide no others. */
export type AuditFound = {
  /** Events that fit, newest first */
  events: Array<Record<string, unknown>>;
  /** `looked_at` is how many were read for that; `next` goes on, also where an answer without a hit had looked at as many as one answer may. */
  next: string | null;
  /** `looked_at` is how many were read for that; `next` goes on, also where an answer without a hit had looked at as many as one answer may. */
  looked_at: number;
  /** `archived` is how many sessions are archived, 1,000 at most: their ledgers are not searched here. */
  archived?: number;
  /** `broken` are the sessions whose ledgers do not verify: they are not searched either, and hide no others. */
  broken?: Array<BrokenLedger>;
};

/** `next` is the event id to continue from (`since_event_id`) when there is more. */
export type AuditPage = {
  /** Events, oldest first */
  events: Array<Entry>;
  /** `next` is the event id to continue from (`since_event_id`) when there is more. */
  next: string | null;
};

/** What gates and people said. An overridden gate is in neither of the first two lists. */
export type AuditTrail = {
  /** Gates that it passed */
  gates_passed?: Array<string>;
  /** Gates that it did not pass */
  gates_failed?: Array<string>;
  /** Who approved it, when and why */
  human_approvals?: Array<HumanApproval>;
  /** Gates that a person let it pass */
  gates_overridden?: Array<GateOverride>;
};

/** Facts for a decision that needs no others. With `by_words`, it is remembered by the words alone who shaped something. */
export type AuthorityFindings = {
  /** Which command these facts are for */
  of: "authority";
  /** What each principal may do, as it was found when this was decided */
  authority?: Record<string, Principal | null>;
  /** Whether rights within spaces were looked at */
  by_rights?: boolean;
  /** With `by_words`, it is remembered by the words alone who shaped something. */
  by_words?: boolean;
  /** The policy in force, and who adopted it */
  in_force?: Adopted;
};

/** What another policy would have decided, each command on the state that it was recorded on. What would need facts that were not recorded is `undecidable`, and stands among the groups. `left_out` are decisions of groups that had no room. `erased` are texts of these sessions that are gone: what was said with them is decided by their digests. `next` says where to go on, if `limit` was reached. */
export type Backtest = {
  /** SHA-256 of the policy that it was decided under */
  policy_hash: string;
  /** How many sessions were looked at */
  sessions: number;
  /** How many decisions were made again */
  decisions: number;
  /** Decisions that would be other ones */
  changed: number;
  /** What would need facts that were not recorded is `undecidable`, and stands among the groups. */
  undecidable: number;
  /** Changed decisions, alike ones together */
  groups: Array<ChangedDecisions>;
  /** Changed decisions, counted per tool */
  by_tool: Array<Counted>;
  /** Changed decisions, counted per principal */
  by_principal: Array<Counted>;
  /** Ledgers that do not verify, which were left out */
  broken: Array<BrokenLedger>;
  /** `left_out` are decisions of groups that had no room. */
  left_out?: number;
  /** `erased` are texts of these sessions that are gone: what was said with them is decided by their digests. */
  erased?: number;
  /** `next` says where to go on, if `limit` was reached. */
  next?: Reached | null;
};

/** What a call was let through on and is judged on again when it begins. `consent` are the constraints that a person said yes to, each with its hash. `nth` is how many calls of the tool there were before it, where that was found out: those after it do not count against it. */
export type Basis = {
  /** The principal who proposed it */
  proposer: Principal;
  /** What the holder of the token has narrowed it down to */
  narrowed?: Array<Narrowing>;
  /** `consent` are the constraints that a person said yes to, each with its hash. */
  consent?: Record<string, string> | null;
  /** `nth` is how many calls of the tool there were before it, where that was found out: those after it do not count against it. */
  nth?: number;
};

/** Which conclusions are accepted, and which eliminations. With `conclusions: survivors_only`, one that names an eliminated hypothesis is refused. It names a hypothesis if its id is that hypothesis, or if what follows `:`, `=` or `/` in it is, as in `cause:disk_full`; spelling makes no other name. All other conclusions are free. With `free`, all are. `tier` is the lowest that may change what is believed: what is eliminated stays so. */
export type BeliefPolicy = {
  /** Whether only survivors can be concluded */
  conclusions?: "free" | "survivors_only";
  /** What an elimination must rest on */
  eliminations?: EliminationPolicy;
  /** `tier` is the lowest that may change what is believed: what is eliminated stays so. */
  tier?: "DELETE" | "MODIFY" | "PRIVILEGE" | "READ_ONLY" | "WRITE_LIMITED";
};

/** The state of a session as callers see it. `status` says what `entropy_proxy` alone would hide. `foreign` is there if the session began elsewhere: who imported it, from where, and up to which event. `seal` is there if nothing more may be written into it. `shortened` is there if obligations, conclusions or metadata are not listed completely. `title` is what it is called: its `metadata.title`, or else its conversation or its hypothesis space. `space` is where it is; it is there if sessions were listed or one was asked for by itself. `conclusions_rest_on` is filled if one was asked for by itself: what the session rested on when each of them was last accepted. */
export type BeliefSnapshot = {
  /** Id of a session; ids are ordered by time */
  session_id: string;
  /** Which hypothesis space and which causal graph the hypotheses are from */
  ontology: OntologyBundle;
  /** Hypotheses that are left, by their ids: the first page of them */
  survivors: Array<string>;
  /** How many hypotheses are left; always exact */
  n_survivors: number;
  /** How many hypotheses were declared */
  n_hypotheses: number;
  /** Where the next page of survivors begins; null on the last one */
  survivors_next: string | null;
  /** `status` says what `entropy_proxy` alone would hide. */
  entropy_proxy: number;
  /** `status` says what `entropy_proxy` alone would hide. */
  status: "exhausted" | "open" | "singleton" | "terminated";
  /** Whether the session has ended */
  terminated: boolean;
  /** The obligation that was entered last and is still active; null if there is none */
  active_obligation_id: string | null;
  /** Obligations, with their progress */
  obligations: Array<ObligationView>;
  /** Conclusions by id, and whether each was accepted */
  conclusions: Record<string, number>;
  /** Stored with the session and not interpreted */
  metadata: Record<string, unknown>;
  /** The newest event of the session */
  audit_head_event_id: string | null;
  /** Place of the event in its ledger, from 1 on */
  seq: number;
  /** SHA-256 over the survivors */
  survivors_hash: string;
  /** How many eliminations rest on records, and how many on somebody's word */
  rests_on: RestsOn;
  /** `foreign` is there if the session began elsewhere: who imported it, from where, and up to which event. */
  foreign?: Foreign | null;
  /** `seal` is there if nothing more may be written into it. */
  seal?: Seal | null;
  /** `shortened` is there if obligations, conclusions or metadata are not listed completely. */
  shortened?: Shortened | null;
  /** `title` is what it is called: its `metadata.title`, or else its conversation or its hypothesis space. */
  title?: string;
  /** `space` is where it is; it is there if sessions were listed or one was asked for by itself. */
  space?: string;
  /** `conclusions_rest_on` is filled if one was asked for by itself: what the session rested on when each of them was last accepted. */
  conclusions_rest_on?: Record<string, RestsOn>;
};

/** Somebody who stored content, and when first. */
export type Bringer = {
  /** Who brought it */
  id: string;
  /** What the principal may do by its role */
  role: Role;
  /** When, in UTC */
  at: string;
};

/** A session that is stored and cannot be shown, because its ledger contradicts itself at `seq`. */
export type BrokenLedger = {
  /** Id of a session; ids are ordered by time */
  session_id: string;
  /** A session that is stored and cannot be shown, because its ledger contradicts itself at `seq`. */
  seq: number;
  /** Id of an event of the ledger; ids are ordered by time */
  event_id: string | null;
  /** Why, in words */
  reason: string;
};

/** An archived session that is here again, still sealed. */
export type BroughtBack = {
  /** Id of a session; ids are ordered by time */
  session_id: string;
  /** Events, oldest first */
  events: number;
  /** The session right afterwards */
  snapshot: BeliefSnapshot;
};

/** What a run may use. Past it the run ends, and counts as failed. */
export type Budget = {
  /** How many seconds */
  seconds?: number;
  /** How many replicates */
  replicates?: number;
};

/** How much may be used up; None is no limit. Calls are counted here, the rest as tools report it. What a call may use is reserved when it begins, and settled when it is known what it did use. */
export type Budgets = {
  /** How many calls in all; null for no limit */
  calls?: number | null;
  /** Tokens of a model in all; null for no limit */
  tokens?: number | null;
  /** Milliseconds of processor time */
  cpu_ms?: number | null;
  /** Bytes written to disk */
  disk_bytes?: number | null;
};

/** A bundle was submitted and judged. `superseded` is the open approval that it replaces. `receipts` were made of the raw answers that came with it. */
export type BundleGated = {
  /** Which of the shapes this is */
  kind: "bundle_gated";
  /** Id of an event of the ledger; ids are ordered by time */
  event_id: string;
  /** What the gates decided */
  gated: Gated;
  /** The principal who proposed it */
  proposer: string;
  /** `superseded` is the open approval that it replaces. */
  superseded?: string | null;
  /** Id of the standing grant; null if none was used */
  grant_id?: string | null;
  /** `receipts` were made of the raw answers that came with it. */
  receipts?: Array<Measurement>;
  /** Hypotheses that fall, by their ids */
  eliminated?: Array<string>;
};

/** Bundles of claims, oldest first. */
export type BundlePage = {
  /** Claims, each with its kind, its tier and what it rests on */
  claims: Array<JudgedBundle>;
  /** Where the next page begins; null on the last one */
  next: string | null;
};

/** A bundle of claims that a gate stopped; exactly these claims are judged again. */
export type BundleSubject = {
  /** Which of the shapes this is */
  kind: "bundle";
  /** Id of a bundle of claims; its submitter's, or made by the server */
  bundle_id: string;
  /** A bundle of claims, which is published as a whole or not at all */
  bundle?: ClaimBundle | null;
};

/** A kept calibration set. `least_alpha` is the smallest that its size, or its smallest group, allows. */
export type CalibrationAnswer = {
  /** Its name */
  name: string;
  /** The model that this is about */
  model: string;
  /** How items are scored: `lac` or `aps` */
  score: "aps" | "lac";
  /** Its version */
  version: number;
  /** SHA-256 of the content, in hex */
  sha256: string;
  /** When it was made, in UTC */
  created_at: string;
  /** How many there are */
  count: number;
  /** How many items each group has */
  groups: Record<string, number>;
  /** `least_alpha` is the smallest that its size, or its smallest group, allows. */
  least_alpha: number;
  /** What to be careful about; null if nothing is */
  warning: string | null;
};

/** `capability_id` stands for the token: the token itself is a secret and stays out of the ledger. `narrowed` is what the holders of a signed token have narrowed it down to, one after the other. `join_key` is what other programs know the call by, `upstream` the catalogue that its tool is pinned in, `rationale` why its agent wants it. */
export type CallCandidate = {
  /** Which of the shapes this is */
  kind: "tool_call";
  /** Id of a tool */
  tool_id: string;
  /** Arguments of the call, as the tool's schema takes them */
  args?: Record<string, unknown>;
  /** `capability_id` stands for the token: the token itself is a secret and stays out of the ledger. */
  capability_id?: string | null;
  /** The key under which the call happens once; null if it has none */
  idempotency_key?: string | null;
  /** `narrowed` is what the holders of a signed token have narrowed it down to, one after the other. */
  narrowed?: Array<Narrowing>;
  /** `join_key` is what other programs know the call by, `upstream` the catalogue that its tool is pinned in, `rationale` why its agent wants it. */
  join_key?: string;
  /** `join_key` is what other programs know the call by, `upstream` the catalogue that its tool is pinned in, `rationale` why its agent wants it. */
  upstream?: string;
  /** `join_key` is what other programs know the call by, `upstream` the catalogue that its tool is pinned in, `rationale` why its agent wants it. */
  rationale?: string;
};

/** Facts about one call. The flags at the end are what the default rules read. `user_spoke`: the session was told a text of the user. `sink_in_text`: of whom it goes to without being trusted, somebody stands in what was read, so that it is not the model's own. `place_foreign`: all of these are places to write to, and nobody's address. Of addresses that it reads at, `closed`: all were seen outside what strangers write; `host_known`: their hosts are known, and nothing new is asked there. Of whom it goes to, `conamed`: the user names them all, and no other known address is called so; `candidates`: so many values of the kind are where one is from, at most. Entries without these are older, or of calls with no such values. */
export type CallFacts = {
  /** Id of a tool */
  tool_id: string;
  /** Risk tier: READ_ONLY, WRITE_LIMITED, MODIFY, DELETE or PRIVILEGE */
  tier: "egress" | "read" | "write";
  /** What kind of thing the call does */
  action: "control" | "create" | "delete" | "draft" | "other" | "pay" | "read" | "reserve" | "send" | "share" | "update";
  /** Whether the call does what cannot be undone */
  hard: boolean;
  /** Whether the user's words ask for this kind of thing */
  intended: boolean;
  /** Whom or where the call reaches, and where each value came from */
  sinks?: Array<ValueFact>;
  /** Links and addresses that it passes on */
  links?: Array<ValueFact>;
  /** What the call passes on, and where each value came from */
  payload?: Array<ValueFact>;
  /** What the call acts on, and where each value came from */
  objects?: Array<ValueFact>;
  /** Orders that stand in what was read, near values of the call */
  orders?: Array<ValueFact>;
  /** Whether a text that was read orders this kind of thing */
  commanded?: "named" | "none" | "other";
  /** Whether a text that the user named asks for it */
  sourced?: boolean;
  /** Whether the user left the choice to the agent */
  delegated?: boolean;
  /** Whether a standing grant covers the call */
  granted?: boolean;
  /** Whether the value only chooses among things that are there */
  selector?: boolean;
  /** Whether the user described what it is about */
  described?: boolean;
  /** Whether the user asked for several of these */
  plural?: boolean;
  /** Whether the user asked for links */
  links_wanted?: boolean;
  /** Whether it carries a secret that the user does not speak of */
  secret?: boolean;
  /** How many calls of this tool there were before */
  nth?: number;
  /** How many things of this kind the user mentions */
  mentions?: number;
  /** Whether the value was made by this very call */
  fresh?: boolean;
  /** Whether there was too much to look at everything */
  crowded?: boolean;
  /** Whether values were cut because they are long */
  truncated?: boolean;
  /** How far those whom it goes to can be trusted to be meant */
  sink_trust?: "field" | "foreign" | "refused" | "sole" | "trusted" | "none";
  /** Whether it goes to somebody who cannot be trusted to be meant */
  sink_foreign?: boolean;
  /** Whether the address that it reads is known from elsewhere */
  url_known?: boolean;
  /** Whether what it acts on is from a text, or made up */
  object_foreign?: boolean;
  /** Whether it passes on a link that is from a text */
  link_foreign?: boolean;
  /** Whether a short value that it passes on is from a text */
  payload_foreign?: boolean;
  /** Whether it is one call more than was asked for */
  over_quota?: boolean;
  /** Why, one entry per constraint or finding */
  reasons?: Array<string>;
  /** `user_spoke`: the session was told a text of the user. */
  user_spoke?: boolean;
  /** `sink_in_text`: of whom it goes to without being trusted, somebody stands in what was read, so that it is not the model's own. */
  sink_in_text?: boolean;
  /** `place_foreign`: all of these are places to write to, and nobody's address. */
  place_foreign?: boolean;
  /** Of addresses that it reads at, `closed`: all were seen outside what strangers write; `host_known`: their hosts are known, and nothing new is asked there. */
  closed?: boolean;
  /** Of addresses that it reads at, `closed`: all were seen outside what strangers write; `host_known`: their hosts are known, and nothing new is asked there. */
  host_known?: boolean;
  /** Of whom it goes to, `conamed`: the user names them all, and no other known address is called so; `candidates`: so many values of the kind are where one is from, at most. */
  conamed?: boolean;
  /** Of whom it goes to, `conamed`: the user names them all, and no other known address is called so; `candidates`: so many values of the kind are where one is from, at most. */
  candidates?: number;
};

/** What was found out about one candidate call: its tool, its arguments, and the token it came with. `tier` is the tool's, as registered. Entries without it are older than the rules about the tiers of tools, and are judged without them. Where `begins` is set, the call is judged again when it begins; entries without it are older than that. `givers` is how those stand now through whom the capability came, as far as they have tokens; entries without it are older than the rule that a capability ends with them. `origin` is where the values of the call came from, and `context` what that rests on: they are found out where policy has `context`. `shell` is what its commands may do, or which files of the project it writes. `network` is whether it may reach the network, as far as anybody says. `words` are those of a shell command that stand in what was read: they are for people, and no rule reads them. */
export type CallFinding = {
  /** The definition of the tool; null if there is none */
  definition?: ToolDefinition | null;
  /** SHA-256 of the tool's definition */
  definition_hash?: string;
  /** What is wrong with the arguments, by the schema of the tool */
  argument_errors?: Array<string>;
  /** Files that the call reads or writes */
  files?: Array<FileUse>;
  /** Hosts that may be reached */
  hosts?: Array<string>;
  /** Id of a capability, under which an agent may call tools */
  capability_id?: string | null;
  /** What is wrong with the capability token; null if nothing is */
  token_problem?: string | null;
  /** `tier` is the tool's, as registered. */
  tier?: "DELETE" | "MODIFY" | "PRIVILEGE" | "READ_ONLY" | "WRITE_LIMITED";
  /** Where `begins` is set, the call is judged again when it begins; entries without it are older than that. */
  begins?: boolean;
  /** `givers` is how those stand now through whom the capability came, as far as they have tokens; entries without it are older than the rule that a capability ends with them. */
  givers?: Record<string, Principal | null>;
  /** `origin` is where the values of the call came from, and `context` what that rests on: they are found out where policy has `context`. */
  origin?: CallFacts;
  /** `origin` is where the values of the call came from, and `context` what that rests on: they are found out where policy has `context`. */
  context?: ContextBasis;
  /** `shell` is what its commands may do, or which files of the project it writes. */
  shell?: ShellFacts;
  /** `network` is whether it may reach the network, as far as anybody says. */
  network?: boolean;
  /** `words` are those of a shell command that stand in what was read: they are for people, and no rule reads them. */
  words?: Array<ValueFact>;
};

/** A tool call as asked for, with the token that proves its capability. `join_key` is what other programs know the call by, such as the id that a client gives to a use of a tool; it serves as `idempotency_key` where none is given. `upstream` is the catalogue that its tool is pinned in. `rationale` is why the agent wants it: a person who decides about it reads that. */
export type CallRequest = {
  /** Which of the shapes this is */
  kind: "tool_call";
  /** Id of a tool */
  tool_id: string;
  /** Arguments of the call, as the tool's schema takes them */
  args?: Record<string, unknown>;
  /** The secret of a capability; not needed where a rule of the policy has issued one */
  capability_token?: string | null;
  /** `join_key` is what other programs know the call by, such as the id that a client gives to a use of a tool; it serves as `idempotency_key` where none is given. */
  idempotency_key?: string | null;
  /** `join_key` is what other programs know the call by, such as the id that a client gives to a use of a tool; it serves as `idempotency_key` where none is given. */
  join_key?: string | null;
  /** `upstream` is the catalogue that its tool is pinned in. */
  upstream?: string | null;
  /** `rationale` is why the agent wants it: a person who decides about it reads that. */
  rationale?: string | null;
};

/** A call was judged once more and begins; what it may use is reserved. */
export type CallStarted = {
  /** Which of the shapes this is */
  kind: "call_started";
  /** A tool call, as it stands */
  call: ToolCall;
  /** Hypotheses that fall, by their ids */
  eliminated?: Array<string>;
};

/** A call that was let through may not begin any more; `result` says why. It never ran. */
export type CallStopped = {
  /** Which of the shapes this is */
  kind: "call_stopped";
  /** A tool call, as it stands */
  call: ToolCall;
  /** A call that was let through may not begin any more; `result` says why. */
  result: CandidateResult;
  /** The mode that the session was lowered to; null if it was not */
  mode?: ModeChange | null;
  /** Hypotheses that fall, by their ids */
  eliminated?: Array<string>;
};

/** A tool call that waits because of the constraints in `asked`, each with its hash. `definition_hash` is the tool as it was shown, `provenance` where the call came from. Subjects without `run_by` are older: of them, only those of calls that their callers run say where they came from. */
export type CallSubject = {
  /** Which of the shapes this is */
  kind: "call";
  /** What was proposed */
  candidate?: CallCandidate | null;
  /** `definition_hash` is the tool as it was shown, `provenance` where the call came from. */
  definition_hash?: string;
  /** A tool call that waits because of the constraints in `asked`, each with its hash. */
  asked?: Record<string, string>;
  /** `definition_hash` is the tool as it was shown, `provenance` where the call came from. */
  provenance?: Provenance;
  /** Subjects without `run_by` are older: of them, only those of calls that their callers run say where they came from. */
  run_by?: "caller" | "server";
};

/** A call that was let through, with all that its permit binds. `outcome` is the event that ended it. */
export type CallView = {
  /** Id of a tool call that was let through */
  call_id: string;
  /** Id of a session; ids are ordered by time */
  session_id: string;
  /** Id of a tool */
  tool_id: string;
  /** Arguments of the call, as the tool's schema takes them */
  args: Record<string, unknown>;
  /** SHA-256 of the arguments with which it runs */
  args_hash: string;
  /** SHA-256 of the tool's definition */
  definition_hash: string;
  /** SHA-256 of the policy that it was decided under */
  policy_hash: string;
  /** The principal whom it is for, or who acts */
  agent_id: string;
  /** Who carries the call out: this server, or the caller */
  executor: "caller" | "server";
  /** How it stands */
  status: string;
  /** When it was let through, in UTC */
  scheduled_at: string;
  /** When it must have ended, in UTC */
  deadline: string;
  /** What lets the caller run the call; null if it may not */
  permit: Permit | null;
  /** Where it came from */
  provenance: Provenance | null;
  /** The key under which the call was announced beforehand; null if it was not */
  join_key: string | null;
  /** Name of the tool server that this comes from */
  upstream: string | null;
  /** Id of a capability, under which an agent may call tools */
  capability_id: string | null;
  /** The key under which the call happens once; null if it has none */
  idempotency_key: string | null;
  /** SHA-256 of the result */
  result_hash: string | null;
  /** SHA-256 of stored content */
  content: string | null;
  /** How large it is, in bytes */
  size: number | null;
  /** What vouches for it: somebody's word, or a record of this server */
  label: "attested" | "witnessed" | null;
  /** `outcome` is the event that ended it. */
  outcome: string | null;
};

/** How long any call may take, whatever its tool says. A call that a person has approved and that its caller runs must begin within `begin_within_seconds`, 3600 unless given. */
export type CallsPolicy = {
  /** The longest time that a call may be given, in milliseconds */
  max_timeout_ms?: number;
  /** A call that a person has approved and that its caller runs must begin within `begin_within_seconds`, 3600 unless given. */
  begin_within_seconds?: number;
};

/** The verdict on one candidate. `result` is what an allowed call returned. A claim cites it as `call://<call_id>` with `result_hash`. `permit` is there if the caller is to run it now, and never a second time. What waits for a person waits at `approval_url`. */
export type CandidateAnswer = {
  /** Whether it is let through, put off or denied */
  verdict: "allow" | "defer" | "deny";
  /** Why, as a code that never changes its meaning */
  reason_code: string;
  /** What follows where it does not pass: block, ask, defer or degrade */
  on_fail: "ask" | "block" | "defer" | "degrade" | null;
  /** Why, one entry per constraint */
  reasons: Array<Reason>;
  /** `result` is what an allowed call returned. */
  result?: unknown;
  /** How it stands */
  status?: string | null;
  /** What went wrong; empty if nothing did */
  error?: string;
  /** Id of a tool call that was let through */
  call_id?: string | null;
  /** A claim cites it as `call://<call_id>` with `result_hash`. */
  result_hash?: string | null;
  /** Id of an item of the inbox, `apr-` and the id of the event that opened it */
  approval_id?: string | null;
  /** SHA-256 of exactly what was looked at; decisions are bound to it */
  content_hash?: string | null;
  /** `permit` is there if the caller is to run it now, and never a second time. */
  permit?: Permit | null;
  /** What waits for a person waits at `approval_url`. */
  approval_url?: string | null;
};

/** The verdict on one candidate, with every reason. `call` and `patch` are what it lets happen. A call that a person has said yes to is `started` by its caller proposing it again, or `stopped` if it may not begin any more. `asks` is the digest of what the `approval` is about, if its caller will run it, and `waits` the item of the inbox in which the same was asked before. Where it was found out where the values of a call came from, `refused_sinks` are the addresses that it does not reach. `derived` is what rules make of the `patch`, `vector` names its dense side. `shaped` says who proposed what was not let through, where no `approval` says it. */
export type CandidateResult = {
  /** Whether it is let through, put off or denied */
  verdict: "allow" | "defer" | "deny";
  /** Why, as a code that never changes its meaning */
  reason_code: string;
  /** What follows where it does not pass: block, ask, defer or degrade */
  on_fail?: "ask" | "block" | "defer" | "degrade" | null;
  /** Why, one entry per constraint or finding */
  reasons?: Array<Reason>;
  /** `call` and `patch` are what it lets happen. */
  call?: ToolCall | null;
  /** `call` and `patch` are what it lets happen. */
  patch?: Patch | null;
  /** The call that this one repeats; null if it is the first */
  repeats?: string | null;
  /** `asks` is the digest of what the `approval` is about, if its caller will run it, and `waits` the item of the inbox in which the same was asked before. */
  approval?: Approval | null;
  /** A call that a person has said yes to is `started` by its caller proposing it again, or `stopped` if it may not begin any more. */
  started?: ToolCall;
  /** A call that a person has said yes to is `started` by its caller proposing it again, or `stopped` if it may not begin any more. */
  stopped?: ToolCall;
  /** `asks` is the digest of what the `approval` is about, if its caller will run it, and `waits` the item of the inbox in which the same was asked before. */
  asks?: string;
  /** `asks` is the digest of what the `approval` is about, if its caller will run it, and `waits` the item of the inbox in which the same was asked before. */
  waits?: string;
  /** Where it was found out where the values of a call came from, `refused_sinks` are the addresses that it does not reach. */
  refused_sinks?: Array<string>;
  /** `derived` is what rules make of the `patch`, `vector` names its dense side. */
  derived?: Derivation;
  /** `derived` is what rules make of the `patch`, `vector` names its dense side. */
  vector?: VectorRef;
  /** `shaped` says who proposed what was not let through, where no `approval` says it. */
  shaped?: Shaped;
};

/** A capability as recorded; of the token itself only its hash is kept. `reserved` is set aside for calls under way. `rule` is the rule of the policy that issued it, if one did: its holder needs no token. `policy_hash` is the policy that it was issued under, `provenance` at whose word: older ones do not say. */
export type Capability = {
  /** Id of a capability, under which an agent may call tools */
  capability_id: string;
  /** The principal whom it is for, or who acts */
  agent_id: string;
  /** What the capability allows: tools, folders, hosts and budgets */
  scope: Scope;
  /** When it was issued, in UTC */
  issued_at: string;
  /** When it ends by itself, in UTC */
  expires_at: string;
  /** Who issued it */
  issued_by: string;
  /** SHA-256 of the token; the token itself is kept nowhere */
  secret_hash: string;
  /** The capability that it came out of; null if it is the first */
  parent?: string | null;
  /** When it was revoked, in UTC; null if it was not */
  revoked_at?: string | null;
  /** What has been used so far */
  used?: Used;
  /** `rule` is the rule of the policy that issued it, if one did: its holder needs no token. */
  rule?: string;
  /** `reserved` is set aside for calls under way. */
  reserved?: Amounts;
  /** `policy_hash` is the policy that it was issued under, `provenance` at whose word: older ones do not say. */
  policy_hash?: string;
  /** `policy_hash` is the policy that it was issued under, `provenance` at whose word: older ones do not say. */
  provenance?: Provenance;
};

/** `issued` is what policy issues to who asks, and what the capability comes out of. */
export type CapabilityIssued = {
  /** Which of the shapes this is */
  kind: "capability_issued";
  /** The capability */
  capability: Capability;
  /** `issued` is what policy issues to who asks, and what the capability comes out of. */
  issued?: Array<Capability>;
  /** Hypotheses that fall, by their ids */
  eliminated?: Array<string>;
};

/** A capability that another one came out of. What that one uses counts here, too. */
export type CapabilityLevel = {
  /** Id of a capability, under which an agent may call tools */
  capability_id: string;
  /** The principal whom it is for, or who acts */
  agent_id: string;
  /** How much may be used in all */
  budgets: Budgets;
  /** What has been used so far */
  used: Used;
  /** Set aside for calls that run right now */
  reserved: Amounts;
  /** What may still be used */
  left: Budgets;
  /** When it ends by itself, in UTC */
  expires_at: string;
  /** When it was revoked, in UTC; null if it was not */
  revoked_at: string | null;
};

/** Capabilities of a session. */
export type CapabilityPage = {
  /** Capabilities */
  capabilities: Array<CapabilityView>;
  /** Where the next page begins; null on the last one */
  next: string | null;
};

/** A capability in a session; with `parent_token`, a narrower one out of what that token allows. Who is no admin gets what policy issues to them, for themselves; without a `scope`, all of it. A `signed` token can be verified and narrowed down without the server; it takes the extra `biscuit`. */
export type CapabilityRequest = {
  /** Id of a session; ids are ordered by time */
  session_id: string;
  /** The principal whom it is for, or who acts */
  agent_id?: string | null;
  /** Who is no admin gets what policy issues to them, for themselves; without a `scope`, all of it. */
  scope?: Scope | null;
  /** For how many seconds it holds */
  expires_in_seconds?: number;
  /** A capability in a session; with `parent_token`, a narrower one out of what that token allows. */
  parent_token?: string | null;
  /** A `signed` token can be verified and narrowed down without the server; it takes the extra `biscuit`. */
  signed?: boolean;
};

/** A capability has ended. */
export type CapabilityRevoked = {
  /** Which of the shapes this is */
  kind: "capability_revoked";
  /** The capability */
  capability: Capability;
  /** Hypotheses that fall, by their ids */
  eliminated?: Array<string>;
};

/** Issues the `scope` to every principal of these ids (or all of `prefix/*`) or roles, in every session. The budgets are for one session and one principal; a new capability after the first has expired goes on with what is left of them. */
export type CapabilityRule = {
  /** Its name */
  name: string;
  /** Issues the `scope` to every principal of these ids (or all of `prefix/*`) or roles, in every session. */
  scope: Scope;
  /** Ids of principals, such as `agent://triage` */
  principals?: Array<string>;
  /** Roles that this is for */
  roles?: Array<Role>;
  /** For how many seconds it holds */
  expires_in_seconds?: number;
};

/** A capability without its secret. `reserved` is set aside for calls that run right now. `rule` is the rule of the policy that issued it, if one did. `policy_hash` is the policy that it was issued under and `provenance` at whose word, null if that is older. `parents` is what it came out of, nearest first. `left` is what it leaves itself; nothing can be used that a parent has no more of. */
export type CapabilityView = {
  /** Id of a capability, under which an agent may call tools */
  capability_id: string;
  /** Id of a session; ids are ordered by time */
  session_id: string;
  /** The principal whom it is for, or who acts */
  agent_id: string;
  /** What the capability allows: tools, folders, hosts and budgets */
  scope: Scope;
  /** What has been used so far */
  used: Used;
  /** When it was issued, in UTC */
  issued_at: string;
  /** When it ends by itself, in UTC */
  expires_at: string;
  /** Who issued it */
  issued_by: string;
  /** The capability that it came out of; null if it is the first */
  parent: string | null;
  /** When it was revoked, in UTC; null if it was not */
  revoked_at: string | null;
  /** `reserved` is set aside for calls that run right now. */
  reserved?: Amounts;
  /** `rule` is the rule of the policy that issued it, if one did. */
  rule?: string | null;
  /** `policy_hash` is the policy that it was issued under and `provenance` at whose word, null if that is older. */
  policy_hash?: string | null;
  /** `policy_hash` is the policy that it was issued under and `provenance` at whose word, null if that is older. */
  provenance?: Provenance | null;
  /** `left` is what it leaves itself; nothing can be used that a parent has no more of. */
  left?: Budgets;
  /** `parents` is what it came out of, nearest first. */
  parents?: Array<CapabilityLevel>;
};

/** All tools that an upstream offers now. It is kept in the caller's space, unless `space` says which. */
export type CatalogueRequest = {
  /** Tools, by name or definition */
  tools: Array<OfferedTool>;
  /** It is kept in the caller's space, unless `space` says which. */
  space?: string | null;
};

/** Tools of another server: those that were taken in, and those that wait for a person. */
export type CatalogueView = {
  /** Name of the tool server that this comes from */
  upstream: string;
  /** Id of a session; ids are ordered by time */
  session_id: string;
  /** Tools, by name or definition */
  tools: Array<PinnedTool>;
  /** Tools that wait for a person */
  waiting: Array<WaitingTool>;
};

/** What becomes of tools that others offer. With `new_tools: ask`, a tool that comes new into a catalogue waits for a person; with `pin` it counts as it is. What a tool says of itself makes it more dangerous, and never less than its name tells, but where `trust_annotations` is true, or names its upstream: there, a tool only reads if it says so, and has the tier DELETE if it does not say that it destroys nothing. */
export type CataloguesPolicy = {
  /** Whether new tools are taken in at once or wait for a person */
  new_tools?: "ask" | "pin";
  /** What a tool says of itself makes it more dangerous, and never less than its name tells, but where `trust_annotations` is true, or names its upstream: there, a tool only reads if it says so, and has the tier DELETE if it does not say that it destroys nothing. */
  trust_annotations?: boolean | Array<string>;
};

/** What an intent would do. Which members it needs depends on its type. */
export type Change = {
  /** What kind of change it is */
  type: "create_claim" | "create_proposition" | "fork_proposition" | "quarantine_proposition" | "record_metric" | "record_trace" | "refute_claim" | "revise_proposition" | "update_epistemic_status";
  /** Id of a claim or proposition, as its author named it */
  claim_id: string;
  /** What is claimed, in words */
  statement?: string | null;
  /** The status that it would have */
  to_status?: "proven" | "refuted" | "speculative" | "supported" | "unresolved" | null;
  /** Ids of the evidence that it rests on */
  evidence_ids?: Array<string>;
  /** Id of the new proposition; null if none is made */
  new_claim_id?: string | null;
  /** What will be measured if it is so */
  prediction?: Prediction | null;
  /** The values */
  values?: Record<string, unknown>;
  /** Why, in words */
  reason?: string;
};

/** Decisions that would change in the same way. `constraint` is what decides them then, or what decided them before where they would be allowed now. */
export type ChangedDecisions = {
  /** Which command this is */
  verb: string;
  /** The tool */
  tool: string | null;
  /** The principal that this is about */
  principal: string;
  /** What was decided */
  was: string;
  /** What would be decided */
  would_be: string;
  /** `constraint` is what decides them then, or what decided them before where they would be allowed now. */
  constraint: string | null;
  /** How many there are */
  count: number;
  /** The first decision that would be another one */
  first: DecidedOtherwise;
};

/** One question put to a run's own diagnostics; any that fails makes the run fragile. */
export type Check = {
  /** Which check */
  name: "budget" | "completeness" | "dimensions" | "effective_sample_size" | "extremes" | "falsifiable" | "independence" | "sensitivity" | "toy_model";
  /** Whether the check passed */
  passed: boolean;
  /** What was measured; null if there is no number */
  measured?: number | null;
  /** The limit that it is compared with; null if there is none */
  limit?: number | null;
};

/** `note` is the checkpoint itself, as a signed note: that is what outsiders keep and check. */
export type CheckpointView = {
  /** Name of the log */
  origin: string;
  /** How many leaves the log had */
  size: number;
  /** Hash over all leaves of the log */
  root: string;
  /** `note` is the checkpoint itself, as a signed note: that is what outsiders keep and check. */
  note: string;
  /** When it was signed, in UTC */
  signed_at: string;
  /** Who has cosigned it, and when */
  witnessed: Array<Witnessed>;
};

/** What an elimination rests on, of the same session: a call, an observation or a run, by its id. */
export type Citation = {
  /** A tool call, as it stands */
  call?: string;
  /** The observation */
  observation?: string;
  /** The run */
  run?: string;
};

/** The cited calls whose results say something that no caller has put in: the server is their witness. */
export type CitationFindings = {
  /** Which command these facts are for */
  of: "citations";
  /** Records of the session that were cited */
  seen?: Array<string>;
};

/** The receipt that a claim cites, as far as policy may ask for it. */
export type CitedReceipt = {
  /** Id of a measurement of uncertainty */
  measurement_id: string;
  /** The value */
  value: number;
  /** What vouches for it: somebody's word, or a record of this server */
  label: "attested" | "witnessed";
  /** How uncertainty was measured */
  method: string;
  /** Who says which answers mean the same */
  judge?: string;
  /** How many answers it was measured on */
  k?: number;
};

/** One typed statement. Without an id it is named after its place in the bundle. `risk_tier` is what the agent declares; the tier that counts may be higher. */
export type Claim = {
  /** What is claimed, in words */
  statement: string;
  /** FACT, INFERENCE or DECISION */
  claim_type: "DECISION" | "FACT" | "INFERENCE";
  /** How uncertain the claim is, and how that was measured */
  uncertainty: Uncertainty;
  /** `risk_tier` is what the agent declares; the tier that counts may be higher. */
  risk_tier: "DELETE" | "MODIFY" | "PRIVILEGE" | "READ_ONLY" | "WRITE_LIMITED";
  /** Id of the claim; made by the server if left out */
  id?: string | null;
  /** What the claim rests on: where it is, its digest, and how sure its source is */
  evidence_pointers?: Array<EvidencePointer>;
  /** What it costs if this is wrong, in words */
  if_wrong_cost?: string;
  /** What the decision does; only for claims of type DECISION */
  action?: DecidedAction;
  /** What the action changes: a proposition, a hypothesis or a thing outside */
  about?: About;
};

/** What an agent says in one step. `corrects` names what was published before and this puts right. `decision`, `reason`, `required_approvals` and `audit_trail` are filled in by the server alone. */
export type ClaimBundle = {
  /** The principal who submitted it */
  origin_agent: string;
  /** Claims, each with its kind, its tier and what it rests on */
  claims: Array<Claim>;
  /** Id of the bundle */
  id?: string | null;
  /** When, in UTC */
  timestamp?: string | null;
  /** `decision`, `reason`, `required_approvals` and `audit_trail` are filled in by the server alone. */
  decision?: "DEFER" | "ESCALATE" | "PUBLISH" | "REFUSE";
  /** `decision`, `reason`, `required_approvals` and `audit_trail` are filled in by the server alone. */
  reason?: string;
  /** `decision`, `reason`, `required_approvals` and `audit_trail` are filled in by the server alone. */
  required_approvals?: Array<string>;
  /** `decision`, `reason`, `required_approvals` and `audit_trail` are filled in by the server alone. */
  audit_trail?: AuditTrail;
  /** `corrects` names what was published before and this puts right. */
  corrects?: Corrects;
};

/** Facts for the gates. `content` says, for each SHA-256 whose bytes are at hand, whether they match. `others` is there if more than one detector was asked: what those after the first found. `brought` says who stored that content. `seen` are the cited calls whose results say what no caller of the session had put in. `unheard` are cited calls and `unhashed` is stored content that were not looked at, because the bundle cites too many, and `unread` are cited calls whose caller had put in more than can be compared; entries without them say of such what they say of what nobody has seen. `measured` is what came of the raw answers that came with claims, by the claim's id. `tools` are the tiers, as registered, declared or pinned, of the tools that claims name; one that is not there is not known. Of a tool in a catalogue the name is the catalogue's, a line break and its own. Entries without it are older than the rules about origins, actions and evidence, and are judged without them. `fallen` is there if claims are about eliminated hypotheses: the event that eliminated each. `rejected` is what people rejected in other sessions, by the digest of the words. Entries without it are older than the rule that a gate which people overrode did not pass. `corrected` is the published bundle that this one corrects. `pending` is there if as many items wait because of the proposer as policy allows: how many those are. `authority` is how those stand now whose word or tier is used. Entries without it are older than the rules that authority is judged when it is used, and that a yes answers the gates that were shown. With `by_rights`, that standing is the one in the session's space. With `by_words`, it is remembered by the words alone who shaped a claim. With `by_results`, a yes answers what the gates had found when it was asked for: one that has found something else since, or worse, asks again. */
export type ClaimFindings = {
  /** Which command these facts are for */
  of: "claims";
  /** What the detectors found */
  threat: Threat;
  /** `others` is there if more than one detector was asked: what those after the first found. */
  others?: Array<Threat>;
  /** `content` says, for each SHA-256 whose bytes are at hand, whether they match. */
  content?: Record<string, "match" | "mismatch">;
  /** `brought` says who stored that content. */
  brought?: Record<string, Array<Bringer>>;
  /** `seen` are the cited calls whose results say what no caller of the session had put in. */
  seen?: Array<string>;
  /** `unheard` are cited calls and `unhashed` is stored content that were not looked at, because the bundle cites too many, and `unread` are cited calls whose caller had put in more than can be compared; entries without them say of such what they say of what nobody has seen. */
  unheard?: Unread;
  /** `unheard` are cited calls and `unhashed` is stored content that were not looked at, because the bundle cites too many, and `unread` are cited calls whose caller had put in more than can be compared; entries without them say of such what they say of what nobody has seen. */
  unread?: Unread;
  /** `unheard` are cited calls and `unhashed` is stored content that were not looked at, because the bundle cites too many, and `unread` are cited calls whose caller had put in more than can be compared; entries without them say of such what they say of what nobody has seen. */
  unhashed?: Unread;
  /** How many proposals the principal has made within the window */
  recent?: number;
  /** The principal who submitted it */
  origin?: string | null;
  /** `measured` is what came of the raw answers that came with claims, by the claim's id. */
  measured?: Record<string, MeasurementFindings>;
  /** `tools` are the tiers, as registered, declared or pinned, of the tools that claims name; one that is not there is not known. */
  tools?: Record<string, "DELETE" | "MODIFY" | "PRIVILEGE" | "READ_ONLY" | "WRITE_LIMITED">;
  /** `fallen` is there if claims are about eliminated hypotheses: the event that eliminated each. */
  fallen?: Record<string, string>;
  /** `rejected` is what people rejected in other sessions, by the digest of the words. */
  rejected?: Record<string, RejectedBefore>;
  /** `corrected` is the published bundle that this one corrects. */
  corrected?: PublishedBundle;
  /** `pending` is there if as many items wait because of the proposer as policy allows: how many those are. */
  pending?: number;
  /** `authority` is how those stand now whose word or tier is used. */
  authority?: Record<string, Principal | null>;
  /** With `by_rights`, that standing is the one in the session's space. */
  by_rights?: boolean;
  /** With `by_words`, it is remembered by the words alone who shaped a claim. */
  by_words?: boolean;
  /** With `by_results`, a yes answers what the gates had found when it was asked for: one that has found something else since, or worse, asks again. */
  by_results?: boolean;
};

/** A claim was put forward in the speculative lane, where it stays. */
export type ClaimSpeculated = {
  /** Which of the shapes this is */
  kind: "claim_speculated";
  /** The claim */
  claim: SpeculativeClaim;
  /** Hypotheses that fall, by their ids */
  eliminated?: Array<string>;
};

/** What a claim rests on: its pointers in their order, and what was measured of its words. */
export type ClaimStanding = {
  /** What speaks for or against it */
  evidence?: Array<PointerStanding>;
  /** The measurement that counts for the claim */
  measured?: MeasuredStanding;
};

/** A claim as somebody asks to have it tested: on observations by their ids, or on numbers that he types. What its proposition predicts need not be said again. */
export type ClaimToTest = {
  /** Id of a claim or proposition, as its author named it */
  claim_id: string;
  /** What was observed */
  observed?: Array<string>;
  /** The numbers that were observed */
  observed_values?: Array<number>;
  /** The number that the claim states */
  claimed_value?: number | null;
  /** How far off a value may be */
  tolerance?: number | null;
  /** Unit of the numbers */
  unit?: string | null;
  /** The error that is allowed: how often a false claim may be supported */
  alpha?: number;
  /** How much it may use: replicates and seconds */
  budget?: Budget;
  /** Hypotheses that fall if the claim is supported */
  eliminates_if_supported?: Array<string>;
  /** Hypotheses that fall if the claim is refuted */
  eliminates_if_refuted?: Array<string>;
};

/** Claims that were published do not stand any more. They stay in the ledger, shown as retracted. */
export type ClaimsRetracted = {
  /** Which of the shapes this is */
  kind: "claims_retracted";
  /** Id of an event of the ledger; ids are ordered by time */
  event_id: string;
  /** Which claims have ended, how and why */
  ended: Ended;
  /** Hypotheses that fall, by their ids */
  eliminated?: Array<string>;
};

/** An event as the client gave it to its hook: what stands in it is the client's to say. */
export type ClientEvent = Record<string, unknown>;

/** Every code a caller can meet. Names are part of the protocol and never change meaning. */
export type Code = "APPROVAL_NOT_FOUND" | "ARCHIVE_INVALID" | "BUNDLE_NOT_FOUND" | "CHECKPOINT_FORGED" | "CONFLICT" | "CONTENT_DAMAGED" | "CONTENT_ERASED" | "CONTENT_NOT_FOUND" | "EVIDENCE_NOT_FOUND" | "EXPERIMENT_NOT_FOUND" | "FORBIDDEN" | "HYPOTHESIS_IS_NOT_EVIDENCE" | "INTENT_NOT_FOUND" | "INTERNAL" | "INVALID_HYPOTHESIS_ID" | "INVALID_REQUEST" | "LEDGER_BROKEN" | "LOG_KEY_UNKNOWN" | "LOG_ROLLED_BACK" | "MEASUREMENT_NOT_FOUND" | "METHOD_NOT_ALLOWED" | "MISSING_CLAIM_ID" | "NOT_COVERED" | "NOT_FOUND" | "NOT_WARRANTED" | "OBLIGATION_NOT_FOUND" | "OBSERVATION_NOT_FOUND" | "PAYLOAD_TOO_LARGE" | "PROOF_INVALID" | "PROPOSITION_NOT_FOUND" | "QUOTA_EXCEEDED" | "RATE_LIMITED" | "RUN_NOT_FOUND" | "SESSION_ARCHIVED" | "SESSION_NOT_FOUND" | "SESSION_SEALED" | "SESSION_TERMINATED" | "SPECULATIVE_ASSERTION" | "SPECULATIVE_EVIDENCE" | "SPECULATIVE_PROPOSAL" | "SPECULATIVE_RESIDUE" | "SPLIT_VIEW" | "STORAGE_UNAVAILABLE" | "TIMED_OUT" | "TOO_BUSY" | "UNAUTHORIZED" | "UNSUPPORTED_MEDIA_TYPE" | "WITNESS_MISSING";

/** Whether a conclusion was accepted, and why or why not. */
export type Concluded = {
  /** Whether the conclusion was accepted */
  accepted: boolean;
  /** Why, in words */
  reason: string;
  /** The session right afterwards */
  snapshot: BeliefSnapshot;
  /** The event that stands in the ledger for this */
  audit_event_id: string;
};

/** How one accepted conclusion fares in the counterfactual, and which sources and principals it hangs on alone: the first 100 by name, each with its first 100 hypotheses. The counts are of all hypotheses, and `n_sole_sources` and `n_sole_principals` of all that it hangs on alone. `rests_on` is what the session rested on when it was accepted. */
export type ConclusionBasis = {
  /** Id of the conclusion, as it was declared */
  conclusion_id: string;
  /** Id of an event of the ledger; ids are ordered by time */
  event_id: string;
  /** Whether it would have been accepted all the same without what is taken away */
  accepted_without: boolean;
  /** How many were left when it was accepted */
  n_survivors_then: number;
  /** How many would have been left without what is taken away */
  n_survivors_without: number;
  /** Whether it rests on what is taken away */
  rests_on_removed: boolean;
  /** Hypotheses that hang on one source alone, by source */
  sole_sources: Record<string, Array<string>>;
  /** How many hypotheses hang on each source alone */
  sole_source_counts: Record<string, number>;
  /** The counts are of all hypotheses, and `n_sole_sources` and `n_sole_principals` of all that it hangs on alone. */
  n_sole_sources: number;
  /** Hypotheses that hang on one principal alone, by principal */
  sole_principals: Record<string, Array<string>>;
  /** How many hypotheses hang on each principal alone */
  sole_principal_counts: Record<string, number>;
  /** The counts are of all hypotheses, and `n_sole_sources` and `n_sole_principals` of all that it hangs on alone. */
  n_sole_principals: number;
  /** `rests_on` is what the session rested on when it was accepted. */
  rests_on: RestsOn;
};

/** A conclusion was accepted or refused. */
export type ConclusionRuled = {
  /** Which of the shapes this is */
  kind: "conclusion_ruled";
  /** Id of the conclusion, as it was declared */
  conclusion_id: string;
  /** Whether the conclusion was accepted */
  accepted: boolean;
  /** Why, in words */
  reason: string;
  /** Hypotheses that fall, by their ids */
  eliminated?: Array<string>;
};

/** How sure a model is: log-probabilities of its tokens, or a stated number with what calibrates it. */
export type Confidence = {
  /** Log-probabilities of the tokens of each answer */
  token_logprobs?: Array<number> | null;
  /** The confidence that the model stated */
  stated?: number | null;
  /** Labelled items that it is compared with */
  calibration?: Labelled | null;
};

/** Scores of a classifier, and the kept calibration set that says what they are worth. */
export type Conformal = {
  /** Probabilities per class, for each item */
  probabilities: Array<number>;
  /** Name of the calibration set that it is compared with */
  calibration_set: string;
  /** Version of the calibration set; the newest if left out */
  version?: number | null;
  /** The error that is allowed: how often a false claim may be supported */
  alpha?: number;
  /** The group that it belongs to, where coverage is per group */
  group?: string | null;
};

/** Class probabilities of questions whose label is known, by its place in the row. */
export type ConformalCalibration = {
  /** Probabilities per class, for each item */
  probabilities: Array<Array<number>>;
  /** The right class of each item, by its place */
  labels: Array<number>;
  /** The group of each item, where coverage is per group */
  groups?: Array<string> | null;
};

/** Shows that the log of `to_size` begins with the log of `from_size`. Hashes are hexadecimal. */
export type ConsistencyProof = {
  /** Shows that the log of `to_size` begins with the log of `from_size`. */
  from_size: number;
  /** Shows that the log of `to_size` begins with the log of `from_size`. */
  to_size: number;
  /** Where in the input this is, beginning at `$` */
  path: Array<string>;
};

/** How much content one principal may have brought that is still kept, and how large one item may be. */
export type ContentPolicy = {
  /** Bytes that one principal may store */
  max_bytes_per_principal?: number;
  /** Pieces of content that one principal may store */
  max_items_per_principal?: number;
  /** Bytes that one piece of content may have */
  max_item_bytes?: number;
};

/** What is known of content. Nobody is known of what was stored before that was written down. */
export type ContentView = {
  /** SHA-256 of the content, in hex */
  sha256: string;
  /** How large it is, in bytes */
  size: number;
  /** When it was last used, in UTC */
  touched_at: string;
  /** Who brought these bytes, and when */
  brought: Array<Bringer>;
};

/** Somebody whose word counts told what the agent knows, or that a call is about to be made. */
export type ContextAdded = {
  /** Which of the shapes this is */
  kind: "context_added";
  /** What was told */
  item: ContextRecord;
  /** Hypotheses that fall, by their ids */
  eliminated?: Array<string>;
};

/** Where what was told stands. */
export type ContextAnswer = {
  /** Id of something that the session was told */
  context_id: string;
  /** Place of the event in its ledger, from 1 on */
  seq: number;
};

/** How much of what the session was told facts rest on; what is `lost` was erased or cannot be read. */
export type ContextBasis = {
  /** How many texts of the session were looked at */
  told: number;
  /** How much of what the session was told facts rest on; what is `lost` was erased or cannot be read. */
  lost?: number;
};

/** Is what was told `kept` beside the ledger? `opened_by` is whose credential opened the session, if it is not the teller's own; entries without it are older, or the teller's own. */
export type ContextFindings = {
  /** Which command these facts are for */
  of: "context";
  /** Is what was told `kept` beside the ledger? `opened_by` is whose credential opened the session, if it is not the teller's own; entries without it are older, or the teller's own. */
  kept: boolean;
  /** Is what was told `kept` beside the ledger? `opened_by` is whose credential opened the session, if it is not the teller's own; entries without it are older, or the teller's own. */
  opened_by?: string;
};

/** What a session was told, oldest first. */
export type ContextPage = {
  /** What the session was told */
  items: Array<ContextView>;
  /** Where the next page begins; null on the last one */
  next?: string | null;
};

/** With it, facts about where values came from are found out for every call. `tellers` are the principals whose context counts, by id or all of `prefix/*`: of a prefix, those with the role `tool`. What `witnesses` report of results counts as witnessed. `own_addresses` are the user's own. `tools` says what tools do that their callers run and whose names do not tell, by id or all of a prefix: `directory` reads who is who, `open` reads what strangers write, `egress` reads at an address it is given. What changes nothing but files inside the user's project counts as harmless where `project` is `free`. `max_bytes` and `max_items` are how large one item may be, and how many a session takes. What is `closed` no gateway passes on, whatever its own file opens. */
export type ContextPolicy = {
  /** `tellers` are the principals whose context counts, by id or all of `prefix/*`: of a prefix, those with the role `tool`. */
  tellers?: Array<string>;
  /** What `witnesses` report of results counts as witnessed. */
  witnesses?: Array<string>;
  /** `own_addresses` are the user's own. */
  own_addresses?: Array<string>;
  /** `tools` says what tools do that their callers run and whose names do not tell, by id or all of a prefix: */
  tools?: Record<string, "directory" | "egress" | "open" | "read" | "write">;
  /** What changes nothing but files inside the user's project counts as harmless where `project` is `free`. */
  project?: "free" | "judged";
  /** Language of the words that the user's texts are read by */
  lexicon?: "all" | "de" | "en" | "es";
  /** `max_bytes` and `max_items` are how large one item may be, and how many a session takes. */
  max_bytes?: number;
  /** `max_bytes` and `max_items` are how large one item may be, and how many a session takes. */
  max_items?: number;
  /** What is `closed` no gateway passes on, whatever its own file opens. */
  closed?: Array<"prompts" | "resources">;
};

/** One thing that was told. Its text is under `content` beside the ledger, where it can be erased. A result without `content` stands in the event that `event_id` names, which recorded its call. It is `vouched` for by the server or by whom policy names; if not, it is a text that anybody could have written. */
export type ContextRecord = {
  /** Id of something that the session was told */
  context_id: string;
  /** A result without `content` stands in the event that `event_id` names, which recorded its call. */
  event_id: string;
  /** Which of the shapes this is */
  kind: "announcement" | "own_address" | "result" | "system" | "user";
  /** What vouches for it: somebody's word, or a record of this server */
  label: "attested" | "witnessed";
  /** Who told it */
  told_by: string;
  /** Its text is under `content` beside the ledger, where it can be erased. */
  content?: string | null;
  /** How large it is, in bytes */
  size?: number;
  /** Id of a tool */
  tool_id?: string | null;
  /** Id of a tool call that was let through */
  call_id?: string | null;
  /** The key under which the call was announced beforehand; null if it was not */
  join_key?: string | null;
  /** What went wrong; empty if nothing did */
  error?: boolean;
  /** It is `vouched` for by the server or by whom policy names; if not, it is a text that anybody could have written. */
  vouched?: boolean;
};

/** What the user or the system said, an address of the user's own, or what a tool gave back. `structured` is a result in a structure, `args` what the tool was asked; with `call_id` that is known. An `announcement` has a `join_key` and no text: a call with that key is about to be made from this session. */
export type ContextRequest = {
  /** Which of the shapes this is */
  kind: "announcement" | "own_address" | "result" | "system" | "user";
  /** What was said, or what a tool gave back */
  text?: string;
  /** `structured` is a result in a structure, `args` what the tool was asked; with `call_id` that is known. */
  structured?: unknown;
  /** Id of a tool */
  tool_id?: string | null;
  /** `structured` is a result in a structure, `args` what the tool was asked; with `call_id` that is known. */
  args?: Record<string, unknown>;
  /** `structured` is a result in a structure, `args` what the tool was asked; with `call_id` that is known. */
  call_id?: string | null;
  /** An `announcement` has a `join_key` and no text: a call with that key is about to be made from this session. */
  join_key?: string | null;
  /** What went wrong; empty if nothing did */
  error?: boolean;
};

/** What was told, without its text: that is under `content`, while it is `kept`. A result without `content` stands in the ledger, with the call that it came of. */
export type ContextView = {
  /** Its place among what the session was told */
  number: number;
  /** Id of something that the session was told */
  context_id: string;
  /** Which of the shapes this is */
  kind: "announcement" | "own_address" | "result" | "system" | "user";
  /** What vouches for it: somebody's word, or a record of this server */
  label: "attested" | "witnessed";
  /** Who told it */
  told_by: string;
  /** What was told, without its text: that is under `content`, while it is `kept`. */
  content: string | null;
  /** How large it is, in bytes */
  size: number;
  /** What was told, without its text: that is under `content`, while it is `kept`. */
  kept: boolean;
  /** Id of a tool */
  tool_id: string | null;
  /** Id of a tool call that was let through */
  call_id: string | null;
  /** The key under which the call was announced beforehand; null if it was not */
  join_key: string | null;
  /** What went wrong; empty if nothing did */
  error: boolean;
};

/** The dense side of the newest change that had one, as it was sent. The event holds its proposal. */
export type CoreVector = {
  /** SHA-256 over it */
  digest: string;
  /** How many numbers the vector has */
  dims: number;
  /** The values */
  values: Array<number>;
  /** Id of an event of the ledger; ids are ordered by time */
  event_id: string;
};

/** What a bundle corrects. `ended` says how that has ended: by this bundle, or otherwise before. */
export type Correction = {
  /** Id of a bundle of claims; its submitter's, or made by the server */
  bundle_id: string;
  /** Id of a claim or proposition, as its author named it */
  claim_id?: string | null;
  /** `ended` says how that has ended: by this bundle, or otherwise before. */
  ended?: EndedClaim | null;
};

/** The published bundle that a bundle corrects, or one claim of it. */
export type Corrects = {
  /** Id of a bundle of claims; its submitter's, or made by the server */
  bundle_id: string;
  /** Id of a claim or proposition, as its author named it */
  claim_id?: string;
};

/** `note` is a checkpoint of this log with the signatures of witnesses under it. */
export type Cosign = {
  /** `note` is a checkpoint of this log with the signatures of witnesses under it. */
  note: string;
};

/** Decisions about one tool, or of one principal. */
export type Counted = {
  /** Name of the tool, or id of the principal */
  name: string;
  /** How many decisions were made again */
  decisions: number;
  /** Decisions that would be other ones */
  changed: number;
  /** Decisions that could not be made again */
  undecidable: number;
};

/** `restored` has the first names, `conclusions` one page; `n_restored` and `n_conclusions` are exact. */
export type Counterfactual = {
  /** Sources that were taken away */
  without_source_ids: Array<string>;
  /** Principals that were taken away */
  without_principals: Array<string>;
  /** Whether all that rests on somebody's word was taken away */
  without_attested: boolean;
  /** Hypotheses that are left, by their ids: the first page of them */
  survivors: Array<string>;
  /** How many hypotheses are left; always exact */
  n_survivors: number;
  /** `restored` has the first names, `conclusions` one page; `n_restored` and `n_conclusions` are exact. */
  restored: Array<string>;
  /** `restored` has the first names, `conclusions` one page; `n_restored` and `n_conclusions` are exact. */
  n_restored: number;
  /** How it stands */
  status: "exhausted" | "open" | "singleton" | "terminated";
  /** How many eliminations rest on records, and how many on somebody's word */
  rests_on: RestsOn;
  /** `restored` has the first names, `conclusions` one page; `n_restored` and `n_conclusions` are exact. */
  conclusions: Array<ConclusionBasis>;
  /** `restored` has the first names, `conclusions` one page; `n_restored` and `n_conclusions` are exact. */
  n_conclusions: number;
  /** Where the next page of conclusions begins; null on the last one */
  conclusions_next: string | null;
};

/** A space to make. */
export type CreateSpace = {
  /** Its name */
  name: string;
};

/** `spaces` are rights by space, `*` for all spaces; without it, the token may what its role may: in the default space, and an administrator everywhere. */
export type CreateToken = {
  /** Its name */
  name: string;
  /** What the principal may do by its role */
  role: Role;
  /** Risk tier: READ_ONLY, WRITE_LIMITED, MODIFY, DELETE or PRIVILEGE */
  tier?: "DELETE" | "MODIFY" | "PRIVILEGE" | "READ_ONLY" | "WRITE_LIMITED" | null;
  /** The person to whom it belongs, so that nobody approves his own proposals */
  owner?: string | null;
  /** `spaces` are rights by space, `*` for all spaces; without it, the token may what its role may: in the default space, and an administrator everywhere. */
  spaces?: Record<string, Array<Right>>;
};

/** `secret` is what the caller sends in `Authorization: Bearer`. It is not shown again. */
export type CreatedToken = {
  /** `secret` is what the caller sends in `Authorization: */
  secret: string;
  /** The token */
  token: TokenView;
};

/** Data against what is predicted of them: a histogram from `low` to `high`, and the predicted region. An end of the region is null where it has none. */
export type DataPicture = {
  /** Data against what is predicted of them: a histogram from `low` to `high`, and the predicted region. */
  low: number;
  /** Data against what is predicted of them: a histogram from `low` to `high`, and the predicted region. */
  high: number;
  /** How many values are in each bin of the histogram */
  counts: Array<number>;
  /** The mean of the data */
  mean: number;
  /** The lower end of the predicted region; null if it has none */
  region_low: number | null;
  /** The upper end of the predicted region; null if it has none */
  region_high: number | null;
};

/** Approve, reject or edit what waits. `content_hash` names exactly what was looked at. `to_status` goes with an edit of a write intent: another, weaker status. DEFERRED asks for more evidence, SEEN takes what is for information off the list. */
export type DecideApproval = {
  /** Which command this is */
  verb?: "DECIDE_APPROVAL";
  /** Id of an item of the inbox, `apr-` and the id of the event that opened it */
  approval_id?: string;
  /** What was decided */
  decision: "APPROVED" | "DEFERRED" | "MODIFIED" | "REJECTED" | "SEEN";
  /** `content_hash` names exactly what was looked at. */
  content_hash: string;
  /** Why, in words */
  reason?: string;
  /** Claims, each with its kind, its tier and what it rests on */
  claims?: Array<Claim>;
  /** `to_status` goes with an edit of a write intent: another, weaker status. */
  to_status?: "proven" | "refuted" | "speculative" | "supported" | "unresolved" | null;
};

/** What a DECISION decides: to call a tool, or to change the status of a proposition. One of the two. `upstream` is the catalogue that the tool is pinned in, as in a proposal of that call. */
export type DecidedAction = {
  /** The tool that is called */
  tool?: string;
  /** The proposition that changes */
  proposition?: string;
  /** `upstream` is the catalogue that the tool is pinned in, as in a proposal of that call. */
  upstream?: string;
};

/** What it led to: `bundle` is the resumed chain, `call` what was confirmed, arbitrated anew; if it was let through, a call has been run and a change of state made. `intent` is the write intent that was decided. All are null while more people must agree. */
export type DecidedApproval = {
  /** Id of an item of the inbox, `apr-` and the id of the event that opened it */
  approval_id: string;
  /** How it stands */
  status: string;
  /** What was decided */
  decision: string;
  /** What came of it */
  outcome: "DEFER" | "ESCALATE" | "PUBLISH" | "REFUSE" | null;
  /** `bundle` is the resumed chain, `call` what was confirmed, arbitrated anew; if it was let through, a call has been run and a change of state made. */
  bundle: JudgedBundle | null;
  /** `bundle` is the resumed chain, `call` what was confirmed, arbitrated anew; if it was let through, a call has been run and a change of state made. */
  call: CandidateAnswer | null;
  /** `intent` is the write intent that was decided. */
  intent: IntentView | null;
  /** The item of the inbox that this is about */
  approval: ApprovalCard;
  /** The event that stands in the ledger for this */
  audit_event_id: string;
};

/** An item of the same session that was about the same, and what came of it. */
export type DecidedBefore = {
  /** Id of an item of the inbox, `apr-` and the id of the event that opened it */
  approval_id: string;
  /** How it stands */
  status: "approved" | "deferred" | "information" | "modified" | "pending" | "rejected" | "seen" | "superseded" | "timed_out" | "withdrawn";
  /** Who decided it; null while nobody has */
  decided_by: string | null;
  /** When it was put into the inbox, in UTC */
  opened_at: string;
  /** Why, in words */
  reason: string;
};

/** The first decision of a group: where it stands, and why it would be another. Long arguments are left out. */
export type DecidedOtherwise = {
  /** Id of a session; ids are ordered by time */
  session_id: string;
  /** Place of the event in its ledger, from 1 on */
  seq: number;
  /** Id of an event of the ledger; ids are ordered by time */
  event_id: string;
  /** When, in UTC */
  at: string;
  /** Why, one entry per constraint or finding */
  reasons: Array<string>;
  /** Arguments of the call, as the tool's schema takes them */
  args?: Record<string, unknown>;
};

/** A constraint that the verdict rests on, with what it read. `code` is why it stands in the way, and `ALLOWED` if it does not. */
export type Deciding = {
  /** Id of the constraint; null if none is behind it */
  constraint: string;
  /** Whether the constraint allows or denies */
  effect: string;
  /** `code` is why it stands in the way, and `ALLOWED` if it does not. */
  code: string;
  /** What the constraint looked at, and what it found */
  reads: Array<Reading>;
  /** What follows where it does not pass: block, ask, defer or degrade */
  on_fail?: "ask" | "block" | "defer" | "degrade" | null;
};

/** State what the session has come to. */
export type DeclareConclusion = {
  /** Which command this is */
  verb?: "DECLARE_CONCLUSION";
  /** Id of the conclusion, as it was declared */
  conclusion_id: string;
  /** Stored with the request, and not interpreted */
  context?: Record<string, unknown>;
  /** The one in the path, if any */
  session_id?: string;
};

/** Open a session over a fixed set of hypotheses, in a `space` if it is not the default one. */
export type DeclareSession = {
  /** Which command this is */
  verb?: "DECLARE_SESSION";
  /** Which hypothesis space and which causal graph the hypotheses are from */
  ontology: OntologyBundle;
  /** Ids of hypotheses, as they were declared */
  hypotheses: Array<string>;
  /** How the session deals with ids that it does not know */
  options?: SessionOptions;
  /** Stored with the session and not interpreted */
  metadata?: Record<string, unknown>;
  /** Open a session over a fixed set of hypotheses, in a `space` if it is not the default one. */
  space?: string;
};

/** The session that was opened. */
export type Declared = {
  /** Id of a session; ids are ordered by time */
  session_id: string;
  /** The session right afterwards */
  snapshot: BeliefSnapshot;
  /** The event that stands in the ledger for this */
  audit_event_id: string;
};

/** The session began; its universe is in the entry's payload. */
export type DeclaredEvent = {
  /** Which of the shapes this is */
  kind: "declared";
  /** Hypotheses that fall, by their ids */
  eliminated?: Array<string>;
};

/** Another definition of a tool than the one that is pinned, which `was`; None if it is new. */
export type DefinitionSubject = {
  /** Which of the shapes this is */
  kind: "definition";
  /** Name of the tool server that this comes from */
  upstream: string;
  /** Its name */
  name: string;
  /** The definition of the tool; null if there is none */
  definition?: OfferedTool | null;
  /** Another definition of a tool than the one that is pinned, which `was`; None if it is new. */
  was?: OfferedTool | null;
};

/** A change of F_sparse. `delta_vector` is its dense side, which no rule reads, `rationale` why its agent wants it, which people read. */
export type DeltaCandidate = {
  /** Which of the shapes this is */
  kind: "delta";
  /** What to set and what to remove */
  patch: Patch;
  /** `delta_vector` is its dense side, which no rule reads, `rationale` why its agent wants it, which people read. */
  delta_vector?: DeltaVector;
  /** `delta_vector` is its dense side, which no rule reads, `rationale` why its agent wants it, which people read. */
  rationale?: string;
};

/** A change of the symbolic state that waits likewise. It was judged on snapshot `judged_on`. The candidate is kept without its vector, which `vector` names. */
export type DeltaSubject = {
  /** Which of the shapes this is */
  kind: "delta";
  /** What was proposed */
  candidate?: DeltaCandidate | null;
  /** Constraints that ask for a person, each with its hash */
  asked?: Record<string, string>;
  /** It was judged on snapshot `judged_on`. */
  judged_on?: string;
  /** The candidate is kept without its vector, which `vector` names. */
  vector?: VectorRef;
};

/** A vector as it was sent. `digest` is the SHA-256 of the canonical form of `values`. INVARIANT: what does not fit its digest is refused when it is read, so that no rule has to look at it. */
export type DeltaVector = {
  /** `digest` is the SHA-256 of the canonical form of `values`. */
  digest: string;
  /** How many numbers the vector has */
  dims: number;
  /** `digest` is the SHA-256 of the canonical form of `values`. */
  values: Array<number>;
};

/** What rules changed in F_sparse: what they derive now, and what fell. `under` names the rules that it follows, `size` is how many bytes all derived facts take up after it. */
export type Derivation = {
  /** Facts that rules derive now, by key */
  set: Record<string, DerivedFact>;
  /** Keys that no rule derives any more */
  fell: Array<string>;
  /** `under` names the rules that it follows, `size` is how many bytes all derived facts take up after it. */
  under: string;
  /** `under` names the rules that it follows, `size` is how many bytes all derived facts take up after it. */
  size: number;
};

/** A derived fact with what it comes from. */
export type DerivedFact = {
  /** The rule behind it */
  rule: string;
  /** Keys that it was derived from */
  inputs: Array<string>;
  /** The value */
  value: unknown;
};

/** A whole `spec`; or a `claim` to design one for, with the `speculation` or `hints` that may inform it. What informs is used up in memory: of it the spec, and so the ledger, keeps the digest alone. */
export type DesignRequest = {
  /** A whole `spec`; or a `claim` to design one for, with the `speculation` or `hints` that may inform it. */
  spec?: ExperimentSpec | null;
  /** A whole `spec`; or a `claim` to design one for, with the `speculation` or `hints` that may inform it. */
  claim?: ClaimToTest | null;
  /** A whole `spec`; or a `claim` to design one for, with the `speculation` or `hints` that may inform it. */
  speculation?: Speculation | null;
  /** A whole `spec`; or a `claim` to design one for, with the `speculation` or `hints` that may inform it. */
  hints?: ExperimentHints | null;
};

/** Of all claims that were tested here, those that can be believed at once: on average at most a share `alpha` of them is wrong, however they depend on each other. */
export type Discoveries = {
  /** Of all claims that were tested here, those that can be believed at once: on average at most a share `alpha` of them is wrong, however they depend on each other. */
  alpha: number;
  /** Claims that can be believed together */
  discovered: Array<Discovery>;
  /** Claims that cannot be believed together with them */
  others: Array<Discovery>;
};

/** A claim that can be believed together with the others. `e_value` is the mean over all of its runs. */
export type Discovery = {
  /** Id of a claim or proposition, as its author named it */
  claim_id: string;
  /** `e_value` is the mean over all of its runs. */
  e_value: number;
  /** How many runs it had */
  runs: number;
};

/** Claim that an observation is inconsistent with some hypotheses. `cites` names what it rests on in this session. Without it, an elimination is the word of who sends it. */
export type Eliminate = {
  /** Which command this is */
  verb?: "ELIMINATE";
  /** Who or what speaks: a principal, a tool, a log */
  source_id: string;
  /** Id of an observation */
  observation_id: string;
  /** Hypotheses that fall, by their ids */
  eliminated: Array<string>;
  /** Why, as JSON; stored as it is */
  justification: Record<string, unknown>;
  /** `cites` names what it rests on in this session. */
  cites?: Array<Citation>;
  /** The one in the path, if any */
  session_id?: string;
};

/** `label` is that of an elimination; a merge takes over many, and has none of its own. `unsaid` is how many of these it could not take over the justification of; `why` says for which, and why not. */
export type Eliminated = {
  /** Hypotheses that fell by this, by their ids */
  applied_eliminated: Array<string>;
  /** Hypotheses that had fallen before, or that the session does not know */
  ignored_eliminated: Array<string>;
  /** The session right afterwards */
  snapshot: BeliefSnapshot;
  /** The event that stands in the ledger for this */
  audit_event_id: string;
  /** `label` is that of an elimination; a merge takes over many, and has none of its own. */
  label: "attested" | "witnessed" | null;
  /** `unsaid` is how many of these it could not take over the justification of; `why` says for which, and why not. */
  unsaid?: number;
};

/** `eliminated` left the survivors; `ignored` were no longer (or never) among them. `label` is there if something was cited; without it, the elimination is attested. */
export type EliminatedEvent = {
  /** Which of the shapes this is */
  kind: "eliminated";
  /** `eliminated` left the survivors; `ignored` were no longer (or never) among them. */
  ignored?: Array<string>;
  /** `label` is there if something was cited; without it, the elimination is attested. */
  label?: "attested" | "witnessed";
  /** `eliminated` left the survivors; `ignored` were no longer (or never) among them. */
  eliminated?: Array<string>;
};

/** What an elimination must rest on. `require: witnessed` refuses those that cite nothing which somebody else than their author has seen. */
export type EliminationPolicy = {
  /** What an elimination must rest on: an observation on record, or anybody's word */
  require?: "attested" | "witnessed";
};

/** Claims of one bundle that ended together. `standing` is how many others of that bundle still stand. `correction` is the bundle that says it better, and `step` how many corrections that one rests on. */
export type Ended = {
  /** Whether they were retracted or corrected */
  how: "corrected" | "retracted";
  /** Id of a bundle of claims; its submitter's, or made by the server */
  bundle_id: string;
  /** Ids of the claims that this is about */
  claim_ids: Array<string>;
  /** `standing` is how many others of that bundle still stand. */
  standing: number;
  /** Who did it */
  by: string;
  /** When, in UTC */
  at: string;
  /** Why, in words */
  reason?: string;
  /** `correction` is the bundle that says it better, and `step` how many corrections that one rests on. */
  correction?: string;
  /** `correction` is the bundle that says it better, and `step` how many corrections that one rests on. */
  step?: number;
};

/** How a claim ended. `text` says it in words; `correction` is the bundle that corrects it. `correction_stands` is false if nothing of that bundle stands any more either. */
export type EndedClaim = {
  /** Whether it was retracted or corrected */
  how: "corrected" | "retracted";
  /** Who did it */
  by: string;
  /** When, in UTC */
  at: string;
  /** Why, in words */
  reason: string;
  /** `text` says it in words; `correction` is the bundle that corrects it. */
  text: string;
  /** The event that stands in the ledger for this */
  audit_event_id: string;
  /** `text` says it in words; `correction` is the bundle that corrects it. */
  correction?: string | null;
  /** `correction_stands` is false if nothing of that bundle stands any more either. */
  correction_stands?: boolean | null;
};

/** Promise a number of eliminations before any conclusion or termination. */
export type EnterObligation = {
  /** Which command this is */
  verb?: "ENTER_OBLIGATION";
  /** Id of an obligation, as it was entered */
  obligation_id: string;
  /** How many hypotheses must fall before the obligation can be left */
  min_total_eliminations: number;
  /** The one in the path, if any */
  session_id?: string;
};

/** The envelope, typed. `payload` stays raw: folding does not need it, re-deciding decodes it. */
export type Entry = {
  /** The principal who sent the command, with his role */
  actor: Principal;
  /** What the event changes: all that a fold needs */
  delta: DeclaredEvent | EliminatedEvent | ObligationEntered | ExitRuled | ConclusionRuled | TerminationRuled | Merged | Refused | BundleGated | ClaimsRetracted | ApprovalDecided | ApprovalClosed | GrantGiven | GrantRevoked | Arbitrated | CallStarted | CallStopped | OutcomeRecorded | CapabilityIssued | CapabilityRevoked | Remembered | ModeSet | Interrupted | SignalNoted | Resumed | ContextAdded | Observed | Measured | ExperimentDesigned | RunStarted | RunRecorded | EvidenceLinked | IntentStaged | Speculated | ClaimSpeculated | TokenMade | TokenRevoked | TokensAdopted | PolicyAdopted | SpaceMade | LedgerImported | KeyChanged | StoreRestored | LedgerArchived | LedgerUnarchived | RefusalNoted | ToolsPinned | LedgerReceived | SessionSealed | SessionUnsealed | Erased;
  /** Id of an event of the ledger; ids are ordered by time */
  event_id: string;
  /** `payload` stays raw: folding does not need it, re-deciding decodes it. */
  payload: unknown;
  /** SHA-256 of the policy that it was decided under */
  policy_hash: string;
  /** Hash of the entry before; of the first one, the hash of the session's genesis */
  prev_hash: string;
  /** Version of the protocol */
  protocol: string;
  /** Place of the event in its ledger, from 1 on */
  seq: number;
  /** Id of a session; ids are ordered by time */
  session_id: string;
  /** SHA-256 over the survivors after the event */
  survivors_after_hash: string;
  /** SHA-256 over the survivors before the event */
  survivors_before_hash: string;
  /** When it was recorded, in UTC */
  ts: string;
  /** Which command this is */
  verb: string;
  /** What was found out before deciding; null if nothing had to be */
  facts?: ClaimFindings | RetractionFindings | ProposalFindings | StartFindings | MemoryFindings | ContextFindings | ObservationFindings | MeasurementFindings | ExperimentFindings | CitationFindings | AuthorityFindings | ErasureFindings | null;
  /** Notes for people that came with the request; null if there were none */
  notes?: string | null;
  /** SHA-256 of the session's state after the event; null where it was not computed */
  state_hash?: string | null;
  /** SHA-256 of the entry, which the next entry names */
  hash: string;
};

/** What has been used of the budgets of an episode that began at `since`. */
export type Episode = {
  /** What has been used of the budgets of an episode that began at `since`. */
  since: string;
  /** How many candidates were proposed */
  candidates?: number;
  /** How many proposals have followed upon each other */
  planning_depth?: number;
  /** How many calls have followed upon each other */
  tool_depth?: number;
  /** Tokens of the model that were used */
  tokens?: number;
};

/** The episode after a proposal, and the interruption that it leads to if it is used up. */
export type EpisodeChange = {
  /** The stretch of work under way; null if none is */
  episode?: Episode | null;
  /** Why the session stands still; null if it does not */
  interruption?: Interruption | null;
};

/** How much one episode of a session may take; what is not given is not limited. An episode begins with the first proposal after the last one ended. `wall_seconds` is its time, `candidates` how many it may have judged, `planning_depth` how many proposals, `tool_depth` how many of those may have calls let through, `tokens` what its calls may use. What is used up ends it for every proposal, also for those without calls. The mode's `budget_share` is taken of each, 1 at least. With `rest_seconds`, the next episode may begin so long after one was used up; without, it takes somebody who resumes. */
export type EpisodePolicy = {
  /** `wall_seconds` is its time, `candidates` how many it may have judged, `planning_depth` how many proposals, `tool_depth` how many of those may have calls let through, `tokens` what its calls may use. */
  wall_seconds?: number | null;
  /** `wall_seconds` is its time, `candidates` how many it may have judged, `planning_depth` how many proposals, `tool_depth` how many of those may have calls let through, `tokens` what its calls may use. */
  candidates?: number | null;
  /** `wall_seconds` is its time, `candidates` how many it may have judged, `planning_depth` how many proposals, `tool_depth` how many of those may have calls let through, `tokens` what its calls may use. */
  planning_depth?: number | null;
  /** `wall_seconds` is its time, `candidates` how many it may have judged, `planning_depth` how many proposals, `tool_depth` how many of those may have calls let through, `tokens` what its calls may use. */
  tool_depth?: number | null;
  /** `wall_seconds` is its time, `candidates` how many it may have judged, `planning_depth` how many proposals, `tool_depth` how many of those may have calls let through, `tokens` what its calls may use. */
  tokens?: number | null;
  /** With `rest_seconds`, the next episode may begin so long after one was used up; without, it takes somebody who resumes. */
  rest_seconds?: number | null;
};

/** The episode under way: what it has used, and what it may use in the mode of now. */
export type EpisodeView = {
  /** Since when, in UTC */
  since: string;
  /** What has been used, by budget */
  used: Record<string, number>;
  /** How much may be used */
  limits: Record<string, number>;
};

/** What had these digests is no longer kept: it cannot be read, here or from the digests. */
export type Erased = {
  /** Which of the shapes this is */
  kind: "erased";
  /** Id of an event of the ledger; ids are ordered by time */
  event_id: string;
  /** Digests of what stands beside the ledger */
  digests: Array<string>;
  /** Why, in words */
  reason: string;
  /** Hypotheses that fall, by their ids */
  eliminated?: Array<string>;
};

/** `erased` are the digests that this request has had erased, by `events`; none, if all were before. `swept` says whether the files of the store are rid of it, too: not, as long as somebody else reads them. */
export type ErasureAnswer = {
  /** `erased` are the digests that this request has had erased, by `events`; none, if all were before. */
  events: Array<string>;
  /** `erased` are the digests that this request has had erased, by `events`; none, if all were before. */
  erased: Array<string>;
  /** `swept` says whether the files of the store are rid of it, too: not, as long as somebody else reads them. */
  swept: boolean;
};

/** `unknown` are those of the digests that this ledger does not mention. */
export type ErasureFindings = {
  /** Which command these facts are for */
  of: "erasure";
  /** `unknown` are those of the digests that this ledger does not mention. */
  unknown?: Array<string>;
};

/** What to erase: content and withheld parts by `digests`, all that these `events` withhold, or all texts that the session was told (`context`). `reason` stays in the ledger for ever: do not repeat there what is erased. */
export type ErasureRequest = {
  /** `reason` stays in the ledger for ever: do not repeat there what is erased. */
  reason: string;
  /** What to erase: content and withheld parts by `digests`, all that these `events` withhold, or all texts that the session was told (`context`). */
  digests?: Array<string>;
  /** What to erase: content and withheld parts by `digests`, all that these `events` withhold, or all texts that the session was told (`context`). */
  events?: Array<string>;
  /** What to erase: content and withheld parts by `digests`, all that these `events` withhold, or all texts that the session was told (`context`). */
  context?: boolean;
};

/** `{code, message, details}`; `details.path` points at the bad field where there is one. */
export type ErrorBody = {
  /** Why, as a code that never changes its meaning */
  code: Code;
  /** What is wrong or what happened, in words */
  message: string;
  /** More about it, such as the `path` of the bad field */
  details?: Record<string, unknown> | null;
};

/** The whole body of every error answer. */
export type ErrorShape = {
  /** What went wrong; empty if nothing did */
  error: ErrorBody;
};

/** What a run says about its claim. `success` is that of the run; `outcome` is what it came to. With `bookkeeping` it is as good as the labels that its caller gave, and moves nothing. It counts for its claim as soon as it is there: `role` says what for, once somebody has linked it. `revision` is that of the wording that was tested: a new wording needs new evidence. `label`, `bodies`, `typed_by`, `worded_first` and `tries` are those of its experiment. `lane` joins those of its inputs. */
export type Evidence = {
  /** Id of a piece of evidence */
  evidence_id: string;
  /** Which of the shapes this is */
  kind: "negative-evidence" | "validation-evidence";
  /** Id of a claim or proposition, as its author named it */
  claim_id: string;
  /** The kind of experiment */
  template: string;
  /** Id of an experiment, `exp-` and the id of the event that planned it */
  experiment_id: string;
  /** The run that the evidence comes from */
  execution_id: string;
  /** `success` is that of the run; `outcome` is what it came to. */
  success: boolean;
  /** `success` is that of the run; `outcome` is what it came to. */
  outcome: "refute" | "support" | "unresolved";
  /** How sure it is, from 0 to 1 */
  confidence: number;
  /** The smallest alpha at which the outcome would still have been reached */
  error_level: number;
  /** Whether a check failed, so that the outcome counts for nothing */
  fragile: boolean;
  /** Of all random numbers: the same seed gives the same run */
  seed: number;
  /** SHA-256 of the parameters */
  params_hash: string;
  /** SHA-256 of the result */
  result_hash: string;
  /** SHA-256 of the plan */
  spec_hash: string;
  /** The model that this is about */
  model: string;
  /** When the run created it, in UTC */
  minted_at: string;
  /** In which way the claim failed; null if it did not */
  failure_mode?: "nonidentifiable" | "null_effect" | "sign_flip" | "violated_assumption" | null;
  /** How strong the evidence is; null if it is no number */
  strength?: number | null;
  /** `role` says what for, once somebody has linked it. */
  role?: "refute" | "replicate" | "support" | "undercut" | null;
  /** Who linked it to the claim; null if nobody did */
  linked_by?: string | null;
  /** When it was linked to the claim, in UTC; null if it was not */
  linked_at?: string | null;
  /** `revision` is that of the wording that was tested: a new wording needs new evidence. */
  revision?: number;
  /** With `bookkeeping` it is as good as the labels that its caller gave, and moves nothing. */
  bookkeeping?: boolean;
  /** `label`, `bodies`, `typed_by`, `worded_first` and `tries` are those of its experiment. */
  label?: "attested" | "witnessed";
  /** `label`, `bodies`, `typed_by`, `worded_first` and `tries` are those of its experiment. */
  bodies?: Array<string>;
  /** `label`, `bodies`, `typed_by`, `worded_first` and `tries` are those of its experiment. */
  typed_by?: Array<string>;
  /** `label`, `bodies`, `typed_by`, `worded_first` and `tries` are those of its experiment. */
  worded_first?: boolean;
  /** `label`, `bodies`, `typed_by`, `worded_first` and `tries` are those of its experiment. */
  tries?: number;
  /** `lane` joins those of its inputs. */
  lane?: "grounded" | "speculative";
};

/** A piece of evidence for or against a proposition; `role` is null if nobody said what it is to it. `counts` is false for one that tested an earlier wording. It holds under its `model` only. `label` says whether somebody else than its designer has witnessed its data. */
export type EvidenceEntry = {
  /** Id of a session; ids are ordered by time */
  session_id: string;
  /** Id of a piece of evidence */
  evidence_id: string;
  /** Which of the shapes this is */
  kind: "negative-evidence" | "validation-evidence";
  /** A piece of evidence for or against a proposition; `role` is null if nobody said what it is to it. */
  role: "refute" | "replicate" | "support" | "undercut" | null;
  /** `label` says whether somebody else than its designer has witnessed its data. */
  label: "attested" | "witnessed";
  /** Whether the claim was put into words before its data were seen */
  worded_first: boolean;
  /** What came of it */
  outcome: "refute" | "support" | "unresolved";
  /** Whether the run reached its criterion */
  success: boolean;
  /** Whether a check failed, so that the outcome counts for nothing */
  fragile: boolean;
  /** `counts` is false for one that tested an earlier wording. */
  counts: boolean;
  /** How sure it is, from 0 to 1 */
  confidence: number;
  /** The smallest alpha at which the outcome would still have been reached */
  error_level: number;
  /** It holds under its `model` only. */
  model: string;
  /** The kind of experiment */
  template: string;
  /** Id of an experiment, `exp-` and the id of the event that planned it */
  experiment_id: string;
  /** Id of one run of an experiment */
  run_id: string;
  /** SHA-256 of the result */
  result_hash: string;
  /** Who linked it to the claim; null if nobody did */
  linked_by: string | null;
  /** When it was linked to the claim, in UTC; null if it was not */
  linked_at: string | null;
};

/** Evidence got a role. What its experiment had said would fall by it is `eliminated`, or `ignored` if it was gone already; `withheld` says why nothing fell. `propositions` are those whose status fell. */
export type EvidenceLinked = {
  /** Which of the shapes this is */
  kind: "evidence_linked";
  /** What speaks for or against it */
  evidence: Evidence;
  /** What its experiment had said would fall by it is `eliminated`, or `ignored` if it was gone already; `withheld` says why nothing fell. */
  ignored?: Array<string>;
  /** What its experiment had said would fall by it is `eliminated`, or `ignored` if it was gone already; `withheld` says why nothing fell. */
  withheld?: string;
  /** `propositions` are those whose status fell. */
  propositions?: Array<Proposition>;
  /** What its experiment had said would fall by it is `eliminated`, or `ignored` if it was gone already; `withheld` says why nothing fell. */
  eliminated?: Array<string>;
};

/** Evidence of a session. */
export type EvidencePage = {
  /** What speaks for or against it */
  evidence: Array<Evidence>;
  /** Where the next page begins; null on the last one */
  next?: string | null;
};

/** Where a claim's evidence is, how good its source is, and what its content hashes to. */
export type EvidencePointer = {
  /** Where the evidence is: a URL, a file, a log */
  source: string;
  /** How sure the source is of it, from 0 to 1 */
  source_confidence: number;
  /** Digest of the evidence, recomputed wherever the content is at hand */
  evidence_hash: string;
  /** When the evidence was fetched, in UTC */
  retrieved_at: string;
};

/** What counts as evidence. `hash: strict` refuses digests that are not SHA-256. `require` is how far a claim's best evidence must be known here: in one word, or by type of claim, or by tier too. What is said of a tier holds for those above it, until one of them has a word of its own. Of a type or a tier that it leaves out the default holds, or with `otherwise: attested` nothing is asked for. What is said of a tier below the one that a default begins at takes nothing from it. That a claim names no evidence at all is published with it, unless `unnamed` is `untold`. */
export type EvidencePolicy = {
  /** The best evidence must be at least this sure */
  min_confidence?: number;
  /** SHA-256 of the entry, which the next entry names */
  hash?: "lenient" | "strict";
  /** Evidence that is older than this does not count; null for no limit */
  max_age_seconds?: number | null;
  /** `require` is how far a claim's best evidence must be known here: in one word, or by type of claim, or by tier too. */
  require?: "attested" | "stored" | "witnessed" | Record<string, "attested" | "stored" | "witnessed" | Record<string, "attested" | "stored" | "witnessed">>;
  /** That a claim names no evidence at all is published with it, unless `unnamed` is `untold`. */
  unnamed?: "told" | "untold";
  /** Who decides where no rule is for the tier */
  otherwise?: "attested" | "default";
};

/** Names a run. What it came to is in the ledger; nobody is asked for it here. */
export type EvidenceRequest = {
  /** Id of a claim or proposition, as its author named it */
  claim_id: string;
  /** Id of one run of an experiment */
  run_id: string;
  /** What the principal may do by its role */
  role: "refute" | "replicate" | "support" | "undercut";
};

/** An obligation could be left, or not yet. */
export type ExitRuled = {
  /** Which of the shapes this is */
  kind: "exit_ruled";
  /** Id of an obligation, as it was entered */
  obligation_id: string;
  /** Whether it was approved */
  approved: boolean;
  /** Why, in words */
  reason: string;
  /** Hypotheses that fall, by their ids */
  eliminated?: Array<string>;
};

/** A plan that was frozen. The plan itself stands in the event that `event_id` names. `revision` is that of the proposition whose prediction it tests; 0 if it tests none, and then what comes of it counts for nothing. `label` joins those of its `observations`, `bodies` are what these were taken from. `worded_first` is whether the wording stood before the data did. `tries` is how many tests its designer has made on that data, this one included; `left_out` how many results of the same tools are not among its data; `choices` among how many lists of numbers its data were chosen. The more of any of these, the smaller `alpha`. */
export type Experiment = {
  /** Id of an experiment, `exp-` and the id of the event that planned it */
  experiment_id: string;
  /** The plan itself stands in the event that `event_id` names. */
  event_id: string;
  /** Id of a claim or proposition, as its author named it */
  claim_id: string;
  /** The kind of experiment */
  template: string;
  /** SHA-256 of the code that computed it */
  code_hash: string;
  /** SHA-256 of the plan */
  spec_hash: string;
  /** SHA-256 of the parameters */
  params_hash: string;
  /** Of all random numbers: the same seed gives the same run */
  seed: number;
  /** Which attempt at this claim it is, from 1 on */
  attempt: number;
  /** The more of any of these, the smaller `alpha`. */
  alpha: number;
  /** Who planned it */
  designed_by: string;
  /** When it was planned, in UTC */
  designed_at: string;
  /** Seconds that a run may take */
  budget_seconds: number;
  /** SHA-256 of the hints that informed the plan; empty if none did */
  hints_digest?: string;
  /** Hypotheses that fall if the claim is supported */
  eliminates_if_supported?: Array<string>;
  /** Hypotheses that fall if the claim is refuted */
  eliminates_if_refuted?: Array<string>;
  /** Id of one run of an experiment */
  run_id?: string | null;
  /** `revision` is that of the proposition whose prediction it tests; 0 if it tests none, and then what comes of it counts for nothing. */
  revision?: number;
  /** `label` joins those of its `observations`, `bodies` are what these were taken from. */
  label?: "attested" | "witnessed";
  /** `label` joins those of its `observations`, `bodies` are what these were taken from. */
  observations?: Array<string>;
  /** `label` joins those of its `observations`, `bodies` are what these were taken from. */
  bodies?: Array<string>;
  /** Who typed values in that it rests on */
  typed_by?: Array<string>;
  /** `worded_first` is whether the wording stood before the data did. */
  worded_first?: boolean;
  /** `tries` is how many tests its designer has made on that data, this one included; `left_out` how many results of the same tools are not among its data; `choices` among how many lists of numbers its data were chosen. */
  tries?: number;
  /** `tries` is how many tests its designer has made on that data, this one included; `left_out` how many results of the same tools are not among its data; `choices` among how many lists of numbers its data were chosen. */
  left_out?: number;
  /** `tries` is how many tests its designer has made on that data, this one included; `left_out` how many results of the same tools are not among its data; `choices` among how many lists of numbers its data were chosen. */
  choices?: number;
  /** Grounded, or speculative: what is speculative never counts as evidence */
  lane?: "grounded" | "speculative";
};

/** A plan was frozen, with its hash, before anything was drawn. */
export type ExperimentDesigned = {
  /** Which of the shapes this is */
  kind: "experiment_designed";
  /** The experiment */
  experiment: Experiment;
  /** The plan as it was fixed before any data */
  frozen: Frozen;
  /** Hypotheses that fall, by their ids */
  eliminated?: Array<string>;
};

/** Which code stands behind a template's name here and now, and how often the principal has tested in other sessions: anything on the same data, and the same claim. `running` is there if the principal has as many runs under way as policy allows: how many those are. */
export type ExperimentFindings = {
  /** Which command these facts are for */
  of: "experiment";
  /** The kind of experiment */
  template: string;
  /** SHA-256 of the code that computed it */
  code_hash: string;
  /** Runs of the same claim in other sessions */
  tries_elsewhere?: number;
  /** Attempts at the same claim in other sessions */
  attempts_elsewhere?: number;
  /** `running` is there if the principal has as many runs under way as policy allows: how many those are. */
  running?: number;
};

/** What to look at when testing a claim. It says itself what it is, wherever it may turn up. */
export type ExperimentHints = {
  /** Id of a claim or proposition, as its author named it */
  claim_id: string;
  /** How many mechanisms to tell apart, as names of choices */
  candidate_mechanisms?: Array<string>;
  /** Predictions that tell the mechanisms apart */
  discriminative_predictions?: Array<string>;
  /** Assumptions to vary */
  sensitivity_axes?: Array<string>;
  /** Ranges that are worth a look, as numbers */
  prior_suggestions?: Array<PriorSuggestion>;
  /** What would show that the idea is wrong */
  falsification_criteria?: Array<string>;
  /** Always `speculative`: hints are no evidence */
  epistemic_status?: "speculative";
};

/** Experiments of a session. */
export type ExperimentPage = {
  /** Experiments, as they stand */
  experiments: Array<ExperimentView>;
  /** Where the next page begins; null on the last one */
  next?: string | null;
};

/** The plan. There is no field for free text, so no hint's words can stand in it. `params` are those of the template, checked against its closed type before a spec is accepted. What the outcome eliminates of the session's hypotheses is said here, before anybody knows the outcome. */
export type ExperimentSpec = {
  /** Id of a claim or proposition, as its author named it */
  claim_id: string;
  /** The kind of experiment */
  template: "bayesian_update" | "bootstrap_ci" | "citation_check" | "contradiction_detect" | "effect_direction" | "model_simulation" | "numeric_consistency" | "sensitivity_suite" | "threshold_check";
  /** `params` are those of the template, checked against its closed type before a spec is accepted. */
  params: Record<string, unknown>;
  /** What the data must meet for the claim to be supported */
  criterion?: AtLeast | Within | Ordered | Near | null;
  /** The error that is allowed: how often a false claim may be supported */
  alpha?: number;
  /** Of all random numbers: the same seed gives the same run */
  seed?: number;
  /** How much it may use: replicates and seconds */
  budget?: Budget;
  /** Unit of the numbers */
  unit?: string;
  /** SHA-256 of the hints that informed the plan; empty if none did */
  hints_digest?: string;
  /** Hypotheses that fall if the claim is supported */
  eliminates_if_supported?: Array<string>;
  /** Hypotheses that fall if the claim is refuted */
  eliminates_if_refuted?: Array<string>;
};

/** A frozen plan, and its run if there is one. `informed_by` is the digest of hints, never their text. `label` says whether somebody else than its designer has witnessed its data, `observations` and `typed_by` where they came from; `tries` how many tests its designer has made on them, `left_out` how many results of the same tools it does not use, `choices` among how many lists of numbers its data were chosen. `caveats` say in words what its outcome will not be able to do, and why. `picture` is its data against what is predicted of them; it is there if the experiment was asked for by itself and has numbers. */
export type ExperimentView = {
  /** Id of an experiment, `exp-` and the id of the event that planned it */
  experiment_id: string;
  /** Id of a claim or proposition, as its author named it */
  claim_id: string;
  /** The kind of experiment */
  template: string;
  /** The plan: claim, template, parameters, criterion, budget */
  spec: ExperimentSpec;
  /** SHA-256 of the plan */
  spec_hash: string;
  /** SHA-256 of the code that computed it */
  code_hash: string;
  /** Which attempt at this claim it is, from 1 on */
  attempt: number;
  /** The error that is allowed: how often a false claim may be supported */
  alpha: number;
  /** Who planned it */
  designed_by: string;
  /** When it was planned, in UTC */
  designed_at: string;
  /** `informed_by` is the digest of hints, never their text. */
  informed_by: string;
  /** The event that stands in the ledger for this */
  audit_event_id: string;
  /** Id of one run of an experiment */
  run_id?: string | null;
  /** The run */
  run?: Run | null;
  /** What the executor told of the run; null while it has not ended */
  report?: RunReport | null;
  /** How far the run is; null if none is under way */
  progress?: Progress | null;
  /** Of all random numbers: the same seed gives the same run */
  seed?: number;
  /** Which wording of the proposition, from 1 on */
  revision?: number;
  /** `label` says whether somebody else than its designer has witnessed its data, `observations` and `typed_by` where they came from; `tries` how many tests its designer has made on them, `left_out` how many results of the same tools it does not use, `choices` among how many lists of numbers its data were chosen. */
  label?: "attested" | "witnessed";
  /** `label` says whether somebody else than its designer has witnessed its data, `observations` and `typed_by` where they came from; `tries` how many tests its designer has made on them, `left_out` how many results of the same tools it does not use, `choices` among how many lists of numbers its data were chosen. */
  observations?: Array<string>;
  /** `label` says whether somebody else than its designer has witnessed its data, `observations` and `typed_by` where they came from; `tries` how many tests its designer has made on them, `left_out` how many results of the same tools it does not use, `choices` among how many lists of numbers its data were chosen. */
  typed_by?: Array<string>;
  /** Whether the claim was put into words before its data were seen */
  worded_first?: boolean;
  /** `label` says whether somebody else than its designer has witnessed its data, `observations` and `typed_by` where they came from; `tries` how many tests its designer has made on them, `left_out` how many results of the same tools it does not use, `choices` among how many lists of numbers its data were chosen. */
  tries?: number;
  /** `label` says whether somebody else than its designer has witnessed its data, `observations` and `typed_by` where they came from; `tries` how many tests its designer has made on them, `left_out` how many results of the same tools it does not use, `choices` among how many lists of numbers its data were chosen. */
  left_out?: number;
  /** `label` says whether somebody else than its designer has witnessed its data, `observations` and `typed_by` where they came from; `tries` how many tests its designer has made on them, `left_out` how many results of the same tools it does not use, `choices` among how many lists of numbers its data were chosen. */
  choices?: number;
  /** `caveats` say in words what its outcome will not be able to do, and why. */
  caveats?: Array<string>;
  /** Grounded, or speculative: what is speculative never counts as evidence */
  lane?: "grounded" | "speculative";
  /** `picture` is its data against what is predicted of them; it is there if the experiment was asked for by itself and has numbers. */
  picture?: DataPicture | null;
};

/** A call (`call`) or a change of the state (`delta`), on a `state` that is given or on that of a session; or a decision that is on record (`event_id`, and which of its candidates). A session's state is the newest, or that right after the event with the `seq` `at`. `policy` is asked in the place of the one in force; `against` is another one to compare with. `role`, `tier` and `agent_id` are those of who would make the change, `mode` the one on a `state` that is given; a call says all of them itself. */
export type ExplainPolicy = {
  /** Id of a session; ids are ordered by time */
  session_id?: string;
  /** A call (`call`) or a change of the state (`delta`), on a `state` that is given or on that of a session; or a decision that is on record (`event_id`, and which of its candidates). */
  event_id?: string;
  /** Which candidate of the recorded proposal, from 0 on */
  candidate?: number;
  /** A session's state is the newest, or that right after the event with the `seq` `at`. */
  at?: number;
  /** A call (`call`) or a change of the state (`delta`), on a `state` that is given or on that of a session; or a decision that is on record (`event_id`, and which of its candidates). */
  call?: Question;
  /** A call (`call`) or a change of the state (`delta`), on a `state` that is given or on that of a session; or a decision that is on record (`event_id`, and which of its candidates). */
  delta?: Patch;
  /** `role`, `tier` and `agent_id` are those of who would make the change, `mode` the one on a `state` that is given; a call says all of them itself. */
  role?: Role;
  /** `role`, `tier` and `agent_id` are those of who would make the change, `mode` the one on a `state` that is given; a call says all of them itself. */
  tier?: "DELETE" | "MODIFY" | "PRIVILEGE" | "READ_ONLY" | "WRITE_LIMITED";
  /** `role`, `tier` and `agent_id` are those of who would make the change, `mode` the one on a `state` that is given; a call says all of them itself. */
  agent_id?: string;
  /** `role`, `tier` and `agent_id` are those of who would make the change, `mode` the one on a `state` that is given; a call says all of them itself. */
  mode?: "boost" | "eco" | "normal" | "offline-safe" | "throttled";
  /** A call (`call`) or a change of the state (`delta`), on a `state` that is given or on that of a session; or a decision that is on record (`event_id`, and which of its candidates). */
  state?: Record<string, unknown>;
  /** `policy` is asked in the place of the one in force; `against` is another one to compare with. */
  policy?: Policy;
  /** `policy` is asked in the place of the one in force; `against` is another one to compare with. */
  against?: Policy;
};

/** A path that a call names, with links and dots resolved by who looked. */
export type FileUse = {
  /** Where in the input this is, beginning at `$` */
  path: string;
  /** Whether the file is written to */
  writes: boolean;
};

/** How sure an experiment must be, how often a claim may be tried, and which changes need no person. `automatic` intents are carried out as soon as evidence warrants them. `proven` is never among them. */
export type FirewallPolicy = {
  /** The error that is allowed: how often a false claim may be supported */
  alpha?: number;
  /** How many experiments one claim may be tested with */
  attempts_per_claim?: number;
  /** `automatic` intents are carried out as soon as evidence warrants them. */
  automatic?: Array<"create_claim" | "create_proposition" | "fork_proposition" | "quarantine_proposition" | "record_metric" | "record_trace" | "refute_claim" | "revise_proposition" | "update_epistemic_status">;
  /** Whether a status may sink without a person */
  automatic_downgrades?: boolean;
  /** After how many seconds an intent that waits expires */
  intent_expires_seconds?: number;
  /** What may rest on somebody's word alone */
  attested?: AttestedPolicy;
};

/** The first event of a ledger that does not hold, and why. */
export type FirstBad = {
  /** Place of the event in its ledger, from 1 on */
  seq: number;
  /** Id of an event of the ledger; ids are ordered by time */
  event_id: string | null;
  /** Why, in words */
  reason: string;
};

/** All events up to `head` were written elsewhere. Who brought them says from where: `source`. */
export type Foreign = {
  /** All events up to `head` were written elsewhere. */
  head: Head;
  /** Who did it */
  by: string;
  /** When, in UTC */
  at: string;
  /** SHA-256 of the file that it was taken from */
  file_sha256: string;
  /** `source`. */
  source?: string;
};

/** A call that settles a question, as `beliefd policy explain` reads it: on this state, these verdicts. `verdicts` is what each policy says of it: `old` is the one compared with. */
export type FoundCall = {
  /** A tool call, as it stands */
  call: Record<string, unknown>;
  /** The symbolic state that it was judged on */
  state: Record<string, unknown>;
  /** `verdicts` is what each policy says of it: */
  verdicts: Record<string, string>;
};

/** A spec as the ledger froze it: which attempt at its claim it is, and how much alpha is left for it. INVARIANT: `spec_hash` covers all of it, and is recorded before the first draw. */
export type Frozen = {
  /** The plan: claim, template, parameters, criterion, budget */
  spec: ExperimentSpec;
  /** The kind of experiment */
  template: string;
  /** SHA-256 of the code that computed it */
  code_hash: string;
  /** Which attempt at this claim it is, from 1 on */
  attempt: number;
  /** The error that is allowed: how often a false claim may be supported */
  alpha: number;
};

/** A gate that asked for a person because it would not let a bundle pass, and the people who did. */
export type GateOverride = {
  /** The gate that this is about: evidence, uncertainty, security, adversarial or human */
  gate: string;
  /** Who let it pass */
  by?: Array<string>;
};

/** One gate's word: on which claim, under which limit, having seen what. */
export type GateResult = {
  /** The gate that this is about: evidence, uncertainty, security, adversarial or human */
  gate: string;
  /** What came of it */
  outcome: "DEFER" | "ESCALATE" | "EXECUTE" | "EXPLAIN" | "REFUSE";
  /** Why, in words */
  reason: string;
  /** Id of a claim or proposition, as its author named it */
  claim_id?: string | null;
  /** The limit that it is compared with; null if there is none */
  limit?: number | string | null;
  /** What the gate observed; null if it is no number */
  observed?: number | string | null;
};

/** A bundle's way through the gates: how far it came, what must be said with it, and who is asked. `standings` is what its claims rest on, as far as that is known here. `raised` are the claims whose tier is higher than declared; the others have the tier that they declare. `ended` is what it corrects, if it is published. `shaped` says who shaped its claims. */
export type Gated = {
  /** A bundle of claims, which is published as a whole or not at all */
  bundle: ClaimBundle;
  /** SHA-256 of exactly what was looked at; decisions are bound to it */
  content_hash: string;
  /** One result per candidate or gate, in order */
  results: Array<GateResult>;
  /** What readers must know before they rely on it */
  caveats?: Array<string>;
  /** The item of the inbox that this is about */
  approval?: Approval | null;
  /** `standings` is what its claims rest on, as far as that is known here. */
  standings?: Record<string, ClaimStanding>;
  /** `raised` are the claims whose tier is higher than declared; the others have the tier that they declare. */
  raised?: Array<RaisedTier>;
  /** `ended` is what it corrects, if it is published. */
  ended?: Ended;
  /** `shaped` says who shaped its claims. */
  shaped?: Shaped;
};

/** Consent in advance, for one principal, up to MODIFY, for a while and a number of times. */
export type GiveGrant = {
  /** Which command this is */
  verb?: "GIVE_GRANT";
  /** The principal that this is about */
  principal: string;
  /** Risk tiers that this is for */
  tiers: Array<"DELETE" | "MODIFY" | "PRIVILEGE" | "READ_ONLY" | "WRITE_LIMITED">;
  /** For how many seconds it holds */
  expires_in_seconds: number;
  /** How often the grant can be used */
  max_uses?: number;
  /** The one in the path, if any */
  session_id?: string;
};

/** Standing consent for one principal in one session, up to MODIFY and never beyond. `giver` is who gave it, with the role of that time. */
export type Grant = {
  /** Id of the standing grant; null if none was used */
  grant_id: string;
  /** The principal that this is about */
  principal: string;
  /** Risk tiers that this is for */
  tiers: Array<"DELETE" | "MODIFY" | "PRIVILEGE" | "READ_ONLY" | "WRITE_LIMITED">;
  /** Who gave it */
  granted_by: string;
  /** When it was given, in UTC */
  granted_at: string;
  /** When it ends by itself, in UTC */
  expires_at: string;
  /** How often the grant can be used */
  max_uses: number;
  /** How often it was used */
  uses?: number;
  /** When it was revoked, in UTC; null if it was not */
  revoked_at?: string | null;
  /** `giver` is who gave it, with the role of that time. */
  giver?: Principal;
};

/** A standing grant as it is now. */
export type GrantAnswer = {
  /** The standing grant */
  grant: Grant;
  /** The event that stands in the ledger for this */
  audit_event_id: string;
};

/** A standing grant was given. */
export type GrantGiven = {
  /** Which of the shapes this is */
  kind: "grant_given";
  /** The standing grant */
  grant: Grant;
  /** Hypotheses that fall, by their ids */
  eliminated?: Array<string>;
};

/** A standing grant has ended. */
export type GrantRevoked = {
  /** Which of the shapes this is */
  kind: "grant_revoked";
  /** The standing grant */
  grant: Grant;
  /** Hypotheses that fall, by their ids */
  eliminated?: Array<string>;
};

/** Standing grants of a session. */
export type Grants = {
  /** Standing grants */
  grants: Array<Grant>;
};

/** One promise: exactly one of `never`, `can`, `update` and `never_conflict`. `never: without_person`: no such call is let through unless a person is asked. `never: at_all`: none is let through or waits. `can: pass`: some such call is let through. With `constraint`, `fire` is that it stands in the way of some call (an allow: that its condition holds), and `matter` that some verdict depends on it. `update` holds for whatever is adopted next: `permits_nothing_new` is let through, or nothing is denied less (`loosens_nothing`). `never_conflict` names two constraints of which one lets through what the other stands in the way of, or which want different things of the same call. */
export type Guarantee = {
  /** Its name */
  name?: string;
  /** What the principal may do by its role */
  role?: Role;
  /** The tool */
  tool?: string;
  /** The capability */
  capability?: string;
  /** The highest risk tier that the agent is taken to have */
  agent_tier?: "DELETE" | "MODIFY" | "PRIVILEGE" | "READ_ONLY" | "WRITE_LIMITED";
  /** Mode of the session: eco, normal, boost, throttled or offline-safe */
  mode?: "boost" | "eco" | "normal" | "offline-safe" | "throttled";
  /** Under which condition; without one, always */
  when?: unknown;
  /** With `constraint`, `fire` is that it stands in the way of some call (an allow: that its condition holds), and `matter` that some verdict depends on it. */
  constraint?: string;
  /** One promise: exactly one of `never`, `can`, `update` and `never_conflict`. */
  never?: "at_all" | "fire" | "matter" | "without_person";
  /** One promise: exactly one of `never`, `can`, `update` and `never_conflict`. */
  can?: "fire" | "matter" | "pass";
  /** One promise: exactly one of `never`, `can`, `update` and `never_conflict`. */
  update?: "loosens_nothing" | "permits_nothing_new";
  /** One promise: exactly one of `never`, `can`, `update` and `never_conflict`. */
  never_conflict?: [string, string];
};

/** A place in a chain: its last event. */
export type Head = {
  /** Place of the event in its ledger, from 1 on */
  seq: number;
  /** Id of an event of the ledger; ids are ordered by time */
  event_id: string;
  /** SHA-256 of the entry, which the next entry names */
  hash: string;
};

/** That the server answers, and which version it is. */
export type Health = {
  /** How it stands */
  status?: "ok";
  /** Version of the server */
  version: string;
  /** Version of the protocol */
  protocol: string;
};

/** A proposition as one session holds it. */
export type Holding = {
  /** Id of a session; ids are ordered by time */
  session_id: string;
  /** What is claimed, in words */
  statement: string;
  /** How it stands */
  status: "proven" | "refuted" | "speculative" | "supported" | "unresolved";
  /** Whether it is kept from being relied on */
  quarantined: boolean;
  /** Which wording of the proposition, from 1 on */
  revision: number;
  /** The proposition that this one was split off from; null if none */
  forked_from: string | null;
  /** Who made it */
  created_by: string;
  /** When it was made, in UTC */
  created_at: string;
  /** When it changed last, in UTC */
  changed_at: string;
  /** Id of a write intent, `int-` and the id of the event that staged it */
  intent_id: string;
  /** Ids of the evidence that it rests on */
  evidence_ids: Array<string>;
  /** What will be measured if it is so */
  prediction: Prediction | null;
  /** Why it was taken back; empty if it was not */
  fell: string;
};

/** What the hook process prints and exits with, word for word. */
export type HookAnswer = {
  /** What the hook exits with, as its client expects it */
  exit_code: number;
  /** What the hook prints on standard output */
  stdout: string;
  /** What the hook prints on standard error */
  stderr: string;
};

/** What one person decided about a bundle. `gates` are those whose questions were shown and answered. `owner` and `role` are whose credential it was and what it made of them then. */
export type HumanApproval = {
  /** Who decided */
  approver: string;
  /** When, in UTC */
  timestamp: string;
  /** What was decided */
  decision: "APPROVED" | "REJECTED";
  /** Why, in words */
  reason?: string;
  /** `gates` are those whose questions were shown and answered. */
  gates?: Array<string>;
  /** `owner` and `role` are whose credential it was and what it made of them then. */
  owner?: string;
  /** `owner` and `role` are whose credential it was and what it made of them then. */
  role?: Role;
};

/** Hypotheses of the speculative lane. */
export type HypothesisPage = {
  /** Ids of hypotheses, as they were declared */
  hypotheses: Array<HypothesisView>;
  /** Where the next page begins; null on the last one */
  next?: string | null;
};

/** A speculative hypothesis. It has no weight; `lane` says so wherever it is shown. */
export type HypothesisView = {
  /** Id of a hypothesis of the speculative lane */
  hypothesis_id: string;
  /** Id of a claim or proposition, as its author named it */
  claim_id: string;
  /** The idea itself: a mechanism, and what it predicts */
  alternative: Alternative;
  /** The principal who proposed it */
  proposed_by: string;
  /** When it was proposed, in UTC */
  proposed_at: string;
  /** Whether it is about a proposition that is on record */
  targets_proposition: boolean;
  /** It has no weight; `lane` says so wherever it is shown. */
  lane?: "grounded" | "speculative";
};

/** A speculative hypothesis about a claim: of no weight, and never among its evidence. */
export type IdeaEntry = {
  /** Id of a session; ids are ordered by time */
  session_id: string;
  /** Id of a hypothesis of the speculative lane */
  hypothesis_id: string;
  /** The idea itself: a mechanism, and what it predicts */
  alternative: Alternative;
  /** The principal who proposed it */
  proposed_by: string;
  /** When it was proposed, in UTC */
  proposed_at: string;
  /** Whether it is about a proposition that is on record */
  targets_proposition: boolean;
};

/** A ledger that was verified and taken in. */
export type Imported = {
  /** Id of a session; ids are ordered by time */
  session_id: string;
  /** How many events were taken in */
  events: number;
  /** The session right afterwards */
  snapshot: BeliefSnapshot;
};

/** `broken` are the sessions of this page whose ledgers do not verify: what waits there is not shown. Nor is what was settled in those that are `archived`. */
export type Inbox = {
  /** Approvals */
  approvals: Array<ApprovalCard>;
  /** Where the next page begins; null on the last one */
  next: string | null;
  /** `broken` are the sessions of this page whose ledgers do not verify: what waits there is not shown. */
  broken?: Array<BrokenLedger>;
  /** Nor is what was settled in those that are `archived`. */
  archived?: Array<ArchivedSession>;
};

/** Shows that an event is leaf number `index` of the log of a size, and with that all events before it in its session, which it is chained to. `checkpoint` is the signed note of that size; it is null if none of that size was signed. */
export type InclusionProof = {
  /** How the proof is written */
  format: string;
  /** Id of a session; ids are ordered by time */
  session_id: string;
  /** Id of an event of the ledger; ids are ordered by time */
  event_id: string;
  /** Place of the event in its ledger, from 1 on */
  seq: number;
  /** SHA-256 of the entry, which the next entry names */
  hash: string;
  /** Shows that an event is leaf number `index` of the log of a size, and with that all events before it in its session, which it is chained to. */
  index: number;
  /** How many leaves the log had */
  size: number;
  /** Hash over all leaves of the log */
  root: string;
  /** Where in the input this is, beginning at `$` */
  path: Array<string>;
  /** `checkpoint` is the signed note of that size; it is null if none of that size was signed. */
  checkpoint: string | null;
};

/** A bundle that was published, and that people should know about. They can say that they saw it. */
export type InformationSubject = {
  /** Which of the shapes this is */
  kind: "information";
  /** Id of a bundle of claims; its submitter's, or made by the server */
  bundle_id: string;
  /** A bundle of claims, which is published as a whole or not at all */
  bundle?: ClaimBundle | null;
};

/** A wish to change what is believed, and what became of it. */
export type Intent = {
  /** Id of a write intent, `int-` and the id of the event that staged it */
  intent_id: string;
  /** Grounded, or speculative: what is speculative never counts as evidence */
  lane: "grounded" | "speculative";
  /** The change of belief that is asked for */
  change: Change;
  /** The principal who proposed it */
  proposer: Principal;
  /** Every step so far: when, by whom and why */
  history: Array<IntentStep>;
  /** When it ends by itself, in UTC */
  expires_at: string;
  /** Id of an item of the inbox, `apr-` and the id of the event that opened it */
  approval_id?: string | null;
  /** The intent that this one takes the place of; null if there is none */
  supersedes?: string | null;
  /** The intent that took its place; null if none did */
  superseded_by?: string | null;
};

/** A wish to change a proposition, and what became of it. */
export type IntentEntry = {
  /** Id of a session; ids are ordered by time */
  session_id: string;
  /** Id of a write intent, `int-` and the id of the event that staged it */
  intent_id: string;
  /** What kind of change it asks for */
  type: "create_claim" | "create_proposition" | "fork_proposition" | "quarantine_proposition" | "record_metric" | "record_trace" | "refute_claim" | "revise_proposition" | "update_epistemic_status";
  /** How it stands */
  state: "approved" | "awaiting_approval" | "cancelled" | "deferred" | "executed" | "expired" | "failed" | "rejected" | "staged" | "superseded";
  /** The status that it would have */
  to_status: "proven" | "refuted" | "speculative" | "supported" | "unresolved" | null;
  /** Ids of the evidence that it rests on */
  evidence_ids: Array<string>;
  /** The principal who proposed it */
  proposed_by: string;
  /** Id of an item of the inbox, `apr-` and the id of the event that opened it */
  approval_id: string | null;
  /** Every step so far: when, by whom and why */
  history: Array<IntentStep>;
};

/** Write intents of a session. */
export type IntentPage = {
  /** Write intents */
  intents: Array<IntentView>;
  /** Where the next page begins; null on the last one */
  next?: string | null;
};

/** A change of what is believed. `lane` may be said, but not chosen: every type has its own. */
export type IntentRequest = {
  /** What kind of change it is */
  type: "create_claim" | "create_proposition" | "fork_proposition" | "quarantine_proposition" | "record_metric" | "record_trace" | "refute_claim" | "revise_proposition" | "update_epistemic_status";
  /** Id of a claim or proposition, as its author named it */
  claim_id: string;
  /** What is claimed, in words */
  statement?: string | null;
  /** The status that it would have */
  to_status?: "proven" | "refuted" | "speculative" | "supported" | "unresolved" | null;
  /** Ids of the evidence that it rests on */
  evidence_ids?: Array<string>;
  /** Id of the new proposition; null if none is made */
  new_claim_id?: string | null;
  /** What will be measured if it is so */
  prediction?: Prediction | null;
  /** The values */
  values?: Record<string, unknown>;
  /** Why, in words */
  reason?: string;
  /** `lane` may be said, but not chosen: every type has its own. */
  lane?: "grounded" | "speculative";
  /** The intent that this one takes the place of; null if there is none */
  supersedes?: string | null;
};

/** A change was asked for. Without an approval it was carried out, or failed, at once. */
export type IntentStaged = {
  /** Which of the shapes this is */
  kind: "intent_staged";
  /** The write intent */
  intent: Intent;
  /** The item of the inbox that this is about */
  approval?: Approval | null;
  /** Propositions */
  propositions?: Array<Proposition>;
  /** The intent that this one takes the place of; null if there is none */
  superseded?: Intent | null;
  /** Hypotheses that fall, by their ids */
  eliminated?: Array<string>;
};

/** One step of an intent's life. */
export type IntentStep = {
  /** How it stands */
  state: "approved" | "awaiting_approval" | "cancelled" | "deferred" | "executed" | "expired" | "failed" | "rejected" | "staged" | "superseded";
  /** When, in UTC */
  at: string;
  /** Who did it */
  by: string;
  /** Why, in words */
  why?: string;
};

/** The change of belief that a write intent asks for. */
export type IntentSubject = {
  /** Which of the shapes this is */
  kind: "intent";
  /** Id of a write intent, `int-` and the id of the event that staged it */
  intent_id: string;
  /** The change of belief that is asked for */
  change?: Change | null;
};

/** A write intent: what it would change, where it stands, and how it got there. */
export type IntentView = {
  /** Id of a write intent, `int-` and the id of the event that staged it */
  intent_id: string;
  /** Grounded, or speculative: what is speculative never counts as evidence */
  lane: "grounded" | "speculative";
  /** The change of belief that is asked for */
  change: Change;
  /** How it stands */
  state: "approved" | "awaiting_approval" | "cancelled" | "deferred" | "executed" | "expired" | "failed" | "rejected" | "staged" | "superseded";
  /** The principal who proposed it */
  proposer: string;
  /** Every step so far: when, by whom and why */
  history: Array<IntentStep>;
  /** When it ends by itself, in UTC */
  expires_at?: string | null;
  /** Id of an item of the inbox, `apr-` and the id of the event that opened it */
  approval_id?: string | null;
  /** SHA-256 of exactly what was looked at; decisions are bound to it */
  content_hash?: string | null;
  /** The intent that this one takes the place of; null if there is none */
  supersedes?: string | null;
  /** The intent that took its place; null if none did */
  superseded_by?: string | null;
  /** The event that stands in the ledger for this */
  audit_event_id?: string | null;
};

/** Stop a session: what waits to run does not begin, and nothing is let through until it is resumed. What runs already ends by itself (`drain`), or is cancelled as far as this server runs it (`cancel`). `level` is how surprising a surprisal is, 1 unless given. */
export type Interrupt = {
  /** Which command this is */
  verb?: "INTERRUPT";
  /** Which of the shapes this is */
  kind: "goal_conflict" | "policy_deadline" | "surprisal" | "user_intent";
  /** Why, in words */
  reason: string;
  /** What becomes of calls under way */
  running?: "cancel" | "drain";
  /** `level` is how surprising a surprisal is, 1 unless given. */
  level?: number;
  /** The one in the path, if any */
  session_id?: string;
};

/** Whether the session is interrupted by this, and `why` not. `stopped` are calls that had not begun and never will, `cancelled` those that ran on the server and were asked to end, `elsewhere` those that their callers run: nobody but them can stop these. */
export type InterruptAnswer = {
  /** Whether the session stands still now */
  interrupted: boolean;
  /** Whether the session is interrupted by this, and `why` not. */
  why: string;
  /** `stopped` are calls that had not begun and never will, `cancelled` those that ran on the server and were asked to end, `elsewhere` those that their callers run: nobody but them can stop these. */
  stopped: Array<string>;
  /** `stopped` are calls that had not begun and never will, `cancelled` those that ran on the server and were asked to end, `elsewhere` those that their callers run: nobody but them can stop these. */
  cancelled: Array<string>;
  /** `stopped` are calls that had not begun and never will, `cancelled` those that ran on the server and were asked to end, `elsewhere` those that their callers run: nobody but them can stop these. */
  elsewhere: Array<string>;
  /** When the session may act, and how much */
  schedule: ScheduleView;
  /** The event that stands in the ledger for this */
  audit_event_id: string;
};

/** How often the programs of one owner may interrupt. People always may. From one interrupt to the next it takes `cooldown_seconds`, and there are at most `wakes` in `window_seconds`. A surprisal interrupts at a level of `rising` or more, and then not again before one of `falling` or less was told. Where `falling` is not below `rising`, every level from there on interrupts. */
export type InterruptPolicy = {
  /** From one interrupt to the next it takes `cooldown_seconds`, and there are at most `wakes` in `window_seconds`. */
  cooldown_seconds?: number;
  /** From one interrupt to the next it takes `cooldown_seconds`, and there are at most `wakes` in `window_seconds`. */
  wakes?: number | null;
  /** From one interrupt to the next it takes `cooldown_seconds`, and there are at most `wakes` in `window_seconds`. */
  window_seconds?: number;
  /** A surprisal interrupts at a level of `rising` or more, and then not again before one of `falling` or less was told. */
  rising?: number;
  /** A surprisal interrupts at a level of `rising` or more, and then not again before one of `falling` or less was told. */
  falling?: number;
};

/** Nothing is let through from now on. `stopped` never began, and never will. `cancelled` run on the server and are asked to end, `elsewhere` are run by their callers, whom nobody can stop. `wakes` are the times of interrupts that count, this one included. They and `excited` are those of the interruption's `owner`, if it has one. People have none: no limit holds for them. `carries`: a program has said so, and the episode under way is not over by that. */
export type Interrupted = {
  /** Which of the shapes this is */
  kind: "interrupted";
  /** Why the session stands still; null if it does not */
  interruption: Interruption;
  /** `wakes` are the times of interrupts that count, this one included. */
  wakes?: Array<string>;
  /** They and `excited` are those of the interruption's `owner`, if it has one. */
  excited?: boolean;
  /** `stopped` never began, and never will. */
  stopped?: Array<ToolCall>;
  /** `cancelled` run on the server and are asked to end, `elsewhere` are run by their callers, whom nobody can stop. */
  cancelled?: Array<string>;
  /** `cancelled` run on the server and are asked to end, `elsewhere` are run by their callers, whom nobody can stop. */
  elsewhere?: Array<string>;
  /** `carries`: a program has said so, and the episode under way is not over by that. */
  carries?: boolean;
  /** Hypotheses that fall, by their ids */
  eliminated?: Array<string>;
};

/** Since `at`, nothing is let through in a session; `until` is when that ends by itself, if it does. `by_person` if a person has said so: then only people resume it. `owner` is whose program it was that said so, and that may resume it; those that do not say are older, or nobody asked for them. */
export type Interruption = {
  /** Which of the shapes this is */
  kind: "budget" | "goal_conflict" | "policy_deadline" | "surprisal" | "user_intent";
  /** Why, in words */
  reason: string;
  /** Who did it */
  by: string;
  /** `by_person` if a person has said so: then only people resume it. */
  by_person: boolean;
  /** Since `at`, nothing is let through in a session; `until` is when that ends by itself, if it does. */
  at: string;
  /** Since `at`, nothing is let through in a session; `until` is when that ends by itself, if it does. */
  until?: string;
  /** `owner` is whose program it was that said so, and that may resume it; those that do not say are older, or nobody asked for them. */
  owner?: string;
};

/** What interrupts a session. `kind` is `budget` if an episode was used up; without `until`, it takes somebody who resumes: a person if `only_people` is true, else a person or a program of the owner of `by`. */
export type InterruptionView = {
  /** `kind` is `budget` if an episode was used up; without `until`, it takes somebody who resumes: a person if `only_people` is true, else a person or a program of the owner of `by`. */
  kind: string;
  /** Why, in words */
  reason: string;
  /** `kind` is `budget` if an episode was used up; without `until`, it takes somebody who resumes: a person if `only_people` is true, else a person or a program of the owner of `by`. */
  by: string;
  /** When, in UTC */
  at: string;
  /** `kind` is `budget` if an episode was used up; without `until`, it takes somebody who resumes: a person if `only_people` is true, else a person or a program of the owner of `by`. */
  until: string | null;
  /** `kind` is `budget` if an episode was used up; without `until`, it takes somebody who resumes: a person if `only_people` is true, else a person or a program of the owner of `by`. */
  only_people: boolean;
};

/** `token` is shown here and never again. A signed one can be verified with `public_key`. */
export type IssuedCapability = {
  /** `token` is shown here and never again. */
  token: string;
  /** The capability */
  capability: CapabilityView;
  /** A signed one can be verified with `public_key`. */
  public_key?: string | null;
};

/** The session that a call was announced from. */
export type JoinAnswer = {
  /** Id of a session; ids are ordered by time */
  session_id: string;
};

/** The bundle as the contract has it, and beside it how the gates came to their word. `proposer` is the principal that submitted it. `tier` is the highest that counts, `raised` are the claims whose tier is higher than their `risk_tier`, each with the reason. `standings` is what each claim rests on, by its id: how far its evidence is known here, and what was measured of its words. A claim that names no evidence and was not measured has none. `ended` are the claims that were retracted or corrected since, by their ids. `corrects` is what the bundle itself puts right. `progress` is there while it waits. `observed` are the values of observations that claims cite, in words, by source: nobody has compared them with the statements. `foreign` is there if its session began elsewhere: who imported it from where. */
export type JudgedBundle = {
  /** Id of the bundle */
  id: string;
  /** When, in UTC */
  timestamp: string;
  /** The principal who submitted it */
  origin_agent: string;
  /** `proposer` is the principal that submitted it. */
  proposer: string;
  /** `tier` is the highest that counts, `raised` are the claims whose tier is higher than their `risk_tier`, each with the reason. */
  tier: "DELETE" | "MODIFY" | "PRIVILEGE" | "READ_ONLY" | "WRITE_LIMITED";
  /** `tier` is the highest that counts, `raised` are the claims whose tier is higher than their `risk_tier`, each with the reason. */
  raised: Array<RaisedTier>;
  /** Claims, each with its kind, its tier and what it rests on */
  claims: Array<Claim>;
  /** What was decided */
  decision: "DEFER" | "ESCALATE" | "PUBLISH" | "REFUSE";
  /** Why, in words */
  reason: string;
  /** What still needs a person, in words */
  required_approvals: Array<string>;
  /** Which gates passed, failed or were overridden, and who approved */
  audit_trail: AuditTrail;
  /** What readers must know before they rely on it */
  caveats: Array<string>;
  /** `standings` is what each claim rests on, by its id: how far its evidence is known here, and what was measured of its words. */
  standings: Record<string, ClaimStanding>;
  /** The result of every gate, with its limit and what it observed */
  gates: Array<GateResult>;
  /** SHA-256 of exactly what was looked at; decisions are bound to it */
  content_hash: string;
  /** Id of an item of the inbox, `apr-` and the id of the event that opened it */
  approval_id: string | null;
  /** The event that stands in the ledger for this */
  audit_event_id: string | null;
  /** `ended` are the claims that were retracted or corrected since, by their ids. */
  ended?: Record<string, EndedClaim>;
  /** `corrects` is what the bundle itself puts right. */
  corrects?: Correction | null;
  /** `progress` is there while it waits. */
  progress?: AgreementProgress | null;
  /** `observed` are the values of observations that claims cite, in words, by source: nobody has compared them with the statements. */
  observed?: Record<string, string>;
  /** `foreign` is there if its session began elsewhere: who imported it from where. */
  foreign?: Foreign | null;
};

/** A key of the server was made or replaced. */
export type KeyChanged = {
  /** Which of the shapes this is */
  kind: "key_changed";
  /** Name of the key */
  name: string;
  /** Digest of the public key */
  fingerprint: string;
  /** Hypotheses that fall, by their ids */
  eliminated?: Array<string>;
};

/** A token that an event made, or that was there before this ledger and was adopted by its first one. */
export type KnownToken = {
  /** The token */
  token: TokenFacts;
  /** When it was made, in UTC */
  made_at: string;
  /** Who made it */
  made_by: string;
  /** When it was revoked, in UTC; null if it was not */
  revoked_at?: string | null;
  /** Who revoked it; null if nobody did */
  revoked_by?: string | null;
};

/** Confidences of earlier answers, and whether those were right. */
export type Labelled = {
  /** How sure the model was of each answer, from 0 to 1 */
  confidences: Array<number>;
  /** Whether each answer was right */
  correct: Array<boolean>;
};

/** Confidences of answers that are known to be right or wrong. */
export type LabelledConfidences = {
  /** How sure the model was of each answer, from 0 to 1 */
  confidences: Array<number>;
  /** Whether each answer was right */
  correct: Array<boolean>;
  /** Which of the shapes this is */
  kind?: "isotonic" | "temperature";
};

/** A ledger is kept in a file from now on. All its events are still leaves of the log. */
export type LedgerArchived = {
  /** Which of the shapes this is */
  kind: "ledger_archived";
  /** Id of a session; ids are ordered by time */
  session_id: string;
  /** The newest event and its hash; null of a ledger without events */
  head: Head;
  /** SHA-256 of the file that it was taken from */
  file_sha256: string;
  /** Where the file with the archived ledger is */
  place: string;
  /** Hypotheses that fall, by their ids */
  eliminated?: Array<string>;
};

/** A ledger that was written elsewhere came in. */
export type LedgerImported = {
  /** Which of the shapes this is */
  kind: "ledger_imported";
  /** Id of a session; ids are ordered by time */
  session_id: string;
  /** Where the ledger was before it came here */
  foreign: Foreign;
  /** Hypotheses that fall, by their ids */
  eliminated?: Array<string>;
};

/** What was said up to here was said elsewhere. Its grants and capabilities end, words on what waits do not count, nothing counts as witnessed or confirmed, and who brought it counts as a proposer of what waits. */
export type LedgerReceived = {
  /** Which of the shapes this is */
  kind: "ledger_received";
  /** Where the ledger was before it came here */
  foreign: Foreign;
  /** When, in UTC */
  at: string;
  /** Hypotheses that fall, by their ids */
  eliminated?: Array<string>;
};

/** A ledger that was in a file is in the store again. */
export type LedgerUnarchived = {
  /** Which of the shapes this is */
  kind: "ledger_unarchived";
  /** Id of a session; ids are ordered by time */
  session_id: string;
  /** The newest event and its hash; null of a ledger without events */
  head: Head;
  /** Where the file with the archived ledger is */
  place: string;
  /** Hypotheses that fall, by their ids */
  eliminated?: Array<string>;
};

/** What one principal may take up of what all share. Past it, the answer is `RATE_LIMITED`. `bytes_in_flight` (of bodies that are not answered yet, and of large answers that are not taken yet) holds per server process; one body or answer alone may always be as large as its operation allows. `requests_per_second` and `ledger_bytes_per_hour`, what its commands and the results of its calls write into ledgers, 34359738368 unless given, hold for all servers on one PostgreSQL together, and per process on other stores. `pending_approvals` are items in the inbox that wait because of this principal, and `running_experiments` its runs under way, in all sessions and counted over all processes on one store; `open_sessions` are those it declared and that have not ended. `bundle_bytes` is how large one bundle of claims may be, which stays in memory while it waits for a person; answers that come with it to be measured are not counted. `command_bytes` is likewise how large one command may be that stays in the state of its session, such as a proposal or something to remember: 524288 unless given. `session_bytes` is how large the state of one session may be as it is saved, 67108864 unless given, and never more than the states of all sessions in memory; commands of one principal may make a quarter of that. */
export type LimitsPolicy = {
  /** `requests_per_second` and `ledger_bytes_per_hour`, what its commands and the results of its calls write into ledgers, 34359738368 unless given, hold for all servers on one PostgreSQL together, and per process on other stores. */
  requests_per_second?: number;
  /** `bytes_in_flight` (of bodies that are not answered yet, and of large answers that are not taken yet) holds per server process; one body or answer alone may always be as large as its operation allows. */
  bytes_in_flight?: number;
  /** `pending_approvals` are items in the inbox that wait because of this principal, and `running_experiments` its runs under way, in all sessions and counted over all processes on one store; `open_sessions` are those it declared and that have not ended. */
  pending_approvals?: number;
  /** `pending_approvals` are items in the inbox that wait because of this principal, and `running_experiments` its runs under way, in all sessions and counted over all processes on one store; `open_sessions` are those it declared and that have not ended. */
  running_experiments?: number;
  /** `pending_approvals` are items in the inbox that wait because of this principal, and `running_experiments` its runs under way, in all sessions and counted over all processes on one store; `open_sessions` are those it declared and that have not ended. */
  open_sessions?: number;
  /** `bundle_bytes` is how large one bundle of claims may be, which stays in memory while it waits for a person; answers that come with it to be measured are not counted. */
  bundle_bytes?: number;
  /** `command_bytes` is likewise how large one command may be that stays in the state of its session, such as a proposal or something to remember: 524288 unless given. */
  command_bytes?: number;
  /** `requests_per_second` and `ledger_bytes_per_hour`, what its commands and the results of its calls write into ledgers, 34359738368 unless given, hold for all servers on one PostgreSQL together, and per process on other stores. */
  ledger_bytes_per_hour?: number;
  /** `session_bytes` is how large the state of one session may be as it is saved, 67108864 unless given, and never more than the states of all sessions in memory; commands of one principal may make a quarter of that. */
  session_bytes?: number;
};

/** Evidence and its role, and what of the session's hypotheses fell by it; or why nothing did. */
export type LinkedEvidence = {
  /** What speaks for or against it */
  evidence: Evidence;
  /** Hypotheses that fell by this, by their ids */
  applied_eliminated: Array<string>;
  /** Hypotheses that had fallen before, or that the session does not know */
  ignored_eliminated: Array<string>;
  /** Why nothing fell; empty if something did */
  withheld: string;
  /** The status that the evidence allows */
  warrants: "proven" | "refuted" | "speculative" | "supported" | "unresolved";
  /** The event that stands in the ledger for this */
  audit_event_id: string;
};

/** Links to the session always hold; those to the proposition are tried, and may fail. */
export type Links = {
  /** Links to the session, which always hold */
  session: number;
  /** Links to the proposition that were tried */
  proposition_attempted: number;
  /** Links to the proposition that were made */
  proposition_created: number;
};

/** `size` is how many events have a leaf, `covered` how many of them the newest checkpoint covers. `keys` are the public keys that checkpoints were signed with, the newest last: who has one of them from elsewhere can check that they are the log's own. `signed` is the newest checkpoint whoever has cosigned it: for witnesses. `asked_witnesses` are those that this server asks by itself, `anchors` the places that it writes checkpoints to. */
export type LogView = {
  /** Name of the log; null if no checkpoint was signed yet */
  origin: string | null;
  /** `size` is how many events have a leaf, `covered` how many of them the newest checkpoint covers. */
  size: number;
  /** `size` is how many events have a leaf, `covered` how many of them the newest checkpoint covers. */
  covered: number;
  /** `keys` are the public keys that checkpoints were signed with, the newest last: who has one of them from elsewhere can check that they are the log's own. */
  keys: Array<string>;
  /** Keys of the witnesses that are asked to cosign */
  witnesses: Array<string>;
  /** `signed` is the newest checkpoint whoever has cosigned it: for witnesses. */
  signed: string | null;
  /** `asked_witnesses` are those that this server asks by itself, `anchors` the places that it writes checkpoints to. */
  asked_witnesses?: Array<AskedWitness>;
  /** `asked_witnesses` are those that this server asks by itself, `anchors` the places that it writes checkpoints to. */
  anchors?: Array<AnchorView>;
};

/** Who lowered a mode, and why: a program that said so, or whose proposal a constraint degraded it for. */
export type LoweredBy = {
  /** Who did it */
  by: string;
  /** Why, in words */
  reason: string;
};

/** A mode that was lowered and has not recovered: at whose word (a program's, or the proposer of what a constraint degraded it for), why, and since when it is as it is. */
export type LoweredView = {
  /** Mode of the session: eco, normal, boost, throttled or offline-safe */
  mode: string;
  /** Who did it */
  by: string;
  /** Why, in words */
  reason: string;
  /** Since when, in UTC */
  since: string;
};

/** Measure how uncertain `statement` is, from one kind of raw material, and keep a receipt of it. */
export type Measure = {
  /** Which command this is */
  verb?: "MEASURE";
  /** Measure how uncertain `statement` is, from one kind of raw material, and keep a receipt of it. */
  statement: string;
  /** How uncertainty was measured */
  method: "confidence_score" | "conformal_set" | "model_disagreement" | "semantic_entropy";
  /** What the model answered, once per sample */
  answers?: Array<string> | null;
  /** What the server itself is to ask its model; null if answers are given */
  asked?: Asked | null;
  /** A stated confidence or log-probabilities to measure by */
  confidence?: Confidence | null;
  /** Class probabilities and the calibration set to compare them with */
  conformal?: Conformal | null;
  /** The one in the path, if any */
  session_id?: string;
};

/** A stated confidence or the log-probabilities of an answer's tokens, and what to calibrate it with. */
export type MeasureConfidence = {
  /** The confidence that the model stated, from 0 to 1 */
  confidence?: number | null;
  /** Log-probabilities of the tokens of each answer */
  token_logprobs?: Array<number> | null;
  /** Labelled items that it is compared with */
  calibration?: LabelledConfidences | null;
};

/** Class probabilities of a new question, and the set to calibrate with: given, or the name of a kept one. Of a kept set the newest version is used, unless one is named. `recent` are nonconformity scores seen lately, to be warned when they have drifted. */
export type MeasureConformalSet = {
  /** Probabilities per class, for each item */
  probabilities: Array<number>;
  /** Labelled items that it is compared with */
  calibration?: ConformalCalibration | null;
  /** Name of the calibration set that it is compared with */
  calibration_set?: string | null;
  /** Which version of the calibration set; the newest if left out */
  calibration_version?: number | null;
  /** Names of the classes */
  labels?: Array<string> | null;
  /** The group that it belongs to, where coverage is per group */
  group?: string | null;
  /** The error that is allowed: how often a false claim may be supported */
  alpha?: number;
  /** How items are scored: `lac` or `aps` */
  score?: "aps" | "lac" | null;
  /** `recent` are nonconformity scores seen lately, to be warned when they have drifted. */
  recent?: Array<number>;
};

/** Answers of several models, or of one model at several temperatures. */
export type MeasureModelDisagreement = {
  /** What the model answered, once per sample */
  answers: Array<string>;
  /** Who says which answers mean the same */
  judge?: "embedding" | "lexical" | "llm" | "nli" | null;
};

/** Sampled answers to one question. With log-probabilities of their tokens, likely answers weigh more. Without a `judge` it is the one that the server was started with. `nearest_neighbour` looks at how alike the wordings are instead of counting meanings. */
export type MeasureSemanticEntropy = {
  /** What the model answered, once per sample */
  answers: Array<string>;
  /** Without a `judge` it is the one that the server was started with. */
  judge?: "embedding" | "lexical" | "llm" | "nli" | null;
  /** Which of the shapes this is */
  kind?: "clusters" | "nearest_neighbour";
  /** Log-probabilities of the tokens of each answer */
  token_logprobs?: Array<Array<number>> | null;
};

/** An uncertainty was measured, and this is the receipt. */
export type Measured = {
  /** Which of the shapes this is */
  kind: "measured";
  /** The measurement */
  measurement: Measurement;
  /** Hypotheses that fall, by their ids */
  eliminated?: Array<string>;
};

/** What was measured of a claim's words: the receipt with the highest value of all that count for them. `cited` is the one that the claim itself names, `receipts` is how many count. `own_words` is there if the receipt is of words that only look like the claim's: how well those very words were measured. */
export type MeasuredStanding = {
  /** Id of a measurement of uncertainty */
  measurement_id: string;
  /** The value */
  value: number;
  /** What vouches for it: somebody's word, or a record of this server */
  label: "attested" | "witnessed";
  /** How it was measured, in words */
  how: string;
  /** `cited` is the one that the claim itself names, `receipts` is how many count. */
  receipts?: number;
  /** `cited` is the one that the claim itself names, `receipts` is how many count. */
  cited?: CitedReceipt;
  /** `own_words` is there if the receipt is of words that only look like the claim's: how well those very words were measured. */
  own_words?: "attested" | "declared" | "witnessed";
};

/** The contract's four fields, and how they came about. `clusters` holds places in `answers`. `calibration` is the hash of the version of the kept set that was used. */
export type MeasuredUncertainty = {
  /** How uncertainty was measured */
  method: "confidence_score" | "conformal_set" | "model_disagreement" | "semantic_entropy";
  /** The value */
  value: number;
  /** What the number means, in words */
  interpretation: string;
  /** What the gate should do, in the words of whoever measured it; it can only tighten */
  gate_recommendation: "DEFER" | "EXECUTE" | "EXPLAIN" | "REFUSE";
  /** Whether a number came out */
  measured: boolean;
  /** `clusters` holds places in `answers`. */
  clusters: Array<Array<number>>;
  /** The entropy in nats; null for other methods */
  nats: number | null;
  /** Who says which answers mean the same */
  judge: string | null;
  /** How often the judge was asked */
  judge_calls: number;
  /** Classes in the prediction set; null for other methods */
  labels: Array<string> | null;
  /** What to be careful about; null if nothing is */
  warning: string | null;
  /** `calibration` is the hash of the version of the kept set that was used. */
  calibration: string | null;
};

/** A receipt. The raw material is in the event that `event_id` names, `material` is its digest. `k` is how many answers were compared. `witnesses` are those who drew them and are no agents. What `failed` came to nothing, and counts as full uncertainty. */
export type Measurement = {
  /** Id of a measurement of uncertainty */
  measurement_id: string;
  /** The raw material is in the event that `event_id` names, `material` is its digest. */
  event_id: string;
  /** How uncertainty was measured */
  method: "confidence_score" | "conformal_set" | "model_disagreement" | "semantic_entropy";
  /** The value */
  value: number;
  /** `k` is how many answers were compared. */
  k: number;
  /** The raw material is in the event that `event_id` names, `material` is its digest. */
  material: string;
  /** What it says */
  words: string;
  /** The beginning of what was measured */
  gist: string;
  /** Who asked for the measurement */
  measured_by: string;
  /** When it was measured, in UTC */
  measured_at: string;
  /** What the number means, in words */
  interpretation?: string;
  /** Who says which answers mean the same */
  judge?: string;
  /** The model that this is about */
  model?: string;
  /** `witnesses` are those who drew them and are no agents. */
  witnesses?: Array<string>;
  /** What `failed` came to nothing, and counts as full uncertainty. */
  failed?: boolean;
};

/** What a method made of the raw material; or why it cannot, and the path of what is wrong. `answers` are those that the server drew from its own `model`, perhaps by a question of the caller's own. `method` is there if the server chose it: the claim to be measured named none that it can carry out. */
export type MeasurementFindings = {
  /** Which command these facts are for */
  of: "measurement";
  /** The value */
  value?: number;
  /** What the number means, in words */
  interpretation?: string;
  /** Who says which answers mean the same */
  judge?: string;
  /** How many answers it was measured on */
  k?: number;
  /** `answers` are those that the server drew from its own `model`, perhaps by a question of the caller's own. */
  model?: string;
  /** `answers` are those that the server drew from its own `model`, perhaps by a question of the caller's own. */
  answers?: Array<string>;
  /** Whether the answers are to a question that the agent chose itself */
  own_question?: boolean;
  /** `method` is there if the server chose it: the claim to be measured named none that it can carry out. */
  method?: "confidence_score" | "conformal_set" | "model_disagreement" | "semantic_entropy";
  /** Whether the measurement failed */
  failed?: boolean;
  /** Why nothing was found; empty if something was */
  problem?: string;
  /** Where in the input this is, beginning at `$` */
  path?: string;
};

/** With their words, and without their answers and numbers. */
export type MeasurementPage = {
  /** Measurements, newest last */
  measurements: Array<MeasurementView>;
  /** Where the next page begins; null on the last one */
  next?: string | null;
};

/** What the measurement must be that a claim cites. Nothing named is nothing asked for. `witnessed`: its answers were drawn by the server, or by somebody else than who proposes. */
export type MeasurementRule = {
  /** Methods that a measurement may be made by */
  methods?: Array<"confidence_score" | "conformal_set" | "model_disagreement" | "semantic_entropy">;
  /** On so many answers it must have been measured */
  min_k?: number;
  /** Judges that a measurement may be by */
  judges?: Array<"embedding" | "lexical" | "llm" | "nli">;
  /** `witnessed`: its answers were drawn by the server, or by somebody else than who proposes. */
  witnessed?: boolean;
};

/** A receipt. `label` is what it is worth to who asks, or to who proposes: whose answers they are counts. `k` answers were compared, which `material` is the digest of; `words` is the digest of the statement. `numbers` says what was measured where that are no answers: log-probabilities, a stated confidence and the pairs that calibrate it, class probabilities. Of long rows it tells the first. */
export type MeasurementView = {
  /** Id of a measurement of uncertainty */
  measurement_id: string;
  /** What is claimed, in words */
  statement: string;
  /** How uncertainty was measured */
  method: "confidence_score" | "conformal_set" | "model_disagreement" | "semantic_entropy";
  /** The value */
  value: number;
  /** `label` is what it is worth to who asks, or to who proposes: whose answers they are counts. */
  label: "attested" | "witnessed";
  /** How it was measured, in words */
  how: string;
  /** What the number means, in words */
  interpretation: string;
  /** Who says which answers mean the same */
  judge: string;
  /** `k` answers were compared, which `material` is the digest of; `words` is the digest of the statement. */
  k: number;
  /** The model that this is about */
  model: string;
  /** The question */
  question: string;
  /** What the model answered, once per sample */
  answers: Array<string>;
  /** Whether it failed */
  failed: boolean;
  /** `k` answers were compared, which `material` is the digest of; `words` is the digest of the statement. */
  material: string;
  /** `k` answers were compared, which `material` is the digest of; `words` is the digest of the statement. */
  words: string;
  /** Who asked for the measurement */
  measured_by: string;
  /** When it was measured, in UTC */
  measured_at: string;
  /** Who has vouched for it */
  witnesses: Array<string>;
  /** The event that stands in the ledger for this */
  audit_event_id: string;
  /** `numbers` says what was measured where that are no answers: log-probabilities, a stated confidence and the pairs that calibrate it, class probabilities. */
  numbers?: Array<string>;
};

/** The entry of the memory as it is now. */
export type MemoryAnswer = {
  /** The entry of the memory */
  memory: MemoryView;
  /** The event that stands in the ledger for this */
  audit_event_id: string;
};

/** Something to remember, with how sure it is and when it must be looked at again. */
export type MemoryEntry = {
  /** Id of the entry, as its author named it */
  memory_id: string;
  /** Which of the shapes this is */
  kind: "decision" | "derived" | "fact" | "hypothesis" | "preference";
  /** What is remembered */
  value: unknown;
  /** How sure it is, from 0 to 1 */
  confidence: number;
  /** Pieces of context that the entry was made from */
  source_chunk_ids?: Array<string>;
  /** The event by which somebody confirmed it */
  confirmed_by_event_id?: string | null;
  /** When somebody should look at it again, in UTC */
  review_at?: string | null;
  /** For how many milliseconds the entry is kept in view */
  ttl_ms?: number | null;
  /** Whether other entries contradict it */
  conflict_state?: "contested" | "contradictory" | "none";
  /** Where it came from */
  provenance?: Provenance | null;
};

/** What the event that is said to confirm an entry bears witness to; None if to nothing. `elsewhere` if it was written before the session came here: then it bears witness to nothing. `inputs` is as for proposals. */
export type MemoryFindings = {
  /** Which command these facts are for */
  of: "memory";
  /** Who else vouches for it; null if nobody does */
  witness?: Witness | null;
  /** `elsewhere` if it was written before the session came here: then it bears witness to nothing. */
  elsewhere?: boolean;
  /** `inputs` is as for proposals. */
  inputs?: Array<string>;
};

/** Entries of the memory that are in view. */
export type MemoryPage = {
  /** Entries of the memory */
  entries: Array<MemoryView>;
};

/** How sure a sourced entry must be to count as confirmed. */
export type MemoryPolicy = {
  /** Entries that are surer than this count as confirmed */
  confirm_above?: number;
};

/** `confirmed_by` is `witness` where an event of this ledger confirms it, which `witness` tells about. It is `sources` where nothing does but the sources that its author named: nobody here has seen those. If claims that a person approved and that bear witness have ended since, `doubt` says so, and it is due for review. */
export type MemoryView = {
  /** The entry of the memory */
  entry: MemoryEntry;
  /** Whether the entry counts as confirmed */
  confirmed: boolean;
  /** When it was put into the memory, in UTC */
  remembered_at: string;
  /** When it ends by itself, in UTC */
  expires_at: string | null;
  /** Whether that time has come */
  review_due: boolean;
  /** `confirmed_by` is `witness` where an event of this ledger confirms it, which `witness` tells about. */
  confirmed_by?: "sources" | "witness" | null;
  /** `confirmed_by` is `witness` where an event of this ledger confirms it, which `witness` tells about. */
  witness?: Witness | null;
  /** If claims that a person approved and that bear witness have ended since, `doubt` says so, and it is due for review. */
  doubt?: string;
};

/** A replica's eliminations were taken over; `eliminated` are those that were new here. `witnessed` are those of them that fell by a witnessed elimination, if there are any. */
export type Merged = {
  /** Which of the shapes this is */
  kind: "merged";
  /** What was there already */
  ignored?: Array<string>;
  /** `witnessed` are those of them that fell by a witnessed elimination, if there are any. */
  witnessed?: Array<string>;
  /** A replica's eliminations were taken over; `eliminated` are those that were new here. */
  eliminated?: Array<string>;
};

/** `over` if the time of the mode that a person had set is up; `by` if it was lowered, at whose word. */
export type ModeChange = {
  /** The mode from now on */
  mode: string;
  /** Since when, in UTC */
  since: string;
  /** `over` if the time of the mode that a person had set is up; `by` if it was lowered, at whose word. */
  over?: boolean;
  /** `over` if the time of the mode that a person had set is up; `by` if it was lowered, at whose word. */
  by?: LoweredBy;
};

/** What holds in a mode: how much of every budget is there, and which calls are let through at all. A `budget_share` above 1 makes more of the budgets of episodes, and never more of a capability. Shares are rounded up. One of 0 leaves nothing of a budget of a capability, and 1 of each budget of an episode. Without `network`, calls are off of all tools that are not known to stay away from it; without `mutating`, those of tools that change things. */
export type ModePolicy = {
  /** A `budget_share` above 1 makes more of the budgets of episodes, and never more of a capability. */
  budget_share?: number;
  /** Without `network`, calls are off of all tools that are not known to stay away from it; without `mutating`, those of tools that change things. */
  network?: boolean;
  /** Without `network`, calls are off of all tools that are not known to stay away from it; without `mutating`, those of tools that change things. */
  mutating?: boolean;
};

/** The mode that a person has set, null for `normal`; or one step or more down, where a program asked. */
export type ModeSet = {
  /** Which of the shapes this is */
  kind: "mode_set";
  /** The mode that somebody has set; null if nobody has */
  set_mode?: SetModeRecord | null;
  /** The mode that the session was lowered to */
  lowered?: ModeChange;
  /** Hypotheses that fall, by their ids */
  eliminated?: Array<string>;
};

/** Rules of modes, and how long a session stays in a lowered one before it goes one step up. */
export type ModesPolicy = {
  /** Rules, by id */
  rules?: Record<string, ModePolicy>;
  /** After how many seconds without trouble a mode rises by one step */
  recover_seconds?: number;
};

/** What the holder of a signed token has narrowed it down to; None leaves a dimension as it is. */
export type Narrowing = {
  /** Tools, by name or definition */
  tools?: Array<string> | null;
  /** Hash over all leaves of the log */
  root?: string | null;
  /** Hosts that may be reached */
  hosts?: Array<string> | null;
  /** When it ends by itself, in UTC */
  expires_at?: string | null;
  /** The principal whom it is for, or who acts */
  agent_id?: string | null;
};

/** The estimate is at most so far from a value. */
export type Near = {
  /** The form of the criterion */
  region: "tolerance";
  /** The value */
  value: number;
  /** How far off a value may be */
  tolerance: number;
};

/** An obligation was entered. */
export type ObligationEntered = {
  /** Which of the shapes this is */
  kind: "obligation_entered";
  /** Id of an obligation, as it was entered */
  obligation_id: string;
  /** How many hypotheses must fall before the obligation can be left */
  min_total_eliminations: number;
  /** Hypotheses that fall, by their ids */
  eliminated?: Array<string>;
};

/** An obligation and how far it is met. */
export type ObligationView = {
  /** Id of an obligation, as it was entered */
  obligation_id: string;
  /** How many hypotheses must fall before the obligation can be left */
  min_total_eliminations: number;
  /** How many hypotheses have fallen since the obligation was entered */
  eliminations_since_entry: number;
  /** Whether it still has to be met */
  active: boolean;
};

/** Values that do not change any more. They stand in the event that `event_id` names. `label` is what they are worth to who took them; to others it follows from `witnesses`. `body` names what they were taken from: what was taken from the same body is not independent. `since` is when the data were there. `choices` is how many lists of numbers could have been taken from the same source. */
export type Observation = {
  /** Id of an observation */
  observation_id: string;
  /** They stand in the event that `event_id` names. */
  event_id: string;
  /** What the numbers measure */
  quantity: string;
  /** Unit of the numbers */
  unit: string;
  /** How many there are */
  count: number;
  /** The lowest value */
  low: number;
  /** The highest value */
  high: number;
  /** SHA-256 over it */
  digest: string;
  /** `label` is what they are worth to who took them; to others it follows from `witnesses`. */
  label: "attested" | "witnessed";
  /** `body` names what they were taken from: what was taken from the same body is not independent. */
  body: string;
  /** `since` is when the data were there. */
  since: string;
  /** Who took it */
  observed_by: string;
  /** When it was taken, in UTC */
  observed_at: string;
  /** `label` is what they are worth to who took them; to others it follows from `witnesses`. */
  witnesses?: Array<string>;
  /** `choices` is how many lists of numbers could have been taken from the same source. */
  choices?: number;
  /** Whether the values were typed in, and so rest on somebody's word */
  typed?: boolean;
  /** Id of a tool call that was let through */
  call_id?: string | null;
  /** SHA-256 of stored content */
  content?: string | null;
  /** JSON pointer to the values within the result or content */
  pointer?: string;
  /** What is read of each row */
  each?: string;
  /** The column that the values are read from, where the content is a table */
  column?: string | null;
};

/** The values that stand at the named place; or why there are none, and the path of what is wrong. `source_hash` is that of all that they were taken from, `choices` how many lists of numbers could have been taken out of it. `brought` says who stored it, if it is content; `recorded_at` when it was recorded, if it is the result of a call, and `elsewhere` that this was before the session came here. */
export type ObservationFindings = {
  /** Which command these facts are for */
  of: "observation";
  /** The values */
  values?: Array<number>;
  /** `source_hash` is that of all that they were taken from, `choices` how many lists of numbers could have been taken out of it. */
  source_hash?: string;
  /** `source_hash` is that of all that they were taken from, `choices` how many lists of numbers could have been taken out of it. */
  choices?: number;
  /** `brought` says who stored it, if it is content; `recorded_at` when it was recorded, if it is the result of a call, and `elsewhere` that this was before the session came here. */
  brought?: Array<Bringer>;
  /** `brought` says who stored it, if it is content; `recorded_at` when it was recorded, if it is the result of a call, and `elsewhere` that this was before the session came here. */
  recorded_at?: string;
  /** `brought` says who stored it, if it is content; `recorded_at` when it was recorded, if it is the result of a call, and `elsewhere` that this was before the session came here. */
  elsewhere?: boolean;
  /** Why nothing was found; empty if something was */
  problem?: string;
  /** Where in the input this is, beginning at `$` */
  path?: string;
};

/** Without their values: an observation may have thousands. */
export type ObservationPage = {
  /** Observations, oldest first */
  observations: Array<ObservationView>;
  /** Where the next page begins; null on the last one */
  next?: string | null;
};

/** Where values were taken from, and what they are worth to who took them. `witnesses` are those who saw or brought them and are no agents: `server` for the result of a call that the server made. Whoever proposes with them is no witness for himself. `where` says the same in words. */
export type ObservationView = {
  /** Id of an observation */
  observation_id: string;
  /** What the numbers measure */
  quantity: string;
  /** Unit of the numbers */
  unit: string;
  /** What vouches for it: somebody's word, or a record of this server */
  label: "attested" | "witnessed";
  /** `where` says the same in words. */
  where: string;
  /** How many there are */
  count: number;
  /** The lowest value */
  low: number;
  /** The highest value */
  high: number;
  /** SHA-256 over it */
  digest: string;
  /** How the values came in: a recorded result, stored content, or typed */
  body: string;
  /** Since when, in UTC */
  since: string;
  /** Who took it */
  observed_by: string;
  /** When it was taken, in UTC */
  observed_at: string;
  /** `witnesses` are those who saw or brought them and are no agents: */
  witnesses: Array<string>;
  /** In how many ways the data could have been chosen */
  choices: number;
  /** Whether the values were typed in, and so rest on somebody's word */
  typed: boolean;
  /** Id of a tool call that was let through */
  call_id: string | null;
  /** SHA-256 of stored content */
  content: string | null;
  /** JSON pointer to the values within the result or content */
  pointer: string;
  /** What is read of each row */
  each: string;
  /** The column that the values are read from, where the content is a table */
  column: string | null;
  /** The values; the first ones, if there are many */
  values: Array<number>;
  /** The event that stands in the ledger for this */
  audit_event_id: string;
};

/** Take values out of a call's recorded result, or out of stored content; or type them. `pointer` leads to a number or a list (RFC 6901), `each` from every item of that list to its number. Of content that is CSV, `column` names the column. */
export type Observe = {
  /** Which command this is */
  verb?: "OBSERVE";
  /** What the numbers measure */
  quantity: string;
  /** Unit of the numbers */
  unit?: string;
  /** Id of a tool call that was let through */
  call_id?: string | null;
  /** SHA-256 of stored content */
  content?: string | null;
  /** Values that are typed in; they rest on somebody's word */
  values?: Array<number> | null;
  /** `pointer` leads to a number or a list (RFC 6901), `each` from every item of that list to its number. */
  pointer?: string;
  /** `pointer` leads to a number or a list (RFC 6901), `each` from every item of that list to its number. */
  each?: string;
  /** Of content that is CSV, `column` names the column. */
  column?: string | null;
  /** The one in the path, if any */
  session_id?: string;
};

/** Values were taken and frozen, with their label. */
export type Observed = {
  /** Which of the shapes this is */
  kind: "observed";
  /** The observation */
  observation: Observation;
  /** The values */
  values: Array<number>;
  /** Hypotheses that fall, by their ids */
  eliminated?: Array<string>;
};

/** A definition that a person is asked about. */
export type Offer = {
  /** Its name */
  name: string;
  /** SHA-256 of the entry, which the next entry names */
  hash: string;
  /** The item of the inbox that this is about */
  approval: Approval;
};

/** A tool as its server describes it. `annotations` are hints: they may raise a tier, never lower it. */
export type OfferedTool = {
  /** Its name */
  name: string;
  /** What the tool says of itself */
  description?: string;
  /** JSON Schema of the arguments */
  input_schema?: Record<string, unknown>;
  /** JSON Schema of the result */
  output_schema?: Record<string, unknown>;
  /** `annotations` are hints: they may raise a tier, never lower it. */
  annotations?: Record<string, unknown>;
};

/** `pinned` can be called, `waiting` cannot. `gone` are pinned and not offered any more. */
export type OfferedTools = {
  /** Name of the tool server that this comes from */
  upstream: string;
  /** Id of a session; ids are ordered by time */
  session_id: string;
  /** `pinned` can be called, `waiting` cannot. */
  pinned: Array<string>;
  /** `pinned` can be called, `waiting` cannot. */
  waiting: Array<WaitingTool>;
  /** `gone` are pinned and not offered any more. */
  gone: Array<string>;
};

/** Names the upstream model versions a session reasons under; they are never fetched. */
export type OntologyBundle = {
  /** Which space the hypotheses are from */
  hypothesis_space_id: string;
  /** Its version */
  hypothesis_version: string;
  /** Where the causal graph is that the hypotheses come from */
  causal_graph_ref: string;
  /** Its version */
  causal_graph_version: string;
};

/** The estimate is on one side of a value. */
export type Ordered = {
  /** The form of the criterion */
  region: "ordering";
  /** On which side of the number the data must lie */
  side: "above" | "below";
  /** The number to compare with */
  than: number;
};

/** `context` is its result as something that the agent was told, where policy asks for that. */
export type OutcomeRecorded = {
  /** Which of the shapes this is */
  kind: "outcome_recorded";
  /** A tool call, as it stands */
  call: ToolCall;
  /** What the tool gave back */
  result?: unknown;
  /** What went wrong; empty if nothing did */
  error?: string;
  /** Tokens of a model that were used */
  tokens?: number;
  /** Milliseconds of processor time */
  cpu_ms?: number;
  /** Bytes written to disk */
  disk_bytes?: number;
  /** `context` is its result as something that the agent was told, where policy asks for that. */
  context?: ContextRecord;
  /** Hypotheses that fall, by their ids */
  eliminated?: Array<string>;
};

/** What came of a call that its caller ran. `unknown`: the caller does not know whether it ran. `structured` is the machine-readable form of a `result` that is a text, `content_type` says what that text is. The amounts are what the call used. */
export type OutcomeRequest = {
  /** How it stands */
  status: "error" | "ok" | "unknown";
  /** `structured` is the machine-readable form of a `result` that is a text, `content_type` says what that text is. */
  result?: unknown;
  /** What went wrong; empty if nothing did */
  error?: string;
  /** `structured` is the machine-readable form of a `result` that is a text, `content_type` says what that text is. */
  structured?: unknown;
  /** `structured` is the machine-readable form of a `result` that is a text, `content_type` says what that text is. */
  content_type?: string | null;
  /** Tokens of a model that were used */
  tokens?: number;
  /** Milliseconds of processor time */
  cpu_ms?: number;
  /** Bytes written to disk */
  disk_bytes?: number;
};

/** In the order of the ledger. `next` goes on, also where few of many entries withhold something. */
export type PartPage = {
  /** What the session was told */
  items: Array<PartView>;
  /** `next` goes on, also where few of many entries withhold something. */
  next: string | null;
};

/** A part of an entry that stands beside the ledger, as it is now. `value` is there while it is kept; one that is `absent` was not erased, and is not here either. */
export type PartView = {
  /** Place of the event in its ledger, from 1 on */
  seq: number;
  /** Id of an event of the ledger; ids are ordered by time */
  event_id: string;
  /** Which command this is */
  verb: string;
  /** Where in the input this is, beginning at `$` */
  path: string;
  /** SHA-256 over it */
  digest: string;
  /** How it stands */
  state: "absent" | "erased" | "kept";
  /** `value` is there while it is kept; one that is `absent` was not erased, and is not here either. */
  value: unknown;
  /** The event that says that it was erased; null if it was not */
  erased_by: string | null;
};

/** Changes to F_sparse, made whole or not at all. */
export type Patch = {
  /** What to set, by key */
  set?: Record<string, unknown>;
  /** Keys to remove */
  remove?: Array<string>;
};

/** Leave to run one call, once, until `expires_at`: these arguments, this tool, under this policy. It is given once. Its holder reports what came of it; otherwise the call becomes `unknown`. */
export type Permit = {
  /** Id of a tool call that was let through */
  call_id: string;
  /** SHA-256 of the arguments with which it runs */
  args_hash: string;
  /** SHA-256 of the tool's definition */
  definition_hash: string;
  /** SHA-256 of the policy that it was decided under */
  policy_hash: string;
  /** Leave to run one call, once, until `expires_at`: these arguments, this tool, under this policy. */
  expires_at: string;
};

/** A definition that counts from `pinned_at` on. */
export type Pinned = {
  /** The tool */
  tool: OfferedTool;
  /** SHA-256 of the entry, which the next entry names */
  hash: string;
  /** A definition that counts from `pinned_at` on. */
  pinned_at: string;
};

/** A tool as it is pinned. `tier` is the one that counts. */
export type PinnedTool = {
  /** Its name */
  name: string;
  /** The tool */
  tool: OfferedTool;
  /** SHA-256 of the tool's definition */
  definition_hash: string;
  /** When it was taken in, in UTC */
  pinned_at: string;
  /** `tier` is the one that counts. */
  tier: "DELETE" | "MODIFY" | "PRIVILEGE" | "READ_ONLY" | "WRITE_LIMITED";
  /** Whether the tool changes something */
  mutates: boolean;
};

/** How far one pointer's evidence is known here. `by` says who brought or saw it, or why it is no more. */
export type PointerStanding = {
  /** Whether the evidence is on record, stored, or somebody's word */
  state: "attested" | "stored" | "witnessed";
  /** `by` says who brought or saw it, or why it is no more. */
  by?: string;
};

/** The rules `decide` is told to apply. `version` is what their author calls this edition of them. */
export type Policy = {
  /** Version of the policy format */
  v?: number;
  /** When a session can end, and who may end it by force */
  termination?: TerminationPolicy;
  /** What sessions may conclude, and on which observations hypotheses fall */
  beliefs?: BeliefPolicy;
  /** What speaks for or against it */
  evidence?: EvidencePolicy;
  /** From which uncertainty on a claim needs an explanation or is put off */
  uncertainty?: UncertaintyPolicy;
  /** Who may propose, and how often */
  security?: SecurityPolicy;
  /** When texts are looked at by detectors, and from which score on a claim is put off */
  adversarial?: AdversarialPolicy;
  /** Which tiers need a person, who may decide, and by when */
  approvals?: ApprovalPolicy;
  /** Constraints by their ids: what they are about, and whether they allow or deny */
  constraints?: Record<string, unknown>;
  /** Tools, with their schemas, tiers and what they reach */
  tools?: Record<string, ToolDefinition>;
  /** Namespaces of the symbolic state, and what may stand in them */
  schemas?: Record<string, Record<string, unknown>>;
  /** When entries of the memory count as confirmed */
  memory?: MemoryPolicy;
  /** What each mode allows, and how a session recovers */
  modes?: ModesPolicy;
  /** What counts as evidence for a status, and who must agree */
  firewall?: FirewallPolicy;
  /** SHA-256 of stored content */
  content?: ContentPolicy;
  /** Which claims count as riskier than they say */
  tiers?: TiersPolicy;
  /** Where it came from */
  provenance?: ProvenancePolicy;
  /** How constraints are read, and what an answer is called */
  arbitration?: ArbitrationPolicy;
  /** How large requests and states may be */
  limits?: LimitsPolicy;
  /** Capabilities that are issued by rule */
  capabilities?: Array<CapabilityRule>;
  /** How long calls may take */
  calls?: CallsPolicy;
  /** Whether it is found out where the values of calls came from */
  context?: ContextPolicy;
  /** How tools of other servers are taken in */
  catalogues?: CataloguesPolicy;
  /** Rules, by id */
  rules?: Record<string, unknown>;
  /** When sessions may act, and how much */
  scheduling?: SchedulingPolicy;
  /** What must hold under every policy that is adopted */
  prove?: Array<Guarantee>;
  /** By verb, which members stand beside the ledger under digests, so that they can be erased; `*` is every verb */
  erasable?: Record<string, Array<string>>;
  /** `version` is what their author calls this edition of them. */
  version?: string;
};

/** A policy has come into force. */
export type PolicyAdopted = {
  /** Which of the shapes this is */
  kind: "policy_adopted";
  /** SHA-256 of the policy that it was decided under */
  policy_hash: string;
  /** Where it came from */
  source: "adopted" | "file";
  /** Hypotheses that fall, by their ids */
  eliminated?: Array<string>;
};

/** A policy, and where it comes from: nobody chose it (`default`), the program that opened the store did (`given`), it stands in a file of the operator's (`file`), or somebody `adopted` it. */
export type PolicyAnswer = {
  /** SHA-256 of the policy that it was decided under */
  policy_hash: string;
  /** The policy */
  policy: Policy;
  /** Where it came from */
  source: "adopted" | "default" | "file" | "given";
  /** When the policy came into force, in UTC; null if nobody has adopted one */
  adopted_at?: string | null;
  /** Who adopted the policy; null if nobody did */
  adopted_by?: string | null;
};

/** The verdict with every reason, what the deciding constraints read, and what would make it pass. `left_out` is what could not be judged here, `assumed` what was taken to stay as it is. */
export type PolicyExplanation = {
  /** Whether it is let through, put off or denied */
  verdict: "allow" | "defer" | "deny";
  /** Why, as a code that never changes its meaning */
  reason_code: string;
  /** What follows where it does not pass: block, ask, defer or degrade */
  on_fail: "ask" | "block" | "defer" | "degrade" | null;
  /** Why, one entry per constraint or finding */
  reasons: Array<Reason>;
  /** Ids of the constraints that allow it */
  allowed_by: Array<string>;
  /** `left_out` is what could not be judged here, `assumed` what was taken to stay as it is. */
  left_out: Array<string>;
  /** `left_out` is what could not be judged here, `assumed` what was taken to stay as it is. */
  assumed: Array<string>;
  /** SHA-256 of the policy that it was decided under */
  policy_hash: string;
  /** The constraints that the verdict rests on, with what they read */
  deciding: Array<Deciding>;
  /** What would make it pass */
  remedy: Remedy | null;
  /** The same question under other policies */
  under: Array<Under>;
  /** Id of an event of the ledger; ids are ordered by time */
  event_id?: string | null;
};

/** What lint says of a constraint or a rule. A warning is most probably a mistake. */
export type PolicyFinding = {
  /** Why, as a code that never changes its meaning */
  code: string;
  /** Id of the constraint; null if none is behind it */
  constraint: string;
  /** What is wrong or what happened, in words */
  message: string;
  /** Whether it is a warning or a note */
  level: "note" | "warning";
  /** The other constraint that it is about; empty if there is none */
  other?: string;
};

/** Findings of lint, and the constraints that can stand in the way, with how often they did. `decisions` are the verdicts on record under exactly this policy that were looked at, in the sessions that the caller may read; `complete` is false if there are more. Constraints that only allow are not listed: a verdict does not name them. */
export type PolicyReview = {
  /** SHA-256 of the policy that it was decided under */
  policy_hash: string;
  /** How many of the findings are warnings */
  warnings: number;
  /** What was found, warnings first */
  findings: Array<PolicyFinding>;
  /** What it was compared with, in words */
  compared: string;
  /** `decisions` are the verdicts on record under exactly this policy that were looked at, in the sessions that the caller may read; `complete` is false if there are more. */
  decisions: number;
  /** What has been used so far */
  used: Array<RuleUse>;
  /** How many in a hundred */
  percent: number;
  /** How many decisions were looked at */
  looked_at: number;
  /** `decisions` are the verdicts on record under exactly this policy that were looked at, in the sessions that the caller may read; `complete` is false if there are more. */
  complete: boolean;
};

/** Which quantity, in which unit, lies where; and the range in which it can lie at all, if that is known. `at_least` is the share of cases in which a model's output must lie there. The last two members name the hypotheses of the session that fall by solid evidence for it, or against it. */
export type Prediction = {
  /** What the numbers measure */
  quantity: string;
  /** What the data must meet */
  criterion: Within | Ordered | Near;
  /** Unit of the numbers */
  unit?: string;
  /** The lowest and the highest value that is possible at all */
  bounds?: [number, number] | null;
  /** `at_least` is the share of cases in which a model's output must lie there. */
  at_least?: number | null;
  /** Hypotheses that fall if the claim is supported */
  eliminates_if_supported?: Array<string>;
  /** Hypotheses that fall if the claim is refuted */
  eliminates_if_refuted?: Array<string>;
};

/** Who speaks. `tier` is the name of a `Tier`, so that ledgers stay readable. `owner` is whose credential it is: somebody may hold one for their agent and another for themselves. */
export type Principal = {
  /** Id of the principal, such as `agent://triage` */
  id: string;
  /** What the principal may do by its role */
  role: Role;
  /** `tier` is the name of a `Tier`, so that ledgers stay readable. */
  tier?: string;
  /** `owner` is whose credential it is: somebody may hold one for their agent and another for themselves. */
  owner?: string;
};

/** An analogy: another domain in which something alike happens, and what the quantity is like there. */
export type PriorSuggestion = {
  /** What the suggestion comes from */
  domain: string;
  /** What it is like there */
  parallel: string;
  /** The lowest and the highest value that is worth a look */
  range?: [number, number] | null;
};

/** How far a run has come, as this server knows it. */
export type Progress = {
  /** How many replicates */
  replicates: number;
  /** How many replicates are planned */
  planned: number;
};

/** The answer to one question. `proved`: it holds, of every call; for what `can` happen, `call` shows it. `counterexample`: `call` shows that it does not. `refuted`: what should be possible happens with no call. `cannot_say`: neither, and `why` says why not and how far it came. */
export type Proof = {
  /** What was asked */
  question: string;
  /** What was found: proved, refuted, a counterexample, or that it cannot be said */
  answer: "cannot_say" | "counterexample" | "proved" | "refuted";
  /** `cannot_say`: neither, and `why` says why not and how far it came. */
  why?: string;
  /** `proved`: it holds, of every call; for what `can` happen, `call` shows it. */
  call?: FoundCall | null;
  /** How many seconds */
  seconds?: number;
};

/** What was proved of a policy, question by question. */
export type ProofAnswer = {
  /** SHA-256 of the policy that it was decided under */
  policy_hash: string;
  /** One answer per question */
  proofs: Array<Proof>;
  /** Whether everything that was asked for is proved */
  holds: boolean;
};

/** What was decided about each candidate. */
export type ProposalAnswer = {
  /** The snapshot of the symbolic state that it was made on */
  state_snapshot_id: string;
  /** One result per candidate or gate, in order */
  results: Array<CandidateAnswer>;
  /** Mode of the session: eco, normal, boost, throttled or offline-safe */
  mode: string;
  /** The event that stands in the ledger for this */
  audit_event_id: string;
};

/** Facts about a proposal's candidates, in their order; None where a candidate is no call. `authority` is how those stand now whose word or tier is used, as for claims. Where `no_stands` is set, a call that a person has rejected is not asked about again; where `asks_anew` is, one that waits is, if the rule has changed that asks; and where `one_permit` is, one of its calls begins, and those after it wait to be begun; entries without them are older. Where `relapses` is set, a mode that had recovered and is lowered to where it was begins to recover anew; likewise. With `by_words`, it is remembered who proposed what was not let through. `inputs` are those of its provenance that are events of the ledger or stored content. `in_force` is who adopted the policy, here and below. */
export type ProposalFindings = {
  /** Which command these facts are for */
  of: "proposal";
  /** What was found out about each call; null for a change of state */
  calls?: Array<CallFinding | null>;
  /** `authority` is how those stand now whose word or tier is used, as for claims. */
  authority?: Record<string, Principal | null>;
  /** Whether rights within spaces were looked at */
  by_rights?: boolean;
  /** With `by_words`, it is remembered who proposed what was not let through. */
  by_words?: boolean;
  /** Where `no_stands` is set, a call that a person has rejected is not asked about again; where `asks_anew` is, one that waits is, if the rule has changed that asks; and where `one_permit` is, one of its calls begins, and those after it wait to be begun; entries without them are older. */
  no_stands?: boolean;
  /** Where `no_stands` is set, a call that a person has rejected is not asked about again; where `asks_anew` is, one that waits is, if the rule has changed that asks; and where `one_permit` is, one of its calls begins, and those after it wait to be begun; entries without them are older. */
  asks_anew?: boolean;
  /** Where `no_stands` is set, a call that a person has rejected is not asked about again; where `asks_anew` is, one that waits is, if the rule has changed that asks; and where `one_permit` is, one of its calls begins, and those after it wait to be begun; entries without them are older. */
  one_permit?: boolean;
  /** `in_force` is who adopted the policy, here and below. */
  in_force?: Adopted;
  /** `inputs` are those of its provenance that are events of the ledger or stored content. */
  inputs?: Array<string>;
  /** Where `relapses` is set, a mode that had recovered and is lowered to where it was begins to recover anew; likewise. */
  relapses?: boolean;
};

/** Candidates for arbitration, made on a snapshot; without one, on the newest. With `execute: caller`, who proposes runs the tools: what is allowed is answered with a permit. `qos` is the class in which calls wait for their turn when the server is busy. */
export type ProposalRequest = {
  /** Where it came from */
  provenance: Provenance;
  /** What is proposed, in order; each is decided by itself */
  candidates: Array<DeltaCandidate | CallRequest>;
  /** The snapshot of the symbolic state that it was made on */
  state_snapshot_id?: string | null;
  /** Who carries the call out: this server, or the caller */
  execute?: "caller" | "server";
  /** `qos` is the class in which calls wait for their turn when the server is busy. */
  qos?: "background" | "interactive" | "maintenance";
};

/** A testable claim with its epistemic status, and the intent and evidence that gave it. `prediction` is what a test of it must find; without one nothing can be tested. It is fixed with the statement, at `worded_at`. `fell` says why the status went down by itself, if it did last. */
export type Proposition = {
  /** Id of a claim or proposition, as its author named it */
  claim_id: string;
  /** What is claimed, in words */
  statement: string;
  /** How it stands */
  status: "proven" | "refuted" | "speculative" | "supported" | "unresolved";
  /** When it was made, in UTC */
  created_at: string;
  /** Who made it */
  created_by: string;
  /** When it changed last, in UTC */
  changed_at: string;
  /** Id of a write intent, `int-` and the id of the event that staged it */
  intent_id: string;
  /** Ids of the evidence that it rests on */
  evidence_ids?: Array<string>;
  /** Which wording of the proposition, from 1 on */
  revision?: number;
  /** The proposition that this one was split off from; null if none */
  forked_from?: string | null;
  /** Whether it is kept from being relied on */
  quarantined?: boolean;
  /** `prediction` is what a test of it must find; without one nothing can be tested. */
  prediction?: Prediction | null;
  /** It is fixed with the statement, at `worded_at`. */
  worded_at?: string;
  /** `fell` says why the status went down by itself, if it did last. */
  fell?: string;
  /** Grounded, or speculative: what is speculative never counts as evidence */
  lane?: "grounded";
};

/** Propositions over all sessions. `broken` are sessions whose ledgers do not verify, or whose rows are not what their ledgers say: what they hold is left out. Of those that are `archived` it is as it was left. */
export type PropositionPage = {
  /** Propositions */
  propositions: Array<PropositionRow>;
  /** Where the next page begins; null on the last one */
  next: string | null;
  /** `broken` are sessions whose ledgers do not verify, or whose rows are not what their ledgers say: what they hold is left out. */
  broken?: Array<BrokenLedger>;
  /** Of those that are `archived` it is as it was left. */
  archived?: Array<ArchivedSession>;
};

/** A proposition in a list. `status` is that over all `sessions` that hold it, `foreign` of which began elsewhere and were imported. */
export type PropositionRow = {
  /** Id of a claim or proposition, as its author named it */
  claim_id: string;
  /** What is claimed, in words */
  statement: string;
  /** `status` is that over all `sessions` that hold it, `foreign` of which began elsewhere and were imported. */
  status: "proven" | "refuted" | "speculative" | "supported" | "unresolved";
  /** `status` is that over all `sessions` that hold it, `foreign` of which began elsewhere and were imported. */
  sessions: number;
  /** `status` is that over all `sessions` that hold it, `foreign` of which began elsewhere and were imported. */
  foreign: number;
  /** When it changed last, in UTC */
  changed_at: string;
};

/** A proposition over all sessions. `truncated` says that there is more than one answer can hold. `foreign` are the sessions that began elsewhere, each with who imported it from where: nothing in them counts as witnessed. `broken` and `archived` are as in the list. */
export type PropositionView = {
  /** Id of a claim or proposition, as its author named it */
  claim_id: string;
  /** What is claimed, in words */
  statement: string;
  /** How it stands */
  status: "proven" | "refuted" | "speculative" | "supported" | "unresolved";
  /** What the evidence warrants, with the evidence for and against */
  truth_assertion: TruthAssertion;
  /** Sessions that hold the proposition, and its status in each */
  sessions: Array<Holding>;
  /** What speaks for or against it */
  evidence: Array<EvidenceEntry>;
  /** Write intents */
  intents: Array<IntentEntry>;
  /** Ideas about the proposition, which count for nothing */
  speculative_hypotheses: Array<IdeaEntry>;
  /** `truncated` says that there is more than one answer can hold. */
  truncated: boolean;
  /** `foreign` are the sessions that began elsewhere, each with who imported it from where: nothing in them counts as witnessed. */
  foreign?: Record<string, Foreign>;
  /** `broken` and `archived` are as in the list. */
  broken?: Array<BrokenLedger>;
  /** `broken` and `archived` are as in the list. */
  archived?: Array<ArchivedSession>;
};

/** The way to a status. An answer holds some megabytes; `next` is the cursor of the steps that follow. `foreign`, `broken` and `archived` are as in the proposition; of the last two there are no steps. */
export type PropositionWhy = {
  /** Id of a claim or proposition, as its author named it */
  claim_id: string;
  /** How it stands */
  status: "proven" | "refuted" | "speculative" | "supported" | "unresolved";
  /** Every event on the way to the status, oldest first */
  steps: Array<WhyStep>;
  /** An answer holds some megabytes; `next` is the cursor of the steps that follow. */
  next?: string | null;
  /** `foreign`, `broken` and `archived` are as in the proposition; of the last two there are no steps. */
  foreign?: Record<string, Foreign>;
  /** `foreign`, `broken` and `archived` are as in the proposition; of the last two there are no steps. */
  broken?: Array<BrokenLedger>;
  /** `foreign`, `broken` and `archived` are as in the proposition; of the last two there are no steps. */
  archived?: Array<ArchivedSession>;
};

/** Ask whether `questions` hold of a policy; without any, what it promises itself under `prove`. What says nothing else is about the policy in force, and updates are compared with it, too. What is not answered after `seconds` is `cannot_say`. */
export type ProvePolicy = {
  /** The policy */
  policy?: Policy;
  /** The policy to compare it with; the one in force if left out */
  against?: Policy;
  /** Ask whether `questions` hold of a policy; without any, what it promises itself under `prove`. */
  questions?: Array<Guarantee>;
  /** What is not answered after `seconds` is `cannot_say`. */
  seconds?: number;
};

/** Where something comes from. `inputs` are the records that it was made from, `permissions` the capabilities that its author holds for it. A `workspace` counts if policy takes its proposer's word on context. */
export type Provenance = {
  /** Where it came from */
  source: "agent" | "encoder" | "observer" | "tool";
  /** `inputs` are the records that it was made from, `permissions` the capabilities that its author holds for it. */
  inputs?: Array<string>;
  /** `inputs` are the records that it was made from, `permissions` the capabilities that its author holds for it. */
  permissions?: Array<string>;
  /** When, in UTC */
  timestamp?: string | null;
  /** A `workspace` counts if policy takes its proposer's word on context. */
  workspace?: Workspace;
};

/** How far it is checked where proposals and memory entries say that they come from. `sources: by_role` takes from each role what that role is; `inputs: known` refuses inputs that are no record of the session; `permissions: held` refuses capabilities that who speaks does not hold. With `any`, everybody's word is taken. `capabilities: traced` writes into each capability under which policy it was issued, and at whose word. */
export type ProvenancePolicy = {
  /** Whether a role can speak only for itself */
  sources?: "any" | "by_role";
  /** Whether inputs must be records of the session */
  inputs?: "any" | "known";
  /** Whether the capabilities that are named must be held */
  permissions?: "any" | "held";
  /** Whether a capability records under which policy it was issued, and at whose word */
  capabilities?: "plain" | "traced";
};

/** What is known of a published bundle: who proposed it, and what its claims are called. */
export type PublishedBundle = {
  /** All who have a part in the proposal; none of them can approve it */
  proposers: Array<string>;
  /** Ids of the claims that this is about */
  claim_ids: Array<string>;
};

/** A call that somebody of some tier might make; `facts` is where its values came from, if it is known. `definition` is what the tool says of itself, where that is more than the policy says of it; `hosts` are those it would reach, `shell` what its commands may do. */
export type Question = {
  /** Id of a tool */
  tool_id: string;
  /** Arguments of the call, as the tool's schema takes them */
  args?: Record<string, unknown>;
  /** Risk tier: READ_ONLY, WRITE_LIMITED, MODIFY, DELETE or PRIVILEGE */
  tier?: "DELETE" | "MODIFY" | "PRIVILEGE" | "READ_ONLY" | "WRITE_LIMITED";
  /** A call that somebody of some tier might make; `facts` is where its values came from, if it is known. */
  facts?: CallFacts;
  /** What the principal may do by its role */
  role?: Role;
  /** The principal whom it is for, or who acts */
  agent_id?: string;
  /** Mode of the session: eco, normal, boost, throttled or offline-safe */
  mode?: "boost" | "eco" | "normal" | "offline-safe" | "throttled";
  /** `definition` is what the tool says of itself, where that is more than the policy says of it; `hosts` are those it would reach, `shell` what its commands may do. */
  definition?: ToolDefinition;
  /** `definition` is what the tool says of itself, where that is more than the policy says of it; `hosts` are those it would reach, `shell` what its commands may do. */
  hosts?: Array<string>;
  /** `definition` is what the tool says of itself, where that is more than the policy says of it; `hosts` are those it would reach, `shell` what its commands may do. */
  shell?: ShellFacts;
  /** The time that is assumed, in UTC */
  now?: string;
};

/** A claim whose tier is higher than its agent declares, and why. */
export type RaisedTier = {
  /** Id of a claim or proposition, as its author named it */
  claim_id: string;
  /** Risk tier: READ_ONLY, WRITE_LIMITED, MODIFY, DELETE or PRIVILEGE */
  tier: "DELETE" | "MODIFY" | "PRIVILEGE" | "READ_ONLY" | "WRITE_LIMITED";
  /** Why, in words */
  reason: string;
};

/** How far a backtest came: the last event that was decided again. */
export type Reached = {
  /** Id of a session; ids are ordered by time */
  session_id: string;
  /** Place of the event in its ledger, from 1 on */
  seq: number;
};

/** What a constraint looked at: a path, and the value there unless there is none or it is `long` (its bytes). `key` is the key of the state that it is in; `written` says who wrote that, if it is known, and `rule` which rule derived it. */
export type Reading = {
  /** Where in the input this is, beginning at `$` */
  path: string;
  /** Whether there is a value there */
  present: boolean;
  /** The value */
  value?: unknown;
  /** What a constraint looked at: a path, and the value there unless there is none or it is `long` (its bytes). */
  long?: number;
  /** `key` is the key of the state that it is in; `written` says who wrote that, if it is known, and `rule` which rule derived it. */
  key?: string;
  /** `key` is the key of the state that it is in; `written` says who wrote that, if it is known, and `rule` which rule derived it. */
  written?: Writing;
  /** `key` is the key of the state that it is in; `written` says who wrote that, if it is known, and `rule` which rule derived it. */
  rule?: string;
};

/** Why something did not pass: which constraint, what it read, and what would make it pass. `origin` says which values of a call it is about, and where they came from. `missing` are the keys that nobody has said anything about, of what is put off until somebody has. */
export type Reason = {
  /** Why, as a code that never changes its meaning */
  code: string;
  /** What was said, in words */
  text: string;
  /** Id of the constraint; null if none is behind it */
  constraint?: string | null;
  /** Keys of the state that were read */
  keys?: Array<string>;
  /** What would make it pass */
  remedy?: string;
  /** `origin` says which values of a call it is about, and where they came from. */
  origin?: Array<string>;
  /** `missing` are the keys that nobody has said anything about, of what is put off until somebody has. */
  missing?: Array<string>;
};

/** The event on record, and the session after it. */
export type Recorded = {
  /** The session right afterwards */
  snapshot: BeliefSnapshot;
  /** The event that stands in the ledger for this */
  audit_event_id: string;
};

/** Somebody was refused to write into a sealed session. */
export type RefusalNoted = {
  /** Which of the shapes this is */
  kind: "refusal_noted";
  /** Id of a session; ids are ordered by time */
  session_id: string;
  /** The verb that was refused */
  tried: string;
  /** Who did it */
  by: string;
  /** Hypotheses that fall, by their ids */
  eliminated?: Array<string>;
};

/** Nothing happened, and this is why. */
export type Refused = {
  /** Which of the shapes this is */
  kind: "refused";
  /** Why, as a code that never changes its meaning */
  code: Code;
  /** What is wrong or what happened, in words */
  message: string;
  /** More about it, such as the `path` of the bad field */
  details?: Record<string, unknown>;
  /** Hypotheses that fall, by their ids */
  eliminated?: Array<string>;
};

/** Who rejected the same words, when and why; `session_id` is there if that was in another session. */
export type RejectedBefore = {
  /** Who did it */
  by: string;
  /** When, in UTC */
  at: string;
  /** Why, in words */
  reason?: string;
  /** Who rejected the same words, when and why; `session_id` is there if that was in another session. */
  session_id?: string;
};

/** What would make it pass. `changes` are as few as can be; judged with them, it passes. Empty: there are none among what was tried, which is everything that the constraints tell apart, or only a `part` of it. `person`: it passes as well if a person approves. `otherwise` says what is left where nothing else is. */
export type Remedy = {
  /** What it says */
  words: string;
  /** `changes` are as few as can be; judged with them, it passes. */
  changes?: Array<ValueChange>;
  /** `person`: it passes as well if a person approves. */
  person?: boolean;
  /** `otherwise` says what is left where nothing else is. */
  otherwise?: Array<string>;
  /** Whether all possible changes were looked at, or a part */
  searched?: "all" | "part";
  /** How many possible changes were judged */
  judged?: number;
};

/** An entry was taken in, as `confirmed` or not; `remembered_at` starts its time to live. `confirmed_by` says whether a `witness` of this ledger confirms it, or sources that its author names and nobody here has seen. `seen` is all the evidence that was ever named for it. `insufficient` is all that was ever named for its value, which has the `value_hash`, while that was provisional. */
export type Remembered = {
  /** Which of the shapes this is */
  kind: "remembered";
  /** The entry of the memory */
  entry: MemoryEntry;
  /** An entry was taken in, as `confirmed` or not; `remembered_at` starts its time to live. */
  confirmed: boolean;
  /** An entry was taken in, as `confirmed` or not; `remembered_at` starts its time to live. */
  remembered_at: string;
  /** When it ends by itself, in UTC */
  expires_at?: string | null;
  /** `seen` is all the evidence that was ever named for it. */
  seen?: Array<string>;
  /** `confirmed_by` says whether a `witness` of this ledger confirms it, or sources that its author names and nobody here has seen. */
  confirmed_by?: "sources" | "witness" | null;
  /** `confirmed_by` says whether a `witness` of this ledger confirms it, or sources that its author names and nobody here has seen. */
  witness?: Witness | null;
  /** `insufficient` is all that was ever named for its value, which has the `value_hash`, while that was provisional. */
  value_hash?: string;
  /** `insufficient` is all that was ever named for its value, which has the `value_hash`, while that was provisional. */
  insufficient?: Array<string>;
  /** Hypotheses that fall, by their ids */
  eliminated?: Array<string>;
};

/** A result that a caller reported: its digest and size, and whether it is `kept` as content. */
export type Reported = {
  /** SHA-256 of stored content */
  content: string;
  /** How large it is, in bytes */
  size: number;
  /** A result that a caller reported: its digest and size, and whether it is `kept` as content. */
  kept?: boolean;
};

/** `content` is what was reported, kept as content under its SHA-256; null if it is not kept. `label` is `witnessed` if the reporter is a program that results go through, else `attested`. */
export type ReportedOutcome = {
  /** Id of a tool call that was let through */
  call_id: string;
  /** How it stands */
  status: string;
  /** SHA-256 of the result */
  result_hash: string | null;
  /** `content` is what was reported, kept as content under its SHA-256; null if it is not kept. */
  content: string | null;
  /** `label` is `witnessed` if the reporter is a program that results go through, else `attested`. */
  label: "attested" | "witnessed" | null;
  /** The event that stands in the ledger for this */
  audit_event_id: string;
};

/** Nothing needs to be said: everything is in the ledger. */
export type ReproduceRequest = Record<string, unknown>;

/** A run made again with the recorded seed. It changes nothing and is not recorded. `failure` says why it could not be made again, for example because the template has changed since. */
export type Reproduced = {
  /** Id of an experiment, `exp-` and the id of the event that planned it */
  experiment_id: string;
  /** Id of one run of an experiment */
  run_id: string;
  /** Whether running it again gave the same result hash */
  reproduced: boolean;
  /** The result hash that stands in the ledger */
  recorded_hash: string;
  /** SHA-256 of the result */
  result_hash: string;
  /** `failure` says why it could not be made again, for example because the template has changed since. */
  failure?: string;
};

/** Ask to be released from an obligation. */
export type RequestExit = {
  /** Which command this is */
  verb?: "REQUEST_EXIT";
  /** Id of an obligation, as it was entered */
  obligation_id?: string;
  /** Stored with the request, and not interpreted */
  context?: Record<string, unknown>;
  /** The one in the path, if any */
  session_id?: string;
};

/** Ask to close the session for good; `context.force` needs a role that policy names. */
export type RequestTermination = {
  /** Which command this is */
  verb?: "REQUEST_TERMINATION";
  /** Stored with the request, and not interpreted */
  context?: Record<string, unknown>;
  /** The one in the path, if any */
  session_id?: string;
};

/** How many hypotheses fell by a witnessed elimination, and how many by one that is only attested. */
export type RestsOn = {
  /** How many rest on records */
  witnessed: number;
  /** How many rest on somebody's word */
  attested: number;
};

/** Let an interrupted session go on; in a new episode, if a person says so. */
export type Resume = {
  /** Which command this is */
  verb?: "RESUME";
  /** Why, in words */
  reason: string;
  /** The one in the path, if any */
  session_id?: string;
};

/** The session goes on: `ended` is what had interrupted it. `carries`: in the episode that it was in. */
export type Resumed = {
  /** Which of the shapes this is */
  kind: "resumed";
  /** `ended` is what had interrupted it. */
  ended: Interruption;
  /** `carries`: in the episode that it was in. */
  carries?: boolean;
  /** Hypotheses that fall, by their ids */
  eliminated?: Array<string>;
};

/** Take back claims that were published; without `claim_ids`, all of the bundle that still stand. */
export type RetractClaims = {
  /** Which command this is */
  verb?: "RETRACT_CLAIMS";
  /** Id of a bundle of claims; its submitter's, or made by the server */
  bundle_id: string;
  /** Why, in words */
  reason: string;
  /** Take back claims that were published; without `claim_ids`, all of the bundle that still stand. */
  claim_ids?: Array<string>;
  /** The one in the path, if any */
  session_id?: string;
};

/** What was taken back: the claims that ended by this, how many of the bundle stand, and the bundle. */
export type RetractedClaims = {
  /** Id of a bundle of claims; its submitter's, or made by the server */
  bundle_id: string;
  /** Ids of the claims that this is about */
  claim_ids: Array<string>;
  /** How many claims of the bundle still stand */
  standing: number;
  /** Who did it */
  by: string;
  /** When, in UTC */
  at: string;
  /** Why, in words */
  reason: string;
  /** A bundle of claims, which is published as a whole or not at all */
  bundle: JudgedBundle;
  /** The event that stands in the ledger for this */
  audit_event_id: string;
};

/** The bundle that is to be retracted, looked up in the ledger; UNSET if it is not published. */
export type RetractionFindings = {
  /** Which command these facts are for */
  of: "retraction";
  /** The bundle that is on record */
  published?: PublishedBundle;
};

/** `still_held` are the other capabilities of this session that the same agent can go on with. One that policy issued is among them also when it has expired: the next proposal renews it. */
export type RevokedCapability = {
  /** Id of a capability, under which an agent may call tools */
  capability_id: string;
  /** Id of a session; ids are ordered by time */
  session_id: string;
  /** The principal whom it is for, or who acts */
  agent_id: string;
  /** What the capability allows: tools, folders, hosts and budgets */
  scope: Scope;
  /** What has been used so far */
  used: Used;
  /** When it was issued, in UTC */
  issued_at: string;
  /** When it ends by itself, in UTC */
  expires_at: string;
  /** Who issued it */
  issued_by: string;
  /** The capability that it came out of; null if it is the first */
  parent: string | null;
  /** When it was revoked, in UTC; null if it was not */
  revoked_at: string | null;
  /** Set aside for calls that run right now */
  reserved?: Amounts;
  /** The rule behind it */
  rule?: string | null;
  /** SHA-256 of the policy that it was decided under */
  policy_hash?: string | null;
  /** Where it came from */
  provenance?: Provenance | null;
  /** What may still be used */
  left?: Budgets;
  /** Capabilities that it came out of, nearest first */
  parents?: Array<CapabilityLevel>;
  /** `still_held` are the other capabilities of this session that the same agent can go on with. */
  still_held?: Array<string>;
};

/** What one may do in a space. Every right includes `read`, and `admin` includes all. */
export type Right = "admin" | "approve" | "propose" | "read";

/** What a principal is; it comes from the token, never from a body. */
export type Role = "admin" | "agent" | "approver" | "encoder" | "tool";

/** How often a constraint stood in the way, and when it did last; null if it never did. */
export type RuleUse = {
  /** Id of the constraint; null if none is behind it */
  constraint: string;
  /** Whether the constraint allows or denies */
  effect: string;
  /** How many there are */
  count: number;
  /** When it last did; null if it never did */
  last?: UsedAt | null;
};

/** The answer to a request that may be turned down: REQUEST_EXIT and REQUEST_TERMINATION. */
export type Ruled = {
  /** Whether it was approved */
  approved: boolean;
  /** Why, in words */
  reason: string;
  /** The session right afterwards */
  snapshot: BeliefSnapshot;
  /** The event that stands in the ledger for this */
  audit_event_id: string;
};

/** One execution of an experiment; `event_id` names the event that holds its report, once there is one. */
export type Run = {
  /** Id of one run of an experiment */
  run_id: string;
  /** Id of an experiment, `exp-` and the id of the event that planned it */
  experiment_id: string;
  /** How it stands */
  status: "cancelled" | "completed" | "failed" | "running";
  /** Who started it */
  started_by: string;
  /** When it began, in UTC */
  started_at: string;
  /** When it must have ended, in UTC */
  deadline: string;
  /** One execution of an experiment; `event_id` names the event that holds its report, once there is one. */
  event_id?: string | null;
  /** SHA-256 of the result */
  result_hash?: string | null;
  /** Id of a piece of evidence */
  evidence_id?: string | null;
  /** What came of it */
  outcome?: "refute" | "support" | "unresolved" | null;
  /** Whether a check failed, so that the outcome counts for nothing */
  fragile?: boolean;
  /** Why it failed; empty if it did not */
  failure?: string;
};

/** A run ended. `evidence` is minted here and nowhere else; a run that did not complete mints none. `propositions` are those whose status fell by it. */
export type RunRecorded = {
  /** Which of the shapes this is */
  kind: "run_recorded";
  /** The run */
  run: Run;
  /** What the executor told of the run; null while it has not ended */
  report: RunReport;
  /** `evidence` is minted here and nowhere else; a run that did not complete mints none. */
  evidence?: Evidence | null;
  /** `propositions` are those whose status fell by it. */
  propositions?: Array<Proposition>;
  /** Hypotheses that fall, by their ids */
  eliminated?: Array<string>;
};

/** What an executor tells of one run. Every number in it is finite; there is no user's text in it. `error_level` is the smallest alpha at which the outcome would still have been reached: under the stated `model`, a wrong outcome reaches a level that small with at most that chance. It is 1 where nothing was decided, and for `bookkeeping`: templates in which chance has no part, so that they bound no error. `blocks` digests the digests of all blocks of replicates, in order: it is the same on every executor. */
export type RunReport = {
  /** How it stands */
  status: "cancelled" | "completed" | "failed";
  /** SHA-256 of the plan */
  spec_hash: string;
  /** The kind of experiment */
  template: string;
  /** SHA-256 of the code that computed it */
  code_hash: string;
  /** Of all random numbers: the same seed gives the same run */
  seed: number;
  /** `error_level` is the smallest alpha at which the outcome would still have been reached: under the stated `model`, a wrong outcome reaches a level that small with at most that chance. */
  model: string;
  /** What came of it */
  outcome?: "refute" | "support" | "unresolved";
  /** `error_level` is the smallest alpha at which the outcome would still have been reached: under the stated `model`, a wrong outcome reaches a level that small with at most that chance. */
  error_level?: number;
  /** How sure it is, from 0 to 1 */
  confidence?: number;
  /** In which way the claim failed; null if it did not */
  failure_mode?: "nonidentifiable" | "null_effect" | "sign_flip" | "violated_assumption" | null;
  /** Why it failed; empty if it did not */
  failure?: string;
  /** What was computed */
  result?: Record<string, unknown>;
  /** Numbers about the run: effective sample size, standard error and the like */
  diagnostics?: Record<string, unknown>;
  /** The checks of the run, each passed or not */
  checks?: Array<Check>;
  /** How many replicates */
  replicates?: number;
  /** Replicates that gave no number */
  failed_replicates?: number;
  /** Whether it was decided before all replicates were drawn */
  stopped_early?: boolean;
  /** It is 1 where nothing was decided, and for `bookkeeping`: templates in which chance has no part, so that they bound no error. */
  bookkeeping?: boolean;
  /** `blocks` digests the digests of all blocks of replicates, in order: it is the same on every executor. */
  blocks?: string;
};

/** `wait: false` answers as soon as the run is let through, and leaves it running. */
export type RunRequest = {
  /** Whether to answer only when the run has ended */
  wait?: boolean;
};

/** A run has begun. */
export type RunStarted = {
  /** Which of the shapes this is */
  kind: "run_started";
  /** The run */
  run: Run;
  /** Hypotheses that fall, by their ids */
  eliminated?: Array<string>;
};

/** The schedule right after it was changed. */
export type ScheduleAnswer = {
  /** When the session may act, and how much */
  schedule: ScheduleView;
  /** The event that stands in the ledger for this */
  audit_event_id: string;
};

/** When a session may act, and how much. `set_to` is what the mode recovers to. `network` and `mutating` are whether calls that reach the network or change things are let through. `wakes` are the times of interrupts by programs that still count for whoever raised them. */
export type ScheduleView = {
  /** Mode of the session: eco, normal, boost, throttled or offline-safe */
  mode: string;
  /** `set_to` is what the mode recovers to. */
  set_to: string;
  /** The mode that somebody has set; null if nobody has */
  set_mode: SetModeView | null;
  /** The mode that the session was lowered to */
  lowered: LoweredView | null;
  /** The part of its budgets that the session may use in this mode */
  budget_share: number;
  /** `network` and `mutating` are whether calls that reach the network or change things are let through. */
  network: boolean;
  /** `network` and `mutating` are whether calls that reach the network or change things are let through. */
  mutating: boolean;
  /** Why the session stands still; null if it does not */
  interruption: InterruptionView | null;
  /** The stretch of work under way; null if none is */
  episode: EpisodeView | null;
  /** `wakes` are the times of interrupts by programs that still count for whoever raised them. */
  wakes: Array<string>;
  /** Place of the event in its ledger, from 1 on */
  seq: number;
};

/** Budgets of episodes, and how often programs may interrupt. */
export type SchedulingPolicy = {
  /** The stretch of work under way; null if none is */
  episode?: EpisodePolicy;
  /** What may interrupt a session, and how often */
  interrupts?: InterruptPolicy;
};

/** Which tools, files and hosts. `*` in `tools` or `net_allowlist` means all; roots are absolute. */
export type Scope = {
  /** `*` in `tools` or `net_allowlist` means all; roots are absolute. */
  tools: Array<string>;
  /** Folders that may be read */
  fs_read_roots?: Array<string>;
  /** Folders that may be written to */
  fs_write_roots?: Array<string>;
  /** `*` in `tools` or `net_allowlist` means all; roots are absolute. */
  net_allowlist?: Array<string>;
  /** How much may be used in all */
  budgets?: Budgets;
};

/** By whom and when it was said that nothing more is to be written, and why. */
export type Seal = {
  /** Who did it */
  by: string;
  /** When, in UTC */
  at: string;
  /** Why, in words */
  reason: string;
};

/** Let nothing more be written into a session, so that it can be archived. */
export type SealSession = {
  /** Which command this is */
  verb?: "SEAL_SESSION";
  /** Why, in words */
  reason?: string;
  /** The one in the path, if any */
  session_id?: string;
};

/** How many bundles one principal may submit in a window, and which web origins may speak at all. `relays` are the agents that a principal may speak for beside itself: by id, or all of `prefix/*`. */
export type SecurityPolicy = {
  /** How many proposals one principal may make within the window */
  rate_limit?: number;
  /** Length of that window */
  rate_window_seconds?: number;
  /** Which principals may propose at all; empty means all */
  allowed_origins?: Array<string>;
  /** `relays` are the agents that a principal may speak for beside itself: by id, or all of `prefix/*`. */
  relays?: Record<string, Array<string>>;
};

/** `unknown_hypotheses: ignore` turns undeclared ids into ignored ones instead of refusals. */
export type SessionOptions = {
  /** Whether ids that were not declared are refused or left out */
  unknown_hypotheses?: "ignore" | "reject";
};

/** `broken` are the sessions of the page whose ledgers do not verify; they do not hide the others. `archived` are those whose ledgers are elsewhere. */
export type SessionPage = {
  /** Sessions, oldest first */
  sessions: Array<BeliefSnapshot>;
  /** Where the next page begins; null on the last one */
  next: string | null;
  /** `broken` are the sessions of the page whose ledgers do not verify; they do not hide the others. */
  broken?: Array<BrokenLedger>;
  /** `archived` are those whose ledgers are elsewhere. */
  archived?: Array<ArchivedSession>;
};

/** The last event of a session, unless it is unsealed. */
export type SessionSealed = {
  /** Which of the shapes this is */
  kind: "session_sealed";
  /** By whom and when the session was sealed, and why; null if it is not */
  seal: Seal;
  /** Hypotheses that fall, by their ids */
  eliminated?: Array<string>;
};

/** The session goes on. */
export type SessionUnsealed = {
  /** Which of the shapes this is */
  kind: "session_unsealed";
  /** Who did it */
  by: string;
  /** Why, in words */
  reason: string;
  /** Hypotheses that fall, by their ids */
  eliminated?: Array<string>;
};

/** Set the mode of a session, until a time or until it is set again. Programs can only lower it, below what it is at the time. */
export type SetMode = {
  /** Which command this is */
  verb?: "SET_MODE";
  /** Mode of the session: eco, normal, boost, throttled or offline-safe */
  mode: "boost" | "eco" | "normal" | "offline-safe" | "throttled";
  /** Why, in words */
  reason: string;
  /** When it ends, in UTC */
  until?: string;
  /** The one in the path, if any */
  session_id?: string;
};

/** A mode that a person has set: who, why, since when, and until when if it ends by itself. */
export type SetModeRecord = {
  /** Mode of the session: eco, normal, boost, throttled or offline-safe */
  mode: string;
  /** Who did it */
  by: string;
  /** Why, in words */
  reason: string;
  /** Since when, in UTC */
  since: string;
  /** When it ends, in UTC */
  until?: string;
};

/** A mode that a person has set; without `until`, it holds until it is set again. */
export type SetModeView = {
  /** Mode of the session: eco, normal, boost, throttled or offline-safe */
  mode: string;
  /** Who did it */
  by: string;
  /** Why, in words */
  reason: string;
  /** Since when, in UTC */
  since: string;
  /** A mode that a person has set; without `until`, it holds until it is set again. */
  until: string | null;
};

/** Contents, by their digests, and who shaped them: people, by their owners and by their ids. In older entries it is one of both. */
export type Shaped = {
  /** SHA-256 of stored content */
  content: Array<string>;
  /** Who did it */
  by: Array<string>;
};

/** What a command may do. Everything that is not known for sure counts as the worse of the two. `reach` sums it up: it only reads; it changes nothing but files inside the project; or somebody must be asked. `runs` are programs that nothing is known about. `outside` are those of `writes` and `deletes` that lie outside the project, cannot be told, or steer programs that run later (`.git`, settings of agents). INVARIANT: symbolic links cannot be seen by reading, so paths are resolved by their text alone. */
export type ShellFacts = {
  /** `reach` sums it up: it only reads; it changes nothing but files inside the project; or somebody must be asked. */
  reach: "asks" | "project" | "reads";
  /** Whether its commands change nothing */
  read_only: boolean;
  /** `outside` are those of `writes` and `deletes` that lie outside the project, cannot be told, or steer programs that run later (`.git`, settings of agents). */
  writes?: Array<string>;
  /** `outside` are those of `writes` and `deletes` that lie outside the project, cannot be told, or steer programs that run later (`.git`, settings of agents). */
  deletes?: Array<string>;
  /** `outside` are those of `writes` and `deletes` that lie outside the project, cannot be told, or steer programs that run later (`.git`, settings of agents). */
  outside?: Array<string>;
  /** Hosts that its commands may reach */
  network?: Array<string>;
  /** `runs` are programs that nothing is known about. */
  runs?: Array<string>;
  /** Whether a command raises its own rights */
  privilege?: boolean;
  /** Whether a command could not be read */
  unparsed?: boolean;
  /** Why, in words */
  why?: Array<string>;
};

/** What a snapshot does not list. `query_belief` goes on with `obligations_next` as `obligations_before`, and with `conclusions_next` as `conclusions_after`; `metadata` says that it was left out. */
export type Shortened = {
  /** How many obligations there are in all */
  n_obligations: number;
  /** `query_belief` goes on with `obligations_next` as `obligations_before`, and with `conclusions_next` as `conclusions_after`; `metadata` says that it was left out. */
  obligations_next: string | null;
  /** How many conclusions there are in all */
  n_conclusions: number;
  /** `query_belief` goes on with `obligations_next` as `obligations_before`, and with `conclusions_next` as `conclusions_after`; `metadata` says that it was left out. */
  conclusions_next: string | null;
  /** `query_belief` goes on with `obligations_next` as `obligations_before`, and with `conclusions_next` as `conclusions_after`; `metadata` says that it was left out. */
  metadata: boolean;
};

/** Something that was found out about a call and speaks for care; `grave` if it cannot be taken back, or if somebody other than the user seems to be behind it. */
export type Sign = {
  /** What it says */
  words: string;
  /** Something that was found out about a call and speaks for care; `grave` if it cannot be taken back, or if somebody other than the user seems to be behind it. */
  grave: boolean;
};

/** Nothing needs to be said: everything that was recorded until now is covered. */
export type SignCheckpoint = Record<string, unknown>;

/** One thing that looked hostile: what kind, how much it weighs, where it stood, and what it said. */
export type Signal = {
  /** Which of the shapes this is */
  kind: string;
  /** How much it counts, from 0 to 1 */
  weight: number;
  /** Where in the input this is, beginning at `$` */
  path: string;
  /** The text that set it off, shortened */
  excerpt: string;
};

/** A program's signal that does not interrupt; `why` not. `excited` is how it leaves its `owner`; the session, where none is named. */
export type SignalNoted = {
  /** Which of the shapes this is */
  kind: "signal_noted";
  /** What was noticed */
  signal: "goal_conflict" | "policy_deadline" | "surprisal" | "user_intent";
  /** A program's signal that does not interrupt; `why` not. */
  why: "below" | "cooldown" | "interrupted" | "not_calmed" | "window";
  /** What is wrong or what happened, in words */
  message: string;
  /** `excited` is how it leaves its `owner`; the session, where none is named. */
  excited?: boolean;
  /** `excited` is how it leaves its `owner`; the session, where none is named. */
  owner?: string;
  /** Hypotheses that fall, by their ids */
  eliminated?: Array<string>;
};

/** What a derived fact comes from: the rule, and the keys that it read and found. */
export type Source = {
  /** The rule that derived it */
  rule: string;
  /** What it was made from */
  inputs?: Array<string>;
};

/** Spaces that the caller may look into. */
export type SpaceList = {
  /** Spaces that the caller may look into */
  spaces: Array<SpaceView>;
};

/** A space was made. */
export type SpaceMade = {
  /** Which of the shapes this is */
  kind: "space_made";
  /** Id of the space */
  space: string;
  /** Who made it */
  made_by: string;
  /** Hypotheses that fall, by their ids */
  eliminated?: Array<string>;
};

/** A space, and what the caller may do in it. Nobody made the default one. */
export type SpaceView = {
  /** Its name */
  name: string;
  /** What the caller may do in the space */
  rights: Array<Right>;
  /** When it was made, in UTC */
  created_at?: string | null;
  /** Who made it */
  created_by?: string | null;
};

/** Ideas were noted. Each is linked to its session; the link to a proposition is tried, and may fail. */
export type Speculated = {
  /** Which of the shapes this is */
  kind: "speculated";
  /** Ids of hypotheses, as they were declared */
  hypotheses: Array<SpeculativeHypothesis>;
  /** Links to propositions that were tried */
  links_attempted: number;
  /** Links to propositions that were made */
  links_created: number;
  /** Hypotheses that fall, by their ids */
  eliminated?: Array<string>;
};

/** What a speculative agent came up with about one claim. */
export type Speculation = {
  /** Other mechanisms that could explain the same */
  alternatives?: Array<Alternative>;
  /** What is like it elsewhere */
  analogies?: Array<PriorSuggestion>;
  /** Cases at the edge that would be worth a test */
  edge_cases?: Array<string>;
  /** What would show that the idea is wrong */
  falsification_criteria?: Array<string>;
};

/** Ideas that were noted, and what they could be linked to. */
export type SpeculationAnswer = {
  /** Ids of hypotheses, as they were declared */
  hypotheses: Array<HypothesisView>;
  /** Links and addresses that it passes on */
  links: Links;
  /** What could not be linked, in words */
  soft_failures: Array<string>;
  /** The event that stands in the ledger for this */
  audit_event_id: string;
};

/** Alternatives to a claim. */
export type SpeculationRequest = {
  /** Id of a claim or proposition, as its author named it */
  claim_id: string;
  /** Ids of hypotheses, as they were declared */
  hypotheses: Array<Alternative>;
};

/** A claim that somebody would like to see tested. It has the status `speculative`, and no way up. */
export type SpeculativeClaim = {
  /** What this is; it is part of the speculative lane and stays there */
  artifact: "speculative-claim";
  /** Id of a write intent, `int-` and the id of the event that staged it */
  intent_id: string;
  /** Id of a claim or proposition, as its author named it */
  claim_id: string;
  /** What is claimed, in words */
  statement: string;
  /** The principal who proposed it */
  proposed_by: string;
  /** When it was proposed, in UTC */
  proposed_at: string;
  /** Grounded, or speculative: what is speculative never counts as evidence */
  lane?: "speculative";
};

/** A speculative hypothesis: scoped to its session, and of no weight there either. */
export type SpeculativeHypothesis = {
  /** What this is; it is part of the speculative lane and stays there */
  artifact: "speculative-hypothesis";
  /** Id of a hypothesis of the speculative lane */
  hypothesis_id: string;
  /** Id of a claim or proposition, as its author named it */
  claim_id: string;
  /** The idea itself: a mechanism, and what it predicts */
  alternative: Alternative;
  /** The principal who proposed it */
  proposed_by: string;
  /** When it was proposed, in UTC */
  proposed_at: string;
  /** Whether it is about a proposition that is on record */
  targets_proposition: boolean;
  /** Grounded, or speculative: what is speculative never counts as evidence */
  lane?: "speculative";
};

/** Begin a call that was let through, if it still may. Nothing runs before this is decided. */
export type StartCall = {
  /** Which command this is */
  verb?: "START_CALL";
  /** Id of a tool call that was let through */
  call_id?: string;
  /** The one in the path, if any */
  session_id?: string;
};

/** What was found out about a call right before it begins. `caller` is what the principal who proposed it may by now, and None if it may not propose here any more. Nothing is said of one that never had a token here. Where `takes_rest` is set, a call gets all that is left of what its tool does not declare, whatever earlier calls used; entries without it are older. `relapses` is as for proposals. */
export type StartFindings = {
  /** Which command these facts are for */
  of: "start";
  /** A tool call, as it stands */
  call: CallFinding;
  /** `caller` is what the principal who proposed it may by now, and None if it may not propose here any more. */
  caller?: Principal | null;
  /** Where `takes_rest` is set, a call gets all that is left of what its tool does not declare, whatever earlier calls used; entries without it are older. */
  takes_rest?: boolean;
  /** The policy in force, and who adopted it */
  in_force?: Adopted;
  /** `relapses` is as for proposals. */
  relapses?: boolean;
};

/** F_sparse at a snapshot: what was proposed and committed, what rules derive from it, and what the policy adds: its constraints, its rules, and `policy.*`. `derived` are the facts that rules derive, each with its rule and the keys that the rule read. `policy_hash` is the policy whose constraints are shown, `created_under` the one that the snapshot was made under. `agent_id` proposed the change that made it and `provenance` is what came with that; of the empty state, who declared the session. */
export type StateAnswer = {
  /** The snapshot of the symbolic state that it was made on */
  state_snapshot_id: string;
  /** How often the symbolic state has changed */
  state_version: number;
  /** The symbolic state: keys and their values */
  f_sparse: Record<string, unknown>;
  /** Mode of the session: eco, normal, boost, throttled or offline-safe */
  mode: string;
  /** Place of the event in its ledger, from 1 on */
  seq: number;
  /** `policy_hash` is the policy whose constraints are shown, `created_under` the one that the snapshot was made under. */
  policy_hash: string;
  /** `derived` are the facts that rules derive, each with its rule and the keys that the rule read. */
  derived: Record<string, Source>;
  /** When it was made, in UTC */
  created_at: string;
  /** `policy_hash` is the policy whose constraints are shown, `created_under` the one that the snapshot was made under. */
  created_under: string;
  /** `agent_id` proposed the change that made it and `provenance` is what came with that; of the empty state, who declared the session. */
  agent_id: string;
  /** `agent_id` proposed the change that made it and `provenance` is what came with that; of the empty state, who declared the session. */
  provenance?: Provenance | null;
  /** The dense part of the state; null if there is none */
  s_core?: CoreVector | null;
};

/** What a person weighs before a status changes: what is claimed, and every run for and against it. `runs` are the latest ones, `runs_in_all` counts all. `doubts` say in words what speaks against relying on them. */
export type StatusCard = {
  /** Id of a claim or proposition, as its author named it */
  claim_id: string;
  /** What is claimed, in words */
  statement: string;
  /** Which wording of the proposition, from 1 on */
  revision: number;
  /** How it stands */
  status: "proven" | "refuted" | "speculative" | "supported" | "unresolved";
  /** The status that it would have */
  to_status: "proven" | "refuted" | "speculative" | "supported" | "unresolved";
  /** What will be measured if it is so */
  prediction: Prediction | null;
  /** The status that the evidence allows */
  warrants: "proven" | "refuted" | "speculative" | "supported" | "unresolved";
  /** Why, in words */
  why: string;
  /** How many experiments have been planned for this claim */
  attempts: number;
  /** `runs` are the latest ones, `runs_in_all` counts all. */
  runs: Array<TestRun>;
  /** `runs` are the latest ones, `runs_in_all` counts all. */
  runs_in_all: number;
  /** `doubts` say in words what speaks against relying on them. */
  doubts: Array<string>;
};

/** A calibration set to keep, and whose answers it is about. The score is chosen once, for good. */
export type StoreCalibration = {
  /** Its name */
  name?: string;
  /** Probabilities per class, for each item */
  probabilities?: Array<Array<number>> | null;
  /** The right class of each item, by its place */
  labels?: Array<number> | null;
  /** One score per item */
  scores?: Array<number> | null;
  /** The group of each item, where coverage is per group */
  groups?: Array<string> | null;
  /** The model that this is about */
  model: string;
  /** How items are scored: `lac` or `aps` */
  score?: "aps" | "lac";
};

/** The store was put back, or is another one: the operator accepted that it knows less. With `at`, sessions are what they were then, without `left_out` events that came later. With `signed`, the log had so many leaves when a checkpoint was signed, and has `leaves` of them, or others. */
export type StoreRestored = {
  /** Which of the shapes this is */
  kind: "store_restored";
  /** The newest event that was known before */
  seen: Head;
  /** How many events the restored store has */
  found: number;
  /** With `at`, sessions are what they were then, without `left_out` events that came later. */
  at?: string;
  /** With `at`, sessions are what they were then, without `left_out` events that came later. */
  left_out?: number;
  /** With `signed`, the log had so many leaves when a checkpoint was signed, and has `leaves` of them, or others. */
  signed?: number;
  /** With `signed`, the log had so many leaves when a checkpoint was signed, and has `leaves` of them, or others. */
  leaves?: number;
  /** Hypotheses that fall, by their ids */
  eliminated?: Array<string>;
};

/** Where stored bytes are to be found: under their digest. */
export type StoredContent = {
  /** SHA-256 of the content, in hex */
  sha256: string;
  /** How large it is, in bytes */
  size: number;
};

/** What an agent says in one step. `origin_agent` is who submits it, and may be left out; another one takes a relay in the policy. `corrects` names a published bundle that this one puts right. `decision`, `reason`, `required_approvals` and `audit_trail` are filled in by the server alone. */
export type SubmittedBundle = {
  /** Claims, each with its kind, its tier and what it rests on */
  claims: Array<SubmittedClaim>;
  /** `origin_agent` is who submits it, and may be left out; another one takes a relay in the policy. */
  origin_agent?: string;
  /** Id of the bundle; made by the server if left out */
  id?: string | null;
  /** When, in UTC */
  timestamp?: string | null;
  /** `decision`, `reason`, `required_approvals` and `audit_trail` are filled in by the server alone. */
  decision?: "DEFER" | "ESCALATE" | "PUBLISH" | "REFUSE";
  /** `decision`, `reason`, `required_approvals` and `audit_trail` are filled in by the server alone. */
  reason?: string;
  /** `decision`, `reason`, `required_approvals` and `audit_trail` are filled in by the server alone. */
  required_approvals?: Array<string>;
  /** `decision`, `reason`, `required_approvals` and `audit_trail` are filled in by the server alone. */
  audit_trail?: AuditTrail;
  /** `corrects` names a published bundle that this one puts right. */
  corrects?: Corrects;
};

/** One typed statement. Without an id it is named after its place in the bundle. */
export type SubmittedClaim = {
  /** What is claimed, in words */
  statement: string;
  /** FACT, INFERENCE or DECISION */
  claim_type: "DECISION" | "FACT" | "INFERENCE";
  /** How uncertain the claim is, and how that was measured */
  uncertainty: SubmittedUncertainty;
  /** How much harm it can do: READ_ONLY, WRITE_LIMITED, MODIFY, DELETE or PRIVILEGE */
  risk_tier: "DELETE" | "MODIFY" | "PRIVILEGE" | "READ_ONLY" | "WRITE_LIMITED";
  /** Id of the claim; made by the server if left out */
  id?: string | null;
  /** What the claim rests on: where it is, its digest, and how sure its source is */
  evidence_pointers?: Array<EvidencePointer>;
  /** What it costs if this is wrong, in words */
  if_wrong_cost?: string;
  /** What the decision does; only for claims of type DECISION */
  action?: DecidedAction;
  /** What the action changes: a proposition, a hypothesis or a thing outside */
  about?: About;
};

/** A value, answers in `samples` to measure it from, or the receipt of a measurement. A value beside those is declared: it can only tighten. */
export type SubmittedUncertainty = {
  /** How uncertainty was measured */
  method: "confidence_score" | "conformal_set" | "model_disagreement" | "semantic_entropy";
  /** The value */
  value?: number;
  /** What the number means, in words */
  interpretation?: string;
  /** What the gate should do, in the words of whoever measured it; it can only tighten */
  gate_recommendation?: "DEFER" | "EXECUTE" | "EXPLAIN" | "REFUSE";
  /** Id of a measurement of uncertainty */
  measurement_id?: string;
  /** A value, answers in `samples` to measure it from, or the receipt of a measurement. */
  samples?: Array<string>;
};

/** Who may end a session that has not come down to one survivor, and how settled it must be. */
export type TerminationPolicy = {
  /** Roles that may end a session by force */
  force_roles?: Array<Role>;
  /** How many events must pass without a change before a session can end */
  stability_window?: number;
};

/** A session could be ended, or not yet. */
export type TerminationRuled = {
  /** Which of the shapes this is */
  kind: "termination_ruled";
  /** Whether it was approved */
  approved: boolean;
  /** Why, in words */
  reason: string;
  /** Hypotheses that fall, by their ids */
  eliminated?: Array<string>;
};

/** One completed run for or against a proposition. `counts` is false if it tested another wording. `where` says where its data came from, one line per observation. */
export type TestRun = {
  /** Id of one run of an experiment */
  run_id: string;
  /** Id of a piece of evidence */
  evidence_id: string;
  /** The kind of experiment */
  template: string;
  /** What came of it */
  outcome: "refute" | "support" | "unresolved";
  /** The smallest alpha at which the outcome would still have been reached */
  error_level: number;
  /** The error that is allowed: how often a false claim may be supported */
  alpha: number;
  /** Names of the checks that failed */
  failed_checks: Array<string>;
  /** Whether chance has no part in it, so that it bounds no error */
  bookkeeping: boolean;
  /** `counts` is false if it tested another wording. */
  counts: boolean;
  /** What vouches for it: somebody's word, or a record of this server */
  label: "attested" | "witnessed";
  /** `where` says where its data came from, one line per observation. */
  where: Array<string>;
  /** Whether the claim was put into words before its data were seen */
  worded_first: boolean;
  /** Who planned it */
  designed_by: string;
  /** Which attempt at this claim it is, from 1 on */
  attempt: number;
  /** How many runs this claim had in all */
  tries: number;
  /** How many observations were left out */
  left_out: number;
  /** In how many ways the data could have been chosen */
  choices: number;
  /** The data against what was predicted, as a histogram; null if there are no numbers */
  picture: DataPicture | null;
};

/** One event that spoke against a hypothesis; `applied` marks the one that eliminated it. `actor` is the principal who spoke; it is null for what was merged before merges told it. `label` says whether somebody else has witnessed what the elimination rests on, `cites` what that is. `unsaid` is why a merged elimination has no `justification` here: it was nested too deep for a merge, policy keeps such texts beside the ledger, or merges did not tell it yet. It stands in the ledger of the replica. */
export type Testimony = {
  /** Id of an event of the ledger; ids are ordered by time */
  event_id: string;
  /** Place of the event in its ledger, from 1 on */
  seq: number;
  /** When it was recorded, in UTC */
  ts: string;
  /** Who or what speaks: a principal, a tool, a log */
  source_id: string;
  /** Id of an observation */
  observation_id: string;
  /** `unsaid` is why a merged elimination has no `justification` here: it was nested too deep for a merge, policy keeps such texts beside the ledger, or merges did not tell it yet. */
  justification: Record<string, unknown>;
  /** One event that spoke against a hypothesis; `applied` marks the one that eliminated it. */
  applied: boolean;
  /** `actor` is the principal who spoke; it is null for what was merged before merges told it. */
  actor: string | null;
  /** `label` says whether somebody else has witnessed what the elimination rests on, `cites` what that is. */
  label: "attested" | "witnessed";
  /** `label` says whether somebody else has witnessed what the elimination rests on, `cites` what that is. */
  cites: Array<Citation>;
  /** The session that the testimony came from; null if it was given here */
  merged_from?: string | null;
  /** `unsaid` is why a merged elimination has no `justification` here: it was nested too deep for a merge, policy keeps such texts beside the ledger, or merges did not tell it yet. */
  unsaid?: "too_deep" | "untold" | "withheld" | null;
};

/** A detector's verdict. `failed` says why there is none; the gate then defers. */
export type Threat = {
  /** Which detector said so, with its version */
  detector: string;
  /** The score */
  score?: number;
  /** Everything that set the detector off, strongest first */
  signals?: Array<Signal>;
  /** `failed` says why there is none; the gate then defers. */
  failed?: string | null;
};

/** Claims for which all of the given conditions hold have at least the tier `to`. `agents` are principals or agents that they pass claims on for, by id or all of a prefix; `words` stand in the statement as whole words, in whatever spelling. */
export type TierRaise = {
  /** Claims for which all of the given conditions hold have at least the tier `to`. */
  to: "DELETE" | "MODIFY" | "PRIVILEGE" | "READ_ONLY" | "WRITE_LIMITED";
  /** `agents` are principals or agents that they pass claims on for, by id or all of a prefix; `words` stand in the statement as whole words, in whatever spelling. */
  agents?: Array<string>;
  /** Types of claims that this is for */
  types?: Array<"DECISION" | "FACT" | "INFERENCE">;
  /** `agents` are principals or agents that they pass claims on for, by id or all of a prefix; `words` stand in the statement as whole words, in whatever spelling. */
  words?: Array<string>;
};

/** What is more dangerous here than it says of itself. No field lowers a tier. `tools` are the least tiers of tools, by id or all of a prefix such as `db.*`. `propositions` is the tier of a decision that changes the status of a proposition. */
export type TiersPolicy = {
  /** `tools` are the least tiers of tools, by id or all of a prefix such as `db.*`. */
  tools?: Record<string, "DELETE" | "MODIFY" | "PRIVILEGE" | "READ_ONLY" | "WRITE_LIMITED">;
  /** Which claims count as riskier than they say */
  raise?: Array<TierRaise>;
  /** `propositions` is the tier of a decision that changes the status of a proposition. */
  propositions?: "DELETE" | "MODIFY" | "PRIVILEGE" | "READ_ONLY" | "WRITE_LIMITED";
};

/** What is said of a token: all but its secret. `fingerprint` is the SHA-256 of the hash that the store keeps of the secret. So a row whose hash was exchanged is noticed, and nobody learns the hash from a ledger. `spaces` says what it may do in which space, as in `lab=read,propose ops=read`. */
export type TokenFacts = {
  /** Id of the token, which is no secret */
  token_id: string;
  /** Its name */
  name: string;
  /** What the principal may do by its role */
  role: Role;
  /** Risk tier: READ_ONLY, WRITE_LIMITED, MODIFY, DELETE or PRIVILEGE */
  tier: string;
  /** `fingerprint` is the SHA-256 of the hash that the store keeps of the secret. */
  fingerprint: string;
  /** The person to whom it belongs, so that nobody approves his own proposals */
  owner?: string;
  /** `spaces` says what it may do in which space, as in `lab=read,propose ops=read`. */
  spaces?: string;
};

/** Tokens, without their secrets. */
export type TokenList = {
  /** Tokens, without their secrets */
  tokens: Array<TokenView>;
};

/** A token was made. */
export type TokenMade = {
  /** Which of the shapes this is */
  kind: "token_made";
  /** The token */
  token: KnownToken;
  /** Hypotheses that fall, by their ids */
  eliminated?: Array<string>;
};

/** A token no longer opens anything. */
export type TokenRevoked = {
  /** Which of the shapes this is */
  kind: "token_revoked";
  /** The token */
  token: KnownToken;
  /** Hypotheses that fall, by their ids */
  eliminated?: Array<string>;
};

/** A token without its secret, which is not kept. `principal` is who speaks with it. */
export type TokenView = {
  /** Id of the token, which is no secret */
  token_id: string;
  /** Its name */
  name: string;
  /** `principal` is who speaks with it. */
  principal: string;
  /** The person to whom it belongs, so that nobody approves his own proposals */
  owner: string;
  /** What the principal may do by its role */
  role: Role;
  /** Risk tier: READ_ONLY, WRITE_LIMITED, MODIFY, DELETE or PRIVILEGE */
  tier: string;
  /** What the token may do, by space */
  spaces: Record<string, Array<Right>>;
  /** When it was made, in UTC */
  created_at: string;
  /** When it was revoked, in UTC; null if it was not */
  revoked_at?: string | null;
};

/** The tokens that were there before this ledger. */
export type TokensAdopted = {
  /** Which of the shapes this is */
  kind: "tokens_adopted";
  /** Tokens that were known before the ledger began */
  tokens: Array<KnownToken>;
  /** Hypotheses that fall, by their ids */
  eliminated?: Array<string>;
};

/** A tool call that was let through: the audited envelope around its execution. `files` is where its paths led when it was judged, `outcome` the event that told how it ended. `reserved` is what was set aside for it when it began. Calls without a `basis` are older than the rule that every call is judged again when it begins. A call with an `executor` is run by who proposed it: while it is running it is their permit, which ends at its `deadline`. What they then `reported` has the `label` that their word has. `qos` is the class that it waits in for its turn, `interactive` unless said. */
export type ToolCall = {
  /** Id of a tool call that was let through */
  call_id: string;
  /** Id of a tool */
  tool_id: string;
  /** Arguments of the call, as the tool's schema takes them */
  args: Record<string, unknown>;
  /** SHA-256 of the arguments with which it runs */
  args_hash: string;
  /** SHA-256 of the tool's definition */
  definition_hash: string;
  /** The principal whom it is for, or who acts */
  agent_id: string;
  /** The snapshot of the symbolic state that it was made on */
  state_snapshot_id: string;
  /** SHA-256 of the policy that it was decided under */
  policy_hash: string;
  /** When it was let through, in UTC */
  scheduled_at: string;
  /** A call with an `executor` is run by who proposed it: while it is running it is their permit, which ends at its `deadline`. */
  deadline: string;
  /** `files` is where its paths led when it was judged, `outcome` the event that told how it ended. */
  files?: Array<FileUse>;
  /** Id of a capability, under which an agent may call tools */
  capability_id?: string | null;
  /** The key under which the call happens once; null if it has none */
  idempotency_key?: string | null;
  /** How it stands */
  status?: "error" | "ok" | "running" | "scheduled" | "stopped" | "unknown";
  /** SHA-256 of the result */
  result_hash?: string | null;
  /** `files` is where its paths led when it was judged, `outcome` the event that told how it ended. */
  outcome?: string | null;
  /** Calls without a `basis` are older than the rule that every call is judged again when it begins. */
  basis?: Basis;
  /** `reserved` is what was set aside for it when it began. */
  reserved?: Amounts;
  /** A call with an `executor` is run by who proposed it: while it is running it is their permit, which ends at its `deadline`. */
  executor?: "caller";
  /** The key under which the call was announced beforehand; null if it was not */
  join_key?: string;
  /** Name of the tool server that this comes from */
  upstream?: string;
  /** Where it came from */
  provenance?: Provenance;
  /** What they then `reported` has the `label` that their word has. */
  reported?: Reported;
  /** What they then `reported` has the `label` that their word has. */
  label?: "attested" | "witnessed";
  /** `qos` is the class that it waits in for its turn, `interactive` unless said. */
  qos?: "background" | "interactive" | "maintenance";
};

/** A tool as declared. The `*_args` name the arguments that hold paths and addresses. `uses` is what is reserved for a call before it begins. Calls of a `concurrent` tool that changes nothing may run beside others of their proposal. A tool whose `executor` is its `caller` is run by whoever is let through with it, somewhere else, and the outcome is reported here. `shell_args` are arguments that a shell reads as commands there, `workspace_args` files that it writes there, `patch_args` patches that name such files. `network: false` says that no call of it ever reaches the network; one that does not say so is off where a mode has switched that off. */
export type ToolDefinition = {
  /** JSON Schema of the arguments */
  schema?: Record<string, unknown>;
  /** What the tool says of itself */
  description?: string;
  /** Capabilities */
  capabilities?: Array<string>;
  /** Risk tier: READ_ONLY, WRITE_LIMITED, MODIFY, DELETE or PRIVILEGE */
  tier?: "DELETE" | "MODIFY" | "PRIVILEGE" | "READ_ONLY" | "WRITE_LIMITED";
  /** Whether the tool changes something */
  mutates?: boolean;
  /** Arguments that name files to read */
  fs_read_args?: Array<string>;
  /** Arguments that name files to write */
  fs_write_args?: Array<string>;
  /** Arguments that name hosts or addresses */
  net_args?: Array<string>;
  /** How long it may take, in milliseconds */
  timeout_ms?: number;
  /** `uses` is what is reserved for a call before it begins. */
  uses?: Uses;
  /** Calls of a `concurrent` tool that changes nothing may run beside others of their proposal. */
  concurrent?: boolean;
  /** A tool whose `executor` is its `caller` is run by whoever is let through with it, somewhere else, and the outcome is reported here. */
  executor?: "caller";
  /** `shell_args` are arguments that a shell reads as commands there, `workspace_args` files that it writes there, `patch_args` patches that name such files. */
  shell_args?: Array<string>;
  /** `shell_args` are arguments that a shell reads as commands there, `workspace_args` files that it writes there, `patch_args` patches that name such files. */
  workspace_args?: Array<string>;
  /** `shell_args` are arguments that a shell reads as commands there, `workspace_args` files that it writes there, `patch_args` patches that name such files. */
  patch_args?: Array<string>;
  /** Whether it may reach the network */
  network?: boolean;
};

/** Tools that agents can ask for. */
export type ToolList = {
  /** Tools, by name or definition */
  tools: Array<ToolView>;
};

/** A tool as registered. `tier` is the one that counts, which policy may have raised. */
export type ToolView = {
  /** Id of a tool */
  tool_id: string;
  /** `tier` is the one that counts, which policy may have raised. */
  tier: "DELETE" | "MODIFY" | "PRIVILEGE" | "READ_ONLY" | "WRITE_LIMITED";
  /** The definition of the tool; null if there is none */
  definition: ToolDefinition;
  /** SHA-256 of the tool's definition */
  definition_hash: string;
};

/** What was seen first is pinned, what is offered otherwise waits; `restored` is as pinned again. */
export type ToolsPinned = {
  /** Which of the shapes this is */
  kind: "tools_pinned";
  /** Id of an event of the ledger; ids are ordered by time */
  event_id: string;
  /** Tools that were taken in as they are */
  pinned?: Array<Pinned>;
  /** What each tool server offers */
  offers?: Array<Offer>;
  /** What was seen first is pinned, what is offered otherwise waits; `restored` is as pinned again. */
  restored?: Array<string>;
  /** Hypotheses that fall, by their ids */
  eliminated?: Array<string>;
};

/** Something that named a hypothesis and did not eliminate it: what it was, by whom, and what it came to. `id` is that of the observation, the proposition, the experiment or the claim. */
export type Tried = {
  /** Which of the shapes this is */
  kind: "claim" | "elimination_refused" | "experiment" | "prediction";
  /** `id` is that of the observation, the proposition, the experiment or the claim. */
  id: string;
  /** Id of an event of the ledger; ids are ordered by time */
  event_id: string;
  /** Place of the event in its ledger, from 1 on */
  seq: number;
  /** When it was recorded, in UTC */
  ts: string;
  /** Who tried it */
  actor: string;
  /** What came of it */
  came_to: string;
  /** More about it, such as the `path` of the bad field */
  details: Record<string, unknown>;
};

/** What all evidence together warrants, worked out anew each time. It decides nothing. */
export type TruthAssertion = {
  /** The status that the evidence allows */
  warrants: "proven" | "refuted" | "speculative" | "supported" | "unresolved";
  /** Why it is warranted, in words */
  why: string;
  /** Evidence that speaks for it, by ids */
  supporting: Array<string>;
  /** Evidence that speaks against it, by ids */
  refuting: Array<string>;
};

/** How sure the agent says it is, and the receipt of a measurement, if there is one. `value` is declared: it may tighten an outcome, never loosen it, and what was measured never stands here. */
export type Uncertainty = {
  /** How uncertainty was measured */
  method: "confidence_score" | "conformal_set" | "model_disagreement" | "semantic_entropy";
  /** `value` is declared: it may tighten an outcome, never loosen it, and what was measured never stands here. */
  value?: number;
  /** What the number means, in words */
  interpretation?: string;
  /** What the gate should do, in the words of whoever measured it; it can only tighten */
  gate_recommendation?: "DEFER" | "EXECUTE" | "EXPLAIN" | "REFUSE";
  /** Id of a measurement of uncertainty */
  measurement_id?: string;
};

/** From where on uncertainty is told, and from where on a person is asked. `require` is whether it must have been measured, by whomever (`measured`) or by somebody else than who proposes (`witnessed`): in one word, or by tier, as in `evidence.require`. `missing` is what becomes of a claim that brings no measurement where one is required: it waits, or the server asks its own model first (`sample`). That nobody else has measured a claim is published with it, unless `unwitnessed` is `untold`. */
export type UncertaintyPolicy = {
  /** Above this a claim needs an explanation beside it */
  explain_above?: number;
  /** Above this it is put off */
  defer_above?: number;
  /** `require` is whether it must have been measured, by whomever (`measured`) or by somebody else than who proposes (`witnessed`): in one word, or by tier, as in `evidence.require`. */
  require?: "declared" | "measured" | "witnessed" | Record<string, MeasurementRule>;
  /** `missing` is what becomes of a claim that brings no measurement where one is required: it waits, or the server asks its own model first (`sample`). */
  missing?: "sample" | "wait";
  /** That nobody else has measured a claim is published with it, unless `unwitnessed` is `untold`. */
  unwitnessed?: "told" | "untold";
};

/** The same under another policy: the one in force, the one before, the defaults, or one given. */
export type Under = {
  /** Which policy this is */
  which: "against" | "before" | "defaults" | "in_force";
  /** SHA-256 of the policy that it was decided under */
  policy_hash: string;
  /** Whether it is let through, put off or denied */
  verdict: "allow" | "defer" | "deny";
  /** Why, as a code that never changes its meaning */
  reason_code: string;
  /** Why, one entry per constraint or finding */
  reasons?: Array<Reason>;
  /** Whether the outcome is another one there */
  differs?: boolean;
  /** When the policy came into force, in UTC; null if nobody has adopted one */
  adopted_at?: string;
  /** Who adopted the policy; null if nobody did */
  adopted_by?: string;
};

/** Of more than `limit` things that a bundle cites, those that were not looked at. */
export type Unread = {
  /** Of more than `limit` things that a bundle cites, those that were not looked at. */
  limit: number;
  /** Ids of the calls, or digests of the content */
  names: Array<string>;
};

/** Let a sealed session go on. */
export type UnsealSession = {
  /** Which command this is */
  verb?: "UNSEAL_SESSION";
  /** Why, in words */
  reason?: string;
  /** The one in the path, if any */
  session_id?: string;
};

/** What has been used of a budget. */
export type Used = {
  /** How many calls were made */
  calls?: number;
  /** Tokens of a model that were used */
  tokens?: number;
  /** Milliseconds of processor time */
  cpu_ms?: number;
  /** Bytes written to disk */
  disk_bytes?: number;
};

/** A decision that a constraint stood in the way of. */
export type UsedAt = {
  /** Id of a session; ids are ordered by time */
  session_id: string;
  /** Place of the event in its ledger, from 1 on */
  seq: number;
  /** Id of an event of the ledger; ids are ordered by time */
  event_id: string;
  /** When, in UTC */
  at: string;
};

/** Something that the session was told as the user's word, before it asked for a call. `text` is its beginning, `cut` if there is more of it; null where it is `erased`, or is not kept any more. `vouched` is false if it was not told by whom policy names. */
export type UserText = {
  /** Id of something that the session was told */
  context_id: string;
  /** Who told it */
  told_by: string;
  /** `text` is its beginning, `cut` if there is more of it; null where it is `erased`, or is not kept any more. */
  text: string | null;
  /** `text` is its beginning, `cut` if there is more of it; null where it is `erased`, or is not kept any more. */
  cut: boolean;
  /** `text` is its beginning, `cut` if there is more of it; null where it is `erased`, or is not kept any more. */
  erased: boolean;
  /** `vouched` is false if it was not told by whom policy names. */
  vouched: boolean;
};

/** The most that one call uses, as its tool declares it; None is what it does not say. */
export type Uses = {
  /** Tokens of a model that a call uses */
  tokens?: number | null;
  /** Milliseconds of processor time */
  cpu_ms?: number | null;
  /** Bytes written to disk */
  disk_bytes?: number | null;
};

/** One value to change: from `now` to `then`, either of which may be left out for none. `example`: others would do as well. `by` are the roles that may write such a key. */
export type ValueChange = {
  /** An argument, a value of the change, or a key of the state */
  where: "argument" | "patch" | "state";
  /** Where in the input this is, beginning at `$` */
  path: string;
  /** One value to change: from `now` to `then`, either of which may be left out for none. */
  now?: unknown;
  /** One value to change: from `now` to `then`, either of which may be left out for none. */
  then?: unknown;
  /** `example`: others would do as well. */
  example?: boolean;
  /** `by` are the roles that may write such a key. */
  by?: Array<string>;
};

/** One value of a call: the argument's name, the value (shortened), its origin and where that is. */
export type ValueFact = {
  /** Name of the argument that holds the value */
  argument: string;
  /** The value, shortened */
  value: string;
  /** Where the value came from: the user, a record, a text, or the model itself */
  origin: "directory" | "field" | "model" | "named_field" | "named_text" | "own" | "system" | "text" | "user" | "listed" | "model" | "named" | "own" | "queried" | "text" | "user";
  /** Where it stands, in words */
  where: string;
  /** What the value looks like: a word, an address, a link, an amount */
  shape?: string;
  /** Whether the value points outside, such as to another host or person */
  external?: boolean;
  /** How far the value can be trusted to be meant by the user */
  trust?: "field" | "foreign" | "refused" | "sole" | "trusted";
};

/** A vector by its digest. The event `event_id` holds the proposal that it came with. */
export type VectorRef = {
  /** SHA-256 over it */
  digest: string;
  /** How many numbers the vector has */
  dims: number;
  /** The event `event_id` holds the proposal that it came with. */
  event_id: string;
};

/** Whether a ledger holds, event by event. Of the parts that entries withhold, `erased` were erased as an event says; `absent` are neither erased nor here. Without them everything is recomputed but for what the door read in them. */
export type Verified = {
  /** Whether all events hold */
  ok: boolean;
  /** How many events were found to hold */
  checked: number;
  /** The first event that does not hold; null if all hold */
  first_bad: FirstBad | null;
  /** The newest event and its hash; null of a ledger without events */
  head: Head | null;
  /** Why nothing fell; empty if something did */
  withheld?: number;
  /** Of the parts that entries withhold, `erased` were erased as an event says; `absent` are neither erased nor here. */
  erased?: number;
  /** Of the parts that entries withhold, `erased` were erased as an event says; `absent` are neither erased nor here. */
  absent?: number;
};

/** A tool that cannot be called: it is `changed`, `new`, or a person has `rejected` what it is now. */
export type WaitingTool = {
  /** Its name */
  name: string;
  /** Id of an item of the inbox, `apr-` and the id of the event that opened it */
  approval_id: string;
  /** Why it waits: it is new, it has changed, or it was rejected before */
  what: "changed" | "new" | "rejected";
};

/** Why a hypothesis was eliminated, or why it still stands: who spoke against it, and what was `tried`. An answer holds some megabytes; `next` is the cursor of what follows in the ledger. What stands at or before the head of `foreign` was said elsewhere. */
export type Why = {
  /** Id of the hypothesis */
  hypothesis: string;
  /** Whether it still stands */
  survives: boolean;
  /** Eliminations of the hypothesis, oldest first, with source and reason */
  events: Array<Testimony>;
  /** Why a hypothesis was eliminated, or why it still stands: who spoke against it, and what was `tried`. */
  tried: Array<Tried>;
  /** An answer holds some megabytes; `next` is the cursor of what follows in the ledger. */
  next?: string | null;
  /** What stands at or before the head of `foreign` was said elsewhere. */
  foreign?: Foreign | null;
};

/** One event on the way to a status; `about` names the experiment, run, evidence, intent or approval. */
export type WhyStep = {
  /** Id of a session; ids are ordered by time */
  session_id: string;
  /** Place of the event in its ledger, from 1 on */
  seq: number;
  /** Id of an event of the ledger; ids are ordered by time */
  event_id: string;
  /** When it was recorded, in UTC */
  ts: string;
  /** Who did it */
  actor: string;
  /** The kind of the event */
  event: string;
  /** What happened, in words */
  said: string;
  /** One event on the way to a status; `about` names the experiment, run, evidence, intent or approval. */
  about: Record<string, string>;
  /** How it stands */
  status?: "proven" | "refuted" | "speculative" | "supported" | "unresolved" | null;
};

/** Take back what one proposed and nobody has decided yet. */
export type WithdrawApproval = {
  /** Which command this is */
  verb?: "WITHDRAW_APPROVAL";
  /** Id of an item of the inbox, `apr-` and the id of the event that opened it */
  approval_id?: string;
  /** Why, in words */
  reason?: string;
};

/** The estimate lies between the two. */
export type Within = {
  /** The form of the criterion */
  region: "interval";
  /** The lowest value */
  low: number;
  /** The highest value */
  high: number;
};

/** Whose eliminations to imagine away: of sources, of principals, or all that are attested. */
export type Without = {
  /** Sources to take away */
  source_ids?: Array<string>;
  /** Ids of principals, such as `agent://triage` */
  principals?: Array<string>;
  /** Whether to take away all that rests on somebody's word */
  attested?: boolean;
};

/** What an event bears witness to. `about` names the claim, the approval or the tool. `content` is a digest of what was seen: the same seen again, in another event, is nothing new. */
export type Witness = {
  /** Which of the shapes this is */
  kind: "call" | "person" | "run";
  /** `about` names the claim, the approval or the tool. */
  about: string;
  /** `content` is a digest of what was seen: the same seen again, in another event, is nothing new. */
  content: string;
};

/** Who else has signed a checkpoint, and when they saw it. */
export type Witnessed = {
  /** Key of the witness */
  key: string;
  /** When, in seconds since 1970 */
  at: number;
};

/** The folder that a caller runs its tools in, and the folders that are the user's project. */
export type Workspace = {
  /** The directory that the agent works in */
  cwd: string;
  /** Folders that belong to the project */
  roots?: Array<string>;
};

/** Who wrote a key last, with which event. */
export type Writing = {
  /** Id of an event of the ledger; ids are ordered by time */
  event_id: string;
  /** Place of the event in its ledger, from 1 on */
  seq: number;
  /** When, in UTC */
  at: string;
  /** Who did it */
  by: string;
  /** What the principal may do by its role */
  role: Role;
};

/** By operation: what it takes and what it answers. */
export interface Operations {
  /** Open a session over a fixed set of hypotheses */
  declare_session: {
    path: {  };
    query: {  };
    headers: { "Idempotency-Key"?: string; "Audit-Notes"?: string; };
    body: DeclareSession;
    answer: Declared;
  };
  /** Page through sessions, oldest first */
  list_sessions: {
    path: {  };
    query: { cursor?: string; limit?: number; space?: string; };
    headers: {  };
    body: undefined;
    answer: SessionPage;
  };
  /** The state now, or at a past event */
  query_belief: {
    path: { session_id: string; };
    query: { at?: number; survivors_after?: string; survivors_limit?: number; obligations_before?: string; conclusions_after?: string; };
    headers: { "If-None-Match"?: string; };
    body: undefined;
    answer: BeliefSnapshot;
  };
  /** Remove hypotheses that an observation contradicts */
  eliminate: {
    path: { session_id: string; };
    query: {  };
    headers: { "If-Match"?: string; "Idempotency-Key"?: string; "Audit-Notes"?: string; };
    body: Eliminate;
    answer: Eliminated;
  };
  /** Promise eliminations before concluding */
  enter_obligation: {
    path: { session_id: string; };
    query: {  };
    headers: { "If-Match"?: string; "Idempotency-Key"?: string; "Audit-Notes"?: string; };
    body: EnterObligation;
    answer: Recorded;
  };
  /** Ask to be released from an obligation */
  request_exit: {
    path: { session_id: string; obligation_id: string; };
    query: {  };
    headers: { "If-Match"?: string; "Idempotency-Key"?: string; "Audit-Notes"?: string; };
    body: RequestExit | undefined;
    answer: Ruled;
  };
  /** State what the session has come to */
  declare_conclusion: {
    path: { session_id: string; };
    query: {  };
    headers: { "If-Match"?: string; "Idempotency-Key"?: string; "Audit-Notes"?: string; };
    body: DeclareConclusion;
    answer: Concluded;
  };
  /** Ask to close the session for good */
  request_termination: {
    path: { session_id: string; };
    query: {  };
    headers: { "If-Match"?: string; "Idempotency-Key"?: string; "Audit-Notes"?: string; };
    body: RequestTermination | undefined;
    answer: Ruled;
  };
  /** Many verbs, one per line, answered in order */
  batch: {
    path: { session_id: string; };
    query: {  };
    headers: {  };
    body: string | undefined;
    answer: string;
  };
  /** The ledger, entry by entry */
  audit_trace: {
    path: { session_id: string; };
    query: { limit?: number; since_event_id?: string; after?: number; };
    headers: {  };
    body: undefined;
    answer: AuditPage;
  };
  /** Search the ledgers of all sessions that the caller may see: by who, by tool, by time, by words */
  search_audit: {
    path: {  };
    query: { cursor?: string; limit?: number; session?: string; actor?: string; tool?: string; verb?: string; text?: string; since?: string; until?: string; space?: string; };
    headers: {  };
    body: undefined;
    answer: AuditFound;
  };
  /** Recompute the whole chain and name the first bad event */
  verify: {
    path: { session_id: string; };
    query: {  };
    headers: {  };
    body: undefined;
    answer: Verified;
  };
  /** The ledger as JSON Lines, ready for any verifier */
  export: {
    path: { session_id: string; };
    query: { parts?: "kept"; };
    headers: {  };
    body: undefined;
    answer: string;
  };
  /** Live feed of entries; resumes from Last-Event-ID */
  events: {
    path: { session_id: string; };
    query: {  };
    headers: { "Last-Event-ID"?: number; };
    body: undefined;
    answer: string;
  };
  /** Which observations spoke against a hypothesis, and what else was tried on it */
  why: {
    path: { session_id: string; hypothesis: string; };
    query: { cursor?: string; limit?: number; source_id?: string; principal?: string; };
    headers: {  };
    body: undefined;
    answer: Why;
  };
  /** What would survive had some sources or principals never spoken */
  counterfactual: {
    path: { session_id: string; };
    query: {  };
    headers: {  };
    body: AskCounterfactual;
    answer: Counterfactual;
  };
  /** Take over the eliminations of a replica that was apart */
  merge: {
    path: { session_id: string; };
    query: {  };
    headers: { "Audit-Notes"?: string; };
    body: string;
    answer: Eliminated;
  };
  /** Verify an exported ledger and take it in */
  import_ledger: {
    path: {  };
    query: { source?: string; space?: string; };
    headers: {  };
    body: string;
    answer: Imported;
  };
  /** How long the log is, what is covered, and the keys that sign it */
  log_state: {
    path: {  };
    query: {  };
    headers: {  };
    body: undefined;
    answer: LogView;
  };
  /** The newest signed checkpoint; with required witnesses, the newest that they have cosigned */
  log_checkpoint: {
    path: {  };
    query: {  };
    headers: {  };
    body: undefined;
    answer: CheckpointView;
  };
  /** Sign a checkpoint over everything that was recorded until now */
  sign_checkpoint: {
    path: {  };
    query: {  };
    headers: {  };
    body: SignCheckpoint | undefined;
    answer: CheckpointView;
  };
  /** A proof that the log has only been added to between two sizes */
  log_consistency: {
    path: {  };
    query: { from?: number; to?: number; };
    headers: {  };
    body: undefined;
    answer: ConsistencyProof;
  };
  /** A proof that an event, and all before it in its session, are in the log */
  audit_proof: {
    path: { session_id: string; };
    query: { event_id?: string; size?: number; };
    headers: {  };
    body: undefined;
    answer: InclusionProof;
  };
  /** Add the signatures of witnesses to a checkpoint of this log */
  add_cosignatures: {
    path: {  };
    query: {  };
    headers: {  };
    body: Cosign;
    answer: CheckpointView;
  };
  /** Let nothing more be written into a session, so that it can be archived */
  seal_session: {
    path: { session_id: string; };
    query: {  };
    headers: { "If-Match"?: string; "Idempotency-Key"?: string; "Audit-Notes"?: string; };
    body: SealSession | undefined;
    answer: Recorded;
  };
  /** Let a sealed session go on */
  unseal_session: {
    path: { session_id: string; };
    query: {  };
    headers: { "If-Match"?: string; "Idempotency-Key"?: string; "Audit-Notes"?: string; };
    body: UnsealSession | undefined;
    answer: Recorded;
  };
  /** Take a sealed ledger out of the store, after its export was kept elsewhere */
  archive_session: {
    path: { session_id: string; };
    query: {  };
    headers: {  };
    body: ArchiveSession;
    answer: ArchivedSession;
  };
  /** Put an archived ledger back, if it is the one that was taken out */
  unarchive_session: {
    path: { session_id: string; };
    query: { place?: string; };
    headers: {  };
    body: string;
    answer: BroughtBack;
  };
  /** Put a bundle of claims before the five gates */
  submit_claims: {
    path: { session_id: string; };
    query: {  };
    headers: { "If-Match"?: string; "Idempotency-Key"?: string; "Audit-Notes"?: string; };
    body: SubmittedBundle;
    answer: JudgedBundle;
  };
  /** The bundles of a session, by id */
  list_claims: {
    path: { session_id: string; };
    query: { at?: number; cursor?: string; limit?: number; };
    headers: {  };
    body: undefined;
    answer: BundlePage;
  };
  /** One bundle as it was last judged */
  show_claims: {
    path: { session_id: string; bundle_id: string; };
    query: { at?: number; };
    headers: {  };
    body: undefined;
    answer: JudgedBundle;
  };
  /** Take back claims that were published */
  retract_claims: {
    path: { session_id: string; };
    query: {  };
    headers: { "If-Match"?: string; "Idempotency-Key"?: string; "Audit-Notes"?: string; };
    body: RetractClaims;
    answer: RetractedClaims;
  };
  /** What the gates would say, without a session and without a record */
  check_claims: {
    path: {  };
    query: {  };
    headers: {  };
    body: SubmittedBundle;
    answer: JudgedBundle;
  };
  /** Keep evidence content under its SHA-256, so that gates can hash it again */
  store_content: {
    path: {  };
    query: { space?: string; };
    headers: {  };
    body: string;
    answer: StoredContent;
  };
  /** Content, byte for byte, hashed again on its way out; a file to keep, never a page to show */
  read_content: {
    path: { sha256: string; };
    query: {  };
    headers: { "If-None-Match"?: string; };
    body: undefined;
    answer: string;
  };
  /** How large content is, and who brought it when */
  show_content: {
    path: { sha256: string; };
    query: {  };
    headers: {  };
    body: undefined;
    answer: ContentView;
  };
  /** Erase texts and content that a session mentions by digest; its ledger still verifies */
  erase: {
    path: { session_id: string; };
    query: {  };
    headers: { "Audit-Notes"?: string; };
    body: ErasureRequest;
    answer: ErasureAnswer;
  };
  /** What entries of a session withhold, with what it says as long as that is kept */
  list_parts: {
    path: { session_id: string; };
    query: { cursor?: string; limit?: number; };
    headers: {  };
    body: undefined;
    answer: PartPage;
  };
  /** The inbox: what waits for a person, over all sessions */
  list_approvals: {
    path: {  };
    query: { cursor?: string; limit?: number; status?: "approved" | "deferred" | "information" | "modified" | "pending" | "rejected" | "seen" | "superseded" | "timed_out" | "withdrawn"; tier?: "DELETE" | "MODIFY" | "PRIVILEGE" | "READ_ONLY" | "WRITE_LIMITED"; agent?: string; session_id?: string; kind?: "bundle" | "call" | "definition" | "delta" | "information" | "intent"; space?: string; };
    headers: {  };
    body: undefined;
    answer: Inbox;
  };
  /** One item of the inbox; with `wait`, once it is decided or that time is over */
  show_approval: {
    path: { approval_id: string; };
    query: { at?: number; wait?: number; };
    headers: {  };
    body: undefined;
    answer: ApprovalCard;
  };
  /** Live feed of what changes from now on, over all sessions: in the inbox, or anywhere */
  follow_inbox: {
    path: {  };
    query: { space?: string; changes?: "all" | "approvals"; };
    headers: { "Last-Event-ID"?: number; };
    body: undefined;
    answer: string;
  };
  /** Approve, reject or edit exactly what was looked at */
  decide_approval: {
    path: { approval_id: string; };
    query: {  };
    headers: { "If-Match"?: string; "Idempotency-Key"?: string; "Audit-Notes"?: string; };
    body: DecideApproval;
    answer: DecidedApproval;
  };
  /** Take back what one proposed */
  withdraw_approval: {
    path: { approval_id: string; };
    query: {  };
    headers: { "If-Match"?: string; "Idempotency-Key"?: string; "Audit-Notes"?: string; };
    body: WithdrawApproval | undefined;
    answer: ApprovalCard;
  };
  /** Consent in advance, up to MODIFY */
  give_grant: {
    path: { session_id: string; };
    query: {  };
    headers: { "If-Match"?: string; "Idempotency-Key"?: string; "Audit-Notes"?: string; };
    body: GiveGrant;
    answer: GrantAnswer;
  };
  /** Standing grants */
  list_grants: {
    path: { session_id: string; };
    query: {  };
    headers: {  };
    body: undefined;
    answer: Grants;
  };
  /** End a standing grant at once */
  revoke_grant: {
    path: { session_id: string; grant_id: string; };
    query: {  };
    headers: { "If-Match"?: string; "Idempotency-Key"?: string; "Audit-Notes"?: string; };
    body: undefined;
    answer: GrantAnswer;
  };
  /** The policy in force and its hash */
  show_policy: {
    path: {  };
    query: {  };
    headers: {  };
    body: undefined;
    answer: PolicyAnswer;
  };
  /** Decide under another policy from now on */
  adopt_policy: {
    path: {  };
    query: {  };
    headers: {  };
    body: Policy | undefined;
    answer: PolicyAnswer;
  };
  /** What is the matter with the rules in force, and which of them have stood in the way */
  review_policy: {
    path: {  };
    query: { space?: string; };
    headers: {  };
    body: undefined;
    answer: PolicyReview;
  };
  /** Why a call or a change is decided as it is, and what would make it pass */
  explain_policy: {
    path: {  };
    query: {  };
    headers: {  };
    body: ExplainPolicy | undefined;
    answer: PolicyExplanation;
  };
  /** What another policy would have decided */
  backtest_policy: {
    path: {  };
    query: {  };
    headers: {  };
    body: AskBacktest;
    answer: Backtest;
  };
  /** Prove something of a policy for all calls, or find a call that shows the opposite */
  prove_policy: {
    path: {  };
    query: {  };
    headers: {  };
    body: ProvePolicy | undefined;
    answer: ProofAnswer;
  };
  /** The spaces that the caller may see, by name */
  list_spaces: {
    path: {  };
    query: {  };
    headers: {  };
    body: undefined;
    answer: SpaceList;
  };
  /** Make a space of its own for sessions and content */
  create_space: {
    path: {  };
    query: {  };
    headers: {  };
    body: CreateSpace;
    answer: SpaceView;
  };
  /** Everybody who has or had a token, oldest first */
  list_tokens: {
    path: {  };
    query: {  };
    headers: {  };
    body: undefined;
    answer: TokenList;
  };
  /** Make a token; its secret is shown once */
  create_token: {
    path: {  };
    query: {  };
    headers: {  };
    body: CreateToken;
    answer: CreatedToken;
  };
  /** Revoke a token; every server on the store notices within a second */
  revoke_token: {
    path: { token_id: string; };
    query: {  };
    headers: {  };
    body: undefined;
    answer: TokenView;
  };
  /** The symbolic state, now or at a past snapshot */
  show_state: {
    path: { session_id: string; };
    query: { at?: string; };
    headers: {  };
    body: undefined;
    answer: StateAnswer;
  };
  /** Arbitrate state changes and tool calls; what is allowed happens, nothing else does */
  propose: {
    path: { session_id: string; };
    query: {  };
    headers: { "If-Match"?: string; "Idempotency-Key"?: string; "Audit-Notes"?: string; };
    body: ProposalRequest;
    answer: ProposalAnswer;
  };
  /** A call that was let through */
  show_call: {
    path: { session_id: string; call_id: string; };
    query: {  };
    headers: {  };
    body: undefined;
    answer: CallView;
  };
  /** Begin a call that was approved and that its caller runs; answered with its permit, once */
  begin_call: {
    path: { session_id: string; call_id: string; };
    query: {  };
    headers: { "If-Match"?: string; "Idempotency-Key"?: string; "Audit-Notes"?: string; };
    body: StartCall | undefined;
    answer: CandidateAnswer;
  };
  /** Report what came of a call that its caller ran */
  report_outcome: {
    path: { session_id: string; call_id: string; };
    query: {  };
    headers: { "If-Match"?: string; "Idempotency-Key"?: string; "Audit-Notes"?: string; };
    body: OutcomeRequest;
    answer: ReportedOutcome;
  };
  /** Tools and their schemas */
  list_tools: {
    path: {  };
    query: {  };
    headers: {  };
    body: undefined;
    answer: ToolList;
  };
  /** Give an agent a capability, or narrow one down */
  issue_capability: {
    path: {  };
    query: {  };
    headers: { "Audit-Notes"?: string; };
    body: CapabilityRequest;
    answer: IssuedCapability;
  };
  /** The capabilities of a session, with what is left of them */
  list_capabilities: {
    path: { session_id: string; };
    query: { cursor?: string; limit?: number; };
    headers: {  };
    body: undefined;
    answer: CapabilityPage;
  };
  /** What a capability allows and how much of it is used */
  show_capability: {
    path: { session_id: string; capability_id: string; };
    query: {  };
    headers: {  };
    body: undefined;
    answer: CapabilityView;
  };
  /** End a capability and all that came out of it */
  revoke_capability: {
    path: { capability_id: string; };
    query: {  };
    headers: { "Audit-Notes"?: string; };
    body: undefined;
    answer: RevokedCapability;
  };
  /** Take an entry into memory, if it is what it says it is */
  remember: {
    path: { session_id: string; };
    query: {  };
    headers: { "If-Match"?: string; "Idempotency-Key"?: string; "Audit-Notes"?: string; };
    body: MemoryEntry;
    answer: MemoryAnswer;
  };
  /** Memory entries with their class */
  list_memory: {
    path: { session_id: string; };
    query: { show?: "live" | "review"; };
    headers: {  };
    body: undefined;
    answer: MemoryPage;
  };
  /** The mode, what interrupts the session, and its episode */
  show_schedule: {
    path: { session_id: string; };
    query: {  };
    headers: {  };
    body: undefined;
    answer: ScheduleView;
  };
  /** Set the mode of a session; programs can only lower it */
  set_mode: {
    path: { session_id: string; };
    query: {  };
    headers: { "If-Match"?: string; "Idempotency-Key"?: string; "Audit-Notes"?: string; };
    body: SetMode;
    answer: ScheduleAnswer;
  };
  /** Stop a session: nothing is let through until it is resumed */
  interrupt: {
    path: { session_id: string; };
    query: {  };
    headers: { "If-Match"?: string; "Idempotency-Key"?: string; "Audit-Notes"?: string; };
    body: Interrupt;
    answer: InterruptAnswer;
  };
  /** Let an interrupted session go on; in a new episode, if a person says so */
  resume: {
    path: { session_id: string; };
    query: {  };
    headers: { "If-Match"?: string; "Idempotency-Key"?: string; "Audit-Notes"?: string; };
    body: Resume;
    answer: ScheduleAnswer;
  };
  /** Tell what the agent was told, what a tool gave back, or which call is about to be made */
  add_context: {
    path: { session_id: string; };
    query: {  };
    headers: { "If-Match"?: string; "Idempotency-Key"?: string; "Audit-Notes"?: string; };
    body: ContextRequest;
    answer: ContextAnswer;
  };
  /** What a session was told, by digest */
  list_context: {
    path: { session_id: string; };
    query: { cursor?: string; limit?: number; };
    headers: {  };
    body: undefined;
    answer: ContextPage;
  };
  /** The session from which a call with this key was announced, by the caller's own owner, minutes ago */
  show_join: {
    path: { join_key: string; };
    query: {  };
    headers: {  };
    body: undefined;
    answer: JoinAnswer;
  };
  /** Judge an event of an agent's client, and say what its hook is to answer */
  hook_event: {
    path: { client: string; };
    query: { space?: string; project?: string; gated?: string; url?: string; unattended?: "no" | "yes"; };
    headers: {  };
    body: ClientEvent | undefined;
    answer: HookAnswer;
  };
  /** Pin what is new in a catalogue; what changed waits for a person, and cannot be called */
  pin_tools: {
    path: { upstream: string; };
    query: {  };
    headers: { "Audit-Notes"?: string; };
    body: CatalogueRequest;
    answer: OfferedTools;
  };
  /** The pinned tools of a catalogue, and those that wait for a person */
  show_catalogue: {
    path: { upstream: string; };
    query: { space?: string; };
    headers: {  };
    body: undefined;
    answer: CatalogueView;
  };
  /** Note alternatives to a claim, in the speculative lane */
  speculate: {
    path: { session_id: string; };
    query: {  };
    headers: { "If-Match"?: string; "Idempotency-Key"?: string; "Audit-Notes"?: string; };
    body: SpeculationRequest;
    answer: SpeculationAnswer;
  };
  /** The speculative hypotheses of a session */
  list_hypotheses: {
    path: { session_id: string; };
    query: { claim_id?: string; cursor?: string; limit?: number; };
    headers: {  };
    body: undefined;
    answer: HypothesisPage;
  };
  /** Take values out of a recorded result or stored content, or type them */
  observe: {
    path: { session_id: string; };
    query: {  };
    headers: { "If-Match"?: string; "Idempotency-Key"?: string; "Audit-Notes"?: string; };
    body: Observe;
    answer: ObservationView;
  };
  /** The observations of a session */
  list_observations: {
    path: { session_id: string; };
    query: { cursor?: string; limit?: number; };
    headers: {  };
    body: undefined;
    answer: ObservationPage;
  };
  /** One observation with its values */
  show_observation: {
    path: { session_id: string; observation_id: string; };
    query: {  };
    headers: {  };
    body: undefined;
    answer: ObservationView;
  };
  /** Measure how uncertain a statement is, and keep a receipt that claims can cite */
  measure: {
    path: { session_id: string; };
    query: {  };
    headers: { "If-Match"?: string; "Idempotency-Key"?: string; "Audit-Notes"?: string; };
    body: Measure;
    answer: MeasurementView;
  };
  /** The receipts of a session */
  list_measurements: {
    path: { session_id: string; };
    query: { cursor?: string; limit?: number; };
    headers: {  };
    body: undefined;
    answer: MeasurementPage;
  };
  /** One receipt with its answers */
  show_measurement: {
    path: { session_id: string; measurement_id: string; };
    query: {  };
    headers: {  };
    body: undefined;
    answer: MeasurementView;
  };
  /** Freeze the plan of an experiment, whole or designed from a claim */
  design_experiment: {
    path: { session_id: string; };
    query: {  };
    headers: { "If-Match"?: string; "Idempotency-Key"?: string; "Audit-Notes"?: string; };
    body: DesignRequest | undefined;
    answer: ExperimentView;
  };
  /** The experiments of a session */
  list_experiments: {
    path: { session_id: string; };
    query: { claim_id?: string; cursor?: string; limit?: number; };
    headers: {  };
    body: undefined;
    answer: ExperimentPage;
  };
  /** One experiment: its plan, its run, how far that has come */
  show_experiment: {
    path: { session_id: string; experiment_id: string; };
    query: {  };
    headers: {  };
    body: undefined;
    answer: ExperimentView;
  };
  /** Carry an experiment out; completed, it mints evidence */
  run_experiment: {
    path: { session_id: string; experiment_id: string; };
    query: {  };
    headers: { "If-Match"?: string; "Idempotency-Key"?: string; "Audit-Notes"?: string; };
    body: RunRequest | undefined;
    answer: ExperimentView;
  };
  /** Stop a run that this server is making */
  cancel_experiment: {
    path: { session_id: string; experiment_id: string; };
    query: {  };
    headers: {  };
    body: undefined;
    answer: ExperimentView;
  };
  /** Make a recorded run again and compare its hash; nothing is written */
  reproduce_experiment: {
    path: { session_id: string; experiment_id: string; };
    query: {  };
    headers: {  };
    body: ReproduceRequest | undefined;
    answer: Reproduced;
  };
  /** Say what the evidence of a run is to its claim, and let fall what its plan had named */
  link_evidence: {
    path: { session_id: string; };
    query: {  };
    headers: { "If-Match"?: string; "Idempotency-Key"?: string; "Audit-Notes"?: string; };
    body: EvidenceRequest;
    answer: LinkedEvidence;
  };
  /** The evidence that runs of this session have minted */
  list_evidence: {
    path: { session_id: string; };
    query: { claim_id?: string; cursor?: string; limit?: number; };
    headers: {  };
    body: undefined;
    answer: EvidencePage;
  };
  /** Which of many tested claims can be believed together */
  list_discoveries: {
    path: { session_id: string; };
    query: {  };
    headers: {  };
    body: undefined;
    answer: Discoveries;
  };
  /** Ask for a change of what is believed */
  stage_intent: {
    path: { session_id: string; };
    query: {  };
    headers: { "If-Match"?: string; "Idempotency-Key"?: string; "Audit-Notes"?: string; };
    body: IntentRequest;
    answer: IntentView;
  };
  /** The write intents of a session */
  list_intents: {
    path: { session_id: string; };
    query: { claim_id?: string; cursor?: string; limit?: number; };
    headers: {  };
    body: undefined;
    answer: IntentPage;
  };
  /** One write intent and its life so far */
  show_intent: {
    path: { session_id: string; intent_id: string; };
    query: {  };
    headers: {  };
    body: undefined;
    answer: IntentView;
  };
  /** Propositions of all sessions with their epistemic status, by id */
  list_propositions: {
    path: {  };
    query: { cursor?: string; limit?: number; status?: "proven" | "refuted" | "speculative" | "supported" | "unresolved"; space?: string; };
    headers: {  };
    body: undefined;
    answer: PropositionPage;
  };
  /** One proposition over all sessions, with its evidence and intents */
  show_proposition: {
    path: { claim_id: string; };
    query: {  };
    headers: {  };
    body: undefined;
    answer: PropositionView;
  };
  /** The events that led to its status: experiment, run, evidence, intent, approval */
  why_proposition: {
    path: { claim_id: string; };
    query: { cursor?: string; };
    headers: {  };
    body: undefined;
    answer: PropositionWhy;
  };
  /** How many meanings sampled answers have */
  measure_semantic_entropy: {
    path: {  };
    query: {  };
    headers: {  };
    body: MeasureSemanticEntropy;
    answer: MeasuredUncertainty;
  };
  /** How far the answers of several models are apart */
  measure_model_disagreement: {
    path: {  };
    query: {  };
    headers: {  };
    body: MeasureModelDisagreement;
    answer: MeasuredUncertainty;
  };
  /** What a confidence is worth, calibrated if labelled answers are given */
  measure_confidence: {
    path: {  };
    query: {  };
    headers: {  };
    body: MeasureConfidence | undefined;
    answer: MeasuredUncertainty;
  };
  /** Which labels cannot be ruled out, with coverage that holds for finite samples */
  measure_conformal_set: {
    path: {  };
    query: {  };
    headers: {  };
    body: MeasureConformalSet;
    answer: MeasuredUncertainty;
  };
  /** Keep a calibration set under a name, in place of the one before */
  store_calibration: {
    path: { name: string; };
    query: {  };
    headers: {  };
    body: StoreCalibration;
    answer: CalibrationAnswer;
  };
  /** Add to a calibration set, and be warned if what is added looks different */
  append_calibration: {
    path: { name: string; };
    query: {  };
    headers: {  };
    body: AppendCalibration | undefined;
    answer: CalibrationAnswer;
  };
  /** What a calibration set is about, and how small an alpha it allows */
  show_calibration: {
    path: { name: string; };
    query: { version?: number; };
    headers: {  };
    body: undefined;
    answer: CalibrationAnswer;
  };
  /** Does the process answer? */
  health: {
    path: {  };
    query: {  };
    headers: {  };
    body: undefined;
    answer: Health;
  };
  /** Would the store take a write? */
  ready: {
    path: {  };
    query: {  };
    headers: {  };
    body: undefined;
    answer: Health;
  };
  /** Counters and latencies */
  metrics: {
    path: {  };
    query: {  };
    headers: {  };
    body: undefined;
    answer: string;
  };
  /** This document */
  openapi: {
    path: {  };
    query: {  };
    headers: {  };
    body: undefined;
    answer: Record<string, unknown>;
  };
}
