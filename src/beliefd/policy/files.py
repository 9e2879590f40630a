"""Reading a policy file (YAML or JSON) so that every complaint names a line."""

import re
from pathlib import Path
from typing import Final

import yaml

from beliefd.documents import parse_document, read_bytes
from beliefd.kernel.errors import BeliefdError, Code, invalid
from beliefd.kernel.policy import Policy
from beliefd.protocol.wire import convert

MAX_BYTES: Final = 1024 * 1024
_STEP = re.compile(r"\.([^.\[\]]+)|\[(\d+)\]")


def load_policy(path: Path) -> Policy:
    return parse_policy(read_bytes(path), str(path))


def parse_policy(data: bytes, name: str = "policy") -> Policy:
    """A policy from the bytes of a file; `name` leads every error, `details.line` counts from one."""
    if len(data) > MAX_BYTES:
        raise invalid(f"`{name}`: a policy file may hold {MAX_BYTES} bytes at most", "$")
    value = parse_document(data, name)
    if value is None:
        # An editor that empties a file before it writes must not bring the defaults into force.
        raise invalid(f"`{name}` is empty; `{{}}` asks for all defaults", "$")
    try:
        return convert(value, Policy)
    except BeliefdError as error:
        path = str((error.details or {}).get("path", "$"))
        line = line_of(data, path)
        raise BeliefdError(
            Code.INVALID_REQUEST, f"`{name}` line {line}: {error.message}", {"path": path, "line": line}
        ) from None


def line_of(data: bytes, path: str) -> int:
    """The line of the deepest node on a path that the file has.

    JSON is YAML but for tabs between its tokens, so one reader does for both.
    """
    try:
        tree = yaml.compose(data.decode().replace("\t", " "), Loader=yaml.SafeLoader)
    except yaml.YAMLError:
        return 1
    node, line = tree, tree.start_mark.line
    for name, index in _STEP.findall(path):
        step = _step(node, name, index)
        if step is None:
            break
        line, node = step
    return int(line) + 1


def _step(node: yaml.Node, name: str, index: str) -> tuple[int, yaml.Node] | None:
    """The line and the node that one step of a path leads to, by a key or by a place."""
    if name and isinstance(node, yaml.MappingNode):
        return next(((key.start_mark.line, value) for key, value in node.value if key.value == name), None)
    if index and isinstance(node, yaml.SequenceNode) and int(index) < len(node.value):
        item = node.value[int(index)]
        return item.start_mark.line, item
    return None
