"""Runs of eliminations may be applied at once: nothing can tell the difference."""

from functools import reduce

from hypothesis import given
from hypothesis import strategies as st

from beliefd.kernel.beliefs.survivors import Survivors, Universe
from beliefd.kernel.evolve import begin, evolve, evolve_all
from beliefd.testing.strategies import stories
from tests.kernel.test_laws import Story, told

IDS = [f"h{number:02}" for number in range(60)]


@given(stories(max_size=20))
def test_evolving_through_many_events_is_evolving_one_by_one(story: Story) -> None:
    session = begin("s", story[0])
    events = [event for _, _, _, event, _ in told(story)]
    assert evolve_all(session, events) == reduce(evolve, events, session)


@given(st.lists(st.sampled_from([*IDS, "not declared"]), max_size=70))
def test_few_or_many_gone_leave_the_same_survivors(gone: list[str]) -> None:
    survivors = Survivors(Universe(IDS))
    one_by_one = reduce(lambda left, name: left.without([name]), gone, survivors)
    at_once = survivors.without(gone)
    assert list(at_once) == list(one_by_one) == sorted(set(IDS) - set(gone))
    assert (at_once.digest, at_once.count) == (one_by_one.digest, one_by_one.count)
