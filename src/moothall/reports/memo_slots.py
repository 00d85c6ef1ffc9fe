"""The lines of a memo below its first one, each from the fields of a decision: a slot without a fact is left out."""

import re
from collections.abc import Sequence
from datetime import date
from typing import Final

from moothall.domain.ids import SeatId
from moothall.domain.replace import dataclass
from moothall.domain.safe_text import one_line
from moothall.domain.topic import ActionItem, normalize_label
from moothall.locale.catalogues import MemoText
from moothall.reports.decision import FAVOURABLE, Decision, Dissent, Obligation
from moothall.reports.how import (
    ByAnswer,
    ByMeasure,
    ByMinutes,
    ByOwner,
    ByReview,
    BySteps,
    ByVotes,
    LeadingSide,
    Undecided,
)
from moothall.reports.memo_names import (
    MANY,
    format_listed,
    format_name,
    format_names,
    format_possessive,
    list_names,
)
from moothall.reports.memo_result import Sides, list_sides
from moothall.reports.memo_what import choose_what, find_headline, get_limits
from moothall.reports.sentences import (
    end_sentence,
    join_sentences,
    keep_first,
    keep_last,
    measure_width,
    shorten_sentence,
    split_sentences,
    strip_stop,
)
from moothall.reports.wording import format_percent

MAX_NEXT: Final = 3
"""So many lines say what happens next; where there are more, the last one counts the others."""
MAX_BEFORE_NAMES: Final = 4
"""So many are named who had the answer before they talked."""
_ISO_DAY: Final = re.compile(r"\d{4}-\d{2}-\d{2}")
_UNSETTLED_LAST: Final = ("open", "failed", "met", "waived")


@dataclass(frozen=True, slots=True, kw_only=True)
class Objection:
    """The strongest objection: who has it, what was said, and what was answered to it."""

    words: tuple[str, ...]
    """Its sentences."""
    seat: SeatId | None = None
    answer: str = ""
    answered_by: SeatId | None = None
    entries: tuple[int, ...] = ()
    is_shortened: bool = False
    """Whether other sentences of it were left out already."""
    is_reported: bool = False
    """Whether an author reports it as open: then its first sentences are chosen, else its last ones."""


def list_body(decision: Decision, texts: MemoText) -> list[str]:
    """Return what a decision says beyond its result: whole sentences from its beginning."""
    if decision.decision is None or isinstance(decision.how, ByReview):
        return []
    limits = get_limits(texts.language)
    what = choose_what(decision, texts)
    text = decision.decision.text
    sentences = split_sentences(text)
    if isinstance(decision.how, ByAnswer):
        said = _take_last_paragraph(text, what.sentence, limits.body)
        return [end_sentence(each, texts.language) for each in said if each not in what.text]
    if what.sentence in sentences:
        sentences.remove(what.sentence)
    elif sentences and what.sentence.startswith(sentences[0]):
        # The result has the whole list.
        return []
    result = normalize_label(what.text)
    rest = [each for each in sentences if normalize_label(each) != result]
    limit = limits.body
    if find_headline(decision):
        limit = limits.body_with_headline
    chosen: list[str] = []
    for each in rest:
        if measure_width(join_sentences([*chosen, each])) > limit:
            break
        chosen.append(end_sentence(each, texts.language))
    return chosen


def _take_last_paragraph(text: str, result: str, limit: int) -> list[str]:
    """Return the last paragraph of an answer where it fits: there people write what follows from it."""
    paragraphs = [each for each in text.split("\n\n") if each.strip()]
    # One paragraph begins with the result: what stands behind that is the rest of the answer.
    if len(paragraphs) < 2:
        sentences = split_sentences(text)
        rest = [each for each in sentences if each != result]
        if measure_width(join_sentences(rest)) <= limit:
            return rest
        return []
    last = split_sentences(paragraphs[-1])
    if measure_width(join_sentences(last)) > limit:
        return []
    return last


def describe_sides(decision: Decision, texts: MemoText) -> str:
    """Return who is for it, on a condition, against it and on no side; counts from seven on."""
    match decision.how:
        # One voice, steps and reviewers take no sides.
        case ByAnswer() | BySteps() | ByReview():
            return ""
        case ByMinutes():
            return _describe_declared(decision, texts)
        case ByOwner() if decision.advice:
            return _describe_advice(decision, decision.how.owner, texts)
        # Without a record of what became of the advice, it is told by what the advisers said.
        case ByOwner():
            sides = _drop_owner(list_sides(decision), decision.how.owner)
        case _:
            sides = list_sides(decision)
    if sides.asked <= 1 or not (sides.favourable or sides.opponents):
        return ""
    # A list of seven names is read by nobody.
    if sides.asked >= MANY:
        return _count_sides(sides, texts)
    return _name_sides(sides, texts)


def _drop_owner(sides: Sides, owner: SeatId) -> Sides:
    """Return the sides of the advisers alone."""
    return Sides(*(tuple(seat for seat in side if seat != owner) for side in sides))


def _describe_advice(decision: Decision, owner: SeatId, texts: MemoText) -> str:
    """Return whose advice was taken, in part or not at all, and who gave none."""
    taken = {each.seat: each.how for each in decision.advice}
    parts: list[str] = []
    rows = (("taken", "adopted"), ("partly", "partly"), ("declined", "declined"))
    for name, how in rows:
        seats = [seat for seat, said in taken.items() if said == how]
        if seats:
            parts.append(texts.sides[name].format(names=list_names(seats, texts)))
    silent = [seat for seat in decision.asked if seat != owner and seat not in taken]
    if silent:
        parts.append(texts.sides["no_advice"].format(names=list_names(silent, texts)))
    return join_sentences(parts)


def _name_sides(sides: Sides, texts: MemoText) -> str:
    rows = (
        ("supporters", sides.supporters),
        ("conditional", sides.conditional),
        ("opponents", sides.opponents),
        ("silent", sides.silent),
    )
    parts: list[str] = []
    for name, seats in rows:
        if seats:
            parts.append(texts.sides[name].format(names=list_names(seats, texts)))
    # "Nobody is against it" is true of silence, too, and says nothing there.
    if not sides.opponents and not sides.silent:
        parts.append(texts.sides["nobody_against"])
    return join_sentences(parts)


def _count_sides(sides: Sides, texts: MemoText) -> str:
    rows = (
        ("count_supporters", sides.supporters),
        ("count_conditional", sides.conditional),
        ("count_opponents", sides.opponents),
        ("count_silent", sides.silent),
    )
    parts: list[str] = []
    for name, seats in rows:
        if not seats:
            continue
        key = name
        if name == "count_opponents" and len(seats) > 2:
            key = "count_opponents_many"
        names = format_names(seats, texts)
        parts.append(texts.sides[key].format(count=len(seats), names=names))
    text = end_sentence(texts.between.join(parts), texts.language)
    if sides.opponents or sides.silent:
        return text
    return join_sentences([text, texts.sides["nobody_against"]])


def _describe_declared(decision: Decision, texts: MemoText) -> str:
    """Return who declared agreement with the minutes, and who did not."""
    if decision.decision is None or not decision.backers_named:
        return ""
    others = [each for each in decision.asked if each not in decision.backers_named]
    if len(decision.asked) >= MANY:
        names = format_names(others, texts)
    else:
        names = list_names(others, texts)
    supporters = list_names(decision.backers_named, texts)
    parts = [texts.sides["declared"].format(names=supporters)]
    if others:
        parts.append(texts.sides["undeclared"].format(names=names))
    return join_sentences(parts)


def describe_before(decision: Decision, texts: MemoText) -> str:
    """Return how many had this answer before they talked; of one who decides alone, what it wanted before the advice."""
    held = decision.held_before
    if isinstance(decision.how, ByOwner) and decision.decision is not None:
        return _describe_first_wish(decision, decision.how.owner, texts)
    if held is None or decision.decision is None:
        return ""
    if isinstance(decision.how, ByVotes):
        is_said = decision.how.ending != "voted"
        if is_said or _is_said_by_result(decision):
            return ""
    answered = [each for each in decision.positions if each.choice_before or each.before]
    asked = len(answered)
    if asked < 2:
        return ""
    if isinstance(decision.how, ByMeasure):
        return _describe_joining(decision, held, texts)
    if not held:
        return texts.before["none"]
    if len(held) > MAX_BEFORE_NAMES:
        return texts.before["many"].format(count=len(held), asked=asked)
    return texts.before["some"].format(
        count=len(held), asked=asked, names=format_listed(held, texts)
    )


def _describe_first_wish(decision: Decision, owner: SeatId, texts: MemoText) -> str:
    """Return what the one who decides wanted before it heard the others, where that is another answer."""
    for each in decision.positions:
        before = one_line(each.choice_before)
        if each.seat == owner and before:
            if normalize_label(before) == normalize_label(decision.choice):
                return ""
            name = format_name(owner, texts)
            choice = shorten_sentence(strip_stop(before), get_limits(texts.language).answer)
            return texts.before["owner"].format(name=name, choice=choice)
    return ""


def describe_joiners(decision: Decision, texts: MemoText) -> str:
    """Return who came over to the answer, and after whose words."""
    if decision.decision is None or isinstance(decision.how, ByMeasure | ByOwner):
        return ""
    held = decision.held_before or ()
    by_whom: dict[SeatId, list[SeatId]] = {}
    for each in decision.positions:
        is_new = each.verdict in FAVOURABLE and each.seat not in held
        if is_new and each.choice_before and each.moved_by_whom not in {None, each.seat}:
            by_whom.setdefault(each.moved_by_whom or each.seat, []).append(each.seat)
    parts: list[str] = []
    for by, seats in by_whom.items():
        names = format_names(seats, texts)
        parts.append(texts.before["came_over"].format(names=names, by=format_name(by, texts)))
    return join_sentences(parts)


def _is_said_by_result(decision: Decision) -> bool:
    """Whether the result says already that all agreed from the start."""
    sides = list_sides(decision)
    is_unanimous = len(sides.favourable) == sides.asked > 1
    return is_unanimous and set(sides.favourable) <= set(decision.held_before or ())


def _describe_joining(decision: Decision, held: Sequence[SeatId], texts: MemoText) -> str:
    """Return who of a crowd came to an answer alone, and who joined after reading."""
    joined = [each for each in list_sides(decision).favourable if each not in held]
    if not held or not joined:
        return ""
    return texts.before["came_to_it"].format(
        names=format_names(held, texts), others=format_names(joined, texts)
    )


def describe_chance(decision: Decision, texts: MemoText) -> str:
    """Return how likely it is right, where the question can turn out right or wrong (Q-10)."""
    chance = decision.confidence
    if not decision.is_chance_for_people or chance is None:
        return ""
    voices = sum(1 for each in decision.positions if each.choice_before)
    tenths = round(chance * 10)
    name = "of_ten"
    if tenths < 1:
        name = "least"
    elif tenths > 9:
        name = "most"
    parts = [texts.chances[name].format(count=tenths, voices=voices)]
    track = decision.track_record
    if track is not None:
        parts.append(texts.chances["track"].format(cases=track.cases, right=track.right))
    return join_sentences(parts)


def list_next(decision: Decision, texts: MemoText) -> list[tuple[str, tuple[int, ...]]]:
    """Return what happens next, one line each with its entries: conditions, the open ones and the earliest date first."""
    lines: list[tuple[str, tuple[int, ...]]] = []
    ordered = sorted(decision.obligations, key=_rank_obligation)
    for each in ordered:
        lines.append((_describe_obligation(decision, each, texts), each.entries))
    for action in decision.actions:
        text = _describe_action(decision, action, texts)
        if text:
            lines.append((text, ()))
    if not lines and isinstance(decision.how, ByVotes | ByMeasure) and decision.voters > 1:
        lines.append((texts.next["no_condition"], ()))
    review = describe_review_day(decision, texts)
    if review:
        lines.append((review, ()))
    if len(lines) > MAX_NEXT:
        more = texts.next["more"].format(count=len(lines) - MAX_NEXT + 1)
        lines = [*lines[: MAX_NEXT - 1], (more, ())]
    return lines


def describe_review_day(decision: Decision, texts: MemoText) -> str:
    """Return when it is to be said how the decision turned out; "" where that was said, or nobody wants it."""
    if decision.is_reviewed:
        return ""
    day = _format_day(decision.review_on, decision.opened_on, texts)
    if not day:
        return ""
    return texts.next["review"].format(day=day)


def _rank_obligation(obligation: Obligation) -> tuple[int, str]:
    due = "~"
    if _ISO_DAY.fullmatch(obligation.due.strip()):
        due = obligation.due.strip()
    return _UNSETTLED_LAST.index(obligation.state), due


def _describe_obligation(decision: Decision, obligation: Obligation, texts: MemoText) -> str:
    state = texts.obligation_states[obligation.state]
    due = format_due(obligation.due, decision.opened_on, texts)
    if obligation.who:
        who = format_name(obligation.who, texts)
        state = texts.next["states_who"].format(who=who, state=state)
    if due:
        state = texts.next["states_due"].format(due=due, state=state)
    owner = format_possessive(obligation.seat, texts)
    head = texts.next["condition"].format(owner=owner, state=state, words="")
    room = get_limits(texts.language).next_line - measure_width(head)
    words = join_sentences(keep_first(split_sentences(obligation.text), max(room, 40)))
    return f"{head}{end_sentence(words, texts.language)}"


def _describe_action(decision: Decision, action: ActionItem, texts: MemoText) -> str:
    """Return what someone does by when, as the decision says; "" where it says nothing."""
    sentences = split_sentences(action.text)
    if not sentences:
        return ""
    due = format_due(action.due, decision.opened_on, texts)
    name = format_name(action.who, texts)
    frame = texts.next["task"]
    if not name:
        frame = texts.next["task_bare"]
    if due and name:
        frame = texts.next["task_due"]
    elif due:
        frame = texts.next["task_bare_due"]
    head = frame.format(name=name, due=due, words="")
    room = get_limits(texts.language).next_line - measure_width(head)
    words = join_sentences(keep_first(sentences, max(room, 40)))
    return f"{head}{end_sentence(words, texts.language)}"


def format_due(due: str, opened_on: str, texts: MemoText) -> str:
    """Return a date as people say it, without its year where it is that of the session; other words as they were written."""
    written = one_line(due)
    said = _format_day(written, opened_on, texts)
    if not said:
        return _format_due_words(written, texts)
    return texts.next["by_day"].format(day=said)


def _format_day(written: str, opened_on: str, texts: MemoText) -> str:
    """Return a date such as 2026-12-19 as people say it, without its year where it is that of the session; "" for other words."""
    try:
        day = date.fromisoformat(written)
    except ValueError:
        return ""
    month = texts.months[day.month - 1]
    pattern = texts.day_and_month
    if not opened_on.startswith(f"{day.year:04}-"):
        pattern = texts.day_month_and_year
    return pattern.format(day=day.day, month=month, year=day.year)


def _format_due_words(written: str, texts: MemoText) -> str:
    """Return a date in other words, with `by` where it says nothing of the kind itself."""
    if not written:
        return ""
    said = shorten_sentence(written, get_limits(texts.language).next_line // 3)
    first, last = said.split()[0].casefold(), said[-1]
    if first in texts.due_words or last in texts.due_words:
        return said
    return texts.next["by_day"].format(day=said)


def find_objection(decision: Decision, texts: MemoText) -> Objection | None:
    """Return the strongest objection: of those against it the heaviest, then what nobody answered, then what is reported."""
    weights = {each.seat: each.weight for each in decision.positions}

    def weigh(voice: Dissent) -> float:
        return -weights.get(voice.seat or SeatId(""), 0.0)

    against = [each for each in decision.dissent if each.kind == "oppose" and each.text.strip()]
    challenges = [
        each for each in decision.dissent if each.kind == "challenge" and each.text.strip()
    ]
    reported = [each for each in decision.dissent if each.kind == "reported" and each.text.strip()]
    for voices in (sorted(against, key=weigh), challenges, reported):
        if voices:
            return _build_objection(decision, voices[0])
    for claim in decision.open_challenges:
        # What its own author once objected to is no objection to what it says now.
        is_own = claim.seat is not None and claim.seat == decision.author
        if claim.text.strip() and not is_own:
            return Objection(
                words=tuple(split_sentences(claim.text)), seat=claim.seat, entries=claim.entries
            )
    return None


def _build_objection(decision: Decision, voice: Dissent) -> Objection | None:
    words = tuple(split_sentences(voice.text))
    if not words:
        return None
    answer, owner = "", None
    for each in decision.advice:
        if each.seat == voice.seat and each.why.strip() and isinstance(decision.how, ByOwner):
            answer, owner = each.why, decision.how.owner
    return Objection(
        words=words,
        answer=answer,
        answered_by=owner,
        seat=voice.seat,
        entries=voice.entries,
        is_reported=voice.seat is None,
    )


def format_objection(objection: Objection, limit: int, texts: MemoText) -> str:
    """Return an objection within a limit, in its own words: its last sentences, of what is reported its first ones."""
    if objection.is_reported or objection.seat is None:
        frame = texts.against["left_open"]
        room = limit - measure_width(frame.format(words=""))
        words = join_sentences(keep_first(objection.words, room))
        return frame.format(words=end_sentence(words, texts.language))
    name = format_name(objection.seat, texts)
    room = limit - measure_width(texts.said.format(name=name, words=""))
    chosen = keep_last(objection.words, room)
    words = end_sentence(join_sentences(chosen), texts.language)
    if objection.is_shortened or len(chosen) < len(objection.words):
        words = f"{texts.left_out}{words}"
    return texts.said.format(name=name, words=words)


def format_reply(objection: Objection, texts: MemoText) -> str:
    """Return what was answered to an objection; "" where nothing was."""
    if not objection.answer.strip() or objection.answered_by is None:
        return ""
    name = format_name(objection.answered_by, texts)
    room = get_limits(texts.language).answer - measure_width(name)
    words = join_sentences(keep_first(split_sentences(objection.answer), room))
    return texts.answers.format(name=name, words=end_sentence(words, texts.language))


def describe_missing(decision: Decision, texts: MemoText) -> str:
    """Return who gave no answer, where that could matter and the caution does not say it."""
    if decision.outcome_uncertain or decision.support is not None or decision.decision is None:
        return ""
    lost = [each for each in decision.lost if each.did_not_vote]
    if not lost or isinstance(decision.how, ByAnswer | BySteps):
        return ""
    names = format_names([each.seat for each in lost], texts)
    losses = {each.last for each in lost}
    if len(losses) == 1:
        loss = texts.losses.get(lost[0].last, lost[0].last)
        return texts.missing["one"].format(names=names, loss=loss)
    return texts.missing["several"].format(names=names)


def describe_open(decision: Decision, texts: MemoText) -> str:
    """Return the first open question, or of what an answer is unsure and whom to ask."""
    limit = get_limits(texts.language).open
    if isinstance(decision.how, ByAnswer):
        return _describe_doubt(decision.how, limit, texts)
    for each in decision.open_questions:
        sentences = split_sentences(each.text)
        if sentences:
            room = limit - measure_width(texts.open["question"].format(words=""))
            words = end_sentence(join_sentences(keep_first(sentences, room)), texts.language)
            return texts.open["question"].format(words=words)
    unanswered = [each for each in decision.answers if each.answer is None]
    if len(unanswered) > 1 or (unanswered and decision.outcome_uncertain):
        words = shorten_sentence(one_line(unanswered[-1].asked), limit // 2)
        return texts.open["input"].format(words=words)
    return ""


def _describe_doubt(answer: ByAnswer, limit: int, texts: MemoText) -> str:
    if answer.outcome != "answered":
        return ""
    parts: list[str] = []
    sentences = split_sentences(answer.unsure_of)
    if sentences:
        name = format_name(answer.asked, texts)
        words = join_sentences(keep_first(sentences, limit - measure_width(name) - 24))
        text = texts.open["unsure"].format(name=name, words=words)
        parts.append(end_sentence(text, texts.language))
    if answer.ask_instead:
        parts.append(texts.open["ask"].format(name=one_line(answer.ask_instead)))
    return join_sentences(parts)


def list_would_take(decision: Decision, texts: MemoText) -> list[str]:
    """Return what it would have taken to decide, and what to do now."""
    lines: list[str] = []
    if decision.leaders:
        wanted = _list_wanted(decision, decision.leaders[0], texts)
        if wanted:
            lines.append(wanted)
    if decision.status == "concluded":
        lines.append(texts.next["ask_again"].format(session=decision.session))
    return lines


def _list_wanted(decision: Decision, first: LeadingSide, texts: MemoText) -> str:
    """Return who had to say yes, or to be surer, or how many more had to be for it."""
    how = decision.how
    if not isinstance(how, Undecided):
        return ""
    wanted: list[str] = []
    if how.reason in {"leader", "not_sure"}:
        for seat in first.opponents[:MAX_BEFORE_NAMES]:
            wanted.append(texts.next["yes_of"].format(name=format_possessive(seat, texts)))
    if first.unsure and how.threshold is not None:
        names = format_names([seat for seat, _ in first.unsure], texts)
        share = format_percent(how.threshold)
        wanted.append(texts.next["surer"].format(names=names, share=share))
    if wanted:
        joined = texts.next["and_wanted"].join(wanted)
        return texts.next["would_take_all"].format(wanted=joined)
    if decision.near is not None:
        return texts.next["would_take"].format(count=decision.near)
    return ""
