"""What the director of consultations asks seats and people, and the plain-text forms that agents read and write."""

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Final

from moothall.domain.answer_table import fill_brief
from moothall.domain.consult import ConsultRequest, RecordFileRequest
from moothall.domain.context import ContextWindow, Perception, Utterance
from moothall.domain.effects import AnswerForm, AnswerRules, Ask, Brief, no_fault
from moothall.domain.facts import Language
from moothall.domain.ids import SeatId
from moothall.domain.person import PersonAsk
from moothall.domain.prompt_parts import introduce_seat
from moothall.domain.replace import copy_fields
from moothall.domain.safe_text import one_line, quote_lines, quote_user, shorten_text, strip_control
from moothall.locale.catalogues import (
    CONSULTATION_PERSON,
    CONSULTATION_PROMPT,
    PARTICIPANT_PROMPT,
    ConsultationPromptText,
)
from moothall.protocols.consultation.facts import CONSULT, Advice
from moothall.protocols.consultation.state import Consultation, ConsultingState, strip_repeat_id
from moothall.reports.person_steps import WORDS, ask_words
from moothall.reports.plain_text import quote_markdown
from moothall.reports.timeline import format_time


def render_request(language: Language, request: ConsultRequest, to: str) -> str:
    words = CONSULTATION_PROMPT[language]
    parts = {
        "question": request.question,
        "background": request.background,
        "understanding": request.understanding,
        "kind": "" if request.kind == "knowledge" else words.kinds[request.kind],
    }
    return "\n".join(
        [words.request.format(to=one_line(to)), "", *_format_labelled_parts(words, parts)]
    )


def _render_question_parts(words: ConsultationPromptText, request: ConsultRequest) -> str:
    """Return what a seat asks, with what it said beside its question, each under its label."""
    parts = {"background": request.background, "understanding": request.understanding}
    if request.kind != "knowledge":
        parts["kind"] = words.kinds[request.kind]
    return "\n".join([request.question, *_format_labelled_parts(words, parts)])


def render_advice(language: Language, seat: SeatId, advice: Advice) -> str:
    words = CONSULTATION_PROMPT[language]
    other = f"@{one_line(advice.ask_instead)}" if advice.ask_instead else ""
    parts = {
        "answer": advice.answer,
        "notes": advice.notes,
        "unsure_of": advice.unsure_of,
        "ask_instead": other,
    }
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
    lines = [
        f"**{words.labels['kind']}**{words.colon}{words.kinds[request.kind]}",
        "",
        *quote_markdown(request.question),
    ]
    for name, text in (
        ("background", request.background),
        ("understanding", request.understanding),
    ):
        if text:
            lines += [
                "",
                f"**{words.labels[name]}**{words.colon.strip()}",
                "",
                *quote_markdown(text),
            ]
    return lines


def _render_reply(words: ConsultationPromptText, consultation: Consultation) -> list[str]:
    if consultation.failure or consultation.advice is None:
        return [_describe_failure(words, consultation)]
    lines = [words.unknown.format(to=consultation.to), ""] if consultation.advice.is_unknown else []
    lines += quote_markdown(consultation.advice.answer)
    if consultation.advice.notes:
        lines += [
            "",
            f"**{words.labels['notes']}**{words.colon.strip()}",
            "",
            *quote_markdown(consultation.advice.notes),
        ]
    return lines


def _describe_failure(words: ConsultationPromptText, failed: Consultation) -> str:
    reason = words.failures.get(failed.failure) or words.losses.get(failed.failure, failed.failure)
    return words.failed.format(to=failed.to, reason=reason)


def _render_doubts(words: ConsultationPromptText, consultation: Consultation) -> list[str]:
    advice = consultation.advice
    if advice is None or consultation.failure:
        return []
    lines = quote_markdown(advice.unsure_of) if advice.unsure_of else []
    if advice.ask_instead:
        if lines:
            lines.append("")
        named = f"{words.labels['ask_instead']}{words.colon}@{one_line(advice.ask_instead)}"
        lines.append(named.replace("<", "&lt;"))
    return lines


def _format_labelled_parts(words: ConsultationPromptText, parts: dict[str, str]) -> list[str]:
    return [
        f"**{words.labels[name]}**{words.colon}{strip_control(text)}"
        for name, text in parts.items()
        if text
    ]


def build_consulted_ask(language: Language, asker: SeatId, request: ConsultRequest) -> PersonAsk:
    words = CONSULTATION_PERSON[language]
    lines = [words.asked.format(seat=asker), quote_lines(request.question)]
    if request.background:
        lines += [words.background, quote_lines(request.background)]
    if request.understanding:
        lines += [words.understanding.format(seat=asker), quote_lines(request.understanding)]
    step = ask_words(words.answer)
    return PersonAsk(steps=(step,), about="\n".join(lines), build=lambda answers: answers[WORDS])


MAX_PART_LENGTH: Final = 4_000
"""The most characters of one text that a prompt shows; the ledger and the record keep the whole text."""
MAX_STANCE_LENGTH: Final = 120

Fault = Callable[[object], str | None]


def add_consultation_prompt(state: ConsultingState, brief: Brief, *, is_gate: bool) -> Brief:
    """Return the protocol's brief with the director's additions."""
    words = CONSULTATION_PROMPT[brief.language]
    ask = strip_repeat_id(brief.ask.id)
    learned = _build_own_prompt(state, words, brief.ask)
    offer = ""
    # A gate may not consult, and is not told how.
    if not is_gate:
        offer = _build_offer(state, words, brief.ask.seat)
    read = add_consultation_rules(state, brief, brief.ask, is_gate=is_gate)
    extra = state.extra.get(f"{brief.ask.kind}.{brief.ask.seat}", 0)
    return replace(
        brief,
        own="\n\n".join(filter(None, [learned, brief.own, offer])),
        fault=read.fault,
        nth=brief.nth + extra,
        again=state.again.get(ask, 0),
        person=read.person,
    )


def _build_offer(state: ConsultingState, words: ConsultationPromptText, seat: SeatId) -> str:
    """Return the offer to ask another seat, in the source's form of one line; "" where none is left."""
    left = _count_left(state, seat)
    if left <= 0:
        return ""
    names: list[str] = []
    for other in state.seats:
        if other.id == seat:
            continue
        stance = ""
        if other.stance:
            stance = f" ({one_line(other.stance)[:MAX_STANCE_LENGTH]})"
        names.append(f"@{other.id}{stance}")
    return words.offer_help.format(others=", ".join(names), left=left)


def _count_left(state: ConsultingState, seat: SeatId) -> int:
    """Return how often a seat may still consult."""
    own = state.rules.per_seat - state.count_own(seat)
    return min(own, state.rules.per_session - len(state.consultations))


def add_consultation_rules(
    state: ConsultingState, rules: AnswerRules, ask: Ask, *, is_gate: bool
) -> AnswerRules:
    """Return how the answer to an ask of the protocol is read where it may be replaced by a request."""
    is_refused = strip_repeat_id(ask.id) in state.refused
    return copy_fields(
        AnswerRules,
        rules,
        fault=_wrap_validator(
            rules.fault, CONSULTATION_PROMPT[state.opened.language].direct if is_refused else None
        ),
        person=rules.person and partial(_ask_person, state, rules.person, ask, is_gate=is_gate),
    )


def _ask_person(
    state: ConsultingState, inner: Callable[[], PersonAsk], ask: Ask, *, is_gate: bool
) -> PersonAsk:
    """Return the protocol's ask with what the person has learned by consulting, and whom it may consult."""
    language, person = state.opened.language, inner()
    learned = _build_own_prompt(state, CONSULTATION_PROMPT[language], ask)
    about = "\n\n".join(part for part in (learned, person.about) if part)
    may_ask = not is_gate and strip_repeat_id(ask.id) not in state.refused
    others = tuple(seat.id for seat in state.seats if seat.id != ask.seat)
    return replace(person, about=about, consults=others if may_ask else ())


def build_consultation_brief(
    state: ConsultingState, current: Consultation, ask: Ask, form: AnswerForm
) -> Brief:
    """Build the brief of the consulted seat: the question and its own role, nothing of what others said."""
    language, seat = state.opened.language, state.seat(ask.seat)
    words = CONSULTATION_PROMPT[language]
    lines = introduce_seat(language, seat)
    last = state.words.get(seat.id, "")
    if last:
        lines += ["", words.own_words, quote_lines(shorten_text(last, MAX_PART_LENGTH))]
    lines += [
        "",
        words.asks.format(seat=current.seat),
        quote_lines(_render_question_parts(words, current.request)),
        "",
    ]
    if current.is_direct:
        lines += [words.refused.format(reason=words.refusals["nested"]), ""]
    memory = ContextWindow(window=1).add(
        Utterance(id=1, speaker=current.seat, text=current.request.question), 1.0
    )
    rules = AnswerRules(
        form=form,
        fault=_wrap_validator(no_fault, words.direct if current.is_direct else None),
        person=partial(build_consulted_ask, language, current.seat, current.request),
    )
    topic = quote_user(shorten_text(state.opened.topic, MAX_PART_LENGTH))
    now = words.now.format(asker=current.seat, seat=seat.id).strip()
    return fill_brief(
        state,
        ask,
        rules,
        nth=max(1, state.extra.get(f"{CONSULT}.{seat.id}", 1)),
        perception=Perception(goal=current.request.question, memory=memory, own_words=last),
        shared=f"{words.topic}\n{topic}",
        own="\n".join([*lines, PARTICIPANT_PROMPT[language].heads["now"], now]),
        subject=current.request.question,
        again=current.tries,
    )


def build_record_brief(
    state: ConsultingState, current: Consultation, ask: Ask, form: AnswerForm
) -> Brief:
    language = state.opened.language
    request_file = RecordFileRequest(
        folder=state.rules.folder,
        # The same key for every attempt: a repeated request finds the file that the first one wrote.
        key=f"{state.token}/{current.number}",
        asker=current.seat,
        asked=current.to,
        document=lambda number: render_consultation_file(language, current, number),
    )
    return fill_brief(
        state,
        ask,
        AnswerRules(form=form),
        nth=current.number,
        system=request_file.key,
        shared="",
        own=CONSULTATION_PROMPT[language].request.format(to=current.to),
        chore=request_file,
    )


def _build_own_prompt(state: ConsultingState, words: ConsultationPromptText, ask: Ask) -> str:
    seat = ask.seat
    lines: list[str] = []
    learned = state.list_learned(seat)
    if learned:
        lines.append(words.learned)
        for each in learned:
            lines += _format_outcome(state, words, each)
    refusal = state.refused.get(strip_repeat_id(ask.id))
    if refusal is not None:
        lines.append(words.refused.format(reason=words.refusals[refusal]))
    elif learned and _count_left(state, seat) <= 0:
        lines.append(words.none_left)
    return "\n".join(lines)


def _format_outcome(
    state: ConsultingState, words: ConsultationPromptText, outcome: Consultation
) -> list[str]:
    language = state.opened.language
    lines = [
        words.asked_itself.format(
            question=f"\n{quote_lines(shorten_text(outcome.request.question, MAX_PART_LENGTH // 4))}"
        )
    ]
    if outcome.advice is None or outcome.failure:
        return [*lines, _describe_failure(words, outcome)]
    advice = replace(
        outcome.advice,
        answer=shorten_text(outcome.advice.answer, MAX_PART_LENGTH),
        notes=shorten_text(outcome.advice.notes, MAX_PART_LENGTH),
        unsure_of=shorten_text(outcome.advice.unsure_of, MAX_PART_LENGTH),
    )
    lines.append(quote_lines(render_advice(language, outcome.to, advice)))
    if advice.is_unknown:
        lines.append(words.unknown.format(to=outcome.to))
    if advice.ask_instead:
        # Outside of the quotation only names of known seats are shown: any other text here is the advisor's own words.
        here = next(
            (
                seat.id
                for seat in state.seats
                if seat.id.casefold() == advice.ask_instead.strip().casefold()
            ),
            None,
        )
        lines.append(
            words.absent.format(seat=outcome.to)
            if here is None
            else words.offer.format(seat=outcome.to, other=here)
        )
    if outcome.filed is not None:
        lines.append(words.filed.format(path=one_line(outcome.filed.path)))
    return lines


def _wrap_validator(fault: Fault, direct: str | None) -> Fault:
    def find_fault(said: object) -> str | None:
        return direct if isinstance(said, ConsultRequest) else fault(said)

    return find_fault
