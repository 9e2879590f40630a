"""Propositions over all sessions: what is believed, on what grounds, and how it came to that."""

import asyncio
from collections.abc import Awaitable, Callable
from itertools import product
from typing import Any, get_args

import pytest
from msgspec.structs import replace

from beliefd.kernel.errors import BeliefdError, Code
from beliefd.kernel.intents.commands import StageIntent
from beliefd.kernel.intents.state import Change, EpistemicStatus
from beliefd.knowledge.combining import STRENGTH, combined, may_combine_to
from beliefd.knowledge.graph import NodeRow
from beliefd.knowledge.schema import QUARANTINED
from beliefd.protocol.knowledge import PropositionPage, PropositionView, PropositionWhy
from beliefd.protocol.operations import BY_NAME
from beliefd.protocol.rights import EVERYTHING
from beliefd.steward.bootstrap import bootstrap
from beliefd.steward.call import Call
from beliefd.steward.dispatch import perform
from beliefd.steward.handlers import knowledge as propositions
from beliefd.steward.handlers import shared
from beliefd.stores.memory import MemoryStore
from beliefd.testing.world import AGENT, ANN
from tests.knowledge.story import Story, refuted, supported

STATUSES = get_args(EpistemicStatus)


def asked(name: str, *stories: Story, path: dict[str, str] | None = None, **query: Any) -> Any:
    async def run() -> Any:
        runtime = bootstrap(MemoryStore())
        for story in stories:
            await story.write(runtime.steward.store)
        call = Call(principal=AGENT, rights=EVERYTHING, path=path or {}, query=query)
        return await perform(runtime.handlers, BY_NAME[name], call)

    return asyncio.run(run())


def listed(*stories: Story, **query: Any) -> PropositionPage:
    page: PropositionPage = asked("list_propositions", *stories, **query)
    return page


def shown(claim_id: str, *stories: Story) -> PropositionView:
    view: PropositionView = asked("show_proposition", *stories, path={"claim_id": claim_id})
    return view


def told(claim_id: str, *stories: Story) -> PropositionWhy:
    why: PropositionWhy = asked("why_proposition", *stories, path={"claim_id": claim_id})
    return why


# -- the combined status ---------------------------------------------------------------------------


def test_sessions_that_agree_are_believed() -> None:
    for status in STATUSES:
        assert combined([status]) == combined([status, status]) == status


@pytest.mark.parametrize("positive", ["supported", "proven"])
@pytest.mark.parametrize("rest", [[], ["unresolved"], ["speculative", "supported"], [QUARANTINED]])
def test_support_here_and_refutation_there_is_unresolved(positive: str, rest: list[str]) -> None:
    assert combined([positive, "refuted", *rest]) == "unresolved"


def test_otherwise_the_strongest_status_stands_in_any_order() -> None:
    for one, other in product(STATUSES, STATUSES):
        if {one, other} & {"supported", "proven"} and "refuted" in (one, other):
            continue
        expected = min(one, other, key=STRENGTH.index)
        assert combined([one, other]) == combined([other, one]) == expected


def test_a_session_under_quarantine_has_no_say() -> None:
    assert combined(["supported", QUARANTINED]) == "supported"
    assert combined([QUARANTINED]) == "unresolved"


def test_what_is_looked_up_by_status_misses_nothing() -> None:
    for said in product((*STATUSES, QUARANTINED), repeat=3):
        assert set(said) & set(may_combine_to(combined(said)))


# -- list ------------------------------------------------------------------------------------------


def test_propositions_of_all_sessions_are_listed_once_each_with_their_combined_status() -> None:
    page = listed(supported("a", 1, "x"), refuted("b", 2, "x"), supported("d", 3, "w"), refuted("e", 4, "y"))
    assert [(row.claim_id, row.status, row.sessions) for row in page.propositions] == [
        ("w", "supported", 1),
        ("x", "unresolved", 2),
        ("y", "refuted", 1),
    ]
    assert page.next is None


@pytest.mark.parametrize(
    ("status", "names"),
    [
        ("supported", ["w"]),
        ("refuted", ["y"]),
        ("unresolved", ["x", "z"]),
        ("proven", []),
        ("speculative", []),
    ],
)
def test_a_list_by_status_goes_by_the_combined_one(status: str, names: list[str]) -> None:
    fresh = Story("f", 5)
    fresh.propose("z")
    page = listed(
        supported("a", 1, "x"),
        refuted("b", 2, "x"),
        supported("d", 3, "w"),
        refuted("e", 4, "y"),
        fresh,
        status=status,
    )
    assert [row.claim_id for row in page.propositions] == names


def test_pages_go_on_where_the_one_before_ended() -> None:
    stories = [refuted(f"s{n}", n, f"claim {n}") for n in range(4)]
    stories += [supported(f"t{n}", 10 + n, f"claim {n}") for n in range(0, 4, 2)]
    for status, expected in (
        (None, ["0", "1", "2", "3"]),
        ("refuted", ["1", "3"]),
        ("unresolved", ["0", "2"]),
    ):
        found: list[str] = []
        cursor: dict[str, str] = {}
        while True:
            query = {"limit": "1", **cursor, **({"status": status} if status else {})}
            page = listed(*stories, **query)
            found += [row.claim_id.removeprefix("claim ") for row in page.propositions]
            if page.next is None:
                break
            cursor = {"cursor": page.next}
        assert found == expected


# -- show ------------------------------------------------------------------------------------------


def test_evidence_is_shown_with_what_it_says_and_the_model_it_holds_under() -> None:
    view = shown("c", supported())
    (piece,) = view.evidence
    assert (piece.role, piece.outcome, piece.fragile, piece.counts) == ("support", "support", False, True)
    assert piece.model == "threshold on three readings"
    assert piece.kind == "validation-evidence"
    assert view.status == "supported"
    assert view.truth_assertion.warrants == "supported"
    assert view.truth_assertion.supporting == [piece.evidence_id]


def test_speculation_is_shown_and_is_not_among_the_evidence() -> None:
    view = shown("c", supported())
    assert [idea.alternative.statement for idea in view.speculative_hypotheses] == [
        "the clock jumps",
        "a cache is cold",
    ]
    names = {idea.hypothesis_id for idea in view.speculative_hypotheses}
    assert names.isdisjoint(piece.evidence_id for piece in view.evidence)
    assert names.isdisjoint(view.truth_assertion.supporting)


def test_each_session_keeps_its_own_status_beside_the_combined_one() -> None:
    view = shown("c", supported("a", 1), refuted("b", 2))
    assert [(one.session_id, one.status) for one in view.sessions] == [("a", "supported"), ("b", "refuted")]
    assert view.status == "unresolved"
    assert view.truth_assertion.warrants == "unresolved"
    assert len(view.evidence) == 2


def test_intents_are_shown_with_their_life() -> None:
    view = shown("c", supported())
    assert [(one.type, [step.state for step in one.history]) for one in view.intents] == [
        ("create_proposition", ["staged", "awaiting_approval", "approved", "executed"]),
        ("update_epistemic_status", ["staged", "awaiting_approval", "approved", "executed"]),
    ]
    assert all(one.approval_id for one in view.intents)


def test_evidence_for_an_earlier_wording_is_shown_but_does_not_count() -> None:
    story = supported()
    story.change(Change(type="revise_proposition", claim_id="c", statement="the pool leaks at night"))
    view = shown("c", story)
    assert [piece.counts for piece in view.evidence] == [False]
    assert view.statement == "the pool leaks at night"
    assert view.status == view.truth_assertion.warrants == "unresolved"


def test_a_run_that_nobody_linked_is_shown_and_weighs_all_the_same() -> None:
    story = Story()
    story.propose("c")
    story.evidence("c", "support", 1)
    story.run(story.design("c", 2), "refute")
    view = shown("c", story)
    assert {one.role for one in view.evidence} == {"support", None}
    assert view.truth_assertion.warrants == "unresolved"


@pytest.mark.parametrize("ask", [shown, told])
def test_a_claim_that_no_session_holds_is_not_found(ask: Callable[..., Awaitable[Any]]) -> None:
    only_ideas = Story()
    only_ideas.speculate("c", "the clock jumps")
    with pytest.raises(BeliefdError) as caught:
        ask("c", only_ideas)
    assert caught.value.code is Code.PROPOSITION_NOT_FOUND


def test_an_answer_that_is_cut_short_says_so_and_its_status_is_still_right(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(propositions, "MOST", 1)
    view = shown("c", supported("a", 1), refuted("b", 2))
    assert [len(part) for part in (view.sessions, view.evidence, view.intents)] == [1, 1, 1]
    assert len(view.speculative_hypotheses) == 1
    assert view.truncated
    assert view.status == view.truth_assertion.warrants == "unresolved"
    monkeypatch.setattr(propositions, "MOST", 4)
    assert not shown("c", supported("a", 1), refuted("b", 2)).truncated


# -- why -------------------------------------------------------------------------------------------


def test_why_tells_the_whole_way_with_the_event_of_each_step() -> None:
    story = supported()
    why = told("c", story)
    assert [step.event for step in why.steps] == [
        "intent_staged",
        "approval_decided",
        "experiment_designed",
        "run_started",
        "run_recorded",
        "evidence_linked",
        "intent_staged",
        "approval_decided",
    ]
    places = {entry.event_id: entry.seq for entry in story.entries}
    assert all(places[step.event_id] == step.seq for step in why.steps)
    last = why.steps[-1]
    assert (last.status, last.actor) == ("supported", ANN.id)
    assert last.about["approval_id"] == why.steps[-2].about["approval_id"]
    assert why.steps[4].about["evidence_id"] == why.steps[5].about["evidence_id"]
    assert "eliminated spike" in why.steps[5].said


def test_why_follows_one_claim_and_no_other() -> None:
    story = supported(claim_id="c")
    story.propose("d")
    story.evidence("d")
    assert {step.event for step in told("d", story).steps} >= {"evidence_linked", "approval_decided"}
    ids = {step.event_id for step in told("c", story).steps}
    assert ids.isdisjoint(step.event_id for step in told("d", story).steps)


def test_why_goes_on_over_sessions_where_the_page_before_ended(monkeypatch: pytest.MonkeyPatch) -> None:
    stories = (supported("s1"), refuted("s2"))
    whole = told("c", *stories)
    assert whole.next is None
    monkeypatch.setattr(shared, "PAGE_BYTES", 1_000)
    pages = [told("c", *stories)]
    while (cursor := pages[-1].next) is not None:
        path = {"claim_id": "c"}
        pages.append(asked("why_proposition", *stories, path=path, cursor=cursor))
    assert len(pages) > 3
    assert [step for page in pages for step in page.steps] == whole.steps
    assert {page.status for page in pages} == {whole.status}


def test_why_tells_a_run_that_failed_and_an_intent_that_was_refused() -> None:
    story = Story()
    story.propose("c")
    story.run(story.design("c"), status="failed", failure="a worker died")
    staged: Any = story.ask(StageIntent(change=Change(type="quarantine_proposition", claim_id="c")))
    story.decide(staged.approval.approval_id, "REJECTED", reason="not yet")
    said = [step.said for step in told("c", story).steps]
    assert "the run failed: a worker died" in said
    assert said[-1] == "quarantine_proposition is rejected: not yet"


def test_a_row_of_the_graph_that_cannot_be_read_hides_no_other_and_is_told_with_its_remedy() -> None:
    async def run() -> PropositionPage:
        runtime = bootstrap(MemoryStore())
        story = supported()
        for one in (story, refuted("b", 2, "d")):
            await one.write(runtime.steward.store)
        store = runtime.steward.store
        rows = {
            replace(row, document=b"{") if isinstance(row, NodeRow) else row
            for row in await store.projected("graph", story.session_id)
        }
        assert await store.replace_projection(story.session_id, story.head, "graph", rows)
        call = Call(principal=AGENT, rights=EVERYTHING, query={})
        page: PropositionPage = await perform(runtime.handlers, BY_NAME["list_propositions"], call)
        return page

    page = asyncio.run(run())
    assert [row.claim_id for row in page.propositions] == ["d"]
    assert [one.session_id for one in page.broken] == [supported().session_id]
    assert "projection rebuild graph" in page.broken[0].reason
