"""What is not installed is named, together with the extra that brings it."""

import asyncio
import sys
from collections.abc import Callable

import numpy as np
import pytest

from beliefd.experiments.executors.ray import RayExecutor
from beliefd.experiments.sandbox.errors import ModelFailed
from beliefd.experiments.sandbox.monty import run_python
from beliefd.kernel.errors import BeliefdError


@pytest.fixture
def without(monkeypatch: pytest.MonkeyPatch) -> Callable[[str], None]:
    def hidden(name: str) -> None:
        for module in [one for one in sys.modules if one == name or one.startswith(f"{name}.")]:
            monkeypatch.delitem(sys.modules, module)
        monkeypatch.setitem(sys.modules, name, None)

    return hidden


def test_models_in_python_need_monty(without: Callable[[str], None]) -> None:
    without("pydantic_monty")
    with pytest.raises(ModelFailed, match=r"beliefd\[sandbox\]"):
        run_python("def model(a):\n    return a", {"a": np.ones(1)})


def test_a_cluster_needs_ray(without: Callable[[str], None]) -> None:
    without("ray")
    with pytest.raises(BeliefdError, match=r"beliefd\[ray\]"):
        asyncio.run(RayExecutor().start())
