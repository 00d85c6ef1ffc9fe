"""What reviewers write is read as they mean it: places, severities, quoted lines; and what cannot be read costs itself (G-1)."""

from typing import Any

import pytest
from tests.unit.test_review_rules import Board

from moothall.codec.answers import read_answer
from moothall.domain.effects import Brief
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
RUN = "os.system(command_of_a_stranger)"


def build_inspection(path: str = ".github/workflows/ci.yml", *more: str) -> Brief:
    """What a reviewer is asked of a change that adds one line to each file."""
    parts = [
        f"diff --git a/{each} b/{each}\n--- a/{each}\n+++ b/{each}\n@@ -1,1 +1,2 @@\n start = 1\n+{RUN}\n"
        for each in (path, *more)
    ]
    board = Board("a", "b", "c", "d", text="".join(parts))
    return RULES.brief(board.state, board.asks["a"])


def write_finding(**changes: Any) -> dict[str, Any]:
    return {
        "file": ".github/workflows/ci.yml",
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
