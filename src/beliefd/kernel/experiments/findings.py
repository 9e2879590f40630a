"""What is looked up before the firewall's rules are asked."""

from msgspec import UNSET, UnsetType

from beliefd.kernel.values import Value


class ExperimentFindings(Value, frozen=True, tag_field="of", tag="experiment"):
    """Which code stands behind a template's name here and now, and how often the principal has tested in
    other sessions: anything on the same data, and the same claim. `running` is there if the principal has as
    many runs under way as policy allows: how many those are."""

    template: str
    code_hash: str
    tries_elsewhere: int = 0
    attempts_elsewhere: int = 0
    running: int | UnsetType = UNSET
