"""`beliefd firewall`: the scan for speculation, on any JSON file."""

import click
from click import option

from beliefd.cli.files import read_bytes
from beliefd.cli.options import FILE
from beliefd.cli.output import Exit, Reply, replies, visible
from beliefd.kernel.errors import invalid

firewall = click.Group("firewall", help="Look for speculation where only evidence belongs.")


@replies(
    firewall,
    FILE,
    option("--spec", is_flag=True, help="Apply the stricter rules for the plan of an experiment."),
    json_help="Print what was found as JSON.",
)
def scan(path: str, spec: bool) -> Reply:
    """Find markers of speculation in FILE (JSON; `-` is stdin).

    Exits 0 if there are none, 4 with the path of the first one, 2 if FILE cannot be read.
    """
    from beliefd.kernel.scan.markers import find_marker
    from beliefd.kernel.scan.texts import Tangled, whole
    from beliefd.kernel.scan.words import WordList

    try:
        document = whole(read_bytes(path))
    except Tangled:
        raise invalid(f"`{path}` is nested too deep to be read") from None
    except ValueError as error:
        raise invalid(f"`{path}` is not JSON: {error}") from None
    marker = find_marker(document, WordList.RESIDUE if spec else WordList.EVIDENCE)
    if marker is None:
        return Reply({"clean": True, "marker": None}, "clean: no marker of speculation")
    if marker.unreadable:
        raise invalid(f"`{path}` cannot be read: {marker.found}", marker.path)
    found = visible(f"marked: {marker.path}: {marker.found}")
    return Reply({"clean": False, "marker": marker}, found, Exit.REFUSED)
