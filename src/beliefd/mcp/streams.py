"""Our own standard streams as the client's side of the protocol, read and written by the event loop itself.

The SDK's own reads and writes go through threads, several hand-overs per message.
"""

import asyncio
import os
import stat
import sys
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager
from typing import Any, Final

import anyio
import mcp_types as types
from mcp.server.stdio import stdio_server
from mcp.shared.message import SessionMessage

from beliefd.mcp.frames import write_line
from beliefd.mcp.process import CHUNK, Lines, divert
from beliefd.protocol.operation import MIB

MESSAGE_BYTES: Final = 16 * MIB


def _is_pipe(number: int) -> bool:
    mode = os.fstat(number).st_mode
    return stat.S_ISFIFO(mode) or stat.S_ISSOCK(mode)


Takes = Callable[[bytes, asyncio.StreamWriter], bool]
"""Says whether it answers a message itself, and where to."""


@asynccontextmanager
async def standard_streams(takes: Takes | None = None) -> AsyncGenerator[Any, None]:
    """The streams of messages. Where they are no pipes (a file, a terminal), the SDK reads them."""
    if not (_is_pipe(0) and _is_pipe(1)):
        async with stdio_server() as streams:
            yield streams
        return
    reader, writer = await _pipes()
    if takes is not None:
        divert(reader, MESSAGE_BYTES, lambda line: takes(line, writer))
    incoming, read = anyio.create_memory_object_stream[SessionMessage | Exception](0)
    write, outgoing = anyio.create_memory_object_stream[SessionMessage](0)
    tasks = [
        asyncio.create_task(_read(reader, incoming)),
        asyncio.create_task(_write(writer, outgoing)),
    ]
    try:
        yield read, write
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        for stream in (incoming, read, write, outgoing):
            stream.close()
        writer.close()


async def _pipes() -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
    """INVARIANT: nothing else writes to the protocol: what is printed by mistake goes to standard error."""
    loop = asyncio.get_running_loop()
    source, target = os.fdopen(os.dup(0), "rb", 0), os.fdopen(os.dup(1), "wb", 0)
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    os.dup2(2, 1)
    sys.stdout.flush()
    reader = asyncio.StreamReader()
    await loop.connect_read_pipe(lambda: asyncio.StreamReaderProtocol(reader), source)
    transport, protocol = await loop.connect_write_pipe(
        lambda: asyncio.StreamReaderProtocol(asyncio.StreamReader()), target
    )
    return reader, asyncio.StreamWriter(transport, protocol, None, loop)


async def _read(reader: asyncio.StreamReader, incoming: Any) -> None:
    lines = Lines(MESSAGE_BYTES)
    async with incoming:
        while chunk := await reader.read(CHUNK):
            for line in lines.fed(chunk):
                if not line.strip():
                    continue
                try:
                    message = types.jsonrpc_message_adapter.validate_json(line, by_name=False)
                except ValueError as error:
                    await incoming.send(error)
                    continue
                await incoming.send(SessionMessage(message))


async def _write(writer: asyncio.StreamWriter, outgoing: Any) -> None:
    async with outgoing:
        async for message in outgoing:
            write_line(writer, message.message.model_dump_json(by_alias=True, exclude_unset=True).encode())
            await writer.drain()
