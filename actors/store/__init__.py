"""The store: everything that outlives the process, in one SQLite file that one process has open.

    async with open_store(path) as store:
        await store.commit([sessions.put(record)])
        found = await store.read(sessions.load(record.id))

Imports no actor, and of `ahp` nothing but `wire`.
"""

from actors.store import audit, chats, clients, documents, sequence, sessions, turns
from actors.store.audit import AuditRecord
from actors.store.chats import ChatRecord
from actors.store.clients import ClientRecord
from actors.store.database import Durability, Store, open_store
from actors.store.documents import DocumentRecord
from actors.store.errors import (
    StoreClosed,
    StoreError,
    StoreFromTheFuture,
    StoreLocked,
    StoreUnreadable,
    WriteFailed,
)
from actors.store.sessions import CatalogueEntry, SessionRecord
from actors.store.turns import TurnRecord
from actors.store.write import Query, Write

__all__ = [
    "AuditRecord",
    "CatalogueEntry",
    "ChatRecord",
    "ClientRecord",
    "DocumentRecord",
    "Durability",
    "Query",
    "SessionRecord",
    "Store",
    "StoreClosed",
    "StoreError",
    "StoreFromTheFuture",
    "StoreLocked",
    "StoreUnreadable",
    "TurnRecord",
    "Write",
    "WriteFailed",
    "audit",
    "chats",
    "clients",
    "documents",
    "open_store",
    "sequence",
    "sessions",
    "turns",
]
