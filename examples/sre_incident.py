"""An incident worked through with the SRE kit: probe by probe, until one cause is left.

python examples/sre_incident.py                            embedded, nothing else needed
python examples/sre_incident.py --url http://127.0.0.1:8642 --token ...
python examples/sre_incident.py --cause disk_full          the same incident with another cause behind it
python examples/sre_incident.py --all                      every cause in turn
"""

import argparse
import os
import sys

import beliefd
from beliefd import kits
from beliefd.client.synchronous import Calls
from beliefd.kits import Kit


def investigate(beliefs: Calls, kit: Kit, cause: str) -> str | None:
    """Work the incident; the conclusion that was accepted, or None if none was."""
    session = beliefs.declare_session(kit.hypotheses, kit.ontology, metadata={"title": kit.title}).session_id
    obligation = kit.obligation
    beliefs.enter_obligation(session, obligation.id, obligation.min_total_eliminations)

    hasty = beliefs.declare_conclusion(session, kit.concluded(kit.tempting))
    print(f"  {kit.concluded(kit.tempting)}: {'accepted' if hasty.accepted else 'refused'}, {hasty.reason}")

    for probe in kit.probes:
        outcome = kit.seen(probe, cause)
        answer = beliefs.eliminate(
            session,
            source_id=probe.source,
            observation_id=f"{probe.id}={outcome}",
            eliminated=kit.eliminated(probe, outcome),
            justification={"because": probe.outcomes[outcome].because},
        )
        now = answer.snapshot
        measure = f"{now.n_survivors:>2} left, {now.entropy_proxy:.2f} bits, {now.status}"
        print(f"  {probe.id:<18} {outcome:<21} {measure}")

    if not beliefs.request_exit(session, obligation.id).approved:
        return None
    (survivor,) = beliefs.query_belief(session).survivors
    conclusion = kit.concluded(survivor)
    if not beliefs.declare_conclusion(session, conclusion).accepted:
        return None
    closed = beliefs.request_termination(session)
    verified = beliefs.verify(session)
    print(f"  {conclusion}; closed: {closed.approved}; {verified.checked} events verified: {verified.ok}")
    return conclusion if closed.approved and verified.ok else None


def main() -> int:
    kit = kits.load("sre_incident")
    parser = argparse.ArgumentParser(description=kit.title)
    parser.add_argument("--url", help="a running server; without it the ledger is kept in memory")
    parser.add_argument("--token", default=os.environ.get("BELIEFD_TOKEN"))
    parser.add_argument("--cause", choices=sorted(kit.hypotheses), default=kit.truth)
    parser.add_argument("--all", action="store_true", help="work through every cause")
    given = parser.parse_args()

    wrong = 0
    beliefs = beliefd.Client(given.url, given.token) if given.url else beliefd.open(":memory:")
    with beliefs:
        for cause in kit.hypotheses if given.all else [given.cause]:
            print(f"{kit.title} (behind it: {cause})")
            wrong += investigate(beliefs, kit, cause) != kit.concluded(cause)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
