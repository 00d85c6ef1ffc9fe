"""The debate protocol: proposals are argued, summed up and voted on."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from moothall.protocols.council.facts import CouncilOpened, CouncilSettings
from moothall.protocols.council.plugin import build_council_plugin
from moothall.protocols.council.rules import CouncilRules
from moothall.protocols.council.state import Council, CouncilVariant, find_no_owner
from moothall.scoring.resolution import Correlations, Resolution, SeatVote, resolve_open_vote


@dataclass(frozen=True, slots=True, kw_only=True)
class DebateOpened(CouncilOpened):
    settings: CouncilSettings = CouncilSettings()


def _resolve_votes(state: Council, voices: Sequence[SeatVote], correlations: Correlations) -> Resolution:
    return resolve_open_vote(voices, correlations=correlations)


VARIANT: Final = CouncilVariant(
    first=("propose", "argue", "answer", "synthesize", "vote"),
    again=("argue", "answer", "synthesize", "vote"),
    resolve=_resolve_votes,
    owner=find_no_owner,
)
RULES: Final = CouncilRules("debate", DebateOpened, VARIANT)
DEBATE: Final = build_council_plugin(RULES, CouncilSettings, DebateOpened, wire_name="structured_debate")
