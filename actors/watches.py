"""The resource watches of this host: one actor a watch, shared by everybody who watches the same.

A watch's channel spells out what it watches, so subscribing to it makes it again where it is gone. It ends with its
last subscriber, and when nobody subscribes soon after it was made (digest 1, resource*).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from actors.actor import Actor, Message, supervise
from actors.channel import Subscribe, WatchersChanged
from actors.environment import Environment
from actors.workspace.watch import WatchSpec, watch
from ahp import wire
from ahp.actions.resource_watch import ResourceWatchChanged
from ahp.commands import CreateResourceWatchParams
from ahp.state.resource_watch import ResourceChange, ResourceChanges, ResourceWatchState, WatchPatterns
from ahp.wire import UNSET

if TYPE_CHECKING:
    from actors.host import Host

UNCLAIMED_SECONDS = 60
"""How long a watch waits for its first subscriber."""


class Unclaimed(Message, frozen=True):
    """Nobody has subscribed in time."""


class Watch(Actor):
    """Owns one watcher of the operating system. It has state only in name: what it watches never changes."""

    def __init__(self, env: Environment, spec: WatchSpec) -> None:
        super().__init__(spec.channel)
        self._env = env
        self._spec = spec

    async def prepare(self) -> None:
        await self.nursery.start(watch, self._spec, self._changed, self._env.resources.confine)
        self.set_timer("unclaimed", UNCLAIMED_SECONDS, Unclaimed())

    async def on_subscribe(self, message: Subscribe) -> bytes:
        self.cancel_timer("unclaimed")
        self._env.hub.subscribe(message.named, message.subscriber)
        state = ResourceWatchState(
            root=self._spec.root,
            recursive=self._spec.recursive,
            excludes=WatchPatterns(items=list(self._spec.excludes)) if self._spec.excludes else UNSET,
            includes=UNSET if self._spec.includes is None else WatchPatterns(items=list(self._spec.includes)),
        )
        head = b'{"resource":' + wire.encode(message.named) + b',"state":' + wire.encode(state)
        return head + b',"fromSeq":' + str(self._env.hub.server_seq).encode() + b"}"

    async def on_watchers_changed(self, _: WatchersChanged) -> None:
        if not self._env.hub.subscribers(self.name):
            self.stop()

    async def on_unclaimed(self, _: Unclaimed) -> None:
        if not self._env.hub.subscribers(self.name):
            self.stop()

    def teardown(self) -> None:
        self._env.hub.drop_channel(self.name)

    def _changed(self, changes: list[ResourceChange]) -> None:
        self._env.hub.publish(self.name, wire.encode(ResourceWatchChanged(changes=ResourceChanges(items=changes))))


class Watches:
    """The running watches by channel."""

    def __init__(self, host: Host) -> None:
        self._host = host
        self._running: dict[str, Watch] = {}

    def find(self, channel: str) -> Watch | None:
        return self._running.get(channel)

    async def create(self, params: CreateResourceWatchParams) -> str:
        """The channel of the watch that is asked for, running. Raises `RpcError`."""
        spec = WatchSpec.of(params)
        await self.open(spec)
        return spec.channel

    async def open(self, spec: WatchSpec) -> Watch:
        """The running watch of `spec`, made if need be. Raises `RpcError` where it cannot watch."""
        running = self._running.get(spec.channel)
        if running is None or not running.takes_mail:
            running = Watch(self._host.env, spec)
            await self._host.nursery.start(self._run, running)
        return running

    async def _run(self, made: Watch, *, task_status: object) -> None:
        self._running[made.name] = made
        try:
            await supervise(made, lambda _: None, task_status=task_status)  # type: ignore[arg-type]
        finally:
            if self._running.get(made.name) is made:
                del self._running[made.name]
