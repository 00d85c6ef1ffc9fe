"""The other files of a conference: speeches, what stands for a skipped turn, the agenda. Pure: text in, text out."""

import re
from dataclasses import dataclass
from typing import Final

from moot.domain.facts import Language, Loss
from moot.domain.ids import SeatId
from moot.domain.safe_text import one_line
from moot.protocols.roundtable.facts import ConferenceOpened
from moot.protocols.roundtable.prompt_text import PROMPT_TEXT
from moot.protocols.roundtable.report_text import REPORT_TEXT, RoundtableReportText
from moot.protocols.roundtable.state import Conference, NumberedSpeech, SkippedTurn
from moot.protocols.roundtable.turn_file import parse_speaking_order

AGENDA: Final = "AGENDA.md"
TURN: Final = "turn.json"
MINUTES: Final = "MINUTES.md"
GUIDE: Final = "GUIDE.md"
QUARANTINE_FOLDER: Final = "aside"
OWN: Final = frozenset({AGENDA, TURN, MINUTES})

_SPEECH: Final = re.compile(r"(\d{3,6})_(.+)\.md", re.DOTALL)
_SKIPPED: Final = re.compile(r"\s*\[(?:跳过|SKIPPED)\]", re.IGNORECASE)
_LOSS: Final = re.compile(r"\((timeout|error|malformed|refused|rejected_key|gave_up|passed_over)\)")
_COURSE: Final = re.compile(r"^##\s+(?:进程|Course)\s*$", re.MULTILINE)
_ROUNDS: Final = re.compile(r"^[-*]\s*(?:max_rounds|轮次上限|Rounds)\s*[:：]\s*(\d{1,3})\s*$", re.MULTILINE)
_ORDER: Final = re.compile(r"^[-*]\s*(?:speaker_order|发言顺序|Speaking order)\s*[:：]\s*(.+)$", re.MULTILINE)
_TITLE: Final = re.compile(r"^#[ \t]+(\S.*)$", re.MULTILINE)
_SECTIONS: Final = (("立场", "stance"), ("分析", "analysis"), ("回应", "response", "提问", "questions"))
_NAMES: Final[dict[Language, tuple[str, str, str]]] = {
    "en": ("Stance", "Analysis", "Response and questions"),
    "zh": ("立场", "分析论证", "回应/提问"),
}
_HEADING: Final = re.compile(r"^#{1,4}[ \t]*(\S.*)$", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class SpeechFileName:
    """What the name of a speech's file says."""

    number: int
    role: str


def format_speech_file_name(number: int, role: str) -> str:
    return f"{number:03d}_{role}.md"


def parse_speech_file_name(name: str) -> SpeechFileName | None:
    """The number and role in a file's name; None for one that is no speech's, or written otherwise than we would."""
    found = _SPEECH.fullmatch(name)
    if found is None or format_speech_file_name(int(found[1]), found[2]) != name:
        return None
    return SpeechFileName(int(found[1]), found[2])


def render_finished_turn(conference: Conference, turn: NumberedSpeech | SkippedTurn) -> tuple[str, str]:
    """The name and text of the file of a turn that is over."""
    text = turn.said.content if isinstance(turn, NumberedSpeech) else render_skip_text(conference, turn)
    return format_speech_file_name(turn.number, turn.seat), f"{text}\n"


def render_skip_text(conference: Conference, turn: SkippedTurn) -> str:
    """What stands in the file of a turn that was skipped."""
    language = conference.opened.language
    return PROMPT_TEXT[language].skipped.format(role=turn.seat, why=explain_skip(turn, REPORT_TEXT[language]), reason=turn.reason)


def explain_skip(turn: SkippedTurn, words: RoundtableReportText) -> str:
    """Why a turn was skipped; where somebody did so by hand, with the reason that was given."""
    is_told = turn.reason == "passed_over" and turn.detail and _SKIPPED.match(turn.detail) is None
    return f"{words.losses[turn.reason]}: {one_line(turn.detail)}" if is_told else words.losses[turn.reason]


def parse_skip_reason(text: str) -> Loss | None:
    """Why a turn was skipped, if that is what a file says; None for a speech."""
    if _SKIPPED.match(text) is None:
        return None
    # The last one: what was given as the reason may hold such a word too.
    found = _LOSS.findall(text)
    return found[-1] if found else "error"


def render_minutes_file(conference: Conference) -> str:
    """MINUTES.md of a conference that is over: as they were written, or, where nobody could, made from the speeches."""
    if conference.minutes is not None:
        return f"{conference.minutes.content}\n"
    words = REPORT_TEXT[conference.opened.language]
    lines = [f"- {format_speech_file_name(turn.number, turn.seat)}" for turn in conference.turns]
    return "\n".join([f"# {conference.opened.topic.strip().splitlines()[0]}", "", words.no_decision, "", *lines]) + "\n"


def find_missing_sections(text: str, language: Language = "en") -> tuple[str, ...]:
    """The sections that a speech should have and has not, by their names."""
    heads = [head.casefold() for head in _HEADING.findall(text)]
    return tuple(
        name
        for name, words in zip(_NAMES[language], _SECTIONS, strict=True)
        if not any(word in head for head in heads for word in words)
    )


def is_speechlike(text: str) -> bool:
    """Whether a text has at least one of a speech's sections."""
    return len(find_missing_sections(text)) < len(_SECTIONS)


def render_agenda(opened: ConferenceOpened, speakers: tuple[SeatId, ...]) -> str:
    """AGENDA.md: title, background, roles, order, rounds."""
    words = PROMPT_TEXT[opened.language]
    settings = opened.settings
    seats = {seat.id: seat for seat in opened.seats}
    roles = [
        f"- {role}" + (f": {told}" if (told := _format_role(seats[role].stance, seats[role].instructions)) else "")
        for role in speakers
    ]
    topic, _, more = opened.topic.strip().partition("\n")
    background = "\n\n".join(part for part in (more.strip(), settings.agenda.strip()) if part)
    parts = [
        f"# {topic}",
        f"## {words.background}\n\n{background or opened.topic.strip()}",
        f"## {words.role_heads}\n\n" + "\n".join(roles),
        f"## {words.course}\n\n- {words.order}: {' → '.join(speakers)}\n- {words.rounds}: {settings.max_rounds}",
    ]
    return "\n\n".join(parts) + "\n"


def _format_role(stance: str, instructions: str) -> str:
    return " ".join(" ".join((stance, instructions)).split())


@dataclass(frozen=True, slots=True, kw_only=True)
class Agenda:
    """What an agenda says of itself; empty where it says nothing."""

    title: str
    speakers: tuple[str, ...]
    max_rounds: int | None


def parse_agenda(text: str) -> Agenda:
    title = _TITLE.search(text)
    # What stands in the background is about the matter, not about the course.
    course = text[[found.end() for found in _COURSE.finditer(text)][-1] :] if _COURSE.search(text) else text
    order, rounds = _ORDER.search(course), _ROUNDS.search(course)
    return Agenda(
        title=title[1].rstrip() if title else "",
        speakers=parse_speaking_order(order[1]) if order else (),
        max_rounds=int(rounds[1]) if rounds else None,
    )
