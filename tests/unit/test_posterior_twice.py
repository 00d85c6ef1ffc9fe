"""Q-11: a second, independent implementation of how likely an answer is right, from the text of the rule alone, to 1e-12.

It uses none of the product's arithmetic: the number of voices is found by trying every subset of seats as the support of the best
shares, where the product follows an active set.
"""

import math
import random
from itertools import combinations
from typing import Final

import pytest
from tests.unit.test_confidence_is_monotone import Answers, Table, draw_table

from moothall.domain.ids import SeatId
from moothall.domain.roster import Seat
from moothall.domain.topic import Topic, normalize_label
from moothall.scoring.independence import AGREED_OTHER_FAMILY, build_seat_correlations
from moothall.scoring.posterior import weigh_blind_answers
from moothall.scoring.trust import find_accuracy

TABLES: Final = 3_000
SEED: Final = 23


def solve(matrix: list[list[float]], right: list[float]) -> list[float] | None:
    """Return the solution of a small system by elimination; None where it has none."""
    size = len(right)
    rows = [[*row, value] for row, value in zip(matrix, right, strict=True)]
    for column in range(size):
        pivot = max(range(column, size), key=lambda at: abs(rows[at][column]))
        if abs(rows[pivot][column]) < 1e-14:
            return None
        rows[column], rows[pivot] = rows[pivot], rows[column]
        for at in range(size):
            if at != column:
                factor = rows[at][column] / rows[column][column]
                rows[at] = [a - factor * b for a, b in zip(rows[at], rows[column], strict=True)]
    return [rows[at][size] / rows[at][at] for at in range(size)]


def count_voices(matrix: list[list[float]]) -> float:
    """Return 1 / min xᵀRx over shares x ≥ 0 that sum to one: the best over every support."""
    best = 0.0
    for size in range(1, len(matrix) + 1):
        for chosen in combinations(range(len(matrix)), size):
            inner = [[matrix[i][j] for j in chosen] for i in chosen]
            shares = solve(inner, [1.0] * size)
            if shares is not None and min(shares) > -1e-12:
                best = max(best, sum(shares))
    return best


def is_definite(matrix: list[list[float]], least: float) -> bool:
    """Whether all eigenvalues are above `least`, by the pivots of an elimination without exchanges."""
    rows = [
        [value - least * (i == j) for j, value in enumerate(row)] for i, row in enumerate(matrix)
    ]
    for column in range(len(rows)):
        if rows[column][column] < 1e-9:
            return False
        for at in range(column + 1, len(rows)):
            factor = rows[at][column] / rows[column][column]
            rows[at] = [a - factor * b for a, b in zip(rows[at], rows[column], strict=True)]
    return True


def scale(matrix: list[list[float]]) -> list[list[float]]:
    """Return as many tenths of the correlations as fit together."""
    for tenths in range(10, 0, -1):
        scaled = [
            [value if i == j else value * tenths / 10 for j, value in enumerate(row)]
            for i, row in enumerate(matrix)
        ]
        if is_definite(scaled, 0.05):
            return scaled
    return [[float(i == j) for j in range(len(matrix))] for i in range(len(matrix))]


def log_odds(share: float, options: int) -> float:
    share = min(max(share, 0.0), 0.99)
    return max(0.0, math.log(share * (options - 1) / (1 - share))) if share > 0 else 0.0


def weigh(seat: Seat, stated: float | None, options: int | None) -> float:
    """Return what one answer weighs, by the text at the head of `posterior.py`."""
    count = options or 20
    weight = log_odds(find_accuracy(seat), count)
    if options is None:
        skilled = min(1.0, weight / log_odds(0.25, 20))
        weight = max(weight, log_odds(0.65, 20) * skilled)
    if stated is None:
        return weight
    believed = seat.cases / (seat.cases + 10)
    said = log_odds(min(stated, 0.95), count) / log_odds(0.85, count)
    return weight * (1 - believed + believed * said)


def pool(table: Table, seats: list[Seat], weights: list[float]) -> float:
    """Return the Choquet integral of the weights of those who say the same."""
    correlate = build_seat_correlations(
        table.subject.error_correlations,
        (*table.seats, table.more),
        other_family=AGREED_OTHER_FAMILY,
    )
    if len(seats) == 1:
        return weights[0]
    minds: dict[SeatId, tuple[Seat, float]] = {}
    for seat, weight in sorted(zip(seats, weights, strict=True), key=lambda each: -each[1]):
        if not any(correlate(known, seat.id) >= 1.0 for known in minds):
            minds[seat.id] = (seat, weight)
    order = list(minds.values())
    total = 0.0
    for at, (_, weight) in enumerate(order):
        below = order[at + 1][1] if at + 1 < len(order) else 0.0
        reaching = [seat.id for seat, _ in order[: at + 1]]
        matrix = [
            [
                1.0 if one == other else min(max(correlate(one, other), 0.0), 1.0)
                for other in reaching
            ]
            for one in reaching
        ]
        if weight > below:
            total += (weight - below) * count_voices(scale(matrix))
    return total


def chance_again(table: Table, answers: Answers, choice: str, options: int | None) -> float:
    everyone = (*table.seats, table.more)
    by_label: dict[str, tuple[list[Seat], list[float]]] = {}
    for seat in everyone:
        if seat.id not in answers:
            continue
        label, stated = answers[seat.id]
        seats, weights = by_label.setdefault(normalize_label(label), ([], []))
        seats.append(seat)
        weights.append(weigh(seat, stated, options))
    scores = {label: pool(table, *each) for label, each in by_label.items()}
    many = options if options is not None else 20 + 40 * (len(scores) - 1)
    others = max(many - len(scores), 0)
    total = sum(math.exp(each) for each in scores.values()) + others
    return min(math.exp(scores[choice]) / total, 0.99)


def count_options(subject: Topic, labels: set[str]) -> int | None:
    if subject.options:
        return max(2, len(subject.options))
    return 2 if labels <= {"yes", "no"} else None


def test_two_implementations_of_the_posterior_agree() -> None:
    """Q-11: records, families, shared records, bias weights and statements drawn freely."""
    rng = random.Random(SEED)
    furthest, compared = 0.0, 0
    for _ in range(TABLES):
        table = draw_table(rng)
        labels = {normalize_label(label) for label, _ in table.answers.values()}
        evidence = weigh_blind_answers((*table.seats, table.more), table.answers, table.subject)
        assert evidence is not None
        options = count_options(table.subject, labels)
        for label in labels:
            # A yes beside a third answer has a rule of its own, which the next test is about.
            if options is None and label in {"yes", "no"}:
                continue
            again = chance_again(table, table.answers, label, options)
            chance = evidence.find_confidence(label)
            assert chance is not None
            furthest = max(furthest, abs(chance - again))
            compared += 1
    assert compared > TABLES
    assert furthest < 1e-12


def test_a_yes_beside_a_third_answer_is_no_likelier_than_among_two() -> None:
    """Q-11"""
    rng = random.Random(SEED + 1)
    compared = 0
    while compared < 300:
        table = draw_table(rng)
        labels = {normalize_label(label) for label, _ in table.answers.values()}
        if count_options(table.subject, labels) is not None or "yes" not in labels:
            continue
        evidence = weigh_blind_answers((*table.seats, table.more), table.answers, table.subject)
        assert evidence is not None
        chance = evidence.find_confidence("yes")
        open_chance = chance_again(table, table.answers, "yes", None)
        among_two = chance_again(table, table.answers, "yes", 2)
        assert chance == pytest.approx(min(open_chance, among_two), abs=1e-12)
        compared += 1
