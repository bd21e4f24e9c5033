"""The command line with a daemon that runs: started, asked, talked to, stopped, all as a person would."""

from __future__ import annotations

import contextlib
import json
import os
import pty
import re
import select
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from actors import processes, runfile

DEADLINE = 60


class Person:
    """Types commands against one home."""

    def __init__(self, home: Path) -> None:
        self.home = home
        self.environ = {name: value for name, value in os.environ.items() if not name.startswith("AHPD_")}
        self.environ["TERM"] = "dumb"

    def command(self, *arguments: str) -> list[str]:
        return [sys.executable, "-m", "actors.cli", "--home", str(self.home), *arguments]

    def run(self, *arguments: str, typed: str = "") -> subprocess.CompletedProcess[str]:
        command = self.command(*arguments)
        return subprocess.run(
            command, input=typed, capture_output=True, text=True, timeout=DEADLINE, env=self.environ, cwd=self.home
        )

    def done(self, *arguments: str, typed: str = "") -> str:
        """What it printed; it must have gone well."""
        ran = self.run(*arguments, typed=typed)
        assert ran.returncode == 0, ran.stdout + ran.stderr
        return ran.stdout

    @property
    def running(self) -> runfile.RunFile | None:
        return runfile.running(self.home / "runtime" / "ahpd.json")


@pytest.fixture
def alone(tmp_path: Path) -> Iterator[Person]:
    """Somebody with a home of their own, where nothing runs yet."""
    home = tmp_path / "home"
    home.mkdir(mode=0o700)
    person = Person(home)
    yield person
    found = person.running
    if found is not None:
        processes.signal_process(found.pid, signal.SIGKILL)


@pytest.fixture(scope="module")
def person(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Person]:
    """Somebody whose daemon runs, with the echo agent."""
    home = tmp_path_factory.mktemp("home", numbered=True)
    home.chmod(0o700)
    one = Person(home)
    one.done("start", "--port", "0", "--agent", "echo")
    yield one
    one.run("stop", "--force")


# Life.


def test_start_status_restart_stop(alone: Person) -> None:
    started = alone.done("start", "--port", "0", "--log-level", "debug")
    first = alone.running
    assert first is not None
    assert started.splitlines() == [f"started: process {first.pid}", f"  {first.websocket[0]}"]
    assert (alone.home / "runtime" / "ahpd.json").stat().st_mode & 0o777 == 0o600

    again = alone.run("start")
    assert again.returncode == 1
    assert f"a daemon runs already: process {first.pid}" in again.stderr
    foreground = alone.run()
    assert foreground.returncode == 1
    assert "a daemon runs here already" in foreground.stderr

    facts = json.loads(alone.done("status", "--json"))
    assert (facts["pid"], facts["sessions"], facts["answers"]) == (first.pid, 0, True)
    assert facts["websocket"] == first.websocket
    shown = alone.done("status")
    assert f"process    {first.pid}" in shown
    assert "sessions   0" in shown

    assert f"stopped: process {first.pid} ended" in alone.done("restart")
    second = alone.running
    assert second is not None
    assert second.pid != first.pid
    assert second.flags == {"port": "0", "logLevel": "debug"}, "a restart keeps the flags it was started with"

    assert "stopped" in alone.done("stop")
    assert alone.running is None
    assert not (alone.home / "runtime" / "ahpd.json").exists()
    assert alone.run("status").returncode == 3


def test_everything_is_private_and_under_home(alone: Person) -> None:
    alone.done("start", "--port", "0")
    alone.done("stop")
    paths = [alone.home, *alone.home.rglob("*")]
    loose = [str(path) for path in paths if path.stat().st_mode & 0o077]
    assert loose == []


def test_start_shows_why_the_daemon_died(alone: Person) -> None:
    (alone.home / "data").mkdir(mode=0o700)
    (alone.home / "data" / "ahpd.db").write_text("this is no database, and long enough to be sure of it" * 20)
    ran = alone.run("start", "--port", "0")
    assert ran.returncode == 1
    assert "the daemon ended at once, with exit code 1" in ran.stderr
    assert "ahpd.db" in ran.stderr
    assert "Traceback" not in ran.stderr


def test_a_taken_port_is_said_at_the_start(alone: Person, person: Person) -> None:
    assert person.running is not None
    port = person.running.websocket[0].rstrip("/").rpartition(":")[2]
    ran = alone.run("--port", port)
    assert ran.returncode == 1
    assert port in ran.stderr
    assert "Traceback" not in ran.stderr


def test_a_killed_daemon_is_no_obstacle(alone: Person) -> None:
    alone.done("start", "--port", "0")
    killed = alone.running
    assert killed is not None
    os.kill(killed.pid, signal.SIGKILL)
    while killed.alive:
        time.sleep(0.01)
    assert alone.run("status").returncode == 3
    assert "left behind by process" in alone.run("doctor", "--port", "0").stdout
    alone.done("start", "--port", "0")


def test_the_foreground_prints_its_addresses_and_ends_at_ctrl_c(alone: Person) -> None:
    command = alone.command("--port", "0", "--token", "a-token-of-mine")
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=alone.environ
    ) as ahpd:
        assert ahpd.stdout is not None
        assert ahpd.stderr is not None
        lines = [ahpd.stdout.readline() for _ in range(5)]
        assert lines[0].startswith("ahpd ")
        assert re.fullmatch(r" +WebSocket +ws://127\.0\.0\.1:\d+/\n", lines[1])
        assert alone.done("chat", "hello") == "hello\n", "the run file has the token that was given by flag"
        ahpd.send_signal(signal.SIGINT)
        assert ahpd.wait(DEADLINE) == 0
        printed = "".join(lines) + ahpd.stdout.read() + ahpd.stderr.read()
    assert "a-token-of-mine" not in printed + (alone.home / "state" / "ahpd.log").read_text()


def test_stdio_serves_the_one_who_started_it(alone: Person) -> None:
    params = {"channel": "ahp-root://", "protocolVersions": ["0.9.0"], "clientId": "c"}
    request = {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": params}
    with subprocess.Popen(
        alone.command("--stdio"), stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=alone.environ
    ) as ahpd:
        assert ahpd.stdin is not None
        assert ahpd.stdout is not None
        ahpd.stdin.write(json.dumps(request) + "\n")
        ahpd.stdin.flush()
        answer = json.loads(ahpd.stdout.readline())
        ahpd.stdin.close()
        assert ahpd.wait(DEADLINE) == 0
    assert answer["result"]["protocolVersion"] == "0.9.0"


@pytest.mark.skipif(shutil.which("openssl") is None, reason="no openssl to make a certificate with")
def test_a_daemon_with_a_certificate_of_its_own_is_talked_to_all_the_same(alone: Person) -> None:
    make = "openssl req -x509 -newkey rsa:2048 -nodes -keyout key.pem -out cert.pem -days 2 -subj /CN=example.org"
    subprocess.run(make.split(), cwd=alone.home, check=True, capture_output=True)
    started = alone.done("start", "--port", "0", "--tls-cert-file", "cert.pem", "--tls-key-file", "key.pem")
    assert "wss://127.0.0.1:" in started
    assert alone.done("chat", "hello") == "hello\n"
    assert "sessions   1" in alone.done("status")


def test_over_the_unix_socket_no_token_is_needed(alone: Person) -> None:
    socket = alone.home / "s"
    alone.done("start", "--port", "0", "--unix", str(socket))
    assert alone.done("chat", "--url", f"unix:{socket}", "hello") == "hello\n"


# A running one.


def test_doctor_has_nothing_against_a_running_daemon(person: Person) -> None:
    assert "all is well" in person.done("doctor", "--port", "0")


def test_a_live_key_takes_hold_now_and_another_says_when(person: Person) -> None:
    assert "takes hold now" in person.done("config", "set", "logLevel", "debug")
    assert "ahpd restart" in person.done("config", "set", "maxConnections", "77")
    end = time.monotonic() + DEADLINE
    while "settings wait for a restart" not in person.done("logs"):
        assert time.monotonic() < end
    person.done("config", "unset", "maxConnections")


def test_a_rotated_token_is_in_force_at_once(person: Person) -> None:
    assert person.running is not None
    url = person.running.websocket[0]
    old = person.done("token").strip()
    new = person.done("token", "rotate").strip()
    end = time.monotonic() + DEADLINE
    while person.run("sessions", "--url", url, "--token", old).returncode == 0:
        assert time.monotonic() < end
    person.done("sessions", "--url", url, "--token", new)
    person.done("sessions")


def test_sessions_are_listed_shown_and_deleted(person: Person) -> None:
    person.done("chat", "a session to look at")
    (found,) = [each for each in json.loads(person.done("sessions", "--json")) if "look at" in each["title"]]
    name = found["resource"].rpartition("/")[2]
    assert name in person.done("sessions")
    shown = person.done("sessions", "show", name[:8])
    assert found["resource"] in shown
    assert "ahp-chat:" in shown
    assert f"deleted {found['resource']}" in person.done("sessions", "delete", name[:8])
    missing = person.run("sessions", "show", name)
    assert missing.returncode == 1
    assert f"there is no session {name}" in missing.stderr
    assert person.run("sessions", "show").returncode == 2


# Chat, by pipe.


def test_a_message_on_the_command_line_prints_the_reply_alone(person: Person) -> None:
    assert person.done("chat", "hello", "there") == "hello there\n"
    assert person.done("chat", "-", typed="two\nlines\n") == "two\nlines\n"


def test_lines_by_pipe_make_the_transcript_of_the_readme(person: Person) -> None:
    assert person.done("chat", typed="hello there\n\nand again") == (
        "you   hello there\necho  hello there\nyou   and again\necho  and again\n"
    )


def test_a_session_goes_on(person: Person) -> None:
    person.done("chat", "/think of a number")
    session = max(json.loads(person.done("sessions", "--json")), key=lambda each: each["modifiedAt"])
    name = session["resource"].rpartition("/")[2]
    assert person.done("chat", "--session", name, "once more") == "once more\n"
    assert person.done("chat", "--last", "and more") == "and more\n"
    shown = json.loads(person.done("sessions", "show", name, "--json"))
    assert shown["resource" if "resource" in shown else "lifecycle"]


def test_nothing_said_leaves_no_session(person: Person) -> None:
    before = person.done("sessions", "--json")
    person.done("chat", typed="")
    assert len(json.loads(person.done("sessions", "--json"))) == len(json.loads(before))


def test_a_tool_call_is_shown_asked_about_and_its_result_printed(person: Person) -> None:
    out = person.done("chat", typed="/confirm ls -l\nwhat\ny\n/confirm rm\n3\n/confirm a\ne\nb\n")
    assert "⚙ Run `ls -l`" in out
    assert "1 Run once · 2 Always run · 3 Do not run · e change its input" in out
    assert "✓ Ran ls -l" in out
    assert "echo  ran ls -l [once]" in out
    assert "✗ Run: denied" in out
    assert "echo  not run (denied)" in out
    assert "echo  ran b" in out


def test_where_nobody_can_be_asked_the_answer_is_no_unless_said_otherwise(person: Person) -> None:
    ran = person.run("chat", "/confirm ls")
    assert ran.stdout == "not run (denied)\n"
    assert "--approve all" in ran.stderr
    assert person.done("chat", "--approve", "all", "/confirm ls") == "ran ls [once]\n"


def test_questions_are_answered_by_number_by_word_and_declined_at_the_end(person: Person) -> None:
    out = person.done(
        "chat", typed="/ask Which? | red | blue\n7\n2\n/ask Which? | red | blue\nred\n/ask Who?\nme\n/ask Who?\n"
    )
    assert "a number from 1 to 2" in out
    said = [line for line in out.splitlines() if line.startswith("echo")]
    assert said == ["echo  accept: blue", "echo  accept: red", "echo  accept: me", "echo  decline"]


def test_a_turn_that_fails_is_said_and_is_the_exit_code(person: Person) -> None:
    ran = person.run("chat", "/fail it broke")
    assert ran.returncode == 1
    assert "✗ it broke" in ran.stderr
    ran = person.run("chat", typed="/fail it broke\nstill here\n")
    assert ran.returncode == 1
    assert "echo  still here" in ran.stdout


def test_an_agent_nobody_has_is_one_sentence(person: Person) -> None:
    ran = person.run("chat", "--agent", "nobody", "hello")
    assert ran.returncode == 1
    assert ran.stderr.count("\n") == 1
    assert "nobody" in ran.stderr


def test_a_long_reply_arrives_whole(person: Person) -> None:
    assert person.done("chat", "/repeat 3000 word") == "word " * 3000 + "\n"


# Chat, at a terminal.


class Terminal:
    """`ahpd chat` at a terminal of its own."""

    def __init__(self, person: Person, *arguments: str, **environ: str) -> None:
        self.seen = ""
        self._pid, self._fd = pty.fork()
        if self._pid == 0:
            os.chdir(person.home)
            command = person.command("chat", *arguments)
            os.execve(command[0], command, {**person.environ, "TERM": "xterm", **environ})

    def wait_for(self, text: str) -> str:
        """What was printed since the last time, up to `text`."""
        end = time.monotonic() + DEADLINE
        while text not in self.seen:
            assert time.monotonic() < end, self.seen
            if select.select([self._fd], [], [], 0.2)[0]:
                self.seen += os.read(self._fd, 65536).decode(errors="replace")
        before, _, self.seen = self.seen.partition(text)
        return before + text

    def interrupt(self) -> None:
        """Ctrl-C; again where nothing comes of it: one between the prompt and the wait for a key is lost."""
        self.type("\x03")
        while not select.select([self._fd], [], [], 2)[0]:
            self.type("\x03")

    def type(self, text: str) -> None:
        os.write(self._fd, text.encode())

    def exit_code(self) -> int:
        end = time.monotonic() + DEADLINE
        with contextlib.suppress(OSError):  # The terminal is gone when its last process is.
            while time.monotonic() < end:
                if select.select([self._fd], [], [], 0.2)[0]:
                    self.seen += os.read(self._fd, 65536).decode(errors="replace")
        os.close(self._fd)
        return os.waitstatus_to_exitcode(os.waitpid(self._pid, 0)[1])


def test_a_conversation_at_a_terminal(person: Person) -> None:
    terminal = Terminal(person, NO_COLOR="1")
    terminal.wait_for("Ctrl-D leaves")
    terminal.wait_for("you   ")
    terminal.type("hello there\n")
    reply = terminal.wait_for("you   ")
    assert "echo  hello there\r\n" in reply
    assert "\x1b[3" not in reply
    terminal.type("\x04")
    assert terminal.exit_code() == 0


def test_ctrl_c_stops_the_turn_and_the_chat_goes_on(person: Person) -> None:
    terminal = Terminal(person)
    terminal.wait_for("you   ")
    terminal.type("/slow 100000 20\n")
    terminal.wait_for("1 2 3 ")
    terminal.type("\x03")
    assert "(stopped)" in terminal.wait_for("you   ")
    terminal.type("still here\n")
    assert "\x1b[32mecho  \x1b[0mstill here" in terminal.wait_for("you   ")
    terminal.interrupt()
    assert terminal.exit_code() == 0


def test_ctrl_c_at_a_confirmation_stops_the_turn(person: Person) -> None:
    terminal = Terminal(person)
    terminal.wait_for("you   ")
    terminal.type("/confirm x\n")
    terminal.wait_for("change its input")
    terminal.wait_for("? ")
    terminal.interrupt()
    assert "(stopped)" in terminal.wait_for("you   ")
    terminal.type("\x04")
    assert terminal.exit_code() == 0
