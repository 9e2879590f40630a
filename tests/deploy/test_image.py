"""The steps of the Dockerfile, carried out without an engine: in namespaces of Linux, as an engine would.

What an engine adds (layers, the base image itself) is not tried here. Python is that of the tests, mounted
where the base image has it.
"""

import os
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Final

import pytest

ROOT: Final = Path(__file__).parents[2]
DOCKERFILE: Final = ROOT / "deploy" / "Dockerfile"
VOLUME: Final = "/mnt"
"""Stands for /data: a place to mount something must be there already."""
PREFIX: Final = """
set -e
mount --make-rprivate /
mount --bind "$PYTHON_PREFIX" /usr/local
mount --bind "$WORK/opt" /opt
mount --bind "$WORK/data" /mnt
"""
READ_ONLY: Final = """
mount -o remount,ro,bind /opt
mount -t tmpfs tmpfs /tmp
mount -o remount,ro,bind /
ip link set lo up
"""
pytestmark = [pytest.mark.slow, pytest.mark.timeout(600)]

Step = tuple[str, str]


def stages() -> list[list[Step]]:
    """Instructions by stage, with lines that go on joined."""
    text = re.sub(r"\\\n\s*", " ", DOCKERFILE.read_text())
    found: list[list[Step]] = []
    for line in text.splitlines():
        word, _, rest = line.partition(" ")
        if word == "FROM":
            found.append([])
        elif word and word != "#":
            found[-1].append((word, rest.strip()))
    return found


def of(steps: list[Step], word: str) -> list[str]:
    return [rest for name, rest in steps if name == word]


def in_namespace(work: Path, script: str, **environment: str) -> str:
    """Run a script with file systems and a network of its own; what it printed."""
    given = {
        "PATH": "/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin",
        "WORK": str(work),
        "PYTHON_PREFIX": sys.base_prefix,
        # Where it was built may be closed to nobody, and another Python's library found instead.
        "LD_LIBRARY_PATH": "/usr/local/lib",
        **{name: value for name, value in os.environ.items() if "proxy" in name.lower() or "PIP_" in name},
        **environment,
    }
    command = ["unshare", "--mount", "--pid", "--fork", "--kill-child"]
    ran = subprocess.run(
        [*command, "sh", "-c", PREFIX + script], env=given, capture_output=True, text=True, check=False
    )
    assert ran.returncode == 0, ran.stdout[-3000:] + ran.stderr[-3000:]
    return ran.stdout


@pytest.fixture
def built(tmp_path: Path) -> Path:
    """What the first stage leaves behind in /opt, out of exactly the files that it copies."""
    build, _ = stages()
    source = tmp_path / "source"
    for name in ("opt", "data", "source"):
        (tmp_path / name).mkdir()
    for copied in of(build, "COPY"):
        *names, target = copied.split()
        for name in names:
            place = source / target / name if target == "./" else source / target
            place.parent.mkdir(parents=True, exist_ok=True)
            if (ROOT / name).is_dir():
                shutil.copytree(ROOT / name, place, ignore=shutil.ignore_patterns("__pycache__"))
            else:
                shutil.copy(ROOT / name, place)
    arguments = dict(one.split("=", 1) for one in of(build, "ARG"))
    for step in of(build, "RUN"):
        in_namespace(tmp_path, f"cd {source}\n{step}\n", **arguments)
    return tmp_path


def test_the_image_serves_as_nobody_from_a_read_only_root(built: Path) -> None:
    _, final = stages()
    settings = dict(one.split("=", 1) for one in shlex.split(of(final, "ENV")[0]))
    settings["PATH"] = settings["PATH"].replace("$PATH", "/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin")
    settings["BELIEFD_DATA"] = settings["BELIEFD_DATA"].replace("/data", VOLUME)
    assert of(final, "VOLUME") == of(final, "WORKDIR") == ["/data"]
    [user] = of(final, "USER")
    os.chown(built / "data", int(user), int(user))
    (built / "data").chmod(0o700)
    for folder in (built, *built.parents):  # the folders of tests are their owner's alone
        if folder.stat().st_uid == os.getuid() and str(folder).startswith(str(built.parents[1])):
            folder.chmod(0o755)
    said = in_namespace(built, _script(final, user), **settings)
    assert said.splitlines() == [
        f"uid {user}",
        "read-only /",
        "read-only /opt",
        "well",
        "ready",
        "beliefd.db",
    ]


def _script(final: list[Step], user: str) -> str:
    """Make a token, as the documentation says; serve; wait until the health check is content."""
    entry, command = (_exec_form(of(final, word)[0]) for word in ("ENTRYPOINT", "CMD"))
    check = _exec_form(of(final, "HEALTHCHECK")[0].partition("CMD ")[2])
    ready = check.replace("/healthz", "/readyz")
    nobody = f"setpriv --reuid={user} --regid={user} --clear-groups --inh-caps=-all --bounding-set=-all"
    return f"""
exec unshare --net sh -c {
        shlex.quote(
            READ_ONLY
            + f'''
cd {VOLUME}
echo "uid $({nobody} id -u)"
{nobody} touch /x 2>/dev/null || echo "read-only /"
touch /opt/x 2>/dev/null || echo "read-only /opt"
{nobody} {entry} token create --name ops --role admin --owner ops >/dev/null
{nobody} {entry} {command} >/tmp/served 2>&1 &
server=$!
for attempt in $(seq 600); do
  if {nobody} {check} 2>/dev/null; then break; fi
  kill -0 $server || {{ cat /tmp/served; exit 1; }}
  sleep 0.1
done
{nobody} {check} && echo well
{nobody} {ready} && echo ready
ls {VOLUME} | grep "db$"
kill $server
wait $server || true
'''
        )
    }
"""


def _exec_form(told: str) -> str:
    """`["a", "b"]` as a shell writes it."""
    return shlex.join(re.findall(r'"((?:[^"\\]|\\.)*)"', told))
