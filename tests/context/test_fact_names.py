"""A policy that reads a fact that is never there, or a value it never has, does not come into force."""

import pytest

from beliefd.kernel.errors import BeliefdError
from beliefd.policy.fact_names import fact_fields
from beliefd.policy.files import parse_policy
from beliefd.policy.presets import preset_text

GUARD = preset_text("guard").decode()
HEAD = "v: 1\ncontext: {}\nconstraints:\n  constraint.mine:\n    v: 2\n    effect: deny\n    when: "

WRONG = {
    # what stands there: what was meant
    "{op: eq, args: [fact.call.sink_forein, true]}": "did you mean `fact.call.sink_foreign`",
    "{op: eq, args: [fact.call.tier, egres]}": "did you mean `egress`",
    "{op: in, args: [fact.call.tier, [write, egres]]}": "did you mean `egress`",
    "{op: eq, args: [fact.call.sink_trust, foriegn]}": "did you mean `foreign`",
    "{op: eq, args: [fact.call.intended, 'false']}": "here fits `true`, `false`",
    "{op: eq, args: [fact.call.intended, null]}": "here fits `true`, `false`",
    "{op: eq, args: [fact.call.nth, two]}": "it never holds",
    "{op: exists, args: [fact.call.shel.reach]}": "did you mean `fact.call.shell`",
    "{op: eq, args: [fact.call.shell.reech, asks]}": "did you mean `fact.call.shell.reach`",
    "{op: eq, args: [fact.call.shell.reach, ask]}": "did you mean `asks`",
    "{op: eq, args: [fact.call.context.lots, 0]}": "did you mean `fact.call.context.lost`",
    "{op: eq, args: [fact.call.sinks.trust, foreign]}": "did you mean",
    "{op: not, args: [{op: eq, args: [fact.call.comanded, none]}]}": "did you mean `fact.call.commanded`",
    "{op: eq, args: [facts.call.tier, write]}": "did you mean `fact.call.tier`",
    "{op: eq, args: [fact.cal.tier, write]}": "did you mean `fact.call.tier`",
    "{op: gt, args: [fact.call.nht, 3]}": "did you mean `fact.call.nth`",
    "{op: gt, args: [fact.call.intended, 0]}": "which `fact.call.intended` never is",
    "{op: gt, args: [fact.call.nth, '2026-01-01T00:00:00Z']}": "which `fact.call.nth` never is",
    "{op: starts_with, args: [fact.call.sinks, ana]}": "which `fact.call.sinks` never is",
    "{op: intersects, args: [fact.call.tier, [write]]}": "which `fact.call.tier` never is",
    "{op: starts_with, args: [fact.call.tier, wirte]}": 'never starts with "wirte"',
    "{op: matches, args: [fact.call.tier, '^w.d']}": "here fits `read`, `egress`, `write`",
}


@pytest.mark.parametrize("condition", WRONG)
def test_a_misspelled_fact_is_named_with_what_was_meant(condition: str) -> None:
    with pytest.raises(BeliefdError, match="line 7") as error:
        parse_policy(f"{HEAD}{condition}\n".encode())
    assert WRONG[condition] in error.value.message


@pytest.mark.parametrize(
    "condition",
    [
        *(f"{{op: exists, args: [fact.call.{name}]}}" for name in fact_fields()),
        "{op: eq, args: [fact.call.sinks, []]}",
        "{op: in, args: [fact.call.sink_trust, [none, refused]]}",
        "{op: eq, args: [fact.call.nth, 2]}",
        "{op: eq, args: [fact.order.tier, anything]}",
        "{op: exists, args: [fact.call]}",
        "{op: between, args: [fact.call.nth, 2, 5]}",
        "{op: matches, args: [fact.call.tier, '^w.*e$']}",
        "{op: count, args: [fact.call.sinks, gt, 3]}",
        "{op: count, args: [fact.call.shell, gt, 3]}",
        "{op: intersects, args: [fact.call.shell.runs, [curl, wget]]}",
        "{op: starts_with, args: [fact.call.tool_id, 'mail.']}",
    ],
)
def test_what_there_is_passes(condition: str) -> None:
    assert parse_policy(f"{HEAD}{condition}\n".encode())


def test_each_name_and_word_of_the_preset_is_looked_at() -> None:
    for name, wrong in (
        ("fact.call.sink_foreign, true", "fact.call.sink_forein, true"),
        ("egress]", "egres]"),
    ):
        with pytest.raises(BeliefdError, match="did you mean"):
            parse_policy(GUARD.replace(name, wrong, 1).encode())


def test_facts_that_nobody_finds_out_are_not_read() -> None:
    with pytest.raises(BeliefdError, match="the policy has no `context`"):
        parse_policy(f"{HEAD}{{op: exists, args: [fact.call.tier]}}\n".replace("context: {}\n", "").encode())
