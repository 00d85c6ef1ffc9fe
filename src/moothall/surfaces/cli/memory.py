"""`moot decisions`, `moot obligations`, `moot trust`: what outlives a session."""

from collections.abc import Iterable, Iterator
from typing import Any

import click

from moothall.domain.safe_text import one_line
from moothall.memory.amplification import Amplification
from moothall.memory.obligations import RememberedObligation
from moothall.memory.remembered_decision import ALONE
from moothall.memory.track_records import CategoryTrust
from moothall.reports.decision import summarize_choice
from moothall.surfaces.api.breaker_shapes import RecordOut
from moothall.surfaces.api.breakers import BREAKER_METHODS
from moothall.surfaces.api.memory import MEMORY_METHODS
from moothall.surfaces.api.memory_shapes import DecisionOut, DecisionsOut, ObligationsOut, SearchOut, TrustOut
from moothall.surfaces.cli import output
from moothall.surfaces.cli.main import LazyCommand
from moothall.surfaces.cli.operations import Command, Note, call_here, perform, print_json_or_lines

METHODS = {method.name: method for method in (*MEMORY_METHODS, *BREAKER_METHODS)}


def show_decisions(found: DecisionsOut) -> Iterable[str]:
    return (
        map(format_decision, found.decisions)
        if found.decisions
        else [Note("no decision matches; every session that ends is stored here")]
    )


def format_decision(each: DecisionOut) -> str:
    sure = "" if each.confidence is None else f" {each.confidence:.2f}"
    what = ALONE if each.protocol == ALONE else each.consensus_type or each.protocol
    worth = f"{each.strength}: " if each.strength and each.decision else ""
    decided = f"{worth}{summarize_choice(each.choice, each.decision)}" if each.decision else "undecided"
    outcome = each.outcome or "not reviewed"
    return f"{each.decision_id}  {each.closed_at:%Y-%m-%d}  {what}{sure}  {outcome}  {one_line(each.topic)}  → {decided}"


def show_search(found: SearchOut) -> Iterator[str]:
    for hit in found.decisions:
        worth = f"{hit.strength}: " if hit.strength and hit.decision else ""
        decided = f"{worth}{one_line(hit.decision or 'undecided')}"
        yield f"{hit.decision_id}  {hit.outcome or 'not reviewed'}  {one_line(hit.topic)}  → {decided}"
        yield f"    {one_line(hit.snippet)}"
    for thread in found.threads:
        yield f"thread {one_line(thread.thread)} [{thread.status}]: {one_line(thread.title)} ({thread.decisions} decisions)"
    for source in found.sources:
        yield f"trust in {one_line(source.source)}: {source.trust:.2f} ({source.cases} reviewed cases)"
    for session in found.deliberations:
        yield f"{session.session_id}  {session.status}: {one_line(session.topic)}"
    if not (found.decisions or found.threads or found.sources or found.deliberations):
        yield Note("nothing found")


def show_review(each: DecisionOut) -> Iterator[str]:
    yield f"{each.decision_id}: {each.outcome}"
    for obligation in each.obligations:
        if obligation.state == "open" or (obligation.state == "failed" and each.outcome == "success"):
            yield f"  ! obligation {format_obligation(obligation)}"
    if any(obligation.state == "open" for obligation in each.obligations):
        yield Note(f"Was it met, waived or failed? moot obligations settle {each.decision_id} NUMBER met")


def show_obligations(found: ObligationsOut) -> Iterator[str]:
    if not found.obligations:
        yield Note("no obligation matches")
    for each in found.obligations:
        yield from show_obligation(each)


def show_obligation(each: RememberedObligation) -> Iterable[str]:
    return [f"{each.decision_id}  {format_obligation(each)}"]


def format_obligation(each: RememberedObligation) -> str:
    due = f" by {one_line(each.due)}" if each.due else ""
    note = f" ({one_line(each.note)})" if each.note else ""
    return f"{each.number} [{each.state}] {one_line(each.by)}: {one_line(each.text)}{due}{note}"


def show_recorded(found: RecordOut) -> Iterator[str]:
    if found.status == "recorded":
        tries = f" (a probe of {', '.join(found.probe_for)})" if found.probe_for else ""
        yield f"{found.decision_id}: recorded{one_line(tries)}"
        return
    yield f"a deliberation is required ({one_line(', '.join((*found.open_circuits, *found.rules)))})"
    yield f"{found.deliberation_id} is open, with the decision as the first proposal of {found.participants[0]}"
    free = f"moot invite {found.deliberation_id} --seat {found.participants[-1]}"
    known = ", ".join(found.reviewers)
    yield f"reviewers: {known}" if known else f"no reviewer with a record is known: invite somebody ({free})"


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
            exit_code=lambda found: output.DONE if found.status == "recorded" else output.WAITING,
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
@output.json_option
def trust(source: str | None, category: str, as_json: bool) -> None:
    """Show the trust in participants and models.

    It is computed from the confidences that they stated and the outcomes; 0.50 without a record.

    \b
    moot trust
    moot trust minski --category architecture
    """
    one, every, groups = (METHODS[f"cstp.{name}"] for name in ("getSourceTrust", "listSources", "getAmplificationStats"))

    async def work() -> tuple[list[TrustOut], list[Amplification]]:
        async def ask(call: Any) -> tuple[list[TrustOut], list[Amplification]]:
            names = [source] if source else [each.source for each in (await perform(every, call, {})).sources]
            sources = [await perform(one, call, {"source": name, "category": category}) for name in names]
            return sources, [] if source else (await perform(groups, call, {})).protocols

        return await call_here(ask)

    sources, protocols = output.run(work, as_json=as_json)
    if as_json and source:
        output.print_json(one.encode(sources[0]))
    elif as_json:
        shown = [one.encode(each) for each in sources]
        output.print_json({"sources": shown, **groups.encode(groups.result(protocols=protocols))})
    else:
        print_json_or_lines(show_trust(sources, protocols))


def show_trust(sources: list[TrustOut], protocols: list[Amplification]) -> Iterator[str]:
    if not sources:
        yield Note("No track records yet: review decisions (`moot decisions review`).")
    for each in sources:
        within = f" in {one_line(each.category)}" if each.category else ""
        yield f"{one_line(each.source)}{within}  {_format_trust(each)}"
        yield from (f"    {one_line(inner.category)}  {_format_trust(inner)}" for inner in each.categories if inner.category)
    for group in protocols:
        factor = "–" if group.amplification is None else f"{group.amplification:.2f}"
        members = group.members_known + group.members_unknown
        blank = f"; {group.members_blank} of {members} members without a blind choice" if group.members_blank else ""
        blank += f", all of them in {group.cases_blank} of the cases" if group.cases_blank else ""
        yield (
            f"{group.protocol}: group right in {group.group.right:g} of {group.group.of}, members alone in "
            f"{group.members.right:.1f} of {group.members.of}, error amplification {factor} ({group.cases} cases{blank})"
        )


def _format_trust(each: TrustOut | CategoryTrust) -> str:
    brier = "–" if each.brier is None else f"{each.brier:.3f}"
    return f"trust {each.trust:.2f}  accuracy {each.accuracy:.2f}  cases {each.cases}  Brier {brier}"
