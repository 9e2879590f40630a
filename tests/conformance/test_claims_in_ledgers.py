"""Claims, approvals and grants stand in the same ledgers: the second language folds and hashes them, too."""

from beliefd.ledger.state_hash import STATE_HASH_EVERY
from beliefd.testing.world import AGENT, World, policy
from tests.claims.support import bundle, claim
from tests.conformance.node import verify_with_node
from tests.ledger.ledgers import edited, joined, parts, relinked

RULES = policy(
    approvals={
        "require_human": ["MODIFY", "DELETE", "PRIVILEGE"],
        "expires_seconds": 100,
        "on_expiry": "escalate",
    },
    tiers={"raise": [{"words": ["purge"], "to": "PRIVILEGE"}]},
)


def ledger() -> bytes:
    """Every kind of claim event, and enough events for two state hashes."""
    with World(policy=RULES) as house:
        session = house.session()
        agent, ann = house.agent, house.ann
        agent.submit_claims(session, bundle(claim("READ_ONLY")))
        ann.approve(agent.submit_claims(session, bundle(claim("DELETE"))))
        ann.reject(agent.submit_claims(session, bundle(claim("DELETE", id="c2"))))
        ann.modify(agent.submit_claims(session, bundle(claim("DELETE", id="c3"))), claim("DELETE", id="c4"))
        withdrawn = agent.submit_claims(session, bundle(claim("PRIVILEGE")))
        assert withdrawn.approval_id is not None
        agent.withdraw_approval(withdrawn.approval_id)
        agent.submit_claims(session, bundle(claim("DELETE"), id="again"))
        agent.submit_claims(session, bundle(claim("DELETE", value=0.2), id="again"))
        given = ann.give_grant(session, principal=AGENT.id, tiers=["MODIFY"], expires_in_seconds=60)
        agent.submit_claims(session, bundle(claim("MODIFY", statement="restart the checkout service")))
        ann.revoke_grant(session, given.grant.grant_id)
        house.clock.advance(200)
        assert house.expire() > 0
        for _ in range(40):
            agent.submit_claims(session, bundle(claim("READ_ONLY"), claim("WRITE_LIMITED", id="c5")))
        agent.submit_claims(session, bundle(claim("READ_ONLY", statement="purge the log"), id="raised"))
        conclude = {"verb": "DECLARE_CONCLUSION", "conclusion_id": "c"}
        agent.batch(session, [conclude] * (2 * STATE_HASH_EVERY))
        assert agent.verify(session).ok
        return agent.export(session)


def test_node_verifies_a_ledger_with_every_kind_of_claim_event() -> None:
    export = ledger()
    header, entries = parts(export)
    kinds = {entry["delta"]["kind"] for entry in entries}
    assert {"bundle_gated", "approval_decided", "approval_closed", "grant_given", "grant_revoked"} <= kinds
    assert any(entry["delta"].get("superseded") for entry in entries)
    assert any(entry["delta"].get("grant_id") for entry in entries)
    assert any(entry["delta"].get("successor") for entry in entries)
    assert any(entry["delta"].get("replaced") for entry in entries)
    (raised,) = [entry["delta"]["gated"] for entry in entries if "raised" in entry["delta"].get("gated", {})]
    assert [one["tier"] for one in raised["raised"]] == ["PRIVILEGE"]
    assert raised["approval"]["raised"] == raised["raised"]
    hashed = [entry["seq"] for entry in entries if "state_hash" in entry]
    assert hashed == [STATE_HASH_EVERY, 2 * STATE_HASH_EVERY]
    assert verify_with_node(export) == (0, f"ok {len(entries)} events, head {header['head']['hash']}")

    forged = edited(entries, 256, lambda entry: {**entry, "state_hash": "0" * 64})
    verdict = verify_with_node(joined(*relinked(header, forged, 256)))
    assert (verdict.code, verdict.text) == (5, "bad event 256: its `state_hash` does not hold")
