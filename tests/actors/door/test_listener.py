"""One port for both protocols, the places to listen at, and the limits at the door."""

import socket
import stat
from pathlib import Path
from typing import Any

import pytest
import trio
import trustme
import websockets.sync.client as peer
from trio.testing import MockClock

from actors import log
from actors.door import Connection, DoorError
from actors.door.http import HttpApp, Receive, Scope, Send, answer
from actors.door.sockets import TcpEndpoint, TlsFiles, UnixEndpoint
from tests.actors.door.doors import (
    TOKEN,
    as_peer,
    ask,
    client_tls,
    head,
    knock,
    limits_with,
    masked,
    open_door,
    upgrade,
    wait_until,
)

WANTED = f"/?tkn={TOKEN}"


async def test_http_and_websocket_share_a_port(tmp_path: Path) -> None:
    async with open_door(tmp_path) as door:
        status, headers, body = await ask(door, head("/healthz"))
        assert (status, headers["content-type"]) == (200, "application/json")
        assert body == b'{"ok": true, "version": "1.2.3"}\n'
        raw = await (await knock(door)).upgraded()
        await raw.send(masked(b"both"))
        assert await raw.frame() == (0x1, b"both")
        assert (await ask(door, head(WANTED)))[0] == 200


async def test_the_status_page_needs_nothing_from_elsewhere(tmp_path: Path) -> None:
    async with open_door(tmp_path) as door:
        status, headers, body = await ask(door, head(WANTED))
    assert status == 200
    assert headers["content-type"].startswith("text/html")
    assert headers["content-security-policy"].startswith("default-src 'none'")
    assert headers["referrer-policy"] == "no-referrer"
    assert b"<dd>7</dd>" in body
    assert b"http" not in body
    assert TOKEN.encode() not in body


@pytest.mark.parametrize(
    ("method", "target", "status"),
    [
        ("HEAD", "/healthz", 200),
        ("POST", "/healthz", 405),
        ("DELETE", WANTED, 405),
        ("GET", f"/nothing?tkn={TOKEN}", 404),
        ("GET", f"/healthz/?tkn={TOKEN}", 404),
        ("GET", "/nothing", 401),
        ("GET", "/", 401),
    ],
)
async def test_what_is_not_there_is_said_plainly(tmp_path: Path, method: str, target: str, status: int) -> None:
    async with open_door(tmp_path) as door:
        got, headers, body = await ask(door, head(target, method=method))
    assert got == status
    if status in (404, 405):
        assert headers["content-type"] == "application/json"
        assert b'"error"' in body


async def test_a_connection_is_kept_and_every_request_on_it_is_checked(tmp_path: Path) -> None:
    async with open_door(tmp_path) as door:
        raw = await knock(door)
        for _ in range(3):
            assert (await raw.request(head(WANTED)))[0] == 200
        assert (await raw.request(head("/healthz")))[0] == 200
        status, headers, _ = await raw.request(head(WANTED, host="rebound.example"))
        assert (status, headers["connection"]) == (421, "close")
        assert await raw.rest() == b""
        raw = await knock(door)
        assert (await raw.request(head("/healthz")))[0] == 200
        assert (await raw.request(head("/?tkn=wrong")))[0] == 401


async def test_requests_may_be_pipelined(tmp_path: Path) -> None:
    async with open_door(tmp_path) as door:
        raw = await knock(door)
        await raw.send(head("/healthz") * 3 + head("/healthz", "Connection: close"))
        assert (await raw.rest()).count(b"HTTP/1.1 200") == 4


async def test_an_upgrade_on_a_kept_connection_is_refused(tmp_path: Path) -> None:
    async with open_door(tmp_path) as door:
        raw = await knock(door)
        assert (await raw.request(head("/healthz")))[0] == 200
        await raw.send(upgrade())
        assert (await raw.until(b"\r\n")).startswith(b"HTTP/1.1 403 ")
        assert door.connections == []


async def test_a_mounted_application_gets_body_prefix_and_principal(tmp_path: Path) -> None:
    async def mounted(scope: Scope, receive: Receive, send: Send) -> None:
        body = b""
        more = True
        while more:
            message = await receive()
            body += message["body"]
            more = message.get("more_body", False)
        told = f"{scope['root_path']} {scope['path']} {scope['state']['principal']!r} {len(body)}"
        await answer(send, 201, told.encode())

    app = HttpApp("1", lambda: 0, {"/ahp-mcp": mounted})
    async with open_door(tmp_path, app=app) as door:
        data = head(f"/ahp-mcp/s/1?tkn={TOKEN}", "Content-Length: 300000", method="POST") + b"x" * 300_000
        status, _, body = await ask(door, data)
        assert (status, body) == (201, b"/ahp-mcp /ahp-mcp/s/1 '' 300000")
        assert (await ask(door, head(f"/ahp-mcpx?tkn={TOKEN}")))[0] == 404
        assert (await ask(door, head("/ahp-mcp", method="POST")))[0] == 401


async def test_a_stream_of_events_arrives_as_it_is_sent_and_ends_with_its_reader(tmp_path: Path) -> None:
    gone = trio.Event()

    async def events(scope: Scope, receive: Receive, send: Send) -> None:
        await receive()
        await send({"type": "http.response.start", "status": 200, "headers": []})
        await send({"type": "http.response.body", "body": b"one\n", "more_body": True})
        while (await receive())["type"] != "http.disconnect":
            pass
        gone.set()

    async with open_door(tmp_path, app=HttpApp("1", lambda: 0, {"/events": events})) as door:
        raw = await knock(door)
        await raw.send(head(f"/events?tkn={TOKEN}"))
        await raw.until(b"one\n")
        await raw.stream.aclose()
        await gone.wait()


async def test_an_application_that_fails_is_a_500_and_the_door_stays_open(tmp_path: Path) -> None:
    async def fails(scope: Scope, receive: Receive, send: Send) -> None:
        raise ValueError("on purpose")

    with log.capture():
        async with open_door(tmp_path, app=HttpApp("1", lambda: 0, {"/fails": fails})) as door:
            for _ in range(2):
                assert (await ask(door, head(f"/fails?tkn={TOKEN}")))[0] == 500
            assert (await ask(door, head("/healthz")))[0] == 200


async def test_a_head_may_come_in_pieces(tmp_path: Path) -> None:
    async with open_door(tmp_path) as door:
        raw = await knock(door)
        for byte in upgrade():
            await raw.send(bytes([byte]))
        assert (await raw.until(b"\r\n\r\n")).startswith(b"HTTP/1.1 101 ")
        raw = await knock(door)
        data = head("/healthz")
        await raw.send(data[:20])
        await trio.testing.wait_all_tasks_blocked()
        await raw.send(data[20:])
        assert (await raw.until(b"\r\n")).startswith(b"HTTP/1.1 200 ")


async def test_frames_that_come_with_the_head_are_not_lost(tmp_path: Path) -> None:
    async with open_door(tmp_path) as door:
        raw = await knock(door)
        await raw.send(upgrade() + masked(b"early") + masked(b"bird"))
        await raw.until(b"\r\n\r\n")
        assert [await raw.frame(), await raw.frame()] == [(0x1, b"early"), (0x1, b"bird")]


@pytest.mark.parametrize(
    ("data", "status"),
    [
        (b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03 hello\r\n\r\n", 400),
        (b"GET /\r\n\r\n", 400),
        (b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", 505),
        (head("/", "X: " + "x" * 20_000), 431),
        (head("/" + "x" * 20_000), 431),
    ],
    ids=["TLS", "HTTP/0.9", "HTTP/2", "long header", "long target"],
)
async def test_what_is_no_request_gets_one_sentence(tmp_path: Path, data: bytes, status: int) -> None:
    async with open_door(tmp_path) as door:
        raw = await knock(door)
        await raw.send(data)
        said = await raw.rest()
        assert said.startswith(f"HTTP/1.1 {status} ".encode())
        assert said.count(b"\n", said.index(b"\r\n\r\n") + 4) == 1


async def test_a_peer_that_dawdles_over_its_head_is_timed_out(tmp_path: Path, autojump_clock: MockClock) -> None:
    async with open_door(tmp_path, limits=limits_with(head_within=10.0)) as door:
        raw = await knock(door)
        began = trio.current_time()
        await raw.send(head("/healthz")[:-2])
        assert (await raw.until(b"\r\n")).startswith(b"HTTP/1.1 408 ")
        assert trio.current_time() == began + 10
        await raw.rest()


async def test_a_peer_that_says_nothing_is_left_in_silence(tmp_path: Path) -> None:
    async with open_door(tmp_path) as door:
        raw = await knock(door)
        await raw.stream.send_eof()
        assert await raw.rest() == b""


async def test_one_too_many_is_turned_away_and_the_place_is_free_again(tmp_path: Path) -> None:
    async with open_door(tmp_path, limits=limits_with(connections=2)) as door:
        first = await (await knock(door)).upgraded()
        second = await (await knock(door)).upgraded()
        with log.capture():
            assert (await (await knock(door)).rest()).startswith(b"HTTP/1.1 503 ")
        await first.stream.aclose()
        await wait_until(lambda: door.ended > 0)
        await trio.testing.wait_all_tasks_blocked()
        await (await knock(door)).upgraded()
        await second.send(masked(b"still here"))
        assert await second.frame() == (0x1, b"still here")


async def test_a_handler_that_raises_is_logged_once_and_costs_its_connection_alone(tmp_path: Path) -> None:
    async def fails(connection: Connection) -> None:
        async for message in connection:
            raise ValueError(f"about {message!r}")

    with log.capture() as lines:
        async with open_door(tmp_path, fails) as door:
            other = await (await knock(door)).upgraded()
            raw = await (await knock(door)).upgraded()
            await raw.send(masked(b"this"))
            assert await raw.close_code() == 1011
            await raw.stream.aclose()
            await wait_until(lambda: bool(lines))
            await other.send(masked((1000).to_bytes(2, "big"), 0x88))
            assert await other.close_code() == 1000
    assert sum("about 'this'" in line for line in lines) == 1


async def test_a_refused_upgrade_is_a_plain_answer(tmp_path: Path) -> None:
    async with open_door(tmp_path) as door:
        for data, status in (
            (upgrade("/?tkn=wrong"), 401),
            (upgrade(WANTED, "Origin: https://evil.example"), 403),
            (upgrade(WANTED, host="rebound.example"), 421),
        ):
            got, headers, body = await ask(door, data)
            assert got == status
            assert headers["content-type"].startswith("text/plain")
            assert b"evil" not in body
            assert b"rebound" not in body
        assert door.connections == []


async def test_guessing_the_token_ends_in_429(tmp_path: Path) -> None:
    async with open_door(tmp_path) as door:
        codes = [(await ask(door, upgrade("/?tkn=guess")))[0] for _ in range(22)]
        assert codes == [401] * 20 + [429] * 2
        _, headers, _ = await ask(door, head(WANTED))
        assert int(headers["retry-after"]) > 0


# Places to listen at.


async def test_a_taken_port_is_a_clear_error(tmp_path: Path) -> None:
    async with open_door(tmp_path) as door:
        with pytest.RaisesGroup(pytest.RaisesExc(DoorError, match=f"listens on port {door.port} of 127.0.0.1 already")):
            async with open_door(tmp_path, endpoints=(TcpEndpoint(host="127.0.0.1", port=door.port),)):
                pass
        assert (await ask(door, head("/healthz")))[0] == 200


@pytest.mark.parametrize("host", ["no.such.host.invalid", "192.0.2.1"])
async def test_a_host_that_is_not_here_is_a_clear_error(tmp_path: Path, host: str) -> None:
    with pytest.RaisesGroup(pytest.RaisesExc(DoorError, match="of this machine")):
        async with open_door(tmp_path, endpoints=(TcpEndpoint(host=host, port=0),)):
            pass


async def test_localhost_is_one_port_at_each_of_its_addresses(tmp_path: Path) -> None:
    async with open_door(tmp_path, endpoints=(TcpEndpoint(host="localhost", port=0),)) as door:
        assert len({bound.port for bound in door.bound}) == 1
        for bound in door.bound:
            raw = door.visit(await trio.open_tcp_stream(bound.host, bound.port))
            assert (await raw.request(head("/healthz")))[0] == 200


async def test_everywhere_is_reached_by_the_address_that_was_dialled(tmp_path: Path) -> None:
    async with open_door(tmp_path, endpoints=(TcpEndpoint(host="0.0.0.0", port=0),)) as door:
        assert door.bound[0].websocket == f"ws://127.0.0.1:{door.port}/"
        assert await as_peer(lambda client: client.ping() is not None, door.url())


async def test_tls_ends_at_the_door(tmp_path: Path) -> None:
    ca = trustme.CA()
    issued = ca.issue_cert("localhost", "127.0.0.1")
    issued.cert_chain_pems[0].write_to_path(str(tmp_path / "cert.pem"))
    issued.private_key_pem.write_to_path(str(tmp_path / "key.pem"))
    files = TlsFiles(tmp_path / "cert.pem", tmp_path / "key.pem")
    endpoint = TcpEndpoint(host="127.0.0.1", port=0, tls=files)
    trusting = client_tls(ca)

    def talk(client: peer.ClientConnection) -> tuple[str, int | None]:
        client.send("secret" * 50_000)
        said = client.recv()
        client.close()
        return said, client.close_code

    async def scheme(scope: Scope, receive: Receive, send: Send) -> None:
        await answer(send, 200, scope["scheme"].encode())

    app = HttpApp("1", lambda: 0, {"/scheme": scheme})
    async with open_door(tmp_path, endpoints=(endpoint,), app=app) as door:
        assert door.url().startswith("wss://127.0.0.1:")
        assert await as_peer(talk, door.url(), ssl=trusting) == ("secret" * 50_000, 1000)
        plain = await trio.open_tcp_stream("127.0.0.1", door.port)
        raw = door.visit(trio.SSLStream(plain, trusting, server_hostname="localhost", https_compatible=True))
        for _ in range(2):
            assert (await raw.request(head(f"/scheme?tkn={TOKEN}")))[::2] == (200, b"https")
        confused = await knock(door)
        await confused.send(head("/healthz"))
        assert b"HTTP" not in await confused.rest()


async def test_a_certificate_that_is_none_is_a_clear_error(tmp_path: Path) -> None:
    (tmp_path / "cert.pem").write_text("nonsense")
    for name, words in (("cert.pem", "no certificate and its private key"), ("none", "cannot be read")):
        endpoint = TcpEndpoint(host="127.0.0.1", port=0, tls=TlsFiles(tmp_path / name, tmp_path / "cert.pem"))
        with pytest.RaisesGroup(pytest.RaisesExc(DoorError, match=words)):
            async with open_door(tmp_path, endpoints=(endpoint,)):
                pass


@pytest.fixture
def short_path() -> Any:
    """A folder whose path is short enough for a socket in it."""
    import tempfile

    with tempfile.TemporaryDirectory(dir="/tmp") as folder:
        yield Path(folder)


async def test_a_unix_socket_is_for_its_owner_and_needs_no_token(tmp_path: Path, short_path: Path) -> None:
    path = short_path / "ahpd.sock"
    async with open_door(tmp_path, endpoints=(UnixEndpoint(path=path),)) as door:
        assert stat.S_IMODE(path.stat().st_mode) == 0o600
        assert door.bound[0].websocket == f"unix:{path}"
        for target in (WANTED, "/"):
            raw = door.visit(await trio.open_unix_socket(str(path)))
            await raw.send(upgrade(target))
            await raw.until(b"\r\n\r\n")
            await raw.send(masked(b"hello"))
            assert await raw.frame() == (0x1, b"hello")
        assert door.connections[0].peer.transport == "unix"
        raw = door.visit(await trio.open_unix_socket(str(path)))
        for _ in range(2):
            assert (await raw.request(head("/")))[0] == 200
        assert (await raw.request(head("/?tkn=wrong")))[0] == 401
    assert not path.exists()


async def test_a_stale_socket_is_replaced_and_a_live_one_refused(tmp_path: Path, short_path: Path) -> None:
    path = short_path / "ahpd.sock"
    with socket.socket(socket.AF_UNIX) as dead:
        dead.bind(str(path))
    endpoints = (UnixEndpoint(path=path), TcpEndpoint(host="127.0.0.1", port=0))
    async with open_door(tmp_path, endpoints=endpoints) as door:
        with pytest.RaisesGroup(pytest.RaisesExc(DoorError, match="listens on .* already")):
            async with open_door(tmp_path, endpoints=endpoints):
                pass
        raw = door.visit(await trio.open_unix_socket(str(path)))
        assert (await raw.request(head("/healthz")))[0] == 200
        # Beside it, TCP wants its token all the same.
        tcp = door.visit(await trio.open_tcp_stream("127.0.0.1", door.bound[1].port))
        assert (await tcp.request(head("/")))[0] == 401


async def test_what_is_no_socket_is_left_alone(tmp_path: Path, short_path: Path) -> None:
    (short_path / "file").write_text("precious")
    for path, words in ((short_path / "file", "no socket"), (short_path / ("x" * 120), "103 bytes")):
        with pytest.RaisesGroup(pytest.RaisesExc(DoorError, match=words)):
            async with open_door(tmp_path, endpoints=(UnixEndpoint(path=path),)):
                pass
    assert (short_path / "file").read_text() == "precious"
    assert [path.name for path in short_path.iterdir()] == ["file"]


async def test_nothing_is_left_behind(tmp_path: Path) -> None:
    async with open_door(tmp_path) as door:
        assert (await ask(door, head("/healthz")))[0] == 200
        assert [stat.S_IMODE(path.stat().st_mode) for path in tmp_path.iterdir()] == [0o700]
    assert list(tmp_path.iterdir()) == []
