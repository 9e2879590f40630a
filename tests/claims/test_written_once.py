"""Claims are written once, for the hash that an approval binds and into the record: with the same bytes."""

import hashlib
from collections.abc import Iterator

import msgspec
import pytest
import rfc8785
from hypothesis import given

from beliefd.kernel.approvals.state import Approvals, Shaped
from beliefd.kernel.beliefs.commands import DeclareSession
from beliefd.kernel.canonical import canonical
from beliefd.kernel.canonical_structs import canonical_envelope, spliced
from beliefd.kernel.claims import bundle as bundles_module
from beliefd.kernel.claims.bundle import ClaimBundle, content_hash, filled, written
from beliefd.kernel.claims.commands import SubmitClaims
from beliefd.kernel.claims.endings import Corrects
from beliefd.kernel.claims.events import BundleGated, Gated
from beliefd.kernel.evolve import begin
from beliefd.kernel.facts import Facts
from beliefd.kernel.policy import Policy
from beliefd.ledger.chain import policy_hash, seal
from beliefd.testing.world import AGENT, NOW, ONTOLOGY
from tests.claims.strategies import bundles

CLAIMS = ("gated", "bundle", "claims")


@pytest.fixture(autouse=True)
def _nothing_is_known() -> Iterator[None]:
    before = bundles_module._last_written
    yield
    bundles_module._last_written = before


def gated(bundle: ClaimBundle) -> BundleGated:
    judged = Gated(bundle=bundle, content_hash=content_hash(bundle), results=())
    return BundleGated(event_id="e", gated=judged, proposer="p")


@given(bundles())
def test_the_hash_is_that_of_all_that_an_approval_binds(said: ClaimBundle) -> None:
    for bundle in (said, msgspec.structs.replace(said, corrects=Corrects(bundle_id="b"))):
        told = msgspec.to_builtins(bundle)
        names = {"claims", "corrects", "id", "origin_agent", "timestamp"} & told.keys()
        bound = rfc8785.dumps({name: told[name] for name in names})
        assert content_hash(bundle) == hashlib.sha256(bound).hexdigest()


@given(bundles())
def test_what_was_written_before_stands_in_the_record_as_if_it_were_written_there(said: ClaimBundle) -> None:
    event = gated(filled(said, "new", NOW))
    claims = written(event.gated.bundle.claims)
    assert claims is not None
    whole = canonical({"delta": msgspec.to_builtins(event)})
    assert canonical_envelope({}, {"delta": event}, {"delta": spliced(event, CLAIMS, claims)}) == whole
    assert canonical_envelope({}, {"delta": event}) == whole


@given(bundles(), bundles())
def test_only_the_very_claims_that_were_hashed_last_are_known(one: ClaimBundle, other: ClaimBundle) -> None:
    content_hash(one)
    assert written(one.claims) == rfc8785.dumps(msgspec.to_builtins(one.claims))
    assert written(msgspec.convert(msgspec.to_builtins(one), ClaimBundle).claims) is None
    content_hash(other)
    assert written(one.claims) is None


@given(bundles())
def test_a_record_is_the_same_whoever_was_judged_in_between(said: ClaimBundle) -> None:
    session, command = begin("s", DeclareSession(ontology=ONTOLOGY, hypotheses=("h1", "h2"))), SubmitClaims(bundle=said)
    rules = Policy()
    facts = Facts(now=NOW, event_id="e", principal=AGENT, policy=rules, policy_hash=policy_hash(rules))
    event = gated(filled(said, "new", NOW))
    first = seal(session, command, event, session, None, facts)
    content_hash(said)
    assert seal(session, command, event, session, None, facts) == first


def test_the_record_takes_the_bytes_that_were_hashed(monkeypatch: pytest.MonkeyPatch) -> None:
    session = begin("s", DeclareSession(ontology=ONTOLOGY, hypotheses=("h1", "h2")))
    rules = Policy()
    facts = Facts(now=NOW, event_id="e", principal=AGENT, policy=rules, policy_hash=policy_hash(rules))
    said = filled(msgspec.convert(BUNDLE, ClaimBundle), "new", NOW)
    event = gated(said)
    monkeypatch.setattr(bundles_module, "_last_written", (said.claims, b'["as they were hashed"]'))
    record = seal(session, SubmitClaims(bundle=said), event, session, None, facts).record
    assert msgspec.json.decode(record)["delta"]["gated"]["bundle"]["claims"] == ["as they were hashed"]


BUNDLE = {
    "origin_agent": "a",
    "claims": [
        {
            "statement": "it is so",
            "claim_type": "INFERENCE",
            "uncertainty": {"method": "confidence_score", "value": 1.0},
            "risk_tier": "READ_ONLY",
        }
    ],
}


def test_nobody_is_remembered_twice_and_nobody_at_all_is_not_remembered() -> None:
    known = Approvals().with_shaped(Shaped(content=("c",), by=("ann", "ann")))
    assert known.shapers["c"] == ("ann",)
    assert known.with_shaped(Shaped(content=("c", "d"), by=("bob", "ann"))).shapers["c"] == ("ann", "bob")
    assert "d" not in known.with_shaped(Shaped(content=("d",), by=())).shapers
