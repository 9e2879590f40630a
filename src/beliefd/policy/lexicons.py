"""Reads the words of a language, for the facts about calls, from the file that ships with the package."""

from functools import cache
from importlib.resources import files
from pathlib import Path

from beliefd.documents import parse_document, read_bytes
from beliefd.kernel.errors import invalid
from beliefd.kernel.origin import Lexicon
from beliefd.protocol.wire import convert


def load_lexicon(path: Path) -> Lexicon:
    """A lexicon of the operator's own."""
    return convert(parse_document(read_bytes(path), str(path)), Lexicon)


@cache
def shipped_lexicon(language: str = "en") -> Lexicon:
    folder = files("beliefd.kernel.origin") / "lexicons"
    known = sorted(
        item.name.removesuffix(".yaml") for item in folder.iterdir() if item.name.endswith(".yaml")
    )
    if language not in known:
        raise invalid(f"there is no lexicon `{language}`; there are {', '.join(known)}", "language")
    name = f"{language}.yaml"
    return convert(parse_document((folder / name).read_bytes(), name), Lexicon)
