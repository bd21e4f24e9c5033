"""A session as `list_sessions` and `get_current_session` show it: the catalogue's row in a model's words.

What the catalogue does not hold (changesets, `_meta`, the agent of a chat) is asked of the awake session, or read from
the store in one look for all sleeping ones. A key is there only where there is something to say.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING

import msgspec

from actors.session_record import ChatPrivate
from actors.store import chats as chat_records
from actors.store import sessions as session_records
from actors.tools.session_lookup import default_chat, open_link
from ahp import wire
from ahp.state.chat import ToolOrigin
from ahp.state.common import Changeset, SessionStatus
from ahp.state.session import SessionChatSummary, SessionSummary
from ahp.wire import JSON, Wire, present

if TYPE_CHECKING:
    from actors.host import Host

STATUS_NAMES = ("idle", "inProgress", "inputNeeded", "error", "archived")


class Details(msgspec.Struct, frozen=True):
    """meta: the session's `_meta`. harness: the agents of the chats that run on another than the session's, by chat."""

    meta: Mapping[str, JSON] = {}
    changesets: Sequence[Changeset] = ()
    harness: Mapping[str, str] = {}


class _Kept(msgspec.Struct):
    """The part of a kept session state that a row shows; the rest is skipped, not decoded."""

    meta: dict[str, JSON] = msgspec.field(name="_meta", default_factory=dict)
    changesets: msgspec.Raw = msgspec.Raw(b"[]")


_kept = msgspec.json.Decoder(_Kept)
_private = msgspec.json.Decoder(ChatPrivate)


def status_names(bits: int) -> list[str]:
    """What the status bits say, in the words of the tools; empty where they name nothing (digest 5, list_sessions)."""
    names: list[str] = []
    if bits & SessionStatus.INPUT_NEEDED == SessionStatus.INPUT_NEEDED:
        names.append("inputNeeded")
    elif bits & SessionStatus.IN_PROGRESS:
        names.append("inProgress")
    elif bits & SessionStatus.IDLE:
        names.append("idle")
    if bits & SessionStatus.ERROR:
        names.append("error")
    if bits & SessionStatus.IS_ARCHIVED:
        names.append("archived")
    return names


def harness_of(private: ChatPrivate, provider: str) -> str | None:
    """The agent of a chat that runs another than its session's, whose `provider` is given."""
    return None if private.agent == provider else private.agent


async def details_of(host: Host, summaries: Iterable[SessionSummary]) -> dict[str, Details]:
    """The details of each session, by URI. A session that has just gone has none to show."""
    found: dict[str, Details] = {}
    asleep: dict[str, SessionSummary] = {}
    for summary in summaries:
        session = host.sessions.get(summary.resource)
        if session is None:
            asleep[summary.resource] = summary
            continue
        agents = {uri: harness_of(chat.private, summary.provider) for uri, chat in session.chats.items()}
        found[summary.resource] = Details(
            meta=present(session.state.meta, {}),
            changesets=present(session.state.changesets, []),
            harness={uri: agent for uri, agent in agents.items() if agent is not None},
        )
    if asleep:
        found.update(await _asleep(host, asleep))
    return found


async def _asleep(host: Host, summaries: Mapping[str, SessionSummary]) -> dict[str, Details]:
    several = [uri for uri, summary in summaries.items() if len(present(summary.chats, [])) > 1]
    states, privates = await host.env.store.read(
        lambda c: (session_records.states(list(summaries))(c), chat_records.privates(several)(c))
    )
    found: dict[str, Details] = {}
    for uri, state in states.items():
        kept = _kept.decode(state)
        provider = summaries[uri].provider
        harness: dict[str, str] = {}
        for chat in present(summaries[uri].chats, []):
            if chat.resource in privates:
                agent = harness_of(_private.decode(privates[chat.resource]), provider)
                if agent is not None:
                    harness[chat.resource] = agent
        found[uri] = Details(kept.meta, wire.decode(bytes(kept.changesets), list[Changeset]), harness)
    return found


def row(summary: SessionSummary, details: Details) -> dict[str, JSON]:
    """The session's row (digest 5, list_sessions; tools page, `chats`)."""
    link = open_link(summary)
    folders = present(summary.working_directories, [])
    project = present(summary.project, None)
    changes = present(summary.changes, None)
    made: dict[str, JSON] = {
        "session": summary.resource,
        "openLink": link,
        "title": summary.title,
        "status": _status(summary.status),
        "activity": present(summary.activity, ""),
        "workingDirectory": folders[0] if folders else None,
        "workingDirectories": folders if len(folders) > 1 else None,
        "project": None if project is None else project.display_name,
        "projectUri": None if project is None else project.uri,
        "unread": None if summary.status & SessionStatus.IS_READ else True,
        "createdAt": summary.created_at,
        "modifiedAt": summary.modified_at,
        "changes": None if changes is None else wire.to_builtins(changes),
        "changesets": [_changeset(changeset) for changeset in details.changesets],
        "git": _slot(details.meta, "git", _GIT),
        "github": _slot(details.meta, "github", _GITHUB),
        "chats": _chats(summary, details, link),
    }
    return {key: value for key, value in made.items() if value not in (None, "", [], {})}


def _status(bits: int) -> str:
    return ",".join(status_names(bits)) or "unknown"


def _changeset(changeset: Wire) -> dict[str, JSON]:
    shown = wire.to_builtins(changeset)
    return {key: shown[key] for key in ("label", "changeKind", "uriTemplate", "description") if key in shown}


_GIT = {
    "branch": "branchName",
    "baseBranch": "baseBranchName",
    "upstreamBranch": "upstreamBranchName",
    "ahead": "outgoingChanges",
    "behind": "incomingChanges",
    "uncommittedChanges": "uncommittedChanges",
}
_GITHUB = {"owner": "owner", "repo": "repo", "pullRequestUrl": "pullRequestUrl"}
"""The row's words for what the reference host keeps in `_meta.git` and `_meta.github`."""


def _slot(meta: Mapping[str, JSON], name: str, names: Mapping[str, str]) -> dict[str, JSON]:
    """Anybody may have written `_meta`, so nothing in it is taken for granted."""
    kept = meta.get(name)
    if not isinstance(kept, dict):
        return {}
    return {shown: kept[key] for shown, key in names.items() if isinstance(kept.get(key), str | int)}


def _chats(summary: SessionSummary, details: Details, link: str) -> list[dict[str, JSON]]:
    """The session's chats, the default one first under the session's own link; empty where that is the only one."""
    main = default_chat(summary)
    others = [chat for chat in present(summary.chats, []) if chat.resource != main and _is_shown(chat)]
    if not others:
        return []
    mains = [chat for chat in present(summary.chats, []) if chat.resource == main]
    return [
        *(_chat(chat, link, details) | {"main": True} for chat in mains),
        *(_chat(chat, open_link(summary, chat.resource), details) for chat in others),
    ]


def _is_shown(chat: SessionChatSummary) -> bool:
    return not isinstance(chat.origin, ToolOrigin) and chat.interactivity != "hidden"


def _chat(chat: SessionChatSummary, link: str, details: Details) -> dict[str, JSON]:
    made: dict[str, JSON] = {"title": chat.title, "openLink": link, "status": _status(present(chat.status, 0))}
    if chat.resource in details.harness:
        made["harness"] = details.harness[chat.resource]
    return made
