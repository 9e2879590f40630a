"""From one page to another."""

from beliefd.console.app import Seen, Visitor


async def home(_: Visitor) -> Seen:
    return Seen(location="/inbox")
