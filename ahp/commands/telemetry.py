"""Params of the OTLP notifications. Pure data."""

from __future__ import annotations

from ahp.wire import JSON, Wire

__all__ = ["OtlpParams"]


class OtlpParams(Wire, frozen=True, kw_only=True):
    """`otlp/exportLogs`, `otlp/exportTraces`, `otlp/exportMetrics`: one OTLP/JSON export request, as it is."""

    channel: str
    payload: dict[str, JSON]
