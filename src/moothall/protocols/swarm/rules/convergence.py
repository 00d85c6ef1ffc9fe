"""The convergence of a round with every figure and its inputs, and the protection of diversity (S-17 … S-20)."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Final

from moothall.domain.ids import SeatId
from moothall.domain.replace import fast_replace
from moothall.protocols.swarm.facts import Backing, ConcentrationChange, ConvergenceMeasured, EndReason, RoleChange
from moothall.protocols.swarm.rules.evidence import build_choice, is_clear
from moothall.protocols.swarm.rules.settle_round import with_role
from moothall.protocols.swarm.state import SILENT_ROUNDS, Swarm, with_changes
from moothall.scoring.stigmergy import (
    ConvergenceBounds,
    apply_stop_signal,
    compute_diversity,
    compute_share,
    find_quorum_ideas,
    judge_convergence,
)

DOMINANT: Final = 0.7
CUT: Final = 0.3
STAGNANT_ROUNDS: Final = 3
MIN_ACTIVE: Final = 2


def list_silent_agents(state: Swarm) -> tuple[SeatId, ...]:
    """Return the active agents that nobody hears: the quorum does not count them."""
    agents = (state.agents[seat] for seat in state.active)
    return tuple(agent.seat for agent in agents if agent.silence >= SILENT_ROUNDS or (agent.silence and not agent.findings))


def measure_convergence(state: Swarm) -> ConvergenceMeasured:
    """Compute the figures of the round that was just settled."""
    active, silent, board = state.active, list_silent_agents(state), state.board
    concentrations = tuple(each.concentration for each in board.pheromones.values())
    voices = [seat for seat in active if seat not in silent]
    measured = compute_figures(state, voices, len(board.perspectives), concentrations)
    lead = build_choice(state) if state.settings.clear_at and state.by_evidence else None
    measured = replace(measured, active=len(active), silent=silent, lead=lead, is_clear=is_clear(state, lead))
    # Protection changes the next round; without a next round it would only change the final figures.
    return measured if _is_finished(state, measured) else _with_protection(state, measured)


def compute_figures(
    state: Swarm, voices: Sequence[SeatId], perspectives: int, concentrations: tuple[float, ...]
) -> ConvergenceMeasured:
    """Compute what follows from the ideas that these agents hold, and from the ideas held in the rounds before."""
    settings, findings = state.settings, state.board.findings
    backing = _list_backing(state, voices)
    # With the quorum "independent" only agents count that held the idea before they could read it from others.
    counted = {each.idea: each.independent if settings.quorum == "independent" else each.backers for each in backing}
    reached = find_quorum_ideas(counted, len(voices), settings.quorum_threshold)
    rate = max((compute_share(len(seats), len(voices)) for seats in counted.values()), default=0.0)
    distinct = len({finding.idea for finding in findings})
    spread = compute_diversity(perspectives=perspectives, distinct=distinct, stated=len(findings), concentrations=concentrations)
    verdict = judge_convergence(
        round_number=state.round,
        history=(*state.leading, frozenset(reached)) if settings.stability == "leading" else state.history,
        has_quorum=bool(reached),
        consensus_rate=rate,
        diversity=spread.overall,
        bounds=ConvergenceBounds(
            min_rounds=settings.min_rounds,
            beta=settings.beta,
            quorum=settings.quorum_threshold,
            diversity=settings.min_diversity,
            max_consensus=settings.max_consensus,
            fast_before=settings.fast_before,
        ),
    )
    return ConvergenceMeasured(
        round=state.round,
        ideas=tuple(sorted(state.history[-1])) if state.history else (),
        before=tuple(sorted(state.history[-2])) if len(state.history) > 1 else (),
        active=len(voices),
        backing=backing,
        quorum_ideas=reached,
        consensus_rate=rate,
        perspectives=perspectives,
        distinct=distinct,
        stated=len(findings),
        concentrations=concentrations,
        coverage=spread.coverage,
        orthogonality=spread.orthogonality,
        entropy=spread.entropy,
        diversity=spread.overall,
        enough_rounds=verdict.enough_rounds,
        stable=verdict.stable,
        has_quorum=verdict.quorum,
        is_diverse=verdict.diverse,
        too_fast=verdict.too_fast,
        # The classic mode has one round only and ends with a synthesis: it never converges.
        converged=verdict.converged and settings.mode != "classic",
        reason=verdict.reason,
    )


def _list_backing(state: Swarm, voices: Sequence[SeatId]) -> tuple[Backing, ...]:
    """Return each idea that one of these agents holds, with its backers and the independent ones among them."""
    held = state.group_holders(voices)
    return tuple(
        Backing(
            idea=number, backers=tuple(held[number]), independent=tuple(each for each in held[number] if each in idea.independent)
        )
        for number in sorted(held)
        if (idea := state.board.idea(number)) is not None
    )


def _with_protection(state: Swarm, measured: ConvergenceMeasured) -> ConvergenceMeasured:
    """Add warnings, and the measures against too little diversity before the next round."""
    stagnation = ("stagnation_warning",) if state.unchanged >= STAGNANT_ROUNDS else ()
    if measured.is_diverse and not measured.too_fast:
        return replace(measured, warnings=stagnation)
    # First in the list: it is the warning that changes the next round.
    measured = replace(measured, warnings=("diversity_warning", *stagnation))
    if not state.settings.protection:
        return measured
    return replace(measured, all_random=True, cut=_cut_dominant_direction(state), debater=_choose_debater(state))


def _choose_debater(state: Swarm) -> RoleChange | None:
    """One explorer becomes a debater, so that somebody contradicts the majority."""
    explorer = next((seat for seat in state.active if state.agents[seat].role == "EXPLORER"), None)
    if explorer is None:
        return None
    return RoleChange(seat=explorer, old="EXPLORER", new="DEBATER", round=state.round, reason="diversity_protection")


def _cut_dominant_direction(state: Swarm) -> ConcentrationChange | None:
    """The leading direction is cut only if it dominates: a cut of a weak one would stop the swarm."""
    top = max(state.board.pheromones.values(), key=lambda each: each.concentration, default=None)
    if top is None or top.concentration <= DOMINANT:
        return None
    after = apply_stop_signal(top.concentration, CUT)
    return ConcentrationChange(direction=top.direction, before=top.concentration, after=after)


def apply_measurement(state: Swarm, measured: ConvergenceMeasured) -> Swarm:
    """Return the swarm with the verdict, and with the protection applied."""
    board, agents = state.board, dict(state.agents)
    if measured.cut is not None:
        board = with_changes(board, (measured.cut,))
    role = measured.debater
    if role is not None and role.seat in agents:
        agents[role.seat] = with_role(agents[role.seat], role)
    return fast_replace(
        state,
        board=board,
        agents=agents,
        measured=measured,
        leading=(*state.leading, frozenset(measured.quorum_ideas)),
        all_random=measured.all_random,
        warnings=measured.warnings,
    )


def find_end_reason(state: Swarm) -> EndReason | None:
    """Return why exploration ends; None while it continues. The figures take precedence over a stop of the run."""
    measured = state.measured
    # No figures for this round yet: only a stop from outside can end it.
    if measured is None or measured.round != state.round:
        return state.stop
    if state.settings.mode == "classic":
        # A synthesis that was written before the stop still counts as the result.
        return "synthesis" if state.stop is None or state.synthesis else state.stop
    if measured.converged:
        return "converged"
    if measured.active < MIN_ACTIVE:
        return "insufficient_active_agents"
    if measured.is_clear:
        return "clear"
    return "max_rounds" if state.round >= state.settings.max_rounds else state.stop


def _is_finished(state: Swarm, measured: ConvergenceMeasured) -> bool:
    return find_end_reason(fast_replace(state, measured=measured)) is not None
