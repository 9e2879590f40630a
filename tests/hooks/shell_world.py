"""A small project on disk for commands to run in, and what it looks like."""

import hashlib
import subprocess
from pathlib import Path

FILES = {
    "a.txt": "a\nb,1\n", "b.txt": "b\n", "a.json": '{"a": {"b": 1}}', "README.md": "# x\n",
    "src/a.py": "x = 1\n", "run.sh": "ls\n", "build/x.o": "o", "build/x/y": "y", "a.hex": "61",
    "a.bin": "abcdefgh", "x": "x",
}  # fmt: skip


def world(folder: Path) -> Path:
    """A project in `folder`/proj, with a repository, beside a home."""
    project = folder / "proj"
    for name, text in FILES.items():
        path = project / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    (folder / "home").mkdir()
    git = ["git", "-c", "user.name=x", "-c", "user.email=x@example.com"]
    for words in (["init", "-q"], ["add", "."], ["commit", "-qm", "x"]):
        subprocess.run([*git, *words], cwd=project, check=True, capture_output=True)
    return project


def snapshot(folder: Path) -> dict[str, str]:
    """Every file with its mode and its content; the index of git is a cache that looking may refresh."""
    found = {}
    for path in sorted(folder.rglob("*")):
        name = str(path.relative_to(folder))
        if name.endswith(".git/index") or name == "log":
            continue
        if path.is_symlink():
            found[name] = f"-> {path.readlink()}"
        else:
            content = path.read_bytes() if path.is_file() else b""
            found[name] = f"{path.stat().st_mode:o} {hashlib.sha256(content).hexdigest()}"
    return found
