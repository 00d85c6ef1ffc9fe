"""The whole meeting for reports: lines, bids, floors, positions, losses, and the decision that it led to.

It grows with the meeting, and each entry is added once.
"""

import json
from collections.abc import Mapping
from dataclasses import field, replace
from typing import Annotated, Any, TypeVar

from annotated_types import MinLen

from moothall.domain.facts import SessionImported
from moothall.domain.limits import Share
from moothall.domain.replace import dataclass
from moothall.features.persona import facts
from moothall.features.persona.facts import (
    BidsDeclared,
    FloorGiven,
    Intent,
    IntentDeclared,
    MeetingConcluded,
    TurnTaken,
)
from moothall.features.persona.rules import RULES
from moothall.features.persona.state import (
    Meeting,
    collect_last_words,
    is_new_answer,
    list_draft_holders,
)
from moothall.plugins import (
    MAX_LABEL_LENGTH,
    USER,
    ByAuthor,
    ByVotes,
    Decision,
    Dissent,
    Entry,
    How,
    Loss,
    SeatId,
    SeatLost,
    SeatPosition,
    SessionId,
    SourcedClaim,
    TimelineBase,
    TimelineLine,
    Undecided,
    build_line,
    copy_fields,
    count_minds,
    get_adapter,
    names_nothing,
    number_obligations,
    start_decision,
)
from moothall.reports.decision import AnsweredInput, Obligation
from moothall.reports.estimates import add_blind_results

T = TypeVar("T")
Words = Annotated[str, MinLen(1)]


@dataclass(frozen=True, slots=True, kw_only=True)
class PersonaTimelineLine(TimelineLine):
    """A speech, or an input of the user. `unaware_of` is the input that came while the speech was under way."""

    type: str
    platform: str = ""
    relevance_score: float | None = None
    refers_to: int | None = None
    unaware_of: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class SeatBid:
    """A seat's bid for the floor: an intent, or the reason of its loss."""

    seat: SeatId
    intent: Intent | None
    lost: Loss | None = None


@dataclass(slots=True, kw_only=True)
class PersonaTurn:
    """One turn: the bids, who got the floor and why, who lost it again. `seq` is the ledger's entry that began it."""

    number: int
    seq: int = 0
    bids: list[SeatBid] = field(default_factory=list)
    floors: list[FloorGiven] = field(default_factory=list)
    spoken: int | None = None


class PersonaTimeline(TimelineBase[Meeting]):
    """All lines, bids and floors of a meeting."""

    def __init__(self, session: SessionId) -> None:
        super().__init__(session, RULES)
        self.lines: list[PersonaTimelineLine] = []
        self.turns: list[PersonaTurn] = []

    def follow(self, before: Meeting, entry: Entry) -> None:
        fact, after = entry.fact, self.state
        match fact:
            case IntentDeclared(seat=seat, said=intent) if before.phase == "intents":
                self._find_or_add_turn(before.turn).bids.append(SeatBid(seat=seat, intent=intent))
            case BidsDeclared() if before.phase == "intents":
                new = [seat for seat in after.intents if seat not in before.intents]
                self._find_or_add_turn(before.turn).bids += [
                    SeatBid(seat=seat, intent=after.intents[seat]) for seat in new
                ]
            case SeatLost(seat=seat, reason=reason) if (
                self.losses[-1].asked_for == "intent" and before.phase == "intents"
            ):
                self._find_or_add_turn(before.turn).bids.append(
                    SeatBid(seat=seat, intent=None, lost=reason)
                )
            case FloorGiven(turn=turn):
                self._find_or_add_turn(turn).floors.append(fact)
            case _:
                pass
        if after.last_id > before.last_id:
            self._add_utterance(before, after, entry)

    def begin(self, entry: Entry) -> None:
        opened = self.state.opened
        if not opened.imported:
            self.lines.append(
                build_line(PersonaTimelineLine, entry, 1, USER, opened.topic, type="input")
            )
        for number, turn in enumerate(opened.imported, 1):
            self.lines.append(copy_fields(PersonaTimelineLine, turn, id=number, seq=1))

    def _add_utterance(self, before: Meeting, after: Meeting, entry: Entry) -> None:
        utterance = after.memory.latest
        assert utterance is not None
        if not isinstance(entry.fact, TurnTaken):
            # The window holds a clipped text; the fact has the whole one.
            text = getattr(entry.fact, "text", utterance.text)
            self.lines.append(
                build_line(
                    PersonaTimelineLine, entry, utterance.id, utterance.speaker, text, type="input"
                )
            )
            return
        intent = before.intents.get(entry.fact.seat)
        relevance_score = None if intent is None else intent.reaction_score
        unaware_of = None
        inputs = before.user_inputs
        if inputs and inputs[-1].number > before.floor_heard:
            unaware_of = inputs[-1].number
        self._find_or_add_turn(before.turn).spoken = utterance.id
        self.lines.append(
            build_line(
                PersonaTimelineLine,
                entry,
                utterance.id,
                entry.fact.seat,
                entry.fact.said.content,
                type="speech",
                platform=before.seat(entry.fact.seat).platform,
                relevance_score=relevance_score,
                refers_to=utterance.refers_to,
                unaware_of=unaware_of,
            )
        )

    def list_silences(self) -> dict[SeatId, str]:
        if not self.turns or not self.state.is_talking or self.state.is_sealed:
            return {}
        return {
            bid.seat: bid.intent.reason
            for bid in self.turns[-1].bids
            if bid.intent is not None and not bid.intent.intent_to_speak
        }

    def _find_or_add_turn(self, number: int) -> PersonaTurn:
        if not self.turns or self.turns[-1].number != number:
            self.turns.append(PersonaTurn(number=number, seq=self.seq))
        return self.turns[-1]


def build_decision(timeline: PersonaTimeline) -> Decision:
    meeting, closed = timeline.state, timeline.closed
    concluded = closed if isinstance(closed, MeetingConcluded) else None
    draft = meeting.draft if concluded is not None else None
    opened = meeting.opened
    if draft and names_nothing(opened.subject.options, draft.choice, draft.decision.text):
        draft = None
    shared = replace(
        start_decision(timeline),
        # Whose last word is missing is known at the end.
        lost=(),
        positions=_build_positions(timeline, concluded),
        turns=sum(turn.spoken is not None for turn in timeline.turns),
    )
    if isinstance(closed, SessionImported):
        return apply_conclusion(shared, closed.conclusion)
    if concluded is None:
        return shared
    shared = replace(shared, how=_describe_how(timeline, concluded, draft))
    siding = [
        meeting.seat(position.seat)
        for position in concluded.positions
        if position.verdict != "abstain"
    ]
    is_new = draft is not None and is_new_answer(meeting)
    # An older record may have a figure, from comparing labels letter by letter.
    confidence = None if is_new else concluded.confidence
    decision = copy_fields(
        Decision,
        shared,
        concluded,
        confidence=confidence,
        confidence_from="blind" if confidence is not None else None,
        no_confidence="new_answer" if is_new else None,
        positions=shared.positions,
        voters=len(siding),
        minds=count_minds(siding),
        answers=_list_answered_inputs(timeline, concluded, draft),
    )
    if draft is None:
        return add_blind_results(decision, meeting.opened, meeting.seats)
    named = replace(decision, choice=draft.choice, headline=draft.headline)
    decided = replace(
        named,
        decision=_build_claim(draft.decision, timeline),
        held_before=list_draft_holders(meeting),
        author_confidence=draft.confidence,
        reasons=_build_claims(draft.reasons, timeline),
        dissent=_build_dissent(timeline, draft),
        obligations=_build_obligations(timeline),
        open_questions=_build_claims(draft.open_questions, timeline),
    )
    return add_blind_results(decided, meeting.opened, meeting.seats)


def _describe_how(
    timeline: PersonaTimeline, concluded: MeetingConcluded, draft: facts.Draft | None
) -> How:
    """Say how the conclusion came about, or why there is none."""
    if draft is not None:
        silent_writer: SeatId | None = None
        if timeline.state.last_speaker is None:
            silent_writer = concluded.author
        return ByVotes(silent_writer=silent_writer)
    limit = concluded.reason
    if limit in {"turns", "tokens", "money", "time"} and not timeline.state.stands:
        return Undecided(reason="limit", limit=limit)
    if limit == "called":
        return Undecided(reason="called")
    if concluded.author is None and 2 * len(concluded.lost) >= len(timeline.state.seats):
        return Undecided(reason="voices_lost")
    if timeline.state.last_speaker is None:
        return Undecided(reason="nobody_spoke")
    return Undecided(reason="nothing_proposed")


def _list_answered_inputs(
    timeline: PersonaTimeline, concluded: MeetingConcluded, draft: facts.Draft | None
) -> tuple[AnsweredInput, ...]:
    """Return what the conclusion says to each input of the user, and the inputs that it says nothing to."""
    replies = {reply.input: reply for reply in reversed(draft.answers)} if draft else {}
    known = {line.id: line for line in timeline.lines if line.speaker == USER and line.id > 1}
    answered: list[AnsweredInput] = []
    for number in sorted({*replies, *concluded.unanswered} & set(known)):
        text: str | None = None
        entries: tuple[int, ...] = ()
        if number in replies:
            text = replies[number].text
            entries = _keep_known(replies[number].entries, timeline)
        answered.append(
            AnsweredInput(input=number, asked=known[number].content, answer=text, entries=entries)
        )
    return tuple(answered)


def _keep_known(entries: tuple[int, ...], timeline: PersonaTimeline) -> tuple[int, ...]:
    return tuple(sorted({entry for entry in entries if 1 <= entry <= len(timeline.lines)}))


def _build_claim(claim: facts.DraftClaim, timeline: PersonaTimeline) -> SourcedClaim:
    return SourcedClaim(text=claim.text, entries=_keep_known(claim.entries, timeline))


def _build_claims(
    claims: tuple[facts.DraftClaim, ...], timeline: PersonaTimeline
) -> tuple[SourcedClaim, ...]:
    return tuple(_build_claim(claim, timeline) for claim in claims)


def _build_positions(
    timeline: PersonaTimeline, concluded: MeetingConcluded | None
) -> tuple[SeatPosition, ...]:
    meeting = timeline.state
    if meeting.is_sealed:
        return ()
    after = collect_last_words(meeting)
    weights: dict[SeatId, float] = {}
    if concluded:
        weights = {position.seat: position.weight for position in concluded.positions}
    first_kind = "position" if meeting.opened.settings.blind else "intent"
    positions = []
    for seat in meeting.seats:
        before, stand = meeting.positions.get(seat.id), after.get(seat.id)
        choice = meeting.choices.get(seat.id, "")
        if before is None and stand is None and not choice:
            continue
        # The last word of the author is its draft.
        last_kind = "draft" if seat.id == meeting.author else "stand"
        position = SeatPosition(
            seat=seat.id,
            weight=weights.get(seat.id, 0.0),
            choice_before=choice,
            via_before=timeline.find_first_door(seat.id, first_kind),
            via=timeline.find_door(seat.id, last_kind),
        )
        if before:
            position = replace(
                position,
                before=before.position,
                confidence_before=before.confidence,
                number_before=before.number,
            )
        if stand:
            is_known = (stand.moved_by or 0) <= meeting.last_id
            position = replace(
                position,
                after=stand.position or None,
                verdict=stand.verdict,
                confidence_after=stand.confidence,
                moved_by=stand.moved_by if is_known else None,
                moved_by_whom=_find_mover(timeline, seat.id, stand.moved_by),
            )
        positions.append(position)
    return tuple(positions)


def _find_mover(timeline: PersonaTimeline, seat: SeatId, moved_by: int | None) -> SeatId | None:
    """Return whose words changed the mind of a seat, as it says itself."""
    if moved_by is None or not 1 <= moved_by <= len(timeline.lines):
        return None
    speaker = timeline.lines[moved_by - 1].speaker
    if speaker in {seat, USER}:
        return None
    return speaker


def _build_dissent(timeline: PersonaTimeline, draft: facts.Draft) -> tuple[Dissent, ...]:
    """Return who opposes the conclusion, and the dissent that its author reports. A condition is an obligation instead."""
    dissent: list[Dissent] = []
    for seat, stand in collect_last_words(timeline.state).items():
        if stand.verdict == "oppose":
            dissent.append(Dissent(seat=seat, kind="oppose", text=stand.position))
    for each in draft.dissent:
        claim = _build_claim(each, timeline)
        dissent.append(Dissent(seat=None, kind="reported", text=claim.text, entries=claim.entries))
    return tuple(dissent)


def _build_obligations(timeline: PersonaTimeline) -> tuple[Obligation, ...]:
    """Return the conditions of those who support the conclusion: what must hold, and who set it (D-22)."""
    stands = collect_last_words(timeline.state)
    conditions: list[tuple[SeatId, str, str, tuple[int, ...]]] = []
    for seat, stand in stands.items():
        if stand.verdict == "conditional":
            conditions.append((seat, stand.condition or stand.position, stand.due, ()))
    who = {seat: stand.who for seat, stand in stands.items()}
    return number_obligations(conditions, timeline.settled, who)


def apply_conclusion(decision: Decision, conclusion: str) -> Decision:
    """Return the decision with what an imported conclusion says: what was decided, who dissents, how it ended.

    The file comes from outside: what has the expected form is taken, everything else is left out.
    """
    read = json.loads(conclusion)
    document = read if isinstance(read, dict) else {"decision": read}

    def read_each(name: str, shape: type[T], **usual: object) -> tuple[T, ...]:
        value = document.get(name)
        if not isinstance(value, list):
            return ()
        parts = [_read_part(shape, item, usual) for item in value]
        return tuple(part for part in parts if part is not None)

    return replace(
        decision,
        how=ByAuthor(author=None, is_imported=True),
        ended_by=_read_value(Words, document.get("ended_by")),
        decision=_read_part(SourcedClaim, document.get("decision"), {}),
        author=_read_value(Words, document.get("author")),
        confidence=_read_value(Share, document.get("confidence")),
        support=_read_value(Share, document.get("support")),
        turnout=_read_value(Share, document.get("turnout")),
        reasons=read_each("reasons", SourcedClaim),
        dissent=read_each("dissent", Dissent, seat=None, kind="reported"),
        obligations=read_each("obligations", Obligation),
        open_questions=read_each("open_questions", SourcedClaim),
        overruled=document.get("overruled") is True,
        answers=read_each("answers", AnsweredInput, answer=None),
        choice=(_read_value(Words, document.get("choice")) or "")[:MAX_LABEL_LENGTH],
    )


def _read_value(kind: Any, value: object) -> Any:
    """Return a value of an imported file if it is of this type, else None."""
    try:
        # As JSON: then a dataclass may be given as an object, and nothing is converted.
        return get_adapter(kind).validate_json(json.dumps(value), strict=True)
    except ValueError:
        return None


def _read_part(kind: type[T], value: Any, usual: Mapping[str, object]) -> T | None:
    """Return a part of a conclusion: an object, or its text alone; `usual` stands for fields that it lacks or cannot be read."""
    fields = dict(value) if isinstance(value, dict) else {"text": value or None}
    entries = fields.get("entries")
    fields["entries"] = (
        [each for each in entries if type(each) is int and each > 0]
        if isinstance(entries, list)
        else []
    )
    part: T | None = _read_value(kind, {**usual, **fields})
    return part if part is not None or not usual else _read_value(kind, {**fields, **usual})
