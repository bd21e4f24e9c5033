"""Which session and chat a tool's input names: a session's URI, a chat's URI, or an open link of either.

Nothing is woken to find it: what is awake is asked where it is, what sleeps is found in the catalogue and the store.
`order` and `awake` wake it. For the tools of the family "session".
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, TypeVar

import msgspec

from actors.actor import ActorGone, Order
from actors.session import Session
from actors.store import chats as chat_records
from actors.tools.call import ToolCall
from actors.tools.tool import ToolRefusal
from ahp import uris, wire
from ahp.reducers import chat as chat_reducer
from ahp.reducers import session_views
from ahp.state.session import SessionSummary
from ahp.wire import JSON, present

if TYPE_CHECKING:
    from actors.host import Host

T = TypeVar("T")


class Target(msgspec.Struct, frozen=True):
    """What an input names. uri: the session's, as the catalogue has it. summary: its row, fresh.

    chat: the URI of the chat that was named, None where that is the default one or the session alone was named.
    """

    uri: str
    summary: SessionSummary
    chat: str | None = None

    @property
    def chat_or_default(self) -> str | None:
        """The chat to act on; None where the session has no chat at all."""
        return self.chat or default_chat(self.summary)


def text_input(call: ToolCall, tool_input: Mapping[str, JSON], field: str) -> str | None:
    """The text of an input field, None where it is absent. Raises `ToolRefusal` for an empty one."""
    value = tool_input.get(field)
    if value is None:
        return None
    if not isinstance(value, str) or not value.strip():
        raise wrong_input(call, f"{field} must be a non-empty string")
    return value.strip()


def wrong_input(call: ToolCall, what: str) -> ToolRefusal:
    """The refusal of an input: `what` names the field and says what was wanted."""
    return ToolRefusal(f"Invalid {call.tool.name} input: {what}.")


async def find_session(call: ToolCall, value: str, field: str = "session") -> Target:
    """What `value`, the input's `field`, names. Raises `ToolRefusal` with a pointer to list_sessions for nothing."""
    host = call.host
    text = value.strip()
    try:
        if uris.scheme_of(text) == uris.LINK_SCHEME:
            link = uris.parse_link(text)
            session, chat = uris.parse(uris.session_alias(link.provider, link.session_id)), link.chat
        else:
            session, chat = uris.parse(text), None
    except uris.BadUri:
        raise wrong_input(call, f"{field} must be a session URI or an open link from list_sessions") from None
    if session.kind == "chat":
        return await _of_chat(call, session, text, field)
    uri = host.catalogue.find(session) if session.kind == "session" else None
    summary = None if uri is None else fresh_summary(host, uri)
    if uri is None or summary is None:
        raise _unknown(call, field, text)
    if chat is None:
        return Target(uri, summary)
    named = next((one.resource for one in present(summary.chats, []) if chat_id(one.resource) == chat), None)
    if named is None:
        raise wrong_input(
            call, f"{field} names the chat {chat!r}, which is no chat of {uri}; list_sessions has the session's chats"
        )
    return _with_chat(uri, summary, named)


async def _of_chat(call: ToolCall, channel: uris.Channel, text: str, field: str) -> Target:
    awake = call.host.chats.get(channel.uri)
    uri = awake.session.uri if awake is not None else await call.host.env.store.read(chat_records.find(channel.uri))
    summary = None if uri is None else fresh_summary(call.host, uri)
    if uri is None or summary is None:
        raise _unknown(call, field, text)
    return _with_chat(uri, summary, channel.uri)


def _with_chat(uri: str, summary: SessionSummary, chat: str) -> Target:
    return Target(uri, summary, None if chat == default_chat(summary) else chat)


def _unknown(call: ToolCall, field: str, text: str) -> ToolRefusal:
    return wrong_input(call, f"{field} {text!r} is no session of this host; list_sessions has the ones there are")


async def order(call: ToolCall, channel: str, message: Order[T]) -> T:
    """Order it of the owner of `channel`, woken if it sleeps. Raises `RpcError`, or `ToolRefusal` where it is gone."""
    for _ in range(3):
        owner, _ = await call.host.open(channel)
        try:
            return await owner.ask(message)
        except ActorGone:
            continue  # It fell asleep between the two, or has gone, which `open` says.
    raise ToolRefusal(f"{call.tool.name}: {channel} has just gone")


async def awake(call: ToolCall, target: Target) -> Session:
    """The session itself, woken if it sleeps."""
    owner, _ = await call.host.open(target.uri)
    assert isinstance(owner, Session)
    return owner


def fresh_summary(host: Host, uri: str) -> SessionSummary | None:
    """The catalogue's row of a session, as it is now where the session is awake; None once it is removed."""
    kept = host.catalogue.get(uri)
    awake = host.sessions.get(uri)
    return kept if kept is None or awake is None else live_summary(awake)


def live_summary(session: Session) -> SessionSummary:
    """The summary over what the chats are now: a chat's turn is a moment ahead of what its session has heard of it."""
    chats = [
        chat if actor is None else wire.replace(chat_reducer.summary_of(actor.state), title=chat.title)
        for chat in session.state.chats
        for actor in (session.chats.get(chat.resource),)
    ]
    state = session_views.aggregate(wire.replace(session.state, chats=chats))
    modified_at = max([session.modified_at, *(chat.modified_at for chat in chats)])
    return session_views.summary_of(state, session.uri, session.created_at, modified_at)


def default_chat(summary: SessionSummary) -> str | None:
    """The chat that a link without a chat means."""
    chats = present(summary.chats, [])
    return present(summary.default_chat, None) or (chats[0].resource if chats else None)


def chat_id(chat: str) -> str:
    """A chat's id as an open link has it."""
    try:
        return uris.parse(chat).id
    except uris.BadUri:
        return chat


def open_link(summary: SessionSummary, chat: str | None = None) -> str:
    """The link that opens the session, or one chat of it; the default chat's own id is never written into one."""
    named = None if chat is None or chat == default_chat(summary) else chat_id(chat)
    session_id = uris.parse(summary.resource).id
    return uris.format_link(uris.OpenLink(provider=summary.provider, session_id=session_id, chat=named))
