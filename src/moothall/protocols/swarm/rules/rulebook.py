"""The rulebook of a swarm.

    init → begin → explore → process → review → settle → measure → (begin …) → pool → vote → notice → graceful → terminate → close

In `explore` all explorers are asked at once, and those that fail are asked again as the protocol says; in `review` idle agents
collide, the validator checks, Moot compares texts; in `vote` the consensus ideas are voted on. Everything else is computed,
and each step is recorded and confirmed by the execution state machine. Operations are executed at the barrier, in an order that
does not depend on who answered first, so that the same seed and the same answers give the same run.
"""

from collections.abc import Callable, Iterator, Mapping
from typing import Any, Final, Generic, TypeVar

from moothall.domain.dictionaries import group_pairs
from moothall.domain.effects import AnswerForm, Ask, Effect, Record
from moothall.domain.facts import (
    AnswersGrouped,
    Closed,
    Entry,
    Fact,
    FactsListed,
    FactsStated,
    InputGiven,
    Opened,
    Reply,
    SeatLost,
)
from moothall.domain.ids import SeatId, ask_id
from moothall.domain.replace import dataclass, fast_replace
from moothall.domain.roster import DIRECTOR
from moothall.domain.session_state import (
    JudgeHearing,
    RunningTime,
    compute_running_time,
    evolve_shared,
    is_judge_ask,
    update_pending,
)
from moothall.protocols.answer_judge import find_grouping_step
from moothall.protocols.facts_first import find_facts_step, is_facts_ask, list_fact_asks
from moothall.protocols.swarm import answers, facts
from moothall.protocols.swarm.answer_table import FORMS
from moothall.protocols.swarm.facts import VALIDATOR, SwarmClosed
from moothall.protocols.swarm.prompts import build_answer_rules, build_brief
from moothall.protocols.swarm.rules import endings, operations, review, round_start, twins
from moothall.protocols.swarm.rules.endings import find_end_reason
from moothall.protocols.swarm.state import CONFIRMS, RoundReview, Stage, Swarm

_PARTS_WITH_SEATS: Final = ("orders", "violations", "changes", "results", "roles")
_SEATS: Final = ("opinions", "synced", "awaited", "acknowledged", "ends")


class SwarmRules:
    """Implements `Rulebook[Swarm]`."""

    name = "swarm"
    kinds: Mapping[str, type[Fact]] = facts.KINDS
    forms: Mapping[str, AnswerForm] = FORMS
    brief = staticmethod(build_brief)
    answer_rules = staticmethod(build_answer_rules)

    def initial(self, opened: Opened) -> Swarm:
        assert isinstance(opened, facts.SwarmOpened)
        judge = next((seat for seat in opened.seats if seat.id == opened.settings.judge), None)
        return Swarm(opened=opened, seats=opened.seats, judge_seat=judge)

    def evolve(self, state: Swarm, entry: Entry) -> Swarm:
        if state.stage == "closed":
            return state
        state, fact = _advance_clock(state, entry), entry.fact
        if isinstance(fact, Reply | SeatLost) and not _is_asked(state, fact.ask, fact.seat):
            return state
        state = evolve_shared(state, entry)
        match fact:
            case FactsStated():
                return state
            case SeatLost() if is_facts_ask(fact.ask):
                return state
            case Reply():
                return _apply_reply(state, fact)
            case SeatLost():
                return _apply_loss(state, fact)
            case FactsListed():
                return fast_replace(state, sealed_after=entry.seq)
            case AnswersGrouped(pairs=pairs) if fact.judge is not None:
                judged = tuple(pair for pair in pairs if pair.verdict is not None)
                return fast_replace(
                    state, review=fast_replace(state.review, judged=judged, is_judged=True)
                )
            case InputGiven():
                return _put_vote_again(state)
            case Closed():
                # A session that is cancelled or broken must not leave an agent running either.
                return fast_replace(
                    state
                    if state.stage == "close"
                    else endings.apply_termination(state, endings.build_agent_ends(state)),
                    stage="closed",
                )
            case _:
                after = _apply_step(state, fact)
                # Entries after this one stay hidden from other seats while all of them explore, or vote, at the same time.
                begins = after.stage != state.stage and after.stage in {"explore", "vote"}
                return fast_replace(after, sealed_after=entry.seq) if begins else after

    def decide(self, state: Swarm) -> tuple[Effect, ...]:
        if state.stage == "closed":
            return ()
        fault = _find_run_fault(state)
        if fault:
            return (Record(fact=_build_fault_closing(state, fault)),)
        first = find_facts_step(state, _find_facts_patience(state), "round_timeout")
        if first:
            return first
        asks = build_asks(state)
        if asks:
            return asks
        settling = _find_judging(state)
        if isinstance(settling, Record):
            return (settling,)
        fact = _NEXT_FACT[state.stage](state)
        steps = CONFIRMS.get(type(fact), ())
        # A fault of the rulebook itself. It is recorded and ends the run; raising would stop the engine at every restart.
        if not state.execution.can_confirm(*steps):
            fact = _build_fault_closing(
                state, f"the step {steps[0]} would follow {state.execution.last or 'nothing'}"
            )
        return (Record(fact=fact),)


RULES: Final = SwarmRules()


def _advance_clock(state: Swarm, entry: Entry) -> Swarm:
    """Advance the run's clock, which stands still while no process runs the session.

    While only outside agents are awaited it continues, because signals expire and agents are silent then, too; but no longer than
    a round waits for them. After that nobody was there.
    """
    time = (
        RunningTime(entry.at)
        if state.at is None
        else compute_running_time(state.at, state.pending, entry)
    )
    seconds = time.seconds + min(time.waited, state.settings.round_timeout or facts.ROUND_SECONDS)
    return fast_replace(
        state,
        at=time.at,
        clock=state.clock + max(0.0, seconds),
        pending=update_pending(state.pending, entry.fact),
    )


def build_asks(state: Swarm) -> tuple[Ask, ...]:
    if state.is_stating_facts:
        return list_fact_asks(state, _find_facts_patience(state), "round_timeout")
    match state.stage:
        case "explore" if state.stop is None:
            return tuple(
                _build_explore_ask(state, seat) for seat in round_start.list_waiting_seats(state)
            )
        case "review" | "pool" if state.stop is None:
            reviewers = _list_reviewers(state)
            asks = [_build_ask(state, kind, seat) for seat, kind in reviewers.items()]
            judging = _find_judging(state)
            # The measure finds the pairs, so the judge is asked after it; and nobody is asked two things at once.
            if isinstance(judging, Ask) and not {judging.seat, DIRECTOR.id} & reviewers.keys():
                asks.append(judging)
            return tuple(asks)
        case "vote":
            attempt = int(state.is_put_again)
            writer = endings.find_synthesis_writer(state)
            if writer is not None:
                return (_build_ask(state, "synthesis", writer, attempt=attempt),)
            return tuple(
                _build_ask(state, "ballot", seat, attempt=attempt)
                for seat in endings.list_missing_voters(state)
            )
        case "graceful":
            seconds = state.settings.notice_seconds + state.settings.graceful_seconds
            return tuple(
                _build_ask(state, "shutdown", seat, seconds)
                for seat in state.awaited
                if seat not in state.goodbyes
            )
        case _:
            return ()


def _find_facts_patience(state: Swarm) -> float:
    return state.settings.round_timeout or facts.ROUND_SECONDS


def _find_judging(state: Swarm) -> Ask | Record | None:
    """Return what comes before ideas are sorted or pooled: an ask of their judge, or what it has said (Q-3)."""
    if state.stage not in {"review", "pool"} or state.judge_seat is None or state.review.is_judged:
        return None
    patience = state.settings.round_timeout or facts.ROUND_SECONDS
    return find_grouping_step(state, review.list_wanted_pairs(state), patience, "round_timeout")


def _find_run_fault(state: Swarm) -> str:
    """Return what is wrong with the run itself, or an empty text. A fault ends the run and is recorded."""
    board = state.board
    # Every requested operation must be accounted for, processed or refused: otherwise the blackboard has lost one.
    if board.requests != board.operations + board.refused:
        return f"{board.requests} operations were requested, {board.operations} processed, {board.refused} refused"
    return ""


def _build_fault_closing(state: Swarm, fault: str) -> SwarmClosed:
    return SwarmClosed(reason="fault", converged=False, rounds=state.round, fault=fault)


def _build_explore_ask(state: Swarm, seat: SeatId) -> Ask:
    # The pings of one agent share the time for recovery.
    patience = (
        state.settings.recovery_seconds / round_start.PINGS
        if round_start.is_ping(state, seat)
        else None
    )
    return _build_ask(state, "explore", seat, patience, len(state.lost.get(seat, ())))


def _build_ask(
    state: Swarm, kind: str, seat: SeatId, patience: float | None = None, attempt: int = 0
) -> Ask:
    # A retry needs an id of its own: the turn is the round times ten plus the attempt, of which there are fewer than ten.
    name = ask_id(state.round * 10 + attempt, kind, seat)
    chosen = patience or state.settings.round_timeout
    # What was chosen binds all; else a seat from outside has the time that the session gives to such seats.
    return Ask(
        id=name,
        seat=seat,
        kind=kind,
        turn=state.round,
        patience=chosen or facts.ROUND_SECONDS,
        firm=chosen is not None,
        timed_by="recovery_seconds" if patience else "round_timeout",
    )


def _list_reviewers(state: Swarm) -> dict[SeatId, str]:
    """Return who still has to answer between the operations and the settlement."""
    review = state.review
    # Each seat appears once: an agent collides, and the helpers are seats of their own.
    reviewers: dict[SeatId, str] = {each.seat: "collide" for each in review.invitations}
    if review.to_check and VALIDATOR in state.helpers:
        reviewers[VALIDATOR] = "validate"
    if review.has_new:
        reviewers[DIRECTOR.id] = "compare"
    return {seat: kind for seat, kind in reviewers.items() if seat not in review.settled}


def _is_asked(state: Swarm, ask: str, seat: SeatId) -> bool:
    if state.stage == "explore":
        # In this stage many seats answer at once: only this seat is looked up, so that n answers do not build n² asks.
        is_waiting = (
            state.stop is None
            and seat in state.orders
            and seat not in state.answered
            and round_start.is_asked_again(state, seat)
        )
        return is_waiting and _build_explore_ask(state, seat).id == ask
    return any(each.id == ask and each.seat == seat for each in build_asks(state))


def _put_vote_again(state: Swarm) -> Swarm:
    """Ask all once more, and once only, where the user has spoken while ballots or the synthesis are out (Q-8)."""
    if state.stage != "vote" or state.is_put_again or state.stop is not None:
        return state
    if not endings.list_missing_voters(state):
        return fast_replace(state, is_put_again=True)
    return fast_replace(state, is_put_again=True, ballots={}, earlier_ballots={**state.ballots})


def _apply_reply(state: Swarm, fact: Reply) -> Swarm:
    seat = fact.seat
    agent = state.agents.get(seat)
    if agent is not None:
        agent = fast_replace(agent, active_at=state.clock, missed=False)
        state = fast_replace(state, agents={**state.agents, seat: agent})
    match fact.said:
        case answers.RoundReport() as report if agent is not None:
            agents = {**state.agents, seat: fast_replace(agent, asked=agent.asked + 1)}
            # Counted when the report arrives, so that the barrier can prove that none was lost.
            wanted = state.wanted + len(report.operations) + len(report.findings)
            return fast_replace(
                state, agents=agents, answered={**state.answered, seat: report}, wanted=wanted
            )
        case answers.Collision() as said:
            return _with_review(state, seat, collisions={**state.review.collisions, seat: said})
        case answers.Validation() as said:
            return _with_review(state, seat, validation=said)
        case answers.SimilarityReport() as said:
            return review.with_pairs(_with_review(state, seat, likenesses=said))
        case answers.SwarmBallot() as said:
            return fast_replace(state, ballots={**state.ballots, seat: said})
        case answers.Synthesis(content=content):
            return fast_replace(state, synthesis=content, author=seat)
        case answers.ShutdownReply(acknowledged=is_fine):
            return fast_replace(state, goodbyes={**state.goodbyes, seat: is_fine})
        case _:
            return state


def _with_review(state: Swarm, seat: SeatId, **changes: object) -> Swarm:
    review = fast_replace(state.review, settled=state.review.settled | {seat}, **changes)  # type: ignore[arg-type]  # its fields
    return fast_replace(state, review=review)


def _apply_loss(state: Swarm, fact: SeatLost) -> Swarm:
    seat, agent = fact.seat, state.agents.get(fact.seat)
    if agent is not None:
        state = fast_replace(state, agents={**state.agents, seat: fast_replace(agent, missed=True)})
    if is_judge_ask(fact.ask):
        return state
    # Which kind of ask failed follows from the stage, because each stage has its own kinds.
    if state.stage == "review":
        state = _with_review(state, seat)
        # Without the measure, words find the pairs.
        return review.with_pairs(state) if seat == DIRECTOR.id else state
    if state.stage == "graceful":
        return fast_replace(state, goodbyes={**state.goodbyes, seat: False})
    if state.stage == "vote":
        if endings.find_synthesis_writer(state) == seat:
            return fast_replace(state, writers_lost=(*state.writers_lost, seat))
        ballot = state.earlier_ballots.get(seat)
        return fast_replace(state, ballots={**state.ballots, seat: ballot})
    assert agent is not None, "only explorers are asked to explore"
    is_broken = fact.reason in round_start.BROKEN_OFF and agent.status == "active"
    agent = fast_replace(
        agent,
        missed=True,
        asked=agent.asked + 1,
        status="interrupted" if is_broken else agent.status,
    )
    lost = {**state.lost, seat: (*state.lost.get(seat, ()), fact.reason)}
    return fast_replace(state, agents={**state.agents, seat: agent}, lost=lost)


def _apply_step(state: Swarm, fact: Fact) -> Swarm:
    """Return the state after a computed step as it was recorded; a step that is not the next, or names other seats, changes
    nothing.

    Results are read from the fact and never computed again: another machine, or a later version, may differ in the last digit,
    and the record is what happened. A replay compares them.
    """
    step = _STEPS.get(type(fact))
    if (
        step is None
        or state.stage not in step.stages
        or not state.execution.can_confirm(*CONFIRMS[step.fact])
    ):
        return state
    if build_asks(state) or not _is_valid_step(state, fact):
        return state
    after = step.apply(fast_replace(state, stage=step.then), fact)
    return fast_replace(after, execution=state.execution.with_confirmed(*CONFIRMS[step.fact]))


def _is_valid_step(state: Swarm, fact: Fact) -> bool:
    """Whether a recorded step is of this round, and names existing seats and ideas. Its figures are not checked."""
    if isinstance(fact, facts.SwarmFormed):
        return tuple(each.seat for each in fact.agents) == state.explorers
    if isinstance(fact, facts.IdeasSorted) and not _is_numbered(state, fact):
        return False
    expected = state.round + 1 if isinstance(fact, facts.RoundBegun) else state.round
    # The steps of the shutdown have no round.
    return getattr(fact, "round", expected) == expected and all(
        seat in state.agents for seat in _list_seats(fact)
    )


def _is_numbered(state: Swarm, fact: facts.IdeasSorted) -> bool:
    """Whether ideas are numbered without gaps: a new idea takes the next number, any other has an existing one."""
    count = len(state.board.ideas)
    for each in fact.placed:
        count += each.reason == "new"
        if not 1 <= each.idea <= count or (each.reason == "new" and each.idea != count):
            return False
    return True


def _list_seats(fact: Fact) -> Iterator[str]:
    for name in _PARTS_WITH_SEATS:
        yield from (part.seat for part in getattr(fact, name, ()))
    for name in _SEATS:
        yield from getattr(fact, name, ())
    if isinstance(fact, facts.ConvergenceMeasured) and fact.debater is not None:
        yield fact.debater.seat


def _build_round_start(state: Swarm) -> Fact:
    """Build the start of the next round, or the completion if there is none."""
    reason = find_end_reason(state)
    if reason is not None:
        return endings.build_completion(state, reason)
    return facts.RoundBegun(round=state.round + 1, orders=round_start.build_orders(state))


def _apply_round_start(state: Swarm, fact: facts.RoundBegun) -> Swarm:
    orders = {order.seat: order for order in fact.orders}
    # A judge that was lost in a round is asked again in the next one.
    hearing = JudgeHearing(asked=state.hearing.asked)
    return fast_replace(
        state,
        round=fact.round,
        orders=orders,
        answered={},
        lost={},
        review=RoundReview(),
        hearing=hearing,
    )


def _build_processed_operations(state: Swarm) -> Fact:
    editor = operations.run_operations(state)
    failed = sum(not result.success for result in editor.results)
    return facts.OperationsProcessed(
        round=state.round,
        requests=state.wanted - state.board.requests,
        processed=len(editor.results) - failed,
        failed=failed,
        results=tuple(editor.results),
    )


def _apply_operations(state: Swarm, fact: facts.OperationsProcessed) -> Swarm:
    editor = operations.replay_operations(state, fact.results)
    agents = editor.agents
    by_seat = group_pairs((result.seat, result) for result in editor.results)
    for seat in state.orders:
        results = tuple(by_seat.get(seat, ()))
        # Agents may confirm these ids in a later report (compliance check C1).
        done = agents[seat].done | {f"op-{result.number}" for result in results}
        agents[seat] = fast_replace(agents[seat], results=results, done=done)
    state = fast_replace(
        state, agents=agents, board=fast_replace(editor.board, requests=state.wanted)
    )
    # After the operations, because they add the findings that are compared and collided with.
    state = fast_replace(state, review=review.start_review(state))
    return state if state.review.has_new else review.with_pairs(state)


def _apply_measurement(state: Swarm, fact: facts.ConvergenceMeasured) -> Swarm:
    after = endings.apply_measurement(state, fact)
    if find_end_reason(after) is None:
        return after
    if twins.can_pool(after):
        return twins.start_pooling(after)
    return fast_replace(after, stage="vote")


def _build_closing(state: Swarm) -> Fact:
    done = state.completed
    assert done is not None, "a swarm is closed after it was completed"
    return SwarmClosed(reason=done.reason, converged=done.converged, rounds=state.round)


F = TypeVar("F", bound=Fact)


@dataclass(frozen=True, slots=True)
class ComputedStep(Generic[F]):
    """A step that the rulebook computes: its fact, the stages in which it can come, the stage that follows, and what it does.

    `apply` gets the state in the stage that follows, and may choose another one.
    """

    fact: type[F]
    stages: tuple[Stage, ...]
    then: Stage
    build: Callable[[Swarm], Fact]
    apply: Callable[[Swarm, F], Swarm]


_STEPS: Final[dict[type[Fact], ComputedStep[Any]]] = {
    step.fact: step
    for step in (
        ComputedStep(
            facts.SwarmFormed,
            ("init",),
            "begin",
            round_start.build_formation,
            round_start.apply_formation,
        ),
        ComputedStep(
            facts.RoundBegun, ("begin",), "explore", _build_round_start, _apply_round_start
        ),
        ComputedStep(
            facts.BarrierPassed,
            ("explore",),
            "process",
            round_start.build_barrier,
            round_start.apply_barrier,
        ),
        ComputedStep(
            facts.OperationsProcessed,
            ("process",),
            "review",
            _build_processed_operations,
            _apply_operations,
        ),
        ComputedStep(
            facts.IdeasSorted,
            ("review",),
            "settle",
            review.sort_ideas,
            # Reviews before ideas: both rewrite the findings, and the reviews still refer to them by number only.
            lambda state, fact: review.with_ideas(review.apply_reviews(state), fact.placed),
        ),
        ComputedStep(
            facts.RoundSettled,
            ("settle",),
            "measure",
            endings.build_settlement,
            endings.apply_settlement,
        ),
        ComputedStep(
            facts.ConvergenceMeasured,
            ("measure",),
            "begin",
            endings.measure_convergence,
            _apply_measurement,
        ),
        ComputedStep(
            facts.TwinsPooled,
            ("pool",),
            "vote",
            twins.pool_twins,
            lambda state, fact: review.with_ideas(state, fact.placed),
        ),
        # A run that is stopped between two rounds has no vote.
        ComputedStep(
            facts.SwarmCompleted,
            ("vote", "begin"),
            "notice",
            _build_round_start,
            endings.apply_completion,
        ),
        ComputedStep(
            facts.ShutdownNoticed,
            ("notice",),
            "graceful",
            lambda state: facts.ShutdownNoticed(awaited=endings.list_awaited_seats(state)),
            lambda state, fact: fast_replace(state, awaited=fact.awaited),
        ),
        ComputedStep(
            facts.ShutdownAnswered,
            ("graceful",),
            "terminate",
            lambda state: facts.ShutdownAnswered(
                acknowledged=tuple(seat for seat in state.awaited if state.goodbyes.get(seat))
            ),
            lambda state, fact: state,
        ),
        ComputedStep(
            facts.AgentsTerminated,
            ("terminate",),
            "close",
            lambda state: facts.AgentsTerminated(ends=endings.build_agent_ends(state)),
            lambda state, fact: endings.apply_termination(state, fact.ends),
        ),
    )
}
_NEXT_FACT: Final[dict[Stage, Callable[[Swarm], Fact]]] = {
    "close": _build_closing,
    **{stage: step.build for step in _STEPS.values() for stage in step.stages},
}
