"""JSON-RPC 2.0 as AHP speaks it: one frame in, one message out, and the errors both sides know by name.

`parse` decodes a frame once, into a struct whose `params`, `result` and error `data` stay raw JSON; only a frame
that is refused is looked at a second time, to say what was wrong. The encoders splice one encoded value into a
constant head. Sans-I/O and stateless: any layer may call it.
"""

from __future__ import annotations

import functools
from typing import ClassVar, Literal, TypeAlias, TypeVar

import msgspec
from msgspec import UNSET, Raw, Struct, UnsetType

from ahp import wire
from ahp.wire import JSON

__all__ = [
    "AlreadyExists",
    "AuthRequired",
    "Conflict",
    "ErrorObject",
    "Id",
    "InternalError",
    "InvalidParams",
    "InvalidRequest",
    "Message",
    "MethodNotFound",
    "NotFound",
    "Notification",
    "ParseError",
    "PermissionDenied",
    "ProtocolError",
    "ProviderNotFound",
    "Request",
    "Response",
    "RpcError",
    "SessionAlreadyExists",
    "SessionNotFound",
    "TurnInProgress",
    "UnsupportedProtocolVersion",
    "decode_params",
    "encode_error",
    "encode_notification",
    "encode_request",
    "encode_result",
    "error_from",
    "parse",
]

T = TypeVar("T")
Id: TypeAlias = int | float | str | None
"""The id of a request. Ours are integers; a peer's may be any of these and is echoed as it came."""


class Request(Struct, frozen=True):
    """A message that wants an answer. `params` is raw JSON, `{}` where the peer sent none (or null)."""

    id: Id
    method: str
    params: Raw


class Notification(Struct, frozen=True):
    """A message that must never be answered, not even to refuse it. `params` as in `Request`."""

    method: str
    params: Raw


class ErrorObject(Struct, frozen=True):
    """The error of a response; `data` is raw JSON."""

    code: int
    message: str
    data: Raw | UnsetType = UNSET


class Response(Struct, frozen=True):
    """The answer to a request of ours: exactly one of `result` (raw JSON) and `error` is set."""

    id: Id
    result: Raw | UnsetType = UNSET
    error: ErrorObject | UnsetType = UNSET


Message: TypeAlias = Request | Notification | Response


class RpcError(Exception):
    """An error that travels as a JSON-RPC error object.

    Raised by whoever serves a request, and by a client for what the host answered. `message` is for the person who
    meets it; `data` is plain JSON data or a wire struct, or None for no data. Subclasses name the codes
    of the protocol; `error_from` makes the right one for a code.
    """

    code: int
    message: str
    data: JSON

    default_code: ClassVar[int] = -32603

    def __init__(self, message: str, data: JSON = None, *, code: int | None = None) -> None:
        super().__init__(message)
        self.code = self.default_code if code is None else code
        self.message = message
        self.data = data

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.message!r}, code={self.code})"


class ParseError(RpcError):
    """The frame is no JSON."""

    default_code = -32700


class InvalidRequest(RpcError):
    """The frame is JSON but no JSON-RPC message."""

    default_code = -32600


class MethodNotFound(RpcError):
    """Nobody serves the method (or not any more on this connection)."""

    default_code = -32601


class InvalidParams(RpcError):
    """The params are not of the method's shape, or name something impossible (an unknown cursor, a bad id)."""

    default_code = -32602


class InternalError(RpcError):
    """The receiver failed; nothing the sender could have done better."""

    default_code = -32603


class SessionNotFound(RpcError):
    """No session has that URI."""

    default_code = -32001


class ProviderNotFound(RpcError):
    """No agent of that provider is registered."""

    default_code = -32002


class SessionAlreadyExists(RpcError):
    """A session with that URI exists."""

    default_code = -32003


class TurnInProgress(RpcError):
    """The operation needs a chat at rest, and a turn is active."""

    default_code = -32004


class UnsupportedProtocolVersion(RpcError):
    """No offered protocol version is served. `data`: `{supportedVersions: [version or range]}`, always."""

    default_code = -32005


class AuthRequired(RpcError):
    """A protected resource wants a token first. `data`: `{resources: [RFC 9728 metadata]}`, always."""

    default_code = -32007


class NotFound(RpcError):
    """A file, folder, channel or client id that does not exist."""

    default_code = -32008


class PermissionDenied(RpcError):
    """The caller may not. `data`: `{request?: the resourceRequest that would help}`."""

    default_code = -32009


class AlreadyExists(RpcError):
    """The target exists and the operation does not overwrite."""

    default_code = -32010


class Conflict(RpcError):
    """A precondition (`ifMatch`) no longer holds."""

    default_code = -32011


class ProtocolError(RpcError):
    """A frame that `parse` refuses: a parse error or an invalid request.

    `id` is the request's id where it could be told, else None. `answer` is the frame to send back; the connection
    lives on.
    """

    id: Id

    def __init__(self, code: int, message: str, data: JSON = None, id: Id = None) -> None:
        super().__init__(message, data, code=code)
        self.id = id

    @property
    def answer(self) -> bytes:
        """The error response for the peer."""
        return encode_error(self.id, self.code, self.message, self.data)


# fmt: off
_BY_CODE: dict[int, type[RpcError]] = {
    kind.default_code: kind
    for kind in (
        ParseError, InvalidRequest, MethodNotFound, InvalidParams, InternalError, SessionNotFound, ProviderNotFound,
        SessionAlreadyExists, TurnInProgress, UnsupportedProtocolVersion, AuthRequired, NotFound, PermissionDenied,
        AlreadyExists, Conflict,
    )
}
# fmt: on


def error_from(error: ErrorObject) -> RpcError:
    """The exception for an error a peer answered: the subclass its code names, else a plain `RpcError`."""
    data = None if isinstance(error.data, UnsetType) else msgspec.json.decode(error.data)
    return _BY_CODE.get(error.code, RpcError)(error.message, data, code=error.code)


class _Frame(Struct):
    jsonrpc: Literal["2.0"]
    id: int | float | str | UnsetType | None = UNSET
    method: str | UnsetType = UNSET
    params: Raw | UnsetType = UNSET
    result: Raw | UnsetType = UNSET
    error: ErrorObject | UnsetType | None = UNSET


_decode_frame = msgspec.json.Decoder(_Frame).decode
_NO_PARAMS = Raw(b"{}")


def parse(frame: str | bytes) -> Message:
    """The message in one frame.

    Raises `ProtocolError`: -32700 with id None for what is no JSON, -32600 for what is no JSON-RPC 2.0 message (a
    batch, a missing method, an id that is neither number, string nor null, params that are neither object nor array).
    """
    try:
        if isinstance(frame, bytes) and not frame.isascii():
            frame.decode()  # Raw parts are skipped, not checked, by the decoder.
        message = _decode_frame(frame)
    except msgspec.ValidationError:
        raise _explain(frame) from None
    except (msgspec.DecodeError, UnicodeError, RecursionError):
        raise ProtocolError(ParseError.default_code, "Parse error") from None
    id, method = message.id, message.method
    if not isinstance(method, UnsetType):
        params = _params(message.params)
        if params is None:
            raise _explain(frame)
        return Notification(method, params) if isinstance(id, UnsetType) else Request(id, method, params)
    result, error = message.result, message.error
    if not isinstance(id, UnsetType):
        if isinstance(error, ErrorObject):
            # Some peers send both, with the result null.
            if isinstance(result, UnsetType) or bytes(result) == b"null":
                return Response(id, UNSET, error)
        elif not isinstance(result, UnsetType):
            return Response(id, result)
    raise _explain(frame)


def _params(params: Raw | UnsetType) -> Raw | None:
    """Raw params, `{}` for none, None for what is neither object nor array."""
    if isinstance(params, UnsetType):
        return _NO_PARAMS
    first = memoryview(params)[0]
    if first in (0x7B, 0x5B):
        return params
    return _NO_PARAMS if first == 0x6E else None


def _explain(frame: str | bytes) -> ProtocolError:
    """Why the frame is no message, with the id to answer under. The slow path: the frame is decoded again."""
    try:
        value = msgspec.json.decode(frame)
    except msgspec.ValidationError as e:
        return _invalid(str(e))
    except (msgspec.DecodeError, UnicodeError, RecursionError):
        return ProtocolError(ParseError.default_code, "Parse error")
    if isinstance(value, list):
        return _invalid("batches are not supported: send one message a frame")
    if not isinstance(value, dict):
        return _invalid("a message is an object")
    id = value.get("id")
    if isinstance(id, bool) or not isinstance(id, int | float | str | None):
        return _invalid("an id is a number, a string or null")
    if "method" not in value and ("result" in value or "error" in value):
        # Under its own id, the peer would take the refusal of its answer for the answer to a request of its own.
        return _invalid("a response has an id and either a result or an error {code, message}")
    if value.get("jsonrpc") != "2.0":
        return _invalid('"jsonrpc" must be "2.0"', id)
    if "method" not in value:
        return _invalid("a request has a method", id)
    if not isinstance(value["method"], str):
        return _invalid("a method is a string", id)
    if not isinstance(value.get("params"), dict | list | None):
        return _invalid("params are an object", id)
    return _invalid("not a JSON-RPC message", id)


def _invalid(why: str, id: Id = None) -> ProtocolError:
    return ProtocolError(InvalidRequest.default_code, f"Invalid request: {why}", id=id)


def decode_params(params: Raw, kind: type[T]) -> T:
    """`params` (or a result) as the wire type `kind`, unknown fields kept. Raises `InvalidParams`, saying where."""
    try:
        return wire.decode(params, kind)
    except msgspec.DecodeError as e:
        raise InvalidParams(f"Invalid params: {e}") from None
    except (UnicodeError, RecursionError):
        raise InvalidParams("Invalid params: not readable") from None


@functools.lru_cache(maxsize=256)
def _head(method: str) -> bytes:
    return b'"method":' + wire.encode(method) + b',"params":'


def _id(id: Id) -> bytes:
    return b"%d" % id if type(id) is int else wire.encode(id)


def encode_result(id: Id, result: object) -> bytes:
    """The frame that answers request `id`. `result`: a wire value, plain JSON data, raw JSON, or None."""
    return b'{"jsonrpc":"2.0","id":%b,"result":%b}' % (_id(id), wire.encode(result))


def encode_error(id: Id, code: int, message: str, data: object = None) -> bytes:
    """The frame that refuses request `id` (None where it could not be told). `data` None is left out."""
    message = message.encode(errors="replace").decode()  # It may quote a file name that is no UTF-8.
    head = b'{"jsonrpc":"2.0","id":%b,"error":{"code":%d,"message":%b' % (_id(id), code, wire.encode(message))
    return head + b"}}" if data is None else b'%b,"data":%b}}' % (head, wire.encode(data))


def encode_notification(method: str, params: object) -> bytes:
    """The frame of a notification. `params` as `result` in `encode_result`."""
    return b'{"jsonrpc":"2.0",%b%b}' % (_head(method), wire.encode(params))


def encode_request(id: Id, method: str, params: object) -> bytes:
    """The frame of a request. `params` as `result` in `encode_result`."""
    return b'{"jsonrpc":"2.0","id":%b,%b%b}' % (_id(id), _head(method), wire.encode(params))
