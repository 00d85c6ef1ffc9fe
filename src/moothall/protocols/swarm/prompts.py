"""The prompts of a swarm: `round_start` and the other messages of the protocol, as pure functions of what the seat may see.

What all explorers share (task, strategy, snapshot) comes first, what is the seat's own comes last. The size of the snapshot is
bounded, however large the blackboard grows.
"""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import lru_cache, partial
from operator import is_
from typing import Final

from moothall.domain.answer_table import ask_for_replies, fill_brief, read_two_sides
from moothall.domain.claims import cut_text
from moothall.domain.context import ContextWindow, Perception, Utterance
from moothall.domain.effects import AnswerRules, Ask, Brief, Normalized
from moothall.domain.frame import settle_own_choice
from moothall.domain.ids import SeatId
from moothall.domain.safe_text import one_line, quote_lines, quote_user
from moothall.domain.topic import list_input_numbers
from moothall.domain.vocabulary import PATTERNS, is_pass_text
from moothall.locale.catalogues import SWARM_PROMPT, SwarmPromptText
from moothall.protocols.swarm.answer_table import (
    FORMS,
    SwarmAsk,
    build_answer_schema,
    build_person_ask,
)
from moothall.protocols.swarm.answers import (
    MAX_DIRECTION_LENGTH,
    Collision,
    ConflictReview,
    RoundReport,
    SwarmBallot,
    Synthesis,
)
from moothall.protocols.swarm.facts import VALIDATOR, CollisionMode, OperationResult, RoundOrder
from moothall.protocols.swarm.json_fields import DISPLAY_NAMES, format_agent_name, take_fields
from moothall.protocols.swarm.rules import evidence
from moothall.protocols.swarm.rules.endings import find_ballot_fault, read_synthesis_choice
from moothall.protocols.swarm.rules.review import LOOKED_AT, build_comparison, find_invitation
from moothall.protocols.swarm.rules.round_start import is_ping
from moothall.protocols.swarm.state import Agent, Finding, Swarm
from moothall.reading.answers import is_pass
from moothall.scoring.stigmergy import compute_effective_concentration, compute_inhibition

MAX_TASK_LENGTH: Final = 20_000
MAX_DETAIL_LENGTH: Final = 300
MAX_DIRECTIONS: Final = 12
MAX_SIGNALS: Final = 8
MAX_CLAIMS: Final = 12
MAX_IDEAS: Final = 24
MAX_FINDINGS: Final = 16
MAX_RESULTS: Final = 20
MAX_INSIGHTS: Final = 8
MAX_OWN_FINDINGS: Final = 3
_SIDES: Final[Mapping[str, tuple[tuple[str, str, str, str | None], ...]]] = {
    "ballot": (("votes", "answer", "position", "abstain"), ("votes", "answer", "rating", None)),
    "validate": (("verdicts", "finding", "verdict", "unclear"),),
    "judge": (("judgements", "pair", "verdict", None),),
}
"""Where an answer can take two sides: its list, what an item is about, the side, and what stands for none."""


def build_answer_rules(state: Swarm, ask: Ask) -> AnswerRules:
    if ask.kind == "judge":
        # A person who judges is asked by the shape of the answer, which the brief narrows.
        return build_brief(state, ask)
    return _build_rules(state, ask)


def _build_rules(state: Swarm, ask: Ask) -> AnswerRules:
    form, asked = FORMS[ask.kind], SwarmAsk(state=state, ask=ask)
    person = None
    if ask.kind not in {"compare", "judge"}:
        person = partial(build_person_ask, state, ask)
    return AnswerRules(
        form=form,
        fills=form.find_fills(asked),
        normalize=partial(_normalize_answer, state, ask),
        fault=partial(_find_fault, state, ask),
        options=asked.options,
        is_open=asked.is_open,
        alternatives=asked.alternatives,
        person=person,
    )


def build_brief(state: Swarm, ask: Ask) -> Brief:
    words, agent = SWARM_PROMPT[state.opened.language], state.agents.get(ask.seat)
    rules, nth = _build_rules(state, ask), _count_ask(state, ask, agent)
    if ask.kind == "compare":
        # The subject alone: nobody reads a prompt.
        topic, texts = state.opened.topic, build_comparison(state)
        return fill_brief(
            state, ask, rules, nth=nth, system="", shared="", own="", subject=topic, chore=texts
        )
    asked = SwarmAsk(state=state, ask=ask)
    perception = Perception(
        goal=state.opened.topic,
        memory=_build_memory(state),
        own_words=_find_last_words(state, ask.seat),
    )
    if ask.kind == "judge":
        system = words.judging
    elif ask.seat == VALIDATOR:
        system = words.validator
    else:
        system = words.system
    # Where there are options, the form lists them; on a ballot an answer is one of its numbers, not words.
    hidden: set[str] = set()
    if ask.kind == "ballot":
        hidden = {*words.hints}
    elif state.opened.subject.options:
        hidden = {"choice"}
    hints = {name: hint for name, hint in words.hints.items() if name not in hidden}
    return fill_brief(
        state,
        ask,
        rules,
        system=system,
        nth=nth,
        perception=perception,
        shared=_build_shared_prompt(state, words, ask),
        own=_build_own_prompt(asked, words, agent),
        subject=state.opened.topic,
        schema=build_answer_schema(asked),
        hints=hints,
    )


def _build_memory(state: Swarm) -> ContextWindow:
    memory = ContextWindow(window=MAX_FINDINGS)
    for finding in state.board.findings[-MAX_FINDINGS:]:
        utterance = Utterance(id=finding.number, speaker=finding.seat, text=finding.core_idea)
        memory = memory.add(utterance, 0.5)
    return memory


def _find_last_words(state: Swarm, seat: SeatId) -> str:
    """Return the idea of a seat's last finding; empty if it has none among the newest."""
    for finding in reversed(state.board.findings[-200:]):
        if finding.seat == seat:
            return finding.core_idea
    return ""


def _find_fault(state: Swarm, ask: Ask, said: object) -> str | None:
    options = state.opened.subject.options
    if (
        isinstance(said, Synthesis)
        and state.settings.mode == "classic"
        and read_synthesis_choice(state, said.content) is None
    ):
        return f"behind [CHOICE] what the synthesis says was expected, one of: {', '.join(options)}; or no such line"
    if isinstance(said, SwarmBallot):
        return find_ballot_fault(state, ask.seat, said)
    return None


def _normalize_answer(state: Swarm, ask: Ask, said: object) -> Normalized:
    """Fill in what a report leaves out and code knows (M-3), and take no side where an answer takes two."""
    notes = list[str]()
    for name, number, side, neither in _SIDES.get(ask.kind, ()):
        items, changes = read_two_sides(name, getattr(said, name), number, side, neither)
        said = replace(said, **{name: items})  # type: ignore[type-var]  # the shape of the kind
        notes += changes
    if ask.kind in _SIDES:
        return said, tuple(notes)
    if isinstance(said, Collision) and said.action != "pass" and is_pass_text(said.content):
        return replace(said, action="pass"), (f"read action {said.action!r} → 'pass'",)
    return _fill_report(state, ask, said)


def _fill_report(state: Swarm, ask: Ask, said: object) -> Normalized:
    """Fill in what a report leaves out; what an agent sent stands, and is checked (S-21)."""
    agent = state.agents.get(ask.seat)
    if not isinstance(said, RoundReport) or agent is None:
        return said, ()
    said = settle_own_choice(said)
    order = state.orders[agent.seat]
    nothing = [each.core_idea for each in said.findings if _says_nothing(each.core_idea)]
    findings = tuple(each for each in said.findings if each.core_idea not in nothing)
    said = replace(said, findings=findings)
    named = ""
    if said.direction not in nothing:
        named = said.direction.strip()
    direction = named or agent.direction or order.recommended or order.perspective
    if not direction and said.findings:
        direction = cut_text(said.findings[0].core_idea, MAX_DIRECTION_LENGTH)
    reasons = SWARM_PROMPT[state.opened.language].reasons
    if order.random:
        reason = reasons["random"]
    elif order.must_switch:
        reason = reasons["switch"]
    else:
        reason = reasons["own"]
    report = evidence.build_decision_report(state, agent, direction or "—", reason)
    is_forced = said.random_explore_forced
    if is_forced is None:
        is_forced = order.random
    filled = replace(
        said,
        direction=direction,
        decision_report=said.decision_report or report,
        conflict_review=said.conflict_review or ConflictReview(),
        random_explore_forced=is_forced,
    )
    notes = [f"left_out findings {text!r}" for text in nothing]
    if direction and not named:
        notes.append(f"filled direction {direction!r}")
    return filled, tuple(notes)


def _says_nothing(text: str) -> bool:
    return PATTERNS["nothing"].fullmatch(text) is not None or is_pass(text) or is_pass_text(text)


def _count_ask(state: Swarm, ask: Ask, agent: Agent | None) -> int:
    if ask.kind == "explore" and agent is not None:
        return agent.asked + 1
    if ask.kind in {"collide", "validate", "compare", "judge"}:
        return max(1, state.round)
    return 1


def _build_shared_prompt(state: Swarm, words: SwarmPromptText, ask: Ask) -> str:
    task = f"{words.task}\n{quote_user(state.opened.topic[:MAX_TASK_LENGTH])}"
    if ask.kind in {"judge", "shutdown"}:
        return task
    if ask.kind == "ballot" and state.by_evidence:
        # Without the concentrations and the backers: what counts is what each explorer read, not what is popular.
        findings = _format_section(
            words, words.findings, _list_findings(state), len(state.board.findings)
        )
        return "\n\n".join([task, "\n".join(findings)])
    if ask.kind == "explore" and state.settings.mode == "classic":
        return task
    parts = [task]
    if ask.kind == "explore":
        parts.append(words.strategy)
    parts.append(_render_board(_ShownBoard(state), words))
    return "\n\n".join(parts)


class _ShownBoard:
    """A state by what its snapshot shows. Compared by identity: equal boards of one round are the same object."""

    def __init__(self, state: Swarm) -> None:
        self.state, self._parts = state, (state.board, state.agents, state.opened, state.round)

    def __hash__(self) -> int:
        return hash(tuple(map(id, self._parts)))

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _ShownBoard) and all(map(is_, self._parts, other._parts))


@lru_cache(maxsize=32)
def _render_board(shown: _ShownBoard, words: SwarmPromptText) -> str:
    state = shown.state
    sections = (_format_section(words, *section) for section in _list_sections(state, words))
    lines = [words.board.format(round=state.round)]
    if not state.board.pheromones:
        lines.append(words.no_pheromones)
    for section in sections:
        lines.extend(section)
    return "\n".join(lines)


def _format_section(
    words: SwarmPromptText, head: str, lines: Sequence[str], total: int
) -> list[str]:
    """Format a section of the snapshot: its heading, its lines, and how many were left out."""
    if not lines:
        return []
    section = [head, *lines]
    rest = total - len(lines)
    if rest > 0:
        section.append(words.more.format(count=rest))
    return section


def _list_sections(state: Swarm, words: SwarmPromptText) -> Iterator[tuple[str, list[str], int]]:
    """Yield the sections of the snapshot: the heading, the lines that are shown, and how many there are in all."""
    board = state.board
    yield words.pheromones, _list_pheromones(state), len(board.pheromones)
    targets = {key: each.direction for key, each in board.pheromones.items()}
    signals: list[str] = []
    for each in reversed(board.signals[-MAX_SIGNALS:]):
        target, said = targets.get(each.target, each.target), _shorten_text(each.evidence)
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
    insights = _list_insights(state)
    newest = [quote_lines(_shorten_text(line)) for line in insights[-MAX_INSIGHTS:]]
    yield words.insights, newest, len(insights)


def _list_insights(state: Swarm) -> list[str]:
    """Return the insights of the newest collisions (S-13), each text once: as the last agent that wrote it has it."""
    insights: dict[str, str] = {}
    for finding in state.board.findings[-LOOKED_AT:]:
        for review in finding.reviews:
            for text in review.new_insights:
                insights[text] = f"{review.seat} → {finding.id}: {text}"
    return list(insights.values())


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
        marks.append(f"{review.action} {review.seat}: {_shorten_text(review.content)}")
    text = finding.core_idea + _format_details(finding.details)
    return quote_lines(f"{finding.id} {finding.seat} [{'; '.join(marks)}] {text}")


def _format_details(details: str) -> str:
    """Format what stands behind an idea: a dash and the details, or nothing."""
    if not details:
        return ""
    return f" — {_shorten_text(details)}"


def _shorten_text(text: str) -> str:
    line = one_line(text)
    if len(line) <= MAX_DETAIL_LENGTH:
        return line
    return f"{line[: MAX_DETAIL_LENGTH - 1]}…"


def _build_own_prompt(asked: SwarmAsk, words: SwarmPromptText, agent: Agent | None) -> str:
    state = asked.state
    match asked.ask.kind:
        case "validate":
            return "\n".join([*map(_format_finding, asked.checked), words.validate])
        case "judge":
            return _format_pairs(state, words)
        case "synthesis":
            findings = [_format_finding(each) for each in state.board.findings[-100:]]
            request = words.synthesis + _ask_for_choice(state, words) + ask_for_replies(state)
            return "\n".join([*findings, request])
        case "shutdown":
            return words.shutdown
        case "ballot":
            return _format_ballot(state, words, asked)
        case "collide":
            invitation = find_invitation(state, asked.ask.seat)
            mode: CollisionMode = "review_challenge"
            if invitation is not None:
                mode = invitation.mode
            you = words.you.format(name=format_agent_name(asked.ask.seat))
            request = words.collide.format(mode=mode, what=words.modes[mode])
            return "\n".join([you, *map(_format_finding, asked.targets), request])
        case _:
            assert agent is not None, "only explorers are asked to explore"
            return _format_round_start(state, words, agent)


def _ask_for_choice(state: Swarm, words: SwarmPromptText) -> str:
    """Ask a synthesis for its choice: only in the classic mode is it what was decided."""
    if state.settings.mode != "classic":
        return ""
    options = " | ".join(map(one_line, state.opened.subject.options))
    named = ""
    if options:
        named = words.choice_options.format(options=options)
    return words.final_choice.format(options=named)


def _format_ballot(state: Swarm, words: SwarmPromptText, asked: SwarmAsk) -> str:
    lines = _format_own_readings(state, words, asked)
    request = words.ballot
    if lines:
        request += words.ballot_rating
    rated = asked.rated
    others: list[str] = []
    for number, answer in asked.ballot.items():
        if number not in rated:
            others.append(quote_lines(f"{number}. {answer.text}"))
    if lines and others:
        lines.append(words.ballot_ideas)
    if state.open_inputs:
        request += words.to_user.format(inputs=list_input_numbers(state.open_inputs))
    return "\n".join([*lines, *others, request])


def _format_own_readings(state: Swarm, words: SwarmPromptText, asked: SwarmAsk) -> list[str]:
    """List the answers that a seat has read with its own deposits and findings: a model remembers none of them."""
    index, seat, lines = evidence.AnswerIndex(state), asked.ask.seat, list[str]()
    amounts = index.sum_deposits()
    mine = [each for each in state.board.findings if each.seat == seat]
    mine.sort(key=lambda each: len(each.reviews))
    for number, answer in asked.rated.items():
        count, total = amounts.get((number, seat), (0, 0.0))
        deposits = ""
        if count:
            deposits = f" ({words.own_deposits.format(count=count, mean=total / count)})"
        lines.append(quote_lines(f"{number}. {one_line(answer.text)}{deposits}"))
        # Of what it said again and again, the time that was reviewed most.
        findings: dict[str, Finding] = {}
        for each in mine:
            way = index.by_direction.get(evidence.direction_key(each.direction))
            if number in (each.idea, way):
                findings[each.details] = each
        for each in [*findings.values()][-MAX_OWN_FINDINGS:]:
            if each.details:
                lines.append(_format_finding(each))
    if not lines:
        return []
    return [words.own_answers, *lines]


def _format_pairs(state: Swarm, words: SwarmPromptText) -> str:
    """List the ideas of the pairs in full, each once, then the pairs by number."""
    review, texts = state.review, state.review.texts
    details: dict[str, str] = {}
    for finding in state.board.findings:
        details.setdefault(finding.core_idea, finding.details)
    used = sorted({at for pair in review.pairs for at in (pair.one, pair.other)})
    numbers = {at: number for number, at in enumerate(used, 1)}
    lines = []
    for at in used:
        detail = _format_details(details.get(texts[at], ""))
        lines.append(quote_lines(f"{numbers[at]}. {one_line(texts[at])}{detail}"))
    pairs = [
        quote_lines(f"{at}: {numbers[pair.other]}, {numbers[pair.one]}")
        for at, pair in enumerate(review.pairs, 1)
    ]
    return "\n".join([words.ballot_ideas, *lines, words.pairs, *pairs, words.judge])


def _format_round_start(state: Swarm, words: SwarmPromptText, agent: Agent) -> str:
    order = state.orders[agent.seat]
    you = words.you.format(name=format_agent_name(agent.seat))
    if state.settings.mode == "classic":
        return "\n".join(
            [you, words.perspective.format(perspective=order.perspective), words.explore_classic]
        )
    lines = [you]
    for part in _build_message(state, agent, order):
        lines.append(quote_lines(json.dumps(part, ensure_ascii=False)))
    lines += _format_news(state, words, agent)
    lines += _format_orders(state, words, order)
    lines.append(words.explore)
    if state.by_evidence:
        # Deposits are readings: what an amount means must be the same for all.
        lines.append(words.amounts.format(most=state.settings.max_deposit))
    return "\n".join(lines)


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


def _format_news(state: Swarm, words: SwarmPromptText, agent: Agent) -> list[str]:
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


def _format_orders(state: Swarm, words: SwarmPromptText, order: RoundOrder) -> list[str]:
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
