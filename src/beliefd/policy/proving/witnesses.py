"""Calls that settle a question: read out of a model, judged by the evaluator itself, and made small."""

from collections.abc import Callable, Iterator, Mapping
from typing import Any, Final

import msgspec
from msgspec import UNSET, Struct
from msgspec.structs import replace

from beliefd.kernel.adopted import Adopted
from beliefd.kernel.canonical import NotCanonical, canonical
from beliefd.kernel.origin import CallFacts
from beliefd.kernel.policy import Policy
from beliefd.kernel.substrate.constraints import Action
from beliefd.kernel.substrate.explaining import Explanation, explain_call, situated
from beliefd.kernel.substrate.guarantees import Guarantee
from beliefd.kernel.substrate.paths import ABSENT as NOTHING
from beliefd.kernel.substrate.policy_keys import POLICY, is_of_policy, policy_keys
from beliefd.kernel.substrate.predicates import CALL, CALL_FACTS, holds, parse
from beliefd.kernel.substrate.question import Question
from beliefd.kernel.substrate.rulebook import rulebook
from beliefd.kernel.substrate.schemas import Schema
from beliefd.kernel.substrate.shell import ShellFacts
from beliefd.kernel.substrate.tools import ToolDefinition
from beliefd.ledger.chain import policy_hash
from beliefd.policy.proving.paths import AGENT, AGENT_TIER, ARGS, MODE, NOW, ROLE, TOOL
from beliefd.policy.proving.realising import (
    Reader,
    arguments_of,
    leads_to,
    read_twice,
    state_of,
    with_field,
)
from beliefd.policy.proving.rulings import Ruling
from beliefd.policy.proving.samples import example
from beliefd.policy.proving.world import TIERS, Side, World
from beliefd.protocol.proofs import FoundCall

FACTS: Final = {"tier": "read", "action": "read", "hard": False, "intended": True}
MOST_TRIES: Final = 200
"""So often a call is judged again to make it smaller."""

Explain = Callable[[Side], Explanation]
Settles = Callable[[Explain], bool]
"""Is it what was asked for, by what policies say of it?"""


class Witness(Struct, frozen=True):
    """A call on a state. What a tool says of itself may depend on the policy, if that declares all tools."""

    calls: Mapping[Side, Question]
    state: dict[str, Any]

    def found(self, judges: "Mapping[Side, Judge]") -> FoundCall:
        said = {side: judge.explained(self.calls[side], self.state) for side, judge in judges.items()}
        return FoundCall(
            call=_without_defaults(self.calls["new"]),
            state=self.state,
            verdicts={side: f"{one.verdict} {one.reason_code}" for side, one in said.items()},
        )


def _without_defaults(question: Question) -> dict[str, Any]:
    plain, nothing = msgspec.to_builtins(question), msgspec.to_builtins(Question(tool_id=""))
    if "definition" in plain:
        usual = msgspec.to_builtins(ToolDefinition())
        own = plain["definition"]
        plain["definition"] = {name: value for name, value in own.items() if value != usual.get(name)}
    return {name: value for name, value in plain.items() if name == "args" or value != nothing.get(name)}


class Judge:
    """The evaluator under one policy. INVARIANT: what judges proposals judges what the solver found."""

    def __init__(self, policy: Policy) -> None:
        self.policy = policy
        self._hash = policy_hash(policy)
        self._fits = rulebook(policy, self._hash).fits

    def explained(self, question: Question, state: Mapping[str, Any]) -> Explanation:
        tool = self.policy.tools.get(question.tool_id)
        errors = () if tool is None else Schema(tool.schema).errors(question.args)
        return explain_call(self.policy, self._hash, state, question, errors)

    def is_about(self, asked: Guarantee, call: Question, state: Mapping[str, Any]) -> bool:
        said = {"role": call.role, "tool": call.tool_id, "agent_tier": call.tier, "mode": call.mode}
        if any(getattr(asked, name) not in (UNSET, one) for name, one in said.items()):
            return False
        setting = situated(self.policy, self._hash, state, call)
        action, situation = setting.action, setting.situation
        if asked.capability is not UNSET and asked.capability not in action.capabilities:
            return False
        if asked.when is UNSET:
            return True
        # A question reads `policy.*` as a constraint would, whether or not one does.
        seen = policy_keys(self.policy, self._hash, situation.mode, Adopted())
        held = situation.session.substrate.symbolic_state.over(situation.rules, POLICY, seen)
        return holds(parse(asked.when), action.known(held), self._fits)


def settled(witness: Witness, judges: Mapping[Side, Judge], asked: Guarantee, settles: Settles) -> bool:
    """Does the evaluator say what the solver says, of a call that the question is about?"""
    try:
        canonical([witness.state, witness.calls["new"].args])
    except NotCanonical:
        return False
    about = judges["new"].is_about(asked, witness.calls["new"], witness.state)
    return about and settles(lambda side: judges[side].explained(witness.calls[side], witness.state))


def witness_of(world: World, rulings: Mapping[Side, Ruling], reader: Reader) -> Witness | None:
    """The call of a model; None if there is no such call, whatever the model says."""
    values = {name: reader.value(domain) for name, domain in world.coming_up.items()}
    args, state = dict[str, Any](), dict[str, Any]()
    for name, domain in world.coming_up.items():
        path = domain.path
        if path.startswith(f"{ARGS}."):
            args[path.removeprefix(f"{ARGS}.")] = values[name]
        elif _is_written(world, path):
            state[path] = values[name]
    calls: dict[Side, Question] = {}
    for side in world.policies:
        own = _definition(rulings, reader, side)
        call = _call(world, own, reader, side, {**values, ARGS: args})
        if call is None:
            return None
        calls[side] = call
    return Witness(calls, state_of(state))


def _is_written(world: World, path: str) -> bool:
    """Does it stand in the state?"""
    own = path == CALL or path.startswith(f"{CALL}.") or is_of_policy(path)
    return not own and not _is_fact(world, path)


def _is_fact(world: World, path: str) -> bool:
    asked = any(policy.context is not UNSET for policy in world.policies.values())
    return asked and (path == CALL_FACTS or path.startswith(f"{CALL_FACTS}."))


def _call(
    world: World, own: ToolDefinition, reader: Reader, side: Side, values: Mapping[str, Any]
) -> Question | None:
    named = world.policies[side].tools.get(values[TOOL])
    begin = example(named.schema) if named is not None and named.schema else {}
    args = arguments_of(values[ARGS], begin if isinstance(begin, dict) else {})
    for domain in world.coming_up.values():
        if domain.path.startswith(f"{ARGS}.") and reader.truth(domain.twofold):
            args = read_twice(args, domain.path.removeprefix(f"{ARGS}."), reader.value(domain))
    made: dict[str, Any] = {
        "tool_id": values[TOOL],
        "args": args,
        "tier": values[AGENT_TIER],
        "role": values[ROLE],
        "mode": values[MODE],
        "hosts": ["example.org"] if reader.truth(world.names_host) else [],
    }
    if AGENT in values:
        made["agent_id"] = values[AGENT]
    if world.reads_time and (now := values.get(world.at(NOW, side).name, NOTHING)) is not NOTHING:
        made["now"] = now
    if own != ToolDefinition():
        made["definition"] = msgspec.to_builtins(own)
    try:
        return _with_facts(msgspec.convert(made, Question), world, side, values)
    except msgspec.ValidationError:
        return None


def _definition(rulings: Mapping[Side, Ruling], reader: Reader, side: Side) -> ToolDefinition:
    """What the tool says of itself, which is the same for both policies if they do not declare it."""
    own = rulings[side].own
    named = sorted({name for ruling in rulings.values() for name in ruling.capabilities})
    return ToolDefinition(
        capabilities=tuple(name for name in named if reader.truth(own.needs(name))),
        tier=TIERS[reader.whole(own.tier)],  # type: ignore[arg-type]
        mutates=reader.truth(own.mutates),
        network=True if reader.truth(own.reaches) else False if reader.truth(own.offline) else UNSET,
    )


def _with_facts(question: Question, world: World, side: Side, values: Mapping[str, Any]) -> Question:
    """The call with where its values came from, if policy asks and the model says anything of it."""
    if world.policies[side].context is UNSET:
        return question
    told: dict[str, Any] = {}
    for name, domain in world.coming_up.items():
        begins = f"{CALL_FACTS}."
        if not domain.path.startswith(begins) or world.at(domain.path, side) is not domain:
            continue
        if values[name] is not NOTHING:
            told = with_field(told, domain.path.removeprefix(begins).split("."), values[name]) or told
    if not told:
        return question
    shell, _ = told.pop("shell", UNSET), told.pop("context", UNSET)
    facts = msgspec.convert({**FACTS, "tool_id": question.tool_id, **told}, CallFacts)
    return replace(
        question, facts=facts, shell=UNSET if shell is UNSET else msgspec.convert(shell, ShellFacts)
    )


def astray(world: World, reader: Reader, witness: Witness) -> list[str]:
    """Variables whose paths do not lead to what the model says: such values do not go together."""
    found = []
    for name, domain in world.coming_up.items():
        path = domain.path
        if path.startswith(f"{ARGS}.") or _is_written(world, path):
            action = Action(witness.calls["new"].tool_id, (), witness.calls["new"].args)
            if not leads_to(action.known(witness.state), path, reader.value(domain)):
                found.append(name)
    return found


def smaller(witness: Witness, settles: Callable[[Witness], bool]) -> Witness:
    """The call with whatever plays no part in it left out."""
    tries = iter(range(MOST_TRIES))
    for part in ("state", "args"):
        names = list(_part(witness, part))
        size = max(1, len(names) // 2)
        while size:
            for group in _groups(names, size):
                if next(tries, None) is None:
                    return witness
                if settles(less := _less(witness, part, group)):
                    witness = less
            names = list(_part(witness, part))
            size //= 2
    return _plainer(witness, settles)


def _part(witness: Witness, part: str) -> Mapping[str, Any]:
    return witness.state if part == "state" else witness.calls["new"].args


def _groups(names: list[str], size: int) -> Iterator[frozenset[str]]:
    return (frozenset(names[at : at + size]) for at in range(0, len(names), size))


def _less(witness: Witness, part: str, names: frozenset[str]) -> Witness:
    left = {name: value for name, value in _part(witness, part).items() if name not in names}
    if part == "state":
        return replace(witness, state=left)
    return replace(witness, calls={side: replace(one, args=left) for side, one in witness.calls.items()})


def _plainer(witness: Witness, settles: Callable[[Witness], bool]) -> Witness:
    """What is as usual is not worth telling."""
    usual = Question(tool_id="-")
    for name in ("definition", "hosts", "mode", "role", "tier", "agent_id", "shell", "now"):
        plain = {side: replace(one, **{name: getattr(usual, name)}) for side, one in witness.calls.items()}
        if plain != witness.calls and settles(less := replace(witness, calls=plain)):
            witness = less
    return witness
