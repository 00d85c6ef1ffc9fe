"""The options of a session: one table, from which every surface takes its own.

The library's keywords are `Options` itself; the flags of the commands, the parameters of the calls and the page's form follow
from the `SessionOption` of each key. An option that a command or a protocol cannot honour is refused with the reason.
"""

from collections.abc import Callable, Mapping, Sequence, Sized
from dataclasses import dataclass
from difflib import get_close_matches
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Final, TypeAlias, TypedDict, TypeGuard, get_args

from moothall.app.features import index_openers
from moothall.domain.budget import DEFAULT_TURNS, MAX_TOOL_CALLS, parse_duration
from moothall.domain.consult import MAX_PER_SEAT, MAX_PER_SESSION
from moothall.domain.facts import Language, ReadingRule
from moothall.domain.frame import Framing
from moothall.domain.roster import MAX_PATIENCE, Seat
from moothall.domain.stated_facts import FactsSwitch
from moothall.domain.topic import (
    MAX_FILES,
    MAX_LABEL_LENGTH,
    MAX_LABELS,
    ContextFile,
    QuestionKind,
    RepositoryTree,
    Stakes,
)
from moothall.errors import BadSetting
from moothall.locale.catalogues import OPENING
from moothall.locale.texts import DEFAULT_LANGUAGE, list_languages, list_offered_languages
from moothall.ports.feature import OpenerRow
from moothall.scoring.depth import Depth

if TYPE_CHECKING:
    from moothall.app.panels import Panel
    from moothall.participants.function import AnswerFunction

MAX_TURNS: Final = 100_000
MAX_TOKENS: Final = 10**12
MAX_DOLLARS: Final = 1e6
MAX_SECONDS: Final = 864e6
"""10,000 days."""
MAX_SEED: Final = 2**31 - 1
MAX_MODELS: Final = 64
MAX_PLATFORM: Final = 500
MAX_NAME: Final = 500
"""Far more than any name has; what names things knows its own limit, and says it better."""

SeatFiller: TypeAlias = "str | Seat | AnswerFunction"
"""What fills a seat: a platform, a whole `Seat`, or a Python function."""

Opener: TypeAlias = str
"""What opens a session: the commands, and the calls that do the same; `run`, `demo`, or the `OpenerRow` of a feature."""


def _is_list(value: object, most: int) -> TypeGuard[Sequence[object]]:
    """Whether a value is a sequence of at most so many values; a text is none."""
    return isinstance(value, Sequence) and not isinstance(value, str) and len(value) <= most


# The kinds of values that an option has, with their limits; each checks a value and says what was expected instead.


@dataclass(frozen=True, slots=True)
class SwitchKind:
    """Yes or no; with `default`, the command line has a flag for each."""

    default: bool = False

    def check(self, value: object) -> str:
        """Return what was expected instead of this value; empty where it is right. All kinds have this method."""
        if isinstance(value, bool):
            return ""
        return "True or False"


@dataclass(frozen=True, slots=True)
class CountKind:
    """A whole number."""

    least: int
    most: int

    def check(self, value: object) -> str:
        is_right = (
            isinstance(value, int)
            and not isinstance(value, bool)
            and self.least <= value <= self.most
        )
        if is_right:
            return ""
        return f"a whole number from {self.least} to {self.most}"


@dataclass(frozen=True, slots=True)
class AmountKind:
    """A number greater than 0."""

    most: float

    def check(self, value: object) -> str:
        is_right = (
            isinstance(value, int | float)
            and not isinstance(value, bool)
            and 0 < value <= self.most
        )
        if is_right:
            return ""
        return f"a number greater than 0, at most {self.most:g}"


@dataclass(frozen=True, slots=True)
class DurationKind:
    """A span of time, as `90s`, `10m`, `2h`, `3d` or a number of seconds."""

    most: float

    def check(self, value: object) -> str:
        expected = f"a duration such as 90s, 10m, 2h or 3d, at most {self.most / 86_400:g}d"
        if isinstance(value, bool) or not isinstance(value, int | float | str):
            return expected
        try:
            seconds = parse_duration(value)
        except BadSetting:
            return expected
        if seconds <= self.most:
            return ""
        return expected


@dataclass(frozen=True, slots=True)
class ChoiceKind:
    """One of a few words."""

    values: tuple[str, ...]

    def check(self, value: object) -> str:
        if value in self.values:
            return ""
        return f"one of: {', '.join(self.values)}"


@dataclass(frozen=True, slots=True)
class LanguageKind:
    """The code of a language. One whose texts are few is taken, and not offered."""

    @property
    def values(self) -> tuple[str, ...]:
        """Those that are offered."""
        return list_offered_languages()

    def check(self, value: object) -> str:
        if value in list_languages():
            return ""
        return f"one of: {', '.join(self.values)}"


@dataclass(frozen=True, slots=True)
class TextKind:
    """A line of text."""

    most: int

    def check(self, value: object) -> str:
        is_right = isinstance(value, str) and len(value) <= self.most
        if is_right:
            return ""
        return f"a text of at most {self.most} characters"


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
        expected = f"a list of at most {self.most} texts of at most {self.longest} characters{self.example}"
        if not _is_list(value, self.most):
            return expected
        for each in value:
            if not isinstance(each, str) or len(each) > self.longest:
                return expected
        return ""


@dataclass(frozen=True, slots=True)
class PlatformsKind(TextsKind):
    """Platforms of participants."""


@dataclass(frozen=True, slots=True)
class FolderKind:
    """A folder of this machine."""

    def check(self, value: object) -> str:
        if isinstance(value, str | Path):
            return ""
        return "a folder's path"


@dataclass(frozen=True, slots=True)
class SeatsKind:
    """Seats by name: a mapping of names to what fills them, or a list of `Seat`s or `name=platform` words."""

    def check(self, value: object) -> str:
        is_right = isinstance(value, Mapping | Sequence) and not isinstance(value, str)
        expected = 'a dict of names and platforms, such as {"ada": "openai:gpt-5-mini"}, or a list of Seats'
        if is_right:
            return ""
        return expected


@dataclass(frozen=True, slots=True)
class PanelKind:
    """A panel: its preset's name, its file, or (in the library) a `Panel`."""

    def check(self, value: object) -> str:
        if isinstance(value, str):
            return ""
        # Imported here: a panel brings its parser with it, and most are given by name.
        from moothall.app.panels import Panel

        if isinstance(value, Panel):
            return ""
        return "a preset's name, a .toml file or a Panel"


@dataclass(frozen=True, slots=True)
class FilesKind:
    """Text files with the question: paths, or `ContextFile`s."""

    most: int

    def check(self, value: object) -> str:
        expected = f"a list of at most {self.most} files: paths or ContextFiles"
        if not _is_list(value, self.most):
            return expected
        for each in value:
            if not isinstance(each, str | Path | ContextFile):
                return expected
        return ""


@dataclass(frozen=True, slots=True)
class TreeKind:
    """A repository at a commit."""

    def check(self, value: object) -> str:
        if isinstance(value, RepositoryTree):
            return ""
        return "a RepositoryTree"


@dataclass(frozen=True, slots=True)
class SettingsKind:
    """The protocol's own settings by their names."""

    def check(self, value: object) -> str:
        if isinstance(value, Mapping):
            return ""
        return "a dict of the protocol's settings"


OptionKind: TypeAlias = (
    SwitchKind
    | CountKind
    | AmountKind
    | DurationKind
    | ChoiceKind
    | LanguageKind
    | TextKind
    | TextsKind
    | FolderKind
    | SeatsKind
    | PanelKind
    | FilesKind
    | TreeKind
    | SettingsKind
)


@dataclass(frozen=True, slots=True)
class SessionOption:
    """One option of a session, as every surface offers it."""

    kind: OptionKind
    """What its value is, with its limits."""
    flag: str = ""
    """How the command line spells it; the key with dashes where this is empty."""
    metavar: str = ""
    """What the command line's help calls the value."""
    refused_by_servers: str = ""
    """Why a server cannot honour it; empty where it can. What an opener refuses stands in its row, what a protocol refuses in it."""
    is_rare: bool = False
    """Whether it is left out of the tools that agents read at every start; it is accepted there all the same."""
    is_internal: bool = False
    """Whether only programs set it: no flag, no parameter."""
    is_recorded: bool = False
    """Whether the opening records the value as it was given, in its field of the same name (`domain/facts.py`, `Opened`)."""


class Options(TypedDict, total=False):
    """The options for opening a session; `describe_option` says what each does. None means not given."""

    seats: Annotated[
        "Mapping[str, SeatFiller] | Sequence[Seat | str]",
        SessionOption(SeatsKind(), flag="--seat", metavar="NAME=PLATFORM"),
    ]
    panel: Annotated[
        "str | Panel | None",
        SessionOption(
            PanelKind(),
            metavar="NAME|FILE",
        ),
    ]
    models: Annotated[
        Sequence[str] | None,
        SessionOption(
            PlatformsKind(MAX_MODELS, MAX_PLATFORM, ', such as ["openai:gpt-5-mini"]'),
            flag="--model",
            metavar="PLATFORM",
        ),
    ]
    protocol: Annotated[str | None, SessionOption(TextKind(MAX_NAME))]
    language: Annotated[Language | None, SessionOption(LanguageKind())]
    turns: Annotated[int | None, SessionOption(CountKind(1, MAX_TURNS))]
    tokens: Annotated[int | None, SessionOption(CountKind(1, MAX_TOKENS))]
    money: Annotated[float | None, SessionOption(AmountKind(MAX_DOLLARS))]
    time: Annotated[float | str | None, SessionOption(DurationKind(MAX_SECONDS))]
    category: Annotated[str | None, SessionOption(TextKind(MAX_LABEL_LENGTH))]
    stakes: Annotated[Stakes | None, SessionOption(ChoiceKind(get_args(Stakes)))]
    tags: Annotated[
        Sequence[str] | None,
        SessionOption(TextsKind(MAX_LABELS, MAX_LABEL_LENGTH), flag="--tag", metavar="TAG"),
    ]
    options: Annotated[
        Sequence[str] | None,
        SessionOption(
            TextsKind(MAX_LABELS, MAX_LABEL_LENGTH),
            flag="--option",
            metavar="ANSWER",
        ),
    ]
    kind: Annotated[
        QuestionKind | None, SessionOption(ChoiceKind(get_args(QuestionKind)), is_rare=True)
    ]
    frame: Annotated[Framing | None, SessionOption(ChoiceKind(get_args(Framing)), is_rare=True)]
    thread: Annotated[
        str | None, SessionOption(TextKind(MAX_LABEL_LENGTH), metavar="THREAD", is_rare=True)
    ]
    built_on: Annotated[
        Sequence[str] | None,
        SessionOption(TextsKind(MAX_LABELS, MAX_LABEL_LENGTH), metavar="DECISION", is_rare=True),
    ]
    review_in: Annotated[float | str | None, SessionOption(DurationKind(MAX_SECONDS), is_rare=True)]
    files: Annotated[
        Sequence[str | Path | ContextFile] | None,
        SessionOption(FilesKind(MAX_FILES), flag="--file", metavar="FILE"),
    ]
    allow_secrets: Annotated[bool | None, SessionOption(SwitchKind(), is_rare=True)]
    tools: Annotated[str | None, SessionOption(ToolsKind(400), metavar="NAMES", is_rare=True)]
    tool_calls: Annotated[int | None, SessionOption(CountKind(1, MAX_TOOL_CALLS), is_rare=True)]
    tool_budget: Annotated[
        Mapping[str, Any] | None, SessionOption(SettingsKind(), metavar="KEY=VALUE", is_rare=True)
    ]
    settings: Annotated[
        Mapping[str, Any] | None, SessionOption(SettingsKind(), flag="--set", metavar="KEY=VALUE")
    ]
    depth: Annotated[
        Depth | None,
        SessionOption(
            ChoiceKind(get_args(Depth)),
            is_rare=True,
        ),
    ]
    facts: Annotated[
        FactsSwitch | None, SessionOption(ChoiceKind(get_args(FactsSwitch)), is_rare=True)
    ]
    seed: Annotated[int | None, SessionOption(CountKind(0, MAX_SEED), is_rare=True)]
    session: Annotated[
        str | None,
        SessionOption(
            TextKind(MAX_NAME),
            metavar="ID",
            refused_by_servers="a server names its sessions; to repeat a call safely, give it an idempotencyKey",
        ),
    ]
    patience: Annotated[float | str | None, SessionOption(DurationKind(MAX_PATIENCE), is_rare=True)]
    consult: Annotated[bool | None, SessionOption(SwitchKind())]
    consult_limit: Annotated[int | None, SessionOption(CountKind(0, MAX_PER_SEAT), is_rare=True)]
    consult_total: Annotated[
        int | None,
        SessionOption(CountKind(0, MAX_PER_SESSION), is_rare=True),
    ]
    consult_patience: Annotated[
        float | str | None,
        SessionOption(DurationKind(31_536_000.0), is_rare=True),
    ]
    gate: Annotated[bool | None, SessionOption(SwitchKind(), is_rare=True)]
    project: Annotated[
        str | Path | None,
        SessionOption(
            FolderKind(),
            metavar="FOLDER",
            refused_by_servers="the records of consultations lie in the project in which the server was started",
        ),
    ]
    reading: Annotated[
        ReadingRule | None,
        SessionOption(ChoiceKind(get_args(ReadingRule)), is_rare=True, is_recorded=True),
    ]
    chance: Annotated[bool, SessionOption(SwitchKind(), is_rare=True, is_recorded=True)]
    memory: Annotated[bool | None, SessionOption(SwitchKind(default=True))]
    check: Annotated[bool | None, SessionOption(SwitchKind(default=True), is_rare=True)]
    hosted: Annotated[bool, SessionOption(SwitchKind(), is_internal=True)]
    demo: Annotated[str, SessionOption(TextKind(80), is_internal=True, is_recorded=True)]
    words_digest: Annotated[str, SessionOption(TextKind(64), is_internal=True, is_recorded=True)]
    tree: Annotated[
        "RepositoryTree | None", SessionOption(TreeKind(), is_internal=True, is_recorded=True)
    ]


SESSION_OPTIONS: Final[Mapping[str, SessionOption]] = {
    name: annotation.__metadata__[0] for name, annotation in Options.__annotations__.items()
}
"""Every option by its name, in the order in which a help text lists them."""

_OF_A_DEMO: Final = frozenset({"language", "session"})
_ANY_PROTOCOL: Final = frozenset({"run", "demo"})
"""The openers that open sessions of any protocol; they have no row."""


def list_public_options() -> dict[str, SessionOption]:
    """Return the options that a person or another program may give."""
    return {name: option for name, option in SESSION_OPTIONS.items() if not option.is_internal}


def describe_option(name: str, language: Language = DEFAULT_LANGUAGE) -> str:
    """Return what an option does: the help of its flag, of the parameter and of the page's form."""
    return OPENING[language].options[name].format(turns=DEFAULT_TURNS)


def find_refusal(name: str, opener: Opener, *, is_server: bool = False) -> str:
    """Return why an opener (on a server) cannot honour an option; empty where it can."""
    if opener == "demo" and name not in _OF_A_DEMO:
        return (
            "a demo was written in advance and plays as it is; hold a meeting of your own with run"
        )
    row = _find_opener(opener)
    if row is not None and name in row.refuses:
        return row.refuses[name]
    if is_server and SESSION_OPTIONS[name].refused_by_servers:
        return SESSION_OPTIONS[name].refused_by_servers
    if row is None:
        return ""
    # Imported here: the protocol itself is needed by those alone who open a session of it.
    from moothall.app.protocols import get_protocol

    return get_protocol(row.protocol).refuses.get(name, "")


def _find_opener(name: Opener) -> OpenerRow | None:
    if name in _ANY_PROTOCOL:
        return None
    if name in index_openers():
        return index_openers()[name]
    # Imported here: only few have openers of other distributions, and everybody would pay for the look.
    from moothall.app.plugins import load_plugins

    for feature in load_plugins().features:
        for opener in feature.openers:
            if opener.name == name:
                return opener
    return None


def refuse_options(
    options: Options, opener: Opener, *, spell: Callable[[str], str] = str, is_server: bool = False
) -> None:
    """Raise BadSetting for the first option that the opener cannot honour. `spell` writes its name as the caller wrote it."""
    for name in options:
        reason = find_refusal(name, opener, is_server=is_server)
        if reason:
            raise BadSetting(f"{spell(name)}: {reason}")


def refuse_by_protocol(options: Options, protocol: str, refuses: Mapping[str, str]) -> None:
    """Raise BadSetting for the first option that the protocol says it cannot honour."""
    for name in options:
        if name in refuses:
            raise BadSetting(f"{name}: {refuses[name]} (protocol {protocol})")


def validate_options(options: Mapping[str, Any]) -> Options:
    """Return the options that were given, without those that are None or an empty list.

    Raises BadSetting when an option does not exist, or when its value is not of its kind or within its limits.
    """
    given: Options = {}
    for name, value in options.items():
        option = SESSION_OPTIONS.get(name)
        if option is None:
            near = get_close_matches(name, SESSION_OPTIONS, 1)
            hint = f" (did you mean {near[0]!r}?)" if near else ""
            raise BadSetting(f"unknown option {name!r}{hint}; known: {', '.join(SESSION_OPTIONS)}")
        if value is None or (
            isinstance(value, Sized) and not isinstance(value, str) and not len(value)
        ):
            continue
        expected = option.kind.check(value)
        if expected:
            raise BadSetting(_explain_fault(name, option.kind, value, expected))
        given[name] = value  # type: ignore[literal-required]  # one of the keys, as the table says
    return given


def _find_longest(kind: OptionKind) -> int:
    """Return how many characters a text of this kind may have."""
    if isinstance(kind, TextKind):
        return kind.most
    if isinstance(kind, TextsKind):
        return kind.longest
    return MAX_TOKENS


def _explain_fault(name: str, kind: OptionKind, value: Any, expected: str) -> str:
    """Say what is wrong with a value; of a text that is too long, its length and not its beginning."""
    limit = _find_longest(kind)
    for text in value if isinstance(value, list | tuple) else [value]:
        if isinstance(text, str) and len(text) > limit:
            return f"{name}: {text[:40]!r}… has {len(text)} characters; at most {limit} are taken"
    is_long = isinstance(kind, DurationKind) and isinstance(value, float) and value > kind.most
    return f"{name} = {f'{value / 86_400:.0f}d' if is_long else repr(value)[:60]} is not {expected}"
