"""The report of a deliberation: the decision first, then what it rests on, then the whole record."""

from collections.abc import Iterator, Sequence
from typing import Final, get_args

from moothall.domain.dictionaries import group_pairs
from moothall.domain.safe_text import one_line
from moothall.locale.catalogues import COUNCIL_REPORT, CouncilReportText
from moothall.protocols.council.facts import ConsensusSettings, CouncilBallot
from moothall.protocols.council.motions import Challenge, list_challenges
from moothall.protocols.council.report_timeline import (
    TONES,
    build_line_details,
    build_timeline,
    format_phase,
)
from moothall.protocols.council.state import CouncilLine
from moothall.protocols.council.timeline import (
    CouncilTimeline,
    build_decision,
    find_motion_votes,
    has_changed_choice,
    list_missing_votes,
)
from moothall.reports import blocks, sections
from moothall.reports.blocks import Block, Report, build_section, build_table
from moothall.reports.decision import Decision, Dissent, Movement
from moothall.reports.wording import explain_consensus, format_percent
from moothall.scoring.depth import DepthTaken

NOTHING: Final = "–"


def build_council_report(timeline: CouncilTimeline) -> Report:
    """Build the report at any time of a deliberation."""
    words, decision = COUNCIL_REPORT[timeline.language], build_decision(timeline)
    # What is known of the question beside its text.
    subject = timeline.state.opened.subject
    rows = (
        (words.protocol, words.protocols.get(timeline.rules.name, timeline.rules.name)),
        (words.stakes, words.stakes_levels[subject.stakes]),
        (words.category, subject.category),
        (words.options, " / ".join(subject.options)),
    )
    passed = _list_passes(timeline, words)
    return sections.build_report(
        timeline,
        decision,
        words,
        subtitle=[f"{name}: {value}" for name, value in rows if value],
        argument=(
            *_build_dissent(timeline, decision, words),
            *sections.build_obligations(decision, words),
            *_build_change(decision, words),
            *_build_missing(timeline, decision, words),
            *_build_motion(timeline, words),
        ),
        figures=_list_figures(timeline, decision, words),
        record=(
            *_build_votes(timeline, words),
            *_build_candidates(timeline, words),
            *_build_readable(timeline, decision, words),
            *build_section(words.passed, (blocks.Bullets(passed),)),
            *build_timeline(timeline, words),
        ),
    )


def _join_spans(spans: Sequence[blocks.Span], separator: str) -> tuple[blocks.Span, ...]:
    joined: list[blocks.Span] = []
    for span in spans:
        if joined:
            joined.append(separator)
        joined.append(span)
    return tuple(joined)


def _list_passes(timeline: CouncilTimeline, words: CouncilReportText) -> tuple[str, ...]:
    """Return who passed in each phase, one line a phase."""
    passes: list[tuple[str, str]] = []
    for each in timeline.passes:
        phase = format_phase(each.phase, each.round, words)
        passes.append((phase, f"{each.seat} {timeline.describe_pass(each)}"))
    return tuple(f"{phase}: {', '.join(texts)}" for phase, texts in group_pairs(passes).items())


def _list_demands(
    timeline: CouncilTimeline, words: CouncilReportText
) -> Iterator[tuple[str, blocks.Cell]]:
    """Yield what a decision had to reach, where more than a majority was demanded."""
    settings = timeline.state.opened.settings
    if isinstance(settings, ConsensusSettings):
        count = settings.quorum or len(timeline.state.seats)
        share = format_percent(settings.threshold)
        yield words.demand, words.demanded_of_all.format(count=count, share=share)
    if settings.carry_at is not None:
        yield words.demand, words.demanded.format(share=format_percent(settings.carry_at))


def _list_progress(
    timeline: CouncilTimeline, words: CouncilReportText
) -> Iterator[tuple[str, blocks.Cell]]:
    """Yield the phase of a deliberation that goes on, and who has not had a turn in it."""
    council = timeline.state
    if council.phase == "closed":
        return
    yield words.now, format_phase(council.phase, council.round, words)
    seats = timeline.rules.variant.list_phase_seats(council, council.phase)
    waiting = [seat for seat in seats if seat not in council.had]
    if waiting:
        yield words.awaited, ", ".join(waiting)


def _build_change(decision: Decision, words: CouncilReportText) -> tuple[Block, ...]:
    """Say what would have made another decision, or may still make one."""
    change = sections.describe_change(decision, words)
    return build_section(words.would_change, (blocks.Line(change),))


def _list_figures(
    timeline: CouncilTimeline, decision: Decision, words: CouncilReportText
) -> Iterator[tuple[str, blocks.Cell]]:
    """Yield the kind of outcome, and how much support it has; of one that goes on, its phase."""
    if timeline.resolution is None:
        yield from _list_progress(timeline, words)
        return
    yield from _list_demands(timeline, words)
    if decision.decision is not None:
        yield words.author, decision.author
        text = words.voted_on
        if decision.ended_by in (*words.votes_read, "decided"):
            text = words.agreed_on
        yield text, blocks.References(decision.decision.entries)
    consensus = explain_consensus(words, decision.consensus_type or "no_consensus")
    if decision.agreement is not None:
        consensus += f" ({words.agreements[decision.agreement]})"
    yield words.consensus, consensus
    yield from sections.list_confidence_rows(decision, words)
    yield words.support, _format_support(decision, words)
    if decision.depth is not None:
        yield words.depth, _describe_depth(timeline, decision, decision.depth, words)
    ending = str(words.endings.get(decision.ended_by or "", decision.ended_by))
    if decision.spared and decision.depth is None:
        ending += f" · {words.spared.format(count=decision.spared)}"
    yield words.ended_by, ending


def _describe_depth(
    timeline: CouncilTimeline, decision: Decision, depth: DepthTaken, words: CouncilReportText
) -> str:
    stage, reason = words.stages[depth.stage], words.depth_reasons[depth.reason]
    if depth.mode == "auto":
        return words.depth_auto.format(stage=stage, reason=reason, spared=depth.spared)
    groups = timeline.state.groups
    is_same = groups.find(depth.choice) == groups.find(decision.choice)
    if depth.stage == "protocol":
        choice = words.depth_none
    elif is_same:
        choice = words.depth_same
    else:
        choice = depth.choice or words.depth_none
    return words.depth_shadow.format(
        stage=stage, reason=reason, spared=depth.spared, given=decision.turns, choice=choice
    )


def _format_support(decision: Decision, words: CouncilReportText) -> str:
    """Format the shares, and how many independent votes the heads are worth."""
    if decision.voters == 0:
        return words.no_votes
    text = words.votes
    if decision.voters == 1:
        text = words.one_vote
    return text.format(
        support=format_percent(decision.support),
        turnout=format_percent(decision.turnout),
        heads=decision.voters,
        effective=f"{decision.effective or 0:.1f}",
    )


def _build_motion(timeline: CouncilTimeline, words: CouncilReportText) -> tuple[Block, ...]:
    """Build the motion of a vote that goes on, or that did not carry; nothing if there is a decision, or nothing to decide on."""
    motion = _find_shown_motion(timeline)
    if motion is None:
        return ()
    title = words.not_carried
    if timeline.closed is None:
        title = words.motion
    head = (
        f"{title} (",
        blocks.References((motion.id,)),
        f", {words.motion_by.format(seat=motion.seat)})",
    )
    return (
        blocks.Card(
            head=(head,), blocks=(blocks.Quote(motion.said.text), build_line_details(motion, words))
        ),
    )


def _find_shown_motion(timeline: CouncilTimeline) -> CouncilLine | None:
    closed, council = timeline.resolution, timeline.state
    if closed is not None:
        if closed.carried:
            return None
        return council.line(closed.motion)
    if council.phase == "vote" and len(council.candidates) == 1:
        return council.line(council.candidates[0])
    return None


def _build_candidates(timeline: CouncilTimeline, words: CouncilReportText) -> tuple[Block, ...]:
    """List what each candidate got, the motion first; nothing where there was only one."""
    if timeline.resolution is None or len(timeline.resolution.candidates) < 2:
        return ()
    rows: list[tuple[blocks.Cell, ...]] = []
    for tally in timeline.resolution.candidates:
        line = timeline.state.line(tally.line)
        if line is None:
            continue
        shares = [f"{share:.2f}" for share in (tally.support, tally.unconditional, tally.oppose)]
        confidence = format_percent(tally.confidence)
        rows.append((blocks.References((line.id,)), line.seat, line.said.text, *shares, confidence))
    return build_section(words.candidates, (build_table(words.candidate_heads, rows),))


def _build_dissent(
    timeline: CouncilTimeline, decision: Decision, words: CouncilReportText
) -> tuple[Block, ...]:
    """List who dissents, how and in which line; nothing if there was no motion to dissent from."""
    if timeline.resolution is None or timeline.resolution.motion is None:
        return ()
    outcomes: dict[int, blocks.References] = {}
    for each in list_challenges(timeline.state):
        outcomes[each.line.id] = _describe_challenge(timeline, each, words)
    items = tuple(_format_dissent(voice, outcomes, words) for voice in decision.dissent)
    if not items:
        return build_section(words.dissent, (blocks.Line(words.no_dissent, "dim"),))
    return build_section(words.dissent, (blocks.Bullets(items),))


def _format_dissent(
    voice: Dissent, outcomes: dict[int, blocks.References], words: CouncilReportText
) -> blocks.Text:
    """Format one voice of dissent; a challenge with its outcome."""
    marks = [blocks.References(voice.entries)]
    if voice.kind == "challenge":
        marks += [outcomes[entry] for entry in voice.entries if entry in outcomes]
    return (
        blocks.Strong(f"{voice.seat}"),
        f" ({words.kinds[voice.kind]}, ",
        *_join_spans(marks, ", "),
        f"): {one_line(voice.text) or words.gives_no_reason}",
    )


def _describe_challenge(
    timeline: CouncilTimeline, challenge: Challenge, words: CouncilReportText
) -> blocks.References:
    if challenge.by is None:
        return blocks.References((), words.challenge_states[challenge.state])
    by = timeline.state.line(challenge.by)
    text = words.challenge_states[challenge.state]
    if by is not None and challenge.state == "answered":
        for taken in by.said.taken:
            if taken.entry == challenge.line.id and taken.how == "declined":
                text = words.declined
    return blocks.References((challenge.by,), text)


def _build_missing(
    timeline: CouncilTimeline, decision: Decision, words: CouncilReportText
) -> tuple[Block, ...]:
    """List who was lost or did not vote, and whether their votes could have changed the outcome."""
    items = list(sections.format_lost_seats(decision, words))
    missing = list_missing_votes(timeline)
    if missing:
        meaning = words.outcome_certain
        if decision.outcome_uncertain:
            meaning = words.outcome_uncertain
        items.append(f"{words.not_voted.format(seats=', '.join(missing))} {meaning}")
    not_asked = ""
    if timeline.resolution is not None and timeline.resolution.unasked:
        not_asked = words.unasked.format(seats=", ".join(timeline.resolution.unasked))
    return build_section(
        words.lost, (blocks.Bullets(tuple(items), "bad"), blocks.Line(not_asked, "dim"))
    )


def _build_votes(timeline: CouncilTimeline, words: CouncilReportText) -> tuple[Block, ...]:
    """Build the sides as a bar, each as wide as its weight, and who is on which side."""
    closed = timeline.resolution
    ballots: tuple[CouncilBallot, ...] = ()
    if closed is not None and closed.motion is not None:
        ballots = closed.ballots
    total = sum(ballot.weight for ballot in ballots)
    parts, rows = [], []
    for position, name in (*words.verdicts.items(), (None, words.no_vote)):
        side = [ballot for ballot in ballots if ballot.position == position]
        weight, tone = sum(ballot.weight for ballot in side), TONES.get(position, "plain")
        if weight:
            parts.append(blocks.Bar(name=name, value=weight / total, tone=tone))
        if side:
            seats = ", ".join(ballot.seat for ballot in side)
            rows.append((blocks.Mark(name, tone), seats, f"{weight:.2f}"))
    note = blocks.Line(_explain_votes(timeline, words), "dim")
    return build_section(
        words.vote_table, (blocks.Shares(tuple(parts)), build_table(words.vote_heads, rows), note)
    )


def _explain_votes(timeline: CouncilTimeline, words: CouncilReportText) -> str:
    """Explain where the votes come from if nobody voted; empty if a seat did."""
    closed = timeline.resolution
    if closed is None or closed.motion is None:
        return ""
    if closed.reason in words.votes_read:
        return words.votes_read[closed.reason]
    if timeline.rules.variant.owner(timeline.state.opened) is None:
        return ""
    return words.votes_read["owner"]


def _build_readable(
    timeline: CouncilTimeline, decision: Decision, words: CouncilReportText
) -> tuple[Block, ...]:
    """Build the challenges, positions and responses to advice; nothing while proposals are sealed."""
    if timeline.state.is_sealed and timeline.state.phase == "propose":
        return ()
    rows: list[tuple[blocks.Cell, ...]] = []
    for each in list_challenges(timeline.state):
        line, state = each.line, _describe_challenge(timeline, each, words)
        rows.append((blocks.References((line.id,)), line.seat, line.said.text, state))
    challenges = build_table(words.challenge_heads, rows)
    advice = build_table(words.taken_heads, _list_advice(timeline, words))
    return (
        *build_section(words.challenges, (challenges,)),
        *_build_positions(timeline, decision, words),
        *build_section(words.taken, (advice,)),
    )


def _build_positions(
    timeline: CouncilTimeline, decision: Decision, words: CouncilReportText
) -> tuple[Block, ...]:
    """Build each seat's position before it read the others, its vote, and what moved it."""
    changed = tuple(_list_changed_choices(timeline, decision, words))
    title = blocks.Line("", "dim")
    if changed:
        title = blocks.Line(f"{words.changed}:", "dim")
    moved = blocks.Line(_count_movements(decision, words), "dim")
    conditions = {seat: vote.condition for seat, vote in find_motion_votes(timeline).items()}
    return sections.build_positions(
        decision, words, title, blocks.Bullets(changed), moved, conditions=conditions
    )


def _count_movements(decision: Decision, words: CouncilReportText) -> str:
    """Say how many moved after which kind of reason, and who; empty if nobody did."""
    texts: dict[str, str] = {}
    has_moved = False
    for kind in get_args(Movement):
        seats = [one_line(each.seat) for each in decision.positions if each.moved_after == kind]
        texts[kind] = "0"
        if seats:
            texts[kind] = f"{len(seats)} ({', '.join(seats)})"
            has_moved = True
    if not has_moved:
        return ""
    return words.moved_after.format(**texts)


def _list_changed_choices(
    timeline: CouncilTimeline, decision: Decision, words: CouncilReportText
) -> Iterator[blocks.Text]:
    """Yield who changed to another choice than the one that it wrote blind, and the line that it names as the reason."""
    closed = timeline.resolution
    if closed is None:
        return
    motion = timeline.state.line(closed.motion)
    if motion is None or not motion.said.choice.strip():
        return
    for position in decision.positions:
        if not has_changed_choice(position, motion.said.choice, timeline.state.groups):
            continue
        after = motion.said.choice
        if position.verdict == "oppose":
            after = words.verdicts["oppose"]
        text = words.moved.format(seat=position.seat, before=position.choice_before, after=after)
        by: blocks.Span = words.names_nothing
        if position.moved_by:
            by = blocks.References((position.moved_by,), words.moved_by)
        yield (f"{one_line(text)} (", by, ")")


def _list_advice(
    timeline: CouncilTimeline, words: CouncilReportText
) -> Iterator[tuple[blocks.Cell, ...]]:
    """Yield how each piece of advice was taken, and why."""
    for line in timeline.state.lines:
        for taken in line.said.taken:
            advice = timeline.state.line(taken.entry)
            who, text = (advice.seat, advice.said.text) if advice else (NOTHING, NOTHING)
            how, why = words.takings[taken.how], taken.why or NOTHING
            yield (
                blocks.References((taken.entry,)),
                who,
                text,
                how,
                why,
                blocks.References((line.id,)),
            )
