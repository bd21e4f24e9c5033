"""What a chat lists beside its turns, and how actions change it: background work, changesets, canvases, folders.

Each function is one action's, called by `ahp.reducers.chat`. An emptied list stays, for it says that there is nothing.
"""

from __future__ import annotations

from ahp.actions.chat import (
    ChatBackgroundWorkRemoved,
    ChatBackgroundWorkSet,
    ChatCanvasesChanged,
    ChatChangesetsChanged,
    ChatMovableChanged,
    ChatWorkingDirectoryRemoved,
    ChatWorkingDirectorySet,
)
from ahp.reducers.lists import id_of, upserted
from ahp.state.chat import ChatState
from ahp.wire import present, replace


def background_work_set(state: ChatState, action: ChatBackgroundWorkSet) -> ChatState:
    """In the place of the work of that id, of whatever kind, else at the end."""
    return replace(state, background_work=upserted(present(state.background_work, []), action.work, id_of))


def background_work_removed(state: ChatState, action: ChatBackgroundWorkRemoved) -> ChatState:
    """It has ended; a list that is empty now says that nothing runs."""
    work = present(state.background_work, [])
    rest = [known for known in work if id_of(known) != action.id]
    return state if len(rest) == len(work) else replace(state, background_work=rest)


def movable_changed(state: ChatState, action: ChatMovableChanged) -> ChatState:
    """Whether the chat may be moved to another session."""
    return replace(state, movable=action.movable)


def changesets_changed(state: ChatState, action: ChatChangesetsChanged) -> ChatState:
    """The whole catalogue anew, or none."""
    return replace(state, changesets=action.changesets)


def canvases_changed(state: ChatState, action: ChatCanvasesChanged) -> ChatState:
    """The whole catalogue anew, or none."""
    return replace(state, canvases=action.canvases)


def working_directory_set(state: ChatState, action: ChatWorkingDirectorySet) -> ChatState:
    """On a chat that had all of the session's folders, this narrows it to the one."""
    folders = present(state.working_directories, [])
    return state if action.directory in folders else replace(state, working_directories=[*folders, action.directory])


def working_directory_removed(state: ChatState, action: ChatWorkingDirectoryRemoved) -> ChatState:
    """The last one may go: then the chat has no folder at all."""
    folders = present(state.working_directories, [])
    rest = [folder for folder in folders if folder != action.directory]
    return state if len(rest) == len(folders) else replace(state, working_directories=rest)
