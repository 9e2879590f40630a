"""Hooks: events of agents that people already use, answered as their hook process is to answer."""

from typing import Literal

from msgspec import Struct

from beliefd.kernel.errors import Code
from beliefd.kernel.values import Id
from beliefd.protocol.operation import ON_WRITING, SPACE, Answer, Operation, Parameter, Vocabulary


class ClientEvent(Struct, frozen=True):
    """An event as the client gave it to its hook: what stands in it is the client's to say."""


class HookAnswer(Answer, frozen=True):
    """What the hook process prints and exits with, word for word."""

    exit_code: int
    stdout: str
    stderr: str


class HookRows(Vocabulary):
    """Hooks of agents that people already use"""

    hook_event = Operation(
        method="POST",
        path="/v1/hooks/{client}",
        body=ClientEvent,
        answer=HookAnswer,
        summary="Judge an event of an agent's client, and say what its hook is to answer",
        query=(
            SPACE,
            Parameter(name="project", kind=Id, summary="The folder of the user's project"),
            Parameter(name="gated", kind=Id, summary="MCP servers, by commas, whose calls a gateway judges"),
            Parameter(name="url", kind=Id, summary="Where people reach this server, for links"),
            Parameter(
                name="unattended",
                kind=Literal["yes", "no"],
                default="no",
                summary="Nobody sits in front of the client",
            ),
        ),
        errors=(Code.NOT_FOUND, Code.PAYLOAD_TOO_LARGE, *ON_WRITING),
        beside=True,
        example={
            "hook_event_name": "PreToolUse",
            "session_id": "b1946ac9",
            "cwd": "/home/ann/shop",
            "tool_name": "Bash",
            "tool_input": {"command": "ls"},
            "tool_use_id": "toolu_01",
        },
    )
