"""Who may come in: the matrix of Host, Origin and token, and what refusals say."""

import pytest
from trio.testing import MockClock

from actors.door.attempts import Attempts
from actors.door.policy import Admission, Arrival, Policy, Refusal
from actors.door.requests import Request
from actors.door.token import SharedToken

TOKEN = "the-right-one"
LOCAL = Arrival(address="127.0.0.1", local="127.0.0.1")


def request(*headers: tuple[str, str], target: str = f"/?tkn={TOKEN}", host: str | None = "localhost:7777") -> Request:
    path, _, query = target.partition("?")
    named = () if host is None else (("host", host),)
    return Request(method="GET", path=path, query=query, headers=(*named, *headers))


def policy(**options: object) -> Policy:
    return Policy(SharedToken(TOKEN), **options)  # type: ignore[arg-type]


def status(decision: Admission | Refusal) -> int:
    return decision.status if isinstance(decision, Refusal) else 200


@pytest.mark.parametrize(
    ("host", "expected"),
    [
        ("localhost", 200),
        ("LOCALHOST:7777", 200),
        ("localhost.:7777", 200),
        ("127.0.0.1:1", 200),
        ("127.8.9.10", 200),
        ("[::1]:7777", 200),
        ("[::ffff:127.0.0.1]", 200),
        ("mine.example", 200),
        ("Mine.Example:443", 200),
        ("192.168.1.5:7777", 200),
        ("rebound.example", 421),
        ("localhost.evil.example", 421),
        ("evil-localhost", 421),
        ("127.0.0.1.evil.example", 421),
        ("0.0.0.0:7777", 421),
        ("192.168.1.6", 421),
        ("", 400),
        ("localhost@evil.example", 400),
        ("localhost/evil", 400),
        ("localhost:port", 400),
        (None, 400),
    ],
)
async def test_a_host_the_daemon_does_not_go_by_is_refused(host: str | None, expected: int) -> None:
    arrival = Arrival(address="192.168.1.9", local="192.168.1.5")
    assert status(policy(hosts=["mine.example"]).check(request(host=host), arrival)) == expected


async def test_an_address_somebody_arrived_at_is_a_name_of_the_daemon_from_then_on() -> None:
    checked = policy()
    arrival = Arrival(address="192.168.1.9", local="192.168.1.5")
    assert status(checked.check(request(host="192.168.1.5"), arrival.kept)) == 421
    assert status(checked.check(request(host="192.168.1.5"), arrival)) == 200
    assert status(checked.check(request(host="192.168.1.5"), arrival.kept)) == 200


async def test_two_hosts_are_none() -> None:
    assert status(policy().check(request(("host", "localhost")), LOCAL)) == 400


@pytest.mark.parametrize(
    ("origin", "expected"),
    [
        ("https://vscode.dev", 200),
        ("https://VSCODE.dev:443", 200),
        ("http://localhost:3000", 200),
        ("vscode-file://vscode-app", 200),
        ("http://localhost:7777", 200),
        ("https://localhost:7777", 200),
        ("http://localhost", 403),
        ("http://localhost:7778", 403),
        ("http://127.0.0.1:7777", 403),
        ("http://vscode.dev", 403),
        ("https://vscode.dev.evil.example", 403),
        ("https://evil.example", 403),
        ("chrome-extension://abc", 403),
        ("file://", 403),
        ("null", 403),
        ("", 403),
    ],
)
async def test_a_web_page_from_elsewhere_is_refused(origin: str, expected: int) -> None:
    checked = policy(origins=["https://vscode.dev/", "http://localhost:3000"])
    assert status(checked.check(request(("origin", origin)), LOCAL)) == expected


async def test_an_origin_that_is_allowed_still_needs_a_token() -> None:
    checked = policy(origins=["https://vscode.dev"])
    assert status(checked.check(request(("origin", "https://vscode.dev"), target="/"), LOCAL)) == 401


async def test_two_origins_are_none() -> None:
    headers = (("origin", "http://localhost:7777"), ("origin", "http://localhost:7777"))
    assert status(policy().check(request(*headers), LOCAL)) == 403


async def test_behind_tls_a_plain_page_is_another_origin() -> None:
    arrival = Arrival(address="127.0.0.1", local="127.0.0.1", tls=True)
    assert status(policy().check(request(("origin", "http://localhost:7777")), arrival)) == 403
    assert status(policy().check(request(("origin", "https://localhost:7777")), arrival)) == 200
    assert status(policy().check(request(("origin", "https://localhost"), host="localhost:443"), arrival)) == 200


@pytest.mark.parametrize(
    ("site", "mode", "destination", "expected"),
    [
        ("same-origin", "cors", "empty", 200),
        ("none", "navigate", "document", 200),
        ("cross-site", "navigate", "document", 200),
        ("cross-site", "no-cors", "image", 403),
        ("same-site", "no-cors", "script", 403),
        ("cross-site", "navigate", "iframe", 403),
    ],
)
async def test_what_a_browser_says_of_a_request_without_origin(
    site: str, mode: str, destination: str, expected: int
) -> None:
    headers = (("sec-fetch-site", site), ("sec-fetch-mode", mode), ("sec-fetch-dest", destination))
    assert status(policy().check(request(*headers), LOCAL)) == expected


@pytest.mark.parametrize(
    ("target", "authorization", "expected"),
    [
        (f"/?tkn={TOKEN}", None, 200),
        (f"/?x=1&tkn={TOKEN}&y", None, 200),
        ("/", f"Bearer {TOKEN}", 200),
        ("/", f"bearer   {TOKEN} ", 200),
        (f"/?tkn={TOKEN}", f"Bearer {TOKEN}", 200),
        ("/", None, 401),
        ("/?tkn=", None, 401),
        ("/?tkn=wrong", None, 401),
        ("/?token=" + TOKEN, None, 401),
        ("/", "Bearer", 401),
        ("/", "Basic " + TOKEN, 401),
        ("/", TOKEN, 401),
        (f"/?tkn={TOKEN}", "Bearer wrong", 401),
        (f"/?tkn={TOKEN}&tkn=wrong", None, 401),
        ("/?tkn=%ff%fe", None, 401),
    ],
)
async def test_the_token_by_query_or_header(target: str, authorization: str | None, expected: int) -> None:
    headers = () if authorization is None else (("authorization", authorization),)
    decision = policy().check(request(*headers, target=target), LOCAL)
    assert status(decision) == expected
    if isinstance(decision, Refusal):
        assert ("www-authenticate", 'Bearer realm="ahpd"') in decision.headers
    else:
        assert decision.token == TOKEN


async def test_health_needs_no_token_but_the_right_name() -> None:
    assert status(policy().check(request(target="/healthz"), LOCAL)) == 200
    assert status(policy().check(request(target="/healthz", host="rebound.example"), LOCAL)) == 421
    assert status(policy().check(request(("origin", "https://evil.example"), target="/healthz"), LOCAL)) == 403
    upgrade = (("upgrade", "websocket"), ("connection", "keep-alive, Upgrade"))
    assert status(policy().check(request(*upgrade, target="/healthz"), LOCAL)) == 401


async def test_a_trusted_socket_needs_no_token_but_takes_no_wrong_one() -> None:
    trusted = Arrival(address="/run/s", trusted=True)
    assert status(policy().check(request(target="/"), trusted)) == 200
    assert status(policy().check(request(target="/?tkn=wrong"), trusted)) == 401
    assert status(policy().check(request(target="/", host="rebound.example"), trusted)) == 421


async def test_a_principal_comes_with_its_token() -> None:
    users = {"t1": "anna", "t2": "ben"}
    decision = Policy(users.get).check(request(target="/?tkn=t2"), LOCAL)
    assert decision == Admission("t2", "ben")


async def test_no_refusal_repeats_what_was_sent() -> None:
    secret = "s3cr3t-and-<b>"
    for asked in (
        request(target=f"/?tkn={secret}"),
        request(("authorization", f"Bearer {secret}")),
        request(("origin", f"https://{secret}")),
        request(host=secret),
    ):
        decision = policy().check(asked, LOCAL)
        assert isinstance(decision, Refusal)
        assert secret not in decision.message
        assert TOKEN not in decision.message


async def test_an_address_that_guesses_is_barred_until_the_window_has_passed(mock_clock: MockClock) -> None:
    checked = policy(attempts=Attempts(limit=3, window=60))
    guesser, other = Arrival(address="10.0.0.1"), Arrival(address="10.0.0.2")
    for _ in range(3):
        assert status(checked.check(request(target="/?tkn=guess"), guesser)) == 401
        mock_clock.jump(10)
    decision = checked.check(request(target="/?tkn=guess"), guesser)
    assert isinstance(decision, Refusal)
    assert decision.status == 429
    assert ("retry-after", "30") in decision.headers
    # The right token tells a guesser nothing, and another address is not concerned.
    assert status(checked.check(request(), guesser)) == 429
    assert status(checked.check(request(), other)) == 200
    mock_clock.jump(30)
    assert status(checked.check(request(target="/?tkn=guess"), guesser)) == 401
    assert status(checked.check(request(target="/?tkn=guess"), guesser)) == 429


async def test_who_was_let_in_before_is_not_barred_by_a_neighbour() -> None:
    checked = policy(attempts=Attempts(limit=3))
    assert status(checked.check(request(), LOCAL)) == 200
    for _ in range(5):
        checked.check(request(target="/?tkn=guess"), LOCAL)
    assert status(checked.check(request(), LOCAL)) == 200


async def test_the_memory_of_attempts_is_bounded() -> None:
    attempts = Attempts()
    for n in range(10_000):
        attempts.failed(f"10.0.{n // 256}.{n % 256}")
        attempts.succeeded(f"token {n}")
    assert len(attempts._failed) < 5000
    assert len(attempts._known) < 5000


async def test_a_replaced_token_is_the_only_right_one() -> None:
    shared = SharedToken("old")
    assert shared("old") == ""
    shared.replace("new")
    assert shared("old") is None
    assert shared("new") == ""
