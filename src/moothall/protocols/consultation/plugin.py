"""Consultation as the house takes it in: round any other protocol, and on its own, as one seat's question to another."""

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Annotated, Any, Final, Literal

from annotated_types import MaxLen

from moothall.domain.budget import ExpectedCalls
from moothall.domain.consult import ConsultKind, ConsultRequest, ConsultText
from moothall.domain.facts import Entry
from moothall.domain.ids import USER, SessionId, parse_seat_id
from moothall.domain.replace import copy_fields, dataclass
from moothall.domain.roster import validate_seats
from moothall.errors import BadSetting
from moothall.locale.catalogues import CONSULTATION_PROMPT, CONSULTATION_REPORT
from moothall.ports.plugin import AnyPlugin, Plan, ProtocolPlugin
from moothall.protocols.consultation import facts
from moothall.protocols.consultation.rules import (
    ConsultingRulebook,
    QuestionRulebook,
    QuestionRules,
)
from moothall.protocols.consultation.timeline import (
    ConsultationLog,
    add_and_describe_consultation,
    add_consultations,
    build_advice,
    build_request,
    get_consultations,
)
from moothall.reports import sections
from moothall.reports.blocks import Block, Card, Report, Strong, build_section
from moothall.reports.decision import Decision, SourcedClaim
from moothall.reports.how import ByAnswer, How
from moothall.reports.timeline import SessionTimeline


def wrap_with_consultations(plugin: AnyPlugin) -> AnyPlugin:
    """The plugin of a protocol for sessions with consultations."""
    if isinstance(plugin.rules, ConsultingRulebook):
        return plugin

    def build_report(timeline: SessionTimeline) -> Report:
        log = get_consultations(timeline)
        return add_consultations(plugin.report(timeline), log, (*log.consultations, *log.refusals))

    return replace(
        plugin,
        rules=ConsultingRulebook(plugin.rules, plugin.gates),
        timeline=partial(_build_timeline, plugin.timeline),
        describe=partial(add_and_describe_consultation, plugin.describe),
        report=build_report,
    )


def _build_timeline(build: Callable[[SessionId], Any], session: SessionId) -> Any:
    timeline = build(session)
    timeline.director = ConsultationLog()
    return timeline


@dataclass(frozen=True, slots=True, kw_only=True)
class ConsultationSettings:
    """Who asks whom. The topic is the question."""

    asker: Annotated[str, MaxLen(64)] = ""
    to: Annotated[str, MaxLen(64)] = ""
    background: ConsultText = ""
    understanding: ConsultText = ""
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
    return plan.opening(
        facts.QuestionOpened, seats=seats, asker=parse_seat_id(asker), request=request
    )


def build_decision(timeline: SessionTimeline) -> Decision:
    """What was answered; nothing where it failed, or where the seat does not know."""
    advice, opened = get_consultations(timeline).advice, timeline.session_state.opened
    assert isinstance(opened, facts.QuestionOpened)
    decision = replace(sections.start_decision(timeline), how=_describe_how(timeline, opened))
    if advice is None:
        return decision
    doubts = (SourcedClaim(text=advice.unsure_of),) if advice.unsure_of else ()
    if decision.ended_by != "answered":
        return replace(decision, open_questions=doubts)
    author, answer = parse_seat_id(opened.request.to), SourcedClaim(text=advice.answer)
    return replace(decision, decision=answer, author=author, open_questions=doubts, turns=1)


def _describe_how(timeline: SessionTimeline, opened: facts.QuestionOpened) -> How | None:
    """Say who was asked on behalf of whom, and what came of it; None while it goes on."""
    if timeline.closed is None:
        return None
    advice = get_consultations(timeline).advice
    outcome: Literal["answered", "unknown", "refused", "failed"] = "failed"
    match timeline.closed.ended_by:
        case "answered":
            outcome = "answered"
        case "unknown":
            outcome = "unknown"
        case "refused":
            outcome = "refused"
        case _:
            pass
    loss = ""
    if timeline.losses:
        loss = timeline.losses[-1].reason
    answer = ByAnswer(
        outcome=outcome, asked=opened.request.to, asker=opened.asker or USER, loss=loss
    )
    if advice is None:
        return answer
    return replace(answer, ask_instead=advice.ask_instead, unsure_of=advice.unsure_of)


def build_question_report(timeline: SessionTimeline) -> Report:
    """A consultation on its own: the answer, then the question, and what the director refused."""
    decision, opened, log = (
        build_decision(timeline),
        timeline.session_state.opened,
        get_consultations(timeline),
    )
    assert isinstance(opened, facts.QuestionOpened)
    words, texts = CONSULTATION_REPORT[timeline.language], CONSULTATION_PROMPT[timeline.language]
    to, advice = parse_seat_id(opened.request.to), log.advice
    full: tuple[Block, ...] = ()
    if decision.ended_by in {"answered", "unknown"} and advice is not None:
        advised = build_advice(advice, to, texts, "strong")
        full = (Card(blocks=advised, head=(Strong(to),), kind="decision"),)
    question = build_request(opened.asker, to, opened.request, texts)
    report = sections.build_report(
        timeline,
        decision,
        words,
        text=full,
        argument=(),
        figures=sections.list_figures(decision, words),
        record=build_section(words.question, (question,)),
        section="question",
        title=f"{words.minutes}: {opened.asker} → {to}",
    )
    if advice is not None:
        reply = Card(
            blocks=build_advice(advice, to, texts),
            head=(Strong(f"{to} → {opened.asker}"),),
            seat=to,
            kind="turn",
        )
        report = replace(report, replies=(reply,))
    # The question and its answer have cards already.
    return add_consultations(report, log, log.refusals)


def _add_entry(timeline: SessionTimeline, entry: Entry) -> list[str]:
    """Add one more entry, of which the director says all that there is to say."""
    timeline.add(entry)
    return []


CONSULTATION: Final = ProtocolPlugin(
    name="consultation",
    rules=QuestionRulebook(QuestionRules()),
    settings=ConsultationSettings,
    open=open_session,
    timeline=partial(_build_timeline, SessionTimeline),
    decision=build_decision,
    describe=partial(add_and_describe_consultation, _add_entry),
    report=build_question_report,
    consults=True,
    opens_by_question=False,
    expect=lambda opened: (
        ExpectedCalls(
            seats=tuple(seat.id for seat in opened.seats), least=0.5, most=2, is_in_turn=True
        ),
    ),
    refuses={
        "turns": "a consultation is one question and its answer; limit it with time or tokens",
        "facts": "a consultation asks one participant alone",
        "frame": "a consultation is answered in words",
        "options": "a consultation is answered in words; write possible answers into the question",
    },
)
