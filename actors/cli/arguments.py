"""What can be typed: the verbs, and a flag for every key of the configuration."""

from __future__ import annotations

import argparse
from typing import Any

from actors.cli.context import KEY_PREFIX
from actors.config import KEYS
from actors.config.kinds import Bool, Texts
from actors.folders import FOLDER_NAMES

__all__ = ["make_parser"]

_EPILOG = """\
Without a verb the daemon runs in the foreground and prints its addresses.
Exit codes: 0 done, 1 failed, 2 wrong arguments or configuration, 3 no daemon runs here, 130 interrupted.
"""


def make_parser() -> argparse.ArgumentParser:
    """The parser. What was not typed is not in what it answers, so that a flag may stand before or after the verb."""
    places, settings = _places(), _settings()
    parser = argparse.ArgumentParser(
        prog="ahpd",
        usage="ahpd [flags] [verb …]   (ahpd verb --help says more of one verb)",
        description="A personal daemon that hosts AI agent sessions over the Agent Host Protocol.",
        epilog=_EPILOG,
        parents=[places, settings],
        formatter_class=argparse.RawDescriptionHelpFormatter,
        argument_default=argparse.SUPPRESS,
        allow_abbrev=False,
    )
    parser.add_argument("--version", action="store_true", help="print the version and leave")
    parser.add_argument("--stdio", action="store_true", help="speak over stdin and stdout with the one who started it")
    parser.add_argument("--detached", action="store_true", help=argparse.SUPPRESS)
    verbs = parser.add_subparsers(dest="verb", metavar="verb", title="verbs", prog="ahpd")

    def verb(name: str, sentence: str, *more: argparse.ArgumentParser) -> argparse.ArgumentParser:
        return verbs.add_parser(
            name,
            help=sentence,
            description=sentence[0].upper() + sentence[1:] + ".",
            parents=[places, *more],
            argument_default=argparse.SUPPRESS,
            allow_abbrev=False,
        )

    for name in ("start", "restart"):
        started = verb(name, f"{name} the daemon in the background, and wait until it answers", settings)
        started.add_argument("--wait", type=float, metavar="SECONDS", help="how long to wait for it (30)")
        if name == "restart":
            _add_stopping(started)
    _add_stopping(verb("stop", "end the daemon"))
    status = verb("status", "say whether a daemon runs here, where it is reached and how it is")
    status.add_argument("--json", action="store_true", help="for programs")
    logs = verb("logs", "show the log")
    logs.add_argument("-f", "--follow", action="store_true", help="go on as lines come")
    logs.add_argument("-n", "--lines", type=_count, metavar="N", help="how many of the last lines (50)")
    logs.add_argument("--raw", action="store_true", help="lines as they are in the file")
    audit = verb("audit", "show which host tools agents called, and with what outcome")
    audit.add_argument("-n", "--lines", type=_count, metavar="N", help="how many of the last calls (50)")
    audit.add_argument("--session", metavar="URI", help="of this session alone")
    audit.add_argument("--tool", metavar="NAME", help="of this tool alone")
    audit.add_argument("--json", action="store_true", help="for programs")
    doctor = verb("doctor", "look for what is wrong, and say what to do", settings)
    doctor.add_argument("--json", action="store_true", help="for programs")
    _add_config(verb("config", "read and write the configuration file"))
    token = verb("token", "show the connection token, or make a new one")
    token.add_argument("action", nargs="?", choices=("show", "rotate"), default="show")
    _add_sessions(verb("sessions", "list, show and delete sessions of the running daemon", _reached()))
    _add_chat(verb("chat", "talk to an agent of the running daemon", _reached()))
    return parser


def _places() -> argparse.ArgumentParser:
    parent = argparse.ArgumentParser(add_help=False, argument_default=argparse.SUPPRESS)
    group = parent.add_argument_group("where things are")
    group.add_argument("--home", metavar="DIR", help="keep everything under DIR (AHPD_HOME)")
    group.add_argument("--config", metavar="FILE", help="the configuration file (AHPD_CONFIG)")
    for name in FOLDER_NAMES:
        group.add_argument(f"--{name}-dir", metavar="DIR", help=f"the {name} folder alone (AHPD_{name.upper()}_DIR)")
    return parent


def _settings() -> argparse.ArgumentParser:
    parent = argparse.ArgumentParser(add_help=False, argument_default=argparse.SUPPRESS)
    group = parent.add_argument_group("settings, over those of the file and the environment")
    for key in KEYS.values():
        options: dict[str, Any] = {"dest": KEY_PREFIX + key.name, "help": key.note.sentence.replace("%", "%%")}
        if isinstance(key.kind, Bool):
            group.add_argument(key.flag, action=_Switch, nargs=0, **options)
            group.add_argument("--no-" + key.flag.removeprefix("--"), action=_Switch, nargs=0, **options | _SILENT)
        elif isinstance(key.kind, Texts):
            group.add_argument(key.flag, action="append", metavar="ITEM", **options)
        else:
            group.add_argument(key.flag, metavar=key.flag.rpartition("-")[2].upper(), **options)
    return parent


_SILENT = {"help": argparse.SUPPRESS}


class _Switch(argparse.Action):
    """`--key` and `--no-key`, as the text that the key's kind reads."""

    def __call__(
        self, parser: argparse.ArgumentParser, namespace: argparse.Namespace, values: object, option: str | None = None
    ) -> None:
        setattr(namespace, self.dest, "false" if option is not None and option.startswith("--no-") else "true")


def _add_stopping(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--timeout", type=float, metavar="SECONDS", help="how long it may take to end (15)")
    parser.add_argument("--force", action="store_true", help="kill it when it takes longer")


def _add_config(parser: argparse.ArgumentParser) -> None:
    actions = parser.add_subparsers(dest="action", metavar="action", required=True, prog="ahpd config")

    def action(name: str, sentence: str) -> argparse.ArgumentParser:
        return actions.add_parser(name, help=sentence, description=sentence, argument_default=argparse.SUPPRESS)

    action("get", "print the value of a key").add_argument("key")
    setting = action("set", "write a key to the file; several values make a list")
    setting.add_argument("key")
    setting.add_argument("value", nargs="+")
    action("unset", "take a key out of the file, so that it has its default").add_argument("key")
    listing = action("list", "print every key with its value and where it comes from")
    listing.add_argument("--changed", action="store_true", help="only those that are not at their default")
    listing.add_argument("--json", action="store_true", help="for programs")
    action("path", "print where the file is")


def _reached() -> argparse.ArgumentParser:
    """For what talks to a daemon, also to one on another machine."""
    parent = argparse.ArgumentParser(add_help=False, argument_default=argparse.SUPPRESS)
    group = parent.add_argument_group("which daemon (the one that runs here, unless said)")
    group.add_argument("--url", metavar="URL", help="ws://…, wss://… or unix:/path of a daemon")
    group.add_argument("--token", dest="client_token", metavar="TOKEN", help="its connection token")
    return parent


def _add_sessions(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("action", nargs="?", choices=("list", "show", "delete"), default="list")
    parser.add_argument(
        "session", nargs="*", metavar="ID", default=[], help="a session's id, its beginning, or its URI"
    )
    parser.add_argument("--json", action="store_true", help="for programs")


def _add_chat(parser: argparse.ArgumentParser) -> None:
    which = parser.add_mutually_exclusive_group()
    which.add_argument("--session", metavar="ID", help="go on with this session (its id, its beginning, or its URI)")
    which.add_argument("--new", action="store_true", help="begin a session (as without any of these)")
    which.add_argument("--last", action="store_true", help="go on with the session that was used last")
    parser.add_argument("--agent", dest="chat_agent", metavar="A", help="the agent of a new session")
    parser.add_argument("--folder", metavar="DIR", help="the folder a new session works in (this one)")
    parser.add_argument("--approve", choices=("ask", "all", "none"), help="what to do with tool calls that need a yes")
    parser.add_argument("message", nargs="*", default=[], help="say this, print the reply and leave")


def _count(text: str) -> int:
    number = int(text)
    if number < 0:
        raise ValueError(text)
    return number
