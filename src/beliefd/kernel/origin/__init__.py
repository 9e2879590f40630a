"""What is known about a tool call from where its values came: facts for rules, without a model."""

from beliefd.kernel.origin.facts import CallFacts, ValueFact
from beliefd.kernel.origin.lexicon import Lexicon
from beliefd.kernel.origin.memory import ContextItem
from beliefd.kernel.origin.rules import RULES, judge
from beliefd.kernel.origin.session import Session
from beliefd.kernel.origin.tools import ToolInfo

__all__ = ["RULES", "CallFacts", "ContextItem", "Lexicon", "Session", "ToolInfo", "ValueFact", "judge"]
