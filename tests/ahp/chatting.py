"""Chats and their actions as JSON, for the tests of the chat's reducer and rules."""

import json
from typing import Any

from ahp import actions, wire
from ahp.reducers import chat
from ahp.state.chat import ChatState

JSONObject = dict[str, Any]

START = "2026-01-01T00:00:00.000Z"
HELLO: JSONObject = {"text": "hello", "origin": {"kind": "user"}}
BASE: JSONObject = {"resource": "ahp-chat:/a", "title": "", "status": 1, "modifiedAt": START, "turns": []}

FROM_AGENT: JSONObject = {"text": "hello", "origin": {"kind": "agent"}}
CALL: JSONObject = {"toolCallId": "c", "toolName": "run", "displayName": "Run"}
KNOWN: JSONObject = {**CALL, "invocationMessage": "Runs"}
RESULT: JSONObject = {"success": True, "pastTenseMessage": "Ran"}
FAILED: JSONObject = {"success": False, "pastTenseMessage": "Failed"}
MINE: JSONObject = {"kind": "client", "clientId": "me"}
MCP: JSONObject = {"kind": "mcp", "customizationId": "m"}
OPTIONS: list[JSONObject] = [{"id": "o", "label": "Always", "kind": "approve", "group": 1}]
RUNNING: JSONObject = {**KNOWN, "status": "running", "confirmed": "not-needed"}
PENDING: JSONObject = {**KNOWN, "status": "pending-confirmation"}
STREAMING: JSONObject = {**CALL, "status": "streaming"}
DONE: JSONObject = {**RUNNING, **RESULT, "status": "completed"}


def a_chat(**fields: Any) -> ChatState:
    return wire.convert({**BASE, **fields}, ChatState)


def in_turn(*parts: JSONObject, status: int = 8, **fields: Any) -> ChatState:
    """A chat whose turn `t` runs and has these parts."""
    active = {"id": "t", "startedAt": START, "message": HELLO, "responseParts": list(parts)}
    return a_chat(status=status, activeTurn=active, **fields)


def with_call(call: JSONObject, status: int = 8) -> ChatState:
    return in_turn(tool(call), status=status)


def tool(call: JSONObject) -> JSONObject:
    return {"kind": "toolCall", "toolCall": call}


def a_turn(id: str, *parts: JSONObject, state: str = "complete", **fields: Any) -> JSONObject:
    return {"id": id, "message": HELLO, "responseParts": list(parts), "state": state, **fields}


def waiting(id: str, text: str = "hello") -> JSONObject:
    return {"id": id, "message": {**HELLO, "text": text}}


def action(name: str, **fields: Any) -> wire.Wire:
    return actions.decode("chat", json.dumps({"type": f"chat/{name}", **fields}))


def applied(state: ChatState, name: str, **fields: Any) -> ChatState:
    return chat.apply(state, action(name, **fields))


def shown(state: Any) -> Any:
    return json.loads(wire.encode(state))


def call_of(state: ChatState) -> Any:
    """The first call of the turn that runs."""
    parts = shown(state)["activeTurn"]["responseParts"]
    return next(part["toolCall"] for part in parts if part["kind"] == "toolCall")
