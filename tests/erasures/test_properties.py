"""Whatever was said and whatever of it is erased: every proof holds, and not a byte of it is left."""

from contextlib import suppress
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from beliefd.kernel.commands import COMMAND_OF
from beliefd.kernel.decide import decide
from beliefd.kernel.erasures.places import places_of
from beliefd.kernel.erasures.withholding import MARK, withheld_in, withhold
from beliefd.kernel.errors import BeliefdError
from beliefd.ledger.envelope import read
from beliefd.ledger.replay import facts_of, fold
from beliefd.ledger.state_hash import state_hash
from beliefd.ledger.transfer import read_export
from beliefd.ledger.withheld import parts_of, revealed
from beliefd.testing.world import World, policy
from tests.conformance.node import verify_many
from tests.erasures.support import eliminate, everything, parts

ALL: dict[str, list[str]] = {verb: sorted(places_of(verb)) for verb in COMMAND_OF}
EVERYTHING = policy(erasable=ALL)
# Each text can be told from all else: it is looked for in files.
secrets = st.integers(0, 10**9).map(lambda number: f"secret-{number:012}-Zoë")
leaves = secrets | st.booleans() | st.none()
documents = st.dictionaries(
    st.sampled_from(["a", "b/c", "d~e", "f.g"]),
    st.recursive(leaves, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.just("x"), inner)),
    max_size=3,
)
steps = st.lists(st.tuples(st.sampled_from(["eliminate", "conclude", "exit"]), documents), max_size=4)


def texts_in(value: Any) -> list[str]:
    if isinstance(value, str):
        return [value]
    items = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    return [text for item in items for text in texts_in(item)]


def tell(house: World, session: str, verb: str, said: dict[str, Any]) -> None:
    if verb == "eliminate":
        eliminate(house, session, said)
    elif verb == "conclude":
        house.agent.declare_conclusion(session, "c", context=said)
    else:
        house.root.request_termination(session, context={**said, "force": "f.g" in said})


def no_rule_read_a_text(house: World, session: str) -> None:
    """Deciding with the texts gives the events that deciding without them gave."""
    contents = read_export(house.root.export(session, parts=True).splitlines()).header.contents
    position = None
    for sealed in house.entries(session):
        entry = read(sealed.record)
        told = revealed(entry, parts_of(entry, EVERYTHING), contents)
        assert told is not None
        if position is not None:
            assert decide(position.session, told[0], facts_of(entry, EVERYTHING)) == entry.delta
        position = fold([sealed], position)


@settings(max_examples=8, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(steps, st.data())
def test_random_erasures_leave_every_proof_and_not_a_byte(told: list[Any], data: st.DataObject) -> None:
    with TemporaryDirectory() as folder, World(Path(folder) / "beliefd.db", EVERYTHING) as house:
        session = house.session()
        for verb, said in told:
            with suppress(BeliefdError):
                tell(house, session, verb, said)
        no_rule_read_a_text(house, session)
        before, state = house.entries(session), house.hash(session)
        shown = parts(house, session)
        gone = [one for one in shown if data.draw(st.booleans())]
        if gone:
            house.root.erase(session, "asked for", digests=[one.digest for one in gone])
        after = house.entries(session)
        assert after[: len(before)] == before
        position = fold(before)
        assert position is not None
        assert state_hash(position.session) == state
        house.check(session)
        assert all(one.code == 0 for one in verify_many([house.root.export(session)]))
        kept = [str(one.value) for one in parts(house, session) if one.state == "kept"]
        files = b"".join(one.read_bytes() for one in Path(folder).iterdir())
        for text in {str(one.value) for one in gone} - set(kept):
            assert text.encode() not in files
            assert text.encode() not in everything(house, session)


@given(documents)
def test_what_was_withheld_is_found_again_where_it_was(said: dict[str, Any]) -> None:
    count = len(texts_in(said))
    numbers = iter(range(1, count + 1))
    _, hidden = withhold({"justification": said}, None, ["justification"], lambda _: f"{next(numbers):064x}")
    assert len(hidden) == count
    assert withheld_in({"justification": said}, None, ["justification"]) == hidden
    assert all(text.startswith(MARK) for text in texts_in(said))


@pytest.mark.parametrize("looks_like", [MARK + "ab" * 32, "erasable:"])
def test_a_text_that_looks_like_a_digest_is_withheld_like_any_other(looks_like: str) -> None:
    with World(policy=EVERYTHING) as house:
        session = house.session()
        eliminate(house, session, {"x": looks_like})
        assert [(one.state, one.value) for one in parts(house, session)] == [("kept", looks_like)]
        assert parts(house, session)[0].digest != "ab" * 32


def test_where_policy_withholds_nothing_a_digest_is_a_text(house: World) -> None:
    with World() as plain:
        session = plain.session()
        eliminate(plain, session, {"x": MARK + "ab" * 32})
        assert parts(plain, session) == []
        assert plain.verify(session).withheld == 0
