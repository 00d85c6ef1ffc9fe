"""D-17: whatever agents decide and however it turns out, the failures of one stop that one and nobody else."""

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from moothall.domain.facts import Entry, Fact
from moothall.domain.replace import copy_fields
from moothall.domain.topic import Stakes
from moothall.memory.breakers import SoloRequest, build_circuit_view
from moothall.memory.facts import (
    CircuitReset,
    Outcome,
    OutcomeReviewed,
    Policy,
    PolicySet,
    SoloDecided,
)
from moothall.memory.memory_state import MemoryState, build_permission, build_solo_facts, evolve

START = datetime(2025, 3, 1, tzinfo=UTC)
AGENTS = ("ada", "bob", "cay")
CATEGORIES = ("web", "data", "")
STAKES: tuple[Stakes, ...] = ("low", "medium")
OUTCOMES: tuple[Outcome, ...] = ("success", "partial", "failure", "abandoned")


class Register:
    """A memory that is folded by hand, and a clock that the test moves."""

    def __init__(self) -> None:
        self.book = MemoryState()
        self.now = START
        self.seq = 0

    def append(self, facts: Sequence[Fact]) -> None:
        for fact in facts:
            self.seq += 1
            evolve(self.book, Entry(self.seq, self.now, fact))

    def decide(self, source: str, category: str = "", stakes: Stakes = "medium") -> str:
        """What `source` decides alone; empty if it may not."""
        wanted = SoloDecided(
            decision_id="",
            source=source,
            topic="?",
            text="!",
            confidence=0.9,
            category=category,
            stakes=stakes,
        )
        permission = build_permission(self.book, copy_fields(SoloRequest, wanted), self.now)
        before = self.seq
        result, facts = build_solo_facts(self.book, wanted, "s", self.now)
        assert before == self.seq, "asking records nothing"
        assert (permission.is_allowed, permission.verdict.probes) == (
            result.is_allowed,
            result.probes,
        )
        assert source not in permission.reviewers
        self.append(facts)
        return result.decision

    def review(self, decision: str, outcome: Outcome) -> None:
        self.append([OutcomeReviewed(decision_id=decision, outcome=outcome)])


deeds = st.lists(
    st.one_of(
        st.tuples(
            st.just("decide"),
            st.sampled_from(AGENTS),
            st.sampled_from(CATEGORIES),
            st.sampled_from(STAKES),
        ),
        st.tuples(st.just("review"), st.integers(0, 40), st.sampled_from(OUTCOMES), st.none()),
        st.tuples(st.just("wait"), st.integers(0, 80), st.none(), st.none()),
        st.tuples(
            st.just("reset"),
            st.sampled_from(("global", "agent:ada", "category:web")),
            st.none(),
            st.none(),
        ),
    ),
    max_size=60,
)


@settings(max_examples=150)
@given(deeds)
def test_the_failures_of_one_agent_never_stop_another(
    deeds: list[tuple[str, Any, Any, Any]],
) -> None:
    """Only what ada decides ever fails: bob and cay may decide alone at every moment, everywhere."""
    register = Register()
    register.append([PolicySet(policy=Policy(failures=2))])
    made: list[str] = []
    for deed, what, more, stakes in deeds:
        if deed == "decide":
            made.append(register.decide(what, more, stakes))
            assert made[-1] or what == "ada"
        elif deed == "review" and made:
            decision = made[what % len(made)]
            kept = register.book.decisions.get(decision)
            if kept is not None:
                is_hers = kept.sources == ("ada",)
                register.review(decision, more if is_hers else "success")
        elif deed == "wait":
            register.now += timedelta(hours=what)
        elif deed == "reset":
            register.append([CircuitReset(scope=what)])
    for agent in ("bob", "cay"):
        for category in CATEGORIES:
            assert register.decide(agent, category)


@settings(max_examples=150)
@given(deeds)
def test_a_half_open_circuit_lets_exactly_one_probe_through_whoever_fails(
    deeds: list[tuple[str, Any, Any, Any]],
) -> None:
    register = Register()
    register.append([PolicySet(policy=Policy(failures=2))])
    made: list[str] = []
    for deed, what, more, stakes in deeds:
        if deed == "decide":
            agent, category, level = what, more, stakes
            first = register.decide(agent, category, level)
            if not first:
                continue
            made.append(first)
            probed = [
                name
                for name, one in register.book.breakers.circuits.items()
                if one.probe and one.probe.decision_id == first
            ]
            for scope in probed:
                assert (
                    build_circuit_view(register.book.breakers, scope, register.now).state
                    == "half_open"
                )
            if probed:
                assert register.decide(agent, category, level) == "", (
                    "a second one must wait for the review of the first"
                )
        elif deed == "review" and made:
            register.review(made[what % len(made)], more)
        elif deed == "wait":
            register.now += timedelta(hours=what)
        elif deed == "reset":
            register.append([CircuitReset(scope=what)])
            assert build_circuit_view(register.book.breakers, what, register.now).state == "closed"


def test_reviewers_are_those_with_the_best_record_in_the_category_and_never_one_that_failed() -> (
    None
):
    """D-17: dan did well on the web, cay elsewhere; bob failed on the web himself."""
    register = Register()
    outcomes: tuple[tuple[str, str, Outcome], ...] = (
        *((("dan", "web", "success"),) * 3),
        *((("cay", "data", "success"),) * 3),
        ("bob", "web", "failure"),
        *((("bob", "data", "success"),) * 9),
        *((("ada", "web", "failure"),) * 2),
    )
    for source, category, outcome in outcomes:
        register.review(register.decide(source, category), outcome)
    wanted = SoloDecided(
        decision_id="", source="eve", topic="?", text="!", confidence=0.9, category="web"
    )
    found = build_permission(register.book, copy_fields(SoloRequest, wanted), register.now)
    assert found.verdict.scopes == ("category:web",)
    assert found.reviewers == ("dan", "cay")
