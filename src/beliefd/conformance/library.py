"""The library as a place to check: every story on stores of its own, in memory."""

from typing import Any

import msgspec

import beliefd
from beliefd.conformance.checks import Check
from beliefd.conformance.stories import Mismatch, Step, answered, request, run, servers_of
from beliefd.conformance.tools import registry
from beliefd.embedded import send
from beliefd.kernel.errors import BeliefdError
from beliefd.kernel.policy import Policy
from beliefd.kernel.substrate.explaining import explain_call
from beliefd.kernel.substrate.question import Question
from beliefd.kernel.values import Principal, Role, Tier
from beliefd.ledger.chain import policy_hash
from beliefd.ledger.replay import Position
from beliefd.ledger.transfer import read_export
from beliefd.ledger.verify import verify


def speaker(role: str, tier: str) -> str:
    """Who speaks in a story: one principal per role, and one more per lower tier."""
    return f"{role}://vector" if tier == Tier.PRIVILEGE.name else f"{role}://vector/{tier}"


class Library:
    """`beliefd.open(":memory:")`, spoken to by whichever role a step names."""

    def __init__(self) -> None:
        self._opened = beliefd.open(":memory:", registry=registry())

    def call(self, step: Step) -> tuple[int | None, Any]:
        principal = Principal(id=speaker(step.role, step.tier), role=Role(step.role), tier=step.tier)
        try:
            answer = self._opened.run(lambda: send(self._opened.runtime, principal, request(step)))
        except BeliefdError as error:
            answer = error.body
        return None, answered(step.op, _written(answer))

    def close(self) -> None:
        self._opened.close()


def _written(answer: Any) -> bytes:
    """What a server would have written."""
    if isinstance(answer, bytes):
        return answer
    if isinstance(answer, list):
        return msgspec.json.Encoder().encode_lines(answer)
    return msgspec.json.encode(answer)


class LibraryPlace:
    """This package, without a server."""

    def tell(self, story: dict[str, Any]) -> None:
        surfaces = {name: Library() for name in servers_of(story)}
        try:
            run(story, dict(surfaces))
        finally:
            for surface in surfaces.values():
                surface.close()

    def explained(self, policy: dict[str, Any], state: dict[str, Any], call: dict[str, Any]) -> Any:
        rules = msgspec.convert(policy, Policy)
        question = Question(tool_id=call["tool_id"], args=call["args"])
        return msgspec.to_builtins(explain_call(rules, policy_hash(rules), state, question))

    def replayed(self, ledger: bytes) -> dict[str, Any]:
        position = verified(ledger)
        beliefs = position.session.beliefs
        return {
            "events": position.head.seq,
            "head": position.head.hash,
            "survivors": list(beliefs.survivors),
            "status": beliefs.status,
            "conclusions": dict(beliefs.conclusions),
        }

    def lacks(self, check: Check) -> str | None:
        return None


def verified(ledger: bytes) -> Position:
    """Every hash, link, fold and decision of an exported ledger, recomputed here."""
    exported = read_export(ledger.splitlines())
    header = exported.header
    result, position = verify(exported.entries, header.session_id, header.policies, header.head)
    if position is None or not result.ok:
        raise Mismatch(f"the ledger of session `{header.session_id}` does not verify: {result.first_bad}")
    return position
