"""`beliefd conform`: what the four specifications ask for, clause by clause, on a server or the library."""

import sys
from difflib import get_close_matches
from typing import TYPE_CHECKING, Final

import click

from beliefd.cli.options import setting
from beliefd.cli.output import Exit, Reply, errors_exit, show
from beliefd.cli.progress import progress
from beliefd.kernel.errors import invalid

if TYPE_CHECKING:
    from beliefd.conformance.report import Report

NEAR: Final = 3


@click.command()
@click.argument("url", required=False)
@setting("--token", "BELIEFD_TOKEN", "Of an admin without spaces: it makes a space and tokens per story.")
@click.option(
    "--change-policy",
    is_flag=True,
    help="Tell stories that adopt policies, too. The policy that was in force is adopted again after each.",
)
@click.option("--only", multiple=True, metavar="PATTERN", help="Vectors by name, as in `sessions/*`.")
@click.option("--json", "as_json", is_flag=True, help="Print every clause and vector as JSON.")
def conform(
    url: str | None, token: str | None, change_policy: bool, only: tuple[str, ...], as_json: bool
) -> None:
    """Run the vectors of every clause of the four specifications, on the library or on the server at URL.

    A server keeps what the stories leave: use one that was started for it, with
    `--tools beliefd.conformance.staging`. Exit code 0: every clause was shown; 3: none failed, but some
    vectors were not run; 4: a vector failed.
    """
    from beliefd.cli.views.conformance import conformed

    with errors_exit(as_json):
        found = _report(url, token, change_policy, only)
        if not found.checks:
            raise invalid(f"no vector is called `{only[0]}`{_near(only[0])}", "--only")
    ended = Exit.REFUSED if found.failed else Exit.DEFERRED if found.partial else Exit.ALLOWED
    show(Reply(found, conformed(found)), as_json)
    sys.exit(ended)


def _near(pattern: str) -> str:
    """The vectors whose names are most like a pattern that fits none."""
    from beliefd.conformance.checks import checks

    names = [check.name for check in checks()]
    near = get_close_matches(pattern.rstrip("*"), names, NEAR, cutoff=0.7)
    if near:
        return f"; did you mean {', '.join(f'`{one}`' for one in near)}?"
    return (
        f"; there are {', '.join(f'`{one}/*`' for one in sorted({name.partition('/')[0] for name in names}))}"
    )


def _report(url: str | None, token: str | None, change_policy: bool, only: tuple[str, ...]) -> "Report":
    from beliefd.conformance.library import LibraryPlace
    from beliefd.conformance.report import report_on
    from beliefd.conformance.server import ServerPlace

    with progress("vectors", None) as report:
        if url is None:
            return report_on("library", LibraryPlace(), only, report)
        place = ServerPlace(url, token, change_policy=change_policy)
        try:
            return report_on(url, place, only, report)
        finally:
            place.close()
