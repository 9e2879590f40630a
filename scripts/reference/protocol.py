"""Operations, verbs, events and errors: what crosses the wire and what is recorded."""

from typing import Any, Final

from msgspec import inspect
from scripts.reference.types import fields, sections, sentence, struct, table, values_in, words

from beliefd.cli.output import exit_of
from beliefd.kernel.claims.commands import SubmitClaims
from beliefd.kernel.commands import Command
from beliefd.kernel.errors import BeliefdError, Code
from beliefd.kernel.events import Event
from beliefd.kernel.substrate.commands import Propose
from beliefd.kernel.values import Role
from beliefd.ledger.envelope import Entry
from beliefd.ledger.state_hash import STATE_HASH_EVERY
from beliefd.protocol.operations import OPERATIONS, Operation
from beliefd.protocol.statuses import STATUS

SERVER_PAGES: Final = {
    "/healthz": "The process answers. Needs no token and asks no store.",
    "/readyz": "The store would take a write; `503` with `STORAGE_UNAVAILABLE` if not. Needs no token.",
    "/metrics": "[Metrics](metrics.md) in Prometheus' text format. Where there are tokens, it needs one that"
    " may read every space.",
    "/openapi.json": "This surface as OpenAPI 3.1; the same document is in `api/openapi.yaml`.",
}
MEANINGS: Final[dict[Code, str]] = {
    Code.SESSION_NOT_FOUND: "No session has this id.",
    Code.SESSION_SEALED: "Nothing may be written into a sealed session. An admin can unseal it. Who tried is"
    " on record in the server's own ledger.",
    Code.SESSION_ARCHIVED: "The session's ledger is kept elsewhere: `details` has `place`, `events`, `head`,"
    " `file_sha256`, `archived_at` and `archived_by`. `beliefd store unarchive` brings it back.",
    Code.ARCHIVE_INVALID: "A file is not the ledger that was taken out of the store, or that is to be taken"
    " out: damaged, cut, or of another session. The message names the event. Nothing was changed.",
    Code.SESSION_TERMINATED: "The session is closed for good. The refusal is recorded in its ledger.",
    Code.INVALID_HYPOTHESIS_ID: "An id was not declared in this session; `details.hypotheses` names it.",
    Code.OBLIGATION_NOT_FOUND: "No obligation of this id was ever entered in this session.",
    Code.APPROVAL_NOT_FOUND: "No item of the inbox has this id.",
    Code.BUNDLE_NOT_FOUND: "No bundle of this id was submitted in this session.",
    Code.OBSERVATION_NOT_FOUND: "No observation of this id was taken in this session.",
    Code.MEASUREMENT_NOT_FOUND: "No measurement of this id was made in this session.",
    Code.EXPERIMENT_NOT_FOUND: "No experiment of this id was accepted in this session.",
    Code.RUN_NOT_FOUND: "No run of this id is in this session's ledger. A caller cannot supply its outcome.",
    Code.EVIDENCE_NOT_FOUND: "No evidence of this id exists in this session.",
    Code.INTENT_NOT_FOUND: "No write intent of this id was staged in this session.",
    Code.PROPOSITION_NOT_FOUND: "There is no proposition for this claim.",
    Code.CONTENT_NOT_FOUND: "No content is stored under this SHA-256.",
    Code.CONTENT_DAMAGED: "What is stored under this SHA-256 has another hash, and is not given out.",
    Code.CONTENT_ERASED: "Somebody had this content erased. It is gone, and is not taken in again.",
    Code.QUOTA_EXCEEDED: "There is no room for this, and waiting makes none. `details.reason` is `content` if"
    " the principal would have brought more than policy allows (`content`), and `session_bytes` if the state"
    " of the session, or what this principal made of it, is as large as it may be: eliminations, and what"
    " takes back, ends or tightens, are taken all the same; or the session has as many items of context as"
    " it takes. Nothing was stored.",
    Code.RATE_LIMITED: "This principal has too much under way, asks too often, or writes too much."
    " `details.reason` names the limit; `Retry-After` and `details.retry_after` say in how many seconds to"
    " try again.",
    Code.TOO_BUSY: "The server has no room for this now, whoever asks. `Retry-After` says when to try again.",
    Code.TIMED_OUT: "The work took longer than such work may, and was given up. Ask for less at once.",
    Code.MISSING_CLAIM_ID: "Evidence names no claim under `claim_id`, `claim-id` or `proposition_id`; an id"
    " of anything else cannot replace it.",
    Code.SPECULATIVE_EVIDENCE: "What should become evidence contains speculation; `details.path` says where.",
    Code.SPECULATIVE_RESIDUE: "An experiment's plan contains words of the speculation that informed it;"
    " `details.path` says where.",
    Code.SPECULATIVE_PROPOSAL: "A proposed change of status contains or rests on speculation; `details.path`"
    " says where.",
    Code.SPECULATIVE_ASSERTION: "A truth assertion contains or rests on speculation; `details.path` says"
    " where.",
    Code.HYPOTHESIS_IS_NOT_EVIDENCE: "Something rests on an id of the speculative lane, or is named like"
    " one (`shyp-`, `sclm-`). Only the run of an experiment creates evidence.",
    Code.NOT_WARRANTED: "The evidence does not warrant the status or the role that was requested;"
    " `details` says what it warrants.",
    Code.CONFLICT: "Something else happened first: the head moved past `If-Match`, an `Idempotency-Key` was"
    " used for another request, an obligation is active already, a session exists already, somebody else"
    " has decided.",
    Code.INVALID_REQUEST: "The request cannot be read as a command; `details.path` names the bad field."
    " Nothing is recorded, unless `details.audit_event_id` says otherwise.",
    Code.PAYLOAD_TOO_LARGE: "The body or the head is larger than `details.limit` bytes, or what"
    " it asks to keep in memory is.",
    Code.UNSUPPORTED_MEDIA_TYPE: "The media type of the body is not the one that the operation takes.",
    Code.UNAUTHORIZED: "There is no token, or the server does not know it, or it was revoked.",
    Code.FORBIDDEN: "This principal may not do that, or the request comes from a foreign web page.",
    Code.NOT_FOUND: "No such path.",
    Code.METHOD_NOT_ALLOWED: "The method is not offered at this path; `Allow` lists those that are.",
    Code.LEDGER_BROKEN: "A ledger does not verify; `details` name the first bad event and why.",
    Code.NOT_COVERED: "The event is not covered by the checkpoint yet: it was recorded after it was signed.",
    Code.CHECKPOINT_FORGED: "A checkpoint is not signed by a trusted key, or its signature is forged.",
    Code.PROOF_INVALID: "A proof does not show what it should: it is for another size, another event, or"
    " damaged.",
    Code.SPLIT_VIEW: "Two signed checkpoints belong to different histories. At least one of them was shown to"
    " somebody else than the other. Keep both: together they prove it.",
    Code.LOG_ROLLED_BACK: "The log knows less than a checkpoint that was signed before: its store was put"
    " back, or is another one.",
    Code.LOG_KEY_UNKNOWN: "The key that the log is signed with is not here, or none was given. Nothing is"
    " signed with another one until `beliefd log key rotate` says so.",
    Code.WITNESS_MISSING: "A witness that is required has not cosigned the checkpoint.",
    Code.STORAGE_UNAVAILABLE: "The store cannot write or read right now, or the server cannot be reached."
    " The message says whether something may have been written.",
    Code.INTERNAL: "A defect. It is in the server's log.",
}
ENVELOPE: Final = {
    "actor": "The principal: id, role and tier, from the token.",
    "delta": "What was decided: one of the events below.",
    "facts": "What was looked up before the decision: threats, whether content has its hash, rates.",
    "event_id": "Id of this entry, time-ordered (UUID 7).",
    "notes": "Reserved for text about the entry.",
    "payload": "The command as it was sent.",
    "policy_hash": "The policy that it was decided under.",
    "prev_hash": "Hash of the entry before; in the first entry, of the session's genesis.",
    "protocol": "Version of this format.",
    "seq": "Position in the ledger, from 1.",
    "session_id": "The ledger it belongs to.",
    "state_hash": f"Hash of the whole state after it; on every {STATE_HASH_EVERY}th entry only.",
    "survivors_after_hash": "Hash of the survivors after it.",
    "survivors_before_hash": "Hash of the survivors before it.",
    "ts": "When it was decided, UTC.",
    "verb": "The command's verb.",
}


def operations() -> str:
    rows = ([_route(row), f"[`{row.name}`](#{row.name})", row.summary] for row in OPERATIONS)
    pages = table(("path", "answer"), ([f"`GET {path}`", text] for path, text in SERVER_PAGES.items()))
    details = "\n".join(_operation(operation) for operation in OPERATIONS)
    return (
        "# Operations\n\nEverything a caller can ask over HTTP, one row per operation.\n\n"
        f"{table(('request', 'operation', 'what it does'), rows)}\n"
        "`GET` operations answer `HEAD` too. Bodies and answers in full: [OpenAPI](../../api/openapi.yaml).\n"
        "\n"
        f"## Pages about the server\n\n{pages}\n{details}"
    )


def _operation(operation: Operation) -> str:
    facts = [
        ("request", _route(operation)),
        ("roles", _roles(operation)),
        ("right", f"`{operation.needs}`"),
        ("body", _body(operation)),
        ("answer", f"`{operation.status}`, {_answer(operation)}"),
        ("headers", _headers(operation)),
        ("errors of its own", ", ".join(_error(code) for code in operation.codes)),
    ]
    text = f"## {operation.name}\n\n{operation.summary}.\n\n"
    text += table(("", ""), ([name, said] for name, said in facts if said))
    if operation.query:
        rows = (
            [f"`{one.name}`", words(inspect.type_info(one.kind)), _default(one.default), one.summary]
            for one in operation.query
        )
        text += "\n" + table(("query parameter", "type", "default", "meaning"), rows)
    return text


def _route(operation: Operation) -> str:
    return f"`{operation.method} {operation.path}`"


def _roles(operation: Operation) -> str:
    if operation.roles == frozenset(Role):
        return "every role"
    return ", ".join(f"`{role.value}`" for role in Role if role in operation.roles)


def _body(operation: Operation) -> str:
    limit = f"at most {operation.max_body // 1024 // 1024} MiB"
    if operation.method == "GET":
        return ""
    if operation.body is None:
        return f"`{operation.body_media}`, {limit}"
    tag = struct(operation.body).tag
    what = f"[`{tag}`](verbs.md#{str(tag).lower()})" if tag in _verbs() else f"`{operation.body.__name__}`"
    return f"{what} as JSON, {limit}"


def _answer(operation: Operation) -> str:
    return f"`{operation.media}`" if operation.stream else f"`{operation.answer.__name__}`"


def _headers(operation: Operation) -> str:
    heeded = []
    if operation.if_match:
        heeded.append("`If-Match`")
    if operation.idempotency_key:
        heeded.append("`Idempotency-Key`")
    if operation.media == "text/event-stream":
        heeded.append("`Last-Event-ID`")
    return ", ".join(heeded)


def _error(code: Code) -> str:
    return f"[`{code}`](errors.md#{code.lower()})"


def _default(value: Any) -> str:
    return "-" if value is None else f"`{value}`"


def _verbs() -> dict[str, type]:
    return {str(struct(kind).tag): kind for kind in Command.__args__}


def verbs() -> str:
    kinds = list(_verbs().values())
    text = (
        "# Verbs\n\nEvery command that can change a ledger, and its fields.\n\n"
        "A body may leave out the verb and what the path already says. Unknown fields are refused.\n"
        "An `id` is 1 to 512 characters on one line, without control characters.\n\n"
    )
    for verb, kind in _verbs().items():
        text += f"## {verb}\n\n{sentence(kind)}\n\n{_offered(kind)}{fields(kind)}\n"
    return text + "## Values\n\n" + sections(values_in(kinds))


RECORDED_AS: Final[dict[type, str]] = {SubmitClaims: "submit_claims", Propose: "propose"}
"""Commands that are not what is sent."""


def _offered(kind: type) -> str:
    found = [f"[`{row.name}`](operations.md#{row.name})" for row in OPERATIONS if row.body is kind]
    if found:
        return f"Sent with {', '.join(found)}.\n\n"
    name = RECORDED_AS.get(kind)
    if name is None:
        return ""
    return f"What is recorded of [`{name}`](operations.md#{name}); its body has fields of its own.\n\n"


def events() -> str:
    kinds = list(Event.__args__)
    envelope = table(
        ("field", "meaning"), ([f"`{name}`", ENVELOPE[name]] for name in sorted(Entry.__struct_fields__))
    )
    text = (
        "# Events\n\nWhat a ledger contains: the envelope of every entry, and the kinds of events in it.\n\n"
        "## Envelope\n\n`hash` is SHA-256 over the canonical JSON of all other fields; how to recompute it\n"
        "is in the [protocol](../../BELIEF_PROTOCOL.md).\n\n"
        f"{envelope}\n"
    )
    for kind in kinds:
        tag = struct(kind).tag
        text += f"## {tag}\n\n{_said(kind)}{fields(kind)}\n"
    return text + "## Values\n\n" + sections(values_in(kinds))


def _said(kind: type) -> str:
    said = sentence(kind)
    return f"{said}\n\n" if said else ""


def errors() -> str:
    rows = (
        [f"[`{code}`](#{code.lower()})", f"`{STATUS[code]}`", f"`{int(exit_of(BeliefdError(code, '')))}`"]
        for code in Code
    )
    text = (
        "# Errors\n\nEvery error code, its HTTP status and the exit code of the command line.\n\n"
        'Every error has one shape: `{"error": {"code", "message", "details"}}`. Codes never change their\n'
        "meaning; messages are for people and may change. A ruling against you is not an error: it is an\n"
        "answer with status 200 (and exit code 4).\n\n"
        "A command that was understood but refused is in the ledger, and `details.audit_event_id` names the\n"
        "entry; the command line then exits with 4, whatever the code.\n\n"
        f"{table(('code', 'status', 'exit code'), rows)}"
    )
    return text + "".join(f"\n## {code}\n\n{MEANINGS[code]}\n" for code in Code)
