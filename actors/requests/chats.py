"""The requests about chats: making, disposing, moving them, their history and completions."""

from __future__ import annotations

from typing import TYPE_CHECKING

from actors import moves
from actors.chat import Chat
from actors.chat_messages import FetchTurns, LoadTurn
from actors.requests.handler import Handler
from actors.session import CreateChat, DisposeChat, Session
from actors.session_record import new_chat
from actors.workspace.files_completion import complete
from ahp import uris, wire
from ahp.commands import (
    CompletionsParams,
    CompletionsResult,
    CreateChatParams,
    DisposeChatParams,
    Empty,
    FetchTurnsParams,
    ForkSource,
    MoveChatParams,
    MoveChatResult,
    ReorderChatParams,
    ReorderChatResult,
    SideChatSource,
)
from ahp.jsonrpc import InvalidParams, NotFound
from ahp.state.chat import ChatState, ForkOrigin, Message, MessageOrigin, SideChatOrigin
from ahp.wire import present

if TYPE_CHECKING:
    from actors.connection import ClientConnection


async def create_chat(connection: ClientConnection, params: CreateChatParams) -> None:
    """The gates of digest 3, Commands (createChat); the chat is in the catalogue before the answer."""
    session = await _session(connection, params.channel)
    agent = session.agent
    if not agent.multiple_chats:
        raise InvalidParams(f"{agent.display_name} has one chat in a session")
    try:
        if uris.parse(params.chat).kind != "chat":
            raise InvalidParams(f"{params.chat} is no chat URI: ahp-chat:/<id> is expected")
    except uris.BadUri as error:
        raise InvalidParams(str(error)) from None
    source = present(params.source, None)
    state = new_chat(params.chat, connection.host.env.clock.iso(), present(params.title, ""))
    if source is None:
        state = wire.replace(state, movable=True)
    if source is not None:
        state = await _from_source(session, state, source)
    elif not isinstance(params.working_directories, wire.UnsetType):
        state = wire.replace(state, working_directories=_folders(session, params.working_directories))
    if not isinstance(params.model, wire.UnsetType):
        draft = Message(text="", origin=MessageOrigin(kind="user"), model=params.model)
        state = wire.replace(state, draft=draft)
    await session.ask(CreateChat(state, present(params.initial_message, None)))


async def _from_source(session: Session, state: ChatState, source: ForkSource | SideChatSource) -> ChatState:
    fork = isinstance(source, ForkSource)
    if not (session.agent.fork if fork else session.agent.side_chat):
        raise InvalidParams(f"{session.agent.display_name} cannot make a {wire.tag_of(source)} of a chat")
    if source.chat == state.resource:
        raise InvalidParams("a chat cannot be its own source")
    chat = session.chats.get(source.chat)
    if chat is None:
        raise NotFound(f"{source.chat} is no chat of {session.uri}")
    origin = chat.state
    turns = origin.turns
    index = next((i for i, turn in enumerate(turns) if turn.id == source.turn_id), None)
    active = present(origin.active_turn, None)
    if index is None and (fork or active is None or active.id != source.turn_id):
        raise NotFound(f"{source.chat} has no {'completed ' if fork else ''}turn {source.turn_id}")
    await chat.ask(LoadTurn(source.turn_id))
    if isinstance(source, SideChatSource):
        selection = present(source.selection, None)
        if selection is not None and not selection.text:
            raise InvalidParams("selection.text is empty: pass the selected text, or no selection")
        kept = SideChatOrigin(chat=source.chat, turn_id=source.turn_id, selection=source.selection)
        return wire.replace(state, origin=kept)
    assert index is not None
    return wire.replace(
        state,
        turns=turns[: index + 1],
        origin=ForkOrigin(chat=source.chat, turn_id=source.turn_id),
        working_directories=origin.working_directories,
    )


def _folders(session: Session, wanted: list[str]) -> list[str]:
    if not session.agent.multiple_directories:
        raise InvalidParams(f"{session.agent.display_name} works in one folder: leave workingDirectories out")
    known = present(session.state.working_directories, [])
    for folder in wanted:
        if folder not in known:
            raise InvalidParams(f"{folder} is no working directory of {session.uri}")
    return wanted


async def dispose_chat(connection: ClientConnection, params: DisposeChatParams) -> None:
    chat = await _chat(connection, params.channel)
    session = connection.host.sessions[chat.session.uri]
    await session.ask(DisposeChat(chat.name))


async def fetch_turns(connection: ClientConnection, params: FetchTurnsParams) -> Empty:
    """The turns come as `chat/turnsLoaded` for everybody who watches, before the answer."""
    chat = await _chat(connection, params.channel)
    await chat.ask(FetchTurns(present(params.cursor, None)))
    return Empty()


async def completions(connection: ClientConnection, params: CompletionsParams) -> CompletionsResult:
    if params.kind != "userMessage":
        return CompletionsResult(items=[])
    kind = uris.parse(params.channel).kind
    if kind == "chat":
        chat = await _chat(connection, params.channel)
        folders = chat.session.folders(chat.state)
    else:
        session = await _session(connection, params.channel)
        folders = session.folders(None)
    return CompletionsResult(items=await complete(folders, params.text, params.offset))


async def move_chat(connection: ClientConnection, params: MoveChatParams) -> MoveChatResult:
    return await moves.move_chat(connection.host, params.channel, params.destination, params.request_id)


async def reorder_chat(connection: ClientConnection, params: ReorderChatParams) -> ReorderChatResult:
    return await moves.reorder_chat(connection.host, params.channel, params.destination, params.request_id)


async def _session(connection: ClientConnection, channel: str) -> Session:
    owner, _ = await connection.host.open(channel)
    if not isinstance(owner, Session):
        raise InvalidParams(f"{channel} is no session")
    return owner


async def _chat(connection: ClientConnection, channel: str) -> Chat:
    owner, _ = await connection.host.open(channel)
    if not isinstance(owner, Chat):
        raise InvalidParams(f"{channel} is no chat")
    return owner


HANDLERS = {
    "createChat": Handler(CreateChatParams, create_chat, holds=True),
    "disposeChat": Handler(DisposeChatParams, dispose_chat, holds=True),
    "fetchTurns": Handler(FetchTurnsParams, fetch_turns),
    "completions": Handler(CompletionsParams, completions, beside=True),
    "moveChat": Handler(MoveChatParams, move_chat, holds=True),
    "reorderChat": Handler(ReorderChatParams, reorder_chat),
}
