"""Telling people in a chat or by mail what changes in the inbox.

What a message says is made here, apart from how it is sent. INVARIANT: no text of an agent is in it: what
agents write is read with a token, where it cannot be taken for the words of this server.
"""

import time
from collections.abc import Callable, Iterator
from itertools import islice
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import unquote, urlsplit

from msgspec import Struct

from beliefd.cli.output import complain, visible
from beliefd.cli.target import Target
from beliefd.kernel.errors import invalid
from beliefd.kernel.values import shown_time

if TYPE_CHECKING:
    from email.message import EmailMessage

    from beliefd.client.synchronous import Calls
    from beliefd.protocol.approvals import ApprovalCard, InboxNews

TRIES: Final = 5
TIMEOUT_SECONDS: Final = 20.0
MAIL_PORTS: Final = {"smtp": 25, "smtps": 465}
Send = Callable[["Message"], None]


class Message(Struct, frozen=True):
    """What people are told of one item: a headline, and some lines below it."""

    change: "InboxNews"
    approval_id: str
    headline: str
    lines: tuple[str, ...]

    @property
    def text(self) -> str:
        return "\n".join((self.headline, *self.lines))


def message_of(card: "ApprovalCard", place: str | None) -> Message:
    from beliefd.protocol.approvals import change_of, inbox_page

    change = change_of(card.status)
    kind = str(card.subject.__struct_config__.tag)
    by = f" by {visible(card.decided_by)}" if card.decided_by else ""
    happened = {
        "approval.pending": "waits for a person",
        "approval.expired": "was not decided in time",
        "approval.decided": f"is {card.status}{by}",
    }[change]
    name = card.approval_id
    link = inbox_page(place, name) or f"beliefd inbox show {name}"
    lines = (
        f"proposed by {visible(card.proposer)} in session {card.session_id}",
        *((f"open until {shown_time(card.expires_at)}",) if change == "approval.pending" else ()),
        link,
    )
    return Message(change, card.approval_id, f"{card.tier}: a {kind} {happened}", lines)


def chat_body(message: Message) -> dict[str, str]:
    """What Slack, Mattermost and those like them take; letters that they give a meaning are written out."""
    text = message.text
    for letter, written in (("&", "&amp;"), ("<", "&lt;"), (">", "&gt;")):
        text = text.replace(letter, written)
    return {"text": text}


def mail_of(message: Message, sender: str, receivers: tuple[str, ...]) -> "EmailMessage":
    """A mail. What becomes of an item answers the mail that said it waits."""
    from email.message import EmailMessage
    from email.utils import formatdate

    mail = EmailMessage()
    mail["Subject"] = f"[beliefd] {message.headline}"
    mail["From"] = sender
    mail["To"] = ", ".join(receivers)
    mail["Date"] = formatdate()
    first = f"<{message.approval_id}@beliefd>"
    if message.change == "approval.pending":
        mail["Message-ID"] = first
    else:
        mail["Message-ID"] = f"<{message.approval_id}.{message.change}@beliefd>"
        mail["In-Reply-To"] = mail["References"] = first
    mail.set_content(message.text)
    return mail


def to_chat(url: str) -> Send:
    import httpx

    if urlsplit(url).scheme not in ("http", "https"):
        raise invalid(f"`{url}` is no http or https address", "--chat")

    def send(message: Message) -> None:
        httpx.post(url, json=chat_body(message), timeout=TIMEOUT_SECONDS).raise_for_status()

    return send


def to_mail(url: str, sender: str, receivers: tuple[str, ...]) -> Send:
    import smtplib
    import ssl

    server = urlsplit(url)
    if server.scheme not in MAIL_PORTS or not server.hostname:
        raise invalid("a mail server is smtp://host:port or smtps://host:port", "--mail")
    if not receivers:
        raise invalid("name who gets the mails", "--to")
    secure = server.scheme == "smtps"
    host, port = server.hostname, server.port or MAIL_PORTS[server.scheme]

    def send(message: Message) -> None:
        mail = mail_of(message, sender, receivers)
        context = ssl.create_default_context()
        with (
            smtplib.SMTP_SSL(host, port, timeout=TIMEOUT_SECONDS, context=context)
            if secure
            else smtplib.SMTP(host, port, timeout=TIMEOUT_SECONDS)
        ) as connection:
            connection.ehlo()
            if not secure and connection.has_extn("starttls"):
                connection.starttls(context=context)
            elif not secure and server.username:
                raise invalid(f"`{host}` takes the password only in the clear; use smtps://", "--mail")
            if server.username:
                connection.login(unquote(server.username), unquote(server.password or ""))
            connection.send_message(mail)

    return send


def tell_changes(  # noqa: PLR0913 - one argument per option
    target: Target,
    *,
    chat: str | None,
    mail: str | None,
    receivers: tuple[str, ...],
    sender: str,
    place: str | None,
    waiting: bool,
    count: int | None,
    space: str | None,
) -> None:
    sends: list[Send] = [] if chat is None else [to_chat(chat)]
    sends += [] if mail is None else [to_mail(mail, sender, receivers)]
    if not sends:
        raise invalid("say where to: `--chat URL`, or `--mail URL --to ADDRESS`", "--chat")
    with target.calls() as calls:
        for card in islice(_cards(calls, waiting, space), count):
            message = message_of(card, place)
            for send in sends:
                _persist(send, message)


def _cards(calls: "Calls", waiting: bool, space: str | None) -> "Iterator[ApprovalCard]":
    from beliefd.cli.reviewing import listed

    if waiting:
        yield from listed(calls, space=space)
    for change in calls.follow_inbox(space=space):
        yield calls.show_approval(change["approval_id"])


def _persist(send: Send, message: Message) -> None:
    """A message that is not taken is sent again a few times; then the others are not kept waiting."""
    from beliefd.client.waiting import growing_pauses

    problem: Any = None
    for pause, _ in zip(growing_pauses(), range(TRIES), strict=False):
        try:
            send(message)
        except Exception as error:
            problem = error
            time.sleep(pause)
        else:
            return
    complain(f"nobody was told of {message.approval_id}: {problem}")
