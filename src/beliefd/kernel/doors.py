"""The door that every command passes before its rule: nothing that is grounded rests on the speculative lane.

Commands are judged by what they say, never by what the speculative lane of their session holds: otherwise
that lane would have a say in the other one (law 3).
"""

from collections.abc import Callable
from typing import Any, Final

import msgspec
from msgspec import UNSET

from beliefd.kernel.approvals.commands import DecideApproval, WithdrawApproval
from beliefd.kernel.attempts.commands import RecordAttempt
from beliefd.kernel.beliefs.commands import (
    DeclareConclusion,
    DeclareSession,
    Eliminate,
    Merge,
    RequestTermination,
)
from beliefd.kernel.catalogues.commands import PinTools
from beliefd.kernel.claims.commands import RetractClaims, SubmitClaims
from beliefd.kernel.commands import Command
from beliefd.kernel.context.commands import AddContext
from beliefd.kernel.erasures.commands import Erase
from beliefd.kernel.errors import Code
from beliefd.kernel.event import Refused, refused, refused_by
from beliefd.kernel.experiments.commands import DesignExperiment, RecordRun
from beliefd.kernel.intents.commands import StageIntent
from beliefd.kernel.intents.state import INTENT_LANES
from beliefd.kernel.measurements.commands import Measure
from beliefd.kernel.scan.guards import stopped_by
from beliefd.kernel.scan.markers import dumped, find_marker, has_no_word
from beliefd.kernel.scan.references import find_reference, has_no_reference
from beliefd.kernel.scan.said import texts_in
from beliefd.kernel.scan.spelling import plain
from beliefd.kernel.scheduling.commands import SchedulingCommand
from beliefd.kernel.speculation import rules as speculation
from beliefd.kernel.speculation.lanes import SPECULATIVE
from beliefd.kernel.substrate.commands import Propose, RecordOutcome, Remember, StartCall
from beliefd.kernel.substrate.memory import PROVISIONAL
from beliefd.kernel.substrate.proposals import DeltaCandidate, without_vector
from beliefd.kernel.system.commands import SystemCommand
from beliefd.kernel.transfers.commands import TransferCommand

Part = Callable[[Any], Any]
_QUOTED: Final = '","'


def _nothing(_: Command) -> None:
    return None


def _whole(command: Command) -> Any:
    return command


def _declaration(command: DeclareSession) -> Any:
    """Not its metadata: a session may be opened to look into an idea."""
    return {"hypotheses": command.hypotheses, "ontology": msgspec.to_builtins(command.ontology)}


def _elimination(command: Eliminate) -> Any:
    """Not what is eliminated: only declared hypotheses are, and no idea can be declared."""
    said = {
        "source_id": command.source_id,
        "observation_id": command.observation_id,
        "justification": command.justification,
    }
    return said if command.cites is UNSET else {**said, "cites": msgspec.to_builtins(command.cites)}


def _proposal(command: Propose) -> Any:
    """Not the arguments of calls: a tool may be asked about an idea, and its answer is what it is. Vectors
    say nothing in words."""
    deltas = (
        msgspec.to_builtins(without_vector(one)) if isinstance(one, DeltaCandidate) else None
        for one in command.candidates
    )
    return {"provenance": msgspec.to_builtins(command.provenance), "candidates": list(deltas)}


def _memory(command: Remember) -> Any:
    told = msgspec.to_builtins(command.entry)
    if command.entry.kind in PROVISIONAL:
        del told["value"]
    return told


def _change(command: StageIntent) -> Any:
    return None if INTENT_LANES[command.change.type] == SPECULATIVE else command.change


JUDGED: Final[dict[type, Part]] = {
    **dict.fromkeys(speculation.RULES, _nothing),
    # What the server itself writes about what was let through before.
    **dict.fromkeys((RecordRun, StartCall, RecordOutcome, RecordAttempt, Merge), _nothing),
    # Where a ledger came from, and why it is put away: no belief can rest on it.
    **dict.fromkeys(TransferCommand.__args__, _nothing),
    # Names of tools and digests of what was told: no belief can rest on them.
    AddContext: _nothing,
    # What a stranger wrote about his tools: it is shown, and nobody here states it.
    PinTools: _nothing,
    # Names of tokens, keys and files: no belief can rest on them.
    **dict.fromkeys(SystemCommand.__args__, _nothing),
    # Why a session is to stop or to do less: nobody may be kept from saying that, whatever his words.
    **dict.fromkeys(SchedulingCommand.__args__, _nothing),
    # Digests, and a person's reason: nobody may be kept from erasing, whatever his words.
    Erase: _nothing,
    DeclareSession: _declaration,
    Eliminate: _elimination,
    # The raw answers of a model are measured, and stated by nobody.
    SubmitClaims: lambda command: command.bundle,
    Measure: lambda command: command.statement,
    # Not why: a person may say that something rests on an idea, and that this is the reason.
    DecideApproval: lambda command: {"claims": msgspec.to_builtins(command.claims)},
    WithdrawApproval: _nothing,
    RetractClaims: _nothing,
    Propose: _proposal,
    Remember: _memory,
    StageIntent: _change,
}
"""What of a command counts as said; of all others, everything."""

SCANNED_ELSEWHERE: Final = frozenset({DeclareSession, Propose, Remember, DesignExperiment, StageIntent})
"""Their rules know more exactly what may be in them. A declaration holds ids, with no field to hide in."""

STOPPED_AS: Final[dict[type, Code]] = {
    Eliminate: Code.SPECULATIVE_EVIDENCE,
    SubmitClaims: Code.SPECULATIVE_ASSERTION,
    DecideApproval: Code.SPECULATIVE_ASSERTION,
    DeclareConclusion: Code.SPECULATIVE_ASSERTION,
    RequestTermination: Code.SPECULATIVE_ASSERTION,
}
"""What it is called if speculation hides in a command; in all others it is a proposal."""


def speculation_in(command: Command, notes: str | None = None) -> Refused | None:
    """Why a command with these notes does not reach its rule; None if it does."""
    return _in_command(command) or (None if notes is None else _in_notes(command, notes))


def _in_notes(command: Command, notes: str) -> Refused | None:
    """Notes are read by people who look at what was decided: they are a text like any other there."""
    if type(command) in speculation.RULES or (
        isinstance(command, StageIntent) and INTENT_LANES[command.change.type] == SPECULATIVE
    ):
        return None
    said = {"notes": notes}
    return _by_reference(said) or _by_marker(said, type(command))


def _in_command(command: Command) -> Refused | None:
    kind: type = type(command)
    part: Part = JUDGED.get(kind, _whole)
    said = part(command)
    if said is None or _is_innocent(said, kind not in SCANNED_ELSEWHERE):
        return None
    said = msgspec.to_builtins(said) if isinstance(said, msgspec.Struct) else said
    return _by_reference(said) or (None if kind in SCANNED_ELSEWHERE else _by_marker(said, kind))


def _by_reference(said: Any) -> Refused | None:
    reference = find_reference(said)
    if reference is None:
        return None
    text = f"`{reference.found}` is of the speculative lane: nothing can rest on it or be named like it"
    return refused(Code.HYPOTHESIS_IS_NOT_EVIDENCE, text, reference.path)


def _by_marker(said: Any, kind: type) -> Refused | None:
    marker = find_marker(said)
    return None if marker is None else refused_by(stopped_by(marker, _code(kind)))


def _is_innocent(said: Any, scanned: bool) -> bool:
    """Is it written without anything that an id or a marker needs? One look at it shows that of most."""
    dump = _written(said) if isinstance(said, msgspec.Struct) else dumped(said)
    folded = None if dump is None else plain(dump.decode())
    if dump is None or folded is None or not has_no_reference(folded):
        return False
    return not scanned or has_no_word(dump, folded)


def _written(document: msgspec.Struct) -> bytes | None:
    """All texts of a Struct; what its types say, no author has said."""
    texts = texts_in(document)
    try:
        if texts is None:
            dump = msgspec.json.encode(document)
            return dump if dump.isascii() else None
        # A quote on either side, as in JSON: a digest that is a text by itself is known by them.
        return _QUOTED.join(texts).join('""').encode("ascii")
    except (TypeError, ValueError):  # half a surrogate pair is a `ValueError`, as is all that is not ASCII
        return None


def stopped_with(kind: type) -> tuple[Code, ...]:
    """The errors that commands of a kind, or the notes beside them, can be stopped with here."""
    return () if kind in speculation.RULES else (Code.HYPOTHESIS_IS_NOT_EVIDENCE, _code(kind))


def _code(kind: type) -> Code:
    return STOPPED_AS.get(kind, Code.SPECULATIVE_PROPOSAL)
