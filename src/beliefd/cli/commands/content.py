"""`beliefd content`: store evidence, read it back, and remove what nobody cites."""

import re
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click
from click import argument, option

from beliefd.cli import output
from beliefd.cli.files import read_bytes, write_bytes
from beliefd.cli.options import FILE, FILE_PATH, IN_SPACE
from beliefd.cli.output import Reply, replies
from beliefd.cli.progress import is_watched, progress
from beliefd.cli.target import Question, Target, asks, need_store, store_options, target_options, with_store
from beliefd.kernel.errors import invalid
from beliefd.kernel.values import shown_time

if TYPE_CHECKING:
    from beliefd.stores.base import Store
    from beliefd.stores.content import KeptContent

HASH = argument("sha256", metavar="HASH")
NAMED = 20
"""Items that are told one by one; JSON has them all."""
UNITS = {"s": 1, "m": 60, "h": 3600, "d": 86_400, "w": 7 * 86_400}
content = click.Group("content", help="Store evidence, read it back, and remove what nobody cites.")


class Duration(click.ParamType[int]):
    """A number and a unit; seconds."""

    name = "duration"

    def convert(self, value: object, param: click.Parameter | None, context: click.Context | None) -> int:
        found = re.fullmatch("([0-9]{1,6})([smhdw])", str(value))
        if found is None:
            self.fail(f"`{value}` is no duration such as `90s`, `30m`, `12h`, `1d` or `2w`", param, context)
        return int(found[1]) * UNITS[found[2]]


@asks(content, FILE, IN_SPACE, create=True)
def put(path: str, space: str | None) -> Question:
    """Store FILE (`-` is stdin) under its SHA-256."""
    data = read_bytes(path)
    return lambda calls: calls.store_content(data, space=space)


@content.command()
@HASH
@option("-o", "--output", "place", type=FILE_PATH, help="Default: stdout.")
@target_options
def get(target: Target, sha256: str, place: Path | None) -> None:
    """Read content back, byte for byte."""
    from beliefd.steward.handlers.content import is_text

    data = target.ask(lambda calls: calls.read_content(sha256))
    if place is None:
        if sys.stdout.isatty() and not is_text(data):
            # Bytes that somebody brought can tell a terminal what to do.
            raise invalid("this is no plain text; give a file to write it to with `-o`, or pipe it", "HASH")
        sys.stdout.buffer.write(data)
        return
    write_bytes(place, data)
    answer = {"size": len(data), "output": str(place)}
    output.show(Reply(answer, f"wrote {len(data)} bytes to {place}"), target.as_json)


@asks(content, HASH)
def show(sha256: str) -> Question:
    """How large content is, and who brought it when."""
    return lambda calls: calls.show_content(sha256)


@replies(
    content,
    option(
        "--older-than",
        "age",
        type=Duration(),
        default="1d",
        show_default=True,
        help="Only what nobody has brought since; as in `90s`, `12h` or `2w`.",
    ),
    option("--dry-run", is_flag=True, help="Remove nothing, and say what would be removed."),
    store_options,
)
def collect(age: int, dry_run: bool, data: Path, store: str | None) -> Reply:
    """Remove content that no ledger mentions. Servers may go on meanwhile."""
    from beliefd.kernel.values import later
    from beliefd.steward.collecting import collect as collect_from
    from beliefd.steward.environment import now

    async def run(opened: "Store") -> "list[KeptContent]":
        with progress("reading ledgers", await _records(opened) if is_watched() else 0) as report:
            done = 0

            def read(count: int) -> None:
                nonlocal done
                done += count
                report(done)

            return await collect_from(opened, later(now(), -age), dry_run=dry_run, progress=read)

    found = with_store(need_store(data, store), run)
    size = sum(one.size for one in found)
    done = "would be removed" if dry_run else "removed"
    lines = [
        f"{one.sha256}  {one.size} bytes, last brought {shown_time(one.touched_at)}" for one in found[:NAMED]
    ]
    if len(found) > NAMED:
        lines.append(f"and {len(found) - NAMED} more, which `--json` names")
    lines.append(f"{done}: {len(found)} items, {size} bytes")
    return Reply({"dry_run": dry_run, "items": len(found), "bytes": size, "content": found}, "\n".join(lines))


async def _records(store: "Store") -> int:
    from beliefd.steward.projections.rebuilding import all_sessions

    return sum([row.head.seq async for row in all_sessions(store)])
