"""The other files of a conference: speeches, skipped turns, the agenda. Pure: text in, text out."""

import re
from dataclasses import dataclass
from typing import Final

from moothall.domain.facts import Loss
from moothall.domain.ids import SeatId
from moothall.domain.safe_text import one_line
from moothall.locale.catalogues import ROUNDTABLE_PROMPT, ROUNDTABLE_REPORT, RoundtableReportText
from moothall.protocols.roundtable.facts import ConferenceOpened
from moothall.protocols.roundtable.sections import describe_role
from moothall.protocols.roundtable.state import Conference, NumberedInput, NumberedSpeech, SkippedTurn
from moothall.protocols.roundtable.turn_file import parse_speaking_order
from moothall.reports.precedents import format_precedents

AGENDA: Final = "AGENDA.md"
TURN: Final = "turn.json"
MINUTES: Final = "MINUTES.md"
GUIDE: Final = "GUIDE.md"
QUARANTINE_FOLDER: Final = "aside"
OWN: Final = frozenset({AGENDA, TURN, MINUTES})

_SPEECH: Final = re.compile(r"(\d{3,6})_(.+)\.md", re.DOTALL)
_INPUT: Final = re.compile(r"INPUT_(\d{3,6})\.md")
_SKIPPED: Final = re.compile(r"\s*\[(?:跳过|SKIPPED)\]", re.IGNORECASE)
_LOSS: Final = re.compile(r"\((timeout|error|malformed|refused|rejected_key|gave_up|passed_over|unreachable)\)")
_COURSE: Final = re.compile(r"^##\s+(?:进程|Course)\s*$", re.MULTILINE)
_ROUNDS: Final = re.compile(r"^[-*]\s*(?:max_rounds|轮次上限|Rounds)\s*[:：]\s*(\d{1,3})\s*$", re.MULTILINE)
_ORDER: Final = re.compile(r"^[-*]\s*(?:speaker_order|发言顺序|Speaking order)\s*[:：]\s*(.+)$", re.MULTILINE)
_TITLE: Final = re.compile(r"^#[ \t]+(\S.*)$", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class SpeechFileName:
    """The parts of a speech's file name."""

    number: int
    role: str


def format_speech_file_name(number: int, role: str) -> str:
    return f"{number:03d}_{role}.md"


def parse_speech_file_name(name: str) -> SpeechFileName | None:
    """Parse the number and role from a file name; None if it is not the name of a speech in exactly our form."""
    match = _SPEECH.fullmatch(name)
    # Rendering it again rejects other spellings of the same number, such as four digits for 12.
    if match is None or format_speech_file_name(int(match[1]), match[2]) != name:
        return None
    return SpeechFileName(int(match[1]), match[2])


def format_input_file_name(number: int) -> str:
    return f"INPUT_{number:03d}.md"


def is_input_file_name(name: str) -> bool:
    match = _INPUT.fullmatch(name)
    return match is not None and format_input_file_name(int(match[1])) == name


def render_input_file(given: NumberedInput) -> tuple[str, str]:
    """Return the name and text of the file of an input of the user's."""
    return format_input_file_name(given.number), f"{given.text}\n"


def render_finished_turn(conference: Conference, turn: NumberedSpeech | SkippedTurn) -> tuple[str, str]:
    """Return the name and text of the file of a finished turn."""
    text = turn.said.content if isinstance(turn, NumberedSpeech) else render_skip_text(conference, turn)
    return format_speech_file_name(turn.number, turn.seat), f"{text}\n"


def render_skip_text(conference: Conference, turn: SkippedTurn) -> str:
    """Render the text of a skipped turn's file."""
    language = conference.opened.language
    return ROUNDTABLE_PROMPT[language].skipped.format(
        role=turn.seat, why=explain_skip(turn, ROUNDTABLE_REPORT[language]), reason=turn.reason
    )


def explain_skip(turn: SkippedTurn, words: RoundtableReportText) -> str:
    """Explain why a turn was skipped; if a person skipped it, with the reason that was given."""
    has_reason = turn.reason == "passed_over" and turn.detail and _SKIPPED.match(turn.detail) is None
    return f"{words.losses[turn.reason]}: {one_line(turn.detail)}" if has_reason else words.losses[turn.reason]


def parse_skip_reason(text: str) -> Loss | None:
    """Parse why a turn was skipped, if the text is that of a skipped turn; None for a speech."""
    if _SKIPPED.match(text) is None:
        return None
    # The last match: the given reason is free text and may contain such a word as well.
    reasons = _LOSS.findall(text)
    return reasons[-1] if reasons else "error"


def render_minutes_file(conference: Conference) -> str:
    """Render MINUTES.md of a finished conference: as written, or built from the speeches if nobody could write them."""
    if conference.minutes is not None:
        return f"{conference.minutes.content}\n"
    words = ROUNDTABLE_REPORT[conference.opened.language]
    lines = [f"- {format_speech_file_name(turn.number, turn.seat)}" for turn in conference.turns]
    return "\n".join([f"# {conference.opened.topic.strip().splitlines()[0]}", "", words.no_decision, "", *lines]) + "\n"


def render_agenda(opened: ConferenceOpened, speakers: tuple[SeatId, ...]) -> str:
    """Render AGENDA.md: title, background, roles, order, rounds."""
    words = ROUNDTABLE_PROMPT[opened.language]
    settings = opened.settings
    seats = {seat.id: seat for seat in opened.seats}
    roles = [f"- {role}" + (f": {text}" if (text := describe_role(seats[role])) else "") for role in speakers]
    topic, _, more = opened.topic.strip().partition("\n")
    background = "\n\n".join(part for part in (more.strip(), settings.agenda.strip()) if part)
    parts = [
        f"# {topic}",
        f"## {words.background}\n\n{background or opened.topic.strip()}",
        *([f"#{format_precedents(opened.language, held)}"] if (held := opened.subject.precedents) else ()),
        f"## {words.role_heads}\n\n" + "\n".join(roles),
        f"## {words.course}\n\n- {words.order}: {' → '.join(speakers)}\n- {words.rounds}: {settings.max_rounds}",
    ]
    return "\n\n".join(parts) + "\n"


@dataclass(frozen=True, slots=True, kw_only=True)
class Agenda:
    """The fields of an agenda; empty if the file does not state them."""

    title: str
    speakers: tuple[str, ...]
    max_rounds: int | None


def parse_agenda(text: str) -> Agenda:
    title = _TITLE.search(text)
    # Only the section about the course counts: the background may contain lines that look the same.
    course = text[[match.end() for match in _COURSE.finditer(text)][-1] :] if _COURSE.search(text) else text
    order, rounds = _ORDER.search(course), _ROUNDS.search(course)
    return Agenda(
        title=title[1].rstrip() if title else "",
        speakers=parse_speaking_order(order[1]) if order else (),
        max_rounds=int(rounds[1]) if rounds else None,
    )
