"""Validates and bounds what comes from outside before it is stored."""

import math
import re
from collections.abc import Sequence
from typing import Final, TypeVar, get_args

from moothall.domain.ids import parse_session_id
from moothall.domain.safe_text import one_line
from moothall.domain.topic import Stakes, normalize_label
from moothall.errors import BadSetting
from moothall.memory.facts import DecisionRecorded, Member, ObligationState, Outcome, Policy, ThreadStatus
from moothall.scoring.positions import VotePosition

MAX_NAME_LENGTH: Final = 100
MAX_SOURCE_LENGTH: Final = 500
MAX_LINE_LENGTH: Final = 4_000
MAX_TEXT_LENGTH: Final = 100_000
MAX_ITEMS: Final = 200
MAX_WINDOW: Final = 366 * 24 * 3600.0
MIN_SOURCES: Final = 2

_SURROGATE: Final = re.compile("[\ud800-\udfff]")

C = TypeVar("C", bound=str)

STAKES: Final[tuple[Stakes, ...]] = get_args(Stakes)
OUTCOMES: Final[tuple[Outcome, ...]] = get_args(Outcome)
OBLIGATION_STATES: Final[tuple[ObligationState, ...]] = get_args(ObligationState)
STATUSES: Final[tuple[ThreadStatus, ...]] = get_args(ThreadStatus)
POSITIONS: Final[tuple[VotePosition, ...]] = get_args(VotePosition)


def validate_nonempty_text(what: str, value: str, longest: int = MAX_LINE_LENGTH) -> str:
    """Validate a text that must not be empty."""
    if not validate_text(what, value, longest).strip():
        raise BadSetting(f"{what} is empty; say something")
    return value


def validate_text(what: str, value: str, longest: int = MAX_LINE_LENGTH) -> str:
    """Validate a text that may be empty, but not too long or broken."""
    if not isinstance(value, str):
        raise BadSetting(f"{what} must be a text, not {type(value).__name__}")
    if len(value) > longest:
        raise BadSetting(f"{what} has {len(value)} characters; at most {longest} are kept")
    if _SURROGATE.search(value):
        raise BadSetting(f"{what} holds half a character (a lone surrogate); send valid UTF-8")
    return value


def validate_name(what: str, value: str) -> str:
    """Validate a short printable name."""
    validate_text(what, value, MAX_NAME_LENGTH)
    if not value.strip() or one_line(value) != value:
        raise BadSetting(f"{what} {value!r} must have 1 to {MAX_NAME_LENGTH} printable characters on one line")
    return value


def validate_optional_name(what: str, value: str) -> str:
    return validate_name(what, value) if value != "" else value


def validate_names(what: str, values: Sequence[str]) -> tuple[str, ...]:
    """Validate names; each is kept once, in the given order."""
    validate_list_size(what, values)
    return tuple(dict.fromkeys(validate_name(what, value) for value in values))


def validate_list_size(what: str, values: Sequence[object]) -> None:
    if isinstance(values, str) or len(values) > MAX_ITEMS:
        raise BadSetting(f"{what} must be a list of at most {MAX_ITEMS}")


def validate_choice(what: str, value: str, known: tuple[C, ...]) -> C:
    """Validate that a value is one of the known ones."""
    for one in known:
        if one == value:
            return one
    raise BadSetting(f"unknown {what} {value!r}; known: {', '.join(known)}")


def validate_share(what: str, value: float) -> float:
    """Validate a number from 0 to 1."""
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0.0 <= value <= 1.0:
        raise BadSetting(f"{what} is {value!r}; it must be a number from 0 to 1")
    return float(value)


def validate_optional_share(what: str, value: float | None) -> float | None:
    return None if value is None else validate_share(what, value)


def validate_count(what: str, value: int, most: int = 1_000) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or not 1 <= value <= most:
        raise BadSetting(f"{what} is {value!r}; it must be a whole number from 1 to {most}")
    return value


def validate_decision(fact: DecisionRecorded) -> DecisionRecorded:
    """Validate every field of the fact; raises BadSetting or BadName."""
    parse_session_id(fact.session)
    validate_nonempty_text("topic", fact.topic, MAX_TEXT_LENGTH)
    validate_name("protocol", fact.protocol)
    validate_optional_name("category", fact.category)
    validate_choice("stakes", fact.stakes, STAKES)
    validate_names("tags", fact.tags)
    validate_optional_name("thread", fact.thread)
    validate_text("decided", fact.text or "", MAX_TEXT_LENGTH)
    validate_text("text", fact.search_text, MAX_TEXT_LENGTH)
    validate_optional_share("confidence", fact.confidence)
    for what, texts in (("options", fact.options), ("dissent", fact.dissent), ("open questions", fact.open_questions)):
        validate_list_size(what, texts)
        for text in texts:
            validate_text(what, text, MAX_TEXT_LENGTH)
    for what, text in (("choice", fact.choice), ("consensus type", fact.consensus_type), ("head", fact.head)):
        validate_text(what, text)
    validate_list_size("obligations", fact.obligations)
    for obligation in fact.obligations:
        validate_nonempty_text("obligation", obligation.text)
        validate_nonempty_text("who set an obligation", obligation.by, MAX_SOURCE_LENGTH)
        validate_text("due", obligation.due, MAX_NAME_LENGTH)
    validate_names("built on", fact.built_on)
    validate_list_size("members", fact.members)
    for member in fact.members:
        _validate_member(member)
    if fact.opened_at.tzinfo is None or fact.closed_at.tzinfo is None:
        raise BadSetting("opened_at and closed_at must carry a time zone")
    return fact


def _validate_member(member: Member) -> None:
    validate_nonempty_text("source", member.source, MAX_SOURCE_LENGTH)
    validate_nonempty_text("seat", member.seat, MAX_SOURCE_LENGTH)
    validate_text("family", member.family, MAX_SOURCE_LENGTH)
    validate_text("first choice", member.first_choice)
    validate_optional_share("first confidence", member.first_confidence)
    validate_optional_share("confidence", member.confidence)
    if member.position is not None:
        validate_choice("position", member.position, POSITIONS)


def validate_policy(policy: Policy) -> Policy:
    """Validate the policy; raises BadSetting."""
    validate_count("failures", policy.failures)
    for what, seconds in (
        ("window_seconds", policy.window_seconds),
        ("cooldown_seconds", policy.cooldown_seconds),
        ("probe_seconds", policy.probe_seconds),
    ):
        if not math.isfinite(seconds) or not 0 < seconds <= MAX_WINDOW:
            raise BadSetting(f"{what} is {seconds!r}; it must be more than 0 and at most {MAX_WINDOW:.0f}")
    for stakes in policy.deliberate_stakes:
        validate_choice("stakes", stakes, STAKES)
    validate_share("min_confidence", policy.min_confidence)
    validate_names("deliberate_categories", policy.deliberate_categories)
    validate_list_size("category_confidence", policy.category_confidence)
    for each in policy.category_confidence:
        validate_share(f"the least confidence of {validate_name('category', each.category)!r}", each.min_confidence)
    named = [normalize_label(each.category) for each in policy.category_confidence]
    for label in (*named, *map(normalize_label, policy.deliberate_categories)):
        if not label:
            raise BadSetting("a category of the policy holds nothing but punctuation; name a category")
    if len(set(named)) < len(named):
        raise BadSetting(f"category_confidence names a category twice: {', '.join(named)}")
    for what, number in (
        ("scope_sources", policy.scope_sources),
        ("stakes_sources", policy.stakes_sources),
        ("global_sources", policy.global_sources),
    ):
        # With one source, the failures of one would stop everyone.
        if validate_count(what, number) < MIN_SOURCES:
            raise BadSetting(f"{what} is {number}; at least {MIN_SOURCES} different sources must fail before others are stopped")
    return policy
