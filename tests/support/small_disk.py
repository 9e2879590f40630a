"""A disk of a few megabytes, which can be filled and emptied: mounted in memory, which takes the right to."""

import contextlib
import os
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

PAGE: Final = 4_096


class SmallDisk:
    """`filled()` leaves no room until the block ends."""

    def __init__(self, place: Path) -> None:
        self.place = place

    @contextmanager
    def filled(self) -> Iterator[None]:
        """Nothing is left of it, whoever else takes or gives back room meanwhile."""
        filler = self.place / "filler"
        with filler.open("wb", buffering=0) as file, contextlib.suppress(OSError):
            while True:
                file.write(bytes(PAGE))
        try:
            yield
        finally:
            filler.unlink()


@contextmanager
def small_disk(megabytes: int) -> Iterator[SmallDisk]:
    """Where the account that runs PostgreSQL can get to it."""
    rights = [] if os.geteuid() == 0 else ["sudo", "-n"]
    place = Path(tempfile.mkdtemp(prefix="beliefd-disk-"))
    size = f"size={megabytes}m,mode=0755"
    subprocess.run([*rights, "mount", "-t", "tmpfs", "-o", size, "tmpfs", place], check=True)
    try:
        yield SmallDisk(place)
    finally:
        subprocess.run([*rights, "umount", "--lazy", place], check=True)
        place.rmdir()
