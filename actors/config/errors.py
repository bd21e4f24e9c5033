"""The one error of the configuration."""

from __future__ import annotations

__all__ = ["ConfigError"]


class ConfigError(Exception):
    """A key nobody knows, or a value that cannot be. `str(error)` is the whole sentence for the person.

    `path` says where it was written: a file, a variable of the environment, or a flag. `line` counts from 1, None where
    there are no lines; `key` is the dotted name, None where the file as a whole cannot be read.
    """

    def __init__(self, path: str, line: int | None, key: str | None, message: str) -> None:
        self.path = path
        self.line = line
        self.key = key
        self.message = message
        super().__init__(": ".join([path if line is None else f"{path}:{line}", *([key] if key else []), message]))
