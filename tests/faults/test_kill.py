"""`kill -9` at random moments of a streaming workload: everything that a client saw is there, in order, once.

`make faults` kills as often as the variable FAULT_KILLS says (200), the ordinary run a few times.
"""

from __future__ import annotations

import itertools
import os
import random
import time
from pathlib import Path

import pytest

from tests.daemon import ROOT, Daemon, Peer, attached
from tests.faults.workload import Desk, Hand, Ledger

HANDS = 3
KILLS = int(os.environ.get("FAULT_KILLS", "200"))
A_DESK = 20
"""Rounds after which the work goes on in a new session, so that a round stays short."""


def test_what_a_client_saw_survives_kill_9(tmp_path: Path) -> None:
    kill_at_random(tmp_path, 3, seed=1)


@pytest.mark.faults
def test_what_a_client_saw_survives_kill_9_again_and_again(tmp_path: Path) -> None:
    seed = int(os.environ.get("FAULT_SEED", str(random.SystemRandom().randrange(1 << 30))))
    print(f"\n{KILLS} kills, FAULT_SEED={seed}")
    kill_at_random(tmp_path, KILLS, seed=seed)


def kill_at_random(home: Path, kills: int, *, seed: int) -> None:
    chance = random.Random(seed)
    daemon = Daemon(home)
    killed = seen = 0
    desk = Desk("0")
    try:
        for round_ in itertools.count():
            if killed >= kills:
                break
            daemon.start()
            if round_ % A_DESK == 0:
                desk = Desk(str(round_))
                with attached(daemon, "maker") as peer:
                    desk.set_up(peer)
            hands = work(daemon, desk, round_, chance)
            killed += 1
            while chance.random() < 0.2:
                die_while_starting(daemon, chance.random() * 0.7)
                killed += 1
            daemon.start()
            ledger = Ledger(desk, hands)
            seen += len(ledger.log)
            try:
                look(daemon, desk, hands, ledger, round_)
            except (AssertionError, TimeoutError) as error:
                raise AssertionError(f"kill {killed}, seed {seed}: {error}") from error
            daemon.kill()
            killed += 1
    finally:
        daemon.kill()
    print(f"{killed} kills, {seen} actions seen")


def work(daemon: Daemon, desk: Desk, round_: int, chance: random.Random) -> list[Hand]:
    """Have hands work on the desk and kill the daemon under them."""
    hands = [Hand(number, round_, desk, daemon, chance.randrange(1 << 30)) for number in range(HANDS)]
    for hand in hands:
        hand.start()
    time.sleep(chance.random() * chance.choice((0.05, 0.3, 0.8)))
    daemon.kill()
    for hand in hands:
        hand.join()
        hand.settle()
    return hands


def look(daemon: Daemon, desk: Desk, hands: list[Hand], ledger: Ledger, round_: int) -> None:
    with attached(daemon, "checker") as peer:
        assert peer.got[0]["result"]["serverSeq"] >= ledger.last, "serverSeq went back"
        ledger.check(peer)
        for hand in hands:
            come_back(daemon, desk, hand)
        go_on(desk, ledger, peer, round_)


def die_while_starting(daemon: Daemon, seconds: float) -> None:
    daemon.launch()
    time.sleep(seconds)
    daemon.kill()


def come_back(daemon: Daemon, desk: Desk, hand: Hand) -> None:
    """Reconnecting gives what was missed, or snapshots; a host that was killed may not know one it never answered."""
    with attached(daemon, None) as peer:
        answer = peer.ask(
            "reconnect", clientId=hand.client_id, lastSeenServerSeq=hand.last_seen, subscriptions=desk.channels
        )
        heard = any(e.get("origin", {}).get("clientId") == hand.client_id for e in hand.envelopes())
        if not heard and "error" in answer:
            assert answer["error"]["code"] == -32008
        else:
            assert answer["type"] == "snapshot"
            assert [snapshot["resource"] for snapshot in answer["snapshots"]] == desk.channels


def go_on(desk: Desk, ledger: Ledger, peer: Peer, round_: int) -> None:
    """Every chat takes the next turn; a turn dispatched again by a client that never heard of it is one turn."""
    for chat in desk.chats:
        for action in ledger.unheard[chat]:
            if action["type"] == "chat/turnStarted":
                again = {name: value for name, value in action.items() if name != "type"}
                peer.do(chat, "chat/turnStarted", **again)
                peer.wait_until_idle(chat)
        name = f"next-{round_}"
        assert "rejectionReason" not in peer.say(chat, name, name)
        peer.wait_until_idle(chat)
        turns = [turn["id"] for turn in peer.state(chat)["turns"]]
        assert len(turns) == len(set(turns))
        assert name in turns
    assert peer.ask("ping", ROOT) is None
