"""Params and results of what is asked about one chat. Pure data."""

from __future__ import annotations

from typing import TypeAlias

from ahp.commands.connection import ChannelParams
from ahp.state.chat import Message, MessageAttachment, SideChatSelection
from ahp.state.common import AgentSelection, ModelSelection
from ahp.wire import JSON, UNSET, UnsetType, Wire

__all__ = [
    "ChatMovedParams",
    "ChatSource",
    "CompletionItem",
    "CompletionsParams",
    "CompletionsResult",
    "CreateChatParams",
    "DisposeChatParams",
    "FetchTurnsParams",
    "ForkSource",
    "MoveChatParams",
    "MoveChatResult",
    "MoveDestination",
    "MoveToNewSession",
    "MoveToSession",
    "MovedChat",
    "ReorderAfter",
    "ReorderBefore",
    "ReorderChatParams",
    "ReorderChatResult",
    "ReorderDestination",
    "ReorderToEnd",
    "ReorderToStart",
    "SideChatSource",
]


class ForkSource(Wire, frozen=True, kw_only=True, tag_field="kind", tag="fork"):
    """The new chat starts with the source's turns through a completed one."""

    chat: str
    turn_id: str


class SideChatSource(Wire, frozen=True, kw_only=True, tag_field="kind", tag="sideChat"):
    """The new chat starts empty; its model knows the source through a turn that may still be active."""

    chat: str
    turn_id: str
    selection: SideChatSelection | UnsetType = UNSET


ChatSource: TypeAlias = ForkSource | SideChatSource


class CreateChatParams(ChannelParams, frozen=True, kw_only=True):
    """`channel` is the session, `chat` the URI the client chose. Result: null, after `session/chatAdded`."""

    chat: str
    title: str | UnsetType = UNSET
    initial_message: Message | UnsetType = UNSET
    source: ChatSource | UnsetType = UNSET
    working_directories: list[str] | UnsetType = UNSET
    model: ModelSelection | UnsetType = UNSET
    agent: AgentSelection | UnsetType = UNSET
    config: dict[str, JSON] | UnsetType = UNSET


class DisposeChatParams(ChannelParams, frozen=True, kw_only=True):
    """Result: null."""


class FetchTurnsParams(ChannelParams, frozen=True, kw_only=True):
    """Older turns, which come as `chat/turnsLoaded` before the (`Empty`) result. Without `cursor`: the next page."""

    cursor: str | UnsetType = UNSET


class CompletionsParams(ChannelParams, frozen=True, kw_only=True):
    """`offset` is where the cursor stands in `text`, in UTF-16 units; `kind` is `userMessage`."""

    kind: str
    text: str
    offset: int


class CompletionItem(Wire, frozen=True, kw_only=True):
    """Replaces [range_start, range_end) (UTF-16 units; absent: inserts at the cursor) and attaches `attachment`."""

    insert_text: str
    attachment: MessageAttachment
    range_start: int | UnsetType = UNSET
    range_end: int | UnsetType = UNSET


class CompletionsResult(Wire, frozen=True, kw_only=True):
    """The items, in the order to show them."""

    items: list[CompletionItem]


class MoveToSession(Wire, frozen=True, kw_only=True, tag_field="kind", tag="session"):
    """Into a session that exists."""

    session: str


class MoveToNewSession(Wire, frozen=True, kw_only=True, tag_field="kind", tag="newSession"):
    """Into a session made for it, whose default chat it becomes."""


MoveDestination: TypeAlias = MoveToSession | MoveToNewSession


class MoveChatParams(ChannelParams, frozen=True, kw_only=True):
    """`request_id` is durable: the same request under the same id is one move and has one result."""

    destination: MoveDestination
    request_id: str


class MovedChat(Wire, frozen=True, kw_only=True):
    """Where one chat of the moved hierarchy was and is (which may be the same URI)."""

    previous_chat: str
    chat: str


class MoveChatResult(Wire, frozen=True, kw_only=True):
    """`moved_chats` is the whole hierarchy: the asked-for chat first, then depth first."""

    previous_session: str
    previous_chat: str
    session: str
    chat: str
    moved_chats: list[MovedChat]


class ChatMovedParams(Wire, frozen=True, kw_only=True):
    """`chat/moved`, sent on each channel that moved; all of one move carry the same mapping."""

    channel: str
    previous_session: str
    previous_chat: str
    session: str
    chat: str
    moved_chats: list[MovedChat]


class ReorderToStart(Wire, frozen=True, kw_only=True, tag_field="kind", tag="start"):
    """Before all others."""


class ReorderToEnd(Wire, frozen=True, kw_only=True, tag_field="kind", tag="end"):
    """After all others."""


class ReorderBefore(Wire, frozen=True, kw_only=True, tag_field="kind", tag="before"):
    """Right before `anchor`, a top-level chat."""

    anchor: str


class ReorderAfter(Wire, frozen=True, kw_only=True, tag_field="kind", tag="after"):
    """Right after `anchor`, a top-level chat, and its descendants."""

    anchor: str


ReorderDestination: TypeAlias = ReorderToStart | ReorderToEnd | ReorderBefore | ReorderAfter


class ReorderChatParams(ChannelParams, frozen=True, kw_only=True):
    """Moves a chat and its descendants within its session's catalogue. `request_id` as in `MoveChatParams`."""

    destination: ReorderDestination
    request_id: str


class ReorderChatResult(Wire, frozen=True, kw_only=True):
    """The moved block in its new order."""

    session: str
    chats: list[str]
