"""Imported by `beliefd serve --tools beliefd.conformance.staging`: the tools of the stories, for a server."""

from beliefd.conformance.tools import register
from beliefd.tools.registry import default_registry

register(default_registry)
