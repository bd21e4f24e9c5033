"""The door: the listener and the connections that come through it. It knows bytes and messages, nothing of AHP.

`listener.serve` is the way in for people and programs, `stdio.serve_stdio` for a client that started this process. Who
may come in is `policy`; what answers plain HTTP is `http`.
"""

from actors.door.connection import Connection, Peer
from actors.door.errors import DoorError
from actors.door.outbox import Frame, Outbox

__all__ = ["Connection", "DoorError", "Frame", "Outbox", "Peer"]
