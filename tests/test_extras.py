"""What is left out by a plain install is said in one place, in words that are true in a checkout, too."""

import re
import tomllib
from pathlib import Path

from beliefd.extras import install

ROOT = Path(__file__).parents[1]
SOURCES = {path: path.read_text() for path in (ROOT / "src" / "beliefd").rglob("*.py")}


def test_a_checkout_is_told_of_beside_the_index() -> None:
    said = install("prove")
    assert "'beliefd[prove]'" in said
    assert "in a checkout, `pip install -e '.[prove]'`" in said


def test_nobody_says_it_in_words_of_their_own() -> None:
    spelt = [path.name for path, text in SOURCES.items() if "pip install '" in text]
    assert spelt == ["extras.py"]


def test_every_extra_that_is_named_is_one() -> None:
    known = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["optional-dependencies"]
    named = {extra for text in SOURCES.values() for extra in re.findall(r"\binstall\('([\w-]+)'\)", text)}
    assert named
    assert named <= known.keys()
