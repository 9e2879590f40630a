"""The shape of the two tables that every vocabulary exports: a rule per command, a fold per event."""

from collections.abc import Callable
from typing import Any

from beliefd.kernel.event import EventBase
from beliefd.kernel.facts import Facts
from beliefd.kernel.state import Session

Rules = dict[type, Callable[[Session, Any, Facts], EventBase]]
Folds = dict[type, Callable[[Session, Any], Session]]
