"""The consensus protocol: a synthesis is revised until everyone supports it with enough confidence."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, Final

from annotated_types import Ge, Le

from moothall.errors import BadSetting
from moothall.protocols.council.facts import CouncilOpened, CouncilSettings
from moothall.protocols.council.plugin import build_council_plugin
from moothall.protocols.council.rules import CouncilRules
from moothall.protocols.council.state import Council, CouncilVariant, find_no_owner
from moothall.scoring.resolution import CONSENSUS_THRESHOLD, Correlations, Resolution, SeatVote, resolve_consensus


@dataclass(frozen=True, slots=True, kw_only=True)
class ConsensusSettings(CouncilSettings):
    """The settings of consensus.

    `threshold` is the confidence that every supporting vote needs; `rounds` limits the syntheses. `quorum` is how many seats must
    agree; all of them where it is not set. One that abstains, is lost or did not vote does not agree.
    """

    rounds: Annotated[int, Ge(1), Le(20)] = 3
    threshold: Annotated[float, Ge(0), Le(1)] = CONSENSUS_THRESHOLD
    quorum: Annotated[int, Ge(1), Le(64)] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ConsensusOpened(CouncilOpened):
    settings: ConsensusSettings = ConsensusSettings()


def _resolve_votes(state: Council, voices: Sequence[SeatVote], correlations: Correlations) -> Resolution:
    settings = state.opened.settings
    assert isinstance(settings, ConsensusSettings)
    return resolve_consensus(voices, threshold=settings.threshold, quorum=settings.quorum, correlations=correlations)


def _validate_quorum(opened: CouncilOpened) -> None:
    quorum = opened.settings.quorum if isinstance(opened.settings, ConsensusSettings) else None
    if quorum is not None and quorum > len(opened.seats):
        raise BadSetting(f"quorum = {quorum} is more than the {len(opened.seats)} seats; expected 1 to {len(opened.seats)}")


VARIANT: Final = CouncilVariant(
    first=("propose", "argue", "answer", "synthesize", "vote"),
    again=("synthesize", "vote"),
    resolve=_resolve_votes,
    owner=find_no_owner,
    one_synthesis=True,
)
RULES: Final = CouncilRules("consensus", ConsensusOpened, VARIANT)
CONSENSUS: Final = build_council_plugin(RULES, ConsensusSettings, ConsensusOpened, wire_name="consensus", check=_validate_quorum)
