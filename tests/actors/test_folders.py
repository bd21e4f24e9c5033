"""Where the files are."""

from pathlib import Path

import pytest

from actors import folders


def test_home_holds_everything(tmp_path: Path) -> None:
    found = folders.find({}, home=str(tmp_path / "h"))
    folders.ensure(found)
    assert all(folder.is_relative_to(tmp_path / "h") for folder in found.all)
    assert {folder.stat().st_mode & 0o777 for folder in found.all} == {0o700}
    files = (found.config_file, found.token_file, found.store_file, found.log_file, found.run_file)
    assert all(file.is_relative_to(tmp_path / "h") for file in files)


def test_each_folder_can_be_moved_by_variable_and_by_flag_which_wins(tmp_path: Path) -> None:
    environ = {"AHPD_DATA_DIR": str(tmp_path / "v"), "AHPD_STATE_DIR": str(tmp_path / "s"), "AHPD_HOME": "/nowhere"}
    found = folders.find(environ, home=str(tmp_path), chosen={"data": str(tmp_path / "flag"), "state": None})
    assert found.data == tmp_path / "flag"
    assert found.state == tmp_path / "s"
    assert found.config == tmp_path


def test_the_variable_for_home_is_as_good_as_the_flag(tmp_path: Path) -> None:
    assert folders.find({"AHPD_HOME": str(tmp_path)}) == folders.find({}, home=str(tmp_path))


def test_a_relative_home_is_fixed_at_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    found = folders.find({}, home="here")
    monkeypatch.chdir("/")
    assert found.config == tmp_path / "here"


def test_without_any_wish_the_systems_places_are_used() -> None:
    found = folders.find({})
    assert len(set(found.all)) == 4
    assert all(folder.is_absolute() and "ahpd" in str(folder) for folder in found.all)


def test_a_folder_that_cannot_be_made_is_named_with_what_to_do(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(folders.FoldersError, match=r"file.*cannot be made.*--home"):
        folders.ensure(folders.find({}, home=str(tmp_path / "file")))
