"""What callers are told when the store fails them: the one translation of its failures into error codes."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

from beliefd.kernel.errors import BeliefdError, Code
from beliefd.ledger.envelope import LedgerBroken
from beliefd.stores.base import HeadMoved, StorageUnavailable

STORE_FAILURES: Final = (StorageUnavailable, LedgerBroken, HeadMoved)


def translated(error: BaseException) -> BaseException:
    """A failure of the store as the error that is answered with; any other error as it is."""
    if isinstance(error, StorageUnavailable):
        return BeliefdError(Code.STORAGE_UNAVAILABLE, str(error))
    if isinstance(error, LedgerBroken):
        return BeliefdError(
            Code.LEDGER_BROKEN,
            f"the stored ledger does not verify: {error}",
            {"seq": error.seq, "event_id": error.event_id, "reason": error.reason},
        )
    return too_many_writers() if isinstance(error, HeadMoved) else error


def too_many_writers() -> BeliefdError:
    return BeliefdError(Code.CONFLICT, "too many writers on this session; try again")


def not_found(code: Code, kind: str, name: str, where: str = "") -> BeliefdError:
    """Nothing of this kind goes by a name that somebody asked for."""
    return BeliefdError(code, f"no {kind} `{name[:64]}`{where}", {"path": f"{kind}_id"})


@contextmanager
def translating() -> Iterator[None]:
    try:
        yield
    except STORE_FAILURES as error:
        raise translated(error) from None
