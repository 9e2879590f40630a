"""TypeScript types and a table of routes, made from the OpenAPI document."""

import json
import re
from pathlib import Path
from typing import Any, Final

from beliefd.http.openapi import openapi_document

FOLDER: Final = Path(__file__).parents[2] / "api" / "typescript"
NOTE: Final = "// Written by `python -m scripts.reference`; change the code or that, not this file.\n\n"
PLAIN: Final = {
    "string": "string",
    "integer": "number",
    "number": "number",
    "boolean": "boolean",
    "null": "null",
}
JSON: Final = "application/json"
Json = dict[str, Any]


def files() -> dict[Path, str]:
    document = openapi_document()
    return {FOLDER / "types.d.ts": NOTE + _types(document), FOLDER / "routes.mjs": NOTE + _routes(document)}


def _operations(document: Json) -> list[tuple[str, str, Json]]:
    return [
        (path, method, row)
        for path, methods in document["paths"].items()
        for method, row in methods.items()
        if isinstance(row, dict) and "operationId" in row
    ]


def _types(document: Json) -> str:
    shapes = [_declared(name, schema) for name, schema in document["components"]["schemas"].items()]
    rows = [_row(path, row) for path, _, row in _operations(document)]
    return (
        "\n".join(shapes)
        + "\n/** By operation: what it takes and what it answers. */\n"
        + ("export interface Operations {\n" + "".join(rows) + "}\n")
    )


def _declared(name: str, schema: Json) -> str:
    return f"{_comment(schema, '')}export type {name} = {_type(schema)};\n"


def _comment(schema: Json, indent: str) -> str:
    words = " ".join(str(schema.get("description", "")).split()).replace("*/", "* /")
    return f"{indent}/** {words} */\n" if words else ""


def _row(path: str, row: Json) -> str:
    named = {
        place: {one["name"]: one for one in row.get("parameters", ()) if one["in"] == place}
        for place in ("path", "query", "header")
    }
    body = row.get("requestBody")
    answer = next(one for status, one in sorted(row["responses"].items()) if status.startswith("2"))
    lines = [
        f"  /** {row['summary'].replace('*/', '* /')} */",
        f"  {row['operationId']}: {{",
        f"    path: {_parameters(named['path'], required=True)};",
        f"    query: {_parameters(named['query'])};",
        f"    headers: {_parameters(named['header'])};",
        f"    body: {'undefined' if body is None else _media(body['content'])}"
        f"{'' if body is None or body.get('required') else ' | undefined'};",
        f"    answer: {_media(answer.get('content', {}))};",
        "  };",
    ]
    return "\n".join(lines) + "\n"


def _parameters(found: dict[str, Json], required: bool = False) -> str:
    mark = "" if required else "?"
    told = (f"{_key(name)}{mark}: {_type(one['schema'])};" for name, one in found.items())
    return f"{{ {' '.join(told)} }}"


def _media(content: dict[str, Json]) -> str:
    """What is no JSON comes and goes as text."""
    return _type(content[JSON]["schema"]) if JSON in content else "string"


def _type(schema: Json, indent: str = "") -> str:
    if "$ref" in schema:
        return str(schema["$ref"]).rpartition("/")[2]
    if "enum" in schema:
        return " | ".join(json.dumps(one) for one in schema["enum"])
    if "anyOf" in schema:
        return " | ".join(dict.fromkeys(_type(one, indent) for one in schema["anyOf"]))
    kind = schema.get("type")
    if isinstance(kind, list):
        return " | ".join(PLAIN[one] for one in kind)
    if kind == "array":
        if "prefixItems" in schema:
            return "[" + ", ".join(_type(one, indent) for one in schema["prefixItems"]) + "]"
        return f"Array<{_type(schema.get('items') or {}, indent)}>"
    if kind == "object":
        return _object(schema, indent)
    return PLAIN.get(str(kind), "unknown")


def _object(schema: Json, indent: str) -> str:
    if not schema.get("properties"):
        inner = schema.get("additionalProperties")
        return f"Record<string, {_type(inner, indent) if isinstance(inner, dict) else 'unknown'}>"
    required = set(schema.get("required", ()))
    inside = indent + "  "
    lines = [
        f"{_comment(one, inside)}{inside}{_key(name)}{'' if name in required else '?'}: {_type(one, inside)};"
        for name, one in schema["properties"].items()
    ]
    return "{\n" + "\n".join(lines) + f"\n{indent}}}"


def _key(name: str) -> str:
    return name if re.fullmatch(r"[A-Za-z_]\w*", name) else json.dumps(name)


def _routes(document: Json) -> str:
    lines = [
        f"  {row['operationId']}: {json.dumps([method.upper(), path, *_sent(row)])},"
        for path, method, row in _operations(document)
    ]
    return "/** By operation: method, path, and the media type of its body if it has one. */\n" + (
        "export const ROUTES = {\n" + "\n".join(lines) + "\n};\n"
    )


def _sent(row: Json) -> list[str]:
    return list(row.get("requestBody", {}).get("content", {}))[:1]
