"""Consultation as the house takes it in: round any other protocol, and on its own, as one seat's question to another."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import Annotated, Any, Final

from annotated_types import MaxLen

from moothall.domain.answer_table import fill_brief
from moothall.domain.budget import ExpectedCalls
from moothall.domain.consult import ConsultKind, ConsultRequest
from moothall.domain.effects import AnswerForm, AnswerRules, Ask, Brief, Effect, Record
from moothall.domain.facts import BudgetExhausted, CloseCalled, Entry, Fact, Opened, SeatLost
from moothall.domain.ids import AskId, SessionId, ask_id, parse_seat_id
from moothall.domain.protocol_state import ProtocolState, evolve_shared
from moothall.domain.replace import copy_fields, fast_replace
from moothall.domain.roster import validate_seats
from moothall.domain.safe_text import one_line, quote_lines
from moothall.errors import BadSetting
from moothall.locale.catalogues import CONSULTATION_PROMPT, CONSULTATION_REPORT
from moothall.ports.plugin import AnyPlugin, Plan, ProtocolPlugin
from moothall.protocols.consultation import facts
from moothall.protocols.consultation.prompts import build_conclusion_ask
from moothall.protocols.consultation.report import add_consultations, build_advice, build_request
from moothall.protocols.consultation.rules import ConsultingRulebook
from moothall.protocols.consultation.timeline import ConsultingTimeline, add_and_describe_consultation
from moothall.reports import sections
from moothall.reports.blocks import Card, Report, Strong, build_section
from moothall.reports.decision import Decision, SourcedClaim
from moothall.reports.timeline import TimelineBase

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
        return fill_brief(
            state,
            ask,
            AnswerRules(form=self.forms[facts.QUESTION], person=person),
            system=words.system,
            shared=f"{words.topic}\n{quote_lines(question)}",
            own=words.you.format(seat=one_line(ask.seat)),
            subject=question,
        )


QUESTION_RULES: Final = QuestionRules()


QuestionText = Annotated[str, MaxLen(8_000)]


def wrap_with_consultations(plugin: AnyPlugin) -> AnyPlugin:
    """The plugin of a protocol for sessions with consultations."""
    return replace(
        plugin,
        rules=ConsultingRulebook(plugin.rules, plugin.gates),
        timeline=lambda session: ConsultingTimeline(session, plugin.timeline(session)),
        decision=lambda timeline: plugin.decision(timeline.within),
        describe=partial(add_and_describe_consultation, plugin.describe),
        report=lambda timeline: add_consultations(plugin.report(timeline.within), timeline),
        exports={form: partial(_export_inner, export) for form, export in plugin.exports.items()},
    )


def _export_inner(export: Callable[[Any], str], timeline: ConsultingTimeline) -> str:
    return export(timeline.within)


@dataclass(frozen=True, slots=True, kw_only=True)
class ConsultationSettings:
    """Who asks whom. The topic is the question."""

    asker: Annotated[str, MaxLen(64)] = ""
    to: Annotated[str, MaxLen(64)] = ""
    background: QuestionText = ""
    understanding: QuestionText = ""
    kind: ConsultKind = "knowledge"


def open_session(plan: Plan) -> facts.QuestionOpened:
    """The opening of a consultation on its own; raises BadSetting, BadRoster."""
    settings = plan.settings
    assert isinstance(settings, ConsultationSettings)
    seats = validate_seats(plan.seats, fewest=2)
    names = [seat.id for seat in seats]
    asker, to = settings.asker or names[0], settings.to or names[1]
    for what, name in (("asker", asker), ("to", to)):
        if parse_seat_id(name) not in names:
            raise BadSetting(f"{what} = {name!r} has no seat; the seats are: {', '.join(names)}")
    if asker == to:
        raise BadSetting(f"{asker!r} cannot consult itself; name another seat")
    if len(plan.topic) > 8_000:
        raise BadSetting(f"the question has {len(plan.topic)} characters; at most 8000 are taken")
    request = copy_fields(ConsultRequest, settings, to=to, question=plan.topic)
    return plan.opening(facts.QuestionOpened, seats=seats, asker=parse_seat_id(asker), request=request)


class QuestionTimeline(TimelineBase[QuestionState]):
    """The question, and what became of it."""

    def __init__(self, session: SessionId) -> None:
        super().__init__(session, QUESTION_RULES)

    def apply_shared(self, entry: Entry) -> None:
        super().apply_shared(entry)
        # Of all protocols this one sees what the director says, which reaches the others as shared facts only.
        if isinstance(entry.fact, facts.QuestionOpened):
            self._state = QUESTION_RULES.initial(entry.fact)
        else:
            self._state = QUESTION_RULES.evolve(self.state, entry)

    def add(self, entry: Entry) -> None:
        self.apply_shared(entry)


def build_decision(timeline: QuestionTimeline) -> Decision:
    """What was answered; nothing where it failed."""
    question = timeline.state
    closed = timeline.closed if isinstance(timeline.closed, facts.QuestionClosed) else None
    is_answered = closed is not None and closed.outcome in {"answered", "unknown"} and question.advice is not None
    start = sections.start_decision(timeline)
    return replace(
        start,
        ended_by=closed.outcome if closed else start.ended_by,
        decision=SourcedClaim(text=question.advice.answer) if is_answered and question.advice else None,
        author=parse_seat_id(question.opened.request.to) if is_answered else None,
        open_questions=(SourcedClaim(text=question.advice.unsure_of),) if question.advice and question.advice.unsure_of else (),
        turns=int(is_answered),
    )


def build_question_report(timeline: QuestionTimeline) -> Report:
    """A consultation on its own: the answer, then the question; the director adds the rest."""
    decision = build_decision(timeline)
    opened, words, texts = timeline.state.opened, CONSULTATION_REPORT[timeline.language], CONSULTATION_PROMPT[timeline.language]
    to, advice = parse_seat_id(opened.request.to), timeline.state.advice
    answer = Card(blocks=sections.explain_no_decision(timeline, decision, words), kind="decision")
    if decision.decision is not None and advice is not None:
        answer = Card(blocks=build_advice(advice, to, texts, "strong"), head=(Strong(to),), kind="decision")
    question = build_request(opened.asker, to, opened.request, texts)
    report = sections.build_report(
        timeline,
        decision,
        words,
        decision_blocks=(*build_section(words.decision, (answer,)), sections.build_spent(decision, words)),
        record=(*build_section(words.question, (question,)), *sections.build_losses(timeline, words)),
        section="question",
        title=f"{words.minutes}: {opened.asker} → {to}",
    )
    if advice is None:
        return report
    reply = Card(blocks=build_advice(advice, to, texts), head=(Strong(f"{to} → {opened.asker}"),), seat=to, kind="turn")
    return replace(report, replies=(reply,))


def add_and_describe_entry(timeline: QuestionTimeline, entry: Entry) -> list[str]:
    """Tell one more entry; the director tells the rest."""
    timeline.add(entry)
    return []


CONSULTATION: Final = ProtocolPlugin(
    name="consultation",
    rules=QUESTION_RULES,
    settings=ConsultationSettings,
    open=open_session,
    timeline=QuestionTimeline,
    decision=build_decision,
    describe=add_and_describe_entry,
    report=build_question_report,
    consults=True,
    expect=lambda opened: (ExpectedCalls(seats=tuple(seat.id for seat in opened.seats), least=0.5, most=2, is_in_turn=True),),
    refuses={
        "turns": "a consultation is one question and its answer; limit it with time or tokens",
        "options": "a consultation is answered in words; write possible answers into the question",
    },
)
