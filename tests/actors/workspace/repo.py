"""A real Git repository to try things on."""

from __future__ import annotations

import subprocess
from pathlib import Path


class Repo:
    """`git` with a fixed author, dates that go up, and no configuration but its own."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._date = 1_700_000_000
        path.mkdir(parents=True, exist_ok=True)
        self.git("init", "--quiet", "--initial-branch=main")

    def git(self, *args: str) -> str:
        self._date += 60
        environment = {
            "PATH": "/usr/bin:/bin:/usr/local/bin",
            "GIT_CONFIG_GLOBAL": "/dev/null",
            "GIT_CONFIG_SYSTEM": "/dev/null",
        }
        for who in ("AUTHOR", "COMMITTER"):
            environment |= {f"GIT_{who}_NAME": "Ada", f"GIT_{who}_EMAIL": "ada@example.org"}
            environment[f"GIT_{who}_DATE"] = f"{self._date} +0000"
        command = ["git", "-C", str(self.path), *args]
        return subprocess.run(command, check=True, capture_output=True, text=True, env=environment).stdout.strip()

    def write(self, name: str, text: str | bytes = "x\n") -> Path:
        path = self.path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(text.encode() if isinstance(text, str) else text)
        return path

    def commit(self, *names: str) -> str:
        for name in names:
            self.write(name)
        self.git("add", "--all")
        self.git("commit", "--quiet", "--allow-empty", "--message", "change")
        return self.git("rev-parse", "HEAD")
