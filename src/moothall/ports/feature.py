"""The feature port: one row says all that a feature brings. It is read at every start: it names places, and imports nothing."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path


@dataclass(frozen=True, slots=True, kw_only=True)
class CommandRow:
    """A command of `moot`, as the list of commands needs it before its module is loaded."""

    name: str
    """The word behind `moot`."""
    place: str
    """`module:attribute` of the click command, within the feature's package."""
    group: str
    """The heading in `moot --help`: Ask, Take part, Look back, Remember, Serve or Extend; First for one that stands before all."""
    summary: str
    """The first sentence of its help. A test compares the two."""
    parent: str = ""
    """The word before it, for `moot access log`; empty for a command of its own."""
    is_slow: bool = False
    """Whether its module takes a second to load, so that the terminal says so."""


@dataclass(frozen=True, slots=True, kw_only=True)
class OpenerRow:
    """A command or a call that opens sessions of one protocol. What the protocol refuses, it refuses, too."""

    name: str
    """The word by which options name it: `review` in `@session_options("review")`."""
    protocol: str
    """The protocol of its sessions."""
    refuses: Mapping[str, str] = field(default_factory=dict)
    """Options that the opener sets itself, each with the reason and what to use instead."""


@dataclass(slots=True)
class SessionFolder:
    """What a feature writes for a session that runs here."""

    path: Path | None = None
    """The folder; None while nothing is written."""
    fault: str = ""
    """Why it could not be written. The session is whole without it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Feature:
    """Everything that a feature brings, of Moot or of another distribution (entry point `moothall.features`).

    A place is `module:attribute` within `package`, or `:attribute` of the package itself. Nothing is imported before it is used.

        REVIEW = Feature(name="review", package="moothall.features.review", protocols={"review": "plugin:REVIEW"})
    """

    name: str
    """Its name, which is that of its folder."""
    package: str
    """The package that its places lie in."""
    protocols: Mapping[str, str] = field(default_factory=dict)
    """The `ProtocolPlugin`s, by the names of their protocols."""
    wire_names: Mapping[str, str] = field(default_factory=dict)
    """What a protocol is called in the APIs where that is another name: `{"structured_debate": "debate"}`."""
    fact_prefixes: Mapping[str, str] = field(default_factory=dict)
    """The protocol that reads stored facts of a prefix, where that is not its name: `{"council": "debate"}`."""
    openers: tuple[OpenerRow, ...] = ()
    """What opens its sessions, beside `moot run --protocol NAME`."""
    commands: tuple[CommandRow, ...] = ()
    """The commands of `moot`, in the order of the list."""
    operations: tuple[str, ...] = ()
    """Tables of calls (`Operations`): JSON-RPC, OpenRPC, MCP and TypeScript follow from them."""
    services: tuple[str, ...] = ()
    """Coroutine functions that a server runs while it is open; each takes the `Moot`."""
    kinds: tuple[str, ...] = ()
    """Kinds of participants (`ParticipantKind`)."""
    measures: Mapping[str, str] = field(default_factory=dict)
    """What compares texts (`Similarity`), by the name that a setting gives it."""
    live_views: Mapping[str, str] = field(default_factory=dict)
    """What a terminal shows while a session of a protocol runs (`MovingView`), by protocol; a list of its seats where there is none."""
    line_version: int = 0
    """Raise it when what the list shows of a session changes. Without one each process reads the sessions of this feature again; those of
    Moot's own features follow Moot's version."""
    session_folders: Mapping[str, str] = field(default_factory=dict)
    """What writes files of a session that runs here, by protocol: an asynchronous context manager that takes the `Moot`, the plugin,
    the session and the parent folder that was chosen (or None), and gives a `SessionFolder`."""
    panels: str = ""
    """The folder of its shipped panels (`reviewers.en.toml`) within the package."""
    help: str = ""
    """The folder of the translations of its commands' help within the package: `zh.json`, from each sentence to its translation."""
    extra: str = ""
    """The extra that brings its packages, with the module that `moot doctor` looks for: `notify:apprise`."""
