"""The swarm protocol as the house takes it in."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, Final

from moothall.domain.budget import LONG_ANSWER, SHORT_ANSWER, ExpectedCalls
from moothall.domain.facts import Opened
from moothall.domain.roster import (
    HELPING_SEATS,
    MAX_SEATS,
    UNNAMED_MINDS,
    Seat,
    parse_kind,
    validate_seats,
)
from moothall.errors import BadRoster, BadSetting
from moothall.ports.plugin import JoinGuide, Plan, ProtocolPlugin
from moothall.protocols.answer_judge import MAX_LOOKS
from moothall.protocols.swarm.facts import (
    MAX_AGENTS,
    MIN_AGENTS,
    VALIDATOR,
    SwarmOpened,
    SwarmSettings,
)
from moothall.protocols.swarm.reports.decision import build_decision
from moothall.protocols.swarm.reports.files import (
    render_blackboard,
    render_operation_log,
    render_run_config,
    render_standing,
)
from moothall.protocols.swarm.reports.report import build_swarm_report, render_convergence_report
from moothall.protocols.swarm.reports.timeline import SwarmTimeline, add_and_describe_entry
from moothall.protocols.swarm.rules.rulebook import RULES


def open_session(plan: Plan) -> SwarmOpened:
    """The opening of a swarm; raises BadRoster or BadSetting.

    Every seat but `validator` and the one that the setting `judge` names is an explorer, and all explorers are equal: what a
    panel says of each is left out. Without a seat called `validator` the first explorer's model validates; where no explorer is a
    model, nobody does.
    """
    settings = plan.settings
    assert isinstance(settings, SwarmSettings)
    if settings.directions and settings.mode != "hybrid":
        raise BadSetting(
            f"directions are laid down in the mode hybrid only; the mode is {settings.mode}"
        )
    if not all(direction.strip() for direction in settings.directions):
        raise BadSetting("a direction is empty; say it in words: --direction WORDS")
    if settings.mode == "hybrid" and not settings.directions:
        raise BadSetting(
            "the mode hybrid needs directions of yours: --direction WORDS, once for each"
        )
    helpers = {VALIDATOR, settings.judge}
    explorers = [
        replace(seat, stance="", instructions="") for seat in plan.seats if seat.id not in helpers
    ]
    if not MIN_AGENTS <= len(explorers) <= MAX_AGENTS:
        raise BadRoster(
            f"a swarm needs {MIN_AGENTS} to {MAX_AGENTS} explorers, not {len(explorers)}: --agents N, or add --seat"
        )
    helping = _build_helper_seats(plan.seats, explorers, settings.judge)
    seats = validate_seats((*explorers, *helping), fewest=2, most=MAX_SEATS + HELPING_SEATS)
    if settings.mode == "classic":
        # One parallel exploration: nobody reads anybody, so that there is nothing to collide with, to vote on, or to converge.
        alone: dict[str, Any] = {
            "max_rounds": 1,
            "min_rounds": max(2, settings.min_rounds),
            "collisions": 0,
            "vote": False,
        }
        settings = replace(
            settings, settle=settings.settle or "quorum", synthesis="always", **alone
        )
    settings = replace(settings, settle=settings.settle or "evidence")
    return plan.opening(SwarmOpened, seats=seats, settings=settings)


def _build_helper_seats(seats: Sequence[Seat], explorers: Sequence[Seat], judge: str) -> list[Seat]:
    given: dict[str, Seat] = {seat.id: seat for seat in seats}
    model = next(
        (seat for seat in explorers if parse_kind(seat.platform) not in UNNAMED_MINDS), None
    )
    helping = []
    if VALIDATOR in given:
        helping.append(given[VALIDATOR])
    elif model is not None:
        helping.append(Seat(id=VALIDATOR, platform=model.platform, trust=model.trust))
    if judge and judge != VALIDATOR:
        if judge not in given:
            raise BadSetting(
                f"the judge {judge!r} is not a seat; name one of {', '.join(given)}, or leave it empty for none"
            )
        helping.append(given[judge])
    return helping


def expect_calls(opened: Opened) -> tuple[ExpectedCalls, ...]:
    """A report of every explorer in each round, collisions and judgements beside; then the vote and the synthesis."""
    assert isinstance(opened, SwarmOpened)
    settings = opened.settings
    explorers = tuple(seat.id for seat in opened.seats if seat.id not in opened.neutral)
    judges = tuple(seat.id for seat in opened.seats if seat.id == settings.judge)
    most = settings.max_rounds
    least = min(most, settings.min_rounds)
    share = 1 / len(explorers)
    collisions = min(1.0, settings.collisions * share) * most
    ballots = 1.0 if settings.vote else 0.0
    length = 2 * LONG_ANSWER
    explore = ExpectedCalls(seats=explorers, least=least, most=most, tokens_out=length)
    collide = ExpectedCalls(seats=explorers, least=0, most=collisions, tokens_out=SHORT_ANSWER)
    # Once more before the close.
    asked = MAX_LOOKS * (most + 1)
    judge = ExpectedCalls(seats=judges, least=0, most=asked, tokens_out=SHORT_ANSWER)
    vote = ExpectedCalls(seats=explorers, least=0, most=ballots, tokens_out=SHORT_ANSWER)
    synthesis = ExpectedCalls(
        seats=explorers, least=share, most=share, tokens_out=length, is_in_turn=True
    )
    return explore, collide, judge, vote, synthesis


SWARM: Final = ProtocolPlugin(
    name="swarm",
    states_facts=True,
    rules=RULES,
    settings=SwarmSettings,
    open=open_session,
    timeline=SwarmTimeline,
    decision=build_decision,
    describe=add_and_describe_entry,
    report=build_swarm_report,
    exports={
        "blackboard": render_blackboard,
        "operations": render_operation_log,
        "convergence": render_convergence_report,
        "config": render_run_config,
        "standing": render_standing,
    },
    expect=expect_calls,
    join=lambda opened: JoinGuide("swarm"),
    measure_setting="measure",
    refuses={"turns": "its explorers work in rounds; limit them with the setting max_rounds"},
)
