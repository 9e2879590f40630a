"""A running server as a place to check, by its address and a token that may everything.

Every story is told in a space of its own, by principals of its own, so that nothing that is there already is
seen or changed; what the stories leave stays there, since ledgers have no end. Their tokens are revoked.
"""

import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import httpx
import msgspec
from msgspec import Struct

from beliefd.client.requests import Request, read_answer
from beliefd.conformance.checks import Check
from beliefd.conformance.library import Library, speaker, verified
from beliefd.conformance.stories import Mismatch, Step, all_steps, answered, request, run, servers_of
from beliefd.conformance.tools import ALL
from beliefd.kernel.errors import BeliefdError, Code
from beliefd.kernel.values import Role
from beliefd.protocol.operations import BY_NAME
from beliefd.protocol.rights import OF_ROLE

SECONDS = 180.0
BY_POLICY = "it puts policies in force for everybody there: `--change-policy` lets it"
NO_TOOLS = "the server does not know the stories' tools: start it with `--tools beliefd.conformance.staging`"


class Told(Struct):
    """One story on a server: its space, the secrets of who speaks, and the sessions that it began."""

    mark: str
    space: str
    secrets: dict[tuple[str, str], str]
    token_ids: list[str]
    sessions: list[str]


class ServerPlace:
    """A server, and who may make spaces and tokens on it."""

    def __init__(self, url: str, token: str | None, *, change_policy: bool = False) -> None:
        self._http = httpx.Client(base_url=url, timeout=SECONDS, verify=url.startswith("https"))
        self._admin = {"Authorization": f"Bearer {token}"} if token else {}
        self._url = url
        self._change_policy = change_policy
        self._run = uuid.uuid4().hex[:8]
        self._stories = 0
        self._tools = {tool["tool_id"] for tool in self._ask("list_tools")["tools"]}
        self._ask("list_tokens")  # whoever may not is told so before anything is made

    def close(self) -> None:
        self._http.close()

    def tell(self, story: dict[str, Any]) -> None:
        rules = self._ask("show_policy")["policy"] if _adopts(story) else None
        with self._told() as told:
            surface = Speaking(self._http, self, told)
            others = {name: Library() for name in servers_of(story) if name != "a"}
            try:
                run(_renamed(story, told.mark), {"a": surface, **others})
            finally:
                for other in others.values():
                    other.close()
                if rules is not None:
                    self._ask("adopt_policy", rules)
            for session_id in told.sessions:
                self._check_export(session_id)

    def explained(self, policy: dict[str, Any], state: dict[str, Any], call: dict[str, Any]) -> Any:
        body = {"policy": policy, "state": state, "call": call}
        try:
            return self._ask("explain_policy", body)
        except BeliefdError as error:
            return msgspec.to_builtins(error.body)

    def replayed(self, ledger: bytes) -> dict[str, Any]:
        """Taken in once: at the next check it is there."""
        session_id = _session_of(ledger)
        try:
            self._ask("import_ledger", ledger)
        except BeliefdError as error:
            if error.code is not Code.CONFLICT:
                raise
        answer = self._ask("verify", session_id=session_id)
        if not answer["ok"]:
            raise Mismatch(f"the server says that it does not verify: {answer['first_bad']}")
        found = self._ask("query_belief", session_id=session_id)
        return {"events": answer["head"]["seq"], "head": answer["head"]["hash"], **found}

    def lacks(self, check: Check) -> str | None:
        if "steps" not in check.of:
            return None
        if not self._change_policy and _adopts(check.of):
            return BY_POLICY
        if any(f'"{name}"' in check.text for name in ALL) and not self._tools >= ALL:
            return NO_TOOLS
        return None

    def secret(self, told: Told, role: str, tier: str) -> str:
        """A token of the story's own. An administrator's goes everywhere: others cannot take ledgers in."""
        if (role, tier) not in told.secrets:
            name = speaker(role, tier).replace("://vector", f"://{told.mark}")
            body: dict[str, Any] = {"name": name, "role": role, "tier": tier, "owner": name}
            if role != Role.ADMIN:
                body["spaces"] = {told.space: sorted(OF_ROLE[Role(role)])}
            made = self._ask("create_token", body)
            told.secrets[role, tier] = made["secret"]
            told.token_ids.append(made["token"]["token_id"])
        return told.secrets[role, tier]

    @contextmanager
    def _told(self) -> Iterator[Told]:
        self._stories += 1
        mark = f"conform-{self._run}-{self._stories}"
        self._ask("create_space", {"name": mark})
        told = Told(mark, mark, {}, [], [])
        try:
            yield told
        finally:
            for token_id in told.token_ids:
                self._ask("revoke_token", token_id=token_id)

    def _check_export(self, session_id: str) -> None:
        verified(self._send("export", None, {"session_id": session_id}))

    def _ask(self, op: str, body: Any = None, **path: str) -> Any:
        return msgspec.json.decode(self._send(op, body, path))

    def _send(self, op: str, body: Any, path: dict[str, str]) -> bytes:
        asked: Request[Any] = Request(BY_NAME[op], path, {}, body)
        try:
            response = self._http.request(
                asked.operation.method,
                asked.url,
                content=asked.content,
                headers={**asked.headers, **self._admin},
            )
        except httpx.HTTPError as error:
            raise BeliefdError(Code.STORAGE_UNAVAILABLE, f"cannot reach `{self._url}`: {error}") from None
        read_answer(asked.operation, self._url, response.status_code, response.content)
        return response.content


class Speaking:
    """The requests of one story."""

    def __init__(self, http: httpx.Client, place: ServerPlace, told: Told) -> None:
        self._http, self._place, self._told = http, place, told

    def call(self, step: Step) -> tuple[int | None, Any]:
        asked = request(self._placed(step))
        secret = self._place.secret(self._told, step.role, step.tier)
        response = self._http.request(
            asked.operation.method,
            asked.url,
            params=asked.query,
            content=asked.content,
            headers={**asked.headers, "Authorization": f"Bearer {secret}"},
        )
        answer = answered(step.op, response.content)
        if step.op == "declare_session" and response.is_success:
            self._told.sessions.append(answer["session_id"])
        return response.status_code, answer

    def _placed(self, step: Step) -> Step:
        """Into the space of the story, also by an administrator, whose home is the default one."""
        operation = BY_NAME[step.op]
        fields = getattr(operation.body, "__struct_fields__", ())
        takes = "space" in fields or any(one.name == "space" for one in operation.query)
        if step.role != Role.ADMIN or not takes:
            return step
        return msgspec.structs.replace(step, args={**step.args, "space": self._told.space})


def _adopts(story: dict[str, Any]) -> bool:
    return any(step["op"] == "adopt_policy" for step in all_steps(story["steps"]))


def _renamed(value: Any, mark: str) -> Any:
    """The story with speakers of its own in the place of `<role>://vector`."""
    if isinstance(value, str):
        return value.replace("://vector", f"://{mark}")
    if isinstance(value, list):
        return [_renamed(item, mark) for item in value]
    if isinstance(value, dict):
        return {_renamed(name, mark): _renamed(item, mark) for name, item in value.items()}
    return value


def _session_of(ledger: bytes) -> str:
    return str(msgspec.json.decode(ledger.partition(b"\n")[0])["session_id"])
