"""A seat filled by a program: a headless coding agent, or any program with a recipe.

Each ask is one run. The prompt contains everything, so that a run needs no memory of the previous one. An answer that cannot be
used gets one correction, in the same session of the agent if it has sessions.
"""

import asyncio
import os
import shutil
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Final
from uuid import uuid4

from moothall.codec.answers import read_answer
from moothall.codec.schemas import build_correction, build_user_prompt
from moothall.disk.private import make_private_folder, write_atomically
from moothall.domain.budget import FREE, Usage
from moothall.domain.effects import Brief
from moothall.domain.safe_text import fix_surrogates, one_line
from moothall.errors import BadAnswer
from moothall.participants.agent_recipes import FAILED, MAX_ARGUMENT_LENGTH, AgentOutput, Recipe, fill_arguments, parse_output
from moothall.participants.subprocess_runner import ProcessResult, run_program
from moothall.ports.participant import Answer, NoAnswer, OnText

READY_SECONDS: Final = 60.0
MAX_COMPLAINT_LENGTH: Final = 300
MAX_VERSION_LENGTH: Final = 80

PASSED: Final = frozenset(
    {"PATH", "HOME", "USER", "LANG", "LC_ALL", "TMPDIR", "XDG_CONFIG_HOME", "XDG_DATA_HOME", "XDG_CACHE_HOME"}
    | {"HTTP_PROXY", "HTTPS_PROXY", "NO_PROXY", "SSL_CERT_FILE", "NODE_EXTRA_CA_CERTS"}
)
"""The environment variables that every program needs; a recipe names further ones."""


_CALL: Final = Usage(calls=1)


class CommandParticipant:
    """Runs a program in a folder. Files that the program needs are kept in another folder, `kept`."""

    def __init__(self, recipe: Recipe, folder: Path, environ: Mapping[str, str], kept: Path) -> None:
        self._recipe = recipe
        self._folder = folder
        self._kept = kept
        self._environ = _build_environ(recipe, environ)

    async def ready(self) -> str | None:
        program = self._recipe.argv[0]
        if shutil.which(program, path=self._environ.get("PATH")) is None:
            hint = f"; install it: {self._recipe.install}" if self._recipe.install else ""
            return f"the program {program!r} is not found{hint}"
        return None

    async def version(self) -> str | None:
        """Return the program's version in one line; None if it is not installed."""
        if await self.ready() is not None:
            return None
        make_private_folder(self._folder)
        argv = [self._recipe.argv[0], *self._recipe.version]
        try:
            async with asyncio.timeout(READY_SECONDS):
                done = await run_program(argv, words=None, folder=self._folder, environ=self._environ)
        except (OSError, TimeoutError):
            return "does not say its version"
        return one_line(done.out.decode("utf-8", "replace"))[:MAX_VERSION_LENGTH] or "does not say its version"

    async def respond(self, brief: Brief, on_text: OnText) -> Answer | NoAnswer:
        usage, session, fault = FREE, str(uuid4()), BadAnswer()
        for attempt in range(2):
            # With a session the agent still knows the question, so the correction alone is enough.
            resumed = bool(attempt and self._recipe.resume)
            prompt = build_correction(brief.language, str(fault)) if resumed else self._build_prompt(brief, str(fault))
            output = await self._run_once(self._recipe.resume if resumed else self._recipe.argv, prompt, session)
            if isinstance(output, NoAnswer):
                return replace(output, usage=usage + output.usage)
            # The program may choose its own session id.
            usage, session = usage + Usage(calls=1) + _build_usage(output), output.session or session
            try:
                read = read_answer(brief, output.text)
            except BadAnswer as cause:
                fault = cause
                continue
            if brief.form.form == "text":
                on_text(output.text)
            door = f"program:{self._recipe.name}"
            return Answer(said=read.said, corrections=read.mends, usage=usage, model=output.model, origin=door)
        return NoAnswer(reason=fault.loss, detail=str(fault), usage=usage)

    async def run_prompt(self, prompt: str) -> tuple[str, Usage] | NoAnswer:
        """Run the program with a prompt of the caller; returns its output and the usage."""
        output = await self._run_once(self._recipe.argv, fix_surrogates(prompt).replace("\0", ""), str(uuid4()))
        return output if isinstance(output, NoAnswer) else (output.text, Usage(calls=1) + _build_usage(output))

    async def _run_once(self, argv: tuple[str, ...], prompt: str, session: str) -> AgentOutput | NoAnswer:
        try:
            done = await self._run(argv, prompt, session)
        except OSError as cause:
            # A program that is not there, or may not be run: nothing that was said is at fault.
            is_out = isinstance(cause, FileNotFoundError | PermissionError)
            return NoAnswer(
                reason="unreachable" if is_out else "error", detail=f"{self._recipe.argv[0]} cannot be run: {cause.strerror}"
            )
        if done.is_flooded:
            return NoAnswer(reason="error", detail=f"{self._recipe.name} printed too much and was stopped", usage=_CALL)
        if done.code != 0:
            return NoAnswer(
                reason="error", detail=f"{self._recipe.name} ended with {done.code}{self._explain_failure(done)}", usage=_CALL
            )
        try:
            return parse_output(self._recipe, done.out)
        except ValueError as cause:
            return NoAnswer(
                reason="malformed", detail=f"{self._recipe.name}: {cause} {_format_complaint(done)}".strip(), usage=_CALL
            )

    def _explain_failure(self, done: ProcessResult) -> str:
        """Return the program's own explanation of its failure, from its output or its errors."""
        try:
            parse_output(self._recipe, done.out)
            explanation = ""
        except ValueError as cause:
            explanation = str(cause) if str(cause).startswith(FAILED) else ""
        explanation = explanation or _format_complaint(done)
        return f": {explanation}" if explanation else ""

    def _build_prompt(self, brief: Brief, complaint: str) -> str:
        # A C string ends at NUL, and a lone surrogate cannot be encoded.
        return fix_surrogates(f"{brief.system}\n\n{build_user_prompt(brief, complaint or None)}").replace("\0", "")

    async def _run(self, argv: tuple[str, ...], prompt: str, session: str) -> ProcessResult:
        words = self._recipe.words
        if words is None and len(prompt.encode()) > MAX_ARGUMENT_LENGTH:
            raise OSError(7, f"the prompt has more than {MAX_ARGUMENT_LENGTH} bytes, and the agent takes it as an argument")
        make_private_folder(self._folder)
        said = None if words is None else words.replace("{prompt}", prompt).encode()
        files = {name: str(_ensure_file(self._kept, name, text)) for name, text in self._recipe.files.items()}
        return await run_program(
            fill_arguments(argv, prompt, session, files), words=said, folder=self._folder, environ=self._environ
        )


def _ensure_file(folder: Path, name: str, text: str) -> Path:
    """Return a file with this text; written atomically, because other processes may read it at the same time."""
    path = folder / name
    if not path.is_file() or path.read_text(encoding="utf-8") != text:
        make_private_folder(folder)
        write_atomically(path, text)
    return path


def _build_environ(recipe: Recipe, environ: Mapping[str, str]) -> dict[str, str]:
    """Return the variables that the program may see; never the whole environment, which may contain other keys."""
    kept = {name: value for name, value in environ.items() if name in PASSED or name.startswith(recipe.passes)}
    return {"PATH": os.defpath, **kept, "TERM": "dumb", "NO_COLOR": "1", **recipe.environ}


def _build_usage(output: AgentOutput) -> Usage:
    # Dollars to millionths of a dollar, the unit of `Usage.cost`.
    cost = None if output.dollars is None else round(output.dollars * 1e6)
    return Usage(tokens_in=output.tokens_in, tokens_out=output.tokens_out, cost=cost)


def _format_complaint(done: ProcessResult) -> str:
    """Return the end of the program's error output."""
    return one_line(done.err)[-MAX_COMPLAINT_LENGTH:]
