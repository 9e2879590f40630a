"""How the events of the server's own ledger change its state."""

from typing import Any, Final

from msgspec.structs import replace

from beliefd.kernel.state import Session
from beliefd.kernel.system.events import (
    KeyChanged,
    LedgerArchived,
    LedgerImported,
    LedgerUnarchived,
    PolicyAdopted,
    RefusalNoted,
    SpaceMade,
    StoreRestored,
    TokenMade,
    TokenRevoked,
    TokensAdopted,
)
from beliefd.kernel.system.state import KnownToken
from beliefd.kernel.tables import Folds


def _with(session: Session, **held: Any) -> Session:
    return replace(session, system=replace(session.system, **held))


def _with_tokens(session: Session, known: tuple[KnownToken, ...]) -> Session:
    tokens = session.system.tokens
    for one in known:
        tokens = tokens.insert(one.token.token_id, one)
    return _with(session, tokens=tokens)


def token_changed(session: Session, event: TokenMade | TokenRevoked) -> Session:
    return _with_tokens(session, (event.token,))


def tokens_adopted(session: Session, event: TokensAdopted) -> Session:
    return _with_tokens(session, event.tokens)


def policy_adopted(session: Session, event: PolicyAdopted) -> Session:
    return _with(session, adopted_policy=event.policy_hash)


def space_made(session: Session, event: SpaceMade) -> Session:
    return _with(session, spaces=session.system.spaces.insert(event.space, event.made_by))


def ledger_imported(session: Session, event: LedgerImported) -> Session:
    return _with(session, imported=session.system.imported.insert(event.session_id, event.foreign))


def key_changed(session: Session, event: KeyChanged) -> Session:
    return _with(session, keys=session.system.keys.insert(event.name, event.fingerprint))


def store_restored(session: Session, _: StoreRestored) -> Session:
    return _with(session, restored=session.system.restored + 1)


def ledger_archived(session: Session, _: LedgerArchived) -> Session:
    return _with(session, archived=session.system.archived + 1)


def ledger_unarchived(session: Session, _: LedgerUnarchived) -> Session:
    return _with(session, unarchived=session.system.unarchived + 1)


def refusal_noted(session: Session, _: RefusalNoted) -> Session:
    return _with(session, sealed_refusals=session.system.sealed_refusals + 1)


FOLDS: Final[Folds] = {
    TokenMade: token_changed,
    TokenRevoked: token_changed,
    TokensAdopted: tokens_adopted,
    PolicyAdopted: policy_adopted,
    SpaceMade: space_made,
    LedgerImported: ledger_imported,
    KeyChanged: key_changed,
    StoreRestored: store_restored,
    LedgerArchived: ledger_archived,
    LedgerUnarchived: ledger_unarchived,
    RefusalNoted: refusal_noted,
}
