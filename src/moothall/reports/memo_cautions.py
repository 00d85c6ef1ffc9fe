"""The one reservation of a memo in words, and the short form of each in lists (T-4)."""

from typing import Final, assert_never

from moothall.domain.replace import dataclass
from moothall.domain.safe_text import one_line
from moothall.locale.catalogues import MemoText
from moothall.reports.decision import Decision
from moothall.reports.how import ByMinutes, TieBreak
from moothall.reports.memo_names import format_name, format_names, format_possessive
from moothall.reports.memo_result import list_sides
from moothall.reports.memo_undecided import MAX_LEAD, format_lead
from moothall.reports.memo_what import get_limits
from moothall.reports.sentences import shorten_sentence
from moothall.scoring.reservations import ReservationCode

SAID_BY_RESULT: Final[frozenset[ReservationCode]] = frozenset(
    ("most_against", "smaller_side", "narrow", "left_open", "few_sides", "one_voice")
)
"""Reservations that the result or its badge says already: they have no line of their own in a memo."""
MAX_MISSING: Final = 3
_TIES: Final[dict[TieBreak, str]] = {
    "first_answers": "tie_first_answers",
    "conditions": "tie_conditions",
    "names": "tie_names",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Reservation:
    """What a reader must know beside a result: its code, its sentence, and its short form for lists."""

    code: ReservationCode
    text: str
    short: str


def list_cautions(decision: Decision, texts: MemoText) -> tuple[Reservation, ...]:
    """Return all reservations of a decision in words, the first one first."""
    return tuple(
        Reservation(
            code=code,
            text=_describe_reservation(decision, code, texts),
            short=_shorten_reservation(decision, code, texts),
        )
        for code in decision.reservations
    )


def choose_caution(cautions: tuple[Reservation, ...]) -> Reservation | None:
    """Return the reservation that has a line of its own; None where the first one is said by the result."""
    if not cautions or cautions[0].code in SAID_BY_RESULT:
        return None
    return cautions[0]


def _count_points(decision: Decision) -> int:
    if isinstance(decision.how, ByMinutes):
        return max(decision.how.open_points, 1)
    return max(len(decision.dissent), 1)


def _shorten_reservation(decision: Decision, code: ReservationCode, texts: MemoText) -> str:
    return texts.shorts[code].format(count=_count_points(decision))


def _describe_reservation(decision: Decision, code: ReservationCode, texts: MemoText) -> str:
    cautions = texts.cautions
    match code:
        case "voice_missing":
            return _describe_missing_voices(decision, texts)
        case "you_unanswered":
            asked = [each.asked for each in decision.answers if each.answer is None]
            words = shorten_sentence(one_line(asked[0]), get_limits(texts.language).open // 2)
            return cautions[code].format(words=words)
        case "quotation":
            fault = decision.list_decisive_faults()[0]
            limit = get_limits(texts.language).open // 2
            return cautions[code].format(
                place=shorten_sentence(one_line(fault.place), MAX_LEAD),
                words=shorten_sentence(one_line(fault.words), limit),
                name=format_name(fault.seat, texts),
            )
        case "objection_open":
            return _describe_open_objections(decision, texts)
        case "tie_broken":
            return _describe_tie(decision, texts)
        case "left_open":
            return cautions[code].format(count=_count_points(decision))
        case "few_sides":
            sides = list_sides(decision)
            count = len(sides.favourable) + len(sides.opponents) or len(decision.supporters)
            return cautions[code].format(count=count, asked=len(decision.asked))
        case (
            "most_against"
            | "smaller_side"
            | "narrow"
            | "began_elsewhere"
            | "one_voice"
            | "one_model"
            | "after_talking"
            | "unsure"
        ):
            return cautions[code]
        case _:
            assert_never(code)


def _describe_missing_voices(decision: Decision, texts: MemoText) -> str:
    missing = [each.seat for each in decision.lost if each.did_not_vote]
    if not missing and decision.findings is not None:
        return texts.cautions["findings_missing"]
    if not missing:
        missing = list(list_sides(decision).silent)
    if len(missing) == 1:
        name = format_possessive(missing[0], texts)
        return texts.cautions["voice_missing"].format(name=name)
    names = format_names(missing[:MAX_MISSING], texts)
    if len(missing) > MAX_MISSING or not missing:
        names = texts.next["more_voices"].format(count=len(missing))
    return texts.cautions["voices_missing"].format(names=names)


def _describe_open_objections(decision: Decision, texts: MemoText) -> str:
    seats = []
    for each in decision.open_challenges:
        if each.seat != decision.author or each.seat is None:
            seats.append(each.seat)
    named = dict.fromkeys(seats)
    if len(named) == 1 and seats[0] is not None:
        name = format_possessive(seats[0], texts)
        return texts.cautions["objection_open"].format(name=name)
    return texts.cautions["objections_open"].format(count=len(seats))


def _describe_tie(decision: Decision, texts: MemoText) -> str:
    """Say which answer had as much support, and what chose between the two."""
    chosen, other = decision.leaders[0], decision.leaders[1]
    name = _TIES[decision.tie_by or "names"]
    return texts.cautions[name].format(
        other=format_lead(other),
        chosen=format_lead(chosen),
        count=len(other.supporters),
        asked=len(decision.asked),
    )
