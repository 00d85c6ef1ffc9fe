"""`moot.getTrustHistory`: the cases behind the trust in a source, and the trust after each (W-6)."""

from dataclasses import replace
from datetime import datetime
from typing import Any, Final

from pydantic import Field

from moothall.memory.track_records import compute_score, compute_standing
from moothall.surfaces.api.memory_shapes import AgentRef
from moothall.surfaces.api.method import ApiModel, Call, Method, build_method

MAX_CASES: Final = 200


class TrustHistoryParams(ApiModel):
    source: AgentRef


class TrustCaseOut(ApiModel):
    decision: str
    topic: str
    at: datetime = Field(description="When the outcome was reviewed.")
    category: str = ""
    outcome: str
    position: str | None = None
    confidence: float | None = None
    right: float | None = Field(default=None, description="1 where it was on the side that proved right, 0 where not.")
    brier: float | None = None
    trust: float = Field(description="The trust after this case.")


class TrustHistoryOut(ApiModel):
    source: str
    cases: list[TrustCaseOut] = Field(description="The oldest first; of many the newest.")


async def get_trust_history(call: Call, params: TrustHistoryParams) -> TrustHistoryOut:
    kept = await (await call.moot.recall()).list_decisions(source=params.source, limit=1_000)
    reviewed = sorted(
        (
            (each.review.at, score, each)
            for each in kept
            if each.review is not None and (score := compute_score(params.source, each)) is not None
        ),
        key=lambda case: (case[0], case[1].decision),
    )
    scores = [score for _, score, _ in reviewed]
    cases = []
    for place, (at, score, each) in enumerate(reviewed):
        if place < len(reviewed) - MAX_CASES:
            continue
        own = next(member for member in each.record.members if member.source == params.source)
        cases.append(
            TrustCaseOut(
                decision=each.decision,
                topic=each.record.topic,
                at=at,
                category=score.category,
                outcome=each.outcome or "",
                position=own.position,
                confidence=own.confidence,
                right=score.right,
                brier=score.brier,
                trust=round(compute_standing(scores[: place + 1]).trust, 4),
            )
        )
    return TrustHistoryOut(source=params.source, cases=cases)


TRUST_METHODS: tuple[Method[Any, Any], ...] = (
    replace(
        build_method(
            "moot.getTrustHistory",
            "The reviewed decisions behind the trust in a participant or model, and the trust after each.",
            get_trust_history,
        ),
        needs_unbound_token=True,
    ),
)
