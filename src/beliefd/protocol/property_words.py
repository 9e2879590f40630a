"""What properties mean, for the OpenAPI document: the words of property_words.toml."""

import tomllib
from functools import cache
from importlib import resources
from typing import Any


@cache
def _words() -> dict[str, Any]:
    return tomllib.loads(resources.files(__package__).joinpath("property_words.toml").read_text("utf-8"))


def words_for(kind: str, name: str) -> str | None:
    """What a property of a type means there, or wherever it stands."""
    words = _words()
    told: str | None = words["types"].get(kind, {}).get(name) or words["everywhere"].get(name)
    return told


def all_words() -> set[tuple[str, str]]:
    """Every type (or nothing) and name that words are kept for."""
    words = _words()
    of_types = {(kind, name) for kind, names in words["types"].items() for name in names}
    return of_types | {("", name) for name in words["everywhere"]}
