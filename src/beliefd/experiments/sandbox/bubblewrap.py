"""NumPy code of users: refused, wherever the walls that it would need cannot all be put up."""

import shutil
from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from beliefd.experiments.sandbox.errors import ModelFailed

Floats = NDArray[np.float64]


def run_numpy(source: str, inputs: Mapping[str, Floats]) -> Floats:
    raise ModelFailed(f"NumPy code is not run here: {missing()}")


def missing() -> str:
    return (
        "bubblewrap is not installed" if shutil.which("bwrap") is None else "there is no cgroup to run it in"
    )
