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
"""Characters in a sequence's body; what is longer is output."""


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
    """A program named the terminal (OSC 0 and 2); the sequence stays in the output before it."""

    text: str


class Detected(msgspec.Struct, frozen=True):
    """The shell has been seen to write marks."""


Event: TypeAlias = Data | CommandStarted | CommandEnded | Cwd | Title | Detected


class Launch(msgspec.Struct, frozen=True):
    """How to start a shell: its argv, what to add to its environment, and the nonce of its marks ("" for none)."""

    argv: list[str]
    env: Mapping[str, str]
    nonce: str


def launch(shell: str, env: Mapping[str, str]) -> Launch:
    """The way to start `shell` (a path) in the environment `env` with detection, where there is a script for it."""
    nonce = secrets.token_hex(16)
    given = {"AHPD_NONCE": nonce}
    name = Path(shell).name
    if name == "bash":
        return Launch([shell, "--init-file", str(_SCRIPTS / "bash.sh"), "-i"], given, nonce)
    if name == "zsh":
        own = {"AHPD_ZDOTDIR": env["ZDOTDIR"]} if env.get("ZDOTDIR") else {}
        return Launch([shell, "-i"], {**given, **own, "ZDOTDIR": str(_SCRIPTS / "zsh")}, nonce)
    if name == "fish":
        script = str(_SCRIPTS / "fish.fish").replace("\\", "\\\\").replace("'", "\\'")
        return Launch([shell, "--interactive", "--init-command", f"source '{script}'"], given, nonce)
    return Launch([shell], {}, "")


_MARK = re.compile(rf"\x1b\](633|0|2);([^\x07\x1b]{{0,{_LONGEST}}})(?:\x07|\x1b\\)")
"""The sequences that say something here, whole: code and body. All others are output."""
_UNFINISHED = re.compile(rf"\x1b(?:\](?:0|2|63?|(?:633|0|2);[^\x07\x1b]{{0,{_LONGEST}}}\x1b?|633)?)?\Z")
_ESCAPED = re.compile(r"\\(\\|x[0-9a-f]{2})")


class Marks:
    """An incremental reader of a terminal's output: bytes in, events out, the same however the bytes are split.

    A character split between two reads is put together, bytes that are no UTF-8 become U+FFFD.
    """

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
        events: list[Event] = []
        at = 0
        for found in _MARK.finditer(text):
            code, body = found.groups()
            if code != "633":
                _add(events, text[at : found.end()])
                events.append(Title(body))
            elif self._is_ours(body):
                _add(events, text[at : found.start()])
                events.extend(self._mark(body))
            else:
                continue  # A mark without the nonce is somebody's output.
            at = found.end()
        unfinished = None if final else _UNFINISHED.search(text, at)
        end = len(text) if unfinished is None else unfinished.start()
        self._rest = text[end:]
        _add(events, text[at:end])
        return events

    def _is_ours(self, body: str) -> bool:
        nonce = body.rpartition(";")[2]
        return bool(self._nonce) and secrets.compare_digest(nonce.encode(errors="replace"), self._nonce.encode())

    def _mark(self, body: str) -> Iterator[Event]:
        kind, _, rest = body.rpartition(";")[0].partition(";")
        if not self._seen:
            self._seen = True
            yield Detected()
        if kind == "E":
            self._line = _unescaped(rest)
        elif kind == "C":
            self._running = True
            line, self._line = self._line, ""
            yield CommandStarted(line)
        elif kind == "D" and self._running:
            self._running = False
            yield CommandEnded(int(rest) if rest.isdecimal() else None)
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
