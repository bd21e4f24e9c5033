"""get_session_context: what was said in a chat, cut to a level, or one reply page by page (tools page).

Reads the awake chat's state, or the newest rows of a sleeping one; neither wakes a session nor loads a whole history.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import msgspec

from actors.session_record import ChatPrivate
from actors.store import chats as chat_records
from actors.store import turns as turn_records
from actors.tools.call import ToolCall
from actors.tools.session_lookup import Target, find_session, open_link, text_input, wrong_input
from actors.tools.session_rows import harness_of
from actors.tools.session_writing import DELEGATION
from actors.tools.tool import READ_ONLY, Tool, ToolRefusal, schema
from ahp import wire
from ahp.state.chat import (
    ActiveTurn,
    ChatState,
    MarkdownPart,
    PendingMessage,
    ResponsePart,
    ToolCallCancelled,
    ToolCallCompleted,
    ToolCallPart,
    ToolCallState,
    ToolCallStreaming,
    Turn,
)
from ahp.state.common import ContentRef
from ahp.wire import JSON, UNSET, Text, UnsetType, present

if TYPE_CHECKING:
    from actors.host import Host

DEFAULT_TURNS = 10
MOST_TURNS = 50
PAGE = 8000
ERROR_CAP = 200
INPUT_CAP = 200


class _Caps(msgspec.Struct, frozen=True):
    """Characters."""

    user: int
    assistant: int


_CAPS: dict[str, _Caps] = {"summary": _Caps(160, 140), "digest": _Caps(300, 800), "full": _Caps(1000, 2000)}


class ChatPage(msgspec.Struct, frozen=True):
    """The newest turns of a chat. first: how many are before them. state: the chat; its own `turns` are not asked."""

    state: ChatState
    private: ChatPrivate
    turns: Sequence[Turn]
    first: int

    @property
    def active(self) -> ActiveTurn | None:
        return present(self.state.active_turn, None)


async def get_session_context(call: ToolCall, given: Mapping[str, JSON]) -> JSON:
    call.require("session:read")
    named = text_input(call, given, "session")
    if named is None:
        raise wrong_input(call, "session must be a non-empty string")
    limit = _limit(call, given)
    turn_id = text_input(call, given, "responseTurnId")
    if turn_id is None and given.get("responseOffset") is not None:
        raise wrong_input(call, "responseOffset needs the responseTurnId of the reply to read")
    target = await find_session(call, named)
    answer: dict[str, JSON] = {"session": target.uri, "openLink": open_link(target.summary, target.chat)}
    if turn_id is not None:
        return answer | await _reply_page(call, target, turn_id, int(given.get("responseOffset") or 0))
    detail = given.get("detail") or "summary"
    chat = target.chat_or_default
    page = None if chat is None else await read_page(call.host, chat, limit)
    if page is None and chat is not None:
        raise _gone(call, target)
    return answer | _context(call, target, page, detail)


def _limit(call: ToolCall, given: Mapping[str, JSON]) -> int:
    limit = given.get("transcriptLimit", DEFAULT_TURNS)
    if not limit >= 1:
        raise wrong_input(call, "transcriptLimit must be a number of at least 1")
    return MOST_TURNS if limit >= MOST_TURNS else math.floor(limit)


def _gone(call: ToolCall, target: Target) -> ToolRefusal:
    return wrong_input(call, f"session names a chat of {target.uri} that has just gone; use list_sessions")


# Where the turns come from.


async def read_page(host: Host, chat: str, limit: int) -> ChatPage | None:
    """The newest `limit` turns of `chat`, the running one counted; None for no such chat."""
    awake = host.chats.get(chat)
    if awake is not None:
        turns = awake.state.turns
        first = max(0, len(turns) - _room(awake.state, limit))
        return ChatPage(awake.state, awake.private, turns[first:], first)
    record, rows = await host.env.store.read(
        lambda c: (chat_records.load(chat)(c), turn_records.newest(chat, limit)(c))
    )
    if record is None:
        return None
    state = wire.decode(record.state, ChatState)
    rows = rows[max(0, len(rows) - _room(state, limit)) :]
    turns = [wire.decode(row.body, Turn) for row in rows]
    return ChatPage(state, wire.decode(record.private, ChatPrivate), turns, rows[0].ordinal if rows else 0)


def _room(state: ChatState, limit: int) -> int:
    """How many completed turns a transcript of `limit` has room for."""
    return limit - (present(state.active_turn, None) is not None)


async def _find_turn(host: Host, chat: str, turn_id: str) -> Turn | ActiveTurn | None:
    awake = host.chats.get(chat)
    if awake is None:
        record, row = await host.env.store.read(
            lambda c: (chat_records.load(chat)(c), turn_records.find(chat, turn_id)(c))
        )
        if row is not None:
            return wire.decode(row.body, Turn)
        state = None if record is None else wire.decode(record.state, ChatState)
    else:
        state = awake.state
    if state is None:
        return None
    active = present(state.active_turn, None)
    if active is not None and active.id == turn_id:
        return active
    return next((turn for turn in reversed(state.turns) if turn.id == turn_id), None)


# One reply, page by page.


async def _reply_page(call: ToolCall, target: Target, turn_id: str, offset: int) -> dict[str, JSON]:
    chat = target.chat_or_default
    turn = None if chat is None else await _find_turn(call.host, chat, turn_id)
    if turn is None:
        raise wrong_input(
            call, f"responseTurnId {turn_id!r} is no turn of this chat; take it from the chat's own transcript"
        )
    text = reply_text(turn.response_parts)
    if offset > len(text):
        raise wrong_input(call, f"responseOffset {offset} is behind the end of the reply, which has {len(text)}")
    end = min(offset + PAGE, len(text))
    answer: dict[str, JSON] = {
        "responseTurnId": turn_id,
        "responseOffset": offset,
        "response": text[offset:end],
        "responseLength": len(text),
        "truncated": end < len(text),
    }
    if end < len(text):
        answer["nextResponseOffset"] = end
    return answer


def reply_text(parts: Sequence[ResponsePart]) -> str:
    """What a reply says: its markdown parts joined, trimmed."""
    return "".join(str(part.content) for part in parts if isinstance(part, MarkdownPart)).strip()


# The transcript.


class _Cutter:
    """Cuts text to a cap and remembers whether it ever had to."""

    def __init__(self) -> None:
        self.has_cut = False

    def cut(self, text: str, cap: int) -> str:
        text = text.strip()
        if len(text) <= cap:
            return text
        self.has_cut = True
        return text[: cap - 1] + "…"


def _context(call: ToolCall, target: Target, page: ChatPage | None, detail: str) -> dict[str, JSON]:
    cutter = _Cutter()
    turns: list[tuple[str, Turn | ActiveTurn]] = []
    first = 0
    answer: dict[str, JSON] = {"detail": detail}
    if page is not None:
        first = page.first
        turns = [(turn.state, turn) for turn in page.turns]
        if page.active is not None:
            turns.append(("inProgress", page.active))
        harness = harness_of(page.private, target.summary.provider)
        if harness is not None:
            answer["harness"] = harness
    answer["transcript"] = [
        _turn(first + index + 1, state, turn, detail, cutter) for index, (state, turn) in enumerate(turns)
    ]
    answer["hasMoreHistory"] = first > 0
    answer["truncated"] = cutter.has_cut or first > 0
    if call.chat is not None:
        answer["messagesSentByMe"] = [] if page is None else _sent_by(call.chat.name, page.state)
    return answer


def _turn(number: int, state: str, turn: Turn | ActiveTurn, detail: str, cutter: _Cutter) -> dict[str, JSON]:
    caps = _CAPS[detail]
    shown: dict[str, JSON] = {"turn": number, "state": state}
    user = cutter.cut(turn.message.text, caps.user)
    if user:
        shown["user"] = user
    whole = reply_text(turn.response_parts)
    if whole:
        shown["assistant"] = cutter.cut(whole, caps.assistant)
    if len(whole) > caps.assistant:
        shown["assistantTruncated"] = True
        shown["responseTurnId"] = turn.id
    if detail != "summary":
        calls = [part.tool_call for part in turn.response_parts if isinstance(part, ToolCallPart)]
        if calls:
            shown["toolCalls"] = [_call(one, detail, cutter) for one in calls]
    return shown


def _call(call: ToolCallState, detail: str, cutter: _Cutter) -> dict[str, JSON]:
    shown: dict[str, JSON] = {"name": getattr(call, "tool_name", ""), "status": wire.tag_of(call)}
    if isinstance(call, ToolCallCompleted):
        shown["ok"] = call.success
        error = present(call.error, None)
        if not call.success and error is not None:
            shown["error"] = cutter.cut(error.message, ERROR_CAP)
    elif isinstance(call, ToolCallCancelled):
        shown["reason"] = call.reason
    if detail == "full":
        given = _input(call)
        if given:
            shown["input"] = cutter.cut(given, INPUT_CAP)
    return shown


def _input(call: ToolCallState) -> str:
    """A call's input as far as it is written; one that is kept elsewhere is told by where it is."""
    if isinstance(call, ToolCallStreaming):
        return str(present(call.partial_input, Text()))
    given: str | ContentRef | UnsetType = getattr(call, "tool_input", UNSET)
    if isinstance(given, ContentRef):
        return given.uri
    return present(given, "")


# What the calling chat left there.


def _sent_by(chat: str, state: ChatState) -> list[JSON]:
    slot = present(state.steering_message, None)
    steering = ([] if slot is None else [slot]) + present(state.steering_messages, [])
    waiting = [("steer", one) for one in steering] + [("queue", one) for one in present(state.queued_messages, [])]
    return [shown for delivery, one in waiting if (shown := _sent(chat, delivery, one)) is not None]


def _sent(chat: str, delivery: str, pending: PendingMessage) -> dict[str, JSON] | None:
    """A message that may be replaced has an id and a revision (from 1) of its own beside who sent it."""
    delegation = present(pending.message.meta, {}).get(DELEGATION)
    if not isinstance(delegation, dict) or delegation.get("sourceChat") != chat:
        return None
    return {
        "messageId": delegation.get("messageId") or pending.id,
        "revision": delegation.get("revision") or 1,
        "delivery": delivery,
        "status": "pending",
        "message": pending.message.text,
    }


TOOLS = [
    Tool(
        name="get_session_context",
        title="Get Session Context",
        description=(
            "Read what was said in a session's chat, newest turns last. session takes a session, or the openLink of one"
            " of its chats. detail: summary (default), digest or full, each with longer text; digest and full list the"
            " tool calls. transcriptLimit: how many turns (10, at most 50). Where a turn has assistantTruncated, call"
            " again with its responseTurnId to read the whole reply, and follow nextResponseOffset as responseOffset"
            " until truncated is false. messagesSentByMe are your messages that still wait there."
        ),
        input_schema=schema(
            {
                "session": {"type": "string"},
                "detail": {"type": "string", "enum": ["summary", "digest", "full"]},
                "transcriptLimit": {"type": "number"},
                "responseTurnId": {"type": "string"},
                "responseOffset": {"type": "integer", "minimum": 0},
            },
            ["session"],
        ),
        annotations=READ_ONLY,
        family="session",
        sessionless=True,
        grant="session:read",
        run=get_session_context,
    )
]
