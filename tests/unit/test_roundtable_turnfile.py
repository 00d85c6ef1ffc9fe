"""`turn.json` (R-2): exactly its fields, strictly JSON; whatever else it says, the line is named."""

import json
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from moothall.features.roundtable.files import (
    KINDS,
    BadTurn,
    TurnFile,
    parse_speaking_order,
    parse_turn_file,
    render_turn_file,
)

TURN = TurnFile(
    conference="cache",
    status="open",
    round=1,
    max_rounds=3,
    speaker_order=("architect", "审查"),
    current_speaker_index=1,
    current_speaker="审查",
    prompt_for_speaker='What of "quotes",\nlines and {braces}?',
)
FIELDS: dict[str, Any] = json.loads(render_turn_file(TURN))


def text_of(**changed: Any) -> str:
    return json.dumps({**FIELDS, **changed}, ensure_ascii=False, indent=2)


def fault(text: str) -> BadTurn:
    with pytest.raises(BadTurn) as found:
        parse_turn_file(text)
    return found.value


def test_the_file_has_exactly_the_fields_in_their_order() -> None:
    """R-2"""
    assert list(FIELDS) == [
        "conference",
        "status",
        "round",
        "max_rounds",
        "speaker_order",
        "current_speaker_index",
        "current_speaker",
        "prompt_for_speaker",
    ]
    assert list(KINDS) == list(FIELDS)
    assert render_turn_file(TURN).endswith("}\n")
    assert "审查" in render_turn_file(TURN)


names = st.lists(
    st.from_regex(r"[a-z角]{1,8}", fullmatch=True), min_size=1, max_size=6, unique=True
)


@given(st.data())
def test_every_turn_survives_its_file(data: st.DataObject) -> None:
    """R-2"""
    order = tuple(data.draw(names))
    status = data.draw(st.sampled_from(["open", "concluding", "closed"]))
    index = data.draw(st.integers(0, len(order) - 1))
    rounds = data.draw(st.integers(1, 100))
    turn = TurnFile(
        conference=data.draw(st.text(max_size=80)),
        status=status,  # type: ignore[arg-type]  # one of the three
        round=data.draw(st.integers(1, rounds)),
        max_rounds=rounds,
        speaker_order=order,
        current_speaker_index=index,
        current_speaker=order[index] if status == "open" else "moderator",
        prompt_for_speaker=data.draw(
            st.text(max_size=2_000).filter(lambda text: text.isprintable())
        ),
    )
    assert parse_turn_file(render_turn_file(turn)) == turn


@given(st.binary(max_size=300).map(lambda raw: raw.decode("utf-8", "replace")))
def test_whatever_the_file_says_it_is_read_or_refused(text: str) -> None:
    """R-11"""
    with pytest.raises(BadTurn) as found:
        parse_turn_file(text)
    assert 1 <= found.value.line <= text.count("\n") + 1


@given(st.integers(0, len(render_turn_file(TURN)) - 2))
def test_a_torn_file_is_refused_wherever_it_ends(end: int) -> None:
    """R-11"""
    assert "no valid JSON" in fault(render_turn_file(TURN)[:end].rstrip("\n")).why


@given(
    st.sampled_from(sorted(FIELDS)),
    st.recursive(st.none() | st.booleans() | st.floats() | st.integers(), st.lists),
)
def test_a_field_of_another_kind_never_gets_through_unnoticed(name: str, value: object) -> None:
    """R-2: neither true for 1 nor 1.0, neither null nor NaN."""
    text = json.dumps({**FIELDS, name: value})
    try:
        found = parse_turn_file(text)
    except BadTurn:
        return
    assert type(value) is KINDS[name]
    assert getattr(found, name) == value or list(getattr(found, name)) == value


@pytest.mark.parametrize(
    ("changed", "line", "why"),
    [
        ({"status": "paused"}, 3, "open, concluding, closed"),
        ({"status": "Open"}, 3, "open, concluding, closed"),
        ({"round": 0}, 4, "expected 1 to max_rounds"),
        ({"round": 5}, 4, "expected 1 to max_rounds"),
        ({"round": "1"}, 4, "a whole number was expected"),
        ({"round": True}, 4, "a whole number was expected"),
        ({"round": 1.0}, 4, "a whole number was expected"),
        ({"max_rounds": 101}, 5, "expected 1 to 100"),
        ({"max_rounds": 0}, 5, "expected 1 to 100"),
        ({"speaker_order": []}, 6, "expected 1 to 63 names"),
        ({"speaker_order": ["a"] * 2}, 6, "twice"),
        ({"speaker_order": ["Ada", "ada"]}, 6, "twice"),
        ({"speaker_order": ["a", 1]}, 6, "expected names"),
        ({"speaker_order": ["a", ["b"]]}, 6, "expected names"),
        ({"speaker_order": "a, b"}, 6, "a list of names was expected"),
        ({"speaker_order": {}}, 6, "a list of names was expected"),
        ({"current_speaker_index": 2}, 10, "a place in speaker_order"),
        ({"current_speaker_index": -1}, 10, "a place in speaker_order"),
        ({"current_speaker": "architect"}, 11, "'审查' was expected"),
        ({"status": "concluding"}, 11, "'moderator' was expected"),
        ({"prompt_for_speaker": "x" * 2_001}, 12, "at most 2000"),
        ({"prompt_for_speaker": None}, 12, "a text was expected"),
        ({"extra": 1}, 13, "does not belong here"),
    ],
)
def test_a_wrong_field_is_named_with_its_line(changed: dict[str, Any], line: int, why: str) -> None:
    """R-11"""
    found = fault(text_of(**changed))
    assert why in found.why
    assert found.line == line


@pytest.mark.parametrize("name", sorted(FIELDS))
def test_a_field_that_is_missing_is_named(name: str) -> None:
    """R-2"""
    assert (
        f"{name!r} is missing"
        in fault(json.dumps({key: value for key, value in FIELDS.items() if key != name})).why
    )


@pytest.mark.parametrize(
    "text",
    [
        "",
        "null",
        "[]",
        '"open"',
        text_of().replace('"round": 1', '"round": 1, // the first'),
        text_of().replace('"round": 1', '"round": NaN'),
        text_of().replace('"round": 1', '"round": Infinity'),
        text_of().replace('"round": 1', '"round": 1, "round": 2'),
        text_of().replace('"round": 1', "'round': 1"),
        text_of()[:-1] + ",}",
        text_of() + text_of(),
        "\ufeff" + text_of(),
        "[" * 100_000,
        "{" + '"a":{' * 50_000,
        text_of().replace('"round": 1', '"round": ' + "9" * 5_000),
    ],
)
def test_what_is_no_strict_json_object_is_refused(text: str) -> None:
    """R-2: comments, NaN, a field twice, two documents, depth without end."""
    assert fault(text).line >= 1


def test_the_line_of_a_field_that_stands_twice_is_named() -> None:
    """R-11"""
    text = text_of().replace('  "max_rounds": 3,', '  "max_rounds": 3,\n  "round": 2,')
    assert "twice" in fault(text).why
    assert fault(text).line == 6


def test_a_field_is_found_where_it_stands_and_not_where_its_name_is_said() -> None:
    """R-11: a conference that is called `round`."""
    text = text_of(conference="round", round=0)
    assert fault(text).line == 4


def test_the_place_counts_the_turns_that_are_over() -> None:
    assert TURN.taken == 1
    assert replace(TURN, round=3, current_speaker_index=0, current_speaker="architect").taken == 4


@pytest.mark.parametrize(
    "line", ["a → b → 角", "a -> b -> 角", "a, b, 角", "a，b、角", " a →b→ 角 "]
)
def test_an_order_is_read_however_it_is_written(line: str) -> None:
    assert parse_speaking_order(line) == ("a", "b", "角")
