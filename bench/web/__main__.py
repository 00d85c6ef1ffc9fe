"""The page's speed against its aims (`python -m bench.web [ENTRIES]`): see docs/bench-web.md."""

import asyncio
import platform
import statistics
import sys
import tempfile
from pathlib import Path

from bench.web.browsing import (
    measure_first_view,
    measure_new_entries,
    measure_scrolling,
    measure_wire,
    open_browser,
)
from bench.web.meeting import record_meeting
from bench.web.viewers import ViewerCost, measure_viewers, serve

VIEWERS = 50
EVENTS = 40
RUNS = 3


def main() -> None:
    spoken = int(sys.argv[1]) if len(sys.argv) > 1 else 2_000
    with tempfile.TemporaryDirectory() as folder:
        home = Path(folder) / "home"
        session = asyncio.run(record_meeting(home, spoken))
        with serve(home) as served, open_browser() as browser:
            firsts = [measure_first_view(browser, served, session) for _ in range(RUNS + 1)]
            scrolls = [measure_scrolling(browser, served, session) for _ in range(RUNS)]
            wire = measure_wire(browser, served, session)
            entries = measure_new_entries(browser, served, session, 20)
        cost = measure_crowd(home, session)
    machine = f"{platform.system()}, Python {platform.python_version()}"
    print(f"{machine}, {spoken} entries, the middle of {RUNS} runs (the worst in brackets)\n")
    print("| | measured | aim | |\n|---|---|---|---|")
    waited = [each.waited for each in firsts[1:]]
    tell("first view of the long session, ms", statistics.median(waited), max(waited), 1_000)
    for name, costs in (
        ("page", [each.page_cpu for each in firsts[1:]]),
        ("server", [each.server_cpu for each in firsts[1:]]),
    ):
        print(
            f"| – of it CPU in the {name}, ms | {statistics.median(costs):.0f} ({max(costs):.0f}) | | |"
        )
    if scrolls[0].entries >= 0.9 * spoken:
        longest, waits = [each.cpu_ms for each in scrolls], [each.longest_ms for each in scrolls]
        tell(
            "longest task while all entries are scrolled through, ms of CPU",
            statistics.median(longest),
            max(longest),
            100,
        )
        print(
            f"| – in time, with the browser's other work beside it, ms | {statistics.median(waits):.0f} ({max(waits):.0f}) | | |"
        )
    else:
        print(
            f"| longest task while scrolling, ms | only {scrolls[0].entries} entries were passed | ≤ 100 | NOT MEASURED |"
        )
    tell(
        "a new entry on the screen, ms after its answer was sent",
        statistics.median(entries),
        max(entries),
        500,
    )
    tell(f"server, CPU ms per viewer and event, {VIEWERS} viewers", cost.cpu_ms, None, 0.2)
    tell(f"server, MB per viewer, {VIEWERS} viewers", cost.memory_mb, None, 0.15)
    tell("first view of the long session, bytes on the wire", wire, None, 90_000)
    print(f"| one contribution, bytes on the wire of each browser | {cost.event_bytes:,.0f} | | |")
    print(f"\nThe first view of a server that has just started: {firsts[0].waited:.0f} ms.")


def measure_crowd(home: Path, session: str) -> ViewerCost:
    with serve(home) as served:

        async def speak(number: int) -> None:
            await asyncio.to_thread(
                served.speak, session, f"number {number}: I agree with the last speaker."
            )

        return asyncio.run(measure_viewers(served, session, speak, VIEWERS, EVENTS))


def tell(what: str, value: float, worst: float | None, aim: float) -> None:
    """One row of the table."""
    digits = 0 if aim >= 10 else 3
    shown = f"{value:,.{digits}f}" + ("" if worst is None else f" ({worst:,.{digits}f})")
    print(f"| {what} | {shown} | ≤ {aim:,} | {'met' if value <= aim else 'MISSED'} |")


if __name__ == "__main__":
    main()
