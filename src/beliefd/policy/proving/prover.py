"""Answers questions about policies: a proof, a call that shows the opposite, or that it cannot be said."""

import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from itertools import islice
from typing import Final

import z3
from msgspec import UNSET, Struct
from msgspec.structs import replace

from beliefd.kernel.policy import Policy
from beliefd.kernel.substrate.constraints import Constraint
from beliefd.kernel.substrate.guarantees import Guarantee
from beliefd.kernel.substrate.predicates import paths_read, schemas_named
from beliefd.kernel.substrate.rulebook import rulebook
from beliefd.kernel.substrate.schemas import BadSchema
from beliefd.kernel.substrate.text_bounds import TextTooLong
from beliefd.ledger.chain import policy_hash
from beliefd.policy.proving.affected import affected, outside
from beliefd.policy.proving.logic import Formula, both, either, implied, negated
from beliefd.policy.proving.paths import ARGS, TOOL
from beliefd.policy.proving.queries import Query, queries, without
from beliefd.policy.proving.realising import Reader
from beliefd.policy.proving.rulings import Ruling
from beliefd.policy.proving.witnesses import Judge, Witness, astray, settled, smaller, witness_of
from beliefd.policy.proving.world import Side, World
from beliefd.protocol.proofs import SECONDS, Proof

NAMED: Final = 5
"""So many changes that nothing is proved about are named."""
ROUNDS: Final = 40
"""So many calls of the solver's are tried that turn out to be none."""
USUAL: Final = z3.Bool("usual")
UNUSUAL_CALLS: Final = (
    "a text that is too long for a pattern, a number that no JSON holds, or the end of all times"
)
BATCH: Final = 4
"""With every turn, so many times more constraints are told to the solver that it was not told yet."""
Report = Callable[[str], None]


class Unsettled(Exception):
    """It cannot be said; the message says why not."""


class Stage(Struct):
    """All calls that `questions` are about, as the solver knows them. `told` are variables that it knows."""

    world: World
    rulings: Mapping[Side, Ruling]
    solver: z3.Solver
    questions: tuple[Guarantee, ...] = ()
    told: set[str] = set()

    def tell(self, formulas: Iterable[Formula]) -> None:
        """Add what must hold, and what holds of the variables that come up with it."""
        self.solver.add(*map(_told, formulas))
        # What is said of a variable may speak of one that did not come up before.
        while new := [name for name in self.world.coming_up if name not in self.told]:
            self.told.update(new)
            for domain in map(self.world.domains.__getitem__, new):
                self.solver.add(*map(_told, domain.axioms()))
                self.solver.add(_told(self.world.held_by_key(domain)))
                self.solver.add(_told(self.world.holds_fields(domain)))
                self.solver.add(_told(self.world.read_twice(domain)))

    def pop(self) -> None:
        """Forget what was told since the last push. What it said of variables is told anew."""
        self.solver.pop()
        self.told.clear()


class Prover:
    """Asks the solver about one policy, or about two. What was set up for one question serves the next."""

    def __init__(
        self,
        new: Policy,
        old: Policy | None = None,
        seconds: float = SECONDS,
        report: Report = lambda _: None,
    ) -> None:
        self.new, self.old = new, old
        self._until = time.monotonic() + seconds
        self._report = report
        self._constraints = {one.key: one for one in rulebook(new, policy_hash(new)).constraints}
        self._stages: dict[object, Stage] = {}
        self._known: dict[int, Judge] = {}

    def answer(self, asked: Guarantee, others: Iterable[Guarantee] = ()) -> Proof:
        """`others` will be asked, too: what they read is learned with this one."""
        started = time.monotonic()
        try:
            found = self._answered(asked, tuple(others) or (asked,))
        except (Unsettled, TextTooLong, BadSchema) as error:
            found = Proof(question=asked.words, answer="cannot_say", why=str(error))
        took = round(time.monotonic() - started, 3)
        return Proof(
            question=found.question, answer=found.answer, why=found.why, call=found.call, seconds=took
        )

    def _answered(self, asked: Guarantee, others: tuple[Guarantee, ...]) -> Proof:
        if missing := [key for key in _named(asked) if key not in self._constraints]:
            return Proof(question=asked.words, answer="refuted", why=f"there is no constraint `{missing[0]}`")
        if asked.update is not UNSET:
            return self._update(asked)
        stage = self._stage(self._scope(asked), others)
        return self._settle(asked, stage)

    def _update(self, asked: Guarantee) -> Proof:
        if self.old is None:
            raise Unsettled("there is no other policy to compare with")
        before = {one.key: one for one in rulebook(self.old, policy_hash(self.old)).constraints}
        tools = affected(self.old, self.new, before, self._constraints)
        if tools is None or tools:
            found = self._settle(asked, self._two(tools, before))
            if found.answer != "proved":
                return found
        if beyond := list(dict.fromkeys(outside(self.old, self.new, before, self._constraints))):
            named = ", ".join(f"`{name}`" for name in beyond[:NAMED])
            more = f" and {len(beyond) - NAMED} more" if len(beyond) > NAMED else ""
            raise Unsettled(
                f"calls are permitted no more, but {named}{more} may permit more, and nothing is proved of it"
            )
        return Proof(question=asked.words, answer="proved")

    def _settle(self, asked: Guarantee, stage: Stage) -> Proof:
        for query in queries(asked, stage.rulings, self._constraints):
            witness = self._found(stage, query)
            if witness is not None:
                answer = "proved" if asked.can is not UNSET else "counterexample"
                call = witness.found(self._judges(stage, query))
                return Proof(question=asked.words, answer=answer, call=call)  # type: ignore[arg-type]
        if asked.can is not UNSET:
            return Proof(question=asked.words, answer="refuted", why="there is no such call")
        return Proof(question=asked.words, answer="proved")

    def _judges(self, stage: Stage, query: Query) -> dict[Side, Judge]:
        """Who judges what is found: with `without`, the policy less one constraint is the old one."""
        if query.without is None:
            return {side: self._judge(policy) for side, policy in stage.world.policies.items()}
        return {"new": self._judge(self.new), "old": self._judge(without(self.new, query.without))}

    def _judge(self, policy: Policy) -> Judge:
        # The policy is kept with its judge: an id is somebody else's once its owner is gone.
        if id(policy) not in self._known:
            self._known[id(policy)] = Judge(policy)
        return self._known[id(policy)]

    def _found(self, stage: Stage, query: Query) -> Witness | None:
        """A call that the evaluator confirms; None if there is none."""
        stage.solver.push()
        try:
            stage.tell(query.first)
            if not self._check(stage.solver):
                return None
            stage.tell(query.then())
            return self._searched(stage, query)
        finally:
            stage.pop()

    def _searched(self, stage: Stage, query: Query) -> Witness | None:
        """INVARIANT: only what the evaluator confirms is shown. What was put aside, because no call could be
        made of it, is not proved to be none.

        Constraints are told to the solver once a call is found that they are against: most never are.
        """
        judges = self._judges(stage, query)
        left = {side: {one.key: one for one in held} for side, held in query.passing.items()}
        turn, spurious, unusual = 0, "", ""
        for turn in range(1, ROUNDS + 1):
            known = sum(map(len, query.passing.values())) - sum(map(len, left.values()))
            self._report(f"{query.asked.words}: call {turn}, {known} constraints looked at")
            if not self._check(stage.solver, *([USUAL] if unusual else ())):
                if unusual and self._is_possible(stage, left):
                    spurious = f"it depends on {unusual}"
                if spurious:
                    raise Unsettled(f"no call was found, but not all were tried: {spurious}")
                return None
            reader = Reader(stage.solver.model())
            usual = stage.world.usual()
            if (
                odd := next((path for path, one in usual.items() if not reader.truth(one)), None)
            ) is not None:
                stage.tell([implied(USUAL, both(*usual.values()))])
                unusual = f"{UNUSUAL_CALLS}, at `{odd}`"
                continue
            witness = witness_of(stage.world, stage.rulings, reader)
            if witness is not None and query.without is not None:
                witness = Witness(dict.fromkeys(("old", "new"), witness.calls["new"]), witness.state)
            if witness is not None and settled(witness, judges, query.asked, query.settles):
                return smaller(witness, lambda one: settled(one, judges, query.asked, query.settles))
            if _tell_more(stage, judges, witness, left, turn):
                continue
            block, why = _block(stage, reader, witness)
            spurious = why or spurious
            if block is None:
                break
            stage.tell([block])
        raise Unsettled(f"after {turn} calls that were none: {spurious}")

    def _is_possible(self, stage: Stage, left: Mapping[Side, dict[str, Constraint]]) -> bool:
        """Can there be such a call at all, usual or not?"""
        for side, held in left.items():
            stage.tell(stage.rulings[side].passing(held.values()))
        return self._check(stage.solver)

    def _check(self, solver: z3.Solver, *assumed: Formula) -> bool:
        left = self._until - time.monotonic()
        if left <= 0:
            raise Unsettled("the time was over before the solver began")
        solver.set("timeout", max(1, int(left * 1000)))
        found = solver.check(*assumed)
        if found == z3.unknown:
            raise Unsettled(f"the solver gave up: {solver.reason_unknown()}")
        return bool(found == z3.sat)

    def _scope(self, asked: Guarantee) -> frozenset[str] | None:
        """The tools that a question is about; None if that may be any."""
        named = [self._constraints[key].subject.tool_id for key in _named(asked)]
        tool = asked.tool or next((one for one in named if one is not None), None)
        return None if tool is None else frozenset({tool})

    def _stage(self, scope: frozenset[str] | None, others: tuple[Guarantee, ...]) -> Stage:
        known = self._stages.get(scope)
        if known is None or any(one not in known.questions for one in others):
            world = World({"new": self.new})
            ruling = Ruling(world, "new", self._constraints.values(), scope)
            for one in others:
                ruling.learn_question(one)
            self._stages[scope] = replace(self._ready(world, {"new": ruling}, scope), questions=others)
        return self._stages[scope]

    def _two(self, scope: frozenset[str] | None, before: Mapping[str, Constraint]) -> Stage:
        if (known := self._stages.get(("update", scope))) is not None:
            return known
        assert self.old is not None  # noqa: S101 - asked by who calls this
        world = World({"new": self.new, "old": self.old})
        rulings: dict[Side, Ruling] = {
            "new": Ruling(world, "new", self._constraints.values(), scope),
            "old": Ruling(world, "old", before.values(), scope),
        }
        for name in self.new.tools.keys() & self.old.tools.keys():
            if self.new.tools[name].schema != self.old.tools[name].schema:
                _learn_all(world, self.new.tools[name].schema, self.old.tools[name].schema)
        stage = self._ready(world, rulings, scope)
        rulings["old"].share(rulings["new"], self._shared(world, before))
        self._stages["update", scope] = stage
        return stage

    def _shared(self, world: World, before: Mapping[str, Constraint]) -> frozenset[str]:
        """Constraints that say the same under both policies, about whatever call."""
        assert self.old is not None  # noqa: S101 - asked by who calls this
        if self.old.arbitration != self.new.arbitration:
            return frozenset()  # what is written alike may be read otherwise
        same_tools = self.old.tools == self.new.tools
        same_names = same_tools and self.old.schemas == self.new.schemas
        return frozenset(
            key
            for key, was in before.items()
            if (now := self._constraints.get(key)) is not None
            and was.raw == now.raw
            and was.malformed == now.malformed
            and (same_tools or was.subject.capability is None)
            and (was.when is None or same_names or not schemas_named(was.when))
            and (was.when is None or not any(map(world.unlike, paths_read(was.when))))
        )

    def _ready(self, world: World, rulings: Mapping[Side, Ruling], scope: frozenset[str] | None) -> Stage:
        for ruling in rulings.values():
            ruling.learn_schemas()
        stage = Stage(world, rulings, z3.Solver())
        if scope is not None:
            stage.solver.add(_told(either(*(world.at(TOOL, "new").equals(name) for name in sorted(scope)))))
        for ruling in rulings.values():
            stage.solver.add(*map(_told, ruling.axioms()))
        return stage


def _named(asked: Guarantee) -> tuple[str, ...]:
    if asked.never_conflict is not UNSET:
        return asked.never_conflict
    return () if asked.constraint is UNSET else (asked.constraint,)


def _learn_all(world: World, *schemas: object) -> None:
    """What two schemas of a tool say differs: all arguments that they name play a part."""
    for schema in schemas:
        for name in _arguments(schema):
            world.at(f"{ARGS}.{name}", "new")


def _arguments(schema: object) -> Iterator[str]:
    if isinstance(schema, dict):
        named = {*schema.get("properties", ()), *schema.get("required", ())}
        yield from (name for name in sorted(named) if "." not in name)


def _told(formula: Formula) -> Formula:
    return z3.BoolVal(formula) if isinstance(formula, bool) else formula


def _tell_more(
    stage: Stage,
    judges: Mapping[Side, Judge],
    witness: Witness | None,
    left: dict[Side, dict[str, Constraint]],
    turn: int,
) -> bool:
    """Tell the solver of constraints that are against the call it found, and of more with every turn."""
    found = False
    for side, held in left.items():
        against: list[str] = []
        if witness is not None:
            reasons = judges[side].explained(witness.calls[side], witness.state).reasons
            # One that reads what is ambiguous may give two reasons.
            against = list(dict.fromkeys(one.constraint for one in reasons if one.constraint in held))
        if not against:
            continue
        more = islice((key for key in held if key not in against), BATCH**turn)
        told = [held.pop(key) for key in (*against, *list(more))]
        stage.tell(stage.rulings[side].passing(told))
        found = True
    return found


def _block(stage: Stage, reader: Reader, witness: Witness | None) -> tuple[Formula | None, str]:
    """What the solver is not to say again, as no call is like that; and why not, unless none ever is."""
    world = stage.world
    wrong = [] if witness is None else astray(world, reader, witness)
    if wrong:
        held = [world.domains[name].value == reader.code(world.domains[name]) for name in _kin(world, wrong)]
        return z3.Not(
            z3.And(*held)
        ), f"no state has such values at `{world.domains[wrong[0]].path}` and beside it"
    if gaps := [gap for domain in world.coming_up.values() if (gap := reader.gap(domain)) is not True]:
        return both(*gaps), ""
    unknown = [(one, domain) for domain in world.coming_up.values() for one in domain.opaque.values()]
    unsure = [
        (name, one) for one in stage.rulings.values() for name in one.unsure if reader.truth(one.tool(name))
    ]
    if unsure and not unknown:
        name, ruling = unsure[0]
        return negated(ruling.tool(name)), f"it depends on the schema of `{name}`, which is not worked out"
    if not unknown:
        left_open = [key for one in world.conditions.values() for key in one.derived.open.values()]
        return None, (
            f"it depends on all that `{left_open[0]}` holds, which is not worked out"
            if left_open
            else "the evaluator does not agree"
        )
    held = [domain.value == reader.code(domain) for _, domain in unknown]
    held += [one.truth == reader.truth(one.truth) for one, _ in unknown]
    first, domain = unknown[0]
    return z3.Not(
        z3.And(*held)
    ), f"it depends on `{first.predicate.op}` of `{domain.path}`, which is not worked out"


def _kin(world: World, names: list[str]) -> list[str]:
    """Variables whose paths begin alike: their values depend on each other."""
    heads = {".".join(world.domains[name].path.split(".")[:2]) for name in names}
    return [name for name, one in world.coming_up.items() if ".".join(one.path.split(".")[:2]) in heads]
