"""What is worked out before a receipt is made."""

from msgspec import UNSET, UnsetType

from beliefd.kernel.values import Method, Note, Unit, Value


class MeasurementFindings(Value, frozen=True, tag_field="of", tag="measurement", omit_defaults=True):
    """What a method made of the raw material; or why it cannot, and the path of what is wrong.

    `answers` are those that the server drew from its own `model`, perhaps by a question of the caller's own.
    `method` is there if the server chose it: the claim to be measured named none that it can carry out.
    """

    value: Unit = 1.0
    interpretation: Note = ""
    judge: str = ""
    k: int = 0
    model: str = ""
    answers: tuple[str, ...] = ()
    own_question: bool = False
    method: Method | UnsetType = UNSET
    failed: bool = False
    problem: str = ""
    path: str = "$"
