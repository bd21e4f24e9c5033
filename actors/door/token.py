"""The connection token and the file it lives in: made at first start, readable by its owner alone.

The functions touch the disk for a moment; call them before the doors open or from a worker thread.
"""

from __future__ import annotations

import contextlib
import hashlib
import hmac
import os
import secrets
import stat
from pathlib import Path

import msgspec

from actors.door.errors import DoorError

__all__ = ["SharedToken", "TokenFile", "load_or_create", "rotate"]

_BYTES = 32


class TokenFile(msgspec.Struct, frozen=True):
    """`warning` is a sentence for the person, or "" when all is well."""

    token: str
    warning: str = ""

    def __repr__(self) -> str:
        return f"TokenFile(warning={self.warning!r})"


class SharedToken:
    """An `Authenticate` for one token that belongs to the owner. `replace` takes effect at the next request."""

    def __init__(self, token: str) -> None:
        self._digest = _digest(token)

    def __call__(self, token: str) -> str | None:
        return "" if hmac.compare_digest(_digest(token), self._digest) else None

    def replace(self, token: str) -> None:
        self._digest = _digest(token)


def load_or_create(path: Path) -> TokenFile:
    """The token in `path`; made when there is no such file. Raises `DoorError` when it cannot be read or made."""
    with contextlib.suppress(FileNotFoundError):
        return _load(path)
    try:
        path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        fresh = _write_beside(path)
        try:
            # A link, because it fails when somebody else was first.
            os.link(fresh, path)
        except FileExistsError:
            pass
        finally:
            fresh.unlink()
        return _load(path)
    except OSError as error:
        raise DoorError(f"The token file {path} cannot be made: {error.strerror}.") from error


def rotate(path: Path) -> str:
    """Put a new token into `path` and return it. Raises `DoorError`."""
    try:
        fresh = _write_beside(path)
        os.replace(fresh, path)
    except OSError as error:
        raise DoorError(f"The token file {path} cannot be written: {error.strerror}.") from error
    return _load(path).token


def _load(path: Path) -> TokenFile:
    try:
        token = path.read_text(encoding="ascii").strip()
        mode = stat.S_IMODE(path.stat().st_mode)
    except FileNotFoundError:
        raise
    except OSError as error:
        raise DoorError(f"The token file {path} cannot be read: {error.strerror}.") from error
    except UnicodeDecodeError:
        token = ""
    if not token or any(character.isspace() for character in token):
        raise DoorError(f"The token file {path} holds no token; delete it, and a new one is made at the next start.")
    if mode & 0o077:
        return TokenFile(token, f"The token file {path} can be read by others (mode {mode:04o}): chmod 600 it.")
    return TokenFile(token)


def _write_beside(path: Path) -> Path:
    """A new file next to `path`, on disk, with a new token in it."""
    fresh = path.with_name(f".{path.name}.{secrets.token_hex(8)}")
    descriptor = os.open(fresh, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    try:
        os.write(descriptor, secrets.token_urlsafe(_BYTES).encode() + b"\n")
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
    return fresh


def _digest(token: str) -> bytes:
    return hashlib.sha256(token.encode(errors="replace")).digest()
