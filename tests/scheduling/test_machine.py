"""Random stories of modes and interrupts against a model that is as plain as can be."""

from typing import Any

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

from beliefd.kernel.errors import BeliefdError, Code
from beliefd.kernel.values import later
from beliefd.testing.world import policy
from tests.substrate.support import ALLOW_ALL, ToolWorld, delta, deny, one, tool_call

LADDER = ["boost", "normal", "eco", "throttled", "offline-safe"]
RECOVER, COOLDOWN, WAKES, WINDOW = 100, 50, 2, 300
RISING, FALLING = 0.7, 0.4
POLICY = policy(
    constraints={"constraint.all": ALLOW_ALL, "constraint.busy": deny("calc.add", on_fail="degrade")},
    modes={"recover_seconds": RECOVER},
    scheduling={
        "interrupts": {
            "cooldown_seconds": COOLDOWN,
            "wakes": WAKES,
            "window_seconds": WINDOW,
            "rising": RISING,
            "falling": FALLING,
        }
    },
)


class Model:
    """A clock, what a person set, how many steps it is below that, and who interrupted."""

    def __init__(self) -> None:
        self.now = 0
        self.given, self.until = "normal", None
        self.low, self.since = "", 0
        self.interrupted: tuple[str, bool] | None = None
        self.wakes: list[int] = []
        self.excited = False

    until: int | None

    @property
    def top(self) -> str:
        over = self.until is not None and self.now >= self.until
        return "normal" if over else self.given

    @property
    def mode(self) -> str:
        at = LADDER.index(self.low or self.top)
        for _ in range((self.now - self.since) // RECOVER if self.low else 0):
            at -= 1
        return LADDER[max(at, LADDER.index(self.top))]

    def settle(self, mode: str) -> None:
        """An event writes down what the mode is by now; whatever recovers from there begins anew."""
        top, changed = self.top, mode != self.mode or mode != (self.low or self.given)
        expired = self.until is not None and self.now >= self.until
        if expired:
            self.given, self.until = "normal", None
        if changed or expired:
            self.low, self.since = ("", 0) if mode == top else (mode, self.now)

    def signal(self, kind: str, level: float, person: bool) -> bool:
        if not person:
            if kind == "surprisal" and level < RISING:
                self.excited = self.excited and level > FALLING
                return False
            if kind == "surprisal" and self.excited:
                return False
            recent = [one for one in self.wakes if self.now - one < WINDOW]
            rests = bool(self.wakes) and self.now - self.wakes[-1] < COOLDOWN
            if self.interrupted is not None or rests or len(recent) >= WAKES:
                return False
        self.excited = self.excited or kind == "surprisal"
        self.wakes.append(self.now)
        people = person or kind in ("user_intent", "policy_deadline")
        self.interrupted = (kind, people)
        return True


class Scheduling(RuleBasedStateMachine):
    @initialize()
    def begin(self) -> None:
        self.house = ToolWorld(policy=POLICY)
        self.session = self.house.session()
        self.token = self.house.token(self.session)
        self.model = Model()

    def teardown(self) -> None:
        if hasattr(self, "house"):
            self.house.check(self.session)
            self.house.close()

    @rule(by=st.sampled_from([1, 49, 50, 99, 100, 101, 250, 1_000]))
    def time_passes(self, by: int) -> None:
        self.house.clock.advance(by)
        self.model.now += by

    @rule(
        person=st.booleans(),
        mode=st.sampled_from(LADDER),
        lasts=st.none() | st.sampled_from([0, 50, 100, 400]),
    )
    def somebody_sets_a_mode(self, person: bool, mode: str, lasts: int | None) -> None:
        model, now = self.model, self.house.clock.now()
        until = None if lasts is None else later(now, lasts)
        who = self.house.ann if person else self.house.agent
        done = self._passes(lambda: who.set_mode(self.session, mode, "because", until=until))
        if person:
            assert done == (lasts != 0)
            if done:
                model.given = mode
                model.until = None if lasts is None or mode == "normal" else model.now + lasts
                model.low, model.since = "", 0
        else:
            assert done == (lasts is None and LADDER.index(mode) > LADDER.index(model.mode))
            if done:
                model.settle(mode)

    @rule()
    def something_is_proposed(self) -> None:
        answer = one(self.house.agent.propose(self.session, [delta(goal__x=1)]))
        assert answer.verdict == ("allow" if self.model.interrupted is None else "defer")
        self.model.settle(self.model.mode)

    @rule()
    def something_degrades(self) -> None:
        model, mode = self.model, self.model.mode
        answer = self.house.agent.propose(self.session, [tool_call("calc.add", self.token, a=1, b=1)])
        if model.interrupted is None:
            assert one(answer).on_fail == "degrade"
            mode = LADDER[min(LADDER.index(mode) + 1, len(LADDER) - 1)]
        model.settle(mode)
        assert answer.mode == mode

    @rule(
        person=st.booleans(),
        kind=st.sampled_from(["surprisal", "goal_conflict", "user_intent", "policy_deadline"]),
        level=st.sampled_from([0.0, FALLING, 0.5, RISING, 1.0]),
    )
    def somebody_interrupts(self, person: bool, kind: str, level: float) -> None:
        who = self.house.ann if person else self.house.agent
        answer = who.interrupt(self.session, kind, "look", level=level)
        assert answer.interrupted == self.model.signal(kind, level, person)

    @rule(person=st.booleans())
    def somebody_resumes(self, person: bool) -> None:
        who, held = self.house.ann if person else self.house.agent, self.model.interrupted
        done = self._passes(lambda: who.resume(self.session, "looked"))
        assert done == (held is not None and (person or not held[1]))
        if done:
            self.model.interrupted = None

    @rule()
    def the_process_ends(self) -> None:
        self.house.forget()

    def _passes(self, act: Any) -> bool:
        try:
            act()
        except BeliefdError as error:
            if error.code not in (Code.CONFLICT, Code.FORBIDDEN):
                raise
            return False
        return True

    @invariant()
    def what_is_shown_is_what_the_model_says(self) -> None:
        if not hasattr(self, "house"):
            return
        shown, model = self.house.agent.show_schedule(self.session), self.model
        assert (shown.mode, shown.set_to) == (model.mode, model.top)
        held = (
            None if shown.interruption is None else (shown.interruption.kind, shown.interruption.only_people)
        )
        assert held == model.interrupted


TestScheduling = Scheduling.TestCase
TestScheduling.settings = settings(max_examples=60, stateful_step_count=30, deadline=None)
