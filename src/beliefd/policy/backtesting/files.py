"""Files with recorded runs: read line by line, plain or gzipped, in the format that they are in."""

import gzip
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack
from itertools import chain, islice
from pathlib import Path
from types import ModuleType
from typing import IO, Final, cast

import msgspec

from beliefd.kernel.errors import BeliefdError, invalid
from beliefd.ledger.transfer import FORMAT
from beliefd.policy.backtesting import chat, claude, codex, otlp
from beliefd.policy.backtesting.names import AUTO, FORMATS, LEDGER, RUNS
from beliefd.policy.backtesting.steps import Line, Step, with_gaps

MAX_LINE: Final = 64 * 1024 * 1024
LOOKED_AT: Final = 20
"""So many lines are looked at to find out what format they are in, and about as many bytes as one has."""
READERS: Final[dict[str, ModuleType]] = dict(zip(RUNS, (chat, claude, codex, otlp), strict=True))

Report = Callable[[int], None]


def lines_of(path: Path, report: Report = lambda _: None) -> Iterator[Line]:
    """The lines that are not blank. `report` is told how many bytes of the file were read."""
    with ExitStack() as opened:
        raw: IO[bytes] = opened.enter_context(path.open("rb"))
        packed = path.suffix == ".gz"
        file = cast(IO[bytes], opened.enter_context(gzip.open(raw))) if packed else raw
        number = 0
        try:
            while line := file.readline(MAX_LINE + 1):
                number += 1
                if number == 1 and line.strip() == b"{":
                    line += file.read(MAX_LINE)  # one document over many lines
                too_long = len(line) > MAX_LINE
                while too_long and not line.endswith(b"\n") and (line := file.readline(MAX_LINE)):
                    pass
                if too_long or line.strip():
                    yield Line(number, None if too_long else line)
                report(raw.tell())
        except (EOFError, gzip.BadGzipFile) as error:
            raise invalid(f"`{path.name}` ends within line {number + 1}: {error}", "$") from None


def format_of(path: Path) -> str:
    """The format of a file, by its first lines."""
    looked = bytes_looked_at = 0
    long: int | None = None
    for line in islice(lines_of(path), LOOKED_AT):
        looked, bytes_looked_at = line.number, bytes_looked_at + len(line.data or b"")
        if line.data is None:
            long = long or line.number
        elif (found := _format_of(line.data)) is not None:
            return found
        if bytes_looked_at > MAX_LINE:
            break
    if not looked:
        raise _nothing(path)
    if long is not None:
        wrong = f"line {long} of `{path.name}` is longer than {MAX_LINE} bytes: too long to tell"
        raise invalid(wrong, f"line {long}")
    known = ", ".join(one for one in FORMATS if one != AUTO)
    wrong = f"cannot tell the format of `{path.name}`; give one of {known} with `--format`"
    hint = "; a policy is given with `--policy`" if path.suffix in (".yaml", ".yml") else ""
    raise invalid(wrong + hint, "--format")


def _format_of(data: bytes) -> str | None:
    """INVARIANT: one line is held at a time, and what is made of it only while it is looked at."""
    try:
        value = msgspec.json.decode(data)
    except (msgspec.DecodeError, UnicodeDecodeError):
        return None
    if not isinstance(value, dict):
        return None
    if value.get("format") == FORMAT:
        return LEDGER
    return next((name for name, reader in READERS.items() if reader.fits(value)), None)


def steps_of(path: Path, form: str, report: Report = lambda _: None) -> Iterator[Step]:
    """What a file of recorded runs tells, one thing after the other."""
    lines: Iterable[Line] = lines_of(path, report)
    steps: Iterator[Step] = READERS[form].steps(lines)
    first = next(steps, None)
    if first is None:
        raise _nothing(path)
    return with_gaps(chain([first], steps))


def _nothing(path: Path) -> BeliefdError:
    return invalid(f"`{path.name}` holds no runs", "$")
