"""A seat filled by a program: a headless coding agent, or any program with a recipe.

Each ask is one run. The prompt contains everything, so that a run needs no memory of the previous one. An answer that cannot be
used gets one correction, in the same session of the agent if it has sessions.
"""

import asyncio
import json
import shutil
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any, Final, TypeGuard
from uuid import uuid4

from moothall.disk.private import make_private_folder, write_atomically
from moothall.domain.budget import FREE, MAX_STATED_DOLLARS, Usage, read_tokens
from moothall.domain.causes import state_cause
from moothall.domain.effects import Brief
from moothall.domain.facts import Loss
from moothall.domain.safe_text import fix_surrogates, one_line
from moothall.errors import BadAnswer
from moothall.participants.agent_answers import (
    ONE_CALL,
    AgentFault,
    AgentReply,
    ask_with_correction,
)
from moothall.participants.recipes import Output, Recipe, build_environ
from moothall.participants.subprocess_runner import ProcessResult, run_program
from moothall.ports.participant import Answer, NoAnswer, OnText
from moothall.reading.answers import Reading, parse_answer, read_answer
from moothall.reading.schemas import build_correction, build_user_prompt, get_own_schema

MAX_STARTS: Final = 200
MAX_SESSION_LENGTH: Final = 200
MAX_ARGUMENT_LENGTH: Final = 120_000
"""The most bytes of one argument (Linux accepts 128 KiB)."""


class ProgramFailed(ValueError):
    """A program says in its output that it failed, and why."""


def fill_arguments(
    argv: tuple[str, ...], prompt: str, session: str, files: Mapping[str, str]
) -> list[str]:
    """Fill the placeholders; each argument stays one argument, whatever it contains. `files` are paths by name."""
    known = {"{prompt}": prompt}
    for name, path in files.items():
        known[f"{{file:{name}}}"] = path
    # Prompts and files replace whole arguments only: text of a participant can never become a second argument.
    return [known[word] if word in known else word.replace("{session}", session) for word in argv]


def parse_output(recipe: Recipe, out: bytes) -> AgentReply:
    """Parse the answer from an agent's output; raises ValueError with what was expected."""
    text = out.decode("utf-8", "replace").strip()
    if recipe.output == "text":
        if not text:
            raise ValueError("it printed nothing")
        return AgentReply(text=text)
    documents = _parse_documents(recipe.output, text)
    fault = _find_last_value(documents, recipe.faults)
    if fault is not None:
        raise ProgramFailed(f"it failed: {str(fault)[:200]}")
    answer = _find_last_value(documents, recipe.texts)
    if not isinstance(answer, str) or not answer.strip():
        raise ValueError(f"no answer at {' or '.join(recipe.texts)}; it printed {text[:120]!r}")
    session = _find_last_value(documents, recipe.sessions)
    model = _find_last_value(documents, recipe.models)
    names = list(model) if isinstance(model, dict) else [model]
    usage = Usage(
        tokens_in=read_tokens(_find_last_value(documents, (recipe.tokens_in,))),
        tokens_out=read_tokens(_find_last_value(documents, (recipe.tokens_out,))),
        cost=_read_cost(documents, recipe.dollars),
        calls=1,
    )
    named = one_line(", ".join(name for name in names if isinstance(name, str)))
    model_name = named[:MAX_SESSION_LENGTH]
    if not _is_usable_session(session):
        session = ""
    return AgentReply(text=answer.strip(), usage=usage, session=session, model=model_name)


def _is_usable_session(session: object) -> TypeGuard[str]:
    """Whether an id can be passed back as an argument on resume; an odd one is not used."""
    return isinstance(session, str) and session.isprintable() and len(session) <= MAX_SESSION_LENGTH


def _parse_documents(output: Output, text: str) -> list[Any]:
    if output == "json":
        return _find_json_document(text)
    documents = []
    # Not `splitlines`: other line separators may occur inside a JSON string.
    for line in text.split("\n"):
        if line.lstrip().startswith("{"):
            try:
                documents.append(json.loads(line))
            except (ValueError, RecursionError):
                continue
    if not documents:
        raise ValueError(f"it printed no JSON lines: {text[:120]!r}")
    return documents


def _find_json_document(text: str) -> list[Any]:
    """Return the first JSON document in a text, whatever is logged around it; raises ValueError."""
    decoder = json.JSONDecoder()
    starts = [at for at, char in enumerate(text) if char in "{["][:MAX_STARTS]
    other: list[Any] = []
    for start in starts:
        try:
            document = decoder.raw_decode(text, start)[0]
        except ValueError:
            continue
        except RecursionError:
            break
        documents = document if isinstance(document, list) else [document]
        if documents and all(isinstance(each, dict) for each in documents):
            return documents
        # A list of other values may be log output such as `[12:00]`: it is only used if no object follows.
        other = other or [documents]
    if other:
        return other
    raise ValueError(f"it printed no JSON: {text[:120]!r}")


def _find_last_value(documents: list[Any], paths: tuple[str, ...]) -> Any:
    """Return the last document's value at the first path that any has; with a `+`, the values of all of them joined."""
    for path in paths:
        read = [_find_value(document, path.removeprefix("+")) for document in documents]
        values = [value for value in read if value is not None]
        if values:
            return "".join(map(str, values)) if path.startswith("+") else values[-1]
    return None


def _find_value(document: Any, path: str) -> Any:
    """Return a value by its path, `a.b`, with optional conditions before it: `type=text:part.text`."""
    *conditions, wanted = path.split(":")
    for condition in conditions:
        where, _, value = condition.partition("=")
        # Conditions write strings bare, anything else as JSON.
        held = _find_value(document, where)
        if not isinstance(held, str):
            held = json.dumps(held)
        if held != value:
            return None
    node = document
    for name in wanted.split("."):
        if (
            isinstance(node, list)
            and name.lstrip("-").isdecimal()
            and -len(node) <= int(name) < len(node)
        ):
            node = node[int(name)]
        elif isinstance(node, dict):
            node = node.get(name)
        else:
            return None
    return node


def _read_cost(documents: list[Any], path: str) -> int | None:
    if not path:
        return None
    amount = _find_last_value(documents, (path,))
    if isinstance(amount, bool) or not isinstance(amount, int | float):
        return None
    if not 0 <= amount < MAX_STATED_DOLLARS:
        return None
    # Dollars to millionths of a dollar, the unit of `Usage.cost`.
    return round(float(amount) * 1e6)


READY_SECONDS: Final = 60.0
MAX_COMPLAINT_LENGTH: Final = 300
MAX_VERSION_LENGTH: Final = 80
MAX_REASONS_LENGTH: Final = 10_000
"""How many characters of what a program printed, the last ones, are the reasons of its verdict."""


class CommandParticipant:
    """Runs a program in a folder. Files that the program needs are stored in another folder, `files_folder`."""

    def __init__(
        self, recipe: Recipe, folder: Path, environ: Mapping[str, str], files_folder: Path
    ) -> None:
        self._recipe = recipe
        self._folder = recipe.folder or folder
        self._files_folder = files_folder
        self._environ = build_environ(recipe, environ)

    async def ready(self) -> str | None:
        program = self._recipe.argv[0]
        if shutil.which(program, path=self._environ.get("PATH")) is not None:
            return None
        why = f"the program {program!r} is not found"
        if self._recipe.install:
            why += f"; install it: {self._recipe.install}"
        return why

    async def version(self) -> str | None:
        """Return the program's version in one line; None if it is not installed."""
        if await self.ready() is not None:
            return None
        self._make_folder()
        argv = [self._recipe.argv[0], *self._recipe.version]
        try:
            async with asyncio.timeout(READY_SECONDS):
                done = await run_program(
                    argv, words=None, folder=self._folder, environ=self._environ
                )
        except (OSError, TimeoutError):
            return "does not say its version"
        return (
            one_line(done.out.decode("utf-8", "replace"))[:MAX_VERSION_LENGTH]
            or "does not say its version"
        )

    async def respond(self, brief: Brief, on_text: OnText) -> Answer | NoAnswer:
        if self._recipe.judges:
            try:
                return await self._judge(brief)
            except AgentFault as fault:
                return fault.to_no_answer()
        session = str(uuid4())

        async def ask(complaint: str) -> AgentReply:
            nonlocal session
            # With a session the agent still knows the question, so the correction alone is enough.
            if complaint and self._recipe.resume:
                argv, prompt = self._recipe.resume, build_correction(brief.language, complaint)
            else:
                argv, prompt = self._recipe.argv, self._build_prompt(brief, complaint)
            reply = await self._run_once(argv, prompt, session)
            # The program may choose its own session id.
            session = reply.session or session
            return reply

        return await ask_with_correction(brief, on_text, ask, f"program:{self._recipe.name}")

    async def _judge(self, brief: Brief) -> Answer:
        """Let the program judge: its exit status closes the gate, and opens it unless what it printed is another verdict."""
        name = self._recipe.name
        if "verdict" not in get_own_schema(brief).get("properties", {}):
            raise AgentFault("refused", f"{name} judges; it cannot {brief.form.kind}", FREE)
        done = await self._start(self._recipe.argv, self._build_prompt(brief, ""), "")
        if done.code < 0:
            raise AgentFault("error", f"{name} was ended by signal {-done.code}")
        out = done.out.decode("utf-8", "replace").strip()
        printed = fix_surrogates("\n".join(filter(None, (out, done.err.strip()))))
        verdict = "REJECTED" if done.code else "APPROVED"
        given = {"verdict": verdict, "content": printed[-MAX_REASONS_LENGTH:]}
        read = Reading(parse_answer(brief.form, given), (f"read verdict exit status {done.code}",))
        if verdict == "APPROVED" and "REJECTED" in out:
            with suppress(BadAnswer):
                read = read_answer(brief, out)
        return Answer(
            said=read.said, corrections=read.mends, usage=ONE_CALL, origin=f"program:{name}"
        )

    async def run_prompt(self, prompt: str) -> tuple[str, Usage] | NoAnswer:
        """Run the program with a prompt of the caller; returns its output and the usage."""
        try:
            reply = await self._run_once(
                self._recipe.argv, fix_surrogates(prompt).replace("\0", ""), str(uuid4())
            )
        except AgentFault as fault:
            return fault.to_no_answer()
        return reply.text, reply.usage

    async def _run_once(self, argv: tuple[str, ...], prompt: str, session: str) -> AgentReply:
        done = await self._start(argv, prompt, session)
        if done.code != 0:
            raise AgentFault(
                "error",
                state_cause(
                    "ended_with",
                    self._explain_failure(done),
                    name=self._recipe.name,
                    code=done.code,
                ),
            )
        try:
            return parse_output(self._recipe, done.out)
        except ValueError as cause:
            raise AgentFault(
                "malformed", f"{self._recipe.name}: {cause} {_format_complaint(done)}".strip()
            ) from cause

    async def _start(self, argv: tuple[str, ...], prompt: str, session: str) -> ProcessResult:
        try:
            done = await self._run(argv, prompt, session)
        except OSError as cause:
            # A program that is not there, or may not be run: nothing that was said is at fault.
            reason: Loss = "error"
            if isinstance(cause, FileNotFoundError | PermissionError):
                reason = "unreachable"
            why = state_cause("not_run", cause.strerror or "", name=self._recipe.argv[0])
            raise AgentFault(reason, why, FREE) from cause
        if done.is_flooded:
            raise AgentFault("error", state_cause("printed_too_much", name=self._recipe.name))
        return done

    def _explain_failure(self, done: ProcessResult) -> str:
        """Return the program's own explanation of its failure, from its output or its errors."""
        try:
            parse_output(self._recipe, done.out)
        except ProgramFailed as cause:
            return str(cause)
        except ValueError:
            pass
        return _format_complaint(done)

    def _build_prompt(self, brief: Brief, complaint: str) -> str:
        # A C string ends at NUL, and a lone surrogate cannot be encoded.
        return fix_surrogates(
            f"{brief.system}\n\n{build_user_prompt(brief, complaint or None)}"
        ).replace("\0", "")

    def _make_folder(self) -> None:
        if self._recipe.folder is None:  # else it is the user's own, and stays as it is
            make_private_folder(self._folder)

    async def _run(self, argv: tuple[str, ...], prompt: str, session: str) -> ProcessResult:
        words = self._recipe.words
        if words is None and "{prompt}" in argv and len(prompt.encode()) > MAX_ARGUMENT_LENGTH:
            raise OSError(
                7,
                f"the prompt has more than {MAX_ARGUMENT_LENGTH} bytes, and the agent takes it as an argument",
            )
        self._make_folder()
        said = None if words is None else words.replace("{prompt}", prompt).encode()
        files = {
            name: str(_ensure_file(self._files_folder, name, text))
            for name, text in self._recipe.files.items()
        }
        return await run_program(
            fill_arguments(argv, prompt, session, files),
            words=said,
            folder=self._folder,
            environ=self._environ,
        )


def _ensure_file(folder: Path, name: str, text: str) -> Path:
    """Return a file with this text; written atomically, because other processes may read it at the same time."""
    path = folder / name
    if not path.is_file() or path.read_text(encoding="utf-8") != text:
        make_private_folder(folder)
        write_atomically(path, text)
    return path


def _format_complaint(done: ProcessResult) -> str:
    """Return the end of the program's error output."""
    return one_line(done.err)[-MAX_COMPLAINT_LENGTH:]
