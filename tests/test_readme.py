"""What the README shows is what happens: its console blocks, run as written."""

import json
import re
import shlex
import subprocess
import sys
import time
from collections.abc import Mapping
from pathlib import Path

import pytest

from ahp.state.common import SessionStatus
from tests.daemon import running

README = Path(__file__).parents[1] / "README.md"
DATE = re.compile(r"\d{4}-\d\d-\d\dT[\d:.]+Z")
ID = re.compile(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}")
AHPD = ".venv/bin/ahpd --home .run"
FIRST_SCREEN = 24
"""Lines."""

pytestmark = pytest.mark.skipif(not README.exists(), reason="the README is not part of an installed package")


def blocks(text: str) -> list[str]:
    return re.findall(r"^```console\n(.*?)^```", text, re.MULTILINE | re.DOTALL)


def commands() -> list[tuple[str, str]]:
    """Each command of the console blocks (`$ `, its further lines `> `), with what it prints."""
    found = []
    for shown in re.split(r"^\$ ", "".join(blocks(README.read_text())), flags=re.MULTILINE)[1:]:
        first, *lines = shown.splitlines(keepends=True)
        more = [line for line in lines if line.startswith("> ")]
        found.append((first + "".join(line[2:] for line in more), "".join(lines[len(more) :])))
    return found


def renamed(text: str, ids: Mapping[str, str]) -> str:
    return ID.sub(lambda found: ids.get(found[0], found[0]), text)


def wait_until_idle(ahpd: str) -> None:
    """What a command started is over before a person has read what it printed."""
    until = time.monotonic() + 30
    while time.monotonic() < until:
        listed = subprocess.run(f"{ahpd} sessions --json", shell=True, capture_output=True, check=True).stdout
        if all(not session["status"] & SessionStatus.IN_PROGRESS for session in json.loads(listed)):
            return
    raise AssertionError("a session is still at work")


def test_its_first_screen_runs_tests_and_talks() -> None:
    screen = "\n".join(README.read_text().splitlines()[:FIRST_SCREEN])
    assert "\n    make run " in screen
    assert "\n    make test " in screen
    assert len(blocks(screen)[0].splitlines()) == 3


def test_its_console_blocks_run_as_written(tmp_path: Path) -> None:
    shown = commands()
    assert len(shown) >= 4
    ahpd = f"{shlex.quote(sys.executable)} -m actors.cli --home {shlex.quote(str(tmp_path / 'run'))}"
    (tmp_path / "run").mkdir()
    ids: dict[str, str] = {}
    with running(tmp_path / "run"):
        for command, expected in shown:
            assert AHPD in command
            line = renamed(command, ids).replace(AHPD, ahpd)
            ran = subprocess.run(line, shell=True, cwd=tmp_path, capture_output=True, text=True, timeout=60)
            assert ran.returncode == 0, ran.stderr
            # A new session has a new id: the one that is printed stands for the one that is shown, from here on.
            ids |= zip(ID.findall(expected), ID.findall(ran.stdout), strict=False)
            assert DATE.sub("DATE", ran.stdout) == DATE.sub("DATE", renamed(expected, ids))
            wait_until_idle(ahpd)
