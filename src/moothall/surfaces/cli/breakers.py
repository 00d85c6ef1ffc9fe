"""`moot breakers`: when one agent may not decide alone."""

from collections.abc import Iterable, Iterator
from typing import Any

import click

from moothall.domain.safe_text import one_line
from moothall.memory.breakers import CircuitView, Policy
from moothall.surfaces.api.breaker_shapes import BreakersOut, MayOut
from moothall.surfaces.api.breakers import BREAKER_METHODS
from moothall.surfaces.cli import output
from moothall.surfaces.cli.duration import Duration
from moothall.surfaces.cli.operations import Command

METHODS = {method.name: method for method in BREAKER_METHODS}


class CategoryRule(click.ParamType[dict[str, Any]]):
    """A category and the least confidence in it, `NAME=0.8`."""

    name = "NAME=CONFIDENCE"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> dict[str, Any]:
        category, _, least = str(value).rpartition("=")
        try:
            return {"category": category, "minConfidence": float(least)}
        except ValueError:
            self.fail(f"{value!r} is not a rule; write the category and a confidence from 0 to 1: security=0.8")


def show_breakers(found: BreakersOut) -> Iterator[str]:
    yield from map(format_circuit, found.breakers) if found.breakers else ["every circuit is closed"]
    yield from show_policy(found.policy)


def format_circuit(circuit: CircuitView) -> str:
    opens = f", a probe is allowed from {circuit.half_open_at:%Y-%m-%d %H:%M} UTC" if circuit.half_open_at else ""
    many = f", {circuit.sources} of {circuit.least_sources} sources" if circuit.least_sources > 1 else ""
    return f"{one_line(circuit.scope)}: {circuit.state} ({circuit.failures} of {circuit.threshold} failures{many}{opens})"


def show_permission(found: MayOut) -> Iterator[str]:
    if found.allowed:
        tries = f", as a probe of {', '.join(found.probe_for)}" if found.probe_for else ""
        yield f"{one_line(found.agent)} may decide this alone{one_line(tries)}"
        return
    yield f"{one_line(found.agent)} may not decide this alone: a deliberation is required"
    yield from (f"  {one_line(why)}" for why in (*(f"open: {scope}" for scope in found.open_circuits), *found.rules))
    yield f"  reviewers: {', '.join(found.reviewers) or 'none with a record is known'}"


def show_policy(policy: Policy) -> Iterable[str]:
    days, cooldown, probe = policy.window_seconds / 86_400, policy.cooldown_seconds / 3_600, policy.probe_seconds / 3_600
    least = [f"in {one_line(each.category)} not below {each.min_confidence:g}" for each in policy.category_confidence]
    return [
        f"rules: {policy.failures} failures in {days:g} days open a circuit: an agent's own; that of a category or tag if "
        f"{policy.scope_sources} different sources failed, of stakes if {policy.stakes_sources} did, the global one if "
        f"{policy.global_sources} did; after {cooldown:g} h one probe is allowed, to be reviewed within {probe:g} h",
        f"never alone at stakes: {', '.join(policy.deliberate_stakes) or 'none'}; in categories: "
        f"{', '.join(map(one_line, policy.deliberate_categories)) or 'none'}; confidence: at high stakes not below "
        f"{'; '.join((f'{policy.min_confidence:g}', *least))}",
    ]


def prepare_policy(given: dict[str, Any]) -> dict[str, Any]:
    """What is given replaces; `--no-stakes` and `--no-categories` clear."""
    changes = dict(given)
    cleared = {"deliberate_stakes"} if changes.pop("no_stakes") else set()
    cleared |= {"deliberate_categories", "category_confidence"} if changes.pop("no_categories") else set()
    return {name: [] if name in cleared and not value else value for name, value in changes.items()}


breakers = Command(
    method=METHODS["cstp.listBreakers"],
    show=show_breakers,
    help="Show the circuits that are not closed or count a failure, and the rules for deciding alone.",
    examples=(
        "moot breakers\nmoot breakers check ada --confidence 0.8 --category architecture\n"
        "moot breakers reset category:architecture\nmoot breakers policy --failures 5 --window 14d"
    ),
).build_group(
    "breakers",
    {
        "check": Command(
            method=METHODS["cstp.mayDecideAlone"],
            show=show_permission,
            help="Ask whether AGENT may decide alone; nothing is recorded. Exits with 5 if it may not.",
            examples="moot breakers check ada --confidence 0.8 --category architecture --stakes high",
            arguments=["agent"],
            required=["agent"],
            exit_code=lambda found: output.DONE if found.allowed else output.FAILED,
        ).build("check"),
        "reset": Command(
            method=METHODS["cstp.resetCircuit"],
            show=lambda circuit: [format_circuit(circuit)],
            examples='moot breakers reset category:architecture --note "the cause is fixed"',
            arguments=["scope"],
        ).build("reset"),
        "policy": Command(
            method=METHODS["cstp.setPolicy"],
            show=show_policy,
            help="Show the rules, or change them; omitted options keep their value, a repeatable one replaces its list.",
            examples=(
                "moot breakers policy\nmoot breakers policy --failures 5 --window 14d\n"
                "moot breakers policy --category security --category-confidence payments=0.9"
            ),
            flags={
                "window_seconds": "--window",
                "cooldown_seconds": "--cooldown",
                "probe_seconds": "--probe",
                "deliberate_stakes": "--stakes",
                "deliberate_categories": "--category",
            },
            types={
                **{name: Duration() for name in ("window_seconds", "cooldown_seconds", "probe_seconds")},
                "category_confidence": CategoryRule(),
            },
            extra=[
                click.Option(["--no-stakes"], is_flag=True, help="Remove the rule by stakes."),
                click.Option(["--no-categories"], is_flag=True, help="Remove the rules by category."),
            ],
            prepare=prepare_policy,
        ).build("policy"),
    },
)
