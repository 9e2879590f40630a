"""What the schema of a tool says about its arguments, as far as policies read them."""

from collections.abc import Iterable
from typing import Any, Final

from beliefd.policy.proving.conditions import named_in
from beliefd.policy.proving.domains import ELSEWHERE, NOTES, Domain, in_common
from beliefd.policy.proving.logic import Formula, both, implied
from beliefd.policy.proving.paths import ARGS

OBJECT_WORDS: Final = NOTES | {"type", "properties", "required", "additionalProperties"}


def fits_arguments(schema: Any, domains: Iterable[Domain]) -> tuple[Formula, bool]:
    """What arguments that fit hold at these paths, and whether everything that fits so does fit.

    Nothing is said that could be wrong: what is not understood is left out, and then it is not exact.
    """
    schema = in_common(schema)
    by_path = {domain.path.removeprefix(f"{ARGS}."): domain for domain in domains}
    found, exact = list[Formula](), _is_plain(schema)
    properties = schema.get("properties", {})
    for name, domain in by_path.items():
        formula, precise = _at(schema, name.split("."), domain)
        found.append(formula)
        exact = exact and precise
    # What nobody reads may still be wrong.
    exact = exact and {*properties, *schema.get("required", ())} <= by_path.keys()
    return both(*found), exact and schema.get("additionalProperties", True) is True


def learn_arguments(schema: Any, domain: Domain) -> None:
    """The values that the schema of a tool names for an argument, or for a field of one."""
    for step in domain.path.removeprefix(f"{ARGS}.").split("."):
        schema = schema.get("properties", {}).get(step) if isinstance(schema, dict) else None
    for literal in named_in(schema):
        domain.learn(literal)


def _at(schema: dict[str, Any], steps: list[str], domain: Domain) -> tuple[Formula, bool]:
    if not ELSEWHERE.isdisjoint(schema):
        return True, False
    properties, head = schema.get("properties", {}), steps[0]
    closed = schema.get("additionalProperties") is False and "patternProperties" not in schema
    if len(steps) > 1:
        return _inside(schema, steps, domain) if closed else (True, False)
    needed = domain.present() if head in schema.get("required", ()) else True
    if head not in properties:
        open_to = (domain.absent(), True) if closed else (True, "additionalProperties" not in schema)
        return both(needed, open_to[0]), open_to[1]
    fits, exact = domain.fits_schema(properties[head])
    return both(needed, implied(domain.present(), fits)), exact


def _inside(schema: dict[str, Any], steps: list[str], domain: Domain) -> tuple[Formula, bool]:
    """A field of an argument. Only where no argument's own name can be meant instead."""
    properties = schema.get("properties", {})
    if any("." in name for name in properties):
        return True, False
    inner = properties.get(steps[0])
    if inner is None:
        return domain.absent(), True
    if isinstance(inner, dict) and inner.get("type") == "object":
        formula, _ = _at({**inner, "required": ()}, steps[1:], domain)
        return formula, False
    return True, False


def _is_plain(schema: dict[str, Any]) -> bool:
    return schema.keys() <= OBJECT_WORDS and schema.get("type", "object") == "object"
