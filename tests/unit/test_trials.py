"""Ways of deciding, compared: facts in, figures out (G-3)."""

import pytest

from moothall.domain.ids import SeatId
from moothall.domain.roster import Seat
from moothall.domain.topic import Topic
from moothall.features.bench.bare import find_option
from moothall.features.bench.questions import BenchQuestion
from moothall.features.bench.runs import count_votes
from moothall.features.bench.trials import Trial, compare_pairs, recommend, sum_up


def build_way(rights: str, confidence: float | None = None, calls: int = 1) -> dict[str, Trial]:
    """A way by its results: `+` right, `-` wrong, `.` without an answer."""
    return {
        str(at): Trial(
            said="" if mark == "." else "x", right=mark == "+", confidence=confidence, calls=calls
        )
        for at, mark in enumerate(rights)
    }


def test_figures_are_counted_and_silence_is_not_right() -> None:
    """G-3: an answer that is missing counts as not right, and states no confidence."""
    found = sum_up(list(build_way("++-.", 0.75).values()))
    assert (found.asked, found.answered, found.right, found.share) == (4, 3, 2, 0.5)
    assert found.error == 0.25
    assert found.brier is not None
    assert round(found.brier, 6) == round((0.0625 + 0.0625 + 0.5625) / 3, 6)
    assert found.calibration is not None
    assert round(found.calibration, 6) == round(abs(0.75 - 2 / 3), 6)
    assert sum_up([]).share == 0.0


def test_differences_are_of_the_same_questions() -> None:
    """G-3: pairs, not totals: what one of them was not asked counts for neither."""
    found = compare_pairs(
        build_way("++++"), {key: trial for key, trial in build_way("+---").items() if key != "3"}
    )
    assert (found.questions, round(found.mean, 6)) == (3, round(2 / 3, 6))
    assert compare_pairs({}, build_way("+")).questions == 0


def test_one_model_is_enough_unless_something_is_clearly_better() -> None:
    """G-3: a panel has to be better by more than chance; a liar among the models and too few questions are seen."""
    single, liar = build_way("+" * 12 + "-" * 8), build_way("-" * 20)
    same = recommend(
        {"a": single, "liar": liar, "vote": build_way("+" * 13 + "-" * 7, calls=3)}, ["a", "liar"]
    )
    assert (same.way, same.single, same.is_enough, same.is_measured) == ("a", "a", True, True)
    better = recommend(
        {"a": single, "liar": liar, "vote": build_way("+" * 19 + "-", calls=3)}, ["a", "liar"]
    )
    assert (better.way, better.is_enough) == ("vote", False)
    worse = recommend({"a": single, "debate": liar}, ["a"])
    assert (worse.way, worse.is_enough) == ("a", True)
    few = recommend({"a": build_way("++-"), "vote": build_way("+++")}, ["a"])
    assert not few.is_measured


def test_a_vote_is_as_dear_as_all_its_answers_and_not_what_is_known_of_them() -> None:
    """G-3: where the price of one answer is not known, that of the vote is not."""
    seats = [Seat(id=SeatId(name), platform=f"script:{name}") for name in "ab"]
    answers = {
        seat.id: Trial(said="4", right=True, calls=1, tokens=10, cost=cost)
        for seat, cost in zip(seats, (5, None), strict=True)
    }
    vote = count_votes(BenchQuestion(question="2 + 2?", answer="4"), answers, seats, Topic())
    assert (vote.said, vote.right, vote.calls, vote.tokens, vote.cost) == ("4", True, 2, 20, None)


@pytest.mark.parametrize(
    ("said", "option"),
    [
        ("I would say no to that one.", "no"),
        ("Yes.", "yes"),
        ("It is not yes.", ""),
        ("Yes or no, who knows?", ""),
        ("Nobody can tell.", ""),
        ("", ""),
    ],
)
def test_a_bare_answer_is_the_only_option_that_it_names(said: str, option: str) -> None:
    """G-3: nobody can ask it back; what it denies, or names beside another, is no answer."""
    assert find_option(said, ("yes", "no")) == option
