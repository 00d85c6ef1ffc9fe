"""Model seats read and search what was given, through the model library's tools; every use is an entry (E-2, E-3, E-7)."""

import asyncio
import json
import sys
from collections.abc import Callable
from dataclasses import replace
from hashlib import sha256
from pathlib import Path
from random import Random
from types import FrameType
from typing import Any

import pytest

from moothall.app.estimates import estimate_session
from moothall.app.moot import Moot
from moothall.domain import given_search
from moothall.domain.budget import ToolRules
from moothall.domain.effects import Ask, Brief
from moothall.domain.facts import Language, Reply, ToolUsed
from moothall.domain.ids import SeatId, SessionId, ask_id
from moothall.domain.roster import Seat
from moothall.domain.topic import ContextFile, Topic, build_context
from moothall.engine.context import EntryAdded
from moothall.errors import BadRoster
from moothall.features.persona.facts import MeetingOpened, PersonaSettings
from moothall.features.persona.rules import RULES
from moothall.participants.model import ModelParticipant
from moothall.participants.model_request import RetryPolicy
from moothall.participants.platforms import parse_platform
from moothall.participants.provider_limits import LIMITS
from moothall.ports.participant import ON_TOOL, Answer
from moothall.reports.given_tools import MAX_RESULT_LENGTH, run_tool
from moothall.reports.precedents import add_background
from moothall.reports.sections import describe_shared
from moothall.surfaces.api.entries import build_entry_out
from moothall_testkit.schema_values import draw_value
from moothall_testkit.stub_server import Fail, Hang, Request, Step, StubReply, StubServer

QUICK = RetryPolicy(first_pause=0.01, longest_pause=0.02, preflight=5.0)
Calls = tuple[tuple[str, str], ...]
FILLER = "Filler.\n" * 40
LEASE = ContextFile(
    name="contracts/lease.md", text=f"{FILLER}The rent is 40,000 euros a year.\nIt ends in May."
)
NOTES = ContextFile(
    name="notes.md", text="The team wants to move in June.\nNobody has asked the landlord."
)
FILES = [LEASE, NOTES]
SEARCH = ("search", '{"words": "rent euros"}')
READ = ("read", '{"file": "contracts/lease.md", "first": 41, "last": 42}')
SETTINGS: dict[str, dict[str, object]] = {
    "swarm": {"max_rounds": 3},
    "roundtable": {"max_rounds": 1},
}


def count_results(request: Request) -> int:
    """How many results of tools a request carries."""
    return sum(message["role"] == "tool" for message in request.body["messages"])


def act(*calls: Calls) -> Callable[[Request], Step]:
    """A model that makes these calls, request by request, and then answers: in words, or by the schema that it is sent."""

    def step(request: Request) -> Step:
        at = sum(message["role"] == "assistant" for message in request.body["messages"])
        if request.body.get("tools") and at < len(calls):
            return StubReply(calls=calls[at])
        form = request.body.get("response_format")
        if form is None:
            return StubReply(text="The rent is too high.", tokens_in=100, tokens_out=10)
        return StubReply(text=json.dumps(draw_value(form["json_schema"]["schema"], Random(7))))

    return step


async def open_session(
    moot: Moot, stub: StubServer, protocol: str = "debate", seats: str = "abc", **options: Any
) -> SessionId:
    platforms = {seat * 3: f"{stub.base_url}#model-{seat}" for seat in seats}
    given = {
        "settings": SETTINGS.get(protocol, {}),
        "files": FILES,
        "tools": "on",
        "seed": 7,
        "check": False,
        **options,
    }
    return await moot.open(
        "Is the rent in euros too high?", protocol=protocol, seats=platforms, **given
    )


async def list_facts(moot: Moot, session: SessionId) -> list[Any]:
    return [entry.fact for entry in await moot.engine.entries(session)]


async def run_until_uses(moot: Moot, session: SessionId, count: int) -> None:
    """Run a session until so many uses that were answered are recorded, and stop it there."""
    running = asyncio.create_task(moot.run(session))
    async for event in moot.watch(session):
        fact = event.entry.fact if isinstance(event, EntryAdded) else None
        count -= isinstance(fact, ToolUsed) and fact.outcome == "answered"
        if not count:
            break
    running.cancel()
    await asyncio.gather(running, return_exceptions=True)


def list_uses(facts: list[Any]) -> list[ToolUsed]:
    return [fact for fact in facts if isinstance(fact, ToolUsed)]


@pytest.mark.parametrize("protocol", ["persona", "roundtable", "debate", "swarm"])
def test_in_every_protocol_each_use_is_an_entry_before_the_answer(protocol: str) -> None:
    """E-2, E-3, E-7: who, which tool, arguments, what came back with its hash; in the report; replay asks nobody; costs count."""
    seats = "abcde" if protocol == "swarm" else "abc"

    async def work() -> None:
        async with (
            StubServer([act((SEARCH,), (READ,))]) as stub,
            Moot(environ={"MOOT_LEDGER": "memory:"}) as moot,
        ):
            session = await open_session(
                moot, stub, protocol, seats, turns=3 if protocol == "persona" else None
            )
            await moot.run(session)
            facts = await list_facts(moot, session)
            uses = list_uses(facts)
            answered = [fact.ask for fact in facts if isinstance(fact, Reply)]
            assert uses
            for ask in {use.ask for use in uses}:
                first, second = [use for use in uses if use.ask == ask]
                assert (first.tool, first.arguments, first.outcome) == (*SEARCH, "answered")
                assert first.places[0].startswith("contracts/lease.md:")
                assert second.places == ("contracts/lease.md:41-42",)
                assert "| 41: The rent is 40,000 euros a year." in second.result
                assert second.sha256 == sha256(second.result.encode()).hexdigest()
                if ask in answered:
                    reply = next(
                        fact for fact in facts if isinstance(fact, Reply) and fact.ask == ask
                    )
                    assert facts.index(second) < facts.index(reply)
                    assert reply.usage.calls >= 3
            assert {use.ask for use in uses} & set(answered)
            timeline = await moot.load_timeline(session)
            assert timeline.spent.calls == len(stub.asked)
            minutes = await moot.export(session, "minutes")
            assert "What seats looked up" in minutes
            assert "contracts/lease.md:41-42" in minutes
            asked = len(stub.asked)
            await moot.replay(session)
            assert len(stub.asked) == asked

    asyncio.run(work())


def respond(
    script: list[Any], calls: int = 8, rejects: bool = False, used: tuple[ToolUsed, ...] = ()
) -> tuple[Any, list[ToolUsed], StubServer]:
    """One speech of a model with tools: its response, what was recorded, and the server."""
    refusal = Fail(status=400, message="no tools here")
    stub = StubServer(script, reject=lambda body: refusal if rejects and "tools" in body else None)
    uses: list[ToolUsed] = []

    async def work() -> Any:
        ON_TOOL.set(uses.append)
        participant = ModelParticipant(parse_platform(f"{stub.base_url}#qwen3"), {}, pace=QUICK)
        try:
            brief = build_brief(calls, used)
            first = await participant.respond(brief, lambda text: None)
            return first if not rejects else await participant.respond(brief, lambda text: None)
        finally:
            await participant.aclose()

    async def serve() -> Any:
        async with stub:
            return await work()

    return asyncio.run(serve()), uses, stub


def build_brief(calls: int, used: tuple[ToolUsed, ...]) -> Brief:
    ada = Seat(id=SeatId("ada"), platform="stub")
    subject = Topic(context=build_context(FILES))
    opened = MeetingOpened(
        topic="Is the rent too high?",
        language="en",
        seed=7,
        seats=(ada,),
        settings=PersonaSettings(blind=False),
        subject=subject,
        tools=ToolRules(switch="on", calls=calls),
    )
    ask = Ask(id=ask_id(1, "speech", ada.id), seat=ada.id, kind="speech", turn=1, patience=60.0)
    return add_background(RULES.brief(RULES.initial(opened), ask), opened, used)


MALFORMED: list[tuple[str, str, str]] = [
    ("delete", "{}", "There is no tool delete. The tools are: read, search."),
    (
        "read",
        "not json",
        "It takes a JSON object with: file (string), first (integer), last (integer).",
    ),
    ("read", "[1, 2]", "It takes a JSON object"),
    ("read", '{"file": "notes.md", "first": "soon"}', "It takes a JSON object"),
    (
        "read",
        '{"file": "/etc/passwd"}',
        "No file is called /etc/passwd. The files are: contracts/lease.md, notes.md",
    ),
    ("read", '{"file": "../notes.md"}', "No file is called"),
    ("read", '{"file": "notes.md", "first": 9}', "notes.md has the lines 1 to 2"),
    ("read", '{"file": "notes.md", "first": 2, "last": 1}', "notes.md has the lines 1 to 2"),
    ("search", '{"words": ""}', "It takes a JSON object with: words (string)"),
    ("search", '{"words": 7}', "It takes a JSON object"),
]


@pytest.mark.parametrize(("tool", "arguments", "told"), MALFORMED)
def test_a_call_that_cannot_be_run_gets_a_sentence_and_the_ask_is_answered(
    tool: str, arguments: str, told: str
) -> None:
    """E-2: malformed calls and unknown tools get a clear result, are recorded as refused, and never lose the ask."""
    response, uses, stub = respond(
        [StubReply(calls=((tool, arguments),)), StubReply(text="So be it.")]
    )
    assert isinstance(response, Answer)
    assert [use.outcome for use in uses] == ["refused"]
    assert told in uses[0].result
    assert told in stub.asked[1].text


def test_a_seat_that_only_searches_ends_with_an_answer() -> None:
    """E-7: the budget of an ask ends the search; then it is asked without tools, with all that came back; every call costs."""

    def insist(request: Request) -> Step:
        return (
            StubReply(calls=(SEARCH, SEARCH, SEARCH))
            if request.body.get("tools")
            else StubReply(text="Enough.")
        )

    response, uses, stub = respond([insist], calls=4)
    assert isinstance(response, Answer)
    assert [use.outcome for use in uses] == [*["answered"] * 4, "refused"]
    assert "Nothing was called: ask.calls = 4, and that is used up." in uses[-1].result
    assert len(stub.asked) == response.usage.calls == 3
    last = stub.asked[-1]
    assert "tools" not in last.body
    assert last.text.count('[search {"words": "rent euros"}]') == 5


def test_a_server_that_takes_no_tools_is_asked_without_them_from_then_on() -> None:
    """E-2: a model without tools answers from the passages in its prompt."""
    response, uses, stub = respond([StubReply(text="I see.")], rejects=True)
    assert isinstance(response, Answer)
    assert not uses
    assert ["tools" in request.body for request in stub.asked] == [True, False, False]


def test_what_was_looked_up_before_is_shown_and_counts_in_the_budget() -> None:
    """E-3: an ask that is put again after a crash goes on from what is recorded, and repeats none of it."""
    _, uses, _ = respond([StubReply(calls=(READ,)), StubReply(text="So.")])
    response, again, stub = respond([act((READ,), (READ,))], calls=2, used=tuple(uses))
    assert isinstance(response, Answer)
    assert [use.outcome for use in again] == ["answered"]
    assert "| 41: The rent is 40,000 euros a year." in stub.asked[0].text
    assert ["tools" in request.body for request in stub.asked] == [True, False]


def test_a_budget_that_is_used_to_the_last_call_refuses_nothing() -> None:
    """E-3, E-7: an ask that used all its calls is asked without tools, also where its server fails then: no call was refused."""
    fails = Fail(status=503, message="busy")
    response, uses, stub = respond(
        [StubReply(calls=(SEARCH, READ)), fails, StubReply(text="So.")], calls=2
    )
    assert isinstance(response, Answer)
    assert [use.outcome for use in uses] == ["answered", "answered"]
    assert ["tools" in request.body for request in stub.asked] == [True, False, False]


def test_a_killed_process_repeats_no_recorded_use(tmp_path: Path) -> None:
    """E-3: what is recorded is not called again after a restart, and a fork begins with it."""

    async def work() -> None:
        # All three are asked at once, so that each looks something up before the server hangs.
        environ = {"MOOT_HOME": str(tmp_path), LIMITS: "server=3c"}
        is_hanging = True

        def step(request: Request) -> Step:
            # The only call is made: the next request has its result in the prompt, and no tools.
            return Hang() if is_hanging and "tools" not in request.body else act((READ,))(request)

        async with StubServer([step]) as stub:
            async with Moot(environ=environ) as moot:
                session = await open_session(moot, stub, tool_calls=1)
                await run_until_uses(moot, session, 3)
            is_hanging = False
            async with Moot(environ=environ) as moot:
                entries = await moot.engine.entries(session)
                fork = await moot.fork(session, at=entries[-1].seq)
                for name in (session, fork):
                    begun = len(stub.asked)
                    await moot.resume(name, check=False)
                    facts = await list_facts(moot, name)
                    uses = [
                        use
                        for use in list_uses(facts)
                        if use.ask.startswith("1.propose.") and use.outcome == "answered"
                    ]
                    assert len(uses) == 3
                    assert all(
                        "tools" not in request.body for request in stub.asked[begun : begun + 3]
                    )
                    assert all(
                        "40,000 euros" in request.text for request in stub.asked[begun : begun + 3]
                    )
                    await moot.replay(name)

    asyncio.run(work())


def test_what_was_looked_up_is_sealed_with_the_phase() -> None:
    """E-3: while positions are blind, nobody reads what another seat looked up."""

    async def work() -> None:
        async with StubServer(
            [lambda request: Hang() if count_results(request) else act((SEARCH,))(request)]
        ) as stub:
            moot = Moot(environ={"MOOT_LEDGER": "memory:", LIMITS: "server=3c"})
            async with moot:
                session = await open_session(moot, stub)
                await run_until_uses(moot, session, 3)
                snapshot = await moot.engine.load_snapshot(session)
                assert snapshot.state.is_sealed
                for entry in await moot.engine.entries(session):
                    if isinstance(entry.fact, ToolUsed):
                        assert "arguments" not in build_entry_out(entry, snapshot.state)["what"]
                        assert (
                            "arguments"
                            in build_entry_out(entry, snapshot.state, entry.fact.seat)["what"]
                        )
                assert "rent euros" not in await moot.export(session, "minutes")
                timeline = await moot.load_timeline(session)
                line = describe_shared(timeline, timeline.tool_uses[0].fact)
                assert line[0].endswith("looks something up")

    asyncio.run(work())


def test_members_see_different_evidence() -> None:
    """E-2: `sees` limits what a seat is shown, reads and searches; it is recorded, and a pattern that fits nothing is refused."""

    async def work() -> None:
        reads = (READ,), (SEARCH,), (("read", '{"file": "notes.md"}'),)
        async with (
            StubServer([act(*reads)]) as stub,
            Moot(environ={"MOOT_LEDGER": "memory:"}) as moot,
        ):
            seats = [
                Seat(id=SeatId("ada"), platform=f"{stub.base_url}#ada", sees=("contracts/*",)),
                Seat(id=SeatId("bob"), platform=f"{stub.base_url}#bob", sees=("notes.md",)),
            ]
            for switch in ("on", "off"):
                session = await moot.open(
                    "Is the rent too high?",
                    protocol="debate",
                    seats=seats,
                    check=False,
                    files=FILES,
                    tools=switch,
                    seed=7,
                )
                await moot.run(session)
                opened = (await list_facts(moot, session))[0]
                voices = [seat for seat in opened.seats if seat.id not in opened.neutral]
                assert [seat.sees for seat in voices] == [("contracts/*",), ("notes.md",)]
                asked = {
                    name: [each for each in stub.asked if each.body["model"] == name]
                    for name in ("ada", "bob")
                }
                assert "40,000" in asked["ada"][0].text
                assert "landlord" not in asked["ada"][0].text
                assert "40,000" not in asked["bob"][0].text
                assert "landlord" in asked["bob"][0].text
                for use in list_uses(await list_facts(moot, session)):
                    own = "contracts/lease.md" if use.seat == "ada" else "notes.md"
                    assert all(place.startswith(own) for place in use.places)
                    is_own = (use.seat == "ada") == (
                        "lease" in use.arguments
                    ) or use.tool == "search"
                    assert use.outcome == ("answered" if is_own else "refused"), use
                stub.requests.clear()
            wrong = [replace(seats[0], sees=("contract/*",)), seats[1]]
            with pytest.raises(
                BadRoster, match=r"seat 'ada' sees contract/\*.*contracts/lease.md, notes.md"
            ):
                await moot.open("Q?", protocol="debate", seats=wrong, check=False, files=FILES)

    asyncio.run(work())


def test_the_decision_says_what_it_rests_on_and_what_nobody_read() -> None:
    """E-5, E-4: files that were cited, files that nobody was shown a line of, and how many quotations held."""
    unread = ContextFile(name="attic.md", text="Dust.\nMore dust.")

    def step(request: Request) -> Step:
        if request.body.get("tools") and not count_results(request):
            return StubReply(calls=(READ,))
        if request.body.get("response_format"):
            return act()(request)
        return StubReply(
            text='The lease says "The rent is 40,000 euros a year" (contracts/lease.md:41), and "dust is all we have in there". '
            "See notes.md:2."
        )

    async def work() -> None:
        async with StubServer([step]) as stub, Moot(environ={"MOOT_LEDGER": "memory:"}) as moot:
            session = await open_session(moot, stub, "roundtable", files=[*FILES, unread])
            decision = await moot.run(session)
            assert decision.evidence is not None
            assert decision.evidence.cited == ("contracts/lease.md", "notes.md")
            assert decision.evidence.unread == ("attic.md",)
            assert 0 < decision.evidence.quotations_held < decision.evidence.quotations
            assert decision.to_json()["evidence"]["unread"] == ["attic.md"]
            # Half of what each seat quotes is there: in the result, in the report, and in the record of its model.
            shares = [(each.seat, each.held * 2) for each in decision.evidence.seats]
            assert shares == [(each.seat, each.checked) for each in decision.evidence.seats]
            assert (
                sum(each.checked for each in decision.evidence.seats)
                == decision.evidence.quotations
            )
            records = {each.source: each for each in await (await moot.recall()).sources()}
            seats = {seat.id: seat.source for seat in (await list_facts(moot, session))[0].seats}
            for each in decision.evidence.seats:
                record = records[seats[each.seat]]
                assert (record.quotations, record.quotations_held, record.cases) == (
                    each.checked,
                    each.held,
                    0,
                )
            minutes = await moot.export(session, "minutes")
            assert "Argued from: contracts/lease.md, notes.md." in minutes
            assert "Nobody was shown a line of: attic.md." in minutes
            own = decision.evidence.seats[0]
            assert f"By seat, held of checked: {own.seat} {own.held}/{own.checked}, " in minutes
            shown = await open_session(
                moot, stub, "roundtable", files=[*FILES, unread], tools="off"
            )
            assert (await moot.run(shown)).evidence == replace(decision.evidence, unread=())

    asyncio.run(work())


def test_tools_are_in_the_forecast() -> None:
    """E-7: what looking things up may cost is forecast, and nothing of it where it is off."""

    async def work() -> None:
        async with Moot(environ={"MOOT_LEDGER": "memory:"}) as moot:
            seats = {"ada": "http://127.0.0.1:9/v1#x", "bob": "mailbox"}
            plans = {}
            for switch in ("on", "off"):
                planned = await moot.plan_session(
                    "Q?", seats=seats, files=FILES, tools=switch, tool_calls=3, check=False
                )
                plans[switch] = estimate_session(planned.opened, moot.seating.kinds)
            assert plans["on"].calls.least == plans["off"].calls.least
            assert plans["on"].calls.most == 4 * plans["off"].calls.most
            assert plans["on"].tokens.most > 4 * plans["off"].tokens.most

    asyncio.run(work())


@pytest.mark.parametrize("language", ["en", "zh"])
def test_tools_are_offered_by_themselves_where_files_are_too_long(language: Language) -> None:
    """E-2: by default a model has tools where the files do not fit its prompt, and none where they do or it only bids."""
    ada = Seat(id=SeatId("ada"), platform="stub")
    long = ContextFile(name="long.md", text="租金 rent.\n" * 20_000)
    for files, switch, is_offered in [
        (FILES, "auto", False),
        ([long], "auto", True),
        ([long], "off", False),
        (FILES, "on", True),
    ]:
        opened = MeetingOpened(
            topic="Q?",
            language=language,
            seed=7,
            seats=(ada,),
            settings=PersonaSettings(blind=False),
            subject=Topic(context=build_context(files)),
            tools=ToolRules(switch=switch),  # type: ignore[arg-type]
        )
        for kind, expected in (("speech", is_offered), ("intent", False)):
            ask = Ask(id=ask_id(1, kind, ada.id), seat=ada.id, kind=kind, turn=1, patience=60.0)
            brief = add_background(RULES.brief(RULES.initial(opened), ask), opened)
            assert (brief.tools is not None) is expected, (switch, kind)
    first = run_tool(language, (long,), "read", {"file": "long.md"})
    assert len(first.text) <= MAX_RESULT_LENGTH
    last = int(first.places[0].rpartition("-")[2])
    assert str(last + 1) in first.text
    then = run_tool(language, (long,), "read", {"file": "long.md", "first": str(last + 1)})
    assert then.places[0].startswith(f"long.md:{last + 1}-")
    assert run_tool(language, (long,), "search", {"words": "租金"}).outcome == "answered"
    assert not run_tool(language, (long,), "search", {"words": "zebra"}).places


def test_a_large_folder_is_indexed_beside_the_loop_and_never_in_it(tmp_path: Path) -> None:
    """E-2, N-7: at the opening, and in a process that reads the session again; what is asked then finds its passages."""
    files = [
        ContextFile(name=f"part{number}.md", text=FILLER * 100 + f"The rent is {number} euros.")
        for number in range(5)
    ]
    in_loop: list[str] = []

    def note_call(frame: FrameType, event: str, value: object) -> None:
        if event == "call" and frame.f_code is given_search._split_passages.__code__:
            in_loop.append(frame.f_code.co_name)

    async def work() -> None:
        environ = {"MOOT_HOME": str(tmp_path)}
        async with Moot(environ=environ) as moot:
            sys.setprofile(note_call)
            session = await moot.open(
                "Is the rent too high?", seats={"ada": "mailbox", "bob": "mailbox"}, files=files
            )
            assert "The rent is 3 euros." in (await moot.asks(session))[0].brief.shared
        given_search._build_index.cache_clear()
        async with Moot(environ=environ) as moot:
            assert await moot.asks(session)
            sys.setprofile(None)
            assert given_search._build_index.cache_info().currsize == 1

    try:
        asyncio.run(work())
    finally:
        sys.setprofile(None)
    assert in_loop == []
