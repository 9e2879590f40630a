"""Who gets in by the word of an identity provider, and who does not."""

import asyncio
import json
import os
import time
from collections.abc import Coroutine
from http.server import BaseHTTPRequestHandler
from pathlib import Path
from typing import Any

import pytest
from cryptography.hazmat.primitives.asymmetric import ec
from msgspec.structs import replace

from beliefd.kernel.errors import BeliefdError, Code
from beliefd.kernel.values import Principal, Role
from beliefd.steward.bootstrap import bootstrap
from beliefd.steward.credentials import create_token
from beliefd.steward.directory import LOCAL_AGENT
from beliefd.steward.signin import keys as keys_module
from beliefd.steward.signin.settings import load_sign_in
from beliefd.steward.signin.verifier import MAX_TOKEN, REMEMBERED, Verifier
from beliefd.steward.tokens import Authenticator
from beliefd.stores.memory import MemoryStore
from tests.support.issuer import Issuer, b64, jwk, public_pem, rsa_key, settings

ANN = Principal(id="human://corp/ann", role=Role.APPROVER, tier="MODIFY", owner="ann")


@pytest.fixture(scope="module")
def issuer() -> Issuer:
    return Issuer()


def judge(issuer: Issuer, folder: Path, token: str, **fields: Any) -> Principal:
    return asyncio.run(Verifier(settings(issuer, folder / "sign-in.json", **fields)).caller(token)).principal


def refused(issuer: Issuer, folder: Path, token: str, **fields: Any) -> str:
    with pytest.raises(BeliefdError) as caught:
        judge(issuer, folder, token, **fields)
    assert caught.value.code is Code.UNAUTHORIZED
    return caught.value.message


def test_a_token_of_the_issuer_is_a_principal_with_the_role_of_the_first_rule(
    issuer: Issuer, tmp_path: Path
) -> None:
    assert judge(issuer, tmp_path, issuer.token()) == ANN
    both = judge(issuer, tmp_path, issuer.token(groups=["sre", "admins"]))
    assert (both.role, both.tier) == (Role.ADMIN, "PRIVILEGE")
    nested = judge(issuer, tmp_path, issuer.token(groups=None, realm={"roles": ["bot"]}))
    assert (nested.role, nested.tier) == (Role.AGENT, "WRITE_LIMITED")
    assert judge(issuer, tmp_path, issuer.token(groups="sre")) == ANN
    by_mail = judge(issuer, tmp_path, issuer.token(email="ann@example.org"), owner="email")
    assert by_mail == replace(ANN, owner="ann@example.org")


@pytest.mark.parametrize("groups", [None, [], ["sr"], "sre2", {"sre": 1}, 5, ["SRE"]])
def test_without_a_rule_that_fits_there_is_no_role(issuer: Issuer, tmp_path: Path, groups: Any) -> None:
    with pytest.raises(BeliefdError) as caught:
        judge(issuer, tmp_path, issuer.token(groups=groups))
    assert caught.value.code is Code.FORBIDDEN


TIMES = ("exp", "nbf", "iat")
"""Given as seconds from now."""
WRONG: dict[str, tuple[dict[str, Any], str]] = {
    "another audience": ({"aud": "other"}, "another audience"),
    "other audiences": ({"aud": ["other", "third"]}, "another audience"),
    "no audience": ({"aud": None}, "needs the claims"),
    "another issuer": ({"iss": "https://issuer.example.evil"}, "no issuer"),
    "an issuer that is a list": ({"iss": ["https://issuer.example"]}, "no issuer"),
    "no issuer": ({"iss": None}, "no issuer"),
    "expired": ({"exp": -60}, "expired"),
    "no end": ({"exp": None}, "needs the claims"),
    "an end that is a text": ({"exp": "tomorrow"}, ""),
    "not yet": ({"nbf": 900}, "not valid yet"),
    "issued in the future": ({"iat": 900, "exp": 1800}, "not valid yet"),
    "issued long ago": ({"iat": -200_000}, "too long ago"),
    "no subject": ({"sub": None}, "`sub`"),
    "a subject that is a number": ({"sub": 7}, ""),
    "an empty subject": ({"sub": ""}, "`sub`"),
    "a look-alike": ({"sub": "аnn"}, "`sub`"),
    "an invisible letter": ({"sub": "ann\u200b"}, "`sub`"),
    "two lines": ({"sub": "ann\nbob"}, "`sub`"),
    "a blank": ({"sub": "ann bob"}, "`sub`"),
    "a long one": ({"sub": "a" * 201}, "`sub`"),
}


@pytest.mark.parametrize("name", WRONG)
def test_claims_that_do_not_fit_are_refused(issuer: Issuer, tmp_path: Path, name: str) -> None:
    given, words = WRONG[name]
    now = int(time.time())
    claims = {
        name: now + value if name in TIMES and type(value) is int else value for name, value in given.items()
    }
    assert words in refused(issuer, tmp_path, unsigned_checks_off(issuer, claims))


def unsigned_checks_off(issuer: Issuer, claims: dict[str, Any]) -> str:
    """Sign what the library would not: it refuses to encode a claim of a wrong type."""
    import jwt

    return jwt.PyJWS().encode(
        json.dumps(issuer.claims(**claims)).encode(), issuer.key, "RS256", {"kid": "one", "typ": "JWT"}
    )


def test_the_leeway_has_two_ends(issuer: Issuer, tmp_path: Path) -> None:
    now = int(time.time())
    assert judge(issuer, tmp_path, issuer.token(exp=now - 20), leeway_seconds=60) == ANN
    assert "expired" in refused(issuer, tmp_path, issuer.token(exp=now - 20), leeway_seconds=10)
    assert judge(issuer, tmp_path, issuer.token(nbf=now + 20), leeway_seconds=60) == ANN
    assert "not valid yet" in refused(issuer, tmp_path, issuer.token(nbf=now + 20), leeway_seconds=10)


def test_signatures_that_anybody_can_make_are_refused(issuer: Issuer, tmp_path: Path) -> None:
    body = b64(issuer.claims())
    unsigned = f"{b64({'alg': 'none', 'kid': 'one'})}.{body}."
    assert "not accepted" in refused(issuer, tmp_path, unsigned)
    # The public key as the secret of a symmetric signature.
    import hashlib
    import hmac

    for algorithm in ("HS256", "none", "None", "hs256", "RS1", ["RS256"], None):
        head = b64({"alg": algorithm, "kid": "one", "typ": "JWT"})
        signature = hmac.digest(public_pem(issuer.key), f"{head}.{body}".encode(), hashlib.sha256)
        assert "not accepted" in refused(issuer, tmp_path, f"{head}.{body}.{b64(signature)}")
    stranger = rsa_key()
    assert "does not fit" in refused(issuer, tmp_path, issuer.token(stranger))
    # Keys that a token brings along are nobody's.
    for header in (
        {"jwk": jwk(stranger, "one")},
        {"jku": "http://127.0.0.1:1/jwks"},
        {"x5u": "http://127.0.0.1:1/x"},
    ):
        assert "does not fit" in refused(issuer, tmp_path, issuer.token(stranger, headers=header))
    assert "no key that fits" in refused(issuer, tmp_path, issuer.token(headers={"kid": "two"}))


def test_a_changed_token_is_refused(issuer: Issuer, tmp_path: Path) -> None:
    head, body, signature = issuer.token().split(".")
    forged = b64(issuer.claims(groups=["admins"]))
    assert "does not fit" in refused(issuer, tmp_path, f"{head}.{forged}.{signature}")
    twice = b64(b'{"groups":["admins"],' + json.dumps(issuer.claims()).encode()[1:])
    for broken in (f"{head}.{twice}.{signature}", f"{head}.{body}", "..", f"é.{body}.x", f"{head}.!!.x"):
        assert "not accepted" in refused(issuer, tmp_path, broken)
    assert str(MAX_TOKEN) in refused(issuer, tmp_path, issuer.token(padding="x" * MAX_TOKEN))


def test_of_claims_that_are_said_twice_none_counts(issuer: Issuer, tmp_path: Path) -> None:
    import jwt

    said = json.dumps(issuer.claims()).encode()
    twice = b'{"groups":["admins"],' + said[1:]
    token = jwt.PyJWS().encode(twice, issuer.key, "RS256", {"kid": "one"})
    assert "cannot be read" in refused(issuer, tmp_path, token)


def test_a_key_is_used_for_what_it_is(tmp_path: Path) -> None:
    issuer, curve = Issuer(), ec.generate_private_key(ec.SECP256R1())
    small = rsa_key(1024)
    issuer.published = [
        jwk(issuer.key, "enc", use="enc"),
        jwk(issuer.key, "strong", alg="RS512"),
        jwk(small, "small"),
        jwk(curve, "curve"),
        {"kty": "oct", "k": b64(b"secret" * 8), "kid": "shared", "alg": "HS256"},
        {"kid": "broken", "kty": "RSA"},
        "no key",  # type: ignore[list-item]
    ]
    good = issuer.token(curve, "ES256", {"kid": "curve"})
    assert judge(issuer, tmp_path, good).id == ANN.id
    for key_id in ("enc", "strong", "broken", "shared"):
        assert "no key that fits" in refused(issuer, tmp_path, issuer.token(headers={"kid": key_id}))
    assert "no key that fits" in refused(issuer, tmp_path, issuer.token(small, headers={"kid": "small"}))
    # Without an id, one key must be meant and no other.
    assert judge(issuer, tmp_path, issuer.token(curve, "ES256", {"kid": None})).id == ANN.id
    issuer.published = [jwk(issuer.key, "one"), jwk(rsa_key(), "two")]
    assert "no key that fits" in refused(issuer, tmp_path, issuer.token(headers={"kid": None}))


def test_two_issuers_with_the_same_subject_are_two_people(tmp_path: Path) -> None:
    first, second = Issuer("https://one.example"), Issuer("https://two.example")
    (tmp_path / "two.json").write_bytes(second.jwks())
    other = {
        "name": "partner",
        "issuer": second.url,
        "audience": ["beliefd"],
        "roles": [{"claim": "groups", "value": "sre", "role": "agent"}],
        "jwks_file": str(tmp_path / "two.json"),
    }
    verifier = Verifier(settings(first, tmp_path / "sign-in.json", other))
    here = asyncio.run(verifier.caller(first.token())).principal
    there = asyncio.run(verifier.caller(second.token())).principal
    assert (here.id, there.id) == ("human://corp/ann", "human://partner/ann")
    with pytest.raises(BeliefdError, match="does not fit"):
        asyncio.run(verifier.caller(second.token(iss=first.url)))


def remembering(issuer: Issuer, path: Path, **fields: Any) -> Verifier:
    return Verifier(settings(issuer, path / "sign-in.json", **fields))


def test_a_good_token_is_recognised_until_its_end(
    issuer: Issuer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    verifier, token = remembering(issuer, tmp_path, leeway_seconds=0), issuer.token()
    asyncio.run(verifier.caller(issuer.token(jti="other")))
    assert verifier.recognised(token) is None
    assert asyncio.run(verifier.caller(token)).principal == ANN
    assert (known := verifier.recognised(token)) is not None
    assert known.principal == ANN
    assert verifier.recognised(token + "x") is None
    later = time.time() + 700
    monkeypatch.setattr(time, "time", lambda: later)
    assert verifier.recognised(token) is None


def test_only_so_many_tokens_are_remembered(issuer: Issuer, tmp_path: Path) -> None:
    verifier = remembering(issuer, tmp_path)

    async def fill() -> None:
        for number in range(REMEMBERED + 5):
            await verifier.caller(issuer.token(jti=str(number)))

    asyncio.run(fill())
    assert len(verifier._known) == REMEMBERED


def test_the_file_counts_as_it_is_now(
    issuer: Issuer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr("beliefd.steward.signin.verifier.LOOK_SECONDS", 0.0)
    path, token = tmp_path / "sign-in.json", issuer.token()
    verifier = Verifier(settings(issuer, path))
    assert asyncio.run(verifier.caller(token)).principal == ANN
    settings(issuer, path, suspended=[ANN.id])
    os.utime(path, (1, 1))
    assert verifier.recognised(token) is None
    with pytest.raises(BeliefdError, match="suspended"):
        asyncio.run(verifier.caller(token))
    path.write_text("{")
    os.utime(path, (2, 2))
    with caplog.at_level("ERROR"), pytest.raises(BeliefdError, match="suspended"):
        asyncio.run(verifier.caller(token))
    assert [one.levelname for one in caplog.records] == ["ERROR"]


def rotating(issuer: Issuer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(keys_module, "AGAIN_SECONDS", 0.0)
    issuer.published = [jwk(issuer.key, "one")]


def during(issuer: Issuer, work: Coroutine[Any, Any, None]) -> None:
    with issuer.serving():
        asyncio.run(work)


def test_a_new_key_is_fetched_and_one_that_is_gone_signs_nothing_more(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    issuer, new = Issuer(), rsa_key()
    rotating(issuer, monkeypatch)
    with issuer.serving():
        verifier = remembering(issuer, tmp_path, discover=True)
        old = issuer.token()
        assert asyncio.run(verifier.caller(old)).principal == ANN
        asked = issuer.asked
        assert asyncio.run(verifier.caller(issuer.token(jti="again"))).principal == ANN
        assert issuer.asked == asked  # the keys are still fresh
        issuer.published = [jwk(new, "two")]
        assert asyncio.run(verifier.caller(issuer.token(new, headers={"kid": "two"}))).principal == ANN
        assert verifier.recognised(old) is None
        with pytest.raises(BeliefdError, match="no key that fits"):
            asyncio.run(verifier.caller(old))


def test_strangers_cannot_make_the_server_ask_again_and_again(tmp_path: Path) -> None:
    issuer = Issuer()
    with issuer.serving():
        verifier = remembering(issuer, tmp_path, jwks_url=f"{issuer.url}/jwks")

        async def many() -> None:
            tokens = [issuer.token(headers={"kid": str(number)}) for number in range(20)]
            told = await asyncio.gather(*map(verifier.caller, tokens), return_exceptions=True)
            assert all(isinstance(one, BeliefdError) for one in told)

        asyncio.run(many())
        assert issuer.asked == 1


def test_keys_that_cannot_be_fetched_hold_for_a_while_and_no_longer(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    issuer = Issuer()
    rotating(issuer, monkeypatch)
    started = time.monotonic()
    with issuer.serving():
        url = f"{issuer.url}/jwks"
        verifier = remembering(issuer, tmp_path, jwks_url=url, keys_fresh_seconds=100, keys_kept_seconds=1000)
        token = issuer.token()
        assert asyncio.run(verifier.caller(token)).principal == ANN
    monkeypatch.setattr(time, "monotonic", lambda: started + 500)
    assert verifier.recognised(token) is None
    assert asyncio.run(verifier.caller(token)).principal == ANN
    monkeypatch.setattr(time, "monotonic", lambda: started + 5000)
    with pytest.raises(BeliefdError, match="no key that fits"):
        asyncio.run(verifier.caller(token))


def redirect(handler: BaseHTTPRequestHandler) -> bool:
    handler.send_response(302)
    handler.send_header("location", "http://127.0.0.1:1/jwks")
    handler.end_headers()
    return True


def endless(handler: BaseHTTPRequestHandler) -> bool:
    handler.send_response(200)
    handler.end_headers()
    try:
        for _ in range(100):
            handler.wfile.write(b" " * 65536)
    except OSError:
        pass
    return True


def slow(handler: BaseHTTPRequestHandler) -> bool:
    time.sleep(3)
    return False


@pytest.mark.parametrize("bad", [redirect, endless, slow])
def test_an_issuer_that_misbehaves_lets_nobody_in(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, bad: Any
) -> None:
    monkeypatch.setattr(keys_module, "FETCH_SECONDS", 0.5)
    issuer = Issuer()
    issuer.misbehave = bad
    with issuer.serving():
        assert "no key" in refused(issuer, tmp_path, issuer.token(), jwks_url=f"{issuer.url}/jwks")


@pytest.mark.parametrize("entries", [{"keys": 5}, [], {"keys": [{}] * 101}, {}])
def test_a_set_of_keys_that_is_none(tmp_path: Path, entries: Any) -> None:
    issuer = Issuer()
    (tmp_path / "keys.json").write_text(json.dumps(entries))
    assert "no key" in refused(issuer, tmp_path, issuer.token(), jwks_file=str(tmp_path / "keys.json"))


BAD_FILES: dict[str, tuple[dict[str, Any], str]] = {
    "open way": ({"jwks_url": "http://keys.example/jwks"}, "https://"),
    "no url": ({"jwks_url": "keys"}, "https://"),
    "two places": ({"jwks_url": "https://a.example", "jwks_file": "b"}, "not both"),
    "symmetric": ({"algorithms": ["HS256"]}, "algorithms"),
    "unsigned": ({"algorithms": ["none"]}, "algorithms"),
    "no audience": ({"audience": []}, "audience"),
    "endless leeway": ({"leeway_seconds": 100_000}, "leeway_seconds"),
    "unknown member": ({"audiences": ["x"]}, "audiences"),
    "name with a slash": ({"name": "a/b"}, "name"),
}


@pytest.mark.parametrize("name", BAD_FILES)
def test_a_file_that_would_let_too_many_in_is_refused(issuer: Issuer, tmp_path: Path, name: str) -> None:
    fields, words = BAD_FILES[name]
    with pytest.raises(BeliefdError, match=words) as caught:
        load_sign_in(settings(issuer, tmp_path / "sign-in.json", **fields))
    assert caught.value.code is Code.INVALID_REQUEST


def test_who_may_sign_in_does_not_come_in_without_and_no_token_takes_their_name(
    issuer: Issuer, tmp_path: Path
) -> None:
    async def go() -> None:
        store = MemoryStore()
        verifier = remembering(issuer, tmp_path)
        directory = bootstrap(store, sign_in=verifier).directory
        guard = Authenticator(directory, verifier)
        assert (await Authenticator(directory).authenticate(None)).principal == LOCAL_AGENT
        assert not guard.is_open()
        with pytest.raises(BeliefdError):
            await guard.authenticate(None)
        assert (await guard.authenticate(f"Bearer {issuer.token()}")).principal == ANN
        with pytest.raises(BeliefdError):
            await guard.authenticate(f"Basic {issuer.token()}")
        planted = await create_token(store, "human://corp/ann", Role.ADMIN)
        with pytest.raises(BeliefdError, match="signs in"):
            await guard.authenticate(f"Bearer {planted}")
        mine = await create_token(store, "human://corp", Role.AGENT)
        assert (await guard.authenticate(f"Bearer {mine}")).principal.id == "human://corp"

    asyncio.run(go())
