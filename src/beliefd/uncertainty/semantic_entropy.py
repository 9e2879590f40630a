"""Semantic entropy of sampled answers, and nearest-neighbour entropy beside it.

Farquhar, Kossen, Kuhn, Gal: Detecting hallucinations in large language models using semantic entropy,
Nature 630:625-630 (2024). Answers that entail each other share a meaning; the entropy of the meanings tells
how sure a model is, whatever words it chose. Nats inside, divided by log k for the gate.
"""

import math
from collections.abc import Sequence
from typing import Final

from beliefd.kernel.claims.policy import UncertaintyPolicy
from beliefd.kernel.errors import invalid
from beliefd.uncertainty.equivalence.judges import Judges
from beliefd.uncertainty.equivalence.port import Bench, Judge, JudgeFailed
from beliefd.uncertainty.result import DEFAULT_POLICY, Measured, check_answers, stated, unmeasured
from beliefd.uncertainty.rouge import rouge_l, words
from beliefd.wanted import check_wanted

METHOD: Final = "semantic_entropy"
Clusters = tuple[tuple[int, ...], ...]
TokenLogprobs = Sequence[float | Sequence[float]]
"""For each answer its length-normalised log-likelihood, or the log-probability of each of its tokens."""


def semantic_entropy(
    answers: Sequence[str],
    judge: Judge | None = None,
    token_logprobs: TokenLogprobs | None = None,
    policy: UncertaintyPolicy = DEFAULT_POLICY,
    recheck: int = 0,
) -> Measured:
    """How many meanings the answers have, as an entropy between 0 (one meaning) and 1 (all differ)."""
    check_answers(list(answers))
    weights = None if token_logprobs is None else likelihoods(token_logprobs, len(answers))
    judge = judge or Judges().named("lexical")
    bench = Bench(judge, recheck)
    try:
        clusters = meanings(answers, bench)
        bench.adjourn()
    except JudgeFailed as failure:
        return unmeasured(METHOD, str(failure), judge.name)
    nats = discrete_entropy(clusters) if weights is None else weighted_entropy(clusters, weights)
    value = normalised(nats, len(answers))
    kind = "" if weights is None else ", weighted by likelihood"
    said = f"{len(clusters)} meanings in {len(answers)} answers ({judge.name} judge{kind})"
    return Measured(
        uncertainty=stated(METHOD, value, said, policy),
        clusters=clusters,
        nats=nats,
        judge=judge.name,
        judge_calls=bench.calls,
    )


def nearest_neighbour_entropy(
    answers: Sequence[str], policy: UncertaintyPolicy = DEFAULT_POLICY, temperature: float = 1.0
) -> Measured:
    """How alone each answer is among the others, by ROUGE-L: no judge and no clusters."""
    check_answers(list(answers))
    value = neighbour_entropy([words(answer) for answer in answers], temperature)
    said = f"nearest-neighbour entropy of {len(answers)} answers (ROUGE-L, no judge)"
    return Measured(uncertainty=stated(METHOD, value, said, policy))


def meanings(answers: Sequence[str], bench: Bench) -> Clusters:
    """Clusters of answers, as places. The most frequent wording is compared first, then by the alphabet.

    INVARIANT: the order in which answers came has no influence, even if the judge is not transitive.
    """
    places: dict[str, list[int]] = {}
    for place, answer in enumerate(answers):
        places.setdefault(answer.strip(), []).append(place)
    wordings = sorted(places, key=lambda wording: (-len(places[wording]), wording))
    found = cluster(wordings, bench)
    merged = (sorted(at for member in members for at in places[wordings[member]]) for members in found)
    return tuple(sorted((tuple(members) for members in merged), key=lambda members: (-len(members), members)))


def cluster(wordings: Sequence[str], bench: Bench) -> Clusters:
    """Each wording joins the first cluster whose first member it entails and is entailed by."""
    members: list[list[int]] = []
    firsts: list[str] = []
    for place, wording in enumerate(wordings):
        home = bench.equivalent_to(wording, firsts) if wording else None
        if home is None:
            members.append([place])
            # Silence means nothing that another answer could entail.
            firsts.append(wording)
        else:
            members[home].append(place)
    return tuple(tuple(places) for places in members)


def normalised(nats: float, count: int) -> float:
    """Nats as a share of the most that `count` answers can have, which is exactly 1 if all differ."""
    most = math.log(count)
    return 1.0 if math.isclose(nats, most, rel_tol=1e-12) else nats / most


def discrete_entropy(clusters: Clusters) -> float:
    """Shannon entropy of the shares of answers, in nats."""
    total = sum(len(members) for members in clusters)
    return -math.fsum(share * math.log(share) for members in clusters if (share := len(members) / total) < 1)


def weighted_entropy(clusters: Clusters, log_likelihoods: Sequence[float]) -> float:
    """Entropy of the clusters' likelihood mass, renormalised over the clusters that were seen, in nats."""
    peak = max(log_likelihoods)
    masses = [math.fsum(math.exp(log_likelihoods[place] - peak) for place in members) for members in clusters]
    total = math.fsum(masses)
    return -math.fsum(p * math.log(p) for mass in masses if 0 < (p := mass / total) < 1)


def likelihoods(given: TokenLogprobs, count: int) -> list[float]:
    """Length-normalised log-likelihoods: a long answer is not less likely for being long."""
    if len(given) != count:
        raise invalid(f"{len(given)} log-probabilities for {count} answers", "$.token_logprobs")
    found: list[float] = []
    for place, one in enumerate(given):
        path = f"$.token_logprobs[{place}]"
        tokens = [one] if isinstance(one, int | float) else list(one)
        if not tokens:
            raise invalid("an answer has no tokens", path)
        if any(not math.isfinite(token) or token > 0 for token in tokens):
            raise invalid("a log-probability is finite and not above 0", path)
        found.append(math.fsum(tokens) / len(tokens))
    return found


def neighbour_entropy(tokens: Sequence[Sequence[str]], temperature: float = 1.0) -> float:
    """-mean log sum exp(similarity / temperature), scaled to 0 (all alike) and 1 (none).

    Nguyen, Payani, Mirzasoleiman: Beyond Semantic Entropy (2025).
    """
    count = len(tokens)
    similarity = [[1.0] * count for _ in range(count)]
    for one in range(count):
        check_wanted()
        for other in range(one):
            similarity[one][other] = similarity[other][one] = rouge_l(tokens[one], tokens[other])
    raw = (
        -math.fsum(math.log(math.fsum(math.exp(value / temperature) for value in row)) for row in similarity)
        / count
    )
    least = -(math.log(count) + 1 / temperature)
    largest = -math.log(math.exp(1 / temperature) + count - 1)
    return (raw - least) / (largest - least)
