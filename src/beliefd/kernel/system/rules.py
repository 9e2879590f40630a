"""What may be written into the server's own ledger: by admins, once each, about what is known there."""

from collections.abc import Callable
from typing import Any, Final

from msgspec.structs import replace

from beliefd.kernel.errors import Code
from beliefd.kernel.event import EventBase, Refused, refused
from beliefd.kernel.facts import Facts
from beliefd.kernel.state import Session
from beliefd.kernel.system.commands import (
    AdoptPolicy,
    AdoptTokens,
    ArchiveLedger,
    ChangeKey,
    ImportLedger,
    MakeSpace,
    MakeToken,
    NoteRefusal,
    RestoreStore,
    RevokeToken,
    UnarchiveLedger,
)
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
from beliefd.kernel.system.state import SYSTEM, KnownToken, System
from beliefd.kernel.tables import Rules
from beliefd.kernel.transfers.state import Foreign
from beliefd.kernel.values import Role

Rule = Callable[[Session, Any, Facts], EventBase]
NOTHING: Final = System()


def make_token(session: Session, command: MakeToken, facts: Facts) -> TokenMade | Refused:
    token = command.token
    if token.token_id in session.system.tokens:
        return refused(Code.CONFLICT, f"token `{token.token_id}` is made already", "$.token.token_id")
    return TokenMade(token=KnownToken(token=token, made_at=facts.now, made_by=facts.principal.id))


def revoke_token(session: Session, command: RevokeToken, facts: Facts) -> TokenRevoked | Refused:
    known = session.system.tokens.get(command.token_id)
    if known is None or known.revoked_at is not None:
        text = f"no token `{command.token_id}` that is still valid"
        return refused(Code.NOT_FOUND, text, "$.token_id")
    return TokenRevoked(token=replace(known, revoked_at=facts.now, revoked_by=facts.principal.id))


def adopt_tokens(session: Session, command: AdoptTokens, facts: Facts) -> TokensAdopted | Refused:
    """INVARIANT: a token without an event of its own is named by the first event, or by none."""
    if session.system != NOTHING:
        text = "tokens are adopted by the first event of the ledger only; make new ones"
        return refused(Code.CONFLICT, text, "$.tokens")
    by, gone = facts.principal.id, set(command.revoked)
    return TokensAdopted(
        tokens=tuple(
            KnownToken(
                token=token,
                made_at=facts.now,
                made_by=by,
                revoked_at=facts.now if token.token_id in gone else None,
                revoked_by=by if token.token_id in gone else None,
            )
            for token in command.tokens
        )
    )


def adopt_policy(_: Session, command: AdoptPolicy, __: Facts) -> PolicyAdopted:
    return PolicyAdopted(policy_hash=command.policy_hash, source=command.source)


def make_space(session: Session, command: MakeSpace, facts: Facts) -> SpaceMade | Refused:
    if command.space in session.system.spaces:
        return refused(Code.CONFLICT, f"space `{command.space}` is made already", "$.space")
    return SpaceMade(space=command.space, made_by=facts.principal.id)


def import_ledger(_: Session, command: ImportLedger, facts: Facts) -> LedgerImported | Refused:
    if command.session_id == SYSTEM:
        text = "the ledger of another server cannot be the own one of this server"
        return refused(Code.FORBIDDEN, text, "$.session_id")
    foreign = Foreign(
        head=command.head,
        by=facts.principal.id,
        at=facts.now,
        source=command.source,
        file_sha256=command.file_sha256,
    )
    return LedgerImported(session_id=command.session_id, foreign=foreign)


def change_key(session: Session, command: ChangeKey, _: Facts) -> KeyChanged | Refused:
    if session.system.keys.get(command.name) == command.fingerprint:
        return refused(Code.CONFLICT, f"key `{command.name}` is in use already", "$.fingerprint")
    return KeyChanged(name=command.name, fingerprint=command.fingerprint)


def restore_store(_: Session, command: RestoreStore, __: Facts) -> StoreRestored:
    return StoreRestored(
        seen=command.seen,
        found=command.found,
        at=command.at,
        left_out=command.left_out,
        signed=command.signed,
        leaves=command.leaves,
    )


def archive_ledger(_: Session, command: ArchiveLedger, __: Facts) -> LedgerArchived | Refused:
    if command.session_id == SYSTEM:
        text = "the own ledger of a server is never put away: it says where the others are"
        return refused(Code.FORBIDDEN, text, "$.session_id")
    return LedgerArchived(
        session_id=command.session_id,
        head=command.head,
        file_sha256=command.file_sha256,
        place=command.place,
    )


def unarchive_ledger(session: Session, command: UnarchiveLedger, _: Facts) -> LedgerUnarchived | Refused:
    if session.system.unarchived >= session.system.archived:
        return refused(Code.CONFLICT, "no ledger was put away", "$.session_id")
    return LedgerUnarchived(session_id=command.session_id, head=command.head, place=command.place)


def note_refusal(_: Session, command: NoteRefusal, __: Facts) -> RefusalNoted:
    return RefusalNoted(session_id=command.session_id, tried=command.tried, by=command.by)


def _by_admins(rule: Rule) -> Rule:
    """INVARIANT: nobody else writes into the server's own ledger, whatever way the command came."""

    def guarded(session: Session, command: Any, facts: Facts) -> EventBase:
        if facts.principal.role is not Role.ADMIN:
            text = f"role `{facts.principal.role}` may not write into the server's own ledger"
            return refused(Code.FORBIDDEN, text, "$")
        return rule(session, command, facts)

    return guarded


_OPEN: Final[Rules] = {
    MakeToken: make_token,
    RevokeToken: revoke_token,
    AdoptTokens: adopt_tokens,
    AdoptPolicy: adopt_policy,
    MakeSpace: make_space,
    ImportLedger: import_ledger,
    ChangeKey: change_key,
    RestoreStore: restore_store,
    ArchiveLedger: archive_ledger,
    UnarchiveLedger: unarchive_ledger,
    NoteRefusal: note_refusal,
}
RULES: Final[Rules] = {command: _by_admins(rule) for command, rule in _OPEN.items()}
