"""Whether two ideas are one, by their meaning."""

from collections.abc import Sequence

from moot.participants import encoder
from moot.weighing.likeness import Judgement, judged_by_words


class Meaning:
    """A sentence encoder for likeness; stance by words."""

    @staticmethod
    def is_available() -> bool:
        return encoder.is_installed()

    def judge(self, one: str, others: Sequence[str]) -> list[Judgement]:
        likeness = encoder.SentenceEncoder().likeness(one, others)
        return [Judgement(value, words.opposed) for value, words in zip(likeness, judged_by_words(one, others), strict=True)]
