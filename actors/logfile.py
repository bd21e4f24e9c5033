"""The log's file: appended to, turned over by size, never in the way of who logs. Used by `log`, and by `ahpd logs`."""

from __future__ import annotations

import contextlib
import os
from pathlib import Path

__all__ = ["LogFile"]


class LogFile:
    """Writes to `path` (mode 0600); at `max_bytes` it becomes `path.1`, and so on up to `path.<keep>`.

    Nothing is raised: what cannot be written (a full disk, a folder that went away) is lost, and the next write tries
    again. One thread uses it.
    """

    def __init__(self, path: Path, *, max_bytes: int = 10 * 1024 * 1024, keep: int = 3) -> None:
        self.path = path
        self._max_bytes = max_bytes
        self._keep = keep
        self._file: int | None = None
        self._size = 0

    def write(self, text: str) -> None:
        data = text.encode(errors="backslashreplace")
        try:
            if self._file is not None and self._size and self._size + len(data) > self._max_bytes:
                self._turn()
            if self._file is None:
                self._open()
            assert self._file is not None
            while data:
                written = os.write(self._file, data)
                self._size += written
                data = data[written:]
        except OSError:
            self.close()

    def close(self) -> None:
        file, self._file = self._file, None
        if file is not None:
            with contextlib.suppress(OSError):
                os.close(file)

    def _open(self) -> None:
        flags = os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC
        self._file = os.open(self.path, flags, 0o600)
        self._size = os.fstat(self._file).st_size
        if self._size > self._max_bytes:
            self._turn()

    def _turn(self) -> None:
        self.close()
        for number in range(self._keep - 1, 0, -1):
            with contextlib.suppress(FileNotFoundError):
                os.replace(self._numbered(number), self._numbered(number + 1))
        os.replace(self.path, self._numbered(1))
        self._open()

    def _numbered(self, number: int) -> Path:
        return self.path.with_name(f"{self.path.name}.{number}")
