"""A language model over any OpenAI-compatible HTTP API: structured output, retries, time limits, cost."""

import asyncio
import time
from collections.abc import Mapping
from email.utils import parsedate_to_datetime
from typing import Final

import msgspec

from beliefd.llm.port import Ask, ModelFailed, Reply, Usage

TIMEOUT_SECONDS: Final = 60.0
RETRIES: Final = 4
BACK_OFF_SECONDS: Final = 0.5
MAX_BACK_OFF_SECONDS: Final = 20.0
MAX_ANSWER_BYTES: Final = 8 * 1024 * 1024
TRY_AGAIN: Final = frozenset({408, 425, 429, 500, 502, 503, 504, 529})


class _Message(msgspec.Struct):
    content: str | None = None
    refusal: str | None = None


class _Token(msgspec.Struct):
    logprob: float


class _Logprobs(msgspec.Struct):
    content: list[_Token] | None = None


class _Choice(msgspec.Struct):
    message: _Message
    finish_reason: str | None = None
    logprobs: _Logprobs | None = None


class _Tokens(msgspec.Struct):
    prompt_tokens: int = 0
    completion_tokens: int = 0


class _Completion(msgspec.Struct):
    choices: list[_Choice]
    model: str = ""
    usage: _Tokens | None = None


class OpenAIModel:
    """Asks `model` at `url`, such as `http://127.0.0.1:8080/v1`.

    `timeout` is for a question as a whole, with all its attempts. INVARIANT: neither an error nor a `repr`
    holds the key, nor what a server says about it: some repeat the key in their complaint.
    """

    def __init__(
        self,
        url: str,
        model: str,
        *,
        api_key: str | None = None,
        timeout: float = TIMEOUT_SECONDS,
        retries: int = RETRIES,
        back_off: float = BACK_OFF_SECONDS,
    ) -> None:
        import httpx

        self.spent = Usage(attempts=0)
        """All that was asked so far, together."""
        self._model = model
        self._timeout = timeout
        self._retries = retries
        self._back_off = back_off
        # asyncio holds the time limit; the client's own would begin anew with every attempt.
        self._http = httpx.AsyncClient(base_url=url, headers=_headers(api_key), timeout=None)  # noqa: S113

    @property
    def name(self) -> str:
        return f"openai:{self._model}"

    def __repr__(self) -> str:
        return f"OpenAIModel(host={self._http.base_url.host!r}, model={self._model!r})"

    async def ask(self, question: Ask) -> Reply:
        started = time.monotonic()
        body = msgspec.json.encode({"model": self._model, **question.body(strict=True)})
        attempts = 0
        try:
            async with asyncio.timeout(self._timeout):
                while True:
                    attempts += 1
                    status, headers, answer = await self._post(body)
                    if status == 200:
                        return self._reply(question, answer, attempts, started)
                    left = self._timeout - (time.monotonic() - started)
                    await asyncio.sleep(self._pause(status, headers, attempts, left))
        finally:
            self.spent = _sum(self.spent, Usage(attempts=attempts, seconds=time.monotonic() - started))

    async def close(self) -> None:
        await self._http.aclose()

    async def _post(self, body: bytes) -> tuple[int, Mapping[str, str], bytes]:
        """Status, headers and body; status 0 if nobody answered."""
        import httpx

        headers = {"Content-Type": "application/json"}
        try:
            async with self._http.stream(
                "POST", "chat/completions", content=body, headers=headers
            ) as response:
                answer = bytearray()
                async for part in response.aiter_bytes():
                    answer += part
                    if len(answer) > MAX_ANSWER_BYTES:
                        raise ModelFailed(f"model `{self.name}` answered more than {MAX_ANSWER_BYTES} bytes")
                return response.status_code, response.headers, bytes(answer)
        except httpx.TransportError:
            return 0, {}, b""
        except (httpx.HTTPError, httpx.InvalidURL) as error:
            raise ModelFailed(f"model `{self.name}` cannot be asked: {type(error).__name__}") from None

    def _pause(self, status: int, headers: Mapping[str, str], attempts: int, left: float) -> float:
        """How long to wait before asking again; raises if that makes no sense."""
        problem = f"answered {status}" if status else "cannot be reached"
        if status and status not in TRY_AGAIN:
            raise ModelFailed(f"model `{self.name}` {problem}")
        if attempts > self._retries:
            raise ModelFailed(f"model `{self.name}` {problem}, {attempts} times")
        wished = _retry_after(headers.get("retry-after"))
        if wished is None:
            # Spread a little, so that many who failed together do not come back together.
            spread = 0.75 + time.monotonic_ns() % 1_000 / 2_000
            return min(self._back_off * 2.0 ** (attempts - 1), MAX_BACK_OFF_SECONDS) * spread
        if wished > left:
            raise ModelFailed(f"model `{self.name}` {problem}: longer to wait than there is time")
        return wished

    def _reply(self, question: Ask, answer: bytes, attempts: int, started: float) -> Reply:
        try:
            completion = msgspec.json.decode(answer, type=_Completion)
            choice = completion.choices[0]
        except (msgspec.DecodeError, LookupError, RecursionError) as error:
            raise ModelFailed(f"model `{self.name}` cannot be understood: {type(error).__name__}") from None
        tokens = completion.usage or _Tokens()
        usage = Usage(
            prompt_tokens=tokens.prompt_tokens,
            completion_tokens=tokens.completion_tokens,
            seconds=time.monotonic() - started,
            attempts=attempts,
        )
        self.spent = _sum(self.spent, msgspec.structs.replace(usage, seconds=0.0, attempts=0))
        return Reply(
            text=self._text(question, choice),
            model=completion.model or self._model,
            usage=usage,
            logprobs=self._logprobs(question, choice),
        )

    def _text(self, question: Ask, choice: _Choice) -> str:
        if choice.message.refusal:
            raise ModelFailed(f"model `{self.name}` declined to answer")
        if choice.message.content is None:
            raise ModelFailed(f"model `{self.name}` answered without a text")
        # Half of a JSON document is none; half of a text may still be one.
        if question.schema is not None and choice.finish_reason == "length":
            raise ModelFailed(f"model `{self.name}` was cut off after {question.max_tokens} tokens")
        return choice.message.content

    def _logprobs(self, question: Ask, choice: _Choice) -> tuple[float, ...] | None:
        if not question.logprobs:
            return None
        if choice.logprobs is None or choice.logprobs.content is None:
            raise ModelFailed(f"model `{self.name}` gives no logprobs")
        return tuple(token.logprob for token in choice.logprobs.content)


def _headers(api_key: str | None) -> dict[str, str]:
    if api_key is None:
        return {}
    key = api_key.strip()
    if not key or not key.isascii() or not key.isprintable():
        raise ValueError("the API key is empty or holds what no header can carry")
    return {"Authorization": f"Bearer {key}"}


def _retry_after(header: str | None) -> float | None:
    """Seconds to wait as a server wishes, who says so in seconds or as a date."""
    if header is None:
        return None
    try:
        if header.strip().isdecimal():
            return float(header)
        return max(0.0, parsedate_to_datetime(header).timestamp() - time.time())
    except (ValueError, OverflowError):
        return None


def _sum(one: Usage, other: Usage) -> Usage:
    return Usage(**{name: getattr(one, name) + getattr(other, name) for name in Usage.__struct_fields__})
