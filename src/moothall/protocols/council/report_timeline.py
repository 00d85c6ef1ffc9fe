"""The timeline of a deliberation for people: every line under its phase in the report, and line by line in the live view."""

from collections.abc import Mapping
from dataclasses import replace
from functools import partial
from itertools import pairwise
from typing import Final

from moothall.domain.causes import NO_CAUSE
from moothall.domain.dictionaries import group_pairs
from moothall.domain.facts import Entry, SeatLost
from moothall.locale.catalogues import COUNCIL_FIELDS, COUNCIL_REPORT, CouncilReportText
from moothall.protocols.council.facts import DeliberationClosed, Phase, PhaseBegun
from moothall.protocols.council.state import CouncilLine, list_details
from moothall.protocols.council.timeline import CouncilTimeline, CouncilTimelineLine
from moothall.reports.blocks import (
    Block,
    Fields,
    Heading,
    Line,
    Mark,
    References,
    Span,
    Tone,
    build_fields,
    build_section,
)
from moothall.reports.sections import build_line_card
from moothall.reports.wording import (
    SpokenLine,
    describe_shared_event,
    explain_consensus,
    format_loss,
    format_percent,
)

TONES: Final[dict[str | None, Tone]] = {
    "support": "good",
    "conditional_support": "warn",
    "oppose": "bad",
    "challenge": "bad",
    "synthesize": "strong",
}
"""How a vote or a type of contribution is marked; what is not named is plain."""


def build_timeline(timeline: CouncilTimeline, words: CouncilReportText) -> tuple[Block, ...]:
    """Build the question, then every line phase by phase."""
    phases = _group_lines_by_phase(timeline)
    notes = _collect_line_notes(timeline, words, phases)
    candidates = {(begun.round, begun.phase): begun.candidates for begun in timeline.phases}
    blocks: list[Block] = [build_line_card(timeline.lines[0], words.question)]
    for (number, phase), lines in phases.items():
        blocks.append(
            Heading(
                format_phase(phase, number, words),
                3,
                timeline.phase_entries.get((number, phase), 1),
            )
        )
        voted_on = candidates.get((number, phase))
        if voted_on:
            name = words.motion if len(voted_on) == 1 else words.candidates
            blocks.append(Line((f"{name}: ", References(voted_on)), "dim"))
        for line in lines:
            mark = (line, line.id in timeline.state.sealed, notes[line.id])
            build = partial(_build_line, timeline, line, notes[line.id], words)
            blocks.append(timeline.build_once(line.id, mark, build))
        current = (timeline.state.round, timeline.state.phase)
        is_over = timeline.closed is not None or (number, phase) != current
        if not lines and is_over:
            blocks.append(Line(words.nothing_said, "dim"))
    return build_section(words.timeline, blocks)


def format_phase(phase: str, number: int, words: CouncilReportText) -> str:
    return f"{words.phases[phase]} · {words.round.format(number=number)}"


def build_line_details(line: CouncilLine, words: CouncilReportText) -> Fields:
    said = line.said
    labels = {
        name: label.capitalize() for name, label in COUNCIL_FIELDS[words.language].labels.items()
    }
    fields = [
        *list_details(replace(said, condition=_join_condition(said.condition, said.due)), labels)
    ]
    for vote in said.ballot:
        text = " – ".join(
            part
            for part in (words.verdicts[vote.position], _join_condition(vote.condition, vote.due))
            if part
        )
        fields.append((f"#{vote.candidate}", text))
    return build_fields(fields)


def _join_condition(condition: str, due: str) -> str:
    return f"{condition} ({due})" if condition and due else condition


def _build_line(
    timeline: CouncilTimeline,
    line: CouncilTimelineLine,
    notes: list[References],
    words: CouncilReportText,
) -> Block:
    if line.id in timeline.state.sealed:
        return build_line_card(replace(line, content=""), content=(Line(words.sealed, "dim"),))
    assert line.spoken is not None
    return build_line_card(
        line,
        *_list_marks(line.spoken, words),
        *notes,
        content=(build_line_details(line.spoken, words),),
    )


def _list_marks(line: CouncilLine, words: CouncilReportText) -> list[Span]:
    """Return what a line is, what it is about, and how sure its author is."""
    said = line.said
    what = words.types[said.type]
    tone = TONES.get(said.position or said.type, "plain")
    if said.position is not None:
        what = f"{what}: {words.verdicts[said.position]}"
    about = (said.refers_to,) if said.refers_to else ()
    moved_by = (said.moved_by,) if said.moved_by else ()
    named = (
        (words.about, about),
        (words.answers, said.answers),
        (words.accepts, said.accepts),
        (words.moved_by, moved_by),
    )
    marks: list[Span] = [Mark(what, tone)]
    for text, numbers in named:
        if numbers:
            marks.append(References(numbers, text))
    if said.confidence is not None:
        marks.append(words.sure.format(share=format_percent(said.confidence)))
    return marks


def _group_lines_by_phase(
    timeline: CouncilTimeline,
) -> dict[tuple[int, Phase], list[CouncilTimelineLine]]:
    """Group the lines by their phase, in order; the question belongs to none."""
    begun = [
        (1, timeline.rules.variant.first[0]),
        *((each.round, each.phase) for each in timeline.phases),
    ]
    lines_by_phase: dict[tuple[int, Phase], list[CouncilTimelineLine]] = {key: [] for key in begun}
    for line in timeline.lines:
        if line.spoken is not None:
            lines_by_phase.setdefault((line.spoken.round, line.spoken.phase), []).append(line)
    return lines_by_phase


def _collect_line_notes(
    timeline: CouncilTimeline,
    words: CouncilReportText,
    phases: Mapping[tuple[int, Phase], list[CouncilTimelineLine]],
) -> Mapping[int, list[References]]:
    """Collect what a line does not show by itself: that it was written ahead of its phase, and whether a vote counts."""
    notes: dict[int, list[References]] = {}
    latest = 0
    for lines in phases.values():
        for line in lines:
            notes[line.id] = [References((), words.ahead)] if line.id < latest else []
        latest = max([latest, *(line.id for line in lines)])
    cast = [line for line in timeline.state.lines if line.said.type == "vote"]
    for votes in group_pairs(((vote.seat, vote.round), vote) for vote in cast).values():
        for earlier, later in pairwise(votes):
            notes[earlier.id].append(References((later.id,), words.replaced))
        notes[votes[-1].id] += _describe_vote_status(timeline, votes, words)
    return notes


def _describe_vote_status(
    timeline: CouncilTimeline, votes: list[CouncilLine], words: CouncilReportText
) -> list[References]:
    """Describe whether the last vote of a seat in a round counts, if that is not obvious."""
    last = votes[-1]
    begun = next(
        (each for each in timeline.phases if each.phase == "vote" and each.round == last.round),
        None,
    )
    if begun is None:
        return [References((), words.cast_ahead)]
    newest = max(begun.candidates, default=0)
    if last.id < newest:
        return [References((newest,), words.cast_early)]
    if timeline.state.votes.get(last.seat) != last.id:
        return [References((), words.voted_anew)]
    return [References((votes[-2].id,), words.vote_counts)] if len(votes) > 1 else []


def add_and_describe_entry(timeline: CouncilTimeline, entry: Entry) -> list[str]:
    """Add one more entry and describe it, in plain lines; nothing for one that is not worth one.

    What is written blind is shown when it may be read: when the phase is over.
    """
    before, passed = len(timeline.lines), len(timeline.passes)
    was_sealed = timeline.state.sealed if timeline.seq else frozenset()
    timeline.add(entry)
    words = COUNCIL_REPORT[timeline.state.opened.language]
    lines = [f"  {one.seat} {timeline.describe_pass(one)}" for one in timeline.passes[passed:]]
    sealed = timeline.state.sealed
    if opened := was_sealed - sealed:
        lines += [
            _format_line(line, words) for line in timeline.lines[:before] if line.id in opened
        ]
    for line in timeline.lines[before:]:
        lines.append(
            f"  {line.speaker} {words.has_written}"
            if line.id in sealed
            else _format_line(line, words)
        )
    happened = describe_event(entry, words)
    if (
        isinstance(entry.fact, SeatLost)
        and entry.fact.reason == "malformed"
        and timeline.state.is_sealed
    ):
        # How a sealed answer was malformed may quote it.
        happened = format_loss(words, replace(entry.fact, cause=NO_CAUSE))
    return [*lines, f"  {happened}"] if happened else lines


def _format_line(line: CouncilTimelineLine, words: CouncilReportText) -> str:
    head = line.speaker if line.spoken is None else _format_head(line.spoken, words)
    return SpokenLine(
        f"#{line.id} {head}",
        line.content or (line.spoken.said.condition if line.spoken is not None else ""),
    )


def _format_head(line: CouncilLine, words: CouncilReportText) -> str:
    said = line.said
    what = words.types[said.type] if said.position is None else words.verdicts[said.position]
    if said.ballot:
        what = f"{what}: " + ", ".join(
            f"#{vote.candidate} {words.verdicts[vote.position]}" for vote in said.ballot
        )
    about = f" → #{said.refers_to}" if said.refers_to else ""
    sure = "" if said.confidence is None else f" ({said.confidence:.2f})"
    return f"{line.seat} {what}{about}{sure}"


def describe_event(entry: Entry, words: CouncilReportText) -> str:
    """An entry that is not a contribution, in one line; empty when it is not worth one."""
    fact = entry.fact
    match fact:
        case PhaseBegun(phase=phase, round=number):
            again = f" · {words.round.format(number=number)}" if number > 1 else ""
            return f"■ {words.phases[phase]}{again}"
        case DeliberationClosed(consensus_type=kind):
            return f"■ {explain_consensus(words, kind)}"
        case _:
            return describe_shared_event(words, fact)
