"""What people read of a swarm: reports, pages, files and names (S-24, S-25, S-33)."""

import html
import json
import re
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.support.play_swarm import (
    SESSION,
    SwarmRun,
    build_deposit,
    build_stop_signal,
    build_swarm_plan,
    build_valid_report,
)

from moothall.domain.effects import Ask, Brief
from moothall.domain.facts import Language
from moothall.domain.ids import SeatId
from moothall.domain.roster import Seat
from moothall.locale.catalogues import SWARM_REPORT
from moothall.protocols.swarm.answers import (
    AnswerVote,
    CheckVerdict,
    Collision,
    FindingCheck,
    Operation,
    StatedIdea,
    SwarmBallot,
    Synthesis,
    Validation,
)
from moothall.protocols.swarm.plugin import SWARM
from moothall.protocols.swarm.reports.decision import check_citations
from moothall.protocols.swarm.reports.files import (
    file_name,
    folder_name,
    render_blackboard,
    render_operation_log,
    render_run_config,
    run_files,
    task_slug,
)
from moothall.protocols.swarm.reports.standing import build_standing_json
from moothall.protocols.swarm.reports.timeline import SwarmTimeline, add_and_describe_entry
from moothall.protocols.swarm.rules.rulebook import RULES
from moothall.protocols.swarm.state import Finding, Swarm
from moothall.reports.plain_text import render_decision_lines
from moothall.scoring.positions import VotePosition
from moothall_testkit.snapshots import check_snapshot

SNAPSHOTS = Path(__file__).parent / "snapshots"
EVIL = "<script>alert(1)</script> ![x](http://evil) | # Heading \x1b[31m"


def evil_run(language: Language = "en") -> SwarmRun:
    def says(ask: Ask, brief: Brief, state: Swarm) -> object:
        if ask.kind == "explore":
            operations = (
                (build_deposit(EVIL, 0.3), build_stop_signal(EVIL))
                if ask.seat == "SuYuan"
                else (build_deposit("缓存"),)
            )
            ideas = (EVIL, "只有我想到的。") if ask.seat == "TanWei" else (EVIL,)
            return build_valid_report(
                state, ask.seat, EVIL, *ideas, perspective=EVIL[:50], operations=operations
            )
        if ask.kind == "collide":
            return Collision(action="challenge", content=EVIL, new_insights=(EVIL,))
        if ask.kind == "ballot":
            return SwarmBallot(
                votes=(AnswerVote(answer=1, position="oppose", confidence=0.9, reason=EVIL),)
            )
        return NotImplemented

    return SwarmRun(build_swarm_plan(3, max_rounds=3, language=language)).play(says)


@pytest.mark.parametrize("language", ["en", "zh"])
def test_what_agents_say_is_harmless_in_every_file(language: Language) -> None:
    timeline = evil_run(language).timeline
    found = SWARM.export(timeline, "html")
    assert "<script" not in found
    assert "http-equiv" in found
    assert not re.search(r'(src|href)="(?!#)', found)
    for text in (
        SWARM.export(timeline, "minutes"),
        SWARM.export(timeline, "convergence"),
        *(file.text for file in run_files(timeline) if file.path[-1].endswith(".md")),
    ):
        assert "<script" not in text
        assert "\x1b" not in text
        assert "![x]" not in text
    assert "\x1b" not in "\n".join(
        line.text for line in render_decision_lines(SWARM.report(timeline))
    )


def test_the_report_has_what_the_template_of_the_source_has() -> None:
    """S-25: in Markdown and as a page with charts."""
    timeline = evil_run().timeline
    text = SWARM.export(timeline, "minutes")
    for part in (
        "## Convergence figures",
        "██` Ideas stay the same (β-stability) ✓",
        "## Consensus ideas (support ≥ 67 %)",
        "| Held independently by | Joined after reading | Pheromone |",
        "## Unique ideas",
        "**TanWei (探微者)**: 只有我想到的。",
        "## Agents",
        "## Role evolution",
        "| T0 | 3 |",
        "## Pheromone distribution",
        "## The vote",
        "## Conclusion",
        "PARTIAL REPORT",
    ):
        assert part in text, part
    found = SWARM.export(timeline, "html")
    assert (found.count("<svg"), found.count('class="bar"')) == (
        3,
        3 + len(timeline.state.board.pheromones),
    )
    assert "<polyline" in found


RESTATED = (
    "Serve the catalogue from a cache at the edge.",
    "Put a cache at the edge in front of the catalogue.",
    "An edge cache in front of the catalogue is the fastest fix.",
    "Cache the pages of the catalogue at the edge.",
)
"""One idea in the words of several."""


def restless_run(
    language: Language = "en",
    synthesis: str | None = "As finding-001 says, and finding-999.",
    rule: str = "always",
) -> SwarmRun:
    """Eight explorers: seven hold one idea in changing words, and a minor idea that moves keeps the run from converging."""

    def says(ask: Ask, brief: Brief, state: Swarm) -> object:
        at = state.explorers.index(ask.seat) if ask.seat in state.explorers else 0
        if ask.kind == "collide":
            return Collision(action="challenge", content="Who clears it when a price changes?")
        if ask.kind == "ballot":
            position: VotePosition = "oppose" if at > 3 else "support"
            return SwarmBallot(
                votes=(
                    AnswerVote(
                        answer=1, position=position, confidence=0.8, reason=f"Word of {ask.seat}."
                    ),
                )
            )
        if ask.kind == "synthesis":
            return Synthesis(content=synthesis) if synthesis is not None else None
        if ask.kind != "explore":
            return NotImplemented
        words = RESTATED[(at + state.round) % 4] if at < 7 else "Buy faster machines."
        agrees = ("finding-001",) if at < 7 and state.round > 1 else ()
        said = build_valid_report(state, ask.seat, f"way {at}", words, agrees_with=agrees)
        found = [replace(each, details=f"{ask.seat} measured it.") for each in said.findings]
        moving = (
            [StatedIdea(core_idea=f"Aside: look into matter number {state.round}.")]
            if at == 2
            else []
        )
        return replace(said, findings=(*found, *moving))

    return SwarmRun(
        build_swarm_plan(8, seed=3, language=language, max_rounds=5, synthesis=rule)
    ).play(says)


@pytest.mark.parametrize("language", ["en", "zh"])
def test_a_run_that_does_not_converge_names_the_idea_with_most_support_first(
    language: Language,
) -> None:
    """S-33: the question, where the swarm stands, how sure, why, what speaks against it; then all ideas by support."""
    timeline = restless_run(language).timeline
    leading = timeline.state.board.ideas[1].text
    words = timeline.words
    decision = SWARM.decision(timeline)
    assert (
        timeline.state.completed is not None and timeline.state.completed.converged,
        decision.decision,
    ) == (False, None)
    text = SWARM.export(timeline, "minutes")
    parts = (
        f": {timeline.state.opened.topic}",
        leading.rstrip(".。"),
        words.why.format(number=1),
        "TanWei measured it.",
        words.against.format(number=1),
        "Word of JianWei.",
        "Who clears it when a price changes?",
        f"## {words.consensus.format(threshold='67 %')}",
        f"## {words.all_ideas}",
        f"## {words.synthesis}",
        f"finding-999 ({words.no_such_finding})",
        f"## {words.agent_table}",
        words.partial.strip(),
        words.backed_by
        + ": "
        + words.support_line.format(
            count=7, all=8, share="88 %", own=len(timeline.state.board.ideas[1].independent)
        ),
    )
    places = [text.index(part) for part in parts]
    assert places == sorted(places)
    lines = [line.text for line in render_decision_lines(SWARM.report(timeline))]
    assert leading.rstrip(".。") in lines[0]
    page = SWARM.export(timeline, "html")
    assert 0 < page.index(html.escape(leading)) < page.index(words.figures)


def test_of_ideas_with_equal_support_none_is_called_the_one_with_most() -> None:
    """S-33: the first of them is shown as the first of several."""
    own = ("Build a cache.", "Buy faster machines.", "Ask fewer questions.")

    def says(ask: Ask, brief: Brief, state: Swarm) -> object:
        words = own[state.explorers.index(ask.seat) if ask.seat in state.explorers else 0]
        return (
            build_valid_report(state, ask.seat, words, words)
            if ask.kind == "explore"
            else NotImplemented
        )

    timeline = SwarmRun(build_swarm_plan(3, max_rounds=1, synthesis="classic")).play(says).timeline
    text = SWARM.export(timeline, "minutes")
    assert timeline.words.tied_support.format(count=3, number=1) in text
    assert timeline.words.most_support.format(number=1) not in text


def test_all_ideas_are_listed_by_support_with_their_evidence_and_reviews() -> None:
    """S-33."""
    timeline = restless_run().timeline
    standing = build_standing_json(timeline)
    counts = [len(idea["backers"]) for idea in standing["ideas"]]
    assert counts == sorted(counts, reverse=True)
    assert counts[0] == 7
    assert {idea["id"] for idea in standing["ideas"]} == {
        idea.id for idea in timeline.state.board.ideas.values()
    }
    found = {each["finding"] for idea in standing["ideas"] for each in idea["evidence"]}
    assert found <= {each.id for each in timeline.state.board.findings}
    # Whatever an agent found is told once for each idea, however often it says it again.
    for idea in standing["ideas"]:
        told = [(each["agentId"], each["details"]) for each in idea["evidence"]]
        assert len(told) == len(set(told))
    assert sum(len(idea["reviews"]) for idea in standing["ideas"]) == sum(
        len(each.reviews) for each in timeline.state.board.findings
    )
    kinds = {each["kind"] for each in standing["against"]}
    assert {"oppose", "challenge"} <= kinds
    assert standing["leading"] == standing["ideas"][0]
    assert len(build_standing_json(timeline, most=2)["ideas"]) == 2


def test_a_signal_against_a_rivals_direction_is_none_against_the_idea() -> None:
    """S-33: what backs the idea may be filed under the direction of a rival, which was stated there first."""

    def says(ask: Ask, brief: Brief, state: Swarm) -> object:
        if ask.kind != "explore":
            return NotImplemented
        is_rival = ask.seat == "SuYuan"
        way = "machines" if is_rival else "caching"
        idea = (
            "Buy eight machines." if is_rival and state.round == 1 else "Put a cache at the edge."
        )
        operations = (
            (build_stop_signal("machines"),) if ask.seat == "TanWei" and state.round == 2 else ()
        )
        return build_valid_report(
            state, ask.seat, way, idea, operations=(build_deposit(way, 0.3), *operations)
        )

    timeline = SwarmRun(build_swarm_plan(3, max_rounds=2, collisions=0)).play(says).timeline
    standing = build_standing_json(timeline)
    assert standing["leading"]["text"] == "Put a cache at the edge."
    assert [signal.target for signal in timeline.signals.values()] == ["machines"]
    assert "signal-1" not in [each["about"] for each in standing["against"]]


def test_what_was_refuted_or_stopped_speaks_against_an_idea_and_not_for_it() -> None:
    """S-33: the validator's word and stop signals are on the page of the idea that they are about."""

    def says(ask: Ask, brief: Brief, state: Swarm) -> object:
        if ask.kind == "validate":
            checks = (
                FindingCheck(
                    finding="finding-001", verdict="refuted", reason="The logs say otherwise."
                ),
            )
            return Validation(verdicts=checks)
        if ask.kind == "synthesis":
            return Synthesis(content="It rests on Finding 1 and finding-002.")
        if ask.kind != "explore":
            return NotImplemented
        operations = (
            (build_stop_signal("caching"),) if ask.seat == "SuYuan" and state.round == 2 else ()
        )
        said = build_valid_report(
            state,
            ask.seat,
            "caching",
            "Put a cache at the edge.",
            operations=(build_deposit("caching", 0.3), *operations),
        )
        is_guess = ask.seat == "TanWei" and state.round == 1
        found = [
            replace(each, details=f"By {ask.seat}.", needs_validation=is_guess)
            for each in said.findings
        ]
        return replace(said, findings=tuple(found))

    plan = build_swarm_plan(3, max_rounds=2, synthesis="always", collisions=0)
    plan = replace(plan, seats=(*plan.seats, Seat(id=SeatId("validator"), platform="script:x")))
    timeline = SwarmRun(plan).play(says).timeline
    standing = build_standing_json(timeline)
    against = [(each["kind"], each["text"], each["about"]) for each in standing["against"]]
    assert ("refuted", "The logs say otherwise.", "finding-001") in against
    assert ("contradictory_evidence", "It was tried.", "signal-1") in against
    text = SWARM.export(timeline, "minutes")
    why = text[text.index("## Why idea 1") : text.index("## What speaks against idea 1")]
    assert "finding-001" not in why
    assert "finding-002" in why
    assert standing["synthesis"]["cites"] == ["finding-001", "finding-002"]
    assert standing["synthesis"]["refuted"] == ["finding-001"]
    assert "Finding 1 (⚠ refuted)" in text


def build_findings(count: int, verdict: CheckVerdict | None = None) -> list[Finding]:
    found = Finding(
        number=1,
        seat=SeatId("a"),
        round=1,
        direction="",
        core_idea="x",
        perspective="",
        details="",
        verdict=verdict,
    )
    return [replace(found, number=at + 1) for at in range(count)]


@pytest.mark.parametrize(
    ("text", "cited", "unknown"),
    [
        (
            "finding-001, finding-2 and Finding 003.",
            ("finding-001", "finding-002", "finding-003"),
            (),
        ),
        ("据finding-001所述（finding-004）", ("finding-001",), ("finding-004",)),
        (
            "finding-0, finding-999999999, finding-9999999999",
            (),
            ("finding-0", "finding-999999999"),
        ),
        ("refinding-001, pathfinding 2", (), ()),
        ("nothing at all", (), ()),
        ("", (), ()),
    ],
)
def test_a_synthesis_is_checked_against_the_findings_that_it_cites(
    text: str, cited: tuple[str, ...], unknown: tuple[str, ...]
) -> None:
    """S-33: a finding that does not exist is marked where it stands."""
    found = check_citations(text, build_findings(3), SWARM_REPORT["en"])
    assert (found.cited, found.unknown) == (cited, unknown)
    assert all(f"{name} (⚠ no such finding)" in found.text for name in unknown)
    assert found.text.replace(" (⚠ no such finding)", "") == text


@given(st.text(max_size=200), st.integers(0, 5))
def test_a_check_of_citations_only_adds_marks(text: str, count: int) -> None:
    """S-33: whatever a writer writes, its words stay as they are."""
    words = SWARM_REPORT["zh"]
    found = check_citations(
        f"{text} finding-1 {text}", build_findings(count, "refuted"), words
    ).text
    for mark in (f" ({words.no_such_finding})", f" ({words.refuted_finding})"):
        found = found.replace(mark, "")
    assert found == f"{text} finding-1 {text}"


def test_a_synthesis_is_written_in_every_mode_after_the_vote() -> None:
    """S-33: by a synthesizer if there is one; whoever fails is followed by one other."""
    run = restless_run()
    asks = [ask for ask in run.asks if ask.kind == "synthesis"]
    assert len(asks) == 1
    assert run.asks.index(asks[0]) > max(
        at for at, ask in enumerate(run.asks) if ask.kind == "ballot"
    )
    writer = run.state.agents[asks[0].seat]
    roles = {agent.role for agent in run.state.agents.values()}
    assert writer.role == "SYNTHESIZER" or "SYNTHESIZER" not in roles
    assert run.state.author == asks[0].seat
    lost = restless_run(synthesis=None)
    assert len([ask for ask in lost.asks if ask.kind == "synthesis"]) == 2
    assert "No synthesis was written" in SWARM.export(lost.timeline, "minutes")
    # With the rule `classic` the other modes have none.
    assert not [ask for ask in restless_run(rule="classic").asks if ask.kind == "synthesis"]


def test_votes_are_in_no_report_before_all_have_voted() -> None:
    """S-29: what is sealed elsewhere is not in an export."""
    timeline = SwarmTimeline(SESSION)
    sealed = 0
    for entry in played("en").entries:
        timeline.add(entry)
        if timeline.state.stage == "vote" and timeline.state.ballots:
            sealed += 1
            assert not any(
                "So it is." in SWARM.export(timeline, form) for form in ("minutes", "html")
            )
    assert sealed
    assert all("So it is." in SWARM.export(timeline, form) for form in ("minutes", "html"))


def test_the_phases_of_a_swarm_are_the_rounds_that_it_may_have_and_then_those_that_it_had() -> None:
    """W-2: none is ahead once it has ended."""
    timeline, run = SwarmTimeline(SESSION), played("en")
    timeline.add(run.entries[0])
    assert len(timeline.list_phases()) == timeline.state.settings.max_rounds
    phases = run.timeline.list_phases()
    assert [phase.name for phase in phases] == [
        f"Round {number + 1}" for number in range(run.timeline.state.round)
    ]
    assert {phase.state for phase in phases} == {"done"}


def test_a_long_report_says_what_it_leaves_out() -> None:
    def says(ask: Ask, brief: Brief, state: Swarm) -> object:
        if ask.kind != "explore":
            return NotImplemented
        ideas = [f"{state.round} {ask.seat} {number}" for number in range(10)]
        directions = (
            build_deposit(f"{state.round} {ask.seat} {number}", 0.1) for number in range(3)
        )
        return build_valid_report(state, ask.seat, "x", *ideas, operations=tuple(directions))

    timeline = SwarmRun(build_swarm_plan(3, max_rounds=4)).play(says).timeline
    text = SWARM.export(timeline, "minutes")
    assert f"- + {len(timeline.state.board.ideas) - 40}" in text
    assert all(each.direction in text for each in timeline.state.board.pheromones.values())
    page = SWARM.export(timeline, "html")
    assert f"<summary>+ {len(timeline.state.board.pheromones) - 20}</summary>" in page


def test_the_report_speaks_the_language_of_the_run() -> None:
    text = SWARM.export(evil_run("zh").timeline, "minutes")
    assert "## 收敛指标" in text
    assert "## 信息素分布" in text
    assert "部分报告" in text


def test_the_files_of_a_run() -> None:
    """S-4, S-24: the blackboard holds the whole state."""
    timeline = evil_run().timeline
    paths = ["/".join(file.path) for file in run_files(timeline)]
    assert paths == [
        "run-config.json",
        "blackboard.json",
        "operation-log.json",
        *(
            f"agent-reports/round-{number}/{name}.md"
            for number in (1, 2, 3)
            for name in ("TanWei", "SuYuan", "DongCha")
        ),
        "convergence-report.md",
        "final-research-report.md",
        "final-research-report.html",
    ]
    config, board, log = (
        json.loads(make(timeline))
        for make in (render_run_config, render_blackboard, render_operation_log)
    )
    assert config["config"] == board["config"]
    assert config["config"]["evaporation"] == 0.08
    assert [each["operationId"] for each in log] == [
        f"op-{number}" for number in range(1, len(log) + 1)
    ]
    # SuYuan cuts the same direction in every round; it may once.
    assert board["operations"] == {"requested": len(log), "processed": len(log) - 2, "failed": 2}
    assert set(board) >= {
        "pheromones",
        "claims",
        "stopSignals",
        "findings",
        "opinionHistory",
        "agentStates",
        "events",
        "config",
    }
    agent = board["agentStates"]["TanWei"]
    assert set(agent) >= {
        "role",
        "status",
        "internalThreshold",
        "stats",
        "current",
        "roleHistory",
        "violations",
    }


def test_a_story_told_line_by_line_is_the_story_told_at_once() -> None:
    run = evil_run()
    timeline = SwarmTimeline(SESSION)
    lines = [line for entry in run.entries for line in add_and_describe_entry(timeline, entry)]
    assert render_blackboard(timeline) == render_blackboard(run.timeline)
    assert any(line.startswith("── Round 1") for line in lines)
    assert not any("\x1b" in line for line in lines)


@pytest.mark.parametrize(
    ("task", "slug"),
    [
        ("How do we halve the page load time?", "how-do-we-halve-the-page-load"),
        ("../../etc/passwd", "etc-passwd"),
        ("../x", "x"),
        ("如何优化供应链？", "如何优化供应链"),
        ("🚀🚀", "task"),
        ("🚀 launch!", "launch"),
        ("", "task"),
        ("a" * 200, "a" * 30),
        ("ＦＵＬＬ width", "full-width"),
        ("con\x00trol\n\ttext", "con-trol-text"),
        ("ÄÖÜ only", "only"),
    ],
)
def test_a_task_becomes_a_safe_name(task: str, slug: str) -> None:
    """S-24."""
    assert task_slug(task) == slug
    assert folder_name(datetime(2026, 2, 18, 23, 59, tzinfo=UTC), task) == f"2026-02-18-{slug}"


def test_the_name_of_a_file_is_never_too_long() -> None:
    assert file_name("TanWei") == "TanWei.md"
    long = "𠀀" * 64
    assert len(file_name(long).encode()) <= 130
    assert file_name(long) != file_name("𠀀" * 63 + "𠀁")


def played(language: Language) -> SwarmRun:
    """A run in which something of everything happens."""
    cache, buy = (
        ("在边缘加缓存。", "买更快的机器。")
        if language == "zh"
        else ("Put a cache at the edge.", "Buy faster machines.")
    )

    def says(ask: Ask, brief: Brief, state: Swarm) -> object:
        if ask.kind == "collide":
            return Collision(action="challenge", content="Why?", new_insights=("Measure first.",))
        if ask.kind == "ballot":
            position: VotePosition = "oppose" if ask.seat == "XiLi" else "support"
            return SwarmBallot(
                votes=(AnswerVote(answer=1, position=position, confidence=0.8, reason="So it is."),)
            )
        if ask.kind != "explore":
            return NotImplemented
        if ask.seat == "QiuSuo" and state.round == 2:
            return None
        operations: tuple[Operation, ...] = (build_deposit(f"way of {ask.seat}", 0.3),)
        if ask.seat == "XiLi" and state.round == 2:
            operations += (build_stop_signal("way of TanWei"), Operation(operation="fly"))
        said = build_valid_report(
            state,
            ask.seat,
            f"way of {ask.seat}",
            buy if ask.seat == "XiLi" else cache,
            operations=operations,
        )
        return (
            replace(said, conflict_review=None)
            if ask.seat == "SuYuan" and state.round == 1
            else said
        )

    return SwarmRun(
        build_swarm_plan(6, seed=3, language=language, max_rounds=6, platform="openai:m")
    ).play(says)


@pytest.mark.parametrize("language", ["en", "zh"])
def test_the_reports_of_a_run(language: Language) -> None:
    """S-25: as people read them."""
    timeline = played(language).timeline
    check_snapshot(SNAPSHOTS / f"swarm_report_{language}.md", SWARM.export(timeline, "minutes"))
    page = SWARM.export(timeline, "html")
    # The Chinese minutes have its words, the English page its form.
    if language == "en":
        check_snapshot(SNAPSHOTS / "swarm_page_en.html", page)


@pytest.mark.parametrize("language", ["en", "zh"])
def test_what_an_explorer_is_sent(language: Language) -> None:
    """S-9, S-11, S-13, S-29: every kind of message."""
    run = played(language)
    prompts: dict[str, str] = {}
    state = RULES.initial(run.entries[0].fact)  # type: ignore[arg-type]  # the opening
    for entry in run.entries[1:]:
        for ask in RULES.decide(state):
            if isinstance(ask, Ask):
                brief = RULES.brief(state, ask)
                name = f"{ask.kind} {'again' if state.lost.get(ask.seat) else ''}".strip()
                if ask.kind != "explore" or state.round > 2 or state.lost.get(ask.seat):
                    prompts.setdefault(name, f"{brief.system}\n\n{brief.shared}\n\n{brief.own}")
        state = RULES.evolve(state, entry)
    text = "\n\n".join(f"══ {name}\n{prompts[name]}" for name in sorted(prompts))
    assert set(prompts) >= {"explore", "explore again", "collide", "compare", "judge", "ballot"}
    check_snapshot(SNAPSHOTS / f"swarm_prompts_{language}.txt", text)
