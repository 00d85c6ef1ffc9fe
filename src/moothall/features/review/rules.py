"""The rulebook of a review: all seats inspect each part blind, check what few of them raised, and vote on what is disputed."""

from collections.abc import Mapping
from itertools import repeat
from typing import Final

from moothall.features.review import facts
from moothall.features.review.prompts import FORMS, build_answer_rules, build_brief
from moothall.features.review.state import Heard, Report, Review, merge_findings, start_stands
from moothall.plugins import (
    AnswerForm,
    Ask,
    Effect,
    Entry,
    Fact,
    InputGiven,
    Opened,
    Record,
    SeatId,
    SeatLost,
    ask_id,
    evolve_shared,
    fast_replace,
)


class ReviewRules:
    """Implements `Rulebook[Review]`."""

    name = "review"
    kinds: Mapping[str, type[Fact]] = facts.KINDS
    forms: Mapping[str, AnswerForm] = FORMS
    brief = staticmethod(build_brief)
    answer_rules = staticmethod(build_answer_rules)

    def initial(self, opened: Opened) -> Review:
        assert isinstance(opened, facts.ReviewOpened)
        return Review(opened=opened, seats=opened.seats)

    def evolve(self, state: Review, entry: Entry) -> Review:
        if state.is_closed:
            return state
        fact, state = entry.fact, evolve_shared(state, entry)
        match fact:
            case (
                facts.ChangeInspected(said=facts.FindingsReport() as said)
                | facts.FindingsWeighed(said=facts.StandsReport() as said)
            ) if _is_awaited(state, fact.ask, fact.seat):
                return _finish_ask(_hear(state, fact.seat, said), fact.seat, entry)
            case SeatLost(ask=ask, seat=seat) if _is_awaited(state, ask, seat):
                # What it had said before the user's last word stands.
                if seat in state.earlier:
                    state = _hear(state, seat, state.earlier[seat])
                return _finish_ask(state, seat, entry)
            case InputGiven():
                return _put_turn_again(state)
            case facts.FindingsMerged(findings=findings) if state.findings is None:
                merged = fast_replace(
                    state,
                    findings=findings,
                    stands=start_stands(findings),
                    opened_up_to=entry.seq,
                )
                merged = _begin_turn(merged, len(state.parts) + 1)
                return merged if merged.list_asked() else _begin_turn(merged, merged.turn + 1)
            case _:
                return state

    def decide(self, state: Review) -> tuple[Effect, ...]:
        if state.is_closed:
            return ()
        kind, turn = state.kind, state.turn
        if state.stop is None:
            patience = state.opened.settings.patience
            longer = max(patience, facts.AUTHOR_PATIENCE)
            waits = {
                seat: longer if seat == facts.AUTHOR else patience for seat in state.list_asked()
            }
            asks = tuple(
                Ask(
                    id=ask_id(state.ask_number, kind, seat),
                    seat=seat,
                    kind=kind,
                    turn=turn,
                    patience=wait,
                    timed_by="patience",
                )
                for seat, wait in waits.items()
                if seat not in state.answered
            )
            if asks:
                return asks
        if state.findings is None:
            return (Record(fact=facts.FindingsMerged(findings=merge_findings(state))),)
        verdict, reason = state.reach_verdict()
        return (Record(fact=facts.ReviewClosed(reason=reason, verdict=verdict)),)


RULES: Final = ReviewRules()


def _is_awaited(state: Review, ask: str, seat: SeatId) -> bool:
    is_open = bool(state.kind) and seat in state.list_asked() and seat not in state.answered
    return is_open and ask == ask_id(state.ask_number, state.kind, seat)


def _hear(state: Review, seat: SeatId, said: Report) -> Review:
    """Return the state after the words of a seat."""
    state = fast_replace(
        state,
        said={**state.said, seat: said},
        replies=(*state.replies, (seat, said.to_user)),
    )
    if isinstance(said, facts.FindingsReport):
        raised = (*state.raised, *((seat, each) for each in said.findings))
        readers = {**state.readers, state.turn: (*state.readers.get(state.turn, ()), seat)}
        unread = (*state.unread, *zip(repeat(seat), said.unread, strict=False))
        return fast_replace(state, raised=raised, unread=unread, readers=readers)
    asked = {each.number for each in state.list_questions(seat)}
    fresh = (*state.fresh, *((seat, each) for each in said.stands if each.finding in asked))
    unread = (*state.unread_words, *zip(repeat(seat), said.unread, strict=False))
    return fast_replace(state, fresh=fresh, unread_words=unread)


def _begin_turn(state: Review, turn: int) -> Review:
    before = Heard(
        raised=len(state.raised),
        unread=len(state.unread),
        unread_words=len(state.unread_words),
        replies=len(state.replies),
    )
    return fast_replace(
        state,
        turn=turn,
        answered=frozenset(),
        before=before,
        said={},
        earlier={},
        is_put_again=False,
    )


def _put_turn_again(state: Review) -> Review:
    """Ask all once more, and once only, where the user has spoken while words on findings or on the last part are out (Q-8)."""
    is_last = state.kind in {facts.CHECK, facts.SETTLE} or state.turn == len(state.parts)
    if not is_last or not state.kind or state.is_put_again or state.stop is not None:
        return state
    before = state.before
    readers = {part: seats for part, seats in state.readers.items() if part != state.turn}
    again = fast_replace(
        state,
        is_put_again=True,
        earlier=state.said,
        said={},
        answered=frozenset(),
        readers=readers,
        fresh=(),
    )
    return fast_replace(
        again,
        raised=state.raised[: before.raised],
        unread=state.unread[: before.unread],
        unread_words=state.unread_words[: before.unread_words],
        replies=state.replies[: before.replies],
    )


def _finish_ask(state: Review, seat: SeatId, entry: Entry) -> Review:
    """Count an ask as settled; after the last one of a turn its words are opened, and the next turn begins."""
    state = fast_replace(state, answered=state.answered | {seat})
    if not state.answered >= set(state.list_asked()):
        return state
    if state.findings is None:
        return _begin_turn(state, state.turn + 1)
    stands = {number: dict(each) for number, each in state.stands.items()}
    for speaker, stand in state.fresh:
        stands.setdefault(stand.finding, {})[speaker] = stand
    opened = fast_replace(state, stands=stands, fresh=(), opened_up_to=entry.seq)
    return _begin_turn(opened, state.turn + 1)
