"""The command line where no daemon runs: arguments, configuration, token, log, doctor."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from actors import runfile
from actors.cli import main
from actors.cli.arguments import make_parser
from actors.cli.context import Context
from actors.config import KEYS
from actors.runfile import RunFile
from actors.store.lock import StoreLock


@pytest.fixture(autouse=True)
def _a_clean_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in list(os.environ):
        if name.startswith("AHPD_"):
            monkeypatch.delenv(name)


@pytest.fixture
def home(tmp_path: Path) -> Path:
    return tmp_path / "home"


class Ran:
    """What a command did. In this process, because it is many times faster than one of its own."""

    def __init__(self, capsys: pytest.CaptureFixture[str], home: Path, *arguments: str) -> None:
        self.code = main(["--home", str(home), *arguments])
        self.out, self.err = capsys.readouterr()


@pytest.fixture
def ahpd(capsys: pytest.CaptureFixture[str], home: Path):
    return lambda *arguments: Ran(capsys, home, *arguments)


# Arguments.


def test_every_key_has_a_flag_before_and_after_the_verb() -> None:
    for key in KEYS.values():
        said = [f"{key.flag}=1"] if key.default is not False and key.default is not True else [key.flag]
        for argv in ([*said, "start"], ["start", *said], said):
            flags = Context(make_parser().parse_args(argv), {}).flags
            assert flags == {key.name: [said[0][-1]] if isinstance(key.default, list) else flags[key.name]}


def test_a_switch_can_be_turned_off_by_flag(tmp_path: Path) -> None:
    arguments = make_parser().parse_args(["--home", str(tmp_path), "--no-session-tools"])
    assert Context(arguments, {}).settings().config.session_tools is False


def test_a_setting_given_to_a_verb_that_starts_nothing_is_refused(ahpd, home: Path) -> None:
    ran = ahpd("--port", "1", "status")
    assert ran.code == 2
    assert "--port" in ran.err


def test_a_wrong_flag_is_one_sentence(ahpd) -> None:
    ran = ahpd("--port", "x")
    assert (ran.code, ran.out) == (2, "")
    assert ran.err == 'ahpd: --port: port: "x" is text, but a whole number from 0 to 65535 is expected\n'


def test_a_broken_file_stops_the_daemon_with_its_line(ahpd, home: Path) -> None:
    home.mkdir()
    (home / "config.toml").write_text("\nprot = 1\n")
    for verb in ((), ("start",), ("restart",)):
        ran = ahpd(*verb)
        assert ran.code == 2
        assert ran.err == f"ahpd: {home}/config.toml:2: prot: there is no such key; did you mean port?\n"


def test_a_file_that_was_named_must_be_there(ahpd, tmp_path: Path) -> None:
    ran = ahpd("--config", str(tmp_path / "no.toml"), "config", "list")
    assert ran.code == 2
    assert "no.toml: there is no such file" in ran.err


def test_the_real_command_prints_its_version() -> None:
    ran = subprocess.run([sys.executable, "-m", "actors.cli", "--version"], capture_output=True, text=True, timeout=60)
    assert ran.returncode == 0
    assert ran.stdout.startswith("ahpd ")


def test_without_a_daemon_the_verbs_that_need_one_say_so(ahpd) -> None:
    for verb in (["stop"], ["sessions"], ["chat", "hello"], ["status"]):
        ran = ahpd(*verb)
        assert ran.code == 3, verb
        assert "no daemon runs here" in ran.out + ran.err


# Configuration.


def test_config_is_written_read_and_taken_out(ahpd, home: Path) -> None:
    assert ahpd("config", "set", "sessionIdleMs", "5").code == 0
    assert ahpd("config", "get", "sessionIdleMs").out == "5\n"
    assert ahpd("config", "set", "allowedOrigins", "https://a", "https://b").code == 0
    assert json.loads(ahpd("config", "get", "allowedOrigins").out) == ["https://a", "https://b"]
    assert ahpd("config", "set", "agents.pi.command", '["pi", "--acp"]').code == 0
    assert json.loads(ahpd("config", "get", "agents.pi.command").out) == ["pi", "--acp"]
    assert ahpd("config", "unset", "sessionIdleMs").code == 0
    assert ahpd("config", "get", "sessionIdleMs").out == "900000\n"
    assert ahpd("config", "unset", "sessionIdleMs").code == 1
    assert ahpd("config", "path").out == f"{home}/config.toml\n"
    assert (home / "config.toml").stat().st_mode & 0o777 == 0o600


def test_config_refuses_what_the_daemon_would(ahpd, home: Path) -> None:
    ran = ahpd("config", "set", "port", "99999")
    assert ran.code == 2
    assert "port" in ran.err
    ran = ahpd("config", "set", "prot", "1")
    assert ran.code == 2
    assert "did you mean port?" in ran.err
    assert not (home / "config.toml").exists()


def test_config_list_says_where_a_value_comes_from_and_shows_no_secret(
    ahpd, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ahpd("config", "set", "token", "tttttttt")
    monkeypatch.setenv("AHPD_PORT", "1")
    out = ahpd("config", "list", "--changed").out
    assert out.splitlines() == ["port = 1  # AHPD_PORT", 'token = "<set>"  # file']
    assert len(ahpd("config", "list").out.splitlines()) == len(KEYS)
    assert json.loads(ahpd("config", "list", "--json").out)["port"] == {"value": 1, "from": "environment"}
    assert ahpd("config", "set", "token", "<set>").code == 1
    assert ahpd("config", "get", "token").out == "<set>\n"


# Token.


def test_the_token_is_made_shown_and_rotated(ahpd, home: Path) -> None:
    first = ahpd("token").out
    assert len(first.strip()) >= 32
    assert ahpd("token", "show").out == first
    second = ahpd("token", "rotate").out
    assert second not in ("", first)
    assert (home / "token").read_text() == second
    assert (home / "token").stat().st_mode & 0o777 == 0o600


def test_a_token_of_the_configuration_is_shown_and_not_rotated(ahpd) -> None:
    ahpd("config", "set", "token", "tttttttt")
    assert ahpd("token").out == "tttttttt\n"
    assert ahpd("token", "rotate").code == 1


# Log.


def test_logs_shows_the_last_lines_over_the_turn_of_the_file(ahpd, home: Path) -> None:
    (home / "state").mkdir(parents=True)
    log = home / "state" / "ahpd.log"
    log.with_name("ahpd.log.1").write_text("".join(f"old {n}\n" for n in range(10)))
    log.write_text("new 1\nnew 2\n")
    assert ahpd("logs", "-n", "4").out == "old 8\nold 9\nnew 1\nnew 2\n"
    assert ahpd("logs", "-n", "1").out == "new 2\n"
    assert ahpd("logs", "-n", "0").out == ""
    assert len(ahpd("logs").out.splitlines()) == 12


def test_logs_unfolds_a_traceback(ahpd, home: Path) -> None:
    (home / "state").mkdir(parents=True)
    line = 'level=error event=x traceback="Traceback:\\n  File \\"a.py\\"\\nE: x\\n"'
    (home / "state" / "ahpd.log").write_text(line + "\n")
    assert ahpd("logs").out == 'level=error event=x\n    Traceback:\n      File "a.py"\n    E: x\n'
    assert ahpd("logs", "--raw").out == line + "\n"


def test_logs_follows_into_the_new_file(home: Path) -> None:
    state = home / "state"
    state.mkdir(parents=True)
    log = state / "ahpd.log"
    log.write_text("before\n")
    command = [sys.executable, "-m", "actors.cli", "--home", str(home), "logs", "-f", "-n", "1"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as running:
        assert running.stdout is not None
        killer = threading.Timer(60, running.kill)
        killer.start()
        assert running.stdout.readline() == "before\n"
        with log.open("a") as file:
            file.write("after\n")
        assert running.stdout.readline() == "after\n"
        log.rename(state / "ahpd.log.1")
        log.write_text("turned\n")
        assert running.stdout.readline() == "turned\n"
        running.send_signal(signal.SIGINT)
        assert running.wait() == 130
        killer.cancel()


def test_no_log_yet_is_said(ahpd) -> None:
    ran = ahpd("logs")
    assert ran.code == 1
    assert "no log yet" in ran.err


# Doctor.


@pytest.fixture
def healthy(home: Path) -> Path:
    for folder in (home, home / "data", home / "state", home / "runtime"):
        folder.mkdir(mode=0o700)
    (home / "token").write_text("t" * 43)
    (home / "token").chmod(0o600)
    (home / "config.toml").write_text("port = 0\n")
    return home


def test_doctor_finds_nothing_where_nothing_is_wrong(ahpd, healthy: Path) -> None:
    ran = ahpd("doctor")
    assert ran.code == 0, ran.out
    assert "all is well" in ran.out


def findings(ran: Ran) -> str:
    """The lines about what is wrong, and what to do."""
    assert ran.code == 1, ran.out
    lines = ran.out.splitlines()
    return "\n".join(lines[at] + lines[at + 1] for at, line in enumerate(lines) if line.startswith("✗"))


def test_doctor_explains_a_broken_file_with_its_line(ahpd, healthy: Path) -> None:
    (healthy / "config.toml").write_text("# mine\nport = 'x'\n")
    found = findings(ahpd("doctor"))
    assert f'{healthy}/config.toml:2: port: "x" is text' in found
    assert "→ correct line 2" in found


def test_doctor_names_who_has_the_port(ahpd, healthy: Path) -> None:
    with socket.socket() as other:
        other.bind(("127.0.0.1", 0))
        other.listen()
        port = other.getsockname()[1]
        found = findings(ahpd("doctor", "--port", str(port)))
    assert f"port {port} of 127.0.0.1 is taken by" in found
    if Path("/proc/net/tcp").exists():
        assert f"process {os.getpid()}" in found


def test_doctor_names_who_has_locked_the_store(ahpd, healthy: Path) -> None:
    lock = StoreLock(healthy / "data" / "ahpd.db")
    try:
        found = findings(ahpd("doctor"))
    finally:
        lock.release()
    assert f"ahpd.db is locked by process {os.getpid()}" in found
    assert f"kill {os.getpid()}" in found


def test_doctor_finds_missing_and_open_folders(ahpd, healthy: Path) -> None:
    (healthy / "state").rmdir()
    (healthy / "data").chmod(0o755)
    found = findings(ahpd("doctor"))
    assert f"the state folder {healthy}/state is missing" in found
    assert f"mkdir -m 700 -p {healthy}/state" in found
    assert f"the data folder {healthy}/data is open to others (mode 755)" in found
    assert f"chmod 700 {healthy}/data" in found


def test_doctor_finds_an_open_or_empty_token_file(ahpd, healthy: Path) -> None:
    (healthy / "token").chmod(0o644)
    assert f"chmod 600 {healthy}/token" in findings(ahpd("doctor"))
    (healthy / "token").chmod(0o600)
    (healthy / "token").write_text("")
    assert "is empty" in findings(ahpd("doctor"))


def test_doctor_finds_a_run_file_left_behind(ahpd, healthy: Path) -> None:
    with subprocess.Popen([sys.executable, "-c", ""]) as gone:
        pass
    path = healthy / "runtime" / "ahpd.json"
    runfile.write(path, RunFile(pid=gone.pid, started_at="2026-01-01T00:00:00Z", version="1"))
    assert path.stat().st_mode & 0o777 == 0o600
    found = findings(ahpd("doctor"))
    assert f"left behind by process {gone.pid}" in found
    assert f"rm {path}" in found


def test_doctor_finds_a_listener_that_lets_others_in(ahpd, healthy: Path) -> None:
    assert "without TLS" in findings(ahpd("doctor", "--host", "0.0.0.0"))


def test_doctor_finds_missing_programs_and_variables_that_mean_nothing(
    ahpd, healthy: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (healthy / "config.toml").write_text("port = 0\n[agents.pi]\ncommand = ['no-such-program']\n")
    monkeypatch.setenv("PATH", "/nowhere")
    monkeypatch.setenv("AHPD_PROT", "1")
    found = findings(ahpd("doctor"))
    assert "git is not installed" in found
    assert "the agent pi is not there: no-such-program" in found
    assert "AHPD_PROT is set, and means nothing here; did you mean AHPD_PORT?" in found


def test_doctor_speaks_json(ahpd, healthy: Path) -> None:
    (healthy / "token").chmod(0o644)
    (found,) = json.loads(ahpd("doctor", "--json").out)
    assert (found["about"], found["kind"]) == ("token", "wrong")


# The run file.


def test_a_run_file_of_a_number_that_was_given_away_again_is_not_alive(tmp_path: Path) -> None:
    run = RunFile(pid=os.getpid(), started_at="2026-01-01T00:00:00Z", version="1", mark="not this process")
    runfile.write(tmp_path / "r", run)
    assert runfile.read(tmp_path / "r") == run
    assert runfile.running(tmp_path / "r") is None


def test_only_the_owner_of_a_run_file_removes_it(tmp_path: Path) -> None:
    path = tmp_path / "r"
    runfile.write(path, RunFile(pid=1, started_at="2026-01-01T00:00:00Z", version="1"))
    runfile.remove(path, os.getpid())
    assert path.exists()
    runfile.remove(path, 1)
    assert not path.exists()
    assert runfile.read(path) is None
    path.write_text("{")
    assert runfile.read(path) is None
