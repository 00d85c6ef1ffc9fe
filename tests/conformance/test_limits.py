"""N-4: limits of a provider, kept in this process and across all workers."""

from collections.abc import AsyncIterator
from contextlib import AbstractAsyncContextManager, asynccontextmanager, nullcontext

import pytest

from moothall.ledgers.postgres import PostgresLedger
from moothall.ledgers.postgres_queue import PostgresLimits, PostgresQueue
from moothall.participants.provider_limits import LocalLimits
from moothall.ports.participant import ProviderLimits
from moothall_testkit.limits_contract import LimitsContract


class TestLocalLimits(LimitsContract):
    def open_limits(self) -> AbstractAsyncContextManager[ProviderLimits]:
        return nullcontext(LocalLimits())


class TestPostgresLimits(LimitsContract):
    @pytest.fixture(autouse=True)
    def _place(self, postgres_address: str) -> None:
        self.address = postgres_address

    @asynccontextmanager
    async def _open(self) -> AsyncIterator[ProviderLimits]:
        # The tables of the queue stand beside those of the ledger.
        async with PostgresLedger(self.address):
            pass
        async with PostgresQueue(self.address) as queue:
            yield PostgresLimits(queue)

    def open_limits(self) -> AbstractAsyncContextManager[ProviderLimits]:
        return self._open()
