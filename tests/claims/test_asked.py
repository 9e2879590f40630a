"""The server itself asks a model, and witnesses what that answers; its own judge is that of the gates."""

from typing import Any

import pytest

import beliefd
from beliefd.embedded import Embedded
from beliefd.kernel.errors import BeliefdError
from beliefd.testing.world import ONTOLOGY, policy
from beliefd.uncertainty.equivalence.judges import JudgeSettings
from tests.firewall.model_server import completion, serving

WORDS = "the pool is full"
ASKING: dict[str, Any] = {"statement": WORDS, "method": "model_disagreement", "asked": {}}


def session(embedded: Embedded) -> str:
    return embedded.declare_session(["a", "b"], ONTOLOGY).session_id


def asked_of(url: str) -> JudgeSettings:
    return JudgeSettings(llm_url=url, llm_model="tiny")


def test_disagreement_is_drawn_at_three_temperatures_and_witnessed() -> None:
    rules = policy(uncertainty={"require": {"READ_ONLY": {"witnessed": True, "min_k": 3}}})
    with (
        serving(completion("yes"), completion("no, it is half empty"), completion("maybe it is")) as server,
        beliefd.open(":memory:", policy=rules, judges=asked_of(server.url)) as embedded,
    ):
        name = session(embedded)
        receipt = embedded.measure(name, **ASKING)
        assert sorted(body["temperature"] for body in server.bodies) == [0.8, 1.0, 1.2]
        assert len({body["seed"] for body in server.bodies}) == 3
        assert f'"{WORDS}"' in receipt.question
        assert all(body["messages"][-1]["content"] == receipt.question for body in server.bodies)
        assert sorted(receipt.answers) == ["maybe it is", "no, it is half empty", "yes"]
        assert (receipt.label, receipt.witnesses, receipt.k) == ("witnessed", ["server"], 3)
        assert receipt.value > 0.75
        told = {"method": "model_disagreement", "measurement_id": receipt.measurement_id, "value": 0.0}
        claim = {"statement": WORDS, "claim_type": "INFERENCE", "risk_tier": "READ_ONLY", "uncertainty": told}
        answer = embedded.submit_claims(name, {"origin_agent": "agent://local", "claims": [claim]})
        assert answer.decision == "DEFER"
        assert "given by" not in answer.reason
        assert "asked of `openai:tiny` by the server" in answer.reason
        assert embedded.show_measurement(name, receipt.measurement_id) == receipt
        assert embedded.verify(name).ok


def test_semantic_entropy_is_drawn_five_times_with_a_question_of_one_s_own() -> None:
    with (
        serving(*[completion("it is full")] * 5) as server,
        beliefd.open(":memory:", judges=asked_of(server.url)) as embedded,
    ):
        name = session(embedded)
        asking = {**ASKING, "method": "semantic_entropy", "asked": {"question": "How full is the pool?"}}
        receipt = embedded.measure(name, **asking)
        assert (receipt.value, receipt.k, receipt.question) == (0, 5, "How full is the pool?")
        # Who chooses the question could have chosen one that has a single answer.
        assert (receipt.label, receipt.witnesses) == ("attested", [])
        assert receipt.how.endswith("asked of `openai:tiny` by the server, by a question of agent://local")
        assert {body["temperature"] for body in server.bodies} == {1.0}


def test_a_model_that_does_not_answer_makes_no_receipt() -> None:
    with (
        serving(*[(500, {})] * 30) as server,
        beliefd.open(":memory:", judges=asked_of(server.url)) as embedded,
    ):
        name = session(embedded)
        with pytest.raises(BeliefdError, match="0 of 3 answers came") as raised:
            embedded.measure(name, **ASKING)
        assert (raised.value.details or {})["path"] == "$.asked"
        assert embedded.list_measurements(name).measurements == []


def test_the_judge_that_the_server_was_started_with_is_the_gates_judge() -> None:
    paraphrases = ["The film was great.", "The movie was excellent."]
    told = {"method": "semantic_entropy", "samples": paraphrases}
    claim = {"statement": WORDS, "claim_type": "INFERENCE", "risk_tier": "READ_ONLY", "uncertainty": told}
    found = {}
    for judge in ("lexical", "embedding"):
        with beliefd.open(":memory:", judges=JudgeSettings(judge=judge)) as embedded:
            answer = embedded.submit_claims(
                session(embedded), {"origin_agent": "agent://local", "claims": [claim]}
            )
            measured = answer.standings["claim-1"].measured
            assert measured
            assert measured.cited
            assert measured.cited.judge == judge
            assert embedded.measure_semantic_entropy(paraphrases).judge == judge
            found[judge] = measured.value
    assert found == {"lexical": 1, "embedding": 0}
