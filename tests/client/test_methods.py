"""Methods come from one builder each: typed, documented, and the same for every client."""

import inspect
from typing import Any, assert_type, get_args

import pytest

import beliefd
from beliefd.client import AsyncCalls, AsyncClient, Calls, Client
from beliefd.client.method import Method
from beliefd.client.operations import Operations
from beliefd.client.requests import Request
from beliefd.embedded import AsyncEmbedded, Embedded
from beliefd.kernel.values import Object
from beliefd.protocol.approvals import ApprovalCard, DecidedApproval
from beliefd.protocol.beliefs import BeliefRows, Declared, Eliminated
from beliefd.protocol.claims import JudgedBundle
from beliefd.protocol.ledger import Verified
from beliefd.protocol.operations import BY_NAME
from beliefd.protocol.uncertainty import CalibrationAnswer

ONTOLOGY = {
    "hypothesis_space_id": "letters",
    "hypothesis_version": "1",
    "causal_graph_ref": "graph://letters",
    "causal_graph_version": "1",
}
BUILDERS = {
    name: found
    for kind in Operations.__mro__
    for name, found in vars(kind).items()
    if isinstance(found, Method)
}
every = pytest.mark.parametrize("name", BUILDERS)


def typed(client: Client, library: Embedded, bundle: beliefd.ClaimBundle) -> None:
    """Never called: mypy reads it."""
    assert_type(client.declare_session(["a"], ONTOLOGY), Declared)
    eliminated = client.eliminate("s", source_id="x", observation_id="o", eliminated=["a"])
    assert_type(eliminated, Eliminated)
    assert_type(client.batch("s", []), list[Object])
    assert_type(client.export("s"), bytes)
    assert_type(client.submit_claims("s", bundle), JudgedBundle)
    assert_type(client.store_calibration("net", model="net-1", scores=[0.5]), CalibrationAnswer)
    assert_type(client.wait_for("approval", timeout=1), ApprovalCard)
    assert_type(next(client.events("s", after=3)), dict[str, Any])
    assert_type(library.verify("s"), Verified)
    client.eliminate("s", source="x")  # type: ignore[call-arg]
    client.eliminate("s", source_id=1, observation_id="o", eliminated=["a"])  # type: ignore[arg-type]


async def typed_async(client: AsyncClient, library: AsyncEmbedded) -> None:
    eliminated = await client.eliminate("s", source_id="x", observation_id="o", eliminated=["a"])
    assert_type(eliminated, Eliminated)
    assert_type(await client.decide_approval("a", "APPROVED", content_hash="h"), DecidedApproval)
    assert_type(await client.wait_for("approval"), ApprovalCard)
    assert_type(await library.verify("s"), Verified)
    await client.verify(session="s")  # type: ignore[call-arg]


def test_what_is_taken_from_no_client_is_a_request() -> None:
    request = Operations.eliminate("s", source_id="x", observation_id="o", eliminated=iter(["a"]))
    assert_type(request, Request[Eliminated])
    assert request.operation is BeliefRows.eliminate
    assert request.body == {
        "source_id": "x",
        "observation_id": "o",
        "eliminated": ["a"],
        "justification": {},
    }


@every
def test_a_method_shows_its_arguments_its_answer_and_what_it_does(name: str) -> None:
    for kind in (Client, Embedded):
        shown = inspect.signature(getattr(kind, name))
        assert shown == inspect.signature(getattr(AsyncClient, name))
        assert next(iter(shown.parameters)) == "self"
        assert shown.return_annotation == BY_NAME[name].answer
        assert inspect.getdoc(getattr(kind, name))
    assert inspect.isfunction(getattr(Calls, name))
    assert inspect.iscoroutinefunction(getattr(AsyncCalls, name))


@every
def test_a_builder_says_what_its_operation_answers(name: str) -> None:
    """mypy compares the two; this is about methods that take their row by another name."""
    build = inspect.unwrap(getattr(Calls, name))
    assert get_args(inspect.signature(build).return_annotation) == (BY_NAME[name].answer,)
    row = BY_NAME[name]
    headers = {"if_match": row.if_match, "idempotency_key": row.idempotency_key, "notes": row.notes}
    taken = set(inspect.signature(getattr(Calls, name)).parameters) & set(headers)
    assert all(headers[header] for header in taken), "a header that the operation does not heed"
    assert ("notes" in taken) == row.notes


def test_claims_can_be_made_of_what_the_package_exports() -> None:
    claim = beliefd.Claim(
        statement="the pool is exhausted",
        claim_type="FACT",
        uncertainty=beliefd.Uncertainty(method="confidence_score", value=0.1),
        risk_tier="READ_ONLY",
        evidence_pointers=(
            beliefd.EvidencePointer(
                source="pg_stat_activity",
                source_confidence=0.9,
                evidence_hash="ab" * 32,
                retrieved_at="2026-01-01T00:00:00Z",
            ),
        ),
    )
    bundle = beliefd.ClaimBundle(origin_agent="agent://local", claims=(claim,))
    with beliefd.open(":memory:") as library:
        assert library.check_claims(bundle).claims[0].statement == claim.statement
        session_id = library.declare_session(["a"], ONTOLOGY).session_id
        assert library.submit_claims(session_id, bundle).origin_agent == "agent://local"


def test_every_name_that_is_exported_is_there() -> None:
    for name in beliefd.__all__:
        assert getattr(beliefd, name) is not None
    with pytest.raises(AttributeError):
        beliefd.nonsense  # noqa: B018


def test_answers_of_the_library_are_copies() -> None:
    with beliefd.open(":memory:") as library:
        policy = library.show_policy().policy
        policy.constraints["mine"] = {}
        assert "mine" not in library.show_policy().policy.constraints
