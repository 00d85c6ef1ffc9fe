"""The record of a consultation, and the plain-text forms that agents read: `Director，我需要咨询 @…：` and `FROM @…：`."""

from moothall.domain.consult import ConsultRequest
from moothall.domain.facts import Language
from moothall.domain.ids import SeatId
from moothall.domain.safe_text import one_line, strip_control
from moothall.locale.catalogues import CONSULTATION_PROMPT, ConsultationPromptText
from moothall.protocols.consultation.facts import Advice
from moothall.protocols.consultation.state import Consultation
from moothall.reports.markdown import quote_markdown
from moothall.reports.timeline import format_time


def render_request(language: Language, request: ConsultRequest, to: str) -> str:
    """Render a request as an agent writes it."""
    words = CONSULTATION_PROMPT[language]
    parts = {
        "question": request.question,
        "background": request.background,
        "understanding": request.understanding,
        "kind": "" if request.kind == "knowledge" else words.kinds[request.kind],
    }
    return "\n".join([words.request.format(to=one_line(to)), "", *_format_labelled_parts(words, parts)])


def render_advice(language: Language, seat: SeatId, advice: Advice) -> str:
    """Render a reply as an agent writes it."""
    words = CONSULTATION_PROMPT[language]
    other = f"@{one_line(advice.ask_instead)}" if advice.ask_instead else ""
    parts = {"answer": advice.answer, "notes": advice.notes, "unsure_of": advice.unsure_of, "ask_instead": other}
    return "\n".join([words.reply.format(seat=seat), "", *_format_labelled_parts(words, parts)])


def render_consultation_file(language: Language, consultation: Consultation, number: int) -> str:
    """Render the file `{i}_{from}_{to}.md`, in the form that projects of such agents use."""
    words = CONSULTATION_PROMPT[language]
    question, reply, unsure = words.sections
    status = "FAILED" if consultation.failure else "COMPLETED"
    at = "" if consultation.at is None else format_time(consultation.at)
    values = (str(number), consultation.seat, consultation.to, at, status)
    lines = [
        f"# Consultation #{number}: {consultation.seat} → {consultation.to}",
        "",
        f"| {words.heads[0]} | {words.heads[1]} |",
        "|------|------|",
        *(f"| {name} | {value} |" for name, value in zip(words.rows, values, strict=True)),
        *_render_section_head(question),
        *_render_question(words, consultation.request),
        *_render_section_head(reply),
        *_render_reply(words, consultation),
    ]
    doubts = _render_doubts(words, consultation)
    if doubts:
        lines += [*_render_section_head(unsure), *doubts]
    return "\n".join(lines) + "\n"


def _render_section_head(name: str) -> list[str]:
    return ["", "---", "", f"## {name}", ""]


def _render_question(words: ConsultationPromptText, request: ConsultRequest) -> list[str]:
    lines = [f"**{words.labels['kind']}**{words.colon}{words.kinds[request.kind]}", "", *quote_markdown(request.question)]
    for name, text in (("background", request.background), ("understanding", request.understanding)):
        if text:
            lines += ["", f"**{words.labels[name]}**{words.colon.strip()}", "", *quote_markdown(text)]
    return lines


def _render_reply(words: ConsultationPromptText, consultation: Consultation) -> list[str]:
    if consultation.failure or consultation.advice is None:
        reason = words.failures.get(consultation.failure) or words.losses.get(consultation.failure, consultation.failure)
        return [words.failed.format(to=consultation.to, reason=reason)]
    lines = [words.unknown.format(to=consultation.to), ""] if consultation.advice.is_unknown else []
    lines += quote_markdown(consultation.advice.answer)
    if consultation.advice.notes:
        lines += ["", f"**{words.labels['notes']}**{words.colon.strip()}", "", *quote_markdown(consultation.advice.notes)]
    return lines


def _render_doubts(words: ConsultationPromptText, consultation: Consultation) -> list[str]:
    advice = consultation.advice
    if advice is None or consultation.failure:
        return []
    lines = quote_markdown(advice.unsure_of) if advice.unsure_of else []
    if advice.ask_instead:
        lines += [
            *([""] if lines else []),
            f"{words.labels['ask_instead']}{words.colon}@{one_line(advice.ask_instead)}".replace("<", "&lt;"),
        ]
    return lines


def _format_labelled_parts(words: ConsultationPromptText, parts: dict[str, str]) -> list[str]:
    return [f"**{words.labels[name]}**{words.colon}{strip_control(text)}" for name, text in parts.items() if text]
