"""`moot decisions show`: one decision, and what led to it."""

from collections.abc import Iterator

from moothall.domain.safe_text import one_line
from moothall.surfaces.api.decisions import METHODS, DecisionTraceOut
from moothall.surfaces.cli.memory import format_chance, format_decision, format_obligation
from moothall.surfaces.cli.operations import Command


def show_decision(each: DecisionTraceOut) -> Iterator[str]:
    yield format_decision(each)
    yield f"  {one_line(each.decision) if each.decision else 'no decision'}"
    if chance := format_chance(each):
        yield f"  {chance}"
    for member in each.members:
        first = f" first: {one_line(member.first_choice)}" if member.first_choice else ""
        sure = "" if member.confidence is None else f" ({member.confidence:.2f})"
        yield f"  {member.seat} [{one_line(member.source)}]: {member.position or 'no vote'}{sure}{first}"
    yield from (f"  dissent: {one_line(text)}" for text in each.dissent)
    yield from (f"  obligation {format_obligation(obligation)}" for obligation in each.obligations)
    yield from (
        f"  {review.at.astimezone():%Y-%m-%d} {review.outcome}: {one_line(review.note)}"
        for review in each.reviews
    )
    if each.chain is None:
        return
    for name, links in (("built on", each.chain.built_on), ("basis of", each.chain.basis_of)):
        for link in links:
            yield f"  {name} {link.decision_id} ({link.outcome or 'not reviewed'}): {one_line(link.topic)}"
    if each.chain.stands_on_failure:
        yield f"  ! it builds on failed decisions: {', '.join(each.chain.failed)}"


show = Command(
    method=METHODS["cstp.getDecision"],
    show=show_decision,
    examples="moot decisions show think_20261115_001",
    arguments=["decision_id"],
).build("show")
