"""The wire form of answers: the JSON schema of a shape, and the parsing of text or JSON into a validated value."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields, replace
from types import MappingProxyType
from typing import Protocol, TypedDict, Unpack, runtime_checkable

from pydantic import ValidationError

from moothall.codec.adapters import get_adapter
from moothall.codec.settings import explain_validation_error
from moothall.domain.consult import MAX_PREFACE_LENGTH
from moothall.domain.effects import Alternative, AnswerForm, AnswerRules, Brief, Schema
from moothall.domain.facts import Reply, list_worded_choices
from moothall.domain.safe_text import compile_late, fix_surrogates, one_line
from moothall.errors import BadAnswer, UnclearChoice
from moothall.reading.choices import build_choices
from moothall.reading.field_values import find_allowed, show_value
from moothall.reading.json_text import extract_object
from moothall.reading.lenient_parser import LenientParser
from moothall.reading.non_answers import (
    EchoCheck,
    ItemGuard,
    check_beside,
    check_doubtful_label,
    check_echo,
    check_form_copy,
    check_refusal,
    check_sides,
    list_allowed_words,
)
from moothall.reading.schemas import WRAPPER, build_schema, get_own_schema
from moothall.reading.stated import is_sentence

# Reasoning models print their reasoning in tags. An unclosed one runs to the end of the text: the model was cut off in it.
_TAG = (
    r"[\w:]*(?:think|thought|reasoning|analysis|reflection|scratchpad|draft|monologue)\w*\s*[>|▷]+"
)
_TAG_END = rf"(?:<[/|]+|◁/)(?:end_of_)?{_TAG}|\[/think\]"
_THOUGHT = compile_late(
    rf"(?:[<◁]\|?{_TAG}|\[think\]).*?(?:{_TAG_END}|\Z)", re.DOTALL | re.IGNORECASE
)
_THOUGHT_END = compile_late(_TAG_END, re.IGNORECASE)
# A chat template that was not applied leaves its channels in the text; the last one is the answer.
_CHANNEL = compile_late(r"<\|channel\|>\s*\w+\s*<\|message\|>")
_CHANNEL_END = compile_late(r"<\|(?:end|return|start|call)\|>")
MAX_PASS_LENGTH = 40
MAX_ANSWER_LENGTH = 100_000
MAX_WORDS_LENGTH = 500
"""How many characters of the words from which a choice was taken stand in the record."""


@runtime_checkable
class FromText(Protocol):
    """A shape that can parse itself from plain text; raises ValueError with what was expected."""

    @classmethod
    def from_text(cls, text: str) -> object: ...


class ReplyDetails(TypedDict, total=False):
    """What the record says of an answer beside its words: see `Reply`."""

    key: str
    corrections: tuple[str, ...]
    origin: str
    model: str


@dataclass(frozen=True, slots=True, kw_only=True)
class WordedAnswer:
    """The fields of an answer, with the words from which a choice in them was taken."""

    fields: object
    words: tuple[str, ...]
    is_confirmed: bool = False
    """Whether its author was shown what was understood, and confirmed it."""
    is_one_text: bool = False
    """Whether label and text are the same words: what the one rule has read of all of them takes no second side."""


@dataclass(frozen=True, slots=True)
class Reading:
    """An answer that counts, and what was changed to read it."""

    said: object
    mends: tuple[str, ...] = ()


def read_answer(
    rules: AnswerRules,
    raw: object,
    *,
    is_strict: bool = False,
    is_last: bool = False,
    is_typed: bool = False,
    settled: Mapping[str, str] = MappingProxyType({}),
) -> Reading:
    """Read an answer to a brief (text, decoded JSON, or a value of its shape).

    Raises BadAnswer with what was expected; where it makes a choice that is not plain, UnclearChoice. `settled` is what its
    seat said to that question, by the path of the choice; an empty text where it meant none, which costs that item of a list.

    With `is_typed` a person wrote it, who is asked again at once: what looks wrong in a part of it is a fault of all.

    With `is_last` its seat is not asked again: what cannot be read of a list is left out, and the rest counts.

    With `is_strict` nothing is left out: the sender learns what is wrong, by the brief's own check of the state, and can
    send it again. For that no prompt is needed.
    """
    try:
        return _read(rules, raw, settled, is_strict=is_strict, is_last=is_last, is_typed=is_typed)
    except UnclearChoice as unclear:
        unclear.raw = raw
        raise


def _read(
    rules: AnswerRules,
    raw: object,
    settled: Mapping[str, str],
    *,
    is_strict: bool,
    is_last: bool,
    is_typed: bool,
) -> Reading:
    if is_strict or not isinstance(rules, Brief):
        schema = build_schema(rules.form.shape)
    else:
        schema = get_own_schema(rules)
    said, notes = raw, list[str]()
    allowed = list_allowed_words(schema)
    echo = None
    # What is asked once drops what it repeats itself: it cannot be asked back.
    if isinstance(rules, Brief) and not rules.form.is_asked_once:
        echo = EchoCheck(rules, schema)
    looks_at_sides = not (isinstance(raw, WordedAnswer) and raw.is_one_text)
    guard = ItemGuard(
        is_on=not is_typed,
        echo=None if is_strict else echo,
        asides=rules.form.asides,
        settled=settled,
        looks_at_sides=looks_at_sides,
    )
    # The items of what is parsed are looked at one by one.
    given = raw.fields if isinstance(raw, WordedAnswer) else raw
    in_lists = is_strict or is_typed or isinstance(given, rules.form.shape)
    is_confirmed = isinstance(raw, WordedAnswer) and raw.is_confirmed
    if isinstance(raw, rules.form.shape):
        said = _settle_fields(raw, settled)
    else:
        said, notes = _parse(
            rules, raw, schema, settled, guard, is_strict=is_strict, is_last=is_last
        )
    if rules.reading == "strict" and not is_confirmed:
        _refuse_worded(notes, allowed)
    asides = rules.form.asides
    if not is_strict:
        asides = check_doubtful_label(said, schema, asides, settled=settled, echo=echo)
    check_refusal(said, asides, in_lists=in_lists)
    if looks_at_sides:
        check_sides(
            said,
            in_lists=in_lists,
            filled=rules.fills,
            settled=settled,
            options=rules.options,
            allowed=allowed,
        )
    more: Sequence[str] = ()
    if isinstance(said, rules.form.shape):
        if echo is not None:
            if any(note.startswith("repaired") for note in notes):
                check_form_copy(raw)
            check_echo(echo, said, schema, settled, in_lists=in_lists)
        said, more = rules.normalize(said)
    if fault := rules.fault(said):
        raise BadAnswer(fault)
    return Reading(said, (*notes, *more))


def _refuse_worded(notes: Sequence[str], allowed: Mapping[str, Sequence[str]]) -> None:
    """Raises BadAnswer, and UnclearChoice where its choices are known, if a choice was taken from a sentence."""
    worded = list_worded_choices(notes)
    if not worded:
        return
    words = worded[0].partition(" ")[2]
    fault = f"a choice must be named here, not taken from a sentence ({words})"
    field = words.partition(" ")[0]
    if field not in allowed:
        raise BadAnswer(fault)
    raise UnclearChoice(fault, field=field, choices=tuple(allowed[field]), words=words)


def parse_answer(form: AnswerForm, raw: object) -> object:
    """Parse a raw answer by its form alone, whatever was asked; raises BadAnswer with what was expected."""
    rules, schema = AnswerRules(form=form), build_schema(form.shape)
    return _parse(rules, raw, schema, {}, ItemGuard(), is_strict=True, is_last=False)[0]


def _settle_fields(said: object, settled: Mapping[str, str]) -> object:
    """Return an answer in its shape with what its seat said it meant."""
    if not settled:
        return said
    known = {each.name for each in fields(said)}  # type: ignore[arg-type]  # a shape is a dataclass
    changes = {name: value for name, value in settled.items() if name in known}
    return replace(said, **changes)  # type: ignore[type-var]


def _parse(
    rules: AnswerRules,
    raw: object,
    schema: Schema,
    settled: Mapping[str, str],
    guard: ItemGuard,
    *,
    is_strict: bool,
    is_last: bool,
) -> tuple[object, list[str]]:
    form, fills, options = rules.form, rules.fills, rules.options
    if isinstance(raw, WordedAnswer):
        said, notes = raw.fields, list[str]()
        if not isinstance(said, form.shape):
            said, notes = _parse(
                rules, said, schema, settled, guard, is_strict=is_strict, is_last=is_last
            )
        words = [f"words the answer {one_line(each)[:MAX_WORDS_LENGTH]!r}" for each in raw.words]
        return said, notes + words
    if isinstance(raw, str) and len(raw) > MAX_ANSWER_LENGTH:
        raise BadAnswer(
            f"the answer has {len(raw)} characters; at most {MAX_ANSWER_LENGTH} are taken"
        )
    if (
        form.instead is not None
        and (instead := parse_alternative(form, form.instead, raw)) is not None
    ):
        return instead, []
    seat = rules.seat.id if isinstance(rules, Brief) else ""
    if isinstance(rules, Brief) and rules.reads is not None and not is_strict:
        schema = rules.reads
    parser = LenientParser(
        schema,
        fills,
        infer=form.infer,
        seat=seat,
        is_strict=is_strict,
        is_whole=form.is_whole and not is_last,
        readers=dict(form.readers),
        keeps_unread=form.keep_unread is not None,
        options=options,
        settled=settled,
        guard=guard,
    )
    notes = parser.notes
    text = strip_thoughts(fix_surrogates(raw)) if isinstance(raw, str) else None
    try:
        if not is_strict and form.silence and _says_pass(schema, raw):
            raise BadAnswer("a pass")
        if text is not None:
            if issubclass(form.shape, FromText):
                value = _read_text(form, text, parser)
            else:
                value = parser.parse_text(text)
            if form.form == "json" and isinstance(value, dict) and "}" in text:
                end = text.rpartition("}")[2]
                labels = {name: each for name, each in value.items() if name not in settled}
                check_beside(labels, "the end", end, options, list_allowed_words(schema))
        else:
            value = parser.normalize(raw)
    except BadAnswer:
        check_refusal(raw if text is None else extract_object(text) or text, form.asides)
        # Where silence is an answer, a pass in another protocol's words is one.
        if is_strict or not form.silence or not is_pass(raw):
            raise
        value, notes = dict(form.silence), ["read the answer pass"]
    if is_strict and isinstance(raw, dict):
        _check_fills(raw, fills)
    if isinstance(value, dict):
        value = {**fills, **value}
    try:
        # What code fills in anyway need not be noted where somebody has sent it along.
        along = {f"left_out {name} {show_value(known)}" for name, known in fills.items()}
        said = get_adapter(form.shape).validate_python(value)
    except ValidationError as cause:
        raise BadAnswer(f"{form.kind}: {explain_validation_error(cause, 'the answer')}") from cause
    if form.keep_unread is not None and parser.unread:
        said = form.keep_unread(said, parser.unread)
    return said, [note for note in notes if note not in along]


def _says_pass(schema: Schema, raw: object) -> bool:
    """Whether a few words pass, where a pass is offered: they are no contribution of that text."""
    offered = schema.get("properties", {}).get("type", {}).get("enum", ())
    if "pass" not in offered or not isinstance(raw, str) or len(raw) > MAX_PASS_LENGTH:
        return False
    return is_pass(raw.strip())


def is_pass(raw: object) -> bool:
    """Whether an answer says that it is none: the word for it, or an object with that word alone."""
    fields = extract_object(raw) if isinstance(raw, str) else raw
    word = raw
    if isinstance(fields, dict):
        if len(fields) != 1:
            return False
        word = next(iter(fields.values()))
    return isinstance(word, str) and find_allowed(word, ("pass",)) is not None


def parse_alternative(form: AnswerForm, instead: Alternative, raw: object) -> object | None:
    """Return what was given in place of an answer; None if it is a normal answer.

    Raises BadAnswer for a malformed alternative.
    """
    value: object | None = None
    try:
        if isinstance(raw, str):
            text = strip_thoughts(fix_surrogates(raw))
            value = instead.shape.from_text(text)  # type: ignore[attr-defined]  # as `Alternative` promises
            if value is not None:
                # Back to plain data, so that one validation below applies the limits to both forms.
                value = get_adapter(instead.shape).dump_python(value)
            else:
                is_early = 0 <= text.find("{") <= MAX_PREFACE_LENGTH
                raw = extract_object(text) if form.form == "json" or is_early else None
        if isinstance(raw, dict) and isinstance(raw.get(WRAPPER), dict):
            raw = raw[WRAPPER]
        if isinstance(raw, dict) and instead.field in raw:
            value = raw[instead.field]
        return None if value is None else get_adapter(instead.shape).validate_python(value)
    except ValidationError as cause:
        raise BadAnswer(
            f"{instead.field}: {explain_validation_error(cause, 'the answer')}"
        ) from cause
    except ValueError as cause:
        raise BadAnswer(str(cause)) from cause


def strip_thoughts(text: str) -> str:
    """Remove a model's reasoning from its text. Templates that open the tag in the prompt leave a lone end tag."""
    text = _CHANNEL_END.split(_CHANNEL.split(text)[-1])[0] if "<|channel|>" in text else text
    return _THOUGHT_END.split(_THOUGHT.sub("", text))[-1].strip()


def build_reply(
    form: AnswerForm,
    ask: str,
    seat: str,
    said: object,
    usage: object,
    **details: Unpack[ReplyDetails],
) -> Reply:
    """Build the fact that stores an answer; raises BadAnswer if the value has another type than was asked for."""
    if form.instead is not None and type(said) is form.instead.shape:
        instead: Reply = form.instead.reply(ask=ask, seat=seat, said=said, usage=usage, **details)  # type: ignore[arg-type]
        return instead
    if type(said) is not form.shape:
        raise BadAnswer(
            f"{form.kind}: a {form.shape.__name__} was expected, not a {type(said).__name__}"
        )
    return form.reply(ask=ask, seat=seat, said=said, usage=usage, **details)  # type: ignore[arg-type]  # `parse_answer` validates it


def _check_fills(raw: Mapping[str, object], fills: Mapping[str, object]) -> None:
    """Refuse a value that contradicts what code knows: it was meant for another ask."""
    for name, known in fills.items():
        if known and raw.get(name, known) != known:
            raise BadAnswer(f"{name} {raw[name]!r} has no place here; expected: {known}")


def _read_text(form: AnswerForm, text: str, parser: LenientParser) -> object:
    """Read an answer that may be words. A model that answers with JSON all the same means what stands in its fields."""
    if not text:
        raise BadAnswer("an answer in words was expected, and it was empty")
    # A shape that begins with its content is the text itself, which may quote an object; of any other the fields are the answer.
    first = fields(form.shape)[0].name
    is_whole = first == "content"
    start = text.find("{")
    is_near = form.form == "json" or start <= MAX_PREFACE_LENGTH
    if text.startswith(("{", "```")) if is_whole else start >= 0 and is_near:
        given = parser.find_fields(text)
        if given is not None:
            return given
    allowed = build_schema(form.shape)["properties"][first].get("enum", ())
    if first in parser.settled:
        return {first: parser.settled[first], "content": text}
    if allowed and is_sentence(text, build_choices(tuple(allowed))):
        parser.notes.append(f"words {first} {show_value(text)}")
    try:
        return get_adapter(form.shape).dump_python(form.shape.from_text(text))  # type: ignore[attr-defined]  # it is a `FromText`
    except ValueError as cause:
        if not allowed:
            raise BadAnswer(str(cause)) from cause
        raise UnclearChoice(str(cause), field=first, choices=tuple(allowed), words=text) from cause
