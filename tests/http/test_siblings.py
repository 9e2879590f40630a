"""Which process a request belongs to, and how their metrics become one page."""

import asyncio
import socket
from collections import Counter
from collections.abc import Iterator

import httpx
import pytest

import beliefd
from beliefd.http.app import create_app
from beliefd.http.siblings import NUMBER, PEOPLE, Place, Siblings, joined, name_in, owner, pass_on


def board(*numbers: int) -> bytes:
    return b"".join(NUMBER.pack(number) for number in numbers)


@pytest.mark.parametrize(
    ("line", "name"),
    [
        (b"POST /v1/sessions/s-1/eliminate HTTP/1.1", b"s-1"),
        (b"GET /v1/sessions/s-1?at=3 HTTP/1.1", b"s-1"),
        (b"GET /v1/sessions/s%2D1/events HTTP/1.1", b"s-1"),
        (b"POST /v1/sessions HTTP/1.1", None),
        (b"GET /v1/sessions/ HTTP/1.1", None),
        (b"GET /v1/approvals/apr-1 HTTP/1.1", None),
        (b"GET /readyz HTTP/1.1", None),
        (b"GET /inbox HTTP/1.1", PEOPLE),
        (b"GET / HTTP/1.1", PEOPLE),
        (b"POST /v1/sessions/s-1/elim", None),  # not all of it has come
        (b"\x16\x03\x01\x02\x00\x01\x00\x01 \xfc", None),
        (b"GET http://elsewhere/v1/sessions/s-1 HTTP/1.1", None),
        (b"", None),
    ],
)
def test_the_first_line_says_what_a_request_belongs_to(line: bytes, name: bytes | None) -> None:
    assert name_in(line + (b"\r\nHost: x\r\n\r\n" if line.endswith(b"1.1") else b"")) == name


def test_all_get_about_as_many_and_one_that_ends_moves_nothing_but_its_own() -> None:
    names = [b"session-%d" % number for number in range(3_000)]
    before = {name: owner(name, board(1, 2, 3)) for name in names}
    shares = Counter(before.values())
    assert set(shares) == {0, 1, 2}
    assert min(shares.values()) > 800
    after = {name: owner(name, board(1, 0, 3)) for name in names}
    assert all(after[name] == slot for name, slot in before.items() if slot != 1)
    assert {after[name] for name, slot in before.items() if slot == 1} == {0, 2}
    assert {name: owner(name, board(1, 9, 3)) for name in names} == before, "its successor has another number"
    assert owner(b"any", board(0, 0, 0)) is None


def test_pages_belong_to_the_process_that_has_been_up_longest() -> None:
    assert owner(PEOPLE, board(1, 2, 3)) == 0
    assert owner(PEOPLE, board(4, 2, 3)) == 1
    assert owner(PEOPLE, board(4, 0, 3)) == 2


def test_metrics_of_all_are_one_page_with_each_family_once() -> None:
    one = b'# HELP a All\n# TYPE a counter\na{x="1"} 2\na{x="2"} 3\n# HELP b B\n# TYPE b gauge\nb 1\n'
    two = b'# HELP a All\n# TYPE a counter\na{x="1"} 5\n# HELP b B\n# TYPE b gauge\nb 7\n'
    assert joined({1: two, 0: one, 2: b""}).decode().splitlines() == [
        "# HELP a All",
        "# TYPE a counter",
        'a{process="0",x="1"} 2',
        'a{process="0",x="2"} 3',
        'a{process="1",x="1"} 5',
        "# HELP b B",
        "# TYPE b gauge",
        'b{process="0"} 1',
        'b{process="1"} 7',
    ]


@pytest.fixture
def siblings(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Siblings]:
    """The first of two, the second of which hears nothing."""
    path = tmp_path_factory.mktemp("board") / "board"
    path.write_bytes(board(1, 2).ljust(64 * NUMBER.size, b"\0"))
    pairs = [socket.socketpair(socket.AF_UNIX, socket.SOCK_DGRAM) for _ in range(2)]
    with path.open("r+b") as file:
        place = Place(
            slot=0,
            number=1,
            listener=-1,
            board=file.fileno(),
            doors=[pairs[0][0].detach(), pairs[1][0].detach()],
            door=pairs[0][1].detach(),
            alive=-1,
        )
        yield Siblings(place)
    pairs[1][1].close()


def test_a_connection_that_cannot_be_handed_over_is_kept(siblings: Siblings) -> None:
    here, there = socket.socketpair()
    with here, there:
        assert siblings.hand_over(1, here, b"GET / HTTP/1.1\r\n\r\n")
        assert not siblings.hand_over(1, here, bytes(4 << 20)), "so much does not fit into a message"
        while siblings.hand_over(1, here, bytes(4096)):
            pass  # until there is no more room at a door where nobody hears


def test_who_leaves_answers_what_no_other_process_has_room_for(siblings: Siblings) -> None:
    """INVARIANT: when processes are started anew, no request fails."""

    async def statuses() -> list[int]:
        async with await beliefd.open_async(":memory:") as ledger:
            app = create_app(ledger.runtime, siblings=siblings)
            app.surface.draining.begun = True
            transport = httpx.ASGITransport(app)
            async with httpx.AsyncClient(transport=transport, base_url="http://127.0.0.1") as http:
                with_another = await http.get("/v1/sessions")
                siblings._board.write(1, 0)
                alone = await http.get("/v1/sessions")
        return [with_another.status_code, alone.status_code]

    assert asyncio.run(statuses()) == [200, 503]


def test_who_leaves_waits_until_there_is_room_for_what_rests(siblings: Siblings) -> None:
    class Connection:
        rests = True
        room = False

        def hand_over(self, slot: int, data: bytes) -> bool:
            assert (slot, data) == (1, b"")
            self.rests = not self.room
            return self.room

    one, other = Connection(), Connection()
    one.room = True
    assert pass_on([one, other], siblings)
    other.room = True
    assert not pass_on([one, other], siblings)


def test_what_belongs_to_nobody_stays_unless_this_process_leaves(siblings: Siblings) -> None:
    anybodys = b"GET /v1/sessions HTTP/1.1\r\n"
    assert siblings.belongs_to(anybodys) is None
    owners = {siblings.belongs_to(b"GET /v1/sessions/s-%d HTTP/1.1\r\n" % number) for number in range(50)}
    assert owners == {None, 1}
    siblings._board.write(0, 0)
    assert siblings.belongs_to(anybodys) == 1
    siblings._board.write(1, 0)
    assert siblings.belongs_to(anybodys) is None, "there is nobody else"
