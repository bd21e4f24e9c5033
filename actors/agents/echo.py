"""The echo agent: says back what it is told, and does on command each thing a real agent does (docs/echo.md).

It is how people try the host without a key, and how tests drive a turn. A line of the message that begins with `/` is
a command (`COMMANDS`), everything else is said back word by word; lines are done in order.
"""

from __future__ import annotations

import base64
import difflib
import math
import shlex
import uuid
from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path

import msgspec
import trio

from actors.agents.interface import Agent, AgentChat, AgentError, Start, TurnInput, TurnPort
from actors.turn import failure
from ahp import uris, wire
from ahp.state.chat import (
    ChatInputOption,
    ChatInputQuestion,
    ChatInputRequest,
    ConfirmationOption,
    FileEditContent,
    SelectedAnswer,
    SubagentContent,
    TextAnswer,
    TextContent,
    ToolCallResult,
    Turn,
)
from ahp.state.common import (
    ConfigPropertySchema,
    ConfigSchema,
    ContentRef,
    FileDiff,
    FileEditSide,
    ToolDefinition,
)
from ahp.state.root import SessionModelInfo
from ahp.wire import JSON, UNSET


class Echo(Agent):
    """In process, with every capability the interface has."""

    provider = "echo"
    display_name = "Echo"
    description = "Says back what you say, and on command does what an agent does."
    multiple_directories = True
    fork = True
    side_chat = True
    resumes_turns = True
    inherited_chat_config = ("pace", "shout")

    async def open_chat(self, start: Start) -> AgentChat:
        return EchoChat(start)

    async def models(self) -> Sequence[SessionModelInfo]:
        return [
            SessionModelInfo(
                id="echo-1", provider="echo", name="Echo", max_context_window=200_000, supports_vision=False
            ),
            SessionModelInfo(id="echo-upper", provider="echo", name="Echo in capitals", max_context_window=200_000),
        ]

    async def config_schema(self, folder: Path | None) -> ConfigSchema:
        return ConfigSchema(
            properties={
                "pace": ConfigPropertySchema(
                    type="number",
                    title="Pace",
                    description="Milliseconds between two words.",
                    default=0,
                    session_mutable=True,
                ),
                "shout": ConfigPropertySchema(
                    type="boolean",
                    title="Shout",
                    description="Answer in capitals.",
                    default=False,
                    session_mutable=True,
                ),
                "voice": ConfigPropertySchema(
                    type="string",
                    title="Voice",
                    description="Who is speaking. Fixed once the session exists.",
                    enum=["plain", "parrot"],
                    enum_labels=["Plain", "Parrot"],
                    default="plain",
                    session_mutable=False,
                ),
            }
        )


class EchoChat(AgentChat):
    """One chat. What it remembers are the chat's turns, also those of the chat that it was forked from."""

    def __init__(self, start: Start) -> None:
        self._start = start
        self._tools = list(start.tools)
        self._heard = [turn.message.text for turn in start.history]

    async def run_turn(self, turn: TurnInput, port: TurnPort) -> None:
        if turn.resumed and self._heard[-1:] == [turn.message.text]:
            self._heard.pop()  # The same turn once more.
        try:
            await _Speaker(self._start, self._tools, self._heard, turn, port).run()
        finally:
            self._heard.append(turn.message.text)

    def resume_token(self) -> JSON:
        return {"turns": len(self._heard)}

    async def tools_changed(self, tools: Sequence[ToolDefinition]) -> None:
        self._tools = list(tools)

    async def rewind(self, turns: Sequence[Turn]) -> None:
        self._heard = [turn.message.text for turn in turns]


class _Speaker:
    """One turn, line by line."""

    def __init__(
        self, start: Start, tools: Sequence[ToolDefinition], heard: Sequence[str], turn: TurnInput, port: TurnPort
    ) -> None:
        self.start = start
        self.tools = tools
        self.heard = heard
        self.turn = turn
        self.port = port
        self.pace = float(start.config.get("pace") or 0) / 1000
        model = turn.message.model if not isinstance(turn.message.model, wire.UnsetType) else start.model
        self.loud = bool(start.config.get("shout")) or (model is not None and model.id == "echo-upper")

    async def run(self) -> None:
        """Say and do every line; a resumed turn goes on behind the command that failed it."""
        lines = self.turn.message.text.splitlines() or [""]
        if self.turn.resumed:
            failed = next((at for at, line in enumerate(lines) if line.startswith(("/fail", "/raise"))), -1)
            lines = lines[failed + 1 :] or ["resumed"]
        if self.start.config.get("voice") == "parrot":
            await self.port.text("Squawk! ")
        for at, line in enumerate(lines):
            name, _, rest = line.partition(" ")
            command = COMMANDS.get(name)
            if command is not None:
                await command(self, rest.strip())
            elif name.startswith("/"):
                known = ", ".join(COMMANDS)
                await self.port.text(f"There is no command {name}; there are {known}.\n")
            else:
                await self.say(line + ("\n" if at + 1 < len(lines) else ""))

    async def say(self, text: str) -> None:
        for piece in _pieces(text.upper() if self.loud else text):
            await self.port.text(piece)
            if self.pace:
                await trio.sleep(self.pace)

    # Commands.

    async def think(self, text: str) -> None:
        """/think TEXT: think aloud."""
        for piece in _pieces(text):
            await self.port.reasoning(piece)

    async def tool(self, rest: str) -> None:
        """/tool NAME {input}: call a tool the host offered, and say its result."""
        name, _, text = rest.partition(" ")
        await self._call(name, text)

    async def client_tool(self, rest: str) -> None:
        """/client-tool NAME {input}: call the tool that a client announced as NAME."""
        name, _, text = rest.partition(" ")
        offered = next((tool.name for tool in self.tools if tool.name.endswith(f"__{name}")), name)
        await self._call(offered, text)

    async def _call(self, name: str, text: str) -> None:
        try:
            tool_input = msgspec.json.decode(text) if text else {}
        except msgspec.DecodeError as error:
            raise AgentError(f"The input of {name} is no JSON: {error}", error_type="echo") from None
        result = await self.port.call_tool(name, tool_input)
        await self.say(_told(result))

    async def confirm(self, rest: str) -> None:
        """/confirm TITLE: ask a person before running a pretended command; its input may be edited."""
        call = await self.port.tool_call("run", display_name="Run", intention=rest or "run something")
        answer = await call.confirm(
            rest or "true",
            f"Run `{rest or 'true'}`",
            title=rest or "Run it?",
            options=[
                ConfirmationOption(id="once", label="Run once", kind="approve", group=1),
                ConfirmationOption(id="always", label="Always run", kind="approve", group=1),
                ConfirmationOption(id="no", label="Do not run", kind="deny", group=2),
            ],
            editable=True,
        )
        if not answer.approved:
            await self.say(f"not run ({answer.reason or 'denied'})")
            return
        ran = answer.tool_input if answer.tool_input is not None else rest or "true"
        await call.complete(_success(f"Ran {ran}", f"ran {ran}"))
        option = "" if answer.selected_option is None else f" [{answer.selected_option.id}]"
        await self.say(f"ran {ran}{option}")

    async def ask(self, rest: str) -> None:
        """/ask QUESTION | OPTION | OPTION: ask a person; without options for text."""
        text, *options = [part.strip() for part in rest.split("|")]
        question = ChatInputQuestion(
            kind="single-select" if options else "text",
            id="answer",
            message=text,
            required=True,
            options=[ChatInputOption(id=option, label=option) for option in options] or UNSET,
        )
        outcome = await self.port.ask(ChatInputRequest(id=f"ask-{uuid.uuid4()}", message=text, questions=[question]))
        value = getattr(outcome.answers.get("answer"), "value", None)
        said = value.value if isinstance(value, TextAnswer | SelectedAnswer) else ""
        await self.say(f"{outcome.response}: {said}" if said else outcome.response)

    async def edit(self, rest: str) -> None:
        """/edit PATH TEXT: write TEXT to a file of the session's folders, with a diff."""
        name, _, text = rest.partition(" ")
        path = await self._own_path(name)
        call = await self.port.tool_call("edit", display_name="Edit", intention=f"write {name}")
        await call.ready(wire.encode({"path": str(path), "text": text}).decode(), f"Edit {name}")
        after = text + "\n"
        try:
            before = await path.read_bytes() if await path.exists() else None
            await path.write_text(after)
        except OSError as error:
            await call.complete(failure(f"{name} was not edited", f"{path}: {error.strerror}"))
            return
        edit = _file_edit(Path(path), before, after)
        await call.complete(ToolCallResult(success=True, past_tense_message=f"Edited {name}", content=[edit]))
        await self.say(f"edited {name}")

    async def _own_path(self, name: str) -> trio.Path:
        """The file `name` of the first folder, or of another where it is absolute. Raises AgentError outside them."""
        folders = [await trio.Path(folder).resolve() for folder in self.start.folders]
        if not folders:
            raise AgentError("The session has no folder to edit a file in.", error_type="echo")
        path = await (folders[0] / name).resolve()
        if path in folders or not any(path.is_relative_to(folder) for folder in folders):
            raise AgentError(f"{name or 'nothing'} is no file in the session's folders.", error_type="echo")
        return path

    async def fail(self, text: str) -> None:
        """/fail MESSAGE: end the turn in an error that can be resumed."""
        raise AgentError(text or "told to fail", error_type="echo", resumable=True)

    async def crash(self, text: str) -> None:
        """/raise MESSAGE: fail as a backend with a bug does."""
        raise RuntimeError(text or "told to raise")

    async def hang(self, _: str) -> None:
        """/hang: do nothing until cancelled."""
        await trio.sleep_forever()

    async def slow(self, rest: str) -> None:
        """/slow N MS: N words, MS milliseconds apart."""
        count, pause = _numbers(rest, 2, "/slow N MS")
        for number in range(int(count)):
            await self.port.text(f"{number + 1} ")
            await trio.sleep(pause / 1000)

    async def repeat(self, rest: str) -> None:
        """/repeat N TEXT: TEXT N times, a delta each."""
        count, _, text = rest.partition(" ")
        for _ in range(int(_numbers(count, 1, "/repeat N TEXT")[0])):
            await self.port.text((text or "word") + " ")

    async def usage(self, rest: str) -> None:
        """/usage IN OUT: report tokens."""
        tokens = _numbers(rest, 2, "/usage IN OUT")
        await self.port.usage(input_tokens=int(tokens[0]), output_tokens=int(tokens[1]), model="echo-1")

    async def subagent(self, text: str) -> None:
        """/subagent TEXT: have a worker chat say TEXT."""
        call = await self.port.tool_call("subagent", display_name="Subagent", intention=text)
        await call.ready(text, "Start a worker")
        worker = await self.port.worker("Worker", call.tool_call_id, text)
        shown = SubagentContent(resource=worker.chat, title="Worker", agent_name="echo")
        await call.content([shown])
        for piece in _pieces(text):
            await worker.port.text(piece)
        await worker.finish()
        done = ToolCallResult(success=True, past_tense_message="The worker is done", content=[shown])
        await call.complete(done)
        await self.say("the worker is done")

    async def title(self, text: str) -> None:
        """/title TEXT: name the chat, by the host's tool for it."""
        result = await self.port.call_tool("rename_chat", {"title": text})
        await self.say(_told(result))

    async def history(self, _: str) -> None:
        """/history: say what it remembers of the chat, a message a line."""
        lines = [f"{number}. {text}" for number, text in enumerate(self.heard, 1)]
        await self.say("\n".join(lines) or "nothing yet")

    async def wait_steering(self, _: str) -> None:
        """/wait-steering: wait for a message that steers this turn, and say it."""
        message = await self.port.next_steering()
        await self.say(f"steered: {message.message.text}")


COMMANDS: dict[str, Callable[[_Speaker, str], Awaitable[None]]] = {
    "/think": _Speaker.think,
    "/tool": _Speaker.tool,
    "/client-tool": _Speaker.client_tool,
    "/confirm": _Speaker.confirm,
    "/ask": _Speaker.ask,
    "/edit": _Speaker.edit,
    "/fail": _Speaker.fail,
    "/raise": _Speaker.crash,
    "/hang": _Speaker.hang,
    "/slow": _Speaker.slow,
    "/repeat": _Speaker.repeat,
    "/usage": _Speaker.usage,
    "/subagent": _Speaker.subagent,
    "/title": _Speaker.title,
    "/history": _Speaker.history,
    "/wait-steering": _Speaker.wait_steering,
}


def _pieces(text: str) -> list[str]:
    """Words with the white space behind them; nothing is lost."""
    pieces: list[str] = []
    for part in text.replace("\n", "\n ").split(" "):
        pieces.append(part if part.endswith("\n") else part + " ")
    if pieces:
        pieces[-1] = pieces[-1].removesuffix(" ")
    return [piece for piece in pieces if piece]


def _numbers(rest: str, count: int, usage: str) -> list[float]:
    try:
        numbers = [float(word) for word in shlex.split(rest)]
    except ValueError:
        numbers = []
    if len(numbers) != count or not all(math.isfinite(number) and number >= 0 for number in numbers):
        raise AgentError(f"{usage} is expected, not {rest!r}", error_type="echo")
    return numbers


def _told(result: ToolCallResult) -> str:
    content = [] if isinstance(result.content, wire.UnsetType) else result.content
    texts = [part.text for part in content if isinstance(part, TextContent)]
    if not isinstance(result.error, wire.UnsetType):
        texts.insert(0, result.error.message)
    said = result.past_tense_message
    return "\n".join(texts) or (said if isinstance(said, str) else said.markdown)


def _success(past_tense: str, text: str) -> ToolCallResult:
    return ToolCallResult(success=True, past_tense_message=past_tense, content=[TextContent(text=text)])


def _file_edit(path: Path, before: bytes | None, after: str) -> FileEditContent:
    """The change with its old content inline, since the file has the new one now."""
    uri = uris.file_uri(path)
    old = [] if before is None else before.decode(errors="replace").splitlines()
    marks = [line[0] for line in difflib.ndiff(old, after.splitlines())]
    kept = base64.b64encode(before or b"").decode()
    before_side = FileEditSide(uri=uri, content=ContentRef(uri=f"data:text/plain;base64,{kept}"))
    return FileEditContent(
        before=UNSET if before is None else before_side,
        after=FileEditSide(uri=uri, content=ContentRef(uri=uri)),
        diff=FileDiff(added=marks.count("+"), removed=marks.count("-")),
    )
