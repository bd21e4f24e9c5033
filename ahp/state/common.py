"""Shapes that several channels share: text, references, errors, models, settings, tools, file changes. Pure data.

Enums of the protocol are open: a value from the future is a string like any other.
"""

from __future__ import annotations

from typing import TypeAlias

import msgspec

from ahp.wire import JSON, UNSET, Meta, UnsetType, Wire


class SessionStatus:
    """Bits of a session's or chat's status: one activity (mask 31) and orthogonal flags (digest 3, ChatState)."""

    IDLE = 1
    ERROR = 2
    IN_PROGRESS = 8
    INPUT_NEEDED = 24
    ACTIVITY = 31
    IS_READ = 32
    IS_ARCHIVED = 64


class Markdown(Wire, frozen=True, kw_only=True):
    """Text to be rendered as markdown."""

    markdown: str


StringOrMarkdown: TypeAlias = str | Markdown


class ContentRef(Wire, frozen=True, kw_only=True):
    """Content held elsewhere. `nonce` changes when the content does; `size_hint` is in bytes."""

    uri: str
    size_hint: int | UnsetType = UNSET
    content_type: str | UnsetType = UNSET
    nonce: str | UnsetType = UNSET


class TextPosition(Wire, frozen=True, kw_only=True):
    """Zero-based."""

    line: int
    character: int


class TextRange(Wire, frozen=True, kw_only=True):
    start: TextPosition
    end: TextPosition


class TextSelection(Wire, frozen=True, kw_only=True):
    """A part of a textual resource."""

    range: TextRange


class Icon(Wire, frozen=True, kw_only=True):
    src: str
    content_type: str | UnsetType = UNSET
    sizes: list[str] | UnsetType = UNSET
    theme: str | UnsetType = UNSET


class ErrorInfo(Wire, frozen=True, kw_only=True):
    """What failed. `error_type` is a short word to group by."""

    error_type: str
    message: str
    stack: str | UnsetType = UNSET
    meta: Meta = UNSET


class UsageInfo(Wire, frozen=True, kw_only=True):
    """Tokens of a turn so far."""

    input_tokens: int | float | UnsetType = UNSET
    output_tokens: int | float | UnsetType = UNSET
    cache_read_tokens: int | float | UnsetType = UNSET
    model: str | UnsetType = UNSET
    meta: Meta = UNSET


class ModelSelection(Wire, frozen=True, kw_only=True):
    id: str
    config: dict[str, JSON] | UnsetType = UNSET


class AgentSelection(Wire, frozen=True, kw_only=True):
    """A custom agent by URI."""

    uri: str


class ConfigPropertySchema(Wire, frozen=True, kw_only=True):
    """One setting. `session_mutable` false: fixed once the session exists."""

    type: str
    title: str | UnsetType = UNSET
    description: str | UnsetType = UNSET
    default: JSON | UnsetType = UNSET
    enum: list[JSON] | UnsetType = UNSET
    enum_labels: list[str] | UnsetType = UNSET
    enum_descriptions: list[str] | UnsetType = UNSET
    enum_dynamic: bool | UnsetType = UNSET
    session_mutable: bool | UnsetType = UNSET
    read_only: bool | UnsetType = UNSET
    items: ConfigPropertySchema | UnsetType = UNSET
    properties: dict[str, ConfigPropertySchema] | UnsetType = UNSET
    additional_properties: JSON | UnsetType = UNSET
    required: list[str] | UnsetType = UNSET


class ConfigSchema(Wire, frozen=True, kw_only=True):
    """Settings by key."""

    properties: dict[str, ConfigPropertySchema]
    type: str = "object"
    required: list[str] | UnsetType = UNSET


class ConfigState(Wire, frozen=True, kw_only=True):
    """The settings there are, and their values now."""

    schema: ConfigSchema
    values: dict[str, JSON]


class ChangesSummary(Wire, frozen=True, kw_only=True):
    """Counts over changed files."""

    additions: int | UnsetType = UNSET
    deletions: int | UnsetType = UNSET
    files: int | UnsetType = UNSET


class FileEditSide(Wire, frozen=True, kw_only=True):
    """A file before or after an edit: where it is, and its content then."""

    uri: str
    content: ContentRef


class FileDiff(Wire, frozen=True, kw_only=True):
    """Lines."""

    added: int | UnsetType = UNSET
    removed: int | UnsetType = UNSET


class FileEdit(Wire, frozen=True, kw_only=True):
    """A created file has only `after`, a deleted one only `before`, a renamed one two URIs."""

    before: FileEditSide | UnsetType = UNSET
    after: FileEditSide | UnsetType = UNSET
    diff: FileDiff | UnsetType = UNSET


class FileEdits(Wire, frozen=True, kw_only=True):
    """A preview of edits."""

    items: list[FileEdit]


class Changeset(Wire, frozen=True, kw_only=True):
    """A view of changes that can be subscribed to; `uri_template` is expanded first (RFC 6570)."""

    label: str
    uri_template: str
    change_kind: str | UnsetType = UNSET
    description: str | UnsetType = UNSET
    icon: str | UnsetType = UNSET
    additions: int | UnsetType = UNSET
    deletions: int | UnsetType = UNSET
    files: int | UnsetType = UNSET
    meta: Meta = UNSET


class AnnotationsSummary(Wire, frozen=True, kw_only=True):
    """How many annotations and entries a session's annotations channel holds."""

    resource: str
    annotation_count: int
    entry_count: int


class ToolAnnotations(Wire, frozen=True, kw_only=True):
    """Hints about what a tool does."""

    title: str | UnsetType = UNSET
    read_only_hint: bool | UnsetType = UNSET
    destructive_hint: bool | UnsetType = UNSET
    idempotent_hint: bool | UnsetType = UNSET
    open_world_hint: bool | UnsetType = UNSET


class ToolDefinition(Wire, frozen=True, kw_only=True):
    """A tool as a model is offered it; the schemas are JSON Schema objects."""

    name: str
    title: str | UnsetType = UNSET
    description: str | UnsetType = UNSET
    input_schema: dict[str, JSON] | UnsetType = UNSET
    output_schema: dict[str, JSON] | UnsetType = UNSET
    annotations: ToolAnnotations | UnsetType = UNSET
    meta: Meta = UNSET


class ProtectedResource(Wire, frozen=True, kw_only=True):
    """What wants a token (RFC 9728, whose names these are)."""

    resource: str
    resource_name: str | UnsetType = msgspec.field(name="resource_name", default=UNSET)
    authorization_servers: list[str] | UnsetType = msgspec.field(name="authorization_servers", default=UNSET)
    scopes_supported: list[str] | UnsetType = msgspec.field(name="scopes_supported", default=UNSET)
    required: bool | UnsetType = UNSET
