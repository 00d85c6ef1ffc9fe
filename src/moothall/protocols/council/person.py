"""What a person is asked in a deliberation: to propose, to argue, to write the resolution, to decide, to vote."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Final, get_args

from moothall.domain.context import Utterance, clip_utterance, extract_first_sentence
from moothall.domain.effects import Ask
from moothall.domain.ids import USER, SeatId
from moothall.domain.person import CONDITION, WHY, Answers, PersonAsk, PersonChoice, PersonStep, build_key
from moothall.domain.safe_text import quote_lines
from moothall.locale.catalogues import COUNCIL_PERSON, COUNCIL_REPORT, PERSON_STEPS, CouncilPersonText
from moothall.protocols.council.ballots import find_candidate_ids, find_discussed_motion, is_by_candidates
from moothall.protocols.council.facts import AdviceOutcome
from moothall.protocols.council.motions import find_blind_positions
from moothall.protocols.council.state import Council, CouncilLine, Course, list_own_challenges
from moothall.reports.person_steps import (
    POSITION,
    ask_choice,
    ask_confidence,
    ask_moved_by,
    ask_position,
    compute_confidence,
    join_long_choice,
    offer_pass,
    read_choice,
    read_moved_by,
)
from moothall.scoring.positions import VotePosition

WORDS: Final = "words"
REFERS_TO: Final = "refers_to"
LONGEST_LINE: Final = 2_000
MOST_NEWS: Final = 40


def build_person_ask(course: Course, state: Council, ask: Ask) -> PersonAsk:
    """Build what a person is asked. Unprompted, it is what the phase asks for."""
    language, options = state.opened.language, state.opened.subject.options
    words = COUNCIL_PERSON[language]
    news = _build_news(state, ask.seat)
    sure, choice, why = ask_confidence(language), ask_choice(language, options), PERSON_STEPS[language].why
    match state.phase if ask.kind == "free" else ask.kind:
        case "propose":
            steps = _ask_resolution(words.propose, choice, why)
            return PersonAsk(
                steps=(*steps, sure),
                intro=words.blind if state.is_sealed else "",
                news=news,
                build=lambda answers: _build_line("propose", answers),
            )
        case "synthesize":
            commands = (offer_pass(language, {"type": "pass"}),)
            steps = _ask_resolution(words.synthesize, choice, words.say_it)
            return PersonAsk(
                steps=(*steps, sure),
                intro=words.synthesize if options else "",
                news=news,
                build=lambda answers: _build_line("synthesize", answers),
                commands=commands,
            )
        case "argue":
            return _build_argue_ask(course, state, ask, words, news)
        case "answer":
            return _build_answer_ask(state, ask, words, news)
        case "decide":
            advice = _list_advice(state)
            taken = [step for line in advice for step in _ask_advice(state, words, line)]
            return PersonAsk(
                intro=words.decide if options else "",
                steps=(*_ask_resolution(words.decide, choice, words.say_it), sure, *taken),
                news=news,
                build=lambda answers: {**_build_line("synthesize", answers), "taken": _build_taken(advice, answers)},
            )
        case _:
            return _build_vote_ask(course, state, ask, words, news)


def _ask_resolution(text: str, choice: PersonStep, why: str) -> tuple[PersonStep, ...]:
    """Return the questions after a text and its answer in short; where there are options, the choice comes first."""
    if not choice.choices:
        return (PersonStep(name=WORDS, text=text, is_needed=True, is_long=True), choice)
    return (choice, PersonStep(name=WORDS, text=why, is_long=True))


def _build_line(kind: str, answers: Answers) -> dict[str, object]:
    choice = read_choice(answers)
    return {
        "type": kind,
        "text": join_long_choice(answers.get(WORDS, ""), answers) or choice,
        "choice": choice,
        "confidence": compute_confidence(answers),
    }


def _build_argue_ask(
    course: Course, state: Council, ask: Ask, words: CouncilPersonText, news: tuple[Utterance, ...]
) -> PersonAsk:
    owner, motion = course.owner(state.opened), find_discussed_motion(course, state)
    text = words.argue if owner is None else words.advise.format(owner=owner)
    sides = tuple(PersonChoice(value=side, text=text) for side, text in words.sides.items())
    steps = [PersonStep(name=POSITION, text=text, choices=sides, kind="position", is_needed=True)]
    if motion is not None:
        which = words.which.format(number=motion.id, seat=motion.seat)
        steps.append(PersonStep(name=REFERS_TO, text=which, kind="reference", numbers=range(1, state.last_id + 1)))
    steps.append(PersonStep(name=WORDS, text=words.say, is_needed=True, is_long=True))
    usual = None if motion is None else motion.id

    def build(answers: Answers) -> Mapping[str, object]:
        about = int(answers[REFERS_TO]) if answers.get(REFERS_TO) else usual
        return {
            "type": answers[POSITION],
            "refers_to": about,
            "text": answers[WORDS],
            "confidence": compute_confidence(answers),
        }

    return PersonAsk(steps=tuple(steps), news=news, build=build, commands=(offer_pass(state.opened.language, {"type": "pass"}),))


def _build_answer_ask(state: Council, ask: Ask, words: CouncilPersonText, news: tuple[Utterance, ...]) -> PersonAsk:
    """Build the ask of one who was challenged: what it answers to all of it, and whether it gives way to each."""
    raised = [line for number in list_own_challenges(state, ask.seat) if (line := state.line(number)) is not None]
    about = "\n".join([words.challenged, *(f"#{line.id} {line.seat}:\n{quote_lines(line.said.text)}" for line in raised)])
    choices = tuple(PersonChoice(value=value, text=text) for value, text in words.ways.items())
    steps = [
        PersonStep(
            name=POSITION,
            text=f"#{line.id}: {words.gives_way}",
            choices=choices,
            kind="position",
            is_needed=True,
            group=str(line.id),
        )
        for line in raised
    ]

    def build(answers: Answers) -> Mapping[str, object]:
        accepts = [line.id for line in raised if answers[build_key(POSITION, str(line.id))] == "yes"]
        rest = [line.id for line in raised if line.id not in accepts]
        return {"type": "support", "text": answers[WORDS], "answers": rest, "accepts": accepts}

    words_step = PersonStep(name=WORDS, text=words.answer, is_needed=True, is_long=True)
    pass_command = offer_pass(state.opened.language, {"type": "pass"})
    return PersonAsk(steps=(words_step, *steps), about=about, news=news, build=build, commands=(pass_command,))


def _list_advice(state: Council) -> tuple[CouncilLine, ...]:
    return tuple(
        line for line in state.lines if line.phase == "argue" and line.seat != USER and line.said.type in {"support", "challenge"}
    )


def _ask_advice(state: Council, words: CouncilPersonText, line: CouncilLine) -> tuple[PersonStep, ...]:
    group = str(line.id)
    text = words.advice.format(seat=line.seat, number=line.id, text=extract_first_sentence(line.said.text))
    choices = tuple(PersonChoice(value=how, text=words.outcomes[how]) for how in get_args(AdviceOutcome))
    return (
        PersonStep(name=POSITION, text=text, choices=choices, kind="position", is_needed=True, group=group),
        PersonStep(name=WHY, text=PERSON_STEPS[state.opened.language].why, group=group),
    )


def _build_taken(advice: tuple[CouncilLine, ...], answers: Answers) -> list[Mapping[str, object]]:
    return [
        {
            "entry": line.id,
            "how": answers[build_key(POSITION, str(line.id))],
            "why": answers.get(build_key(WHY, str(line.id)), "")[:LONGEST_LINE],
        }
        for line in advice
    ]


def _build_vote_ask(course: Course, state: Council, ask: Ask, words: CouncilPersonText, news: tuple[Utterance, ...]) -> PersonAsk:
    language = state.opened.language
    candidates = find_candidate_ids(course, state) if is_by_candidates(course, state) else ()
    if len(candidates) > 1:
        return _build_ballot_ask(state, ask, words, news, candidates)
    motion = find_discussed_motion(course, state)
    about = ""
    if motion is not None:
        about = f"{words.motion.format(number=motion.id, seat=motion.seat)}\n{quote_lines(motion.said.text)}"
    positions = get_args(VotePosition)
    sides = tuple(position for position in positions if position != "abstain")
    others = frozenset(line.id for line in state.lines if line.seat != ask.seat)
    steps = (
        *ask_position(language, positions, text=words.vote),
        ask_confidence(language, only_after=(POSITION, sides)),
        # Only a mind that was made up before can have been changed.
        *([ask_moved_by(language, others)] if ask.seat in find_blind_positions(state) and others else []),
    )
    return PersonAsk(steps=steps, about=about, news=news, build=_build_vote)


def _build_ballot_ask(
    state: Council, ask: Ask, words: CouncilPersonText, news: tuple[Utterance, ...], candidates: Sequence[int]
) -> PersonAsk:
    """Build the ask for a position on each of several resolutions."""
    language = state.opened.language
    lines = [line for number in candidates if (line := state.line(number)) is not None]
    about = "\n".join(f"#{line.id} {line.seat}:\n{quote_lines(line.said.text)}" for line in lines)
    others = frozenset(line.id for line in state.list_visible_lines(ask.seat) if line.seat != ask.seat)
    steps = [
        replace(step, is_needed=step.is_needed and step.name != POSITION)
        for line in lines
        for step in ask_position(
            language,
            get_args(VotePosition),
            text=words.vote_on.format(number=line.id, seat=line.seat, text=extract_first_sentence(line.said.text)),
            group=str(line.id),
        )
        if step.name != WHY
    ]
    steps += [PersonStep(name=WHY, text=PERSON_STEPS[language].why, is_long=True), ask_confidence(language)]
    steps += [ask_moved_by(language, others)] if ask.seat in find_blind_positions(state) and others else []

    def build(answers: Answers) -> Mapping[str, object]:
        ballot = [
            {
                "candidate": line.id,
                "position": answers.get(build_key(POSITION, str(line.id))) or "abstain",
                "condition": answers.get(build_key(CONDITION, str(line.id)), "")[:LONGEST_LINE],
            }
            for line in lines
        ]
        return {
            "type": "vote",
            "ballot": ballot,
            "confidence": compute_confidence(answers),
            "text": answers.get(WHY, ""),
            "moved_by": read_moved_by(answers),
        }

    return PersonAsk(steps=tuple(steps), about=about, news=news, build=build)


def _build_vote(answers: Answers) -> Mapping[str, object]:
    return {
        "type": "vote",
        "position": answers[POSITION],
        "confidence": compute_confidence(answers),
        "text": answers.get(WHY, ""),
        "condition": answers.get(CONDITION, "")[:LONGEST_LINE],
        "moved_by": read_moved_by(answers),
    }


def _build_news(state: Council, seat: SeatId) -> tuple[Utterance, ...]:
    """Return the latest lines that the seat may read; while proposals are blind, only its own and the user's."""
    visible = state.list_visible_lines(seat)[-MOST_NEWS:]
    words = COUNCIL_REPORT[state.opened.language]
    return tuple(
        clip_utterance(Utterance(id=line.id, speaker=line.seat, text=_format_line(words.types, words.verdicts, line)))
        for line in visible
    )


def _format_line(types: Mapping[str, str], verdicts: Mapping[str, str], line: CouncilLine) -> str:
    said = line.said
    what = types[said.type] if said.position is None else verdicts[said.position]
    about = f" #{said.refers_to}" if said.refers_to else ""
    choice = f" ({said.choice})" if said.choice else ""
    text = said.text or said.condition
    # The user's input is stored as a pass with a text: it is neither a proposal nor a vote.
    return said.text if line.seat == USER else f"{what}{about}{choice}: {text}"
