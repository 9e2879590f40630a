"""Measuring the uncertainty of claims from the answers that came with them, before the gates are asked."""

from typing import Final

from msgspec import UNSET
from msgspec.structs import replace

from beliefd.kernel.claims.bundle import Claim, ClaimBundle, claim_id
from beliefd.kernel.claims.commands import SubmitClaims
from beliefd.kernel.claims.findings import ClaimFindings, UncertaintySource
from beliefd.steward.offload import offload
from beliefd.uncertainty.model_disagreement import model_disagreement
from beliefd.uncertainty.semantic_entropy import semantic_entropy

LIGHT_ANSWERS: Final = 10
LIGHT_LENGTH: Final = 2_000
"""Answers up to this number and total length are compared in place; more of them go to a thread."""


def many(answers: tuple[str, ...]) -> bool:
    return len(answers) > LIGHT_ANSWERS or sum(map(len, answers)) > LIGHT_LENGTH


async def with_standings(findings: ClaimFindings, command: SubmitClaims) -> ClaimFindings:
    """The findings with the standing of every claim's uncertainty, if any claim brought answers."""
    if command.samples is UNSET or not command.samples:
        return findings
    heavy = many(tuple(answer for answers in command.samples.values() for answer in answers))
    standings = await offload(heavy, _standings, command.bundle, command.samples)
    return replace(findings, uncertainty=standings)


def _standings(bundle: ClaimBundle, samples: dict[str, tuple[str, ...]]) -> dict[str, UncertaintySource]:
    return {
        name: _standing(claim, samples.get(name))
        for place, claim in enumerate(bundle.claims, 1)
        if (name := claim_id(claim, place))
    }


def _standing(claim: Claim, answers: tuple[str, ...] | None) -> UncertaintySource:
    if answers is None:
        return UncertaintySource(source="self-declared", value=claim.uncertainty.value)
    method = semantic_entropy if claim.uncertainty.method == "semantic_entropy" else model_disagreement
    found = method(answers).uncertainty
    return UncertaintySource(
        source="measured", value=round(found.value, 6), interpretation=found.interpretation
    )
