"""The one table of protocol versions: which this host speaks, and since when each action and notification exists.

Facts of the public registry (types/version/registry.ts). 0.10 added canvases to 0.9, and 1.0 only added to 0.10, so one
set of types speaks all three; what a client does not know it is not sent (`knows`).
"""

from __future__ import annotations

import re
from collections.abc import Iterable

__all__ = [
    "CURRENT",
    "INTRODUCED_IN",
    "NOTIFICATIONS_INTRODUCED_IN",
    "SUPPORTED",
    "SUPPORTED_RANGES",
    "at_least",
    "knows",
    "negotiate",
]

SUPPORTED = ("1.0.0", "0.10.0", "0.9.0")
"""The baselines, most preferred first: each stands for what is compatible with it."""
SUPPORTED_RANGES = tuple(f"^{version}" for version in SUPPORTED)
"""For the data of UnsupportedProtocolVersion."""
CURRENT = SUPPORTED[0]

_SEMVER = re.compile(r"(0|[1-9]\d{0,8})\.(0|[1-9]\d{0,8})\.(0|[1-9]\d{0,8})")


def negotiate(offered: Iterable[str]) -> str | None:
    """The first of the client's versions (its preference) that this host can speak; None where there is none.

    Compatible is what a caret range takes: the same major, under 1.0 the same minor, and not older than the baseline.
    What is no `MAJOR.MINOR.PATCH` is passed over.
    """
    return next((version for version in offered if _is_supported(version)), None)


def _is_supported(version: str) -> bool:
    parsed = _parse(version)
    return parsed is not None and any(_in_caret_range(parsed, baseline) for baseline in map(_parse, SUPPORTED))


def _in_caret_range(version: tuple[int, int, int], baseline: tuple[int, int, int] | None) -> bool:
    if baseline is None or version < baseline or version[0] != baseline[0]:
        return False
    return version[0] > 0 or (version[1] == baseline[1] and (version[1] > 0 or version[2] == baseline[2]))


def _parse(version: str) -> tuple[int, int, int] | None:
    match = _SEMVER.fullmatch(version)
    return None if match is None else (int(match[1]), int(match[2]), int(match[3]))


def at_least(version: str, wanted: str) -> bool:
    """Whether `version` is `wanted` or later. Raises `ValueError` for what is no `MAJOR.MINOR.PATCH`."""
    left, right = _parse(version), _parse(wanted)
    if left is None or right is None:
        raise ValueError(f"{version if left is None else wanted!r} is no version: MAJOR.MINOR.PATCH is expected")
    return left >= right


def knows(version: str, name: str) -> bool:
    """Whether a peer of that version knows the action type or notification; what is in no table is an extension's."""
    since = INTRODUCED_IN.get(name) or NOTIFICATIONS_INTRODUCED_IN.get(name)
    return since is None or at_least(version, since)


_ACTIONS = {
    "0.1.0": """
        root/agentsChanged root/activeSessionsChanged root/terminalsChanged root/configChanged
        session/ready session/creationFailed session/titleChanged session/serverToolsChanged
        session/customizationsChanged session/customizationToggled session/customizationUpdated
        session/isReadChanged session/isArchivedChanged session/activityChanged session/configChanged
        session/metaChanged
        terminal/data terminal/input terminal/resized terminal/claimed terminal/titleChanged terminal/cwdChanged
        terminal/exited terminal/cleared terminal/commandDetectionAvailable terminal/commandExecuted
        terminal/commandFinished
    """,
    "0.2.0": """
        session/customizationRemoved session/changesetsChanged
        changeset/statusChanged changeset/fileSet changeset/fileRemoved changeset/operationsChanged changeset/cleared
        resourceWatch/changed
    """,
    "0.3.0": "session/mcpServerStateChanged changeset/operationStatusChanged",
    "0.4.0": """
        session/chatAdded session/chatRemoved session/chatUpdated session/defaultChatChanged
        chat/turnStarted chat/delta chat/reasoning chat/responsePart chat/usage chat/turnComplete chat/turnCancelled
        chat/error chat/toolCallStart chat/toolCallDelta chat/toolCallReady chat/toolCallConfirmed
        chat/toolCallComplete chat/toolCallResultConfirmed chat/toolCallContentChanged
        chat/inputRequested chat/inputAnswerChanged chat/inputCompleted chat/truncated
        chat/pendingMessageSet chat/pendingMessageRemoved chat/queuedMessagesReordered
        changeset/contentChanged
        annotations/set annotations/updated annotations/removed annotations/entrySet annotations/entryRemoved
    """,
    "0.5.0": "session/activeClientSet session/activeClientRemoved chat/activityChanged chat/draftChanged",
    "0.5.1": "session/inputNeededSet session/inputNeededRemoved chat/turnsLoaded",
    "0.5.2": "session/mcpServerStartRequested session/mcpServerStopRequested",
    "0.6.0": "chat/toolCallAuthRequired chat/toolCallAuthResolved changeset/filesReviewChanged",
    "0.7.0": """
        session/workingDirectorySet session/workingDirectoryRemoved
        chat/workingDirectorySet chat/workingDirectoryRemoved
    """,
    "0.8.0": """
        session/workingDirectoryReplaced
        automation/createRequested automation/updateRequested automation/set automation/removed
        automationRun/lifecycleChanged automationRun/sessionSet automationRun/sessionRemoved
        automationRun/primarySessionChanged automationRun/cancelRequested
    """,
    # The steering list is agreed on by a pair of capabilities, not by a version; clients of 0.9 use it.
    "0.9.0": """
        session/chatsReordered session/mcpServerBackgroundRequested
        chat/turnResume chat/backgroundWorkSet chat/backgroundWorkRemoved chat/movableChanged chat/changesetsChanged
        chat/isReadChanged chat/isArchivedChanged chat/steeringMessageSet chat/steeringMessageRemoved
    """,
    "0.10.0": "chat/canvasesChanged canvas/stateChanged",
}

_NOTIFICATIONS = {
    "0.1.0": "root/sessionAdded root/sessionRemoved root/sessionSummaryChanged auth/required",
    "0.2.0": "otlp/exportLogs otlp/exportTraces otlp/exportMetrics",
    "0.5.0": "root/progress",
    "1.0.0": "chat/moved",
    "1.1.0": "channel/frame channel/credit channel/ready channel/reset channel/snapshot tcp/data tcp/eof",
}

INTRODUCED_IN: dict[str, str] = {name: since for since, names in _ACTIONS.items() for name in names.split()}
"""The version that introduced each action type."""
NOTIFICATIONS_INTRODUCED_IN: dict[str, str] = {
    name: since for since, names in _NOTIFICATIONS.items() for name in names.split()
}
"""The version that introduced each notification of the host (`action` has always been there)."""
