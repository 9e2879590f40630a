"""The vocabulary of the graph: kinds of nodes, relations, and which kind may play which role in them.

There is one table of roles. The embedded stores, the TypeDB schema and the tests all read this one.
"""

from typing import Final

from msgspec import Struct

SESSION: Final = "session"
PROPOSITION: Final = "proposition"
EXPERIMENT: Final = "experiment"
RUN: Final = "run"
TESTED_DATA: Final = "tested-data"
"""How often a principal tested anything on a body of data, so that every try counts in every session."""
REJECTED_WORDS: Final = "rejected-words"
"""What a person rejected, so that whoever decides in another session learns of it."""
VALIDATION_EVIDENCE: Final = "validation-evidence"
NEGATIVE_EVIDENCE: Final = "negative-evidence"
INTENT: Final = "intent"
SPECULATIVE_HYPOTHESIS: Final = "speculative-hypothesis"
SPECULATIVE_CLAIM: Final = "speculative-claim"

EVIDENCE_KINDS: Final = (VALIDATION_EVIDENCE, NEGATIVE_EVIDENCE)
SPECULATIVE_KINDS: Final = (SPECULATIVE_HYPOTHESIS, SPECULATIVE_CLAIM)
QUARANTINED: Final = "quarantined"
"""The status that a proposition under quarantine is shown with, whatever its own is."""
KINDS: Final = (
    SESSION,
    PROPOSITION,
    EXPERIMENT,
    RUN,
    TESTED_DATA,
    REJECTED_WORDS,
    *EVIDENCE_KINDS,
    INTENT,
    *SPECULATIVE_KINDS,
)

EVIDENCE_FOR_PROPOSITION: Final = "evidence-for-proposition"
EVIDENCE_FROM_RUN: Final = "evidence-from-run"
RUN_OF_EXPERIMENT: Final = "run-of-experiment"
EXPERIMENT_TESTS_PROPOSITION: Final = "experiment-tests-proposition"
INTENT_CHANGES_PROPOSITION: Final = "intent-changes-proposition"
INTENT_RESTS_ON_EVIDENCE: Final = "intent-rests-on-evidence"
INTENT_SUPERSEDES: Final = "intent-supersedes"
PROPOSITION_FORKED_FROM: Final = "proposition-forked-from"
SESSION_HAS_PROPOSITION: Final = "session-has-proposition"
SESSION_HAS_SPECULATIVE_HYPOTHESIS: Final = "session-has-speculative-hypothesis"
SESSION_HAS_SPECULATIVE_CLAIM: Final = "session-has-speculative-claim"
HYPOTHESIS_TARGETS_PROPOSITION: Final = "speculative-hypothesis-targets-proposition"


class Relation(Struct, frozen=True):
    """Two roles, and the kinds that may play each."""

    first: str
    first_kinds: tuple[str, ...]
    second: str
    second_kinds: tuple[str, ...]


# INVARIANT: no speculative kind plays `evidence` anywhere. What has no row here cannot be linked at all.
RELATIONS: Final[dict[str, Relation]] = {
    EVIDENCE_FOR_PROPOSITION: Relation("evidence", EVIDENCE_KINDS, "proposition", (PROPOSITION,)),
    EVIDENCE_FROM_RUN: Relation("evidence", EVIDENCE_KINDS, "run", (RUN,)),
    RUN_OF_EXPERIMENT: Relation("run", (RUN,), "experiment", (EXPERIMENT,)),
    EXPERIMENT_TESTS_PROPOSITION: Relation("experiment", (EXPERIMENT,), "proposition", (PROPOSITION,)),
    INTENT_CHANGES_PROPOSITION: Relation("intent", (INTENT,), "proposition", (PROPOSITION,)),
    INTENT_RESTS_ON_EVIDENCE: Relation("intent", (INTENT,), "evidence", EVIDENCE_KINDS),
    INTENT_SUPERSEDES: Relation("successor", (INTENT,), "superseded", (INTENT,)),
    PROPOSITION_FORKED_FROM: Relation("fork", (PROPOSITION,), "origin", (PROPOSITION,)),
    SESSION_HAS_PROPOSITION: Relation("session", (SESSION,), "proposition", (PROPOSITION,)),
    SESSION_HAS_SPECULATIVE_HYPOTHESIS: Relation(
        "session", (SESSION,), "hypothesis", (SPECULATIVE_HYPOTHESIS,)
    ),
    SESSION_HAS_SPECULATIVE_CLAIM: Relation("session", (SESSION,), "claim", (SPECULATIVE_CLAIM,)),
    HYPOTHESIS_TARGETS_PROPOSITION: Relation(
        "hypothesis", (SPECULATIVE_HYPOTHESIS,), "proposition", (PROPOSITION,)
    ),
}

Plays = tuple[str, str, str]
"""A relation, a role of it, and a kind that may play the role."""

PLAYS: Final[frozenset[Plays]] = frozenset(
    (name, role, kind)
    for name, relation in RELATIONS.items()
    for role, kinds in ((relation.first, relation.first_kinds), (relation.second, relation.second_kinds))
    for kind in kinds
)
