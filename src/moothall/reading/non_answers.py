"""Recognizes what looks like an answer and is not one: words that decline to answer (M-14), echoes of the prompt (M-13), and
a text that takes another side than the label beside it (M-14).

A refusal is a text that begins by declining, and a short one: a speech may say what it cannot know, and a vote against a motion
may begin with an apology. What is declined must be the answer itself ("I can't assist with that"), not the motion.
"""

import re
from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields, is_dataclass, replace
from types import MappingProxyType
from typing import Final, NoReturn, TypeVar

from moothall.domain.effects import AnswerRules, Brief, Schema
from moothall.domain.frame import is_none_of_these, is_yes_or_no
from moothall.domain.person import PersonChoice
from moothall.domain.safe_text import FENCE, MARKS, compile_late, drop_mark
from moothall.domain.text.signs import fold_text
from moothall.domain.topic import MAX_LABEL_LENGTH, drop_choice, extract_choice, normalize_label
from moothall.domain.vocabulary import PATTERNS
from moothall.errors import AnswerRefused, BadAnswer, UnclearSide
from moothall.reading.choices import POSITIONS, build_choices
from moothall.reading.field_values import (
    fold_name,
    fold_names,
    is_free_text,
    join_path,
    show_value,
)
from moothall.reading.schemas import describe_form
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


_CLAUSE_END: Final = compile_late(r"[,;.，；。]")


class EchoCheck:
    """Recognizes words of one prompt in the texts of an answer to it."""

    def __init__(self, brief: Brief, schema: Schema) -> None:
        self._brief = brief
        self._properties: Mapping[str, Schema] = schema.get("properties", {})
        shown = [brief.system, brief.shared, brief.own]
        if brief.explains_fields:
            shown.append(describe_form(brief))
        self._lines = "\n".join(shown).splitlines()
        own_lines = (line for line in self._lines if not line.startswith(MARKS))
        self._prompt = "\n".join(own_lines).casefold()

    def check(self, name: str, text: str) -> None:
        """Raises BadAnswer when a text repeats a hint, a field's name or lines of the prompt."""
        # A direction is a name, and the task itself is one.
        is_echo = self._is_hint(name, text) or self._is_field_name(name, text)
        if not is_echo and name != "direction":
            is_echo = _repeats_prompt(self._brief, self._lines, self._prompt, text)
        if is_echo:
            shown = show_value(text)
            raise BadAnswer(
                f"{name}: words of the prompt were repeated; an answer of your own was expected (given: {shown})"
            )

    def _is_hint(self, name: str, text: str) -> bool:
        if not text.strip():
            return False
        plain = _fold_line(text)
        hint = _fold_line(self._brief.hints.get(name, ""))
        if plain in _BLANKS or plain in {hint, f"string ({hint})", f"字符串 ({hint})"}:
            return True
        return _repeats_hint(self._brief, name, plain)

    def _is_field_name(self, name: str, text: str) -> bool:
        # Where words are asked for, no name of a field is shown.
        if self._brief.form.form != "json":
            return False
        names = {fold_name(name)}
        if is_free_text(self._properties.get(name, {})):
            names = fold_names(self._properties)
        return fold_name(text) in names


def check_form_copy(raw: object) -> None:
    """Raises BadAnswer when an answer that had to be repaired is the description of its own form."""
    if isinstance(raw, str) and _FORM.search(raw):
        raise BadAnswer(
            "the form of the answer was repeated; fill it in with an answer of your own"
        )


def check_echo(
    echo: EchoCheck, said: object, schema: Schema, settled: Container[str], *, in_lists: bool
) -> None:
    """Raises BadAnswer when one of the texts of an answer repeats words of the prompt; `in_lists` also within a list.

    Beside a label that its seat has `settled`, what need not be there is not looked at.
    """
    labels = _list_labels(_list_fields(said), list_allowed_words(schema))
    is_settled = any(name in settled for name in labels)
    for name, text in _iterate_worded(said, schema, in_lists=in_lists):
        if not is_settled or name in schema.get("required", ()):
            echo.check(name, text)


def _repeats_hint(brief: Brief, name: str, plain: str) -> bool:
    """Whether a text is what a prompt says of its field, or the beginning of that: `position: one or two sentences, …`."""
    if not brief.explains_fields:
        return False
    own = "\n".join(line for line in brief.own.splitlines() if not line.startswith(MARKS))
    said = re.search(rf"(?<!\w){re.escape(name)}\b[^:：\n]{{0,80}}[:：] *([^\n]+)", own)
    if said is None:
        return False
    clause = _fold_line(_CLAUSE_END.split(said[1])[0])
    is_begun = len(plain) >= MIN_ECHO_LENGTH and _fold_line(said[1]).startswith(plain)
    return plain == clause or is_begun


def _iterate_worded(
    value: object, schema: Schema, name: str = "", depth: int = 0, *, in_lists: bool = True
) -> Iterator[tuple[str, str]]:
    """Return the texts of an answer that are in its author's own words, each with the name of its field.

    What the schema limits to listed words, such as a choice or the name of a file, is nobody's own wording, at any depth. Nor is
    a field that was not asked for: it has what code put there.
    """
    if isinstance(value, str):
        if not lists_words(schema):
            yield name, value
        return
    if depth > 3:
        return
    if isinstance(value, list | tuple):
        for each in value if in_lists else ():
            yield from _iterate_worded(
                each, _join_branches(schema).get("items", {}), name, depth + 1
            )
        return
    if is_dataclass(value):
        value = {each.name: getattr(value, each.name) for each in fields(value)}
    if not isinstance(value, Mapping):
        return
    asked: Mapping[str, Schema] | None = _join_branches(schema).get("properties")
    for key, each in value.items():
        inner: Schema = {}
        is_asked = depth > 0
        if asked is not None:
            inner = asked.get(str(key), {})
            is_asked = str(key) in asked
        if is_asked or not isinstance(each, str):
            yield from _iterate_worded(each, inner, str(key), depth + 1, in_lists=in_lists)


def _join_branches(schema: Schema) -> Schema:
    """Return the schema of a value that has one of several forms as one: each field or item may be what any form says."""
    if "anyOf" not in schema:
        return schema
    fields: dict[str, list[Schema]] = {}
    items: list[Schema] = []
    for form in map(_join_branches, schema["anyOf"]):
        if "items" in form:
            items.append(form["items"])
        for name, each in form.get("properties", {}).items():
            fields.setdefault(name, []).append(each)
    joined: dict[str, object] = {}
    if fields:
        joined["properties"] = {name: {"anyOf": forms} for name, forms in fields.items()}
    if items:
        joined["items"] = {"anyOf": items}
    return joined


def lists_words(schema: Schema) -> bool:
    """Whether a schema limits a text to listed words."""
    branches = schema.get("anyOf", ())
    return "enum" in schema or "const" in schema or any(map(lists_words, branches))


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


def check_refusal(value: object, asides: Iterable[str] = (), *, in_lists: bool = True) -> None:
    """Raises AnswerRefused when an answer, or one of its texts, declines to answer; no text of the fields `asides` does."""
    apart = set(map(fold_name, asides))
    for name, text in iterate_named_texts(value, in_lists=in_lists):
        if fold_name(name) not in apart:
            _check_refusing(text)


def _check_refusing(text: str) -> None:
    if is_refusal(text):
        raise AnswerRefused(_describe_refusal(text))


def _describe_refusal(text: str) -> str:
    return f"it declines to answer (given: {show_value(text)})"


def is_refusal(text: str) -> bool:
    """Whether a text declines to answer: an apology and no more."""
    if len(text) > MAX_APOLOGY_LENGTH:
        return False
    plain = " ".join(fold_text(text).split())
    return _APOLOGY.match(plain) is not None or (
        len(plain) <= MAX_BARE_LENGTH and _BARE.match(plain) is not None
    )


def iterate_named_texts(
    value: object, name: str = "", depth: int = 0, *, in_lists: bool = True
) -> Iterator[tuple[str, str]]:
    """Return all texts in a value, each with the name of its field; without `in_lists` none of a list."""
    if isinstance(value, str):
        yield name, value
    elif depth < 4:
        if is_dataclass(value):
            value = {each.name: getattr(value, each.name) for each in fields(value)}
        if isinstance(value, Mapping):
            for key, each in value.items():
                yield from iterate_named_texts(each, str(key), depth + 1, in_lists=in_lists)
        elif in_lists and isinstance(value, list | tuple):
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
_NOT_SAID: Final = frozenset({"condition", "choice", "due", "direction"})
"""Texts beside a label that take no side themselves: a direction is where a seat looked, not what it answers."""


def check_sides(
    said: object,
    depth: int = 0,
    *,
    in_lists: bool = True,
    filled: Container[str] = (),
    settled: Container[str] = (),
    options: tuple[str, ...] = (),
    allowed: Mapping[str, Sequence[str]] = MappingProxyType({}),
) -> None:
    """Raises UnclearChoice when a text makes another choice than the label that stands beside it: which of the two is meant?

    The items of a list are looked at `in_lists` alone: those of an answer in JSON are checked one by one (`ItemGuard`).
    What code has `filled` in, or its seat has `settled`, is no label here. A `choice` is one of the `options`; `allowed` are
    the words that each other label is one of. Where they are not known, it raises BadAnswer.
    """
    if isinstance(said, tuple) and in_lists:
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
            check_sides(value, depth + 1, in_lists=in_lists)
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
    *,
    path: str = "",
) -> None:
    """Raises UnclearSide when a text makes another choice than a label among the fields beside it.

    `allowed` are the words that each label is one of; where they are not known, it raises BadAnswer. `path` is where the
    fields stand in their answer.
    """
    for label, value in fields.items():
        choices, side = _find_side(str(value), allowed.get(label, ()))
        if not side:
            continue
        other = find_other_side(text, side, choices)
        if other:
            fault = _describe_other_side(f"{label} = {value}", name, other, text)
            words = f"{label}: {value}\n{name}: {text}"
            _raise_unclear(fault, join_path(path, label), words, allowed.get(label, ()))
    chosen = fields.get("choice")
    if options and isinstance(chosen, str) and chosen:
        side = _find_option(options, chosen)
        other = find_other_side(text, side, build_choices(options))
        if other:
            fault = _describe_other_side(f"choice = {chosen}", name, other, text)
            words = f"choice: {chosen}\n{name}: {text}"
            _raise_unclear(fault, join_path(path, "choice"), words, options)


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
    raise UnclearSide(fault, field=label, choices=tuple(allowed), words=words)


def check_doubtful_label(
    said: object,
    schema: Schema,
    asides: Iterable[str],
    *,
    settled: Container[str],
    echo: EchoCheck | None = None,
    path: str = "",
) -> frozenset[str]:
    """Raises UnclearSide when a text beside a label, which need not be there, declines to answer or repeats the prompt.

    A form that must hold a label gets one also from who declines or copies it: is the label meant? Returns the names of the texts
    that are not looked at any more: those of `asides`, and all that need not be there beside a label that is `settled`.
    """
    values = said if isinstance(said, Mapping) else _list_fields(said)
    allowed, required = list_allowed_words(schema), schema.get("required", ())
    apart = {*map(fold_name, asides)}
    labels = _list_labels(values, allowed)
    if not labels:
        return frozenset(apart)
    label = labels[0]
    where = join_path(path, label)
    for name, text in values.items():
        is_aside = name in allowed or name in required or fold_name(name) in apart
        if not isinstance(text, str) or is_aside:
            continue
        if where in settled:
            apart.add(fold_name(name))
            continue
        doubt = find_doubt(name, text, echo)
        if doubt is not None:
            unclear = UnclearSide(
                str(doubt),
                field=where,
                choices=tuple(allowed[label]),
                words=f"{label}: {values[label]}\n{name}: {text}",
            )
            unclear.loss = doubt.loss
            raise unclear
    return frozenset(apart)


def find_doubt(name: str, text: str, echo: EchoCheck | None) -> BadAnswer | None:
    """Return what looks wrong with a text: it declines to answer, or repeats the prompt."""
    if is_refusal(text):
        return AnswerRefused(_describe_refusal(text))
    if echo is None or name in _NEEDED_BESIDE:
        return None
    try:
        echo.check(name, text)
    except BadAnswer as fault:
        return fault
    return None


def _list_labels(values: Mapping[str, object], allowed: Mapping[str, Sequence[str]]) -> list[str]:
    """Return the fields that hold a label which takes a side."""
    labels = list[str]()
    for name, value in values.items():
        if name in allowed and _is_side(value):
            labels.append(name)
    return labels


def _list_fields(said: object) -> Mapping[str, object]:
    if not is_dataclass(said):
        return {}
    return {each.name: getattr(said, each.name) for each in fields(said)}


def list_allowed_words(schema: Schema) -> dict[str, Sequence[str]]:
    """Return the words that each field may be, where its schema lists them."""
    allowed: dict[str, Sequence[str]] = {}
    for name, each in schema.get("properties", {}).items():
        words: list[object] = []
        for form in each.get("anyOf", (each,)):
            words += form.get("enum", ())
        if words and all(isinstance(word, str) for word in words):
            allowed[name] = [*map(str, words)]
    return allowed


_NEEDED_BESIDE: Final = frozenset({"condition", "choice"})
"""Texts without which the rest of an answer means something else: an echo in one of them is asked about."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ItemGuard:
    """What looks at the parts of an answer one by one, so that a bad one costs itself and no other (Q-7)."""

    is_on: bool = True
    echo: EchoCheck | None = None
    asides: frozenset[str] = frozenset()
    settled: Mapping[str, str] = field(default_factory=dict)
    looks_at_sides: bool = True
    """Whether what a text says is held against the label beside it."""

    def find_echo(self, fields: Mapping[str, object], schema: Schema) -> str:
        """Return the field that need not be there and repeats the prompt; empty where there is none, or a label beside it.

        Beside a label it is asked about (`check_doubtful_label`).
        """
        if not self.is_on or self.echo is None or _list_labels(fields, list_allowed_words(schema)):
            return ""
        needed = {*schema.get("required", ()), *_NEEDED_BESIDE}
        for name, value in fields.items():
            is_own = isinstance(value, str) and not lists_words(schema["properties"][name])
            if name in needed or not is_own:
                continue
            try:
                self.echo.check(name, str(value))
            except BadAnswer:
                return name
        return ""

    def check_item(self, item: object, schema: Schema, path: str) -> None:
        """Raises BadAnswer when an item of a list repeats the prompt or declines to answer.

        Raises UnclearSide when it says another side than its label.
        """
        if not self.is_on:
            return
        asides = self.asides
        if isinstance(item, Mapping):
            if self.looks_at_sides:
                self._check_sides(item, list_allowed_words(schema), path)
            asides = check_doubtful_label(
                item, schema, asides, settled=self.settled, echo=self.echo, path=path
            )
        name = path.rstrip(".0123456789").rpartition(".")[2]
        check_refusal({name: item}, asides)
        if self.echo is not None:
            for of_text, text in _iterate_worded(item, schema, name, 1):
                if fold_name(of_text) not in asides:
                    self.echo.check(of_text, text)

    def _check_sides(
        self, item: Mapping[str, object], allowed: Mapping[str, Sequence[str]], path: str
    ) -> None:
        labels = {
            name: value
            for name, value in item.items()
            if name in allowed and _is_side(value) and join_path(path, name) not in self.settled
        }
        for name, text in item.items():
            is_aside = name in allowed or name in _NOT_SAID
            if isinstance(text, str) and not is_aside:
                check_beside(labels, name, text, allowed=allowed, path=path)


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
