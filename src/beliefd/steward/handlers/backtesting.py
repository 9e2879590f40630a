"""The handler that decides recorded ledgers again under another policy; nothing is written."""

from collections.abc import AsyncIterator
from threading import Lock

from msgspec import Struct, field

from beliefd.kernel.errors import BeliefdError, invalid
from beliefd.kernel.substrate.rulebook import trying
from beliefd.kernel.system.state import SYSTEM
from beliefd.ledger.envelope import LedgerBroken
from beliefd.policy.compiling import compiled
from beliefd.protocol.backtesting import AskBacktest, Backtest, Reached
from beliefd.protocol.rights import Right
from beliefd.protocol.wire import convert
from beliefd.steward.backtesting.ledgers import LedgerTrial, Trial
from beliefd.steward.backtesting.tally import Tally
from beliefd.steward.call import Call
from beliefd.steward.handlers.ledger import DecidedUnder
from beliefd.steward.offload import in_pool, too_busy
from beliefd.steward.spaces import Spaces
from beliefd.steward.write.positions import existing_head, session_not_found
from beliefd.stores.base import Store

PAGE = 100
COMPILING = Lock()
"""One policy is compiled at a time: whoever tries the same one finds it made."""


class BacktestHandlers(Struct, frozen=True):
    """What another policy would have decided."""

    store: Store
    spaces: Spaces
    _asking: set[str] = field(default_factory=set)
    """Whose backtests are under way."""

    async def backtest_policy(self, call: Call) -> Backtest:
        """INVARIANT: nobody has two under way, and none pushes what is decided by out of memory."""
        who = call.principal.id
        if who in self._asking:
            raise too_busy("a backtest of yours is under way: one at a time")
        self._asking.add(who)
        try:
            with trying():
                return await self._backtest(call)
        finally:
            self._asking.discard(who)

    async def _backtest(self, call: Call) -> Backtest:
        """INVARIANT: only what its caller may read is decided again, and no more than it asks for."""
        asked = await in_pool("parse", convert, call.body, AskBacktest)  # a policy can be long
        trial, tally = await in_pool("question", _tried, asked), Tally()
        after = asked.after
        async for session_id in self._sessions(call, asked):
            start = after.seq if after is not None and after.session_id == session_id else 0
            ledger = LedgerTrial(trial, (under := DecidedUnder(self.store)).policies, tally, start)
            try:
                over = await self._decide(session_id, ledger, under, asked.limit)
            except LedgerBroken as error:
                tally.break_off(session_id, error)
                continue
            if not over:
                return tally.answer(trial.name, Reached(session_id=session_id, seq=ledger.seq))
            tally.end(ledger.session)
        return tally.answer(trial.name)

    async def _decide(self, session_id: str, ledger: LedgerTrial, under: DecidedUnder, limit: int) -> bool:
        """True if all of it was decided again."""
        head = await existing_head(self.store, session_id)
        async for chunk in self.store.stream(session_id):
            within = [one for one in chunk if one.seq <= head.seq]
            await under.take(within)
            await in_pool("question", ledger.take, within, limit)
            if len(within) < len(chunk) or ledger.seq < within[-1].seq:
                break
        return ledger.seq >= head.seq

    async def _sessions(self, call: Call, asked: AskBacktest) -> AsyncIterator[str]:
        """The sessions in the order of their names, or in that of the question; from where it goes on."""
        after = None if asked.after is None else asked.after.session_id
        if asked.sessions is not None:
            named = list(dict.fromkeys(asked.sessions))
            for session_id in named:
                await self._check(call, session_id)
            for session_id in named[named.index(after) if after in named else 0 :]:
                yield session_id
            return
        if after is not None:
            await self._check(call, after)
            yield after
        while rows := await self.store.sessions(after, PAGE, call.readable):
            for row in rows:
                if row.session_id != SYSTEM:  # what operators do is decided by no policy
                    yield row.session_id
            after = rows[-1].session_id

    async def _check(self, call: Call, session_id: str) -> None:
        space = await self.spaces.of(session_id)
        if space is None or session_id == SYSTEM or not call.rights.may(Right.READ, space):
            raise session_not_found(session_id)


def _tried(asked: AskBacktest) -> Trial:
    try:
        with COMPILING:
            return Trial(compiled(asked.policy))
    except BeliefdError as error:
        path = str((error.details or {}).get("path", "$")).removeprefix("$")
        raise invalid(error.message, f"$.policy{path}") from None
