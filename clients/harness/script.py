"""What the scripted model says, turn by turn, in words that are the same for every client."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

Arguments = Mapping[str, Any]


class Told(NamedTuple):
    """What a client told the model about one call."""

    text: str
    error: bool | None
    """None where the API has no flag for it."""


@dataclass(frozen=True)
class Request:
    """One request of a client to the model."""

    path: str
    body: Mapping[str, Any]
    told: Mapping[str, Told]
    """By call id: the results that this request contains."""
    said: tuple[str, ...] = ()
    """The model's own texts, as the client repeats them."""
    offered: tuple[str, ...] = ()
    """The names of the tools that the model may call; none in requests beside the conversation."""


@dataclass(frozen=True)
class Say:
    text: str


@dataclass(frozen=True)
class Shell:
    """A command for the client's own shell tool."""

    command: str | Callable[[Request], str]


@dataclass(frozen=True)
class Call:
    """A call of a tool: of an MCP server, or of the client itself when no server is named."""

    tool: str
    arguments: Arguments | Callable[[Request], Arguments]
    server: str | None = None


Turn = Say | Shell | Call | tuple[Shell | Call, ...]
"""Several calls in one turn are made at the same time."""
Script = Sequence[Turn]


class Wire(NamedTuple):
    """A call as the model of one client spells it."""

    name: str
    arguments: Arguments
    namespace: str | None = None


class WireCall(NamedTuple):
    id: str
    wire: Wire


Answer = Say | tuple[WireCall, ...]
Speller = Callable[[Shell | Call, Request], Wire]


def settled(call: Shell | Call, request: Request) -> Any:
    """The arguments of a call, asked of the script where they depend on what the client sent."""
    given = call.command if isinstance(call, Shell) else call.arguments
    return given(request) if callable(given) else given


def plain(call: Shell | Call, request: Request) -> Wire:
    """The spelling of frameworks: tools have the names that they were given."""
    if isinstance(call, Shell):
        return Wire("shell", {"command": settled(call, request)})
    return Wire(call.tool, settled(call, request))


def call_id(conversation: str, turn: int, place: int) -> str:
    return f"call_{conversation}_{turn}_{place}"


def answer(conversation: str, script: Script, spell: Speller, request: Request) -> Answer:
    """The first turn that this request does not contain yet: a repeated request gets the same answer."""
    if not request.offered:
        return Say("a title")  # clients ask for titles and summaries beside the conversation
    for number, turn in enumerate(script):
        if isinstance(turn, Say):
            if turn.text not in request.said:
                return turn
            continue
        calls = turn if isinstance(turn, tuple) else (turn,)
        ids = [call_id(conversation, number, place) for place in range(len(calls))]
        if not set(ids) <= request.told.keys():
            return tuple(WireCall(i, spell(call, request)) for i, call in zip(ids, calls, strict=True))
    return Say("nothing is left to do")
