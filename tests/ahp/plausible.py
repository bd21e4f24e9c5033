"""Plausible channels for property tests: starting states and actions as JSON, over small pools of ids."""

from typing import Any

from hypothesis import strategies as st

JSONObject = dict[str, Any]

KINDS = ("root", "session", "chat", "annotations", "changeset")

INITIAL: dict[str, JSONObject] = {
    "root": {"agents": [], "config": {"schema": {"type": "object", "properties": {}}, "values": {"a": 1}}},
    "session": {
        "provider": "echo",
        "title": "",
        "status": 1,
        "lifecycle": "creating",
        "activeClients": [],
        "chats": [],
        "config": {"schema": {"type": "object", "properties": {}}, "values": {}},
        "futureField": {"kept": [1, None]},
    },
    "chat": {
        "resource": "ahp-chat:/a",
        "title": "",
        "status": 1,
        "modifiedAt": "2026-01-01T00:00:00.000Z",
        "turns": [],
    },
    "annotations": {"annotations": []},
    "changeset": {"status": "computing", "files": []},
}

text = st.sampled_from(["", "alpha", "naïve", "日本", "line\nbreak", 'tab\tquote"', "𝄞"])
when = st.sampled_from(["2026-01-01T00:00:00.000Z", "2026-05-04T08:57:46.522Z"])
future = st.sampled_from([{}, {"xFuture": {"n": [1, None]}}])
ids = {name: st.sampled_from([f"{name}{n}" for n in (1, 2, 3)]) for name in "tpcraefuq"}
chats = st.sampled_from(["ahp-chat:/a", "ahp-chat:/b"])
folders = st.sampled_from(["file:///w/a", "file:///w/b", "file:///w/c"])
errors = st.fixed_dictionaries({"errorType": st.just("x"), "message": text})


def obj(optional: dict[str, Any] | None = None, /, **required: Any) -> st.SearchStrategy[JSONObject]:
    """An object of those fields, sometimes with one from the future."""
    fields = {
        name: value if isinstance(value, st.SearchStrategy) else st.just(value) for name, value in required.items()
    }
    known = st.fixed_dictionaries(fields, optional=optional or {})
    return st.builds(lambda given, more: {**given, **more}, known, future)


message = obj(text=text, origin=st.just({"kind": "user"}))
tools = st.lists(obj(name=text), max_size=2)
summary = obj({"activity": text}, resource=chats, title=text, status=st.sampled_from([1, 8, 24]), modifiedAt=when)
decisions = st.lists(obj(kind="session", enabled=st.booleans()), max_size=2)
server = obj(type="mcpServer", id=ids["u"], name=text, state=obj(kind=st.sampled_from(["starting", "ready", "odd"])))
child = st.one_of(server, obj(type=st.sampled_from(["skill", "fromTheFuture"]), id=ids["u"], name=text, uri=folders))
plugin = obj({"children": st.lists(child, max_size=2)}, type="plugin", id=ids["u"], name=text, uri=folders)
customization = st.one_of(server, plugin)
entry = obj(id=ids["e"], text=text)
annotation = obj(id=ids["a"], turnId=ids["t"], resource=folders, resolved=False, entries=st.lists(entry, max_size=2))
file = obj({"reviewed": st.booleans()}, id=ids["f"], edit=obj())
operation = obj(id=ids["q"], label=text, scopes=["changeset"], status="idle")
content = st.lists(obj(type="text", text=text), max_size=1)
result = obj({"content": content}, success=st.booleans(), pastTenseMessage=text)
call = {"turnId": ids["t"], "toolCallId": ids["c"]}

ACTIONS: dict[str, dict[str, st.SearchStrategy[JSONObject]]] = {
    "root": {
        "agentsChanged": obj(agents=st.lists(obj(provider="echo", displayName=text, models=[]), max_size=2)),
        "activeSessionsChanged": obj(activeSessions=st.integers(0, 5)),
        "terminalsChanged": obj(terminals=st.lists(obj(resource="ahp-terminal:/1", title=text), max_size=1)),
        "configChanged": obj({"replace": st.booleans()}, config=st.dictionaries(st.sampled_from("ab"), text)),
    },
    "session": {
        "ready": obj(),
        "creationFailed": obj(error=errors),
        "chatAdded": obj(summary=summary),
        "chatRemoved": obj(chat=chats),
        "chatUpdated": obj(chat=chats, changes=obj({"title": text, "status": st.just(24), "resource": text})),
        "chatsReordered": obj(chats=st.lists(chats, max_size=3)),
        "defaultChatChanged": obj({"defaultChat": chats}),
        "titleChanged": obj(title=text),
        "serverToolsChanged": obj(tools=tools),
        "activeClientSet": obj(activeClient=obj(clientId=ids["c"], tools=tools)),
        "activeClientRemoved": obj(clientId=ids["c"]),
        "workingDirectorySet": obj(directory=folders),
        "workingDirectoryRemoved": obj(directory=folders),
        "workingDirectoryReplaced": obj(directory=folders, replacement=folders),
        "inputNeededSet": obj(
            request=obj(
                id=ids["r"], chat=chats, kind=st.sampled_from(["toolConfirmation", "toolClientExecution", "odd"])
            )
        ),
        "inputNeededRemoved": obj(id=ids["r"]),
        "customizationsChanged": obj(customizations=st.lists(customization, max_size=3)),
        "customizationUpdated": obj(customization=customization),
        "customizationToggled": obj(id=ids["u"], enablement=decisions),
        "customizationRemoved": obj(id=ids["u"]),
        "mcpServerStateChanged": obj({"channel": st.just("mcp:/1")}, id=ids["u"], state=obj(kind="ready")),
        "mcpServerStartRequested": obj(id=ids["u"]),
        "mcpServerStopRequested": obj(id=ids["u"]),
        "mcpServerBackgroundRequested": obj(id=ids["u"]),
        "isReadChanged": obj(isRead=st.booleans()),
        "isArchivedChanged": obj(isArchived=st.booleans()),
        "activityChanged": obj({"activity": text}),
        "changesetsChanged": obj({"changesets": st.just([{"label": "l", "uriTemplate": "ahp-changeset:/x"}])}),
        "configChanged": obj({"replace": st.booleans()}, config=st.dictionaries(st.sampled_from("ab"), text)),
        "metaChanged": obj({"_meta": st.just({"x": 1})}),
    },
    "chat": {
        "turnStarted": obj({"queuedMessageId": ids["q"]}, turnId=ids["t"], startedAt=when, message=message),
        "responsePart": obj(
            turnId=ids["t"], part=obj(kind=st.sampled_from(["markdown", "reasoning", "odd"]), id=ids["p"], content=text)
        ),
        "delta": obj(turnId=ids["t"], partId=ids["p"], content=text),
        "reasoning": obj(turnId=ids["t"], partId=ids["p"], content=text),
        "usage": obj(turnId=ids["t"], usage=obj(inputTokens=3)),
        "toolCallStart": obj(**call, toolName="run", displayName=text),
        "toolCallDelta": obj(**call, content=text),
        "toolCallReady": obj({"confirmed": st.just("not-needed"), "toolInput": text}, **call, invocationMessage=text),
        "toolCallConfirmed": st.one_of(
            obj(**call, approved=True, confirmed="user-action"), obj(**call, approved=False, reason="denied")
        ),
        "toolCallContentChanged": obj(**call, content=content),
        "toolCallComplete": obj({"requiresResultConfirmation": st.booleans()}, **call, result=result),
        "toolCallResultConfirmed": obj(**call, approved=st.booleans()),
        "turnComplete": obj(turnId=ids["t"], duration=st.integers(0, 9000)),
        "turnCancelled": obj(turnId=ids["t"], duration=st.integers(0, 9000)),
        "error": obj(turnId=ids["t"], duration=5, part=obj({"resumable": st.booleans()}, kind="error", error=errors)),
        "turnResume": obj(turnId=ids["t"]),
        "activityChanged": obj({"activity": text}),
        "inputRequested": obj(request=obj({"message": text}, id=ids["r"])),
        "inputAnswerChanged": obj(
            {"answer": obj(state="draft", value=obj(kind="text", value=text))}, requestId=ids["r"], questionId=ids["q"]
        ),
        "inputCompleted": obj(requestId=ids["r"], response=st.sampled_from(["accept", "decline", "cancel"])),
        "pendingMessageSet": obj(kind=st.sampled_from(["queued", "steering"]), id=ids["q"], message=message),
        "pendingMessageRemoved": obj(kind=st.sampled_from(["queued", "steering"]), id=ids["q"]),
        "queuedMessagesReordered": obj(order=st.lists(ids["q"], max_size=4)),
        "draftChanged": obj({"draft": message}),
        "truncated": obj({"turnId": ids["t"]}),
    },
    "annotations": {
        "set": obj(annotation=annotation),
        "updated": obj({"resolved": st.booleans(), "resource": folders}, annotationId=ids["a"]),
        "removed": obj(annotationId=ids["a"]),
        "entrySet": obj(annotationId=ids["a"], entry=entry),
        "entryRemoved": obj(annotationId=ids["a"], entryId=ids["e"]),
    },
    "changeset": {
        "statusChanged": obj({"error": errors}, status=st.sampled_from(["computing", "ready", "error"])),
        "fileSet": obj(file=file),
        "fileRemoved": obj(fileId=ids["f"]),
        "filesReviewChanged": obj(files=st.lists(ids["f"], max_size=3), reviewed=st.booleans()),
        "contentChanged": obj({"operations": st.lists(operation, max_size=2)}, files=st.lists(file, max_size=2)),
        "operationsChanged": obj({"operations": st.lists(operation, max_size=2)}),
        "operationStatusChanged": obj(
            {"error": errors}, operationId=ids["q"], status=st.sampled_from(["idle", "error"])
        ),
        "cleared": obj(),
    },
}


def actions_of(kind: str) -> st.SearchStrategy[JSONObject]:
    """Any known action of a channel of that kind."""
    return st.one_of(*(fields.map(typed(f"{kind}/{name}")) for name, fields in ACTIONS[kind].items()))


def typed(action_type: str) -> Any:
    return lambda fields: {"type": action_type, **fields}
