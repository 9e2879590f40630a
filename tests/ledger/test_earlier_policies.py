"""Ledgers that were decided before policies said something are decided again as they were then."""

from typing import Any

import msgspec
import pytest

from beliefd.kernel.beliefs.commands import DeclareConclusion, Eliminate
from beliefd.kernel.beliefs.events import ConclusionRuled
from beliefd.kernel.canonical import canonical, digest
from beliefd.kernel.policy import BeliefPolicy, Policy, recorded
from beliefd.ledger.transfer import entry_lines, header_line
from beliefd.testing.kernel import KernelSession
from beliefd.testing.world import World
from tests.conformance.node import verify_with_node

FREE = Policy(beliefs=BeliefPolicy(conclusions="free"))
RULED_OUT = DeclareConclusion(conclusion_id="cause:h1")
ELIMINATED = Eliminate(source_id="s", observation_id="o", eliminated=("h1",), justification={})


class Earlier(KernelSession):
    """A session under a policy whose document has no `beliefs`, as earlier versions wrote it."""

    @property
    def document(self) -> dict[str, Any]:
        written: dict[str, Any] = msgspec.to_builtins(FREE)
        del written["beliefs"]
        return written

    def _facts(self, *given: Any) -> Any:
        return msgspec.structs.replace(super()._facts(*given), policy_hash=digest(self.document))

    @property
    def export(self) -> bytes:
        header = header_line(self.session_id, self.head, {digest(self.document): canonical(self.document)})
        return header + b"".join(entry_lines(self.entries))


def test_a_conclusion_that_was_accepted_then_is_accepted_when_it_is_decided_again() -> None:
    told = Earlier(policy=FREE)
    told.tell(ELIMINATED)
    ruled = told.tell(RULED_OUT)
    assert isinstance(ruled, ConclusionRuled)
    assert ruled.accepted
    with World() as world:
        world.import_ledger(told.export)
        world.check(told.session_id)
        answer = world.counterfactual(told.session_id, without_source_ids=["s"])
        assert [one.accepted_without for one in answer.conclusions] == [True]
        now = world.declare_conclusion(told.session_id, "h1")
        assert not now.accepted, "what is decided now is decided by the rules of now"
        world.check(told.session_id)
        assert verify_with_node(world.export(told.session_id)).code == 0


@pytest.mark.parametrize("said", ["survivors_only", "free"])
def test_a_document_that_says_it_is_taken_at_its_word(said: Any) -> None:
    assert recorded({"v": 1}).beliefs.conclusions == "free"
    assert recorded({"beliefs": {"conclusions": said}}).beliefs.conclusions == said
    assert recorded(msgspec.to_builtins(Policy())) == Policy()


def test_a_ruling_on_what_fell_is_recorded_with_its_reason() -> None:
    told = KernelSession()
    told.tell(ELIMINATED)
    ruled = told.tell(RULED_OUT)
    assert (ruled.accepted, ruled.reason) == (False, "hypothesis `h1` was eliminated; `why` says by what")
    assert told.session.beliefs.conclusions == {}
