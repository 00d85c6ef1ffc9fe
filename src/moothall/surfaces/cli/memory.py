"""`moot decisions`, `obligations`, `trust`, `breakers`, `reliability`: what outlives a session, and who may not decide alone."""

from collections.abc import Iterable, Iterator
from typing import Any, Final

import click

from moothall.domain.roster import StandIn
from moothall.domain.safe_text import one_line, strip_control
from moothall.locale.catalogues import SHARED_REPORT
from moothall.memory.breakers import CircuitView
from moothall.memory.facts import Policy
from moothall.memory.remembered_decision import ALONE, RememberedObligation
from moothall.memory.track_records import Amplification, CategoryTrust, SourceTrust
from moothall.reports.memo_summary import join_badge
from moothall.scoring.reliability import ReliabilityBin
from moothall.surfaces.api.breakers import METHODS as BREAKER_METHODS
from moothall.surfaces.api.breakers import BreakersOut, MayOut, RecordOut
from moothall.surfaces.api.memory import METHODS as MEMORY_METHODS
from moothall.surfaces.api.memory import (
    DecisionHitOut,
    DecisionOut,
    DecisionsOut,
    ObligationsOut,
    ReliabilityOut,
    SearchOut,
)
from moothall.surfaces.api.method import Call, encode_json
from moothall.surfaces.cli import output
from moothall.surfaces.cli.arguments import Duration
from moothall.surfaces.cli.main import LazyCommand
from moothall.surfaces.cli.operations import Command, call_command, perform
from moothall.surfaces.cli.output import Note

METHODS = {**MEMORY_METHODS, **BREAKER_METHODS}
WIDTH: Final = 40
"""Characters of the plot of `moot reliability` from 0 to 1."""


def show_decisions(result: DecisionsOut) -> Iterable[str]:
    return (
        map(format_decision, result.decisions)
        if result.decisions
        else [
            Note(
                "no decision matches; what sessions decide is stored here, except what demos and the embedded model say"
            )
        ]
    )


def format_decision(each: DecisionOut) -> str:
    """Return one line: when, by whom, how it turned out, the question, and what was decided."""
    day, outcome = f"{each.closed_at.astimezone():%Y-%m-%d}", each.outcome or "not reviewed"
    how = f"{_mark(each.stand_in)}{_format_badge(each)}"
    return f"{each.decision_id}  {day}  {how}  {outcome}  {one_line(each.topic)}  → {_format_decided(each)}"


def format_chance(each: DecisionOut) -> str:
    """Return how likely it was said to be right, and how often such decisions were; empty where there is no figure."""
    if each.confidence is None:
        return ""
    chance = f"chance that it is right: {each.confidence:.2f}"
    if each.track_record is None:
        return chance
    return f"{chance} (of {each.track_record.cases} like this {each.track_record.right} right)"


def _format_badge(each: DecisionOut | DecisionHitOut) -> str:
    """Return how a decision came about, with what to mind of it; a source that decided by itself was alone."""
    return one_line(join_badge(each.badge or ALONE, each.reservation))


def _mark(stand_in: StandIn) -> str:
    """Say that an answer file spoke, before what would else read as a decision (M-17)."""
    return "(answer file) " if stand_in == "script" else ""


def _format_decided(each: DecisionOut | DecisionHitOut) -> str:
    if not each.decision:
        return "undecided"
    if each.what:
        return one_line(each.what)
    # Imported here: only what a source decided alone has no memo.
    from moothall.reports.decision import summarize_choice

    return summarize_choice(each.choice, each.decision)


def show_search(result: SearchOut) -> Iterator[str]:
    for hit in result.decisions:
        how = f"{_mark(hit.stand_in)}{_format_badge(hit)}"
        outcome = hit.outcome or "not reviewed"
        yield f"{hit.decision_id}  {how}  {outcome}  {one_line(hit.topic)}  → {_format_decided(hit)}"
        if hit.snippet:
            yield f"    {mark_words(hit.snippet, hit.marks)}"
    for thread in result.threads:
        yield f"thread {one_line(thread.thread)} [{thread.status}]: {one_line(thread.title)} (decisions: {thread.decisions})"
    for source in result.sources:
        yield f"trust in {one_line(source.source)}: {source.trust:.2f} (reviewed cases: {source.cases})"
    for session in result.deliberations:
        yield f"{session.session}  {session.status}: {one_line(session.topic)}"
    if not (result.decisions or result.threads or result.sources or result.deliberations):
        yield Note("nothing found")


def mark_words(text: str, marks: Iterable[tuple[int, int]]) -> str:
    """Return an excerpt with these words in bold, which a pipe does not get."""
    parts: list[str] = []
    end = 0
    for first, behind in marks:
        parts.append(strip_control(text[end:first]))
        parts.append(click.style(strip_control(text[first:behind]), bold=True))
        end = behind
    parts.append(strip_control(text[end:]))
    return "".join(parts)


def show_review(each: DecisionOut) -> Iterator[str]:
    last = each.reviews[-2].outcome if len(each.reviews) > 1 else each.outcome
    before = "" if last == each.outcome else f" (it was {last} before)"
    yield f"{each.decision_id}: {each.outcome}{before}"
    for obligation in each.obligations:
        if obligation.state == "open" or (
            obligation.state == "failed" and each.outcome == "success"
        ):
            yield f"  ! obligation {format_obligation(obligation)}"
    if any(obligation.state == "open" for obligation in each.obligations):
        yield Note(
            f"Was it met, waived or failed? moot obligations settle {each.decision_id} NUMBER met"
        )


def show_obligations(result: ObligationsOut) -> Iterator[str]:
    if not result.obligations:
        yield Note("no obligation matches")
    for each in result.obligations:
        yield from show_obligation(each)


def show_obligation(each: RememberedObligation) -> Iterable[str]:
    return [f"{each.decision_id}  {format_obligation(each)}"]


def format_obligation(each: RememberedObligation) -> str:
    due = f" by {one_line(each.due)}" if each.due else ""
    note = f" ({one_line(each.note)})" if each.note else ""
    return f"{each.number} [{each.state}] {one_line(each.by)}: {one_line(each.text)}{due}{note}"


def show_recorded(result: RecordOut) -> Iterator[str]:
    if result.status == "recorded":
        tries = f" (a probe of {', '.join(result.probe_for)})" if result.probe_for else ""
        yield f"{result.decision_id}: recorded{one_line(tries)}"
        return
    yield f"a deliberation is required ({one_line(', '.join((*result.open_circuits, *result.rules)))})"
    yield f"{result.deliberation_id} is open, with the decision as the first proposal of {result.participants[0]}"
    free = f"moot invite {result.deliberation_id} --seat {result.participants[-1]}"
    known = ", ".join(result.reviewers)
    yield (
        f"reviewers: {known}"
        if known
        else f"no reviewer with a record is known: invite one ({free})"
    )


decisions = Command(
    method=METHODS["cstp.listDecisions"],
    show=show_decisions,
    examples='moot decisions\nmoot decisions search "long context"\nmoot decisions review think_20261115_001 success',
).build_group(
    "decisions",
    {
        "search": Command(
            method=METHODS["cstp.searchDecisions"],
            show=show_search,
            examples='moot decisions search "长上下文"',
            arguments=["query"],
        ).build("search"),
        "show": LazyCommand("show", "decision_show"),
        "schema": LazyCommand("schema", "tools"),
        "review": Command(
            method=METHODS["cstp.reviewDecision"],
            show=show_review,
            examples='moot decisions review think_20261115_001 failure --note "the pilot missed its targets"',
            arguments=["decision_id", "outcome"],
        ).build("review"),
        "record": Command(
            method=METHODS["cstp.recordDecision"],
            show=show_recorded,
            help=(
                "Record what AGENT decides alone, or open the deliberation that the rules require, with DECISION as its first "
                "proposal.\n\nExits with 3 when a deliberation is required. `moot breakers check` asks without deciding."
            ),
            examples='moot decisions record ada "Which cache?" "LRU" --confidence 0.8 --category caching',
            arguments=["agent", "topic", "decision"],
            required=["agent"],
            flags={"participants": "--reviewer"},
            exit_code=lambda result: output.DONE if result.status == "recorded" else output.WAITING,
        ).build("record"),
    },
)

obligations = Command(
    method=METHODS["cstp.listObligations"],
    show=show_obligations,
    examples=(
        "moot obligations --open\nmoot obligations --decision think_20261115_001\n"
        'moot obligations settle think_20261115_001 1 met --note "benchmarked on Monday"'
    ),
    flags={"only_open": "--open", "decision_id": "--decision"},
).build_group(
    "obligations",
    {
        "settle": Command(
            method=METHODS["cstp.settleObligation"],
            show=show_obligation,
            examples='moot obligations settle think_20261115_001 1 failed --note "it was never measured"',
            arguments=["decision_id", "number", "state"],
        ).build("settle")
    },
)


@click.command()
@click.argument("source", required=False)
@click.option("--category", default="", help="In this category.")
@call_command
async def trust(call: Call, source: str | None, category: str) -> output.CommandResult:
    """Show the trust in participants and models.

    It is computed from the confidences that they stated and the outcomes; 0.50 without a record.

    \b
    moot trust
    moot trust minski --category architecture
    """
    one, every, groups = (
        METHODS[f"cstp.{name}"]
        for name in ("getSourceTrust", "listSources", "getAmplificationStats")
    )
    names = (
        [source] if source else [each.source for each in (await perform(every, call, {})).sources]
    )
    sources = [await perform(one, call, {"source": name, "category": category}) for name in names]
    protocols = [] if source else (await perform(groups, call, {})).protocols
    rows, figures = map(encode_json, sources), [encode_json(each) for each in protocols]
    whole = next(rows) if source else {"sources": list(rows), "protocols": figures}
    return output.CommandResult(json=whole, lines=show_trust(sources, protocols))


def show_trust(sources: list[SourceTrust], protocols: list[Amplification]) -> Iterator[str]:
    if not sources:
        yield Note("No track records yet: review decisions (`moot decisions review`).")
    for each in sources:
        within = f" in {one_line(each.category)}" if each.category else ""
        quoted = (
            f"  quotations held {each.quotations_held} of {each.quotations}"
            if each.quotations
            else ""
        )
        yield f"{one_line(each.source)}{within}  {_format_trust(each)}{quoted}"
        yield from (
            f"    {one_line(inner.category)}  {_format_trust(inner)}"
            for inner in each.categories
            if inner.category
        )
        if not each.cases:
            yield Note(
                f"{one_line(each.source)} has no reviewed decision: these are the figures that everyone begins with"
            )
    for group in protocols:
        factor = "–" if group.amplification is None else f"{group.amplification:.2f}"
        members = group.members_known + group.members_unknown
        blank = (
            f"; {group.members_blank} of {members} members without a blind choice"
            if group.members_blank
            else ""
        )
        blank += f", all of them in {group.cases_blank} of the cases" if group.cases_blank else ""
        yield (
            f"{group.protocol}: group right in {group.group.right:g} of {group.group.of}, members alone in "
            f"{group.members.right:.1f} of {group.members.of}, error amplification {factor} (cases: {group.cases}{blank})"
        )


def _format_trust(each: SourceTrust | CategoryTrust) -> str:
    brier = "–" if each.brier is None else f"{each.brier:.3f}"
    return (
        f"trust {each.trust:.2f}  accuracy {each.accuracy:.2f}  cases {each.cases}  Brier {brier}"
    )


class CategoryRule(click.ParamType[dict[str, Any]]):
    """A category and the least confidence in it, `NAME=0.8`."""

    name = "NAME=CONFIDENCE"

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> dict[str, Any]:
        category, _, least = str(value).rpartition("=")
        try:
            return {"category": category, "minConfidence": float(least)}
        except ValueError:
            self.fail(
                f"{value!r} is not a rule; write the category and a confidence from 0 to 1: security=0.8"
            )


def show_breakers(result: BreakersOut) -> Iterator[str]:
    yield from (
        map(format_circuit, result.breakers) if result.breakers else ["every circuit is closed"]
    )
    yield from show_policy(result.policy)


def format_circuit(circuit: CircuitView) -> str:
    opens = (
        f", a probe is allowed from {output.format_local(circuit.half_open_at)}"
        if circuit.half_open_at
        else ""
    )
    many = (
        f", {circuit.sources} of {circuit.least_sources} sources"
        if circuit.least_sources > 1
        else ""
    )
    return f"{one_line(circuit.scope)}: {circuit.state} ({circuit.failures} of {circuit.threshold} failures{many}{opens})"


def show_permission(result: MayOut) -> Iterator[str]:
    if result.allowed:
        tries = f", as a probe of {', '.join(result.probe_for)}" if result.probe_for else ""
        yield f"{one_line(result.agent)} may decide this alone{one_line(tries)}"
        return
    yield f"{one_line(result.agent)} may not decide this alone: a deliberation is required"
    for scope in result.open_circuits:
        yield f"  open: {one_line(scope)}"
    for rule in result.rules:
        yield f"  {one_line(rule)}"
    yield f"  reviewers: {', '.join(result.reviewers) or 'none with a record is known'}"


def show_policy(policy: Policy) -> Iterable[str]:
    days, cooldown, probe = (
        policy.window_seconds / 86_400,
        policy.cooldown_seconds / 3_600,
        policy.probe_seconds / 3_600,
    )
    least = [f"{policy.min_confidence:g}"]
    for each in policy.category_confidence:
        least.append(f"in {one_line(each.category)} not below {each.min_confidence:g}")
    return [
        f"rules: {policy.failures} failures in {days:g} days open a circuit: an agent's own; that of a category or tag if "
        f"{policy.scope_sources} different sources failed, of stakes if {policy.stakes_sources} did, the global one if "
        f"{policy.global_sources} did; after {cooldown:g} h one probe is allowed, to be reviewed within {probe:g} h",
        f"never alone at stakes: {', '.join(policy.deliberate_stakes) or 'none'}; in categories: "
        f"{', '.join(map(one_line, policy.deliberate_categories)) or 'none'}; confidence: at high stakes not below "
        f"{'; '.join(least)}",
    ]


def prepare_policy(given: dict[str, Any]) -> dict[str, Any]:
    """What is given replaces; `--no-stakes` and `--no-categories` clear."""
    changes = dict(given)
    cleared: list[str] = []
    if changes.pop("no_stakes"):
        cleared.append("deliberate_stakes")
    if changes.pop("no_categories"):
        cleared += ["deliberate_categories", "category_confidence"]
    for name in cleared:
        if not changes.get(name):
            changes[name] = []
    return changes


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
            exit_code=lambda result: output.DONE if result.allowed else output.FAILED,
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
                **{
                    name: Duration()
                    for name in ("window_seconds", "cooldown_seconds", "probe_seconds")
                },
                "category_confidence": CategoryRule(),
            },
            extra=[
                click.Option(["--no-stakes"], is_flag=True, help="Remove the rule by stakes."),
                click.Option(
                    ["--no-categories"], is_flag=True, help="Remove the rules by category."
                ),
            ],
            prepare=prepare_policy,
        ).build("policy"),
    },
)


def show_reliability(result: ReliabilityOut) -> Iterator[str]:
    yield from _show_estimates(result)
    if not result.groups and not (result.forecasts or result.numbers):
        yield Note(
            "Nothing to compare yet: review decisions (`moot decisions review`) as success or failure."
        )
        return
    words = SHARED_REPORT["en"]
    for group in result.groups:
        said = (
            ""
            if group.said is None
            else f"; said {group.said:.2f} on average, Brier {group.brier:.3f}"
        )
        family = f" ({one_line(group.family)})" if group.family else ""
        share = f"{group.right} of {group.cases} right ({group.right / group.cases:.0%})"
        agreed = {**words.consensus_types, **words.agreement_kinds}.get(
            group.agreement, group.agreement
        )
        yield f"{group.protocol}, {agreed}{family}: {share}{said}"
    if result.bins:
        yield ""
        yield f"{'said':<11}{'share right, │ marks what was said':<{WIDTH + 2}}right of cases"
        yield from map(draw_bin, result.bins)


def _show_estimates(result: ReliabilityOut) -> Iterator[str]:
    """Say how forecasts and estimates of numbers did, by their own scores."""
    forecasts, numbers = result.forecasts, result.numbers
    if forecasts is not None:
        scores = f"Brier {forecasts.brier:.3f}, log score {forecasts.log_score:.3f}"
        yield f"forecasts: {forecasts.cases} reviewed, {scores}"
    if numbers is not None:
        share = f"{numbers.within} of {numbers.cases} within the range of the blind estimates"
        yield f"numbers: {numbers.cases} reviewed, off by {numbers.error:.0%} (median), {share}"


def draw_bin(each: ReliabilityBin) -> str:
    """Return one line of the plot: a bar as long as the share that was right, and a mark where it should have ended."""
    filled, mark = round(each.right / each.cases * WIDTH), min(round(each.said * WIDTH), WIDTH - 1)
    bar = ["█" if place < filled else "·" for place in range(WIDTH)]
    bar[mark] = "│"
    return f"{each.low:.1f} – {each.high:.1f}  {''.join(bar)}  {each.right} of {each.cases} ({each.right / each.cases:.0%})"


def show_csv(result: ReliabilityOut) -> Iterator[str]:
    yield "protocol,agreement,family,low,high,cases,right,said"
    for group in result.groups:
        family = group.family.replace('"', '""')
        for each in group.bins:
            figures = f"{each.low},{each.high},{each.cases},{each.right},{each.said}"
            yield one_line(f'{group.protocol},{group.agreement},"{family}",{figures}')


reliability = Command(
    method=METHODS["cstp.getReliability"],
    show=show_reliability,
    examples="moot reliability\nmoot reliability --protocol debate\nmoot reliability csv > reliability.csv",
    help="Show how often decisions proved right beside how sure they were said to be. Counted from reviews.",
).build_group(
    "reliability",
    {
        "csv": Command(
            method=METHODS["cstp.getReliability"],
            show=show_csv,
            examples="moot reliability csv > reliability.csv",
            help="Print the same as CSV: one line for each kind of decision and each tenth of confidence.",
        ).build("csv")
    },
)
