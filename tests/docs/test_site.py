"""The site that is made of docs/: it is built without a warning, and has every page, by task."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
from mkdocs.config import load_config
from scripts.site import INDEX, navigation

from tests.docs.pages import DOCS, ROOT

ASKS_ELSEWHERE = ('src="http', "@import", 'rel="stylesheet" href="http', 'rel="preconnect"')
TASKS = [
    "Start",
    "Guard your agent's tools",
    "Review",
    "Audit",
    "Write rules",
    "Run in production",
    "Gate claims",
    "Ground beliefs: experiments and uncertainty",
    "Build on it",
    "Reference",
]


def built(site: Path, docs: Path = DOCS) -> "subprocess.CompletedProcess[str]":
    configuration = (ROOT / "mkdocs.yml").read_text()
    configuration = configuration.replace("docs_dir: docs", f"docs_dir: {docs}")
    configuration = configuration.replace("hooks: [scripts", f"hooks: [{ROOT}/scripts")
    file = site.parent / "mkdocs.yml"
    file.write_text(configuration)
    command = [sys.executable, "-m", "mkdocs", "build", "--strict"]
    return subprocess.run(
        [*command, "--config-file", str(file), "--site-dir", str(site)],
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, "NO_MKDOCS_2_WARNING": "1"},
    )


@pytest.mark.slow
def test_the_site_is_built_without_a_warning_and_asks_no_other_site(tmp_path: Path) -> None:
    site = tmp_path / "site"
    made = built(site)
    assert made.returncode == 0, made.stdout + made.stderr
    for page in DOCS.rglob("*.md"):
        folder = site / page.relative_to(DOCS).with_suffix("")
        shown = (folder.parent if page.name == INDEX else folder) / "index.html"
        assert shown.is_file(), page
    assert (site / "checkout" / "BELIEF_PROTOCOL" / "index.html").is_file()
    assert (site / "checkout" / "api" / "openapi.yaml").is_file()
    home = (site / "index.html").read_text()
    assert [mark for mark in ASKS_ELSEWHERE if mark in home] == []
    # What tests read after a language is nothing for readers.
    guarded = (site / "how-to" / "guard-in-one-minute" / "index.html").read_text()
    assert "file=notes.py" not in guarded
    assert "notes.py" in guarded


@pytest.mark.parametrize(
    ("files", "complaint"),
    [
        ({INDEX: "# Home\n\n## Task\n\n- [A](a.md)\n", "a.md": "# A\n"}, None),
        ({INDEX: "# Home\n\n## Task\n\n- [A](a.md)\n", "a.md": "# A\n", "b.md": "# B\n"}, "b.md"),
        ({INDEX: "# Home\n\n## Task\n\n- [A](a.md)\n", "a.md": "# A\n\n[b](nowhere.md)\n"}, "nowhere"),
    ],
)
def test_a_page_that_is_not_in_the_navigation_and_a_link_to_nowhere_fail_the_build(
    files: dict[str, str], complaint: str | None, tmp_path: Path
) -> None:
    docs = tmp_path / "docs"
    docs.mkdir()
    for name, text in files.items():
        (docs / name).write_text(text)
    made = built(tmp_path / "site", docs)
    assert (made.returncode == 0) is (complaint is None), made.stderr
    assert complaint is None or complaint in made.stdout + made.stderr


def test_the_navigation_is_by_task_and_has_every_page() -> None:
    sections = navigation(DOCS)
    assert [title for section in sections for title in section] == ["Home", *TASKS]
    named = str(sections)
    pages = [page.relative_to(DOCS).as_posix() for page in DOCS.rglob("*.md")]
    assert [page for page in sorted(pages) if f"'{page}'" not in named] == []


def test_the_site_loads_no_fonts() -> None:
    assert load_config(str(ROOT / "mkdocs.yml"))["theme"]["font"] is False
