"""Damaged ledgers: two verifiers in two languages come to the same verdict on the same bytes."""

import random
from typing import Any

from beliefd.ledger.transfer import BadExport
from tests.conformance.node import verify_many
from tests.ledger.ledgers import checked, exported, joined, parts, rehashed, relinked

EXPORT = exported()
CASES = 300
BY_DECIDING = ("deciding it again", "it cannot be read", "it cannot be decided again")


def verdict(export: bytes) -> str:
    """What this package says, in the words of the other verifier: up to the place."""
    try:
        result = checked(export)
    except BadExport as error:
        return f"bad line {error.line}: {error.message}"
    if result.first_bad is None:
        return "ok"
    return f"bad event {result.first_bad.seq}: {result.first_bad.reason}"


def flipped(chance: random.Random) -> bytes:
    data = bytearray(EXPORT)
    data[chance.randrange(len(data))] = chance.randrange(256)
    return bytes(data)


def scrambled(value: Any, chance: random.Random) -> Any:
    """The same JSON with something somewhere in it that does not belong there."""
    if isinstance(value, dict) and value and chance.random() < 0.8:
        name = chance.choice(sorted(value))
        return {**value, name: scrambled(value[name], chance)}
    return chance.choice([None, 1, 2.5, "x", True, [], {}, ["a"], [{}]])


def rewritten(chance: random.Random) -> bytes:
    """An event scrambled by a forger who makes every hash and link fit again."""
    header, entries = parts(EXPORT)
    seq = chance.randrange(1, len(entries) + 1)
    forged = scrambled(entries[seq - 1], chance)
    entries[seq - 1] = rehashed(forged if isinstance(forged, dict) else {"seq": seq})
    try:
        return joined(*relinked(header, entries, seq))
    except KeyError:
        return joined(header, entries)


def test_a_byte_changed_at_random_is_judged_alike() -> None:
    cases = [flipped(random.Random(seed)) for seed in range(CASES)]
    for case, told in zip(cases, verify_many(cases), strict=True):
        mine = verdict(case)
        assert (mine == "ok") == (told.code == 0) == (case == EXPORT), (mine, told.text)
        if mine.startswith("bad event"):
            assert mine.split(":")[0] == told.text.split(":")[0], (mine, told.text)


def test_events_forged_with_care_are_judged_alike_unless_only_deciding_tells() -> None:
    cases = [rewritten(random.Random(seed)) for seed in range(CASES)]
    for case, told in zip(cases, verify_many(cases), strict=True):
        mine = verdict(case)
        assert "undefined" not in told.text, told.text
        assert "not a function" not in told.text, told.text
        if mine == "ok":
            assert told.code == 0, told.text
        elif mine.startswith("bad event") and not mine.split(": ", 1)[1].startswith(BY_DECIDING):
            assert told.code == 5, mine
