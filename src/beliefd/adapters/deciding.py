"""One decision for every framework: a call is proposed, runs once under its permit, and is reported.

Frameworks have their own ways to call tools and to wait. What is asked, in which session, and what an answer
means is the same for all of them, and stands here.
"""

import asyncio
import hashlib
import logging
import threading
import time
import uuid
from collections import OrderedDict
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any, Final, TypeVar

from msgspec import Struct

from beliefd.adapters.answers import GatedAnswer, submit_answer
from beliefd.adapters.reports import Report, Reports
from beliefd.adapters.wanting import Decision, Wanted, refusal, verdict_on, waiting, wanted
from beliefd.client.synchronous import Calls
from beliefd.client.synchronous_http import Client
from beliefd.kernel.canonical import digest
from beliefd.kernel.errors import BeliefdError, Code
from beliefd.kernel.values import MAX_ID_LENGTH, Object
from beliefd.protocol.approvals import ApprovalCard
from beliefd.protocol.conversations import HYPOTHESES, ONTOLOGY, conversation_key
from beliefd.protocol.substrate import CandidateAnswer

log = logging.getLogger("beliefd.adapters")
T = TypeVar("T")
OPEN: Final = frozenset({"pending", "deferred", "superseded"})
MOST_CONVERSATIONS: Final = 10_000
MOST_ATTEMPTS: Final = 8
MOST_FOLLOWED: Final = 20
HOLD_SECONDS: Final = 20.0
RETRIES: Final = 2
TELLER: Final = "add `context: {tellers: [...]}` with its name to the policy, as the preset `guard` does"
WITHIN: Final[ContextVar["Conversation | None"]] = ContextVar("beliefd_within", default=None)
"""The conversation whose tool runs right now. An agent that is run inside it takes part in that one."""
TURN: Final[ContextVar["Conversation | None"]] = ContextVar("beliefd_turn", default=None)
"""The conversation that a program has said it is in, where a framework does not know."""


class Guard:
    """Stands between a framework and its tools, for any number of conversations and threads.

    `client` is the way to beliefd; without one, a server at `BELIEFD_URL` with `BELIEFD_TOKEN`. `system` is
    what the operator tells the agent. `hold` is how many seconds a call that waits for a person is held
    before the framework is told that it waits. Each conversation is a session over `hypotheses`.
    """

    def __init__(
        self,
        framework: str,
        client: Calls | None = None,
        *,
        system: str = "",
        hold: float = 0,
        hypotheses: Sequence[str] = HYPOTHESES,
        ontology: Mapping[str, str] | None = None,
        space: str | None = None,
    ) -> None:
        self.framework = framework
        self.client = Client(retries=RETRIES) if client is None else client
        self.system = system
        self.hold = hold
        self.hypotheses = tuple(hypotheses)
        self.ontology = ONTOLOGY if ontology is None else dict(ontology)
        self.space = space
        self._held: OrderedDict[str, Conversation] = OrderedDict()
        self._lock = threading.Lock()

    def conversation(self, key: str) -> "Conversation":
        """The conversation that the framework knows by this key; what is forgotten here, the server knows."""
        if (outer := WITHIN.get()) is not None:
            return outer
        with self._lock:
            found = self._held.get(key) or Conversation(self, key)
            self._held[key] = found
            self._held.move_to_end(key)
            while len(self._held) > MOST_CONVERSATIONS:
                self._held.popitem(last=False)
            return found

    @contextmanager
    def turn(self, key: str, user: str = "") -> Iterator["Conversation"]:
        """What runs inside belongs to this conversation; `user` is what the user says in this turn."""
        talk = self.conversation(key)
        talk.tell("user", user)
        before = TURN.set(talk)
        try:
            yield talk
        finally:
            TURN.reset(before)

    def of_turn(self) -> "Conversation | None":
        """The conversation that is under way here, if a program or an outer tool has said so."""
        return WITHIN.get() or TURN.get()

    @property
    def address(self) -> str:
        """Where the server is, for links; empty where there is none."""
        return str(getattr(self.client, "_url", "")).rstrip("/")


class Conversation:
    """One conversation of an agent, which is one session of beliefd."""

    def __init__(self, guard: Guard, key: str) -> None:
        self.guard = guard
        self.key = key
        self.client = guard.client
        self._reports = Reports(guard.client)
        self._lock = threading.RLock()
        self._session_id: str | None = None
        self._told: set[str] = set()
        self._is_teller = True

    @property
    def session_id(self) -> str:
        """Its session, which is opened on first use: the same one for the same key, in whatever process."""
        with self._lock:
            if self._session_id is None:
                self._session_id = self._opened()
            return self._session_id

    def _opened(self) -> str:
        guard, name = self.guard, conversation_key(self.guard.framework, self.key)
        session_id = self.client.declare_session(
            guard.hypotheses,
            guard.ontology,
            metadata={"client": guard.framework, "conversation": self.key[:MAX_ID_LENGTH]},
            space=guard.space,
            idempotency_key=_short(name),
        ).session_id
        if guard.system:
            self._tell(session_id, "system", guard.system, f"system:{digest(guard.system)}")
        return session_id

    # -- what the agent is told ------------------------------------------------------------------

    async def atell(self, kind: str, text: str, name: str | None = None) -> None:
        """`tell` on an event loop."""
        await asyncio.to_thread(self.tell, kind, text, name)

    def tell(self, kind: str, text: str, name: str | None = None) -> None:
        """Tell what the user or the system said, once under each `name`.

        What cannot be told does not count as the user's word, so that nothing is allowed because of it.
        INVARIANT: what an agent is told inside a tool was written by a model, and is nobody's word.
        """
        if not text.strip() or (WITHIN.get() is not None and kind != "result"):
            return
        try:
            self._tell(self.session_id, kind, text, name or uuid.uuid4().hex)
        except Exception as error:
            log.warning("context was not told: %s", _words(error))

    def _tell(self, session_id: str, kind: str, text: str, name: str) -> None:
        with self._lock:
            if name in self._told or not self._is_teller:
                return
            try:
                once = _short(f"told:{session_id}:{name}")
                self.client.add_context(session_id, kind, str(text), idempotency_key=once)
            except BeliefdError as error:
                # INVARIANT: whose word does not count is on record once, not with every message.
                if error.code is not Code.FORBIDDEN:
                    raise
                self._is_teller = False
                log.warning("context does not count here: %s; %s", error.message, TELLER)
            self._told.add(name)

    # -- what the agent wants --------------------------------------------------------------------

    def decide(
        self, tool_id: str, args: Mapping[str, Any], key: str | None = None, rationale: str = ""
    ) -> Decision:
        """May it run? Asked again with the same `key`, what was approved since begins, once.

        INVARIANT: whatever fails here ends in a refusal.
        """
        try:
            self._reports.settle()
            return self._decided(wanted(tool_id, args, key, rationale))
        except BeliefdError as error:
            return refusal(tool_id, error.message, error.code.value)
        except Exception as error:
            return refusal(tool_id, _words(error), "UNCLEAR")

    def _decided(self, asked: Wanted) -> Decision:
        until = time.monotonic() + self.guard.hold
        while True:
            decision = self._judged(asked)
            left = until - time.monotonic()
            if decision.approval_id is None or left <= 0:
                return decision
            self.client.wait_for_approval(decision.approval_id, min(left, HOLD_SECONDS))

    def _judged(self, asked: Wanted) -> Decision:
        """A call that ended in an error may be tried again: that is another call, judged by itself."""
        for attempt in range(1, MOST_ATTEMPTS + 1):
            asked = Wanted(asked.tool_id, asked.args, asked.key, asked.rationale, attempt)
            answer = self._proposed(asked, asked.once(self.session_id))
            if answer.approval_id is not None:
                card = self._card(answer.approval_id)
                if card.status in OPEN:
                    return waiting(asked, card.approval_id, self.guard.address, answer)
                if card.status != "approved":
                    return refusal(asked.tool_id, f"a person was asked: {_said(card)}", card.status.upper())
                # INVARIANT: only the inbox's own word leads here. What was approved begins, once.
                answer = self._proposed(asked, None)
                if answer.approval_id is not None:
                    return waiting(asked, answer.approval_id, self.guard.address, answer)
            if not (answer.verdict == "allow" and answer.permit is None and answer.status == "error"):
                break
        return verdict_on(asked, answer)

    def _proposed(self, asked: Wanted, key: str | None) -> CandidateAnswer:
        (answer,) = self.client.propose(
            self.session_id, [asked.candidate], execute="caller", idempotency_key=key
        ).results
        return answer

    def _card(self, approval_id: str) -> ApprovalCard:
        """The item of the inbox that stands for it now: one that timed out may have been passed on."""
        card = self.client.show_approval(approval_id)
        for _ in range(MOST_FOLLOWED):
            if card.successor is None:
                break
            card = self.client.show_approval(card.successor)
        return card

    # -- what came of it -------------------------------------------------------------------------

    def run(self, decision: Decision, call: Callable[[], T], told: Callable[[T], Any] = lambda it: it) -> T:
        """Run what was allowed, once, and report what came of it. `told` is what of it the agent sees."""
        call_id, before = _permitted(decision), WITHIN.set(self)
        try:
            result = call()
        except BaseException as error:
            self._failed(call_id, error)
            raise
        finally:
            WITHIN.reset(before)
        self._report(_report_of(call_id, told(result)))
        return result

    async def arun(
        self, decision: Decision, call: Callable[[], Awaitable[T]], told: Callable[[T], Any] = lambda it: it
    ) -> T:
        """The same on an event loop."""
        call_id, before = _permitted(decision), WITHIN.set(self)
        try:
            result = await call()
        except BaseException as error:
            await asyncio.shield(asyncio.to_thread(self._failed, call_id, error))
            raise
        finally:
            WITHIN.reset(before)
        await asyncio.shield(asyncio.to_thread(self._report, _report_of(call_id, told(result))))
        return result

    async def adecide(
        self, tool_id: str, args: Mapping[str, Any], key: str | None = None, rationale: str = ""
    ) -> Decision:
        """`decide` on an event loop. Who leaves meanwhile leaves no permit behind that nobody has used."""
        asking = asyncio.ensure_future(asyncio.to_thread(self.decide, tool_id, args, key, rationale))
        try:
            return await asyncio.shield(asking)
        except asyncio.CancelledError:
            asking.add_done_callback(self._drop)
            raise

    def drop(self, decision: Decision, why: str = "it was not run") -> None:
        """Give leave back that is not used."""
        if decision.call_id is not None:
            self._report(Report(call_id=decision.call_id, status="error", error=why))

    def _drop(self, asking: "asyncio.Future[Decision]") -> None:
        if not asking.cancelled() and asking.exception() is None and asking.result().runs:
            threading.Thread(target=self.drop, args=(asking.result(), "cancelled before it ran")).start()

    def failed(self, decision: Decision, error: BaseException) -> None:
        """Report that it raised: for frameworks that run it themselves."""
        self._failed(_permitted(decision), error)

    def ended(self, decision: Decision, result: Any) -> None:
        """Report its result: for frameworks that run it themselves."""
        self._report(_report_of(_permitted(decision), result))

    def _failed(self, call_id: str, error: BaseException) -> None:
        """An exception is the tool's answer. What stops a program leaves nobody who knows how far it came."""
        status = "error" if isinstance(error, Exception) else "unknown"
        self._report(Report(call_id=call_id, status=status, error=_words(error)))

    def _report(self, report: Report) -> None:
        self._reports.make(self.session_id, report)

    # -- what the agent says ---------------------------------------------------------------------

    def gate_answer(self, text: str, claims: Sequence[Object] = (), **said: Any) -> GatedAnswer:
        """Put a final answer before the gates, as one claim or as these. Only what is published goes out."""
        return submit_answer(self.client, lambda: self.session_id, text, claims, **said)


class Failed(Struct, frozen=True):
    """What a tool gave back where its framework has caught what it raised."""

    text: str


def no_turn(tool_id: str) -> Decision:
    """The refusal where nobody has said which conversation a call belongs to."""
    return refusal(
        tool_id, "no conversation is open: call the agent inside `with ....turn(key, text)`", "NO_TURN"
    )


def _report_of(call_id: str, result: Any) -> Report:
    if isinstance(result, Failed):
        return Report(call_id=call_id, status="error", error=result.text)
    return Report(call_id=call_id, status="ok", result=result)


def _permitted(decision: Decision) -> str:
    if not decision.runs or decision.call_id is None:
        raise RuntimeError("only what was allowed is run")
    return decision.call_id


def _said(card: ApprovalCard) -> str:
    reasons = [f"{word.approver}: {word.reason}" for word in card.approvals if word.reason]
    return "; ".join([card.status, *reasons])


def _words(error: BaseException) -> str:
    return f"{type(error).__name__}: {error}" if str(error) else type(error).__name__


def _short(name: str) -> str:
    """A key of printable letters and bounded length."""
    return hashlib.sha256(name.encode("utf-8", "surrogatepass")).hexdigest()
