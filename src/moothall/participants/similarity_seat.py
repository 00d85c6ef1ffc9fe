"""The similarity measure as a participant: its results are recorded like any answer, so that a replay needs no measure.

measure            the best available one: meaning if its extra is installed, else words
measure:meaning    a sentence encoder and a check for opposite stances
measure:words      by words alone, always available
"""

import asyncio
from typing import Final, Literal

from moothall.codec.answers import read_answer
from moothall.domain.effects import Brief, CompareTexts
from moothall.errors import BadAnswer, UnknownPlatform, describe_install
from moothall.participants.semantic_similarity import SemanticSimilarity
from moothall.ports.participant import Answer, NoAnswer, OnText
from moothall.scoring.likeness import find_similar_texts, measure_by_words

MEASURES: Final = ("meaning", "words")
By = Literal["meaning", "words"]


class MeasureParticipant:
    """Answers only `compare`."""

    def __init__(self, name: str) -> None:
        """Create the participant; raises UnknownPlatform for an unknown measure."""
        if name and name not in MEASURES:
            raise UnknownPlatform(f"unknown measure {name!r}; known: {', '.join(MEASURES)}")
        self._name = name
        self._meaning = SemanticSimilarity()

    async def ready(self) -> str | None:
        if self._name == "meaning" and not SemanticSimilarity.is_available():
            return f"the measure of meaning needs another package: {describe_install('embedded')}, or take measure:words"
        return None

    async def respond(self, brief: Brief, on_text: OnText) -> Answer | NoAnswer:
        if brief.form.kind != "compare":
            return NoAnswer(reason="refused", detail=f"a measure compares; it cannot {brief.form.kind}")
        by: By = "words" if self._name == "words" or not SemanticSimilarity.is_available() else "meaning"
        # Arithmetic over many pairs: on a thread, so that other sessions continue.
        pairs = await asyncio.to_thread(self._compare_pairs, by, brief.comparing)
        try:
            return Answer(said=read_answer(brief, {"by": by, "pairs": pairs}).said)
        except BadAnswer as error:
            return NoAnswer(reason="malformed", detail=str(error))

    def _compare_pairs(self, by: By, compared: CompareTexts) -> list[dict[str, object]]:
        if by == "meaning":
            self._meaning.preload_texts([*compared.known, *compared.new])
        measure = self._meaning.compute_likeness if by == "meaning" else measure_by_words
        return [pair._asdict() for pair in find_similar_texts(compared.known, compared.new, measure, compared.nearest)]
