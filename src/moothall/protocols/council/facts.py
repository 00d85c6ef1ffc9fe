"""The facts of a deliberation, and the shape of contributions."""

from typing import Annotated, Final, Literal

from annotated_types import Ge, Gt, Le, MaxLen, MinLen

from moothall.domain.facts import Closed, Fact, Opened, Reply, add_kind
from moothall.domain.ids import SeatId
from moothall.domain.replace import dataclass
from moothall.domain.session_state import LostSeat
from moothall.domain.topic import ActionItems, Headline, InputReplies
from moothall.scoring.depth import Depth, DepthTaken
from moothall.scoring.positions import VotePosition
from moothall.scoring.posterior import Agreement
from moothall.scoring.reservations import ConfidenceBasis
from moothall.scoring.resolution import CONSENSUS_THRESHOLD, ConsensusType

MAX_BALLOT: Final = 64
Score = Annotated[float, Ge(0), Le(1)]
Seconds = Annotated[float, Gt(0), Le(31_536_000)]
LineRef = Annotated[int, Ge(1)]
LineRefs = Annotated[tuple[LineRef, ...], MaxLen(200)]
Short = Annotated[str, MaxLen(100)]
Line = Annotated[str, MaxLen(2_000)]
Text = Annotated[str, MaxLen(20_000)]

ContributionType = Literal["propose", "support", "challenge", "synthesize", "vote", "pass"]
Phase = Literal["propose", "argue", "answer", "synthesize", "decide", "vote"]
SpeakingOrder = Literal["auto", "round_robin", "open"]
Panel = Literal["all", "adaptive"]
PanelOrder = Literal["roster", "trust"]
Chooser = Literal["votes", "both"]
Debate = Literal["auto", "always", "never"]
AdviceOutcome = Literal["adopted", "partly", "declined"]
EndReason = Literal[
    "voted",
    "agreed_blind",
    "settled",
    "one_mind",
    "decided",
    "called",
    "nothing_proposed",
    "owner_lost",
    "tokens",
    "money",
    "time",
]

PHASE_OF: dict[ContributionType, tuple[Phase, ...]] = {
    "propose": ("propose",),
    "support": ("argue", "answer"),
    "challenge": ("argue",),
    "synthesize": ("synthesize", "decide"),
    "vote": ("vote",),
}
"""The phases that each type of contribution belongs to; a pass belongs to all."""

SHARED_KINDS: Final[dict[str, type[Fact]]] = {}


@dataclass(frozen=True, slots=True, kw_only=True)
class CouncilSettings:
    """The settings of a deliberation, recorded in the opening."""

    blind: bool = True
    """Everyone writes before anyone reads."""
    debate: Debate | None = None
    """Whether it is debated where the blind positions are clear (`always`), only where they are not (`auto`), or not at all
    (`never`); None leaves that to the stakes."""
    order: SpeakingOrder = "auto"
    """Whether seats argue one after another (`round_robin`) or in any order (`open`); `auto` chooses `open` as soon as there is
    an outside seat."""
    rounds: Annotated[int, Ge(1), Le(20)] = 1
    """How often the discussion is repeated at most."""
    patience: Seconds = 180.0
    rebuttal: bool = True
    """Those who were challenged answer before the synthesis."""
    panel: Panel = "all"
    """With `adaptive`, seats are asked one after another until their blind choices settle the question."""
    panel_order: PanelOrder = "roster"
    """In which order they are asked."""
    carry_at: Score | None = None
    """A decision that is less likely right than this does not carry."""
    choose: Chooser = "votes"
    """Whether the votes choose, or blind positions and votes together (`both`)."""
    depth: Depth = "full"
    """With `auto`, one seat with a reviewed record is asked first, and the others only if that is not enough; `shadow` asks all
    and says what that would have spared."""
    judge: Annotated[str, MaxLen(64)] = ""
    """The seat that judges which answers are one and has no say of its own; where it is empty, only equal words are."""


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
class CandidateVote:
    """A position on one candidate of a ballot. A conditional one names what must hold, and by when if that is stated."""

    candidate: LineRef
    """The number of the candidate's line."""
    position: VotePosition
    condition: Line = ""
    confidence: Score | None = None
    due: Short = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class AdviceResponse:
    """How the owner took one piece of advice."""

    entry: LineRef
    """The number of the line that holds the advice."""
    how: AdviceOutcome
    why: Line = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Contribution:
    """What a seat says. Which fields count depends on `type`. What stands below a field is what callers read of it."""

    type: ContributionType
    text: Text = ""
    """Your text; optional for a vote."""
    confidence: Score | None = None
    """The probability that you are right; scored against the later outcome."""
    choice: Short = ""
    """propose, synthesize: your answer in one to five words."""
    refers_to: LineRef | None = None
    """The number of the line that this is about."""
    evidence: Annotated[tuple[Annotated[str, MinLen(1), MaxLen(2_000)], ...], MaxLen(50)] = ()
    answers: LineRefs = ()
    """Challenges that this answers."""
    accepts: LineRefs = ()
    """Challenges that this accepts."""
    position: VotePosition | None = None
    """vote: where you stand."""
    condition: Line = ""
    """vote: what a conditional_support depends on."""
    moved_by: LineRef | None = None
    """vote: the line that changed your mind, if any did."""
    taken: Annotated[tuple[AdviceResponse, ...], MaxLen(200)] = ()
    """The owner's decision: how each advice was taken."""
    ballot: Annotated[tuple[CandidateVote, ...], MaxLen(MAX_BALLOT)] = ()
    """vote: a position on each candidate, where there are several."""
    due: Short = ""
    """vote: by when the condition must hold."""
    to_user: InputReplies = ()
    """synthesize, vote: what you answer to each of the user's later words."""
    own_choice: Short = ""
    """Your own answer in one to five words, where you take none that is there."""
    headline: Headline = ""
    """synthesize: one sentence that answers the question; it becomes the title of the decision."""
    actions: ActionItems = ()
    """The owner's decision: what is to be done, by whom, by when."""
    who: Short = ""
    """vote: who must make the condition hold."""
    number: float | None = None
    """propose: your estimate, where the question asks for a number."""


@add_kind(SHARED_KINDS, "council.contributed")
class Contributed(Reply):
    said: Contribution


@add_kind(SHARED_KINDS, "council.phase_begun")
class PhaseBegun(Fact):
    """A phase ended and the next one began. Blind contributions can be read from here on; `candidates` are voted on."""

    round: int
    phase: Phase
    candidates: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class CandidateTally:
    """What a candidate got: the weight of its support, of the unconditional part of it, and against it, and how likely it is
    right."""

    line: int
    support: float
    unconditional: float
    oppose: float
    confidence: float | None


@dataclass(frozen=True, slots=True, kw_only=True)
class CouncilBallot:
    """One seat's part in the tally: its last vote, or None, and its weight. Without `confidence_stated` it is presumed."""

    seat: SeatId
    position: VotePosition | None
    confidence: float
    weight: float
    confidence_stated: bool = True


@add_kind(SHARED_KINDS, "council.closed")
class DeliberationClosed(Closed):
    """The resolution, computed from the record.

    `motion` is the line that was decided on, `carried` whether it was accepted. `open_challenges` were neither answered nor
    accepted. `overturned`: the outcome differs from the blind majority, and nobody who changed named a line that moved them.
    `unasked` are the seats that an adaptive panel had no need to ask. `agreement`: where nobody is against it, whether all had
    written so blind. `spared` is how many answers were not asked for, because the blind positions were clear.
    """

    reason: EndReason
    consensus_type: ConsensusType
    carried: bool
    motion: int | None
    confidence: float | None
    support: float | None
    turnout: float
    voters: int
    effective_voters: float
    ballots: tuple[CouncilBallot, ...] = ()
    outcome_uncertain: bool = False
    open_challenges: tuple[int, ...] = ()
    overturned: bool = False
    lost: tuple[LostSeat, ...] = ()
    candidates: tuple[CandidateTally, ...] = ()
    unasked: tuple[SeatId, ...] = ()
    spared: int = 0
    confidence_from: ConfidenceBasis | None = None
    agreement: Agreement | None = None
    depth: DepthTaken | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class CouncilOpened(Opened):
    """The opening of all three protocols; each has its own kind."""

    settings: CouncilSettings = CouncilSettings()

    @property
    def neutral(self) -> frozenset[SeatId]:
        return frozenset((SeatId(self.settings.judge),))
