"""`python scripts/install.py ARGUMENTS`: `pip install`, with a line that says how far it is.

What pip prints is shown only where it fails. Needs nothing but Python: it runs before anything is installed.
"""

import subprocess
import sys
from collections import deque

KEPT = 30
"""So many of pip's last lines are shown where it fails."""
STEPS = {
    "Collecting ": "looking for",
    "Downloading ": "fetching",
    "Building ": "building",
    "Installing ": "installing",
}


def main(arguments: list[str]) -> int:
    command = [sys.executable, "-m", "pip", "install", "--progress-bar", "off", *arguments]
    last: deque[str] = deque(maxlen=KEPT)
    terminal, packages = sys.stdout.isatty(), 0
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True) as pip:  # noqa: S603
        for line in pip.stdout or ():
            last.append(line)
            step = next((words for begin, words in STEPS.items() if line.lstrip().startswith(begin)), None)
            packages += line.startswith("Collecting ")
            if step is None:
                continue
            told = progress(packages, step, line)
            if terminal:
                print(f"\r{told:<80}", end="", flush=True)
            elif line.startswith("Collecting ") and packages % 10 == 0:
                print(told, flush=True)
    print(f"\r{'':<80}\r" if terminal else "", end="", flush=True)
    if pip.returncode != 0:
        sys.stderr.writelines(last)
    return pip.returncode


def progress(packages: int, step: str, line: str) -> str:
    """How far it is. What is installed before anything is looked for are tools to build with."""
    if packages == 0:
        return "  getting ready"
    what = line.split()[1].rpartition("/")[2][:50] if step != "installing" else "them"
    return f"  {packages} package{'s' if packages > 1 else ''}, {step} {what}"


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
