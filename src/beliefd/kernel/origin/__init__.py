"""What is known about a tool call from where its values came: facts for rules, without a model."""

from typing import TYPE_CHECKING, Any

from beliefd.kernel.origin.facts import CallFacts, ValueFact
from beliefd.kernel.origin.lexicon import Lexicon
from beliefd.kernel.origin.tools import ToolInfo

__all__ = ["RULES", "CallFacts", "ContextItem", "Lexicon", "Session", "ToolInfo", "ValueFact", "judge"]

if TYPE_CHECKING:
    from beliefd.kernel.origin.memory import ContextItem
    from beliefd.kernel.origin.rules import RULES, judge
    from beliefd.kernel.origin.session import Session

_LAZY = {"ContextItem": "memory", "RULES": "rules", "Session": "session", "judge": "rules"}


def __getattr__(name: str) -> Any:
    # Facts are read wherever events are; what works them out is only for those who judge calls.
    if name not in _LAZY:
        raise AttributeError(name)
    from importlib import import_module

    return getattr(import_module(f"{__name__}.{_LAZY[name]}"), name)
