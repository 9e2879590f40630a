"""Reading a policy file (YAML or JSON) so that every complaint names a line."""

import re
from pathlib import Path
from typing import Final

import yaml

from beliefd.documents import parse_document, read_bytes
from beliefd.kernel.errors import BeliefdError, Code, invalid
from beliefd.kernel.policy import Policy
from beliefd.policy.compiling import compiled
from beliefd.protocol.wire import convert
from beliefd.strict_yaml import composed

MAX_BYTES: Final = 1024 * 1024
_PLACE = re.compile(r"\[(\d+)\]")


def load_policy(path: Path) -> Policy:
    return parse_policy(read_bytes(path), str(path))


def parse_policy(data: bytes, name: str = "policy") -> Policy:
    """A policy from the bytes of a file; `name` leads every error, `details.line` counts from one.

    What `policy show --json` prints is one, too: so a change is compared with what is in force.
    """
    if len(data) > MAX_BYTES:
        raise invalid(f"`{name}`: a policy file may hold {MAX_BYTES} bytes at most", "$")
    value = parse_document(data, name)
    if value is None:
        # An editor that empties a file before it writes must not bring the defaults into force.
        raise invalid(f"`{name}` is empty; `{{}}` asks for all defaults", "$")
    if isinstance(value, dict) and value.keys() >= {"policy", "policy_hash"}:
        value = value["policy"]
    try:
        return compiled(convert(value, Policy))
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
        node = composed(data.decode().replace("\t", " "))
    except yaml.YAMLError:
        return 1
    if node is None:  # nothing but comments
        return 1
    line, rest = node.start_mark.line, path.removeprefix("$")
    while rest and (step := _step(node, rest)) is not None:
        line, node, rest = step
    return int(line) + 1


def _step(node: yaml.Node, path: str) -> tuple[int, yaml.Node, str] | None:
    """The line and the node that the first step of a path leads to, by a key or by a place, and the rest.

    Keys hold dots themselves: the longest that the path begins with is meant.
    """
    if isinstance(node, yaml.MappingNode):
        ahead = [(key, value) for key, value in node.value if _begins(path, f".{key.value}")]
        if ahead:
            key, value = max(ahead, key=lambda pair: len(pair[0].value))
            return key.start_mark.line, value, path[len(key.value) + 1 :]
    place = _PLACE.match(path)
    if place and isinstance(node, yaml.SequenceNode) and int(place[1]) < len(node.value):
        item = node.value[int(place[1])]
        return item.start_mark.line, item, path[place.end() :]
    return None


def _begins(path: str, step: str) -> bool:
    return path.startswith(step) and path[len(step) : len(step) + 1] in ("", ".", "[")
