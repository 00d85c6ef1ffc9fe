"""What of a change reviewers see, and that two faults on one line stay two (G-6, G-7)."""

import subprocess
from dataclasses import replace
from pathlib import Path

import pytest
from tests.unit.test_review_rules import QUERY, Board

from moothall.errors import BadSetting
from moothall.features.review.change import (
    leave_out_by_rule,
    list_left_out,
    locate_evidence,
    parse_diff,
    read_change,
)
from moothall.features.review.material import Reviewed, read_reviewed
from moothall.features.review.timeline import render_summary

CODE = """\
diff --git a/app.py b/app.py
--- a/app.py
+++ b/app.py
@@ -1,1 +1,2 @@
 import os
+os.system(cmd)
"""
LOCK = """\
diff --git a/web/package-lock.json b/web/package-lock.json
--- a/web/package-lock.json
+++ b/web/package-lock.json
@@ -1,2 +1,3 @@
-old
+new
+newer
 same
"""
INJECTION = replace(QUERY, claim="SQL injection: the name is put into the statement.")
PASSWORD = replace(QUERY, claim="The password hunter2 is committed.")


def test_two_faults_on_one_line_stay_two_and_nobody_holds_what_it_did_not_say() -> None:
    """G-7: one line and one concern, two claims: each is held by those alone who made it."""
    board = Board("a", "b", "c", "d")
    again = replace(INJECTION, claim="The name goes into the SQL statement unescaped.")
    board.raises(a=(INJECTION,), b=(again,), c=(PASSWORD,), d=(PASSWORD,))
    findings = board.decision.findings or ()
    held = {each.claim: each.held_by for each in findings}
    assert held == {INJECTION.claim: ("a", "b"), PASSWORD.claim: ("c", "d")}
    both = Board("a", "b").raises(a=(INJECTION, PASSWORD), b=(PASSWORD, INJECTION))
    twice = {each.claim: each.held_by for each in both.decision.findings or ()}
    assert twice == {INJECTION.claim: ("a", "b"), PASSWORD.claim: ("a", "b")}


@pytest.mark.parametrize(
    ("others", "verdict", "state"),
    [
        ("unsure unsure unsure", None, "open"),
        ("unsure unsure confirm", "request changes", "upheld"),
        ("unsure unsure dispute", None, "open"),
        ("dispute dispute unsure", "approve", "dropped"),
        ("confirm confirm confirm", "request changes", "upheld"),
    ],
)
def test_a_lone_critical_finding_is_never_approved_where_others_are_unsure(
    others: str, verdict: str | None, state: str
) -> None:
    """G-6: one finds it, three cannot tell: no verdict; one who agrees, and it stands."""
    board = Board("a", "b", "c", "d").raises(a=(INJECTION,), b=(), c=(), d=())
    words = dict(zip("bcd", others.split(), strict=True))
    board.stands(**{seat: ((1, word, "I looked."),) for seat, word in words.items()})
    if board.closed is None:
        last = {"a": "confirm", **words}
        board.stands(**{seat: ((1, word, "Still."),) for seat, word in last.items()})
    assert board.decision.choice == (verdict or "")
    [finding] = board.decision.findings or ()
    assert finding.state == state


def test_lock_files_and_generated_code_are_left_out_by_rule_and_said() -> None:
    """G-7: one line stands for them, in the prompt and in the comment; a change of lock files alone is reviewed."""
    kept = leave_out_by_rule(CODE + LOCK + LOCK.replace("web/package-lock.json", "a/x_pb2.py"))
    files = {file.name: [line.text for line in file.lines] for file in parse_diff(kept)}
    assert files == {
        "app.py": ["import os", "os.system(cmd)"],
        "web/package-lock.json": ["left out by rule: a lock file, +2 −1 lines"],
        "a/x_pb2.py": ["left out by rule: generated code, +2 −1 lines"],
    }
    assert leave_out_by_rule(LOCK) == LOCK
    for text in (CODE, "hello", "", CODE.partition("\n")[2]):
        assert leave_out_by_rule(text) == text
    for name in ("lock.py", "uv.lock.py", "src/min.js", "package-lock.json.sh", "go.sum/x.go"):
        named = LOCK.replace("web/package-lock.json", name)
        assert leave_out_by_rule(CODE + named) == CODE + named
    board = Board("a", "b", text=kept)
    assert len(list_left_out(board.state.opened.subject.context)) == 2
    board.raises(a=(), b=())
    assert "web/package-lock.json (a lock file, +2 −1 lines)" in render_summary(board.tell())


def test_a_change_of_mode_beside_lines_is_seen_and_can_be_quoted() -> None:
    """G-7: a file that can be run now, a link, another name."""
    diff = CODE.replace("--- a/app.py", "old mode 100644\nnew mode 100755\n--- a/app.py", 1)
    [file] = parse_diff(diff)
    assert [line.text for line in file.lines] == [
        "old mode 100644",
        "new mode 100755",
        "import os",
        "os.system(cmd)",
    ]
    assert locate_evidence((file,), "app.py", 1, "new mode 100755") is not None
    place = locate_evidence((file,), "app.py", 2, "os.system(cmd)")
    assert place is not None
    assert place.first == 2
    link = CODE.replace("--- a/app.py", "new file mode 120000\n--- /dev/null", 1)
    assert parse_diff(link)[0].lines[0].text == "new file mode 120000"
    plain = CODE.replace("--- a/app.py", "new file mode 100644\n--- /dev/null", 1)
    assert parse_diff(plain)[0].lines[0].text == "import os"


def test_a_diff_over_files_in_latin_1_is_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """G-7: by --diff and by --range, each line as it is; what is no text is refused in one sentence."""
    mixed = CODE.encode() + CODE.replace("app", "b").encode()
    mixed = mixed.replace(b"+os.system", "+# größer\n+os.system".encode("latin-1"), 1)
    mixed += "+# größer\n".encode()
    path = tmp_path / "c.diff"
    path.write_bytes(mixed)
    [given] = read_reviewed(Reviewed(diff=path), {})
    assert given.text.count("größer") == 2
    assert [file.name for file in read_change((given,))] == ["app.py", "b.py"]
    path.write_bytes(CODE.encode("utf-16"))
    assert read_reviewed(Reviewed(diff=path), {})[0].text == CODE
    for raw in (b"\x7fELF\x01\xff\xfe" * 40, CODE.encode() + b"\0"):
        path.write_bytes(raw)
        with pytest.raises(BadSetting, match="is not a text file"):
            read_reviewed(Reviewed(diff=path), {})
    (tmp_path / "a.txt").write_bytes("größer\n".encode("latin-1"))
    monkeypatch.chdir(tmp_path)
    who = ["-c", "user.name=a", "-c", "user.email=a@b"]
    for words in (
        ["init", "-q"],
        [*who, "commit", "-qm", "1", "--allow-empty"],
        ["add", "a.txt"],
        [*who, "commit", "-qm", "2"],
    ):
        subprocess.run(["git", *words], check=True)
    assert "+größer" in read_reviewed(Reviewed(commits="HEAD~1..HEAD"), {})[0].text


def test_a_lock_file_of_any_length_does_not_refuse_the_review(tmp_path: Path) -> None:
    """G-7: its length does not count."""
    path = tmp_path / "c.diff"
    path.write_text(CODE + LOCK.replace("+new\n", "+new\n" * 700_000), encoding="utf-8")
    assert path.stat().st_size > 3_000_000
    [given] = read_reviewed(Reviewed(diff=path), {})
    assert "+700001 −1 lines" in given.text
    assert len(given.text) < 1_000
