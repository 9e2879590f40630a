"""All templates by name, and the hash of the code that stands behind each of them."""

import ast
import hashlib
import importlib.metadata
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import Final

import beliefd
from beliefd.experiments.plan import Template
from beliefd.kernel.experiments.params import PARAMS
from beliefd.kernel.experiments.plan import TemplateName

ROOT: Final = Path(beliefd.__file__).parent
PACKAGES: Final = ("experiments", "kernel/experiments/params", "kernel/experiments/expressions")
"""Whose lines are part of a template; the rest of beliefd cannot change a number."""
LIBRARIES: Final = ("numpy", "scipy")


@cache
def template(name: TemplateName) -> Template:
    found: Template = import_module(f"beliefd.experiments.templates.{name}").TEMPLATE
    return found


def templates() -> tuple[Template, ...]:
    return tuple(template(name) for name in PARAMS)


@cache
def code_hash(name: TemplateName) -> str:
    """Over the template's file, every file of ours that it uses, and the versions of the libraries it uses.

    A change of any of them can change a number, so what was frozen before it cannot be run after it.
    """
    hashed = hashlib.sha256()
    for path in sorted(files(name)):
        text = path.read_bytes()
        hashed.update(f"{path.relative_to(ROOT).as_posix()} {len(text)}\n".encode() + text)
    for library in LIBRARIES:
        hashed.update(f"{library} {importlib.metadata.version(library)}\n".encode())
    return hashed.hexdigest()


def files(name: TemplateName) -> set[Path]:
    """What makes up a template: its file, the engine, and what of our code they import, directly or not."""
    found = {ROOT / "experiments" / "templates" / f"{name}.py", ROOT / "experiments" / "engine.py"}
    waiting = list(found)
    while waiting:
        for module in _imports(waiting.pop()):
            path = ROOT.joinpath(*module.split(".")[1:]).with_suffix(".py")
            ours = path.relative_to(ROOT).with_suffix("").as_posix().startswith(PACKAGES)
            if ours and path.is_file() and path not in found:
                found.add(path)
                waiting.append(path)
    return found


def _imports(path: Path) -> set[str]:
    nodes = ast.walk(ast.parse(path.read_text(encoding="utf-8")))
    return {
        node.module
        for node in nodes
        if isinstance(node, ast.ImportFrom) and node.module and node.module.startswith("beliefd.")
    }
