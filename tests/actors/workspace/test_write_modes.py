"""Every write mode against the one-line model of what it means."""

from __future__ import annotations

import tempfile
from pathlib import Path

from hypothesis import given, settings
from hypothesis import strategies as st

from actors.workspace.file_write import Change, write_file
from actors.workspace.refusals import Named

CHANGES = st.builds(
    Change,
    data=st.binary(max_size=12),
    mode=st.sampled_from(["truncate", "append", "insert"]),
    position=st.integers(0, 20),
)


def written(old: bytes, change: Change) -> bytes:
    at = change.position
    if change.mode == "truncate":
        return old[:at] + change.data
    if change.mode == "append":
        at = max(0, len(old) - at)
    return old[:at] + change.data + old[at:]


@given(changes=st.lists(CHANGES, min_size=1, max_size=8), exists=st.booleans(), linked=st.booleans())
@settings(max_examples=150, deadline=None)
def test_a_file_is_what_the_changes_say(changes: list[Change], exists: bool, linked: bool) -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "file")
        content = b""
        if exists:
            content = b"0123456789"
            path.write_bytes(content)
            if linked:
                Path(folder, "also").hardlink_to(path)
        for change in changes:
            write_file(Named("file:", path), change, None)
            content = written(content, change)
            assert path.read_bytes() == content
        assert {entry.name for entry in Path(folder).iterdir()} <= {"file", "also"}
