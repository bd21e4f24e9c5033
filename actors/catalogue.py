"""The catalogue: a summary of every session, awake or asleep, in memory. Owned by the host actor alone.

Ten thousand entries are a few megabytes, because a summary stays encoded until somebody reads it.
"""

from __future__ import annotations

import base64
import binascii
from collections.abc import Iterable, Mapping
from typing import NamedTuple

import msgspec

from ahp import uris, wire
from ahp.jsonrpc import InvalidParams
from ahp.state.common import SessionStatus
from ahp.state.session import SessionSummary
from ahp.wire import JSON, Raw

PAGE_CAP = 500
"""The most rows of one page that was asked for by `limit` (digest 1, Root channel)."""
WHOLE_CAP = 1000
"""The most rows of an answer to a request without a limit."""


class Entry(NamedTuple):
    """A session's row. `summary` is its SessionSummary as JSON."""

    modified_at: str
    uri: str
    provider: str
    status: int
    summary: bytes


class Catalogue:
    """Entries by the URI their client chose; found by any URI of the session."""

    def __init__(self, rows: Iterable[tuple[str, bytes]] = ()) -> None:
        self._entries: dict[str, Entry] = {}
        self._by_id: dict[str, str] = {}
        self._active: set[str] = set()
        for uri, summary in rows:
            self._put(uri, summary, _row_decoder.decode(summary))

    def __len__(self) -> int:
        return len(self._entries)

    @property
    def active_count(self) -> int:
        """Sessions with a turn under way."""
        return len(self._active)

    def get(self, uri: str) -> SessionSummary | None:
        entry = self._entries.get(uri)
        return None if entry is None else wire.decode(entry.summary, SessionSummary)

    def put(self, summary: SessionSummary) -> None:
        self._put(summary.resource, wire.encode(summary), _Row(summary.modified_at, summary.provider, summary.status))

    def remove(self, uri: str) -> None:
        del self._entries[uri]
        del self._by_id[uris.parse(uri).id]
        self._active.discard(uri)

    def find(self, channel: uris.Channel) -> str | None:
        """The chosen URI of the session that `channel` (a session's, or one under it) names; None for no such session.

        An alias names the provider, which must be the session's own.
        """
        uri = self._by_id.get(channel.id)
        if uri is None:
            return None
        provider = channel.provider
        return uri if provider in (None, self._entries[uri].provider) or uri == channel.uri else None

    def summaries(self) -> list[SessionSummary]:
        """All of them, newest change first."""
        return [wire.decode(entry.summary, SessionSummary) for entry in self._sorted(None)]

    def page(
        self, limit: int | None, cursor: str | None, condition: Mapping[str, JSON] | None
    ) -> tuple[list[Raw], str | None]:
        """Rows of `listSessions`, newest change first, and the cursor of the next page.

        A cursor stays good while sessions come, change and go: it names a place in the order, not a row's number.
        Raises `InvalidParams` for a limit or a cursor that is none.
        """
        if limit is not None and limit < 1:
            raise InvalidParams(f"limit is {limit}: at least 1 is expected")
        size = WHOLE_CAP if limit is None else min(limit, PAGE_CAP)
        after = None if cursor is None else _read_cursor(cursor)
        rows = [entry for entry in self._sorted(after) if _matches(entry, condition)]
        following = _cursor(rows[size - 1]) if len(rows) > size else None
        return [Raw(entry.summary) for entry in rows[:size]], following

    def _put(self, uri: str, summary: bytes, row: _Row) -> None:
        self._entries[uri] = Entry(row.modified_at, uri, row.provider, row.status, summary)
        self._by_id[uris.parse(uri).id] = uri
        (self._active.add if row.status & SessionStatus.IN_PROGRESS else self._active.discard)(uri)

    def _sorted(self, after: tuple[str, str] | None) -> list[Entry]:
        rows: Iterable[Entry] = self._entries.values()
        if after is not None:
            rows = (entry for entry in rows if (entry.modified_at, entry.uri) < after)
        return sorted(rows, reverse=True)


class _Row(msgspec.Struct, rename="camel"):
    modified_at: str
    provider: str
    status: int


_row_decoder = msgspec.json.Decoder(_Row)


def _matches(entry: Entry, condition: Mapping[str, JSON] | None) -> bool:
    """`filter` is open: a condition this host does not know narrows nothing."""
    if not condition:
        return True
    provider = condition.get("provider")
    archived = condition.get("archived", condition.get("isArchived"))
    is_archived = bool(entry.status & SessionStatus.IS_ARCHIVED)
    return provider in (None, entry.provider) and (not isinstance(archived, bool) or archived == is_archived)


def _cursor(entry: Entry) -> str:
    return base64.urlsafe_b64encode(msgspec.json.encode((entry.modified_at, entry.uri))).decode()


def _read_cursor(cursor: str) -> tuple[str, str]:
    try:
        return msgspec.json.decode(base64.urlsafe_b64decode(cursor), type=tuple[str, str])
    except (binascii.Error, ValueError, msgspec.DecodeError):
        raise InvalidParams(f"unknown cursor {cursor!r}: pass the nextCursor of the page before") from None
