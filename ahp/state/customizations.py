"""What sessions are customized with: plugins, watched directories, MCP servers, and what is inside them (digest 2).

Pure data. Plugins and directories are containers; agents, skills, prompts, rules, hooks and MCP servers are their
children; an MCP server may also stand alone.
"""

from __future__ import annotations

from typing import TypeAlias

from ahp.state.common import ErrorInfo, Icon, ProtectedResource, TextRange
from ahp.wire import JSON, UNSET, Meta, UnsetType, Wire


class CustomizationEnablement(Wire, frozen=True, kw_only=True):
    """One decision: `kind` is session, workspace (of the folder `uri`) or global. The most specific comes first."""

    enabled: bool
    kind: str | UnsetType = UNSET
    uri: str | UnsetType = UNSET


class LoadState(Wire, frozen=True, kw_only=True):
    """How far a container is read: `kind` is loading, loaded, degraded or error; the last two have a message."""

    kind: str
    message: str | UnsetType = UNSET


class McpOAuthClient(Wire, frozen=True, kw_only=True):
    """A registered OAuth client, to be used instead of registering one."""

    client_id: str
    client_secret: str | UnsetType = UNSET


class McpServerState(Wire, frozen=True, kw_only=True):
    """How a server is: `kind` is starting, ready, authRequired, error or stopped; which other fields count follows.

    starting: `blocking` (new messages wait for it). error: `error`. authRequired: `reason` (required, expired or
    insufficientScope), the protected `resource` a token is wanted for, and how to get one.
    """

    kind: str
    blocking: bool | UnsetType = UNSET
    error: ErrorInfo | UnsetType = UNSET
    reason: str | UnsetType = UNSET
    resource: ProtectedResource | UnsetType = UNSET
    oauth_client: McpOAuthClient | UnsetType = UNSET
    required_scopes: list[str] | UnsetType = UNSET
    description: str | UnsetType = UNSET


class CustomizationBase(Wire, frozen=True, kw_only=True):
    """What every customization has: an id that is unique in the session, where it comes from, its name.

    `range` narrows `uri` to a part of a larger file. Plugins and MCP servers carry decisions in `enablement`, all
    others a plain `enabled`.
    """

    id: str
    name: str
    uri: str | UnsetType = UNSET
    icons: list[Icon] | UnsetType = UNSET
    range: TextRange | UnsetType = UNSET
    enabled: bool | UnsetType = UNSET
    enablement: list[CustomizationEnablement] | UnsetType = UNSET
    meta: Meta = UNSET


class AgentCustomization(CustomizationBase, frozen=True, kw_only=True, tag_field="type", tag="agent"):
    """A custom agent. No `tools` or an empty list is no restriction."""

    description: str | UnsetType = UNSET
    model: str | UnsetType = UNSET
    tools: list[str] | UnsetType = UNSET
    disable_model_invocation: bool | UnsetType = UNSET
    disable_user_invocation: bool | UnsetType = UNSET


class SkillCustomization(CustomizationBase, frozen=True, kw_only=True, tag_field="type", tag="skill"):
    """A skill or slash command."""

    description: str | UnsetType = UNSET
    disable_model_invocation: bool | UnsetType = UNSET
    disable_user_invocation: bool | UnsetType = UNSET


class PromptCustomization(CustomizationBase, frozen=True, kw_only=True, tag_field="type", tag="prompt"):
    """A prompt."""

    description: str | UnsetType = UNSET


class RuleCustomization(CustomizationBase, frozen=True, kw_only=True, tag_field="type", tag="rule"):
    """A rule: always active, for the files of `globs`, or when somebody chooses it."""

    description: str | UnsetType = UNSET
    always_apply: bool | UnsetType = UNSET
    globs: list[str] | UnsetType = UNSET


class HookCustomization(CustomizationBase, frozen=True, kw_only=True, tag_field="type", tag="hook"):
    """A hook manifest."""


class McpServerCustomization(CustomizationBase, frozen=True, kw_only=True, tag_field="type", tag="mcpServer"):
    """An MCP server and how it is now. `channel` leads into it (`mcp:`), where the host offers that."""

    state: McpServerState
    channel: str | UnsetType = UNSET
    mcp_app: JSON | UnsetType = UNSET


ChildCustomization: TypeAlias = (
    AgentCustomization
    | SkillCustomization
    | PromptCustomization
    | RuleCustomization
    | HookCustomization
    | McpServerCustomization
)


class ContainerCustomization(CustomizationBase, frozen=True, kw_only=True):
    """A container. No `children`: not read yet; an empty list: nothing in it. `client_id`: who contributed it."""

    client_id: str | UnsetType = UNSET
    load: LoadState | UnsetType = UNSET
    children: list[ChildCustomization] | UnsetType = UNSET


class PluginCustomization(ContainerCustomization, frozen=True, kw_only=True, tag_field="type", tag="plugin"):
    """A plugin. A client publishes it with a `nonce`, which changes when its content does."""

    version: str | UnsetType = UNSET
    nonce: str | UnsetType = UNSET
    child_enablement: dict[str, list[CustomizationEnablement]] | UnsetType = UNSET


class DirectoryCustomization(ContainerCustomization, frozen=True, kw_only=True, tag_field="type", tag="directory"):
    """A directory the host watches for customizations of the type `contents`."""

    contents: str | UnsetType = UNSET
    writable: bool | UnsetType = UNSET


Customization: TypeAlias = PluginCustomization | DirectoryCustomization | McpServerCustomization
