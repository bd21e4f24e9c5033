"""Commits a second of the store beside plain sqlite3 on the same disk: alone, and with 50 committers at once.

`python bench/store_bench.py [--folder DIR] [--seconds N]`. Plain sqlite3 is one blocking connection that commits the
same rows one by one with the same pragmas: what a host without group commit would get.
"""

from __future__ import annotations

import argparse
import sqlite3
import tempfile
import time
from contextlib import closing
from pathlib import Path

import trio

from actors.store import ChatRecord, Durability, SessionRecord, Store, Write, chats, open_store, sessions, turns

CROWD = 50
BODY = b'{"id":"t","message":{"text":"' + b"x" * 900 + b'"}}'
DURABILITIES: tuple[Durability, ...] = ("full", "process")


def writes_of(number: int, turn: int) -> list[Write]:
    """What the end of a turn commits: the chat and the turn."""
    uri = f"ahp-chat:/{number}"
    return [
        chats.put(ChatRecord(uri=uri, session_id="s", position=number, state=b"{}")),
        turns.append(uri, turn, str(turn), BODY),
    ]


async def crowd_rate(path: Path, durability: Durability, crowd: int, seconds: float) -> float:
    """Commits a second with `crowd` tasks that each commit one after the other."""
    committed = 0

    async def talk(store: Store, number: int) -> None:
        nonlocal committed
        turn = 0
        while True:
            await store.commit(writes_of(number, turn))
            committed += 1
            turn += 1

    async with open_store(path, durability=durability) as store:
        await store.commit([sessions.put(_session())])
        began = time.perf_counter()
        with trio.move_on_after(seconds):
            async with trio.open_nursery() as nursery:
                for number in range(crowd):
                    nursery.start_soon(talk, store, number)
        return committed / (time.perf_counter() - began)


async def plain_rate(path: Path, durability: Durability, seconds: float) -> float:
    """Commits a second of a bare connection that does nothing else."""
    async with open_store(path) as store:
        await store.commit([sessions.put(_session())])
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        connection.execute("PRAGMA foreign_keys = ON")
        connection.execute(f"PRAGMA synchronous = {'FULL' if durability == 'full' else 'NORMAL'}")
        committed = 0
        began = time.perf_counter()
        while time.perf_counter() - began < seconds:
            connection.execute("BEGIN IMMEDIATE")
            for write in writes_of(0, committed):
                write.run(connection)
            connection.execute("COMMIT")
            committed += 1
        return committed / (time.perf_counter() - began)


async def catalogue_times(path: Path, total: int) -> tuple[float, float, float]:
    """Milliseconds to open a store of `total` sessions, to list them all, and for a page of 500 in the middle."""
    async with open_store(path, durability="process") as store:
        await store.commit([sessions.put(_session(f"s{number}", f"{number:09d}")) for number in range(total)])
    began = time.perf_counter()
    async with open_store(path) as store:
        opened = time.perf_counter()
        entries = await store.read(sessions.catalogue())
        listed = time.perf_counter()
        await store.read(sessions.page(500, entries[len(entries) // 2].place))
        paged = time.perf_counter()
    return (opened - began) * 1000, (listed - opened) * 1000, (paged - listed) * 1000


async def main(folder: Path, seconds: float) -> None:
    print(f"{'':34}{'commits/s':>12}{'ratio to plain':>16}")
    for durability in DURABILITIES:
        plain = await plain_rate(folder / f"plain-{durability}.db", durability, seconds)
        alone = await crowd_rate(folder / f"alone-{durability}.db", durability, 1, seconds)
        crowd = await crowd_rate(folder / f"crowd-{durability}.db", durability, CROWD, seconds)
        for name, rate in (("plain sqlite3", plain), ("store, one committer", alone), (f"store, {CROWD}", crowd)):
            print(f"{durability:>8}  {name:24}{rate:12,.0f}{rate / plain:16.2f}")
    opened, listed, paged = await catalogue_times(folder / "catalogue.db", 10_000)
    print(f"10,000 sessions: open {opened:.1f} ms, catalogue {listed:.1f} ms, page of 500 in the middle {paged:.1f} ms")


def _session(session_id: str = "s", modified_at: str = "") -> SessionRecord:
    summary = b'{"resource":"ahp-session:/s","title":"' + b"t" * 300 + b'"}'
    return SessionRecord(
        id=session_id, provider="echo", created_at="", modified_at=modified_at, summary=summary, state=b"{}" * 1000
    )


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--folder", type=Path, help="where to make the files (a temporary folder otherwise)")
    parser.add_argument("--seconds", type=float, default=2.0, help="how long each row runs")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(dir=options.folder) as made:
        trio.run(main, Path(made), options.seconds)
