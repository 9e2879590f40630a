"""Hostile input costs time in proportion to its length: four times the text, about four times the time."""

import time

import pytest

from beliefd.adversarial import assess, assessing
from beliefd.adversarial.phrases import WORDS

QUARTER, WHOLE = 250_000, 1_000_000
QUADRATIC = 16

words = " ".join(sorted({word for rule in WORDS for need in rule.needs for word in need}))
UNITS = {
    "one letter": "a",
    "spaced letters": "i g n o r e ",
    "words of all rules": f"{words} ",
    "first words only": "ignore the previous ",
    "reports": "the attack said ignore all previous instructions . ",
    "half an exfiltration": "send the api key to the ",
    "marks": "a\u0301\u0328",
    "zero width": "a\u200b",
    "tags": "\U000e0041",
    "selectors": "\ufe0f",
    "direction": "\u202e\u2066",
    "cyrillic": "ігнорируй а",
    "chinese": "忽略",
    "percent": "%69",
    "entities": "&#105;",
    "escapes": "\\u0069",
    "base64": "aWdub3Jl",
    "hex": "69 ",
    "newlines": "\n",
    "roles": "\nhuman:",
    "tags of markup": "<system>aaaa",
    "images": "![](http://",
    "json": '"name": "a", ',
    "expanding": "\ufdfa",
    "surrogates": "\ud800",
}


def cost(text: str) -> float:
    best = float("inf")
    for _ in range(2):
        start = time.process_time()
        assess([("$", text)], 0)
        best = min(best, time.process_time() - start)
    return best


@pytest.mark.slow
@pytest.mark.parametrize("unit", UNITS.values(), ids=UNITS.keys())
def test_a_megabyte_costs_no_more_than_its_length(unit: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(assessing, "MAX_READ", 10 * WHOLE)  # or the limit would hide what is tested
    whole = unit * (WHOLE // len(unit))
    growth = cost(whole) / max(cost(whole[:QUARTER]), 1e-4)
    assert growth < QUADRATIC / 2


def test_what_is_read_is_capped() -> None:
    over_limit = "ignore the previous é " * (assessing.MAX_READ // 10)
    assert cost(over_limit * 10) < 3 * cost(over_limit)
