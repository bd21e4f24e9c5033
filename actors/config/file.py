"""The configuration file: read into values by key, and written without disturbing what a person wrote in it.

Errors name the line. Called by `settings` and the command line; all of it blocks, a little.
"""

from __future__ import annotations

import contextlib
import os
import re
import tempfile
import tomllib
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from actors.config.errors import ConfigError
from actors.config.keys import KEYS, Key, complaint
from actors.config.kinds import Wrong, did_you_mean
from ahp.wire import JSON

if TYPE_CHECKING:
    from tomlkit import TOMLDocument

__all__ = ["find_key", "line_of_key", "read", "read_text", "set_key", "unset_key"]

_MARK = "\ue000here\ue000"


def read(path: Path) -> dict[str, object]:
    """The typed values in the file by key name; none when there is no file. Raises ConfigError."""
    try:
        text = path.read_text(encoding="utf-8")
    except FileNotFoundError:
        return {}
    except UnicodeDecodeError as error:
        line = error.object[: error.start].count(b"\n") + 1
        raise ConfigError(str(path), line, None, "this is no UTF-8 text") from None
    except OSError as error:
        raise ConfigError(str(path), None, None, f"cannot be read: {error.strerror}") from None
    return read_text(path, text)


def read_text(path: Path, text: str) -> dict[str, object]:
    """As `read`, of a file's text."""
    try:
        data = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise _syntax_error(path, text, str(error)) from None
    values: dict[str, object] = {}
    try:
        _collect(data, (), path.parent, values)
    except _Located as found:
        line = _line_of(text, found.steps)
        raise ConfigError(str(path), line, found.key, found.message) from None
    return values


class _Located(Exception):
    """Something wrong, and the steps that lead to it in the document."""

    def __init__(self, key: str, steps: tuple[str | int, ...], message: str) -> None:
        super().__init__(message)
        self.key = key
        self.steps = steps
        self.message = message


def _collect(data: dict[str, JSON], steps: tuple[str, ...], base: Path, values: dict[str, object]) -> None:
    for step, value in data.items():
        here = (*steps, step)
        name = ".".join(here)
        key = KEYS.get(name)
        if key is not None:
            try:
                values[name] = key.kind.check(value, base)
            except Wrong as wrong:
                raise _Located(_dotted(name, wrong.at), (*here, *wrong.at), complaint(key, wrong)) from None
        elif any(known.startswith(f"{name}.") for known in KEYS):
            if not isinstance(value, dict):
                raise _Located(name, here, f"this is a table of keys: write [{name}]")
            _collect(value, here, base, values)
        else:
            raise _Located(name, here, f"there is no such key{did_you_mean(name, KEYS)}")


def _dotted(name: str, at: Sequence[str | int]) -> str:
    return name + "".join(f"[{step}]" if isinstance(step, int) else f".{step}" for step in at)


def _syntax_error(path: Path, text: str, message: str) -> ConfigError:
    """tomllib says where at the end of its message: "Invalid value (at line 2, column 3)"."""
    found = re.fullmatch(r"(.*) \(at (?:line (\d+), column \d+|end of document)\)", message, re.DOTALL)
    if found is None:
        return ConfigError(str(path), None, None, f"this is no TOML: {message}")
    line = int(found[2]) if found[2] else max(1, len(text.splitlines()))
    # The line itself is not repeated: there may be a secret in it.
    return ConfigError(str(path), line, None, f"this is no TOML: {found[1][:1].lower()}{found[1][1:]}")


def line_of_key(path: Path, name: str) -> int | None:
    """The line of a key in a file that loads."""
    return _line_of(path.read_text(encoding="utf-8"), name.split("."))


def _line_of(text: str, steps: Sequence[str | int]) -> int | None:
    """The line of the item that `steps` lead to: put a mark in its place, and see where it comes out."""
    import tomlkit  # Slow to import, and needed only where something is wrong.

    document = tomlkit.parse(text)
    holder: Any = document
    for step in steps[:-1]:
        holder = holder[step]
    inner = holder[steps[-1]]
    is_table = isinstance(inner, dict) and not isinstance(inner, tomlkit.items.InlineTable)
    while isinstance(inner, dict) and inner and not isinstance(inner, tomlkit.items.InlineTable):
        holder, steps = inner, [next(iter(inner))]
        inner = holder[steps[-1]]
    if isinstance(inner, dict) and not isinstance(inner, tomlkit.items.InlineTable):
        inner["mark"] = _MARK
    elif isinstance(inner, list) and inner and isinstance(inner[0], dict):
        inner[0]["mark"] = _MARK
    else:
        holder[steps[-1]] = _MARK
    before, _, _ = tomlkit.dumps(document).partition(_MARK)
    lines = before.split("\n")
    return _header_above(lines) if is_table else len(lines)


def _header_above(lines: list[str]) -> int:
    """The line of the table's header when only comments lie between, else the last line itself."""
    for number in range(len(lines) - 1, 0, -1):
        line = lines[number - 1].strip()
        if line.startswith("["):
            return number
        if line and not line.startswith("#"):
            break
    return len(lines)


# Writing.


def find_key(name: str) -> tuple[Key, tuple[str, ...]]:
    """The key that the dotted `name` is or lies in (`agents.echo.enabled`), and the steps. Raises ConfigError."""
    try:
        steps = _steps(name)
    except ValueError:  # No TOML, or more than one key.
        raise ConfigError("command line", None, name, "this is no name of a key") from None
    for length in range(len(steps), 0, -1):
        key = KEYS.get(".".join(steps[:length]))
        if key is not None:
            return key, steps
    raise ConfigError("command line", None, name, f"there is no such key{did_you_mean(name, KEYS)}")


def _steps(name: str) -> tuple[str, ...]:
    steps: list[str] = []
    inner: JSON = tomllib.loads(f"{name} = 0")
    while isinstance(inner, dict):
        ((step, inner),) = inner.items()
        steps.append(step)
    return tuple(steps)


def set_key(path: Path, name: str, value: JSON) -> None:
    """Write one key to the file, all else in it as it was; the file is made (0600) where there is none.

    `value` is plain data, or the text a person typed for it. Nothing is written where the outcome would not load.
    Raises ConfigError; OSError where the file cannot be written.
    """
    import tomlkit

    key, steps = find_key(name)
    if ".".join(steps) == key.name:
        value = _typed(path, key, value)
    elif isinstance(value, str):
        value = _guess(value)
    with _changing(path) as document:
        holder: Any = document
        for step in steps[:-1]:
            if step not in holder:
                holder[step] = tomlkit.table(is_super_table=len(steps) > 2 and step == steps[0])
            holder = holder[step]
            if not isinstance(holder, dict):
                raise ConfigError(str(path), None, name, f"{step} is no table in this file")
        holder[steps[-1]] = value


def unset_key(path: Path, name: str) -> bool:
    """Take one key out of the file. False where it is not in there. Raises as `set_key`."""
    _, steps = find_key(name)
    with _changing(path) as document:
        holder: Any = document
        for step in steps[:-1]:
            holder = holder.get(step, {})
        if steps[-1] not in holder:
            return False
        del holder[steps[-1]]
    return True


def _typed(path: Path, key: Key, value: JSON) -> JSON:
    """A value checked, as it is written down. Text stays as it was typed: a path keeps its `~`."""
    try:
        if not isinstance(value, str):
            key.kind.check(value, path.parent)
            return value
        typed = key.kind.parse(value, path.parent)
    except Wrong as wrong:
        raise ConfigError("command line", None, _dotted(key.name, wrong.at), complaint(key, wrong)) from None
    plain = key.kind.plain(typed)
    return value if isinstance(plain, str) else plain


def _guess(text: str) -> JSON:
    """What was typed for a key inside a table: TOML where it is some, else text."""
    try:
        return tomllib.loads(f"value = {text}")["value"]
    except tomllib.TOMLDecodeError:
        return text


class _changing(contextlib.AbstractContextManager["TOMLDocument"]):
    """The document of a file, to be changed; written back at the end unless that would not load."""

    def __init__(self, path: Path) -> None:
        # Through a symbolic link, so that the link stays one.
        self._path = Path(os.path.realpath(path))

    def __enter__(self) -> TOMLDocument:
        import tomlkit

        text = self._path.read_text(encoding="utf-8") if self._path.exists() else ""
        read_text(self._path, text)
        self._document = tomlkit.parse(text)
        self._before = text
        return self._document

    def __exit__(self, kind: object, error: object, trace: object) -> None:
        if kind is not None:
            return
        text = self._document.as_string()
        if text != self._before:
            read_text(self._path, text)
            _replace(self._path, text)


def _replace(path: Path, text: str) -> None:
    """Write a file whole or not at all, keeping its mode."""
    mode = path.stat().st_mode & 0o777 if path.exists() else 0o600
    made, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    try:
        with open(made, "w", encoding="utf-8") as file:
            os.fchmod(file.fileno(), mode)
            file.write(text)
            file.flush()
            os.fsync(file.fileno())
        os.replace(name, path)
    except BaseException:
        with contextlib.suppress(OSError):
            os.unlink(name)
        raise
