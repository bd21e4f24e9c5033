"""set_workspace and isolate_session on real Git repositories: carried out when the turn completes, else dropped."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import trio
import trio.testing

from actors.agents.echo import Echo
from actors.agents.interface import Agent, AgentChat, Start
from actors.chat_orders import AfterTurn
from actors.session_orders import IsolateChat
from ahp.jsonrpc import InvalidParams
from ahp.wire import present
from tests.actors.hosting import Talk
from tests.actors.tools.calling import Calling, Model, calling
from tests.actors.workspace.repo import Repo

NO_CHANGE = "The workspace was not changed"


class Tracked(Echo):
    """An echo that says which backends were opened, where, and how many were closed."""

    provider = "tracked"
    display_name = "Tracked"

    def __init__(self) -> None:
        self.starts: list[Start] = []

    async def open_chat(self, start: Start) -> AgentChat:
        self.starts.append(start)
        return await super().open_chat(start)

    def opened(self, chat: str) -> list[list[Path]]:
        return [list(start.folders) for start in self.starts if start.chat == chat]


class OneFolder(Tracked):
    provider = "narrow"
    display_name = "Narrow"
    multiple_directories = False


@pytest.fixture
def repo(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Repo:
    for name in ("GLOBAL", "SYSTEM"):
        monkeypatch.setenv(f"GIT_CONFIG_{name}", "/dev/null")
    made = Repo(tmp_path / "repo")
    made.write(".gitignore", ".env\n")
    made.commit("a.txt")
    made.write(".env", "secret=1\n")
    return made


async def in_repo(at: Calling, repo: Repo, **config: Any) -> Model:
    return await at.model(provider="tracked", workingDirectories=[repo.path.as_uri()], config=config)


async def gone_on(model: Model, talk: Talk) -> str:
    """The text by which the host lets the chat go on; its turn is over."""

    def begun(message: dict[str, Any]) -> bool:
        params = message.get("params", {})
        action = params.get("action", {})
        origin = action.get("message", {}).get("origin", {})
        return (
            params.get("channel") == model.chat
            and action.get("type") == "chat/turnStarted"
            and origin.get("kind") == "systemNotification"
        )

    action = (await talk.wait_for(begun))["params"]["action"]
    await talk.action(model.chat, "chat/turnComplete", turnId=action["turnId"])
    text: str = action["message"]["text"]
    return text


def worktree_of(text: str) -> Path:
    return Path(text.removeprefix("The workspace is now ").removesuffix(". Go on with the task there."))


def change(folder: Path | str, isolation: bool = False) -> str:
    return f"/tool set_workspace {json.dumps({'workspaceFolder': str(folder), 'isolation': isolation})}"


async def test_the_session_works_in_the_other_folder_when_the_turn_is_over(tmp_path: Path, repo: Repo) -> None:
    (tmp_path / "new").mkdir()
    agent = Tracked()
    async with calling(tmp_path, agent) as at:
        model = await in_repo(at, repo)
        second = await at.connect("c2", subscribe=[model.session, model.chat])
        said = await model.call("set_workspace", workspaceFolder=str(tmp_path / "new"), isolation=False)
        assert "End your turn now" in said
        replaced = await second.action(model.session, "session/workingDirectoryReplaced")
        assert (replaced["directory"], replaced["replacement"]) == (
            repo.path.as_uri(),
            (tmp_path / "new").as_uri(),
        )
        assert worktree_of(await gone_on(model, second)) == tmp_path / "new"
        await model.tell("/edit b.txt hello")
        assert (tmp_path / "new" / "b.txt").read_text() == "hello\n"
        assert agent.opened(model.chat) == [[repo.path], [tmp_path / "new"]]


async def test_a_session_without_a_folder_takes_one_by_file_uri(tmp_path: Path) -> None:
    async with calling(tmp_path) as at:
        model = await at.model()
        await model.call("set_workspace", workspaceFolder=tmp_path.as_uri(), isolation=False)
        await gone_on(model, at.talk)
        assert (await at.talk.state(model.session))["workingDirectories"] == [tmp_path.as_uri()]


async def test_isolation_is_a_worktree_with_the_files_to_copy_and_stays_the_sessions(
    tmp_path: Path, repo: Repo
) -> None:
    async with calling(tmp_path, Tracked()) as at:
        model = await in_repo(at, repo, worktreeIncludeFiles=[".env"])
        await model.call("set_workspace", workspaceFolder=str(repo.path), isolation=True)
        tree = worktree_of(await gone_on(model, at.talk))
        assert tree != repo.path
        assert (tree / ".env").read_text() == "secret=1\n"
        assert str(tree) in repo.git("worktree", "list")
        assert at.host.sessions[model.session].private.worktrees == (str(tree),)
    async with calling(tmp_path, Tracked()) as at:
        assert (await at.talk.state(model.session))["workingDirectories"] == [tree.as_uri()]
        assert at.host.sessions[model.session].private.worktrees == (str(tree),)


@pytest.mark.parametrize("end", ["cancelled", "failed"])
async def test_a_turn_that_is_cancelled_or_fails_changes_nothing(tmp_path: Path, repo: Repo, end: str) -> None:
    (tmp_path / "new").mkdir()
    agent = Tracked()
    async with calling(tmp_path, agent) as at:
        model = await in_repo(at, repo)
        turn = await model.say(
            f"{change(tmp_path / 'new')}\n/tool isolate_session\n{'/hang' if end == 'cancelled' else '/fail no'}"
        )
        if end == "cancelled":
            calls = "chat/toolCallComplete"
            await at.talk.wait_for(lambda _: len([a for a in at.talk.actions(model.chat) if a["type"] == calls]) == 2)
            await at.talk.do(model.chat, "chat/turnCancelled", turnId=turn, duration=1)
        else:
            await at.talk.action(model.chat, "chat/error", turnId=turn)
        await model.tell("on")
        await trio.testing.wait_all_tasks_blocked()
        assert (await at.talk.state(model.session))["workingDirectories"] == [repo.path.as_uri()]
        assert "workingDirectories" not in await at.talk.state(model.chat)
        assert agent.opened(model.chat) == [[repo.path]]
        assert at.host.sessions[model.session].private.worktrees == ()


async def test_a_change_ordered_by_a_turn_that_has_just_ended_is_refused(tmp_path: Path) -> None:
    async with calling(tmp_path) as at:
        model = await at.model()
        turn = await model.say("/hang")
        chat = at.host.chats[model.chat]
        with pytest.raises(InvalidParams, match="is over"):
            await chat.ask(AfterTurn("another", "workspace", IsolateChat(model.chat)))
        await at.talk.do(model.chat, "chat/turnCancelled", turnId=turn, duration=1)
        with pytest.raises(InvalidParams, match="is over"):
            await chat.ask(AfterTurn(turn, "workspace", IsolateChat(model.chat)))
        assert chat.after_turn == {}


async def test_the_last_of_two_changes_in_a_turn_counts(tmp_path: Path) -> None:
    for name in ("one", "two"):
        (tmp_path / name).mkdir()
    async with calling(tmp_path) as at:
        model = await at.model()
        await model.tell(f"{change(tmp_path / 'one')}\n{change(tmp_path / 'two')}")
        assert worktree_of(await gone_on(model, at.talk)) == tmp_path / "two"
        assert (await at.talk.state(model.session))["workingDirectories"] == [(tmp_path / "two").as_uri()]


async def test_folders_that_are_none_are_refused_and_name_the_field(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    async with calling(tmp_path) as at:
        model = await at.model()
        for folder in ("relative", "", f"{tmp_path.as_uri()}?x=1", f"{tmp_path.as_uri()}#x", "file://elsewhere/x"):
            said = await model.refusal("set_workspace", workspaceFolder=folder, isolation=False)
            assert "Invalid set_workspace input: workspaceFolder" in said
        for folder in (str(tmp_path / "file"), str(tmp_path / "none")):
            assert "is no folder on this machine" in await model.refusal(
                "set_workspace", workspaceFolder=folder, isolation=False
            )
        assert "'isolation' is a required property" in await model.refusal("set_workspace", workspaceFolder="/")
        assert "isolation: 'yes' is not of type 'boolean'" in await model.refusal(
            "set_workspace", workspaceFolder="/", isolation="yes"
        )


async def test_a_worktree_that_cannot_be_made_is_told_to_the_chat(tmp_path: Path) -> None:
    (tmp_path / "plain").mkdir()
    async with calling(tmp_path) as at:
        model = await at.model(workingDirectories=[(tmp_path / "plain").as_uri()])
        await model.call("set_workspace", workspaceFolder=str(tmp_path / "plain"), isolation=True)
        said = await gone_on(model, at.talk)
        assert said.startswith(NO_CHANGE)
        assert "no Git repository" in said
        assert (await at.talk.state(model.session))["workingDirectories"] == [(tmp_path / "plain").as_uri()]


async def test_one_chat_isolates_itself_and_the_others_keep_folder_and_process(tmp_path: Path, repo: Repo) -> None:
    agent = Tracked()
    async with calling(tmp_path, agent) as at:
        model = await in_repo(at, repo, worktreeIncludeFiles=[".env"])
        nested, third = await at.chat(model, "nested"), await at.chat(model, "third")
        await model.tell("here")
        await third.say("/slow 1000 100", "long")
        await nested.call("isolate_session")
        tree = worktree_of(await gone_on(nested, at.talk))
        assert (tree / ".env").read_text() == "secret=1\n"
        await nested.tell("/edit b.txt isolated")
        await model.tell("/edit b.txt at home")
        assert (tree / "b.txt").read_text() == "isolated\n"
        assert (repo.path / "b.txt").read_text() == "at home\n"
        assert agent.opened(nested.chat) == [[repo.path], [tree]]
        assert agent.opened(model.chat) == agent.opened(third.chat) == [[repo.path]]
        assert present(at.host.chats[third.chat].state.active_turn, None) is not None
        assert (await at.talk.state(nested.chat))["workingDirectories"] == [tree.as_uri()]
        assert at.host.sessions[model.session].private.worktrees == (str(tree),)
        await at.talk.do(third.chat, "chat/turnCancelled", turnId="long", duration=1)
    again = Tracked()
    async with calling(tmp_path, again) as at:
        await at.talk.state(model.session)
        for chat in (model, nested):
            await at.talk.state(chat.chat)
            await Model(at.talk, model.session, chat.chat).tell("after the restart")
        assert (again.opened(model.chat), again.opened(nested.chat)) == ([[repo.path]], [[tree]])


async def test_a_chat_that_cannot_be_isolated_is_told_so(tmp_path: Path) -> None:
    async with calling(tmp_path) as at:
        model = await at.model()
        await model.call("isolate_session")
        assert "works in 0 folders, and one is expected" in await gone_on(model, at.talk)


async def test_isolation_is_offered_where_each_chat_has_its_folder_and_to_no_worker(tmp_path: Path) -> None:
    agents: list[Agent] = [Tracked(), OneFolder()]
    async with calling(tmp_path, *agents) as at:
        model = await at.model(provider="tracked")
        narrow = await at.model("ahp-session:/narrow", provider="narrow")

        def offered(uri: str, chat: str) -> list[str]:
            return [one.name for one in at.host.sessions[uri].offered(at.host.chats[chat])]

        assert "isolate_session" in offered(model.session, model.chat)
        assert "isolate_session" not in offered(narrow.session, narrow.chat)
        assert "set_workspace" in offered(narrow.session, narrow.chat)
        await model.tell("/subagent one | /tool isolate_session")
        worker = next(uri for uri in at.host.sessions[model.session].chats if uri != model.chat)
        assert "isolate_session" not in offered(model.session, worker)
