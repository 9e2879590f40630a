"""How much one principal may take up of what all share."""

from typing import Annotated

import msgspec

from beliefd.kernel.canonical import MAX_SAFE_INTEGER
from beliefd.kernel.values import Value

MIB = 1024 * 1024
Bytes = Annotated[int, msgspec.Meta(ge=1, le=MAX_SAFE_INTEGER)]
Many = Annotated[int, msgspec.Meta(ge=1, le=1_000_000_000)]


class LimitsPolicy(Value, frozen=True):
    """What one principal may take up of what all share. Past it, the answer is `RATE_LIMITED`.

    `requests_per_second` and `bytes_in_flight` (of bodies that are not answered yet) hold per server process;
    one body alone may always be as large as its operation allows. `pending_approvals` are items in the inbox
    that wait because of this principal, and `running_experiments` its runs under way, in all sessions and
    counted over all processes on one store. `bundle_bytes` is how large one bundle of claims may be, which
    stays in memory while it waits for a person; answers that come with it to be measured are not counted.
    """

    requests_per_second: Many = 5_000
    bytes_in_flight: Bytes = 64 * MIB
    pending_approvals: Many = 1_000
    running_experiments: Many = 16
    bundle_bytes: Bytes = MIB


DEFAULT_LIMITS = LimitsPolicy()
