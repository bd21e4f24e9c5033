"""A chat's history in parts: what a client has that asked for a tail only, and what others do about it."""

from pathlib import Path
from typing import Any

import trio

from actors.agents.interface import TurnInput, TurnPort
from ahp import wire
from ahp.actions import decode
from ahp.reducers.chat import apply
from ahp.state.chat import ChatState
from tests.actors.hosting import Hosting, Parrot, Talk, hosting
from tests.actors.test_turns import ended, text_of

S = "ahp-session:/s"


async def chat_of(host: Hosting, talk: Talk, turns: int) -> str:
    chat = await talk.open_session()
    for number in range(turns):
        await talk.say(chat, "x", f"t{number}")
        await ended(talk, chat, f"t{number}")
    return chat


class Reader:
    """A client that asked for the last `turns` turns, and reduces what follows as every client does."""

    def __init__(self, talk: Talk, chat: str, snapshot: dict[str, Any]) -> None:
        self.talk = talk
        self.chat = chat
        self.from_seq = snapshot["fromSeq"]
        self.state = snapshot["state"]

    @classmethod
    async def open(cls, host: Hosting, name: str, chat: str, turns: int) -> "Reader":
        talk = await host.connect(name)
        return cls(talk, chat, (await talk.ask("subscribe", chat, view={"turns": turns}))["snapshot"])

    def turns(self) -> list[str]:
        """The ids it has, after all that arrived."""
        return [turn["id"] for turn in self._reduced()["turns"]]

    def cursor(self) -> str | None:
        cursor: str | None = self._reduced().get("turnsNextCursor")
        return cursor

    def _reduced(self) -> dict[str, Any]:
        return reduced(self.state, self.from_seq, self.chat, self.talk)


def reduced(state: dict[str, Any], from_seq: int, chat: str, talk: Talk) -> dict[str, Any]:
    now = wire.convert(state, ChatState)
    for got in talk.got:
        params = got.get("params", {})
        if got.get("method") != "action" or params["channel"] != chat or "rejectionReason" in params:
            continue
        if params["serverSeq"] > from_seq:
            now = apply(now, decode("chat", wire.Raw(wire.encode(params["action"]))))
    plain: dict[str, Any] = wire.to_builtins(now)  # type: ignore[assignment]
    return plain


async def test_a_page_that_one_client_asks_for_leaves_no_gap_in_anothers_history(tmp_path: Path) -> None:
    async with hosting(tmp_path) as host:
        talk = await host.connect()
        chat = await chat_of(host, talk, 8)
        long, short = await Reader.open(host, "long", chat, 5), await Reader.open(host, "short", chat, 2)
        assert (long.turns(), short.turns()) == (["t3", "t4", "t5", "t6", "t7"], ["t6", "t7"])
        await long.talk.ask("fetchTurns", chat, cursor=long.cursor())
        await short.talk.ask("ping")
        everything = [f"t{number}" for number in range(8)]
        assert (long.turns(), short.turns()) == (everything, everything)
        assert short.cursor() is None


async def test_without_a_cursor_the_next_older_page_comes(tmp_path: Path) -> None:
    async with hosting(tmp_path) as host:
        talk = await host.connect()
        chat = await chat_of(host, talk, 4)
        reader = await Reader.open(host, "reader", chat, 1)
        await reader.talk.ask("fetchTurns", chat)
        assert reader.turns() == ["t0", "t1", "t2", "t3"]


async def test_a_truncation_behind_a_tail_reaches_the_client_that_has_the_tail(tmp_path: Path) -> None:
    async with hosting(tmp_path) as host:
        talk = await host.connect()
        chat = await chat_of(host, talk, 6)
        reader = await Reader.open(host, "reader", chat, 2)
        await talk.do(chat, "chat/truncated", turnId="t1")
        await reader.talk.action(chat, "chat/truncated")
        assert reader.turns() == ["t1"]
        await reader.talk.ask("fetchTurns", chat, cursor=reader.cursor())
        assert reader.turns() == ["t0", "t1"]
        await talk.do(chat, "chat/truncated")
        await reader.talk.action(chat, "chat/truncated", turnId=None)
        assert reader.turns() == []


async def test_a_fork_of_a_turn_behind_a_tail_loads_it_first(tmp_path: Path) -> None:
    async with hosting(tmp_path) as host:
        talk = await host.connect()
        chat = await chat_of(host, talk, 4)
        reader = await Reader.open(host, "reader", chat, 1)
        fork = {"kind": "fork", "chat": chat, "turnId": "t1"}
        await talk.ask("createChat", S, chat="ahp-chat:/fork", source=fork)
        await reader.talk.ask("ping")
        assert reader.turns() == ["t1", "t2", "t3"]


async def test_a_turn_sent_again_under_its_id_after_a_truncation_is_a_new_turn(tmp_path: Path) -> None:
    async def turn(turn: TurnInput, port: TurnPort) -> None:
        await port.text(turn.message.text)
        if turn.message.text == "first":
            try:
                await trio.sleep_forever()
            finally:
                with trio.CancelScope(shield=True):
                    await port.text("too late")

    async with hosting(tmp_path, Parrot(turn)) as host:
        talk = await host.connect()
        chat = await talk.open_session()
        await talk.say(chat, "first", "t1")
        await talk.action(chat, "chat/responsePart")
        talk.dispatch(chat, {"type": "chat/truncated"})
        assert "rejectionReason" not in await talk.say(chat, "second", "t1")
        assert text_of(await ended(talk, chat, "t1")) == "second"
