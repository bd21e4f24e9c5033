"""The tables, and the numbered steps by which they came to be. Used by `database` alone.

Invariant: `PRAGMA user_version` says how many of `MIGRATIONS` a file has had, each in one transaction with its
number, so a migration that dies half way never was. A released migration is never changed: a new one is added.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence
from pathlib import Path

from actors.store.errors import StoreFromTheFuture, StoreUnreadable

__all__ = ["APPLICATION_ID", "MIGRATIONS", "check", "inspect", "migrate", "version"]

APPLICATION_ID = 0x61687064
"""`ahpd`: how a file of ours is told from any other SQLite database."""

MIGRATIONS: tuple[tuple[str, ...], ...] = (
    (
        # The fat column is last in each table: what is in front of it is read without it.
        """CREATE TABLE sessions (
             id TEXT NOT NULL PRIMARY KEY,
             provider TEXT NOT NULL,
             created_at TEXT NOT NULL,
             modified_at TEXT NOT NULL,
             summary BLOB NOT NULL,
             private BLOB NOT NULL,
             state BLOB NOT NULL)""",
        "CREATE INDEX sessions_by_date ON sessions (modified_at DESC, id)",
        """CREATE TABLE chats (
             uri TEXT NOT NULL PRIMARY KEY,
             session_id TEXT NOT NULL REFERENCES sessions (id) ON DELETE CASCADE,
             position INTEGER NOT NULL,
             wake_at TEXT,
             is_active INTEGER NOT NULL,
             private BLOB NOT NULL,
             state BLOB NOT NULL)""",
        "CREATE INDEX chats_by_session ON chats (session_id, position)",
        "CREATE INDEX chats_by_wakeup ON chats (wake_at) WHERE wake_at IS NOT NULL",
        "CREATE INDEX chats_active ON chats (uri) WHERE is_active",
        """CREATE TABLE turns (
             chat TEXT NOT NULL REFERENCES chats (uri) ON DELETE CASCADE,
             ordinal INTEGER NOT NULL,
             turn_id TEXT NOT NULL,
             body BLOB NOT NULL,
             PRIMARY KEY (chat, ordinal))""",
        "CREATE UNIQUE INDEX turns_by_id ON turns (chat, turn_id)",
        """CREATE TABLE documents (
             kind TEXT NOT NULL,
             key TEXT NOT NULL,
             session_id TEXT REFERENCES sessions (id) ON DELETE CASCADE,
             body BLOB NOT NULL,
             PRIMARY KEY (kind, key))""",
        "CREATE INDEX documents_by_session ON documents (session_id) WHERE session_id IS NOT NULL",
        "CREATE TABLE clients (client_id TEXT NOT NULL PRIMARY KEY, last_seen TEXT NOT NULL)",
        "CREATE INDEX clients_by_date ON clients (last_seen)",
        "CREATE TABLE sequence (mark INTEGER NOT NULL)",
        "INSERT INTO sequence (mark) VALUES (0)",
    ),
    (
        """CREATE TABLE audit (
             id INTEGER PRIMARY KEY,
             at TEXT NOT NULL,
             tool TEXT NOT NULL,
             session TEXT,
             chat TEXT,
             person TEXT,
             outcome TEXT NOT NULL,
             ms INTEGER NOT NULL)""",
    ),
)
"""Each migration: the statements that lead from the version before it to its own number (the first is 1)."""

_MAGIC = b"SQLite format 3\0"


def inspect(path: Path, known: int = len(MIGRATIONS)) -> None:
    """See that the file `path` is one of ours, or empty, without opening it as a database.

    known: the newest version this program can read. Raises StoreUnreadable, StoreFromTheFuture, OSError; a file that
    is not there is fine.
    """
    try:
        with path.open("rb") as file:
            header = file.read(100)
    except FileNotFoundError:
        return
    except IsADirectoryError:
        raise StoreUnreadable(path, "is a folder, not a database") from None
    if not header:
        return
    if not header.startswith(_MAGIC) or len(header) < 100:
        raise StoreUnreadable(path, "is not a database")
    found, application = (int.from_bytes(header[at : at + 4], "big") for at in (60, 68))
    if application not in (0, APPLICATION_ID):
        raise StoreUnreadable(path, "is a database of another program")
    if found > known and application == APPLICATION_ID:
        raise StoreFromTheFuture(path, found, known)


def version(connection: sqlite3.Connection) -> int:
    """How many migrations the file has had."""
    (number,) = connection.execute("PRAGMA user_version").fetchone()
    return int(number)


def check(connection: sqlite3.Connection, path: Path, known: int = len(MIGRATIONS)) -> None:
    """See that the open file is one of ours with at most `known` migrations; writes nothing.

    Raises StoreUnreadable, StoreFromTheFuture.
    """
    found = version(connection)
    if found > known:
        raise StoreFromTheFuture(path, found, known)
    if found == 0 and connection.execute("SELECT 1 FROM sqlite_schema LIMIT 1").fetchone():
        raise StoreUnreadable(path, "is a database of another program")


def migrate(connection: sqlite3.Connection, path: Path, migrations: Sequence[Sequence[str]] = MIGRATIONS) -> None:
    """Bring the file to the newest version. `connection` is in autocommit mode and enforces no foreign keys.

    Raises StoreUnreadable, StoreFromTheFuture, and sqlite3.Error where the disk or the file fails; then the file is
    as the last migration that succeeded left it.
    """
    check(connection, path, len(migrations))
    found = version(connection)
    for number, statements in enumerate(migrations[found:], found + 1):
        connection.execute("BEGIN IMMEDIATE")
        try:
            for statement in statements:
                connection.execute(statement)
            connection.execute(f"PRAGMA application_id = {APPLICATION_ID}")
            connection.execute(f"PRAGMA user_version = {number}")
            broken = connection.execute("PRAGMA foreign_key_check").fetchone()
            if broken is not None:
                raise sqlite3.IntegrityError(f"migration {number} left a row of {broken[0]} without its {broken[2]}")
            connection.execute("COMMIT")
        except BaseException:
            if connection.in_transaction:
                connection.execute("ROLLBACK")
            raise
