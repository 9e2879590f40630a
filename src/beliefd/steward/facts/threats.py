"""Asking detectors what they see: within a budget of bytes, against the clock, beside the event loop."""

import asyncio
import contextlib
import threading
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache
from typing import Final

import msgspec

from beliefd.adversarial.builtin import assess
from beliefd.kernel.canonical import canonical
from beliefd.kernel.claims.bundle import MAX_CLAIMS, ClaimBundle
from beliefd.kernel.claims.policy import AdversarialPolicy
from beliefd.kernel.claims.threat import Threat
from beliefd.kernel.errors import BeliefdError, Code
from beliefd.kernel.policy import Policy
from beliefd.kernel.values import MAX_ID_LENGTH

Texts = Sequence[tuple[str, str]]
Detector = Callable[[Texts, int, Sequence[int]], Threat]
"""(path, text) pairs, the bundle's tier, earlier tiers of the same principal -> what it found."""

BUILTIN: Final = "builtin"
IN_PLACE: Final = 2 * 1024
"""Bytes that the built-in detector reads on the event loop; a thread costs more than so little text does."""
IN_A_TURN: Final = 16 * 1024
"""Bytes that it reads there in one turn of the loop, for all callers together; the rest waits its turn."""
LONG: Final = 32 * 1024
MAX_RUNNING: Final = 16
"""So many questions may be with detectors at once; those that hang count too."""
MAX_OWN: Final = MAX_RUNNING // 4
"""So many of them may be about what one principal says: nobody takes all places."""
NOBODY: Final = "none"
TOO_LONG: Final = "too long to be looked at"
OVER_THE_RATE: Final = "not asked, the principal is over its rate"


class _Question:
    """One bundle's texts for one detector. Nobody waits for it any longer once it is `over`."""

    def __init__(self, texts: Texts, tier: int, trail: Sequence[int], asker: str) -> None:
        self.texts, self.tier, self.trail, self.asker = texts, tier, trail, asker
        self.over = False

    def put_to(self, name: str, detector: Detector) -> Threat:
        """INVARIANT: whatever a detector does, a verdict comes out that can be recorded and judged."""
        try:
            found = detector(self.texts, self.tier, self.trail)
            if detector is assess:
                return found
            threat = msgspec.convert(msgspec.to_builtins(found), Threat)
            canonical(msgspec.to_builtins(threat))
            return threat
        except BaseException as error:
            return Threat(detector=name, failed=f"it raised {type(error).__name__}")


class ThreatFinder:
    """Asks all detectors that policy wants asked. What cannot be asked has failed, and the gate defers."""

    def __init__(self, detectors: Detector | Mapping[str, Detector] | None = None) -> None:
        self._detectors = _by_name(detectors)
        self._running = self._read = 0
        self._loop: asyncio.AbstractEventLoop | None = None
        self._by_asker: Counter[str] = Counter()
        # Ours read one bundle at a time: more threads would only take turns with the event loop.
        self._turns = {name: threading.Lock() for name, one in self._detectors.items() if _is_ours(one)}

    async def threats(
        self, texts: Texts, tier: int, trail: Sequence[int], rules: AdversarialPolicy, asker: str = ""
    ) -> tuple[Threat, ...]:
        """One verdict per detector, at least one. INVARIANT: how much there is to read is known before.

        `asker` is the principal whose texts they are.
        """
        names = rules.asked or tuple(self._detectors)
        size = size_of(texts)
        if size > rules.budget:
            failed = f"{TOO_LONG}: {size} bytes of text, at most {rules.budget} are read"
            return (Threat(detector=names[0] if names else NOBODY, failed=failed),)
        question = _Question(texts, tier, trail, asker)
        if len(names) == 1 and size <= IN_PLACE and self._detectors.get(names[0]) is assess:
            await self._room_for(size)
            return (question.put_to(names[0], assess),)  # as mostly: nothing has to be waited for
        try:
            asked = [self._asked(name, question, size, rules.timeout_ms) for name in names]
            if len(asked) == 1:  # a task of its own would take as long as a look at a short text
                return (await asked[0],)
            return tuple(await asyncio.gather(*asked)) or (Threat(detector=NOBODY, failed="no detector ran"),)
        finally:
            question.over = True

    async def _asked(self, name: str, question: _Question, size: int, timeout_ms: int) -> Threat:
        detector = self._detectors.get(name)
        if detector is None:
            return Threat(detector=name, failed=f"it is not set up here; serve with `--detector {name}`")
        if detector is assess and size <= IN_PLACE:
            await self._room_for(size)
            return question.put_to(name, detector)
        if self._running >= MAX_RUNNING:
            return Threat(detector=name, failed=f"{MAX_RUNNING} earlier questions hang")
        if question.asker and self._by_asker[question.asker] >= MAX_OWN:
            return Threat(detector=name, failed=f"{MAX_OWN} earlier questions about this principal hang")
        # Ours takes its questions one by one, and always comes back: those before have their time too.
        turns = 1 + (self._running if name in self._turns else 0)
        try:
            return await asyncio.wait_for(self._apart(name, detector, question), turns * timeout_ms / 1000)
        except TimeoutError:
            return Threat(detector=name, failed=f"no answer within {timeout_ms} ms")

    async def _room_for(self, size: int) -> None:
        """INVARIANT: however many ask at once, between two of its turns the loop waits for so many bytes."""
        if (loop := asyncio.get_running_loop()) is not self._loop:
            self._loop, self._read = loop, 0
        while self._read + size > IN_A_TURN:  # noqa: ASYNC110 - one turn of the loop is waited for
            await asyncio.sleep(0)  # the count begins anew before whoever waited goes on
        if not self._read:
            loop.call_soon(self._next_turn)
        self._read += size

    def _next_turn(self) -> None:
        self._read = 0

    def _apart(self, name: str, detector: Detector, question: _Question) -> "asyncio.Future[Threat]":
        """In a thread: measured, it holds the event loop up for some milliseconds, as a process does."""
        loop = asyncio.get_running_loop()
        answer: asyncio.Future[Threat] = loop.create_future()

        def work() -> None:
            found = None
            with self._turns.get(name) or contextlib.nullcontext():
                if not question.over:
                    found = question.put_to(name, detector)
            with contextlib.suppress(RuntimeError):  # the loop is gone, and who asked with it
                loop.call_soon_threadsafe(self._pass_on, question, answer, found)

        self._running += 1
        self._by_asker[question.asker] += 1
        # A thread that hangs cannot be ended; as a daemon it does not keep the process from ending either.
        threading.Thread(target=work, name="beliefd-detector", daemon=True).start()
        return answer

    def _pass_on(self, question: _Question, answer: "asyncio.Future[Threat]", found: Threat | None) -> None:
        self._running -= 1
        self._by_asker[question.asker] -= 1
        if not self._by_asker[question.asker]:
            del self._by_asker[question.asker]
        if found is not None and not answer.done():
            answer.set_result(found)


def _by_name(detectors: Detector | Mapping[str, Detector] | None) -> dict[str, Detector]:
    if detectors is None:
        return {BUILTIN: assess}
    if isinstance(detectors, Mapping):
        return dict(detectors)
    return {str(getattr(detectors, "__name__", type(detectors).__name__)): detectors}


def _is_ours(detector: Detector) -> bool:
    """It always comes back, so others may wait for it."""
    return detector is assess or getattr(detector, "one_at_a_time", False)


def size_of(texts: Texts) -> int:
    """Bytes of text; characters that no encoding has count too."""
    written = "".join([text for _, text in texts])
    return len(written) if written.isascii() else len(written.encode("utf-8", "surrogatepass"))


def is_long(bundle: ClaimBundle, came_in: int = 0) -> bool:
    """Is there so much text in it that whatever reads it all must do so beside the event loop?"""
    return not _is_within(LONG, came_in) and size_of(texts_of(bundle)) > LONG


def _is_within(limit: int, came_in: int) -> bool:
    """A text is no longer than the JSON it came in; only who speaks may have been added to that."""
    return 0 < came_in <= limit - 4 * MAX_ID_LENGTH


def refuse_too_long(bundle: ClaimBundle, policy: Policy, came_in: int = 0) -> None:
    """INVARIANT: a bundle is kept in memory for as long as it waits for a person, so its length is bounded.

    What is too long is turned away and not recorded: a ledger keeps what it records for ever. `came_in` is
    how many bytes of JSON it came in, if that is known.
    """
    limit = policy.bounds.bundle_bytes
    if _is_within(limit, came_in):
        return
    # One by one: joined, a long bundle would be held once more only to be turned away.
    if (size := sum(size_of((one,)) for one in texts_of(bundle))) > limit:
        message = f"a bundle may hold {limit} bytes of text, and this has {size}; submit it in parts"
        raise BeliefdError(Code.PAYLOAD_TOO_LARGE, message, {"path": "$.claims", "limit": limit})


def texts_of(bundle: ClaimBundle) -> list[tuple[str, str]]:
    """Everything in a bundle that somebody could be told something by, with its path."""
    texts: list[tuple[str, str]] = [("$.origin_agent", bundle.origin_agent)]
    for index, claim in enumerate(bundle.claims):
        statement, cost, interpretation, evidence, first = _paths(index)
        texts.append((statement, claim.statement))
        if claim.if_wrong_cost:
            texts.append((cost, claim.if_wrong_cost))
        if claim.uncertainty.interpretation:
            texts.append((interpretation, claim.uncertainty.interpretation))
        pointers = claim.evidence_pointers
        if len(pointers) == 1:  # most claims have one
            texts.append((first, pointers[0].source))
        else:
            texts += [(f"{evidence}[{place}].source", one.source) for place, one in enumerate(pointers)]
    return texts


@lru_cache(MAX_CLAIMS)
def _paths(index: int) -> tuple[str, str, str, str, str]:
    path = f"$.claims[{index}]"
    pointers = "evidence_pointers"
    inner = ("statement", "if_wrong_cost", "uncertainty.interpretation", pointers, f"{pointers}[0].source")
    return tuple(f"{path}.{name}" for name in inner)  # type: ignore[return-value]
