"""What other parts of the host may order of a chat: messages from agents, what waits for the turn's end, the wakeup.

`ChatOrders` is the half of the chat actor that takes these; `actors.chat` is the half that runs turns.
"""

from __future__ import annotations

import uuid
from abc import abstractmethod
from typing import Literal, Protocol

import msgspec

from actors.actor import Actor, Message, Order
from actors.channel import Channel
from actors.clock import parse_iso
from actors.environment import Environment
from actors.session_record import ChatPrivate, Wakeup
from ahp.actions import chat as actions
from ahp.state.chat import ChatState, MessageOrigin
from ahp.state.chat import Message as ChatMessage
from ahp.wire import present

WAKEUP_ORIGIN = "automation"


class SendMessage(Order[Literal["sent", "queued"]], frozen=True):
    """An agent's message: a turn when the chat is free, else queued behind what is there (tools page, send_message).

    `principal` is the person whose turn sends it.
    """

    message: ChatMessage
    principal: str | None = None


class AfterTurn(Order[None], frozen=True):
    """Leave `fact` with the session when the running turn completes; forget it when it is cancelled or fails.

    A later one of the same `key` replaces it. Refused (ValueError) where no turn is running.
    """

    key: str
    fact: Message


class ArchiveChat(Order[None], frozen=True):
    """Set the archive mark, as a client's action does."""

    is_archived: bool


class WorkIn(Message, frozen=True):
    """Work in these folders (URIs) from the next turn on."""

    folders: list[str]


class SetWakeup(Order[None], frozen=True):
    """Begin a turn later; in the place of any wakeup there was. None cancels it."""

    wakeup: Wakeup | None


class WakeupDue(Message, frozen=True):
    """The date of the wakeup may have come."""


class Wakes(Protocol):
    """Where a chat says when it wants to be woken."""

    def wakeup_moved(self, chat: str, due: str | None) -> None: ...


class ChatOrders(Actor):
    """Mixed into the chat actor, whose fields these are."""

    env: Environment
    channel: Channel[ChatState]
    private: ChatPrivate

    @abstractmethod
    def is_busy(self) -> bool: ...
    @abstractmethod
    async def begin_turn(self, message: ChatMessage, principal: str | None) -> bool:
        """Start a turn of the host's own; False where it could not be kept."""

    @abstractmethod
    def leave(self, key: str, fact: Message) -> None:
        """Leave a fact with the session."""

    @abstractmethod
    def restart_backend(self) -> None: ...
    @abstractmethod
    def wakeup_moved(self, due: str | None) -> None: ...

    after_turn: dict[str, Message]

    async def on_send_message(self, message: SendMessage) -> Literal["sent", "queued"]:
        state = self.channel.next
        waits = present(state.queued_messages, []) or present(state.steering_messages, [])
        if self.is_busy() or waits or present(state.steering_message, None) is not None:
            self.queue(message.message)
            await self.channel.flush()
            return "queued"
        await self.begin_turn(message.message, message.principal)
        return "sent"

    def queue(self, message: ChatMessage) -> None:
        queued = actions.ChatPendingMessageSet(kind="queued", id=str(uuid.uuid4()), message=message)
        self.channel.apply(queued, keep=True)

    async def on_after_turn(self, message: AfterTurn) -> None:
        self.after_turn[message.key] = message.fact

    def carry_out(self) -> None:
        """The turn has completed: what waited for it goes to the session."""
        for key, fact in self.after_turn.items():
            self.leave(key, fact)
        self.after_turn.clear()

    async def on_archive_chat(self, message: ArchiveChat) -> None:
        self.channel.apply(actions.ChatIsArchivedChanged(is_archived=message.is_archived), keep=True)
        await self.channel.flush()

    async def on_work_in(self, message: WorkIn) -> None:
        """No action replaces a chat's folders, so they are taken away and set one by one."""
        for folder in present(self.channel.next.working_directories, []):
            if folder not in message.folders:
                self.channel.apply(actions.ChatWorkingDirectoryRemoved(directory=folder), keep=True)
        for folder in message.folders:
            self.channel.apply(actions.ChatWorkingDirectorySet(directory=folder), keep=True)
        await self.channel.flush()
        self.restart_backend()

    # The wakeup (tools page, schedule_wakeup).

    async def on_set_wakeup(self, message: SetWakeup) -> None:
        self.private = msgspec.structs.replace(self.private, wakeup=message.wakeup)
        self.channel.write()
        await self.channel.flush()
        self.wakeup_moved(None if message.wakeup is None else message.wakeup.due)

    async def on_wakeup_due(self, _: WakeupDue) -> None:
        """Begin the turn, or queue it behind the running one; a turn that cannot begin leaves the wakeup stored."""
        wakeup = self.private.wakeup
        if wakeup is None or parse_iso(wakeup.due) > self.env.clock.now():
            return
        message = ChatMessage(text=wakeup.prompt, origin=MessageOrigin(kind=WAKEUP_ORIGIN))
        self.private = msgspec.structs.replace(self.private, wakeup=None)
        if self.is_busy():
            self.queue(message)
            begun = await self.channel.flush()
        else:
            begun = await self.begin_turn(message, wakeup.principal)
        if not begun:
            self.private = msgspec.structs.replace(self.private, wakeup=wakeup)
