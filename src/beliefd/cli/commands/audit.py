"""`beliefd audit`: read, verify, replay, export and import ledgers."""

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
import msgspec
from click import argument, option

from beliefd.cli import output
from beliefd.cli.checkpoints import (
    KEYS,
    proven,
    size_in,
)
from beliefd.cli.files import read_bytes, write_bytes
from beliefd.cli.options import FILE, FILE_PATH, IN_SPACE, NOTES, SESSION
from beliefd.cli.output import Exit, Reply, print_json
from beliefd.cli.progress import counted, progress
from beliefd.cli.target import Question, Target, asks, target_options
from beliefd.cli.verifying import verify_all, verify_covered, verify_file, verify_one, words_of_head

if TYPE_CHECKING:
    from beliefd.ledger.transfer import Exported

audit = click.Group("audit", help="Read, verify, replay, export, import and merge ledgers.")


EXPORTED = option(
    "--file", "--ledger", "path", metavar="FILE", help="An exported ledger; no server or store is needed."
)


@audit.command()
@argument("session_id", metavar="[SESSION]", required=False)
@EXPORTED
@option("--since", metavar="EVENT", help="Only what came after this event.")
@option("--follow", is_flag=True, help="Keep printing what is recorded, until Ctrl-C.")
@option("--brief", is_flag=True, help="One line per event, without claims, arguments and reasons.")
@target_options
def show(
    target: Target, session_id: str | None, path: str | None, since: str | None, follow: bool, brief: bool
) -> None:
    """Print the ledger as a timeline; with --json, one event per line when following."""
    from beliefd.cli.auditing import show_ledger
    from beliefd.cli.feed import follow_entries

    if (session_id is None) == (path is None):
        raise click.UsageError("give one of SESSION or `--file`")
    if follow and path is not None:
        raise click.UsageError("a file does not grow: `--follow` needs a SESSION")
    if follow:
        follow_entries(target, str(session_id), since, brief)
    elif target.as_json and path is None:
        print_json(target.ask(lambda calls: calls.audit_trace(str(session_id), since_event_id=since)))
    else:
        show_ledger(target, session_id, path, since, brief)


@audit.command()
@argument("name", metavar="TOOL|ACTOR")
@option("--session", "session_id", metavar="SESSION", help="Only in this session. Default: in all.")
@EXPORTED
@target_options
def who(target: Target, name: str, session_id: str | None, path: str | None) -> None:
    """Print every event that an actor is behind, or that is about a tool. Exits 1 if there is none."""
    from beliefd.cli.auditing import who as found

    sys.exit(found(target, name, session_id, path))


@audit.command()
@argument("session_id", metavar="[SESSION]", required=False)
@EXPORTED
@option("--all", "every", is_flag=True, help="Every session that there is.")
@option(
    "--expect-head",
    "expected",
    metavar="HASH",
    help="A head that was noted earlier: fail unless it is the head, or an earlier event.",
)
@option("--checkpoint", metavar="FILE", help="Say which of its events this checkpoint of the log covers.")
@option("--proof", metavar="FILE", help="The proof for that. Default: the one in the ledger's header.")
@KEYS
@target_options
def verify(
    target: Target,
    session_id: str | None,
    path: str | None,
    every: bool,
    expected: str | None,
    checkpoint: str | None,
    **proven_by: Any,
) -> None:
    """Recompute every hash, link and decision, and name the first event that does not hold.

    With a checkpoint that somebody kept, say which events it covers: these were there when it was signed, and
    nothing in them or before them has changed since. Whether more followed, no file can show.
    """
    if [session_id is not None, path is not None, every].count(True) != 1:
        raise click.UsageError("give one of SESSION, `--file` or `--all`")
    if every and expected is not None:
        raise click.UsageError("a head is that of one ledger: `--expect-head` needs SESSION or `--file`")
    if checkpoint is not None and (every or expected is not None):
        raise click.UsageError("`--checkpoint` goes with one ledger alone: SESSION, or `--ledger FILE`")
    if checkpoint is None and any(proven_by.values()):
        raise click.UsageError("`--key`, `--witness` and `--proof` go with `--checkpoint`, to check it")
    if checkpoint is not None:
        ok = verify_covered(target, path, session_id, checkpoint, **proven_by)
    elif every:
        ok = verify_all(target)
    else:
        exported = None
        if path is not None:
            answer, exported = verify_file(path, read_bytes(path))
        else:
            answer = verify_one(target, str(session_id))
        words = (
            words_of_head(target, answer, session_id, exported, expected) if answer.ok and expected else ""
        )
        output.show(answer, target.as_json)
        if words and not target.as_json:
            click.echo(words)
        ok = answer.ok
    sys.exit(Exit.ALLOWED if ok else Exit.LEDGER_BROKEN)


@audit.command()
@argument("session_id", metavar="[SESSION]", required=False)
@option("-o", "--output", "place", type=FILE_PATH, help="Default: stdout.")
@option("--cloudevents", is_flag=True, help="As CloudEvents, one per line; a file is gone on with.")
@option("--follow", is_flag=True, help="CloudEvents: keep on with what is recorded, until Ctrl-C.")
@option("--since", metavar="EVENT", help="CloudEvents: only what came after this event.")
@option("--all", "every", is_flag=True, help="CloudEvents: of all sessions that one may see.")
@option("--post", metavar="URL", help="CloudEvents: send each to this address, in order.")
@option(
    "--webhook-key",
    "secret",
    type=FILE_PATH,
    help="CloudEvents: sign what is sent as webhooks are, with the key in this file.",
)
@option("--seen", type=FILE_PATH, help="CloudEvents: with `--all --post`, where to keep what was taken.")
@option("--checkpoint", metavar="FILE", help="With a proof of what this checkpoint of the log covers.")
@option("--parts", is_flag=True, help="With what its events withhold, as far as that is kept.")
@target_options
def export(
    target: Target,
    session_id: str | None,
    place: Path | None,
    cloudevents: bool,
    checkpoint: str | None,
    parts: bool,
    **how: Any,
) -> None:
    """Write the ledger as JSON Lines, ready for any verifier; or as CloudEvents, for other systems."""
    if cloudevents and (checkpoint is not None or parts):
        raise click.UsageError("`--checkpoint` and `--parts` go with JSON Lines, not with `--cloudevents`")
    if cloudevents:
        _export_cloud_events(target, session_id, place, **how)
        return
    if any(how.values()):
        raise click.UsageError(
            "`--follow`, `--since`, `--all`, `--post` and what goes with it take `--cloudevents`"
        )
    if session_id is None:
        raise click.UsageError("Missing argument 'SESSION'.")
    data = target.ask(lambda calls: calls.export(session_id, parts=parts))
    if checkpoint is not None:
        size = size_in(checkpoint)
        shown = target.ask(lambda calls: calls.audit_proof(session_id, size=size))
        data = proven(data, shown)
    if place is None:
        sys.stdout.buffer.write(data)
        return
    write_bytes(place, data)
    events = len(data.splitlines()) - 1
    answer = {"events": events, "output": str(place)}
    output.show(Reply(answer, f"wrote {events} events to {place}"), target.as_json)


@asks(audit, SESSION, option("--cursor", metavar="SEQ", help="Continue after this event."))
def parts(session_id: str, **asked: Any) -> Question:
    """What events of SESSION withhold, with what it says as long as that is kept."""
    return lambda calls: calls.list_parts(session_id, **asked)


@asks(
    audit,
    SESSION,
    argument("digests", nargs=-1, metavar="[DIGEST]..."),
    option(
        "--event",
        "events",
        multiple=True,
        metavar="EVENT",
        help="All that this event withholds, by its id or its `seq`.",
    ),
    option("--context", is_flag=True, default=None, help="All texts that the session was told."),
    option("--reason", required=True, metavar="TEXT", help="Why. It stays: do not repeat what is erased."),
    NOTES,
)
def erase(session_id: str, digests: tuple[str, ...], events: tuple[str, ...], **asked: Any) -> Question:
    """Erase what SESSION mentions by DIGEST, for good. Its ledger says so, and still verifies."""
    from beliefd.cli.short_ids import whole_events

    return lambda calls: calls.erase(
        session_id, digests=digests or None, events=whole_events(calls, session_id, events) or None, **asked
    )


def _export_cloud_events(
    target: Target,
    session_id: str | None,
    place: Path | None,
    follow: bool,
    since: str | None,
    every: bool,
    **to: Any,
) -> None:
    from beliefd.cli.cloudevents import Destination, export_all_cloud_events, export_cloud_events

    if (session_id is None) != every:
        raise click.UsageError("give one of SESSION or `--all`")
    if every and since is not None:
        raise click.UsageError(
            "`--since` is an event of one session: with `--all`, a file says where to go on"
        )
    where = Destination(place, **to)
    if session_id is None:
        done = export_all_cloud_events(target, where, follow)
    else:
        done = export_cloud_events(target, session_id, since, where, follow)
    if place is not None or where.post is not None:
        words = f"{done.events} events to {place or where.post}, the last is {done.last_event_id}"
        output.show(Reply(done, words), target.as_json)


@asks(
    audit,
    FILE,
    option("--source", metavar="TEXT", help="Where it came from. Default: FILE."),
    IN_SPACE,
    create=True,
)
def import_(path: str, source: str | None, space: str | None) -> Question:
    """Verify an exported ledger and import it; what was said in it is no authority here."""
    data = read_bytes(path)
    return lambda calls: calls.import_ledger(data, source=source or path, space=space)


@asks(audit, SESSION, FILE, NOTES)
def merge(session_id: str, path: str, notes: str | None) -> Question:
    """Merge the eliminations of a replica that worked on its own."""
    data = read_bytes(path)
    return lambda calls: calls.merge(session_id, data, notes=notes)


@audit.command()
@argument("source", metavar="FILE|SESSION")
@target_options
def replay(target: Target, source: str) -> None:
    """Rebuild the state twice, by folding what was decided and by deciding it all again.

    Where something was speculated, it is also rebuilt without that: nothing else may have changed.
    """
    from beliefd.cli.auditing import exported_in
    from beliefd.cli.views.ledger import replayed
    from beliefd.steward.failures import translating

    is_file = source == "-" or Path(source).is_file()
    if is_file:
        data = read_bytes(source)
    else:
        session_id = target.whole({"session_id": source}, {"session_id"})["session_id"]
        data = target.ask(lambda calls: calls.export(session_id, parts=True), what="reading the ledger")
    with translating():
        answer = _replayed(exported_in(data))
    output.show(Reply(answer, replayed(answer)), target.as_json)
    sys.exit(Exit.ALLOWED if answer["same"] and answer["same_without"] else Exit.LEDGER_BROKEN)


def _replayed(exported: "Exported") -> dict[str, Any]:
    from msgspec.structs import replace

    from beliefd.kernel.concluded import Resting
    from beliefd.kernel.values import DEFAULT_SPACE
    from beliefd.ledger.envelope import LedgerBroken, read_links
    from beliefd.ledger.non_interference import grounded_hash
    from beliefd.ledger.replay import fold
    from beliefd.ledger.state_hash import state_hash
    from beliefd.ledger.verify import verify as verify_entries
    from beliefd.protocol.snapshots import Listed, conclusions_rest_on, snapshot_of

    header, entries = exported.header, exported.entries
    with progress("folding", len(entries)) as folded_so_far:
        folded = fold(counted(entries, folded_so_far))
    with progress("deciding again", len(entries)) as decided_so_far:
        result, decided = verify_entries(
            entries, header.session_id, header.policies, header.head, decided_so_far, header.contents
        )
    if result.first_bad is not None:
        raise LedgerBroken(result.first_bad.seq, result.first_bad.event_id, result.first_bad.reason)
    if folded is None or decided is None:
        raise LedgerBroken(1, None, "the ledger is empty")
    lanes = _lanes(exported, grounded_hash(folded.session))
    declared = msgspec.json.decode(entries[0].wire)["payload"]
    snapshot, told = snapshot_of(folded.session, folded.head, listed=Listed()), Resting()
    for link in read_links([one.record for one in entries]):
        told.take(link.delta)
    resting = conclusions_rest_on(snapshot.conclusions, told)
    return {
        "same": state_hash(folded.session) == state_hash(decided.session),
        "events": len(entries),
        "state_hash": state_hash(folded.session),
        "withheld": result.withheld,
        "erased": result.erased,
        "absent": result.absent,
        **lanes,
        "snapshot": replace(
            snapshot, space=declared.get("space") or DEFAULT_SPACE, conclusions_rest_on=resting
        ),
    }


def _lanes(exported: "Exported", grounded: str) -> dict[str, Any]:
    """How much was speculated, and whether the grounded state is the same without it."""
    from beliefd.ledger.envelope import read
    from beliefd.ledger.non_interference import grounded_again, grounded_hash, without_speculation

    told = [read(entry.record) for entry in exported.entries]
    kept = without_speculation(told)
    session = None if len(kept) == len(told) else grounded_again(kept, exported.header.policies)
    return {
        "speculative_records": len(told) - len(kept),
        "grounded_hash": grounded,
        "same_without": session is None or grounded_hash(session) == grounded,
    }
