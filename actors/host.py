"""The host actor: owns the root channel, the catalogue of sessions, and every actor of the process.

Sessions sleep in the store and are woken when a channel of theirs is opened. Asking is downwards only: the host asks
sessions; sessions, chats and terminals leave facts here.
"""

from __future__ import annotations

import contextlib
from collections.abc import Awaitable, Callable, Sequence
from datetime import timedelta
from pathlib import Path
from typing import TypeVar

import msgspec

from actors import log
from actors.actor import Actor, ActorGone, Message, Order, Reply, supervise
from actors.catalogue import Catalogue
from actors.channel import Channel, Dispatch, Subscribe, WatchersChanged
from actors.chat import Chat
from actors.chat_messages import ToolsChanged
from actors.chat_orders import WakeupDue
from actors.client import Client, ConnectionOpened
from actors.clock import format_iso, parse_iso
from actors.config import Change
from actors.connection import ClientConnection
from actors.door import Connection
from actors.environment import Environment
from actors.hub import Subscriber
from actors.requests import HANDLERS
from actors.session import Back, Session, SessionChanged, SessionIdle, TrySleep
from actors.session_create import NewSession, make_ready
from actors.session_record import ChatPrivate, KeptChat, load_session
from actors.store import StoreError, Write, documents, sequence, sessions
from actors.store import chats as chat_records
from actors.store import clients as client_records
from actors.terminals import ListTerminals, Terminals, TerminalsMoved
from actors.watches import Watches
from actors.workspace.watch import WatchSpec
from ahp import jsonrpc, uris, wire
from ahp.actions import root as actions
from ahp.jsonrpc import InternalError, NotFound, RpcError, SessionAlreadyExists, SessionNotFound
from ahp.reducers import root as reducer
from ahp.state.annotations import AnnotationsState
from ahp.state.root import RootState
from ahp.state.session import SessionSummary
from ahp.wire import JSON, present

T = TypeVar("T")
_log = log.get("host")

SEQUENCE_BLOCK = 1_000_000
"""How many serverSeqs are reserved at once: a restarted host goes on behind them (store, sequence)."""

_STABLE = 60.0
"""Seconds that a session which died must live before it is brought back for its watchers again."""

_CLIENT_DAYS = 90
"""How long a client that stays away is known."""

_LOOK_AGAIN = 60.0
"""Seconds after which a wakeup's date is compared with the clock again."""

_TOOL_KEYS = frozenset({"advancedTools", "sessionTools", "sessionToolsProviders", "titleStrategy"})
"""Keys that change what running sessions are offered (tools page, Configuration keys)."""

ROOT_CONFIG = ("rootConfig", "")
"""The document that keeps what clients pushed."""


class Wake(Order[Session], frozen=True):
    """Bring the session `uri` of the catalogue into memory."""

    session: str


class CreateSession(Order[None], frozen=True):
    """`createSession`, resolved to what the session shall be."""

    new: NewSession


class RemoveSession(Order[Session | None], frozen=True):
    """Take a session out of the catalogue and stop it, so that nobody can find or wake it; answered with its actor.

    Raises `SessionNotFound` where somebody else has taken it out before.
    """

    session: str


class SessionRemoved(Message, frozen=True):
    """The session's records are deleted."""

    session: str
    chats: tuple[str, ...]


class SessionStays(Message, frozen=True):
    """The session's records could not be deleted."""

    session: str
    summary: SessionSummary


class GetClient(Order[Client], frozen=True):
    """The actor of a client id, made if it is not there, for one more connection that it hears of at once."""

    client_id: str


class SessionFailed(Message, frozen=True):
    """This session actor has died; who needs it wakes it from the store."""

    session: Session


class StableAgain(Message, frozen=True):
    """A session that died and was brought back has lived for a while since."""


class AgentsMoved(Message, frozen=True):
    """What the backends say of themselves may have changed."""


class WakeupMoved(Message, frozen=True):
    """A chat wants to be woken at `due` (ISO date), or no more."""

    chat: str
    due: str | None


class WakeupTime(Message, frozen=True):
    """Look whether the wakeup of `chat` is due."""

    chat: str
    due: str


class ConfigMoved(Message, frozen=True):
    """The configuration changed outside the root channel (file, command line)."""


class Host(Actor):
    """`sessions` and `chats` are the awake ones by URI; `state` is RootState, immutable."""

    requests = HANDLERS

    def __init__(self, env: Environment, root: RootState, catalogue: Catalogue) -> None:
        super().__init__("host")
        self.env = env
        self.default_directory = uris.file_uri(Path.home())
        self.catalogue = catalogue
        self.sessions: dict[str, Session] = {}
        self.chats: dict[str, Chat] = {}
        self.clients: dict[str, Client] = {}
        self.connections: set[ClientConnection] = set()
        self.terminals = Terminals(self)
        self.watches = Watches(self)
        self._removing: set[str] = set()
        self._pushing = False
        """Settings are changing by an action, which says all of it."""
        self._take_back: Callable[[], None] | None = None
        """Undoes the settings that clients pushed and that are not kept yet."""
        self.channel: Channel[RootState] = Channel(
            uris.ROOT, root, hub=env.hub, store=env.store, reduce=reducer.apply, save=self._writes
        )

    # Life.

    async def prepare(self) -> None:
        self.env.tools.on_change = self._tools_changed
        self.env.tools.host = self
        self.env.settings.subscribe(self._config_changed)
        self.env.hub.on_low = lambda: self.nursery.start_soon(self._reserve)
        self.env.hub.low_at = self.env.hub.reserved - SEQUENCE_BLOCK // 2
        await self.on_agents_moved(AgentsMoved())
        await self.terminals.restore()
        long_ago = self.env.clock.now() - timedelta(days=_CLIENT_DAYS)
        await self.env.store.commit([client_records.prune(format_iso(long_ago))])
        for record in await self.env.store.read(chat_records.with_active_turn()):
            # A turn that was running when the process died ends as interrupted when its session is loaded.
            await self._wake_or_log(record.session_id)
        for record in await self.env.store.read(chat_records.with_wakeups()):
            if record.wake_at is not None:
                self._arm(record.uri, record.wake_at)
        await self.settle()

    async def settle(self) -> None:
        await self._flush()

    async def _reserve(self) -> None:
        """Half a block before the numbers run out, and again and again where the store cannot reserve more."""
        hub = self.env.hub
        try:
            hub.reserved = (await sequence.reserve(self.env.store, SEQUENCE_BLOCK))[-1]
            hub.low_at = hub.reserved - SEQUENCE_BLOCK // 2
        except StoreError as error:
            _log.error("no sequence numbers reserved", error=str(error))
            hub.low_at = hub.server_seq + SEQUENCE_BLOCK // 100

    # Connections: called by the door, one task each.

    async def serve(self, door: Connection) -> None:
        """Serve one connection to its end; what breaks in it stays in it."""
        connection = ClientConnection(self, door)
        self.connections.add(connection)
        try:
            await connection.run()
        except Exception as error:
            _log.error("connection failed", client=connection.client_id, exc=error)

    def left(self, connection: ClientConnection) -> None:
        self.connections.discard(connection)

    def tell_later(self, actor: Actor, message: Message) -> None:
        """Tell `actor` from a task of the host's, for whoever may not wait; nothing to do where it has ended."""
        if not self.takes_mail:
            return

        async def tell() -> None:
            with contextlib.suppress(ActorGone):
                await actor.tell(message)

        self.nursery.start_soon(tell)

    async def complete(self, work: Callable[[], Awaitable[T]]) -> T:
        """Do `work` to its end: whoever asked for it may hang up halfway, or be ended by it."""
        reply: Reply[T] = Reply()

        async def run() -> None:
            try:
                reply.set(await work())
            except Exception as error:
                reply.fail(error)

        self.nursery.start_soon(run)
        return await reply.wait()

    def close_soon(self, connection: ClientConnection, code: int, reason: str) -> None:
        """Close `connection` behind what it is about to be sent."""
        self.nursery.start_soon(connection.close, code, reason)

    async def client(self, client_id: str) -> Client:
        return await self.ask(GetClient(client_id))

    async def knows_client(self, client_id: str) -> bool:
        if client_id in self.clients:
            return True
        return await self.env.store.read(client_records.find(client_id)) is not None

    # Sessions: made and disposed of by requests and tools.

    async def create_session(self, new: NewSession) -> None:
        """Make the session; raises `SessionAlreadyExists`, and `InternalError` where it cannot be kept."""
        await self.ask(CreateSession(new))

    async def dispose_session(self, named: str) -> None:
        """Stop and delete a session with its chats; nothing to do for an unknown one. Raises `InternalError` where
        the store cannot delete it: then it is still there, its turn stopped."""
        uri = self.catalogue.find(uris.parse(named))
        summary = None if uri is None else self.catalogue.get(uri)
        if uri is not None and summary is not None:
            await self.complete(lambda: self._dispose(uri, summary))

    async def _dispose(self, uri: str, summary: SessionSummary) -> None:
        try:
            session = await self.ask(RemoveSession(uri))
        except SessionNotFound:
            return  # Two ask at a time: the other one deletes it.
        chats: Sequence[str] = ()
        if session is not None:
            chats = tuple(session.chats)
            await session.wait_ended()
        try:
            await self.env.store.commit([sessions.delete(uri)])
        except StoreError as error:
            await self.tell(SessionStays(uri, summary))
            raise InternalError(f"{uri} cannot be deleted: {error}") from None
        await self.tell(SessionRemoved(uri, tuple(chats)))

    # Channels: who owns one, awake or not.

    async def open(self, named: str) -> tuple[Actor, str]:
        """The owner of the channel `named` and its canonical URI; wakes a session. Raises `RpcError` for none."""
        try:
            channel = uris.parse(named)
        except uris.BadUri as error:
            raise NotFound(str(error)) from None
        canonical = self.env.hub.canonical(named)
        owner = self._awake(channel.kind, canonical)
        if owner is None and channel.kind == "resourceWatch":
            owner = await self.watches.open(WatchSpec.parse(canonical))
        if owner is not None:
            return owner, canonical
        session = await self.ask(Wake(await self._session_of(channel, named)))
        canonical = self.env.hub.canonical(named)
        owner = self._awake(channel.kind, canonical)
        if owner is None and channel.kind == "chat":
            await session.ask(Back())  # It has died: what the session hears of it comes before this.
            owner = self._awake(channel.kind, canonical)
        if owner is None:
            raise NotFound(f"There is no channel {named}")
        return owner, canonical

    def _awake(self, kind: uris.Kind, canonical: str) -> Actor | None:
        """The owner of a channel; None where it sleeps or is ending."""
        owner = self._owner(kind, canonical)
        return owner if owner is not None and owner.takes_mail else None

    def _owner(self, kind: uris.Kind, canonical: str) -> Actor | None:
        if kind == "root":
            return self
        if kind == "chat":
            return self.chats.get(canonical)
        if kind == "terminal":
            return self.terminals.find(canonical)
        if kind == "resourceWatch":
            return self.watches.find(canonical)
        if kind == "annotations":
            return self.sessions.get(self.env.hub.canonical(canonical.removesuffix("/annotations")))
        return self.sessions.get(canonical)

    async def _session_of(self, channel: uris.Channel, named: str) -> str:
        """The catalogue's URI of the sleeping session that owns `channel`."""
        if channel.kind == "terminal":
            raise NotFound(f"There is no channel {named}")
        if channel.kind == "chat":
            found = await self.env.store.read(chat_records.find(named))
            if found is None or self.catalogue.get(found) is None:
                raise NotFound(f"There is no chat {named}")
            return found
        uri = self.catalogue.find(channel)
        if uri is None:
            raise SessionNotFound(f"No session: {named}")
        return uri

    async def route(self, named: str, make: Callable[[str], Message]) -> bool:
        """Tell the owner of `named` the message made for its canonical URI. False where there is no such channel."""
        for _ in range(3):
            try:
                owner, canonical = await self.open(named)
                await owner.tell(make(canonical))
            except RpcError:
                return False
            except ActorGone:
                continue  # It fell asleep between the two; wake it.
            return True
        return False

    async def subscribe(self, named: str, subscriber: Subscriber, turns: int | None, *, quiet: bool) -> bytes:
        for _ in range(3):
            owner, canonical = await self.open(named)
            try:
                return await owner.ask(Subscribe(canonical, named, subscriber, turns, quiet))
            except ActorGone:
                continue
        raise SessionNotFound(f"{named} has just gone")

    async def tell_awake(self, channel: str, message: Message) -> None:
        """Tell the owner of a canonical channel if it is awake; raises `ActorGone` otherwise."""
        owner = self._awake(uris.parse(channel).kind, channel)
        if owner is None:
            raise ActorGone
        await owner.tell(message)

    def watchers_changed(self, channel: str) -> None:
        owner = self._awake(uris.parse(channel).kind, channel)
        if owner is not None:
            owner.post("watchers", WatchersChanged(channel))

    # Messages.

    async def on_subscribe(self, message: Subscribe) -> bytes:
        await self._flush()
        return self.channel.subscribe(message)

    async def on_watchers_changed(self, _: WatchersChanged) -> None:
        """The root channel lives whether watched or not."""

    async def on_dispatch(self, message: Dispatch) -> None:
        """`root/configChanged` is all that clients may dispatch here: a setting, taken whole or refused."""
        action = message.action
        assert isinstance(action, actions.RootConfigChanged)
        settings = self.env.settings
        self._pushing = True
        try:
            take_back = settings.push(action)
        except ValueError as error:
            self.channel.reject(message, str(error))
            return
        finally:
            self._pushing = False
        self._take_back = self._take_back or take_back
        public = settings.public(action.config)
        if public != action.config:
            # A secret goes to the settings and to nobody else.
            action = wire.replace(action, config=public)
            message = msgspec.structs.replace(message, action=action, raw=wire.encode(action))
        self.channel.apply(action, keep=True, dispatch=message)
        if present(action.replace, False) or settings.shows_otherwise(public):
            await self.on_config_moved(ConfigMoved())

    async def on_get_client(self, message: GetClient) -> Client:
        client = self.clients.get(message.client_id)
        if client is None:
            for gone in [known for known in self.clients.values() if known.is_gone]:
                del self.clients[gone.client_id]
                gone.stop()
            client = self.clients[message.client_id] = Client(self.env, message.client_id, self.tell_awake)
            await self.nursery.start(supervise, client, lambda _: self.clients.pop(message.client_id, None))
            self.env.store.save_soon([client_records.seen(message.client_id, self.env.clock.iso())])
        await client.tell(ConnectionOpened())
        return client

    async def on_wake(self, message: Wake) -> Session:
        session = self.sessions.get(message.session)
        if session is not None:
            return session
        kept = await load_session(self.env.store, message.session)
        if kept is None or message.session in self._removing:
            raise SessionNotFound(f"No session: {message.session}")
        session = Session(
            self.env,
            self,
            message.session,
            self.env.agents.of_kept(kept.state.provider),
            kept.state,
            kept.private,
            kept.chats,
            kept.annotations,
            created_at=kept.created_at,
            modified_at=kept.modified_at,
            # One that the host left while it was being made is made now.
            create=(lambda: make_ready(self.env, kept.state)) if kept.state.lifecycle == "creating" else None,
        )
        await self._start(session)
        return session

    async def on_create_session(self, message: CreateSession) -> None:
        new = message.new
        if new.uri in self._removing or self.catalogue.find(uris.parse(new.uri)) is not None:
            raise SessionAlreadyExists(f"A session {new.uri} exists: choose another URI")
        session = Session(
            self.env,
            self,
            new.uri,
            new.agent,
            new.state,
            new.private,
            [] if new.chat is None else [KeptChat(new.chat, ChatPrivate(), 0)],
            AnnotationsState(annotations=[]),
            created_at=new.created_at,
            modified_at=new.created_at,
            create=None if new.state.lifecycle == "ready" else lambda: make_ready(self.env, new.state),
        )
        try:
            await self.env.store.commit(session.first_writes())
        except StoreError as error:
            raise InternalError(f"The session cannot be kept: {error}") from None
        summary = session.summary()
        self.catalogue.put(summary)
        await self._start(session)
        self._notify("root/sessionAdded", {"channel": uris.ROOT, "summary": summary})

    async def on_remove_session(self, message: RemoveSession) -> Session | None:
        uri = message.session
        if self.catalogue.get(uri) is None:
            raise SessionNotFound(f"No session: {uri}")
        self._removing.add(uri)
        self.catalogue.remove(uri)
        session = self.sessions.pop(uri, None)
        if session is not None:
            session.stop()
        return session

    async def on_session_removed(self, message: SessionRemoved) -> None:
        self._removing.discard(message.session)
        for channel in (*message.chats, uris.annotations(message.session), message.session):
            self.env.hub.drop_channel(channel)
        self._notify("root/sessionRemoved", {"channel": uris.ROOT, "session": message.session})
        self._count_active()

    async def on_session_stays(self, message: SessionStays) -> None:
        self._removing.discard(message.session)
        self.catalogue.put(message.summary)
        await self.on_wake(Wake(message.session))  # Its turn was stopped, and ends as interrupted.

    async def on_session_changed(self, message: SessionChanged) -> None:
        before = self.catalogue.get(message.session)
        if before is None:
            return
        self.catalogue.put(message.summary)
        changes = _changes(before, message.summary)
        if changes:
            params = {"channel": uris.ROOT, "session": message.session, "changes": changes}
            self._notify("root/sessionSummaryChanged", params)
        self._count_active()

    async def on_session_idle(self, message: SessionIdle) -> None:
        session = self.sessions.get(message.session)
        if session is not None and await session.ask(TrySleep()):
            del self.sessions[message.session]
            await session.wait_ended()

    async def on_session_failed(self, message: SessionFailed) -> None:
        """It is brought back at once where somebody watches it, unless that has been of no use a moment ago."""
        uri = message.session.uri
        if self.sessions.get(uri) is not message.session:
            return
        del self.sessions[uri]
        watched = any(self.env.hub.subscribers(channel) for channel in (uri, *message.session.chats))
        if watched and not self.has_timer(f"failed {uri}"):
            self.set_timer(f"failed {uri}", _STABLE, StableAgain())
            await self._wake_or_log(uri)

    async def on_stable_again(self, _: StableAgain) -> None:
        """Its timer has ended, and that is all."""

    async def on_agents_moved(self, _: AgentsMoved) -> None:
        infos = await self.env.agents.infos()
        if infos != self.channel.next.agents:
            self.channel.apply(actions.RootAgentsChanged(agents=infos), keep=False)

    async def on_terminals_moved(self, _: TerminalsMoved) -> None:
        infos = self.terminals.infos()
        if infos != present(self.channel.next.terminals, []):
            self.channel.apply(actions.RootTerminalsChanged(terminals=infos), keep=False)

    async def on_list_terminals(self, _: ListTerminals) -> None:
        await self.on_terminals_moved(TerminalsMoved())
        await self._flush()

    def wakeup_moved(self, chat: str, due: str | None) -> None:
        self.post(("wakeup", chat), WakeupMoved(chat, due))

    async def on_wakeup_moved(self, message: WakeupMoved) -> None:
        if message.due is None:
            self.cancel_timer(message.chat)
        else:
            self._arm(message.chat, message.due)

    async def on_wakeup_time(self, message: WakeupTime) -> None:
        if parse_iso(message.due) > self.env.clock.now():
            self._arm(message.chat, message.due)
        else:
            self.nursery.start_soon(self._wake_up, message.chat)

    async def _wake_up(self, uri: str) -> None:
        """Wake the chat's session and tell the chat; one that cannot be woken keeps its wakeup for the next start."""
        try:
            if not await self.route(uri, lambda _: WakeupDue()):
                _log.warning("a wakeup found no chat", chat=uri)
        except Exception as error:
            _log.error("a wakeup failed and stays stored", chat=uri, exc=error)

    def _arm(self, chat: str, due: str) -> None:
        """A wakeup is a date: a long one is looked at now and then, so that a clock that jumps is right at once."""
        left = (parse_iso(due) - self.env.clock.now()).total_seconds()
        self.set_timer(chat, min(max(0.0, left), _LOOK_AGAIN), WakeupTime(chat, due))

    async def on_config_moved(self, _: ConfigMoved) -> None:
        values = self.env.settings.root_values()
        config = present(self.channel.next.config, None)
        if config is not None and values != config.values:
            self.channel.apply(actions.RootConfigChanged(config=values, replace=True), keep=True)

    # Helpers in the order they are used.

    async def _wake_or_log(self, uri: str) -> None:
        try:
            await self.on_wake(Wake(uri))
        except Exception as error:
            _log.error("a session cannot be opened", session=uri, exc=error)

    async def _flush(self) -> None:
        """Settings take hold when they are pushed; those that the store then refuses are taken back."""
        kept = await self.channel.flush()
        take_back, self._take_back = self._take_back, None
        if take_back is not None and not kept:
            take_back()

    async def _start(self, session: Session) -> None:
        def failed(_: BaseException) -> None:
            self.post(("failed", session.uri), SessionFailed(session))

        self.sessions[session.uri] = session
        try:
            await self.nursery.start(supervise, session, failed, name=session.uri)
        except BaseException:
            del self.sessions[session.uri]
            raise

    def _notify(self, method: str, params: object) -> None:
        self.env.hub.notify(uris.ROOT, jsonrpc.encode_notification(method, params))

    def _count_active(self) -> None:
        """RootState.activeSessions: sessions with a turn under way."""
        active = self.catalogue.active_count
        if active != self.channel.next.active_sessions:
            self.channel.apply(actions.RootActiveSessionsChanged(active_sessions=active), keep=False)

    def _config_changed(self, change: Change) -> None:
        if not self._pushing:
            self.post("config", ConfigMoved())
        if change.keys & _TOOL_KEYS:
            self._tools_changed()

    def _tools_changed(self) -> None:
        for session in self.sessions.values():
            session.post("tools", ToolsChanged())

    def _writes(self, _: RootState, __: RootState) -> list[Write]:
        return [documents.put(*ROOT_CONFIG, wire.encode(self.env.settings.kept()))]


def _changes(before: SessionSummary, after: SessionSummary) -> dict[str, JSON]:
    """The fields with new values, as on the wire; one that is gone is null (`root/sessionSummaryChanged`)."""
    old, new = wire.to_builtins(before), wire.to_builtins(after)
    return {name: new.get(name) for name in {**old, **new} if old.get(name) != new.get(name)}
