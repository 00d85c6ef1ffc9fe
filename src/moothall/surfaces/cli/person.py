"""Questions to a person at the terminal, one at a time, with history, several lines, and a draft that survives."""

import asyncio
import json
import os
import signal
import sys
from collections.abc import Awaitable, Callable
from contextlib import suppress
from datetime import datetime
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING, Final, NamedTuple

from rich.console import Console
from rich.text import Text

from moothall.app.environment import resolve_home, resolve_ledger_address
from moothall.domain.safe_text import one_line, strip_control
from moothall.locale.catalogues import TERMINAL_PROMPT
from moothall.participants.human import AskPerson, PersonQuestion

if TYPE_CHECKING:
    from prompt_toolkit import PromptSession
    from prompt_toolkit.buffer import Buffer
    from prompt_toolkit.key_binding import KeyBindings, KeyPressEvent

MAX_TYPED: Final = 500
"""How many earlier lines come back: the newest."""


def _build_path(folder: str, session: str, seat: str, ending: str) -> Path:
    """Return the file of one seat in one session. Its name is a digest: neither a session nor a seat becomes a path."""
    address = resolve_ledger_address(os.environ)
    name = sha256("\0".join((address, session, seat)).encode()).hexdigest()[:32]
    return resolve_home(os.environ) / folder / f"{name}{ending}"


class TypedDraft(NamedTuple):
    """What was typed in answer to one ask: the questions that were answered, and the text of the one that is open."""

    ask: str
    step: str
    text: str
    answered: dict[str, str]

    def find_text(self, ask: str, step: str) -> str:
        """What was typed for a question, answered or not; empty where nothing was."""
        if self.ask != ask:
            return ""
        return self.text if self.step == step and self.text.strip() else self.answered.get(step, "")


class DraftFile:
    """The draft of one seat in one session."""

    def __init__(self, session: str, seat: str) -> None:
        self._path = _build_path("drafts", session, seat, ".json")

    def load(self) -> TypedDraft | None:
        """Return what was typed and not sent; None if nothing was, or if it cannot be read."""
        try:
            stored = json.loads(self._path.read_text(encoding="utf-8"))
            return TypedDraft(
                str(stored["ask"]),
                str(stored["step"]),
                str(stored["text"]),
                dict(stored["answered"]),
            )
        except (OSError, ValueError, KeyError, TypeError):
            return None

    def save(self, ask: str, step: str, text: str, *, is_answered: bool = False) -> None:
        """Keep what was typed so far. Typing goes on if the disk does not take it."""
        stored = self.load()
        stored = (
            stored if stored is not None and stored.ask == ask else TypedDraft(ask, step, "", {})
        )
        answered = stored.answered
        if is_answered:
            # What stands open at another question stays.
            answered, step, text = (
                {**answered, step: text},
                stored.step,
                "" if stored.step == step else stored.text,
            )
        if not text and not answered:
            self.clear()
            return
        with suppress(OSError):
            self._path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
            new = self._path.with_suffix(".new")
            # Called for every key: a rename keeps the file whole, and waiting for the disk would be felt.
            new.write_text(
                json.dumps({"ask": ask, "step": step, "text": text, "answered": answered}),
                encoding="utf-8",
            )
            new.chmod(0o600)
            new.replace(self._path)

    def clear(self) -> None:
        with suppress(OSError):
            self._path.unlink(missing_ok=True)


class HistoryFile:
    """What one seat said in one session, one text on each line as JSON; nobody else's words come back with the Up key."""

    def __init__(self, session: str, seat: str) -> None:
        self._path = _build_path("history", session, seat, ".jsonl")

    def load(self) -> list[str]:
        """Return what was typed, the oldest first; a line that cannot be read is passed over."""
        texts: list[str] = []
        try:
            lines = self._path.read_text(encoding="utf-8", errors="replace").splitlines()
        except OSError:
            return texts
        for line in lines[-MAX_TYPED:]:
            with suppress(ValueError):
                typed = json.loads(line)
                texts += [typed] if isinstance(typed, str) else []
        return texts

    def append(self, text: str) -> None:
        """Keep what was sent. The answer counts if the disk does not take it."""
        with suppress(OSError):
            self._path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
            # Private from the first byte on.
            with os.fdopen(
                os.open(self._path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600),
                "a",
                encoding="utf-8",
            ) as file:
                file.write(json.dumps(text) + "\n")


LEAVE = "/leave"


class PersonScreen:
    """The screen at which a person sits; this one shows nothing of the session but the question."""

    def __init__(self, session: str, deadline: datetime | None = None) -> None:
        self.session = session
        self._deadline = deadline

    def pause(self) -> None:
        """Stop what moves, while the person types."""

    def resume(self) -> None:
        """Let it move again."""

    async def catch_up(self) -> bool:
        """Show everything that was said before the question; False if this screen shows no contributions."""
        return False

    def find_deadline(self, ask: str) -> datetime | None:
        return self._deadline


class TerminalPrompt:
    """Asks at this terminal. Two seats are asked one after the other."""

    def __init__(
        self, screen: PersonScreen, leave: Callable[[], Awaitable[None]] | None = None
    ) -> None:
        """`leave` is called when the person leaves, before None is returned."""
        self._screen = screen
        self._leave = leave
        self._one_at_a_time = asyncio.Lock()
        self._console = Console(stderr=True, highlight=False)
        # One for each seat: two people at one terminal do not get each other's words back.
        self._prompts: dict[str, PromptSession[str]] = {}

    async def __call__(self, question: PersonQuestion) -> str | None:
        async with self._one_at_a_time:
            is_shown = await self._screen.catch_up() if question.is_first else True
            self._screen.pause()
            try:
                draft = DraftFile(self._screen.session, question.seat)
                typed = await self._ask(question, draft, is_shown=is_shown)
            finally:
                self._screen.resume()
            if typed is None and self._leave is not None:
                await self._leave()
            return typed

    async def _ask(
        self, question: PersonQuestion, draft: DraftFile, *, is_shown: bool
    ) -> str | None:
        for line in self._describe(question, is_shown=is_shown):
            self._console.print(line, soft_wrap=True)
        try:
            typed = await self._read(question, draft, self._take_up(question, draft))
        except EOFError:
            return None
        except KeyboardInterrupt:
            # As Ctrl-C does everywhere: the command is stopped, and what was typed stays in the draft.
            signal.raise_signal(signal.SIGINT)
            await asyncio.Event().wait()
            raise
        if typed.strip() == LEAVE:
            draft.save(question.ask, question.step, "")
            return None
        # Who stops at a later question of this ask finds this answer in its prompt. An empty line confirms what stands there.
        if typed.strip() or not question.complaint:
            draft.save(question.ask, question.step, typed, is_answered=True)
        if question.is_words and typed.strip():
            HistoryFile(self._screen.session, question.seat).append(typed)
        return typed

    def _take_up(self, question: PersonQuestion, draft: DraftFile) -> str:
        """Return what stands in the prompt. A draft for another question comes back with the key for earlier lines."""
        stored, words = draft.load(), TERMINAL_PROMPT[question.language]
        if stored is None or question.complaint:
            return question.default
        if text := stored.find_text(question.ask, question.step):
            self._console.print(Text(f"  {words.draft}", style="dim"))
            return text
        if question.is_words and stored.text.strip():
            self._open_prompt(question.seat).history.append_string(stored.text)
            self._console.print(
                Text(f"  {words.earlier.format(text=one_line(stored.text)[:60])}", style="dim")
            )
        return question.default

    def _describe(self, question: PersonQuestion, *, is_shown: bool) -> list[Text]:
        words = TERMINAL_PROMPT[question.language]
        lines = [question.spoken if is_shown else question.news, question.about]
        shown = [Text(f"\n{strip_control(part)}") for part in lines if part]
        if question.complaint:
            shown.append(Text(f"! {strip_control(question.complaint)}", style="red"))
        shown.append(Text(f"\n{question.seat}: {strip_control(question.text)}", style="bold"))
        shown += [
            Text(f"  {number} {strip_control(choice.text)}")
            for number, choice in enumerate(question.choices, 1)
        ]
        hints = []
        if not question.choices:
            hints.append(words.send)
            if question.is_long:
                hints.append(words.several)
        hints += [f"{command.word}: {command.text}" for command in question.commands]
        hints.append(words.leave)
        deadline = self._screen.find_deadline(question.ask) if question.is_first else None
        if deadline is not None:
            hints.append(words.until.format(time=f"{deadline.astimezone():%Y-%m-%d %H:%M}"))
        if question.is_first:
            shown.append(Text(f"  ({' · '.join(hints)})", style="dim"))
        return shown

    def _open_prompt(self, seat: str) -> "PromptSession[str]":
        """Return the prompt of a seat; the Up key brings back what it typed, in earlier sittings, too."""
        # Loaded when a person is first asked: other commands do not pay for it.
        from prompt_toolkit import PromptSession
        from prompt_toolkit.history import InMemoryHistory
        from prompt_toolkit.output import create_output
        from prompt_toolkit.output.vt100 import Vt100_Output

        if seat not in self._prompts:
            output = create_output(always_prefer_tty=True)
            if isinstance(output, Vt100_Output):
                # Nothing here depends on where the cursor is, and not every terminal answers that question.
                output.enable_cpr = False
            self._prompts[seat] = PromptSession(
                history=InMemoryHistory(HistoryFile(self._screen.session, seat).load()),
                output=output,
                key_bindings=_build_keys(),
                multiline=True,
                reserve_space_for_menu=0,
            )
        return self._prompts[seat]

    async def _read(self, question: PersonQuestion, draft: DraftFile, default: str) -> str:
        prompt = self._open_prompt(question.seat)
        buffer = prompt.default_buffer

        def keep(changed: "Buffer") -> None:
            draft.save(question.ask, question.step, changed.text)

        def start() -> None:
            # The number of a line is typed again in no time, and must not push out a draft.
            if question.is_words:
                buffer.on_text_changed += keep

        try:
            return await prompt.prompt_async(
                f"{question.seat}> ", default=default, pre_run=start, handle_sigint=False
            )
        finally:
            with suppress(ValueError):
                buffer.on_text_changed -= keep


def _build_keys() -> "KeyBindings":
    from prompt_toolkit.key_binding import KeyBindings

    keys = KeyBindings()

    @keys.add("enter")
    def send(event: "KeyPressEvent") -> None:
        event.current_buffer.validate_and_handle()

    # A terminal that is not yet in raw mode sends a line feed for Enter.
    @keys.add("escape", "c-j")
    @keys.add("escape", "enter")
    def add_line(event: "KeyPressEvent") -> None:
        event.current_buffer.insert_text("\n")

    # Also with words in the line, which stay in the draft: by itself the prompt leaves only an empty one.
    @keys.add("c-d")
    def leave(event: "KeyPressEvent") -> None:
        event.app.exit(exception=EOFError())

    return keys


def build_terminal_ask(
    screen: PersonScreen, leave: Callable[[], Awaitable[None]] | None = None
) -> AskPerson | None:
    """How to ask; None where nobody sits at a terminal."""
    return TerminalPrompt(screen, leave) if sys.stdin.isatty() else None


async def stop_command() -> None:
    """Stop this command as Ctrl-C does: nothing is lost, and the seat is asked again when the session is resumed."""
    signal.raise_signal(signal.SIGINT)
    await asyncio.Event().wait()
