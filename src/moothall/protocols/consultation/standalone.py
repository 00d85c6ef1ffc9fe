"""A standalone consultation: one seat's question to another, through the director, with its record."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import Final

from moothall.domain.answer_table import start_brief
from moothall.domain.effects import AnswerForm, AnswerRules, Ask, Brief, Effect, Record
from moothall.domain.facts import BudgetExhausted, CloseCalled, Entry, Fact, Opened, SeatLost
from moothall.domain.ids import AskId, ask_id
from moothall.domain.protocol_state import ProtocolState, evolve_shared
from moothall.domain.replace import fast_replace
from moothall.domain.safe_text import one_line, quote_lines
from moothall.locale.catalogues import CONSULTATION_PROMPT
from moothall.protocols.consultation import facts
from moothall.protocols.consultation.prompts import build_conclusion_ask

PATIENCE: Final = 600.0


@dataclass(frozen=True, kw_only=True)
class QuestionState(ProtocolState):
    """The state of a question. `advice` is the answer before it is recorded; `outcome` is set when the question is settled."""

    opened: facts.QuestionOpened
    advice: facts.Advice | None = None
    outcome: facts.Outcome | None = None

    @property
    def ask(self) -> AskId:
        return ask_id(1, facts.QUESTION, self.opened.asker)


class QuestionRules:
    """Implements `Rulebook[QuestionState]`.

    It ends when the director has answered, and sees the director's facts, unlike others.
    """

    name = "consultation"
    kinds: Mapping[str, type[Fact]] = facts.QUESTION_KINDS
    forms: Mapping[str, AnswerForm] = facts.QUESTION_FORMS

    def initial(self, opened: Opened) -> QuestionState:
        assert isinstance(opened, facts.QuestionOpened)
        return QuestionState(opened=opened, seats=opened.seats)

    def evolve(self, state: QuestionState, entry: Entry) -> QuestionState:
        if state.is_closed:
            return state
        state = evolve_shared(state, entry)
        match entry.fact:
            case facts.ConsultationAnswered(said=facts.Advice() as advice):
                return fast_replace(state, advice=advice)
            # Only a recorded answer counts; see `ConsultationFiled`.
            case facts.ConsultationFiled():
                known: facts.Outcome = "answered" if state.advice and not state.advice.is_unknown else "unknown"
                return fast_replace(state, outcome=state.outcome or (known if state.advice else "failed"))
            case facts.ConsultationFailed(reason="unrecorded"):
                return fast_replace(state, advice=None, outcome="failed")
            case facts.ConsultationRefused(reason=reason) if reason != "nested":
                return fast_replace(state, outcome=state.outcome or "refused")
            case facts.QuestionAnswered(ask=ask, said=facts.AskerConclusion()) if ask == state.ask:
                return fast_replace(state, outcome=state.outcome or "answered")
            case SeatLost(ask=ask) if ask == state.ask:
                return fast_replace(state, outcome=state.outcome or "failed")
            case BudgetExhausted() | CloseCalled():
                return fast_replace(state, outcome=state.outcome or state.stop)
            case _:
                return state

    def decide(self, state: QuestionState) -> tuple[Effect, ...]:
        if state.is_closed:
            return ()
        if state.outcome is not None:
            return (Record(fact=facts.QuestionClosed(outcome=state.outcome)),)
        asker = state.opened.asker
        # `first` makes the director consult the other seat before the asker is asked; the filed answer settles the question.
        return (Ask(id=state.ask, seat=asker, kind=facts.QUESTION, turn=1, patience=PATIENCE, first=state.opened.request),)

    def brief(self, state: QuestionState, ask: Ask) -> Brief:
        words = CONSULTATION_PROMPT[state.opened.language]
        question = state.opened.request.question
        person = partial(build_conclusion_ask, state.opened.language)
        return replace(
            start_brief(state, ask, AnswerRules(form=self.forms[facts.QUESTION], person=person), words.system),
            shared=f"{words.topic}\n{quote_lines(question)}",
            own=words.you.format(seat=one_line(ask.seat)),
            subject=question,
        )


QUESTION_RULES: Final = QuestionRules()
