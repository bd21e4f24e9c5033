"""What an agent cannot reach for itself: resources by URI, a connected client's among them, and the terminals
(tools page, The host's own tools). Both answer what the calling session may already reach.
"""

from __future__ import annotations

import base64
import binascii
from collections.abc import Mapping

import msgspec

from actors.tools.call import ToolCall
from actors.tools.tool import READ_ONLY, Tool, ToolRefusal, schema
from actors.workspace.places import under
from ahp import uris, wire
from ahp.commands import ResourceReadParams, ResourceReadResult
from ahp.jsonrpc import RpcError
from ahp.wire import JSON, present

_PATIENCE = 30.0
"""Seconds that one client may take to answer."""
_LONGEST = 200_000
"""Characters of a resource that a model is given."""


async def ahp_resource(call: ToolCall, given: Mapping[str, JSON]) -> JSON:
    uri = given["uri"]
    scheme = uris.scheme_of(uri)
    if not scheme:
        raise ToolRefusal(f"ahp_resource: uri is {uri}: a URI with its scheme is expected")
    if scheme in call.host.env.resources.schemes:
        chat = None if call.chat is None else call.chat.state
        within = under(call.need_session().folders(chat))
        found = await call.host.env.resources.read(ResourceReadParams(channel=uris.ROOT, uri=uri), within)
    else:
        found = await _of_a_client(call, uri, scheme)
    return _text(uri, found)


async def _of_a_client(call: ToolCall, uri: str, scheme: str) -> ResourceReadResult:
    """From the clients that are active in the session, in their order: the first that has it."""
    active = [client.client_id for client in call.need_session().state.active_clients]
    asked = sorted(
        (each for each in call.host.connections if each.client_id in active),
        key=lambda each: active.index(each.client_id),
    )
    if not asked:
        raise ToolRefusal(
            f"ahp_resource: uri {uri}: this host does not serve {scheme}: and no client is active in the session"
        )
    refusals: list[str] = []
    for connection in asked:
        try:
            params = ResourceReadParams(channel=uris.ROOT, uri=uri)
            raw = await connection.request("resourceRead", params, _PATIENCE)
            return wire.decode(bytes(raw), ResourceReadResult)
        except RpcError as error:
            refusals.append(f"{connection.client_id}: {error.message}")
        except msgspec.MsgspecError as error:
            refusals.append(f"{connection.client_id}: no resourceRead result: {error}")
    raise ToolRefusal(f"ahp_resource: uri {uri} was read from no client ({'; '.join(refusals)})")


def _text(uri: str, found: ResourceReadResult) -> str:
    text = found.data
    if found.encoding == "base64":
        try:
            data = base64.b64decode(found.data)
            text = data.decode()
        except binascii.Error:
            raise ToolRefusal(f"ahp_resource: {uri} came as base64 that cannot be decoded") from None
        except UnicodeDecodeError:
            kind = present(found.content_type, "no known type")
            raise ToolRefusal(f"ahp_resource: {uri} is no text ({kind}, {len(data)} bytes)") from None
    if len(text) <= _LONGEST:
        return text
    return f"{text[:_LONGEST]}\n(cut here: {len(text)} characters in all)"


async def ahp_terminals(call: ToolCall, _: Mapping[str, JSON]) -> JSON:
    lines = []
    for info in call.host.terminals.infos():
        terminal = call.host.terminals.find(info.resource)
        if terminal is not None:
            lifecycle = present(terminal.state.lifecycle, None)
            running = "running" if lifecycle is None else lifecycle.status
            lines.append(f"{info.resource} {info.title} {present(terminal.state.cwd, '-')} {running}")
    return "\n".join(lines) or "No terminal is open."


TOOLS = [
    Tool(
        name="ahp_resource",
        title="Read Resource",
        description=(
            "Read a resource as text by its URI: a file in this session's folders, or what a connected client "
            "publishes under a scheme of its own, such as an editor's unsaved buffer."
        ),
        input_schema=schema({"uri": {"type": "string", "description": "The URI with its scheme."}}, ["uri"]),
        annotations=READ_ONLY,
        run=ahp_resource,
    ),
    Tool(
        name="ahp_terminals",
        title="List Terminals",
        description="List the terminals that are open on this host: uri, title, cwd and running, a line each.",
        input_schema=schema(),
        annotations=READ_ONLY,
        run=ahp_terminals,
    ),
]
