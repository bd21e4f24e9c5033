"""Settings against their schema: every problem is a sentence with the key in it."""

import pytest

from ahp import wire
from ahp.config_schema import change_problems, defaults, problems
from ahp.state.common import ConfigSchema

SCHEMA = wire.convert(
    {
        "type": "object",
        "required": ["mode"],
        "properties": {
            "mode": {"type": "string", "enum": ["ask", "auto"], "default": "ask", "sessionMutable": True},
            "branch": {"type": "string", "enum": ["main"], "enumDynamic": True, "sessionMutable": False},
            "depth": {"type": "integer", "default": 3},
            "ratio": {"type": "number"},
            "quiet": {"type": "boolean", "default": False},
            "globs": {"type": "array", "items": {"type": "string"}},
            "limits": {
                "type": "object",
                "properties": {"time": {"type": "integer", "default": 60}, "cost": {"type": "number"}},
                "required": ["time"],
                "additionalProperties": False,
            },
            "version": {"type": "string", "readOnly": True},
            "odd": {"type": "fromTheFuture"},
        },
    },
    ConfigSchema,
)


def test_values_that_fit_have_no_problems() -> None:
    fitting = {
        "mode": "auto",
        "branch": "feature/not-listed",
        "depth": 4.0,
        "ratio": 1,
        "quiet": True,
        "globs": ["*.py"],
        "limits": {"time": 1},
        "odd": [None],
    }
    assert problems(SCHEMA, fitting) == []


@pytest.mark.parametrize(
    ("values", "said"),
    [
        ({}, "mode is missing"),
        ({"mode": "loud"}, "mode is 'loud': one of 'ask', 'auto' is expected"),
        ({"mode": 7}, "mode is a number: string is expected"),
        ({"mode": "ask", "depth": "3"}, "depth is a string: integer is expected"),
        ({"mode": "ask", "depth": 1.5}, "depth is a number: integer is expected"),
        ({"mode": "ask", "depth": True}, "depth is a boolean: integer is expected"),
        ({"mode": "ask", "quiet": 0}, "quiet is a number: boolean is expected"),
        ({"mode": "ask", "ratio": None}, "ratio is null: number is expected"),
        ({"mode": "ask", "globs": "*.py"}, "globs is a string: array is expected"),
        ({"mode": "ask", "globs": ["a", 1]}, "globs[1] is a number: string is expected"),
        ({"mode": "ask", "limits": {}}, "limits.time is missing"),
        ({"mode": "ask", "limits": {"time": "x"}}, "limits.time is a string: integer is expected"),
        ({"mode": "ask", "limits": {"time": 1, "fun": 1}}, "limits.fun is not known: time, cost is expected"),
    ],
)
def test_each_problem_names_its_key(values: dict[str, object], said: str) -> None:
    assert problems(SCHEMA, values) == [said]


def test_an_unknown_key_is_a_problem_that_lists_the_known_ones() -> None:
    [said] = problems(SCHEMA, {"mode": "ask", "colour": 1})
    assert said.startswith("colour is not a setting here: mode, branch, depth")


def test_defaults_are_those_of_the_schema_inside_objects_too() -> None:
    assert defaults(SCHEMA) == {"mode": "ask", "depth": 3, "quiet": False, "limits": {"time": 60}}


BEFORE = {"mode": "ask", "branch": "main", "version": "1"}


def test_a_mutable_key_may_change_and_saying_a_value_again_is_no_change() -> None:
    assert change_problems(SCHEMA, BEFORE, {"mode": "auto", "branch": "main", "version": "1"}, replace=False) == []
    assert change_problems(SCHEMA, BEFORE, {**BEFORE, "depth": 1}, replace=True) == []


def test_fixed_and_read_only_keys_stay() -> None:
    assert change_problems(SCHEMA, BEFORE, {"branch": "dev", "version": "2"}, replace=False) == [
        "branch is fixed when the session is created: it stays 'main'",
        "version is read-only: it stays '1'",
    ]


def test_a_replacement_that_leaves_out_a_fixed_key_would_change_it() -> None:
    assert change_problems(SCHEMA, {**BEFORE, "version": "1"}, {"mode": "ask", "version": "1"}, replace=True) == [
        "branch is fixed when the session is created: it stays 'main'"
    ]


def test_in_json_true_is_not_one() -> None:
    schema = wire.convert(
        {"type": "object", "properties": {"n": {"type": "odd", "enum": [1], "sessionMutable": False}}}, ConfigSchema
    )
    assert problems(schema, {"n": True}) == ["n is True: one of 1 is expected"]
    assert change_problems(schema, {"n": 1}, {"n": 1.0}, replace=False) == []
