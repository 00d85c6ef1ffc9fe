"""A seat filled by an agent that speaks the Agent Client Protocol (`acp:AGENT`): one process for a run of a session.

The agent remembers the meeting: it hears once who it is, and each ask is the next prompt of one conversation, in a later run of
the session too where the agent stores conversations. An ask contains everything all the same, so that an agent that had to be
started again knows no less.
"""

import asyncio
import shutil
import time
from collections.abc import Mapping
from contextlib import suppress
from hashlib import sha256
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Final
from uuid import uuid4

from moothall.disk.private import write_atomically
from moothall.domain.budget import FREE
from moothall.domain.causes import state_cause
from moothall.domain.effects import Brief
from moothall.domain.safe_text import fix_surrogates
from moothall.errors import MissingExtra, UnknownPlatform, describe_install
from moothall.participants.agent_answers import AgentFault, AgentReply, ask_with_correction
from moothall.participants.recipes import Recipe, build_environ, find_acp_recipe, load_agents
from moothall.ports.participant import ASKED_IN, Answer, NoAnswer, OnText
from moothall.reading.schemas import build_correction, build_user_prompt

if TYPE_CHECKING:
    from moothall.participants.acp_process import AgentProcess, Permit

PERMIT: Final = "?permit="
NOTE: Final = ".conversation"
MAX_NOTED: Final = 500
NOTED_SECONDS: Final = 90 * 86_400.0
"""How long it is noted which conversation a session had."""


def is_installed() -> bool:
    """Whether the protocol's library is here."""
    return find_spec("acp") is not None


def build_acp_seat(
    argument: str, seat: str, environ: Mapping[str, str], home: Path
) -> "AcpParticipant":
    """The participant of `acp:ARGUMENT`; raises MissingExtra, UnknownPlatform or BadPanel."""
    if not is_installed():
        raise MissingExtra(
            f"agents that speak ACP need an extra package: {describe_install('acp')}"
        )
    agent, _, rule = argument.partition(PERMIT)
    permits: dict[str, Permit] = {"": "none", "none": "none", "read": "read"}
    if rule not in permits:
        raise UnknownPlatform(f"acp:{argument}: an agent is permitted none or read, not {rule!r}")
    name, _, model = agent.partition(":")
    # A command may hold a colon, the name of an agent does not.
    recipe, model = (
        (find_acp_recipe(name), model) if name in load_agents() else (find_acp_recipe(agent), "")
    )
    return AcpParticipant(
        recipe, home / "agents" / recipe.name / seat, environ, permits[rule], model
    )


class AcpParticipant:
    """Starts the agent at the first ask, and again after a fault, in the same conversation where it can; `leave` ends it."""

    def __init__(
        self,
        recipe: Recipe,
        folder: Path,
        environ: Mapping[str, str],
        permit: "Permit" = "none",
        model: str = "",
    ) -> None:
        self._recipe = recipe
        # Agents store their conversations by the folder: it is the same for all processes of one seat in one session.
        self._folder = folder / uuid4().hex
        self._model = model
        self._conversation = ""
        self._environ = build_environ(recipe, environ)
        self._permit: Permit = permit
        # Asks are put one after another: a conversation has one prompt at a time.
        self._asking = asyncio.Lock()
        self._agent: AgentProcess | None = None
        self._system = ""

    async def ready(self) -> str | None:
        program = self._recipe.acp[0]
        if shutil.which(program, path=self._environ.get("PATH")) is not None:
            return None
        name = self._recipe.name
        if name not in load_agents():
            return f"the program {program!r} is not found; agents known by name: {', '.join(sorted(load_agents()))}"
        return f"the program {program!r} is not found; install it: {self._recipe.acp_install}; or use command:{name}"

    async def introduce(self) -> str:
        """Let the agent say its name and version, and end it; raises OSError, or ValueError with what is wrong with it."""
        try:
            agent = await self._start()
        except AgentFault as fault:
            raise ValueError(str(fault)) from fault
        finally:
            await self.leave()
        return agent.name or "does not say its name"

    async def respond(self, brief: Brief, on_text: OnText) -> Answer | NoAnswer:
        async def ask(complaint: str) -> AgentReply:
            try:
                return await self._ask(brief, complaint)
            except AgentFault as cause:
                # A process that has a fault is not used any more.
                await self.leave()
                raise AgentFault(cause.reason, f"{self._recipe.name}: {cause}") from cause
            except OSError as cause:
                raise AgentFault(
                    "unreachable",
                    state_cause("not_run", cause.strerror or "", name=self._recipe.acp[0]),
                    FREE,
                ) from cause

        async with self._asking:
            return await ask_with_correction(brief, on_text, ask, f"program:{self._recipe.name}")

    async def leave(self) -> None:
        """End the agent's process with its children."""
        agent, self._agent = self._agent, None
        if agent is not None:
            await agent.end()

    async def _ask(self, brief: Brief, complaint: str) -> AgentReply:
        agent = self._agent
        if agent is None or not agent.is_running:
            await self.leave()
            if session := ASKED_IN.get():
                # Two ledgers may have sessions of one name: the seed tells them apart.
                name = sha256(f"{session} {brief.seed}".encode()).hexdigest()[:32]
                self._folder = self._folder.with_name(name)
                self._conversation = self._conversation or self._read_note()
            agent = await self._start()
            if agent.has_storage and ASKED_IN.get():
                self._write_note()
        # Who it is, and by which rules, it has heard unless that has changed.
        head = "" if brief.system == self._system else f"{brief.system}\n\n"
        prompt = (
            build_correction(brief.language, complaint)
            if complaint
            else f"{head}{build_user_prompt(brief)}"
        )
        self._system = brief.system
        return await agent.ask(fix_surrogates(prompt).replace("\0", ""))

    async def _start(self) -> "AgentProcess":
        from moothall.participants.acp_process import AgentProcess

        self._agent = await AgentProcess.start(
            self._recipe.acp,
            self._folder,
            self._environ,
            self._permit,
            model=self._model,
            conversation=self._conversation,
        )
        self._conversation = self._agent.conversation
        if not self._agent.is_resumed:
            self._system = ""
        return self._agent

    def _read_note(self) -> str:
        with suppress(OSError, ValueError):
            return self._folder.with_suffix(NOTE).read_text("utf-8")[:MAX_NOTED]
        return ""

    def _write_note(self) -> None:
        """Note the conversation for a later run of the session, and remove the notes of sessions of long ago."""
        with suppress(OSError):
            write_atomically(self._folder.with_suffix(NOTE), self._conversation)
            for note in self._folder.parent.glob(f"*{NOTE}"):
                if note.stat().st_mtime < time.time() - NOTED_SECONDS:
                    note.unlink()
