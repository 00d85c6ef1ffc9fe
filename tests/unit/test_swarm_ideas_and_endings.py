"""How ideas are joined, when a swarm converges, how it ends."""

from typing import Any

import pytest
from tests.support.play_swarm import (
    Says,
    SwarmRun,
    build_deposit,
    build_swarm_plan,
    build_valid_report,
)
from tests.support.swarm_scenes import ADA, BOB, BUY, CACHE, EVE, explorer, exploring, five

from moothall.domain.effects import Ask, Brief
from moothall.domain.facts import BudgetExhausted, CloseCalled, InputGiven
from moothall.domain.roster import MAILBOX
from moothall.protocols.swarm.answers import (
    Collision,
    RoundReport,
    ShutdownReply,
    Synthesis,
)
from moothall.protocols.swarm.facts import (
    AgentsTerminated,
    Compared,
    ConvergenceMeasured,
    IdeasSorted,
    OperationsProcessed,
    RoundBegun,
    RoundSettled,
    ShutdownNoticed,
    SwarmClosed,
    SwarmCompleted,
)
from moothall.protocols.swarm.json_fields import agent_name
from moothall.protocols.swarm.reports.decision import build_decision
from moothall.protocols.swarm.rules.rulebook import RULES
from moothall.protocols.swarm.state import Swarm

# Ideas


def test_without_a_judge_ideas_are_joined_by_their_text_and_by_agreement_alone() -> None:
    """S-8, S-36: no measure is asked, because it cannot tell a denial from a restatement; the record says what joined them."""
    run = SwarmRun(build_swarm_plan(5, max_rounds=1, collisions=0))
    texts = (
        CACHE,
        "put a CACHE at the edge",
        "Put a cache at the edge now.",
        "Own words entirely.",
        "Never put a cache at the edge.",
    )

    def says(ask: Ask, brief: Brief, state: Swarm) -> object:
        assert ask.kind != "compare"
        if ask.kind == "explore":
            at = state.explorers.index(ask.seat)
            return build_valid_report(
                state, ask.seat, "caching", texts[at], agrees_with=(CACHE,) if at == 3 else ()
            )
        return NotImplemented

    run.play(says)
    (sorted_ideas,) = run.facts(IdeasSorted)
    assert [(each.text, each.idea, each.reason) for each in sorted_ideas.placed] == [
        (texts[0], 1, "new"),
        (texts[2], 2, "new"),
        (texts[3], 1, "agreesWith"),
        (texts[4], 3, "new"),
    ]
    assert [each.idea for each in run.state.board.findings] == [1, 1, 2, 1, 3]
    assert [(join.id, join.placed.similar_to) for join in run.timeline.joins] == [("join-1", CACHE)]


def test_a_measure_that_is_lost_is_replaced_by_words_and_that_is_said() -> None:
    """S-8: words then find the pairs for the judge."""
    run = SwarmRun(build_swarm_plan(2, max_rounds=1, collisions=0, vote=False, platform="openai:m"))

    def says(ask: Ask, brief: Brief, state: Swarm) -> object:
        if ask.kind in {"compare", "judge"}:
            return "error"
        return build_valid_report(
            state, ask.seat, "caching", "Put a cache at the edge now" if ask.seat == ADA else CACHE
        )

    run.play(says)
    (sorted_ideas,) = run.facts(IdeasSorted)
    assert sorted_ideas.by == "words (fallback)"
    assert "measure_lost" in {event["type"] for event in run.timeline.events}
    assert run.facts(Compared) == []
    assert [each.idea for each in run.state.board.findings] == [1, 2], "a lost judge joins nothing"


def test_ideas_that_are_to_stay_apart_do() -> None:
    """S-8: reversible; a setting keeps an idea to itself."""
    run = SwarmRun(
        build_swarm_plan(2, max_rounds=1, collisions=0, vote=False, apart=("An edge cache it is.",))
    )
    texts = {ADA: CACHE, BOB: "An edge cache it is."}

    def says(ask: Ask, brief: Brief, state: Swarm) -> object:
        assert ask.kind != "compare", "there is nothing left to compare"
        return build_valid_report(
            state,
            ask.seat,
            "caching",
            texts[ask.seat],
            agrees_with=(CACHE,) if ask.seat == BOB else (),
        )

    run.play(says)
    assert [each.idea for each in run.state.board.findings] == [1, 2]


def test_what_an_agent_leaves_out_it_no_longer_holds() -> None:
    """S-17: an opinion is what the last report with findings says; a silent round changes nothing."""
    run = SwarmRun(build_swarm_plan(2, max_rounds=3, collisions=0))
    says = {1: (CACHE, BUY), 2: (BUY,), 3: ()}
    run.play(
        exploring(lambda ask, state: build_valid_report(state, ask.seat, "x", *says[state.round]))
    )
    assert [next(iter(fact.opinions.values())) for fact in run.facts(RoundSettled)] == [
        (1, 2),
        (2,),
        (2,),
    ]


def test_agreement_after_reading_is_told_from_agreement_before() -> None:
    """S-28: who held an idea in the round in which it first stood there is independent; whoever came later joined."""
    run = SwarmRun(build_swarm_plan(3, max_rounds=2, collisions=0, quorum="independent"))

    def report(ask: Ask, state: Swarm) -> object:
        mine = CACHE if ask.seat != EVE or state.round > 1 else BUY
        return build_valid_report(state, ask.seat, "caching", mine)

    run.play(exploring(report))
    last = run.facts(ConvergenceMeasured)[-1]
    (cache,) = last.backing
    assert (cache.backers, cache.independent) == ((ADA, BOB, EVE), (ADA, BOB))
    assert (last.consensus_rate, last.quorum_ideas) == (pytest.approx(2 / 3), ())
    assert run.state.board.ideas[1].independent == (ADA, BOB)


# Consensus


def test_four_of_five_converge_in_the_third_round_and_vote() -> None:
    """S-17, S-29: the figures, then a vote whose dissent is kept."""
    run = five(collisions=0)
    closed = run.facts(SwarmClosed)[0]
    assert (closed.reason, closed.converged, closed.rounds) == ("converged", True, 3)
    reasons = [fact.reason for fact in run.facts(ConvergenceMeasured)]
    assert reasons == ["min_rounds", "min_rounds", ""]
    decision = build_decision(run.timeline)
    assert decision.decision is not None
    assert (decision.decision.text, decision.consensus_type, decision.voters) == (
        CACHE,
        "majority",
        5,
    )
    assert [(voice.seat, voice.kind) for voice in decision.dissent] == [("XiLi", "oppose")]
    assert decision.ended_by == "converged"


def test_all_of_one_mind_is_too_fast_before_the_fifth_round() -> None:
    """S-17, S-19: protection until then: all explore at random, the first explorer debates."""
    run = SwarmRun(build_swarm_plan(5, collisions=0, seed=4))
    run.play({agent_name(at): explorer(CACHE, direction=f"way {at}") for at in range(1, 6)})
    measures = run.facts(ConvergenceMeasured)
    assert [fact.round for fact in measures if fact.converged] == [5]
    assert [fact.too_fast for fact in measures] == [True] * 4 + [False]
    assert all("diversity_warning" in fact.warnings and fact.all_random for fact in measures[:4])
    assert measures[0].debater is not None
    assert measures[0].debater.seat == ADA
    begun = run.facts(RoundBegun)
    assert all(order.random for fact in begun[1:] for order in fact.orders)


def test_a_dominant_direction_is_cut_and_the_event_says_so() -> None:
    """S-19: above 0.7, by 30 %."""
    run = SwarmRun(build_swarm_plan(4, max_rounds=2, collisions=0))

    def report(ask: Ask, state: Swarm) -> object:
        return build_valid_report(
            state,
            ask.seat,
            "caching",
            CACHE,
            perspective="cost",
            operations=(build_deposit("caching", 0.3),),
        )

    run.play(exploring(report))
    first, last = run.facts(ConvergenceMeasured)
    assert first.cut is not None
    assert first.cut.after == pytest.approx(first.cut.before * 0.7)
    assert last.cut is None, "nothing is protected once the run is over"
    assert [
        each["type"] for each in run.timeline.events if each["type"].startswith("pheromone_p")
    ] == ["pheromone_protected"]


def test_three_rounds_without_change_are_stagnation() -> None:
    """S-19."""
    run = SwarmRun(build_swarm_plan(3, max_rounds=6, collisions=0))
    run.play(
        {
            ADA: explorer(CACHE),
            BOB: explorer(BUY, direction="b"),
            EVE: explorer("Rewrite it all.", direction="c"),
        }
    )
    stagnant = [
        fact.round
        for fact in run.facts(ConvergenceMeasured)
        if "stagnation_warning" in fact.warnings
    ]
    assert stagnant == [4, 5]


def test_the_last_round_gives_a_partial_report_without_a_claim() -> None:
    """S-20."""
    run = SwarmRun(build_swarm_plan(3, max_rounds=2, collisions=0))
    run.play({ADA: explorer(CACHE), BOB: explorer(BUY), EVE: explorer("Rewrite it all.")})
    closed = run.facts(SwarmClosed)[0]
    assert (closed.reason, closed.converged) == ("max_rounds", False)
    assert build_decision(run.timeline).decision is None


# The end


def outside(count: int = 3, **chosen: Any) -> SwarmRun:
    return SwarmRun(build_swarm_plan(count, platform=MAILBOX, max_rounds=1, collisions=0, **chosen))


def test_agents_elsewhere_say_goodbye_and_others_are_not_troubled() -> None:
    """S-23: a notice, then a request to those elsewhere alone; whoever answers ends gracefully, whoever does not is forced."""
    run = outside()

    def says(ask: Ask, brief: Brief, state: Swarm) -> object:
        if ask.kind == "shutdown":
            assert ask.patience == 20.0
            return {ADA: ShutdownReply(), BOB: None, EVE: ShutdownReply(acknowledged=False)}[
                ask.seat
            ]
        return explorer(f"Idea of {ask.seat}")(ask, brief, state)

    run.play(says)
    (notice,) = run.facts(ShutdownNoticed)
    assert notice.awaited == (ADA, BOB, EVE)
    (ended,) = run.facts(AgentsTerminated)
    assert list(ended.ends.values()) == ["graceful", "forced", "forced"]
    inside = five(collisions=0)
    assert [ask for ask in inside.asks if ask.kind == "shutdown"] == []


def test_an_agent_silent_for_two_minutes_is_ended_without_being_asked() -> None:
    """S-23: auto_forced."""
    run = SwarmRun(build_swarm_plan(4, platform=MAILBOX, max_rounds=2, collisions=0), seconds=50)
    run.play(
        {
            ADA: exploring(lambda ask, state: None),
            **{agent_name(at): explorer(CACHE) for at in (2, 3, 4)},
        }
    )
    assert run.state.agents[ADA].ended == "auto_forced"
    assert ADA not in run.facts(ShutdownNoticed)[0].awaited


def test_everyone_is_completed_before_the_shutdown() -> None:
    """S-23: state sync."""
    run = outside()
    run.play(explorer(CACHE), until=lambda state: state.stage == "graceful")
    assert {agent.status for agent in run.state.agents.values()} == {"completed"}
    (done,) = run.facts(SwarmCompleted)
    assert done.synced == (ADA, BOB, EVE)


@pytest.mark.parametrize("at", ["explore", "review", "vote"])
def test_a_run_that_is_called_off_keeps_what_was_brought(at: str) -> None:
    """S-12, S-26: what was reported is carried out, nothing more is asked for, all agents end."""
    run = SwarmRun(build_swarm_plan(5))
    says: dict[str, Says] = {
        agent_name(number): explorer(CACHE, BUY, direction=f"w {number}") for number in range(1, 6)
    }
    run.play(
        says, until=lambda state: state.stage == at and state.round >= (5 if at == "vote" else 2)
    )
    asked = len(run.asks)
    run.step(CloseCalled(by="me"))
    assert run.snapshot.is_closed
    closed = run.facts(SwarmClosed)[0]
    assert closed.reason == ("converged" if at == "vote" else "called")
    assert len(run.asks) == asked
    assert len(run.facts(OperationsProcessed)) == run.state.round
    assert {agent.status for agent in run.state.agents.values()} == {"terminated"}


def test_the_time_budget_ends_the_run_with_a_partial_report() -> None:
    """S-1: --timeout."""
    run = SwarmRun(build_swarm_plan(3))
    run.step()
    run.step(BudgetExhausted(budget="time", spent=9, limit=9))
    assert run.facts(SwarmClosed)[0].reason == "time"


def test_the_classic_mode_explores_once_from_a_menu_and_ends_with_a_synthesis() -> None:
    """S-1."""
    run = SwarmRun(build_swarm_plan(3, mode="classic"))

    def says(ask: Ask, brief: Brief, state: Swarm) -> object:
        if ask.kind == "synthesis":
            return None if ask.seat == ADA else Synthesis(content="All in all: cache.")
        if ask.kind == "explore":
            return (
                build_valid_report(state, ask.seat, "caching", CACHE)
                if ask.seat != EVE
                else RoundReport()
            )
        return NotImplemented

    run.play(says)
    (begun,) = run.facts(RoundBegun)
    assert [order.perspective for order in begun.orders] == ["technical", "economic", "user"]
    closed = run.facts(SwarmClosed)[0]
    assert (closed.reason, closed.converged, closed.rounds) == ("synthesis", False, 1)
    decision = build_decision(run.timeline)
    assert decision.decision is not None
    assert (decision.decision.text, decision.author) == ("All in all: cache.", BOB)
    assert {ask.kind for ask in run.asks} == {"explore", "synthesis"}


def test_the_users_word_reaches_the_next_round() -> None:
    run = SwarmRun(build_swarm_plan(2))
    run.step()
    run.step(InputGiven(text="We have six weeks.\n# Now"))
    ask = next(effect for effect in RULES.decide(run.state) if isinstance(effect, Ask))
    assert "> We have six weeks.\n> # Now" in RULES.brief(run.state, ask).own


def test_sixty_four_explorers_for_ten_rounds() -> None:
    """S-1, S-9: prompts stay bounded and rounds cost the same number of entries however much is on the blackboard."""
    run = SwarmRun(build_swarm_plan(64, max_rounds=10, min_rounds=11, protection=False, vote=False))
    sizes: dict[int, int] = {}

    def says(ask: Ask, brief: Brief, state: Swarm) -> object:
        if ask.kind != "explore":
            return Collision(action="pass") if ask.kind == "collide" else NotImplemented
        sizes[state.round] = max(sizes.get(state.round, 0), len(brief.shared) + len(brief.own))
        at = state.explorers.index(ask.seat)
        ideas = [
            f"Thing {at * 7 + number} is {number} of round {state.round % 3}" for number in range(3)
        ]
        operations = (build_deposit(f"way {at % 30}", 0.2), build_deposit(f"way {at % 7}"))
        return build_valid_report(state, ask.seat, f"way {at % 30}", *ideas, operations=operations)

    run.play(says)
    assert len(run.state.board.findings) == 64 * 3 * 10
    assert max(sizes.values()) < 20_000
    assert sizes[10] < sizes[2] * 1.5
    per_round = [sum(isinstance(entry.fact, RoundBegun) for entry in run.entries), len(run.entries)]
    assert per_round[0] == 10
    assert per_round[1] < 10 * (64 + 20)
