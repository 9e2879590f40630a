"""What came of calls, on its way to beliefd. Nothing more runs in a conversation until it is recorded."""

import logging
import threading
import time
from typing import Any, Final

from msgspec import Struct

from beliefd.adapters.wanting import reportable
from beliefd.client.synchronous import Calls
from beliefd.kernel.errors import BeliefdError, Code

log = logging.getLogger("beliefd.adapters")
PAUSES: Final = (0.1, 0.4, 1.0)
MAY_PASS: Final = frozenset({Code.STORAGE_UNAVAILABLE, Code.TOO_BUSY, Code.RATE_LIMITED, Code.TIMED_OUT})
UNFIT: Final = frozenset({Code.INVALID_REQUEST, Code.PAYLOAD_TOO_LARGE})
MOST_ERROR: Final = 10_000
MOST_TEXT: Final = 100_000
"""How much is told of a result that the server does not take as it is."""


class Report(Struct, frozen=True, kw_only=True):
    """What came of one call: `unknown` where nobody can say whether it had an effect."""

    call_id: str
    status: str
    result: Any = None
    error: str = ""


class Reports:
    """The reports of one conversation."""

    def __init__(self, client: Calls) -> None:
        self._client = client
        self._unsent: list[tuple[str, Report]] = []
        self._lock = threading.Lock()

    def make(self, session_id: str, report: Report) -> None:
        """Report, again for a while if that may help. What could not be sent is kept for `settle`."""
        for pause in (*PAUSES, None):
            try:
                return self._send(session_id, report)
            except Exception as error:  # the tool has run: what it gave back is not lost because of this
                may_pass = isinstance(error, BeliefdError) and error.code in MAY_PASS
                if not may_pass or pause is None:
                    log.error("call %s was not reported: %s", report.call_id, error)
                    break
            time.sleep(pause)
        with self._lock:
            self._unsent.append((session_id, report))
        return None

    def settle(self) -> None:
        """Send what could not be sent before.

        INVARIANT: as long as that fails, nothing else is decided here: a result was seen and is not recorded.
        """
        with self._lock:
            while self._unsent:
                self._send(*self._unsent[0])
                self._unsent.pop(0)

    def _send(self, session_id: str, report: Report) -> None:
        try:
            self._tell(session_id, report, reportable(report.result))
        except UnicodeEncodeError:
            self._tell(session_id, report, _text_of(report.result))
        except BeliefdError as error:
            if error.code in UNFIT and report.result is not None:  # too large, or numbers that JSON has not
                self._tell(session_id, report, _text_of(report.result))
            elif error.code is not Code.CONFLICT:  # it was reported before
                raise

    def _tell(self, session_id: str, report: Report, result: Any) -> None:
        told = {} if result is None else {"result": result}
        self._client.report_outcome(
            session_id, report.call_id, report.status, error=report.error[:MOST_ERROR], **told
        )


def _text_of(result: Any) -> str:
    return str(result)[:MOST_TEXT].encode("utf-8", "replace").decode()
