"""JSON-RPC: every frame is a message, a refusal under the right id, or silence; never a crash."""

import json

import msgspec
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from ahp import jsonrpc
from ahp.jsonrpc import Notification, ProtocolError, Request, Response
from ahp.wire import UNSET, Wire

json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    max_leaves=8,
)
envelopes = st.dictionaries(
    st.sampled_from(["jsonrpc", "id", "method", "params", "result", "error", "other"]),
    json_values | st.just("2.0") | st.fixed_dictionaries({"code": st.integers(), "message": st.text()}),
)


def refusal(frame: str | bytes) -> tuple[int, object]:
    """Code and id of the answer to a bad frame."""
    with pytest.raises(ProtocolError) as caught:
        jsonrpc.parse(frame)
    answer = json.loads(caught.value.answer)
    assert answer["error"]["code"] == caught.value.code
    return answer["error"]["code"], answer["id"]


def survives(frame: str | bytes) -> None:
    try:
        jsonrpc.parse(frame)
    except ProtocolError as refused:
        answer = jsonrpc.parse(refused.answer)
        assert isinstance(answer, Response)


@given(st.binary() | st.text(st.characters(exclude_categories=[])))
@example(b"[" * 100_000)
@example(b'{"jsonrpc":"2.0","method":"m","params":' + b"[" * 100_000)
@example(b'{"jsonrpc":"2.0","method":"m","id":1e999}')
@example(b'{"jsonrpc":"2.0","method":"m","params":["\xff"]}')
def test_any_frame_is_a_message_or_gets_an_answer(frame: str | bytes) -> None:
    survives(frame)


@given(json_values | envelopes)
def test_any_json_is_a_message_or_gets_an_answer(value: object) -> None:
    survives(json.dumps(value))


@given(st.integers() | st.text() | st.none(), st.text(), st.dictionaries(st.text(), json_values))
def test_a_request_is_read_back(id: int | str | None, method: str, params: dict[str, object]) -> None:
    request = jsonrpc.parse(jsonrpc.encode_request(id, method, params))
    assert isinstance(request, Request)
    assert (request.id, request.method) == (id, method)
    assert json.loads(bytes(request.params)) == json.loads(json.dumps(params))


@given(st.integers() | st.text(), json_values)
def test_a_result_is_read_back(id: int | str, result: object) -> None:
    response = jsonrpc.parse(jsonrpc.encode_result(id, result))
    assert isinstance(response, Response)
    assert response.id == id
    assert isinstance(response.result, msgspec.Raw)
    assert json.loads(bytes(response.result)) == json.loads(json.dumps(result))


def test_a_notification_is_read_back() -> None:
    note = jsonrpc.parse(jsonrpc.encode_notification("action", msgspec.Raw(b'{"a":1}')))
    assert note == Notification("action", msgspec.Raw(b'{"a":1}'))


def test_an_error_is_read_back_as_the_exception_its_code_names() -> None:
    frame = jsonrpc.encode_error(7, -32005, "no common version", {"supportedVersions": ["0.9.0"]})
    response = jsonrpc.parse(frame)
    assert isinstance(response, Response)
    assert isinstance(response.error, jsonrpc.ErrorObject)
    error = jsonrpc.error_from(response.error)
    assert type(error) is jsonrpc.UnsupportedProtocolVersion
    assert (error.code, error.data) == (-32005, {"supportedVersions": ["0.9.0"]})
    other = jsonrpc.error_from(jsonrpc.ErrorObject(-1, "of its own"))
    assert (type(other), other.code, other.data) == (jsonrpc.RpcError, -1, None)


def test_params_may_be_absent_or_null() -> None:
    for frame in ('{"jsonrpc":"2.0","id":1,"method":"ping"}', '{"jsonrpc":"2.0","id":1,"method":"ping","params":null}'):
        request = jsonrpc.parse(frame)
        assert isinstance(request, Request)
        assert bytes(request.params) == b"{}"


def test_a_null_id_is_still_a_request() -> None:
    request = jsonrpc.parse('{"jsonrpc":"2.0","id":null,"method":"ping"}')
    assert isinstance(request, Request)
    assert request.id is None


def test_fields_from_the_future_do_no_harm() -> None:
    assert isinstance(jsonrpc.parse('{"jsonrpc":"2.0","method":"m","trace":"x"}'), Notification)


@pytest.mark.parametrize("frame", ["{not json", "", b"\x00\x01", b"\xff", '"\ud800"', "{} {}"])
def test_what_is_no_json_is_a_parse_error_without_an_id(frame: str | bytes) -> None:
    assert refusal(frame) == (-32700, None)


@pytest.mark.parametrize(
    ("frame", "id"),
    [
        ('[{"jsonrpc":"2.0","id":900,"method":"ping"}]', None),
        ("[]", None),
        ('"ping"', None),
        ('{"jsonrpc":"2.0","id":901}', 901),
        ('{"jsonrpc":"2.0"}', None),
        ('{"jsonrpc":"2.0","id":"s","method":5}', "s"),
        ('{"jsonrpc":"2.0","id":[1],"method":"ping"}', None),
        ('{"jsonrpc":"2.0","id":true,"method":"ping"}', None),
        ('{"jsonrpc":"2.0","id":4,"method":"ping","params":"x"}', 4),
        ('{"jsonrpc":"2.0","method":"ping","params":3}', None),
        ('{"jsonrpc":"1.0","id":5,"method":"ping"}', 5),
        ('{"id":6,"method":"ping"}', 6),
    ],
)
def test_what_is_no_request_is_refused_under_the_id_that_can_be_told(frame: str, id: object) -> None:
    assert refusal(frame) == (-32600, id)


@pytest.mark.parametrize(
    "frame",
    [
        '{"jsonrpc":"2.0","id":1,"result":1,"error":{"code":1,"message":""}}',
        '{"jsonrpc":"2.0","id":1,"error":"bad"}',
        '{"jsonrpc":"2.0","id":1,"error":null}',
        '{"jsonrpc":"2.0","result":1}',
    ],
)
def test_a_bad_response_is_never_refused_under_its_own_id(frame: str) -> None:
    assert refusal(frame) == (-32600, None)


def test_an_error_beside_a_null_result_is_an_error() -> None:
    response = jsonrpc.parse('{"jsonrpc":"2.0","id":1,"result":null,"error":{"code":1,"message":"m"}}')
    assert response == Response(1, UNSET, jsonrpc.ErrorObject(1, "m"))


class Point(Wire, frozen=True):
    x: int


def test_wrong_params_are_named() -> None:
    with pytest.raises(jsonrpc.InvalidParams, match=r"\$\.x"):
        jsonrpc.decode_params(msgspec.Raw(b'{"x":"1"}'), Point)
    with pytest.raises(jsonrpc.InvalidParams, match="`x`"):
        jsonrpc.decode_params(msgspec.Raw(b"{}"), Point)
    with pytest.raises(jsonrpc.InvalidParams):
        jsonrpc.decode_params(msgspec.Raw(b"[1]"), Point)


def test_params_from_the_future_are_kept() -> None:
    point = jsonrpc.decode_params(msgspec.Raw(b'{"x":1,"y":2}'), Point)
    assert json.loads(jsonrpc.encode_result(1, point))["result"] == {"x": 1, "y": 2}


def test_an_error_may_quote_a_name_that_is_no_utf8() -> None:
    assert b"?" in jsonrpc.encode_error(1, -32008, "no file a\udcff")
