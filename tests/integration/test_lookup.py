"""Looking things up before answering: deadline, retries, memory, and a fallback that is declared (S-27)."""

import asyncio
import json
import sys
from collections.abc import Coroutine
from pathlib import Path
from typing import Any, TypeVar

import pytest
from tests.integration.test_swarm_models import mind

from moothall.app.moot import Moot
from moothall.domain.budget import FREE, Usage
from moothall.domain.context import ContextWindow, Perception
from moothall.domain.effects import Ask, Brief
from moothall.domain.ids import AskId, SeatId
from moothall.domain.roster import Seat
from moothall.errors import ProviderRefused, UnknownPlatform
from moothall.participants.lookup import (
    CACHE_SECONDS,
    RETRIES,
    SEARCH_SECONDS,
    Lookup,
    LookupParticipant,
    Queries,
)
from moothall.ports.participant import Answer, NoAnswer, OnText
from moothall.protocols.swarm.answer_table import FORMS
from moothall.protocols.swarm.answers import Operation, RoundReport, StatedIdea, Validation
from moothall_testkit.stub_server import Request, StubReply, StubServer

T = TypeVar("T")
PATIENCE = 120.0
FAILED = NoAnswer(reason="error", detail="no network", usage=Usage(calls=1))
REPORT = RoundReport(
    findings=(
        StatedIdea(core_idea="Cache it.", confidence="high"),
        StatedIdea(core_idea="Buy it.", confidence="low"),
    ),
    operations=(Operation(operation="deposit_pheromone", params={"direction": "caching"}),),
)


class Leaping(asyncio.SelectorEventLoop):
    """A loop whose clock a test can put forward."""

    leapt = 0.0

    def time(self) -> float:
        return super().time() + self.leapt


def _run(work: Coroutine[Any, Any, T]) -> T:
    async def bounded() -> T:
        async with asyncio.timeout(2 * PATIENCE):
            return await work

    with asyncio.Runner(loop_factory=Leaping) as runner:
        return runner.run(bounded())


class Engine:
    """A search that does what its script says, then finds; None is a silence."""

    def __init__(self, *script: NoAnswer | None) -> None:
        self.script = list(script)
        self.asked: list[str] = []

    async def __call__(self, query: str) -> tuple[str, Usage] | NoAnswer:
        self.asked.append(query)
        step = self.script.pop(0) if self.script else ("found: " + query, Usage(calls=1))
        if step is None:
            await asyncio.Event().wait()
            raise AssertionError
        return step


class Stuck(Engine):
    """A search that is silent for so many seconds and longer."""

    def __init__(self, seconds: float) -> None:
        super().__init__(None)
        self._seconds = seconds

    async def __call__(self, query: str) -> tuple[str, Usage] | NoAnswer:
        loop = asyncio.get_running_loop()
        assert isinstance(loop, Leaping)
        loop.leapt += self._seconds
        return await super().__call__(query)


class Mind:
    """Wants to look some things up, then answers; keeps what it was asked."""

    def __init__(self, *queries: str, said: object = REPORT, is_lost: bool = False) -> None:
        self.queries = queries
        self.said = said
        self.is_lost = is_lost
        self.briefs: list[Brief] = []

    async def ready(self) -> str | None:
        return None

    async def respond(self, brief: Brief, on_text: OnText) -> Answer | NoAnswer:
        self.briefs.append(brief)
        if brief.form.shape is Queries:
            return (
                FAILED
                if self.is_lost
                else Answer(said=Queries(queries=self.queries), usage=Usage(calls=1))
            )
        return Answer(said=self.said, usage=Usage(calls=1))


def brief(kind: str = "explore", patience: float = PATIENCE) -> Brief:
    return Brief(
        ask=Ask(
            id=AskId(f"10.{kind}.TanWei"),
            seat=SeatId("TanWei"),
            kind=kind,
            turn=1,
            patience=patience,
        ),
        seat=Seat(id=SeatId("TanWei"), platform="openai:stub"),
        form=FORMS[kind],
        language="en",
        seed=1,
        nth=1,
        perception=Perception(goal="g", memory=ContextWindow(window=1)),
        system="system",
        shared="shared",
        own="Report.",
    )


def answered(mind: Mind, lookup: Lookup, asked: Brief) -> Answer:
    async def work() -> Answer | NoAnswer:
        return await LookupParticipant(mind, lookup).respond(asked, lambda _: None)

    found = _run(work())
    assert isinstance(found, Answer)
    return found


def test_the_figures_are_those_of_the_protocol() -> None:
    """S-27."""
    assert (SEARCH_SECONDS, RETRIES, CACHE_SECONDS) == (30.0, 2, 3_600.0)


def test_a_mind_is_asked_again_with_what_was_found() -> None:
    """S-27: what is found is a quotation; what it cost is counted."""
    engine, mind = Engine(), Mind("edge caches", "edge  caches", " ")
    found = answered(mind, Lookup(engine), brief())
    first, second = mind.briefs
    assert first.own.startswith("Report.")
    assert "queries" in first.own
    assert "| ? edge caches\n| found: edge caches" in second.own
    assert second.own.endswith("Report.")
    assert second.ask.patience <= PATIENCE
    assert found == Answer(said=REPORT, usage=Usage(calls=3))
    assert engine.asked == ["edge caches"]


def test_a_search_that_fails_is_tried_twice_more_and_then_every_finding_is_marked() -> None:
    """S-27: confidence, needsValidation, searchAttempted; whatever the mind says of its findings itself."""
    engine, mind = Engine(FAILED, FAILED, FAILED), Mind("edge caches")
    said = answered(mind, Lookup(engine), brief()).said
    assert len(engine.asked) == 1 + RETRIES
    assert "The search failed" in mind.briefs[1].own
    assert isinstance(said, RoundReport)
    marks = [
        (each.confidence, each.needs_validation, each.search_attempted) for each in said.findings
    ]
    assert marks == [("medium", True, True), ("low", True, True)]
    assert said.operations == REPORT.operations


def test_one_success_in_three_tries_is_enough() -> None:
    """S-27."""
    assert answered(Mind("q"), Lookup(Engine(FAILED, FAILED)), brief()).said == REPORT


def test_a_search_that_hangs_is_given_up() -> None:
    """S-27: each try has its deadline, and all of them half of the answer's time."""
    slow = Engine(None, None, None)
    said = answered(Mind("q"), Lookup(slow, seconds=0.01), brief()).said
    assert said == REPORT.mark_unverified()
    assert len(slow.asked) == 3
    stuck = Stuck(PATIENCE / 2)
    assert (
        answered(Mind("q"), Lookup(stuck, seconds=PATIENCE), brief()).said
        == REPORT.mark_unverified()
    )
    assert len(stuck.asked) == 1


def test_what_was_found_is_remembered_for_all_and_not_for_ever() -> None:
    """S-27: a failure is not remembered."""

    async def work() -> None:
        engine = Engine(FAILED, FAILED, FAILED)
        lookup = Lookup(engine)
        until = asyncio.get_running_loop().time() + PATIENCE
        assert (await lookup("q", until)).text is None
        found = await asyncio.gather(*(lookup("q", until) for _ in range(5)))
        assert [each.text for each in found] == ["found: q"] * 5
        assert sum((each.usage for each in found), FREE) == Usage(calls=1)
        assert len(engine.asked) == 4
        brief_memory = Lookup(engine, cache_seconds=-1.0)
        await brief_memory("q", until)
        await brief_memory("q", until)
        assert len(engine.asked) == 6

    _run(work())


def test_who_wants_nothing_or_cannot_be_marked_is_left_alone() -> None:
    """S-27: an answer of another kind is not asked twice."""
    assert answered(Mind(), Lookup(Engine()), brief()).said == REPORT
    assert answered(Mind(is_lost=True), Lookup(Engine()), brief()).said == REPORT.mark_unverified()
    verdicts = Validation()
    assert (
        answered(
            Mind("q", said=verdicts), Lookup(Engine(FAILED, FAILED, FAILED)), brief("validate")
        ).said
        == verdicts
    )
    mind = Mind("q")
    answered(mind, Lookup(Engine()), brief("collide"))
    assert len(mind.briefs) == 1


def program(folder: Path, code: str) -> str:
    (folder / "search.py").write_text(code, encoding="utf-8")
    recipe = folder / "search.toml"
    recipe.write_text(
        f"argv = {json.dumps([sys.executable, str(folder / 'search.py')])}\nwords = '{{prompt}}'\noutput = 'text'\n",
        encoding="utf-8",
    )
    return str(recipe)


def searching_mind(request: Request) -> StubReply:
    if "object: queries" in request.text:
        return StubReply(text='{"queries": ["edge caches"]}')
    return mind(request)


@pytest.mark.parametrize(
    ("code", "is_found"),
    [
        ("import sys; print('the web on', sys.stdin.read())", True),
        ("import sys; sys.exit('no network')", False),
    ],
)
def test_a_swarm_of_models_looks_things_up_with_a_program(
    tmp_path: Path, code: str, is_found: bool
) -> None:
    """S-27: by the variable MOOT_SEARCH alone."""

    async def work() -> None:
        async with StubServer([searching_mind]) as stub:
            environ = {
                "MOOT_HOME": str(tmp_path),
                "OPENAI_API_KEY": "k",
                "OPENAI_BASE_URL": stub.base_url,
                "MOOT_SEARCH": program(tmp_path, code),
            }
            async with Moot(environ=environ) as moot:
                seats = dict.fromkeys(("TanWei", "SuYuan"), "openai:stub")
                settings = {"max_rounds": 1, "collisions": 0, "vote": False, "measure": "words"}
                decision = await moot.hold(
                    "Fast?", protocol="swarm", seats=seats, seed=1, settings=settings, check=False
                )
                board = (await moot.load_timeline(decision.session)).state.board
            # Where it was looked up there is nothing to say; where that failed, every finding says so.
            marks = {finding.search_attempted for finding in board.findings}
            assert marks == {None if is_found else True}
            assert (
                any("| the web on edge caches" in request.text for request in stub.asked)
                == is_found
            )

    _run(work())


def test_a_search_that_is_not_there_is_told_before_anything_is_recorded(tmp_path: Path) -> None:
    recipe = tmp_path / "none.toml"
    recipe.write_text(
        "argv = ['no-such-program']\nwords = '{prompt}'\noutput = 'text'\n", encoding="utf-8"
    )
    script = Path(__file__).resolve().parents[2] / "docs" / "examples" / "swarm.toml"

    async def work(name: str) -> None:
        async with Moot(environ={"MOOT_HOME": str(tmp_path), "MOOT_SEARCH": name}) as moot:
            await moot.open(
                "Fast?",
                protocol="swarm",
                seats=dict.fromkeys(("TanWei", "SuYuan"), f"script:{script}"),
            )

    with pytest.raises(
        ProviderRefused, match="MOOT_SEARCH: the program 'no-such-program' is not found"
    ):
        _run(work(str(recipe)))
    with pytest.raises(UnknownPlatform, match="MOOT_SEARCH: no agent is called 'nobody'"):
        _run(work("nobody"))
