"""What a server says on stderr: of requests, refusals and the inbox, a line each, for people or as JSON."""

import logging
from collections.abc import Awaitable, Callable
from contextlib import aclosing
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, Final, Literal

from beliefd.cli.options import Decorator, setting, together
from beliefd.protocol.visible import visible, visible_json

if TYPE_CHECKING:
    from beliefd.steward.bootstrap import Runtime

FORMATS: Final = ("text", "json")
LEVELS: Final = ("debug", "info", "warning", "error")
Format = Literal["text", "json"]
inbox_log: Final = logging.getLogger("beliefd.inbox")


def log_options() -> Decorator:
    import click

    return together(
        setting(
            "--log-format",
            "BELIEFD_LOG_FORMAT",
            "How lines on stderr are written.",
            type=click.Choice(FORMATS),
            default=FORMATS[0],
            show_default=True,
        ),
        setting(
            "--log-level",
            "BELIEFD_LOG_LEVEL",
            "From which level on; `info` has one line per request, refusal and change of the inbox.",
            type=click.Choice(LEVELS),
            default="warning",
            show_default=True,
        ),
    )


class Lines(logging.Formatter):
    """INVARIANT: a record is one line, whatever somebody has put into it, and no terminal obeys it."""

    def __init__(self, as_json: bool) -> None:
        super().__init__()
        self._as_json = as_json

    def format(self, record: logging.LogRecord) -> str:
        when = datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds")
        fields: dict[str, Any] = getattr(record, "fields", {})
        line = {
            "time": when.replace("+00:00", "Z"),
            "level": record.levelname.lower(),
            "about": record.name.removeprefix("beliefd."),
            "message": record.getMessage(),
            **fields,
        }
        if record.exc_info:
            line["error"] = self.formatException(record.exc_info)
        if self._as_json:
            return visible_json(line).decode()
        told = " ".join(f"{name}={visible(str(value))}" for name, value in fields.items())
        message = visible(record.getMessage())
        said = f"{line['time']} {line['level']} {line['about']}: {message} {told}".rstrip()
        # A defect is told with where it happened, in as many lines as that takes.
        return f"{said}\n{line['error']}" if record.exc_info else said


def begin_logging(form: Format, level: str) -> None:
    """Send what beliefd has to say to stderr. Which policy comes into force is said at every level."""
    handler = logging.StreamHandler()
    handler.setFormatter(Lines(form == "json"))
    ours = logging.getLogger("beliefd")
    ours.handlers, ours.propagate = [handler], False
    ours.setLevel(level.upper())
    policies = logging.getLogger("beliefd.policy")
    policies.setLevel(logging.INFO)
    if form == "text":  # one plain line, as people know it
        policies.handlers, policies.propagate = [logging.StreamHandler()], False


def inbox_lines(runtime: "Runtime") -> list[Callable[[], Awaitable[None]]]:
    """What logs every change of the inbox, if anybody wants to read it."""
    if not inbox_log.isEnabledFor(logging.INFO):
        return []
    from beliefd.steward.environment import uuid7
    from beliefd.steward.inbox_feed import InboxChange, InboxFeed

    async def follow() -> None:
        feed = InboxFeed(runtime.steward.store, runtime.feeds, None, uuid7())
        async with aclosing(feed.follow()) as changes:
            async for told in changes:
                for one in told or ():
                    if not isinstance(one, InboxChange):
                        continue
                    row = one.row
                    fields = {
                        "approval_id": row.approval_id,
                        "session_id": row.session_id,
                        "status": row.status,
                    }
                    level = logging.WARNING if one.change == "approval.expired" else logging.INFO
                    inbox_log.log(level, one.change, extra={"fields": fields})

    return [follow]
