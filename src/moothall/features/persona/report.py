"""What people read of a persona meeting: its report, with the decision first, and the lines of the live view."""

from functools import partial
from sys import intern

from moothall.features.persona import facts
from moothall.features.persona.timeline import (
    PersonaTimeline,
    PersonaTimelineLine,
    PersonaTurn,
    build_decision,
)
from moothall.features.persona.words import PERSONA_REPORT, PersonaReportText
from moothall.plugins import (
    Block,
    Entry,
    Report,
    SpokenLine,
    blocks,
    build_section,
    describe_shared_event,
    one_line,
    sections,
)


def build_persona_report(timeline: PersonaTimeline) -> Report:
    """The report at any time of a meeting."""
    words, decision = PERSONA_REPORT[timeline.language], build_decision(timeline)
    record = (
        *sections.build_claims(words.open_questions, decision.open_questions),
        *sections.build_positions(decision, words),
        *_build_consensus(timeline, words),
        *build_section(words.timeline, _build_timeline(timeline, words)),
    )
    return sections.build_report(
        timeline,
        decision,
        words,
        argument=sections.build_argument(decision, words),
        figures=sections.list_figures(decision, words),
        record=record,
    )


def _build_consensus(timeline: PersonaTimeline, words: PersonaReportText) -> tuple[Block, ...]:
    """What more than half agreed to, and what is contested."""
    titles = {"agreed": words.agreed, "contested": words.contested}
    items: list[blocks.Text] = []
    for point in timeline.state.points:
        status = point.compute_status(len(timeline.state.seats))
        if status in titles:
            by = point.contested
            if status == "agreed":
                by = point.agreed
            claim = f" {one_line(point.claim)} ({words.by} {', '.join(by)})"
            items.append(
                (blocks.Strong(titles[status]), ": ", blocks.References((point.entry,)), claim)
            )
    return build_section(words.consensus, (blocks.Bullets(tuple(items)),))


def _build_timeline(timeline: PersonaTimeline, words: PersonaReportText) -> list[Block]:
    """Every line with the bids of its turn; turns in which nobody spoke stand where they were."""
    spoken = {turn.spoken: turn for turn in timeline.turns if turn.spoken is not None}
    silent = [turn for turn in timeline.turns if turn.spoken is None]
    content: list[Block] = []
    passed = 0
    for line in timeline.lines:
        turn = spoken.get(line.id)
        while turn is not None and passed < len(silent) and silent[passed].number < turn.number:
            content.append(_build_silent_turn(timeline, silent[passed], words))
            passed += 1
        source = (line, *_list_counts(turn))
        content.append(
            timeline.build_once(line.id, source, partial(_build_line, line, turn, words))
        )
    return [*content, *(_build_silent_turn(timeline, turn, words) for turn in silent[passed:])]


def _build_silent_turn(
    timeline: PersonaTimeline, turn: PersonaTurn, words: PersonaReportText
) -> Block:
    return timeline.build_once(
        ("silent", turn.number), _list_counts(turn), partial(_build_bids, turn, words)
    )


def _list_counts(turn: PersonaTurn | None) -> tuple[int, ...]:
    """What of a turn can change: it only ever grows."""
    if turn is None:
        return ()
    return len(turn.bids), len(turn.floors)


def _build_line(
    line: PersonaTimelineLine, turn: PersonaTurn | None, words: PersonaReportText
) -> Block:
    marks: list[blocks.Text] = []
    if line.relevance_score is not None:
        marks.append(blocks.Muted(f"{line.relevance_score:.2f}"))
    if line.refers_to:
        marks.append(blocks.References((line.refers_to,), f"{words.answers} {{line}}"))
    if line.unaware_of:
        marks.append(blocks.References((line.unaware_of,), words.unaware))
    if line.platform:
        marks.append(blocks.Muted(line.platform))
    if turn is None:
        return sections.build_line_card(line, *marks)
    return sections.build_line_card(line, *marks, content=(_build_bids(turn, words),))


def _build_bids(turn: PersonaTurn, words: PersonaReportText) -> Block:
    """Who wanted the floor how much, who was silent and why, and who got it."""
    given = {floor.seat: _describe_floor(floor, words) for floor in turn.floors}
    bars = []
    for bid in turn.bids:
        if bid.intent is None:
            bars.append(
                blocks.Bar(
                    name=f"{bid.seat} –",
                    value=0.0,
                    text=words.losses.get(bid.lost or "", ""),
                    tone="bad",
                    seat=bid.seat,
                )
            )
            continue
        what = _describe_intent(bid.intent, words)
        if bid.seat in given:
            what = f"{words.floor}: {given[bid.seat]}"
        score = bid.intent.reaction_score
        # A long meeting has few of these names, many times.
        name = intern(f"{bid.seat} {score:.2f}")
        text = " · ".join(part for part in (what, one_line(bid.intent.reason)) if part)
        bars.append(blocks.Bar(name=name, value=score, text=text, seat=bid.seat))
    floors = ", ".join(f"{seat}: {reason}" for seat, reason in given.items())
    return blocks.Details(
        f"{words.turn_bids.format(number=turn.number)} · {words.floor}: {floors or '–'}",
        (blocks.Bars(tuple(bars)),),
        turn.seq,
    )


def _describe_floor(floor: facts.FloorGiven, words: PersonaReportText) -> str:
    reason = words.floors[floor.reason]
    if floor.waited:
        reason += f", {words.waited.format(turns=floor.waited)}"
    return reason


def add_and_describe_entry(timeline: PersonaTimeline, entry: Entry) -> list[str]:
    """Tell one more entry, in plain lines; nothing for one that is not worth one."""
    before = len(timeline.lines)
    timeline.add(entry)
    words = PERSONA_REPORT[timeline.language]
    lines: list[str] = [
        SpokenLine(f"#{line.id} {line.speaker}{format_line_marks(line, words)}", line.content)
        for line in timeline.lines[before:]
    ]
    return [*lines, *(f"  {line}" for line in describe_event(timeline, entry).split("\n") if line)]


def describe_event(timeline: PersonaTimeline, entry: Entry) -> str:
    """An entry that is no contribution, in one line (joint bids: in one for each seat); empty when it is not worth one."""
    words = PERSONA_REPORT[timeline.state.opened.language]
    fact = entry.fact
    match fact:
        case facts.IntentDeclared(seat=seat, said=intent):
            return _describe_bid(seat, intent, words)
        case facts.BidsDeclared(said=said):
            return "\n".join(_describe_bid(one_line(bid.node_id), bid, words) for bid in said.bids)
        case facts.FloorGiven(seat=seat, reason=reason):
            return f"{words.floor}: {seat} ({words.floors[reason]})"
        case facts.PositionTaken(seat=seat, said=position):
            return f"{seat} ({_format_confidence(position.confidence, words)}): {one_line(position.position)}"
        case facts.StandTaken(seat=seat, said=stand):
            sure = _format_confidence(stand.confidence, words)
            return f"{seat}: {words.verdicts[stand.verdict]} ({sure}) {one_line(stand.position)}"
        case facts.TalkEnded(reason=reason):
            return f"■ {words.endings[reason]}"
        case facts.ConclusionDrafted(seat=seat, said=draft):
            return f"{words.decision} ({seat}): {one_line(draft.decision.text)}"
        case facts.MeetingConcluded(overruled=True):
            return words.overruled
        case facts.MeetingConcluded(outcome_uncertain=True, author=author) if author is not None:
            return words.outcome_uncertain
        case _:
            return describe_shared_event(words, fact)


def _describe_bid(seat: str, intent: facts.Intent, words: PersonaReportText) -> str:
    what = _describe_intent(intent, words)
    return f"{seat} {intent.reaction_score:.2f} {what}: {one_line(intent.reason)}"


def _describe_intent(intent: facts.Intent, words: PersonaReportText) -> str:
    if intent.intent_to_speak:
        return words.speaks
    return words.silent


def _format_confidence(stated: float | None, words: PersonaReportText) -> str:
    if stated is None:
        return words.not_stated
    return f"{stated:.2f}"


def format_line_marks(line: PersonaTimelineLine, words: PersonaReportText) -> str:
    """How much a line was wanted, what it answers, and which input it did not know."""
    marks = ""
    if line.relevance_score is not None:
        marks += f" {line.relevance_score:.2f}"
    if line.refers_to:
        marks += f" → #{line.refers_to}"
    if line.unaware_of:
        marks += f" ({words.unaware.format(line=f'#{line.unaware_of}')})"
    return marks
