"""The decision that a session hands back, whatever its protocol."""

import re
from collections.abc import Iterable, Mapping
from dataclasses import field, replace
from types import MappingProxyType
from typing import Any, Final, Literal

from moothall.domain.budget import Spent
from moothall.domain.context import extract_first_sentence
from moothall.domain.facts import Language, SessionStatus
from moothall.domain.ids import SeatId, SessionId
from moothall.domain.replace import dataclass
from moothall.domain.safe_text import compile_late, encode_fields, strip_control
from moothall.domain.session_state import LostSeat
from moothall.domain.topic import ActionItem, Frame, QuestionKind
from moothall.reports.gate import GateJudgement
from moothall.reports.how import How, LeadingSide, Standing, TieBreak
from moothall.scoring.depth import DepthTaken
from moothall.scoring.estimates import ForecastEstimate, NumberEstimate
from moothall.scoring.posterior import Agreement
from moothall.scoring.reliability import TrackShare
from moothall.scoring.reservations import (
    ConfidenceBasis,
    ReservationCode,
    WorthFigures,
    list_reservations,
)
from moothall.scoring.strength import Strength, rate_strength

ObligationState = Literal["open", "met", "waived", "failed"]
Movement = Literal["evidence", "words"]
FAVOURABLE: Final = frozenset(("support", "conditional_support", "conditional"))
"""The verdicts of those who are for a decision."""
NoConfidence = Literal["new_answer"]


@dataclass(frozen=True, slots=True, kw_only=True)
class SourcedClaim:
    """A sentence, and the numbers of the timeline entries that it rests on."""

    text: str
    entries: tuple[int, ...] = ()
    seat: SeatId | None = field(default=None, compare=False)
    """Who said it, where one participant did."""


@dataclass(frozen=True, slots=True, kw_only=True)
class QuotationFault:
    """A quotation that does not stand where it is said to."""

    seat: SeatId
    place: str
    """The file, or what else it is said to be from."""
    words: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Dissent:
    """Someone who does not go along, or not without a condition. `seat` is None where the author reports it."""

    seat: SeatId | None
    kind: Literal["oppose", "conditional", "reported", "challenge"]
    text: str
    entries: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Obligation:
    """A condition of a decision that was made: who set it, what must hold, by when if that was stated, and what became of it."""

    seat: SeatId
    text: str
    due: str = ""
    entries: tuple[int, ...] = ()
    state: ObligationState = "open"
    who: str = ""
    """Who must do it; empty where nobody was named."""


def number_obligations(
    conditions: Iterable[tuple[SeatId, str, str, tuple[int, ...]]],
    settled: Mapping[int, ObligationState],
    who: Mapping[SeatId, str] = MappingProxyType({}),
) -> tuple[Obligation, ...]:
    """Return the obligations of conditions, each a seat, what must hold, by when, and where it says so; empty ones are none.

    `who` is whom each of these seats names to do it.
    """
    obligations: list[Obligation] = []
    for seat, text, due, entries in conditions:
        if not text.strip():
            continue
        state = settled.get(len(obligations) + 1, "open")
        obligation = Obligation(
            seat=seat, text=text.strip(), due=due.strip(), entries=entries, state=state
        )
        obligations.append(replace(obligation, who=who.get(seat, "").strip()))
    return tuple(obligations)


@dataclass(frozen=True, slots=True, kw_only=True)
class TakenAdvice:
    """How the one who decides took what a seat advised, and why."""

    seat: SeatId
    how: Literal["adopted", "partly", "declined"]
    why: str = ""
    entries: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class AnsweredInput:
    """An input of the user, and what the decision answers to it: None where it says nothing to it."""

    input: int
    asked: str
    answer: str | None
    entries: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class WouldChange:
    """What would have made another decision, or may still make one."""

    voices: int | None = None
    """From how many more ordinary voices against it on it would not have carried; None where no number is enough."""
    next_answer: str = ""
    """Which answer comes next."""
    open_point: str = ""
    """The first objection that was left open, else the first condition that is not met, else the first open question."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LeadingAnswer:
    """One of the first answers of a session that decided nothing."""

    idea: str
    """Its words."""
    value: float
    """How good it looks to those who read it, 0 to 1; 0.5 is ordinary."""
    readers: int


@dataclass(frozen=True, slots=True, kw_only=True)
class FrameObjection:
    """A seat that takes none of the answers that are listed, and what it says instead."""

    seat: SeatId
    said: str


@dataclass(frozen=True, slots=True, kw_only=True)
class UncountedAnswer:
    """A seat that answered yes or no, also when it was asked which of the things in the question it means."""

    seat: SeatId
    said: str


@dataclass(frozen=True, slots=True, kw_only=True)
class SeatPosition:
    """Where a seat stood before and after, what its last word weighed, and through which doors both came in."""

    seat: SeatId
    before: str | None = None
    confidence_before: float | None = None
    after: str | None = None
    verdict: str | None = None
    confidence_after: float | None = None
    weight: float = 0.0
    moved_by: int | None = None
    moved_after: Movement | None = None
    """Where it changed its choice, or names what moved it: whether it had met new evidence by then, or words alone."""
    moved_by_whom: SeatId | None = None
    """Whose words these were."""
    choice_before: str = ""
    number_before: float | None = None
    """Its blind estimate, where the question asks for a number."""
    via_before: str = ""
    via: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class SeatQuotations:
    """How many quotations and citations of a seat were checked, and how many of them stand where they are said to."""

    seat: SeatId
    checked: int
    held: int


@dataclass(frozen=True, slots=True, kw_only=True)
class EvidenceBase:
    """What became of the given files by the end of a session, and of what was looked up."""

    cited: tuple[str, ...] = ()
    """Those in which quotations and citations of the session stand, the most cited first."""
    unread: tuple[str, ...] = ()
    """Those of which no seat that answered was shown a line, by its prompt or by a tool."""
    quotations: int = 0
    """How many quotations and citations were checked."""
    quotations_held: int = 0
    """How many of them stand where they are said to."""
    seats: tuple[SeatQuotations, ...] = ()
    """The same of each seat that quoted or cited something; what the owner said for a seat is not counted."""
    refused_tool_calls: int = 0
    """How many calls of tools a budget refused."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DecidedFinding:
    """A fault that a review discussed, and what became of it."""

    number: int
    file: str
    first_line: int
    last_line: int
    severity: str
    concern: str
    claim: str
    evidence: str
    """Lines of the change, as they were quoted."""
    state: Literal["upheld", "dropped", "open", "unquoted"]
    """Whether more seats confirm than dispute it, or as many; `unquoted`: its evidence does not stand in the change."""
    held_by: tuple[SeatId, ...]
    disputed_by: tuple[SeatId, ...] = ()
    dissent: tuple[str, ...] = ()
    """The reasons of those who dispute it."""
    settles: str = ""
    """What would settle it."""
    fix: str = ""
    """Lines that may stand in place of `first_line` to `last_line`, checked to fit there; empty where there are none."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LostFinding:
    """A part of a reviewer's answer that could not be read; the rest of the answer counts."""

    seat: SeatId
    given: str
    """What was written, cut where it is long."""
    why: str
    """What was expected instead."""
    severity: str | None = None
    """None where that could not be read either."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Decision:
    """The outcome of a session; a protocol names the figures that it has.

    A field added here is in its JSON, whatever the protocol; where `ResultOut` of the calls has a field of that name, it is in
    the result of a deliberation too.
    """

    session: SessionId
    topic: str
    status: SessionStatus
    frame: Frame | None = None
    """What kind of question it is, its answers, and who listed them; None without a frame."""
    ended_by: str | None = None
    """Why the session ended."""
    decision: SourcedClaim | None = None
    """What was decided; None while the session goes on, or when it ended without a decision."""
    author: SeatId | None = None
    """Who wrote it."""
    headline: str = ""
    """The decision in one sentence that answers the question, by its author; empty where it gave none."""
    confidence: float | None = None
    """The chance that it is right, 0 to 1, by what the seats thought before they read each other; None if there is no figure."""
    chance_hidden: bool = False
    """Whether people are not shown this figure, which programs and reviews have all the same (`is_chance_shown`)."""
    confidence_from: ConfidenceBasis | None = None
    """What this figure comes from."""
    no_confidence: NoConfidence | None = None
    """Why there is no figure where blind answers were given: a `new_answer` came only after the reading."""
    no_confidence_note: str = field(default="", compare=False)
    """The same in one sentence, for people."""
    author_confidence: float | None = None
    """How sure its author says it is: the author's own figure, which nothing else rests on."""
    support: float | None = None
    """The supporting side's share of the weight that took a side."""
    turnout: float | None = None
    """The share of all weight that took a side."""
    reasons: tuple[SourcedClaim, ...] = ()
    positions: tuple[SeatPosition, ...] = ()
    """Where each seat stood before and after."""
    held_before: tuple[SeatId, ...] | None = None
    """Whose first answer, given before it read anybody, this was; None where nobody can say."""
    dissent: tuple[Dissent, ...] = ()
    open_questions: tuple[SourcedClaim, ...] = ()
    lost: tuple[LostSeat, ...] = ()
    outcome_uncertain: bool = False
    """Whether the missing voices could have changed the outcome."""
    turns: int = 0
    """How often a seat spoke."""
    spent: Spent = Spent()
    consensus_type: str | None = None
    agreement: Agreement | None = None
    """Where nobody is against it: whether all had answered so before they read each other, or agreed after that."""
    track_record: TrackShare | None = None
    """How often decisions of this protocol and this kind of agreement were right, once enough of them are reviewed."""
    would_change: WouldChange | None = None
    """What would change what was decided (D-27); None where nothing was, or nothing is known that would."""
    choice: str = ""
    """The decision in a word or two, where it has one."""
    voters: int = 0
    """How many seats took a side."""
    effective: float | None = None
    """How many independent votes these seats are worth."""
    spared: int = 0
    """How many answers were not asked for, because what the seats answered blind was clear."""
    depth: DepthTaken | None = None
    """How deep the question was taken, where code chose that."""
    minds: int = 0
    """How many model families and people took part; 0 if that is not known."""
    open_challenges: tuple[SourcedClaim, ...] = ()
    overturned: bool = False
    """Whether it is not what most had written blind, and nobody who changed named a reason."""
    overruled: bool = False
    """Whether most of the weight that took a side opposes it."""
    answers: tuple[AnsweredInput, ...] = ()
    """What it answers to each input of the user."""
    leading: tuple[LeadingAnswer, ...] = ()
    """The first answers where nothing was decided, the first one first."""
    leading_note: str = field(default="", compare=False)
    """The same in one sentence, for people (S-35)."""
    objections: tuple[FrameObjection, ...] = ()
    """Who said blind that none of the listed answers is right, and what instead (Q-1)."""
    uncounted: tuple[UncountedAnswer, ...] = ()
    """Who answered yes or no where the question asks which one: recorded, and counted for nothing."""
    parked: str = ""
    """Why a parked session cannot go on now."""
    backers: int = 0
    """How many stand behind it, where nobody votes."""
    backing: float | None = None
    """Their share of the weight of those who spoke."""
    number: NumberEstimate | None = None
    """The median of the blind estimates with their range, where the question asks for a number."""
    forecast: ForecastEstimate | None = None
    """The chance that it happens by the blind forecasts, where the question is one."""
    obligations: tuple[Obligation, ...] = ()
    """The conditions that it was supported on."""
    actions: tuple[ActionItem, ...] = ()
    """What it gives whom to do, and by when."""
    advice: tuple[TakenAdvice, ...] = ()
    """How the one who decided alone took each advice."""
    evidence: EvidenceBase | None = None
    """What it rests on of the given files, and what nobody read; None where nothing was given or looked up, or it goes on."""
    moved_after_evidence: int | None = None
    """How many seats moved after they had looked something up or read a citation that was new; None where that is not known."""
    moved_after_words: int | None = None
    """How many moved after words alone."""
    findings: tuple[DecidedFinding, ...] | None = None
    """What a review discussed; None for any other session."""
    lost_findings: tuple[LostFinding, ...] | None = None
    """What reviewers raised or said to findings, and could not be read; None where all could be."""
    language: Language = field(default="en", compare=False)
    """The language of the session, in which its memo is written."""
    how: How | None = None
    """How the result came about, or why there is none; None while the session goes on."""
    standing: Standing | None = field(default=None, compare=False)
    """Where it stands while it has no result."""
    asked: tuple[SeatId, ...] = ()
    """All who could take a side, those who never answered among them."""
    can_turn_out: bool = False
    """Whether the question can turn out right or wrong."""
    backers_named: tuple[SeatId, ...] = ()
    """Who stands behind it, where nobody votes."""
    leaders: tuple[LeadingSide, ...] = ()
    """The answers of a vote with the most support, up to two, with who is for and against each."""
    tie_by: TieBreak | None = None
    """What chose between the first two of them, where both have as much support."""
    near: int | None = None
    """How many more would have been enough; None where nobody can say."""
    faults: tuple[QuotationFault, ...] = ()
    """The quotations that do not stand where they are said to."""
    gate: GateJudgement | None = None
    """What a gate says of it, where its caller required something; None otherwise."""
    opened_on: str = ""
    """The day on which the session was opened, such as 2026-11-19."""
    review_on: str = ""
    """The day on which it is to be said how the decision turned out; empty where nobody wants that."""
    is_reviewed: bool = field(default=False, compare=False)
    """Whether how it turned out is on record."""
    cursor: int = field(default=0, compare=False)
    """The entry up to which the session was read."""
    waiting_for: tuple[SeatId, ...] = field(default=(), compare=False)
    """The seats of which something is asked now."""
    strength: Strength = field(init=False, default="none")
    """What it is worth in one word for programs, by its reservations (`moothall.scoring.strength`)."""
    reservations: tuple[ReservationCode, ...] = field(init=False, default=())
    """What a reader must know beside the result, the first one first (T-4)."""

    def __post_init__(self) -> None:
        figures = self._collect_figures()
        # The class is frozen: this is the one place that may write, before anybody has seen the value.
        object.__setattr__(self, "strength", rate_strength(figures))
        object.__setattr__(self, "reservations", list_reservations(figures))

    def _collect_figures(self) -> WorthFigures:
        # Where an owner decides, nobody votes: what stands for a vote is in the positions alone.
        opponents = {each.seat for each in self.positions if each.verdict == "oppose"}
        opponents |= {voice.seat for voice in self.dissent if voice.seat and voice.kind == "oppose"}
        supporters = self.supporters
        held: int | None = None
        if self.held_before is not None:
            held = len(set(self.held_before) & set(supporters))
        turnout = self.turnout
        if turnout is None:
            turnout = self.backing
        has_reported = any(voice.kind == "reported" for voice in self.dissent)
        # What the votes say.
        counted = WorthFigures(
            is_decided=self.decision is not None,
            support=self.support,
            turnout=turnout,
            confidence=self.confidence,
            basis=self.confidence_from,
            is_chance_shown=self.is_chance_for_people,
            voters=self.voters or self.backers,
            supporters=len(supporters),
            opponents=len(opponents),
            effective=self.effective,
            minds=self.minds,
        )
        # What was before the talk, and what became of it.
        counted = replace(
            counted,
            held_before=held,
            can_turn_out=self.can_turn_out,
            is_disputed=bool(opponents) or has_reported,
            is_tie_broken=self.tie_by is not None,
        )
        # What the record says.
        return replace(
            counted,
            has_open_challenges=self._has_open_challenges(),
            is_overturned=self.overturned,
            is_outcome_uncertain=self.outcome_uncertain,
            is_user_unanswered=any(each.answer is None for each in self.answers),
            has_false_quotation=bool(self.list_decisive_faults()),
            is_proven_alone=self.ended_by == "one_mind",
        )

    def _has_open_challenges(self) -> bool:
        """Whether an objection of another than the author was left open."""
        return any(each.seat is None or each.seat != self.author for each in self.open_challenges)

    @property
    def supporters(self) -> tuple[SeatId, ...]:
        """Those who are for it, with or without a condition; where nobody votes, those who stand behind it."""
        voted = tuple(each.seat for each in self.positions if each.verdict in FAVOURABLE)
        return voted or self.backers_named

    @property
    def is_chance_for_people(self) -> bool:
        """Whether people read how likely it is right: only of an answer that someone had before they talked (Q-10)."""
        if self.chance_hidden or not self.can_turn_out or self.confidence is None:
            return False
        return bool(self.held_before)

    def list_decisive_faults(self) -> tuple[QuotationFault, ...]:
        """Return the quotations that fail in the words of the author or of those who are for it."""
        decisive = {self.author, *self.supporters}
        return tuple(each for each in self.faults if each.seat in decisive)

    @property
    def short_choice(self) -> str:
        """What was decided, in a few words; empty where nothing was."""
        return "" if self.decision is None else summarize_choice(self.choice, self.decision.text)

    def to_json(self) -> dict[str, Any]:
        """The decision as every surface gives it: `moot show --json`, the library, the server and the page.

        `decision` is the text, None where there is no decision, and `decisionEntries` is what it rests on. Other
        fields that have no value are left out.
        """
        return {
            **encode_fields(self),
            "choice": self.short_choice,
            "decision": None if self.decision is None else self.decision.text,
            "decisionEntries": [] if self.decision is None else list(self.decision.entries),
            "confidence": self.confidence,
        }


def is_chance_shown(kind: QuestionKind | None, *, is_asked_for: bool, has_reviewed: bool) -> bool:
    """Whether people read how likely a decision is right, by what kind of question it is (Q-10).

    A forecast or a number is nothing without it. An answer to a question with listed ones has it where reviewed decisions are
    behind it or the opener asks; an open question never: its answer is not right or wrong. Of a question whose kind nobody said,
    it is shown.
    """
    match kind:
        case None | "forecast" | "number":
            return True
        case "choice" | "yes_no":
            return is_asked_for or has_reviewed
        case "open":
            return False


_HEADING: Final = compile_late(r"^[^\S\n]*+#{1,6}\s.*$", re.MULTILINE)
_MARKUP: Final = compile_late(
    r"^[^\S\n]*+(?:#{1,6}|>|[-*+])\s+|\*+(?=\S)|(?<=\S)\*+|__|`", re.MULTILINE
)


def summarize_choice(choice: str, text: str) -> str:
    """What was chosen, on one line: the choice where there is one, else the first sentence of the decision without its markup."""
    # The first kilobyte holds the first sentence; a decision may be a whole document. A title says what it is about, not what
    # was decided: it counts only where there is nothing else.
    words = strip_control(choice).strip() or strip_control(text[:1_000])
    return extract_first_sentence(
        _MARKUP.sub("", _HEADING.sub("", words)).strip() or _MARKUP.sub("", words).strip()
    )
