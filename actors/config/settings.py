"""The settings of one daemon: where each value comes from, and the `Config` in force.

Precedence: default, file, environment, flag, each over the one before. On top lies what clients pushed through the root
channel, and a pushed value holds until what lies beneath it is changed: the latest word wins, also over a restart.

Keys that are not in the table may be pushed too: clients keep settings of their own in the root config. They are kept
and shown to every client, and nothing here acts on them.

Invariants: `config` is whole and valid at any moment; a file that became wrong changes nothing; keys that need a
restart keep the value the process started with. Belongs to the trio thread.
"""

from __future__ import annotations

import itertools
import os
from collections.abc import Callable, Iterable, Mapping
from contextlib import aclosing
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, TypeAlias

import trio

from actors import log
from actors.config import file
from actors.config.errors import ConfigError
from actors.config.keys import KEYS, MAY_HIDE, Key, build, complaint, get, hide, reveal, root_schema, secrets_of
from actors.config.kinds import Texts, Wrong
from actors.config.model import Config
from ahp.actions.root import RootConfigChanged
from ahp.state.common import ConfigState
from ahp.wire import JSON, present

__all__ = ["Change", "Origin", "Settings", "read_environment", "read_flags"]

_log = log.get("config")

FOREIGN_LIMIT = 1000
"""How many keys of their own clients may keep."""

Origin: TypeAlias = Literal["default", "file", "environment", "flag", "client"]


@dataclass(frozen=True, slots=True)
class Change:
    """`keys` are the names of the keys that differ between `old` and `new`."""

    old: Config
    new: Config
    keys: frozenset[str]


@dataclass(frozen=True, slots=True)
class _Pushed:
    """`over`: the plain value that lay beneath when it was pushed."""

    value: object
    over: JSON


class Settings:
    """Made once at start. `path` is the file, which need not be there; `environment` and `flags` are what
    `read_environment` and `read_flags` answered. Raises ConfigError.
    """

    def __init__(
        self, path: Path, environment: Mapping[str, object] | None = None, flags: Mapping[str, object] | None = None
    ) -> None:
        self.path = path
        self._environment = dict(environment or {})
        self._flags = dict(flags or {})
        self._file = file.read(path)
        self._pushed: dict[str, _Pushed] = {}
        self._foreign: dict[str, JSON] = {}
        self._listeners: list[Callable[[Change], None]] = []
        self._beneath = self._started = self._compose()
        self._config = self._beneath
        self._protect()

    @property
    def config(self) -> Config:
        """The configuration in force. A snapshot: ask again for a later one."""
        return self._config

    @property
    def waiting(self) -> list[str]:
        """The keys whose new value in the file waits for a restart."""
        composed = self._compose()
        fixed = (key for key in KEYS.values() if not key.note.live)
        return [key.name for key in fixed if get(composed, key) != get(self._config, key)]

    def origin(self, name: str) -> Origin:
        """Where the value in force of the key `name` comes from."""
        if name in self._pushed:
            return "client"
        layers: tuple[tuple[Origin, dict[str, object]], ...] = (
            ("flag", self._flags),
            ("environment", self._environment),
            ("file", self._file),
        )
        return next((origin for origin, layer in layers if name in layer), "default")

    def subscribe(self, listener: Callable[[Change], None]) -> None:
        """Call `listener` (which must not block) after each change of `config`, wherever it came from."""
        self._listeners.append(listener)

    # From clients.

    def push(self, action: RootConfigChanged) -> Callable[[], None]:
        """Take a client's `root/configChanged`: all of it, or nothing. What it answers takes it back.

        Raises ValueError with a sentence for the client: a wrong value, or a key that only a restart can change.
        After a `replace` the keys of the table that it does not name have the values of beneath again, and
        `root_values` has more than the action said.
        """
        replaces = bool(present(action.replace, False))
        pushed = {} if replaces else dict(self._pushed)
        foreign = {} if replaces else dict(self._foreign)
        for name, value in action.config.items():
            key = KEYS.get(name)
            if key is None:
                foreign[name] = value
            else:
                self._push_one(key, value, pushed)
        if len(foreign) > FOREIGN_LIMIT:
            raise ValueError(f"the root config holds at most {FOREIGN_LIMIT} keys that are not this host's own")
        before = self._pushed, self._foreign
        self._take(pushed, foreign)
        return lambda: self._take(*before)

    def _take(self, pushed: dict[str, _Pushed], foreign: dict[str, JSON]) -> None:
        moved = [KEYS[name] for name in self._pushed.keys() | pushed.keys()]
        self._pushed, self._foreign = pushed, foreign
        if moved:
            self._put_in_force(moved)

    def _push_one(self, key: Key, value: JSON, pushed: dict[str, _Pushed]) -> None:
        if not key.note.live:
            # Clients send back whole what they were shown; the value in force asks for nothing.
            if value == key.shown(self._config):
                return
            raise ValueError(f"{key.name} takes hold at a restart: it is set in the file, or by `ahpd config set`")
        try:
            typed = key.kind.check(reveal(value, key.plain(self._config)), self.path.parent)
        except Wrong as wrong:
            raise ValueError(f"{key.name}: {complaint(key, wrong)}") from None
        if typed == get(self._beneath, key):
            pushed.pop(key.name, None)
        else:
            pushed[key.name] = _Pushed(typed, key.plain(self._beneath))

    def root_values(self) -> dict[str, JSON]:
        """RootState.config.values: the live keys with secrets hidden, and what clients keep there."""
        return {**self._foreign, **{key.name: key.shown(self._config) for key in KEYS.values() if key.note.live}}

    def root_state(self) -> ConfigState:
        """RootState.config."""
        return ConfigState(schema=root_schema(), values=self.root_values())

    def public(self, config: Mapping[str, JSON]) -> dict[str, JSON]:
        """A pushed config as other clients may see it: secrets hidden."""
        return {name: hide(KEYS[name], value) if name in KEYS else value for name, value in config.items()}

    def shows_otherwise(self, config: Mapping[str, JSON]) -> bool:
        """Whether a pushed config (its secrets hidden) is shown in another way now: a value has many spellings."""
        known = ((KEYS[name], value) for name, value in config.items() if name in KEYS)
        return any(key.note.live and key.shown(self._config) != value for key, value in known)

    def kept(self) -> JSON:
        """What must outlive the process, as plain data for `restore`. It may hold secrets."""
        pushed = {
            name: {"value": KEYS[name].kind.plain(each.value), "over": each.over} for name, each in self._pushed.items()
        }
        return {"pushed": pushed, "foreign": self._foreign}

    def restore(self, kept: JSON) -> None:
        """Take up what `kept` answered in an earlier process. What cannot be read any more is left out."""
        if not isinstance(kept, dict):
            return
        self._foreign = {**kept.get("foreign", {}), **self._foreign}
        for name, each in kept.get("pushed", {}).items():
            key = KEYS.get(name)
            if key is None or not key.note.live:
                continue
            try:
                self._pushed[name] = _Pushed(key.kind.check(each["value"], self.path.parent), each["over"])
            except (Wrong, KeyError, TypeError) as error:
                _log.warning("a kept setting is not taken up", key=name, error=str(error))
        self._settle()

    # From the file.

    def reload(self) -> None:
        """Read the file again. Raises ConfigError, and then nothing has changed."""
        values = file.read(self.path)
        before, self._file = self._file, values
        try:
            self._compose()
        except ConfigError:
            self._file = before
            raise
        self._settle()

    async def watch(self, *, task_status: trio.TaskStatus[None] = trio.TASK_STATUS_IGNORED) -> None:
        """Follow the file for ever: a change is taken, or logged while the old settings stay. Started when watching."""
        from watchfiles import awatch  # Slow to import; nothing waits for this.

        stop = trio.Event()
        places = _places(self.path)
        changes = awatch(
            *{place.parent for place in places},
            watch_filter=lambda _, path: Path(path) in places,
            stop_event=stop,
            recursive=False,
        )
        # awatch waits in a thread, which sees `stop` within 50 ms and a cancellation only after seconds.
        async with trio.open_nursery() as nursery, aclosing(changes):
            nursery.start_soon(_set_when_cancelled, stop)
            task_status.started()
            try:
                async for _ in changes:
                    self.reload_or_log()
            except (OSError, RuntimeError) as error:
                _log.warning("the file is no longer watched; changes take hold at a restart", path=self.path, exc=error)
            nursery.cancel_scope.cancel()

    def reload_or_log(self) -> None:
        """`reload`, for whom nobody asks: a wrong file is logged, and the settings stay as they are."""
        try:
            self.reload()
        except ConfigError as error:
            _log.error("the configuration is wrong, and the old one stays", error=str(error))
            return
        if self.waiting:
            _log.warning("settings wait for a restart", keys=self.waiting)

    # Composition.

    def _compose(self) -> Config:
        values = {**self._file, **self._environment, **self._flags}
        config = build(Config(), values)
        _check_whole(config, self._where)
        return config

    def _where(self, name: str) -> tuple[str, int | None]:
        if name in self._flags:
            return KEYS[name].flag, None
        if name in self._environment:
            return KEYS[name].variable, None
        return str(self.path), file.line_of_key(self.path, name)

    def _settle(self) -> None:
        """Bring `config` in line with what lies beneath the pushed values, which has changed."""
        composed = self._compose()
        self._beneath = build(self._started, {key.name: get(composed, key) for key in _LIVE})
        for key in _LIVE:
            pushed = self._pushed.get(key.name)
            if pushed is not None and key.plain(self._beneath) != pushed.over:
                del self._pushed[key.name]
        self._put_in_force(_LIVE)

    def _put_in_force(self, candidates: Iterable[Key]) -> None:
        """Make the `Config` anew where one of `candidates` may have changed, and tell who listens."""
        old = self._config
        new = build(self._beneath, {name: each.value for name, each in self._pushed.items()})
        changed = frozenset(key.name for key in candidates if get(old, key) != get(new, key))
        if changed:
            self._config = new
            if not changed.isdisjoint(MAY_HIDE):
                self._protect()
            for listener in self._listeners:
                listener(Change(old, new, changed))

    def _protect(self) -> None:
        for secret in secrets_of(self._config):
            log.protect(secret)


_LIVE = tuple(key for key in KEYS.values() if key.note.live)


def _check_whole(config: Config, where: Callable[[str], tuple[str, int | None]]) -> None:
    """What no key can say alone. Raises ConfigError."""
    tls = config.tls
    if (tls.cert_file is None) != (tls.key_file is None):
        there, missing = ("tls.certFile", "tls.keyFile") if tls.cert_file else ("tls.keyFile", "tls.certFile")
        raise ConfigError(*where(there), there, f"this needs {missing} beside it")


async def _set_when_cancelled(event: trio.Event) -> None:
    try:
        await trio.sleep_forever()
    finally:
        event.set()


def _places(path: Path) -> set[Path]:
    """Where the file's changes show: it may be a link into a person's dotfiles."""
    return {Path(os.path.abspath(path)), Path(os.path.realpath(path))}


def read_environment(environ: Mapping[str, str], base: Path) -> dict[str, object]:
    """The typed values of the variables AHPD_<KEY>; relative paths are below `base`. Raises ConfigError."""
    found = ((key, key.variable, environ.get(key.variable, "")) for key in KEYS.values())
    return {key.name: _parse(key, variable, text, base) for key, variable, text in found if text}


def read_flags(flags: Mapping[str, str | list[str]], base: Path) -> dict[str, object]:
    """The typed values of flags by key name, a list of texts where one may be repeated. Raises ConfigError."""
    values: dict[str, object] = {}
    for name, said in flags.items():
        key = KEYS[name]
        texts = [said] if isinstance(said, str) else said
        parsed = [_parse(key, key.flag, text, base) for text in texts]
        values[name] = tuple(itertools.chain(*parsed)) if isinstance(key.kind, Texts) else parsed[-1]
    return values


def _parse(key: Key, where: str, text: str, base: Path) -> Any:
    try:
        return key.kind.parse(text, base)
    except Wrong as wrong:
        raise ConfigError(where, None, key.name, complaint(key, wrong)) from None
