"""The actor base: an object that owns state, a nursery, a bounded mailbox and named timers.

Invariant: an actor's state changes only while its mailbox loop handles a message, one message at a time.
Everybody may `tell` and `ask`; nobody reaches into another actor's fields.

Two lanes lead into a mailbox. *Orders* wait in line and a sender waits while the line is full, so a flood slows
its sender alone. *Facts* (`post`) never wait: the latest with a key replaces the one before it, so a child can
always tell its parent, and parent and child can never wait for each other. Asks go from parent to child only.
"""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Awaitable, Callable, Hashable
from typing import Any, Generic, TypeVar, cast

import msgspec
import trio
import trio.lowlevel

from actors import log
from ahp.jsonrpc import RpcError

T = TypeVar("T")
_log = log.get("actor")

MAILBOX_CAPACITY = 256
BATCH = 256
"""How many waiting messages an actor handles before it settles (see `Actor.settle`)."""


class Message(msgspec.Struct, frozen=True):
    """Base of what a mailbox holds: an order (`StartTurn`) or a fact (`TurnEnded`)."""


class Order(Message, Generic[T], frozen=True):
    """A message that has one answer, a `T`; for `ask`."""


class ActorGone(Exception):
    """The actor has ended: what was told to it will not be handled, what was asked will not be answered."""


class Reply(Generic[T]):
    """The place where the one answer of an ask is put; the asker may have given up by then."""

    __slots__ = ("_done", "_error", "_value")

    def __init__(self) -> None:
        self._done = trio.Event()
        self._value: T | None = None
        self._error: BaseException | None = None

    def set(self, value: T) -> None:
        self._value = value
        self._done.set()

    def fail(self, error: BaseException) -> None:
        self._error = error
        self._done.set()

    @property
    def is_set(self) -> bool:
        return self._done.is_set()

    async def wait(self) -> T:
        """The answer. Raises what the answering side failed with."""
        await self._done.wait()
        if self._error is not None:
            raise self._error
        return cast(T, self._value)


class Mailbox:
    """The two lanes of the module's docstring. `put` waits while `capacity` orders are in line."""

    def __init__(self, capacity: int) -> None:
        self._capacity = capacity
        self._orders: deque[tuple[Message, Reply[Any] | None]] = deque()
        self._facts: dict[Hashable, Message] = {}
        self._readers = trio.lowlevel.ParkingLot()
        self._writers = trio.lowlevel.ParkingLot()
        self._closed = False

    async def put(self, message: Message, reply: Reply[Any] | None = None) -> None:
        while len(self._orders) >= self._capacity and not self._closed:
            await self._writers.park()
        if self._closed:
            raise ActorGone
        self._orders.append((message, reply))
        self._readers.unpark()

    def put_latest(self, key: Hashable, fact: Message) -> None:
        if not self._closed:
            self._facts.pop(key, None)
            self._facts[key] = fact
            self._readers.unpark()

    async def get(self) -> tuple[Message, Reply[Any] | None]:
        while not self._orders and not self._facts:
            await self._readers.park()
        return self.get_nowait()

    def get_nowait(self) -> tuple[Message, Reply[Any] | None]:
        """Raises trio.WouldBlock when both lanes are empty. Facts come first: they are what orders act upon."""
        if self._facts:
            key = next(iter(self._facts))
            return self._facts.pop(key), None
        if self._orders:
            item = self._orders.popleft()
            self._writers.unpark()
            return item
        raise trio.WouldBlock

    def has_mail(self) -> bool:
        return bool(self._orders or self._facts)

    @property
    def is_closed(self) -> bool:
        return self._closed

    def close(self) -> None:
        """Fail what waits and whoever waits to put; idempotent."""
        self._closed = True
        self._writers.unpark_all()
        while self._orders:
            _, reply = self._orders.popleft()
            if reply is not None:
                reply.fail(ActorGone())
        self._facts.clear()


class Actor:
    """Subclasses write `async def on_start_turn(self, message: StartTurn)` for each message class they take.

    The value an `on_…` method returns answers an ask. An `RpcError` it raises is the answer too; any other
    exception ends the actor (its nursery is cancelled, its supervisor told).
    """

    def __init__(self, name: str, capacity: int = MAILBOX_CAPACITY) -> None:
        self.name = name
        self.nursery: trio.Nursery
        self._mailbox = Mailbox(capacity)
        self._timers: dict[str, trio.CancelScope] = {}
        self._scope = trio.CancelScope()
        self._ended = trio.Event()
        self._handling = False

    async def run(self, *, task_status: trio.TaskStatus[None] = trio.TASK_STATUS_IGNORED) -> None:
        """Live until stopped. Started when `prepare` has returned and the first message may be sent."""
        try:
            with self._scope:
                async with trio.open_nursery() as self.nursery:
                    await self.prepare()
                    task_status.started()
                    await self._loop()
        except* ActorGone:
            # A task of ours had something to tell us as we were stopped.
            if not self.was_stopped:
                raise
        finally:
            self._mailbox.close()
            self._timers.clear()
            self._ended.set()
            self.teardown()

    async def prepare(self) -> None:
        """Before the first message: load, subscribe, start what the loop needs."""

    async def settle(self) -> None:
        """After each batch of messages, with nothing half handled: where channels commit and publish."""

    def teardown(self) -> None:
        """After the nursery has ended, however it ended. Must not wait."""

    def stop(self) -> None:
        """End the actor by cancelling everything it runs. From now on telling and asking raise `ActorGone`."""
        self._mailbox.close()
        self._scope.cancel()

    @property
    def was_stopped(self) -> bool:
        """Whether `stop` ended it, or is about to."""
        return self._scope.cancel_called

    @property
    def takes_mail(self) -> bool:
        """Whether telling and asking have a point."""
        return not self._mailbox.is_closed

    def has_mail(self) -> bool:
        """Whether anything waits to be handled."""
        return self._mailbox.has_mail()

    def is_at_rest(self) -> bool:
        """Nothing waits and nothing is half handled; with `stop` in one step, nothing is lost between the two."""
        return not self._handling and not self._mailbox.has_mail()

    async def wait_ended(self) -> None:
        await self._ended.wait()

    async def tell(self, message: Message) -> None:
        """Put an order in line; returns when it is in line. Raises `ActorGone`."""
        await self._mailbox.put(message)

    def post(self, key: Hashable, fact: Message) -> None:
        """Leave a fact; the latest of a `key` wins. Never waits; an ended actor ignores it."""
        self._mailbox.put_latest(key, fact)

    async def ask(self, order: Order[T]) -> T:
        """The answer to `order`. Raises `ActorGone`, and the `RpcError` the actor refuses with."""
        reply: Reply[T] = Reply()
        await self._mailbox.put(order, reply)
        return await reply.wait()

    def set_timer(self, name: str, seconds: float, message: Message) -> None:
        """Tell myself `message` after `seconds`, unless cancelled or set anew under the same name before."""
        self.cancel_timer(name)
        scope = self._timers[name] = trio.CancelScope()

        async def fire() -> None:
            with scope:
                await trio.sleep(max(0.0, seconds))
                if self._timers.get(name) is scope:
                    del self._timers[name]
                    await self.tell(message)

        self.nursery.start_soon(fire, name=f"{self.name} timer {name}")

    def cancel_timer(self, name: str) -> None:
        scope = self._timers.pop(name, None)
        if scope is not None:
            scope.cancel()

    def has_timer(self, name: str) -> bool:
        return name in self._timers

    async def _loop(self) -> None:
        while True:
            message, reply = await self._mailbox.get()
            self._handling = True
            await self._handle(message, reply)
            for _ in range(BATCH):
                try:
                    message, reply = self._mailbox.get_nowait()
                except trio.WouldBlock:
                    break
                await self._handle(message, reply)
            await self.settle()
            self._handling = False

    async def _handle(self, message: Message, reply: Reply[Any] | None) -> None:
        handler = _handler(type(self), type(message))
        try:
            value = await handler(self, message)
        except RpcError as error:
            if reply is None:
                _log.warning("refused", actor=self.name, message=type(message).__name__, error=str(error))
            else:
                reply.fail(error)
        except BaseException:
            if reply is not None:
                reply.fail(ActorGone())
            raise
        else:
            if reply is not None:
                reply.set(value)


_handlers: dict[tuple[type, type], Callable[[Any, Any], Awaitable[Any]]] = {}


def _handler(actor: type[Actor], message: type[Message]) -> Callable[[Any, Any], Awaitable[Any]]:
    found = _handlers.get((actor, message))
    if found is None:
        name = "on_" + re.sub(r"(?<!^)(?=[A-Z])", "_", message.__name__).lower()
        found = _handlers[actor, message] = getattr(actor, name)
    return found


def alone(error: Exception) -> Exception:
    """What a nursery wrapped, where it wrapped one thing."""
    while isinstance(error, ExceptionGroup) and len(error.exceptions) == 1:
        error = error.exceptions[0]
    return error


async def supervise(
    child: Actor,
    on_failure: Callable[[BaseException], None],
    *,
    task_status: trio.TaskStatus[None] = trio.TASK_STATUS_IGNORED,
) -> None:
    """Run `child`; its failure is logged once, given to `on_failure`, and stops here.

    A failure before the child is ready goes to the starter instead. What fails in a child that was told to stop is
    logged, and nothing more: nobody wants it back.
    """
    ready = False
    not_started: Exception | None = None

    class Ready:
        def started(self, value: None = None) -> None:
            nonlocal ready
            ready = True
            task_status.started()

    try:
        await child.run(task_status=cast("trio.TaskStatus[None]", Ready()))
    except* Exception as errors:
        # Also beside a cancellation from above, which goes on.
        if not ready:
            not_started = alone(errors)
        else:
            _log.error("actor failed", actor=child.name, exc=errors)
            if not child.was_stopped:
                on_failure(errors)
    if not_started is not None:
        raise not_started
