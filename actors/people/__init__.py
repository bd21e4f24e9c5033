"""Who may do what: the one gate that requests, actions and tools ask."""

from actors.people.people import People

__all__ = ["People"]
