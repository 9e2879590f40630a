"""What every store promises about spaces; part of `ProjectionContract`."""

from typing import Final

from msgspec.structs import replace

from beliefd.kernel.values import DEFAULT_SPACE
from beliefd.knowledge import schema as say
from beliefd.ledger.envelope import head_of
from beliefd.stores.base import SpaceRow, Store, Token
from beliefd.stores.citations import Uncited
from beliefd.stores.projections import GRAPH, INBOX, InboxRow
from beliefd.testing.appends import CREATED, batch, chain, entry
from beliefd.testing.content_contract import ANN, AT_LAST, BOT, LATER, named
from beliefd.testing.graph_contract import GraphContract, node
from beliefd.testing.promises import promise

LAB: Final = "lab"
OPS: Final = "ops"


def _inbox(session_id: str) -> InboxRow:
    return InboxRow(f"{session_id}-waits", session_id, "pending", CREATED, None)


async def _filled(store: Store) -> None:
    """Six sessions, every second one in `lab`, each with an item that waits and a proposition."""
    for n in range(6):
        session_id = f"s{n}"
        rows = {
            INBOX: [_inbox(session_id)],
            GRAPH: [node(say.PROPOSITION, session_id, name, "idea") for name in (f"p{n}", "shared")],
        }
        space = LAB if n % 2 else DEFAULT_SPACE
        await store.append(batch(session_id, None, chain(session_id, 1), projected=rows, space=space))


class SpacesContract(GraphContract):
    """Sessions begin in a space and stay there; a question about some spaces hears nothing of others."""

    @promise
    async def test_spaces_are_made_once_and_listed_by_name(self, store: Store) -> None:
        assert await store.spaces() == []
        ops, lab = SpaceRow(OPS, CREATED, "human://ann"), SpaceRow(LAB, LATER, "human://bob")
        assert await store.add_space(ops)
        assert await store.add_space(lab)
        assert not await store.add_space(SpaceRow(OPS, LATER, "human://bob"))
        assert await store.spaces() == [lab, ops]

    @promise
    async def test_a_token_keeps_what_it_may_where(self, store: Store) -> None:
        token = Token("aa", "ann", "approver", "MODIFY", "hash", CREATED, owner="ann", spaces="lab=read")
        await store.add_token(token)
        assert await store.tokens() == [token]

    @promise
    async def test_a_session_stays_in_the_space_that_it_began_in(self, store: Store) -> None:
        await store.append(batch("s", None, chain("s", 1), space=LAB))
        await store.append(batch("t", None, chain("t", 1)))
        await store.append(batch("s", head_of(entry("s", 1)), [entry("s", 2)]))
        await store.append(batch("t", head_of(entry("t", 1)), [entry("t", 2)], space=LAB))
        assert [await store.space_of(name) for name in ("s", "t", "u")] == [LAB, DEFAULT_SPACE, None]

    @promise
    async def test_sessions_are_counted_for_who_began_them_until_they_end(self, store: Store) -> None:
        for name in "stu":
            await store.append(batch(name, None, chain(name, 1), declared_by="agent://a"))
        await store.append(batch("v", None, chain("v", 1)))
        await store.append(batch("s", head_of(entry("s", 1)), [entry("s", 2)], declared_by="agent://b"))
        assert [await store.open_sessions(name) for name in ("agent://a", "agent://b")] == [3, 0]
        await store.append(batch("t", head_of(entry("t", 1)), [entry("t", 2)], ends=True))
        await store.append(batch("t", head_of(entry("t", 2)), [entry("t", 3)]))
        assert await store.open_sessions("agent://a") == 2

    @promise
    async def test_pages_are_full_of_what_is_in_the_asked_spaces(self, store: Store) -> None:
        await _filled(store)
        for within, wanted in (
            (None, [0, 1, 2, 3, 4, 5]),
            ([LAB], [1, 3, 5]),
            ([DEFAULT_SPACE, OPS], [0, 2, 4]),
            ([OPS], []),
            ([], []),
        ):
            listed = [row.session_id for row in await store.sessions(None, 10, within)]
            assert listed == [f"s{n}" for n in wanted]
            first = [row.session_id for row in await store.sessions(None, 2, within)]
            assert first == listed[:2]
            assert [row.session_id for row in await store.sessions("s1", 2, within)] == [
                name for name in listed if name > "s1"
            ][:2]
            for status in ("pending", None):
                waiting = await store.inbox(status, None, 10, within)
                assert [row.session_id for row in waiting] == listed
                assert await store.inbox(status, None, 2, within) == waiting[:2]

    @promise
    async def test_the_graph_of_some_spaces_is_that_of_their_sessions(self, store: Store) -> None:
        await _filled(store)
        assert await store.node_ids(say.PROPOSITION, (), None, 10, [LAB]) == ["p1", "p3", "p5", "shared"]
        assert await store.node_ids(say.PROPOSITION, (), "p1", 1, [LAB]) == ["p3"]
        assert await store.node_ids(say.PROPOSITION, ["idea"], None, 2, [LAB]) == ["p1", "p3"]
        assert await store.node_ids(say.PROPOSITION, ["idea"], None, 9, [OPS]) == []
        held = await store.nodes(say.PROPOSITION, ["shared", "p0"], 10, [LAB])
        assert [(row.session_id, row.id) for row in held] == [(f"s{n}", "shared") for n in (1, 3, 5)]
        assert len(await store.nodes(say.PROPOSITION, ["shared", "p0"], 10)) == 7
        assert len(await store.nodes(say.PROPOSITION, ["shared"], 2, [LAB])) == 2

    @promise
    async def test_content_is_in_the_spaces_that_it_was_brought_into(self, store: Store) -> None:
        await store.put_content(named(1), b"1234", replace(ANN, at=LATER), space=LAB)
        await store.put_content(named(1), b"1234", BOT, space=OPS)
        await store.put_content(named(1), b"1234", ANN, space=OPS)
        await store.put_content(named(2), b"12", BOT)
        everything = [named(1), named(2), named(3)]
        for within, first, second in (
            (None, [BOT, ANN], [BOT]),
            ([LAB], [replace(ANN, at=LATER)], []),
            ([OPS, LAB], [BOT, ANN], []),
            ([DEFAULT_SPACE], [], [BOT]),
            ([], [], []),
        ):
            assert await store.bringers(named(1), within) == first
            assert await store.content(named(1), within) == (b"1234" if first else None)
            assert await store.content(named(2), within) == (b"12" if second else None)
            assert (await store.about_content(named(2), within) is None) is not bool(second)
            kept = {name for name, who in zip(everything, (first, second, []), strict=True) if who}
            assert await store.kept_content(everything, within) == kept

    @promise
    async def test_content_that_was_brought_twice_counts_once_and_goes_as_a_whole(self, store: Store) -> None:
        await store.put_content(named(1), b"1234", ANN, space=LAB)
        await store.put_content(named(1), b"1234", ANN, space=OPS)
        assert len(await store.remove_content([named(1)], AT_LAST, Uncited([named(1)]))) == 1
        assert await store.bringers(named(1)) == []
        assert await store.content(named(1), [LAB, OPS, DEFAULT_SPACE]) is None
