"""Content is given back as it was brought, or not at all; and nobody brings more than he may."""

import hashlib
from concurrent.futures import ThreadPoolExecutor

import pytest

from beliefd.kernel.errors import BeliefdError, Code
from beliefd.steward.handlers.content import is_text
from beliefd.testing.world import AGENT, ANN, World, policy, refused
from tests.claims.test_findings import corrupt

PAPER = b"the paper, in full\n"
NAME = hashlib.sha256(PAPER).hexdigest()


def test_what_was_brought_is_given_back_with_who_brought_it(stored: World) -> None:
    stored.agent.store_content(PAPER)
    brought_at = stored.clock.now()
    stored.clock.advance(60)
    stored.ann.store_content(PAPER)
    assert stored.bob.read_content(NAME) == PAPER
    assert stored.bob.read_content(NAME.upper()) == PAPER
    about = stored.bob.show_content(NAME)
    assert (about.sha256, about.size, about.touched_at) == (NAME, len(PAPER), stored.clock.now())
    assert [(one.id, one.role, one.at) for one in about.brought] == [
        (AGENT.id, AGENT.role, brought_at),
        (ANN.id, ANN.role, stored.clock.now()),
    ]


def test_bytes_of_any_kind_and_size_come_back(stored: World) -> None:
    for content in (b"\x00", bytes(range(256)), bytes(1024 * 1024)):
        assert stored.bob.read_content(stored.agent.store_content(content).sha256) == content


def test_what_is_not_there_has_a_code_and_what_is_no_hash_another(stored: World) -> None:
    for ask in (stored.bob.read_content, stored.bob.show_content):
        refused(Code.CONTENT_NOT_FOUND, lambda ask=ask: ask("ab" * 32))  # type: ignore[misc]
        for name in ("ab", "g" * 64, "ab" * 33, f"{'ab' * 32}\n"):
            refused(Code.INVALID_REQUEST, lambda ask=ask, name=name: ask(name))  # type: ignore[misc]


def test_what_was_changed_in_the_store_is_never_given_out(stored: World) -> None:
    stored.agent.store_content(PAPER)
    corrupt(stored, NAME, b"another paper")
    error = refused(Code.CONTENT_DAMAGED, lambda: stored.bob.read_content(NAME))
    assert "another paper" not in error.message
    assert NAME in error.message


@pytest.mark.parametrize(
    ("content", "shows"),
    [
        (b"plain\n\ttext, Gr\xc3\xbc\xc3\x9fe\n", True),
        (b"<script>alert(1)</script>", True),
        (b"\x1b[2J", False),
        (b"a\rb", False),
        (b"\x00", False),
        (b"\x7f", False),
        ("\x9b2J".encode(), False),
        (b"\xff\xfe", False),
        (b"caf\xe9", False),
    ],
)
def test_text_is_utf_8_without_control_characters(content: bytes, shows: bool) -> None:
    assert is_text(content) is shows


def limited(**limits: int) -> World:
    return World(policy=policy(content=limits))


def test_one_item_may_be_so_large_and_no_larger() -> None:
    with limited(max_item_bytes=10) as house:
        house.agent.store_content(bytes(10))
        error = refused(Code.PAYLOAD_TOO_LARGE, lambda: house.agent.store_content(bytes(11)))
        assert error.details == {"path": "$", "limit": 10}


def test_a_principal_brings_so_much_and_others_as_much_again() -> None:
    with limited(max_items_per_principal=2, max_bytes_per_principal=10) as house:
        house.agent.store_content(b"1")
        house.agent.store_content(b"2345")
        house.agent.store_content(b"1")
        error = refused(Code.QUOTA_EXCEEDED, lambda: house.agent.store_content(b"x"))
        told = {"path": "$", "reason": "content", "items": 2, "bytes": 5, "max_items": 2, "max_bytes": 10}
        assert error.details == told
        refused(Code.CONTENT_NOT_FOUND, lambda: house.agent.read_content(hashlib.sha256(b"x").hexdigest()))
        refused(Code.QUOTA_EXCEEDED, lambda: house.ann.store_content(b"12345678901"))
        house.ann.store_content(b"1")


def test_of_many_at_once_nobody_slips_past(stored: World) -> None:
    stored.root.adopt_policy(policy(content={"max_bytes_per_principal": 50}))

    def bring(n: int) -> Code | None:
        try:
            stored.agent.store_content(f"item {n:05}".encode())
        except BeliefdError as error:
            return error.code
        return None

    with ThreadPoolExecutor(8) as pool:
        outcomes = list(pool.map(bring, range(40)))
    assert (outcomes.count(None), outcomes.count(Code.QUOTA_EXCEEDED)) == (5, 35)
