"""Limits stand once, with the fields of facts, and are explained in one way."""

from dataclasses import fields
from typing import Any

import pytest
from pydantic import BaseModel, TypeAdapter, ValidationError

from moothall.codec.adapters import get_adapter
from moothall.domain.facts import Fact
from moothall.domain.limits import Share, explain_violation, validate_limits
from moothall.errors import BadSetting
from moothall.features.notices.register import KINDS as NOTICE_KINDS
from moothall.memory import facts
from moothall.memory.facts import (
    ACCESS_KINDS,
    LABEL_KINDS,
    MEMORY_KINDS,
    Name,
    Policy,
    RequiredName,
    Seconds,
    ThreadCreated,
)
from moothall.surfaces.api import breakers
from moothall.surfaces.api.methods import TABLE

FILLED: list[tuple[type[BaseModel], type[Any], dict[str, str]]] = [
    (breakers.RecordParams, facts.SoloDecided, {"agent": "source", "decision": "text"}),
    (TABLE["cstp.resetCircuit"].params, facts.CircuitReset, {}),
    (breakers.PolicyParams, facts.Policy, {}),
    (TABLE["cstp.reviewDecision"].params, facts.OutcomeReviewed, {"idempotency_key": "key"}),
    (TABLE["cstp.settleObligation"].params, facts.ObligationSettled, {"idempotency_key": "key"}),
    (TABLE["cstp.createThread"].params, facts.ThreadCreated, {}),
    (TABLE["cstp.resumeThread"].params, facts.ThreadVisited, {"participant": "seat"}),
    (TABLE["cstp.setThreadStatus"].params, facts.ThreadStatusSet, {}),
    (TABLE["cstp.askInThread"].params, facts.ThreadQuestioned, {}),
]
"""The parameters of calls, the facts that they fill, and the fields that have other names there."""
LIMITS = {"maxLength", "minLength", "maxItems", "minimum", "exclusiveMinimum", "maximum"}


def collect_limits(schema: Any) -> dict[str, object]:
    """The limits anywhere in the schema of a field, those of its items too; null and descriptions make no difference."""
    if isinstance(schema, list):
        return {name: value for each in schema for name, value in collect_limits(each).items()}
    if not isinstance(schema, dict) or "$ref" in schema:
        return {}
    inner = collect_limits([schema[name] for name in ("anyOf", "items") if name in schema])
    return {**inner, **{name: value for name, value in schema.items() if name in LIMITS}}


def list_schemas(kind: Any) -> dict[str, Any]:
    adapter: TypeAdapter[Any] = (
        TypeAdapter(kind) if issubclass(kind, BaseModel) else get_adapter(kind)
    )
    found: dict[str, Any] = adapter.json_schema(by_alias=False)["properties"]
    return found


@pytest.mark.parametrize(
    ("params", "fact", "renamed"), FILLED, ids=lambda value: getattr(value, "__name__", "")
)
def test_a_parameter_has_the_limits_of_the_fact_that_it_fills(
    params: type[BaseModel], fact: type[Fact], renamed: dict[str, str]
) -> None:
    given, stored = list_schemas(params), list_schemas(fact)
    shared = {name: renamed.get(name, name) for name in given if renamed.get(name, name) in stored}
    # Ids are looked up: what is not there is refused, however long it is.
    shared = {
        name: of for name, of in shared.items() if of not in {"thread", "decision_id", "scope"}
    }
    assert shared
    # A name in a list must not be empty; the parameter says so only when it is checked.
    loose = {"tags", "built_on", "deliberate_categories"}
    for name, of in shared.items():
        limits, expected = collect_limits(given[name]), collect_limits(stored[of])
        if name in loose:
            expected.pop("minLength", None)
        assert limits == expected, name


@pytest.mark.parametrize(
    "fact",
    [*MEMORY_KINDS.values(), *ACCESS_KINDS.values(), *NOTICE_KINDS.values(), *LABEL_KINDS.values()],
    ids=lambda fact: fact.__name__,
)
def test_what_is_stored_of_a_callers_words_is_bounded(fact: type[Fact]) -> None:
    words = {"note", "by", "key", "title", "question", "topic", "text", "category", "tags"} & {
        one.name for one in fields(fact)
    }
    if fact in {facts.SoloBlocked, facts.KeyUsed}:
        # Written by Moot itself, from a fact that was checked.
        return
    schemas = list_schemas(fact)
    assert [name for name in sorted(words) if not collect_limits(schemas[name])] == []


@pytest.mark.parametrize(
    ("value", "kind", "sentence"),
    [
        ("x" * 101, Name, "title has 101 characters; at most 100 are kept"),
        ("a\nb", Name, "title 'a\\nb' must have at most 100 printable characters on one line"),
        (" ", RequiredName, "title is empty; say something"),
        ("\ud800", Name, "title holds half a character (a lone surrogate); send valid UTF-8"),
        (3, Name, "title must be a text, not int"),
        (0.0, Seconds, "title is 0.0; it must be a number more than 0 and at most 31622400"),
        (True, facts.SourceCount, "title is True; it must be a whole number from 2 to 1000"),
        ("abc", facts.Labels, "title must be a list of at most 32"),
        (("a", ""), facts.Labels, "title is empty; say something"),
        (
            "maybe",
            facts.Outcome,
            "unknown title 'maybe'; known: success, partial, failure, abandoned",
        ),
        (None, Share | None, None),
        (1.5, Share | None, "title is 1.5; it must be a number from 0 to 1"),
        (0.5, Share, None),
    ],
)
def test_a_violation_is_explained(value: object, kind: Any, sentence: str | None) -> None:
    assert explain_violation("title", value, kind) == sentence


def test_the_fields_of_a_fact_are_checked_and_named() -> None:
    validate_limits(ThreadCreated(thread="", title="Storage"))
    with pytest.raises(BadSetting, match="title is empty; say something"):
        validate_limits(ThreadCreated(thread="", title=""))
    with pytest.raises(BadSetting, match=r"category_confidence\.min_confidence is 2"):
        validate_limits(
            Policy(category_confidence=(facts.CategoryConfidence(category="a", min_confidence=2),))
        )


@pytest.mark.parametrize("kind", [facts.RequiredText, facts.RequiredName, facts.RequiredLine])
def test_what_is_required_may_be_one_character_and_not_none(kind: Any) -> None:
    adapter: TypeAdapter[str] = TypeAdapter(kind)
    assert adapter.validate_python("?") == "?"
    with pytest.raises(ValidationError):
        adapter.validate_python("")
