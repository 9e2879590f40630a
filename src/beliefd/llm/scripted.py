"""A language model that says what it was given to say: for tests, demonstrations and offline work."""

from collections.abc import Iterable

from beliefd.llm.port import Ask, ModelFailed, Reply, Usage


class ScriptedModel:
    """Gives its answers in order, one a question, and keeps the questions. An exception is raised instead."""

    def __init__(self, answers: Iterable[str | Reply | Exception], *, name: str = "scripted") -> None:
        self.name = name
        self.asked: list[Ask] = []
        self._answers = iter(answers)

    async def ask(self, question: Ask) -> Reply:
        self.asked.append(question)
        answer = next(self._answers, None)
        if answer is None:
            raise ModelFailed(f"model `{self.name}` has no answer left for question {len(self.asked)}")
        if isinstance(answer, Exception):
            raise answer
        if isinstance(answer, Reply):
            return answer
        prompt = sum(len(message.content.split()) for message in question.messages)
        usage = Usage(prompt_tokens=prompt, completion_tokens=len(answer.split()))
        return Reply(text=answer, model=self.name, usage=usage)

    async def close(self) -> None:
        """There is nothing to let go of."""
