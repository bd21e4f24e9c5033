"""`kill -9` of a process that commits: everything it acknowledged is there, in order, and nothing is half there."""

from __future__ import annotations

import itertools
import random
import time
from pathlib import Path

import pytest

from actors.store import open_store, sequence, turns
from tests.actors.store.samples import child, look

COMMIT_FOR_EVER = """
import os, sys, trio
from pathlib import Path
from actors.store import ChatRecord, SessionRecord, chats, open_store, sequence, sessions, turns
async def main():
    async with open_store(Path(sys.argv[1]), durability=sys.argv[2]) as store, trio.open_nursery() as nursery:
        session = SessionRecord(id="s", provider="echo", created_at="", modified_at="", summary=b"{}", state=b"{}")
        await store.commit([sessions.put(session)])
        async def talk(uri):
            await store.commit([chats.put(ChatRecord(uri=uri, session_id="s", position=0, state=b"{}"))])
            at = await store.read(turns.count(uri))
            while True:
                body = b'"' + os.urandom(500).hex().encode() + b'"'
                state = b'{"activeTurn":{"id":"%d"}}' % at
                await store.commit([
                    chats.put(ChatRecord(uri=uri, session_id="s", position=0, state=state)),
                    turns.append(uri, at, str(at), body),
                ])
                os.write(1, f"{uri} {at}\\n".encode())
                at += 1
        async def count():
            while True:
                numbers = await sequence.reserve(store, 10)
                os.write(1, f"mark {numbers[-1]}\\n".encode())
        for number in range(8):
            nursery.start_soon(talk, f"c{number}")
        nursery.start_soon(count)
trio.run(main)
"""


@pytest.mark.parametrize("durability", ["full", "process"])
async def test_everything_acknowledged_survives_kill_9(store_path: Path, durability: str) -> None:
    acknowledged: dict[str, int] = {}
    dice = random.Random(durability)
    for _ in range(6):
        with child(COMMIT_FOR_EVER, str(store_path), durability) as process:
            assert process.stdout is not None
            until = dice.randrange(20, 400)
            for line in itertools.islice(process.stdout, until):
                _note(acknowledged, line)
            time.sleep(dice.random() / 100)
            process.kill()
            for line in process.stdout:
                _note(acknowledged, line)
        async with open_store(store_path) as store:
            assert await store.read(sequence.mark()) >= acknowledged.pop("mark", 0)
            for uri, last in tuple(acknowledged.items()):
                kept = await store.read(turns.every(uri))
                assert [turn.ordinal for turn in kept] == list(range(len(kept)))
                assert len(kept) in (last + 1, last + 2)  # kept, and not yet said
                acknowledged[uri] = len(kept) - 1
        assert look(store_path, "PRAGMA integrity_check") == [("ok",)]
        half = (
            "SELECT count(*) FROM chats c WHERE is_active AND NOT EXISTS (SELECT 1 FROM turns t WHERE t.chat = c.uri)"
        )
        assert look(store_path, half) == [(0,)]


def _note(acknowledged: dict[str, int], line: str) -> None:
    if line.endswith("\n"):
        name, number = line.split()
        acknowledged[name] = int(number)
