"""A person who types: given lines first, then something sensible, so that every session comes to its end."""

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
        usual = "1" if question.choices else f"Words of mine, number {len(self.asked)}." if question.is_words else ""
        typed = usual if question.complaint and not self.is_stubborn else next(self._left, usual)
        self.asked.append((question, typed))
        return typed

    @property
    def accepted_words(self) -> Sequence[str]:
        """What was typed where words are asked for and not refused."""
        later = [*(question for question, _ in self.asked[1:]), None]
        return [
            strip_control(typed).strip()
            for (question, typed), following in zip(self.asked, later, strict=True)
            if typed and question.is_words and not (following is not None and following.complaint)
        ]
