"""The port behind which blocks are drawn, and what one of them is."""

import hashlib
from typing import Protocol

import numpy as np
from msgspec import Struct

from beliefd.experiments.plan import Arm, Floats, Plan
from beliefd.experiments.registry import template


class Work(Struct, frozen=True):
    """A block to draw: so many replicates of an arm, from one on."""

    plan: Plan
    arm: Arm
    first: int
    count: int


class Block(Struct, frozen=True):
    """A block as it was drawn: a row of numbers a replicate, and their digest."""

    values: Floats
    digest: bytes


class WorkerDied(Exception):
    """What drew a block is gone, and with it the block."""


class Executor(Protocol):
    @property
    def name(self) -> str: ...

    @property
    def width(self) -> int:
        """How many blocks may be under way at the same time."""
        ...

    async def start(self) -> None:
        """Be ready; a run's time begins after it. To start what is started does nothing."""
        ...

    async def draw(self, work: Work) -> Block:
        """Raises ModelFailed if the model does, WorkerDied if the worker does."""
        ...

    async def close(self) -> None: ...


def drawn(work: Work) -> Block:
    """The work itself, in whichever process."""
    with np.errstate(all="ignore"):  # what is not finite is counted, not warned of
        found = template(work.plan.template).draw(work.plan, work.arm, work.first, work.count)
    values = np.add(found, 0.0, dtype="<f8", order="C")
    # INVARIANT: one bit pattern for nan and one for zero, so that equal numbers have equal digests.
    values[np.isnan(values)] = np.nan
    hashed = hashlib.sha256(f"{work.arm.name} {work.first} {work.count} {values.shape}\n".encode())
    hashed.update(values.data)
    return Block(values, hashed.digest())
