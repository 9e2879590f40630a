"""Ideas drawn for people: they always show that they are speculative."""

from typing import Any

from rich.console import Group, RenderableType
from rich.text import Text

from beliefd.cli.output import visible
from beliefd.cli.views.drawing import EventWords, page, view
from beliefd.protocol.speculation import HypothesisPage, HypothesisView, SpeculationAnswer

SPECULATIVE = "italic magenta"


@view.register
def speculation(answer: SpeculationAnswer) -> RenderableType:
    return Group(
        *(_hypothesis(one) for one in answer.hypotheses),
        *(Text(f"not linked: {visible(why)}", "yellow") for why in answer.soft_failures),
    )


@view.register
def hypotheses(found: HypothesisPage) -> RenderableType:
    return page([_hypothesis(one) for one in found.hypotheses], found.next, "nothing was speculated")


def _hypothesis(one: HypothesisView) -> Text:
    return Text.assemble(
        (visible(one.hypothesis_id), "bold"),
        ("  speculative  ", SPECULATIVE),
        visible(one.alternative.statement),
    )


def _speculated(payload: dict[str, Any], delta: dict[str, Any]) -> Text:
    noted = f"alternatives to {visible(payload['claim_id'])}: {len(delta['hypotheses'])}"
    return Text.assemble(("speculative  ", SPECULATIVE), noted)


def _claim_speculated(_: dict[str, Any], delta: dict[str, Any]) -> Text:
    claim = delta["claim"]
    statement = f"{visible(claim['claim_id'])}: {visible(claim['statement'])}"
    return Text.assemble(("speculative  ", SPECULATIVE), statement)


EVENTS: dict[str, EventWords] = {"speculated": _speculated, "claim_speculated": _claim_speculated}
