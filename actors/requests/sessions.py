"""The requests about the catalogue and a session's whole life."""

from __future__ import annotations

from typing import TYPE_CHECKING

from actors.client import BecameActive
from actors.requests.handler import Handler
from actors.session import Session
from actors.session_create import check
from ahp import uris
from ahp.commands import CreateSessionParams, DisposeSessionParams, ListSessionsParams, SessionFork
from ahp.jsonrpc import InvalidParams
from ahp.state.chat import Turn
from ahp.wire import JSON, present

if TYPE_CHECKING:
    from actors.connection import ClientConnection


async def list_sessions(connection: ClientConnection, params: ListSessionsParams) -> dict[str, JSON]:
    items, cursor = connection.host.catalogue.page(
        present(params.limit, None), present(params.cursor, None), present(params.filter, None)
    )
    return {"items": items} if cursor is None else {"items": items, "nextCursor": cursor}


async def create_session(connection: ClientConnection, params: CreateSessionParams) -> None:
    """Refused whole or done: what can be checked is checked before anything is made (digest 2, Commands)."""
    try:
        channel = uris.parse(params.channel)
    except uris.BadUri as error:
        raise InvalidParams(str(error)) from None
    if channel.kind != "session":
        raise InvalidParams(f"{params.channel} is no session URI: ahp-session:/<id> is expected")
    active = present(params.active_client, None)
    if active is not None and active.client_id != connection.client_id:
        raise InvalidParams(f"activeClient is {active.client_id}, not this client ({connection.client_id})")
    host = connection.host
    fork = present(params.fork, None)
    history = [] if fork is None else await _fork(connection, fork)
    await host.create_session(await check(host.env, params, history))
    if active is not None and connection.client is not None:
        await connection.client.tell(BecameActive(params.channel))


async def _fork(connection: ClientConnection, fork: SessionFork) -> list[Turn]:
    """The turns of the source's default chat through the named one."""
    owner, _ = await connection.host.open(fork.session)
    if not isinstance(owner, Session):
        raise InvalidParams(f"fork: {fork.session} is no session")
    chat = owner.chats.get(present(owner.state.default_chat, ""))
    turns = [] if chat is None else chat.state.turns
    for index, turn in enumerate(turns):
        if turn.id == fork.turn_id:
            return turns[: index + 1]
    raise InvalidParams(f"fork: {fork.session} has no completed turn {fork.turn_id}")


async def dispose_session(connection: ClientConnection, params: DisposeSessionParams) -> None:
    await connection.host.dispose_session(params.channel)


HANDLERS = {
    "listSessions": Handler(ListSessionsParams, list_sessions),
    "createSession": Handler(CreateSessionParams, create_session, holds=True),
    "disposeSession": Handler(DisposeSessionParams, dispose_session, holds=True),
}
