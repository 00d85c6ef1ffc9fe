"""One more blind supporter never makes an answer less likely, one more opponent never more (Q-11): 20,000 random tables."""

import random
from collections.abc import Iterator
from typing import Final, NamedTuple

import pytest

from moothall.domain.ids import SeatId
from moothall.domain.roster import Seat
from moothall.domain.topic import ErrorCorrelation, Topic
from moothall.scoring.posterior import weigh_blind_answers

TABLES: Final = 20_000
SEED: Final = 11
TOLERANCE: Final = 1e-12
LABELS: Final = ("A", "B", "C", "yes", "no")
PLATFORMS: Final = (
    "openai:gpt-5",
    "anthropic:claude-5",
    "google:gemini-3",
    "human",
    "python:call_my_llm",
    "command:./ask",
)

Answers = dict[SeatId, tuple[str, float | None]]


class Table(NamedTuple):
    """Seats and their blind answers, and one more seat that may join them."""

    seats: tuple[Seat, ...]
    answers: Answers
    more: Seat
    joining: str
    stated: float | None
    subject: Topic


def draw_seat(rng: random.Random, name: str) -> Seat:
    return Seat(
        id=SeatId(name),
        platform=rng.choice(PLATFORMS),
        weight=rng.choice((0.1, 1.0, 1.0, rng.uniform(0.1, 5))),
        accuracy=rng.choice((None, None, rng.random(), 0.5, 0.99)),
        cases=rng.choice((0.0, 0.0, 3.0, 40.0, 1e4)),
        family=rng.choice(("", "", "", "gpt", "claude")),
    )


def draw_correlations(rng: random.Random, seats: tuple[Seat, ...]) -> tuple[ErrorCorrelation, ...]:
    if rng.random() < 0.7:
        return ()
    pairs = [(one, other) for at, one in enumerate(seats) for other in seats[:at]]
    chosen = rng.sample(pairs, rng.randint(0, len(pairs)))
    return tuple(
        ErrorCorrelation(one=one.id, other=other.id, correlation=rng.uniform(-0.3, 1))
        for one, other in chosen
    )


def draw_table(rng: random.Random) -> Table:
    count = rng.randint(2, 7)
    everyone = tuple(draw_seat(rng, f"s{number}") for number in range(count + 1))
    seats, more = everyone[:-1], everyone[-1]
    options = rng.choice(((), ("A", "B"), ("A", "B", "C", "D"), ("yes", "no")))
    labels = LABELS[: rng.randint(1, len(LABELS))]
    if "yes" in options:
        labels = options

    def state() -> float | None:
        return rng.choice((None, rng.random(), 0.95))

    answers = {seat.id: (rng.choice(labels), state()) for seat in seats}
    subject = Topic(options=options, error_correlations=draw_correlations(rng, everyone))
    joining = rng.choice((*[label for label, _ in answers.values()], "another"))
    return Table(seats, answers, more, joining, state(), subject)


def list_chances(table: Table, joining: str | None) -> dict[str, float]:
    """Return what each answer of the table is given, with one more seat that says this."""
    # One more of the roster answers: who sits there does not change in a session.
    seats, answers = (*table.seats, table.more), dict(table.answers)
    if joining is not None:
        answers[table.more.id] = (joining, table.stated)
    evidence = weigh_blind_answers(seats, answers, table.subject)
    assert evidence is not None
    chances = {}
    for label, _ in table.answers.values():
        chance = evidence.find_confidence(label)
        assert chance is not None
        chances[label] = chance
    return chances


def list_violations(table: Table) -> Iterator[tuple[str, str, float]]:
    """Return who joined, whose chance moved the wrong way, and how far: a supporter of one answer is an opponent of the others."""
    before, after = list_chances(table, None), list_chances(table, table.joining)
    for label, chance in before.items():
        moved = after[label] - chance
        if label == table.joining and moved < -TOLERANCE:
            yield "supporter", label, -moved
        if label != table.joining and moved > TOLERANCE:
            yield "opponent", label, moved


def test_more_support_never_lowers_a_chance_and_more_opposition_never_raises_it() -> None:
    """Q-11: whatever the weights, records, families, shared records and statements."""
    rng = random.Random(SEED)
    found = []
    for number in range(TABLES):
        for violation in list_violations(draw_table(rng)):
            found.append((number, *violation))
    assert not found, f"{len(found)} violations, the first: {found[:3]}"


@pytest.mark.parametrize("weight", [0.2, 1.0, 2.0, 5.0])
def test_a_heavier_supporter_does_not_sink_what_three_agree_on(weight: float) -> None:
    """Q-11: three that say yes were .775; a fourth of weight 2 made it .708, one of weight 5 .638."""
    seats = [Seat(id=SeatId(name), platform="human") for name in "abc"]
    answers: Answers = {seat.id: ("yes", None) for seat in seats}
    before = weigh_blind_answers(seats, answers, Topic())
    more = Seat(id=SeatId("d"), platform="human", weight=weight)
    after = weigh_blind_answers([*seats, more], {**answers, more.id: ("yes", None)}, Topic())
    assert before is not None
    assert after is not None
    assert after.compute_posterior("yes") > before.compute_posterior("yes")


def test_a_weight_says_who_decides_and_not_who_is_right() -> None:
    """Q-11"""
    chances = []
    for weight in (1.0, 9.0):
        seats = [
            Seat(id=SeatId("a"), platform="human", weight=weight),
            Seat(id=SeatId("b"), platform="human"),
        ]
        answers: Answers = {seats[0].id: ("A", None), seats[1].id: ("B", None)}
        evidence = weigh_blind_answers(seats, answers, Topic(options=("A", "B")))
        assert evidence is not None
        chances.append(evidence.find_confidence("A"))
    assert chances == [pytest.approx(0.5), pytest.approx(0.5)]
