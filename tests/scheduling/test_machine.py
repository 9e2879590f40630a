"""Random stories of modes and interrupts against a model that is as plain as can be."""

from typing import Any

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

from beliefd.kernel.errors import BeliefdError, Code
from beliefd.kernel.values import Role, later
from beliefd.protocol.rights import rights_of
from beliefd.testing.world import AGENT, OTHER_AGENT, policy
from tests.substrate.support import ALLOW_ALL, ToolWorld, delta, deny, one, tool_call

LADDER = ["boost", "normal", "eco", "throttled", "offline-safe"]
RECOVER, COOLDOWN, WAKES, WINDOW = 100, 50, 2, 300
RISING, FALLING = 0.7, 0.4
PROGRAMS = ("agent", "watcher")
SPEAKERS = ("ann", *PROGRAMS)
RIGHTS = rights_of(Role.AGENT, "")
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
    """A clock that is looked at every second, what a person set, what it was lowered to, who interrupted."""

    def __init__(self) -> None:
        self.now = 0
        self.top, self.until = "normal", None
        self.mode, self.since = "normal", 0
        self.interrupted: tuple[str, str] | None = None
        self.wakes: dict[str, list[int]] = {name: [] for name in PROGRAMS}
        self.excited: set[str] = set()

    until: int | None

    def set(self, mode: str, until: int | None) -> None:
        self.top = self.mode = mode
        self.until = None if mode == "normal" else until

    def lower(self, mode: str) -> None:
        if mode != self.mode:
            self.mode, self.since = mode, self.now

    def second(self) -> None:
        self.now += 1
        if self.mode != self.top and (self.now - self.since) % RECOVER == 0:
            self.mode = LADDER[LADDER.index(self.mode) - 1]
        if self.now == self.until:
            if self.mode == self.top:
                self.mode = "normal"
            self.top, self.until = "normal", None

    def signal(self, who: str, kind: str, level: float) -> bool:
        if who in PROGRAMS and not self.counts(who, kind, level):
            return False
        self.interrupted = (kind, who)
        return True

    def counts(self, who: str, kind: str, level: float) -> bool:
        if kind == "surprisal" and level < RISING:
            if level <= FALLING:
                self.excited.discard(who)
            return False
        wakes = self.wakes[who]
        recent = [one for one in wakes if self.now - one < WINDOW]
        rests = bool(wakes) and self.now - wakes[-1] < COOLDOWN
        muted = kind == "surprisal" and who in self.excited
        if muted or self.interrupted is not None or rests or len(recent) >= WAKES:
            return False
        if kind == "surprisal":
            self.excited.add(who)
        wakes.append(self.now)
        return True

    @property
    def only_people(self) -> bool:
        assert self.interrupted is not None
        kind, who = self.interrupted
        return who not in PROGRAMS or kind in ("user_intent", "policy_deadline")


class Scheduling(RuleBasedStateMachine):
    @initialize()
    def begin(self) -> None:
        self.house = ToolWorld(policy=POLICY)
        self.session = self.house.session()
        # For long: hours pass here, and what is tried is not whether a capability ends.
        issued = self.house.root.issue_capability(
            self.session, agent_id=AGENT.id, scope={"tools": ["*"]}, expires_in_seconds=30 * 24 * 3600
        )
        self.token = issued.token
        self.model = Model()
        self.speakers = {
            "ann": self.house.ann,
            "agent": self.house.person(AGENT, RIGHTS),
            "watcher": self.house.person(OTHER_AGENT, RIGHTS),
        }

    def teardown(self) -> None:
        if hasattr(self, "house"):
            self.house.check(self.session)
            self.house.close()

    @rule(by=st.sampled_from([1, 49, 50, 99, 100, 101, 250, 1_000]))
    def time_passes(self, by: int) -> None:
        self.house.clock.advance(by)
        for _ in range(by):
            self.model.second()

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
                model.set(mode, None if lasts is None else model.now + lasts)
        else:
            assert done == (lasts is None and LADDER.index(mode) > LADDER.index(model.mode))
            if done:
                model.lower(mode)

    @rule()
    def something_is_proposed(self) -> None:
        answer = one(self.house.agent.propose(self.session, [delta(goal__x=1)]))
        assert answer.verdict == ("allow" if self.model.interrupted is None else "defer")

    @rule()
    def something_degrades(self) -> None:
        model, mode = self.model, self.model.mode
        answer = self.house.agent.propose(self.session, [tool_call("calc.add", self.token, a=1, b=1)])
        if model.interrupted is None:
            assert one(answer).on_fail == "degrade"
            mode = LADDER[min(LADDER.index(mode) + 1, len(LADDER) - 1)]
        model.lower(mode)
        assert answer.mode == mode

    @rule(
        name=st.sampled_from(SPEAKERS),
        kind=st.sampled_from(["surprisal", "goal_conflict", "user_intent", "policy_deadline"]),
        level=st.sampled_from([0.0, FALLING, 0.5, RISING, 1.0]),
    )
    def somebody_interrupts(self, name: str, kind: str, level: float) -> None:
        answer = self.speakers[name].interrupt(self.session, kind, "look", level=level)
        assert answer.interrupted == self.model.signal(name, kind, level)

    @rule(name=st.sampled_from(SPEAKERS))
    def somebody_resumes(self, name: str) -> None:
        who, held = self.speakers[name], self.model.interrupted
        done = self._passes(lambda: who.resume(self.session, "looked"))
        may = name not in PROGRAMS or (held is not None and held[1] == name and not self.model.only_people)
        assert done == (held is not None and may)
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
        assert held == (None if model.interrupted is None else (model.interrupted[0], model.only_people))


TestScheduling = Scheduling.TestCase
TestScheduling.settings = settings(max_examples=60, stateful_step_count=30, deadline=None)
