"""The schemas that providers are sent (M-1, M-4): strict ones where the prompt says what an empty field means, and the form once."""

from dataclasses import dataclass, replace
from typing import Any

import pytest
from tests.support.play_persona import MeetingRun, build_seat

from moothall.domain.effects import AnswerForm, Brief
from moothall.domain.facts import Reply
from moothall.domain.prompt_parts import build_system_text
from moothall.reading.answers import read_answer
from moothall.reading.schemas import (
    allow_list,
    allow_text,
    allow_values,
    build_request_schema,
    build_strict_schema,
    build_user_prompt,
    is_strict_schema,
)


@dataclass(frozen=True, kw_only=True)
class Vote:
    text: str
    position: str
    condition: str = ""
    moved_by: int | None = None
    accepts: tuple[int, ...] = ()


FIELDS: dict[str, Any] = {
    "text": allow_text(100),
    "position": allow_values(["support", "oppose"]),
    "condition": {"type": "string", "maxLength": 50},
    "moved_by": allow_values([2, 3]),
    "accepts": {**allow_list(allow_values([2]), 5), "minItems": 1},
}
SCHEMA = {"type": "object", "properties": FIELDS, "required": ["text", "position"]}


def build_brief(*, explains: bool = True) -> Brief:
    table = MeetingRun(build_seat("ada"), build_seat("bob"))
    form = AnswerForm(kind="vote", reply=Reply, shape=Vote, form="json", max_tokens=10)
    return replace(
        table.turn("ada", "Yes.").brief("bob"),
        form=form,
        schema=SCHEMA,
        explains_fields=explains,
        fills={},
        normalize=lambda said: (said, ()),
    )


def test_every_field_is_required_in_its_order_and_may_be_empty() -> None:
    """M-1: what a model may leave out is written, too, and says nothing when it is empty."""
    sent = build_request_schema(build_brief())
    assert sent["required"] == [*sent["properties"]] == [*FIELDS]
    assert sent["additionalProperties"] is False
    assert sent["properties"]["moved_by"]["enum"] == [2, 3, 0]
    assert "minItems" not in sent["properties"]["accepts"]
    assert "Length" not in str(sent)
    assert is_strict_schema(sent)


def test_a_schema_that_stands_before_the_prompt_names_no_lines() -> None:
    """M-4: what changes from ask to ask would void the provider's cache of all that follows."""
    shown = build_request_schema(build_brief(), is_shown=True)
    assert shown["properties"]["moved_by"] == {"type": "integer"}
    assert shown["properties"]["accepts"]["items"] == {"type": "integer"}
    assert shown["properties"]["position"]["enum"] == ["support", "oppose"]


@pytest.mark.parametrize("none", [0, "0", "", None])
def test_an_empty_value_is_read_as_left_out(none: object) -> None:
    """M-1"""
    raw = {"text": "Yes.", "position": "support", "condition": "", "moved_by": none, "accepts": []}
    read = read_answer(build_brief(), raw)
    assert read.said == Vote(text="Yes.", position="support")
    assert read.mends == ()


def test_a_line_that_is_not_there_is_left_out_with_a_note() -> None:
    """M-2"""
    read = read_answer(build_brief(), {"text": "Yes.", "position": "support", "moved_by": 9})
    assert read.said == Vote(text="Yes.", position="support")
    assert read.mends == ("left_out moved_by 9",)


def test_a_protocol_that_explains_no_fields_keeps_its_schema() -> None:
    """M-1: nobody told that model what an empty value means."""
    sent = build_request_schema(build_brief(explains=False), is_shown=True)
    assert sent["required"] == ["text", "position"]
    assert sent["properties"]["moved_by"]["enum"] == [2, 3]


def test_the_form_is_named_once_or_not_at_all() -> None:
    """M-4: fields by their names where the words explain them; nothing where the provider shows the schema."""
    brief = build_brief()
    told = build_user_prompt(brief).rpartition("\n\n")[2]
    assert told == "Answer with one JSON object: text, position, condition, moved_by, accepts."
    assert "JSON" not in build_user_prompt(brief, shows_form=False)
    assert '"moved_by"' in build_user_prompt(build_brief(explains=False), shows_form=False)


def test_an_object_that_several_lists_hold_stands_once_where_the_schema_is_shown() -> None:
    """M-4: by reference, which not every server resolves."""
    claim = {"type": "object", "properties": {"text": {"type": "string"}}, "required": ["text"]}
    lists = {name: {"type": "array", "items": claim} for name in ("reasons", "dissent")}
    schema = {
        "type": "object",
        "properties": {**lists, "decision": claim},
        "required": ["decision"],
    }
    brief = replace(build_brief(), schema=schema)
    shown = build_request_schema(brief, is_shown=True)
    assert [*shown["$defs"]] == ["item"]
    assert shown["properties"]["decision"] == {"$ref": "#/$defs/item"}
    assert shown["properties"]["reasons"]["items"] == {"$ref": "#/$defs/item"}
    assert "$ref" not in str(build_request_schema(brief))


def test_an_object_without_named_fields_is_not_strict() -> None:
    loose = {"type": "object", "properties": {"more": {"type": "object"}}}
    assert not is_strict_schema(build_strict_schema(loose, is_shown=True))
    assert is_strict_schema({"type": "string"})


@pytest.mark.parametrize(
    ("language", "name"), [("en", "English"), ("zh", "中文"), ("de", "Deutsch")]
)
def test_the_system_text_names_the_language(language: str, name: str) -> None:
    """M-11"""
    assert name in build_system_text(language)
