"""Questions to people that several protocols ask: a position, its reason and its condition, a confidence, a choice."""

from collections.abc import Container, Mapping, Sequence
from dataclasses import replace
from typing import Any, Final

from moothall.domain.answer_table import AnswerField
from moothall.domain.facts import Language
from moothall.domain.person import (
    CONDITION,
    WHY,
    Answers,
    PersonChoice,
    PersonCommand,
    PersonStep,
    build_key,
)
from moothall.domain.safe_text import one_line
from moothall.domain.topic import MAX_LABEL_LENGTH
from moothall.domain.vocabulary import DEGREES
from moothall.locale.catalogues import PERSON_STEPS

WORDS: Final = "words"
CONFIDENCE: Final = "confidence"
POSITION: Final = "position"
MOVED_BY: Final = "moved_by"
DUE: Final = "due"
CHOICE: Final = "choice"


CONFIDENCES: Final[Mapping[str, float]] = {
    word: DEGREES[word] for word in ("sure", "fairly sure", "unsure")
}


def ask_words(text: str, *, default: str = "") -> PersonStep:
    """Return the question that is answered in one's own words, on as many lines as they take."""
    return PersonStep(name=WORDS, text=text, is_needed=True, is_long=True, default=default)


def offer_words(text: str, *, if_empty: str) -> PersonStep:
    """Return the same question where nothing has to be said; `if_empty` says what that means."""
    return PersonStep(name=WORDS, text=text, is_long=True, if_empty=if_empty)


def ask_why(language: Language, **step: Any) -> PersonStep:
    """Return the question after a reason, which may be left out."""
    words = PERSON_STEPS[language]
    return PersonStep(name=WHY, text=words.why, if_empty=words.no_reason, **step)


def split_lines(text: str) -> list[str]:
    """Return the lines that hold something, for an answer with one item on each."""
    return [line.strip() for line in text.splitlines() if line.strip()]


def ask_which(text: str, choices: Mapping[str, str], *, group: str = "") -> PersonStep:
    """Return the question that one of these positions answers, given with their words; it has to be answered."""
    offered = tuple(PersonChoice(value=value, text=words) for value, words in choices.items())
    return PersonStep(
        name=POSITION, text=text, choices=offered, kind="position", is_needed=True, group=group
    )


def ask_which_and_why(
    language: Language, text: str, choices: Mapping[str, str], group: str
) -> list[PersonStep]:
    """Return that question about one of several items, and the one after the reason."""
    return [
        ask_which(text, choices, group=group),
        ask_why(language, group=group),
    ]


def ask_position(
    language: Language,
    values: Sequence[str],
    *,
    text: str = "",
    group: str = "",
    asks_due: bool = True,
) -> tuple[PersonStep, ...]:
    """Return the questions of a vote: the position, its condition where it has one and by when it must hold, and the reason."""
    words = PERSON_STEPS[language]
    conditional = tuple(value for value in values if value.startswith("conditional"))
    steps = [
        ask_which(
            text or words.position, {value: words.verdicts[value] for value in values}, group=group
        )
    ]
    if conditional:
        after = (build_key(POSITION, group), conditional)
        steps.append(
            PersonStep(
                name=CONDITION, text=words.condition, is_needed=True, only_after=after, group=group
            )
        )
    if conditional and asks_due:
        steps.append(ask_due(language, group=group))
    return (*steps, ask_why(language, is_long=True, group=group))


def ask_due(language: Language, *, group: str = "") -> PersonStep:
    """Return the question by when a condition must hold, after any condition; it may be left out."""
    words = PERSON_STEPS[language]
    return PersonStep(
        name=DUE,
        text=words.due,
        only_after=(build_key(CONDITION, group), ()),
        if_empty=words.no_due,
        group=group,
    )


def ask_confidence(
    language: Language, *, only_after: tuple[str, tuple[str, ...]] | None = None
) -> PersonStep:
    """Return the question after a confidence, in words."""
    words = PERSON_STEPS[language]
    choices = tuple(
        PersonChoice(value=value, text=words.confidences[value]) for value in CONFIDENCES
    )
    return PersonStep(
        name=CONFIDENCE,
        text=words.confidence,
        choices=choices,
        kind="confidence",
        only_after=only_after,
        if_empty=words.not_stated,
    )


def compute_confidence(answers: Answers) -> float | None:
    """Return the confidence that a person stated; None if it stated none."""
    stated = answers.get(CONFIDENCE, "")
    if not stated:
        return None
    return CONFIDENCES[stated] if stated in CONFIDENCES else float(stated)


CONFIDENCE_FIELD: Final[AnswerField[Any]] = AnswerField(
    "confidence",
    ask=lambda asked: [ask_confidence(asked.language)],
    read=lambda _, answers: compute_confidence(answers),
)
"""The row of a confidence in a table of answers."""


def ask_choice(language: Language, options: Sequence[str]) -> PersonStep:
    """Return the question after an answer that can be compared: one of the options, or a few words of one's own."""
    words = PERSON_STEPS[language]
    if not options:
        return PersonStep(name=CHOICE, text=words.in_short, if_empty=words.no_choice)
    choices = tuple(PersonChoice(value=option, text=option) for option in options)
    return PersonStep(
        name=CHOICE, text=words.choose, choices=choices, kind="option", is_needed=True
    )


def offer_choice(language: Language, options: Sequence[str]) -> PersonStep:
    """Return the same question where a text says it all, and the choice only makes it comparable."""
    step, words = ask_choice(language, options), PERSON_STEPS[language]
    if not options:
        return step
    return replace(step, text=words.choose_or_none, is_needed=False, if_empty=words.no_choice)


def read_choice(answers: Answers) -> str:
    """Return the choice that a person named; empty if it named none, or wrote more than a label."""
    label = one_line(answers.get(CHOICE, ""))
    return label if len(label) <= MAX_LABEL_LENGTH else ""


def join_long_choice(words: str, answers: Answers) -> str:
    """Return what a person said, with what it typed for a choice and is too long for one: no words are lost."""
    typed = answers.get(CHOICE, "")
    return words if not typed or read_choice(answers) else f"{words}\n\n{typed}".strip()


TO_USER_FIELD: Final[AnswerField[Any]] = AnswerField(
    "to_user", when=lambda asked: bool(asked.state.open_inputs)
)
"""The row of what a seat answers to the user's later words (Q-8)."""
CHOICE_FIELD: Final[AnswerField[Any]] = AnswerField(
    "choice",
    ask=lambda asked: [offer_choice(asked.language, asked.options)],
    read=lambda _, answers: read_choice(answers),
)
"""The row of a choice that only makes a text comparable."""


NUMBER: Final = "number"


def ask_number(language: Language, unit: str) -> PersonStep:
    """Return the question after an estimate, with its unit."""
    words = PERSON_STEPS[language]
    text = words.number_in.format(unit=unit) if unit else words.number
    return PersonStep(name=NUMBER, text=text, is_needed=True, unit=unit)


NUMBER_FIELD: Final[AnswerField[Any]] = AnswerField(
    NUMBER,
    is_needed=True,
    when=lambda asked: asked.wants_number,
    ask=lambda asked: [ask_number(asked.language, asked.unit)],
    read=lambda _, answers: answers.get(NUMBER),
)
"""The row of an estimate, where the question asks for a number: it stands in place of a choice (Q-12)."""


def ask_moved_by(language: Language, numbers: Container[int]) -> PersonStep:
    """Return the question after the entry that changed the person's mind."""
    words = PERSON_STEPS[language]
    return PersonStep(
        name=MOVED_BY,
        text=words.moved_by,
        kind="number",
        numbers=numbers,
        if_empty=words.no_entry,
    )


def read_moved_by(answers: Answers) -> int | None:
    """Return the entry that changed the person's mind."""
    return int(answers[MOVED_BY]) if answers.get(MOVED_BY) else None


def offer_abstention(language: Language, answer: object) -> PersonCommand:
    """Return the command that abstains from all that is voted on, with the answer that stands for it."""
    words = PERSON_STEPS[language]
    return PersonCommand(
        word="/abstain", text=words.abstain_from_all, answer=answer, words=("abstain", "弃权")
    )


def offer_pass(language: Language, answer: object) -> PersonCommand:
    """Return the command that passes, with the answer that stands for it."""
    return PersonCommand(
        word="/pass", text=PERSON_STEPS[language].pass_over, answer=answer, words=("pass", "跳过")
    )
