"""Stories as conformance/README.md describes them: load, fill in, carry out, compare."""

import json
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from string import Formatter
from typing import Any, Final, Protocol

from msgspec import Struct

from beliefd.client.requests import Request
from beliefd.conformance.places import FOLDER
from beliefd.kernel.strict_json import loads
from beliefd.protocol.operations import BY_NAME

STORY_MEMBERS = {"name", "about", "clauses", "given", "steps"}
"""`clauses` is left out where a story is about something that no specification asks for."""
STEP_MEMBERS = {
    *("on", "as", "tier", "op", "args", "if_match", "key", "notes", "status", "save", "expect", "lacks"),
    *("until", "meanwhile"),
}
ASK_AGAIN: Final = 0.02
PATIENCE: Final = 60.0
"""For so many seconds a question with `until` is asked again."""


class Step(Struct, frozen=True):
    """One request of a vector, with every `$name` filled in."""

    op: str
    args: dict[str, Any]
    role: str
    tier: str
    if_match: str | None
    key: str | None
    notes: str | None = None


class Mismatch(AssertionError):
    """An answer that is not what the story tells."""


class Surface(Protocol):
    """Something that answers: the library, a server, the command line."""

    def call(self, step: Step) -> tuple[int | None, Any]:
        """The status, where there is one, and the answer as JSON (an error as its error shape)."""
        ...


def load_all(chapter: str = "sessions") -> dict[str, dict[str, Any]]:
    paths = sorted((FOLDER / "vectors" / chapter).glob("*.json"))
    return {path.stem: load(path) for path in paths}


def load(path: Path) -> dict[str, Any]:
    vector: dict[str, Any] = loads(path.read_bytes())
    return vector


def servers_of(vector: dict[str, Any]) -> list[str]:
    """The names of the servers that a story speaks to."""
    return sorted({"a", *(step["on"] for step in all_steps(vector["steps"]) if "on" in step)})


def run(vector: dict[str, Any], surfaces: dict[str, Surface]) -> None:
    """Carry a vector out; `surfaces` are its servers by name, `a` being the usual one."""
    _Telling(vector["name"], surfaces, dict(vector["given"])).tell(vector["steps"])


def all_steps(steps: list[dict[str, Any]]) -> Iterator[dict[str, Any]]:
    """Those that are carried out meanwhile, too."""
    for step in steps:
        yield step
        yield from all_steps(step.get("meanwhile", []))


class _Telling(Struct):
    """A story as it is carried out: with whom, and what was saved."""

    name: str
    surfaces: dict[str, Surface]
    saved: dict[str, Any]

    def tell(self, steps: list[dict[str, Any]], within: str = "") -> None:
        for number, raw in enumerate(steps, 1):
            self._carry_out(raw, f"{within}{number}")

    def _carry_out(self, raw: dict[str, Any], number: str) -> None:
        step = Step(
            op=raw["op"],
            args=filled(raw["args"], self.saved),
            role=raw.get("as", "agent"),
            tier=raw.get("tier", "PRIVILEGE"),
            if_match=filled(raw.get("if_match"), self.saved),
            key=raw.get("key"),
            notes=raw.get("notes"),
        )
        where = f"{self.name}, step {number} ({step.op})"
        end = time.monotonic() + (PATIENCE if raw.get("until") else 0)
        while True:
            status, answer = self._answered(step, raw, number)
            found = [] if status in (None, raw["status"]) else [f"status {status}, expected {raw['status']}"]
            found += mismatches(filled(raw["expect"], self.saved), answer, "$")
            if not found or time.monotonic() >= end:
                break
            time.sleep(ASK_AGAIN)
        if status not in (None, raw["status"]):
            raise Mismatch(f"{where}: {found[0]}; the answer was {answer}")
        self.saved |= {name: pointed(answer, pointer) for name, pointer in raw.get("save", {}).items()}
        found = mismatches(filled(raw["expect"], self.saved), answer, "$")
        found += _present(filled(raw.get("lacks", []), self.saved), answer)
        if found:
            raise Mismatch(f"{where}: {'; '.join(found)}")

    def _answered(self, step: Step, raw: dict[str, Any], number: str) -> tuple[int | None, Any]:
        """Between question and answer, what is told `meanwhile` happens."""
        surface = self.surfaces[raw.get("on", "a")]
        if "meanwhile" not in raw:
            return surface.call(step)
        with ThreadPoolExecutor(1) as beside:
            answer = beside.submit(surface.call, step)
            self.tell(raw["meanwhile"], f"{number}.")
            return answer.result()


def _present(texts: list[str], answer: Any) -> list[str]:
    """Texts that stand somewhere in an answer."""
    whole = json.dumps(answer, ensure_ascii=False)
    return [f"`{text}` is in the answer" for text in texts if text in whole]


def filled(value: Any, saved: dict[str, Any]) -> Any:
    """`$name` becomes what was saved under that name; `$$` at the start stands for one `$`."""
    if isinstance(value, str) and value.startswith("$$"):
        return value[1:]
    if isinstance(value, str) and value.startswith("$"):
        return saved.get(value[1:], value)
    if isinstance(value, list):
        return [filled(item, saved) for item in value]
    if isinstance(value, dict):
        return {name: filled(item, saved) for name, item in value.items()}
    return value


def pointed(answer: Any, pointer: str) -> Any:
    for name in pointer.split("/")[1:]:
        answer = answer[int(name)] if isinstance(answer, list) else answer[name]
    return answer


def mismatches(expected: Any, actual: Any, path: str) -> list[str]:
    """Objects hold at least what is expected, lists exactly as many items, the rest is equal as JSON."""
    if isinstance(expected, dict) and isinstance(actual, dict):
        return [
            problem
            for name, value in expected.items()
            for problem in (
                mismatches(value, actual[name], f"{path}.{name}")
                if name in actual
                else [f"{path}.{name} is missing"]
            )
        ]
    if isinstance(expected, list) and isinstance(actual, list) and len(expected) == len(actual):
        return [
            problem
            for at, (left, right) in enumerate(zip(expected, actual, strict=True))
            for problem in mismatches(left, right, f"{path}[{at}]")
        ]
    same = expected == actual and isinstance(expected, bool) == isinstance(actual, bool)
    return [] if same else [f"{path} is {json.dumps(actual)[:200]}, expected {json.dumps(expected)[:200]}"]


def request(step: Step) -> Request:
    """The step as a request: what the path and the query do not take goes into the body."""
    operation = BY_NAME[step.op]
    args = dict(step.args)
    in_path = {name for _, name, _, _ in Formatter().parse(operation.path) if name}
    in_query = {parameter.name for parameter in operation.query}
    path = {name: str(args.pop(name)) for name in sorted(in_path)}
    query = {name: str(args.pop(name)) for name in sorted(in_query & set(args))}
    body: Any = args if operation.method in ("POST", "PUT") else None
    for raw in ("ledger", "content"):
        if raw in args and operation.body is None:
            body = args[raw].encode()
    if "lines" in args:
        body = b"".join(json.dumps(line).encode() + b"\n" for line in args["lines"])
    return Request(operation, path, query, body, step.if_match, step.key, step.notes)


def answered(op: str, data: bytes) -> Any:
    """The bytes of an answer as the vector sees them."""
    if op == "read_content" and not data.startswith(b'{"error"'):
        return {"content": data.decode()}
    if op == "export" and not data.startswith(b'{"error"'):
        return {"ledger": data.decode()}
    if op == "batch" and not data.startswith(b'{"error"'):
        return {"answers": [loads(line) for line in data.splitlines()]}
    return loads(data)
