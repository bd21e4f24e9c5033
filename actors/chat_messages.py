"""The orders and facts of a chat: what its clients' requests, its session and its own timers tell it."""

from __future__ import annotations

from actors.actor import Message, Order
from actors.turn import RunningTurn
from ahp.state.chat import ChatState
from ahp.state.chat import Message as ChatMessage


class ChatChanged(Message, frozen=True):
    """A fact for the session: this chat's public state now."""

    chat: str
    state: ChatState


class FirstMessage(Message, frozen=True):
    """A fact for the session: the chat has no title yet, and this was said first."""

    chat: str
    text: str


class ClientReleased(Message, frozen=True):
    """The client has lost its place in the session: what it owes here has failed."""

    client_id: str


class ToolsChanged(Message, frozen=True):
    """What the session offers has changed: the backend is told before its next turn."""


class SaveTail(Message, frozen=True):
    """The interval at which a streaming turn is kept has passed."""


class SetTitle(Message, frozen=True):
    """The session gave this chat its title."""

    title: str


class SetPosition(Message, frozen=True):
    """The chat's place in its session's catalogue has changed; its record says so already."""

    position: int


class FetchTurns(Order[None], frozen=True):
    """`fetchTurns`: load the page of turns before `cursor` for everybody watching."""

    cursor: str | None


class LoadTurn(Order[None], frozen=True):
    """Something is about to name this turn: everybody who watches gets it first."""

    turn_id: str


class RestartBackend(Message, frozen=True):
    """What the backend was started with has changed: the next turn starts it anew."""


class BeginHostTurn(Message, frozen=True):
    """Begin a turn that this host asks for: createChat's `initialMessage`, going on in a new folder.

    `principal` is the person it is begun for.
    """

    message: ChatMessage
    principal: str | None = None


class CancelWorkerTurn(Message, frozen=True):
    """A fact for a worker chat: the turn that drives its turn has been stopped, or has failed."""

    turn_id: str


class BeginWorkerTurn(Order[RunningTurn], frozen=True):
    """Open a turn that a subagent drives from outside; answered with its port."""

    message: ChatMessage
