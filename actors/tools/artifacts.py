"""The artifact tools: a session's deliverables and references, in its `_meta` (tools page; digest 5, Artifacts).

A record is `{id, type, label, isArtifact, link?, uri?, commitHash?, isGitHub?}`, where `isGitHub` is the host's own.
"""

from __future__ import annotations

import uuid
from collections.abc import Mapping
from typing import Any
from urllib.parse import urlsplit

from actors.session_orders import SetMeta
from actors.tools.call import ToolCall
from actors.tools.tool import DESTRUCTIVE, READ_ONLY, WRITES, Tool, ToolRefusal, schema
from ahp.wire import JSON, present

META = "agentHost/sessionArtifacts"
"""The key of the session's `_meta`, which clients read too."""

_TYPES = ("pullRequest", "issue", "commit", "website", "file", "resource")
_BY_URI = ("file", "resource")
_OWN_SCHEME = "agent-host-session"


async def add(call: ToolCall, given: Mapping[str, JSON]) -> JSON:
    name = call.tool.name
    wanted = [_record(name, f"items[{at}]", item) for at, item in enumerate(given["items"])]
    lines: list[str] = []

    def change(meta: dict[str, JSON]) -> dict[str, JSON]:
        records = list(_records(meta))
        lines.extend(_put(records, record) for record in wanted)
        return {**meta, META: records}

    await call.need_session().ask(SetMeta(change))
    return "\n".join(lines)


async def remove(call: ToolCall, given: Mapping[str, JSON]) -> JSON:
    removed: list[JSON] = []

    def change(meta: dict[str, JSON]) -> dict[str, JSON]:
        kept = [record for record in _records(meta) if not _is(record, given["id"])]
        removed.extend(record for record in _records(meta) if _is(record, given["id"]))
        if not removed:
            return meta
        return {**meta, META: kept} if kept else {key: value for key, value in meta.items() if key != META}

    await call.need_session().ask(SetMeta(change))
    if not removed:
        return f"Nothing is recorded under the id {given['id']}; list_artifacts_and_references shows what is."
    return "\n".join(f"removed {_line(record)}" for record in removed)


async def list_all(call: ToolCall, _: Mapping[str, JSON]) -> JSON:
    records = _records(present(call.need_session().state.meta, {}))
    lines = [_line(record) for record in records if isinstance(record, dict)]
    return "\n".join(lines) or "Nothing is recorded for this session yet."


def _put(records: list[Any], record: dict[str, JSON]) -> str:
    """Add `record`, or promote the reference that is the same thing; nothing is ever made a reference again."""
    for at, known in enumerate(records):
        if not isinstance(known, dict) or _key(known) != _key(record):
            continue
        if not record["isArtifact"] or known.get("isArtifact", True):
            return f"already recorded {_line(known)}"
        records[at] = {**known, **record, "id": known["id"]}
        return f"promoted {_line(records[at])}"
    records.append({"id": str(uuid.uuid4()), **record})
    return f"added {_line(records[-1])}"


def _record(tool: str, where: str, item: Mapping[str, JSON]) -> dict[str, JSON]:
    kind = item["type"]
    record: dict[str, JSON] = {"type": kind, "label": _text(tool, where, item, "label")}
    record["isArtifact"] = item["isArtifact"]
    if kind in _BY_URI:
        record["uri"] = _text(tool, where, item, "uri")
        scheme = urlsplit(record["uri"]).scheme
        if not scheme:
            raise ToolRefusal(f"{tool}: {where}.uri is {record['uri']}: a URI with its scheme is expected")
        if scheme.lower() == _OWN_SCHEME:
            raise ToolRefusal(f"{tool}: {where}.uri is a session's: something the session is about is expected")
        return record
    record["link"] = _text(tool, where, item, "link")
    link = urlsplit(record["link"])
    if link.scheme.lower() not in ("http", "https") or not link.hostname:
        raise ToolRefusal(f"{tool}: {where}.link is {record['link']}: an absolute http or https URL is expected")
    if kind == "commit":
        record["commitHash"] = _text(tool, where, item, "commitHash")
    if kind in ("pullRequest", "issue"):
        host = link.hostname
        record["isGitHub"] = host == "github.com" or host.endswith(".github.com") or host.startswith("github.")
    return record


def _text(tool: str, where: str, item: Mapping[str, JSON], field: str) -> str:
    value = item.get(field)
    if not isinstance(value, str) or not value.strip():
        raise ToolRefusal(f"{tool}: {where}.{field} is missing or blank: text is expected for type {item['type']}")
    return value.strip()


def _records(meta: Mapping[str, JSON]) -> list[Any]:
    found = meta.get(META)
    return found if isinstance(found, list) else []


def _is(record: JSON, record_id: JSON) -> bool:
    return isinstance(record, dict) and record.get("id") == record_id


def _key(record: Mapping[str, JSON]) -> str:
    target = record.get("link") or record.get("uri") or record.get("commitHash") or ""
    return str(target).strip().lower()


def _line(record: Mapping[str, JSON]) -> str:
    kind = "artifact" if record.get("isArtifact", True) else "reference"
    target = record.get("link") or record.get("uri") or record.get("commitHash") or ""
    return f'{record.get("id")} {record.get("type")} {kind} "{record.get("label")}" {target}'


_ITEM = {
    "type": "object",
    "properties": {
        "type": {"type": "string", "enum": list(_TYPES)},
        "label": {"type": "string", "description": "What a person reads, such as a title."},
        "isArtifact": {
            "type": "boolean",
            "description": "true: this session makes or changes it. false: it only points to it.",
        },
        "link": {"type": "string", "description": "An http or https URL; for all types but file and resource."},
        "uri": {"type": "string", "description": "A URI with its scheme; for file and resource."},
        "commitHash": {"type": "string", "description": "For commit."},
    },
    "required": ["type", "label", "isArtifact"],
}

TOOLS = [
    Tool(
        name="add_artifact_or_reference",
        title="Add Artifact or Reference",
        description=(
            "Record what somebody will want to reopen: artifacts (what this session delivers: a pull request, an issue "
            "being worked on, a result) and references (what already exists and is worth a look). What is recorded "
            "already stays as it is; a reference that turns out to be a deliverable becomes an artifact."
        ),
        input_schema=schema({"items": {"type": "array", "minItems": 1, "items": _ITEM}}, ["items"]),
        family="artifact",
        annotations=WRITES,
        instruction=(
            "When you create or set out to fix a pull request or an issue, make a result a person will open again, or "
            "come upon something they should look at, record it with add_artifact_or_reference, several in one call. "
            "Nobody asks for it. To list or remove what is recorded, look for the tools named "
            "list_artifacts_and_references and remove_artifact_or_reference."
        ),
        defer_loading=False,
        run=add,
    ),
    Tool(
        name="remove_artifact_or_reference",
        title="Remove Artifact or Reference",
        description="Remove one recorded artifact or reference by the id that listing or adding it told.",
        input_schema=schema({"id": {"type": "string"}}, ["id"]),
        family="artifact",
        annotations=DESTRUCTIVE,
        defer_loading=True,
        run=remove,
    ),
    Tool(
        name="list_artifacts_and_references",
        title="List Artifacts and References",
        description="List this session's artifacts and references: id, type, which of the two, label and target.",
        input_schema=schema(),
        family="artifact",
        annotations=READ_ONLY,
        defer_loading=True,
        run=list_all,
    ),
]
