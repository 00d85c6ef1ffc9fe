"""The fixtures of the review bench, and that it measures what it says (G-1)."""

import asyncio
from collections import Counter

from bench.review.__main__ import review_all
from bench.review.fixtures import build_fixtures
from bench.review.planted import FORMS, NAMES, OTHERS, PATHS, build_clean, build_planted, tally
from bench.review.reviewers import BOARD

from moothall import Moot
from moothall.features.review.change import locate_evidence, parse_diff
from moothall.reading.json_text import extract_object


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


def test_the_planted_scenes_have_every_form_path_and_neighbour() -> None:
    """G-6: 200 with a critical defect and 100 clean ones, paths of 20 repositories, each way to quote, be lost and lie."""
    planted, clean = build_planted(), build_clean()
    assert (len(planted), len(clean), len(PATHS)) == (200, 100, 20)
    used = Counter(form for scene in planted for form in scene.finders.values())
    assert set(used) == set(FORMS)
    assert min(used.values()) >= 5
    alone = Counter(next(iter(each.finders.values())) for each in planted if len(each.finders) == 1)
    assert set(alone) == set(FORMS)
    assert {each.fixture.name for each in planted} == set(PATHS)
    assert {each.others for each in planted} == set(OTHERS)
    for each in planted:
        assert any(form in FORMS for form in each.finders.values())
        change = parse_diff(each.fixture.diff)
        assert locate_evidence(change, each.fixture.name, 1, each.fixture.line) is not None


def test_no_gate_approves_what_a_reviewer_had_found() -> None:
    """G-6, G-7: of each third scene: not where its finder was heard, nor where it was lost; nine of ten clean changes pass."""
    made = asyncio.run(tally(NAMES, 3))
    assert (made.planted, made.let_through) == (67, 0)
    assert made.clean == 34
    assert 10 * made.approved >= 9 * made.clean
    assert made.false == 0


def test_a_list_that_was_cut_off_before_its_first_item_is_not_empty() -> None:
    """G-6: an answer without findings is an empty list, and nothing else is."""
    for text in ('{"findings": [', '{"findings": [{', '{"findings": [{"'):
        assert not extract_object(text)
    for text in ('{"findings": []}', '{"findings": []', '{"findings": [],'):
        assert extract_object(text) == {"findings": []}
