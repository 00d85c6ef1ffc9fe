"""A person who types: given lines first, then something sensible, so that every session comes to its end."""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from moothall.domain.safe_text import strip_control
from moothall.participants.human import PersonQuestion


@dataclass
class TypingPerson:
    """Answers the questions of a human seat. `asked` keeps each question with what was typed.

    After a complaint about a line, and when the lines are used up, it chooses the first of a list, or says a few words.
    """

    lines: Iterable[str | None] = ()
    is_stubborn: bool = False
    """Whether it types its lines also after a complaint."""
    asked: list[tuple[PersonQuestion, str | None]] = field(default_factory=list)

    def __post_init__(self) -> None:
        self._left = iter(self.lines)

    async def __call__(self, question: PersonQuestion) -> str | None:
        usual = self._say_something(question)
        typed = usual if question.complaint and not self.is_stubborn else next(self._left, usual)
        self.asked.append((question, typed))
        return typed

    def _say_something(self, question: PersonQuestion) -> str:
        if question.choices:
            return "1"
        if question.is_words:
            return f"Words of mine, number {len(self.asked)}."
        # A complaint about a number that is needed names one.
        example = re.search(r"#\d+", question.complaint)
        return example[0] if example else ""

    @property
    def accepted_words(self) -> Sequence[str]:
        """What was typed where words are asked for and not refused, at once or when the whole answer was read."""
        refused = {at for at, _ in enumerate(self.asked) if self._is_refused(at)}
        return [
            strip_control(typed).strip()
            for at, (question, typed) in enumerate(self.asked)
            if typed and question.is_words and at not in refused
        ]

    def _is_refused(self, at: int) -> bool:
        """Whether the next question is a complaint, or this one is asked again with the same words to correct."""
        question, typed = self.asked[at]
        following = [each for each, _ in self.asked[at + 1 :]]
        again = next(
            (each for each in following if (each.ask, each.step) == (question.ask, question.step)),
            None,
        )
        is_kept = again is not None and again.default == strip_control(typed or "").strip()
        return bool(following and following[0].complaint) or is_kept
