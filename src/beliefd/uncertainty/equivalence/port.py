"""What a judge of entailment is, and the bench that asks it: cached, batched, counted, and never trusted."""

from collections.abc import Sequence
from typing import Protocol

from beliefd.uncertainty.equivalence.kept import forget_much
from beliefd.wanted import check_wanted

Pair = tuple[str, str]


class JudgeFailed(Exception):
    """A judge raised, timed out, answered in a shape nobody asked for, or contradicted itself."""


class Judge(Protocol):
    """Says for each pair whether the first entails the second. `batch` is how many pairs it likes at once."""

    name: str
    batch: int

    def entails_all(self, pairs: Sequence[Pair]) -> Sequence[bool]: ...


class Bench:
    """Asks a judge, each pair once. `recheck` pairs are asked again at the end: is it steady?"""

    def __init__(self, judge: Judge, recheck: int = 0) -> None:
        forget_much()  # a measurement begins
        self._judge = judge
        self._recheck = recheck
        self._answers: dict[Pair, bool] = {}
        self.calls = 0

    def entails(self, a: str, b: str) -> bool:
        return a == b or self._entails(a, b)

    def _entails(self, a: str, b: str) -> bool:
        pair = (a, b)
        known = self._answers.get(pair)
        if known is None:
            known = self._answers[pair] = self._asked([pair])[0]
        return known

    def entails_all(self, pairs: Sequence[Pair]) -> list[bool]:
        new = [pair for pair in dict.fromkeys(pairs) if pair[0] != pair[1] and pair not in self._answers]
        for start in range(0, len(new), self._judge.batch):
            chunk = new[start : start + self._judge.batch]
            self._answers.update(zip(chunk, self._asked(chunk), strict=True))
        return [a == b or self._answers[a, b] for a, b in pairs]

    def equivalent_to(self, text: str, others: Sequence[str]) -> int | None:
        """The place of the first of `others` that entails and is entailed by `text`.

        The way back is only asked where the way there held, so most pairs cost one call instead of two.
        """
        if self._judge.batch == 1:
            for place, other in enumerate(others):
                if self._entails(text, other) and self._entails(other, text):
                    return place
            return None
        for start in range(0, len(others), self._judge.batch):
            some = others[start : start + self._judge.batch]
            there = self.entails_all([(text, other) for other in some])
            held = [place for place, yes in enumerate(there) if yes]
            back = self.entails_all([(some[place], text) for place in held])
            for place, yes in zip(held, back, strict=True):
                if yes:
                    return start + place
        return None

    def adjourn(self) -> None:
        """Ask some pairs again. A judge that answers differently has no word that could be relied on."""
        again = list(self._answers)[: self._recheck]
        if not again:
            return
        for pair, answer in zip(again, self._asked(again), strict=True):
            if answer is not self._answers[pair]:
                raise JudgeFailed(f"judge `{self._judge.name}` contradicts itself on `{pair[0][:80]}`")

    def _asked(self, pairs: Sequence[Pair]) -> list[bool]:
        check_wanted()
        self.calls += len(pairs)
        try:
            answers = list(self._judge.entails_all(pairs))
        except JudgeFailed:
            raise
        except TimeoutError:
            raise JudgeFailed(f"judge `{self._judge.name}` did not answer in time") from None
        except Exception as error:
            raise JudgeFailed(f"judge `{self._judge.name}` raised {type(error).__name__}") from error
        if len(answers) != len(pairs) or set(map(type, answers)) - {bool}:
            raise JudgeFailed(f"judge `{self._judge.name}` did not answer every pair with true or false")
        return answers
