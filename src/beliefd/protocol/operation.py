"""What a row of the surface says."""

from typing import Final

from beliefd.kernel.values import Role

KIB: Final = 1024
MIB: Final = 1024 * KIB
EVERYONE: Final = frozenset(Role)
PROPOSERS: Final = EVERYONE
OPERATORS: Final = frozenset({Role.ADMIN})
SESSION_PATH: Final = "/v1/sessions/{session_id}"
