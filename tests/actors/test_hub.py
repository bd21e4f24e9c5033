"""Sequencing and fan-out: one number for everybody, the same bytes for everybody, and what can be replayed."""

import json

from actors.door.outbox import Frame
from actors.hub import Hub
from ahp.commands import ActionOrigin

A = "ahp-chat:/a"
B = "ahp-chat:/b"


class Ear:
    def __init__(self) -> None:
        self.frames: list[Frame] = []

    def deliver(self, channel: str, frame: Frame) -> None:
        self.frames.append(frame)

    def refreshed(self, channel: str) -> None:
        pass

    @property
    def heard(self) -> list[dict]:
        return [json.loads(frame.payload)["params"] for frame in self.frames]


def test_every_subscriber_gets_the_same_frame_and_nobody_else_any() -> None:
    hub = Hub(7)
    ears = [Ear(), Ear(), Ear()]
    hub.subscribe(A, ears[0])
    hub.subscribe(A, ears[1])
    hub.subscribe(B, ears[2])
    origin = ActionOrigin(client_id="c", client_seq=3)
    assert hub.publish(A, b'{"type":"chat/delta"}', origin) == 8
    assert ears[0].heard == [
        {
            "channel": A,
            "action": {"type": "chat/delta"},
            "serverSeq": 8,
            "origin": {"clientId": "c", "clientSeq": 3},
        }
    ]
    assert ears[0].frames[0] is ears[1].frames[0]
    assert ears[2].frames == []


def test_a_rejection_goes_to_its_dispatcher_alone_and_is_never_replayed() -> None:
    hub = Hub()
    ears = [Ear(), Ear()]
    for ear in ears:
        hub.subscribe(A, ear)
    hub.reject(ears[0], A, b"{}", ActionOrigin(client_id="c", client_seq=1), "no")
    assert ears[0].heard[0]["rejectionReason"] == "no"
    assert ears[1].frames == []
    assert hub.replay([A], 0) == []


def test_a_replay_is_what_came_after_on_the_named_channels_in_order() -> None:
    hub = Hub()
    for channel in (A, B, A, B, A):
        hub.publish(channel, b'{"x":1}')
    replayed = [json.loads(envelope) for envelope in hub.replay([A], 1) or []]
    assert [(e["channel"], e["serverSeq"]) for e in replayed] == [(A, 3), (A, 5)]
    assert hub.replay([A, B], 10**9) == []


def test_the_window_is_bounded_and_a_gap_is_said() -> None:
    hub = Hub(window=3)
    for _ in range(5):
        hub.publish(A, b"{}")
    assert hub.replay([A], 1) is None
    assert len(hub.replay([A], 2) or []) == 3
    small = Hub(window_bytes=200)
    for _ in range(10):
        small.publish(A, b'{"text":"' + b"x" * 50 + b'"}')
    assert small.replay([A], 0) is None
    assert small.replay([A], 9) is not None


def test_a_new_hub_cannot_replay_what_came_before_it() -> None:
    assert Hub(100).replay([A], 99) is None
    assert Hub(100).replay([A], 100) == []


def test_an_alias_hears_under_its_own_name() -> None:
    hub = Hub()
    hub.set_aliases("echo:/1", ["ahp-session:/1", "echo:/1"])
    chosen, alias = Ear(), Ear()
    hub.subscribe("echo:/1", chosen)
    hub.subscribe("ahp-session:/1", alias)
    hub.publish("echo:/1", b"{}")
    assert chosen.heard[0]["channel"] == "echo:/1"
    assert alias.heard[0] == {"channel": "ahp-session:/1", "action": {}, "serverSeq": 1}
    assert [json.loads(e)["channel"] for e in hub.replay(["ahp-session:/1"], 0) or []] == ["ahp-session:/1"]
    assert hub.canonical("ahp-session:/1") == "echo:/1"
    assert len(hub.subscribers("echo:/1")) == 2
    hub.drop_channel("echo:/1")
    assert hub.subscribers("echo:/1") == []
    assert hub.canonical("ahp-session:/1") == "ahp-session:/1"


def test_a_channel_made_again_under_its_uri_is_not_replayed_onto_the_old_one() -> None:
    hub = Hub()
    hub.publish(A, b"{}")
    hub.drop_channel(A)
    hub.publish(A, b"{}")
    hub.publish(B, b"{}")
    assert hub.replay([A, B], 1) is None
    assert len(hub.replay([B], 1) or []) == 1
    assert len(hub.replay([A], 2) or []) == 0


def test_numbers_are_asked_for_before_they_run_out() -> None:
    hub = Hub()
    asked: list[int] = []
    hub.low_at = 3
    hub.on_low = lambda: asked.append(hub.server_seq)
    for _ in range(5):
        hub.publish(A, b"{}")
    assert asked == [3]


def test_what_is_published_together_arrives_in_order_and_as_one() -> None:
    hub = Hub()
    ear, sender = Ear(), Ear()
    hub.subscribe(A, ear)
    hub.subscribe(A, sender)
    origin = ActionOrigin(client_id="c", client_seq=1)
    with hub.together():
        hub.publish(A, b'{"n":1}')
        hub.publish(A, b'{"n":2}')
        hub.reject(sender, A, b"{}", origin, "no")
        hub.publish(A, b'{"n":3}')
    lines = [json.loads(line) for frame in sender.frames for line in frame.line.splitlines()]
    assert [line["params"]["serverSeq"] for line in lines] == [1, 2, 3, 4]
    assert [len(frame.line.splitlines()) for frame in ear.frames] == [2, 1]
    assert ear.frames[0] is sender.frames[0]
    hub.publish(A, b'{"n":4}')
    assert len(ear.frames) == 3
