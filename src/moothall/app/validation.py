"""Validates the options of a session before anything is recorded."""

from collections.abc import Mapping, Sequence
from dataclasses import fields
from typing import Any, Final

from pydantic import ValidationError

from moothall.codec.schemas import get_adapter
from moothall.domain.roster import Seat
from moothall.domain.safe_text import fix_surrogates
from moothall.errors import BadSetting
from moothall.ports.plugin import AnyPlugin

MAX_TOPIC_LENGTH: Final = 20_000


def validate_topic(topic: str) -> str:
    """Validate the question and return it; raises BadSetting."""
    question = fix_surrogates(topic).strip()
    if not question:
        raise BadSetting('the topic is empty; write a question, such as "Should we …?"')
    if len(question) > MAX_TOPIC_LENGTH:
        raise BadSetting(f"the topic has {len(question)} characters; the limit is {MAX_TOPIC_LENGTH}")
    return question


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
