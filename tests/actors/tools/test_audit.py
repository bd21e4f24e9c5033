"""The audit: a line for each call, kept in the store, never with what was given or answered."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import trio
import trio.testing

from actors.store import AuditRecord, StoreError, audit, open_store
from actors.tools.audit import ToolCalled
from actors.tools.call import ToolCall
from actors.tools.tool import Tool, schema
from tests.actors.tools.calling import calling
from tests.daemon import attached, running


async def test_each_call_leaves_one_line(tmp_path: Path, autojump_clock: Any) -> None:
    async with calling(tmp_path) as at:
        model = await at.model()
        await model.call("rename_chat", title="my secret plan")
        await model.refusal("rename_chat")
        await at.sessionless("list_agents")
        store = at.host.env.store
        await trio.testing.wait_all_tasks_blocked()
        found = await store.read(audit.recent(10))
        assert [(line.tool, line.session, line.outcome) for line in found] == [
            ("rename_chat", model.session, "ok"),
            ("rename_chat", model.session, "refused"),
            ("list_agents", None, "ok"),
        ]
        assert found[0].chat == model.chat
        assert "secret" not in str(found)
        assert len(await store.read(audit.recent(10, session=model.session))) == 2
        assert len(await store.read(audit.recent(10, tool="list_agents"))) == 1
        assert [line.tool for line in await store.read(audit.recent(1))] == ["list_agents"]


async def test_a_call_that_its_turn_took_along_is_there_too(tmp_path: Path, autojump_clock: Any) -> None:
    async with calling(tmp_path) as at:
        model = await at.model()
        active = {"clientId": "c1", "displayName": "Editor", "tools": []}
        await model.talk.do(model.session, "session/activeClientSet", activeClient=active)
        turn = await model.say('/tool ahp_resource {"uri": "unsaved:/a.py"}')
        await model.talk.wait_for(lambda message: message.get("method") == "resourceRead")
        await model.talk.do(model.chat, "chat/turnCancelled", turnId=turn, duration=1)
        await model.tell("on")
        [line] = await at.host.env.store.read(audit.recent(10))
        assert (line.tool, line.outcome) == ("ahp_resource", "cancelled")


async def test_plugins_hear_of_each_call_and_one_that_raises_harms_nobody(tmp_path: Path, autojump_clock: Any) -> None:
    heard: list[ToolCalled] = []

    def raises(_: ToolCalled) -> None:
        raise RuntimeError("a listener with a bug")

    async def breaks(_: ToolCall, __: Any) -> str:
        raise RuntimeError("a tool with a bug")

    async with calling(tmp_path) as at:
        tools = at.host.env.tools
        tools.register_tool(Tool(name="broken", title="Broken", description="", input_schema=schema(), run=breaks))
        tools.on_call.extend([raises, heard.append])
        model = await at.model()
        await model.call("get_current_session")
        assert await model.refusal("broken") == "broken failed in the host (RuntimeError)."
        await at.sessionless("list_agents")
        assert [(line.tool, line.session, line.outcome) for line in heard] == [
            ("get_current_session", model.session, "ok"),
            ("broken", model.session, "failed"),
            ("list_agents", None, "ok"),
        ]


async def test_a_call_goes_well_while_the_disk_refuses_its_line(
    tmp_path: Path, autojump_clock: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with calling(tmp_path) as at:
        store = at.host.env.store

        async def full() -> None:
            raise StoreError(tmp_path, "the disk is full")

        with monkeypatch.context() as refusing:
            refusing.setattr(store, "flush", full)
            await at.sessionless("list_agents")
            await trio.testing.wait_all_tasks_blocked()
            assert await store.read(audit.recent(10)) == []
        await at.sessionless("list_models")
        await trio.testing.wait_all_tasks_blocked()
        assert [line.tool for line in await store.read(audit.recent(10))] == ["list_agents", "list_models"]


async def test_the_oldest_lines_go(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(audit, "KEPT", 3)
    async with open_store(tmp_path / "a.db") as store:
        for number in range(5):
            line = AuditRecord(at="2026-01-01T00:00:00.000Z", tool=f"t{number}", outcome="ok", ms=number)
            await store.commit([audit.put(line, number)])
        assert [line.tool for line in await store.read(audit.recent(10))] == ["t2", "t3", "t4"]


def ahpd_audit(home: Path, *flags: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "actors.cli", "audit", "--home", str(home), *flags]
    return subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)


def test_ahpd_audit_prints_them_with_and_without_a_daemon(tmp_path: Path) -> None:
    assert "no store yet" in ahpd_audit(tmp_path).stderr
    with running(tmp_path) as daemon:
        with attached(daemon) as peer:
            chat = peer.open_session("ahp-session:/s")
            peer.say(chat, "/tool list_sessions {}", "t1")
            peer.ended(chat, "t1")
        [line] = json.loads(ahpd_audit(tmp_path, "--json").stdout)
        assert (line["tool"], line["session"], line["outcome"]) == ("list_sessions", "ahp-session:/s", "ok")
        assert daemon.stop() == 0
    assert "list_sessions" in ahpd_audit(tmp_path).stdout
    assert ahpd_audit(tmp_path, "--tool", "send_message").stdout == "no tool was called yet\n"
