"""The wall clock: the one place dates come from, so that a test decides them (design, "Actors" 3).

Waiting never uses it: durations are `trio.current_time()`.
"""

from datetime import UTC, datetime


class Clock:
    """The system's date. A test passes one of its own."""

    def now(self) -> datetime:
        """The present moment, in UTC."""
        return datetime.now(UTC)

    def iso(self) -> str:
        """The present moment as the wire has it: `2026-01-15T00:48:48.287Z`."""
        return format_iso(self.now())


def format_iso(moment: datetime) -> str:
    return moment.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%S.") + f"{moment.microsecond // 1000:03d}Z"


def parse_iso(text: str) -> datetime:
    """The moment that `text` (ISO 8601) names; without an offset it is UTC. Raises ValueError."""
    moment = datetime.fromisoformat(text)
    return moment if moment.tzinfo is not None else moment.replace(tzinfo=UTC)
