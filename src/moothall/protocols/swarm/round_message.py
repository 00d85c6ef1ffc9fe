"""What an agent from outside is sent in a round: `round_start` and the other messages of the protocol's source, word for word.

What all explorers share (task, strategy, snapshot) comes first, what is the agent's own comes last. The size of the snapshot is
bounded, however large the blackboard grows.
"""

import json
from collections.abc import Iterator, Sequence
from functools import lru_cache
from operator import is_
from typing import Final

from moothall.domain.safe_text import quote_lines, quote_user
from moothall.locale.catalogues import SWARM_MESSAGE, SwarmMessageText
from moothall.protocols.swarm.facts import CollisionMode, OperationResult, RoundOrder
from moothall.protocols.swarm.findings_table import (
    MAX_FINDINGS,
    MAX_INSIGHTS,
    MAX_TASK_LENGTH,
    format_details,
    list_insights,
    shorten_detail,
)
from moothall.protocols.swarm.json_fields import DISPLAY_NAMES, format_agent_name, take_fields
from moothall.protocols.swarm.rules import evidence
from moothall.protocols.swarm.rules.round_start import is_ping
from moothall.protocols.swarm.state import Agent, Finding, Swarm
from moothall.scoring.stigmergy import compute_effective_concentration, compute_inhibition

MAX_DIRECTIONS: Final = 12
MAX_SIGNALS: Final = 8
MAX_CLAIMS: Final = 12
MAX_IDEAS: Final = 24
MAX_RESULTS: Final = 20


def build_shared_message(state: Swarm) -> str:
    """Return what all agents from outside read before they explore, or collide."""
    words = SWARM_MESSAGE[state.opened.language]
    task = f"{words.task}\n{quote_user(state.opened.topic[:MAX_TASK_LENGTH])}"
    return "\n\n".join([task, words.strategy, _render_board(_ShownBoard(state), words)])


def build_round_message(state: Swarm, agent: Agent) -> str:
    """Return the `round_start` of an agent."""
    words = SWARM_MESSAGE[state.opened.language]
    order = state.orders[agent.seat]
    lines = [words.you.format(name=format_agent_name(agent.seat))]
    for part in _build_message(state, agent, order):
        lines.append(quote_lines(json.dumps(part, ensure_ascii=False)))
    lines += _format_news(state, words, agent)
    lines += _format_orders(state, words, order)
    lines.append(words.explore)
    if state.by_evidence:
        # Deposits are readings: what an amount means must be the same for all.
        lines.append(words.amounts.format(most=state.settings.max_deposit))
    return "\n".join(lines)


def build_collision_message(
    state: Swarm, agent: Agent, mode: CollisionMode, targets: Sequence[Finding]
) -> str:
    """Return the `collision_invitation` of an agent."""
    words = SWARM_MESSAGE[state.opened.language]
    you = words.you.format(name=format_agent_name(agent.seat))
    request = words.collide.format(mode=mode, what=words.modes[mode])
    return "\n".join([you, *map(_format_finding, targets), request])


class _ShownBoard:
    """A state by what its snapshot shows. Compared by identity: equal boards of one round are the same object."""

    def __init__(self, state: Swarm) -> None:
        self.state, self._parts = state, (state.board, state.agents, state.opened, state.round)

    def __hash__(self) -> int:
        return hash(tuple(map(id, self._parts)))

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _ShownBoard) and all(map(is_, self._parts, other._parts))


@lru_cache(maxsize=32)
def _render_board(shown: _ShownBoard, words: SwarmMessageText) -> str:
    state = shown.state
    sections = (_format_section(words, *section) for section in _list_sections(state, words))
    lines = [words.board.format(round=state.round)]
    if not state.board.pheromones:
        lines.append(words.no_pheromones)
    for section in sections:
        lines.extend(section)
    return "\n".join(lines)


def _format_section(
    words: SwarmMessageText, head: str, lines: Sequence[str], total: int
) -> list[str]:
    """Format a section of the snapshot: its heading, its lines, and how many were left out."""
    if not lines:
        return []
    section = [head, *lines]
    rest = total - len(lines)
    if rest > 0:
        section.append(words.more.format(count=rest))
    return section


def _list_sections(state: Swarm, words: SwarmMessageText) -> Iterator[tuple[str, list[str], int]]:
    """Yield the sections of the snapshot: the heading, the lines that are shown, and how many there are in all."""
    board = state.board
    yield words.pheromones, _list_pheromones(state), len(board.pheromones)
    targets = {key: each.direction for key, each in board.pheromones.items()}
    signals: list[str] = []
    for each in reversed(board.signals[-MAX_SIGNALS:]):
        target, said = targets.get(each.target, each.target), shorten_detail(each.evidence)
        signals.append(quote_lines(f"{each.id} {each.sender} → {target}: {each.reason}, {said}"))
    yield words.signals, signals, len(board.signals)
    claims: list[str] = []
    for claim in board.claims.values():
        claims.append(
            quote_lines(f"{claim.id} {claim.description} ({', '.join(claim.claimed_by)})")
        )
    yield words.claims, claims[-MAX_CLAIMS:][::-1], len(claims)
    held = state.group_holders(state.agents)
    ranked = sorted(held, key=lambda number: (-len(held[number]), number))
    ideas: list[str] = []
    for number in ranked[:MAX_IDEAS]:
        idea = board.ideas[number]
        ideas.append(quote_lines(f"{idea.id} ({', '.join(held[number])}) {idea.text}"))
    yield words.ideas, ideas, len(ranked)
    yield words.findings, _list_findings(state), len(board.findings)
    insights = list_insights(state)
    newest = [quote_lines(shorten_detail(line)) for line in insights[-MAX_INSIGHTS:]]
    yield words.insights, newest, len(insights)


def _list_pheromones(state: Swarm) -> list[str]:
    settings, counts = state.settings, evidence.count_active_signals(state.board)
    ranked = sorted(
        state.board.pheromones.items(), key=lambda each: (-each[1].concentration, each[0])
    )
    lines = []
    for key, each in ranked[:MAX_DIRECTIONS]:
        strength = compute_inhibition(
            counts[key], settings.signal_strength, settings.max_inhibition
        )
        left = ""
        if strength:
            left = f" ({compute_effective_concentration(each.concentration, strength):.4f})"
        lines.append(quote_lines(f"{each.concentration:.4f}{left} {each.direction}"))
    return lines


def _list_findings(state: Swarm) -> list[str]:
    return [_format_finding(each) for each in state.board.findings[-MAX_FINDINGS:][::-1]]


def _format_finding(finding: Finding) -> str:
    marks: list[str] = []
    if finding.perspective:
        marks.append(finding.perspective)
    if finding.needs_validation:
        marks.append(finding.verdict or "needsValidation")
    for review in finding.reviews[-2:]:
        marks.append(f"{review.action} {review.seat}: {shorten_detail(review.content)}")
    text = finding.core_idea + format_details(finding.details)
    return quote_lines(f"{finding.id} {finding.seat} [{'; '.join(marks)}] {text}")


def _build_message(state: Swarm, agent: Agent, order: RoundOrder) -> list[dict[str, object]]:
    """Build the parts of `round_start` as the protocol defines them."""
    support = [
        {
            "direction": each.direction,
            "rawConcentration": round(each.raw, 4),
            "effectiveConcentration": round(each.effective, 4),
            "responseProbability": round(each.probability, 4),
        }
        for each in evidence.weigh_directions(state, agent, evidence.TOP)
    ]
    instructions = (
        "forceRandomExplore=random mustSwitchDirection=must_switch "
        "currentDirectionInhibited=inhibited recommendedDirection=recommended?"
    )
    if order.cover:
        instructions += " coverFirst=cover"
    parts: list[dict[str, object]] = [
        {"type": "round_start", "round": state.round, "agentState": build_agent_state(agent)},
        {"decisionSupport": {"threshold": round(agent.threshold, 4), "topDirections": support}},
        {"instructions": take_fields(order, instructions)},
    ]
    if agent.results:
        results = [_build_result(each) for each in agent.results[:MAX_RESULTS]]
        parts.append({"operationResults": results})
    return parts


def _format_news(state: Swarm, words: SwarmMessageText, agent: Agent) -> list[str]:
    """Format what has changed for an agent."""
    lines = []
    if agent.role_news is not None:
        news = agent.role_news
        lines.append(words.role_news.format(old=news.old, new=news.new, what=words.roles[news.new]))
    elif agent.role != "EXPLORER":
        lines.append(words.roles[agent.role])
    if agent.role_refused:
        lines.append(words.role_refused)
    lines += [words.warnings[name] for name in state.warnings if name in words.warnings]
    return lines


def _format_orders(state: Swarm, words: SwarmMessageText, order: RoundOrder) -> list[str]:
    lines = []
    if state.lost.get(order.seat):
        if is_ping(state, order.seat):
            lines.append(words.ping)
        else:
            lines.append(words.retry)
    if order.wake:
        lines.append(words.wake)
    if order.random:
        lines.append(words.random)
    if order.must_switch:
        lines.append(words.switch)
    elif order.inhibited:
        lines.append(words.inhibited)
    if not order.random:
        if order.cover:
            lines.append(words.cover)
        elif not order.must_switch:
            lines.append(words.normal)
    return lines


def _build_result(result: OperationResult) -> dict[str, object]:
    shown = take_fields(
        result,
        "type operationId operation success",
        type="operation_result",
        operationId=f"op-{result.number}",
    )
    if result.error:
        shown |= take_fields(result, "error detail")
    if result.target:
        shown["target"] = result.target
    if result.after is not None:
        shown["newConcentration"] = round(result.after, 4)
    return shown


def build_agent_state(agent: Agent) -> dict[str, object]:
    """Return an agent's state as the protocol defines it."""
    return take_fields(
        agent,
        "role displayName status internalThreshold=threshold randomExploreProb=random_explore stats current violationScore=score",
        displayName=DISPLAY_NAMES.get(agent.seat, agent.seat),
        stats=take_fields(
            agent,
            "pheromoneDeposits=deposits explorationRounds=rounds findingsCount=findings signalsSent signalsReceived "
            "silenceRounds=silence recoveryAttempts=wakes",
        ),
        current=take_fields(agent, "exploringDirection=direction? claimedSubtask=subtask?"),
    )
