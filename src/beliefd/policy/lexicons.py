"""Reads the words of a language, for the facts about calls, from the files that ship with the package.

A file may say that its words stand `beside` those of another language: names of tools are English anywhere.
"""

from collections.abc import Callable
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Any, Final

from beliefd.documents import parse_document, read_bytes
from beliefd.kernel.errors import invalid
from beliefd.kernel.origin import Lexicon
from beliefd.protocol.wire import convert

ALL: Final = "all"
"""The words of all languages, for whoever does not know which one is spoken."""


def load_lexicon(path: Path) -> Lexicon:
    """A lexicon of the operator's own."""
    return convert(_whole(parse_document(read_bytes(path), str(path))), Lexicon)


@cache
def shipped_lexicon(language: str = "en") -> Lexicon:
    known = languages()
    if language not in (*known, ALL):
        raise invalid(f"there is no lexicon `{language}`; there are {', '.join((*known, ALL))}", "language")
    if language != ALL:
        return convert(_whole(_shipped(language)), Lexicon)
    whole = _shipped("en")
    for name in known:
        if name != "en":
            whole = _joined(whole, _own(_shipped(name)))
    return convert({**whole, "language": ALL}, Lexicon)


def languages() -> tuple[str, ...]:
    """Those that ship with the package."""
    names = (item.name for item in _FOLDER.iterdir())
    return tuple(sorted(name.removesuffix(".yaml") for name in names if name.endswith(".yaml")))


_FOLDER: Final = files("beliefd.kernel.origin") / "lexicons"


def _shipped(language: str) -> Any:
    name = f"{language}.yaml"
    return parse_document((_FOLDER / name).read_bytes(), name)


def _whole(found: Any) -> Any:
    """With the words that it stands beside."""
    beside = found.get("beside") if isinstance(found, dict) else None
    if beside is None:
        return found
    if beside not in languages():
        raise invalid(f"there is no lexicon `{beside}`; there are {', '.join(languages())}", "$.beside")
    return {**_joined(_whole(_shipped(beside)), _own(found)), "language": found.get("language")}


def _own(found: dict[str, Any]) -> dict[str, Any]:
    """The words of a file. Names of tools have verbs as they stand there; people use all of their forms."""
    endings = found.get("inflected", {})
    said = {
        name: [*found.get("verbs", {}).get(name, ()), *words]
        for name, words in found.get("words", {}).items()
    }
    said = {**found.get("verbs", {}), **said}
    return {
        **{name: value for name, value in found.items() if name not in ("language", "beside", "inflected")},
        "verbs": _listed(found.get("verbs", {}), lambda word: [_form(word, endings)]),
        "words": _listed(said, lambda word: _forms(word, endings)),
        "replies": [form for word in found.get("replies", ()) for form in _forms(str(word), endings)],
    }


def _listed(lists: dict[str, list[str]], written: Callable[[str], list[str]]) -> dict[str, list[str]]:
    """Without words that are English, and mean something else: `page` is a form of `pagar`."""
    english = _english()
    return {
        name: [form for word in words for form in written(str(word)) if form not in english]
        for name, words in lists.items()
    }


@cache
def _english() -> frozenset[str]:
    lexicon = convert(_shipped("en"), Lexicon)
    return frozenset({*lexicon.groups, *lexicon.stop, *lexicon.strong, *lexicon.faint})


def _form(word: str, endings: dict[str, list[str]]) -> str:
    stem, mark, ending = word.rpartition("-")
    return stem + ending if mark and ending in endings else word


def _forms(word: str, endings: dict[str, list[str]]) -> list[str]:
    stem, mark, ending = word.rpartition("-")
    return [stem + one for one in endings[ending]] if mark and ending in endings else [word]


def _joined(one: Any, other: Any) -> Any:
    """Lists one behind the other, by their names."""
    if isinstance(one, dict) and isinstance(other, dict):
        return {
            **other,
            **{name: _joined(value, other[name]) if name in other else value for name, value in one.items()},
        }
    if isinstance(one, list) and isinstance(other, list):
        return [*one, *(item for item in other if item not in one)]
    return one
