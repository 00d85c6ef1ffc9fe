"""`moot breakers`: when one agent may not decide alone."""

import sys
from typing import Any

import click

from moothall.app.moot import Moot
from moothall.app.solo_decisions import list_reviewers
from moothall.domain.safe_text import one_line
from moothall.domain.topic import Stakes
from moothall.memory.breakers import CircuitView, Policy
from moothall.memory.facts import CategoryConfidence
from moothall.memory.validation import STAKES
from moothall.surfaces.cli import output
from moothall.surfaces.cli.duration import Duration


@click.group(invoke_without_command=True, short_help="Show, ask and reset circuit breakers.")
@output.json_option
@click.pass_context
def breakers(ctx: click.Context, as_json: bool) -> None:
    """Show the circuits that are not closed or count a failure, and the rules for deciding alone.

    \b
    moot breakers
    moot breakers check ada --confidence 0.8 --category architecture
    moot breakers reset category:architecture
    moot breakers policy --failures 5 --window 14d
    """
    if ctx.invoked_subcommand is not None:
        return

    async def work() -> None:
        async with Moot() as moot:
            memory = await moot.recall()
            circuits, policy = await memory.breakers(), await memory.policy()
        if as_json:
            output.print_json({"breakers": circuits, "policy": policy})
            return
        for circuit in circuits:
            output.print_line(_format_circuit(circuit))
        if not circuits:
            output.print_line("every circuit is closed")
        _show_policy(policy)

    output.run(work, as_json=as_json)


@breakers.command()
@click.argument("agent")
@click.option("--confidence", type=click.FloatRange(0, 1), required=True, help="The probability that it would be right.")
@click.option("--category", default="", help="The category of the decision.")
@click.option("--stakes", type=click.Choice(STAKES), default="medium", show_default=True)
@click.option("--tag", "tags", multiple=True, help="Repeatable.")
@output.json_option
def check(agent: str, *, confidence: float, category: str, stakes: Stakes, tags: tuple[str, ...], as_json: bool) -> None:
    """Ask whether AGENT may decide alone; nothing is recorded. Exits with 5 if it may not.

    \b
    moot breakers check ada --confidence 0.8 --category architecture --stakes high
    """

    async def work() -> int:
        async with Moot() as moot:
            memory = await moot.recall()
            found = await memory.may_decide_alone(agent, confidence, category=category, stakes=stakes, tags=tags)
        if as_json:
            output.print_json({"allowed": found.is_allowed, **_as_fields(found.verdict), "reviewers": list_reviewers(found)})
        elif found.is_allowed:
            tries = f", as a probe of {', '.join(found.verdict.probes)}" if found.verdict.probes else ""
            output.print_line(f"{one_line(agent)} may decide this alone{one_line(tries)}")
        else:
            output.print_line(f"{one_line(agent)} may not decide this alone: a deliberation is required")
            for why in (*(f"open: {scope}" for scope in found.verdict.scopes), *found.verdict.rules):
                output.print_line(f"  {one_line(why)}")
            output.print_line(f"  reviewers: {', '.join(list_reviewers(found)) or 'none with a record is known'}")
        return output.DONE if found.is_allowed else output.FAILED

    sys.exit(output.run(work, as_json=as_json))


@breakers.command()
@click.argument("scope")
@click.option("--note", default="", help="Stored with the record.")
@click.option("--key", default="", help="Idempotency key: a repeated reset counts once.")
@output.json_option
def reset(scope: str, note: str, key: str, as_json: bool) -> None:
    """Close a circuit and delete its failure count: global, category:X, stakes:X, agent:X or tag:X.

    \b
    moot breakers reset category:architecture --note "the cause is fixed"
    """

    async def work() -> None:
        async with Moot() as moot:
            circuit = await (await moot.recall()).reset_circuit(scope, by="local", note=note, key=key)
        output.print_json(circuit) if as_json else output.print_line(_format_circuit(circuit))

    output.run(work, as_json=as_json)


class CategoryRule(click.ParamType[CategoryConfidence]):
    """A category and the least confidence in it, `NAME=0.8`."""

    name = "NAME=CONFIDENCE"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> CategoryConfidence:
        category, _, least = str(value).rpartition("=")
        try:
            return CategoryConfidence(category=category, least=float(least))
        except ValueError:
            self.fail(f"{value!r} is not a rule; write the category and a confidence from 0 to 1: security=0.8")


@breakers.command()
@click.option("--failures", type=click.IntRange(1, 1_000), help="Failures in the window that open a circuit.")
@click.option("--window", "window_seconds", type=Duration(), help="The sliding window.")
@click.option("--cooldown", "cooldown_seconds", type=Duration(), help="How long a circuit stays open before a probe.")
@click.option("--probe", "probe_seconds", type=Duration(), help="Deadline for the review of a probe.")
@click.option("--least-confidence", type=click.FloatRange(0, 1), help="Minimum confidence for deciding alone at high stakes.")
@click.option("--stakes", "deliberate_stakes", type=click.Choice(STAKES), multiple=True, help="Never alone at these. Repeatable.")
@click.option("--category", "deliberate_categories", multiple=True, help="Never alone in this category. Repeatable.")
@click.option(
    "--category-confidence", type=CategoryRule(), multiple=True, help="Minimum confidence for deciding alone in it. Repeatable."
)
@click.option("--no-stakes", is_flag=True, help="Remove the rule by stakes.")
@click.option("--no-categories", is_flag=True, help="Remove the rules by category.")
@click.option("--scope-sources", type=click.IntRange(2, 1_000), help="Sources that must fail to open a category or tag.")
@click.option("--stakes-sources", type=click.IntRange(2, 1_000), help="Sources that must fail to open a level of stakes.")
@click.option("--global-sources", type=click.IntRange(2, 1_000), help="Sources that must fail to open the global circuit.")
@click.option("--key", default="", help="Idempotency key: a repeated change counts once.")
@output.json_option
def policy(*, no_stakes: bool, no_categories: bool, key: str, as_json: bool, **given: Any) -> None:
    """Show the rules, or change them from now on; omitted options keep their value, a repeatable one replaces its list.

    \b
    moot breakers policy
    moot breakers policy --failures 5 --window 14d
    moot breakers policy --category security --category-confidence payments=0.9
    """
    changes = {name: value for name, value in given.items() if value not in {None, ()}}
    if no_stakes:
        changes = {"deliberate_stakes": (), **changes}
    if no_categories:
        changes = {"deliberate_categories": (), "category_confidence": (), **changes}

    async def work() -> None:
        async with Moot() as moot:
            after = await moot.memory.change_policy(changes, by="local", key=key)
        output.print_json(after) if as_json else _show_policy(after)

    output.run(work, as_json=as_json)


def _as_fields(verdict: Any) -> dict[str, Any]:
    return {"open_circuits": verdict.scopes, "rules": verdict.rules, "probe_for": verdict.probes}


def _format_circuit(circuit: CircuitView) -> str:
    opens = f", a probe is allowed from {circuit.half_open_at:%Y-%m-%d %H:%M} UTC" if circuit.half_open_at else ""
    many = f", {circuit.sources} of {circuit.least_sources} sources" if circuit.least_sources > 1 else ""
    return f"{one_line(circuit.scope)}: {circuit.state} ({circuit.failures} of {circuit.threshold} failures{many}{opens})"


def _show_policy(policy: Policy) -> None:
    days, cooldown, probe = policy.window_seconds / 86_400, policy.cooldown_seconds / 3_600, policy.probe_seconds / 3_600
    output.print_line(
        f"rules: {policy.failures} failures in {days:g} days open a circuit: an agent's own; that of a category or tag if "
        f"{policy.scope_sources} different sources failed, of stakes if {policy.stakes_sources} did, the global one if "
        f"{policy.global_sources} did; after "
        f"{cooldown:g} h one probe is allowed, to be reviewed within {probe:g} h"
    )
    least = [f"in {one_line(each.category)} not below {each.least:g}" for each in policy.category_confidence]
    output.print_line(
        f"never alone at stakes: {', '.join(policy.deliberate_stakes) or 'none'}; in categories: "
        f"{', '.join(map(one_line, policy.deliberate_categories)) or 'none'}; confidence: at high stakes not below "
        f"{'; '.join((f'{policy.least_confidence:g}', *least))}"
    )
