"""The queue of the sessions that workers share, handed out by a Temporal server instead of procrastinate.

The jobs beside the ledger stay what is to be done: they are the outbox, written in the transaction of each append, and what is
the same sweep lists what is missing among them. Each worker signals Temporal for the jobs that wait; Temporal chooses the worker
that runs them. Its history holds names of sessions and of task queues, and times.
"""

import asyncio
import logging
import re
from contextlib import suppress
from datetime import timedelta
from functools import cache, partial
from types import TracebackType
from typing import Any, Final, Self

import asyncpg
from temporalio import activity, workflow
from temporalio.api.workflowservice.v1 import DescribeNamespaceRequest
from temporalio.client import Client
from temporalio.common import RetryPolicy
from temporalio.envconfig import ClientConfig
from temporalio.exceptions import ActivityError, ApplicationError
from temporalio.runtime import (
    LogForwardingConfig,
    LoggingConfig,
    Runtime,
    TelemetryConfig,
    TelemetryFilter,
)
from temporalio.service import RPCError, RPCStatusCode
from temporalio.worker import UnsandboxedWorkflowRunner, Worker

from moothall.domain.ids import SessionId
from moothall.errors import BadSetting, LedgerUnavailable, SchedulerUnavailable
from moothall.ledgers import postgres_queue
from moothall.ledgers.migrations import load_queries
from moothall.ledgers.postgres_upkeep import translate_errors
from moothall.ledgers.queue_jobs import TASK
from moothall.ledgers.temporal_settings import TASK_QUEUE, TemporalSettings

QUERIES: Final = load_queries(__name__)

WORKFLOW: Final = "moot.session"
CONNECT_SECONDS: Final = 10.0
"""For how long a Temporal server is looked for that does not answer."""
CALL_SECONDS: Final = 5.0
PART_SECONDS: Final = 3.0
"""For how long a worker that stops takes leave of Temporal."""
FORWARD_AGAIN_SECONDS: Final = 15
"""After how long a job is signalled again that no worker has taken: a signal may get lost with the server that had it."""
MAX_FORWARD_LENGTH: Final = 100
MAX_RUN: Final = timedelta(days=365)
UNHEARD: Final = timedelta(seconds=30)
"""How long a task queue of one build may have no worker before its sessions are left to the sweep."""
STICKY: Final = timedelta(seconds=2)
"""How long a wake waits for the worker that has the workflow in memory; that one may be dead."""
DECIDING: Final = timedelta(seconds=3)
"""How long a worker may take over a step of a workflow; one that is frozen gets some all the same."""
POLLS: Final = 2
"""How many requests for work a worker has open: as many are lost when it freezes, each until its time is up."""
SELDOM: Final = timedelta(seconds=10)
SOON_ATTEMPTS: Final = 30
"""How often a session that another worker has is tried again after a second, because that one may be dead; then seldom."""
MAX_EVENTS: Final = 1_000
"""After how many events a workflow continues as a new one, so that its history stays short."""
CHANGED: Final = "procrastinate_any_queue_v1"
"""Where PostgreSQL notifies of new jobs and of those that are to be cancelled."""

_FORWARD_SOON: Final = "UPDATE procrastinate_jobs SET scheduled_at = NULL WHERE status = 'todo' AND id = ANY ($1::bigint[])"

_IS_HELD: Final = (
    "SELECT EXISTS (SELECT FROM procrastinate_jobs WHERE status = 'doing' AND lock = 'moot/' || $1)"
)
_STATUS: Final = (
    "SELECT status FROM moot_runs WHERE session = (SELECT number FROM moot_sessions WHERE id = $1)"
)

log = logging.getLogger("moot")


@workflow.defn(name=WORKFLOW)
class SessionWorkflow:
    """One session: advanced whenever it is woken, until it has ended.

    Histories of open sessions are played again by newer workers: what changes the order of its calls gets another name.
    """

    def __init__(self) -> None:
        self._wake: tuple[str, float] | None = None

    @workflow.signal
    def wake(self, task_queue: str, heartbeat: float) -> None:
        # Wakes during a run are one: it is run once more.
        self._wake = (task_queue, heartbeat)

    @workflow.run
    async def run(self, session: str, task_queue: str = "", heartbeat: float = 0.0) -> None:
        is_over = False
        # The wake that the workflow before this one had still to answer.
        if task_queue and self._wake is None:
            self._wake = (task_queue, heartbeat)
        while self._wake is not None or not is_over:
            await workflow.wait_condition(lambda: self._wake is not None)
            assert self._wake is not None
            (task_queue, heartbeat), self._wake = self._wake, None
            # What nobody could run is found by the sweep, and signalled again.
            with suppress(ActivityError):
                is_over = await self._advance(session, task_queue, heartbeat)
            if not is_over and workflow.info().get_current_history_length() > MAX_EVENTS:
                workflow.continue_as_new(args=[session, *(self._wake or ())])

    async def _advance(self, session: str, task_queue: str, heartbeat: float) -> bool:
        is_over: bool = await workflow.execute_activity(
            TASK,
            session,
            result_type=bool,
            task_queue=task_queue,
            schedule_to_start_timeout=None if task_queue == workflow.info().task_queue else UNHEARD,
            start_to_close_timeout=MAX_RUN,
            heartbeat_timeout=timedelta(seconds=heartbeat),
            retry_policy=RetryPolicy(backoff_coefficient=1.0),
        )
        return is_over


class TemporalQueue(postgres_queue.PostgresQueue):
    """The shared queue of one database, whose jobs a Temporal server hands out. Use as an async context manager.

    Raises SchedulerUnavailable when the server does not answer, BadSetting when it does not know the namespace.
    """

    def __init__(
        self, address: str, settings: TemporalSettings, *, name: str = "moot", build: str = ""
    ) -> None:
        super().__init__(address, name=name, build=build)
        self._temporal = settings
        self._client: Client | None = None
        self._number = 0
        self._is_away = False
        self._adrift: set[int] = set()
        self._running: dict[SessionId, asyncio.Task[None]] = {}

    async def __aenter__(self) -> Self:
        self._client = await _connect(self._temporal, self._name)
        return await super().__aenter__()

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        await super().__aexit__(kind, error, trace)
        self._client = None

    def _name_task_queue(self, queue: str) -> str:
        return self._temporal.task_queue + queue.removeprefix(postgres_queue.COMMON_QUEUE)

    async def _run_jobs(
        self,
        advance: postgres_queue.Advance,
        over: asyncio.Event,
        *,
        concurrency: int,
        lease: float,
    ) -> None:
        """Run the jobs that Temporal hands to this worker, forward those that wait, and sweep."""
        assert self._client is not None
        self._number = await self.fetch_value("SELECT procrastinate_register_worker_v1()")
        await self._enlist(self._number, lease)
        # Both task queues of this worker share them.
        slots = asyncio.Semaphore(concurrency)

        @activity.defn(name=TASK)
        async def run(session: str) -> bool:
            async with slots:
                return await self._run_activity(SessionId(session), advance)

        workers = [
            Worker(
                self._client,
                task_queue=self._name_task_queue(queue),
                workflows=[SessionWorkflow] if queue == postgres_queue.COMMON_QUEUE else [],
                activities=[run],
                # The workflow above is all of it: nothing in it needs to be kept from the clock.
                workflow_runner=UnsandboxedWorkflowRunner(),
                identity=self._name,
                # Else the library reads all source files of the process to make one up.
                build_id=self._queue,
                max_concurrent_activities=concurrency,
                max_concurrent_activity_task_polls=POLLS,
                # One more: the library keeps one of them for the workflows that it has in memory.
                max_concurrent_workflow_task_polls=POLLS + 1,
                max_heartbeat_throttle_interval=timedelta(seconds=lease / 4),
                sticky_queue_schedule_to_start_timeout=STICKY,
            )
            for queue in (postgres_queue.COMMON_QUEUE, self._queue)
        ]
        try:
            works = (partial(self._keep, lease), partial(self._forward, lease))
            handing_out = (self._run_temporal_worker(worker) for worker in workers)
            await postgres_queue.run_together(
                over, *(postgres_queue.insist(work, lease) for work in works), *handing_out
            )
        finally:
            await self._stop_running()

    async def _run_temporal_worker(self, worker: Worker) -> None:
        running = asyncio.create_task(worker.run())
        try:
            await asyncio.shield(running)
        except asyncio.CancelledError:
            running.cancel()
            # Bounded: the library waits for what it has asked of its server, and that may answer a minute later.
            await asyncio.wait([running], timeout=PART_SECONDS)
            raise
        except (RPCError, RuntimeError) as cause:
            raise SchedulerUnavailable(
                f"the worker lost its Temporal server: {_explain(cause)}"
            ) from cause

    async def _run_activity(self, session: SessionId, advance: postgres_queue.Advance) -> bool:
        """Run a session for which there is a job; whether it has ended.

        The run does not depend on the call: should Temporal be away for a while, or take this worker for dead, it goes on. Who
        may run a session is decided beside the ledger, where a second worker finds the job taken.
        """
        try:
            pause = (
                activity.info().heartbeat_timeout or timedelta(seconds=postgres_queue.SWEEP_SECONDS)
            ).total_seconds()
            async with asyncio.timeout(pause):
                running = self._find_running(session) or await self._take(session, advance)
            while running is not None and not running.done():
                activity.heartbeat()
                await asyncio.wait([running], timeout=pause / 3)
            status = await self.fetch_value(_STATUS, session)
        except (LedgerUnavailable, TimeoutError):
            # Without the cause: what a failure says is kept in Temporal's history.
            raise ApplicationError("the ledger does not answer") from None
        if status is None:
            log.warning(
                "session %s is not in this ledger; a second ledger needs a task queue of its own (%s)",
                session,
                TASK_QUEUE,
            )
        return status in {None, "closed", "foreign"}

    def _find_running(self, session: str) -> "asyncio.Task[None] | None":
        running = self._running.get(SessionId(session))
        return None if running is None or running.done() else running

    async def _take(
        self, session: SessionId, advance: postgres_queue.Advance
    ) -> "asyncio.Task[None] | None":
        """Start to run a session; None where no job waits for it. Raises ApplicationError while another worker has it."""
        try:
            job = await self.fetch_value(QUERIES["take"], session, self._number)
        except LedgerUnavailable as error:
            # Both looked before either took it.
            if not isinstance(error.__cause__, asyncpg.UniqueViolationError):
                raise
            job = None
        if job is not None:
            self._running[session] = asyncio.create_task(self._run_taken(job, session, advance))
            return self._running[session]
        if await self.fetch_value(_IS_HELD, session):
            delay = SELDOM if activity.info().attempt > SOON_ATTEMPTS else None
            raise ApplicationError(
                "another worker runs this session", next_retry_delay=delay
            ) from None
        return None

    async def _run_taken(
        self, job: int, session: SessionId, advance: postgres_queue.Advance
    ) -> None:
        try:
            is_finished = await self._run_session(advance, session, job)
            # A job that stays while its worker lives would never be handed over.
            while not (is_finished or await self._finish(job)):  # noqa: ASYNC110 - a database tells nobody that it is back
                await asyncio.sleep(postgres_queue.RETRY_SECONDS)
        except asyncio.CancelledError:
            # The worker stops, and another one goes on; a session that was cancelled has nothing left to be seen.
            with suppress(LedgerUnavailable):
                await self.wake([session])
            await self._finish(job)
            raise
        finally:
            del self._running[session]

    async def _finish(self, job: int) -> bool:
        with suppress(LedgerUnavailable):
            await self.execute("DELETE FROM procrastinate_jobs WHERE id = $1", job)
            return True
        return False

    async def _stop_running(self) -> None:
        running = list(self._running.values())
        if running:
            await asyncio.wait(running, timeout=postgres_queue.STOP_SECONDS)
        for each in running:
            each.cancel()
        await asyncio.gather(*running, return_exceptions=True)

    async def _sweep(self, lease: float, *, is_quiet: bool) -> None:
        await self.execute(
            "SELECT procrastinate_update_heartbeat_v1($1)", self._number, timeout=lease
        )
        await self._tend_jobs(lease)
        await super()._sweep(lease, is_quiet=is_quiet)

    async def _tend_jobs(self, lease: float) -> None:
        """Stop the sessions that were cancelled, and give back jobs that were taken while the answer to that got lost."""
        jobs = await self.fetch(QUERIES["mine"], self._number, timeout=lease)
        for job in jobs:
            running = self._find_running(job["session"])
            # Once: a second time would cut off how it ends.
            if running is not None and job["abort_requested"] and not running.cancelling():
                running.cancel()
        adrift = {job["id"] for job in jobs if self._find_running(job["session"]) is None}
        # One that is being taken just now is at work by the next sweep.
        if lost := adrift & self._adrift:
            await self.execute(QUERIES["give_back"], list(lost), timeout=lease)
        self._adrift = adrift - lost

    async def _forward(self, lease: float) -> None:
        """Signal Temporal for each job that waits, as soon as PostgreSQL notifies of it, and at the latest after a second."""
        changed = asyncio.Event()
        with translate_errors():
            ear = await asyncpg.connect(
                self._address, server_settings={"application_name": self._name}, timeout=lease
            )
        try:
            with translate_errors():
                await ear.add_listener(CHANGED, lambda *_: changed.set())
            while not ear.is_closed():
                changed.clear()
                if not await self._forward_jobs(lease):
                    with suppress(TimeoutError):
                        await asyncio.wait_for(changed.wait(), postgres_queue.SWEEP_SECONDS)
        finally:
            ear.terminate()
        raise LedgerUnavailable("the worker lost its connection to the PostgreSQL ledger")

    async def _forward_jobs(self, lease: float) -> bool:
        """Signal Temporal for the jobs that wait; whether there may be more of them."""
        queues = [postgres_queue.COMMON_QUEUE, self._queue]
        jobs = await self.fetch(
            QUERIES["forward"], queues, FORWARD_AGAIN_SECONDS, MAX_FORWARD_LENGTH, timeout=lease
        )
        results = await asyncio.gather(
            *(self._signal(job, lease) for job in jobs), return_exceptions=True
        )
        errors = [error for error in results if isinstance(error, BaseException)]
        if not errors:
            self._is_away = self._is_away and not jobs
            return len(jobs) == MAX_FORWARD_LENGTH
        failed = [job["id"] for job, error in zip(jobs, results, strict=True) if error is not None]
        await self.execute(_FORWARD_SOON, failed, timeout=lease)
        for error in errors:
            if not isinstance(error, RPCError):
                raise error
        if not self._is_away:
            log.warning(
                "sessions wait for Temporal at %s (%s); trying again",
                self._temporal.server,
                _explain(errors[0]),
            )
        self._is_away = True
        return False

    async def _signal(self, job: Any, lease: float) -> None:
        assert self._client is not None
        await self._client.start_workflow(
            WORKFLOW,
            job["session"],
            id=f"{self._temporal.task_queue}/{job['session']}",
            task_queue=self._temporal.task_queue,
            start_signal="wake",
            # Shorter than the lease: when that is past, Temporal looks for another worker already.
            start_signal_args=[self._name_task_queue(job["queue_name"]), max(1.0, lease / 2)],
            task_timeout=DECIDING,
            rpc_timeout=timedelta(seconds=CALL_SECONDS),
        )


async def _connect(settings: TemporalSettings, name: str) -> Client:
    """A client of the server; it is waited for, but not for long. Raises SchedulerUnavailable or BadSetting."""
    try:
        config = ClientConfig.load_client_connect_config(override_env_vars=dict(settings.environ))
    except (ValueError, RuntimeError, OSError) as cause:
        raise BadSetting(
            f"Temporal's own settings (TEMPORAL_…) cannot be read: {_explain(cause)}"
        ) from cause
    config["target_host"] = settings.server
    namespace = config.get("namespace") or "default"
    ends = asyncio.get_running_loop().time() + CONNECT_SECONDS
    while True:
        try:
            async with asyncio.timeout_at(ends):
                client = await Client.connect(**config, identity=name, runtime=_build_runtime())
                await client.workflow_service.describe_namespace(
                    DescribeNamespaceRequest(namespace=namespace),
                    timeout=timedelta(seconds=CALL_SECONDS),
                )
            return client
        except RPCError as cause:
            if cause.status == RPCStatusCode.NOT_FOUND:
                raise BadSetting(
                    f"Temporal at {settings.server} has no namespace {namespace!r}; create it "
                    "(temporal operator namespace create), or name another: --namespace NAME"
                ) from cause
            error: Exception = cause
        except (RuntimeError, OSError) as cause:
            error = cause
        if asyncio.get_running_loop().time() + postgres_queue.RETRY_SECONDS > ends:
            raise SchedulerUnavailable(
                f"the Temporal server at {settings.server} does not answer ({_explain(error)}); start it, or leave out --temporal"
            ) from error
        await asyncio.sleep(postgres_queue.RETRY_SECONDS)


@cache
def _build_runtime() -> Runtime:
    """The library's threads, one set for the process. What they log is the library's own, and quiet unless it is asked for."""
    forwarding = LogForwardingConfig(logger=logging.getLogger("temporalio"))
    logged = LoggingConfig(
        filter=TelemetryFilter(core_level="WARN", other_level="ERROR"), forwarding=forwarding
    )
    return Runtime(telemetry=TelemetryConfig(logging=logged))


def _explain(error: BaseException) -> str:
    """The reason in one line: the library wraps what the system said into the names of its own types."""
    said = str(error) or type(error).__name__
    reason = re.search(r'message: "([^"]+)"', said)
    return (reason[1] if reason else said).splitlines()[0][:200]
