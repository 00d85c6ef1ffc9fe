"""The SQLite ledger against the real thing: other people's files, full disks, tampering, processes that die."""

import asyncio
import fcntl
import json
import os
import sqlite3
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager, suppress
from pathlib import Path

import pytest

from moothall.app.moot import Moot
from moothall.app.resources import SystemClock
from moothall.app.verification import LedgerVerifier
from moothall.codec.chain import compute_record_hash, find_chain_fault, parse_export
from moothall.codec.stored import FactCodec
from moothall.domain.ids import SeatId, SessionId
from moothall.domain.records import Head, StoredRecord
from moothall.domain.roster import Seat
from moothall.engine.engine import Engine
from moothall.engine.sessions import PAGE
from moothall.errors import (
    LedgerDamaged,
    LedgerFull,
    LedgerNewer,
    LedgerOlder,
    LedgerUnavailable,
    SeqConflict,
)
from moothall.features.persona.facts import KINDS, MeetingOpened
from moothall.features.persona.rules import RULES
from moothall.ledgers.migrations import load_migrations
from moothall.ledgers.sqlite import SqliteLedger
from moothall.ledgers.sqlite_file import WriteTurns, open_connection
from moothall_testkit.ledger_scenes import build_chain, enter_claim, expect_error, run_with_deadline

ONE, TWO = SessionId("one"), SessionId("two")
DEADLINE = 120.0
OLDEST, NEWEST = (load_migrations("sqlite")[place].version for place in (0, -1))


def opening(path: Path) -> None:
    async def work() -> None:
        async with SqliteLedger(path):
            pass

    run_with_deadline(work())


def append(path: Path, session: SessionId, records: list[StoredRecord]) -> None:
    async def work() -> None:
        async with SqliteLedger(path) as ledger:
            await ledger.append(session, records)

    run_with_deadline(work())


def read(path: Path, session: SessionId) -> list[StoredRecord]:
    async def work() -> list[StoredRecord]:
        async with SqliteLedger(path) as ledger:
            return await ledger.read(session)

    return run_with_deadline(work())


def edit(path: Path, *statements: str) -> None:
    """Change a file behind the ledger's back."""
    with closing(sqlite3.connect(path)) as connection:
        for statement in statements:
            connection.execute(statement)
        connection.commit()


def contents(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.iterdir()}


@contextmanager
def child(code: str, *arguments: object) -> Iterator["subprocess.Popen[str]"]:
    """A Python process that runs the code; it is killed, if need be, when the block ends."""
    command = [sys.executable, "-c", code, *map(str, arguments)]
    process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    with process:
        try:
            yield process
        finally:
            process.kill()


def line(process: "subprocess.Popen[str]") -> str:
    """The next line that a child prints; its end is a failure. pytest's own limit bounds the wait."""
    assert process.stdout is not None
    text = process.stdout.readline()
    assert text.endswith("\n"), f"the child ended: {process.wait(DEADLINE)}"
    return text.strip()


def tell(process: "subprocess.Popen[str]", text: str = "") -> None:
    assert process.stdin is not None
    process.stdin.write(text + "\n")
    process.stdin.flush()


# Files that are not ours


def test_a_new_file_is_a_ledger_of_the_newest_version(tmp_path: Path) -> None:
    path = tmp_path / "some" / "where" / "ledger.db"
    opening(path)
    opening(path)
    with closing(sqlite3.connect(path)) as connection:
        found = {
            name: connection.execute(f"PRAGMA {name}").fetchone()[0]
            for name in ("user_version", "application_id", "journal_mode")
        }
    assert found == {
        "user_version": NEWEST,
        "application_id": int.from_bytes(b"MOOT"),
        "journal_mode": "wal",
    }
    assert [step.version for step in load_migrations("sqlite")] == list(range(OLDEST, NEWEST + 1))


def test_an_empty_file_becomes_a_ledger(tmp_path: Path) -> None:
    path = tmp_path / "ledger.db"
    path.touch()
    append(path, ONE, build_chain(ONE, 1))
    assert read(path, ONE) == build_chain(ONE, 1)


def test_a_file_of_a_newer_version_is_refused_and_unchanged(tmp_path: Path) -> None:
    path = tmp_path / "ledger.db"
    append(path, ONE, build_chain(ONE, 3))
    edit(path, f"PRAGMA user_version = {NEWEST + 1}")
    before = contents(tmp_path)
    with pytest.raises(
        LedgerNewer, match=f"has version {NEWEST + 1}, this Moot knows {NEWEST}; upgrade Moot"
    ):
        opening(path)
    assert contents(tmp_path) == before
    edit(path, f"PRAGMA user_version = {NEWEST}")
    assert read(path, ONE) == build_chain(ONE, 3)


def test_a_file_from_before_the_first_release_is_refused_and_unchanged(tmp_path: Path) -> None:
    path = tmp_path / "ledger.db"
    append(path, ONE, build_chain(ONE, 3))
    for version in (1, 2, OLDEST - 1):
        edit(path, f"PRAGMA user_version = {version}")
        before = contents(tmp_path)
        with pytest.raises(
            LedgerOlder,
            match=f"before its first release .version {version}, the first is {OLDEST}.*elsewhere",
        ):
            opening(path)
        assert contents(tmp_path) == before


def test_an_sqlite_file_of_another_program_is_refused_and_unchanged(tmp_path: Path) -> None:
    path = tmp_path / "ledger.db"
    edit(path, "CREATE TABLE notes (text)", "INSERT INTO notes VALUES ('mine')")
    before = contents(tmp_path)
    with pytest.raises(LedgerUnavailable, match="an SQLite file of another program"):
        opening(path)
    assert contents(tmp_path) == before


@pytest.mark.parametrize(
    "text",
    [b"Dear diary,\n" * 200, b"hi", b"SQLite format 3\0" + b"\xff" * 2_000],
    ids=["text", "word", "head"],
)
def test_a_file_that_is_no_sqlite_file_is_refused_and_unchanged(
    tmp_path: Path, text: bytes
) -> None:
    path = tmp_path / "ledger.db"
    path.write_bytes(text)
    with pytest.raises(LedgerUnavailable):
        opening(path)
    assert contents(tmp_path) == {"ledger.db": text}


def test_a_folder_in_the_files_place_is_refused(tmp_path: Path) -> None:
    (tmp_path / "ledger.db").mkdir()
    with pytest.raises(LedgerUnavailable, match="check MOOT_HOME"):
        opening(tmp_path / "ledger.db")


def test_a_file_in_the_folders_place_is_refused(tmp_path: Path) -> None:
    (tmp_path / "moot").write_text("a file")
    with pytest.raises(LedgerUnavailable, match="check MOOT_HOME"):
        opening(tmp_path / "moot" / "ledger.db")
    assert contents(tmp_path) == {"moot": b"a file"}


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write everywhere")
def test_a_folder_without_the_right_to_write_is_refused(tmp_path: Path) -> None:
    closed = tmp_path / "closed"
    closed.mkdir(mode=0o500)
    with pytest.raises(LedgerUnavailable):
        opening(closed / "ledger.db")
    with pytest.raises(LedgerUnavailable):
        opening(closed / "moot" / "ledger.db")


def test_a_claim_that_cannot_be_written_is_refused_by_name(tmp_path: Path) -> None:
    path = tmp_path / "ledger.db"
    opening(path)
    (tmp_path / "ledger.db.locks").write_text("a file in the folder's place")

    async def work() -> None:
        async with SqliteLedger(path) as ledger:
            await expect_error(LedgerUnavailable, enter_claim(ledger.claim(ONE)))

    run_with_deadline(work())


def test_pages_of_rubbish_are_refused_by_name(tmp_path: Path) -> None:
    path = tmp_path / "ledger.db"
    append(path, ONE, [StoredRecord(seq, seq, b"x" * 3_000, bytes(32)) for seq in range(1, 50)])
    whole = path.read_bytes()
    path.write_bytes(whole[:4_096] + b"\xa5" * (len(whole) - 4_096))
    with pytest.raises(LedgerUnavailable):
        read(path, ONE)


# What must not leave a caller waiting for ever


def test_an_append_that_cannot_be_performed_fails_alone(tmp_path: Path) -> None:
    async def work() -> None:
        async with SqliteLedger(tmp_path / "ledger.db") as ledger:
            # What a shell hands over for a byte that is no UTF-8.
            bad = asyncio.create_task(ledger.append(SessionId("\udcff"), build_chain(ONE, 1)))
            good = asyncio.create_task(ledger.append(ONE, build_chain(ONE, 1)))
            done, _ = await asyncio.wait([bad, good], timeout=DEADLINE)
            assert done == {bad, good}
            assert await ledger.read(ONE) == build_chain(ONE, 1)

    run_with_deadline(work())


def test_a_waiter_hears_that_the_ledger_failed(tmp_path: Path) -> None:
    path = tmp_path / "ledger.db"

    async def work() -> None:
        async with SqliteLedger(path) as ledger:
            await ledger.append(TWO, build_chain(TWO, 1))
            waiter = asyncio.create_task(ledger.wait_for_change(ONE, 0))
            await ledger.wait_for_change(TWO, 0)
            edit(path, "DROP TABLE entries")
            done, _ = await asyncio.wait([waiter], timeout=DEADLINE)
            assert done == {waiter}
            await expect_error(LedgerUnavailable, waiter)

    run_with_deadline(work())


# No room


def test_a_full_ledger_says_so_keeps_nothing_half_and_goes_on_when_there_is_room(
    tmp_path: Path,
) -> None:
    path = tmp_path / "ledger.db"

    async def work() -> None:
        async with SqliteLedger(path) as ledger:
            await ledger.append(ONE, build_chain(ONE, 2))
            before = await ledger.heads()
            # The limit belongs to the connection, which is the ledger's own.
            ledger._writer.execute("PRAGMA max_page_count = 12").fetchall()
            large = [StoredRecord(seq, seq, b"x" * 20_000, bytes(32)) for seq in range(1, 6)]
            results = await asyncio.gather(
                # Not the session that wrote last: the append of that one would not wait for a group.
                ledger.append(TWO, large),
                ledger.append(ONE, build_chain(ONE, 3)[2:]),
                ledger.append(SessionId("three"), build_chain(SessionId("three"), 1)),
                return_exceptions=True,
            )
            assert [type(result) for result in results] == [LedgerFull] * 3
            assert await ledger.heads() == before
            assert await ledger.read(ONE) == build_chain(ONE, 2)
            await ledger.append(ONE, build_chain(ONE, 3)[2:])
            await expect_error(LedgerFull, ledger.append(TWO, large))
            ledger._writer.execute("PRAGMA max_page_count = 100000").fetchall()
            await ledger.append(TWO, large)
            assert await ledger.read(TWO) == large

    run_with_deadline(work())
    assert read(path, ONE) == build_chain(ONE, 3)
    with closing(sqlite3.connect(path)) as connection:
        assert connection.execute("SELECT id FROM sessions ORDER BY id").fetchall() == [
            ("_heads",),
            ("one",),
            ("two",),
        ]


FILLS_THE_DISK = """
import asyncio, json, resource, sys
from pathlib import Path
from moothall.domain.records import StoredRecord
from moothall.errors import LedgerUnavailable
from moothall.ledgers.sqlite import SqliteLedger
from moothall.ledgers.sqlite_file import open_connection
from moothall.ledgers.sqlite_file import WriteTurns

def record(seq):
    return StoredRecord(seq, seq, bytes([seq % 256]) * 9_000, bytes(32))

async def main():
    path, taken, failures = Path(sys.argv[1]), 0, []
    async with SqliteLedger(path) as ledger:
        _, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
        resource.setrlimit(resource.RLIMIT_FSIZE, (300_000, hard))
        while len(failures) < 3:
            try:
                await ledger.append("one", [record(taken + 1), record(taken + 2)])
                taken += 2
            except LedgerUnavailable as error:
                failures.append(type(error).__name__)
        while_full = [one.seq for one in await ledger.read("one")]
        resource.setrlimit(resource.RLIMIT_FSIZE, (hard, hard))
        await ledger.append("one", [record(taken + 1)])
    print(json.dumps({"taken": taken, "failures": len(failures), "while_full": while_full}))

asyncio.run(main())
"""


def test_a_disk_that_takes_no_more_loses_nothing_that_was_acknowledged(tmp_path: Path) -> None:
    path = tmp_path / "ledger.db"
    with child(FILLS_THE_DISK, path) as process:
        told = json.loads(line(process))
        assert process.wait(DEADLINE) == 0
    taken = told["taken"]
    assert taken > 0
    assert told == {"taken": taken, "failures": 3, "while_full": list(range(1, taken + 1))}
    assert read(path, ONE) == [
        StoredRecord(seq, seq, bytes([seq % 256]) * 9_000, bytes(32)) for seq in range(1, taken + 2)
    ]


# Tampering


def changed(seq: int) -> str:
    return f"entry {seq} was changed after it was written: its hash does not fit"


def mine(seq: int) -> str:
    return f"WHERE session = (SELECT number FROM sessions WHERE id = 'one') AND seq = {seq}"


def reforge(path: Path) -> None:
    """Put other words in entry 3, with a hash that fits them."""
    records = read(path, ONE)
    body = records[2].body.replace(b"word", b"lie!")
    digest = compute_record_hash(records[1].hash, 3, records[2].at, body)
    edit(path, f"UPDATE entries SET body = x'{body.hex()}', hash = x'{digest.hex()}' {mine(3)}")


def edits(*statements: str) -> Callable[[Path], None]:
    return lambda path: edit(path, *statements)


TAMPERINGS: dict[str, tuple[Callable[[Path], None], str]] = {
    "another body": (
        edits(f"UPDATE entries SET body = CAST(replace(body, 'word', 'lie!') AS BLOB) {mine(3)}"),
        changed(3),
    ),
    "another opening": (
        edits(f"UPDATE entries SET body = CAST(replace(body, 'ada', 'eve') AS BLOB) {mine(1)}"),
        changed(1),
    ),
    "an empty body": (edits(f"UPDATE entries SET body = x'' {mine(2)}"), changed(2)),
    "another hash": (edits(f"UPDATE entries SET hash = zeroblob(32) {mine(4)}"), changed(4)),
    "another time": (edits(f"UPDATE entries SET at = at + 1 {mine(5)}"), changed(5)),
    "a reforged entry": (reforge, changed(4)),
    "a missing entry": (edits(f"DELETE FROM entries {mine(3)}"), "entry 3 is missing: 4 follows 2"),
    "a missing opening": (
        edits(f"DELETE FROM entries {mine(1)}"),
        "entry 1 is missing: 2 follows 0",
    ),
    "two swapped": (
        edits(
            f"UPDATE entries SET seq = 99 {mine(2)}",
            f"UPDATE entries SET seq = 2 {mine(3)}",
            f"UPDATE entries SET seq = 3 {mine(99)}",
        ),
        changed(2),
    ),
    "one repeated": (
        edits(
            f"INSERT INTO entries (session, seq, at, body, hash) SELECT session, 6, at, body, hash FROM entries {mine(5)}"
        ),
        changed(6),
    ),
    "another session's": (
        edits(
            "DELETE FROM entries WHERE session = (SELECT number FROM sessions WHERE id = 'one')",
            "UPDATE entries SET session = (SELECT number FROM sessions WHERE id = 'one') "
            "WHERE session = (SELECT number FROM sessions WHERE id = 'two')",
        ),
        changed(1),
    ),
    "another name": (
        edits(
            "UPDATE sessions SET id = 'x' WHERE id = 'one'",
            "UPDATE sessions SET id = 'one' WHERE id = 'two'",
        ),
        changed(1),
    ),
}


def engine(ledger: SqliteLedger) -> Engine:
    return Engine(ledger=ledger, rulebooks=[RULES], codec=FactCodec(KINDS), clock=SystemClock())


async def _held(path: Path) -> None:
    """Two sessions of five entries each."""
    seats = (Seat(id=SeatId("ada"), platform="script"), Seat(id=SeatId("bob"), platform="script"))
    async with SqliteLedger(path) as ledger:
        door = engine(ledger)
        for session in (ONE, TWO):
            await door.open(
                MeetingOpened(topic="Build it?", language="en", seed=1, seats=seats), session
            )
            for number in range(2, 6):
                await door.give_input(session, f"word {number} in {session}")


def test_an_untouched_session_stands(tmp_path: Path) -> None:
    async def work() -> None:
        await _held(tmp_path / "ledger.db")
        async with SqliteLedger(tmp_path / "ledger.db") as ledger:
            for session in (ONE, TWO):
                assert find_chain_fault(session, await ledger.read(session)) is None
                assert (await engine(ledger).load_snapshot(session)).seq == 5
                assert (
                    await LedgerVerifier(ledger, SystemClock()).verify_named(
                        engine(ledger), session
                    )
                ).fault is None

    run_with_deadline(work())


@pytest.mark.parametrize("how", TAMPERINGS)
def test_tampering_is_found(tmp_path: Path, how: str) -> None:
    path = tmp_path / "ledger.db"
    tamper, fault = TAMPERINGS[how]
    run_with_deadline(_held(path))
    tamper(path)

    async def work() -> None:
        async with SqliteLedger(path) as ledger:
            assert find_chain_fault(ONE, await ledger.read(ONE)) == fault
            assert (
                await LedgerVerifier(ledger, SystemClock()).verify_named(engine(ledger), ONE)
            ).fault == fault
            error = await expect_error(LedgerDamaged, engine(ledger).load_snapshot(ONE))
            assert str(error).startswith(f"session 'one': entry {fault.split()[1]} ")
            await expect_error(LedgerDamaged, engine(ledger).give_input(ONE, "one more word"))

    run_with_deadline(work())


# Processes

APPENDS_UNTIL_KILLED = """
import asyncio, sys
from pathlib import Path
from moothall.codec.chain import compute_record_hash, compute_root_hash
from moothall.domain.records import StoredRecord
from moothall.ledgers.sqlite import SqliteLedger
from moothall.ledgers.sqlite_file import open_connection
from moothall.ledgers.sqlite_file import WriteTurns

async def keep_on(ledger, session):
    records = await ledger.read(session)
    seq, before = len(records), records[-1].hash if records else compute_root_hash(session)
    while True:
        batch = []
        for _ in range(3):
            seq, body = seq + 1, f"{session} {seq + 1}".encode() * 50
            before = compute_record_hash(before, seq, seq, body)
            batch.append(StoredRecord(seq, seq, body, before))
        await ledger.append(session, batch)
        sys.stdout.write(f"{session} {seq}\\n")
        sys.stdout.flush()

async def main():
    async with SqliteLedger(Path(sys.argv[1])) as ledger:
        await asyncio.gather(*(keep_on(ledger, session) for session in sys.argv[2:]))

asyncio.run(main())
"""


def test_what_was_acknowledged_outlives_kill_9(tmp_path: Path) -> None:
    path = tmp_path / "ledger.db"
    sessions = [SessionId("a"), SessionId("b"), SessionId("c")]
    acknowledged = dict.fromkeys(sessions, 0)
    for lines in (1, 2, 10, 75, 300):
        with child(APPENDS_UNTIL_KILLED, path, *sessions) as process:
            printed = [line(process) for _ in range(lines)]
            # One session that finds nobody else writes hundreds of times before the others have read theirs.
            while lines == 300 and len({text.split()[0] for text in printed}) < len(sessions):
                printed.append(line(process))
            process.kill()
            assert process.stdout is not None
            printed += [text.strip() for text in process.stdout.readlines() if text.endswith("\n")]
        for session, seq in (text.split() for text in printed):
            acknowledged[SessionId(session)] = int(seq)
        for session in sessions:
            records = read(path, session)
            assert len(records) >= acknowledged[session]
            assert len(records) % 3 == 0
            assert find_chain_fault(session, records) is None
    assert min(acknowledged.values()) > 0


WINS_SOME = """
import asyncio, sys
from pathlib import Path
from moothall.domain.records import StoredRecord
from moothall.errors import SeqConflict
from moothall.ledgers.sqlite import SqliteLedger
from moothall.ledgers.sqlite_file import open_connection
from moothall.ledgers.sqlite_file import WriteTurns

async def main():
    won = 0
    async with SqliteLedger(Path(sys.argv[1])) as ledger:
        print("ready", flush=True)
        sys.stdin.readline()
        while won < 60:
            seq = len(await ledger.read("one")) + 1
            try:
                await ledger.append("one", [StoredRecord(seq, seq, sys.argv[2].encode(), bytes(32))])
            except SeqConflict:
                continue
            won += 1
            print(seq, flush=True)

asyncio.run(main())
"""


def test_two_processes_that_append_to_one_session_make_one_order(tmp_path: Path) -> None:
    path = tmp_path / "ledger.db"
    with child(WINS_SOME, path, "left") as left, child(WINS_SOME, path, "right") as right:
        assert [line(left), line(right)] == ["ready", "ready"]
        tell(left)
        tell(right)
        won = {int(line(left)): b"left" for _ in range(60)} | {
            int(line(right)): b"right" for _ in range(60)
        }
        assert [left.wait(DEADLINE), right.wait(DEADLINE)] == [0, 0]
    assert read(path, ONE) == [StoredRecord(seq, seq, won[seq], bytes(32)) for seq in range(1, 121)]


OPENS_AT_A_SIGN = """
import asyncio, sys
from pathlib import Path
from moothall.domain.records import StoredRecord
from moothall.ledgers.sqlite import SqliteLedger
from moothall.ledgers.sqlite_file import open_connection
from moothall.ledgers.sqlite_file import WriteTurns

async def main():
    print("ready", flush=True)
    for path in map(str.strip, sys.stdin):
        try:
            async with SqliteLedger(Path(path)) as ledger:
                await ledger.append(sys.argv[1], [StoredRecord(1, 1, b"here", bytes(32))])
            print("opened", flush=True)
        except Exception as error:
            print(repr(error), flush=True)

asyncio.run(main())
"""


def test_processes_that_open_a_new_file_at_once_migrate_it_once(tmp_path: Path) -> None:
    paths = [tmp_path / f"{number}" / "ledger.db" for number in range(40)]
    with child(OPENS_AT_A_SIGN, "left") as left, child(OPENS_AT_A_SIGN, "right") as right:
        assert [line(left), line(right)] == ["ready", "ready"]
        for path in paths:
            tell(left, str(path))
            tell(right, str(path))
            assert [line(left), line(right)] == ["opened", "opened"]

    async def work(path: Path) -> list[Head]:
        async with SqliteLedger(path) as ledger:
            return await ledger.heads()

    here = StoredRecord(1, 1, b"here", bytes(32))
    both = [Head(SessionId("left"), here, here), Head(SessionId("right"), here, here)]
    assert [run_with_deadline(work(path)) for path in paths] == [both] * len(paths)


def test_a_second_handle_waits_for_a_writer_instead_of_failing(tmp_path: Path) -> None:
    path = tmp_path / "ledger.db"
    opening(path)

    async def work() -> None:
        async with SqliteLedger(path) as ledger:
            other = sqlite3.connect(path, isolation_level=None)
            with closing(other):
                other.execute("BEGIN IMMEDIATE")
                waiting = asyncio.create_task(ledger.append(ONE, build_chain(ONE, 1)))
                done, _ = await asyncio.wait([waiting], timeout=0.3)
                assert not done
                other.execute("COMMIT")
                await waiting
            await expect_error(SeqConflict, ledger.append(ONE, build_chain(ONE, 1)))

    run_with_deadline(work())


def test_a_process_that_was_stopped_while_it_waited_to_write_holds_up_nobody(
    tmp_path: Path,
) -> None:
    """Who waits shows it, and those who write give way for a moment, not for as long as it is shown."""
    path = tmp_path / "ledger.db"
    waiting = path.with_name("ledger.db.locks") / ".writers"
    waiting.parent.mkdir()

    async def work() -> None:
        async with SqliteLedger(path) as ledger:
            with waiting.open("w") as shown:
                fcntl.flock(shown, fcntl.LOCK_SH)
                async with asyncio.timeout(20):
                    for number in range(1, 21):
                        await ledger.append(
                            SessionId("s"), [StoredRecord(number, number, b"{}", bytes(32))]
                        )
            assert [record.seq for record in await ledger.read(SessionId("s"))] == list(
                range(1, 21)
            )

    asyncio.run(work())


def test_whoever_has_written_lets_those_write_who_wait(tmp_path: Path) -> None:
    """Without it one process gets nearly all turns: the others sleep longer and longer while it begins again at once."""
    connections = [open_connection(tmp_path / "ledger.db") for _ in range(2)]
    quick, slow = WriteTurns(tmp_path / "ledger.db"), WriteTurns(tmp_path / "ledger.db")
    quick.begin(connections[0], wait=False)
    waiter = threading.Thread(target=slow.begin, args=(connections[1],), kwargs={"wait": True})
    waiter.start()
    try:
        for _ in range(2_000):
            connections[0].execute("COMMIT")
            with suppress(sqlite3.OperationalError):
                quick.begin(connections[0], wait=False)
            if not connections[0].in_transaction:
                break
        assert not connections[0].in_transaction, "it began again 2,000 times while another waited"
    finally:
        waiter.join(timeout=30)
    assert connections[1].in_transaction
    connections[1].execute("COMMIT")
    # Who has had its turn is not shown to wait: this would be refused.
    quick.begin(connections[0], wait=False)
    for connection, turns in zip(connections, (quick, slow), strict=True):
        connection.close()
        turns.close()


def test_a_session_that_another_process_overtook_fails_alone_in_its_group(tmp_path: Path) -> None:
    """What this process knows of a session's newest entry is old then: the group is written again, one by one."""

    async def work() -> None:
        path = tmp_path / "ledger.db"
        one, two = build_chain(ONE, 4), build_chain(TWO, 3)
        async with SqliteLedger(path) as ledger, SqliteLedger(path) as other:
            await ledger.append(ONE, one[:2])
            await ledger.append(TWO, two[:2])
            await other.append(ONE, one[2:3])
            assert await ledger.read(ONE, 2) == one[2:3]
            results = await asyncio.gather(
                ledger.append(TWO, two[2:]), ledger.append(ONE, one[2:]), return_exceptions=True
            )
            assert [type(result) for result in results] == [type(None), SeqConflict]
            await ledger.append(ONE, one[3:])
            assert (await ledger.read(ONE), await ledger.read(TWO)) == (one, two)

    run_with_deadline(work())


def test_a_session_of_several_pages_is_exported_and_verified_whole(tmp_path: Path) -> None:
    async def work() -> None:
        chain = build_chain(ONE, 2 * PAGE + 7)
        async with (
            SqliteLedger(tmp_path / "ledger.db") as ledger,
            Moot(environ={"MOOT_HOME": str(tmp_path)}, ledger=ledger) as moot,
        ):
            await ledger.append(ONE, chain)
            head, records = parse_export(await moot.export(ONE, "jsonl"))
            assert (head[:3], records) == ((ONE, chain[-1].seq, chain[-1].hash.hex()), chain)
            assert await moot.verify(ONE) is None
            edit(tmp_path / "ledger.db", f"UPDATE entries SET at = at + 1 WHERE seq = {PAGE + 3}")
            assert f"entry {PAGE + 3} was changed" in str(await moot.verify(ONE))

    run_with_deadline(work())


def test_a_process_that_has_only_read_a_session_reads_what_another_one_writes(
    tmp_path: Path,
) -> None:
    """In place where little is new, on the thread where much is; and it never takes another's next number."""
    records = build_chain(ONE, 40)

    async def work() -> None:
        async with (
            SqliteLedger(tmp_path / "ledger.db") as writer,
            SqliteLedger(tmp_path / "ledger.db") as reader,
        ):
            assert await reader.read(ONE, 1, 1_000) == []
            await writer.append(ONE, records[:2])
            assert await reader.read(ONE, 1, 1_000) == records[1:2]
            await writer.append(ONE, records[2:5])
            assert await reader.read(ONE, 2, 1_000) == records[2:5]
            await writer.append(ONE, records[5:])
            assert await reader.read(ONE, 5, 1_000) == records[5:]
            assert await reader.read(ONE, 5, 3) == records[5:8]
            await expect_error(SeqConflict, reader.append(ONE, records[20:21]))
            assert await reader.read(ONE) == records

    run_with_deadline(work())
