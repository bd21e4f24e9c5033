"""How the store's connections to SQLite are opened, checked and closed. Used by `group` and `database`."""

from __future__ import annotations

import contextlib
import os
import sqlite3
import stat
from pathlib import Path
from typing import Literal, TypeAlias

from actors.store import schema
from actors.store.errors import StoreError, StoreUnreadable, disk_failure

__all__ = ["Durability", "close", "open_reader", "open_writer", "prepare"]

Durability: TypeAlias = Literal["full", "process"]
"""What a commit survives: `full`, the loss of power; `process`, the death of the process (kill -9) alone."""

_BUSY_SECONDS = 5.0
"""How long to wait for a stranger (a person's sqlite3 shell) who holds the file."""
_WAL_BYTES = 16 << 20
"""What a WAL file that once grew is cut back to."""


def prepare(path: Path) -> None:
    """Make the file fit for `open_writer`: there, private, in WAL mode and of the newest version.

    The caller holds the lock. Raises StoreError, OSError; a file that is refused was not written to.
    """
    schema.inspect(path)
    os.close(os.open(path, os.O_RDONLY | os.O_CREAT | os.O_CLOEXEC, 0o600))
    mode = stat.S_IMODE(path.stat().st_mode)
    if mode & 0o077:
        path.chmod(mode & 0o700)
    try:
        with contextlib.closing(_connect(path)) as connection:
            if connection.execute("PRAGMA journal_mode").fetchone()[0] != "wal":
                (mode_now,) = connection.execute("PRAGMA journal_mode = WAL").fetchone()
                if mode_now != "wal":
                    raise StoreError(path, f"{path} is on a disk that cannot keep it safely. Choose a local folder.")
            schema.migrate(connection, path)
            connection.execute("BEGIN IMMEDIATE")
            connection.execute("ROLLBACK")
    except sqlite3.Error as error:
        if error.sqlite_errorcode == sqlite3.SQLITE_NOTADB:
            raise StoreUnreadable(path, "is not a database") from error
        raise disk_failure(path, error) from error


def open_writer(path: Path, durability: Durability) -> sqlite3.Connection:
    """A connection that writes. Raises sqlite3.Error, and StoreError where the file is not the one `prepare` left."""
    connection = _connect(path)
    try:
        connection.execute(f"PRAGMA synchronous = {'FULL' if durability == 'full' else 'NORMAL'}")
        connection.execute(f"PRAGMA journal_size_limit = {_WAL_BYTES}")
        connection.execute("PRAGMA foreign_keys = ON")
        if schema.version(connection) != len(schema.MIGRATIONS):
            raise StoreError(path, f"{path} was replaced while it was in use. Start again to use the new file.")
    except BaseException:
        close(connection)
        raise
    return connection


def open_reader(path: Path) -> sqlite3.Connection:
    """A connection that cannot write. Raises sqlite3.Error."""
    connection = _connect(path)
    try:
        connection.execute("PRAGMA query_only = ON")
    except BaseException:
        close(connection)
        raise
    return connection


def close(connection: sqlite3.Connection) -> None:
    """Close, whatever state the connection and the disk are in."""
    with contextlib.suppress(sqlite3.Error):
        connection.close()


def _connect(path: Path) -> sqlite3.Connection:
    # mode=rw: a file that vanished is an error, never silently an empty new one.
    return sqlite3.connect(
        f"{path.absolute().as_uri()}?mode=rw",
        uri=True,
        timeout=_BUSY_SECONDS,
        isolation_level=None,
        check_same_thread=False,
    )
