"""What is looked up before the firewall's rules are asked."""

from beliefd.kernel.values import Value


class ExperimentFindings(Value, frozen=True, tag_field="of", tag="experiment"):
    """Which code stands behind a template's name here and now, and how often the principal has tested
    anything on the same data in other sessions."""

    template: str
    code_hash: str
    tries_elsewhere: int = 0
