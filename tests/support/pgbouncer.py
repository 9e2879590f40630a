"""A real PgBouncer in transaction mode: Debian's, installed on first use where we may."""

import os
import shutil
import signal
import socket
import subprocess
import tempfile
import time
from functools import cache
from pathlib import Path
from typing import Any

from tests.support.debian import installed
from tests.support.postgres import USER, PostgresServer, account, free_port

PLACES = ("pgbouncer", "/usr/sbin/pgbouncer")
START_SECONDS = 60


@cache
def program() -> str:
    """INVARIANT: without PgBouncer the tests fail; they are not skipped."""
    found = installed("pgbouncer", *PLACES)
    assert found is not None, "install pgbouncer"
    return found


class PgBouncer:
    """In front of all databases of one server. With few connections to it, so that clients share them."""

    def __init__(self, server: PostgresServer, **settings: object) -> None:
        self.port = free_port()
        self._server = server
        self._account = account()
        self._home = Path(tempfile.mkdtemp(prefix="beliefd-pgbouncer-"))
        self._settings = settings
        self._process: subprocess.Popen[bytes] | None = None

    def __enter__(self) -> "PgBouncer":
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._end(signal.SIGKILL)
        shutil.rmtree(self._home, ignore_errors=True)

    def url(self, direct: str) -> str:
        """The same database, through the pooler."""
        return direct.replace(f":{self._server.port}/", f":{self.port}/")

    def start(self) -> None:
        settings = {
            "listen_addr": "127.0.0.1",
            "listen_port": self.port,
            "unix_socket_dir": "",
            "auth_type": "any",
            "pool_mode": "transaction",
            "default_pool_size": 3,
            **self._settings,
        }
        lines = ["[databases]", f"* = host=127.0.0.1 port={self._server.port} user={USER}", "[pgbouncer]"]
        lines += [f"{name} = {value}" for name, value in settings.items()]
        (self._home / "pgbouncer.ini").write_text("\n".join(lines) + "\n")
        who = self._account
        identity: dict[str, Any] = {}
        if who is not None:
            identity = {"user": who.pw_uid, "group": who.pw_gid, "extra_groups": []}
            os.chown(self._home, who.pw_uid, who.pw_gid)
        with (self._home / "log").open("ab") as log:
            self._process = subprocess.Popen(
                [program(), str(self._home / "pgbouncer.ini")],
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                start_new_session=True,
                **identity,
            )
        self._wait()

    def kill(self) -> None:
        self._end(signal.SIGKILL)

    def _end(self, how: signal.Signals) -> None:
        process, self._process = self._process, None
        if process is not None and process.poll() is None:
            process.send_signal(how)
            process.wait(START_SECONDS)

    def _wait(self) -> None:
        deadline = time.monotonic() + START_SECONDS
        while time.monotonic() < deadline and self._process is not None and self._process.poll() is None:
            try:
                socket.create_connection(("127.0.0.1", self.port), 1).close()
                return
            except OSError:
                time.sleep(0.01)
        raise RuntimeError(f"PgBouncer does not start:\n{(self._home / 'log').read_text(errors='replace')}")
