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

__all__ = ["Durability", "close", "identity", "open_reader", "open_writer", "prepare"]

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
    # For writing: SQLite itself would open a read-only file all the same, and leave read-only files beside it.
    os.close(os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600))
    mode = stat.S_IMODE(path.stat().st_mode)
    if mode & 0o077:
        path.chmod(mode & 0o700)
    try:
        if _wal_path(path).exists():
            # A newer version that was killed may have said so in its WAL alone; a reader leaves that where it is.
            with contextlib.closing(_connect(path, "ro")) as connection:
                schema.check(connection, path)
        with contextlib.closing(_connect(path, "rw")) as connection:
            schema.check(connection, path)
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
    connection = _connect(path, "rw")
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
    connection = _connect(path, "rw")
    try:
        connection.execute("PRAGMA query_only = ON")
    except BaseException:
        close(connection)
        raise
    return connection


def identity(path: Path) -> tuple[int, int] | None:
    """Which file is at `path` now; SQLite itself would go on writing to one that was deleted."""
    try:
        found = path.stat()
    except OSError:
        return None
    return found.st_dev, found.st_ino


def close(connection: sqlite3.Connection) -> None:
    """Close, whatever state the connection and the disk are in."""
    with contextlib.suppress(sqlite3.Error):
        connection.close()


def _wal_path(path: Path) -> Path:
    return path.with_name(path.name + "-wal")


def _connect(path: Path, mode: Literal["ro", "rw"]) -> sqlite3.Connection:
    # Never mode=rwc: a file that vanished is an error, not silently an empty new one.
    return sqlite3.connect(
        f"{path.absolute().as_uri()}?mode={mode}",
        uri=True,
        timeout=_BUSY_SECONDS,
        isolation_level=None,
        check_same_thread=False,
    )
