"""The calls of a swarm: `moot.swarm*`. An agent elsewhere loops over `swarmRound` and `swarmReport`."""

from typing import Annotated, Any, Final, Literal

from pydantic import Field

from moothall.app.special_sessions import build_swarm_options
from moothall.domain.ids import SessionId, find_asked_seat
from moothall.domain.roster import MAILBOX
from moothall.domain.topic import MAX_TOPIC_LENGTH
from moothall.errors import BadSetting
from moothall.ports.runner import MAX_WAIT_SECONDS
from moothall.protocols.swarm.facts import MAX_AGENTS, MIN_AGENTS
from moothall.protocols.swarm.reports.files import build_board_json, build_convergence_json
from moothall.protocols.swarm.reports.standing import build_standing_json
from moothall.surfaces.api.asks import AskOut, WrittenOut, answer_ask, get_asks
from moothall.surfaces.api.fields import AskRef, EntryNumber, IdempotencyKey, SeatRef, SessionRef
from moothall.surfaces.api.method import ApiModel, Call, Operations
from moothall.surfaces.api.session_options import (
    Opening,
    SwarmParams,
    collect_options,
    open_once,
    take_settings,
)

METHODS = Operations()

NEWEST: Final = 20


@take_settings("swarm", "mode", "directions", "max_rounds", "quorum")
class OpenSwarmParams(SwarmParams):
    task: Annotated[str, Field(min_length=1, max_length=MAX_TOPIC_LENGTH)]
    agents: Annotated[
        int | None,
        Field(
            ge=MIN_AGENTS,
            le=MAX_AGENTS,
            description="Number of explorers. Default: the number of seats, or 5.",
        ),
    ] = None
    idempotency_key: IdempotencyKey = ""


class SwarmOut(ApiModel):
    session_id: str
    status: Literal["exploring", "parked", "concluded", "cancelled"]
    round: int
    max_rounds: int
    stage: str
    active: list[str]
    waiting_for: list[str] = Field(description="Who is asked for something now.")
    ended_by: str | None = None
    converged: bool
    convergence: dict[str, Any] | None = Field(
        default=None, description="The figures of the last round, with their inputs."
    )
    blackboard: dict[str, Any]
    standing: dict[str, Any] = Field(
        description="Where it stands: the leading idea, its evidence, what speaks against it, all ideas by support, the synthesis."
    )
    cursor: int


class RoundOut(ApiModel):
    session_id: str
    status: Literal["your_turn", "pending", "ended"]
    ask: AskOut | None = Field(
        default=None,
        description="What is asked: round_start for the kind explore, else as its instructions say.",
    )
    next: str


@METHODS.add("moot.swarmOpen", "run", tool="open_swarm", unbound=True)
async def open_swarm(call: Call, params: OpenSwarmParams) -> SwarmOut:
    """Run equal explorers on a task, round by round on a shared blackboard, until their ideas are stable, shared and diverse
    enough. Explorers with a platform are models that Moot asks; those without are agents that take part by swarm_round and
    swarm_report.
    """

    async def plan() -> Opening:
        given = await collect_options(call, params)
        # An explorer without a platform is an agent from outside; a panel's are filled like those of every session.
        if "models" not in given and "panel" not in given:
            given["models"] = [MAILBOX]
        options = build_swarm_options(given, params.agents, params.collect_settings())
        return Opening(params.task, options)

    session = await open_once(call, "moot.swarmOpen", params, params.idempotency_key, plan)
    return await get_swarm_status(call, session)


@METHODS.add("moot.swarmStatus", "read", tool="swarm_status")
async def get_swarm_status(
    call: Call,
    session_id: SessionRef,
    whole: Annotated[
        bool,
        Field(description="The whole blackboard with every event; else the newest of everything."),
    ] = False,
    at: EntryNumber = None,
) -> SwarmOut:
    """Where a swarm stands: its leading idea with evidence and objections, all ideas by support, the synthesis; round,
    convergence figures, a snapshot of its blackboard.
    """
    await _check_swarm(call, session_id)
    sessions = call.context.folded
    folded = (
        await sessions.load(session_id) if at is None else await sessions.load_at(session_id, at)
    )
    timeline, decision = folded.timeline, folded.plugin.decision(folded.timeline)
    swarm, board = timeline.state, build_board_json(timeline)
    if not whole:
        shown = {name: value for name, value in board.items() if name not in {"events", "config"}}
        board = {
            name: value[-NEWEST:] if isinstance(value, list) else value
            for name, value in shown.items()
        }
    convergence = None
    if timeline.measures:
        convergence = build_convergence_json(timeline.measures[-1], swarm)
    return SwarmOut(
        session_id=session_id,
        status="exploring" if decision.status == "thinking" else decision.status,
        round=swarm.round,
        max_rounds=swarm.settings.max_rounds,
        stage=swarm.stage,
        active=list(swarm.active),
        waiting_for=sorted({find_asked_seat(ask) for ask in timeline.session_state.pending}),
        ended_by=decision.ended_by,
        converged=swarm.completed is not None and swarm.completed.converged,
        convergence=convergence,
        blackboard=board,
        standing=build_standing_json(timeline, most=None if whole else NEWEST),
        cursor=timeline.seq,
    )


@METHODS.add("moot.swarmRound", "speak", tool="swarm_round", waits=True)
async def wait_for_round(
    call: Call,
    session_id: SessionRef,
    seat: SeatRef = None,
    timeout_seconds: Annotated[
        float, Field(ge=0, le=MAX_WAIT_SECONDS, description="Wait this long to be asked.")
    ] = 0.0,
) -> RoundOut:
    """Wait for what a swarm asks of your seat: round_start with your state, decision support and instructions, then its other
    messages. 'your_turn': answer with swarm_report; 'pending': call again; 'ended': swarm_status has the result.
    """
    await _check_swarm(call, session_id)
    asked = await get_asks(
        call, session_id, call.caller.resolve_speaker(seat, "seat"), timeout_seconds
    )
    if asked.asks:
        return RoundOut(
            session_id=session_id,
            status="your_turn",
            ask=asked.asks[0],
            next="Answer with swarm_report.",
        )
    if asked.status == "ended":
        return RoundOut(
            session_id=session_id,
            status="ended",
            next="The swarm has ended; swarm_status has its result.",
        )
    return RoundOut(session_id=session_id, status="pending", next=asked.note)


@METHODS.add("moot.swarmReport", "speak", tool="swarm_report")
async def submit_report(
    call: Call,
    session_id: SessionRef,
    *,
    seat: SeatRef = None,
    ask: AskRef = None,
    report: Annotated[
        str | dict[str, Any],
        Field(
            description="The fields that answerSchema of the ask names; for the form `text` a text."
        ),
    ],
    idempotency_key: IdempotencyKey = "",
) -> WrittenOut:
    """Send your report of the round (or answer another message of the swarm): findings, operations, decision report, conflict
    review.
    """
    await _check_swarm(call, session_id)
    return await answer_ask(
        call, session_id, seat=seat, ask=ask, answer=report, idempotency_key=idempotency_key
    )


async def _check_swarm(call: Call, session: SessionId) -> None:
    """Raises BadSetting for a session that is not a swarm."""
    if (await call.moot.load_plugin(session)).name != "swarm":
        raise BadSetting(
            f"{session!r} is not a swarm; use get_asks and answer_ask to take part in it, get_session to read it"
        )
