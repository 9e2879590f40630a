"""Asking a model for an answer of a given type: lenient about the wrapping, strict about what is in it."""

import re
from typing import Any, Final, TypeVar

import msgspec

from beliefd.llm.port import Ask, LanguageModel, Message, ModelFailed

T = TypeVar("T")
_FENCED: Final = re.compile(r"```(?:json)?\s*\n(.*?)```", re.DOTALL)
_PATH: Final = re.compile(r" - at `(\$[^`]*)`$")
_UNUSABLE: Final = (msgspec.DecodeError, RecursionError, UnicodeEncodeError)
# Structured output knows a part of JSON Schema. What is left out here is checked when the answer is read.
_LEFT_OUT: Final = frozenset({"title", "description", "default", "minLength", "maxLength"})


async def asked(model: LanguageModel, kind: type[T], messages: list[Message], **settings: Any) -> T:
    """The model's answer as this type. A bad one is sent back once, with what is wrong with it."""
    schema = strict_schema(kind)
    first = await model.ask(Ask(messages=messages, schema=schema, **settings))
    try:
        return parsed(first.text, kind)
    except _UNUSABLE as error:
        complaint = f"That is not an answer of the asked-for form: {error}. Reply with the JSON alone."
    again = [*messages, Message("assistant", first.text), Message("user", complaint)]
    second = await model.ask(Ask(messages=again, schema=schema, **settings))
    try:
        return parsed(second.text, kind)
    except _UNUSABLE as error:
        # The path is ours; the rest of the complaint may repeat what the model wrote.
        at = _PATH.search(str(error))
        place = f" at `{at[1]}`" if at else ""
        raise ModelFailed(f"model `{model.name}` does not keep to the asked-for form{place}") from None


def parsed(text: str, kind: type[T]) -> T:
    """JSON in a model's text, with or without a fence or a few words around it."""
    body = text.strip()
    if fenced := _FENCED.search(body):
        body = fenced[1].strip()
    elif not body.startswith("{"):
        body = body[body.find("{") : body.rfind("}") + 1]
    return msgspec.json.decode(body, type=kind)


def strict_schema(kind: type) -> dict[str, Any]:
    """The JSON Schema of a type as structured output wants it: an object at the root, nothing optional."""
    (root,), components = msgspec.json.schema_components([kind], ref_template="#/$defs/{name}")
    name = root["$ref"].rpartition("/")[2]
    found: dict[str, Any] = _strict(components.pop(name))
    return {**found, "$defs": _strict(components)} if components else found


def _strict(schema: Any) -> Any:
    if isinstance(schema, list):
        return [_strict(item) for item in schema]
    if not isinstance(schema, dict):
        return schema
    made = {key: _strict(value) for key, value in schema.items() if key not in _LEFT_OUT}
    if isinstance(schema.get("properties"), dict):
        # Members may be called like keywords, so they are gone through by name.
        made["properties"] = {name: _strict(value) for name, value in schema["properties"].items()}
        made |= {"required": list(made["properties"]), "additionalProperties": False}
    return made


def quoted(text: str) -> str:
    """Foreign text between marks that it cannot close."""
    return "<data>" + text.replace("<", "‹").replace(">", "›") + "</data>"
