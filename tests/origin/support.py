"""Sessions in one line."""

from typing import Any

import msgspec

from beliefd.kernel.origin import CallFacts, ContextItem, Session, ToolInfo, judge
from beliefd.policy.lexicons import shipped_lexicon

LEXICON = shipped_lexicon()


def session(user: str = "", *results: tuple[str, Any], system: str = "", own: str = "") -> Session:
    """`results` are a tool's name and its result, a text or a value that is told as JSON."""
    made = Session(LEXICON)
    if own:
        made.tell(ContextItem(kind="own_address", text=own))
    if system:
        made.tell(ContextItem(kind="system", text=system))
    if user:
        made.tell(ContextItem(kind="user", text=user))
    for tool, value in results:
        made.tell(result(tool, value))
    return made


def result(tool: str, value: Any, **args: Any) -> ContextItem:
    text = value if isinstance(value, str) else msgspec.json.encode(value).decode()
    return ContextItem(kind="result", tool_id=tool, text=text, args=args)


def facts_of(of: Session, tool: str, others: tuple[str, ...] = (), /, **args: Any) -> CallFacts:
    catalogue = {name: ToolInfo(tool_id=name) for name in (tool, *others)}
    return of.facts(catalogue[tool], args, catalogue)


def verdict(of: Session, tool: str, others: tuple[str, ...] = (), /, **args: Any) -> tuple[str, str]:
    return judge(facts_of(of, tool, others, **args))[:2]


def origin(of: Session, value: str) -> str:
    wanted = of.heard.wanted(value)
    assert wanted is not None
    return of.origin(wanted).origin
