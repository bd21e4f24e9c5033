"""What the host does for each request a client may send: one table, one module a family.

A handler gets the connection and the typed params and returns the result: a wire value, plain JSON, raw JSON, or
None. It refuses by raising an `RpcError`.
"""

from __future__ import annotations

from actors.requests import chats, files, handshake, sessions, settings, terminals
from actors.requests.handler import Handler

HANDLERS: dict[str, Handler] = {
    **handshake.HANDLERS,
    **sessions.HANDLERS,
    **chats.HANDLERS,
    **settings.HANDLERS,
    **files.HANDLERS,
    **terminals.HANDLERS,
}
