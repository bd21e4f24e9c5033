"""Where the daemon keeps what it has: four folders, made with mode 0700, and the names of the files in them.

Nothing of the daemon's own lives anywhere else. `--home DIR` (or AHPD_HOME) puts all four under DIR; otherwise they are
where this system keeps such things. Each can be set by itself, which wins over both.
"""

from __future__ import annotations

import os
import tempfile
import warnings
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import platformdirs

__all__ = ["FOLDER_NAMES", "Folders", "FoldersError", "ensure", "find"]

_APP = "ahpd"
FOLDER_NAMES = ("config", "data", "state", "runtime")
"""Each has the flag `--<name>-dir` and the variable AHPD_<NAME>_DIR."""


class FoldersError(Exception):
    """A folder cannot be used; `str(error)` says which, why, and what to do."""


@dataclass(frozen=True, slots=True)
class Folders:
    """`config`: what a person writes. `data`: what must be kept. `state`: logs. `runtime`: gone with the process."""

    config: Path
    data: Path
    state: Path
    runtime: Path

    @property
    def all(self) -> tuple[Path, ...]:
        return (self.config, self.data, self.state, self.runtime)

    @property
    def config_file(self) -> Path:
        return self.config / "config.toml"

    @property
    def token_file(self) -> Path:
        return self.config / "token"

    @property
    def store_file(self) -> Path:
        return self.data / "ahpd.db"

    @property
    def worktrees(self) -> Path:
        return self.data / "worktrees"

    @property
    def log_file(self) -> Path:
        return self.state / "ahpd.log"

    @property
    def crash_file(self) -> Path:
        """What a detached daemon printed outside its log: an import error, a crash of the interpreter."""
        return self.state / "ahpd.err"

    @property
    def run_file(self) -> Path:
        return self.runtime / "ahpd.json"


def find(environ: Mapping[str, str], *, home: str | None = None, chosen: Mapping[str, str | None] = {}) -> Folders:
    """The folders, for `home` and `chosen` (by name) from the command line; nothing is made or looked at.

    Precedence of each: `chosen`, AHPD_<NAME>_DIR, `home`, AHPD_HOME, the system's place. Paths are made absolute.
    """
    base = home or environ.get("AHPD_HOME")
    system = platformdirs.PlatformDirs(_APP, appauthor=False)
    usual = {
        "config": system.user_config_path,
        "data": system.user_data_path,
        "state": system.user_state_path,
        "runtime": _runtime(system),
    }

    def place(name: str) -> Path:
        said = chosen.get(name) or environ.get(f"AHPD_{name.upper()}_DIR")
        if said:
            return _absolute(said)
        if base:
            # The configuration is at the top, where a person looks for it.
            return _absolute(base) if name == "config" else _absolute(base) / name
        return usual[name]

    return Folders(**{name: place(name) for name in FOLDER_NAMES})


def ensure(folders: Folders) -> None:
    """Make the folders that are missing (0700). Raises FoldersError where one cannot be made or written."""
    for folder in folders.all:
        try:
            folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        except OSError as error:
            why = error.strerror or str(error)
            raise FoldersError(
                f"{folder} cannot be made: {why}. Make it yourself, or choose another with --home DIR."
            ) from None
        if not os.access(folder, os.R_OK | os.W_OK | os.X_OK):
            raise FoldersError(
                f"{folder} cannot be written by this user: run `chmod u+rwx {folder}`, or choose --home DIR."
            )


def _runtime(system: platformdirs.PlatformDirsABC) -> Path:
    """The session's runtime folder; where the system has none, one beside the state, which this user owns alone."""
    with warnings.catch_warnings(action="ignore"):
        path = system.user_runtime_path
    shared = path.is_relative_to(tempfile.gettempdir())
    return system.user_state_path / "run" if shared or not path.parent.is_dir() else path


def _absolute(path: str) -> Path:
    return Path(os.path.abspath(os.path.expanduser(path)))
