"""The log: one line a fact, and never a secret."""

from __future__ import annotations

import contextlib
import io
import json
import logging
import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from actors import log
from actors.logfile import LogFile
from actors.redact import Redactor

_log = log.get("test")


@pytest.fixture
def stderr() -> Iterator[io.StringIO]:
    stream = io.StringIO()
    log.configure("info", stderr=stream)
    yield stream
    log.close()
    logging.getLogger().handlers = [h for h in logging.getLogger().handlers if type(h).__module__ != "actors.log"]
    log.set_level("warning")


def test_a_line_is_logfmt(stderr: io.StringIO) -> None:
    _log.info("agent raised", channel="ahp-chat:/1", count=3, ok=True, nothing=None, text='a "b" = c', empty="")
    log.close()
    line = stderr.getvalue()
    assert line.startswith("time=20")
    assert line.endswith(
        'level=info log=test event="agent raised" channel=ahp-chat:/1 count=3 ok=true nothing=null '
        'text="a \\"b\\" = c" empty=""\n'
    )


def test_json_is_an_option() -> None:
    stream = io.StringIO()
    log.configure("info", "json", stderr=stream)
    _log.warning("odd", table={"a": [1, "x"]}, level="theirs")
    log.close()
    record = json.loads(stream.getvalue())
    assert record["table"] == {"a": [1, "x"]}
    assert (record["level"], record["level_"], record["log"], record["event"]) == ("warning", "theirs", "test", "odd")


def test_whatever_is_in_a_value_a_record_stays_one_line_and_moves_no_cursor(stderr: io.StringIO) -> None:
    _log.info("a\nlevel=error", name="x\r\n\x1b[2J\u2028\x9b31m\x7f\ud800")
    log.close()
    assert stderr.getvalue().count("\n") == 1
    assert stderr.getvalue().rstrip("\n").isprintable() or "\ud800" in stderr.getvalue()
    assert not set(stderr.getvalue()) & set("\r\x1b\u2028\x9b\x7f")


def test_a_level_below_the_one_in_force_is_not_even_formatted(stderr: io.StringIO) -> None:
    class Explosive:
        def __str__(self) -> str:
            raise AssertionError

    _log.debug("quiet", value=Explosive())
    assert not _log.enabled("debug")
    log.set_level("debug")
    _log.debug("loud")
    log.close()
    assert "quiet" not in stderr.getvalue()
    assert "loud" in stderr.getvalue()


def test_a_value_that_cannot_be_shown_spoils_nothing_else(stderr: io.StringIO) -> None:
    class Broken:
        def __str__(self) -> str:
            raise RuntimeError

    _log.info("event", bad=Broken(), good=1)
    log.close()
    assert 'bad="<unprintable: RuntimeError>" good=1' in stderr.getvalue()


def test_no_secret_gets_through_by_value_by_name_or_in_an_exception(stderr: io.StringIO) -> None:
    log.protect('s3cr/t "pass"')
    try:
        raise ValueError('refused: s3cr/t "pass"')
    except ValueError as cause:
        error = RuntimeError("outer")
        error.__cause__ = cause
    group = ExceptionGroup("many", [error])
    _log.error(
        'said s3cr/t "pass"',
        exc=group,
        url="ws://h/?x=1&tkn=abcdef",
        quoted="s3cr%2Ft%20%22pass%22",
        authorization="anything",
        headers={"X-Api-Key": "k-1", "Accept": "json"},
        config={"env": {"OPENAI_API_KEY": "k-2"}, "list": [{"password": "k-3"}]},
        text="Authorization: Bearer abcdef123456 and token=zzzz9999",
        proxy="http://me:hunter2@proxy:8080",
        tokens=120,
    )
    log.close()
    written = stderr.getvalue()
    for secret in ("s3cr", "abcdef", "anything", "k-1", "k-2", "k-3", "zzzz", "hunter2"):
        assert secret not in written, secret
    assert "json" in written
    assert "tokens=120" in written
    assert "RuntimeError: outer" in written


def test_a_short_secret_hides_itself_but_not_half_of_every_word() -> None:
    redactor = Redactor()
    redactor.protect("at")
    assert redactor.text("look at that") == "look <secret> that"


def test_the_longer_of_two_secrets_goes_whole() -> None:
    redactor = Redactor()
    redactor.protect("abcdefgh")
    redactor.protect("abcdefghijkl")
    assert redactor.text("abcdefghijkl") == "<secret>"


def test_what_libraries_log_lands_here_too(stderr: io.StringIO) -> None:
    logging.getLogger("actors.store").warning("%s: no checkpoint", "x.db")
    logging.getLogger("hypercorn").info("fine")
    log.close()
    assert 'level=warning log=store event="x.db: no checkpoint"' in stderr.getvalue()
    assert "log=hypercorn event=fine" in stderr.getvalue()


def test_a_huge_value_is_cut_and_keeps_both_ends(stderr: io.StringIO) -> None:
    _log.info("big", value="a" * 1_000_000 + "end")
    log.close()
    assert len(stderr.getvalue()) < 10_000
    assert stderr.getvalue().endswith('end"\n')


def test_the_file_is_private_and_turns_over_by_size(tmp_path: Path) -> None:
    path = tmp_path / "ahpd.log"
    for start in range(0, 200, 10):
        file = LogFile(path, max_bytes=2_000, keep=2)
        for number in range(start, start + 10):
            file.write(f"line number={number}\n" * 5)
        file.close()
    assert sorted(p.name for p in tmp_path.iterdir()) == ["ahpd.log", "ahpd.log.1", "ahpd.log.2"]
    assert path.stat().st_mode & 0o777 == 0o600
    assert "number=199" in path.read_text()
    assert all(p.stat().st_size <= 2_000 for p in tmp_path.iterdir())


def test_a_file_that_cannot_be_written_stops_nobody(tmp_path: Path, stderr: io.StringIO) -> None:
    log.configure("info", file=LogFile(tmp_path / "missing" / "x.log"), stderr=stderr)
    _log.info("still here")
    log.close()
    assert "still here" in stderr.getvalue()


def test_a_reader_that_stopped_reading_stops_nobody() -> None:
    reader, writer = os.pipe()
    with contextlib.suppress(BrokenPipeError), open(writer, "w") as stalled:
        log.configure("info", stderr=stalled)
        for _ in range(20_000):
            _log.info("line", text="x" * 100)
        os.close(reader)
        log.close()


def test_tests_can_read_what_was_logged() -> None:
    with log.capture() as lines:
        _log.debug("seen", a=1)
    assert lines[0].endswith("event=seen a=1\n")
