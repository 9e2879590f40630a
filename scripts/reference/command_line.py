"""The help of every command, and the methods of the Python library."""

import inspect
import re
from collections.abc import Callable, Iterator
from typing import Any, Final

import click
from scripts.reference.types import table

import beliefd
from beliefd.cli.main import main
from beliefd.client.synchronous import Calls

WIDTH: Final = 100
_MODULES: Final = re.compile(r"\b(?:\w+\.)+(?=[A-Z])")


def commands() -> str:
    text = (
        "# Command line\n\nThe help of every command, as `beliefd ... --help` prints it.\n\n"
        "Exit codes are in [settings](settings.md#exit-codes). Every command that answers takes `--json`.\n"
    )
    for name, command in _walk("beliefd", main):
        # The names of the help option come down from `main`, but click keeps those it saw first.
        if hasattr(command, "_help_option"):
            setattr(command, "_help_option", None)  # noqa: B010 - not ours to name
        context = click.Context(
            command,
            info_name=name,
            terminal_width=WIDTH,
            max_content_width=WIDTH,
            help_option_names=["-h", "--help"],
        )
        shown = command.get_help(context)
        text += f"\n## {name}\n\n```text\n{shown}\n```\n"
    return text


def _walk(name: str, command: click.Command) -> Iterator[tuple[str, click.Command]]:
    yield name, command
    if isinstance(command, click.Group):
        for inner, sub in command.commands.items():
            yield from _walk(f"{name} {inner}", sub)


def python() -> str:
    found = inspect.getmembers(Calls, inspect.isfunction)
    methods = {name: method for name, method in found if not name.startswith("_")}
    rows = ([f"[`{name}`](#{name})", _first_line(method)] for name, method in methods.items())
    text = (
        "# Python library\n\nWhat `import beliefd` exports, and the methods that all clients have.\n\n"
        f"{table(('name', 'what it is'), _exports())}\n"
        "`AsyncClient` and `open_async` have the same methods as coroutines. An error answer is raised as\n"
        "`BeliefdError` with `code`, `message` and `details`; see [errors](errors.md).\n\n"
        f"## Methods\n\n{table(('method', 'what it does'), rows)}"
    )
    for name, method in methods.items():
        text += f"\n### {name}\n\n```text\n{_signature(name, method)}\n```\n"
    return text


def _exports() -> Iterator[list[str]]:
    for name in beliefd.__all__:
        thing = getattr(beliefd, name)
        yield [f"`{name}`", f"`{thing}`" if isinstance(thing, str) else _first_line(thing)]


def _first_line(thing: Any) -> str:
    return (inspect.getdoc(thing) or "").split("\n")[0]


def _signature(name: str, method: Callable[..., Any]) -> str:
    found = inspect.signature(method)
    given: list[str] = []
    for parameter in list(found.parameters.values())[1:]:
        if parameter.kind is inspect.Parameter.KEYWORD_ONLY and "*" not in given:
            given.append("*")
        given.append(_spelt(parameter))
    answer = _type(found.return_annotation)
    line = f"{name}({', '.join(given)}) -> {answer}"
    if len(line) <= WIDTH:
        return line
    return f"{name}(\n" + "".join(f"    {one},\n" for one in given) + f") -> {answer}"


def _spelt(parameter: inspect.Parameter) -> str:
    text = f"{parameter.name}: {_type(parameter.annotation)}"
    return text if parameter.default is inspect.Parameter.empty else f"{text} = {parameter.default!r}"


def _type(annotation: Any) -> str:
    return _MODULES.sub("", inspect.formatannotation(annotation))
