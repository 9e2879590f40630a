"""The agent's verbs as tools: derived from the operations table, so that a new verb is a new tool."""

from functools import cache
from typing import Any, Final

import mcp_types as types
import msgspec
from msgspec import Struct

from beliefd.client.requests import Request
from beliefd.kernel.errors import invalid
from beliefd.kernel.values import Role
from beliefd.protocol.beliefs import BeliefRows
from beliefd.protocol.claims import ClaimRows
from beliefd.protocol.operation import Operation
from beliefd.protocol.operations import OPERATIONS
from beliefd.protocol.rights import Right
from beliefd.protocol.substrate import SubstrateRows

KEY: Final = "idempotency_key"
BODY: Final = "body"
VERB: Final = "verb"
DEFINITIONS: Final = "$defs"
REFERENCE: Final = "$ref"
USUAL: Final = frozenset({BeliefRows.tag(), ClaimRows.tag()})
USUAL_READING: Final = frozenset({SubstrateRows.tag()})


def is_agents(operation: Operation) -> bool:
    """INVARIANT: no verb that approves, decides or administers: those need other rights than an agent has.
    And none of those who stand beside an agent: it would say itself what the user said."""
    if (
        operation.beside
        or operation.needs not in (Right.READ, Right.PROPOSE)
        or Role.AGENT not in operation.roles
    ):
        return False
    is_json = not operation.stream and not operation.content and operation.answer is not bytes
    return is_json and operation.media == "application/json"


def is_usual(operation: Operation) -> bool:
    """Is it offered where nobody says what is? Every tool costs a model a part of its attention."""
    return operation.tag in USUAL or (operation.tag in USUAL_READING and not operation.writes)


class Verb(Struct, frozen=True):
    """An operation as a tool: which arguments go where."""

    operation: Operation
    tool: types.Tool
    flat: bool

    def request(self, given: dict[str, Any]) -> Request[Any]:
        """The request that these arguments make. The server checks what they hold."""
        operation = self.operation
        rest = dict(given)
        missing = [name for name in operation.path_names if name not in rest]
        if missing:
            raise invalid(f"`{missing[0]}` is missing", f"$.{missing[0]}")
        path = {name: str(rest.pop(name)) for name in operation.path_names}
        asked = {
            one.name: _written(rest.pop(one.name))
            for one in operation.query
            if rest.get(one.name) is not None
        }
        key = rest.pop(KEY, None) if operation.idempotency_key else None
        body: Any = None
        if operation.body is not None:
            body = rest if self.flat else rest.pop(BODY, {})
        if not self.flat and rest:
            raise invalid(f"unknown argument `{next(iter(rest))}`", f"$.{next(iter(rest))}")
        return Request(operation, path, asked, body, key=None if key is None else str(key))


def _written(value: Any) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


@cache
def verbs() -> dict[str, Verb]:
    return {one.name: _verb(one) for one in OPERATIONS if is_agents(one)}


def _verb(operation: Operation) -> Verb:
    properties: dict[str, Any] = {name: {"type": "string"} for name in operation.path_names}
    required = list(operation.path_names)
    for parameter in operation.query:
        properties[parameter.name] = {**_schema_of(parameter.kind), "description": parameter.summary}
    if operation.idempotency_key:
        told = "Sending the same key again changes nothing and gets the first answer"
        properties[KEY] = {"type": "string", "description": told}
    schema = {"type": "object", "properties": properties, "additionalProperties": False}
    body = {} if operation.body is None else _schema_of(operation.body)
    own = {name: one for name, one in body.get("properties", {}).items() if name not in (VERB, *required)}
    flat = not body or (body.get("type") == "object" and not own.keys() & properties.keys())
    if flat:
        properties.update(own)
        required += [name for name in body.get("required", []) if name in own]
    else:
        properties[BODY] = {name: value for name, value in body.items() if name != DEFINITIONS}
        required.append(BODY)
    schema = _with_used({**schema, "required": required}, body.get(DEFINITIONS, {}))
    return Verb(operation, _tool(operation, schema), flat)


def _tool(operation: Operation, schema: dict[str, Any]) -> types.Tool:
    answer = _schema_of(operation.answer)
    return types.Tool(
        name=operation.name,
        description=f"{operation.summary}.",
        input_schema=schema,
        output_schema=answer if answer.get("type") == "object" else None,
        annotations=types.ToolAnnotations(
            read_only_hint=not operation.writes,
            destructive_hint=operation.method == "DELETE",
            idempotent_hint=not operation.writes or operation.idempotency_key,
            open_world_hint=False,
        ),
    )


def _schema_of(kind: Any) -> dict[str, Any]:
    """The schema of a type, without patterns: models cannot read them, and the server checks."""
    schema = msgspec.json.schema(kind)
    definitions = schema.pop(DEFINITIONS, {})
    reference = schema.get(REFERENCE)
    if reference is not None:  # it only refers to one of its definitions
        schema = definitions[_name_in(reference)]
    found: dict[str, Any] = _without_patterns(_with_used(schema, definitions))
    return found


def _with_used(schema: dict[str, Any], definitions: dict[str, Any]) -> dict[str, Any]:
    """The schema with those definitions that it refers to, itself or through others."""
    used: dict[str, Any] = {}
    waiting = _referred(schema)
    while waiting:
        name = waiting.pop()
        if name not in used:
            used[name] = definitions[name]
            waiting |= _referred(used[name])
    kept = {name: one for name, one in definitions.items() if name in used}
    return {**schema, DEFINITIONS: kept} if kept else schema


def _referred(value: Any) -> set[str]:
    if isinstance(value, list):
        return set().union(*map(_referred, value))
    if not isinstance(value, dict):
        return set()
    own = value.get(REFERENCE)
    named = {_name_in(own)} if isinstance(own, str) else set()
    return named.union(*map(_referred, value.values()))


def _name_in(reference: str) -> str:
    return reference.rpartition("/")[2]


def _without_patterns(value: Any) -> Any:
    if isinstance(value, list):
        return [_without_patterns(one) for one in value]
    if not isinstance(value, dict):
        return value
    left_out = ("pattern",) if value.get("type") == "string" else ()
    return {name: _without_patterns(one) for name, one in value.items() if name not in left_out}
