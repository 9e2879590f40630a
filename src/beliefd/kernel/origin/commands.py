"""Which words of a shell command stand in what was read: as a whole a command seldom stands anywhere."""

import re
from typing import Final

from beliefd.kernel.origin.arguments import SHOWN, where_is
from beliefd.kernel.origin.facts import RANK, ValueFact
from beliefd.kernel.origin.index import wanted
from beliefd.kernel.origin.memory import Memory

MAX_COMMAND: Final = 10_000
MAX_WORDS: Final = 20
_WORD: Final = re.compile(r"""[^\s"'`;|<>(){}$]{3,400}""")
_OPTION: Final = re.compile(r"-[-\w]*=?")


def foreign_words(session: Memory, argument: str, command: str) -> tuple[ValueFact, ...]:
    """The words of a command that the user did not give and that stand in a text or field, in their order."""
    found: dict[str, ValueFact] = {}
    for match in _WORD.finditer(command[:MAX_COMMAND]):
        word = _OPTION.sub("", match[0], count=1) if match[0].startswith("-") else match[0]
        value = wanted(word, session.lexicon.month_of)
        if value is None or len(value.key) < 3 or value.key in session.lexicon.stops or value.key in found:
            continue
        at = session.origin(value)
        if at.place is None or RANK[at.origin] <= RANK["named_field"]:
            continue
        found[value.key] = ValueFact(argument, word[:SHOWN], at.origin, where_is(at), value.shape)
        if len(found) == MAX_WORDS:
            break
    return tuple(found.values())
