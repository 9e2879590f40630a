"""Which paths conditions can read at all: of the call, of the state, of the policy.

What is at no such path is never there, and a rule that reads it says nothing, or always the same.
"""

from collections.abc import Iterable, Iterator
from difflib import get_close_matches
from functools import cache
from typing import Any, Final

from msgspec import Struct

from beliefd.kernel.policy import Policy
from beliefd.kernel.substrate.explaining import situated
from beliefd.kernel.substrate.namespaces import WRITERS
from beliefd.kernel.substrate.policy_keys import POLICY, is_of_policy
from beliefd.kernel.substrate.predicates import CALL
from beliefd.kernel.substrate.question import Question

WRITTEN: Final = tuple(name for name, roles in WRITERS.items() if roles)
"""The namespaces that hold what somebody wrote, or what rules derived."""
OWNED: Final = tuple(name for name, roles in WRITERS.items() if not roles and name != POLICY)
"""Those that are shown with a state, and that conditions do not see."""


class Unreadable(Struct, frozen=True):
    """A path at which there never is anything; `meant` are paths that could have been meant."""

    message: str
    meant: str | None
    fitting: tuple[str, ...]

    @property
    def remedy(self) -> str:
        fits = f"here fits {', '.join(f'`{one}`' for one in self.fitting)}"
        return fits if self.meant is None else f"did you mean `{self.meant}`? {fits}"


@cache
def call_members() -> dict[str, Any]:
    """INVARIANT: the names under `call` are those of a call that is judged, with what one of them holds."""
    known = situated(Policy(), "", {}, Question(tool_id="")).action.known({})
    members: dict[str, Any] = known[CALL]
    return members


def unreadable(paths: Iterable[str]) -> Iterator[Unreadable]:
    for path in sorted(paths):
        root, _, rest = path.partition(".")
        if root == CALL:
            yield from _of_call(path, rest)
        elif not is_of_policy(path) and not (root in WRITTEN and rest):
            yield _elsewhere(path, root, rest)


def _of_call(path: str, rest: str) -> Iterator[Unreadable]:
    name, _, inner = rest.partition(".")
    members = call_members()
    if not rest or (name in members and (not inner or isinstance(members[name], dict))):
        return
    near = get_close_matches(name, members, 1)
    wrong = f"`{path}` is never there: `{CALL}` has no `{name}`"
    if name in members:
        wrong = f"`{path}` is never there: `{CALL}.{name}` has no members"
        near, inner = [name], ""
    meant = ".".join(filter(None, (CALL, *near[:1], inner))) if near else None
    yield Unreadable(wrong, meant, tuple(f"{CALL}.{one}" for one in members))


def _elsewhere(path: str, root: str, rest: str) -> Unreadable:
    fitting = tuple(f"{one}.*" for one in (CALL, *WRITTEN, POLICY))
    if root in OWNED:
        return Unreadable(f"`{path}` is never there: conditions do not read `{root}.*`", None, fitting)
    if root in WRITTEN:
        return Unreadable(f"`{path}` is never there: it is a namespace, and no key", None, fitting)
    meant = None
    if root in call_members():
        meant = f"{CALL}.{path}"
    elif rest and (near := get_close_matches(root, (CALL, *WRITTEN, POLICY), 1)):
        meant = f"{near[0]}.{rest}"
    return Unreadable(f"`{path}` is never there", meant, fitting)
