"""The token file: made once, private, and never guessed at."""

import os
import stat
from pathlib import Path

import pytest

from actors.door import DoorError
from actors.door.token import load_or_create, rotate


def test_the_first_start_makes_a_private_token_and_the_next_finds_it(tmp_path: Path) -> None:
    path = tmp_path / "config" / "token"
    made = load_or_create(path)
    assert len(made.token) >= 43
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert load_or_create(path) == made
    assert made.warning == ""
    assert made.token not in repr(made)
    assert list(path.parent.iterdir()) == [path]


def test_a_file_others_may_read_is_warned_about(tmp_path: Path) -> None:
    path = tmp_path / "token"
    token = load_or_create(path).token
    path.chmod(0o644)
    loaded = load_or_create(path)
    assert loaded.token == token
    assert "0644" in loaded.warning
    assert "chmod 600" in loaded.warning
    assert token not in loaded.warning


def test_rotating_changes_the_token_and_tightens_the_file(tmp_path: Path) -> None:
    path = tmp_path / "token"
    old = load_or_create(path).token
    path.chmod(0o644)
    new = rotate(path)
    assert new != old
    assert load_or_create(path).token == new
    assert load_or_create(path).warning == ""


@pytest.mark.parametrize("content", [b"", b"\n", b"two words", b"\xff\xfe"])
def test_a_file_without_a_token_says_what_to_do(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "token"
    path.write_bytes(content)
    with pytest.raises(DoorError, match="delete it"):
        load_or_create(path)


def test_a_folder_that_cannot_be_used_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(DoorError, match="cannot be"):
        load_or_create(tmp_path / "file" / "token")
    with pytest.raises(DoorError, match="cannot be read"):
        load_or_create(tmp_path)


def test_two_first_starts_agree(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "token"
    link = os.link

    def slow_link(source: Path, target: Path) -> None:
        monkeypatch.setattr(os, "link", link)
        load_or_create(path)
        link(source, target)

    monkeypatch.setattr(os, "link", slow_link)
    assert load_or_create(path) == load_or_create(path)
    assert list(tmp_path.iterdir()) == [path]
