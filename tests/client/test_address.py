"""What the clients say before they have said anything to a server."""

import pytest

from beliefd.client import AsyncClient, Client
from beliefd.kernel.errors import BeliefdError, Code


@pytest.mark.parametrize("kind", [Client, AsyncClient])
def test_an_address_that_is_none_is_named(kind: type[Client] | type[AsyncClient]) -> None:
    with pytest.raises(BeliefdError, match="`http://host:abc` is no address of a server") as raised:
        kind("http://host:abc")
    assert raised.value.code is Code.INVALID_REQUEST
    assert raised.value.details == {"path": "url"}
