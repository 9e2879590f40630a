"""Files that commands are given: JSON or YAML, `-` for what comes in on stdin."""

import sys
from pathlib import Path
from typing import Any


def read_object(path: str, otherwise: str) -> dict[str, Any]:
    """The object in a file; where there is none, `otherwise` says what was expected."""
    from beliefd.documents import parse_document, read_document
    from beliefd.kernel.errors import invalid

    document = parse_document(sys.stdin.buffer.read(), "stdin") if path == "-" else read_document(Path(path))
    if not isinstance(document, dict):
        raise invalid(otherwise, "$")
    return document
