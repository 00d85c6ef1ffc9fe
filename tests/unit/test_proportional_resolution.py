"""The rule by which votes on the ideas of a swarm are counted: bias weight, confidence and trust, multiplied (S-29)."""

from dataclasses import replace
from functools import partial
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from moothall.scoring import resolution
from moothall.scoring.confidence import CEILING
from moothall.scoring.positions import VotePosition
from moothall.scoring.resolution import Resolution, SeatVote, measure_in_proportion

resolve_open_vote = partial(resolution.resolve_open_vote, rule=measure_in_proportion)

POSITIONS: list[VotePosition] = ["support", "conditional_support", "oppose", "abstain"]
SIDES: list[VotePosition] = ["support", "conditional_support", "oppose"]


def voice(
    seat: str, position: VotePosition | None, confidence: float = 0.8, weight: float = 1.0, trust: float = 0.5, family: str = ""
) -> SeatVote:
    return SeatVote(seat=seat, position=position, confidence=confidence, weight=weight, trust=trust, family=family)


def vote(*positions: VotePosition | None) -> list[SeatVote]:
    """Seats of different families, alike in all but their positions."""
    return [voice(f"s{number}", position) for number, position in enumerate(positions)]


def sure(found: Resolution) -> float:
    assert found.confidence is not None
    return found.confidence


def drawn(positions: list[VotePosition], largest: int = 8) -> st.SearchStrategy[list[SeatVote]]:
    one = st.builds(
        voice,
        st.just(""),
        st.sampled_from(positions),
        confidence=st.floats(0.05, 1),
        weight=st.floats(0.2, 3),
        trust=st.floats(0.1, 0.95),
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

    def test_conditions_alone_are_half_on_each_side_and_no_consensus(self) -> None:
        found = resolve_open_vote(vote("conditional_support", "conditional_support"))
        assert (found.consensus_type, found.support, found.carried) == ("no_consensus", 0.5, False)

    def test_one_support_among_conditions_converges(self) -> None:
        assert resolve_open_vote(vote("support", "conditional_support", "conditional_support")).consensus_type == "convergent"

    def test_three_of_five_are_a_majority(self) -> None:
        found = resolve_open_vote(vote("support", "support", "support", "oppose", "oppose"))
        assert (found.consensus_type, found.carried) == ("majority", True)
        assert found.support == pytest.approx(0.6)

    def test_four_of_seven_are_contested(self) -> None:
        found = resolve_open_vote(vote("support", "support", "support", "support", "oppose", "oppose", "oppose"))
        assert (found.consensus_type, found.carried) == ("contested", True)

    def test_an_even_split_is_no_consensus(self) -> None:
        found = resolve_open_vote(vote("support", "oppose"))
        assert (found.consensus_type, found.carried, found.support) == ("no_consensus", False, 0.5)
        assert found.confidence == pytest.approx(0.5)

    def test_weights_that_outvote_the_heads_are_contested(self) -> None:
        voices = [voice("a", "support", weight=9), voice("b", "oppose"), voice("c", "oppose")]
        assert resolve_open_vote(voices).consensus_type == "contested"

    def test_as_many_heads_for_as_against_are_contested_whatever_their_weight(self) -> None:
        assert resolve_open_vote([voice("a", "support", weight=9), voice("b", "oppose")]).consensus_type == "contested"

    def test_a_condition_supports_by_head(self) -> None:
        voices = [voice("a", "support"), voice("b", "conditional_support"), voice("c", "oppose", 0.1)]
        assert resolve_open_vote(voices).consensus_type == "majority"

    def test_rounding_does_not_turn_an_even_split(self) -> None:
        voices = [voice("a", "support", 0.1), voice("b", "support", 0.2), voice("c", "oppose", 0.3)]
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

    def test_votes_without_any_confidence_are_counted_as_equally_sure(self) -> None:
        found = resolve_open_vote([voice("a", "support", 0), voice("b", "support", 0), voice("c", "oppose", 0)])
        assert (found.consensus_type, found.confidence) == ("majority", 0.5)
        assert found.support == pytest.approx(2 / 3)


class TestMissingVotes:
    def test_a_missing_vote_that_could_have_tipped_it_is_told(self) -> None:
        assert resolve_open_vote(vote("support", "support", "oppose", None)).outcome_uncertain

    def test_a_missing_vote_that_changes_nothing_is_not(self) -> None:
        assert not resolve_open_vote(vote("support", "support", "support", None)).outcome_uncertain

    def test_a_missing_quorum_could_have_been_made(self) -> None:
        assert resolve_open_vote(vote("support", None, None)).outcome_uncertain

    def test_an_abstention_is_not_missing(self) -> None:
        assert not resolve_open_vote(vote("support", "oppose", "abstain")).outcome_uncertain


class TestConfidence:
    """D-12: what the group may believe."""

    def test_two_sure_supports_and_a_condition(self) -> None:
        voices = [voice("a", "support", 0.85), voice("b", "support", 0.80), voice("c", "conditional_support", 0.70)]
        assert 0.7 <= sure(resolve_open_vote(voices)) <= 0.85

    def test_a_lone_voice_is_believed_less_than_it_believes_itself(self) -> None:
        assert 0.6 < sure(resolve_open_vote([voice("a", "support", 0.9)])) < 0.75

    def test_lukewarm_votes_convince_less_than_sure_ones(self) -> None:
        lukewarm = resolve_open_vote([voice(seat, "support", 0.55) for seat in "abc"])
        assert sure(lukewarm) < sure(resolve_open_vote([voice(seat, "support", 0.9) for seat in "abc"])) - 0.05

    def test_sure_opposition_pulls_it_below_one_half(self) -> None:
        assert sure(resolve_open_vote([voice("a", "support", 0.6), voice("b", "oppose", 0.9), voice("c", "oppose", 0.9)])) < 0.5

    def test_the_trusted_convince_more(self) -> None:
        found = [sure(resolve_open_vote([voice("a", "support", trust=trust)])) for trust in (0.2, 0.5, 0.8)]
        assert found == sorted(found)
        assert found[0] < found[1] < found[2]

    def test_many_of_one_family_convince_less_than_a_few_of_several(self) -> None:
        clones = [voice(f"s{number}", "support", family="gpt") for number in range(12)]
        assert sure(resolve_open_vote(clones)) < sure(resolve_open_vote(vote("support", "support", "support", "support")))

    def test_ten_more_of_one_family_add_little(self) -> None:
        clones = [voice(f"s{number}", "support", family="gpt") for number in range(15)]
        assert 0 < sure(resolve_open_vote(clones)) - sure(resolve_open_vote(clones[:5])) < 0.05

    def test_given_correlations_replace_the_families(self) -> None:
        clones = [voice(f"s{number}", "support", family="gpt") for number in range(3)]
        apart = resolve_open_vote(clones, correlations=lambda _one, _other: 0.0)
        assert apart.effective == pytest.approx(3)
        assert sure(apart) > sure(resolve_open_vote(clones))

    def test_no_crowd_is_certain(self) -> None:
        crowd = [voice(f"s{number}", "support", 1.0, trust=1.0) for number in range(100)]
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

    @given(drawn(SIDES), drawn(["oppose"], largest=1))
    def test_one_more_that_opposes_never_raises_the_confidence_in_a_motion_that_leads(
        self, voices: list[SeatVote], more: list[SeatVote]
    ) -> None:
        before = sure(resolve_open_vote(voices))
        if before >= 0.5:
            assert sure(resolve_open_vote([*voices, replace(more[0], seat="x")])) <= before + 1e-9

    @given(drawn(SIDES), drawn(["oppose"], largest=1))
    def test_one_more_that_opposes_never_makes_a_failing_motion_lead(self, voices: list[SeatVote], more: list[SeatVote]) -> None:
        if sure(resolve_open_vote(voices)) < 0.5:
            assert sure(resolve_open_vote([*voices, replace(more[0], seat="x")])) < 0.5

    @given(drawn(SIDES), st.integers(0, 7), st.floats(0, 1))
    def test_a_supporter_that_becomes_surer_never_lowers_the_confidence(
        self, voices: list[SeatVote], at: int, step: float
    ) -> None:
        place = at % len(voices)
        one = replace(voices[place], position="support")
        surer = replace(one, confidence=one.confidence + (1 - one.confidence) * step)
        before, after = ([*voices[:place], v, *voices[place + 1 :]] for v in (one, surer))
        assert sure(resolve_open_vote(after)) >= sure(resolve_open_vote(before)) - 1e-9

    @given(drawn(SIDES))
    def test_the_mirror_vote_has_the_mirror_confidence(self, voices: list[SeatVote]) -> None:
        mirror: dict[VotePosition | None, VotePosition] = {"support": "oppose", "oppose": "support"}
        turned = [replace(v, position=mirror.get(v.position, "conditional_support")) for v in voices]
        assert sure(resolve_open_vote(turned)) == pytest.approx(1 - sure(resolve_open_vote(voices)))

    @given(drawn(SIDES), st.floats(0.1, 10))
    def test_only_the_ratio_of_bias_weights_matters(self, voices: list[SeatVote], factor: float) -> None:
        scaled = [replace(v, weight=v.weight * factor) for v in voices]
        assert resolve_open_vote(scaled).confidence == pytest.approx(resolve_open_vote(voices).confidence)
        assert resolve_open_vote(scaled).effective == pytest.approx(resolve_open_vote(voices).effective)
