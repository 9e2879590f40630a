"""Handlers of memory: what agents want to find again."""

from beliefd.kernel.claims.bundle import seconds
from beliefd.kernel.state import MemoryState
from beliefd.kernel.substrate.events import (
    Remembered,
)
from beliefd.kernel.substrate.proposals import (
    MemoryEntry,
    Remember,
)
from beliefd.protocol import substrate_answers as answers
from beliefd.protocol.wire import bind, convert
from beliefd.steward.call import Call
from beliefd.steward.environment import Environment
from beliefd.steward.handlers.shared import as_recorded
from beliefd.steward.write.positions import Positions
from beliefd.steward.write.submitting import Submit, submit_for


class MemoryHandlers:
    """Entries leave the view when they expire, never the ledger."""

    def __init__(self, positions: Positions, submit: Submit, environment: Environment) -> None:
        self._positions = positions
        self._submit = submit
        self._environment = environment

    async def remember(self, call: Call) -> answers.MemoryAnswer:
        command = Remember(entry=convert(bind(as_recorded(call.body), call.path), MemoryEntry))
        outcome = await submit_for(self._submit, call.session_id, command, call)
        assert isinstance(outcome.event, Remembered)  # noqa: S101
        state = outcome.session.memory[command.entry.memory_id]
        view = _memory(state, self._environment.now())
        return answers.MemoryAnswer(memory=view, audit_event_id=outcome.head.event_id)

    async def list_memory(self, call: Call) -> answers.MemoryPage:
        """What has not expired; entries leave the view, never the ledger."""
        session = (await self._positions.existing(call.session_id)).session
        now = self._environment.now()
        views = [_memory(session.memory[name], now) for name in sorted(session.memory)]
        live = [view for view in views if view.expires_at is None or seconds(view.expires_at) > seconds(now)]
        if call.query["show"] == "review":
            live = [view for view in live if view.review_due]
        return answers.MemoryPage(entries=live)


def _memory(state: MemoryState, now: str) -> answers.MemoryView:
    review_at = state.entry.review_at
    return answers.MemoryView(
        entry=state.entry,
        confirmed=state.confirmed,
        remembered_at=state.remembered_at,
        expires_at=state.expires_at,
        review_due=state.entry.conflict_state != "none"
        or (review_at is not None and seconds(review_at) <= seconds(now)),
    )
