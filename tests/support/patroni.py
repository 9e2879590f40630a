"""PostgreSQL that fails over: servers under Patroni, which agree by etcd on who leads. Loopback only.

`docs/how-to/fail-over.md` has the same for machines; what differs there are addresses and passwords.
"""

import contextlib
import json
import os
import shutil
import signal
import subprocess
import tempfile
import time
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any, Final

import asyncpg
import httpx
from msgspec import Struct

from tests.support.debian import installed
from tests.support.postgres import USER, binaries, execute, family, free_port, hand_over, identity, reachable

PACKAGES: Final = {"patroni": "patroni python3-etcd", "etcd": "etcd-server"}
START_SECONDS: Final = 180.0
ASK_SECONDS: Final = 1.0
SCOPE: Final = "house"
FOLLOWERS: Final = "SELECT count(*) FROM pg_stat_replication WHERE state = 'streaming'"


@cache
def program(name: str) -> str:
    """INVARIANT: without it the tests fail; they are not skipped."""
    found = installed(PACKAGES[name], name)
    assert found is not None, f"install {PACKAGES[name]}"
    return found


class Pace(Struct, frozen=True):
    """How soon a leader that is gone is replaced, in seconds: the names are Patroni's."""

    ttl: int = 20
    loop_wait: int = 5
    retry_timeout: int = 5


class Node:
    """One PostgreSQL server and the Patroni that rules it."""

    def __init__(self, number: int, home: Path) -> None:
        self.name = f"n{number}"
        self.port = free_port()
        self.rest = free_port()
        self.data = home / self.name
        self.file = home / f"{self.name}.yml"
        self.log = home / f"{self.name}.log"
        self.process: subprocess.Popen[bytes] | None = None

    def processes(self) -> list[int]:
        """Patroni, the server and its children, in that order: what is stopped starts no others."""
        found = [] if self.process is None or self.process.poll() is not None else [self.process.pid]
        with contextlib.suppress(OSError, ValueError, IndexError):
            server = int((self.data / "postmaster.pid").read_text().split()[0])
            # After a kill the file stays, and the number may be somebody else's.
            if str(self.data).encode() in Path(f"/proc/{server}/cmdline").read_bytes():
                found += family(server)
        return found

    def signal(self, what: signal.Signals) -> None:
        for pid in self.processes():
            with contextlib.suppress(ProcessLookupError):  # one that has ended meanwhile
                os.kill(pid, what)

    def kill(self) -> None:
        """kill -9 of everything: as if the machine were switched off."""
        self.signal(signal.SIGKILL)
        if self.process is not None:
            self.process.wait(START_SECONDS)

    def freeze(self) -> None:
        self.signal(signal.SIGSTOP)

    def thaw(self) -> None:
        self.signal(signal.SIGCONT)

    def says(self) -> str:
        return self.log.read_text(errors="replace")[-3000:] if self.log.exists() else ""


class Cluster:
    """`with Cluster() as cluster: ... cluster.url("name")`. Commits wait for a standby."""

    def __init__(self, nodes: int = 3, pace: Pace | None = None) -> None:
        self._home = Path(tempfile.mkdtemp(prefix="beliefd-patroni-"))
        self._pace = pace or Pace()
        self._etcd: subprocess.Popen[bytes] | None = None
        self._etcd_port, self._peer_port = free_port(), free_port()
        self.nodes = [Node(number + 1, self._home) for number in range(nodes)]

    def __enter__(self) -> "Cluster":
        try:
            hand_over(self._home)
            self._bin = reachable(binaries(), self._home)
            self._start_etcd()
            for node in self.nodes:
                self.start(node)
            self.wait_whole()
        except BaseException:
            self.close()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Everything that was started is gone afterwards, whatever state it is in."""
        for node in self.nodes:
            node.kill()
        if self._etcd is not None:
            self._etcd.kill()
            self._etcd.wait(START_SECONDS)
        shutil.rmtree(self._home, ignore_errors=True)

    # -- who is who ------------------------------------------------------------------------------

    def url(self, database: str) -> str:
        hosts = ",".join(f"127.0.0.1:{node.port}" for node in self.nodes)
        return f"postgresql://{USER}@{hosts}/{database}?target_session_attrs=read-write"

    def url_of(self, node: Node) -> str:
        return f"postgresql://{USER}@127.0.0.1:{node.port}/postgres"

    def create_database(self, name: str = "house") -> str:
        leader = self.leader()
        assert leader is not None
        execute(self.url_of(leader), f'CREATE DATABASE "{name}"')
        return self.url(name)

    def leader(self, but: Node | None = None) -> Node | None:
        """The one that holds the lock and takes writes, as it says itself."""
        for node in self.nodes:
            if node is not but and self._asked(node, "/primary") is not None:
                return node
        return None

    def wait_leader(self, but: Node | None = None) -> Node:
        for _ in self._polls():
            if (found := self.leader(but)) is not None:
                return found
        raise RuntimeError(f"nobody leads:\n{self._words()}")

    def wait_whole(self) -> None:
        """Until one leads, all others follow, and one of them is waited for by commits."""
        for _ in self._polls():
            told = self._asked(self.nodes[0], "/cluster") or {"members": []}
            roles = sorted(one["role"] for one in told["members"] if one["state"] in ("running", "streaming"))
            whole = roles == sorted(["leader", "sync_standby", *["replica"] * (len(self.nodes) - 2)])
            if whole and self._followers() == len(self.nodes) - 1:
                return
        raise RuntimeError(f"the cluster is not whole:\n{self._words()}")

    def _followers(self) -> int:
        """How many the leader sends its log to. Patroni says `running` of one that was frozen before it has
        found out that it must rewind; if the leader is lost then, two of three are, and nobody can write."""
        leader = self.leader()
        try:
            return 0 if leader is None else int(execute(self.url_of(leader), FOLLOWERS)[0][0])
        except (asyncpg.PostgresError, OSError):
            return 0

    def wait_guarded(self) -> Node:
        """Until the leader may be lost, and return it: Patroni gives its place to nobody who is not on record
        as having every commit, and nobody is for some seconds after a change."""
        for _ in self._polls():
            if (leader := self.leader()) is not None:
                told = self._asked(leader, "/cluster") or {"members": []}
                if any(one["role"] == "sync_standby" for one in told["members"]):
                    return leader
        raise RuntimeError(f"no leader has a standby:\n{self._words()}")

    def _asked(self, node: Node, path: str) -> Any:
        """What its Patroni answers, if it says yes."""
        with contextlib.suppress(httpx.HTTPError, json.JSONDecodeError):
            answer = httpx.get(f"http://127.0.0.1:{node.rest}{path}", timeout=ASK_SECONDS)
            return answer.json() if answer.is_success else None
        return None

    def _polls(self) -> Iterator[None]:
        deadline = time.monotonic() + START_SECONDS
        while time.monotonic() < deadline:
            yield
            time.sleep(0.1)

    def _words(self) -> str:
        return "\n".join(f"{node.name}: {node.says()}" for node in self.nodes)

    # -- processes -------------------------------------------------------------------------------

    def start(self, node: Node) -> None:
        """JSON is YAML."""
        node.file.write_text(json.dumps(self._configuration(node), indent=2))
        node.process = self._spawn(node.log, program("patroni"), str(node.file))

    def _start_etcd(self) -> None:
        url, peer = f"http://127.0.0.1:{self._etcd_port}", f"http://127.0.0.1:{self._peer_port}"
        settings = {
            "name": "e1",
            "data-dir": str(self._home / "etcd"),
            "listen-client-urls": url,
            "advertise-client-urls": url,
            "listen-peer-urls": peer,
            "initial-advertise-peer-urls": peer,
            "initial-cluster": f"e1={peer}",
            "enable-v2": "true",
        }
        flags = [f"--{name}={value}" for name, value in settings.items()]
        self._etcd = self._spawn(self._home / "etcd.log", program("etcd"), *flags)
        for _ in self._polls():
            with contextlib.suppress(httpx.HTTPError):
                if httpx.get(f"{url}/health", timeout=ASK_SECONDS).is_success:
                    return
        raise RuntimeError(f"etcd does not start:\n{(self._home / 'etcd.log').read_text()[-3000:]}")

    def _spawn(self, log: Path, *command: str) -> "subprocess.Popen[bytes]":
        outside = {
            name: value for name, value in os.environ.items() if not name.startswith(("PG", "PATRONI_"))
        }
        with log.open("ab") as out:
            return subprocess.Popen(
                command,
                cwd=self._home,
                env={**outside, "LC_ALL": "C"},
                stdin=subprocess.DEVNULL,
                stdout=out,
                stderr=out,
                start_new_session=True,  # Ctrl-C is for the tests, which then stop everything
                **identity(),
            )

    def _configuration(self, node: Node) -> dict[str, Any]:
        postgres, rest = f"127.0.0.1:{node.port}", f"127.0.0.1:{node.rest}"
        return {
            "scope": SCOPE,
            "name": node.name,
            "restapi": {"listen": rest, "connect_address": rest},
            # INVARIANT: not `etcd3`. With that, a leader of Patroni 3.0 that wakes up writes its name over
            # that of the next one, and what was acknowledged meanwhile is undone.
            "etcd": {"hosts": [f"127.0.0.1:{self._etcd_port}"]},
            "bootstrap": {
                "dcs": {
                    "ttl": self._pace.ttl,
                    "loop_wait": self._pace.loop_wait,
                    "retry_timeout": self._pace.retry_timeout,
                    "synchronous_mode": True,
                    "synchronous_mode_strict": True,
                    "postgresql": {"use_pg_rewind": True, "use_slots": True},
                },
                "initdb": [{"encoding": "UTF8"}, {"locale": "C"}, "data-checksums"],
            },
            "postgresql": {
                "listen": postgres,
                "connect_address": postgres,
                "data_dir": str(node.data),
                "bin_dir": str(self._bin),
                "pgpass": str(self._home / f"{node.name}.pgpass"),
                "authentication": {
                    "superuser": {"username": USER, "password": "loopback"},
                    "replication": {"username": "replicator", "password": "loopback"},
                },
                "parameters": {
                    "unix_socket_directories": str(self._home),
                    # So long a standby sleeps before it looks for another leader, or becomes one.
                    "wal_retrieve_retry_interval": "1s",
                },
                "pg_hba": ["host all all 127.0.0.1/32 trust", "host replication all 127.0.0.1/32 trust"],
            },
        }
