"""The settlement of a round, in its order: evaporation, expired signals, opinions, roles, round counts (S-14, S-16)."""

from typing import Final

from moot.domain.ids import SeatId
from moot.domain.replace import fast_replace
from moot.domain.seeded_random import random_unit
from moot.protocols.swarm.facts import ConcentrationChange, Opinion, Role, RoleChange, RoundSettled
from moot.protocols.swarm.state import Agent, Board, Signal, Swarm, with_changes
from moot.scoring.stigmergy import DIGITS, compute_response, evaporate

ANALYST_FROM: Final = 0.7
ANALYST_DEPOSITS: Final = 3
SYNTHESIZER_ROUNDS: Final = 2
SYNTHESIZER_PROBABILITY: Final = 0.8


def build_settlement(state: Swarm) -> RoundSettled:
    """The round's settlement."""
    changes = _evaporate(state)
    active = state.active
    roles = _list_role_changes(state, with_changes(state.board, changes))
    return RoundSettled(
        round=state.round,
        evaporated=changes,
        expired=tuple(signal.id for signal in state.board.signals if _is_expired(state, signal)),
        opinions=tuple(Opinion(seat=seat, ideas=state.agents[seat].holds) for seat in active),
        roles=roles,
        refused=tuple(seat for seat in active if state.agents[seat].wanted_role and all(role.seat != seat for role in roles)),
        counted=tuple(seat for seat in active if seat in state.answered),
    )


def apply_settlement(state: Swarm, fact: RoundSettled) -> Swarm:
    """The swarm as its settlement left it."""
    board = with_changes(state.board, fact.evaporated)
    board = fast_replace(board, signals=tuple(signal for signal in board.signals if signal.id not in fact.expired))
    ideas = frozenset(idea for opinion in fact.opinions for idea in opinion.ideas)
    unchanged = state.unchanged + 1 if state.history and state.history[-1] == ideas else 0
    return fast_replace(
        state, agents=_apply_to_agents(state, fact), board=board, history=(*state.history, ideas), unchanged=unchanged
    )


def _evaporate(state: Swarm) -> tuple[ConcentrationChange, ...]:
    rate, floor = state.settings.evaporation, state.settings.floor
    return tuple(
        ConcentrationChange(direction=each.direction, before=each.concentration, after=evaporate(each.concentration, rate, floor))
        for each in state.board.pheromones.values()
    )


def _is_expired(state: Swarm, signal: Signal) -> bool:
    return state.clock - signal.at >= state.settings.signal_seconds


def _list_role_changes(state: Swarm, board: Board) -> tuple[RoleChange, ...]:
    if state.settings.mode == "classic":
        return ()
    found = (_find_role_change(state, board, state.agents[seat]) for seat in state.active)
    return tuple(role for role in found if role is not None)


def _find_role_change(state: Swarm, board: Board, agent: Agent) -> RoleChange | None:
    """The first rule that applies; what an agent asked for itself needs the rule, not the luck."""
    if agent.role != "EXPLORER":
        return None
    for role, probability in list_open_roles(agent, board).items():
        chance = random_unit(state.opened.seed, "role", state.round, agent.seat, role)
        if agent.wanted_role == role or chance < probability:
            reason = "requested" if agent.wanted_role == role else "rule"
            return RoleChange(
                seat=agent.seat, old=agent.role, new=role, round=state.round, reason=reason, probability=probability, drawn=chance
            )
    return None


def list_open_roles(agent: Agent, board: Board) -> dict[Role, float]:
    """The roles that an explorer may take now, in the order in which they are checked, each with its probability (5.1)."""
    found: dict[Role, float] = {}
    strongest = board.strongest
    if strongest >= ANALYST_FROM and agent.deposits >= ANALYST_DEPOSITS:
        found["DEEP_ANALYST"] = round(compute_response(strongest, agent.threshold), DIGITS)
    if agent.signals_sent:
        found["DEBATER"] = 1.0
    if agent.rounds >= SYNTHESIZER_ROUNDS:
        found["SYNTHESIZER"] = SYNTHESIZER_PROBABILITY
    return found


def _apply_to_agents(state: Swarm, fact: RoundSettled) -> dict[SeatId, Agent]:
    roles = {role.seat: role for role in fact.roles}
    agents = dict(state.agents)
    for seat, agent in agents.items():
        role = roles.get(seat)
        after = fast_replace(
            agent,
            wanted_role=None,
            role_refused=seat in fact.refused,
            role_news=role,
            rounds=agent.rounds + (seat in fact.counted),
        )
        agents[seat] = after if role is None else with_role(after, role)
    return agents


def with_role(agent: Agent, role: RoleChange) -> Agent:
    """The agent in its new role, which it is told of."""
    return fast_replace(agent, role=role.new, role_news=role, role_history=(*agent.role_history, role))
