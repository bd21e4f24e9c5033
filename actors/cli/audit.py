"""`ahpd audit`: which host tools were called, by whom and with what outcome. Reads the store, daemon or none."""

from __future__ import annotations

import json
import sqlite3
from contextlib import closing

import msgspec

from actors.cli.context import Context, Exit, Failure, say
from actors.store import AuditRecord, schema
from actors.store import audit as lines

__all__ = ["audit"]


def audit(context: Context) -> int:
    """Print the last lines, oldest first."""
    arguments = context.arguments
    found = _read(context, getattr(arguments, "lines", 50))
    if getattr(arguments, "json", False):
        say(json.dumps([msgspec.to_builtins(record) for record in found], indent=2))
        return Exit.DONE
    if not found:
        say("no tool was called yet")
    for record in found:
        person = record.person or "-"
        where = record.chat or record.session or "-"
        say(f"{record.at}  {record.tool:<30} {record.outcome:<9} {record.ms:>6} ms  {person}  {where}")
    return Exit.DONE


def _read(context: Context, count: int) -> list[AuditRecord]:
    path = context.folders.store_file
    arguments = context.arguments
    if not path.exists():
        raise Failure(f"there is no store yet: {path}")
    try:
        with closing(sqlite3.connect(f"{path.as_uri()}?mode=ro", uri=True)) as connection:
            schema.check(connection, path, len(schema.MIGRATIONS))
            if schema.version(connection) < len(schema.MIGRATIONS):
                raise Failure(f"{path} is of an older ahpd: start the daemon once, which brings it up to date")
            query = lines.recent(
                count, session=getattr(arguments, "session", None), tool=getattr(arguments, "tool", None)
            )
            return query(connection)
    except sqlite3.Error as error:
        raise Failure(f"{path} cannot be read: {error}") from None
