"""A gateway that asks nobody and records nothing: what the protocol's own work adds to a call.

It takes the arguments of `beliefd`; only the benchmark of gateways runs it.
"""

from beliefd.cli.main import main
from beliefd.mcp import served
from beliefd.mcp.judging import Judgement, Outcome, Proposed


class Hollow(served.ServedJudge):
    """Lets everything through, and forgets what came of it."""

    async def propose(self, call: Proposed) -> Judgement:
        return Judgement(session_id=call.session_id, seconds=30.0, call_id=call.join_key)

    async def report(self, session_id: str, call_id: str, outcome: Outcome) -> str | None:
        return None


if __name__ == "__main__":
    served.ServedJudge = Hollow  # type: ignore[misc]
    main()
