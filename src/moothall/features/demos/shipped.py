"""Demos: meetings that were written in advance and ship with Moot, one for each protocol and language.

A demo is played by the real engine and the real rules; only the words of its seats come from a file. It is recorded like any
other session and marked on its opening, so that it stays out of decision memory, trust and breakers.
"""

import tomllib
from collections.abc import Mapping
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field, StringConstraints

from moothall.app.panels import Panel, SeatForm
from moothall.disk.private import make_private_folder
from moothall.domain.consult import DEMO_FOLDER
from moothall.domain.roster import DEMO
from moothall.domain.topic import Stakes
from moothall.locale.texts import DEFAULT_LANGUAGE
from moothall.participants.script import PACES, Pace, list_scripts
from moothall.plugins import BadSetting, Language, Options, resolve_home

FIRST = "persona"
"""The demo that is played where none is named."""


class Demo(BaseModel):
    """A meeting that can be played: what its file says of it, and where that lies. `seats` and `texts` are the script."""

    model_config = ConfigDict(extra="forbid")

    name: str
    language: Language
    """The language of the session."""
    script: str
    """The name of the script: of the demo, and of the language in which its lines are written."""
    protocol: str
    rank: int
    title: str
    """Its question in a few words."""
    summary: str
    """What there is to see."""
    topic: Annotated[str, StringConstraints(strip_whitespace=True)]
    seed: int = 1
    stakes: Stakes = "medium"
    category: str = ""
    options: list[str] = []
    turns: int | None = None
    consult: bool = False
    settings: dict[str, Any] = {}
    seat: list[SeatForm] = Field(min_length=1)
    seats: dict[str, Any]
    texts: dict[str, str] = {}


def list_demos(language: Language) -> list[Demo]:
    """The demos, in the order in which a newcomer may want to see them. One that is not written in a language is in English."""
    scripts = _load_demos()
    names = {name for name, _ in scripts}
    other = {"language": language}
    demos = [
        scripts.get((name, language)) or scripts[name, DEFAULT_LANGUAGE].model_copy(update=other)
        for name in names
    ]
    return sorted(demos, key=lambda demo: (demo.rank, demo.name))


def load_demo(name: str, language: Language) -> Demo:
    """The demo of this name; raises BadSetting."""
    demos = {each.name: each for each in list_demos(language)}
    if name not in demos:
        raise BadSetting(f"no demo is called {name[:80]!r}; the demos are: {', '.join(demos)}")
    return demos[name]


def build_demo_options(
    demo: Demo, environ: Mapping[str, str], *, pace: Pace = "reading", hosted: bool = False
) -> Options:
    if pace not in PACES:
        raise BadSetting(f"pace = {pace!r}; expected one of: {', '.join(PACES)}")
    platform = f"{DEMO}:{demo.script}"
    if pace != "reading":
        platform += f"@{pace}"
    built = [seat.build(Path()) for seat in demo.seat]
    seats = tuple(replace(seat, platform=seat.platform or platform) for seat in built)
    options: Options = {
        "protocol": demo.protocol,
        "demo": demo.name,
        "language": demo.language,
        "panel": Panel(seats=seats),
        "settings": dict(demo.settings),
        "seed": demo.seed,
        "category": demo.category,
        "stakes": demo.stakes,
        "options": demo.options,
        "hosted": hosted,
    }
    if demo.turns is not None:
        options["turns"] = demo.turns
    if demo.consult:
        # Not the user's project: records of a demo are nobody's work.
        folder = resolve_home(environ) / DEMO_FOLDER
        make_private_folder(folder)
        options |= {"project": folder, "consult_patience": 3_600.0}
    return options


@cache
def _load_demos() -> dict[tuple[str, str], Demo]:
    demos = {}
    for path in list_scripts():
        name, language, _ = path.name.split(".")
        document = tomllib.loads(path.read_text(encoding="utf-8"))
        demos[name, language] = Demo(
            name=name, language=language, script=f"{name}.{language}", **document
        )
    return demos
