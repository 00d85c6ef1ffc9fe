"""What a person is asked in place of a prompt: questions in full sentences, and how their answers become the answer of the seat.

A protocol builds a `PersonAsk` for each kind of its asks. Code fills in what code knows: a person only speaks and chooses.
"""

from collections.abc import Callable, Container, Mapping
from typing import Literal

from moothall.domain.context import Utterance
from moothall.domain.ids import SeatId
from moothall.domain.replace import dataclass

Answers = Mapping[str, str]
"""What a person answered, by the key of the step; a step that was left out is missing."""

CONDITION = "condition"
WHY = "why"
"""The steps that take the condition and the reason, where a person votes in one sentence."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PersonChoice:
    """One line of a numbered list. `value` is what it means, `text` what is shown, `words` what else says the same."""

    value: str
    text: str
    words: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class PersonStep:
    """One question. With `choices` the answer is one of them; `kind` says how it is read from a sentence.

    `only_after` names an earlier step and the values after which this one is asked, no value for any answer. Steps with the
    same `group` belong to one of several items, such as one idea of a ballot. `is_long`: several lines are welcome. `default`
    stands in the prompt to be edited. `numbers` are the entries that may be named; a `reference` is also read from a sentence
    that names one as #2. `if_empty` says in words what is recorded where a step is left empty; without it nothing is. `unit` is
    what a number is in.
    """

    name: str
    text: str
    choices: tuple[PersonChoice, ...] = ()
    kind: Literal["text", "option", "position", "number", "numbers", "reference", "confidence"] = (
        "text"
    )
    is_needed: bool = False
    is_long: bool = False
    only_after: tuple[str, tuple[str, ...]] | None = None
    group: str = ""
    default: str = ""
    numbers: Container[int] = ()
    if_empty: str = ""
    unit: str = ""

    @property
    def key(self) -> str:
        return build_key(self.name, self.group)

    def is_due(self, answers: "Answers") -> bool:
        """Whether it is asked after these answers to the steps before it."""
        if self.only_after is None:
            return True
        key, values = self.only_after
        if not values:
            return bool(answers.get(key))
        return answers.get(key) in values


def build_key(name: str, group: str) -> str:
    """Return the key of an answer: the name of the step, and the item that it is about."""
    return f"{name}.{group}" if group else name


@dataclass(frozen=True, slots=True, kw_only=True)
class PersonCommand:
    """A word that stands for a whole answer, such as `/pass`. `words` say the same in plain text."""

    word: str
    text: str
    answer: object
    words: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class PersonAsk:
    """An ask for a person. Without `steps` there is nothing to ask: code knows the answer.

    `news` are the latest contributions, oldest first; the person is shown those that it has not seen, without its own. `about` is
    what the questions are about, such as the motion. `build` makes the answer of the seat. `keeps_for` is the kind of a later ask
    that the answer to the first step also answers. `otherwise` is how words are read that do not answer these questions.
    `consults` are the seats that the person may ask something before it answers.
    """

    build: Callable[[Answers], object]
    steps: tuple[PersonStep, ...] = ()
    intro: str = ""
    about: str = ""
    news: tuple[Utterance, ...] = ()
    commands: tuple[PersonCommand, ...] = ()
    keeps_for: str = ""
    otherwise: "PersonAsk | None" = None
    consults: tuple[SeatId, ...] = ()
