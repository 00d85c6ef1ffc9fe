"""Print what a board finds, misses and invents against one reviewer alone: python -m bench.review [SEEDS]"""

import asyncio
import sys
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from statistics import mean, stdev

from bench.review.fixtures import Fixture, build_fixtures
from bench.review.reviewers import BOARD, ScriptedReviewer
from moothall import Moot
from moothall.domain.topic import ContextFile


@dataclass(slots=True)
class Tally:
    """What one way of reviewing made of all changes, with one seed."""

    found: int = 0
    missed: int = 0
    invented: int = 0
    stopped: int = 0
    """Clean changes that were not approved."""
    calls: int = 0


async def review_all(
    moot: Moot, names: Sequence[str], fixtures: Iterable[Fixture], seed: int
) -> Tally:
    """Have these reviewers review each change, and count what is upheld."""
    tally = Tally()
    for fixture in fixtures:
        decision = await moot.hold(
            "Is this change ready?",
            protocol="review",
            files=[ContextFile(name="change.diff", text=fixture.diff)],
            seats={name: ScriptedReviewer(name, BOARD[name], fixture, seed) for name in names},
            memory=False,
        )
        upheld = [each for each in decision.findings or () if each.state == "upheld"]
        is_found = any(
            each.claim == fixture.claim and each.concern == fixture.concern for each in upheld
        )
        tally.found += is_found
        tally.missed += bool(fixture.concern) and not is_found
        tally.invented += sum(each.claim != fixture.claim for each in upheld)
        tally.stopped += not fixture.concern and decision.choice != "approve"
        tally.calls += decision.turns
    return tally


async def measure(seeds: int) -> dict[str, list[Tally]]:
    """Tally each reviewer alone and the whole board, for each seed."""
    fixtures = build_fixtures()
    ways = {**{name: (name,) for name in BOARD}, "board": tuple(BOARD)}
    async with Moot(environ={"MOOT_LEDGER": "memory:"}) as moot:
        return {
            way: [await review_all(moot, names, fixtures, seed) for seed in range(seeds)]
            for way, names in ways.items()
        }


def render_table(tallies: dict[str, list[Tally]], fixtures: Sequence[Fixture]) -> str:
    """The figures as a Markdown table: the mean over the seeds, with its standard error."""
    seeded = sum(bool(each.concern) for each in fixtures)
    heads = [
        "reviewer",
        f"found of {seeded}",
        "missed",
        "invented",
        f"clean changes stopped of {len(fixtures) - seeded}",
    ]
    heads.append("answers for a change")
    lines = [f"| {' | '.join(heads)} |", "|---" * len(heads) + "|"]
    for way, each in tallies.items():
        columns = [
            [getattr(one, name) for one in each]
            for name in ("found", "missed", "invented", "stopped")
        ]
        calls = mean(one.calls for one in each) / len(fixtures)
        lines.append(f"| {way} | {' | '.join(map(_format_figure, columns))} | {calls:.1f} |")
    return "\n".join(lines)


def _format_figure(values: Sequence[int]) -> str:
    error = f" ± {stdev(values) / len(values) ** 0.5:.1f}" if len(values) > 1 else ""
    return f"{mean(values):.1f}{error}"


if __name__ == "__main__":
    count = int(sys.argv[1]) if len(sys.argv) > 1 else 10
    print(render_table(asyncio.run(measure(count)), build_fixtures()))
