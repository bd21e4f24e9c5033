"""ahp_resource and ahp_terminals: the session's own files, what a client publishes, the terminals a person sees."""

import base64
from pathlib import Path
from typing import Any

import pytest

from tests.actors.tools.calling import Calling, Model, calling


async def in_folder(at: Calling, folder: Path) -> Model:
    folder.mkdir()
    return await at.model(workingDirectories=[folder.as_uri()])


async def publish(model: Model, answer: dict[str, Any]) -> str:
    """The model reads a URI of the client's while the client answers `answer`: the call's turn."""
    active = {"clientId": "c1", "displayName": "Editor", "tools": []}
    await model.talk.do(model.session, "session/activeClientSet", activeClient=active)
    turn = await model.say('/tool ahp_resource {"uri": "unsaved:/a.py"}')
    asked = await model.talk.wait_for(lambda message: message.get("method") == "resourceRead")
    assert asked["params"]["uri"] == "unsaved:/a.py"
    model.talk.send({"jsonrpc": "2.0", "id": asked["id"], **answer})
    return turn


async def result_of(model: Model, turn: str) -> dict[str, Any]:
    done: dict[str, Any] = (await model.talk.action(model.chat, "chat/toolCallComplete", turnId=turn))["result"]
    return done


async def test_a_file_of_the_session_is_read_and_no_other(tmp_path: Path) -> None:
    (tmp_path / "home").mkdir()
    async with calling(tmp_path / "home") as at:
        model = await in_folder(at, tmp_path / "work")
        (tmp_path / "work" / "a.txt").write_text("mine ✓")
        (tmp_path / "secret.txt").write_text("not yours")
        (tmp_path / "work" / "link").symlink_to(tmp_path / "secret.txt")
        (tmp_path / "work" / "raw").write_bytes(b"\xff\x00")
        at_work = (tmp_path / "work").as_uri()
        assert await model.call("ahp_resource", uri=f"{at_work}/a.txt") == "mine ✓"
        for outside in (f"{at_work}/../secret.txt", f"{at_work}/link", (tmp_path / "secret.txt").as_uri()):
            said = await model.refusal("ahp_resource", uri=outside)
            assert "not yours" not in said
        assert "is no text" in await model.refusal("ahp_resource", uri=f"{at_work}/raw")
        assert "uri is a.txt" in await model.refusal("ahp_resource", uri="a.txt")
        assert "uri" in await model.refusal("ahp_resource")


@pytest.mark.parametrize(
    "sent",
    [
        {"data": "half done", "encoding": "utf-8"},
        {"data": base64.b64encode(b"half done").decode(), "encoding": "base64"},
    ],
)
async def test_a_clients_resource_is_asked_of_that_client(
    tmp_path: Path, autojump_clock: Any, sent: dict[str, Any]
) -> None:
    async with calling(tmp_path) as at:
        model = await at.model()
        result = await result_of(model, await publish(model, {"result": sent}))
        assert result["content"][0]["text"] == "half done"


@pytest.mark.parametrize(
    ("answer", "said"),
    [
        ({"error": {"code": -32008, "message": "no such buffer"}}, "c1: no such buffer"),
        ({"result": {"data": 5}}, "c1: no resourceRead result"),
    ],
)
async def test_a_client_that_has_nothing_is_quoted(
    tmp_path: Path, autojump_clock: Any, answer: dict[str, Any], said: str
) -> None:
    async with calling(tmp_path) as at:
        model = await at.model()
        result = await result_of(model, await publish(model, answer))
        assert said in result["error"]["message"]


async def test_with_no_client_in_the_session_nobody_is_asked(tmp_path: Path, autojump_clock: Any) -> None:
    async with calling(tmp_path) as at:
        model = await at.model()
        assert "no client is active" in await model.refusal("ahp_resource", uri="unsaved:/a.py")


async def test_a_client_that_goes_silent_is_waited_for_no_longer_than_it_may_take(
    tmp_path: Path, autojump_clock: Any
) -> None:
    async with calling(tmp_path) as at:
        model = await at.model()
        active = {"clientId": "c1", "displayName": "Editor", "tools": []}
        await model.talk.do(model.session, "session/activeClientSet", activeClient=active)
        assert "did not answer" in await model.refusal("ahp_resource", uri="unsaved:/a.py")


async def test_terminals_are_listed_a_line_each(tmp_path: Path) -> None:
    async with calling(tmp_path) as at:
        model = await at.model()
        assert await model.call("ahp_terminals") == "No terminal is open."
        claim = {"kind": "client", "clientId": "c1"}
        made = {"name": "build", "cwd": tmp_path.as_uri(), "claim": claim}
        await at.talk.ask("createTerminal", "ahp-terminal:/t1", **made)
        line = await model.call("ahp_terminals")
        assert line.startswith("ahp-terminal:/t1 ")
        assert line.endswith(" running")
        assert str(tmp_path) in line
