"""Reading a policy file (YAML or JSON) so that every complaint names a line."""

import re
from pathlib import Path
from typing import Any, Final

import msgspec
import yaml

from beliefd.kernel.policy import Policy

MAX_BYTES: Final = 1024 * 1024
_AT = re.compile(r" - at `(?P<path>[^`]*)`$")
_FIELD = re.compile(r"field `(?P<name>[^`]*)`$")
_STEP = re.compile(r"\.([^.\[\]]+)|\[(\d+)\]|\[\.\.\.\]")


class BadPolicy(ValueError):
    """A policy that cannot be used; `line` counts from one."""

    def __init__(self, message: str, line: int, path: str = "$") -> None:
        super().__init__(f"line {line}: {message} (at `{path}`)")
        self.message = message
        self.line = line
        self.path = path


def load_policy(path: Path) -> Policy:
    try:
        data = path.read_bytes()
    except OSError as error:
        raise BadPolicy(f"cannot read `{path}`: {error.strerror}", 1) from None
    return parse_policy(data)


def parse_policy(data: bytes) -> Policy:
    """A policy from the bytes of a file; JSON is YAML, so one reader does for both."""
    if len(data) > MAX_BYTES:
        raise BadPolicy(f"a policy file may hold {MAX_BYTES} bytes at most", 1)
    try:
        tree = yaml.compose(data.decode(), Loader=yaml.SafeLoader)
        if tree is None:
            return Policy()
        _refuse_repeated_keys(tree, "$")
        value = yaml.safe_load(data)
    except UnicodeDecodeError:
        raise BadPolicy("the file is not UTF-8", 1) from None
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        problem = getattr(error, "problem", None) or "not YAML"
        raise BadPolicy(str(problem), 1 if mark is None else mark.line + 1) from None
    except RecursionError:
        raise BadPolicy("nested too deeply", 1) from None
    try:
        return msgspec.convert(value, Policy)
    except msgspec.ValidationError as error:
        message, at = _located(str(error))
        raise BadPolicy(message, _line(tree, at), at) from None


def _refuse_repeated_keys(node: yaml.Node, path: str) -> None:
    """YAML readers let the last of two equal keys win in silence; a policy must not depend on that."""
    if isinstance(node, yaml.MappingNode):
        seen: set[Any] = set()
        for key, value in node.value:
            if key.value in seen:
                raise BadPolicy(
                    f"`{key.value}` is given twice", key.start_mark.line + 1, f"{path}.{key.value}"
                )
            seen.add(key.value)
            _refuse_repeated_keys(value, f"{path}.{key.value}")
    elif isinstance(node, yaml.SequenceNode):
        for index, item in enumerate(node.value):
            _refuse_repeated_keys(item, f"{path}[{index}]")


def _located(text: str) -> tuple[str, str]:
    at = _AT.search(text)
    path = at["path"] if at else "$"
    message = text[: at.start()] if at else text
    named = _FIELD.search(message)
    return message, f"{path}.{named['name']}" if named else path


def _line(tree: yaml.Node, path: str) -> int:
    """The line of the deepest node on the path that the file has."""
    node, line = tree, tree.start_mark.line
    for name, index in _STEP.findall(path):
        step = _key(node, name) if name else _item(node, index)
        if step is None:
            break
        line, node = step
    return line + 1


def _key(node: yaml.Node, name: str) -> tuple[int, yaml.Node] | None:
    if isinstance(node, yaml.MappingNode):
        for key, value in node.value:
            if key.value == name:
                return key.start_mark.line, value
    return None


def _item(node: yaml.Node, index: str) -> tuple[int, yaml.Node] | None:
    if isinstance(node, yaml.SequenceNode) and index and int(index) < len(node.value):
        item = node.value[int(index)]
        return item.start_mark.line, item
    return None
