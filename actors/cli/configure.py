"""`ahpd config`: the configuration file, read and written key by key."""

from __future__ import annotations

import json

from actors import folders, runfile
from actors.cli.context import Context, Exit, Failure, say
from actors.config import KEYS, ConfigError, Key, find_key, set_key, unset_key
from actors.config.keys import SET
from ahp.wire import JSON

__all__ = ["configure"]


def configure(context: Context) -> int:
    """One of `get`, `set`, `unset`, `list`, `path`."""
    action = context.arguments.action
    if action == "path":
        say(str(context.config_file))
    elif action == "get":
        _get(context)
    elif action == "list":
        _list(context)
    else:
        _write(context, action)
    return Exit.DONE


def _get(context: Context) -> None:
    key, steps = find_key(context.arguments.key)
    value = key.shown(context.settings().config)
    for step in steps[len(key.name.split(".")) :]:
        if not isinstance(value, dict) or step not in value:
            raise Failure(f"{context.arguments.key} is not set")
        value = value[step]
    say(value if isinstance(value, str) else json.dumps(value))


def _list(context: Context) -> None:
    settings = context.settings()
    changed = getattr(context.arguments, "changed", False)
    rows = [
        (key, key.shown(settings.config), settings.origin(name))
        for name, key in KEYS.items()
        if not changed or settings.origin(name) != "default"
    ]
    if getattr(context.arguments, "json", False):
        say(json.dumps({key.name: {"value": value, "from": origin} for key, value, origin in rows}, indent=2))
        return
    for key, value, origin in rows:
        say(f"{key.name} = {json.dumps(value)}" + ("" if origin == "default" else f"  # {_named(key, origin)}"))


def _named(key: Key, origin: str) -> str:
    return {"environment": key.variable, "file": "file"}.get(origin, origin)


def _write(context: Context, action: str) -> None:
    arguments = context.arguments
    folders.ensure(context.folders)
    path = context.config_file
    key, _ = find_key(arguments.key)
    try:
        if action == "set":
            values: list[str] = arguments.value
            if values == [SET]:
                raise Failure(f"{SET} only stands for a secret where one is shown; give the value itself")
            value: JSON = values[0] if len(values) == 1 else values
            set_key(path, arguments.key, value)
        elif not unset_key(path, arguments.key):
            raise Failure(f"{arguments.key} is not in {path}")
    except OSError as error:
        raise ConfigError(str(path), None, None, f"cannot be written: {error.strerror}") from None
    say(f"{path}: {arguments.key} {'is set' if action == 'set' else 'is taken out'}{_when(context, key)}")


def _when(context: Context, key: Key) -> str:
    """When it takes hold, and whether something else wins over the file."""
    origin = context.settings().origin(key.name)
    if origin == "environment":
        return f"; but {key.variable} is set here, and wins"
    if runfile.running(context.folders.run_file) is None:
        return ""
    return ", and takes hold now" if key.note.live else "; `ahpd restart` makes it take hold"
