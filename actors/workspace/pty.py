"""A child process on a terminal of its own (a PTY), as bytes in and out.

`open_pty` owns the process and everything it starts for the time of the block: at the end the whole session is gone,
also background jobs in process groups of their own, and no descriptor is left open. Linux and macOS.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import signal
import struct
import subprocess
import sys
import termios
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from pathlib import Path

import trio

__all__ = ["Pty", "open_pty"]

READ_BYTES = 64 * 1024
_PATIENCE = 1.0
"""Seconds a process may take to leave after each signal."""

# A session leader gets a controlling terminal only by asking for it. `setsid --ctty` is not on every system, and
# `preexec_fn` is unsafe beside threads, so the child asks for itself before it becomes the wanted program.
_CLAIM = "import fcntl,os,sys,termios; fcntl.ioctl(0, termios.TIOCSCTTY, 0); os.execvp(sys.argv[1], sys.argv[1:])"


class Pty:
    """The terminal's other end. One task reads, any task writes; `exit_code` is set once the process has ended."""

    def __init__(self, process: trio.Process, master: int) -> None:
        self.pid = process.pid
        self._process = process
        self._master = master
        self._writing = trio.Lock()
        self._open = True

    @property
    def exit_code(self) -> int | None:
        """The exit code, 128 + n for signal n; None while it runs."""
        code = self._process.returncode
        return code if code is None or code >= 0 else 128 - code

    async def read(self) -> bytes:
        """What the process wrote, at least one byte, at most 64 KiB; b"" when nothing can come any more."""
        while self._open:
            await trio.lowlevel.wait_readable(self._master)
            try:
                return os.read(self._master, READ_BYTES)
            except BlockingIOError:
                continue
            except OSError:
                return b""  # Linux answers EIO when the last process has left the terminal.
        return b""

    async def write(self, data: bytes) -> None:
        """Type `data`; waits while the process does not read. What a process that has gone would read is dropped."""
        async with self._writing:
            view = memoryview(data)
            while view and self._open:
                try:
                    view = view[os.write(self._master, view) :]
                except BlockingIOError:
                    await trio.lowlevel.wait_writable(self._master)
                except OSError:
                    return

    def resize(self, cols: int, rows: int) -> None:
        """Tell the process its new size; the system sends SIGWINCH."""
        with contextlib.suppress(OSError):
            fcntl.ioctl(self._master, termios.TIOCSWINSZ, struct.pack("HHHH", rows, cols, 0, 0))

    async def wait(self) -> int:
        """Wait until the process has ended: its `exit_code`."""
        await self._process.wait()
        assert self.exit_code is not None
        return self.exit_code

    async def _close(self) -> None:
        self._open = False
        for number in (signal.SIGHUP, signal.SIGTERM, signal.SIGKILL):
            if not _signal_session(self.pid, number):
                break
            with trio.move_on_after(_PATIENCE):
                await self._process.wait()
                while _session_of(self.pid):  # noqa: ASYNC110  nobody tells us of a stranger's children
                    await trio.sleep(0.02)
        await self._process.wait()
        trio.lowlevel.notify_closing(self._master)
        os.close(self._master)


@asynccontextmanager
async def open_pty(
    argv: Sequence[str], *, cwd: Path, env: Mapping[str, str], cols: int, rows: int
) -> AsyncIterator[Pty]:
    """Run `argv` on a new terminal for the time of the block. Raises OSError when it cannot be started."""
    if not await trio.Path(cwd).is_dir():
        raise NotADirectoryError(20, "No such folder", str(cwd))
    master, slave = os.openpty()
    try:
        fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", rows, cols, 0, 0))
        os.set_blocking(master, False)
        process = await trio.lowlevel.open_process(
            [sys.executable, "-I", "-S", "-c", _CLAIM, *argv],
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


def _signal_session(leader: int, number: signal.Signals) -> bool:
    """Signal every process of the session; False when there is none left."""
    members = _session_of(leader)
    for pid in members:
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.kill(pid, number)
            os.kill(pid, signal.SIGCONT)
    return bool(members)


def _session_of(leader: int) -> list[int]:
    """The living processes of the session that `leader` leads."""
    found: list[int] = []
    if sys.platform == "linux":
        for entry in os.listdir("/proc"):
            if entry.isdigit():
                with contextlib.suppress(OSError, IndexError, ValueError):
                    stat = Path("/proc", entry, "stat").read_text()
                    state, _, _, session = stat.rpartition(")")[2].split()[:4]
                    if int(session) == leader and state not in "ZX":
                        found.append(int(entry))
        return found
    listed = subprocess.run(["ps", "-A", "-o", "pid=,sess=,stat="], capture_output=True, text=True, check=False)
    for line in listed.stdout.splitlines():
        pid, session, state = [*line.split(), "", "", ""][:3]
        with contextlib.suppress(ValueError):
            if int(session, 0) == leader and not state.startswith("Z"):
                found.append(int(pid))
    return found
