"""Memory that was freed goes back to the system, also where one large body came before another."""

import ctypes
import sys
from typing import Final

RETURNED_FROM: Final = 256 * 1024
"""Pieces of this size and more are returned to the system as soon as they are freed."""
_MMAP_THRESHOLD: Final = -3


def return_large_pieces() -> bool:
    """Keep glibc from raising that size by itself; True if it was told.

    It does so each time a larger piece is freed. Measured: a body of 15 MB then leaves 214 MB, and 139 MB if
    it is told not to.
    """
    if not sys.platform.startswith("linux"):
        return False
    try:
        return bool(ctypes.CDLL(None).mallopt(_MMAP_THRESHOLD, RETURNED_FROM))
    except (OSError, AttributeError):  # another C library
        return False
