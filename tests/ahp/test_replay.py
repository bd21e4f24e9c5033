"""`python -m ahp.replay`: cases in, states out, and a bad one does not stop the rest."""

import io
import json

from ahp.replay import main

GOOD = {"id": 1, "reducer": "root", "initial": {"agents": []}, "actions": [], "expected": "whatever"}
COUNTED = {**GOOD, "id": "b", "actions": [{"type": "root/activeSessionsChanged", "activeSessions": 3}]}


def replayed(*lines: object) -> tuple[int, list[dict[str, object]]]:
    out = io.BytesIO()
    raw = [line if isinstance(line, bytes) else json.dumps(line).encode() for line in lines]
    code = main(raw, out)
    return code, [json.loads(line) for line in out.getvalue().splitlines()]


def test_each_case_gives_its_state_on_a_line() -> None:
    assert replayed(GOOD, b"  \n", COUNTED) == (
        0,
        [{"id": 1, "state": {"agents": []}}, {"id": "b", "state": {"agents": [], "activeSessions": 3}}],
    )


def test_a_case_that_cannot_be_read_is_said_and_the_run_goes_on() -> None:
    code, lines = replayed(
        b"{not json",
        {**GOOD, "id": "k", "reducer": "kitchen"},
        {**GOOD, "id": "s", "initial": []},
        {**GOOD, "id": "a", "actions": [{"type": "root/fromTheFuture"}, {"type": "root/activeSessionsChanged"}]},
        {"id": "m"},
        b"[" * 100_000,
        GOOD,
    )
    assert code == 1
    assert [line["id"] for line in lines] == [None, "k", "s", "a", "m", None, 1]
    assert "There is no reducer 'kitchen': it is one of root, session, chat" in str(lines[1]["error"])
    assert "Expected `object`" in str(lines[2]["error"])
    assert "Action 1 cannot be read" in str(lines[3]["error"])
    assert lines[-1]["state"] == {"agents": []}


def test_each_line_is_flushed_before_the_next_is_read() -> None:
    class Pipe(io.BytesIO):
        flushed = 0

        def flush(self) -> None:
            self.flushed = self.getvalue().count(b"\n")

    pipe = Pipe()

    def lines():
        for number in range(3):
            assert pipe.flushed == number
            yield json.dumps(GOOD).encode()

    assert main(lines(), pipe) == 0
