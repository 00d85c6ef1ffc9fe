"""What a seat that Moot asks itself is asked: one direction and one plain question in the matter's own words (S-37).

Nothing of the mechanism stands in it. What code knows, such as thresholds, concentrations and probabilities, code uses.
"""

from collections.abc import Iterable
from functools import lru_cache
from operator import is_

from moothall.domain.answer_table import ask_for_replies
from moothall.domain.prompt_parts import describe_choice, introduce_seat
from moothall.domain.safe_text import one_line, quote_lines
from moothall.domain.topic import list_input_numbers
from moothall.locale.catalogues import (
    PARTICIPANT_PROMPT,
    SWARM_PROMPT,
    ParticipantPromptText,
    SwarmPromptText,
)
from moothall.protocols.swarm.answer_table import SwarmAsk
from moothall.protocols.swarm.facts import CollisionMode
from moothall.protocols.swarm.findings_table import (
    MAX_INSIGHTS,
    MAX_JUDGED,
    ShownFindings,
    build_findings_table,
    build_table,
    format_finding,
    group_findings,
    list_insights,
    quote_answer,
    quote_question,
    shorten_detail,
)
from moothall.protocols.swarm.rules.endings import list_ballot
from moothall.protocols.swarm.rules.evidence import AnswerIndex
from moothall.protocols.swarm.rules.review import find_invitation
from moothall.protocols.swarm.state import Finding, Signal, Swarm

NEEDS_TABLE = frozenset({"explore", "ballot", "synthesis"})
"""The asks that show the findings."""


def build_shared_ask(state: Swarm, kind: str) -> str:
    """Return what is the same for all seats of an ask: the question, and the findings."""
    question = quote_question(state)
    is_alone = kind == "explore" and state.settings.mode == "classic"
    if kind not in NEEDS_TABLE or is_alone:
        return question
    table = _render_table(_ShownTable(state, kind))
    return "\n\n".join(filter(None, [question, table]))


def build_own_ask(asked: SwarmAsk) -> str:
    """Return who the seat is, and what it is asked now."""
    words, heads = SWARM_PROMPT[asked.language], PARTICIPANT_PROMPT[asked.language].heads
    state = asked.state
    match asked.ask.kind:
        case "explore":
            request = _build_exploration(asked, words)
        case "collide":
            request = _build_collision(asked, words)
        case "validate":
            checked = [quote_lines(format_finding(each)) for each in asked.checked]
            return "\n".join([*checked, "", heads["now"], words.validate.strip()])
        case "ballot":
            request = _build_ballot(asked, words)
        case _:
            request = words.synthesis.strip() + _ask_for_choice(state, words)
            request += ask_for_replies(state)
    you = _introduce(asked, words)
    return "\n".join([*you, "", heads["now"], request])


def _introduce(asked: SwarmAsk, words: SwarmPromptText) -> list[str]:
    """Return who the seat is, and which of the findings above are its own."""
    state, kind = asked.state, asked.ask.kind
    lines = introduce_seat(asked.language, state.seat(asked.ask.seat))
    if kind in NEEDS_TABLE:
        own = build_shown_findings(state, kind).name_those_of(state, asked.ask.seat)
        if own:
            lines.append(words.yours.format(findings=own))
    return lines


class _ShownTable:
    """A state by what its table shows. Compared by identity: equal boards of one round are the same object."""

    def __init__(self, state: Swarm, kind: str) -> None:
        self.state, self.kind = state, kind
        self._parts = (state.board, state.opened, state.measured)

    def __hash__(self) -> int:
        return hash((self.kind, *map(id, self._parts)))

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, _ShownTable) or self.kind != other.kind:
            return False
        return all(map(is_, self._parts, other._parts))


@lru_cache(maxsize=16)
def _find_shown(shown: _ShownTable) -> ShownFindings:
    state = shown.state
    if shown.kind == "explore":
        return build_findings_table(state)
    if shown.kind == "synthesis":
        return build_findings_table(state, MAX_JUDGED)
    # What any seat votes on, so that all read one table.
    index = AnswerIndex(state)
    listed: dict[int, str] = {}
    for seat in state.active:
        listed |= {number: each.text for number, each in list_ballot(state, seat).items()}
    answers = dict(sorted(listed.items()))
    return build_table(state, answers, group_findings(state, index), MAX_JUDGED)


def build_shown_findings(state: Swarm, kind: str) -> ShownFindings:
    """Return the table of findings of a kind of ask; it is built once for all seats."""
    return _find_shown(_ShownTable(state, kind))


@lru_cache(maxsize=16)
def _render_table(shown: _ShownTable) -> str:
    state, words = shown.state, SWARM_PROMPT[shown.state.opened.language]
    # Oldest first and without what differs by seat: a provider's cache holds it for all of them.
    lines = [*_find_shown(shown).lines]
    insights = list_insights(state)
    if insights and shown.kind == "explore":
        newest = [quote_lines(shorten_detail(line)) for line in insights[-MAX_INSIGHTS:]]
        lines += [words.insights, *newest]
    if not lines:
        return ""
    return "\n".join([words.findings, *lines])


def _build_exploration(asked: SwarmAsk, words: SwarmPromptText) -> str:
    state = asked.state
    lines = _say_where(asked, words)
    known = option = ""
    if asked.holdable:
        known = words.known
    if asked.options:
        other = ""
        if asked.is_open:
            other = words.option_other
        option = f"{words.option.format(other=other)}\n"
    lines.append(words.explore.strip().format(option=option, known=known))
    if asked.holdable:
        lines.append(words.holds)
    if state.round == 1:
        lines.append(describe_choice(state, asked.ask))
    return "\n".join(lines)


def _say_where(asked: SwarmAsk, words: SwarmPromptText) -> list[str]:
    """Return where the seat is to look, as code drew it, and what it is to leave aside."""
    state, order = asked.state, asked.order
    if order.perspective:
        return [words.where_side.format(perspective=order.perspective)]
    lines: list[str] = []
    if state.lost.get(asked.ask.seat):
        lines.append(words.again)
    if order.leave:
        lines += [words.where_other, quote_answer(state, order.leave)]
        lines += _quote_evidence(state, order.leave)
    if order.given:
        lines += [words.where_given, quote_answer(state, order.given)]
    elif order.is_new:
        lines.append(words.where_new)
    # One sentence of advice, and none beside what is to be left aside.
    task = words.tasks.get(asked.agent.role, "")
    if state.warnings:
        task = words.narrow
    if task and not order.leave:
        lines.append(task)
    return lines


def _quote_evidence(state: Swarm, direction: str) -> list[str]:
    """Return the newest evidence that was sent against a direction."""
    signals: Iterable[Signal] = state.board.signals
    targets = {key: each.direction for key, each in state.board.pheromones.items()}
    sent = [each.evidence for each in signals if targets.get(each.target) == direction]
    return [quote_lines(shorten_detail(text)) for text in sent[-1:]]


def _build_collision(asked: SwarmAsk, words: SwarmPromptText) -> str:
    state, seat = asked.state, asked.ask.seat
    invitation = find_invitation(state, seat)
    mode: CollisionMode = "review_challenge"
    if invitation is not None:
        mode = invitation.mode
    lines = [quote_lines(format_finding(each)) for each in asked.targets]
    own = _find_last_finding(state, asked)
    if own is not None:
        lines += [words.yours.format(findings=own.id), quote_lines(format_finding(own))]
    return "\n".join([*lines, words.collide.strip().format(mode=words.modes[mode])])


def _find_last_finding(state: Swarm, asked: SwarmAsk) -> Finding | None:
    """Return the newest finding of a seat, one with details before any other."""
    own = [each for each in state.board.findings[-200:] if each.seat == asked.ask.seat]
    if not own:
        return None
    return max(own, key=lambda each: (bool(each.details), each.number))


def _build_ballot(asked: SwarmAsk, words: SwarmPromptText) -> str:
    numbers = ", ".join(map(str, asked.ballot))
    request = words.ballot.strip().format(answers=numbers)
    shared_words: ParticipantPromptText = PARTICIPANT_PROMPT[asked.language]
    if asked.state.open_inputs:
        inputs = list_input_numbers(asked.state.open_inputs)
        request = f"{request}\n{shared_words.to_user.format(inputs=inputs)}"
    return request


def _ask_for_choice(state: Swarm, words: SwarmPromptText) -> str:
    """Ask a synthesis for its choice: only in the classic mode is it what was decided."""
    if state.settings.mode != "classic":
        return ""
    options = " | ".join(map(one_line, state.opened.subject.options))
    named = ""
    if options:
        named = words.choice_options.format(options=options)
    return words.final_choice.format(options=named)
