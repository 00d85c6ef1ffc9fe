"""`moot worker`: runs the sessions of a shared ledger, beside any number of others."""

import logging
import os

import click

from moot.app.shared_runner import CONCURRENCY, LEASE_SECONDS, run_worker
from moot.errors import BadSetting
from moot.ledgers.temporal_settings import NAMESPACE, TASK_QUEUE, TEMPORAL
from moot.surfaces.cli import output as out


@click.command(short_help="Run sessions of a PostgreSQL ledger.")
@click.option(
    "--sessions",
    "concurrency",
    type=click.IntRange(1, 10_000),
    default=CONCURRENCY,
    show_default=True,
    help="How many sessions this worker runs at once.",
)
@click.option(
    "--lease",
    type=click.FloatRange(1.0, 600.0),
    default=LEASE_SECONDS,
    show_default=True,
    help="After how many seconds of silence others take over the sessions of this worker.",
)
@click.option("--temporal", metavar="HOST:PORT", help=f"Let this Temporal server hand out sessions (as {TEMPORAL} does).")
@click.option("--namespace", metavar="NAME", help=f"The namespace there. Default: {NAMESPACE}, or default.")
@click.option("--task-queue", metavar="NAME", help=f"The task queue there, one for each ledger. Default: {TASK_QUEUE}, or moot.")
@click.option("--log-level", type=click.Choice(["error", "warning", "info", "debug"]), default="warning", show_default=True)
def worker(
    *, concurrency: int, lease: float, temporal: str | None, namespace: str | None, task_queue: str | None, log_level: str
) -> None:
    """Run sessions of a PostgreSQL ledger.

    MOOT_LEDGER names the ledger; workers run on any number of machines. A server (`moot serve --workers`) takes the calls;
    whichever worker is free runs what was opened. A worker that is killed, frozen or cut off loses nothing: after its lease
    others go on with its sessions. Ctrl-C hands them over at once.

    \b
    export MOOT_LEDGER=postgresql://moot@db/moot
    moot worker
    moot worker --sessions 500 --log-level info
    moot worker --temporal temporal:7233 --namespace meetings
    """
    given = {TEMPORAL: temporal, NAMESPACE: namespace, TASK_QUEUE: task_queue}
    os.environ.update({name: value for name, value in given.items() if value is not None})
    logging.basicConfig(level=log_level.upper(), format="%(levelname)s %(name)s: %(message)s")
    if log_level != "debug":
        quiet_libraries()

    async def work() -> None:
        def tell() -> None:
            out.print_line("Moot runs sessions of this ledger  ·  Ctrl-C stops")

        if not os.environ.get(TEMPORAL) and (temporal is not None or namespace is not None or task_queue is not None):
            raise BadSetting("--namespace and --task-queue are those of a Temporal server; name it: --temporal HOST:PORT")
        await run_worker(os.environ, concurrency=concurrency, lease=lease, on_start=tell)

    out.run(work)


def quiet_libraries() -> None:
    """Whatever happens to a session or to the database is told by Moot itself, in one sentence."""
    for name in ("procrastinate", "psycopg", "asyncpg", "temporalio"):
        logging.getLogger(name).setLevel(logging.CRITICAL)
    # A job whose worker was taken for dead has been handed over: that it cannot be finished any more is no news.
    logging.getLogger("asyncio").addFilter(lambda record: "process job moot.advance" not in record.getMessage())
