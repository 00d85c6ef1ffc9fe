"""The prompts of a deliberation: pure functions of what the seat may see.

All seats share the first part, word for word (system, question, lines); the seat's own part comes last, so that a provider's
prefix cache hits. The lines together have a bounded length, however many there are.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import lru_cache, partial
from typing import Final

from moothall.domain.answer_table import ask_person, fill_brief
from moothall.domain.context import (
    ContextWindow,
    Perception,
    Utterance,
    clip_utterance,
    extract_first_sentence,
)
from moothall.domain.dictionaries import group_pairs
from moothall.domain.effects import AnswerRules, Ask, Brief
from moothall.domain.facts import Language
from moothall.domain.ids import USER
from moothall.domain.person import PersonAsk, PersonCommand
from moothall.domain.roster import Seat
from moothall.domain.safe_text import one_line, quote_lines
from moothall.domain.topic import normalize_label
from moothall.locale.catalogues import (
    COUNCIL_PROMPT,
    COUNCIL_REPORT,
    PERSON_STEPS,
    CouncilPromptText,
)
from moothall.protocols.council.answer_table import (
    ABSTAIN,
    FORMS,
    MAX_NEWS,
    CouncilAsk,
    Row,
    build_answer_schema,
    find_fills,
)
from moothall.protocols.council.ballots import (
    find_candidate_ids,
    find_discussed_motion,
    is_by_candidates,
)
from moothall.protocols.council.motions import find_blind_positions, list_challenges
from moothall.protocols.council.state import (
    Council,
    CouncilLine,
    CouncilVariant,
    list_details,
    list_own_challenges,
)
from moothall.protocols.council.validation import (
    ContributionValidator,
    list_advice,
    normalize_contribution,
)
from moothall.reports import person_steps

MAX_TABLE_LENGTH: Final = 40_000
"""The most characters that all lines together may take."""
MAX_LINES: Final = 150
"""How many lines are shown, the newest of all."""
MAX_REFERENCES: Final = 12
MAX_OWN_LENGTH: Final = 2_000
RECENT: Final = 6


def build_answer_rules(variant: CouncilVariant, state: Council, ask: Ask) -> AnswerRules:
    asked = CouncilAsk(variant=variant, state=state, ask=ask)
    return AnswerRules(
        form=FORMS[ask.kind],
        fault=ContributionValidator(variant, state, ask.seat),
        fills=find_fills(asked),
        normalize=partial(normalize_contribution, variant, state, ask.seat),
        options=state.opened.subject.options,
        which_one=asked.which_one,
        person=partial(build_person_ask, asked),
    )


def build_brief(variant: CouncilVariant, state: Council, ask: Ask) -> Brief:
    words = COUNCIL_PROMPT[state.opened.language]
    seat = state.seat(ask.seat)
    lines = state.list_visible_lines(seat.id)
    own_words = next((line.said.text for line in reversed(state.lines) if line.seat == seat.id), "")
    # While proposals are blind, not even a similarity may depend on what others wrote.
    is_blind = state.is_sealed and state.phase == "propose"
    motion = None if is_blind else find_discussed_motion(variant, state)
    opened = state.opened
    return fill_brief(
        state,
        ask,
        build_answer_rules(variant, state, ask),
        system=words.system,
        nth=state.round,
        perception=Perception(goal=opened.topic, memory=_build_memory(lines), own_words=own_words),
        shared=build_shared_prompt(opened.language, opened.topic, opened.subject.options, lines),
        own=build_own_prompt(variant, state, seat, ask.kind),
        subject=opened.topic if motion is None else motion.said.text,
        schema=build_answer_schema(CouncilAsk(variant=variant, state=state, ask=ask)),
        hints=words.hints,
    )


@lru_cache(maxsize=32)
def build_shared_prompt(
    language: Language, topic: str, options: tuple[str, ...], lines: tuple[CouncilLine, ...]
) -> str:
    """Return what every seat reads, in the same words."""
    words = COUNCIL_PROMPT[language]
    question = f"{words.question}\n{quote_lines(topic)}"
    if options:
        question += "\n" + "\n".join([words.options, *(quote_lines(option) for option in options)])
    if not lines:
        return question
    shown = lines[-MAX_LINES:]
    # Every line gets the same room, so that one long contribution cannot push the others out.
    room = MAX_TABLE_LENGTH // len(shown)
    left_out = (
        [words.left_out.format(count=len(lines) - len(shown))] if len(lines) > len(shown) else []
    )
    return "\n\n".join(
        [
            question,
            "\n".join(
                [words.table, *left_out, *(format_line(words, line, room) for line in shown)]
            ),
        ]
    )


def format_line(words: CouncilPromptText, line: CouncilLine, room: int = MAX_TABLE_LENGTH) -> str:
    """Format a line with its number, author and kind; its text is quoted."""
    said = line.said
    marks = [f"#{line.id} {line.seat} {words.types[said.type]}"]
    if said.position is not None:
        marks.append(words.verdicts[said.position])
    if said.refers_to is not None:
        marks.append(f"{words.about} #{said.refers_to}")
    for name, lines in ((words.answers, said.answers), (words.accepts, said.accepts)):
        if lines:
            shown = " ".join(f"#{number}" for number in lines[:MAX_REFERENCES])
            more = " …" if len(lines) > MAX_REFERENCES else ""
            marks.append(f"{name} {shown}{more}")
    if said.confidence is not None:
        marks.append(f"{words.confidence} {said.confidence:.2f}")
    parts = [
        said.text,
        *(f"{label}: {one_line(text)}" for label, text in list_details(said, words.labels)),
    ]
    for vote in said.ballot:
        condition = (
            f"; {words.labels['condition']}: {one_line(vote.condition)}" if vote.condition else ""
        )
        parts.append(f"#{vote.candidate}: {words.verdicts[vote.position]}{condition}")
    text = "\n".join(part for part in parts if part)
    # Quoted before it is cut: the cut text still has a fence on each line.
    quoted = quote_lines(text)
    cut = quoted if len(quoted) <= room else f"{quoted[:room]}… {words.shortened}"
    return f"[{', '.join(marks)}]\n{cut}"


def build_own_prompt(variant: CouncilVariant, state: Council, seat: Seat, kind: str) -> str:
    """Return what only this seat reads: who it is, what is disputed, and what it is asked for."""
    words = COUNCIL_PROMPT[state.opened.language]
    phase = state.phase if kind == "free" else kind
    return "\n".join(
        [
            words.you,
            *seat.introduce(words.seat, words.instructions, words.stance),
            *_format_context(variant, state, seat, phase, words),
            "",
            words.now,
            _format_request(variant, state, seat, phase, words),
        ]
    )


def _format_context(
    variant: CouncilVariant, state: Council, seat: Seat, phase: str, words: CouncilPromptText
) -> list[str]:
    match phase:
        case "argue":
            return _format_blind_positions(state, words)
        case "synthesize":
            return [*_format_open_challenges(state, words), *_format_objections(state, words)]
        case "answer":
            return _format_open_challenges(state, words)
        case "vote":
            line = find_blind_positions(state).get(seat.id)
            lines = [
                *_format_motion(variant, state, words),
                *_format_open_challenges(state, words),
                *_format_minority(state, seat, words),
            ]
            if line is not None:
                lines += ["", words.before, format_line(words, line, MAX_OWN_LENGTH)]
            return lines
        case _:
            return []


def _format_blind_positions(state: Council, words: CouncilPromptText) -> list[str]:
    choices = group_pairs(
        (normalize_label(line.said.choice), seat)
        for seat, line in find_blind_positions(state).items()
    )
    if "" in choices or not choices:
        return []
    lines = [f"{' '.join(seats)}:\n{quote_lines(choice)}" for choice, seats in choices.items()]
    return ["", words.blind, *lines, words.agreed if len(choices) == 1 else words.disputed]


def _format_minority(state: Council, seat: Seat, words: CouncilPromptText) -> list[str]:
    """Let those be heard before the vote whose blind choice most do not share: one sentence each, the last that they said."""
    blind = find_blind_positions(state)
    choices = {name: normalize_label(line.said.choice) for name, line in blind.items()}
    counts = Counter(choices.values())
    few = {
        name for name, choice in choices.items() if choice and 2 * counts[choice] <= len(choices)
    }
    spoken = [
        line
        for line in state.list_visible_lines(seat.id)
        if line.said.type in {"propose", "support", "challenge"}
    ]
    last = {line.seat: line for line in spoken if line.seat in few}
    lines = []
    for name, line in list(last.items())[:MAX_REFERENCES]:
        said = f"{extract_first_sentence(line.said.text)}\n{words.labels['choice']}: {blind[name].said.choice}"
        lines.append(f"[#{line.id} {name}]\n{quote_lines(said)}")
    return ["", words.minority, *lines] if lines else []


def _format_motion(variant: CouncilVariant, state: Council, words: CouncilPromptText) -> list[str]:
    candidates = _list_candidate_lines(variant, state)
    if len(candidates) > 1:
        return ["", words.candidates, " ".join(f"#{line.id} ({line.seat})" for line in candidates)]
    return [
        part
        for motion in candidates
        for part in (
            "",
            words.motion.format(number=motion.id, seat=motion.seat),
            quote_lines(motion.said.text)[:MAX_TABLE_LENGTH],
        )
    ]


def _list_candidate_lines(variant: CouncilVariant, state: Council) -> list[CouncilLine]:
    if not is_by_candidates(variant, state):
        motion = find_discussed_motion(variant, state)
        return [] if motion is None else [motion]
    return state.list_lines(find_candidate_ids(variant, state))


def _format_open_challenges(state: Council, words: CouncilPromptText) -> list[str]:
    lines = [
        f"#{challenge.line.id} {challenge.line.seat}"
        for challenge in list_challenges(state)
        if challenge.state == "open"
    ]
    return ["", words.unanswered, *lines] if lines else []


def _format_objections(state: Council, words: CouncilPromptText) -> list[str]:
    votes = state.list_lines(state.votes.values())
    cast = [
        (line, {line.said.position, *(vote.position for vote in line.said.ballot)})
        for line in votes
    ]
    against = [line for line, positions in cast if positions & {"oppose", "conditional_support"}]
    if state.round == 1 or not against:
        return []
    return [
        "",
        words.objections,
        *(format_line(words, line, MAX_TABLE_LENGTH // len(against)) for line in against),
    ]


def _format_request(
    variant: CouncilVariant, state: Council, seat: Seat, phase: str, words: CouncilPromptText
) -> str:
    match phase:
        case "propose":
            return words.propose
        case "argue":
            owner = variant.owner(state.opened)
            return words.argue if owner is None else words.advise.format(owner=owner)
        case "answer":
            return words.answer.format(
                challenges=" ".join(f"#{number}" for number in list_own_challenges(state, seat.id))
            )
        case "synthesize":
            return words.synthesize
        case "decide":
            advice = [f"#{number}" for number in list_advice(state)]
            return words.decide.format(advice=" ".join(advice) or words.nothing)
        case _ if state.opened.subject.options and not seat.is_outside:
            return words.vote_choice
        case _:
            return (
                words.vote if len(_list_candidate_lines(variant, state)) < 2 else words.vote_on_each
            )


def _build_memory(lines: tuple[CouncilLine, ...]) -> ContextWindow:
    memory = ContextWindow(window=RECENT)
    for line in lines[-RECENT:]:
        memory = memory.add(
            Utterance(
                id=line.id, speaker=line.seat, text=line.said.text, refers_to=line.said.refers_to
            ),
            0.5,
        )
    return memory


def build_person_ask(asked: CouncilAsk) -> PersonAsk:
    text, news, has_options = asked.text, _build_news(asked), bool(asked.options)
    pass_command = (person_steps.offer_pass(asked.language, {"type": "pass"}),)
    resolution = (
        "type",
        *(("choice", "text") if has_options else ("text", "choice")),
        "confidence",
    )
    match asked.phase:
        case "propose":
            intro = text.blind if asked.state.is_sealed else ""
            return ask_person(
                FORMS["propose"].put_first(*resolution), asked, intro=intro, news=news
            )
        case "synthesize":
            intro, rows = (
                text.synthesize if has_options else "",
                FORMS["synthesize"].put_first(*resolution),
            )
            return ask_person(rows, asked, intro=intro, news=news, commands=pass_command)
        case "argue":
            rows = FORMS["argue"].put_first("type", "refers_to", "text")
            return ask_person(rows, asked, news=news, commands=pass_command)
        case "answer":
            about = "\n".join(
                [text.challenged, *_quote(asked, list_own_challenges(asked.state, asked.ask.seat))]
            )
            return ask_person(
                FORMS["answer"].fields, asked, about=about, news=news, commands=pass_command
            )
        case "decide":
            intro, rows = text.decide if has_options else "", FORMS["decide"].put_first(*resolution)
            return ask_person(rows, asked, intro=intro, news=news)
        case _:
            rows = [row for row in FORMS["vote"].fields if row.name != "choice"]
            approval = ask_person(
                rows,
                asked,
                about=_describe_motion(asked),
                news=news,
                commands=_offer_abstention(asked),
            )
            if not has_options:
                return approval
            # A command, not a choice: "I choose Postgres" must not be weighed against a word for no side.
            abstain = PersonCommand(
                word="/abstain",
                text=PERSON_STEPS[asked.language].verdicts[ABSTAIN],
                answer={"type": "vote", "choice": ABSTAIN},
                words=(ABSTAIN, "弃权"),
            )
            chosen = ask_person(
                _list_choice_rows(), asked, about=approval.about, news=news, commands=(abstain,)
            )
            # Whoever writes "yes, if we have backups" means the motion, and is understood.
            return replace(chosen, otherwise=approval)


def _offer_abstention(asked: CouncilAsk) -> tuple[PersonCommand, ...]:
    """Return the command that abstains from each of several resolutions; of one motion abstaining is a position."""
    if not asked.candidates:
        return ()
    ballot = [{"candidate": number, "position": ABSTAIN} for number in asked.candidates]
    return (person_steps.offer_abstention(asked.language, {"type": "vote", "ballot": ballot}),)


def _list_choice_rows() -> list[Row]:
    """Return the fields of a vote for an option: one question covers the choice, its condition and the reason."""
    rows = FORMS["vote"].pick_fields(
        "type", "choice", "confidence", "text", "condition", "moved_by"
    )
    asked_before = {"confidence": None, "condition": None}
    return [
        replace(row, when=lambda _: True, ask=asked_before.get(row.name, row.ask)) for row in rows
    ]


def _describe_motion(asked: CouncilAsk) -> str:
    if asked.candidates:
        return "\n".join(_quote(asked, asked.candidates))
    motion = find_discussed_motion(asked.variant, asked.state)
    if motion is None:
        return ""
    return f"{asked.text.motion.format(number=motion.id, seat=motion.seat)}\n{quote_lines(motion.said.text)}"


def _quote(asked: CouncilAsk, numbers: Sequence[int]) -> list[str]:
    return [
        f"#{line.id} {line.seat}:\n{quote_lines(line.said.text)}"
        for line in asked.list_lines(numbers)
    ]


def _build_news(asked: CouncilAsk) -> tuple[Utterance, ...]:
    """Return the latest lines that the seat may read; while proposals are blind, only its own and the user's."""
    words = COUNCIL_REPORT[asked.language]
    return tuple(
        clip_utterance(
            Utterance(
                id=line.id, speaker=line.seat, text=_format_line(words.types, words.verdicts, line)
            )
        )
        for line in asked.visible[-MAX_NEWS:]
    )


def _format_line(types: Mapping[str, str], verdicts: Mapping[str, str], line: CouncilLine) -> str:
    said = line.said
    what = types[said.type] if said.position is None else verdicts[said.position]
    about = f" #{said.refers_to}" if said.refers_to else ""
    choice = f" ({said.choice})" if said.choice else ""
    text = said.text or said.condition
    # The user's input is stored as a pass with a text: it is neither a proposal nor a vote.
    return said.text if line.seat == USER else f"{what}{about}{choice}: {text}"
