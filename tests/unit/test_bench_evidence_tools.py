"""The bench of evidence: its questions, and what split evidence needs."""

import asyncio

from bench.evidence.tools import KINDS, Tally, hold, make_question


def test_each_needed_line_stands_in_a_file_of_its_own_and_one_option_is_right() -> None:
    for kind, count in KINDS.items():
        question = make_question(kind, 3)
        holders = [[file.name for file in question.files if f"item {name} costs" in file.text] for name in question.needed]
        assert len({names[0] for names in holders if len(names) == 1}) == count
        assert question.options.count(question.right) == 1


def test_a_debate_puts_split_evidence_together_where_a_vote_cannot() -> None:
    """E-2: seats that see a part each have no majority blind, and the right answer once they have heard each other."""
    tally = Tally()
    for seed in range(3):
        question = make_question("sum of three tables", seed)
        asyncio.run(hold(question, is_split=True, tools="on", seed=seed, tally=tally))
    assert tally.debated > tally.voted
    assert tally.looked_up
