"""The examinations of `ahpd doctor`, each of one thing. They look and touch nothing."""

from __future__ import annotations

import errno
import ipaddress
import os
import shutil
import socket
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from actors import folders as places
from actors import processes, runfile
from actors.cli.context import Context
from actors.cli.health import answers
from actors.config import KEYS, Config, ConfigError
from actors.config.keys import secrets_of
from actors.config.kinds import did_you_mean
from actors.runfile import RunFile
from actors.store.lock import holder

__all__ = [
    "Finding",
    "Patient",
    "agents",
    "configuration",
    "environment",
    "folders",
    "git",
    "listener",
    "port",
    "run_file",
    "store",
    "token_file",
]

_ROOM = 100 * 2**20
_SOCKET_PATH = 100
_OTHER_VARIABLES = frozenset(
    {"AHPD_HOME", "AHPD_CONFIG", *(f"AHPD_{name.upper()}_DIR" for name in places.FOLDER_NAMES)}
)


@dataclass(frozen=True)
class Finding:
    """`wrong` is something to mend, a `note` something to know."""

    sentence: str
    todo: str = ""
    kind: Literal["wrong", "note"] = "wrong"


@dataclass(frozen=True)
class Patient:
    """What is examined. `config` is all defaults where the file is broken; `running` the daemon that runs here."""

    context: Context
    config: Config
    running: RunFile | None


def configuration(patient: Patient, broken: ConfigError | None) -> Iterator[Finding]:
    file = patient.context.config_file
    if broken is not None:
        where = f"line {broken.line} of {broken.path}" if broken.line is not None else broken.path
        yield Finding(str(broken), f"correct {where}; config.example.toml explains every key")
        yield Finding("what follows is looked at as if nothing were configured", kind="note")
    elif not file.exists():
        yield Finding(f"there is no {file}, and every key has its default", kind="note")
    if file.exists() and _loose(file) and any(secrets_of(patient.config)):
        yield Finding(f"{file} holds secrets and others may read it ({_mode(file)})", f"chmod 600 {file}")
    tls = patient.config.tls
    for pem in (tls.cert_file, tls.key_file):
        if pem is not None and not os.access(pem, os.R_OK):
            yield Finding(f"{pem} (tls) cannot be read", "put it there, and let this user read it")


def folders(patient: Patient) -> Iterator[Finding]:
    context = patient.context
    found = context.folders
    used = any(file.exists() for file in (found.store_file, found.token_file, found.log_file))
    for name, folder in zip(places.FOLDER_NAMES, found.all, strict=True):
        if folder.is_dir():
            yield from _examine_folder(name, folder)
        elif folder.exists():
            yield Finding(f"the {name} folder {folder} is no folder", "move that file away")
        elif not _can_make(folder):
            yield Finding(
                f"the {name} folder {folder} is missing and cannot be made here",
                f"make it (mkdir -p {folder}), or choose another with --{name}-dir or --home",
            )
        elif used or _was_asked_for(context, name):
            yield Finding(f"the {name} folder {folder} is missing", f"mkdir -m 700 -p {folder}, or start the daemon")
        else:
            yield Finding(f"the {name} folder {folder} is not there yet; the first start makes it", kind="note")


def _examine_folder(name: str, folder: Path) -> Iterator[Finding]:
    if not os.access(folder, os.R_OK | os.W_OK | os.X_OK):
        yield Finding(f"the {name} folder {folder} cannot be written by this user", f"chmod u+rwx {folder}")
    if _loose(folder):
        yield Finding(f"the {name} folder {folder} is open to others ({_mode(folder)})", f"chmod 700 {folder}")


def _was_asked_for(context: Context, name: str) -> bool:
    asked = (context.said("home"), context.said(f"{name}_dir"))
    return any(asked) or any(context.environ.get(each) for each in ("AHPD_HOME", f"AHPD_{name.upper()}_DIR"))


def _can_make(folder: Path) -> bool:
    above = next(parent for parent in folder.parents if parent.exists())
    return above.is_dir() and os.access(above, os.W_OK | os.X_OK)


def environment(patient: Patient) -> Iterator[Finding]:
    known = {key.variable for key in KEYS.values()} | _OTHER_VARIABLES
    for name in sorted(patient.context.environ):
        if name.startswith("AHPD_") and name not in known:
            yield Finding(f"{name} is set, and means nothing here{did_you_mean(name, known)}", f"unset {name}")


def run_file(patient: Patient) -> Iterator[Finding]:
    path = patient.context.folders.run_file
    found = runfile.read(path)
    if found is None and path.exists():
        yield Finding(f"{path} cannot be read as a run file", f"rm {path}")
    elif found is not None and not found.alive:
        yield Finding(
            f"{path} was left behind by process {found.pid}, which is gone (killed, or the machine went down)",
            f"nothing is lost: `ahpd start` replaces it, or rm {path}",
        )
    elif found is not None and not answers(found):
        yield Finding(f"process {found.pid} runs but does not answer", "`ahpd logs` shows what it does; `ahpd restart`")


def store(patient: Patient) -> Iterator[Finding]:
    path = patient.context.folders.store_file
    try:
        held = holder(path)
    except OSError as error:
        yield Finding(
            f"{path}.lock cannot be looked at: {error.strerror}", f"let this user read and write {path.parent}"
        )
        return
    if held is not None and (patient.running is None or held.pid != patient.running.pid):
        who = "another process" if held.pid is None else _who(held.pid)
        since = f", since {held.since}" if held.since else ""
        todo = "stop it" if held.pid is None else f"stop it (kill {held.pid})"
        yield Finding(f"the store {path} is locked by {who}{since}", f"{todo}, or choose another folder with --home")
    for file in (path, path.with_name(f"{path.name}-wal"), path.with_name(f"{path.name}-shm")):
        if file.exists() and not os.access(file, os.R_OK | os.W_OK):
            yield Finding(f"{file} cannot be read and written by this user", f"chmod u+rw {file}")
    if path.parent.is_dir() and shutil.disk_usage(path.parent).free < _ROOM:
        yield Finding(f"less than {_ROOM // 2**20} MiB are free in {path.parent}", "make room there")


def token_file(patient: Patient) -> Iterator[Finding]:
    path = patient.context.folders.token_file
    configured = patient.running.token if patient.running is not None else patient.config.token
    if configured:
        return
    if not path.exists():
        if patient.running is not None:
            yield Finding(f"the token file {path} is missing, and a daemon runs", "`ahpd restart` makes a new one")
        elif path.parent.is_dir():
            yield Finding(f"there is no token file {path} yet; the first start makes it", kind="note")
    elif not os.access(path, os.R_OK):
        yield Finding(f"the token file {path} cannot be read by this user", f"chmod 600 {path}")
    elif _loose(path):
        todo = f"chmod 600 {path}; `ahpd token rotate` makes another where somebody may have read it"
        yield Finding(f"the token file {path} is open to others ({_mode(path)})", todo)
    elif not path.read_text(errors="replace").strip():
        yield Finding(f"the token file {path} is empty", f"rm {path}: the next start makes a new one")


def port(patient: Patient) -> Iterator[Finding]:
    """Whether the daemon could listen, where none of ours does already."""
    host, number = patient.config.host, patient.config.port
    unix = patient.config.unix_socket
    if unix is not None and len(os.fsencode(unix)) > _SOCKET_PATH:
        yield Finding(
            f"the path of the Unix socket is too long for the system: {unix}", "choose one of 100 bytes at most"
        )
    if patient.running is not None:
        return
    try:
        addresses = socket.getaddrinfo(host, number, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)
    except (socket.gaierror, UnicodeError):
        yield Finding(
            f"nobody knows the host {host}", "`ahpd config set host 127.0.0.1`, or an address of this machine"
        )
        return
    for family, _, _, _, address in addresses:
        with socket.socket(family, socket.SOCK_STREAM) as tried:
            tried.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            try:
                tried.bind(address)
                tried.listen(1)
            except OSError as error:
                yield _not_bound(error, host, number)
                return


def _not_bound(error: OSError, host: str, number: int) -> Finding:
    if error.errno == errno.EADDRINUSE:
        pid = processes.listener_on(number)
        who = "another process" if pid is None else _who(pid)
        return Finding(
            f"port {number} of {host} is taken by {who}", "stop it, or `ahpd config set port 0` for a free one"
        )
    if error.errno == errno.EACCES:
        return Finding(f"this user may not listen on port {number}", "`ahpd config set port` with one above 1023")
    if error.errno == errno.EADDRNOTAVAIL:
        return Finding(f"{host} is no address of this machine", "`ahpd config set host 127.0.0.1`")
    return Finding(f"port {number} of {host} cannot be listened on: {error.strerror}", "choose another")


def listener(patient: Patient) -> Iterator[Finding]:
    host = patient.config.host
    if _is_local(host):
        return
    if patient.config.tls.cert_file is None:
        yield Finding(
            f"{host} lets other machines in, and without TLS the token and all that is said can be read on the way",
            "`ahpd config set host 127.0.0.1` (and ssh -L for the others), or set tls.certFile and tls.keyFile",
        )
    else:
        yield Finding(f"{host} lets other machines in; the token is all that keeps them out", kind="note")
    if not patient.config.allowed_hosts:
        yield Finding("allowedHosts is empty: a client that uses this machine's name is turned away", kind="note")


def agents(patient: Patient) -> Iterator[Finding]:
    for name, entry in patient.config.agents.items():
        if entry.enabled and entry.command and shutil.which(entry.command[0]) is None:
            todo = f"install it, correct agents.{name}.command, or `ahpd config set agents.{name}.enabled false`"
            yield Finding(f"the program of the agent {name} is not there: {entry.command[0]}", todo)


def git(_: Patient) -> Iterator[Finding]:
    if shutil.which("git") is None:
        yield Finding("git is not installed: there are no worktrees, and no changes to show", "install git")
        return
    try:
        subprocess.run(["git", "--version"], capture_output=True, timeout=10, check=True)
    except (OSError, subprocess.SubprocessError) as error:
        yield Finding(f"git does not run: {error}", "see why `git --version` fails")


def _who(pid: int) -> str:
    command = processes.command_of(pid)
    return f"process {pid}" + (f" ({command})" if command else "")


def _is_local(host: str) -> bool:
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def _loose(path: Path) -> bool:
    return bool(path.stat().st_mode & 0o077)


def _mode(path: Path) -> str:
    return f"mode {path.stat().st_mode & 0o777:03o}"
