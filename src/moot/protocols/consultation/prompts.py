"""What the director adds to a brief, and what it sends to the one who is consulted: pure, of bounded length."""

from collections.abc import Callable
from dataclasses import replace
from typing import Final

from moot.domain.consult import ConsultRequest, RecordFileRequest
from moot.domain.effects import AnswerForm, Ask, Brief
from moot.domain.fence import one_line, quote_lines
from moot.domain.perception import ContextWindow, Perception, Utterance
from moot.domain.roster import HOUSE
from moot.protocols.consultation.asks import plain_id
from moot.protocols.consultation.document import advice_text, document, request_text
from moot.protocols.consultation.facts import CONSULT
from moot.protocols.consultation.state import Consultation, Consultations, Learned
from moot.protocols.consultation.words import WORDS, Words

LONGEST_PART: Final = 4_000
"""Characters of one text that a prompt shows; the ledger and the record keep it whole."""
LONGEST_STANCE: Final = 120

Fault = Callable[[object], str | None]


def asked_again(state: Consultations, brief: Brief, *, is_gate: bool) -> Brief:
    """The protocol's own brief with what the director has to say."""
    words = WORDS[brief.language]
    ask = plain_id(brief.ask.id)
    own = _told(state, words, brief.ask, is_gate=is_gate)
    rules = words.rules.format(per_seat=state.rules.per_seat, per_session=state.rules.per_session)
    return replace(
        brief,
        shared=f"{words.consulting}\n{rules}\n{words.table.format(seats=_table(state))}\n\n{brief.shared}",
        own=f"{own}\n\n{brief.own}" if own else brief.own,
        fault=_checked(brief.fault, words.direct if ask in state.refused else None),
        nth=brief.nth + state.extra.get(f"{brief.ask.kind}.{brief.ask.seat}", 0),
        again=state.again.get(ask, 0),
    )


def consulted_brief(state: Consultations, current: Consultation, ask: Ask, form: AnswerForm) -> Brief:
    """What the one who is consulted gets: the question and its own role, nothing of what others said."""
    language, seat = state.opened.language, state.seat(ask.seat)
    words = WORDS[language]
    question = request_text(language, _short(current.request), ask.seat)
    lines = [words.you.format(seat=seat.id)]
    lines += [one_line(seat.stance)] if seat.stance else []
    lines += [words.instructions.format(instructions=seat.instructions.strip())] if seat.instructions else []
    last = state.words.get(seat.id, "")
    if last:
        lines += ["", words.own_words, quote_lines(_cut(last))]
    lines += ["", words.asks.format(seat=current.seat, kind=words.kinds[current.request.kind]), quote_lines(question), ""]
    if current.is_direct:
        lines += [words.refused.format(reason=words.refusals["nested"]), ""]
    memory = ContextWindow(window=1).add(Utterance(id=1, speaker=current.seat, text=current.request.question), 1.0)
    return Brief(
        ask=ask,
        seat=seat,
        form=form,
        language=language,
        seed=state.opened.seed,
        nth=max(1, state.extra.get(f"{CONSULT}.{seat.id}", 1)),
        perception=Perception(goal=current.request.question, memory=memory, own_words=last),
        system=words.system,
        shared=f"{words.topic}\n{quote_lines(_cut(state.opened.topic))}",
        own="\n".join([*lines, words.now.format(seat=seat.id)]),
        subject=current.request.question,
        fault=_checked(_none, words.direct if current.is_direct else None),
        again=current.tries,
    )


def record_brief(state: Consultations, current: Consultation, ask: Ask, form: AnswerForm) -> Brief:
    """The errand of writing the record down."""
    language = state.opened.language
    errand = RecordFileRequest(
        folder=state.rules.folder,
        key=f"{state.token}/{current.number}",
        asker=current.seat,
        asked=current.to,
        document=lambda number: document(language, current, number),
    )
    return Brief(
        ask=ask,
        seat=HOUSE,
        form=form,
        language=language,
        seed=state.opened.seed,
        nth=current.number,
        perception=Perception(goal=state.opened.topic, memory=ContextWindow(window=1)),
        system=f"{errand.key}",
        shared="",
        own=WORDS[language].request.format(to=current.to),
        errand=errand,
    )


def _told(state: Consultations, words: Words, ask: Ask, *, is_gate: bool) -> str:
    seat = ask.seat
    lines: list[str] = []
    learned = state.learned.get(seat, ())
    if learned:
        lines.append(words.learned)
        for each in learned:
            lines += _learned(state, words, each)
    refusal = state.refused.get(plain_id(ask.id))
    if refusal is not None:
        lines.append(words.refused.format(reason=words.refusals[refusal]))
    elif is_gate:
        lines.append(words.gate)
    elif learned:
        left = min(state.rules.per_seat - state.counts.get(seat, 0), state.rules.per_session - state.begun)
        lines.append(words.left.format(count=left) if left > 0 else words.none_left)
    return "\n".join(lines)


def _learned(state: Consultations, words: Words, found: Learned) -> list[str]:
    language = state.opened.language
    lines = [words.asked_itself.format(question=f"\n{quote_lines(_cut(found.request.question, LONGEST_PART // 4))}")]
    if found.advice is None or found.failure:
        return [*lines, words.failed.format(to=found.to, reason=words.failures.get(found.failure, found.failure))]
    advice = replace(
        found.advice,
        answer=_cut(found.advice.answer),
        notes=_cut(found.advice.notes),
        unsure_of=_cut(found.advice.unsure_of),
    )
    lines.append(quote_lines(advice_text(language, found.to, advice)))
    if advice.is_unknown:
        lines.append(words.unknown.format(to=found.to))
    if advice.ask_instead:
        # Only a name of the table stands outside of the quotation: what else is written there is somebody's words.
        here = next((seat.id for seat in state.seats if seat.id.casefold() == advice.ask_instead.strip().casefold()), None)
        lines.append(words.absent.format(seat=found.to) if here is None else words.offer.format(seat=found.to, other=here))
    if found.filed is not None:
        lines.append(words.filed.format(path=one_line(found.filed.path)))
    return lines


def _table(state: Consultations) -> str:
    told = [f"@{seat.id} ({one_line(seat.stance)[:LONGEST_STANCE]})" if seat.stance else f"@{seat.id}" for seat in state.seats]
    return ", ".join(told)


def _checked(fault: Fault, direct: str | None) -> Fault:
    def checked(said: object) -> str | None:
        return direct if isinstance(said, ConsultRequest) else fault(said)

    return checked


def _none(said: object) -> str | None:
    return None


def _short(request: ConsultRequest) -> ConsultRequest:
    return replace(
        request,
        question=_cut(request.question, 2 * LONGEST_PART),
        background=_cut(request.background),
        understanding=_cut(request.understanding),
    )


def _cut(text: str, room: int = LONGEST_PART) -> str:
    return text if len(text) <= room else f"{text[:room]}…"
