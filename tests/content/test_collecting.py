"""What nobody cites is removed; what somebody cites is not, whenever he does."""

import asyncio
import hashlib
from typing import Any

from beliefd.kernel.beliefs.commands import Eliminate
from beliefd.kernel.errors import Code
from beliefd.kernel.labels import Bringer
from beliefd.kernel.values import later
from beliefd.ledger.envelope import read
from beliefd.steward import collecting
from beliefd.steward.collecting import collect
from beliefd.stores.content import KeptContent
from beliefd.testing.world import AGENT, World, policy, refused
from tests.claims.support import bundle, claim, pointer

PAPER = b"the paper, in full"
NAME = hashlib.sha256(PAPER).hexdigest()
DAY = 24 * 3600


def sourced(digest: str = NAME) -> dict[str, Any]:
    return bundle(claim("READ_ONLY", "FACT", evidence_pointers=[pointer(evidence_hash=digest)]))


def collected(house: World, **more: Any) -> list[str]:
    before = later(house.clock.now(), -DAY)
    return [one.sha256 for one in house.run(lambda: collect(house.store, before, **more))]


def is_kept(house: World, name: str = NAME) -> bool:
    return bool(house.run(lambda: house.store.kept_content([name])))


def test_old_content_that_nobody_cites_is_removed_and_no_other(stored: World) -> None:
    session = stored.session()
    cited, quoted, old, again = (
        stored.agent.store_content(text).sha256 for text in (b"cited", b"quoted", b"old", b"again")
    )
    stored.agent.submit_claims(session, sourced(cited.upper()))
    stored.agent.eliminate(
        session,
        source_id="s",
        observation_id="o",
        eliminated=["h1"],
        justification={"seen": f"in urn:sha256:{quoted}"},
    )
    stored.clock.advance(DAY + 1)
    stored.agent.store_content(b"again")
    fresh = stored.agent.store_content(b"fresh").sha256
    assert collected(stored, dry_run=True) == [old]
    assert is_kept(stored, old)
    assert collected(stored) == [old]
    assert [is_kept(stored, one) for one in (cited, quoted, again, fresh, old)] == [True] * 4 + [False]
    assert collected(stored) == []
    refused(Code.CONTENT_NOT_FOUND, lambda: stored.agent.read_content(old))
    assert stored.agent.store_content(b"old").sha256 == old
    assert stored.agent.read_content(old) == b"old"


def test_what_is_removed_counts_for_nobody_any_more(stored: World) -> None:
    stored.root.adopt_policy(policy(content={"max_items_per_principal": 1}))
    for who in (stored.agent, stored.ann):
        who.store_content(PAPER)
    stored.clock.advance(DAY + 1)
    assert collected(stored) == [NAME]
    stored.agent.store_content(b"another")
    refused(Code.QUOTA_EXCEEDED, lambda: stored.agent.store_content(PAPER))
    stored.ann.store_content(PAPER)


def test_many_are_removed_in_rounds(stored: World, monkeypatch: Any) -> None:
    monkeypatch.setattr(collecting, "ROUND", 7)
    monkeypatch.setattr(collecting, "AT_ONCE", 3)
    names = [stored.agent.store_content(f"item {n}".encode()).sha256 for n in range(40)]
    session = stored.session()
    for name in names[::4]:
        stored.agent.submit_claims(session, sourced(name))
    stored.clock.advance(DAY + 1)
    read_so_far: list[int] = []
    assert collected(stored, progress=read_so_far.append) == sorted(set(names) - set(names[::4]))
    assert sum(read_so_far) >= 11
    assert [is_kept(stored, name) for name in names] == [n % 4 == 0 for n in range(40)]


def test_what_is_cited_after_the_ledgers_were_read_is_kept(stored: World, monkeypatch: Any) -> None:
    """Somebody submits a claim between the reading and the removal."""
    session = stored.session()
    stored.agent.store_content(PAPER)
    stored.clock.advance(DAY + 1)
    whole = collecting.read_ledgers

    async def then_somebody_cites(*args: Any) -> None:
        await whole(*args)
        await stored.steward.submit(
            session,
            _elimination(NAME),
            AGENT,
        )

    monkeypatch.setattr(collecting, "read_ledgers", then_somebody_cites)
    assert collected(stored) == []
    assert is_kept(stored)


def test_what_is_brought_again_after_the_ledgers_were_read_is_kept(stored: World, monkeypatch: Any) -> None:
    stored.agent.store_content(PAPER)
    stored.clock.advance(DAY + 1)
    whole = collecting.read_ledgers

    async def then_somebody_brings_it(store: Any, *args: Any) -> None:
        await whole(store, *args)
        await store.put_content(NAME, PAPER, Bringer(id=AGENT.id, role=AGENT.role, at=stored.clock.now()))

    monkeypatch.setattr(collecting, "read_ledgers", then_somebody_brings_it)
    assert collected(stored) == []
    assert is_kept(stored)


def test_a_decision_on_content_that_is_removed_meanwhile_is_made_again(stored: World) -> None:
    """The content was hashed for the gates, and is gone before what they said is written."""
    session = stored.session()
    stored.agent.store_content(PAPER)
    stored.clock.advance(DAY + 1)
    find, removed = stored.steward.finder.findings, list[KeptContent]()

    async def then_it_is_collected(*args: Any) -> Any:
        found = await find(*args)
        removed.extend(await collect(stored.store, stored.clock.now()))
        return found

    stored.steward.finder.findings = then_it_is_collected  # type: ignore[method-assign, assignment]
    stored.agent.submit_claims(session, sourced())
    assert [one.sha256 for one in removed] == [NAME]
    (entry,) = stored.entries(session)[1:]
    facts = read(entry.record).facts
    assert facts is not None
    assert getattr(facts, "content") == {}, "what is recorded was true when it was written"  # noqa: B009
    stored.check(session)


def test_collecting_while_others_bring_and_cite_loses_nothing_that_is_cited(stored: World) -> None:
    session = stored.session()
    cited: set[str] = set()

    async def bring_and_cite(n: int) -> None:
        content = f"item {n}".encode()
        name = hashlib.sha256(content).hexdigest()
        await stored.store.put_content(
            name, content, Bringer(id=AGENT.id, role=AGENT.role, at=stored.clock.now())
        )
        if n % 2:
            await asyncio.sleep(0.001 * (n % 7))
            outcome = await stored.steward.submit(session, _elimination(name), AGENT)
            if await stored.store.kept_content([name]):
                cited.add(name)
            assert outcome.head.seq > 1

    async def collect_all(past: str) -> None:
        for _ in range(10):
            await collect(stored.store, past)

    async def play() -> None:
        past = later(stored.clock.now(), -DAY)
        await asyncio.gather(*map(bring_and_cite, range(60)), collect_all(past))
        await collect(stored.store, later(stored.clock.now(), DAY))

    stored.run(play)
    assert len(cited) == 30, "what is young is not collected before it is cited"
    assert stored.run(lambda: stored.store.kept_content(list(cited))) == cited
    assert len(stored.run(lambda: stored.store.content_before("9", None, 100))) == 30
    stored.check(session)


def _elimination(name: str) -> Eliminate:
    return Eliminate(source_id="s", observation_id=name, eliminated=(), justification={})
