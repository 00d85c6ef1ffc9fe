"""Validates the options of a session before anything is recorded."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import fields
from typing import Any, Final

from pydantic import TypeAdapter, ValidationError

from moot.domain.budget import Budget
from moot.domain.roster import MOST_PATIENCE, Seat
from moot.domain.safe_text import fix_surrogates
from moot.errors import BadSetting
from moot.ports.plugin import AnyPlugin

LONGEST_TOPIC: Final = 20_000


def validate_topic(topic: str) -> str:
    """Validate the question and return it; raises BadSetting."""
    question = fix_surrogates(topic).strip()
    if not question:
        raise BadSetting('the topic is empty; say what the meeting is about, such as "Should we …?"')
    if len(question) > LONGEST_TOPIC:
        raise BadSetting(f"the topic has {len(question)} characters; at most {LONGEST_TOPIC} are taken")
    return question


def check_limits(budget: Budget, patience: float) -> None:
    """Raise BadSetting for impossible limits."""
    for what, limit in (
        ("turns", budget.turns),
        ("tokens", budget.tokens),
        ("money", budget.money),
        ("time", budget.seconds),
        ("patience", patience),
    ):
        if limit is not None and not 0 < limit < math.inf:
            raise BadSetting(f"the budget of {what} is {limit}; it must be greater than 0 and finite")
    if patience > MOST_PATIENCE:
        raise BadSetting(f"the patience is {patience} seconds; at most ten years are taken")


def validate_settings(plugin: AnyPlugin, given: Mapping[str, Any], seats: Sequence[Seat]) -> Any:
    """Validate the protocol's settings; positions are blind by default from the protocol's number of seats on."""
    names = [field.name for field in fields(plugin.settings)]
    for name in given:
        if name not in names:
            raise BadSetting(f"unknown setting {name!r}; known: {', '.join(names)}")
    values = dict(given)
    if "blind" in names:
        values.setdefault("blind", len(seats) >= plugin.blind_from)
    try:
        return TypeAdapter(plugin.settings).validate_python(values)
    except ValidationError as cause:
        first = cause.errors(include_url=False)[0]
        where, said = ".".join(map(str, first["loc"])), str(first["input"])[:60]
        raise BadSetting(f"setting {where}: {first['msg']} (given: {said!r})") from cause
