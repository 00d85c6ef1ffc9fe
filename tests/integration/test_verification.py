"""A record that proves itself: whatever is cut, dropped, moved, changed or overwritten in a ledger's file is found."""

import asyncio
import random
import sqlite3
from collections.abc import Callable
from contextlib import closing
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from typing import Any

import asyncpg
import pytest
from tests.acceptance.doors import round_robin, write_script

from moothall import Moot
from moothall.app.resources import SystemClock
from moothall.app.upkeep import back_up, collect_heads, restore
from moothall.app.verification import LedgerVerification, LedgerVerifier
from moothall.codec.chain import (
    EMPTY_REGISTER,
    HeadHash,
    compute_record_hash,
    compute_root_hash,
    seal_heads,
)
from moothall.codec.stored import FactCodec
from moothall.domain.ids import SessionId
from moothall.domain.records import HEAD_KINDS, HeadsRegistered, RegisteredHead, StoredRecord
from moothall.errors import MootError
from moothall.ledgers.append_checks import REGISTER_SECONDS
from moothall.ledgers.sqlite import SqliteLedger
from moothall_testkit.ledger_scenes import run_with_deadline

MUTATIONS = 200
PAGE = 4_096


async def verify(path: Path, *given: RegisteredHead) -> LedgerVerification:
    async with SqliteLedger(path) as ledger:
        return await LedgerVerifier(ledger, SystemClock(), given).verify_all()


def list_faults(path: Path, *given: RegisteredHead) -> dict[str, str]:
    """What `verify` finds, by session; an error that ends it counts, too."""
    try:
        found = run_with_deadline(verify(path, *given))
    except MootError as error:
        return {"": str(error)}
    return {each.session_id: each.fault for each in found.sessions if each.fault} | dict.fromkeys(
        found.faults, "the ledger"
    )


@dataclass(frozen=True)
class Written:
    """A ledger file, a copy of it from before its last entries, and the heads that its owner stored elsewhere."""

    now: bytes
    earlier: bytes
    heads: tuple[RegisteredHead, ...]


@pytest.fixture(scope="module")
def copies(tmp_path_factory: pytest.TempPathFactory) -> Written:
    """A ledger with sessions that ended and sessions that wait, decision memory and a token."""
    folder = tmp_path_factory.mktemp("written")
    earlier = folder / "earlier.db"

    async def work() -> None:
        platform = write_script(folder / "talk.toml", round_robin(("ada", "bob"), 2))
        async with Moot(environ={"MOOT_HOME": str(folder)}) as moot:
            for number in range(3):
                await moot.hold(
                    f"Question {number}?",
                    seats=dict.fromkeys(("ada", "bob"), platform),
                    session=f"ended-{number}",
                )
                await moot.open(
                    "Open?", seats={"ada": "mailbox", "bob": "mailbox"}, session=f"open-{number}"
                )
                for word in range(3 + number):
                    await moot.give_input(f"open-{number}", f"word {word}")
            await moot.access.issue("owner", lasts=timedelta(hours=1))
            await back_up(moot.ledger, folder, str(earlier))
            await moot.give_input("open-1", "the last word")

    async def collect() -> tuple[RegisteredHead, ...]:
        async with SqliteLedger(folder / "ledger.db") as ledger:
            return await collect_heads(ledger, SystemClock())

    run_with_deadline(work())
    heads = run_with_deadline(collect())
    assert list_faults(folder / "ledger.db", *heads) == {}
    return Written((folder / "ledger.db").read_bytes(), earlier.read_bytes(), heads)


@pytest.fixture(scope="module")
def written(copies: Written) -> bytes:
    return copies.now


@pytest.fixture
def path(written: bytes, tmp_path: Path) -> Path:
    found = tmp_path / "ledger.db"
    found.write_bytes(written)
    return found


class Tamperer:
    """Changes a ledger file behind the ledger's back, somewhere by chance."""

    def __init__(self, path: Path, chance: random.Random, earlier: bytes) -> None:
        self.path = path
        self.earlier = earlier
        self.chance = chance

    def change(self, *statements: str, **values: object) -> None:
        with closing(sqlite3.connect(self.path)) as connection, connection:
            connection.execute("PRAGMA foreign_keys = OFF")
            for statement in statements:
                connection.execute(statement, values)

    def select(self, query: str) -> tuple[Any, ...]:
        with closing(sqlite3.connect(self.path)) as connection:
            row: tuple[Any, ...] = connection.execute(query).fetchone()
            return row

    def choose(self, *, least: int = 1, registers: bool = True) -> tuple[int, int]:
        """The row number and the length of a session that has `least` entries."""
        which = "true" if registers else "substr(id, 1, 1) <> '_'"
        query = (
            f"SELECT session, count(*) FROM entries JOIN sessions ON session = number WHERE {which} "
            f"GROUP BY session HAVING count(*) >= {least} ORDER BY session"
        )
        with closing(sqlite3.connect(self.path)) as connection:
            number, entries = self.chance.choice(connection.execute(query).fetchall())
        return int(number), int(entries)

    def cut(self) -> None:
        """The end of a session."""
        number, entries = self.choose(least=2)
        self.change(
            "DELETE FROM entries WHERE session = :n AND seq > :last",
            n=number,
            last=self.chance.randint(1, entries - 1),
        )

    def cut_with_head(self) -> None:
        """The end of a session, and the list of sessions is made to fit."""
        number, entries = self.choose(least=2, registers=False)
        self.change(
            "DELETE FROM entries WHERE session = :n AND seq > :last",
            n=number,
            last=self.chance.randint(1, entries - 1),
        )
        self.fit_head(number)

    def fit_head(self, number: int) -> None:
        end = "FROM entries WHERE session = :n ORDER BY seq DESC LIMIT 1"
        self.change(
            f"UPDATE sessions SET (head, head_hash) = (SELECT seq, hash {end}) WHERE number = :n",
            n=number,
        )

    def empty(self) -> None:
        self.change("DELETE FROM entries WHERE session = :n", n=self.choose()[0])

    def empty_with_head(self) -> None:
        number, _ = self.choose()
        self.change("DELETE FROM entries WHERE session = :n", n=number)
        self.change("UPDATE sessions SET head = 0, head_hash = x'' WHERE number = :n", n=number)

    def drop(self) -> None:
        number, _ = self.choose()
        self.change(
            "DELETE FROM entries WHERE session = :n",
            "DELETE FROM sessions WHERE number = :n",
            n=number,
        )

    def swap_entries(self) -> None:
        number, entries = self.choose(least=3)
        one, other = self.chance.sample(range(1, entries + 1), 2)
        move = "UPDATE entries SET seq = {} WHERE session = :n AND seq = {}"
        self.change(
            move.format(99_999, one), move.format(one, other), move.format(other, 99_999), n=number
        )

    def remove_entry(self) -> None:
        number, entries = self.choose(least=2)
        self.change(
            "DELETE FROM entries WHERE session = :n AND seq = :s",
            n=number,
            s=self.chance.randint(1, entries),
        )

    def edit(self) -> None:
        number, entries = self.choose()
        field = self.chance.choice(
            (
                "body = CAST(substr(body, 1, 9) || 'x' || substr(body, 10) AS BLOB)",
                "at = at + 1",
                "hash = randomblob(32)",
            )
        )
        self.change(
            f"UPDATE entries SET {field} WHERE session = :n AND seq = :s",
            n=number,
            s=self.chance.randint(1, entries),
        )

    def rename(self) -> None:
        self.change("UPDATE sessions SET id = 'another' WHERE number = :n", n=self.choose()[0])

    def swap_sessions(self) -> None:
        one, _ = self.choose()
        other, _ = self.choose()
        while other == one:
            other, _ = self.choose()
        move = "UPDATE entries SET session = {} WHERE session = {}"
        self.change(move.format(99_999, one), move.format(one, other), move.format(other, 99_999))

    def forge(self) -> None:
        """Another end of a session, with hashes that fit, also in the list of sessions."""
        number, entries = self.choose(least=2, registers=False)
        first = self.chance.randint(2, entries)
        with closing(sqlite3.connect(self.path)) as connection, connection:
            rows = connection.execute(
                "SELECT seq, at, body, hash FROM entries WHERE session = ? ORDER BY seq", (number,)
            ).fetchall()
            before = rows[first - 2][3]
            for seq, at, body, _ in rows[first - 1 :]:
                forged = body.replace(b"word", b"lies") if b"word" in body else body + b" "
                before = compute_record_hash(before, seq, at, forged)
                change = "UPDATE entries SET body = ?, hash = ? WHERE session = ? AND seq = ?"
                connection.execute(change, (forged, before, number, seq))
        self.fit_head(number)

    def drop_register(self) -> None:
        query = "(SELECT number FROM sessions WHERE id = '_heads')"
        self.change(
            f"DELETE FROM entries WHERE session = {query}",
            "DELETE FROM sessions WHERE id = '_heads'",
        )

    def drop_index(self) -> None:
        self.change("DROP INDEX entries_by_session")

    def overwrite_page(self) -> None:
        pages = bytearray(self.path.read_bytes())
        start = self.chance.randrange(len(pages) // PAGE) * PAGE
        pages[start : start + PAGE] = self.chance.choice((bytes(PAGE), self.chance.randbytes(PAGE)))
        self.path.write_bytes(pages)

    def swap_pages(self) -> None:
        pages = bytearray(self.path.read_bytes())
        one, other = (start * PAGE for start in self.chance.sample(range(len(pages) // PAGE), 2))
        pages[one : one + PAGE], pages[other : other + PAGE] = (
            pages[other : other + PAGE],
            pages[one : one + PAGE],
        )
        self.path.write_bytes(pages)

    def truncate(self) -> None:
        pages = self.path.read_bytes()
        self.path.write_bytes(pages[: self.chance.randrange(1, len(pages) // PAGE) * PAGE])

    def roll_back(self) -> None:
        """An older copy in the place of the ledger, which needs no hashing."""
        self.path.write_bytes(self.earlier)

    def start_afresh(self) -> None:
        self.remake(lambda session, records: [])

    def remake_without(self) -> None:
        gone = f"open-{self.chance.randrange(3)}"
        self.remake(lambda session, records: [] if session == gone else records)

    def remake_cut(self) -> None:
        cut = f"open-{self.chance.randrange(3)}"
        self.remake(lambda session, records: records[:-1] if session == cut else records)

    def remake_edited(self) -> None:
        edited = f"open-{self.chance.randrange(3)}"

        def forge(session: SessionId, records: list[StoredRecord]) -> list[StoredRecord]:
            before, forged = compute_root_hash(session), []
            for each in records if session == edited else ():
                body = each.body.replace(b"word", b"lies")
                before = compute_record_hash(before, each.seq, each.at, body)
                forged.append(StoredRecord(each.seq, each.at, body, before))
            return forged or records

        self.remake(forge)

    def remake(self, change: Callable[[SessionId, list[StoredRecord]], list[StoredRecord]]) -> None:
        """Write the whole ledger again, so that it fits in itself: list, register and memory."""
        made = self.path.with_name("made.db")

        async def work() -> None:
            async with SqliteLedger(self.path) as source, SqliteLedger(made) as target:
                for head in await source.heads():
                    if records := change(head.session, list(await source.read(head.session))):
                        await target.append(head.session, records)
                await collect_heads(target, SystemClock())

        run_with_deadline(work())
        self.path.write_bytes(made.read_bytes())


TAMPERINGS: tuple[Callable[[Tamperer], None], ...] = (
    *(
        Tamperer.cut,
        Tamperer.cut_with_head,
        Tamperer.empty,
        Tamperer.empty_with_head,
        Tamperer.drop,
        Tamperer.swap_entries,
    ),
    *(
        Tamperer.remove_entry,
        Tamperer.edit,
        Tamperer.rename,
        Tamperer.swap_sessions,
        Tamperer.forge,
        Tamperer.drop_register,
    ),
    *(Tamperer.drop_index, Tamperer.overwrite_page, Tamperer.swap_pages, Tamperer.truncate),
)
FORGERIES: tuple[Callable[[Tamperer], None], ...] = (
    *(
        Tamperer.roll_back,
        Tamperer.start_afresh,
        Tamperer.remake_without,
        Tamperer.remake_cut,
        Tamperer.remake_edited,
    ),
)
"""What fits in itself: only heads that are kept elsewhere show it."""


def test_every_one_of_two_hundred_tamperings_is_found(copies: Written, tmp_path: Path) -> None:
    """N-7: cuts, drops, reorderings, edits, damaged pages, rollbacks and ledgers written anew, each at a place by chance.

    All are found with heads that are kept elsewhere; without them all but those that fit in themselves, and each of those passes.
    """
    kinds = (*TAMPERINGS, *FORGERIES)
    assert len(kinds) >= 20
    missed, passed = [], set()
    for seed in range(MUTATIONS):
        path = tmp_path / f"{seed}" / "ledger.db"
        path.parent.mkdir()
        path.write_bytes(copies.now)
        tamper = kinds[seed % len(kinds)]
        tamper(Tamperer(path, random.Random(seed), copies.earlier))
        assert path.read_bytes() != copies.now
        if not list_faults(path):
            passed.add(tamper.__name__)
            if not list_faults(path, *copies.heads):
                missed.append((seed, tamper.__name__))
    assert missed == []
    assert passed == {each.__name__ for each in FORGERIES}


def test_the_end_of_an_open_session_is_covered_within_a_second(path: Path) -> None:
    """N-7: also against whoever makes the list of sessions fit, while the process that writes lives."""

    async def work() -> None:
        async with SqliteLedger(path) as ledger, Moot(ledger=ledger) as moot:
            for number in range(3):
                await moot.give_input("open-0", f"late {number}")
            await asyncio.sleep(2 * REGISTER_SECONDS)
            tamperer = Tamperer(path, random.Random(1), b"")
            (number,) = tamperer.select("SELECT number FROM sessions WHERE id = 'open-0'")
            tamperer.change("DELETE FROM entries WHERE session = :n AND seq > 5", n=number)
            tamperer.fit_head(number)
            found = await LedgerVerifier(ledger, SystemClock()).verify_session(SessionId("open-0"))
            assert found is not None
            assert (
                found.fault
                == "entries 6 to 7 are missing at the end: the register of heads has 7 entries"
            )

    run_with_deadline(work())


def test_memory_that_names_another_end_of_a_session_is_found(path: Path) -> None:
    """N-7: decision memory and its sessions are compared, also where nobody else knows the session any more."""
    tamperer = Tamperer(path, random.Random(1), b"")
    (number,) = tamperer.select("SELECT number FROM sessions WHERE id = 'ended-1'")
    tamperer.change(
        "DELETE FROM entries WHERE session = :n", "DELETE FROM sessions WHERE number = :n", n=number
    )
    tamperer.drop_register()
    assert list_faults(path)["ended-1"] == "it is missing: decision memory has it"


def test_a_verify_beside_a_writer_raises_no_alarm(path: Path) -> None:
    """N-7: what is written while everything is read is neither missing nor too much."""

    async def work() -> None:
        async with (
            SqliteLedger(path) as ledger,
            Moot(ledger=ledger) as moot,
            SqliteLedger(path) as other,
        ):

            async def write() -> None:
                while True:
                    await moot.give_input("open-1", "one more")
                    await asyncio.sleep(0.002)

            writer = asyncio.create_task(write())
            for _ in range(4):
                assert (await LedgerVerifier(other, SystemClock()).verify_all()).is_intact
            writer.cancel()
            await asyncio.wait([writer])

    run_with_deadline(work())


def test_a_postgresql_ledger_proves_itself_and_goes_into_a_backup_and_back(
    path: Path, postgres_address: str, tmp_path: Path
) -> None:
    """N-7: restored from a file, backed up to one; cuts and drops are found there, too."""
    environ = {"MOOT_HOME": str(tmp_path / "home"), "MOOT_LEDGER": postgres_address}
    file = tmp_path / "backup.db"

    async def change(statement: str) -> None:
        connection = await asyncpg.connect(postgres_address)
        await connection.execute(statement)
        await connection.close()

    async def verify_here() -> dict[str, str | None]:
        async with Moot(environ=environ) as moot:
            found = await LedgerVerifier(moot.ledger, moot.clock).verify_all()
            assert found.faults == []
            return {each.session_id: each.fault for each in found.sessions if each.fault}

    async def work() -> None:
        assert (await restore(str(path), environ)).sessions == 6
        assert await verify_here() == {}
        async with Moot(environ=environ) as moot:
            await moot.give_input("open-2", "on another database")
            assert (await back_up(moot.ledger, tmp_path / "home", str(file))).sessions == 6
        await change(
            "DELETE FROM moot_entries WHERE seq > 2 AND session = (SELECT number FROM moot_sessions WHERE id = 'open-2')"
        )
        assert await verify_here() == {
            "open-2": "entries 3 to 7 are missing at the end: the list of sessions has 7 entries"
        }
        second = "(SELECT hash FROM moot_entries WHERE session = number AND seq = 2)"
        await change(f"UPDATE moot_sessions SET head = 2, head_hash = {second} WHERE id = 'open-2'")
        assert await verify_here() == {
            "open-2": "entries 3 to 7 are missing at the end: the register of heads has 7 entries"
        }
        await change(
            "DELETE FROM moot_entries WHERE session = (SELECT number FROM moot_sessions WHERE id = 'open-2')"
        )
        await change("DELETE FROM moot_sessions WHERE id = 'open-2'")
        assert await verify_here() == {
            "open-2": "it is missing: the register of heads has it with 7 entries"
        }

    run_with_deadline(work())
    assert list_faults(file) == {}


def test_what_a_ledger_registers_is_what_the_codec_makes_of_it() -> None:
    """The register is written without the codec, for speed; its bytes are the same."""
    heads = {
        SessionId("one"): HeadHash(3, bytes(32)),
        SessionId("two"): HeadHash(1, bytes(range(32))),
    }
    fact = HeadsRegistered(
        heads=tuple(
            RegisteredHead(session, head.seq, head.hash.hex()) for session, head in heads.items()
        )
    )
    (record,) = seal_heads(EMPTY_REGISTER, 1, heads)
    assert record.body == FactCodec(HEAD_KINDS).encode(fact)
    assert FactCodec(HEAD_KINDS).decode(record.body) == fact


def test_a_ledger_is_backed_up_unsigned_where_no_key_can_be_made(
    tmp_path: Path, written: bytes
) -> None:
    """N-7: as from a read-only disk; the file is whole and verified all the same."""
    (tmp_path / "disk").touch()
    source, backup = tmp_path / "ledger.db", tmp_path / "backup.db"
    source.write_bytes(written)

    async def work() -> None:
        async with SqliteLedger(source, read_only=True) as ledger:
            report = await back_up(ledger, tmp_path / "disk" / "home", str(backup))
            assert (report.sessions, report.key) == (6, "")
        assert (await restore(str(backup), {"MOOT_HOME": str(tmp_path / "restored")})).sessions == 6

    run_with_deadline(work())
