"""Real processes on real terminals."""

import contextlib
import errno
import os
import signal
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
import trio

from actors import processes
from actors.workspace.pty import READ_BYTES, Pty, open_pty

ENV = {"PATH": os.environ["PATH"], "LC_ALL": "C.UTF-8"}


@asynccontextmanager
async def sh(script: str, cwd: Path, **env: str) -> AsyncIterator[Pty]:
    """A script of sh on a terminal; a test that waits for ever fails."""
    with trio.fail_after(30):
        async with open_pty(["sh", "-c", script], cwd=cwd, env={**ENV, **env}, cols=80, rows=24) as pty:
            yield pty


async def read_all(pty: Pty) -> str:
    data = b""
    while piece := await pty.read():
        data += piece
    return data.decode()


async def read_until(pty: Pty, what: str) -> str:
    data = b""
    while what.encode() not in data:
        piece = await pty.read()
        assert piece, f"{what!r} never came: {data!r}"
        data += piece
    return data.decode()


async def pid_from(file: Path) -> int:
    """The number that a script writes to `file`."""
    with trio.fail_after(10):
        while not file.exists() or not file.read_text().endswith("\n"):  # noqa: ASYNC110  a file tells nobody
            await trio.sleep(0.01)
    return int(file.read_text())


def descriptors() -> int:
    return len(os.listdir("/dev/fd"))


async def test_a_process_has_a_controlling_terminal_of_the_size_asked_for(tmp_path: Path) -> None:
    async with sh("echo over >/dev/tty; stty size; pwd -P", tmp_path) as pty:
        assert (await read_all(pty)).split() == ["over", "24", "80", str(tmp_path)]
        assert (await pty.wait(), pty.exit_code, pty.signal) == (0, 0, None)


async def test_the_environment_arrives_as_given(tmp_path: Path) -> None:
    given = {**ENV, "BASH_FUNC_hello%%": "() { echo hello; }", "WITH SPACE": "a b", "QUOTED": "'\"$x"}
    async with open_pty(["env"], cwd=tmp_path, env=given, cols=80, rows=24) as pty:
        lines = set((await read_all(pty)).splitlines())
    added = lines - {f"{name}={value}" for name, value in given.items()}
    assert len(lines) == len(given) + len(added)
    assert added <= {f"PWD={tmp_path}", "SHLVL=1", "SHLVL=0", "_=/usr/bin/env", f"OLDPWD={tmp_path}"}


async def test_exit_codes_and_signals_are_told_apart(tmp_path: Path) -> None:
    async with sh("exit 3", tmp_path) as pty:
        assert (await pty.wait(), pty.signal) == (3, None)
    async with sh("kill -KILL $$", tmp_path) as pty:
        assert (await pty.wait(), pty.signal) == (None, signal.SIGKILL)


async def test_a_resize_reaches_the_process(tmp_path: Path) -> None:
    async with sh("trap 'stty size; exit' WINCH; echo ready; while :; do sleep 0.01; done", tmp_path) as pty:
        await read_until(pty, "ready")
        pty.resize(100, 30)
        await read_until(pty, "30 100")


async def test_a_megabyte_typed_at_a_slow_reader_arrives_whole(tmp_path: Path) -> None:
    lines = "".join(f"line {number}\n" for number in range(80_000))
    script = f"stty -echo; echo ready; sleep 0.3; head -c {len(lines)} > typed; echo done"
    ticks = 0

    async def tick() -> None:
        nonlocal ticks
        while True:
            await trio.sleep(0.001)
            ticks += 1

    async with sh(script, tmp_path) as pty, trio.open_nursery() as nursery:
        await read_until(pty, "ready")
        nursery.start_soon(tick)
        nursery.start_soon(pty.write, lines.encode())
        await read_until(pty, "done")
        nursery.cancel_scope.cancel()
    assert (tmp_path / "typed").read_text() == lines
    assert ticks > 20, "the loop was held up"


async def test_output_of_any_size_arrives_whole_in_bursts(tmp_path: Path) -> None:
    sizes: list[int] = []
    async with sh("stty -onlcr; seq 1 200000", tmp_path) as pty:
        data = b""
        while piece := await pty.read():
            sizes.append(len(piece))
            data += piece
    assert data.decode().split() == [str(number) for number in range(1, 200_001)]
    assert max(sizes) <= READ_BYTES


async def test_a_cancelled_read_has_taken_nothing(tmp_path: Path) -> None:
    async with sh("read go; seq 1 30000", tmp_path) as pty:
        with trio.move_on_after(0.05):
            await pty.read()
        await pty.write(b"go\n")
        data = b""
        while True:
            piece: bytes | None = None
            with trio.move_on_after(0.0005):
                piece = await pty.read()
            if piece == b"":
                break
            data += piece or b""
    assert data.decode().split()[1:] == [str(number) for number in range(1, 30_001)]


STAY = "trap '' HUP TERM; echo $$ > {name}; while :; do sleep 0.05; done"


@pytest.mark.parametrize(
    "script",
    [
        "sleep 300 & echo $! > pid; wait",
        "nohup sleep 300 >/dev/null 2>&1 & echo $! > pid; wait",
        f"sh -c '{STAY.format(name='pid').replace(chr(39), chr(34))}' & wait",
        "set -m; sleep 300 & echo $! > pid; kill -STOP $!; sleep 300",
    ],
    ids=["a job", "nohup", "deaf to all but SIGKILL", "a stopped job in a group of its own"],
)
async def test_at_the_end_background_jobs_are_gone(tmp_path: Path, script: str) -> None:
    async with sh(script, tmp_path) as pty:
        job = await pid_from(tmp_path / "pid")
        assert processes.exists(job)
    assert not processes.exists(job)
    assert not processes.exists(pty.pid)


async def test_jobs_of_a_shell_that_has_exited_are_gone_too(tmp_path: Path) -> None:
    async with sh("set -m; sleep 300 & echo $! > pid", tmp_path) as pty:
        await pty.wait()
        job = await pid_from(tmp_path / "pid")
        assert processes.exists(job)
    assert not processes.exists(job)


async def test_a_cancelled_block_cleans_up_as_well(tmp_path: Path) -> None:
    with trio.CancelScope() as scope:
        async with sh("sleep 300 & echo $! > pid; wait", tmp_path):
            job = await pid_from(tmp_path / "pid")
            scope.cancel()
            await trio.sleep_forever()
    assert scope.cancelled_caught
    assert not processes.exists(job)


async def test_a_process_that_writes_without_end_is_ended(tmp_path: Path) -> None:
    async with sh("trap '' HUP; while :; do echo flood; done", tmp_path) as pty:
        await pty.read()
    assert pty.signal is not None or pty.exit_code is not None


async def test_neither_descriptors_nor_zombies_are_left(tmp_path: Path) -> None:
    async with sh("exit", tmp_path) as pty:
        await pty.wait()
    before = descriptors()
    for script in ("exit 1", "sleep 300", "sleep 300 & exit"):
        async with sh(script, tmp_path) as pty:
            pass
        with pytest.raises(ProcessLookupError):
            os.kill(pty.pid, 0)
    for argv in (["no-such-program"], [str(tmp_path)]):
        with contextlib.suppress(OSError):
            async with open_pty(argv, cwd=tmp_path, env=ENV, cols=80, rows=24):
                pass
    assert descriptors() == before


@pytest.mark.parametrize(
    ("argv", "folder", "number"),
    [
        (["no-such-program"], ".", errno.ENOENT),
        (["./plain"], ".", errno.EACCES),
        (["sh"], "no-such-folder", errno.ENOTDIR),
    ],
)
async def test_what_cannot_be_started_raises(tmp_path: Path, argv: list[str], folder: str, number: int) -> None:
    (tmp_path / "plain").write_text("no program")
    with pytest.raises(OSError) as caught:
        async with open_pty(argv, cwd=tmp_path / folder, env=ENV, cols=80, rows=24):
            pass
    assert caught.value.errno == number


async def test_a_program_beside_its_folder_is_found(tmp_path: Path) -> None:
    program = tmp_path / "program"
    program.write_text("#!/bin/sh\necho found $1\n")
    program.chmod(0o755)
    async with open_pty(["./program", "me"], cwd=tmp_path, env=ENV, cols=80, rows=24) as pty:
        assert (await read_all(pty)).strip() == "found me"


async def test_after_the_end_everything_is_quiet(tmp_path: Path) -> None:
    async with sh("exit", tmp_path) as pty:
        await pty.wait()
        await pty.write(b"nobody hears this\n" * 10_000)
    assert await pty.read() == b""
    await pty.write(b"nor this")
    pty.resize(10, 10)


async def test_a_python_program_is_given_its_own_terminal(tmp_path: Path) -> None:
    code = "import os, sys; print(os.isatty(0) and os.isatty(2), os.getsid(0) == os.tcgetpgrp(1) == os.getpid())"
    async with open_pty([sys.executable, "-c", code], cwd=tmp_path, env=ENV, cols=80, rows=24) as pty:
        assert (await read_all(pty)).strip() == "True True"
