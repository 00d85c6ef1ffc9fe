"""G-7: a finding may carry a replacement for its lines; code checks that it applies to the change, or leaves it out."""

import json
from dataclasses import replace

import pytest
from tests.support.sarif import list_sarif_faults
from tests.unit.test_review_rules import DIFF, QUERY, Board

from moothall.features.review.change import QuotedPlace, locate_evidence, parse_diff
from moothall.features.review.fixes import MAX_FIXED_LINES, fit_fix
from moothall.features.review.plugin import REVIEW
from moothall.features.review.timeline import build_decision

CHANGE = parse_diff(
    """\
diff --git a/src/app.py b/src/app.py
--- a/src/app.py
+++ b/src/app.py
@@ -10,4 +10,7 @@ def load(name):
     path = root / name
-    with open(path) as file:
+    file = open(path)
+    if name:
+        rows = read(file)
     return rows
     # the end
"""
)


def fit(evidence: str, fix: str) -> str:
    place = locate_evidence(CHANGE, "src/app.py", 11, evidence)
    return fit_fix(CHANGE, place, evidence, fix)


@pytest.mark.parametrize(
    ("evidence", "fix", "fitted"),
    [
        # As it stands, and without the indentation that was left out of both.
        ("    file = open(path)", "    file = path.open()", "    file = path.open()"),
        ("file = open(path)", "file = path.open()", "    file = path.open()"),
        # One line becomes several, all of which lack it.
        ("file = open(path)", "file = 1\nrows = 2", "    file = 1\n    rows = 2"),
        # The second quoted line shows whether the first one alone lacks it.
        (
            "if name:\n        rows = read(file)",
            "if file:\n        rows = 1",
            "    if file:\n        rows = 1",
        ),
        (
            "if name:\n    rows = read(file)",
            "if file:\n    rows = 1",
            "    if file:\n        rows = 1",
        ),
        # Two lines become one.
        ("if name:\n        rows = read(file)", "rows = read(file)", "    rows = read(file)"),
        # A fence round it, with a language, and empty lines.
        ("file = open(path)", "```python\nfile = path.open()\n```\n", "    file = path.open()"),
        # A context line may be replaced, too.
        ("    return rows", "    return list(rows)", "    return list(rows)"),
    ],
)
def test_what_applies_is_fitted_to_its_lines(evidence: str, fix: str, fitted: str) -> None:
    """G-7: whole lines, with the indentation of the lines that they replace."""
    assert fit(evidence, fix) == fitted


@pytest.mark.parametrize(
    ("evidence", "fix"),
    [
        ("open(path)", "    file = path.open()"),  # a part of a line
        ("with open(path) as file:", "    file = path.open()"),  # a line that was removed
        ("os.system(cmd)", "run(cmd)"),  # nowhere
        ("file = open(path)", ""),
        ("file = open(path)", "   \n"),
        ("file = open(path)", "    file = open(path)"),  # what stands there already
        ("file = open(path)", "file = open(path) # \u202e safe"),  # letters in another order
        ("file = open(path)", "file = open(\u200bpath)"),
        ("file = open(path)", "\x1b[2Jfile = 1"),
        ("file = open(path)", "x\n" * (MAX_FIXED_LINES + 1)),
        # Whether the second line lacks its indentation, too, nobody can say.
        ("file = open(path)", "with open(path) as file:\n    rows = 1"),
    ],
)
def test_what_does_not_apply_is_left_out(evidence: str, fix: str) -> None:
    """G-7: nothing is applied by a guess, and nothing that a reader cannot see."""
    assert fit(evidence, fix) == ""


def test_a_place_that_the_change_does_not_show_whole_is_replaced_by_nothing() -> None:
    """G-7: lines between two hunks, and lines of another file."""
    gap = parse_diff(
        "diff --git a/a.py b/a.py\n--- a/a.py\n+++ b/a.py\n@@ -1,1 +1,1 @@\n+one\n@@ -9,1 +9,1 @@\n+nine\n"
    )
    evidence = "one\nnine"
    assert fit_fix(gap, QuotedPlace("a.py", 1, 9), evidence, "two") == ""
    assert fit_fix(gap, QuotedPlace("b.py", 1, 1), "one", "two") == ""
    twice = parse_diff(
        "diff --git a/a.py b/a.py\n--- a/a.py\n+++ b/a.py\n@@ -0,0 +1,1 @@\n+one\n"
        "diff --git a/a.py b/a.py\n--- a/a.py\n+++ b/a.py\n@@ -1,1 +1,1 @@\n+one\n"
    )
    assert fit_fix(twice, QuotedPlace("a.py", 1, 1), "one", "two") == ""


def test_a_suggestion_is_in_every_form_of_a_review() -> None:
    """G-7: JSON, report, Markdown and SARIF by its schema, with the region that it replaces."""
    safe = 'query = text("SELECT * FROM users WHERE name = :name")'
    raised = replace(QUERY, fix=safe)
    board = Board("a", "b", text=DIFF).raises(a=(raised,), b=(QUERY,))
    timeline = board.tell()
    [finding] = build_decision(timeline).findings or ()
    assert finding.fix == f"    {safe}"
    summary = REVIEW.export(timeline, "summary")
    assert "Suggested in its place" in summary
    assert f"+     {safe}" in summary
    assert safe in REVIEW.export(timeline, "html").replace("&quot;", '"')
    sarif = json.loads(REVIEW.export(timeline, "sarif"))
    assert list_sarif_faults(sarif) == []
    [fix] = sarif["runs"][0]["results"][0]["fixes"]
    [change] = fix["artifactChanges"]
    assert change["artifactLocation"]["uri"] == "src/app.py"
    assert change["replacements"] == [
        {
            "deletedRegion": {"startLine": 12, "startColumn": 1, "endLine": 13, "endColumn": 1},
            "insertedContent": {"text": f"    {safe}\n"},
        }
    ]
    without = json.loads(
        REVIEW.export(Board("a", "b", text=DIFF).raises(a=(QUERY,), b=(QUERY,)).tell(), "sarif")
    )
    assert "fixes" not in without["runs"][0]["results"][0]
