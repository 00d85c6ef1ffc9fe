"""Every ledger keeps the contract, between processes too where it lasts."""

import asyncio
import subprocess
import sys
from collections.abc import Iterator
from contextlib import AbstractAsyncContextManager, contextmanager, nullcontext, suppress
from pathlib import Path

import asyncpg
import pytest

from moothall.app.environment import open_ledger
from moothall.domain.records import StoredRecord
from moothall.errors import LedgerNewer, LedgerOlder, LedgerUnavailable, SessionBusy
from moothall.ledgers.memory import MemoryLedger
from moothall.ledgers.migrations import load_migrations
from moothall.ledgers.postgres import PostgresLedger
from moothall.ledgers.sqlite import SqliteLedger
from moothall.ports.ledger import Ledger
from moothall_testkit.lasting_ledger_contract import LastingLedgerContract
from moothall_testkit.ledger_contract import LedgerContract
from moothall_testkit.ledger_scenes import (
    ONE,
    build_chain,
    enter_claim,
    expect_error,
    run_with_deadline,
)
from moothall_testkit.upkeep_contract import UpkeepContract


class TestMemoryLedger(UpkeepContract, LedgerContract):
    def open_ledger(self) -> AbstractAsyncContextManager[Ledger]:
        return nullcontext(MemoryLedger())


class TestSqliteLedger(UpkeepContract, LastingLedgerContract):
    @pytest.fixture(autouse=True)
    def _place(self, tmp_path: Path) -> None:
        self.path = tmp_path / "moot" / "ledger.db"

    def open_ledger(self) -> AbstractAsyncContextManager[Ledger]:
        return SqliteLedger(self.path)

    def reopen_ledger(self) -> AbstractAsyncContextManager[Ledger]:
        return SqliteLedger(self.path)


class TestPostgresLedger(UpkeepContract, LastingLedgerContract):
    @pytest.fixture(autouse=True)
    def _place(self, postgres_address: str) -> None:
        self.address = postgres_address

    def open_ledger(self) -> AbstractAsyncContextManager[Ledger]:
        return PostgresLedger(self.address)

    def reopen_ledger(self) -> AbstractAsyncContextManager[Ledger]:
        return PostgresLedger(self.address)


# Between processes


@pytest.fixture(params=["sqlite", "postgres"])
def address(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """The address of a lasting ledger that is not there yet."""
    if request.param == "sqlite":
        return str(tmp_path / "ledger.db")
    return str(request.getfixturevalue("postgres_address"))


@contextmanager
def child(code: str, *arguments: str) -> Iterator["subprocess.Popen[str]"]:
    """A Python process that has printed "ready"; it is killed, if need be, when the block ends."""
    command = [sys.executable, "-c", code, *arguments]
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as process:
        try:
            assert process.stdout is not None
            assert process.stdout.readline() == "ready\n"
            yield process
        finally:
            process.kill()


HOLDS_A_CLAIM = """
import asyncio, sys
from moothall.app.environment import open_ledger

async def main():
    async with open_ledger(sys.argv[1]) as ledger, ledger.claim("one"):
        print("ready", flush=True)
        sys.stdin.readline()

asyncio.run(main())
"""

APPENDS_AT_A_SIGN = """
import asyncio, sys
from moothall_testkit.ledger_scenes import ONE, build_chain
from moothall.app.environment import open_ledger

async def main():
    async with open_ledger(sys.argv[1]) as ledger:
        print("ready", flush=True)
        sys.stdin.readline()
        await ledger.append(ONE, build_chain(ONE, 3))

asyncio.run(main())
"""


async def free_at_last(ledger: Ledger) -> None:
    """Wait until the session can be claimed: a database server hears of a death a moment later."""
    while True:
        with suppress(SessionBusy):
            return await enter_claim(ledger.claim(ONE))
        await asyncio.sleep(0.02)


def test_a_claim_of_a_killed_process_is_free_again(address: str) -> None:
    async def work(process: "subprocess.Popen[str]") -> None:
        async with open_ledger(address) as ledger:
            await expect_error(SessionBusy, enter_claim(ledger.claim(ONE)))
            process.kill()
            await asyncio.to_thread(process.wait)
            await free_at_last(ledger)

    with child(HOLDS_A_CLAIM, address) as process:
        run_with_deadline(work(process))


def test_a_claim_that_another_process_gives_back_is_free(address: str) -> None:
    async def claim() -> None:
        async with open_ledger(address) as ledger:
            await enter_claim(ledger.claim(ONE))

    with child(HOLDS_A_CLAIM, address) as process:
        with pytest.raises(SessionBusy):
            run_with_deadline(claim())
        process.communicate("\n", timeout=120)
        run_with_deadline(claim())


def test_changed_wakes_when_another_process_appends(address: str) -> None:
    async def work(process: "subprocess.Popen[str]") -> list[StoredRecord]:
        async with open_ledger(address) as ledger:
            waiter = asyncio.create_task(ledger.wait_for_change(ONE, 0))
            assert await ledger.read(ONE) == []
            await asyncio.to_thread(process.communicate, "\n", 60)
            assert await waiter == 3
            return await ledger.read(ONE)

    with child(APPENDS_AT_A_SIGN, address) as process:
        assert run_with_deadline(work(process)) == build_chain(ONE, 3)


# PostgreSQL alone


async def opening(address: str) -> None:
    async with PostgresLedger(address):
        pass


async def one_value(address: str, query: str) -> object:
    connection = await asyncpg.connect(address)
    try:
        return await connection.fetchval(query)
    finally:
        await connection.close()


def test_a_new_database_is_migrated_once_by_all_that_open_it_at_once(postgres_address: str) -> None:
    async def work() -> object:
        await asyncio.gather(*(opening(postgres_address) for _ in range(6)))
        return await one_value(
            postgres_address, "SELECT array_agg(version ORDER BY version) FROM moot_schema"
        )

    assert run_with_deadline(work()) == [step.version for step in load_migrations("postgres")]


def test_a_database_of_a_newer_version_is_refused(postgres_address: str) -> None:
    newer = load_migrations("postgres")[-1].version + 1

    async def work() -> None:
        await opening(postgres_address)
        await one_value(postgres_address, f"INSERT INTO moot_schema VALUES ({newer})")
        error = await expect_error(LedgerNewer, opening(postgres_address))
        assert f"has version {newer}" in str(error)

    run_with_deadline(work())


def test_a_database_from_before_the_first_release_is_refused(postgres_address: str) -> None:
    async def work() -> None:
        await opening(postgres_address)
        await one_value(postgres_address, "UPDATE moot_schema SET version = 2")
        error = await expect_error(LedgerOlder, opening(postgres_address))
        assert "the ledger was written by a Moot from before its first release (version 2" in str(
            error
        )

    run_with_deadline(work())


def test_a_server_that_is_not_there_is_refused_by_name(tmp_path: Path) -> None:
    run_with_deadline(
        expect_error(LedgerUnavailable, opening(f"postgresql://postgres@/moot?host={tmp_path}"))
    )


def test_a_database_that_is_not_there_is_refused_by_name(postgres_address: str) -> None:
    run_with_deadline(
        expect_error(LedgerUnavailable, opening(postgres_address.replace("/moot_", "/no_")))
    )


def test_a_refused_opening_leaves_no_connection_behind(postgres_address: str) -> None:
    async def work() -> object:
        await opening(postgres_address)
        await one_value(postgres_address, "INSERT INTO moot_schema VALUES (99)")
        error = await expect_error(LedgerNewer, opening(postgres_address))
        error.__traceback__ = None
        others = "datname = current_database() AND pid <> pg_backend_pid() AND backend_type = 'client backend'"
        return await one_value(
            postgres_address, f"SELECT count(*) FROM pg_stat_activity WHERE {others}"
        )

    assert run_with_deadline(work()) == 0


def test_appends_fail_by_name_while_the_server_refuses_them_and_go_on_after(
    postgres_address: str,
) -> None:
    async def work() -> None:
        async with PostgresLedger(postgres_address) as ledger:
            await ledger.append(ONE, build_chain(ONE, 1))
            await one_value(postgres_address, "ALTER TABLE moot_entries RENAME TO hidden")
            await expect_error(LedgerUnavailable, ledger.append(ONE, build_chain(ONE, 2)[1:]))
            await expect_error(LedgerUnavailable, ledger.read(ONE))
            await one_value(postgres_address, "ALTER TABLE hidden RENAME TO moot_entries")
            await ledger.append(ONE, build_chain(ONE, 2)[1:])
            assert await ledger.read(ONE) == build_chain(ONE, 2)

    run_with_deadline(work())


CUT = (
    "SELECT count(pg_terminate_backend(pid, 5000)) FROM pg_stat_activity "
    "WHERE datname = current_database() AND pid <> pg_backend_pid() AND backend_type = 'client backend'"
)


def test_appends_go_on_after_the_server_cut_every_connection(postgres_address: str) -> None:
    async def work() -> None:
        async with PostgresLedger(postgres_address) as ledger:
            await ledger.append(ONE, build_chain(ONE, 1))
            await one_value(postgres_address, CUT)
            with suppress(LedgerUnavailable):
                await ledger.append(ONE, build_chain(ONE, 2)[1:])
            if len(await ledger.read(ONE)) == 1:
                await ledger.append(ONE, build_chain(ONE, 2)[1:])
            assert await ledger.read(ONE) == build_chain(ONE, 2)

    run_with_deadline(work())


def test_claims_go_on_after_the_server_cut_every_connection(postgres_address: str) -> None:
    async def work() -> None:
        async with PostgresLedger(postgres_address) as ledger:
            await enter_claim(ledger.claim(ONE))
            await one_value(postgres_address, CUT)
            with suppress(LedgerUnavailable):
                await enter_claim(ledger.claim(ONE))
            await enter_claim(ledger.claim(ONE))

    run_with_deadline(work())
