"""Consultation as the house takes it in: round any other protocol, and as a protocol of its own."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from typing import Annotated, Any, Final

from annotated_types import MaxLen

from moothall.domain.budget import ExpectedCalls
from moothall.domain.consult import ConsultKind, ConsultRequest
from moothall.domain.facts import Entry
from moothall.domain.ids import SessionId, parse_seat_id
from moothall.domain.roster import validate_seats
from moothall.errors import BadSetting
from moothall.ports.plugin import AnyPlugin, Plan, ProtocolPlugin
from moothall.protocols.consultation.facts import QuestionClosed, QuestionOpened
from moothall.protocols.consultation.report import add_consultations, build_question_report
from moothall.protocols.consultation.rules import ConsultingRulebook
from moothall.protocols.consultation.standalone import QUESTION_RULES, QuestionState
from moothall.protocols.consultation.timeline import ConsultingTimeline, add_and_describe_consultation
from moothall.reports.decision import Decision, SourcedClaim
from moothall.reports.sections import start_decision
from moothall.reports.timeline import TimelineBase

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


def open_session(plan: Plan) -> QuestionOpened:
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
    request = ConsultRequest(
        to=to, question=plan.topic, background=settings.background, understanding=settings.understanding, kind=settings.kind
    )
    return plan.opening(QuestionOpened, seats=seats, asker=parse_seat_id(asker), request=request)


class QuestionTimeline(TimelineBase[QuestionState]):
    """The question, and what became of it."""

    def __init__(self, session: SessionId) -> None:
        super().__init__(session, QUESTION_RULES)

    def apply_shared(self, entry: Entry) -> None:
        super().apply_shared(entry)
        # Of all protocols this one sees what the director says, which reaches the others as shared facts only.
        if isinstance(entry.fact, QuestionOpened):
            self._state = QUESTION_RULES.initial(entry.fact)
        else:
            self._state = QUESTION_RULES.evolve(self.state, entry)

    def add(self, entry: Entry) -> None:
        self.apply_shared(entry)


def build_decision(timeline: QuestionTimeline) -> Decision:
    """What was answered; nothing where it failed."""
    question = timeline.state
    closed = timeline.closed if isinstance(timeline.closed, QuestionClosed) else None
    is_answered = closed is not None and closed.outcome in {"answered", "unknown"} and question.advice is not None
    start = start_decision(timeline)
    return replace(
        start,
        ended_by=closed.outcome if closed else start.ended_by,
        decision=SourcedClaim(text=question.advice.answer) if is_answered and question.advice else None,
        author=parse_seat_id(question.opened.request.to) if is_answered else None,
        open_questions=(SourcedClaim(text=question.advice.unsure_of),) if question.advice and question.advice.unsure_of else (),
        turns=int(is_answered),
    )


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
    report=lambda timeline: build_question_report(timeline, build_decision(timeline)),
    consults=True,
    expect=lambda opened: (ExpectedCalls(seats=tuple(seat.id for seat in opened.seats), least=0.5, most=2, is_in_turn=True),),
    refuses={
        "turns": "a consultation is one question and its answer; limit it with time or tokens",
        "options": "a consultation is answered in words; write possible answers into the question",
    },
)
