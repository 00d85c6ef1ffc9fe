"""Error amplification: whether a group was better or worse than its members alone (D-15).

A member alone is its blind first choice. That choice is right if it equals the choice that proved right: the one that the review
names; else the group's own, if it succeeded; else, of two options, the one that the group did not take, if it failed. Otherwise
the right choice is unknown, and so is the member's result. Group and members are compared on the same cases, those whose right
choice is known.

Choices are compared by their words, and nothing is guessed: what is none of the options, or too long for a label, is no choice.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Final

from moothall.domain.topic import normalize_label
from moothall.memory.breakers import FAILED
from moothall.memory.remembered_decision import RememberedDecision
from moothall.scoring.positions import tally_votes

MAX_CHOICE_LENGTH: Final = 60
"""Characters of a choice that is compared; members are asked for one to five words, and an essay equals nothing."""
_YES_OR_NO: Final = {"是": "yes", "是的": "yes", "否": "no", "不": "no", "不是": "no"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Share:
    """A count out of a total; `rate` is None if the total is 0."""

    right: float
    of: int

    @property
    def rate(self) -> float | None:
        return self.right / self.of if self.of else None


@dataclass(frozen=True, slots=True, kw_only=True)
class Amplification:
    """What a protocol did with its members' errors.

    `cases` were decided and reviewed; `partial` of them count neither as right nor as wrong, the rest is `group.of`. `compared`
    is the group on the cases where members can be compared with it. `members` covers the same cases, each with the same weight:
    its `right` is the sum over the cases of the share of members that were right. `majority` covers the cases with a blind
    majority. `amplification` is the group's error rate divided by its members': below 1 the group corrected them. None if they
    made no errors. `members_blank` of the `members_unknown` have no blind choice on record, and in `cases_blank` cases nobody
    has: their protocol keeps none, or nobody gave one.
    """

    protocol: str
    cases: int
    partial: int
    group: Share
    compared: Share
    members: Share
    members_known: int
    members_right: int
    members_unknown: int
    majority: Share
    corrections: int
    subversions: int
    amplification: float | None
    cases_blank: int = 0
    members_blank: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class _Case:
    """One case that counts. `members` says for each member whether it was right alone, None if unknown; `blank` have none."""

    is_right: bool
    members: tuple[bool | None, ...]
    majority: bool | None
    blank: int

    @property
    def known(self) -> tuple[bool, ...]:
        return tuple(right for right in self.members if right is not None)


def compute_amplification(decisions: Iterable[RememberedDecision]) -> tuple[Amplification, ...]:
    """Return the figures of every protocol with a reviewed decision, by name."""
    by_protocol: dict[str, list[RememberedDecision]] = {}
    for kept in decisions:
        if kept.review is not None and kept.record.text is not None and not kept.is_alone:
            by_protocol.setdefault(kept.record.protocol, []).append(kept)
    return tuple(_compute_figures(protocol, by_protocol[protocol]) for protocol in sorted(by_protocol))


def find_right_choice(kept: RememberedDecision) -> str | None:
    """Return the label of the choice that proved right; None if unknown."""
    review, options = kept.review, _list_options(kept)
    own = _read_choice(kept.record.choice, options)
    if review is None:
        return None
    if review.choice:
        # A reviewer may know better than all options.
        return _read_choice(review.choice, frozenset()) or None
    if review.outcome == "success":
        return own or None
    others = options - {own}
    # A failure says only what was wrong. With exactly two options that determines what was right.
    return next(iter(others)) if review.outcome in FAILED and len(options) == 2 and len(others) == 1 else None


def _list_options(kept: RememberedDecision) -> frozenset[str]:
    return frozenset(_fold_label(option) for option in kept.record.options)


def _read_choice(text: str, options: frozenset[str]) -> str:
    """Return the label that a choice is compared by; "" if it is none."""
    label = _fold_label(text)
    is_choice = label in options if options else len(label) <= MAX_CHOICE_LENGTH
    return label if is_choice else ""


def _fold_label(text: str) -> str:
    label = normalize_label(text)
    return _YES_OR_NO.get(label, label)


def _compute_figures(protocol: str, decided: Sequence[RememberedDecision]) -> Amplification:
    cases = [_build_case(kept) for kept in decided if kept.outcome != "partial"]
    compared = [case for case in cases if case.known]
    with_majority = [case for case in cases if case.majority is not None]
    group = Share(right=sum(case.is_right for case in compared), of=len(compared))
    # The mean per case and not over all members: a large group must not outweigh a small one.
    members = Share(right=sum(sum(case.known) / len(case.known) for case in compared), of=len(compared))
    return Amplification(
        protocol=protocol,
        cases=len(decided),
        partial=len(decided) - len(cases),
        group=Share(right=sum(case.is_right for case in cases), of=len(cases)),
        compared=group,
        members=members,
        members_known=sum(len(case.known) for case in cases),
        members_right=sum(sum(case.known) for case in cases),
        members_unknown=sum(len(case.members) - len(case.known) for case in cases),
        majority=Share(right=sum(case.majority is True for case in with_majority), of=len(with_majority)),
        corrections=sum(case.is_right and case.majority is False for case in cases),
        subversions=sum(not case.is_right and case.majority is True for case in cases),
        amplification=_compute_ratio(group, members),
        cases_blank=sum(case.blank == len(case.members) for case in cases),
        members_blank=sum(case.blank for case in cases),
    )


def _compute_ratio(group: Share, members: Share) -> float | None:
    """Return the group's errors divided by its members'."""
    wrong = members.of - members.right
    # Both cover the same number of cases, so the quotient of the error counts equals that of the error rates.
    return (group.of - group.right) / wrong if wrong > 1e-9 else None


def _build_case(kept: RememberedDecision) -> _Case:
    right, options = find_right_choice(kept), _list_options(kept)
    firsts = [_read_choice(member.first_choice, options) for member in kept.record.members if not member.is_neutral]
    # One of many who named a choice does not speak for the many.
    is_most = firsts.count("") * 2 < len(firsts)
    majority = _find_majority([first for first in firsts if first]) if is_most else None
    return _Case(
        is_right=kept.outcome == "success",
        members=tuple(first == right if first and right else None for first in firsts),
        majority=majority == right if majority and right else None,
        blank=firsts.count(""),
    )


def _find_majority(firsts: Sequence[str]) -> str | None:
    """Return the most frequent first choice; None if two share that place."""
    ranking = tally_votes([(first, 1.0) for first in firsts]).ranking
    if not ranking or (len(ranking) > 1 and ranking[0][1] == ranking[1][1]):
        return None
    return ranking[0][0]
