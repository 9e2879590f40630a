"""`beliefd doctor`: is everything here as it should be, from the interpreter to every ledger?"""

import sqlite3
import sys
from collections.abc import Iterator
from contextlib import closing
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Literal
from urllib.parse import quote, urlsplit

import click
from msgspec import Struct

from beliefd.cli.output import Exit, console, print_json, visible
from beliefd.cli.progress import counted, progress
from beliefd.cli.target import DATABASE, Target, store_options
from beliefd.kernel.errors import BeliefdError

if TYPE_CHECKING:
    from beliefd.embedded import Embedded
    from beliefd.steward.projections.rebuilding import Difference
    from beliefd.stores.base import SessionRow

OLDEST_SQLITE = (3, 35, 0)
RELEASED = "2025"
EXTRAS = {
    "asyncpg": "PostgreSQL (`beliefd[postgres]`)",
    "uvloop": "a faster event loop",
    "httptools": "faster HTTP",
}
_GUARDS = "SELECT name FROM sqlite_master WHERE type = 'trigger'"
STYLES = {"ok": "green", "note": "yellow", "wrong": "bold red"}


class Finding(Struct, frozen=True):
    """One thing that was looked at. Only `wrong` makes the doctor's exit code bad."""

    check: str
    level: Literal["ok", "note", "wrong"]
    message: str


@click.command()
@click.option("--json", "as_json", is_flag=True, help="Print the findings as JSON.")
@store_options
def doctor(as_json: bool, data: Path, store: str | None) -> None:
    """Check interpreter, store, permissions, ledgers, projections, tokens, log and clock."""
    with progress("checking", None) as report:
        findings = list(counted(examine(data, store), report))
    wrong = [finding for finding in findings if finding.level == "wrong"]
    if as_json:
        print_json({"ok": not wrong, "findings": findings})
    else:
        _print(findings)
    if any(finding.check in ("ledgers", "projections") for finding in wrong):
        sys.exit(Exit.LEDGER_BROKEN)
    sys.exit(Exit.FAILED if wrong else Exit.ALLOWED)


def examine(data: Path, store: str | None) -> Iterator[Finding]:
    yield _python()
    yield _sqlite()
    yield from _extras()
    if store is None:
        if not (data / DATABASE).exists():
            yield _no_store(data)
            return
        yield _permissions(data)
        yield from _schema(data / DATABASE)
    from beliefd.stores.base import StorageUnavailable

    target = Target(url="", token=None, data=data, store=store, as_json=False)
    where = str(data) if store is None else urlsplit(store).hostname or "local socket"
    try:
        with target.embedded() as embedded:
            embedded.run(embedded.steward.store.ping)
            yield Finding("store", "ok", f"`{where}` opens and takes a write lock")
            yield _tokens(embedded)
            yield from _planted(embedded)
            yield from _calibrations(embedded)
            yield _policy(embedded)
            yield from _ledgers(embedded, "" if store else f" --data {data}")
            yield _log(embedded)
    except (BeliefdError, StorageUnavailable) as error:
        yield Finding("store", "wrong", str(error))


def _python() -> Finding:
    version = ".".join(map(str, sys.version_info[:3]))
    return Finding(
        "python", "ok" if sys.version_info >= (3, 11) else "wrong", f"{version}, at least 3.11 needed"
    )


def _sqlite() -> Finding:
    level: Literal["ok", "wrong"] = "ok" if sqlite3.sqlite_version_info >= OLDEST_SQLITE else "wrong"
    needed = ".".join(map(str, OLDEST_SQLITE))
    return Finding("sqlite", level, f"{sqlite3.sqlite_version}, at least {needed} needed")


def _extras() -> Iterator[Finding]:
    for module, purpose in EXTRAS.items():
        there = find_spec(module) is not None
        yield Finding(
            "extras", "ok" if there else "note", f"{module} {'found' if there else 'missing'}: {purpose}"
        )


def _no_store(data: Path) -> Finding:
    """A folder that is not there is most often a typing error: whoever runs this every night must hear it."""
    if data.is_dir():
        return Finding("store", "note", f"nothing in `{data}` yet; `beliefd serve` makes a store there")
    remedy = f"name the right one with `--data`, or begin there: `beliefd serve --data {data}`"
    return Finding("store", "wrong", f"`{data}` does not exist; {remedy}")


def _permissions(data: Path) -> Finding:
    for path in (data, data / DATABASE):
        mode = path.stat().st_mode & 0o777
        if mode & 0o077:
            wanted = 0o700 if path.is_dir() else 0o600
            return Finding(
                "permissions", "wrong", f"`{path}` is {mode:o}; others can get in, `chmod {wanted:o}` it"
            )
    return Finding("permissions", "ok", f"`{data}` is for its owner only")


def _schema(database: Path) -> Iterator[Finding]:
    """Read without opening the store: opening it would bring an old file up to date."""
    from beliefd.stores.sqlite.schema import MIGRATIONS

    try:
        with closing(
            sqlite3.connect(f"file:{quote(str(database.resolve()))}?mode=ro", uri=True)
        ) as connection:
            version = int(connection.execute("PRAGMA user_version").fetchone()[0])
            guards = {row[0] for row in connection.execute(_GUARDS)}
    except sqlite3.Error as error:
        yield Finding("schema", "wrong", f"`{database}`: {error}")
        return
    known = len(MIGRATIONS)
    if version > known:
        yield Finding("schema", "wrong", f"version {version} is newer than this beliefd, which knows {known}")
    else:
        yield Finding("schema", "ok", f"version {version} of {known}")
    missing = sorted({"audit_events_keep_update", "audit_events_keep_delete"} - guards)
    if version and missing:
        yield Finding("schema", "wrong", f"the ledger can be rewritten: trigger `{missing[0]}` is gone")


def _tokens(embedded: "Embedded") -> Finding:
    tokens = embedded.run(embedded.steward.store.tokens)
    valid = [token for token in tokens if token.revoked_at is None]
    if not tokens:
        return Finding("tokens", "ok", "none: the server stays on loopback and trusts local programs")
    if not valid:
        return Finding(
            "tokens", "note", "all are revoked: nobody can get in; `beliefd token create` makes one"
        )
    return Finding("tokens", "ok", f"{len(valid)} valid, {len(tokens) - len(valid)} revoked")


def _planted(embedded: "Embedded") -> Iterator[Finding]:
    """Tokens and spaces that are otherwise than the server's own ledger says."""
    from beliefd.steward.directory import token_differences
    from beliefd.steward.spaces import made_spaces

    tokens = embedded.run(embedded.steward.store.tokens)
    system = embedded.run(embedded.runtime.system.state)
    if system is None:
        if tokens:
            text = "none has an event yet: `beliefd serve` records them, and honours no other from then on"
            yield Finding("tokens", "note", text)
        return
    for one in token_differences(tokens, system):
        yield Finding("tokens", "wrong", one.words)
    rows = embedded.run(embedded.steward.store.spaces)
    made = {one.name for one in made_spaces(rows, system)}
    for row in rows:
        if row.name not in made:
            text = f"space `{row.name}` was made by no event: it is not honoured"
            yield Finding("spaces", "wrong", text)


def _calibrations(embedded: "Embedded") -> Iterator[Finding]:
    """Calibration sets that do not hash to what they are kept as."""
    from beliefd.uncertainty.calibrations import version_hash

    store = embedded.steward.store
    for name, version in embedded.run(store.calibrations):
        row = embedded.run(partial(store.calibration, name, version))
        if row is not None and version_hash(row.document) != row.sha256:
            text = f"version {version} of `{name}` does not hash to `{row.sha256}`: it is not used"
            yield Finding("calibrations", "wrong", text)


def _policy(embedded: "Embedded") -> Finding:
    """Is the policy that was adopted last one that an event names?"""
    from beliefd.ledger.envelope import LedgerBroken
    from beliefd.steward.policies import planted_words

    row = embedded.run(embedded.steward.store.adopted)
    try:
        recorded = embedded.run(embedded.runtime.system.adopted)
    except LedgerBroken as error:
        return Finding("policy", "wrong", f"the server's own ledger cannot say which was adopted: {error}")
    if row is not None and recorded is None:
        text = "what was adopted has no event yet: `beliefd serve` records it, and follows no other row then"
        return Finding("policy", "note", text)
    if row is not None and row.policy_hash != recorded:
        return Finding("policy", "wrong", planted_words(row))
    if recorded is None:
        return Finding(
            "policy", "ok", "none was adopted: a server goes by its `--policy`, or by the defaults"
        )
    return Finding("policy", "ok", f"`{recorded}` was adopted")


def _ledgers(embedded: "Embedded", place: str) -> Iterator[Finding]:
    from beliefd.cli.ledgers import sessions_of, verify_stored
    from beliefd.steward.environment import now
    from beliefd.steward.projections.rebuilding import differences, stray_differences

    store = embedded.steward.store
    checked, newest = 0, ""
    broken: list[Finding] = []
    differing = embedded.run(lambda: stray_differences(store))
    for row in sessions_of(embedded):
        answer = verify_stored(embedded, row.session_id)
        checked += 1
        if answer.first_bad is not None:
            bad = answer.first_bad
            where = f"session {row.session_id}, event {bad.seq} ({bad.event_id or 'missing'})"
            broken.append(Finding("ledgers", "wrong", f"{where}: {bad.reason}"))
            continue
        if (moved := _moved(embedded, row.session_id)) is not None:
            broken.append(moved)
        differing += embedded.run(partial(differences, store, row.session_id))
        newest = max(newest, _last_time(embedded, row))
    yield from broken or [Finding("ledgers", "ok", f"{checked} verified")]
    yield from _projections(differing, place, "the ledgers that verify say" if broken else "the ledgers say")
    yield _clock(now(), newest)


def _moved(embedded: "Embedded", session_id: str) -> Finding | None:
    """Is a session in another space than it began in?"""
    from beliefd.ledger.envelope import LedgerBroken

    try:
        embedded.run(lambda: embedded.steward.positions.chains.check_rows(session_id))
    except LedgerBroken as error:
        return Finding("ledgers", "wrong", f"session {session_id}: {error.reason}")
    return None


def _projections(found: "list[Difference]", place: str, truth: str) -> Iterator[Finding]:
    """One finding per projection: a table that was dropped misses every row."""
    from beliefd.steward.projections import PROJECTIONS

    for name in (one.name for one in PROJECTIONS):
        otherwise = [one for one in found if one.projection == name]
        if not otherwise:
            yield Finding("projections", "ok", f"the {name} is what {truth}")
            continue
        first, remedy = otherwise[0], f"beliefd projection rebuild {name}{place}"
        yield Finding(
            "projections",
            "wrong",
            f"{len(otherwise)} rows of the {name} are not what {truth}: session {first.session_id},"
            f" `{' '.join(first.row)}` is {first.problem}; `{remedy}` mends it",
        )


def _log(embedded: "Embedded") -> Finding:
    """How much of the log is covered, and whether a checkpoint could be signed now."""
    from beliefd.ledger.envelope import LedgerBroken
    from beliefd.steward.effects.addresses import shown

    store, checkpoints = embedded.steward.store, embedded.runtime.checkpoints
    size, newest = embedded.run(store.log_size), embedded.run(checkpoints.newest)
    covered = f"{newest.size} covered by a checkpoint" if newest else "no checkpoint was signed yet"
    for place, one in checkpoints.anchored.reached().items():
        covered += f", {one.size} by one that is anchored at `{shown(place)}`"
    key = checkpoints.settings.key
    try:
        embedded.run(checkpoints.refuse_unsignable)
    except (BeliefdError, LedgerBroken) as error:
        # The key may be elsewhere: a server is told where by `--log-key`, and the doctor is not.
        level: Literal["note", "wrong"] = "wrong" if key is not None and key.exists() else "note"
        return Finding("log", level, f"{size} leaves, {covered}; none can be signed here: {error}")
    private = f"; `{key}` is for its owner only" if key is not None and key.exists() else ""
    return Finding("log", "ok", f"{size} leaves, {covered}{private}")


def _last_time(embedded: "Embedded", row: "SessionRow") -> str:
    from beliefd.ledger.envelope import read

    store = embedded.steward.store
    return read(embedded.run(lambda: store.entries(row.session_id, row.head.seq - 1, 1))[0].record).ts


def _clock(now: str, newest: str) -> Finding:
    if now < RELEASED:
        return Finding("clock", "wrong", f"it says {now}, which is before beliefd was written")
    if newest > now:
        return Finding("clock", "wrong", f"it says {now}, but an event was recorded at {newest}")
    return Finding("clock", "ok", now)


def _print(findings: list[Finding]) -> None:
    from rich.text import Text

    for item in findings:
        mark = (f"{item.level:<6}", STYLES[item.level])
        line = Text.assemble(mark, (f"{item.check:<12}", "bold"), visible(item.message))
        console().print(line, soft_wrap=True)
