"""The terminal actor: owns one TerminalState and the process behind it (`ahp-terminal:/<id>`).

Output becomes actions in the order the process wrote it, a burst at a time: while the actor is busy its reader waits,
and with it the process. A terminal that has exited stays, with what it showed, until it is disposed of.
"""

from __future__ import annotations

import contextlib
import os
import pwd
from collections.abc import Callable, Sequence
from pathlib import Path

import trio

from actors import log
from actors.actor import Actor, ActorGone, Message, Order
from actors.channel import Channel, Dispatch, Subscribe, WatchersChanged
from actors.environment import Environment
from actors.store import Write, documents
from actors.workspace import shell_integration as shell
from actors.workspace.pty import Pty, open_pty
from ahp import wire
from ahp.actions import terminal as actions
from ahp.reducers import terminal as reducer
from ahp.reducers import terminal_rules
from ahp.state.terminal import (
    TerminalContentPart,
    TerminalInfo,
    TerminalLifecycle,
    TerminalState,
    UnclassifiedContent,
)
from ahp.wire import UNSET, Text, present

_log = log.get("terminal")

TERMINAL = "terminal"
"""The kind of document that keeps a terminal's state."""

CONTENT_LIMIT = 1 << 20
"""Characters of output that a snapshot shows at least, where there were as many; the oldest go first."""

_COMMAND_SIZE = 256
"""What a command counts in that limit beside its output, so that silent ones are bounded too."""

_TYPED_LIMIT = 8 << 20
"""Bytes of input that wait for a process that does not read."""

_BURST = 64 * 1024
"""The most output that one action carries, in bytes of the process."""

_TOGETHER = 0.004
"""Seconds within which output that keeps coming is taken together."""

_PACE = 0.010
"""Seconds that a full burst takes at least: a flood is held up at its source, not in the clients' outboxes."""

_LAST_WORDS = 0.2
"""Seconds in which output is still taken after the shell has ended."""

_KEEP_AFTER = 10.0
"""Seconds after which what is shown is saved, where it has changed: so much of it dies with the daemon at most."""

_LONGEST_TITLE = 256


class Output(Order[None], frozen=True):
    """What the process wrote, in order. The answer lets it write more."""

    events: Sequence[shell.Event]


class Exited(Order[None], frozen=True):
    """The process has ended. None: it was killed, or never started."""

    exit_code: int | None


class Keep(Message, frozen=True):
    """Save what is shown."""


class _Typed:
    """Input on its way to the process, bytes in order. Everybody puts, one task takes."""

    def __init__(self) -> None:
        self._waiting = bytearray()
        self._arrived = trio.Event()

    def put(self, data: str) -> bool:
        """False, and nothing is put in, when too much waits already."""
        if len(self._waiting) > _TYPED_LIMIT:
            return False
        self._waiting += data.encode(errors="replace")
        self._arrived.set()
        return True

    async def take(self) -> bytes:
        """All that waits, at least a byte."""
        while not self._waiting:
            self._arrived = trio.Event()
            await self._arrived.wait()
        taken, self._waiting = bytes(self._waiting), bytearray()
        return taken


class Terminal(Actor):
    """`cwd`: the folder to start in; None for a terminal of an earlier process, which has exited.

    `moved` is called when what the host's list shows of it has changed. `program` is the shell to run,
    `content_limit` how many characters of output are shown to who comes later.
    """

    def __init__(
        self,
        env: Environment,
        uri: str,
        state: TerminalState,
        cwd: Path | None,
        moved: Callable[[], None],
        *,
        program: str | None = None,
        content_limit: int = CONTENT_LIMIT,
    ) -> None:
        super().__init__(uri)
        self._env = env
        self._moved = moved
        self._cwd = cwd
        self._program = program
        self._content_limit = content_limit
        self._pty: Pty | None = None
        self._typed = _Typed()
        self._commands = 0
        self._running: tuple[str, float] | None = None
        self._grown = 0
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
        program = self._program or _persons_shell()
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
                await self._report(Output([shell.Title(program)]))
                code = await self._run(self._pty, shell.Marks(start.nonce))
        except OSError as error:
            _log.warning("no shell", channel=self.name, exc=error)
            await self._report(Output([shell.Data(f"{program} cannot be started: {error.strerror}\r\n")]))
            code = None
        self._pty = None
        await self._report(Exited(code))

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
        while True:
            await pty.write(await self._typed.take())

    async def _read(self, pty: Pty, marks: shell.Marks) -> None:
        """Report what comes: the first of it at once, what follows closely together."""
        last = -_TOGETHER
        while True:
            data = await pty.read(_BURST)
            began = trio.current_time()
            if began - last < _TOGETHER:
                with trio.move_on_after(_TOGETHER):
                    while len(data) < _BURST and (more := await pty.read(_BURST - len(data))):
                        data += more
            events = marks.feed(data, final=not data)
            if events:
                await self._report(Output(events))
            if not data:
                return
            last = trio.current_time()
            if len(data) >= _BURST:
                await trio.sleep_until(began + _PACE)

    async def _report(self, message: Order[None]) -> None:
        """Have a message of mine handled. When the actor is ending, the cancellation that follows says so."""
        with contextlib.suppress(ActorGone):
            await self.ask(message)

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
            if not self._typed.put(action.data):
                self.channel.reject(message, "the process does not read its input: try again when it does")
                return
        elif isinstance(action, actions.TerminalResized) and self._pty is not None:
            self._pty.resize(action.cols, action.rows)
        self.channel.apply(action, keep=False, dispatch=message)

    async def on_output(self, message: Output) -> None:
        text: list[str] = []
        title: str | None = None
        for event in message.events:
            if isinstance(event, shell.Data):
                text.append(event.text)
            elif isinstance(event, shell.Title):
                title = event.text[:_LONGEST_TITLE].strip() or title
            else:
                self._show("".join(text))
                text.clear()
                self._note(event)
        self._show("".join(text))
        if title is not None and title != self.channel.next.title:  # The last of a burst is the one that stays.
            self.channel.apply(actions.TerminalTitleChanged(title=title), keep=False)
        if not self.has_timer("keep"):
            self.set_timer("keep", _KEEP_AFTER, Keep())

    async def on_keep(self, _: Keep) -> None:
        self.channel.write()

    async def on_exited(self, message: Exited) -> None:
        code = UNSET if message.exit_code is None else message.exit_code
        self.cancel_timer("keep")
        self.channel.apply(actions.TerminalExited(exit_code=code), keep=True)

    # Helpers in the order they are used.

    def _show(self, text: str) -> None:
        if text:
            self.channel.apply(actions.TerminalData(data=text), keep=False)
            self._grown += len(text)

    def _note(self, event: shell.Event) -> None:
        """What the shell said of itself."""
        if isinstance(event, shell.CommandStarted):
            self._begin_command(event.line)
        elif isinstance(event, shell.CommandEnded):
            self._end_command(event.exit_code)
        elif isinstance(event, shell.Cwd):
            self.channel.apply(actions.TerminalCwdChanged(cwd=event.path), keep=False)
        else:
            self.channel.apply(actions.TerminalCommandDetectionAvailable(), keep=False)

    def _begin_command(self, line: str) -> None:
        self._end_command(None)
        self._commands += 1
        self._grown += _COMMAND_SIZE + len(line)
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
        """Keep the newest `content_limit` characters for snapshots, each time that as many have come.

        No action says so, as in the reference host: who has been watching has seen it all, and drops what it likes.
        """
        if self._grown < self._content_limit:
            return
        self._grown = 0
        room = self._content_limit
        kept: list[TerminalContentPart] = []
        for part in reversed(self.channel.next.content):
            if room <= 0:
                break
            kept.append(_cut(part, room))
            room -= _size(part)
        self.channel.amend(lambda state: wire.replace(state, content=kept[::-1]), keep=False)

    def _writes(self, _: TerminalState, after: TerminalState) -> list[Write]:
        return [documents.put(TERMINAL, self.name, wire.encode(after))]


def restored(state: TerminalState) -> TerminalState:
    """A kept terminal in a new process: whatever ran in it is gone."""
    lifecycle = present(state.lifecycle, None)
    if lifecycle is not None and lifecycle.status == "exited":
        return state
    return wire.replace(state, lifecycle=TerminalLifecycle(status="exited"))


def _size(part: TerminalContentPart) -> int:
    if isinstance(part, UnclassifiedContent):
        return len(part.value)
    return len(part.output) + len(part.command_line) + _COMMAND_SIZE


def _cut(part: TerminalContentPart, room: int) -> TerminalContentPart:
    if _size(part) <= room:
        return part
    if isinstance(part, UnclassifiedContent):
        return wire.replace(part, value=_newest(part.value, room))
    return wire.replace(part, output=_newest(part.output, room))


def _newest(text: Text, room: int) -> Text:
    """The last `room` characters, from the beginning of a line where there is one near: not amid a sequence."""
    kept = str(text)[-room:]
    return Text(kept[kept.find("\n", 0, 4096) + 1 :])


def _persons_shell() -> str:
    """$SHELL, the one of the person's account, or the system's."""
    with contextlib.suppress(KeyError):  # An account need not be in the system's list: in a container it often is not.
        return os.environ.get("SHELL") or pwd.getpwuid(os.getuid()).pw_shell or "/bin/sh"
    return "/bin/sh"


def _environment() -> dict[str, str]:
    """The daemon's environment without what is the daemon's own, as a terminal wants it."""
    own = ("COLUMNS", "LINES")
    kept = {n: value for n, value in os.environ.items() if n not in own and not n.startswith("AHPD_")}
    if not any(kept.get(name) for name in ("LC_ALL", "LC_CTYPE", "LANG")):
        kept["LANG"] = "C.UTF-8"
    return {**kept, "TERM": "xterm-256color", "COLORTERM": "truecolor"}
