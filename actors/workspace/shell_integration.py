"""Command detection in a terminal: which commands a shell ran, where, and how they ended.

The shell is started with a script of ours that writes marks (OSC 633) around what it does; `Marks` takes them out of
the output again and says what they meant. Each carries a nonce that only the shell was given, so that what a program
prints can forge none. Shells without a script run as they are, without detection.
"""

from __future__ import annotations

import codecs
import re
import secrets
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TypeAlias

import msgspec

__all__ = ["CommandEnded", "CommandStarted", "Cwd", "Data", "Detected", "Event", "Launch", "Marks", "Title", "launch"]

_SCRIPTS = Path(__file__).parent / "shell"
_LONGEST = 64 * 1024
"""Characters after which an unfinished sequence is taken for output."""


class Data(msgspec.Struct, frozen=True):
    """Output, marks taken out."""

    text: str


class CommandStarted(msgspec.Struct, frozen=True):
    line: str


class CommandEnded(msgspec.Struct, frozen=True):
    """`exit_code` is None where the shell did not say."""

    exit_code: int | None


class Cwd(msgspec.Struct, frozen=True):
    path: str


class Title(msgspec.Struct, frozen=True):
    """A program named the terminal (OSC 0 and 2); the sequence stays in the output too."""

    text: str


class Detected(msgspec.Struct, frozen=True):
    """The shell has been seen to write marks."""


Event: TypeAlias = Data | CommandStarted | CommandEnded | Cwd | Title | Detected


class Launch(msgspec.Struct, frozen=True):
    """How to start a shell: its argv, what to add to its environment, and the nonce of its marks ("" for none)."""

    argv: list[str]
    env: Mapping[str, str]
    nonce: str


def launch(shell: str) -> Launch:
    """The way to start `shell` (a path) with detection, where there is a script for it."""
    if Path(shell).name == "bash":
        nonce = secrets.token_hex(16)
        return Launch([shell, "--init-file", str(_SCRIPTS / "bash.sh"), "-i"], {"AHPD_NONCE": nonce}, nonce)
    return Launch([shell, "-i"], {}, "")


_OSC = re.compile(r"\x1b\](?P<code>\d+);(?P<body>[^\x07\x1b]*)(?:\x07|\x1b\\)")
_UNFINISHED = re.compile(r"\x1b(?:\](?:\d*(?:;[^\x07\x1b]*\x1b?)?)?)?$")
_ESCAPED = re.compile(r"\\(\\|x[0-9a-f]{2})")


class Marks:
    """An incremental reader of a terminal's output: bytes in, events out, however the bytes are split."""

    def __init__(self, nonce: str) -> None:
        self._nonce = nonce
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace")
        self._rest = ""
        self._line = ""
        self._running = False
        self._seen = False

    def feed(self, data: bytes, *, final: bool = False) -> list[Event]:
        """The events in what came so far; an unfinished sequence waits for its end (unless `final`)."""
        text = self._rest + self._decoder.decode(data, final)
        self._rest = ""
        events: list[Event] = []
        at = 0
        for found in _OSC.finditer(text):
            if found["code"] == "633" and self._nonce:
                # A mark without the nonce is somebody's output.
                if self._is_ours(found["body"]):
                    _add(events, text[at : found.start()])
                    events.extend(self._mark(found["body"]))
                    at = found.end()
            elif found["code"] in ("0", "2"):
                _add(events, text[at : found.end()])
                events.append(Title(found["body"]))
                at = found.end()
        unfinished = None if final else _UNFINISHED.search(text, at)
        if unfinished is not None and len(text) - unfinished.start() < _LONGEST:
            self._rest = text[unfinished.start() :]
            text = text[: unfinished.start()]
        _add(events, text[at:])
        return events

    def _is_ours(self, body: str) -> bool:
        return secrets.compare_digest(body.rpartition(";")[2].encode(), self._nonce.encode())

    def _mark(self, body: str) -> Iterator[Event]:
        kind, _, rest = body.rpartition(";")[0].partition(";")
        if not self._seen:
            self._seen = True
            yield Detected()
        if kind == "E":
            self._line = _unescaped(rest)
        elif kind == "C":
            self._running = True
            yield CommandStarted(self._line)
        elif kind == "D" and self._running:
            self._running = False
            yield CommandEnded(int(rest) if rest.isdigit() else None)
        elif kind == "P" and rest.startswith("Cwd="):
            yield Cwd(_unescaped(rest.removeprefix("Cwd=")))


def _add(events: list[Event], text: str) -> None:
    if not text:
        return
    if events and isinstance(events[-1], Data):
        events[-1] = Data(events[-1].text + text)
    else:
        events.append(Data(text))


def _unescaped(text: str) -> str:
    return _ESCAPED.sub(lambda m: "\\" if m[1] == "\\" else chr(int(m[1][1:], 16)), text)
