"""The published truth table: policies, states and calls, each with the verdict it must get."""

from typing import Any

from msgspec import Struct

from beliefd.kernel.policy import Policy
from beliefd.kernel.strict_json import loads
from beliefd.testing.world import policy
from tests.conformance.node import CONFORMANCE


class Case(Struct, frozen=True):
    name: str
    rules: Policy
    state: dict[str, Any]
    call: dict[str, Any]
    expect: dict[str, Any]

    def __str__(self) -> str:
        return self.name


def load_cases() -> list[Case]:
    found = []
    for path in sorted((CONFORMANCE / "vectors" / "substrate").glob("*.json")):
        vector = loads(path.read_bytes())
        assert vector["name"] == path.stem
        assert vector.keys() - {"clauses"} == {"name", "about", "schemas", "tools", "cases"}
        for case in vector["cases"]:
            given = policy(constraints=case["constraints"], schemas=vector["schemas"], tools=vector["tools"])
            found.append(
                Case(f"{path.stem}: {case['name']}", given, case["state"], case["call"], case["expect"])
            )
    return found


CASES = load_cases()
