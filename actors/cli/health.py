"""Whether a daemon answers: one request to /healthz, which needs no token."""

from __future__ import annotations

import http.client
import ssl
from urllib.parse import urlsplit

from actors.runfile import RunFile

__all__ = ["answers"]


def answers(found: RunFile, timeout: float = 2.0) -> bool:
    """Whether the daemon says that it is well, at the first of its addresses. Blocks."""
    for url in found.web:
        parts = urlsplit(url)
        host, port = parts.hostname or "127.0.0.1", parts.port or 0
        connection = http.client.HTTPConnection(host, port, timeout=timeout)
        if parts.scheme == "https":
            # Whether it lives is asked, not who it is: its certificate is for a name that others use.
            context = ssl._create_unverified_context()
            connection = http.client.HTTPSConnection(host, port, timeout=timeout, context=context)
        try:
            connection.request("GET", "/healthz")
            return connection.getresponse().status == 200
        except (OSError, http.client.HTTPException):
            return False
        finally:
            connection.close()
    return found.alive
