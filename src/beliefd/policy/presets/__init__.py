"""Policies to begin with, as files that operators edit."""

from importlib.resources import files
from typing import Final, Literal, get_args

from beliefd.kernel.policy import Policy
from beliefd.policy.files import parse_policy

Preset = Literal["guard"]
PRESETS: Final[tuple[str, ...]] = get_args(Preset)


def preset_text(name: Preset) -> bytes:
    """The file as it ships, with its comments."""
    return (files(__name__) / f"{name}.yaml").read_bytes()


def preset(name: Preset) -> Policy:
    return parse_policy(preset_text(name), name)
