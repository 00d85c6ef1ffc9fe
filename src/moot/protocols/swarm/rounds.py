"""A round's beginning and its barrier: what each explorer is told, who is asked again, who is given up on."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from moot.domain.chance import draw
from moot.domain.facts import Loss
from moot.domain.ids import USER, SeatId
from moot.domain.values import changed
from moot.protocols.swarm.compliance import SCORES, TERMINATED_AT, violations
from moot.protocols.swarm.facts import Drawn, Order, Status, StatusChange, Violation
from moot.protocols.swarm.operations import Workbench, direction_key
from moot.protocols.swarm.state import Agent, Board, Swarm
from moot.protocols.swarm.words import PERSPECTIVES
from moot.weighing.stigmergy import effective, inhibition, response

TOP: Final = 3
SILENT_ROUNDS: Final = 2
MOST_WAKES: Final = 3
PINGS: Final = 3
DEGRADED_AT: Final = 2
REMOVED_AT: Final = 3

BROKEN_OFF: Final[frozenset[Loss]] = frozenset(("error", "gave_up"))
"""Losses after which an agent counts as interrupted: its connection or its process broke off."""


Become = Callable[[SeatId, Status, str], None]
"""How a status changes: the agent, its new status, the reason."""


def drawn(state: Swarm) -> tuple[Drawn, ...]:
    """What chance gives each explorer: θ in [0.3, 0.6), random exploration in [0.1, 0.2)."""
    seed = state.opened.seed
    return tuple(
        Drawn(
            seat=seat,
            threshold=0.3 + 0.3 * draw(seed, "threshold", seat),
            random_explore=0.1 + 0.1 * draw(seed, "random_explore", seat),
        )
        for seat in state.explorers
    )


def formed(state: Swarm) -> Swarm:
    """The swarm with its agents, and with the user's directions on the blackboard."""
    agents = {
        each.seat: Agent(seat=each.seat, threshold=each.threshold, random_explore=each.random_explore) for each in drawn(state)
    }
    bench = Workbench(changed(state, agents=agents))
    for direction in seeded(state):
        bench.seed(direction, USER)
    return changed(state, agents=agents, board=bench.board())


def seeded(state: Swarm) -> tuple[str, ...]:
    return state.settings.directions if state.settings.mode == "hybrid" else ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Weighed:
    """A direction as an agent responds to it."""

    key: str
    direction: str
    raw: float
    effective: float
    probability: float
    signals: int


def weighed(state: Swarm, agent: Agent, most: int | None = None) -> list[Weighed]:
    """The directions of the blackboard as this agent responds to them, the strongest first."""
    board, settings = state.board, state.settings
    counts = active_signals(board)
    found = []
    for key, each in board.pheromones.items():
        strength = inhibition(counts.get(key, 0), settings.signal_strength, settings.most_inhibition)
        value = effective(each.concentration, strength)
        found.append((-value, key, each, strength))
    found.sort(key=lambda each: each[:2])
    return [
        Weighed(
            key=key,
            direction=each.direction,
            raw=each.concentration,
            effective=-negative,
            probability=response(-negative, agent.threshold),
            signals=counts.get(key, 0),
        )
        for negative, key, each, _ in found[:most]
    ]


def active_signals(board: Board) -> dict[str, int]:
    """How many signals are active on each direction."""
    counts: dict[str, int] = {}
    for signal in board.signals:
        counts[signal.target] = counts.get(signal.target, 0) + 1
    return counts


def ordered(state: Swarm) -> tuple[Order, ...]:
    """What each explorer is told at the beginning of the next round."""
    number = state.round + 1
    asked = [agent for agent in state.agents.values() if agent.is_asked]
    return tuple(_order(state, agent, number, at) for at, agent in enumerate(asked))


def _order(state: Swarm, agent: Agent, number: int, at: int) -> Order:
    seed, settings = state.opened.seed, state.settings
    if settings.mode == "classic":
        menu = PERSPECTIVES[state.opened.language]
        return Order(seat=agent.seat, perspective=menu[at % len(menu)])
    wake = agent.silence >= SILENT_ROUNDS
    by_chance = settings.random_exploration and draw(seed, "explore", number, agent.seat) < agent.random_explore
    random = wake or state.all_random or by_chance
    own = direction_key(agent.direction) if agent.direction else ""
    signals = active_signals(state.board).get(own, 0)
    must_switch = inhibited = False
    if own and signals:
        found = state.board.pheromones.get(own)
        strength = inhibition(signals, settings.signal_strength, settings.most_inhibition)
        value = effective(found.concentration, strength) if found is not None else 0.0
        must_switch = value < agent.threshold
        inhibited = must_switch or draw(seed, "inhibit", number, agent.seat) >= response(value, agent.threshold)
    choices = [each for each in weighed(state, agent, TOP + 1) if not (must_switch and each.key == own)]
    recommended = "" if random or not choices else choices[0].direction
    return Order(seat=agent.seat, random=random, must_switch=must_switch, inhibited=inhibited, wake=wake, recommended=recommended)


def waiting(state: Swarm) -> tuple[SeatId, ...]:
    """Who is still to bring a report in this round."""
    return tuple(seat for seat in state.orders if seat not in state.answered and asked_again(state, seat))


def asked_again(state: Swarm, seat: SeatId) -> bool:
    """Whether an agent that failed in this round is asked once more.

    A first timeout is retried with a reminder; one that broke off is pinged; a degraded agent gets neither.
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
    """Whether the next ask of this agent is a ping, not a retry."""
    losses = state.lost.get(seat, ())
    return bool(losses) and losses[-1] in BROKEN_OFF


@dataclass(frozen=True, slots=True, kw_only=True)
class Passage:
    """What the end of a round's exploring comes to."""

    agents: dict[SeatId, Agent]
    answered: tuple[SeatId, ...]
    lost: tuple[SeatId, ...]
    is_degraded: bool
    violations: tuple[Violation, ...]
    changes: tuple[StatusChange, ...]


def passed(state: Swarm) -> Passage:
    """Who answered, who was lost, who broke rules, and what each agent is after that."""
    agents = dict(state.agents)
    changes: list[StatusChange] = []
    broken: list[Violation] = []

    def become(seat: SeatId, status: Status, reason: str) -> None:
        agent = agents[seat]
        if agent.status != status:
            changes.append(StatusChange(seat=seat, old=agent.status, new=status, reason=reason))
            agents[seat] = changed(agent, status=status)

    for seat in state.orders:
        report = state.answered.get(seat)
        agent = agents[seat]
        if report is None:
            agents[seat] = _missed(state, agent)
            _give_up(state, agents[seat], become)
        else:
            if agent.status == "interrupted":
                become(seat, "active", "recovered")
            agents[seat] = changed(agents[seat], strikes=0, missed=False)
            found = violations(state, agents[seat], report)
            broken += found
            _punish(agents, seat, found, become)
        _count_silence(state, agents, seat, become)
    answered = tuple(seat for seat in state.orders if seat in state.answered)
    lost = tuple(seat for seat in state.orders if seat not in state.answered)
    return Passage(
        agents=agents,
        answered=answered,
        lost=lost,
        is_degraded=2 * len(lost) > len(state.orders),
        violations=tuple(broken),
        changes=tuple(changes),
    )


def _missed(state: Swarm, agent: Agent) -> Agent:
    losses = state.lost.get(agent.seat, ())
    late = sum(loss not in BROKEN_OFF for loss in losses)
    broken = len(losses) - late
    if agent.status == "degraded":
        strikes = agent.strikes + len(losses)
    elif broken > PINGS:
        strikes = max(agent.strikes + late, DEGRADED_AT)
    else:
        strikes = agent.strikes + late
    return changed(agent, strikes=strikes, missed=bool(losses))


def _give_up(state: Swarm, agent: Agent, become: Become) -> None:
    losses = state.lost.get(agent.seat, ())
    if not losses:
        # The run was stopped before it could answer: nobody's fault.
        return
    if agent.strikes >= REMOVED_AT:
        become(agent.seat, "removed", f"timeout ({agent.strikes})")
    elif agent.strikes >= DEGRADED_AT and agent.status != "degraded":
        why = "interrupted for too long" if agent.status == "interrupted" else f"timeout ({agent.strikes})"
        become(agent.seat, "degraded", why)
    elif agent.status == "interrupted":
        become(agent.seat, "active", "the round ended before it was back")


def _punish(agents: dict[SeatId, Agent], seat: SeatId, found: list[Violation], become: Become) -> None:
    for each in found:
        agent = agents[seat]
        score = agent.score + SCORES[each.severity]
        agents[seat] = changed(agent, violations=(*agent.violations, each), score=score)
        if each.severity == "MAJOR" and agent.status == "active":
            become(seat, "degraded", each.violation)
        if each.severity == "CRITICAL" or score >= TERMINATED_AT:
            become(seat, "terminated", "compliance_violation")
            agents[seat] = changed(agents[seat], ended="compliance_violation")
            return


def _count_silence(state: Swarm, agents: dict[SeatId, Agent], seat: SeatId, become: Become) -> None:
    agent = agents[seat]
    report = state.answered.get(seat)
    if report is not None and not report.is_silent:
        agents[seat] = changed(agent, silence=0, wakes=0)
        return
    wakes = agent.wakes + state.orders[seat].wake
    agents[seat] = changed(agent, silence=agent.silence + 1, wakes=wakes)
    if wakes >= MOST_WAKES and agent.status == "active":
        become(seat, "degraded", "prolonged_silence")
