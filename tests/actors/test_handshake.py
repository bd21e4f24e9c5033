"""Attaching, watching, losing the connection and coming back."""

import json
from pathlib import Path
from typing import Any

import pytest

from tests.actors.hosting import ROOT, Refused, hosting


async def test_the_clients_preference_among_versions_is_honoured(tmp_path: Path) -> None:
    async with hosting(tmp_path) as host:
        talk = await host.attach()
        answer = await talk.ask("initialize", protocolVersions=["99.0.0", "0.9.0"], clientId="c1")
        assert answer["protocolVersion"] == "0.9.0"
        assert answer["snapshots"] == []


@pytest.mark.parametrize("versions", [["99.0.0"], []])
async def test_no_common_version_is_refused_and_the_connection_closed(tmp_path: Path, versions: list[str]) -> None:
    async with hosting(tmp_path) as host:
        talk = await host.attach()
        with pytest.raises(Refused) as refused:
            await talk.ask("initialize", protocolVersions=versions, clientId="c1")
        assert refused.value.code == -32005
        assert "0.9.0" in json.dumps(refused.value.data["supportedVersions"])


async def test_before_initialize_only_ping_is_answered(tmp_path: Path) -> None:
    async with hosting(tmp_path) as host:
        talk = await host.attach()
        assert await talk.ask("ping") is None
        with pytest.raises(Refused, match="initialize first"):
            await talk.ask("listSessions")
        await talk.ask("initialize", protocolVersions=["0.9.0"], clientId="c1")
        with pytest.raises(Refused) as refused:
            await talk.ask("initialize", protocolVersions=["0.9.0"], clientId="c1")
        assert refused.value.code == -32601


@pytest.mark.parametrize(
    ("frame", "code", "id_"),
    [
        ("{not json", -32700, None),
        (b"\x00\x01", -32700, None),
        ('[{"jsonrpc":"2.0","id":1,"method":"ping"}]', -32600, None),
        ('{"jsonrpc":"2.0","id":7}', -32600, 7),
        ('{"jsonrpc":"2.0","id":{},"method":"ping"}', -32600, None),
        ('{"jsonrpc":"2.0","id":8,"method":"nosuch","params":{}}', -32601, 8),
        ('{"jsonrpc":"2.0","id":9,"method":"subscribe","params":{}}', -32602, 9),
    ],
)
async def test_a_broken_frame_gets_its_answer_and_the_connection_lives_on(
    tmp_path: Path, frame: str | bytes, code: int, id_: Any
) -> None:
    async with hosting(tmp_path) as host:
        talk = await host.connect()
        talk.send(frame)
        answer = await talk.wait_for(lambda message: "error" in message)
        assert (answer["error"]["code"], answer["id"]) == (code, id_)
        talk.send('{"jsonrpc":"2.0","method":"nosuch"}')
        assert await talk.ask("ping") is None


async def test_unknown_channels_are_refused_by_kind(tmp_path: Path) -> None:
    async with hosting(tmp_path) as host:
        talk = await host.connect()
        for channel, code in (("ahp-session:/none", -32001), ("ahp-chat:/none", -32008), ("ahp-terminal:/t", -32008)):
            with pytest.raises(Refused) as refused:
                await talk.ask("subscribe", channel)
            assert refused.value.code == code
        state = await talk.state(ROOT)
        assert state["agents"][0]["provider"] == "parrot"


async def test_initial_subscriptions_leave_out_what_is_not_there(tmp_path: Path) -> None:
    async with hosting(tmp_path) as host:
        talk = await host.attach()
        answer = await talk.ask(
            "initialize", protocolVersions=["0.9.0"], clientId="c1", initialSubscriptions=[ROOT, "ahp-session:/none"]
        )
        assert [snapshot["resource"] for snapshot in answer["snapshots"]] == [ROOT]


async def test_a_client_that_comes_back_gets_what_it_missed(tmp_path: Path) -> None:
    async with hosting(tmp_path) as host:
        first, second = await host.connect("c1"), await host.connect("c2")
        chat = await first.open_session()
        await second.state(chat)
        seen = (await first.do(chat, "chat/isReadChanged", isRead=True))["serverSeq"]
        await host.drop(first)
        await second.say(chat, "one two three")
        await second.action(chat, "chat/turnComplete")
        again = await host.attach()
        answer = await again.ask(
            "reconnect", clientId="c1", lastSeenServerSeq=seen, subscriptions=[ROOT, chat, "ahp-chat:/gone"]
        )
        assert answer["type"] == "replay"
        assert answer["missing"] == ["ahp-chat:/gone"]
        types = [e["action"]["type"] for e in answer["actions"] if e["channel"] == chat]
        assert types == ["chat/turnStarted", "chat/responsePart", "chat/delta", "chat/delta", "chat/turnComplete"]
        seqs = [e["serverSeq"] for e in answer["actions"]]
        assert seqs == sorted(seqs)
        await second.say(chat, "more", "t2")
        await again.action(chat, "chat/turnStarted", turnId="t2")


async def test_a_gap_that_is_too_large_is_answered_by_snapshots(tmp_path: Path) -> None:
    async with hosting(tmp_path, config="replayWindow = 3\n") as host:
        first, second = await host.connect("c1"), await host.connect("c2")
        chat = await first.open_session()
        await second.state(chat)
        await host.drop(first)
        await second.say(chat, "a b c d e f")
        await second.action(chat, "chat/turnComplete")
        again = await host.attach()
        answer = await again.ask("reconnect", clientId="c1", lastSeenServerSeq=1, subscriptions=[chat])
        assert answer["type"] == "snapshot"
        assert answer["snapshots"][0]["state"]["turns"][0]["state"] == "complete"


async def test_an_unknown_client_starts_anew(tmp_path: Path) -> None:
    async with hosting(tmp_path) as host:
        talk = await host.attach()
        with pytest.raises(Refused) as refused:
            await talk.ask("reconnect", clientId="never", lastSeenServerSeq=1, subscriptions=[ROOT])
        assert refused.value.code == -32008


async def test_after_a_restart_a_known_client_reconnects_and_numbers_go_on(tmp_path: Path) -> None:
    async with hosting(tmp_path) as host:
        talk = await host.connect("c1")
        chat = await talk.open_session()
        seen = (await talk.say(chat, "hello"))["serverSeq"]
        await talk.action(chat, "chat/turnComplete")
    async with hosting(tmp_path) as host:
        talk = await host.attach()
        answer = await talk.ask("reconnect", clientId="c1", lastSeenServerSeq=seen, subscriptions=[chat])
        assert answer["type"] == "snapshot"
        assert answer["snapshots"][0]["fromSeq"] > seen
        assert answer["snapshots"][0]["state"]["turns"][0]["message"]["text"] == "hello"


async def test_every_uri_of_a_session_reaches_it_under_its_own_name(tmp_path: Path) -> None:
    async with hosting(tmp_path) as host:
        talk, other = await host.connect("c1"), await host.connect("c2")
        await talk.open_session("ahp-session:/s1")
        assert (await other.state("parrot:/s1"))["lifecycle"] == "ready"
        await talk.do("ahp-session:/s1", "session/titleChanged", title="named")
        assert (await other.action("parrot:/s1", "session/titleChanged"))["title"] == "named"
        envelope = await other.do("parrot:/s1", "session/titleChanged", title="again")
        assert envelope["channel"] == "parrot:/s1"
        with pytest.raises(Refused):
            await other.state("echo:/s1")


async def test_what_a_client_may_not_dispatch_comes_back_rejected(tmp_path: Path) -> None:
    async with hosting(tmp_path) as host:
        talk, other = await host.connect("c1"), await host.connect("c2")
        for type_ in ("root/agentsChanged", "root/fromTheFuture"):
            envelope = await talk.do(ROOT, type_, agents=[])
            assert type_ in envelope["rejectionReason"]
        assert [a["type"] for a in other.actions(ROOT)] == []
        talk.dispatch("ahp-session:/none", {"type": "session/titleChanged", "title": "x"})
        assert await talk.ask("ping") is None
        assert not [m for m in talk.got if m.get("method") == "action" and m["params"]["channel"] != ROOT]


async def test_settings_of_this_host_and_of_clients_are_kept(tmp_path: Path) -> None:
    async with hosting(tmp_path) as host:
        talk, other = await host.connect("c1"), await host.connect("c2")
        await talk.do(ROOT, "root/configChanged", config={"sessionIdleMs": 5000, "vscode.theirs": {"a": 1}})
        assert (await other.action(ROOT, "root/configChanged"))["config"]["sessionIdleMs"] == 5000
        rejected = await talk.do(ROOT, "root/configChanged", config={"sessionIdleMs": "soon"})
        assert "sessionIdleMs" in rejected["rejectionReason"]
    async with hosting(tmp_path) as host:
        values = (await (await host.connect()).state(ROOT))["config"]["values"]
        assert (values["sessionIdleMs"], values["vscode.theirs"]) == (5000, {"a": 1})


async def test_a_number_from_the_future_has_nothing_behind_it(tmp_path: Path) -> None:
    async with hosting(tmp_path) as host:
        await host.connect("c1")
        again = await host.attach()
        answer = await again.ask("reconnect", clientId="c1", lastSeenServerSeq=10**12, subscriptions=[ROOT])
        assert answer == {"type": "replay", "actions": [], "missing": []}


async def test_a_session_made_again_under_its_uri_is_not_replayed_onto_the_old_one(tmp_path: Path) -> None:
    async with hosting(tmp_path) as host:
        first, second = await host.connect("c1"), await host.connect("c2")
        await first.open_session()
        seen = (await first.do("ahp-session:/s", "session/titleChanged", title="old"))["serverSeq"]
        await host.drop(first)
        await second.ask("disposeSession", "ahp-session:/s")
        await second.open_session()
        await second.do("ahp-session:/s", "session/isArchivedChanged", isArchived=True)
        again = await host.attach()
        answer = await again.ask(
            "reconnect", clientId="c1", lastSeenServerSeq=seen, subscriptions=[ROOT, "ahp-session:/s"]
        )
        assert answer["type"] == "snapshot"
        assert answer["snapshots"][1]["state"]["title"] == ""


async def test_a_refusal_is_heard_though_the_client_subscribes_anew_behind_its_action(tmp_path: Path) -> None:
    async with hosting(tmp_path) as host:
        talk = await host.connect("c1")
        chat = await talk.open_session()
        refused = talk.dispatch(chat, {"type": "chat/turnCancelled", "turnId": "none", "duration": 0})
        taken = talk.dispatch(chat, {"type": "chat/isArchivedChanged", "isArchived": True})
        snapshot = (await talk.ask("subscribe", chat))["snapshot"]
        assert snapshot["state"]["status"] & 64
        echoes = {
            m["params"]["origin"]["clientSeq"]: m["params"]
            for m in talk.got
            if m.get("method") == "action" and "origin" in m["params"]
        }
        assert "rejectionReason" in echoes[refused]
        assert echoes[taken]["serverSeq"] <= snapshot["fromSeq"]


async def test_a_client_may_come_twice_and_each_connection_hears_for_itself(tmp_path: Path) -> None:
    async with hosting(tmp_path) as host:
        one, two = await host.connect("c1"), await host.connect("c1")
        chat = await one.open_session()
        await two.state(chat)
        await one.say(chat, "hello")
        await two.action(chat, "chat/turnComplete")
        two.send({"jsonrpc": "2.0", "method": "unsubscribe", "params": {"channel": chat}})
        await two.ask("ping")
        before = len(two.actions(chat))
        await one.say(chat, "more", "t2")
        await one.action(chat, "chat/turnComplete", turnId="t2")
        assert len(two.actions(chat)) == before
