"""The configuration: the table of keys, the file, where values come from, and changes while running."""

from __future__ import annotations

import os
import tomllib
from pathlib import Path

import pytest
import trio

from actors import log
from actors.config import KEYS, Change, Config, ConfigError, Settings, read_environment, read_flags, set_key, unset_key
from actors.config.example import example
from ahp.actions.root import RootConfigChanged
from ahp.wire import to_builtins


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "config.toml"


def load(path: Path, text: str) -> Settings:
    path.write_text(text)
    return Settings(path)


# The file, and what is wrong with it.


def test_no_file_is_all_defaults(path: Path) -> None:
    assert Settings(path).config == Config()


def test_values_are_typed_and_paths_are_below_the_file(path: Path) -> None:
    config = load(
        path,
        'port = 0\nallowedOrigins = ["https://vscode.dev"]\nunixSocket = "run/sock"\nworktreeRoot = "~/trees"\n'
        "http.noProxy = ['a']\n[agents.pi]\ncommand = ['pi', '--acp']\n"
        "env = {KEY = 'v'}\n[agents.pi.options]\nx = [1]\n",
    ).config
    assert config.port == 0
    assert config.allowed_origins == ("https://vscode.dev",)
    assert config.unix_socket == path.parent / "run/sock"
    assert config.worktree_root == Path.home() / "trees"
    assert config.http.no_proxy == ("a",)
    assert config.agents["pi"].command == ("pi", "--acp")
    assert config.agents["pi"].options == {"x": [1]}


@pytest.mark.parametrize(
    ("text", "line", "key", "words"),
    [
        ("# x\n\nprot = 3\n", 3, "prot", "no such key; did you mean port?"),
        ('host = "h"\nport = "80"\n', 2, "port", '"80" is text, but a whole number from 0 to 65535 is expected'),
        ("port = 65536", 1, "port", "it is 65536, but a whole number from 0 to 65535"),
        ("port = true", 1, "port", "it is true, but a whole number"),
        ('\nlogLevel = "loud"', 2, "logLevel", 'but one of "debug", "info", "warning", "error"'),
        ('allowedHosts = [\n  "a",\n  3,\n]\n', 3, "allowedHosts[1]", "it is 3, but text is expected"),
        ("[tls]\n# the certificate\ncert = 'x'", 3, "tls.cert", "did you mean tls.certFile?"),
        ("\n[tsl]\n# c\ncertFile = 'x'", 2, "tsl", "no such key"),
        ("tls = 3", 1, "tls", "write [tls]"),
        ("[agents.echo]\n\nenabeld = true", 3, "agents.echo.enabeld", "did you mean enabled?"),
        ("agents.echo = true", 1, "agents.echo", "it is true, but a table"),
        ('x = """\n\n"""', 1, "x", "no such key"),
        ("sessionIdleMs = -1", 1, "sessionIdleMs", "a whole number of milliseconds, at least 0"),
        ("a = 1\na = 2", 2, None, "no TOML: cannot overwrite a value"),
        ("port =", 1, None, "no TOML"),
        ("[http\n", 1, None, "no TOML"),
        ("\n\ntls.certFile = 'c'\n", 3, "tls.certFile", "needs tls.keyFile"),
    ],
)
def test_what_is_wrong_is_one_sentence_with_its_line(
    path: Path, text: str, line: int, key: str | None, words: str
) -> None:
    with pytest.raises(ConfigError) as caught:
        load(path, text)
    error = caught.value
    assert (error.path, error.line, error.key) == (str(path), line, key)
    assert words in error.message
    assert str(error).startswith(f"{path}:{line}: ")
    assert "\n" not in str(error)


def test_bytes_that_are_no_text_are_named_with_their_line(path: Path) -> None:
    path.write_bytes(b"port = 1\n# \xff\n")
    with pytest.raises(ConfigError, match=r"config.toml:2: this is no UTF-8 text"):
        Settings(path)


def test_an_error_never_repeats_a_secret(path: Path) -> None:
    for text in ("token = 123456", "agents.a.env = {KEY = 123456}", 'token = "123456'):
        with pytest.raises(ConfigError) as caught:
            load(path, text)
        assert "123456" not in str(caught.value)


# Precedence.


def test_a_flag_wins_over_the_environment_which_wins_over_the_file(path: Path, tmp_path: Path) -> None:
    path.write_text('port = 1\nhost = "file"\nlogLevel = "error"\nmaxConnections = 5')
    environment = read_environment({"AHPD_PORT": "2", "AHPD_HOST": "variable", "AHPD_LOG_LEVEL": ""}, tmp_path)
    settings = Settings(path, environment, read_flags({"port": "3"}, tmp_path))
    config = settings.config
    assert (config.port, config.host, config.log_level, config.max_connections) == (3, "variable", "error", 5)
    names = ("port", "host", "maxConnections", "logFormat")
    assert [settings.origin(name) for name in names] == ["flag", "environment", "file", "default"]


def test_text_is_read_as_the_kind_of_the_key(tmp_path: Path) -> None:
    values = read_environment(
        {
            "AHPD_SESSION_TOOLS": "off",
            "AHPD_HTTP_NO_PROXY": "a, b",
            "AHPD_UNIX_SOCKET": "s",
            "AHPD_AGENTS": "{echo = {enabled = false}}",
        },
        tmp_path,
    )
    assert values["sessionTools"] is False
    assert values["http.noProxy"] == ("a", "b")
    assert values["unixSocket"] == tmp_path / "s"
    config = Settings(tmp_path / "none", values).config
    assert config.agents["echo"].enabled is False
    assert read_flags({"allowedHosts": ["a,b", "c"]}, tmp_path) == {"allowedHosts": ("a", "b", "c")}


def test_a_wrong_variable_or_flag_is_named_as_such(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r'^AHPD_PORT: port: "x" is text'):
        read_environment({"AHPD_PORT": "x"}, tmp_path)
    with pytest.raises(ConfigError, match=r'^--log-level: logLevel: "x" is text'):
        read_flags({"logLevel": "x"}, tmp_path)


def test_every_key_has_its_own_flag_variable_and_sentence() -> None:
    keys = list(KEYS.values())
    assert len({key.flag for key in keys}) == len({key.variable for key in keys}) == len(keys)
    assert all(key.note.sentence.endswith(".") for key in keys)
    assert KEYS["tls.certFile"].flag == "--tls-cert-file"
    assert KEYS["tls.certFile"].variable == "AHPD_TLS_CERT_FILE"
    assert (KEYS["clientToolTimeoutMs"].default, KEYS["clientToolCallDisconnectTimeoutMs"].default) == (600_000, 30_000)


# The example file.


def test_the_example_explains_every_key_and_loads_commented_and_uncommented(path: Path) -> None:
    text = (Path(__file__).parents[2] / "config.example.toml").read_text()
    assert text == example(), "run: python -m actors.config.example > config.example.toml"
    assert load(path, text).config == Config()
    lines = [line.removeprefix("# ") if "=" in line or line.startswith("# [") else line for line in text.splitlines()]
    uncommented = load(path, "\n".join(lines))
    assert set(tomllib.loads("\n".join(lines))["agents"]) == {"echo"}
    differing = [key.name for key in KEYS.values() if key.plain(uncommented.config) != key.default]
    assert differing == ["agents"]
    assert all(uncommented.origin(key) == "file" for key in KEYS)


# Writing.

MINE = """\
# Mine.
port = 1  # the good one

[agents.echo]   # my agent
enabled = true
# later: command

[tls]
"""


def test_a_key_is_written_and_every_comment_stays(path: Path) -> None:
    path.write_text(MINE)
    path.chmod(0o600)
    set_key(path, "port", "8080")
    set_key(path, "agents.echo.command", ["a", "b"])
    set_key(path, "host", "::1")
    set_key(path, "agents.pi.enabled", "false")
    set_key(path, "http.noProxy", "a,b")
    text = path.read_text()
    comments = ("# Mine.\n", "# the good one", "# my agent", "# later: command")
    assert [text.count(comment) for comment in comments] == [1, 1, 1, 1]
    assert text.index("Mine") < text.index("port") < text.index("agents.echo") < text.index("[tls]")
    config = Settings(path).config
    assert (config.port, config.host, config.http.no_proxy) == (8080, "::1", ("a", "b"))
    assert config.agents["echo"].command == ("a", "b")
    assert config.agents["pi"].enabled is False
    assert path.stat().st_mode & 0o777 == 0o600
    assert os.listdir(path.parent) == ["config.toml"]


def test_a_new_file_is_private_and_a_path_is_kept_as_typed(path: Path) -> None:
    set_key(path, "worktreeRoot", "~/trees")
    assert path.read_text() == 'worktreeRoot = "~/trees"\n'
    assert path.stat().st_mode & 0o777 == 0o600


def test_a_link_stays_a_link(path: Path, tmp_path: Path) -> None:
    real = tmp_path / "dotfiles.toml"
    real.write_text("# mine\n")
    path.symlink_to(real)
    set_key(path, "port", "1")
    assert path.is_symlink()
    assert "port = 1" in real.read_text()


def test_a_wrong_value_or_key_writes_nothing(path: Path) -> None:
    path.write_text(MINE)
    bad = [("port", "x"), ("agents.echo.enabled", "maybe"), ("porrt", "1"), ("tls", "1"), ("a b", "1"), ("x=1\ny", "1")]
    for key, value in bad:
        with pytest.raises(ConfigError):
            set_key(path, key, value)
    assert path.read_text() == MINE


def test_a_broken_file_is_not_written_over(path: Path) -> None:
    path.write_text("porrt = 1\n")
    with pytest.raises(ConfigError, match=r"config.toml:1: porrt"):
        set_key(path, "port", "1")
    assert path.read_text() == "porrt = 1\n"


def test_a_key_can_be_taken_out(path: Path) -> None:
    path.write_text(MINE)
    assert unset_key(path, "port")
    assert not unset_key(path, "host")
    assert unset_key(path, "agents.echo.enabled")
    assert "# Mine." in path.read_text()
    assert Settings(path).config.port == Config().port


# The root channel.


def push(settings: Settings, replace: bool = False, **config: object) -> None:
    settings.push(RootConfigChanged(config={k.replace("__", "."): v for k, v in config.items()}, replace=replace))


def test_the_root_config_has_the_live_keys_with_schema_and_values(path: Path) -> None:
    state = Settings(path).root_state()
    assert state.values["http.noProxy"] == []
    assert "port" not in state.values
    assert "token" not in state.schema.properties
    assert set(state.values) == set(state.schema.properties)
    shown = to_builtins(state.schema)["properties"]
    assert shown["http.noProxy"]["type"] == "array"
    assert shown["http.noProxy"]["items"] == {"type": "string"}
    assert shown["logLevel"]["enum"] == ["debug", "info", "warning", "error"]
    assert shown["sessionIdleMs"]["type"] == "integer"
    assert "at least 0" in shown["sessionIdleMs"]["description"]


def test_a_client_changes_a_live_key_of_the_running_daemon(path: Path) -> None:
    settings = Settings(path)
    changes: list[Change] = []
    settings.subscribe(changes.append)
    push(settings, sessionIdleMs=5, http__noProxy=["h1"])
    assert (settings.config.session_idle_ms, settings.config.http.no_proxy) == (5, ("h1",))
    assert [change.keys for change in changes] == [{"sessionIdleMs", "http.noProxy"}]
    assert settings.origin("sessionIdleMs") == "client"
    push(settings, sessionIdleMs=5)
    assert len(changes) == 1


def test_a_push_with_one_wrong_value_changes_nothing(path: Path) -> None:
    settings = Settings(path)
    for wrong in ({"logLevel": "x"}, {"port": 1}, {"token": "x"}, {"sessionIdleMs": None}):
        with pytest.raises(ValueError, match=next(iter(wrong))):
            push(settings, theirs=1, sessionTools=False, **wrong)
    assert settings.config == Config()
    assert "theirs" not in settings.root_values()


def test_keys_of_the_clients_own_are_kept_and_not_acted_on(path: Path) -> None:
    settings = Settings(path)
    push(settings, telemetryLevel="off", permissions={"a": [1]})
    push(settings, customizations=[])
    assert settings.root_values()["permissions"] == {"a": [1]}
    assert settings.config == Config()
    push(settings, replace=True, telemetryLevel="on", logLevel="debug")
    values = settings.root_values()
    assert "permissions" not in values
    assert (values["telemetryLevel"], values["logLevel"]) == ("on", "debug")
    push(settings, replace=True)
    assert settings.root_values() == Settings(path).root_values()


def test_clients_cannot_pile_up_keys_for_ever(path: Path) -> None:
    settings = Settings(path)
    with pytest.raises(ValueError, match="at most 1000"):
        settings.push(RootConfigChanged(config={f"k{n}": n for n in range(1001)}))


def test_what_was_pushed_outlives_the_process_until_the_file_says_something_newer(path: Path) -> None:
    settings = load(path, "sessionIdleMs = 1\n")
    push(settings, sessionIdleMs=2, logLevel="debug", theirs=[1])
    kept = settings.kept()

    same = Settings(path)
    same.restore(kept)
    assert (same.config.session_idle_ms, same.config.log_level) == (2, "debug")
    assert same.root_values()["theirs"] == [1]

    later = load(path, "sessionIdleMs = 3\n")
    later.restore(kept)
    assert (later.config.session_idle_ms, later.config.log_level) == (3, "debug")


def test_kept_settings_of_another_version_do_no_harm(path: Path) -> None:
    settings = Settings(path)
    kept = {
        "pushed": {"gone": {"value": 1, "over": 1}, "logLevel": {"value": "loud", "over": "info"}, "http.noProxy": 1}
    }
    settings.restore(kept)
    settings.restore(None)
    assert settings.config == Config()


def test_secrets_are_hidden_where_values_are_shown_and_from_the_log(path: Path) -> None:
    settings = load(
        path, "token = 'tttttttt'\n[agents.a]\nenv = {K = 'eeeeeeee'}\noptions = {apiKey = 'oooooooo', n = 1}"
    )
    shown = {name: key.shown(settings.config) for name, key in KEYS.items()}
    assert shown["token"] == "<set>"
    assert shown["agents"]["a"]["env"] == {"K": "<set>"}
    assert shown["agents"]["a"]["options"] == {"apiKey": "<set>", "n": 1}
    assert KEYS["token"].shown(Config()) == ""
    assert log.redactor.text("tttttttt eeeeeeee oooooooo") == "<secret> <secret> <secret>"


def test_what_was_shown_may_be_sent_back_whole(path: Path) -> None:
    settings = load(path, "token = 'tttttttt'\nport = 5")
    push(settings, **settings.root_values())
    push(settings, token="<set>", port=5)
    assert settings.config.token == "tttttttt"


# Changes of the file.


def test_a_live_key_changes_with_the_file_and_another_waits_for_a_restart(path: Path) -> None:
    settings = load(path, "port = 1\n")
    path.write_text('port = 2\nlogLevel = "debug"\n')
    settings.reload()
    assert (settings.config.port, settings.config.log_level) == (1, "debug")
    assert settings.waiting == ["port"]


def test_a_file_that_became_wrong_changes_nothing_and_is_logged(path: Path) -> None:
    settings = load(path, 'logLevel = "debug"\n')
    path.write_text('logLevel = "error"\nporrt = 1')
    with pytest.raises(ConfigError, match=":2: porrt"):
        settings.reload()
    path.write_text("tls.certFile = 'x'")
    with log.capture() as lines:
        settings.reload_or_log()
    assert "tls.keyFile" in lines[0]
    assert settings.config.log_level == "debug"


def test_the_newest_word_wins_between_a_client_and_the_file(path: Path) -> None:
    settings = load(path, "sessionIdleMs = 1\n")
    push(settings, sessionIdleMs=2)
    path.write_text("sessionIdleMs = 1\nlogLevel = 'debug'\n")
    settings.reload()
    assert settings.config.session_idle_ms == 2
    path.write_text("sessionIdleMs = 3\n")
    settings.reload()
    assert settings.config.session_idle_ms == 3


async def test_saving_the_file_is_enough_also_the_way_editors_save(path: Path) -> None:
    settings = Settings(path)
    seen, changes = trio.open_memory_channel[Change](10)
    settings.subscribe(seen.send_nowait)
    with trio.fail_after(20):
        async with trio.open_nursery() as nursery:
            await nursery.start(settings.watch)
            while settings.config.log_level != "debug":  # The system's watch begins a moment after it was asked for.
                path.write_text("logLevel = 'debug'")
                with trio.move_on_after(0.2):
                    await changes.receive()
            new = path.with_name("new")
            new.write_text("logLevel = 'error'")
            new.rename(path)
            assert (await changes.receive()).new.log_level == "error"
            nursery.cancel_scope.cancel()


async def test_a_folder_that_is_not_there_is_a_warning_and_no_end(tmp_path: Path) -> None:
    with log.capture("warning") as lines:
        await Settings(tmp_path / "no" / "config.toml").watch()
    assert "no longer watched" in lines[0]
