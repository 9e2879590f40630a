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


@pytest.mark.parametrize("kind", [Client, AsyncClient])
@pytest.mark.parametrize("url", ["not a url", "host:8642", "ftp://host", "http://"])
def test_an_address_names_its_scheme_and_its_host(kind: type[Client] | type[AsyncClient], url: str) -> None:
    with pytest.raises(BeliefdError) as raised:
        kind(url)
    assert (raised.value.code, raised.value.details) == (Code.INVALID_REQUEST, {"path": "url"})


@pytest.mark.parametrize("kind", [Client, AsyncClient])
@pytest.mark.parametrize("token", ["bd_secret\n", "bd_a b", "bd_é"])
def test_a_token_that_is_none_is_not_repeated(kind: type[Client] | type[AsyncClient], token: str) -> None:
    with pytest.raises(BeliefdError) as raised:
        kind("http://127.0.0.1:8642", token)
    assert (raised.value.code, raised.value.details) == (Code.INVALID_REQUEST, {"path": "token"})
    assert "bd_" not in str(raised.value)
