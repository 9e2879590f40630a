"""One spelling for a value: what is the same is found, what only looks the same is not."""

import pytest

from beliefd.kernel.origin.spelling import folded, has_card, name_words, shape_of
from tests.origin.support import origin, session

SAME = [
    ("ann@example.org", "ANN@Example.ORG"),
    ("ann@example.org", "mailto:ann@example.org"),
    ("ann@example.org", "a\u200bnn@exam\u00adple.org"),
    ("ann@example.org", "ａｎｎ@example.org"),
    ("ann@example.org", "<ann@example.org>,"),
    ("annlee@gmail.com", "ann.lee@gmail.com"),
    ("annlee@gmail.com", "ann.lee+bills@googlemail.com"),
    ("https://example.org/a-b", "http://www.example.org/a%2Db"),
    ("https://example.org/path", "example.org/path/"),
    ("https://bücher.example/x", "https://xn--bcher-kva.example/x"),
    ("https://example.org/x", "<https://example.org/x>."),
    ("DE89370400440532013000", "DE89 3704 0044 0532 0130 00"),
    ("1000", "1,000.00"),
    ("1000", "1.000,00"),
    ("1200", "$1200.0"),
    ("2024-05-15", "2024/05/15"),
    ("2024-05-15", "15.05.2024"),
    ("14:30", "2:30 pm"),
    ("Blue Harbour", "“blue\nharbour”"),
    ("launch-plan", "#launch-plan"),
    ("Ann", "Ann's"),
]
DIFFERENT = [
    ("ann@example.org", "joann@example.org"),
    ("ann@example.org", "ann@example.org.evil.example"),
    ("ann@example.org", "аnn@example.org"),  # a Cyrillic letter
    ("ann.lee@example.org", "annlee@example.org"),
    ("https://example.org/x", "https://example.org/xy"),
    ("https://example.org/x", "https://example.org.evil.example/x"),
    ("https://example.org", "https://example.org@evil.example"),
    ("DE89370400440532013000", "DE893704004405320130001"),
    ("1000", "10000"),
    ("13", "113"),
    ("new_password", "my new_password2"),
    ("Blue Harbour", "blue big harbour"),
]


@pytest.mark.parametrize(("value", "written"), SAME)
def test_however_the_user_writes_it_it_is_his(value: str, written: str) -> None:
    assert origin(session(f"Please use {written} today."), value) == "user"
    assert origin(session(f"Please use {value} today."), written) == "user"


@pytest.mark.parametrize(("value", "written"), DIFFERENT)
def test_what_only_looks_like_it_is_not_his(value: str, written: str) -> None:
    assert origin(session(f"Please use {written} today."), value) == "model"


@pytest.mark.parametrize("written", ["May 15th", "15 May 2024", "2024-05-15", "05/15/2024"])
def test_a_day_is_known_in_each_notation(written: str) -> None:
    said = session(f"Book it for {written}, please.")
    assert said.said.found("05-15")


@pytest.mark.parametrize(
    ("text", "shape"),
    [
        ("ann@example.org", "email"), ("https://example.org", "url"), ("example.org/x", "host"),
        ("GB29NWBK60161331926819", "iban"), ("GB29 NWBK 6016 1331 9268 19", "iban"),
        ("+49 30 1234567", "phone"),
        ("(555) 123-4567", "phone"), ("4111 1111 1111 1111", "word"), ("5425 2334 3010 9903", "card"),
        ("report.pdf", "word"), ("/etc/passwd", "path"), ("2024-05-15", "day"), ("10:20", "time"),
        ("12.5", "number"),
        ("hello there", "word"), ("", "word"), ("x" * 5_000, "word"),
    ],
)  # fmt: skip
def test_shapes_of_values(text: str, shape: str) -> None:
    assert shape_of(text) == shape


def test_card_numbers_pass_their_check() -> None:
    assert has_card("my card is 5425-2334-3010-9903, ok")
    assert not has_card("order 5425233430109904")


@pytest.mark.parametrize(
    "name",
    [
        "chat.postMessage",
        "chat_post_message",
        "chat-post-message",
        "ChatPostMessage",
        "chat/post message",
        "CHAT_POST_MESSAGE",
    ],
)
def test_names_in_each_style_are_the_same_words(name: str) -> None:
    assert name_words(name) == ["chat", "post", "message"]


@pytest.mark.parametrize(
    ("typed", "other"),
    [
        ("anna@grossbank.example", "anna@großbank.example"),
        ("anna@grossbank.example", "anna@xn--grobank-2va.example"),
        ("anna@δόμοσ.example", "anna@δόμος.example"),
        ("anna@example.com", "anna@ex\u0323ample.com"),
        ("anna@example.com", "anna@ex\u0336ample.com"),
        ("anna@example.com", "anna@example.com\u0338"),
        ("https://good.example/x", "https://good.ex\u0323ample/x"),
        ("https://fass.example/x", "https://faß.example/x"),
    ],
)
def test_letters_of_their_own_and_marks_make_another_address(typed: str, other: str) -> None:
    assert origin(session(f"It is {typed} today"), typed) == "user"
    assert origin(session(f"It is {typed} today"), other) != "user"


def test_an_address_with_such_letters_is_found_in_both_spellings() -> None:
    for typed in ("anna@großbank.example", "anna@xn--grobank-2va.example", "ANNA@Großbank.example"):
        assert origin(session(f"It is {typed} today"), "anna@großbank.example") == "user"


def test_marks_and_variants_hide_no_word() -> None:
    assert folded("s\u0336e\u0336n\u0336d\u0336 it.") == "send it."
    assert folded("ok\ufe0f@x.example") == "ok@x.example"
