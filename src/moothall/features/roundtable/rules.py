"""The rulebook of a conference: speakers in turn, round by round, then the moderator's minutes.

A speaker that fails is asked once more, then skipped with its reason recorded. When the rounds are over, or the last speech of
every speaker declares consensus, the moderator concludes; if that fails, a speaker writes the minutes. Minutes without their
sections are sent back once, and then taken as they are.
"""

from collections.abc import Mapping
from typing import Final

from moothall.features.roundtable import facts
from moothall.features.roundtable.prompts import (
    FORMS,
    build_answer_rules,
    build_brief,
    build_next_prompt,
)
from moothall.features.roundtable.sections import find_missing_minutes
from moothall.features.roundtable.state import (
    Conference,
    NumberedInput,
    NumberedSpeech,
    SkippedTurn,
)
from moothall.features.roundtable.words import ROUNDTABLE_PROMPT
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

MAX_TRIES: Final = 2


class RoundtableRules:
    """Implements `Rulebook[Conference]`."""

    name = "roundtable"
    kinds: Mapping[str, type[Fact]] = facts.KINDS
    forms: Mapping[str, AnswerForm] = FORMS
    brief = staticmethod(build_brief)
    answer_rules = staticmethod(build_answer_rules)

    def initial(self, opened: Opened) -> Conference:
        assert isinstance(opened, facts.ConferenceOpened)
        conference = Conference(opened=opened, seats=opened.seats)
        return fast_replace(
            conference, prompt=opened.settings.prompt or ROUNDTABLE_PROMPT[opened.language].first
        )

    def evolve(self, state: Conference, entry: Entry) -> Conference:
        if state.is_closed:
            return state
        fact, state = entry.fact, evolve_shared(state, entry)
        match fact:
            case facts.SpeechGiven(ask=ask, seat=seat, said=facts.RoundtableSpeech() as said):
                return (
                    _apply_speech(state, entry, seat, said)
                    if _is_asked(state, ask, "speech", seat)
                    else state
                )
            case facts.MinutesWritten(ask=ask, seat=seat, said=facts.Minutes() as said):
                if not _is_asked(state, ask, "minutes", seat):
                    return state
                lacking = find_missing_minutes(said.content)
                state = fast_replace(state, minutes=said, author=seat, missing=lacking)
                # An agent from outside need not write whole minutes again for one line.
                is_unclear = state.decided_choice is None and not state.seat(seat).is_outside
                return fast_replace(state, missing=(*lacking, "choice")) if is_unclear else state
            case facts.MinutesReturned(seat=seat, missing=missing):
                # Its author is asked once more; its words stay, in case that nothing better comes.
                again = fast_replace(
                    state, minutes=None, author=None, turn=state.turn + 1, failed=0
                )
                return fast_replace(
                    again, returned=state.minutes, returned_to=seat, missing=missing
                )
            case SeatLost():
                return _apply_loss(state, fact)
            case facts.SpeakerSkipped(seat=seat, reason=reason):
                number, detail = state.taken + 1, state.last_detail
                absent = SkippedTurn(
                    number=number,
                    at=entry.at,
                    round=state.round,
                    seat=seat,
                    reason=reason,
                    detail=detail,
                )
                return _advance_turn(fast_replace(state, absences=(*state.absences, absent)))
            case facts.TalkConcluded(reason=reason):
                return fast_replace(
                    state, is_concluding=True, ended_by=reason, failed=0, turn=state.turn + 1
                )
            case InputGiven(text=text):
                given = NumberedInput(number=len(state.inputs) + 1, after=state.taken, text=text)
                return _put_minutes_again(fast_replace(state, inputs=(*state.inputs, given)))
            case _:
                return state

    def decide(self, state: Conference) -> tuple[Effect, ...]:
        if state.is_closed:
            return ()
        if state.status == "concluding":
            return self._conclude(state)
        ended = _find_end_reason(state)
        if ended is not None:
            # The round of the last speech, because `state.round` may already be the one after the last.
            last = state.speeches[-1].round if state.speeches else state.round
            return (Record(fact=facts.TalkConcluded(round=last, reason=ended)),)
        if state.failed >= MAX_TRIES:
            return (
                Record(
                    fact=facts.SpeakerSkipped(
                        round=state.round, seat=state.current, reason=state.last_loss
                    )
                ),
            )
        return (_build_ask(state, "speech", state.current),)

    def _conclude(self, state: Conference) -> tuple[Effect, ...]:
        if state.minutes is None and state.writers:
            return (_build_ask(state, "minutes", state.writers[0]),)
        if (
            state.minutes is not None
            and state.missing
            and state.author is not None
            and state.returned is None
        ):
            return (Record(fact=facts.MinutesReturned(seat=state.author, missing=state.missing)),)
        reason, missing = (
            state.ended_by or "rounds",
            state.missing if state.minutes is not None else (),
        )
        return (
            Record(
                fact=facts.ConferenceClosed(reason=reason, author=state.author, missing=missing)
            ),
        )


RULES: Final = RoundtableRules()


def _put_minutes_again(state: Conference) -> Conference:
    """Ask for the minutes once more, and once only, where the user has spoken while they are out (Q-8)."""
    is_out = state.status == "concluding" and state.minutes is None and bool(state.writers)
    if not is_out or state.is_put_again:
        return state
    return fast_replace(state, turn=state.turn + 1, is_put_again=True)


def _build_ask(state: Conference, kind: str, seat: SeatId) -> Ask:
    patience = state.opened.settings.patience
    return Ask(
        id=ask_id(state.turn, kind, seat),
        seat=seat,
        kind=kind,
        turn=state.round,
        patience=patience,
        timed_by="patience",
    )


def _is_asked(state: Conference, ask: str, kind: str, seat: SeatId) -> bool:
    if state.status == "open":
        awaited = (
            state.current
            if kind == "speech" and _find_end_reason(state) is None and state.failed < MAX_TRIES
            else None
        )
    else:
        awaited = (
            state.writers[0]
            if kind == "minutes" and state.writers and state.minutes is None
            else None
        )
    return seat == awaited and ask == ask_id(state.turn, kind, seat)


def _find_end_reason(state: Conference) -> facts.EndReason | None:
    # A talk that is over was not ended by a budget that its last speech used up.
    if state.stop == "called":
        return "called"
    if state.round > state.opened.settings.max_rounds:
        return "rounds"
    # A skipped speaker keeps its last declaration; one that never spoke prevents consensus.
    return "consensus" if state.speakers and set(state.speakers) <= state.agreeing else state.stop


def _apply_speech(
    state: Conference, entry: Entry, seat: SeatId, said: facts.RoundtableSpeech
) -> Conference:
    number = state.taken + 1
    speech = NumberedSpeech(
        number=number, seq=entry.seq, at=entry.at, round=state.round, seat=seat, said=said
    )
    # An outside agent may send a plain object: the text itself is also searched for the markers.
    read = facts.RoundtableSpeech.from_text(said.content)
    agreeing = (
        state.agreeing | {seat} if said.consensus or read.consensus else state.agreeing - {seat}
    )
    after = _advance_turn(
        fast_replace(state, speeches=(*state.speeches, speech), agreeing=agreeing)
    )
    return fast_replace(
        after, prompt=said.prompt or read.prompt or build_next_prompt(after, speech)
    )


def _advance_turn(state: Conference) -> Conference:
    """Move on to the next speaker; after the last one a new round begins."""
    index = state.index + 1
    is_over = index >= len(state.speakers)
    return fast_replace(
        state,
        index=0 if is_over else index,
        round=state.round + 1 if is_over else state.round,
        turn=state.turn + 1,
        failed=0,
    )


def _apply_loss(state: Conference, fact: SeatLost) -> Conference:
    kind = "speech" if state.status == "open" else "minutes"
    if not _is_asked(state, fact.ask, kind, fact.seat):
        return state
    # A speaker whom somebody passed over is not asked again.
    failed = MAX_TRIES if fact.reason == "passed_over" else state.failed + 1
    state = fast_replace(
        state,
        failed=failed,
        last_loss=fact.reason,
        last_detail=str(fact.cause),
        turn=state.turn + 1,
    )
    if state.status == "concluding" and failed >= MAX_TRIES and state.returned is not None:
        # Minutes without a section are better than none.
        return fast_replace(state, minutes=state.returned, author=state.returned_to, failed=0)
    if state.status == "concluding" and failed >= MAX_TRIES:
        return fast_replace(state, writers_lost=(*state.writers_lost, fact.seat), failed=0)
    return state
