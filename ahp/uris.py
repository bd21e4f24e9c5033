"""Every URI of the protocol, read and written in one place: channels, open links, files.

Ids are kept as they stand in the URI (escaped), so that `builder(parse(uri).id)` is `uri` again; the builders
escape what cannot stand there. No other module may take a URI apart. Anybody may call this one; it keeps
no state.
"""

import os
import re
from pathlib import Path
from typing import Literal, TypeAlias
from urllib.parse import parse_qs, quote, unquote, unquote_to_bytes, urlsplit

from msgspec import Struct

__all__ = [
    "AUTOMATIONS",
    "ROOT",
    "BadUri",
    "Channel",
    "Kind",
    "OpenLink",
    "annotations",
    "changeset",
    "chat",
    "file_uri",
    "format_link",
    "parse",
    "parse_link",
    "path_of",
    "resource_watch",
    "scheme_of",
    "session",
    "session_alias",
    "terminal",
]

ROOT = "ahp-root://"
"""The channel of the connection and of the catalogue."""

AUTOMATIONS = "ahp-automations://"
"""The channel of a host's automations, where it has any."""

Kind: TypeAlias = Literal[
    "root",
    "session",
    "chat",
    "terminal",
    "changeset",
    "annotations",
    "resourceWatch",
    "automation",
    "automationRun",
]
"""What a channel is; also the prefix of its action types (`resourceWatch/changed`)."""

LINK_SCHEME = "agent-host-session"

_SCHEME = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*")
_OPAQUE: dict[str, Kind] = {
    "ahp-chat": "chat",
    "ahp-terminal": "terminal",
    "ahp-resource-watch": "resourceWatch",
    "ahp-automation-run": "automationRun",
}
# Schemes that never name an agent provider, so `<scheme>:/<id>` is no alias of a session.
_FOREIGN = frozenset({"file", "http", "https", "ws", "wss", "data", "mcp", "git", "untitled", "unix", LINK_SCHEME})
# What may stand in an id unescaped. `%` stays, because an id may be escaped already.
_ID_SAFE = "%:@!$&'()*+,;=~"


class BadUri(ValueError):
    """The text is no URI of the wanted kind. The message is a sentence for the person who sent it."""


class Channel(Struct, frozen=True, kw_only=True):
    """A channel URI taken apart.

    `uri` is the text that was parsed. `session` is the URI of the owning session where the URI itself says it
    (annotations, changesets), `provider` is set when a session was named by its alias, `name` is the
    changeset's name (`uncommitted`, `turn/<id>`).
    """

    kind: Kind
    id: str
    uri: str
    provider: str | None = None
    session: str | None = None
    name: str | None = None

    @property
    def canonical(self) -> str:
        """The one spelling that stands for every spelling of this channel (aliases of sessions resolved)."""
        if self.kind == "session":
            return session(self.id)
        if self.kind == "annotations":
            return annotations(session(self.id))
        if self.kind == "changeset" and self.session is not None and self.name is not None:
            return changeset(session(self.id), self.name)
        return self.uri


def parse(uri: str) -> Channel:
    """The channel that `uri` names. Raises `BadUri` for text that names none."""
    if uri in (ROOT, "ahp-root:/", "ahp-root:"):
        return Channel(kind="root", id="", uri=ROOT)
    if uri in (AUTOMATIONS, "ahp-automations:/", "ahp-automations:"):
        return Channel(kind="automation", id="", uri=AUTOMATIONS)
    scheme, rest = _split(uri)
    if scheme in _OPAQUE:
        # The reference host writes ahp-chat://<id>/<session>: everything after the first slash is opaque.
        return Channel(kind=_OPAQUE[scheme], id=rest, uri=uri)
    if scheme == "ahp-changeset":
        return _changeset(uri, rest)
    if scheme == "ahp-session" or not (scheme.startswith("ahp-") or scheme in _FOREIGN):
        return _session(uri, scheme, rest)
    raise BadUri(f"{uri!r} is not a channel: no channel has the scheme {scheme!r}")


def _split(uri: str) -> tuple[str, str]:
    scheme, colon, rest = uri.partition(":")
    if not colon or not _SCHEME.fullmatch(scheme):
        raise BadUri(f"{uri!r} is not a URI: it has no scheme")
    if not rest.startswith("/") or not rest.strip("/"):
        raise BadUri(f"{uri!r} is not a channel: {scheme}:/<id> is wanted")
    if any(c in rest for c in "?# \t\r\n\0"):
        raise BadUri(f"{uri!r} is not a channel: it has a query, a fragment or a blank")
    return scheme.lower(), rest[1:]


def _session(uri: str, scheme: str, rest: str) -> Channel:
    provider = None if scheme == "ahp-session" else scheme
    head, *more = rest.split("/")
    owner = f"{scheme}:/{head}"
    if head and not more:
        return Channel(kind="session", id=head, uri=uri, provider=provider)
    if head and more == ["annotations"]:
        return Channel(kind="annotations", id=head, uri=uri, provider=provider, session=owner)
    if head and len(more) > 1 and more[0] == "changeset":
        # The form in which the reference host names a session's changesets.
        name = "/".join(more[1:])
        return Channel(kind="changeset", id=head, uri=uri, provider=provider, session=owner, name=name)
    raise BadUri(f"{uri!r} is not a channel: {scheme}:/<id> or {scheme}:/<id>/annotations is wanted")


def _changeset(uri: str, rest: str) -> Channel:
    owner, slash, name = rest.partition("/")
    if not owner:
        raise BadUri(f"{uri!r} is not a changeset: ahp-changeset:/<session id>/<name> is wanted")
    if not slash or not name:
        return Channel(kind="changeset", id=owner, uri=uri)
    return Channel(kind="changeset", id=owner, uri=uri, session=session(owner), name=name)


def session(id: str) -> str:
    """The URI of the session `id`."""
    return f"ahp-session:/{_id(id)}"


def session_alias(provider: str, id: str) -> str:
    """The other name of the session `id`, in which its agent's provider stands first."""
    return f"{provider}:/{_id(id)}"


def chat(id: str) -> str:
    """The URI of the chat `id`."""
    return f"ahp-chat:/{_id(id, '/')}"


def terminal(id: str) -> str:
    """The URI of the terminal `id`."""
    return f"ahp-terminal:/{_id(id, '/')}"


def resource_watch(id: str) -> str:
    """The URI of the resource watch `id`."""
    return f"ahp-resource-watch:/{_id(id, '/')}"


def annotations(session_uri: str) -> str:
    """The annotations channel of a session, whichever of its names is given. Raises `BadUri`."""
    return f"{_session_of(session_uri).uri}/annotations"


def changeset(session_uri: str, name: str) -> str:
    """The changeset `name` (`uncommitted`, `session`, `turn/<turn id>` …) of a session. Raises `BadUri`.

    `name` may hold an RFC 6570 variable such as `{turnId}`: then the result is a template.
    """
    return f"ahp-changeset:/{_session_of(session_uri).id}/{_id(name, '/{}')}"


def _session_of(uri: str) -> Channel:
    channel = parse(uri)
    if channel.kind != "session":
        raise BadUri(f"{uri!r} is a {channel.kind} channel, not a session")
    return channel


def _id(text: str, also: str = "") -> str:
    if not text.strip("/"):
        raise BadUri("an id may not be empty")
    return quote(text, safe=_ID_SAFE + also)


def scheme_of(uri: str) -> str:
    """The scheme of any URI in lower case, or an empty string where there is none."""
    scheme, colon, _ = uri.partition(":")
    return scheme.lower() if colon and _SCHEME.fullmatch(scheme) else ""


class OpenLink(Struct, frozen=True, kw_only=True):
    """A link that opens a session, or one chat or turn of it.

    `session_id` is as in the session's URI; `chat` is a chat id (absent: the session's default chat) and `turn` a
    turn id, both unescaped.
    """

    provider: str
    session_id: str
    chat: str | None = None
    turn: str | None = None

    @property
    def session(self) -> str:
        """The session's URI."""
        return session(self.session_id)


def format_link(link: OpenLink) -> str:
    """`link` as text: `agent-host-session://<provider>/<id>?chat=…&turn=…`."""
    query = [f"{key}={quote(value, safe='')}" for key, value in (("chat", link.chat), ("turn", link.turn)) if value]
    base = f"{LINK_SCHEME}://{_id(link.provider)}/{_id(link.session_id)}"
    return f"{base}?{'&'.join(query)}" if query else base


def parse_link(text: str) -> OpenLink:
    """The open link in `text`. Raises `BadUri` for another scheme, or without a provider or an id."""
    try:
        parts = urlsplit(text.strip())
    except ValueError as e:
        raise BadUri(f"{text!r} is not an open link: {e}") from None
    id = parts.path[1:]
    if parts.scheme != LINK_SCHEME or not parts.netloc or not id or "/" in id:
        raise BadUri(f"{text!r} is not an open link: {LINK_SCHEME}://<provider>/<id> is wanted")
    # A `+` is a plus sign here: the query is percent-encoded, not a web form.
    query = parse_qs(parts.query.replace("+", "%2B"))
    chat_id, turn = query.get("chat", [None])[0], query.get("turn", [None])[0]
    return OpenLink(provider=unquote(parts.netloc), session_id=id, chat=chat_id, turn=turn)


def file_uri(path: str | os.PathLike[str]) -> str:
    """The `file:` URI of an absolute path, names that are no UTF-8 included. Raises `BadUri` for a relative one."""
    raw = os.fsencode(path)
    if not raw.startswith(b"/"):
        raise BadUri(f"{os.fspath(path)!r} is not an absolute path")
    return "file://" + quote(raw, safe="/!$&'()*+,;=:@~")


def path_of(uri: str) -> Path:
    """The path a `file:` URI names. Raises `BadUri` for another scheme, another machine, or what is no path.

    The path is not normalized and not resolved: `..` and links stay, for the caller to judge.
    """
    scheme, _, rest = uri.partition(":")
    if scheme.lower() != "file":
        raise BadUri(f"{uri!r} is not a file URI")
    if "?" in rest or "#" in rest:
        raise BadUri(f"{uri!r} has a query or a fragment; in a file's name, ? is written %3F and # is written %23")
    host, path = "", rest
    if rest.startswith("//"):
        host, slash, tail = rest[2:].partition("/")
        path = slash + tail
    if host.lower() not in ("", "localhost"):
        raise BadUri(f"{uri!r} names a file on {host!r}, not on this machine")
    raw = unquote_to_bytes(path)
    if not raw.startswith(b"/") or b"\0" in raw:
        raise BadUri(f"{uri!r} is not an absolute path")
    return Path(os.fsdecode(raw))
