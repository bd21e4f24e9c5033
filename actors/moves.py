"""moveChat and reorderChat: a chat and what hangs on it, moved to another session or another place (digest 3).

The one way a chat changes its session or place, for a client's request and for a tool's call. The records move in
one commit; then the sessions' catalogues follow. A request id is durable: the same move asked for again, also after a
restart, has the same result and happens once.
"""

from __future__ import annotations

import uuid
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, TypeVar

import msgspec

from actors.session import Session
from actors.session_create import NewSession
from actors.session_orders import AdoptChats, ReleaseChats, ReorderChats
from actors.session_record import KeptChat, SessionPrivate
from actors.store import StoreError, Write, documents
from actors.store import chats as chat_records
from ahp import jsonrpc, uris, wire
from ahp.commands import (
    ChatMovedParams,
    MoveChatResult,
    MovedChat,
    MoveDestination,
    MoveToNewSession,
    MoveToSession,
    ReorderAfter,
    ReorderBefore,
    ReorderChatResult,
    ReorderDestination,
    ReorderToEnd,
    ReorderToStart,
)
from ahp.jsonrpc import InternalError, InvalidParams, NotFound, TurnInProgress
from ahp.state.chat import ForkOrigin, SideChatOrigin, ToolOrigin
from ahp.wire import Wire, present

if TYPE_CHECKING:
    from actors.host import Host

T = TypeVar("T", bound=Wire)

_MOVE = "move"
"""The kind of document that keeps what was moved under a request id."""


class _Kept(msgspec.Struct, frozen=True):
    """A move that was made: what was asked for, and its result (JSON)."""

    chat: str
    destination: str
    result: msgspec.Raw


async def move_chat(host: Host, source: str, destination: MoveDestination, request_id: str) -> MoveChatResult:
    """Move `source` with all that hangs on it. Raises `RpcError`, and then nothing has changed."""
    return await host.complete(lambda: _move_chat(host, source, destination, request_id))


async def _move_chat(host: Host, source: str, destination: MoveDestination, request_id: str) -> MoveChatResult:
    asked = wire.encode(destination).decode()
    known = await _known(host, request_id, source, asked, MoveChatResult)
    if known is not None:
        return known
    if not host.env.config.chat_moves.enabled:
        raise InvalidParams("moving chats is turned off (chatMoves.enabled)")
    owner = await _session_of(host, source)
    block = _block(owner, source)
    target = await _target(host, owner, source, destination)
    _refuse_busy(owner, block)
    kept = await owner.ask(ReleaseChats(block))
    result = MoveChatResult(
        previous_session=owner.uri,
        previous_chat=source,
        session=target.uri,
        chat=source,
        moved_chats=[MovedChat(previous_chat=uri, chat=uri) for uri in block],
    )
    try:
        placed = await _commit(host, target, kept, result, request_id, asked)
    except StoreError as error:
        await owner.ask(AdoptChats(kept))
        raise InternalError(f"The chat was not moved: {error}") from None
    await target.ask(AdoptChats(placed, source if isinstance(destination, MoveToNewSession) else None))
    _tell(host, result)
    return result


async def reorder_chat(host: Host, source: str, destination: ReorderDestination, request_id: str) -> ReorderChatResult:
    """Give `source`, with all that hangs on it, another place in its session's catalogue. Raises `RpcError`."""
    return await host.complete(lambda: _reorder_chat(host, source, destination, request_id))


async def _reorder_chat(host: Host, source: str, destination: ReorderDestination, request_id: str) -> ReorderChatResult:
    asked = wire.encode(destination).decode()
    known = await _known(host, request_id, source, asked, ReorderChatResult)
    if known is not None:
        return known
    owner = await _session_of(host, source)
    order = [chat.resource for chat in owner.state.chats]
    parents = {chat.resource: _parent(present(chat.origin, None)) for chat in owner.state.chats}
    if parents.get(source) in parents:
        raise InvalidParams(f"{source} hangs on another chat: move that one")
    block = _descend(parents, source)
    rest = [uri for uri in order if uri not in block]
    at = _place(rest, parents, destination)
    placed = [*rest[:at], *block, *rest[at:]]
    await owner.ask(ReorderChats(placed))
    result = ReorderChatResult(session=owner.uri, chats=block)
    await host.env.store.commit([_keep(request_id, source, asked, result)])
    return result


def _place(rest: Sequence[str], parents: Mapping[str, str | None], destination: ReorderDestination) -> int:
    """Where in `rest`, the chats that stay, the block goes."""
    if isinstance(destination, ReorderToStart):
        return 0
    if isinstance(destination, ReorderToEnd):
        return len(rest)
    if not isinstance(destination, ReorderBefore | ReorderAfter):
        raise InvalidParams("destination.kind is unknown: start, end, before or after is expected")
    anchor = destination.anchor
    if anchor not in parents:
        raise NotFound(f"{anchor} is no chat of this session")
    if anchor not in rest or parents[anchor] in parents:
        raise InvalidParams(f"{anchor} is no top-level chat to move beside")
    if isinstance(destination, ReorderBefore):
        return rest.index(anchor)
    return 1 + max(rest.index(uri) for uri in _descend(parents, anchor) if uri in rest)


async def _known(host: Host, request_id: str, source: str, asked: str, kind: type[T]) -> T | None:
    body = await host.env.store.read(documents.get(_MOVE, request_id))
    if body is None:
        return None
    made = msgspec.json.decode(body, type=_Kept)
    if (made.chat, made.destination) != (source, asked):
        raise InvalidParams(f"requestId {request_id} was used for another move: choose a new one")
    return wire.decode(made.result, kind)


def _keep(request_id: str, source: str, asked: str, result: Wire) -> Write:
    kept = _Kept(source, asked, msgspec.Raw(wire.encode(result)))
    return documents.put(_MOVE, request_id, msgspec.json.encode(kept))


async def _session_of(host: Host, chat: str) -> Session:
    owner, _ = await host.open(chat)
    session = getattr(owner, "session", None)
    if not isinstance(session, Session):
        raise NotFound(f"There is no chat {chat}")
    return session


def _block(owner: Session, source: str) -> list[str]:
    """The chat and its descendants: depth first, siblings as in the catalogue. Refuses what cannot move."""
    if present(owner.state.default_chat, None) == source:
        raise InvalidParams(f"{source} is the default chat of {owner.uri}, which stays with it")
    parents = {chat.resource: _parent(present(chat.origin, None)) for chat in owner.state.chats}
    if parents.get(source) in parents:
        raise InvalidParams(f"{source} hangs on another chat: move that one")
    block = _descend(parents, source)
    if present(owner.state.default_chat, None) in block:
        raise InvalidParams(f"the default chat of {owner.uri} hangs on {source}, and stays with its session")
    return block


def _descend(parents: Mapping[str, str | None], source: str) -> list[str]:
    block: list[str] = []

    def take(uri: str) -> None:
        block.append(uri)
        for child, parent in parents.items():
            if parent == uri and child not in block:
                take(child)

    take(source)
    return block


def _parent(origin: object) -> str | None:
    return origin.chat if isinstance(origin, ForkOrigin | SideChatOrigin | ToolOrigin) else None


def _refuse_busy(owner: Session, block: Sequence[str]) -> None:
    busy = next((uri for uri in block if owner.chats[uri].is_busy()), None)
    if busy is not None:
        raise TurnInProgress(f"a turn is running in {busy}: move it when the turn has ended")


async def _target(host: Host, owner: Session, source: str, destination: MoveDestination) -> Session:
    if isinstance(destination, MoveToSession):
        target, _ = await host.open(destination.session)
        if not isinstance(target, Session):
            raise InvalidParams(f"{destination.session} is no session")
        if target is owner:
            raise InvalidParams(f"{source} is in {owner.uri} already")
        if target.agent is not owner.agent:
            raise InvalidParams(f"{target.uri} runs {target.agent.display_name}, not {owner.agent.display_name}")
        return target
    if not isinstance(destination, MoveToNewSession):
        raise InvalidParams("destination.kind is unknown: session or newSession is expected")
    title = owner.chats[source].state.title
    uri = uris.session(str(uuid.uuid4()))
    now = host.env.clock.iso()
    state = wire.replace(
        owner.state,
        title=title,
        lifecycle="ready",
        chats=[],
        active_clients=[],
        default_chat=wire.UNSET,
        input_needed=wire.UNSET,
        changesets=wire.UNSET,
        annotations=wire.UNSET,
        meta=wire.UNSET,
    )
    private = SessionPrivate(model=owner.private.model, owner=owner.private.owner)
    await host.create_session(
        NewSession(uri=uri, agent=owner.agent, state=state, private=private, chat=None, created_at=now)
    )
    return host.sessions[uri]


async def _commit(
    host: Host, target: Session, kept: Sequence[KeptChat], result: MoveChatResult, request_id: str, asked: str
) -> list[KeptChat]:
    first = 1 + max((chat.position for chat in target.chats.values()), default=-1)
    movable = bool(target.chats)  # The chat that a new session is made for becomes its default, which never moves.
    placed = [
        KeptChat(wire.replace(each.state, movable=movable), each.private, first + at) for at, each in enumerate(kept)
    ]
    moves = [chat_records.move(each.state.resource, target.uri, each.position) for each in placed]
    await host.env.store.commit([*moves, _keep(request_id, result.previous_chat, asked, result)])
    return placed


def _tell(host: Host, result: MoveChatResult) -> None:
    """`chat/moved` on each channel that moved; every one carries the whole mapping."""
    for moved in result.moved_chats:
        params = ChatMovedParams(
            channel=moved.previous_chat,
            previous_session=result.previous_session,
            previous_chat=result.previous_chat,
            session=result.session,
            chat=result.chat,
            moved_chats=result.moved_chats,
        )
        host.env.hub.notify(moved.previous_chat, jsonrpc.encode_notification("chat/moved", params))
