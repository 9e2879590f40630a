"""Observations: values taken from recorded results or stored content, frozen and labelled."""

from typing import Final

from beliefd.kernel.errors import Code
from beliefd.kernel.labels import Label
from beliefd.kernel.observations.commands import Observe
from beliefd.protocol.operation import PAGE, SESSION, Answer, Vocabulary, reads, writes

OBSERVATION: Final = f"{SESSION}/observations/{{observation_id}}"


class ObservationView(Answer, frozen=True):
    """Where values were taken from, and what they are worth to who took them.

    `witnesses` are those who saw or brought them and are no agents: `server` for the result of a call that
    the server made. Whoever proposes with them is no witness for himself. `where` says the same in words.
    """

    observation_id: str
    quantity: str
    unit: str
    label: Label
    where: str
    count: int
    low: float
    high: float
    digest: str
    body: str
    since: str
    observed_by: str
    observed_at: str
    witnesses: list[str]
    choices: int
    typed: bool
    call_id: str | None
    content: str | None
    pointer: str
    each: str
    column: str | None
    values: list[float]
    audit_event_id: str


class ObservationPage(Answer, frozen=True):
    """Without their values: an observation may have thousands."""

    observations: list[ObservationView]
    next: str | None = None


class ObservationRows(Vocabulary):
    """Values taken from recorded results or stored content, frozen and labelled"""

    observe = writes(
        f"{SESSION}/observations",
        Observe,
        ObservationView,
        "Take values out of a recorded result or stored content, or type them",
        status=201,
        errors=(Code.NOT_FOUND,),
        example={"quantity": "pool_wait", "unit": "ms", "values": [39.2, 41.0, 40.4, 38.9]},
    )
    list_observations = reads(
        f"{SESSION}/observations", ObservationPage, "The observations of a session", query=PAGE
    )
    show_observation = reads(
        OBSERVATION,
        ObservationView,
        "One observation with its values",
        errors=(Code.OBSERVATION_NOT_FOUND,),
    )
