"""What the server counts, for Prometheus."""

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest
from prometheus_client.exposition import CONTENT_TYPE_LATEST

from moot.ports.runner import RunnerStats


class Metrics:
    """One per server: nothing is global, so that two servers in one process count apart."""

    content_type = CONTENT_TYPE_LATEST

    def __init__(self) -> None:
        self._registry = CollectorRegistry()
        self._calls = Counter("moot_calls", "Calls, by method and outcome.", ["method", "outcome"], registry=self._registry)
        self._seconds = Histogram("moot_call_seconds", "How long calls took.", ["method"], registry=self._registry)
        self._running = Gauge("moot_sessions_running", "Sessions that are being run now.", registry=self._registry)
        self._parked = Gauge("moot_sessions_parked", "Sessions that wait for an outage to end.", registry=self._registry)
        self._runnable = Gauge("moot_sessions_runnable", "Sessions that wait for a free worker.", registry=self._registry)
        self._oldest = Gauge(
            "moot_oldest_runnable_seconds", "For how long the first of them has waited.", registry=self._registry
        )
        self._workers = Gauge("moot_workers", "Processes that run sessions of this ledger.", registry=self._registry)
        self._in_flight = Gauge("moot_provider_calls", "Calls of providers under way.", registry=self._registry)
        self._provider_waits = Gauge(
            "moot_provider_waits", "How often a call had to wait for a provider's limits.", registry=self._registry
        )
        self._sessions = Gauge("moot_sessions", "Sessions that workers know, by state.", ["state"], registry=self._registry)
        self._watching = Gauge("moot_watchers", "Open event streams.", registry=self._registry)

    def count_call(self, method: str, outcome: str, seconds: float) -> None:
        """Count one call."""
        self._calls.labels(method, outcome).inc()
        self._seconds.labels(method).observe(seconds)

    def count_watcher(self, change: int) -> None:
        """One more watcher, or one less."""
        self._watching.inc(change)

    def render_metrics(self, stats: RunnerStats) -> bytes:
        """All figures in Prometheus' text form."""
        self._running.set(stats.running)
        self._parked.set(stats.parked)
        self._runnable.set(stats.runnable)
        self._oldest.set(stats.oldest)
        self._workers.set(stats.workers)
        self._in_flight.set(stats.calls)
        self._provider_waits.set(stats.provider_waits)
        # A state that no session is in any more is not among them.
        self._sessions.clear()
        for standing, count in stats.standings.items():
            self._sessions.labels(standing).set(count)
        return generate_latest(self._registry)
