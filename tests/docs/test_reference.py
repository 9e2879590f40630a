"""The reference says what the code does: it is made from it, and nothing that has a name is left out."""

import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import click
import pytest
from scripts.reference.pages import REFERENCE, outdated, written

from beliefd.cli.main import main
from beliefd.kernel.claims.bundle import Severity
from beliefd.kernel.claims.gates import GATES
from beliefd.kernel.commands import Command
from beliefd.kernel.errors import Code
from beliefd.kernel.events import Event
from beliefd.kernel.policy import Policy
from beliefd.kernel.values import Role, Tier
from beliefd.knowledge.schema import EVIDENCE_KINDS, KINDS
from beliefd.protocol.operations import OPERATIONS
from beliefd.protocol.statuses import STATUS
from tests.docs.pages import ROOT
from tests.support.server import server_process

SOURCES = sorted((ROOT / "src").rglob("*.py"))


def reference() -> str:
    return "\n".join(path.read_text(encoding="utf-8") for path in sorted(REFERENCE.glob("*.md")))


def missing(names: "Iterator[str] | list[str]") -> list[str]:
    text = reference()
    return [name for name in names if not re.search(rf"(?<![\w-]){re.escape(name)}(?![\w-])", text)]


def test_the_pages_are_what_the_code_makes_of_them() -> None:
    assert outdated(written()) == [], "run `python -m scripts.reference`"


def test_the_script_says_which_pages_are_old() -> None:
    command = [sys.executable, "-m", "scripts.reference", "--check"]
    checked = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert (checked.returncode, checked.stdout) == (0, "")


def test_a_page_that_differs_or_belongs_to_nothing_is_old(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    pages = written()
    for name, text in pages.items():
        (tmp_path / name).write_text(text, encoding="utf-8")
    monkeypatch.setattr("scripts.reference.pages.REFERENCE", tmp_path)
    assert outdated(pages) == []
    (tmp_path / "verbs.md").write_text(pages["verbs.md"] + "and more\n", encoding="utf-8")
    (tmp_path / "forgotten.md").write_text("# Forgotten\n", encoding="utf-8")
    assert outdated(pages) == ["verbs.md", "forgotten.md"]


def tags(union: Any) -> list[str]:
    return [str(kind.__struct_config__.tag) for kind in union.__args__]


@pytest.mark.parametrize(("page", "union"), [("verbs.md", Command), ("events.md", Event)])
def test_every_verb_and_every_event_has_a_section(page: str, union: Any) -> None:
    text = (REFERENCE / page).read_text(encoding="utf-8")
    assert [tag for tag in tags(union) if f"\n## {tag}\n" not in text] == []


def definitions() -> list[tuple[str, str]]:
    """The terms of the glossary in their order, each with what is said about it."""
    text = (REFERENCE / "glossary.md").read_text(encoding="utf-8")
    return re.findall(r"^- \*\*(.+?)\*\*: (.+?)(?=\n- |\n\n|\Z)", text, re.MULTILINE | re.DOTALL)


def test_the_glossary_defines_what_verbs_and_the_graph_are_about() -> None:
    nouns = {tag.partition("_")[2].lower().removesuffix("s") for tag in tags(Command) if "_" in tag}
    kinds = {kind.replace("-", " ") for kind in KINDS if kind not in EVIDENCE_KINDS}
    assert {"session", "approval", "speculative claim"} <= nouns | kinds
    terms = dict(definitions())
    assert sorted((nouns | kinds) - terms.keys()) == []
    assert [kind for kind in EVIDENCE_KINDS if f"`{kind}`" not in terms["evidence"]] == []


def test_the_glossary_defines_each_term_once_in_order_with_a_page_to_read_on() -> None:
    terms = [term for term, _ in definitions()]
    assert len(terms) > 80
    assert terms == sorted(set(terms))
    assert [term for term, said in definitions() if "](" not in said] == []


def test_every_error_code_is_described_with_its_status() -> None:
    page = (REFERENCE / "errors.md").read_text(encoding="utf-8")
    for code in Code:
        assert re.search(rf"`{code}`\]\(#{code.lower()}\) \| `{STATUS[code]}` ", page), code
        assert f"\n## {code}\n\n" in page


def test_every_operation_is_described() -> None:
    assert missing([operation.name for operation in OPERATIONS]) == []
    assert missing([f"{operation.method} {operation.path}" for operation in OPERATIONS]) == []
    assert missing([parameter.name for operation in OPERATIONS for parameter in operation.query]) == []


def test_every_command_and_option_is_described() -> None:
    names = list(command_names("beliefd", main))
    assert len(names) > 20
    assert missing([f"## {name}" for name, _ in names]) == []
    assert (
        missing(
            [
                option
                for _, command in names
                for one in command.params
                for option in one.opts
                if option[0] == "-"
            ]
        )
        == []
    )


def command_names(name: str, command: click.Command) -> Iterator[tuple[str, click.Command]]:
    yield name, command
    if isinstance(command, click.Group):
        for inner, sub in command.commands.items():
            yield from command_names(f"{name} {inner}", sub)


def test_every_environment_variable_is_described() -> None:
    used = {name for path in SOURCES for name in re.findall(r"\bBELIEFD_[A-Z_]+\b", path.read_text())}
    assert len(used) >= 4
    assert missing(sorted(used)) == []


def test_every_policy_field_is_described() -> None:
    assert missing([f"`{path}`" for path in policy_fields(Policy(), "")]) == []


def policy_fields(value: Any, path: str) -> Iterator[str]:
    for name, spelt in zip(value.__struct_fields__, value.__struct_encode_fields__, strict=True):
        inner = getattr(value, name)
        here = f"{path}.{spelt}".lstrip(".")
        yield from policy_fields(inner, here) if hasattr(inner, "__struct_fields__") else [here]


def test_every_gate_is_described_with_its_limits() -> None:
    page = (REFERENCE / "gates.md").read_text(encoding="utf-8")
    for gate in GATES:
        assert f"\n## {gate}\n" in page
    for section in ("evidence", "uncertainty", "security", "adversarial"):
        for field in getattr(Policy(), section).__struct_fields__:
            assert f"`{section}.{field}`" in page
    assert "`approvals.require_human`" in page
    assert missing([severity.name for severity in Severity]) == []


def test_every_role_and_tier_is_described() -> None:
    assert missing([*(role.value for role in Role), *(tier.name for tier in Tier)]) == []


def test_every_metric_that_a_server_shows_is_described(tmp_path: Path) -> None:
    import httpx

    with server_process(tmp_path) as server, server.client() as client:
        client.list_sessions()
        shown = httpx.get(f"{server.url}/metrics", verify=False).text
    metrics = set(re.findall(r"^# TYPE (\S+) ", shown, re.MULTILINE))
    assert len(metrics) >= 5
    assert missing(sorted(metrics)) == []
