"""After an erasure: replay and backtests say `erased`, and proofs that were given before still hold."""

import json
from pathlib import Path

from beliefd.embedded import Embedded
from beliefd.ledger.checkpoints import (
    Trust,
    hashes_in,
    refuse_not_included,
    refuse_other_history,
    trusted_text,
)
from beliefd.ledger.notes import read_key
from beliefd.policy.backtesting.steps import Line
from beliefd.protocol.log import CheckpointView
from beliefd.steward.backtesting.exports import decide_exports
from beliefd.steward.backtesting.ledgers import Trial
from beliefd.steward.backtesting.tally import Tally
from beliefd.steward.effects.checkpoints import LogSettings
from beliefd.testing.world import World
from tests.cli.runner import answer, beliefd
from tests.conformance.node import run_node
from tests.erasures.support import SECRET, WITHHOLDING, eliminate, parts, told


def erase_one(house: World) -> str:
    """A session with three texts beside its ledger, of which one is erased."""
    session = told(house)
    house.root.erase(session, "asked for", digests=[parts(house, session)[0].digest])
    return session


def test_replay_says_what_is_erased_and_the_state_is_the_same(house: World, tmp_path: Path) -> None:
    session, path = erase_one(house), tmp_path / "ledger.jsonl"
    for with_parts, absent, words in ((False, 2, ", 2 not here"), (True, 0, "")):
        path.write_bytes(house.root.export(session, parts=with_parts))
        found = answer("audit", "replay", path)
        assert (found["same"], found["withheld"], found["erased"], found["absent"]) == (True, 3, 1, absent)
        shown = beliefd("audit", "replay", path).output
        assert f"3 events folded and decided again: same state; 3 parts withheld, 1 erased{words}\n" in shown


def test_a_backtest_says_how_much_is_erased_and_decides_by_digests(house: World, tmp_path: Path) -> None:
    session = erase_one(house)
    tried = house.backtest_policy(WITHHOLDING)
    assert (tried.sessions, tried.changed, tried.undecidable, tried.broken, tried.erased) == (1, 0, 0, [], 1)
    exported = house.root.export(session)
    tally = Tally()
    lines = [Line(number, data) for number, data in enumerate(exported.splitlines(), 1)]
    decide_exports(lines, Trial(WITHHOLDING), tally)
    assert tally.answer("").erased == 1
    tally.add(tried)
    assert tally.answer("").erased == 2
    ledger, rules = tmp_path / "ledger.jsonl", tmp_path / "policy.json"
    ledger.write_bytes(exported)
    rules.write_text(json.dumps({"erasable": {"ELIMINATE": ["justification"]}}))
    shown = beliefd("policy", "backtest", ledger, "--policy", rules).output
    assert "texts that are erased: 1; what was said with them is decided by their digests" in shown


def test_proofs_and_checkpoints_of_before_hold_after_an_erasure(tmp_path: Path) -> None:
    with World(tmp_path / "a.db", WITHHOLDING, log=LogSettings(key=tmp_path / "log.key")) as house:
        session = told(house)
        before = house.sign_checkpoint()
        trust = Trust(tuple(read_key(one) for one in house.log_state().keys))
        old = trusted_text(before.note, trust)
        events = [one.event_id for one in house.entries(session)]
        proofs = {one: house.audit_proof(session, one) for one in events}
        house.root.erase(session, "asked for", digests=[one.digest for one in parts(house, session)])
        eliminate(house, session, {"seen": "more"})
        assert SECRET.encode() not in house.root.export(session, parts=True)
        for event, shown in proofs.items():  # kept by somebody, and asked for again
            assert house.audit_proof(session, event, size=old.size) == shown
            refuse_not_included(shown.hash, shown.index, shown.size, hashes_in(shown.path), old)
        new = trusted_text(house.sign_checkpoint().note, trust)
        refuse_other_history(old, new, hashes_in(house.log_consistency(old.size, new.size).path))
        verify_outside(house, session, tmp_path, before)


def verify_outside(house: Embedded, session: str, folder: Path, kept: CheckpointView) -> None:
    """What an outsider does with files alone, by both verifiers."""
    (folder / "key").write_text("\n".join(house.log_state().keys))
    (folder / "checkpoint").write_text(kept.note)
    (folder / "ledger").write_bytes(house.export(session))
    assert kept.size < house.log_checkpoint().size
    shown = house.audit_proof(session, size=kept.size)
    (folder / "proof").write_text(
        json.dumps({name: getattr(shown, name) for name in shown.__struct_fields__})
    )
    files = [folder / name for name in ("key", "checkpoint", "ledger", "proof")]
    assert run_node("verify_log.mjs", *map(str, files)).code == 0
    words = ("--key", files[0], "--checkpoint", files[1], "--ledger", files[2], "--proof", files[3])
    found = answer("audit", "verify", *words)
    assert (found["ok"], found["erased"], found["covering"]["covered"]) == (True, 3, 2)
