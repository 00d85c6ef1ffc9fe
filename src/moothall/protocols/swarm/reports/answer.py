"""What a reader wants first: the answer, how sure it is, why, what speaks against it; then all ideas and the synthesis.

S-33. Whether or not the run converged, the report names the idea that it stands for.
"""

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Final

from moothall.domain.claims import cut_text
from moothall.domain.context import extract_first_sentence
from moothall.domain.dictionaries import group_pairs
from moothall.domain.safe_text import one_line
from moothall.locale.catalogues import SwarmReportText
from moothall.protocols.swarm.facts import EvidenceChoice, SwarmClosed
from moothall.protocols.swarm.reports.decision import check_citations
from moothall.protocols.swarm.reports.standing import (
    IdeaStanding,
    Remark,
    SwarmStanding,
    list_objections,
)
from moothall.protocols.swarm.reports.timeline import translate_phrase, translate_term
from moothall.protocols.swarm.state import Finding
from moothall.reports.blocks import (
    Block,
    Bullets,
    Card,
    Cell,
    Details,
    Line,
    Muted,
    Quote,
    Strong,
    Text,
    build_section,
    build_table,
)
from moothall.reports.decision import Decision
from moothall.reports.sections import (
    describe_no_dissent,
    format_dissent,
)
from moothall.reports.wording import format_percent
from moothall.scoring.likeness import normalize_idea

MAX_LISTED: Final = 40
MAX_REASONS: Final = 4
MAX_IDEA_CARDS: Final = 12
MAX_FINDINGS: Final = 8
"""For each idea; the others are in the reports of the agents."""
MAX_OTHERS: Final = 200
MAX_DETAIL_LENGTH: Final = 400


def build_list(items: Sequence[Text], most: int = MAX_LISTED) -> Bullets:
    """The first of many, and how many there are besides."""
    rest = len(items) - most
    if rest <= 0:
        return Bullets(tuple(items[:most]))
    return Bullets((*items[:most], Muted(f"+ {rest}")))


def describe_doubt(standing: SwarmStanding) -> str:
    """Say which two answers the readings do not tell apart (S-35); empty where they do, or do not decide."""
    choice = _find_evidence_choice(standing)
    if choice is None or choice.is_distinct or len(choice.ranked) < 2 or says_nothing(choice):
        return ""
    first, second = (_name_answer(standing, each.answer) for each in choice.ranked[:2])
    return standing.words.indistinct.format(first=first, second=second)


def says_nothing(choice: EvidenceChoice) -> bool:
    """Whether the readings rank nothing: nobody read more than one answer, or all of them look alike."""
    return len({each.value for each in choice.ranked}) < 2


def _name_answer(standing: SwarmStanding, name: str) -> str:
    """An option as it is; an idea by its number and its first sentence."""
    for idea in standing.ideas:
        if idea.id == name:
            return f"{idea.name} ({extract_first_sentence(idea.text)})"
    return name


def _find_evidence_choice(standing: SwarmStanding) -> EvidenceChoice | None:
    """What the readings lean to at the end; None before it, and where nobody read anything."""
    done = standing.timeline.state.completed
    if done is None:
        return None
    return done.choice


def build_evidence(standing: SwarmStanding) -> Iterable[Block]:
    """What decided: the ranking of the answers by their readings, the margin, and what it would take to change it (S-35)."""
    words, choice = standing.words, _find_evidence_choice(standing)
    if choice is None or says_nothing(choice):
        return ()
    rows: list[tuple[Cell, ...]] = []
    for at, each in enumerate(choice.ranked, 1):
        name = _name_answer(standing, each.answer)
        rows.append((at, name, f"{each.value:.2f}", each.readers))
    lines = [describe_doubt(standing)]
    if choice.z is not None:
        sureness = format_percent(choice.sureness)
        lines.append(
            words.evidence_margin.format(margin=choice.margin, z=choice.z, sureness=sureness)
        )
        needed = words.evidence_fixed
        if choice.needed is not None:
            needed = words.evidence_needed.format(count=choice.needed)
        if choice.decisive:
            needed += words.evidence_decisive.format(seats=", ".join(choice.decisive))
        lines.append(needed)
    how = words.evidence_methods[choice.method]
    return (
        Line(how, "dim"),
        build_table(words.evidence_heads, rows),
        *(Line(line) for line in lines if line),
    )


def build_answer(standing: SwarmStanding, decision: Decision) -> tuple[Block, ...]:
    """The answer, how sure it is, why, and what speaks against it."""
    words, leading = standing.words, standing.leading
    content = build_section(
        words.conclusion, (*build_undone_joins(standing), *_explain_outcome(standing, decision))
    )
    if leading is not None:
        reasons = _build_evidence(leading, leading.reasons, words, MAX_REASONS)
        content = (*content, *build_section(words.why.format(number=leading.number), (reasons,)))
    return (*content, *_build_objections(standing, decision))


def build_undone_joins(standing: SwarmStanding) -> tuple[Block, ...]:
    """Say that these figures are not those of the run."""
    undone = standing.what_if.undone
    if not undone:
        return ()
    return (Line(standing.words.undone.format(joins=", ".join(undone)), "warn"),)


def build_verdict(standing: SwarmStanding) -> Line:
    """Whether it converged, in one sentence; a run that did not says first that its report is partial."""
    words, closed, last = standing.words, standing.timeline.closed, standing.last
    if closed is None:
        return Line(words.still_open, "strong")
    if not isinstance(closed, SwarmClosed):
        return Line(words.cancelled, "strong")
    is_converged = closed.converged
    if standing.what_if.undone:
        is_converged = last is not None and last.converged
    if is_converged:
        return Line(words.converged, "good")
    if closed.reason == "synthesis":
        return Line(words.classic)
    reasons: list[str] = []
    if last is not None and last.reason:
        reasons.append(words.convergence_reasons[last.reason])
    reasons.append(words.endings.get(closed.reason, closed.reason))
    reason = words.between.join(filter(None, reasons))
    return Line(f"{words.partial}{words.not_converged.format(reason=reason)}", "warn")


def _explain_outcome(standing: SwarmStanding, decision: Decision) -> tuple[Block, ...]:
    """Say of a synthesis what it cites; of a run without a result why there is none, and which idea has most support."""
    timeline, words, leading = standing.timeline, standing.words, standing.leading
    lines: list[Block] = []
    if decision.decision is None and decision.status == "concluded":
        lines.append(Line(_explain_no_result(standing)))
    if decision.author is not None:
        lines.append(_describe_citations(standing))
    elif leading is not None and decision.decision is None and not timeline.is_sealed:
        tied = sum(len(idea.backers) == len(leading.backers) for idea in standing.ideas)
        text = words.most_support
        if tied >= 2:
            text = words.tied_support
        support = text.format(number=leading.number, count=tied)
        lines.append(Line((support, Strong(leading.text))))
    if decision.decision is None:
        lines.append(Line(describe_doubt(standing)))
    return tuple(lines)


def _explain_no_result(standing: SwarmStanding) -> str:
    words, swarm = standing.words, standing.swarm
    if not swarm.consensus:
        return words.no_consensus
    if swarm.ballots:
        return words.not_carried
    return words.no_vote


def list_figures(standing: SwarmStanding) -> list[tuple[str, Cell]]:
    """How the run ended, who backs the leading idea, what was checked, what the votes say, which idea comes next."""
    words, ideas, leading = standing.words, standing.ideas, standing.leading
    if leading is None:
        return [(words.ended_by, build_verdict(standing).text)]
    checked = [each.verdict for each in leading.findings if each.verdict]
    evidence = words.evidence_line.format(
        count=len(leading.findings), agents=len({each.seat for each in leading.findings})
    )
    if checked:
        counts = Counter(checked).items()
        checks = [f"{translate_term(words, verdict)} × {count}" for verdict, count in counts]
        evidence += words.checked.format(checks=", ".join(checks))
    rows: list[tuple[str, Cell]] = [
        (words.ended_by, build_verdict(standing).text),
        (words.backed_by, _format_support(leading, words)),
        (words.evidence, evidence),
    ]
    for idea in ideas:
        if idea.result is not None:
            rows.append((idea.name, _format_vote(standing, idea)))
    for idea in ideas:
        if idea is not leading and idea.backers:
            text = words.quoted.format(text=extract_first_sentence(idea.text))
            rows.append((words.runner_up, f"{idea.name} {text}{_format_support(idea, words)}"))
            break
    return rows


def _format_support(idea: IdeaStanding, words: SwarmReportText) -> str:
    if not idea.backers:
        return words.held_no_more
    return words.support_line.format(
        count=len(idea.backers),
        all=idea.active,
        share=format_percent(idea.share),
        own=len(idea.independent),
    )


def _format_vote(standing: SwarmStanding, idea: IdeaStanding) -> str:
    result, words = idea.result, standing.words
    assert result is not None, "only ideas that were voted on are asked for"
    return words.by_vote.format(
        kind=translate_phrase(words, result.consensus_type),
        count=result.voters,
        all=len(standing.swarm.explorers),
        support=format_percent(result.support),
        confidence=format_percent(result.confidence),
    )


def _build_objections(standing: SwarmStanding, decision: Decision) -> tuple[Block, ...]:
    """All that speaks against the leading idea, and every vote against another one."""
    words, leading, objections = standing.words, standing.leading, list_objections(standing)
    known = {(each.seat, each.text) for each in objections}
    items = _group_words(objections, words)
    for voice in decision.dissent:
        if (voice.seat, voice.text) not in known:
            items.append(format_dissent(voice, words))
    title, none = words.dissent, ""
    if leading is not None:
        title = words.against.format(number=leading.number)
        # Without a vote nobody was asked: "nobody dissented" would claim an agreement that was never sought.
        none = words.no_objection
        if decision.support is not None:
            none = describe_no_dissent(decision, words)
    if items:
        return build_section(title, (build_list(items),))
    return build_section(title, (Line(none, "dim"),))


def _group_words(said: Iterable[Remark], words: SwarmReportText, mark: str = "") -> list[Text]:
    """What was said to an idea: the same words of several are one line."""
    groups = group_pairs(
        ((translate_phrase(words, each.kind), _cut_line(each.text) or "–"), each) for each in said
    )
    lines: list[Text] = []
    for (kind, text), group in groups.items():
        seats = ", ".join(dict.fromkeys(each.seat for each in group))
        about = ", ".join(dict.fromkeys(each.about for each in group))
        named = f" ({kind} {about}".rstrip() + ")"
        lines.append((mark, Strong(seats), Muted(named), f": {text}"))
    return lines


def _build_evidence(
    idea: IdeaStanding, findings: Sequence[Finding], words: SwarmReportText, most: int
) -> Bullets:
    """The findings that say more than the idea itself, one by one; those that only repeat it in one line."""
    text = normalize_idea(idea.text)
    bare: list[Finding] = []
    items: list[Text] = []
    for each in findings:
        if not each.details and not each.verdict and normalize_idea(each.core_idea) == text:
            bare.append(each)
        else:
            items.append(_format_finding(each, idea, words))
    listed = build_list(items, most)
    if not bare:
        return listed
    seats = ", ".join(dict.fromkeys(each.seat for each in bare))
    return replace(listed, items=(*listed.items, (Strong(seats), Muted(f" {words.bare}"))))


def _format_finding(finding: Finding, idea: IdeaStanding, words: SwarmReportText) -> Text:
    """Its author, how sure and whether it was checked; then its own words, where they are not the idea's, and its details."""
    marks = [finding.id, words.in_round.format(number=finding.round)]
    if finding.confidence:
        marks.append(words.sure.format(confidence=translate_term(words, finding.confidence)))
    if finding.verdict:
        marks.append(translate_term(words, finding.verdict))
    elif finding.needs_validation:
        marks.append(words.unvalidated)
    said = [text for text in (finding.details, finding.checked) if text]
    is_same = normalize_idea(finding.core_idea) == normalize_idea(idea.text)
    if not is_same or not said:
        said.insert(0, finding.core_idea)
    return (
        Strong(finding.seat),
        Muted(f" ({', '.join(marks)})"),
        f": {_cut_line(' — '.join(said))}",
    )


def _cut_line(text: str) -> str:
    return cut_text(one_line(text), MAX_DETAIL_LENGTH)


def build_ideas(standing: SwarmStanding) -> tuple[Block, ...]:
    """All ideas by support: the first ones with their evidence and what reviewers said, the others in a list."""
    words, ideas = standing.words, standing.ideas
    cards = [_build_idea_card(standing, idea) for idea in ideas[:MAX_IDEA_CARDS]]
    rest: list[Text] = [
        (Strong(idea.name), f" ({len(idea.backers)}): {_cut_line(idea.text)}")
        for idea in ideas[MAX_IDEA_CARDS:]
    ]
    if not rest:
        return tuple(cards)
    others = Details(words.other_ideas.format(count=len(rest)), (build_list(rest, MAX_OTHERS),))
    return (*cards, others)


def _build_idea_card(standing: SwarmStanding, idea: IdeaStanding) -> Card:
    words = standing.words
    head: list[Text] = [Strong(idea.name), _format_support(idea, words)]
    if idea.pheromone is not None:
        head.append(Muted(words.pheromone_line.format(value=idea.pheromone)))
    if idea.result is not None:
        head.append(Muted(_format_vote(standing, idea)))
    evidence = _build_evidence(idea, idea.findings, words, MAX_FINDINGS)
    reviews = _group_words(idea.reviews, words, "↯ ")
    return Card(
        head=tuple(head),
        blocks=(Line(Strong(idea.text)), evidence, build_list(reviews, MAX_FINDINGS)),
    )


def build_synthesis(standing: SwarmStanding) -> tuple[Block, ...]:
    """The synthesis, its citations checked; in the classic mode it is the answer and stands there."""
    swarm, words = standing.swarm, standing.words
    if (
        standing.timeline.closed is None
        or swarm.settings.synthesis != "always"
        or swarm.settings.mode == "classic"
    ):
        return ()
    if not swarm.synthesis:
        return (Line(words.no_synthesis, "dim"),)
    author = Line((words.author, ": ", Strong(swarm.author or "–")))
    text = check_citations(swarm.synthesis, swarm.board.findings, words).text
    return (author, _describe_citations(standing), Quote(text))


def _describe_citations(standing: SwarmStanding) -> Line:
    """What became of the check of the synthesis against the findings that it cites."""
    words, findings = standing.words, standing.swarm.board.findings
    checked = check_citations(standing.swarm.synthesis, findings, words)
    parts = [words.cites_nothing]
    if checked.cited:
        parts = [words.cites.format(count=len(checked.cited), all=len(findings))]
    if checked.unknown:
        parts.append(words.cites_unknown.format(names=", ".join(checked.unknown)))
    if checked.refuted:
        parts.append(words.cites_refuted.format(names=", ".join(checked.refuted)))
    text = "".join(parts).strip()
    if checked.unknown or checked.refuted:
        return Line(text, "bad")
    return Line(text, "dim")
