"""What is recorded of an attempt that the firewall stopped before there was a command."""

import re
from typing import Annotated, Final

import msgspec

from beliefd.kernel.errors import Code
from beliefd.kernel.scan.guards import HARD_FAILURES
from beliefd.kernel.values import Digest, Id, Value

MAX_PATH: Final = 512
_QUOTED: Final = re.compile(r'\["(?:[^"\\]|\\.)*"\]')


class RecordAttempt(Value, frozen=True, tag_field="verb", tag="RECORD_ATTEMPT"):
    """What was asked for, which rule stopped it and where, and what the body hashes to; never its text."""

    operation: Id
    code: Code
    path: Annotated[str, msgspec.Meta(max_length=MAX_PATH)]
    body_hash: Digest

    def __post_init__(self) -> None:
        if self.code not in HARD_FAILURES:
            raise ValueError("no error of the firewall, in field `code`")


def path_to_record(path: str) -> str:
    """A path without the keys that are no plain names: such a key may be the text itself."""
    return _QUOTED.sub('["..."]', path)[:MAX_PATH]


AttemptCommand = RecordAttempt
