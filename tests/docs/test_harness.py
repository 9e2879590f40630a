"""The tests of the documentation bite: what is shown must be what was printed, or it is said where not."""

import re
from pathlib import Path

import pytest

from tests.docs.matching import ELISION, matches
from tests.docs.pages import DOCS, ROOT, Block, anchors, blocks, pages
from tests.docs.reader import Astray, Reader

SOURCES = ROOT / "src" / "beliefd"


@pytest.mark.parametrize(
    ("shown", "printed"),
    [
        ("a\nb", "a\nb\n"),
        ("a\n...\nc", "a\nb\nb\nc\n"),
        ("...\nc", "c\n"),
        ("left ... right", "left of it right\n"),
        ("head 2812c3aaf99b4151", "head 1933241577b9b26b\n"),
        ("#1    10:26:11.572  X", "#1    23:59:59.999  X\n"),
        ("http://127.0.0.1:8642", "http://127.0.0.1:40123\n"),
        ("a\n", "a   \n"),
    ],
)
def test_what_differs_only_in_ids_times_and_ports_is_the_same(shown: str, printed: str) -> None:
    assert matches(shown, printed)


@pytest.mark.parametrize(
    ("shown", "printed"),
    [
        ("a\nb", "a\n"),
        ("a", "a\nb\n"),
        ("verified: 5 events", "verified: 6 events\n"),
        ("a\n...\nc", "a\nb\n"),
        ("approved: x", "refused: x\n"),
        ("a.c", "abc\n"),
    ],
)
def test_what_differs_otherwise_is_not(shown: str, printed: str) -> None:
    assert not matches(shown, printed)


def test_every_output_shows_something() -> None:
    for page in pages():
        for block in blocks(page):
            if "output" in block.flags or "demo" in block.flags:
                said = [line for line in block.text.splitlines() if line.strip() not in ("", ELISION)]
                assert said, f"{block.place} shows nothing"


def block(language: str, text: str, *flags: str) -> Block:
    return Block(ROOT / "README.md", 1, language, flags, text)


def test_a_command_that_ends_otherwise_than_shown_leads_astray(tmp_path: Path) -> None:
    with Reader(tmp_path, None) as reader:
        reader.follow(block("bash", "exit 4", "exit=4"))
        with pytest.raises(Astray, match="ended with 4, not 0"):
            reader.follow(block("bash", "(exit 4)"))
        with pytest.raises(Astray, match="ended with 0, not 4"):
            reader.follow(block("bash", "true", "exit=4"))


def test_variables_and_names_last_for_the_page(tmp_path: Path) -> None:
    with Reader(tmp_path, None) as reader:
        reader.follow(block("bash", "WORD='two words'; mkdir inner; cd inner"))
        reader.follow(block("python", "import os\nfrom pathlib import Path\nname = Path.cwd().name"))
        reader.follow(block("python", "print(os.environ['WORD'], name)"))
        assert reader.output == "two words inner\n"
        reader.follow(block("json", "{}", "file=a.json"))
        reader.follow(block("bash", 'echo "$WORD"; cat a.json'))
        assert reader.output == "two words\n{}"


def test_headings_are_found_as_github_spells_them(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text("# Add a verb\n\n## `beliefd serve`: options\n\n## Add a verb\n")
    assert anchors(page) == {"add-a-verb", "beliefd-serve-options", "add-a-verb-1"}


def test_the_architecture_names_every_part() -> None:
    page = (DOCS / "explanation" / "architecture.md").read_text(encoding="utf-8")
    folders = {path.parent.relative_to(SOURCES).parts[0] for path in SOURCES.glob("*/*.py")}
    modules = {path.name for path in SOURCES.glob("*.py") if not path.name.startswith("_")}
    assert folders >= {"kernel", "ledger", "stores", "steward", "http", "cli"}
    assert [name for name in sorted(folders) if f"`{name}/`" not in page] == []
    assert [name for name in sorted(modules) if f"`{name}`" not in page] == []


def test_the_architecture_names_no_file_that_is_not_there() -> None:
    page = (DOCS / "explanation" / "architecture.md").read_text(encoding="utf-8")
    named = set(re.findall(r"`(?:\w+/)*(\w+\.py)`", page))
    there = {path.name for path in SOURCES.rglob("*.py")}
    assert named >= {path.name for path in SOURCES.glob("*.py") if not path.name.startswith("_")}
    assert named - there == set()
