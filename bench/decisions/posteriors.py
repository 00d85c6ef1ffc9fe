"""Whether the posterior comes true: over the options that a seat chose from, and as that of a motion with two sides."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from bench.decisions.blind_rules import (
    TableAnswer,
    forecast_by_agreement,
    forecast_by_whole_table,
    score_by_agreement,
    score_by_whole_table,
)
from bench.decisions.confidences import Pairs, list_chosen
from bench.decisions.data import Case, Recording, Votes
from bench.decisions.earlier import average_stated
from bench.decisions.tallies import (
    Trust,
    Worths,
    count_in_full,
    find_leader,
    folds,
    learned,
    plurality,
    presume_prior,
    score_options,
    share_alike,
    share_less,
)
from moothall.scoring.posterior import compute_posterior
from moothall.scoring.resolution import SeatVote
from moothall.scoring.trust import PRIOR_ACCURACY, TrackRecord, compute_accuracy, compute_brier


@dataclass(frozen=True, slots=True, kw_only=True)
class Posteriors:
    """The same cases, forecast by the posterior in several ways, in the order of `bench.decisions.confidences.forecasts`."""

    learned: Pairs
    """Over the options, with the record learned on the other four fifths."""
    unknown: Pairs
    """Over the options, with the prior accuracy for all."""
    before_learned: Pairs
    """Of the rule before, with the record learned."""
    before_unknown: Pairs
    """Of the rule before, with the prior accuracy for all."""
    shared_alike: Pairs
    """Learned, every vote worth the effective number of votes over their number."""
    less_shared: Pairs
    """Learned, the correlations times LESS."""
    in_full: Pairs
    """Learned, every vote worth 1."""
    motion: Pairs
    """The winner of the plurality as a motion with two sides, with the record that the seats have in such motions."""
    motion_unknown: Pairs
    """The same, with the prior accuracy for all."""


def compute_posteriors(recording: Recording) -> Posteriors:
    """The posterior of the leading option, over all cases in which somebody chose."""
    found = Posteriors(
        learned=[],
        unknown=[],
        before_learned=[],
        before_unknown=[],
        shared_alike=[],
        less_shared=[],
        in_full=[],
        motion=[],
        motion_unknown=[],
    )
    for known, scored in folds(list_chosen(recording.cases)):
        accurate = learned(known).accuracy_of
        in_motions = _learn_motions(known)
        for case in scored:
            found.learned.append(_forecast_lead(case, recording, accurate))
            found.unknown.append(_forecast_lead(case, recording, presume_prior))
            found.before_learned.append(_forecast_before(case, recording, accurate))
            found.before_unknown.append(_forecast_before(case, recording, presume_prior))
            found.shared_alike.append(_forecast_sum(case, recording, accurate, share_alike))
            found.less_shared.append(_forecast_sum(case, recording, accurate, share_less))
            found.in_full.append(_forecast_sum(case, recording, accurate, count_in_full))
            found.motion.append(_forecast_motion(case, recording, in_motions))
            found.motion_unknown.append(_forecast_motion(case, recording, {}))
    return found


def list_answers(
    votes: Votes, recording: Recording, accurate: Trust, category: str
) -> list[TableAnswer]:
    """The answers of those who chose, in the order in which they were cast."""
    return [
        TableAnswer(
            choice=choice, family=recording.families[seat], accuracy=accurate(seat, category)
        )
        for seat, choice in votes.items()
        if choice is not None
    ]


def _forecast_lead(case: Case, recording: Recording, accurate: Trust) -> tuple[float, bool]:
    answers = list_answers(case.blind, recording, accurate, case.category)
    leader = find_leader(score_by_agreement(answers, recording.options).scores)
    chance = forecast_by_agreement(answers, str(leader), recording.options)
    return chance, leader == case.truth


def _forecast_before(case: Case, recording: Recording, accurate: Trust) -> tuple[float, bool]:
    answers = list_answers(case.blind, recording, accurate, case.category)
    leader = find_leader(score_by_whole_table(answers, recording.options))
    chance = forecast_by_whole_table(answers, str(leader), recording.options)
    return chance, leader == case.truth


def _forecast_sum(
    case: Case, recording: Recording, accurate: Trust, worths: Worths
) -> tuple[float, bool]:
    scores = score_options(case.blind, recording, accurate, case.category, worths)
    leader = find_leader(scores)
    chance = compute_posterior(scores, recording.options)[str(leader)]
    return chance, leader == case.truth


def _learn_motions(cases: Sequence[Case]) -> Mapping[str, float]:
    """How often each seat was on the right side of the motion that the plurality's choice is right."""
    records: dict[str, TrackRecord] = {}
    for case in cases:
        motion = plurality(case.blind)
        for seat, choice in case.blind.items():
            if choice is not None:
                right = float((choice == motion) == (motion == case.truth))
                records[seat] = records.get(seat, TrackRecord()).plus(
                    compute_brier(1.0, right), right
                )
    return {seat: compute_accuracy(record) for seat, record in records.items()}


def _forecast_motion(
    case: Case, recording: Recording, accuracies: Mapping[str, float]
) -> tuple[float, bool]:
    motion = plurality(case.blind)
    voices = [
        SeatVote(
            seat=seat,
            position="support" if choice == motion else "oppose",
            accuracy=accuracies.get(seat, PRIOR_ACCURACY),
            stated=False,
            family=recording.families[seat],
        )
        for seat, choice in case.blind.items()
        if choice is not None
    ]
    return average_stated(voices), motion == case.truth
