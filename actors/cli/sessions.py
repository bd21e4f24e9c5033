"""`ahpd sessions`: the catalogue of the running daemon."""

from __future__ import annotations

import json
from datetime import UTC, datetime

from actors.cli.context import Context, Exit, Failure, say
from actors.cli.reach import all_sessions, find_session, reach, run
from actors.clock import parse_iso
from ahp import uris, wire
from ahp.client import Client
from ahp.commands.session import DisposeSessionParams
from ahp.state.common import SessionStatus
from ahp.state.session import SessionState, SessionSummary
from ahp.wire import present

__all__ = ["sessions"]


def sessions(context: Context) -> int:
    """`list` (the usual), `show ID`, `delete ID…`."""
    return run(context, _sessions)


async def _sessions(context: Context) -> Exit:
    action = getattr(context.arguments, "action", "list")
    named: list[str] = getattr(context.arguments, "session", [])
    if (action == "list") == bool(named):
        wants = "takes no session" if named else "wants a session: its id, the beginning of it, or its URI"
        raise Failure(f"`ahpd sessions {action}` {wants}", Exit.WRONG)
    async with reach(context) as client:
        if action == "list":
            _list(context, await all_sessions(client))
        for each in named:
            session = await find_session(client, each)
            if action == "show":
                await _show(context, client, session)
            else:
                await client.request("disposeSession", DisposeSessionParams(channel=session.resource))
                say(f"deleted {session.resource}")
    return Exit.DONE


def _list(context: Context, catalogue: list[SessionSummary]) -> None:
    if getattr(context.arguments, "json", False):
        say(json.dumps([wire.to_builtins(session) for session in catalogue], indent=2))
        return
    if not catalogue:
        say("no sessions yet: `ahpd chat` begins one")
    for session in catalogue:
        name = uris.parse(session.resource).id
        title = present(session.title, "") or "(no title)"
        say(f"{name:<38} {session.provider:<8} {_state(session):<9} {_ago(session.modified_at):>9}  {printable(title)}")


async def _show(context: Context, client: Client, session: SessionSummary) -> None:
    async with client.subscribe(session.resource, SessionState) as subscription:
        state = subscription.state
    if getattr(context.arguments, "json", False):
        say(json.dumps(wire.to_builtins(state), indent=2))
        return
    say(f"{printable(session.title) or '(no title)'}")
    rows = [("URI", session.resource), ("Agent", session.provider), ("State", _state(session))]
    rows += [("Created", session.created_at), ("Used", session.modified_at)]
    rows += [("Folder", folder) for folder in present(session.working_directories, [])]
    for name, value in rows:
        say(f"  {name:<8} {value}")
    for chat in state.chats:
        say(f"  {'Chat':<8} {chat.resource}  {printable(chat.title)}")


def _state(session: SessionSummary) -> str:
    status = session.status
    for bit, word in (
        (SessionStatus.INPUT_NEEDED, "waits"),
        (SessionStatus.IN_PROGRESS, "works"),
        (SessionStatus.ERROR, "failed"),
        (SessionStatus.IS_ARCHIVED, "archived"),
    ):
        if status & bit == bit:
            return word
    return "idle"


def _ago(moment: str) -> str:
    seconds = max(0, int((datetime.now(UTC) - parse_iso(moment)).total_seconds()))
    for size, unit in ((86_400, "d"), (3_600, "h"), (60, "min")):
        if seconds >= size:
            return f"{seconds // size} {unit} ago"
    return f"{seconds} s ago"


def printable(text: str) -> str:
    """Text of somebody else's without what would move a terminal's cursor."""
    return "".join(character if character.isprintable() else " " for character in text)
