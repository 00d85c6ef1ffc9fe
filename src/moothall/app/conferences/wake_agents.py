"""Agents that are woken for their turn: their prompt, and how their files or output become an answer."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Final, Protocol

from watchfiles import Change, awatch

from moothall.app.conferences.folder_scan import Damage
from moothall.codec.answers import read_answer
from moothall.domain.budget import FREE, Usage
from moothall.domain.effects import Brief
from moothall.domain.safe_text import fix_surrogates, one_line
from moothall.errors import BadAnswer
from moothall.locale.catalogues import ROUNDTABLE_PROMPT
from moothall.participants.agent_recipes import MAX_ARGUMENT_LENGTH, Recipe, find_recipe, load_agents
from moothall.participants.command import CommandParticipant
from moothall.ports.participant import Answer, NoAnswer, OnText
from moothall.protocols.roundtable.sections import is_speechlike

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


class Waker(Protocol):
    """What a woken agent needs from the conference."""

    async def build_wake_prompt(self, brief: Brief, recipe: Recipe) -> str: ...

    def hold(self, role: str) -> None:
        """Leave this role's files to the agent."""
        ...

    def release(self, role: str) -> None: ...

    async def is_written(self) -> bool: ...

    async def collect_answer(self) -> tuple[dict[str, object] | None, tuple[Damage, ...]]: ...


class FileAgentParticipant:
    """A role filled by a program: run in the project's folder, it writes its files itself, or answers with its speech."""

    def __init__(self, command: CommandParticipant, recipe: Recipe, relay: Waker) -> None:
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
        relay.hold(name)
        try:
            ended = await self._wait_for_end(prompt)
            # Files come before output: an agent that wrote them also prints a summary, which is not the speech.
            raw, damage = await relay.collect_answer()
        finally:
            relay.release(name)
        usage = ended.usage if isinstance(ended, NoAnswer) else ended[1]
        if raw is not None:
            read = read_answer(brief, raw)
            return Answer(said=read.said, corrections=read.mends, usage=usage, origin=self._door)
        if damage:
            return NoAnswer(reason="malformed", detail=f"it broke the files: {damage[0]}", usage=usage)
        if isinstance(ended, NoAnswer):
            return ended
        # What an agent without tools prints can be nothing but its answer.
        spoken = _parse_spoken_answer(brief, ended[0], usage, on_text, is_alone=is_without_tools(self._recipe))
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
            return running.result() if running.done() else NoAnswer(reason="timeout", detail="it did not end", usage=FREE)
        finally:
            running.cancel()
            with suppress(asyncio.CancelledError, Exception):
                await running


def _parse_spoken_answer(brief: Brief, text: str, usage: Usage, on_text: OnText, *, is_alone: bool) -> Answer | NoAnswer:
    """Parse the answer of an agent that wrote no files, if it is one: it has a section, or it is too long for a mere report."""
    if brief.ask.kind == "speech" and not is_speechlike(text) and (not is_alone and len(text) < MAX_REPORT_LENGTH):
        fault = f"it wrote no speech, neither as a file nor as its answer: {one_line(text)[:200]}"
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
    return replace(recipe, texts=tuple(path.removeprefix("+") for path in recipe.texts)) if _is_known(recipe) else recipe


def build_wake_text(recipe: Recipe, brief: Brief, wake: str) -> str:
    """Build the prompt of a woken agent: the wake-up sentence, how it may answer, and what it would find in the files.

    Not every agent can read the files, and inputs of the user are in none of them. For a program that takes its prompt as an
    argument the record is cut to fit.
    """
    words = ROUNDTABLE_PROMPT[brief.language]
    how = words.no_tools if is_without_tools(recipe) else words.woken
    parts = [fix_surrogates(part) for part in (wake, how, brief.system, words.files_below, brief.shared, brief.own)]
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
