"""How sessions and chats are kept, and how they come back: records to states and states to records.

What is made anew each time is not kept: active clients (they come back and say so), the tools on offer, the questions
that wait (from the chats). The catalogue of chats comes from the chats, but for the titles, which the session gives: a
chat hears of its own a little later, and may have died before it kept it.
"""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from actors.store import Store, documents, sessions
from actors.store import chats as chat_records
from actors.store import turns as turn_records
from ahp import wire
from ahp.reducers import chat as chat_reducer
from ahp.state.annotations import AnnotationsState
from ahp.state.chat import ChatOrigin, ChatState, ChatSummary, Turn
from ahp.state.common import ModelSelection, SessionStatus
from ahp.state.session import SessionState, SessionSummary
from ahp.wire import JSON, UNSET

ANNOTATIONS = "annotations"


class SessionPrivate(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What the host keeps about a session and no client sees.

    model: the one its creator chose for messages that name none. worktrees: the folders made for it.
    workspace_less: it started without a folder. owner: the person it belongs to. parent, depth: the session whose
    tools made it, and how many such links there are above it (tools page, Limits).
    """

    model: ModelSelection | None = None
    worktrees: tuple[str, ...] = ()
    workspace_less: bool = False
    owner: str | None = None
    parent: str | None = None
    depth: int = 0


class Wakeup(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A turn to begin later. due: ISO date. principal: the person whose turn asked for it."""

    due: str
    prompt: str
    principal: str | None = None


class ChatPrivate(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What the host keeps about a chat and no client sees. resume: the backend's own token.

    agent, config: the provider and the settings of a chat that runs on another agent than its session's.
    """

    resume: JSON = None
    agent: str | None = None
    config: dict[str, JSON] | None = None
    wakeup: Wakeup | None = None


class KeptChat(msgspec.Struct, frozen=True):
    """A chat as it comes back from the store."""

    state: ChatState
    private: ChatPrivate
    position: int


class KeptSession(msgspec.Struct, frozen=True):
    """A session as it comes back from the store, its chats by position."""

    state: SessionState
    private: SessionPrivate
    chats: list[KeptChat]
    annotations: AnnotationsState
    created_at: str
    modified_at: str


def new_chat(uri: str, now: str, title: str = "", origin: ChatOrigin | None = None) -> ChatState:
    """An idle chat that has been read, since nothing has happened in it."""
    return ChatState(
        resource=uri,
        title=title,
        status=SessionStatus.IDLE | SessionStatus.IS_READ,
        modified_at=now,
        turns=[],
        origin=origin or UNSET,
    )


def session_record(
    uri: str, state: SessionState, summary: SessionSummary, private: SessionPrivate
) -> sessions.SessionRecord:
    kept = wire.replace(state, active_clients=[], server_tools=UNSET, input_needed=UNSET)
    return sessions.SessionRecord(
        id=uri,
        provider=state.provider,
        created_at=summary.created_at,
        modified_at=summary.modified_at,
        summary=wire.encode(summary),
        state=wire.encode(kept),
        private=wire.encode(private),
    )


def chat_record(session: str, state: ChatState, private: ChatPrivate, position: int) -> chat_records.ChatRecord:
    return chat_records.ChatRecord(
        uri=state.resource,
        session_id=session,
        position=position,
        state=wire.encode(wire.replace(state, turns=[], turns_next_cursor=UNSET)),
        private=wire.encode(private),
        wake_at=None if private.wakeup is None else private.wakeup.due,
    )


async def load_session(store: Store, uri: str) -> KeptSession | None:
    """The session as it was kept, in one look at the store; None where it is gone."""
    record, rows, notes = await store.read(
        lambda c: (sessions.load(uri)(c), chat_records.of_session(uri)(c), documents.get(ANNOTATIONS, uri)(c))
    )
    if record is None:
        return None
    state = wire.decode(record.state, SessionState)
    chats = with_titles([await _chat(store, row) for row in rows], state.chats)
    return KeptSession(
        state=wire.replace(state, chats=[chat_reducer.summary_of(chat.state) for chat in chats]),
        private=wire.decode(record.private, SessionPrivate),
        chats=chats,
        annotations=AnnotationsState(annotations=[]) if notes is None else wire.decode(notes, AnnotationsState),
        created_at=record.created_at,
        modified_at=record.modified_at,
    )


def with_titles(chats: Sequence[KeptChat], catalogue: Sequence[ChatSummary]) -> list[KeptChat]:
    """The chats under the titles that the session's catalogue has for them."""
    titles = {summary.resource: summary.title for summary in catalogue}
    return [
        msgspec.structs.replace(
            kept, state=wire.replace(kept.state, title=titles.get(kept.state.resource, kept.state.title))
        )
        for kept in chats
    ]


async def load_chat(store: Store, uri: str) -> KeptChat | None:
    row = await store.read(chat_records.load(uri))
    return None if row is None else await _chat(store, row)


async def _chat(store: Store, row: chat_records.ChatRecord) -> KeptChat:
    turns = await store.read(turn_records.every(row.uri))
    state = wire.decode(row.state, ChatState)
    state = wire.replace(state, turns=[wire.decode(turn.body, Turn) for turn in turns])
    return KeptChat(state, wire.decode(row.private, ChatPrivate), row.position)
