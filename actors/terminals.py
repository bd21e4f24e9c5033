"""The terminals of this host: made and disposed of here, listed on the root channel."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import trio

from actors.actor import Message, Order, supervise
from actors.store import documents
from actors.terminal import TERMINAL, Terminal, restored
from ahp import uris, wire
from ahp.commands import CreateTerminalParams
from ahp.jsonrpc import AlreadyExists, InvalidParams
from ahp.state.terminal import TerminalInfo, TerminalLifecycle, TerminalState
from ahp.wire import UNSET, UnsetType, present

if TYPE_CHECKING:
    from actors.host import Host

_LARGEST = 1000
"""Columns or rows that a terminal is made with at most."""


class TerminalsMoved(Message, frozen=True):
    """A fact for the host: the list of terminals has changed."""


class ListTerminals(Order[None], frozen=True):
    """Publish the list now: who asked for a terminal sees it there before the answer."""


class Terminals:
    """The terminals by channel, in the order they were made."""

    def __init__(self, host: Host) -> None:
        self._host = host
        self._terminals: dict[str, Terminal] = {}

    def find(self, channel: str) -> Terminal | None:
        return self._terminals.get(channel)

    def infos(self) -> list[TerminalInfo]:
        """What `root/terminalsChanged` says."""
        return [terminal.info() for terminal in self._terminals.values()]

    async def restore(self) -> None:
        """Bring back the terminals of an earlier process, exited, with what they showed."""
        for kept in await self._host.env.store.read(documents.of_kind(TERMINAL)):
            await self._start(kept.key, restored(wire.decode(kept.body, TerminalState)), None)

    async def create(self, params: CreateTerminalParams) -> None:
        """`createTerminal`: it is in the list before the answer. Raises `RpcError`."""
        uri = params.channel
        if uris.parse(uri).kind != "terminal":
            raise InvalidParams(f"{uri} is no terminal URI: ahp-terminal:/<id> is expected")
        if uri in self._terminals:
            raise AlreadyExists(f"A terminal {uri} exists: choose another URI")
        cwd = await _folder(params.cwd)
        cols, rows = present(params.cols, 80), present(params.rows, 24)
        if not (0 < cols <= _LARGEST and 0 < rows <= _LARGEST):
            raise InvalidParams(f"{cols} by {rows} is no size: columns and rows from 1 to {_LARGEST} are expected")
        state = TerminalState(
            title=present(params.name, "") or "Terminal",
            cwd=str(cwd),
            cols=cols,
            rows=rows,
            content=[],
            lifecycle=TerminalLifecycle(status="running"),
            claim=params.claim,
            is_pty=True,
            supports_command_detection=UNSET,
        )
        await self._start(uri, state, cwd)
        await self._host.ask(ListTerminals())

    async def dispose(self, channel: str) -> None:
        """`disposeTerminal`: the process is ended; nothing to do for an unknown one."""
        terminal = self._terminals.pop(channel, None)
        if terminal is None:
            return
        terminal.stop()
        await self._host.ask(ListTerminals())
        await terminal.wait_ended()
        await self._host.env.store.commit([documents.delete(TERMINAL, channel)])
        self._host.env.hub.drop_channel(channel)

    async def _start(self, uri: str, state: TerminalState, cwd: Path | None) -> None:
        def moved() -> None:
            self._host.post("terminals", TerminalsMoved())

        def failed(_: BaseException) -> None:
            self._terminals.pop(uri, None)
            moved()

        terminal = self._terminals[uri] = Terminal(self._host.env, uri, state, cwd, moved)
        moved()
        await self._host.nursery.start(supervise, terminal, failed, name=uri)


async def _folder(cwd: str | UnsetType) -> Path:
    """The folder a terminal starts in: a `file:` URI or a path; the person's own without one."""
    if isinstance(cwd, UnsetType):
        return Path.home()
    try:
        path = uris.path_of(cwd) if ":" in cwd.partition("/")[0] else Path(cwd)
    except uris.BadUri as error:
        raise InvalidParams(f"cwd: {error}") from None
    if not await trio.Path(path).is_dir():
        raise InvalidParams(f"cwd: {cwd} is no folder on this machine")
    return path
