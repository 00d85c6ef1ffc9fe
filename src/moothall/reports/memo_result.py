"""The first line of a memo: how a result came about and what it is, or why there is none; and the badge that a list shows.

Every state of a session is one row of a written table; rows are tried from above, and the first that fits is used (T-1, T-2).
"""

from collections.abc import Sequence
from typing import Final, Literal, NamedTuple, assert_never

from moothall.domain.ids import SeatId
from moothall.domain.safe_text import one_line
from moothall.locale.catalogues import MemoText
from moothall.reports.decision import FAVOURABLE, Decision
from moothall.reports.how import (
    ByAnswer,
    ByAuthor,
    ByMeasure,
    ByMinutes,
    ByOwner,
    ByReview,
    BySteps,
    ByVotes,
    Standing,
    Undecided,
)
from moothall.reports.memo_names import (
    MAX_NAME_LENGTH,
    format_all,
    format_all_inside,
    format_name,
    format_opponents,
)
from moothall.reports.memo_undecided import MAX_LEAD, Outcome, describe_undecided, format_claim
from moothall.reports.memo_what import choose_what, get_limits
from moothall.reports.sentences import (
    end_sentence,
    join_sentences,
    keep_first,
    shorten_sentence,
    split_sentences,
)
from moothall.scoring.resolution import CLEAR_MAJORITY

MAX_BADGE: Final = 24
"""Characters of a badge; a name that makes it longer is left out."""
_HALF: Final = 0.5
_ROUNDING: Final = 1e-9


class Sides(NamedTuple):
    """Who is for a decision, who of them on a condition, who is against it, and who took no side."""

    supporters: tuple[SeatId, ...]
    conditional: tuple[SeatId, ...]
    opponents: tuple[SeatId, ...]
    silent: tuple[SeatId, ...]

    @property
    def favourable(self) -> tuple[SeatId, ...]:
        """All who are for it, with or without a condition."""
        return self.supporters + self.conditional

    @property
    def asked(self) -> int:
        """How many could take a side."""
        return len(self.favourable) + len(self.opponents) + len(self.silent)


def list_sides(decision: Decision) -> Sides:
    """Return who stands where, in the order of the participants; those who never answered took no side."""
    verdicts = {each.seat: each.verdict for each in decision.positions}
    asked = decision.asked or tuple(verdicts)
    supporters: list[SeatId] = []
    conditional: list[SeatId] = []
    opponents: list[SeatId] = []
    silent: list[SeatId] = []
    for seat in asked:
        verdict = verdicts.get(seat)
        if verdict == "support":
            supporters.append(seat)
        elif verdict in FAVOURABLE:
            conditional.append(seat)
        elif verdict == "oppose":
            opponents.append(seat)
        else:
            silent.append(seat)
    return Sides(tuple(supporters), tuple(conditional), tuple(opponents), tuple(silent))


def describe_outcome(decision: Decision, texts: MemoText) -> Outcome:
    """Return the result of a session that is over, and its badge."""
    if decision.decision is None or isinstance(decision.how, Undecided):
        return describe_undecided(decision, texts)
    match decision.how:
        case ByAnswer() as answer:
            return _describe_answer(decision, answer, texts)
        case BySteps() as steps:
            return _describe_steps(decision, steps, texts)
        case ByReview() as review:
            return _describe_review(review, texts)
        case _:
            how, badge = _describe_decided(decision, texts)
            return Outcome(_join_result(how, decision, texts), badge)


def _join_result(how: str, decision: Decision, texts: MemoText) -> str:
    return texts.result.format(how=how, what=choose_what(decision, texts).text)


def _describe_decided(decision: Decision, texts: MemoText) -> tuple[str, str]:
    """Return how a decision came about, and its badge."""
    match decision.how:
        case ByVotes() as votes:
            return _describe_votes(decision, votes, texts)
        case ByOwner() as owner:
            return _describe_owner(decision, owner, texts)
        case ByMinutes() as minutes:
            return _describe_minutes(decision, minutes, texts)
        case ByMeasure() as measure:
            return _describe_measure(decision, measure, texts)
        case ByAuthor() as author:
            return _describe_author(author, texts)
        case None:
            return _describe_bare(decision, texts)
        case ByAnswer() | BySteps() | ByReview() | Undecided():
            raise AssertionError("these have a result of their own")
        case _:
            assert_never(decision.how)


def _format_conditions(sides: Sides, texts: MemoText) -> str:
    if not sides.conditional:
        return ""
    return texts.on_condition.format(count=len(sides.conditional))


def _describe_votes(decision: Decision, votes: ByVotes, texts: MemoText) -> tuple[str, str]:
    sides = list_sides(decision)
    asked = sides.asked
    supporters = len(sides.favourable)
    some = texts.badges["some"].format(count=supporters, of=asked)
    all_badge = texts.badges["all_of"].format(count=asked)
    if votes.silent_writer is not None:
        text = texts.how["nobody_spoke"].format(
            name=format_name(votes.silent_writer, texts), count=supporters, asked=asked
        )
        return text, texts.badges["no_talk"]
    if votes.ending == "one_mind" and sides.favourable:
        name = sides.favourable[0]
        text = texts.how["one_mind"].format(name=format_name(name, texts))
        return text, format_alone(name, texts)
    if votes.ending == "settled":
        were_asked = asked - votes.unasked
        if not votes.unasked:
            return texts.how["settled_all"].format(count=supporters, asked=asked), some
        text = texts.how["settled"].format(
            count=supporters, asked=were_asked, unasked=votes.unasked
        )
        return text, texts.badges["some_asked"].format(count=supporters, of=were_asked)
    if supporters == asked and asked > 1:
        return _describe_agreement(decision, votes, sides, texts), all_badge
    if supporters == 1 and not sides.opponents:
        text = texts.how["one_side"].format(name=format_name(sides.favourable[0], texts))
        return text, some
    if not sides.opponents:
        text = texts.how["none_against"]
        if votes.is_quorum:
            text = texts.how["quorum"]
        conditions = _format_conditions(sides, texts)
        return text.format(count=supporters, asked=asked, conditions=conditions), some
    return _describe_opposed(decision, sides, texts, some)


def _describe_agreement(decision: Decision, votes: ByVotes, sides: Sides, texts: MemoText) -> str:
    """Say that all agree: at once, from the start, after several tries, or by talking."""
    everybody = format_all(sides.asked, texts)
    conditions = _format_conditions(sides, texts)
    if votes.ending == "agreed_blind":
        return texts.how["agreed_blind"].format(all=everybody)
    if votes.tries > 1:
        return texts.how["later_try"].format(
            all=everybody, conditions=conditions, ordinal=_format_ordinal(votes.tries, texts)
        )
    if decision.held_before is not None and set(sides.favourable) <= set(decision.held_before):
        return texts.how["from_start"].format(all=everybody, conditions=conditions)
    return texts.how["agreed"].format(all=everybody, conditions=conditions)


def _format_ordinal(number: int, texts: MemoText) -> str:
    if number <= len(texts.tries):
        return texts.tries[number - 1]
    return str(number)


def _describe_opposed(
    decision: Decision, sides: Sides, texts: MemoText, some: str
) -> tuple[str, str]:
    """Say by what majority it was carried against those who are against it."""
    supporters = len(sides.favourable)
    if _is_against_most(decision) and decision.author is not None:
        others = [each for each in decision.asked if each != decision.author]
        text = texts.how["against_most"].format(
            name=format_name(decision.author, texts),
            against=len([each for each in sides.opponents if each != decision.author]),
            others=len(others),
        )
        return text, texts.badges["against_most"]
    counts = {"supporters": supporters, "opponents": len(sides.opponents)}
    if supporters < len(sides.opponents):
        return texts.how["by_weight"].format(**counts), texts.badges["against"].format(**counts)
    support = decision.support
    if support is not None and support < CLEAR_MAJORITY - _ROUNDING:
        return texts.how["narrow"].format(**counts), texts.badges["narrow"].format(**counts)
    against = format_opponents(sides.opponents, texts)
    text = texts.how["majority"].format(count=supporters, asked=sides.asked, against=against)
    return text, some


def _is_against_most(decision: Decision) -> bool:
    """Whether most of the weight that took a side is against what was decided."""
    return decision.support is not None and decision.support < _HALF - _ROUNDING


def _describe_owner(decision: Decision, owner: ByOwner, texts: MemoText) -> tuple[str, str]:
    sides = list_sides(decision)
    name = format_name(owner.owner, texts)
    alone = format_alone(owner.owner, texts, "owner")
    others = [each for each in sides.opponents if each != owner.owner]
    if _is_against_most(decision):
        text = texts.how["against_most"].format(
            name=name, against=len(others), others=owner.advisers
        )
        return text, texts.badges["against_most"]
    if owner.is_alike:
        everybody = format_all_inside(owner.advisers, texts)
        text = texts.how["owner_alike"].format(name=name, all=everybody, count=owner.advisers)
        return text, texts.badges["all_of"].format(count=owner.advisers + 1)
    if not owner.advised:
        return texts.how["owner_alone"].format(name=name), alone
    text = texts.how["owner_advised"].format(name=name, count=owner.advised, all=owner.advisers)
    return text, alone


def format_alone(name: str, texts: MemoText, row: Literal["alone", "owner"] = "alone") -> str:
    """Return the badge of what one participant decided."""
    badge = texts.badges[row].format(name=format_name(name, texts))
    if len(badge) > MAX_BADGE:
        return texts.badges["one_alone"]
    return badge


def _describe_minutes(decision: Decision, minutes: ByMinutes, texts: MemoText) -> tuple[str, str]:
    declared = len(decision.backers_named)
    asked = len(decision.asked)
    some = texts.badges["some"].format(count=declared, of=asked)
    if not declared:
        return texts.how["minutes_only"], texts.badges["minutes"]
    if declared == asked and not minutes.open_points:
        everybody = format_all(asked, texts)
        return texts.how["minutes_all"].format(all=everybody), texts.badges["all_of"].format(
            count=asked
        )
    if declared == asked:
        text = texts.how["minutes_open"].format(
            all=format_all(asked, texts), points=minutes.open_points
        )
        return text, texts.badges["all_of"].format(count=asked)
    if not minutes.open_points:
        return texts.how["minutes_most"].format(count=declared, asked=asked), some
    text = texts.how["minutes_some"].format(count=declared, asked=asked, points=minutes.open_points)
    return text, some


def _describe_measure(decision: Decision, measure: ByMeasure, texts: MemoText) -> tuple[str, str]:
    sides = list_sides(decision)
    asked = sides.asked
    supporters = len(sides.favourable)
    if measure.way == "synthesis" and measure.writer is not None:
        text = texts.how["found_summed"].format(
            name=format_name(measure.writer, texts), count=measure.readers
        )
        return text, format_alone(measure.writer, texts)
    if measure.way == "readings" or not supporters:
        text = texts.how["found_readings"].format(count=measure.readers)
        return text, texts.badges["some"].format(count=measure.readers, of=asked)
    badge = texts.badges["some"].format(count=supporters, of=asked)
    if not sides.opponents:
        return texts.how["backed"].format(count=supporters, asked=asked), badge
    against = format_opponents(sides.opponents, texts)
    text = texts.how["found_against"].format(count=supporters, asked=asked, against=against)
    return text, badge


def _describe_author(author: ByAuthor, texts: MemoText) -> tuple[str, str]:
    if author.is_imported:
        return texts.how["imported"], texts.badges["imported"]
    name = texts.badges["one_alone"]
    if author.author is not None:
        name = format_name(author.author, texts)
    if author.backers > 1:
        text = texts.how["author_backed"].format(name=name, count=author.backers)
        return text, format_alone(name, texts)
    return texts.how["author_alone"].format(name=name), format_alone(name, texts)


def _describe_bare(decision: Decision, texts: MemoText) -> tuple[str, str]:
    """Describe the result of a protocol that does not say how it came about, by what the decision has of that."""
    if decision.author is not None:
        author = ByAuthor(author=decision.author, backers=decision.backers)
        return _describe_author(author, texts)
    backers = decision.voters or decision.backers
    asked = len(decision.asked)
    if not 0 < backers <= asked:
        return texts.how["bare"], texts.badges["done"]
    badge = texts.badges["some"].format(count=backers, of=asked)
    if backers == asked:
        badge = texts.badges["all_of"].format(count=asked)
    return texts.how["bare_backed"].format(count=backers, asked=asked), badge


def _describe_answer(decision: Decision, answer: ByAnswer, texts: MemoText) -> Outcome:
    name = format_name(answer.asked, texts)
    asker = format_name(answer.asker, texts)
    how = texts.how["answered"].format(name=name, asker=asker)
    badge = name
    if len(name) > MAX_NAME_LENGTH:
        badge = texts.badges["answered"]
    return Outcome(_join_result(how, decision, texts), badge)


def _describe_steps(decision: Decision, steps: BySteps, texts: MemoText) -> Outcome:
    everything = texts.all_steps.format(count=steps.all)
    if steps.all == 1:
        everything = texts.one_step
    elif steps.all == 2:
        everything = texts.both_steps
    text = texts.how["steps_done"]
    if steps.passed:
        text = texts.how["steps_checked"]
    if steps.rejected:
        text = texts.how["steps_rejected"]
    how = text.format(steps=everything, passed=steps.passed, rejected=steps.rejected)
    return Outcome(_join_result(how, decision, texts), texts.badges["done"])


def _describe_review(review: ByReview, texts: MemoText) -> Outcome:
    values = {
        "readers": review.readers,
        "all": review.reviewers,
        "faults": review.faults,
        "small": review.small,
        "place": shorten_sentence(one_line(review.place), MAX_LEAD),
        "claim": format_claim(review.claim, texts),
        "losses": "",
    }
    name: str = review.outcome
    badge = texts.badges["no_verdict"]
    if review.outcome == "approve":
        badge = texts.badges["approve"]
        if review.small:
            name = "approve_small"
    elif review.outcome == "changes":
        badge = texts.badges["to_mend"].format(count=review.faults)
    return Outcome(texts.review[name].format(**values), badge)


def describe_standing(standing: Standing, texts: MemoText) -> Outcome:
    """Return where a session stands that has no result, and its badge."""
    badges = texts.badges
    match standing.state:
        case "running":
            return _describe_progress(standing, texts)
        case "parked":
            text = texts.standing["parked"].format(reason=_format_reason(standing, texts))
            return Outcome(text, badges["on_hold"])
        case "stopped":
            return Outcome(texts.standing["stopped"], badges["stopped"])
        case "cancelled":
            text = texts.standing["cancelled"]
            if standing.reason.strip():
                reason = end_sentence(_format_reason(standing, texts), texts.language)
                text = texts.standing["cancelled_for"].format(reason=reason)
            return Outcome(text, badges["cancelled"])
        case "damaged":
            text = texts.standing["damaged"].format(session=standing.session)
            return Outcome(text, badges["damaged"])
        case "newer":
            return Outcome(texts.standing["newer"], badges["newer"])
        case _:
            assert_never(standing.state)


def _format_reason(standing: Standing, texts: MemoText) -> str:
    """Return why a session is on hold or was cancelled: the first sentences that fit."""
    limit = get_limits(texts.language).body
    return join_sentences(keep_first(split_sentences(standing.reason), limit))


def _describe_progress(standing: Standing, texts: MemoText) -> Outcome:
    running = texts.badges["running"]
    names = format_waiting(standing.waiting, texts)
    values = {
        "answered": standing.answered,
        "asked": standing.asked,
        "objections": standing.open_objections,
        "number": standing.number,
        "of": standing.of,
        "step": shorten_sentence(one_line(standing.step), MAX_LEAD),
        "names": names,
        "count": len(standing.waiting),
        "until": standing.until,
    }
    match standing.progress:
        case "outside":
            name = "outside"
            if standing.until:
                name = "outside_until"
            return Outcome(texts.standing[name].format(**values), texts.badges["waits"])
        case "sealed":
            return Outcome(_add_waiting("sealed", values, texts), running)
        case "talk":
            name = "talk"
            if standing.open_objections:
                name = "talk_objections"
            return Outcome(_add_waiting(name, values, texts, next_name="next_one"), running)
        case "step":
            badge = texts.badges["step_of"].format(number=standing.number, of=standing.of)
            return Outcome(texts.standing["step"].format(**values), badge)
        case "round":
            badge = texts.badges["step_of"].format(number=standing.number, of=standing.of)
            name = "round"
            if names:
                name = "round_next"
            return Outcome(texts.standing[name].format(**values), badge)
        case None:
            return Outcome(_add_waiting("bare", values, texts), running)
        case _:
            assert_never(standing.progress)


def _add_waiting(
    name: str, values: dict[str, object], texts: MemoText, next_name: str = "waiting"
) -> str:
    """Return a sentence of a running session, and behind it who is awaited."""
    text = texts.standing[name].format(**values)
    if not values["names"]:
        return text
    awaited = texts.standing[next_name].format(names=values["names"])
    return f"{text}{texts.between_sentences}{awaited}"


def format_waiting(names: Sequence[str], texts: MemoText) -> str:
    """Return who is awaited: up to two names, else how many."""
    if not names:
        return ""
    return format_opponents(names, texts)
