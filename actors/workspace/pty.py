"""A child process on a terminal of its own (a PTY), as bytes in and out.

`open_pty` owns the process and everything it starts for the time of the block: at the end the whole session is gone,
also background jobs in process groups of their own, and no descriptor and no zombie is left. Only who has made a
session of its own (`setsid`) has left it. Linux and macOS.
"""

from __future__ import annotations

import contextlib
import errno
import fcntl
import os
import re
import select
import shutil
import signal
import struct
import subprocess
import sys
import termios
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from pathlib import Path

import trio

__all__ = ["READ_BYTES", "Pty", "open_pty"]

READ_BYTES = 64 * 1024
"""The most that one `Pty.read` takes."""

_PATIENCE = 1.0
"""Seconds that the processes of a session have to leave after each signal."""

_LOOK_AGAIN = 0.02
"""Seconds between two looks at who is left: nobody tells us of a stranger's children."""

# A session leader without a terminal gets the first one it opens. The child does that itself, in a shell that becomes
# the wanted program: `preexec_fn` is unsafe beside threads, not every system has `setsid --ctty`, and a Python for it
# costs ten times as long.
_BECOME = 'exec "$@" <>"$0" >&0 2>&0'

_SHELL_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")


class Pty:
    """The terminal's other end. One task reads, any task writes."""

    def __init__(self, process: trio.Process, master: int) -> None:
        self.pid = process.pid
        self._process = process
        self._master = master
        self._writing = trio.Lock()
        self._open = True

    @property
    def exit_code(self) -> int | None:
        """The exit code; None while the process runs, and where a signal ended it."""
        code = self._process.returncode
        return code if code is not None and code >= 0 else None

    @property
    def signal(self) -> int | None:
        """The signal that ended the process, where one did."""
        code = self._process.returncode
        return -code if code is not None and code < 0 else None

    async def read(self, max_bytes: int = READ_BYTES) -> bytes:
        """What was written and is there now, waiting for the first byte; b"" when nothing can come any more.

        Cancelled, it has taken nothing.
        """
        while self._open:
            try:
                await trio.lowlevel.wait_readable(self._master)
            except trio.ClosedResourceError:
                break
            data = self._take(max_bytes)
            if data is not None:
                return data
        return b""

    def _take(self, max_bytes: int) -> bytes | None:
        """Read until the terminal is empty (the system hands out 4 KiB at a time). None: there was nothing."""
        taken = bytearray()
        while len(taken) < max_bytes:
            try:
                piece = os.read(self._master, max_bytes - len(taken))
            except BlockingIOError:
                return bytes(taken) if taken else None
            except OSError:
                piece = b""  # Linux answers EIO when the last process has left the terminal.
            if not piece:
                break
            taken += piece
        return bytes(taken)

    async def write(self, data: bytes) -> None:
        """Type `data`, of any size; waits while the process does not read. What a process that is gone would read is
        dropped. A terminal in line mode keeps no more than 4095 bytes of one line: that is the system's rule.
        """
        async with self._writing:
            view = memoryview(data)
            while view and self._open:
                try:
                    view = view[os.write(self._master, view) :]
                except BlockingIOError:
                    if self._nobody_there():
                        return
                    try:
                        await trio.lowlevel.wait_writable(self._master)
                    except trio.ClosedResourceError:
                        return
                except OSError:
                    return

    def _nobody_there(self) -> bool:
        """Whether the last process has left the terminal, which then counts as writable and takes nothing."""
        poll = select.poll()
        poll.register(self._master, 0)
        return any(events & select.POLLHUP for _, events in poll.poll(0))

    def resize(self, cols: int, rows: int) -> None:
        """Tell the process its new size; the system sends SIGWINCH. Nothing happens to a process that is gone."""
        if self._open:
            with contextlib.suppress(OSError):
                fcntl.ioctl(self._master, termios.TIOCSWINSZ, struct.pack("HHHH", rows, cols, 0, 0))

    async def wait(self) -> int | None:
        """Wait until the process has ended: its `exit_code`."""
        await self._process.wait()
        return self.exit_code

    async def _close(self) -> None:
        """Hang up, and see the session off: within four times `_PATIENCE`, whatever its processes do."""
        self._open = False
        trio.lowlevel.notify_closing(self._master)
        os.close(self._master)
        for number in (signal.SIGHUP, signal.SIGTERM, signal.SIGKILL):
            if await self._see_off(number):
                break
        with trio.move_on_after(_PATIENCE):
            await self._process.wait()

    async def _see_off(self, number: int) -> bool:
        """Signal the whole session and wait for it to leave; False when somebody has not."""
        patience = trio.current_time() + _PATIENCE
        told: set[int] = set()
        while members := await trio.to_thread.run_sync(_members, self.pid):
            for pid in members:
                if pid not in told:  # Who was born meanwhile is told too.
                    _signal(pid, number)
            told.update(members)
            if trio.current_time() >= patience:
                return False
            await trio.sleep(_LOOK_AGAIN)
        return True


@asynccontextmanager
async def open_pty(
    argv: Sequence[str], *, cwd: Path, env: Mapping[str, str], cols: int, rows: int
) -> AsyncIterator[Pty]:
    """Run `argv` on a new terminal for the time of the block. Raises OSError when it cannot be started."""
    command = await trio.to_thread.run_sync(_command, argv, cwd, env)
    master, slave = os.openpty()
    try:
        fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", rows, cols, 0, 0))
        os.set_blocking(master, False)
        process = await trio.lowlevel.open_process(
            ["/bin/sh", "-c", _BECOME, os.ttyname(slave), *command],
            stdin=slave,
            stdout=slave,
            stderr=slave,
            cwd=cwd,
            env=dict(env),
            start_new_session=True,
        )
    except BaseException:
        os.close(master)
        raise
    finally:
        os.close(slave)
    pty = Pty(process, master)
    try:
        yield pty
    finally:
        with trio.CancelScope(shield=True):
            await pty._close()


def _command(argv: Sequence[str], cwd: Path, env: Mapping[str, str]) -> list[str]:
    """`argv` with its program found, since the shell in between could only complain on the terminal.

    A shell may drop variables whose names it could not assign to, such as bash's exported functions: `env` gives
    them to the program again.
    """
    if not cwd.is_dir():
        raise NotADirectoryError(errno.ENOTDIR, os.strerror(errno.ENOTDIR), str(cwd))
    name = str(cwd / argv[0]) if os.sep in argv[0] else argv[0]
    program = shutil.which(name, path=env.get("PATH", os.defpath))
    if program is None:
        number = errno.EACCES if os.path.isfile(name) else errno.ENOENT
        raise OSError(number, os.strerror(number), argv[0])
    odd = [f"{name}={value}" for name, value in env.items() if not _SHELL_NAME.fullmatch(name)]
    return [*(["/usr/bin/env", *odd] if odd else []), os.path.abspath(program), *argv[1:]]


def _signal(pid: int, number: int) -> None:
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.kill(pid, number)
        os.kill(pid, signal.SIGCONT)  # A stopped process would not hear of it.


def _members(leader: int) -> list[int]:
    """The living processes of the session that `leader` leads or led."""
    found: list[int] = []
    for pid, state in _processes():
        with contextlib.suppress(OSError):
            if state[:1] not in ("Z", "X") and os.getsid(pid) == leader:
                found.append(pid)
    return found


def _processes() -> list[tuple[int, str]]:
    """Every process, with its state as `ps` writes it."""
    found: list[tuple[int, str]] = []
    if sys.platform == "linux":
        for entry in os.listdir("/proc"):
            if entry.isdecimal():
                with contextlib.suppress(OSError, IndexError):
                    stat = Path("/proc", entry, "stat").read_bytes()
                    found.append((int(entry), stat.rpartition(b")")[2].split()[0].decode()))
        return found
    listed = subprocess.run(["ps", "-A", "-o", "pid=,stat="], capture_output=True, text=True, check=False)
    for line in listed.stdout.splitlines():
        with contextlib.suppress(ValueError):
            number, state = line.split()
            found.append((int(number), state))
    return found
