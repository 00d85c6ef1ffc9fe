"""Parts of a report that all protocols share, and the report of a protocol that writes none of its own."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import timedelta
from typing import Final

from moothall.domain import facts
from moothall.domain.budget import Spent
from moothall.domain.dictionaries import group_pairs
from moothall.domain.ids import USER, SeatId, parse_ask_kind
from moothall.domain.roster import Seat
from moothall.domain.safe_text import one_line
from moothall.domain.session_state import list_lost_seats
from moothall.domain.topic import QuestionKind
from moothall.locale.catalogues import SHARED_REPORT, SharedReportText
from moothall.locale.texts import map_names
from moothall.reports import blocks
from moothall.reports.blocks import Block, Report, build_section, build_table
from moothall.reports.decision import (
    AnsweredInput,
    Decision,
    Dissent,
    SeatPosition,
    SourcedClaim,
    UncountedAnswer,
    is_chance_shown,
)
from moothall.reports.estimates import explain_objections, list_estimate_rows
from moothall.reports.given import build_given, describe_framing, summarize_given
from moothall.reports.given_tools import build_tool_uses, describe_tool_use
from moothall.reports.memo import Memo, build_memo, build_memo_blocks
from moothall.reports.quotations import (
    build_evidence_base,
    build_quotations,
    describe_evidence_base,
    list_citing_entries,
    list_faults,
    mark_faults,
)
from moothall.reports.sentences import split_sentences
from moothall.reports.standing import build_standing
from moothall.reports.stated_facts import build_stated_facts
from moothall.reports.timeline import SessionTimeline, TimelineLine, format_time
from moothall.reports.wording import (
    explain_cause,
    format_mends,
    format_money,
    format_pair,
    format_parking,
    format_percent,
)


def describe_door(via: str, words: SharedReportText) -> str:
    """A door as people read it."""
    if via.startswith(facts.OWNER_ORIGIN):
        return words.spoken_by_owner.format(
            door=describe_door(via.removeprefix(facts.OWNER_ORIGIN), words)
        )
    kind, _, name = via.partition(":")
    if kind == facts.RELAY_ORIGIN:
        return words.doors[facts.RELAY_ORIGIN]
    text = words.doors.get(kind)
    if text is None:
        return via
    # A caller of the server without a token has no name.
    return text.format(name=name).strip(" ,，")


def _add_origins(
    timeline: SessionTimeline, record: Iterable[Block], words: SharedReportText
) -> tuple[tuple[Block, ...], tuple[Block, ...]]:
    """The record with a note under each line that came in through a door or was mended; and how each seat answered."""
    content = tuple(record)
    # What was changed in an answer may quote it, and how many answered so far says who failed: sealed with the answers.
    if not timeline.origins or timeline.shared_state.is_sealed:
        return content, ()
    by_line = {line.id: line.seq for line in timeline.lines if line.seq in timeline.origins}
    noted: set[int] = set()
    noted_blocks = tuple(_add_note(timeline, block, by_line, noted, words) for block in content)
    answered = (*_build_answerers(timeline, words), *_build_mended(timeline, noted, words))
    return noted_blocks, answered


def _add_note(
    timeline: SessionTimeline,
    block: Block,
    by_line: Mapping[int, int],
    noted: set[int],
    words: SharedReportText,
) -> Block:
    """A card of a line with its note. A session gives every card of the timeline at the top of its record."""
    if not isinstance(block, blocks.Card) or block.kind != "turn":
        return block
    seq = by_line.get(block.entry or 0)
    if seq is None:
        return block
    noted.add(seq)
    reply = timeline.origins[seq]
    origin = describe_door(reply.origin, words) if reply.origin else ""
    came = " · ".join(filter(None, (origin, reply.model)))
    is_owner = reply.origin.startswith(facts.OWNER_ORIGIN)
    as_read = ""
    if reply.corrections:
        as_read = words.as_read.format(mends=format_mends(words, reply.corrections))
    notes = (blocks.Line(came, "warn" if is_owner else "dim"), blocks.Line(as_read, "dim"))
    return replace(block, blocks=(*block.blocks, *notes))


def _build_answerers(timeline: SessionTimeline, words: SharedReportText) -> tuple[Block, ...]:
    """Each seat that another answered for: through which doors, by which models, and how often."""
    seats = group_pairs(
        (reply.seat, reply) for reply in timeline.origins.values() if reply.origin or reply.model
    )
    rows = []
    for seat, replies in seats.items():
        doors = dict.fromkeys(describe_door(one.origin, words) for one in replies if one.origin)
        models = dict.fromkeys(one.model for one in replies if one.model)
        rows.append((seat, ", ".join(doors) or "–", ", ".join(models) or "–", len(replies)))
    return build_section(words.answerers, (build_table(words.answerer_heads, rows),))


def _build_mended(
    timeline: SessionTimeline, noted: set[int], words: SharedReportText
) -> tuple[Block, ...]:
    """The answers that were changed to be read and have no card of their own: bids, votes, reports."""
    notes = {seq: reply.corrections for seq, reply in timeline.origins.items() if seq not in noted}
    # What was taken from a sentence is listed with the sentence, also where its line has a card.
    worded = {
        seq: facts.list_worded_choices(reply.corrections) for seq, reply in timeline.origins.items()
    }

    def build_rows(listed: Mapping[int, Sequence[str]]) -> blocks.Table:
        rows = []
        for seq, mends in listed.items():
            if mends:
                reply = timeline.origins[seq]
                kind = parse_ask_kind(reply.ask)
                asked_for = words.asked_for.get(kind, kind)
                rows.append((seq, reply.seat, asked_for, format_mends(words, mends)))
        return build_table(words.mended_heads, rows)

    return (
        *build_section(words.mended, (build_rows(notes),)),
        *build_section(words.worded, (build_rows(worded),)),
    )


def start_decision(timeline: SessionTimeline) -> Decision:
    """Return what every decision begins with; use `replace` for the rest.

    The session, how it ended, which seats were lost, how many turns it had and what it cost. A lost seat whose words are in no
    line of the timeline did not vote.
    """
    opened = timeline.session_state.opened
    return Decision(
        session=timeline.session,
        topic=opened.topic,
        frame=opened.frame,
        language=timeline.language,
        asked=tuple(seat.id for seat in timeline.session_state.voices),
        can_turn_out=find_question_kind(opened) in _DECIDABLE_KINDS,
        opened_on=format_time(timeline.opened_at)[:10],
        review_on=find_review_day(timeline),
        is_reviewed=timeline.is_reviewed,
        standing=build_standing(timeline),
        faults=list_faults(timeline),
        status=timeline.status,
        parked=timeline.parked,
        ended_by=timeline.closed.ended_by if timeline.closed else None,
        lost=list_lost_seats(timeline.shared_state, {line.speaker for line in timeline.lines}),
        turns=sum(line.speaker != USER for line in timeline.lines),
        spent=timeline.spent,
        track_record=timeline.track_record,
        evidence=build_evidence_base(timeline),
        uncounted=list_uncounted_answers(timeline),
        chance_hidden=not _shows_chance(timeline),
        answers=list_answers(timeline, {}),
    )


def find_review_day(timeline: SessionTimeline) -> str:
    """Return the day on which a decision is to be reviewed, such as 2026-12-19; "" before its end, or where nobody wants it."""
    days = timeline.session_state.opened.subject.review_days
    if timeline.closed is None or not days:
        return ""
    return format_time(timeline.last_at + timedelta(days=days))[:10]


_DECIDABLE_KINDS: Final = frozenset(("choice", "yes_no", "number", "forecast"))
"""The kinds of questions whose answers can turn out right or wrong (Q-10)."""


def find_question_kind(opened: facts.Opened) -> QuestionKind | None:
    """Return what kind of question a session is about; None where that was not plain.

    Nor is it plain where its opener did not call it open, and asks how likely the decision is right.
    """
    frame = opened.frame
    if frame is None:
        return None
    is_guessed = frame.kind == "open" and frame.made_by != "opener"
    if is_guessed and opened.chance:
        return None
    return frame.kind


def _shows_chance(timeline: SessionTimeline) -> bool:
    opened = timeline.session_state.opened
    return is_chance_shown(
        find_question_kind(opened),
        is_asked_for=opened.chance,
        has_reviewed=timeline.track_record is not None or bool(opened.subject.reviewed),
    )


def list_answers(
    timeline: SessionTimeline, replies: Mapping[int, str]
) -> tuple[AnsweredInput, ...]:
    """Return each input of the user with what the result answers to it, by its number; nothing before the end (Q-8)."""
    if timeline.status != "concluded":
        return ()
    lines = {line.seq: line for line in timeline.lines if line.speaker == USER}
    answers: list[AnsweredInput] = []
    for each in timeline.shared_state.user_inputs:
        number, asked = each.number, each.text
        line = lines.get(each.seq)
        if line is not None:
            number, asked = line.id, line.content
        answers.append(AnsweredInput(input=number, asked=asked, answer=replies.get(each.number)))
    return tuple(answers)


def build_answers(decision: Decision, words: SharedReportText) -> tuple[Block, ...]:
    """Say what the result answers to each input of the user, and which it left out."""
    items: list[blocks.Text] = []
    unanswered = 0
    for each in decision.answers:
        question = (blocks.References((each.input,)), f" {one_line(each.asked)} → ")
        if each.answer is None:
            unanswered += 1
            items.append((*question, blocks.Muted(words.no_answer)))
        else:
            sources = format_sources(SourcedClaim(text="", entries=each.entries))
            items.append((*question, one_line(each.answer), " ", sources))
    listed: list[Block] = [blocks.Bullets(tuple(items))]
    if unanswered:
        listed.insert(0, blocks.Line(words.unanswered.format(count=unanswered), "warn"))
    return build_section(words.inputs, listed)


def list_uncounted_answers(timeline: SessionTimeline) -> tuple[UncountedAnswer, ...]:
    """Return who answered yes where the question asks which one; nothing before the end, as it may be sealed."""
    if timeline.status != "concluded":
        return ()
    answers = dict[tuple[SeatId, str], UncountedAnswer]()
    for reply in timeline.origins.values():
        for words in facts.list_uncounted_words(reply.corrections):
            said = words.strip("'\"")
            answers[reply.seat, said] = UncountedAnswer(seat=reply.seat, said=said)
    return tuple(answers.values())


def explain_uncounted(decision: Decision, words: SharedReportText) -> list[Block]:
    """Say whose answers name none of the things in the question."""
    if not decision.uncounted:
        return []
    said = words.between_mends.join(f"{each.seat}: “{each.said}”" for each in decision.uncounted)
    return [blocks.Line(words.uncounted.format(said=said), "warn")]


def build_default_report(timeline: SessionTimeline, decision: Decision) -> Report:
    """The report of a session from its decision and its lines alone."""
    words = SHARED_REPORT[timeline.language]
    cards = [build_line_card(line) for line in timeline.lines]
    record = (
        *build_claims(words.open_questions, decision.open_questions),
        *build_positions(decision, words),
        *build_section(words.timeline, cards),
    )
    return build_report(
        timeline,
        decision,
        words,
        argument=build_argument(decision, words),
        record=record,
        figures=list_figures(decision, words),
    )


def build_report(
    timeline: SessionTimeline,
    decision: Decision,
    words: SharedReportText,
    *,
    argument: Iterable[Block],
    record: Iterable[Block],
    figures: Iterable[tuple[str, blocks.Cell]],
    text: Iterable[Block] | None = None,
    result: Iterable[Block] = (),
    seats: tuple[Block, ...] | None = None,
    subtitle: Iterable[blocks.Text] = (),
    section: str = "timeline",
    title: str = "",
) -> Report:
    """A report in three levels: the memo; what was argued; the record of the protocol, then the figures and how it was recorded.

    `text` stands for what was decided in full, where that is more than its text; `figures` are the rows of that section. `result`
    follows the memo wherever the memo stands, such as the findings of a review.

    `seats` stands for the usual table of seats; `section` is the name of the words that are the title of the timeline.
    """
    opened, spent = timeline.session_state.opened, decision.spent
    times = f"{format_time(timeline.opened_at)} – {format_time(timeline.last_at)}"
    heads = []
    for name, note in words.opened_with.items():
        value = getattr(opened, name)
        if value:
            heads.append(note.format(one_line(str(value))))
    about = [*describe_framing(opened), summarize_given(timeline.language, opened.subject)]
    cost = f"{words.spent.format(calls=spent.calls, tokens=spent.tokens)} · {format_money(words, spent)}"
    memo = build_memo(decision, timeline.language)
    full = text
    if full is None:
        full = _build_full_text(decision, memo)
    argued = (
        *build_section(words.in_full, full),
        *build_claims(words.reasons, decision.reasons),
        *argument,
        *build_answers(decision, words),
        *explain_uncounted(decision, words),
        *explain_objections(decision, words),
        *describe_evidence_base(timeline),
        *_explain_lost_ending(timeline, decision, words),
        *explain_refusals(timeline, words),
    )
    if seats is None:
        seats = build_seats(timeline.session_state.seats, words)
    record = (*build_stated_facts(timeline), *build_answer_groups(timeline, words), *record)
    shown, answered = _build_record(timeline, record, words)
    counted = (
        *_build_figures(decision, memo, figures, cost, words),
        *_build_costs(timeline, words),
    )
    recorded = (*build_losses(timeline, words), *seats, *answered)
    folds = (
        blocks.Fold(name="figures", title=SHARED_REPORT[timeline.language].figures, blocks=counted),
        blocks.Fold(name="record", title=words.how_recorded, blocks=recorded),
    )
    return Report(
        session=timeline.session,
        language=timeline.language,
        title=title or words.minutes,
        topic=decision.topic,
        decision=(
            blocks.Heading(SHARED_REPORT[timeline.language].decision),
            *build_memo_blocks(memo),
            *result,
        ),
        argument=argued,
        record=shown,
        folds=tuple(fold for fold in folds if fold.blocks),
        subtitle=tuple(heads),
        about=(timeline.session, times, *filter(None, about), *subtitle),
        seats=tuple(seat.id for seat in timeline.session_state.seats),
        known=max((line.id for line in timeline.lines), default=0),
        names=map_names(words),
        timeline=section,
    )


def build_answer_groups(timeline: SessionTimeline, words: SharedReportText) -> tuple[Block, ...]:
    """Which answers are counted as one, by whom, and where that could not be settled (Q-3)."""
    lines: list[str] = []
    for each in timeline.groupings:
        lines += _describe_grouping(each, words)
    if not lines:
        return ()
    return blocks.build_section(words.one_answer, (blocks.Bullets(tuple(lines)),))


def _describe_grouping(grouping: facts.AnswersGrouped, words: SharedReportText) -> list[str]:
    if grouping.judge is None:
        owned: list[str] = []
        for pair in grouping.pairs:
            text = words.parted_by_owner
            if pair.verdict == "same":
                text = words.grouped_by_owner
            owned.append(text.format(answers=format_pair(pair)))
        return owned
    judge, same = grouping.judge, [pair for pair in grouping.pairs if pair.verdict == "same"]
    if grouping.missed:
        why = words.losses.get(grouping.missed, grouping.missed)
        return [words.not_grouped.format(judge=judge, why=why)]
    if not same:
        return [words.judged_apart.format(judge=judge, count=len(grouping.pairs))]
    lines: list[str] = []
    for pair in same:
        line = words.grouped_by_judge.format(answers=format_pair(pair), judge=judge)
        if pair.reason:
            line += f" ({one_line(pair.reason)})"
        lines.append(line)
    return lines


def _build_record(
    timeline: SessionTimeline, record: Iterable[Block], words: SharedReportText
) -> tuple[tuple[Block, ...], tuple[Block, ...]]:
    """The record with marks and notes under its lines, then tools, quotations and given files; and how each seat answered."""
    subject = timeline.session_state.opened.subject
    citing = list_citing_entries(timeline, subject)
    noted, answered = _add_origins(timeline, mark_faults(timeline, subject, record), words)
    is_over = timeline.closed is not None or not timeline.shows_all_given
    given = timeline.build_once(
        "given",
        (citing, subject, is_over),
        lambda: build_given(timeline.language, subject, citing, is_over=is_over),
    )
    quoted = build_quotations(timeline, subject)
    return (*noted, *build_tool_uses(timeline), *quoted, *given), answered


def _explain_lost_ending(
    timeline: SessionTimeline, decision: Decision, words: SharedReportText
) -> tuple[Block, ...]:
    """How to continue a session that ended without a decision because its last asks were lost."""
    if decision.decision is not None:
        return ()
    return explain_ending_losses(timeline, words)


def _build_full_text(decision: Decision, memo: Memo) -> tuple[Block, ...]:
    """The text that was decided, with who wrote it; nothing where the memo has all of it."""
    if decision.decision is None:
        return ()
    sentences = split_sentences(decision.decision.text)
    if all(sentence in memo.text for sentence in sentences):
        return ()
    shown = blocks.References(decision.decision.entries, "")
    by: blocks.Text = ""
    if decision.author is not None:
        by = (blocks.Muted(f"{decision.author} "), shown)
    return (blocks.Quote(decision.decision.text), blocks.Line(by))


def build_argument(decision: Decision, words: SharedReportText) -> tuple[Block, ...]:
    """What stands against a decision, what it depends on, and who is missing in it."""
    return (
        *build_dissent(decision, words),
        *build_obligations(decision, words),
        *build_lost_seats(decision, words),
    )


def list_figures(decision: Decision, words: SharedReportText) -> list[tuple[str, blocks.Cell]]:
    """The figures of a decision, each under its name: how likely, by how much support, how it ended."""
    rows: list[tuple[str, blocks.Cell]] = []
    if decision.author is not None:
        rows.append((words.author, decision.author))
    rows += list_confidence_rows(decision, words)
    if decision.support is not None:
        # With the turnout: support alone would pass few voices off as all.
        shares = {
            "support": format_percent(decision.support),
            "turnout": format_percent(decision.turnout),
        }
        rows.append((words.support, words.turnout.format(**shares)))
    if decision.ended_by:
        rows.append((words.ended_by, words.endings.get(decision.ended_by, decision.ended_by)))
    return rows


def _build_figures(
    decision: Decision,
    memo: Memo,
    figures: Iterable[tuple[str, blocks.Cell]],
    cost: str,
    words: SharedReportText,
) -> tuple[Block, ...]:
    """The last section of a record: the figures, all reservations, and what the decision is worth for programs."""
    rows = [row for row in figures if row[1] not in {None, ""}]
    if memo.reservations:
        rows.append((words.reservations, " ".join(each.text for each in memo.reservations)))
    if decision.decision is not None:
        rows.append((words.worth, words.strengths[decision.strength]))
    content = (blocks.Fields(tuple(rows)), blocks.Line(cost, "dim"))
    return build_section(SHARED_REPORT[words.language].figures, content)


def list_confidence_rows(
    decision: Decision, words: SharedReportText
) -> list[tuple[str, blocks.Cell]]:
    """What was estimated, how likely the decision is right and what that rests on, and how sure its author says it is."""
    estimated = list_estimate_rows(decision, words)
    has_sides = decision.decision is not None and (
        decision.support is not None or decision.author_confidence is not None
    )
    if decision.confidence is None and not has_sides:
        return estimated
    own = decision.author_confidence
    rows = estimated
    if not decision.chance_hidden:
        rows.append((name_confidence(decision, words), describe_confidence(decision, words)))
    if own is not None:
        rows.append((words.author_confidence, format_percent(own)))
    return rows


def describe_change(decision: Decision, words: SharedReportText) -> str:
    """What would change the decision, in one line; empty where nothing is known that would."""
    change = decision.would_change
    if change is None:
        return ""
    parts: list[str] = []
    if change.voices is not None:
        parts.append(words.more_voices.format(count=change.voices))
    if change.next_answer:
        parts.append(words.next_answer.format(answer=one_line(change.next_answer)))
    if change.open_point:
        parts.append(words.open_point.format(point=one_line(change.open_point)))
    return words.between_changes.join(parts)


def name_confidence(decision: Decision, words: SharedReportText) -> str:
    """What the confidence is one in: the decision, or the motion that was not taken."""
    return words.confidence if decision.decision is not None else words.motion_confidence


def describe_confidence(decision: Decision, words: SharedReportText) -> str:
    """How likely a decision is right, with what the figure comes from."""
    if decision.confidence is None and decision.no_confidence is not None:
        return words.no_figures[decision.no_confidence]
    if decision.confidence is None:
        return words.no_figure
    share, track = format_percent(decision.confidence), decision.track_record
    if decision.confidence_from is not None:
        share = words.confidence_bases[decision.confidence_from].format(share=share)
    if track is None:
        return share
    return f"{share} · {words.track_record.format(cases=track.cases, right=track.right)}"


def explain_ending_losses(timeline: SessionTimeline, words: SharedReportText) -> tuple[Block, ...]:
    """How to continue a session whose last asks were lost, from before those losses; nothing for any other."""
    if not timeline.lost_since or isinstance(timeline.closed, facts.SessionCancelled):
        return ()
    return (blocks.Line(words.ended_by_losses.format(session=timeline.session), "warn"),)


def explain_refusals(timeline: SessionTimeline, words: SharedReportText) -> tuple[Block, ...]:
    """How many seats of an ended session declined to answer, and how others get their seats; nothing where none did."""
    refused = [loss for loss in timeline.losses if loss.reason == "refused"]
    # Who answered such an ask later did not decline.
    last = {key: given[-1][0] for key, given in timeline.answers.items()}
    seats = dict.fromkeys(
        loss.seat for loss in refused if last.get((loss.seat, loss.asked_for), 0) < loss.seq
    )
    if not seats or timeline.closed is None:
        return ()
    minds = len(timeline.session_state.seats)
    text = words.refusals.format(
        count=len(seats), all=minds, seats=", ".join(seats), session=timeline.session
    )
    return (blocks.Line(text, "warn"),)


def describe_shared(timeline: SessionTimeline, fact: facts.Fact) -> list[str]:
    """An entry that any protocol may have, in plain lines: a pause, or a tool that a seat used; nothing for any other."""
    if isinstance(fact, facts.ToolUsed):
        return [f"  ⌕ {describe_tool_use(timeline, fact)}"]
    return describe_pause(fact, timeline.language)


def describe_pause(fact: facts.Fact, language: facts.Language) -> list[str]:
    """An entry that stops a session of any protocol, or seats another participant, in plain lines; nothing for any other."""
    words = SHARED_REPORT[language]
    match fact:
        case facts.SessionParked():
            return [f"  ■ {format_parking(words, fact)}"]
        case facts.SeatsSwapped(swaps=swaps):
            return [
                f"  ■ {words.swapped.format(seat=swap.seat, platform=one_line(swap.platform))}"
                for swap in swaps
            ]
        case _:
            return []


def format_sources(claim: SourcedClaim) -> blocks.Span:
    """The entries that a claim is from; "" where it names none."""
    if not claim.entries:
        return ""
    return blocks.References(claim.entries, "({line})")


def build_claims(title: str, claims: Iterable[SourcedClaim]) -> tuple[Block, ...]:
    """Each claim once, with the entries that it is from."""
    items: list[blocks.Text] = []
    for each in claims:
        item: blocks.Text = (one_line(each.text),)
        if each.entries:
            item = (f"{one_line(each.text)} ", format_sources(each))
        if item not in items:
            items.append(item)
    return build_section(title, (blocks.Bullets(tuple(items)),))


def build_obligations(decision: Decision, words: SharedReportText) -> tuple[Block, ...]:
    """The conditions that the decision was supported on: who set them, what must hold, by when, what became of them."""
    rows = [
        (number, each.seat, each.text, each.due or "–", words.obligation_states[each.state])
        for number, each in enumerate(decision.obligations, 1)
    ]
    return build_section(words.obligations, (build_table(words.obligation_heads, rows),))


def build_dissent(decision: Decision, words: SharedReportText) -> tuple[Block, ...]:
    """Who does not go along, and with what words; nothing where there is nothing to dissent from."""
    has_sides = decision.dissent or decision.positions or decision.support is not None
    if decision.decision is None or not has_sides:
        # Where nobody was asked to take a side, "nobody dissented" would claim an agreement that was never sought.
        return ()
    items = tuple(format_dissent(voice, words) for voice in decision.dissent)
    if items:
        return build_section(words.dissent, (blocks.Bullets(items),))
    nobody = blocks.Line(describe_no_dissent(decision, words), "dim")
    return build_section(words.dissent, (nobody,))


def format_dissent(voice: Dissent, words: SharedReportText) -> blocks.Text:
    who, kind = words.reported, ""
    if voice.seat is not None:
        who = f"{voice.seat}"
        kind = f" ({words.verdicts.get(voice.kind, voice.kind)})"
    said = f"{kind}: {one_line(voice.text) or words.gives_no_reason}"
    if not voice.entries:
        return (blocks.Strong(who), said)
    sources = blocks.References(voice.entries, "({line})")
    return (blocks.Strong(who), said, " ", sources)


def describe_no_dissent(decision: Decision, words: SharedReportText) -> str:
    """What to say where nobody dissented: silence of those who abstained or were lost is no agreement."""
    silent = [position.seat for position in decision.positions if position.verdict == "abstain"]
    silent += [lost.seat for lost in decision.lost if lost.did_not_vote]
    if not silent:
        return words.no_dissent
    return words.no_opposition.format(seats=", ".join(silent))


def build_lost_seats(decision: Decision, words: SharedReportText) -> tuple[Block, ...]:
    """How each lost seat was lost, and whether the outcome could have been another with it."""
    meaning = ""
    if any(lost.did_not_vote for lost in decision.lost):
        if decision.outcome_uncertain:
            meaning = words.outcome_uncertain
        elif decision.support is not None:
            # Without a vote nothing has computed that it could not.
            meaning = words.outcome_certain
    lines = format_lost_seats(decision, words)
    return build_section(words.lost, (blocks.Bullets(lines, "bad"), blocks.Line(meaning, "bad")))


def format_lost_seats(decision: Decision, words: SharedReportText) -> tuple[str, ...]:
    """Format how each lost seat was lost, one line each."""
    lines = []
    for lost in decision.lost:
        last = words.losses.get(lost.last, lost.last)
        line = words.lost_line.format(
            seat=lost.seat, times=lost.times, last=last, share=format_percent(lost.weight_share)
        )
        lines.append(f"{line}; {words.did_not_vote}" if lost.did_not_vote else line)
    return tuple(lines)


def build_positions(
    decision: Decision,
    words: SharedReportText,
    *notes: Block,
    conditions: Mapping[SeatId, str] | None = None,
) -> tuple[Block, ...]:
    """Where each seat stood before and after, and on which condition; `notes` stand below the table."""
    listed = conditions or {}
    rows = [
        _build_position_row(position, listed.get(position.seat), words)
        for position in decision.positions
    ]
    return build_section(words.positions, (build_table(words.position_heads, rows), *notes))


def _build_position_row(
    position: SeatPosition, condition: str | None, words: SharedReportText
) -> tuple[blocks.Cell, ...]:
    is_vote_due = position.verdict is not None
    return (
        position.seat,
        _join_texts(position.choice_before, position.before),
        format_confidence(position.confidence_before, words, is_due=position.before is not None),
        _join_texts(condition, position.after),
        words.verdicts.get(position.verdict or "", position.verdict or "–"),
        format_confidence(position.confidence_after, words, is_due=is_vote_due),
        f"{position.weight:.2f}" if position.weight else "–",
        blocks.References((position.moved_by,)) if position.moved_by else "–",
    )


def _join_texts(*texts: str | None) -> str:
    return " – ".join(filter(None, texts)) or "–"


def format_confidence(stated: float | None, words: SharedReportText, *, is_due: bool) -> str:
    """How sure a seat is; one that took a position and did not say so has not stated it."""
    return words.not_stated if stated is None and is_due else format_percent(stated)


def build_line_card(
    line: TimelineLine, *marks: blocks.Text, content: Iterable[Block] = ()
) -> blocks.Card:
    """A line of the timeline: who said it and when, then the words."""
    head = (
        blocks.Muted(f"#{line.id}"),
        blocks.Strong(line.speaker),
        *marks,
        blocks.Muted(line.timestamp),
    )
    return blocks.Card(
        blocks=(blocks.Quote(line.content), *content),
        head=head,
        entry=line.id,
        seat=line.speaker,
        kind="turn",
    )


def build_losses(timeline: SessionTimeline, words: SharedReportText) -> tuple[Block, ...]:
    """Each single loss with its reason; nothing while nobody may know who failed."""
    is_sealed = timeline.shared_state.is_sealed
    if is_sealed and timeline.closed is None and timeline.seals_losses:
        return ()
    rows = []
    for each in timeline.losses:
        asked_for = words.asked_for.get(each.asked_for, each.asked_for)
        cause = ""
        if is_sealed and each.reason == "malformed":
            # The fault of a malformed answer may quote it.
            cause = words.sealed
        cause = cause or explain_cause(each.cause, each.reason, words.language) or "–"
        rows.append((each.seq, each.seat, asked_for, words.losses[each.reason], cause))
    return build_section(words.losses_title, (build_table(words.loss_heads, rows),))


def build_seats(seats: Iterable[Seat], words: SharedReportText) -> tuple[Block, ...]:
    rows = [
        (seat.id, seat.stance or "–", seat.platform, f"{seat.weight:g}", f"{seat.trust:.2f}")
        for seat in seats
    ]
    return build_section(words.seats, (build_table(words.seat_heads, rows),))


def _build_costs(timeline: SessionTimeline, words: SharedReportText) -> tuple[Block, ...]:
    rows: list[tuple[str, str, int, int, int, str]] = []
    for seat in timeline.session_state.seats:
        spent = timeline.spent_by_seat.get(seat.id)
        if spent is not None:
            rows.append((seat.id, seat.platform, *_list_costs(spent, words)))
    rows.append((words.total, "", *_list_costs(timeline.spent, words)))
    return build_section(words.cost, (build_table(words.cost_heads, rows),))


def _list_costs(spent: Spent, words: SharedReportText) -> tuple[int, int, int, str]:
    return spent.calls, spent.tokens_in, spent.tokens_out, format_money(words, spent)
