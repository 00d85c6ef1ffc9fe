"""The tools of a model seat for one ask: calls are run within a budget, and each is recorded before the answer."""

import asyncio
from dataclasses import replace
from hashlib import sha256

from moothall.domain.budget import CHARACTERS_PER_TOKEN
from moothall.domain.effects import Brief
from moothall.domain.facts import ToolUsed
from moothall.domain.safe_text import fix_surrogates, one_line
from moothall.ports.participant import note_tool
from moothall.reports.given_tools import (
    MAX_RESULT_LENGTH,
    OfferedTool,
    encode_arguments,
    format_tool_uses,
    list_tools,
    run_tool,
)

MAX_NAME_LENGTH = 100


class ToolDesk:
    """What one ask may look up, and has. A brief without tools has a desk that is closed."""

    def __init__(self, brief: Brief) -> None:
        self._brief = brief
        self._access = brief.tools
        self._uses = [] if brief.tools is None else list(brief.tools.used)
        self._begun = asyncio.get_running_loop().time()

    @property
    def offered(self) -> tuple[OfferedTool, ...]:
        return () if self._access is None else list_tools(self._brief.language)

    @property
    def is_open(self) -> bool:
        """Whether one more call is within the budget."""
        if self._access is None:
            return False
        rules = self._access.rules
        size = sum(len(each.result) for each in self._uses)
        seconds = asyncio.get_running_loop().time() - self._begun + sum(each.seconds for each in self._access.used)
        return len(self._uses) < rules.calls and seconds < rules.seconds and size < rules.tokens * CHARACTERS_PER_TOKEN

    async def call(self, tool: str, arguments: object) -> str:
        """Run a call, have it recorded, and return what the model reads of it."""
        assert self._access is not None
        begun = asyncio.get_running_loop().time()
        # On a thread: the first search of a large folder takes its time.
        result = await asyncio.to_thread(run_tool, self._brief.language, self._access.files, tool, arguments)
        text = fix_surrogates(result.text)
        used = ToolUsed(
            ask=self._brief.ask.id,
            seat=self._brief.seat.id,
            tool=fix_surrogates(one_line(tool))[:MAX_NAME_LENGTH],
            arguments=fix_surrogates(encode_arguments(arguments)),
            outcome=result.outcome,
            result=text[:MAX_RESULT_LENGTH],
            sha256=sha256(text.encode()).hexdigest(),
            size=len(text),
            places=result.places,
            seconds=round(asyncio.get_running_loop().time() - begun, 3),
        )
        self._uses.append(used)
        note_tool(used)
        return used.result

    def add_results(self, brief: Brief) -> Brief:
        """Return the brief with what was looked up before its own part: data, as every quotation is."""
        results = format_tool_uses(brief.language, self._uses)
        return replace(brief, own=f"{results}\n\n{brief.own}") if results else brief
