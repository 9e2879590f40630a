"""Whether an answer to "is this statement true?" says that it is.

Answers that agree with each other may agree that it is false. An answer affirms if it opens with yes, or says
the statement again or that it is true, and says nothing that contradicts this. All others do not: denials,
doubts, silence, and what cannot be read.
"""

import re
from typing import Final

from beliefd.uncertainty.equivalence.contradiction import contradicts
from beliefd.uncertainty.equivalence.lexical import entails
from beliefd.uncertainty.equivalence.reading import read

TRUE: Final = ("the statement is true", "the statement is correct")
_OPENING: Final = re.compile(r"\W*(\w+)\W*")
_SPLIT: Final = re.compile(r"\W*yes\W+(?:and|or)\b", re.IGNORECASE)
_WRONG: Final = re.compile(
    r"\b(?:is|are|was|were|be)\s+(?:\w+\s+)?(?:wrong|incorrect|untrue|inaccurate|mistaken|false)\b",
    re.IGNORECASE,
)


def affirms(answer: str, statement: str) -> bool:
    """INVARIANT: what does not plainly say that the statement holds does not speak for it."""
    opening = _OPENING.match(answer)
    if opening is None:
        return False
    is_yes = opening[1].casefold() == "yes" and _SPLIT.match(answer) is None
    if not is_yes and read(answer).stance != "yes":
        return any(entails(answer, said) for said in (*TRUE, statement))
    rest = answer[opening.end() :]
    if not rest or entails(rest, statement):
        return True
    if _WRONG.search(rest) is not None and _WRONG.search(statement) is None:
        return False
    return not contradicts(rest, statement) and not contradicts(rest, TRUE[0])


def uncertain_of(statement: str, answers: tuple[str, ...], value: float) -> tuple[float, int]:
    """How uncertain a statement is of which a model was asked whether it is true, and how many affirm it.

    `value` is how much the answers vary. The share that does not affirm counts if it is higher; where no more
    than half affirm, nothing speaks for the statement, however much they agree.
    """
    count = sum(affirms(answer, statement) for answer in answers)
    if 2 * count <= len(answers):
        return 1.0, count
    return max(value, 1 - count / len(answers)), count
