"""The writing half of the session tools: message, title, archive, move, delete (tools page, The host's own tools).

Each asks `session:write` of who is behind the call, and changes state by the same orders and requests that clients'
actions and requests end in.
"""

from __future__ import annotations

import html
import re
import uuid
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import trio

from actors import log
from actors.actor import ActorGone
from actors.chat_orders import AfterTurn, ArchiveChat, SendMessage
from actors.moves import move_chat, reorder_chat
from actors.session import Session
from actors.session_orders import ArchiveSession, ChangeWorkspace, IsolateChat, RenameChat
from actors.tools.call import ToolCall
from actors.tools.session_lookup import awake, find_session, open_link, order, text_input, wrong_input
from actors.tools.tool import DESTRUCTIVE, WRITES, Run, SessionFacts, Tool, ToolRefusal, Wording, schema
from actors.turn import RunningTurn
from ahp import uris, wire
from ahp.commands import MoveToNewSession, MoveToSession, ReorderAfter, ReorderDestination, ReorderToEnd
from ahp.jsonrpc import RpcError
from ahp.state.chat import Message, MessageOrigin
from ahp.wire import JSON, UNSET, present

_log = log.get("tools")

DELEGATION = "vscode.chat.delegation"
"""The key of a message's `_meta` that says which chat sent it."""

_QUOTES = "\"'`“”‘’"
TITLE_LENGTH = 200
MAY_WRITE = "session:write"


# send_message.


async def send_message(call: ToolCall, given: Mapping[str, JSON]) -> JSON:
    call.require(MAY_WRITE)
    text = needed(call, given, "message")
    target = await find_session(call, needed(call, given, "session"))
    uri = target.chat_or_default
    if uri is None:
        raise ToolRefusal(f"send_message: {target.uri} has no chat to send a message to")
    if call.chat is not None and uri == call.chat.name:
        raise ToolRefusal("send_message: this is the chat you are in; answer in it instead of sending it a message")
    async with call.host.env.tools.limits.spending(call, "messages"):
        done = await _deliver(call, uri, text)
    link = open_link(target.summary, uri)
    how = "sent: a turn has begun" if done == "sent" else "queued: its turn begins when what is before it is done"
    return f"The message is {how}. {link}"


async def _deliver(call: ToolCall, uri: str, text: str) -> str:
    message = Message(text=text, origin=MessageOrigin(kind="agent"), meta=delegation(call))
    return await order(call, uri, SendMessage(message, call.caller.principal))


def delegation(call: ToolCall) -> dict[str, JSON] | wire.UnsetType:
    """Who sent it; a call with no session is nobody's delegation (tools page, Tools that need no session)."""
    if call.session is None or call.chat is None:
        return UNSET
    said: dict[str, JSON] = {
        "sourceSession": call.session.uri,
        "sourceChat": call.chat.name,
        "messageId": str(uuid.uuid4()),
        "revision": 1,
    }
    if call.turn is not None:
        said["sourceTurnId"] = call.turn.turn_id
    return {DELEGATION: said}


# rename_chat, archive_chat.


async def rename_chat(call: ToolCall, given: Mapping[str, JSON]) -> JSON:
    call.require(MAY_WRITE)
    title = title_of(call, given)
    uri, session = await _chat_or_own(call, given)
    is_default = present(session.state.default_chat, None) == uri
    title = _tidy(title, named_by_folder=is_default and bool(present(session.state.working_directories, [])))
    if not title:
        raise wrong_input(call, "title has nothing left when it is tidied up")
    if given.get("automatic"):
        call.host.nursery.start_soon(_rename_behind, session, uri, title)
        return "The chat will be renamed."
    await session.ask(RenameChat(uri, title))
    return f"The chat is now {title!r}."


async def _rename_behind(session: Session, chat: str, title: str) -> None:
    try:
        await session.ask(RenameChat(chat, title))
    except (RpcError, ActorGone) as error:
        _log.info("an automatic title was not set", chat=chat, error=str(error))


def _tidy(title: str, *, named_by_folder: bool) -> str:
    """Entities decoded, white space folded; a title that names a session in a folder also loses its wrapping."""
    text = re.sub(r"\s+", " ", html.unescape(title)).strip()
    if named_by_folder:
        text = text.lstrip(_QUOTES).rstrip(_QUOTES + ".,;:!?… ").strip()
        if re.fullmatch(r"[\w.-]+(?:/[\w.-]+)+|[a-z0-9]+(?:-[a-z0-9]+){2,}", text):
            text = re.sub(r"[-_/]+", " ", text).strip()
            text = text[:1].upper() + text[1:]
    return text[:TITLE_LENGTH]


async def archive_chat(call: ToolCall, given: Mapping[str, JSON]) -> JSON:
    """A nested chat alone; the main chat, or a session link, archives the session (tools page, archive_chat)."""
    value = needed(call, given, "chat")
    target = await find_session(call, value, "chat")
    whole = target.chat is None
    call.require("session:mark" if whole else "chat:mark")
    if whole and call.session is not None and target.uri == call.session.uri:
        raise ToolRefusal("archive_chat: this would archive the session that calls it")
    if call.chat is not None and target.chat == call.chat.name:
        raise ToolRefusal("archive_chat: this is the chat you are in")
    if target.chat is None:
        await order(call, target.uri, ArchiveSession(True))
        return f"The session is archived. {open_link(target.summary)}"
    await order(call, target.chat, ArchiveChat(True))
    return f"The chat is archived. {open_link(target.summary, target.chat)}"


async def _chat_or_own(call: ToolCall, given: Mapping[str, JSON]) -> tuple[str, Session]:
    """The chat that `chat` names, in `session` where that is given too; the calling chat without either."""
    named, within = text_input(call, given, "chat"), text_input(call, given, "session")
    if named is None and within is None:
        if call.chat is None or call.session is None:
            raise wrong_input(call, "chat is missing: a call with no session names the one it is about")
        return call.chat.name, call.session
    target = await find_session(call, named or within or "", "chat" if named else "session")
    if named and within:
        owner = await find_session(call, within)
        if owner.uri != target.uri:
            raise wrong_input(call, f"chat is no chat of {owner.uri}")
    uri = target.chat_or_default
    if uri is None:
        raise ToolRefusal(f"{call.tool.name}: {target.uri} has no chat")
    return uri, await awake(call, target)


# delete_session, move_session.


async def delete_session(call: ToolCall, given: Mapping[str, JSON]) -> JSON:
    call.require(MAY_WRITE)
    target = await find_session(call, needed(call, given, "session"))
    if call.session is not None and target.uri == call.session.uri:
        raise ToolRefusal("delete_session: this is the session you are in, and it cannot delete itself")
    await call.host.dispose_session(target.uri)
    return f"The session {present(target.summary.title, '')!r} is deleted."


async def move_session(call: ToolCall, given: Mapping[str, JSON]) -> JSON:
    """The host's moveChat: the same actions, the same refusals (tools page, move_session)."""
    call.require(MAY_WRITE)
    if not call.host.env.config.chat_moves.enabled:
        raise ToolRefusal("moving chats is turned off (chatMoves.enabled)")
    target = await find_session(call, needed(call, given, "session"))
    uri = target.chat_or_default
    if uri is None:
        raise ToolRefusal(f"move_session: {target.uri} has no chat to move")
    into, after = text_input(call, given, "into"), text_input(call, given, "after")
    independent = given.get("relationship") == "independent"
    if independent and (into or after):
        raise wrong_input(call, 'relationship "independent" goes with neither into nor after')
    if not (independent or into or after):
        raise wrong_input(call, 'into, after, or relationship "independent" is expected')
    request = f"{call.tool.name}-{uuid.uuid4()}"
    behind = None if after is None else await find_session(call, after, "after")
    anchor = None if behind is None else behind.chat_or_default
    home = into is None or (await find_session(call, into, "into")).uri == target.uri
    if not independent and home:
        place: ReorderDestination = ReorderToEnd() if anchor is None else ReorderAfter(anchor=anchor)
        await reorder_chat(call.host, uri, place, request)
        return f"It is reordered. {open_link(target.summary, uri)}"
    destination: MoveToSession | MoveToNewSession = MoveToNewSession()
    if into is not None:
        there = await find_session(call, into, "into")
        if behind is not None and behind.uri != there.uri:
            raise wrong_input(call, f"after names a chat of {behind.uri}, and into names {there.uri}")
        destination = MoveToSession(session=there.uri)
    moved = await move_chat(call.host, uri, destination, request)
    if anchor is not None:
        await reorder_chat(call.host, moved.chat, ReorderAfter(anchor=anchor), f"{request}-after")
    session = call.host.sessions.get(moved.session)
    return f"It is moved. {moved.chat if session is None else open_link(session.summary(), moved.chat)}"


# set_workspace, isolate_session.


async def set_workspace(call: ToolCall, given: Mapping[str, JSON]) -> JSON:
    call.require(MAY_WRITE)
    chat, turn = call.need_chat(), _turn(call)
    folder = _folder(call, needed(call, given, "workspaceFolder"))
    if not await trio.Path(folder).is_dir():
        raise wrong_input(call, f"workspaceFolder {folder} is no folder on this machine")
    fact = ChangeWorkspace(chat.name, folder, bool(given["isolation"]), turn.principal)
    await chat.ask(AfterTurn(turn.turn_id, "workspace", fact))
    return "The workspace changes when this turn ends. End your turn now; the task goes on there by itself."


async def isolate_session(call: ToolCall, given: Mapping[str, JSON]) -> JSON:
    call.require(MAY_WRITE)
    chat, turn = call.need_chat(), _turn(call)
    await chat.ask(AfterTurn(turn.turn_id, "workspace", IsolateChat(chat.name, turn.principal)))
    return "This chat moves to a worktree of its own when this turn ends. End your turn now; the task goes on there."


def _turn(call: ToolCall) -> RunningTurn:
    if call.turn is None:
        raise ToolRefusal(f"{call.tool.name} acts when a turn ends, and none is running")
    return call.turn


def _folder(call: ToolCall, value: str) -> Path:
    """An absolute path, or a file URI without query or fragment."""
    try:
        path = uris.path_of(value) if value.startswith("file:") else Path(value)
    except uris.BadUri as error:
        raise wrong_input(call, f"workspaceFolder: {error}") from None
    if not path.is_absolute():
        raise wrong_input(call, f"workspaceFolder {value!r} is no absolute path or file URI")
    return path


# Shared with `session_starting`.


def needed(call: ToolCall, given: Mapping[str, JSON], field: str) -> str:
    """The text of a field that must be there."""
    value = text_input(call, given, field)
    if value is None:
        raise wrong_input(call, f"{field} must be a non-empty string")
    return value


def title_of(call: ToolCall, given: Mapping[str, JSON]) -> str:
    """A title: not blank, at most 200 characters."""
    title = needed(call, given, "title")
    if len(title) > TITLE_LENGTH:
        raise wrong_input(call, f"title has {len(title)} characters, and {TITLE_LENGTH} are allowed")
    return title


def _keeps_chat_folders(facts: SessionFacts) -> bool:
    return facts.multiple_directories and not facts.worker


def _upfront_without_folder(facts: SessionFacts) -> Wording:
    return Wording(defer_loading=not facts.workspace_less)


def _names_its_chats(facts: SessionFacts) -> bool:
    """The utility strategy names chats itself (tools page, The wording a session is given)."""
    return facts.title_strategy != "utility"


def _without_automatic(facts: SessionFacts) -> Wording:
    """Under the deferred strategy this host names a chat after its first message, so nothing automatic is offered."""
    if facts.title_strategy != "deferred":
        return Wording()
    return Wording(
        input_schema={**_RENAME, "properties": {k: v for k, v in _RENAME["properties"].items() if k != "automatic"}}
    )


_LINK: dict[str, JSON] = {"type": "string", "description": "A session URI or open link from list_sessions."}
_RENAME: dict[str, JSON] = schema(
    {
        "session": _LINK,
        "chat": {"type": "string", "description": "The chat's link; without it, this chat."},
        "title": {"type": "string", "maxLength": TITLE_LENGTH},
        "automatic": {"type": "boolean", "description": "Answer at once and rename behind."},
    },
    ["title"],
)


def _tool(name: str, title: str, description: str, input_schema: dict[str, JSON], run: Run, **more: Any) -> Tool:
    return Tool(
        name=name, title=title, family="session", description=description, input_schema=input_schema, run=run, **more
    )


TOOLS = [
    _tool(
        "send_message",
        "Send Message",
        "Send a message to any chat of this host: it starts a turn there, or waits behind what is running. "
        "Read the reply later with get_session_context.",
        schema({"session": _LINK, "message": {"type": "string"}}, ["session", "message"]),
        send_message,
        annotations=WRITES,
        sessionless=True,
        grant=MAY_WRITE,
    ),
    _tool(
        "rename_chat",
        "Rename Chat",
        "Title a chat (this one, without a link). The title of a session's first chat is the session's.",
        _RENAME,
        rename_chat,
        annotations=WRITES,
        sessionless=True,
        grant=MAY_WRITE,
        is_enabled_for_session=_names_its_chats,
        for_session=_without_automatic,
    ),
    _tool(
        "archive_chat",
        "Archive Chat",
        "Archive a nested chat alone; the main chat's link, or a session's, archives the whole session.",
        schema({"chat": {"type": "string", "description": "A chat's or session's link from list_sessions."}}, ["chat"]),
        archive_chat,
        annotations=WRITES,
        sessionless=True,
        grant=MAY_WRITE,
    ),
    _tool(
        "set_workspace",
        "Set Workspace",
        "Move this session to another folder, or with `isolation` to a new Git worktree of it, when this turn ends. "
        "End your turn after calling it; the task goes on there by itself.",
        schema(
            {
                "workspaceFolder": {"type": "string", "description": "An absolute path or file URI."},
                "isolation": {"type": "boolean", "description": "Work in a new worktree of that folder."},
            },
            ["workspaceFolder", "isolation"],
        ),
        set_workspace,
        annotations=WRITES,
        defer_loading=True,
        for_session=_upfront_without_folder,
    ),
    _tool(
        "isolate_session",
        "Isolate Session",
        "Move this chat alone to a new Git worktree of its folder when this turn ends; the session's other chats stay.",
        schema(),
        isolate_session,
        annotations=WRITES,
        defer_loading=True,
        is_enabled_for_session=_keeps_chat_folders,
    ),
    _tool(
        "delete_session",
        "Delete Session",
        "Delete another session of this host with everything in it. It cannot be undone.",
        schema({"session": _LINK}, ["session"]),
        delete_session,
        annotations=DESTRUCTIVE,
        sessionless=True,
        grant=MAY_WRITE,
    ),
    _tool(
        "move_session",
        "Move Session",
        "Move a nested chat behind another in its session (`after`), into another session, or make it its own session.",
        schema(
            {
                "session": {"type": "string", "description": "The link of the chat to move."},
                "into": {"type": "string", "description": "The session to move it into."},
                "after": {"type": "string", "description": "The chat to sit behind; the end without it."},
                "relationship": {"type": "string", "enum": ["independent"]},
            },
            ["session"],
        ),
        move_session,
        annotations=WRITES,
        sessionless=True,
        grant=MAY_WRITE,
    ),
]
