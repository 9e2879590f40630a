"""What an agent was told and what its tools gave back."""

from typing import Any, Unpack

from msgspec import UNSET

from beliefd.client.method import Method
from beliefd.client.requests import Conditions, Request, command, given, page_of
from beliefd.kernel.values import Object
from beliefd.protocol.context import ContextAnswer, ContextPage, ContextRows, JoinAnswer


class ContextCalls:
    """What an agent was told and what its tools gave back."""

    @Method
    def add_context(  # noqa: PLR0913 - one argument per member
        self,
        session_id: str,
        kind: str,
        text: str | None = None,
        *,
        structured: Any = UNSET,
        tool_id: str | None = None,
        args: Object | None = None,
        call_id: str | None = None,
        join_key: str | None = None,
        error: bool | None = None,
        **conditions: Unpack[Conditions],
    ) -> Request[ContextAnswer]:
        """Tell what the agent was told (`user`, `system`), what a tool gave back (`result`), the user's own
        address, or that a call with `join_key` is about to be made (`announcement`)."""
        body = given(
            kind=kind,
            text=text,
            tool_id=tool_id,
            args=args,
            call_id=call_id,
            join_key=join_key,
            error=error,
        )
        if structured is not UNSET:
            body["structured"] = structured
        return command(ContextRows.add_context, {"session_id": session_id}, body, **conditions)

    @Method
    def list_context(
        self, session_id: str, *, cursor: str | None = None, limit: int | None = None
    ) -> Request[ContextPage]:
        """What a session was told, by digest."""
        return page_of(ContextRows.list_context, session_id, cursor=cursor, limit=limit)

    @Method
    def show_join(self, join_key: str) -> Request[JoinAnswer]:
        """The session from which a call with this key was announced."""
        return Request(ContextRows.show_join, {"join_key": join_key})
