"""The settlement of a round, in this order: evaporation, expired signals, opinions, roles, round counts (S-14, S-16)."""

from typing import Final

from moothall.domain.ids import SeatId
from moothall.domain.replace import fast_replace
from moothall.domain.seeded_random import random_unit
from moothall.protocols.swarm.facts import ConcentrationChange, Opinion, Role, RoleChange, RoundSettled
from moothall.protocols.swarm.state import Agent, Board, Signal, Swarm, with_changes
from moothall.scoring.stigmergy import DIGITS, compute_response, evaporate

ANALYST_FROM: Final = 0.7
ANALYST_DEPOSITS: Final = 3
SYNTHESIZER_ROUNDS: Final = 2
SYNTHESIZER_PROBABILITY: Final = 0.8


def build_settlement(state: Swarm) -> RoundSettled:
    """Build the settlement of the round."""
    changes = _evaporate(state)
    active = state.active
    # Roles are decided on the concentrations after evaporation, as the order of the settlement demands.
    roles = _list_role_changes(state, with_changes(state.board, changes))
    return RoundSettled(
        round=state.round,
        evaporated=changes,
        expired=tuple(signal.id for signal in state.board.signals if _is_expired(state, signal)),
        opinions=tuple(Opinion(seat=seat, ideas=state.agents[seat].holds) for seat in active),
        roles=roles,
        refused=tuple(seat for seat in active if state.agents[seat].wanted_role and all(role.seat != seat for role in roles)),
        counted=tuple(seat for seat in active if seat in state.answered and not state.answered[seat].is_silent),
    )


def apply_settlement(state: Swarm, fact: RoundSettled) -> Swarm:
    """Return the swarm after its settlement."""
    board = with_changes(state.board, fact.evaporated)
    board = fast_replace(board, signals=tuple(signal for signal in board.signals if signal.id not in fact.expired))
    ideas = frozenset(idea for opinion in fact.opinions for idea in opinion.ideas)
    # Counts rounds with the same set of ideas, for the stagnation warning.
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
    changes = (_find_role_change(state, board, state.agents[seat]) for seat in state.active)
    return tuple(role for role in changes if role is not None)


def _find_role_change(state: Swarm, board: Board, agent: Agent) -> RoleChange | None:
    """Return the first role whose rule applies. A requested role needs the rule but not the random draw.

    By chance only explorers change, as in the source; by their own request the others do, too, and everyone may explore again.
    """
    wanted = agent.wanted_role
    if agent.role != "EXPLORER" and wanted is None:
        return None
    if wanted == "EXPLORER":
        asked = RoleChange(seat=agent.seat, old=agent.role, new=wanted, round=state.round, reason="requested")
        return asked if agent.role != wanted else None
    for role, probability in list_open_roles(agent, board).items():
        if role == agent.role or (agent.role != "EXPLORER" and role != wanted):
            continue
        chance = random_unit(state.opened.seed, "role", state.round, agent.seat, role)
        if agent.wanted_role == role or chance < probability:
            reason = "requested" if agent.wanted_role == role else "rule"
            return RoleChange(
                seat=agent.seat, old=agent.role, new=role, round=state.round, reason=reason, probability=probability, drawn=chance
            )
    return None


def list_open_roles(agent: Agent, board: Board) -> dict[Role, float]:
    """Return the roles that an explorer may take now, in the order in which they are checked, with their probabilities (5.1)."""
    roles: dict[Role, float] = {}
    strongest = board.strongest
    if strongest >= ANALYST_FROM and agent.deposits >= ANALYST_DEPOSITS:
        roles["DEEP_ANALYST"] = round(compute_response(strongest, agent.threshold), DIGITS)
    if agent.signals_sent:
        roles["DEBATER"] = 1.0
    if agent.rounds >= SYNTHESIZER_ROUNDS:
        roles["SYNTHESIZER"] = SYNTHESIZER_PROBABILITY
    return roles


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
    """Return the agent in its new role; its next prompt says so."""
    return fast_replace(agent, role=role.new, role_news=role, role_history=(*agent.role_history, role))
