"""The fixtures of the review bench, and that it measures what it says (G-1)."""

import asyncio
from collections import Counter

from bench.review.__main__ import review_all
from bench.review.fixtures import build_fixtures
from bench.review.reviewers import BOARD

from moothall import Moot
from moothall.features.review.change import locate_evidence, parse_diff


def test_every_seeded_defect_stands_in_its_change_and_no_clean_one_has_it() -> None:
    """G-1: at least thirty seeded defects of eight kinds, and clean changes."""
    fixtures = build_fixtures()
    kinds = Counter(each.concern for each in fixtures)
    clean = kinds.pop("")
    assert (sum(kinds.values()), len(kinds), clean) == (40, 8, 24)
    for each in fixtures:
        change = parse_diff(each.diff)
        assert [file.name for file in change] == [each.name]
        if each.concern:
            assert locate_evidence(change, each.name, 1, each.line) is not None


def test_a_board_finds_more_and_invents_less_than_one_of_its_reviewers() -> None:
    """G-1: with a board of the stated skill, on every fourth change."""
    fixtures = build_fixtures()[::4]

    async def measure() -> list[tuple[int, int]]:
        async with Moot(environ={"MOOT_LEDGER": "memory:"}) as moot:
            tallies = [
                await review_all(moot, names, fixtures, 1)
                for names in (("correctness",), tuple(BOARD))
            ]
        return [(each.found, each.invented) for each in tallies]

    (found, invented), (together, ghosts) = asyncio.run(measure())
    assert together > found
    assert ghosts <= invented
