"""The files of a conference: names, guide, agenda, and `turn.json` with the notes in its prompt. Pure: text in, text out."""

import json
import re
from collections.abc import Sequence
from dataclasses import asdict
from typing import Any, Final, Literal, get_args

from moothall.domain.replace import dataclass
from moothall.errors import BadName
from moothall.features.roundtable.facts import MAX_ROUNDS, MODERATOR, ConferenceOpened
from moothall.features.roundtable.sections import describe_role, name_minutes_sections
from moothall.features.roundtable.state import (
    Conference,
    NumberedInput,
    NumberedSpeech,
    SkippedTurn,
    Status,
)
from moothall.features.roundtable.words import (
    ROUNDTABLE_PROMPT,
    ROUNDTABLE_REPORT,
    RoundtableReportText,
)
from moothall.locale.catalogues import CONTEXT_FILES
from moothall.plugins import (
    ContextFile,
    Loss,
    SeatId,
    Utterance,
    compile_late,
    one_line,
    parse_seat_id,
    shorten_text,
)
from moothall.reports.precedents import format_precedents
from moothall.reports.quotations import format_faults

MAX_BYTES: Final = 180
"""A file name may have 255 bytes: the number, the extension and our own marks need room as well."""

RESERVED: Final = frozenset({"moderator", "guide", "agenda", "minutes", "turn", "aside"})
DEVICES: Final = frozenset(
    {"con", "prn", "aux", "nul"}
    | {f"{port}{number}" for port in ("com", "lpt") for number in range(10)}
)


def validate_conference_name(text: str) -> str:
    """Validate a conference's name; raises BadName."""
    return _validate_name(text, "a conference")


def validate_role_name(text: str) -> SeatId:
    """Validate a speaker's name; raises BadName. The moderator is not a speaker."""
    return SeatId(_validate_name(text, "a role"))


def _validate_name(text: str, what: str) -> str:
    """Validate a name that becomes a file name: no name that the conference itself or an operating system reserves."""
    try:
        name = parse_seat_id(text)
    except BadName as cause:
        raise BadName(
            f"{what} cannot be called {text[:80]!r}; expected 1 to 64 letters and digits of any script, '_' and '-'"
        ) from cause
    if name != text or name.startswith("-"):
        raise BadName(
            f"{what} cannot be called {text[:80]!r}: no spaces around it, and no '-' at its beginning"
        )
    if len(name.encode()) > MAX_BYTES:
        raise BadName(f"{what} cannot be called {text[:80]!r}: it has more than {MAX_BYTES} bytes")
    if name.casefold() in RESERVED:
        raise BadName(
            f"{what} cannot be called {text!r}; these names are reserved: {', '.join(sorted(RESERVED))}"
        )
    if name.casefold() in DEVICES:
        raise BadName(f"{what} cannot be called {text!r}: some systems keep that name for a device")
    return name


NOTE: Final = "[Moot]"
"""Each note begins with this word; what a speaker wrote ends before the first one."""

MAX_FAULTS_LENGTH: Final = 600
MAX_NAMED: Final = 5
"""So many files are named one by one; of more only the first and the last."""


def list_notes(conference: Conference) -> tuple[str, ...]:
    """Return the notes for the role that has the turn: declared consensus, inputs of the user's, quotations that do not stand
    in what was given, minutes that came back."""
    words = ROUNDTABLE_PROMPT[conference.opened.language]
    if conference.status == "closed":
        return ()
    notes = []
    if conference.status == "open" and conference.agreeing:
        notes.append(build_consensus_note(conference))
    if inputs := conference.find_new_inputs(conference.current):
        names = [format_input_file_name(given.number) for given in inputs]
        named = ", ".join(names) if len(names) <= MAX_NAMED else f"{names[0]} … {names[-1]}"
        notes.append(words.input_note.format(files=named))
    if context := conference.opened.subject.context:
        said = tuple(
            Utterance(id=each.number, speaker=each.seat, text=each.said.content)
            for each in conference.speeches
        )
        faults = one_line(format_faults(conference.opened.language, context, said)).removeprefix(
            "# "
        )
        if faults:
            notes.append(shorten_text(faults, MAX_FAULTS_LENGTH))
    if conference.status == "concluding" and conference.returned is not None:
        notes.append(
            words.returned_note.format(
                sections=name_minutes_sections(conference.missing, conference.opened.language)
            )
        )
    return tuple(notes)


def build_consensus_note(conference: Conference) -> str:
    """Say who has declared consensus and what that does."""
    named = [role for role in conference.speakers if role in conference.agreeing]
    rest = [role for role in conference.speakers if role not in conference.agreeing]
    words = ROUNDTABLE_PROMPT[conference.opened.language].consensus_note
    return words.format(
        named=_join(named), count=len(named), all=len(conference.speakers), rest=_join(rest)
    )


def _join(names: Sequence[str]) -> str:
    # The longest names of a full table would fill the prompt: it has room for a few of them.
    return ", ".join(names[:MAX_NAMED]) + (
        f" (+{len(names) - MAX_NAMED})" if len(names) > MAX_NAMED else ""
    )


def remove_notes(prompt: str) -> str:
    """Return what a speaker wrote: the prompt without notes, which an agent may have copied or made up."""
    return prompt.partition(NOTE)[0].strip()


def extract_notes(prompt: str) -> tuple[str, ...]:
    return tuple(note.strip() for note in prompt.split(NOTE)[1:])


def add_notes(prompt: str, notes: tuple[str, ...], longest: int) -> str:
    """Return a prompt with its notes, within so many characters: the notes are never cut."""
    suffix = "".join(f"\n{NOTE} {note}" for note in notes)
    return f"{remove_notes(prompt)[: longest - len(suffix)]}{suffix}"


MAX_PROMPT_LENGTH: Final = 2_000
MAX_SPEAKERS: Final = 63

KINDS: Final[dict[str, type]] = {
    "conference": str,
    "status": str,
    "round": int,
    "max_rounds": int,
    "speaker_order": list,
    "current_speaker_index": int,
    "current_speaker": str,
    "prompt_for_speaker": str,
}


@dataclass(frozen=True, slots=True, kw_only=True)
class TurnFile:
    """The fields of the file, in its order."""

    conference: str
    status: Status
    round: int
    max_rounds: int
    speaker_order: tuple[str, ...]
    current_speaker_index: int
    current_speaker: str
    prompt_for_speaker: str

    @property
    def place(self) -> tuple[Status, int, int, str]:
        """What the rules determine: everything but the prompt."""
        return (self.status, self.round, self.current_speaker_index, self.current_speaker)

    @property
    def taken(self) -> int:
        """The number of finished turns according to this file, while it is open."""
        return (self.round - 1) * len(self.speaker_order) + self.current_speaker_index


@dataclass(frozen=True, slots=True)
class BadTurn(Exception):
    """What is wrong with the file, and in which line."""

    line: int
    why: str


def build_turn_file(conference: Conference) -> TurnFile:
    settings = conference.opened.settings
    prompt = (
        conference.prompt
        if conference.status == "open"
        else ROUNDTABLE_PROMPT[conference.opened.language].moderate
    )
    prompt = add_notes(prompt, list_notes(conference), MAX_PROMPT_LENGTH)
    return TurnFile(
        conference=settings.conference,
        status=conference.status,
        round=conference.round,
        max_rounds=settings.max_rounds,
        speaker_order=conference.speakers,
        current_speaker_index=conference.index,
        current_speaker=conference.current,
        prompt_for_speaker=prompt,
    )


def render_turn_file(turn: TurnFile) -> str:
    return json.dumps(asdict(turn), ensure_ascii=False, indent=2) + "\n"


def parse_turn_file(text: str) -> TurnFile:
    try:
        fields = json.loads(
            text, object_pairs_hook=_reject_duplicates, parse_constant=_reject_constant
        )
    except _DuplicateField as twice:
        raise BadTurn(
            find_field_line(text, twice.name, nth=2),
            f"no valid JSON: the field {twice.name!r} stands in it twice",
        ) from twice
    except json.JSONDecodeError as cause:
        raise BadTurn(cause.lineno, f"no valid JSON: {cause.msg} (column {cause.colno})") from cause
    except (ValueError, RecursionError) as cause:
        raise BadTurn(1, f"no valid JSON: {cause or 'too deeply nested'}") from cause
    if not isinstance(fields, dict):
        raise BadTurn(1, f"a JSON object was expected, not {type(fields).__name__}")
    for name in fields:
        if name not in KINDS:
            raise BadTurn(
                find_field_line(text, name),
                f"the field {name[:80]!r} does not belong here; the fields are: {', '.join(KINDS)}",
            )
    for name, kind in KINDS.items():
        if name not in fields:
            raise BadTurn(1, f"the field {name!r} is missing")
        # `type(...) is not` and not `isinstance`: `true` is an int in Python, but not a round number.
        if type(fields[name]) is not kind:
            raise BadTurn(
                find_field_line(text, name),
                f"{name}: {_TYPE_NAMES[kind]} was expected, not {fields[name]!r:.60}",
            )
    _validate_values(text, fields)
    return TurnFile(**{**fields, "speaker_order": tuple(fields["speaker_order"])})


_TYPE_NAMES: Final = {str: "a text", int: "a whole number", list: "a list of names"}


class _DuplicateField(Exception):
    def __init__(self, name: str) -> None:
        super().__init__(name)
        self.name = name


def _reject_duplicates(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    fields: dict[str, Any] = {}
    for name, value in pairs:
        if name in fields:
            raise _DuplicateField(name)
        fields[name] = value
    return fields


def _reject_constant(name: str) -> Literal[0]:
    raise ValueError(f"{name} is no number of JSON")


def find_field_line(text: str, name: str, nth: int = 1) -> int:
    """Return the line of a field (of its `nth` occurrence); 1 if it does not occur."""
    places = [
        match.start()
        for match in re.finditer(rf"{re.escape(json.dumps(name, ensure_ascii=False))}\s*:", text)
    ]
    return text.count("\n", 0, places[nth - 1]) + 1 if len(places) >= nth else 1


def _validate_values(text: str, fields: dict[str, Any]) -> None:
    """Raise BadTurn for values that contradict each other."""
    order = fields["speaker_order"]
    faults = (
        (
            "status",
            fields["status"] in get_args(Status),
            f"expected one of {', '.join(get_args(Status))}",
        ),
        ("max_rounds", 1 <= fields["max_rounds"] <= MAX_ROUNDS, f"expected 1 to {MAX_ROUNDS}"),
        (
            "round",
            1 <= fields["round"] <= fields["max_rounds"] + 1,
            "expected 1 to max_rounds (one more when it is over)",
        ),
        ("speaker_order", 1 <= len(order) <= MAX_SPEAKERS, f"expected 1 to {MAX_SPEAKERS} names"),
        ("speaker_order", all(type(name) is str for name in order), "expected names"),
        (
            "speaker_order",
            len({str(name).casefold() for name in order}) == len(order),
            "a name stands in it twice",
        ),
        (
            "current_speaker_index",
            0 <= fields["current_speaker_index"] < max(1, len(order)),
            "expected a place in speaker_order",
        ),
        (
            "prompt_for_speaker",
            len(fields["prompt_for_speaker"]) <= MAX_PROMPT_LENGTH,
            f"at most {MAX_PROMPT_LENGTH} characters",
        ),
    )
    for name, is_right, why in faults:
        if not is_right:
            raise BadTurn(
                find_field_line(text, name), f"{name}: {why}; it says {fields[name]!r:.60}"
            )
    expected = order[fields["current_speaker_index"]] if fields["status"] == "open" else MODERATOR
    if fields["current_speaker"] != expected:
        fault = f"current_speaker: {expected!r} was expected by status and index; it says {fields['current_speaker']!r:.60}"
        raise BadTurn(find_field_line(text, "current_speaker"), fault)


_ORDER_MARK = compile_late(r"→|->|[,，、]")


def parse_speaking_order(text: str) -> tuple[str, ...]:
    """Parse the names in a line such as `a → b → c`."""
    return tuple(name.strip() for name in _ORDER_MARK.split(text) if name.strip())


AGENDA: Final = "AGENDA.md"
TURN: Final = "turn.json"
MINUTES: Final = "MINUTES.md"
GUIDE: Final = "GUIDE.md"
QUARANTINE_FOLDER: Final = "aside"
GIVEN_FOLDER: Final = "given"
OWN: Final = frozenset({AGENDA, TURN, MINUTES})

_SPEECH: Final = compile_late(r"(\d{3,6})_(.+)\.md", re.DOTALL)
_INPUT: Final = compile_late(r"INPUT_(\d{3,6})\.md")
_SKIPPED: Final = compile_late(r"\s*\[(?:跳过|SKIPPED)\]", re.IGNORECASE)
_LOSS: Final = compile_late(
    r"\((timeout|error|malformed|refused|rejected_key|gave_up|passed_over|unreachable)\)"
)
_COURSE: Final = compile_late(r"^##\s+(?:进程|Course)\s*$", re.MULTILINE)
_ROUNDS: Final = compile_late(
    r"^[-*]\s*(?:max_rounds|轮次上限|Rounds)\s*[:：]\s*(\d{1,3})\s*$", re.MULTILINE
)
_ORDER: Final = compile_late(
    r"^[-*]\s*(?:speaker_order|发言顺序|Speaking order)\s*[:：]\s*(.+)$", re.MULTILINE
)
_TITLE: Final = compile_late(r"^#[ \t]+(\S.*)$", re.MULTILINE)


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


def render_finished_turn(
    conference: Conference, turn: NumberedSpeech | SkippedTurn
) -> tuple[str, str]:
    """Return the name and text of the file of a finished turn."""
    text = (
        turn.said.content
        if isinstance(turn, NumberedSpeech)
        else render_skip_text(conference, turn)
    )
    return format_speech_file_name(turn.number, turn.seat), f"{text}\n"


def render_skip_text(conference: Conference, turn: SkippedTurn) -> str:
    language = conference.opened.language
    return ROUNDTABLE_PROMPT[language].skipped.format(
        role=turn.seat, why=explain_skip(turn, ROUNDTABLE_REPORT[language]), reason=turn.reason
    )


def explain_skip(turn: SkippedTurn, words: RoundtableReportText) -> str:
    """Explain why a turn was skipped; if a person skipped it, with the reason that was given."""
    has_reason = (
        turn.reason == "passed_over" and turn.detail and _SKIPPED.match(turn.detail) is None
    )
    return (
        f"{words.losses[turn.reason]}: {one_line(turn.detail)}"
        if has_reason
        else words.losses[turn.reason]
    )


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
    return (
        "\n".join(
            [
                f"# {conference.opened.topic.strip().splitlines()[0]}",
                "",
                words.no_decision,
                "",
                *lines,
            ]
        )
        + "\n"
    )


def name_given_files(opened: ConferenceOpened) -> dict[str, ContextFile]:
    """The given texts by their names in the folder: one plain file each, whatever it was called; what was no text gets `.txt`."""
    plain = [
        (each, re.sub(r"[^\w.-]+", "_", each.name)[-50:].strip("._-") or "file")
        for each in opened.subject.context
    ]
    return {
        f"{at:03d}_{name}{'.txt' if each.original else ''}": each
        for at, (each, name) in enumerate(plain, 1)
    }


def _render_given(opened: ConferenceOpened) -> list[str]:
    """The section of the agenda on what was given: where each file is, and by which name it is cited."""
    words = CONTEXT_FILES[opened.language]
    named = [
        f"- {GIVEN_FOLDER}/{name}: {one_line(each.name)}"
        for name, each in name_given_files(opened).items()
    ]
    return ["\n\n".join((f"## {words.section}", words.cite, "\n".join(named)))] if named else []


def render_agenda(opened: ConferenceOpened, speakers: tuple[SeatId, ...]) -> str:
    """Render AGENDA.md: title, background, roles, order, rounds."""
    words = ROUNDTABLE_PROMPT[opened.language]
    settings = opened.settings
    seats = {seat.id: seat for seat in opened.seats}
    roles: list[str] = []
    for role in speakers:
        text = describe_role(seats[role])
        roles.append(f"- {role}: {text}" if text else f"- {role}")
    topic, _, more = opened.topic.strip().partition("\n")
    background = "\n\n".join(part for part in (more.strip(), settings.agenda.strip()) if part)
    parts = [
        f"# {topic}",
        f"## {words.background}\n\n{background or opened.topic.strip()}",
        *_render_given(opened),
    ]
    precedents = opened.subject.precedents
    if precedents:
        parts.append(f"#{format_precedents(opened.language, precedents)}")
    order = f"- {words.order}: {' → '.join(speakers)}"
    rounds = f"- {words.rounds}: {settings.max_rounds}"
    parts.append(f"## {words.role_heads}\n\n" + "\n".join(roles))
    parts.append(f"## {words.course}\n\n{order}\n{rounds}")
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
    course = (
        text[[match.end() for match in _COURSE.finditer(text)][-1] :]
        if _COURSE.search(text)
        else text
    )
    order, rounds = _ORDER.search(course), _ROUNDS.search(course)
    return Agenda(
        title=title[1].rstrip() if title else "",
        speakers=parse_speaking_order(order[1]) if order else (),
        max_rounds=int(rounds[1]) if rounds else None,
    )
