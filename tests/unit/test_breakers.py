"""D-17: circuit breakers open, try and close as circuit breakers do."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from moothall.errors import BadSetting
from moothall.memory.breakers import (
    Breakers,
    Circuit,
    CircuitProbe,
    SoloRequest,
    SoloVerdict,
    apply_review,
    build_circuit_view,
    collect_scopes,
    find_failing_sources,
    judge_solo_request,
    list_circuit_views,
    parse_scope,
    reset_circuit,
    start_probes,
    validate_policy,
    with_policy,
)
from moothall.memory.facts import CategoryConfidence, Outcome, Policy

START = datetime(2025, 3, 1, tzinfo=UTC)
HOUR = timedelta(hours=1)
DAY = timedelta(days=1)
WEB = ("global", "category:web")
ASK = SoloRequest(source="ada", confidence=0.8, category="web")


def failed(
    breakers: Breakers, decision: str, at: datetime, outcome: Outcome = "failure", by: str = ""
) -> Breakers:
    """A review; unless it is said by whom, every decision is somebody else's."""
    return apply_review(
        breakers,
        decision=decision,
        scopes=WEB,
        sources=(by or decision,),
        before=None,
        outcome=outcome,
        at=at,
    )


def opened(at: datetime = START) -> Breakers:
    """Three failures of three; few enough sources open the global circuit here, so that two circuits are seen together."""
    breakers = Breakers(policy=Policy(global_sources=3))
    for number in range(3):
        breakers = failed(breakers, f"d{number}", at)
    return breakers


def probing(at: datetime = START + HOUR) -> Breakers:
    return start_probes(opened(), decision="p", scopes=WEB, at=at)


def state(breakers: Breakers, at: datetime, scope: str = "category:web") -> str:
    return build_circuit_view(breakers, scope, at).state


def test_a_circuit_opens_at_the_third_failure_in_the_window() -> None:
    breakers = failed(failed(Breakers(), "a", START), "b", START + DAY)
    assert state(breakers, START + DAY) == "closed"
    breakers = failed(breakers, "c", START + 2 * DAY)
    assert state(breakers, START + 2 * DAY) == "open"
    assert (
        build_circuit_view(breakers, "category:web", START + 2 * DAY).opened_at == START + 2 * DAY
    )


def test_failures_that_lie_further_apart_than_the_window_do_not_add_up() -> None:
    breakers = failed(failed(Breakers(), "a", START), "b", START + DAY)
    breakers = failed(breakers, "c", START + 7 * DAY)
    assert state(breakers, START + 7 * DAY) == "closed"
    assert build_circuit_view(breakers, "category:web", START + 7 * DAY).failures == 2


@pytest.mark.parametrize(
    ("outcome", "opens"),
    [("failure", True), ("abandoned", True), ("partial", False), ("success", False)],
)
def test_what_failed_or_was_abandoned_counts_and_nothing_else(
    outcome: Outcome, opens: bool
) -> None:
    breakers = failed(failed(Breakers(), "a", START), "b", START)
    assert (state(failed(breakers, "c", START, outcome), START) == "open") is opens


def test_one_decision_fails_once_however_often_that_is_said() -> None:
    breakers = failed(failed(Breakers(), "a", START), "b", START)
    again = apply_review(
        breakers,
        decision="b",
        scopes=WEB,
        sources=("b",),
        before="failure",
        outcome="abandoned",
        at=START,
    )
    assert again == breakers


def test_a_review_that_takes_a_failure_back_is_believed() -> None:
    breakers = failed(failed(Breakers(), "a", START), "b", START)
    cleared = apply_review(
        breakers,
        decision="b",
        scopes=WEB,
        sources=("b",),
        before="failure",
        outcome="success",
        at=START,
    )
    assert build_circuit_view(cleared, "global", START).failures == 1


def test_an_open_circuit_is_half_open_after_the_cooldown() -> None:
    assert state(opened(), START + HOUR - timedelta(microseconds=1)) == "open"
    assert state(opened(), START + HOUR) == "half_open"


def test_a_half_open_circuit_lets_exactly_one_through() -> None:
    at = START + HOUR
    first = judge_solo_request(opened(), ASK, at)
    assert first == SoloVerdict(probes=WEB)
    second = judge_solo_request(
        start_probes(opened(), decision="p", scopes=first.probes, at=at), ASK, at
    )
    assert second == SoloVerdict(scopes=WEB)


def test_a_second_probe_at_once_does_not_take_the_place_of_the_first() -> None:
    breakers = start_probes(probing(), decision="q", scopes=WEB, at=START + HOUR)
    assert build_circuit_view(breakers, "global", START + HOUR).probe == CircuitProbe(
        decision_id="p", deadline=START + HOUR + DAY
    )


def test_a_probe_that_succeeds_closes_the_circuit_and_its_failures_are_forgotten() -> None:
    assert failed(probing(), "p", START + 2 * HOUR, "success") == Breakers(
        policy=Policy(global_sources=3)
    )


@pytest.mark.parametrize("outcome", ["failure", "abandoned"])
def test_a_probe_that_fails_opens_the_circuit_anew(outcome: Outcome) -> None:
    breakers = failed(probing(), "p", START + 2 * HOUR, outcome)
    assert build_circuit_view(breakers, "global", START + 2 * HOUR).opened_at == START + 2 * HOUR
    assert state(breakers, START + 3 * HOUR - timedelta(seconds=1)) == "open"
    assert state(breakers, START + 3 * HOUR) == "half_open"


def test_after_a_partial_probe_another_may_go() -> None:
    breakers = failed(probing(), "p", START + 2 * HOUR, "partial")
    assert judge_solo_request(breakers, ASK, START + 2 * HOUR) == SoloVerdict(probes=WEB)


def test_a_probe_that_nobody_reviews_opens_the_circuit_anew_at_its_deadline() -> None:
    deadline = START + HOUR + DAY
    assert state(probing(), deadline - timedelta(seconds=1)) == "half_open"
    assert build_circuit_view(probing(), "global", deadline).opened_at == deadline
    assert state(probing(), deadline) == "open"
    assert state(probing(), deadline + HOUR) == "half_open"


def test_a_probe_reviewed_too_late_closes_nothing() -> None:
    late = START + 3 * DAY
    assert state(failed(probing(), "p", late, "success"), late) == "half_open"


def test_other_decisions_do_not_close_a_half_open_circuit() -> None:
    assert (
        state(failed(probing(), "x", START + 2 * HOUR, "success"), START + 2 * HOUR) == "half_open"
    )


def test_a_reset_closes_one_circuit_and_no_other() -> None:
    breakers = reset_circuit(opened(), "category:web")
    assert (state(breakers, START), state(breakers, START, "global")) == ("closed", "open")


def test_a_stricter_policy_opens_at_once_and_a_milder_one_closes_nothing() -> None:
    breakers = failed(failed(Breakers(), "a", START), "b", START)
    strict = with_policy(breakers, Policy(failures=1), START + HOUR)
    assert build_circuit_view(strict, "category:web", START + HOUR).opened_at == START + HOUR
    assert state(with_policy(opened(), Policy(failures=9), START), START) == "open"


def test_every_open_scope_and_every_rule_is_named() -> None:
    ask = SoloRequest(source="ada", confidence=0.5, category="web", stakes="critical")
    found = judge_solo_request(opened(), ask, START)
    assert found.scopes == WEB
    assert [rule.partition(":")[0] for rule in found.rules] == ["stakes", "confidence"]
    assert found.probes == ()


def test_the_failures_of_one_source_open_no_scope_that_others_share() -> None:
    """D-17: a category opens when two sources failed there, the global circuit when five did."""
    breakers = Breakers()
    for number in range(9):
        breakers = failed(breakers, f"d{number}", START, by=("ada", " ADA ")[number % 2])
    view = build_circuit_view(breakers, "category:web", START)
    assert (view.state, view.failures, view.sources, view.least_sources) == ("closed", 9, 1, 2)
    breakers = failed(breakers, "b", START, by="bob")
    assert (state(breakers, START), state(breakers, START, "global")) == ("open", "closed")
    for name in ("cay", "dan"):
        breakers = failed(breakers, name, START, by=name)
    assert state(breakers, START, "global") == "closed"
    assert state(failed(breakers, "e", START, by="eve"), START, "global") == "open"


def test_a_level_of_stakes_opens_on_the_failures_of_three() -> None:
    breakers = Breakers()
    for source in ("ada", "ada", "bob", "cay"):
        assert state(breakers, START, "stakes:high") == "closed"
        decision = f"{source}{len(breakers.circuits.get('stakes:high', Circuit()).failures)}"
        breakers = apply_review(
            breakers,
            decision=decision,
            scopes=("stakes:high",),
            sources=(source,),
            before=None,
            outcome="failure",
            at=START,
        )
    assert state(breakers, START, "stakes:high") == "open"


def test_sources_that_failed_before_the_window_do_not_count() -> None:
    breakers = failed(Breakers(), "a", START, by="bob")
    for number in range(3):
        breakers = failed(breakers, f"d{number}", START + 8 * DAY, by="ada")
    assert state(breakers, START + 8 * DAY) == "closed"


def test_who_fails_in_a_scope_or_is_stopped_itself_is_known() -> None:
    """D-17: such a one reviews nothing there."""
    breakers = failed(Breakers(), "a", START, by="Bob")
    for number in range(3):
        breakers = apply_review(
            breakers,
            decision=f"e{number}",
            scopes=("agent:eve",),
            sources=("eve",),
            before=None,
            outcome="failure",
            at=START,
        )
    assert find_failing_sources(breakers, ("category:web",), START) == {"bob", "eve"}
    assert find_failing_sources(breakers, (), START) == {"eve"}


STRICT = Policy(
    deliberate_categories=("Security",),
    category_confidence=(CategoryConfidence(category="Payments", min_confidence=0.9),),
)


@pytest.mark.parametrize(
    ("category", "confidence", "rule"),
    [
        ("security", 1.0, "category: what is in 'security' is decided by a deliberation"),
        (" SECURITY ", 1.0, "category: what is in 'security' is decided by a deliberation"),
        ("payments", 0.89, "confidence: 0.89 is below the 0.9 that the category 'payments' needs"),
        ("payments", 0.9, None),
        ("web", 0.0, None),
        ("", 0.0, None),
    ],
)
def test_a_category_may_need_a_deliberation_or_a_confidence(
    category: str, confidence: float, rule: str | None
) -> None:
    """D-17: rules by category."""
    ask = SoloRequest(source="ada", confidence=confidence, category=category, stakes="low")
    found = judge_solo_request(Breakers(policy=STRICT), ask, START)
    assert found.rules == (() if rule is None else (rule,))


@pytest.mark.parametrize(("confidence", "allowed"), [(0.6, True), (0.59, False)])
def test_high_stakes_need_confidence(confidence: float, allowed: bool) -> None:
    assert (
        judge_solo_request(
            Breakers(), SoloRequest(source="ada", confidence=confidence, stakes="high"), START
        ).is_allowed
        is allowed
    )


def test_low_stakes_need_none() -> None:
    assert (
        judge_solo_request(
            Breakers(), SoloRequest(source="ada", confidence=0.0, stakes="low"), START
        )
        == SoloVerdict()
    )


def test_a_probe_is_not_spent_while_another_scope_is_open() -> None:
    breakers = reset_circuit(opened(), "global")
    later = START + HOUR
    for number in range(3):
        breakers = apply_review(
            breakers,
            decision=f"g{number}",
            scopes=("global",),
            sources=(f"g{number}",),
            before=None,
            outcome="failure",
            at=later,
        )
    assert judge_solo_request(breakers, ASK, later) == SoloVerdict(scopes=("global",))


def test_the_agent_scope_counts_what_was_decided_alone() -> None:
    assert collect_scopes(category="Web", stakes="high", tags=("Db", "db"), source="Ada") == (
        "global",
        "stakes:high",
        "category:web",
        "agent:ada",
        "tag:db",
    )
    assert "agent:" not in "".join(collect_scopes(category="", stakes="low", tags=()))


def test_a_scope_is_the_same_whatever_its_case_and_width() -> None:
    assert parse_scope("category:Ｗeb  Design") == "category:web design"
    assert parse_scope("GLOBAL") == "global"


@pytest.mark.parametrize(
    "text",
    [
        "",
        "category",
        "category:",
        "category: ",
        "colour:red",
        "tag:a\nb",
        "tag:" + "x" * 101,
        "global:x",
    ],
)
def test_what_is_no_scope_is_refused(text: str) -> None:
    with pytest.raises(BadSetting, match="expected global, category:NAME"):
        parse_scope(text)


@pytest.mark.parametrize(
    "policy",
    [
        Policy(failures=0),
        Policy(window_seconds=0.0),
        Policy(cooldown_seconds=float("nan")),
        Policy(probe_seconds=float("inf")),
        Policy(min_confidence=1.1),
        Policy(scope_sources=1),
        Policy(global_sources=0),
        Policy(stakes_sources=1),
        Policy(deliberate_categories=("",)),
        Policy(deliberate_categories=("?!",)),
        Policy(category_confidence=(CategoryConfidence(category="a", min_confidence=1.5),)),
        Policy(
            category_confidence=(
                CategoryConfidence(category="a", min_confidence=0.5),
                CategoryConfidence(category="A ", min_confidence=0.6),
            )
        ),
    ],
)
def test_a_policy_that_makes_no_sense_is_refused(policy: Policy) -> None:
    with pytest.raises(BadSetting):
        validate_policy(policy)


class Circuits(RuleBasedStateMachine):
    """Whatever happens, in whatever order: one probe at most, and time alone never closes a circuit."""

    def __init__(self) -> None:
        super().__init__()
        self.breakers = with_policy(Breakers(), Policy(failures=2), START)
        self.now = START
        self.made = 0
        self.pending: dict[str, Outcome | None] = {}

    @rule(hours=st.integers(0, 60))
    def time_passes(self, hours: int) -> None:
        before = {
            one.scope
            for one in list_circuit_views(self.breakers, self.now)
            if one.state != "closed"
        }
        self.now += hours * HOUR
        assert before == {
            one.scope
            for one in list_circuit_views(self.breakers, self.now)
            if one.state != "closed"
        }

    @rule()
    def somebody_decides_alone(self) -> None:
        found = judge_solo_request(self.breakers, ASK, self.now)
        blocking = [
            one
            for one in list_circuit_views(self.breakers, self.now)
            if one.state == "open" or one.probe is not None
        ]
        assert found.is_allowed == (not blocking)
        if not found.is_allowed:
            return
        self.made += 1
        self.pending[f"d{self.made}"] = None
        self.breakers = start_probes(
            self.breakers, decision=f"d{self.made}", scopes=found.probes, at=self.now
        )
        for name in found.probes:
            probe = build_circuit_view(self.breakers, name, self.now).probe
            assert probe is not None
            assert probe.decision_id == f"d{self.made}"

    @precondition(lambda self: self.pending)
    @rule(
        pick=st.integers(0, 50),
        outcome=st.sampled_from(["success", "partial", "failure", "abandoned"]),
    )
    def somebody_reviews(self, pick: int, outcome: Outcome) -> None:
        decision = list(self.pending)[pick % len(self.pending)]
        probes = {
            one.scope
            for one in list_circuit_views(self.breakers, self.now)
            if one.probe and one.probe.decision_id == decision
        }
        before = self.breakers
        self.breakers = apply_review(
            before,
            decision=decision,
            scopes=WEB,
            sources=(decision,),
            before=self.pending[decision],
            outcome=outcome,
            at=self.now,
        )
        self.pending[decision] = outcome
        expected = {
            "success": "closed",
            "partial": "half_open",
            "failure": "open",
            "abandoned": "open",
        }[outcome]
        assert all(state(self.breakers, self.now, name) == expected for name in probes)
        for name in set(WEB) - probes:
            was, now = state(before, self.now, name), state(self.breakers, self.now, name)
            assert now == was or (was, now) == ("closed", "open")

    @invariant()
    def what_is_open_says_since_when_and_until_when(self) -> None:
        for one in list_circuit_views(self.breakers, self.now):
            assert (one.state == "closed") == (one.opened_at is None)
            assert one.probe is None or (one.state == "half_open" and one.probe.deadline > self.now)


Circuits.TestCase.settings = settings(max_examples=60, stateful_step_count=40)
TestCircuits = Circuits.TestCase


def test_a_longer_window_sees_older_failures_again() -> None:
    breakers = failed(failed(Breakers(), "a", START), "b", START + 20 * DAY)
    month = replace(breakers.policy, window_seconds=30 * DAY.total_seconds(), failures=2)
    assert state(with_policy(breakers, month, START + 20 * DAY), START + 20 * DAY) == "open"
