"""What a caller requires of a decision before something else goes on, and the judgement on it (G-1, G-6)."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Final, Literal

from moothall.domain.facts import Language
from moothall.domain.roster import Seat, name_platform
from moothall.domain.safe_text import one_line
from moothall.domain.topic import normalize_label
from moothall.errors import BadRoster, BadSetting
from moothall.locale.catalogues import REQUIREMENT, SHARED_REPORT
from moothall.reports.decision import Decision
from moothall.reports.gate import GateJudgement
from moothall.reports.memo import build_memo
from moothall.scoring.strength import Strength

Worth = Literal["strong", "fair", "weak", "any"]
WORTHS: Final[tuple[Worth, ...]] = ("strong", "fair", "weak", "any")
"""What a decision must be worth to pass, the most first."""


@dataclass(frozen=True, slots=True)
class Requirement:
    """What a caller requires of a decision: one of these choices, and that it is worth so much. Without choices it requires nothing."""

    choices: tuple[str, ...] = ()
    worth: Worth = "fair"

    def __bool__(self) -> bool:
        return bool(self.choices)

    def takes(self, strength: Strength) -> bool:
        """Whether a decision of this strength is worth enough."""
        if self.worth == "any":
            return True
        return strength in WORTHS[: WORTHS.index(self.worth) + 1]


NO_REQUIREMENT: Final = Requirement()


def build_requirement(require: str | Sequence[str], worth: str) -> Requirement:
    """Return what a program requires: a choice or several, and the least worth. Raises BadSetting."""
    choices = (require,) if isinstance(require, str) else tuple(require)
    if not all(isinstance(each, str) for each in choices):
        raise BadSetting(f"require = {require!r}: expected a choice, such as 'approve', or a list")
    for known in WORTHS:
        if known == worth:
            return Requirement(tuple(filter(None, choices)), known)
    raise BadSetting(f"require_worth = {worth!r} is not one of: {', '.join(WORTHS)}")


def check_required(
    required: Requirement, options: Iterable[str] = (), label: str = "require"
) -> None:
    """Raises BadSetting where a required choice is empty, or not among the options and so could never be decided.

    `label` is what the caller calls the requirement.
    """
    if not all(map(normalize_label, required.choices)):
        raise BadSetting(f"{label}: expected a choice, such as approve")
    known = {normalize_label(option): option for option in options}
    for choice in required.choices if known else ():
        if normalize_label(choice) not in known:
            raise BadSetting(
                f"{label} {choice!r}: not one of the options: {', '.join(known.values())}"
            )


def check_gate_seats(required: Requirement, seats: Iterable[Seat], label: str = "require") -> None:
    """Raises BadRoster where the embedded model would sit in a gate."""
    for seat in seats if required else ():
        if name_platform(seat.platform) == "embedded":
            raise BadRoster(
                f"{label}: seat {seat.id!r} is the embedded model, which is too small for a gate; "
                "seat another model, such as openai:gpt-5-mini"
            )


def add_gate(decision: Decision, required: Requirement) -> Decision:
    """Return a decision with the judgement of its gate; as it is where nothing is required."""
    if not required:
        return decision
    return replace(decision, gate=judge_decision(decision, required, decision.language))


def judge_decision(decision: Decision, required: Requirement, language: Language) -> GateJudgement:
    """Return whether a decision is one of the required choices and worth enough, and why, in a line with its first reservation (T-6).

    They are compared without case and closing marks. A pipeline has no choice: it is `completed`, or a gate `rejected` it.
    """
    words, memo = REQUIREMENT[language], build_memo(decision, language)
    wanted = ", ".join(map(one_line, required.choices))
    ended_by = decision.ended_by or ""
    if decision.status in {"thinking", "parked"}:
        return GateJudgement(outcome="waiting", reason=memo.result.text)
    if decision.decision is None and ended_by != "rejected":
        return GateJudgement(outcome="undecided", reason=memo.result.text)
    decided = decision.short_choice or ended_by
    labels = [decision.choice, decided]
    if ended_by in {"completed", "rejected"}:
        labels.append(ended_by)
    said = set(map(normalize_label, labels))
    is_met = not said.isdisjoint(map(normalize_label, required.choices))
    # A finding that nobody could read or place must not become an approval.
    if is_met and decision.findings is not None and decision.outcome_uncertain:
        reason = words.uncertain.format(decided=decided)
        return GateJudgement(outcome="undecided", reason=reason)
    if not is_met:
        reason = words.other.format(decided=decided, wanted=wanted)
        return GateJudgement(outcome="otherwise", reason=reason)
    doubt = ""
    if memo.caution:
        doubt = words.but.format(caution=memo.caution)
    if required.takes(decision.strength):
        reason = f"{words.met.format(decided=decided)}{doubt}"
        return GateJudgement(outcome="met", reason=reason)
    if not doubt:
        worth = SHARED_REPORT[language].strengths[decision.strength]
        doubt = words.too_little.format(worth=worth, least=required.worth)
    reason = words.doubtful.format(decided=decided, doubt=doubt)
    return GateJudgement(outcome="otherwise", reason=reason)
