"""Every question that there is, about a session with a long ledger, by several callers at once."""

import http.client
from contextlib import closing
from typing import Any, Final

import msgspec

from beliefd.protocol.operation import Operation
from beliefd.protocol.operations import OPERATIONS
from beliefd.protocol.rows import limits_of
from benchmarks.attacks import PATIENCE, Attack, at_once
from benchmarks.ledgers import NAMES, SOURCE
from benchmarks.victim import Victim

CALLERS: Final = 8
