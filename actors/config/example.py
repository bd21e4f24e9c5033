"""`config.example.toml`, made from the table of keys: `python -m actors.config.example > config.example.toml`."""

from __future__ import annotations

import json
import textwrap

from actors.config import kinds
from actors.config.keys import KEYS, Key
from ahp.wire import JSON

__all__ = ["example"]

_HEAD = """\
# Every key of ahpd, each with what it does and its default, which is in force while the line stays commented.
# Copy this file to config.toml in the configuration folder (`ahpd config path` prints where that is).
#
# Every key can also be given by a variable of the environment (port: AHPD_PORT, tls.certFile: AHPD_TLS_CERT_FILE)
# and by a flag (--port, --tls-cert-file). A flag wins over the environment, the environment over this file.
# Keys marked "live" take hold when this file is saved; the others at `ahpd restart`.
"""


def example() -> str:
    """The text of the file."""
    parts = [_HEAD]
    section = ""
    for key in sorted(KEYS.values(), key=_rank):
        head, _, last = key.name.rpartition(".")
        if isinstance(key.kind, kinds.Table) and isinstance(key.kind.entry, kinds.Record):
            parts.append(_table(key, key.kind.entry))
            continue
        if head and head != section:
            section = head
            parts.append(f"[{head}]")
        parts.append(f"{_comment(key)}# {last} = {_toml(key.default)}\n")
    return "\n".join(parts)


def _rank(key: Key) -> int:
    """What has no section comes first: in TOML it would otherwise belong to the one above it."""
    return 2 if isinstance(key.kind, kinds.Table) else 1 if "." in key.name else 0


def _comment(key: Key) -> str:
    facts = [key.kind.expected, *(["live"] if key.note.live else []), key.flag]
    lines = [*textwrap.wrap(key.note.sentence, 110), f"({'; '.join(facts)})"]
    return "".join(f"# {line}\n" for line in lines)


def _table(key: Key, entry: kinds.Record) -> str:
    lines = [f"# {key.note.sentence}", f"# [{key.name}.echo]"]
    plain = entry.plain(entry.make())
    assert isinstance(plain, dict)
    for name, value in plain.items():
        lines.append(f"# {name} = {_toml(value)}")
    return "\n".join(lines) + "\n"


def _toml(value: JSON) -> str:
    """A default as TOML; JSON's writing of texts, numbers, true and false, and lists is TOML's too."""
    return "{}" if value == {} else json.dumps(value)


if __name__ == "__main__":
    print(example(), end="")
