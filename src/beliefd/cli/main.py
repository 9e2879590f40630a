"""The `beliefd` command. Each module of `beliefd.cli.commands` is one command, imported when it is used."""

from collections.abc import Iterator, Mapping
from importlib import import_module
from pkgutil import iter_modules
from typing import TYPE_CHECKING, Any

import click

from beliefd import __version__
from beliefd.cli import commands
from beliefd.protocol.visible import visible_lines

if TYPE_CHECKING:
    from click.shell_completion import CompletionItem

CONTEXT = {"help_option_names": ["-h", "--help"], "max_content_width": 100}


class CommandModules(Mapping[str, click.Command]):
    """Commands by the names of their modules: listing the names imports none of them."""

    def __init__(self) -> None:
        self._names = [module.name for module in iter_modules(commands.__path__)]

    def __getitem__(self, name: str) -> click.Command:
        if name not in self._names:
            raise KeyError(name)
        command: click.Command = getattr(import_module(f"{commands.__name__}.{name}"), name)
        return command

    def __iter__(self) -> Iterator[str]:
        return iter(self._names)

    def __len__(self) -> int:
        return len(self._names)


class Commands(click.Group):
    """Complaints about a command line repeat parts of it; completing one imports no command."""

    def shell_complete(self, ctx: click.Context, incomplete: str) -> "list[CompletionItem]":
        from click.shell_completion import CompletionItem

        if incomplete.startswith("-"):
            return super().shell_complete(ctx, incomplete)
        return [CompletionItem(name) for name in self.commands if name.startswith(incomplete)]

    def invoke(self, ctx: click.Context) -> Any:
        try:
            return super().invoke(ctx)
        except click.UsageError as error:
            raise click.UsageError(visible_lines(error.format_message()), error.ctx) from None


@click.group(cls=Commands, context_settings=CONTEXT, commands=CommandModules())
@click.version_option(__version__, prog_name="beliefd")
def main() -> None:
    """A belief server for AI agents: they propose, beliefd decides, one ledger remembers why."""


if __name__ == "__main__":
    main()
