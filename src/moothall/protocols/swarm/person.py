"""What a person is asked in a swarm: ideas, a word on somebody else's finding, checks, votes. Figures are filled in by code."""

import re
from collections.abc import Mapping
from dataclasses import asdict
from functools import partial
from typing import Final, get_args

from moothall.domain.context import Utterance, extract_first_sentence
from moothall.domain.effects import Ask
from moothall.domain.person import CONDITION, WHY, Answers, PersonAsk, PersonChoice, PersonStep, build_key
from moothall.domain.safe_text import one_line, quote_lines
from moothall.locale.catalogues import PERSON_STEPS, SWARM_PERSON, SwarmPersonText
from moothall.protocols.swarm.answer_schemas import build_decision_report
from moothall.protocols.swarm.answers import MOST_FINDINGS, CheckVerdict
from moothall.protocols.swarm.rules.collisions import find_invitation
from moothall.protocols.swarm.rules.evidence import list_rated_directions
from moothall.protocols.swarm.rules.shutdown import list_ballot_ideas
from moothall.protocols.swarm.state import Agent, Finding, Swarm
from moothall.reports.person_steps import (
    POSITION,
    ask_confidence,
    ask_position,
    compute_confidence,
    join_long_choice,
    offer_choice,
    offer_pass,
    read_choice,
)
from moothall.scoring.positions import VotePosition

WORDS: Final = "words"
HOLDS: Final = "holds"
DIRECTION: Final = "direction"
TARGET: Final = "target"
RATING: Final = "rating"
LONGEST_IDEA: Final = 500
LONGEST_TEXT: Final = 4_000
MOST_NEWS: Final = 16
MOST_IDEAS: Final = 24

_NUMBER = re.compile(r"\d{1,9}")


def build_person_ask(state: Swarm, ask: Ask) -> PersonAsk:
    """Build what a person is asked."""
    language = state.opened.language
    words = SWARM_PERSON[language]
    news = tuple(
        Utterance(id=each.number, speaker=each.seat, text=_describe_finding(each)) for each in state.board.findings[-MOST_NEWS:]
    )
    match ask.kind:
        case "collide":
            return _build_collision_ask(state, ask, words)
        case "validate":
            return _build_check_ask(state, words)
        case "ballot":
            return _build_ballot_ask(state, ask, words)
        case "synthesis":
            step = PersonStep(name=WORDS, text=words.synthesis, is_needed=True, is_long=True)
            if state.settings.mode != "classic":
                return PersonAsk(steps=(step,), news=news, build=lambda answers: {"content": answers[WORDS]})
            choice = offer_choice(language, state.opened.subject.options)
            return PersonAsk(steps=(step, choice), news=news, build=_build_synthesis)
        case "shutdown":
            # The end of the run needs no word of a person.
            return PersonAsk(build=lambda answers: {"acknowledged": True})
        case _:
            return _build_explore_ask(state, state.agents[ask.seat], words, news)


def _build_synthesis(answers: Answers) -> Mapping[str, object]:
    # In the form in which everybody says it: the text is the whole answer.
    words, choice = join_long_choice(answers[WORDS], answers), read_choice(answers)
    return {"content": f"{words}\n\n[CHOICE] {choice}" if choice else words}


def _describe_finding(finding: Finding) -> str:
    return f"{finding.core_idea}\n{finding.details}" if finding.details else finding.core_idea


def _build_explore_ask(state: Swarm, agent: Agent, words: SwarmPersonText, news: tuple[Utterance, ...]) -> PersonAsk:
    order = state.orders[agent.seat]
    orders = [words.classic.format(perspective=order.perspective)] if order.perspective else []
    orders += [words.random] if order.random else [words.switch] if order.must_switch else []
    orders += [part for text in state.inputs for part in (words.inputs, quote_lines(text))]
    held = {number for each in state.agents.values() for number in each.holds}
    shown = {number: idea.text for number in sorted(held)[-MOST_IDEAS:] if (idea := state.board.idea(number)) is not None}
    steps = [PersonStep(name=WORDS, text=words.explore, is_long=True)]
    if shown:
        orders += [words.ideas, *(quote_lines(f"{number}. {one_line(text)}") for number, text in shown.items())]
        steps.append(PersonStep(name=HOLDS, text=words.holds, kind="numbers", numbers=frozenset(shown)))
    usual = agent.direction if agent.direction and not order.must_switch and not order.random else order.recommended
    usual = usual or order.perspective or extract_first_sentence(state.opened.topic)
    steps.append(PersonStep(name=DIRECTION, text=words.direction.format(usual=usual)))
    if state.round == 1:
        steps.append(offer_choice(state.opened.language, state.opened.subject.options))
    build = partial(_build_report, state, agent, words, usual)
    return PersonAsk(steps=tuple(steps), about="\n".join(orders), news=news, build=build)


def _build_report(state: Swarm, agent: Agent, words: SwarmPersonText, usual: str, answers: Answers) -> Mapping[str, object]:
    new = [line.strip() for line in join_long_choice(answers.get(WORDS, ""), answers).splitlines() if line.strip()]
    named = [int(number) for number in _NUMBER.findall(answers.get(HOLDS, ""))] or list(agent.holds)
    kept = [idea.text for number in named if (idea := state.board.idea(number)) is not None]
    direction = one_line(answers.get(DIRECTION, "") or usual)[:LONGEST_IDEA]
    order = state.orders[agent.seat]
    return {
        "direction": direction,
        "findings": [_build_finding(text, order.perspective) for text in dict.fromkeys((*new, *kept))][:MOST_FINDINGS],
        "decision_report": asdict(build_decision_report(state, agent, direction, words.reason)),
        "conflict_review": {"conflicts_found": 0},
        "random_explore_forced": order.random,
        "choice": read_choice(answers),
    }


def _build_finding(text: str, perspective: str) -> Mapping[str, object]:
    # An idea of many words is named by its first sentence, and all of its words stay with it.
    if len(text) <= LONGEST_IDEA:
        return {"core_idea": text, "perspective": perspective[:100]}
    return {"core_idea": extract_first_sentence(text), "details": text[:LONGEST_TEXT], "perspective": perspective[:100]}


def _build_collision_ask(state: Swarm, ask: Ask, words: SwarmPersonText) -> PersonAsk:
    invitation = find_invitation(state, ask.seat)
    targets = [state.board.findings[number - 1] for number in (invitation.targets if invitation is not None else ())]
    usual = targets[0].number if targets else 0
    lines = [quote_lines(f"{each.number}. {each.seat}: {_describe_finding(each)}") for each in targets]
    choices = tuple(PersonChoice(value=value, text=text) for value, text in words.actions.items())
    steps = [PersonStep(name=POSITION, text=words.collide, choices=choices, kind="position", is_needed=True)]
    if len(targets) > 1:
        which = words.which.format(number=usual)
        numbers = frozenset(each.number for each in targets)
        steps.append(PersonStep(name=TARGET, text=which, kind="reference", numbers=numbers))
    steps.append(PersonStep(name=WORDS, text=words.say, is_needed=True, is_long=True))

    def build(answers: Answers) -> Mapping[str, object]:
        number = int(answers.get(TARGET) or usual)
        target = state.board.findings[number - 1].id if number else ""
        return {"action": answers[POSITION], "target_finding_id": target, "content": answers[WORDS][:LONGEST_TEXT]}

    return PersonAsk(
        steps=tuple(steps),
        about="\n".join([words.findings, *lines]),
        build=build,
        commands=(offer_pass(state.opened.language, {"action": "pass"}),),
    )


def _build_check_ask(state: Swarm, words: SwarmPersonText) -> PersonAsk:
    why = PERSON_STEPS[state.opened.language].why
    findings = [state.board.findings[number - 1] for number in state.review.to_check]
    choices = tuple(PersonChoice(value=verdict, text=words.verdicts[verdict]) for verdict in get_args(CheckVerdict))
    steps: list[PersonStep] = []
    for each in findings:
        group = str(each.number)
        text = words.check.format(seat=each.seat, text=one_line(each.core_idea))
        steps.append(PersonStep(name=POSITION, text=text, choices=choices, kind="position", is_needed=True, group=group))
        steps.append(PersonStep(name=WHY, text=why, group=group))

    def build(answers: Answers) -> Mapping[str, object]:
        verdicts = [
            {
                "finding": each.id,
                "verdict": answers[build_key(POSITION, str(each.number))],
                "reason": answers.get(build_key(WHY, str(each.number)), "")[:LONGEST_TEXT],
            }
            for each in findings
        ]
        return {"verdicts": verdicts}

    return PersonAsk(steps=tuple(steps), build=build)


def _build_ballot_ask(state: Swarm, ask: Ask, words: SwarmPersonText) -> PersonAsk:
    language = state.opened.language
    read = list_rated_directions(state, ask.seat) if state.by_evidence else {}
    rates = tuple(PersonChoice(value=value, text=text) for value, text in words.rates.items())
    rating = [
        PersonStep(name=RATING, text=words.rate.format(text=direction), choices=rates, kind="option", group=str(number))
        for number, direction in read.items()
    ]
    ideas = [idea for number in list_ballot_ideas(state) if (idea := state.board.idea(number)) is not None]
    steps = [
        step
        for idea in ideas
        for step in ask_position(
            language,
            get_args(VotePosition),
            text=words.vote.format(number=idea.number, text=one_line(idea.text)),
            group=str(idea.number),
        )
    ]

    def build(answers: Answers) -> Mapping[str, object]:
        confidence = compute_confidence(answers)
        votes = []
        for idea in ideas:
            group = str(idea.number)
            reasons = [answers.get(build_key(name, group), "") for name in (CONDITION, WHY)]
            reason = "\n".join(part for part in reasons if part)[:LONGEST_TEXT]
            position = answers[build_key(POSITION, group)]
            votes.append({"idea": idea.number, "position": position, "confidence": confidence, "reason": reason})
        rated = {number: answers.get(build_key(RATING, str(number))) for number in read}
        ratings = [{"direction": number, "rating": float(value)} for number, value in rated.items() if value]
        return {"votes": votes, "ratings": ratings} if read else {"votes": votes}

    return PersonAsk(steps=(*rating, *steps, ask_confidence(language)) if steps else tuple(rating), build=build)
