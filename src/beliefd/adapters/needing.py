"""Frameworks are imported by the adapter that needs them; one that is missing is named with its extra."""

from collections.abc import Iterator
from contextlib import contextmanager

from beliefd.extras import install


@contextmanager
def needing(extra: str) -> Iterator[None]:
    """Import a framework inside: without it, the error says what to install."""
    try:
        yield
    except ImportError as error:
        text = f"this adapter needs the extra `{extra}`: {install(extra)} ({error})"
        raise ImportError(text, name=error.name) from error
