"""Creates the participant of a seat from its platform, and discovers the platforms that are available."""

import asyncio
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Final, Literal, Protocol, get_args, runtime_checkable

from moothall.app.outages import CHECK_SECONDS
from moothall.app.plugins import find_measure, load_kinds, load_plugins
from moothall.app.user_settings import load_tool_sources, resolve_settings_file
from moothall.domain.budget import GIVEN_TOOLS
from moothall.domain.effects import AnswerForm, Brief
from moothall.domain.facts import Language
from moothall.domain.ids import SeatId
from moothall.domain.roster import ACP, COMMAND, DIRECTOR, FUNCTION, Seat, parse_kind
from moothall.engine.outages import explain_unready
from moothall.errors import BadRoster, BadSetting, ProviderRefused, UnknownPlatform
from moothall.locale.catalogues import LANGUAGE
from moothall.participants import acp_seat
from moothall.participants.command import CommandParticipant
from moothall.participants.director import DirectorParticipant
from moothall.participants.function import AnswerFunction, FunctionParticipant
from moothall.participants.human import AskPerson
from moothall.participants.kinds import (
    ADDRESS,
    MODEL,
    KindTable,
    ParticipantKind,
    SeatRequest,
    build_acp,
    build_command,
)
from moothall.participants.lookup import Lookup, build_lookup_participant
from moothall.participants.model import ModelParticipant
from moothall.participants.named_tools import ToolBox, ToolFailure
from moothall.participants.provider_limits import LocalLimits
from moothall.participants.recipes import load_agents
from moothall.ports.participant import Answer, NoAnswer, OnText, Participant, ProviderLimits
from moothall.protocols.consultation.facts import RECORD

SEARCH = "MOOT_SEARCH"
"""The variable that names the search program: an agent's name, or a recipe file."""

GivenParticipant = ParticipantKind | Participant | AnswerFunction
"""What a program may put under a name of its own: a row of the table, a participant, or a function that answers."""
LocalServer = Literal["ollama", "lmstudio", "llamacpp", "vllm"]
LOCAL_SERVERS: Final[tuple[LocalServer, ...]] = get_args(LocalServer)


@runtime_checkable
class _Closing(Protocol):
    async def aclose(self) -> None: ...


@runtime_checkable
class _Responding(Participant, Protocol):
    """What distinguishes a participant from a function."""


@runtime_checkable
class _FormChecking(Protocol):
    def check(self, forms: Mapping[str, AnswerForm]) -> None: ...


class Seating:
    """Makes participants by the table of kinds; one that holds a connection or a model is shared by the seats of its platform."""

    def __init__(
        self,
        home: Path,
        environ: Mapping[str, str],
        ask_person: AskPerson | None = None,
        given: Mapping[str, GivenParticipant] | None = None,
        limits: ProviderLimits | None = None,
    ) -> None:
        self._limits = limits or LocalLimits()
        self._home = home
        self.models = home / "models"
        """The folder of the embedded model's weights."""
        self._environ = environ
        self._ask_person = ask_person
        self._shared: dict[str, Participant] = {}
        self._lookup: Lookup | None = None
        self.tools = ToolBox(lambda: load_tool_sources(environ), environ)
        self._functions: dict[str, AnswerFunction] = {}
        self._programs: frozenset[str] | None = None
        self._servers: frozenset[str] = frozenset()
        self.probed_servers: Sequence[str] = LOCAL_SERVERS
        """The local servers that are looked for."""
        self.kinds = KindTable(load_plugins().kinds)
        for name, participant in (given or {}).items():
            self.add(name, participant)

    def limit_programs(self, programs: Iterable[str] | None) -> None:
        """Start only these programs for seats: agents by their names, or recipe files; None: any."""
        self._programs = None
        if programs is not None:
            self._programs = frozenset(_name_program(each) for each in programs)

    def list_servers(self, servers: Sequence[str], *, is_local: bool) -> None:
        """Let callers from the network seat models of these local servers, and look for no others unless it `is_local`."""
        self._servers = frozenset(servers)
        self.probed_servers = servers
        if is_local:
            self.probed_servers = LOCAL_SERVERS

    def is_listed(self, platform: str) -> bool:
        """Whether a platform is a program or local server listed by name: then callers from the network may seat it, too."""
        if platform.strip().partition("?")[0].partition(":")[0] in self._servers:
            return True
        return (
            self._programs is not None
            and parse_kind(platform) in {COMMAND, ACP}
            and self.refuse_program(platform) is None
        )

    def refuse_program(self, platform: str) -> str | None:
        """Why the program of a seat may not be started here; None if it may, or if the seat has none."""
        kind, _, name = platform.partition(":")
        kind = kind.strip().lower()
        if self._programs is None or kind not in {COMMAND, ACP}:
            return None
        if kind == ACP:
            name = f"{ACP}:{name}"
        if _name_program(name) in self._programs:
            return None
        return f"this server may not start the program {name!r}; list it under `programs` in {self._home / 'server.toml'}"

    def add(self, name: str, given: GivenParticipant) -> None:
        """Put a participant of the program's own under a name, which seats then have as their platform; raises BadSetting."""
        if not parse_kind(name).replace("_", "a").replace("-", "a").isalnum():
            raise BadSetting(
                f"participants: {name!r} is not a name; use letters, digits, '_' and '-'"
            )
        if name == parse_kind(name) and load_kinds().is_known(name):
            raise BadSetting(
                f"participants: {name!r} is one of Moot's own platforms; choose another name"
            )
        self.kinds.add(_build_kind(name, given))

    def add_function(self, seat: str, function: AnswerFunction) -> str:
        """The platform of a seat that a function fills: the function's name, and the seat's where another has that name."""
        name = getattr(function, "__name__", type(function).__name__)
        if not name.isidentifier():
            # A lambda has no name of its own.
            name = "function"
        for platform in (
            f"{FUNCTION}:{name}",
            f"{FUNCTION}:{seat}.{name}",
            f"{FUNCTION}:{seat}.{name}.{id(function)}",
        ):
            if self._functions.setdefault(platform, function) is function:
                self.kinds.add(_build_kind(platform, function))
                return platform
        raise AssertionError("the last platform is the function's own")

    def __call__(self, seat: Seat) -> Participant | None:
        """The participant of a seat, None for one that answers from elsewhere; raises CallerError."""
        if seat.id == DIRECTOR.id:
            return DirectorParticipant(find_measure)
        kind = self.kinds.find(seat.platform)
        if (why := self.refuse_program(seat.platform)) is not None:
            return RefusedProgram(why)
        if parse_kind(seat.platform) == FUNCTION and kind.name != seat.platform:
            name = seat.platform.partition(":")[2]
            raise UnknownPlatform(
                f"seat {seat.id!r} is filled by the Python function {name!r}, which this process does not have; "
                f"give it again: Moot(participants={{{seat.platform!r}: {name.rpartition('.')[2]}}})"
            )
        if not kind.is_shared:
            return self._with_search(kind, kind.make(self._request(seat)))
        if seat.platform not in self._shared:
            made = kind.make(self._request(seat))
            if made is None:
                return None
            self._shared[seat.platform] = made
        return self._with_search(kind, self._shared[seat.platform])

    def find_model(self, platform: str) -> ModelParticipant | None:
        """The model that a platform names, None where it names something else; raises UnknownPlatform."""
        if self.kinds.find(platform).name not in {ADDRESS, MODEL}:
            return None
        self(Seat(id=SeatId("model"), platform=platform))
        shared = self._shared.get(platform)
        if isinstance(shared, ModelParticipant):
            return shared
        return None

    def _request(self, seat: Seat) -> SeatRequest:
        argument = seat.platform.partition(":")[2]
        return SeatRequest(
            seat=seat,
            argument=argument,
            environ=self._environ,
            home=self._home,
            ask_person=self._ask_person,
            known=self.kinds.usages,
            limits=self._limits,
            tools=self.tools,
        )

    async def check_tools(
        self, names: Iterable[str], language: Language, *, is_tried: bool
    ) -> None:
        """Reject tools that are not set up, and those that fail where they are tried; raises BadSetting or ProviderRefused."""
        for name in names:
            if self.tools.find(name) is None:
                known = ", ".join((*GIVEN_TOOLS, *load_tool_sources(self._environ)))
                file = resolve_settings_file(self._environ)
                raise BadSetting(
                    f"tools: {name!r} is not set up: add [tools.{name}] to {file}, or choose of: {known}"
                )
            try:
                if is_tried:
                    await self.tools.list_tools(name, language)
            except ToolFailure as failure:
                raise ProviderRefused(f"tools: {name}: {failure}") from failure

    def search(self) -> CommandParticipant | None:
        """The program that things are looked up with, None where none is named; raises UnknownPlatform or BadPanel."""
        name = self._environ.get(SEARCH, "").strip().removeprefix(f"{COMMAND}:")
        if not name:
            return None
        try:
            return self._build_command(name, "search")
        except UnknownPlatform as error:
            raise UnknownPlatform(f"{SEARCH}: {error}") from error

    def _with_search(self, kind: ParticipantKind, mind: Participant | None) -> Participant | None:
        """The mind with what it can look things up with, if there is any. Results are cached for all seats."""
        if mind is None or not kind.looks_up:
            return mind
        if self._lookup is None and (program := self.search()) is not None:
            self._lookup = Lookup(program.run_prompt)
        if self._lookup is None:
            return mind
        return build_lookup_participant(mind, self._lookup)

    def check_scripts(self, seats: Sequence[Seat], forms: Mapping[str, AnswerForm]) -> None:
        """Refuse what would fail in the middle of a meeting: errors in scripts, seats that the protocol asks too much of.

        Raises BadScript or BadRoster.
        """
        # What seats can be asked for: all kinds of answers but those of Moot itself.
        asked = {kind: form for kind, form in forms.items() if kind != RECORD}
        for seat in seats:
            participant: object = self(seat)
            if isinstance(participant, _FormChecking):
                try:
                    participant.check(asked)
                except BadRoster as error:
                    raise BadRoster(f"seat {seat.id!r}: {error}") from error

    async def check(
        self, seats: Sequence[Seat], language: Language, ready: Collection[str] = ()
    ) -> None:
        """Reject seats that cannot work, before anything is recorded; raises with the first reason and its remedy.

        The platforms in `ready` have just been asked.
        """
        participants = {seat.id: self(seat) for seat in seats if seat.platform not in ready}
        for seat in seats:
            kind = self.kinds.find(seat.platform)
            if (
                kind.languages is not None
                and language not in kind.languages
                and ":" not in seat.platform
            ):
                name = LANGUAGE[language].english_name
                raise BadRoster(
                    f"seat {seat.id!r}: the embedded model speaks English only; for a {name} meeting set a provider's key, "
                    f"start a local model server, or give a GGUF file that speaks {name} as embedded:FILE"
                )
        for seat_id, sentence in (await explain_unready(participants, CHECK_SECONDS)).items():
            raise ProviderRefused(f"seat {seat_id!r}: {sentence}")

    async def check_search(self, forms: Mapping[str, AnswerForm]) -> None:
        """Reject a search that cannot work, if the protocol uses one; raises ProviderRefused."""
        if not any(form.looks_up for form in forms.values()):
            return
        program = self.search()
        if program is not None and (sentence := await program.ready()) is not None:
            raise ProviderRefused(f"{SEARCH}: {sentence}")

    async def agents(self) -> dict[str, str | None]:
        """Return the known coding agents with their versions, None for those that are not installed."""
        versions = await asyncio.gather(
            *(self._build_command(name, "doctor").version() for name in load_agents())
        )
        return dict(zip(load_agents(), versions, strict=True))

    async def introduce_agents(self) -> dict[str, tuple[bool, str]]:
        """Return whether each agent that can speak ACP does here, and what it says of itself; only those that are installed."""
        if not acp_seat.is_installed():
            return {}
        here: dict[str, acp_seat.AcpParticipant] = {}
        for name in load_agents():
            seat = build_acp(self._request(Seat(id=SeatId("doctor"), platform=f"{ACP}:{name}")))
            if await seat.ready() is None:
                here[name] = seat
        words = await asyncio.gather(*map(_introduce, here.values()))
        return dict(zip(here, words, strict=True))

    def _build_command(self, name: str, seat: str) -> CommandParticipant:
        return build_command(self._request(Seat(id=SeatId(seat), platform=f"{COMMAND}:{name}")))

    async def aclose(self) -> None:
        for participant in self._shared.values():
            if isinstance(participant, _Closing):
                await participant.aclose()
        self._shared.clear()
        await self.tools.aclose()


async def _introduce(seat: acp_seat.AcpParticipant) -> tuple[bool, str]:
    try:
        return True, await seat.introduce()
    except (OSError, ValueError) as cause:
        return False, str(cause)


class RefusedProgram:
    """Fills a seat whose program may not be started here: the session is parked until it may be, or runs elsewhere."""

    def __init__(self, why: str) -> None:
        self._why = why

    async def ready(self) -> str | None:
        return self._why

    async def respond(self, brief: Brief, on_text: OnText) -> Answer | NoAnswer:
        return NoAnswer(reason="unreachable", detail=self._why)


def _name_program(name: str) -> str:
    """One name for one program: an agent's without its model, a file's whole path."""
    name = name.strip().removeprefix(f"{COMMAND}:")
    if name.startswith(f"{ACP}:"):
        # Its whole command, with what it is permitted: another one is another program.
        return name
    if name.endswith(".toml"):
        return str(Path(name).expanduser().resolve())
    return name.partition(":")[0]


def _build_kind(name: str, given: GivenParticipant) -> ParticipantKind:
    """A row of the table for what a program gives; raises BadSetting for what is none of them."""
    if isinstance(given, ParticipantKind):
        return replace(given, name=name)
    if isinstance(given, type) or not (callable(given) or isinstance(given, _Responding)):
        raise BadSetting(
            f"participants: {name!r} is a {type(given).__name__}; expected a function that takes a brief and returns the answer, "
            "an object with respond() and ready(), or a ParticipantKind"
        )
    if isinstance(given, _Responding):
        return ParticipantKind(name=name, make=lambda request: given)
    participant = FunctionParticipant(given)
    return ParticipantKind(name=name, make=lambda request: participant)
