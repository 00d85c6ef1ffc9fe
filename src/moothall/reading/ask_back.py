"""The small ask: which of the choices a seat meant, where its reply makes none plainly (Q-6).

It quotes the reply, names the choices in the opposite order of the first ask, and wants one word. The whole prompt is not sent
again, and the seat decides nothing anew. What it says is settled, and its first reply is read again by that.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import Final

from moothall.domain.effects import AnswerForm, Brief, keep_answer, no_fault
from moothall.domain.facts import MEANT, Language, Reply
from moothall.domain.person import Answers, PersonAsk
from moothall.domain.safe_text import compile_late, quote_lines
from moothall.domain.seeded_random import model_seed, turn_list
from moothall.domain.text.signs import fold_text
from moothall.errors import UnclearChoice
from moothall.locale.catalogues import PARTICIPANT_PROMPT
from moothall.reading.field_values import show_value
from moothall.reading.non_answers import find_answer_text, find_unlisted_answer
from moothall.reading.schemas import allow_line, allow_values
from moothall.reports import person_steps

WHICH: Final = "which"
"""The kind of ask."""
UNCLEAR: Final = "unclear"
"""What a seat says that meant none of the choices."""
MAX_QUOTED: Final = 600
"""How many characters of a reply are quoted: from its beginning and from its end."""
_NO_LETTERS: Final = compile_late(r"[\W_]+")


@dataclass(frozen=True, slots=True, kw_only=True)
class Meant:
    """What a seat says that it meant; `words` are those of its reply that say so."""

    words: str = ""
    meant: str


MEANT_FORM: Final = AnswerForm(
    kind=WHICH, reply=Reply, shape=Meant, form="json", max_tokens=300, asides=frozenset({"words"})
)


def build_small_ask(brief: Brief, unclear: UnclearChoice) -> Brief:
    """Return the brief that asks which of the choices was meant."""
    prompt = PARTICIPANT_PROMPT[brief.language]
    shown_first = turn_list(unclear.choices, model_seed(brief.seed, brief.ask.id))
    choices = (*reversed(shown_first), UNCLEAR)
    own = prompt.which_meant.format(
        reply=quote_lines(_cut_middle(unclear.words)), choices=prompt.between_choices.join(choices)
    )
    fields = {"words": allow_line(MAX_QUOTED), "meant": allow_values(choices)}
    person = partial(_ask_person, brief.language, choices, own)
    schema = {
        "type": "object",
        "properties": fields,
        "required": ["meant"],
        "additionalProperties": False,
    }
    return replace(
        _strip_brief(brief),
        form=MEANT_FORM,
        own=own,
        schema=schema,
        person=person,
        hints={"words": prompt.which_words, "meant": prompt.one_of_these},
        again=brief.again + 1,
    )


def _strip_brief(brief: Brief) -> Brief:
    """Return a brief without what is asked in it, and without the rules by which that is read."""
    unruled = replace(
        brief,
        reads=None,
        fault=no_fault,
        person=None,
        fills={},
        normalize=keep_answer,
        options=(),
        alternatives=(),
    )
    return replace(
        unruled,
        system="",
        shared="",
        own="",
        probe="",
        tools=None,
        pictures=(),
        explains_fields=False,
    )


def _ask_person(language: Language, choices: tuple[str, ...], intro: str) -> PersonAsk:
    def build(answers: Answers) -> Mapping[str, object]:
        return {"meant": person_steps.read_choice(answers)}

    step = person_steps.ask_choice(language, choices)
    return PersonAsk(steps=(step,), intro=intro, build=build)


def find_unlisted_choice(brief: Brief, said: object) -> UnclearChoice | None:
    """Return what is not plain in an answer that names none of the listed ones; None for any other answer (Q-2)."""
    label = find_unlisted_answer(brief, said)
    if not label:
        return None
    prompt = PARTICIPANT_PROMPT[brief.language]
    choices = brief.alternatives
    if brief.is_open:
        choices = (*choices, prompt.none_of_these)
    text = find_answer_text(said)
    words = text if label in text else f"{label}\n{text}".strip()
    fault = f"choice: expected one of: {', '.join(choices)} (given: {show_value(label)})"
    return UnclearChoice(fault, field="choice", choices=choices, words=words, raw=label)


def settle_choice(
    unclear: UnclearChoice, said: object, corrections: Iterable[str] = ()
) -> str | None:
    """Return the choice that a seat says it meant; None where it means none, or quotes what it never said.

    An answer in plain words, as the corrections tell, quotes nothing.
    """
    if not isinstance(said, Meant) or said.meant not in unclear.choices:
        return None
    words = _fold_letters(said.words)
    is_quoted = not any(each.startswith("words ") for each in corrections)
    if is_quoted and words not in _fold_letters(f"{unclear.words} {unclear.raw}"):
        return None
    return said.meant


def is_within_item(unclear: UnclearChoice) -> bool:
    """Whether a choice that is not plain stands in an item of a list: `votes.2.position`."""
    return any(part.isdigit() for part in unclear.field.split("."))


def build_meant_note(unclear: UnclearChoice, meant: str) -> str:
    """Return the note of the record on a choice that was settled by asking."""
    return f"{MEANT} {unclear.field} {show_value(unclear.words)} → {show_value(meant)}"


def _cut_middle(text: str) -> str:
    if len(text) <= MAX_QUOTED:
        return text
    half = MAX_QUOTED // 2
    return f"{text[:half].rstrip()} … {text[-half:].lstrip()}"


def _fold_letters(text: str) -> str:
    return _NO_LETTERS.sub("", fold_text(text))
