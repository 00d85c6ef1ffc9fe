"""The swarm bench plays fair: its explorers keep every rule, its runs repeat, its sums are right (S-3, S-9, S-11, S-21)."""

from xml.etree import ElementTree

import pytest
from bench.swarm import picture, report
from bench.swarm.cells import BASE, one_at_a_time, safeguards
from bench.swarm.cost import Round, exponent, rounds
from bench.swarm.explorer import Manner
from bench.swarm.load import Amount
from bench.swarm.runs import Case, Outcome, outcome, outcomes, played, share
from bench.swarm.settlement import (
    SpeechCase,
    play_spoken,
    render_choices,
    render_costs,
    render_joins,
)
from bench.swarm.speaker import Kind
from bench.swarm.speech import list_sentences
from bench.swarm.world import NAMES, World, alone, plurality, pooled

from moothall.protocols.swarm.facts import BarrierPassed, OperationsProcessed, RoundBegun

READERS = [f"reader-{number}" for number in range(9)]


def worlds(noise: float) -> list[World]:
    return [World(seed=seed, k=5, gap=0.2, noise=noise, taste=0.0) for seed in range(40)]


def test_simulated_explorers_break_no_rule_and_a_switched_off_signal_is_all_that_is_refused() -> (
    None
):
    for case in (BASE, BASE.but(stop_signals=False)):
        run = played(case, 3)
        assert not any(
            fact.violations or fact.lost for fact in run.facts if isinstance(fact, BarrierPassed)
        )
        refused = {
            result.operation
            for fact in run.facts
            if isinstance(fact, OperationsProcessed)
            for result in fact.results
            if not result.success
        }
        assert refused == (set() if case is BASE else {"send_stop_signal"})


def test_the_same_seed_gives_the_same_run_and_another_seed_another() -> None:
    one, again, other = played(BASE, 3), played(BASE, 3), played(BASE, 4)
    assert one.facts == again.facts
    assert one.facts != other.facts


def test_the_two_ways_to_wander_can_be_switched_off() -> None:
    quiet = Case(
        manner=Manner(wanders=False), settings={"random_exploration": False, "protection": False}
    )
    orders = [
        order
        for fact in played(quiet, 3).facts
        if isinstance(fact, RoundBegun)
        for order in fact.orders
    ]
    assert orders
    assert not any(order.random for order in orders)


def test_without_noise_everyone_who_has_seen_all_directions_is_right() -> None:
    for world in worlds(0.0):
        assert (
            alone(world, "reader", 5)
            == plurality(world, READERS, 5)
            == pooled(world, READERS, 5)
            == world.best
        )


def test_with_noise_a_plurality_is_right_more_often_than_one_alone_and_the_pool_more_often_still() -> (
    None
):
    noisy = worlds(0.3)
    one = sum(alone(world, "reader-0", 5) == world.best for world in noisy)
    most = sum(plurality(world, READERS, 5) == world.best for world in noisy)
    everything = sum(pooled(world, READERS, 5) == world.best for world in noisy)
    assert one < most <= everything


def test_a_share_has_the_standard_error_of_a_share() -> None:
    found = [outcome(BASE, 1)] * 100
    assert share(found, lambda each: each.rounds > 0) == share(found, lambda each: True)
    halves = [index % 2 == 0 for index in range(100)]
    picked = iter(halves)
    half = share(found, lambda each: next(picked))
    assert half.value == 0.5
    assert half.error == pytest.approx(0.05)


@pytest.mark.parametrize("power", [0.5, 1.0, 2.0])
def test_the_exponent_of_a_power_is_that_power(power: float) -> None:
    assert exponent([(x, 3 * x**power) for x in (2.0, 4.0, 64.0)]) == pytest.approx(power)


def test_a_load_fills_the_blackboard_as_it_says() -> None:
    assert [each.findings for each in rounds(3, 3, Amount(first=1, findings=4))] == [3, 15, 27]


def test_every_cell_is_played_and_the_tables_and_pictures_can_be_drawn() -> None:
    names = [name for name, _ in (*safeguards(), *one_at_a_time())]
    assert len(set(names)) == len(names)
    found: dict[str, list[Outcome]] = {
        name: outcomes(case, 2) for name, case in list(safeguards())[:2]
    }
    base = next(iter(found.values()))
    assert len(report.qualities("safeguards", found, base).splitlines()) == 4
    cost = {
        number: Round(findings=number, rules=0.01 * number, measure=0.02 * number)
        for number in (2, 4, 8)
    }
    assert report.costs("agents", cost).splitlines()[-1].split()[-2:] == ["1.00", "1.00"]
    for drawn in (picture.outcomes(found, 2), picture.growth((cost, cost), (cost, cost))):
        assert ElementTree.fromstring(drawn).tag.endswith("svg")


def test_explorers_that_speak_break_no_rule_and_are_never_told_what_a_sentence_means() -> None:
    """S-30, S-31: half of the runs in each language; every sentence has one meaning, and the same seed gives the same run."""
    case = SpeechCase(k=3, rounds=4, counts_tokens=True)
    for seed in (1, 2):
        one = play_spoken(case, seed)
        assert one == play_spoken(case, seed)
        assert one.calls > one.vote_calls > 0
        assert one.tokens > one.vote_tokens > 0
        assert 0 <= one.joined <= one.same
    for language in ("en", "zh"):
        sentences = [
            text
            for name in NAMES
            for side in ("for", "against")
            for text in list_sentences(name, side, language)
        ]
        assert len(set(sentences)) == len(sentences)


def test_a_judge_that_never_errs_joins_no_opposites() -> None:
    """S-31"""
    crew: tuple[Kind, ...] = (*("careful",) * 5, *("careless",) * 3)
    case = SpeechCase(k=3, rounds=5, errs=0.0, crew=crew)
    found = [play_spoken(case, seed) for seed in (1, 2, 3, 4)]
    assert sum(each.opposed for each in found) > 0
    assert sum(each.wrong + each.mixed for each in found) == 0
    assert sum(each.joined for each in found) / sum(each.same for each in found) > 0.8


def test_readings_are_right_at_least_as_often_as_a_plain_vote() -> None:
    """S-30: over a few seeds; the bench has two hundred."""
    found = [play_spoken(SpeechCase(), seed) for seed in range(1, 13)]
    assert sum(each.right for each in found) >= sum(each.vote for each in found)


def test_the_tables_of_spoken_runs_can_be_rendered() -> None:
    played = {
        "one": [play_spoken(SpeechCase(k=2, rounds=3, counts_tokens=True), seed) for seed in (1, 2)]
    }
    for render in (render_choices, render_joins, render_costs):
        assert len(render("title", played).splitlines()) == 3
