"""Consultation as the house takes it in: round any other protocol, and as a protocol of its own."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import Annotated, Any, Final

from annotated_types import MaxLen

from moot.domain.consult import ConsultKind, ConsultRequest
from moot.domain.facts import Entry, SessionCancelled
from moot.domain.ids import SessionId, parse_seat_id
from moot.domain.roster import validate_seats
from moot.domain.safe_text import one_line, strip_control
from moot.errors import BadSetting
from moot.ports.plugin import Plan, ProtocolPlugin
from moot.protocols.consultation.facts import QuestionClosed, QuestionOpened
from moot.protocols.consultation.prompt_text import PROMPT_TEXT
from moot.protocols.consultation.record_text import render_advice, render_request
from moot.protocols.consultation.rules import ConsultingRulebook
from moot.protocols.consultation.standalone import QUESTION_RULES, QuestionState
from moot.protocols.consultation.timeline import (
    ConsultingTimeline,
    add_and_describe_consultation,
    render_html_section,
    render_section,
)
from moot.reports.costs import build_cost_rows, format_money
from moot.reports.decision import Decision, SourcedClaim
from moot.reports.markdown import format_table, quote_markdown
from moot.reports.shared_text import SHARED_REPORT_TEXT
from moot.reports.summary import SummaryLine
from moot.reports.timeline import TimelineBase, format_time

QuestionText = Annotated[str, MaxLen(8_000)]
_END: Final = "</main>"


def wrap_with_consultations(plugin: ProtocolPlugin) -> ProtocolPlugin:
    """A protocol's kit for sessions with consultations."""
    return replace(
        plugin,
        rules=ConsultingRulebook(plugin.rules, plugin.gates),
        tell=lambda session: ConsultingTimeline(session, plugin.tell(session)),
        decision=lambda timeline: plugin.decision(timeline.within),
        lines=partial(add_and_describe_consultation, plugin.lines),
        summary=lambda timeline: _summarize_consultations(plugin, timeline),
        exports=_build_exports(plugin),
    )


def _summarize_consultations(plugin: ProtocolPlugin, timeline: ConsultingTimeline) -> list[SummaryLine]:
    lines = plugin.summary(timeline.within)
    if not timeline.consultations and not timeline.refusals:
        return lines
    words = timeline.words
    paths = [line.filed.path for line in timeline.consultations if line.filed is not None]
    failed = sum(line.status == "failed" for line in timeline.consultations)
    text = f"{words.consultations}: {len(timeline.consultations)}"
    text += f", {words.told_failed}: {failed}" if failed else ""
    text += f", {words.told_refused}: {len(timeline.refusals)}" if timeline.refusals else ""
    text += f" · {one_line(', '.join(paths))}" if paths else ""
    return [*lines[:-1], SummaryLine(text, "dim"), *lines[-1:]]


def _build_exports(plugin: ProtocolPlugin) -> Mapping[str, Callable[[Any], str]]:
    def append_markdown_section(timeline: ConsultingTimeline) -> str:
        own, parts = plugin.exports["minutes"](timeline.within), render_section(timeline)
        return own if not parts else "\n".join([own.rstrip("\n"), "", *parts]) + "\n"

    def insert_html_section(timeline: ConsultingTimeline) -> str:
        own = plugin.exports["html"](timeline.within)
        head, end, rest = own.rpartition(_END)
        return f"{head}{render_html_section(timeline)}{end}{rest}"

    def export_inner(export: Callable[[Any], str], timeline: ConsultingTimeline) -> str:
        return export(timeline.within)

    found: dict[str, Callable[[Any], str]] = {name: partial(export_inner, export) for name, export in plugin.exports.items()}
    found |= {"minutes": append_markdown_section} if "minutes" in found else {}
    return found | ({"html": insert_html_section} if "html" in found else {})


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
        to=to,
        question=plan.topic,
        background=settings.background,
        understanding=settings.understanding,
        kind=settings.kind,
    )
    return QuestionOpened(
        topic=plan.topic,
        language=plan.language,
        seed=plan.seed,
        seats=seats,
        budget=plan.budget,
        outside_patience=plan.outside_patience,
        subject=plan.subject,
        hosted=plan.hosted,
        asker=parse_seat_id(asker),
        request=request,
    )


class QuestionTimeline(TimelineBase):
    """The question, and what became of it."""

    def __init__(self, session: SessionId) -> None:
        super().__init__(session)
        self._question: QuestionState | None = None

    @property
    def question(self) -> QuestionState:
        assert self._question is not None, "a story begins with the opening"
        return self._question

    def apply_shared(self, entry: Entry) -> None:
        super().apply_shared(entry)
        if isinstance(entry.fact, QuestionOpened):
            self._question = QUESTION_RULES.initial(entry.fact)
        else:
            # Of all protocols this one hears what the director says.
            self._question = QUESTION_RULES.evolve(self.question, entry)

    def add(self, entry: Entry) -> None:
        self.apply_shared(entry)


def build_decision(timeline: QuestionTimeline) -> Decision:
    """What was answered; nothing where it failed."""
    question = timeline.question
    closed = timeline.closed if isinstance(timeline.closed, QuestionClosed) else None
    is_answered = closed is not None and closed.outcome in {"answered", "unknown"} and question.advice is not None
    is_cancelled = isinstance(timeline.closed, SessionCancelled)
    return Decision(
        session=timeline.session,
        topic=question.opened.topic,
        status="thinking" if timeline.closed is None else "cancelled" if is_cancelled else "concluded",
        ended_by=closed.outcome if closed else "cancelled" if is_cancelled else None,
        decision=SourcedClaim(text=question.advice.answer) if is_answered and question.advice else None,
        author=parse_seat_id(question.opened.request.to) if is_answered else None,
        confidence=None,
        support=None,
        turnout=None,
        reasons=(),
        positions=(),
        dissent=(),
        open_questions=(SourcedClaim(text=question.advice.unsure_of),) if question.advice and question.advice.unsure_of else (),
        lost=(),
        could_differ=False,
        turns=int(is_answered),
        spent=timeline.spent,
    )


def add_and_describe_entry(timeline: QuestionTimeline, entry: Entry) -> list[str]:
    """Tell one more entry; the director tells the rest."""
    timeline.add(entry)
    return []


def build_summary(timeline: QuestionTimeline) -> list[SummaryLine]:
    """The answer as the one who asked gets it."""
    question, language = timeline.question, timeline.question.opened.language
    words, decision = PROMPT_TEXT[language], build_decision(timeline)
    to = parse_seat_id(question.opened.request.to)
    spent = decision.spent
    cost = SummaryLine(
        f"{SHARED_REPORT_TEXT[language].spent.format(calls=spent.calls, tokens=spent.tokens)} · {format_money(spent)}", "dim"
    )
    if decision.decision is not None and question.advice is not None:
        return [SummaryLine(strip_control(render_advice(language, to, question.advice)), "strong"), cost]
    status = "failed" if timeline.closed is not None else "open"
    return [SummaryLine(f"@{to}: {words.statuses[status]}", "bad" if status == "failed" else "strong"), cost]


def render_minutes(timeline: QuestionTimeline) -> str:
    """The question as it was asked, and what it cost; the director adds the rest."""
    opening, language = timeline.question.opened, timeline.question.opened.language
    shared = SHARED_REPORT_TEXT[language]
    rows = build_cost_rows(timeline.costs, opening.seats, timeline.spent, shared.total)
    return "\n".join(
        [
            f"# {PROMPT_TEXT[language].consultations}: {opening.asker} → {one_line(opening.request.to)}",
            "",
            *quote_markdown(render_request(language, opening.request, opening.request.to)),
            "",
            f"## {shared.cost}",
            "",
            *format_table(shared.cost_heads, rows),
            "",
            f"{format_time(timeline.opened_at)} – {format_time(timeline.last_at)}",
            "",
        ]
    )


CONSULTATION: Final = ProtocolPlugin(
    name="consultation",
    rules=QUESTION_RULES,
    settings=ConsultationSettings,
    open=open_session,
    tell=QuestionTimeline,
    decision=build_decision,
    lines=add_and_describe_entry,
    summary=build_summary,
    exports={"minutes": render_minutes},
    consults=True,
)
