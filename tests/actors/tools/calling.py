"""Tool calls as a model makes them: an echo agent calls by `/tool NAME {json}`, and the JSON door shows the result."""

from __future__ import annotations

import itertools
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import trio

from actors.agents.echo import Echo
from actors.agents.interface import Agent
from actors.clock import Clock
from actors.tools.call import Caller
from ahp import wire
from tests.actors.hosting import Hosting, Parrot, Talk, hosting

IDLE = 1
_turns = itertools.count(1)


class ToolFailed(Exception):
    """The call's result was no success; `str()` is what the model reads."""


class Model:
    """A model in one chat, driven through its client."""

    def __init__(self, talk: Talk, session: str, chat: str) -> None:
        self.talk = talk
        self.session = session
        self.chat = chat

    async def call(self, tool: str, **given: Any) -> Any:
        """The tool's answer, decoded where it is JSON. Raises `ToolFailed`."""
        result = await self.result(tool, given)
        text = result["content"][0]["text"] if result.get("content") else ""
        if not result["success"]:
            raise ToolFailed(result["error"]["message"])
        try:
            return json.loads(text)
        except ValueError:
            return text

    async def result(self, tool: str, given: Any) -> dict[str, Any]:
        """The call's whole result, as clients see it."""
        turn = f"call-{next(_turns)}"
        await self.say(f"/tool {tool} {json.dumps(given)}", turn)
        done = await self.talk.action(self.chat, "chat/toolCallComplete", turnId=turn)
        await self.talk.action(self.chat, "chat/turnComplete", turnId=turn)
        result: dict[str, Any] = done["result"]
        return result

    async def refusal(self, tool: str, **given: Any) -> str:
        """The sentence by which the call is refused."""
        try:
            answer = await self.call(tool, **given)
        except ToolFailed as failed:
            return str(failed)
        raise AssertionError(f"{tool} was not refused: {answer}")

    async def say(self, text: str, turn: str = "") -> str:
        """Begin a turn: its id. `turn_over` waits for its end."""
        turn = turn or f"said-{next(_turns)}"
        await self.talk.say(self.chat, text, turn)
        return turn

    async def tell(self, text: str) -> str:
        """A whole turn: its id."""
        turn = await self.say(text)
        await self.talk.action(self.chat, "chat/turnComplete", turnId=turn)
        return turn


class Calling(Hosting):
    """A host with an echo agent and a parrot, and one client."""

    talk: Talk

    async def model(self, session: str = "ahp-session:/caller", **params: Any) -> Model:
        """A new session of the echo agent, and the model in its default chat."""
        params.setdefault("provider", "echo")
        return Model(self.talk, session, await self.talk.open_session(session, **params))

    async def chat(self, model: Model, id: str, **params: Any) -> Model:
        """Another chat of the model's session."""
        uri = f"ahp-chat:/{id}"
        await self.talk.ask("createChat", model.session, chat=uri, **params)
        await self.talk.state(uri)
        return Model(self.talk, model.session, uri)

    async def sleep(self, *sessions: str) -> None:
        """The client looks away from everything, and the sessions fall asleep (on a clock that jumps)."""
        for channel in [*self.host.sessions, *self.host.chats]:
            self.talk.send({"jsonrpc": "2.0", "method": "unsubscribe", "params": {"channel": channel}})
        await trio.sleep(2 * IDLE)
        awake = [uri for uri in sessions if uri in self.host.sessions]
        assert not awake, awake

    async def sessionless(self, tool: str, **given: Any) -> dict[str, Any]:
        """The result of a call that no session makes, by the root connection."""
        everything = self.host.env.tools.sessionless(Caller(root=True))
        offered = next(one for one in everything if one.name == tool)
        result: dict[str, Any] = wire.to_builtins(await offered.run(None, "", given))
        return result


@asynccontextmanager
async def calling(folder: Path, *agents: Agent, clock: Clock | None = None, config: str = "") -> AsyncIterator[Calling]:
    """A host of echo and parrot (and `agents`) whose sessions sleep when nobody looks for `IDLE` seconds."""
    config = f"sessionIdleMs = {IDLE * 1000}\n{config}"
    async with hosting(folder, Echo(), Parrot(), *agents, clock=clock, config=config) as running:
        made = Calling(running.host, running._nursery)
        made.talk = await made.connect()
        yield made
