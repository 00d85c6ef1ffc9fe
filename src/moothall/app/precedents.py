"""What memory tells everyone at the table: the decisions that a session builds on, and those on similar questions (D-16)."""

from typing import Final

from moothall.domain.claims import cut_text
from moothall.domain.safe_text import one_line
from moothall.domain.topic import Precedent, Topic
from moothall.memory.decision_memory import DecisionMemory
from moothall.memory.remembered_decision import RememberedDecision

MAX_SIMILAR: Final = 3
MAX_BASES: Final = 4
MAX_TOPIC_LENGTH, MAX_DECIDED_LENGTH, MAX_LESSON_LENGTH = 120, 200, 100
"""The most characters of each text: together they stay under two thousand for the usual three decisions."""


async def collect_precedents(memory: DecisionMemory, question: str, about: Topic) -> tuple[Precedent, ...]:
    """Return what is known of the decisions that this one builds on, failures first, and of those on similar questions."""
    bases = [kept for name in about.built_on if (kept := await memory.get(name)) is not None and kept.record.text]
    # A basis that failed must not be the one that is left out.
    bases.sort(key=lambda kept: kept.outcome not in {"failure", "abandoned"})
    found = {kept.decision: _build_precedent(kept, is_basis=True) for kept in bases[:MAX_BASES]}
    for hit in await memory.find_similar(question, limit=MAX_SIMILAR + len(about.built_on)):
        similar = await memory.get(hit.decision)
        if similar is not None and similar.record.text and hit.decision not in about.built_on:
            found[hit.decision] = _build_precedent(similar, is_basis=False)
    return tuple(found.values())[: min(len(bases), MAX_BASES) + MAX_SIMILAR]


def _build_precedent(kept: RememberedDecision, *, is_basis: bool) -> Precedent:
    record, review = kept.record, kept.review
    return Precedent(
        decision_id=kept.decision,
        topic=cut_text(one_line(record.topic), MAX_TOPIC_LENGTH),
        text=cut_text(one_line(record.text or ""), MAX_DECIDED_LENGTH),
        date=f"{record.closed_at:%Y-%m-%d}",
        outcome=kept.outcome or "",
        lesson="" if review is None else cut_text(one_line(review.note), MAX_LESSON_LENGTH),
        is_basis=is_basis,
    )
