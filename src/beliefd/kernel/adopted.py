"""What a decision knows of the policy that it is made under, beside what that policy says."""

from msgspec import UnsetType

from beliefd.kernel.values import Value


class Adopted(Value, frozen=True):
    """Who brought the policy into force, and when; None where nobody adopted it."""

    by: str | None = None
    at: str | None = None


InForce = Adopted | UnsetType
"""Found out where a constraint or a rule of the policy reads `policy.*`; nothing is said of it otherwise.

Entries without it are older, or their policy does not ask: what reads `policy.*` finds nothing there.
"""
