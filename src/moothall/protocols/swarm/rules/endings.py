"""The end of a round: its settlement (evaporation, expired signals, opinions, roles, round counts, in this order), the figures
of its convergence, and the protection of diversity (S-14, S-16 … S-20). The end of the run: the votes on its consensus ideas, the
state sync, and the termination of every agent (S-23, S-29)."""

from collections.abc import Mapping, Sequence
from dataclasses import fields, replace
from typing import Final

from moothall.domain.frame import names_nothing
from moothall.domain.ids import SeatId
from moothall.domain.replace import copy_fields, fast_replace
from moothall.domain.seeded_random import random_unit
from moothall.domain.topic import drop_choice, extract_choice
from moothall.errors import BadAnswer
from moothall.protocols.swarm import facts
from moothall.protocols.swarm.answers import AnswerVote, SwarmBallot
from moothall.protocols.swarm.facts import (
    MIN_AGENTS,
    EndReason,
    IdeaResolution,
    SwarmCompleted,
    Termination,
)
from moothall.protocols.swarm.rules.evidence import (
    AnswerIndex,
    PossibleAnswer,
    build_choice,
    is_clear,
)
from moothall.protocols.swarm.state import (
    SILENT_ROUNDS,
    Agent,
    Board,
    Idea,
    Swarm,
    with_changes,
)
from moothall.reading.choices import build_choices
from moothall.reading.non_answers import check_beside
from moothall.reading.stated import read_option
from moothall.scoring import stigmergy
from moothall.scoring.independence import build_seat_correlations
from moothall.scoring.positions import VotePosition
from moothall.scoring.resolution import build_vote, resolve_open_vote
from moothall.scoring.stigmergy import DIGITS

ANALYST_FROM: Final = 0.7
ANALYST_DEPOSITS: Final = 3
SYNTHESIZER_ROUNDS: Final = 2
SYNTHESIZER_PROBABILITY: Final = 0.8
DOMINANT: Final = 0.7
CUT: Final = 0.3
STAGNANT_ROUNDS: Final = 3
MIN_ACTIVE: Final = 2


def build_settlement(state: Swarm) -> facts.RoundSettled:
    changes, active = _evaporate(state), state.active
    # Roles are decided on the concentrations after evaporation, as the order of the settlement demands.
    board, agents = with_changes(state.board, changes), [state.agents[seat] for seat in active]
    roles = [_find_role_change(state, board, agent) for agent in agents]
    changed = {role.seat: role for role in roles if role is not None}
    wanting = [agent.seat for agent in agents if agent.wanted_role]
    answering = [seat for seat in active if seat in state.answered]
    signals, lifetime = state.board.signals, state.settings.signal_seconds
    return facts.RoundSettled(
        round=state.round,
        evaporated=changes,
        expired=tuple(signal.id for signal in signals if state.clock - signal.at >= lifetime),
        opinions={seat: state.agents[seat].holds for seat in active},
        roles=tuple(changed.values()),
        refused=tuple(seat for seat in wanting if seat not in changed),
        counted=tuple(seat for seat in answering if not state.answered[seat].is_silent),
    )


def apply_settlement(state: Swarm, fact: facts.RoundSettled) -> Swarm:
    board = with_changes(state.board, fact.evaporated)
    board = fast_replace(
        board, signals=tuple(signal for signal in board.signals if signal.id not in fact.expired)
    )
    ideas = frozenset(idea for ideas in fact.opinions.values() for idea in ideas)
    return fast_replace(
        state, agents=_apply_to_agents(state, fact), board=board, history=(*state.history, ideas)
    )


def _evaporate(state: Swarm) -> tuple[facts.ConcentrationChange, ...]:
    rate, floor = state.settings.evaporation, state.settings.floor
    return tuple(
        facts.ConcentrationChange(
            direction=each.direction,
            before=each.concentration,
            after=stigmergy.evaporate(each.concentration, rate, floor),
        )
        for each in state.board.pheromones.values()
    )


def _find_role_change(state: Swarm, board: Board, agent: Agent) -> facts.RoleChange | None:
    """Return the first role whose rule applies. A requested role needs the rule but not the random draw.

    By chance only explorers change, as in the source; by their own request the others do, too, and everyone may explore again.
    """
    wanted = agent.wanted_role
    if agent.role != "EXPLORER" and wanted is None:
        return None
    if wanted == "EXPLORER":
        if agent.role == wanted:
            return None
        return facts.RoleChange(
            seat=agent.seat, old=agent.role, new=wanted, round=state.round, reason="requested"
        )
    for role, probability in list_open_roles(agent, board).items():
        if role == agent.role or (agent.role != "EXPLORER" and role != wanted):
            continue
        chance = random_unit(state.opened.seed, "role", state.round, agent.seat, role)
        if agent.wanted_role == role or chance < probability:
            reason = "requested" if agent.wanted_role == role else "rule"
            return facts.RoleChange(
                seat=agent.seat,
                old=agent.role,
                new=role,
                round=state.round,
                reason=reason,
                probability=probability,
                drawn=chance,
            )
    return None


def list_open_roles(agent: Agent, board: Board) -> dict[facts.Role, float]:
    """Return the roles that an explorer may take now, in the order in which they are checked, with their probabilities (5.1)."""
    roles: dict[facts.Role, float] = {}
    strongest = board.strongest
    if strongest >= ANALYST_FROM and agent.deposits >= ANALYST_DEPOSITS:
        roles["DEEP_ANALYST"] = round(
            stigmergy.compute_response(strongest, agent.threshold), stigmergy.DIGITS
        )
    if agent.signals_sent:
        roles["DEBATER"] = 1.0
    if agent.rounds >= SYNTHESIZER_ROUNDS:
        roles["SYNTHESIZER"] = SYNTHESIZER_PROBABILITY
    return roles


def _apply_to_agents(state: Swarm, fact: facts.RoundSettled) -> dict[SeatId, Agent]:
    agents = {
        seat: fast_replace(
            agent,
            wanted_role=None,
            role_refused=seat in fact.refused,
            role_news=None,
            rounds=agent.rounds + (seat in fact.counted),
        )
        for seat, agent in state.agents.items()
    }
    for role in fact.roles:
        agents[role.seat] = with_role(agents[role.seat], role)
    return agents


def with_role(agent: Agent, role: facts.RoleChange) -> Agent:
    """Return the agent in its new role; its next prompt says so."""
    return fast_replace(
        agent, role=role.new, role_news=role, role_history=(*agent.role_history, role)
    )


def list_silent_agents(state: Swarm) -> tuple[SeatId, ...]:
    """Return the active agents that nobody hears: the quorum does not count them."""
    silent: list[SeatId] = []
    for seat in state.active:
        agent = state.agents[seat]
        if agent.silence >= SILENT_ROUNDS or (agent.silence and not agent.findings):
            silent.append(agent.seat)
    return tuple(silent)


def measure_convergence(state: Swarm) -> facts.ConvergenceMeasured:
    """Compute the figures of the round that was just settled."""
    active, silent, board = state.active, list_silent_agents(state), state.board
    concentrations = tuple(each.concentration for each in board.pheromones.values())
    voices = [seat for seat in active if seat not in silent]
    measured = compute_figures(state, voices, len(board.perspectives), concentrations)
    lead: facts.EvidenceChoice | None = None
    if state.settings.clear_at and state.by_evidence:
        lead = build_choice(state)
    measured = replace(
        measured, active=len(active), silent=silent, lead=lead, is_clear=is_clear(state, lead)
    )
    # Protection changes the next round; without a next round it would only change the final figures.
    is_finished = find_end_reason(fast_replace(state, measured=measured)) is not None
    if is_finished:
        return measured
    return _with_protection(state, measured)


def compute_figures(
    state: Swarm, voices: Sequence[SeatId], perspectives: int, concentrations: tuple[float, ...]
) -> facts.ConvergenceMeasured:
    """Compute what follows from the ideas that these agents hold, and from the ideas held in the rounds before."""
    settings, findings = state.settings, state.board.findings
    backing = _list_backing(state, voices)
    counted = {each.idea: each.backers for each in backing}
    if settings.quorum == "independent":
        # Only agents count that held the idea before they could read it from others.
        counted = {each.idea: each.independent for each in backing}
    reached = stigmergy.find_quorum_ideas(counted, len(voices), settings.quorum_threshold)
    rate = max(
        (stigmergy.compute_share(len(seats), len(voices)) for seats in counted.values()),
        default=0.0,
    )
    inputs = stigmergy.DiversityInputs(
        perspectives=perspectives,
        distinct=len({finding.idea for finding in findings}),
        stated=len(findings),
        concentrations=concentrations,
    )
    history = state.history
    if settings.stability == "leading":
        history = (*state.leading, frozenset(reached))
    verdict = stigmergy.judge_convergence(
        round_number=state.round,
        history=history,
        has_quorum=bool(reached),
        consensus_rate=rate,
        diversity=stigmergy.compute_diversity(inputs),
        bounds=copy_fields(stigmergy.ConvergenceBounds, settings),
    )
    ideas: tuple[int, ...] = ()
    before: tuple[int, ...] = ()
    if state.history:
        ideas = tuple(sorted(state.history[-1]))
    if len(state.history) > 1:
        before = tuple(sorted(state.history[-2]))
    return copy_fields(
        facts.ConvergenceMeasured,
        verdict,
        ideas=ideas,
        before=before,
        active=len(voices),
        backing=backing,
        quorum_ideas=reached,
    )


def _list_backing(state: Swarm, voices: Sequence[SeatId]) -> tuple[facts.Backing, ...]:
    """Return each idea that one of these agents holds, with its backers and the independent ones among them."""
    held = state.group_holders(voices)
    backing: list[facts.Backing] = []
    for idea in state.board.list_ideas(sorted(held)):
        backers = tuple(held[idea.number])
        independent = tuple(each for each in backers if each in idea.independent)
        backing.append(facts.Backing(idea=idea.number, backers=backers, independent=independent))
    return tuple(backing)


def _with_protection(
    state: Swarm, measured: facts.ConvergenceMeasured
) -> facts.ConvergenceMeasured:
    """Add warnings, and the measures against too little diversity before the next round."""
    # As many rounds after the one that first held these ideas.
    is_stagnant = (
        len(state.history) > STAGNANT_ROUNDS
        and len(set(state.history[-STAGNANT_ROUNDS - 1 :])) == 1
    )
    stagnation: tuple[str, ...] = ()
    if is_stagnant:
        stagnation = ("stagnation_warning",)
    if measured.is_diverse and not measured.too_fast:
        return replace(measured, warnings=stagnation)
    # First in the list: it is the warning that changes the next round.
    measured = replace(measured, warnings=("diversity_warning", *stagnation))
    if not state.settings.protection:
        return measured
    return replace(
        measured,
        all_random=True,
        cut=_cut_dominant_direction(state),
        debater=_choose_debater(state),
    )


def _choose_debater(state: Swarm) -> facts.RoleChange | None:
    """One explorer becomes a debater, so that one agent contradicts the majority."""
    for seat in state.active:
        if state.agents[seat].role == "EXPLORER":
            return facts.RoleChange(
                seat=seat,
                old="EXPLORER",
                new="DEBATER",
                round=state.round,
                reason="diversity_protection",
            )
    return None


def _cut_dominant_direction(state: Swarm) -> facts.ConcentrationChange | None:
    """The leading direction is cut only if it dominates: a cut of a weak one would stop the swarm."""
    top = max(state.board.pheromones.values(), key=lambda each: each.concentration, default=None)
    if top is None or top.concentration <= DOMINANT:
        return None
    after = stigmergy.apply_stop_signal(top.concentration, CUT)
    return facts.ConcentrationChange(direction=top.direction, before=top.concentration, after=after)


def apply_measurement(state: Swarm, measured: facts.ConvergenceMeasured) -> Swarm:
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


def find_end_reason(state: Swarm) -> facts.EndReason | None:
    """Return why exploration ends; None while it continues. The figures take precedence over a stop of the run."""
    measured = state.measured
    # No figures for this round yet: only a stop from outside can end it.
    if measured is None or measured.round != state.round:
        return state.stop
    if state.settings.mode == "classic":
        # A synthesis that was written before the stop still counts as the result.
        if state.stop is None or state.synthesis:
            return "synthesis"
        return state.stop
    if measured.converged:
        return "converged"
    if measured.active < MIN_ACTIVE:
        return "insufficient_active_agents"
    if measured.is_clear:
        return "clear"
    if state.round >= state.settings.max_rounds:
        return "max_rounds"
    return state.stop


MAX_VOTED_ON: Final = 5
MAX_WRITERS: Final = 2
"""So many are asked for a synthesis, one after another; in the classic mode, where it is the result, all."""


def list_ballot_ideas(state: Swarm) -> tuple[int, ...]:
    """Return the ideas to vote on: those with a quorum, the best backed first; none if too few agents are left.

    By evidence the ballot is always held: ideas without a quorum follow those that have it. Where the question has options, the
    outcome is one of them, and no idea is voted on.
    """
    if not _is_ballot_held(state) or state.measured is None or state.opened.subject.options:
        return ()
    if not state.by_evidence:
        return state.consensus[:MAX_VOTED_ON]
    return tuple(dict.fromkeys((*state.consensus, *list_best_backed_ideas(state))))[:MAX_VOTED_ON]


def list_best_backed_ideas(state: Swarm) -> tuple[int, ...]:
    """Return the ideas that active agents held at the last measurement, the best backed first."""
    if state.measured is None:
        return ()
    backed = sorted(state.measured.backing, key=lambda each: (-len(each.backers), each.idea))
    return tuple(dict.fromkeys(state.board.find_current(each.idea) for each in backed))


def _is_ballot_held(state: Swarm) -> bool:
    if state.measured is None:
        return False
    return state.settings.vote and state.measured.active >= MIN_AGENTS


def list_ballot(state: Swarm, seat: SeatId) -> dict[int, PossibleAnswer]:
    """Return what a seat votes on: the answers that it has read itself, where readings decide, and the ideas."""
    if state.opened.subject.options:
        return AnswerIndex(state).answers
    ballot: dict[int, PossibleAnswer] = {}
    if state.by_evidence:
        ballot.update(AnswerIndex(state).list_read(seat))
    for idea in state.board.list_ideas(list_ballot_ideas(state)):
        ballot[idea.number] = _as_answer(idea)
    return ballot


def list_voted_answers(state: Swarm) -> dict[int, PossibleAnswer]:
    """Return the answers that all vote on, by their numbers: the options of the question, or the ideas on the ballot."""
    if not state.opened.subject.options:
        ideas = state.board.list_ideas(list_ballot_ideas(state))
        return {idea.number: _as_answer(idea) for idea in ideas}
    if not _is_ballot_held(state):
        return {}
    return AnswerIndex(state).answers


def _as_answer(idea: Idea) -> PossibleAnswer:
    return PossibleAnswer(number=idea.number, name=idea.id, text=idea.text, idea=idea.number)


def find_ballot_fault(state: Swarm, seat: SeatId, ballot: SwarmBallot) -> str | None:
    """Return what is wrong with a ballot: it is about no answer of this ballot, or says nothing of one."""
    known = list_ballot(state, seat)
    said: set[int] = set()
    for vote in ballot.votes:
        if vote.position is not None or vote.rating is not None:
            said.add(vote.answer)
    for vote in ballot.votes:
        if vote.answer not in known:
            return f"votes: there is no answer {vote.answer}; known: {', '.join(map(str, known))}"
        if vote.answer not in said:
            return (
                f"votes: a position on answer {vote.answer} was expected, or its rating from 0 to 1"
            )
    return None


def list_missing_voters(state: Swarm) -> tuple[SeatId, ...]:
    """Return who still has to vote. A stopped run spends nothing more."""
    if state.stop is not None or not _is_ballot_held(state):
        return ()
    missing = tuple(seat for seat in state.active if seat not in state.ballots)
    if list_ballot_ideas(state) or state.opened.subject.options:
        return missing
    if not state.by_evidence:
        return ()
    index = AnswerIndex(state)
    return tuple(seat for seat in missing if index.list_read(seat))


def find_synthesis_writer(state: Swarm) -> SeatId | None:
    """Return who writes the synthesis, once all have voted: a synthesizer first, else the first who reported."""
    if state.synthesis or state.stop is not None or list_missing_voters(state):
        return None
    most = MAX_WRITERS
    if state.settings.mode == "classic":
        most = len(state.explorers)
    if state.settings.synthesis != "always" or len(state.writers_lost) >= most:
        return None
    writers: list[Agent] = []
    for seat, agent in state.agents.items():
        is_there = seat in state.answered and seat not in state.writers_lost
        if is_there and agent.is_asked and agent.findings:
            writers.append(agent)
    if not writers:
        return None
    return min(writers, key=lambda agent: agent.role != "SYNTHESIZER").seat


def read_synthesis_choice(state: Swarm, text: str) -> str | None:
    """Return what a synthesis chooses, empty if nothing; None if that is no option, or not what the synthesis says."""
    chosen, options = extract_choice(text), state.opened.subject.options
    if names_nothing(options, chosen):
        return ""
    if not options or not chosen:
        return chosen
    choice = read_option(chosen, build_choices(options))
    try:
        check_beside({"choice": choice}, "synthesis", drop_choice(text), options)
    except BadAnswer:
        return None
    return choice


def find_vote(state: Swarm, seat: SeatId, idea: int) -> tuple[VotePosition | None, float | None]:
    """Return a seat's vote on an idea, and its stated confidence; an idea that its ballot leaves out counts as abstained."""
    ballot, vote = state.ballots.get(seat), find_stated_vote(state, seat, idea)
    if vote is not None and vote.position != "abstain":
        return vote.position, find_confidence(vote)
    # No ballot, or one that names the idea without a position, is a missing vote: it counts for `outcome_uncertain`.
    if vote is None and (ballot is None or ballot.has_vote_on(idea)):
        return None, None
    return "abstain", None


def find_confidence(vote: AnswerVote) -> float | None:
    """Return how sure a vote is of its side: as stated, else by its rating, the chance that the answer is right (S-29)."""
    # A vote that takes a side with no confidence at all did not state one (M-2).
    if vote.confidence:
        return vote.confidence
    if vote.rating is None:
        return None
    if vote.position == "oppose":
        return round(1 - vote.rating, DIGITS)
    return vote.rating


def find_stated_vote(state: Swarm, seat: SeatId, idea: int) -> AnswerVote | None:
    """Return the vote of a seat that takes a position on an idea; None without one."""
    ballot = state.ballots.get(seat)
    if ballot is None:
        return None
    for vote in ballot.votes:
        if vote.answer == idea and vote.position is not None:
            return vote
    return None


def build_resolutions(state: Swarm) -> tuple[IdeaResolution, ...]:
    """Return the results of the votes, answer by answer; nothing if nobody was asked."""
    if not state.ballots:
        return ()
    correlations = build_seat_correlations(state.opened.subject.error_correlations, state.seats)
    resolutions: list[IdeaResolution] = []
    for answer in list_voted_answers(state).values():
        votes = [
            build_vote(state.seat(name), *find_vote(state, name, answer.number))
            for name in state.explorers
        ]
        resolution = resolve_open_vote(votes, correlations=correlations)
        rounded: dict[str, float] = {}
        for field in fields(resolution):
            value = getattr(resolution, field.name)
            if isinstance(value, float):
                rounded[field.name] = round(value, DIGITS)
        option = ""
        if not answer.idea:
            option = answer.text
        resolutions.append(
            copy_fields(IdeaResolution, resolution, idea=answer.idea, option=option, **rounded)
        )
    return tuple(resolutions)


def build_completion(state: Swarm, reason: EndReason) -> SwarmCompleted:
    """Build the state sync: every agent that was still working becomes `completed`."""
    measured = state.measured
    has_converged = measured is not None and measured.converged
    choice: facts.EvidenceChoice | None = None
    if state.by_evidence:
        choice = build_choice(state)
    return SwarmCompleted(
        round=state.round,
        reason=reason,
        converged=reason == "converged" and has_converged,
        resolved=build_resolutions(state),
        synced=tuple(seat for seat, agent in state.agents.items() if agent.is_asked),
        choice=choice,
    )


def apply_completion(state: Swarm, fact: SwarmCompleted) -> Swarm:
    agents = dict(state.agents)
    for seat, agent in state.agents.items():
        if seat in fact.synced:
            agents[seat] = fast_replace(agent, status="completed")
    return fast_replace(state, agents=agents, completed=fact)


def list_awaited_seats(state: Swarm) -> tuple[SeatId, ...]:
    """Return the agents that are asked to say goodbye: outside agents.

    Participants that Moot calls hold nothing between two calls.
    """
    awaited: list[SeatId] = []
    for seat, agent in state.agents.items():
        if agent.status == "completed" and state.seat(seat).is_outside and not agent.missed:
            awaited.append(seat)
    return tuple(awaited)


def build_agent_ends(state: Swarm) -> dict[SeatId, Termination]:
    return {seat: _find_termination(state, agent) for seat, agent in state.agents.items()}


def _find_termination(state: Swarm, agent: Agent) -> Termination:
    if agent.ended is not None:
        return agent.ended
    if agent.seat in state.awaited:
        # Asked for a goodbye and silent: gone, whatever it did before.
        is_gone = not state.goodbyes.get(agent.seat, False)
    else:
        is_gone = agent.missed or agent.status == "removed"
    if not is_gone:
        return "graceful"
    if state.clock - agent.active_at > state.settings.silent_seconds:
        return "auto_forced"
    return "forced"


def apply_termination(state: Swarm, ends: Mapping[SeatId, Termination]) -> Swarm:
    """Return the swarm with every agent terminated, each with its reason."""
    agents = dict(state.agents)
    for seat, reason in ends.items():
        agents[seat] = fast_replace(agents[seat], status="terminated", ended=reason)
    return fast_replace(state, agents=agents)
