"""What a question for a number or a forecast has for its result: what was estimated blind, put together (Q-12)."""

from collections.abc import Sequence
from dataclasses import replace

from moothall.domain.facts import Opened
from moothall.domain.frame import YES, format_number, is_yes_or_no, read_plain_number
from moothall.domain.ids import SeatId
from moothall.domain.roster import Seat
from moothall.domain.safe_text import one_line
from moothall.domain.topic import Frame, normalize_label
from moothall.locale.catalogues import SharedReportText
from moothall.reports import blocks
from moothall.reports.blocks import Block
from moothall.reports.decision import Decision, FrameObjection, SeatPosition
from moothall.reports.wording import format_percent
from moothall.scoring.estimates import (
    ForecastEstimate,
    NumberEstimate,
    pool_forecasts,
    summarize_numbers,
)
from moothall.scoring.trust import find_accuracy


def add_blind_results(decision: Decision, opened: Opened, seats: Sequence[Seat]) -> Decision:
    """Return a decision with what follows from its frame and the blind answers: objections to the list, and estimates."""
    frame = opened.frame
    if frame is None:
        return decision
    decision = replace(decision, objections=_list_objections(decision.positions, frame))
    if frame.kind not in {"number", "forecast"}:
        return decision
    if frame.kind == "number":
        return _add_number(decision, frame.unit)
    forecast = pool_forecasts(
        seats,
        _list_chances(seats, decision.positions),
        opened.subject.error_correlations,
        opened.subject.extremity,
    )
    if forecast is None:
        return decision
    # People read one chance: that of the event.
    return replace(decision, forecast=forecast, chance_hidden=True)


def _list_objections(positions: Sequence[SeatPosition], frame: Frame) -> tuple[FrameObjection, ...]:
    """Return who named none of the listed answers blind; a bare yes or no names nothing, and is no objection."""
    listed = set(map(normalize_label, frame.answers))
    objections: list[FrameObjection] = []
    for each in positions:
        label = normalize_label(each.choice_before)
        if listed and label and label not in listed and not is_yes_or_no(label):
            objections.append(FrameObjection(seat=each.seat, said=one_line(each.choice_before)))
    return tuple(objections)


def explain_objections(decision: Decision, words: SharedReportText) -> list[Block]:
    """Say how many take none of the listed answers, and what they say instead."""
    if not decision.objections:
        return []
    said = words.between_mends.join(f"{each.seat}: “{each.said}”" for each in decision.objections)
    voices = sum(bool(each.choice_before) for each in decision.positions)
    count = len(decision.objections)
    text = words.framed["objected"].format(count=count, voices=voices, said=said)
    return [blocks.Line(text, "warn")]


def _add_number(decision: Decision, unit: str) -> Decision:
    numbers = [each.number_before for each in decision.positions if each.number_before is not None]
    number = summarize_numbers(numbers, unit)
    if number is None:
        return decision
    # Code has written it, where it is a number.
    decided = read_plain_number(decision.choice, unit)
    if decided is not None and decided != number.median:
        number = replace(number, decided=decided)
    # The median is what is known without a decision, too.
    if decision.decision is None:
        return replace(decision, number=number)
    return replace(decision, number=number, choice=format_number(number.median, unit))


def _list_chances(seats: Sequence[Seat], positions: Sequence[SeatPosition]) -> dict[SeatId, float]:
    """Return the chance of the event by each seat that said yes or no blind: as sure as it says, or as its record is."""
    known = {seat.id: seat for seat in seats}
    chances: dict[SeatId, float] = {}
    for each in positions:
        if each.seat not in known or not is_yes_or_no(each.choice_before):
            continue
        # A seat that does not say how sure it is, is as sure as it has been right.
        sure = each.confidence_before
        if sure is None:
            sure = find_accuracy(known[each.seat])
        is_yes = normalize_label(each.choice_before) in YES
        chances[each.seat] = sure if is_yes else 1 - sure
    return chances


def list_estimate_rows(
    decision: Decision, words: SharedReportText
) -> list[tuple[str, blocks.Cell]]:
    """The median of a number with its range and what moved it, or the chance of a forecast."""
    rows: list[tuple[str, blocks.Cell]] = []
    if decision.number is not None:
        rows.append((words.estimates["median"], describe_number(decision.number, words)))
        if decision.number.decided is not None:
            rows.append((words.estimates["after"], _describe_moved(decision, words)))
    if decision.forecast is not None:
        rows.append((words.estimates["chance"], describe_forecast(decision.forecast, words)))
    return rows


def describe_number(number: NumberEstimate, words: SharedReportText) -> str:
    """Return the median of blind numbers, with their range."""
    return words.estimates["number"].format(
        median=format_number(number.median, number.unit),
        low=format_number(number.low),
        high=format_number(number.high),
        count=number.count,
    )


def _describe_moved(decision: Decision, words: SharedReportText) -> blocks.Cell:
    """Return the number after talking, with the entries that moved seats."""
    number = decision.number
    assert number is not None
    assert number.decided is not None
    shown = format_number(number.decided, number.unit)
    moved = tuple(sorted({each.moved_by for each in decision.positions if each.moved_by}))
    if not moved:
        return shown
    return (shown, words.estimates["moved"], blocks.References(moved))


def describe_forecast(forecast: ForecastEstimate, words: SharedReportText) -> str:
    """Return the chance of an event, with the range of the blind forecasts."""
    text = words.estimates["forecast"].format(
        chance=format_percent(forecast.chance),
        low=format_percent(forecast.low),
        high=format_percent(forecast.high),
        count=forecast.count,
    )
    if forecast.extremity > 1:
        text += words.estimates["drawn"].format(factor=f"{forecast.extremity:.2f}")
    return text
