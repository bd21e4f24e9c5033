"""What bounds the session tools (tools page, Limits), on a clock that a test moves: words, numbers, seconds."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import msgspec
import pytest
import trio
from trio.testing import MockClock

from actors.tools.call import Caller, ToolCall
from actors.tools.limits import Kind
from actors.tools.tool import WRITES, Tool, schema
from ahp import uris
from tests.actors.tools.calling import Calling, Model, calling


def words(doing: str, allowed: int, seconds: int, whole: str = "session tree", used: int | None = None) -> str:
    """The refusal as the page has it."""
    return (
        f"Refusing to {doing}: this {whole} already used {allowed if used is None else used} of {allowed} allowed in"
        f" the last 60 minutes. The limit applies to each {whole} separately and frees up as older actions leave that"
        f" window. Retry after {seconds} seconds, or turn off agent orchestration limits in settings."
    )


async def spend(call: ToolCall, given: Mapping[str, Any]) -> str:
    kind: Kind = given["kind"]
    for _ in range(given.get("times", 1)):
        await call.host.env.tools.limits.spend(call, kind)
    return "spent"


async def one_more(call: ToolCall, given: Mapping[str, Any]) -> str:
    """One action under the limit; it takes `seconds`, and fails where it is told to."""
    async with call.host.env.tools.limits.spending(call, given["kind"]):
        await trio.sleep(given.get("seconds", 0))
        if given.get("fail"):
            raise RuntimeError("told to")
    return "done"


def register(host: Calling) -> None:
    for name, run in (("spend", spend), ("one_more", one_more)):
        host.host.env.tools.register_tool(
            Tool(name=name, title=name, description=name, input_schema=schema(), run=run, annotations=WRITES)
        )


async def tree(host: Calling, *links: tuple[str, str]) -> dict[str, Model]:
    """Sessions by name, each link a (child, parent) as create_session makes them."""
    register(host)
    models: dict[str, Model] = {}
    for child, parent in links:
        models[child] = await host.model(f"ahp-session:/{child}")
        if parent:
            session = host.host.sessions[f"ahp-session:/{child}"]
            above = host.host.sessions[f"ahp-session:/{parent}"]
            session.private = msgspec.structs.replace(session.private, parent=above.uri, depth=above.private.depth + 1)
            session.channel.write()
            await session.channel.flush()
    return models


# The three counts.


@pytest.mark.parametrize(
    ("kind", "doing", "allowed"),
    [
        ("sessions", "create more sessions", 50),
        ("chats", "create more chats", 50),
        ("messages", "send more messages", 100),
    ],
)
async def test_the_last_one_allowed_is_done_and_the_next_is_refused_in_the_pages_words(
    tmp_path: Path, autojump_clock: MockClock, kind: str, doing: str, allowed: int
) -> None:
    async with calling(tmp_path) as host:
        model = (await tree(host, ("root", "")))["root"]
        began = trio.current_time()
        await model.call("spend", kind=kind, times=allowed - 1)
        assert await model.call("one_more", kind=kind) == "done"
        assert trio.current_time() == began
        assert await model.refusal("one_more", kind=kind) == words(doing, allowed, 3600)


async def test_the_seconds_count_down_to_when_the_oldest_leaves_the_hour(
    tmp_path: Path, autojump_clock: MockClock
) -> None:
    async with calling(tmp_path) as host:
        model = (await tree(host, ("root", "")))["root"]
        await model.call("spend", kind="chats")
        await trio.sleep(600)
        await model.call("spend", kind="chats", times=49)
        await trio.sleep(0.5)
        assert await model.refusal("one_more", kind="chats") == words("create more chats", 50, 3000)
        await trio.sleep(2999)
        assert await model.refusal("one_more", kind="chats") == words("create more chats", 50, 1)
        await trio.sleep(0.5)
        assert await model.call("one_more", kind="chats") == "done"
        assert await model.refusal("one_more", kind="chats") == words("create more chats", 50, 600)
        await trio.sleep(600)
        await model.call("spend", kind="chats", times=48)
        assert await model.call("one_more", kind="chats") == "done"


async def test_each_kind_has_its_own_budget(tmp_path: Path, autojump_clock: MockClock) -> None:
    async with calling(tmp_path) as host:
        model = (await tree(host, ("root", "")))["root"]
        await model.call("spend", kind="messages", times=100)
        assert await model.call("one_more", kind="chats") == "done"
        assert await model.call("one_more", kind="sessions") == "done"


async def test_a_call_that_fails_is_not_counted(tmp_path: Path, autojump_clock: MockClock) -> None:
    async with calling(tmp_path) as host:
        model = (await tree(host, ("root", "")))["root"]
        await model.call("spend", kind="chats", times=49)
        for _ in range(3):
            assert "RuntimeError" in await model.refusal("one_more", kind="chats", fail=True)
        assert await model.call("one_more", kind="chats") == "done"


async def test_calls_at_the_same_time_cannot_pass_the_limit_together(tmp_path: Path, autojump_clock: MockClock) -> None:
    async with calling(tmp_path) as host:
        models = await tree(host, ("root", ""), ("child", "root"))
        await models["root"].call("spend", kind="chats", times=49)
        turn = await models["root"].say('/tool one_more {"kind": "chats", "seconds": 10}')
        await host.talk.action(models["root"].chat, "chat/toolCallReady", turnId=turn)
        assert await models["child"].refusal("one_more", kind="chats") == words("create more chats", 50, 3600)
        await host.talk.action(models["root"].chat, "chat/turnComplete", turnId=turn)
        assert await models["child"].refusal("one_more", kind="chats") == words("create more chats", 50, 3590)


async def test_a_cancelled_call_gives_its_place_back(tmp_path: Path, autojump_clock: MockClock) -> None:
    async with calling(tmp_path) as host:
        models = await tree(host, ("root", ""), ("child", "root"))
        await models["root"].call("spend", kind="chats", times=49)
        turn = await models["root"].say('/tool one_more {"kind": "chats", "seconds": 10}')
        await host.talk.action(models["root"].chat, "chat/toolCallReady", turnId=turn)
        assert "50 of 50" in await models["child"].refusal("one_more", kind="chats")
        await host.talk.do(models["root"].chat, "chat/turnCancelled", turnId=turn, duration=1)
        await trio.testing.wait_all_tasks_blocked()
        assert await models["child"].call("one_more", kind="chats") == "done"


# Trees.


async def test_a_tree_spends_one_budget_and_another_tree_its_own(tmp_path: Path, autojump_clock: MockClock) -> None:
    async with calling(tmp_path) as host:
        models = await tree(host, ("root", ""), ("child", "root"), ("grandchild", "child"), ("stranger", ""))
        await models["root"].call("spend", kind="messages", times=60)
        await models["grandchild"].call("spend", kind="messages", times=40)
        for name in ("root", "child", "grandchild"):
            assert await models[name].refusal("one_more", kind="messages") == words("send more messages", 100, 3600)
        assert await models["stranger"].call("one_more", kind="messages") == "done"


async def test_the_links_are_read_from_the_store_where_a_parent_sleeps(
    tmp_path: Path, autojump_clock: MockClock
) -> None:
    async with calling(tmp_path) as host:
        models = await tree(host, ("root", ""), ("child", "root"), ("grandchild", "child"))
        await models["root"].call("spend", kind="messages", times=100)
        await host.sleep(*(f"ahp-session:/{name}" for name in models))
        await host.talk.state("ahp-session:/grandchild")
        await host.talk.state(models["grandchild"].chat)
        refused = await models["grandchild"].refusal("one_more", kind="messages")
        assert refused == words("send more messages", 100, 3598)
        assert "ahp-session:/root" not in host.host.sessions


async def test_a_session_deleted_from_the_middle_does_not_split_its_tree(
    tmp_path: Path, autojump_clock: MockClock
) -> None:
    async with calling(tmp_path) as host:
        models = await tree(host, ("root", ""), ("child", "root"), ("grandchild", "child"))
        await models["grandchild"].call("spend", kind="messages", times=100)
        await host.talk.ask("disposeSession", "ahp-session:/child")
        assert await models["grandchild"].refusal("one_more", kind="messages") == words("send more messages", 100, 3600)
        assert await models["root"].refusal("one_more", kind="messages") == words("send more messages", 100, 3600)


async def test_the_scope_session_counts_each_session_alone_and_says_so(
    tmp_path: Path, autojump_clock: MockClock
) -> None:
    async with calling(tmp_path, config='agentOrchestrationLimitsScope = "session"') as host:
        models = await tree(host, ("root", ""), ("child", "root"))
        await models["root"].call("spend", kind="chats", times=50)
        refused = words("create more chats", 50, 3600, "session")
        assert await models["root"].refusal("one_more", kind="chats") == refused
        assert await models["child"].call("one_more", kind="chats") == "done"


# Depth.


async def test_a_session_three_links_down_may_not_make_one_of_its_own(
    tmp_path: Path, autojump_clock: MockClock
) -> None:
    async with calling(tmp_path) as host:
        models = await tree(host, ("a", ""), ("b", "a"), ("c", "b"), ("d", "c"), ("e", "d"))
        for name in "abc":
            assert await models[name].call("one_more", kind="sessions") == "done"
        for name, depth in (("d", 3), ("e", 4)):
            assert await models[name].refusal("one_more", kind="sessions") == (
                "Refusing to create a session: recursion limit reached (max spawn depth 3). This session was itself"
                f" created {depth} level(s) deep."
            )
            assert await models[name].call("one_more", kind="chats") == "done"


# The switch, and who is not counted.


async def test_a_client_turns_depth_and_counts_off_and_on_again(tmp_path: Path, autojump_clock: MockClock) -> None:
    async with calling(tmp_path) as host:
        models = await tree(host, ("a", ""), ("b", "a"), ("c", "b"), ("d", "c"))
        await models["a"].call("spend", kind="sessions", times=50)
        assert "50 of 50" in await models["a"].refusal("one_more", kind="sessions")
        await host.talk.do(uris.ROOT, "root/configChanged", config={"agentOrchestrationLimits": "off"})
        for name in "abcd":
            assert await models[name].call("one_more", kind="sessions") == "done"
        await host.talk.do(uris.ROOT, "root/configChanged", config={"agentOrchestrationLimits": "on"})
        assert await models["a"].refusal("one_more", kind="sessions") == words("create more sessions", 50, 3600)
        assert "recursion limit" in await models["d"].refusal("one_more", kind="sessions")


async def test_a_call_with_no_session_is_not_counted(tmp_path: Path, autojump_clock: MockClock) -> None:
    async with calling(tmp_path) as host:
        register(host)
        limits = host.host.env.tools.limits
        call = ToolCall(host=host.host, tool=host.host.env.tools.every[0], caller=Caller(root=True), tool_call_id="c")
        for _ in range(60):
            async with limits.spending(call, "chats"):
                pass
            await limits.spend(call, "chats")
        await limits.check(call, "chats")


# With the tools themselves.


async def test_send_message_counts_in_the_tree_that_sends_and_only_what_was_sent(
    tmp_path: Path, autojump_clock: MockClock
) -> None:
    async with calling(tmp_path) as host:
        models = await tree(host, ("root", ""), ("target", ""))
        await models["root"].call("spend", kind="messages", times=99)
        send = {"session": "ahp-session:/target", "message": "hello"}
        assert "no session of this host" in await models["root"].refusal(
            "send_message", session="ahp-session:/none", message="hello"
        )
        await models["root"].call("send_message", **send)
        assert await models["root"].refusal("send_message", **send) == words("send more messages", 100, 3600)
        await host.talk.action(models["target"].chat, "chat/turnComplete")
        back = {"session": "ahp-session:/root", "message": "hello"}
        assert "message is" in await models["target"].call("send_message", **back)


async def test_create_chat_is_refused_at_the_limit_and_a_client_is_not(
    tmp_path: Path, autojump_clock: MockClock
) -> None:
    async with calling(tmp_path) as host:
        model = (await tree(host, ("root", "")))["root"]
        await model.call("spend", kind="chats", times=50)
        assert await model.refusal("create_chat", prompt="hi", title="more") == words("create more chats", 50, 3600)
        assert await model.refusal("create_session", relationship="currentSession", prompt="hi", title="more") == words(
            "create more chats", 50, 3600
        )
        await host.chat(model, "by-a-person")


async def test_a_restart_begins_the_counts_again(tmp_path: Path, autojump_clock: MockClock) -> None:
    async with calling(tmp_path) as host:
        model = (await tree(host, ("root", "")))["root"]
        await model.call("spend", kind="chats", times=50)
        assert "50 of 50" in await model.refusal("one_more", kind="chats")
    async with calling(tmp_path) as host:
        register(host)
        await host.talk.state("ahp-session:/root")
        await host.talk.state(model.chat)
        again = Model(host.talk, "ahp-session:/root", model.chat)
        assert await again.call("one_more", kind="chats") == "done"
