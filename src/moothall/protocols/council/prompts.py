"""The prompts of a deliberation: pure functions of what the seat may see.

All seats share the first part, word for word (system, question, lines); the seat's own part comes last, so that a provider's
prefix cache hits. The lines together have a bounded length, however many there are.
"""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
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
from moothall.domain.ids import USER, SeatId
from moothall.domain.person import PersonAsk, PersonCommand
from moothall.domain.roster import Seat
from moothall.domain.safe_text import one_line, quote_lines, quote_user
from moothall.domain.session_state import JUDGE_ASK
from moothall.domain.topic import list_input_numbers
from moothall.locale.catalogues import (
    COUNCIL_PROMPT,
    COUNCIL_REPORT,
    PERSON_STEPS,
    CouncilPromptText,
)
from moothall.protocols.answer_judge import build_judge_brief
from moothall.protocols.council.answer_table import (
    FORMS,
    MAX_NEWS,
    CouncilAsk,
    Row,
    build_answer_schema,
    find_fills,
)
from moothall.protocols.council.ballots import (
    ABSTAIN,
    find_candidate_ids,
    find_discussed_motion,
    is_by_candidates,
)
from moothall.protocols.council.motions import find_blind_positions, find_label, list_challenges
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
    if ask.kind == JUDGE_ASK:
        # A person who judges is asked by the shape of the answer, which the brief narrows.
        return build_judge_brief(state, ask, state.open_answers)
    asked = CouncilAsk(variant=variant, state=state, ask=ask)
    return AnswerRules(
        form=FORMS[ask.kind],
        fault=ContributionValidator(variant, state, ask.seat),
        fills=find_fills(asked),
        normalize=partial(normalize_contribution, variant, state, ask.seat),
        options=state.opened.subject.options,
        is_open=asked.is_open,
        alternatives=asked.alternatives,
        person=partial(build_person_ask, asked),
    )


def build_brief(variant: CouncilVariant, state: Council, ask: Ask) -> Brief:
    if ask.kind == JUDGE_ASK:
        return build_judge_brief(state, ask, state.open_answers)
    words = COUNCIL_PROMPT[state.opened.language]
    seat = state.seat(ask.seat)
    lines = state.list_visible_lines(seat.id)
    own_words = _find_last_words(state, seat.id)
    opened = state.opened
    return fill_brief(
        state,
        ask,
        build_answer_rules(variant, state, ask),
        nth=state.round,
        perception=Perception(goal=opened.topic, memory=_build_memory(lines), own_words=own_words),
        shared=build_shared_prompt(opened.language, opened.topic, opened.subject.options, lines),
        own=build_own_prompt(variant, state, seat, ask.kind),
        subject=_find_subject(variant, state),
        schema=build_answer_schema(CouncilAsk(variant=variant, state=state, ask=ask)),
        hints=words.hints,
    )


def _find_last_words(state: Council, seat: SeatId) -> str:
    for line in reversed(state.lines):
        if line.seat == seat:
            return line.said.text
    return ""


def _find_subject(variant: CouncilVariant, state: Council) -> str:
    """Return the text that an answer is about: the motion, else the question."""
    # While proposals are blind, not even a similarity may depend on what others wrote.
    is_blind = state.is_sealed and state.phase == "propose"
    if is_blind:
        return state.opened.topic
    motion = find_discussed_motion(variant, state)
    if motion is None:
        return state.opened.topic
    return motion.said.text


@lru_cache(maxsize=32)
def build_shared_prompt(
    language: Language, topic: str, options: tuple[str, ...], lines: tuple[CouncilLine, ...]
) -> str:
    """Return what every seat reads, in the same words."""
    words = COUNCIL_PROMPT[language]
    question = f"{words.question}\n{quote_user(topic)}"
    if options:
        question += "\n" + "\n".join([words.options, *(quote_user(option) for option in options)])
    if not lines:
        return question
    shown = lines[-MAX_LINES:]
    # Every line gets the same room, so that one long contribution cannot push the others out.
    room = MAX_TABLE_LENGTH // len(shown)
    table = [words.table]
    if len(lines) > len(shown):
        table.append(words.left_out.format(count=len(lines) - len(shown)))
    for line in shown:
        table.append(format_line(words, line, room))
    return "\n\n".join([question, "\n".join(table)])


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
            marks.append(f"{name} {_format_references(lines)}")
    if said.confidence is not None:
        marks.append(f"{words.confidence} {said.confidence:.2f}")
    parts: list[str] = []
    if said.text:
        parts.append(said.text)
    for label, text in list_details(said, words.labels):
        parts.append(f"{label}: {one_line(text)}")
    for vote in said.ballot:
        part = f"#{vote.candidate}: {words.verdicts[vote.position]}"
        if vote.condition:
            part += f"; {words.labels['condition']}: {one_line(vote.condition)}"
        parts.append(part)
    # Quoted before it is cut: the cut text still has a mark on each line.
    quote = quote_user if line.seat == USER else quote_lines
    quoted = quote("\n".join(parts))
    if len(quoted) > room:
        quoted = f"{quoted[:room]}… {words.shortened}"
    return f"[{', '.join(marks)}]\n{quoted}"


def _format_references(numbers: Sequence[int]) -> str:
    """Format numbers of lines, the first of them where there are many."""
    shown = _format_numbers(numbers[:MAX_REFERENCES])
    if len(numbers) > MAX_REFERENCES:
        shown += " …"
    return shown


def _format_numbers(numbers: Iterable[int]) -> str:
    return " ".join(f"#{number}" for number in numbers)


def build_own_prompt(variant: CouncilVariant, state: Council, seat: Seat, kind: str) -> str:
    """Return what only this seat reads: who it is, what is disputed, and what it is asked for."""
    words = COUNCIL_PROMPT[state.opened.language]
    phase = kind
    if kind == "free":
        phase = state.phase
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
            return [
                *_format_named_answers(state, words),
                *_format_open_challenges(state, words),
                *_format_objections(state, words),
            ]
        case "decide":
            return _format_named_answers(state, words)
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


def _format_named_answers(state: Council, words: CouncilPromptText) -> list[str]:
    """List the blind answers for who writes what is decided, so that one answer keeps one name (Q-3)."""
    choices = _group_blind_choices(state)
    if state.opened.subject.options or not choices:
        return []
    return ["", words.blind, *_list_choices(state, choices)]


def _group_blind_choices(state: Council) -> Mapping[str, list[SeatId]]:
    """Return who gave each answer blind; nothing where a seat named none."""
    positions = find_blind_positions(state).items()
    choices = group_pairs((find_label(state, line), seat) for seat, line in positions)
    return {} if "" in choices else choices


def _list_choices(state: Council, choices: Mapping[str, Sequence[SeatId]]) -> list[str]:
    """List the answers with who gave them, each as one of those who gave it says it."""
    said: dict[str, str] = {}
    for line in find_blind_positions(state).values():
        said.setdefault(find_label(state, line), state.groups.name(line.said.choice))
    return [f"{' '.join(seats)}:\n{quote_lines(said[key])}" for key, seats in choices.items()]


def _format_blind_positions(state: Council, words: CouncilPromptText) -> list[str]:
    choices = _group_blind_choices(state)
    if not choices:
        return []
    lines = ["", words.blind, *_list_choices(state, choices)]
    if len(choices) == 1:
        lines.append(words.agreed)
    else:
        lines.append(words.disputed)
    return lines


def _format_minority(state: Council, seat: Seat, words: CouncilPromptText) -> list[str]:
    """Let those be heard before the vote whose blind choice most do not share: one sentence each, the last that they said."""
    blind = find_blind_positions(state)
    choices = {name: find_label(state, line) for name, line in blind.items()}
    counts = Counter(choices.values())
    last: dict[SeatId, CouncilLine] = {}
    for line in state.list_visible_lines(seat.id):
        choice = choices.get(line.seat, "")
        is_of_few = choice != "" and 2 * counts[choice] <= len(choices)
        if is_of_few and line.said.type in {"propose", "support", "challenge"}:
            last[line.seat] = line
    lines = []
    for name, line in list(last.items())[:MAX_REFERENCES]:
        said = f"{extract_first_sentence(line.said.text)}\n{words.labels['choice']}: {blind[name].said.choice}"
        lines.append(f"[#{line.id} {name}]\n{quote_lines(said)}")
    if not lines:
        return []
    return ["", words.minority, *lines]


def _format_motion(variant: CouncilVariant, state: Council, words: CouncilPromptText) -> list[str]:
    candidates = _list_candidate_lines(variant, state)
    if not candidates:
        return []
    if len(candidates) > 1:
        return ["", words.candidates, " ".join(f"#{line.id} ({line.seat})" for line in candidates)]
    motion = candidates[0]
    title = words.motion.format(number=motion.id, seat=motion.seat)
    return ["", title, quote_lines(motion.said.text)[:MAX_TABLE_LENGTH]]


def _list_candidate_lines(variant: CouncilVariant, state: Council) -> list[CouncilLine]:
    if not is_by_candidates(variant, state):
        motion = find_discussed_motion(variant, state)
        if motion is None:
            return []
        return [motion]
    return state.list_lines(find_candidate_ids(variant, state))


def _format_open_challenges(state: Council, words: CouncilPromptText) -> list[str]:
    lines: list[str] = []
    for challenge in list_challenges(state):
        if challenge.state == "open":
            lines.append(f"#{challenge.line.id} {challenge.line.seat}")
    if not lines:
        return []
    return ["", words.unanswered, *lines]


def _format_objections(state: Council, words: CouncilPromptText) -> list[str]:
    votes = state.list_lines(state.votes.values())
    against = [line for line in votes if _has_objection(line)]
    if state.round == 1 or not against:
        return []
    lines = ["", words.objections]
    for line in against:
        lines.append(format_line(words, line, MAX_TABLE_LENGTH // len(against)))
    return lines


def _has_objection(vote: CouncilLine) -> bool:
    positions = {vote.said.position, *(each.position for each in vote.said.ballot)}
    return not positions.isdisjoint({"oppose", "conditional_support"})


def _format_request(
    variant: CouncilVariant, state: Council, seat: Seat, phase: str, words: CouncilPromptText
) -> str:
    request = _format_phase_request(variant, state, seat, phase, words)
    if state.open_inputs and phase in {"synthesize", "decide", "vote"}:
        request += words.to_user.format(inputs=list_input_numbers(state.open_inputs))
    return request


def _format_phase_request(
    variant: CouncilVariant, state: Council, seat: Seat, phase: str, words: CouncilPromptText
) -> str:
    match phase:
        case "propose":
            return words.propose
        case "argue":
            owner = variant.owner(state.opened)
            if owner is None:
                return words.argue
            return words.advise.format(owner=owner)
        case "answer":
            challenges = _format_numbers(list_own_challenges(state, seat.id))
            return words.answer.format(challenges=challenges)
        case "synthesize":
            return words.synthesize
        case "decide":
            advice = _format_numbers(list_advice(state))
            return words.decide.format(advice=advice or words.nothing)
        case _ if state.opened.subject.options and not seat.is_outside:
            return words.vote_choice + words.own_choice
        case _:
            if len(_list_candidate_lines(variant, state)) < 2:
                return words.vote + words.own_answer
            return words.vote_on_each + words.own_answer


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
    resolution = ("type", "text", "choice", "confidence")
    if has_options:
        resolution = ("type", "choice", "text", "confidence")
    intro = ""
    match asked.phase:
        case "propose":
            if asked.state.is_sealed:
                intro = text.blind
            rows = FORMS["propose"].put_first(*resolution)
            return ask_person(rows, asked, intro=intro, news=news)
        case "synthesize":
            if has_options:
                intro = text.synthesize
            rows = FORMS["synthesize"].put_first(*resolution)
            return ask_person(rows, asked, intro=intro, news=news, commands=pass_command)
        case "argue":
            rows = FORMS["argue"].put_first("type", "refers_to", "text")
            return ask_person(rows, asked, news=news, commands=pass_command)
        case "answer":
            challenges = _quote(asked, list_own_challenges(asked.state, asked.ask.seat))
            about = "\n".join([text.challenged, *challenges])
            return ask_person(
                FORMS["answer"].fields, asked, about=about, news=news, commands=pass_command
            )
        case "decide":
            if has_options:
                intro = text.decide
            rows = FORMS["decide"].put_first(*resolution)
            return ask_person(rows, asked, intro=intro, news=news)
        case _:
            return _ask_vote(asked, news)


def _ask_vote(asked: CouncilAsk, news: tuple[Utterance, ...]) -> PersonAsk:
    """Ask for a position on the motion; where there are options, for one of these."""
    rows = [row for row in FORMS["vote"].fields if row.name != "choice"]
    about, abstention = _describe_motion(asked), _offer_abstention(asked)
    approval = ask_person(rows, asked, about=about, news=news, commands=abstention)
    if not asked.options:
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
    news: list[Utterance] = []
    for line in asked.visible[-MAX_NEWS:]:
        text = _format_line(words.types, words.verdicts, line)
        news.append(clip_utterance(Utterance(id=line.id, speaker=line.seat, text=text)))
    return tuple(news)


def _format_line(types: Mapping[str, str], verdicts: Mapping[str, str], line: CouncilLine) -> str:
    said = line.said
    if line.seat == USER:
        # The user's input is stored as a pass with a text: it is neither a proposal nor a vote.
        return said.text
    head = types[said.type]
    if said.position is not None:
        head = verdicts[said.position]
    if said.refers_to:
        head += f" #{said.refers_to}"
    if said.choice:
        head += f" ({said.choice})"
    return f"{head}: {said.text or said.condition}"
