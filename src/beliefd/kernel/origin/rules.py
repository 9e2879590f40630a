"""The default rules over the facts about a call, in their order. The preset says the same as policy text."""

from collections.abc import Callable
from typing import Final, Literal

from beliefd.kernel.origin.facts import CallFacts, ValueFact, reason

Verdict = Literal["allow", "ask", "deny"]
Rule = tuple[str, Verdict, Callable[[CallFacts], bool], Callable[[CallFacts], str]]


def _of(values: tuple[ValueFact, ...], origins: tuple[str, ...] = ()) -> str:
    """The values that stand out, each with its origin."""
    shown = [one for one in values if not origins or one.origin in origins] or list(values)
    return "; ".join(dict.fromkeys(reason(one) for one in shown[:3]))


def _worst_sinks(facts: CallFacts) -> str:
    return _of(tuple(sink for sink in facts.sinks if sink.trust != "trusted") or facts.sinks)


def _based(facts: CallFacts) -> bool:
    return facts.sourced or facts.delegated


def _ordered(facts: CallFacts) -> bool:
    return facts.commanded == "other" or (facts.commanded == "named" and not _based(facts))


def _sent_there(facts: CallFacts) -> bool:
    return facts.commanded == "other" or (facts.commanded == "named" and not facts.links_wanted)


RULES: Final[tuple[Rule, ...]] = (
    ("egress", "ask", lambda f: f.tier == "egress" and (not f.url_known or _sent_there(f)),
     lambda f: f"it goes to an address the user did not give: {_of(f.sinks)}"),
    ("foreign", "deny",
     lambda f: f.tier == "write" and not f.intended and f.sink_in_text is True and f.user_spoke is True,
     lambda f: f"the user did not ask for it, and {_worst_sinks(f)}"),
    ("intent", "ask", lambda f: f.tier == "write" and not f.intended and f.user_spoke is not False,
     lambda f: f"nothing in the user's words asks to {f.action} with `{f.tool_id}`"),
    ("told", "ask", lambda f: f.tier == "write" and not f.intended and f.user_spoke is False,
     lambda f: "nobody has told what the user said"),
    ("places", "ask", lambda f: f.tier == "write" and f.place_foreign is True, _worst_sinks),
    ("sinks", "ask", lambda f: f.tier == "write" and f.sink_foreign and f.place_foreign is not True,
     _worst_sinks),
    ("objects", "ask", lambda f: f.tier == "write" and f.object_foreign,
     lambda f: _of(f.objects, ("text", "model", "listed"))),
    ("links", "ask", lambda f: f.tier == "write" and f.link_foreign,
     lambda f: _of(f.links, ("text", "named_text"))),
    ("quota", "ask", lambda f: f.tier == "write" and f.over_quota,
     lambda f: f"the user asked for it {max(1, f.mentions)} time(s), and it was done {f.nth} time(s)"),
    ("payload", "ask", lambda f: f.tier == "write" and f.payload_foreign and not _based(f),
     lambda f: _of(f.payload, ("text", "named_text"))),
    ("secret", "ask", lambda f: f.tier == "write" and f.secret,
     lambda f: f"it carries a secret that the user does not speak of{': ' * bool(f.sinks)}{_of(f.sinks)}"),
    ("commanded", "ask", lambda f: f.tier == "write" and _ordered(f),
     lambda f: f"a text that was read orders it: {_of(f.orders)}"),
)  # fmt: skip


def judge(facts: CallFacts, off: frozenset[str] = frozenset()) -> tuple[Verdict, str, str]:
    """(verdict, rule, why). `off` are rules to leave out, for measuring what each is worth."""
    if facts.tier == "read":
        return "allow", "read", "it only reads"
    for name, verdict, applies, why in RULES:
        if name not in off and applies(facts):
            return verdict, name, why(facts)
    return "allow", "default", "asked for, and nothing in it is from an untrusted text"
