"""What other parts of the host may order of a chat: messages from agents, what waits for the turn's end, the wakeup.

`ChatOrders` is the half of the chat actor that takes these; `actors.chat` is the half that runs turns.
"""

from __future__ import annotations

import uuid
from abc import abstractmethod
from collections.abc import Sequence
from typing import Literal, Protocol

import msgspec

from actors import log
from actors.actor import Actor, Message, Order
from actors.channel import Channel
from actors.clock import parse_iso
from actors.environment import Environment
from actors.session_record import ChatPrivate, Wakeup
from actors.turn import RunningTurn
from ahp.actions import chat as actions
from ahp.jsonrpc import InternalError, InvalidParams
from ahp.state.chat import ChatState, MessageOrigin
from ahp.state.chat import Message as ChatMessage
from ahp.wire import present

_log = log.get("chat")

WAKEUP_ORIGIN = "automation"


class SendMessage(Order[Literal["sent", "queued"]], frozen=True):
    """An agent's message: a turn when the chat is free, else queued behind what is there (tools page, send_message).

    `principal` is the person whose turn sends it.
    """

    message: ChatMessage
    principal: str | None = None


class AfterTurn(Order[None], frozen=True):
    """Leave `fact` with the session when the turn completes; forget it when that is cancelled or fails.

    A later one of the same `key` replaces it. Raises `InvalidParams` where the turn is not the running one.
    """

    turn_id: str
    key: str
    fact: Message


class ArchiveChat(Order[None], frozen=True):
    """Set the archive mark, as a client's action does."""

    is_archived: bool


class WorkIn(Message, frozen=True):
    """Work in these folders (URIs) from the next turn on."""

    folders: list[str]


class StayIn(Message, frozen=True):
    """These folders (URIs), where the chat works already, are its own from now on; its backend goes on in them."""

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
    running: RunningTurn | None
    senders: dict[str, str | None]
    """The person behind each queued message of an agent's or of a wakeup's, by its id; in memory."""

    @abstractmethod
    def is_busy(self) -> bool: ...
    @abstractmethod
    async def begin_turn(self, message: ChatMessage, principal: str | None) -> bool:
        """Start a turn of the host's own; False where it could not be kept."""

    @abstractmethod
    def takes_no_messages(self) -> str | None:
        """Why no message of anybody's is taken, in a sentence; None where they are."""

    @abstractmethod
    def leave(self, key: str, fact: Message) -> None:
        """Leave a fact with the session."""

    @abstractmethod
    def restart_backend(self) -> None: ...
    @abstractmethod
    def wakeup_moved(self, due: str | None) -> None: ...

    after_turn: dict[str, Message]

    async def on_send_message(self, message: SendMessage) -> Literal["sent", "queued"]:
        refused = self.takes_no_messages()
        if refused is not None:
            raise InvalidParams(f"{self.name}: {refused}")
        state = self.channel.next
        waits = present(state.queued_messages, []) or present(state.steering_messages, [])
        if self.is_busy() or waits or present(state.steering_message, None) is not None:
            if await self.queue(message.message, message.principal):
                return "queued"
        elif await self.begin_turn(message.message, message.principal):
            return "sent"
        raise InternalError(f"{self.name} cannot keep the message, so it was not sent")

    async def queue(self, message: ChatMessage, principal: str | None) -> bool:
        """Queue a message for `principal`; False where it could not be kept."""
        id = str(uuid.uuid4())
        self.senders[id] = principal
        self.channel.apply_if_kept(actions.ChatPendingMessageSet(kind="queued", id=id, message=message))
        return await self.channel.flush()

    async def on_after_turn(self, message: AfterTurn) -> None:
        if self.running is None or self.running.turn_id != message.turn_id:
            raise InvalidParams(f"the turn {message.turn_id} is over")
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
        await self._own_folders(message.folders)
        self.restart_backend()

    async def on_stay_in(self, message: StayIn) -> None:
        await self._own_folders(message.folders)

    async def _own_folders(self, folders: Sequence[str]) -> None:
        """No action replaces a chat's folders, so they are taken away and set one by one."""
        for folder in present(self.channel.next.working_directories, []):
            if folder not in folders:
                self.channel.apply(actions.ChatWorkingDirectoryRemoved(directory=folder), keep=True)
        for folder in folders:
            self.channel.apply(actions.ChatWorkingDirectorySet(directory=folder), keep=True)
        await self.channel.flush()

    # The wakeup (tools page, schedule_wakeup).

    async def on_set_wakeup(self, message: SetWakeup) -> None:
        before = self.private
        self.private = msgspec.structs.replace(before, wakeup=message.wakeup)
        self.channel.write()
        if not await self.channel.flush():
            self.private = msgspec.structs.replace(self.private, wakeup=before.wakeup)
            raise InternalError(f"{self.name} cannot keep the wakeup, so nothing has changed")
        self.wakeup_moved(None if message.wakeup is None else message.wakeup.due)

    async def on_wakeup_due(self, _: WakeupDue) -> None:
        """Begin the turn, or queue it behind the running one; a turn that cannot begin leaves the wakeup stored."""
        wakeup = self.private.wakeup
        if wakeup is None or parse_iso(wakeup.due) > self.env.clock.now():
            return
        refused = self.takes_no_messages()
        if refused is not None:
            _log.warning("a wakeup was refused and stays stored", chat=self.name, reason=refused)
            return
        message = ChatMessage(text=wakeup.prompt, origin=MessageOrigin(kind=WAKEUP_ORIGIN))
        self.private = msgspec.structs.replace(self.private, wakeup=None)
        if self.is_busy():
            begun = await self.queue(message, wakeup.principal)
        else:
            begun = await self.begin_turn(message, wakeup.principal)
        if not begun:
            self.private = msgspec.structs.replace(self.private, wakeup=wakeup)
