"""The log: one line a fact, to stderr and a file that rotates by size. Everybody may write to it, from any thread.

    _log = log.get("host")
    _log.error("agent raised", channel=uri, exc=error)

Invariants: no secret is ever written (`redact`), one record is one line whatever is in it, and a full disk or a reader
that stopped reading never stops who logs: lines are written by a thread of their own, and dropped (and counted) when
it cannot keep up. What libraries say through `logging` lands here too.
"""

from __future__ import annotations

import contextlib
import json
import logging
import queue
import sys
import threading
import time
import traceback
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from functools import cache
from typing import Literal, TextIO, TypeAlias, get_args

from actors.logfile import LogFile
from actors.redact import Redactor

__all__ = [
    "LEVELS",
    "Format",
    "Level",
    "Log",
    "capture",
    "close",
    "configure",
    "get",
    "protect",
    "redactor",
    "set_level",
]

Level: TypeAlias = Literal["debug", "info", "warning", "error"]
Format: TypeAlias = Literal["logfmt", "json"]
LEVELS: tuple[Level, ...] = get_args(Level)

_NUMBERS: dict[Level, int] = {"debug": 10, "info": 20, "warning": 30, "error": 40}
_VALUE_LIMIT = 8 * 1024
_TRACEBACK_LIMIT = 32 * 1024
_QUEUE_LIMIT = 10_000
_CLOSE_SECONDS = 2.0

redactor = Redactor()
"""Hides secrets from the log; also for whoever shows text to a person by other ways."""
protect = redactor.protect


class Log:
    """The log under one name. A level below the one in force costs a comparison."""

    __slots__ = ("name",)

    def __init__(self, name: str) -> None:
        self.name = name

    def enabled(self, level: Level) -> bool:
        """Whether a record of `level` is written: ask before building something expensive."""
        return _NUMBERS[level] >= _sink.floor

    def debug(self, event: str, *, exc: BaseException | None = None, **fields: object) -> None:
        if _sink.floor <= 10:
            _sink.write("debug", self.name, event, fields, exc)

    def info(self, event: str, *, exc: BaseException | None = None, **fields: object) -> None:
        if _sink.floor <= 20:
            _sink.write("info", self.name, event, fields, exc)

    def warning(self, event: str, *, exc: BaseException | None = None, **fields: object) -> None:
        if _sink.floor <= 30:
            _sink.write("warning", self.name, event, fields, exc)

    def error(self, event: str, *, exc: BaseException | None = None, **fields: object) -> None:
        """Something failed. `exc` adds its words and traceback, causes and groups included."""
        _sink.write("error", self.name, event, fields, exc)


@cache
def get(name: str) -> Log:
    """The log of `name`, a short word for who speaks: `host`, `door`, `store`."""
    return Log(name)


def configure(
    level: Level = "info", form: Format = "logfmt", *, file: LogFile | None = None, stderr: TextIO | None = None
) -> None:
    """Write to each of `file` and `stderr` that is given; until then, warnings go to stderr. End with `close`."""
    close()
    _sink.floor, _sink.form = _NUMBERS[level], form
    _sink.start(file, stderr)
    bridge = logging.getLogger()
    bridge.handlers = [handler for handler in bridge.handlers if not isinstance(handler, _Bridge)] + [_Bridge()]
    bridge.setLevel(max(_sink.floor, logging.INFO))
    logging.getLogger("watchfiles").setLevel(logging.WARNING)  # It says of every change that there was one.


def set_level(level: Level) -> None:
    """Change the level while it runs."""
    _sink.floor = _NUMBERS[level]
    logging.getLogger().setLevel(max(_sink.floor, logging.INFO))


def close() -> None:
    """Write out what waits, if that takes no longer than two seconds, and close the file."""
    _sink.stop()


@contextlib.contextmanager
def capture(level: Level = "debug") -> Iterator[list[str]]:
    """For tests: the lines written inside the block, instead of writing them."""
    lines: list[str] = []
    emit, floor = _sink.emit, _sink.floor
    _sink.emit, _sink.floor = lines.append, _NUMBERS[level]
    try:
        yield lines
    finally:
        _sink.emit, _sink.floor = emit, floor


class _Sink:
    """Where lines go. `emit` takes one finished line and never blocks once `start` was called."""

    def __init__(self) -> None:
        self.floor = 30
        self.form: Format = "logfmt"
        self.emit: Callable[[str], None] = _to_stderr
        self._queue: queue.Queue[str | None] = queue.Queue(_QUEUE_LIMIT)
        self._thread: threading.Thread | None = None
        self._dropped = 0

    def start(self, file: LogFile | None, stderr: TextIO | None) -> None:
        self._queue = queue.Queue(_QUEUE_LIMIT)
        self._thread = threading.Thread(target=_drain, args=(self._queue, file, stderr), name="log", daemon=True)
        self._thread.start()
        self.emit = self._enqueue

    def stop(self) -> None:
        thread, self._thread, self.emit = self._thread, None, _to_stderr
        if thread is not None:
            with contextlib.suppress(queue.Full):
                self._queue.put(None, timeout=_CLOSE_SECONDS)
            thread.join(_CLOSE_SECONDS)

    def _enqueue(self, line: str) -> None:
        try:
            if self._dropped:
                self._queue.put_nowait(_line("warning", "log", "lines dropped", {"count": self._dropped}, self.form))
                self._dropped = 0
            self._queue.put_nowait(line)
        except queue.Full:
            self._dropped += 1

    def write(self, level: Level, name: str, event: str, fields: dict[str, object], exc: BaseException | None) -> None:
        if exc is not None:
            fields["error"] = _words(exc)
            fields["traceback"] = "".join(traceback.format_exception(exc))
        self.emit(_line(level, name, event, fields, self.form))


def _to_stderr(line: str) -> None:
    # stderr may be closed, or None in a process without one: there is nobody to tell.
    with contextlib.suppress(OSError, ValueError, AttributeError):
        sys.stderr.write(line)


_sink = _Sink()


def _drain(lines: queue.Queue[str | None], file: LogFile | None, stderr: TextIO | None) -> None:
    """The writing thread. Takes all that waits at once, so that a burst is few writes."""
    last = False
    while not last:
        batch = [lines.get()]
        with contextlib.suppress(queue.Empty):
            while len(batch) < 500:
                batch.append(lines.get_nowait())
        last = batch[-1] is None
        text = "".join(line for line in batch if line is not None)
        if file is not None:
            file.write(text)
        if stderr is not None:
            with contextlib.suppress(OSError, ValueError):
                stderr.write(text)
                stderr.flush()
    if file is not None:
        file.close()


def _words(exc: BaseException) -> str:
    words = str(exc)
    return f"{type(exc).__name__}: {words}" if words else type(exc).__name__


def _line(level: Level, name: str, event: str, fields: dict[str, object], form: Format) -> str:
    moment = datetime.fromtimestamp(time.time(), UTC).strftime("%Y-%m-%dT%H:%M:%S.%f")[:-3] + "Z"
    record: dict[str, object] = {
        "time": moment,
        "level": level,
        "log": name,
        "event": redactor.text(event, _VALUE_LIMIT),
    }
    for key, value in fields.items():
        record[key if key not in record else f"{key}_"] = _shown(key, value)
    if form == "json":
        return json.dumps(record, ensure_ascii=False, default=str).translate(_CONTROLS) + "\n"
    return " ".join(f"{key}={_logfmt(value)}" for key, value in record.items()) + "\n"


def _shown(key: str, value: object) -> object:
    try:
        return redactor.value(key, value, _TRACEBACK_LIMIT if key == "traceback" else _VALUE_LIMIT)
    except Exception as error:  # Somebody's __str__ raised: the line still says the rest.
        return f"<unprintable: {type(error).__name__}>"


# JSON escapes C0 alone; C1 and the line separators would reach a terminal or split a line.
_CONTROLS = {code: f"\\u{code:04x}" for code in (*range(0x7F, 0xA0), 0x2028, 0x2029)}


def _logfmt(value: object) -> str:
    if value is None or isinstance(value, bool | int | float):
        return json.dumps(value)
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, default=str)
    if text and not (set(text) & _NEEDS_QUOTES) and text.isprintable():
        return text
    return json.dumps(text, ensure_ascii=False).translate(_CONTROLS)


_NEEDS_QUOTES = frozenset(' "=\\')


class _Bridge(logging.Handler):
    """What libraries log with the standard library, as records of ours."""

    def emit(self, record: logging.LogRecord) -> None:
        level: Level = "error" if record.levelno >= 40 else "warning" if record.levelno >= 30 else "info"
        level = level if record.levelno >= 20 else "debug"
        if _NUMBERS[level] < _sink.floor:
            return
        try:
            words = record.getMessage()
        except Exception:
            words = str(record.msg)
        exc = record.exc_info[1] if record.exc_info else None
        _sink.write(level, record.name.removeprefix("actors."), words, {}, exc)
