"""A small identity provider with real keys, over real HTTP, that can also behave badly."""

import hashlib
import json
import threading
import time
from base64 import urlsafe_b64encode
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlencode, urlsplit

import jwt
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import ec, rsa

AUDIENCE = "beliefd"
PrivateKey = rsa.RSAPrivateKey | ec.EllipticCurvePrivateKey
_ALGORITHMS: dict[type, Any] = {
    rsa.RSAPrivateKey: jwt.algorithms.RSAAlgorithm,
    ec.EllipticCurvePrivateKey: jwt.algorithms.ECAlgorithm,
}


def rsa_key(bits: int = 2048) -> rsa.RSAPrivateKey:
    return rsa.generate_private_key(public_exponent=65537, key_size=bits)


def public_pem(key: PrivateKey) -> bytes:
    return key.public_key().public_bytes(
        serialization.Encoding.PEM, serialization.PublicFormat.SubjectPublicKeyInfo
    )


def jwk(key: PrivateKey, kid: str | None, **more: Any) -> dict[str, Any]:
    kind = next(one for base, one in _ALGORITHMS.items() if isinstance(key, base))
    told: dict[str, Any] = json.loads(kind.to_jwk(key.public_key()))
    return {**told, **({} if kid is None else {"kid": kid}), **more}


def b64(value: Any) -> str:
    data = value if isinstance(value, bytes) else json.dumps(value).encode()
    return urlsafe_b64encode(data).rstrip(b"=").decode()


class Issuer:
    """`keys` are published; `token` signs with any key, published or not.

    `signed` are more claims of tokens that are fetched, `discovered` is more of what it says of itself.
    """

    def __init__(self, url: str = "https://issuer.example") -> None:
        self.url = url
        self.key = rsa_key()
        self.published: list[dict[str, Any]] = [jwk(self.key, "one")]
        self.asked = 0
        self.begun: dict[str, dict[str, str]] = {}
        self.nonce = ""
        self.signed: dict[str, Any] = {}
        self.discovered: dict[str, Any] = {}
        self.misbehave: Callable[[BaseHTTPRequestHandler], bool] = lambda _: False

    def jwks(self) -> bytes:
        return json.dumps({"keys": self.published}).encode()

    def claims(self, **claims: Any) -> dict[str, Any]:
        now = int(time.time())
        told = {
            "iss": self.url,
            "aud": AUDIENCE,
            "sub": "ann",
            "iat": now,
            "exp": now + 600,
            "groups": ["sre"],
        }
        return {name: value for name, value in {**told, **claims}.items() if value is not None}

    def token(
        self, key: Any = None, algorithm: str = "RS256", headers: dict[str, Any] | None = None, **claims: Any
    ) -> str:
        headers = {"kid": "one", **(headers or {})}
        headers = {name: value for name, value in headers.items() if value is not None}
        return jwt.encode(self.claims(**claims), key or self.key, algorithm, headers)

    @contextmanager
    def serving(self) -> Iterator["Issuer"]:
        issuer = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                issuer.asked += 1
                if issuer.misbehave(self):
                    return
                body = issuer.jwks()
                if self.path.startswith("/.well-known/"):
                    told = {"issuer": issuer.url, "jwks_uri": f"{issuer.url}/jwks"}
                    pages = {name: f"{issuer.url}/{name}" for name in ("authorize", "token")}
                    told |= {f"{name}_endpoint": url for name, url in pages.items()}
                    told["authorization_endpoint"] = pages["authorize"]
                    body = json.dumps({**told, **issuer.discovered}).encode()
                if self.path.startswith("/authorize?"):
                    self._send_back(parse_qs(urlsplit(self.path).query))
                    return
                self.send_response(200)
                self.send_header("content-length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def _send_back(self, asked: dict[str, list[str]]) -> None:
                """As if somebody had typed their password here."""
                told = {name: values[0] for name, values in asked.items()}
                issuer.begun[code := f"code-{len(issuer.begun)}"] = told
                back = urlencode({"code": code, "state": told["state"]})
                self.send_response(302)
                self.send_header("location", f"{told['redirect_uri']}?{back}")
                self.send_header("content-length", "0")
                self.end_headers()

            def do_POST(self) -> None:
                length = int(self.headers["content-length"])
                form = {name: one[0] for name, one in parse_qs(self.rfile.read(length).decode()).items()}
                begun = issuer.begun.pop(form["code"], {})
                challenge = b64(hashlib.sha256(form["code_verifier"].encode()).digest())
                fits = begun.get("code_challenge") == challenge
                token = issuer.token(nonce=issuer.nonce or begun.get("nonce"), **issuer.signed)
                body = json.dumps({"id_token": token} if fits else {"error": "invalid_grant"}).encode()
                self.send_response(200 if fits else 400)
                self.send_header("content-length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, *_: Any) -> None: ...

        server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        server.daemon_threads = True
        self.url = f"http://127.0.0.1:{server.server_port}"
        threading.Thread(target=server.serve_forever, daemon=True).start()
        try:
            yield self
        finally:
            server.shutdown()
            server.server_close()


ROLES = [
    {"claim": "groups", "value": "admins", "role": "admin"},
    {"claim": "groups", "value": "sre", "role": "approver", "tier": "MODIFY"},
    {"claim": "realm.roles", "value": "bot", "role": "agent"},
]


def settings(issuer: Issuer, path: Path, *more: dict[str, Any], **fields: Any) -> Path:
    """A file of `--sign-in` for this issuer, with its keys beside it unless `fields` say otherwise."""
    if not {"jwks_url", "jwks_file", "discover"} & fields.keys():
        (path.parent / "jwks.json").write_bytes(issuer.jwks())
        fields["jwks_file"] = str(path.parent / "jwks.json")
    fields.pop("discover", None)
    suspended = fields.pop("suspended", [])
    told = {"name": "corp", "issuer": issuer.url, "audience": [AUDIENCE], "roles": ROLES, **fields}
    path.write_text(json.dumps({"issuers": [told, *more], "suspended": suspended}))
    return path
