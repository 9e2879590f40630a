"""Changes of what is believed."""

from typing import Unpack

from beliefd.client.method import Method
from beliefd.client.requests import Conditions, PageOfClaim, Request, command, given, page_of
from beliefd.kernel.values import Object
from beliefd.protocol.intents import IntentPage, IntentRows, IntentView


class IntentCalls:
    """Changes of what is believed."""

    @Method
    def stage_intent(
        self, session_id: str, change: Object, **conditions: Unpack[Conditions]
    ) -> Request[IntentView]:
        """Ask for a change of what is believed."""
        body = given(**change)
        return command(IntentRows.stage_intent, {"session_id": session_id}, body, **conditions)

    @Method
    def list_intents(self, session_id: str, **asked: Unpack[PageOfClaim]) -> Request[IntentPage]:
        """The write intents of a session."""
        return page_of(IntentRows.list_intents, session_id, **asked)

    @Method
    def show_intent(self, session_id: str, intent_id: str) -> Request[IntentView]:
        """One write intent and its life so far."""
        return Request(IntentRows.show_intent, {"session_id": session_id, "intent_id": intent_id})
