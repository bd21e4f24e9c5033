"""The table of keys: one declaration a key, which says everything there is to say about it.

A field of `Config` is a key: its name in the file is the attribute in camelCase, a nested `Section` makes it dotted
(`tls.certFile`), its annotation says its kind and its range, its default is the default. `live` keys take hold while
the daemon runs and may be pushed by clients; `restart` keys wait for the next start. To add a key is to add a field
here, and to run `python -m actors.config.example > config.example.toml`.

A `Config` is an immutable snapshot, never in parts old and in parts new.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Literal

from msgspec import Struct

from actors.log import Format, Level
from ahp.wire import JSON

__all__ = ["AgentEntry", "Config", "Http", "Note", "Section", "Tls"]


@dataclass(frozen=True)
class Note:
    """What the annotation of a key says beside its type."""

    sentence: str
    live: bool
    least: float | None = None
    most: float | None = None
    unit: str = ""
    flag: str | None = None
    """The flag's spelling where it is not the key's own."""
    secret: bool = False


def live(sentence: str, least: float | None = None, most: float | None = None, unit: str = "") -> Note:
    return Note(sentence, True, least, most, unit)


def restart(
    sentence: str, least: float | None = None, most: float | None = None, unit: str = "", flag: str | None = None
) -> Note:
    return Note(sentence, False, least, most, unit, flag)


def secret(sentence: str) -> Note:
    return Note(sentence, False, secret=True)


class Section(Struct, frozen=True, kw_only=True):
    """Keys under one dotted name."""


class Tls(Section, frozen=True):
    cert_file: Annotated[Path | None, restart("The certificate chain (PEM) to serve wss and https with.")] = None
    key_file: Annotated[Path | None, restart("The private key (PEM) of tls.certFile.")] = None


class Http(Section, frozen=True):
    no_proxy: Annotated[tuple[str, ...], live("Hosts that agents reach without a proxy.")] = ()


class ChatMoves(Section, frozen=True):
    enabled: Annotated[bool, live("Whether chats may be moved between sessions.")] = True


class AgentEntry(Section, frozen=True):
    """One backend, by its provider id."""

    enabled: Annotated[bool, restart("Whether it is offered.")] = True
    command: Annotated[tuple[str, ...], restart("The program to run and its arguments, where it is one.")] = ()
    cwd: Annotated[Path | None, restart("The folder to start it in; empty for the session's.")] = None
    env: Annotated[dict[str, str], secret("Variables for it, over the daemon's own.")] = {}
    options: Annotated[dict[str, JSON], restart("Whatever else this backend takes.")] = {}


class Config(Struct, frozen=True, kw_only=True):
    """Every setting, in force at one moment."""

    host: Annotated[str, restart("The address to listen on; 0.0.0.0 or :: lets other machines in.")] = "127.0.0.1"
    port: Annotated[int, restart("The TCP port to listen on; 0 picks a free one.", 0, 65535)] = 7777
    unix_socket: Annotated[Path | None, restart("A Unix socket to listen on too.", flag="--unix")] = None
    tls: Tls = Tls()
    token: Annotated[str, secret("The connection token; empty for the one in the token file, made at first start.")] = (
        ""
    )
    allowed_origins: Annotated[
        tuple[str, ...], restart("Origins of web pages that may connect, such as https://vscode.dev.")
    ] = ()
    allowed_hosts: Annotated[
        tuple[str, ...], restart("Names, beside its addresses and localhost, under which this host may be reached.")
    ] = ()
    max_connections: Annotated[int, restart("How many connections may be open at once.", 1)] = 1000
    max_frame_bytes: Annotated[int, restart("The longest message taken from a client.", 65_536, unit="bytes")] = (
        67_108_864
    )
    outbox_limit_bytes: Annotated[
        int, restart("How much may wait for a slow client before it is sent away to reconnect.", 65_536, unit="bytes")
    ] = 33_554_432
    replay_window: Annotated[int, restart("How many actions a client that lost its connection can catch up on.", 0)] = (
        10_000
    )
    replay_window_bytes: Annotated[int, restart("How much memory those may take.", 0, unit="bytes")] = 16_777_216
    default_agent: Annotated[
        str, Note("The agent of a session that names none; empty for the first.", live=True, flag="--agent")
    ] = ""
    agents: Annotated[dict[str, AgentEntry], restart("The agents (backends) by id.")] = {}
    session_idle_ms: Annotated[
        int, live("How long a session nobody watches stays in memory; 0 lets it stay for ever.", 0, unit="milliseconds")
    ] = 900_000
    client_tool_timeout_ms: Annotated[
        int, restart("How long a tool call that a client runs may wait for it; 0 for ever.", 0, unit="milliseconds")
    ] = 600_000
    client_tool_call_disconnect_timeout_ms: Annotated[
        int,
        restart(
            "How long a client whose connections are all lost keeps its place and its tool calls; 0 not at all.",
            0,
            unit="milliseconds",
        ),
    ] = 30_000
    advanced_tools: Annotated[
        bool, live("Offer the tools that declare advancedPermission to every session's model.")
    ] = False
    session_tools: Annotated[bool, live("Whether the session tools are offered at all.")] = True
    session_tools_providers: Annotated[
        tuple[str, ...], live("Offer the session tools to the sessions of these providers alone; empty for every one.")
    ] = ()
    title_strategy: Annotated[
        Literal["deferred", "activeAgent", "utility"],
        live(
            "Who names chats: deferred, this host after the first message; activeAgent, the agent; utility, a utility."
        ),
    ] = "deferred"
    agent_orchestration_limits: Annotated[
        Literal["on", "off"], live("Whether what agents start on their own is bounded: spawn depth and hourly counts.")
    ] = "on"
    agent_orchestration_limits_scope: Annotated[
        Literal["tree", "session"], live("What the hourly counts are kept for: a tree of sessions, or each session.")
    ] = "tree"
    chat_moves: ChatMoves = ChatMoves()
    stream_save_interval_ms: Annotated[
        int, live("How often a reply that streams is saved.", 50, 600_000, unit="milliseconds")
    ] = 1_000
    durability: Annotated[
        Literal["full", "process"],
        restart("full: what was acknowledged survives a power cut; process: only the daemon's end, but it is faster."),
    ] = "full"
    worktree_root: Annotated[
        Path | None, live("Where git worktrees are made; empty for beside the repository, in <repository>.worktrees.")
    ] = None
    resource_roots: Annotated[
        tuple[Path, ...], restart("The folders clients may reach files in; empty for all that this user may.")
    ] = ()
    http: Http = Http()
    log_level: Annotated[Level, live("The least important kind of line that is logged.")] = "info"
    log_format: Annotated[Format, restart("How log lines are written.")] = "logfmt"
    log_file_bytes: Annotated[
        int, restart("The size at which the log file is turned over; three old ones are kept.", 10_000, unit="bytes")
    ] = 10_000_000
