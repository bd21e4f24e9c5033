"""What `ahpd chat` prints: replies as they stream, tool calls with their results, errors.

A turn is shown from its state, and only what is new in it since the last time: so a lost connection, a snapshot or
another client in between make no difference. Text of others never moves the cursor of a terminal.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping, Sequence
from typing import TextIO

from ahp.actions.chat import ChatDelta
from ahp.state.chat import (
    ErrorPart,
    FileEditContent,
    InputRequestPart,
    MarkdownPart,
    ReasoningPart,
    ResponsePart,
    SystemNotificationPart,
    TextContent,
    ToolCallAuthRequired,
    ToolCallCancelled,
    ToolCallCompleted,
    ToolCallPart,
    ToolCallPendingResultConfirmation,
    ToolCallState,
    ToolCallStreaming,
    Turn,
)
from ahp.state.common import Markdown
from ahp.wire import UnsetType, present

__all__ = ["View", "spoken", "wants_color"]

_STYLES = {"dim": "2", "bold": "1", "red": "31", "green": "32", "cyan": "36", "yellow": "33"}
_RESULT_LINES = 12


def wants_color(stream: TextIO, environ: Mapping[str, str]) -> bool:
    """Whether to use colours there (no-color.org)."""
    return stream.isatty() and not environ.get("NO_COLOR") and environ.get("TERM") != "dumb"


def spoken(text: str | Markdown | UnsetType) -> str:
    """Text or markdown, as it is printed."""
    if isinstance(text, UnsetType):
        return ""
    return text.markdown if isinstance(text, Markdown) else text


class View:
    """`plain`: stdout gets the reply and nothing else, the rest goes to stderr."""

    def __init__(self, *, color: bool, plain: bool = False, out: TextIO | None = None) -> None:
        self._out = out or sys.stdout
        self._notes = sys.stderr if plain else self._out
        self._color = color
        self._plain = plain
        self._tidy = self._out.isatty() or not plain
        self.agent = ""
        self._in_text = False
        self._at_start = True
        self._style = ""
        self._shown: list[str | int] = []

    # The frame.

    def label(self, name: str) -> str:
        """The beginning of a line that `name` says."""
        return name.ljust(max(4, len(self.agent)) + 2)

    def paint(self, text: str, style: str) -> str:
        return f"\x1b[{_STYLES[style]}m{text}\x1b[0m" if self._color and text else text

    def note(self, text: str, style: str = "dim") -> None:
        """A line beside the reply."""
        self.close()
        for line in text.splitlines() or [""]:
            self._write(self._notes, self.paint(f"  {_clean(line)}", style) + "\n")

    def answer(self, text: str) -> None:
        """Lines that this program was asked for."""
        self.close()
        for line in text.splitlines():
            self._write(self._out, f"  {_clean(line)}\n")

    def said(self, text: str) -> None:
        """What a person said, as in a transcript."""
        self.close()
        self._write(self._notes, self.paint(self.label("you"), "cyan") + _clean(text) + "\n")

    def begin(self) -> None:
        """A turn begins."""
        self.close()
        self._shown = []

    def end(self, turn: Turn) -> None:
        """A turn is over; what is not printed of it yet is."""
        self.show(turn.response_parts)
        self.close()
        if turn.state == "cancelled":
            self.note("(stopped)", "yellow")

    def close(self) -> None:
        """End the line that is under way."""
        if self._in_text and not self._at_start:
            self._write(self._out, ("\x1b[0m" if self._style and self._color else "") + "\n")
        self._in_text, self._at_start, self._style = False, True, ""

    # A turn.

    def delta(self, parts: Sequence[ResponsePart], action: ChatDelta) -> bool:
        """Print one delta without looking at the whole reply. False where that will not do."""
        last = parts[-1] if parts else None
        if not isinstance(last, MarkdownPart) or last.id != action.part_id or len(self._shown) != len(parts):
            return False
        printed = self._shown[-1]
        assert isinstance(printed, int)
        self._text(action.content, "")
        self._shown[-1] = printed + len(action.content)
        return True

    def show(self, parts: Sequence[ResponsePart]) -> None:
        """Print what is new in a turn's parts."""
        for place, part in enumerate(parts):
            if place == len(self._shown):
                self._shown.append(0 if isinstance(part, MarkdownPart | ReasoningPart) else "")
            before = self._shown[place]
            if isinstance(part, MarkdownPart | ReasoningPart):
                text = str(part.content)
                start = before if isinstance(before, int) else 0
                self._text(text[start:], "dim" if isinstance(part, ReasoningPart) else "")
                self._shown[place] = max(start, len(text))
            elif isinstance(part, ToolCallPart):
                call = part.tool_call
                if before != type(call).__name__:
                    self._shown[place] = type(call).__name__
                    self._tool_call(call, str(before))
            elif not before:
                self._shown[place] = "shown"
                self._other(part)

    def _other(self, part: ResponsePart) -> None:
        if isinstance(part, ErrorPart):
            self.note(f"✗ {part.error.message}", "red")
        elif isinstance(part, SystemNotificationPart):
            self.note(spoken(part.content))
        elif isinstance(part, InputRequestPart) and not isinstance(part.response, UnsetType):
            self.note(f"? {spoken(part.request.message)} ({part.response})")

    def _tool_call(self, call: ToolCallState, before: str) -> None:
        if isinstance(call, ToolCallStreaming):
            return
        if not before or before == ToolCallStreaming.__name__:
            what = spoken(getattr(call, "invocation_message", "")) or call.display_name
            self.note(f"⚙ {what}", "bold")
            self._tool_input(call)
        if isinstance(call, ToolCallCompleted | ToolCallPendingResultConfirmation):
            self.note(f"{'✓' if call.success else '✗'} {spoken(call.past_tense_message)}", _outcome(call.success))
            self._result(call)
        elif isinstance(call, ToolCallCancelled):
            why = spoken(call.reason_message)
            self.note(f"✗ {call.display_name}: {call.reason}{f' ({why})' if why else ''}", "yellow")
        elif isinstance(call, ToolCallAuthRequired):
            why = present(call.auth.description, "") or present(call.auth.reason, "")
            self.note(f"! {call.display_name} wants somebody to sign in{f': {why}' if why else ''}", "yellow")

    def _tool_input(self, call: ToolCallState) -> None:
        given = getattr(call, "tool_input", "")
        if isinstance(given, str) and given.strip() not in ("", "{}"):
            self._few_lines(given)

    def _result(self, call: ToolCallCompleted | ToolCallPendingResultConfirmation) -> None:
        error = present(call.error, None)
        if error is not None:
            self._few_lines(error.message)
        for content in present(call.content, []):
            if isinstance(content, TextContent):
                self._few_lines(content.text)
            elif isinstance(content, FileEditContent):
                side = present(content.after, None) or present(content.before, None)
                diff = present(content.diff, None)
                counts = "" if diff is None else f" +{present(diff.added, 0)} −{present(diff.removed, 0)}"
                self._few_lines(f"{'' if side is None else side.uri}{counts}")

    def _few_lines(self, text: str) -> None:
        lines = text.rstrip("\n").split("\n")
        for line in lines[:_RESULT_LINES]:
            self.note(f"  {line}")
        if len(lines) > _RESULT_LINES:
            self.note(f"  … {len(lines) - _RESULT_LINES} more lines")

    def _text(self, text: str, style: str) -> None:
        if not text:
            return
        if style and self._plain:
            return  # Thoughts are no part of the reply.
        if self._in_text and style != self._style:
            self.close()
        if not self._in_text:
            self._in_text, self._style = True, style
            if not self._plain:
                self._write(self._out, self.paint(self.label(self.agent), "green"))
            if style:
                self._write(self._out, f"\x1b[{_STYLES[style]}m" if self._color else "(thinking) ")
        self._write(self._out, _clean(text, "\n\t") if self._tidy else text)
        self._at_start = text.endswith("\n")

    def _write(self, stream: TextIO, text: str) -> None:
        try:
            stream.write(text)
            stream.flush()
        except BrokenPipeError:
            # Nobody reads any more. Python would complain once more at its end.
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
            raise SystemExit(0) from None


def _outcome(success: bool) -> str:
    return "green" if success else "red"


def _clean(text: str, keep: str = "") -> str:
    """Text without what a terminal obeys."""
    if text.isprintable():
        return text
    return "".join(character if character.isprintable() or character in keep else "�" for character in text)
