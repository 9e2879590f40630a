"""The client for OpenAI-compatible servers, against one on a real socket."""

import asyncio
import time
import traceback
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from typing import Any

import pytest

from beliefd.llm.openai_http import MAX_ANSWER_BYTES, OpenAIModel
from beliefd.llm.port import Ask, Message, ModelFailed, Reply
from tests.firewall.model_server import HANG_UP, STALL, completion, serving

KEY = "sk-never-shown-4711"
SCHEMA = {"type": "object", "properties": {"a": {"type": "integer"}}, "required": ["a"]}


def ask(url: str, *, retries: int = 4, timeout: float = 10.0, **question: Any) -> Reply:
    async def asked() -> Reply:
        model = OpenAIModel(url, "tiny", api_key=KEY, timeout=timeout, retries=retries, back_off=0.001)
        try:
            return await model.ask(Ask(messages=[Message("user", "why?")], **question))
        finally:
            await model.close()

    return asyncio.run(asked())


def test_a_question_is_asked_in_the_words_of_the_api_and_its_cost_is_told() -> None:
    with serving(completion("because")) as server:
        reply = ask(server.url, temperature=0.5, max_tokens=7, seed=42)
    assert (reply.text, reply.model, reply.logprobs) == ("because", "tiny-1", None)
    usage = reply.usage
    assert (usage.prompt_tokens, usage.completion_tokens, usage.attempts) == (11, 3, 1)
    assert usage.seconds > 0
    assert server.bodies == [
        {
            "model": "tiny",
            "messages": [{"role": "user", "content": "why?"}],
            "temperature": 0.5,
            "max_tokens": 7,
            "seed": 42,
        }
    ]
    assert server.keys == [f"Bearer {KEY}"]


def test_a_schema_is_sent_as_a_strict_response_format() -> None:
    with serving(completion('{"a": 1}')) as server:
        assert ask(server.url, schema=SCHEMA).text == '{"a": 1}'
    sent = server.bodies[0]["response_format"]
    assert sent == {
        "type": "json_schema",
        "json_schema": {"name": "answer", "strict": True, "schema": SCHEMA},
    }


def test_logprobs_come_back_in_order() -> None:
    tokens = {"content": [{"token": "be", "logprob": -0.25}, {"token": "cause", "logprob": -1.5}]}
    with serving(completion("because", logprobs=tokens), completion("because")) as server:
        assert ask(server.url, logprobs=True).logprobs == (-0.25, -1.5)
        with pytest.raises(ModelFailed, match="gives no logprobs"):
            ask(server.url, logprobs=True)


@pytest.mark.parametrize("failure", [(429, {}), (500, {}), (503, {}), (529, {}), HANG_UP], ids=str)
def test_what_may_pass_is_tried_again(failure: Any) -> None:
    with serving(failure, failure, completion("at last")) as server:
        reply = ask(server.url)
    assert (reply.text, reply.usage.attempts) == ("at last", 3)


@pytest.mark.parametrize("status", [400, 401, 403, 404, 422, 302])
def test_what_will_not_pass_is_not_tried_again(status: int) -> None:
    with (
        serving((status, {"Location": "/elsewhere"})) as server,
        pytest.raises(ModelFailed, match=str(status)),
    ):
        ask(server.url)
    assert len(server.bodies) == 1


def test_it_gives_up_after_its_retries() -> None:
    with serving(*[(503, {})] * 3) as server, pytest.raises(ModelFailed, match="answered 503, 3 times"):
        ask(server.url, retries=2)
    assert len(server.bodies) == 3


def test_nobody_there_is_a_failure_with_a_reason() -> None:
    with serving() as server:
        url = server.url
    with pytest.raises(ModelFailed, match="cannot be reached, 2 times"):
        ask(url, retries=1)


@pytest.mark.parametrize("as_date", [False, True])
def test_a_server_is_given_the_time_it_asks_for(as_date: bool) -> None:
    started = time.monotonic()
    in_two = format_datetime(datetime.now(UTC) + timedelta(seconds=2), usegmt=True)
    with serving((429, {"Retry-After": in_two if as_date else "1"}), completion("now")) as server:
        assert ask(server.url).text == "now"
        # The back-off of these tests is a thousandth of a second; a date loses its fraction of one.
        assert time.monotonic() - started > 0.5


@pytest.mark.parametrize("nonsense", ["soon", "-1", "9" * 400, "Sun, 99 Foo 2026"])
def test_a_wish_that_makes_no_sense_is_not_followed(nonsense: str) -> None:
    with serving((429, {"Retry-After": nonsense}), completion("now")) as server:
        if nonsense.isdecimal():
            with pytest.raises(ModelFailed, match="longer to wait than there is time"):
                ask(server.url)
        else:
            assert ask(server.url).text == "now"


def test_a_wish_longer_than_the_time_left_fails_at_once() -> None:
    with (
        serving((429, {"Retry-After": "3600"})) as server,
        pytest.raises(ModelFailed, match="longer to wait"),
    ):
        ask(server.url)


def test_a_server_that_says_nothing_runs_out_of_time() -> None:
    with serving(STALL) as server, pytest.raises(TimeoutError):
        ask(server.url, timeout=0.2)


@pytest.mark.parametrize(
    ("answer", "reason"),
    [
        (b"not json", "cannot be understood"),
        (b'{"choices": []}', "cannot be understood"),
        (b'{"choices": [{"message": "x"}]}', "cannot be understood"),
        (b"[" * 100_000, "cannot be understood"),
        (b" " * (MAX_ANSWER_BYTES + 1), "more than"),
        (completion(None), "without a text"),
        (completion("x", message={"content": None, "refusal": "I would rather not"}), "declined"),
        (completion('{"a":', finish_reason="length"), "cut off after 256 tokens"),
    ],
    ids=["prose", "no choice", "wrong type", "deep", "endless", "no text", "refusal", "cut off"],
)
def test_an_answer_that_is_none_is_a_failure(answer: Any, reason: str) -> None:
    with serving(answer) as server, pytest.raises(ModelFailed, match=reason) as failed:
        ask(server.url, schema=SCHEMA)
    assert "rather not" not in str(failed.value)


def test_the_key_shows_nowhere() -> None:
    """The server repeats the key in its complaint, as real ones do."""

    async def shown() -> str:
        model = OpenAIModel(server.url.replace("http://", "http://me:secret-word@"), "tiny", api_key=KEY)
        try:
            await model.ask(Ask(messages=[Message("user", "why?")]))
        except ModelFailed as error:
            return "".join(traceback.format_exception(error)) + repr(model) + str(vars(error))
        raise AssertionError("the server refused, and nobody noticed")

    with serving((401, {})) as server:
        said = asyncio.run(shown())
    assert "answered 401" in said
    assert "never-shown" not in said
    assert "secret-word" not in said


@pytest.mark.parametrize("key", ["", "  ", "sk\nx: y", "schlüssel"])
def test_a_key_that_no_header_can_carry_is_refused_without_showing_it(key: str) -> None:
    with pytest.raises(ValueError, match="API key") as refused:
        OpenAIModel("http://127.0.0.1:1/v1", "tiny", api_key=key)
    assert not key.strip() or key not in str(refused.value)


def test_what_was_spent_adds_up() -> None:
    async def asked() -> OpenAIModel:
        model = OpenAIModel(server.url, "tiny", back_off=0.001)
        for _ in range(2):
            await model.ask(Ask(messages=[Message("user", "why?")]))
        with pytest.raises(ModelFailed):
            await model.ask(Ask(messages=[Message("user", "why?")]))
        await model.close()
        return model

    with serving(completion("a"), (503, {}), completion("b"), (400, {})) as server:
        spent = asyncio.run(asked()).spent
    assert (spent.prompt_tokens, spent.completion_tokens, spent.attempts) == (22, 6, 4)
    assert server.keys == [None] * 4
