"""The ASGI side of the door: health, the status page, and a table of mounted applications.

`HttpApp` is what is served; `Guarded` puts the policy before it, for every request of a connection that is kept
alive. Neither knows a socket: Hypercorn serves them.
"""

from __future__ import annotations

import base64
import hashlib
import html
import json
from collections.abc import Awaitable, Callable, Mapping
from typing import Any, TypeAlias

from actors.door.policy import Arrival, Policy, Refusal
from actors.door.requests import Request, plain_headers

__all__ = ["AsgiApp", "Guarded", "HttpApp", "Receive", "Scope", "Send", "answer"]

Scope: TypeAlias = dict[str, Any]
"""The ASGI edge: dictionaries by its specification."""
Receive: TypeAlias = Callable[[], Awaitable[dict[str, Any]]]
Send: TypeAlias = Callable[[dict[str, Any]], Awaitable[None]]
AsgiApp: TypeAlias = Callable[[Scope, Receive, Send], Awaitable[None]]

Headers: TypeAlias = tuple[tuple[str, str], ...]

_STYLE = (
    "body{font:16px/1.5 system-ui,sans-serif;max-width:34rem;margin:4rem auto;padding:0 1rem;color-scheme:light dark}"
    "dt{opacity:.7}dd{margin:0 0 1rem;font-size:1.5rem}"
)
_STYLE_HASH = base64.b64encode(hashlib.sha256(_STYLE.encode()).digest()).decode()
_PAGE_POLICY = (
    f"default-src 'none'; style-src 'sha256-{_STYLE_HASH}'; img-src data:; base-uri 'none'; form-action 'none'; "
    "frame-ancestors 'none'"
)
_PAGE_HEADERS: Headers = (
    ("content-type", "text/html; charset=utf-8"),
    ("content-security-policy", _PAGE_POLICY),
    # The address of the page may carry the token.
    ("referrer-policy", "no-referrer"),
)


class HttpApp:
    """`sessions` says how many sessions there are. `mounts` maps a prefix such as "/mcp" to an application.

    A mounted application sees the whole path, and its prefix as `root_path`; who asks is in `scope["state"]` under
    "principal". `mounts` may change while the application runs.
    """

    def __init__(self, version: str, sessions: Callable[[], int], mounts: Mapping[str, AsgiApp]) -> None:
        self._version = version
        self._sessions = sessions
        self._mounts = mounts
        self._pages: dict[str, Callable[[], tuple[bytes, Headers]]] = {"/": self._status, "/healthz": self._health}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        path = scope["path"]
        prefix = max((prefix for prefix in self._mounts if _is_under(path, prefix)), key=len, default=None)
        page = self._pages.get(path)
        if prefix is not None:
            await self._mounts[prefix]({**scope, "root_path": scope.get("root_path", "") + prefix}, receive, send)
        elif page is None:
            await answer(send, 404, *_json({"error": "There is nothing here."}))
        elif scope["method"] not in ("GET", "HEAD"):
            body, headers = _json({"error": "Only GET and HEAD are allowed here."})
            await answer(send, 405, body, (*headers, ("allow", "GET, HEAD")))
        else:
            body, headers = page()
            await answer(send, 200, body, headers)

    def _health(self) -> tuple[bytes, Headers]:
        return _json({"ok": True, "version": self._version})

    def _status(self) -> tuple[bytes, Headers]:
        rows = (("version", self._version), ("sessions", f"{self._sessions():,}"))
        listed = "".join(f"<dt>{html.escape(name)}</dt><dd>{html.escape(value)}</dd>" for name, value in rows)
        page = (
            '<!doctype html><html lang="en"><meta charset="utf-8"><title>ahpd</title><link rel="icon" href="data:,">'
            '<meta name="viewport" content="width=device-width">'
            f"<style>{_STYLE}</style><h1>ahpd is running</h1><dl>{listed}</dl></html>"
        )
        return page.encode(), _PAGE_HEADERS


class Guarded:
    """`app` behind `policy`, as an ASGI application that also answers the lifespan protocol. No WebSocket here."""

    def __init__(self, app: AsgiApp, policy: Policy, arrival: Arrival) -> None:
        self._app = app
        self._policy = policy
        self._arrival = arrival

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "lifespan":
            await _live(receive, send)
        elif scope["type"] == "websocket":
            # An upgrade on a connection that was kept alive: the door hands over whole connections only.
            await receive()
            await send({"type": "websocket.close", "code": 1008})
        else:
            decision = self._policy.check(_request(scope), self._arrival)
            if isinstance(decision, Refusal):
                body = decision.message.encode() + b"\n"
                await answer(send, decision.status, body, (*plain_headers(len(body)), *decision.headers))
            else:
                state = {**scope.get("state", {}), "principal": decision.principal}
                scheme = "https" if self._arrival.tls else "http"
                await self._app({**scope, "scheme": scheme, "state": state}, receive, send)


async def answer(send: Send, status: int, body: bytes, headers: Headers = ()) -> None:
    """Send a whole response."""
    named = {name for name, _ in headers}
    defaults = (
        ("content-length", str(len(body))),
        ("cache-control", "no-store"),
        ("x-content-type-options", "nosniff"),
    )
    every = (*headers, *((name, value) for name, value in defaults if name not in named))
    encoded = [(name.encode("latin-1"), value.encode("latin-1")) for name, value in every]
    await send({"type": "http.response.start", "status": status, "headers": encoded})
    await send({"type": "http.response.body", "body": body})


def _json(value: Mapping[str, object]) -> tuple[bytes, Headers]:
    return json.dumps(value).encode() + b"\n", (("content-type", "application/json"),)


def _is_under(path: str, prefix: str) -> bool:
    return path == prefix or path.startswith(f"{prefix}/")


def _request(scope: Scope) -> Request:
    headers = tuple((name.decode("latin-1").lower(), value.decode("latin-1")) for name, value in scope["headers"])
    path, query = scope["raw_path"].decode("latin-1"), scope["query_string"].decode("latin-1")
    return Request(method=scope["method"], path=path, query=query, headers=headers)


async def _live(receive: Receive, send: Send) -> None:
    while True:
        message = await receive()
        await send({"type": f"{message['type']}.complete"})
        if message["type"] == "lifespan.shutdown":
            return
