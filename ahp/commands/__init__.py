"""The params and results of every request and notification, and the table that says which message has which.

`METHODS` is the one list of methods of the protocol. Structs live in one module a channel; import them from here.
"""

# The modules' own `__all__` are the list of what is here.
# ruff: noqa: F403, F405
from __future__ import annotations

from enum import Enum
from typing import Any

from msgspec import Struct

from ahp.commands.chat import *
from ahp.commands.connection import *
from ahp.commands.resources import *
from ahp.commands.root import *
from ahp.commands.session import *
from ahp.commands.telemetry import *


class Direction(Enum):
    """Who sends it."""

    TO_HOST = "client to host"
    TO_CLIENT = "host to client"
    BOTH = "both ways"


class Method(Struct, frozen=True):
    """One message: the types of its params and of its result (None: the result is null), and who sends it.

    `result` is a wire type or a union of them. `notification` says that it has no answer at all.
    """

    params: type[Struct]
    result: Any = None
    direction: Direction = Direction.TO_HOST
    notification: bool = False


def _resource(params: type[Struct], result: Any = Empty) -> Method:
    return Method(params, result, Direction.BOTH)


def _from_host(params: type[Struct]) -> Method:
    return Method(params, direction=Direction.TO_CLIENT, notification=True)


METHODS: dict[str, Method] = {
    "initialize": Method(InitializeParams, InitializeResult),
    "ping": Method(PingParams),
    "reconnect": Method(ReconnectParams, ReconnectResult),
    "subscribe": Method(SubscribeParams, SubscribeResult),
    "authenticate": Method(AuthenticateParams, Empty),
    "listSessions": Method(ListSessionsParams, ListSessionsResult),
    "resolveSessionConfig": Method(ResolveSessionConfigParams, ResolveSessionConfigResult),
    "sessionConfigCompletions": Method(SessionConfigCompletionsParams, SessionConfigCompletionsResult),
    "createSession": Method(CreateSessionParams),
    "disposeSession": Method(DisposeSessionParams),
    "createChat": Method(CreateChatParams),
    "disposeChat": Method(DisposeChatParams),
    "moveChat": Method(MoveChatParams, MoveChatResult),
    "reorderChat": Method(ReorderChatParams, ReorderChatResult),
    "fetchTurns": Method(FetchTurnsParams, Empty),
    "completions": Method(CompletionsParams, CompletionsResult),
    "createTerminal": Method(CreateTerminalParams),
    "disposeTerminal": Method(DisposeTerminalParams),
    "invokeChangesetOperation": Method(InvokeChangesetOperationParams, InvokeChangesetOperationResult),
    "resourceRead": _resource(ResourceReadParams, ResourceReadResult),
    "resourceWrite": _resource(ResourceWriteParams),
    "resourceList": _resource(ResourceListParams, ResourceListResult),
    "resourceCopy": _resource(ResourceCopyParams),
    "resourceMove": _resource(ResourceMoveParams),
    "resourceDelete": _resource(ResourceDeleteParams),
    "resourceResolve": _resource(ResourceResolveParams, ResourceResolveResult),
    "resourceMkdir": _resource(ResourceMkdirParams),
    "resourceRequest": _resource(ResourceRequestParams),
    "createResourceWatch": _resource(CreateResourceWatchParams, CreateResourceWatchResult),
    "unsubscribe": Method(UnsubscribeParams, notification=True),
    "dispatchAction": Method(DispatchActionParams, notification=True),
    "action": _from_host(ActionEnvelope),
    "root/sessionAdded": _from_host(SessionAddedParams),
    "root/sessionRemoved": _from_host(SessionRemovedParams),
    "root/sessionSummaryChanged": _from_host(SessionSummaryChangedParams),
    "root/progress": _from_host(ProgressParams),
    "auth/required": _from_host(AuthRequiredParams),
    "chat/moved": _from_host(ChatMovedParams),
    "otlp/exportLogs": _from_host(OtlpParams),
    "otlp/exportTraces": _from_host(OtlpParams),
    "otlp/exportMetrics": _from_host(OtlpParams),
}
