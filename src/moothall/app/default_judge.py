"""Seats a judge of answers where Moot runs models and nobody named one (Q-3): the cheapest model that already sits there."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Any, Final

from moothall.app.framing import find_cheapest_model
from moothall.app.seats import Seating
from moothall.app.session_options import Options
from moothall.domain.frame import read_question
from moothall.domain.ids import SeatId
from moothall.domain.roster import Seat
from moothall.ports.plugin import AnyPlugin

JUDGE_OFF: Final = "off"
"""The setting `judge` by which nobody judges, and equal words alone are one answer."""
JUDGE_NAME: Final = "judge"
COUNTED: Final = frozenset({"number", "forecast"})
"""The kinds of questions whose answers are counted by their figures, and not by words."""
MIN_VOICES: Final = 2


@dataclass(frozen=True, slots=True)
class JudgedQuestion:
    """What a session is about to ask, and of whom."""

    topic: str
    seats: Sequence[Seat]
    options: Options

    @property
    def is_counted(self) -> bool:
        """Whether its answers need no judge: figures are compared as figures, and a demo plays as it was written."""
        if self.options.get("demo"):
            return True
        kind = self.options.get("kind")
        if kind is not None or self.options.get("options"):
            return kind in COUNTED
        read = read_question(self.topic)
        return read is not None and read.kind in COUNTED


def choose_judge(
    plugin: AnyPlugin, settings: Mapping[str, Any], question: JudgedQuestion, seating: Seating
) -> tuple[Seat | None, dict[str, Any]]:
    """Return the judge that a session is given beside its seats, if any, and the settings that name it.

    It is given none where the setting `judge` names a seat or is off, where answers are figures or nobody answers blind, and where
    no model sits there that Moot runs.
    """
    given = dict(settings)
    defaults = {field.name: field.default for field in fields(plugin.settings)}
    if given.get("judge") == JUDGE_OFF and "judge" in defaults:
        given["judge"] = ""
        return None, given
    is_settled = "judge" in given or defaults.get("judge") != ""
    seats = question.seats
    is_blind = given.get("blind", is_blind_by_default(plugin, seats))
    if is_settled or question.is_counted or not is_blind:
        return None, given
    model = None
    if len(seats) >= MIN_VOICES:
        model = find_cheapest_model(seats, seating)
    if model is None:
        return None, given
    given["judge"] = _choose_name(seats)
    # Only its model: it has neither the stance nor the instructions of the seat.
    return Seat(id=given["judge"], platform=model.platform), given


def is_blind_by_default(plugin: AnyPlugin, seats: Sequence[Seat]) -> bool:
    """Whether seats write before they read each other where nobody says: from the protocol's number of seats on."""
    return len(seats) >= plugin.blind_from


def _choose_name(seats: Sequence[Seat]) -> SeatId:
    """Return a name that no seat has."""
    taken = {seat.id for seat in seats}
    number, name = 1, SeatId(JUDGE_NAME)
    while name in taken:
        number += 1
        name = SeatId(f"{JUDGE_NAME}-{number}")
    return name
