"""Where the vectors are: beside this module in a wheel, at the top of a checkout."""

from pathlib import Path
from typing import Final

_PACKAGED = Path(__file__).with_name("data")
_CHECKOUT = Path(__file__).parents[3] / "conformance"
FOLDER: Final = _PACKAGED if _PACKAGED.is_dir() else _CHECKOUT
