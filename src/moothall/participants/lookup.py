"""Search before answering (S-27): with a deadline, retries, a cache, and a declared fallback.

It is done in code, for any seat with a model: the model is first asked what to look up, then asked the same question again with
the results. So no provider's tool calling is needed, and the consequence of a failed search is not left to the model: the answer
is marked as unverified.
"""

import asyncio
import math
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, replace
from typing import Annotated, Final

from annotated_types import MaxLen

from moothall.domain.budget import FREE, Usage
from moothall.domain.dictionaries import BoundedDict
from moothall.domain.effects import Ask, Brief, keep_answer, no_fault
from moothall.domain.safe_text import one_line, quote_lines
from moothall.locale.catalogues import PARTICIPANT_PROMPT
from moothall.ports.participant import (
    NO_ANSWER,
    Answer,
    LeavingParticipant,
    NoAnswer,
    OnText,
    Participant,
    ProbedParticipant,
    SlowParticipant,
    UnclearAnswer,
    VerifiableAnswer,
)

SEARCH_SECONDS: Final = 30.0
RETRIES: Final = 2
CACHE_SECONDS: Final = 3_600.0
MAX_CACHED: Final = 1_000
MAX_AT_ONCE: Final = 4
MAX_QUERIES: Final = 3
MAX_QUERY_LENGTH: Final = 300
MAX_RESULT_LENGTH: Final = 3_000
SHARE: Final = 0.5
"""The share of an answer's time that the search may take."""

Search = Callable[[str], Awaitable[tuple[str, Usage] | NoAnswer]]
"""Returns the results for a query as text, with the usage."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Queries:
    """What a participant wants to look up."""

    queries: Annotated[
        tuple[Annotated[str, MaxLen(MAX_QUERY_LENGTH)], ...], MaxLen(MAX_QUERIES)
    ] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class SearchResult:
    """The result of one query; `text` is None if every attempt failed."""

    query: str
    text: str | None
    usage: Usage = FREE


class Lookup:
    """A search with timeout, retries and a cache of one hour, shared by all seats."""

    def __init__(
        self,
        search: Search,
        *,
        seconds: float = SEARCH_SECONDS,
        cache_seconds: float = CACHE_SECONDS,
    ) -> None:
        self._search = search
        self._seconds = seconds
        self._cache_seconds = cache_seconds
        self._cache: BoundedDict[str, tuple[str, float]] = BoundedDict(MAX_CACHED)
        """The results by query, the oldest first, each with the time when it came."""
        self._busy: dict[str, asyncio.Lock] = {}
        self._at_once = asyncio.Semaphore(MAX_AT_ONCE)

    async def __call__(self, query: str, until: float) -> SearchResult:
        """Return the result for a query before the loop time `until`."""
        query = one_line(query)
        # Explorers that want the same at the same time wait for the first of them, and then find its result in the cache.
        lock = self._busy.setdefault(query, asyncio.Lock())
        try:
            async with asyncio.timeout_at(until), lock:
                text, at = self._cache.get(query, ("", -math.inf))
                if asyncio.get_running_loop().time() - at <= self._cache_seconds:
                    return SearchResult(query=query, text=text)
                return await self._search_with_retries(query)
        except TimeoutError:
            return SearchResult(query=query, text=None)
        finally:
            if not lock.locked():
                self._busy.pop(query, None)

    async def _search_with_retries(self, query: str) -> SearchResult:
        used = FREE
        for _ in range(1 + RETRIES):
            try:
                async with self._at_once, asyncio.timeout(self._seconds):
                    response = await self._search(query)
            except TimeoutError:
                continue
            if isinstance(response, NoAnswer):
                used += response.usage
                continue
            text, usage = response
            used += usage
            if text.strip():
                text = text[:MAX_RESULT_LENGTH]
                self._cache[query] = text, asyncio.get_running_loop().time()
                return SearchResult(query=query, text=text, usage=used)
        return SearchResult(query=query, text=None, usage=used)


class LookupParticipant:
    """Implements `Participant` around another one: if the form says so, it searches first."""

    def __init__(self, inner: Participant, lookup: Lookup) -> None:
        self._inner = inner
        self._lookup = lookup

    async def ready(self) -> str | None:
        return await self._inner.ready()

    async def leave(self) -> None:
        if isinstance(self._inner, LeavingParticipant):
            await self._inner.leave()

    async def respond(self, brief: Brief, on_text: OnText) -> Answer | NoAnswer:
        if not brief.form.looks_up:
            return await self._inner.respond(brief, on_text)
        loop = asyncio.get_running_loop()
        # One deadline for all three steps: what the search does not use is left for the answer.
        end = loop.time() + brief.ask.patience
        asked = await self._inner.respond(_build_query_brief(brief), lambda _: None)
        results, used = await self._run_queries(asked, end - brief.ask.patience * (1 - SHARE))
        left = max(0.0, end - loop.time())
        try:
            answer = await self._inner.respond(_with_results(brief, results, left), on_text)
        except UnclearAnswer as unclear:
            unclear.usage += used
            raise
        # The model could not name queries, or none of them succeeded. One that wanted to look up nothing is not marked: it had
        # the chance.
        has_nothing = isinstance(asked, NoAnswer) or (
            bool(results) and all(each.text is None for each in results)
        )
        if isinstance(answer, Answer) and has_nothing and isinstance(answer.said, VerifiableAnswer):
            answer = replace(answer, said=answer.said.mark_unverified())
        return replace(answer, usage=used + answer.usage)

    async def _run_queries(
        self, asked: Answer | NoAnswer, until: float
    ) -> tuple[list[SearchResult], Usage]:
        wanted = (
            asked.said.queries
            if isinstance(asked, Answer) and isinstance(asked.said, Queries)
            else ()
        )
        queries = list(dict.fromkeys(query for query in wanted if query.strip()))
        results = list(await asyncio.gather(*(self._lookup(query, until) for query in queries)))
        return results, sum((each.usage for each in results), asked.usage)


class ProbedLookupParticipant(LookupParticipant):
    """One whose inner participant can be probed: it is out, and slow, as that one is."""

    async def probe(self) -> str | None:
        if isinstance(self._inner, ProbedParticipant):
            return await self._inner.probe()
        return await self._inner.ready()

    def explain_silence(self, ask: Ask) -> str:
        if isinstance(self._inner, SlowParticipant):
            return self._inner.explain_silence(ask)
        return NO_ANSWER


def build_lookup_participant(inner: Participant, lookup: Lookup) -> LookupParticipant:
    """Return the participant with what it can look things up with."""
    if isinstance(inner, ProbedParticipant):
        return ProbedLookupParticipant(inner, lookup)
    return LookupParticipant(inner, lookup)


def _build_query_brief(brief: Brief) -> Brief:
    form = replace(
        brief.form,
        kind="queries",
        shape=Queries,
        form="json",
        max_tokens=200,
        instead=None,
        looks_up=False,
    )
    ask = replace(brief.ask, patience=brief.ask.patience * SHARE)
    own = f"{brief.own}\n\n{PARTICIPANT_PROMPT[brief.language].look_up.format(most=MAX_QUERIES)}"
    plain = replace(
        brief,
        schema=None,
        reads=None,
        fills={},
        hints={},
        normalize=keep_answer,
        fault=no_fault,
        person=None,
        probe="",
    )
    return replace(plain, ask=ask, form=form, own=own)


def _with_results(brief: Brief, results: list[SearchResult], left: float) -> Brief:
    lines = [PARTICIPANT_PROMPT[brief.language].looked_up] if results else []
    for each in results:
        lines.append(quote_lines(f"? {each.query}"))
        lines.append(
            PARTICIPANT_PROMPT[brief.language].look_up_failed
            if each.text is None
            else quote_lines(each.text)
        )
    own = "\n\n".join(filter(None, ["\n".join(lines), brief.own]))
    return replace(brief, ask=replace(brief.ask, patience=left), own=own)
