"""Operations that are one command to one session: what they submit, and what their outcome is answered with.

A transport that can wait for an outcome itself needs no task to carry such an operation out. A few others
need one, but wait for nothing but the steward and the store either.
"""

import asyncio
from collections.abc import Callable
from functools import partial
from typing import Final

from msgspec import Struct

from beliefd.kernel.commands import Command
from beliefd.kernel.policy import Policy
from beliefd.kernel.values import Principal
from beliefd.protocol.claims import ClaimRows
from beliefd.protocol.operation import Answer
from beliefd.protocol.substrate import SubstrateRows
from beliefd.steward.call import Call
from beliefd.steward.handlers.beliefs import VERBS, answer_to, submit_verb
from beliefd.steward.handlers.claims import judgement_of, read_at_once, samples_first, submit_bundle
from beliefd.steward.write.queued import Outcome
from beliefd.steward.write.submitting import Submit


class ShortWay(Struct, frozen=True):
    """`begin` has put the command into its session's queue when it returns.

    `is_longer` says of a policy that under it something else has to be waited for first. `read` makes the
    command at once of the bytes of a body, which is then the call's body; None, if `begin` has to read it.
    """

    begin: "Callable[[Submit, Call], asyncio.Future[Outcome]]"
    answer: Callable[[Outcome], Answer]
    is_longer: Callable[[Policy], bool] | None = None
    read: Callable[[bytes, Principal], Command | None] | None = None


SHORT_WAYS: Final = {
    **{name: ShortWay(partial(submit_verb, operation), answer_to) for name, operation in VERBS.items()},
    ClaimRows.submit_claims.name: ShortWay(submit_bundle, judgement_of, samples_first, read_at_once),
}
"""By the name of their operation."""
HANDLED: Final = {SubstrateRows.propose.name: b'"caller"', SubstrateRows.report_outcome.name: b""}
"""By name, those that a task carries out, and what stands in the body of a call that waits for no tool."""
