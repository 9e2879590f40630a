"""Adapters import their frameworks themselves, and name the extra where one is missing."""

import ast
import importlib
import sys
import tomllib
from pathlib import Path

import pytest

from beliefd import adapters

ROOT = Path(__file__).parents[2]
FOLDER = Path(str(adapters.__file__)).parent
EXTRAS = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["optional-dependencies"]


def needed(module: Path) -> dict[str, set[str]]:
    """The extras that a module needs, and the packages that it imports from each."""
    found: dict[str, set[str]] = {}
    for node in ast.walk(ast.parse(module.read_text())):
        if isinstance(node, ast.With) and ast.unparse(node.items[0]).startswith("needing("):
            names = [one.module or "" for one in node.body if isinstance(one, ast.ImportFrom)]
            extra = ast.unparse(node.items[0]).removeprefix("needing('").removesuffix("')")
            found[extra] = {name.partition(".")[0] for name in names}
    return found


FRAMEWORKS = sorted(path.stem for path in FOLDER.glob("*.py") if "with needing(" in path.read_text())


def test_there_is_an_adapter_for_each_framework() -> None:
    assert FRAMEWORKS == ["crewai", "google_adk", "langchain", "openai_agents", "pydantic_ai", "smolagents"]


@pytest.mark.parametrize("name", FRAMEWORKS)
def test_a_missing_framework_is_named_with_its_extra(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    ((extra, packages),) = needed(FOLDER / f"{name}.py").items()
    assert extra == name.replace("_", "-")
    assert extra in EXTRAS
    for package in packages:
        monkeypatch.setitem(sys.modules, package, None)  # as if it were not installed
    monkeypatch.delitem(sys.modules, f"beliefd.adapters.{name}", raising=False)
    with pytest.raises(ImportError, match=rf"needs the extra `{extra}`: `pip install 'beliefd\[{extra}\]'`"):
        importlib.import_module(f"beliefd.adapters.{name}")


@pytest.mark.parametrize("name", FRAMEWORKS)
def test_each_has_an_example_and_a_pinned_version(name: str) -> None:
    assert (ROOT / "examples" / "adapters" / f"{name}_agent.py").is_file()
    pins = (ROOT / "clients" / "frameworks" / f"{name}.txt").read_text()
    for requirement in EXTRAS[name.replace("_", "-")]:
        assert requirement.partition(">=")[0] in pins
    lines = [line for line in pins.splitlines() if not line.startswith("#")]
    assert all("==" in line for line in lines)


def test_without_frameworks_the_rest_of_beliefd_knows_no_adapter() -> None:
    for path in (ROOT / "src" / "beliefd").rglob("*.py"):
        if not path.is_relative_to(FOLDER):
            assert "beliefd.adapters" not in path.read_text(), path
