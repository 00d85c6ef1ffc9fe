"""`moot decisions`, `moot obligations`, `moot trust`: what outlives a session."""

import sys
from typing import Any

import click

from moothall.app.moot import Moot
from moothall.domain.safe_text import one_line
from moothall.errors import UnknownDecision
from moothall.memory.facts import ObligationState, Outcome
from moothall.memory.obligations import RememberedObligation, list_obligations
from moothall.memory.remembered_decision import RememberedDecision
from moothall.memory.track_records import SourceTrust
from moothall.memory.validation import STAKES
from moothall.participants.local_user import name_local_door
from moothall.reports.decision import summarize_choice
from moothall.surfaces.cli import output

OUTCOMES = ("success", "partial", "failure", "abandoned")


@click.group(invoke_without_command=True, short_help="List, search and review past decisions.")
@click.option("--category", help="Only this category.")
@click.option("--outcome", type=click.Choice([*OUTCOMES, "unreviewed"]), help="Only this outcome.")
@click.option("--source", help="Only decisions in which this participant or model took part.")
@click.option("--limit", type=click.IntRange(1, 1_000), default=20, show_default=True)
@output.json_option
@click.pass_context
def decisions(ctx: click.Context, *, category: str | None, outcome: Any, source: str | None, limit: int, as_json: bool) -> None:
    """List past decisions, the newest first.

    \b
    moot decisions
    moot decisions search "long context"
    moot decisions review think_20261115_001 success
    """
    if ctx.invoked_subcommand is not None:
        return

    async def work() -> None:
        async with Moot() as moot:
            found = await (await moot.recall()).list_decisions(category=category, outcome=outcome, source=source, limit=limit)
            is_empty = not found and not await moot.memory.list_decisions(limit=1)
            found = await moot.memory.load_whole(found) if as_json else found
        if as_json:
            output.print_json([_build_decision_json(kept) for kept in found])
            return
        if not found:
            told = "No decisions yet. Every session that ends is stored here." if is_empty else "no decision matches"
            output.print_note(told)
        for kept in found:
            output.print_line(_format_decision(kept))

    output.run(work, as_json=as_json)


@decisions.command()
@click.argument("query")
@click.option("--category", help="Only this category.")
@click.option("--limit", type=click.IntRange(1, 100), default=10, show_default=True)
@output.json_option
def search(query: str, category: str | None, limit: int, as_json: bool) -> None:
    """Search past decisions by words in the topic, the decision and the arguments, and topics also by meaning.

    \b
    moot decisions search "长上下文"
    """

    async def work() -> None:
        async with Moot() as moot:
            memory = await moot.recall()
            hits = await memory.search(query, limit=limit, category=category)
            kept = {hit.decision: await memory.get(hit.decision) for hit in hits}
        if as_json:
            output.print_json([{"decision": hit.decision, "score": hit.score, "snippet": hit.snippet} for hit in hits])
            return
        if not hits:
            output.print_note("nothing found")
        for hit in hits:
            found = kept[hit.decision]
            if found is not None:
                output.print_line(f"{_format_decision(found)}\n    {one_line(hit.snippet)}")

    output.run(work, as_json=as_json)


@decisions.command()
@click.argument("decision")
@output.json_option
def show(decision: str, as_json: bool) -> None:
    """Show one decision: positions, outcome, the decisions that it builds on and those that build on it.

    \b
    moot decisions show think_20261115_001
    """

    async def work() -> None:
        async with Moot() as moot:
            memory = await moot.recall()
            kept = await memory.get(decision)
            if kept is None:
                raise UnknownDecision(f"no decision {decision!r} is stored; `moot decisions` lists them")
            chain = await memory.find_lineage(decision)
            (kept,) = await memory.load_whole([kept])
        if as_json:
            output.print_json({**_build_decision_json(kept), "chain": chain})
            return
        record = kept.record
        output.print_line(_format_decision(kept))
        output.print_line(f"  {one_line(record.decided) if record.decided else 'no decision'}")
        for member in record.members:
            first = f" first: {one_line(member.first)}" if member.first else ""
            sure = "" if member.confidence is None else f" ({member.confidence:.2f})"
            output.print_line(f"  {member.seat} [{one_line(member.source)}]: {member.position or 'no vote'}{sure}{first}")
        for text in record.dissent:
            output.print_line(f"  dissent: {one_line(text)}")
        for obligation in list_obligations(kept):
            output.print_line(f"  obligation {_format_obligation(obligation)}")
        for review in kept.reviews:
            output.print_line(f"  {review.at:%Y-%m-%d} {review.outcome}: {one_line(review.note)}")
        for name, links in (("built on", chain.built_on), ("basis of", chain.basis_of)):
            for link in links:
                output.print_line(f"  {name} {link.decision} ({link.outcome or 'not reviewed'}): {one_line(link.topic)}")
        if chain.stands_on_failure:
            output.print_line(f"  ! it builds on failed decisions: {', '.join(chain.failed)}")

    output.run(work, as_json=as_json)


@decisions.command()
@click.argument("decision")
@click.argument("outcome", type=click.Choice(OUTCOMES))
@click.option("--choice", default="", help="The choice that proved right, if known.")
@click.option("--note", default="", help="What happened.")
@click.option("--key", default="", help="Idempotency key: a repeated review counts once.")
@output.json_option
def review(decision: str, outcome: Outcome, *, choice: str, note: str, key: str, as_json: bool) -> None:
    """Report the outcome of a decision. Trust, error amplification and circuit breakers are computed from it.

    \b
    moot decisions review think_20261115_001 failure --note "the pilot missed its targets"
    """

    async def work() -> None:
        async with Moot() as moot:
            kept = await (await moot.recall()).review(decision, outcome, choice=choice, note=note, by="local", key=key)
            (kept,) = await moot.memory.load_whole([kept])
        if as_json:
            output.print_json(_build_decision_json(kept))
            return
        output.print_line(f"{decision}: {kept.outcome}")
        listed = list_obligations(kept)
        for each in listed:
            if each.state == "open" or (each.state == "failed" and outcome == "success"):
                output.print_line(f"  ! obligation {_format_obligation(each)}")
        if any(each.state == "open" for each in listed):
            output.print_note(f"Was it met, waived or failed? moot obligations settle {decision} NUMBER met")

    output.run(work, as_json=as_json)


@click.group(invoke_without_command=True, short_help="List and settle the conditions of decisions.")
@click.option("--open", "only_open", is_flag=True, help="Only those that are open.")
@click.option("--decision", help="Only those of this decision.")
@click.option("--limit", type=click.IntRange(1, 1_000), default=200, show_default=True)
@output.json_option
@click.pass_context
def obligations(ctx: click.Context, *, only_open: bool, decision: str | None, limit: int, as_json: bool) -> None:
    """List the conditions that decisions were carried with: who set each, what must hold, by when, and what became of it.

    \b
    moot obligations --open
    moot obligations --decision think_20261115_001
    moot obligations settle think_20261115_001 1 met --note "benchmarked on Monday"
    """
    if ctx.invoked_subcommand is not None:
        return

    async def work() -> None:
        async with Moot() as moot:
            found = await (await moot.recall()).list_obligations(decision=decision, only_open=only_open, limit=limit)
        if as_json:
            output.print_json(found)
            return
        if not found:
            output.print_note("no obligation is open" if only_open else "no obligations")
        for each in found:
            output.print_line(f"{each.decision}  {_format_obligation(each)}")

    output.run(work, as_json=as_json)


@obligations.command()
@click.argument("decision")
@click.argument("number", type=click.IntRange(1))
@click.argument("state", type=click.Choice(["met", "waived", "failed", "open"]))
@click.option("--note", default="", help="How it is known.")
@click.option("--key", default="", help="Idempotency key: a repeated report counts once.")
@output.json_option
def settle(decision: str, number: int, state: ObligationState, *, note: str, key: str, as_json: bool) -> None:
    """Report what became of an obligation: met, waived or failed; `open` takes that back.

    \b
    moot obligations settle think_20261115_001 1 failed --note "it was never measured"
    """

    async def work() -> None:
        async with Moot() as moot:
            memory = await moot.recall()
            found = await memory.settle_obligation(decision, number, state, note=note, by="local", key=key)
        output.print_json(found) if as_json else output.print_line(f"{decision}  {_format_obligation(found)}")

    output.run(work, as_json=as_json)


@decisions.command()
@click.argument("agent")
@click.argument("topic")
@click.argument("decision")
@click.option("--confidence", type=click.FloatRange(0, 1), required=True, help="The probability that it is right.")
@click.option("--category", default="", help="Its category.")
@click.option("--stakes", type=click.Choice(STAKES), default="medium", show_default=True)
@click.option("--tag", "tags", multiple=True, help="Repeatable.")
@click.option("--built-on", multiple=True, metavar="ID", help="An earlier decision that it builds on. Repeatable.")
@click.option("--reviewer", "reviewers", multiple=True, help="Who reviews if AGENT may not decide alone. Default: by trust.")
@click.option("--key", default="", help="Idempotency key: a repeated call counts once.")
@output.json_option
def record(agent: str, topic: str, decision: str, *, as_json: bool, **given: Any) -> None:
    """Record what AGENT decides alone, or open the deliberation that the rules require, with DECISION as its first proposal.

    Exits with 3 when a deliberation is required. `moot breakers check` asks without deciding.

    \b
    moot decisions record ada "Which cache?" "LRU" --confidence 0.8 --category caching
    """

    # Imported here: it brings the deliberations, and every other command on decisions would pay for them.
    from moothall.app.solo_decisions import SoloDecision, SoloDecisions

    async def work() -> int:
        wanted = SoloDecision(agent=agent, topic=topic, decision=decision, **given)
        async with Moot() as moot:
            done = await SoloDecisions(moot).decide(wanted, via=name_local_door())
        found = done.result
        if as_json:
            output.print_json(done)
        elif found.is_allowed:
            tries = f" (a probe of {', '.join(found.probes)})" if found.probes else ""
            output.print_line(f"{found.decision}: recorded{one_line(tries)}")
        else:
            output.print_line(f"a deliberation is required ({one_line(', '.join((*found.scopes, *found.rules)))})")
            output.print_line(f"{found.deliberation} is open, with the decision as the first proposal of {done.participants[0]}")
            free = done.participants[-1]
            output.print_line(
                f"reviewers: {', '.join(done.reviewers)}"
                if done.reviewers
                else f"no reviewer with a record is known: invite somebody (moot invite {found.deliberation} --seat {free})"
            )
        return output.DONE if found.is_allowed else output.WAITING

    sys.exit(output.run(work, as_json=as_json))


@click.command(short_help="Show the trust in participants and models.")
@click.argument("source", required=False)
@click.option("--category", default="", help="In this category.")
@output.json_option
def trust(source: str | None, category: str, as_json: bool) -> None:
    """Show the trust in a participant or model, computed from its stated confidences and the outcomes; 0.50 without a record.

    \b
    moot trust
    moot trust minski --category architecture
    """

    async def work() -> None:
        async with Moot() as moot:
            memory = await moot.recall()
            records = [record for record in await memory.sources() if source in {None, record.source}]
            standing = (await memory.compute_standings([source], category))[source] if source else None
            within = (
                await memory.compute_standings([record.source for record in records], category) if category and not source else {}
            )
            groups = await memory.amplification()
        if as_json:
            output.print_json(
                {
                    "sources": records,
                    "trust": None if standing is None else standing.trust,
                    "accuracy": None if standing is None else standing.accuracy,
                    "amplification": groups if source is None else [],
                }
            )
            return
        if source is not None and standing is not None:
            cases = records[0].cases if records else 0
            counted = f"trust {standing.trust:.2f}, accuracy {standing.accuracy:.2f}"
            output.print_line(f"{one_line(source)}: {counted} ({cases} reviewed cases in all)")
        for record in records:
            _show_source(record)
            if record.source in within:
                output.print_line(f"    in {one_line(category)}: trust {within[record.source].trust:.2f}")
        if not records and source is None:
            output.print_note("No track records yet: review decisions (`moot decisions review`).")
        for group in groups if source is None else ():
            factor = "–" if group.amplification is None else f"{group.amplification:.2f}"
            members = group.members_known + group.members_unknown
            blank = f"; {group.members_blank} of {members} members without a blind choice" if group.members_blank else ""
            blank += f", all of them in {group.cases_blank} of the cases" if group.cases_blank else ""
            output.print_line(
                f"{group.protocol}: group right in {group.group.right:g} of {group.group.of}, members alone in "
                f"{group.members.right:.1f} of {group.members.of}, error amplification {factor} ({group.cases} cases{blank})"
            )

    output.run(work, as_json=as_json)


def _format_decision(kept: RememberedDecision) -> str:
    record = kept.record
    sure = "" if record.confidence is None else f" {record.confidence:.2f}"
    what = "alone" if kept.is_alone else record.consensus_type or record.protocol
    outcome = kept.outcome or "not reviewed"
    worth = f"{record.strength}: " if record.strength and record.decided else ""
    decided = f"{worth}{summarize_choice(record.choice, record.decided)}" if record.decided else "undecided"
    return f"{kept.decision}  {record.closed_at:%Y-%m-%d}  {what}{sure}  {outcome}  {one_line(record.topic)}  → {decided}"


def _build_decision_json(kept: RememberedDecision) -> dict[str, Any]:
    return {
        "decision": kept.record,
        "outcome": kept.outcome,
        "reviews": kept.reviews,
        "alone": kept.is_alone,
        "obligations": list_obligations(kept),
    }


def _format_obligation(each: RememberedObligation) -> str:
    due = f" by {one_line(each.due)}" if each.due else ""
    note = f" ({one_line(each.note)})" if each.note else ""
    return f"{each.number} [{each.state}] {one_line(each.by)}: {one_line(each.text)}{due}{note}"


def _show_source(record: SourceTrust) -> None:
    brier = "–" if record.brier is None else f"{record.brier:.3f}"
    output.print_line(
        f"{one_line(record.source)}  trust {record.trust:.2f}  accuracy {record.accuracy:.2f}  cases {record.cases}  Brier "
        f"{brier}"
    )
    for each in record.categories:
        if each.category:
            within = "–" if each.brier is None else f"{each.brier:.3f}"
            output.print_line(
                f"    {one_line(each.category)}  trust {each.trust:.2f}  accuracy {each.accuracy:.2f}  cases {each.cases}  "
                f"Brier {within}"
            )
