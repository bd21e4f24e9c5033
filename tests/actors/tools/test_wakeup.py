"""schedule_wakeup on a clock that a test moves (tools page, schedule_wakeup): thirty days pass in a moment."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import msgspec
import pytest
import trio
import trio.testing

from actors.clock import Clock
from actors.session_record import ChatPrivate
from actors.store import StoreError
from actors.store import chats as chat_records
from ahp import wire
from tests.actors.tools.calling import Calling, calling

DAY = 86_400


class Days(Clock):
    """The date goes with the time that is slept, from the first of January; `ahead` is what was slept elsewhere."""

    def __init__(self, ahead: float = 0) -> None:
        self.ahead = ahead
        self._began = trio.current_time()

    def now(self) -> datetime:
        slept = self.ahead + trio.current_time() - self._began
        return datetime(2026, 1, 1, tzinfo=UTC) + timedelta(seconds=slept)


async def turns(at: Calling, chat: str) -> list[tuple[str, str]]:
    """Message and origin of each turn."""
    state = await at.talk.state(chat)
    return [(turn["message"]["text"], turn["message"]["origin"]["kind"]) for turn in state["turns"]]


async def woken(at: Calling, chat: str) -> list[str]:
    return [text for text, origin in await turns(at, chat) if origin == "automation"]


async def kept(at: Calling, chat: str) -> tuple[str | None, ChatPrivate]:
    """The date the store would wake the chat at, and what it keeps of it."""
    record = await at.host.env.store.read(chat_records.load(chat))
    assert record is not None
    return record.wake_at, wire.decode(record.private, ChatPrivate)


@pytest.mark.parametrize(("delay", "due"), [(60, "2026-01-01T00:01:00.000Z"), (30 * DAY, "2026-01-31T00:00:00.000Z")])
async def test_the_turn_begins_when_it_is_due_and_not_before(
    tmp_path: Path, autojump_clock: Any, delay: int, due: str
) -> None:
    async with calling(tmp_path, clock=Days()) as at:
        model = await at.model()
        said = await model.call("schedule_wakeup", delaySeconds=delay, prompt="good morning")
        assert said == f"A turn begins in this chat at {due}."
        assert (await kept(at, model.chat))[0] == due
        await trio.sleep(delay - 1)
        assert await woken(at, model.chat) == []
        await trio.sleep(2)
        assert await woken(at, model.chat) == ["good morning"]
        assert (await kept(at, model.chat))[0] is None
        await trio.sleep(2 * delay)
        assert await woken(at, model.chat) == ["good morning"]


@pytest.mark.parametrize("delay", [59, 59.9, 0, -60, 30 * DAY + 1, "60", True, None])
async def test_a_delay_out_of_bounds_is_refused_with_the_bounds(tmp_path: Path, delay: Any) -> None:
    async with calling(tmp_path) as at:
        model = await at.model()
        said = await model.refusal("schedule_wakeup", delaySeconds=delay, prompt="x")
        assert "delaySeconds" in said
        assert "from 60 to 2592000" in said or "is not of type 'number'" in said
        assert (await kept(at, model.chat))[0] is None


async def test_a_wakeup_with_nothing_to_say_is_refused(tmp_path: Path) -> None:
    async with calling(tmp_path) as at:
        model = await at.model()
        for given in ({}, {"prompt": " "}, {"prompt": 5}):
            assert "prompt" in await model.refusal("schedule_wakeup", delaySeconds=60, **given)


async def test_a_chat_holds_one_wakeup_and_each_chat_its_own(tmp_path: Path, autojump_clock: Any) -> None:
    async with calling(tmp_path, clock=Days()) as at:
        model = await at.model()
        nested = await at.chat(model, "nested")
        await model.call("schedule_wakeup", delaySeconds=100, prompt="first")
        await nested.call("schedule_wakeup", delaySeconds=100, prompt="mine")
        assert "replaced" in await model.call("schedule_wakeup", delaySeconds=1000, prompt="second")
        await trio.sleep(200)
        assert (await woken(at, model.chat), await woken(at, nested.chat)) == ([], ["mine"])
        await trio.sleep(1000)
        assert await woken(at, model.chat) == ["second"]


async def test_a_wakeup_that_is_stopped_never_comes(tmp_path: Path, autojump_clock: Any) -> None:
    async with calling(tmp_path, clock=Days()) as at:
        model = await at.model()
        assert await model.call("schedule_wakeup", stop=True) == "There was no wakeup to cancel."
        await model.call("schedule_wakeup", delaySeconds=100, prompt="first")
        assert await model.call("schedule_wakeup", stop=True) == "The wakeup is cancelled."
        assert (await kept(at, model.chat))[0] is None
        await trio.sleep(1000)
        assert await woken(at, model.chat) == []


async def test_a_session_sleeps_over_its_wakeup_and_is_woken_for_it(tmp_path: Path, autojump_clock: Any) -> None:
    async with calling(tmp_path, clock=Days()) as at:
        model = await at.model()
        await model.call("schedule_wakeup", delaySeconds=DAY, prompt="good morning")
        await at.sleep(model.session)
        await trio.sleep(DAY - 100)
        assert model.session not in at.host.sessions
        await trio.sleep(200)
        assert model.session not in at.host.sessions  # It was, and has fallen asleep again.
        assert await woken(at, model.chat) == ["good morning"]


async def test_a_wakeup_waits_behind_the_turn_that_runs(tmp_path: Path, autojump_clock: Any) -> None:
    async with calling(tmp_path, clock=Days()) as at:
        model = await at.model()
        await model.call("schedule_wakeup", delaySeconds=100, prompt="and now this")
        await model.say("/slow 2 200000", "long")
        await trio.sleep(150)
        state = await at.talk.state(model.chat)
        assert [one["message"]["text"] for one in state["queuedMessages"]] == ["and now this"]
        assert (await kept(at, model.chat))[0] is None
        await trio.sleep(500)
        assert (await turns(at, model.chat))[1:] == [("/slow 2 200000", "user"), ("and now this", "automation")]


async def test_a_wakeup_is_armed_again_at_the_start_and_one_missed_comes_once(
    tmp_path: Path, autojump_clock: Any
) -> None:
    async with calling(tmp_path, clock=Days()) as at:
        model = await at.model()
        other = await at.model("ahp-session:/other")
        await model.call("schedule_wakeup", delaySeconds=DAY, prompt="missed")
        await other.call("schedule_wakeup", delaySeconds=3 * DAY, prompt="to come")
    async with calling(tmp_path, clock=Days(2 * DAY)) as at:
        await trio.sleep(10)
        assert (await woken(at, model.chat), await woken(at, other.chat)) == (["missed"], [])
    async with calling(tmp_path, clock=Days(2 * DAY + 10)) as at:
        await trio.sleep(DAY)
        assert (await woken(at, model.chat), await woken(at, other.chat)) == (["missed"], ["to come"])


@pytest.mark.parametrize("busy", [False, True])
async def test_a_wakeup_whose_turn_is_refused_stays_stored_until_the_next_start(
    tmp_path: Path, autojump_clock: Any, monkeypatch: pytest.MonkeyPatch, busy: bool
) -> None:
    """The store cannot keep the turn: what the page calls refused, and the next start tries again."""
    async with calling(tmp_path, clock=Days()) as at:
        model = await at.model()
        await model.call("schedule_wakeup", delaySeconds=100, prompt="once")
        if busy:
            await model.say("/hang", "long")
        chat = at.host.chats[model.chat]

        async def full(_: Any) -> None:
            raise StoreError(tmp_path, "the disk is full")

        with monkeypatch.context() as patch:
            patch.setattr(chat.channel, "_store", type("Full", (), {"commit": staticmethod(full)})())
            await trio.sleep(150)
        assert chat.private.wakeup is not None
        if busy:
            await at.talk.do(model.chat, "chat/turnCancelled", turnId="long", duration=1)
        await trio.sleep(200)
        assert (await kept(at, model.chat))[0] == "2026-01-01T00:01:40.000Z"
    async with calling(tmp_path, clock=Days(DAY)) as at:
        await trio.sleep(10)
        state = await at.talk.state(model.chat)
        assert state.get("queuedMessages", []) == []
        done = [one for one in state["turns"] if one["message"]["text"] == "once" and one["state"] == "complete"]
        assert len(done) == 1


async def test_a_chat_that_takes_no_messages_keeps_its_wakeup(tmp_path: Path, autojump_clock: Any) -> None:
    async with calling(tmp_path, clock=Days()) as at:
        model = await at.model()
        await model.call("schedule_wakeup", delaySeconds=100, prompt="never")
        chat = at.host.chats[model.chat]
        chat.channel.amend(lambda state: wire.replace(state, interactivity="read-only"), keep=True)
        await trio.sleep(200)
        assert await woken(at, model.chat) == []
        assert chat.private.wakeup is not None


async def test_a_wakeup_that_cannot_be_kept_is_not_promised(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, autojump_clock: Any
) -> None:
    async with calling(tmp_path, clock=Days()) as at:
        model = await at.model()
        chat = at.host.chats[model.chat]

        async def full(_: Any) -> None:
            raise StoreError(tmp_path, "the disk is full")

        turn = await model.say('/slow 1 1000\n/tool schedule_wakeup {"delaySeconds": 60, "prompt": "x"}')
        with monkeypatch.context() as patch:
            patch.setattr(chat.channel, "_store", type("Full", (), {"commit": staticmethod(full)})())
            done = await at.talk.action(model.chat, "chat/toolCallComplete", turnId=turn)
        assert "cannot keep the wakeup" in done["result"]["error"]["message"]
        await trio.sleep(200)
        assert await woken(at, model.chat) == []


async def test_a_chat_that_is_gone_takes_its_wakeup_along(tmp_path: Path, autojump_clock: Any) -> None:
    async with calling(tmp_path, clock=Days()) as at:
        model = await at.model()
        await model.call("schedule_wakeup", delaySeconds=100, prompt="x")
        await at.talk.ask("disposeSession", model.session)
        await trio.sleep(200)
        assert (await at.talk.ask("listSessions"))["items"] == []


async def test_the_person_of_the_turn_is_the_wakeups(tmp_path: Path, autojump_clock: Any) -> None:
    async with calling(tmp_path, clock=Days()) as at:
        model = await at.model()
        await model.call("schedule_wakeup", delaySeconds=100, prompt="/hang")
        chat = at.host.chats[model.chat]
        wakeup = chat.private.wakeup
        assert wakeup is not None
        chat.private = msgspec.structs.replace(chat.private, wakeup=msgspec.structs.replace(wakeup, principal="ada"))
        await trio.sleep(200)
        assert chat.running is not None
        assert chat.running.principal == "ada"
