"""What every verb needs: the folders, the settings, where to print, and how a command ends."""

from __future__ import annotations

import argparse
import contextlib
import os
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from enum import IntEnum
from functools import cached_property
from pathlib import Path

from actors import folders as places
from actors import runfile
from actors.config import KEYS, ConfigError, Settings, read_environment, read_flags
from actors.folders import Folders
from actors.runfile import RunFile

__all__ = ["Context", "Exit", "Failure", "say"]

KEY_PREFIX = "key:"
"""Before a key's name in the parsed arguments, which hold other things too."""


class Exit(IntEnum):
    DONE = 0
    FAILED = 1
    WRONG = 2
    NOT_RUNNING = 3
    INTERRUPTED = 130


class Failure(Exception):
    """Ends the command: `str(error)` is printed for the person, `code` is the exit code."""

    def __init__(self, sentence: str, code: Exit = Exit.FAILED) -> None:
        super().__init__(sentence)
        self.code = code


@dataclass(frozen=True)
class Context:
    """One command as it was typed. `environ` is the process's environment."""

    arguments: argparse.Namespace
    environ: Mapping[str, str]

    @cached_property
    def folders(self) -> Folders:
        chosen = {name: self.said(f"{name}_dir") for name in places.FOLDER_NAMES}
        return places.find(self.environ, home=self.said("home"), chosen=chosen)

    @cached_property
    def config_file(self) -> Path:
        said = self.said("config") or self.environ.get("AHPD_CONFIG")
        return Path(os.path.abspath(os.path.expanduser(said))) if said else self.folders.config_file

    @cached_property
    def flags(self) -> dict[str, str | list[str]]:
        """What was said by flag, by key name."""
        return {
            name.removeprefix(KEY_PREFIX): value
            for name, value in vars(self.arguments).items()
            if name.startswith(KEY_PREFIX)
        }

    def said(self, name: str) -> str | None:
        """A textual argument, or None where it was not given or this verb has none of that name."""
        value = getattr(self.arguments, name, None)
        return value if isinstance(value, str) and value else None

    def settings(self) -> Settings:
        """The settings as a daemon started now would have them. Raises ConfigError."""
        if (self.said("config") or self.environ.get("AHPD_CONFIG")) and not self.config_file.exists():
            raise ConfigError(str(self.config_file), None, None, "there is no such file")
        here = Path.cwd()
        return Settings(self.config_file, read_environment(self.environ, here), read_flags(self.flags, here))

    def daemon(self) -> RunFile:
        """The daemon that runs here. Raises Failure where none does."""
        found = runfile.running(self.folders.run_file)
        if found is None:
            raise Failure(f"no daemon runs here ({self.folders.config}): `ahpd start` starts one", Exit.NOT_RUNNING)
        return found

    def refuse_settings(self, verb: str) -> None:
        """Raises Failure where a flag of a setting was given to a verb that starts nothing."""
        if self.flags:
            flags = ", ".join(KEYS[name].flag for name in self.flags)
            raise Failure(f"{flags}: `ahpd {verb}` starts nothing that this could be a setting of", Exit.WRONG)


def say(text: str = "") -> None:
    """Print a line for the person. Whoever reads may have gone: `ahpd logs | head`."""
    with contextlib.suppress(BrokenPipeError):
        print(text, flush=True)
        return
    # Python would complain once more when it closes the stream.
    sys.stdout = open(os.devnull, "w")  # noqa: SIM115
    raise SystemExit(Exit.DONE)
