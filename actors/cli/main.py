"""The entry point: from what was typed to the verb's function and its exit code."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Sequence
from importlib import import_module
from importlib.metadata import version

from actors.cli.arguments import make_parser
from actors.cli.context import Context, Exit, Failure, say
from actors.config import ConfigError
from actors.folders import FoldersError

__all__ = ["main"]

_VERBS = {
    "start": ("actors.cli.background", "start"),
    "stop": ("actors.cli.background", "stop"),
    "restart": ("actors.cli.background", "restart"),
    "status": ("actors.cli.status", "status"),
    "logs": ("actors.cli.logs", "logs"),
    "doctor": ("actors.cli.doctor", "doctor"),
    "config": ("actors.cli.configure", "configure"),
    "token": ("actors.cli.token", "token"),
    "sessions": ("actors.cli.sessions", "sessions"),
    "audit": ("actors.cli.audit", "audit"),
    "chat": ("actors.cli.chat", "chat"),
}
_STARTING = frozenset({"start", "restart", "doctor"})


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command, and answer its exit code."""
    arguments = make_parser().parse_args(argv)
    context = Context(arguments, os.environ)
    try:
        return int(_run(context))
    except (ConfigError, FoldersError) as error:
        return _complain(str(error), Exit.WRONG)
    except Failure as error:
        return _complain(str(error), error.code)
    except KeyboardInterrupt:
        return Exit.INTERRUPTED


def _run(context: Context) -> int:
    arguments = context.arguments
    if getattr(arguments, "version", False):
        say(f"ahpd {version('ahpd')}")
        return Exit.DONE
    verb = arguments.verb
    if verb is None:
        # Imported when needed: a verb should not wait for the whole daemon to load.
        serve: Callable[[Context], int] = import_module("actors.cli.serve").serve
        return serve(context)
    if verb not in _STARTING:
        context.refuse_settings(verb)
    module, name = _VERBS[verb]
    run: Callable[[Context], int] = getattr(import_module(module), name)
    return run(context)


def _complain(sentence: str, code: Exit) -> int:
    print(f"ahpd: {sentence}", file=sys.stderr)
    return code
