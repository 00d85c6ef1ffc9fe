"""What reviewers write is read as they mean it: places, severities, quoted lines; and what cannot be read costs itself (G-1)."""

from typing import Any

import pytest
from tests.unit.test_review_rules import Board

from moothall.codec.answers import read_answer
from moothall.domain.effects import Brief
from moothall.domain.topic import ContextFile
from moothall.protocols.review.change import QuotedPlace, locate_evidence, parse_diff, read_change
from moothall.protocols.review.rules import RULES

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
