"""Policy files: YAML or JSON, checked with line numbers, known by their hash."""

import contextlib
import json
from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from beliefd.kernel.errors import BeliefdError, Code
from beliefd.kernel.policy import Policy
from beliefd.ledger.chain import policy_hash
from beliefd.policy.files import MAX_BYTES, load_policy, parse_policy
from beliefd.policy.presets import PRESETS, preset
from beliefd.protocol.policy import PolicyAnswer

GOOD = """\
# who decides what
v: 1
evidence:
  min_confidence: 0.8
  hash: strict
  max_age_seconds: 86400
uncertainty: {explain_above: 0.2, defer_above: 0.4}
approvals:
  require_human: [MODIFY, DELETE, PRIVILEGE]
  on_expiry: escalate
  escalate_to:
    roles: [admin]
  approvers:
    DELETE:
      roles: []
      principals: ["human://ann", "human://bob"]
      required: 2
"""


def complaint(text: str | bytes, name: str = "p.yaml") -> BeliefdError:
    with pytest.raises(BeliefdError) as caught:
        parse_policy(text.encode() if isinstance(text, str) else text, name)
    assert caught.value.code is Code.INVALID_REQUEST
    assert f"`{name}`" in caught.value.message
    return caught.value


def test_a_file_says_what_it_says() -> None:
    read = parse_policy(GOOD.encode(), "p.yaml")
    assert read.evidence.min_confidence == 0.8
    assert read.evidence.hash == "strict"
    assert read.uncertainty.defer_above == 0.4
    assert read.approvals.on_expiry == "escalate"
    assert read.approvals.rule_for("DELETE").principals == ("human://ann", "human://bob")
    assert read.approvals.rule_for("DELETE").required == 2
    assert read.security == Policy().security


def test_json_and_yaml_say_the_same() -> None:
    read = parse_policy(GOOD.encode(), "p.yaml")
    written = json.dumps(msgspec.to_builtins(read), indent="\t")
    for name in ("p.json", "p", "p.policy"):
        assert parse_policy(written.encode(), name) == read


@pytest.mark.parametrize("name", PRESETS)
def test_what_is_shown_of_the_policy_in_force_can_be_read_again(name: str) -> None:
    held = preset(name)
    shown = PolicyAnswer(policy_hash=policy_hash(held), policy=held, source="adopted")
    assert policy_hash(parse_policy(msgspec.json.encode(shown))) == shown.policy_hash


def test_an_object_without_fields_is_the_default_policy() -> None:
    assert parse_policy(b"{}", "p.json") == parse_policy(b"{}", "p.yaml") == Policy()


@pytest.mark.parametrize("nothing", [b"", b"\n", b"# nothing but a comment\n", b"---\n", b"null"])
def test_a_file_that_says_nothing_is_an_accident_not_a_policy(nothing: bytes) -> None:
    assert "empty" in complaint(nothing).message


@pytest.mark.parametrize(
    ("text", "line", "path"),
    [
        # wrong types and bounds
        ("evidence:\n  min_confidence: high\n", 2, "$.evidence.min_confidence"),
        ("evidence:\n  hash: strict\n  min_confidence: 1.5\n", 3, "$.evidence.min_confidence"),
        ("evidence:\n  min_confidence: .nan\n", 2, "$.evidence.min_confidence"),
        ("evidence:\n  min_confidence: .inf\n", 2, "$.evidence.min_confidence"),
        ("evidence:\n  hash: yes\n", 2, "$.evidence.hash"),
        ("evidence:\n  hash: Strict\n", 2, "$.evidence.hash"),
        ("security:\n  rate_limit: 0\n", 2, "$.security.rate_limit"),
        ("security:\n  rate_limit: 1.5\n", 2, "$.security.rate_limit"),
        ("security:\n\n\n  rate_window_seconds: 99999999999999999999\n", 4, "$.security.rate_window_seconds"),
        ("security:\n  allowed_origins: https://a\n", 2, "$.security.allowed_origins"),
        ("approvals:\n  require_human:\n  - DELETE\n  - DELEET\n", 4, "$.approvals.require_human[1]"),
        ("v: 2\n", 1, "$.v"),
        ("[]\n", 1, "$"),
        ("a text\n", 1, "$"),
        ("evidence: []\n", 1, "$.evidence"),
        # fields that do not exist
        ("evidence:\n  min_confidnce: 0.5\n", 2, "$.evidence.min_confidnce"),
        ("v: 1\nevidnce: {}\n", 2, "$.evidnce"),
        ("approvals:\n  approvers:\n    DELET:\n      required: 1\n", 3, "$.approvals.approvers.DELET"),
        (
            "approvals:\n  approvers:\n    DELETE:\n      required: 0\n",
            4,
            "$.approvals.approvers.DELETE.required",
        ),
        (
            "approvals:\n  approvers:\n    MODIFY: {}\n    DELETE:\n      roles: [admin, boss]\n",
            5,
            "$.approvals.approvers.DELETE.roles[1]",
        ),
        # contradictions
        ("v: 1\nuncertainty:\n  explain_above: 0.9\n", 2, "$.uncertainty"),
        ("v: 1\n\napprovals:\n  require_human: [MODIFY]\n", 3, "$.approvals"),
        ("approvals:\n  on_expiry: escalate\n  escalate_to: {roles: []}\n", 1, "$.approvals"),
        (
            "approvals:\n  otherwise:\n    roles: []\n    principals: [a, a]\n    required: 2\n",
            2,
            "$.approvals.otherwise",
        ),
        ("approvals:\n  otherwise:\n    roles: [agent]\n", 2, "$.approvals.otherwise"),
    ],
)
def test_a_complaint_names_the_line_and_the_field(text: str, line: int, path: str) -> None:
    error = complaint(text)
    assert error.details == {"path": path, "line": line}
    assert f"line {line}:" in error.message


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("v: 1\nv: 1\n", 2),
        ("evidence:\n  hash: strict\n  min_confidence: 0.5\n  hash: lenient\n", 4),
        ("v: [1\n", 2),
        ("v: 1\n  w: 2\n", 2),
        ("v: 1\n\tw: 2\n", 2),
        ("v: 'open\n", 2),
        ("a: *nowhere\n", 1),
        ("v: !!python/object/apply:os.system [echo]\n", 1),
        ("v: 1\n---\nv: 1\n", 2),
    ],
)
def test_broken_yaml_is_refused_with_its_line(text: str, line: int) -> None:
    error = complaint(text)
    assert f"line {line}" in error.message
    assert (error.details or {})["line"] == line


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ('{"v": 1,\n "v": 1}', None),
        ('{"v": 1,\n "w"', 2),
        ('{\n\t"v": 1,\n\t"evidence": {\n\t\t"min_confidence": 7\n\t}\n}', 4),
        ('{"v": NaN}', None),
    ],
)
def test_broken_json_is_refused_too(text: str, line: int | None) -> None:
    error = complaint(text, "p.json")
    if line is not None:
        assert f"line {line}" in error.message


@pytest.mark.parametrize(
    "data",
    [
        b"\xff\xfe",
        b"v: \xc3\x28",
        b"v: \x00",
        b"? [a]\n: 1\n",
        b"? {a: 1}\n: 1\n",
        b"1: 2\n",
        b"&a [*a]",
        b"[" * 5_000,
        b"v: " + b"{a: " * 2_000,
        "v: 1\n".encode("utf-16"),
        "v: 7\n".encode("utf-16"),
    ],
)
def test_strange_bytes_are_a_complaint_not_a_crash(data: bytes) -> None:
    complaint(data)


def test_aliases_do_not_multiply() -> None:
    bomb = "a: &a [x,x,x,x,x,x,x,x,x]\n" + "".join(
        f"{two}: &{two} [{','.join(['*' + one] * 9)}]\n"
        for one, two in zip("abcdefgh", "bcdefghi", strict=True)
    )
    complaint(bomb)


def test_a_file_has_bounds() -> None:
    complaint(b"#" * (MAX_BYTES + 1))


def test_a_file_that_is_not_there_is_a_complaint(tmp_path: Path) -> None:
    for path in (tmp_path / "none.yaml", tmp_path):
        with pytest.raises(BeliefdError) as caught:
            load_policy(path)
        assert str(path) in caught.value.message


@given(st.binary(max_size=60) | st.text(max_size=60).map(str.encode))
def test_any_bytes_are_a_policy_or_a_complaint(data: bytes) -> None:
    for name in ("p.yaml", "p.json", "p"):
        with contextlib.suppress(BeliefdError):
            assert isinstance(parse_policy(data, name), Policy)


CHANGES: list[dict[str, Any]] = [
    {"termination": {"stability_window": 1}},
    {"evidence": {"min_confidence": 0.61}},
    {"evidence": {"hash": "strict"}},
    {"uncertainty": {"defer_above": 0.76}},
    {"security": {"rate_limit": 999}},
    {"security": {"allowed_origins": ["https://a"]}},
    {"adversarial": {"timeout_ms": 999}},
    {"approvals": {"on_expiry": "keep"}},
    {"approvals": {"approvers": {"DELETE": {}}}},
]


def test_the_hash_changes_with_what_a_policy_says_and_with_nothing_else() -> None:
    hashes = [policy_hash(parse_policy(json.dumps(one).encode(), "p.json")) for one in CHANGES]
    assert len({*hashes, policy_hash(Policy())}) == len(CHANGES) + 1
    plain = parse_policy(b'{"evidence": {"hash": "strict", "min_confidence": 0.6}}', "p.json")
    commented = parse_policy(b"# why\nevidence:\n  min_confidence: 6.0e-1\n  hash: strict\n", "p.yaml")
    assert policy_hash(plain) == policy_hash(commented)
