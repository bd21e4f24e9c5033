"""The terminal actor: owns one TerminalState and the process behind it (`ahp-terminal:/<id>`).

Output becomes actions in the order the process wrote it, a burst at a time: while the actor is busy its reader waits,
and with it the process. A terminal that has exited stays, with all it showed, until it is disposed of.
"""

from __future__ import annotations

import os
import pwd
from collections.abc import Callable, Sequence
from pathlib import Path

import trio

from actors import log
from actors.actor import Actor, Message
from actors.channel import Channel, Dispatch, Subscribe, WatchersChanged
from actors.environment import Environment
from actors.store import Write, documents
from actors.workspace import shell_integration as shell
from actors.workspace.pty import Pty, open_pty
from ahp import wire
from ahp.actions import terminal as actions
from ahp.reducers import terminal as reducer
from ahp.reducers import terminal_rules
from ahp.state.terminal import CommandContent, TerminalInfo, TerminalLifecycle, TerminalState, UnclassifiedContent
from ahp.wire import UNSET, Text, present

_log = log.get("terminal")

TERMINAL = "terminal"
"""The kind of document that keeps a terminal's state."""

CONTENT_LIMIT = 1 << 20
"""Characters of output that a snapshot shows; the oldest goes first."""

_LAST_WORDS = 0.2
"""Seconds in which output is still taken after the shell has ended."""

_TOGETHER = 0.004
"""Seconds within which output that keeps coming is taken together."""


class Output(Message, frozen=True):
    """What the process wrote, in order."""

    events: Sequence[shell.Event]


class Exited(Message, frozen=True):
    """The process has ended. None: it was killed, or never started."""

    exit_code: int | None


class Terminal(Actor):
    """`cwd`: the folder to start in; None for a terminal of an earlier process, which has exited.

    `moved` is called when what the host's list shows of it has changed.
    """

    def __init__(
        self, env: Environment, uri: str, state: TerminalState, cwd: Path | None, moved: Callable[[], None]
    ) -> None:
        super().__init__(uri)
        self._env = env
        self._moved = moved
        self._cwd = cwd
        self._pty: Pty | None = None
        self._commands = 0
        self._running: tuple[str, float] | None = None
        self._input_in, self._input = trio.open_memory_channel[str](256)
        self.channel: Channel[TerminalState] = Channel(
            uri, state, hub=env.hub, store=env.store, reduce=reducer.apply, save=self._writes
        )

    @property
    def state(self) -> TerminalState:
        """The public state: immutable, for anybody to hold."""
        return self.channel.state

    def info(self) -> TerminalInfo:
        """The terminal in the host's list."""
        state = self.state
        return TerminalInfo(resource=self.name, title=state.title, claim=state.claim, lifecycle=state.lifecycle)

    # Life.

    async def prepare(self) -> None:
        if self._cwd is not None:
            self.channel.write()
            await self.channel.flush()
            self.nursery.start_soon(self._live, self._cwd, name=self.name)

    async def settle(self) -> None:
        before = self.info()
        self._trim()
        await self.channel.flush()
        if self.info() != before:
            self._moved()

    async def _live(self, cwd: Path) -> None:
        """Run the shell to its end, and say so."""
        program = os.environ.get("SHELL") or pwd.getpwuid(os.getuid()).pw_shell or "/bin/sh"
        environment = _environment()
        start = shell.launch(program, environment)
        state = self.state
        try:
            async with open_pty(
                start.argv,
                cwd=cwd,
                env={**environment, **start.env},
                cols=present(state.cols, 80),
                rows=present(state.rows, 24),
            ) as self._pty:
                await self.tell(Output([shell.Title(program)]))
                code = await self._run(self._pty, shell.Marks(start.nonce))
        except OSError as error:
            _log.warning("no shell", channel=self.name, exc=error)
            await self.tell(Output([shell.Data(f"{program} cannot be started: {error.strerror}\r\n")]))
            code = None
        self._pty = None
        await self.tell(Exited(code))

    async def _run(self, pty: Pty, marks: shell.Marks) -> int | None:
        """Type and read until the shell has ended: its exit code.

        A background job may hold the terminal open behind it: then what comes soon is read, and no more.
        """
        async with trio.open_nursery() as nursery:
            nursery.start_soon(self._type, pty)
            reading = trio.CancelScope()

            async def read() -> None:
                with reading:
                    await self._read(pty, marks)
                nursery.cancel_scope.cancel()

            nursery.start_soon(read)
            await pty.wait()
            reading.deadline = trio.current_time() + _LAST_WORDS
        return await pty.wait()

    async def _type(self, pty: Pty) -> None:
        async for data in self._input:
            await pty.write(data.encode())

    async def _read(self, pty: Pty, marks: shell.Marks) -> None:
        last = 0.0
        while True:
            data = await pty.read()
            events = marks.feed(data, final=not data)
            if events:
                await self.tell(Output(events))
            if not data:
                return
            now = trio.current_time()
            if now - last < _TOGETHER:
                await trio.sleep(_TOGETHER)
            last = now

    # Messages.

    async def on_subscribe(self, message: Subscribe) -> bytes:
        await self.settle()
        return self.channel.subscribe(message)

    async def on_watchers_changed(self, _: WatchersChanged) -> None:
        """A terminal lives whether watched or not."""

    async def on_dispatch(self, message: Dispatch) -> None:
        action = message.action
        reason = terminal_rules.refusal(self.channel.next, action, message.origin.client_id)
        if reason is not None:
            self.channel.reject(message, reason)
            return
        if isinstance(action, actions.TerminalInput):
            try:
                self._input_in.send_nowait(action.data)
            except trio.WouldBlock:
                self.channel.reject(message, "the process does not read its input: try again when it does")
                return
        elif isinstance(action, actions.TerminalResized) and self._pty is not None:
            self._pty.resize(action.cols, action.rows)
        self.channel.apply(action, keep=False, dispatch=message)

    async def on_output(self, message: Output) -> None:
        for event in message.events:
            if isinstance(event, shell.Data):
                self.channel.apply(actions.TerminalData(data=event.text), keep=False)
            elif isinstance(event, shell.CommandStarted):
                self._begin_command(event.line)
            elif isinstance(event, shell.CommandEnded):
                self._end_command(event.exit_code)
            elif isinstance(event, shell.Cwd):
                self.channel.apply(actions.TerminalCwdChanged(cwd=event.path), keep=False)
            elif isinstance(event, shell.Title):
                if self.channel.next.title != event.text:
                    self.channel.apply(actions.TerminalTitleChanged(title=event.text), keep=False)
            else:
                self.channel.apply(actions.TerminalCommandDetectionAvailable(), keep=False)

    async def on_exited(self, message: Exited) -> None:
        code = UNSET if message.exit_code is None else message.exit_code
        self.channel.apply(actions.TerminalExited(exit_code=code), keep=True)

    # Helpers in the order they are used.

    def _begin_command(self, line: str) -> None:
        self._end_command(None)
        self._commands += 1
        command_id = f"cmd-{self._commands}"
        self._running = (command_id, trio.current_time())
        timestamp = round(self._env.clock.now().timestamp() * 1000)
        started = actions.TerminalCommandExecuted(command_id=command_id, command_line=line, timestamp=timestamp)
        self.channel.apply(started, keep=False)

    def _end_command(self, exit_code: int | None) -> None:
        if self._running is None:
            return
        (command_id, began), self._running = self._running, None
        ended = actions.TerminalCommandFinished(
            command_id=command_id,
            exit_code=UNSET if exit_code is None else exit_code,
            duration_ms=round((trio.current_time() - began) * 1000),
        )
        self.channel.apply(ended, keep=False)

    def _trim(self) -> None:
        """Keep the newest `CONTENT_LIMIT` characters for snapshots, once there are twice as many.

        No action says so: who has been watching has seen it all.
        """
        parts = self.channel.next.content
        if sum(_size(part) for part in parts) <= 2 * CONTENT_LIMIT:
            return
        room = CONTENT_LIMIT
        kept: list[UnclassifiedContent | CommandContent] = []
        for part in reversed(parts):
            if room <= 0:
                break
            kept.append(_cut(part, room))
            room -= _size(part)
        self.channel.amend(wire.replace(self.channel.next, content=kept[::-1]), keep=False)

    def _writes(self, _: TerminalState, after: TerminalState) -> list[Write]:
        return [documents.put(TERMINAL, self.name, wire.encode(after))]


def restored(state: TerminalState) -> TerminalState:
    """A kept terminal in a new process: whatever ran in it is gone."""
    lifecycle = present(state.lifecycle, None)
    if lifecycle is not None and lifecycle.status == "exited":
        return state
    return wire.replace(state, lifecycle=TerminalLifecycle(status="exited"))


def _size(part: UnclassifiedContent | CommandContent) -> int:
    return len(part.value if isinstance(part, UnclassifiedContent) else part.output)


def _cut(part: UnclassifiedContent | CommandContent, room: int) -> UnclassifiedContent | CommandContent:
    if _size(part) <= room:
        return part
    if isinstance(part, UnclassifiedContent):
        return wire.replace(part, value=Text(str(part.value)[-room:]))
    return wire.replace(part, output=Text(str(part.output)[-room:]))


def _environment() -> dict[str, str]:
    """The daemon's environment without what is the daemon's own, as a terminal wants it."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith("AHPD_")}
    return {**kept, "TERM": "xterm-256color", "COLORTERM": "truecolor"}
