"""The advisory protocol: one seat proposes and decides, the others advise."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from moothall.domain.ids import SeatId
from moothall.errors import BadSetting
from moothall.protocols.council.facts import CouncilOpened, CouncilSettings
from moothall.protocols.council.plugin import build_council_plugin
from moothall.protocols.council.rules import CouncilRules
from moothall.protocols.council.state import Council, CouncilVariant
from moothall.scoring.resolution import Correlations, Resolution, SeatVote, resolve_advisory


@dataclass(frozen=True, slots=True, kw_only=True)
class AdvisorySettings(CouncilSettings):
    """The settings of advisory. `owner` proposes and decides; by default the first seat."""

    owner: SeatId | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class AdvisoryOpened(CouncilOpened):
    settings: AdvisorySettings = AdvisorySettings()


def find_owner(opened: CouncilOpened) -> SeatId:
    """Return the seat that proposes and decides."""
    assert isinstance(opened, AdvisoryOpened)
    return opened.settings.owner or opened.seats[0].id


def _resolve_votes(state: Council, voices: Sequence[SeatVote], correlations: Correlations) -> Resolution:
    return resolve_advisory(voices, owner=find_owner(state.opened), correlations=correlations)


def _validate_owner(opened: CouncilOpened) -> None:
    if find_owner(opened) not in {seat.id for seat in opened.seats}:
        known = ", ".join(seat.id for seat in opened.seats)
        raise BadSetting(f"owner = {find_owner(opened)!r} is no seat; the seats are: {known}")


VARIANT: Final = CouncilVariant(first=("propose", "argue", "decide"), again=(), resolve=_resolve_votes, owner=find_owner)
RULES: Final = CouncilRules("advisory", AdvisoryOpened, VARIANT)
ADVISORY: Final = build_council_plugin(RULES, AdvisorySettings, AdvisoryOpened, wire_name="advisory_panel", check=_validate_owner)
