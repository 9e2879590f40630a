"""What is worked out in a shorter way comes to what the long way says, for whatever is claimed."""

import msgspec
from hypothesis import given
from hypothesis import strategies as st

from beliefd.kernel.approvals.shaping import content_of
from beliefd.kernel.canonical import digest
from beliefd.kernel.claims.bundle import ClaimBundle, DecidedAction
from beliefd.kernel.claims.tiers import effective_tiers, highest_tier
from beliefd.kernel.measurements.state import gist_digest, words_digest
from beliefd.kernel.policy import Policy
from beliefd.kernel.scan.whole_words import whole_words
from beliefd.steward.facts.threats import texts_of
from tests.claims.strategies import bundles

ascii_texts = st.text(st.characters(max_codepoint=127), max_size=40)
RAISING = msgspec.convert({"tiers": {"raise": [{"to": "DELETE", "types": ["FACT"]}]}}, Policy)


@given(ascii_texts | st.text(st.characters(exclude_categories=["Cs"]), max_size=20))
def test_the_gist_of_a_text_is_the_digest_of_its_words(text: str) -> None:
    long_way = digest(whole_words(text)) if text.strip() else words_digest(text)
    assert gist_digest(text) == long_way


@given(bundles(), ascii_texts)
def test_what_a_bundle_says_is_the_digest_of_words_type_action_and_subject(
    bundle: ClaimBundle, text: str
) -> None:
    first = msgspec.structs.replace(bundle.claims[0], statement=text or "x")
    decides = msgspec.structs.replace(first, claim_type="DECISION", action=DecidedAction(tool="t"), id="z")
    bundle = msgspec.structs.replace(bundle, claims=(first, *bundle.claims[1:], decides))
    long_way = [
        digest([gist_digest(one.statement), one.claim_type, msgspec.to_builtins(one.action) or None, None])
        if one.action
        else digest([gist_digest(one.statement), one.claim_type, None, None])
        for one in bundle.claims
    ]
    assert content_of(bundle) == tuple(dict.fromkeys(long_way))


@given(bundles(), st.sampled_from([Policy(), RAISING]), st.booleans())
def test_the_highest_tier_is_the_highest_of_all(bundle: ClaimBundle, policy: Policy, acts: bool) -> None:
    if acts:
        decides = msgspec.structs.replace(
            bundle.claims[0], claim_type="DECISION", action=DecidedAction(tool="t")
        )
        bundle = msgspec.structs.replace(bundle, claims=(decides, *bundle.claims[1:]))
    tiers = effective_tiers(bundle, "agent://a", policy, {"t": "MODIFY"})
    assert highest_tier(bundle, "agent://a", policy, {"t": "MODIFY"}) is tiers.highest
    assert tiers.names == {tier.name for tier in tiers.by_claim.values()}


@given(bundles())
def test_every_text_is_told_with_its_own_path(bundle: ClaimBundle) -> None:
    told = dict(texts_of(bundle))
    for at, claim in enumerate(bundle.claims):
        assert told[f"$.claims[{at}].statement"] == claim.statement
        for place, pointer in enumerate(claim.evidence_pointers):
            assert told[f"$.claims[{at}].evidence_pointers[{place}].source"] == pointer.source
