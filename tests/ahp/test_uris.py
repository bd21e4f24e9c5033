"""URIs: what is written is read back, and what is no channel is refused with a sentence."""

import os
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ahp import uris

IDS = st.text("abcXYZ019-._~", min_size=1).filter(lambda s: s.strip("."))


@given(IDS)
def test_what_a_builder_writes_is_read_back(id: str) -> None:
    for build, kind in (
        (uris.session, "session"),
        (uris.chat, "chat"),
        (uris.terminal, "terminal"),
        (uris.resource_watch, "resourceWatch"),
    ):
        channel = uris.parse(build(id))
        assert (channel.kind, channel.id, channel.canonical) == (kind, id, build(id))


@given(st.text(min_size=1).filter(lambda s: s.strip("/")))
def test_any_id_becomes_a_uri_that_parses_to_itself(id: str) -> None:
    id = id.encode("utf-8", "replace").decode()
    for build in (uris.session, uris.chat):
        assert build(uris.parse(build(id)).id) == build(id)


@given(st.text())
def test_any_text_is_a_channel_or_refused(text: str) -> None:
    try:
        channel = uris.parse(text)
    except uris.BadUri:
        return
    assert uris.parse(channel.canonical).canonical == channel.canonical


def test_a_session_has_two_names_and_one_canonical_uri() -> None:
    alias = uris.parse(uris.session_alias("echo", "s1"))
    assert (alias.kind, alias.id, alias.provider) == ("session", "s1", "echo")
    assert alias.canonical == uris.parse("ahp-session:/s1").canonical == "ahp-session:/s1"
    notes = uris.parse("echo:/s1/annotations")
    assert (notes.kind, notes.session, notes.canonical) == ("annotations", "echo:/s1", "ahp-session:/s1/annotations")


def test_the_root_channel_has_one_spelling() -> None:
    assert uris.parse(uris.ROOT).kind == "root"
    assert uris.parse("ahp-root:").uri == uris.ROOT
    assert uris.parse("ahp-automations://").kind == "automation"
    assert uris.parse("ahp-automation-run:/1").kind == "automationRun"


def test_annotations_and_changesets_know_their_session() -> None:
    notes = uris.parse(uris.annotations("ahp-session:/s1"))
    assert (notes.kind, notes.session) == ("annotations", "ahp-session:/s1")
    turn = uris.parse(uris.changeset("ahp-session:/s1", "turn/t 1"))
    assert (turn.kind, turn.session, turn.name) == ("changeset", "ahp-session:/s1", "turn/t%201")
    assert uris.changeset("echo:/s1", "turn/{turnId}") == "ahp-changeset:/s1/turn/{turnId}"
    assert uris.parse("ahp-session:/s1/changeset/uncommitted").canonical == "ahp-changeset:/s1/uncommitted"


def test_the_reference_hosts_chat_uri_is_opaque_and_kept() -> None:
    text = "ahp-chat://default/YWhwLXNlc3Npb246L3Mx"
    channel = uris.parse(text)
    assert channel.kind == "chat"
    assert uris.chat(channel.id) == channel.canonical == text


NO_CHANNELS = ["", "x", "not a uri", "file:///etc/passwd", "http://a/b", "ahp-session:/", "ahp-session:/a/b"]
NO_CHANNELS += ["ahp-new:/x", "echo://host/a", "agent-host-session://a/b", "ahp-session:/a?b", "ahp-session:/a b"]


@pytest.mark.parametrize("text", NO_CHANNELS)
def test_what_is_no_channel_is_refused(text: str) -> None:
    with pytest.raises(uris.BadUri):
        uris.parse(text)


def test_annotations_of_something_else_are_refused() -> None:
    with pytest.raises(uris.BadUri, match="not a session"):
        uris.annotations("ahp-chat:/c")


@given(IDS, st.none() | st.text(min_size=1), st.none() | st.text(min_size=1))
def test_an_open_link_is_read_back(id: str, chat: str | None, turn: str | None) -> None:
    chat, turn = (t and t.encode("utf-8", "replace").decode() for t in (chat, turn))
    link = uris.OpenLink(provider="echo", session_id=id, chat=chat, turn=turn)
    assert uris.parse_link(uris.format_link(link)) == link


def test_an_open_link_reads_like_the_reference_hosts() -> None:
    link = uris.parse_link("agent-host-session://copilotcli/abc-123?chat=a%2Bb&turn=t1")
    assert (link.session, link.chat, link.turn) == ("ahp-session:/abc-123", "a+b", "t1")


@pytest.mark.parametrize("text", ["copilot:/x", "agent-host-session:///x", "agent-host-session://p", "http://[", "x"])
def test_what_is_no_open_link_is_refused(text: str) -> None:
    with pytest.raises(uris.BadUri):
        uris.parse_link(text)


@given(st.binary(min_size=1).filter(lambda b: b"\0" not in b))
def test_any_path_is_read_back_from_its_uri(name: bytes) -> None:
    path = os.fsdecode(b"/" + name.lstrip(b"/"))
    assert os.fspath(uris.path_of(uris.file_uri(path))) == os.fspath(Path(path))


@pytest.mark.parametrize(
    "uri", ["http://a/b", "file://otherhost/x", "file:relative", "file:///a%00b", "file:///a?b", "file:///a#b", "x"]
)
def test_what_is_no_local_file_is_refused(uri: str) -> None:
    with pytest.raises(uris.BadUri):
        uris.path_of(uri)


def test_a_relative_path_has_no_uri() -> None:
    with pytest.raises(uris.BadUri):
        uris.file_uri("a/b")
