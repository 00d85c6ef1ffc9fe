"""The prompts of a deliberation: pure functions of what the seat may see.

All seats share the first part, word for word (system, question, lines); the seat's own part comes last, so that a provider's
prefix cache hits. The lines together have a bounded length, however many there are.
"""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from functools import lru_cache, partial
from typing import Final, get_args

from moothall.domain.answer_table import ask_person, fill_brief
from moothall.domain.context import (
    ContextWindow,
    Perception,
    Utterance,
    clip_utterance,
)
from moothall.domain.effects import AnswerRules, Ask, Brief
from moothall.domain.facts import Language
from moothall.domain.ids import USER, SeatId
from moothall.domain.person import PersonAsk, PersonCommand
from moothall.domain.prompt_parts import (
    describe_choice,
    find_answer_mark,
    introduce_seat,
    join_choices,
    quote_answers,
    turn_answers,
)
from moothall.domain.safe_text import FENCE, one_line, quote_lines, quote_user
from moothall.domain.session_state import JUDGE_ASK
from moothall.domain.topic import list_input_numbers, normalize_label
from moothall.locale.catalogues import (
    COUNCIL_PROMPT,
    COUNCIL_REPORT,
    PARTICIPANT_PROMPT,
    PERSON_STEPS,
    CouncilPromptText,
)
from moothall.protocols.answer_judge import build_judge_brief, list_wanted_pairs
from moothall.protocols.council.answer_table import (
    FORMS,
    MAX_NEWS,
    POSITIONS,
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
from moothall.protocols.council.facts import AdviceOutcome
from moothall.protocols.council.motions import find_blind_positions, find_label, list_challenges
from moothall.protocols.council.state import (
    Council,
    CouncilLine,
    CouncilVariant,
    list_details,
    list_own_challenges,
)
from moothall.protocols.council.validation import (
    PHASE_TYPES,
    ContributionValidator,
    normalize_contribution,
)
from moothall.protocols.facts_first import build_facts_brief, build_facts_rules, is_facts_ask
from moothall.reports import person_steps

QUESTION: Final = 1
"""The number of the question among the lines."""
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
        return build_judge_brief(state, ask, list_wanted_pairs(state, state.open_answers))
    if is_facts_ask(ask.id):
        return build_facts_rules(state, ask)
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
        return build_judge_brief(state, ask, list_wanted_pairs(state, state.open_answers))
    if is_facts_ask(ask.id):
        language, subject = state.opened.language, state.opened.subject
        question = build_shared_prompt(language, state.opened.topic, subject.options, ())
        return build_facts_brief(state, ask, question)
    seat = state.seat(ask.seat)
    lines = state.list_visible_lines(seat.id)
    asked = CouncilAsk(variant=variant, state=state, ask=ask)
    own_words = _find_last_words(state, seat.id)
    opened = state.opened
    return fill_brief(
        state,
        ask,
        build_answer_rules(variant, state, ask),
        nth=state.round,
        perception=Perception(goal=opened.topic, memory=_build_memory(lines), own_words=own_words),
        shared=build_shared_prompt(opened.language, opened.topic, opened.subject.options, lines),
        own=build_own_prompt(asked),
        subject=_find_subject(variant, state),
        schema=build_answer_schema(asked),
        explains_fields=True,
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
    heads = PARTICIPANT_PROMPT[language].heads
    question = f"{heads['question']} (#{QUESTION})\n{quote_user(topic)}"
    if options:
        question += "\n" + "\n".join([words.options, *(quote_user(option) for option in options)])
    if not lines:
        return question
    shown = lines[-MAX_LINES:]
    room = _find_room(lines)
    table = [heads["said"]]
    if len(lines) > len(shown):
        table.append(words.left_out.format(count=len(lines) - len(shown)))
    for line in shown:
        table.append(format_line(words, line, room))
    return "\n\n".join([question, "\n".join(table)])


def _find_room(lines: Sequence[CouncilLine]) -> int:
    """Return how many characters each line may take: the same, so that one long contribution cannot push the others out."""
    return MAX_TABLE_LENGTH // max(1, min(len(lines), MAX_LINES))


def _list_cut_lines(words: CouncilPromptText, lines: Sequence[CouncilLine]) -> set[int]:
    """Return the numbers of the lines that the table leaves out or shortens."""
    room = _find_room(lines)
    cut = {line.id for line in lines[:-MAX_LINES]}
    for line in lines[-MAX_LINES:]:
        if len(_quote_line(words, line)) > room:
            cut.add(line.id)
    return cut


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
    quoted = _quote_line(words, line)
    if len(quoted) > room:
        quoted = f"{quoted[:room]}… {words.shortened}"
    return f"[{', '.join(marks)}]\n{quoted}"


def _quote_line(words: CouncilPromptText, line: CouncilLine) -> str:
    """Quote what a line says. How sure its author is stays out: without a record it is no evidence, and it anchors."""
    said = line.said
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
    return quote("\n".join(parts))


def _format_references(numbers: Sequence[int]) -> str:
    """Format numbers of lines, the first of them where there are many."""
    shown = _format_numbers(numbers[:MAX_REFERENCES])
    if len(numbers) > MAX_REFERENCES:
        shown += " …"
    return shown


def _format_numbers(numbers: Iterable[int]) -> str:
    return " ".join(f"#{number}" for number in numbers)


def build_own_prompt(asked: CouncilAsk) -> str:
    """Return what only this seat reads: who it is, what the table had to cut, and what it is asked for."""
    state = asked.state
    lines = introduce_seat(asked.language, state.seat(asked.ask.seat))
    if asked.phase == "vote":
        lines += _quote_cut_lines(asked)
    lines += ["", PARTICIPANT_PROMPT[asked.language].heads["now"]]
    # Who writes what is decided names an answer in the words that it has already.
    writes = asked.phase in {"synthesize", "decide"} and not asked.options
    if asked.phase == "argue" or writes:
        lines += _format_blind_positions(state)
    lines.append(_format_request(asked))
    if state.open_inputs and asked.phase in {"synthesize", "decide", "vote"}:
        words = PARTICIPANT_PROMPT[asked.language]
        lines.append(words.to_user.format(inputs=list_input_numbers(state.open_inputs)))
    return "\n".join(lines)


def _format_blind_positions(state: Council) -> list[str]:
    """Return on one line who wrote which answer before reading anyone; nothing where one of them named none.

    An answer has the words of one of those who gave it (Q-3).
    """
    holders: dict[str, list[SeatId]] = {}
    said: dict[str, str] = {}
    for seat, line in find_blind_positions(state).items():
        label = find_label(state, line)
        if not label:
            return []
        said.setdefault(label, one_line(state.groups.name(line.said.choice)))
        holders.setdefault(label, []).append(seat)
    if not holders:
        return []
    stood = [f"{said[label]}: {', '.join(seats)}" for label, seats in holders.items()]
    return [quote_lines("; ".join(stood))]


def _quote_cut_lines(asked: CouncilAsk) -> list[str]:
    """Quote what a vote is about and the table had to cut: what is voted on, the few, and what the seat wrote blind."""
    words = COUNCIL_PROMPT[asked.language]
    cut = _list_cut_lines(words, asked.visible)
    few = asked.list_lines(_list_lines_of_few(asked))
    before = find_blind_positions(asked.state).get(asked.ask.seat)
    rooms = {line.id: MAX_TABLE_LENGTH for line in _list_candidate_lines(asked)[:1]}
    lines = [*_list_candidate_lines(asked), *few]
    if before is not None:
        lines.append(before)
    quoted: dict[int, str] = {}
    for line in lines:
        if line.id in cut:
            room = rooms.get(line.id, MAX_OWN_LENGTH)
            quoted.setdefault(line.id, format_line(words, line, room))
    return [*quoted.values()]


def _list_lines_of_few(asked: CouncilAsk) -> list[int]:
    """Return the last argument of each seat whose blind choice most do not share, but for the one that is asked (D-24)."""
    blind = find_blind_positions(asked.state)
    choices = {name: find_label(asked.state, line) for name, line in blind.items()}
    counts = Counter(choices.values())
    last: dict[SeatId, int] = {}
    for line in asked.visible:
        choice = choices.get(line.seat, "")
        is_of_few = choice != "" and 2 * counts[choice] <= len(choices)
        if is_of_few and line.said.type in {"propose", "support", "challenge"}:
            last[line.seat] = line.id
    last.pop(asked.ask.seat, None)
    return sorted(last.values())[:MAX_REFERENCES]


def _list_candidate_lines(asked: CouncilAsk) -> list[CouncilLine]:
    if not is_by_candidates(asked.variant, asked.state):
        motion = find_discussed_motion(asked.variant, asked.state)
        if motion is None:
            return []
        return [motion]
    return asked.list_lines(find_candidate_ids(asked.variant, asked.state))


def _list_open_challenges(state: Council) -> list[int]:
    return [each.line.id for each in list_challenges(state) if each.state == "open"]


def _list_objections(state: Council) -> list[int]:
    """Return the votes of the last round that a new resolution must meet."""
    if state.round == 1:
        return []
    votes = state.list_lines(state.votes.values())
    return [line.id for line in votes if _has_objection(line)]


def _has_objection(vote: CouncilLine) -> bool:
    positions = {vote.said.position, *(each.position for each in vote.said.ballot)}
    return not positions.isdisjoint({"oppose", "conditional_support"})


def _format_request(asked: CouncilAsk) -> str:
    state, ask = asked.state, asked.ask
    words, shared = COUNCIL_PROMPT[asked.language], PARTICIPANT_PROMPT[asked.language]
    match asked.phase:
        case "propose":
            choice = describe_choice(state, ask)
            return words.propose.format(choice=choice, confidence=shared.confidence)
        case "argue":
            types = join_choices(state, ask, PHASE_TYPES["argue"])
            owner = asked.variant.owner(state.opened)
            if owner is None:
                return words.argue.format(types=types)
            return words.advise.format(owner=owner, types=types)
        case "answer":
            challenges = _format_numbers(list_own_challenges(state, ask.seat))
            return words.answer.format(challenges=challenges)
        case "synthesize":
            return _ask_for_resolution(asked)
        case "decide":
            return words.decide.format(
                advice=_ask_for_outcomes(asked),
                headline=shared.headline,
                choice=describe_choice(state, ask),
                confidence=shared.confidence,
                actions=shared.actions,
            )
        case _:
            return _ask_for_vote(asked)


def _ask_for_resolution(asked: CouncilAsk) -> str:
    state, words = asked.state, COUNCIL_PROMPT[asked.language]
    objections, open_lines = "", ""
    against, unanswered = _list_objections(state), _list_open_challenges(state)
    if against:
        objections = words.objections.format(lines=_format_references(against))
    if unanswered:
        open_lines = words.open.format(lines=_format_references(unanswered))
    return words.synthesize.format(
        objections=objections,
        open=open_lines,
        headline=PARTICIPANT_PROMPT[asked.language].headline,
        choice=describe_choice(state, asked.ask),
    )


def _ask_for_outcomes(asked: CouncilAsk) -> str:
    words = COUNCIL_PROMPT[asked.language]
    if not asked.advice:
        return words.no_advice
    outcomes = join_choices(asked.state, asked.ask, get_args(AdviceOutcome))
    return words.advice.format(lines=_format_numbers(asked.advice), outcomes=outcomes)


def _ask_for_vote(asked: CouncilAsk) -> str:
    state, ask, words = asked.state, asked.ask, COUNCIL_PROMPT[asked.language]
    candidates = [line.id for line in _list_candidate_lines(asked)]
    positions = join_choices(state, ask, POSITIONS)
    given = {"few": "", "unanswered": "", "before": "", "last": _ask_for_the_rest(asked)}
    unanswered = _list_open_challenges(state)
    if unanswered:
        given["unanswered"] = words.unanswered.format(lines=_format_references(unanswered))
    few = _list_lines_of_few(asked)
    if few:
        given["few"] = words.few.format(lines=_format_numbers(few))
    before = find_blind_positions(state).get(ask.seat)
    if before is not None:
        given["before"] = words.before.format(line=before.id)
    if asked.options and not asked.is_outside:
        none = PARTICIPANT_PROMPT[asked.language].none_of_these
        options = _quote_voted(asked)
        return words.vote_choice.format(
            none=none, options=options, condition=words.condition, **given
        )
    if len(candidates) > 1:
        numbers = _format_numbers(candidates)
        return words.vote_each.format(candidates=numbers, positions=positions, **given)
    motion = QUESTION
    if candidates:
        motion = candidates[0]
    return words.vote.format(motion=motion, positions=positions, condition=words.condition, **given)


def _ask_for_the_rest(asked: CouncilAsk) -> str:
    """Return the last lines of a vote: what changed the seat's mind, and its own answer."""
    words = COUNCIL_PROMPT[asked.language]
    own = words.own_answer
    if asked.options and not asked.is_outside:
        shared = PARTICIPANT_PROMPT[asked.language]
        own = shared.own_choice.format(none=shared.none_of_these)
    if not asked.others:
        return own
    return f"{words.moved_by}\n{own}"


def _quote_voted(asked: CouncilAsk) -> str:
    """Quote the answers that a vote is one of: those that a resolution alone names are no words of the user's."""
    listed = {normalize_label(option) for option in asked.options}
    lines: list[str] = []
    for answer in turn_answers(asked.state, asked.ask, asked.voted):
        mark = FENCE
        if normalize_label(answer) in listed:
            mark = find_answer_mark(asked.state)
        lines.append(quote_answers([answer], mark))
    return "\n".join(lines)


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
