"""resolveSessionConfig and its completions: what a session could be configured with before there is one."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from actors.requests.handler import Handler
from actors.workspace import session_config
from ahp import uris
from ahp.commands import (
    ResolveSessionConfigParams,
    ResolveSessionConfigResult,
    SessionConfigCompletionsParams,
    SessionConfigCompletionsResult,
)
from ahp.jsonrpc import InvalidParams
from ahp.wire import UnsetType, present

if TYPE_CHECKING:
    from actors.connection import ClientConnection


async def resolve(connection: ClientConnection, params: ResolveSessionConfigParams) -> ResolveSessionConfigResult:
    agent = connection.host.env.agents.find(present(params.provider, None))
    folder = folder_of(params.working_directory)
    given = present(params.config, {})
    schema = await session_config.schema_for(folder, await agent.config_schema(folder), given)
    return ResolveSessionConfigResult(schema=schema, values=session_config.values_for(schema, given))


async def completions(
    connection: ClientConnection, params: SessionConfigCompletionsParams
) -> SessionConfigCompletionsResult:
    folder = folder_of(params.working_directory)
    items = await session_config.completions(folder, params.property, present(params.query, ""))
    return SessionConfigCompletionsResult(items=items)


def folder_of(uri: str | UnsetType) -> Path | None:
    """The folder a `file:` URI names. Raises `InvalidParams` for another kind of URI."""
    if isinstance(uri, UnsetType):
        return None
    try:
        return uris.path_of(uri)
    except uris.BadUri as error:
        raise InvalidParams(str(error)) from None


HANDLERS = {
    "resolveSessionConfig": Handler(ResolveSessionConfigParams, resolve, beside=True),
    "sessionConfigCompletions": Handler(SessionConfigCompletionsParams, completions, beside=True),
}
