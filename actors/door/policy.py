"""Who may come in: the Host, the Origin and the token of every upgrade and every request.

Two dangers, two checks. A web page that the person happens to visit can make a browser send requests here: its
Origin gives it away. A name of its own that it points at this machine (DNS rebinding) makes page and daemon one
origin: the Host gives it away. Whoever passes both still needs a token. Refusals say what was wrong and never repeat
what was sent.
"""

from __future__ import annotations

import ipaddress
from collections.abc import Callable, Iterable
from urllib.parse import parse_qs, urlsplit

import msgspec

from actors.door.attempts import Attempts
from actors.door.requests import Request

__all__ = ["Admission", "Arrival", "Authenticate", "Policy", "Refusal"]

Authenticate = Callable[[str], str | None]
"""From a token to the principal it belongs to ("" for the owner), or None. Compares in constant time."""

DESKTOP_ORIGINS = frozenset({"vscode-file://vscode-app"})
"""Origins that no web page can have: desktop applications built on a browser."""
OPEN_PATHS = frozenset({"/healthz"})
"""What needs no token."""
_DEFAULT_PORTS = {"http": 80, "https": 443}


class Arrival(msgspec.Struct, frozen=True, kw_only=True):
    """Where a request came in. `address`: the peer's IP address. `local`: the address here that it reached."""

    address: str
    local: str = ""
    tls: bool = False
    trusted: bool = False
    """Came by a Unix socket, which the system opens to this user alone: needs no token, but none that is wrong."""

    @property
    def kept(self) -> Arrival:
        """The same for later requests on a connection, which do not tell who sent them."""
        return Arrival(address="kept connections", tls=self.tls, trusted=self.trusted)


class Admission(msgspec.Struct, frozen=True):
    """Let in. `token` is what was shown and accepted, or None."""

    token: str | None
    principal: str


class Refusal(msgspec.Struct, frozen=True):
    """Turned away, with an HTTP status and a sentence."""

    status: int
    message: str
    headers: tuple[tuple[str, str], ...] = ()


class Policy:
    """`origins` such as "https://vscode.dev"; `hosts` are names or addresses, without ports."""

    def __init__(
        self,
        authenticate: Authenticate,
        *,
        origins: Iterable[str] = (),
        hosts: Iterable[str] = (),
        attempts: Attempts | None = None,
    ) -> None:
        self._authenticate = authenticate
        self._origins = DESKTOP_ORIGINS | {_normal_origin(origin) for origin in origins}
        self._hosts = frozenset(_normal_host(host) for host in hosts)
        self._attempts = attempts or Attempts()
        self._reached: set[str] = set()
        """Addresses of this machine at which somebody arrived."""

    def check(self, request: Request, arrival: Arrival) -> Admission | Refusal:
        """Decide about `request`. Never waits."""
        refusal = self._check_host(request, arrival) or self._check_origin(request, arrival)
        if refusal is not None:
            return refusal
        if request.path in OPEN_PATHS and not request.is_websocket:
            return Admission(None, "")
        return self._check_token(request, arrival)

    def _check_host(self, request: Request, arrival: Arrival) -> Refusal | None:
        values = request.values("host")
        parsed = _split_authority(values[0]) if len(values) == 1 else None
        if parsed is None:
            return Refusal(400, "The request needs one Host header with the name or address of this host.")
        if arrival.local:
            self._reached.add(_normal_host(arrival.local))
        name, _ = parsed
        if name == "localhost" or name in self._hosts or name in self._reached or _is_loopback(name):
            return None
        return Refusal(421, "This host does not go by that name; a name it should go by belongs in allowedHosts.")

    def _check_origin(self, request: Request, arrival: Arrival) -> Refusal | None:
        values = request.values("origin")
        if not values:
            return _check_fetch_metadata(request)
        if len(values) == 1:
            origin = _normal_origin(values[0])
            if origin in self._origins or _is_same_origin(origin, request, arrival):
                return None
        return Refusal(403, "This web page may not connect; an origin that may belongs in allowedOrigins.")

    def _check_token(self, request: Request, arrival: Arrival) -> Admission | Refusal:
        tokens = _tokens(request)
        if not tokens and arrival.trusted:
            return Admission(None, "")
        if not tokens:
            return _unauthorized("This host wants its connection token, as ?tkn=TOKEN or Authorization: Bearer TOKEN.")
        if len(tokens) > 1:
            return _unauthorized("The request carries two different tokens.")
        (token,) = tokens
        principal = self._authenticate(token)
        if self._attempts.is_barred(arrival.address) and (principal is None or not self._attempts.knows(token)):
            seconds = self._attempts.seconds_barred(arrival.address)
            wait = (("retry-after", str(seconds)),)
            return Refusal(429, f"Too many wrong tokens from this address; try again in {seconds} seconds.", wait)
        if principal is None:
            self._attempts.failed(arrival.address)
            return _unauthorized("The connection token is wrong.")
        self._attempts.succeeded(token)
        return Admission(token, principal)


def _unauthorized(message: str) -> Refusal:
    return Refusal(401, message, (("www-authenticate", 'Bearer realm="ahpd"'),))


def _tokens(request: Request) -> set[str]:
    """The tokens the request carries, by either way."""
    tokens = {token for token in parse_qs(request.query, keep_blank_values=True).get("tkn", ()) if token}
    for value in request.values("authorization"):
        scheme, _, token = value.strip().partition(" ")
        if scheme.lower() == "bearer" and token.strip():
            tokens.add(token.strip())
    return tokens


def _check_fetch_metadata(request: Request) -> Refusal | None:
    """Browsers send some requests of foreign pages without an Origin, but say so. A followed link is let through."""
    sites = set(request.values("sec-fetch-site"))
    if sites <= {"same-origin", "none"}:
        return None
    if request.values("sec-fetch-mode") == ["navigate"] and request.values("sec-fetch-dest") == ["document"]:
        return None
    return Refusal(403, "Another web page may not use this host.")


def _is_same_origin(origin: str, request: Request, arrival: Arrival) -> bool:
    """Whether `origin` is a page of this host itself, under the name that the Host check has let pass."""
    scheme, _, authority = origin.partition("://")
    if scheme not in _DEFAULT_PORTS or (arrival.tls and scheme != "https"):
        return False
    theirs, ours = _split_authority(authority), _split_authority(request.values("host")[0])
    if theirs is None or ours is None:
        return False
    default = _DEFAULT_PORTS[scheme]
    return (theirs[0], theirs[1] or default) == (ours[0], ours[1] or default)


def _normal_origin(origin: str) -> str:
    """`origin` in lower case, without a default port or a trailing slash."""
    text = origin.strip().lower().rstrip("/")
    scheme, separator, authority = text.partition("://")
    parsed = _split_authority(authority) if separator else None
    if parsed is None or parsed[1] is None or parsed[1] != _DEFAULT_PORTS.get(scheme):
        return text
    return f"{scheme}://{authority.rpartition(':')[0]}"


def _split_authority(authority: str) -> tuple[str, int | None] | None:
    """The host (lower case, no brackets, no final dot) and the port of `host:port`; None if it is neither."""
    try:
        parts = urlsplit(f"//{authority.strip()}")
        port = parts.port
    except ValueError:
        return None
    if not parts.hostname or parts.path or parts.query or parts.fragment or "@" in authority:
        return None
    return _normal_host(parts.hostname), port


def _normal_host(host: str) -> str:
    """One spelling for a name or address."""
    name = host.strip().strip("[]").lower().rstrip(".")
    try:
        return str(ipaddress.ip_address(name))
    except ValueError:
        return name


def _is_loopback(name: str) -> bool:
    try:
        address = ipaddress.ip_address(name)
    except ValueError:
        return False
    mapped = address.ipv4_mapped if isinstance(address, ipaddress.IPv6Address) else None
    return (mapped or address).is_loopback
