"""What is looked up before an elimination that cites calls is decided."""

from beliefd.kernel.values import Id, Value


class CitationFindings(Value, frozen=True, tag_field="of", tag="citations"):
    """The cited calls whose results say something that no caller has put in: the server is their witness."""

    seen: tuple[Id, ...] = ()
