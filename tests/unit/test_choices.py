"""The tally over named choices, as blind positions are counted (D-19)."""

from hypothesis import given
from hypothesis import strategies as st

from moothall.scoring.positions import Tally, tally_votes

VOTES = st.lists(st.tuples(st.sampled_from("ABCD"), st.integers(0, 8).map(float)), max_size=9)


def test_the_heaviest_choice_wins() -> None:
    found = tally_votes([("A", 1.0), ("B", 1.5), ("A", 1.0), ("C", 0.5)])
    assert found == Tally(ranking=(("A", 2.0), ("B", 1.5), ("C", 0.5)))
    assert (found.winner, found.share, found.runner_up) == ("A", 0.5, "B")


def test_a_tie_goes_to_the_choice_that_was_first_cast() -> None:
    assert tally_votes([("B", 1.0), ("A", 1.0), ("A", 1.0), ("B", 1.0)]).winner == "B"


def test_rounding_does_not_break_a_tie() -> None:
    assert tally_votes([("A", 0.3), ("B", 0.1), ("B", 0.2)]).winner == "A"


def test_without_votes_nobody_wins() -> None:
    found = tally_votes([])
    assert (found.winner, found.share, found.runner_up) == (None, None, None)


def test_votes_that_weigh_nothing_have_no_share() -> None:
    found = tally_votes([("A", 0.0)])
    assert (found.winner, found.share, found.runner_up) == ("A", None, None)


@given(VOTES)
def test_no_choice_outweighs_the_winner(votes: list[tuple[str, float]]) -> None:
    found = tally_votes(votes)
    assert [weight for _, weight in found.ranking] == sorted((weight for _, weight in found.ranking), reverse=True)
    assert {choice for choice, _ in found.ranking} == {choice for choice, _ in votes}


@given(VOTES, st.sampled_from("ABCD"))
def test_one_more_vote_for_the_winner_keeps_it_winning(votes: list[tuple[str, float]], choice: str) -> None:
    winner = tally_votes(votes).winner or choice
    assert tally_votes([*votes, (winner, 1.0)]).winner == winner
