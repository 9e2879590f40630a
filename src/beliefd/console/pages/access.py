"""Spaces and tokens, for administrators: who may speak to this server, and what they may where."""

from typing import Any, Final

from beliefd.console.app import Seen, Visitor
from beliefd.kernel.errors import BeliefdError, Code
from beliefd.kernel.values import Role, Tier
from beliefd.protocol.rights import Right

SHOWN: Final = 500
FORM: Final = frozenset({Code.INVALID_REQUEST, Code.CONFLICT, Code.NOT_FOUND})


async def shown(visitor: Visitor) -> Seen:
    return await _page(visitor)


async def changed(visitor: Visitor) -> Seen:
    """INVARIANT: the secret of a token is on the page that answers its making, and on no other."""
    form = visitor.form
    try:
        match form.get("what"):
            case "token":
                return await _page(visitor, made=await visitor.asker.ask("create_token", body=_token(form)))
            case "revoke":
                path = {"token_id": form.get("token_id", "")}
                found = await visitor.asker.ask("revoke_token", path)
                return await _page(visitor, done=f"The token of {found.principal} is revoked.")
            case "space":
                space = await visitor.asker.ask("create_space", body={"name": form.get("name", "")})
                return await _page(visitor, done=f"The space {space.name} is there.")
    except BeliefdError as error:
        if error.code not in FORM:
            raise
        return await _page(visitor, problem=error.message, status=400)
    return await _page(visitor, problem="There is no such change.", status=400)


def _token(form: dict[str, str]) -> dict[str, Any]:
    said: dict[str, Any] = {"name": form.get("name", ""), "role": form.get("role", "")}
    if tier := form.get("tier"):
        said["tier"] = tier
    if owner := form.get("owner"):
        said["owner"] = owner
    if space := form.get("space"):
        said["spaces"] = {space: [one for one in Right if form.get(f"right.{one}")]}
    return said


async def _page(
    visitor: Visitor, problem: str = "", done: str = "", made: Any = None, status: int = 200
) -> Seen:
    tokens = (await visitor.asker.ask("list_tokens")).tokens
    values = {
        "tokens": tokens[-SHOWN:][::-1],
        "count": len(tokens),
        "spaces": (await visitor.asker.ask("list_spaces")).spaces[:SHOWN],
        "placed": any(one.spaces for one in tokens) or await visitor.asker.is_placed(),
        "roles": list(Role),
        "tiers": [one.name for one in Tier],
        "rights": list(Right),
        "problem": problem,
        "done": done,
        "made": made,
        "form": {} if made or done else visitor.form,
    }
    return Seen("access.html", values, status)
