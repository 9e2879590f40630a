"""Erasing is for people, says why, and takes away nothing that is in the chain."""

from typing import Final

from beliefd.kernel.erasures.commands import Erase
from beliefd.kernel.erasures.events import Erased
from beliefd.kernel.erasures.findings import ErasureFindings
from beliefd.kernel.errors import Code
from beliefd.kernel.event import Refused, refused
from beliefd.kernel.facts import Facts
from beliefd.kernel.state import Session
from beliefd.kernel.tables import Rules
from beliefd.kernel.values import Role


def erase(session: Session, command: Erase, facts: Facts) -> Erased | Refused:
    if facts.principal.role is not Role.ADMIN:
        text = f"role `{facts.principal.role}` may not erase; it takes `admin`"
        return Refused(code=Code.FORBIDDEN, message=text)
    found = facts.findings if isinstance(facts.findings, ErasureFindings) else ErasureFindings()
    for number, digest in enumerate(command.digests):
        path = f"$.digests[{number}]"
        if digest in session.erasures.erased:
            event_id = session.erasures.erased[digest]
            return refused(Code.CONFLICT, f"`{digest}` was erased by event `{event_id}`", path)
        if digest in found.unknown:
            text = f"this session mentions no text or content `{digest}`"
            return refused(Code.CONTENT_NOT_FOUND, text, path)
    return Erased(event_id=facts.event_id, digests=command.digests, reason=command.reason)


RULES: Final[Rules] = {Erase: erase}
