"""Answers are read kindly: what is wrong beside their substance is mended, and noted (M-1, M-2)."""

import contextlib
import json
import re
from collections.abc import Iterator
from random import Random
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from moothall.domain.claims import cut_text
from moothall.errors import BadAnswer
from moothall.reading import json_text, lenient_parser
from moothall.reading.choices import build_choices, read_choice
from moothall.reading.field_values import read_integer, read_share
from moothall.reading.json_text import extract_object
from moothall.reading.lenient_parser import LenientParser
from moothall.reading.schemas import (
    allow_list,
    allow_text,
    allow_values,
    build_wire_schema,
    describe_schema,
)
from moothall.reading.stated import PositionRead, find_choice
from moothall_testkit.schema_values import draw_value

POSITIONS = ("support", "conditional_support", "oppose", "abstain")
SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {
        "position": allow_values(POSITIONS),
        "text": allow_text(60),
        "confidence": {"type": "number", "minimum": 0, "maximum": 1},
        "refers_to": allow_values([2, 3, 5]),
        "answers": allow_list(allow_values([3, 5]), 4),
        "is_final": {"type": "boolean"},
    },
    "required": ["position", "text"],
    "additionalProperties": False,
}
GOOD = {"position": "support", "text": "It pays."}


def mend(raw: object) -> tuple[object, list[str]]:
    parser = LenientParser(SCHEMA)
    return (parser.parse_text(raw) if isinstance(raw, str) else parser.normalize(raw)), parser.notes


@pytest.mark.parametrize(
    ("given", "field", "value"),
    [
        ({"refers_to": "#3"}, "refers_to", 3),
        ({"refers_to": "line 3"}, "refers_to", 3),
        ({"refers_to": "第3条"}, "refers_to", 3),
        ({"refers_to": "three"}, "refers_to", 3),
        ({"refers_to": [3]}, "refers_to", 3),
        ({"refers_to": {"line": 3}}, "refers_to", 3),
        ({"refers_to": 3.0}, "refers_to", 3),
        ({"refersTo": 3}, "refers_to", 3),
        ({"confidence": "80%"}, "confidence", 0.8),
        ({"confidence": 80}, "confidence", 0.8),
        ({"confidence": "8/10"}, "confidence", 0.8),
        ({"confidence": "0.8/1"}, "confidence", 0.8),
        ({"confidence": {"value": 0.8}}, "confidence", 0.8),
        ({"confidence": "zero point eight"}, "confidence", 0.8),
        ({"confidence": "eighty percent"}, "confidence", 0.8),
        ({"confidence": "高"}, "confidence", 0.8),
        ({"position": "赞成"}, "position", "support"),
        ({"position": "Conditional support"}, "position", "conditional_support"),
        ({"position": "AGAINST"}, "position", "oppose"),
        ({"position": ["oppose"]}, "position", "oppose"),
        ({"answers": "3, 5"}, "answers", [3, 5]),
        ({"answers": 3}, "answers", [3]),
        ({"answers": ["#3", "cyd", 99, 5]}, "answers", [3, 5]),
        ({"is_final": "yes"}, "is_final", True),
        ({"text": ["It pays.", "Soon."]}, "text", "It pays.\nSoon."),
        ({"text": 7}, "text", "7"),
    ],
)
def test_a_value_in_other_words_is_read_and_noted(
    given: dict[str, object], field: str, value: object
) -> None:
    """M-2"""
    read, notes = mend({**GOOD, **given})
    assert isinstance(read, dict)
    assert read[field] == value
    assert [note for note in notes if field in note]


@pytest.mark.parametrize(
    "extra",
    [
        {"refers_to": 99},
        {"refers_to": "the first one"},
        {"confidence": "it depends"},
        {"confidence": 7},
        {"confidence": True},
        {"answers": ["cyd"]},
        {"refers_to": []},
        {"phase": "oppose"},
        {"is_final": "perhaps"},
    ],
)
def test_what_cannot_be_read_beside_the_substance_is_left_out_and_noted(
    extra: dict[str, object],
) -> None:
    """M-2: a confidence that was not stated is not invented."""
    read, notes = mend({**GOOD, **extra})
    assert read == {**GOOD, **({"answers": []} if "answers" in extra else {})}
    assert any(note.startswith("left_out") for note in notes)


def test_what_comes_from_outside_is_not_left_out_but_refused() -> None:
    """M-2: whoever sent it is told, and can send it again."""
    for extra in (
        {"refers_to": 99},
        {"confidence": "it depends"},
        {"answers": ["cyd"]},
        {"text": "word " * 30},
    ):
        with pytest.raises(BadAnswer):
            LenientParser(SCHEMA, is_strict=True).normalize({**GOOD, **extra})


@pytest.mark.parametrize(
    "text",
    [
        "```json\n{good}\n```",
        "I am sorry. Here is my answer:\n{good}\nI hope it helps.",
        "{good},",
        '{{"answer": {good}}}',
        "[{good}]",
        'Take the form {{"position": "…"}}. {good}',
        '{{"position": "oppose", "position": "support", "text": "It pays."}}',
        "{{'position': 'support', 'text': 'It pays.',}}",
        '{{"position": "support", "text": "It pays."',
        '{{position: support, "text": "It pays."}}',
        '{{"position": “support”, "text": “It pays.”}}',
        '{{"Position": "Support.", "Text": "It pays."}}',
        '{{"position": "support", "my reasons": "It pays."}}',
        '{{"type": "vote", "stance": "support", "text": "It pays."}}',
    ],
)
def test_whatever_stands_round_the_words_the_words_are_read(text: str) -> None:
    """M-2"""
    read, _ = mend(text.format(good=json.dumps(GOOD)))
    assert read == GOOD


def test_words_without_any_json_are_an_answer_where_they_say_what_is_needed() -> None:
    """M-2"""
    read, notes = mend("Support: it pays, and soon.")
    assert read == {"position": "support", "text": "Support: it pays, and soon."}
    assert notes == ["words position 'Support: it pays, and soon.' → 'support'", "words the answer"]
    assert mend("Support") == ({"position": "support", "text": "Support"}, ["words the answer"]), (
        "it is named"
    )
    for words in (
        "It pays, and soon.",
        "Nobody can support this.",
        "Do we support it?",
        "",
        "   ",
        "{broken",
    ):
        with pytest.raises(BadAnswer):
            mend(words)


ARGUE: dict[str, Any] = {
    "type": "object",
    "properties": {"type": allow_values(["support", "challenge", "pass"]), "text": allow_text(60)},
    "required": ["type", "text"],
}


@pytest.mark.parametrize("words", ["ship", " Ship. ", "SHIP!", "“ship”", "等一等", "等一等。"])
def test_who_repeats_an_option_where_it_is_to_argue_passes_and_the_word_stands_beside(
    words: str,
) -> None:
    """M-2: it names nobody's words, so it supports and challenges none."""
    parser = LenientParser(ARGUE, options=("ship", "等一等"))
    assert parser.parse_text(words) == {"type": "pass", "text": words.strip()}
    assert parser.notes[0].startswith("read type ")
    assert len(parser.notes) == 2


@pytest.mark.parametrize(
    ("words", "types", "options"),
    [
        ("Ship it, the tests pass on Friday.", ("support", "challenge", "pass"), ("ship", "wait")),
        ("ship or wait", ("support", "challenge", "pass"), ("ship", "wait")),
        ("ship", ("support", "challenge", "pass"), ()),
        ("ship", ("support", "challenge"), ("ship", "wait")),
    ],
)
def test_what_is_more_than_an_option_or_may_not_pass_is_asked_again(
    words: str, types: tuple[str, ...], options: tuple[str, ...]
) -> None:
    schema = {**ARGUE, "properties": {**ARGUE["properties"], "type": allow_values(types)}}
    with pytest.raises(BadAnswer, match="words that begin with one of"):
        LenientParser(schema, options=options).parse_text(words)


def test_an_option_that_is_a_type_is_that_type() -> None:
    parser = LenientParser(ARGUE, options=("support", "oppose"))
    assert parser.parse_text("support") == {"type": "support", "text": "support"}


def test_words_are_the_one_text_that_is_needed_however_deep_it_stands() -> None:
    """M-2: a conclusion in plain words is a conclusion."""
    claim = {
        "type": "object",
        "properties": {"text": allow_text(60), "entries": allow_list(allow_values([1]), 4)},
    }
    parser = LenientParser(
        {
            "type": "object",
            "properties": {"decision": {**claim, "required": ["text"]}},
            "required": ["decision"],
        }
    )
    assert parser.parse_text(" Wait a week. ") == {"decision": {"text": "Wait a week."}}
    assert parser.notes == ["words the answer"]


@pytest.mark.parametrize(
    "raw",
    [
        {},
        {"position": "support"},
        {"text": "It pays."},
        {"position": "blue", "text": "x"},
        7,
        None,
        [],
        "{}",
    ],
)
def test_an_answer_without_substance_is_refused_with_what_is_needed(raw: object) -> None:
    """M-2"""
    with pytest.raises(BadAnswer) as caught:
        mend(raw)
    assert str(caught.value)


@pytest.mark.parametrize("name", ["position", "verdict"])
def test_the_condition_of_a_position_is_not_lost(name: str) -> None:
    """M-2: what a person may type, a model may write."""
    values = POSITIONS if name == "position" else ("support", "conditional", "oppose", "abstain")
    fields = {name: allow_values(values), "text": allow_text(60), "condition": allow_text(60)}
    schema = {"type": "object", "properties": fields, "required": [name]}
    expected = {name: values[1], "condition": "it ships by May"}
    assert LenientParser(schema).normalize({name: "Yes, if it ships by May"}) == expected
    words = "Yes, if it ships by May. It pays."
    assert LenientParser(schema).parse_text(words) == {**expected, "text": words}


def test_a_reason_under_another_name_is_not_lost() -> None:
    """M-2: words are not thrown away for bookkeeping."""
    for name in ("text", "position"):
        fields = {"verdict": allow_values(("support", "oppose")), name: allow_text(60)}
        parser = LenientParser({"type": "object", "properties": fields, "required": ["verdict"]})
        assert parser.normalize({"verdict": "oppose", "why": "Too dear."}) == {
            "verdict": "oppose",
            name: "Too dear.",
        }
        assert parser.notes == [f"read {name} 'why: Too dear.'"]
        with pytest.raises(BadAnswer, match="which of the two is meant"):
            parser.normalize({"verdict": "oppose", "why": "I support this."})


@pytest.mark.parametrize("value", ["1", "a", 2, "B"])
def test_a_line_number_is_no_position_of_a_model(value: object) -> None:
    """M-2: positions are not numbered in a prompt, so that a number there means something else."""
    with pytest.raises(BadAnswer):
        mend({**GOOD, "position": value})


def test_a_text_that_is_too_long_is_cut_at_a_word_and_noted() -> None:
    """M-2"""
    read, notes = mend({**GOOD, "text": "word " * 30})
    assert isinstance(read, dict)
    assert read["text"].endswith("word…")
    assert len(read["text"]) <= 60
    assert notes == ["cut text '150 > 60'"]
    assert cut_text("漢" * 100, 60) == "漢" * 59 + "…"


def test_a_list_that_is_too_long_is_cut_and_noted_and_refused_where_nothing_may_be_cut() -> None:
    """M-2."""
    given = {**GOOD, "answers": [3, 5, 3, 5, 3]}
    read, notes = mend(given)
    assert read == {**GOOD, "answers": [3, 5, 3, 5]}
    assert notes == ["cut answers '5 > 4'"]
    with pytest.raises(BadAnswer, match="at most 4 items were expected, and there are 5"):
        LenientParser(SCHEMA, is_strict=True).normalize(given)


@pytest.mark.parametrize(
    ("given", "options", "chosen"),
    [
        ("B. Postgres", ("A", "B"), "B"),
        ("Postgres", ("A. MySQL", "B. Postgres"), "B. Postgres"),
        ("b", ("A. MySQL", "B. Postgres"), "B. Postgres"),
        ("I choose Postgres", ("MySQL", "Postgres"), "Postgres"),
        ("not Postgres", ("MySQL", "Postgres"), None),
        ("MySQL or Postgres", ("MySQL", "Postgres"), None),
        ("ＹＥＳ。", ("yes", "no"), "yes"),
        ("no", ("yes", "no"), "no"),
        ("support, if the tests pass", POSITIONS, "conditional_support"),
        ("I do not support it", POSITIONS, None),
        ("The others support it, and they are wrong", POSITIONS, None),
        ("Given the risk, we support it", POSITIONS, "support"),
        ("The claim that I support it is silly", POSITIONS, None),
        ("full support", POSITIONS, "support"),
        ("It is good for users", POSITIONS, None),
        ("For as long as it rains", POSITIONS, None),
        ("我不支持", POSITIONS, "oppose"),
        ("没人支持", POSITIONS, None),
        ("2", ("Postgres", "SQLite"), "SQLite"),
        ("post", ("Postgres", "SQLite"), None),
        ("Not Postgres, SQLite", ("Postgres", "SQLite"), None),
        ("Avoid Postgres at all costs", ("Postgres", "SQLite"), None),
        ("I propose Postgres, because SQLite cannot scale", ("Postgres", "SQLite"), None),
        ("We choose: do not ship", ("Ship", "Do not ship"), "Do not ship"),
        ("我非常喜欢微服务", ("单体", "微服务"), None),
        ("conditional_support", ("support", "oppose"), None),
        ("", ("yes", "no"), None),
    ],
)
def test_an_option_is_known_by_its_label_its_words_and_nothing_else(
    given: str, options: tuple[str, ...], chosen: str | None
) -> None:
    """M-2"""
    read = find_choice(given, build_choices(options))
    assert (None if read is None else read.value) == chosen


def test_numbers_are_read_as_people_write_them() -> None:
    assert [
        read_integer(each) for each in ("#12", " 3 ", "entry 4", "no. 5", "五", True, "1.5", "x3")
    ] == [
        12,
        3,
        4,
        5,
        5,
        None,
        None,
        None,
    ]
    assert [read_share(each, 0, 1) for each in ("0,7", "70 %", "7 out of 10", 1.2, "-1", "")] == [
        0.7,
        0.7,
        0.7,
        None,
        None,
        None,
    ]
    assert find_choice("No. It costs too much, yes.", build_choices(("yes", "no"))) is None
    assert find_choice("No.", build_choices(("yes", "no"))) == PositionRead("no")


@given(st.integers(0, 10_000))
def test_what_fits_a_schema_is_taken_as_it_is(seed: int) -> None:
    """M-1"""
    value = draw_value(SCHEMA, Random(seed))
    for raw in (value, json.dumps(value), f"```json\n{json.dumps(value, ensure_ascii=False)}\n```"):
        assert mend(raw) == (value, [])


@given(
    st.recursive(
        st.none() | st.booleans() | st.floats() | st.integers() | st.text(),
        lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    )
)
def test_whatever_comes_is_read_or_refused(raw: object) -> None:
    """M-2: never anything but an answer that fits, or a BadAnswer."""
    try:
        read, _ = mend(raw)
    except BadAnswer:
        return
    assert isinstance(read, dict)
    assert read["position"] in POSITIONS
    assert read["text"].strip()


@given(st.text(alphabet='{}[]":,#\n `supportextiniy 0123\\', max_size=200))
def test_whatever_text_comes_is_read_or_refused(text: str) -> None:
    with contextlib.suppress(BadAnswer):
        mend(text)
    extract_object(text)


def test_a_provider_is_sent_no_lengths_and_a_prompt_the_fields_with_their_values() -> None:
    """M-1: grammars cannot count to thousands."""
    assert not {"maxLength", "minLength", "pattern", "maxItems"} & {
        *str(build_wire_schema(SCHEMA)).replace("'", " ").split()
    }
    told = describe_schema(SCHEMA, {"text": "your reason"}, "en")
    assert '"position": "support" | "conditional_support" | "oppose" | "abstain"' in told
    assert '"text": string (your reason)' in told
    assert '"confidence": 0 … 1' in told
    assert '"refers_to": 2 | 3 | 5' in told
    assert "needed: position, text" in told
    assert "必填：position, text" in describe_schema(SCHEMA, {}, "zh")


def test_choices_of_every_script_reach_a_model_as_they_are_written() -> None:
    """M-1: a model that reads \\u escapes answers with them, or not at all."""
    schema = {
        "type": "object",
        "properties": {"choice": {"enum": ["推迟", "naïve"]}, "sure": {"const": "是"}},
    }
    shape = describe_schema(schema, {}, "zh")
    assert '"choice": "推迟" | "naïve"' in shape
    assert '"sure": "是"' in shape
    assert "没有" in describe_schema({"type": "string", "description": "没有"}, {}, "zh")


def test_half_a_sentence_of_a_cut_off_answer_is_no_text() -> None:
    """M-2: what was cut off before its first sentence ended is asked for again; whole sentences count."""
    half: list[object] = [
        json_text.find_object(text) for text in ('{"decision": {"text": "I', '{"position": "supp')
    ]
    assert [getattr(each, "fields", None) for each in half] == [{"decision": {}}, {}]
    whole = json_text.find_object('{"text": "It pays. And so')
    assert whole is not None
    assert whole.fields == {"text": "It pays. And so"}


@pytest.mark.timeout(60)
@pytest.mark.parametrize(
    ("opening", "piece"),
    [("", '{"'), ("{", "{("), ('{"text": "', '{"a":['), ('{"text": "', '\\"'), ('{"a": [', '["')],
)
def test_a_broken_answer_costs_a_bounded_repair(opening: str, piece: str) -> None:
    """M-1: an answer of nothing but beginnings is given up after some steps; a repairer goes over it for minutes."""
    extract_object((opening + piece * 30_000)[:60_000])


def test_a_long_broken_answer_with_quoted_code_is_repaired() -> None:
    """M-1: what a reviewer quotes has many escapes, and an answer that is cut off is still read."""
    code = json.dumps({"title": "t", "text": 'def f(x):\n    return "a"\n' + "plain words " * 20})
    items = ", ".join([code] * 80)
    fields = extract_object(f'{{"findings": [{items}, {{"title": "t')
    assert fields is not None
    assert isinstance(fields["findings"], list)
    assert len(fields["findings"]) >= 80


def test_what_a_repair_returns_counts_no_longer() -> None:
    """M-1: a repair that nearly came to its end fails nothing that reads its texts afterwards."""
    fields = extract_object('{"text": "We take Redis.", "list": ["a", {"key": "b", "more": [1')
    assert fields == {"text": "We take Redis.", "list": ["a", {"key": "b", "more": [1]}]}
    assert set(_list_texts(fields)) == {str}


def _list_texts(value: object) -> Iterator[type]:
    """The class of each text in a value, names too."""
    if isinstance(value, str):
        yield type(value)
    elif isinstance(value, dict):
        for pair in value.items():
            yield from _list_texts([*pair])
    elif isinstance(value, list):
        for each in value:
            yield from _list_texts(each)


def test_white_space_beside_a_choice_is_not_counted() -> None:
    """M-2"""
    choices = build_choices(("support", "oppose"))
    assert read_choice("support" + " " * 2_500, choices) == "support"


@pytest.mark.timeout(30)
@pytest.mark.parametrize("piece", ["?", "<?", "? ", "ﷺ"])
def test_no_long_text_is_a_choice(piece: str) -> None:
    """M-1: an answer of question marks is not searched for the end of a question from each of them."""
    assert find_choice(f"{piece * 100_000}\nend", build_choices(("support", "oppose"))) is None


@pytest.mark.timeout(30)
@pytest.mark.parametrize("text", ["1{}", "1. a{}b", "1: a; {}2"])
def test_a_list_in_a_text_may_hold_long_white_space(text: str) -> None:
    """M-1: no place within white space is where an item ends, or its words begin."""
    long = text.format("\t" * 60_000)
    lenient_parser._ITEM_END.split(long)
    lenient_parser._NUMBERED.match(long)


@pytest.mark.parametrize(
    "text", ["a; b", "a ;b", "a\n\n b", "a; ;b", "a;;b", "a \n ;\n b", "a", "a b；c"]
)
def test_items_end_where_they_did(text: str) -> None:
    """M-1"""
    assert lenient_parser._ITEM_END.split(text) == re.split(r"\s*[;；\n]\s*", text)


def test_a_whole_number_that_no_float_holds_is_asked_back() -> None:
    """N-8: JSON knows whole numbers of any length."""
    assert read_share(10**400, 0, 1) is None
    assert read_share(-(10**400), -1, 1) is None
