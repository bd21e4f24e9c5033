"""The outbox by itself: order, joining, the limit, and the end."""

import pytest
import trio
from trio.testing import Sequencer, wait_all_tasks_blocked

from actors.door import Frame, Outbox


class Sink:
    """Takes what is sent, a call at a time, while it is open."""

    def __init__(self) -> None:
        self.calls: list[bytes] = []
        self.open = trio.Event()

    async def send_all(self, data: bytes) -> None:
        await self.open.wait()
        self.calls.append(data)


def test_a_frame_is_framed_once() -> None:
    frame = Frame(b'{"a":1}')
    assert frame.websocket == b'\x81\x07{"a":1}'
    assert frame.websocket is frame.websocket
    assert frame.line == b'{"a":1}\n'
    assert frame.line is frame.line


@pytest.mark.parametrize(
    ("size", "head"),
    [
        (0, b"\x81\x00"),
        (125, b"\x81\x7d"),
        (126, b"\x81\x7e\x00\x7e"),
        (65535, b"\x81\x7e\xff\xff"),
        (65536, b"\x81\x7f\0\0\0\0\0\x01\0\0"),
    ],
)
def test_the_length_of_a_frame_is_written_in_the_shortest_form(size: int, head: bytes) -> None:
    assert Frame(b"x" * size).websocket == head + b"x" * size


async def test_all_that_waits_leaves_in_one_call(nursery: trio.Nursery) -> None:
    outbox, sink = Outbox(1000, "line"), Sink()
    sink.open.set()
    nursery.start_soon(outbox.drain, sink.send_all)
    await wait_all_tasks_blocked()
    for n in range(10):
        outbox.push(Frame(b"%d" % n))
    outbox.push_raw(b"raw")
    assert outbox.pending_bytes == 23
    await outbox.wait_below(0)
    assert sink.calls == [b"0\n1\n2\n3\n4\n5\n6\n7\n8\n9\nraw"]
    assert outbox.pending_bytes == 0


async def test_a_long_message_is_sent_as_it_is(nursery: trio.Nursery) -> None:
    outbox, sink = Outbox(1 << 20), Sink()
    sink.open.set()
    long = Frame(b"x" * 500_000)
    for frame in (Frame(b"a"), Frame(b"b"), long, Frame(b"c")):
        outbox.push(frame)
    nursery.start_soon(outbox.drain, sink.send_all)
    await outbox.wait_below(0)
    assert [len(call) for call in sink.calls] == [6, len(long.websocket), 3]
    assert sink.calls[1] is long.websocket


async def test_who_falls_behind_is_dropped_but_for_the_last_words(nursery: trio.Nursery) -> None:
    outbox, sink = Outbox(1000), Sink()
    nursery.start_soon(outbox.drain, sink.send_all)
    outbox.push(Frame(b"first"))
    await wait_all_tasks_blocked()
    for _ in range(10):
        outbox.push(Frame(b"x" * 100))
    assert not outbox.fallen_behind.is_set()
    outbox.push(Frame(b"too much"))
    assert outbox.fallen_behind.is_set()
    assert outbox.pending_bytes == len(Frame(b"first").websocket)
    outbox.push(Frame(b"later"))
    outbox.push_raw(b"last words")
    outbox.push_raw(b"x" * 5000)
    sink.open.set()
    await outbox.wait_below(0)
    assert sink.calls == [Frame(b"first").websocket, b"last words"]


async def test_a_control_frame_counts_too() -> None:
    outbox = Outbox(1000)
    for _ in range(10):
        outbox.push_raw(b"x" * 125)
    assert outbox.fallen_behind.is_set()


async def test_nothing_follows_what_was_the_last() -> None:
    outbox = Outbox(1000)
    outbox.push_raw(b"close")
    outbox.stop_accepting()
    outbox.push(Frame(b"late"))
    outbox.push_raw(b"late")
    assert outbox.pending_bytes == 5


async def test_closing_ends_every_wait(nursery: trio.Nursery) -> None:
    outbox, sequence = Outbox(1000), Sequencer()
    outbox.push(Frame(b"never sent"))

    async def wait() -> None:
        async with sequence(0):
            pass
        await outbox.wait_below(0)
        async with sequence(2):
            pass

    nursery.start_soon(wait)
    async with sequence(1):
        await wait_all_tasks_blocked()
        outbox.close()
    async with sequence(3):
        assert outbox.pending_bytes == 0
    await outbox.drain(Sink().send_all)


async def test_a_transport_that_breaks_closes_the_outbox() -> None:
    outbox = Outbox(1000)

    async def send_all(data: bytes) -> None:
        raise trio.BrokenResourceError

    outbox.push(Frame(b"x"))
    with pytest.raises(trio.BrokenResourceError):
        await outbox.drain(send_all)
    outbox.push(Frame(b"y"))
    await outbox.wait_below(0)
