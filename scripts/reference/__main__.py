"""`python -m scripts.reference` writes the pages; with `--check` it only says which ones are old."""

import sys
from pathlib import Path

from scripts.reference import typescript
from scripts.reference.pages import REFERENCE, outdated, written


def main() -> int:
    check = "--check" in sys.argv[1:]
    pages = written()
    old = outdated(pages)
    for name in old:
        if not check:
            (REFERENCE / name).write_text(pages[name], encoding="utf-8")
        print(f"docs/reference/{name} {'is old' if check else 'written'}")
    stale = [(path, text) for path, text in typescript.files().items() if _text(path) != text]
    for path, text in stale:
        if not check:
            path.write_text(text, encoding="utf-8")
        print(f"api/typescript/{path.name} {'is old' if check else 'written'}")
    return 1 if check and (old or stale) else 0


def _text(path: Path) -> str:
    return path.read_text(encoding="utf-8") if path.exists() else ""


if __name__ == "__main__":
    sys.exit(main())
