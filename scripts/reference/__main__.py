"""`python -m scripts.reference` writes the pages; with `--check` it only says which ones are old."""

import sys

from scripts.reference.pages import REFERENCE, outdated, written


def main() -> int:
    check = "--check" in sys.argv[1:]
    pages = written()
    old = outdated(pages)
    for name in old:
        if not check:
            (REFERENCE / name).write_text(pages[name], encoding="utf-8")
        print(f"docs/reference/{name} {'is old' if check else 'written'}")
    return 1 if check and old else 0


if __name__ == "__main__":
    sys.exit(main())
