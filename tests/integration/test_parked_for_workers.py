"""M-5: a worker looks at a parked session less and less often, and counts how often it has looked."""

from collections.abc import Iterator
from pathlib import Path

from moothall.app.moot import Moot
from moothall.app.shared_runner import SharedRunner
from moothall.domain.effects import Brief
from moothall.domain.ids import SessionId
from moothall.ledgers.postgres_queue import PostgresQueue
from moothall.ports.participant import NoAnswer, OnText
from moothall.ports.runner import Settled
from moothall_testkit.ledger_scenes import run_with_deadline


class Away:
    """A participant whose provider cannot be reached."""

    async def ready(self) -> str | None:
        return "it is away"

    async def respond(self, brief: Brief, on_text: OnText) -> NoAnswer:
        return NoAnswer(reason="unreachable", detail="it is away")


class StoredRetry(PostgresQueue):
    """A queue that knows one session, without a database."""

    retry = Settled(status="parked")

    async def find_parked(self, session: SessionId) -> Settled:
        return self.retry


def wait_longer(seed: int) -> Iterator[float]:
    return iter((10.0, 20.0, 40.0))


async def forget(session: SessionId) -> None: ...


def test_each_look_at_a_parked_session_is_counted_and_the_next_one_is_later(tmp_path: Path) -> None:
    async def work() -> None:
        queue = StoredRetry("postgresql://nowhere/moot")
        async with Moot(
            environ={"MOOT_HOME": str(tmp_path)}, participants={"away": Away()}
        ) as moot:
            session = await moot.open(
                "Should we?", seats={"ada": "away", "bob": "away"}, hosted=True, check=False
            )
            runner = SharedRunner(
                moot.engine, moot.seating, forget, queue=queue, delays=wait_longer
            )
            first = await runner.advance(session)
            assert (first.status, first.due, first.tries) == ("parked", 10.0, 1)
            queue.retry = Settled(status="parked", tries=first.tries)
            assert await runner.advance(session) == Settled(
                status="parked", seen=first.seen, due=20.0, tries=2
            )
            # Before it is due nobody is tried, and nothing is counted.
            queue.retry = Settled(status="parked", tries=2, due=15.0)
            assert await runner.advance(session) == Settled(
                status="parked", seen=first.seen, due=15.0, tries=2
            )

    run_with_deadline(work())
