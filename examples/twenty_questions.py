"""Twenty questions: you think of an animal, beliefd keeps account of which ones it can still be.

python examples/twenty_questions.py                        play; answer yes, no or ? when unsure
python examples/twenty_questions.py --secret octopus       let the script answer
python examples/twenty_questions.py --all                  every animal in turn
python examples/twenty_questions.py --url http://127.0.0.1:8642 --token ...
"""

import argparse
import os
import sys
from collections.abc import Callable

import beliefd
from beliefd import kits
from beliefd.client.synchronous import Calls
from beliefd.kits import Kit, Probe

MOST_QUESTIONS = 20
Answers = Callable[[Probe], str | None]


def play(beliefs: Calls, kit: Kit, answers: Answers) -> tuple[str | None, int]:
    """Ask until one animal is left. Returns it (None: none fits, or too many do) and the questions used."""
    session = beliefs.declare_session(kit.hypotheses, kit.ontology).session_id
    beliefs.enter_obligation(session, kit.obligation.id, kit.obligation.min_total_eliminations)
    state = beliefs.query_belief(session)
    open_questions = list(kit.probes)
    asked = 0
    while state.status == "open" and asked < MOST_QUESTIONS:
        question = best_split(kit, open_questions, state.survivors)
        if question is None:
            break
        open_questions.remove(question)
        asked += 1
        outcome = answers(question)
        if outcome is None:
            continue
        state = beliefs.eliminate(
            session,
            source_id=question.source,
            observation_id=f"{question.id}={outcome}",
            eliminated=kit.eliminated(question, outcome),
            justification={"because": question.outcomes[outcome].because},
        ).snapshot
    if state.status != "singleton" or not beliefs.request_exit(session, kit.obligation.id).approved:
        return None, asked
    guess = state.survivors[0]
    accepted = beliefs.declare_conclusion(session, kit.concluded(guess)).accepted
    closed = beliefs.request_termination(session).approved
    return (guess if accepted and closed and beliefs.verify(session).ok else None), asked


def best_split(kit: Kit, questions: list[Probe], survivors: list[str]) -> Probe | None:
    """The question whose worst answer leaves the fewest; choosing probes is the adapter's business."""

    def worst(question: Probe) -> int:
        shown = [kit.seen(question, name) for name in survivors]
        return max(shown.count(outcome) for outcome in question.outcomes)

    useful = [question for question in questions if worst(question) < len(survivors)]
    return min(useful, key=worst, default=None)


def ask_human(question: Probe) -> str | None:
    while True:
        answer = input(f"{question.ask} [yes/no/?] ").strip().lower()
        if answer in ("?", ""):
            return None
        for outcome in question.outcomes:
            if outcome.startswith(answer):
                return outcome
        print("please answer yes, no or ?")


def main() -> int:
    kit = kits.load("twenty_questions")
    parser = argparse.ArgumentParser(description=kit.story)
    parser.add_argument("--url", help="a running server; without it the ledger is kept in memory")
    parser.add_argument("--token", default=os.environ.get("BELIEFD_TOKEN"))
    parser.add_argument("--secret", choices=sorted(kit.hypotheses), help="what the script has in mind")
    parser.add_argument("--all", action="store_true", help="check that every animal is found")
    given = parser.parse_args()

    beliefs = beliefd.Client(given.url, given.token) if given.url else beliefd.open(":memory:")
    with beliefs:
        if given.all or given.secret:
            secrets = list(kit.hypotheses) if given.all else [given.secret]
            missed = [secret for secret in secrets if not found(beliefs, kit, secret)]
            return 1 if missed else 0
        print(f"{kit.story}\n\n  {', '.join(kit.hypotheses)}\n")
        try:
            guess, asked = play(beliefs, kit, ask_human)
        except (EOFError, KeyboardInterrupt):
            print()
            return 1
        print(
            f"after {asked} questions: {guess}" if guess else "these answers fit no animal, or more than one"
        )
    return 0


def found(beliefs: Calls, kit: Kit, secret: str) -> bool:
    guess, asked = play(beliefs, kit, lambda question: kit.seen(question, secret))
    print(f"{secret}: {asked} questions, guessed {guess}")
    return guess == secret


if __name__ == "__main__":
    sys.exit(main())
