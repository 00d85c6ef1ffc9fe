"""Registers the protocols debate, advisory and consensus, which share one set of rules."""

from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from typing import Final

from moothall.domain.budget import LONG_ANSWER, SHORT_ANSWER, ExpectedCalls
from moothall.domain.facts import Fact, Opened
from moothall.domain.ids import SeatId
from moothall.domain.replace import dataclass
from moothall.domain.roster import MAX_SEATS, validate_seats
from moothall.errors import BadSetting
from moothall.ports.plugin import AnyPlugin, BlindChoice, JoinGuide, Plan, ProtocolPlugin
from moothall.protocols.answer_judge import expect_judge_calls, split_judge
from moothall.protocols.council.ballot_view import build_ballot
from moothall.protocols.council.depth import find_debate_mode
from moothall.protocols.council.facts import (
    ConsensusSettings,
    Contributed,
    CouncilOpened,
    CouncilSettings,
    SpeakingOrder,
)
from moothall.protocols.council.report import build_council_report
from moothall.protocols.council.report_timeline import add_and_describe_entry
from moothall.protocols.council.rules import CouncilRules, is_one_by_one
from moothall.protocols.council.state import SETTLING, Council, CouncilVariant
from moothall.protocols.council.timeline import (
    CouncilTimeline,
    build_decision,
    list_cast_votes,
)
from moothall.scoring.depth import find_first_mind
from moothall.scoring.resolution import (
    Correlations,
    Resolution,
    SeatVote,
    resolve_advisory,
    resolve_consensus,
    resolve_open_vote,
)

MIN_SEATS: Final = 2


def expect_calls(variant: CouncilVariant, opened: Opened) -> tuple[ExpectedCalls, ...]:
    """Every phase of every round once; at least the first one, after which equal blind choices can end it."""
    assert isinstance(opened, CouncilOpened)
    settings, owner = opened.settings, variant.owner(opened)
    voices = [seat for seat in opened.seats if seat.id not in opened.neutral]
    seats = tuple(seat.id for seat in voices)
    can_stop = settings.blind and find_debate_mode(opened) != "always"
    expected = []
    phases = [
        (number, phase)
        for number in range(settings.rounds)
        for phase in (variant.again if number else variant.first)
    ]
    for number, phase in phases:
        most = (
            1 / len(seats)
            if phase == "decide" or (phase == "synthesize" and variant.one_synthesis)
            else 1.0
        )
        if phase == "argue" and owner is not None:
            most = (len(seats) - 1) / len(seats)
        is_sure = phase == "propose" or (not can_stop and not number and phase != "answer")
        least = most if is_sure else 0.0
        is_first_alone = (
            settings.depth == "auto" and find_first_mind(voices, opened.subject)[0] is not None
        )
        if phase == "propose" and (settings.panel == "adaptive" or is_first_alone):
            least = 1 / len(seats)
        size = SHORT_ANSWER if phase == "vote" else LONG_ANSWER
        in_turn = is_one_by_one(variant, settings, phase) or phase == "decide"
        expected.append(
            ExpectedCalls(seats=seats, least=least, most=most, tokens_out=size, is_in_turn=in_turn)
        )
    settled = sum(phase in SETTLING for _, phase in phases)
    return (*expected, *expect_judge_calls(settings.judge if settings.blind else "", settled))


def build_council_plugin(
    rules: CouncilRules, settings: type[CouncilSettings], *, wire_name: str
) -> AnyPlugin:
    """Build the plugin of a protocol that runs by these rules."""

    def open_session(plan: Plan) -> CouncilOpened:
        """The opening of a deliberation; raises BadRoster or BadSetting."""
        assert isinstance(plan.settings, settings)
        voices, judge = split_judge(plan.seats, plan.settings.judge)
        seats = validate_seats(voices, fewest=MIN_SEATS)
        if judge is not None:
            # The whole roster once more: a judge may have no name that a seat has.
            seats = validate_seats((*seats, judge), most=MAX_SEATS + 1)
        opened = plan.opening(
            rules.opening,
            seats=seats,
            settings=replace(plan.settings, order=_resolve_order(plan)),
        )
        _validate_settings(rules, opened)
        return opened

    return ProtocolPlugin(
        name=rules.name,
        wire_name=wire_name,
        states_facts=True,
        rules=rules,
        settings=settings,
        open=open_session,
        timeline=partial(CouncilTimeline, rules=rules),
        decision=build_decision,
        describe=add_and_describe_entry,
        report=build_council_report,
        expect=partial(expect_calls, rules.variant),
        join=lambda opened: JoinGuide("deliberation"),
        ballot=lambda timeline, reader: build_ballot(
            rules.variant, timeline.state, timeline.resolution, reader
        ),
        votes=list_cast_votes,
        contributions=lambda timeline: timeline.state.lines,
        blind_choice=find_blind_choice,
        refuses={"turns": "it goes on in rounds, not in turns; limit it with the setting rounds"},
    )


def find_blind_choice(fact: Fact) -> BlindChoice | None:
    """The choice of a proposal, and how sure its seat said it was."""
    if not isinstance(fact, Contributed):
        return None
    return BlindChoice(fact.said.choice, fact.said.confidence)


def _validate_settings(rules: CouncilRules, opened: CouncilOpened) -> None:
    """Raise BadSetting where a setting cannot be honoured."""
    settings, owner, seats = (
        opened.settings,
        rules.variant.owner(opened),
        [seat.id for seat in opened.seats if seat.id not in opened.neutral],
    )
    is_blind_debate = rules.name == "debate" and settings.blind
    if settings.panel == "adaptive" and not is_blind_debate:
        raise BadSetting(
            "panel = 'adaptive' needs the protocol debate and blind positions: nobody may have read the others"
        )
    if settings.depth != "full" and not is_blind_debate:
        raise BadSetting(
            f"depth = {settings.depth!r} needs the protocol debate and blind positions: one mind decides for no other"
        )
    is_always = settings.depth == "auto" and settings.debate == "always"
    if settings.depth != "full" and (settings.panel == "adaptive" or is_always):
        raise BadSetting(
            "depth: panel = 'adaptive' and debate = 'always' say themselves how deep it goes; give one of them"
        )
    if owner is not None and owner not in seats:
        raise BadSetting(f"owner = {owner!r} is not a seat; the seats are: {', '.join(seats)}")
    quorum = settings.quorum if isinstance(settings, ConsensusSettings) else None
    if quorum is not None and quorum > len(seats):
        raise BadSetting(
            f"quorum = {quorum} is more than the {len(seats)} seats; expected 1 to {len(seats)}"
        )


def _resolve_order(plan: Plan) -> SpeakingOrder:
    """Those who come from elsewhere come when they come; those that are asked are asked one after another."""
    assert isinstance(plan.settings, CouncilSettings)
    if plan.settings.order != "auto":
        return plan.settings.order
    voices, _ = split_judge(plan.seats, plan.settings.judge)
    return "open" if any(seat.is_outside for seat in voices) else "round_robin"


@dataclass(frozen=True, slots=True, kw_only=True)
class DebateOpened(CouncilOpened):
    settings: CouncilSettings = CouncilSettings()


DEBATE_VARIANT: Final = CouncilVariant(
    first=("propose", "argue", "answer", "synthesize", "vote"),
    again=("argue", "answer", "synthesize", "vote"),
    resolve=lambda state, voices, correlations: resolve_open_vote(
        voices, correlations=correlations
    ),
    settles=True,
)
DEBATE: Final = build_council_plugin(
    CouncilRules("debate", DebateOpened, DEBATE_VARIANT),
    CouncilSettings,
    wire_name="structured_debate",
)


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


ADVISORY_VARIANT: Final = CouncilVariant(
    first=("propose", "argue", "decide"),
    again=(),
    resolve=lambda state, voices, correlations: resolve_advisory(
        voices, owner=find_owner(state.opened), correlations=correlations
    ),
    owner=find_owner,
)
ADVISORY: Final = build_council_plugin(
    CouncilRules("advisory", AdvisoryOpened, ADVISORY_VARIANT),
    AdvisorySettings,
    wire_name="advisory_panel",
)


@dataclass(frozen=True, slots=True, kw_only=True)
class ConsensusOpened(CouncilOpened):
    settings: ConsensusSettings = ConsensusSettings()


def _resolve_consensus(
    state: Council, voices: Sequence[SeatVote], correlations: Correlations
) -> Resolution:
    settings = state.opened.settings
    assert isinstance(settings, ConsensusSettings)
    return resolve_consensus(
        voices, threshold=settings.threshold, quorum=settings.quorum, correlations=correlations
    )


CONSENSUS_VARIANT: Final = CouncilVariant(
    first=("propose", "argue", "answer", "synthesize", "vote"),
    again=("synthesize", "vote"),
    resolve=_resolve_consensus,
    one_synthesis=True,
)
CONSENSUS: Final = build_council_plugin(
    CouncilRules("consensus", ConsensusOpened, CONSENSUS_VARIANT),
    ConsensusSettings,
    wire_name="consensus",
)
