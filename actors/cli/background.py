"""`ahpd start`, `stop` and `restart`: the daemon in the background."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from argparse import Namespace
from pathlib import Path

from actors import folders, processes, runfile
from actors.cli.context import KEY_PREFIX, Context, Exit, Failure, say
from actors.cli.health import answers
from actors.config import KEYS
from actors.runfile import RunFile

__all__ = ["restart", "start", "stop"]

_LOOK_EVERY = 0.05
_START_SECONDS = 30.0
_STOP_SECONDS = 15.0


def start(context: Context) -> int:
    """Start the daemon, and wait until it answers; where it dies, show why."""
    found = runfile.running(context.folders.run_file)
    if found is not None:
        raise Failure(f"a daemon runs already: process {found.pid}, {', '.join(found.websocket)}")
    context.settings()  # What is wrong with them is said here, not in a log.
    folders.ensure(context.folders)
    log_file = context.folders.log_file
    before = log_file.stat().st_size if log_file.exists() else 0
    child = _spawn(context)
    deadline = time.monotonic() + getattr(context.arguments, "wait", _START_SECONDS)
    while time.monotonic() < deadline:
        if child.poll() is not None:
            raise Failure(_why_it_died(child.returncode, context.folders.crash_file, log_file, before))
        found = runfile.running(context.folders.run_file)
        if found is not None and found.pid == child.pid and answers(found):
            _report(found)
            return Exit.DONE
        time.sleep(_LOOK_EVERY)
    raise Failure(f"process {child.pid} was started but does not answer yet; `ahpd logs` shows what it does")


def stop(context: Context) -> int:
    """Ask the daemon to end, and wait until it has."""
    found = context.daemon()
    _stop(context, found)
    return Exit.DONE


def restart(context: Context) -> int:
    """Stop the daemon where one runs, and start it; with the flags it had, and those given now over them."""
    found = runfile.running(context.folders.run_file)
    if found is not None:
        kept = {KEY_PREFIX + name: value for name, value in found.flags.items() if name in KEYS}
        if found.config_file not in (None, str(context.folders.config_file)):
            kept["config"] = found.config_file
        context = Context(Namespace(**{**kept, **vars(context.arguments)}), context.environ)
    context.settings()  # What is wrong is said before the one that works is stopped.
    if found is not None:
        _stop(context, found)
    return start(context)


def _spawn(context: Context) -> subprocess.Popen[bytes]:
    """A process of its own session, without a terminal, whose last words go to the crash file."""
    arguments, environment = _for_the_child(context)
    crash = os.open(context.folders.crash_file, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, 0o600)
    try:
        return subprocess.Popen(
            [sys.executable, "-m", "actors.cli", "--detached", *arguments],
            stdin=subprocess.DEVNULL,
            stdout=crash,
            stderr=crash,
            env=environment,
            start_new_session=True,
        )
    finally:
        os.close(crash)


def _for_the_child(context: Context) -> tuple[list[str], dict[str, str]]:
    """The same wishes, as arguments; secrets by the environment, because everybody can read a command line."""
    arguments: list[str] = []
    environment = dict(context.environ)
    places = context.folders
    for name, path in zip(folders.FOLDER_NAMES, places.all, strict=True):
        arguments += [f"--{name}-dir", str(path)]
    if context.config_file != places.config_file:
        arguments += ["--config", str(context.config_file)]
    for name, value in vars(context.arguments).items():
        if not name.startswith(KEY_PREFIX):
            continue
        key = KEYS[name.removeprefix(KEY_PREFIX)]
        if key.note.secret:
            environment[key.variable] = value
        elif isinstance(value, list):
            arguments += [f"{key.flag}={item}" for item in value]
        elif value in ("true", "false"):
            arguments.append(key.flag if value == "true" else "--no-" + key.flag.removeprefix("--"))
        else:
            arguments.append(f"{key.flag}={value}")
    return arguments, environment


def _why_it_died(code: int, crash_file: Path, log_file: Path, before: int) -> str:
    words = crash_file.read_text(errors="replace").strip()
    with log_file.open("rb") if log_file.exists() else open(os.devnull, "rb") as file:
        file.seek(before)
        lines = file.read()[-20_000:].decode(errors="replace").splitlines()[-10:]
    how = f"with exit code {code}" if code >= 0 else f"by {signal.Signals(-code).name}"
    last = [*words.splitlines()[-10:], *([] if words else lines)]
    return "\n  ".join([f"the daemon ended at once, {how}:", *(last or ["it said nothing"])])


def _report(found: RunFile) -> None:
    say(f"started: process {found.pid}")
    for url in [*found.websocket, *([f"unix:{found.unix}"] if found.unix else [])]:
        say(f"  {url}")


def _stop(context: Context, found: RunFile) -> None:
    arguments = context.arguments
    timeout: float = getattr(arguments, "timeout", _STOP_SECONDS)
    try:
        processes.signal_process(found.pid, signal.SIGTERM)
    except PermissionError:
        raise Failure(f"process {found.pid} belongs to somebody else: run this as that user") from None
    began = time.monotonic()
    if _wait_gone(found, timeout):
        say(f"stopped: process {found.pid} ended after {time.monotonic() - began:.1f} s")
    elif getattr(arguments, "force", False):
        processes.signal_process(found.pid, signal.SIGKILL)
        if not _wait_gone(found, 5):
            raise Failure(f"process {found.pid} cannot be killed now: the system holds it")
        say(f"killed: process {found.pid} did not end within {timeout:g} s")
    else:
        raise Failure(f"process {found.pid} was asked to end and still runs after {timeout:g} s; --force kills it")
    runfile.remove(context.folders.run_file, found.pid)


def _wait_gone(found: RunFile, timeout: float) -> bool:
    deadline = time.monotonic() + timeout
    while found.alive:
        if time.monotonic() >= deadline:
            return False
        time.sleep(_LOOK_EVERY)
    return True
