"""Demos: every one plays to its decision by the real rules, in both languages, and leaves no trace in what outlives sessions."""

import asyncio
import html
import os
import re
import tomllib
from collections.abc import Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from tests.support.memos import check_memo, list_forbidden_words
from tests.support.play_persona import MeetingRun, build_seat

from moothall.app.moot import Moot
from moothall.domain.facts import Entry, Language, SeatLost, SessionResumed
from moothall.domain.ids import SeatId, SessionId
from moothall.domain.roster import NEUTRAL_TRUST, Seat
from moothall.errors import BadRoster, BadScript, BadSetting
from moothall.features.demos.shipped import Demo, build_demo_options, list_demos, load_demo
from moothall.features.persona.facts import StandTaken
from moothall.locale.catalogues import SHARED_REPORT
from moothall.participants.script import Pacer, list_scripts, make_demo
from moothall.protocols.consultation.facts import ConsultationRefused
from moothall.protocols.swarm.facts import BarrierPassed, OperationsProcessed
from moothall.reports.plain_text import render_decision_lines
from moothall.surfaces.api.method import Call, Caller
from moothall.surfaces.api.methods import TABLE, open_server_context

pytestmark = pytest.mark.anyio

NAMES = (
    "persona",
    "debate",
    "advisory",
    "consensus",
    "roundtable",
    "consultation",
    "swarm",
    "pipeline",
)
ALL = [
    pytest.param(name, language, id=f"{name}.{language}")
    for name in NAMES
    for language in ("en", "zh")
]
DISSENT: Mapping[tuple[str, str], str] = {
    ("persona", "en"): "Half a person is missing from this plan",
    ("persona", "zh"): "方案里少算了半个人",
    ("debate", "en"): "somebody's full-time work",
    ("debate", "zh"): "第二步会让关账变成一个人的全职工作",
    ("advisory", "en"): "Without the ceiling I am against it",
    ("advisory", "zh"): "多小的数我都反对",
    ("consensus", "en"): "it is not for ever",
    ("consensus", "zh"): "不能就这么一直下去",
    ("roundtable", "en"): "Sales is against it",
    ("roundtable", "zh"): "销售反对",
    ("consultation", "en"): "No, not like this",
    ("consultation", "zh"): "照这样不行",
    ("swarm", "en"): "This gives a true answer after forty",
    ("swarm", "zh"): "这个给的是四十分钟以后的真话",
    ("pipeline", "en"): "the analyst would switch it off altogether",
    ("pipeline", "zh"): "分析师主张干脆关掉",
}
SHIP = (Path(__file__).parents[2] / "docs" / "examples" / "ship.toml").read_text(encoding="utf-8")
HAN = re.compile(r"[一-鿿]")
ENGLISH = re.compile(r"[A-Za-z]{2,}(?: [A-Za-z]{2,}){2,}")
"""Three English words in a row: names such as `AGPL` or `pg_constraint` are none."""


def build_moot(home: Path) -> Moot:
    return Moot(environ={"MOOT_HOME": str(home)})


async def open_demo(moot: Moot, demo: Demo, **changes: Any) -> SessionId:
    return await moot.open(
        demo.topic, **build_demo_options(demo, moot.environ, **{"pace": "fast", **changes})
    )


async def read_entries(moot: Moot, session: SessionId) -> list[Entry]:
    return [moot.engine.entry(record) for record in await moot.engine.records(session)]


def list_words(value: object) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    for each in (
        value.values()
        if isinstance(value, dict)
        else value
        if isinstance(value, list | tuple)
        else ()
    ):
        yield from list_words(each)


def test_every_protocol_has_a_demo_in_both_languages() -> None:
    for language in ("en", "zh"):
        demos = list_demos(language)
        assert {demo.name for demo in demos} == set(NAMES)
        assert demos[0].name == "persona"
        assert len({demo.topic for demo in demos}) == len(NAMES)
    assert len(list_scripts()) == 2 * len(NAMES)


@pytest.mark.parametrize(("name", "language"), ALL)
async def test_a_demo_plays_to_its_decision(name: str, language: Language, tmp_path: Path) -> None:
    """Nothing is refused, mended or lost; the record holds; the dissent is in the minutes and on the page."""
    async with build_moot(tmp_path / "home") as moot:
        session = await open_demo(moot, load_demo(name, language))
        decision = await moot.run(session)
        entries = await read_entries(moot, session)
        assert (decision.status, decision.lost) == ("concluded", ())
        assert decision.decision is not None
        assert [entry.fact for entry in entries if isinstance(entry.fact, SeatLost)] == []
        assert [entry.fact for entry in entries if getattr(entry.fact, "corrections", ())] == []
        for entry in entries:
            if isinstance(entry.fact, OperationsProcessed):
                assert entry.fact.failed == 0
            if isinstance(entry.fact, BarrierPassed):
                assert (entry.fact.violations, entry.fact.lost) == ((), ())
        refused = [
            entry.fact.reason for entry in entries if isinstance(entry.fact, ConsultationRefused)
        ]
        assert refused == (["nested"] if name == "consultation" else [])
        assert await moot.verify(session) is None
        assert (await moot.replay(session)).entries == len(entries)
        minutes, page = await moot.export(session, "minutes"), await moot.export(session, "html")
        for text in (minutes, page.replace("&#x27;", "'").replace("&#39;", "'")):
            assert DISSENT[name, language] in text
            assert ("演示" if language == "zh" else "demo:") in text
        assert [path.name for path in Path.cwd().glob("swarm-runs")] == []


@pytest.mark.parametrize(("name", "language"), ALL)
async def test_everything_that_was_written_is_said(
    name: str, language: Language, tmp_path: Path
) -> None:
    """A script fits the rules: no answer of it is left over. Of collisions the rules choose which ones take place."""
    demo = load_demo(name, language)
    async with build_moot(tmp_path / "home") as moot:
        session = await open_demo(moot, demo)
        await moot.run(session)
        said = "\n".join(
            word
            for entry in await read_entries(moot, session)
            for word in list_words(moot_words(entry))
        )
    for seat, kinds in demo.seats.items():
        for kind, items in kinds.items():
            if kind in {"collide", "synthesis"}:
                continue
            for item in items:
                for key in ("content", "text", "position", "answer", "reason"):
                    words = str(item.get(key, "")).strip()
                    assert words in said, (seat, kind, words)


def moot_words(entry: Entry) -> object:
    from dataclasses import asdict

    return asdict(entry.fact)


@pytest.mark.parametrize(("name", "language"), ALL)
def test_no_demo_mixes_languages(name: str, language: Language) -> None:
    path = next(path for path in list_scripts() if path.name == f"{name}.{language}.toml")
    document = tomllib.loads(path.read_text(encoding="utf-8"))
    foreign = HAN if language == "en" else ENGLISH
    assert [words for words in list_words(document) if foreign.search(words)] == []


async def test_a_demo_stays_out_of_what_outlives_sessions(tmp_path: Path) -> None:
    """No decision, obligation, source or circuit of a demo is remembered, not even by a process that looks for lost ones."""
    async with build_moot(tmp_path) as moot:
        for name in ("debate", "persona"):
            await moot.run(await open_demo(moot, load_demo(name, "en")))
    async with build_moot(tmp_path) as moot:
        memory = await moot.recall()
        assert [*await memory.list_decisions()] == []
        assert [*await memory.list_obligations()] == []
        assert [*await memory.sources()] == []
        assert [
            line.is_demo for line in await moot.session_list.add_outcomes(await moot.sessions())
        ] == [True, True]
        assert await moot.remembering.find_similar(load_demo("debate", "en").topic) == []


async def test_a_demo_reads_nothing_of_what_this_machine_has_learned(tmp_path: Path) -> None:
    """Seats of the same names with a bad record, and a decision on the same question, change nothing."""
    demo = load_demo("persona", "en")
    async with build_moot(tmp_path) as moot:
        own = tmp_path / "own.toml"
        own.write_text(
            SHIP.replace("seats.ada", "seats.Jonas").replace("seats.bob", "seats.Priya"),
            encoding="utf-8",
        )
        held = await moot.hold(
            demo.topic, seats={"Jonas": f"script:{own}", "Priya": f"script:{own}"}
        )
        await (await moot.recall()).review(held.session, "failure", by="local")
        opened = (
            await moot.plan_session(demo.topic, **build_demo_options(demo, moot.environ))
        ).opened
        assert {seat.trust for seat in opened.seats} == {NEUTRAL_TRUST}
        assert (opened.subject.precedents, opened.subject.error_correlations) == ((), ())


async def test_an_input_of_the_user_moves_no_reference(tmp_path: Path) -> None:
    """References are names: with one more entry in front, whoever changes its mind still names the words that moved it."""
    async with build_moot(tmp_path) as moot:
        session = await open_demo(moot, load_demo("persona", "en"))
        await moot.give_input(session, "Mind the auditors.")
        decision = await moot.run(session)
        timeline = await moot.load_timeline(session)
        moved = [
            entry.fact.said.moved_by
            for entry in await read_entries(moot, session)
            if isinstance(entry.fact, StandTaken)
        ]
        line = next(
            line for line in timeline.lines if line.id == next(each for each in moved if each)
        )
        assert (line.speaker, decision.status) == ("Lin", "concluded")
        assert line.content.startswith("Two things, and I have just looked them up")


async def test_a_demo_that_is_killed_goes_on_where_it_stopped(tmp_path: Path) -> None:
    async with build_moot(tmp_path) as moot:
        session = await open_demo(moot, load_demo("debate", "zh"), pace="slow")
        with suppress(TimeoutError):
            async with asyncio.timeout(2.5):
                await moot.run(session)
        before = await read_entries(moot, session)
    assert 1 < len(before) < 12
    async with build_moot(tmp_path) as moot:
        pacer = lead(moot)
        skipping = asyncio.create_task(skip_for_ever(pacer))
        decision = await moot.resume(session)
        skipping.cancel()
        after = await read_entries(moot, session)
    assert after[: len(before)] == before
    assert any(isinstance(entry.fact, SessionResumed) for entry in after)
    assert decision.decision is not None
    assert [entry for entry in after if isinstance(entry.fact, SeatLost)] == []


def lead(moot: Moot) -> Pacer:
    from moothall.surfaces.cli.terminal_session import let_pacer_lead

    pacer = Pacer()
    let_pacer_lead(moot, pacer)
    return pacer


async def skip_for_ever(pacer: Pacer) -> None:
    while True:
        pacer.skip()
        await asyncio.sleep(0)


async def test_a_skip_brings_what_comes_next_and_no_more() -> None:
    pacer, order = Pacer(), list[str]()

    async def wait(name: str, seconds: float) -> None:
        await pacer.sleep(seconds)
        order.append(name)

    tasks = [asyncio.create_task(wait("late", 2_000)), asyncio.create_task(wait("soon", 1_000))]
    await asyncio.sleep(0)
    pacer.skip()
    await tasks[1]
    assert order == ["soon"]
    pacer.skip()
    await tasks[0]
    assert order == ["soon", "late"]
    pacer.skip()
    assert await pacer.sleep(0) is False


async def test_seats_that_are_asked_at_once_answer_in_the_order_of_the_script() -> None:
    """Each waits as long as those before it take to read, and then as long as its own words take."""
    waited: list[float] = []

    class NotedPacer(Pacer):
        async def sleep(self, seconds: float) -> bool:
            waited.append(seconds)
            return True

    names = list(load_demo("persona", "en").seats)
    table = MeetingRun(*map(build_seat, names))
    for name in names:
        await make_demo("persona.en", SeatId(name), NotedPacer()).respond(
            table.brief(name), lambda text: None
        )
    assert waited == sorted(set(waited))
    assert len(waited) == len(names)


@pytest.mark.parametrize("platform", ["demo:persona.en", "demo:persona.zh@fast"])
async def test_a_seat_of_a_demo_is_refused_in_a_real_meeting(platform: str, tmp_path: Path) -> None:
    async with build_moot(tmp_path) as moot:
        with pytest.raises(BadRoster, match="moot demo"):
            await moot.open(
                "Is it safe?", seats=[Seat(id=SeatId("Mara"), platform=platform)], check=False
            )
        session = await open_demo(moot, load_demo("persona", "en"))
        with pytest.raises(BadRoster, match="moot demo"):
            await moot.fork(session, at=1, swaps={"Jonas": platform})


@pytest.mark.parametrize(
    "argument",
    ["nobody.en", "persona.fr", "persona.en@warp", "../persona.en", "persona", "persona.en.toml"],
)
def test_an_unknown_demo_is_refused_with_the_list(argument: str) -> None:
    with pytest.raises(BadScript, match="moot demo --list"):
        make_demo(argument, SeatId("Mara"))
    with pytest.raises(BadSetting, match="persona, debate"):
        load_demo(f"{argument}?", "en")
    with pytest.raises(BadSetting, match="expected one of: slow, reading"):
        build_demo_options(load_demo("persona", "en"), {}, pace="warp")  # type: ignore[arg-type]  # what a careless caller gives


MEMOS = Path(__file__).parent / "demo_memos"
"""The memo of each demo as it is to read."""


@pytest.mark.parametrize(("name", "language"), ALL)
async def test_a_demo_has_one_memo_on_every_surface(
    name: str, language: Language, tmp_path: Path
) -> None:
    """T-1, T-3, T-5: the same sentences first in minutes, HTML, terminal, page and results, and none of Moot's own words in them."""
    async with build_moot(tmp_path) as moot, open_server_context(moot) as context:
        session = await open_demo(moot, load_demo(name, language))
        decision = await moot.run(session)
        plugin, timeline = await moot.load_plugin(session), await moot.load_timeline(session)
        report = plugin.report(timeline)
        call = Call(context=context, caller=Caller())
        view = await TABLE["moot.getView"].invoke(call, {"sessionId": session})
        result = await TABLE["moot.getSession"].invoke(call, {"sessionId": session})
        minutes, page = await moot.export(session, "minutes"), await moot.export(session, "html")
    memo = check_memo(decision, language)
    texts = [line.text for line in memo.all_lines]
    expected = MEMOS / f"{name}.{language}.txt"
    if os.environ.get("MOOT_SNAPSHOTS") == "write":
        expected.write_text(f"{memo.full_badge}\n{memo.text}\n", encoding="utf-8")
    assert f"{memo.full_badge}\n{memo.text}\n" == expected.read_text(encoding="utf-8")
    names = tuple(f"{seat.id}" for seat in timeline.session_state.seats)
    assert list_forbidden_words(memo, names) == []
    # The terminal, the page and programs have them line by line.
    assert [line.text for line in render_decision_lines(report)] == texts
    assert [line["text"] for line in view["memo"]["lines"]] == texts
    assert [line["text"] for line in result["memo"]["lines"]] == texts
    # Documents have them below the question and before everything else.
    shown = {
        "minutes": re.sub(r"[*\\]|&lt;", "", minutes.partition(f"## {words_of(language)}\n")[2]),
        "html": html.unescape(re.sub("<[^>]+>", "", page.partition("</h1>")[2])),
    }
    for surface, text in shown.items():
        place = 0
        for line in texts:
            found = text.find(line, place)
            assert found >= place, (surface, line)
            place = found
        assert text.find("%", 0, place) == -1 or "%" in memo.text, surface


def words_of(language: Language) -> str:
    return SHARED_REPORT[language].decision
