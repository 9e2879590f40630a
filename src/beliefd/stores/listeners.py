"""Who wants to know that a session grew."""

import contextlib
from collections.abc import Callable

from beliefd.stores.base import Listener


class Listeners:
    """A list that may change while it is being called, and that forgets the same listener twice in peace."""

    def __init__(self) -> None:
        self._listeners: list[Listener] = []

    def __bool__(self) -> bool:
        return bool(self._listeners)

    def add(self, listener: Listener) -> Callable[[], None]:
        """Returns the way to unsubscribe."""
        self._listeners.append(listener)

        def unsubscribe() -> None:
            with contextlib.suppress(ValueError):
                self._listeners.remove(listener)

        return unsubscribe

    def tell(self, session_id: str) -> None:
        for listener in tuple(self._listeners):
            listener(session_id)

    def clear(self) -> None:
        self._listeners.clear()
