"""The state of a persona meeting, the points under discussion in it, and the figures of its conclusion.

The state is all that `decide` and the prompts need, bounded by the number of seats, the window and the room that the writer of
the conclusion has for the record. Nobody is asked for the current consensus: every bid says whether its seat agrees with the
newest entry or contests it, and a speech may say so about the entry that it answers.
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import field, replace
from typing import Final, Literal

from moothall.domain.replace import dataclass
from moothall.domain.roster import EMBEDDED, UNNAMED_MINDS, parse_kind
from moothall.features.persona import facts
from moothall.plugins import (
    ContextWindow,
    ProtocolState,
    Seat,
    SeatId,
    build_seat_correlations,
    group_pairs,
    list_lost_seats,
    weigh_blind_answers,
)
from moothall.scoring.independence import count_effective_votes
from moothall.scoring.positions import compute_balance, compute_weight, is_outcome_uncertain
from moothall.scoring.posterior import Agreement, BlindEvidence, find_agreement, list_first_holders
from moothall.scoring.resolution import ORDINARY_CONFIDENCE

MAX_POINTS = 20

PointStatus = Literal["agreed", "contested", "open"]


@dataclass(frozen=True, slots=True, kw_only=True)
class DiscussionPoint:
    """One contribution, with the seats that took a side on it."""

    entry: int
    speaker: SeatId
    claim: str
    agreed: tuple[SeatId, ...] = ()
    contested: tuple[SeatId, ...] = ()

    def compute_status(self, seats: int) -> PointStatus:
        """Contested if one seat contests it; agreed if its speaker and supporters are more than half of the seats."""
        if self.contested:
            return "contested"
        # + 1 for the speaker, who is not listed among those who agree.
        return "agreed" if self.agreed and (len(self.agreed) + 1) * 2 > seats else "open"


DiscussionPoints = tuple[DiscussionPoint, ...]


def add_point(
    points: DiscussionPoints, entry: int, speaker: SeatId, claim: str, seats: int
) -> DiscussionPoints:
    """Return the points with one more; above the limit the oldest is dropped, agreed before open before contested."""
    grown = (*points, DiscussionPoint(entry=entry, speaker=speaker, claim=claim))
    if len(grown) <= MAX_POINTS:
        return grown
    rank = {"agreed": 0, "open": 1, "contested": 2}
    dropped = min(grown[:-1], key=lambda point: (rank[point.compute_status(seats)], point.entry))
    return tuple(point for point in grown if point is not dropped)


def apply_view(
    points: DiscussionPoints, entry: int, seat: SeatId, view: facts.View
) -> DiscussionPoints:
    """Return the points after a seat's view on one of them; a view on its own contribution does not count."""
    if view == "none":
        return points
    return tuple(
        _with_view(point, seat, view) if point.entry == entry and point.speaker != seat else point
        for point in points
    )


def _with_view(point: DiscussionPoint, seat: SeatId, view: facts.View) -> DiscussionPoint:
    # A seat has one view per point: the new one replaces the old.
    agreed = tuple(other for other in point.agreed if other != seat)
    contested = tuple(other for other in point.contested if other != seat)
    if view == "agree":
        return replace(point, agreed=(*agreed, seat), contested=contested)
    return replace(point, agreed=agreed, contested=(*contested, seat))


Phase = Literal["blind", "intents", "floor", "speech", "draft", "stands", "concluding", "closed"]

DECIDERS = frozenset({"decider", "final decider", "the decider", "决策者", "最终决策者", "定夺者"})


RECORD_ROOM: Final = 24_000
"""How many characters of the record the writer of the conclusion reads word for word; older entries as a digest."""
RECORD_ENTRIES: Final = 240
RECORD_DIGESTS: Final = 40


def start_record() -> ContextWindow:
    return ContextWindow(
        window=RECORD_ENTRIES, room=RECORD_ROOM, longest=RECORD_ROOM // 2, digests=RECORD_DIGESTS
    )


@dataclass(frozen=True, kw_only=True)
class Meeting(ProtocolState):
    """The state. It has no slots, for `fast_replace`.

    In `positions`, `intents` and `stands` None marks a seat that was lost. `ended_by` is why the talk has ended. The bids of a
    turn are `about` one entry, and each bidder has `heard` all entries up to this one; `floor_heard` is the same for the seat on
    the floor. `waited` counts the turns in a row that a seat wanted the floor in vain. `apart` are the seats that a joint bid
    left out. `record` is what the writer of the conclusion reads. `choices`
    are the answers, in a few words, that seats gave before they had heard anyone.
    """

    opened: facts.MeetingOpened
    phase: Phase
    memory: ContextWindow
    last_id: int
    decider: SeatId | None
    turn: int = 1
    about: int = 1
    positions: Mapping[SeatId, facts.Position | None] = field(default_factory=dict)
    intents: Mapping[SeatId, facts.Intent | None] = field(default_factory=dict)
    floor: SeatId | None = None
    fallen: tuple[SeatId, ...] = ()
    last_spoke: Mapping[SeatId, int] = field(default_factory=dict)
    speeches: Mapping[SeatId, int] = field(default_factory=dict)
    own_words: Mapping[SeatId, str] = field(default_factory=dict)
    last_speaker: SeatId | None = None
    idle_turns: int = 0
    points: DiscussionPoints = ()
    ended_by: facts.EndReason | None = None
    endings: int = 0
    drafters_lost: tuple[SeatId, ...] = ()
    draft: facts.Draft | None = None
    author: SeatId | None = None
    stands: Mapping[SeatId, facts.Stand | None] = field(default_factory=dict)
    record: ContextWindow = field(default_factory=start_record)
    heard: int = 1
    floor_heard: int = 1
    waited: Mapping[SeatId, int] = field(default_factory=dict)
    apart: tuple[SeatId, ...] = ()
    choices: Mapping[SeatId, str] = field(default_factory=dict)

    @property
    def is_spent(self) -> bool:
        """Whether no further talk may start: a meeting that merely went quiet may be continued by an input."""
        return self.stop is not None or self.ended_by == "turns"

    @property
    def is_sealed(self) -> bool:
        """Whether nobody may read what the others have written yet."""
        return self.is_stating_facts or self.phase == "blind"

    @property
    def has_blind_bids(self) -> bool:
        """Whether the bids of this turn are the first words of all: each seat's own, given before anybody has spoken."""
        settings = self.opened.settings
        return self.turn == 1 and not settings.blind and not self.opened.imported

    @property
    def new_input(self) -> int | None:
        """The newest input that came after the bids of this turn were asked for."""
        newest = self.user_inputs[-1].number if self.user_inputs else 0
        return newest if newest > self.heard else None

    @property
    def next_input(self) -> int:
        return self.last_id + 1

    @property
    def answered_inputs(self) -> Collection[int]:
        if self.draft is None:
            return ()
        return {reply.input for reply in self.draft.answers}

    @property
    def open_answers(self) -> tuple[str, ...]:
        """The answers of this meeting, as they were said: those given before the talk, and the draft's."""
        drafted = () if self.draft is None else (self.draft.choice,)
        return (*self.choices.values(), *drafted)

    @property
    def is_settling(self) -> bool:
        """Whether answers have just come in and nobody is asked anything yet: then they are settled (Q-3)."""
        if self.phase in {"stands", "concluding"}:
            return not self.stands
        is_first = self.turn == 1 and not self.intents and self.opened.settings.blind
        return (is_first and self.phase == "intents") or (self.turn == 1 and self.phase == "floor")

    @property
    def viewed(self) -> int:
        """The entry that the views of this turn's bids are on: a speech that came after the entry they are about has none yet."""
        newest = self.points[-1].entry if self.points else 0
        return newest if self.about < newest <= self.heard else self.about

    @property
    def is_talking(self) -> bool:
        return self.phase in {"blind", "intents", "floor", "speech"}


def find_decider(opened: facts.MeetingOpened) -> SeatId | None:
    """Return the seat that judges whether enough was said, and writes the conclusion."""
    if opened.settings.summarizer is not None:
        return opened.settings.summarizer
    return next(
        (
            seat.id
            for seat in opened.seats
            if seat.stance.strip().casefold() in DECIDERS and seat.id not in opened.neutral
        ),
        None,
    )


def list_drafters(meeting: Meeting) -> list[SeatId]:
    """Return who may write the conclusion, in order: the decider, then the others by weight."""
    # False sorts before True, so the decider comes first.
    ordered = sorted(meeting.seats, key=lambda seat: (seat.id != meeting.decider, -seat.weight))
    return [seat.id for seat in ordered if seat.id not in meeting.drafters_lost]


def compute_confidence(stated: float | None) -> float:
    """Return what a confidence counts for."""
    return ORDINARY_CONFIDENCE if stated is None else stated


def list_joint_bidders(meeting: Meeting) -> list[tuple[Seat, ...]]:
    """Return the groups of seats that bid in one call now: those of one model that have not bid and were not left out.

    Not people, programs and scripts: their platform does not say that one mind is behind them. Nor the embedded model, whose bids
    take no call.
    """
    if meeting.opened.settings.bids == "apart":
        return []
    open_seats = [
        seat
        for seat in meeting.seats
        if seat.id not in meeting.intents and seat.id not in meeting.apart
    ]
    one_mind = [
        seat for seat in open_seats if parse_kind(seat.platform) not in UNNAMED_MINDS | {EMBEDDED}
    ]
    groups = group_pairs((seat.platform, seat) for seat in one_mind)
    return [tuple(group) for group in groups.values() if len(group) > 1]


def build_conclusion(state: Meeting) -> facts.MeetingConcluded:
    """Weigh the final positions, list the lost seats, and check whether they could have changed the outcome."""
    stands = collect_last_words(state)
    standing = [seat for seat in state.seats if seat.id in stands]
    siding = [seat for seat in standing if stands[seat.id].verdict != "abstain"]
    positions = tuple(_weigh_stand(seat, stands[seat.id]) for seat in standing)
    correlations = build_seat_correlations(state.opened.subject.error_correlations, state.seats)
    balance = compute_balance((position.verdict, position.weight) for position in positions)
    # A missing seat could have voted with full confidence, so its weight counts without one.
    missing = sum(seat.weight * seat.trust for seat in state.seats if seat.id not in stands)
    turnout = sum(seat.weight for seat in siding) / sum(seat.weight for seat in state.seats)
    if state.draft is None:
        is_uncertain = bool(state.losses)
    else:
        is_uncertain = is_outcome_uncertain(balance, missing)
    return facts.MeetingConcluded(
        reason=state.ended_by or "seats_lost",
        author=state.author,
        support=balance.share,
        turnout=turnout,
        positions=positions,
        lost=list_lost_seats(state, stands),
        outcome_uncertain=is_uncertain,
        overruled=balance.oppose > balance.support,
        unanswered=tuple(each.number for each in state.open_inputs),
        confidence=_compute_blind_confidence(state),
        effective=count_effective_votes(
            [s.weight for s in siding], lambda i, j: correlations(siding[i].id, siding[j].id)
        ),
        agreement=_find_agreement(state, stands, siding),
    )


def _weigh_stand(seat: Seat, stand: facts.Stand) -> facts.WeighedStand:
    weight = compute_weight(seat.weight, compute_confidence(stand.confidence), seat.trust)
    return facts.WeighedStand(seat=seat.id, verdict=stand.verdict, weight=weight)


def _weigh_blind_choices(state: Meeting) -> BlindEvidence | None:
    """Return what the choices say that were named before anybody spoke."""
    stated = {
        seat: position.confidence
        for seat, position in state.positions.items()
        if position is not None
    }
    answers = {seat: (choice, stated.get(seat)) for seat, choice in state.choices.items()}
    return weigh_blind_answers(state.seats, answers, state.opened.subject, state.groups)


def _compute_blind_confidence(state: Meeting) -> float | None:
    """Return the chance that the draft's choice is right, by what the seats chose before anybody spoke."""
    evidence = _weigh_blind_choices(state)
    return (
        evidence.find_confidence(state.draft.choice)
        if evidence is not None and state.draft is not None
        else None
    )


def is_new_answer(state: Meeting) -> bool:
    """Whether nobody had named the draft's choice before anybody spoke: then nothing says how likely it is right (Q-10)."""
    if state.draft is None or not state.draft.choice.strip():
        return False
    evidence = _weigh_blind_choices(state)
    return evidence is not None and not evidence.is_given(state.draft.choice)


def list_draft_holders(state: Meeting) -> tuple[SeatId, ...] | None:
    """Return the seats that had chosen what the draft does before anybody spoke; None where nobody can tell."""
    if state.draft is None:
        return None
    return list_first_holders(state.draft.choice, state.choices, _weigh_blind_choices(state))


def _find_agreement(
    state: Meeting, stands: Mapping[SeatId, facts.Stand], siding: Sequence[Seat]
) -> Agreement | None:
    if state.draft is None or any(stands[seat.id].verdict == "oppose" for seat in siding):
        return None
    holders = [seat.id for seat in siding]
    return find_agreement(state.draft.choice, holders, state.choices, state.groups)


def collect_last_words(state: Meeting) -> dict[SeatId, facts.Stand]:
    """Return the final position of every seat; the author counts as supporting its own draft."""
    stands = {seat: stand for seat, stand in state.stands.items() if stand is not None}
    if state.draft is not None and state.author is not None:
        stands[state.author] = facts.Stand(
            verdict="support",
            confidence=state.draft.confidence,
            position=state.draft.decision.text[:2_000],
        )
    return stands
