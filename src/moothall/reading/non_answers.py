"""Recognizes what looks like an answer and is not one: words that decline to answer (M-14), echoes of the prompt (M-13), and
a text that takes another side than the label beside it (M-14).

A refusal is a text that begins by declining, and a short one: a speech may say what it cannot know, and a vote against a motion
may begin with an apology. What is declined must be the answer itself ("I can't assist with that"), not the motion.
"""

from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from dataclasses import fields, is_dataclass, replace
from types import MappingProxyType
from typing import Final, NoReturn, TypeVar

from moothall.domain.effects import AnswerRules, Brief, Schema
from moothall.domain.frame import is_none_of_these, is_yes_or_no
from moothall.domain.person import PersonChoice
from moothall.domain.safe_text import FENCE, MARKS, compile_late, drop_mark
from moothall.domain.text.signs import fold_text
from moothall.domain.topic import MAX_LABEL_LENGTH, drop_choice, extract_choice, normalize_label
from moothall.domain.vocabulary import PATTERNS
from moothall.errors import AnswerRefused, BadAnswer, UnclearChoice
from moothall.reading.choices import POSITIONS, build_choices
from moothall.reading.field_values import fold_name, fold_names, is_free_text, show_value
from moothall.reading.stated import find_other_side

T = TypeVar("T")

MAX_APOLOGY_LENGTH: Final = 600
"""A longer text says something beside its apology."""
MAX_BARE_LENGTH: Final = 160
"""How long a text may be that declines without an apology."""

_APOLOGY: Final = PATTERNS["apology"]
_BARE: Final = PATTERNS["bare"]
_FORM: Final = compile_late(
    r'"\s*\|\s*"|:\s*\[?(?:string|字符串)\s*[(（,}\]]|:\s*\d+ … \d|: true \| false'
)
"""What only the description of an answer's form has."""
_BLANKS: Final = frozenset(
    {
        "",
        "string",
        "字符串",
        "your answer",
        "your text",
        "placeholder",
        "{...}",
        "[...]",
        "{}",
        "[]",
        "null",
    }
)
MAX_FILE_ENDING: Final = 8
"""How long the ending of a file is at most: `workflow`."""
MIN_ECHO_LENGTH: Final = 12
"""A shorter line of the prompt may stand in an answer by chance."""
_HAN: Final = compile_late(r"[\u3400-\u9fff]")
_PART_END: Final = compile_late(r"(?<=[.!?:])\s+|(?<=[。！？：])\s*|\n")
"""Where a sentence ends. Chinese marks need no white space behind them; Latin ones do: they also stand in the middle of names."""


def check_echo(
    brief: Brief, raw: object, said: object, schema: Schema, *, is_repaired: bool
) -> None:
    """Raises BadAnswer when an answer repeats its form, or one of its texts a hint, a field's name or lines of the prompt."""
    if is_repaired and isinstance(raw, str) and _FORM.search(raw):
        raise BadAnswer(
            "the form of the answer was repeated; fill it in with an answer of your own"
        )
    properties: Mapping[str, Schema] = schema.get("properties", {})
    lines = "\n".join((brief.system, brief.shared, brief.own)).splitlines()
    prompt = "\n".join(line for line in lines if not line.startswith(MARKS)).casefold()
    for name, text in _iterate_worded(said, schema):
        plain = _fold_line(text)
        hint = _fold_line(brief.hints.get(name, ""))
        is_hint = bool(text.strip()) and (
            plain in _BLANKS or plain in {hint, f"string ({hint})", f"字符串 ({hint})"}
        )
        names = {fold_name(name)}
        if is_free_text(properties.get(name, {})):
            names = fold_names(properties)
        # Where words are asked for, no name of a field is shown.
        is_name = brief.form.form == "json" and fold_name(text) in names
        # A direction is a name, and the task itself is one.
        if (
            is_hint
            or is_name
            or (name != "direction" and _repeats_prompt(brief, lines, prompt, text))
        ):
            shown = show_value(text)
            raise BadAnswer(
                f"{name}: words of the prompt were repeated; an answer of your own was expected (given: {shown})"
            )


def _iterate_worded(
    value: object, schema: Schema, name: str = "", depth: int = 0
) -> Iterator[tuple[str, str]]:
    """Return the texts of an answer that are in its author's own words, each with the name of its field.

    What the schema limits to listed words, such as a choice or the name of a file, is nobody's own wording, at any depth. Nor is
    a field that was not asked for: it has what code put there.
    """
    if isinstance(value, str):
        if not _lists_words(schema):
            yield name, value
        return
    if depth > 3:
        return
    if isinstance(value, list | tuple):
        for each in value:
            yield from _iterate_worded(each, schema.get("items", {}), name, depth + 1)
        return
    if is_dataclass(value):
        value = {each.name: getattr(value, each.name) for each in fields(value)}
    if not isinstance(value, Mapping):
        return
    asked: Mapping[str, Schema] | None = schema.get("properties")
    for key, each in value.items():
        inner: Schema = {}
        is_asked = depth > 0
        if asked is not None:
            inner = asked.get(str(key), {})
            is_asked = str(key) in asked
        if is_asked or not isinstance(each, str):
            yield from _iterate_worded(each, inner, str(key), depth + 1)


def _lists_words(schema: Schema) -> bool:
    """Whether a schema limits a text to listed words."""
    branches = schema.get("anyOf", ())
    return "enum" in schema or "const" in schema or any(map(_lists_words, branches))


def _is_name(text: str) -> bool:
    """Whether a text is one name, such as that of a file or of a place in it, and no sentence."""
    if len(text.split()) != 1:
        return False
    # Chinese sentences have no white space either: there a name ends as a file does.
    ending = text.strip().rpartition(".")[2].partition(":")[0]
    return _HAN.search(text) is None or (0 < len(ending) <= MAX_FILE_ENDING and ending.isascii())


def _repeats_prompt(brief: Brief, lines: Sequence[str], prompt: str, text: str) -> bool:
    """Whether every sentence of a text stands in the prompt, where Moot speaks: what others said may be said again.

    `lines` are those of the whole prompt, `prompt` what Moot says in them, in lower case.
    """
    if len(text) < MIN_ECHO_LENGTH or _is_name(text):
        return False
    topic = _fold_line(brief.perception.goal)
    if topic.endswith(("?", "？")) and _fold_line(text) == topic:
        return True
    # Nearly every answer ends here: folding a prompt takes much longer than to look for a few sentences in it.
    parts = [part.strip() for part in _PART_END.split(text.casefold())]
    if not any(len(part) >= MIN_ECHO_LENGTH and part in prompt for part in parts):
        return False
    sentences = _list_sentences(text.replace(FENCE, ""))
    own = {*_list_sentences(brief.seat.stance), *_list_sentences(brief.seat.instructions)}
    spoken = _fold_lines([line for line in lines if not line.startswith(MARKS)])
    quoted = _fold_lines([drop_mark(line) for line in lines if line.startswith(MARKS)])
    # A heading that the prompt names, over words that a seat said before, is a speech.
    headings = _fold_lines(
        [line for line in text.splitlines() if line.removeprefix(FENCE).lstrip().startswith("#")]
    )
    echoes = spoken - own - headings
    if not any(len(each) >= MIN_ECHO_LENGTH and each in echoes for each in sentences):
        return False
    return set(sentences) <= spoken | quoted | {topic}


def _fold_lines(lines: Sequence[str]) -> set[str]:
    """Return what lines and their sentences say, in the form in which they are compared."""
    folded = set(map(_fold_line, lines))
    for line in lines:
        folded.update(_list_sentences(line))
    return folded - {""}


def _list_sentences(text: str) -> list[str]:
    folded = [_fold_line(part) for part in _PART_END.split(text)]
    return [each for each in folded if each] or [""]


def _fold_line(text: str) -> str:
    return " ".join(fold_text(text).split()).strip(" \"'.。:：")


def is_blank(text: str) -> bool:
    """Whether a text holds marks alone, such as "…" or "|"."""
    return not _fold_line(text)


def check_refusal(value: object, asides: Iterable[str] = ()) -> None:
    """Raises AnswerRefused when an answer, or one of its texts, declines to answer; no text of the fields `asides` does."""
    apart = set(map(fold_name, asides))
    for name, text in iterate_named_texts(value):
        if fold_name(name) not in apart and is_refusal(text):
            raise AnswerRefused(f"it declines to answer (given: {show_value(text)})")


def is_refusal(text: str) -> bool:
    """Whether a text declines to answer: an apology and no more."""
    if len(text) > MAX_APOLOGY_LENGTH:
        return False
    plain = " ".join(fold_text(text).split())
    return _APOLOGY.match(plain) is not None or (
        len(plain) <= MAX_BARE_LENGTH and _BARE.match(plain) is not None
    )


def iterate_named_texts(value: object, name: str = "", depth: int = 0) -> Iterator[tuple[str, str]]:
    """Return all texts in a value, however it holds them, each with the name of its field."""
    if isinstance(value, str):
        yield name, value
    elif depth < 4:
        if is_dataclass(value):
            value = {each.name: getattr(value, each.name) for each in fields(value)}
        if isinstance(value, Mapping):
            for key, each in value.items():
                yield from iterate_named_texts(each, str(key), depth + 1)
        elif isinstance(value, list | tuple):
            for each in value:
                yield from iterate_named_texts(each, name, depth + 1)


_LABELS: Final = {
    **{each.value: each.value for each in POSITIONS},
    **{
        "conditional": "conditional_support",
        "challenge": "oppose",
        "APPROVED": "support",
        "REJECTED": "oppose",
    },
}
"""The side that each label takes."""
_VERDICTS: Final = frozenset(
    {"confirmed", "refuted", "unclear", "confirm", "dispute", "unsure", "adopted", "declined"}
)
"""Labels of other matters than a motion that are taken at a text's word as well."""
_NOT_SAID: Final = frozenset({"condition", "choice", "due"})
"""Texts beside a label that take no side themselves."""


def check_sides(
    said: object,
    depth: int = 0,
    *,
    filled: Container[str] = (),
    settled: Container[str] = (),
    options: tuple[str, ...] = (),
    allowed: Mapping[str, Sequence[str]] = MappingProxyType({}),
) -> None:
    """Raises UnclearChoice when a text makes another choice than the label that stands beside it: which of the two is meant?

    What code has `filled` in, or its seat has `settled`, is no label here. A `choice` is one of the `options`; `allowed` are
    the words that each other label is one of. Where they are not known, it raises BadAnswer.
    """
    if isinstance(said, tuple):
        for each in said:
            check_sides(each, depth + 1)
    if not is_dataclass(said) or depth > 3:
        return
    values = {each.name: getattr(said, each.name) for each in fields(said)}
    labels = {
        name: value
        for name, value in values.items()
        if _is_side(value) and name not in filled and name not in settled
    }
    if "choice" not in settled:
        labels["choice"] = values.get("choice")
    for name, value in values.items():
        if not isinstance(value, str):
            check_sides(value, depth + 1)
        elif name not in labels and name not in _NOT_SAID:
            check_beside(labels, name, value, options, allowed)
    decided = getattr(values.get("decision"), "text", "")
    check_beside(labels, "decision", decided, options, allowed)


def _is_side(value: object) -> bool:
    return str(value) in _LABELS or str(value) in _VERDICTS


def check_beside(
    fields: Mapping[str, object],
    name: str,
    text: str,
    options: tuple[str, ...] = (),
    allowed: Mapping[str, Sequence[str]] = MappingProxyType({}),
) -> None:
    """Raises UnclearChoice when a text makes another choice than a label among the fields beside it.

    `allowed` are the words that each label is one of; where they are not known, it raises BadAnswer.
    """
    for label, value in fields.items():
        choices, side = _find_side(str(value), allowed.get(label, ()))
        if not side:
            continue
        other = find_other_side(text, side, choices)
        if other:
            fault = _describe_other_side(f"{label} = {value}", name, other, text)
            words = f"{label}: {value}\n{name}: {text}"
            _raise_unclear(fault, label, words, allowed.get(label, ()))
    chosen = fields.get("choice")
    if options and isinstance(chosen, str) and chosen:
        side = _find_option(options, chosen)
        other = find_other_side(text, side, build_choices(options))
        if other:
            fault = _describe_other_side(f"choice = {chosen}", name, other, text)
            words = f"choice: {chosen}\n{name}: {text}"
            _raise_unclear(fault, "choice", words, options)


def _find_side(value: str, allowed: Sequence[str]) -> tuple[tuple[PersonChoice, ...], str]:
    """Return the choices of a label and the one that it names; an empty one where it takes no side."""
    if value in _LABELS:
        return POSITIONS, _LABELS[value]
    if value in allowed and value in _VERDICTS:
        return build_choices(tuple(allowed)), value
    return (), ""


def _describe_other_side(label: str, name: str, other: str, text: str) -> str:
    given = show_value(text)
    return f"{label}, but {name} says {other!r} (given: {given}): which of the two is meant?"


def _raise_unclear(fault: str, label: str, words: str, allowed: Sequence[str]) -> NoReturn:
    if not allowed:
        raise BadAnswer(fault)
    raise UnclearChoice(fault, field=label, choices=tuple(allowed), words=words)


def _find_option(options: tuple[str, ...], chosen: str) -> str:
    """Return the option that was chosen, as the meeting writes it; the chosen words where it is none."""
    label = normalize_label(chosen)
    for option in options:
        if normalize_label(option) == label:
            return option
    return chosen


_ANSWERING: Final = frozenset({"propose", "synthesize"})
"""The types of contribution that answer the question; the others are about an earlier line."""


def find_unlisted_answer(rules: AnswerRules, said: object) -> str:
    """Return what was answered where it is none of the listed answers, such as yes or no; "" for any other answer (Q-2)."""
    if not rules.alternatives or getattr(said, "type", "propose") not in _ANSWERING:
        return ""
    choice, content = getattr(said, "choice", None), getattr(said, "content", "")
    label = choice or extract_choice(content)
    if not label and choice is not None:
        label = find_answer_text(said)
    if len(label) > MAX_LABEL_LENGTH:
        return ""
    if is_yes_or_no(label) or _is_unlisted(rules, said):
        return label
    return ""


def find_answer_text(said: object) -> str:
    """Return the text of an answer to the question, beside its label."""
    decided = getattr(said, "decision", None)
    texts = [getattr(said, name, "") for name in ("text", "position", "content")]
    texts.append(getattr(decided, "text", ""))
    return next((str(each) for each in texts if each), "")


def _is_unlisted(rules: AnswerRules, said: object) -> bool:
    """Whether the first answer of a seat names none of those that are listed, and does not say that it means none of them."""
    choice = getattr(said, "choice", "")
    if (
        not rules.is_open
        or not rules.options
        or not choice
        or getattr(said, "type", "propose") != "propose"
    ):
        return False
    is_listed = normalize_label(choice) in map(normalize_label, rules.options)
    return not is_listed and not is_none_of_these(choice) and not hasattr(said, "decision")


def name_choice(said: T, choice: str) -> T:
    """Return an answer with this choice: in its field, else in the line of its text that is the label of one."""
    if hasattr(said, "choice"):
        return replace(said, choice=choice)  # type: ignore[type-var]  # a shape is a dataclass
    content = f"{drop_choice(getattr(said, 'content', ''))}\n[CHOICE] {choice}"
    return replace(said, content=content)  # type: ignore[type-var]


def drop_choice_label(said: T) -> T:
    """Return an answer without its label; its words stay."""
    return replace(said, choice="") if getattr(said, "choice", "") else said  # type: ignore[type-var]  # a shape is a dataclass
