"""The state of every channel, as a subscriber's snapshot has it. Pure data; one module a channel.

The names that most code needs can be had from here; the rest is in the modules.
"""

from ahp.state.annotations import Annotation, AnnotationEntry, AnnotationsState
from ahp.state.automation import AutomationEntry, AutomationRunState, AutomationState
from ahp.state.changeset import ChangesetFile, ChangesetOperation, ChangesetState
from ahp.state.chat import ActiveTurn, ChatState, ChatSummary, Message, PendingMessage, ToolCallState, Turn
from ahp.state.common import (
    AnnotationsSummary,
    Changeset,
    ChangesSummary,
    ConfigSchema,
    ConfigState,
    ErrorInfo,
    ModelSelection,
    SessionStatus,
    ToolDefinition,
    UsageInfo,
)
from ahp.state.resource_watch import ResourceWatchState
from ahp.state.root import AgentCapabilities, AgentInfo, RootState, SessionModelInfo
from ahp.state.session import SessionActiveClient, SessionInputRequest, SessionState, SessionSummary
from ahp.state.terminal import TerminalClaim, TerminalInfo, TerminalState

__all__ = [
    "ActiveTurn",
    "AgentCapabilities",
    "AgentInfo",
    "Annotation",
    "AnnotationEntry",
    "AnnotationsState",
    "AnnotationsSummary",
    "AutomationEntry",
    "AutomationRunState",
    "AutomationState",
    "ChangesSummary",
    "Changeset",
    "ChangesetFile",
    "ChangesetOperation",
    "ChangesetState",
    "ChatState",
    "ChatSummary",
    "ConfigSchema",
    "ConfigState",
    "ErrorInfo",
    "Message",
    "ModelSelection",
    "PendingMessage",
    "ResourceWatchState",
    "RootState",
    "SessionActiveClient",
    "SessionInputRequest",
    "SessionModelInfo",
    "SessionState",
    "SessionStatus",
    "SessionSummary",
    "TerminalClaim",
    "TerminalInfo",
    "TerminalState",
    "ToolCallState",
    "ToolDefinition",
    "Turn",
    "UsageInfo",
]
