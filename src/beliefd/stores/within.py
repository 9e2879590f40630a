"""Which spaces a question to a store is about."""

from collections.abc import Collection
from typing import TypeAlias

Within: TypeAlias = Collection[str] | None
"""The spaces that a question is about; None: all of them. What is in others is not there."""
