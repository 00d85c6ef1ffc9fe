"""Panels: the roster of a session, from a preset, a TOML file or words such as `name=platform`.

Seats may come from what people have (A-5): the agent and skill files of coding agents, and panels at an address, pinned by their
hash."""

import re
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import cache
from hashlib import sha256
from importlib.resources import files
from itertools import cycle
from pathlib import Path
from typing import Annotated, Any, Final

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from moothall.app.given_files import fetch_bytes
from moothall.app.plugins import load_all_features, load_kinds
from moothall.codec.settings import KnownLanguage, explain_validation_error
from moothall.disk.text_files import parse_toml, read_text_file
from moothall.domain.facts import Language
from moothall.domain.ids import parse_seat_id
from moothall.domain.roster import (
    HELPING_SEATS,
    MAX_FAMILY_LENGTH,
    MAX_PATIENCE,
    MAX_SEATS,
    Seat,
    validate_seats,
)
from moothall.domain.safe_text import compile_late, one_line
from moothall.errors import BadPanel, BadRoster, MootError
from moothall.locale.texts import find_translation
from moothall.participants.kinds import KindTable


class SeatForm(BaseModel):
    """A seat in a panel file."""

    model_config = ConfigDict(extra="forbid")

    id: str
    platform: str = ""
    stance: str = Field(default="", max_length=200)
    weight: float = 1.0
    instructions: str = Field(default="", max_length=8_000)
    patience: float | None = None
    family: str = Field(default="", max_length=MAX_FAMILY_LENGTH)
    sees: tuple[Annotated[str, Field(min_length=1, max_length=200)], ...] = Field(
        default=(), max_length=100
    )
    tools: tuple[Annotated[str, Field(min_length=1, max_length=40)], ...] = Field(
        default=(), max_length=20
    )

    def build(self, folder: Path, *more: str) -> Seat:
        """Return the seat, with more instructions behind its own. A script is resolved against the folder."""
        instructions = "\n".join(part for part in (self.instructions.strip(), *more) if part)
        given = self.model_dump(include={"stance", "weight", "patience", "family", "sees", "tools"})
        if self.platform.startswith(KIND):
            seat = build_agent_seat(self.id, self.platform, folder)
            more_words = "\n\n".join(part for part in (seat.instructions, instructions) if part)
            return replace(
                seat, **{**given, "stance": self.stance or seat.stance}, instructions=more_words
            )
        platform = resolve_platform_path(self.platform, folder)
        return Seat(
            id=parse_seat_id(self.id), platform=platform, instructions=instructions, **given
        )


class PanelForm(BaseModel):
    model_config = ConfigDict(extra="forbid")

    name: str = ""
    language: KnownLanguage | None = None
    title: str = ""
    description: str = ""
    settings: dict[str, Any] = Field(default_factory=dict)
    seat: list[SeatForm] = Field(min_length=1)


_TIMES: Final = ("patience", "timeout")
"""How the settings of a protocol are called that say how many seconds an answer may take."""

_NO_VARIABLES: Final[Mapping[str, str]] = {}

_TABLES: Final[Mapping[str, type]] = {"": PanelForm, "seat": SeatForm}


@dataclass(frozen=True, slots=True, kw_only=True)
class Panel:
    """Seats, some of them possibly without a platform."""

    name: str = ""
    title: str = ""
    description: str = ""
    language: Language | None = None
    seats: tuple[Seat, ...] = ()
    settings: Mapping[str, Any] = field(default_factory=dict)


def list_presets() -> list[str]:
    """Return the names of the panels that ship with Moot."""
    return sorted(index_presets())


def load_preset(name: str, language: Language) -> Panel:
    """Load a panel that ships with Moot; raises BadPanel."""
    folder = index_presets().get(name)
    if folder is None:
        raise BadPanel(
            f"no panel is called {name!r}; known: {', '.join(list_presets())}, or give a .toml file"
        )
    path = find_translation(folder, name, language, "toml")
    return parse_panel(path.read_text(encoding="utf-8"), f"the preset {name!r}", Path())


def parse_panel(text: str, what: str, folder: Path) -> Panel:
    """Parse a panel. Scripts that it names are resolved against `folder`."""
    try:
        form = PanelForm.model_validate(parse_toml(text, what, BadPanel))
    except ValidationError as cause:
        raise BadPanel(f"{what}: {explain_validation_error(cause, tables=_TABLES)}") from cause
    try:
        seats = tuple(seat.build(folder) for seat in form.seat)
    except MootError as cause:
        raise BadPanel(f"{what}: {cause}") from cause
    return Panel(seats=seats, **form.model_dump(exclude={"seat"}))


def load_panel(name: str, language: Language, environ: Mapping[str, str]) -> Panel:
    """Load a panel by its preset name, its file or its address; raises BadPanel with the place of the fault."""
    if name.startswith(("http://", "https://")):
        panel = parse_panel(
            fetch_panel(name, environ), f"the panel at {name.partition('#')[0]}", Path()
        )
        for seat in panel.seats:
            if load_kinds().find(seat.platform).file:
                raise BadPanel(
                    f"the panel at {name.partition('#')[0]}: seat {seat.id!r} names a file or a program of this machine"
                )
        return panel
    if not name.endswith(".toml") and "/" not in name:
        return load_preset(name, language)
    path, what = Path(name), f"the panel file {name}"
    return parse_panel(read_text_file(path, what, BadPanel), what, path.parent)


def parse_seat_words(seats: Iterable[Seat | str]) -> list[Seat]:
    """The seats of a list of `Seat`s and `name=platform` words; raises BadRoster, BadName."""
    parsed = []
    for seat in seats:
        if isinstance(seat, Seat):
            parsed.append(seat)
        else:
            parsed.append(parse_seat_word(seat))
    return parsed


def parse_seat_word(text: str) -> Seat:
    """Parse a seat from `name=platform`; raises BadRoster or BadName."""
    if not isinstance(text, str):
        raise BadRoster(
            f"seat {text!r}: expected a Seat or name=platform, such as ada=openai:gpt-5-mini"
        )
    name, equals, platform = text.partition("=")
    if not equals or not platform.strip():
        raise BadRoster(
            f"--seat {text!r}: expected name=platform, such as ada=openai:gpt-5-mini or bob=embedded"
        )
    if platform.strip().startswith(KIND):
        return build_agent_seat(name, platform.strip(), Path())
    return Seat(id=parse_seat_id(name), platform=resolve_platform_path(platform.strip(), Path()))


def resolve_platform_path(platform: str, folder: Path) -> str:
    """The platform with the file in it, if it has one, made absolute: a resumed session may be run from elsewhere."""
    kind, _, name = platform.partition(":")
    rule = load_kinds().find(platform).file
    path, mark, more = name, "", ""
    if rule == "toml":
        path, mark, more = name.partition("?")
    if name and (rule == "any" or (rule == "toml" and path.endswith(".toml"))):
        return f"{kind}:{(folder / Path(path).expanduser()).absolute()}{mark}{more}"
    return platform


def find_longest_patience(settings: Mapping[str, Any]) -> float:
    """The most seconds that given settings allow for an answer, 0 where they say nothing of it or no number."""
    longest = 0.0
    for name, value in settings.items():
        if name.endswith(_TIMES):
            with suppress(TypeError, ValueError):
                longest = max(longest, float(value))
    return min(longest, MAX_PATIENCE)


def merge_seats(panel: Panel, words: Sequence[Seat]) -> tuple[Seat, ...]:
    """The panel's seats with those of `words` put over or beside them; raises BadRoster for seats that cannot sit together."""
    names = [seat.id for seat in words]
    for name in names:
        if names.count(name) > 1:
            raise BadRoster(f"two seats are called {name!r}; each needs an id of its own")
    given = dict(zip(names, words, strict=True))
    seats = []
    for seat in panel.seats:
        # What the panel states of its own platform says nothing of another one.
        word = given.pop(seat.id, seat)
        merged = replace(seat, platform=word.platform, family=word.family)
        if word.instructions:
            # With the words of an agent's file, if the platform comes from one.
            merged = replace(merged, stance=word.stance, instructions=word.instructions)
        seats.append(merged)
    seats += given.values()
    # The protocol has the last word on how many sit there; some seat helpers beside a full table.
    return validate_seats(seats, most=MAX_SEATS + HELPING_SEATS)


def assign_seats(
    panel: Panel,
    words: Sequence[Seat],
    platforms: Sequence[str],
    kinds: KindTable,
    *,
    environ: Mapping[str, str] = _NO_VARIABLES,
    patience: float = 0.0,
) -> tuple[Seat, ...]:
    """The panel's seats with those of `words` put over or beside them; seats still without a platform share `platforms` in turn.

    A seat that was given no time of its own has what its platform usually takes, or the `patience` that was set for the session
    where that is more. Raises BadRoster for seats that cannot sit together, and if there is no platform to share.
    """
    filled, shared = [], cycle(platforms)
    for seat in merge_seats(panel, words):
        platform = seat.platform or next(shared, "")
        if not platform:
            raise BadRoster(
                f"nobody sits on {seat.id!r}; name who does: --seat {seat.id}=openai:gpt-5-mini"
            )
        own = seat.patience
        if own is None:
            usual = kinds.find_patience(platform, environ)
            if usual is not None:
                own = max(usual, patience)
        filled.append(replace(seat, platform=platform, patience=own))
    return tuple(filled)


@cache
def index_presets() -> Mapping[str, Path]:
    """The folder of each panel that ships with Moot or with a feature, by the panel's name; the first one counts."""
    folders = [Path(str(files("moothall.app"))) / "presets"]
    for feature in load_all_features():
        if feature.panels:
            folders.append(Path(str(files(feature.package))) / feature.panels)
    presets: dict[str, Path] = {}
    for folder in folders:
        for file in sorted(folder.glob("*.toml")):
            presets.setdefault(file.name.partition(".")[0], folder)
    return presets


KIND: Final = "agent:"
MAX_FILE_LENGTH: Final = 200_000
MAX_PANEL_BYTES: Final = 1_000_000
MAX_INSTRUCTIONS_LENGTH: Final = 8_000
MAX_STANCE_LENGTH: Final = 200
_HEAD: Final = compile_late(
    r"\A---[ \t]*\n(?P<head>.*?)^---[ \t]*\n(?P<text>.*)\Z", re.DOTALL | re.MULTILINE
)
_ROW: Final = compile_late(r"(?P<key>[A-Za-z][\w-]{0,60}):[ \t]*(?P<value>.*)")
_PINNED: Final = compile_late(r"(?P<address>https?://[^#\s]+)#sha256=(?P<hash>[0-9a-fA-F]{64})")


def build_agent_seat(name: str, platform: str, folder: Path) -> Seat:
    """The seat of `agent:FILE.md`: Markdown with a head between two lines `---`. Raises BadRoster or BadName.

        ---
        name: security
        description: Looks for what an attacker would use.
        model: openai:gpt-5
        ---
        You review changes for …

    Its text becomes the seat's instructions and its description the stance. A `model` that is a platform of Moot's fills the
    seat; any other word (`sonnet`) says nothing here, and the seat gets one of the models of the session. Tools are not taken
    over.
    """
    path = (folder / Path(platform.removeprefix(KIND)).expanduser()).absolute()
    what = f"the agent file {path}"
    text = read_text_file(path, what, BadRoster).removeprefix("\ufeff")
    match = _HEAD.match(text)
    if match is None:
        raise BadRoster(
            f"{what}: expected a head between two lines of ---, then the agent's instructions"
        )
    head, instructions = parse_head(match["head"]), match["text"].strip()
    if not instructions:
        raise BadRoster(f"{what} has no instructions behind its head")
    if len(text) > MAX_FILE_LENGTH or len(instructions) > MAX_INSTRUCTIONS_LENGTH:
        raise BadRoster(
            f"{what} is too long; a seat's instructions have at most {MAX_INSTRUCTIONS_LENGTH} characters"
        )
    model = head.get("model", "")
    return Seat(
        id=parse_seat_id(name),
        platform=model if ":" in model else "",
        stance=one_line(head.get("description", ""))[:MAX_STANCE_LENGTH],
        instructions=instructions,
    )


def parse_head(text: str) -> dict[str, str]:
    """The rows of a head: a word, a colon and a text, which may go on in indented lines. Lists and tables are passed over."""
    rows: dict[str, str] = {}
    key = ""
    for line in text.splitlines():
        row = _ROW.match(line)
        if row is not None:
            key, value = row["key"].lower(), row["value"].strip()
            rows[key] = "" if value in {"|", ">", "|-", ">-"} else value.strip("\"'")
        elif key and line[:1] in {" ", "\t"}:
            rows[key] = f"{rows[key]} {line.strip()}".strip()
    return rows


def fetch_panel(name: str, environ: Mapping[str, str]) -> str:
    """The text of a panel at an address, if it has the hash that is pinned; raises BadPanel or BadSetting."""
    pinned = _PINNED.fullmatch(name)
    if pinned is None:
        raise BadPanel(
            f"the panel {name[:200]}: expected ADDRESS#sha256=HASH, so that nobody can change it unseen"
        )
    raw = fetch_bytes(pinned["address"], environ, MAX_PANEL_BYTES)
    if (actual := sha256(raw).hexdigest()) != pinned["hash"].lower():
        raise BadPanel(
            f"the panel at {pinned['address']} is another than the one that is pinned: its sha256 is {actual}"
        )
    try:
        return raw.decode()
    except UnicodeDecodeError as cause:
        raise BadPanel(f"the panel at {pinned['address']} is not UTF-8") from cause
