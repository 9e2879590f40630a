"""Messages that are ours are taken as they arrive; whoever reads gets all others, whole and in order."""

import asyncio

import pytest

from beliefd.mcp.process import divert


@pytest.mark.parametrize("size", [1, 3, 1000])
def test_what_is_taken_is_not_read_and_what_is_read_is_whole(size: int) -> None:
    async def scenario() -> tuple[list[bytes], bytes]:
        reader, taken = asyncio.StreamReader(), list[bytes]()

        def takes(line: bytes) -> bool:
            if line.startswith(b"ours"):
                taken.append(line)
            return line.startswith(b"ours")

        divert(reader, 100, takes)
        text = b"theirs 1\nours 1\nours 2\n\ntheirs 2\n" + b"x" * 200 + b"\nours 3\nours that never ends"
        for at in range(0, len(text), size):
            reader.feed_data(text[at : at + size])
        reader.feed_eof()
        return taken, await reader.read()

    taken, rest = asyncio.run(scenario())
    assert taken == [b"ours 1", b"ours 2", b"ours 3"]
    assert [line for line in rest.split(b"\n") if line] == [b"theirs 1", b"theirs 2"]


def test_nobody_who_reads_is_woken_for_what_is_taken() -> None:
    async def scenario() -> None:
        reader = asyncio.StreamReader()
        divert(reader, 100, lambda line: line == b"ours")
        reading = asyncio.create_task(reader.read(100))
        await asyncio.sleep(0)
        reader.feed_data(b"ours\n")
        await asyncio.sleep(0)
        assert not reading.done()
        reader.feed_data(b"theirs\n")
        assert await reading == b"theirs\n"

    asyncio.run(scenario())
