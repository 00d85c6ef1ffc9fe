"""A review by its rules: what is raised blind, merged by code, checked, voted on, and what the verdict follows from (G-1)."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from moothall.domain.effects import Ask, Record
from moothall.domain.facts import CloseCalled, Closed, Entry, Fact, Language, SeatLost
from moothall.domain.ids import SeatId, SessionId
from moothall.domain.roster import Seat
from moothall.domain.topic import ContextFile, Topic
from moothall.errors import BadAnswer
from moothall.features.review.change import locate_evidence, parse_diff, read_change, split_parts
from moothall.features.review.facts import (
    FindingsMerged,
    FindingsReport,
    FindingStand,
    RaisedFinding,
    ReviewClosed,
    ReviewOpened,
    ReviewSettings,
    StandsReport,
)
from moothall.features.review.plugin import REVIEW, expect_calls
from moothall.features.review.prompts import read_typed_findings
from moothall.features.review.rules import RULES
from moothall.features.review.state import Review
from moothall.features.review.timeline import ReviewTimeline, build_decision
from moothall.features.review.words import REVIEW_REPORT
from moothall.locale.catalogues import MEMO, SHARED_REPORT
from moothall.reading.answers import read_answer
from moothall.reports.decision import Decision
from moothall.reports.sections import describe_door
from moothall_testkit.rulebook_contract import RulebookContract, build_fact_source, check_session

START = datetime(2026, 1, 1, tzinfo=UTC)
DIFF = """\
diff --git a/src/app.py b/src/app.py
--- a/src/app.py
+++ b/src/app.py
@@ -10,4 +10,6 @@ def load(name):
     path = root / name
-    with open(path) as file:
+    file = open(path)
+    query = "SELECT * FROM users WHERE name = '" + name + "'"
+    for i in range(len(rows) - 1):
     return rows
     # the end
diff --git "a/src/\\303\\244.py" "b/src/\\303\\244.py"
--- /dev/null
+++ "b/src/\\303\\244.py"
@@ -0,0 +1,2 @@
+--- not a head
+value = secret_key
"""
QUERY = RaisedFinding(
    file="src/app.py",
    line=12,
    severity="critical",
    concern="security",
    claim="A name with a quote changes the query.",
    evidence='query = "SELECT * FROM users WHERE name = \'" + name + "\'"',
)
ROWS = RaisedFinding(
    file="src/app.py",
    line=13,
    severity="major",
    concern="logic",
    claim="The last row is left out.",
    evidence="for i in range(len(rows) - 1):",
)
INVENTED = replace(
    ROWS, severity="critical", claim="It deletes the disk.", evidence="os.system('rm -rf /')"
)


def build_opening(
    *seats: str, text: str = DIFF, language: Language = "en", **changes: object
) -> ReviewOpened:
    return ReviewOpened(
        topic="Is it ready?",
        language=language,
        seed=1,
        seats=tuple(Seat(id=SeatId(name), platform="script:x") for name in seats),
        subject=Topic(
            context=(ContextFile(name="change.diff", text=text, sha256="0", size=len(text)),)
        ),
        settings=replace(ReviewSettings(), **changes),  # type: ignore[arg-type]  # a setting
    )


class Board:
    """A review that is played by hand: each seat answers what it is asked in this turn."""

    def __init__(self, *seats: str, **given: object) -> None:
        self.opened = build_opening(*seats, **given)  # type: ignore[arg-type]  # a text and settings
        self.facts: list[Fact] = [self.opened]
        self._settle()

    @property
    def entries(self) -> list[Entry]:
        return [
            Entry(seq=at, at=START + timedelta(seconds=at), fact=fact)
            for at, fact in enumerate(self.facts, 1)
        ]

    @property
    def state(self) -> Review:
        state = RULES.initial(self.opened)
        for entry in self.entries[1:]:
            state = RULES.evolve(state, entry)
        return state

    @property
    def asks(self) -> dict[str, Ask]:
        return {
            effect.seat: effect for effect in RULES.decide(self.state) if isinstance(effect, Ask)
        }

    @property
    def closed(self) -> Closed | None:
        return self.facts[-1] if isinstance(self.facts[-1], Closed) else None

    @property
    def decision(self) -> Decision:
        return build_decision(self.tell())

    def tell(self) -> ReviewTimeline:
        timeline = REVIEW.timeline(SessionId("s"))
        for entry in self.entries:
            timeline.add(entry)
        return timeline

    def raises(self, **raised: tuple[RaisedFinding, ...]) -> "Board":
        for seat, findings in raised.items():
            self.put(self.reply(seat, FindingsReport(findings=findings)))
        return self

    def stands(self, **said: tuple[tuple[int, str, str], ...]) -> "Board":
        for seat, stands in said.items():
            items = tuple(
                FindingStand(finding=n, stand=word, reason=why)  # type: ignore[arg-type]
                for n, word, why in stands
            )
            self.put(self.reply(seat, StandsReport(stands=items)))
        return self

    def loses(self, *seats: str) -> "Board":
        for seat in seats:
            self.put(SeatLost(ask=self.asks[seat].id, seat=SeatId(seat), reason="error"))
        return self

    def put(self, fact: Fact) -> "Board":
        self.facts.append(fact)
        self._settle()
        return self

    def reply(self, seat: str, said: object) -> Fact:
        ask = self.asks[seat]
        return RULES.forms[ask.kind].reply(ask=ask.id, seat=ask.seat, said=said)

    def _settle(self) -> None:
        while records := [
            effect.fact for effect in RULES.decide(self.state) if isinstance(effect, Record)
        ]:
            self.facts += records


def test_a_diff_is_read_line_by_line_with_the_numbers_of_the_new_file() -> None:
    app, other = parse_diff(DIFF)
    assert [(line.number, line.mark, line.text.strip()) for line in app.lines][:4] == [
        (10, " ", "path = root / name"),
        (11, "-", "with open(path) as file:"),
        (11, "+", "file = open(path)"),
        (12, "+", QUERY.evidence),
    ]
    assert (other.name, [line.text for line in other.lines]) == (
        "src/ä.py",
        ["--- not a head", "value = secret_key"],
    )


def test_all_that_a_diff_changes_is_read_also_what_has_no_lines() -> None:
    """G-1: binary, renamed and merged files stand in a change as git says it of them; counts that are wrong lose no line."""
    bare = {
        "logo.png": "diff --git a/logo.png b/logo.png\nindex 1..2 100644\nBinary files a/logo.png and b/logo.png differ\n",
        "new name.py": "diff --git a/old.py b/new name.py\nrename from old.py\nrename to new name.py\n",
        "f.py": "diff --cc f.py\nindex 1,2..3\n--- a/f.py\n+++ b/f.py\n@@@ -1,1 -1,1 +1,2 @@@\n  a\n++b\n",
        "d.bin": "diff --git a/d.bin b/d.bin\nGIT binary patch\nliteral 10\nRcmZQzU|?cB0000000000\n",
    }
    change = {
        each.name: [line.text for line in each.lines]
        for each in parse_diff("".join((*bare.values(), DIFF)))
    }
    assert [*change] == [*bare, "src/app.py", "src/ä.py"]
    assert change["f.py"] == ["index 1,2..3", "@@@ -1,1 -1,1 +1,2 @@@", "  a", "++b"]
    assert change["d.bin"] == ["GIT binary patch"]
    whole = [each.lines for each in parse_diff(DIFF)]
    for counts in ("-10,2 +10,2", "-10,40 +10,40"):
        assert [each.lines for each in parse_diff(DIFF.replace("-10,4 +10,6", counts))] == whole
    assert [each.lines for each in parse_diff(f"{DIFF}-- \n2.40.0\n")] == whole
    # A file that quotes a diff is no diff.
    [notes] = read_change(
        (ContextFile(name="notes.md", text=f"Look:\n{DIFF}Do not merge.", sha256="0", size=1),)
    )
    assert (notes.name, notes.lines[-1].text) == ("notes.md", "Do not merge.")


def test_evidence_is_checked_by_code_and_gives_the_place() -> None:
    """G-1: quoted lines count where they stand in the change, whatever line the reviewer named; else they do not count."""
    change = parse_diff(DIFF)
    for said, line in (
        (QUERY.evidence, 99),
        (f"+    {QUERY.evidence}", 12),
        (f"    12 + {QUERY.evidence}", 1),
    ):
        place = locate_evidence(change, "src/app.py", line, said)
        assert place is not None
        assert (place.file, place.first, place.last) == ("src/app.py", 12, 12)
    moved = locate_evidence(change, "src/app.py", 1, "value = secret_key")
    assert moved is not None
    assert (moved.file, moved.first) == ("src/ä.py", 2)
    both = locate_evidence(change, "src/app.py", 11, "file = open(path)\n" + QUERY.evidence)
    assert both is not None
    assert (both.first, both.last) == (11, 12)
    for invented in (INVENTED.evidence, "rows", "}", "select * from orders"):
        assert locate_evidence(change, "src/app.py", 12, invented) is None


def test_a_large_change_is_read_in_parts_that_lose_no_line() -> None:
    """G-1: each part within its size, every line in one of them."""
    text = "\n".join(f"value_{number} = {number}" for number in range(2_000))
    context = (ContextFile(name="big.py", text=text), ContextFile(name="small.py", text="x = 1"))
    parts = split_parts(context, 5_000)
    assert len(parts) > 5
    assert all(sum(file.size for file in part) <= 5_000 for part in parts)
    lines = [(file.name, line) for part in parts for file in part for line in file.lines]
    assert lines == [(file.name, line) for file in read_change(context) for line in file.lines]
    opened = build_opening("a", "b", text=text, part_size=5_000)
    count = len(split_parts(opened.subject.context, 5_000))
    assert [(each.least, each.most) for each in expect_calls(opened)] == [(1, 1)] * count + [
        (0, 1)
    ] * 2
    assert sum(each.tokens_in or 0 for each in expect_calls(opened)[:count]) < len(text)


def test_the_author_answers_once_and_has_no_vote() -> None:
    """G-1: the author reviews nothing; what it disputes is put before the reviewers, with its reason, and they decide."""
    board = Board("a", "b", "author").raises(a=(QUERY,), b=(QUERY, ROWS))
    assert {seat: ask.kind for seat, ask in board.asks.items()} == {"a": "check", "author": "check"}
    brief = RULES.brief(board.state, board.asks["author"])
    assert "You wrote this change" in brief.own
    assert QUERY.claim in brief.own
    board.stands(
        a=((2, "confirm", "Yes."),),
        author=((1, "dispute", "The name is validated above."), (2, "confirm", "")),
    )
    assert {seat: ask.kind for seat, ask in board.asks.items()} == {"a": "settle", "b": "settle"}
    assert "The name is validated above." in RULES.brief(board.state, board.asks["a"]).own
    board.stands(a=((1, "dispute", "It is."),), b=((1, "dispute", "So it is."),))
    first, second = board.decision.findings or ()
    assert (first.state, first.disputed_by) == ("dropped", ("a", "b", "author"))
    assert (second.state, second.held_by) == ("upheld", ("b", "a"))
    assert board.decision.choice == "request changes"
    silent = Board("a", "author").raises(a=(QUERY,)).loses("author")
    assert silent.decision.choice == "request changes"


def test_findings_are_raised_blind_and_merged_by_place_and_meaning() -> None:
    """G-1: nobody reads another's findings before all have read the change; one fault that two raise is one finding."""
    board = Board("a", "b", "c").raises(a=(QUERY,))
    brief = RULES.brief(board.state, board.asks["b"])
    assert QUERY.claim not in brief.shared + brief.own
    assert QUERY.claim not in "".join(line.content for line in board.tell().lines)
    worded = replace(
        QUERY,
        severity="major",
        line=10,
        claim="The name changes the SQL query: injection.",
        evidence=f"+{QUERY.evidence}",
    )
    other = replace(
        QUERY, concern="clarity", severity="note", claim="The variable deserves a better label."
    )
    board.raises(b=(worded, other), c=())
    merged = next(fact for fact in board.facts if isinstance(fact, FindingsMerged))
    assert [
        (each.concern, each.severity, each.first, each.held_by) for each in merged.findings
    ] == [
        ("security", "critical", 12, ("a", "b")),
        ("clarity", "note", 12, ("b",)),
    ]


def test_what_most_raised_is_not_asked_again_and_what_is_disputed_is_voted_on() -> None:
    """G-1: only findings of few are checked, by those who did not raise them; only disputed ones are argued about."""
    board = Board("a", "b", "c").raises(a=(QUERY, ROWS), b=(QUERY,), c=())
    assert {seat: ask.kind for seat, ask in board.asks.items()} == {"b": "check", "c": "check"}
    assert [each.claim for each in board.state.list_questions(SeatId("c"))] == [ROWS.claim]
    board.stands(b=((2, "unsure", ""),), c=((2, "dispute", "The last row is a footer."),))
    assert {ask.kind for ask in board.asks.values()} == {"settle"}
    assert "The last row is a footer." in RULES.brief(board.state, board.asks["a"]).own
    board.stands(
        a=((2, "dispute", "So it is."),),
        b=((2, "dispute", ""),),
        c=((2, "dispute", "Footer."), (1, "dispute", "x")),
    )
    assert board.closed == ReviewClosed(reason="reviewed", verdict="request changes")
    query, rows = board.decision.findings or ()
    assert (query.state, query.held_by, query.disputed_by) == ("upheld", ("a", "b"), ())
    assert (rows.state, rows.held_by, rows.dissent) == ("dropped", (), ("So it is.", "Footer."))
    assert (board.decision.choice, board.decision.evidence) == ("request changes", None)
    lines = [line for line in REVIEW.export(board.tell(), "minutes").splitlines() if "- F2" in line]
    assert lines[:2] == ["> - F2 · unsure", "> - F2 · disputes · The last row is a footer."]


def test_what_a_seat_found_is_read_or_the_loss_is_on_the_record() -> None:
    """G-1, M-14: a finding that cannot be read is no approval; a stand without a reason counts, one on nothing is left out,
    and two on one finding are none: the last of them counted."""
    board = Board("a", "b")
    good = {
        "file": "src/app.py",
        "line": 13,
        "severity": "minor",
        "concern": "logic",
        "claim": "Odd.",
        "evidence": ROWS.evidence,
    }
    part: Any = read_answer(
        RULES.brief(board.state, board.asks["a"]),
        {"findings": [good, {**good, "severity": "High"}, {**good, "severity": "spicy"}]},
    ).said
    assert [each.severity for each in part.findings] == ["minor", "major"]
    assert "severity: expected one of" in part.unread[0].why
    read = read_answer(
        RULES.brief(board.state, board.asks["a"]),
        {"findings": [{**good, "concern": "speed", "line": "12-14"}]},
    )
    assert read.said == FindingsReport(
        findings=(replace(ROWS, severity="minor", line=0, concern="other", claim="Odd."),)
    )
    [typed] = read_typed_findings(board.state, "src/app.py:13 minor Odd.")
    assert "concern" not in typed
    for line in (
        "src/app.py:13 High: Odd.",
        "src/app.py:13 mittel, Odd.",
        "src/app.py:13 高：Odd.",
    ):
        [typed] = read_typed_findings(board.state, line)
        assert typed["severity"] in {"major", "minor"}
        assert typed["claim"] == "Odd."
    # Without a mark behind it such a word may begin the claim.
    with pytest.raises(BadAnswer, match="FILE:LINE"):
        read_typed_findings(board.state, "src/app.py:13 error handling is missing")
    for wrong in ("app.py:13 minor Odd.", "src/app.py:99 minor Odd."):
        with pytest.raises(BadAnswer, match="is no line with words of this part of the change"):
            read_typed_findings(board.state, wrong)
    board.raises(a=(QUERY,), b=())
    said = {"stands": [{"finding": 1, "stand": "dispute"}, {"finding": 9, "stand": "confirm"}]}
    read = read_answer(RULES.brief(board.state, board.asks["b"]), said)
    assert read.said == StandsReport(stands=(FindingStand(finding=1, stand="dispute"),))
    both = {"stands": [{"finding": 1, "stand": "dispute"}, {"finding": 1, "stand": "confirm"}]}
    read = read_answer(RULES.brief(board.state, board.asks["b"]), both)
    assert read.said == StandsReport(stands=(FindingStand(finding=1, stand="unsure"),) * 2)
    assert read.mends == (
        "read stands.0.stand 'dispute' → 'unsure'",
        "read stands.1.stand 'confirm' → 'unsure'",
    )


def test_each_who_disputes_has_its_own_reason_and_a_tie_is_not_called_certain() -> None:
    """G-1, D-12"""
    board = Board("a", "b", "c", "d", "e").raises(
        a=(QUERY,), b=(QUERY,), c=(QUERY,), d=(ROWS,), e=(ROWS,)
    )
    board.stands(
        a=((2, "confirm", ""),), b=((2, "dispute", "Mine."),), c=((2, "dispute", "Other."),)
    )
    board.stands(
        **dict.fromkeys("ade", ((2, "confirm", ""),)),
        b=((2, "dispute", "Mine."),),
        c=((2, "dispute", "Other."),),
    )
    assert [(each.seat, each.text) for each in board.decision.dissent] == [
        ("b", "Mine."),
        ("c", "Other."),
    ]
    unread = Board("a", "b").raises(a=()).loses("b")
    assert unread.decision.outcome_uncertain


def test_the_verdict_follows_from_what_is_upheld() -> None:
    """G-1: a severe finding asks for changes, a small one does not; what is tied or not read by most is no approval."""
    assert Board("a").raises(a=()).decision.choice == "approve"
    assert Board("a").raises(a=(replace(QUERY, severity="minor"),)).decision.choice == "approve"
    assert (
        Board("a", block="minor").raises(a=(replace(QUERY, severity="minor"),)).decision.choice
        == "request changes"
    )
    tied = Board("a", "b").raises(a=(QUERY,), b=()).stands(b=((1, "dispute", "It is escaped."),))
    tied.stands(a=((1, "confirm", ""),), b=((1, "dispute", "It is escaped."),))
    assert tied.closed == ReviewClosed(reason="disputed")
    unread = Board("a", "b").raises(a=()).loses("b")
    assert unread.closed == ReviewClosed(reason="incomplete")
    assert unread.decision.decision is None
    stopped = Board("a", "b").raises(a=(QUERY,)).put(CloseCalled())
    assert stopped.closed == ReviewClosed(reason="called")
    assert [each.claim for each in stopped.decision.findings or ()] == [QUERY.claim]


def test_an_invented_quotation_blocks_nothing_and_is_shown_as_such() -> None:
    """G-1: a lying seat cannot stop a change with lines that are not there, nor a careless one with a place that is not."""
    board = Board("a", "b").raises(a=(INVENTED,), b=())
    assert board.closed == ReviewClosed(reason="reviewed", verdict="approve")
    assert [(each.state, each.held_by) for each in board.decision.findings or ()] == [
        ("unquoted", ("a",))
    ]
    assert "its evidence is not in the change" in REVIEW.export(board.tell(), "minutes")
    assert '"results": []' in REVIEW.export(board.tell(), "sarif")


LONG = "--- a/long.py\n+++ b/long.py\n@@ -0,0 +1,90 @@\n" + "".join(
    f"+line number {number} of a long file\n" for number in range(90)
)
RAISED = st.sampled_from(
    (
        QUERY,
        ROWS,
        INVENTED,
        replace(ROWS, severity="note"),
        replace(QUERY, file="nowhere", line=0, evidence="}"),
    )
)
SAID = {
    "inspect": st.builds(FindingsReport, findings=st.lists(RAISED, max_size=4).map(tuple)),
    "check": st.builds(
        StandsReport,
        stands=st.lists(
            st.builds(
                FindingStand,
                finding=st.integers(0, 6),
                stand=st.sampled_from(("confirm", "dispute", "unsure")),
                reason=st.sampled_from(("", "# Now\n| x", "不对")),
            ),
            max_size=5,
        ).map(tuple),
    ),
}
OPENINGS = st.builds(
    lambda seats, size, language: replace(
        build_opening(*seats, text=DIFF + LONG, part_size=size), language=language
    ),
    st.sampled_from(("a", "ab", "abc", "abcd", ("a", "author"), ("a", "b", "c", "author"))),
    st.sampled_from((2_000, 24_000)),
    st.sampled_from(("en", "zh")),
)
CONTRACT = RulebookContract(
    rules=RULES,
    openings=OPENINGS,
    happens=build_fact_source(RULES, {**SAID, "settle": SAID["check"]}),
)


@settings(
    max_examples=40,
    derandomize=True,
    deadline=None,
    database=None,
    phases=[Phase.generate],
    suppress_health_check=list(HealthCheck),
)
@given(st.data())
def test_every_review_keeps_the_contract(data: st.DataObject) -> None:
    played = check_session(CONTRACT, data)
    timeline = REVIEW.timeline(SessionId("s"))
    for entry in played.entries:
        REVIEW.describe(timeline, entry)
        if timeline.shared_state.is_sealed and timeline.state.findings is None:
            shown = REVIEW.export(timeline, "minutes").partition("\n## Seats")[0]
            assert not any(each.claim in shown for each in (QUERY, ROWS, INVENTED))
    REVIEW.export(timeline, "html")


def test_a_person_types_a_severity_in_any_language_and_is_told_which_line_was_not_understood() -> (
    None
):
    """G-1: an objection in Chinese words counts as one."""
    board = Board("a", "b")
    typed = read_typed_findings(
        board.state,
        "src/app.py:12 严重 名字里的引号会改变查询。\nsrc/app.py：11：提示：未关闭\n- src/app.py:12, Major: it",
    )
    assert [(each["line"], each["severity"]) for each in typed] == [
        (12, "major"),
        (11, "note"),
        (12, "major"),
    ]
    with pytest.raises(
        BadAnswer, match=r"'src/app.py:12 majority of it': Which faults do you see\?"
    ):
        read_typed_findings(board.state, "none\nsrc/app.py:12 majority of it")


def test_a_chinese_reader_sees_the_severity_and_a_nameless_door_in_its_own_words() -> None:
    """W-10: in the timeline, too."""
    board = Board("a", "b", language="zh").raises(a=(ROWS,), b=())
    assert any("· 严重 ·" in line.content for line in board.tell().lines)
    assert (
        describe_door("local", SHARED_REPORT["zh"]),
        describe_door("local:ada", SHARED_REPORT["zh"]),
    ) == (
        "在本机输入",
        "在本机输入，ada",
    )


def test_an_approval_is_uncertain_where_what_is_missing_could_have_changed_it() -> None:
    """G-1: a reviewer who read nothing, a severe finding without a place, a missing word on one that was dropped."""
    sure = Board("a", "b", "c").raises(a=(), b=(), c=(replace(ROWS, severity="minor"),))
    sure.stands(a=((1, "dispute", "No."),)).loses("b").loses("a", "b", "c")
    assert (sure.decision.choice, sure.decision.outcome_uncertain) == ("approve", False)
    small = replace(INVENTED, severity="minor")
    assert not Board("a", "b").raises(a=(small,), b=()).decision.outcome_uncertain
    unheard = Board("a", "b", "c").raises(a=(), b=()).loses("c")
    assert (unheard.decision.choice, unheard.decision.outcome_uncertain) == ("approve", True)
    unplaced = Board("a", "b", "c").raises(a=(INVENTED,), b=(), c=())
    assert (unplaced.decision.choice, unplaced.decision.outcome_uncertain) == ("approve", True)
    assert (unplaced.decision.backers, unplaced.decision.strength) == (2, "weak")
    assert [each.choice_before for each in unplaced.decision.positions] == [
        "",
        "approve",
        "approve",
    ]
    for fourth, is_uncertain in (("loses", True), ("disputes", False)):
        board = Board("a", "b", "c", "d").raises(a=(QUERY,), b=(), c=(), d=())
        no = ((1, "dispute", "It is escaped."),)
        board.stands(b=no, c=no)
        board = board.loses("d") if fourth == "loses" else board.stands(d=no)
        board.stands(a=((1, "confirm", ""),), b=no, c=no)
        board = board.loses("d") if fourth == "loses" else board.stands(d=no)
        assert board.decision.choice == "approve"
        assert board.decision.outcome_uncertain is is_uncertain
    # The same words that were lost could have turned what asks for changes.
    asked = Board("a", "b", "c").raises(a=(QUERY,), b=(), c=()).loses("b", "c")
    assert (asked.decision.choice, asked.decision.outcome_uncertain) == ("request changes", True)
    most = Board("a", "b", "c").raises(a=(QUERY,), b=(QUERY,)).loses("c")
    assert (most.decision.choice, most.decision.outcome_uncertain) == ("request changes", False)


def test_the_report_of_no_language_hides_what_was_not_counted() -> None:
    """G-1: also in Chinese."""
    for language in ("en", "zh"):
        board = Board("a", "b", "c", language=language).raises(a=(INVENTED,), b=(), c=())
        words = REVIEW_REPORT[language]
        for form in ("minutes", "summary"):
            text = REVIEW.export(board.tell(), form)
            assert words.unquoted in text
            assert INVENTED.claim in text
            assert MEMO[language].cautions["findings_missing"] in text


def test_two_faults_that_one_seat_raised_on_a_line_stay_two() -> None:
    """G-1: each seat holds what it said, whatever the order; what it said twice word for word counts once."""
    injection = replace(QUERY, claim="A name with a quote changes the query of the database.")
    password = replace(QUERY, claim="The password of the database is committed in the code.")
    again = replace(password, claim="The committed password of the database is in the code.")
    board = Board("a", "b", "c", "d").raises(
        a=(injection, password, injection), b=(again, injection), c=(password,), d=()
    )
    claims = {each.claim.split()[1]: each.held_by for each in board.decision.findings or ()}
    assert sorted(claims.values()) == [("a", "b"), ("a", "b", "c")]
    assert claims["name"] == ("a", "b")
