"""What supervises a process asks for: liveness and readiness without a token, and metrics."""

import asyncio
from collections.abc import Iterable, Iterator
from contextlib import suppress
from typing import Final

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, SummaryMetricFamily
from prometheus_client.exposition import CONTENT_TYPE_LATEST
from prometheus_client.metrics_core import Metric
from prometheus_client.registry import Collector
from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from moothall.errors import MootError
from moothall.ports.runner import Runner, RunnerStats
from moothall.ports.telemetry import Counts

STATS_SECONDS: Final = 5.0


class Metrics:
    """One per process: nothing is global, so that two servers in one process count apart."""

    content_type = CONTENT_TYPE_LATEST

    def __init__(self, counts: Counts) -> None:
        self._registry = CollectorRegistry()
        self._counts = counts
        self._calls = Counter(
            "moot_calls",
            "Calls, by method and outcome.",
            ["method", "outcome"],
            registry=self._registry,
        )
        self._seconds = Histogram(
            "moot_call_seconds", "How long calls took.", ["method"], registry=self._registry
        )
        self._refused = Counter(
            "moot_refused",
            "Requests refused at the door, by status.",
            ["status"],
            registry=self._registry,
        )
        self.open_calls = Gauge(
            "moot_calls_open",
            "Calls that have come and are not answered yet.",
            registry=self._registry,
        )
        self.watchers = Gauge("moot_watchers", "Open event streams.", registry=self._registry)

    def count_call(self, method: str, outcome: str, seconds: float) -> None:
        self._calls.labels(method, outcome).inc()
        self._seconds.labels(method).observe(seconds)

    def count_refusal(self, status: int) -> None:
        """Count a request that was refused before anything was read: no token, too large, too many."""
        self._refused.labels(str(status)).inc()

    async def render_metrics(self, runner: Runner | None) -> bytes:
        """All figures in Prometheus' text form. Those of the ledger are left out while it is away."""
        stats = None
        if runner is not None:
            with suppress(MootError, TimeoutError):
                async with asyncio.timeout(STATS_SECONDS):
                    stats = await runner.stats()
        # Beside those that are counted as they happen: nothing of a scrape stays, so that no figure outlives its session.
        scraped = CollectorRegistry()
        scraped.register(_Scrape(self._counts, stats))
        return generate_latest(self._registry) + generate_latest(scraped)


class _Scrape(Collector):
    """The figures of one moment."""

    def __init__(self, counts: Counts, stats: RunnerStats | None) -> None:
        self._counts = counts
        self._stats = stats

    def collect(self) -> Iterable[Metric]:
        yield GaugeMetricFamily(
            "moot_ledger_reachable", "Whether the ledger answers.", self._stats is not None
        )
        yield from _describe_counts(self._counts)
        asks = GaugeMetricFamily(
            "moot_asks_outstanding", "Asks that wait for an answer, by who has them.", labels=["at"]
        )
        asks.add_metric(["participants"], self._counts.asks_open)
        if self._stats is not None:
            asks.add_metric(["outside"], self._stats.asks)
            yield from _describe_stats(self._stats)
        yield asks


def _describe_counts(counts: Counts) -> Iterator[Metric]:
    yield CounterMetricFamily("moot_appends", "Appends of this process.", counts.appends)
    yield CounterMetricFamily("moot_entries", "Entries in them.", counts.entries)
    yield CounterMetricFamily(
        "moot_sessions_ended", "Sessions that this process closed.", counts.ended
    )
    retries = CounterMetricFamily(
        "moot_retries",
        "What this process tried again: asks of participants, a ledger that was away, appends that another writer was ahead of.",
        labels=["of"],
    )
    for name, count in (
        ("ask", counts.ask_retries),
        ("ledger", counts.ledger_retries),
        ("append", counts.conflicts),
    ):
        retries.add_metric([name], count)
    yield retries
    answers = CounterMetricFamily(
        "moot_asks", "Asks of this process that ended, by outcome.", labels=["outcome"]
    )
    for outcome, count in sorted(counts.answers.items()):
        answers.add_metric([outcome], count)
    yield answers
    yield SummaryMetricFamily(
        "moot_provider_wait_seconds",
        "How often and for how long asks of this process waited for a provider's limits.",
        count_value=counts.provider_waits,
        sum_value=counts.provider_wait_seconds,
    )
    yield SummaryMetricFamily(
        "moot_loop_stall_seconds",
        "How often and for how long the event loop stood still for a second or more; the log names the call.",
        count_value=counts.loop_stalls,
        sum_value=counts.loop_stall_seconds,
    )


def _describe_stats(stats: RunnerStats) -> Iterator[Metric]:
    yield GaugeMetricFamily(
        "moot_sessions_running", "Sessions that are being run now.", stats.running
    )
    yield GaugeMetricFamily(
        "moot_sessions_parked", "Sessions that wait for an outage to end.", stats.parked
    )
    yield GaugeMetricFamily(
        "moot_sessions_runnable", "Sessions that wait for a free worker.", stats.runnable
    )
    yield GaugeMetricFamily(
        "moot_oldest_runnable_seconds", "For how long the first of them has waited.", stats.oldest
    )
    yield GaugeMetricFamily(
        "moot_workers", "Processes that run sessions of this ledger.", stats.workers
    )
    yield GaugeMetricFamily("moot_provider_calls", "Calls of providers under way.", stats.calls)
    yield GaugeMetricFamily(
        "moot_provider_waits",
        "How often a call had to wait for a provider's limits.",
        stats.provider_waits,
    )
    sessions = GaugeMetricFamily(
        "moot_sessions", "Sessions that their runner knows, by state.", labels=["state"]
    )
    for state, count in sorted(stats.statuses.items()):
        sessions.add_metric([state], count)
    yield sessions


LIVE: Final = "/livez"
READY: Final = "/readyz"
HEALTH: Final = "/healthz"
"""The first name of readiness, which clients and load balancers know."""
RETRY_SECONDS: Final = 2


async def answer_live(request: Request) -> Response:
    """That anything is answered at all is the answer."""
    return JSONResponse({"status": "ok"})


def build_ready(reason: str) -> Response:
    """The answer of a process that is ready, or is not for a reason."""
    if not reason:
        return JSONResponse({"status": "ok"})
    return JSONResponse(
        {"status": "failing", "reason": reason}, 503, {"Retry-After": str(RETRY_SECONDS)}
    )
