"""What `ahpd chat` asks a person: whether a tool call may run or its result be used, and the questions of an agent.

Each function shows what it is about, asks until it has an answer, and makes the action to dispatch. No answer (the end
of the input) is a no.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Literal, TypeAlias

from msgspec import Struct

from actors.cli.chat_view import View, spoken
from ahp.actions.chat import ChatInputCompleted, ChatToolCallConfirmed, ChatToolCallResultConfirmed
from ahp.state.chat import (
    AnswerValue,
    BooleanAnswer,
    ChatInputAnswer,
    ChatInputQuestion,
    ChatInputRequest,
    ConfirmationOption,
    InputRequestPart,
    NumberAnswer,
    ResponsePart,
    SelectedAnswer,
    SelectedManyAnswer,
    SkippedAnswer,
    SubmittedAnswer,
    TextAnswer,
    ToolCallPart,
    ToolCallPendingConfirmation,
    ToolCallPendingResultConfirmation,
)
from ahp.wire import UNSET, UnsetType, present

__all__ = ["Approve", "Ask", "answer", "waiting"]

Ask: TypeAlias = Callable[[str], str | None]
"""Asks with a prompt, and answers what was typed; None at the end of the input."""
Approve: TypeAlias = Literal["ask", "all", "none"]
Waiting: TypeAlias = ToolCallPendingConfirmation | ToolCallPendingResultConfirmation | ChatInputRequest


def waiting(parts: Sequence[ResponsePart]) -> tuple[str, Waiting] | None:
    """The first thing a person is waited for, and a name for it that is never used again."""
    for part in parts:
        if isinstance(part, InputRequestPart) and isinstance(part.response, UnsetType):
            return f"input {part.request.id}", part.request
        if isinstance(part, ToolCallPart):
            call = part.tool_call
            if isinstance(call, ToolCallPendingConfirmation | ToolCallPendingResultConfirmation):
                return f"{type(call).__name__} {call.tool_call_id}", call
    return None


def answer(turn_id: str, about: Waiting, ask: Ask, view: View, approve: Approve) -> Struct:
    """The action that answers `about`."""
    if isinstance(about, ChatInputRequest):
        return _answer_questions(about, ask, view)
    if isinstance(about, ToolCallPendingResultConfirmation):
        view.note("? Give this result to the agent?", "yellow")
        approved = approve == "all" or (approve == "ask" and _yes_or_no(ask))
        return ChatToolCallResultConfirmed(turn_id=turn_id, tool_call_id=about.tool_call_id, approved=approved)
    return _confirm(turn_id, about, ask, view, approve)


def _confirm(turn_id: str, call: ToolCallPendingConfirmation, ask: Ask, view: View, approve: Approve) -> Struct:
    options = present(call.options, [])
    title = spoken(call.confirmation_title) or f"Let {call.display_name} run?"
    view.note(f"? {title}", "yellow")
    for edit in [] if isinstance(call.edits, UnsetType) else call.edits.items:
        side = present(edit.after, None) or present(edit.before, None)
        view.note(f"    changes {'a file' if side is None else side.uri}")
    if approve != "ask":
        return _confirmed(turn_id, call, _by_kind(options, "approve" if approve == "all" else "deny"), approve == "all")
    words = [f"{number} {option.label}" for number, option in enumerate(options, 1)]
    editable = present(call.editable, False)
    view.note(" · ".join([*(words or ["y yes", "n no"]), *(["e change its input"] if editable else [])]))
    edited: str | None = None
    while True:
        typed = ask("? ")
        word = "n" if typed is None else typed.strip().lower()
        if word == "e" and editable:
            edited = ask("input  ")
            if edited is not None:
                return _confirmed(turn_id, call, _by_kind(options, "approve"), True, edited)
        elif word.isdecimal() and 1 <= int(word) <= len(options):
            option = options[int(word) - 1]
            return _confirmed(turn_id, call, option, option.kind == "approve")
        elif word in ("y", "yes", "n", "no"):
            approved = word.startswith("y")
            return _confirmed(turn_id, call, _by_kind(options, "approve" if approved else "deny"), approved)


def _confirmed(
    turn_id: str,
    call: ToolCallPendingConfirmation,
    option: ConfirmationOption | None,
    approved: bool,
    edited: str | None = None,
) -> ChatToolCallConfirmed:
    return ChatToolCallConfirmed(
        turn_id=turn_id,
        tool_call_id=call.tool_call_id,
        approved=approved,
        confirmed="user-action" if approved else UNSET,
        reason=UNSET if approved else "denied",
        edited_tool_input=UNSET if edited is None else edited,
        selected_option_id=UNSET if option is None else option.id,
    )


def _by_kind(options: Sequence[ConfirmationOption], kind: str) -> ConfirmationOption | None:
    return next((option for option in options if option.kind == kind), None)


def _yes_or_no(ask: Ask) -> bool:
    while True:
        typed = ask("y/n ")
        word = "n" if typed is None else typed.strip().lower()
        if word in ("y", "yes", "n", "no"):
            return word.startswith("y")


# Questions.


def _answer_questions(request: ChatInputRequest, ask: Ask, view: View) -> ChatInputCompleted:
    questions = present(request.questions, [])
    said = spoken(request.message)
    if said and not (len(questions) == 1 and questions[0].message == said):
        view.note(f"? {said}", "yellow")
    if not isinstance(request.url, UnsetType):
        view.note(f"  {request.url}", "bold")
    if not questions:
        response = "accept" if _yes_or_no(ask) else "decline"
        return ChatInputCompleted(request_id=request.id, response=response)
    answers: dict[str, ChatInputAnswer] = {}
    for question in questions:
        found = _answer_question(question, ask, view)
        if found is None:
            return ChatInputCompleted(request_id=request.id, response="decline")
        answers[question.id] = found
    return ChatInputCompleted(request_id=request.id, response="accept", answers=answers)


def _answer_question(question: ChatInputQuestion, ask: Ask, view: View) -> ChatInputAnswer | None:
    """None at the end of the input: whoever was asked does not want to answer."""
    view.note(f"? {question.message}", "yellow")
    options = present(question.options, [])
    for number, option in enumerate(options, 1):
        more = present(option.description, "")
        star = " *" if present(option.recommended, False) else ""
        view.note(f"{number} {option.label}{star}{f': {more}' if more else ''}")
    required = present(question.required, False)
    while True:
        typed = ask("? ")
        if typed is None:
            return None
        text = typed.strip()
        if not text and not required:
            return SkippedAnswer()
        try:
            return SubmittedAnswer(value=_value(question, text))
        except ValueError as error:
            view.note(str(error), "red")


def _value(question: ChatInputQuestion, text: str) -> AnswerValue:
    """What was typed, as the kind of the question. Raises ValueError with a sentence."""
    if not text:
        raise ValueError("this needs an answer (Ctrl-D declines)")
    if question.kind == "boolean":
        if text.lower() not in ("y", "yes", "n", "no", "true", "false"):
            raise ValueError("yes or no")
        return BooleanAnswer(value=text.lower() in ("y", "yes", "true"))
    if question.kind in ("number", "integer"):
        return NumberAnswer(value=_number(question, text))
    free = present(question.allow_freeform_input, False)
    if question.kind == "single-select":
        (choice,), others = _choices(question, [text], free)
        return SelectedAnswer(value=choice, freeform_values=others or UNSET)
    if question.kind == "multi-select":
        chosen, others = _choices(question, [word.strip() for word in text.split(",") if word.strip()], free)
        return SelectedManyAnswer(value=[choice for choice in chosen if choice], freeform_values=others or UNSET)
    return TextAnswer(value=text)


def _number(question: ChatInputQuestion, text: str) -> int | float:
    try:
        number = int(text) if question.kind == "integer" else float(text)
    except ValueError:
        raise ValueError("a whole number" if question.kind == "integer" else "a number") from None
    least, most = present(question.min, number), present(question.max, number)
    if not least <= number <= most:
        raise ValueError(f"at least {least}" if number < least else f"at most {most}")
    return number


def _choices(question: ChatInputQuestion, words: list[str], free: bool) -> tuple[list[str], list[str]]:
    """The ids of the chosen options ("" where something of one's own was said), and what was said of one's own."""
    options = present(question.options, [])
    chosen: list[str] = []
    others: list[str] = []
    for word in words:
        by_number = options[int(word) - 1] if word.isdecimal() and 1 <= int(word) <= len(options) else None
        named = (option for option in options if word.lower() in (option.id.lower(), option.label.lower()))
        option = by_number or next(named, None)
        if option is None and not free:
            raise ValueError(f"a number from 1 to {len(options)}")
        chosen.append("" if option is None else option.id)
        if option is None:
            others.append(word)
    return chosen, others
