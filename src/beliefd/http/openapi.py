"""OpenAPI 3.1 from the operations table. `python -m beliefd.http.openapi` prints it as YAML."""

import re
from collections import Counter
from functools import cache
from types import UnionType
from typing import Any, Final, Literal, Union, get_args, get_origin

import msgspec
from msgspec import Struct
from msgspec.structs import fields

from beliefd import __version__
from beliefd.http.headers import NOTES_PATTERN
from beliefd.kernel.errors import Code, ErrorShape
from beliefd.kernel.policy import Policy
from beliefd.kernel.values import MAX_NOTES, Id
from beliefd.ledger.envelope import Entry
from beliefd.protocol.answers import answer_of, kept_answers
from beliefd.protocol.beliefs import BeliefSnapshot, Health
from beliefd.protocol.operations import OPERATIONS, VOCABULARIES, Operation, Parameter
from beliefd.protocol.property_words import words_for
from beliefd.protocol.statuses import STATUS
from beliefd.steward.dispatch import KEY_PATTERN

Json = dict[str, Any]

DESCRIPTION: Final = """\
Agents propose, beliefd decides, and one append-only ledger per session remembers why.

Every error has the same shape: `error.code` never changes its meaning, `error.details.path` points at the bad
field. A command that was understood but turned down is on record: `error.details.audit_event_id` names the
entry.

Objects that are stored and not interpreted (`metadata`, `justification`, `context`) take any JSON that every
parser reads alike: no repeated keys, no integers past 2^53 - 1, at most 60 levels.
"""
SERVER: Final = {"name": "server", "description": "Is it well?"}
TEXT: Final[Json] = {"type": "string"}
BYTES: Final[Json] = {"type": "string", "format": "binary"}
_SENTENCES: Final = re.compile(r"(?<=[.:]) (?=[A-Z`])")
ETAG: Final[Json] = {
    "description": "The event id of the session's head, to send back as If-Match or If-None-Match;"
    " of content, its SHA-256",
    "schema": TEXT,
}


def _header(name: str, description: str, schema: Json) -> Json:
    return {"name": name, "in": "header", "description": description, "schema": schema}


IF_MATCH: Final = _header(
    "If-Match",
    "Act only if this event is still the head, otherwise answer `CONFLICT`",
    {"type": "string", "pattern": '^(\\*|"[!#-+\\--~]{1,512}")$'},
)
IF_NONE_MATCH: Final = _header(
    "If-None-Match", "Answer 304 if the head is still this event; of content, if this is its SHA-256", TEXT
)
IDEMPOTENCY_KEY: Final = _header(
    "Idempotency-Key",
    "A retry with the same key gets the first answer and changes nothing",
    {"type": "string", "pattern": KEY_PATTERN, "minLength": 1, "maxLength": 255},
)
AUDIT_NOTES: Final = _header(
    "Audit-Notes",
    f"Stands in the record of the event, for people: 1 to {MAX_NOTES} characters of UTF-8, in which any byte"
    " may be percent-encoded, and `%` must be",
    {"type": "string", "pattern": NOTES_PATTERN},
)
LAST_EVENT_ID: Final = _header(
    "Last-Event-ID",
    "The `id` of the last event that arrived; the feed goes on after it",
    {"type": "integer", "minimum": 0},
)


@cache
def openapi_document() -> Json:
    refs, schemas = _schemas()
    responses: Json = {}
    paths: Json = {}
    for operation in OPERATIONS:
        described = _operation(operation, refs, schemas, responses)
        paths.setdefault(operation.path, {})[operation.method.lower()] = described
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "beliefd",
            "version": __version__,
            "summary": "A belief server with an epistemic firewall for AI agents",
            "description": DESCRIPTION,
            "license": {"name": "Apache-2.0", "identifier": "Apache-2.0"},
        },
        "servers": [{"url": "http://127.0.0.1:8642"}],
        "tags": [*({"name": one.tag(), "description": one.__doc__} for one in VOCABULARIES), SERVER],
        # Where no token has ever been made, programs on the same machine are let in as `agent://local`.
        "security": [{"bearer": []}, {}],
        "paths": {**paths, **_server_paths(refs, responses)},
        "components": {
            "schemas": schemas,
            "responses": dict(sorted(responses.items())),
            "securitySchemes": {"bearer": {"type": "http", "scheme": "bearer"}},
        },
    }


def _schemas() -> tuple[dict[Any, Json], Json]:
    """A reference for every type that crosses the wire, and the schemas that the references lead to."""
    bodies = [operation.body for operation in OPERATIONS if operation.body is not None]
    answers = [one.answer for one in OPERATIONS if not one.stream and one.answer is not bytes]
    types = list(dict.fromkeys([*bodies, *answers, ErrorShape, Health, Entry]))
    made = msgspec.json.schema_components(types, ref_template="#/components/schemas/{name}")
    refs, schemas = _with_short_names(*made)
    for operation in OPERATIONS:
        if operation.body is not None:
            _relax(schemas[operation.body.__name__], operation)
    for section in fields(Policy):
        if isinstance(section.type, type) and issubclass(section.type, Struct):
            _name_keys(section.type, schemas)
    _describe(schemas)
    entry = schemas["Entry"]
    hashed = words_for("Entry", "hash")
    entry["properties"]["hash"] = {"type": "string", "pattern": "^[0-9a-f]{64}$", "description": hashed}
    entry["required"].append("hash")
    by_type: dict[Any, Json] = dict(zip(types, refs, strict=True))
    schemas["AuditPage"]["properties"]["events"]["items"] = by_type[Entry]
    return by_type, dict(sorted(schemas.items()))


def _describe(schemas: Json) -> None:
    """By the sentence of its type's docstring that names a property, or by the words kept for it."""
    for kind, schema in schemas.items():
        sentences = _SENTENCES.split(" ".join(schema.get("description", "").split()))
        for name, described in schema.get("properties", {}).items():
            told = next((one for one in sentences if f"`{name}`" in one), words_for(kind, name))
            if told is not None:
                described.setdefault("description", told)


def _with_short_names(refs: tuple[Json, ...], schemas: Json) -> tuple[list[Json], Json]:
    """Where an event and an answer share a name, msgspec tells them apart by module; we by what they are."""
    text = msgspec.json.encode([refs, schemas]).decode()
    shared = [name for name, count in Counter(map(_short_name, schemas)).items() if count > 1]
    if shared:  # INVARIANT: one name, one shape; else one would be described in place of the other
        raise ValueError(f"several shapes are called {shared[0]}")
    for name in schemas:
        if "." in name:
            text = text.replace(name, _short_name(name))
    short_refs, short_schemas = msgspec.json.decode(text)
    return short_refs, short_schemas


def _short_name(name: str) -> str:
    module, _, short = name.rpartition(".")
    return f"{short}Event" if module.endswith(".events") else short


def _name_keys(kind: type[Struct], schemas: Json) -> None:
    """Of tables whose keys are choices, msgspec describes the values alone."""
    for field in fields(kind):
        _name_keys_in(field.type, schemas[kind.__name__]["properties"][field.encode_name])


def _name_keys_in(kind: Any, described: Any) -> None:
    if get_origin(kind) is dict and isinstance(described, dict):
        key, value = get_args(kind)
        if get_origin(key) is Literal:
            described["propertyNames"] = {"enum": list(get_args(key))}
        _name_keys_in(value, described.get("additionalProperties"))
    elif get_origin(kind) in (Union, UnionType) and isinstance(described, dict):
        tables = (one for one in get_args(kind) if get_origin(one) is dict)
        objects = (one for one in described.get("anyOf", ()) if one.get("type") == "object")
        for table, place in zip(tables, objects, strict=False):
            _name_keys_in(table, place)


def _relax(body: Json, operation: Operation) -> None:
    """A body may leave out the verb and what the path says, or repeat them."""
    known = {"verb", *operation.path_names}
    body["required"] = [name for name in body.get("required", ()) if name not in known]
    if "session_id" in known and "verb" in body["properties"]:
        body["properties"]["session_id"] = {"type": "string", "description": "The one in the path, if any"}


def _operation(operation: Operation, refs: dict[Any, Json], schemas: Json, responses: Json) -> Json:
    described: Json = {
        "operationId": operation.name,
        "summary": operation.summary,
        "tags": [operation.tag],
        "parameters": _parameters(operation),
    }
    if operation.takes_body:
        described["requestBody"] = _request_body(operation, refs, schemas)
    described["responses"] = {
        str(operation.status): _success(operation, refs),
        **_failures(operation, refs, responses),
    }
    return described


PATH_WORDS: Final = {
    "sha256": "SHA-256 of the content, in hex",
    "hypothesis": "A hypothesis of the session, by its id",
    "join_key": "The key under which a call was announced",
}
"""Of values in paths that are no ids of something that the server has named."""


def _parameters(operation: Operation) -> list[Json]:
    found: list[Json] = [
        {
            "name": name,
            "in": "path",
            "required": True,
            "description": PATH_WORDS.get(name, f"Which {name.removesuffix('_id').replace('_', ' ')}"),
            "schema": msgspec.json.schema(operation.path_kinds.get(name, Id)),
        }
        for name in operation.path_names
    ]
    found += [_query_parameter(parameter) for parameter in operation.query]
    if operation.if_match:
        found.append(IF_MATCH)
    if operation.idempotency_key:
        found.append(IDEMPOTENCY_KEY)
    if operation.notes:
        found.append(AUDIT_NOTES)
    if operation.method == "GET" and _has_etag(operation):
        found.append(IF_NONE_MATCH)
    if operation.media == "text/event-stream":
        found.append(LAST_EVENT_ID)
    return found


def _query_parameter(parameter: Parameter) -> Json:
    schema = msgspec.json.schema(parameter.kind)
    if parameter.default is not None:
        schema["default"] = parameter.default
    told: Json = {"name": parameter.name, "in": "query", "description": parameter.summary, "schema": schema}
    return {**told, "required": True} if parameter.required else told


def _request_body(operation: Operation, refs: dict[Any, Json], schemas: Json) -> Json:
    if operation.body is None:
        required = not operation.stream  # a batch without lines is answered without lines
        schema: Json = {"type": "string", "minLength": int(required), "description": operation.content}
    else:
        schema = refs[operation.body]
        required = bool(schemas[operation.body.__name__].get("required"))
    media = {"schema": schema, "example": operation.example}
    return {"required": required, "content": {operation.body_media: media}}


def _success(operation: Operation, refs: dict[Any, Json]) -> Json:
    if operation.stream:
        content = _content(operation.media, TEXT, answer_of(operation))
        answer: Json = {"description": operation.stream, "content": content}
    elif operation.answer is bytes:
        content = {**_content(operation.media, BYTES), **_content("text/plain", TEXT, answer_of(operation))}
        answer = {"description": operation.summary, "content": content}
    else:
        content = _content(operation.media, refs[operation.answer], answer_of(operation))
        answer = {"description": operation.summary, "content": content}
    if _has_etag(operation):
        answer["headers"] = {"ETag": ETAG}
    return answer


def _has_etag(operation: Operation) -> bool:
    """An answer that shows a session goes by the session's head, and content by its hash."""
    if operation.answer is bytes:
        return not operation.stream
    fields = getattr(operation.answer, "__struct_fields__", ())
    return operation.answer is BeliefSnapshot or "snapshot" in fields


UNAVAILABLE: Final = (Code.STORAGE_UNAVAILABLE, Code.TOO_BUSY, Code.TIMED_OUT)


def _failures(operation: Operation, refs: dict[Any, Json], responses: Json) -> Json:
    codes = [Code.INVALID_REQUEST, Code.UNAUTHORIZED, Code.FORBIDDEN, *operation.codes]
    if "{session_id}" in operation.path:
        codes += [Code.SESSION_NOT_FOUND, Code.SESSION_ARCHIVED]
    if operation.takes_body:
        codes += [Code.PAYLOAD_TOO_LARGE, Code.UNSUPPORTED_MEDIA_TYPE]
    codes += [Code.LEDGER_BROKEN, Code.RATE_LIMITED, Code.INTERNAL, *UNAVAILABLE]
    found = _errors(codes, refs, responses)
    if operation.method == "GET" and _has_etag(operation):
        told = "If-None-Match names what is still the head, or the content that was asked for"
        return {"304": {"description": told}, **found}
    return found


def _errors(codes: list[Code], refs: dict[Any, Json], responses: Json) -> Json:
    """References by status; what they refer to is added to `responses`."""
    found: Json = {}
    for status in sorted({STATUS[code] for code in codes}):
        here = sorted(code for code in codes if STATUS[code] == status)
        name = ".".join(here)
        responses[name] = {
            "description": ", ".join(f"`{code}`" for code in here),
            "content": _content("application/json", refs[ErrorShape]),
        }
        found[str(status)] = {"$ref": f"#/components/responses/{name}"}
    return found


def _server_paths(refs: dict[Any, Json], responses: Json) -> Json:
    healthy = _content("application/json", refs[Health], kept_answers()["health"])
    well = {"200": {"description": "It is well", "content": healthy}}
    away = _errors([Code.STORAGE_UNAVAILABLE, Code.INTERNAL], refs, responses)
    counted = {"200": {"description": "Prometheus' text format", "content": _content("text/plain", TEXT)}}
    document = {
        "200": {"description": "OpenAPI", "content": _content("application/json", {"type": "object"})}
    }
    rows: list[tuple[str, str, str, Json]] = [
        ("/healthz", "health", "Does the process answer?", well),
        ("/readyz", "ready", "Would the store take a write?", {**well, **away}),
        ("/metrics", "metrics", "Counters and latencies", counted),
        ("/openapi.json", "openapi", "This document", document),
    ]
    return {
        path: {
            "get": {
                "operationId": name,
                "summary": summary,
                "tags": [SERVER["name"]],
                "security": [],
                "responses": made,
            }
        }
        for path, name, summary, made in rows
    }


def _content(media: str, schema: Json, example: Any = None) -> Json:
    return {media: {"schema": schema} if example is None else {"schema": schema, "example": example}}


def as_yaml() -> str:
    import yaml

    class Dumper(yaml.SafeDumper):
        """Writes every value where it stands (nobody reads anchors), and texts as they are."""

        def ignore_aliases(self, data: Any) -> bool:
            return True

    Dumper.add_representer(
        str,
        lambda dumper, text: dumper.represent_scalar(
            "tag:yaml.org,2002:str", text, style="|" if "\n" in text else None
        ),
    )
    return yaml.dump(openapi_document(), Dumper=Dumper, sort_keys=False, allow_unicode=True, width=110)


if __name__ == "__main__":
    print(as_yaml(), end="")
