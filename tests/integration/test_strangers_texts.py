"""A slice of the fuzz of strangers' texts; `python -m bench.strangers` reads 20,000 and those that were made to hurt."""

import pytest
from bench.strangers.fuzz import run_texts

from moothall_testkit.ledger_scenes import run_with_deadline


@pytest.mark.parametrize("seed", [7, 8])
def test_broken_texts_of_strangers_are_read_or_refused_in_a_sentence(seed: int) -> None:
    """N-8: given files, diffs, pages, panels, ignore rules, answers, quotations and what tools return."""

    async def work() -> None:
        tally = await run_texts(400, seed, has_made=False)
        assert tally.texts == 400
        assert tally.failed == []
        assert len(tally.by_kind) >= 10
        # Some are read and some are refused: the mutations are neither harmless nor all hopeless.
        assert 20 < tally.refused < 380

    run_with_deadline(work(), 120)
