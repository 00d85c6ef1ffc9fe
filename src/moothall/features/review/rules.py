"""The rulebook of a review: all seats inspect each part blind, check what few of them raised, and vote on what is disputed."""

from collections.abc import Mapping
from itertools import repeat
from typing import Final

from moothall.features.review import facts
from moothall.features.review.prompts import FORMS, build_answer_rules, build_brief
from moothall.features.review.state import Review, merge_findings, start_stands
from moothall.plugins import (
    AnswerForm,
    Ask,
    Effect,
    Entry,
    Fact,
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
            case facts.ChangeInspected(ask=ask, seat=seat, said=facts.FindingsReport() as said) if (
                _is_awaited(state, ask, seat)
            ):
                raised = (*state.raised, *((seat, each) for each in said.findings))
                readers = {**state.readers, state.turn: (*state.readers.get(state.turn, ()), seat)}
                unread = (*state.unread, *zip(repeat(seat), said.unread, strict=False))
                heard = fast_replace(state, raised=raised, unread=unread, readers=readers)
                return _finish_ask(heard, seat, entry)
            case facts.FindingsWeighed(ask=ask, seat=seat, said=facts.StandsReport() as said) if (
                _is_awaited(state, ask, seat)
            ):
                asked = {each.number for each in state.list_questions(seat)}
                fresh = (
                    *state.fresh,
                    *((seat, each) for each in said.stands if each.finding in asked),
                )
                unread = (*state.unread_words, *zip(repeat(seat), said.unread, strict=False))
                heard = fast_replace(state, fresh=fresh, unread_words=unread)
                return _finish_ask(heard, seat, entry)
            case SeatLost(ask=ask, seat=seat) if _is_awaited(state, ask, seat):
                return _finish_ask(state, seat, entry)
            case facts.FindingsMerged(findings=findings) if state.findings is None:
                merged = fast_replace(
                    state,
                    findings=findings,
                    stands=start_stands(findings),
                    turn=len(state.parts) + 1,
                    answered=frozenset(),
                    opened_up_to=entry.seq,
                )
                return merged if merged.list_asked() else fast_replace(merged, turn=merged.turn + 1)
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
                    id=ask_id(turn, kind, seat),
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
    return is_open and ask == ask_id(state.turn, state.kind, seat)


def _finish_ask(state: Review, seat: SeatId, entry: Entry) -> Review:
    """Count an ask as settled; after the last one of a turn its words are opened, and the next turn begins."""
    state = fast_replace(state, answered=state.answered | {seat})
    if not state.answered >= set(state.list_asked()):
        return state
    if state.findings is None:
        return fast_replace(state, turn=state.turn + 1, answered=frozenset())
    stands = {number: dict(each) for number, each in state.stands.items()}
    for speaker, stand in state.fresh:
        stands.setdefault(stand.finding, {})[speaker] = stand
    return fast_replace(
        state,
        stands=stands,
        fresh=(),
        turn=state.turn + 1,
        answered=frozenset(),
        opened_up_to=entry.seq,
    )
