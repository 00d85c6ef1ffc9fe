"""Runs a whole conference unattended: Moot drives the roles that it was given, and waits for the others at their folder.

An agent is woken for its turn with a prompt; its files, or its output, become its answer.
"""

import asyncio
import math
from collections.abc import AsyncIterator, Callable
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Final

from watchfiles import Change, awatch

from moothall.app.outages import run_through_outages
from moothall.domain.causes import state_cause
from moothall.domain.roster import COMMAND
from moothall.domain.safe_text import fix_surrogates
from moothall.features.roundtable.folder_scan import QUIET_SECONDS, Damage
from moothall.features.roundtable.project import ConferenceProject
from moothall.features.roundtable.sections import is_speechlike
from moothall.features.roundtable.status import ConferenceStatus
from moothall.features.roundtable.words import ROUNDTABLE_PROMPT
from moothall.participants.command import MAX_ARGUMENT_LENGTH, CommandParticipant
from moothall.participants.recipes import Recipe, find_recipe, load_agents
from moothall.plugins import (
    FREE,
    SHARED_REPORT,
    Answer,
    BadAnswer,
    Brief,
    Moot,
    NoAnswer,
    OnText,
    Participant,
    Seat,
    SessionId,
    SessionParked,
    Usage,
    one_line,
    resolve_home,
)
from moothall.reading.answers import read_answer
from moothall.reports.wording import explain_outage

LOOK_SECONDS: Final = 3.0
"""How often a folder is polled if its file system reports no changes; one poll reads a handful of files."""

QUIET_MILLISECONDS: Final = 100
_OWN: Final = frozenset({".moot", "aside"})
DONE_SECONDS: Final = 20.0
"""How long an agent that has written its files may take to end by itself."""
MAX_REPORT_LENGTH: Final = 400
"""An agent that can write files may only report what it did: a longer text without sections is its speech."""
WITHOUT_TOOLS: Final = frozenset({"claude", "copilot", "qwen"})
"""Known agents whose recipes give them no tools: they can neither read nor write the files."""
MENTIONING: Final = frozenset({"gemini", "qwen"})
"""Programs that insert a file of the folder into the prompt where it says `@` and the file's name."""


async def watch_changes(folder: Path, look_seconds: float = LOOK_SECONDS) -> AsyncIterator[None]:
    """Yield whenever something may have changed: at once if the file system reports it, else every few seconds."""

    def is_theirs(change: Change, path: str) -> bool:
        parts = Path(path).relative_to(folder).parts
        return not parts or (parts[0] not in _OWN and not parts[-1].startswith("."))

    yield
    while True:
        # It fails on names that are not valid text, on too many watches, and when the folder disappears.
        with suppress(Exception):
            async for _ in awatch(
                folder,
                watch_filter=is_theirs,
                debounce=QUIET_MILLISECONDS,
                step=QUIET_MILLISECONDS // 2,
                rust_timeout=round(look_seconds * 1_000),
                yield_on_timeout=True,
                recursive=False,
            ):
                yield
        await asyncio.sleep(look_seconds)
        yield


class FileAgentParticipant:
    """A role filled by a program: run in the project's folder, it writes its files itself, or answers with its speech."""

    def __init__(self, command: CommandParticipant, recipe: Recipe, relay: "Relay") -> None:
        self._command = command
        self._recipe = recipe
        self._relay = relay
        self._door = f"program:{recipe.name}"

    async def ready(self) -> str | None:
        return await self._command.ready()

    async def respond(self, brief: Brief, on_text: OnText) -> Answer | NoAnswer:
        relay, role = self._relay, brief.seat.id
        name = role if brief.ask.kind == "speech" else "moderator"
        prompt = await relay.build_wake_prompt(brief, self._recipe)
        relay.held.add(name)
        try:
            ended = await self._wait_for_end(prompt)
            # Files come before output: an agent that wrote them also prints a summary, which is not the speech.
            raw, damage = await relay.collect_answer()
        finally:
            relay.held.discard(name)
        usage = ended.usage if isinstance(ended, NoAnswer) else ended[1]
        if raw is not None:
            read = read_answer(brief, raw)
            return Answer(said=read.said, corrections=read.mends, usage=usage, origin=self._door)
        if damage:
            return NoAnswer(
                reason="malformed", detail=state_cause("broke_files", str(damage[0])), usage=usage
            )
        if isinstance(ended, NoAnswer):
            return ended
        # What an agent without tools prints can be nothing but its answer.
        spoken = _parse_spoken_answer(
            brief, ended[0], usage, on_text, is_alone=is_without_tools(self._recipe)
        )
        return replace(spoken, origin=self._door) if isinstance(spoken, Answer) else spoken

    async def _wait_for_end(self, prompt: str) -> tuple[str, Usage] | NoAnswer:
        """Wait for the program's end; one that has written its files gets a little more time."""
        running = asyncio.create_task(self._command.run_prompt(prompt))
        try:
            while not running.done():
                await asyncio.wait([running], timeout=LOOK_SECONDS)
                if not running.done() and await self._relay.is_written():
                    await asyncio.wait([running], timeout=DONE_SECONDS)
                    break
            return (
                running.result()
                if running.done()
                else NoAnswer(reason="timeout", detail=state_cause("endless"), usage=FREE)
            )
        finally:
            running.cancel()
            with suppress(asyncio.CancelledError, Exception):
                await running


def _parse_spoken_answer(
    brief: Brief, text: str, usage: Usage, on_text: OnText, *, is_alone: bool
) -> Answer | NoAnswer:
    """Parse the answer of an agent that wrote no files, if it is one: it has a section, or it is too long for a mere report."""
    if (
        brief.ask.kind == "speech"
        and not is_speechlike(text)
        and (not is_alone and len(text) < MAX_REPORT_LENGTH)
    ):
        fault = state_cause("no_speech", one_line(text)[:200])
        return NoAnswer(reason="malformed", detail=fault, usage=usage)
    try:
        read = read_answer(brief, text)
    except BadAnswer as cause:
        return NoAnswer(reason=cause.loss, detail=str(cause), usage=usage)
    on_text(text)
    return Answer(said=read.said, corrections=read.mends, usage=usage)


def build_wake_recipe(name: str) -> Recipe:
    """Return the recipe for running an agent in the project's folder."""
    recipe = find_recipe(name)
    # Between tool calls the agent may say what it is doing: only its last text is the speech.
    return (
        replace(recipe, texts=tuple(path.removeprefix("+") for path in recipe.texts))
        if _is_known(recipe)
        else recipe
    )


def build_wake_text(recipe: Recipe, brief: Brief, wake: str) -> str:
    """Build the prompt of a woken agent: the wake-up sentence, how it may answer, and what it would find in the files.

    Not every agent can read the files, and inputs of the user are in none of them. For a program that takes its prompt as an
    argument the record is cut to fit.
    """
    words = ROUNDTABLE_PROMPT[brief.language]
    how = words.no_tools if is_without_tools(recipe) else words.woken
    parts = [
        fix_surrogates(part)
        for part in (wake, how, brief.system, words.files_below, brief.shared, brief.own)
    ]
    if Path(recipe.argv[0]).name in MENTIONING:
        # Escaped, because text of participants must not pull files into the prompt.
        parts = [part.replace("@", "\\@") for part in parts]
    return _fit_argument(parts, words.files_cut) if recipe.words is None else "\n\n".join(parts)


def _fit_argument(parts: list[str], cut: str) -> str:
    """Join the parts into one argument; of the last but one, the record, as much as fits."""
    *head, shared, own = parts
    over = len("\n\n".join(parts).encode()) - MAX_ARGUMENT_LENGTH
    if over <= 0:
        return "\n\n".join(parts)
    # Counted in bytes: the limit of an argument is in bytes, and one character may take four.
    room = len(shared.encode()) - over - len(f"\n{cut}".encode())
    if room < 0:
        return "\n\n".join(head[:2])
    return "\n\n".join([*head, f"{shared.encode()[:room].decode('utf-8', 'ignore')}\n{cut}", own])


def is_without_tools(recipe: Recipe) -> bool:
    return _is_known(recipe) and recipe.name in WITHOUT_TOOLS


def _is_known(recipe: Recipe) -> bool:
    """Whether it is one of Moot's own recipes, with or without a chosen model, and not a file of that name."""
    known = load_agents().get(recipe.name)
    return known is not None and recipe.argv[: len(known.argv)] == known.argv


PASSED: Final[tuple[str, ...]] = ("MOOT_HOME", "MOOT_LEDGER")

Notify = Callable[[str], None]


class Relay:
    """Runs one conference to its minutes. `notify` receives what people should know beside the entries."""

    def __init__(
        self,
        moot: Moot,
        hall: ConferenceProject,
        name: str,
        notify: Notify,
        look_seconds: float = LOOK_SECONDS,
    ) -> None:
        self._moot = moot
        self._hall = hall
        self._name = name
        self._notify = notify
        self._look_seconds = look_seconds
        self.held: set[str] = set()
        """The roles whose files are left to their agents."""
        self._session: SessionId | None = None
        self._damaged_since: float | None = None

    async def run(self) -> ConferenceStatus:
        """Run until the conference is over; raises SessionBusy if another process does so already."""
        status = await self._sync_folder(at_once=True)
        # From here on the folder belongs to this session, whatever agents do to it.
        session = self._session = status.session
        language = status.conference.opened.language

        def tell_parked(parked: SessionParked, delay: float) -> None:
            again = SHARED_REPORT[language].trying_again.format(seconds=round(delay))
            self._notify(f"{again} ({one_line(explain_outage(parked.causes, language))})")

        running = asyncio.create_task(
            run_through_outages(
                self._moot.engine,
                session,
                self._seat_participant,
                seconds=math.inf,
                on_parked=tell_parked,
            )
        )
        helpers = [
            asyncio.create_task(self._follow_ledger(session)),
            asyncio.create_task(self._watch_folder()),
        ]
        try:
            await asyncio.wait([running, *helpers], return_when=asyncio.FIRST_COMPLETED)
            # A helper never ends by itself: if one is done, its failure is raised here.
            for task in helpers:
                if task.done():
                    task.result()
            is_closed = (await running).is_closed
        finally:
            running.cancel()
            for task in helpers:
                task.cancel()
            with suppress(asyncio.CancelledError):
                await asyncio.wait([running, *helpers])
        status = await self._sync_folder(at_once=True)
        if is_closed:
            await self._moot.remembering.remember_if_possible(session)
        return status

    async def _follow_ledger(self, session: SessionId) -> None:
        """Write new ledger entries to the folder."""
        seen = 0
        while True:
            seen = await self._moot.engine.wait_for_change(session, seen)
            await self._sync_folder()

    async def _watch_folder(self) -> None:
        async for _ in watch_changes(self._hall.table / self._name, self._look_seconds):
            await self._sync_folder()

    async def _sync_folder(self, *, at_once: bool = False) -> ConferenceStatus:
        """Synchronize folder and ledger; lasting damage is repaired, so that nobody waits for it."""
        async with self._hall.open_conference(self._name, self._session) as conference:
            status = await conference.sync(held=frozenset(self.held))
            now = asyncio.get_running_loop().time()
            # A running agent may be in the middle of its writes: nothing counts as damage until it is done.
            if not status.damage or self.held:
                self._damaged_since = None
                return status
            if self._damaged_since is None:
                self._damaged_since = now
            if at_once or now - self._damaged_since > QUIET_SECONDS:
                for line in await conference.repair():
                    self._notify(line)
                self._damaged_since = None
                return await conference.sync()
            return status

    def _seat_participant(self, seat: Seat) -> Participant | None:
        kind, _, name = seat.platform.partition(":")
        if kind != COMMAND or self._moot.seating.refuse_program(seat.platform) is not None:
            return self._moot.seating(seat)
        environ = self._moot.environ
        recipe = build_wake_recipe(name)
        # What an agent does with `moot` itself must reach the same ledger.
        known = {variable: environ[variable] for variable in PASSED if variable in environ}
        recipe = replace(recipe, environ={**recipe.environ, **known})
        return FileAgentParticipant(
            CommandParticipant(recipe, self._hall.root, environ, resolve_home(environ) / "agents"),
            recipe,
            self,
        )

    async def build_wake_prompt(self, brief: Brief, recipe: Recipe) -> str:
        status = await self._sync_folder(at_once=True)
        words = ROUNDTABLE_PROMPT[brief.language]
        wake = words.wake if brief.ask.kind == "speech" else words.wake_moderator
        prompt = one_line(status.turn.prompt_for_speaker)
        return build_wake_text(
            recipe, brief, wake.format(conference=self._name, role=brief.seat.id, prompt=prompt)
        )

    async def is_written(self) -> bool:
        """Whether the files hold the complete next step."""
        async with self._hall.open_conference(self._name, self._session) as conference:
            status = await conference.sync(held=frozenset(self.held))
            return bool(status.writing) and conference.is_turn_changed()

    async def collect_answer(self) -> tuple[dict[str, object] | None, tuple[Damage, ...]]:
        """Return what an agent left in the files as its answer; damage that it caused is repaired."""
        async with self._hall.open_conference(self._name, self._session) as conference:
            before = await conference.load_conference()
            raw = conference.collect_answer(before)
            if raw is not None:
                return raw, ()
            status = await conference.sync(whole=True, is_finished=True)
            for line in await conference.repair() if status.damage else []:
                self._notify(line)
            return None, status.damage
