"""`ahpd chat` with the tools of its session: `/tools`, `/call`, and what else is not for the agent."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from functools import partial

import pytest
import trio

from actors.cli.chat_commands import Call, call_message, heard
from ahp.actions.session import SessionActiveClientSet
from ahp.client import connect
from ahp.commands import CreateSessionParams
from ahp.state.common import ToolDefinition
from ahp.state.session import SessionActiveClient, SessionState
from tests.daemon import Daemon, running


@pytest.fixture(scope="module")
def daemon(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Daemon]:
    with running(tmp_path_factory.mktemp("home")) as one:
        yield one


def chat(daemon: Daemon, *arguments: str, typed: str = "") -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "actors.cli", "--home", str(daemon.home), "chat", *arguments]
    return subprocess.run(command, input=typed, capture_output=True, text=True, timeout=60, cwd=daemon.home)


def test_tools_lists_what_the_agent_is_offered(daemon: Daemon) -> None:
    listed = chat(daemon, "/tools").stdout.splitlines()
    assert [line.split(maxsplit=1) for line in listed[:2]] == [
        ["list_sessions", "List Sessions"],
        ["list_agents", "List Agents"],
    ]


def test_call_has_the_echo_agent_call_one(daemon: Daemon) -> None:
    typed = '/tools\n/call rename_chat {"title": "Spring"}\n/call get_current_session\n/call rename_chat\n'
    ran = chat(daemon, typed=typed)
    assert "you   /tools\n  list_sessions " in ran.stdout
    assert "echo  The chat is now 'Spring'.\n" in ran.stdout
    assert '"title":"Spring"' in ran.stdout
    assert "✗ Rename Chat failed" in ran.stdout


def test_tools_lists_a_clients_tools_under_the_name_they_are_called_by(daemon: Daemon) -> None:
    async def main() -> str:
        async with connect(daemon.url) as client:
            session = "ahp-session:/with-a-client"
            await client.request("createSession", CreateSessionParams(channel=session, provider="echo"))
            async with client.subscribe(session, SessionState) as watched:
                await watched.wait_for(lambda state: state.lifecycle == "ready")
                tool = ToolDefinition(name="open_file", title="Open File")
                me = SessionActiveClient(client_id=client.client_id, display_name="Editor", tools=[tool])
                await client.dispatch_and_wait(session, SessionActiveClientSet(active_client=me))
                ran = await trio.to_thread.run_sync(partial(chat, daemon, "--session", "with-a-client", "/tools"))
            return ran.stdout.replace(client.client_id, "CLIENT")

    assert trio.run(main).splitlines()[-1].split(maxsplit=1) == ["CLIENT__open_file", "Open File (run by Editor)"]


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("/call", "/call wants a tool and its input"),
        ("/call list_sessions {", "the input of list_sessions is no JSON"),
        ("/call list_sessions [1]", "the input of list_sessions is a JSON object, not [1]"),
    ],
)
def test_what_cannot_be_called_is_one_sentence(daemon: Daemon, line: str, said: str) -> None:
    ran = chat(daemon, line)
    assert (ran.returncode, ran.stdout) == (1, "")
    assert said in ran.stderr


def test_of_a_model_one_asks_in_words() -> None:
    with pytest.raises(ValueError, match="only a model calls tools, and here it is claude's"):
        call_message(Call("list_sessions", "{}"), "claude")


def test_help_is_for_this_program_and_two_slashes_are_for_the_agent(daemon: Daemon) -> None:
    assert "/call NAME JSON" in chat(daemon, "/help").stdout
    assert "There is no command /tools;" in chat(daemon, "//tools").stdout
    for said in ("/think of it", "// a comment", "/tools\nin a longer text", "/toolsmith", " hello"):
        assert heard(said) == said
