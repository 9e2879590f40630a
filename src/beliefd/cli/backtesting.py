"""Backtests at the command line: sessions of a server or store, exported ledgers, runs of other systems."""

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any, Final

import click
import msgspec
from msgspec import UNSET

from beliefd.cli.output import Exit, Reply, complain, print_json, show
from beliefd.cli.progress import progress
from beliefd.cli.short_ids import whole_sessions
from beliefd.cli.target import Target
from beliefd.cli.views.backtesting import tallied
from beliefd.documents import read_document
from beliefd.kernel.errors import BeliefdError, Code, invalid
from beliefd.kernel.policy import Policy
from beliefd.ledger.transfer import BadExport
from beliefd.policy.backtesting.files import format_of, lines_of, steps_of
from beliefd.policy.backtesting.names import AUTO, LEDGER
from beliefd.policy.files import load_policy
from beliefd.policy.presets import preset
from beliefd.protocol.backtesting import Backtest, Reached
from beliefd.steward.backtesting.exports import decide_exports
from beliefd.steward.backtesting.ledgers import Trial
from beliefd.steward.backtesting.run_tally import Tallies
from beliefd.steward.backtesting.runs import CallVerdict, Given, RunsTrial
from beliefd.steward.backtesting.tally import Tally

GIVEN: Final = Given.__struct_fields__
AT_ONCE = 20_000
"""Decisions per question to a server: between them the number of those that are done is shown."""


def backtest_sessions(target: Target, policy_file: Path, sessions: Sequence[str] | None) -> Exit:
    """The ledgers of these sessions, or of all: asked for in parts, told as one answer."""
    policy, tally = load_policy(policy_file), Tally()
    with target.calls() as calls, progress("deciding again", None) as report:
        sessions = None if sessions is None else whole_sessions(calls, sessions)
        after: Reached | None = None
        while True:
            answer = calls.backtest_policy(policy, sessions, limit=AT_ONCE, after=after)
            tally.add(answer)
            report(tally.decisions)
            if (after := answer.next) is None:
                break
    return _ended(tally.answer(answer.policy_hash), target.as_json)


def backtest_file(
    path: Path, *, policy_file: Path | None, form: str, state_file: Path | None, as_json: bool, **said: Any
) -> Exit:
    """`said` is what runs do not carry about who calls, as far as the command was told."""
    policy = preset("guard") if policy_file is None else load_policy(policy_file)
    try:
        size = path.stat().st_size
        found = format_of(path) if form == AUTO else form
        told = {**said, "state": None if state_file is None else _state(state_file)}
        given = msgspec.convert({name: one for name, one in told.items() if one is not None}, Given)
        if found == LEDGER:
            refuse_given((name for name in GIVEN if getattr(given, name) is not UNSET), "an exported ledger")
            return _ended(_exported(path, policy, size), as_json)
        return _runs(path, found, policy, given, as_json, size)
    except OSError as error:
        raise invalid(f"cannot read `{path}`: {error.strerror}", "FILE") from None


def _exported(path: Path, policy: Policy, size: int) -> Backtest:
    trial, tally = Trial(policy), Tally()
    try:
        with progress("deciding again", size, in_bytes=True) as report:
            decide_exports(lines_of(path, report), trial, tally)
    except BadExport as error:
        raise BeliefdError(Code.INVALID_REQUEST, str(error), {"path": f"line {error.line}"}) from None
    return tally.answer(trial.name)


def _ended(answer: Backtest, as_json: bool) -> Exit:
    show(answer, as_json)
    return Exit.LEDGER_BROKEN if answer.broken else Exit.ALLOWED


def refuse_given(given: Iterable[str], what: str) -> None:
    """What is on record is not asked for a second time."""
    for name in given:
        raise invalid(
            f"{what} says it itself: this is for runs of other systems", f"--{name.replace('_', '-')}"
        )


def _state(path: Path) -> dict[str, Any]:
    state = read_document(path)
    if not isinstance(state, dict):
        raise invalid(f"`{path}` needs an object of keys and their values", "--state")
    return state


def _runs(path: Path, form: str, policy: Policy, given: Given, as_json: bool, size: int) -> Exit:
    tallies = Tallies()
    # Standard output is one verdict per line.
    click.echo(f"assumed: {'; '.join(given.assumed)}", err=as_json)
    with progress("judging runs", size, in_bytes=True) as report:
        for item in RunsTrial(policy, given).verdicts(steps_of(path, form, report)):
            tallies.take(item)
            if as_json and isinstance(item, CallVerdict):
                print_json(item)
    tallies.end()
    if not as_json:
        show(Reply(tallies, tallied(tallies)), as_json)
    for one in tallies.damaged:
        complain(f"`{path.name}` line {one.line} cannot be read: {one.why}")
    if more := tallies.n_damaged - len(tallies.damaged):
        complain(f"and {more} more lines")
    return Exit.BAD_INPUT if tallies.n_damaged else Exit.ALLOWED
