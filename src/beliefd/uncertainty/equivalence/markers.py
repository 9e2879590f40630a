"""How much, how sure and when: small words that change what a statement claims.

Each family maps its words to a marker in capitals, which no word of an answer can be.
"""

from typing import Final

from beliefd.uncertainty.equivalence.tables import word_set


def _markers(table: dict[str, str]) -> dict[str, str]:
    return {word: marker for marker, words in table.items() for word in words.split()}


QUANTIFIERS: Final = _markers(
    {
        "ALL": "all every each everyone everybody everything everywhere entire entirely whole "
               "wholly always invariably constantly throughout fully completely totally",
        "MOST": "most majority",
        "BOTH": "both",
        "USUALLY": "mostly usually generally largely mainly typically normally chiefly commonly",
        "MANY": "many numerous lots plenty much countless",
        "OFTEN": "often frequently regularly repeatedly",
        "SOME": "some someone somebody several sometimes occasionally various certain",
        "PART": "partly partially",
        "FEW": "few rarely seldom minority infrequently",
        "ONLY": "only solely exclusively",
        "EXCEPT": "except excluding excepting",
        "ALMOST": "almost nearly virtually practically",
    }
)  # fmt: skip
QUIET: Final = frozenset({"ALL", "SOME", "USUALLY", "OFTEN", "BOTH", "SHARE", "NONE"})
"""`All tests passed` and `the tests passed` may be one statement, and so may `some users` and `users`."""

MODALS: Final = _markers(
    {
        "MUST": "must mandatory compulsory obligatory necessary shall",
        "SHOULD": "should ought recommended advisable please",
        "OPTIONAL": "optional voluntary",
        "MAY": "may",
        "POSSIBLE": "might possibly perhaps maybe possible potentially unsure unclear uncertain could "
                    "depends conceivably arguably purportedly allegedly reportedly apparently seemingly",
        "PROBABLE": "probably likely presumably suspected supposedly",
        "CAN": "can able capable",
        "WOULD": "WOULD",
        "TRIED": "TRIED",
        "WANTED": "WANTED",
    }
)  # fmt: skip
MODES: Final = frozenset(MODALS.values())
LOOSE: Final = frozenset({"CAN"})
"""`It can reduce pain` and `it reduces pain` may be one statement."""
DOUBT: Final = frozenset({"POSSIBLE", "PROBABLE"})

FUTURE: Final = frozenset(["will", "would", "tomorrow", "soon", "upcoming", "FUTURE"])
PAST: Final = word_set("has have had was were did yesterday already ago")

PRESENT_STATES: Final = word_set(
    "UP open full healthy sick ill available unavailable online offline active idle busy alive dead asleep "
    "awake valid stable unstable ready operational reachable unreachable vulnerable pregnant"
)
"""What is so for a while: `it was full` does not say that it is."""
ATTRIBUTED: Final = word_set(
    "claims claim claimed alleges allege alleged asserts assert asserted argues argue argued insists insist "
    "insisted suspects suspected thinks believes believed says said reckons hopes hoped fears feared"
)
"""`The vendor claims that it works` does not say that it works. What I think is what I say."""
LINKS: Final = _markers(
    {
        "TIME": "before after",
        "UNTIL": "until",
        "BECAUSE": "because cause caused causes so therefore thus hence",
        "IF": "if",
        "WHEN": "when whenever",
        "WHILE": "while during",
        "ALTHOUGH": "although though but however whereas nevertheless",
    }
)
"""How two clauses hang together."""
LINKED_ALIKE: Final = frozenset(
    frozenset(row.split()) for row in ("IF WHEN", "TIME WHEN", "WHILE WHEN", "WHILE ALTHOUGH", "BECAUSE WHEN")
)

DIRECTIONS: Final = _markers(
    {
        "FROM": "from",
        "TO": "to into onto toward towards",
        "UNDER": "under below beneath underneath",
        "OVER": "over above",
        "BEHIND": "behind",
        "THROUGH": "through",
        "AGAINST": "against",
        "BESIDE": "beside near",
    }
)
"""Where to and where from: other words for the same are in one row."""

COMPARED: Final = {"LEAST": "≥", "MOST_OF": "≤", "ABOVE": ">", "BELOW": "<"}
"""Markers before a number, and how they are told from the bare number."""
