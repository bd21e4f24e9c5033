"""Content types by file name, the same on every machine (the system's own tables are not read). No state."""

from __future__ import annotations

import mimetypes
from pathlib import PurePath

__all__ = ["BINARY", "TEXT", "content_type"]

TEXT = "text/plain"
BINARY = "application/octet-stream"

_KNOWN = mimetypes.MimeTypes(filenames=())
# What the standard table lacks, or takes for something else (`.ts` is a video there).
_OURS = {
    ".cfg": TEXT,
    ".go": "text/x-go",
    ".ini": TEXT,
    ".jsonl": "application/jsonl",
    ".jsx": "text/javascript",
    ".log": TEXT,
    ".md": "text/markdown",
    ".rs": "text/x-rust",
    ".toml": "application/toml",
    ".ts": "text/typescript",
    ".tsx": "text/typescript",
    ".webp": "image/webp",
    ".yaml": "application/yaml",
    ".yml": "application/yaml",
}


def content_type(name: str) -> str | None:
    """The content type of a file called `name`, or None where the name does not tell."""
    ours = _OURS.get(PurePath(name).suffix.lower())
    if ours is not None:
        return ours
    guessed, encoding = _KNOWN.guess_type(name, strict=True)
    return "application/gzip" if encoding == "gzip" else guessed if encoding is None else BINARY
