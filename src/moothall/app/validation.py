"""Validates the options of a session before anything is recorded."""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import fields
from difflib import get_close_matches
from typing import Any, Final

from pydantic import ValidationError

from moothall.app.consultations import Consult
from moothall.app.panels import Panel
from moothall.codec.schemas import get_adapter
from moothall.domain.budget import Budget
from moothall.domain.language import validate_language
from moothall.domain.roster import MOST_PATIENCE, Seat
from moothall.domain.safe_text import fix_surrogates
from moothall.domain.topic import Topic
from moothall.errors import BadSetting
from moothall.locale.texts import list_languages
from moothall.ports.plugin import AnyPlugin

LONGEST_TOPIC: Final = 20_000


def validate_topic(topic: str) -> str:
    """Validate the question and return it; raises BadSetting."""
    question = fix_surrogates(topic).strip()
    if not question:
        raise BadSetting('the topic is empty; write a question, such as "Should we …?"')
    if len(question) > LONGEST_TOPIC:
        raise BadSetting(f"the topic has {len(question)} characters; the limit is {LONGEST_TOPIC}")
    return question


_EXPECTED: Final[Mapping[str, tuple[tuple[type, ...], str]]] = {
    "seats": ((Mapping, Sequence), 'a dict of names and platforms, such as {"ada": "openai:gpt-5-mini"}, or a list of Seats'),
    "panel": ((str, Panel), "a preset's name, a .toml file or a Panel"),
    "models": ((Sequence,), 'a list of platforms, such as ["openai:gpt-5-mini"]'),
    "protocol": ((str,), "a protocol's name, such as 'debate'"),
    "name": ((str,), "a protocol's name, such as 'debate'"),
    "language": ((str,), f"one of: {', '.join(list_languages())}"),
    "seed": ((int,), "a whole number"),
    "budget": ((Budget,), "a Budget, such as moothall.Budget(turns=6)"),
    "settings": ((Mapping,), "a dict of the protocol's settings"),
    "outside_patience": ((int, float), "seconds"),
    "session": ((str,), "an id of ASCII letters, digits, '_' and '-'"),
    "check": ((bool,), "True or False"),
    "subject": ((Topic,), "a Topic"),
    "hosted": ((bool,), "True or False"),
    "memory": ((bool,), "True or False"),
    "demo": ((str,), "the name of a demo"),
    "consult": ((Consult,), "a Consult, such as moot.Consult(per_seat=3)"),
}
_OPTIONAL: Final = frozenset({"panel", "language", "seed", "budget", "settings", "session", "consult"})


def validate_options(options: Mapping[str, Any], known: Iterable[str]) -> None:
    """Raises BadSetting for an option that does not exist, or that is not of its type, naming what was expected."""
    names = list(known)
    for name, value in options.items():
        if name not in names:
            near = get_close_matches(name, names, 1)
            hint = f" (did you mean {near[0]!r}?)" if near else ""
            raise BadSetting(f"unknown option {name!r}{hint}; known: {', '.join(names)}")
        types, expected = _EXPECTED[name]
        if not (value is None and name in _OPTIONAL) and not isinstance(value, types):
            raise BadSetting(f"{name} = {str(value)[:60]!r} is a {type(value).__name__}; expected {expected}")
    if options.get("language") is not None:
        validate_language(options["language"])
    if isinstance(options.get("seats"), str):
        raise BadSetting(f"seats = {options['seats']!r} is one text; expected {_EXPECTED['seats'][1]}")
    if "protocol" in options and options.get("name", options["protocol"]) != options["protocol"]:
        raise BadSetting(f"protocol = {options['protocol']!r} and name = {options['name']!r}; give one of them")


def check_limits(budget: Budget, patience: float) -> None:
    """Raise BadSetting for impossible limits."""
    for what, limit in (
        ("turns", budget.turns),
        ("tokens", budget.tokens),
        ("money", budget.money),
        ("time", budget.seconds),
        ("patience", patience),
    ):
        if limit is not None and (isinstance(limit, bool) or not isinstance(limit, int | float)):
            raise BadSetting(f"the budget of {what} is {limit!r}, a {type(limit).__name__}; expected a number")
        if limit is not None and not 0 < limit < math.inf:
            raise BadSetting(f"the budget of {what} is {limit}; it must be greater than 0 and finite")
    if patience > MOST_PATIENCE:
        raise BadSetting(f"the patience is {patience} seconds; the limit is ten years")


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
        return get_adapter(plugin.settings).validate_python(values)
    except ValidationError as cause:
        first = cause.errors(include_url=False)[0]
        where, said = ".".join(map(str, first["loc"])), str(first["input"])[:60]
        raise BadSetting(f"setting {where}: {first['msg']} (given: {said!r})") from cause
