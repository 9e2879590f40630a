"""The rules in force, why a call is decided as it is, and what another policy would have decided."""

from typing import Any, Final

import msgspec
from msgspec import Struct

from beliefd.console.app import Seen, Visitor
from beliefd.console.forms import number
from beliefd.console.questions import going_on
from beliefd.console.rendering import SHOWN as SHOWN_WHOLE
from beliefd.kernel.errors import BeliefdError, Code
from beliefd.protocol.policy import PolicyAnswer
from beliefd.protocol.reviewing import PolicyReview, RuleUse
from beliefd.steward.handlers.reviewing import LOOKED_AT

SHOWN: Final = 50
"""So many rules, and so many tools, are listed on one page."""
NAMED: Final = 200
BRIEF: Final = 1_000
"""Characters of a rule's condition in the list; by itself it is shown whole."""
ANY: Final = "*"
TRIED: Final = ("explain", "backtest")
FORM: Final = frozenset({Code.INVALID_REQUEST, Code.SESSION_NOT_FOUND, Code.NOT_FOUND})


class Rule(Struct, frozen=True):
    """A constraint as it is listed: about which tool or capability it is, and how often it stood in the way.

    What is malformed is listed, too: it denies whatever its subject names.
    """

    name: str
    effect: str
    on_fail: str
    reason: str
    tool: str
    capability: str
    when: Any
    use: RuleUse | None

    @property
    def does(self) -> str:
        """What it comes to, in one word where one is enough: a deny that asks on failure asks."""
        if self.effect == "deny" and self.on_fail:
            return {"block": "deny"}.get(self.on_fail, self.on_fail)
        return f"allow, else {self.on_fail}" if self.effect == "allow" and self.on_fail else self.effect

    @classmethod
    def of(cls, name: str, one: Any, use: RuleUse | None) -> "Rule":
        told = one if isinstance(one, dict) else {}
        subject = told.get("subject")
        about = subject if isinstance(subject, dict) else {}
        said = {key: str(told.get(key) or "") for key in ("effect", "on_fail", "reason")}
        named = {key: str(about.get(f"{key}_id") or about.get(key) or "") for key in ("tool", "capability")}
        return cls(name=name.removeprefix("constraint."), when=told.get("when"), use=use, **said, **named)


async def shown(visitor: Visitor) -> Seen:
    return await _page(visitor)


async def tried(visitor: Visitor) -> Seen:
    """A question about the policy; nothing is written."""
    what = visitor.form.get("what", "")
    if what not in TRIED:
        return await _page(visitor, problem="Ask to explain a call, or for a backtest.", status=400)
    try:
        found = await (_explained(visitor) if what == "explain" else _backtested(visitor))
    except msgspec.DecodeError as error:
        return await _page(visitor, problem=f"This is no JSON object: {error}", status=400)
    except BeliefdError as error:
        if error.code not in FORM:
            raise
        return await _page(visitor, problem=error.message, status=400)
    return await _page(visitor, **{what: found})


async def _explained(visitor: Visitor) -> Any:
    form = visitor.form
    call = {"tool_id": form.get("tool", ""), "args": _object(form.get("args") or "{}")}
    body: dict[str, Any] = {"call": call}
    if session := form.get("session", "").strip():
        body["session_id"] = session
    if item := form.get("item", ""):
        return await _explained_again(visitor, item, body)
    return await visitor.asker.ask("explain_policy", body=body)


async def _explained_again(visitor: Visitor, item: str, otherwise: dict[str, Any]) -> Any:
    """What waits, as it was proposed then, by whom and through what, under the policy of today."""
    event_id, _, candidate = item.removeprefix("apr-").rpartition("-")
    now: PolicyAnswer = await visitor.asker.ask("show_policy")
    about = {"session_id": otherwise.get("session_id", ""), "event_id": event_id}
    try:
        body = {**about, "candidate": int(candidate), "policy": msgspec.to_builtins(now.policy)}
        return await visitor.asker.ask("explain_policy", body=body)
    except (ValueError, BeliefdError) as error:
        # What was escalated was opened by no proposal.
        if isinstance(error, BeliefdError) and error.code not in FORM:
            raise
        return await visitor.asker.ask("explain_policy", body=otherwise)


async def _backtested(visitor: Visitor) -> Any:
    body = {"policy": _object(visitor.form.get("policy", "")), "limit": 10_000}
    return await visitor.asker.ask("backtest_policy", body=body)


def _object(text: str) -> dict[str, Any]:
    return msgspec.json.decode(text, type=dict[str, Any])


async def _page(visitor: Visitor, problem: str = "", status: int = 200, **found: Any) -> Seen:
    now: PolicyAnswer = await visitor.asker.ask("show_policy")
    review = await visitor.ask_at_length("review_policy")
    used = {one.constraint: one for one in review.used} if isinstance(review, PolicyReview) else {}
    rules = [Rule.of(name, one, used.get(name)) for name, one in sorted(now.policy.constraints.items())]
    alone = visitor.query.get("rule", "")
    first = number(visitor.query.get("from", "0"))
    asked = {name: visitor.query[name] for name in ("tool", "session") if visitor.query.get(name)}
    values = {
        "now_in_force": now,
        "rules": [rule for rule in rules if rule.name == alone] if alone else rules[first : first + SHOWN],
        "alone": bool(alone),
        "brief": SHOWN_WHOLE if alone else BRIEF,
        "count": len(rules),
        "tools": sorted(now.policy.tools.items())[first : first + SHOWN],
        "following": first + SHOWN if first + SHOWN < max(len(rules), len(now.policy.tools)) else None,
        "named": sorted({*now.policy.tools, *(rule.tool for rule in rules if rule.tool)} - {ANY})[:NAMED],
        "explain": found.get("explain"),
        "backtest": found.get("backtest"),
        "form": visitor.form or asked,
        **going_on(review, LOOKED_AT),
        "problem": problem,
    }
    if visitor.form:
        values["going"] = None  # what answers a form cannot be asked for again by itself
    return Seen("policy.html", values, status)
