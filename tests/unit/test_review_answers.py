"""What reviewers write is read as they mean it: places, severities, quoted lines; and what cannot be read costs itself (G-1)."""

from typing import Any

import pytest
from tests.unit.test_review_rules import Board

from moothall.codec.adapters import as_json, get_adapter
from moothall.domain.effects import Brief
from moothall.domain.topic import ContextFile
from moothall.errors import AnswerRefused, BadAnswer
from moothall.features.review.change import QuotedPlace, locate_evidence, parse_diff, read_change
from moothall.features.review.facts import (
    MAX_FINDINGS,
    MAX_UNREAD_LENGTH,
    FindingsReport,
    RaisedFinding,
)
from moothall.features.review.prompts import read_severity
from moothall.features.review.rules import RULES
from moothall.reading.answers import read_answer

PATHS = (
    ".circleci/config.yml",
    ".devcontainer/devcontainer.json",
    ".editorconfig",
    ".env.example",
    ".github/CODEOWNERS",
    ".github/ISSUE_TEMPLATE/bug_report.md",
    ".github/dependabot.yml",
    ".github/workflows/ci.yml",
    ".gitlab-ci.yml",
    ".gitlab/ci/build-and-test.yml",
    ".pre-commit-config.yaml",
    ".vscode/settings.json",
    "Acme.Web.Api/Acme.Web.Api.csproj",
    "Acme.Web.Api/Controllers/HomeController.cs",
    "Dockerfile",
    "Makefile",
    "README.md",
    "a file with spaces.txt",
    "deploy/charts/api/templates/_helpers.tpl",
    "docs/v1.2/handlers/notes.md",
    "docs/v1. 2/release notes.md",
    "docs/说明：安装.md",
    "migrations/0001_initial.sql",
    "node_modules/@scope/pkg.name/index.d.ts",
    "package-lock.json",
    "src/app.py",
    "src/com.example.app/Main.java",
    "src/requests.egg-info/PKG-INFO",
    "src/what?.py",
    "src/x.egg-info/PKG-INFO",
    "tests/test_a.b.c.py",
    "web/src/components/App.test.tsx",
    "文档/说明.md",
)
"""Paths as they stand in repositories."""
CI = ".github/workflows/ci.yml"
RUN = "os.system(command_of_a_stranger)"


def build_diff(*paths: str) -> str:
    """A change that adds one line to each file."""
    parts = [
        f"diff --git a/{each} b/{each}\n--- a/{each}\n+++ b/{each}\n"
        f"@@ -1,1 +1,2 @@\n start = 1\n+{RUN}\n"
        for each in paths
    ]
    return "".join(parts)


def build_inspection(*paths: str) -> Brief:
    """What a reviewer is asked of such a change."""
    board = Board("a", "b", "c", "d", text=build_diff(*(paths or (CI,))))
    return RULES.brief(board.state, board.asks["a"])


def write_finding(**changes: Any) -> dict[str, Any]:
    return {
        "file": CI,
        "line": 2,
        "severity": "critical",
        "concern": "security",
        "claim": "Words of a stranger are run.",
        "evidence": RUN,
        **changes,
    }


FINDING = RaisedFinding(**write_finding())


@pytest.mark.parametrize("path", PATHS)
def test_a_finding_may_stand_in_any_file_of_a_tree(path: str) -> None:
    """G-1, M-13: the name of a file is no echo of the prompt that names it."""
    brief = build_inspection(path, "src/other.py")
    for is_strict in (False, True):
        said: Any = read_answer(
            brief, {"findings": [write_finding(file=path)]}, is_strict=is_strict
        ).said
        [finding] = said.findings
        assert (finding.file, finding.severity) == (path, "critical")


FORMS = (
    "```python\n{line}\n```",
    "```diff\n+{line}\n```",
    "```diff\n  start = 1\n+ {line}\n```",
    "~~~\n{line}\n~~~",
    "~~~c++\n{line}",
    "```\n{line}\n```",
    "```{{.python .numberLines}}\n{line}\n```",
    "   ```yaml\n   {line}\n   ```",
    "````markdown\n{line}\n````",
    "```python {line}```",
    "`{line}`",
    "| +{line}",
    "|      2 + {line}",
    "```\n|      2 + {line}\n```",
    "     1   start = 1\n     2 + {line}",
)


@pytest.mark.parametrize("form", FORMS)
def test_quoted_lines_are_found_in_whatever_form_code_is_written(form: str) -> None:
    """G-1: a fence with the name of its language, numbers and marks are no part of the quoted line."""
    change = parse_diff(build_diff("src/app.py"))
    place = locate_evidence(change, "src/app.py", 2, form.format(line=RUN))
    assert place is not None
    assert place.last == 2
    invented = form.format(line="os.remove(everything_there_is)")
    assert locate_evidence(change, "src/app.py", 2, invented) is None


def test_a_fence_that_stands_in_the_change_is_part_of_the_quoted_lines() -> None:
    """G-1: what is there letter for letter is found first."""
    text = "# How to start\n```sh\nmoot demo debate\n```\nmoot demo debate\n"
    change = read_change((ContextFile(name="notes.md", text=text),))
    place = locate_evidence(change, "notes.md", 1, "```sh\nmoot demo debate\n```")
    assert place == QuotedPlace("notes.md", 2, 4)


SEVERITIES = {
    "critical": "critical Critical! CRITICAL blocker Blocker P0 p0 SEV1 Sev-0 Kritisch kritische fatal 致命 紧急",
    "major": "major High HIGH P1 sev2 error severe hoch Hoch hohes schwerwiegend 严重 高 高危 重要 Severity:High",
    "minor": "minor P2 SEV-3 medium Medium warning low Low. mittel mäßig niedrig 中 中等 低 低级 轻微",
    "note": "note P3 P4 info INFO nit suggestion Hinweis 提示 建议",
}


@pytest.mark.parametrize(
    ("word", "meant"),
    [(word, each) for each, words in SEVERITIES.items() for word in words.split()],
)
def test_a_severity_is_read_as_people_write_it(word: str, meant: str) -> None:
    """G-1: in whatever case, in three languages, with marks; what was written stands in the record."""
    for is_strict in (False, True):
        read = read_answer(
            build_inspection(), {"findings": [write_finding(severity=word)]}, is_strict=is_strict
        )
        said: Any = read.said
        assert [each.severity for each in said.findings] == [meant]
        assert word == meant or any(repr(word) in each for each in read.mends)


@pytest.mark.parametrize(
    ("text", "meant"),
    [
        ("**High**", "major"),
        ("high (security)", "major"),
        ("very high", "major"),
        ("severity: critical", "critical"),
        ("low to medium", "minor"),
        ("medium/high", "major"),
        ("严重程度：高", "major"),
        ("严重程度：低", "minor"),
        ("高风险", "major"),
        ("🔴 Critical", "critical"),
        ("P0 (blocks the release)", "critical"),
        ("severity 2", "major"),
        ("P99", None),
        ("not P0", None),
        ("http2", None),
        ("not critical", None),
        ("non-critical", None),
        ("nicht kritisch", None),
        ("不严重", None),
        ("中间件", None),
        ("spicy", None),
        ("9.8", None),
        ("", None),
        ("high " * 5_000, None),
    ],
)
def test_a_severity_in_several_words_is_read_or_not_at_all(text: str, meant: str | None) -> None:
    """G-1: of two the worse; a denial is not read as its opposite."""
    assert read_severity(text) == meant


UNREADABLE: tuple[tuple[Any, str | None], ...] = (
    (write_finding(severity="spicy"), None),
    (write_finding(severity=["?"]), None),
    (write_finding(severity="high", claim=""), "major"),
    (write_finding(severity="low", evidence=[]), "minor"),
    (write_finding(file="no/such/file.c"), "critical"),
    ("The build is broken.", None),
    (7, None),
    ([[["deep"]]], None),
)


@pytest.mark.parametrize(("item", "severity"), UNREADABLE)
def test_a_finding_that_cannot_be_read_costs_itself(item: Any, severity: str | None) -> None:
    """G-1: the others count, and what was lost is in the answer that is stored."""
    brief = build_inspection(CI, "src/app.py")
    given = {"findings": [write_finding(), item, write_finding(severity="minor")]}
    said: Any = read_answer(brief, given).said
    assert [each.severity for each in said.findings] == ["critical", "minor"]
    [unread] = said.unread
    assert unread.severity == severity
    assert unread.given
    assert unread.why
    assert said == get_adapter(FindingsReport).validate_python(as_json(said))
    # Who sends it from outside learns what is wrong; where nothing can be read, the seat is asked again.
    with pytest.raises(BadAnswer, match="findings"):
        read_answer(brief, {"findings": [item]})
    if severity != "critical":
        with pytest.raises(BadAnswer, match="findings"):
            read_answer(brief, given, is_strict=True)


def test_very_many_findings_are_cut_and_the_loss_is_said() -> None:
    """G-1: what is left out for its number may be the worst of all."""
    many = [write_finding(severity="note") for _ in range(MAX_FINDINGS)]
    many += [write_finding(claim="x" * 50_000) for _ in range(300)]
    said: Any = read_answer(build_inspection(), {"findings": many}).said
    assert (len(said.findings), len(said.unread)) == (MAX_FINDINGS, MAX_FINDINGS)
    assert said.unread[0].severity == "critical"
    assert len(as_json(said)["unread"][0]["given"]) <= MAX_UNREAD_LENGTH  # type: ignore[index]


SORRY = "I'm sorry, but I can't help with that."


def test_a_quoted_line_is_no_refusal() -> None:
    """G-1, M-14: the change holds the words of a chatbot, and a reviewer quotes them."""
    read = read_answer(build_inspection(), {"findings": [write_finding(evidence=SORRY)]})
    said: Any = read.said
    assert said.findings[0].evidence == SORRY
    # Also where another item could not be read.
    given = {"findings": [write_finding(evidence=SORRY), write_finding(severity="spicy")]}
    said = read_answer(build_inspection(), given).said
    assert (len(said.findings), len(said.unread)) == (1, 1)
    for refusing in (SORRY, {"findings": [write_finding(claim=SORRY)]}, {"findings": SORRY}):
        with pytest.raises(AnswerRefused):
            read_answer(build_inspection(), refusing)


@pytest.mark.parametrize("stand", ["unsure", "dispute"])
def test_a_reason_that_cannot_answer_is_a_reason(stand: str) -> None:
    """G-1, M-14: who cannot tell has said so by the stand."""
    board = Board("a", "b", "c", text=build_diff(CI)).raises(a=(FINDING,), b=(), c=())
    brief = RULES.brief(board.state, board.asks["b"])
    item = {"finding": 1, "stand": stand, "reason": "I cannot answer that from the diff."}
    said: Any = read_answer(brief, {"stands": [item]}).said
    assert [(each.finding, each.stand) for each in said.stands] == [(1, stand)]
    said = read_answer(brief, {"stands": [item, {"finding": 1, "stand": "perhaps so"}]}).said
    assert (len(said.stands), len(said.unread)) == (1, 1)
