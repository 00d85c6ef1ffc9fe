"""The runner port: who advances sessions, in this process or on other machines."""

from collections.abc import Mapping
from dataclasses import field
from typing import Final, Literal, Protocol, runtime_checkable

from moothall.domain.ids import SessionId
from moothall.domain.replace import dataclass

MAX_WAIT_SECONDS: Final = 600.0
"""How long one call may wait for something to happen to a session."""
PROGRESS_SECONDS: Final = 10.0
"""A call that waits says so at least this often."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RunnerStats:
    """What a runner is doing now. `oldest` is for how many seconds the first of the `runnable` sessions has waited for a worker.

    `statuses` counts the sessions that a shared runner knows, by where they stand; `workers` are the processes that run
    them; `calls` are those of providers under way, and `provider_waits` counts how often one had to wait for a provider's limits.
    `asks` are those that wait for participants outside of the processes that run sessions.
    """

    running: int = 0
    parked: int = 0
    runnable: int = 0
    oldest: float = 0.0
    workers: int = 1
    calls: int = 0
    provider_waits: int = 0
    statuses: Mapping[str, int] = field(default_factory=dict)
    asks: int = 0


RunStatus = Literal[
    "new", "waiting", "parked", "closed", "foreign", "busy", "failing", "damaged", "left"
]
"""Where a session stands for workers. `foreign`: not theirs; `left`: one could not run it; `busy`: another process runs it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Settled:
    """What a worker leaves behind after a session: up to which entry it has seen it, and in how many seconds it is due again.

    `tries` is how often a parked session was looked at in vain; `asks` wait for outside participants.
    """

    status: RunStatus
    seen: int = 0
    due: float | None = None
    tries: int = 0
    asks: int = 0


class Runner(Protocol):
    """Advances sessions. `moothall_testkit.runner_contract` tests every implementation against this contract."""

    def wake(self, session: SessionId, *, at_once: bool = False) -> None:
        """Signal that something happened to a session: it is run as far as it goes, once more if it is running now.

        `at_once` looks at a parked session before it is due to be looked at.
        """

    async def run(self) -> None:
        """Run the sessions that are woken, and those whose deadlines pass, until cancelled."""

    async def cancel(self, session: SessionId) -> None:
        """Stop running a session and forget its deadlines; nothing is written to it."""

    async def stats(self) -> RunnerStats: ...


@runtime_checkable
class CheckedRunner(Protocol):
    """A runner that needs something beside the ledger, and can say whether that is there. A runner may do without it."""

    async def check(self) -> None:
        """Raise LedgerUnavailable, in one sentence, if sessions cannot be run now."""
