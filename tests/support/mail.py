"""A mail server that takes everything, on loopback: in the clear, after STARTTLS, or in TLS at once."""

import base64
import socketserver
import ssl
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from email import message_from_bytes
from email.message import Message
from ipaddress import ip_address
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

HOST = "127.0.0.1"


def certificate(folder: Path) -> Path:
    """A certificate for loopback with its key, in one file; whoever trusts it needs the file, too."""
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, HOST)])
    now = datetime.now(UTC)
    made = (
        x509.CertificateBuilder(name, name, key.public_key(), x509.random_serial_number())
        .not_valid_before(now - timedelta(days=1))
        .not_valid_after(now + timedelta(days=1))
        .add_extension(x509.SubjectAlternativeName([x509.IPAddress(ip_address(HOST))]), critical=False)
        .add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
        .sign(key, hashes.SHA256())
    )
    pem = serialization.Encoding.PEM
    plain = serialization.NoEncryption()
    private = key.private_bytes(pem, serialization.PrivateFormat.PKCS8, plain)
    path = folder / "mail.pem"
    path.write_bytes(private + made.public_bytes(pem))
    return path


class MailServer(socketserver.ThreadingTCPServer):
    """Speaks as much SMTP as a client needs, and keeps what it was given, and whether that came in TLS."""

    allow_reuse_address = True
    daemon_threads = True

    def __init__(self, scheme: str = "smtp", trusted: Path | None = None) -> None:
        super().__init__((HOST, 0), _Conversation)
        self.mails: list[Message] = []
        self.logins: list[tuple[str, bool]] = []
        self.arrived = threading.Semaphore(0)
        self.scheme = scheme
        self.context: ssl.SSLContext | None = None
        if trusted is not None:
            self.context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
            self.context.load_cert_chain(trusted)

    @property
    def url(self) -> str:
        return f"{self.scheme}://{HOST}:{self.server_address[1]}"


class _Conversation(socketserver.StreamRequestHandler):
    server: MailServer
    secure = False

    def handle(self) -> None:
        if self.server.scheme == "smtps":
            self._secured()
        self._say("220 ready")
        while line := self.rfile.readline():
            verb = line[:4].upper()
            if verb == b"DATA":
                self._take()
            elif verb == b"EHLO":
                offered = self.server.context is not None and not self.secure
                self._say("250-here", *(["250-STARTTLS"] if offered else []), "250 AUTH PLAIN")
            elif verb == b"STAR":
                self._say("220 go on")
                self._secured()
            elif verb == b"AUTH":
                given = base64.b64decode(line.split()[2]).decode()
                self.server.logins.append((given, self.secure))
                self._say("235 welcome")
            else:
                self._say("221 bye" if verb == b"QUIT" else "250 ok")
            if verb == b"QUIT":
                return

    def _take(self) -> None:
        self._say("354 go on")
        data = b""
        while (part := self.rfile.readline()) not in (b".\r\n", b""):
            data += part
        self.server.mails.append(message_from_bytes(data))
        self._say("250 ok")
        self.server.arrived.release()

    def _secured(self) -> None:
        assert self.server.context is not None
        self.connection = self.server.context.wrap_socket(self.connection, server_side=True)
        self.rfile = self.connection.makefile("rb")
        self.wfile = self.connection.makefile("wb", buffering=0)
        self.secure = True

    def _say(self, *lines: str) -> None:
        self.wfile.write("".join(f"{line}\r\n" for line in lines).encode())


@contextmanager
def mail_server(scheme: str = "smtp", trusted: Path | None = None) -> Iterator[MailServer]:
    with MailServer(scheme, trusted) as server:
        threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True).start()
        try:
            yield server
        finally:
            server.shutdown()
