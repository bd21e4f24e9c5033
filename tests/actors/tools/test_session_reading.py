"""list_sessions, list_agents, list_models and get_current_session, as a model calls them (tools page)."""

from __future__ import annotations

import json
from datetime import datetime
from pathlib import Path
from typing import Any

import msgspec
import pytest
from trio.testing import MockClock

from actors.agents.interface import Agent, AgentChat, Start
from actors.clock import Clock, parse_iso
from actors.people import People
from actors.session_orders import SetMeta
from actors.tools.builtin import host_tools
from actors.tools.call import Caller
from actors.tools.session_rows import status_names
from ahp.state.common import ConfigSchema
from ahp.state.root import SessionModelInfo
from tests.actors.tools.calling import calling
from tests.conformance.data import path_of

READING = ("list_sessions", "list_agents", "list_models", "get_current_session", "get_session_context")


def rows(answer: Any) -> dict[str, dict[str, Any]]:
    return {row["session"]: row for row in answer["sessions"]}


class Date(Clock):
    """A date a test sets."""

    def __init__(self, text: str) -> None:
        self.text = text

    def now(self) -> datetime:
        return parse_iso(self.text)


# Rows.


async def test_a_session_with_one_chat_is_a_short_row(tmp_path: Path) -> None:
    async with calling(tmp_path, clock=Date("2026-01-15T08:00:00Z")) as host:
        model = await host.model("ahp-session:/abc")
        await model.tell("a title")
        assert await model.call("list_sessions") == {
            "sessions": [
                {
                    "session": "ahp-session:/abc",
                    "openLink": "agent-host-session://echo/abc",
                    "title": "a title",
                    "status": "inProgress",
                    "unread": True,
                    "createdAt": "2026-01-15T08:00:00.000Z",
                    "modifiedAt": "2026-01-15T08:00:00.000Z",
                }
            ]
        }


async def test_the_newest_change_is_first(tmp_path: Path) -> None:
    clock = Date("2026-01-15T08:00:00Z")
    async with calling(tmp_path, clock=clock) as host:
        old = await host.model("ahp-session:/old")
        clock.text = "2026-01-15T09:00:00Z"
        young = await host.model("ahp-session:/young")

        async def order() -> list[str]:
            return list(rows(await young.call("list_sessions")))

        assert await order() == ["ahp-session:/young", "ahp-session:/old"]
        message = {"text": "news", "origin": {"kind": "user"}}
        await host.talk.do(
            old.chat, "chat/turnStarted", turnId="t", startedAt="2026-01-16T00:00:00.000Z", message=message
        )
        assert await order() == ["ahp-session:/old", "ahp-session:/young"]


async def test_folders_and_project_are_told(tmp_path: Path) -> None:
    work, more = tmp_path / "work", tmp_path / "more"
    work.mkdir()
    more.mkdir()
    async with calling(tmp_path) as host:
        model = await host.model(workingDirectories=[work.as_uri(), more.as_uri()])
        row = await model.call("get_current_session")
        assert row["workingDirectory"] == work.as_uri()
        assert row["workingDirectories"] == [work.as_uri(), more.as_uri()]
        assert (row["project"], row["projectUri"]) == ("work", work.as_uri())
        one = await host.model("ahp-session:/one", workingDirectories=[work.as_uri()])
        assert "workingDirectories" not in await one.call("get_current_session")


async def test_chats_are_listed_with_the_main_one_first(tmp_path: Path) -> None:
    async with calling(tmp_path) as host:
        model = await host.model("ahp-session:/s")
        await model.tell("first words")
        assert "chats" not in await model.call("get_current_session")
        second = await host.chat(model, "second")
        await second.tell("hello there")
        assert (await second.call("get_current_session"))["chats"] == [
            {
                "title": "first words",
                "openLink": "agent-host-session://echo/s",
                "status": "idle",
                "main": True,
            },
            {"title": "hello there", "openLink": "agent-host-session://echo/s?chat=second", "status": "inProgress"},
        ]


async def test_a_tools_chat_and_a_hidden_one_are_left_out(tmp_path: Path) -> None:
    async with calling(tmp_path) as host:
        model = await host.model("ahp-session:/s")
        await model.tell("/subagent look around")
        assert "chats" not in await model.call("get_current_session")
        state = await host.talk.state("ahp-session:/s")
        assert len(state["chats"]) == 2
        await host.chat(model, "second")
        assert len((await model.call("get_current_session"))["chats"]) == 2


async def test_a_chat_on_another_agent_names_its_harness_awake_and_asleep(
    tmp_path: Path, autojump_clock: MockClock
) -> None:
    async with calling(tmp_path) as host:
        model = await host.model("ahp-session:/s")
        second = await host.chat(model, "second")
        chat = host.host.chats[second.chat]
        chat.private = msgspec.structs.replace(chat.private, agent="parrot")
        chat.channel.write()
        await chat.channel.flush()
        main, other = (await model.call("get_current_session"))["chats"]
        assert "harness" not in main
        assert other["harness"] == "parrot"
        await host.sleep("ahp-session:/s")
        looker = await host.model("ahp-session:/looker")
        main, other = (await looker.call("list_sessions", session="ahp-session:/s"))["sessions"][0]["chats"]
        assert "harness" not in main
        assert other["harness"] == "parrot"
        assert "ahp-session:/s" not in host.host.sessions


@pytest.mark.parametrize(
    ("bits", "names"),
    [
        (0, []),
        (1, ["idle"]),
        (32, []),
        (2, ["error"]),
        (3, ["idle", "error"]),
        (8, ["inProgress"]),
        (16, []),
        (24, ["inputNeeded"]),
        (25 | 32, ["inputNeeded"]),
        (1 | 64, ["idle", "archived"]),
        (2 | 64, ["error", "archived"]),
    ],
)
def test_status_bits_have_names(bits: int, names: list[str]) -> None:
    assert status_names(bits) == names


async def test_git_and_github_are_told_where_the_session_has_them_awake_and_asleep(
    tmp_path: Path, autojump_clock: MockClock
) -> None:
    kept = {
        "git": {
            "branchName": "fix",
            "baseBranchName": "main",
            "upstreamBranchName": "origin/fix",
            "outgoingChanges": 2,
            "incomingChanges": 0,
            "uncommittedChanges": 3,
            "hasGitHubRemote": True,
        },
        "github": {"owner": "o", "repo": "r", "pullRequestUrl": "https://github.com/o/r/pull/1"},
    }
    git = {"branch": "fix", "baseBranch": "main", "upstreamBranch": "origin/fix"} | {
        "ahead": 2,
        "behind": 0,
        "uncommittedChanges": 3,
    }
    async with calling(tmp_path) as host:
        await host.model("ahp-session:/s")
        await host.host.sessions["ahp-session:/s"].ask(SetMeta(lambda meta: meta | kept))
        await host.model("ahp-session:/plain")
        looker = await host.model("ahp-session:/looker")
        for _ in range(2):
            found = rows(await looker.call("list_sessions"))
            assert found["ahp-session:/s"]["git"] == git
            assert found["ahp-session:/s"]["github"] == kept["github"]
            assert not {"git", "github"} & set(found["ahp-session:/plain"])
            assert list(rows(await looker.call("list_sessions", withPullRequest=True))) == ["ahp-session:/s"]
            await host.sleep("ahp-session:/s", "ahp-session:/plain")
            await host.talk.state(looker.chat)


async def test_what_a_client_wrote_into_meta_cannot_break_a_row(tmp_path: Path) -> None:
    async with calling(tmp_path) as host:
        model = await host.model()
        await host.host.sessions[model.session].ask(SetMeta(lambda _: {"git": 3, "github": {"owner": ["x"]}}))
        assert not {"git", "github"} & set(await model.call("get_current_session"))


# Filters.


async def test_one_session_is_looked_up_by_any_of_its_names_and_other_filters_do_not_count(tmp_path: Path) -> None:
    async with calling(tmp_path) as host:
        model = await host.model("ahp-session:/s")
        second = await host.chat(model, "second")
        await host.model("ahp-session:/other")
        for name in ("ahp-session:/s", "echo:/s", "agent-host-session://echo/s", " ahp-session:/s ", second.chat):
            answer = await model.call("list_sessions", session=name, unread=True, status=["archived"])
            assert list(rows(answer)) == ["ahp-session:/s"], name


async def test_archived_sessions_are_shown_only_when_asked_for(tmp_path: Path) -> None:
    async with calling(tmp_path) as host:
        model = await host.model("ahp-session:/here")
        await host.model("ahp-session:/away")
        await host.talk.do("ahp-session:/away", "session/isArchivedChanged", isArchived=True)
        assert list(rows(await model.call("list_sessions"))) == ["ahp-session:/here"]
        assert len(rows(await model.call("list_sessions", includeArchived=True))) == 2
        only = rows(await model.call("list_sessions", status=["archived"]))
        assert {uri: row["status"] for uri, row in only.items()} == {"ahp-session:/away": "idle,archived"}
        assert not rows(await model.call("list_sessions", status=["idle"]))


async def test_status_filters_by_any_of_the_names(tmp_path: Path) -> None:
    async with calling(tmp_path) as host:
        model = await host.model("ahp-session:/here")
        await host.model("ahp-session:/idle")
        asking = await host.model("ahp-session:/asking")
        await asking.say("/ask really?")
        await host.talk.action(asking.chat, "chat/inputRequested")
        assert list(rows(await model.call("list_sessions", status=["inputNeeded"]))) == ["ahp-session:/asking"]
        assert set(rows(await model.call("list_sessions", status=["idle", "inProgress"]))) == {
            "ahp-session:/here",
            "ahp-session:/idle",
        }


async def test_an_unknown_status_is_refused_with_the_ones_there_are(tmp_path: Path) -> None:
    async with calling(tmp_path) as host:
        model = await host.model()
        refusal = await model.refusal("list_sessions", status=["asleep"])
        assert refusal.startswith("list_sessions: status[0]: 'asleep' is not one of")
        assert all(name in refusal for name in ("idle", "inProgress", "inputNeeded", "error", "archived"))


async def test_workspace_takes_a_projects_name_its_uri_or_a_folder(tmp_path: Path) -> None:
    work, rest = tmp_path / "My Work", tmp_path / "rest"
    work.mkdir()
    rest.mkdir()
    async with calling(tmp_path) as host:
        await host.model("ahp-session:/in", workingDirectories=[work.as_uri()])
        model = await host.model("ahp-session:/out", workingDirectories=[rest.as_uri()])
        await host.model("ahp-session:/nowhere")
        for named in ("my work", "My Work", work.as_uri(), f"{work.as_uri()}/", str(work), f"{work}/"):
            assert list(rows(await model.call("list_sessions", workspace=named))) == ["ahp-session:/in"], named
        assert not rows(await model.call("list_sessions", workspace="work"))


async def test_unread_and_changes_filter(tmp_path: Path, autojump_clock: MockClock) -> None:
    async with calling(tmp_path) as host:
        model = await host.model("ahp-session:/here")
        await host.model("ahp-session:/read")
        await model.tell("something happens here")
        assert list(rows(await model.call("list_sessions", unread=True))) == ["ahp-session:/here"]
        assert len(rows(await model.call("list_sessions", unread=False))) == 2
        assert not rows(await model.call("list_sessions", withChanges=True))
        summary = host.host.catalogue.get("ahp-session:/read")
        assert summary is not None
        await host.sleep("ahp-session:/read")
        host.host.catalogue.put(
            msgspec.convert({**msgspec.to_builtins(summary), "changes": {"files": 2}}, type(summary))
        )
        await host.talk.state(model.chat)
        found = rows(await model.call("list_sessions", withChanges=True))
        assert {uri: row["changes"] for uri, row in found.items()} == {"ahp-session:/read": {"files": 2}}


async def test_dates_bound_the_creation(tmp_path: Path) -> None:
    clock = Date("2026-01-10T00:00:00Z")
    async with calling(tmp_path, clock=clock) as host:
        model = await host.model("ahp-session:/a")
        clock.text = "2026-02-10T00:00:00Z"
        await host.model("ahp-session:/b")

        async def found(**given: str) -> list[str]:
            return sorted(rows(await model.call("list_sessions", **given)))

        assert await found(createdAfter="2026-02-01") == ["ahp-session:/b"]
        assert await found(createdBefore="2026-02-01T00:00:00+02:00") == ["ahp-session:/a"]
        assert await found(createdAfter="2026-01-01", createdBefore="2026-03-01") == [
            "ahp-session:/a",
            "ahp-session:/b",
        ]
        assert await found(createdAfter="2026-03-01") == []


def unknown(session: str) -> str:
    return (
        f"Invalid list_sessions input: session {session!r} is no session of this host; list_sessions has the ones there"
        " are."
    )


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"session": ""}, "Invalid list_sessions input: session must be a non-empty string."),
        ({"workspace": "  "}, "Invalid list_sessions input: workspace must be a non-empty string."),
        ({"session": 5}, "list_sessions: session: 5 is not of type 'string'"),
        ({"unread": "yes"}, "list_sessions: unread: 'yes' is not of type 'boolean'"),
        (
            {"createdAfter": "yesterday"},
            "Invalid list_sessions input: createdAfter must be an ISO 8601 date, such as 2026-01-15T08:00:00Z.",
        ),
        (
            {"session": "ahp-session:/none"},
            unknown("ahp-session:/none"),
        ),
        (
            {"session": "agent-host-session://parrot/caller"},
            unknown("agent-host-session://parrot/caller"),
        ),
        (
            {"session": "agent-host-session://echo/caller?chat=none"},
            (
                "Invalid list_sessions input: session names the chat 'none', which is no chat of ahp-session:/caller;"
                " list_sessions has the session's chats."
            ),
        ),
        *[
            (
                {"session": text},
                "Invalid list_sessions input: session must be a session URI or an open link from list_sessions.",
            )
            for text in (
                "a word",
                "https://example.org/s",
                "agent-host-session:///caller",
                "agent-host-session://echo/",
            )
        ],
        (
            {"session": "ahp-chat:/none"},
            unknown("ahp-chat:/none"),
        ),
        (
            {"session": "ahp-terminal:/t"},
            unknown("ahp-terminal:/t"),
        ),
    ],
)
async def test_what_list_sessions_cannot_read_is_refused_by_name(
    tmp_path: Path, given: dict[str, Any], said: str
) -> None:
    async with calling(tmp_path) as host:
        model = await host.model()
        assert await model.refusal("list_sessions", **given) == said


# Agents and models.


class Many(Agent):
    """An agent with seven models and no description, whose settings cannot be read."""

    provider = "many"
    display_name = "Many"

    async def models(self) -> list[SessionModelInfo]:
        return [SessionModelInfo(id=f"m{n}", name=f"Model {n}") for n in range(7)]

    async def config_schema(self, folder: Path | None) -> ConfigSchema:
        raise OSError("no settings today")

    async def open_chat(self, start: Start) -> AgentChat:
        raise NotImplementedError


async def test_agents_are_told_with_settings_and_their_first_five_models(tmp_path: Path) -> None:
    async with calling(tmp_path, Many()) as host:
        model = await host.model()
        echo, parrot, many = (await model.call("list_agents"))["agents"]
        assert (echo["agent"], echo["name"]) == ("echo", "Echo")
        assert echo["models"] == [{"id": "echo-1", "name": "Echo"}, {"id": "echo-upper", "name": "Echo in capitals"}]
        assert echo["config"]["voice"]["enum"] == ["plain", "parrot"]
        assert set(echo["config"]) == {"pace", "shout", "voice"}
        assert parrot == {"agent": "parrot", "name": "Parrot", "config": {}, "models": []}
        assert many["models"] == [{"id": f"m{n}", "name": f"Model {n}"} for n in range(5)]
        assert many["moreModels"] == 2
        assert many["config"] == {}


async def test_models_are_told_of_one_agent_or_of_all_in_the_order_they_were_learned(tmp_path: Path) -> None:
    async with calling(tmp_path, Many()) as host:
        model = await host.model()
        every = (await model.call("list_models"))["models"]
        assert [one["id"] for one in every] == ["echo-1", "echo-upper", *(f"m{n}" for n in range(7))]
        assert every[0] == {"agent": "echo", "id": "echo-1", "name": "Echo"}
        many = (await model.call("list_models", agent="many"))["models"]
        assert many == every[2:]
        assert await model.call("list_models", agent="parrot") == {"models": []}
        assert await model.refusal("list_models", agent="claude") == (
            "Invalid list_models input: agent 'claude' is no agent of this host, which offers: echo, parrot, many."
        )
        assert await model.refusal("list_models", agent="") == (
            "Invalid list_models input: agent must be a non-empty string."
        )


# Who asks.


async def test_the_current_session_is_the_row_that_list_sessions_has(tmp_path: Path) -> None:
    async with calling(tmp_path) as host:
        model = await host.model()
        await model.tell("a title")
        listed = (await model.call("list_sessions"))["sessions"]
        assert [await model.call("get_current_session")] == listed


async def test_a_session_that_has_left_the_catalogue_still_knows_its_own_name(tmp_path: Path) -> None:
    async with calling(tmp_path) as host:
        model = await host.model()
        host.host.catalogue.remove(model.session)
        assert await model.call("get_current_session") == {
            "session": "ahp-session:/caller",
            "openLink": "agent-host-session://echo/caller",
        }


class Nobody(People):
    """Nobody holds any grant."""

    def refusal(self, behind: Any, grant: str) -> str | None:
        return f"{behind.principal or 'this turn'} may not {grant} here"


async def test_without_the_grant_the_listing_is_empty_and_the_others_refuse(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with calling(tmp_path) as host:
        model = await host.model()
        monkeypatch.setattr(People, "refusal", Nobody.refusal)
        assert await model.call("list_sessions") == {"sessions": []}
        assert await model.call("list_sessions", session="ahp-session:/none") == {"sessions": []}
        for tool in ("list_agents", "list_models", "get_current_session"):
            assert await model.refusal(tool) == "this turn may not session:read here"
        assert await model.refusal("get_session_context", session=model.session) == (
            "this turn may not session:read here"
        )
        assert host.host.env.tools.sessionless(Caller(principal="reader")) == []


async def test_four_of_the_readers_need_no_session(tmp_path: Path) -> None:
    async with calling(tmp_path) as host:
        await host.model("ahp-session:/s")
        seen = [tool.name for tool in host.host.env.tools.sessionless(Caller(root=True))]
        assert [name for name in seen if name in READING] == [name for name in READING if name != "get_current_session"]
        result = await host.sessionless("list_sessions")
        assert list(rows(json.loads(result["content"][0]["text"]))) == ["ahp-session:/s"]
        agents = json.loads((await host.sessionless("list_agents"))["content"][0]["text"])["agents"]
        assert [agent["agent"] for agent in agents] == ["echo", "parrot"]


async def test_sleeping_sessions_are_listed_and_not_woken(tmp_path: Path, autojump_clock: MockClock) -> None:
    async with calling(tmp_path) as host:
        for name in "abc":
            await (await host.model(f"ahp-session:/{name}")).tell(f"title {name}")
        await host.sleep(*(f"ahp-session:/{name}" for name in "abc"))
        model = await host.model()
        found = rows(await model.call("list_sessions"))
        assert {found[f"ahp-session:/{name}"]["title"] for name in "abc"} == {"title a", "title b", "title c"}
        assert set(host.host.sessions) == {model.session}


# What the tools say of themselves.


def test_names_schemas_and_annotations_equal_the_references() -> None:
    reference = {tool["name"]: tool for tool in json.loads(path_of("reference-tools.json").read_text())["session"]}
    for tool in host_tools():
        if tool.name not in READING or tool.name not in reference:
            continue
        known = reference[tool.name]
        mine = json.loads(msgspec.json.encode(tool.input_schema))
        for added in ("responseTurnId", "responseOffset"):
            mine["properties"].pop(added, None)
        assert (tool.title, mine) == (known["title"], known["inputSchema"])
        assert msgspec.to_builtins(tool.annotations) == known["annotations"]


def test_the_readers_come_in_the_pages_order() -> None:
    assert [tool.name for tool in host_tools()][:5] == list(READING)
    assert {tool.family for tool in host_tools()[:5]} == {"session"}
