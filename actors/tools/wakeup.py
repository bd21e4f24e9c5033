"""schedule_wakeup: begin a turn in the calling chat later (tools page, schedule_wakeup)."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import timedelta

from actors.chat_orders import SetWakeup
from actors.clock import format_iso
from actors.session_record import Wakeup
from actors.tools.call import ToolCall
from actors.tools.tool import WRITES, Tool, ToolRefusal, schema
from ahp.wire import JSON

SHORTEST = 60
LONGEST = 2_592_000
"""Seconds: a minute, and thirty days."""


async def schedule_wakeup(call: ToolCall, given: Mapping[str, JSON]) -> JSON:
    chat = call.need_chat()
    if given.get("stop"):
        had = chat.private.wakeup is not None
        await chat.ask(SetWakeup(None))
        return "The wakeup is cancelled." if had else "There was no wakeup to cancel."
    delay, prompt = given.get("delaySeconds"), given.get("prompt")
    if not isinstance(delay, int | float) or isinstance(delay, bool) or not SHORTEST <= delay <= LONGEST:
        raise ToolRefusal(f"schedule_wakeup: delaySeconds is {delay}: from {SHORTEST} to {LONGEST} is expected")
    if not isinstance(prompt, str) or not prompt.strip():
        raise ToolRefusal("schedule_wakeup: prompt is missing: the text that the turn begins with is expected")
    due = format_iso(call.host.env.clock.now() + timedelta(seconds=delay))
    replaced = chat.private.wakeup is not None
    await chat.ask(SetWakeup(Wakeup(due=due, prompt=prompt, principal=call.caller.principal)))
    return f"{'The wakeup is replaced: a' if replaced else 'A'} turn begins in this chat at {due}."


TOOLS = [
    Tool(
        name="schedule_wakeup",
        title="Schedule Wakeup",
        description=(
            "Begin a new turn in this chat later, with `prompt` as its message. The chat holds one wakeup: a new call "
            "replaces it, `stop: true` cancels it. It outlives restarts; a turn that is running then goes first."
        ),
        input_schema=schema(
            {
                "delaySeconds": {
                    "type": "number",
                    "description": f"Seconds from now until the turn, from {SHORTEST} to {LONGEST} (30 days).",
                },
                "prompt": {"type": "string", "description": "The message the turn begins with."},
                "stop": {"type": "boolean", "description": "Cancel the wakeup instead."},
            }
        ),
        annotations=WRITES,
        run=schedule_wakeup,
    )
]
