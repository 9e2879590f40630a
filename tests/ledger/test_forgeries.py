"""Forged ledgers: whatever was changed, verification names the first event that does not hold, and why.

Each forgery is shown to the verifier of this package and, where hashes alone can tell, to the one in node.
"""

import inspect
import json
import re
from collections.abc import Callable
from typing import Any

import pytest

from beliefd.kernel.errors import BeliefdError, Code
from beliefd.ledger import verify as verification
from beliefd.testing.frozen import Clock
from beliefd.testing.world import World
from tests.conformance.node import run_node, verify_with_node
from tests.ledger.ledgers import (
    Envelope,
    checked,
    edited,
    every_kind,
    exported,
    joined,
    parts,
    rehashed,
    relinked,
)

HEADER, ENTRIES = parts(exported())
LAST = len(ENTRIES)
FIELDS = sorted(ENTRIES[0])


def first_bad(export: bytes, *, node: bool = True) -> tuple[int, str]:
    """The place and reason; node must name the same place, or (hashes alone) see nothing wrong."""
    result = checked(export)
    assert not result.ok
    assert result.first_bad is not None
    verdict = verify_with_node(export)
    if node:
        assert verdict.code == 5
        assert verdict.text.startswith(f"bad event {result.first_bad.seq}: "), verdict.text
    else:
        assert verdict == (
            0,
            f"ok {len(export.splitlines()) - 1} events, head {parts(export)[0]['head']['hash']}",
        )
    return result.first_bad.seq, result.first_bad.reason


def test_the_ledger_that_is_forged_below_is_sound() -> None:
    result = checked(joined(HEADER, ENTRIES))
    assert result.ok
    assert result.checked == LAST
    head = ENTRIES[-1]["hash"]
    assert verify_with_node(joined(HEADER, ENTRIES)) == (0, f"ok {LAST} events, head {head}")


def test_the_steps_run_in_the_order_in_which_they_are_numbered() -> None:
    numbered = re.findall(r"^  (\d)\. (\w+):", verification.__doc__ or "", re.MULTILINE)
    called = re.findall(r"_check_(\w+)\(", inspect.getsource(verification._check_entry))[1:]
    assert numbered == [(str(number), name) for number, name in enumerate(called, 1)]


def test_every_kind_of_event_is_in_it() -> None:
    assert {entry["delta"]["kind"] for entry in ENTRIES} == {
        "declared",
        "eliminated",
        "refused",
        "obligation_entered",
        "exit_ruled",
        "merged",
        "conclusion_ruled",
        "termination_ruled",
    }


def otherwise(value: Any) -> Any:
    """A value of the same type that is not this value."""
    if isinstance(value, dict):
        return {**value, "forged": True}
    if isinstance(value, int):
        return value + 1
    return value[:-1] + ("0" if value[-1] != "0" else "1")


@pytest.mark.parametrize("field", FIELDS)
@pytest.mark.parametrize("seq", [1, 5, LAST])
def test_a_field_changed_without_its_hash_is_named(field: str, seq: int) -> None:
    forged = edited(ENTRIES, seq, lambda entry: {**entry, field: otherwise(entry[field])})
    assert first_bad(joined(HEADER, forged)) == (seq, "its hash does not match its bytes")


@pytest.mark.parametrize("field", [name for name in FIELDS if name not in ("hash", "seq", "event_id")])
def test_a_field_taken_out_is_named(field: str) -> None:
    def without(entry: Envelope) -> Envelope:
        del entry[field]
        return rehashed(entry)

    seq, reason = first_bad(joined(HEADER, edited(ENTRIES, 5, without)))
    assert seq == 5
    assert f"missing required field `{field}`" in reason


def test_a_field_put_in_is_named() -> None:
    forged = edited(ENTRIES, 5, lambda entry: rehashed({**entry, "forged": 1}))
    seq, reason = first_bad(joined(HEADER, forged))
    assert seq == 5
    assert "unknown field `forged`" in reason


# Event 7 eliminates. What is changed in it, re-hashed, and not linked to again: either the event itself does
# not hold any more, or the one after it points at a hash that is gone.
REHASHED: list[tuple[str, Callable[[Envelope], Any], int, str]] = [
    ("actor", lambda entry: {**entry["actor"], "id": "agent://mallory"}, 8, "prev_hash"),
    ("actor", lambda entry: {**entry["actor"], "role": "pope"}, 7, "cannot be read"),
    ("delta", lambda entry: {**entry["delta"], "eliminated": []}, 7, "deciding it again"),
    ("delta", lambda entry: {**entry["delta"], "ignored": []}, 7, "deciding it again"),
    ("event_id", lambda entry: otherwise(entry["event_id"]), 8, "prev_hash"),
    ("notes", lambda _: "nothing to see here", 8, "prev_hash"),
    ("payload", lambda entry: {**entry["payload"], "source_id": "human://alice"}, 8, "prev_hash"),
    ("payload", lambda entry: {**entry["payload"], "eliminated": ["disk_full"]}, 7, "deciding it again"),
    ("payload", lambda entry: {**entry["payload"], "forged": 1}, 7, "unknown field `forged`"),
    ("policy_hash", lambda _: "0" * 64, 7, "is not known here"),
    ("prev_hash", lambda entry: otherwise(entry["prev_hash"]), 7, "prev_hash"),
    ("protocol", lambda _: "belief/2", 7, "protocol `belief/2`"),
    ("seq", lambda _: 8, 7, "stands at place 7 but says 8"),
    ("session_id", lambda entry: otherwise(entry["session_id"]), 7, "belongs to session"),
    ("state_hash", lambda _: "0" * 64, 7, "state_hash"),
    ("survivors_after_hash", lambda entry: entry["survivors_before_hash"], 7, "survivors_after_hash"),
    ("survivors_before_hash", lambda entry: entry["survivors_after_hash"], 7, "survivors_before_hash"),
    ("ts", lambda _: "1999-12-31T23:59:59.000000Z", 8, "prev_hash"),
    ("verb", lambda _: "MERGE", 7, "cannot be read"),
]
BY_DECISION_ONLY = ("deciding it again", "cannot be read", "unknown field")


@pytest.mark.parametrize(("field", "change", "seq", "reason"), REHASHED)
def test_a_single_event_re_hashed_is_named_or_leaves_a_broken_link(
    field: str, change: Callable[[Envelope], Any], seq: int, reason: str
) -> None:
    forged = edited(ENTRIES, 7, lambda entry: rehashed({**entry, field: change(entry)}))
    export = joined(HEADER, forged)
    result = checked(export)
    assert result.first_bad is not None
    assert result.first_bad.seq == seq
    assert reason in result.first_bad.reason
    verdict = verify_with_node(export)
    # Node does not decide again: what only a decision can tell, it finds one event later, at the broken link.
    assert verdict.code == 5
    assert verdict.text.startswith((f"bad event {seq}: ", f"bad event {seq + 1}: "))
    if not reason.startswith(BY_DECISION_ONLY):
        assert verdict.text.startswith(f"bad event {seq}: ")


def test_a_good_verdict_of_node_says_what_was_not_checked() -> None:
    said = run_node("verify.mjs", data=joined(HEADER, ENTRIES)).text.splitlines()[1:]
    assert len(said) == len({line.split(": ")[1] for line in said}) == 4
    assert all(line.startswith("not checked: ") for line in said)
    assert "beliefd audit verify" in said[0]
    # It is so: an end that was cut off and a time that is not true pass.
    cut = {**HEADER, "head": {name: ENTRIES[-2][name] for name in HEADER["head"]}}
    assert run_node("verify.mjs", data=joined(cut, ENTRIES[:-1])).text.splitlines()[1:] == said
    forged = joined(*relinked(HEADER, edited(ENTRIES, LAST, _at_another_time), LAST))
    assert run_node("verify.mjs", data=forged).text.splitlines()[1:] == said
    # Of what does not hold, nothing more is said.
    bad = run_node("verify.mjs", data=joined(HEADER, ENTRIES[:-1]))
    assert bad.text.splitlines() == [f"bad event {LAST}: the ledger ends here, but its head is event {LAST}"]


def _at_another_time(entry: Envelope) -> Envelope:
    return {**entry, "ts": "1999-12-31T23:59:59.000000Z"}


def test_the_cases_above_cover_every_field() -> None:
    assert {field for field, *_ in REHASHED} == {*FIELDS, "notes", "state_hash"} - {"hash"}


@pytest.mark.parametrize("seq", range(1, LAST))
def test_two_neighbours_swapped_are_named(seq: int) -> None:
    forged = list(ENTRIES)
    forged[seq - 1], forged[seq] = forged[seq], forged[seq - 1]
    place, reason = first_bad(joined(HEADER, forged))
    assert place == seq
    assert reason == f"it stands at place {seq} but says {seq + 1}"


def test_all_events_backwards_are_named() -> None:
    assert first_bad(joined(HEADER, ENTRIES[::-1]))[0] == 1


@pytest.mark.parametrize("seq", [1, 6])
def test_an_event_removed_is_named_by_its_place(seq: int) -> None:
    forged = [entry for entry in ENTRIES if entry["seq"] != seq]
    place, reason = first_bad(joined(HEADER, forged))
    assert place == seq
    assert reason == f"it stands at place {seq} but says {seq + 1}"


def test_the_last_event_removed_is_named_while_the_header_keeps_the_head() -> None:
    export = joined(HEADER, ENTRIES[:-1])
    assert first_bad(export) == (LAST, f"the ledger ends here, but its head is event {LAST}")


def test_every_event_removed_is_named() -> None:
    assert first_bad(joined(HEADER, [])) == (1, f"the ledger ends here, but its head is event {LAST}")


@pytest.mark.parametrize("seq", [1, 4, LAST])
def test_an_event_told_twice_is_named(seq: int) -> None:
    forged = [copy for entry in ENTRIES for copy in ([entry] * 2 if entry["seq"] == seq else [entry])]
    place, reason = first_bad(joined(HEADER, forged))
    assert (place, reason) == (seq + 1, f"it stands at place {seq + 1} but says {seq}")


def test_an_event_added_past_the_head_is_named() -> None:
    surplus = rehashed({**ENTRIES[-1], "seq": LAST + 1, "prev_hash": ENTRIES[-1]["hash"]})
    place, _ = first_bad(joined(HEADER, [*ENTRIES, surplus]))
    assert place == LAST + 1


@pytest.mark.parametrize("field", ["event_id", "hash"])
def test_another_head_in_the_header_is_named(field: str) -> None:
    header = {**HEADER, "head": {**HEADER["head"], field: otherwise(HEADER["head"][field])}}
    assert first_bad(joined(header, ENTRIES)) == (LAST, "it is not the head that was promised")


def test_a_head_further_back_is_named() -> None:
    header = {**HEADER, "head": {name: ENTRIES[4][name] for name in ("event_id", "hash", "seq")}}
    assert first_bad(joined(header, ENTRIES)) == (6, "the ledger goes on past its head, event 5")


def other_session() -> list[Envelope]:
    with World(clock=Clock(9)) as world:
        return parts(world.export(every_kind(world)))[1]


@pytest.mark.parametrize("seq", [1, 2, LAST])
def test_an_event_grafted_from_another_session_is_named(seq: int) -> None:
    forged = [*ENTRIES[: seq - 1], other_session()[seq - 1], *ENTRIES[seq:]]
    place, reason = first_bad(joined(HEADER, forged))
    assert place == seq
    assert reason.startswith("it belongs to session")


def test_a_whole_chain_grafted_onto_another_session_id_breaks_at_its_genesis() -> None:
    """Session id rewritten everywhere, every link and hash made to fit: only the genesis hash is left."""
    stolen = [{**entry, "session_id": HEADER["session_id"]} for entry in other_session()]
    export = joined(*relinked(HEADER, stolen, 1))
    assert first_bad(export) == (1, "its `prev_hash` is not the hash of what comes before it")


@pytest.mark.parametrize("field", ["ontology", "hypotheses"])
def test_another_declaration_breaks_at_its_genesis(field: str) -> None:
    def redeclared(entry: Envelope) -> Envelope:
        other: Any = (
            ["only me"] if field == "hypotheses" else {**entry["payload"][field], "causal_graph_ref": "x"}
        )
        return {**entry, "payload": {**entry["payload"], field: other}}

    export = joined(*relinked(HEADER, edited(ENTRIES, 1, redeclared), 1))
    assert first_bad(export) == (1, "its `prev_hash` is not the hash of what comes before it")


# A forger with the whole file rewrites everything after the lie, links, hashes and header included.
LIES: list[tuple[str, int, Callable[[Envelope], Envelope]]] = [
    (
        "a refusal turned into an approval",
        11,
        lambda delta: {**delta, "approved": True},
    ),
    (
        "an exit approved too early",
        5,
        lambda delta: {**delta, "approved": True},
    ),
    (
        "a conclusion accepted against an obligation",
        8,
        lambda delta: {**delta, "accepted": True},
    ),
    (
        "an obligation made lighter",
        4,
        lambda delta: {**delta, "min_total_eliminations": 0},
    ),
    (
        "a refusal with another code",
        3,
        lambda delta: {**delta, "code": "CONFLICT"},
    ),
]


@pytest.mark.parametrize(("what", "seq", "change"), LIES, ids=[lie[0] for lie in LIES])
def test_a_rewritten_tail_with_a_changed_decision_is_named_by_deciding_again(
    what: str, seq: int, change: Callable[[Envelope], Envelope]
) -> None:
    forged = edited(ENTRIES, seq, lambda entry: {**entry, "delta": change(entry["delta"])})
    export = joined(*relinked(HEADER, forged, seq))
    place, reason = first_bad(export, node=False)
    assert (place, reason) == (seq, "deciding it again gives another outcome than the one recorded")


def test_a_refusal_turned_into_an_elimination_is_named() -> None:
    """The delta removes what `decide` refused to remove, and the survivors hashes are left as they were."""
    lie = {"kind": "eliminated", "eliminated": ["bad_deploy"], "ignored": []}
    export = joined(*relinked(HEADER, edited(ENTRIES, 3, lambda entry: {**entry, "delta": lie}), 3))
    place, reason = first_bad(export)
    assert (place, reason) == (3, "deciding it again gives another outcome than the one recorded")


def test_an_actor_promoted_afterwards_is_named_because_the_decision_was_another() -> None:
    promoted = edited(ENTRIES, 11, lambda entry: {**entry, "actor": {**entry["actor"], "role": "admin"}})
    assert first_bad(joined(*relinked(HEADER, promoted, 11)), node=False)[0] == 11


def test_a_policy_that_does_not_hash_to_its_name_is_named_by_its_line() -> None:
    (name, policy), *_ = HEADER["policies"].items()
    lenient = {**policy, "termination": {**policy["termination"], "force_roles": ["agent"]}}
    export = joined({**HEADER, "policies": {name: lenient}}, ENTRIES)
    with World() as world, pytest.raises(BeliefdError, match="does not hash to its name") as caught:
        world.import_ledger(export)
    assert caught.value.details == {"path": "line 1"}
    assert verify_with_node(export).text == f"bad line 1: policy `{name}` does not hash to its name"


def test_a_policy_left_out_is_named_at_the_first_event_it_governed() -> None:
    assert first_bad(joined({**HEADER, "policies": {}}, ENTRIES))[0] == 1


def test_what_verification_cannot_show_a_whole_chain_made_up_consistently() -> None:
    """Who owns every byte can make up a history, as the protocol says; a head kept elsewhere tells."""
    with World() as world:
        honest = world.export(every_kind(world))
    with World() as forger:
        session_id = forger.declare_session(
            ["innocent", "guilty"], parts(honest)[1][0]["payload"]["ontology"]
        )
        forger.eliminate(session_id.session_id, source_id="s", observation_id="o", eliminated=["guilty"])
        made_up = forger.export(session_id.session_id)
    assert checked(made_up).ok
    header, entries = parts(made_up)
    assert header["session_id"] == parts(honest)[0]["session_id"]
    kept_elsewhere = parts(honest)[0]["head"]
    assert not checked(joined({**header, "head": kept_elsewhere}, entries)).ok


def test_what_verification_cannot_show_a_tail_cut_with_its_header() -> None:
    cut = {**HEADER, "head": {name: ENTRIES[4][name] for name in ("event_id", "hash", "seq")}}
    assert checked(joined(cut, ENTRIES[:5])).ok
    assert first_bad(joined(HEADER, ENTRIES[:5])) == (
        6,
        f"the ledger ends here, but its head is event {LAST}",
    )


def test_known_failure_a_forged_log_is_not_restored() -> None:
    """Importing verifies first: nothing of a forged ledger is taken in, and the error names the event."""
    forged = edited(
        ENTRIES, 7, lambda entry: rehashed({**entry, "delta": {**entry["delta"], "eliminated": []}})
    )
    with World() as world:
        with pytest.raises(BeliefdError) as caught:
            world.import_ledger(joined(HEADER, forged))
        assert caught.value.code is Code.LEDGER_BROKEN
        assert caught.value.details is not None
        assert (caught.value.details["seq"], caught.value.details["event_id"]) == (7, ENTRIES[6]["event_id"])
        assert world.list_sessions().sessions == []


def test_whitespace_and_key_order_are_not_a_forgery() -> None:
    """The hash is over the canonical form, so a ledger that went through another JSON writer still holds."""
    lines = [json.dumps(line, indent=None, separators=(", ", " : ")) for line in (HEADER, *ENTRIES)]
    shuffled = [json.dumps(dict(reversed(json.loads(line).items()))) for line in lines]
    export = "\n\n".join(shuffled).encode()
    assert checked(export).ok
    assert verify_with_node(export).code == 0
