"""Signed capability tokens (Biscuit): whoever holds one can narrow it down without asking anybody.

A token's first block names a capability and is signed with the server's key. Every block after it is a
holder's, signed too, and may only hold checks of the five forms below: on tool, agent, time, path and host.
They are read, recorded and judged by the kernel like everything else about a call. A token with anything else
in it is refused, so no Datalog of a stranger is ever run: some that fits into a token runs for minutes,
whatever limit it is given.
"""

import contextlib
import os
import re
import secrets
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any, Final, TypeVar

import msgspec
from msgspec import Struct

from beliefd.extras import install
from beliefd.kernel.errors import invalid
from beliefd.kernel.substrate.capabilities import Capability, Narrowing

T = TypeVar("T")
PREFIX: Final = "biscuit:"
KEY_BYTES: Final = 32
TEXT: Final = r'"([^"\\\x00-\x1f]+)"'
TEXTS: Final = r'\{("[^"\\\x00-\x1f]+"(?:, "[^"\\\x00-\x1f]+")*)\}'
FORMS: Final[tuple[tuple[str, re.Pattern[str]], ...]] = (
    ("tools", re.compile(rf"check if tool\(\$t\), {TEXTS}\.contains\(\$t\)")),
    ("agent_id", re.compile(rf"check if agent\(\$a\), \$a == {TEXT}")),
    ("expires_at", re.compile(r"check if time\(\$t\), \$t < (\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ)")),
    ("root", re.compile(rf"reject if path\(\$p\), !\(\$p == {TEXT} \|\| \$p\.starts_with\({TEXT}\)\)")),
    ("hosts", re.compile(rf"reject if host\(\$h\), !{TEXTS}\.contains\(\$h\)")),
)
NAMED: Final = re.compile(rf"capability\({TEXT}\);")


class BadToken(ValueError):
    """Not a token that says anything here; the message never repeats it."""


class Presented(Struct, frozen=True):
    """What a token stands for: a capability, and what its holders have narrowed it down to."""

    capability_id: str
    narrowed: tuple[Narrowing, ...] = ()


class Signer:
    """The key that tokens are signed with, in a file that is made on first use.

    >>> issued = admin.issue_capability(session, agent_id="agent://a", scope={"tools": ["*"]}, signed=True)
    >>> narrower = attenuate(issued.token, issued.public_key, tools=["fs.read"], root="/data/today")
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._key: Any = None

    @property
    def public_key(self) -> str:
        """What anybody needs to verify tokens offline."""
        return str(_library().KeyPair.from_private_key(self._private()).public_key)

    def sign(self, session_id: str, capability: Capability) -> str:
        """The first block says what the server knows already, for those who verify without it."""
        source = "capability({capability}); session({session}); agent({agent});"
        named = {"capability": capability.capability_id, "session": session_id, "agent": capability.agent_id}
        signed: str = _library().BiscuitBuilder(source, named).build(self._private()).to_base64()
        return PREFIX + signed

    def read(self, token: str) -> Presented:
        return read_token(token, self.public_key)

    def _private(self) -> Any:
        if self._key is None:
            library = _library()
            self._key = library.PrivateKey.from_bytes(_key_from(self._path), library.Algorithm.Ed25519)
        return self._key


def read_token(token: str, public_key: str) -> Presented:
    """Verify a token against a public key, as `Signer.public_key` gives it; needs no server.

    INVARIANT: what comes out was signed by the server, and narrowed by every check that any holder added.
    """
    library = _library()

    def sources() -> list[str]:
        held = library.Biscuit.from_base64(token.removeprefix(PREFIX), library.PublicKey(public_key))
        return [held.block_source(place) for place in range(held.block_count())]

    blocks = _guarded(sources)
    named = NAMED.match(blocks[0])
    if named is None:
        raise BadToken("the signed token names no capability")
    return Presented(named[1], tuple(narrowing_of(source) for source in blocks[1:]))


def attenuate(
    token: str,
    public_key: str,
    *,
    tools: Iterable[str] | None = None,
    root: str | None = None,
    hosts: Iterable[str] | None = None,
    expires_at: str | None = None,
    agent_id: str | None = None,
) -> str:
    """A narrower token out of one that is held; needs neither a secret key nor a server.

    All paths must lie below `root`; hosts are spelt in small letters; `expires_at` is UTC, to the second.
    """
    narrowing = Narrowing(
        tools=None if tools is None else tuple(sorted(tools)),
        root=root,
        hosts=None if hosts is None else tuple(sorted(hosts)),
        expires_at=expires_at,
        agent_id=agent_id,
    )
    source = source_of(narrowing)
    try:
        sound = narrowing_of(source) == narrowing
    except BadToken:
        sound = False
    if not sound:
        raise invalid("names in a token hold no quotes, backslashes or control characters", "$")
    library = _library()

    def append() -> str:
        held = library.Biscuit.from_base64(token.removeprefix(PREFIX), library.PublicKey(public_key))
        narrower: str = held.append(library.BlockBuilder(source)).to_base64()
        return PREFIX + narrower

    return _guarded(append)


def source_of(narrowing: Narrowing) -> str:
    """A narrowing as the checks of a block."""
    lines = []
    if narrowing.tools is not None:
        lines.append(f"check if tool($t), {_set(narrowing.tools)}.contains($t);")
    if narrowing.agent_id is not None:
        lines.append(f'check if agent($a), $a == "{narrowing.agent_id}";')
    if narrowing.expires_at is not None:
        lines.append(f"check if time($t), $t < {narrowing.expires_at};")
    if (root := narrowing.root) is not None:
        lines.append(f'reject if path($p), !($p == "{root}" || $p.starts_with("{root.rstrip("/")}/"));')
    if narrowing.hosts is not None:
        lines.append(f"reject if host($h), !{_set(narrowing.hosts)}.contains($h);")
    return "\n".join(lines)


def narrowing_of(source: str) -> Narrowing:
    """A block read back: one check of a form a line, each form once at most; anything else is refused."""
    found: dict[str, Any] = {}
    for line in source.strip().split("\n") if source.strip() else ():
        name, match = _form(line.removesuffix(";"))
        if name in found:
            raise BadToken(f"a block of the signed token checks `{name}` twice")
        if name in ("tools", "hosts"):
            found[name] = tuple(re.findall(TEXT, match[1]))
        elif name == "root" and match[2] != f"{match[1].rstrip('/')}/":
            raise BadToken("a block of the signed token checks a path and another one's beginning")
        else:
            found[name] = match[1]
    try:
        return msgspec.convert(found, Narrowing)
    except msgspec.ValidationError as error:
        raise BadToken(f"a block of the signed token cannot be read: {error}") from None


def _form(line: str) -> tuple[str, re.Match[str]]:
    for name, pattern in FORMS:
        if (match := pattern.fullmatch(line)) is not None:
            return name, match
    raise BadToken("the signed token holds something else than checks on tool, agent, time, path and host")


def _set(names: tuple[str, ...]) -> str:
    return "{" + ", ".join(f'"{name}"' for name in names) + "}"


def _guarded(act: Callable[[], T]) -> T:
    """The library panics over some tokens, and a panic is no Exception."""
    try:
        return act()
    except (BadToken, KeyboardInterrupt, SystemExit):
        raise
    except BaseException:
        raise BadToken("the signed token is not one of this server's") from None


def _key_from(path: Path) -> bytes:
    """The key, made on first use and readable by its owner only."""
    try:
        if not path.exists():
            _make_key(path)
        if os.name == "posix" and path.stat().st_mode & 0o077:
            raise invalid(f"`{path}` can be read by others; `chmod 600` it", str(path))
        text = path.read_text().strip()
    except OSError as error:
        raise invalid(f"cannot keep a signing key in `{path}`: {error.strerror}", str(path)) from None
    try:
        key = bytes.fromhex(text)
    except ValueError:
        key = b""
    if len(key) != KEY_BYTES:
        raise invalid(f"`{path}` holds no signing key of {KEY_BYTES} bytes in hex", str(path))
    return key


def _make_key(path: Path) -> None:
    """Whole or not at all, and never over one that another process has made meanwhile."""
    draft = path.with_name(f".{path.name}.{secrets.token_hex(4)}")
    with os.fdopen(os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w") as file:
        file.write(secrets.token_hex(KEY_BYTES) + "\n")
        file.flush()
        os.fsync(file.fileno())
    with contextlib.suppress(FileExistsError):
        os.link(draft, path)
    draft.unlink()


def _library() -> Any:
    try:
        import biscuit_auth
    except ModuleNotFoundError:
        raise invalid(f"signed tokens need the extra `biscuit`: {install('biscuit')}", "$") from None
    return biscuit_auth
