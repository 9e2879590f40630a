"""Sessions with something to erase."""

from typing import Any, Final

from beliefd.kernel.policy import Policy
from beliefd.protocol.erasures import PartView
from beliefd.testing.world import ONTOLOGY, World, policy

WITHHOLDING: Final[Policy] = policy(
    erasable={
        "DECLARE_SESSION": ["metadata.reporter"],
        "ELIMINATE": ["justification"],
        "REQUEST_TERMINATION": ["context"],
        "DECIDE_APPROVAL": ["reason"],
        "*": ["notes"],
    }
)
SECRET: Final = "Zoë Quennell, born 1977-05-23"
PHONE: Final = 4917012345678


def told(house: World) -> str:
    """A session whose second event says something about a person."""
    declared = house.agent.declare_session(
        ["h1", "h2", "h3"], ONTOLOGY, metadata={"reporter": SECRET, "team": "red", "calls": [PHONE]}
    )
    eliminate(house, declared.session_id, {"seen": [SECRET, {"phone": PHONE}], "sure": True, "empty": ""})
    return declared.session_id


def eliminate(house: World, session_id: str, justification: dict[str, Any], **more: Any) -> Any:
    return house.agent.eliminate(
        session_id,
        source_id="human://ana",
        observation_id="o",
        eliminated=["h1"],
        justification=justification,
        **more,
    )


def parts(house: World, session_id: str) -> list[PartView]:
    found: list[PartView] = []
    cursor: str | None = None
    while (page := house.root.list_parts(session_id, cursor=cursor)).next is not None:
        found += page.items
        cursor = page.next
    return found + page.items


def everything(house: World, session_id: str) -> bytes:
    """All that can be read of a session's ledger and beside it, in bytes."""
    told = [entry.record for entry in house.entries(session_id)]
    told.append(house.root.export(session_id, parts=True))
    told.append(str(house.root.query_belief(session_id)).encode())
    told.append(str(parts(house, session_id)).encode())
    return b"\n".join(told)
