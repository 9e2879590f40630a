"""Examples of answers, which a real server gave to the examples of requests (scripts/answers.py)."""

import json
from functools import cache
from importlib import resources
from typing import Any, Final

from beliefd.protocol.operations import OPERATIONS, Operation

FILE: Final = "answers.json"


@cache
def kept_answers() -> dict[str, Any]:
    """By the names of operations; text where the answer is no JSON document."""
    kept: dict[str, Any] = json.loads(resources.files(__package__).joinpath(FILE).read_text("utf-8"))
    return kept


def answer_of(operation: Operation) -> Any:
    """What it answered, or what another that answers in the same shape did; None if nobody has."""
    kept = kept_answers()
    if operation.name in kept or operation.stream or operation.answer is bytes:
        return kept.get(operation.name)
    alike = (one.name for one in OPERATIONS if one.answer is operation.answer and one.name in kept)
    return next((kept[name] for name in alike), None)


def still_fits(kept: Any, told: Any) -> bool:
    """Does an answer that was kept have the members that the operation answers with now?"""
    return bool(_members(kept) == _members(told))


def _members(answer: Any) -> Any:
    if isinstance(answer, dict):
        return {name: _members(value) for name, value in answer.items()}
    return [_members(one) for one in answer] if isinstance(answer, list) else None
