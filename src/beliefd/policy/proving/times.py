"""Times as conditions compare them."""

import re
from datetime import UTC, datetime
from typing import Any, Final

from beliefd.kernel.patterns import TIMESTAMP

EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)


def moment(value: Any) -> datetime | None:
    if not isinstance(value, str) or re.search(TIMESTAMP, value) is None:
        return None
    try:
        return datetime.fromisoformat(value)
    except ValueError:  # it looks like one, and names a thirteenth month
        return None
