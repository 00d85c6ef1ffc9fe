"""The findings of a run, as seats that Moot asks read them: each possible answer once, with its number and a few findings.

Neither who holds an answer nor any figure of the blackboard stands in it: what many hold is no evidence (S-28). What is shown is
bounded, and the oldest comes first, so that the text of one round begins with that of the round before.
"""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from moothall.domain.dictionaries import group_pairs
from moothall.domain.ids import SeatId
from moothall.domain.safe_text import one_line, quote_lines, quote_user
from moothall.locale.catalogues import SWARM_PROMPT
from moothall.protocols.swarm.rules.evidence import AnswerIndex
from moothall.protocols.swarm.rules.plain_report import STOP_BELOW
from moothall.protocols.swarm.rules.review import LOOKED_AT
from moothall.protocols.swarm.state import Finding, Idea, Swarm
from moothall.scoring.likeness import normalize_idea

MAX_TASK_LENGTH: Final = 20_000
MAX_DETAIL_LENGTH: Final = 300
MAX_FINDINGS: Final = 16
MAX_IDEAS: Final = 24
MAX_INSIGHTS: Final = 8
MAX_SHOWN: Final = 2
"""How many findings stand under an answer while all explore, and how many on the ballot and for the synthesis."""
MAX_JUDGED: Final = 3


def quote_question(state: Swarm) -> str:
    """Return the question under its heading, with the answers that it names."""
    words = SWARM_PROMPT[state.opened.language]
    lines = [words.question, quote_user(state.opened.topic[:MAX_TASK_LENGTH])]
    options = state.opened.subject.options
    if options:
        lines.append(words.answers)
        lines += [quote_answer(state, option) for option in options]
    return "\n".join(lines)


def quote_answer(state: Swarm, text: str) -> str:
    """Return an answer behind the mark of whose words it is: an option that the opener gave, or a direction of the user's."""
    frame = state.opened.frame
    given: Collection[str] = state.settings.directions
    if frame is None or frame.made_by == "opener":
        given = (*given, *state.opened.subject.options)
    if text in given:
        return quote_user(one_line(text))
    return quote_lines(one_line(text))


def list_shown_ideas(state: Swarm) -> list[Idea]:
    """Return the ideas that are shown by number: held ones come before the others, the newest first."""
    stated = {finding.idea for finding in state.board.findings}
    held = {number for agent in state.agents.values() for number in agent.holds}
    ranked = sorted(stated & state.board.ideas.keys(), key=lambda each: (each not in held, -each))
    return state.board.list_ideas(sorted(ranked[:MAX_IDEAS]))


@dataclass(frozen=True, slots=True)
class ShownFindings:
    """A table of findings: its lines, and the numbers of the findings in it."""

    lines: tuple[str, ...] = ()
    numbers: frozenset[int] = frozenset()

    def name_those_of(self, state: Swarm, seat: SeatId) -> str:
        """Return the ids of the shown findings of a seat."""
        findings = state.board.findings
        own = [number for number in sorted(self.numbers) if findings[number - 1].seat == seat]
        return ", ".join(findings[number - 1].id for number in own)


def build_table(
    state: Swarm, answers: Mapping[int, str], groups: Mapping[int, Sequence[Finding]], most: int
) -> ShownFindings:
    """Return each answer on a line of its own, and under it at most so many of its findings."""
    lines: list[str] = []
    numbers: list[int] = []
    for number, text in answers.items():
        lines.append(quote_lines(f"{number}. {one_line(text)}"))
        chosen = _choose_findings(groups.get(number, ()), text, most)
        for finding in chosen:
            lines.append(quote_lines(f"- {format_finding(finding, text)}"))
        numbers += [finding.number for finding in chosen]
    return ShownFindings(tuple(lines), frozenset(numbers))


def build_findings_table(state: Swarm, most: int = MAX_SHOWN) -> ShownFindings:
    """Return the table that all read: the options of the question, or the ideas, each with a few findings."""
    options = state.opened.subject.options
    if options:
        index = AnswerIndex(state)
        groups = group_findings(state, index)
        answers: dict[int, str] = {}
        for number, answer in index.answers.items():
            if number in groups:
                answers[number] = answer.text
        return build_table(state, answers, groups, most)
    shown = {idea.number: idea.text for idea in list_shown_ideas(state)}
    return build_table(state, shown, _group_by_idea(state), most)


def group_findings(state: Swarm, index: AnswerIndex) -> dict[int, list[Finding]]:
    """Return the findings by the number of the answer that they are about."""
    if not state.opened.subject.options:
        return _group_by_idea(state)
    pairs = ((index.find_answer(finding), finding) for finding in state.board.findings)
    return group_pairs((number, finding) for number, finding in pairs if number)


def _group_by_idea(state: Swarm) -> dict[int, list[Finding]]:
    return group_pairs((finding.idea, finding) for finding in state.board.findings)


def _choose_findings(findings: Iterable[Finding], text: str, most: int) -> list[Finding]:
    """Return the oldest findings that say more than the answer itself, and among them the oldest that speaks against it."""
    by_words: dict[tuple[SeatId, str], Finding] = {}
    for finding in findings:
        says_more = finding.details or normalize_idea(finding.core_idea) != normalize_idea(text)
        if says_more:
            by_words.setdefault((finding.seat, finding.details or finding.core_idea), finding)
    against: list[Finding] = []
    others: list[Finding] = []
    for finding in by_words.values():
        # One that speaks against the answer is shown even where others are older.
        is_low = finding.rating is not None and finding.rating < STOP_BELOW
        if is_low and not against:
            against.append(finding)
        else:
            others.append(finding)
    return sorted((*against, *others)[:most], key=lambda each: each.number)


def format_finding(finding: Finding, text: str = "") -> str:
    """Return a finding in one line: its id, what it says beyond `text`, and the last that was said against it."""
    parts: list[str] = []
    if not finding.details or normalize_idea(finding.core_idea) != normalize_idea(text):
        parts.append(one_line(finding.core_idea))
    if finding.details:
        parts.append(shorten_detail(finding.details))
    if finding.verdict is not None:
        parts.append(f"[{finding.verdict}] {shorten_detail(finding.checked)}".strip())
    challenges = [each for each in finding.reviews if each.action == "challenge"]
    for review in challenges[-1:]:
        parts.append(f"[{review.seat}: {shorten_detail(review.content)}]")
    return f"{finding.id}: {' — '.join(parts)}"


def format_details(details: str) -> str:
    """Format what stands behind an idea: a dash and the details, or nothing."""
    if not details:
        return ""
    return f" — {shorten_detail(details)}"


def shorten_detail(text: str) -> str:
    """Return a text in one line of bounded length."""
    line = one_line(text)
    if len(line) <= MAX_DETAIL_LENGTH:
        return line
    return f"{line[: MAX_DETAIL_LENGTH - 1]}…"


def list_insights(state: Swarm) -> list[str]:
    """Return the new ideas of the newest collisions (S-13), each text once: as the last agent that wrote it has it."""
    insights: dict[str, str] = {}
    for finding in state.board.findings[-LOOKED_AT:]:
        for review in finding.reviews:
            for text in review.new_insights:
                insights[text] = f"{review.seat} → {finding.id}: {text}"
    return list(insights.values())
