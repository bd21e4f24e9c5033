"""Clients that work at once on one daemon, and what must be there when it was killed under them.

A `Hand` dispatches what people do, without waiting for answers, and notes what it sent and what came back. `Ledger`
holds what all hands of a round saw against the states after the restart.
"""

from __future__ import annotations

import itertools
import json
import random
import threading
import time
from collections import defaultdict
from collections.abc import Iterator
from contextlib import suppress
from typing import Any

from websockets.exceptions import ConnectionClosed
from websockets.sync.client import connect

from ahp import actions, reducers, wire
from tests.daemon import ROOT, Daemon, Peer

JSON = dict[str, Any]
CHATS = 3


def user(text: str) -> JSON:
    return {"text": text, "origin": {"kind": "user"}}


class Desk:
    """The channels that everybody works on: one session with a few chats and its annotations."""

    def __init__(self, name: str) -> None:
        self.session = f"ahp-session:/{name}"
        self.annotations = f"{self.session}/annotations"
        self.chats = [f"ahp-chat:/{name}-{index}" for index in range(1, CHATS)]

    @property
    def channels(self) -> list[str]:
        return [ROOT, self.session, self.annotations, *self.chats]

    def set_up(self, peer: Peer) -> None:
        default = peer.open_session(self.session, config={"pace": 1})
        for chat in self.chats:
            assert peer.ask("createChat", self.session, chat=chat) is None
        self.chats.insert(0, default)
        peer.do(self.session, "session/titleChanged", title="0")


class Hand(threading.Thread):
    """One client at work until its connection is lost. `seen` is every envelope that was no refusal, in order."""

    def __init__(self, number: int, round_: int, desk: Desk, daemon: Daemon, seed: int) -> None:
        super().__init__(name=f"hand {number}", daemon=True)
        self.client_id = f"hand-{number}"
        self.desk = desk
        self.random = random.Random(seed)
        self.peer = Peer(connect(daemon.url, max_size=None, proxy=None, legacy=True)).initialize(self.client_id)
        self.start_from = {channel: self.peer.ask("subscribe", channel)["snapshot"] for channel in desk.channels}
        self.sent: dict[int, tuple[str, JSON]] = {}
        self.told: dict[str, bool] = {}
        """Sessions made (True) and disposed of (False), as the host has answered."""
        self._names = (f"{self.client_id}.{round_}.{count}" for count in itertools.count())
        self._active: dict[str, str] = {}
        self._annotations: list[str] = []
        self._asked: dict[int, tuple[str, bool]] = {}
        self._read = 0

    def run(self) -> None:
        with suppress(ConnectionClosed):
            while True:
                getattr(self, self.random.choice(WORK))(self.random.choice(self.desk.chats))
                self._look()
                time.sleep(self.random.random() * 0.006)
        with suppress(ConnectionClosed):
            while True:  # What had arrived before the end counts as seen.
                self.peer.got.append(json.loads(self.peer.connection.recv()))

    # What a hand does.

    def turn(self, chat: str) -> None:
        name = next(self._names)
        if chat in self._active and self.random.random() < 0.8:
            return
        text = self.random.choice(
            (
                name,
                f"{name} {'word ' * 40}",
                f"{name}\n/think {'hm ' * 5}\n/usage 1 2",
                f"{name}\n/confirm {name}\nand on",
            )
        )
        self._dispatch(chat, "chat/turnStarted", turnId=name, startedAt="2026-01-01T00:00:00.000Z", message=user(text))

    def queue(self, chat: str) -> None:
        name = next(self._names)
        message = user(f"{name} {'later ' * 10}")
        self._dispatch(chat, "chat/pendingMessageSet", kind="queued", id=name, message=message)

    def cancel(self, chat: str) -> None:
        if chat in self._active and self.random.random() < 0.3:
            self._dispatch(chat, "chat/turnCancelled", turnId=self._active[chat], duration=1)

    def draft(self, chat: str) -> None:
        self._dispatch(chat, "chat/draftChanged", draft=user(next(self._names)))

    def title(self, _: str) -> None:
        self._dispatch(self.desk.session, "session/titleChanged", title=next(self._names))

    def configure(self, _: str) -> None:
        pace = self.random.choice((0, 1, 2, 3))
        self._dispatch(self.desk.session, "session/configChanged", config={"pace": pace})

    def setting(self, _: str) -> None:
        self._dispatch(ROOT, "root/configChanged", config={f"theirs.{self.client_id}": next(self._names)})

    def annotate(self, _: str) -> None:
        name = next(self._names)
        entry = {"id": name, "text": name}
        if self._annotations and self.random.random() < 0.6:
            on = self.random.choice(self._annotations)
            self._dispatch(self.desk.annotations, "annotations/entrySet", annotationId=on, entry=entry)
            return
        annotation = {"id": name, "resource": "file:///a.py", "resolved": False, "entries": [entry]}
        self._annotations.append(name)
        self._dispatch(self.desk.annotations, "annotations/set", annotation=annotation)

    def session(self, _: str) -> None:
        made = [uri for uri, there in self.told.items() if there]
        if made and self.random.random() < 0.4:
            self._request("disposeSession", self.random.choice(made), False)
        else:
            self._request("createSession", f"ahp-session:/{next(self._names)}", True)

    # Helpers in the order they are used.

    def _look(self) -> None:
        """Take what has arrived; answer what waits for a person."""
        with suppress(TimeoutError):
            while True:
                self.peer.got.append(json.loads(self.peer.connection.recv(timeout=0)))
        for message in self.peer.got[self._read :]:
            if message.get("method") == "action" and "rejectionReason" not in message["params"]:
                self._follow(message["params"]["channel"], message["params"]["action"])
            elif message.get("id") in self._asked and "error" not in message:
                uri, made = self._asked[message["id"]]
                self.told[uri] = made
        self._read = len(self.peer.got)

    def _follow(self, channel: str, action: JSON) -> None:
        match action["type"]:
            case "chat/turnStarted":
                self._active[channel] = action["turnId"]
            case "chat/turnComplete" | "chat/turnCancelled" | "chat/error":
                self._active.pop(channel, None)
            case "chat/toolCallReady" if "confirmationTitle" in action:
                ids = {"turnId": action["turnId"], "toolCallId": action["toolCallId"]}
                self._dispatch(channel, "chat/toolCallConfirmed", **ids, approved=True, confirmed="user-action")

    def _dispatch(self, channel: str, type_: str, **fields: Any) -> None:
        seq = self.peer.dispatch(channel, type_, **fields)
        self.sent[seq] = (channel, {"type": type_, **fields})

    def _request(self, method: str, uri: str, made: bool) -> None:
        number = 1_000_000 + len(self._asked)
        self._asked[number] = (uri, made)
        if not made:
            del self.told[uri]  # Until it is answered, both is right.
        self.peer.send({"jsonrpc": "2.0", "id": number, "method": method, "params": {"channel": uri}})

    def envelopes(self) -> Iterator[JSON]:
        return (message["params"] for message in self.peer.got if message.get("method") == "action")

    def settle(self) -> None:
        """After the end: take in the answers that came last."""
        for message in self.peer.got[self._read :]:
            if message.get("id") in self._asked and "error" not in message:
                uri, made = self._asked[message["id"]]
                self.told[uri] = made

    @property
    def last_seen(self) -> int:
        return max((e["serverSeq"] for e in self.envelopes()), default=self.start_from[ROOT]["fromSeq"])


WORK = (
    *["turn"] * 6,
    *["queue"] * 2,
    "cancel",
    "draft",
    "title",
    "configure",
    "setting",
    *["annotate"] * 2,
    "session",
)


class Ledger:
    """What the hands of one round saw, and what they sent without hearing of it."""

    def __init__(self, desk: Desk, hands: list[Hand]) -> None:
        self.desk = desk
        self.hands = hands
        self.log: dict[int, JSON] = {}
        self.refused: set[tuple[str, int]] = set()
        for hand in hands:
            numbers = [envelope["serverSeq"] for envelope in hand.envelopes()]
            assert numbers == sorted(set(numbers)), f"{hand.client_id}: serverSeq went back, or came twice"
            for envelope in hand.envelopes():
                if "rejectionReason" in envelope:
                    self.refused.add((envelope["origin"]["clientId"], envelope["origin"]["clientSeq"]))
                else:
                    known = self.log.setdefault(envelope["serverSeq"], envelope)
                    assert known == envelope, "two clients saw two actions of one number"
        self.last = max(self.log, default=0)
        echoed = [(e["origin"]["clientId"], e["origin"]["clientSeq"]) for e in self.log.values() if "origin" in e]
        assert len(echoed) == len(set(echoed)), "an action was published twice"
        known_of = {*echoed, *self.refused}
        self.unheard: dict[str, list[JSON]] = defaultdict(list)
        for hand in hands:
            for seq, (channel, action) in hand.sent.items():
                if (hand.client_id, seq) not in known_of:
                    self.unheard[channel].append(action)

    def expected(self, channel: str, kind: str) -> JSON:
        """The state that everything seen on `channel` comes to, from the first hand's snapshot on."""
        snapshot = self.hands[0].start_from[channel]
        state = wire.decode(json.dumps(snapshot["state"]).encode(), reducers.STATES[kind])
        for seq in sorted(self.log):
            envelope = self.log[seq]
            if envelope["channel"] == channel and seq > snapshot["fromSeq"]:
                action = actions.decode(kind, wire.Raw(json.dumps(envelope["action"]).encode()))
                state = reducers.reduce(kind, state, action)
        found: JSON = json.loads(wire.encode(state))
        return found

    def check(self, after: Peer) -> None:
        """Compare with the restarted host that `after` has initialized on."""
        root = after.state(ROOT)
        for hand in self.hands:
            key = f"theirs.{hand.client_id}"
            pushed = [a["config"].get(key) for a in self.unheard[ROOT]]
            expected = self.expected(ROOT, "root")["config"]["values"].get(key)
            assert root["config"]["values"].get(key) in [expected, *pushed]
        assert root["activeSessions"] == 0
        listed = {row["resource"]: row for row in after.ask("listSessions")["items"]}
        for hand in self.hands:
            for uri, there in hand.told.items():
                assert (uri in listed) == there, f"{uri}: created {there}, listed {uri in listed}"
        self._check_session(after.state(self.desk.session), listed)
        self._check_annotations(after.state(self.desk.annotations)["annotations"])
        counts = after.state(self.desk.session).get("annotations", {"annotationCount": 0, "entryCount": 0})
        annotations = after.state(self.desk.annotations)["annotations"]
        assert counts["annotationCount"] == len(annotations)
        assert counts["entryCount"] == sum(len(annotation["entries"]) for annotation in annotations)
        for chat in self.desk.chats:
            self._check_chat(chat, after.state(chat))

    def _check_session(self, now: JSON, listed: dict[str, JSON]) -> None:
        session = self.desk.session
        before = self.expected(session, "session")
        titles = [before["title"], *(a["title"] for a in self.unheard[session] if "title" in a)]
        assert now["title"] in titles
        assert listed[session]["title"] == now["title"]
        paces = [a["config"]["pace"] for a in self.unheard[session] if "config" in a]
        assert now["config"]["values"]["pace"] in [before["config"]["values"]["pace"], *paces]
        assert now["status"] & 31 in (1, 2), f"nothing runs after a restart, but the status is {now['status']}"
        assert [chat["resource"] for chat in now["chats"]] == self.desk.chats
        assert now["activeClients"] == []
        for was, chat in zip(before["chats"], now["chats"], strict=True):
            assert chat["title"] in [was["title"], *titles]
            assert chat["status"] & 31 in (1, 2)
        assert now["chats"][0]["title"] == now["title"], "the default chat's title is the session's"

    def _check_annotations(self, now: list[JSON]) -> None:
        ids = [annotation["id"] for annotation in now]
        assert len(ids) == len(set(ids))
        before = self.expected(self.desk.annotations, "annotations")["annotations"]
        assert ids[: len(before)] == [annotation["id"] for annotation in before]
        for was, is_now in zip(before, now, strict=False):
            assert is_now["entries"][: len(was["entries"])] == was["entries"]

    def _check_chat(self, chat: str, now: JSON) -> None:
        before = self.expected(chat, "chat")
        turns = now["turns"]
        assert "activeTurn" not in now, "a turn is still active after the restart"
        assert turns[: len(before["turns"])] == before["turns"], "a turn that had ended is gone or changed"
        if "activeTurn" in before:
            self._check_interrupted(before["activeTurn"], turns[len(before["turns"]) :][:1])
        ids = [turn["id"] for turn in turns]
        assert len(ids) == len(set(ids))
        queue = now.get("queuedMessages", [])
        texts = [turn["message"]["text"] for turn in turns] + [pending["message"]["text"] for pending in queue]
        assert len(texts) == len(set(texts)), "a message is there twice"
        waited = [pending["message"]["text"] for pending in before.get("queuedMessages", [])]
        assert [text for text in texts if text in waited] == waited, "a queued message is gone, or out of its place"
        refused = {
            hand.sent[seq][1].get("turnId")
            for hand in self.hands
            for client, seq in self.refused
            if client == hand.client_id and hand.sent[seq][1]["type"] == "chat/turnStarted"
        }
        assert not refused & set(ids), "a turn that was refused is there"
        drafts = [a.get("draft") for a in self.unheard[chat] if a["type"] == "chat/draftChanged"]
        assert now.get("draft") in [before.get("draft"), *drafts]

    def _check_interrupted(self, active: JSON, found: list[JSON]) -> None:
        assert [turn["id"] for turn in found] == [active["id"]], "the turn that ran is gone"
        (turn,) = found
        assert turn["message"] == active["message"]
        assert turn["state"] in ("complete", "error", "cancelled")
        heard, kept = written(active), written(turn)
        assert heard.startswith(kept) or kept.startswith(heard), "what had arrived is kept, but for the tail"
        if turn["state"] == "error":
            assert turn["responseParts"][-1]["error"]["errorType"] == "interrupted"


def written(turn: JSON) -> str:
    return "".join(part["content"] for part in turn["responseParts"] if part["kind"] in ("markdown", "reasoning"))
