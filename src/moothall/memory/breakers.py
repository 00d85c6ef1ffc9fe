"""Circuit breakers: when a single source may not decide alone (D-17).

A circuit watches a scope: everything, a category, a level of stakes, a tag, or what one source stands behind alone. It opens
when enough decisions in its scope proved wrong within a sliding window; a scope that many share opens only if different sources
failed there, so that the failures of one stop that one and nobody else. While a circuit is open, nobody decides alone there.
After the cooldown it is half-open: one decision may be made alone as a probe, and its review closes the circuit or opens it
again.

Changes by time alone (the end of a cooldown, a probe that is never reviewed) are computed when a circuit is read; only events are
folded.
"""

from bisect import bisect_right
from collections.abc import Iterable, Mapping
from dataclasses import field, replace
from datetime import datetime, timedelta
from typing import Final, Literal, get_args

from moothall.domain.limits import Share, validate_limits
from moothall.domain.replace import dataclass
from moothall.domain.topic import Stakes, normalize_label
from moothall.errors import BadSetting
from moothall.memory.facts import (
    MAX_NAME_LENGTH,
    MAX_WINDOW,
    Labels,
    Name,
    Outcome,
    Policy,
    RequiredName,
)

CircuitState = Literal["closed", "open", "half_open"]
ScopeKind = Literal["category", "stakes", "agent", "tag"]

GLOBAL: Final = "global"
FAILED: Final[frozenset[Outcome]] = frozenset({"failure", "abandoned"})
CAREFUL: Final[frozenset[Stakes]] = frozenset({"high", "critical"})
_REMEMBERED: Final = timedelta(seconds=MAX_WINDOW)


@dataclass(frozen=True, slots=True, kw_only=True)
class Failure:
    """A decision that proved wrong, when that was reported, and the sources that stood behind it (normalized)."""

    decision: str
    at: datetime
    sources: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class CircuitProbe:
    """The one decision that a half-open circuit let through; it must be reviewed before the deadline."""

    decision_id: str
    deadline: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class Circuit:
    """The events of a scope, with failures in order of time. `opened_at` is None while the circuit is closed."""

    failures: tuple[Failure, ...] = ()
    opened_at: datetime | None = None
    probe: CircuitProbe | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Breakers:
    """All circuits by scope, and the current policy."""

    policy: Policy = Policy()
    circuits: Mapping[str, Circuit] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class CircuitView:
    scope: str
    state: CircuitState
    failures: int
    threshold: int
    opened_at: datetime | None = None
    half_open_at: datetime | None = None
    """When an open one lets a probe through."""
    probe: CircuitProbe | None = None
    sources: int = 0
    """How many different sources these failures have."""
    least_sources: int = 1
    """How many it takes, besides the threshold, to open the circuit."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SoloRequest:
    source: RequiredName
    confidence: Share
    category: Name = ""
    stakes: Stakes = "medium"
    tags: Labels = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class SoloVerdict:
    """Whether a request is allowed: not if a scope or a rule blocks it. `probes` are the circuits that the decision tests."""

    scopes: tuple[str, ...] = ()
    rules: tuple[str, ...] = ()
    probes: tuple[str, ...] = ()

    @property
    def is_allowed(self) -> bool:
        return not self.scopes and not self.rules


def build_scope(kind: ScopeKind, of: str) -> str:
    """Return the name of a scope; case, width and white space make no difference."""
    return f"{kind}:{normalize_label(of)}"


def parse_scope(text: str) -> str:
    """Parse the name of a scope; raises BadSetting."""
    kind, colon, of = "", "", ""
    if isinstance(text, str):
        kind, colon, of = text.partition(":")
    if not colon and normalize_label(kind) == GLOBAL:
        return GLOBAL
    for known in get_args(ScopeKind):
        if (
            known == normalize_label(kind)
            and normalize_label(of)
            and of.isprintable()
            and len(of) <= MAX_NAME_LENGTH
        ):
            return build_scope(known, of)
    raise BadSetting(
        f"unknown scope {str(text)[:MAX_NAME_LENGTH]!r}; expected global, category:NAME, stakes:NAME, agent:NAME or tag:NAME, "
        f"the name printable and of 1 to {MAX_NAME_LENGTH} characters"
    )


def collect_scopes(
    *, category: str, stakes: Stakes, tags: tuple[str, ...], source: str = ""
) -> tuple[str, ...]:
    """Return the scopes that a decision counts in; `source` is who stands behind it alone, "" for several."""
    scopes = [GLOBAL, build_scope("stakes", stakes)]
    if category:
        scopes.append(build_scope("category", category))
    if source:
        scopes.append(build_scope("agent", source))
    scopes += [build_scope("tag", tag) for tag in tags]
    return tuple(dict.fromkeys(scopes))


def apply_review(
    breakers: Breakers,
    *,
    decision: str,
    scopes: tuple[str, ...],
    sources: tuple[str, ...],
    before: Outcome | None,
    outcome: Outcome,
    at: datetime,
) -> Breakers:
    """Apply a review.

    `sources` stood behind the decision. `before` is the outcome of an earlier review of the same decision, which counts as one
    failure and may be cleared.
    """
    failure = Failure(
        decision=decision, at=at, sources=tuple(dict.fromkeys(map(normalize_label, sources)))
    )
    touched = {}
    for name in scopes:
        circuit = _get_circuit(breakers, name, at)
        # A success in a scope without any history would only create an empty circuit.
        if circuit != Circuit() or outcome in FAILED:
            touched[name] = _apply_review_to_circuit(circuit, failure, before, outcome)
    return _open_failing_circuits(breakers, touched, at)


def _get_circuit(breakers: Breakers, scope: str, at: datetime) -> Circuit:
    """The circuit of a scope as it is at this time; an empty one where nothing is known of the scope."""
    return _expire_probe(breakers.circuits.get(scope, Circuit()), at)


def _apply_review_to_circuit(
    circuit: Circuit, failure: Failure, before: Outcome | None, outcome: Outcome
) -> Circuit:
    decision, at = failure.decision, failure.at
    is_probe = circuit.probe is not None and circuit.probe.decision_id == decision
    if is_probe and outcome == "success":
        # The probe succeeded: the circuit closes, and its failures are forgotten.
        return Circuit()
    # Failures outside of the longest possible window can never count again.
    failures = circuit.failures[_count_failures_until(circuit, at - _REMEMBERED) :]
    # A second bad review of the same decision is not a second failure; a corrected review removes it.
    if outcome in FAILED and before not in FAILED:
        failures = (*failures, failure)
    elif before in FAILED and outcome not in FAILED:
        failures = tuple(one for one in failures if one.decision != decision)
    if not is_probe:
        return replace(circuit, failures=failures)
    # A probe with a partial outcome decides nothing: the circuit stays half-open, and the next decision is a new probe.
    return Circuit(failures=failures, opened_at=at if outcome in FAILED else circuit.opened_at)


def start_probes(
    breakers: Breakers, *, decision: str, scopes: tuple[str, ...], at: datetime
) -> Breakers:
    """Record a solo decision as the probe of these scopes."""
    deadline = at + timedelta(seconds=breakers.policy.probe_seconds)
    touched = {}
    for name in scopes:
        circuit = _get_circuit(breakers, name, at)
        # Only one probe at a time: a second decision must wait for the review of the first.
        if circuit.opened_at is not None and circuit.probe is None:
            probe = CircuitProbe(decision_id=decision, deadline=deadline)
            touched[name] = replace(circuit, probe=probe)
    return replace(breakers, circuits={**breakers.circuits, **touched})


def with_policy(breakers: Breakers, policy: Policy, at: datetime) -> Breakers:
    """Apply a new policy: a stricter one may open circuits at once, a milder one closes none."""
    settled = {name: _expire_probe(circuit, at) for name, circuit in breakers.circuits.items()}
    return _open_failing_circuits(replace(breakers, policy=policy), settled, at)


def reset_circuit(breakers: Breakers, name: str) -> Breakers:
    """Close a circuit by hand and forget its failures."""
    circuits = dict(breakers.circuits)
    circuits.pop(name, None)
    return replace(breakers, circuits=circuits)


def build_circuit_view(breakers: Breakers, name: str, now: datetime) -> CircuitView:
    """Return the state of a scope's circuit; an unknown one is closed."""
    circuit = _expire_probe(breakers.circuits.get(name, Circuit()), now)
    recent = _list_recent_failures(circuit, breakers.policy, now)
    view = CircuitView(
        scope=name,
        state="closed",
        failures=len(recent),
        threshold=breakers.policy.failures,
        sources=len(_collect_sources(recent)),
        least_sources=_find_least_sources(breakers.policy, name),
    )
    if circuit.opened_at is None:
        return view
    half_open_at = circuit.opened_at + timedelta(seconds=breakers.policy.cooldown_seconds)
    is_half = circuit.probe is not None or now >= half_open_at
    state: CircuitState = "half_open" if is_half else "open"
    return replace(
        view,
        state=state,
        opened_at=circuit.opened_at,
        half_open_at=half_open_at,
        probe=circuit.probe,
    )


def list_circuit_views(breakers: Breakers, now: datetime) -> tuple[CircuitView, ...]:
    """Return every circuit that is not closed or counts a failure, by name."""
    views = []
    for name in sorted(breakers.circuits):
        view = build_circuit_view(breakers, name, now)
        if view.state != "closed" or view.failures:
            views.append(view)
    return tuple(views)


def judge_solo_request(breakers: Breakers, ask: SoloRequest, now: datetime) -> SoloVerdict:
    """Judge whether this may be decided alone now; names every scope and rule that blocks it."""
    names = collect_scopes(
        category=ask.category, stakes=ask.stakes, tags=ask.tags, source=ask.source
    )
    circuits = [build_circuit_view(breakers, name, now) for name in names]
    blocked = tuple(one.scope for one in circuits if one.state == "open" or one.probe is not None)
    rules = _find_blocking_rules(breakers.policy, ask)
    if blocked or rules:
        return SoloVerdict(scopes=blocked, rules=rules)
    return SoloVerdict(probes=tuple(one.scope for one in circuits if one.state == "half_open"))


def find_failing_sources(
    breakers: Breakers, scopes: Iterable[str], now: datetime
) -> frozenset[str]:
    """Return the sources (normalized) whose recent failures count in these scopes, and those whose own circuit is not closed."""
    circuits = (breakers.circuits.get(name, Circuit()) for name in scopes)
    failing = {
        source
        for one in circuits
        for source in _collect_sources(_list_recent_failures(one, breakers.policy, now))
    }
    mark = build_scope("agent", "")
    stopped = (
        name.removeprefix(mark)
        for name, one in breakers.circuits.items()
        if name.startswith(mark) and one.opened_at
    )
    return frozenset(failing.union(stopped))


def _find_blocking_rules(policy: Policy, ask: SoloRequest) -> tuple[str, ...]:
    rules: list[str] = []
    category = normalize_label(ask.category)
    if ask.stakes in policy.deliberate_stakes:
        rules.append(f"stakes: what is {ask.stakes} is decided by a deliberation")
    if ask.stakes in CAREFUL and ask.confidence < policy.min_confidence:
        rules.append(
            f"confidence: {ask.confidence:g} is below the {policy.min_confidence:g} that {ask.stakes} stakes need"
        )
    if category and category in map(normalize_label, policy.deliberate_categories):
        rules.append(f"category: what is in {category!r} is decided by a deliberation")
    for each in policy.category_confidence:
        if (
            category
            and normalize_label(each.category) == category
            and ask.confidence < each.min_confidence
        ):
            rules.append(
                f"confidence: {ask.confidence:g} is below the {each.min_confidence:g} that the category {category!r} needs"
            )
    return tuple(rules)


def _expire_probe(circuit: Circuit, now: datetime) -> Circuit:
    """Remove a probe that was not reviewed in time: the circuit has been open again since the deadline."""
    if circuit.probe is None or now < circuit.probe.deadline:
        return circuit
    return replace(circuit, opened_at=circuit.probe.deadline, probe=None)


def _open_failing_circuits(
    breakers: Breakers, touched: Mapping[str, Circuit], at: datetime
) -> Breakers:
    """Store these circuits, and open those that have failed too often."""
    policy = breakers.policy
    circuits = {name: each for name, each in breakers.circuits.items() if name not in touched}
    for name, circuit in touched.items():
        if circuit.opened_at is None and _fails_too_often(circuit, policy, name, at):
            circuits[name] = replace(circuit, opened_at=at)
        # Empty circuits are dropped, so that memory does not grow with every scope that was ever named.
        elif circuit != Circuit():
            circuits[name] = circuit
    return replace(breakers, circuits=circuits)


def _fails_too_often(circuit: Circuit, policy: Policy, scope: str, at: datetime) -> bool:
    """Whether there are enough recent failures, and of enough different sources for a scope that many share."""
    recent = _list_recent_failures(circuit, policy, at)
    if len(recent) < policy.failures:
        return False
    return len(_collect_sources(recent)) >= _find_least_sources(policy, scope)


def _find_least_sources(policy: Policy, scope: str) -> int:
    if scope == GLOBAL:
        return policy.global_sources
    kind = scope.partition(":")[0]
    if kind == "agent":
        return 1
    if kind == "stakes":
        return policy.stakes_sources
    return policy.scope_sources


def _collect_sources(failures: Iterable[Failure]) -> set[str]:
    return {source for failure in failures for source in failure.sources}


def _list_recent_failures(circuit: Circuit, policy: Policy, now: datetime) -> tuple[Failure, ...]:
    """Return the failures within the sliding window."""
    return circuit.failures[
        _count_failures_until(circuit, now - timedelta(seconds=policy.window_seconds)) :
    ]


def _count_failures_until(circuit: Circuit, moment: datetime) -> int:
    """Return how many failures lie at or before a moment; they are in order of time."""
    return bisect_right(circuit.failures, moment, key=lambda failure: failure.at)


def validate_policy(policy: Policy) -> Policy:
    """Validate the policy; raises BadSetting."""
    validate_limits(policy)
    named = [normalize_label(each.category) for each in policy.category_confidence]
    for label in (*named, *map(normalize_label, policy.deliberate_categories)):
        if not label:
            raise BadSetting(
                "a category of the policy holds nothing but punctuation; name a category"
            )
    if len(set(named)) < len(named):
        raise BadSetting(f"category_confidence names a category twice: {', '.join(named)}")
    return policy
