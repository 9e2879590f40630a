"""Signing in by the page of an identity provider: once, and in the browser that began it."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import urlencode, urlsplit

import httpx
import pytest
from playwright.sync_api import sync_playwright

from tests.support.browser import chromium
from tests.support.issuer import Issuer, settings
from tests.support.server import ServerProcess

SOON = 60_000


@contextmanager
def corp(folder: Path) -> Iterator[tuple[Issuer, ServerProcess]]:
    with Issuer().serving() as issuer:
        (folder / "secret").write_text("hush\n")
        file = settings(
            issuer,
            folder / "sign-in.json",
            discover=True,
            client_id="beliefd",
            client_secret_file=str(folder / "secret"),
        )
        server = ServerProcess(folder, options=("--sign-in", str(file)))
        try:
            yield issuer, server
        finally:
            server.stop()
            server.forget()


@pytest.fixture(scope="module")
def provider(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Issuer, ServerProcess]]:
    with corp(tmp_path_factory.mktemp("provider")) as found:
        yield found


def test_nobody_comes_back_in_the_place_of_somebody_else(provider: tuple[Issuer, ServerProcess]) -> None:
    issuer, server = provider
    with (
        httpx.Client(base_url=server.url, verify=False, timeout=60) as ana,
        httpx.Client(base_url=server.url, verify=False, timeout=60) as eve,
    ):
        assert 'href="/sign-in/corp?next=/inbox"' in ana.get("/sign-in").text
        sent = ana.get("/sign-in/corp", params={"next": "/sessions"})
        assert "SameSite=Lax" in sent.headers["set-cookie"]
        assert sent.headers["location"].startswith(f"{issuer.url}/authorize?")
        back = httpx.get(sent.headers["location"]).headers["location"]
        assert eve.get(back).status_code == 401
        assert ana.get(back).status_code == 401, "a state is used up by whoever comes with it"
        again = httpx.get(ana.get("/sign-in/corp", params={"next": "/sessions"}).headers["location"])
        answer = ana.get(again.headers["location"])
        assert answer.status_code == 200
        assert "SameSite=Strict" in answer.headers["set-cookie"]
        assert 'url=/sessions"' in answer.text
        assert "human://corp/ann (approver)" in ana.get("/sessions").text
        assert ana.get(again.headers["location"]).status_code == 401


def test_a_token_that_was_asked_for_by_others_signs_nobody_in(provider: tuple[Issuer, ServerProcess]) -> None:
    issuer, server = provider
    with httpx.Client(base_url=server.url, verify=False, timeout=60) as ana:
        issuer.nonce = "another"
        try:
            back = httpx.get(ana.get("/sign-in/corp").headers["location"]).headers["location"]
            found = ana.get(back)
        finally:
            issuer.nonce = ""
        assert found.status_code == 401
        assert "not the one that was asked for" in found.text
        assert ana.get("/sign-in/none").status_code == 404
        assert ana.get("/sign-in/corp/back?state=x&code=y").status_code == 401


@pytest.mark.parametrize(
    ("signed", "discovered", "more", "why"),
    [
        ({"azp": "another"}, False, {}, "made for another client"),
        ({"azp": None}, False, {}, ""),
        ({"azp": "beliefd"}, False, {"iss": "its own"}, ""),
        ({}, False, {"iss": "https://evil.example"}, "another provider"),
        ({}, False, {"iss": ""}, "another provider"),
        ({}, True, {}, "another provider"),
        ({}, True, {"iss": "its own"}, ""),
        ({}, False, {"error": "access_denied"}, "says that it failed"),
        ({}, False, {"error": ""}, "says that it failed"),
    ],
)
def test_an_answer_of_another_provider_or_for_another_client_signs_nobody_in(
    provider: tuple[Issuer, ServerProcess],
    signed: dict[str, Any],
    discovered: bool,
    more: dict[str, str],
    why: str,
) -> None:
    issuer, server = provider
    issuer.signed = signed
    issuer.discovered = {"authorization_response_iss_parameter_supported": discovered}
    try:
        with httpx.Client(base_url=server.url, verify=False, timeout=60) as ana:
            back = httpx.get(ana.get("/sign-in/corp").headers["location"]).headers["location"]
            told = {name: issuer.url if value == "its own" else value for name, value in more.items()}
            found = ana.get(f"{back}&{urlencode(told)}")
    finally:
        issuer.signed, issuer.discovered = {}, {}
    assert found.status_code == (401 if why else 200)
    assert why in found.text


@pytest.mark.slow
def test_a_browser_comes_back_from_another_site_signed_in(provider: tuple[Issuer, ServerProcess]) -> None:
    server = provider[1]
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium(), args=["--no-sandbox"])
        # Another name than the provider's: to a browser that is another site.
        page = browser.new_page(base_url=f"http://localhost:{urlsplit(server.url).port}")
        page.set_default_timeout(SOON)
        page.goto("/sessions")
        page.click("text=Sign in with corp")
        page.wait_for_url("**/sessions")
        page.wait_for_selector("text=human://corp/ann")
        browser.close()
