"""Every consensusType at its boundaries (D-11), and what the group's confidence does at the edges (D-12)."""

import math
from dataclasses import replace
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from moothall.scoring.positions import VotePosition
from moothall.scoring.posterior import CEILING
from moothall.scoring.resolution import (
    Resolution,
    SeatVote,
    resolve_advisory,
    resolve_consensus,
    resolve_open_vote,
)

POSITIONS: list[VotePosition] = ["support", "conditional_support", "oppose", "abstain"]
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

    def test_unanimous_is_every_seat_supporting_without_a_condition(self) -> None:
        assert resolve_open_vote(vote("support", "support")).consensus_type == "unanimous"

    def test_a_lone_seat_that_supports_is_unanimous(self) -> None:
        assert resolve_open_vote(vote("support")).consensus_type == "unanimous"

    @pytest.mark.parametrize("other", ["conditional_support", "abstain", None])
    def test_a_condition_an_abstention_or_a_missing_vote_makes_it_convergent(self, other: VotePosition | None) -> None:
        found = resolve_open_vote(vote("support", "support", other))
        assert (found.consensus_type, found.carried) == ("convergent", True)

    def test_three_votes_of_yes_if_converge(self) -> None:
        """D-12: a condition is an obligation, never half an opposition."""
        found = resolve_open_vote(vote("conditional_support", "conditional_support", "conditional_support"))
        assert (found.consensus_type, found.support, found.carried) == ("convergent", 1.0, True)
        assert found.confidence == resolve_open_vote(vote("support", "support", "support")).confidence

    def test_one_support_among_conditions_converges(self) -> None:
        assert resolve_open_vote(vote("support", "conditional_support", "conditional_support")).consensus_type == "convergent"

    def test_three_of_five_are_contested_because_they_are_hardly_surer_than_chance(self) -> None:
        found = resolve_open_vote(vote("support", "support", "support", "oppose", "oppose"))
        assert (found.consensus_type, found.carried) == ("contested", True)
        assert found.support == pytest.approx(0.6)
        assert found.confidence == pytest.approx(1 / (1 + (0.35 / 0.65) ** 0.5))

    @pytest.mark.parametrize(
        ("against", "kind"), [(1.1, "majority"), (1.2, "contested"), (1.99, "contested"), (2.0, "no_consensus")]
    )
    def test_the_posterior_divides_majority_contested_and_nothing(self, against: float, kind: str) -> None:
        """Two sure votes for it, and one against that becomes surer."""
        odds = 2 - against
        stated = [0.8, 0.8, 1 / (1 + 4**-against)]
        voices = [voice("a", "support", stated[0]), voice("b", "support", stated[1]), voice("c", "oppose", stated[2])]
        found = resolve_open_vote(voices)
        assert sure(found) == pytest.approx(1 / (1 + 4 ** (-odds / 3)))
        assert found.consensus_type == kind

    def test_exactly_at_the_clear_majority_it_is_one(self) -> None:
        # The mean of three log-odds is ln(0.6 / 0.4).
        against = 1 / (1 + (0.8 / 0.2) ** 2 * (0.4 / 0.6) ** 3)
        voices = [voice("a", "support", 0.8), voice("b", "support", 0.8), voice("c", "oppose", 1 - against)]
        assert sure(resolve_open_vote(voices)) == pytest.approx(0.6)
        assert resolve_open_vote(voices).consensus_type == "majority"

    def test_four_of_seven_are_contested(self) -> None:
        found = resolve_open_vote(vote("support", "support", "support", "support", "oppose", "oppose", "oppose"))
        assert (found.consensus_type, found.carried) == ("contested", True)

    def test_an_even_split_is_no_consensus(self) -> None:
        found = resolve_open_vote(vote("support", "oppose"))
        assert (found.consensus_type, found.carried, found.support) == ("no_consensus", False, 0.5)
        assert found.confidence == pytest.approx(0.5)

    def test_weights_that_outvote_the_heads_are_contested(self) -> None:
        voices = [voice("a", "support", weight=9), voice("b", "oppose"), voice("c", "oppose")]
        assert sure(resolve_open_vote(voices)) > 0.6
        assert resolve_open_vote(voices).consensus_type == "contested"

    def test_as_many_heads_for_as_against_are_contested_whatever_their_weight(self) -> None:
        assert resolve_open_vote([voice("a", "support", weight=9), voice("b", "oppose")]).consensus_type == "contested"

    def test_a_condition_supports_by_head(self) -> None:
        voices = [voice("a", "support"), voice("b", "conditional_support"), voice("c", "oppose", 0.55)]
        assert resolve_open_vote(voices).consensus_type == "majority"

    def test_rounding_does_not_turn_an_even_split(self) -> None:
        # 1 + 2 thirds of the log-odds of 0.9 against the whole of it.
        one, two = (1 / (1 + 9 ** (-part / 3)) for part in (1, 2))
        voices = [voice("a", "support", one), voice("b", "support", two), voice("c", "oppose", 0.9)]
        assert resolve_open_vote(voices).consensus_type == "no_consensus"

    def test_half_of_the_weight_is_no_quorum(self) -> None:
        found = resolve_open_vote(vote("support", None))
        assert (found.consensus_type, found.turnout, found.carried) == ("no_consensus", 0.5, False)

    def test_just_more_than_half_of_the_weight_is_a_quorum(self) -> None:
        assert resolve_open_vote([voice("a", "support", weight=1.01), voice("b", None)]).consensus_type == "convergent"

    def test_an_abstention_never_wins(self) -> None:
        found = resolve_open_vote(vote("support", "abstain", "abstain"))
        assert (found.consensus_type, found.carried) == ("no_consensus", False)

    @pytest.mark.parametrize("voices", [[], vote("abstain", "abstain"), vote(None, None)])
    def test_when_nobody_takes_a_side_there_is_neither_share_nor_confidence(self, voices: list[SeatVote]) -> None:
        found = resolve_open_vote(voices)
        assert (found.consensus_type, found.support, found.confidence, found.voters) == ("no_consensus", None, None, 0)
        assert (found.effective, found.turnout) == (0, 0)

    @pytest.mark.parametrize("stated", [0.0, 0.3, 0.5])
    def test_votes_that_are_stated_at_one_half_or_below_weigh_nothing(self, stated: float) -> None:
        """D-12"""
        found = resolve_open_vote([voice(seat, "support", stated) for seat in "abc"])
        assert (found.consensus_type, found.confidence, found.support, found.carried) == ("no_consensus", 0.5, 0.5, False)
        with_one = resolve_open_vote([voice("a", "support", 0.9), voice("b", "oppose", stated), voice("c", "oppose", stated)])
        assert with_one.support == 1.0

    def test_nothing_is_carried_by_those_who_are_right_no_more_than_by_chance(self) -> None:
        """D-12"""
        found = resolve_open_vote([voice(seat, "support", 0.9, accuracy=0.5) for seat in "abc"])
        assert (found.consensus_type, found.confidence, found.carried) == ("no_consensus", 0.5, False)

    @given(drawn(POSITIONS))
    def test_whatever_is_carried_is_more_likely_right_than_wrong(self, voices: list[SeatVote]) -> None:
        """D-12: support and confidence never disagree."""
        for found in (resolve_open_vote(voices), resolve_consensus(voices, threshold=0.0, quorum=1)):
            assert not found.carried or sure(found) > 0.5
            assert found.support is None or (found.support > 0.5) == (sure(found) > 0.5) or abs(sure(found) - 0.5) < 1e-9


class TestConsensusProtocol:
    """D-9: all must agree at or above the threshold."""

    def test_it_is_reached_at_the_threshold(self) -> None:
        assert resolve_consensus([voice("a", "support", 0.7), voice("b", "support", 0.7)]).consensus_type == "unanimous"

    def test_it_is_missed_just_below_the_threshold(self) -> None:
        found = resolve_consensus([voice("a", "support", 0.9), voice("b", "support", 0.699)])
        assert (found.consensus_type, found.carried) == ("no_consensus", False)

    def test_conditions_converge(self) -> None:
        voices = [voice("a", "conditional_support", 0.7), voice("b", "conditional_support", 0.9)]
        assert resolve_consensus(voices).consensus_type == "convergent"

    def test_one_that_opposes_prevents_it(self) -> None:
        assert not resolve_consensus([*vote("support", "support", "support"), voice("x", "oppose", 0.01)]).carried

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

    def test_a_threshold_below_one_half_carries_nothing_that_is_not_likely(self) -> None:
        """D-12"""
        assert not resolve_consensus([voice("a", "support", 0.4), voice("b", "support", 0.4)], threshold=0.3).carried


class TestAdvisoryProtocol:
    """D-8: the proposer decides."""

    @pytest.mark.parametrize(
        ("own", "carried"),
        [("support", True), ("conditional_support", True), ("abstain", True), ("oppose", False), (None, False)],
    )
    def test_the_owner_decides_against_all_advice(self, own: VotePosition | None, carried: bool) -> None:
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


class TestConfidence:
    """D-12: what the group may believe."""

    def test_two_sure_supports_and_a_condition(self) -> None:
        voices = [voice("a", "support", 0.85), voice("b", "support", 0.80), voice("c", "conditional_support", 0.70)]
        mean = (math.log(0.85 / 0.15) + math.log(0.8 / 0.2) + math.log(0.7 / 0.3)) / 3
        assert sure(resolve_open_vote(voices)) == pytest.approx(1 / (1 + math.exp(-mean)))

    def test_one_vote_of_an_unknown_source_is_right_in_65_cases_of_100(self) -> None:
        assert sure(resolve_open_vote(vote("support"))) == pytest.approx(0.65)

    @pytest.mark.parametrize(("heads", "effective"), [(2, 1.6), (3, 2.0), (5, 2.5), (9, 3.0)])
    def test_votes_that_agree_add_up_as_the_independent_ones_they_are_worth(self, heads: int, effective: float) -> None:
        positions: list[VotePosition] = ["support"] * heads
        found = resolve_open_vote(vote(*positions))
        assert found.effective == pytest.approx(effective)
        assert sure(found) == pytest.approx(1 / (1 + (0.35 / 0.65) ** effective))

    def test_a_vote_that_states_nothing_is_presumed_to_say_what_all_such_votes_would(self) -> None:
        mixed = [voice("a", "support", 0.9), voice("b", "support", None), voice("c", "support", None)]
        presumed = sure(resolve_open_vote(vote("support", "support")))
        stated = [voice("a", "support", 0.9), voice("b", "support", presumed), voice("c", "support", presumed)]
        assert sure(resolve_open_vote(mixed)) == pytest.approx(sure(resolve_open_vote(stated)))

    def test_a_record_weighs_the_stated_confidence(self) -> None:
        known, unknown = math.log(0.9 / 0.1), math.log(0.65 / 0.35)
        voices = [voice("a", "support", 0.7, accuracy=0.9), voice("b", "oppose", 0.7)]
        share = (known - unknown) / (known + unknown)
        assert sure(resolve_open_vote(voices)) == pytest.approx(1 / (1 + (0.3 / 0.7) ** share))

    def test_seven_of_one_family_hardly_outvote_two_that_stand_alone(self) -> None:
        """D-20: heads are not votes."""
        clones = [voice(f"s{number}", "support", None, family="gpt") for number in range(7)]
        others = [voice("x", "oppose", None, family="claude"), voice("y", "oppose", None, family="qwen")]
        found = resolve_open_vote([*clones, *others])
        assert (found.consensus_type, found.voters) == ("contested", 9)
        assert 0.5 < sure(found) < 0.55
        three = resolve_open_vote([*clones[:3], *others])
        assert (three.carried, sure(three) < 0.5) == (False, True)

    def test_lukewarm_votes_convince_less_than_sure_ones(self) -> None:
        lukewarm = resolve_open_vote([voice(seat, "support", 0.55) for seat in "abc"])
        assert sure(lukewarm) < sure(resolve_open_vote([voice(seat, "support", 0.9) for seat in "abc"])) - 0.05

    def test_sure_opposition_pulls_it_below_one_half(self) -> None:
        assert sure(resolve_open_vote([voice("a", "support", 0.6), voice("b", "oppose", 0.9), voice("c", "oppose", 0.9)])) < 0.5

    def test_the_trusted_convince_more(self) -> None:
        found = [sure(resolve_open_vote([voice("a", "support", None, accuracy=share)])) for share in (0.55, 0.65, 0.8)]
        assert found == sorted(found)
        assert found[0] < found[1] < found[2]

    def test_many_of_one_family_convince_less_than_a_few_of_several(self) -> None:
        clones = [voice(f"s{number}", "support", None, family="gpt") for number in range(12)]
        assert sure(resolve_open_vote(clones)) < sure(resolve_open_vote(vote("support", "support", "support", "support")))

    def test_ten_more_of_one_family_add_little(self) -> None:
        clones = [voice(f"s{number}", "support", None, family="gpt") for number in range(15)]
        assert 0 < sure(resolve_open_vote(clones)) - sure(resolve_open_vote(clones[:5])) < 0.05

    def test_given_correlations_replace_the_families(self) -> None:
        clones = [voice(f"s{number}", "support", None, family="gpt") for number in range(3)]
        apart = resolve_open_vote(clones, correlations=lambda _one, _other: 0.0)
        assert apart.effective == pytest.approx(3)
        assert sure(apart) > sure(resolve_open_vote(clones))

    def test_no_crowd_is_certain(self) -> None:
        crowd = [voice(f"s{number}", "support", None, accuracy=1.0) for number in range(100)]
        assert sure(resolve_open_vote(crowd, correlations=lambda _one, _other: 0.0)) == pytest.approx(CEILING)


class TestWhateverTheVotes:
    """Properties that hold for any vote."""

    @given(drawn(POSITIONS))
    def test_the_order_of_the_seats_does_not_matter(self, voices: list[SeatVote]) -> None:
        shuffled = sorted(voices, key=lambda v: (v.confidence, v.weight, v.seat))
        one, other = resolve_open_vote(voices), resolve_open_vote(shuffled)
        assert (one.consensus_type, one.voters, one.carried) == (other.consensus_type, other.voters, other.carried)
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
    def test_turning_a_vote_towards_support_never_lowers_share_or_confidence(self, voices: list[SeatVote], at: int) -> None:
        place = at % len(voices)
        found = [
            resolve_open_vote([*voices[:place], replace(voices[place], position=position), *voices[place + 1 :]])
            for position in ("oppose", "conditional_support", "support")
        ]
        for before, after in pairwise(found):
            assert (after.support or 0) >= (before.support or 0) - 1e-9
            assert sure(after) >= sure(before) - 1e-9

    @given(drawn(SIDES), drawn(["oppose"], largest=1), st.floats(0.51, 0.95))
    def test_one_more_that_opposes_never_helps_a_motion(self, voices: list[SeatVote], more: list[SeatVote], share: float) -> None:
        """Whoever states a confidence and who does not; among seats of one record and weight, which count relative to others."""
        first, *others = [replace(v, weight=1.0, family="", accuracy=share) for v in [*more, *voices]]
        before = sure(resolve_open_vote(others))
        assert sure(resolve_open_vote([*others, replace(first, seat="x")])) <= max(before, 0.5) + 1e-9

    def test_one_more_that_is_hardly_sure_carries_no_motion_against_those_that_are(self) -> None:
        """D-12: one says how sure it is that the motion is wrong, one supports it without a word of how sure it is."""
        voices = [voice("a", "support", None), voice("b", "oppose", 0.75)]
        hardly = [voice("x", "oppose", 0.51)]
        assert sure(resolve_open_vote(voices)) < 0.5
        assert sure(resolve_open_vote([*voices, *hardly])) < 0.5

    @given(drawn(SIDES), st.integers(0, 7), st.floats(0, 1))
    def test_a_supporter_that_becomes_surer_never_lowers_the_confidence(
        self, voices: list[SeatVote], at: int, step: float
    ) -> None:
        place = at % len(voices)
        one = replace(voices[place], position="support")
        one = replace(one, stated=True)
        surer = replace(one, confidence=one.confidence + (1 - one.confidence) * step)
        before, after = ([*voices[:place], v, *voices[place + 1 :]] for v in (one, surer))
        assert sure(resolve_open_vote(after)) >= sure(resolve_open_vote(before)) - 1e-9

    @given(drawn(SIDES))
    def test_the_mirror_vote_has_the_mirror_confidence(self, voices: list[SeatVote]) -> None:
        mirror: dict[VotePosition | None, VotePosition] = {"oppose": "support"}
        turned = [replace(v, position=mirror.get(v.position, "oppose")) for v in voices]
        assert sure(resolve_open_vote(turned)) == pytest.approx(1 - sure(resolve_open_vote(voices)))

    @given(drawn(SIDES), st.floats(0.1, 10))
    def test_only_the_ratio_of_bias_weights_matters(self, voices: list[SeatVote], factor: float) -> None:
        scaled = [replace(v, weight=v.weight * factor) for v in voices]
        assert resolve_open_vote(scaled).confidence == pytest.approx(resolve_open_vote(voices).confidence)
        assert resolve_open_vote(scaled).effective == pytest.approx(resolve_open_vote(voices).effective)
