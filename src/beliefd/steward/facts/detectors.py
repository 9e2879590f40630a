"""Detectors by name, made from what is installed. What one lacks is said when it is made."""

from collections.abc import Sequence
from typing import Final, Literal, get_args

from beliefd.adversarial.builtin import assess
from beliefd.kernel.errors import BeliefdError, invalid
from beliefd.steward.facts.threats import Detector

DetectorName = Literal["builtin", "embedding"]
NAMES: Final[tuple[DetectorName, ...]] = get_args(DetectorName)


def named_detectors(names: Sequence[str]) -> dict[str, Detector]:
    """The detectors of these names, or an error that says which extra one lacks."""
    return {name: _made(name) for name in names}


def _made(name: str) -> Detector:
    if name == "builtin":
        return assess
    if name != "embedding":
        raise invalid(f"there is no detector `{name}`; there are {', '.join(NAMES)}")
    try:
        # Numpy and the model take a while to load, and most servers do without.
        from beliefd.adversarial.meaning import MeaningDetector
        from beliefd.uncertainty.equivalence.embedding import EmbeddingJudge

        return MeaningDetector(EmbeddingJudge().vectors)
    except BeliefdError as error:
        raise invalid(f"the detector `{name}` cannot be asked: {error.message}") from None
