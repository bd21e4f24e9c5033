"""The lane beside wsproto: whatever comes, and however it is cut, both ways in give the same messages."""

from hypothesis import given
from hypothesis import strategies as st
from wsproto.connection import Connection, ConnectionType
from wsproto.events import BytesMessage, CloseConnection, Event, Ping, TextMessage

from actors.door.lane import Lane
from tests.actors.door.doors import masked

LIMIT = 300_000

texts = st.text(max_size=300).map(str.encode)
longer = st.sampled_from([126, 65535, 65536, 70_000]).map(lambda size: b"x" * size)
masks = st.binary(min_size=4, max_size=4)


@st.composite
def messages(draw: st.DrawFn) -> bytes:
    """One message as frames: whole or in fragments with pings between, text or binary; or a control frame."""
    kind = draw(st.sampled_from(["whole", "whole", "whole", "fragments", "ping", "pong", "binary"]))
    if kind in ("ping", "pong"):
        return masked(draw(st.binary(max_size=125)), 0x89 if kind == "ping" else 0x8A, draw(masks))
    if kind == "whole":
        return masked(draw(texts | longer), 0x81, draw(masks))
    opcode = 2 if kind == "binary" else 1
    pieces = draw(st.lists(texts, min_size=1, max_size=4))
    frames = b""
    for index, piece in enumerate(pieces):
        first = (0x80 if index == len(pieces) - 1 else 0) | (opcode if index == 0 else 0)
        frames += masked(piece, first, draw(masks))
        if not first & 0x80 and draw(st.booleans()):
            frames += masked(b"between", 0x89, draw(masks))
    return frames


@st.composite
def streams(draw: st.DrawFn) -> list[bytes]:
    """A conversation cut into pieces at random places, with rubbish at the end now and then."""
    data = b"".join(draw(st.lists(messages(), max_size=12))) + draw(st.just(b"") | st.binary(max_size=40))
    cuts = sorted(draw(st.lists(st.integers(0, len(data)), max_size=10)))
    return [data[start:stop] for start, stop in zip([0, *cuts], [*cuts, len(data)], strict=True)]


class Reader:
    """wsproto's messages, joined."""

    def __init__(self) -> None:
        self.got: list[str | bytes] = []
        self.broken = False
        self._parts: list[str] = []
        self._protocol = Connection(ConnectionType.SERVER)

    def read(self, data: bytes) -> None:
        if not self.broken:
            self._protocol.receive_data(data)
            for event in self._protocol.events():
                self._on(event)

    def _on(self, event: Event) -> None:
        if isinstance(event, CloseConnection):
            self.broken = True
        elif isinstance(event, Ping):
            self.got.append(b"ping " + bytes(event.payload))
        elif isinstance(event, TextMessage | BytesMessage):
            self._parts.append(event.data if isinstance(event.data, str) else bytes(event.data).decode("latin-1"))
            if event.message_finished:
                self.got.append("".join(self._parts))
                self._parts = []


@given(streams())
def test_both_ways_in_give_the_same(pieces: list[bytes]) -> None:
    alone = Reader()
    for piece in pieces:
        alone.read(piece)
    lane, behind = Lane(LIMIT), Reader()
    for piece in pieces:
        lane.feed(piece)
        while not behind.broken and (data := lane.take(behind.got.append)):
            before = lane.completed
            behind.read(data)
            assert lane.completed == before
    assert behind.got == alone.got
    # Half a frame of rubbish may be refused by the one and awaited by the other.
    assert alone.broken or not behind.broken


def test_what_completes_a_message_is_counted_with_its_last_byte() -> None:
    lane = Lane(LIMIT)
    lane.feed(masked(b"a", 0x01) + masked(b"ping", 0x89) + masked(b"b", 0x80))
    counts = []
    while lane.take(lambda text: None):
        counts.append(lane.completed)
    assert counts == [0, 0, 1]


def test_a_burst_is_taken_in_one_go() -> None:
    lane, got = Lane(LIMIT), []
    lane.feed(b"".join(masked(b"%d" % n) for n in range(1000)) + masked(b"rest")[:7])
    assert lane.take(got.append) == b""
    assert got == [str(n) for n in range(1000)]
    lane.feed(masked(b"rest")[7:])
    assert lane.take(got.append) == b""
    assert got[-1] == "rest"


def test_after_this_side_closes_only_the_answer_gets_through() -> None:
    lane, got = Lane(LIMIT), []
    lane.feed(masked(b"one") + masked(b"x" * 100_000, 0x82)[:50])
    lane.only_close()
    close = masked((1000).to_bytes(2, "big"), 0x88)
    lane.feed(masked(b"x" * 100_000, 0x82)[50:] + masked(b"two") + masked(b"ping", 0x89) + close)
    assert lane.take(got.append) == close
    assert got == []


def test_too_big_stays_too_big_until_this_side_closes() -> None:
    lane = Lane(1000)
    lane.feed(masked(b"x" * 1001)[:8])
    assert lane.take(lambda text: None) == b""
    assert lane.too_big
    lane.feed(masked(b"x" * 1001)[8:] + masked(b"", 0x88))
    assert lane.take(lambda text: None) == b""
    lane.only_close()
    assert lane.take(lambda text: None) == masked(b"", 0x88)
