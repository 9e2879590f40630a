"""What the steward found out about people and agents before their authority was used; recorded beside it."""

from beliefd.kernel.values import Principal, Value

Authority = dict[str, Principal | None]
"""How those stand now whom a credential was made for, by id; None if all of theirs are revoked.

Of who is not in it, nothing is known: they are who they were when they spoke.
"""


class AuthorityFindings(Value, frozen=True, tag_field="of", tag="authority"):
    """Facts for a decision that needs no others."""

    authority: Authority = {}
