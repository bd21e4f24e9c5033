"""`ahpd logs`: the end of the log, and what is written while one watches."""

from __future__ import annotations

import os
import re
import time
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO

from actors.cli.context import Context, Exit, Failure, say

__all__ = ["logs"]

_LOOK_EVERY = 0.2
_BLOCK = 64 * 1024
_TRACEBACK = re.compile(r' traceback="((?:[^"\\]|\\.)*)"$')


def logs(context: Context) -> int:
    """Print the last lines of the log, and with -f those that follow."""
    arguments = context.arguments
    path = context.folders.log_file
    raw: bool = getattr(arguments, "raw", False)
    follow: bool = getattr(arguments, "follow", False)
    if not path.exists() and not follow:
        raise Failure(f"there is no log yet: {path}")
    lines, position = _tail(path, getattr(arguments, "lines", 50))
    for line in lines:
        _show(line, raw)
    if follow:
        for line in _follow(path, position):
            _show(line, raw)
    return Exit.DONE


def _show(line: str, raw: bool) -> None:
    """A line; a traceback in it is unfolded below."""
    found = None if raw else _TRACEBACK.search(line)
    if found is None:
        say(line)
        return
    say(line[: found.start()])
    for row in found[1].replace("\\n", "\n").replace('\\"', '"').replace("\\\\", "\\").rstrip("\n").split("\n"):
        say(f"    {row}")


def _tail(path: Path, count: int) -> tuple[list[str], int]:
    """The last `count` lines (over the turn of the file too), and the position behind them."""
    lines: list[str] = []
    end = 0
    for file in (path, path.with_name(f"{path.name}.1")):
        if len(lines) < count and file.exists():
            found, size = _tail_of(file, count - len(lines))
            lines = found + lines
            end = size if file == path else end
    return lines[len(lines) - min(count, len(lines)) :], end


def _tail_of(path: Path, count: int) -> tuple[list[str], int]:
    with path.open("rb") as file:
        size = position = file.seek(0, 2)
        data = b""
        while position > 0 and data.count(b"\n") <= count:
            step = min(_BLOCK, position)
            position -= step
            file.seek(position)
            data = file.read(step) + data
    lines = data.decode(errors="replace").split("\n")[:-1]
    return (lines[-count:] if count else []), size


def _follow(path: Path, position: int) -> Iterator[str]:
    """Lines as they are written, for ever; where the file is turned over, the old one to its end, then the new one."""
    file: BinaryIO | None = None
    rest = b""
    try:
        while True:
            if file is None:
                file, position = _open_at(path, position), 0
            data = file.read() if file is not None else b""
            if not data:
                if file is not None and _is_another(path, file):
                    file.close()
                    file = None
                    continue
                time.sleep(_LOOK_EVERY)
            *lines, rest = (rest + data).split(b"\n")
            for line in lines:
                yield line.decode(errors="replace")
    finally:
        if file is not None:
            file.close()


def _open_at(path: Path, position: int) -> BinaryIO | None:
    try:
        file = path.open("rb")
    except FileNotFoundError:
        return None
    file.seek(position)
    return file


def _is_another(path: Path, file: BinaryIO) -> bool:
    """Whether the file at `path` is no longer the one that is open."""
    try:
        return path.stat().st_ino != os.fstat(file.fileno()).st_ino
    except FileNotFoundError:
        return False
