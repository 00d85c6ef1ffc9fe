"""A seat that answers from a file: for tests, demos and bug reports that anyone can reproduce.

    [[intent]]                # one table per answer, in order
    turn = 1                  # optional: for this turn only
    reaction_score = 0.9
    intent_to_speak = true
    reason = "…"

    [[speech]]
    content = "…"
    delay = 0.5               # optional: seconds before it answers
    fail = "error"            # optional: be lost instead, with this reason
    raw = "not JSON"          # optional: answer with exactly this text
    name = "costs"            # optional: other answers refer to its entry as "@costs" (see `ScriptLabels`)
    about = "a text"          # optional: answer with it only where the seat is asked about this text

    [[speech]]                # if the session allows consultations: ask another seat instead
    consult = { to = "bob", question = "…" }

    [[consult]]               # what this seat says when it is consulted
    answer = "…"

A file may hold many seats, each under `[seats.NAME]`; then `[[seats.NAME.intent]]` and so on. When the answers of a kind run out,
the seat uses a default: no wish to speak, no position or stand, a pass instead of a proposal, argument or synthesis, an
abstention instead of a vote or ballot, an empty exploration. A missing speech, draft or decision is a loss.

A seat of a demo answers at reading speed. Its platform is `demo:NAME.LANGUAGE`, for example `demo:debate.zh`, with `@PACE` behind
it where the pace is not `reading`. The script ships in the folder `demos`; its path is not part of the record, so a demo resumes
wherever Moot is installed.
"""

import asyncio
import re
from collections import defaultdict
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from importlib.resources import files
from pathlib import Path
from typing import Any, Final, Literal, get_args

from moothall.disk.text_files import parse_toml, read_text_file
from moothall.domain.causes import state_cause
from moothall.domain.effects import AnswerForm, Brief
from moothall.domain.facts import Language, Loss
from moothall.domain.ids import SeatId
from moothall.domain.safe_text import FENCE, compile_late
from moothall.errors import BadAnswer, BadScript
from moothall.ports.participant import Answer, NoAnswer, OnText
from moothall.reading.answers import parse_answer, read_answer

NAME: Final = "name"
ABOUT: Final = "about"
_SHOWN: Final = 24
"""How many characters of a text have to agree: prompts may cut the rest."""
_ENTRY = compile_late(
    rf"^\[#(\d+) ([^\s,\]]+)[^\n]*\]\n((?:{re.escape(FENCE)}[^\n]*\n?)*)", re.MULTILINE
)
_INLINE = compile_late(r"\{@([\w-]+)\}")
_FINDINGS: Final = frozenset({"finding", "targetFindingId"})
_NUMBERED: Final = frozenset({"votes.answer"})


class _Unshown:
    """Stands for a reference to something that the prompt does not show."""


_UNSHOWN: Final = _Unshown()


@dataclass(frozen=True, slots=True)
class NamedAnswer:
    """An answer that others refer to: whose it is, which of its kind (from 1), and its words."""

    seat: str
    number: int
    text: str


class ScriptLabels:
    """The labels of one script: `@label` stands for an entry or a text, so that no script depends on numbers that may drift.

        [texts]                       # a text that several answers share
        cache = "Serve the catalogue from a cache."

        [[seats.bob.stand]]
        moved_by = "@costs"           # the number is read from the prompt, where a model reads it

    Within a sentence it is written `{@costs}`. What the prompt does not show is left out of the answer.
    """

    def __init__(
        self, texts: Mapping[str, str], seats: Mapping[str, Mapping[str, list[dict[str, Any]]]]
    ) -> None:
        self.texts = texts
        self._answers: dict[str, NamedAnswer] = {}
        for seat, kinds in seats.items():
            for items in kinds.values():
                for number, item in enumerate(items, 1):
                    if NAME in item:
                        text = str(item.get("content") or item.get("text") or "")
                        self._answers[str(item[NAME])] = NamedAnswer(seat, number, text)

    def fill_samples(self, item: Mapping[str, Any]) -> dict[str, Any]:
        """The answer with any number for each reference: what can be checked before there is a prompt."""
        return self._fill(item, self._sample)

    def resolve(self, item: Mapping[str, Any], brief: Brief) -> dict[str, Any]:
        """The answer with what its references stand for in this prompt."""
        return self._fill(item, lambda path, label: self._find(path, label, brief))

    def is_shown(self, label: str, brief: Brief) -> bool:
        """Whether what this seat alone reads mentions a text."""
        return self.texts.get(label, label)[:_SHOWN] in brief.own

    def _fill(self, item: Mapping[str, Any], find: Callable[[str, str], object]) -> dict[str, Any]:
        filled = {key: self._walk(value, key, find) for key, value in item.items()}
        return {key: value for key, value in filled.items() if value is not _UNSHOWN}

    def _walk(self, value: object, path: str, find: Callable[[str, str], object]) -> object:
        if isinstance(value, list):
            return [
                each
                for each in (self._walk(one, path, find) for one in value)
                if each is not _UNSHOWN
            ]
        if isinstance(value, dict):
            filled = {key: self._walk(each, f"{path}.{key}", find) for key, each in value.items()}
            # A vote on what is not on the ballot is no vote.
            return _UNSHOWN if any(each is _UNSHOWN for each in filled.values()) else filled
        if not isinstance(value, str):
            return value
        if value.startswith("@") and (value[1:] in self.texts or value[1:] in self._answers):
            return find(path, value[1:])
        return _INLINE.sub(lambda match: self._mention(find, match[1]), value)

    def _mention(self, find: Callable[[str, str], object], label: str) -> str:
        number = find("finding" if label in self.texts else "", label)
        if number is _UNSHOWN:
            return "…"
        return f"#{number}" if isinstance(number, int) else str(number)

    def _sample(self, path: str, label: str) -> object:
        if path.rpartition(".")[2] in _FINDINGS:
            return "finding-001"
        return self.texts[label] if label in self.texts and path not in _NUMBERED else 1

    def _find(self, path: str, label: str, brief: Brief) -> object:
        if label in self._answers:
            return self._find_entry(self._answers[label], brief)
        text = re.escape(self.texts[label])
        prompt = f"{brief.own}\n{brief.shared}"
        if path.rpartition(".")[2] in _FINDINGS:
            # By its own words, or as the first of those that stand under an answer in these words.
            match = re.search(rf"(finding-\d+): {text}", prompt) or re.search(
                rf"\d+\. {text}\n{re.escape(FENCE)}- (finding-\d+)", prompt
            )
            return match[1] if match else _UNSHOWN
        if path in _NUMBERED:
            numbered = re.search(rf"^{re.escape(FENCE)}(\d+)\. {text}", prompt, re.MULTILINE)
            return int(numbered[1]) if numbered else _UNSHOWN
        return self.texts[label]

    def _find_entry(self, answer: NamedAnswer, brief: Brief) -> object:
        entries = [
            match
            for match in _ENTRY.finditer(f"{brief.shared}\n{brief.own}")
            if match[2] == answer.seat
        ]
        wanted = _squeeze(answer.text)[:_SHOWN]
        for match in entries:
            if wanted and _squeeze(match[3].replace(FENCE, "")).startswith(wanted):
                return int(match[1])
        # An older entry stands there as a digest, in words of its own choice: then the speaker's n-th entry is meant.
        return int(entries[answer.number - 1][1]) if len(entries) >= answer.number else _UNSHOWN


def _squeeze(text: str) -> str:
    return "".join(text.split())


_CONTROLS = {"turn", "delay", "fail", "raw", NAME, ABOUT}
CONSULT = "consult"
_NO_CONSULTATIONS = ". The session has no consultations: --consult opens it with them"
PIECE = 12
"""The number of characters per streamed piece of a scripted speech."""


class ScriptParticipant:
    """Reads its file once; its answers depend only on the ask, so that a resumed session continues as it would have."""

    def __init__(self, path: Path, seat: SeatId) -> None:
        """Load the script; raises BadScript if the file is not a script of this seat."""
        self._script = _load_seats(path, seat)
        self._items = self._script[seat]
        self._references = ScriptLabels(_load_document(path).get("texts", {}), self._script)
        self._path = path
        self._seat = seat

    def check(self, forms: Mapping[str, AnswerForm]) -> None:
        """Raise BadScript if an answer in the file is of an unknown kind, or not in the shape that will be asked for."""
        for kind, items in self._items.items():
            if kind not in forms:
                hint = _NO_CONSULTATIONS if kind == CONSULT else ""
                raise BadScript(
                    f"the script {self._path}: nobody asks for [[{kind}]]; known: {', '.join(forms)}{hint}"
                )
            for number, item in enumerate(items, 1):
                if "raw" in item or "fail" in item:
                    continue
                try:
                    parse_answer(forms[kind], self._references.fill_samples(_strip_controls(item)))
                except BadAnswer as cause:
                    hint = (
                        _NO_CONSULTATIONS if CONSULT in item and forms[kind].instead is None else ""
                    )
                    raise BadScript(
                        f"the script {self._path}: [[{kind}]] number {number}: {cause}{hint}"
                    ) from cause

    async def ready(self) -> str | None:
        return None

    async def respond(self, brief: Brief, on_text: OnText) -> Answer | NoAnswer:
        item = self._find_item(brief, self._items)
        if item is None and brief.form.silence is not None:
            # Parsed by its shape: the schema of an ask may need what silence leaves out.
            return await self._read(
                brief, parse_answer(brief.form, dict(brief.form.silence)), on_text
            )
        if item is None:
            return NoAnswer(
                reason="error",
                detail=state_cause(
                    "script_ended",
                    name=self._path.name,
                    kind=brief.form.kind,
                    turn=brief.ask.turn,
                ),
            )
        await self._pause(brief, item)
        if "fail" in item:
            return NoAnswer(reason=item["fail"], detail=state_cause("scripted"))
        answer = (
            item["raw"] if "raw" in item else self._references.resolve(_strip_controls(item), brief)
        )
        return await self._read(brief, answer, on_text)

    async def _pause(self, brief: Brief, item: dict[str, Any]) -> None:
        await asyncio.sleep(item.get("delay", 0))

    async def _stream(self, brief: Brief, text: str, on_text: OnText) -> None:
        for at in range(0, len(text), PIECE):
            on_text(text[at : at + PIECE])

    async def _read(self, brief: Brief, raw: object, on_text: OnText) -> Answer:
        read = read_answer(brief, raw)
        text = getattr(read.said, "content", "") if brief.form.form == "text" else ""
        await self._stream(brief, text, on_text)
        return Answer(said=read.said, corrections=read.mends)

    def _find_item(
        self, brief: Brief, kinds: Mapping[str, list[dict[str, Any]]]
    ) -> dict[str, Any] | None:
        """What a seat with these answers gives to this brief; None where it has nothing."""
        items = kinds.get(brief.form.kind, [])
        addressed = [item for item in items if ABOUT in item]
        if addressed:
            return next(
                (item for item in addressed if self._references.is_shown(str(item[ABOUT]), brief)),
                None,
            )
        due = [item for item in items if item.get("turn") == brief.ask.turn]
        if due:
            # A repeated ask (after a consultation) takes the next table of the same turn, or the last one again.
            return due[min(brief.again, len(due) - 1)]
        ordered = [item for item in items if "turn" not in item]
        if brief.nth <= len(ordered):
            return ordered[brief.nth - 1]
        return None


def _strip_controls(item: dict[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in item.items() if key not in _CONTROLS}


def _load_seats(path: Path, seat: SeatId) -> dict[str, dict[str, list[dict[str, Any]]]]:
    """The answers of all seats of a script; one without seats is this seat's alone."""
    document = _load_document(path)
    seats = document.get(
        "seats", {seat: {kind: items for kind, items in document.items() if kind != "texts"}}
    )
    if not isinstance(seats, dict) or seat not in seats:
        raise BadScript(
            f"the script {path} has no [seats.{seat}]; it needs one for each seat that uses it"
        )
    for kinds in seats.values():
        for kind, items in kinds.items() if isinstance(kinds, dict) else [("seats", kinds)]:
            if not isinstance(items, list) or not all(isinstance(item, dict) for item in items):
                raise BadScript(f"the script {path}: {kind!r} must be written as [[{kind}]] tables")
            for item in items:
                _validate_item(path, kind, item)
    return seats


def _load_document(path: Path) -> dict[str, Any]:
    # Read anew for each seat: a server outlives the editing of a script.
    return _parse_document(path, read_text_file(path, f"the script {path}", BadScript))


@lru_cache(maxsize=16)
def _parse_document(path: Path, text: str) -> dict[str, Any]:
    return parse_toml(text, f"the script {path}", BadScript)


def _validate_item(path: Path, kind: str, item: dict[str, Any]) -> None:
    if "fail" in item and item["fail"] not in get_args(Loss):
        raise BadScript(
            f"the script {path}: {kind}: fail = {item['fail']!r}; known: {', '.join(get_args(Loss))}"
        )
    delay = item.get("delay", 0)
    if isinstance(delay, bool) or not isinstance(delay, int | float) or delay < 0:
        raise BadScript(f"the script {path}: {kind}: delay = {delay!r}; expected seconds")
    if "raw" in item and not isinstance(item["raw"], str):
        raise BadScript(f"the script {path}: {kind}: raw must be a text")


Pace = Literal["slow", "reading", "quick", "fast"]
PACES: Final[tuple[Pace, ...]] = get_args(Pace)
_SPEED: Final[dict[Pace, float]] = {"slow": 0.6, "reading": 1.0, "quick": 4.0, "fast": 0.0}
READ_PER_SECOND: Final[defaultdict[Language, float]] = defaultdict(lambda: 24.0, zh=8.0)
"""How many characters people read in a second: about 240 English words or 480 Chinese characters in a minute."""

GLANCE_SECONDS: Final = 0.8
MAX_LINE_SECONDS: Final = 4.0
"""Positions and last words are one line of the live view each."""

_SPOKEN_IN_TURN: Final = frozenset({"argue", "answer", "synthesize", "decide", "draft"})
"""Answers that come when what was said before them is read; all others come one after another, each when it is read itself."""

_LINES: Final = frozenset({"position", "stand", "explore", "collide"})
_PLATFORM = compile_late(
    r"(?P<name>[a-z]{1,40})\.(?P<language>[a-z]{2,8})(?:@(?P<pace>[a-z]{1,20}))?"
)


class Pacer:
    """Time as the reader of a demo sees it: it runs on its own, and jumps to the next event when the reader asks for it."""

    def __init__(self) -> None:
        self._ahead = 0.0
        self._due: dict[object, float] = {}
        self._skipped = asyncio.Event()

    async def sleep(self, seconds: float) -> bool:
        """Wait; True if the reader cut it short."""
        if seconds <= 0:
            return False
        key, loop = object(), asyncio.get_running_loop()
        self._due[key] = due = loop.time() + self._ahead + seconds
        try:
            while (left := due - loop.time() - self._ahead) > 0:
                try:
                    async with asyncio.timeout(left):
                        await self._skipped.wait()
                except TimeoutError:
                    return False
            return True
        finally:
            del self._due[key]

    def skip(self) -> None:
        """Let whatever comes next come now. Seats that answer after it wait as long behind it as they would have."""
        if not self._due:
            return
        self._ahead += max(
            0.0, min(self._due.values()) - asyncio.get_running_loop().time() - self._ahead
        )
        self._skipped.set()
        self._skipped = asyncio.Event()


class DemoParticipant(ScriptParticipant):
    """One seat of a demo. Seats that are asked at the same time answer one after another, in the order of the script."""

    def __init__(self, path: Path, seat: SeatId, pace: Pace, pacer: Pacer | None = None) -> None:
        super().__init__(path, seat)
        self._speed, self._pacer = _SPEED[pace], pacer or Pacer()

    async def _pause(self, brief: Brief, item: dict[str, Any]) -> None:
        if not self._speed or brief.form.form == "text":
            return
        in_turn = brief.form.kind in _SPOKEN_IN_TURN
        own = self._measure_unread(brief) if in_turn else self._measure(brief, item)
        await self._pacer.sleep(
            (own + (0.0 if in_turn else self._measure_earlier(brief))) / self._speed
        )

    async def _stream(self, brief: Brief, text: str, on_text: OnText) -> None:
        for at in range(0, len(text), PIECE):
            piece = text[at : at + PIECE]
            on_text(piece)
            if self._speed and await self._pacer.sleep(
                len(piece) / READ_PER_SECOND[brief.language] / self._speed
            ):
                on_text(text[at + PIECE :])
                return

    def _measure_earlier(self, brief: Brief) -> float:
        """How long those need who are asked the same and come earlier in the script."""
        total = 0.0
        for seat, items in self._script.items():
            if seat == self._seat:
                break
            item = self._find_item(brief, items)
            total += GLANCE_SECONDS if item is None else self._measure(brief, item)
        return total

    def _measure(self, brief: Brief, item: dict[str, Any]) -> float:
        """How long a line takes to read; of what stays sealed, or is a number, a glance is enough."""
        if brief.form.kind not in _LINES:
            return GLANCE_SECONDS
        findings = [str(each.get("coreIdea", "")) for each in item.get("findings", [])]
        words = "".join(findings) or str(item.get("position") or item.get("content") or "")
        return max(
            GLANCE_SECONDS,
            min(
                len(words) / READ_PER_SECOND[brief.language],
                MAX_LINE_SECONDS * max(1, len(findings)),
            ),
        )

    def _measure_unread(self, brief: Brief) -> float:
        """How long it takes to read the newest entry; proposals are unsealed together, so all of them are new."""
        recent = brief.perception.memory.recent
        blind = {
            str(item.get("text", "")).strip()
            for kinds in self._script.values()
            for item in kinds.get("propose", [])
        }
        if brief.form.kind == "draft" or not recent:
            return MAX_LINE_SECONDS
        unread = (
            [each.text for each in recent if each.text.strip() in blind]
            if recent[-1].text.strip() in blind
            else [recent[-1].text]
        )
        return sum(map(len, unread)) / READ_PER_SECOND[brief.language]


def make_demo(argument: str, seat: SeatId, pacer: Pacer | None = None) -> DemoParticipant:
    """The participant of a demo's seat, from what stands behind the colon of its platform; raises BadScript."""
    match = _PLATFORM.fullmatch(argument)
    pace = next(
        (each for each in PACES if match is not None and each == (match["pace"] or "reading")), None
    )
    path = None if match is None else find_script(match["name"], match["language"])
    if pace is None or path is None:
        raise BadScript(f"no demo is called {argument!r}", command="`moot demo --list` lists them")
    return DemoParticipant(path, seat, pace, pacer)


def find_script(name: str, language: str) -> Path | None:
    """The file of a demo, None if there is none of that name."""
    return next((path for path in list_scripts() if path.name == f"{name}.{language}.toml"), None)


def list_scripts() -> list[Path]:
    """The files of all demos that ship with Moot."""
    return sorted(Path(str(files("moothall.participants") / "demos")).glob("*.toml"))
