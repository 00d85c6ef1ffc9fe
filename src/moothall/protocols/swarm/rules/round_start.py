"""The start of a round and its barrier: the order of each explorer, who is asked again, who is given up, and the four checks on
every report with the scores of violations (source 15.3, 15.4)."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from typing import Final

from moothall.domain.dictionaries import group_pairs
from moothall.domain.facts import Loss
from moothall.domain.ids import USER, SeatId
from moothall.domain.replace import copy_fields, fast_replace
from moothall.domain.safe_text import one_line
from moothall.domain.seeded_random import random_unit
from moothall.locale.catalogues import SWARM_PROMPT
from moothall.protocols.swarm import facts
from moothall.protocols.swarm.answers import DecisionReport, RoundReport
from moothall.protocols.swarm.rules.evidence import (
    AnswerIndex,
    WeighedDirection,
    direction_key,
    weigh_directions,
)
from moothall.protocols.swarm.rules.operations import BlackboardEditor
from moothall.protocols.swarm.rules.plain_report import is_asked_plainly
from moothall.protocols.swarm.state import ASKED, SILENT_ROUNDS, Agent, Board, Swarm, with_changes
from moothall.scoring.stigmergy import compute_response

MAX_WAKES: Final = 3
PINGS: Final = 3
DEGRADED_AT: Final = 2
REMOVED_AT: Final = 3
FOLLOW: Final = 0.70
UNCOVERED: Final = 0.15
"""Of 100 rounds of a seat that Moot asks: so many follow what is weighed most, so many go where it has not been (S-11)."""
COVERED_BY: Final = 3
"""How many explorers must have read a direction before it is no longer offered first to those who have not."""

BROKEN_OFF: Final[frozenset[Loss]] = frozenset(("error", "gave_up", "unreachable"))
"""Losses after which an agent counts as interrupted: its connection or process broke off."""

SCORES: Final[dict[facts.Severity, int]] = {"WARNING": 1, "MINOR": 3, "MAJOR": 5, "CRITICAL": 10}
TERMINATED_AT: Final = 15
TOLERANCE: Final = 0.01

SEVERITIES: Final[dict[str, facts.Severity]] = {
    "reported_operation_not_found": "MAJOR",
    "decision_report_missing": "MAJOR",
    "decision_report_missing_threshold": "MINOR",
    "response_prob_calculation_error": "MINOR",
    "conflict_review_missing": "MINOR",
    "random_explore_not_executed": "MAJOR",
}
"""As in the source; a violation that it does not list is a warning."""


def build_formation(state: Swarm) -> facts.SwarmFormed:
    """Build the fact with the seeds and the agents: θ in [0.3, 0.6), the chance of random exploration in [0.1, 0.2)."""
    seed = state.opened.seed
    seeds: tuple[str, ...] = ()
    if state.settings.mode == "hybrid":
        seeds = state.settings.directions
    laid = _seed_board(state, seeds).pheromones.values()
    drawn = (
        facts.DrawnParameters(
            seat=seat,
            threshold=0.3 + 0.3 * random_unit(seed, "threshold", seat),
            random_explore=0.1 + 0.1 * random_unit(seed, "random_explore", seat),
        )
        for seat in state.explorers
    )
    changes = (
        facts.ConcentrationChange(direction=each.direction, before=0.0, after=each.concentration)
        for each in laid
    )
    return facts.SwarmFormed(agents=tuple(drawn), seeded=seeds, deposited=tuple(changes))


def _seed_board(state: Swarm, seeds: Sequence[str]) -> Board:
    editor = BlackboardEditor(state)
    for direction in seeds:
        editor.seed(direction, USER)
    return editor.board


def apply_formation(state: Swarm, fact: facts.SwarmFormed) -> Swarm:
    """Return the swarm with its agents, and with the user's directions on the blackboard."""
    agents = {each.seat: copy_fields(Agent, each) for each in fact.agents}
    # The board is built again for its structure; `laid` then sets the concentrations as they were recorded.
    board = _seed_board(state, fact.seeded)
    return fast_replace(state, agents=agents, board=with_changes(board, fact.deposited))


def build_orders(state: Swarm) -> tuple[facts.RoundOrder, ...]:
    asked = [agent for agent in state.agents.values() if agent.is_asked]
    index = AnswerIndex(state)
    return tuple(_build_order(state, agent, index, at) for at, agent in enumerate(asked))


def _build_order(state: Swarm, agent: Agent, index: AnswerIndex, at: int) -> facts.RoundOrder:
    seed, settings, number = state.opened.seed, state.settings, state.round + 1
    if settings.mode == "classic":
        menu = SWARM_PROMPT[state.opened.language].perspectives
        return facts.RoundOrder(seat=agent.seat, perspective=menu[at % len(menu)])
    # An agent that was silent for several rounds is woken with a random direction.
    wake = agent.silence >= SILENT_ROUNDS
    by_chance = (
        settings.random_exploration
        and random_unit(seed, "explore", number, agent.seat) < agent.random_explore
    )
    random = wake or state.all_random or by_chance
    weighed = weigh_directions(state, agent)
    own = _find_own_direction(agent, weighed)
    must_switch = inhibited = False
    if own is not None and own.signals:
        # Two separate rules (6.1): below its threshold an agent must switch; above it the signals still deter it with probability
        # 1 − P.
        must_switch = own.effective < agent.threshold
        inhibited = (
            must_switch or random_unit(seed, "inhibit", number, agent.seat) >= own.probability
        )
    choices = [each for each in weighed if not (must_switch and each is own)]
    recommended = unread = ""
    if not random:
        if choices:
            recommended = choices[0].direction
        unread = _find_unread_direction(state, agent, index, at)
    order = facts.RoundOrder(
        seat=agent.seat,
        random=random,
        must_switch=must_switch,
        inhibited=inhibited,
        wake=wake,
        recommended=unread or recommended,
        cover=bool(unread),
    )
    if not is_asked_plainly(state, agent.seat):
        return order
    return _draw_direction(state, agent, order, weighed, at)


def _draw_direction(
    state: Swarm,
    agent: Agent,
    order: facts.RoundOrder,
    weighed: Sequence[WeighedDirection],
    at: int,
) -> facts.RoundOrder:
    """Return the order with the one direction that code draws for a seat that Moot asks (S-11, S-37).

    Of 100 rounds without another order, 70 follow what is weighed most, 15 go where this seat has not been, 15 anywhere.
    """
    leave = ""
    if order.must_switch or order.inhibited:
        leave = agent.direction
    if not weighed:
        option = _find_option(state, at)
        return replace(order, given=option, is_new=state.round > 0 and not option)
    open_ways = [each for each in weighed if each.direction != leave]
    seed, number, seat = state.opened.seed, state.round + 1, agent.seat
    mood = random_unit(seed, "mood", number, seat)
    drawn = random_unit(seed, "direction", number, seat)
    options = state.opened.subject.options
    # Directions on the blackboard alone: what nobody has named yet is asked for as a new one.
    unread = [each for each in open_ways if each.key not in agent.read]
    given = ""
    # Draws of their own: agents from outside get the same orders, whoever else takes part.
    if order.cover:
        given = order.recommended
    elif order.random or mood >= FOLLOW + UNCOVERED:
        # One place more than there are directions: the last one stands for a new one.
        places = [*(each.direction for each in open_ways), ""]
        if options:
            places = [*options]
        given = places[int(drawn * len(places))]
    elif mood >= FOLLOW and unread:
        given = unread[int(drawn * len(unread))].direction
    elif mood < FOLLOW and open_ways:
        given = _follow(state, agent, open_ways).direction
    elif options:
        given = options[int(drawn * len(options))]
    return replace(order, given=given, is_new=not given, leave=leave)


def _find_option(state: Swarm, at: int) -> str:
    """Return the option that an explorer begins with: each starts elsewhere in the list."""
    options = state.opened.subject.options
    if not options:
        return ""
    return options[(at + state.round) % len(options)]


def _follow(state: Swarm, agent: Agent, ways: Sequence[WeighedDirection]) -> WeighedDirection:
    """Return the direction that a follower takes: down the list, each with its probability P(S, θ); else the first."""
    for each in ways:
        chance = random_unit(state.opened.seed, "follow", state.round + 1, agent.seat, each.key)
        if chance < each.probability:
            return each
    return ways[0]


def _find_own_direction(
    agent: Agent, weighed: Iterable[WeighedDirection]
) -> WeighedDirection | None:
    """Return the direction that an agent explores, as it weighs it; None if it is not on the blackboard."""
    if not agent.direction:
        return None
    for each in weighed:
        if each.key == direction_key(agent.direction):
            return each
    return None


def _find_unread_direction(state: Swarm, agent: Agent, index: AnswerIndex, at: int) -> str:
    """Return the direction that an explorer is to cover first: one it has not read, and the fewest others have (S-30).

    Directions that stand for one answer are one: who read any of them has read it (S-34).
    """
    if not state.by_evidence:
        return ""
    readers: dict[object, set[SeatId]] = {}
    for key, seats in state.board.readings.items():
        readers.setdefault(index.by_direction.get(key, key), set()).update(seats)
    read = {index.by_direction.get(key, key) for key in agent.read}
    waiting: dict[object, str] = {}
    for key, each in state.board.pheromones.items():
        name = index.by_direction.get(key, key)
        if name not in read and len(readers.get(name, ())) < COVERED_BY:
            waiting.setdefault(name, each.direction)
    if not waiting:
        return ""
    fewest = min(len(readers.get(name, ())) for name in waiting)
    first = [
        direction for name, direction in waiting.items() if len(readers.get(name, ())) == fewest
    ]
    # Each explorer starts elsewhere in the list: otherwise all would cover the same direction in one round.
    return first[(at + state.round + 1) % len(first)]


def list_waiting_seats(state: Swarm) -> tuple[SeatId, ...]:
    """Return who still has to report in this round."""
    waiting: list[SeatId] = []
    for seat in state.orders:
        if seat not in state.answered and is_asked_again(state, seat):
            waiting.append(seat)
    return tuple(waiting)


def is_asked_again(state: Swarm, seat: SeatId) -> bool:
    """Whether an agent that failed in this round is asked once more.

    A first timeout is retried with a reminder; an interrupted agent is pinged; a degraded agent gets neither.
    """
    losses = state.lost.get(seat, ())
    if not losses:
        return True
    agent = state.agents[seat]
    if agent.status == "degraded":
        return False
    broken = sum(loss in BROKEN_OFF for loss in losses)
    late = len(losses) - broken
    return agent.strikes + late < DEGRADED_AT and broken <= PINGS


def is_ping(state: Swarm, seat: SeatId) -> bool:
    """Whether the next ask of this agent is a ping and not a retry."""
    losses = state.lost.get(seat, ())
    return bool(losses) and losses[-1] in BROKEN_OFF


def find_violations(state: Swarm, agent: Agent, report: RoundReport) -> list[facts.Violation]:
    """Return the violations of a report, at most one per check; none of a seat that Moot asks, which is asked for nothing of it."""
    violations: list[facts.Violation] = []
    if is_asked_plainly(state, agent.seat):
        return violations
    for name, detail in _list_faults(state, agent, report):
        violation = facts.Violation(
            seat=agent.seat,
            violation=name,
            severity=SEVERITIES.get(name, "WARNING"),
            detail=one_line(detail)[:200],
        )
        violations.append(violation)
    return violations


def _list_faults(state: Swarm, agent: Agent, report: RoundReport) -> Iterator[tuple[str, str]]:
    """Yield the name of each violation, with its details."""
    # C1: every operation that it reports as carried out must be in the log under its name.
    for name in report.confirmed_operations:
        if name not in agent.done:
            yield "reported_operation_not_found", name
            break
    fault = _check_decision(state, agent, report)
    if fault is not None:
        yield fault
    # C3: there must be a conflict review, also if it found no conflict.
    if report.conflict_review is None and _must_be_complete(report):
        yield "conflict_review_missing", ""
    # C4: random exploration must be carried out if it was ordered.
    order = state.orders.get(agent.seat)
    is_forced = report.random_explore_forced
    if is_forced is None:
        is_forced = not _must_be_complete(report)
    if order is not None and order.random and not is_forced:
        yield "random_explore_not_executed", ""


def _must_be_complete(report: RoundReport) -> bool:
    """Whether a report must have all that the protocol asks of an agent: where it sends any of it (S-39)."""
    return report.decision_report is not None or report.conflict_review is not None


def _check_decision(state: Swarm, agent: Agent, report: RoundReport) -> tuple[str, str] | None:
    """C2: the decision report must be complete, and its probabilities correct."""
    decision = report.decision_report
    if decision is None:
        if _must_be_complete(report):
            return "decision_report_missing", ""
        return None
    missing = _find_missing_part(decision)
    if missing:
        return f"decision_report_missing_{missing}", ""
    assert decision.threshold is not None
    if abs(decision.threshold - agent.threshold) > TOLERANCE:
        return (
            "response_prob_calculation_error",
            f"threshold {decision.threshold:g}, yours is {agent.threshold:.4f}",
        )
    if not decision.candidates:
        return None
    weighed = {each.key: each for each in weigh_directions(state, agent)}
    for candidate in decision.candidates:
        seen = weighed.get(direction_key(one_line(candidate.direction)))
        # A direction that is not on the blackboard is no stimulus, so there is no response to it.
        expected: tuple[float, ...] = (0.0,)
        if seen is not None:
            # Agents may use either concentration of a direction; the report is wrong only if it fits neither.
            expected = (compute_response(seen.raw, agent.threshold), seen.probability)
        if not _is_near(candidate.response_prob, expected):
            values = " or ".join(f"{each:.4f}" for each in sorted(set(expected)))
            return (
                "response_prob_calculation_error",
                f"{candidate.direction}: {candidate.response_prob}, expected {values}",
            )
    return None


def _is_near(value: float | None, expected: Iterable[float]) -> bool:
    """Whether a value was stated, and is one of these but for the tolerance."""
    if value is None:
        return False
    return not all(abs(value - each) > TOLERANCE for each in expected)


def _find_missing_part(decision: DecisionReport) -> str:
    if decision.threshold is None:
        return "threshold"
    if decision.candidates is None:
        return "candidates"
    if not decision.selected_direction.strip():
        return "selectedDirection"
    if not decision.selection_reason.strip():
        return "selectionReason"
    return ""


def build_barrier(state: Swarm) -> facts.BarrierPassed:
    """Build the barrier: who answered, who was lost, who broke rules, and the resulting status of each agent."""
    broken: list[facts.Violation] = []
    changes: list[facts.StatusChange] = []
    for seat in state.orders:
        report, agent = state.answered.get(seat), state.agents[seat]
        violations: list[facts.Violation] = []
        if report is not None:
            violations = find_violations(state, agent, report)
        broken += violations
        changes += _list_status_changes(state, agent, _count_round(state, agent, violations))
    answered = tuple(seat for seat in state.orders if seat in state.answered)
    lost = tuple(seat for seat in state.orders if seat not in state.answered)
    return facts.BarrierPassed(
        round=state.round,
        answered=answered,
        lost=lost,
        is_degraded=2 * len(lost) > len(state.orders),
        violations=tuple(broken),
        changes=tuple(changes),
    )


def _list_status_changes(state: Swarm, before: Agent, after: Agent) -> Iterator[facts.StatusChange]:
    """Yield the changes of an agent's status by a round, one after another."""
    status = before.status
    for old, new, reason in _list_consequences(state, before, after):
        if status in old and status != new:
            yield facts.StatusChange(seat=before.seat, old=status, new=new, reason=reason)
            status = new


def _list_consequences(
    state: Swarm, before: Agent, after: Agent
) -> Iterator[tuple[Sequence[facts.Status], facts.Status, str]]:
    """Yield what a round may do to an agent: from which status, to which, and why."""
    if after.seat in state.answered:
        yield ("interrupted",), "active", "recovered"
        counted = after.violations[len(before.violations) :]
        for each in counted:
            if each.severity == "MAJOR":
                yield ("active",), "degraded", each.violation
        if counted and _is_over(counted[-1], after.score):
            yield ASKED, "terminated", "compliance_violation"
    # Without a loss the run was stopped before it could answer: nobody's fault.
    elif state.lost.get(after.seat):
        if after.strikes >= REMOVED_AT:
            yield ASKED, "removed", "timeout"
        elif after.strikes >= DEGRADED_AT:
            yield ("interrupted",), "degraded", "interrupted for too long"
            yield ("active",), "degraded", "timeout"
        else:
            yield ("interrupted",), "active", "the round ended before it was back"
    if after.wakes >= MAX_WAKES:
        yield ("active",), "degraded", "prolonged_silence"


def apply_barrier(state: Swarm, fact: facts.BarrierPassed) -> Swarm:
    """Return the swarm whose agents have their violations and their new status."""
    broken = group_pairs((each.seat, each) for each in fact.violations)
    agents = dict(state.agents)
    for seat, agent in state.agents.items():
        if seat in state.orders:
            agents[seat] = _count_round(state, agent, broken.get(seat, ()))
    for change in fact.changes:
        agent = agents[change.seat]
        ended = agent.ended
        if change.new == "terminated":
            ended = "compliance_violation"
        agents[change.seat] = fast_replace(agent, status=change.new, ended=ended)
    return fast_replace(state, agents=agents)


def _count_round(state: Swarm, agent: Agent, violations: Sequence[facts.Violation]) -> Agent:
    report = state.answered.get(agent.seat)
    if report is None:
        agent = _count_misses(state, agent)
    else:
        agent = fast_replace(agent, strikes=0, missed=False)
    for each in violations:
        agent = fast_replace(
            agent, violations=(*agent.violations, each), score=agent.score + SCORES[each.severity]
        )
        # Later violations do not count once the agent is terminated.
        if _is_over(each, agent.score):
            break
    if report is not None and not report.is_silent:
        return fast_replace(agent, silence=0, wakes=0)
    return fast_replace(
        agent, silence=agent.silence + 1, wakes=agent.wakes + state.orders[agent.seat].wake
    )


def _is_over(last: facts.Violation, score: int) -> bool:
    return last.severity == "CRITICAL" or score >= TERMINATED_AT


def _count_misses(state: Swarm, agent: Agent) -> Agent:
    losses = state.lost.get(agent.seat, ())
    late = sum(loss not in BROKEN_OFF for loss in losses)
    broken = len(losses) - late
    if agent.status == "degraded":
        strikes = agent.strikes + len(losses)
    elif broken > PINGS:
        strikes = max(agent.strikes + late, DEGRADED_AT)
    else:
        strikes = agent.strikes + late
    return fast_replace(agent, strikes=strikes, missed=bool(losses))
