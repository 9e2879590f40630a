"""Every block of the documentation is run, parsed or shown for a reason; every link leads somewhere."""

import re
import signal
import subprocess
import tomllib
from pathlib import Path
from typing import Final
from urllib.parse import unquote

import pytest

from beliefd import kits
from beliefd.documents import parse_document
from beliefd.policy.files import parse_policy
from tests.cli.runner import process
from tests.docs.matching import masked, matches
from tests.docs.pages import NORMATIVE, ROOT, Block, anchors, blocks, links, name_of, pages
from tests.docs.reader import POSTGRES, Astray, Reader

RUN: Final = ("bash", "sh", "python")
PARSED: Final = ("json", "yaml")
SHOWN: Final = ("console", "diff", "text", "mermaid", "nginx")
NOT_FOR_TESTS: Final = (
    *("make", "git", "pip", "pipx", "uvx", "psql", "pg_basebackup", "nginx"),
    *("docker", "kubectl", "systemctl", "sudo", "cosign"),
    *("apt-get", "etcdctl", "patronictl"),
)
"""What a console block may show: it changes the machine, or takes as long as all tests together."""

PAGES: Final = [pytest.param(page, id=name_of(page)) for page in pages()]
STORIES: Final = [
    pytest.param(page, id=name_of(page))
    for page in pages()
    if any(
        block.language in RUN and not (block.option("file") or block.option("from")) for block in blocks(page)
    )
]


@pytest.mark.slow
@pytest.mark.parametrize("page", STORIES)
def test_following_a_page_works(page: Path, tmp_path: Path, request: pytest.FixtureRequest) -> None:
    needs_postgres = any(POSTGRES in block.text for block in blocks(page))
    url = request.getfixturevalue("postgres_url") if needs_postgres else None
    with Reader(tmp_path, url) as reader:
        for block in blocks(page):
            try:
                if "output" in block.flags:
                    check_output(block, reader.output)
                else:
                    reader.follow(block)
            except Exception as error:
                raise Astray(f"{block.place}: {error}") from error


def check_output(block: Block, real: str) -> None:
    if not matches(block.text, real):
        raise Astray(f"shows\n{masked(block.text)}\nbut printed was\n{masked(real)}")


@pytest.mark.parametrize("page", PAGES)
def test_every_block_says_what_it_is(page: Path) -> None:
    for block in blocks(page):
        assert block.language in (*RUN, *PARSED, *SHOWN), f"{block.place}: `{block.language}`"


@pytest.mark.parametrize("page", PAGES)
def test_excerpts_stand_in_the_example_that_they_are_from(page: Path) -> None:
    """Such blocks need what is not installed here; `make clients` runs the examples."""
    for block in blocks(page):
        if (name := block.option("from")) is not None:
            source = _laid_out_anyhow((ROOT / "examples" / "adapters" / name).read_text())
            for part in block.text.split("\n\n"):
                assert _laid_out_anyhow(part) in source, f"{block.place}: not in {name}:\n{part}"


def _laid_out_anyhow(text: str) -> str:
    """Where lines break depends on how far they are indented."""
    return re.sub(r",([)\]}])", r"\1", "".join(text.split()))


@pytest.mark.parametrize("page", PAGES)
def test_only_what_cannot_be_run_is_merely_shown(page: Path) -> None:
    for block in blocks(page):
        if block.language == "console":
            commands = [line[2:] for line in block.text.splitlines() if line.startswith("$ ")]
            assert commands, f"{block.place}: a console block shows a command after `$ `"
            for command in commands:
                assert command.split()[0] in NOT_FOR_TESTS, f"{block.place}: `{command}` could be run"


@pytest.mark.parametrize("page", PAGES)
def test_data_in_blocks_is_what_it_says(page: Path) -> None:
    for block in blocks(page):
        if block.language in PARSED:
            value = parse_document(block.text.encode(), f"{block.place}.{block.language}")
            check_kind(block, value)


def check_kind(block: Block, value: object) -> None:
    if "kit" in block.flags:
        kits.check(value)
    if "policy" in block.flags:
        parse_policy(block.text.encode(), f"{block.place}.yaml")


@pytest.mark.parametrize("page", [*PAGES, *(pytest.param(ROOT / name, id=name) for name in NORMATIVE)])
def test_links_lead_somewhere(page: Path) -> None:
    for link in links(page):
        if "://" in link.target or link.target.startswith("mailto:"):
            continue
        path, _, anchor = unquote(link.target).partition("#")
        target = (page.parent / path).resolve() if path else page
        assert target.exists(), f"{name_of(page)}: `{link.target}` leads nowhere"
        assert target.is_relative_to(ROOT), f"{name_of(page)}: `{link.target}` leads out of the repository"
        if anchor:
            assert anchor in anchors(target), f"{name_of(page)}: no heading `#{anchor}` there"


def test_every_page_can_be_reached_from_the_readme() -> None:
    seen: set[Path] = set()
    waiting = [ROOT / "README.md"]
    while waiting:
        page = waiting.pop()
        if page in seen or page.suffix != ".md":
            continue
        seen.add(page)
        paths = (unquote(link.target).partition("#")[0] for link in links(page) if "://" not in link.target)
        waiting += [target for path in paths if path and (target := (page.parent / path).resolve()).is_file()]
    missed = [name_of(page) for page in pages() if page not in seen]
    assert not missed


@pytest.mark.slow
def test_the_readme_shows_what_make_run_prints(tmp_path: Path) -> None:
    shown = [block for block in blocks(ROOT / "README.md") if "demo" in block.flags]
    assert len(shown) == 1
    makefile = (ROOT / "Makefile").read_text()
    assert "run: .venv/run.stamp\n\t$(BIN)/beliefd demo --port 8642 --data .beliefd\n" in makefile
    running = process("demo", "--port", "0", "--data", tmp_path / "data")
    try:
        assert running.stdout is not None
        printed = ""
        while "until Ctrl-C" not in printed:
            line = running.stdout.readline()
            assert line, printed
            printed += line
    finally:
        running.send_signal(signal.SIGINT)
        running.communicate(timeout=60)
    check_output(shown[0], printed)


def test_the_contributing_page_shows_the_steps_of_make_test() -> None:
    shown = next(
        block for block in blocks(ROOT / "CONTRIBUTING.md") if block.text.startswith("$ make test\n")
    )
    steps = [line for line in shown.text.splitlines() if line.startswith(".venv/bin/")]
    planned = subprocess.run(
        ["make", "--no-print-directory", "--dry-run", "lint", "types", "test"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    ).stdout.splitlines()
    planned = [line.partition(" || ")[0] for line in planned]  # then comes what is done about failures
    assert steps == [line for line in planned if line in steps]
    assert planned[-1] == steps[-1] == ".venv/bin/python -m pytest -n logical"
    contracts = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["importlinter"]["contracts"]
    assert f"Contracts: {len(contracts)} kept, 0 broken." in shown.text
