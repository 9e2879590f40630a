"""The key that webhooks are signed with: in a file, and shared by all servers on one database."""

import base64
import contextlib
import os
import secrets
from pathlib import Path
from typing import Final

from beliefd.kernel.errors import invalid
from beliefd.stores.base import Store

KEY_BYTES: Final = 32
SHARED: Final = "webhook"


def secret_from(path: Path) -> bytes:
    """The signing key in a file, made on first use and readable by its owner only."""
    if not path.exists():
        _make_secret(path)
    if os.name == "posix" and path.stat().st_mode & 0o077:
        raise invalid(
            f"`{path}` can be read by others; `chmod 600` it, or remove it for a new one", str(path)
        )
    prefix, _, encoded = path.read_bytes().strip().partition(b"_")
    try:
        key = base64.b64decode(encoded, validate=True)
    except ValueError:
        key = b""
    if prefix != b"whsec" or len(key) < KEY_BYTES:
        raise invalid(f"`{path}` holds no webhook secret; remove it for a new one", str(path))
    return key


def _make_secret(path: Path) -> None:
    """Whole or not at all: nobody ever signs with half a secret."""
    draft = _draft(path, secrets.token_bytes(KEY_BYTES))
    try:
        with contextlib.suppress(FileExistsError):  # another server was first: its secret is ours
            os.link(draft, path)
    finally:
        draft.unlink()


def _draft(path: Path, key: bytes) -> Path:
    draft = path.with_name(f".{path.name}.{secrets.token_hex(4)}")
    with os.fdopen(os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as file:
        file.write(b"whsec_" + base64.b64encode(key) + b"\n")
        file.flush()
        os.fsync(file.fileno())
    return draft


def write_secret(path: Path, key: bytes) -> None:
    """In place of what is there."""
    draft = _draft(path, key)
    os.replace(draft, path)


async def agree(store: Store, path: Path, *, anew: bool = False) -> bytes:
    """The key of all servers on this store, which is in the file from now on. The first of them brings its
    own; with `anew`, this one brings a new one."""
    mine = secrets.token_bytes(KEY_BYTES) if anew else secret_from(path)
    agreed = await store.share(SHARED, mine, anew=anew)
    if anew or agreed != mine:
        write_secret(path, agreed)
    return agreed
