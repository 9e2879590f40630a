"""beliefd: a belief server with an epistemic firewall for AI agents."""

from typing import TYPE_CHECKING, Any

from beliefd.kernel.errors import BeliefdError, Code

__version__ = "0.1.0"
__all__ = ["AsyncClient", "BeliefdError", "Client", "Code", "__version__", "open", "open_async"]

if TYPE_CHECKING:
    from beliefd.client import AsyncClient, Client
    from beliefd.embedded import open, open_async

_LAZY = {
    "Client": "beliefd.client",
    "AsyncClient": "beliefd.client",
    "open": "beliefd.embedded",
    "open_async": "beliefd.embedded",
}


def __getattr__(name: str) -> Any:
    # Importing httpx or sqlite3 costs a tenth of a second: only those who use them pay.
    if name in _LAZY:
        from importlib import import_module

        return getattr(import_module(_LAZY[name]), name)
    raise AttributeError(name)
