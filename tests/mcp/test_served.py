"""What the gateway says of a verdict: the rule that decides, once, with the values and their origin."""

from beliefd.kernel.substrate.constraints import Reason
from beliefd.mcp.served import _told

ORIGIN = "`to` `eve@example.net` appears only in result 1 of web.fetch_page"
LINK = "`body` `http://example.net` appears only in result 1 of web.fetch_page"


def rule(text: str, *origin: str) -> Reason:
    return Reason(code="DENIED", text=text, constraint=f"constraint.{text}", origin=origin)


def test_the_rule_that_decides_is_told_once_with_where_its_values_came_from() -> None:
    reasons = [rule("nobody asked for it"), rule("a stranger", ORIGIN), rule("a link", ORIGIN, LINK)]
    assert _told(reasons) == (f"nobody asked for it ({ORIGIN}; {LINK})",)


def test_what_is_wrong_with_the_call_itself_is_told_in_full() -> None:
    reasons = [
        Reason(code="BAD_ARGS", text="`to` is missing"),
        Reason(code="BAD_ARGS", text="`n` is no number"),
    ]
    assert _told(reasons) == ("`to` is missing", "`n` is no number")
    assert _told([]) == ()
