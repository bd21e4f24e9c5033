"""One call of a host tool: who makes it, from where, and the way from input to result.

Every way to a model comes through `dispatch` (in process, the tools endpoint, the `/mcp` door), so the checks are made
in one place: the input against the schema, the grants by the tool, and one audit line whatever happened (`audit`).
"""

from __future__ import annotations

import functools
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import jsonschema
import msgspec
import trio

from actors import log
from actors.actor import ActorGone
from actors.tools.audit import ToolCalled
from actors.tools.tool import Tool, ToolRefusal
from actors.turn import RunningTurn, failure
from ahp import wire
from ahp.jsonrpc import RpcError
from ahp.state.chat import TextContent, ToolCallResult
from ahp.wire import JSON

if TYPE_CHECKING:
    from actors.chat import Chat
    from actors.host import Host
    from actors.session import Session

_log = log.get("tools")


class Caller(msgspec.Struct, frozen=True):
    """Who is behind a call. root: this host's root connection. principal: a person's id, None for nobody's.

    Without a users directory nobody is asked for grants, whoever calls (tools page, Grants).
    """

    principal: str | None = None
    root: bool = False


class ToolCall(msgspec.Struct, frozen=True, kw_only=True):
    """The call in hand: `session`, `chat` and `turn` are absent where no session calls (tools page, Tools that need no
    session); `turn` is also absent where none is running.
    """

    host: Host
    tool: Tool
    caller: Caller
    tool_call_id: str
    session: Session | None = None
    chat: Chat | None = None
    turn: RunningTurn | None = None

    def require(self, grant: str) -> None:
        """Raise `ToolRefusal` where who is behind the call does not hold `grant`."""
        refusal = self.host.env.people.refusal(self.caller, grant)
        if refusal is not None:
            raise ToolRefusal(refusal)

    def need_session(self) -> Session:
        """The calling session, for a tool that is only offered to one."""
        if self.session is None:
            raise ToolRefusal(f"{self.tool.name} needs a calling session")
        return self.session

    def need_chat(self) -> Chat:
        """The calling chat, likewise."""
        if self.chat is None:
            raise ToolRefusal(f"{self.tool.name} needs a calling chat")
        return self.chat


async def dispatch(call: ToolCall, tool_input: JSON) -> ToolCallResult:
    """Run the call. A refusal and a failure are results with `success` false and a sentence, never an exception.

    Its audit line is handed over when it is over, however that came: what a cancelled call has done is done.
    """
    at, began, outcome = call.host.env.clock.iso(), trio.current_time(), "cancelled"
    try:
        outcome, result = await _outcome(call, tool_input)
    finally:
        line = ToolCalled(
            at=at,
            tool=call.tool.name,
            session=None if call.session is None else call.session.uri,
            chat=None if call.chat is None else call.chat.name,
            person=call.caller.principal,
            outcome=outcome,
            ms=round((trio.current_time() - began) * 1000),
        )
        call.host.env.tools.audit.record(call.host, line)
    return result


async def _outcome(call: ToolCall, tool_input: JSON) -> tuple[str, ToolCallResult]:
    """The word of the audit line, and the result."""
    refusal = invalid(call.tool, tool_input)
    if refusal is None:
        try:
            result = _result(call, await call.tool.run(call, tool_input))
            return "ok" if result.success else "refused", result
        except ToolRefusal as refused:
            refusal = str(refused)
        except RpcError as error:
            refusal = error.message
        except ActorGone:
            refusal = "What this call was about has just gone."
        except Exception as error:
            _log.error("tool failed", tool=call.tool.name, exc=error)
            fault = f"{call.tool.name} failed in the host ({type(error).__name__})."
            return "failed", failure(f"{call.tool.title} failed", fault)
    return "refused", failure(f"{call.tool.title} failed", refusal)


def _result(call: ToolCall, answer: JSON | ToolCallResult) -> ToolCallResult:
    if isinstance(answer, ToolCallResult):
        return answer
    text = answer if isinstance(answer, str) else wire.encode(answer).decode()
    return ToolCallResult(success=True, past_tense_message=call.tool.title, content=[TextContent(text=text)])


def invalid(tool: Tool, tool_input: JSON) -> str | None:
    """What of the input does not fit the tool's schema, in a sentence that names the field and the tool."""
    found = next(iter(_validator(tool.input_schema).iter_errors(tool_input)), None)
    if found is None:
        return None
    where = found.json_path.removeprefix("$").lstrip(".")
    return f"{tool.name}: {where + ': ' if where else ''}{found.message}"


def _validator(schema: Mapping[str, JSON]) -> Any:
    return _compiled(wire.encode(schema))


@functools.lru_cache(maxsize=256)
def _compiled(schema: bytes) -> Any:
    return jsonschema.Draft202012Validator(msgspec.json.decode(schema))
