"""Closing a stream so that the peer gets to read our last bytes.

A socket closed while bytes from the peer lie unread resets the connection, and a reset discards what the peer has
not read yet. So: end our direction, read what still comes for a moment, then close.
"""

from __future__ import annotations

import trio

__all__ = ["close_gently"]

_LINGER_SECONDS = 1.0
_LINGER_BYTES = 4 * 1024 * 1024


async def close_gently(stream: trio.abc.Stream) -> None:
    """Close `stream` after lingering a moment. When cancelled, closes at once. Never raises for a peer that is gone."""
    try:
        with trio.move_on_after(_LINGER_SECONDS):
            if isinstance(stream, trio.SSLStream):
                # Says goodbye and waits for the peer's; TLS has no half-closed state.
                await stream.unwrap()
                return
            if isinstance(stream, trio.abc.HalfCloseableStream):
                await stream.send_eof()
            read = 0
            while read < _LINGER_BYTES:
                data = await stream.receive_some(65536)
                if not data:
                    break
                read += len(data)
            await stream.aclose()
    except (trio.BrokenResourceError, trio.ClosedResourceError):
        pass
    finally:
        await trio.aclose_forcefully(stream)
