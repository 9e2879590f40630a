"""YAML that people write, read as strictly as JSON: no key twice, and no alias that repeats without end."""

from collections.abc import Hashable
from typing import Any, Final

import yaml

from beliefd.kernel.errors import BeliefdError, Code, invalid

MAX_REPEATED: Final = 64 * 1024
"""So much may aliases add to a file: enough for what people write once and use often."""


class _Loader(yaml.SafeLoader):
    """Safe YAML in which a mapping that says something twice is an error, not the last word."""

    def construct_yaml_int(self, node: yaml.ScalarNode) -> int:
        """`010` is 8 in YAML, and `1:30` is 90: nobody means that, and in JSON neither is a number."""
        text = str(node.value).replace("_", "").lstrip("+-")
        if (text != "0" and text[:1] == "0" and not text[1:2].isalpha()) or ":" in text:
            wrong = (
                f"`{node.value}` is read in more than one way; write a decimal number, or quote it as text"
            )
            raise yaml.constructor.ConstructorError(None, None, wrong, node.start_mark)
        return int(super().construct_yaml_int(node))

    def construct_yaml_timestamp(self, node: yaml.ScalarNode) -> Any:
        """YAML has times, and JSON has none: what is meant is the text."""
        wrong = f"`{node.value}` is read as a time, which JSON does not have; quote it as text"
        raise yaml.constructor.ConstructorError(None, None, wrong, node.start_mark)

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Hashable, Any]:
        seen: set[Hashable] = set()
        for key_node, _ in node.value:
            key = self.construct_object(key_node, deep=True)
            if not isinstance(key, Hashable):
                raise yaml.constructor.ConstructorError(None, None, "a key is no text", key_node.start_mark)
            if key in seen:
                raise yaml.constructor.ConstructorError(
                    None, None, f"key `{key}` appears twice", key_node.start_mark
                )
            seen.add(key)
        return super().construct_mapping(node, deep)


_Loader.add_constructor("tag:yaml.org,2002:int", _Loader.construct_yaml_int)
_Loader.add_constructor("tag:yaml.org,2002:timestamp", _Loader.construct_yaml_timestamp)


def parse_yaml(data: bytes, name: str) -> Any:
    try:
        loader = _Loader(data.decode())
        root = loader.get_single_node()
        if root is None:
            return None
        # Without aliases, a file has no more nodes than characters, and no more text.
        _weigh(root, 2 * len(data) + MAX_REPEATED, {})
        return loader.construct_document(root)
    except UnicodeDecodeError as error:
        raise invalid(f"`{name}` is not UTF-8 at byte {error.start}") from None
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark
        place = f" at line {mark.line + 1} column {mark.column + 1}" if mark else ""
        raise BeliefdError(
            Code.INVALID_REQUEST,
            f"`{name}` is not YAML: {error.problem}{place}",
            {"line": mark.line + 1} if mark else None,
        ) from None
    except (yaml.YAMLError, RecursionError, ValueError, TypeError) as error:
        raise invalid(f"`{name}` is not YAML: {str(error).splitlines()[0]}") from None


def composed(text: str) -> yaml.Node | None:
    """The nodes of a file with their places, not made into values: no alias is followed. None if empty."""
    root: yaml.Node | None = yaml.compose(text, Loader=yaml.SafeLoader)
    return root


_UNDER_WAY: Final = -1


def _weigh(node: yaml.Node, most: int, known: dict[int, int]) -> int:
    """How many nodes and characters this comes to once every alias stands for what it names.

    INVARIANT: that is known before anything is expanded: nine aliases of nine aliases double no memory.
    """
    weight = known.get(id(node))
    if weight is None:
        known[id(node)] = _UNDER_WAY
        inner = node.value
        if isinstance(node, yaml.MappingNode):
            inner = [one for pair in inner for one in pair]
        if isinstance(node, yaml.ScalarNode):
            weight = 1 + len(inner)
        else:
            weight = 1 + sum(_weigh(one, most, known) for one in inner)
        known[id(node)] = weight
    if weight == _UNDER_WAY:
        raise yaml.constructor.ConstructorError(None, None, "an alias stands in itself", node.start_mark)
    if weight > most:
        raise yaml.constructor.ConstructorError(
            None, None, "aliases repeat too much; write it out, or use them less", node.start_mark
        )
    return weight
