"""Debian's Chromium, installed on first use where we may; elsewhere whatever is called so."""

from functools import cache

from tests.support.debian import installed

NAMES = ("chromium", "chromium-browser", "google-chrome")


@cache
def chromium() -> str:
    """INVARIANT: without a browser the tests fail; they are not skipped."""
    found = installed("chromium", *NAMES)
    assert found is not None, f"install one of {', '.join(NAMES)}"
    return found
