"""Every door knows the speculative lane: what names an id of it, or hides a marker, is refused on record."""

from collections.abc import Callable, Iterator
from typing import Any

import httpx
import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from beliefd.http.app import create_app
from beliefd.kernel import doors
from beliefd.kernel.beliefs.commands import DeclareSession, Eliminate
from beliefd.kernel.claims.bundle import ClaimBundle
from beliefd.kernel.claims.commands import SubmitClaims
from beliefd.kernel.commands import VERB_OF, Command
from beliefd.kernel.decide import decide
from beliefd.kernel.doors import JUDGED, speculation_in
from beliefd.kernel.errors import Code
from beliefd.kernel.event import Refused
from beliefd.kernel.facts import Facts
from beliefd.kernel.policy import Policy
from beliefd.kernel.scan.references import find_reference
from beliefd.kernel.speculation.commands import Speculate
from beliefd.kernel.speculation.state import RESERVED, Alternative
from beliefd.kernel.values import Role
from beliefd.ledger.non_interference import grounded_again, grounded_hash
from beliefd.steward.credentials import create_token
from beliefd.testing.world import AGENT, ONTOLOGY, ONTOLOGY_JSON, refused
from tests.claims.strategies import bundles
from tests.claims.support import bundle, claim, pointer
from tests.firewall.lab import Lab, code_of, path_of
from tests.substrate.support import ALLOW_ALL, ToolWorld, delta, rules, tool_call
from tests.substrate.test_asking import ASKS, ask

MARK = {"epistemic_status": "speculative"}
Act = Callable[[ToolWorld, str, str], Any]


def eliminate(house: ToolWorld, session: str, **more: Any) -> Any:
    told = {"source_id": "agent", "observation_id": "o1", "eliminated": ["h1"], **more}
    return house.agent.eliminate(session, **told)


def fact(**more: Any) -> dict[str, Any]:
    told = {"memory_id": "m", "kind": "fact", "value": 1, "confidence": 0.9, "source_chunk_ids": ["c"]}
    return {**told, **more}


REFERENCES: dict[str, tuple[Act, str]] = {
    "the source of an elimination": (
        lambda house, s, idea: eliminate(house, s, source_id=idea),
        "$.source_id",
    ),
    "its observation": (lambda house, s, idea: eliminate(house, s, observation_id=idea), "$.observation_id"),
    "its justification": (
        lambda house, s, idea: eliminate(house, s, justification={"rests": {"on": ["x", idea]}}),
        "$.justification.rests.on[1]",
    ),
    "prose in its justification": (
        lambda house, s, idea: eliminate(house, s, justification={"why": f"it follows (see {idea}), so"}),
        "$.justification.why",
    ),
    "a key of its justification": (
        lambda house, s, idea: eliminate(house, s, justification={idea: True}),
        "~",
    ),
    "a conclusion": (lambda house, s, idea: house.agent.declare_conclusion(s, idea), "$.conclusion_id"),
    "the note of a conclusion": (
        lambda house, s, idea: house.agent.declare_conclusion(s, "c", context={"because": idea}),
        "$.context.because",
    ),
    "the note of a termination": (
        lambda house, s, idea: house.root.request_termination(s, context={"force": True, "why": idea}),
        "$.context.why",
    ),
    "an obligation": (lambda house, s, idea: house.agent.enter_obligation(s, idea, 1), "$.obligation_id"),
    "the evidence of a claim": (
        lambda house, s, idea: house.agent.submit_claims(
            s, bundle(claim(kind="FACT", evidence_pointers=[pointer(source=idea)]))
        ),
        "$.claims[0].evidence_pointers[0].source",
    ),
    "the provenance of a fact": (
        lambda house, s, idea: house.encoder.propose(s, [delta(fact__x=1)], source="encoder", inputs=[idea]),
        "$.provenance.inputs[0]",
    ),
    "a fact": (
        lambda house, s, idea: house.encoder.propose(s, [delta(fact__x=idea)], source="encoder"),
        '$.candidates[0].patch.set["fact.x"].value',
    ),
    "the sources of a memory": (
        lambda house, s, idea: house.agent.remember(s, fact(source_chunk_ids=[idea])),
        "$.source_chunk_ids[0]",
    ),
    "the sources of a hypothesis": (
        lambda house, s, idea: house.agent.remember(
            s, fact(kind="hypothesis", ttl_ms=5, source_chunk_ids=[idea])
        ),
        "$.source_chunk_ids[0]",
    ),
    "what is remembered as a fact": (
        lambda house, s, idea: house.agent.remember(s, fact(value={"see": idea})),
        "$.value.see",
    ),
    "the evidence of an intent": (
        lambda house, s, idea: house.agent.stage_intent(
            s,
            {
                "type": "update_epistemic_status",
                "claim_id": "c",
                "to_status": "supported",
                "evidence_ids": [idea],
            },
        ),
        "$.evidence_ids[0]",
    ),
}


@pytest.fixture
def house() -> Iterator[ToolWorld]:
    with ToolWorld(policy=rules(all=ALLOW_ALL)) as opened:
        yield opened


def noted(house: ToolWorld, session: str) -> tuple[str, str]:
    """The ids of a speculative hypothesis and of a speculative claim."""
    told = house.agent.speculate(session, "c", [{"statement": "perhaps"}])
    change = {"type": "create_claim", "claim_id": "c", "statement": "it may be"}
    return told.hypotheses[0].hypothesis_id, house.agent.stage_intent(session, change).intent_id


@pytest.mark.parametrize("place", REFERENCES)
def test_an_id_of_the_speculative_lane_is_refused_wherever_it_is_rested_on(
    house: ToolWorld, place: str
) -> None:
    act, path = REFERENCES[place]
    session = house.session()
    for idea in noted(house, session):
        before = house.hash(session)
        error = refused(Code.HYPOTHESIS_IS_NOT_EVIDENCE, lambda: act(house, session, idea))  # noqa: B023
        assert str((error.details or {})["path"]).endswith(path)
        assert isinstance(house.deltas(session)[-1], Refused), "and that is on record"
        assert house.hash(session) == before
    house.check(session)


@pytest.mark.parametrize("place", REFERENCES)
def test_it_is_the_shape_of_an_id_that_tells_and_not_what_the_lane_holds(
    house: ToolWorld, place: str
) -> None:
    """Otherwise what is grounded would depend on what was imagined."""
    act, _ = REFERENCES[place]
    session = house.session()
    refused(Code.HYPOTHESIS_IS_NOT_EVIDENCE, lambda: act(house, session, "shyp-never-noted-0"))


MARKED: dict[str, tuple[Act, Code, str]] = {
    "an elimination": (
        lambda house, s, _: eliminate(house, s, justification={"seen": [MARK]}),
        Code.SPECULATIVE_EVIDENCE,
        "$.justification.seen[0].epistemic_status",
    ),
    "its source": (
        lambda house, s, _: eliminate(house, s, source_id='{"lane": "speculative"}'),
        Code.SPECULATIVE_EVIDENCE,
        "$.source_id{}.lane",
    ),
    "a conclusion": (
        lambda house, s, _: house.agent.declare_conclusion(s, "c", context=MARK),
        Code.SPECULATIVE_ASSERTION,
        "$.context.epistemic_status",
    ),
    "a termination": (
        lambda house, s, _: house.root.request_termination(s, context={"force": True, **MARK}),
        Code.SPECULATIVE_ASSERTION,
        "$.context.epistemic_status",
    ),
    "an exit": (
        lambda house, s, _: house.agent.request_exit(s, "o", context=MARK),
        Code.SPECULATIVE_PROPOSAL,
        "$.context.epistemic_status",
    ),
    "a claim": (
        lambda house, s, _: house.agent.submit_claims(s, bundle(claim(statement='{"lane": "speculative"}'))),
        Code.SPECULATIVE_ASSERTION,
        "$.claims[0].statement{}.lane",
    ),
}


@pytest.mark.parametrize("place", MARKED)
def test_a_marker_is_found_at_every_door(house: ToolWorld, place: str) -> None:
    act, code, path = MARKED[place]
    session = house.session()
    error = refused(code, lambda: act(house, session, ""))
    assert (error.details or {})["path"] == path
    assert isinstance(house.deltas(session)[-1], Refused)
    house.check(session)


def test_nobody_can_choose_an_id_of_that_shape(house: ToolWorld) -> None:
    for name in ("shyp-1", "SHYP-1", "sclm-x", "shyp\u20111", "\u0455hyp-1"):
        told = ["a", name]
        refused(
            Code.HYPOTHESIS_IS_NOT_EVIDENCE,
            lambda told=told: house.agent.declare_session(told, ONTOLOGY),  # type: ignore[misc]
        )
    assert house.root.list_sessions().sessions == [], "a session that was not opened leaves nothing"
    assert house.agent.declare_session(["shy", "worship-x", "shyp-"], ONTOLOGY).snapshot.seq == 1


def test_what_only_speaks_about_an_idea_is_let_through(house: ToolWorld) -> None:
    first = house.session()
    idea, _ = noted(house, first)
    opened = house.agent.declare_session(["a"], ONTOLOGY, metadata={"looks_into": idea}).session_id
    house.agent.speculate(opened, "c", [{"statement": f"like {idea}"}])
    kept = fact(kind="hypothesis", ttl_ms=5, value=f"{idea} is worth a test")
    assert house.agent.remember(opened, kept).memory.entry.kind == "hypothesis"
    house.toolbox.add("idea.look", lambda text: f"about {text}")
    asked = tool_call("idea.look", house.token(opened), text=idea)
    assert house.agent.propose(opened, [asked]).results[0].status == "ok", "and its answer is recorded"
    house.check(opened)


def test_a_person_may_say_that_it_rests_on_an_idea() -> None:
    with ToolWorld(policy=ASKS) as house:
        session = house.session()
        card = ask(house, session, house.token(session))
        decided = house.ann.reject(card, reason="it rests on shyp-1, and on nothing else")
        assert decided.decision == "REJECTED"


def test_a_dry_run_of_the_gates_says_the_same(house: ToolWorld) -> None:
    told = bundle(claim(kind="FACT", evidence_pointers=[pointer(source="shyp-1")]))
    refused(Code.HYPOTHESIS_IS_NOT_EVIDENCE, lambda: house.agent.check_claims(told))


def test_over_http_in_single_requests_and_in_batches(house: ToolWorld) -> None:
    app = create_app(house.runtime, close_runtime=False)
    bad = {"source_id": "a", "observation_id": "o", "eliminated": ["a"], "justification": {"x": "shyp-1"}}

    async def talk() -> list[httpx.Response]:
        token = await create_token(house.store, "web", Role.AGENT)
        transport, headers = httpx.ASGITransport(app=app), {"Authorization": f"Bearer {token}"}
        async with httpx.AsyncClient(
            transport=transport, base_url="http://127.0.0.1", headers=headers
        ) as client:
            body = {"ontology": ONTOLOGY_JSON, "hypotheses": ["a", "b"]}
            opened = await client.post("/v1/sessions", json=body)
            where = f"/v1/sessions/{opened.json()['session_id']}"
            lines = {"Content-Type": "application/x-ndjson"}
            line = httpx.Request("POST", "http://x", json={"verb": "ELIMINATE", **bad}).content
            return [
                await client.post(f"{where}/eliminate", json=bad),
                await client.post(f"{where}/batch", content=line + b"\n", headers=lines),
                await client.get(f"{where}/audit"),
                await client.post("/v1/sessions", json={**body, "hypotheses": ["shyp-1"]}),
            ]

    single, batch, trail, declared = house.run(talk)
    assert (single.status_code, declared.status_code) == (422, 422)
    assert single.json()["error"]["details"]["path"] == "$.justification.x"
    assert Code.HYPOTHESIS_IS_NOT_EVIDENCE in batch.text
    assert trail.text.count('"HYPOTHESIS_IS_NOT_EVIDENCE"') == 2


# -- the kernel alone ---------------------------------------------------------------------------------------


def test_every_command_is_judged_as_a_whole_unless_it_is_said_what_of_it_is(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A verb that is added tomorrow passes the same door."""
    assert set(JUDGED) <= set(VERB_OF)
    seen: list[type] = []
    judge = lambda command, notes: seen.append(type(command))  # noqa: E731
    monkeypatch.setattr(doors, "speculation_in", judge)
    monkeypatch.setattr("beliefd.kernel.decide.speculation_in", judge)
    lab = Lab()
    lab.evidence("heat")
    lab.proposition("heat")
    assert len(seen) == len(lab.recorded)


def test_what_the_door_refuses_is_refused_with_speculation_and_without_it() -> None:
    lab = Lab()
    lab.speculate("heat")
    idea = next(iter(lab.state.speculation.ideas))
    command = Eliminate(source_id="a", observation_id="o", eliminated=("aether",), justification={"by": idea})
    event = lab.ask(command)
    assert (code_of(event), path_of(event)) == ("HYPOTHESIS_IS_NOT_EVIDENCE", "$.justification.by")
    bare = grounded_again(lab.recorded, lab.policies)
    assert bare is not None
    assert grounded_hash(bare) == grounded_hash(lab.state)


def test_every_id_of_the_lane_has_its_shape_and_no_other_id_has() -> None:
    lab = Lab()
    lab.speculate("heat")
    lab.stage("create_claim", "heat", statement="perhaps")
    lab.evidence("heat")
    lab.proposition("heat")
    assert all(name.startswith(RESERVED) for name in lab.state.speculation.ideas)
    for held in (lab.state.experiments.by_id, lab.state.experiments.runs, lab.state.experiments.evidence):
        assert not any(name.startswith(RESERVED) for name in held)
    assert not any(
        name.startswith(RESERVED) for name in (*lab.state.intents.by_id, *lab.state.approvals.by_id)
    )


@pytest.mark.parametrize(
    "text",
    [
        "shyp-",
        "worship-1",
        "xshyp-1",
        "ids begin with `shyp-`",
        "a shy p-value",
        "sclm",
        "hypothesis-1",
        "shyp 1",
    ],
)
def test_what_only_looks_like_it_is_no_reference(text: str) -> None:
    assert find_reference({"a": [text, {text: 1}]}) is None


@pytest.mark.parametrize(
    "text",
    [
        "shyp-1",
        "(shyp-s-c-0)",
        "see:shyp-a.",
        "SHYP-A",
        "a\\u0073 \\u0073hyp-1",
        "\uff53hyp-1",
        "s\u200bhyp-1",
    ],
)
def test_a_reference_is_found_in_any_spelling(text: str) -> None:
    found = find_reference({"a": [1, {"b": text}]})
    assert found is not None
    assert found.path == "$.a[1].b"


@given(
    st.recursive(
        st.none() | st.integers() | st.text(), lambda one: st.lists(one) | st.dictionaries(st.text(), one)
    )
)
def test_the_search_never_fails_and_finds_what_was_put_in(document: Any) -> None:
    find_reference(document)
    assert find_reference([document, {"x": "shyp-1"}]) is not None


def test_ideas_may_be_about_ideas_and_a_closed_session_says_that_it_is_closed() -> None:
    about = Speculate(claim_id="shyp-1", hypotheses=(Alternative(statement="shyp-2"),))
    assert speculation_in(about) is None
    facts = Facts(now="", event_id="", principal=AGENT, policy=Policy(), policy_hash="")
    bad: Command = DeclareSession(ontology=ONTOLOGY, hypotheses=("shyp-1",))
    assert code_of(decide(None, bad, facts)) == "HYPOTHESIS_IS_NOT_EVIDENCE"


WORDS = st.sampled_from(
    [
        "speculative",
        "shyp-1",
        "epistemic_status: speculative",
        "c3BlY3VsYXRpdmUgaXMgdGhlIGxhbmU=",
        "%73peculative",
    ]
)


@given(bundles(), st.lists(WORDS | st.text(max_size=8), max_size=3).map(" ".join))
def test_a_quick_look_lets_nothing_through_that_a_close_one_stops(given: ClaimBundle, said: str) -> None:
    first, *others = given.claims
    told = replace(given, claims=(replace(first, if_wrong_cost=said), *others))
    command = SubmitClaims(bundle=told)
    found = speculation_in(command)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(doors, "_is_innocent", lambda *_: False)
        assert found == speculation_in(command)
