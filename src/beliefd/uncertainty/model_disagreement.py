"""Model disagreement: how far apart the answers of several models, or of one at several temperatures, are.

It looks at what was answered, not at how confident anybody was. A heuristic without a guarantee: models that
learnt the same mistake agree on it.
"""

from collections.abc import Sequence
from itertools import combinations
from typing import Final

from beliefd.kernel.claims.policy import UncertaintyPolicy
from beliefd.uncertainty.equivalence.judges import Judges
from beliefd.uncertainty.equivalence.port import Bench, Judge, JudgeFailed
from beliefd.uncertainty.result import DEFAULT_POLICY, Measured, check_answers, stated, unmeasured
from beliefd.uncertainty.semantic_entropy import Clusters, meanings
from beliefd.wanted import check_wanted

METHOD: Final = "model_disagreement"


def model_disagreement(
    answers: Sequence[str],
    judge: Judge | None = None,
    policy: UncertaintyPolicy = DEFAULT_POLICY,
    recheck: int = 0,
) -> Measured:
    """One minus the mean agreement over all pairs: 0 if all agree, 1 if no two have anything in common.

    The lexical judge grades a pair, others say only whether both are in one cluster.
    """
    check_answers(list(answers))
    judge = judge or Judges().named("lexical")
    bench = Bench(judge, recheck)
    try:
        clusters = meanings(answers, bench)
        bench.adjourn()
    except JudgeFailed as failure:
        return unmeasured(METHOD, str(failure), judge.name)
    value = graded(answers) if judge.name == "lexical" else apart(clusters)
    largest = max(len(members) for members in clusters)
    said = f"{largest} of {len(answers)} answers mean the same ({judge.name} judge)"
    return Measured(
        uncertainty=stated(METHOD, value, said, policy),
        clusters=clusters,
        judge=judge.name,
        judge_calls=bench.calls,
    )


def graded(answers: Sequence[str]) -> float:
    """One minus the mean graded agreement of two answers."""
    from beliefd.uncertainty.equivalence.lexical import agreement

    found: list[float] = []
    for a, b in combinations(answers, 2):
        check_wanted()
        found.append(agreement(a, b))
    return 1 - sum(found) / len(found)


def apart(clusters: Clusters) -> float:
    """The share of pairs that are in two clusters."""
    sizes = [len(members) for members in clusters]
    total = sum(sizes)
    return 1 - sum(size * (size - 1) for size in sizes) / (total * (total - 1))


def outside_majority(clusters: Clusters) -> float:
    """One minus the majority's share, stretched so that k different answers make 1 and not 1 - 1/k."""
    sizes = [len(members) for members in clusters]
    return (sum(sizes) - max(sizes)) / (sum(sizes) - 1)
