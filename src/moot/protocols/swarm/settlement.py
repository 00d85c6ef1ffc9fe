"""The settlement of a round, in its order: evaporation, expired signals, opinions, roles, round counts (S-14, S-16)."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Final

from moot.domain.chance import draw
from moot.domain.ids import SeatId
from moot.domain.values import changed
from moot.protocols.swarm.facts import Change, Opinion, Role, RoleChange
from moot.protocols.swarm.state import Agent, Board, Pheromone, Signal, Swarm
from moot.weighing.stigmergy import evaporated, response

ANALYST_FROM: Final = 0.7
ANALYST_DEPOSITS: Final = 3
SYNTHESIZER_ROUNDS: Final = 2
SYNTHESIZER_PROBABILITY: Final = 0.8


@dataclass(frozen=True, slots=True, kw_only=True)
class Settlement:
    """What the settlement of a round does."""

    board: Board
    agents: dict[SeatId, Agent]
    evaporated: tuple[Change, ...]
    expired: tuple[str, ...]
    opinions: tuple[Opinion, ...]
    roles: tuple[RoleChange, ...]
    refused: tuple[SeatId, ...]
    counted: tuple[SeatId, ...]


def settled(state: Swarm) -> Settlement:
    """The round's settlement."""
    board, changes = _evaporate(state)
    kept = tuple(signal for signal in board.signals if not _is_expired(state, signal))
    expired = tuple(signal.id for signal in board.signals if _is_expired(state, signal))
    board = changed(board, signals=kept)
    active = state.active
    opinions = tuple(Opinion(seat=seat, ideas=state.agents[seat].holds) for seat in active)
    roles = _transitions(state, board)
    refused = tuple(seat for seat in active if state.agents[seat].wanted_role and all(role.seat != seat for role in roles))
    counted = tuple(seat for seat in active if seat in state.answered)
    return Settlement(
        board=board,
        agents=_agents(state, {role.seat: role for role in roles}, refused, counted),
        evaporated=changes,
        expired=expired,
        opinions=opinions,
        roles=roles,
        refused=refused,
        counted=counted,
    )


def _evaporate(state: Swarm) -> tuple[Board, tuple[Change, ...]]:
    rate, floor = state.settings.evaporation, state.settings.floor
    found: dict[str, Pheromone] = {}
    changes = []
    for key, each in state.board.pheromones.items():
        after = evaporated(each.concentration, rate, floor)
        found[key] = replace(each, concentration=after)
        changes.append(Change(direction=each.direction, before=each.concentration, after=after))
    return changed(state.board, pheromones=found), tuple(changes)


def _is_expired(state: Swarm, signal: Signal) -> bool:
    return state.clock - signal.at >= state.settings.signal_seconds


def _transitions(state: Swarm, board: Board) -> tuple[RoleChange, ...]:
    if state.settings.mode == "classic":
        return ()
    found = (_transition(state, board, state.agents[seat]) for seat in state.active)
    return tuple(role for role in found if role is not None)


def _transition(state: Swarm, board: Board, agent: Agent) -> RoleChange | None:
    """The first rule that applies; what an agent asked for itself needs the rule, not the luck."""
    if agent.role != "EXPLORER":
        return None
    for role, probability in rules(agent, board).items():
        chance = draw(state.opened.seed, "role", state.round, agent.seat, role)
        if agent.wanted_role == role or chance < probability:
            reason = "requested" if agent.wanted_role == role else "rule"
            return RoleChange(
                seat=agent.seat, old=agent.role, new=role, round=state.round, reason=reason, probability=probability, drawn=chance
            )
    return None


def rules(agent: Agent, board: Board) -> dict[Role, float]:
    """The roles that an explorer may take now, in the order in which they are checked, each with its probability (§5.1)."""
    found: dict[Role, float] = {}
    strongest = board.strongest
    if strongest >= ANALYST_FROM and agent.deposits >= ANALYST_DEPOSITS:
        found["DEEP_ANALYST"] = response(strongest, agent.threshold)
    if agent.signals_sent:
        found["DEBATER"] = 1.0
    if agent.rounds >= SYNTHESIZER_ROUNDS:
        found["SYNTHESIZER"] = SYNTHESIZER_PROBABILITY
    return found


def _agents(
    state: Swarm, roles: Mapping[SeatId, RoleChange], refused: tuple[SeatId, ...], counted: tuple[SeatId, ...]
) -> dict[SeatId, Agent]:
    agents = dict(state.agents)
    for seat, agent in agents.items():
        role = roles.get(seat)
        after = changed(
            agent,
            wanted_role=None,
            role_refused=seat in refused,
            role_news=role,
            rounds=agent.rounds + (seat in counted),
        )
        agents[seat] = after if role is None else with_role(after, role)
    return agents


def with_role(agent: Agent, role: RoleChange) -> Agent:
    """The agent in its new role, which it is told of."""
    return changed(agent, role=role.new, role_news=role, role_history=(*agent.role_history, role))
