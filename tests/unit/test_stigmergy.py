"""The arithmetic of a swarm at its boundaries (S-9, S-14, S-15, S-17, S-18)."""

import math
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from moothall.scoring.stigmergy import (
    ConvergenceBounds,
    DiversityInputs,
    add_deposit,
    apply_stop_signal,
    compute_coverage,
    compute_diversity,
    compute_effective_concentration,
    compute_entropy,
    compute_inhibition,
    compute_orthogonality,
    compute_response,
    compute_share,
    evaporate,
    find_quorum_ideas,
    is_stable,
    is_too_fast,
    judge_convergence,
)

SHARES = st.floats(0, 1)


@pytest.mark.parametrize(
    ("stimulus", "threshold", "expected"),
    [
        (0.0, 0.5, 0.0),
        (0.0, 0.0, 0.0),
        (0.5, 0.5, 0.5),
        (0.6, 0.3, 0.8),
        (0.3, 0.6, 0.2),
        (1.0, 0.0, 1.0),
        (-1.0, 0.5, 0.0),
        (math.nan, 0.5, 0.0),
        (1e-200, 1e-200, 0.5),
        (1e200, 1e200, 0.5),
        (1e200, 0.5, 1.0),
    ],
)
def test_the_response_to_a_stimulus(stimulus: float, threshold: float, expected: float) -> None:
    """S-9: P(S, θ) = S² / (S² + θ²), 0 where S = 0."""
    assert compute_response(stimulus, threshold) == pytest.approx(expected)


@given(st.floats(1e-6, 1), st.floats(0.3, 0.6))
def test_the_response_is_the_formula_of_the_source(stimulus: float, threshold: float) -> None:
    assert compute_response(stimulus, threshold) == pytest.approx(
        stimulus**2 / (stimulus**2 + threshold**2), abs=1e-12
    )


def test_a_deposit_adds_and_stops_at_one() -> None:
    """S-5."""
    assert add_deposit(0.0, 0.1) == 0.1
    assert add_deposit(0.95, 0.3) == 1.0
    assert add_deposit(1.0, 0.3) == 1.0
    assert add_deposit(0.5, -0.3) == 0.5


def test_evaporation_takes_eight_percent_and_nothing_below_a_tenth() -> None:
    """S-14; what lies below the floor already is not lifted."""
    assert evaporate(1.0, 0.08, 0.1) == pytest.approx(0.92)
    assert evaporate(0.105, 0.08, 0.1) == 0.1
    assert evaporate(0.1, 0.08, 0.1) == 0.1
    assert evaporate(0.04, 0.08, 0.1) == 0.04
    assert evaporate(0.0, 0.08, 0.1) == 0.0
    assert evaporate(0.8, 0.0, 0.1) == 0.8


@given(SHARES, st.integers(1, 200))
def test_evaporation_never_raises_a_concentration(value: float, rounds: int) -> None:
    after = value
    for _ in range(rounds):
        assert evaporate(after, 0.08, 0.1) <= after
        after = evaporate(after, 0.08, 0.1)
    assert after >= min(value, 0.1)


def test_a_stop_signal_takes_thirty_percent_and_inhibits_up_to_a_half() -> None:
    """S-15."""
    assert apply_stop_signal(0.5, 0.3) == pytest.approx(0.35)
    assert [compute_inhibition(count, 0.3, 0.5) for count in (-1, 0, 1, 2, 9)] == [
        0.0,
        0.0,
        0.3,
        0.5,
        0.5,
    ]
    assert compute_effective_concentration(0.8, 0.5) == pytest.approx(0.4)
    assert compute_effective_concentration(0.8, 0.0) == 0.8


def test_coverage_and_orthogonality_at_their_edges() -> None:
    """S-18."""
    assert [compute_coverage(count) for count in (0, 3, 6, 60)] == [0.0, 0.5, 1.0, 1.0]
    assert compute_orthogonality(0, 0) == 0.0
    assert compute_orthogonality(2, 8) == 0.25
    assert compute_orthogonality(8, 8) == 1.0


def test_the_entropy_of_concentrations() -> None:
    """S-18: normalised; nothing, and one direction alone, have none."""
    assert compute_entropy([]) == 0.0
    assert compute_entropy([0.0, 0.0]) == 0.0
    assert compute_entropy([0.7]) == 0.0
    assert compute_entropy([1.0, 1.0, 5e-324]) == pytest.approx(1.0 / math.log2(3))
    assert compute_entropy([0.3, 0.3]) == pytest.approx(1.0)
    assert compute_entropy([0.25] * 8) == pytest.approx(1.0)
    assert compute_entropy([0.9, 0.1, 0.0]) == pytest.approx(0.4689955935892812 / math.log2(3))


@given(st.lists(SHARES, max_size=20), st.integers(0, 20), st.integers(0, 50), st.integers(0, 50))
def test_diversity_is_a_share(
    concentrations: list[float], perspectives: int, one: int, other: int
) -> None:
    found = compute_diversity(
        DiversityInputs(
            perspectives=perspectives,
            distinct=min(one, other),
            stated=max(one, other),
            concentrations=tuple(concentrations),
        )
    )
    assert 0.0 <= found.diversity <= 1.0
    assert found.diversity == pytest.approx(
        (found.coverage + found.orthogonality + found.entropy) / 3
    )


def test_stable_is_the_same_ideas_in_the_last_rounds() -> None:
    """S-17."""
    assert is_stable([{1, 2}, {1, 2}], 2)
    assert not is_stable([{1, 2}], 2)
    assert not is_stable([{1}, {1, 2}], 2)
    assert is_stable([{3}, {1}, {1}], 2)
    assert not is_stable([{3}, {1}, {1}], 3)
    assert not is_stable([set(), set()], 2), "nothing held is no agreement"
    assert not is_stable([{1}], 0)


def test_a_quorum_is_reached_at_its_threshold() -> None:
    """S-17: two of three are 66.7 % and no 67 %; 67 of 100 are."""
    assert find_quorum_ideas({1: ["a", "b"]}, 3, 0.67) == ()
    assert find_quorum_ideas({1: list(range(67))}, 100, 0.67) == (1,)
    assert find_quorum_ideas({1: list(range(66))}, 100, 0.67) == ()
    assert find_quorum_ideas({1: ["a"], 2: ["a", "b"]}, 2, 0.5) == (2, 1)
    assert find_quorum_ideas({1: ["a"]}, 0, 0.67) == ()
    assert compute_share(1, 0) == 0.0


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({}, ""),
        ({"round_number": 2}, "min_rounds"),
        ({"history": [{1}, {2}]}, "not_stable"),
        ({"has_quorum": False}, "no_quorum"),
        ({"diversity": 0.3999}, "diversity"),
        ({"diversity": 0.4}, ""),
        ({"consensus_rate": 0.91}, "consensus_too_fast"),
        ({"consensus_rate": 0.9}, ""),
        ({"consensus_rate": 1.0, "round_number": 5}, ""),
        ({"consensus_rate": 1.0, "round_number": 4}, "consensus_too_fast"),
    ],
)
def test_converged_takes_every_condition(changes: dict[str, object], reason: str) -> None:
    """S-17."""
    whole: dict[str, object] = {
        "round_number": 3,
        "history": [{1}, {1}],
        "has_quorum": True,
        "consensus_rate": 0.8,
        "diversity": 0.5,
        "bounds": ConvergenceBounds(),
    }
    inputs = DiversityInputs(perspectives=6, distinct=1, stated=2, concentrations=())
    values = {**whole, **changes}
    spread = replace(compute_diversity(inputs), diversity=values["diversity"])  # type: ignore[arg-type]  # a number
    found = judge_convergence(**{**values, "diversity": spread})  # type: ignore[arg-type]  # the fields above
    assert (found.converged, found.reason) == (not reason, reason)


def test_too_fast_is_over_nine_tenths_before_the_fifth_round() -> None:
    """S-17."""
    assert is_too_fast(0.91, 4, ConvergenceBounds())
    assert not is_too_fast(0.91, 5, ConvergenceBounds())
    assert not is_too_fast(0.9, 1, ConvergenceBounds())
