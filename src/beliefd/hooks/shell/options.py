"""Options and operands of a command, checked against what is known of it."""

import posixpath
import re
from collections.abc import Sequence
from typing import Final, Protocol

from msgspec import Struct

from beliefd.hooks.shell.effects import Effects
from beliefd.hooks.shell.paths import Places
from beliefd.hooks.shell.table import TABLE, Known
from beliefd.hooks.shell.words import Word

_NAME: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")


class Doubt(Exception):
    """Why a command may do more than read."""


Words = Sequence[Word]


class Reading(Protocol):
    """Where a command stands, and how a command inside it is read."""

    effects: Effects

    def command(self, words: Words, places: Places) -> None: ...

    def script(self, text: str, places: Places, *, posix: bool) -> Places: ...


def plain(words: Words, what: str) -> list[str]:
    """The words as written, if nothing can change them."""
    if any(not word.literal or word.loose for word in words):
        raise Doubt(f"what `{what}` is called with cannot be told")
    return [word.text for word in words]


def check_names(reading: Reading, operands: Words, places: Places, *, onto: bool) -> None:
    """What is put into a folder keeps its name there; what stands in a folder has names that are not seen."""
    *sources, goal = operands
    for source in sources:
        name = posixpath.basename(source.text.rstrip("/"))
        if onto or name in ("", ".", ".."):
            raise Doubt("what is put there has names that are not written")
        copy = Word(f"{goal.text}/{name}", goal.literal and source.literal, goal.loose or source.loose)
        reading.effects.may_write(copy, places)


class Arguments(Struct, frozen=True):
    """`operands` are the words that are no options; `values` those that belong to an option before them."""

    operands: tuple[Word, ...]
    values: dict[str, tuple[Word, ...]] = {}


def read_options(name: str, words: Sequence[Word], known: Known) -> Arguments:
    """The operands, if every option is known. INVARIANT: a word that may become an option is none of them."""
    operands: list[Word] = []
    values: dict[str, list[Word]] = {}
    rest = list(words)
    while rest:
        word = rest.pop(0)
        if word.literal and not word.loose and word.text == "--":
            operands += rest
            break
        if word.may_be_option:
            raise Doubt(f"a word of `{name}` may become an option")
        if not word.text.startswith("-") or word.text == "-":
            operands.append(word)
        elif word.text.startswith("--"):
            _check_long(name, word, known)
        else:
            _read_short(name, word, known, rest, values)
    return Arguments(tuple(operands), {key: tuple(found) for key, found in values.items()})


def _check_long(name: str, word: Word, known: Known) -> None:
    option = word.text[2:].partition("=")[0]
    if option not in known.long:
        raise Doubt(f"option `--{option[:40]}` of `{name}` is not known to be harmless")


def _read_short(name: str, word: Word, known: Known, rest: list[Word], values: dict[str, list[Word]]) -> None:
    for at, letter in enumerate(word.text[1:], start=2):
        if letter in known.takes:
            attached = word.text[at:]
            if attached:
                values.setdefault(letter, []).append(Word(attached, word.literal, word.loose))
            elif rest:
                if rest[0].loose:
                    raise Doubt(f"what stands behind `-{letter}` of `{name}` may become several words")
                values.setdefault(letter, []).append(rest.pop(0))
            return
        if letter not in known.flags:
            raise Doubt(f"option `-{letter}` of `{name}` is not known to be harmless")
    if not word.literal:
        raise Doubt(f"an option of `{name}` cannot be told")


def check_reading(name: str, words: Sequence[Word], known: Known) -> None:
    """Does it only read, called like this? Otherwise it says why not."""
    found = read_options(name, words, known)
    operands = found.operands
    if known.values and not set(plain(sum(found.values.values(), ()), name)) <= known.values:
        raise Doubt(f"a setting of `{name}` is not known to be harmless")
    first = words[0].text if words else ""
    if known.needs and not (first.startswith("-") and set(known.needs) & set(first)):
        raise Doubt(f"`{name}` does more than read without an option that says so")
    if known.operands is not None and (
        len(operands) > known.operands or any(word.loose for word in operands)
    ):
        raise Doubt(f"`{name}` writes to what its further operands name")
    for word in operands:
        if known.names and not may_assign(word):
            raise Doubt(f"`{name}` sets a variable that something may rest on")
        fits = known.operand is None or re.fullmatch(known.operand, word.text, re.S)
        if known.operand is not None and not (fits and word.literal and not word.loose):
            raise Doubt(f"`{name}` is not known to be harmless with `{word.text[:40]}`")


def may_assign(word: Word) -> bool:
    """Is it the name of a variable that nothing but the script itself knows?"""
    name = word.text
    if not word.literal or word.loose or not _NAME.fullmatch(name):
        return False
    table = TABLE.variables
    if name in table.harmless or name in table.own:
        return True
    return any(letter.islower() for letter in name) and name.casefold() not in table.known
