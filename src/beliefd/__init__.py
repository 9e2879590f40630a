"""beliefd: a belief server with an epistemic firewall for AI agents."""

from typing import TYPE_CHECKING, Any

from beliefd.kernel.errors import BeliefdError, Code

__version__ = "0.1.0"
__all__ = [
    "AsyncClient",
    "BeliefdError",
    "Claim",
    "ClaimBundle",
    "Client",
    "Code",
    "DecidedAction",
    "EvidencePointer",
    "Uncertainty",
    "__version__",
    "open",
    "open_async",
]

if TYPE_CHECKING:
    from beliefd.client import AsyncClient, Client
    from beliefd.embedded import open, open_async
    from beliefd.kernel.claims.bundle import Claim, ClaimBundle, DecidedAction, EvidencePointer, Uncertainty

_LAZY = {
    "beliefd.client": ("AsyncClient", "Client"),
    "beliefd.embedded": ("open", "open_async"),
    "beliefd.kernel.claims.bundle": (
        "Claim",
        "ClaimBundle",
        "DecidedAction",
        "EvidencePointer",
        "Uncertainty",
    ),
}


def __getattr__(name: str) -> Any:
    # Importing httpx or sqlite3 costs a tenth of a second: only those who use them pay.
    for module, names in _LAZY.items():
        if name in names:
            from importlib import import_module

            return getattr(import_module(module), name)
    raise AttributeError(name)
