"""Policies to begin with, as files that operators edit."""

from importlib.resources import files
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from beliefd.kernel.policy import Policy

_ENDING: Final = ".yaml"
PRESETS: Final = tuple(
    sorted(one.name.removesuffix(_ENDING) for one in files(__name__).iterdir() if one.name.endswith(_ENDING))
)


def preset_text(name: str) -> bytes:
    """The file as it ships, with its comments."""
    return (files(__name__) / f"{name}{_ENDING}").read_bytes()


def preset(name: str) -> "Policy":
    from beliefd.policy.files import parse_policy

    return parse_policy(preset_text(name), name)
