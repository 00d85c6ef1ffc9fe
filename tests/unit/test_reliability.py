"""D-25: how often decisions like this one proved right, counted as reviews come in."""

from collections.abc import Sequence
from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from moothall.domain.facts import Entry
from moothall.memory.facts import DecisionRecorded, Member, Outcome, OutcomeReviewed
from moothall.memory.memory_state import MemoryState, evolve
from moothall.memory.remembered_decision import RememberedDecision
from moothall.scoring.reliability import (
    MIN_ALIKE,
    DecisionKind,
    ReliabilityBin,
    ReliabilityTable,
    TrackShare,
    name_agreement,
)
from moothall.surfaces.api.memory import ReliabilityOut
from moothall.surfaces.cli.memory import WIDTH, draw_bin, show_csv, show_reliability

NOW = datetime(2025, 3, 1, tzinfo=UTC)
KIND = DecisionKind("debate", "agreed_after_reading", "qwen")
OUTCOMES: Sequence[Outcome] = ("success", "partial", "failure", "abandoned")


def record(
    number: int, confidence: float | None, *, agreement: str = "after_reading", families: str = "q"
) -> DecisionRecorded:
    return DecisionRecorded(
        session=f"d{number}",
        protocol="debate",
        topic="What now?",
        text="We do it.",
        confidence=confidence,
        agreement=agreement,
        consensus_type="contested",
        members=tuple(
            Member(source=f"s{at}", seat=f"s{at}", family=each) for at, each in enumerate(families)
        ),
        opened_at=NOW,
        closed_at=NOW,
    )


def test_of_22_decisions_like_this_6_were_right() -> None:
    """D-25: from ten reviewed cases on, by protocol and kind of agreement, over all families."""
    table = ReliabilityTable()
    for number in range(MIN_ALIKE - 1):
        table.add(KIND, 0.92, is_right=number < 3)
    assert table.count_alike("debate", KIND.agreement) is None, "nine cases say nothing"
    table.add(KIND._replace(family="llama"), None, is_right=False)
    assert table.count_alike("debate", KIND.agreement) == TrackShare(cases=10, right=3)
    for number in range(12):
        table.add(KIND._replace(family="llama"), 0.75, is_right=number < 3)
    assert table.count_alike("debate", KIND.agreement) == TrackShare(cases=22, right=6)
    assert table.count_alike("debate", "agreed_blind") is None
    assert table.count_alike("consensus", KIND.agreement) is None


@given(st.lists(st.tuples(st.integers(0, 5), st.sampled_from(OUTCOMES)), max_size=40))
def test_counts_follow_corrected_reviews(reviews: list[tuple[int, Outcome]]) -> None:
    """D-25: the last review counts, as if it had been the only one; partial and abandoned cases are not counted."""
    said = {number: None if number == 5 else number / 5 for number in range(6)}
    book = MemoryState()
    for number, confidence in said.items():
        evolve(book, Entry(number + 1, NOW, record(number, confidence)))
    for at, (number, outcome) in enumerate(reviews):
        evolve(book, Entry(at + 7, NOW, OutcomeReviewed(decision_id=f"d{number}", outcome=outcome)))
    last = dict(reviews)
    counted = {
        number: outcome == "success"
        for number, outcome in last.items()
        if outcome in {"success", "failure"}
    }
    groups = book.reliability.list_groups()
    assert sum(group.cases for group in groups) == len(counted)
    assert sum(group.right for group in groups) == sum(counted.values())
    figures = {number: right for number, right in counted.items() if said[number] is not None}
    assert sum(each.cases for each in book.reliability.list_bins()) == len(figures)
    if figures:
        brier = sum(
            ((said[number] or 0.0) - right) ** 2 for number, right in figures.items()
        ) / len(figures)
        assert groups[0].brier == pytest.approx(brier, abs=1e-4)


@pytest.mark.parametrize(
    ("agreement", "consensus_type", "kind"),
    [
        ("blind", "unanimous", "agreed_blind"),
        ("after_reading", "contested", "agreed_after_reading"),
        ("", "majority", "majority"),
        (None, None, "no_vote"),
    ],
)
def test_kinds_of_agreement(agreement: str | None, consensus_type: str | None, kind: str) -> None:
    assert name_agreement(agreement, consensus_type) == kind


@pytest.mark.parametrize(("families", "family"), [("qq", "q"), ("ql", "mixed"), ("", "")])
def test_families_are_one_or_mixed(families: str, family: str) -> None:
    decision = RememberedDecision(number=1, at=NOW, record=record(1, 0.5, families=families))
    assert decision.kind == DecisionKind("debate", "agreed_after_reading", family)


@pytest.mark.parametrize(
    ("said", "low"),
    [(0.0, 0.0), (0.0999, 0.0), (0.1, 0.1), (0.3, 0.3), (0.7, 0.7), (0.999, 0.9), (1.0, 0.9)],
)
def test_a_bin_begins_at_its_tenth(said: float, low: float) -> None:
    table = ReliabilityTable()
    table.add(KIND, said, is_right=True)
    ((each,),) = (group.bins for group in table.list_groups())
    assert (each.low, each.cases) == (low, 1)


def test_the_table_and_the_plot_of_a_terminal() -> None:
    """D-25: counts before percentages; the bar ends where the share is, the mark stands where it was said to be."""
    table = ReliabilityTable()
    for number in range(22):
        table.add(KIND, 0.92, is_right=number < 6)
    table.add(KIND._replace(protocol="consensus"), None, is_right=True)
    groups = table.list_groups()
    shown = ReliabilityOut(groups=list(groups), bins=list(table.list_bins()))
    lines = list(show_reliability(shown))
    assert lines[0] == "consensus, agreed only after reading (qwen): 1 of 1 right (100%)"
    assert (
        lines[1]
        == "debate, agreed only after reading (qwen): 6 of 22 right (27%); said 0.92 on average, Brier 0.617"
    )
    assert lines[-1].endswith("6 of 22 (27%)")
    assert lines[-1].count("█") == round(6 / 22 * WIDTH)
    assert lines[-1].index("│") == len("0.9 – 1.0  ") + round(0.92 * WIDTH)
    assert list(show_csv(shown))[1:] == ['debate,agreed_after_reading,"qwen",0.9,1.0,22,6,0.92']
    assert next(iter(show_reliability(ReliabilityOut(groups=[], bins=[])))).startswith(
        "Nothing to compare yet"
    )
    assert "│" in draw_bin(ReliabilityBin(low=0.9, high=1.0, cases=1, right=1, said=1.0))
