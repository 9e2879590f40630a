"""Many verbs in one request: one JSON object a line in, one answer a line out, in order."""

import asyncio
from collections.abc import AsyncIterator
from typing import Any, Final

import msgspec

from beliefd.kernel.errors import BeliefdError, invalid
from beliefd.protocol.operations import BY_NAME
from beliefd.protocol.wire import bind, convert, parse_object
from beliefd.steward.handle import Outcome, Steward
from beliefd.steward.positions import session_not_found
from beliefd.steward.usecases import Call, answer_to

VERBS: Final[dict[str, type]] = {
    str(kind.__struct_config__.tag): kind
    for kind in (
        BY_NAME[name].body
        for name in (
            "eliminate",
            "enter_obligation",
            "request_exit",
            "declare_conclusion",
            "request_termination",
        )
    )
}


async def run_batch(steward: Steward, call: Call) -> AsyncIterator[bytes]:
    """Submit every line before the first answer is awaited, so that they share their commits.

    A line that cannot be read answers with its error; the others are not held up by it.
    """
    if await steward.store.head(call.session_id) is None:
        raise session_not_found(call.session_id)
    waiting = [_submit(steward, call, line) for line in call.body.split(b"\n") if line.strip()]
    for item in waiting:
        yield msgspec.json.encode(await _answer(item)) + b"\n"


def _submit(steward: Steward, call: Call, line: bytes) -> "asyncio.Future[Outcome] | BeliefdError":
    try:
        value = parse_object(line)
        kind = VERBS.get(str(value.get("verb")))
        if kind is None:
            known = ", ".join(f"`{verb}`" for verb in VERBS)
            raise invalid(f"a line needs `verb`, one of {known}", "$.verb")
        command: Any = convert(bind(value, {"session_id": call.session_id}), kind)
    except BeliefdError as error:
        return error
    return steward.submit(call.session_id, command, call.principal)


async def _answer(item: "asyncio.Future[Outcome] | BeliefdError") -> Any:
    if isinstance(item, BeliefdError):
        return item.body
    try:
        return answer_to(await item)
    except BeliefdError as error:
        return error.body
