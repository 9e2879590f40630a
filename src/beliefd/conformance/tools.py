"""The tools that stories can name: one per tier, which do nothing but say so.

`beliefd serve --tools beliefd.conformance.staging` gives them to a server that is to be checked.
"""

from beliefd.kernel.values import Tier
from beliefd.tools.registry import Registry

NAMES = {
    Tier.READ_ONLY: "staging.look",
    Tier.WRITE_LIMITED: "staging.note",
    Tier.MODIFY: "staging.resize",
    Tier.DELETE: "staging.drop",
    Tier.PRIVILEGE: "staging.keys",
}


def registry() -> Registry:
    known = Registry()
    register(known)
    return known


def register(known: Registry) -> None:
    for tier, name in NAMES.items():
        known.tool(name, tier=tier.name)(lambda: "done")
