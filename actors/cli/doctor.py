"""`ahpd doctor`: looks at everything the daemon stands on, and says what is wrong and what to do."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator

from actors import runfile
from actors.cli.context import Context, Exit, say
from actors.cli.examine import (
    Finding,
    Patient,
    agents,
    configuration,
    environment,
    folders,
    git,
    listener,
    port,
    run_file,
    store,
    token_file,
)
from actors.config import Config, ConfigError

__all__ = ["doctor"]

_EXAMINATIONS: tuple[tuple[str, Callable[[Patient], Iterator[Finding]]], ...] = (
    ("folders", folders),
    ("environment", environment),
    ("run file", run_file),
    ("store", store),
    ("token", token_file),
    ("port", port),
    ("listener", listener),
    ("agents", agents),
    ("git", git),
)
_MARKS = {"wrong": "✗", "note": "·"}


def doctor(context: Context) -> int:
    """Exit code 1 where anything is wrong."""
    broken: ConfigError | None = None
    config = Config()
    try:
        config = context.settings().config
    except ConfigError as error:
        broken = error
    patient = Patient(context, config, runfile.running(context.folders.run_file))
    results = [("configuration", list(configuration(patient, broken)))]
    results += [(name, list(examine(patient))) for name, examine in _EXAMINATIONS]
    wrong = sum(finding.kind == "wrong" for _, found in results for finding in found)
    if getattr(context.arguments, "json", False):
        say(json.dumps([_plain(name, finding) for name, found in results for finding in found], indent=2))
    else:
        _print(results)
        say()
        say("all is well" if not wrong else "1 thing is wrong" if wrong == 1 else f"{wrong} things are wrong")
    return Exit.FAILED if wrong else Exit.DONE


def _plain(name: str, finding: Finding) -> dict[str, str]:
    return {"about": name, "kind": finding.kind, "finding": finding.sentence, "todo": finding.todo}


def _print(results: list[tuple[str, list[Finding]]]) -> None:
    for name, found in results:
        if not found:
            say(f"✓ {name}")
        for finding in found:
            say(f"{_MARKS[finding.kind]} {name}: {finding.sentence}")
            if finding.todo:
                say(f"    → {finding.todo}")
