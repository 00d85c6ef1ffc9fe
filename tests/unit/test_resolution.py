"""Every consensusType at its boundaries (D-11), and how the votes weigh (D-12)."""

import math
from dataclasses import replace
from itertools import pairwise, permutations

import numpy
import pytest
from hypothesis import given
from hypothesis import strategies as st

from moothall.scoring.positions import VotePosition
from moothall.scoring.resolution import (
    Resolution,
    SeatVote,
    apply_confidence,
    pool_one_voice,
    resolve_advisory,
    resolve_consensus,
    resolve_open_vote,
    weigh_votes,
)

POSITIONS: list[VotePosition] = ["support", "conditional_support", "oppose", "abstain"]
YES: VotePosition = "support"
NO: VotePosition = "oppose"
SIDES: list[VotePosition] = ["support", "conditional_support", "oppose"]


def voice(
    seat: str,
    position: VotePosition | None,
    confidence: float | None = 0.8,
    weight: float = 1.0,
    accuracy: float = 0.65,
    family: str = "",
) -> SeatVote:
    return SeatVote(
        seat=seat,
        position=position,
        confidence=0.8 if confidence is None else confidence,
        weight=weight,
        accuracy=accuracy,
        family=family,
        stated=confidence is not None,
    )


def vote(*positions: VotePosition | None) -> list[SeatVote]:
    """Seats of different families without a record, who do not say how sure they are; alike in all but their positions."""
    return [voice(f"s{number}", position, None) for number, position in enumerate(positions)]


def sure(found: Resolution) -> float:
    assert found.confidence is not None
    return found.confidence


def drawn(positions: list[VotePosition], largest: int = 8) -> st.SearchStrategy[list[SeatVote]]:
    one = st.builds(
        voice,
        st.just(""),
        st.sampled_from(positions),
        confidence=st.one_of(st.none(), st.floats(0.05, 1)),
        weight=st.floats(0.2, 3),
        accuracy=st.floats(0.3, 0.95),
        family=st.sampled_from(("gpt", "claude", "qwen")),
    )
    return st.lists(one, min_size=1, max_size=largest).map(
        lambda found: [replace(v, seat=f"s{number}") for number, v in enumerate(found)]
    )


class TestConsensusTypes:
    """D-11: each definition, and the case just beyond it."""

    def test_everyone_supports(self) -> None:
        assert resolve_open_vote(vote("support", "support")).consensus_type == "unanimous"

    def test_one_seat_alone(self) -> None:
        assert resolve_open_vote(vote("support")).consensus_type == "unanimous"

    @pytest.mark.parametrize("other", ["conditional_support", "abstain", None])
    def test_nobody_opposes(self, other: VotePosition | None) -> None:
        found = resolve_open_vote(vote("support", "support", other))
        assert (found.consensus_type, found.support) == ("convergent", 1.0)

    def test_conditions_alone_are_support(self) -> None:
        """D-12: a condition is an obligation, never half an opposition."""
        found = resolve_open_vote(
            vote("conditional_support", "conditional_support", "conditional_support")
        )
        assert (found.consensus_type, found.support) == ("convergent", 1.0)
        assert (
            found.confidence == resolve_open_vote(vote("support", "support", "support")).confidence
        )

    @pytest.mark.parametrize(
        ("supports", "opposes", "kind"),
        [
            (3, 2, "majority"),
            (4, 3, "contested"),
            (2, 2, "no_consensus"),
            (2, 3, "no_consensus"),
            (1, 1, "no_consensus"),
        ],
    )
    def test_the_support_divides_majority_contested_and_nothing(
        self, supports: int, opposes: int, kind: str
    ) -> None:
        assert resolve_open_vote(vote(*[YES] * supports, *[NO] * opposes)).consensus_type == kind

    def test_exactly_at_the_clear_majority_it_is_one(self) -> None:
        found = resolve_open_vote(vote("support", "support", "support", "oppose", "oppose"))
        assert found.support == pytest.approx(0.6)
        assert found.consensus_type == "majority"

    def test_weights_that_outvote_the_heads_are_contested(self) -> None:
        assert (
            resolve_open_vote(
                [voice("a", "support", weight=9), voice("b", "oppose")]
            ).consensus_type
            == "contested"
        )
        voices = [
            voice("a", "support", weight=9),
            voice("b", "support", weight=0.1),
            voice("c", "oppose"),
        ]
        assert resolve_open_vote(voices).consensus_type == "majority"

    def test_rounding_does_not_turn_an_even_split(self) -> None:
        voices = [
            voice(f"s{n}", "support" if n % 2 else "oppose", weight=0.1 * (n // 2 + 1))
            for n in range(8)
        ]
        assert resolve_open_vote(voices).consensus_type == "no_consensus"

    def test_more_must_support_it_than_are_silent(self) -> None:
        assert resolve_open_vote(vote("support", None)).consensus_type == "no_consensus"
        assert (
            resolve_open_vote([voice("a", "support", weight=1.01), voice("b", None)]).consensus_type
            == "convergent"
        )
        assert (
            resolve_open_vote(vote("support", "abstain", "abstain")).consensus_type
            == "no_consensus"
        )
        assert (
            resolve_open_vote(vote("support", "support", "oppose", "abstain")).consensus_type
            == "majority"
        )

    def test_an_opponent_brings_no_quorum_about(self) -> None:
        """D-12: with one opponent more, those who took a side are more than half; it is still not carried."""
        few = vote("support", "support", None, None)
        assert not resolve_open_vote(few).carried
        assert not resolve_open_vote([*few, voice("x", "oppose")]).carried

    def test_nobody_took_a_side(self) -> None:
        found = resolve_open_vote(vote("abstain", None))
        assert (found.consensus_type, found.support, found.confidence, found.voters) == (
            "no_consensus",
            None,
            None,
            0,
        )

    @pytest.mark.parametrize("accuracy", [0.0, 0.3, 0.5])
    def test_votes_of_those_who_know_nothing_carry_nothing(self, accuracy: float) -> None:
        found = resolve_open_vote([voice(seat, "support", accuracy=accuracy) for seat in "abc"])
        assert (found.consensus_type, found.support) == ("no_consensus", 0.5)


class TestWords:
    """D-12: what a seat says of its own sureness decides nothing."""

    def test_one_that_overclaims_does_not_beat_two_that_are_modest(self) -> None:
        assert not resolve_open_vote(
            [voice("a", "support", 1.0), voice("b", "oppose", 0.59), voice("c", "oppose", 0.59)]
        ).carried

    @pytest.mark.parametrize("stated", [0.0, 0.3, 0.5])
    def test_opposition_stated_at_one_half_or_below_is_opposition(self, stated: float) -> None:
        found = resolve_open_vote(
            [voice("a", "support", 1.0), voice("b", "oppose", stated), voice("c", "oppose", stated)]
        )
        assert not found.carried
        assert found.support == pytest.approx(1 / 3)

    @given(drawn(POSITIONS), st.lists(st.none() | st.floats(0, 1), min_size=8, max_size=8))
    def test_whatever_is_stated_the_outcome_is_the_same(
        self, voices: list[SeatVote], stated: list[float | None]
    ) -> None:
        other = [
            replace(v, confidence=v.confidence if c is None else c, stated=c is not None)
            for v, c in zip(voices, stated, strict=False)
        ]
        assert resolve_open_vote(other) == resolve_open_vote(voices)

    def test_records_and_families_weigh(self) -> None:
        """Five at .95 of one family and 51 % right are not five of five families that are 90 % right."""
        clones = [voice(f"c{n}", "support", 0.95, accuracy=0.51, family="gpt") for n in range(5)]
        proven = [voice(f"p{n}", "oppose", 0.6, accuracy=0.9) for n in range(2)]
        assert not resolve_open_vote([*clones, *proven]).carried


class TestConsensusProtocol:
    """D-9: all must agree at or above the threshold."""

    def test_it_is_reached_at_the_threshold(self) -> None:
        assert (
            resolve_consensus(
                [voice("a", "support", 0.7), voice("b", "support", 0.7)]
            ).consensus_type
            == "unanimous"
        )

    def test_it_is_missed_just_below_the_threshold(self) -> None:
        found = resolve_consensus([voice("a", "support", 0.9), voice("b", "support", 0.699)])
        assert (found.consensus_type, found.carried) == ("no_consensus", False)

    def test_conditions_converge(self) -> None:
        voices = [voice("a", "conditional_support", 0.7), voice("b", "conditional_support", 0.9)]
        assert resolve_consensus(voices).consensus_type == "convergent"

    def test_one_that_opposes_prevents_it(self) -> None:
        assert not resolve_consensus(
            [*vote("support", "support", "support"), voice("x", "oppose", 0.01)]
        ).carried

    @pytest.mark.parametrize("other", ["abstain", None])
    def test_all_means_all_seats(self, other: VotePosition | None) -> None:
        voices = vote("support", "support", "support", other)
        assert resolve_consensus(voices).consensus_type == "no_consensus"
        assert resolve_consensus(voices, quorum=4).consensus_type == "no_consensus"
        assert resolve_consensus(voices, quorum=3).consensus_type == "convergent"
        assert resolve_consensus([]).consensus_type == "no_consensus"

    def test_the_threshold_can_be_moved(self) -> None:
        assert resolve_consensus(vote("support", "support"), threshold=0.8).carried
        assert not resolve_consensus(vote("support", "support"), threshold=0.81).carried


class TestAdvisoryProtocol:
    """D-8: the proposer decides."""

    @pytest.mark.parametrize(
        ("own", "carried"),
        [
            ("support", True),
            ("conditional_support", True),
            ("abstain", True),
            ("oppose", False),
            (None, False),
        ],
    )
    def test_the_owner_decides_against_all_advice(
        self, own: VotePosition | None, carried: bool
    ) -> None:
        found = resolve_advisory(vote(own, "oppose", "oppose"), owner="s0")
        assert (found.consensus_type, found.carried) == ("owner_decision", carried)
        assert sure(found) < 0.5

    def test_only_the_owner_missing_could_turn_it(self) -> None:
        assert resolve_advisory(vote(None, "support"), owner="s0").outcome_uncertain
        assert not resolve_advisory(vote("support", None), owner="s0").outcome_uncertain


class TestMissingVotes:
    def test_a_missing_vote_that_could_have_tipped_it_is_told(self) -> None:
        assert resolve_open_vote(vote("support", "support", "oppose", None)).outcome_uncertain

    def test_a_missing_vote_that_changes_nothing_is_not(self) -> None:
        assert not resolve_open_vote(vote("support", "support", "support", None)).outcome_uncertain

    def test_a_missing_quorum_could_have_been_made(self) -> None:
        assert resolve_open_vote(vote("support", None, None)).outcome_uncertain

    def test_an_abstention_is_not_missing(self) -> None:
        assert not resolve_open_vote(vote("support", "oppose", "abstain")).outcome_uncertain

    def test_one_missing_vote_can_always_prevent_a_consensus(self) -> None:
        assert resolve_consensus(vote("support", "support", "support", None)).outcome_uncertain


class TestOneVoice:
    """D-12: votes after reading are one voice, worth at most what one vote is."""

    @pytest.mark.parametrize("count", [1, 2, 5, 50])
    def test_however_many_agree_they_are_worth_one_vote(self, count: int) -> None:
        assert sure(resolve_open_vote(vote(*[YES] * count))) == pytest.approx(0.65)

    def test_opposition_takes_from_it(self) -> None:
        found = [sure(resolve_open_vote(vote("support", "support", *[NO] * n))) for n in range(4)]
        assert found == sorted(found, reverse=True)
        assert found[2] == pytest.approx(0.5)

    def test_a_record_moves_it(self) -> None:
        found = [
            sure(resolve_open_vote([voice("a", "support", accuracy=share)]))
            for share in (0.55, 0.65, 0.8)
        ]
        assert found == pytest.approx([0.55, 0.65, 0.8])

    def test_choices_that_exclude_each_other_share_one_probability(self) -> None:
        """Five syntheses that everyone supports had .95 each."""
        everyone = vote(*[YES] * 5)
        found = pool_one_voice(dict.fromkeys("abcde", everyone))
        assert len(set(found.values())) == 1
        assert math.fsum(found.values()) < 1

    def test_one_that_all_support_alone_is_worth_one_vote_whatever_they_oppose(self) -> None:
        found = pool_one_voice({"a": vote("support", "support"), "b": vote("oppose", "oppose")})
        assert found["a"] == pytest.approx(0.65)
        assert found["b"] < 0.2

    @given(drawn(POSITIONS), drawn(POSITIONS))
    def test_it_is_never_above_the_best_record(
        self, one: list[SeatVote], other: list[SeatVote]
    ) -> None:
        found = pool_one_voice({"a": one, "b": other})
        best = max(0.5, *(v.accuracy for v in [*one, *other]))
        assert math.fsum(found.values()) <= 1
        assert max(found.values()) <= best + 1e-9


class TestTheTwoFigures:
    """D-12: what is decided, and how likely it is right; where they part it is contested."""

    @pytest.mark.parametrize(
        ("confidence", "kind"), [(0.5, "unanimous"), (0.49, "contested"), (None, "unanimous")]
    )
    def test_what_is_less_likely_right_than_not_is_contested(
        self, confidence: float | None, kind: str
    ) -> None:
        found = apply_confidence(resolve_open_vote(vote("support", "support")), confidence)
        assert (found.consensus_type, found.carried, found.confidence) == (kind, True, confidence)

    def test_what_left_the_blind_majority_is_contested(self) -> None:
        found = apply_confidence(
            resolve_open_vote(vote("support", "support")), 0.7, left_majority=True
        )
        assert (found.consensus_type, found.carried) == ("contested", True)

    @pytest.mark.parametrize(("confidence", "carried"), [(0.8, True), (0.79, False), (None, False)])
    def test_an_opener_may_demand_a_confidence(
        self, confidence: float | None, carried: bool
    ) -> None:
        found = apply_confidence(
            resolve_open_vote(vote("support", "support")), confidence, carry_at=0.8
        )
        assert (found.consensus_type, found.carried) == (
            "unanimous" if carried else "no_consensus",
            carried,
        )

    def test_an_owners_decision_stays_one(self) -> None:
        found = apply_confidence(
            resolve_advisory(vote("support", "oppose"), owner="s0"), 0.1, left_majority=True
        )
        assert (found.consensus_type, found.carried) == ("owner_decision", True)

    def test_what_is_not_carried_stays_so(self) -> None:
        assert not apply_confidence(resolve_open_vote(vote("oppose", "oppose")), 0.9).carried


class TestWeights:
    """D-12, D-20: a vote weighs by its record and its independence."""

    def test_seven_of_one_family_hardly_outvote_two_that_stand_alone(self) -> None:
        clones = [voice(f"c{n}", "support", family="gpt") for n in range(7)]
        others = [voice("x", "oppose", family="claude"), voice("y", "oppose", family="qwen")]
        found = resolve_open_vote([*clones, *others])
        assert found.support is not None
        assert 0.5 < found.support < 0.6
        assert resolve_open_vote([*clones[:1], *others]).support == pytest.approx(1 / 3)

    def test_given_correlations_replace_the_families(self) -> None:
        clones = [voice(f"c{n}", "support", family="gpt") for n in range(5)]
        apart = resolve_open_vote(
            [*clones, voice("x", "oppose")], correlations=lambda _one, _other: 0.0
        )
        assert apart.support == pytest.approx(5 / 6)
        assert apart.effective == pytest.approx(6)

    def test_a_light_vote_takes_little_from_those_that_err_with_it(self) -> None:
        """D-20: a seat that knows nearly nothing does not halve the weight of one of its family that knows much."""
        alone = weigh_votes([voice("a", "support", accuracy=0.9, family="gpt")])[0]
        beside = weigh_votes(
            [
                voice("a", "support", accuracy=0.9, family="gpt"),
                voice("b", "oppose", accuracy=0.51, family="gpt"),
            ]
        )[0]
        assert alone * 0.98 < beside <= alone


def support_again(voices: list[SeatVote]) -> float | None:
    """The support by another way: R is solved by a library, and every sum is written out."""
    siding = [v for v in voices if v.position in SIDES]
    if not siding:
        return None
    heaviest = max(v.weight for v in siding)
    odds = [min(v.accuracy, 0.99) / (1 - min(v.accuracy, 0.99)) for v in siding]
    sources = [
        v.weight / heaviest * max(0.0, math.log(each)) for v, each in zip(siding, odds, strict=True)
    ]
    rows = numpy.eye(len(siding))
    for i, j in permutations(range(len(siding)), 2):
        less, more = sorted((sources[i], sources[j]))
        rows[i, j] = (0.5 if siding[i].family == siding[j].family else 0.25) * (
            less / more if more else 0.0
        )
    worths = numpy.linalg.solve(rows, numpy.ones(len(siding)))
    if not all(0 <= worth <= 1 for worth in worths):
        worths = 1 / numpy.maximum(rows.sum(axis=1), 1.0)
    weights = [source * worth for source, worth in zip(sources, worths, strict=True)]
    total = sum(weights)
    return (
        sum(w for v, w in zip(siding, weights, strict=True) if v.position != "oppose") / total
        if total > 0
        else 0.5
    )


class TestWhateverTheVotes:
    """Properties that hold for any vote."""

    @given(drawn(POSITIONS))
    def test_a_second_implementation_comes_to_the_same_support(
        self, voices: list[SeatVote]
    ) -> None:
        """D-12: random groups, to twelve digits."""
        assert resolve_open_vote(voices).support == pytest.approx(support_again(voices), abs=1e-12)

    @given(drawn(POSITIONS))
    def test_the_order_of_the_seats_does_not_matter(self, voices: list[SeatVote]) -> None:
        shuffled = sorted(voices, key=lambda v: (v.confidence, v.weight, v.seat))
        one, other = resolve_open_vote(voices), resolve_open_vote(shuffled)
        assert (one.consensus_type, one.voters, one.carried) == (
            other.consensus_type,
            other.voters,
            other.carried,
        )
        assert one.support == pytest.approx(other.support)
        assert one.confidence == pytest.approx(other.confidence)

    @given(drawn(POSITIONS))
    def test_figures_stay_within_their_bounds(self, voices: list[SeatVote]) -> None:
        found = resolve_open_vote(voices)
        assert 0 <= found.turnout <= 1 + 1e-9
        assert 0 <= found.effective <= found.voters
        assert found.support is None or 0 <= found.support <= 1
        assert found.confidence is None or 0 < found.confidence < 1
        assert found.carried == (found.consensus_type != "no_consensus")

    @given(drawn(SIDES), st.integers(0, 7))
    def test_turning_a_vote_towards_support_never_lowers_share_or_confidence(
        self, voices: list[SeatVote], at: int
    ) -> None:
        place = at % len(voices)
        found = [
            resolve_open_vote(
                [*voices[:place], replace(voices[place], position=position), *voices[place + 1 :]]
            )
            for position in ("oppose", "conditional_support", "support")
        ]
        for before, after in pairwise(found):
            assert (after.support or 0) >= (before.support or 0) - 1e-9
            assert sure(after) >= sure(before) - 1e-9

    @given(drawn(POSITIONS), drawn(["oppose"], largest=1))
    def test_one_more_opponent_never_carries_a_motion(
        self, voices: list[SeatVote], more: list[SeatVote]
    ) -> None:
        """D-12"""
        if not resolve_open_vote(voices).carried:
            assert not resolve_open_vote([*voices, replace(more[0], seat="x")]).carried

    @given(drawn(POSITIONS), drawn(["support"], largest=1))
    def test_one_more_supporter_never_sinks_a_motion(
        self, voices: list[SeatVote], more: list[SeatVote]
    ) -> None:
        """D-12"""
        if resolve_open_vote(voices).carried:
            assert resolve_open_vote([*voices, replace(more[0], seat="x")]).carried

    @given(drawn(SIDES))
    def test_the_mirror_vote_has_the_mirror_confidence(self, voices: list[SeatVote]) -> None:
        mirror: dict[VotePosition | None, VotePosition] = {"oppose": "support"}
        turned = [replace(v, position=mirror.get(v.position, "oppose")) for v in voices]
        assert sure(resolve_open_vote(turned)) == pytest.approx(1 - sure(resolve_open_vote(voices)))

    @given(drawn(SIDES), st.floats(0.1, 10))
    def test_only_the_ratio_of_bias_weights_matters(
        self, voices: list[SeatVote], factor: float
    ) -> None:
        scaled = [replace(v, weight=v.weight * factor) for v in voices]
        assert resolve_open_vote(scaled).confidence == pytest.approx(
            resolve_open_vote(voices).confidence
        )
        assert resolve_open_vote(scaled).effective == pytest.approx(
            resolve_open_vote(voices).effective
        )
