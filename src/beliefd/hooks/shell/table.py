"""What is known of commands, from the file beside this module."""

import tomllib
from importlib.resources import files
from typing import Final

import msgspec
from msgspec import Struct

Names = frozenset[str]


class Known(Struct, frozen=True, forbid_unknown_fields=True):
    """Options and operands with which a command only reads. `names`: its operands become variables.

    With `needs`, the first word must be a cluster of options with one of these letters. `values` are the only
    ones that its options may have.
    """

    flags: str = ""
    takes: str = ""
    long: Names = frozenset()
    operands: int | None = None
    operand: str | None = None
    names: bool = False
    needs: str = ""
    values: Names = frozenset()


class Find(Struct, frozen=True, forbid_unknown_fields=True):
    looks: Names


class Listing(Struct, frozen=True, forbid_unknown_fields=True):
    words: Names
    first: Names = frozenset()


class Git(Struct, frozen=True, forbid_unknown_fields=True):
    looks: Names
    refused: Names
    refused_short: dict[str, str]
    writes: Names
    deletes: Names
    with_message: Names
    removing: Names
    network: Names
    listings: dict[str, Listing]


class Network(Struct, frozen=True, forbid_unknown_fields=True):
    programs: Names
    curl: Known


class Privilege(Struct, frozen=True, forbid_unknown_fields=True):
    programs: Names


class Variables(Struct, frozen=True, forbid_unknown_fields=True):
    harmless: Names
    own: Names
    known: Names


class Paths(Struct, frozen=True, forbid_unknown_fields=True):
    sinks: Names
    steering: Names
    homes: tuple[str, ...]


class Arguments(Struct, frozen=True, forbid_unknown_fields=True):
    folders: Names
    harmless: Names
    paths: Names


class Table(Struct, frozen=True, forbid_unknown_fields=True):
    any: Names
    versions: Names
    options: dict[str, Known]
    find: Find
    git: Git
    writers: dict[str, str]
    deleters: dict[str, str]
    network: Network
    privilege: Privilege
    variables: Variables
    paths: Paths
    arguments: Arguments

    @property
    def sinks(self) -> Names:
        return self.paths.sinks

    @property
    def steering(self) -> Names:
        return _STEERING


def _read() -> Table:
    text = files(__package__).joinpath("commands.toml").read_text("utf-8")
    return msgspec.convert(tomllib.loads(text), Table)


TABLE: Final = _read()
_STEERING: Final = frozenset(name.casefold() for name in TABLE.paths.steering)
