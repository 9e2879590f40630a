"""Content over HTTP: whatever it is, no browser is told to show it."""

import hashlib

import httpx
import pytest

from beliefd.kernel.errors import Code
from beliefd.kernel.values import Role
from tests.http.calls import error_of
from tests.http.conftest import Tokens
from tests.support.server import ServerProcess

PAGE = b"<html><script>alert(document.domain)</script></html>"
PICTURE = b"\x89PNG\r\n\x1a\n\x00"


def stored(http: httpx.Client, content: bytes, **headers: str) -> str:
    given = {name.replace("_", "-"): value for name, value in headers.items()}
    answer = http.post("/v1/content", content=content, headers=given)
    assert answer.status_code == 201, answer.text
    assert answer.json() == {"sha256": hashlib.sha256(content).hexdigest(), "size": len(content)}
    return str(answer.json()["sha256"])


@pytest.mark.parametrize(
    ("content", "media", "ending"),
    [
        (PAGE, "text/plain; charset=utf-8", "txt"),
        ("Grüße\n".encode(), "text/plain; charset=utf-8", "txt"),
        (PICTURE, "application/octet-stream", "bin"),
        (b"\x1b]0;title\x07", "application/octet-stream", "bin"),
    ],
)
def test_content_comes_back_as_a_file_that_is_not_shown(
    http: httpx.Client, content: bytes, media: str, ending: str
) -> None:
    name = stored(http, content)
    answer = http.get(f"/v1/content/{name}")
    assert (answer.status_code, answer.content) == (200, content)
    assert answer.headers["content-type"] == media
    assert answer.headers["x-content-type-options"] == "nosniff"
    assert answer.headers["content-disposition"] == f'attachment; filename="{name}.{ending}"'
    assert answer.headers["content-security-policy"] == "sandbox; default-src 'none'"
    assert answer.headers["etag"] == f'"{name}"'
    assert answer.headers["content-length"] == str(len(content))


def test_nobody_chooses_how_content_is_shown(http: httpx.Client) -> None:
    error_of(
        http.post("/v1/content", content=PAGE, headers={"Content-Type": "text/html"}),
        415,
        Code.UNSUPPORTED_MEDIA_TYPE,
    )
    name = stored(http, PAGE, Content_Type="application/octet-stream")
    for wanted in ("text/html", "text/html, */*;q=0", "image/svg+xml", "nothing", ""):
        answer = http.get(f"/v1/content/{name}", headers={"Accept": wanted})
        assert (answer.status_code, answer.content) == (200, PAGE)
        assert answer.headers["content-type"] == "text/plain; charset=utf-8"
        assert answer.headers["content-disposition"].startswith("attachment; ")


def test_a_body_that_says_it_is_something_else_is_not_kept(http: httpx.Client) -> None:
    page = PAGE + b"<!-- never kept -->"
    for kind in ("text/html", "application/json", "application/octet-stream; charset=utf-16"):
        answer = http.post("/v1/content", content=page, headers={"Content-Type": kind})
        error_of(answer, 415, Code.UNSUPPORTED_MEDIA_TYPE)
    missing = http.get(f"/v1/content/{hashlib.sha256(page).hexdigest()}")
    error_of(missing, 404, Code.CONTENT_NOT_FOUND)


def test_what_is_asked_about_alone_has_no_body(http: httpx.Client) -> None:
    name = stored(http, PICTURE)
    whole, head = http.get(f"/v1/content/{name}"), http.head(f"/v1/content/{name}")
    assert (head.status_code, head.content) == (200, b"")
    assert head.headers["content-length"] == str(len(PICTURE))
    for header in ("etag", "content-type", "content-disposition", "content-security-policy"):
        assert head.headers[header] == whole.headers[header]


def test_who_has_it_already_is_not_sent_it_again(http: httpx.Client) -> None:
    name = stored(http, PICTURE)
    for held in (f'"{name}"', f'W/"{name}"', "*", f'"x", "{name}"'):
        answer = http.get(f"/v1/content/{name}", headers={"If-None-Match": held})
        assert (answer.status_code, answer.content, answer.headers["etag"]) == (304, b"", f'"{name}"')
    assert http.get(f"/v1/content/{name}", headers={"If-None-Match": '"x"'}).status_code == 200
    missing = http.get(f"/v1/content/{'ab' * 32}", headers={"If-None-Match": "*"})
    error_of(missing, 404, Code.CONTENT_NOT_FOUND)


def test_what_is_known_of_it_is_told_apart(http: httpx.Client) -> None:
    name = stored(http, PICTURE)
    answer = http.get(f"/v1/content/{name.upper()}/about")
    told = answer.json()
    assert (told["sha256"], told["size"]) == (name, len(PICTURE))
    assert [(one["id"], one["role"]) for one in told["brought"]] == [("agent://local", "agent")]
    error_of(http.get("/v1/content/abc"), 400, Code.INVALID_REQUEST)
    error_of(http.get(f"/v1/content/{'ab' * 32}/about"), 404, Code.CONTENT_NOT_FOUND)


def test_only_who_has_a_token_reads_it(guarded: tuple[ServerProcess, Tokens]) -> None:
    server, tokens = guarded
    with httpx.Client(base_url=server.url, verify=False) as http:
        http.headers["Authorization"] = f"Bearer {tokens[Role.AGENT]}"
        name = stored(http, PAGE)
        http.headers["Authorization"] = f"Bearer {tokens[Role.APPROVER]}"
        assert http.get(f"/v1/content/{name}").content == PAGE
        del http.headers["Authorization"]
        error_of(http.get(f"/v1/content/{name}"), 401, Code.UNAUTHORIZED)
        error_of(http.get(f"/v1/content/{name}/about"), 401, Code.UNAUTHORIZED)


def test_a_page_of_another_site_does_not_get_it(http: httpx.Client) -> None:
    name = stored(http, PAGE)
    answer = http.get(f"/v1/content/{name}", headers={"Sec-Fetch-Site": "cross-site"})
    error_of(answer, 403, Code.FORBIDDEN)


def test_too_much_is_answered_so_that_it_is_not_tried_again(
    guarded: tuple[ServerProcess, Tokens],
) -> None:
    server, tokens = guarded
    admin = {"Authorization": f"Bearer {tokens[Role.ADMIN]}"}
    with httpx.Client(base_url=server.url, verify=False) as http:
        before = http.get("/v1/policy", headers=admin).json()["policy"]
        http.put("/v1/policy", json={"content": {"max_items_per_principal": 0}}, headers=admin)
        answer = http.post("/v1/content", content=b"more", headers=admin)
        error = error_of(answer, 507, Code.QUOTA_EXCEEDED)
        assert error["details"]["max_items"] == 0
        assert http.put("/v1/policy", json=before, headers=admin).status_code == 200
