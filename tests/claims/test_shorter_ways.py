"""What is worked out in a shorter way comes to what the long way says, for whatever is claimed."""

import json
from typing import Any

import msgspec
import pytest
import rfc8785
from hypothesis import example, given
from hypothesis import strategies as st

from beliefd.adversarial import scan
from beliefd.adversarial.views import long_runs
from beliefd.kernel import canonical_structs
from beliefd.kernel.approvals.shaping import content_of, marks_of
from beliefd.kernel.approvals.state import Approvals, Shaped
from beliefd.kernel.canonical import digest
from beliefd.kernel.claims.bundle import ClaimBundle, DecidedAction, EvidencePointer, content_hash, filled
from beliefd.kernel.claims.commands import SubmitClaims
from beliefd.kernel.claims.findings import ClaimFindings
from beliefd.kernel.claims.gates import GATES
from beliefd.kernel.claims.gates.result import GateInput
from beliefd.kernel.claims.resolving import standings
from beliefd.kernel.claims.standing import UNSEEN_ALONE
from beliefd.kernel.claims.threat import Threat
from beliefd.kernel.claims.tiers import effective_tiers, highest_tier, recorded_tier, tiers_of
from beliefd.kernel.errors import BeliefdError
from beliefd.kernel.measurements.state import gist_digest, words_digest
from beliefd.kernel.policy import Policy
from beliefd.kernel.scan.whole_words import look, whole_words
from beliefd.kernel.values import SHOWN, Principal, Role, quoted
from beliefd.protocol.wire import parse_object
from beliefd.steward.facts.threats import texts_of
from beliefd.steward.handlers.claims import read_at_once, submission_of
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


@given(bundles(), ascii_texts)
def test_the_mark_of_a_text_is_the_digest_of_how_it_looks(bundle: ClaimBundle, text: str) -> None:
    first = msgspec.structs.replace(bundle.claims[0], statement=text or "x")
    bundle = msgspec.structs.replace(bundle, claims=(first, *bundle.claims[1:]))
    assert marks_of(bundle) == tuple(dict.fromkeys([digest(look(one.statement)) for one in bundle.claims]))


@given(st.lists(st.tuples(st.lists(st.sampled_from("abc"), max_size=3), st.lists(st.sampled_from("xyz")))))
def test_everybody_is_remembered_who_ever_shaped_something(steps: list[tuple[list[str], list[str]]]) -> None:
    held, told = Approvals(), dict[str, tuple[str, ...]]()
    for content, by in steps:
        held = held.with_shaped(Shaped(content=tuple(content), by=tuple(by)))
        for one in content:
            if people := tuple(dict.fromkeys((*told.get(one, ()), *by))):
                told[one] = people
    assert dict(held.shapers.items()) == told


@given(ascii_texts | st.text(max_size=20), st.sampled_from([4, SHOWN]))
def test_a_quoted_text_is_one_line_without_our_own_signs(text: str, most: int) -> None:
    short = text if len(text) <= most else f"{text[:most]}..."
    plain = " ".join(short.replace("`", "'").split())
    assert quoted(text, most) == f"`{plain.encode(errors='replace').decode()}`"


AGENT = Principal(id="agent://local", role=Role.AGENT, tier="PRIVILEGE")
NOTHING = ClaimFindings(threat=Threat(detector="none"), tools={}, rejected={})
WRITTEN = (
    "0",
    "1",
    "-0",
    "-0.0",
    "0.0",
    "1.0",
    "0.5",
    "5e-1",
    "1e-7",
    "1E0",
    "0.10",
    "1e400",
    "9007199254740993",
)
written_numbers = st.sampled_from(WRITTEN)


def _by_values(body: bytes) -> SubmitClaims | str:
    try:
        return submission_of(parse_object(body), AGENT)
    except BeliefdError as error:
        return error.message


@given(bundles(), st.booleans(), written_numbers, st.sampled_from(["", "id", "origin-agent", "samples"]))
def test_a_body_that_is_read_at_once_says_what_its_values_say(
    bundle: ClaimBundle, named: bool, number: str, odd: str
) -> None:
    told = msgspec.to_builtins(bundle)
    if not named:
        del told["origin_agent"]
    body = msgspec.json.encode(told)
    value = msgspec.json.encode(told["claims"][0]["uncertainty"]["value"])
    bodies = [
        body,
        body.replace(b'"value":%b' % value, b'"value":%b' % number.encode()),
        body.replace(b'"statement":', b'"%b":1,"statement":' % odd.encode()),
        body.replace(b'"statement":', b'"statement":"twice","statement":', 1),
        json.dumps(told).encode(),
        b"[" + body[1:],
        body[:-1],
    ]
    for one in bodies:
        if (read := read_at_once(one, AGENT)) is not None:
            assert read == _by_values(one)
            assert msgspec.json.encode(read) == msgspec.json.encode(_by_values(one))
    assert read_at_once(body, AGENT) is not None or not body.isascii() or b":-" in body


@pytest.mark.parametrize(
    "body",
    [b"", b"{}", b"[]", b"null", b'["claims":[]}', b'{"claims":[]}', b'{"a":' * 3_000, b'{"claims":"\xff"}'],
)
def test_what_is_wrong_is_not_read_at_once(body: bytes) -> None:
    assert read_at_once(body, AGENT) is None


hours = st.integers(0, 48).map(lambda hour: f"2026-01-{5 + hour // 24:02}T{hour % 24:02}:00:00")
moments = st.builds("{}{}{}".format, hours, st.sampled_from(["", ".5"]), st.sampled_from(["Z", "-05:00"]))
evidence_rules = st.fixed_dictionaries(
    {},
    optional={
        "hash": st.just("strict"),
        "max_age_seconds": st.integers(1, 100_000),
        "require": st.just("stored"),
    },
)
confidences, sizes = st.sampled_from([0.59, 0.6, 0.95]), st.sampled_from([64, 40])
cited = st.tuples(moments, confidences, st.sampled_from("xyz"), sizes)
FACT = {
    "statement": "x",
    "claim_type": "FACT",
    "uncertainty": {"method": "semantic_entropy", "value": 0.4375},
    "risk_tier": "READ_ONLY",
}
FACTS = msgspec.convert({"origin_agent": "a", "claims": [FACT, FACT]}, ClaimBundle)
NOON = "2026-01-05T12:00:00Z"


@example([("2026-01-05T11:00:00-05:00", 0.95, "x", 64)], FACTS, NOON, {})
@example([("2026-01-05T11:00:00Z", 0.95, "x", 64)], FACTS, NOON, {"max_age_seconds": 1})
@given(st.lists(cited, min_size=1, max_size=3), bundles(), moments, evidence_rules)
def test_ordinary_evidence_is_judged_like_all_other(
    pointers: list[tuple[str, float, str, int]], others: ClaimBundle, now: str, rules: dict[str, Any]
) -> None:
    """An equal standing that is not the shared one goes the long way."""
    claims = [
        msgspec.structs.replace(
            others.claims[0],
            evidence_pointers=(
                EvidencePointer(
                    source=source, source_confidence=share, evidence_hash="a" * size, retrieved_at=at
                ),
            ),
        )
        for at, share, source, size in pointers
    ]
    every = enumerate((*claims, *others.claims))
    named = [msgspec.structs.replace(claim, id=f"c{place}") for place, claim in every]
    bundle = ClaimBundle(origin_agent="a", claims=tuple(named))
    short = standings(bundle, None, NOTHING, ("a",))
    assert all(short[f"c{place}"] is UNSEEN_ALONE for place, one in enumerate(pointers) if one[3] == 64)
    long = {name: msgspec.structs.replace(one) for name, one in short.items()}
    policy = msgspec.convert({"evidence": rules}, Policy)
    asked = GateInput(bundle, AGENT, policy, NOTHING, now, standings=short)
    assert GATES["evidence"](asked) == GATES["evidence"](msgspec.structs.replace(asked, standings=long))


@pytest.mark.parametrize(
    ("retrieved", "now"),
    [
        ("2026-01-05T11:00:00-05:00", NOON),
        ("2026-01-05T18:00:00.5Z", "2026-01-05T12:00:00-05:00"),
        ("2026-01-05T17:00:00Z", "2026-01-05T12:00:00.999999Z"),
    ],
)
def test_evidence_from_the_future_is_found_out_however_times_are_written(retrieved: str, now: str) -> None:
    pointer = EvidencePointer(
        source="s", source_confidence=0.95, evidence_hash="a" * 64, retrieved_at=retrieved
    )
    claim = msgspec.structs.replace(FACTS.claims[0], id="c", evidence_pointers=(pointer,))
    bundle = ClaimBundle(origin_agent="a", claims=(claim,))
    asked = GateInput(bundle, AGENT, Policy(), NOTHING, now, standings={"c": UNSEEN_ALONE})
    assert "future" in GATES["evidence"](asked)[0].reason


@given(bundles())
def test_the_recorded_tier_is_the_highest_of_the_recorded_ones(bundle: ClaimBundle) -> None:
    tiers = effective_tiers(bundle, "agent://a", RAISING, {})
    named = filled(bundle, "b", "2026-01-05T14:02:00Z")
    for raised in (tiers.raised, msgspec.UNSET):
        assert recorded_tier(named, raised) is tiers_of(named, raised).highest


@given(st.lists(bundles(), min_size=1, max_size=3), st.data())
def test_claims_whose_numbers_were_looked_at_are_written_as_all_others(
    submitted: list[ClaimBundle], data: Any
) -> None:
    """Bundles in any order, as threads may decide them: what is remembered of one says nothing of another."""
    named = [filled(one, "b", "2026-01-05T14:02:00Z") for one in submitted]
    for at in data.draw(st.lists(st.integers(0, len(named) - 1), max_size=6)):
        one = named[at]
        content = {name: getattr(one, name) for name in ("claims", "id", "origin_agent", "timestamp")}
        assert content_hash(one) == digest(msgspec.to_builtins(content))
        for each in (*submitted, *named):
            found = canonical_structs.canonical_envelope({}, {"payload": SubmitClaims(bundle=each)})
            told = msgspec.to_builtins(SubmitClaims(bundle=each))
            assert found == rfc8785.dumps({"payload": told})


def test_the_numbers_of_a_bundle_are_looked_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    looked, numbers = list[float](), canonical_structs._are_plain_floats

    def noted(floats: set[float]) -> bool:
        looked.extend(floats)
        return numbers(floats)

    monkeypatch.setattr(canonical_structs, "_are_plain_floats", noted)
    named = filled(FACTS, "b", "2026-01-05T14:02:00Z")
    content_hash(named)
    for one in (named, FACTS):
        canonical_structs.canonical_envelope({}, {"payload": SubmitClaims(bundle=one)})
    assert looked == [0.4375]


@example(["abcdefghijklmnsk", "ipqrstuvwxyzabcd"])
@given(
    st.lists(st.sampled_from(["skip", "theapproval", "ignoreallprevious", "rules", "abcdefghijklmnop", "/"]))
)
def test_runs_are_looked_through_at_once_and_none_goes_on_in_the_next(runs: list[str]) -> None:
    text = " ".join(runs)
    data = text.encode()
    apart = any(scan._ONE_WORD.search(one.lower()) for one in long_runs(text, data))
    assert scan.look(text).respelt == (apart or scan._is_respelt(data, scan._known(data)))
