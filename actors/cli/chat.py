"""`ahpd chat`: talk to an agent in a terminal, or by a pipe.

With a message on the command line it says that, prints the reply and leaves. Otherwise each line of the input is a
message, and answers to what the agent asks are lines too. Ctrl-C stops the running turn, a second one leaves. A few
lines are not for the agent: `/help` lists them.
"""

from __future__ import annotations

import contextlib
import os
import sys
import time
import uuid
from pathlib import Path

from actors.cli.chat_answers import Approve, answer, waiting
from actors.cli.chat_commands import HELP, Call, ShowHelp, call_message, heard, table
from actors.cli.chat_view import View, wants_color
from actors.cli.context import Context, Exit, Failure
from actors.cli.conversation import Conversation, Ended, Event, Moved, Opened, StatusMoved, ToolsListed, Wishes
from actors.clock import Clock
from ahp import uris
from ahp.actions.chat import ChatDelta, ChatTurnCancelled, ChatTurnStarted
from ahp.client import Change, Status
from ahp.state.chat import ActiveTurn, ChatState, Message, MessageOrigin
from ahp.wire import UnsetType, present

__all__ = ["chat"]

_SHOWN_BEFORE = 2


def chat(context: Context) -> int:
    """Exit code 1 where a reply ended in an error, 130 where it was stopped."""
    arguments = context.arguments
    folder = Path(os.path.abspath(os.path.expanduser(context.said("folder") or ".")))
    wishes = Wishes(context.said("session"), getattr(arguments, "last", False), context.said("chat_agent"), folder)
    message = " ".join(arguments.message)
    if message == "-":
        message = sys.stdin.read().strip()
    for stream in (sys.stdout, sys.stderr):
        with contextlib.suppress(AttributeError):
            stream.reconfigure(errors="replace")  # type: ignore[union-attr]
    view = View(color=wants_color(sys.stdout, context.environ), plain=bool(message) and not sys.stdout.isatty())
    conversation = Conversation(context, wishes)
    conversation.start()
    talk = _Talk(conversation, view, getattr(arguments, "approve", "ask"), listens=not message or sys.stdin.isatty())
    try:
        talk.open()
        return talk.say_one(message) if message else talk.say_lines()
    finally:
        view.close()
        conversation.leave()


class _Talk:
    """The main thread's side: what is typed, and what is printed."""

    def __init__(self, conversation: Conversation, view: View, approve: Approve, *, listens: bool) -> None:
        self._conversation = conversation
        self._view = view
        self._approve = approve
        self._listens = listens
        self._state: ChatState
        self._worst = Exit.DONE
        self._asked: set[str] = set()
        self._turn: str | None = None
        self._began = 0.0
        self._stopping = False
        self._behind = True  # Whether the state has something that is not printed.

    def open(self) -> None:
        """Wait for the chat, and show where it stands."""
        while not isinstance(event := self._next(), Opened):
            pass
        self._state = event.state
        self._view.agent = event.agent
        if sys.stdin.isatty() and self._listens:
            name = uris.parse(event.session).id
            self._view.note(f"session {name} · /help says more · Ctrl-C stops a reply, Ctrl-D leaves")
        for turn in event.state.turns[-_SHOWN_BEFORE:] if sys.stdout.isatty() else []:
            self._view.said(turn.message.text)
            self._view.begin()
            self._view.end(turn)
        self._follow()

    def say_one(self, message: str) -> int:
        self._hear(message)
        return self._worst

    def say_lines(self) -> int:
        while True:
            try:
                line = self._ask(self._view.label("you"))
            except KeyboardInterrupt:
                line = None
            if line is None:
                self._worst = Exit.DONE if sys.stdin.isatty() else self._worst
                return self._worst
            if line.strip():
                if not sys.stdin.isatty():
                    self._view.said(line)
                self._hear(line)

    def _hear(self, line: str) -> None:
        """Say the line, or do what it tells this program."""
        told = heard(line)
        if isinstance(told, str):
            self._say(told)
        elif isinstance(told, ShowHelp):
            self._view.answer(HELP)
        elif isinstance(told, Call):
            try:
                self._say(call_message(told, self._view.agent))
            except ValueError as error:
                self._view.note(f"✗ {error}", "red")
                self._worst = Exit.FAILED
        else:
            self._conversation.list_tools()
            while not isinstance(event := self._next(), ToolsListed):
                self._take(event)
            self._view.answer(table(event.rows))

    # One turn.

    def _say(self, text: str) -> None:
        self._catch_up()
        self._turn = str(uuid.uuid4())
        message = Message(text=text, origin=MessageOrigin(kind="user"))
        self._conversation.dispatch(ChatTurnStarted(turn_id=self._turn, started_at=Clock().iso(), message=message))
        while not self._has_begun():
            if not self._take(self._next()):
                return
        self._follow()

    def _has_begun(self) -> bool:
        active = self._active()
        ended = self._state.turns[-1].id if self._state.turns else None
        return self._turn in (ended, None if active is None else active.id)

    def _follow(self) -> None:
        """Show the running turn (anybody's) until it is over, and answer what it asks."""
        active = self._active()
        turn = self._turn if active is None else active.id
        if turn is None:
            return
        self._turn, self._began, self._stopping, self._behind = turn, time.monotonic(), False, True
        self._view.begin()
        while True:
            try:
                if self._step():
                    break
            except KeyboardInterrupt:
                self._stop()
        self._turn = None

    def _step(self) -> bool:
        """Show what there is, then ask or wait for more. True when the turn is over."""
        active = self._active()
        if active is None or active.id != self._turn:
            ended = next((turn for turn in reversed(self._state.turns) if turn.id == self._turn), None)
            if ended is not None:
                self._view.end(ended)
                outcome = {"complete": Exit.DONE, "cancelled": Exit.INTERRUPTED}.get(ended.state, Exit.FAILED)
                self._worst = self._worst if outcome is Exit.DONE else outcome
            return True
        if self._behind:
            self._view.show(active.response_parts)
            self._behind = False
        about = None if self._stopping else waiting(active.response_parts)
        if about is not None and about[0] not in self._asked:
            self._asked.add(about[0])
            self._answer(active, about[0])
        else:
            self._take(self._next())
        return False

    def _answer(self, active: ActiveTurn, name: str) -> None:
        found = waiting(active.response_parts)
        assert found is not None
        approve = self._approve
        unheard = approve == "ask" and not self._listens
        ask = self._ask if self._listens else _nobody
        action = answer(active.id, found[1], ask, self._view, "none" if unheard else approve)
        if unheard:
            self._view.note("nobody is here to say yes: --approve all does", "yellow")
        self._catch_up()
        now = self._active()
        still = None if now is None else waiting(now.response_parts)
        if still is not None and still[0] == name:
            self._conversation.dispatch(action)
        else:
            self._view.note("that was answered elsewhere meanwhile")

    def _stop(self) -> None:
        if self._stopping:
            raise KeyboardInterrupt
        self._stopping = True
        assert self._turn is not None
        self._view.note("stopping; Ctrl-C again leaves", "yellow")
        duration = int((time.monotonic() - self._began) * 1000)
        self._conversation.dispatch(ChatTurnCancelled(turn_id=self._turn, duration=duration))

    # Events.

    def _next(self) -> Event:
        event = self._conversation.events.get()
        if isinstance(event, Ended):
            raise event.error if event.error is not None else Failure("the connection ended")
        return event

    def _catch_up(self) -> None:
        """Take what has come meanwhile."""
        while not self._conversation.events.empty():
            self._take(self._next())

    def _take(self, event: Event) -> bool:
        """False where the daemon refused what was dispatched."""
        if isinstance(event, StatusMoved):
            if event.status in (Status.RECONNECTING, Status.CONNECTED):
                lost = event.status is Status.RECONNECTING
                self._view.note("connection lost; trying again" if lost else "connected again", "yellow")
            return True
        if not isinstance(event, Moved):
            return True
        change = event.change
        self._state = change.state
        if change.cause == "rejected":
            reason = present(change.envelope.rejection_reason, "") if change.envelope is not None else ""
            self._view.note(f"✗ refused: {reason or 'no reason given'}", "red")
            self._worst = Exit.FAILED
            return False
        self._behind = self._behind or not self._show_delta(change)
        return True

    def _show_delta(self, change: Change[ChatState]) -> bool:
        """Print what a delta brought, without looking at the whole reply; False where that will not do."""
        active = self._active()
        if active is None or active.id != self._turn or not isinstance(change.action, ChatDelta):
            return False
        return self._view.delta(active.response_parts, change.action)

    def _active(self) -> ActiveTurn | None:
        return None if isinstance(self._state.active_turn, UnsetType) else self._state.active_turn

    def _ask(self, prompt: str) -> str | None:
        """A line of the input; None at its end."""
        self._view.close()
        if not sys.stdin.isatty():
            line = sys.stdin.readline()
            return line.rstrip("\n") if line else None
        _load_readline()
        try:
            return input(prompt)
        except EOFError:
            print()
            return None


def _nobody(_: str) -> None:
    return None


def _load_readline() -> None:
    """Line editing, where this Python has it."""
    with contextlib.suppress(ImportError):
        import readline  # noqa: F401
