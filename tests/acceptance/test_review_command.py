"""`moot review`: a change before a board, from the command line (G-1)."""

import json
import subprocess
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft202012Validator  # type: ignore[import-untyped]
from tests.acceptance.doors import Cli, write_script
from tests.support.sarif import list_sarif_faults
from tests.unit.test_review_rules import DIFF, QUERY, ROWS

ONE, TWO = (
    {name: getattr(each, name) for name in QUERY.__slots__ if getattr(each, name)}
    for each in (QUERY, ROWS)
)
NONE: dict[str, Any] = {"findings": []}


@pytest.fixture
def cli(tmp_path: Path) -> Cli:
    (tmp_path / "change.diff").write_text(DIFF, encoding="utf-8")
    return Cli(tmp_path / "home", tmp_path)


def _seat(cli: Cli, **raised: dict[str, Any]) -> list[str]:
    stands = [
        {"finding": number, "stand": "dispute", "reason": "The last row is a footer."}
        for number in (1, 2)
    ]
    dispute = {"stands": stands}
    seats = {
        seat: {"inspect": [said], "check": [dispute], "settle": [dispute]}
        for seat, said in raised.items()
    }
    path = write_script(cli.cwd / "board.toml", seats)
    return [word for seat in seats for word in ("--seat", f"{seat}={path}")]


def test_a_change_is_reviewed_gated_and_written_for_others(cli: Cli) -> None:
    """G-1: findings as objects in JSON, Markdown and SARIF; advice ends with 0, and with --require 0, 6 or 2."""
    seats = _seat(cli, a={"findings": [ONE, TWO]}, b={"findings": [ONE]}, c=NONE)
    shown = json.loads(cli("review", "-", *seats, "--json", "--session", "s", stdin=DIFF).out)
    assert (
        list(Draft202012Validator(json.loads(cli("decisions", "schema").out)).iter_errors(shown))
        == []
    )
    assert shown["choice"] == "request changes"
    first, second = shown["findings"]
    assert (first["file"], first["firstLine"], first["state"], first["heldBy"]) == (
        "src/app.py",
        12,
        "upheld",
        ["a", "b"],
    )
    assert (second["state"], second["disputedBy"]) == ("dropped", ["a", "b", "c"])
    assert cli.json("show", "s")["findings"] == shown["findings"]
    cli("show", "s", "--require", "Request changes")
    done = cli(
        "review",
        "--diff",
        "change.diff",
        *seats,
        "--require",
        "approve",
        "--sarif",
        "o.sarif",
        "--markdown",
        "o.md",
        code=6,
    )
    assert "files: 2, lines: 9, parts: 1" in done.err
    assert done.err.splitlines()[-1].startswith("Not as required: decided was “request changes”")
    sarif = json.loads((cli.cwd / "o.sarif").read_text(encoding="utf-8"))
    assert list_sarif_faults(sarif) == []
    [result] = sarif["runs"][0]["results"]
    assert (result["level"], result["ruleId"], result["message"]["text"]) == (
        "error",
        "moot/security",
        QUERY.claim,
    )
    place = result["locations"][0]["physicalLocation"]
    assert (place["artifactLocation"]["uri"], place["region"]["startLine"]) == ("src/app.py", 12)
    summary = (cli.cwd / "o.md").read_text(encoding="utf-8")
    assert "**F1 src/app.py:12** · critical · security · upheld" in summary
    assert "## Given" not in summary
    assert (
        sarif["runs"][0]["results"]
        == json.loads(cli("export", "s", "sarif").out)["runs"][0]["results"]
    )
    one = ["--diff", "change.diff", *_seat(cli, a=NONE), "--require", "approve"]
    done = cli("review", *one, code=6)
    # One voice alone is no approval of a board.
    alone = "One voice: nobody else was asked, or answered."
    assert done.err.splitlines()[-1] == f"Not as required: decided, approve. But: {alone}"
    passed = cli("review", *one, "--require-worth", "weak")
    assert passed.err.splitlines()[-1] == f"As required: approve. But: {alone}"


def test_a_review_waits_for_an_outside_reviewer_and_goes_on(cli: Cli) -> None:
    """G-1: parked for an outside seat it ends with 3; the answer comes in words, and resume asks nobody twice."""
    seats = [*_seat(cli, a=NONE), "--seat", "eve=mailbox"]
    cli("review", "--diff", "change.diff", *seats, "--session", "s", "--require", "approve", code=3)
    refused = cli("answer", "s", "I do not like it", "--seat", "eve", code=2)
    assert "FILE:LINE" in refused.err
    cli("answer", "s", "src/app.py:13 major the last row is left out", "--seat", "eve")
    cli("resume", "s", code=3)
    assert "change.diff" not in cli("asks", "s").out
    cli("answer", "s", "confirm - the range ends too early", "--seat", "eve")
    cli("resume", "s", "--require", "approve", code=4)
    [finding] = cli.json("show", "s")["findings"]
    assert (finding["evidence"], finding["heldBy"], finding["state"]) == (
        ROWS.evidence,
        ["eve"],
        "open",
    )
    assert cli("show", "s", "--require", "approve", code=4).err == (
        "No verdict: as many confirm as dispute “the last row is left out.”\n"
    )


def test_what_cannot_be_reviewed_is_refused_in_one_sentence(cli: Cli) -> None:
    """G-1: nothing is recorded, and the sentence says what was expected."""
    (cli.cwd / "words.txt").write_text("No diff at all.")
    for words, told in (
        ([], "give one thing to review"),
        (["words.txt", "--diff", "change.diff"], "give one thing to review"),
        (["--diff", "words.txt"], "is not a diff with changed lines"),
        (["--diff", "gone.diff"], "cannot be read"),
        (["--range", "--output=x"], "expected commits such as main..HEAD"),
        (["--range", "a..b"], "--range a..b: "),
        (
            ["--diff", "change.diff", "--require", "aprove"],
            "not one of the options: approve, request changes",
        ),
        (["--diff", "change.diff", "--sarif", "gone/o.sarif"], "no such folder"),
        (["--diff", "change.diff", "--consult"], "reviewers answer blind"),
    ):
        done = cli("review", *words, "--seat", "a=mailbox", code=2)
        assert told in done.err
        assert done.err.count("\n") == 1
    assert json.loads(cli("list", "--json").out)["sessions"] == []


def test_a_range_of_commits_is_planned_before_the_shipped_panel(cli: Cli) -> None:
    """G-1: what it will cost is said before, and --dry-run records nothing."""
    git = ["git", "-c", "user.name=a", "-c", "user.email=a@b", "-C", str(cli.cwd)]
    (cli.cwd / "a.py").write_text("x = 1\n")
    for words in (["init", "-q"], ["add", "a.py"], ["commit", "-qm", "one"]):
        subprocess.run([*git, *words], check=True)
    (cli.cwd / "a.py").write_text("x = 2\n")
    subprocess.run([*git, "commit", "-qam", "two"], check=True)
    words = ["--range", "HEAD~1..HEAD", "--model", "openai:gpt-5-mini", "--dry-run", "--no-check"]
    plan = json.loads(cli("review", *words, "--json").out)
    assert [seat["id"] for seat in plan["seats"]] == [
        "correctness",
        "security",
        "maintenance",
        "customer",
    ]
    assert plan["opened"]["topic"] == "Is this change ready? a.py (+1 −1)"
    # Each reviewer may look up things in the repository four times.
    assert plan["calls"] == {"least": 4, "most": 28}
    assert "files: 1, lines: 2, parts: 1" in cli("review", *words).out
    assert json.loads(cli("list", "--json").out)["sessions"] == []


CI_FILE = ".github/workflows/ci.yml"
RUN = "python -c 'import os; os.system(words_of_a_stranger)'"
CI_DIFF = (
    f"diff --git a/{CI_FILE} b/{CI_FILE}\n--- a/{CI_FILE}\n+++ b/{CI_FILE}\n"
    f"@@ -4,1 +4,2 @@ jobs:\n       - run: make\n+      - run: {RUN}\n"
)


def _raise_in_ci(**changes: Any) -> dict[str, Any]:
    finding = {
        "file": CI_FILE,
        "line": 5,
        "severity": "critical",
        "claim": "Words of a stranger are run.",
        "evidence": RUN,
        **changes,
    }
    return {"findings": [finding]}


def test_a_gate_does_not_approve_what_one_of_four_found_in_a_workflow(cli: Cli) -> None:
    """G-1, G-6: the others are unsure, so it is neither upheld nor dropped: no verdict, and no SARIF that closes alerts."""
    (cli.cwd / "ci.diff").write_text(CI_DIFF, encoding="utf-8")
    unsure = {"stands": [{"finding": 1, "stand": "unsure"}]}
    said = [
        _raise_in_ci(evidence=f"```yaml\n- run: {RUN}\n```", severity="Blocker"),
        NONE,
        NONE,
        NONE,
    ]
    script = {
        seat: {"inspect": [each], "check": [unsure]}
        for seat, each in zip("abcd", said, strict=True)
    }
    path = write_script(cli.cwd / "ci.toml", script)
    seats = [word for seat in "abcd" for word in ("--seat", f"{seat}={path}")]
    words = ["--diff", "ci.diff", *seats, "--sarif", "ci.sarif", "--require", "approve"]
    done = cli("review", *words, code=4)
    assert f"F1 {CI_FILE}:5 · critical · other · disputed" in done.out
    assert "No verdict: as many confirm as dispute" in done.err
    assert not (cli.cwd / "ci.sarif").exists()
    # One more who confirms it, and it stands.
    confirms = {"stands": [{"finding": 1, "stand": "confirm"}]}
    script["b"] = {"inspect": [NONE], "check": [confirms]}
    write_script(cli.cwd / "ci.toml", script)
    done = cli("review", *words, code=6)
    assert f"F1 {CI_FILE}:5 · critical · other · upheld" in done.out
    assert done.err.splitlines()[-1].startswith("Not as required: decided was “request changes”")
    [result] = json.loads((cli.cwd / "ci.sarif").read_text(encoding="utf-8"))["runs"][0]["results"]
    place = result["locations"][0]["physicalLocation"]
    assert place["artifactLocation"]["uri"] == CI_FILE


@pytest.mark.parametrize(
    ("answer", "why", "listed"),
    [
        ({}, "Did not read all of the change: a.", ""),
        ("I'm sorry, but I can't help with that.", "Did not read all of the change: a.", ""),
        (
            _raise_in_ci(evidence="rm -rf --no-preserve-root /"),
            "1 finding that would ask for changes quotes lines that are not in the change.",
            "Raised, but the quoted lines were not found",
        ),
        (
            {"findings": [*_raise_in_ci(severity="spicy")["findings"], ONE]},
            "1 finding that may ask for changes could not be read.",
            "Raised, but it could not be read",
        ),
    ],
)
def test_a_gate_is_undecided_where_a_finding_may_be_lost(
    cli: Cli, answer: Any, why: str, listed: str
) -> None:
    """G-1: the board approves, the gate does not: 4, and why is said in words, in JSON and in Markdown."""
    (cli.cwd / "ci.diff").write_text(CI_DIFF, encoding="utf-8")
    said = answer
    if isinstance(answer, dict) and len(answer.get("findings", [])) == 2:
        small = {**_raise_in_ci(severity="note")["findings"][0]}
        said = {"findings": [answer["findings"][0], small]}
    raw = [{"raw": said if isinstance(said, str) else json.dumps(said)}] * 3
    script: dict[str, Any] = {"a": {"inspect": raw}}
    script |= {seat: {"inspect": [NONE], "check": [{"stands": []}]} for seat in "bcd"}
    path = write_script(cli.cwd / "lost.toml", script)
    seats = [word for seat in "abcd" for word in ("--seat", f"{seat}={path}")]
    words = ["--diff", "ci.diff", *seats, "--markdown", "o.md", "--session", "s"]
    shown = cli("review", *words, "--require", "approve", code=4)
    assert shown.err.splitlines()[-1].startswith(
        "Not decided: it would be “approve”, but what was lost"
    )
    markdown = (cli.cwd / "o.md").read_text(encoding="utf-8")
    for text in (shown.out, markdown):
        assert "could have" in text
        assert why in text
        assert listed in text
    decision = cli.json("show", "s")
    assert (decision["choice"], decision["outcomeUncertain"]) == ("approve", True)
    assert decision["strength"] == "weak"
    lost = [each["state"] for each in decision["findings"] if each["state"] == "unquoted"]
    lost += [each["seat"] for each in decision.get("lostFindings", [])]
    assert len(lost) == bool(listed)
    schema = json.loads(cli("decisions", "schema").out)
    assert list(Draft202012Validator(schema).iter_errors(decision)) == []
    assert cli("show", "s", "--require", "approve", code=4).err == shown.err.splitlines()[-1] + "\n"
    cli("review", *words[:-1], "t")


def test_a_parked_review_writes_no_sarif(cli: Cli) -> None:
    """G-1: not by --sarif, nor by an export; the Markdown says that it goes on."""
    seats = [*_seat(cli, a=NONE), "--seat", "eve=mailbox", "--session", "s"]
    words = ["--diff", "change.diff", *seats, "--sarif", "o.sarif", "--markdown", "o.md"]
    done = cli("review", *words, code=3)
    assert "o.sarif was not written: without a verdict there is no SARIF" in done.err
    assert not (cli.cwd / "o.sarif").exists()
    assert (cli.cwd / "o.md").exists()
    assert "no SARIF without a verdict" in cli("export", "s", "sarif", code=2).err
    cli("answer", "s", "none", "--seat", "eve")
    cli("resume", "s", "--require", "approve")
    assert '"results": []' in cli("export", "s", "sarif").out


def test_the_embedded_model_neither_reviews_nor_gates(cli: Cli) -> None:
    """G-1: where it is all that there is, nobody is found; named, it is refused in one sentence, also where it would take over."""
    weights = cli.cwd / "home" / "models" / "SmolLM2-135M-Instruct.Q4_1.gguf"
    weights.parent.mkdir(parents=True)
    weights.touch()
    review = ["review", "--diff", "change.diff", "--no-check"]
    assert "No model is set up" in cli(*review, code=2).err
    refused = "the embedded model cannot review: it is too small to find faults"
    for seats in (["--model", "embedded"], ["--seat", "a=Embedded"], ["--seat", "a=embedded?x=1"]):
        done = cli(*review, *seats, code=2)
        assert refused in done.err
        assert done.err.count("\n") == 1
    words = ["--model", "embedded", "--option", "yes", "--require", "yes", "--no-check"]
    for more in ([], ["--dry-run"]):
        done = cli("run", "Ship?", *words, *more, code=2)
        assert "the embedded model, which is too small for a gate" in done.err
    assert json.loads(cli("list", "--json").out)["sessions"] == []
    cli(*review, "--seat", "a=mailbox", "--session", "s", code=3)
    assert refused in cli("resume", "s", "--swap", "a=embedded", code=2).err


def test_money_that_cannot_stop_a_model_says_so(cli: Cli) -> None:
    """W-1: in one line, before it is asked and in a dry run; a known price or no limit says nothing."""
    unpriced = ["--model", "http://127.0.0.1:9/v1#stub"]
    limited = [*unpriced, "--money", "0.01", "--no-check"]
    told = (
        "the price of http://127.0.0.1:9/v1#stub is not known: --money cannot stop it; use --tokens"
    )
    review = ["review", "--diff", "change.diff"]
    for words, code in (
        (["run", "Ship?", *limited, "--dry-run"], 0),
        (["run", "Ship?", *limited, "-q"], 3),
        (["run", "Ship?", *limited, "--json"], 3),
        ([*review, *limited, "--dry-run"], 0),
        ([*review, *limited], 3),
    ):
        done = cli(*words, code=code)
        assert (done.out + done.err).count(told) == 1
    done = cli("run", "要上线吗？", *limited, "--dry-run")
    assert "http://127.0.0.1:9/v1#stub 的价格未知：--money" in done.out
    priced = ["--model", "openai:gpt-5-mini", "--money", "0.01", "--no-check"]
    for words in (priced, [*unpriced, "--no-check"]):
        done = cli("run", "Ship?", *words, "--dry-run")
        assert "cannot stop it" not in done.out + done.err
    (cli.cwd / "q.jsonl").write_text('{"question": "1 + 1?", "answer": "2"}\n', encoding="utf-8")
    bench = ["bench", "q.jsonl", *unpriced, "--money", "0.01", "--dry-run"]
    assert "is not known: --money cannot stop it" in cli(*bench).out
