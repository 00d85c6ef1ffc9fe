"""A slice of the fuzz of all calls by all roles; `python -m bench.doors` makes 100,000."""

from pathlib import Path

import pytest
from bench.doors.fuzz import run_calls

from moothall_testkit.ledger_scenes import run_with_deadline


def test_no_call_of_any_role_fails_inside_or_writes_though_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """D-6: values that fit, nearly fit and do not fit."""
    monkeypatch.chdir(tmp_path)

    async def work() -> None:
        result = await run_calls(600, 300.0, seed=7)
        assert (result.calls, result.internal, result.wrote) == (600, [], [])
        assert len({each.split()[0] for each in result.outcomes}) == 7

    run_with_deadline(work())
