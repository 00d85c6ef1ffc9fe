"""Finds what a person is asked: the protocol's own questions, or else questions that are derived from the shape of the answer."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from moothall.codec.answers import parse_alternative, parse_answer
from moothall.codec.json_text import extract_object
from moothall.codec.plain_text import find_command, read_plain_answer
from moothall.codec.schemas import get_own_schema
from moothall.domain.effects import AnswerRules, Brief
from moothall.domain.person import Answers, PersonAsk, PersonChoice, PersonStep
from moothall.errors import BadAnswer
from moothall.locale.catalogues import DERIVED_PERSON, DerivedPersonText

WORDS: Final = "words"
_ASK = re.compile(r"/ask\s++[@＠]?(?P<to>[\w-]{1,64})[\s:：,，]++(?P<question>\S.*)", re.DOTALL)
_JSON_STARTS: Final = ("{", "[", "```")


@dataclass(frozen=True, slots=True)
class KeptWords:
    """Words that were typed for one ask and also answer a later one of the same turn."""

    kind: str
    turn: int
    text: str


def build_person_ask(rules: AnswerRules) -> PersonAsk:
    """Return what a person is asked for this brief; rules that are no brief bring questions of their own."""
    if rules.person is not None:
        return rules.person()
    assert isinstance(rules, Brief), "rules without questions for a person are a brief"
    return derive_person_ask(rules)


def derive_person_ask(brief: Brief) -> PersonAsk:
    """Return questions for an answer whose protocol brings none: one for each field that fits on a line or on several."""
    words = DERIVED_PERSON[brief.language]
    news = tuple(brief.perception.memory.recent)
    if brief.form.form == "text":
        step = PersonStep(name=WORDS, text=words.words, is_needed=True, is_long=True)
        return PersonAsk(steps=(step,), news=news, build=lambda answers: answers[WORDS])
    shape = get_own_schema(brief)
    required = shape.get("required", [])
    names = [*required, *(name for name in shape["properties"] if name not in required)]
    kinds = {name: kind for name in names if (kind := _find_plain_type(shape["properties"][name])) is not None}
    steps = tuple(_build_step(words, name, kind, is_needed=name in required) for name, kind in kinds.items())

    def build(answers: Answers) -> Mapping[str, object]:
        return {name: _convert(kind, answers[name]) for name, kind in kinds.items() if answers.get(name)}

    return PersonAsk(steps=steps, news=news, build=build)


def _find_plain_type(kind: dict[str, Any]) -> dict[str, Any] | None:
    """Return the type of a field that a person can type; None for nested objects and lists of them."""
    for choice in kind.get("anyOf", []):
        if choice.get("type") != "null":
            return _find_plain_type(choice)
    if kind.get("type") == "array":
        return kind if kind.get("items", {}).get("type") == "string" else None
    return None if kind.get("type") == "object" else kind


def _build_step(words: DerivedPersonText, name: str, kind: dict[str, Any], *, is_needed: bool) -> PersonStep:
    shown = name.replace("_", " ")
    text = (words.field if is_needed else words.optional).format(name=shown)
    if "enum" in kind:
        choices = tuple(PersonChoice(value=str(value), text=str(value)) for value in kind["enum"])
        return PersonStep(name=name, text=text, choices=choices, kind="option", is_needed=is_needed)
    match kind.get("type"):
        case "boolean":
            choices = (PersonChoice(value="yes", text=words.yes), PersonChoice(value="no", text=words.no))
            return PersonStep(name=name, text=text, choices=choices, kind="option", is_needed=is_needed)
        case "array":
            return PersonStep(name=name, text=words.lines.format(name=shown), is_needed=is_needed, is_long=True)
        case "number" | "integer":
            low, high = kind.get("minimum"), kind.get("maximum")
            bounds = words.between.format(low=low, high=high) if low is not None and high is not None else ""
            return PersonStep(name=name, text=words.number.format(name=shown, bounds=bounds), is_needed=is_needed)
        case _:
            return PersonStep(name=name, text=text, is_needed=is_needed, is_long=kind.get("maxLength", 10_000) > 200)


def _convert(kind: dict[str, Any], typed: str) -> object:
    """Convert a typed text to the value of its field; what does not fit is refused when the answer is read."""
    match kind.get("type"):
        case "boolean":
            return typed == "yes"
        case "array":
            return [line.strip() for line in typed.splitlines() if line.strip()]
        case "number" | "integer":
            try:
                return float(typed) if kind["type"] == "number" else int(typed)
            except ValueError:
                return typed
        case _:
            return typed


def find_alternative(rules: AnswerRules, text: str) -> object | None:
    """Return what a person asks for in place of the answer: `/ask NAME QUESTION`, or a request to the director in words."""
    instead = rules.form.instead
    if instead is None:
        return None
    asked = _ASK.fullmatch(text.strip())
    if asked is not None:
        return {instead.field: {"to": asked["to"], "question": asked["question"].strip()}}
    return text if parse_alternative(rules.form, instead, text) is not None else None


def interpret_plain_text(rules: AnswerRules, raw: object) -> object:
    """Return the answer that a plain text means, where an answer is read from outside; anything else is returned unchanged.

    Raises BadAnswer with what can be said, if a text without JSON is no answer.
    """
    if not isinstance(raw, str) or raw.lstrip().startswith(_JSON_STARTS):
        return raw
    alternative = find_alternative(rules, raw)
    if alternative is not None:
        return alternative
    if rules.form.form == "json" and not _holds_json(raw):
        return read_plain_answer(build_person_ask(rules), raw)
    return raw if rules.form.form == "json" or rules.person is None else _interpret_words(rules, raw)


def find_kept_words(brief: Brief, raw: object) -> KeptWords | None:
    """Return the words of a plain text that also answer a later ask of the same turn; None if there are none."""
    person = build_person_ask(brief)
    if not person.keeps_for or not person.steps:
        return None
    if isinstance(raw, str) and not raw.lstrip().startswith(_JSON_STARTS) and not _holds_json(raw):
        is_said = raw.strip() and find_command(person, raw) is None and find_alternative(brief, raw) is None
        return KeptWords(person.keeps_for, brief.ask.turn, raw.strip()) if is_said else None
    return None


def _interpret_words(rules: AnswerRules, text: str) -> object:
    """Return a text as it is, unless a choice is asked for: then it is found in the form of agents, or in words."""
    person = build_person_ask(rules)
    if not person.steps or not person.steps[0].choices:
        return text
    try:
        return parse_answer(rules.form, text)
    except BadAnswer:
        return read_plain_answer(person, text)


def _holds_json(text: str) -> bool:
    return extract_object(text) is not None
