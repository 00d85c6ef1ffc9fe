"""SARIF of a review (G-1): it fits the standard whatever names, lines and words the change and its reviewers have."""

import json
from dataclasses import replace

import pytest
from tests.support.sarif import list_sarif_faults
from tests.unit.test_review_rules import QUERY, Board

from moothall.domain.facts import CloseCalled
from moothall.errors import BadSetting
from moothall.features.review.plugin import REVIEW

NAMES = [
    ("src/my file.py", "src/my%20file.py"),
    ("src/ä/查询.py", "src/%C3%A4/%E6%9F%A5%E8%AF%A2.py"),
    ("../up/x.py", "up/x.py"),
    ("lib/../../x.py", "x.py"),
    ("/etc/app.conf", "etc/app.conf"),
    ("//host/x.py", "host/x.py"),
    ("./x.py", "x.py"),
    ("http://host/x?y#z%41.py", "http%3A/host/x%3Fy%23z%2541.py"),
    ("..", "%3F"),
]


@pytest.mark.parametrize(("name", "uri"), NAMES)
def test_a_file_is_named_by_a_relative_uri_below_the_root(name: str, uri: str) -> None:
    """G-1: names with spaces, other letters, `..`, a root or a scheme, in a diff as a tool other than git writes it."""
    diff = f"--- {name}\n+++ {name}\n@@ -0,0 +1,1 @@\n+{QUERY.evidence}\n"
    raised = replace(QUERY, file="", line=0, claim=" \n")
    board = Board("a", "b", text=diff).raises(a=(raised,), b=(raised,))
    sarif = json.loads(REVIEW.export(board.tell(), "sarif"))
    assert list_sarif_faults(sarif) == []
    [result] = sarif["runs"][0]["results"]
    place = result["locations"][0]["physicalLocation"]
    assert (place["artifactLocation"]["uri"], place["region"]["startLine"]) == (uri, 1)
    assert result["properties"]["file"] == name
    assert result["message"]["text"] == "security"


def test_lines_are_in_order_where_a_file_is_changed_twice() -> None:
    """G-1: of two patches to one file the second one stands further up; a quotation across both has one place."""
    patch = "--- a/x.py\n+++ b/x.py\n@@ -{0},0 +{0},1 @@\n+{1}\n"
    diff = patch.format(90, "first_value = compute_all(rows)") + patch.format(
        3, "second_value = compute_none(rows)"
    )
    raised = replace(
        QUERY,
        file="x.py",
        evidence="first_value = compute_all(rows)\nsecond_value = compute_none(rows)",
    )
    board = Board("a", text=diff).raises(a=(raised,))
    sarif = json.loads(REVIEW.export(board.tell(), "sarif"))
    assert list_sarif_faults(sarif) == []
    assert [
        each["locations"][0]["physicalLocation"]["region"]["endLine"]
        for each in sarif["runs"][0]["results"]
    ] == [90]


def test_without_a_verdict_there_is_no_sarif() -> None:
    """G-1: forges take what an empty one does not name for mended. An outage, a tie and too few readers mend nothing."""
    waiting = Board("a", "b").raises(a=(QUERY,))
    incomplete = Board("a", "b").raises(a=()).loses("b")
    stopped = Board("a", "b").raises(a=()).put(CloseCalled())
    for board in (Board("a", "b"), waiting, incomplete, stopped):
        assert not board.decision.choice
        with pytest.raises(BadSetting, match="no SARIF without a verdict"):
            REVIEW.export(board.tell(), "sarif")
