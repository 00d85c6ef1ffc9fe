"""The page's one stream (W-9): read once for everybody, resumable, bounded; sealed words never pass it."""

import asyncio
import json
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from moothall.app.moot import Moot
from moothall.domain.effects import Brief
from moothall.domain.ids import SessionId
from moothall.ledgers.memory import MemoryLedger
from moothall.ports.participant import Answer, NoAnswer, OnText
from moothall.protocols.council.facts import Contribution
from moothall.surfaces.api.method import Call, Caller, ServerContext
from moothall.surfaces.api.methods import TABLE, open_server_context
from moothall.surfaces.http.stream import BEAT, Viewer, ViewHub, read_queue
from moothall_testkit.counting_ledger import CountingLedger
from moothall_testkit.ledger_scenes import run_with_deadline

OWNER = Caller()


class Stage:
    """A hub on a ledger in memory whose reads are counted."""

    def __init__(self, context: ServerContext, ledger: CountingLedger) -> None:
        self.context, self.ledger = context, ledger
        self.hub = ViewHub(context)

    async def __call__(self, method: str, /, **params: Any) -> Any:
        return await TABLE[method].invoke(Call(context=self.context, caller=OWNER), params)

    async def open(self, *seats: Any, **rest: Any) -> SessionId:
        given = seats or ("ada", "bob", "eve")
        opened = await self(
            "cstp.openDeliberation", topic="A or B?", participants=list(given), **rest
        )
        session = SessionId(opened["deliberationId"])
        await until(lambda: self.has_asked(session))
        return session

    async def has_asked(self, session: SessionId) -> bool:
        return bool((await self("moot.getEntries", sessionId=session))["head"] >= 2)

    async def propose(self, session: str, seat: str, text: str = "So.") -> None:
        await self(
            "cstp.contribute",
            deliberationId=session,
            participant=seat,
            type="propose",
            text=text,
            confidence=0.8,
        )

    async def is_settled(self, session: SessionId) -> None:
        """Wait until the hub follows a session."""
        await until(lambda: now(self.hub._followed[session].view is not None))


async def now(value: bool) -> bool:
    return value


async def until(check: Callable[[], Awaitable[bool]]) -> None:
    while not await check():  # noqa: ASYNC110 - what is waited for tells nobody
        await asyncio.sleep(0.005)


@asynccontextmanager
async def staged(home: Path, **participants: Any) -> AsyncIterator[Stage]:
    ledger = CountingLedger(MemoryLedger())
    environ = {"MOOT_HOME": str(home), "HOME": str(home)}
    async with open_server_context(
        Moot(environ=environ, ledger=ledger, participants=participants)
    ) as context:
        stage = Stage(context, ledger)
        running = asyncio.create_task(stage.hub.run())
        await asyncio.sleep(0)
        try:
            yield stage
        finally:
            running.cancel()
            await asyncio.gather(running, return_exceptions=True)


def parse(data: bytes) -> tuple[str, str, Any]:
    lines = dict(line.split(": ", 1) for line in data.decode().strip().split("\n"))
    return lines["id"], lines["event"], json.loads(lines["data"])


async def take(viewer: Viewer, wanted: Callable[[str, Any], bool]) -> list[tuple[str, str, Any]]:
    """Everything up to and with the first event that is wanted."""
    found: list[tuple[str, str, Any]] = []
    while not found or not wanted(found[-1][1], found[-1][2]):
        data = await viewer.queue.get()
        assert data is not None, "the stream ended"
        found.append(parse(data))
    return found


async def skip_first(data: AsyncIterator[bytes]) -> AsyncIterator[bytes]:
    await anext(data)
    async for each in data:
        yield each


def has_text(told: str) -> Callable[[str, Any], bool]:
    return lambda kind, data: kind == "view" and told in json.dumps(data)


def test_however_many_look_an_entry_is_read_as_often_and_all_get_the_same_bytes(
    tmp_path: Path,
) -> None:
    """W-9."""

    async def count(viewers: int, home: Path) -> tuple[int, set[bytes]]:
        async with staged(home) as stage:
            session = await stage.open()
            seen: list[Viewer] = []
            opened = [stage.hub.view(OWNER, "", frozenset({session})) for _ in range(viewers)]
            for each in opened:
                seen.append(each.__enter__())
            await stage.is_settled(session)
            before = stage.ledger.reads[session]
            told: list[bytes] = []
            for seat in ("ada", "bob"):
                await stage.propose(session, seat)
                await asyncio.sleep(0.6)
            for viewer in seen:
                parts = []
                while not viewer.queue.empty():
                    parts.append(viewer.queue.get_nowait() or b"")
                told.append(
                    b"".join(
                        part for part in parts if b"event: view" in part and b"timeline" in part
                    )
                )
            # The epoch of a hub is drawn by chance; within one hub the bytes are equal.
            assert b"timeline" in told[0]
            for each in opened:
                each.__exit__(None, None, None)
            return stage.ledger.reads[session] - before, set(told)

    async def work() -> None:
        one, _ = await count(1, tmp_path / "one")
        many, told = await count(40, tmp_path / "many")
        assert many == one
        assert len(told) == 1

    run_with_deadline(work())


def test_who_comes_back_gets_what_it_missed_without_a_read(tmp_path: Path) -> None:
    """W-9: by the id of the last event; an id of another server, or one that is too old, begins anew."""

    async def work() -> None:
        async with staged(tmp_path) as stage:
            session = await stage.open()
            mine = frozenset({session})
            with (
                stage.hub.view(OWNER, "", mine) as viewer,
                stage.hub.view(OWNER, "", mine) as other,
            ):
                await stage.is_settled(session)
                await stage.propose(session, "ada", "first")
                last = (await take(viewer, lambda kind, data: kind == "view" and data["seq"] >= 3))[
                    -1
                ][0]
                await take(other, lambda kind, data: kind == "view" and data["seq"] >= 3)
            await stage.propose(session, "bob", "second")
            await asyncio.sleep(0.6)
            reads = stage.ledger.reads[session]
            with stage.hub.view(OWNER, "", mine, last) as back:
                missed = await take(back, lambda kind, data: kind == "view" and data["seq"] >= 4)
                assert "reset" not in {kind for _, kind, _ in missed}
                assert stage.ledger.reads[session] == reads
                numbers = [int(name.partition(".")[2]) for name, _, _ in missed]
                assert numbers == sorted(set(numbers))
                assert numbers[0] > int(last.partition(".")[2])
            for stale in (
                "feedbeef.3",
                f"{stage.hub.epoch}.99999",
                "nonsense",
                f"{stage.hub.epoch}.-1",
            ):
                with stage.hub.view(OWNER, "", mine, stale) as lost:
                    first = await lost.queue.get()
                    assert first is not None
                    assert parse(first)[1] == "reset", stale
            with stage.hub.view(OWNER, "", frozenset({await stage.open()}), last) as elsewhere:
                first = await elsewhere.queue.get()
                assert first is not None
                # What happened to a session that nobody viewed was not kept.
                assert parse(first)[1] == "reset"

    run_with_deadline(work())


def test_a_session_more_on_a_stream_begins_anew_alone(tmp_path: Path) -> None:
    """W-9: one stream serves all tabs of a browser; a tab more does not make the others load everything again."""

    async def work() -> None:
        async with staged(tmp_path) as stage:
            session, added = await stage.open(), await stage.open()
            with stage.hub.view(OWNER, "", frozenset({session})) as viewer:
                await stage.is_settled(session)
                await asyncio.sleep(0.5)
                await stage.propose(session, "ada", "first")
                last = (await take(viewer, lambda kind, data: kind == "view" and data["seq"] >= 3))[
                    -1
                ][0]
                await stage.propose(session, "bob", "second")
                await take(viewer, lambda kind, data: kind == "view" and data["seq"] >= 4)
                with stage.hub.view(OWNER, "", frozenset({session, added}), last) as both:
                    missed = await take(
                        both, lambda kind, data: kind == "view" and data["seq"] >= 4
                    )
                    assert [data for _, kind, data in missed if kind == "reset"] == [
                        {"sessions": [added]}
                    ]

    run_with_deadline(work())


def test_a_reader_has_a_number_to_come_back_with_at_once_and_hears_the_server_by_an_event(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """W-9: a browser shows no comments to the page, so that the beat is an event; the stream of entries keeps its comments."""
    monkeypatch.setattr("moothall.surfaces.http.stream.BEAT_SECONDS", 0.01)

    async def work() -> None:
        async with staged(tmp_path) as stage:
            with stage.hub.view(OWNER, "", frozenset()) as viewer:
                heard = read_queue(viewer.queue, BEAT)
                first = [await anext(heard) for _ in range(3)]
                assert first[0].startswith(b"retry:")
                assert parse(first[1])[:2] == (f"{stage.hub.epoch}.0", "beat")
                assert first[2] == b"event: beat\ndata: {}\n\n"
            assert await anext(skip_first(read_queue(asyncio.Queue()))) == b": beat\n\n"

    run_with_deadline(work())


def test_a_slow_viewer_is_cut_off_and_holds_nobody_up(tmp_path: Path) -> None:
    """W-9: its queue is bounded; it ends, and the others go on."""

    async def work() -> None:
        async with staged(tmp_path) as stage:
            session = await stage.open()
            mine = frozenset({session})
            with stage.hub.view(OWNER, "", mine) as slow, stage.hub.view(OWNER, "", mine) as quick:
                for number in range(1_000):
                    stage.hub.publish("text", session, {"number": number})
                    while not quick.queue.empty():
                        quick.queue.get_nowait()
                assert stage.hub.viewers == 1
                parts = [part async for part in read_queue(slow.queue, BEAT)]
                # What waited is sent, up to the bound and without a gap; then the stream ends.
                told = [
                    parse(part)[2].get("number")
                    for part in b"".join(parts).split(b"\n\n")
                    if b"event: text" in part
                ]
                assert told == list(range(len(told)))
                assert len(told) < 300
                stage.hub.publish("text", session, {"number": -1})
                assert parse(await quick.queue.get() or b"")[2] == {"number": -1}

    run_with_deadline(work())


def test_a_seat_sees_its_session_and_an_agent_only_its_own_turn(tmp_path: Path) -> None:
    """W-7, W-9: lines of other sessions, and asks of others, go to others."""

    async def work() -> None:
        async with staged(tmp_path) as stage:
            mine, other = await stage.open(), await stage.open()
            seat = Caller(role="seat", session=mine, seat="bob", token="t1")
            watcher = Caller(role="observer", token="t2")
            with (
                stage.hub.view(seat, "", frozenset({mine})) as bob,
                stage.hub.view(watcher, "", frozenset({mine})) as observer,
                stage.hub.view(OWNER, "", frozenset({mine})) as owner,
            ):
                await stage.is_settled(mine)
                await asyncio.sleep(0.5)
                await stage.propose(other, "ada")
                for name in ("ada", "bob", "eve"):
                    await stage.propose(mine, name)
                # `asked` events follow the view that they belong to.
                await asyncio.sleep(0.8)
                told = {}
                for name, viewer in {"bob": bob, "observer": observer, "owner": owner}.items():
                    told[name] = [
                        parse(viewer.queue.get_nowait() or b"") for _ in range(viewer.queue.qsize())
                    ]
                assert {data["sessionId"] for _, kind, data in told["bob"] if kind != "beat"} == {
                    mine
                }
                assert {data["sessionId"] for _, kind, data in told["owner"] if kind == "line"} == {
                    mine,
                    other,
                }
                asked = {
                    name: [data["seat"] for _, kind, data in events if kind == "asked"]
                    for name, events in told.items()
                }
                assert asked == {"bob": ["bob"], "observer": [], "owner": ["ada", "bob", "eve"]}

    run_with_deadline(work())


def test_a_token_that_ends_ends_its_streams_with_one_read_for_all(tmp_path: Path) -> None:
    """W-7, W-9."""

    async def work() -> None:
        async with staged(tmp_path) as stage:
            session = await stage.open()
            access = stage.context.moot.access
            issued = await access.issue("observer", lasts=timedelta(days=1))
            kept = await access.issue("observer", lasts=timedelta(days=1))
            caller = Caller(role="observer", token=issued.id)
            gone = [stage.hub.view(caller, issued.secret, frozenset({session})) for _ in range(20)]
            viewers = [each.__enter__() for each in gone]
            with stage.hub.view(caller, kept.secret, frozenset()):
                before = stage.ledger.reads["_access"]
                await asyncio.sleep(1.5)
                assert stage.ledger.reads["_access"] - before <= 2
                await access.revoke(issued.id)
                for viewer in viewers:
                    while await viewer.queue.get() is not None:
                        pass
                assert stage.hub.viewers == 1
            for each in gone:
                each.__exit__(None, None, None)

    run_with_deadline(work())


class Writer:
    """A participant that writes word by word once it is told to begin, and ends when it is let go."""

    def __init__(self) -> None:
        self.begin, self.let_go = asyncio.Event(), asyncio.Event()

    async def ready(self) -> str | None:
        return None

    async def respond(self, brief: Brief, on_text: OnText) -> Answer | NoAnswer:
        await self.begin.wait()
        for word in ("half ", "a ", "sentence"):
            on_text(word)
        await self.let_go.wait()
        return Answer(said=Contribution(type="propose", text="the-secret-plan", confidence=0.8))


@pytest.mark.parametrize("blind", [True, False])
def test_text_is_streamed_while_it_is_written_unless_it_is_sealed(
    tmp_path: Path, blind: bool
) -> None:
    """W-2, W-9, D-19."""

    async def work() -> None:
        writer = Writer()
        async with staged(tmp_path, pen=writer) as stage:
            session = await stage.open({"id": "ada", "platform": "pen"}, "bob", blind=blind)
            with stage.hub.view(OWNER, "", frozenset({session})) as viewer:
                await stage.is_settled(session)
                writer.begin.set()
                await asyncio.sleep(0.4)
                last = ""
                # Who comes late, or whose place in the stream is not known any more, is told what was written so far.
                for after in ("", "gone.7"):
                    with stage.hub.view(OWNER, "", frozenset({session}), after) as late:
                        heard = [
                            parse(late.queue.get_nowait() or b"") for _ in range(late.queue.qsize())
                        ]
                    last = heard[-1][0]
                    texts = [data for _, kind, data in heard if kind == "text"]
                    assert [(data["text"], data["whole"]) for data in texts] == (
                        [] if blind else [("half a sentence", True)]
                    )
                # Who comes back in time has it.
                with stage.hub.view(OWNER, "", frozenset({session}), last) as back:
                    heard = [
                        parse(back.queue.get_nowait() or b"") for _ in range(back.queue.qsize())
                    ]
                    assert "text" not in {kind for _, kind, _ in heard}
                writer.let_go.set()
                told = await take(
                    viewer, lambda kind, data: kind == "line" and data["entries"] >= 4
                )
                await asyncio.sleep(0.5)
                told += [
                    parse(viewer.queue.get_nowait() or b"") for _ in range(viewer.queue.qsize())
                ]
                texts = [data for _, kind, data in told if kind == "text"]
                assert "".join(data["text"] for data in texts) == (
                    "" if blind else "half a sentence"
                )
                assert {(data["ask"], data["seat"]) for data in texts} == (
                    set() if blind else {("1.propose.ada", "ada")}
                )
                views = json.dumps([data for _, kind, data in told if kind == "view"])
                assert "timeline" in views
                assert ("the-secret-plan" in views) is not blind
            with stage.hub.view(OWNER, "", frozenset({session})) as later:
                heard = [parse(later.queue.get_nowait() or b"") for _ in range(later.queue.qsize())]
                assert "text" not in {kind for _, kind, _ in heard}

    run_with_deadline(work())
