"""Every ledger keeps the contract."""

from contextlib import AbstractAsyncContextManager, nullcontext
from pathlib import Path

import pytest

from moot.ledgers.memory import MemoryLedger
from moot.ledgers.postgres import PostgresLedger
from moot.ledgers.sqlite import SqliteLedger
from moot.ports.ledger import Ledger
from moot.testing.ledger_contract import LastingLedgerContract, LedgerContract


class TestMemoryLedger(LedgerContract):
    def opened(self) -> AbstractAsyncContextManager[Ledger]:
        return nullcontext(MemoryLedger())


class TestSqliteLedger(LastingLedgerContract):
    @pytest.fixture(autouse=True)
    def _place(self, tmp_path: Path) -> None:
        self.path = tmp_path / "moot" / "ledger.db"

    def opened(self) -> AbstractAsyncContextManager[Ledger]:
        return SqliteLedger(self.path)

    def reopened(self) -> AbstractAsyncContextManager[Ledger]:
        return SqliteLedger(self.path)


class TestPostgresLedger(LastingLedgerContract):
    @pytest.fixture(autouse=True)
    def _place(self, postgres_address: str) -> None:
        self.address = postgres_address

    def opened(self) -> AbstractAsyncContextManager[Ledger]:
        return PostgresLedger(self.address)

    def reopened(self) -> AbstractAsyncContextManager[Ledger]:
        return PostgresLedger(self.address)
