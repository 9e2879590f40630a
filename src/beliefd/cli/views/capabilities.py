"""Capabilities drawn for people."""

from rich.console import Group, RenderableType
from rich.text import Text

from beliefd.cli.output import visible
from beliefd.cli.views.drawing import first_names, names, page, view
from beliefd.kernel.substrate.capabilities import Amounts, Budgets
from beliefd.kernel.values import shown_time
from beliefd.protocol.capabilities import (
    CapabilityLevel,
    CapabilityPage,
    CapabilityView,
    IssuedCapability,
    RevokedCapability,
)


@view.register
def capability(answer: CapabilityView) -> RenderableType:
    scope = answer.scope
    lines = [
        Text.assemble(
            (answer.capability_id, "bold"),
            f"  for {visible(answer.agent_id)}, issued by {visible(answer.issued_by)}",
        ),
        Text(f"tools {names(scope.tools)}; {_calls(answer, scope.budgets)}"),
        *(Text(words) for words in _amounts(answer, scope.budgets)),
        Text(_time(answer)),
        *map(_level, answer.parents),
    ]
    for word, listed in (
        ("may read below", scope.fs_read_roots),
        ("may write below", scope.fs_write_roots),
        ("may connect to", scope.net_allowlist),
    ):
        if listed:
            lines.append(Text(f"{word} {names(listed)}"))
    return Group(*lines)


def _calls(answer: CapabilityView | CapabilityLevel, budgets: Budgets) -> str:
    limit = "any number of" if budgets.calls is None else str(budgets.calls)
    return f"{answer.used.calls} of {limit} calls used"


def _amounts(answer: CapabilityView | CapabilityLevel, budgets: Budgets) -> list[str]:
    """What is limited beside calls, with what is set aside for calls that run."""
    limits = {name: getattr(budgets, name) for name in Amounts.__struct_fields__}
    return [
        f"{getattr(answer.used, name)} of {limit} {name} used"
        + (f", {aside} reserved" if (aside := getattr(answer.reserved, name)) else "")
        for name, limit in limits.items()
        if limit is not None
    ]


def _time(answer: CapabilityView | CapabilityLevel) -> str:
    revoked = f", revoked {shown_time(answer.revoked_at)}" if answer.revoked_at else ""
    return f"open until {shown_time(answer.expires_at)}{revoked}"


def _level(parent: CapabilityLevel) -> Text:
    """What a capability came out of: it ends with that, and uses of that as well."""
    told = [_calls(parent, parent.budgets), *_amounts(parent, parent.budgets), _time(parent)]
    return Text(f"out of {parent.capability_id} for {visible(parent.agent_id)}: {'; '.join(told)}")


@view.register
def capabilities(answer: CapabilityPage) -> RenderableType:
    return page([capability(one) for one in answer.capabilities], answer.next, "no capabilities")


@view.register
def revoked(answer: RevokedCapability) -> RenderableType:
    if not answer.still_held:
        return capability(answer)
    others = first_names(answer.still_held)
    warning = f"{visible(answer.agent_id)} can still call tools with {others}"
    return Group(capability(answer), Text(warning, "bold yellow"))


@view.register
def issued(answer: IssuedCapability) -> RenderableType:
    return capability(answer.capability)
