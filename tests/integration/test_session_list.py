"""The list of sessions is kept between processes, and never says what is no longer so."""

import asyncio
import json
import sqlite3
from collections.abc import Collection
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from moothall import Moot
from moothall.app import session_list
from moothall.app.environment import LIST, resolve_search_file
from moothall.app.session_list import SessionLine, SessionList
from moothall.domain.ids import SessionId
from moothall.domain.records import Head
from moothall.errors import BadSetting, UnknownSession
from moothall.ledgers import line_file
from moothall.ledgers.line_file import LineFile, LineRow
from moothall.ledgers.memory import MemoryLedger
from moothall.memory.search import Document, SearchIndex
from moothall.plugins import Brief


def build_environ(home: Path) -> dict[str, str]:
    return {"MOOT_HOME": str(home)}


def list_lines(environ: dict[str, str]) -> tuple[list[session_list.SessionLine], bool]:
    """The lines as a new process would list them, and whether it had to read facts for that."""

    async def work() -> tuple[list[session_list.SessionLine], bool]:
        async with Moot(environ=environ) as moot:
            lines = await moot.session_list.add_outcomes(await moot.sessions())
            return lines, "engine" in vars(moot)

    return asyncio.run(work())


def list_standings(environ: dict[str, str]) -> dict[str, str | None]:
    return {line.session: line.standing for line in list_lines(environ)[0]}


def open_session(environ: dict[str, str], topic: str, session: str) -> None:
    async def work() -> None:
        async with Moot(environ=environ) as moot:
            await moot.open(topic, seats={"a": "mailbox", "b": "mailbox"}, session=session)

    asyncio.run(work())


def hold_two(environ: dict[str, str]) -> None:
    async def work() -> None:
        async with Moot(environ=environ) as moot:
            await moot.hold("Shall we?", seats={"a": speak, "b": speak}, turns=2, session="done")

    asyncio.run(work())
    open_session(environ, "And then?", "begun")


def speak(brief: Brief) -> str:
    return "Ship it. I support that."


def test_a_second_list_reads_no_fact_and_says_the_same(tmp_path: Path) -> None:
    """M-9"""
    environ = build_environ(tmp_path)
    hold_two(environ)
    first, had_to_read = list_lines(environ)
    second, reads_again = list_lines(environ)
    assert had_to_read
    assert not reads_again
    assert second == first
    assert {line.session: line.standing for line in first} == {
        "done": "decided",
        "begun": "stopped",
    }
    path = resolve_search_file(environ, LIST)
    assert path is not None
    assert path.stat().st_mode & 0o077 == 0


def test_a_session_that_went_on_is_read_again(tmp_path: Path) -> None:
    environ = build_environ(tmp_path)
    hold_two(environ)
    list_lines(environ)

    async def cancel() -> None:
        async with Moot(environ=environ) as moot:
            await moot.cancel("begun")

    asyncio.run(cancel())
    lines, had_to_read = list_lines(environ)
    assert had_to_read
    assert {line.session: line.standing for line in lines} == {
        "done": "decided",
        "begun": "cancelled",
    }


def test_whether_a_session_runs_is_asked_each_time(tmp_path: Path) -> None:
    environ = build_environ(tmp_path)
    hold_two(environ)
    list_lines(environ)

    async def look_while_it_is_claimed() -> dict[str, str | None]:
        async with Moot(environ=environ) as other, other.ledger.claim(SessionId("begun")):
            return await asyncio.to_thread(list_standings, environ)

    assert asyncio.run(look_while_it_is_claimed())["begun"] == "running"
    assert list_standings(environ)["begun"] == "stopped"


@pytest.mark.parametrize("content", [b"", b"\xff\x00", b"[]", b"SQLite format 3\0" + b"\0" * 4_080])
def test_a_damaged_file_is_as_none(tmp_path: Path, content: bytes) -> None:
    environ = build_environ(tmp_path)
    hold_two(environ)
    first, _ = list_lines(environ)
    path = resolve_search_file(environ, LIST)
    assert path is not None
    path.write_bytes(content)
    # The first makes the file anew, the second reads it.
    assert list_lines(environ)[0] == first
    list_lines(environ)
    assert list_lines(environ) == (first, False)


@pytest.mark.parametrize("fields", ["[1]", "7", "{", "[]", '["a", "b"]'])
def test_a_line_that_is_damaged_or_of_another_form_is_as_none(tmp_path: Path, fields: str) -> None:
    environ = build_environ(tmp_path)
    hold_two(environ)
    first, _ = list_lines(environ)
    path = resolve_search_file(environ, LIST)
    assert path is not None
    with sqlite3.connect(path) as connection:
        connection.execute("UPDATE lines SET fields = ?", [fields])
    assert list_lines(environ)[0] == first
    with sqlite3.connect(path) as connection:
        connection.execute("UPDATE form SET form = 'another'")
    assert list_lines(environ)[0] == first
    assert list_lines(environ) == (first, False)


def test_a_file_that_is_full_keeps_the_newest_lines(tmp_path: Path) -> None:
    """N-9: it is bounded by its bytes, and what is gone from the ledger goes from it."""
    file = LineFile(tmp_path / "lines.db", "1")
    rows = {f"s{at:03}": LineRow(at, ["x" * 1_000]) for at in range(100)}
    file.write(rows, (), 1_000_000)
    assert len(file.read()) == 100
    assert file.read(["s001", "nobody"]) == {"s001": ["x" * 1_000]}
    file.write({"new": LineRow(200, ["y"])}, ["s099"], 50_000)
    left = file.read()
    assert "s099" not in left
    assert "new" in left
    assert sorted(left)[-1] == "s098"
    assert 40 < len(left) < 52
    assert (tmp_path / "lines.db").stat().st_size < 80_000


def test_a_file_that_another_process_writes_is_not_waited_for_long(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Without it the sessions themselves are read, and the list is the same."""
    monkeypatch.setattr(line_file, "SECONDS", 0.05)
    environ = build_environ(tmp_path)
    hold_two(environ)
    first, _ = list_lines(environ)
    path = resolve_search_file(environ, LIST)
    assert path is not None
    with sqlite3.connect(path) as connection:
        connection.execute("BEGIN EXCLUSIVE")
        assert list_lines(environ)[0] == first


def test_the_newest_sessions_cost_what_they_are_and_not_what_there_is(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """N-9: a page of the list reads its own sessions, from the ledger and from the file."""
    environ, reads = build_environ(tmp_path), CountedReads(monkeypatch)
    asked: list[int] = []
    read = LineFile.read

    def count_read(file: LineFile, sessions: Collection[str] | None = None) -> dict[str, list[Any]]:
        asked.append(-1 if sessions is None else len(sessions))
        return read(file, sessions)

    monkeypatch.setattr(LineFile, "read", count_read)

    async def work() -> None:
        async with Moot(environ=environ) as moot:
            await open_many(moot, 200)
            every = (await moot.sessions())[::-1]
            await moot.session_list.add_outcomes(every)
        asked.clear()
        reads.take()
        async with Moot(environ=environ) as moot:
            page = await moot.session_list.load_newest(10, after=5)
            assert (page.total, page.lines) == (200, every[5:15])
            assert (await moot.session_list.load_newest(10, after=200)).lines == []
            named = await moot.session_list.load_named("s19")
            assert {line.session for line in named} == {
                line.session for line in every if line.session.startswith("s19")
            }
        assert asked[0] == 10
        assert -1 not in asked
        assert reads.take() == (0, 0)

    asyncio.run(work())


def test_a_session_of_another_ledger_under_the_same_name_is_read(tmp_path: Path) -> None:
    environ = build_environ(tmp_path)
    hold_two(environ)
    list_lines(environ)
    (tmp_path / "ledger.db").unlink()
    for rest in ("ledger.db-wal", "ledger.db-shm"):
        (tmp_path / rest).unlink(missing_ok=True)
    open_session(environ, "Something else?", "done")
    lines, _ = list_lines(environ)
    assert [(line.session, line.topic, line.standing) for line in lines] == [
        ("done", "Something else?", "stopped")
    ]


def test_a_damaged_session_is_said_each_time(tmp_path: Path) -> None:
    environ = build_environ(tmp_path)
    hold_two(environ)
    with sqlite3.connect(tmp_path / "ledger.db") as connection:
        connection.execute(
            "UPDATE entries SET body = X'00' WHERE seq = 1 AND session = (SELECT number FROM sessions WHERE id = 'done')"
        )
    for _ in range(2):
        assert list_standings(environ)["done"] == "damaged"


def test_few_lines_are_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """However many sessions there are, and however long their questions, the lines are bounded: the newest are kept."""
    environ = build_environ(tmp_path)
    hold_two(environ)
    lines, _ = list_lines(environ)
    path = resolve_search_file(environ, LIST)
    assert path is not None
    file = LineFile(path, json.dumps(session_list.FORM))
    assert file.read().keys() == {"done", "begun"}
    path.unlink()
    monkeypatch.setattr(session_list, "MAX_CACHED_BYTES", 1_500)
    again, _ = list_lines(environ)
    assert again == lines
    assert file.read().keys() == {"begun"}
    open_session(environ, "?" * 10_000, "long")
    assert {line.session for line in list_lines(environ)[0]} == {"done", "begun", "long"}
    assert "long" not in file.read()
    assert path.stat().st_size < 30_000


def test_forks_and_unfinished_imports_are_marked(tmp_path: Path) -> None:
    """W-3: by the first entry and by the note of the import; a fork's opening is its source's."""
    environ, other = build_environ(tmp_path / "here"), build_environ(tmp_path / "there")
    hold_two(environ)

    async def copy() -> str:
        async with Moot(environ=environ) as moot:
            await moot.fork("done", name="copy")
            await moot.fork("copy", at=2, name="second")
            same = await moot.diff("done", "done")
            assert (same.left, same.right) == ((), ())
            assert 1 < (await moot.diff("done", "copy")).shared < same.shared
            return await moot.export("begun", "jsonl")

    text = asyncio.run(copy())

    async def read_back() -> None:
        async with Moot(environ=other) as moot:
            await moot.read_back(text)

    asyncio.run(read_back())
    for _ in range(2):
        lines = {line.session: line.forked_from for line in list_lines(environ)[0]}
        assert lines == {"done": "", "begun": "", "copy": "done", "second": "copy"}
        assert [
            (line.session, line.standing, line.is_imported) for line in list_lines(other)[0]
        ] == [("begun", "stopped", True)]


def test_labels_are_the_ledgers_and_last_whatever_a_session_does(tmp_path: Path) -> None:
    """W-1: tags stand in place of those of the opening; what was put away comes back; a session that is not there has none."""
    environ = build_environ(tmp_path)

    async def work() -> None:
        async with Moot(environ=environ) as moot, Moot(environ=environ) as beside:
            await moot.open(
                "Which?", seats={"a": "mailbox", "b": "mailbox"}, session="s", tags=["old"]
            )
            assert [
                line.tags
                for line in await beside.session_list.add_outcomes(await beside.sessions())
            ] == [("old",)]
            assert (await moot.session_list.label("s", is_away=True)).tags == ("old",)
            assert await beside.session_list.list_relabelled() == {"s"}
            assert await beside.session_list.list_relabelled() == set()
            line = await beside.session_list.label("s", ["budget", "Budget", "2027"])
            assert (line.tags, line.is_away) == (("budget", "2027"), True)
            assert (await beside.session_list.label("s", [])).tags == ()
            with pytest.raises(BadSetting, match="one tag is empty"):
                await moot.session_list.label("s", [" "])
            with pytest.raises(UnknownSession, match="no session is called 'nope'"):
                await moot.session_list.label("nope", is_away=True)
            await moot.cancel("s")

    asyncio.run(work())
    for _ in range(2):
        assert [(line.standing, line.tags, line.is_away) for line in list_lines(environ)[0]] == [
            ("cancelled", (), True)
        ]


class CountedReads:
    """How many sessions were read from their records, and of how many the decision was looked up."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.lines = self.outcomes = 0
        read_line, read_outcome = SessionList._read_line, SessionList._read_outcome

        def count_line(lines: SessionList, head: Head) -> SessionLine:
            self.lines += 1
            return read_line(lines, head)

        async def count_outcome(lines: SessionList, line: SessionLine) -> SessionLine:
            self.outcomes += 1
            return await read_outcome(lines, line)

        monkeypatch.setattr(SessionList, "_read_line", count_line)
        monkeypatch.setattr(SessionList, "_read_outcome", count_outcome)

    def take(self) -> tuple[int, int]:
        taken = self.lines, self.outcomes
        self.lines = self.outcomes = 0
        return taken


MANY = 6_000


async def open_many(moot: Moot, count: int) -> None:
    """Open so many sessions on a question of their own each."""
    planned = await moot.plan_session("Which?", seats={"a": "mailbox", "b": "mailbox"})
    for number in range(count):
        opened = replace(planned.opened, topic=f"Which of {number}?")
        await moot.engine.open(opened, SessionId(f"s{number}"))


def test_many_sessions_are_read_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """M-9, N-7: neither a further list of the same process reads a session again, nor the next process."""
    environ, reads = build_environ(tmp_path), CountedReads(monkeypatch)

    async def work() -> None:
        async with Moot(environ=environ) as moot:
            await open_many(moot, MANY)
            for expected in ((MANY, 50), (0, 0), (0, 0)):
                lines = await moot.sessions()
                assert len(lines) == MANY
                await moot.session_list.add_outcomes(lines[-50:])
                assert reads.take() == expected
            await moot.cancel("s7")
            assert (await moot.sessions())[-1].status == "cancelled"
            assert reads.take() == (1, 0)
        for expected in ((0, 1), (0, 0)):
            async with Moot(environ=environ) as moot:
                lines = await moot.session_list.add_outcomes((await moot.sessions())[-50:])
                assert lines[-1].standing == "cancelled"
                assert reads.take() == expected

    asyncio.run(work())


def test_beyond_the_bound_only_the_sessions_of_long_ago_are_read_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whatever the order in which they are listed, what fits is known."""
    environ, ledger, reads = build_environ(tmp_path), MemoryLedger(), CountedReads(monkeypatch)
    monkeypatch.setattr(session_list, "MAX_CACHED_BYTES", 1_000 * 100)

    async def work() -> None:
        async with Moot(environ=environ, ledger=ledger) as moot:
            await open_many(moot, 120)
            assert len(await moot.sessions()) == 120
            assert reads.take() == (120, 0)
            for _ in range(2):
                assert len(await moot.sessions()) == 120
                read, _ = reads.take()
                assert 20 <= read <= 40
            await moot.session_list.load_some(
                [SessionId(f"s{number}") for number in range(90, 120)]
            )
            assert reads.take() == (0, 0)

    asyncio.run(work())


def test_others_have_their_turn_while_many_sessions_are_read(tmp_path: Path) -> None:
    """A server answers while it reads its sessions for the first list."""
    ledger, turns = MemoryLedger(), []

    async def work() -> None:
        async with Moot(environ=build_environ(tmp_path), ledger=ledger) as moot:
            await open_many(moot, 1_000)
            listing = asyncio.create_task(moot.sessions())
            while not listing.done():
                turns.append(1)
                await asyncio.sleep(0)
            assert len(listing.result()) == 1_000

    asyncio.run(work())
    assert len(turns) >= 10


def test_a_second_search_indexes_what_is_new_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """N-9: a search while one types costs the search; sessions that were opened meanwhile are among its hits."""
    added: list[str] = []
    add = SearchIndex.add_document

    def count_document(index: SearchIndex, document: Document) -> None:
        added.append(document.topic)
        add(index, document)

    monkeypatch.setattr(SearchIndex, "add_document", count_document)

    async def work() -> None:
        async with Moot(environ=build_environ(tmp_path)) as moot:
            await open_many(moot, 20)
            hits = await moot.session_list.search("Which of 7?")
            assert hits[0].topic == "Which of 7?"
            assert len(added) == 20
            await moot.open("Which of 700?", seats={"a": "mailbox", "b": "mailbox"}, session="new")
            hits, _ = await asyncio.gather(
                moot.session_list.search("Which of 700?"), moot.session_list.search("700")
            )
            assert hits[0].session == "new"
            assert added[20:] == ["Which of 700?"]

    asyncio.run(work())
