"""What the server's metrics say of the sessions that workers run."""

from moot.ports.runner import RunnerStats
from moot.surfaces.http.metrics import Metrics


def test_a_state_that_no_session_is_in_any_more_is_not_counted() -> None:
    """N-1: sessions that were new and are closed are not new any more."""
    metrics = Metrics()
    metrics.render_metrics(RunnerStats(standings={"new": 2}))
    text = metrics.render_metrics(RunnerStats(standings={"closed": 2})).decode()
    assert [line for line in text.splitlines() if line.startswith("moot_sessions{")] == ['moot_sessions{state="closed"} 2.0']
