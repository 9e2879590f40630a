"""What the steward found out about people and agents before their authority was used; recorded beside it."""

from msgspec import UNSET, UnsetType

from beliefd.kernel.adopted import InForce
from beliefd.kernel.values import Principal, Value

Authority = dict[str, Principal | None]
"""How those stand now whom a credential was made for, by id. None if they may not speak so here any more: no
valid token of theirs gives them the right in the space of the session, or their account is suspended.

Of who is not in it, nothing is known: they are who they were when they spoke.
"""

ByRights = bool | UnsetType
"""Set where rights in spaces were looked up, and where people are told apart by id and by owner.

Entries without it are older: they know of revoked tokens only, and tell people apart by owner alone.
"""

ByWords = bool | UnsetType
"""Set where it is remembered by the words alone who shaped a claim or a change of belief, and of candidates
that were not let through, too. Entries without it are older, and are decided without it."""


class AuthorityFindings(Value, frozen=True, tag_field="of", tag="authority"):
    """Facts for a decision that needs no others.

    With `by_words`, it is remembered by the words alone who shaped something.
    """

    authority: Authority = {}
    by_rights: ByRights = UNSET
    by_words: ByWords = UNSET
    in_force: InForce = UNSET
