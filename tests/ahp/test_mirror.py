"""The mirror's law: whatever the order of own, others' and refused actions, it ends as the host."""

from __future__ import annotations

from typing import Any

from hypothesis import given
from hypothesis import strategies as st
from msgspec import Raw

from ahp import wire
from ahp.commands import ActionEnvelope, Snapshot
from ahp.mirror import Mirror

CHANNEL = "ahp-test:/list"


class Append(wire.Wire, frozen=True, tag_field="type", tag="append"):
    item: int


class Clear(wire.Wire, frozen=True, tag_field="type", tag="clear"):
    pass


class ListModel:
    """A channel whose state is a list, in which order shows."""

    def load(self, state: Raw) -> Any:
        return wire.decode(state, list[int])

    def decode(self, action: Raw) -> wire.Wire:
        decoded: wire.Wire = wire.decode(action, Append | Clear)
        return decoded

    def apply(self, state: Any, action: wire.Wire) -> Any:
        return [*state, action.item] if isinstance(action, Append) else []


def snapshot(items: list[int], seq: int) -> Snapshot:
    return Snapshot(resource=CHANNEL, state=Raw(wire.encode(items)), from_seq=seq)


def envelope(action: wire.Wire, seq: int, reason: str | None = None) -> ActionEnvelope:
    rejected = wire.UNSET if reason is None else reason
    return ActionEnvelope(channel=CHANNEL, action=Raw(wire.encode(action)), server_seq=seq, rejection_reason=rejected)


actions = st.builds(Append, item=st.integers(0, 9)) | st.builds(Clear)
steps = st.lists(
    st.tuples(st.just("dispatch"), actions)
    | st.tuples(st.just("other"), actions)
    | st.tuples(st.sampled_from(["accept", "reject", "lose echo", "gap"]), st.none())
)


@given(steps)
def test_a_mirror_ends_as_the_host(script: list[tuple[str, Any]]) -> None:
    host: list[int] = []
    seq, client_seq = 0, 0
    model = ListModel()
    mirror = Mirror(CHANNEL, snapshot(host, seq), model)
    queue: list[tuple[int, wire.Wire]] = []
    for what, action in script:
        if what == "dispatch":
            client_seq += 1
            mirror.dispatch(client_seq, action)
            queue.append((client_seq, action))
        elif what == "other":
            seq += 1
            host = model.apply(host, action)
            mirror.receive(envelope(action, seq), None)
        elif what == "gap":
            mirror.reset(snapshot(host, seq))
        elif queue:
            number, action = queue.pop(0)
            if what == "accept":
                seq += 1
                host = model.apply(host, action)
                mirror.receive(envelope(action, seq), number)
            elif what == "reject":
                mirror.receive(envelope(action, seq, "no"), number)
            else:
                mirror.drop(number)
        expected = host
        for _, pending in queue:
            expected = model.apply(expected, pending)
        assert (mirror.confirmed, mirror.state) == (host, expected)
        assert [p.client_seq for p in mirror.pending] == [number for number, _ in queue]


@given(st.lists(actions, min_size=1), st.data())
def test_a_replay_that_overlaps_changes_nothing(log: list[wire.Wire], data: st.DataObject) -> None:
    mirror = Mirror(CHANNEL, snapshot([], 0), ListModel())
    for seq, action in enumerate(log, 1):
        mirror.receive(envelope(action, seq), None)
    before = mirror.state
    for seq in range(data.draw(st.integers(1, len(log))), len(log) + 1):
        receipt = mirror.receive(envelope(log[seq - 1], seq), None)
        assert not receipt.applied
    assert mirror.state == before


def test_a_state_once_read_stays_as_it_was() -> None:
    mirror = Mirror(CHANNEL, snapshot([1], 0), ListModel())
    held = mirror.state
    mirror.dispatch(1, Append(item=2))
    assert (held, mirror.state) == ([1], [1, 2])


def test_a_channel_of_an_unknown_kind_is_plain_data() -> None:
    mirror = Mirror("ahp-future:/x", Snapshot(resource="ahp-future:/x", state=Raw(b'{"a":1}'), from_seq=0))
    receipt = mirror.receive(
        ActionEnvelope(channel="ahp-future:/x", action=Raw(b'{"type":"future/x","y":1}'), server_seq=1), None
    )
    assert receipt.applied
    assert mirror.state == {"a": 1}
