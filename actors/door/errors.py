"""What goes wrong at the door before anybody is connected."""

__all__ = ["DoorError"]


class DoorError(Exception):
    """The door cannot be opened; `str(error)` says why and what to do."""
