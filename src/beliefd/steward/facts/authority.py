"""On whose authority a decision rests: their standing is looked up before it is made."""

from collections.abc import Iterable, Sequence
from itertools import zip_longest
from typing import Final

from msgspec import Struct
from msgspec.structs import replace

from beliefd.kernel.approvals.findings import Authority
from beliefd.kernel.approvals.state import Approval
from beliefd.kernel.state import Session
from beliefd.kernel.substrate.capabilities import ancestors, givers
from beliefd.kernel.substrate.tools import ProposalFindings
from beliefd.protocol.rights import Right
from beliefd.steward.directory import Directory
from beliefd.steward.spaces import Spaces

Asked = dict[str, frozenset[Right]]
"""Whose standing is asked for, each with the rights of which one is enough."""
WHOEVER: Final = frozenset[Right]()
"""It is only asked who they are."""
PROPOSES: Final = frozenset({Right.PROPOSE})
SHAPES: Final = frozenset({Right.PROPOSE, Right.APPROVE})
"""Who edits something is among its proposers, and needs the right to decide it for that."""
DECIDES: Final = frozenset({Right.APPROVE})
ISSUES: Final = frozenset({Right.ADMIN})


def concerned(approval: Approval) -> Asked:
    """Those whose authority an item rests on: who proposed it, and who has said yes on the way."""
    said = (word.approver for word in (*approval.earlier, *approval.approvals))
    proposed = dict.fromkeys((approval.proposer.id, *approval.proposers), SHAPES)
    return proposed | dict.fromkeys(said, DECIDES)


def used_by_claims(session: Session | None, principal_id: str, origin_agent: str) -> Asked:
    """Who has given grants to somebody who submits claims, and in whose name those are."""
    held = {} if session is None else session.approvals.grants
    asked = {} if origin_agent == principal_id else {origin_agent: WHOEVER}
    if not held:
        return asked
    given = {grant.granted_by for grant in held.values() if grant.principal == principal_id}
    return asked | dict.fromkeys(given, DECIDES)


class Authorities(Struct, frozen=True):
    """How people and agents stand now, in the space of a session."""

    directory: Directory
    spaces: Spaces

    async def of(self, session: Session | None, asked: Asked, *, fresh: bool = True) -> Authority:
        """Nobody named is nothing to look up."""
        if not asked:
            return {}
        space = None if session is None else await self.spaces.of(session.session_id)
        return await self.directory.standings(asked, space, fresh=fresh)

    async def with_givers(
        self,
        session: Session,
        found: ProposalFindings,
        *,
        fresh: bool = True,
        approved: Sequence[str | None] = (),
    ) -> ProposalFindings:
        """With how those stand through whom the capabilities came that the calls name.

        `approved` are the capabilities of calls that may begin in their place.
        """
        names = [
            givers_of(session, None if call is None else call.capability_id) | givers_of(session, other)
            for call, other in zip_longest(found.calls, approved)
        ]
        pairs = (pair for one in names for pair in one.items())
        asked = dict(sorted(pairs, key=lambda pair: pair[1] == ISSUES))  # of two rights, the higher one
        standing = await self.of(session, asked, fresh=fresh)
        calls = (
            None if call is None else replace(call, givers=only(standing, wanted))
            for call, wanted in zip(found.calls, names, strict=True)
        )
        return replace(found, calls=tuple(calls))


def givers_of(session: Session, capability_id: str | None) -> Asked:
    """Everybody through whom a capability came, if there is one of this name. Who hands one on proposes; only
    an administrator issues one that comes from no other."""
    held = session.substrate.capabilities
    named = None if capability_id is None else held.get(capability_id)
    if named is None:
        return {}
    lineage = (named, *ancestors(held, named))
    root = {lineage[-1].issued_by} & givers(lineage)
    return dict.fromkeys(givers(lineage), PROPOSES) | dict.fromkeys(root, ISSUES)


def only(standing: Authority, names: Iterable[str]) -> Authority:
    return {name: standing[name] for name in sorted(names) if name in standing}
