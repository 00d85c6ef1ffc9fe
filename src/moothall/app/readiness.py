"""Whether a process that serves or runs sessions can do its work now."""

import asyncio
import logging
from typing import TYPE_CHECKING, Final

from moothall.domain.ids import SessionId
from moothall.errors import MootError, WorldError
from moothall.ports.runner import CheckedRunner, Runner

if TYPE_CHECKING:
    from moothall.app.moot import Moot

READY_SECONDS: Final = 2.0
"""How long a ledger may take to answer before it counts as away."""
NOBODY: Final = SessionId("readiness")
"""A session that nobody opens: to look for it is one step into an index, however many there are."""

log = logging.getLogger("moot")


class ReadinessProbe:
    """Looks whether the ledger answers, and what else the runner needs.

    What it says is for anybody who can reach the port: the details, which may name hosts and users, go to the log.
    """

    def __init__(self, moot: "Moot", runner: Runner) -> None:
        self._moot = moot
        self._runner = runner
        self._looks: set[asyncio.Task[str]] = set()
        self._logged = ""

    async def explain(self) -> str:
        """Return why this process is not ready, in one sentence; empty if it is."""
        look = asyncio.create_task(self._look())
        self._looks.add(look)
        look.add_done_callback(self._looks.discard)
        done, _ = await asyncio.wait([look], timeout=READY_SECONDS)
        if done:
            return look.result()
        # Not awaited: behind a cut cable a query is called off as slowly as it is answered.
        look.cancel()
        return self._tell("the ledger does not answer", f"no answer within {READY_SECONDS:g} s")

    async def _look(self) -> str:
        try:
            await self._moot.ledger.read(NOBODY, 0, 1)
        except WorldError as error:
            # Whoever else needs the ledger has perhaps said so already.
            self._moot.engine.tell_outage(error)
            return "the ledger cannot be read"
        except MootError as error:
            return self._tell("the ledger cannot be read", str(error))
        try:
            if isinstance(self._runner, CheckedRunner):
                await self._runner.check()
        except MootError as error:
            return self._tell("the tables of the workers cannot be read", str(error))
        self._logged = ""
        return ""

    def _tell(self, reason: str, detail: str) -> str:
        # Once for each outage: whoever asks does so every few seconds.
        if self._logged != reason:
            self._logged = reason
            log.error("not ready: %s (%s)", reason, detail)
        return reason
