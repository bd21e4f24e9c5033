"""The client library against a scripted host: what a person sees, whatever the network does."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import Any

import pytest
import trio
import trio_websocket
from trio.testing import MockClock, memory_stream_pair, wait_all_tasks_blocked

from ahp.actions.session import SessionTitleChanged
from ahp.client import (
    ActionLost,
    ActionRejected,
    Backoff,
    ChangesLost,
    ChannelGone,
    Client,
    ConnectFailed,
    Disconnected,
    Status,
    connect,
    line_connector,
)
from ahp.client.feed import Feed
from ahp.commands import Implementation, ResourceReadParams, ResourceReadResult
from ahp.jsonrpc import NotFound, SessionNotFound, UnsupportedProtocolVersion, encode_request
from ahp.state.chat import ChatState
from ahp.state.root import RootState
from ahp.state.session import SessionState
from ahp.wire import UNSET
from tests.ahp.fake_host import CHAT, SESSION, FakeHost, Json

S, C, ROOT = "ahp-session:/s", "ahp-chat:/c", "ahp-root://"


@pytest.fixture
def host() -> FakeHost:
    return FakeHost()


@asynccontextmanager
async def attached(host: FakeHost, **options: Any) -> AsyncIterator[Client]:
    async with connect(host.connector, **{"keepalive": None, **options}) as client:
        yield client


def titled(title: str) -> SessionTitleChanged:
    return SessionTitleChanged(title=title)


def title_action(title: str) -> Json:
    return {"type": "session/titleChanged", "title": title}


def turn_action(id: str, text: str = "hello") -> Json:
    message = {"text": text, "origin": {"kind": "user"}}
    return {"type": "chat/turnStarted", "turnId": id, "startedAt": "2026-01-01T00:00:01.000Z", "message": message}


# Connecting.


async def test_connecting_introduces_the_client(host: FakeHost) -> None:
    async with attached(host, client_id="me", versions=["0.9.0"], client_info=Implementation(name="t")) as client:
        assert client.status is Status.CONNECTED
        assert client.protocol_version == "0.9.0"
    (hello,) = host.sent("initialize")
    assert hello == {
        "channel": ROOT,
        "protocolVersions": ["0.9.0"],
        "clientId": "me",
        "clientInfo": {"name": "t"},
    }


async def test_a_refused_introduction_is_raised_as_the_hosts_error(host: FakeHost) -> None:
    def refuse(params: Json) -> Json:
        raise UnsupportedProtocolVersion("no", {"supportedVersions": ["^9.0.0"]})

    host.answers["initialize"] = refuse
    with pytest.raises(UnsupportedProtocolVersion) as caught:
        async with attached(host):
            pytest.fail("unreachable")
    assert caught.value.data == {"supportedVersions": ["^9.0.0"]}


async def test_a_host_that_is_not_there_is_a_failed_connect(host: FakeHost) -> None:
    host.refusing = ConnectFailed("nobody listens")
    with pytest.raises(ConnectFailed, match="nobody listens"):
        async with attached(host):
            pytest.fail("unreachable")


async def test_a_host_that_hangs_up_on_the_introduction_is_a_failed_connect(host: FakeHost) -> None:
    host.answers["initialize"] = lambda params: host.drop(1013)
    with pytest.raises(ConnectFailed, match="1013"):
        async with attached(host):
            pytest.fail("unreachable")


async def test_a_host_that_never_answers_is_a_failed_connect(host: FakeHost, autojump_clock: MockClock) -> None:
    host.silent.add("initialize")
    with pytest.raises(ConnectFailed, match="handshake"):
        async with attached(host):
            pytest.fail("unreachable")


async def test_an_exception_of_the_block_comes_out_as_it_is(host: FakeHost) -> None:
    with pytest.raises(KeyError):
        async with attached(host):
            raise KeyError("mine")


async def test_cancelling_the_block_is_quiet(host: FakeHost) -> None:
    with trio.CancelScope() as scope:
        async with attached(host):
            scope.cancel()
            await trio.sleep_forever()
    assert scope.cancelled_caught


async def test_what_was_dispatched_is_sent_before_the_block_is_left(host: FakeHost) -> None:
    async with attached(host) as client:
        client.dispatch(S, titled("bye"))
    assert [d["action"] for d in host.dispatched()] == [title_action("bye")]


# Requests.


async def test_a_result_is_typed(host: FakeHost) -> None:
    host.answers["resourceRead"] = lambda params: {"data": params["uri"], "encoding": "utf-8"}
    async with attached(host) as client:
        result = await client.request("resourceRead", ResourceReadParams(uri="file:///a"), ResourceReadResult)
        assert result.data == "file:///a"
        assert await client.request("resourceRead", {"channel": ROOT, "uri": "x"}) == ResourceReadResult(
            data="x", encoding="utf-8"
        )
        assert await client.request("ping") is None


async def test_a_hosts_error_is_raised_by_name(host: FakeHost) -> None:
    async with attached(host) as client:
        with pytest.raises(SessionNotFound):
            async with client.subscribe("ahp-session:/none"):
                pytest.fail("unreachable")
    assert host.sent("unsubscribe") == []


async def test_a_request_cut_off_is_not_repeated(host: FakeHost, autojump_clock: MockClock) -> None:
    host.answers["createSession"] = lambda params: host.drop()
    async with attached(host) as client:
        with pytest.raises(Disconnected):
            await client.request("createSession", {"channel": "ahp-session:/n"})
        await client.wait_connected()
    assert len(host.sent("createSession")) == 1


async def test_a_request_made_while_away_waits_for_the_connection(host: FakeHost, autojump_clock: MockClock) -> None:
    async with attached(host) as client:
        host.drop()
        await wait_all_tasks_blocked()
        assert client.status is Status.RECONNECTING
        await client.request("ping")
    assert host.connections == 2


async def test_notifications_come_typed(host: FakeHost) -> None:
    async with attached(host) as client:
        with client.notifications() as notes:
            host.notify("root/sessionRemoved", channel=ROOT, session=S)
            host.notify("root/fromTheFuture", channel=ROOT, x=1)
            first, second = [await anext(notes) for _ in range(2)]
    assert (first.method, first.params.session) == ("root/sessionRemoved", S)
    assert second.params == {"channel": ROOT, "x": 1}


# Mirrored state.


async def test_a_subscription_mirrors_the_hosts_state(host: FakeHost) -> None:
    async with attached(host) as client, client.subscribe(S, SessionState) as sub:
        assert sub.state.title == "first"
        host.act(S, title_action("second"))
        state = await sub.wait_for(lambda s: s.title == "second")
        assert state is sub.state
        assert sub.seq == host.seq == client.last_seen_seq


async def test_a_view_is_asked_for(host: FakeHost) -> None:
    async with attached(host) as client, client.subscribe(C, ChatState, view_turns=3, max_latency_ms=20):
        pass
    assert host.sent("subscribe") == [{"channel": C, "view": {"turns": 3}, "delivery": {"maxLatencyMs": 20}}]
    assert host.sent("unsubscribe") == [{"channel": C}]


async def test_two_subscriptions_share_one_mirror(host: FakeHost) -> None:
    async with (
        attached(host) as client,
        client.subscribe(S, SessionState) as one,
        client.subscribe(S, SessionState) as two,
    ):
        host.act(S, title_action("both"))
        await two.wait_for(lambda s: s.title == "both")
        assert one.state is two.state
    assert len(host.sent("subscribe")) == len(host.sent("unsubscribe")) == 1


async def test_a_session_is_followed_under_its_other_name(host: FakeHost) -> None:
    host.answers["subscribe"] = lambda params: {"snapshot": host.snapshot(S)}
    async with attached(host) as client, client.subscribe("echo:/s", SessionState) as sub:
        host.act(S, title_action("canonical"))
        await sub.wait_for(lambda s: s.title == "canonical")


async def test_a_channel_without_state_can_be_watched(host: FakeHost) -> None:
    host.answers["subscribe"] = lambda params: {}
    async with attached(host) as client, client.subscribe("ahp-otlp://logs") as sub:
        with pytest.raises(ChannelGone):
            _ = sub.state


async def test_an_own_action_shows_at_once_and_is_confirmed_later(host: FakeHost) -> None:
    async with attached(host) as client, client.subscribe(S, SessionState) as sub:
        with sub.changes() as changes:
            seq = client.dispatch(S, titled("mine"))
            assert (sub.state.title, sub.confirmed.title) == ("mine", "first")
            await wait_all_tasks_blocked()
            (dispatched,) = host.dispatched()
            assert dispatched == {"channel": S, "clientSeq": seq, "action": title_action("mine")}
            host.confirm(dispatched)
            await sub.wait_for(lambda s: not sub.pending)
            assert (sub.state.title, sub.confirmed.title) == ("mine", "mine")
            assert [(await anext(changes)).cause for _ in range(2)] == ["dispatched", "action"]


async def test_a_refused_action_is_taken_back(host: FakeHost) -> None:
    async with attached(host) as client, client.subscribe(S, SessionState) as sub, trio.open_nursery() as nursery:

        async def refuse() -> None:
            await sub.wait_for(lambda s: s.title == "mine")
            await wait_all_tasks_blocked()
            host.confirm(host.dispatched()[0], rejectionReason="not yours")

        nursery.start_soon(refuse)
        with pytest.raises(ActionRejected, match="not yours"):
            await client.dispatch_and_wait(S, titled("mine"))
        assert sub.state.title == "first"
        assert sub.pending == []


async def test_others_actions_slip_under_the_pending_ones(host: FakeHost) -> None:
    async with attached(host) as client, client.subscribe(S, SessionState) as sub:
        client.dispatch(S, titled("mine"))
        client.dispatch(S, {"type": "session/isReadChanged", "isRead": True})
        await wait_all_tasks_blocked()
        host.act(S, title_action("theirs"))
        await sub.wait_for(lambda s: sub.confirmed.title == "theirs")
        assert sub.state.title == "mine"
        host.confirm(host.dispatched()[0])
        await sub.wait_for(lambda s: len(sub.pending) == 1)
        assert sub.confirmed.title == "mine"
        assert (sub.confirmed.status, sub.state.status) == (1, 33)


async def test_the_same_number_of_another_client_confirms_nothing(host: FakeHost) -> None:
    async with attached(host) as client, client.subscribe(S, SessionState) as sub:
        seq = client.dispatch(S, titled("mine"))
        host.act(S, title_action("theirs"), {"clientId": "other", "clientSeq": seq})
        await sub.wait_for(lambda s: sub.confirmed.title == "theirs")
        assert sub.state.title == "mine"


async def test_a_host_only_action_is_refused_before_it_is_sent(host: FakeHost) -> None:
    async with attached(host) as client:
        with pytest.raises(ValueError, match="session/ready"):
            client.dispatch(S, {"type": "session/ready"})


async def test_each_state_is_looked_at_also_a_passing_one(host: FakeHost) -> None:
    async with attached(host) as client, client.subscribe(S, SessionState) as sub, trio.open_nursery() as nursery:

        async def wait() -> None:
            assert (await sub.wait_for(lambda s: s.title == "passing")).title == "passing"

        nursery.start_soon(wait)
        await wait_all_tasks_blocked()
        host.act(S, title_action("passing"))
        host.act(S, title_action("gone"))


async def test_what_a_predicate_raises_is_raised_where_it_waits(host: FakeHost) -> None:
    async with attached(host) as client, client.subscribe(S, SessionState) as sub:
        with pytest.raises(ZeroDivisionError):
            await sub.wait_for(lambda s: bool(1 / 0))
        host.act(S, title_action("on"))
        await sub.wait_for(lambda s: s.title == "on")


async def test_an_action_nobody_can_read_is_left_out(host: FakeHost) -> None:
    async with attached(host) as client, client.subscribe(S, SessionState) as sub:
        host.act(S, {"type": "session/titleChanged", "title": 5})
        host.act(S, {"type": "session/fromTheFuture", "x": 5})
        host.act(S, title_action("after"))
        await sub.wait_for(lambda s: s.title == "after")


def test_a_reader_that_sleeps_too_long_is_told_so() -> None:
    feed: Feed[int] = Feed(limit=3)

    async def main() -> None:
        reader = feed.reader()
        for i in range(5):
            feed.publish(i)
        with pytest.raises(ChangesLost):
            await anext(reader)
        assert [await anext(reader), await anext(reader)] == [3, 4]

    trio.run(main)


# Lost connections.


async def test_replay_brings_what_was_missed(host: FakeHost, autojump_clock: MockClock) -> None:
    async with attached(host) as client, client.subscribe(S, SessionState) as sub:
        with client.statuses() as statuses:
            host.replay(host.envelope(S, title_action("missed")))
            host.drop()
            await sub.wait_for(lambda s: s.title == "missed")
            assert [await anext(statuses), await anext(statuses)] == [Status.RECONNECTING, Status.CONNECTED]
    (again,) = host.sent("reconnect")
    assert again == {"channel": ROOT, "clientId": host.client_id, "lastSeenServerSeq": 10, "subscriptions": [S]}
    assert client.initializations == 1


async def test_an_action_is_sent_again_unless_the_replay_has_it(host: FakeHost, autojump_clock: MockClock) -> None:
    async with attached(host) as client, client.subscribe(S, SessionState) as sub:
        client.dispatch(S, titled("done"))
        client.dispatch(S, {"type": "session/isReadChanged", "isRead": True})
        await wait_all_tasks_blocked()
        done, lost = host.dispatched()
        host.replay(host.envelope(S, done["action"], host.origin(done)))
        host.drop()
        await sub.wait_for(lambda s: sub.confirmed.title == "done")
        await client.wait_connected()
        await wait_all_tasks_blocked()
        assert host.dispatched() == [done, lost, lost]
        host.confirm(lost)
        await sub.wait_for(lambda s: not sub.pending)


async def test_an_action_dispatched_while_away_is_sent_on_return(host: FakeHost, autojump_clock: MockClock) -> None:
    async with attached(host) as client, client.subscribe(S, SessionState) as sub:
        host.drop()
        await wait_all_tasks_blocked()
        client.dispatch(S, titled("away"))
        assert sub.state.title == "away"
        assert host.dispatched() == []
        await client.wait_connected()
        await wait_all_tasks_blocked()
        assert len(host.dispatched()) == 1


async def test_a_snapshot_replaces_the_state_under_the_pending_actions(
    host: FakeHost, autojump_clock: MockClock
) -> None:
    async with attached(host) as client, client.subscribe(S, SessionState) as sub, client.subscribe(ROOT, RootState):
        client.dispatch(S, titled("mine"))
        await wait_all_tasks_blocked()
        host.seq += 5000
        host.states[S] = {**SESSION, "title": "theirs", "status": 33}
        host.snapshots(S, ROOT)
        with sub.changes() as changes:
            host.drop()
            change = await anext(changes)
        assert change.cause == "snapshot"
        assert (sub.confirmed.title, sub.state.title, sub.state.status) == ("theirs", "mine", 33)
        assert client.last_seen_seq == host.seq


async def test_a_turn_the_snapshot_already_has_is_not_begun_again(host: FakeHost, autojump_clock: MockClock) -> None:
    async with attached(host) as client, client.subscribe(C, ChatState) as sub, trio.open_nursery() as nursery:

        async def lose_the_answer() -> None:
            await wait_all_tasks_blocked()
            part = {"kind": "markdown", "id": "p", "content": "half a reply"}
            turn = {"id": "t1", "startedAt": "x", "message": turn_action("t1")["message"], "responseParts": [part]}
            host.states[C] = {**CHAT, "status": 8, "activeTurn": turn}
            host.snapshots(C)
            host.drop()

        nursery.start_soon(lose_the_answer)
        await client.dispatch_and_wait(C, turn_action("t1"))
        assert not isinstance(sub.state.active_turn, type(UNSET))
        assert len(sub.state.active_turn.response_parts) == 1
        await client.wait_connected()
        await wait_all_tasks_blocked()
        assert len(host.dispatched()) == 1


async def test_typing_is_never_repeated_after_a_gap(host: FakeHost, autojump_clock: MockClock) -> None:
    async with attached(host) as client, trio.open_nursery() as nursery:

        async def lose_the_answer() -> None:
            await wait_all_tasks_blocked()
            host.forget()
            host.drop()

        nursery.start_soon(lose_the_answer)
        with pytest.raises(ActionLost):
            await client.dispatch_and_wait("ahp-terminal:/t", {"type": "terminal/input", "data": "rm x\n"})
        await client.wait_connected()
    assert len(host.dispatched()) == 1


async def test_a_forgotten_client_introduces_itself_and_subscribes_again(
    host: FakeHost, autojump_clock: MockClock
) -> None:
    async with attached(host) as client, client.subscribe(S, SessionState) as sub:
        async with client.subscribe(C, ChatState, view_turns=2) as gone:
            host.forget()
            del host.states[C]
            host.states[S] = {**SESSION, "title": "after the restart"}
            host.seq = 3
            changes = gone.changes()
            host.drop()
            await sub.wait_for(lambda s: s.title == "after the restart")
            assert [c async for c in changes] == []
            assert gone.gone
            with pytest.raises(ChannelGone):
                await gone.wait_for(lambda s: False)
        assert client.initializations == 2
        assert client.last_seen_seq == 3
    assert host.sent("subscribe")[-1] == {"channel": C, "view": {"turns": 2}}


async def test_a_channel_missing_from_the_replay_is_gone(host: FakeHost, autojump_clock: MockClock) -> None:
    async with attached(host) as client, client.subscribe(C, ChatState) as sub, trio.open_nursery() as nursery:

        async def disappear() -> None:
            await wait_all_tasks_blocked()
            host.replay(missing=[C])
            host.drop()

        nursery.start_soon(disappear)
        with pytest.raises(ChannelGone):
            await client.dispatch_and_wait(C, turn_action("t"))
        assert sub.gone


async def test_a_client_that_fell_behind_comes_back(host: FakeHost, autojump_clock: MockClock) -> None:
    async with attached(host) as client, client.subscribe(S, SessionState) as sub:
        host.replay(host.envelope(S, title_action("caught up")))
        host.drop(1013)
        await sub.wait_for(lambda s: s.title == "caught up")
        assert client.status is Status.CONNECTED or host.connections == 2


async def test_attempts_get_further_apart_and_end(host: FakeHost, autojump_clock: MockClock) -> None:
    backoff = Backoff(first=1, factor=2, jitter=0, attempts=3)
    async with attached(host, reconnect=backoff) as client, client.subscribe(S, SessionState) as sub:
        host.refusing = ConnectFailed("down")
        start = trio.current_time()
        host.drop()
        with pytest.raises(Disconnected, match="down"):
            await sub.wait_for(lambda s: False)
        assert trio.current_time() - start == pytest.approx(1 + 2 + 4)
        assert client.status is Status.CLOSED
        assert isinstance(client.failure, ConnectFailed)
        with pytest.raises(Disconnected):
            client.dispatch(S, titled("x"))


@pytest.mark.parametrize("code", [1002, 1008])
async def test_a_close_that_would_come_again_is_final(host: FakeHost, code: int) -> None:
    async with attached(host) as client:
        host.drop(code)
        statuses = client.statuses()
        assert [s async for s in statuses] == [Status.CLOSED]
        with pytest.raises(Disconnected):
            await client.request("ping")
    assert host.connections == 1


async def test_a_token_that_is_refused_on_return_is_final(host: FakeHost, autojump_clock: MockClock) -> None:
    async with attached(host) as client:
        host.refusing = ConnectFailed("no", status=401)
        host.drop()
        with pytest.raises(Disconnected):
            await client.request("ping")


async def test_a_frame_the_host_finds_too_big_is_not_sent_twice(host: FakeHost, autojump_clock: MockClock) -> None:
    async with attached(host) as client, client.subscribe(S, SessionState) as sub:
        client.dispatch(S, titled("x" * 100))
        await wait_all_tasks_blocked()
        host.drop(1009)
        await sub.wait_for(lambda s: s.title == "first")
        await client.wait_connected()
        await wait_all_tasks_blocked()
    assert len(host.dispatched()) == 1


async def test_a_host_that_fell_silent_is_left(host: FakeHost, autojump_clock: MockClock) -> None:
    async with attached(host, keepalive=10.0) as client:
        await trio.sleep(35)
        assert len(host.sent("ping")) == 3
        host.silent.add("ping")
        with client.statuses() as statuses:
            assert await anext(statuses) is Status.RECONNECTING
        host.silent.clear()
        await client.wait_connected()


async def test_a_connection_lost_while_subscribing_is_not_the_callers_concern(
    host: FakeHost, autojump_clock: MockClock
) -> None:
    def drop_once(params: Json) -> Any:
        host.answers["subscribe"] = host._subscribe
        host.drop()

    host.answers["subscribe"] = drop_once
    async with attached(host) as client, client.subscribe(S, SessionState) as sub:
        assert sub.state.title == "first"


# The host's requests.


async def test_a_hosts_request_is_served(host: FakeHost) -> None:
    async def read(params: ResourceReadParams) -> ResourceReadResult:
        if params.uri != "mine:/a":
            raise NotFound(f"no {params.uri}")
        return ResourceReadResult(data="hello", encoding="utf-8")

    async def broken(params: object) -> object:
        raise RuntimeError("a bug")

    async with attached(host, handlers={"resourceRead": read}) as client:
        client.handle("resourceList", broken)
        asked = [
            ("resourceRead", "mine:/a"),
            ("resourceRead", "mine:/b"),
            ("resourceList", "x"),
            ("resourceMkdir", "x"),
        ]
        for id, (method, uri) in enumerate(asked):
            host.push(encode_request(id, method, {"channel": ROOT, "uri": uri}))
        host.push(encode_request("wrong", "resourceRead", {"channel": ROOT}))
        await wait_all_tasks_blocked()
        await client.ping()
    answers = {m["id"]: m for m in host.seen if "method" not in m}
    assert answers[0]["result"] == {"data": "hello", "encoding": "utf-8"}
    codes = [answers[id]["error"]["code"] for id in (1, 2, 3, "wrong")]
    assert codes == [-32008, -32603, -32601, -32602]


async def test_frames_that_are_no_messages_do_no_harm(host: FakeHost) -> None:
    async with attached(host) as client:
        for frame in (b"{not json", b"[]", b'{"jsonrpc":"2.0","id":77,"result":1}', b'{"jsonrpc":"2.0","id":1}'):
            host.push(frame)
        await client.ping()


# Over real transports.


async def talk(receive: Any, send: Any, host: FakeHost) -> None:
    """Serve one connection of a byte transport from the fake host's tables."""
    while True:
        message = json.loads(await receive())
        host.seen.append(message)
        if message.get("method") in host.answers:
            result = host.answers[message["method"]](message["params"])
            await send(json.dumps({"jsonrpc": "2.0", "id": message["id"], "result": result}))


async def test_over_a_websocket_with_a_token(host: FakeHost) -> None:
    headers: list[tuple[bytes, bytes]] = []

    async def serve(request: trio_websocket.WebSocketRequest) -> None:
        headers.extend(request.headers)
        socket = await request.accept()
        if len(host.sent("initialize")) + len(host.sent("reconnect")) == 1:
            await socket.aclose(1013, "too slow")
        with suppress(trio_websocket.ConnectionClosed):
            await talk(socket.get_message, socket.send_message, host)

    async with trio.open_nursery() as nursery:
        server = await nursery.start(
            lambda task_status: trio_websocket.serve_websocket(serve, "127.0.0.1", 0, None, task_status=task_status)
        )
        url = f"ws://127.0.0.1:{server.port}"
        async with connect(url, token="secret", reconnect=Backoff(first=0.01)) as client:
            await client.ping()
            async with client.subscribe(S, SessionState) as sub:
                assert sub.state.title == "first"
        nursery.cancel_scope.cancel()
    assert (b"authorization", b"Bearer secret") in [(k.lower(), v) for k, v in headers]


async def test_a_websocket_that_nobody_serves_is_a_failed_connect() -> None:
    listeners = await trio.open_tcp_listeners(0, host="127.0.0.1")
    port = listeners[0].socket.getsockname()[1]
    await listeners[0].aclose()
    with pytest.raises(ConnectFailed, match=str(port)):
        async with connect(f"ws://127.0.0.1:{port}"):
            pytest.fail("unreachable")


async def serve_lines(stream: trio.abc.Stream, host: FakeHost) -> None:
    buffer = bytearray()

    async def receive() -> bytes:
        while b"\n" not in buffer:
            chunk = await stream.receive_some(3)
            if not chunk:
                raise EOFError
            buffer.extend(chunk)
        line, _, rest = bytes(buffer).partition(b"\n")
        buffer[:] = rest
        return line

    async def send(text: str) -> None:
        await stream.send_all(text.encode() + b"\n")

    with pytest.raises(EOFError):
        await talk(receive, send, host)


async def test_over_a_unix_socket(host: FakeHost, tmp_path: Path) -> None:
    path = tmp_path / "s"
    socket = trio.socket.socket(trio.socket.AF_UNIX)
    await socket.bind(str(path))
    socket.listen()

    async def serve(stream: trio.SocketStream) -> None:
        async with trio.open_nursery() as inner:
            request = await trio_websocket.wrap_server_stream(inner, stream)
            if dict(request.headers).get(b"authorization") != b"Bearer secret":
                await request.reject(401)
                return
            peer = await request.accept()
            with suppress(trio_websocket.ConnectionClosed):
                await talk(peer.get_message, peer.send_message, host)

    async with trio.open_nursery() as nursery:
        nursery.start_soon(trio.serve_listeners, serve, [trio.SocketListener(socket)])
        async with (
            connect(f"unix:{path}", token="secret") as client,
            client.subscribe(S, SessionState) as sub,
        ):
            assert sub.state.title == "first"
        with pytest.raises(ConnectFailed) as caught:
            async with connect(f"unix:{path}", token="wrong"):
                pytest.fail("unreachable")
        assert caught.value.status == 401
        nursery.cancel_scope.cancel()
    with pytest.raises(ConnectFailed):
        async with connect(f"unix:{path}.none"):
            pytest.fail("unreachable")


async def test_over_any_pair_of_streams(host: FakeHost) -> None:
    ours, theirs = memory_stream_pair()

    @asynccontextmanager
    async def streams() -> AsyncIterator[tuple[trio.abc.SendStream, trio.abc.ReceiveStream]]:
        async with ours:
            yield ours, ours

    async with trio.open_nursery() as nursery:
        nursery.start_soon(serve_lines, theirs, host)
        async with connect(line_connector(streams)) as client:
            await client.ping()


def test_an_address_that_is_none_is_refused() -> None:
    async def main() -> None:
        async with connect("http://127.0.0.1"):
            pytest.fail("unreachable")

    with pytest.raises(ValueError, match="ws://"):
        trio.run(main)
