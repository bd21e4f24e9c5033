"""What a backend is to this host: the two classes to write one, and what the host gives it in return.

A backend is an `Agent`: it says what it is and opens an `AgentChat` for each chat. Running a turn is one coroutine,
`AgentChat.run_turn`: while it runs the turn is active, when it returns the turn is complete, when it raises
`AgentError` the turn ends in an error, and when the person stops the turn it is cancelled (a Trio cancellation).
All the model says and does goes through the `TurnPort` it is given. There is nothing to register and nothing to
poll, and a backend never touches a channel's state.

The smallest useful backend:

    class Parrot(Agent):
        provider = "parrot"
        display_name = "Parrot"

        async def open_chat(self, start):
            return ParrotChat()

    class ParrotChat(AgentChat):
        async def run_turn(self, turn, port):
            await port.text(turn.message.text)
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Protocol

import msgspec

from ahp.actions.chat import ChatAction
from ahp.state.chat import (
    ChatInputAnswer,
    ChatInputRequest,
    ConfirmationOption,
    Message,
    PendingMessage,
    ToolCallContributor,
    ToolCallResult,
    ToolResultContent,
    Turn,
)
from ahp.state.common import ConfigSchema, ModelSelection, ProtectedResource, StringOrMarkdown, ToolDefinition
from ahp.state.root import AgentCapabilities, MultipleChats, MultipleWorkingDirectories, SessionModelInfo
from ahp.wire import JSON, UNSET


class AgentError(Exception):
    """The backend could not finish the turn. `message` is for the person; the session stays usable.

    error_type: a short word clients may group by, such as `rateLimit`. resumable: whether the same turn may be
    taken up again (`chat/turnResume`). detail: more for whoever looks closer, never a secret.
    """

    def __init__(self, message: str, *, error_type: str = "agent", resumable: bool = False, detail: str = "") -> None:
        super().__init__(message)
        self.message = message
        self.error_type = error_type
        self.resumable = resumable
        self.detail = detail


class Start(msgspec.Struct, frozen=True, kw_only=True):
    """What a chat's backend is started with. It is closed and started anew when one of these changes.

    folders: absolute, the first is where it works; one only unless the agent has `multiple_directories`.
    config: the chat's settings, checked against `Agent.config_schema`. history: the completed turns so far.
    model: the one for messages that name none. resume: what `AgentChat.resume_token` answered last time, or None.
    tools: the tools the model is offered now. instructions: what the host adds to the system prompt.
    mcp_servers: by name, in the shape of the tools page. client_tool_timeout: seconds a client's tool may take, None
    for ever (tools page, A client's tools).
    """

    session: str
    chat: str
    folders: Sequence[Path]
    config: Mapping[str, JSON]
    history: Sequence[Turn]
    model: ModelSelection | None = None
    resume: JSON = None
    tools: Sequence[ToolDefinition] = ()
    instructions: str = ""
    mcp_servers: Mapping[str, JSON] = msgspec.field(default_factory=dict)
    client_tool_timeout: float | None = 600.0


class TurnInput(msgspec.Struct, frozen=True, kw_only=True):
    """The turn to run. `resumed` means the turn failed before and is taken up again with what it had."""

    turn_id: str
    message: Message
    resumed: bool = False


class Confirmation(msgspec.Struct, frozen=True, kw_only=True):
    """A person's answer to a confirmation. `reason`: denied or skipped. `tool_input` is set when it was edited."""

    approved: bool
    reason: str | None = None
    reason_message: StringOrMarkdown | None = None
    suggestion: Message | None = None
    selected_option: ConfirmationOption | None = None
    tool_input: str | None = None


class InputOutcome(msgspec.Struct, frozen=True, kw_only=True):
    """A person's answer to a question: accept, decline or cancel. `answers` by question id, complete for `accept`."""

    response: str
    answers: Mapping[str, ChatInputAnswer]


class ToolCall(Protocol):
    """One of the agent's own tool calls, drawn in the chat. Verbs in the order of its life."""

    tool_call_id: str

    async def delta(self, content: str) -> None:
        """More of the input as the model writes it."""

    async def ready(self, tool_input: str, invocation_message: StringOrMarkdown) -> None:
        """The input is whole and needs nobody's consent: the call is running."""

    async def confirm(
        self,
        tool_input: str,
        invocation_message: StringOrMarkdown,
        *,
        title: StringOrMarkdown | None = None,
        options: Sequence[ConfirmationOption] = (),
        edits: Sequence[JSON] = (),
        editable: bool = False,
    ) -> Confirmation:
        """Ask a person, and wait for the answer. Approved: the call is running. Denied: it is over."""

    async def content(self, content: Sequence[ToolResultContent]) -> None:
        """What the running call has to show so far, whole each time."""

    async def complete(self, result: ToolCallResult) -> None:
        """The call is over."""


class TurnPort(Protocol):
    """What a running turn may do. Every method waits while the chat is busy: that is the backpressure."""

    turn_id: str

    async def text(self, content: str) -> None:
        """More of the reply; opens a markdown part when the last part is none."""

    async def reasoning(self, content: str) -> None:
        """More of the model's thinking, likewise."""

    async def tool_call(
        self,
        name: str,
        *,
        display_name: str | None = None,
        intention: str | None = None,
        tool_call_id: str | None = None,
        contributor: ToolCallContributor | None = None,
    ) -> ToolCall:
        """Begin a call of one of the agent's own tools."""

    async def call_tool(self, name: str, tool_input: JSON, *, tool_call_id: str | None = None) -> ToolCallResult:
        """Call a tool the host offered (`Start.tools`), drawn in the chat from start to end, and wait for its result.

        A client's tool is named `<clientId>__<name>` and runs at that client. A failure is a result with
        `success` false, never an exception, so a model can be told.
        """

    async def ask(self, request: ChatInputRequest) -> InputOutcome:
        """Ask a person a question (the protocol's input request), and wait."""

    async def usage(self, *, input_tokens: int, output_tokens: int, model: str | None = None) -> None:
        """Report the turn's usage so far; the latest wins."""

    async def emit(self, action: ChatAction) -> None:
        """Publish any host action of the chat channel: for what the verbs above do not cover."""

    async def worker(self, title: str, tool_call_id: str, prompt: str) -> WorkerPort:
        """Open a worker chat for a subagent that `tool_call_id` spawned, its first turn running."""

    async def next_steering(self) -> PendingMessage:
        """Wait for a message that a person sent to steer this turn, and take it (each is taken once)."""


class WorkerPort(Protocol):
    """A subagent's chat while it works: its turn's port, and the way to end it."""

    @property
    def chat(self) -> str: ...
    @property
    def port(self) -> TurnPort: ...

    async def finish(self, error: AgentError | None = None) -> None:
        """End the worker's turn, complete or with `error`."""


class AgentChat(ABC):
    """A chat's running backend. One turn at a time; `close` ends it whatever it does."""

    @abstractmethod
    async def run_turn(self, turn: TurnInput, port: TurnPort) -> None:
        """Run one turn to its end. Cancelled when the person stops it: stop the model, and return soon."""

    def resume_token(self) -> JSON:
        """What `Start.resume` should be after a restart (kept with each ended turn); None for nothing."""
        return None

    async def tools_changed(self, tools: Sequence[ToolDefinition]) -> None:  # noqa: B027
        """Between turns: the tools offered from the next turn on."""

    async def rewind(self, turns: Sequence[Turn]) -> None:  # noqa: B027
        """Between turns: history was cut to `turns`."""

    async def close(self) -> None:  # noqa: B027
        """End processes and release what is held. Called once, shielded, with a deadline of a few seconds."""


class Agent(ABC):
    """A backend. Class attributes and the methods below are all the host asks; only `open_chat` is required.

    multiple_directories: a chat may work in several folders, and each chat has its own. multiple_chats, fork,
    side_chat: what createChat may ask. inherited_chat_config: the settings a session started by a tool takes from
    the calling chat (tools page, create_session). takes_mcp_servers: whether `Start.mcp_servers` is used.
    in_process_tools: whether it calls `TurnPort.call_tool`; otherwise it is handed the tools endpoint.
    """

    provider: str
    display_name: str
    description: str = ""
    multiple_directories: bool = False
    multiple_chats: bool = True
    fork: bool = False
    side_chat: bool = False
    resumes_turns: bool = False
    inherited_chat_config: Sequence[str] = ()
    takes_mcp_servers: bool = False
    in_process_tools: bool = True
    protected_resources: Sequence[ProtectedResource] = ()

    @abstractmethod
    async def open_chat(self, start: Start) -> AgentChat:
        """Start the backend of one chat. Raises `AgentError` with what is wrong and what to do."""

    async def models(self) -> Sequence[SessionModelInfo]:
        """The models on offer, the default first. May ask the network; called at start and now and then."""
        return ()

    async def config_schema(self, folder: Path | None) -> ConfigSchema:
        """The settings a session of this agent takes, given the folder it would work in."""
        return ConfigSchema(type="object", properties={})

    def capabilities(self) -> AgentCapabilities:
        """What `AgentInfo.capabilities` says; it follows from the attributes."""
        chats = MultipleChats(fork=True if self.fork else UNSET, side_chat=True if self.side_chat else UNSET)
        return AgentCapabilities(
            multiple_chats=chats if self.multiple_chats else UNSET,
            multiple_working_directories=MultipleWorkingDirectories() if self.multiple_directories else UNSET,
        )

    async def authenticate(self, resource: str, token: str) -> None:  # noqa: B027
        """A client's token for one of `protected_resources`; an empty one revokes. Raises `RpcError` to refuse it."""

    async def close(self) -> None:  # noqa: B027
        """The host is going down."""
