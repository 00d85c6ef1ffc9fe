"""The debate protocol as the house takes it in."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from moot.protocols.council.facts import CouncilOpened, Settings
from moot.protocols.council.kit import council_kit
from moot.protocols.council.rules import CouncilRules
from moot.protocols.council.state import Council, Course, nobody
from moot.weighing.resolution import Correlations, Resolution, SeatVote, resolve_open_vote


@dataclass(frozen=True, slots=True, kw_only=True)
class DebateOpened(CouncilOpened):
    settings: Settings = Settings()


def _resolve(state: Council, voices: Sequence[SeatVote], correlations: Correlations) -> Resolution:
    return resolve_open_vote(voices, correlations=correlations)


COURSE: Final = Course(
    first=("propose", "argue", "synthesize", "vote"), again=("argue", "synthesize", "vote"), resolve=_resolve, owner=nobody
)
RULES: Final = CouncilRules("debate", DebateOpened, COURSE)
DEBATE: Final = council_kit(RULES, Settings, DebateOpened, wire_name="structured_debate")
