"""The actions of the automation catalogue and of an automation's run. Pure data."""

from __future__ import annotations

from typing import TypeAlias

from ahp.state.automation import (
    AutomationDefinition,
    AutomationDefinitionPatch,
    AutomationEntry,
    AutomationRunLifecycle,
)
from ahp.wire import UNSET, UnsetType, Wire


class AutomationCreateRequested(Wire, frozen=True, kw_only=True, tag_field="type", tag="automation/createRequested"):
    """The client chose `resource`. Changes no state: the host answers with `AutomationSet`."""

    resource: str
    definition: AutomationDefinition


class AutomationUpdateRequested(Wire, frozen=True, kw_only=True, tag_field="type", tag="automation/updateRequested"):
    """Changes no state: the host answers with `AutomationSet`."""

    resource: str
    changes: AutomationDefinitionPatch


class AutomationSet(Wire, frozen=True, kw_only=True, tag_field="type", tag="automation/set"):
    automation: AutomationEntry


class AutomationRemoved(Wire, frozen=True, kw_only=True, tag_field="type", tag="automation/removed"):
    resource: str


AutomationAction: TypeAlias = AutomationCreateRequested | AutomationUpdateRequested | AutomationSet | AutomationRemoved


class AutomationRunLifecycleChanged(
    Wire, frozen=True, kw_only=True, tag_field="type", tag="automationRun/lifecycleChanged"
):
    lifecycle: AutomationRunLifecycle
    operations: list[str]


class AutomationRunSessionSet(Wire, frozen=True, kw_only=True, tag_field="type", tag="automationRun/sessionSet"):
    session: str


class AutomationRunSessionRemoved(
    Wire, frozen=True, kw_only=True, tag_field="type", tag="automationRun/sessionRemoved"
):
    session: str


class AutomationRunPrimarySessionChanged(
    Wire, frozen=True, kw_only=True, tag_field="type", tag="automationRun/primarySessionChanged"
):
    primary_session: str | UnsetType = UNSET


class AutomationRunCancelRequested(
    Wire, frozen=True, kw_only=True, tag_field="type", tag="automationRun/cancelRequested"
):
    """Changes no state: the run ends when the host says so."""


AutomationRunAction: TypeAlias = (
    AutomationRunLifecycleChanged
    | AutomationRunSessionSet
    | AutomationRunSessionRemoved
    | AutomationRunPrimarySessionChanged
    | AutomationRunCancelRequested
)
