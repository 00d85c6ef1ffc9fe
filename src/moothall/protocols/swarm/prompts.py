"""What the seats of a swarm are sent, and how their answers are read: pure functions of what the seat may see.

A seat that Moot asks itself gets a plain question (`plain_asks`), an agent from outside the messages of the protocol's source
(`round_message`).
"""

from collections.abc import Mapping
from dataclasses import replace
from functools import partial
from typing import Final

from moothall.domain.answer_table import fill_brief, read_two_sides
from moothall.domain.claims import cut_text
from moothall.domain.context import ContextWindow, Perception, Utterance
from moothall.domain.effects import AnswerRules, Ask, Brief, Normalized
from moothall.domain.frame import settle_own_choice
from moothall.domain.ids import SeatId
from moothall.domain.session_state import JUDGE_ASK
from moothall.domain.vocabulary import PATTERNS, is_pass_text
from moothall.locale.catalogues import SWARM_MESSAGE
from moothall.protocols.answer_judge import build_judge_brief
from moothall.protocols.facts_first import build_facts_brief, build_facts_rules, is_facts_ask
from moothall.protocols.swarm.answer_table import (
    FORMS,
    SwarmAsk,
    build_answer_schema,
    build_person_ask,
    build_wider_schema,
)
from moothall.protocols.swarm.answers import (
    MAX_DIRECTION_LENGTH,
    Collision,
    RoundReport,
    SwarmBallot,
    Synthesis,
)
from moothall.protocols.swarm.facts import CollisionMode, RoundOrder
from moothall.protocols.swarm.findings_table import MAX_FINDINGS, format_details, quote_question
from moothall.protocols.swarm.plain_asks import build_own_ask, build_shared_ask
from moothall.protocols.swarm.round_message import (
    build_collision_message,
    build_round_message,
    build_shared_message,
)
from moothall.protocols.swarm.rules.endings import find_ballot_fault, read_synthesis_choice
from moothall.protocols.swarm.rules.plain_report import complete_report, is_asked_plainly
from moothall.protocols.swarm.rules.review import (
    build_comparison,
    find_invitation,
    list_wanted_pairs,
)
from moothall.protocols.swarm.state import Agent, Swarm
from moothall.reading.answers import is_pass

MESSAGES: Final = frozenset({"explore", "collide", "shutdown"})
"""The asks for which the source has a message of its own."""
_SIDES: Final[Mapping[str, tuple[tuple[str, str, str, str | None], ...]]] = {
    "ballot": (("votes", "answer", "position", "abstain"), ("votes", "answer", "rating", None)),
    "validate": (("verdicts", "finding", "verdict", "unclear"),),
}
"""Where an answer can take two sides: its list, what an item is about, the side, and what stands for none."""


def build_answer_rules(state: Swarm, ask: Ask) -> AnswerRules:
    if is_facts_ask(ask.id):
        return build_facts_rules(state, ask)
    if ask.kind == JUDGE_ASK:
        # A person who judges is asked by the shape of the answer, which the brief narrows.
        return _build_judge_brief(state, ask)
    return _build_rules(state, ask)


def _build_judge_brief(state: Swarm, ask: Ask) -> Brief:
    details: dict[str, str] = {}
    for finding in state.board.findings:
        details.setdefault(finding.core_idea, format_details(finding.details))
    return build_judge_brief(state, ask, list_wanted_pairs(state), "ideas", details)


def _build_rules(state: Swarm, ask: Ask) -> AnswerRules:
    form, asked = FORMS[ask.kind], SwarmAsk(state=state, ask=ask)
    person = None
    if ask.kind != "compare":
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
    if is_facts_ask(ask.id):
        return build_facts_brief(state, ask, quote_question(state))
    if ask.kind == JUDGE_ASK:
        return _build_judge_brief(state, ask)
    agent = state.agents.get(ask.seat)
    rules, nth = _build_rules(state, ask), _count_ask(state, ask, agent)
    if ask.kind == "compare":
        # The subject alone: nobody reads a prompt.
        topic, texts = state.opened.topic, build_comparison(state)
        return fill_brief(state, ask, rules, nth=nth, shared="", own="", subject=topic, chore=texts)
    asked = SwarmAsk(state=state, ask=ask)
    perception = Perception(
        goal=state.opened.topic,
        memory=_build_memory(state),
        own_words=_find_last_words(state, ask.seat),
    )
    hints: Mapping[str, str] = {}
    if ask.kind in MESSAGES and (asked.is_outside or ask.kind == "shutdown"):
        shared, own = build_shared_message(state), _build_message(asked)
        hints = SWARM_MESSAGE[state.opened.language].hints
    else:
        shared, own = build_shared_ask(state, ask.kind), build_own_ask(asked)
    return fill_brief(
        state,
        ask,
        rules,
        nth=nth,
        perception=perception,
        shared=shared,
        own=own,
        subject=state.opened.topic,
        schema=build_answer_schema(asked),
        reads=build_wider_schema(asked),
        hints=hints,
        explains_fields=not hints,
    )


def _build_message(asked: SwarmAsk) -> str:
    """Return the message of the source that an agent from outside is sent."""
    state, kind = asked.state, asked.ask.kind
    match kind:
        case "shutdown":
            return SWARM_MESSAGE[asked.language].shutdown
        case "collide":
            invitation = find_invitation(state, asked.ask.seat)
            mode: CollisionMode = "review_challenge"
            if invitation is not None:
                mode = invitation.mode
            return build_collision_message(state, asked.agent, mode, asked.targets)
        case _:
            return build_round_message(state, asked.agent)


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
    """Fill in the direction that a report leaves out; what an agent sent stands, and is checked (S-21)."""
    agent = state.agents.get(ask.seat)
    if not isinstance(said, RoundReport) or agent is None:
        return said, ()
    said = settle_own_choice(said)
    nothing = [each.core_idea for each in said.findings if _says_nothing(each.core_idea)]
    findings = tuple(each for each in said.findings if each.core_idea not in nothing)
    # Only Moot says what it made.
    operations = tuple(replace(each, by_moot=False) for each in said.operations)
    said = replace(said, findings=findings, operations=operations)
    if is_asked_plainly(state, ask.seat):
        said = complete_report(state, ask.seat, said)
    named = ""
    if said.direction not in nothing:
        named = said.direction.strip()
    direction = named or _find_direction(state.orders[agent.seat], agent, said)
    notes = [f"left_out findings {text!r}" for text in nothing]
    if direction and not named:
        notes.append(f"filled direction {direction!r}")
    return replace(said, direction=direction), tuple(notes)


def _find_direction(order: RoundOrder, agent: Agent, said: RoundReport) -> str:
    """Return where a seat looked that does not name it: what it was given, else where it was before, else its first finding."""
    first = ""
    if said.findings:
        first = cut_text(said.findings[0].core_idea, MAX_DIRECTION_LENGTH)
    if order.is_new and first:
        return first
    return order.given or agent.direction or order.recommended or order.perspective or first


def _says_nothing(text: str) -> bool:
    return PATTERNS["nothing"].fullmatch(text) is not None or is_pass(text) or is_pass_text(text)


def _count_ask(state: Swarm, ask: Ask, agent: Agent | None) -> int:
    if ask.kind == "explore" and agent is not None:
        return agent.asked + 1
    if ask.kind in {"collide", "validate", "compare"}:
        return max(1, state.round)
    return 1
