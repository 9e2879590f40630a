"""A store that nothing survives: for tests and throw-away sessions."""

from beliefd.stores.memory.store import MemoryStore

__all__ = ["MemoryStore"]
