"""What stands beside ledgers, and erasures, drawn for people."""

from typing import Any

from rich.console import RenderableType
from rich.text import Text

from beliefd.cli.output import visible
from beliefd.cli.views.drawing import EventWords, page, view
from beliefd.protocol.erasures import ErasureAnswer, PartPage, PartView

DIGITS = 16
STYLES = {"kept": "green", "erased": "bold red", "absent": "yellow"}


@view.register
def parts(found: PartPage) -> RenderableType:
    return page([_line(one) for one in found.items], found.next, "nothing is withheld")


def _line(one: PartView) -> Text:
    told = "" if one.state != "kept" else f"  {visible(str(one.value))}"
    return Text.assemble(
        (f"{one.seq}", "bold"),
        f"  {visible(one.verb)} {visible(one.path)}  ",
        (one.state, STYLES[one.state]),
        f"{told}  ",
        (one.digest, "dim"),
    )


@view.register
def erased(answer: ErasureAnswer) -> RenderableType:
    if not answer.erased:
        return Text("nothing is left to erase")
    still = "" if answer.swept else "; files of the store may still hold it: somebody is reading them"
    return Text.assemble(("erased", "green"), f": {_counted(len(answer.erased))}", (still, "yellow"))


def _counted(number: int) -> str:
    return "1 text" if number == 1 else f"{number} texts"


def _erased(_: dict[str, Any], delta: dict[str, Any]) -> Text:
    names = ", ".join(digest[:DIGITS] for digest in delta["digests"])
    return Text(f"erased {_counted(len(delta['digests']))} ({names}): {visible(delta['reason'])}")


EVENTS: dict[str, EventWords] = {"erased": _erased}
