"""The way from the command line to a running daemon: the one that runs here, or the one named by --url."""

from __future__ import annotations

import ssl
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from importlib.metadata import version

import trio

from actors.cli.context import Context, Exit, Failure
from actors.cli.token import token_of
from actors.door.errors import DoorError
from ahp import uris
from ahp.client import Client, ClientError, Connector, connect, connector_for, websocket_connector
from ahp.client.supervisor import Backoff
from ahp.commands.connection import Implementation
from ahp.commands.root import ListSessionsParams, ListSessionsResult
from ahp.jsonrpc import RpcError
from ahp.state.session import SessionSummary
from ahp.wire import UNSET, present

__all__ = ["all_sessions", "failure_of", "find_session", "reach", "run"]

_PAGE = 500


def run(context: Context, verb: Callable[[Context], Awaitable[Exit]]) -> int:
    """Run an async verb; what the daemon refuses is a Failure with its sentence."""
    try:
        return trio.run(verb, context)
    except (Exception, BaseExceptionGroup) as error:
        raise failure_of(error) from error


def failure_of(error: BaseException) -> BaseException:
    """`error` as a Failure where the daemon or the way to it is the reason, else as it is. Groups are opened."""
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    if isinstance(error, RpcError):
        return Failure(f"the daemon refused: {error.message}")
    return Failure(str(error)) if isinstance(error, ClientError) else error


@asynccontextmanager
async def reach(context: Context, reconnect: Backoff | None = None) -> AsyncIterator[Client]:
    """A client of the daemon that is meant. Raises Failure where none runs, and what `connect` raises."""
    me = Implementation(name="ahpd-cli", version=version("ahpd"), title="ahpd")
    async with connect(_connector(context), client_info=me, reconnect=reconnect) as client:
        yield client


def _connector(context: Context) -> Connector:
    url = context.said("url")
    if url is not None:
        try:
            return connector_for(url, context.said("client_token"))
        except ValueError as error:
            raise Failure(str(error), Exit.WRONG) from None
    found = context.daemon()
    try:
        token = context.said("client_token") or token_of(context)
    except DoorError as error:
        raise Failure(str(error)) from None
    address = found.websocket[0]
    return websocket_connector(address, token, None if found.certificate is None else _trusting(found.certificate))


def _trusting(certificate: str) -> ssl.SSLContext:
    """Trust the daemon's own certificate, which is for a name that others use. Raises Failure."""
    try:
        made = ssl.create_default_context(cafile=certificate)
    except (OSError, ssl.SSLError) as error:
        raise Failure(f"{certificate} (tls.certFile) cannot be read: {error}") from None
    made.check_hostname = False
    made.verify_flags |= ssl.VERIFY_X509_PARTIAL_CHAIN
    return made


async def all_sessions(client: Client) -> list[SessionSummary]:
    """The whole catalogue, in the daemon's order."""
    found: list[SessionSummary] = []
    cursor: str | None = None
    while True:
        params = ListSessionsParams(limit=_PAGE, cursor=UNSET if cursor is None else cursor)
        page = await client.request("listSessions", params, ListSessionsResult)
        found += page.items
        cursor = present(page.next_cursor, None)
        if cursor is None:
            return found


async def find_session(client: Client, named: str) -> SessionSummary:
    """The session with this URI or id, or the only one whose id begins so. Raises Failure."""
    catalogue = await all_sessions(client)
    ids = {session.resource: uris.parse(session.resource).id for session in catalogue}
    for session in catalogue:
        if named in (session.resource, ids[session.resource], f"{session.provider}:/{ids[session.resource]}"):
            return session
    begun = [session for session in catalogue if ids[session.resource].startswith(named)]
    if len(begun) == 1:
        return begun[0]
    if begun:
        raise Failure(f"{len(begun)} sessions begin with {named}: give more of the id")
    raise Failure(f"there is no session {named}; `ahpd sessions` lists them")
