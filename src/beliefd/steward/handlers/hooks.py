"""Events of agents' clients: one flow for all of them, made of the operations that everybody has."""

import hashlib
import re
import secrets
from collections import OrderedDict
from collections.abc import Mapping
from typing import Any, Final

import msgspec
from msgspec import UNSET, Struct

from beliefd.hooks.clients import CLIENTS
from beliefd.hooks.events import BadEvent, HookEvent, Said
from beliefd.kernel.canonical import digest
from beliefd.kernel.errors import BeliefdError, Code, invalid
from beliefd.kernel.values import MAX_ID_LENGTH
from beliefd.protocol.approvals import inbox_page
from beliefd.protocol.conversations import HYPOTHESES, ONTOLOGY, conversation_key
from beliefd.protocol.headlines import REPEATED, words_of
from beliefd.protocol.hooks import HookAnswer
from beliefd.protocol.operations import BY_NAME
from beliefd.protocol.substrate import CandidateAnswer
from beliefd.steward.call import Call
from beliefd.steward.dispatch import KEY_PATTERN, Handler, perform
from beliefd.steward.failures import not_found
from beliefd.steward.policies import PolicyInForce
from beliefd.steward.write.positions import Positions

CANARY: Final = "beliefd_canary"
ADDED_TO_PROMPT: Final = "prompt"
"""What stands in a prompt and is not the user's is a text that was read, by a tool of this name."""
MOST_REMEMBERED: Final = 10_000
_KEY: Final = re.compile(KEY_PATTERN)
_HOME: Final = re.compile(r"/|/root|/(?:home|Users)(?:/[^/]*)?")
Key = tuple[str, ...]


class Remembered:
    """The newest of what was looked up or begun; what is forgotten is found out again, or told without it."""

    def __init__(self) -> None:
        self._held: OrderedDict[Key, str] = OrderedDict()

    def get(self, key: Key) -> str | None:
        return self._held.get(key)

    def keep(self, key: Key, value: str) -> None:
        self._held[key] = value
        self._held.move_to_end(key)
        while len(self._held) > MOST_REMEMBERED:
            self._held.popitem(last=False)


class HookHandlers(Struct, frozen=True):
    """What a client tells goes into its conversation's session, and the verdict comes back in its words.

    INVARIANT: everything is asked for as the caller, through the same gate as if it came by itself.
    """

    inner: dict[str, Handler]
    positions: Positions
    in_force: PolicyInForce
    sessions: Remembered = msgspec.field(default_factory=Remembered)
    folders: Remembered = msgspec.field(default_factory=Remembered)
    begun: Remembered = msgspec.field(default_factory=Remembered)

    async def hook_event(self, call: Call) -> HookAnswer:
        client = CLIENTS.get(call.path["client"])
        if client is None:
            raise not_found(Code.NOT_FOUND, "client", call.path["client"])
        if isinstance(nonce := call.body.get(CANARY), str):
            return HookAnswer(exit_code=0, stdout=self._canary(call, nonce), stderr="")
        try:
            event = client.read(call.body)
        except BadEvent as error:
            raise invalid(str(error), "$") from None
        said = await self._said(call, event)
        replay = client.answer(
            event, msgspec.structs.replace(said, unattended=call.query["unattended"] == "yes")
        )
        return HookAnswer(exit_code=replay.exit_code, stdout=replay.stdout, stderr=replay.stderr)

    def _canary(self, call: Call, nonce: str) -> str:
        told = "counts" if self._tells(call) else "does not count: policy names no such teller"
        return f"beliefd received {nonce[:64]} from {call.principal.id}; its word on context {told}\n"

    async def _said(self, call: Call, event: HookEvent) -> Said:
        if event.kind == "other":
            return Said()
        session_id = await self._session(call, event)
        first = await self._first_folder(session_id, event)
        if event.kind == "prompt":
            if event.text:
                await self._tell(call, session_id, {"kind": "user", "text": event.text})
            if event.added:
                told = {"kind": "result", "tool_id": ADDED_TO_PROMPT, "args": {}, "text": event.added}
                await self._tell(call, session_id, told)
            return Said()
        if _is_gated(call, event):
            # The gateway judges it and sees what comes of it; it only has to know whose call it is.
            if event.kind == "before" and event.join_key is not None:
                await self._tell(call, session_id, {"kind": "announcement", "join_key": event.join_key})
            return Said()
        if event.kind == "after":
            await self._report(call, session_id, event)
            return Said()
        return await self._judge(call, session_id, event, first)

    async def _first_folder(self, session_id: str, event: HookEvent) -> str | None:
        """INVARIANT: an agent that changes its folder does not change its project: the first one stays."""
        if (first := self.folders.get((session_id,))) is not None:
            return first
        calls = (await self.positions.existing(session_id)).session.substrate.calls
        told = [one.provenance.workspace for one in calls.values() if one.provenance is not UNSET]
        recorded = [one.roots[0] if one.roots else "/" for one in told if one is not UNSET]
        first = recorded[0] if recorded else event.cwd
        if first is not None:
            self.folders.keep((session_id,), first)
        return first

    async def _session(self, call: Call, event: HookEvent) -> str:
        """One session per conversation of a client, for each who tells of it."""
        client = call.path["client"]
        name = conversation_key(client, event.conversation)
        known: Key = (call.principal.id, call.rights.home, str(call.query["space"]), name)
        if (session_id := self.sessions.get(known)) is not None:
            return session_id
        key = name if _KEY.fullmatch(name) else conversation_key(client, _short(name))
        body: dict[str, Any] = {
            "ontology": msgspec.to_builtins(ONTOLOGY),
            "hypotheses": list(HYPOTHESES),
            "metadata": {"client": client, "conversation": event.conversation[:MAX_ID_LENGTH]},
        }
        if call.query["space"] is not None:
            body["space"] = call.query["space"]
        opened = await self._ask(call, "declare_session", {}, body, key)
        session_id = str(opened.session_id)
        self.sessions.keep(known, session_id)
        return session_id

    def _tells(self, call: Call) -> bool:
        policy = self.in_force.policy.context
        return policy is not UNSET and policy.may_tell(call.principal)

    async def _tell(self, call: Call, session_id: str, told: dict[str, Any]) -> None:
        """Context, where policy asks for it. Who is no teller is refused, on record."""
        if self.in_force.policy.context is not UNSET:
            await self._ask(call, "add_context", {"session_id": session_id}, told)

    async def _judge(self, call: Call, session_id: str, event: HookEvent, first: str | None) -> Said:
        candidate = {
            "kind": "tool_call",
            "tool_id": event.tool_id,
            "args": event.args,
            # Some clients have no id for a use of a tool: then every event is one of its own.
            "join_key": event.join_key or f"use-{secrets.token_hex(16)}",
        }
        body = {
            "provenance": {"source": "agent", **_workspace(call, event, first)},
            "candidates": [candidate],
            "execute": "caller",
        }
        answer = await self._ask(call, "propose", {"session_id": session_id}, body)
        result: CandidateAnswer = answer.results[0]
        if result.verdict == "allow":
            if result.permit is None:
                return Said(
                    verdict="deny",
                    reason=f"beliefd: {REPEATED}: this call was let through already ({result.status})",
                )
            self.begun.keep(_use(session_id, event), result.permit.call_id)
            return Said()
        words = words_of(result.reasons) or result.reason_code
        if result.approval_id is None:
            return Said(verdict="deny", reason=f"beliefd: refused ({result.reason_code}): {words}")
        return Said(verdict="wait", reason=_waiting(call, result, words))

    async def _report(self, call: Call, session_id: str, event: HookEvent) -> None:
        """What came of a call: its outcome, or a text that was read, where no call of this hook is known."""
        call_id = await self._call_of(session_id, event)
        if call_id is None:
            text = event.result if isinstance(event.result, str) else _json(event.result)
            told = {"kind": "result", "tool_id": event.tool_id, "args": event.args, "text": text}
            return await self._tell(call, session_id, {**told, "error": event.failed})
        body: dict[str, Any] = {"status": "error" if event.failed else "ok"}
        body |= {"error": _json(event.result)[:20_000]} if event.failed else {"result": event.result}
        path = {"session_id": session_id, "call_id": call_id}
        try:
            await self._ask(call, "report_outcome", path, body)
        except BeliefdError as error:
            if error.code is not Code.CONFLICT:  # it was reported before
                raise
        return None

    async def _call_of(self, session_id: str, event: HookEvent) -> str | None:
        if event.join_key is None:
            return self.begun.get(_use(session_id, event))
        session = (await self.positions.existing(session_id)).session
        return session.substrate.call_keys.get(f"{event.tool_id}\n{event.join_key}")

    async def _ask(
        self, call: Call, name: str, path: Mapping[str, str], body: dict[str, Any], key: str | None = None
    ) -> Any:
        asked = Call(
            principal=call.principal,
            rights=call.rights,
            path=dict(path),
            body=body,
            key=key,
            origin=call.origin,
            size=call.size,
        )
        return await perform(self.inner, BY_NAME[name], asked)


def _is_gated(call: Call, event: HookEvent) -> bool:
    """Is it a tool of an MCP server that stands behind a gateway? Only names that leave no doubt say so."""
    prefix, _, rest = event.tool_id.partition("__")
    server, _, tool = rest.partition("__")
    return prefix == "mcp" and bool(tool) and server in str(call.query["gated"] or "").split(",")


def _workspace(call: Call, event: HookEvent, first: str | None) -> dict[str, Any]:
    from beliefd.hooks.shell.paths import normal  # with all that is known of commands

    project = call.query["project"]
    roots = [project] if project else [*event.roots] or ([first] if first else [])
    # `//` and `/x/..` are `/` by other names, and neither all there is nor a whole home is anybody's project.
    known = [
        one for one in (normal(root) for root in roots if root.startswith("/")) if not _HOME.fullmatch(one)
    ]
    cwd = event.cwd or (known[0] if known else None)
    if cwd is None or not cwd.startswith("/"):
        return {}
    return {"workspace": {"cwd": cwd, "roots": known}}


def _waiting(call: Call, result: CandidateAnswer, words: str) -> str:
    link = inbox_page(call.query["url"], result.approval_id)
    return (
        f"beliefd: waits for a person: {words}. Approval `{result.approval_id}`"
        f"{f' at {link}' if link else ''}; once it is given, make the same call again"
    )


def _use(session_id: str, event: HookEvent) -> Key:
    return session_id, event.tool_id, event.join_key or digest(event.args)


def _json(value: Any) -> str:
    return value if isinstance(value, str) else msgspec.json.encode(value).decode()


def _short(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()
