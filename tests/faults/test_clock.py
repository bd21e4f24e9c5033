"""A wall clock that jumps: durations stay right, and what was to happen at a date happens when it has come."""

from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
import trio

from actors.agents.echo import Echo
from actors.clock import Clock
from tests.actors.hosting import hosting
from tests.actors.test_turns import ended, text_of

HOUR = timedelta(hours=1)
WAKEUP = '/tool schedule_wakeup {"delaySeconds": 7200, "prompt": "good morning"}'


class Jumping(Clock):
    """A date that only a test moves; waiting does not, as on a laptop that slept."""

    def __init__(self) -> None:
        self.date = datetime(2026, 1, 1, tzinfo=UTC)

    def now(self) -> datetime:
        return self.date


@pytest.mark.parametrize("jump", [-HOUR * 1000, HOUR * 1000])
async def test_a_turn_lasts_as_long_as_it_lasts(tmp_path: Path, autojump_clock: Any, jump: timedelta) -> None:
    clock = Jumping()
    async with hosting(tmp_path, Echo(), clock=clock) as host:
        talk = await host.connect()
        chat = await talk.open_session()
        await talk.say(chat, "/slow 10 100")
        await talk.action(chat, "chat/delta")
        clock.date += jump
        assert (await ended(talk, chat, "t1"))["state"] == "complete"
        assert 800 <= (await talk.action(chat, "chat/turnComplete"))["duration"] <= 1200
        await talk.say(chat, "still here", "t2")
        assert text_of(await ended(talk, chat, "t2")) == "still here"
        assert [turn["id"] for turn in (await talk.state(chat))["turns"]] == ["t1", "t2"]


async def test_an_interrupted_turn_of_the_future_took_no_negative_time(tmp_path: Path, autojump_clock: Any) -> None:
    """The start of the turn is the client's date, which may lie ahead of ours."""
    clock = Jumping()
    async with hosting(tmp_path, Echo(), clock=clock) as host:
        talk = await host.connect()
        chat = await talk.open_session()
        await talk.say(chat, "/hang")
    clock.date -= HOUR * 1000
    async with hosting(tmp_path, Echo(), clock=clock) as host:
        talk = await host.connect()
        state = await talk.state(chat)
        assert "activeTurn" not in state
        assert state["turns"][0]["duration"] == 0


async def test_a_wakeup_comes_right_after_the_clock_jumped_over_it(tmp_path: Path, autojump_clock: Any) -> None:
    clock = Jumping()
    async with hosting(tmp_path, Echo(), clock=clock) as host:
        talk = await host.connect()
        chat = await talk.open_session()
        await talk.say(chat, WAKEUP)
        await ended(talk, chat, "t1")
        clock.date += HOUR * 3
        began = trio.current_time()
        turn = await talk.wait_for(
            lambda m: "good morning" in str(m.get("params", {}).get("action", {}).get("message"))
        )
        assert trio.current_time() - began <= 60
        await ended(talk, chat, turn["params"]["action"]["turnId"])
        await trio.sleep(3 * 3600)
        assert len((await talk.state(chat))["turns"]) == 2


async def test_a_wakeup_waits_longer_where_the_clock_was_set_back(tmp_path: Path, autojump_clock: Any) -> None:
    clock = Jumping()
    async with hosting(tmp_path, Echo(), clock=clock) as host:
        talk = await host.connect()
        chat = await talk.open_session()
        await talk.say(chat, WAKEUP)
        await ended(talk, chat, "t1")
        clock.date -= HOUR
        await trio.sleep(3 * 3600)
        assert len((await talk.state(chat))["turns"]) == 1
        clock.date += HOUR * 4
        await trio.sleep(61)
        assert len((await talk.state(chat))["turns"]) == 2
