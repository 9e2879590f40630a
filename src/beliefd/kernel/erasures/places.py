"""Where texts may be kept beside the ledger: derived from the commands, named by policy.

Only members that say of themselves that nobody but people reads their texts can be named. What a rule or a
detector reads has to be in the ledger, or its decision could not be made again; what it writes would repeat
the text.
"""

from collections.abc import Mapping
from functools import cache
from typing import Annotated, Final

import msgspec
from msgspec.inspect import Metadata, StructType, type_info

from beliefd.kernel.names import ALL
from beliefd.kernel.values import ERASABLE, Id

NOTES: Final = "notes"
"""The caller's notes stand beside the payload, in the entry of every command."""
Paths = Annotated[tuple[Id, ...], msgspec.Meta(min_length=1, max_length=100)]
ErasablePlaces = Annotated[dict[Id, Paths], msgspec.Meta(max_length=100)]
"""By verb, the members whose texts stand beside the ledger; for `*`, of every verb."""


@cache
def places_of(verb: str) -> frozenset[str]:
    """The members of a verb that policy may name, or that begin a path that it names."""
    from beliefd.kernel.commands import COMMAND_OF  # commands are many, and some of them need a policy

    if verb == ALL:
        return frozenset({NOTES})
    kind = type_info(COMMAND_OF[verb])
    assert isinstance(kind, StructType)  # noqa: S101 - all commands are
    marked = (field for field in kind.fields if isinstance(field.type, Metadata))
    return frozenset({NOTES, *(one.encode_name for one in marked if one.type.extra == ERASABLE)})  # type: ignore[attr-defined]


def paths_of(erasable: Mapping[str, tuple[str, ...]], verb: str) -> tuple[str, ...]:
    """What of a command with these texts stands beside the ledger."""
    return (*erasable.get(verb, ()), *erasable.get(ALL, ()))


def refuse_unknown(erasable: Mapping[str, tuple[str, ...]]) -> None:
    from beliefd.kernel.commands import COMMAND_OF

    for verb, paths in erasable.items():
        if verb != ALL and verb not in COMMAND_OF:
            raise ValueError(f"`erasable` names `{verb}`, which is no verb")
        places = places_of(verb)
        for path in paths:
            first, _, rest = path.partition(".")
            if first not in places or (first == NOTES and rest):
                known = ", ".join(f"`{one}`" for one in sorted(places))
                raise ValueError(
                    f"`erasable` names `{path}` of `{verb}`, whose texts rules read or that has none;"
                    f" it may name {known}, or members inside an object among them"
                )
