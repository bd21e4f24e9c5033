"""The messages of a chat that wait, and its draft: how actions change them (digest 3, Pending messages).

Each function is one action's, called by `ahp.reducers.chat`. An emptied list is absent.
"""

from __future__ import annotations

from ahp.actions.chat import (
    ChatDraftChanged,
    ChatPendingMessageRemoved,
    ChatPendingMessageSet,
    ChatQueuedMessagesReordered,
    ChatSteeringMessageRemoved,
    ChatSteeringMessageSet,
)
from ahp.reducers.lists import upserted
from ahp.state.chat import ChatState, PendingMessage
from ahp.wire import UNSET, UnsetType, present, replace

_Waiting = list[PendingMessage] | UnsetType


def steering_message_set(state: ChatState, action: ChatSteeringMessageSet) -> ChatState:
    """An entry of its own for each submission; one that is there already is changed in its place."""
    waiting = upserted(present(state.steering_messages, []), action.steering_message, _id)
    return replace(state, steering_messages=waiting)


def steering_message_removed(state: ChatState, action: ChatSteeringMessageRemoved) -> ChatState:
    """The agent has it, or its client took it back."""
    waiting = _without(state.steering_messages, action.id)
    return state if waiting is state.steering_messages else replace(state, steering_messages=waiting)


def pending_message_set(state: ChatState, action: ChatPendingMessageSet) -> ChatState:
    """Steering: the slot is replaced. Queued: in its place, else at the end."""
    message = PendingMessage(id=action.id, message=action.message)
    if action.kind == "steering":
        return replace(state, steering_message=message)
    return replace(state, queued_messages=upserted(present(state.queued_messages, []), message, _id))


def pending_message_removed(state: ChatState, action: ChatPendingMessageRemoved) -> ChatState:
    """Steering: the slot, if it holds that message. Queued: by its id."""
    if action.kind == "steering":
        slot = _slot_without(state, action.id)
        return state if slot is state.steering_message else replace(state, steering_message=slot)
    waiting = _without(state.queued_messages, action.id)
    return state if waiting is state.queued_messages else replace(state, queued_messages=waiting)


def queued_messages_reordered(state: ChatState, action: ChatQueuedMessagesReordered) -> ChatState:
    """The named ones first, in the named order; the others after them as they were."""
    if isinstance(state.queued_messages, UnsetType):
        return state
    known = {message.id: message for message in state.queued_messages}
    order = dict.fromkeys(action.order)
    named = [known[id] for id in order if id in known]
    rest = [message for message in state.queued_messages if message.id not in order]
    return replace(state, queued_messages=[*named, *rest])


def draft_changed(state: ChatState, action: ChatDraftChanged) -> ChatState:
    """What somebody is writing, for everybody to see; absent when nobody is."""
    return replace(state, draft=action.draft)


def taken(state: ChatState, id: str) -> ChatState:
    """A turn begins with that message: it waits nowhere any more."""
    return replace(
        state,
        steering_message=_slot_without(state, id),
        steering_messages=_without(state.steering_messages, id) or UNSET,
        queued_messages=_without(state.queued_messages, id) or UNSET,
    )


def _slot_without(state: ChatState, id: str) -> PendingMessage | UnsetType:
    slot = present(state.steering_message, None)
    return UNSET if slot is not None and slot.id == id else state.steering_message


def _without(waiting: _Waiting, id: str) -> _Waiting:
    """The list without that message; the very same list where it is not in it."""
    rest = [message for message in present(waiting, []) if message.id != id]
    return waiting if len(rest) == len(present(waiting, [])) else rest or UNSET


def _id(message: PendingMessage) -> str:
    return message.id
