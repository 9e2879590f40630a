"""What is looked up before the firewall's rules are asked."""

from beliefd.kernel.values import Value


class ExperimentFindings(Value, frozen=True, tag_field="of", tag="experiment"):
    """Which code stands behind a template's name here and now."""

    template: str
    code_hash: str
