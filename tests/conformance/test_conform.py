"""`beliefd conform`: every clause has a vector, and a place that does otherwise is found out."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from beliefd.client import Client
from beliefd.conformance.checks import checks, specifications
from beliefd.conformance.library import LibraryPlace
from beliefd.conformance.places import FOLDER
from beliefd.conformance.report import report_on
from beliefd.conformance.stories import STORY_MEMBERS, load
from beliefd.kernel.values import Role, Tier
from tests.cli.runner import beliefd
from tests.conformance.surfaces import Server

CLAUSES = [clause.id for specification in specifications() for clause in specification.clauses]
LOG = "released-logs/*"


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    opened = Server(tmp_path_factory.mktemp("conform") / "a")
    yield opened
    opened.close()


def conform(server: Server, *words: str, role: str = "admin") -> tuple[int, Any]:
    token = server.tokens[role, Tier.PRIVILEGE.name]
    result = beliefd("conform", server.url, "--token", token, "--json", *words)
    return result.exit_code, json.loads(result.stdout)


@pytest.mark.parametrize("clause", CLAUSES)
def test_every_clause_has_a_vector(clause: str) -> None:
    assert [check.name for check in checks() if clause in check.clauses]


def test_vectors_name_clauses_that_there_are_and_every_one_once() -> None:
    assert len(CLAUSES) == len(set(CLAUSES))
    for check in checks():
        assert set(check.clauses) <= set(CLAUSES), check.name
        assert len(check.clauses) == len(set(check.clauses)), check.name


def test_the_four_specifications_are_covered_and_each_file_is_a_vector() -> None:
    assert [one.name for one in specifications()] == ["beliefs", "claims", "substrate", "firewall"]
    files = [*(FOLDER / "vectors").glob("*/*.json"), *(FOLDER / "released-logs").glob("*.jsonl")]
    assert len(list(checks())) == len(files)
    stories = [load(path) for path in files if path.suffix == ".json"]
    assert all(story.keys() <= STORY_MEMBERS for story in stories if "steps" in story)


def test_the_library_is_shown_clause_by_clause() -> None:
    result = beliefd("conform", "--only", "formats/*", "--only", "substrate/*", "--only", LOG, "--json")
    report = json.loads(result.stdout)
    assert result.exit_code == 0
    assert report["of"] == "library"
    shown = {clause["id"]: clause for clause in report["clauses"]}
    assert shown["beliefs.replay"]["vectors"] == ["released-logs/0.1.0"]
    assert {clause["state"] for clause in shown.values()} == {"passed"}
    assert "beliefs.declare" not in shown


def test_a_server_is_checked_in_spaces_of_its_own_and_its_tokens_are_revoked(server: Server) -> None:
    only = [word for name in ("sessions/[d-l]*", "firewall/g*", LOG) for word in ("--only", name)]
    for _ in range(2):  # what the first run left is not seen by the second
        code, report = conform(server, *only)
        assert [one["reason"] for one in report["checks"] if one["state"] != "passed"] == []
        assert code == 0
    with Client(server.url, server.tokens[Role.ADMIN, Tier.PRIVILEGE.name]) as admin:
        made = [one for one in admin.list_tokens().tokens if "conform-" in one.name]
    assert made
    assert all(one.revoked_at for one in made)


def test_a_policy_is_changed_on_request_only_and_put_back(server: Server) -> None:
    code, report = conform(server, "--only", "claims/grants")
    assert (code, report["checks"][0]["state"]) == (3, "not run")
    assert "--change-policy" in report["checks"][0]["reason"]
    as_admin = ["--url", server.url, "--token", server.tokens[Role.ADMIN, Tier.PRIVILEGE.name], "--json"]
    before = json.loads(beliefd("policy", "show", *as_admin).stdout)["policy_hash"]
    code, report = conform(server, "--only", "claims/grants", "--only", "tiers/re*", "--change-policy")
    assert [one["reason"] for one in report["checks"] if one["state"] != "passed"] == []
    assert code == 0
    assert json.loads(beliefd("policy", "show", *as_admin).stdout)["policy_hash"] == before


def test_who_may_not_make_tokens_is_told_so(server: Server) -> None:
    code, answer = conform(server, "--only", "sessions/declare", role="agent")
    assert (code, answer["error"]["code"]) == (4, "FORBIDDEN")


class Resurrecting(LibraryPlace):
    """A place that answers eliminations as if nothing had happened."""

    def tell(self, story: dict[str, Any]) -> None:
        steps = [step for step in story["steps"] if step["op"] != "eliminate"]
        super().tell({**story, "steps": steps})


def test_a_place_that_does_otherwise_fails_with_the_clause_and_what_was_answered() -> None:
    report = report_on("broken", Resurrecting(), ["sessions/eliminate", "sessions/declare"])
    states = {clause.id: clause.state for clause in report.clauses}
    assert states["beliefs.monotone"] == "failed"
    assert states["beliefs.declare"] == "passed"
    (reason,) = [check.reason for check in report.checks if check.state == "failed"]
    assert reason is not None
    assert reason.startswith("eliminate, step ")
    assert report.failed


class Telling(LibraryPlace):
    """A place whose entries hold more than they may: the words of hints."""

    def tell(self, story: dict[str, Any]) -> None:
        word = "bad_deploy"
        steps = [
            {**step, "expect": {}, "op": "query_belief", "args": {"session_id": "$s"}, "lacks": [word]}
            if "lacks" in step
            else step
            for step in story["steps"]
        ]
        super().tell({**story, "steps": steps})


def test_what_an_answer_must_not_hold_fails_it() -> None:
    report = report_on("broken", Telling(), ["firewall/hints"])
    (check,) = report.checks
    assert check.state == "failed"
    assert check.reason is not None
    assert check.reason.endswith("`bad_deploy` is in the answer")


def test_unknown_vectors_are_named() -> None:
    result = beliefd("conform", "--only", "nothing/*")
    assert result.exit_code == 2
    assert "no vector is called `nothing/*`; there are `" in result.output
    assert "`sessions/*`" in result.output
    near = beliefd("conform", "--only", "session/elim*")
    assert "no vector is called `session/elim*`; did you mean `sessions/eliminate`" in near.output


def test_what_a_wheel_holds_is_what_the_checkout_holds() -> None:
    project = (Path(__file__).parents[2] / "pyproject.toml").read_text()
    for part in ("clauses.json", "vectors", "released-logs"):
        assert f'"conformance/{part}" = "beliefd/conformance/data/{part}"' in project
