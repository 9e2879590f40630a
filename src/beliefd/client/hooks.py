"""Calls about hooks of agents' clients."""

from beliefd.client.method import Method
from beliefd.client.requests import Request, query
from beliefd.kernel.values import Object
from beliefd.protocol.hooks import HookAnswer, HookRows


class HookCalls:
    """Hooks of agents that people already use."""

    @Method
    def hook_event(
        self,
        client: str,
        event: Object,
        *,
        space: str | None = None,
        project: str | None = None,
        gated: str | None = None,
        url: str | None = None,
        unattended: str | None = None,
    ) -> Request[HookAnswer]:
        """Have an event of an agent's client judged, as its hook got it."""
        asked = query(space=space, project=project, gated=gated, url=url, unattended=unattended)
        return Request(HookRows.hook_event, {"client": client}, asked, event)
