"""The automation channels' state: the catalogue (`ahp-automations://`) and one run (`ahp-automation-run:/<id>`).

Pure data. An automation makes sessions from a template, when a trigger fires or a person asks.
"""

from __future__ import annotations

from typing import TypeAlias

from ahp.state.chat import Message
from ahp.state.common import AgentSelection, ErrorInfo, ModelSelection, UsageInfo
from ahp.state.customizations import PluginCustomization
from ahp.wire import JSON, UNSET, Meta, UnsetType, Wire


class AutomationSchedule(Wire, frozen=True, kw_only=True):
    """Five cron fields, read in an IANA time zone."""

    expression: str
    time_zone: str


class ScheduleTrigger(Wire, frozen=True, kw_only=True, tag_field="kind", tag="schedule"):
    """`misfire_policy`: skip, or runOnce (which no policy means as well)."""

    id: str
    schedule: AutomationSchedule
    misfire_policy: str | UnsetType = UNSET


class TriggerEvent(Wire, frozen=True, kw_only=True):
    id: str
    title: str
    description: str | UnsetType = UNSET


class EventTrigger(Wire, frozen=True, kw_only=True, tag_field="kind", tag="event"):
    """Something outside happens; `type` is one the host knows."""

    id: str
    type: str
    title: str
    events: list[TriggerEvent]
    description: str | UnsetType = UNSET
    config: dict[str, JSON] | UnsetType = UNSET


AutomationTrigger: TypeAlias = ScheduleTrigger | EventTrigger


class AutomationSessionTemplate(Wire, frozen=True, kw_only=True):
    """What each run's session is made from."""

    provider: str | UnsetType = UNSET
    model: ModelSelection | UnsetType = UNSET
    agent: AgentSelection | UnsetType = UNSET
    working_directories: list[str] | UnsetType = UNSET
    config: dict[str, JSON] | UnsetType = UNSET
    customizations: list[PluginCustomization] | UnsetType = UNSET


class AutomationDefinition(Wire, frozen=True, kw_only=True):
    """What clients edit. `enabled` is about the triggers; a person may run it all the same."""

    title: str
    message: Message
    session: AutomationSessionTemplate
    enabled: bool
    triggers: list[AutomationTrigger]
    meta: Meta = UNSET


class AutomationDefinitionPatch(Wire, frozen=True, kw_only=True):
    """Fields of a definition to be replaced whole."""

    title: str | UnsetType = UNSET
    message: Message | UnsetType = UNSET
    session: AutomationSessionTemplate | UnsetType = UNSET
    enabled: bool | UnsetType = UNSET
    triggers: list[AutomationTrigger] | UnsetType = UNSET
    meta: Meta = UNSET


class ManualOrigin(Wire, frozen=True, kw_only=True, tag_field="kind", tag="manual"):
    """A person asked for the run."""


class TriggerOrigin(Wire, frozen=True, kw_only=True, tag_field="kind", tag="trigger"):
    """A trigger fired; `scheduled_for` is ISO 8601 UTC."""

    trigger_id: str
    scheduled_for: str | UnsetType = UNSET
    catch_up: bool | UnsetType = UNSET
    event: dict[str, JSON] | UnsetType = UNSET


AutomationRunOrigin: TypeAlias = ManualOrigin | TriggerOrigin


class AutomationRunLifecycle(Wire, frozen=True, kw_only=True):
    """`status`: pending, running, completed, failed or cancelled; the last three are the end. Times: ISO 8601 UTC."""

    status: str
    created_at: str
    started_at: str | UnsetType = UNSET
    completed_at: str | UnsetType = UNSET
    usage: UsageInfo | UnsetType = UNSET
    error: ErrorInfo | UnsetType = UNSET


class AutomationRunSummary(Wire, frozen=True, kw_only=True):
    """A run as its automation's history shows it."""

    resource: str
    automation: str
    origin: AutomationRunOrigin
    lifecycle: AutomationRunLifecycle
    session_count: int
    operations: list[str]
    primary_session: str | UnsetType = UNSET
    meta: Meta = UNSET


class AutomationEntry(Wire, frozen=True, kw_only=True):
    """An automation; `operations` (update, remove, run) are what may be done with it now. Newest run first."""

    resource: str
    definition: AutomationDefinition
    runs: list[AutomationRunSummary]
    operations: list[str]
    created_at: str
    modified_at: str
    next_run_at: str | UnsetType = UNSET
    runs_next_cursor: str | UnsetType = UNSET
    customizations: list[PluginCustomization] | UnsetType = UNSET
    meta: Meta = UNSET


class AutomationState(Wire, frozen=True, kw_only=True):
    """Every automation that the client may see."""

    entries: list[AutomationEntry]
    meta: Meta = UNSET


class AutomationRunState(Wire, frozen=True, kw_only=True):
    """One run and its sessions, each URI once."""

    resource: str
    automation: str
    origin: AutomationRunOrigin
    lifecycle: AutomationRunLifecycle
    sessions: list[str]
    operations: list[str]
    primary_session: str | UnsetType = UNSET
    meta: Meta = UNSET
