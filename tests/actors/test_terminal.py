"""Terminals through a client's eyes: a real bash on a real PTY in a running host."""

import re
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from actors import processes
from actors.terminal import CONTENT_LIMIT
from tests.actors.hosting import ROOT, Hosting, Refused, Talk, hosting

T1 = "ahp-terminal:/t1"
BASH = shutil.which("bash") or ""
pytestmark = pytest.mark.skipif(not BASH, reason="bash is not installed")
MINE = {"kind": "client", "clientId": "c1"}


@pytest.fixture(autouse=True)
def shell(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Bash with a home of its own, and a prompt that is easy to see."""
    home = tmp_path / "home"
    home.mkdir()
    (home / ".bashrc").write_text("PS1='ready> '\nbind 'set enable-bracketed-paste off'\n")
    for name, value in {"SHELL": BASH, "HOME": str(home), "LC_ALL": "C.UTF-8", "AHPD_TOKEN": "secret"}.items():
        monkeypatch.setenv(name, value)
    return


async def opened(host: Hosting, folder: Path, **params: Any) -> Talk:
    """A client that has made T1 and watches it, at its first prompt."""
    talk = await host.connect()
    await talk.ask("createTerminal", T1, **{"name": "t", "cwd": folder.as_uri(), "claim": MINE, **params})
    state = await talk.state(T1)
    if "ready>" not in shown(state):
        await until_shown(talk, "ready>")
    return talk


def shown(state: dict[str, Any]) -> str:
    return "".join(part.get("value", "") + part.get("output", "") for part in state["content"])


def data_of(talk: Talk) -> str:
    return "".join(action["data"] for action in talk.actions(T1) if action["type"] == "terminal/data")


async def until_shown(talk: Talk, what: str) -> str:
    """Wait until the output that came as actions matches `what`."""
    await talk.wait_for(lambda _: re.search(what, data_of(talk)) is not None, seconds=20)
    return data_of(talk)


def keys(talk: Talk, text: str) -> None:
    talk.dispatch(T1, {"type": "terminal/input", "data": text})


def types(talk: Talk, channel: str = T1) -> list[str]:
    return [action["type"].removeprefix("terminal/") for action in talk.actions(channel)]


async def test_its_life_has_the_order_the_reference_host_gives_it(tmp_path: Path) -> None:
    async with hosting(tmp_path) as host:
        talk = await opened(host, tmp_path, cols=80, rows=24)
        at = next(index for index, message in enumerate(talk.got) if message.get("result", 0) is None)
        lists = [m["params"]["action"]["terminals"] for m in talk.got if m.get("params", {}).get("channel") == ROOT]
        first = talk.got[at - 1]["params"]["action"]
        assert first["type"] == "root/terminalsChanged"
        running = {"status": "running"}
        assert first["terminals"] == [{"resource": T1, "title": "t", "claim": MINE, "lifecycle": running}]
        assert lists[-1] == [{"resource": T1, "title": BASH, "claim": MINE, "lifecycle": running}]

        state = await talk.state(T1)
        assert {name: state[name] for name in ("title", "cwd", "cols", "rows", "isPty", "claim", "lifecycle")} == {
            "title": BASH,
            "cwd": str(tmp_path),
            "cols": 80,
            "rows": 24,
            "isPty": True,
            "claim": MINE,
            "lifecycle": running,
        }
        assert state["supportsCommandDetection"] is True

        talk.got.clear()
        keys(talk, "echo x$((1+1))y\n")
        await until_shown(talk, "x2y(.|\n)*ready> ")
        steps = [kind for kind, after in zip(types(talk), [*types(talk)[1:], ""], strict=True) if kind != after]
        assert steps == ["input", "data", "commandExecuted", "data", "commandFinished", "cwdChanged", "data"]
        begun = await talk.action(T1, "terminal/commandExecuted")
        assert (begun["commandId"], begun["commandLine"]) == ("cmd-1", "echo x$((1+1))y")
        ended = await talk.action(T1, "terminal/commandFinished")
        assert (ended["commandId"], ended["exitCode"]) == ("cmd-1", 0)
        assert ended["durationMs"] >= 0
        assert "\x1b]633" not in data_of(talk)

        keys(talk, "exit 3\n")
        assert (await talk.action(T1, "terminal/exited"))["exitCode"] == 3
        await talk.wait_for(lambda m: _lists(m, {"status": "exited", "exitCode": 3}))
        assert (await talk.state(T1))["lifecycle"] == {"status": "exited", "exitCode": 3}

        talk.got.clear()
        assert await talk.ask("disposeTerminal", T1) is None
        assert talk.got[0]["params"]["action"] == {"type": "root/terminalsChanged", "terminals": []}
        with pytest.raises(Refused):
            await talk.state(T1)


def _lists(message: dict[str, Any], lifecycle: dict[str, Any]) -> bool:
    terminals = message.get("params", {}).get("action", {}).get("terminals", [])
    return [terminal["lifecycle"] for terminal in terminals] == [lifecycle]


async def test_a_snapshot_and_what_follows_are_the_whole_output(tmp_path: Path) -> None:
    async with hosting(tmp_path) as host:
        talk = await opened(host, tmp_path)
        keys(talk, "seq 1 20000\n")
        late = await host.connect("c2")
        state = await late.state(T1)
        await until_shown(talk, "20000\r\nready> ")
        await until_shown(late, "20000\r\nready> ")
        numbers = re.findall(r"^(\d+)\r$", shown(state) + data_of(late), re.MULTILINE)
        assert numbers == [str(number) for number in range(1, 20_001)]
        assert shown(await talk.state(T1)).endswith(data_of(talk))


async def test_a_flood_comes_in_few_actions_and_the_oldest_leaves_the_snapshot(tmp_path: Path) -> None:
    async with hosting(tmp_path) as host:
        talk = await opened(host, tmp_path)
        keys(talk, "seq 1 600000; echo the end\n")
        await until_shown(talk, "the end\r\nready> ")
        sizes = [len(action["data"]) for action in talk.actions(T1) if action["type"] == "terminal/data"]
        assert sum(sizes) > 4_000_000
        assert max(sizes) <= 80 * 1024
        assert len(sizes) < sum(sizes) / 4096
        content = shown(await talk.state(T1))
        assert CONTENT_LIMIT <= len(content) <= 2 * CONTENT_LIMIT
        lines = content.split("\r\n")
        assert lines[-2] == "the end"
        assert lines[:-2] == [str(number) for number in range(int(lines[0]), 600_001)]


async def test_typing_while_nobody_reads_is_kept_and_too_much_is_refused(tmp_path: Path) -> None:
    async with hosting(tmp_path) as host:
        talk = await opened(host, tmp_path)
        lines = [f"line {number}\n" for number in range(3000)]
        size = sum(map(len, lines))
        keys(talk, f"stty -echo; sleep 0.5; head -c {size} > typed; echo got all; sleep 100\n")
        await talk.action(T1, "terminal/commandExecuted")
        for line in lines:
            keys(talk, line)
        await until_shown(talk, "got all\r\n$")
        assert (tmp_path / "typed").read_text() == "".join(lines)
        flood = "x\n" * 3_000_000
        answers = [await talk.do(T1, "terminal/input", data=flood) for _ in range(4)]
        assert "rejectionReason" not in answers[0]
        assert "does not read" in answers[3]["rejectionReason"]


async def test_only_who_holds_a_terminal_types_in_it_and_hands_it_on(tmp_path: Path) -> None:
    async with hosting(tmp_path) as host:
        talk = await opened(host, tmp_path)
        other = await host.connect("c2")
        await other.state(T1)
        refused = await other.do(T1, "terminal/input", data="echo mine\n")
        assert "held by client c1" in refused["rejectionReason"]
        session = {"kind": "session", "session": "ahp-session:/s"}
        assert "rejectionReason" not in await talk.do(T1, "terminal/claimed", claim=session)
        assert "held by session" in (await talk.do(T1, "terminal/input", data="echo mine\n"))["rejectionReason"]
        claims = [action["terminals"][0]["claim"] for action in other.actions(ROOT) if action.get("terminals")]
        assert claims[-1] == session
        assert "mine" not in data_of(talk)


async def test_a_resize_a_title_and_a_clear_reach_everybody(tmp_path: Path) -> None:
    async with hosting(tmp_path) as host:
        talk = await opened(host, tmp_path)
        await talk.do(T1, "terminal/resized", cols=111, rows=33)
        keys(talk, "stty size\n")
        await until_shown(talk, "33 111\r\nready> ")
        keys(talk, "printf '\\e]0;from the program\\a'\n")
        await talk.action(T1, "terminal/titleChanged", title="from the program")
        await talk.do(T1, "terminal/titleChanged", title="from the person")
        await talk.wait_for(lambda m: m.get("params", {}).get("action", {}).get("terminals", [{}])[0:1] != [{}])
        await talk.do(T1, "terminal/cleared")
        state = await talk.state(T1)
        assert (state["title"], state["content"], state["cols"]) == ("from the person", [], 111)
        assert "is no size" in (await talk.do(T1, "terminal/resized", cols=0, rows=33))["rejectionReason"]


async def test_titles_that_come_by_the_thousand_are_told_once_a_burst(tmp_path: Path) -> None:
    async with hosting(tmp_path) as host:
        talk = await opened(host, tmp_path)
        keys(talk, "for i in {1..20000}; do printf '\\e]2;%s\\a' \"title $i\"; done; echo all said\n")
        await until_shown(talk, "all said\r\nready> ")
        told = [action["title"] for action in talk.actions(T1) if action["type"] == "terminal/titleChanged"]
        assert told[-1] == "title 20000"
        assert len(told) < 2000


async def test_what_a_program_prints_is_text_whatever_its_bytes(tmp_path: Path) -> None:
    async with hosting(tmp_path) as host:
        talk = await opened(host, tmp_path)
        keys(talk, "printf 'a\\xffb\\xc3'; sleep 0.1; printf '\\xbcc\\n'\n")
        await until_shown(talk, "a\ufffdbüc\r\n")


async def test_the_daemons_own_secrets_stay_out_of_its_environment(tmp_path: Path) -> None:
    async with hosting(tmp_path) as host:
        talk = await opened(host, tmp_path)
        keys(talk, "env; echo done\n")
        text = await until_shown(talk, "done\r\nready> ")
        assert "TERM=xterm-256color" in text
        assert "AHPD" not in text


async def test_disposing_of_it_ends_what_runs_in_it(tmp_path: Path) -> None:
    async with hosting(tmp_path) as host:
        talk = await opened(host, tmp_path)
        keys(talk, "sleep 300 & echo pid=$!; sleep 300\n")
        found = re.search(r"pid=(\d+)", await until_shown(talk, r"pid=\d+\r"))
        assert found is not None
        await talk.ask("disposeTerminal", T1)
        assert not processes.exists(int(found[1]))


async def test_a_shell_that_leaves_a_job_behind_has_exited_all_the_same(tmp_path: Path) -> None:
    async with hosting(tmp_path) as host:
        talk = await opened(host, tmp_path)
        keys(talk, "(trap '' HUP; while :; do echo still here; sleep 0.01; done) & disown; exit\n")
        assert (await talk.action(T1, "terminal/exited"))["exitCode"] == 0


async def test_a_killed_shell_has_no_exit_code(tmp_path: Path) -> None:
    async with hosting(tmp_path) as host:
        talk = await opened(host, tmp_path)
        keys(talk, "kill -KILL $$\n")
        assert "exitCode" not in await talk.action(T1, "terminal/exited")
        assert (await talk.state(T1))["lifecycle"] == {"status": "exited"}
        assert "has exited" in (await talk.do(T1, "terminal/input", data="hello\n"))["rejectionReason"]


async def test_a_shell_that_cannot_be_started_says_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SHELL", "/no/such/shell")
    async with hosting(tmp_path) as host:
        talk = await host.connect()
        await talk.ask("createTerminal", T1, claim=MINE)
        state = await talk.state(T1)
        if state["lifecycle"] == {"status": "running"}:
            await talk.action(T1, "terminal/exited")
            state = await talk.state(T1)
        assert shown(state) == "/no/such/shell cannot be started: No such file or directory\r\n"
        assert state["lifecycle"] == {"status": "exited"}


async def test_after_a_restart_it_has_exited_and_shows_what_it_showed(tmp_path: Path) -> None:
    async with hosting(tmp_path) as host:
        talk = await opened(host, tmp_path)
        keys(talk, "echo remember me\n")
        await until_shown(talk, "remember me\r\nready> ")
        keys(talk, "exit 4\n")
        await talk.action(T1, "terminal/exited")
        await talk.ask("createTerminal", "ahp-terminal:/t2", claim=MINE)
    async with hosting(tmp_path) as host:
        talk = await host.connect()
        state = await talk.state(T1)
        assert "remember me" in shown(state)
        assert state["lifecycle"] == {"status": "exited", "exitCode": 4}
        assert (await talk.state("ahp-terminal:/t2"))["lifecycle"] == {"status": "exited"}


@pytest.mark.parametrize(
    ("channel", "params", "reason"),
    [
        ("ahp-session:/t", {}, "no terminal URI"),
        (T1, {"cwd": "file:///no/such/folder"}, "no folder"),
        (T1, {"cols": 0}, "no size"),
    ],
)
async def test_what_cannot_be_made_is_refused(tmp_path: Path, channel: str, params: Any, reason: str) -> None:
    async with hosting(tmp_path) as host:
        talk = await host.connect()
        with pytest.raises(Refused, match=reason):
            await talk.ask("createTerminal", channel, claim=MINE, **params)
        assert [action for action in talk.actions(ROOT) if action["type"] == "root/terminalsChanged"] == []
