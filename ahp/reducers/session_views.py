"""What a host works out about a session: its summary, the aggregate over its chats, what waits in them (digest 2).

Pure. No action carries `aggregate`: it reaches clients by the summary (`root/sessionSummaryChanged`) and by snapshots.
"""

from __future__ import annotations

from collections.abc import Iterable

from ahp import wire
from ahp.actions.session import SessionChatAdded, SessionChatUpdated
from ahp.state.chat import (
    ChatState,
    ChatSummary,
    ClientContributor,
    InputRequestPart,
    ToolCallPart,
    ToolCallState,
)
from ahp.state.common import ChangesSummary, SessionStatus
from ahp.state.session import (
    ChatSummaryChanges,
    SessionChatInput,
    SessionChatSummary,
    SessionInputRequest,
    SessionMetadata,
    SessionState,
    SessionSummary,
    SessionToolAuthentication,
    SessionToolClientExecution,
    SessionToolConfirmation,
)
from ahp.wire import UNSET, UnsetType, present, replace


def summary_of(state: SessionState, resource: str, created_at: str, modified_at: str) -> SessionSummary:
    """The session's entry in the catalogue. Times are ISO 8601 UTC; the state's `meta` stays out: entries are small."""
    shared = {name: getattr(state, name) for name in SessionMetadata.__struct_fields__ if name != "meta"}
    chats = [_chat_entry(chat) for chat in state.chats]
    return SessionSummary(resource=resource, created_at=created_at, modified_at=modified_at, chats=chats, **shared)


def _chat_entry(chat: ChatSummary) -> SessionChatSummary:
    archived = bool(chat.status & SessionStatus.IS_ARCHIVED)
    return SessionChatSummary(
        resource=chat.resource,
        title=chat.title,
        status=chat.status,
        origin=chat.origin,
        interactivity=chat.interactivity,
        archived=True if archived else UNSET,
        changes=chat.changes,
    )


# Aggregation over chats.


def aggregate_status(status: int, chats: Iterable[ChatSummary], default_chat: str | None = None) -> int:
    """A session's status over its chats: the activity bits of the chat that drives it, the flags of `status` itself."""
    driver = driving_chat(list(chats), default_chat)
    activity = SessionStatus.IDLE if driver is None else driver.status & SessionStatus.ACTIVITY
    return status & ~SessionStatus.ACTIVITY | activity


def driving_chat(chats: list[ChatSummary], default_chat: str | None = None) -> ChatSummary | None:
    """The chat whose activity is the session's: one that needs input, else one in error, else the default, else the
    newest. The default comes before others in the same case.
    """
    default = next((chat for chat in chats if chat.resource == default_chat), None)
    ordered = sorted(chats, key=lambda chat: (chat is default, chat.modified_at), reverse=True)
    for activity in (SessionStatus.INPUT_NEEDED, SessionStatus.ERROR):
        for chat in ordered:
            if chat.status & SessionStatus.ACTIVITY == activity:
                return chat
    return ordered[0] if ordered else None


def aggregate(state: SessionState) -> SessionState:
    """`state` with status, activity text and file counts as its chats make them; the very same state if they are so.

    A session that has no chat, or whose creation failed, keeps what it has.
    """
    default = present(state.default_chat, None)
    driver = driving_chat(state.chats, default)
    if driver is None:
        return state
    status = aggregate_status(state.status, state.chats, default)
    changes = _summed(state.chats)
    counted = state.changes if changes is None else changes
    if (status, driver.activity, counted) == (state.status, state.activity, state.changes):
        return state
    return replace(state, status=status, activity=driver.activity, changes=counted)


def _summed(chats: list[ChatSummary]) -> ChangesSummary | None:
    """The sums over the chats that count; None where none does."""
    counts = [chat.changes for chat in chats if not isinstance(chat.changes, UnsetType)]
    if not counts:
        return None

    def total(name: str) -> int | UnsetType:
        values = [value for count in counts if not isinstance(value := getattr(count, name), UnsetType)]
        return sum(values) if values else UNSET

    return ChangesSummary(additions=total("additions"), deletions=total("deletions"), files=total("files"))


# How a chat's entry moves.


def chat_changes(before: ChatSummary, after: ChatSummary) -> ChatSummaryChanges:
    """The fields that have new values. A field that is gone is not in it: see `chat_change`."""
    names = [name for name in ChatSummaryChanges.__struct_fields__ if name != "resource"]
    changed = {name: getattr(after, name) for name in names if getattr(after, name) != getattr(before, name)}
    return wire.with_extras(ChatSummaryChanges(**changed), wire.extras(after))


def chat_change(before: ChatSummary | None, after: ChatSummary) -> SessionChatUpdated | SessionChatAdded | None:
    """The action that brings a chat's entry from `before` to `after`; None where they are the same.

    `session/chatUpdated` cannot clear a field (what it does not name stays), so that takes the whole entry anew.
    """
    if before == after:
        return None
    names = ChatSummary.__struct_fields__
    if before is None or any(_gone(getattr(before, name), getattr(after, name)) for name in names):
        return SessionChatAdded(summary=after)
    return SessionChatUpdated(chat=after.resource, changes=chat_changes(before, after))


def _gone(before: object, after: object) -> bool:
    return isinstance(after, UnsetType) and not isinstance(before, UnsetType)


# What waits in a chat.


def input_requests(chat: str, state: ChatState) -> list[SessionInputRequest]:
    """What of the chat `chat` belongs in the session's `inputNeeded`, in the order of the reply.

    Open questions, calls that wait for a confirmation or a token, and running calls that a client executes. Ids are
    made of the chat and the id of what waits, so the same wait has the same id.
    """
    active = present(state.active_turn, None)
    requests: list[SessionInputRequest] = []
    for part in () if active is None else active.response_parts:
        if isinstance(part, InputRequestPart) and isinstance(part.response, UnsetType):
            requests.append(SessionChatInput(id=f"{chat}#{part.request.id}", chat=chat, request=part.request))
        elif isinstance(part, ToolCallPart) and active is not None:
            request = _waiting_call(chat, active.id, part.tool_call)
            if request is not None:
                requests.append(request)
    return requests


def _waiting_call(chat: str, turn_id: str, call: ToolCallState) -> SessionInputRequest | None:
    id = f"{chat}#{getattr(call, 'tool_call_id', '')}"
    status = wire.tag_of(call)
    if status in ("pending-confirmation", "pending-result-confirmation"):
        return SessionToolConfirmation(id=id, chat=chat, turn_id=turn_id, tool_call=call)
    if status == "auth-required":
        return SessionToolAuthentication(id=id, chat=chat, turn_id=turn_id, tool_call=call)
    if status == "running" and isinstance(call.contributor, ClientContributor):
        client_id = call.contributor.client_id
        return SessionToolClientExecution(id=id, chat=chat, turn_id=turn_id, client_id=client_id, tool_call=call)
    return None
