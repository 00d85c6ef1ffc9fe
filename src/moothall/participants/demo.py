"""A seat of a demo: a scripted seat that answers at reading speed.

The platform is `demo:NAME.LANGUAGE`, for example `demo:debate.zh`, with `@PACE` behind it where the pace is not `reading`. The
script ships in the folder `demos`; its path is not part of the record, so a demo resumes wherever Moot is installed.
"""

import asyncio
import re
from collections import defaultdict
from importlib.resources import files
from pathlib import Path
from typing import Any, Final, Literal, get_args

from moothall.domain.effects import Brief
from moothall.domain.facts import Language
from moothall.domain.ids import SeatId
from moothall.errors import BadScript
from moothall.participants.script import PIECE, ScriptParticipant
from moothall.ports.participant import OnText

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
_PLATFORM = re.compile(r"(?P<name>[a-z]{1,40})\.(?P<language>[a-z]{2,8})(?:@(?P<pace>[a-z]{1,20}))?")


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
        self._ahead += max(0.0, min(self._due.values()) - asyncio.get_running_loop().time() - self._ahead)
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
        await self._pacer.sleep((own + (0.0 if in_turn else self._measure_earlier(brief))) / self._speed)

    async def _stream(self, brief: Brief, text: str, on_text: OnText) -> None:
        for at in range(0, len(text), PIECE):
            piece = text[at : at + PIECE]
            on_text(piece)
            if self._speed and await self._pacer.sleep(len(piece) / READ_PER_SECOND[brief.language] / self._speed):
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
        return max(GLANCE_SECONDS, min(len(words) / READ_PER_SECOND[brief.language], MAX_LINE_SECONDS * max(1, len(findings))))

    def _measure_unread(self, brief: Brief) -> float:
        """How long it takes to read the newest entry; proposals are unsealed together, so all of them are new."""
        recent = brief.perception.memory.recent
        blind = {str(item.get("text", "")).strip() for kinds in self._script.values() for item in kinds.get("propose", [])}
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
    pace = next((each for each in PACES if match is not None and each == (match["pace"] or "reading")), None)
    path = None if match is None else find_script(match["name"], match["language"])
    if pace is None or path is None:
        raise BadScript(f"no demo is called {argument!r}; `moot demo --list` lists them")
    return DemoParticipant(path, seat, pace, pacer)


def find_script(name: str, language: str) -> Path | None:
    """The file of a demo, None if there is none of that name."""
    return next((path for path in list_scripts() if path.name == f"{name}.{language}.toml"), None)


def list_scripts() -> list[Path]:
    """The files of all demos that ship with Moot."""
    return sorted(Path(str(files("moothall.participants") / "demos")).glob("*.toml"))
