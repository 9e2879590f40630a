"""A mail server that takes everything, on loopback."""

import socketserver
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from email import message_from_bytes
from email.message import Message


class MailServer(socketserver.ThreadingTCPServer):
    """Speaks as much SMTP as a client needs, and keeps what it was given."""

    allow_reuse_address = True
    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Conversation)
        self.mails: list[Message] = []
        self.arrived = threading.Semaphore(0)

    @property
    def url(self) -> str:
        return f"smtp://127.0.0.1:{self.server_address[1]}"


class _Conversation(socketserver.StreamRequestHandler):
    server: MailServer

    def handle(self) -> None:
        self.wfile.write(b"220 ready\r\n")
        while line := self.rfile.readline():
            verb = line[:4].upper()
            if verb == b"DATA":
                self.wfile.write(b"354 go on\r\n")
                data = b""
                while (part := self.rfile.readline()) not in (b".\r\n", b""):
                    data += part
                self.server.mails.append(message_from_bytes(data))
                self.server.arrived.release()
            self.wfile.write(b"221 bye\r\n" if verb == b"QUIT" else b"250 ok\r\n")
            if verb == b"QUIT":
                return


@contextmanager
def mail_server() -> Iterator[MailServer]:
    with MailServer() as server:
        threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True).start()
        try:
            yield server
        finally:
            server.shutdown()
