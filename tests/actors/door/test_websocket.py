"""WebSocket connections through a real door, mostly with a peer that is not ours."""

import json
from pathlib import Path

import pytest
import trio
import websockets
import websockets.sync.client as peer
from trio.testing import MockClock, wait_all_tasks_blocked

from actors.door import Connection, Frame
from tests.actors.door.doors import TOKEN, Raw, as_peer, knock, limits_with, masked, open_door, upgrade, wait_until


async def test_what_a_client_says_comes_back_in_order(tmp_path: Path) -> None:
    texts = [json.dumps({"n": n, "text": "ü" * (n % 700)}, ensure_ascii=False) for n in range(2000)]

    def talk(client: peer.ClientConnection) -> list[str]:
        for text in texts:
            client.send(text)
        return [client.recv() for _ in texts]

    async with open_door(tmp_path) as door:
        assert await as_peer(talk, door.url(), max_size=None) == texts


async def test_messages_of_every_size_arrive_whole(tmp_path: Path) -> None:
    sizes = [0, 1, 125, 126, 127, 65534, 65535, 65536, 65537, 1_000_000, 5_000_000]

    def talk(client: peer.ClientConnection) -> list[int]:
        for size in sizes:
            client.send("é" * (size // 2) + "x" * (size % 2))
        return [len(client.recv().encode()) for _ in sizes]

    async with open_door(tmp_path) as door:
        assert await as_peer(talk, door.url(), max_size=None) == sizes


async def test_fragments_are_one_message_and_keep_their_place(tmp_path: Path) -> None:
    def talk(client: peer.ClientConnection) -> list[str]:
        client.send("before")
        client.send(["in ", "three ", "pieces"])
        client.send("after")
        client.send([b"ab", b"cd"])
        client.send("last")
        return [client.recv() for _ in range(5)]

    async with open_door(tmp_path) as door:
        said = await as_peer(talk, door.url())
    assert said == ["before", "in three pieces", "after", "4 bytes", "last"]


async def test_a_ping_between_fragments_is_answered(tmp_path: Path) -> None:
    async with open_door(tmp_path) as door:
        raw = await (await knock(door)).upgraded()
        await raw.send(masked(b"one ", 0x01) + masked(b"are you there", 0x89) + masked(b"message", 0x80))
        assert await raw.frame() == (0xA, b"are you there")
        assert await raw.frame() == (0x1, b"one message")


async def test_a_frame_may_come_byte_by_byte(tmp_path: Path) -> None:
    async with open_door(tmp_path) as door:
        raw = await (await knock(door)).upgraded()
        for byte in masked(b"slow", 0x81) + masked(b"p", 0x89) + masked(b"er", 0x81):
            await raw.send(bytes([byte]))
        assert [await raw.frame() for _ in range(3)] == [(0x1, b"slow"), (0xA, b"p"), (0x1, b"er")]


async def test_the_client_closes_and_is_answered_in_kind(tmp_path: Path) -> None:
    def talk(client: peer.ClientConnection) -> tuple[int | None, str | None]:
        client.send("bye")
        client.recv()
        client.close(4321, "had enough")
        return client.close_code, client.close_reason

    async with open_door(tmp_path) as door:
        assert await as_peer(talk, door.url()) == (4321, "had enough")


async def test_the_host_closes_with_its_own_code_behind_what_it_said(tmp_path: Path) -> None:
    async def farewell(connection: Connection) -> None:
        for n in range(1000):
            connection.outbox.push(Frame(b"%d" % n))
        await connection.aclose(4000, "the end " * 40)
        connection.outbox.push(Frame(b"too late"))

    def talk(client: peer.ClientConnection) -> list[str]:
        said = []
        try:
            while True:
                said.append(client.recv())
        except websockets.ConnectionClosed:
            pass
        assert (client.close_code, client.close_reason) == (4000, ("the end " * 40)[:123])
        return said

    async with open_door(tmp_path, farewell) as door:
        assert await as_peer(talk, door.url()) == [str(n) for n in range(1000)]


async def test_a_handler_that_returns_closes_and_one_that_raises_says_so(tmp_path: Path) -> None:
    async def fickle(connection: Connection) -> None:
        async for message in connection:
            if message == "raise":
                raise ValueError("on purpose")
            return

    async with open_door(tmp_path, fickle) as door:
        for message, code in (("return", 1000), ("raise", 1011), ("return", 1000)):
            raw = await (await knock(door)).upgraded()
            await raw.send(masked(message.encode()))
            assert await raw.close_code() == code


async def test_a_message_too_long_is_refused_when_it_is_announced(tmp_path: Path) -> None:
    async with open_door(tmp_path, limits=limits_with(max_message_bytes=100_000)) as door:
        fits = await (await knock(door)).upgraded()
        await fits.send(masked(b"x" * 100_000))
        assert (await fits.frame())[1] == b"x" * 100_000
        for data in (
            masked(b"x" * 100_001)[:20],
            masked(b"x" * 60_000, 0x01) + masked(b"x" * 40_001, 0x80)[:20],
            masked(b"x" * 100_001, 0x82)[:20],
        ):
            raw = await (await knock(door)).upgraded()
            await raw.send(data)
            assert await raw.close_code() == 1009


async def test_a_client_that_sends_too_much_reads_why(tmp_path: Path) -> None:
    def talk(client: peer.ClientConnection) -> int | None:
        try:
            client.send("x" * 30_000_000)
            client.recv()
        except websockets.ConnectionClosed:
            pass
        return client.close_code

    async with open_door(tmp_path, limits=limits_with(max_message_bytes=1_000_000)) as door:
        assert await as_peer(talk, door.url()) == 1009


@pytest.mark.parametrize(
    ("data", "code"),
    [
        (b"\x81\x05hello", 1002),
        (masked(b"hello", 0xC1), 1002),
        (masked(b"hello", 0x83), 1002),
        (masked(b"hello", 0x80), 1002),
        (masked(b"x" * 126, 0x89), 1002),
        (masked(b"\xff\xfe"), 1007),
        (masked(b"\xc3", 0x01) + masked(b"\x28", 0x80), 1007),
        (b"\x81\xfe\x00\x05\0\0\0\0hello", 1002),
        (masked(b"\x00", 0x88), 1002),
    ],
    ids=["unmasked", "reserved bit", "opcode", "lone end", "long ping", "not utf-8", "half utf-8", "length", "close"],
)
async def test_a_client_that_breaks_the_protocol_is_told_how(tmp_path: Path, data: bytes, code: int) -> None:
    async with open_door(tmp_path) as door:
        raw = await (await knock(door)).upgraded()
        await raw.send(masked(b"fine"))
        assert await raw.frame() == (0x1, b"fine")
        await raw.send(data)
        assert await raw.close_code() == code
        assert await raw.rest() == b""


async def test_a_client_that_vanishes_ends_its_handler_after_what_it_said(tmp_path: Path) -> None:
    heard: list[str | bytes] = []
    ended = trio.Event()

    async def listen(connection: Connection) -> None:
        async for message in connection:
            heard.append(message)
        ended.set()

    async with open_door(tmp_path, listen) as door:
        raw = await (await knock(door)).upgraded()
        await raw.send(masked(b"one") + masked(b"two") + masked(b"half")[:5])
        await raw.stream.aclose()
        await ended.wait()
    assert heard == ["one", "two"]


async def test_a_client_that_stops_reading_is_sent_away_and_hurts_nobody(tmp_path: Path) -> None:
    limit = 1_000_000
    big = Frame(json.dumps({"text": "x" * 50_000}).encode())
    async with open_door(tmp_path, limits=limits_with(outbox_bytes=limit)) as door:
        sleeper = await (await knock(door)).upgraded()
        reader = await (await knock(door)).upgraded()
        await wait_until(lambda: len(door.connections) == 2)
        asleep, awake = (connection.outbox for connection in door.connections)
        pushed = 0
        while not asleep.fallen_behind.is_set():
            asleep.push(big)
            awake.push(big)
            pushed += 1
            assert await reader.frame() == (0x1, big.payload)
            assert asleep.pending_bytes <= limit + 2 * len(big.websocket) + 128 * 1024
        for _ in range(100):
            asleep.push(big)
        assert asleep.pending_bytes <= 256 * 1024
        await reader.send(masked(b"still here?"))
        assert await reader.frame() == (0x1, b"still here?")
        # It wakes up, reads what had left already, and learns why nothing more comes.
        got = 0
        while (frame := await sleeper.frame())[0] == 0x1:
            assert frame[1] == big.payload
            got += 1
        assert frame[0] == 0x8
        assert frame[1] == (1013).to_bytes(2, "big") + b"falling behind; reconnect"
        assert got < pushed
        assert not awake.fallen_behind.is_set()


async def test_a_client_that_does_not_read_its_answers_is_not_served_on(tmp_path: Path) -> None:
    async def generous(connection: Connection) -> None:
        async for _ in connection:
            connection.outbox.push(Frame(b"x" * 100_000))

    async with open_door(tmp_path, generous, limits=limits_with(outbox_bytes=1_000_000)) as door:
        raw = await (await knock(door)).upgraded()
        async with trio.open_nursery() as nursery:
            nursery.start_soon(raw.send, masked(b"more") * 1000)
            for _ in range(1000):
                assert (await raw.frame()) == (0x1, b"x" * 100_000)
        assert not door.connections[0].outbox.fallen_behind.is_set()


async def test_one_message_longer_than_the_limit_reaches_who_reads(tmp_path: Path) -> None:
    async def snapshot(connection: Connection) -> None:
        connection.outbox.push(Frame(b"y" * 5_000_000))
        async for _ in connection:
            pass

    async with open_door(tmp_path, snapshot, limits=limits_with(outbox_bytes=100_000)) as door:
        raw = await (await knock(door)).upgraded()
        assert (await raw.frame())[1] == b"y" * 5_000_000


async def test_a_host_that_stops_says_so_behind_what_it_said(tmp_path: Path) -> None:
    async with open_door(tmp_path) as door:
        raws = [await (await knock(door)).upgraded() for _ in range(3)]
        await wait_until(lambda: len(door.connections) == 3)
        for connection in door.connections:
            connection.outbox.push(Frame(b"x" * 1_000_000))
        door.serving.cancel()
        for raw in raws:
            assert await raw.frame() == (0x1, b"x" * 1_000_000)
            assert await raw.close_code() == 1001


async def test_a_host_that_stops_does_not_wait_long_for_who_is_asleep(
    tmp_path: Path, autojump_clock: MockClock
) -> None:
    async with open_door(tmp_path) as door:
        raw = await (await knock(door)).upgraded()
        await wait_until(lambda: len(door.connections) == 1)
        door.connections[0].outbox.push(Frame(b"x" * 20_000_000))
        await wait_all_tasks_blocked()
        door.serving.cancel()
        await trio.sleep(1.5)
        with pytest.raises(AssertionError, match="closed after"):
            await raw.frame()


async def test_two_hundred_clients_at_once(tmp_path: Path) -> None:
    async def one(raw_of: Raw, n: int) -> None:
        raw = await raw_of.upgraded()
        await raw.send(masked(b"hello %d" % n))
        assert await raw.frame() == (0x1, b"hello %d" % n)
        await raw.send(masked((1000).to_bytes(2, "big"), 0x88))
        assert await raw.close_code() == 1000
        assert await raw.rest() == b""

    async with open_door(tmp_path) as door:
        async with trio.open_nursery() as nursery:
            for n in range(200):
                nursery.start_soon(one, await knock(door), n)
        await wait_until(lambda: door.ended == 200)


async def test_a_token_in_a_header_is_as_good_and_the_peer_says_who_it_is(tmp_path: Path) -> None:
    async with open_door(tmp_path) as door:
        url = door.bound[0].websocket
        said = await as_peer(
            lambda client: (client.send("hi"), client.recv())[1],
            url,
            additional_headers={"Authorization": f"Bearer {TOKEN}"},
        )
        assert said == "hi"
        (connection,) = door.connections
        assert connection.peer.transport == "ws"
        assert connection.peer.address == "127.0.0.1"
        assert connection.peer.token == TOKEN
        assert TOKEN not in repr(connection.peer)


@pytest.mark.parametrize("broken", ["Sec-WebSocket-Version: 12", "Sec-WebSocket-Key"])
async def test_a_handshake_that_is_none_is_refused(tmp_path: Path, broken: str) -> None:
    name, _, value = broken.partition(": ")
    lines = upgrade().decode().split("\r\n")
    data = "\r\n".join(broken if line.startswith(name) else line for line in lines if value or name not in line)
    async with open_door(tmp_path) as door:
        raw = await knock(door)
        await raw.send(data.encode())
        assert (await raw.rest()).startswith(b"HTTP/1.1 4")
        assert door.connections == []
        await echo_works(await knock(door))


async def test_a_silent_client_is_asked_for_a_sign_of_life(tmp_path: Path, autojump_clock: MockClock) -> None:
    async with open_door(tmp_path, limits=limits_with(ping_after=10.0, pong_within=5.0)) as door:
        raw = await (await knock(door)).upgraded()
        for _ in range(3):
            opcode, payload = await raw.frame()
            assert opcode == 0x9
            await raw.send(masked(payload, 0x8A))
        assert (await raw.frame())[0] == 0x9
        asked_at = trio.current_time()
        assert await raw.close_code() == 1011
        assert trio.current_time() == asked_at + 5
        assert await raw.rest() == b""


async def echo_works(raw: Raw) -> None:
    await raw.upgraded()
    await raw.send(masked(b"ping"))
    assert await raw.frame() == (0x1, b"ping")
