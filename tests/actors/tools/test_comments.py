"""Comments: proposals until accepted, one state for every client, and nobody else's annotations touched."""

from pathlib import Path
from typing import Any

import pytest

from tests.actors.tools.calling import Calling, Model, calling

RANGE = {"startLineNumber": 3, "startColumn": 1, "endLineNumber": 3, "endColumn": 9}
FILE = "file:///work/a.py"
NEW = {"resourceUri": FILE, "range": RANGE, "text": "t"}
KEY = "vscode.agentFeedback"


async def annotations(model: Model) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = (await model.talk.state(f"{model.session}/annotations"))["annotations"]
    return found


async def put(model: Model, id: str, *, kind: str = "user", state: str = "submitted", **slot: Any) -> None:
    """A client's comment."""
    annotation = {
        "id": id,
        "resource": FILE,
        "resolved": False,
        "entries": [{"id": f"{id}:0", "text": f"about {id}"}],
        "_meta": {KEY: {"kind": kind, "state": state, "sessionResource": model.session, **slot}},
    }
    await model.talk.do(f"{model.session}/annotations", "annotations/set", annotation=annotation)


async def start(at: Calling) -> Model:
    model = await at.model()
    await annotations(model)
    return model


async def test_a_comment_is_a_proposal_that_every_client_sees(tmp_path: Path, autojump_clock: Any) -> None:
    async with calling(tmp_path) as at:
        model = await start(at)
        made = await model.call("addComment", resourceUri=FILE, range=RANGE, text="Why?")
        assert made["range"] == RANGE
        assert (made["kind"], made["author"], made["resolved"]) == ("codeReview", "agent", False)
        [kept] = await annotations(model)
        assert kept["range"] == {"start": {"line": 2, "character": 0}, "end": {"line": 2, "character": 8}}
        assert kept["_meta"][KEY] == {"kind": "codeReview", "state": "created", "sessionResource": model.session}
        assert kept["entries"][0]["id"] == f"{made['id']}:0"
        assert (kept["origin"]["session"], kept["origin"]["chat"]) == (model.session, model.chat)
        assert (await model.talk.state(model.session))["annotations"]["annotationCount"] == 1
        listed = await model.call("listComments")
        assert listed["comments"] == []
        assert listed["note"].startswith("1 code review comment")
        assert "viewUnreviewedComments" in listed["note"]


async def test_accepted_comments_are_listed_replied_to_resolved_and_deleted(
    tmp_path: Path, autojump_clock: Any
) -> None:
    async with calling(tmp_path) as at:
        model = await start(at)
        for name in ("one", "two"):
            await put(model, name)
        listed = (await model.call("listComments"))["comments"]
        assert [(each["id"], each["author"], each["text"]) for each in listed] == [
            ("one", "user", "about one"),
            ("two", "user", "about two"),
        ]
        assert listed[0]["range"] == dict.fromkeys(RANGE, 1)
        replied = await model.call("replyToComment", commentId="one", text="Done.")
        assert replied["replies"] == [{"author": "agent", "text": "Done."}]
        resolved = await model.call("resolveComments", commentIds=["one", "gone", "one"])
        assert (resolved["updatedCommentIds"], resolved["notFoundCommentIds"]) == (["one"], ["gone"])
        assert [each["id"] for each in (await model.call("listComments"))["comments"]] == ["two"]
        assert len((await model.call("listComments", includeResolved=True))["comments"]) == 2
        again = await model.call("resolveComments", commentIds=["one"], resolved=False)
        assert again["comments"][0]["resolved"] is False
        deleted = await model.call("deleteComments", commentIds=["one", "gone"])
        assert (deleted["deletedCommentIds"], deleted["notFoundCommentIds"]) == (["one"], ["gone"])
        assert [each["id"] for each in deleted["remainingComments"]] == ["two"]
        assert [each["id"] for each in await annotations(model)] == ["two"]


@pytest.mark.parametrize("slot", [None, {}, {"kind": "user"}, {"kind": "x", "state": "created", "sessionResource": ""}])
async def test_somebody_elses_annotation_is_never_touched(tmp_path: Path, autojump_clock: Any, slot: Any) -> None:
    async with calling(tmp_path) as at:
        model = await start(at)
        theirs: dict[str, Any] = {"id": "x", "resource": FILE, "resolved": False, "entries": [{"id": "e", "text": "t"}]}
        if slot is not None:
            theirs["_meta"] = {KEY: slot}
        await model.talk.do(f"{model.session}/annotations", "annotations/set", annotation=theirs)
        assert await model.call("listComments", includeResolved=True) == {"comments": []}
        assert "commentId x" in await model.refusal("replyToComment", commentId="x", text="hello")
        for tool in ("deleteComments", "resolveComments"):
            assert (await model.call(tool, commentIds=["x"]))["notFoundCommentIds"] == ["x"]
        assert await model.call("viewUnreviewedComments") == {"comments": []}
        assert await annotations(model) == [theirs]


@pytest.mark.parametrize(("answer", "response"), [("Show them", "accept"), ("Not now", "accept"), (None, "decline")])
async def test_waiting_comments_are_shown_with_the_persons_yes(
    tmp_path: Path, autojump_clock: Any, answer: str | None, response: str
) -> None:
    async with calling(tmp_path) as at:
        model = await start(at)
        await put(model, "mine", kind="user", state="created")
        await put(model, "review", kind="prReview", state="created")
        turn = await model.say("/tool viewUnreviewedComments {}")
        request = (await model.talk.action(model.chat, "chat/inputRequested"))["request"]
        await put(model, "late", kind="prReview", state="created")
        answers: dict[str, Any] = {}
        if answer is not None:
            answers = {"show": {"state": "submitted", "value": {"kind": "selected", "value": answer}}}
        done = {"requestId": request["id"], "response": response, "answers": answers}
        await model.talk.do(model.chat, "chat/inputCompleted", **done)
        result = (await model.talk.action(model.chat, "chat/toolCallComplete", turnId=turn))["result"]
        await model.talk.action(model.chat, "chat/turnComplete", turnId=turn)
        assert result["success"] is (answer == "Show them")
        states = {each["id"]: each["_meta"][KEY]["state"] for each in await annotations(model)}
        seen = "submitted" if answer == "Show them" else "created"
        assert states == {"mine": "created", "review": seen, "late": "created"}


async def test_comments_marked_to_be_revealed_go_out_alone(tmp_path: Path, autojump_clock: Any) -> None:
    async with calling(tmp_path) as at:
        model = await start(at)
        await put(model, "marked", kind="user", state="created", pendingAgentReveal=True, suggestion="x")
        shown = await model.call("viewUnreviewedComments")
        assert [each["id"] for each in shown["comments"]] == ["marked"]
        [kept] = await annotations(model)
        assert kept["_meta"][KEY]["state"] == "submitted"
        assert kept["_meta"][KEY]["suggestion"] == "x"
        assert "pendingAgentReveal" not in kept["_meta"][KEY]
        assert await model.call("viewUnreviewedComments") == {"comments": []}


@pytest.mark.parametrize(
    ("tool", "given", "said"),
    [
        (
            "addComment",
            {**NEW, "range": {**RANGE, "startColumn": 0}},
            "range.startColumn is 0",
        ),
        (
            "addComment",
            {**NEW, "range": {**RANGE, "endColumn": 1.5}},
            "range.endColumn is 1.5",
        ),
        ("addComment", {**NEW, "range": {**RANGE, "endLineNumber": 1}}, "before it starts"),
        ("addComment", {**NEW, "resourceUri": " "}, "resourceUri is blank"),
        ("addComment", {"resourceUri": FILE, "range": RANGE}, "text"),
        ("replyToComment", {"commentId": "gone", "text": "t"}, "commentId gone"),
        ("deleteComments", {"commentIds": []}, "commentIds is empty"),
        ("resolveComments", {"commentIds": "one"}, "commentIds"),
    ],
)
async def test_what_is_wrong_is_named(
    tmp_path: Path, autojump_clock: Any, tool: str, given: dict[str, Any], said: str
) -> None:
    async with calling(tmp_path) as at:
        model = await start(at)
        assert said in await model.refusal(tool, **given)
        assert await annotations(model) == []
