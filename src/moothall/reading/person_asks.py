"""Finds what a person is asked (the protocol's own questions, or some that are derived from the shape of the answer), and
reads what people type: in answer to one question, or a whole answer in one text.

What is not certain is refused with what can be said instead.
"""

import difflib
import re
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, Final

from moothall.domain.effects import AnswerRules, Brief
from moothall.domain.facts import Language
from moothall.domain.person import (
    CONDITION,
    WHY,
    Answers,
    PersonAsk,
    PersonChoice,
    PersonStep,
    build_key,
)
from moothall.domain.topic import normalize_label
from moothall.errors import BadAnswer
from moothall.locale.catalogues import DERIVED_PERSON, PERSON_SEAT, DerivedPersonText
from moothall.reading.answers import FromText, WordedAnswer, parse_alternative, parse_answer
from moothall.reading.choices import list_words, read_choice, read_typed_choice
from moothall.reading.estimates import read_estimate
from moothall.reading.field_values import read_integer, read_share, split_numbers, split_sureness
from moothall.reading.json_text import extract_object
from moothall.reading.schemas import get_own_schema
from moothall.reading.stated import find_shown_choice, is_sentence, split_by_line_number
from moothall.reports.person_steps import NUMBER

_ENTRY = re.compile(r"[#＃]\s*(\d{1,9})")
_ITEM = re.compile(r"[#＃]?(\d{1,9})(?:[ \t]*+[.:、)）：,，-]|[ \t])\s*+(?=\S)")


def read_confidence(text: str, choices: Sequence[PersonChoice]) -> str | None:
    """Return a confidence: one of the words, or a share such as 0.8, 80% or "eighty percent"; None for anything else."""
    # 1, 2 and 3 are the lines of the list.
    chosen = read_typed_choice(text, choices)
    if chosen is not None:
        return chosen
    share = read_share(text, 0, 1)
    if share is None:
        return None
    return f"{share:g}"


def read_numbers(text: str, step: PersonStep) -> str | None:
    """Return the numbers that were typed, such as "#3" or "line 3"; None unless each is one of those that may be named."""
    typed = [read_integer(part) for part in split_numbers(text)]
    if not typed or (step.kind != "numbers" and len(typed) > 1):
        return None
    if any(number not in step.numbers for number in typed):
        return None
    return " ".join(map(str, typed))


def read_step(step: PersonStep, text: str) -> str | None:
    """Return the value of what was typed for one question; None if it is not an answer to it."""
    match step.kind:
        case "position":
            return _read_position(text, step.choices)
        case "option" if step.choices:
            return _read_option(text, step.choices)
        case "option":
            return text.strip()
        case "confidence":
            return read_confidence(text, step.choices)
        case "number" | "numbers" | "reference":
            return read_numbers(text, step)
        case "text":
            return text.strip() or None


def _read_option(text: str, choices: Sequence[PersonChoice]) -> str | None:
    option = read_typed_choice(text, choices)
    if option is not None:
        return option
    stated = find_shown_choice(text, choices)
    return None if stated is None else stated.value


def _read_position(text: str, choices: Sequence[PersonChoice]) -> str | None:
    choice = read_typed_choice(text, choices)
    if choice is not None:
        return choice
    position = find_shown_choice(text, choices)
    # "Yes, if …" typed at the list: the condition would be lost, so that the list is shown again.
    if position is None or position.condition or len(text) >= 40:
        return None
    return position.value


def is_read_from_words(step: PersonStep, text: str) -> bool:
    """Whether a choice was taken from a sentence rather than named: the person is shown what was understood."""
    return (
        step.kind in {"position", "option"}
        and bool(step.choices)
        and bool(text)
        and is_sentence(text, step.choices)
        and read_typed_choice(text, step.choices) is None
    )


def suggest_choice(text: str, choices: Sequence[PersonChoice]) -> str:
    """Return the choice that a mistyped word is nearest to; empty if none is near."""
    known: dict[str, str] = {}
    for choice in choices:
        for word in list_words(choice):
            known[normalize_label(word)] = choice.text
    near = difflib.get_close_matches(normalize_label(text)[:60], known, n=1, cutoff=0.7)
    if not near:
        return ""
    return known[near[0]]


def read_plain_answer(person: PersonAsk, text: str) -> object:
    """Read a whole answer from one text, as a person writes it in a message; raises BadAnswer with what can be said."""
    if person.otherwise is None:
        return _read_as_asked(person, text)
    try:
        return _read_as_asked(person, text)
    except BadAnswer as fault:
        with suppress(BadAnswer):
            return _read_as_asked(person.otherwise, text)
        raise fault from None


def _is_number(step: PersonStep, text: str) -> bool:
    try:
        read_estimate(text, NUMBER, step.unit)
    except BadAnswer:
        return False
    return True


def _read_as_asked(person: PersonAsk, text: str) -> object:
    said = text.strip()
    command = find_command(person, said)
    if command is not None:
        return command
    if not said:
        raise BadAnswer(f"the answer is empty; expected {describe_plain_answer(person)}")
    for step in person.steps:
        # A number answers a question for one, alone or with its reason behind it.
        if step.name == NUMBER and _is_number(step, said):
            return person.build({NUMBER: said, WORDS: said})
    if not person.steps:
        return person.build({})
    said, answers = _take_sureness(person, said)
    groups: dict[str, list[PersonStep]] = {}
    for step in person.steps:
        groups.setdefault(step.group, []).append(step)
    items = [group for group in groups if group]
    parts = _split_items(said, items)
    if len(items) > 1 and not parts:
        step = groups[items[0]][0]
        # A text that names no item takes no position on any: only an abstention is about all of them.
        if not _is_abstention(step, said):
            raise BadAnswer(_explain_missing(person, step))
        parts = dict.fromkeys(items, said)
    parts.setdefault("", said)
    for group, steps in groups.items():
        _read_group(person, steps, parts.get(group, ""), answers)
    return person.build(answers)


def _take_sureness(person: PersonAsk, text: str) -> tuple[str, dict[str, str]]:
    """Return a text without the words that say how sure its writer is, and the answer that they are to the question for it."""
    sure = next((step.key for step in person.steps if step.kind == "confidence"), "")
    rest, share = split_sureness(text)
    if not sure or share is None:
        return text, {}
    return rest, {sure: f"{share:g}"}


def _is_abstention(step: PersonStep, text: str) -> bool:
    if step.kind != "position":
        return False
    choice = find_shown_choice(text, step.choices)
    return choice is not None and choice.value == "abstain"


def find_command(person: PersonAsk, text: str) -> object | None:
    """Return the answer that a command such as `/pass` or its word stands for; None if it is not one."""
    typed = normalize_label(text)
    for command in person.commands:
        if typed in {command.word, *(normalize_label(word) for word in command.words)}:
            return command.answer
    return None


def _split_items(text: str, groups: list[str]) -> dict[str, str]:
    """Split a text that answers several questions, one on each line that begins with the number of its item."""
    if len(groups) == 1:
        item = _ITEM.match(text)
        if item is not None and item[1] == groups[0]:
            text = text[item.end() :]
        return {groups[0]: text}
    if groups:
        numbers = "|".join(map(re.escape, groups))
        text = re.sub(rf"[,;，；]\s*(?=#?(?:{numbers})\b)", "\n", text)
    lines: dict[str, list[str]] = {}
    current = ""
    for line in map(str.strip, text.splitlines()):
        words = line
        item = _ITEM.match(line)
        if item is not None and item[1] in groups:
            current = item[1]
            words = line[item.end() :]
        if current:
            lines.setdefault(current, []).append(words)
    if lines:
        return {group: "\n".join(words) for group, words in lines.items()}
    return {
        str(number): words for number, words in split_by_line_number(text) if str(number) in groups
    }


def _read_group(
    person: PersonAsk, steps: list[PersonStep], text: str, answers: dict[str, str]
) -> None:
    is_read = False
    for step in steps:
        value = ""
        match step.kind:
            case "position":
                choice = find_shown_choice(text, step.choices)
                if text and choice is not None:
                    value = choice.value
                    answers[build_key(CONDITION, step.group)] = choice.condition
                    is_read = read_choice(text, step.choices) is not None
            case "option":
                option = find_shown_choice(text, step.choices)
                if text and option is not None:
                    value = option.value
                    answers[build_key(CONDITION, step.group)] = option.condition
                is_read = is_read or read_choice(text, step.choices) is not None
            case "reference":
                number = _ENTRY.search(text)
                if number is not None and int(number[1]) in step.numbers:
                    value = number[1]
            case "text" if step.name == CONDITION:
                continue
            case "text" if (step.is_long or step.name == WHY) and not is_read and text:
                # All words are kept with the first question that takes words.
                value, is_read = text, True
        if value:
            answers[step.key] = value
    for step in steps:
        if step.is_needed and step.is_due(answers) and not answers.get(step.key):
            raise BadAnswer(_explain_missing(person, step))


def _explain_missing(person: PersonAsk, step: PersonStep) -> str:
    about = f" for {step.group}" if step.group else ""
    if step.name == CONDITION:
        return f"the condition is missing{about}; say it behind an “if”: “Yes, if …”"
    if step.choices:
        return f"no answer{about} could be read from the text; expected {describe_plain_answer(person)}"
    if step.kind in {"number", "reference"}:
        return f"the number of an entry is missing{about}, such as #2; {step.text}"
    return f"words are missing{about}; {step.text}"


def describe_plain_answer(person: PersonAsk) -> str:
    """Return what can be said in answer, in one line."""
    said = []
    first = next(
        (step for step in person.steps if step.choices and (step.is_needed or step.group)), None
    )
    if first is not None:
        listed = " | ".join(choice.text for choice in first.choices)
        groups = {step.group for step in person.steps if step.group}
        if len(groups) > 1:
            said.append(f"on a line for each number, one of: {listed}")
        else:
            reason = f"(a reason may follow: “{first.choices[0].text}: …”)"
            said.append(f"one of: {listed} {reason}")
    elif person.steps:
        said.append("words of yours")
    said += [f"{command.word} ({command.text})" for command in person.commands]
    return ", or ".join(said) or "nothing more"


def describe_empty(step: PersonStep, language: Language) -> str:
    """Return what leaving a step empty records, in words; empty where it has to be answered."""
    if step.is_needed:
        return ""
    return step.if_empty or PERSON_SEAT[language].empty


WORDS: Final = "words"
_ASK = re.compile(r"/ask\s++[@＠]?(?P<to>[\w-]{1,64})[\s:：,，]++(?P<question>\S.*)", re.DOTALL)
_JSON_STARTS: Final = ("{", "[", "```")


@dataclass(frozen=True, slots=True)
class UnsaidWords:
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
    kinds: dict[str, dict[str, Any]] = {}
    for name in names:
        kind = _find_plain_type(shape["properties"][name])
        if kind is not None:
            kinds[name] = kind
    steps = tuple(
        _build_step(words, name, kind, is_needed=name in required) for name, kind in kinds.items()
    )

    def build(answers: Answers) -> Mapping[str, object]:
        return {
            name: _convert(kind, answers[name]) for name, kind in kinds.items() if answers.get(name)
        }

    return PersonAsk(steps=steps, news=news, build=build)


def _find_plain_type(kind: dict[str, Any]) -> dict[str, Any] | None:
    """Return the type of a field that a person can type; None for nested objects and lists of them."""
    for choice in kind.get("anyOf", []):
        if choice.get("type") != "null":
            return _find_plain_type(choice)
    is_nested = kind.get("type") == "object"
    if kind.get("type") == "array":
        is_nested = kind.get("items", {}).get("type") != "string"
    return None if is_nested else kind


def _build_step(
    words: DerivedPersonText, name: str, kind: dict[str, Any], *, is_needed: bool
) -> PersonStep:
    shown = name.replace("_", " ")
    template = words.field if is_needed else words.optional
    text = template.format(name=shown)
    if "enum" in kind:
        choices = tuple(PersonChoice(value=str(value), text=str(value)) for value in kind["enum"])
        return PersonStep(name=name, text=text, choices=choices, kind="option", is_needed=is_needed)
    match kind.get("type"):
        case "boolean":
            choices = (
                PersonChoice(value="yes", text=words.yes),
                PersonChoice(value="no", text=words.no),
            )
            return PersonStep(
                name=name, text=text, choices=choices, kind="option", is_needed=is_needed
            )
        case "array":
            return PersonStep(
                name=name, text=words.lines.format(name=shown), is_needed=is_needed, is_long=True
            )
        case "number" | "integer":
            low, high = kind.get("minimum"), kind.get("maximum")
            bounds = ""
            if low is not None and high is not None:
                bounds = words.between.format(low=low, high=high)
            return PersonStep(
                name=name, text=words.number.format(name=shown, bounds=bounds), is_needed=is_needed
            )
        case _:
            return PersonStep(
                name=name,
                text=text,
                is_needed=is_needed,
                is_long=kind.get("maxLength", 10_000) > 200,
            )


def _convert(kind: dict[str, Any], typed: str) -> object:
    """Convert a typed text to the value of its field; what does not fit is refused when the answer is read."""
    match kind.get("type"):
        case "boolean":
            return typed == "yes"
        case "array":
            return [line.strip() for line in typed.splitlines() if line.strip()]
        case "number":
            with suppress(ValueError):
                return float(typed)
        case "integer":
            with suppress(ValueError):
                return int(typed)
    return typed


def find_alternative(rules: AnswerRules, text: str) -> object | None:
    """Return what a person asks for in place of the answer: `/ask NAME QUESTION`, or a request to the director in words."""
    instead = rules.form.instead
    if instead is None:
        return None
    asked = _ASK.fullmatch(text.strip())
    if asked is not None:
        return {instead.field: {"to": asked["to"], "question": asked["question"].strip()}}
    if parse_alternative(rules.form, instead, text) is None:
        return None
    return text


def interpret_plain_text(rules: AnswerRules, raw: object) -> object:
    """Return the answer that a plain text means, where an answer is read from outside; anything else is returned unchanged.

    Raises BadAnswer with what can be said, if a text without JSON is no answer.
    """
    if not isinstance(raw, str) or raw.lstrip().startswith(_JSON_STARTS):
        return raw
    alternative = find_alternative(rules, raw)
    if alternative is not None:
        return alternative
    if not issubclass(rules.form.shape, FromText):
        person = build_person_ask(rules)
        if extract_object(raw) is not None:
            return raw
        return _keep_words(person, raw, read_plain_answer(person, raw))
    if rules.person is None:
        return raw
    # A text is its own answer, unless a choice is asked for: then it is read in the form of agents, or in words.
    person = build_person_ask(rules)
    if not person.steps or not person.steps[0].choices:
        return raw
    try:
        return _keep_words(person, raw, parse_answer(rules.form, raw))
    except BadAnswer:
        return _keep_words(person, raw, read_plain_answer(person, raw))


def find_unsaid_words(brief: Brief, raw: object) -> UnsaidWords | None:
    """Return the words of a plain text that also answer a later ask of the same turn; None if there are none."""
    person = build_person_ask(brief)
    if not person.keeps_for or not person.steps:
        return None
    if not isinstance(raw, str) or not raw.strip():
        return None
    if raw.lstrip().startswith(_JSON_STARTS) or extract_object(raw) is not None:
        return None
    if find_command(person, raw) is not None or find_alternative(brief, raw) is not None:
        return None
    return UnsaidWords(person.keeps_for, brief.ask.turn, raw.strip())


def _keep_words(person: PersonAsk, text: str, fields: object) -> object:
    """Return an answer with its words, where a choice was taken from them."""
    said = text.strip()
    words: tuple[str, ...] = ()
    is_command = find_command(person, said) is not None
    if person.steps and not is_command and is_read_from_words(person.steps[0], said):
        words = (said,)
    return WordedAnswer(fields=fields, words=words, is_one_text=True)
