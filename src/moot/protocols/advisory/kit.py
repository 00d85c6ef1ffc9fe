"""The advisory protocol as the house takes it in."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from moot.domain.ids import SeatId
from moot.errors import BadSetting
from moot.protocols.council.facts import CouncilOpened, Settings
from moot.protocols.council.kit import council_kit
from moot.protocols.council.rules import CouncilRules
from moot.protocols.council.state import Council, Course
from moot.weighing.resolution import Correlations, Resolution, SeatVote, resolve_advisory


@dataclass(frozen=True, slots=True, kw_only=True)
class AdvisorySettings(Settings):
    """`owner` proposes and decides; left out, the first seat does."""

    owner: SeatId | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class AdvisoryOpened(CouncilOpened):
    settings: AdvisorySettings = AdvisorySettings()


def owner(opened: CouncilOpened) -> SeatId:
    """The seat that proposes and decides."""
    assert isinstance(opened, AdvisoryOpened)
    return opened.settings.owner or opened.seats[0].id


def _resolve(state: Council, voices: Sequence[SeatVote], correlations: Correlations) -> Resolution:
    return resolve_advisory(voices, owner=owner(state.opened), correlations=correlations)


def _check(opened: CouncilOpened) -> None:
    if owner(opened) not in {seat.id for seat in opened.seats}:
        known = ", ".join(seat.id for seat in opened.seats)
        raise BadSetting(f"owner = {owner(opened)!r} is no seat; the seats are: {known}")


COURSE: Final = Course(first=("propose", "argue", "decide"), again=(), resolve=_resolve, owner=owner)
RULES: Final = CouncilRules("advisory", AdvisoryOpened, COURSE)
ADVISORY: Final = council_kit(RULES, AdvisorySettings, AdvisoryOpened, wire_name="advisory_panel", check=_check)
