"""What the prompts of all protocols share: the system text, who a seat is, and how it is asked for a choice.

The same words in the same order, so that a provider's prompt cache holds them across protocols, seats and asks.
"""

from collections.abc import Iterable, Sequence

from moothall.domain.effects import Ask
from moothall.domain.facts import Language
from moothall.domain.roster import Seat
from moothall.domain.safe_text import FENCE, USER_MARK, one_line, quote_lines
from moothall.domain.seeded_random import model_seed, turn_list
from moothall.domain.session_state import ProtocolState
from moothall.locale.catalogues import LANGUAGE, PARTICIPANT_PROMPT


def build_system_text(language: Language) -> str:
    """Return the system text: one for each language, the same in every protocol."""
    return PARTICIPANT_PROMPT[language].system.format(language=LANGUAGE[language].name)


def introduce_seat(language: Language, seat: Seat) -> list[str]:
    """Return the lines under `# You`: who the seat is. Stance and instructions are the owner's words and stand unquoted."""
    return [PARTICIPANT_PROMPT[language].heads["you"], *describe_seat(language, seat)]


def describe_seat(language: Language, seat: Seat) -> list[str]:
    """Return the same lines without their heading."""
    words = PARTICIPANT_PROMPT[language]
    name = words.you.format(seat=seat.id)
    if seat.stance.strip():
        stance = words.stance.format(stance=one_line(seat.stance))
        name = f"{name}{words.between}{stance}"
    lines = [name]
    if seat.instructions.strip():
        lines.append(words.instructions.format(instructions=seat.instructions.strip()))
    return lines


def describe_choice(state: ProtocolState, ask: Ask) -> str:
    """Return the lines that ask for a choice: in a few words, one of the options, or one of an open list (Q-2).

    The answers are turned in their circle by the ask, so that none stands first for every seat (M-13).
    """
    frame = state.opened.frame
    if frame is not None and frame.kind == "number":
        return f"number: {describe_number(state)}."
    listed = describe_listed_choice(state, ask)
    if not is_open_list(state):
        return listed
    words = PARTICIPANT_PROMPT[state.opened.language]
    return f"{listed}\n{words.own_choice.format(none=words.none_of_these)}"


def describe_number(state: ProtocolState) -> str:
    """Return what is asked for where a question asks for a number, with its unit (Q-12)."""
    frame = state.opened.frame
    unit = "" if frame is None else frame.unit
    return PARTICIPANT_PROMPT[state.opened.language].number_hint.format(unit=unit).strip(" ,，")


def describe_listed_choice(state: ProtocolState, ask: Ask) -> str:
    """Return the same without the field for words of one's own, where an answer has none."""
    words = PARTICIPANT_PROMPT[state.opened.language]
    frame, options = state.opened.frame, state.opened.subject.options
    if frame is None or not frame.answers:
        if not options:
            return words.choice
        return (
            f"{words.choice_options}\n{quote_answers(turn_answers(state, ask, options), USER_MARK)}"
        )
    answers = turn_answers(state, ask, options or frame.answers)
    listed = quote_answers(answers, find_answer_mark(state))
    return f"{words.choice_or_none.format(none=words.none_of_these)}\n{listed}"


def is_open_list(state: ProtocolState) -> bool:
    """Whether the answers of a session are listed by a frame: then a seat may have another one."""
    frame = state.opened.frame
    return frame is not None and bool(frame.answers)


def find_answer_mark(state: ProtocolState) -> str:
    """Return the mark of the listed answers: what the opener did not say is not the user's word."""
    frame = state.opened.frame
    if frame is None or frame.made_by == "opener":
        return USER_MARK
    return FENCE


def join_choices(state: ProtocolState, ask: Ask, choices: Sequence[str]) -> str:
    """Return listed words as a sentence names them, `a, b or c`, turned in their circle by the ask (M-13)."""
    words = PARTICIPANT_PROMPT[state.opened.language]
    *first, last = turn_answers(state, ask, choices)
    if not first:
        return last
    return words.choice_or.join([words.between_choices.join(first), last])


def quote_answers(answers: Iterable[str], mark: str) -> str:
    """Return answers on a line each, behind the mark of whose words they are."""
    return quote_lines("\n".join(one_line(answer) for answer in answers), mark)


def turn_answers(state: ProtocolState, ask: Ask, answers: Sequence[str]) -> Sequence[str]:
    """Return answers turned in their circle by the ask: none stands first for every seat (M-13)."""
    return turn_list(answers, model_seed(state.opened.seed, ask.id))
