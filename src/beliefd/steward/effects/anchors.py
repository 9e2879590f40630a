"""Anchors: checkpoints written to other places, best to some where the server can change nothing later.

A folder gets one file per checkpoint, a git repository one commit, a URL one POST.
"""

import asyncio
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Final

from beliefd.kernel.errors import invalid
from beliefd.ledger.notes import read_checkpoint, read_note
from beliefd.steward.effects.addresses import URLS, shown
from beliefd.steward.effects.anchored import Anchor
from beliefd.stores.log import KeptCheckpoint

GIT: Final = "git:"
NEWEST: Final = "checkpoint"
SECONDS: Final = 20.0
Write = Callable[[KeptCheckpoint], Awaitable[None]]


def anchor_of(place: str) -> Anchor:
    """The anchor that a setting names: a URL, `git:` with a repository, or a folder."""
    if place.startswith(URLS):
        return Anchor(place, _url(place))
    folder = Path(place.removeprefix(GIT))
    if not folder.is_dir():
        raise invalid(
            f"`{shown(place)}` is no place for checkpoints: a folder that is there, `git:` and a repository"
            ", or a URL",
            "--log-anchor",
        )
    return Anchor(place, _git(folder) if place.startswith(GIT) else _folder(folder))


def _folder(folder: Path) -> Write:
    async def anchor(kept: KeptCheckpoint) -> None:
        checkpoint = read_checkpoint(read_note(kept.note))
        name = f"{kept.size:016}-{checkpoint.root.hex()[:16]}.checkpoint"
        await asyncio.to_thread((folder / name).write_text, kept.note)

    return anchor


def _git(folder: Path) -> Write:
    async def anchor(kept: KeptCheckpoint) -> None:
        await asyncio.to_thread((folder / NEWEST).write_text, kept.note)
        await _run(folder, "add", "--", NEWEST)
        if await _run(folder, "status", "--porcelain", "--", NEWEST):
            await _run(folder, "commit", "-q", "-m", f"checkpoint of size {kept.size}", "--", NEWEST)

    return anchor


async def _run(folder: Path, *command: str) -> str:
    process = await asyncio.create_subprocess_exec(
        *("git", "-C", str(folder), *command),
        stdin=asyncio.subprocess.DEVNULL,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.STDOUT,
    )
    try:
        async with asyncio.timeout(SECONDS):
            told, _ = await process.communicate()
    except TimeoutError:
        process.kill()
        raise
    if process.returncode:
        first = told.decode(errors="replace").partition("\n")[0]
        raise OSError(f"`git {command[0]}` in `{folder}`: {first}")
    return told.decode(errors="replace")


def _url(url: str) -> Write:
    name, kind = shown(url), {"Content-Type": "text/plain; charset=utf-8"}

    async def anchor(kept: KeptCheckpoint) -> None:
        import httpx

        try:
            # Whatever it answers with beside the status is left untaken, however long it is.
            async with (
                asyncio.timeout(SECONDS),
                httpx.AsyncClient(timeout=SECONDS) as client,
                client.stream("POST", url, content=kept.note.encode(), headers=kind) as answer,
            ):
                status, taken = answer.status_code, answer.is_success
        except (TimeoutError, httpx.TimeoutException):
            raise OSError(f"`{name}` did not answer in {SECONDS:g} seconds") from None
        except httpx.InvalidURL:
            raise OSError(f"`{name}` is no URL") from None
        except httpx.HTTPError as error:
            raise OSError(f"`{name}`: {str(error) or type(error).__name__}") from None
        if not taken:
            raise OSError(f"`{name}` answered with {status}")

    return anchor
