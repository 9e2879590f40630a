"""Reserving: what a call may use is set aside when it begins, and settled when it has ended.

INVARIANT: as long as tools use no more than is set aside for them, no budget is overdrawn, whatever runs at
the same time. What a tool uses beyond that is counted, and it is not believed again.
"""

from collections.abc import Callable
from typing import Final

from msgspec import UNSET, UnsetType
from msgspec.structs import replace

from beliefd.kernel.canonical import MAX_SAFE_INTEGER
from beliefd.kernel.substrate.capabilities import Amounts, Budgets, Capability, Part, ancestors
from beliefd.kernel.substrate.state import Substrate, ToolCall
from beliefd.kernel.substrate.tools import ToolDefinition

AMOUNTS: Final = Amounts.__struct_fields__
Need = dict[str, int | None]


def need_of(held: Substrate, tool_id: str, definition: ToolDefinition) -> Need:
    """What a call has to find to begin: what its tool says, or has used before; None if nobody knows."""
    declared = None if definition.uses is UNSET else definition.uses
    told = (declared, held.costs.get(tool_id))
    found = {name: [getattr(one, name) for one in told if one is not None] for name in AMOUNTS}
    return {
        name: max((one for one in values if one is not None), default=None) for name, values in found.items()
    }


def as_declared(need: Need, definition: ToolDefinition) -> Need:
    """The same, where the tool says what it uses.

    INVARIANT: what earlier calls used says that the next one needs as much, never that it needs no more.
    """
    return {
        name: known if getattr(definition.uses, name, None) is not None else None
        for name, known in need.items()
    }


def as_spent(capability: Capability) -> Capability:
    """The capability as if all that is set aside were used up."""
    if capability.reserved is UNSET:
        return capability
    both = {name: getattr(capability.used, name) + getattr(capability.reserved, name) for name in AMOUNTS}
    return replace(capability, used=replace(capability.used, **both))


def left_of(capability: Capability) -> Budgets:
    """What a capability itself leaves; None is no limit."""
    budgets, used = capability.scope.budgets, as_spent(capability).used
    limits = {name: getattr(budgets, name) for name in Budgets.__struct_fields__}
    return Budgets(
        **{
            name: None if limit is None else max(0, limit - getattr(used, name))
            for name, limit in limits.items()
        }
    )


def set_aside(lineage: tuple[Capability, ...], need: Need, part: Part) -> Amounts:
    """What to reserve: what a call needs, or all that is left if nobody knows what it needs."""
    found: dict[str, int] = {}
    for name in AMOUNTS:
        limits = [(getattr(one.scope.budgets, name), as_spent(one)) for one in lineage]
        left = [part(limit) - getattr(one.used, name) for limit, one in limits if limit is not None]
        known = need[name]
        found[name] = 0 if not left else (min(left) if known is None else known)
    return Amounts(**found)


def reserved(held: Substrate, call: ToolCall) -> Substrate:
    return _each(held, call, lambda one: _moved(one, _of(call.reserved), 1))


def settled(held: Substrate, call: ToolCall, spent: Amounts) -> Substrate:
    """INVARIANT: what nobody knows the outcome of counts as having used all that was set aside for it."""
    was_unknown = held.calls[call.call_id].status == "unknown"
    aside = _of(call.reserved)
    if call.status == "unknown":
        return held if was_unknown else _each(held, call, lambda one: _used(_moved(one, aside, -1), aside, 1))
    if was_unknown:
        held = _each(held, call, lambda one: _used(one, aside, -1))
    else:
        held = _each(held, call, lambda one: _moved(one, aside, -1))
    held = _each(held, call, lambda one: _used(one, spent, 1))
    most = held.costs.get(call.tool_id, Amounts())
    cost = Amounts(**{name: max(getattr(most, name), getattr(spent, name)) for name in AMOUNTS})
    return replace(held, costs=held.costs.insert(call.tool_id, cost))


def released(held: Substrate, call: ToolCall) -> Substrate:
    """The substrate as if the call had never been let through, but for its record."""
    if call.idempotency_key is not None:
        key = f"{call.tool_id}\n{call.idempotency_key}"
        held = replace(held, call_keys=held.call_keys.discard(key))
    return _each(held, call, lambda one: replace(one, used=replace(one.used, calls=one.used.calls - 1)))


def _of(aside: Amounts | UnsetType) -> Amounts:
    return Amounts() if aside is UNSET else aside


def _each(held: Substrate, call: ToolCall, change: Callable[[Capability], Capability]) -> Substrate:
    """Change the capability and all it came out of: handing on does not make more of it."""
    if call.capability_id is None:
        return held
    capabilities = held.capabilities
    capability = capabilities[call.capability_id]
    for one in (capability, *ancestors(capabilities, capability)):
        capabilities = capabilities.insert(one.capability_id, change(one))
    return replace(held, capabilities=capabilities)


def _moved(capability: Capability, amounts: Amounts, sign: int) -> Capability:
    """More or less set aside; nothing at all is not written down."""
    before = _of(capability.reserved)
    after = Amounts(**_summed(before, amounts, sign))
    return replace(capability, reserved=UNSET if after == Amounts() else after)


def _used(capability: Capability, amounts: Amounts, sign: int) -> Capability:
    return replace(capability, used=replace(capability.used, **_summed(capability.used, amounts, sign)))


def _summed(before: object, amounts: Amounts, sign: int) -> dict[str, int]:
    """A number past 2^53 - 1 has no canonical form, and no budget is as large."""
    sums = {name: getattr(before, name) + sign * getattr(amounts, name) for name in AMOUNTS}
    return {name: max(0, min(total, MAX_SAFE_INTEGER)) for name, total in sums.items()}
