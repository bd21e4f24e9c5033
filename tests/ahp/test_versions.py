"""Which protocol versions are spoken, and what a peer of a version knows."""

import pytest

from ahp import versions


@pytest.mark.parametrize(
    ("offered", "chosen"),
    [
        (["1.0.0", "0.9.0"], "1.0.0"),
        (["0.9.0", "1.0.0"], "0.9.0"),
        (["0.9.7"], "0.9.7"),
        (["1.4.2"], "1.4.2"),
        (["0.10.0"], "0.10.0"),
        (["2.0.0", "0.9.1", "0.9.0"], "0.9.1"),
        (["0.8.0", "0.11.0", "2.0.0"], None),
        (["99.0.0"], None),
        ([], None),
        (["nonsense", "1.0", "v1.0.0", "1.0.0-rc.1", "01.0.0", "1.0.0\n", "0.9.0"], "0.9.0"),
    ],
)
def test_the_clients_first_compatible_version_is_chosen(offered: list[str], chosen: str | None) -> None:
    assert versions.negotiate(offered) == chosen


def test_every_supported_version_is_its_own_answer() -> None:
    assert [versions.negotiate([version]) for version in versions.SUPPORTED] == list(versions.SUPPORTED)
    assert versions.SUPPORTED_RANGES == ("^1.0.0", "^0.10.0", "^0.9.0")


def test_a_peer_knows_what_its_version_or_an_earlier_one_introduced() -> None:
    assert versions.knows("0.9.0", "chat/turnResume")
    assert not versions.knows("0.9.5", "chat/canvasesChanged")
    assert versions.knows("1.0.0", "chat/canvasesChanged")
    assert versions.knows("0.9.0", "root/progress")
    assert not versions.knows("0.9.0", "channel/frame")
    assert versions.knows("0.9.0", "x-mine/anything")


def test_minors_are_numbers_not_text() -> None:
    assert versions.at_least("0.10.0", "0.9.0")
    assert not versions.at_least("0.9.0", "0.10.0")
    with pytest.raises(ValueError, match="'new' is no version"):
        versions.at_least("new", "0.9.0")
