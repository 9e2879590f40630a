"""Bodies that would take memory and time: what is in them is counted before, and others are answered."""

import asyncio
import json
import re
from collections.abc import Awaitable, Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from beliefd.http.bodies import read_body
from beliefd.http.in_flight import Holding, InFlight
from beliefd.kernel import json_bounds
from beliefd.kernel.beliefs.commands import DeclareSession
from beliefd.kernel.errors import BeliefdError, Code
from beliefd.kernel.json_bounds import MAX_CONTAINERS, MAX_KEYS, MAX_VALUES, Crowded, weighed
from beliefd.kernel.strict_json import loads
from beliefd.protocol import wire
from beliefd.protocol.operations import OPERATIONS
from beliefd.protocol.wire import parse_object
from beliefd.steward.handlers import batch
from beliefd.testing.world import ONTOLOGY_JSON, policy
from tests.bounds.requests import (
    CHECK,
    LINES,
    Answered,
    Asked,
    asked,
    beating,
    declaration,
    numbered,
    peak_of,
    repeated,
)

MIB = 1024 * 1024
ELIMINATE = {"source_id": "s", "observation_id": "o", "eliminated": ["a"]}

# name: (body, limit that it is refused by)
CROWDED: dict[str, tuple[bytes, int]] = {
    "empty claims": (b'{"claims":[' + repeated(b"{}", 2 * MIB) + b"]}", MAX_CONTAINERS),
    "empty lists": (b'{"claims":[' + repeated(b"[]", 2 * MIB) + b"]}", MAX_CONTAINERS),
    "nested lists": (b'{"claims":[' + repeated(b"[" * 60 + b"]" * 60, 2 * MIB) + b"]}", MAX_CONTAINERS),
    "keys": (b"{" + ",".join(numbered('"k%d":1', MAX_KEYS + 9)).encode() + b"}", MAX_KEYS),
    "one key": (b"{" + b",".join([b'"k":1'] * (MAX_KEYS + 9)) + b"}", MAX_KEYS),
    "values": (b'{"claims":[' + b",".join([b"1"] * (MAX_VALUES + 9)) + b"]}", MAX_VALUES),
}


@pytest.mark.parametrize("name", CROWDED)
def test_a_crowded_body_is_refused_with_the_limit_before_anything_is_built(name: str) -> None:
    body, limit = CROWDED[name]

    def read() -> BeliefdError:
        with pytest.raises(BeliefdError) as raised:
            parse_object(body)
        return raised.value

    error, peak = peak_of(read)
    assert error.code is Code.INVALID_REQUEST
    assert error.details == {"path": "$", "limit": limit}
    assert peak < 2 * len(body)


def test_what_the_bounds_allow_is_read() -> None:
    signs = 'a{[,:"\\'
    text = (signs * MIB)[: 2 * MIB]  # signs within a text make no values
    assert parse_object(json.dumps({"x": text}).encode()) == {"x": text}
    many = {"x": list(numbered("h%07d", 300_000))}
    assert parse_object(json.dumps(many).encode()) == many
    objects: dict[str, Any] = {"x": [{}] * (MAX_CONTAINERS - 2)}
    assert parse_object(json.dumps(objects).encode()) == objects


@given(
    st.recursive(
        st.none() | st.integers(-9, 9) | st.text(alphabet='ab"\\{}[],: é\n', max_size=20),
        lambda inner: st.lists(inner, max_size=5) | st.dictionaries(st.text(max_size=3), inner, max_size=5),
        max_leaves=30,
    ),
    st.integers(1, 40),
)
def test_signs_are_counted_outside_of_texts_only_wherever_it_is_cut(value: Any, size: int) -> None:
    text = json.dumps(value)
    without_texts = re.sub(r'"(?:[^"\\]|\\.)*"', "", text)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(json_bounds, "SLICE", size)
        assert b"".join(json_bounds._outside_texts(text.encode())).decode() == without_texts


def test_bytes_that_are_no_json_are_counted_too() -> None:
    with pytest.raises(Crowded):
        weighed(b"[" * (2 * MAX_CONTAINERS))
    weighed(b'"' * (2 * MAX_CONTAINERS))
    weighed(b"\\" * (2 * MAX_CONTAINERS))


@pytest.mark.parametrize(
    ("values", "each"),
    [(["a"] * 200_000, 4 + 12), ([{"a": 1}] * 90_000, 8 + 60 + 12 + 12), (["a" * 96] * 10_000, 99 + 12)],
)
def test_short_values_count_for_what_is_built_from_them(values: list[Any], each: int) -> None:
    text = json.dumps(values, separators=(",", ":")).encode()
    assert weighed(text) == pytest.approx(each * len(values), rel=0.001)


def test_a_text_counts_for_its_bytes() -> None:
    assert weighed(json.dumps(["a,b:[{" * 50_000]).encode()) == 6 * 50_000 + 4 + 60


@pytest.mark.anyio
async def test_a_body_of_short_values_takes_more_of_its_callers_share_than_its_bytes() -> None:
    body = json.dumps({"x": ["a"] * 200_000}, separators=(",", ":")).encode()
    [declare] = [row for row in OPERATIONS if row.name == "declare_session"]
    in_flight = InFlight()

    async def read() -> Holding:
        async def receive() -> dict[str, Any]:
            return {"type": "http.request", "body": body, "more_body": False}

        holding = Holding(in_flight)
        holding.belongs_to("agent://a", 3 * len(body))
        await read_body(declare, {"Content-Type": "application/json"}, receive, holding)
        return holding

    first = await read()
    assert first.size == weighed(body) == in_flight.total
    with pytest.raises(BeliefdError) as refused:
        await read()
    assert refused.value.code is Code.RATE_LIMITED
    first.release()
    await read()


def test_a_ledger_is_read_without_these_bounds() -> None:
    """They are of requests: what was recorded is read for ever."""
    assert len(loads(b"[" + b",".join([b"{}"] * (MAX_CONTAINERS + 1)) + b"]")) == MAX_CONTAINERS + 1


# -- beside the event loop -----------------------------------------------------------------------------

Request = Callable[[Asked, str], Awaitable[Answered]]


def eliminate(justification: Any) -> Request:
    body = json.dumps({**ELIMINATE, "justification": justification}).encode()
    return lambda server, session: server.post(f"/v1/sessions/{session}/eliminate", body)


def check(body: Any) -> Request:
    written = json.dumps(body).encode()
    return lambda server, _: server.post(CHECK, written)


def lines(line: bytes, count: int) -> Request:
    body = line * count
    return lambda server, session: server.post(f"/v1/sessions/{session}/batch", body, LINES)


def declare(count: int) -> Request:
    body = declaration(list(numbered("hypothesis-%07d", count)))
    return lambda server, _: server.post("/v1/sessions", body)


TRIGGER = 'speculation {"a": "speculation"} '
LONG: dict[str, tuple[Request, int]] = {
    "JSON within texts": (eliminate({"x": [TRIGGER * 50] * 1_000}), 200),
    "false beginnings of JSON": (eliminate({"x": "speculative " + '{"' * MIB}), 422),
    "claims of triggers": (
        check(
            {
                "claims": [
                    {
                        "statement": (TRIGGER * 400)[:10_000],
                        "claim_type": "INFERENCE",
                        "risk_tier": "READ_ONLY",
                        "uncertainty": {"method": "confidence_score", "value": 0.1},
                    }
                ]
                * 300
            }
        ),
        200,
    ),
    "a long list in no bundle": (check({"claims": [], "x": [1.5] * 1_000_000}), 400),
    "lines that are no JSON": (lines(b"x\n", 40_000), 200),
    "lines without a verb": (lines(b"{}\n", 40_000), 200),
    "many hypotheses": (declare(400_000), 201),
}


@pytest.mark.slow
@pytest.mark.parametrize("name", LONG)
def test_the_event_loop_goes_on_beside_a_long_request(name: str) -> None:
    request, status = LONG[name]

    async def run() -> tuple[Answered, float, float]:
        async with asked(policy(limits={"bundle_bytes": 16 * MIB})) as server:
            session = await server.session()
            return await beating(request(server, session))

    for _ in range(5):  # another process may have had the processor
        answer, took, longest = asyncio.run(run())
        assert answer.status == status, answer.body[:300]
        if longest < took / 2:  # without its cure the loop stands still for all of it
            return
    raise AssertionError(f"the loop stood still for {longest:.3f} of {took:.3f} s")


def test_names_are_checked_in_slices_that_let_others_run() -> None:
    """One call for all of them would hold the interpreter for as long as it takes."""
    body = {"ontology": ONTOLOGY_JSON, "hypotheses": list(numbered("hypothesis-%07d", 500_000))}
    for _ in range(5):
        work = asyncio.to_thread(wire.convert_in_slices, body, DeclareSession)
        command, took, longest = asyncio.run(beating(work))
        assert len(command.hypotheses) == 500_000
        if longest < took / 2:  # without its cure the loop stands still for all of it
            return
    raise AssertionError(f"the loop stood still for {longest:.3f} of {took:.3f} s")


def test_a_list_is_converted_in_slices_and_errors_say_where_in_the_whole(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(wire, "CONVERTED_AT_ONCE", 10)

    async def run() -> tuple[Answered, Answered, Answered]:
        async with asked() as server:
            names = list(numbered("h%02d", 95))
            session = await server.session(tuple(names))
            path = f"/v1/sessions/{session}/eliminate"
            good = {**ELIMINATE, "justification": {}}
            return (
                await server.post(path, json.dumps({**good, "eliminated": names}).encode()),
                await server.post(path, json.dumps({**good, "eliminated": [*names[:37], 7]}).encode()),
                await server.post(path, json.dumps({**good, "eliminated": names, "x": 1}).encode()),
            )

    whole, wrong, unknown = asyncio.run(run())
    assert json.loads(whole.body)["applied_eliminated"] == list(numbered("h%02d", 95))
    assert wrong.error["details"]["path"] == "$.eliminated[37]"
    assert unknown.error["details"]["path"] == "$.x"


# -- lines ---------------------------------------------------------------------------------------------


def test_lines_are_counted_before_the_first_is_read(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(batch, "MAX_LINES", 100)

    async def run() -> tuple[Answered, Answered]:
        async with asked() as server:
            session = await server.session()
            return await lines(b"x\n", 99)(server, session), await lines(b"x\n", 100)(server, session)

    within, beyond = asyncio.run(run())
    assert len(within.lines) == 99
    assert (beyond.status, beyond.error["code"]) == (400, "INVALID_REQUEST")
    assert beyond.error["details"] == {"path": "$", "limit": 100}


def test_a_line_may_be_no_longer_than_a_body_of_its_own(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(batch, "MAX_LINE", 200)
    monkeypatch.setattr(batch, "WINDOW_BYTES", 300)
    good = json.dumps({"verb": "ELIMINATE", **ELIMINATE, "justification": {}}).encode() + b"\n"
    long = json.dumps({"verb": "ELIMINATE", **ELIMINATE, "justification": {"x": "y" * 200}}).encode() + b"\n"

    async def run() -> Answered:
        async with asked() as server:
            path = f"/v1/sessions/{await server.session()}/batch"
            return await server.post(path, (good + long) * 3, LINES)

    answers = asyncio.run(run()).lines
    assert [one["snapshot"]["seq"] for one in answers[::2]] == [2, 3, 4]
    for number, one in enumerate(answers[1::2], 1):
        assert one["error"]["code"] == "PAYLOAD_TOO_LARGE"
        assert one["error"]["details"] == {"path": "$", "limit": 200, "line": 2 * number}
