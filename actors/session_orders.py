"""What other parts of the host may order of a session: titles and marks, folders and worktrees, chats that move.

`SessionOrders` is the half of the session actor that takes these; `actors.session` is the half that clients see.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import msgspec

from actors import log
from actors.actor import Actor, Message, Order
from actors.channel import Channel
from actors.chat import Chat
from actors.chat_messages import BeginHostTurn, RestartBackend, SetPosition
from actors.chat_orders import StayIn, WorkIn
from actors.environment import Environment
from actors.session_record import KeptChat, SessionPrivate
from actors.store import chats as chat_records
from actors.workspace import worktrees
from actors.workspace.folders import paths_of
from ahp import uris
from ahp.actions import session as actions
from ahp.actions.annotations import AnnotationsAction
from ahp.jsonrpc import InvalidParams, NotFound, RpcError
from ahp.reducers import annotations as annotations_reducer
from ahp.reducers import annotations_rules
from ahp.reducers import chat as chat_reducer
from ahp.state.annotations import AnnotationsState
from ahp.state.chat import ChatState, MessageOrigin
from ahp.state.chat import Message as ChatMessage
from ahp.state.session import SessionState
from ahp.wire import JSON, UNSET, UnsetType, present

_log = log.get("session")


class RenameChat(Order[None], frozen=True):
    """Title a chat; the default chat's title is the session's."""

    chat: str
    title: str


class ArchiveSession(Order[None], frozen=True):
    """Set the archive mark, as a client's action does."""

    is_archived: bool


class SetMeta(Order[None], frozen=True):
    """Change the session's `_meta` by `change`, which gets what is there and answers what shall be."""

    change: Callable[[dict[str, JSON]], dict[str, JSON]]


class ChangeAnnotations(Order[None], frozen=True):
    """Change the session's annotations as clients' actions do: `change` sees them and answers the actions to take.

    Raises `InvalidParams` where one of them may not be applied; then none is.
    """

    change: Callable[[AnnotationsState], Sequence[AnnotationsAction]]


class ChangeWorkspace(Message, frozen=True):
    """Move the session to `folder`, or to a new worktree of it (tools page, set_workspace); then `chat` goes on."""

    chat: str
    folder: Path
    isolation: bool
    principal: str | None = None


class IsolateChat(Message, frozen=True):
    """Move `chat` alone to a new worktree of its folder (tools page, isolate_session); then it goes on."""

    chat: str
    principal: str | None = None


class Moved(Message, frozen=True):
    """A folder is ready: `after` replaces `before` (None: it is added); for `chat` alone where `alone`."""

    chat: str
    before: str | None
    after: str
    alone: bool
    worktree: str | None
    principal: str | None


class NotMoved(Message, frozen=True):
    """The folder could not be made ready."""

    chat: str
    reason: str
    principal: str | None


class ReleaseChats(Order[list[KeptChat]], frozen=True):
    """Stop these chats and take them out of the catalogue; answered with what they were. Refused when one is busy."""

    chats: Sequence[str]


class AdoptChats(Order[None], frozen=True):
    """Take over chats whose records are this session's already, behind `after` (at the end without it)."""

    chats: Sequence[KeptChat]
    default: str | None = None


class ReorderChats(Order[None], frozen=True):
    """Put the chats of the catalogue in this order: each of them once."""

    chats: Sequence[str]


class SessionOrders(Actor):
    """Mixed into the session actor, whose fields these are."""

    uri: str
    env: Environment
    private: SessionPrivate
    channel: Channel[SessionState]
    annotations: Channel[AnnotationsState]
    chats: dict[str, Chat]

    @property
    @abstractmethod
    def state(self) -> SessionState: ...
    @abstractmethod
    def folders(self, chat: ChatState | None) -> Sequence[Path]: ...
    @abstractmethod
    async def title_chat(self, uri: str, title: str) -> None: ...
    @abstractmethod
    async def start_chat(self, kept: KeptChat) -> Chat: ...
    @abstractmethod
    def stop_chat(self, uri: str) -> None: ...
    @abstractmethod
    def aggregate(self) -> None: ...
    @abstractmethod
    def count_annotations(self) -> None: ...

    # Titles, marks, meta.

    async def on_rename_chat(self, message: RenameChat) -> None:
        if message.chat not in self.chats:
            raise NotFound(f"{message.chat} is no chat of {self.uri}")
        await self.title_chat(message.chat, message.title)
        await self.channel.flush()

    async def on_archive_session(self, message: ArchiveSession) -> None:
        self.channel.apply(actions.SessionIsArchivedChanged(is_archived=message.is_archived), keep=True)
        await self.channel.flush()

    async def on_set_meta(self, message: SetMeta) -> None:
        before = dict(present(self.channel.next.meta, {}))
        after = message.change(before)
        if after != present(self.channel.next.meta, {}):
            self.channel.apply(actions.SessionMetaChanged(meta=after or UNSET), keep=True)
            await self.channel.flush()

    async def on_change_annotations(self, message: ChangeAnnotations) -> None:
        state = self.annotations.next
        changes = message.change(state)
        for action in changes:
            reason = annotations_rules.refusal(state, action, "")
            if reason is not None:
                raise InvalidParams(reason)
            state = annotations_reducer.apply(state, action)
        for action in changes:
            self.annotations.apply(action, keep=True)
        if changes:
            self.count_annotations()
            await self.annotations.flush()

    # Folders. Git takes its time, so it works in a task beside the mailbox and reports back.

    async def on_change_workspace(self, message: ChangeWorkspace) -> None:
        before = next(iter(present(self.state.working_directories, [])), None)

        async def work() -> None:
            await self._prepare_folder(
                message.chat, before, message.folder, message.isolation, alone=False, principal=message.principal
            )

        self.nursery.start_soon(work)

    async def on_isolate_chat(self, message: IsolateChat) -> None:
        chat = self.chats.get(message.chat)
        if chat is None:
            return
        folders = self.folders(chat.state)

        async def work() -> None:
            if len(folders) != 1:
                reason = f"the chat works in {len(folders)} folders, and one is expected"
                await self.tell(NotMoved(message.chat, reason, message.principal))
                return
            await self._prepare_folder(
                message.chat, None, folders[0], isolation=True, alone=True, principal=message.principal
            )

        self.nursery.start_soon(work)

    async def _prepare_folder(
        self, chat: str, before: str | None, folder: Path, isolation: bool, *, alone: bool, principal: str | None
    ) -> None:
        try:
            tree = None
            if isolation:
                config = present(self.state.config, None)
                values: dict[str, Any] = {} if config is None else dict(config.values)
                values.pop("branch", None)
                tree = await worktrees.create(folder, values, root=self.env.config.worktree_root)
            after = uris.file_uri(folder if tree is None else tree.path)
            worktree = None if tree is None else str(tree.path)
            await self.tell(Moved(chat, before, after, alone, worktree, principal))
        except RpcError as error:
            await self.tell(NotMoved(chat, error.message, principal))
        except Exception as error:
            _log.error("folder not made ready", channel=self.uri, exc=error)
            await self.tell(NotMoved(chat, f"{type(error).__name__}: {error}", principal))

    async def on_moved(self, message: Moved) -> None:
        """A worktree stays the session's, whoever works in it; chats that had the session's folders keep them."""
        chat = self.chats.get(message.chat)
        if message.worktree is not None:
            trees = (*self.private.worktrees, message.worktree)
            self.private = msgspec.structs.replace(self.private, worktrees=trees)
        if message.alone:
            kept = list(present(self.channel.next.working_directories, []))
            for other in self.chats.values():
                if other is not chat and isinstance(other.state.working_directories, UnsetType):
                    await other.tell(StayIn(kept))
            self.channel.apply(actions.SessionWorkingDirectorySet(directory=message.after), keep=True)
            if chat is not None:
                await chat.tell(WorkIn([message.after]))
        else:
            if message.before is None:
                self.channel.apply(actions.SessionWorkingDirectorySet(directory=message.after), keep=True)
            else:
                self.channel.apply(
                    actions.SessionWorkingDirectoryReplaced(directory=message.before, replacement=message.after),
                    keep=True,
                )
            for each in self.chats.values():
                own = present(each.state.working_directories, [])
                if each is chat and own:
                    await each.tell(WorkIn([message.after]))
                elif message.before in own:
                    await each.tell(WorkIn([message.after if one == message.before else one for one in own]))
                else:
                    await each.tell(RestartBackend())
        await self.channel.flush()
        path = paths_of([message.after])
        where = path[0] if path else message.after
        await self._go_on(message.chat, f"The workspace is now {where}. Go on with the task there.", message.principal)

    async def on_not_moved(self, message: NotMoved) -> None:
        text = f"The workspace was not changed: {message.reason}. You are still where you were."
        await self._go_on(message.chat, text, message.principal)

    async def _go_on(self, uri: str, text: str, principal: str | None) -> None:
        chat = self.chats.get(uri)
        if chat is not None:
            message = ChatMessage(text=text, origin=MessageOrigin(kind="systemNotification"))
            await chat.tell(BeginHostTurn(message, principal))

    # Chats that move.

    async def on_release_chats(self, message: ReleaseChats) -> list[KeptChat]:
        """From the look at the chats to stopping them there is no checkpoint: none begins a turn in between."""
        for uri in message.chats:
            if uri not in self.chats:
                raise NotFound(f"{uri} is no chat of {self.uri}")
        busy = next(
            (uri for uri in message.chats if self.chats[uri].is_busy() or not self.chats[uri].is_at_rest()), None
        )
        if busy is not None:
            raise InvalidParams(f"{busy} is busy: try again when its turn has ended")
        kept = [
            KeptChat(self.chats[uri].state, self.chats[uri].private, self.chats[uri].position) for uri in message.chats
        ]
        stopped = [self.chats[uri] for uri in message.chats]
        for uri in message.chats:
            self.stop_chat(uri)
        for chat in stopped:
            await chat.wait_ended()
        for uri in message.chats:
            self.channel.apply(actions.SessionChatRemoved(chat=uri), keep=True)
        await self.channel.flush()
        self.aggregate()
        return kept

    async def on_reorder_chats(self, message: ReorderChats) -> None:
        if sorted(message.chats) != sorted(chat.resource for chat in self.channel.next.chats):
            raise InvalidParams(f"the chats of {self.uri} have changed meanwhile: try again")
        for position, uri in enumerate(message.chats):
            self.channel.write(chat_records.move(uri, self.uri, position))
            if uri in self.chats:
                await self.chats[uri].tell(SetPosition(position))
        self.channel.apply(actions.SessionChatsReordered(chats=list(message.chats)), keep=True)
        await self.channel.flush()

    async def on_adopt_chats(self, message: AdoptChats) -> None:
        for kept in message.chats:
            self.channel.apply(actions.SessionChatAdded(summary=chat_reducer.summary_of(kept.state)), keep=True)
            await self.start_chat(kept)
        if message.default is not None:
            self.channel.apply(actions.SessionDefaultChatChanged(default_chat=message.default), keep=True)
        await self.channel.flush()
        self.aggregate()
