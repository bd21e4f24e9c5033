"""What the README shows is what happens: its console blocks, run as written."""

import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from tests.daemon import running

README = Path(__file__).parents[1] / "README.md"
DATE = re.compile(r"\d{4}-\d\d-\d\dT[\d:.]+Z")
AHPD = ".venv/bin/ahpd --home .run"


def commands() -> list[tuple[str, str]]:
    """Each command of the console blocks, with what it prints."""
    blocks = re.findall(r"^```console\n(.*?)^```", README.read_text(), re.MULTILINE | re.DOTALL)
    found = []
    for shown in re.split(r"^\$ ", "".join(blocks), flags=re.MULTILINE)[1:]:
        command, _, output = shown.partition("\n")
        found.append((command, output))
    return found


@pytest.mark.skipif(not README.exists(), reason="the README is not part of an installed package")
def test_its_console_blocks_run_as_written(tmp_path: Path) -> None:
    shown = commands()
    assert len(shown) >= 4
    here = f"{shlex.quote(sys.executable)} -m actors.cli --home {shlex.quote(str(tmp_path / 'run'))}"
    (tmp_path / "run").mkdir()
    with running(tmp_path / "run"):
        for command, output in shown:
            assert AHPD in command
            line = command.replace(AHPD, here)
            ran = subprocess.run(line, shell=True, cwd=tmp_path, capture_output=True, text=True, timeout=60)
            assert ran.returncode == 0, ran.stderr
            assert DATE.sub("DATE", ran.stdout) == DATE.sub("DATE", output)
