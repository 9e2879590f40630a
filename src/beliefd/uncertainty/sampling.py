"""Draws answers to one question from a language model: concurrently, with seeds, and within a budget."""

import asyncio
import time
from typing import Final

from msgspec import Struct

from beliefd.kernel.claims.policy import UncertaintyPolicy
from beliefd.kernel.errors import invalid
from beliefd.llm.port import Ask, LanguageModel, Message, ModelFailed, Reply
from beliefd.uncertainty.equivalence.port import Judge
from beliefd.uncertainty.result import DEFAULT_POLICY, MIN_ANSWERS, Measured, unmeasured
from beliefd.uncertainty.semantic_entropy import METHOD, semantic_entropy

MAX_DRAWN: Final = 200
LEAST_SHARE: Final = 0.5
"""Fewer answers than this share of those asked for say nothing: who fails to answer may be who is unsure."""


class Budget(Struct, frozen=True, kw_only=True):
    """What drawing may cost. What is asked is the same every time, so the number of calls bounds it too."""

    calls: int = 20
    answer_tokens: int = 4_000
    seconds: float = 60.0
    at_once: int = 4


class Manner(Struct, frozen=True, kw_only=True):
    """How to ask. Answer number n is drawn with seed `seed + n`; log-probabilities only if asked for.

    Temperatures take turns.
    """

    temperatures: tuple[float, ...] = (1.0,)
    max_tokens: int = 64
    seed: int = 0
    logprobs: bool = False
    system: str | None = None


class Answer(Struct, frozen=True):
    text: str
    seed: int
    logprobs: tuple[float, ...] | None = None


class Failure(Struct, frozen=True):
    seed: int
    reason: str


class Drawn(Struct, frozen=True, kw_only=True):
    """What came, what failed and why, and what it cost. Answers are in the order of their seeds."""

    model: str
    asked_for: int
    answers: tuple[Answer, ...]
    failures: tuple[Failure, ...]
    prompt_tokens: int
    answer_tokens: int
    seconds: float

    @property
    def texts(self) -> list[str]:
        return [answer.text for answer in self.answers]


async def draw(
    model: LanguageModel,
    question: str,
    k: int,
    manner: Manner | None = None,
    budget: Budget | None = None,
) -> Drawn:
    """Ask `k` times. INVARIANT: neither calls nor answers' tokens nor seconds go beyond the budget."""
    manner, budget = manner or Manner(), budget or Budget()
    _check(question, k, manner, budget)
    started = time.monotonic()
    room = asyncio.Semaphore(budget.at_once)
    came: dict[int, Reply] = {}
    failed: dict[int, str] = {}

    async def one(seed: int) -> None:
        async with room:
            try:
                came[seed] = await model.ask(_ask(question, seed, manner))
            except ModelFailed as failure:
                failed[seed] = str(failure)
            except TimeoutError:
                failed[seed] = f"model `{model.name}` did not answer in time"

    # As many as could all be as long as they may: then no answer is cut short by another's length.
    affordable = min(k, budget.calls, budget.answer_tokens // manner.max_tokens)
    seeds = range(manner.seed, manner.seed + k)
    failed |= dict.fromkeys(seeds[affordable:], f"the budget is enough for {affordable} answers")
    tasks = {seed: asyncio.ensure_future(one(seed)) for seed in seeds[:affordable]}
    if tasks:
        await asyncio.wait(tasks.values(), timeout=budget.seconds)
    for seed, task in tasks.items():
        if not task.done():
            task.cancel()
            failed[seed] = f"not answered within {budget.seconds:g} seconds"
    finished = await asyncio.gather(*tasks.values(), return_exceptions=True)
    for outcome in finished:
        if isinstance(outcome, Exception):  # a defect of the model's, not one of its answers
            raise outcome
    return _drawn(model.name, k, came, failed, time.monotonic() - started)


def says_nothing(drawn: Drawn) -> str | None:
    """Why nothing can be measured in what was drawn; None if something can."""
    count = len(drawn.answers)
    if count < max(MIN_ANSWERS, LEAST_SHARE * drawn.asked_for):
        why = f": {drawn.failures[0].reason}" if drawn.failures else ""
        return f"{count} of {drawn.asked_for} answers came{why}"
    return None if any(text.strip() for text in drawn.texts) else "all answers are empty"


def measure(drawn: Drawn, judge: Judge | None = None, policy: UncertaintyPolicy = DEFAULT_POLICY) -> Measured:
    """Semantic entropy of what was drawn, weighted by likelihood if every answer has log-probabilities."""
    count = len(drawn.answers)
    if (problem := says_nothing(drawn)) is not None:
        return unmeasured(METHOD, problem)
    tokens = [answer.logprobs for answer in drawn.answers if answer.logprobs]
    return semantic_entropy(drawn.texts, judge, tokens if len(tokens) == count else None, policy)


def _check(question: str, k: int, manner: Manner, budget: Budget) -> None:
    if not question.strip():
        raise invalid("the question is empty", "$.question")
    if not MIN_ANSWERS <= k <= MAX_DRAWN:
        raise invalid(f"`k` of {k} is not between {MIN_ANSWERS} and {MAX_DRAWN}", "$.k")
    if min(manner.temperatures, default=0) <= 0:
        raise invalid("at temperature 0 all answers are one; nothing could be measured", "$.temperature")
    if manner.max_tokens < 1 or budget.at_once < 1 or budget.seconds <= 0:
        raise invalid("`max_tokens`, `at_once` and `seconds` are above 0", "$.budget")


def _ask(question: str, seed: int, manner: Manner) -> Ask:
    rules = () if manner.system is None else (Message("system", manner.system),)
    return Ask(
        messages=(*rules, Message("user", question)),
        temperature=manner.temperatures[(seed - manner.seed) % len(manner.temperatures)],
        max_tokens=manner.max_tokens,
        seed=seed,
        logprobs=manner.logprobs,
    )


def _drawn(name: str, k: int, came: dict[int, Reply], failed: dict[int, str], seconds: float) -> Drawn:
    return Drawn(
        model=name,
        asked_for=k,
        answers=tuple(Answer(came[seed].text, seed, came[seed].logprobs) for seed in sorted(came)),
        failures=tuple(Failure(seed, failed[seed]) for seed in sorted(failed)),
        prompt_tokens=sum(reply.usage.prompt_tokens for reply in came.values()),
        answer_tokens=sum(reply.usage.completion_tokens for reply in came.values()),
        seconds=seconds,
    )
