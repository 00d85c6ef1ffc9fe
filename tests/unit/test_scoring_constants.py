"""What small votes come to, to the digit: a constant that changes changes one of these figures (D-12, D-14, D-20).

Old sessions are resolved by the constants that they were opened with, so none of those may ever move; the figures are written out
and not computed from the constants.
"""

import math

import pytest

from moothall.domain.ids import SeatId
from moothall.domain.roster import Seat
from moothall.domain.topic import Topic
from moothall.scoring.independence import (
    compute_correlation,
    compute_independence,
    count_effective_votes,
    presume_correlation,
)
from moothall.scoring.positions import VotePosition
from moothall.scoring.posterior import (
    OPEN_OPTIONS,
    BlindAnswer,
    compute_posterior,
    compute_record_weight,
    score_choices,
    weigh_blind_answers,
)
from moothall.scoring.resolution import (
    ConsensusType,
    SeatVote,
    resolve_consensus,
    resolve_open_vote,
)
from moothall.scoring.trust import (
    TrackRecord,
    compute_accuracy,
    compute_category_accuracy,
    compute_category_trust,
    compute_trust,
    presume_accuracy,
)


def cast(*positions: VotePosition, family: str = "", **more: float | bool) -> list[SeatVote]:
    given = {"confidence": 0.8, "stated": False, **more}
    return [
        SeatVote(seat=f"s{number}", position=position, family=family, **given)  # type: ignore[arg-type]  # by their names
        for number, position in enumerate(positions)
    ]


def alone(_one: int, _other: int) -> float:
    return 0.0


YES: VotePosition = "support"
NO: VotePosition = "oppose"
NONE: VotePosition = "abstain"


class TestVotes:
    """What is decided."""

    @pytest.mark.parametrize(
        ("votes", "support"),
        [
            (cast(YES, YES, NO), 0.666667),
            (cast(YES, "conditional_support"), 1.0),
            (cast(YES, NO), 0.5),
            (
                [*cast(YES, YES, family="gpt"), SeatVote(seat="no", position=NO, family="claude")],
                0.6,
            ),
            ([*cast(YES, accuracy=0.8), SeatVote(seat="no", position=NO)], 0.691304),
        ],
    )
    def test_small_votes_keep_their_support(self, votes: list[SeatVote], support: float) -> None:
        assert resolve_open_vote(votes).support == pytest.approx(support, abs=1e-6)

    @pytest.mark.parametrize(("weight", "kind"), [(0.76, "majority"), (0.74, "contested")])
    def test_a_majority_is_clear_from_60_of_100(self, weight: float, kind: ConsensusType) -> None:
        votes = [*cast(YES, YES, weight=weight), SeatVote(seat="no", position=NO)]
        found = resolve_open_vote(votes, correlations=lambda _one, _other: 0.0)
        assert found.consensus_type == kind

    @pytest.mark.parametrize(("confidence", "kind"), [(0.7, "unanimous"), (0.699, "no_consensus")])
    def test_a_consensus_needs_70_of_100_of_every_vote(
        self, confidence: float, kind: ConsensusType
    ) -> None:
        assert (
            resolve_consensus(cast(YES, YES, confidence=confidence, stated=True)).consensus_type
            == kind
        )

    @pytest.mark.parametrize(("abstain", "carried"), [(3, False), (2, True)])
    def test_those_who_support_must_be_more_than_the_silent(
        self, abstain: int, carried: bool
    ) -> None:
        assert resolve_open_vote(cast(YES, YES, YES, *[NONE] * abstain)).carried is carried


class TestEvidence:
    """How likely it is right."""

    def test_one_voice_without_a_record_is_right_in_65_of_100(self) -> None:
        assert (
            resolve_open_vote(cast(YES)).confidence
            == resolve_open_vote(cast(YES, YES)).confidence
            == pytest.approx(0.65)
        )

    @pytest.mark.parametrize(
        ("answers", "options", "confidence"),
        [
            ("AAA", 4, 0.929699),
            ("AAB", 4, 0.698122),
            ("AB", 2, 0.5),
            ("AAA", None, 0.99),
            ("AAB", None, 0.802733),
        ],
    )
    def test_small_tables_keep_their_confidence(
        self, answers: str, options: int | None, confidence: float
    ) -> None:
        seats = [Seat(id=SeatId(f"s{n}"), platform="human") for n in range(len(answers))]
        listed = {seat.id: (choice, None) for seat, choice in zip(seats, answers, strict=True)}
        subject = Topic(options=tuple(f"o{n}" for n in range(options or 0)))
        found = weigh_blind_answers(seats, listed, subject)
        assert found is not None
        assert found.find_confidence("A") == pytest.approx(confidence, abs=1e-6)

    def test_nothing_above_99_of_100_is_claimed(self) -> None:
        assert compute_record_weight(1.0) == pytest.approx(math.log(99))
        assert compute_posterior({"a": 50.0}, 2)["a"] == 0.99
        stated = score_choices([BlindAnswer(choice="a", stated=1.0, cases=1e12)], 2, alone)
        factor = math.log(19) / math.log(0.85 / 0.15)
        assert stated["a"] == pytest.approx(math.log(0.65 / 0.35) * factor)

    @pytest.mark.parametrize("cases", [10, 30])
    def test_ten_reviewed_cases_make_a_statement_count_half(self, cases: float) -> None:
        found = score_choices([BlindAnswer(choice="a", stated=0.75, cases=cases)], 2, alone)["a"]
        share = cases / (cases + 10)
        factor = 1 - share + share * math.log(3) / math.log(0.85 / 0.15)
        assert found == pytest.approx(math.log(0.65 / 0.35) * factor)

    def test_an_open_answer_is_one_of_twenty(self) -> None:
        assert compute_record_weight(0.5, OPEN_OPTIONS) == pytest.approx(math.log(19))
        assert compute_posterior({"42": 0.0}, OPEN_OPTIONS) == {"42": pytest.approx(0.05)}

    def test_a_motion_is_one_of_two(self) -> None:
        assert compute_record_weight(0.75) == pytest.approx(math.log(3))
        assert compute_record_weight(0.5) == compute_record_weight(0.3) == 0.0


class TestRecords:
    """What a track record is worth (D-14)."""

    def test_accuracy_starts_at_65_of_100_as_if_from_ten_cases(self) -> None:
        assert compute_accuracy(TrackRecord()) == 0.65
        assert compute_accuracy(TrackRecord(sides=10, right=10)) == pytest.approx(16.5 / 20)
        assert compute_accuracy(TrackRecord(sides=10, right=0)) == pytest.approx(6.5 / 20)

    def test_a_record_elsewhere_counts_as_at_most_three_cases(self) -> None:
        elsewhere = TrackRecord(cases=100, sides=100, right=100)
        assert compute_category_accuracy(TrackRecord(), elsewhere) == pytest.approx(9.5 / 13)
        assert compute_category_accuracy(
            TrackRecord(), TrackRecord(sides=2, right=2)
        ) == pytest.approx(7.5 / 11)
        # Three cases of score 0 beside ten of 0.25, and that beside nothing in the category.
        assert compute_category_trust(TrackRecord(), elsewhere) == pytest.approx(
            1 - math.sqrt(2.5 / 13)
        )

    def test_trust_starts_at_one_half_as_if_from_ten_cases(self) -> None:
        assert compute_trust(TrackRecord()) == 0.5
        assert compute_trust(TrackRecord(cases=10)) == pytest.approx(1 - math.sqrt(0.125))

    @pytest.mark.parametrize(("trust", "accuracy"), [(0.0, 0.3), (0.5, 0.65), (1.0, 1.0)])
    def test_a_trust_set_by_hand_stands_for_an_accuracy(
        self, trust: float, accuracy: float
    ) -> None:
        assert presume_accuracy(trust) == pytest.approx(accuracy)


class TestIndependence:
    """How far seats are presumed to err together (D-20)."""

    def test_one_family_errs_together_by_a_half_and_others_by_a_quarter(self) -> None:
        assert presume_correlation("gpt", "gpt") == 0.5
        assert presume_correlation("gpt", "claude") == 0.25

    @pytest.mark.parametrize(("family", "effective"), [("gpt", 1.75), ("", 2.8)])
    def test_seven_seats_are_worth_few(self, family: str, effective: float) -> None:
        seven = cast(*[YES] * 7, family=family)
        assert resolve_open_vote(seven).effective == pytest.approx(effective)

    def test_thirty_shared_cases_weigh_as_much_as_the_presumption(self) -> None:
        assert compute_correlation(0.5, 30, 0.1) == pytest.approx(0.3)
        assert compute_correlation(0.5, 10, 0.1) == pytest.approx(0.4)

    def test_a_vote_is_worth_less_beside_its_family(self) -> None:
        def pair(i: int, j: int) -> float:
            one, other = ("gpt" if n < 2 else "claude" for n in (i, j))
            return presume_correlation(one, other)

        # R⁻¹·1 of two that err together by a half and a third that errs with them by a quarter.
        assert compute_independence(3, pair) == pytest.approx(
            [0.545455, 0.545455, 0.727273], abs=1e-6
        )
        assert count_effective_votes([1.0] * 3, pair) == pytest.approx(1.8)
