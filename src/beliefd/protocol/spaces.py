"""Spaces: who sees what, and who may do what where."""

from beliefd.kernel.errors import Code
from beliefd.kernel.values import SpaceName, Value
from beliefd.protocol.operation import OPERATORS, Answer, Operation, Vocabulary, reads
from beliefd.protocol.rights import Right


class CreateSpace(Value, frozen=True):
    """A space to make."""

    name: SpaceName


class SpaceView(Answer, frozen=True):
    """A space, and what the caller may do in it. Nobody made the default one."""

    name: str
    rights: list[Right]
    created_at: str | None = None
    created_by: str | None = None


class SpaceList(Answer, frozen=True):
    """Spaces that the caller may look into."""

    spaces: list[SpaceView]


class SpaceRows(Vocabulary):
    """Who sees what, and who may do what where"""

    list_spaces = reads("/v1/spaces", SpaceList, "The spaces that the caller may see, by name")
    create_space = Operation(
        method="POST",
        path="/v1/spaces",
        body=CreateSpace,
        answer=SpaceView,
        status=201,
        roles=OPERATORS,
        errors=(Code.CONFLICT,),
        summary="Make a space of its own for sessions and content",
        example={"name": "research"},
    )
