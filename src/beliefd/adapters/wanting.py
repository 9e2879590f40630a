"""A call that a framework wants to make, and what was decided about it."""

import uuid
from collections.abc import Mapping
from typing import Any, Final, Literal

import msgspec
from msgspec import Struct

from beliefd.kernel.canonical import digest
from beliefd.kernel.errors import Code
from beliefd.protocol.approvals import inbox_page
from beliefd.protocol.headlines import REPEATED, words_of
from beliefd.protocol.substrate import CandidateAnswer

MOST_RATIONALE: Final = 2_000
MOST_REASONS: Final = 10
SIGNED_OUT: Final = (
    "; set BELIEFD_TOKEN to a token that `beliefd token create` printed, or give the client a `token`"
)


class Wanted(Struct, frozen=True):
    """A tool with its arguments. `key` is what the framework knows the call by; `attempt` counts its retries.

    `rationale` is why the agent wants it: a person who decides about it reads that.
    """

    tool_id: str
    args: dict[str, Any]
    key: str
    rationale: str = ""
    attempt: int = 1

    @property
    def join_key(self) -> str:
        return self.key if self.attempt == 1 else f"{self.key}#{self.attempt}"

    def once(self, session_id: str) -> str:
        """The key under which it is proposed: asked again, in whatever process, it is answered again.

        Programs count the calls of each conversation from one: the same call in another session is another.
        """
        return f"call:{digest([session_id, self.tool_id, self.args, self.join_key])}"

    @property
    def candidate(self) -> dict[str, Any]:
        call = {"kind": "tool_call", "tool_id": self.tool_id, "args": self.args, "join_key": self.join_key}
        return {**call, "rationale": self.rationale} if self.rationale else call


def wanted(tool_id: str, args: Mapping[str, Any], key: str | None = None, rationale: str = "") -> Wanted:
    """`args` as JSON has them. Without a `key` of the framework, every call is one of its own."""
    plain = msgspec.to_builtins(dict(args), enc_hook=_plain)
    return Wanted(tool_id, plain, key or f"use-{uuid.uuid4().hex}", rationale.strip()[:MOST_RATIONALE])


def reportable(result: Any) -> Any:
    """A result as JSON has it; what has no such form is told as its text."""
    try:
        return msgspec.to_builtins(result, enc_hook=_plain)
    except (TypeError, ValueError, RecursionError):
        return str(result)


def _plain(value: Any) -> Any:
    dump = getattr(value, "model_dump", None)
    if callable(dump):
        return dump(mode="json")
    raise TypeError(f"`{type(value).__name__}` is not a kind of value that JSON has")


class Decision(Struct, frozen=True, kw_only=True):
    """`run` is leave to run it once, now. `waits` is for a person. `words` are what the model is told."""

    state: Literal["run", "refused", "waits"]
    words: str = ""
    code: str = ""
    call_id: str | None = None
    approval_id: str | None = None
    approval_url: str | None = None
    inbox_url: str | None = None
    tool_id: str = ""
    args: dict[str, Any] = {}

    @property
    def runs(self) -> bool:
        return self.state == "run"

    @property
    def waits(self) -> bool:
        return self.state == "waits"

    @property
    def card(self) -> dict[str, Any]:
        """What a program shows to a person: what waits, why, and where it is decided."""
        return {
            "approval_id": self.approval_id,
            "approval_url": self.approval_url,
            "inbox_url": self.inbox_url,
            "tool": self.tool_id,
            "arguments": self.args,
            "reason": self.words,
        }


def verdict_on(asked: Wanted, answer: CandidateAnswer) -> Decision:
    """INVARIANT: only a permit for exactly these arguments is leave to run; all else is not."""
    permit = answer.permit
    if answer.verdict != "allow":
        return refusal(asked.tool_id, _because(answer), answer.reason_code)
    if permit is None or permit.call_id != answer.call_id:
        words = f"beliefd: {REPEATED}: this call was let through already ({answer.status})"
        return Decision(state="refused", words=words, code=answer.reason_code, tool_id=asked.tool_id)
    if permit.args_hash != digest(asked.args):
        return refusal(asked.tool_id, "its permit is for other arguments", "UNCLEAR")
    return Decision(state="run", call_id=permit.call_id, tool_id=asked.tool_id, args=asked.args)


def refusal(tool_id: str, why: str, code: str) -> Decision:
    hint = SIGNED_OUT if code == Code.UNAUTHORIZED else ""
    words = f"beliefd refused this call ({code}): {why}{hint}"
    return Decision(state="refused", words=words, code=code, tool_id=tool_id)


def waiting(asked: Wanted, approval_id: str, address: str, answer: CandidateAnswer) -> Decision:
    words = (
        f"beliefd: this call waits for a person: {_because(answer)}. Approval `{approval_id}`; "
        "it has not run. Once it is approved, make the same call again"
    )
    return Decision(
        state="waits",
        words=words,
        code=answer.reason_code,
        approval_id=approval_id,
        approval_url=f"{address}/v1/approvals/{approval_id}",
        inbox_url=inbox_page(address, approval_id) or None,
        tool_id=asked.tool_id,
        args=asked.args,
    )


def _because(answer: CandidateAnswer) -> str:
    return words_of(answer.reasons[:MOST_REASONS]) or answer.reason_code
