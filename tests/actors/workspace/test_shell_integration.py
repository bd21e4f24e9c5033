"""Command detection: the reader of marks on its own, and real shells that write them."""

import os
import shutil
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
import trio
from hypothesis import given
from hypothesis import strategies as st

from actors.workspace.pty import Pty, open_pty
from actors.workspace.shell_integration import (
    CommandEnded,
    CommandStarted,
    Cwd,
    Data,
    Detected,
    Event,
    Marks,
    Title,
    launch,
)

NONCE = "n0nce"


def mark(body: str, nonce: str = NONCE) -> str:
    return f"\x1b]633;{body};{nonce}\x07"


def joined(events: Sequence[Event]) -> list[Event]:
    """The events with adjacent output put together."""
    out: list[Event] = []
    for event in events:
        if isinstance(event, Data) and out and isinstance(out[-1], Data):
            out[-1] = Data(out[-1].text + event.text)
        else:
            out.append(event)
    return out


def read(*pieces: bytes, nonce: str = NONCE) -> list[Event]:
    marks = Marks(nonce)
    events = [event for piece in pieces for event in marks.feed(piece)]
    return joined([*events, *marks.feed(b"", final=True)])


def text_of(events: Sequence[Event]) -> str:
    return "".join(event.text for event in events if isinstance(event, Data))


def test_a_command_is_seen_from_its_line_to_its_end() -> None:
    stream = mark("A") + "$ ls\r\n" + mark("E;ls") + mark("C") + "file\r\n" + mark("D;0") + mark("P;Cwd=/tmp") + "$ "
    assert read(stream.encode()) == [
        Detected(),
        Data("$ ls\r\n"),
        CommandStarted("ls"),
        Data("file\r\n"),
        CommandEnded(0),
        Cwd("/tmp"),
        Data("$ "),
    ]


def test_what_a_line_may_not_hold_is_escaped() -> None:
    stream = mark(r"E;a\\b\x3b c\x0ad\x1b\x07") + mark("C")
    assert read(stream.encode())[1:] == [CommandStarted("a\\b; c\nd\x1b\x07")]


def test_an_end_without_a_beginning_is_no_command() -> None:
    assert read((mark("D;130") + mark("C") + mark("D;") + mark("D;1")).encode()) == [
        Detected(),
        CommandStarted(""),
        CommandEnded(None),
    ]


@pytest.mark.parametrize("nonce", ["", "wrong", NONCE[:-1], NONCE + "x", "é"])
def test_a_mark_without_the_nonce_is_output(nonce: str) -> None:
    forged = mark("C", nonce) + "\x1b]633;D;0\x07"
    assert read(forged.encode()) == [Data(forged)]


def test_a_shell_without_a_nonce_has_no_marks() -> None:
    stream = "\x1b]633;C;\x07\x1b]633;A\x07"
    assert read(stream.encode(), nonce="") == [Data(stream)]


def test_titles_are_told_and_stay_in_the_output_and_other_sequences_pass() -> None:
    stream = "\x1b]0;one\x07a\x1b]2;zwei ü\x1b\\b\x1b]8;;http://x\x1b\\c\x1b]0;broken\x1b[0md"
    events = read(stream.encode())
    assert text_of(events) == stream
    assert [event for event in events if isinstance(event, Title)] == [Title("one"), Title("zwei ü")]


def test_bytes_that_are_no_utf8_are_replaced() -> None:
    assert read(b"a\xffb", "ü".encode()[:1], "ü".encode()[1:], b"\xe2\x82") == [Data("a\ufffdbü\ufffd")]


def test_a_sequence_that_never_ends_is_output_after_a_while() -> None:
    marks = Marks(NONCE)
    seen = "".join(text_of(marks.feed(b"x" * 1000)) for _ in range(3))
    assert seen == "x" * 3000
    assert marks.feed(b"\x1b]0;") == []
    assert text_of([event for _ in range(80) for event in marks.feed(b"y" * 1000)]) == "\x1b]0;" + "y" * 80_000


def test_what_waits_for_its_end_is_not_swallowed_at_the_end() -> None:
    assert read(b"last\x1b]633;D;0") == [Data("last\x1b]633;D;0")]


PIECES = st.one_of(
    st.sampled_from(
        [
            mark("A"),
            mark("E;echo ü"),
            mark("C"),
            mark("D;1"),
            mark("D;0", "wrong"),
            mark("P;Cwd=/tmp/ä"),
            "\x1b]0;title\x07",
            "\x1b]2;t\x1b\\",
            "\x1b]633;C",
            "\x1b]8;;link\x07",
            "\x1b]63",
            "\x1b",
            "\x1b]",
            "\x07",
            "\x1b\\",
            "\n",
            "\x1b]0;" + "long" * 17_000,
        ]
    ).map(str.encode),
    st.text(max_size=8).map(str.encode),
    st.binary(max_size=4),
)


@given(st.lists(PIECES, max_size=12).map(b"".join), st.data())
def test_however_the_bytes_are_split_the_events_are_the_same(stream: bytes, data: st.DataObject) -> None:
    cuts = sorted(data.draw(st.lists(st.integers(0, len(stream)), max_size=8)))
    split = [stream[start:end] for start, end in zip([0, *cuts], [*cuts, len(stream)], strict=True)]
    assert read(*split) == read(stream)


@given(st.lists(PIECES, max_size=6).map(b"".join).filter(lambda stream: len(stream) < 400))
def test_byte_by_byte_the_events_are_the_same(stream: bytes) -> None:
    assert read(*(bytes([byte]) for byte in stream)) == read(stream)


class Shell:
    """A shell somebody types at. `events` is all it did."""

    def __init__(self, pty: Pty, nonce: str) -> None:
        self._pty = pty
        self._marks = Marks(nonce)
        self.events: list[Event] = []

    async def keys(self, text: str) -> None:
        await self._pty.write(text.encode())

    async def until(self, wanted: type[Event], count: int = 1) -> None:
        """Read until there have been `count` such events, and the prompt after them."""
        while len(self.all(wanted)) < count:
            data = await self._pty.read()
            self.events += self._marks.feed(data)
            assert data, self.events

    async def run(self, line: str) -> tuple[str, str, int | None]:
        """Type a line: the command line, the output and the exit code that were detected."""
        begun, ended, places = (len(self.all(kind)) for kind in (CommandStarted, CommandEnded, Cwd))
        await self.keys(line + "\n")
        await self.until(CommandEnded, ended + 1)
        await self.until(Cwd, places + 1)
        started = self.all(CommandStarted)[begun]
        at = max(index for index, event in enumerate(self.events) if event is started)
        to = max(index for index, event in enumerate(self.events) if isinstance(event, CommandEnded))
        code = self.events[to]
        assert isinstance(started, CommandStarted)
        assert isinstance(code, CommandEnded)
        return started.line, text_of(self.events[at:to]), code.exit_code

    async def leave(self) -> None:
        await self.keys("exit\n")
        while await self._pty.read():
            pass

    def all(self, wanted: type[Event]) -> list[Event]:
        return [event for event in self.events if isinstance(event, wanted)]


@asynccontextmanager
async def running(name: str, home: Path, **env: str) -> AsyncIterator[Shell]:
    """A shell at its first prompt, with `home` for its home; skips the test where it is not installed."""
    program = shutil.which(name)
    if program is None:
        pytest.skip(f"{name} is not installed")
    given = {"PATH": os.environ["PATH"], "HOME": str(home), "TERM": "xterm", "LC_ALL": "C.UTF-8", **env}
    start = launch(program, given)
    with trio.fail_after(10):
        async with open_pty(start.argv, cwd=home, env={**given, **start.env}, cols=200, rows=24) as pty:
            shell = Shell(pty, start.nonce)
            await shell.until(Cwd)
            yield shell


SHELLS = pytest.mark.parametrize("name", ["bash", "zsh", "fish"])


@SHELLS
async def test_a_shell_tells_its_commands(tmp_path: Path, name: str) -> None:
    (tmp_path / "sub").mkdir()
    async with running(name, tmp_path) as shell:
        assert next(event for event in shell.events if not isinstance(event, Data)) == Detected()
        line, output, code = await shell.run("echo x$(math 1+1)y" if name == "fish" else "echo x$((1+1))y")
        assert line.startswith("echo x$(")
        assert "x2y" in output
        assert code == 0
        assert (await shell.run("sh -c 'exit 7'"))[::2] == ("sh -c 'exit 7'", 7)
        assert (await shell.run("cd sub; true"))[::2] == ("cd sub; true", 0)
        assert shell.all(Cwd)[-1] == Cwd(str(tmp_path / "sub"))


@SHELLS
async def test_a_repeated_command_and_an_odd_one_are_told_as_typed(tmp_path: Path, name: str) -> None:
    async with running(name, tmp_path) as shell:
        for line in ("echo again", "echo again", "echo 'a;b\\c ü' \"d\"", "echo again"):
            assert (await shell.run(line))[0] == line


@SHELLS
async def test_an_empty_line_and_an_interrupted_one_are_no_commands(tmp_path: Path, name: str) -> None:
    async with running(name, tmp_path) as shell:
        prompts = len(shell.all(Cwd))
        await shell.keys("\n")
        await shell.until(Cwd, prompts + 1)
        await shell.keys("half a line\x03")
        if name != "fish":  # It prompts anew without saying so.
            await shell.until(Cwd, prompts + 2)
        await shell.run("echo whole")
        assert [event.line for event in shell.all(CommandStarted) if isinstance(event, CommandStarted)] == [
            "echo whole"
        ]


@SHELLS
async def test_neither_a_program_nor_its_output_can_have_the_nonce(tmp_path: Path, name: str) -> None:
    async with running(name, tmp_path) as shell:
        _, output, _ = await shell.run("env")
        assert "HOME=" in output
        assert "AHPD" not in output
        assert shell._marks._nonce not in output
        await shell.run("printf '\\033]633;D;0\\007\\033]633;C;guess\\007'")
        assert len(shell.all(CommandStarted)) == len(shell.all(CommandEnded)) == 2


async def test_bash_reads_the_persons_own_settings_first(tmp_path: Path) -> None:
    (tmp_path / ".bashrc").write_text("GREETING=mine\nPROMPT_COMMAND='LAST=$?'\nenv > at-start\nset -u\n")
    async with running("bash", tmp_path) as shell:
        assert "mine" in (await shell.run('echo "$GREETING"'))[1]
        await shell.run("(exit 5)")
        assert "5 5" in (await shell.run('echo "$LAST" "$?"'))[1]
    assert "AHPD" not in (tmp_path / "at-start").read_text()


@pytest.mark.parametrize(
    "control", ["", "ignoredups", "ignorespace", "ignoreboth", "erasedups", "ignoreboth:erasedups"]
)
async def test_bash_keeps_the_history_as_the_person_set_it(tmp_path: Path, control: str) -> None:
    (tmp_path / ".bashrc").write_text(f"HISTCONTROL={control}\n")
    (tmp_path / ".bash_history").write_text("earlier\n")
    async with running("bash", tmp_path) as shell:
        await shell.run("echo one")
        await shell.run("echo one")
        secret, output, _ = await shell.run(" echo secret")
        await shell.run("echo two")
        await shell.run("echo one")
        await shell.leave()
    assert "secret" in output
    once, spaced = "dups" in control or "both" in control, "space" in control or "both" in control
    assert secret == ("" if spaced else " echo secret")
    wanted = ["earlier", "echo one", *([] if once else ["echo one"]), *([] if spaced else [" echo secret"])]
    wanted += ["echo two", "echo one", "exit"]
    if "erasedups" in control:
        wanted = [line for line in wanted if line != "echo one"]
        wanted.insert(-1, "echo one")
    assert (tmp_path / ".bash_history").read_text().splitlines() == wanted


async def test_bash_does_not_tell_a_line_that_the_history_ignores(tmp_path: Path) -> None:
    (tmp_path / ".bashrc").write_text("HISTIGNORE='echo private*'\n")
    async with running("bash", tmp_path) as shell:
        await shell.run("echo public")
        assert (await shell.run("echo private thing"))[0] == ""
        assert (await shell.run("echo public"))[0] == "echo public"


async def test_zsh_reads_the_persons_own_settings(tmp_path: Path) -> None:
    own = tmp_path / "own"
    own.mkdir()
    (tmp_path / ".zshrc").write_text("exit 9\n")
    (own / ".zshenv").write_text("FIRST=env\n")
    (own / ".zshrc").write_text("GREETING=$FIRST-rc\nsetopt ksh_arrays sh_word_split\n")
    async with running("zsh", tmp_path, ZDOTDIR=str(own)) as shell:
        assert "env-rc" in (await shell.run('echo "$GREETING"'))[1]
        assert str(own) in (await shell.run('echo "$ZDOTDIR"'))[1]


async def test_a_shell_without_a_script_runs_without_detection(tmp_path: Path) -> None:
    start = launch("/bin/sh", {})
    assert (start.argv, start.env, start.nonce) == (["/bin/sh"], {}, "")
