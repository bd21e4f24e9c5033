"""Params and results: what the wire says is what the types say, and what they do not know is kept."""

from __future__ import annotations

import json
from typing import Any

import msgspec
import pytest

from ahp import commands, wire
from ahp.commands import METHODS, Direction

EXAMPLES: dict[str, str] = {
    "initialize": '{"channel":"ahp-root://","protocolVersions":["0.9.0"],"clientId":"c","clientInfo":{"name":"n"},'
    '"initialSubscriptions":["ahp-root://"],"locale":"de","capabilities":{"mcpApps":{},"steeringMessages":true}}',
    "ping": '{"channel":"ahp-root://"}',
    "reconnect": '{"channel":"ahp-root://","clientId":"c","lastSeenServerSeq":4,"subscriptions":[]}',
    "subscribe": '{"channel":"ahp-chat:/c","delivery":{"maxLatencyMs":50},"view":{"turns":5}}',
    "unsubscribe": '{"channel":"ahp-chat:/c"}',
    "authenticate": '{"channel":"ahp-root://","resource":"https://a","token":"t","expiresIn":60,"scopes":["a"]}',
    "listSessions": '{"channel":"ahp-root://","limit":5,"cursor":"x","filter":{"status":["idle"]}}',
    "resolveSessionConfig": '{"channel":"ahp-root://","provider":"echo","workingDirectory":"file:///a","config":{}}',
    "sessionConfigCompletions": '{"channel":"ahp-root://","property":"branch","query":"ma"}',
    "createSession": '{"channel":"ahp-session:/s","provider":"echo","workingDirectories":["file:///a"],"config":{"a":1},'
    '"model":{"id":"m"},"activeClient":{"clientId":"c","tools":[]},"fork":{"session":"ahp-session:/o","turnId":"t"},'
    '"progressToken":"p","_meta":{"k":1}}',
    "disposeSession": '{"channel":"ahp-session:/s"}',
    "createChat": '{"channel":"ahp-session:/s","chat":"ahp-chat:/c","title":"t","initialMessage":{"text":"hi","origin":'
    '{"kind":"user"}},"source":{"kind":"sideChat","chat":"ahp-chat:/o","turnId":"t","selection":{"text":"x"}}}',
    "disposeChat": '{"channel":"ahp-chat:/c"}',
    "moveChat": '{"channel":"ahp-chat:/c","destination":{"kind":"newSession"},"requestId":"r"}',
    "reorderChat": '{"channel":"ahp-chat:/c","destination":{"kind":"before","anchor":"ahp-chat:/d"},"requestId":"r"}',
    "fetchTurns": '{"channel":"ahp-chat:/c","cursor":"x"}',
    "completions": '{"channel":"ahp-chat:/c","kind":"userMessage","text":"@a","offset":2}',
    "createTerminal": '{"channel":"ahp-terminal:/t","claim":{"kind":"client","clientId":"c"},"cols":80,"rows":24}',
    "disposeTerminal": '{"channel":"ahp-terminal:/t"}',
    "invokeChangesetOperation": '{"channel":"ahp-changeset:/s/u","operationId":"o","target":{"kind":"resource",'
    '"resource":"file:///a","side":"after"}}',
    "resourceRead": '{"channel":"ahp-root://","uri":"file:///a","encoding":"base64"}',
    "resourceWrite": '{"channel":"ahp-root://","uri":"file:///a","data":"x","encoding":"utf-8","contentType":"text/plain",'
    '"createOnly":false,"mode":"append","position":3,"ifMatch":"e"}',
    "resourceList": '{"channel":"ahp-root://","uri":"file:///a"}',
    "resourceCopy": '{"channel":"ahp-root://","source":"file:///a","destination":"file:///b","failIfExists":true}',
    "resourceMove": '{"channel":"ahp-root://","source":"file:///a","destination":"file:///b"}',
    "resourceDelete": '{"channel":"ahp-root://","uri":"file:///a","recursive":true}',
    "resourceResolve": '{"channel":"ahp-root://","uri":"file:///a","followSymlinks":false}',
    "resourceMkdir": '{"channel":"ahp-root://","uri":"file:///a"}',
    "resourceRequest": '{"channel":"ahp-root://","uri":"file:///a","read":true,"write":true}',
    "createResourceWatch": '{"channel":"ahp-root://","uri":"file:///a","recursive":true,"excludes":{"items":["**/x"]}}',
    "dispatchAction": '{"channel":"ahp-chat:/c","clientSeq":1,"action":{"type":"chat/fromTheFuture","x":[1]}}',
    "action": '{"channel":"ahp-chat:/c","action":{"type":"x"},"serverSeq":1,"origin":{"clientId":"c","clientSeq":2},'
    '"rejectionReason":"no"}',
    "root/sessionAdded": '{"channel":"ahp-root://","summary":{"resource":"ahp-session:/s","provider":"echo","title":"t",'
    '"status":1,"createdAt":"2026-01-01T00:00:00.000Z","modifiedAt":"2026-01-01T00:00:00.000Z"}}',
    "root/sessionRemoved": '{"channel":"ahp-root://","session":"ahp-session:/s"}',
    "root/sessionSummaryChanged": '{"channel":"ahp-root://","session":"ahp-session:/s","changes":{"title":"t"}}',
    "root/progress": '{"channel":"ahp-root://","progressToken":"p","progress":1,"total":2,"message":"m"}',
    "auth/required": '{"channel":"ahp-root://","resource":{"resource":"https://a"},"reason":"expired"}',
    "chat/moved": '{"channel":"ahp-chat:/c","previousSession":"ahp-session:/a","previousChat":"ahp-chat:/c","session":'
    '"ahp-session:/b","chat":"ahp-chat:/c","movedChats":[{"previousChat":"ahp-chat:/c","chat":"ahp-chat:/c"}]}',
    "otlp/exportLogs": '{"channel":"ahp-otlp://logs","payload":{"resourceLogs":[]}}',
    "otlp/exportTraces": '{"channel":"ahp-otlp://traces","payload":{}}',
    "otlp/exportMetrics": '{"channel":"ahp-otlp://metrics","payload":{}}',
}

RESULTS: dict[str, str] = {
    "initialize": '{"protocolVersion":"0.9.0","serverSeq":1,"snapshots":[{"resource":"ahp-root://","state":{"agents":[]},'
    '"fromSeq":1}],"serverInfo":{"name":"n","version":"1"},"defaultDirectory":"file:///a","_meta":{"k":true}}',
    "reconnect": '{"type":"replay","actions":[{"channel":"c","action":{"type":"x"},"serverSeq":1}],"missing":["d"]}',
    "subscribe": '{"snapshot":{"resource":"ahp-root://","state":{"agents":[]},"fromSeq":1}}',
    "listSessions": '{"items":[],"nextCursor":"x"}',
    "resolveSessionConfig": '{"schema":{"type":"object","properties":{}},"values":{"a":1}}',
    "sessionConfigCompletions": '{"items":[{"value":"main","label":"main"}]}',
    "moveChat": '{"previousSession":"a","previousChat":"b","session":"c","chat":"d","movedChats":[]}',
    "reorderChat": '{"session":"a","chats":["b"]}',
    "completions": '{"items":[{"insertText":"x","rangeStart":0,"rangeEnd":1,"attachment":'
    '{"type":"simple","label":"x"}}]}',
    "invokeChangesetOperation": '{"message":{"markdown":"**x**"},"followUp":{"content":{"uri":"https://a"},'
    '"external":true}}',
    "resourceRead": '{"data":"x","encoding":"utf-8","contentType":"text/plain"}',
    "resourceList": '{"entries":[{"name":"a","type":"file"}]}',
    "resourceResolve": '{"uri":"file:///a","type":"file","size":1,"mtime":"x","ctime":"y","etag":"e"}',
    "createResourceWatch": '{"channel":"ahp-resource-watch:/1"}',
}

# Messages that may come bare, because the protocol fixes the channel to the root.
BARE = {"ping", "listSessions", "resolveSessionConfig"}


def test_every_method_has_an_example() -> None:
    assert set(EXAMPLES) == set(METHODS)


@pytest.mark.parametrize("method", METHODS)
def test_params_are_read_and_written_as_they_are(method: str) -> None:
    params = wire.decode(EXAMPLES[method], METHODS[method].params)
    assert json.loads(wire.encode(params)) == json.loads(EXAMPLES[method])


@pytest.mark.parametrize("method", RESULTS)
def test_results_are_read_and_written_as_they_are(method: str) -> None:
    result = wire.decode(RESULTS[method], METHODS[method].result)
    assert json.loads(wire.encode(result)) == json.loads(RESULTS[method])


@pytest.mark.parametrize("method", METHODS)
def test_fields_from_the_future_are_kept(method: str) -> None:
    future = {**json.loads(EXAMPLES[method]), "fromTheFuture": {"x": 1}}
    params = wire.decode(json.dumps(future), METHODS[method].params)
    assert isinstance(params, METHODS[method].params)
    assert json.loads(wire.encode(params)) == future


@pytest.mark.parametrize("method", METHODS)
def test_params_that_lack_everything_are_refused(method: str) -> None:
    if method in BARE:
        assert wire.decode("{}", METHODS[method].params)
    else:
        with pytest.raises(msgspec.ValidationError, match="missing required field"):
            wire.decode("{}", METHODS[method].params)


def test_a_reconnect_answers_with_replay_or_snapshots() -> None:
    result = wire.decode('{"type":"snapshot","snapshots":[]}', METHODS["reconnect"].result)
    assert isinstance(result, commands.ReconnectSnapshot)


def test_a_destination_from_the_future_is_kept_for_the_host_to_refuse() -> None:
    params: Any = wire.decode(
        '{"channel":"ahp-chat:/c","destination":{"kind":"moon","x":1},"requestId":"r"}', METHODS["moveChat"].params
    )
    assert isinstance(params.destination, wire.Unknown)
    assert wire.tag_of(params.destination) == "moon"


def test_an_encoding_that_does_not_exist_is_refused() -> None:
    with pytest.raises(msgspec.ValidationError):
        wire.decode('{"uri":"file:///a","encoding":"utf-16"}', commands.ResourceReadParams)


def test_initialize_without_versions_offers_none() -> None:
    assert wire.decode('{"channel":"ahp-root://","clientId":"x"}', commands.InitializeParams).protocol_versions == []


def test_the_resource_family_goes_both_ways() -> None:
    both = {name for name, method in METHODS.items() if method.direction is Direction.BOTH}
    assert both == {name for name in METHODS if name.startswith("resource")} | {"createResourceWatch"}


def test_only_notifications_have_no_result_to_wait_for() -> None:
    notes = {name for name, method in METHODS.items() if method.notification}
    assert notes == {n for n in METHODS if "/" in n} | {"action", "dispatchAction", "unsubscribe"}
