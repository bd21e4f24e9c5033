"""`ahpd token`: the connection token, shown or made anew."""

from __future__ import annotations

import signal

from actors import folders, processes, runfile
from actors.cli.context import Context, Exit, Failure, say
from actors.door.errors import DoorError
from actors.door.token import load_or_create, rotate

__all__ = ["token", "token_of"]


def token(context: Context) -> int:
    """`show` (the usual) prints the token that clients need; `rotate` makes another one, which is in force at once."""
    try:
        say(_rotate(context) if getattr(context.arguments, "action", "show") == "rotate" else token_of(context))
    except DoorError as error:
        raise Failure(str(error)) from None
    return Exit.DONE


def token_of(context: Context) -> str:
    """The token of the daemon that runs here, or would. Made where there is none yet. Raises DoorError."""
    said = _configured(context)
    if said:
        return said
    folders.ensure(context.folders)
    return load_or_create(context.folders.token_file).token


def _rotate(context: Context) -> str:
    if _configured(context):
        raise Failure("the token is set by the configuration (key token): change it there, and restart")
    folders.ensure(context.folders)
    made = rotate(context.folders.token_file)
    found = runfile.running(context.folders.run_file)
    if found is not None:
        processes.signal_process(found.pid, signal.SIGHUP)
    return made


def _configured(context: Context) -> str | None:
    """The token that stands in for the token file's, if one does."""
    found = runfile.running(context.folders.run_file)
    return found.token if found is not None else context.settings().config.token
