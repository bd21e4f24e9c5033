"""The open JSON layer: what is not known is kept, what is wrong is named with its place, growing text is cheap."""

import json
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ahp import wire
from ahp.wire import UNSET, Text, UnsetType, Wire


class Circle(Wire, frozen=True, kw_only=True, tag_field="kind", tag="circle"):
    center_x: int
    label: str | UnsetType = UNSET
    meta: wire.Meta = UNSET


class Note(Wire, frozen=True, kw_only=True, tag_field="kind", tag="note"):
    content: Text


Shape = Circle | Note


class Drawing(Wire, frozen=True, kw_only=True):
    shapes: list[Shape]
    named: dict[str, Circle] | UnsetType = UNSET
    title: str | Circle | UnsetType = UNSET
    parent: "Drawing | UnsetType | None" = UNSET


# What is not known.


def test_absent_fields_are_unset_and_absent_again() -> None:
    circle = wire.decode(b'{"kind":"circle","centerX":1}', Shape)
    assert circle == Circle(center_x=1)
    assert circle.label is UNSET
    assert wire.encode(circle) == b'{"kind":"circle","centerX":1}'


def test_meta_is_written_with_an_underscore() -> None:
    assert wire.encode(Circle(center_x=1, meta={"a": 1})) == b'{"kind":"circle","centerX":1,"_meta":{"a":1}}'


def test_a_field_from_the_future_is_kept_through_changes() -> None:
    circle = wire.decode(b'{"kind":"circle","centerX":1,"radius":{"unit":"px"}}', Shape)
    assert isinstance(circle, Circle)
    moved = wire.replace(circle, center_x=2)
    assert wire.to_builtins(moved) == {"kind": "circle", "centerX": 2, "radius": {"unit": "px"}}
    assert wire.extras(moved) == {"radius": {"unit": "px"}}
    assert wire.tag_of(moved) == "circle"


def test_a_kind_from_the_future_is_kept_whole() -> None:
    raw = b'{"shapes":[{"kind":"star","points":5,"inner":null}]}'
    star = wire.decode(raw, Drawing).shapes[0]
    assert isinstance(star, wire.Unknown)
    assert wire.tag_of(star) == "star"
    assert wire.extras(star) == {"points": 5, "inner": None}
    assert wire.encode(wire.decode(raw, Drawing)) == raw


def test_two_objects_of_the_same_future_are_equal_and_of_another_are_not() -> None:
    def read(radius: int) -> Any:
        return wire.convert({"kind": "circle", "centerX": 1, "radius": radius}, Shape)

    assert read(1) == read(1)
    assert read(1) != read(2)
    assert read(1) != Circle(center_x=1)


@pytest.mark.parametrize("name", ["", "x0_", "self", "__class__", "_x", "a b", "é", "kind2", "class"])
def test_any_usual_name_can_be_a_field_of_the_future(name: str) -> None:
    given = {"kind": "circle", "centerX": 1, name: [1]}
    circle = wire.convert(given, Shape)
    assert wire.to_builtins(circle) == given
    assert json.loads(wire.encode(wire.decode(json.dumps(given), Shape))) == given


# One object laid over another.


def test_extra_fields_come_over_and_a_later_one_takes_the_place_of_an_earlier() -> None:
    circle = wire.with_extras(Circle(center_x=1), {"radius": 1, "color": "red"})
    assert wire.extras(wire.with_extras(circle, {"radius": 2})) == {"radius": 2, "color": "red"}
    assert wire.with_extras(circle, {}) is circle


def test_an_extra_field_that_the_type_knows_sets_it() -> None:
    circle = wire.with_extras(Circle(center_x=1), {"label": "a", "_meta": {"b": 1}})
    assert circle == Circle(center_x=1, label="a", meta={"b": 1})


def test_an_extra_field_that_the_type_knows_otherwise_is_let_be_and_so_is_the_kind() -> None:
    circle = Circle(center_x=1)
    assert wire.with_extras(circle, {"centerX": "far", "kind": "star"}) == circle


# What is wrong.


@pytest.mark.parametrize(
    ("raw", "message"),
    [
        ('{"shapes":[{"kind":"circle"}]}', "Object missing required field `centerX` - at `$.shapes[0]`"),
        ('{"shapes":[{"kind":"circle","centerX":"1"}]}', "Expected `int`, got `str` - at `$.shapes[0].centerX`"),
        ('{"shapes":[{"kind":"note","content":1}]}', "Expected `str`, got `int` - at `$.shapes[0].content`"),
        ('{"shapes":[{"centerX":1}]}', "Object missing required field `kind` - at `$.shapes[0]`"),
        ('{"shapes":[{"kind":7}]}', "Object missing required field `kind` - at `$.shapes[0]`"),
        ('{"shapes":[[]]}', "Expected `object`, got `array` - at `$.shapes[0]`"),
        ('{"shapes":{}}', "Expected `array`, got `object` - at `$.shapes`"),
        ('{"shapes":[],"future":1,"named":{"a":1}}', "Expected `object`, got `int` - at `$.named['a']`"),
        ("[]", "Expected `object`, got `array` - at `$`"),
    ],
)
def test_what_is_wrong_is_named_with_its_place(raw: str, message: str) -> None:
    for read in (lambda: wire.decode(raw, Drawing), lambda: wire.convert(json.loads(raw), Drawing)):
        with pytest.raises(wire.ValidationError) as error:
            read()
        assert str(error.value) == message


def test_an_error_is_found_beside_a_field_from_the_future() -> None:
    with pytest.raises(wire.ValidationError, match=r"Expected `int`, got `null` - at `\$\.shapes\[0\]\.centerX`"):
        wire.decode('{"future":1,"shapes":[{"kind":"circle","radius":1,"centerX":null}]}', Drawing)


def test_what_is_no_json_is_no_validation_error() -> None:
    with pytest.raises(msgspec.DecodeError) as error:
        wire.decode(b'{"shapes":', Drawing)
    assert not isinstance(error.value, wire.ValidationError)


# Text.


def test_text_reads_and_is_written_as_a_string() -> None:
    note = wire.decode(b'{"kind":"note","content":"a"}', Shape)
    assert isinstance(note, Note)
    grown = wire.replace(note, content=note.content + "b" + "" + "c")
    assert wire.encode(grown) == b'{"kind":"note","content":"abc"}'
    assert wire.encode(note) == b'{"kind":"note","content":"a"}'


def test_versions_of_one_text_share_their_pieces_and_branches_do_not_meet() -> None:
    root = Text("a")
    left = root + "b"
    right = root + "c"
    longer = left + "d"
    assert [str(text) for text in (root, left, right, longer)] == ["a", "ab", "ac", "abd"]
    assert [len(text) for text in (root, left, right, longer)] == [1, 2, 2, 3]
    assert str(left + "e") == "abe"
    assert str(longer) == "abd"


def test_a_text_that_was_read_in_the_middle_grows_on() -> None:
    text = Text()
    for letter in "abcdef":
        text = text + letter
        if letter in "bd":
            assert str(text) == "abcdef"[: len(text)]
    assert text == "abcdef"


def test_text_is_compared_by_what_it_says() -> None:
    assert Text("a") + "b" == Text("ab") == "ab"
    assert hash(Text("a") + "b") == hash(Text("ab")) == hash("ab")
    assert Text("a") != 1
    assert not Text()
    assert Text() + "a"
    assert repr(Text("a") + "b") == "Text('ab')"


@given(st.lists(st.tuples(st.integers(0, 20), st.text(max_size=3), st.booleans()), max_size=40))
def test_any_tree_of_versions_reads_like_strings(steps: list[tuple[int, str, bool]]) -> None:
    texts, strings = [Text("r")], ["r"]
    for place, more, read in steps:
        place %= len(texts)
        texts.append(texts[place] + more)
        strings.append(strings[place] + more)
        if read:
            assert str(texts[place]) == strings[place]
    assert [*map(str, texts)] == strings
    assert [*map(len, texts)] == [*map(len, strings)]


# Both roads, there and back.

names = st.text(st.characters(exclude_categories=["Cc", "Cs"], exclude_characters='"\\'), max_size=5)
anything = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**53), 2**53) | st.text(st.characters(exclude_categories=["Cs"])),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(names, inner, max_size=3),
    max_leaves=6,
)
future = st.dictionaries(names.map("y".__add__), anything, max_size=2)


def obj(required: dict[str, Any], optional: dict[str, Any] | None = None) -> st.SearchStrategy[dict[str, Any]]:
    return st.builds(lambda more, known: {**more, **known}, future, st.fixed_dictionaries(required, optional=optional))


text = st.text(st.characters(exclude_categories=["Cs"]), max_size=5)
circles = obj(
    {"kind": st.just("circle"), "centerX": st.integers(-9, 9)},
    {"label": text, "_meta": st.dictionaries(names, anything, max_size=2)},
)
shapes = st.one_of(
    circles,
    obj({"kind": st.just("note"), "content": text}),
    obj({"kind": st.sampled_from(["star", ""])}, {"centerX": anything}),
)
drawings = st.recursive(
    obj(
        {"shapes": st.lists(shapes, max_size=3)},
        {"named": st.dictionaries(names, circles, max_size=2), "title": st.one_of(text, circles)},
    ),
    lambda inner: st.builds(lambda drawing, parent: {**drawing, "parent": parent}, inner, st.none() | inner),
    max_leaves=3,
)


@given(drawings)
def test_whatever_comes_goes_on_as_it_came(drawing: dict[str, Any]) -> None:
    read, converted = wire.decode(json.dumps(drawing), Drawing), wire.convert(drawing, Drawing)
    assert read == converted
    assert json.loads(wire.encode(read)) == drawing
    assert wire.to_builtins(converted) == drawing
