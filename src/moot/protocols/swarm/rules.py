"""The rulebook of a swarm.

    init → begin → explore → process → review → settle → measure → (begin …) → vote → notice → graceful → terminate → close

In `explore` all explorers are asked at once, and those that fail are asked again as the protocol says; in `review` idle agents
collide, the validator checks, the measure compares; in `vote` the consensus ideas are put to the vote. All else is computed, each
step recorded and confirmed by the execution state machine. Operations are carried out at the barrier, in an order that does not
depend on who answered first, so that the same seed and the same answers give the same run.
"""

from collections.abc import Callable, Mapping
from typing import Final

from moot.domain.effects import AnswerForm, Ask, Brief, Effect, Record
from moot.domain.facts import (
    BudgetExhausted,
    CloseCalled,
    Closed,
    Entry,
    Fact,
    InputGiven,
    Opened,
    Reply,
    SeatLost,
    SessionForked,
)
from moot.domain.ids import SeatId, ask_id
from moot.domain.losses import count_loss
from moot.domain.roster import swap_seats
from moot.domain.running import RunningTime, compute_running_time, update_pending
from moot.domain.values import fast_replace
from moot.protocols.swarm.answers import Ballot, Collision, Goodbye, Likenesses, RoundReport, Synthesis, Validation
from moot.protocols.swarm.collisions import collided, invitations, to_check
from moot.protocols.swarm.ending import awaited, completed, ends, synced, terminated, voting, writing
from moot.protocols.swarm.facts import (
    FORMS,
    KINDS,
    LIKENESS,
    VALIDATOR,
    AgentsTerminated,
    BarrierPassed,
    ConvergenceMeasured,
    IdeasSorted,
    OperationResult,
    OperationsProcessed,
    RoundBegun,
    RoundSettled,
    ShutdownAnswered,
    ShutdownNoticed,
    SwarmClosed,
    SwarmCompleted,
    SwarmFormed,
    SwarmOpened,
)
from moot.protocols.swarm.fitting import fits
from moot.protocols.swarm.ideas import fresh, sorted_ideas, to_compare, with_ideas
from moot.protocols.swarm.measuring import after_measuring, ending, measured
from moot.protocols.swarm.operations import redone, worked
from moot.protocols.swarm.prompts import briefed
from moot.protocols.swarm.rounds import (
    BROKEN_OFF,
    PINGS,
    after_barrier,
    after_forming,
    asked_again,
    formed,
    is_ping,
    ordered,
    passed,
    waiting,
)
from moot.protocols.swarm.settlement import after_settling, settled
from moot.protocols.swarm.state import Reviewing, Stage, Swarm

CONFIRMS: Final[dict[type[Fact], tuple[str, ...]]] = {
    SwarmFormed: ("INIT:create_team", "INIT:create_blackboard", "INIT:init_agent_states", "INIT:spawn_agents"),
    RoundBegun: ("ROUND:broadcast_round_start",),
    BarrierPassed: ("ROUND:wait_responses",),
    OperationsProcessed: ("ROUND:process_operations", "ROUND:return_results"),
    IdeasSorted: ("ROUND:update_blackboard",),
    RoundSettled: ("ROUND:settle_round",),
    ConvergenceMeasured: ("CONVERGENCE:check_beta_stability", "CONVERGENCE:check_quorum", "CONVERGENCE:check_diversity"),
    SwarmCompleted: ("CONVERGENCE:generate_report",),
    ShutdownNoticed: ("SHUTDOWN:pre_notify",),
    ShutdownAnswered: ("SHUTDOWN:graceful_request",),
    AgentsTerminated: ("SHUTDOWN:force_terminate", "SHUTDOWN:mark_all_terminated"),
}
"""Which steps of the execution state machine a fact confirms."""

_AT: Final[dict[type[Fact], frozenset[Stage]]] = {
    SwarmFormed: frozenset(("init",)),
    RoundBegun: frozenset(("begin",)),
    BarrierPassed: frozenset(("explore",)),
    OperationsProcessed: frozenset(("process",)),
    IdeasSorted: frozenset(("review",)),
    RoundSettled: frozenset(("settle",)),
    ConvergenceMeasured: frozenset(("measure",)),
    SwarmCompleted: frozenset(("begin", "vote")),
    ShutdownNoticed: frozenset(("notice",)),
    ShutdownAnswered: frozenset(("graceful",)),
    AgentsTerminated: frozenset(("terminate",)),
}
MOST_INPUTS: Final = 3


class SwarmRules:
    """Implements `Rulebook[Swarm]`."""

    name = "swarm"
    kinds: Mapping[str, type[Fact]] = KINDS
    forms: Mapping[str, AnswerForm] = FORMS

    def initial(self, opened: Opened) -> Swarm:
        assert isinstance(opened, SwarmOpened)
        return Swarm(opened=opened, seats=opened.seats)

    def evolve(self, state: Swarm, entry: Entry) -> Swarm:
        if state.stage == "closed":
            return state
        state = _ticked(state, entry)
        fact = entry.fact
        match fact:
            case Reply():
                return _replied(state, fact) if _is_asked(state, fact.ask, fact.seat) else state
            case SeatLost():
                return _lost(state, fact) if _is_asked(state, fact.ask, fact.seat) else state
            case InputGiven(text=text):
                return fast_replace(state, inputs=(*state.inputs, text)[-MOST_INPUTS:])
            case BudgetExhausted(budget=budget):
                return fast_replace(state, stop=state.stop or (None if budget == "turns" else budget))
            case CloseCalled():
                return fast_replace(state, stop=state.stop or "called")
            case SessionForked(swaps=swaps):
                return fast_replace(state, seats=swap_seats(state.seats, swaps))
            case Closed():
                # One that is cancelled, or that broke, leaves nobody running either.
                return fast_replace(state if state.stage == "close" else terminated(state, ends(state)), stage="closed")
            case _:
                after = _stepped(state, fact)
                begins = after.stage != state.stage and after.stage in {"explore", "vote"}
                return fast_replace(after, sealed_after=entry.seq) if begins else after

    def decide(self, state: Swarm) -> tuple[Effect, ...]:
        if state.stage == "closed":
            return ()
        fault = _broken(state)
        if fault:
            return (Record(fact=_stopped(state, fault)),)
        asks = asked(state)
        if asks:
            return asks
        fact = follows(state)
        steps = CONFIRMS.get(type(fact), ())
        if not state.execution.may(*steps):
            fact = _stopped(state, f"the step {steps[0]} would follow {state.execution.last or 'nothing'}")
        return (Record(fact=fact),)

    def brief(self, state: Swarm, ask: Ask) -> Brief:
        return briefed(state, ask)


RULES: Final = SwarmRules()


def _ticked(state: Swarm, entry: Entry) -> Swarm:
    """The run's clock: it stands still while no process runs the session.

    While only agents elsewhere are awaited it goes on, since signals expire and agents are silent then too, but for no longer
    than a round waits for them: after that nobody was there.
    """
    time = RunningTime(entry.at) if state.at is None else compute_running_time(state.at, state.pending, entry)
    seconds = time.seconds + min(time.parked, state.settings.round_timeout)
    return fast_replace(
        state, at=time.at, clock=state.clock + max(0.0, seconds), pending=update_pending(state.pending, entry.fact)
    )


def asked(state: Swarm) -> tuple[Ask, ...]:
    """Who is asked for what now."""
    match state.stage:
        case "explore" if state.stop is None:
            return tuple(_explore(state, seat) for seat in waiting(state))
        case "review" if state.stop is None:
            return tuple(_ask(state, kind, seat, _patience(state)) for seat, kind in _reviewers(state).items())
        case "vote":
            writer = writing(state)
            if writer is not None:
                return (_ask(state, "synthesis", writer, _patience(state)),)
            return tuple(_ask(state, "ballot", seat, _patience(state)) for seat in voting(state))
        case "graceful":
            seconds = state.settings.notice_seconds + state.settings.graceful_seconds
            return tuple(_ask(state, "shutdown", seat, seconds) for seat in state.awaited if seat not in state.goodbyes)
        case _:
            return ()


def follows(state: Swarm) -> Fact:
    """The fact that the state leads to by itself, once nobody is asked for anything."""
    return _FOLLOWS[state.stage](state)


def _broken(state: Swarm) -> str:
    """What is wrong with the run itself; empty if nothing is. Then it stops, and says so on the record."""
    board = state.board
    if board.requests != board.operations + board.refused:
        return f"{board.requests} operations were requested, {board.operations} processed, {board.refused} refused"
    return ""


def _stopped(state: Swarm, fault: str) -> SwarmClosed:
    return SwarmClosed(reason="fault", converged=False, rounds=state.round, fault=fault)


def _patience(state: Swarm) -> float:
    return state.settings.round_timeout


def _explore(state: Swarm, seat: SeatId) -> Ask:
    patience = state.settings.recovery_seconds / PINGS if is_ping(state, seat) else _patience(state)
    return _ask(state, "explore", seat, patience, len(state.lost.get(seat, ())))


def _ask(state: Swarm, kind: str, seat: SeatId, patience: float, attempt: int = 0) -> Ask:
    name = ask_id(state.round * 10 + attempt, kind, seat)
    return Ask(id=name, seat=seat, kind=kind, turn=state.round, patience=patience, firm=True)


def _reviewers(state: Swarm) -> dict[SeatId, str]:
    """Who has still to say something between the operations and the settlement."""
    review = state.review
    found: dict[SeatId, str] = {each.seat: "collide" for each in review.invitations}
    helpers = state.helpers
    if review.to_check and VALIDATOR in helpers:
        found[VALIDATOR] = "validate"
    if review.compared and LIKENESS in helpers:
        found[LIKENESS] = "compare"
    return {seat: kind for seat, kind in found.items() if seat not in review.settled}


def _is_asked(state: Swarm, ask: str, seat: SeatId) -> bool:
    if state.stage == "explore":
        # The one stage in which many answer: looked up for this seat alone.
        is_waiting = state.stop is None and seat in state.orders and seat not in state.answered and asked_again(state, seat)
        return is_waiting and _explore(state, seat).id == ask
    return any(each.id == ask and each.seat == seat for each in asked(state))


def _replied(state: Swarm, fact: Reply) -> Swarm:
    seat = fact.seat
    agent = state.agents.get(seat)
    if agent is not None:
        agent = fast_replace(agent, active_at=state.clock, missed=False)
        state = fast_replace(state, agents={**state.agents, seat: agent})
    match fact.said:
        case RoundReport() as report if agent is not None:
            agents = {**state.agents, seat: fast_replace(agent, asked=agent.asked + 1)}
            wanted = state.wanted + len(report.operations) + len(report.findings)
            return fast_replace(state, agents=agents, answered={**state.answered, seat: report}, wanted=wanted)
        case Collision() as said:
            return _reviewed(state, seat, collisions={**state.review.collisions, seat: said})
        case Validation() as said:
            return _reviewed(state, seat, validation=said)
        case Likenesses() as said:
            return _reviewed(state, seat, likenesses=said)
        case Ballot() as said:
            return fast_replace(state, ballots={**state.ballots, seat: said})
        case Synthesis(content=content):
            return fast_replace(state, synthesis=content, author=seat)
        case Goodbye(acknowledged=is_fine):
            return fast_replace(state, goodbyes={**state.goodbyes, seat: is_fine})
        case _:
            return state


def _reviewed(state: Swarm, seat: SeatId, **changes: object) -> Swarm:
    review = fast_replace(state.review, settled=state.review.settled | {seat}, **changes)  # type: ignore[arg-type]  # its fields
    return fast_replace(state, review=review)


def _lost(state: Swarm, fact: SeatLost) -> Swarm:
    state = fast_replace(state, losses=count_loss(state.losses, fact))
    seat, agent = fact.seat, state.agents.get(fact.seat)
    if agent is not None:
        state = fast_replace(state, agents={**state.agents, seat: fast_replace(agent, missed=True)})
    if state.stage == "review":
        return _reviewed(state, seat)
    if state.stage == "graceful":
        return fast_replace(state, goodbyes={**state.goodbyes, seat: False})
    if state.stage == "vote":
        if writing(state) == seat:
            return fast_replace(state, writers_lost=(*state.writers_lost, seat))
        return fast_replace(state, ballots={**state.ballots, seat: None})
    assert agent is not None, "only explorers are asked to explore"
    is_broken = fact.reason in BROKEN_OFF and agent.status == "active"
    agent = fast_replace(agent, missed=True, asked=agent.asked + 1, status="interrupted" if is_broken else agent.status)
    lost = {**state.lost, seat: (*state.lost.get(seat, ()), fact.reason)}
    return fast_replace(state, agents={**state.agents, seat: agent}, lost=lost)


def _stepped(state: Swarm, fact: Fact) -> Swarm:
    """The state after a computed step as it was recorded; one that is not the next, or of other seats, changes nothing.

    What the step came to is read from the fact and never reckoned again: another machine, or a later version, may differ in the
    last digit, and the record is what happened. A replay compares.
    """
    kind = type(fact)
    if state.stage not in _AT.get(kind, ()) or not state.execution.may(*CONFIRMS[kind]) or asked(state):
        return state
    if not fits(state, fact):
        return state
    after = _AFTER[kind](state, fact)
    return fast_replace(after, execution=state.execution.confirmed(*CONFIRMS[kind]))


def _begun(state: Swarm) -> Fact:
    reason = ending(state)
    if reason is not None:
        return completed(state, reason)
    return RoundBegun(round=state.round + 1, orders=ordered(state))


def _processed(state: Swarm) -> Fact:
    bench = worked(state)
    failed = sum(not result.success for result in bench.results)
    return OperationsProcessed(
        round=state.round,
        requests=state.wanted - state.board.requests,
        processed=len(bench.results) - failed,
        failed=failed,
        results=tuple(bench.results),
    )


def _sorted(state: Swarm) -> Fact:
    found = sorted_ideas(state)
    return IdeasSorted(round=state.round, by=found.by, placed=found.placed)


def _ended(state: Swarm) -> Fact:
    reason = ending(state)
    assert reason is not None, "a vote is held when the exploring is over"
    return completed(state, reason)


def _closed(state: Swarm) -> Fact:
    done = state.completed
    assert done is not None, "a swarm is closed after it was completed"
    return SwarmClosed(reason=done.reason, converged=done.converged, rounds=state.round, fault=done.fault)


_FOLLOWS: Final[dict[Stage, Callable[[Swarm], Fact]]] = {
    "init": formed,
    "begin": _begun,
    "explore": passed,
    "process": _processed,
    "review": _sorted,
    "settle": settled,
    "measure": measured,
    "vote": _ended,
    "notice": lambda state: ShutdownNoticed(awaited=awaited(state)),
    "graceful": lambda state: ShutdownAnswered(
        acknowledged=tuple(seat for seat in state.awaited if state.goodbyes.get(seat, False))
    ),
    "terminate": lambda state: AgentsTerminated(ends=ends(state)),
    "close": _closed,
}


def _after_formed(state: Swarm, fact: Fact) -> Swarm:
    assert isinstance(fact, SwarmFormed)
    return fast_replace(after_forming(state, fact), stage="begin")


def _after_begun(state: Swarm, fact: Fact) -> Swarm:
    assert isinstance(fact, RoundBegun)
    orders = {order.seat: order for order in fact.orders}
    return fast_replace(state, stage="explore", round=fact.round, orders=orders, answered={}, lost={}, review=Reviewing())


def _after_barrier(state: Swarm, fact: Fact) -> Swarm:
    assert isinstance(fact, BarrierPassed)
    return fast_replace(state, stage="process", agents=after_barrier(state, fact))


def _after_operations(state: Swarm, fact: Fact) -> Swarm:
    assert isinstance(fact, OperationsProcessed)
    bench = redone(state, fact.results)
    agents = bench.agents
    by_seat: dict[SeatId, list[OperationResult]] = {}
    for result in bench.results:
        by_seat.setdefault(result.seat, []).append(result)
    for seat in state.orders:
        results = tuple(by_seat.get(seat, ()))
        done = agents[seat].done | {f"op-{result.number}" for result in results}
        agents[seat] = fast_replace(agents[seat], results=results, done=done)
    state = fast_replace(state, stage="review", agents=agents, board=fast_replace(bench.board(), requests=state.wanted))
    texts = fresh(state)
    known, compared = to_compare(state, texts)
    review = Reviewing(invitations=invitations(state), to_check=to_check(state), fresh=texts, known=known, compared=compared)
    return fast_replace(state, review=review)


def _after_sorting(state: Swarm, fact: Fact) -> Swarm:
    assert isinstance(fact, IdeasSorted)
    return fast_replace(with_ideas(collided(state), fact.placed), stage="settle")


def _after_settling(state: Swarm, fact: Fact) -> Swarm:
    assert isinstance(fact, RoundSettled)
    return fast_replace(after_settling(state, fact), stage="measure")


def _after_measuring(state: Swarm, fact: Fact) -> Swarm:
    assert isinstance(fact, ConvergenceMeasured)
    after = after_measuring(state, fact)
    return fast_replace(after, stage="begin" if ending(after) is None else "vote")


def _after_completing(state: Swarm, fact: Fact) -> Swarm:
    assert isinstance(fact, SwarmCompleted)
    return fast_replace(synced(state, fact), stage="notice")


def _after_notice(state: Swarm, fact: Fact) -> Swarm:
    assert isinstance(fact, ShutdownNoticed)
    return fast_replace(state, stage="graceful", awaited=fact.awaited)


def _after_goodbyes(state: Swarm, fact: Fact) -> Swarm:
    return fast_replace(state, stage="terminate")


def _after_terminating(state: Swarm, fact: Fact) -> Swarm:
    assert isinstance(fact, AgentsTerminated)
    return fast_replace(terminated(state, fact.ends), stage="close")


_AFTER: Final[dict[type[Fact], Callable[[Swarm, Fact], Swarm]]] = {
    SwarmFormed: _after_formed,
    RoundBegun: _after_begun,
    BarrierPassed: _after_barrier,
    OperationsProcessed: _after_operations,
    IdeasSorted: _after_sorting,
    RoundSettled: _after_settling,
    ConvergenceMeasured: _after_measuring,
    SwarmCompleted: _after_completing,
    ShutdownNoticed: _after_notice,
    ShutdownAnswered: _after_goodbyes,
    AgentsTerminated: _after_terminating,
}
