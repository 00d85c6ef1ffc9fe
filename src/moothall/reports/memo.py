"""The memo: what a person reads first of a session, the same words on every surface (T-1 to T-5).

It is built once, from a decision or from where a session stands without one, and is pure: no timeline, no clock. How a result
came about is a value that the protocol gives (`reports/how.py`); the words are in one catalogue (`locale/*/memo.toml`). A memo
has at most twelve lines of a terminal. What does not fit is left out whole, in a written order: never the result, the caution,
the next thing to do, or the point of the strongest objection.
"""

from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any, Final, Literal, get_args

from moothall.domain.facts import Language
from moothall.domain.replace import dataclass
from moothall.domain.safe_text import encode_fields
from moothall.locale.catalogues import MEMO, MemoText
from moothall.reports import blocks
from moothall.reports.decision import Decision, ObligationState
from moothall.reports.how import ByReview, Standing
from moothall.reports.memo_cautions import Reservation, choose_caution, list_cautions
from moothall.reports.memo_result import describe_outcome, describe_standing
from moothall.reports.memo_slots import (
    Objection,
    describe_before,
    describe_chance,
    describe_joiners,
    describe_missing,
    describe_open,
    describe_sides,
    find_objection,
    format_objection,
    format_reply,
    list_body,
    list_next,
    list_would_take,
)
from moothall.reports.memo_summary import MemoSummary, join_badge
from moothall.reports.memo_what import choose_what, get_limits
from moothall.reports.sentences import count_lines, join_sentences

Slot = Literal[
    "result",
    "body",
    "sides",
    "before",
    "chance",
    "caution",
    "next",
    "against",
    "answer",
    "missing",
    "open",
]
SLOTS: Final[tuple[Slot, ...]] = get_args(Slot)
"""The slots of a memo in the order in which they are shown."""
MAX_LINES: Final = 12
"""So many lines of a terminal a memo has at most, wrapped at 80 columns."""


@dataclass(frozen=True, slots=True, kw_only=True)
class MemoLine:
    """One thing that a memo says. `entries` are the lines of the timeline that it is from; surfaces make links of them."""

    slot: Slot
    text: str
    entries: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class NextStep:
    """One thing that is to happen after a decision, for programs."""

    kind: Literal["condition", "task", "review"]
    text: str = ""
    """What must hold, or what is to be done; empty for a review."""
    by: str = ""
    """Who set the condition."""
    who: str = ""
    """Who must do it; empty where nobody was named."""
    due: str = ""
    """By when, as it was stated: a day such as 2026-12-19, or other words."""
    state: ObligationState = "open"


@dataclass(frozen=True, slots=True, kw_only=True)
class Memo:
    """What a person reads first of a session."""

    badge: str
    """How the result came about in a word or two, for lists: `3 of 4`."""
    what: str
    """What was decided, as one sentence; empty where nothing was."""
    is_below: bool = False
    """Whether that sentence only points to the text, whose first one is too long for a memo."""
    result: MemoLine
    lines: tuple[MemoLine, ...] = ()
    """The lines below the result."""
    reservations: tuple[Reservation, ...] = ()
    """All that a reader must know beside the result; at most one of them has a line."""
    next: tuple[NextStep, ...] = ()
    """All that is to happen, also what has no line; a memo without a decision has none."""

    @property
    def all_lines(self) -> tuple[MemoLine, ...]:
        return (self.result, *self.lines)

    @property
    def text(self) -> str:
        """The memo as plain text, one line for each thing that it says."""
        return "\n".join(line.text for line in self.all_lines)

    @property
    def caution(self) -> str:
        """The sentence of the first reservation; empty where there is none."""
        if not self.reservations:
            return ""
        return self.reservations[0].text

    @property
    def short_caution(self) -> str:
        """The short form of the first reservation; empty where there is none."""
        if not self.reservations:
            return ""
        return self.reservations[0].short

    @property
    def full_badge(self) -> str:
        """The badge with the short form of the first reservation: `3 of 4 ! tie broken`."""
        return join_badge(self.badge, self.short_caution)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Parts:
    """The parts of a memo before it is made to fit."""

    texts: MemoText
    result: MemoLine
    body: tuple[str, ...] = ()
    sides: str = ""
    before: str = ""
    came_over: str = ""
    chance: str = ""
    caution: str = ""
    next: tuple[tuple[str, tuple[int, ...]], ...] = ()
    objection: Objection | None = None
    objection_limit: int = 0
    missing: str = ""
    open: str = ""

    def build_lines(self) -> Iterator[MemoLine]:
        """Yield the lines below the result, none of them empty."""
        listed: list[tuple[Slot, str, tuple[int, ...]]] = [
            ("body", join_sentences(self.body), ()),
            ("sides", self.sides, ()),
            ("before", self._join_before(), ()),
        ]
        # A chance and a caution follow from the record alone: they stand before what people said.
        listed.append(("chance", self.chance, ()))
        listed.append(("caution", self.caution, ()))
        for text, entries in self.next:
            listed.append(("next", text, entries))
        if self.objection is not None:
            said = format_objection(self.objection, self.objection_limit, self.texts)
            listed.append(("against", said, self.objection.entries))
            listed.append(("answer", format_reply(self.objection, self.texts), ()))
        listed.append(("missing", self.missing, ()))
        listed.append(("open", self.open, ()))
        # Two may have set the same condition in the same words: nothing stands twice.
        seen: set[str] = set()
        for slot, text, entries in listed:
            if text and text not in seen:
                seen.add(text)
                yield MemoLine(slot=slot, text=text, entries=entries)

    def _join_before(self) -> str:
        return join_sentences([each for each in (self.before, self.came_over) if each])

    def is_fitting(self) -> bool:
        """Whether it has at most twelve lines of a terminal."""
        count = count_lines(self.result.text)
        for line in self.build_lines():
            count += count_lines(line.text)
        return count <= MAX_LINES


def build_memo(source: Standing | Decision, language: Language) -> Memo:
    """Build the memo of a decision, or of where a session stands that has none."""
    if isinstance(source, Standing):
        return _build_standing_memo(source, language)
    # While a session runs, its protocol says where it stands.
    if source.standing is not None:
        return _build_standing_memo(source.standing, language)
    if source.status in {"thinking", "parked"}:
        # A protocol of another distribution may say no more than this.
        is_parked = source.status == "parked"
        standing = Standing(
            state="parked" if is_parked else "running",
            session=source.session,
            topic=source.topic,
            reason=source.parked,
        )
        return _build_standing_memo(standing, language)
    return _build_decision_memo(source, MEMO[language])


def _build_standing_memo(standing: Standing, language: Language) -> Memo:
    texts = MEMO[language]
    outcome = describe_standing(standing, texts)
    lines: tuple[MemoLine, ...] = ()
    if standing.state in {"parked", "stopped"} and standing.session:
        text = texts.standing["go_on"].format(session=standing.session)
        lines = (MemoLine(slot="next", text=text),)
    result = MemoLine(slot="result", text=outcome.text)
    return Memo(badge=outcome.badge, what="", result=result, lines=lines)


def _build_decision_memo(decision: Decision, texts: MemoText) -> Memo:
    outcome = describe_outcome(decision, texts)
    cautions = list_cautions(decision, texts)
    entries: tuple[int, ...] = ()
    if decision.decision is not None:
        entries = decision.decision.entries
    result = MemoLine(slot="result", text=outcome.text, entries=entries)
    parts = _collect_parts(decision, result, cautions, texts)
    fitted = _fit(parts)
    what = choose_what(decision, texts).text
    # The verdict of a review is one word: what it found is the sentence.
    if what and isinstance(decision.how, ByReview):
        what = outcome.text
    return Memo(
        badge=outcome.badge,
        what=what,
        is_below=what == texts.below,
        result=result,
        lines=tuple(fitted.build_lines()),
        reservations=cautions,
        next=list_next_steps(decision),
    )


def list_next_steps(decision: Decision) -> tuple[NextStep, ...]:
    """Return what is to happen after a decision: conditions, tasks, and its review; nothing where nothing was decided."""
    if decision.decision is None:
        return ()
    # All of them: what has no room in twelve lines is still to be done.
    steps: list[NextStep] = []
    for condition in decision.obligations:
        steps.append(
            NextStep(
                kind="condition",
                text=condition.text,
                by=condition.seat,
                who=condition.who,
                due=condition.due,
                state=condition.state,
            )
        )
    for task in decision.actions:
        steps.append(NextStep(kind="task", text=task.text, who=task.who, due=task.due))
    if decision.review_on:
        state: ObligationState = "met" if decision.is_reviewed else "open"
        steps.append(NextStep(kind="review", due=decision.review_on, state=state))
    return tuple(steps)


def _collect_parts(
    decision: Decision, result: MemoLine, cautions: tuple[Reservation, ...], texts: MemoText
) -> _Parts:
    caution = choose_caution(cautions)
    caution_text = ""
    if caution is not None:
        caution_text = caution.text
    parts = _Parts(
        texts=texts,
        result=result,
        sides=describe_sides(decision, texts),
        caution=caution_text,
        objection=find_objection(decision, texts),
        objection_limit=get_limits(texts.language).against,
        missing=describe_missing(decision, texts),
        open=describe_open(decision, texts),
    )
    # Where nothing was decided there is no text, no chance and nobody who held it before: only what it would take.
    if decision.decision is None:
        wanted = tuple((text, ()) for text in list_would_take(decision, texts))
        return replace(parts, next=wanted)
    return replace(
        parts,
        body=tuple(list_body(decision, texts)),
        before=describe_before(decision, texts),
        came_over=describe_joiners(decision, texts),
        chance=describe_chance(decision, texts),
        next=tuple(list_next(decision, texts)),
    )


def _drop_came_over(parts: _Parts) -> _Parts:
    return replace(parts, came_over="")


def _shorten_body(parts: _Parts) -> _Parts:
    return replace(parts, body=parts.body[:-1])


def _keep_two_next(parts: _Parts) -> _Parts:
    return _keep_next(parts, 2)


def _keep_one_next(parts: _Parts) -> _Parts:
    return _keep_next(parts, 1)


def _keep_next(parts: _Parts, count: int) -> _Parts:
    """Return the parts with at most so many lines of what happens next; the last one says how many more there are."""
    # "and 2 more" is no line to stand alone: of one, the first itself is shown.
    if len(parts.next) <= count or count == 1:
        return replace(parts, next=parts.next[:count])
    more = parts.texts.next["more"].format(count=len(parts.next) - count + 1)
    return replace(parts, next=(*parts.next[: count - 1], (more, ())))


def _drop_sides(parts: _Parts) -> _Parts:
    return replace(parts, sides="")


def _drop_reply(parts: _Parts) -> _Parts:
    if parts.objection is None:
        return parts
    return replace(parts, objection=replace(parts.objection, answer="", answered_by=None))


def _keep_objection_point(parts: _Parts) -> _Parts:
    """Return the parts with one sentence of the objection: the last one, of what is reported the first."""
    objection = parts.objection
    if objection is None or len(objection.words) < 2:
        return parts
    point = objection.words[-1]
    if objection.is_reported:
        point = objection.words[0]
    return replace(parts, objection=replace(objection, words=(point,), is_shortened=True))


def _drop_open(parts: _Parts) -> _Parts:
    return replace(parts, open="")


def _drop_before(parts: _Parts) -> _Parts:
    return replace(parts, before="")


def _shorten_objection(parts: _Parts) -> _Parts:
    limit = get_limits(parts.texts.language).short_against
    return replace(parts, objection_limit=min(parts.objection_limit, limit))


def _drop_chance(parts: _Parts) -> _Parts:
    return replace(parts, chance="")


_REDUCTIONS: Final[tuple[Callable[[_Parts], _Parts], ...]] = (
    # Those who came over are named in the argument, too.
    _drop_came_over,
    # The result has said the main thing; the text stands below in full.
    _shorten_body,
    _keep_two_next,
    # The result names those who are against it.
    _drop_sides,
    _drop_reply,
    # People end with their point, and what is reported begins with it.
    _keep_objection_point,
    _drop_open,
    _drop_before,
    # One step stays: a reader must know that there is something to do.
    _keep_one_next,
    _shorten_objection,
    # Last, because nothing else says it; the figures have it.
    _drop_chance,
)
"""What is left out while a memo is too long, in this order; the body loses one sentence after another."""


def _fit(parts: _Parts) -> _Parts:
    """Return the parts of a memo that fit into twelve lines."""
    # Each step is tried only while the memo is too long, so that a short one loses nothing.
    for reduce in _REDUCTIONS:
        if parts.is_fitting():
            return parts
        parts = reduce(parts)
        # Of the body as few sentences go as will do.
        while reduce is _shorten_body and parts.body and not parts.is_fitting():
            parts = reduce(parts)
    return parts


_TONES: Final[dict[Slot, blocks.Tone]] = {"result": "strong", "caution": "warn"}


def build_memo_blocks(memo: Memo) -> tuple[blocks.Line, ...]:
    """Return a memo as the first blocks of a report; what someone said leads to where it was said."""
    shown: list[blocks.Line] = []
    for line in memo.all_lines:
        text: blocks.Text = line.text
        if line.entries:
            text = blocks.Linked(line.text, line.entries[0])
        shown.append(blocks.Line(text, _TONES.get(line.slot, "plain")))
    return tuple(shown)


def summarize_decision(decision: Decision) -> MemoSummary:
    """Return what a list shows of a decision; where nothing was decided, the sentence that says so."""
    memo = build_memo(decision, decision.language)
    what = memo.what or memo.result.text
    if memo.is_below:
        # Nothing stands below a list: a first sentence that is too long for a memo is better there than none.
        what = decision.short_choice
    return MemoSummary(badge=memo.badge, what=what, reservation=memo.short_caution)


def encode_with_memo(decision: Decision) -> dict[str, Any]:
    """Return a decision as every surface gives it to programs, with its memo first."""
    return {"memo": encode_memo(build_memo(decision, decision.language)), **decision.to_json()}


def encode_memo(memo: Memo) -> dict[str, object]:
    """Return a memo as programs and the page have it."""
    lines = [
        {"slot": line.slot, "text": line.text, "entries": list(line.entries)}
        for line in memo.all_lines
    ]
    reservations = [
        {"code": each.code, "text": each.text, "short": each.short} for each in memo.reservations
    ]
    return {
        "badge": memo.badge,
        "what": memo.what,
        "result": memo.result.text,
        "lines": lines,
        "reservations": reservations,
        "next": [encode_fields(each) for each in memo.next],
        "text": memo.text,
    }
