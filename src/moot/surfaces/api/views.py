"""A deliberation as it crosses the wire: where it stands, what was said, what came of it."""

from collections.abc import Sequence
from dataclasses import fields
from typing import Any, Final, Literal

from moot.app.deliberations import DeliberationState
from moot.app.protocols import get_protocol
from moot.domain.facts import Language
from moot.domain.ids import USER, SeatId
from moot.domain.safe_text import one_line
from moot.engine.snapshot import Snapshot
from moot.protocols.council.facts import DeliberationClosed
from moot.protocols.council.report import build_warning
from moot.protocols.council.state import Council, CouncilLine
from moot.protocols.council.timeline import CouncilTimeline, build_decision, find_condition, list_missing_votes
from moot.reports.blocks import join_spans
from moot.reports.decision import Decision, summarize_choice
from moot.reports.timeline import format_time
from moot.surfaces.api.shapes import (
    ContributionOut,
    DissentOut,
    LostOut,
    MovedOut,
    ParticipantOut,
    ResultOut,
    SilenceOut,
    TakenIn,
    VoteOut,
)

_RESHAPED: Final = {"decision", "choice", "confidence", "dissent", "open_challenges", "lost"}
"""The figures of a decision that have another form on the wire."""

_COPIED: Final = [each.name for each in fields(Decision) if each.name in ResultOut.model_fields and each.name not in _RESHAPED]
"""The figures of a decision that cross the wire by the same name and as they are."""


def find_status(place: DeliberationState) -> Literal["open", "parked", "closed", "cancelled"]:
    """Whether a deliberation is open."""
    if not place.snapshot.is_closed:
        return "open" if place.snapshot.session_state.parked is None else "parked"
    return "closed" if isinstance(place.snapshot.session_state.closed, DeliberationClosed) else "cancelled"


def build_standing(place: DeliberationState) -> dict[str, Any]:
    """The fields of `StandingOut`."""
    council, opened, allowed = place.council, place.council.opened, place.allowed
    return {
        "deliberation_id": place.snapshot.session,
        "topic": opened.topic,
        "protocol": get_protocol(place.rules.name).wire_name,
        "category": opened.subject.category,
        "stakes": opened.subject.stakes,
        "status": find_status(place),
        "phase": council.phase,
        "round": council.round,
        "waiting_for": list(place.waiting_for),
        "participants": [
            ParticipantOut(
                id=seat.id,
                platform=seat.platform,
                stance=seat.stance,
                trust=seat.trust,
                weight=seat.weight,
                may_contribute=list(allowed[seat.id]) if seat.is_outside else [],
            )
            for seat in council.seats
        ],
        "cursor": place.snapshot.seq,
        "note": describe_next_step(place, None),
    }


def build_general_standing(snapshot: Snapshot, protocol: str) -> dict[str, Any]:
    """The fields of `StandingOut` for a session of any protocol: its asks are answered with `moot.answer`."""
    state, opened = snapshot.session_state, snapshot.session_state.opened
    return {
        "deliberation_id": snapshot.session,
        "topic": opened.topic,
        "protocol": protocol,
        "category": opened.subject.category,
        "stakes": opened.subject.stakes,
        "status": "closed" if snapshot.is_closed else "open" if state.parked is None else "parked",
        "phase": "",
        "round": 0,
        "waiting_for": sorted({ask.split(".", 2)[2] for ask in state.pending}),
        "participants": [
            ParticipantOut(
                id=seat.id, platform=seat.platform, stance=seat.stance, trust=seat.trust, weight=seat.weight, may_contribute=[]
            )
            for seat in state.seats
        ],
        "cursor": snapshot.seq,
        "note": f"This is a session of the protocol '{protocol}': see what is asked with get_asks, answer with answer_ask.",
    }


def describe_next_step(place: DeliberationState, seat: SeatId | None) -> str:
    """What to do next, in a sentence."""
    if place.snapshot.is_closed:
        return "The deliberation has ended; its result is final."
    waiting = place.waiting_for
    if seat is not None and seat in waiting:
        types = ", ".join(place.allowed[seat])
        return f"It is your turn in the phase '{place.council.phase}': contribute one of: {types}."
    parked = place.snapshot.session_state.parked
    if parked is not None:
        return f"Parked, nothing is lost: {one_line(parked.reason)}. It goes on when those seats can be asked (resume_session)."
    what = "Votes" if place.council.phase == "vote" else "Proposals"
    sealed = f" {what} stay sealed until all are in." if place.council.is_sealed else ""
    return f"Phase '{place.council.phase}': waiting for {', '.join(waiting) or 'nobody'}.{sealed} Call wait_for_turn to wait for your turn."


def summarize_lines(lines: Sequence[CouncilLine]) -> str:
    """What came, in a sentence: how much of each kind, and where to find it."""
    kinds: dict[str, list[int]] = {}
    for line in lines:
        kinds.setdefault("input" if line.seat == USER else line.said.type, []).append(line.id)
    if not kinds:
        return "Nothing new."
    parts = [f"{len(numbers)} × {kind} ({', '.join(f'#{number}' for number in numbers)})" for kind, numbers in kinds.items()]
    return f"New: {'; '.join(parts)}."


def build_contribution(line: CouncilLine) -> ContributionOut:
    """A line as it crosses the wire."""
    said = line.said
    return ContributionOut(
        id=line.id,
        entry=line.seq,
        at=format_time(line.at),
        participant=line.seat,
        type="input" if line.seat == USER else said.type,
        text=said.text,
        confidence=said.confidence,
        choice=said.choice,
        refers_to=said.refers_to,
        evidence=list(said.evidence),
        answers=list(said.answers),
        accepts=list(said.accepts),
        position=said.position,
        condition=said.condition,
        moved_by=said.moved_by,
        taken=[TakenIn(entry=taken.entry, how=taken.how, why=taken.why) for taken in said.taken],
        round=line.round,
        phase=line.phase,
        via=line.via or None,
        model=line.model or None,
        mends=list(line.mends) or None,
    )


def build_result(timeline: CouncilTimeline) -> ResultOut | None:
    """Build the result of a deliberation from its decision; None while there is none."""
    closed = timeline.resolution
    if closed is None:
        return None
    decision, council = build_decision(timeline), timeline.state
    motion, missing = council.line(closed.motion), list_missing_votes(timeline)
    voiced = [
        DissentOut(participant=voice.seat or "", kind=voice.kind, text=voice.text, id=voice.entries[0] if voice.entries else None)
        for voice in decision.dissent
    ]
    return ResultOut(
        **{name: getattr(decision, name) for name in _COPIED},
        deliberation_id=timeline.session,
        note=_build_note(decision, timeline.language, missing),
        choice="" if decision.decision is None else summarize_choice(decision.choice, decision.decision.text),
        decision=None if decision.decision is None else decision.decision.text,
        confidence=None if decision.confidence is None else round(decision.confidence, 4),
        participant_votes=_build_votes(decision, timeline),
        dissent=[voice.text for voice in voiced],
        dissent_details=voiced,
        open_challenges=_build_open_challenges(decision, council),
        motion=None if motion is None else motion.said.text,
        votes=decision.heads,
        effective_votes=round(decision.effective or 0.0, 2),
        overturned_blind_majority=decision.overturned,
        missing=list(missing),
        changed_minds=_collect_changes(decision, motion),
        lost=[
            LostOut(participant=lost.seat, times=lost.times, last=lost.last, weight_share=lost.weight_share)
            for lost in decision.lost
        ],
    )


def _build_note(decision: Decision, language: Language, missing: Sequence[SeatId]) -> str:
    found = [join_spans(build_warning(decision, language))]
    if missing:
        found.append(f"Did not vote: {', '.join(missing)}.")
    return " ".join(line for line in found if line)


def _build_votes(decision: Decision, timeline: CouncilTimeline) -> dict[str, VoteOut]:
    """Build the votes, by seat."""
    return {
        position.seat: VoteOut(
            position=position.verdict,
            confidence=position.confidence_after or 0.0,
            condition=find_condition(timeline, position.seat),
            moved_by=position.moved_by,
            weight=round(position.weight, 4),
        )
        for position in decision.positions
        if position.verdict is not None
    }


def _build_open_challenges(decision: Decision, council: Council) -> list[DissentOut]:
    lines = [line for claim in decision.open_challenges for number in claim.entries if (line := council.line(number)) is not None]
    return [DissentOut(participant=line.seat, kind="challenge", text=line.said.text, id=line.id) for line in lines]


def _collect_changes(decision: Decision, motion: CouncilLine | None) -> list[MovedOut]:
    """Who wrote one choice blind and ended with another, or names a line that moved it."""
    after = motion.said.choice if motion is not None else ""
    found = []
    for position in decision.positions:
        supports = position.verdict in {"support", "conditional_support"}
        is_other = bool(position.choice_before and after) and position.choice_before.casefold() != after.casefold()
        if position.moved_by is not None or (supports and is_other):
            found.append(
                MovedOut(
                    participant=position.seat,
                    before=position.choice_before or position.before or "",
                    after=after if supports else position.verdict,
                    moved_by=position.moved_by,
                )
            )
    return found


def collect_silences(timeline: CouncilTimeline) -> list[SilenceOut]:
    """Who passed or was lost, in order."""
    passed = [
        SilenceOut(participant=one.seat, phase=one.phase, entry=one.seq, why="went_on" if one.is_implied else "passed")
        for one in timeline.passes
    ]
    lost = [SilenceOut(participant=one.seat, phase=one.asked_for, entry=one.seq, why=one.reason) for one in timeline.losses]
    return sorted([*passed, *lost], key=lambda one: one.entry)
