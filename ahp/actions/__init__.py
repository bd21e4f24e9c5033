"""Every channel's actions: how one is read, which channel it belongs to, and who may dispatch it.

An action of a type from the future is a `wire.Unknown` with all its fields; reducers pass over it.
"""

from typing import Any, Final

import msgspec

from ahp import wire
from ahp.actions.annotations import AnnotationsAction
from ahp.actions.automation import AutomationAction, AutomationRunAction
from ahp.actions.changeset import ChangesetAction
from ahp.actions.chat import ChatAction
from ahp.actions.resource_watch import ResourceWatchAction
from ahp.actions.root import RootAction
from ahp.actions.session import SessionAction
from ahp.actions.terminal import TerminalAction
from ahp.versions import INTRODUCED_IN

__all__ = [
    "CLIENT_DISPATCHABLE",
    "INTRODUCED_IN",
    "UNIONS",
    "AnnotationsAction",
    "AutomationAction",
    "AutomationRunAction",
    "ChangesetAction",
    "ChatAction",
    "ResourceWatchAction",
    "RootAction",
    "SessionAction",
    "TerminalAction",
    "channel_of",
    "decode",
    "type_of",
]

_CLIENT = """
    root/configChanged
    session/titleChanged session/isReadChanged session/isArchivedChanged session/configChanged
    session/activeClientSet session/activeClientRemoved
    session/workingDirectorySet session/workingDirectoryRemoved session/workingDirectoryReplaced
    session/customizationToggled
    session/mcpServerStartRequested session/mcpServerStopRequested session/mcpServerBackgroundRequested
    chat/turnStarted chat/turnCancelled chat/turnResume chat/truncated
    chat/toolCallConfirmed chat/toolCallComplete chat/toolCallResultConfirmed chat/toolCallContentChanged
    chat/inputAnswerChanged chat/inputCompleted
    chat/pendingMessageSet chat/pendingMessageRemoved chat/queuedMessagesReordered
    chat/steeringMessageSet chat/steeringMessageRemoved
    chat/draftChanged chat/isReadChanged chat/isArchivedChanged
    chat/workingDirectorySet chat/workingDirectoryRemoved
    changeset/filesReviewChanged
    annotations/set annotations/updated annotations/removed annotations/entrySet annotations/entryRemoved
    terminal/input terminal/resized terminal/claimed terminal/titleChanged terminal/cleared
    automation/createRequested automation/updateRequested automation/removed automationRun/cancelRequested
"""

CLIENT_DISPATCHABLE: Final = frozenset(_CLIENT.split())
"""What a client may dispatch; every other action is the host's."""


class _NoAction(wire.Wire, frozen=True, tag_field="type", tag=""):
    """Makes the union of a channel that has one action, so that its others are read as unknown."""


UNIONS: Final[dict[str, Any]] = {
    "root": RootAction,
    "session": SessionAction,
    "chat": ChatAction,
    "changeset": ChangesetAction,
    "annotations": AnnotationsAction,
    "terminal": TerminalAction,
    "resourceWatch": ResourceWatchAction | _NoAction,
    "automation": AutomationAction,
    "automationRun": AutomationRunAction,
}
"""The union of a channel kind's actions; the kinds are the prefixes of the types."""


def decode(kind: str, raw: msgspec.Raw | bytes | str) -> wire.Wire:
    """An action of a channel of that kind, from JSON; of a type it does not have, a `wire.Unknown`.

    Raises `msgspec.DecodeError` (`ValidationError` with the path of what is wrong); `KeyError` for an unknown kind.
    """
    action: wire.Wire = wire.decode(raw, UNIONS[kind])
    return action


def type_of(action: msgspec.Struct) -> str:
    """The action's type, such as `chat/delta`."""
    return wire.tag_of(action)


def channel_of(action_type: str) -> str | None:
    """The kind of the channel that an action type belongs to; None where no channel has it."""
    kind = action_type.partition("/")[0]
    return kind if kind in UNIONS else None
