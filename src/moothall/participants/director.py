"""Moot itself as a participant: what a session needs that no seat is asked for."""

import asyncio
from collections.abc import Callable

from moothall.domain.consult import RecordFileRequest
from moothall.domain.effects import Brief, CompareTexts
from moothall.participants.record_writer import PLACE, write_record
from moothall.participants.semantic_similarity import compare_texts
from moothall.ports.participant import Answer, NoAnswer, OnText, Similarity
from moothall.reading.answers import read_answer


class DirectorParticipant:
    """Implements `Participant` for Moot itself."""

    def __init__(
        self, find_measure: Callable[[str], Similarity | None] = lambda name: None
    ) -> None:
        self._find_measure = find_measure

    async def ready(self) -> str | None:
        return None

    async def respond(self, brief: Brief, on_text: OnText) -> Answer | NoAnswer:
        # On a thread, so that other sessions continue.
        match brief.chore:
            case CompareTexts() as texts:
                by, pairs = await asyncio.to_thread(
                    compare_texts, texts, self._find_measure(texts.by)
                )
                return Answer(
                    said=read_answer(
                        brief, {"by": by, "pairs": [pair._asdict() for pair in pairs]}
                    ).said
                )
            case RecordFileRequest() as request:
                try:
                    line = await asyncio.to_thread(write_record, request)
                except (OSError, ValueError) as cause:
                    return NoAnswer(reason="error", detail=f"the record cannot be written: {cause}")
                return Answer(
                    said=read_answer(
                        brief, {"number": line.number, "path": "/".join((*PLACE, line.name))}
                    ).said
                )
            case _:
                return NoAnswer(reason="error", detail="there is nothing that Moot itself could do")
