"""What turns docs/ into a site: navigation, links that leave docs/, and blocks without the words for tests.

mkdocs loads it as a hook (mkdocs.yml). Pages stay as they are in a checkout: docs/README.md is the index,
and its sections are the navigation.
"""

import posixpath
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files
from mkdocs.structure.nav import Navigation
from mkdocs.structure.pages import Page

ROOT: Final = Path(__file__).parents[1]
INDEX: Final = "README.md"
RECORDS: Final = "adr/README.md"
OUTSIDE: Final = "checkout"
"""Where on the site the files are that pages name and docs/ does not have."""
LINK: Final = re.compile(r"(!?)\[((?:[^\[\]]|\[[^\]]*\])*)\]\(([^)\s]+)\)")
FENCE: Final = re.compile(r"^( *)```(\w+) (.+)$", re.MULTILINE)
SECTION: Final = re.compile(r"^## (.+)$", re.MULTILINE)
CODE: Final = re.compile(r"^( *)```.*?^\1```$", re.MULTILINE | re.DOTALL)

Nav = list[dict[str, Any]]


def on_config(config: MkDocsConfig) -> MkDocsConfig:
    config["nav"] = navigation(Path(config["docs_dir"]))
    return config


def navigation(docs: Path) -> Nav:
    """The sections of the index with their pages in order; the records stand below their own index."""
    parts = SECTION.split((docs / INDEX).read_text(encoding="utf-8"))
    found: Nav = [{"Home": INDEX}]
    for title, text in zip(parts[1::2], parts[2::2], strict=True):
        entries: Nav = []
        for name, target in _listed(text):
            if target == RECORDS:
                records = (docs / RECORDS).read_text(encoding="utf-8")
                inner = [{shown: f"adr/{page}"} for shown, page in _listed(records) if page.endswith(".md")]
                entries.append({name: [{"All": RECORDS}, *inner]})
            else:
                entries.append({name: source_of(INDEX, target)})
        found.append({title: entries})
    return found


def _listed(text: str) -> Iterator[tuple[str, str]]:
    """Every linked page once, by the words of its first link."""
    seen = set()
    for _, name, target in LINK.findall(text):
        if target not in seen and "://" not in target and not target.startswith("#"):
            seen.add(target)
            yield name, target


def source_of(page: str, target: str) -> str:
    """The path within the site's sources of what a page links to."""
    path = posixpath.normpath(posixpath.join("docs", posixpath.dirname(page), target))
    return path.removeprefix("docs/") if path.startswith("docs/") else f"{OUTSIDE}/{path}"


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Take in what pages link to and docs/ does not have: documents become pages, all else stays as it is."""
    waiting = [file for file in files if file.src_uri.endswith(".md")]
    while waiting:
        file = waiting.pop()
        for target in _outside(file):
            source = ROOT / target
            if source.is_file() and files.get_file_from_path(f"{OUTSIDE}/{target}") is None:
                added = File.generated(config, f"{OUTSIDE}/{target}", abs_src_path=str(source))
                files.append(added)
                if target.endswith(".md"):
                    waiting.append(added)
    return files


def _outside(file: File) -> Iterator[str]:
    here = _place(file.src_uri)
    for _, _, target in LINK.findall(CODE.sub("", file.content_string)):
        path = target.partition("#")[0]
        if path and "://" not in path:
            found = posixpath.normpath(posixpath.join(posixpath.dirname(here), path))
            if not found.startswith(("docs/", "..")):
                yield found


def _place(src_uri: str) -> str:
    """Where a page of the site is in the checkout."""
    return src_uri.removeprefix(f"{OUTSIDE}/") if src_uri.startswith(f"{OUTSIDE}/") else f"docs/{src_uri}"


def on_page_markdown(markdown: str, page: Page, config: MkDocsConfig, files: Files) -> str:
    here = page.file.src_uri

    def linked(found: "re.Match[str]") -> str:
        mark, words, target = found.groups()
        path, sharp, anchor = target.partition("#")
        if not path or "://" in path or path.startswith("mailto:"):
            return found[0]
        inside = posixpath.normpath(posixpath.join(posixpath.dirname(_place(here)), path))
        goal = inside.removeprefix("docs/") if inside.startswith("docs/") else f"{OUTSIDE}/{inside}"
        if (ROOT / inside).is_dir():
            return words  # there is no page of a folder
        return f"{mark}[{words}]({posixpath.relpath(goal, posixpath.dirname(here) or '.')}{sharp}{anchor})"

    pieces, last = [], 0
    for block in CODE.finditer(markdown):
        pieces += [LINK.sub(linked, markdown[last : block.start()]), FENCE.sub(_fence, block[0])]
        last = block.end()
    return "".join([*pieces, LINK.sub(linked, markdown[last:])])


def _fence(found: "re.Match[str]") -> str:
    """The language alone: what follows it says how a block is tested. A file shows its name."""
    name = re.search(r"file=(\S+)", found[3])
    return f"{found[1]}```{found[2]}" + (f' title="{name[1]}"' if name else "")


def on_nav(nav: Navigation, config: MkDocsConfig, files: Files) -> Navigation:
    """INVARIANT: every page of docs/ is in the navigation, so every page stands in the index."""
    shown = {page.file.src_uri for page in nav.pages}
    missing = sorted(
        file.src_uri
        for file in files.documentation_pages()
        if file.src_uri not in shown and not file.src_uri.startswith(f"{OUTSIDE}/")
    )
    if missing:
        from mkdocs.exceptions import Abort

        raise Abort(f"not in docs/README.md: {', '.join(missing)}")
    return nav
