"""What a row of the surface says, and the shapes that rows share."""

from typing import TYPE_CHECKING, Annotated, Any, Final, Generic

from msgspec import Meta, Struct
from msgspec.structs import force_setattr

from beliefd.kernel.canonical import MAX_SAFE_INTEGER
from beliefd.kernel.errors import Code
from beliefd.kernel.values import Id, Role
from beliefd.protocol.rights import Right

if TYPE_CHECKING:
    from typing_extensions import TypeVar

    A = TypeVar("A", default=Any)
else:  # a type variable has a default from Python 3.13 on; until then only type checkers know it
    from typing import TypeVar

    A = TypeVar("A")

KIB: Final = 1024
MIB: Final = 1024 * KIB
EVERYONE: Final = frozenset(Role)
OPERATORS: Final = frozenset({Role.ADMIN})
ON_WRITING: Final = (Code.CONFLICT, Code.SESSION_TERMINATED, Code.SESSION_SEALED, Code.QUOTA_EXCEEDED)
SESSION: Final = "/v1/sessions/{session_id}"
LINES: Final = "application/x-ndjson"


class Answer(Struct, frozen=True, kw_only=True):
    """Base of all answers."""


class File(Struct, frozen=True, kw_only=True):
    """What a handler answers with where the answer is `bytes`: these, by a name that no others have."""

    content: bytes
    name: str
    is_text: bool


class Parameter(Struct, frozen=True, kw_only=True):
    """A query parameter: `kind` bounds it, for the parser and for the document alike.

    `fits` says in words what a text of a form of its own must be; without it, that form is a cursor's.
    """

    name: str
    kind: Any
    summary: str
    default: Any = None
    required: bool = False
    fits: str = ""


LIMIT: Final = Parameter(
    name="limit", kind=Annotated[int, Meta(ge=1, le=500)], default=50, summary="How many items per page"
)
PAGE: Final = (Parameter(name="cursor", kind=Id, summary="`next` of the page before"), LIMIT)
AT: Final = Parameter(
    name="at",
    kind=Annotated[int, Meta(ge=1, le=MAX_SAFE_INTEGER)],
    summary="As it was right after the event with this `seq`; the newest when left out",
)
SPACE: Final = Parameter(name="space", kind=Id, summary="The space that it goes into")
OF_SPACE: Final = Parameter(name="space", kind=Id, summary="Only what is in this space")
ABOUT_CLAIM: Final = Parameter(name="claim_id", kind=Id, summary="Only what is about this claim")


class Operation(Struct, Generic[A], frozen=True, kw_only=True, eq=False):
    """One row of the surface. Its name is the one it has in its vocabulary; its tag is that of the module.

    `body` is a command or a question; None means that there is no JSON body, but perhaps `content`: what the
    bytes of a body are that has no type. `stream` says what an answer consists of that comes bit by bit; it
    is empty if the answer is one JSON document. If `slashed`, the last value in the path may hold slashes
    that are not escaped, because nothing but a fixed ending can follow it; `path_kinds` are the types of
    values in the path that are no ordinary ids. With `notes`, the caller's notes are recorded with what comes
    of it. `errors` are those that only some operations know; bad input, missing rights and a broken store are
    everybody's. `command` is what it puts to a session, where that is one. `right` is what its caller needs
    in the space that it is about; a row that does not say so needs `admin` if it is for operators, else
    `propose` if it writes, else `read`. What is `beside` is for programs beside an agent (gateways, hooks,
    adapters) and never offered to an agent as tools: it says what the user said, what tools are, what came of
    calls, or who may call them.
    """

    method: str
    path: str
    answer: type[A]
    summary: str
    body: Any = None
    content: str = ""
    example: Any = None
    writes: bool = True
    status: int = 200
    query: tuple[Parameter, ...] = ()
    path_kinds: dict[str, Any] = {}
    slashed: bool = False
    if_match: bool = False
    idempotency_key: bool = False
    notes: bool = False
    errors: tuple[Code, ...] = ()
    command: Any = None
    roles: frozenset[Role] = EVERYONE
    right: Right | None = None
    max_body: int = 16 * MIB
    body_media: str = "application/json"
    media: str = "application/json"
    stream: str = ""
    beside: bool = False
    name: str = ""
    tag: str = ""

    def __set_name__(self, vocabulary: "type[Vocabulary]", name: str) -> None:
        force_setattr(self, "name", name)
        force_setattr(self, "tag", vocabulary.tag())

    @property
    def needs(self) -> Right:
        if self.right is not None:
            return self.right
        if self.roles == OPERATORS:
            return Right.ADMIN
        return Right.PROPOSE if self.writes else Right.READ

    @property
    def codes(self) -> tuple[Code, ...]:
        """Its errors, and those that the door of the kernel stops its command with."""
        # The door knows all rules: clients, which ask nobody else for this, need not import them.
        from beliefd.kernel.doors import stopped_with

        stopped = () if self.command is None else stopped_with(self.command)
        return tuple(dict.fromkeys((*self.errors, *stopped)))

    @property
    def begins_in_space(self) -> bool:
        """Does it bring something into a space that its body or its query names?"""
        named = (*getattr(self.body, "__struct_fields__", ()), *(one.name for one in self.query))
        return self.writes and SPACE.name in named

    @property
    def names_session(self) -> bool:
        """Does its body say which session it is about?"""
        return "session_id" in getattr(self.body, "__struct_fields__", ()) and "{session_id}" not in self.path

    @property
    def takes_body(self) -> bool:
        return self.method in ("POST", "PUT")

    @property
    def path_names(self) -> list[str]:
        return [part.strip("{}") for part in self.path.split("/") if part.startswith("{")]


class Vocabulary:
    """Rows that belong together, under the name of their module. The docstring describes the tag."""

    @classmethod
    def tag(cls) -> str:
        return cls.__module__.rpartition(".")[2]

    @classmethod
    def rows(cls) -> tuple[Operation, ...]:
        return tuple(value for value in vars(cls).values() if isinstance(value, Operation))


def reads(path: str, answer: type[A], summary: str, **rest: Any) -> Operation[A]:
    """A row that tells something that is there."""
    return Operation(method="GET", path=path, answer=answer, summary=summary, writes=False, **rest)


def asks(path: str, body: Any, answer: type[A], summary: str, **rest: Any) -> Operation[A]:
    """A row that answers a question too long for a path, and records nothing."""
    return Operation(
        method="POST", path=path, body=body, answer=answer, summary=summary, writes=False, **rest
    )


def writes(
    path: str,
    body: Any,
    answer: type[A],
    summary: str,
    *,
    errors: tuple[Code, ...] = (),
    **rest: Any,
) -> Operation[A]:
    """A row that is one command to a session: it can be made conditional, and repeated without harm."""
    return Operation(
        method=rest.pop("method", "POST"),
        path=path,
        body=body,
        answer=answer,
        summary=summary,
        if_match=True,
        idempotency_key=True,
        notes=True,
        errors=(*errors, *ON_WRITING),
        command=body,
        **rest,
    )
