"""What comes in from elsewhere is held to the rules for what is said here, whatever the store would bear."""

from collections.abc import Iterator

import pytest

from beliefd.kernel.errors import BeliefdError, Code
from beliefd.protocol.rights import EVERYTHING
from beliefd.steward.bootstrap import bootstrap
from beliefd.steward.call import Call
from beliefd.steward.environment import Environment
from beliefd.steward.handlers.transfer import TransferHandlers
from beliefd.steward.write.steward import Steward
from beliefd.steward.write.system import SystemLedger
from beliefd.stores.memory import MemoryStore
from beliefd.testing.frozen import frozen_environment
from beliefd.testing.world import ROOT
from tests.steward.places import ALICE, Place, declaration, eliminate, ledger_of

pytestmark = pytest.mark.anyio

ODD = ["x" * 1_000_000, "a\x00b", "a\nb", ""]


async def exported(ids: Iterator[str]) -> list[bytes]:
    """A ledger of two events, made elsewhere under ids of its own choice; every hash in it is right."""
    environment = Environment(now=frozen_environment().now, new_id=lambda: next(ids))
    steward = bootstrap(MemoryStore(), environment=environment).steward
    session_id = (await steward.declare(declaration(), ALICE)).session.session_id
    await steward.submit(session_id, eliminate("h0000"), ALICE)
    return await lines_of(steward, session_id)


async def lines_of(steward: Steward, session_id: str) -> list[bytes]:
    call = Call(principal=ALICE, rights=EVERYTHING, path={"session_id": session_id})
    return b"".join([part async for part in transfers(steward).export(call)]).splitlines(keepends=True)


async def import_ledger(steward: Steward, lines: list[bytes]) -> None:
    await transfers(steward).import_ledger(Call(principal=ROOT, rights=EVERYTHING, body=b"".join(lines)))


def transfers(steward: Steward) -> TransferHandlers:
    system = SystemLedger(steward.store, steward.positions, steward.submit)
    return TransferHandlers(steward.store, steward.positions, steward.submit, system, steward.in_force)


async def test_an_imported_ledger_is_stored_as_it_came(place: Place) -> None:
    lines = await exported(iter(["session", "event 1", "event 2"]))
    steward = await place.steward()
    await import_ledger(steward, lines)
    assert [entry.event_id for entry in await ledger_of(steward, "session")] == ["event 1", "event 2"]
    assert await lines_of(steward, "session") == lines
    with pytest.raises(BeliefdError) as raised:
        await import_ledger(steward, lines)
    assert raised.value.code is Code.CONFLICT


@pytest.mark.parametrize("odd", ODD, ids=["huge", "NUL", "newline", "empty"])
async def test_ids_that_could_not_be_declared_here_cannot_be_imported(place: Place, odd: str) -> None:
    steward = await place.steward()
    for ids in ([odd, "event 1", "event 2"], ["session", odd, "event 2"], ["session", "event 1", odd]):
        with pytest.raises(BeliefdError) as raised:
            await import_ledger(steward, await exported(iter(ids)))
        assert raised.value.code is Code.INVALID_REQUEST
    assert await steward.store.sessions(None, 10) == []
