"""What a host tool is: data, and one async function (design, Tools; tools page, The four sources).

A tool refuses by raising `ToolRefusal` with a sentence a model can act on; the sentence becomes an error result. What
it returns becomes the result: text as it is, anything else as JSON.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from typing import TYPE_CHECKING, Literal, TypeAlias

import msgspec

from ahp.state.chat import ToolCallResult
from ahp.state.common import ToolAnnotations
from ahp.wire import JSON

if TYPE_CHECKING:
    from actors.tools.call import ToolCall

TitleStrategy: TypeAlias = Literal["deferred", "activeAgent", "utility"]
"""Who names chats: this host after the first message, the agent itself, or a utility (tools page, The wording)."""

Family: TypeAlias = Literal["session", "artifact", "comment", "agentMerge", "own", "plugin"]
"""Which switch covers a tool: `sessionTools` covers the family `session` and nothing else."""


class ToolRefusal(Exception):
    """The call is refused; `str(refusal)` is the sentence the model reads."""


class Effects(msgspec.Struct, frozen=True, kw_only=True):
    """What running the tool does, for a policy that decides what to ask a person about. It is no permission."""

    reads: bool = False
    writes: bool = False
    network: bool = False
    destructive: bool = False


class SessionFacts(msgspec.Struct, frozen=True, kw_only=True):
    """What a tool may ask of a session to say whether and how it is offered there.

    multiple_directories: each chat has its own folder. workspace_less: it started without a folder.
    worker: it is about a chat that a tool call spawned. agents: those that may be started, names by provider id.
    """

    session: str
    provider: str
    title_strategy: TitleStrategy
    config: Mapping[str, JSON]
    multiple_directories: bool = False
    workspace_less: bool = False
    worker: bool = False
    agents: Mapping[str, str] = {}


class Wording(msgspec.Struct, frozen=True, kw_only=True):
    """What a session changes of a tool's own definition; None keeps the tool's."""

    description: str | None = None
    input_schema: Mapping[str, JSON] | None = None
    defer_loading: bool | None = None


Run: TypeAlias = "Callable[[ToolCall, Mapping[str, JSON]], Awaitable[JSON | ToolCallResult]]"


class Tool(msgspec.Struct, frozen=True, kw_only=True):
    """A tool of this host's own set, or a plugin's.

    input_schema: JSON Schema; `run` gets only input that fits it. sessionless, grant: tools page, Tools that need no
    session. advanced_permission: offered only where `advancedTools` permits it. opt_in: offered only to a session
    whose `enabledTools` setting names it. is_enabled_for_session: whether a session supports it. for_session: the
    wording it asks for. instruction: what a system prompt says while the tool is offered. defer_loading: a hint for
    harnesses that hide tools behind a search, never on the wire.
    """

    name: str
    title: str
    description: str
    input_schema: Mapping[str, JSON]
    run: Run
    family: Family = "own"
    annotations: ToolAnnotations = ToolAnnotations(read_only_hint=False)
    sessionless: bool = False
    grant: str | None = None
    advanced_permission: bool = False
    opt_in: bool = False
    effects: Effects | None = None
    is_enabled_for_session: Callable[[SessionFacts], bool] | None = None
    for_session: Callable[[SessionFacts], Wording] | None = None
    instruction: str | None = None
    defer_loading: bool | None = None


READ_ONLY = ToolAnnotations(read_only_hint=True)
WRITES = ToolAnnotations(read_only_hint=False)
DESTRUCTIVE = ToolAnnotations(read_only_hint=False, destructive_hint=True)


def schema(properties: Mapping[str, JSON] | None = None, required: list[str] | None = None) -> dict[str, JSON]:
    """A tool's input schema."""
    made: dict[str, JSON] = {"type": "object", "properties": dict(properties or {})}
    if required:
        made["required"] = required
    return made
