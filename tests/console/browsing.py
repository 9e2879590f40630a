"""Somebody at a real browser."""

from collections.abc import Iterator
from contextlib import contextmanager

from playwright.sync_api import Browser, Page

from beliefd.kernel.values import Role
from tests.http.conftest import Tokens
from tests.support.server import ServerProcess

SOON = 60_000
POLICY = "Content Security Policy"


@contextmanager
def person(
    browser: Browser, guarded: tuple[ServerProcess, Tokens], role: Role = Role.APPROVER, **how: object
) -> Iterator[Page]:
    """Somebody who has signed in; nothing on any page breaks its own rules."""
    server, tokens = guarded
    context = browser.new_context(base_url=server.url, **how)  # type: ignore[arg-type]
    context.set_default_timeout(SOON)
    page = context.new_page()
    broken: list[str] = []
    page.on("console", lambda said: broken.append(said.text) if POLICY in said.text else None)
    page.on("dialog", lambda dialog: broken.append(dialog.message))
    page.on("pageerror", lambda error: broken.append(str(error)))
    page.goto("/inbox")
    page.fill("#token", tokens[role])
    page.click("button.primary")
    page.wait_for_url("**/inbox")
    yield page
    assert broken == []
    context.close()
