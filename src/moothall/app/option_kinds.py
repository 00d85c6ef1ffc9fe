"""What the value of an option can be, with its limits; each kind checks a value and says what was expected instead."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TypeAlias

from moothall.domain.budget import parse_duration
from moothall.domain.topic import ContextFile
from moothall.errors import BadSetting


@dataclass(frozen=True, slots=True)
class SwitchKind:
    """Yes or no; with `default`, the command line has a flag for each."""

    default: bool = False

    def check(self, value: object) -> str:
        """Return what was expected instead of this value; empty where it is right. All kinds have this method."""
        return "" if isinstance(value, bool) else "True or False"


@dataclass(frozen=True, slots=True)
class CountKind:
    """A whole number."""

    least: int
    most: int

    def check(self, value: object) -> str:
        is_right = isinstance(value, int) and not isinstance(value, bool) and self.least <= value <= self.most
        return "" if is_right else f"a whole number from {self.least} to {self.most}"


@dataclass(frozen=True, slots=True)
class AmountKind:
    """A number greater than 0."""

    most: float

    def check(self, value: object) -> str:
        is_right = isinstance(value, int | float) and not isinstance(value, bool) and 0 < value <= self.most
        return "" if is_right else f"a number greater than 0, at most {self.most:g}"


@dataclass(frozen=True, slots=True)
class DurationKind:
    """A span of time, as `90s`, `10m`, `2h`, `3d` or a number of seconds."""

    most: float

    def check(self, value: object) -> str:
        expected = f"a duration such as 90s, 10m, 2h or 3d, at most {self.most / 86_400:g}d"
        if isinstance(value, bool) or not isinstance(value, int | float | str):
            return expected
        try:
            return "" if parse_duration(value) <= self.most else expected
        except BadSetting:
            return expected


@dataclass(frozen=True, slots=True)
class ChoiceKind:
    """One of a few words."""

    values: tuple[str, ...]

    def check(self, value: object) -> str:
        return "" if value in self.values else f"one of: {', '.join(self.values)}"


@dataclass(frozen=True, slots=True)
class TextKind:
    """A line of text."""

    most: int

    def check(self, value: object) -> str:
        is_right = isinstance(value, str) and len(value) <= self.most
        return "" if is_right else f"a text of at most {self.most} characters"


@dataclass(frozen=True, slots=True)
class ToolsKind(TextKind):
    """`auto`, `on`, `off`, or names of tools, separated by commas."""


@dataclass(frozen=True, slots=True)
class TextsKind:
    """Several texts; on the command line the flag is repeated."""

    most: int
    longest: int
    example: str = ""

    def check(self, value: object) -> str:
        is_list = isinstance(value, Sequence) and not isinstance(value, str) and len(value) <= self.most
        is_right = is_list and all(isinstance(each, str) and len(each) <= self.longest for each in value)  # type: ignore[attr-defined]  # a sequence
        return "" if is_right else f"a list of at most {self.most} texts of at most {self.longest} characters{self.example}"


@dataclass(frozen=True, slots=True)
class PlatformsKind(TextsKind):
    """Platforms of participants."""


@dataclass(frozen=True, slots=True)
class FolderKind:
    """A folder of this machine."""

    def check(self, value: object) -> str:
        return "" if isinstance(value, str | Path) else "a folder's path"


@dataclass(frozen=True, slots=True)
class SeatsKind:
    """Seats by name: a mapping of names to what fills them, or a list of `Seat`s or `name=platform` words."""

    def check(self, value: object) -> str:
        is_right = isinstance(value, Mapping | Sequence) and not isinstance(value, str)
        expected = 'a dict of names and platforms, such as {"ada": "openai:gpt-5-mini"}, or a list of Seats'
        return "" if is_right else expected


@dataclass(frozen=True, slots=True)
class PanelKind:
    """A panel: its preset's name, its file, or (in the library) a `Panel`."""

    def check(self, value: object) -> str:
        if isinstance(value, str):
            return ""
        # Imported here: a panel brings its parser with it, and most are given by name.
        from moothall.app.panels import Panel

        return "" if isinstance(value, Panel) else "a preset's name, a .toml file or a Panel"


@dataclass(frozen=True, slots=True)
class FilesKind:
    """Text files with the question: paths, or `ContextFile`s."""

    most: int

    def check(self, value: object) -> str:
        is_list = isinstance(value, Sequence) and not isinstance(value, str) and len(value) <= self.most
        is_right = is_list and all(isinstance(each, str | Path | ContextFile) for each in value)  # type: ignore[attr-defined]  # a sequence
        return "" if is_right else f"a list of at most {self.most} files: paths or ContextFiles"


@dataclass(frozen=True, slots=True)
class SettingsKind:
    """The protocol's own settings by their names."""

    def check(self, value: object) -> str:
        return "" if isinstance(value, Mapping) else "a dict of the protocol's settings"


OptionKind: TypeAlias = (
    SwitchKind
    | CountKind
    | AmountKind
    | DurationKind
    | ChoiceKind
    | TextKind
    | TextsKind
    | FolderKind
    | SeatsKind
    | PanelKind
    | FilesKind
    | SettingsKind
)
