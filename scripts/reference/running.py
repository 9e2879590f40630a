"""What whoever runs a server sets and sees: policy, settings, limits, metrics."""

import asyncio
import re
from collections.abc import Iterator
from typing import Any, Final

import click
from msgspec import UNSET, Struct
from scripts.reference.types import fields, sections, sentence, table, values_in

from beliefd.cli.main import main
from beliefd.cli.output import Exit
from beliefd.hooks.entry import VARIABLES
from beliefd.http import (
    bodies,
    direct,
    in_flight,
    places,
    readiness,
    seats,
    standing,
    surface,
    wire,
)
from beliefd.http import metrics as http_metrics
from beliefd.http import protocol as http_protocol
from beliefd.kernel import canonical, json_bounds, limits, values
from beliefd.kernel import policy as kernel_policy
from beliefd.kernel.claims import bundle
from beliefd.kernel.claims import policy as claims_policy
from beliefd.kernel.values import MAX_NOTES
from beliefd.ledger import state_hash
from beliefd.policy import files, watch
from beliefd.protocol.beliefs import MAX_METADATA, SURVIVORS_PAGE
from beliefd.protocol.ledger import AUDIT_PAGE, CONCLUSIONS_PAGE, SOLE_NAMES, SOLE_SPEAKERS
from beliefd.protocol.operations import OPERATIONS
from beliefd.protocol.snapshots import LISTED, LISTED_SHORT, METADATA_SHORT
from beliefd.steward import buckets, chains, collecting, directory, feeds, offload, spaces
from beliefd.steward.bootstrap import bootstrap
from beliefd.steward.effects import webhook
from beliefd.steward.effects.anchored import Anchor, Anchored
from beliefd.steward.facts import citing, examining, origin, shares, submissions, threats
from beliefd.steward.handlers import batch, concluded
from beliefd.steward.handlers.shared import PAGE_BYTES
from beliefd.steward.signin import verifier
from beliefd.steward.write import positions, session_queue, sizes
from beliefd.stores.log import KeptCheckpoint
from beliefd.stores.memory import MemoryStore
from beliefd.uncertainty.equivalence import kept

ADDRESS: Final = "Address of the server."
_TYPE: Final = re.compile(r"^# TYPE (\S+) (\S+)$", re.MULTILINE)
_LABELS: Final = re.compile(r'(\w+)="')

METRICS: Final = {
    "beliefd_http_requests_total": "Requests answered. `operation` is the name of an"
    " [operation](operations.md), method and path of a page of the console, or `none`.",
    "beliefd_http_request_seconds": "How long answers took, per operation; for streams, the time to their"
    " first byte.",
    "beliefd_events_total": "Commands decided, by verb and by kind of event.",
    "beliefd_append_retries_total": "Appends that lost a race for a session's head and were decided again.",
    "beliefd_sessions_in_memory": "Sessions whose state is cached in this process.",
    "beliefd_ledgers_broken": "Ledgers that this process found broken: requests to them are refused.",
    "beliefd_scrubbed_entries_total": "Entries that the scrub has followed.",
    "beliefd_state_bytes_in_memory": "Their size, as they would be saved; in memory they take several times"
    " that.",
    "beliefd_body_bytes_in_flight": "Bodies of requests that are not answered yet, and large answers that"
    " are not taken yet.",
    "beliefd_limited_total": "Requests that a limit refused: one per principal (`limits` in the"
    " [policy](policy.md)), that of all bodies together (`all_bytes_in_flight`), that of requests or streams"
    " under way, of the `content` that a principal has brought, or of the state of a session"
    " (`session_bytes`). Errors name it in `details.reason`.",
    "beliefd_requests_under_way": "Requests that are not answered yet, and answers that last (`streams`):"
    " feeds, exports, batches.",
    "beliefd_work": "Long work beside the event loop, by kind: what runs, and what waits for a thread.",
    "beliefd_tool_calls_waiting": "Tool calls that wait for a place to run in, by class.",
    "beliefd_log_anchored_leaves": "How many leaves of the log the last checkpoint covers that has reached an"
    " anchor, by its place.",
    "beliefd_log_anchor_failing": "1 if the newest checkpoint could not be brought to this anchor, and is"
    " tried again.",
    "beliefd_start_time_seconds": "When the process started, in seconds since 1970.",
}
EXITS: Final = {
    Exit.ALLOWED: "Done, or a ruling in your favour.",
    Exit.FAILED: "It could not be done: the store or the server cannot be reached, or there is a defect.",
    Exit.BAD_INPUT: "The command or the request cannot be read.",
    Exit.DEFERRED: "It waits for a person.",
    Exit.REFUSED: "A ruling against you, or a refusal that stands in the ledger.",
    Exit.LEDGER_BROKEN: "A ledger, a checkpoint or a proof does not verify, or a projection or the log is not"
    " what the ledgers say.",
}
LIMITS: Final[tuple[tuple[str, int | float, str], ...]] = (
    ("length of an id", values.MAX_ID_LENGTH, "characters"),
    ("depth of stored JSON", canonical.MAX_DEPTH, "levels of the whole entry"),
    ("largest integer", canonical.MAX_SAFE_INTEGER, "in any number"),
    ("head of a request", http_protocol.MAX_HEAD, "bytes"),
    (
        "body of a request",
        max(row.max_body for row in OPERATIONS),
        "bytes; most operations take less",
    ),
    *((f"{what} in a JSON body", bound, "then `INVALID_REQUEST`") for what, _, bound in json_bounds.BOUNDS),
    (
        "bodies that are not answered yet, and large answers that are not taken",
        in_flight.MAX_TOTAL,
        "bytes per process, then `TOO_BUSY`",
    ),
    ("large answer", surface.LARGE_ANSWER, "bytes; what is longer counts until it was taken"),
    ("requests that wait for their turn", seats.MAX_HELD, "bytes on all connections, then `TOO_BUSY`"),
    (
        "long pages of live feeds",
        feeds.LONG_AT_ONCE,
        f"of more than {feeds.LONG_BYTES:,} bytes at once, of one principal; the others wait",
    ),
    ("command that stays in memory", limits.KEPT, "bytes, unless `limits.command_bytes` is given"),
    (
        "state of a session",
        limits.STATE,
        "bytes as it is saved, unless `limits.session_bytes` is given; one principal may make a quarter",
    ),
    (
        "what one principal writes into ledgers",
        limits.PER_HOUR,
        "bytes per hour, unless `limits.ledger_bytes_per_hour` is given; then `RATE_LIMITED`",
    ),
    ("trailers, and words on one chunk", http_protocol.MAX_TRAILERS, "bytes; they are dropped"),
    ("time for a head", http_protocol.HEAD_SECONDS, "seconds, then the connection is closed"),
    ("pause within a request", http_protocol.SILENCE_SECONDS, "seconds, then the connection is closed"),
    (
        "least rate of a body, and of taking an answer",
        wire.LEAST_RATE,
        "bytes per second, after that",
    ),
    ("connections", seats.MAX_CONNECTIONS, "at once, or fewer if the system allows fewer files"),
    *(
        row
        for one in (places.REQUESTS, places.STREAMS)
        for row in (
            (f"{one.what} under way", one.total, "per process, then `TOO_BUSY`"),
            (f"{one.what} under way, of one principal", one.each, "per process, then `RATE_LIMITED`"),
        )
    ),
    *(
        (f"work of the kind `{kind}` that waits", pool.limits.waiting, "per process, then `TOO_BUSY`")
        for kind, pool in offload.POOLS.items()
    ),
    *(
        (f"time for work of the kind `{kind}`", pool.limits.seconds, "seconds, then `TIMED_OUT`")
        for kind, pool in offload.POOLS.items()
        if pool.limits.seconds is not None
    ),
    (
        "time between two probes of the store",
        readiness.KEEP_SECONDS,
        "second at least",
    ),
    ("time between looks at who takes lasting answers", standing.JUDGE_SECONDS, "seconds"),
    ("body that is read and dropped", bodies.DRAIN_LIMIT, "bytes, so that `PAYLOAD_TOO_LARGE` arrives"),
    (
        "survivors in a snapshot",
        SURVIVORS_PAGE,
        "ids per page; `survivors_next` continues",
    ),
    ("obligations, and conclusions, in a snapshot that is asked for", LISTED, "of each per page"),
    ("the same in the answer to a verb", LISTED_SHORT, "newest obligations; of more conclusions, the last"),
    ("metadata in the answer to a verb", METADATA_SHORT, "bytes; longer metadata is left out"),
    ("metadata of a session", MAX_METADATA, "bytes as JSON, then `INVALID_REQUEST`"),
    ("entries in an audit answer", AUDIT_PAGE, "entries per page; `next` continues"),
    ("page of a list, and of why", PAGE_BYTES, "bytes, and the item that makes it longer"),
    ("conclusions in a counterfactual", CONCLUSIONS_PAGE, "per page; `conclusions_next` continues"),
    ("who a conclusion hangs on alone", SOLE_SPEAKERS, "sources, and principals; all are counted"),
    ("hypotheses of each of them", SOLE_NAMES, "ids; all are counted"),
    ("commands decided in one turn", session_queue.BATCH, "per session"),
    ("turns that are being written", session_queue.UNDER_WAY, "per session, if the store keeps their order"),
    ("attempts at a head that keeps moving", session_queue.MAX_ATTEMPTS, "then `CONFLICT`"),
    ("lines of a batch", batch.MAX_LINES, "lines"),
    ("line of a batch", batch.MAX_LINE, "bytes"),
    ("lines of a batch in progress", batch.WINDOW, "lines"),
    ("a revoked token is refused after", directory.REFRESH_SECONDS, "second at most"),
    ("claims in a bundle", bundle.MAX_CLAIMS, "claims"),
    ("evidence of a claim", bundle.MAX_POINTERS, "pointers"),
    ("evidence of a bundle", bundle.MAX_POINTERS_IN_ALL, "pointers"),
    ("calls that a bundle or an elimination cites", citing.MOST_HEARD, "whose results are looked at"),
    ("stored contents that a bundle cites", examining.MOST_HASHED, "that are hashed again"),
    ("text of a bundle that detectors read", claims_policy.MAX_READ_BYTES, "bytes, then the gate defers"),
    ("text that the event loop reads itself", threats.IN_PLACE, "bytes of a bundle; more goes to a thread"),
    (
        "the same for all callers",
        threats.IN_A_TURN,
        "bytes in one turn of the loop",
    ),
    ("questions to detectors", threats.MAX_RUNNING, "at once, then the gate defers"),
    ("questions to detectors about one principal", threats.MAX_OWN, "at once, then the gate defers"),
    ("notes on a command", MAX_NOTES, "characters"),
    ("content that is looked for in the ledgers", collecting.ROUND, "hashes at once"),
    ("content that is removed", collecting.AT_ONCE, "items per transaction"),
    ("longest wait between webhook deliveries", webhook.LAST_RETRY_SECONDS, "seconds"),
    ("time between looks at the policy file", watch.POLL_SECONDS, "second"),
    ("policy file", files.MAX_BYTES, "bytes"),
    ("state hash and saved state", state_hash.STATE_HASH_EVERY, "entries apart"),
)
CACHES: Final[tuple[tuple[str, int, str], ...]] = (
    ("states of sessions", positions.MAX_SESSIONS, "sessions; the one unused for longest goes first"),
    ("hypotheses in them", positions.MAX_HYPOTHESES, "over all sessions"),
    ("the same states", positions.MAX_BYTES, "bytes, as they would be saved"),
    ("sizes of large states, and who made them", sizes.MAX_REMEMBERED, "sessions; the oldest goes first"),
    ("chains that were followed", chains.MAX_SESSIONS, "sessions; the one unused for longest goes first"),
    ("marks on them", chains.MAX_MARKS, "of 40 bytes each"),
    ("ledgers that were found broken", chains.MAX_BROKEN, "sessions"),
    ("spaces of sessions", spaces.MOST_SESSIONS, "sessions; then all are forgotten"),
    ("counts of what principals take up in the store", shares.MOST_KNOWN, "then all are forgotten"),
    ("requests per second", buckets.MOST, "principals; those who make the fewest go first"),
    ("bundles per window", submissions.MOST_SPEAKERS, "principals; more if they spoke within the window"),
    ("people who signed in", verifier.REMEMBERED, "tokens; the oldest goes first"),
    ("paths of verbs", direct.KNOWN_PATHS, "paths; the one unused for longest goes first"),
    ("what sessions were told", origin.MAX_SESSIONS, "sessions; the one unused for longest goes first"),
    ("the same", origin.MAX_BYTES, "bytes of texts"),
    ("what conclusions rest on", concluded.MAX_SESSIONS, "sessions; the first to be read goes first"),
    ("the same, of a session", concluded.MAX_CONCLUSIONS, "conclusions; of more, the ledger is read anew"),
    ("answers that were measured", kept.KEPT_CHARACTERS, "characters, and those of the last measurement"),
    ("their words and pairs", kept.KEPT, "of each kind; the one unused for longest goes first"),
)
"""What a process remembers only to be quicker, or to count. All else that it holds belongs to a request."""


def policy() -> str:
    kinds = values_in([kernel_policy.Policy])
    rows = ([f"`{path}`", _shown(value)] for path, value in _leaves(kernel_policy.Policy(), ""))
    return (
        "# Policy\n\nEvery field of a policy file, its type, and its default.\n\n"
        "How to put one in force: [write a policy file](../how-to/policy-file.md). The hash of the policy\n"
        "in force is in every entry that was decided under it.\n\n"
        f"## Defaults\n\n{table(('field', 'default'), rows)}\n"
        f"## Policy document\n\n{sentence(kernel_policy.Policy)}\n\n{fields(kernel_policy.Policy)}\n"
        f"{sections(kinds)}"
    )


def _leaves(value: Any, path: str) -> Iterator[tuple[str, Any]]:
    for name, written in zip(value.__struct_fields__, value.__struct_encode_fields__, strict=True):
        inner, here = getattr(value, name), f"{path}.{written}".lstrip(".")
        if isinstance(inner, Struct):
            yield from _leaves(inner, here)
        else:
            yield here, inner


def _shown(value: Any) -> str:
    from msgspec.json import encode

    return "not given" if value is UNSET else f"`{encode(value).decode()}`"


def settings() -> str:
    variables = table(
        ("variable", "option", "meaning"),
        ([f"`{name}`", option, meaning] for name, (option, meaning) in sorted(environment().items())),
    )
    serve = main.commands["serve"]
    options = table(
        ("option", "default", "meaning"),
        ([f"`{one.opts[0]}`", _default(one), one.help or ""] for one in _options(serve)),
    )
    limits = table(("limit", "value", ""), ([name, f"{value:,}", unit] for name, value, unit in LIMITS))
    caches = table(("cache", "at most", ""), ([name, f"{value:,}", unit] for name, value, unit in CACHES))
    exits = table(("exit code", "meaning"), ([f"`{int(code)}`", EXITS[code]] for code in Exit))
    roles = table(("role", "principal"), ([f"`{role.value}`", _principal(role)] for role in values.Role))
    return (
        "# Settings and limits\n\nEnvironment variables, options of the server, roles, exit codes, and limits"
        " that are built in.\n\n"
        f"## Environment variables\n\n{variables}\n"
        f"## Options of `beliefd serve`\n\n{options}\n"
        f"## Roles and tiers\n\n{roles}\n{_tiers()}\n\n"
        f"## Exit codes\n\n{exits}\n## Limits\n\n{limits}\n## Caches\n\n"
        "What a process remembers only to be quicker, or to count. It is bounded per process.\n\n"
        f"{caches}"
    )


def _tiers() -> str:
    listed = ", ".join(f"`{tier.name}`" for tier in values.Tier)
    highest, usual = values.Tier.PRIVILEGE.name, values.Tier.WRITE_LIMITED.name
    return (
        f"Risk tiers, lowest first: {listed}. A token of role `admin` has `{highest}`, others `{usual}`,"
        " unless `--tier` says otherwise."
    )


def environment() -> dict[str, tuple[str, str]]:
    """Every environment variable that some option reads, or the hook, which has no options."""
    found: dict[str, tuple[str, str]] = {}
    for command in _commands(main):
        for option in _options(command):
            if isinstance(option.envvar, str):
                found.setdefault(option.envvar, (f"`{option.opts[0]}`", option.help or ADDRESS))
    return found | {name: ("`beliefd hook CLIENT`", meaning) for name, meaning in VARIABLES.items()}


def _commands(command: click.Command) -> Iterator[click.Command]:
    yield command
    if isinstance(command, click.Group):
        for inner in command.commands.values():
            yield from _commands(inner)


def _options(command: click.Command) -> list[click.Option]:
    return [one for one in command.params if isinstance(one, click.Option)]


def _default(option: click.Option) -> str:
    given = option.to_info_dict()["default"]
    return "-" if given is None or given is False else f"`{given}`"


def _principal(role: values.Role) -> str:
    from beliefd.steward.directory import principal_of
    from beliefd.stores.base import Token

    example = Token("", "NAME", role.value, values.Tier.WRITE_LIMITED.name, "", "")
    return f"`{principal_of(example).id}`"


def metrics() -> str:
    text = asyncio.run(_rendered())
    kinds = dict(_TYPE.findall(text))
    rows = ([f"`{name}`", kind, _labels(text, name), METRICS[name]] for name, kind in kinds.items())
    buckets = ", ".join(f"{bound:g}" for bound in http_metrics.BUCKETS)
    return (
        "# Metrics\n\nWhat `GET /metrics` counts, in Prometheus' text format.\n\n"
        "No label carries a session id or anything an agent wrote.\n\n"
        f"{table(('metric', 'type', 'labels', 'meaning'), rows)}\n"
        f"Bounds of the histogram, in seconds: {buckets}.\n"
    )


async def _rendered() -> str:
    """The page of a server on which everything has happened once."""
    runtime = bootstrap(MemoryStore())
    runtime.steward.counts.decided["ELIMINATE", "eliminated"] += 1
    counted = http_metrics.Metrics()
    counted.observe("eliminate", 200, 0.001)
    page = counted.render(runtime.steward, Anchored((Anchor("folder", _nowhere),), None)).decode()
    await runtime.close()
    return page


async def _nowhere(_: KeptCheckpoint) -> None:
    """An anchor of which only the name counts."""


def _labels(text: str, name: str) -> str:
    lines = [line for line in text.splitlines() if line.startswith((f"{name}{{", f"{name}_bucket{{"))]
    found = dict.fromkeys(label for line in lines for label in _LABELS.findall(line))
    return ", ".join(f"`{label}`" for label in found) or "-"
