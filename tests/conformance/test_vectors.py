"""The same vectors through the library, over HTTP and from the command line: one protocol, three surfaces."""

from pathlib import Path

import pytest

from beliefd.conformance.stories import STEP_MEMBERS, load_all, run, servers_of
from beliefd.kernel.errors import Code
from beliefd.protocol.operations import BY_NAME
from tests.conformance.beliefs import BELIEFS
from tests.conformance.command_line import BEYOND_WORDS, CommandLine
from tests.conformance.surfaces import Http, Library, Server

VECTORS = load_all()


@pytest.mark.parametrize("name", VECTORS)
def test_the_library_conforms(name: str) -> None:
    surfaces = {place: Library() for place in servers_of(VECTORS[name])}
    try:
        run(VECTORS[name], dict(surfaces))
    finally:
        for surface in surfaces.values():
            surface.close()


@pytest.mark.parametrize("name", VECTORS)
def test_the_server_conforms(name: str, tmp_path: Path) -> None:
    servers = {place: Server(tmp_path / place) for place in servers_of(VECTORS[name])}
    try:
        run(VECTORS[name], {place: Http(server) for place, server in servers.items()})
    finally:
        for server in servers.values():
            server.close()


@pytest.mark.parametrize("name", sorted(VECTORS.keys() - BEYOND_WORDS.keys()))
def test_the_command_line_conforms(name: str, tmp_path: Path) -> None:
    servers = {place: Server(tmp_path / place) for place in servers_of(VECTORS[name])}
    try:
        run(VECTORS[name], {place: CommandLine(server, tmp_path) for place, server in servers.items()})
    finally:
        for server in servers.values():
            server.close()


def test_vectors_say_what_they_are_and_nothing_that_is_not_documented() -> None:
    for name, vector in VECTORS.items():
        assert vector.keys() - {"clauses"} == {"name", "about", "given", "steps"}
        assert vector["name"] == name
        for step in vector["steps"]:
            assert step.keys() <= STEP_MEMBERS
            assert {"op", "args", "status", "expect"} <= step.keys()
            assert step["op"] in BY_NAME
    assert BEYOND_WORDS.keys() <= VECTORS.keys()


def test_vectors_cover_every_operation_and_every_code_a_decision_can_end_in() -> None:
    steps = [step for vector in VECTORS.values() for step in vector["steps"]]
    assert {step["op"] for step in steps} == set(BELIEFS)
    codes = {step["expect"]["error"]["code"] for step in steps if "error" in step["expect"]}
    assert codes == {
        Code.SESSION_NOT_FOUND,
        Code.SESSION_TERMINATED,
        Code.INVALID_HYPOTHESIS_ID,
        Code.OBLIGATION_NOT_FOUND,
        Code.NOT_FOUND,
        Code.OBSERVATION_NOT_FOUND,
        Code.RUN_NOT_FOUND,
        Code.CONFLICT,
        Code.INVALID_REQUEST,
        Code.FORBIDDEN,
        Code.LEDGER_BROKEN,
    }
