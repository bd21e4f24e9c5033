"""Messages as lines over a pair of streams, and over a real process's standard input and output."""

import sys

import trio
from trio.testing import MemoryReceiveStream, MemorySendStream, MockClock, memory_stream_one_way_pair

from actors.door import Connection, Frame
from actors.door.stdio import serve_stdio
from actors.door.websocket import ConnectionLimits
from tests.actors.door.doors import echo

Ends = tuple[MemorySendStream, MemoryReceiveStream]


def pipes() -> tuple[Ends, MemoryReceiveStream, MemorySendStream]:
    """The client's ends, then what the host receives from and sends to."""
    to_host, receive = memory_stream_one_way_pair()
    send, from_host = memory_stream_one_way_pair()
    return (to_host, from_host), receive, send


async def everything(stream: trio.abc.ReceiveStream) -> bytes:
    got = b""
    while data := await stream.receive_some():
        got += data
    return got


async def test_a_line_is_a_message_however_it_is_cut(nursery: trio.Nursery) -> None:
    (to_host, from_host), receive, send = pipes()
    nursery.start_soon(serve_stdio, receive, send, echo, ConnectionLimits())
    for piece in ('{"a":', "1}\n{}\r\n\n  \n", "ü", "n\n", "last"):
        await to_host.send_all(piece.encode())
    await to_host.send_all(b"\n\xff\xfe\nhalf a line")
    await to_host.aclose()
    assert (await everything(from_host)).decode() == '{"a":1}\n{}\r\nün\nlast\n2 bytes\n'


async def test_a_line_too_long_ends_the_connection_behind_what_was_answered(nursery: trio.Nursery) -> None:
    (to_host, from_host), receive, send = pipes()
    nursery.start_soon(serve_stdio, receive, send, echo, ConnectionLimits(max_message_bytes=1000))
    await to_host.send_all(b"fine\n" + b"x" * 2000)
    assert await everything(from_host) == b"fine\n"


async def test_who_does_not_read_is_left_after_a_while(nursery: trio.Nursery, autojump_clock: MockClock) -> None:
    ended = trio.Event()

    class Stuck(trio.abc.SendStream):
        async def send_all(self, data: bytes | bytearray | memoryview) -> None:
            await trio.sleep_forever()

        async def wait_send_all_might_not_block(self) -> None:
            await trio.sleep_forever()

        async def aclose(self) -> None:
            await trio.lowlevel.checkpoint()

    async def talk(connection: Connection) -> None:
        for _ in range(100):
            connection.outbox.push(Frame(b"x" * 100))
        async for _ in connection:
            pass
        ended.set()

    _, receive, _ = pipes()
    nursery.start_soon(serve_stdio, receive, Stuck(), talk, ConnectionLimits(outbox_bytes=1000))
    await ended.wait()


async def test_a_process_speaks_over_its_standard_streams() -> None:
    program = (
        "import trio\n"
        "from actors.door.stdio import open_stdio, serve_stdio\n"
        "from actors.door.websocket import ConnectionLimits\n"
        "from tests.actors.door.doors import echo\n"
        "async def main():\n"
        "    streams = open_stdio()\n"
        "    print('not for the client')\n"
        "    await serve_stdio(*streams, echo, ConnectionLimits())\n"
        "trio.run(main)\n"
    )
    result = await trio.run_process(
        [sys.executable, "-c", program], stdin=b"one\ntwo\n", capture_stdout=True, capture_stderr=True
    )
    assert result.stdout == b"one\ntwo\n"
    assert b"not for the client" in result.stderr
