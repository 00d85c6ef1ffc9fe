"""The first line of a memo where nothing was decided: that it is so, why, and what leads (T-2)."""

from typing import Final, NamedTuple

from moothall.domain.safe_text import one_line
from moothall.locale.catalogues import MemoText
from moothall.reports.decision import Decision
from moothall.reports.how import ByAnswer, ByReview, BySteps, LeadingSide, Undecided
from moothall.reports.memo_names import (
    format_all_inside,
    format_name,
    format_opponents,
    format_possessive,
)
from moothall.reports.memo_what import get_limits
from moothall.reports.sentences import (
    end_sentence,
    join_sentences,
    keep_first,
    shorten_sentence,
    split_sentences,
)
from moothall.reports.wording import format_percent

MAX_LEAD: Final = 60
"""Characters of the answer that leads, where it is named within a sentence."""
MAX_LOSSES: Final = 2


class Outcome(NamedTuple):
    """The first line of a memo, and the badge of a list."""

    text: str
    badge: str


def describe_undecided(decision: Decision, texts: MemoText) -> Outcome:
    """Return why nothing was decided, and the badge."""
    match decision.how:
        case ByAnswer() as answer:
            return _describe_no_answer(answer, texts)
        case BySteps() as steps:
            return _describe_stop(steps, texts)
        case ByReview() as review:
            return _describe_no_verdict(decision, review, texts)
        case Undecided() as undecided:
            badge = texts.badges["not_decided"]
            if undecided.reason == "tie" and decision.leaders:
                first = decision.leaders[0]
                badge = texts.badges["narrow"].format(
                    supporters=len(first.supporters), opponents=len(first.opponents)
                )
            if undecided.reason == "two_level":
                badge = texts.badges["level"]
            return Outcome(_explain_undecided(decision, undecided, texts), badge)
        case _:
            return Outcome(texts.undecided["unknown"], texts.badges["not_decided"])


def _describe_no_answer(answer: ByAnswer, texts: MemoText) -> Outcome:
    values = {
        "name": format_name(answer.asked, texts),
        "instead": shorten_sentence(one_line(answer.ask_instead), MAX_LEAD),
        "loss": texts.losses.get(answer.loss, ""),
    }
    name: str = answer.outcome
    if answer.outcome == "unknown" and answer.ask_instead:
        name = "unknown_ask"
    if answer.outcome == "failed" and not values["loss"]:
        name = "failed_bare"
    badge = texts.badges["no_answer"]
    if answer.outcome == "unknown":
        badge = texts.badges["not_known"]
    return Outcome(texts.answer[name].format(**values), badge)


def _describe_stop(steps: BySteps, texts: MemoText) -> Outcome:
    name, badge = "failed", texts.badges["stopped"]
    if steps.outcome == "rejected":
        name, badge = "rejected", texts.badges["rejected"]
    who = ""
    if steps.seat is not None:
        who = format_name(steps.seat, texts)
    text = texts.steps[name].format(
        at=steps.at,
        of=steps.all,
        step=shorten_sentence(one_line(steps.step), MAX_LEAD),
        name=who,
        rejected=steps.rejected,
    )
    return Outcome(text, badge)


def _describe_no_verdict(decision: Decision, review: ByReview, texts: MemoText) -> Outcome:
    losses = format_losses(decision, texts)
    name: str = review.outcome
    if review.outcome == "few_readers" and losses:
        name = "few_readers_lost"
    text = texts.review[name].format(
        readers=review.readers,
        all=review.reviewers,
        faults=review.faults,
        small=review.small,
        place=shorten_sentence(one_line(review.place), MAX_LEAD),
        claim=format_claim(review.claim, texts),
        losses=losses,
    )
    return Outcome(text, texts.badges["no_verdict"])


def format_losses(decision: Decision, texts: MemoText) -> str:
    """Return who gave no answer and why: `Ada: not in time; Bob: key rejected`."""
    parts: list[str] = []
    for each in decision.lost[:MAX_LOSSES]:
        loss = texts.losses.get(each.last, each.last)
        name = format_name(each.seat, texts)
        parts.append(texts.undecided["voice_lost"].format(name=name, loss=loss))
    return texts.undecided["between_losses"].join(parts)


def format_claim(claim: str, texts: MemoText) -> str:
    """Return the words of a finding within a sentence: its first sentences that fit."""
    limit = get_limits(texts.language).open
    return end_sentence(join_sentences(keep_first(split_sentences(claim), limit)), texts.language)


def format_lead(leading: LeadingSide) -> str:
    """Return an answer as it is named within a sentence, without its full stop."""
    text = one_line(leading.text).rstrip(".。")
    return shorten_sentence(text, MAX_LEAD)


def _explain_undecided(decision: Decision, undecided: Undecided, texts: MemoText) -> str:
    values = _collect_values(decision, undecided, texts)
    return texts.undecided[_choose_row(decision, undecided)].format(**values)


def _choose_row(decision: Decision, undecided: Undecided) -> str:
    """Return the row of the table for a reason: which of its sentences the facts are enough for."""
    reason: str = undecided.reason
    if not decision.leaders:
        needs_lead = {"leader", "not_sure", "not_likely", "tie", "no_majority", "leads"}
        if reason in needs_lead or reason == "two_level":
            return "no_side"
        return reason
    first = decision.leaders[0]
    match reason:
        case "leader" if not first.opponents:
            return "leader_alone"
        case "not_sure" if len(first.unsure) != 1:
            return "not_sure_many"
        case "not_likely" if undecided.chance is None:
            return "not_likely_unknown"
        case "tie" if decision.outcome_uncertain and len(decision.lost) == 1:
            return "tie_missing"
        case "no_majority":
            return _choose_majority_row(decision)
        case "limit":
            return "limit_lead"
        case "two_level" if len(decision.leaders) < 2:
            return "leads_only"
        case "two_level" if not any(each.supporters for each in decision.leaders):
            return "two_level_bare"
        case "leads" if not undecided.needed:
            return "leads_only"
        case _:
            return reason


def _choose_majority_row(decision: Decision) -> str:
    name = "no_majority"
    if len(decision.leaders) < 2:
        name = "no_majority_one"
    if decision.near is not None:
        name += "_near"
    return name


def _collect_values(decision: Decision, undecided: Undecided, texts: MemoText) -> dict[str, object]:
    """Return what the sentences of an undecided session are made of."""
    first = second = LeadingSide(text="")
    if decision.leaders:
        first = decision.leaders[0]
    if len(decision.leaders) > 1:
        second = decision.leaders[1]
    asked = len(decision.asked)
    needed = texts.needed_count.format(count=undecided.needed)
    if undecided.needed == asked:
        needed = format_all_inside(asked, texts)
    name, share = "", ""
    if first.unsure:
        name = format_name(first.unsure[0][0], texts)
        share = format_percent(first.unsure[0][1])
    if undecided.reason == "owner_lost" and decision.lost:
        name = format_name(decision.lost[0].seat, texts)
    if undecided.reason == "tie" and decision.lost:
        name = format_possessive(decision.lost[0].seat, texts)
    if undecided.reason == "not_likely":
        share = format_percent(undecided.chance)
    count: int = len(first.supporters)
    if undecided.reason == "voices_lost":
        count = len(decision.lost)
    limit = texts.limits.get(undecided.limit, undecided.limit)
    # What an answer that leads has.
    values: dict[str, object] = {
        "lead": format_lead(first),
        "second": format_lead(second),
        "count": count,
        "other": len(second.supporters),
        "asked": asked,
        "needed": needed,
    }
    # What a row says of the votes.
    values |= {
        "against": format_opponents(first.opponents, texts),
        "others": len(first.opponents),
        "supporters": len(first.supporters),
        "opponents": len(first.opponents),
    }
    # What a row says of what was asked for and what is missing.
    values |= {
        "name": name,
        "share": share,
        "threshold": format_percent(undecided.threshold),
        "unsure": len(first.unsure),
        "near": decision.near,
        "losses": format_losses(decision, texts),
        "limit": undecided.amount or limit,
    }
    return values
