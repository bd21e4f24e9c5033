"""The actor base: mailbox lanes, asks, timers, and what an actor's end means to those who wait for it."""

import msgspec
import pytest
import trio
import trio.testing

from actors.actor import Actor, ActorGone, Message, Order, supervise
from ahp.jsonrpc import InvalidParams


class Add(Order[int], frozen=True):
    amount: int


class Note(Message, frozen=True):
    text: str


class Break(Message, frozen=True):
    pass


class Slow(Order[None], frozen=True):
    pass


class Counter(Actor):
    def __init__(self, capacity: int = 4) -> None:
        super().__init__("counter", capacity)
        self.total = 0
        self.notes: list[str] = []
        self.gate = trio.Event()
        self.settled = 0

    async def settle(self) -> None:
        self.settled += 1

    async def on_add(self, message: Add) -> int:
        if message.amount < 0:
            raise InvalidParams("amount is negative: pass a number of at least 0")
        self.total += message.amount
        return self.total

    async def on_note(self, message: Note) -> None:
        self.notes.append(message.text)

    async def on_break(self, _: Break) -> None:
        raise RuntimeError("broken")

    async def on_slow(self, _: Slow) -> None:
        await self.gate.wait()


async def test_orders_are_handled_in_line_and_asks_are_answered(nursery: trio.Nursery) -> None:
    counter = Counter()
    await nursery.start(counter.run)
    assert [await counter.ask(Add(n)) for n in (1, 2, 3)] == [1, 3, 6]


async def test_a_refusal_is_the_answer_and_the_actor_lives_on(nursery: trio.Nursery) -> None:
    counter = Counter()
    await nursery.start(counter.run)
    with pytest.raises(InvalidParams, match="at least 0"):
        await counter.ask(Add(-1))
    assert await counter.ask(Add(1)) == 1


async def test_a_full_mailbox_makes_the_sender_wait_and_facts_never(nursery: trio.Nursery) -> None:
    counter = Counter(capacity=2)
    await nursery.start(counter.run)
    nursery.start_soon(counter.ask, Slow())
    await trio.testing.wait_all_tasks_blocked()
    for _ in range(2):
        await counter.tell(Add(1))
    with trio.move_on_after(1) as waited:
        await counter.tell(Add(1))
    assert waited.cancelled_caught
    counter.post("weather", Note("rain"))
    counter.post("weather", Note("sun"))
    counter.gate.set()
    await counter.ask(Add(0))
    assert counter.notes == ["sun"]
    assert counter.total == 2


async def test_a_batch_settles_once(nursery: trio.Nursery) -> None:
    counter = Counter(capacity=64)
    await nursery.start(counter.run)
    nursery.start_soon(counter.ask, Slow())
    await trio.testing.wait_all_tasks_blocked()
    for _ in range(20):
        await counter.tell(Add(1))
    before = counter.settled
    counter.gate.set()
    await trio.testing.wait_all_tasks_blocked()
    assert (counter.total, counter.settled - before) == (20, 1)


async def test_a_failure_ends_the_actor_and_tells_everybody_who_waits(nursery: trio.Nursery) -> None:
    counter = Counter()
    failures: list[BaseException] = []
    await nursery.start(supervise, counter, failures.append)
    await counter.tell(Break())
    with pytest.raises(ActorGone):
        await counter.ask(Add(1))
    await counter.wait_ended()
    assert [type(failure) for failure in failures] != []
    with pytest.raises(ActorGone):
        await counter.tell(Add(1))


async def test_a_timer_is_replaced_and_cancelled_by_name(nursery: trio.Nursery, autojump_clock: object) -> None:
    counter = Counter()
    await nursery.start(counter.run)
    counter.set_timer("tea", 10, Note("first"))
    counter.set_timer("tea", 20, Note("second"))
    await trio.sleep(15)
    assert counter.notes == []
    await trio.sleep(10)
    assert counter.notes == ["second"]
    counter.set_timer("tea", 5, Note("third"))
    counter.cancel_timer("tea")
    await trio.sleep(10)
    assert counter.notes == ["second"]
    assert not counter.has_timer("tea")


async def test_stopping_fails_what_was_in_line(nursery: trio.Nursery) -> None:
    counter = Counter()
    await nursery.start(counter.run)
    nursery.start_soon(counter.tell, Slow())
    await trio.testing.wait_all_tasks_blocked()
    gone: list[bool] = []

    async def asks() -> None:
        try:
            await counter.ask(Add(1))
        except ActorGone:
            gone.append(True)

    nursery.start_soon(asks)
    await trio.testing.wait_all_tasks_blocked()
    assert counter.has_mail()
    counter.stop()
    await counter.wait_ended()
    await trio.testing.wait_all_tasks_blocked()
    assert gone == [True]


def test_messages_are_frozen_structs() -> None:
    with pytest.raises(AttributeError):
        Note("x").text = "y"  # type: ignore[misc]
    assert issubclass(Note, msgspec.Struct)


class Echoing(Counter):
    """Has a task that tells the actor something as it is being stopped, and one that fails then."""

    def __init__(self, failure: Exception | None = None) -> None:
        super().__init__()
        self.failure = failure

    async def prepare(self) -> None:
        self.nursery.start_soon(self._last_words)

    async def _last_words(self) -> None:
        try:
            await trio.sleep_forever()
        except trio.Cancelled:
            if self.failure is not None:
                raise self.failure from None
            await self.tell(Note("too late"))


@pytest.mark.parametrize("failure", [None, OSError("the pipe is gone")])
async def test_what_fails_in_a_stopped_actor_brings_nobody_back(
    nursery: trio.Nursery, failure: Exception | None
) -> None:
    actor = Echoing(failure)
    failures: list[BaseException] = []
    await nursery.start(supervise, actor, failures.append)
    await trio.testing.wait_all_tasks_blocked()
    actor.stop()
    await actor.wait_ended()
    assert failures == []
    assert not actor.takes_mail


async def test_a_failure_beside_a_cancellation_stays_at_the_border() -> None:
    actor = Echoing(OSError("the pipe is gone"))
    async with trio.open_nursery() as nursery:
        await nursery.start(supervise, actor, lambda _: None)
        await trio.testing.wait_all_tasks_blocked()
        nursery.cancel_scope.cancel()


async def test_an_actor_in_the_middle_of_a_message_is_not_at_rest(nursery: trio.Nursery) -> None:
    counter = Counter()
    await nursery.start(counter.run)
    assert counter.is_at_rest()
    nursery.start_soon(counter.ask, Slow())
    await trio.testing.wait_all_tasks_blocked()
    assert not counter.has_mail()
    assert not counter.is_at_rest()
    counter.gate.set()
    await trio.testing.wait_all_tasks_blocked()
    assert counter.is_at_rest()
