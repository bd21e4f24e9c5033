"""The door: the listener and the connections that come through it. It knows bytes and messages, nothing of AHP."""

from actors.door.connection import Connection, Peer
from actors.door.outbox import Frame, Outbox

__all__ = ["Connection", "Frame", "Outbox", "Peer"]
