"""`beliefd firewall`: the scan for speculation, on any JSON file."""

import sys
from pathlib import Path

import click

from beliefd.cli.output import Exit, errors_exit, print_json, visible


@click.group()
def firewall() -> None:
    """Look for speculation where only evidence belongs."""


@firewall.command()
@click.argument("path", metavar="FILE")
@click.option("--spec", is_flag=True, help="Hold it to what an experiment's plan may not have in it.")
@click.option("--json", "as_json", is_flag=True, help="Print what was found as JSON.")
def scan(path: str, spec: bool, as_json: bool) -> None:
    """Find markers of speculation in FILE (JSON; `-` is stdin).

    Exits 0 if there are none, 4 with the path of the first one, 2 if FILE cannot be read.
    """
    from beliefd.kernel.errors import invalid
    from beliefd.kernel.scan.markers import find_marker
    from beliefd.kernel.scan.texts import Tangled, whole
    from beliefd.kernel.scan.words import WordList

    with errors_exit(as_json):
        try:
            document = whole(_read(path))
        except OSError as error:
            raise invalid(f"cannot read `{path}`: {error.strerror}") from None
        except Tangled:
            raise invalid(f"`{path}` is nested too deep to be read") from None
        except ValueError as error:
            raise invalid(f"`{path}` is not JSON: {error}") from None
        marker = find_marker(document, WordList.RESIDUE if spec else WordList.EVIDENCE)
        if marker is not None and marker.unreadable:
            raise invalid(f"`{path}` cannot be read: {marker.found}", marker.path)
    if as_json:
        print_json({"clean": marker is None, "marker": marker})
    elif marker is None:
        click.echo("clean: no marker of speculation")
    else:
        click.echo(visible(f"marked: {marker.path}: {marker.found}"))
    sys.exit(Exit.ALLOWED if marker is None else Exit.REFUSED)


def _read(path: str) -> bytes:
    return sys.stdin.buffer.read() if path == "-" else Path(path).read_bytes()
