"""Calls about catalogues: the tools that other servers offer."""

from collections.abc import Sequence

from beliefd.client.method import Method
from beliefd.client.requests import Request, given, query
from beliefd.kernel.values import Object
from beliefd.protocol.catalogues import CatalogueRows, CatalogueView, OfferedTools


class CatalogueCalls:
    """The tools that other servers offer, pinned as they were first seen."""

    @Method
    def pin_tools(
        self, upstream: str, tools: Sequence[Object], *, space: str | None = None, notes: str | None = None
    ) -> Request[OfferedTools]:
        """Pin what is new among all tools of a catalogue; what changed waits for a person."""
        body = {"tools": list(tools), **given(space=space)}
        return Request(CatalogueRows.pin_tools, {"upstream": upstream}, body=body, notes=notes)

    @Method
    def show_catalogue(self, upstream: str, *, space: str | None = None) -> Request[CatalogueView]:
        """The pinned tools of a catalogue, and those that wait for a person."""
        return Request(CatalogueRows.show_catalogue, {"upstream": upstream}, query(space=space))
