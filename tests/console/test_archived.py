"""Archived sessions are where people look for sessions, and say where their ledgers are."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from beliefd.console.pages import audit, inbox, sessions
from beliefd.steward.effects.checkpoints import LogSettings
from beliefd.testing.world import ANN, World
from tests.archives.test_archiving import put_away, story
from tests.claims.support import bundle, claim
from tests.console.visitor import seen, shown


@pytest.fixture
def world(tmp_path: Path) -> Iterator[World]:
    with World(tmp_path / "ledger.db", log=LogSettings(key=tmp_path / "log.key")) as opened:
        yield opened


def test_the_list_marks_archived_sessions_and_says_where_they_are(world: World, tmp_path: Path) -> None:
    first, session, last = world.session(), story(world), world.session()
    before = shown(seen(world, sessions.listed))
    assert "archived" not in before
    path = put_away(world, session, tmp_path / "away")
    listed = shown(seen(world, sessions.listed))
    places = [listed.index(one) for one in (first, session, last)]
    assert places == sorted(places), "each where it was"
    assert '<span class="status">archived</span>' in listed
    assert str(path) in listed
    assert "beliefd store unarchive" in listed
    assert f'href="/sessions/{session}"' not in listed, "there is nothing to be shown"


def test_a_sealed_session_is_marked(world: World) -> None:
    session = world.session()
    assert "sealed" not in shown(seen(world, sessions.listed))
    world.seal_session(session, reason="over")
    assert '<span class="tag">sealed</span>' in shown(seen(world, sessions.listed))


def test_a_search_says_what_it_does_not_search(world: World, tmp_path: Path) -> None:
    session, _ = story(world), world.session()
    put_away(world, session, tmp_path / "away")
    found = shown(seen(world, audit.searched, query={"verb": "DECLARE_SESSION"}))
    assert "1 archived session is not searched here" in found


def test_the_inbox_says_where_settled_items_went(world: World, tmp_path: Path) -> None:
    session = story(world)
    item = world.agent.submit_claims(session, bundle(claim("DELETE", "DECISION"))).approval_id
    assert item is not None
    world.person(ANN).reject(world.show_approval(item))
    path = put_away(world, session, tmp_path / "away")
    found = shown(seen(world, inbox.waiting, query={"status": "rejected"}))
    assert f"{session}</span> is archived" in found
    assert str(path) in found
