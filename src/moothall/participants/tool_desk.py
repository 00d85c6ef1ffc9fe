"""The tools of a model seat for one ask: calls are run within a budget, and each is recorded before the answer."""

import asyncio
import json
from collections.abc import Iterable, Mapping
from dataclasses import replace
from hashlib import sha256
from typing import Any

from moothall.domain.budget import CHARACTERS_PER_TOKEN, FREE, GIVEN_TOOLS, Usage
from moothall.domain.effects import Brief
from moothall.domain.facts import Language, ToolUsed
from moothall.domain.safe_text import fix_surrogates, one_line
from moothall.domain.topic import RepositoryTree
from moothall.locale.catalogues import CONTEXT_FILES
from moothall.participants.git_tree import GitTree, find_repository
from moothall.participants.named_tools import ToolBox, ToolFailure
from moothall.ports.participant import note_tool
from moothall.reports.given_tools import (
    MAX_RESULT_LENGTH,
    OfferedTool,
    ToolResult,
    check_call,
    encode_arguments,
    format_tool_uses,
    list_tools,
    quote_returned,
    refuse_call,
    report_failure,
    run_tool,
)

MAX_NAME_LENGTH = 100


class ToolDesk:
    """What one ask may look up, and has. A brief without tools has a desk that is closed."""

    def __init__(self, brief: Brief, box: ToolBox | None = None) -> None:
        self._brief = brief
        self._box = box
        self._tools: dict[str, OfferedTool] | None = None
        self._sources: dict[str, str] = {}
        self._is_refused = False
        self.native = ""
        """The name of the provider's own web search, where the ask has that."""
        self._access = brief.tools
        self._uses = [] if brief.tools is None else list(brief.tools.used)
        self._begun = asyncio.get_running_loop().time()

    async def list_offered(self) -> tuple[OfferedTool, ...]:
        """Return the tools of the ask. A source that is not there is recorded, and the ask goes on without it."""
        if self._access is not None and self._tools is None:
            language = self._brief.language
            is_tree = self._access.tree is not None
            given = list_tools(language, self._access.names, is_tree=is_tree)
            self._tools = {each.name: each for each in given}
            for name in self._access.names:
                if name in GIVEN_TOOLS or self._box is None:
                    continue
                begun = asyncio.get_running_loop().time()
                if (source := self._box.find(name)) is not None and source.builtin:
                    self.native = name
                try:
                    for each in await self._box.list_tools(name, language):
                        self._tools[each.name] = each
                        self._sources[each.name] = name
                except ToolFailure as failure:
                    self.note_failure(name, str(failure), begun)
        return tuple((self._tools or {}).values())

    def note_failure(self, name: str, reason: str, begun: float | None = None) -> None:
        """Record once an ask that a source is not there."""
        if all(each.tool != name for each in self._uses):
            since = asyncio.get_running_loop().time() if begun is None else begun
            self._record(name, {}, report_failure(self._brief.language, name, reason), since)

    def note_native(self, arguments: object, returned: object) -> None:
        """Record a search that the provider has made itself."""
        text = (
            returned
            if isinstance(returned, str)
            else json.dumps(returned, ensure_ascii=False, default=str)
        )
        result = quote_returned(self._brief.language, self.native, text)
        source = self._box.find(self.native) if self._box is not None else None
        price = (
            Usage(cost=round(source.price * 1e6)) if source is not None and source.price else FREE
        )
        self._record(
            self.native, arguments, replace(result, usage=price), asyncio.get_running_loop().time()
        )

    @property
    def is_open(self) -> bool:
        """Whether one more call is within the budget."""
        return self._access is not None and not self._find_limit()

    def _find_limit(self) -> str:
        """Return the limit that is reached, such as `seat.calls = 20`; empty where there is none."""
        assert self._access is not None
        rules, ask, seat = self._access.rules, self._brief.ask.id, self._brief.seat.id
        everything = [each for each in self._access.session_uses if each.ask != ask] + self._uses
        waited = asyncio.get_running_loop().time() - self._begun
        waited += sum(each.seconds for each in self._access.used)
        own = [each for each in everything if each.seat == seat]
        for name, limits, uses in (
            ("ask", rules, self._uses),
            ("seat", rules.seat, own),
            ("session", rules.session, everything),
        ):
            spent = _sum_spent(uses)
            if name == "ask":
                spent["seconds"] = waited
            for kind, amount in spent.items():
                limit = getattr(limits, kind)
                if limit is not None and amount >= limit:
                    return f"{name}.{kind} = {limit / 1e6 if kind == 'money' else limit:g}"
        return ""

    def refuse_first(self) -> None:
        """Record that an ask has no tools because others have used them up; not where it has used its own, to the last call."""
        if not self._uses:
            self._refuse("tools", None)

    def _refuse(self, tool: str, arguments: object) -> None:
        """Record once that a call is over the budget; nothing is called."""
        limit = self._find_limit() if self._access is not None else ""
        if limit and not self._is_refused:
            self._is_refused = True
            result = refuse_call(CONTEXT_FILES[self._brief.language], "over_budget", limit=limit)
            self._record(tool, arguments, result, asyncio.get_running_loop().time(), limit)

    async def call(self, tool: str, arguments: object) -> str | None:
        """Run a call, have it recorded, and return what the model reads of it; None for one that is over the budget."""
        if not self.is_open:
            self._refuse(tool, arguments)
            return None
        begun = asyncio.get_running_loop().time()
        return self._record(tool, arguments, await self._run(tool, arguments), begun)

    async def _run(self, tool: str, arguments: object) -> ToolResult:
        assert self._access is not None
        language = self._brief.language
        given = check_call(language, await self.list_offered(), tool, arguments)
        if isinstance(given, ToolResult):
            return given
        if tool not in self._sources and self._access.tree is not None:
            return await asyncio.to_thread(
                read_tree, self._access.tree, language, tool, given, box=self._box
            )
        if tool not in self._sources or self._box is None:
            # On a thread: the first search of a large folder takes its time.
            return await asyncio.to_thread(run_tool, language, self._access.files, tool, given)
        try:
            return await self._box.call(self._sources[tool], tool, given, language)
        except ToolFailure as failure:
            return report_failure(language, tool, str(failure))

    def _record(
        self, tool: str, arguments: object, result: ToolResult, begun: float, limit: str = ""
    ) -> str:
        text = fix_surrogates(result.text)
        returned = fix_surrogates(result.returned) or text
        used = ToolUsed(
            ask=self._brief.ask.id,
            seat=self._brief.seat.id,
            tool=fix_surrogates(one_line(tool))[:MAX_NAME_LENGTH],
            arguments=fix_surrogates(encode_arguments(arguments)),
            outcome=result.outcome,
            result=text[:MAX_RESULT_LENGTH],
            sha256=sha256(returned.encode()).hexdigest(),
            size=len(returned),
            places=result.places,
            usage=result.usage,
            limit=limit,
            seconds=round(asyncio.get_running_loop().time() - begun, 3),
        )
        self._uses.append(used)
        note_tool(used)
        return used.result

    def add_results(self, brief: Brief) -> Brief:
        """Return the brief with what was looked up before its own part: data, as every quotation is."""
        results = format_tool_uses(brief.language, self._uses)
        return replace(brief, own=f"{results}\n\n{brief.own}") if results else brief


def read_tree(
    tree: RepositoryTree,
    language: Language,
    tool: str,
    given: Mapping[str, Any],
    *,
    box: ToolBox | None,
) -> ToolResult:
    """Run a call over a repository, where this process was started in it or its program named it; blocks.

    A record says which repository a review was about. One that came from elsewhere must not open those of this machine.
    """
    is_named = box is not None and tree.repository in box.repositories
    if not is_named and tree.repository != find_repository():
        return ToolResult(text=CONTEXT_FILES[language].tree["foreign"], outcome="refused")
    return GitTree(tree, language).run(tool, given)


def _sum_spent(uses: Iterable[ToolUsed]) -> dict[str, float]:
    """What these uses of tools cost, by the kinds of limits."""
    calls, seconds, characters, money = 0, 0.0, 0, 0
    for use in uses:
        calls += 1
        seconds += use.seconds
        characters += len(use.result)
        money += use.usage.cost or 0
    return {
        "calls": calls,
        "seconds": seconds,
        "tokens": characters / CHARACTERS_PER_TOKEN,
        "money": money,
    }
