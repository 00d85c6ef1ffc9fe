#!/usr/bin/env python3
"""Review a pull request in hosted CI: one comment that is updated, SARIF, and the exit code of the gate.

    review.py --range origin/main..HEAD --pull 12 --require approve -- --model openai:gpt-5-mini --money 0.50

What follows `--` goes to `moot review`. It needs Python and `moot`, nothing else. Which forge it writes to, the variables of
hosted CI say: GITHUB_API_URL, GITHUB_REPOSITORY, GITHUB_TOKEN, GITHUB_REF and GITHUB_SHA. Without a pull request it prints the
comment.

Exit codes: without --require 0 if the review could be held; with it 0 as required, 6 otherwise, 4 without a verdict, 3 while it
waits. 1 if the forge or a provider failed, 2 if the call was wrong. A range that changes nothing ends with 0. A token that may not
write, as that of a fork's pull request, is no failure: the review is printed, and stands in the summary of the job.
"""

import argparse
import base64
import binascii
import gzip
import json
import os
import re
import subprocess
import sys
import tempfile
import urllib.error
import urllib.parse
import urllib.request
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

MARK = "<!-- moot-review -->"
"""The first line of the comment, by which a later run finds it."""
MAX_BODY = 60_000
KNOWN = "<!-- moot-findings "
"""Begins the line of the comment that says what was raised: the next run compares."""
FINDING = "<!-- moot-finding "
"""Begins each comment on a line, with the mark of its finding."""
MAX_LISTED = 40
MAX_KNOWN = 200
PAGE = 100
AUTHOR = "author"
"""The seat of who wrote the change."""
WAITS = 3
UNPROCESSABLE = 422
"""How a forge answers a comment on a line that it does not show."""
FORBIDDEN = (401, 403, 404)
"""How a forge answers a token that may only read."""
ADVISED = (0, WAITS, 4)
"""How `moot review` ends where it could be held."""


class Forge:
    """The part of a forge's API that is needed here; those of GitHub, Gitea and Forgejo are alike in it."""

    def __init__(self, address: str, repository: str, token: str) -> None:
        self._root = f"{address.rstrip('/')}/repos/{repository}"
        self._token = token

    def call(self, method: str, path: str, body: object = None) -> Any:
        request = urllib.request.Request(  # noqa: S310 - the address is the job's own setting
            f"{self._root}{path}",
            method=method,
            data=None if body is None else json.dumps(body).encode(),
            headers={
                "Authorization": f"Bearer {self._token}",
                "Accept": "application/vnd.github+json",
                "Content-Type": "application/json",
            },
        )
        with urllib.request.urlopen(request, timeout=60) as response:  # noqa: S310
            return json.loads(response.read() or b"null")

    def write_comment(self, pull: int, body: str, known: int | None) -> str:
        """Update the comment of an earlier run, or write the first one; returns its address."""
        if known is None:
            made = self.call("POST", f"/issues/{pull}/comments", {"body": body})
        else:
            made = self.call("PATCH", f"/issues/comments/{known}", {"body": body})
        return str(made.get("html_url", ""))

    def find_comment(self, pull: int, author: str) -> tuple[int | None, str]:
        """The comment of an earlier run, and what it says."""
        for each in self._list_own(f"/issues/{pull}/comments", author):
            body = str(each.get("body", ""))
            if body.startswith(MARK):
                return int(each["id"]), body
        return None, ""

    def _list_own(self, path: str, author: str) -> "list[dict[str, Any]]":
        own: list[dict[str, Any]] = []
        page = 1
        while True:
            comments = self.call("GET", f"{path}?per_page={PAGE}&page={page}")
            for each in comments:
                if not author or (each.get("user") or {}).get("login") == author:
                    own.append(each)
            if len(comments) < PAGE:
                return own
            page += 1

    def write_inline(
        self, pull: int, commit: str, findings: "Sequence[Finding]", author: str
    ) -> int:
        """Comment on the lines of findings: each once, updated where it says something else, and said to be resolved where it was
        raised before and is not now. Returns how many lines the forge did not take."""
        known: dict[str, dict[str, Any]] = {}
        for each in self._list_own(f"/pulls/{pull}/comments", author):
            body = str(each.get("body", ""))
            if body.startswith(FINDING):
                known.setdefault(body[len(FINDING) :].split(" ", 1)[0], each)
        refused = 0
        for finding in findings:
            body = build_inline(finding)
            comment = known.pop(finding.mark, None)
            if comment is None:
                refused += not self._comment_line(pull, commit, finding, body)
            elif comment["body"] != body:
                self.call("PATCH", f"/pulls/comments/{comment['id']}", {"body": body})
        for mark, comment in known.items():
            body = f"{FINDING}{mark} -->\nResolved: the last review did not raise this again."
            if comment["body"] != body:
                self.call("PATCH", f"/pulls/comments/{comment['id']}", {"body": body})
        return refused

    def _comment_line(self, pull: int, commit: str, finding: "Finding", body: str) -> bool:
        """Write a comment on the lines of a finding; False where the forge does not show them as changed."""
        place: dict[str, Any] = {"path": finding.path, "line": finding.last, "side": "RIGHT"}
        if finding.first < finding.last:
            place |= {"start_line": finding.first, "start_side": "RIGHT"}
        try:
            self.call(
                "POST", f"/pulls/{pull}/comments", {"body": body, "commit_id": commit, **place}
            )
        except urllib.error.HTTPError as cause:
            if cause.code != UNPROCESSABLE:
                raise
            return False
        return True

    def upload_sarif(self, sarif: str, commit: str, ref: str) -> None:
        packed = base64.b64encode(gzip.compress(sarif.encode())).decode()
        self.call(
            "POST", "/code-scanning/sarifs", {"commit_sha": commit, "ref": ref, "sarif": packed}
        )


@dataclass(frozen=True)
class Finding:
    """A result of the SARIF that a review wrote."""

    mark: str
    """Its fingerprint: the quoted words, wherever they stand."""
    path: str
    first: int
    last: int
    severity: str
    claim: str
    fix: str = ""
    """Whole lines for its place."""

    @property
    def title(self) -> str:
        return f"{self.path}:{self.first} · {self.severity} · {self.claim}"


def read_findings(sarif: str) -> list[Finding]:
    """What a review upholds or leaves disputed, by its SARIF."""
    findings: list[Finding] = []
    for result in json.loads(sarif)["runs"][0]["results"]:
        place = result["locations"][0]["physicalLocation"]
        fix = ""
        for each in result.get("fixes", ()):
            fix = each["artifactChanges"][0]["replacements"][0]["insertedContent"]["text"]
        findings.append(
            Finding(
                mark=result["partialFingerprints"]["mootFinding/v1"],
                path=urllib.parse.unquote(place["artifactLocation"]["uri"]),
                first=place["region"]["startLine"],
                last=place["region"]["endLine"],
                severity=result["properties"]["severity"],
                claim=" ".join(result["message"]["text"].split()),
                fix=fix,
            )
        )
    return findings


def disarm(line: str) -> str:
    """A line that names nobody, loads no picture, and hides nothing."""
    return line.replace("@", "@\u200b").replace("![", "!\\[").replace("<!--", "&lt;!--")


def build_inline(finding: Finding) -> str:
    """A comment on lines, with a suggestion that the forge can apply where a reviewer made one that fits."""
    lines = [f"{FINDING}{finding.mark} -->", f"**{finding.severity}** {disarm(finding.claim)}"]
    if finding.fix:
        # A fence longer than any in it.
        fence = "`" * (max((len(run) for run in re.findall("`+", finding.fix)), default=2) + 3)
        lines += [f"{fence}suggestion", finding.fix.rstrip("\n"), fence]
    return "\n".join(lines)


def compare_findings(former: str, findings: "Sequence[Finding]") -> str:
    """What is new, still there and resolved since the review of an earlier comment; empty where there was none."""
    known = read_known_findings(former)
    if known is None:
        return ""
    marks = {each.mark for each in findings}
    fresh = [each for each in findings if each.mark not in known]
    gone = [title for mark, title in known.items() if mark not in marks]
    lines = [
        f"**Since the last run**: {len(fresh)} new, {len(findings) - len(fresh)} still there, {len(gone)} resolved."
    ]
    lines += [f"- new: {disarm(each.title)}" for each in fresh[:MAX_LISTED]]
    lines += [f"- resolved: ~~{disarm(title)}~~" for title in gone[:MAX_LISTED]]
    return "\n".join(lines)


def read_known_findings(body: str) -> "dict[str, str] | None":
    """The findings that a comment lists for the next run, by their marks; None where it lists none."""
    for line in body.splitlines():
        if not line.startswith(KNOWN):
            continue
        try:
            packed = line[len(KNOWN) :].partition(" ")[0]
            known = json.loads(gzip.decompress(base64.b64decode(packed, validate=True)))
            return {str(mark): " ".join(str(title).split()) for mark, title in known.items()}
        except (ValueError, OSError, EOFError, AttributeError, binascii.Error):
            return None
    return None


def find_known_line(body: str) -> str:
    """The line of an earlier comment that a run without a verdict hands on."""
    return next((line for line in body.splitlines() if line.startswith(KNOWN)), "")


def list_for_next_run(findings: "Sequence[Finding]") -> str:
    """The line by which the next run knows what this one raised."""
    titles = {each.mark: each.title[:300] for each in findings[:MAX_KNOWN]}
    packed = base64.b64encode(gzip.compress(json.dumps(titles).encode(), mtime=0)).decode()
    return f"{KNOWN}{packed} -->"


def find_head() -> str:
    """The last commit of the pull request: what the job checked out may be its merge."""
    event = os.environ.get("GITHUB_EVENT_PATH", "")
    try:
        told = json.loads(Path(event).read_text(encoding="utf-8")) if event else {}
        head = told["pull_request"]["head"]["sha"]
    except (OSError, ValueError, KeyError, TypeError):
        head = os.environ.get("GITHUB_SHA", "")
    return str(head)


def build_comment(summary: str, note: str, known: str = "", since: str = "") -> str:
    """The comment: what reviewers wrote names nobody, loads no picture, and hides nothing.

    `since` says what is new since the last run, `known` is for the next one.
    """
    lines, is_code = [], False
    for line in summary.splitlines():
        is_code ^= line.startswith("```")
        lines.append(line if is_code else disarm(line))
    parts = [MARK, *lines, ""]
    if since:
        parts[2:2] = ["", since]
    body = "\n".join((*parts, note))
    if len(body) > MAX_BODY:
        body = f"{body[:MAX_BODY]}\n```\n\n… cut; `moot show` has all of it."
    return f"{body}\n{known}" if known else body


def review(words: list[str], sarif: Path) -> tuple[int, str]:
    """Run `moot review`; returns its exit code and the summary."""
    with tempfile.TemporaryDirectory() as folder:
        summary = Path(folder) / "summary.md"
        command = [
            os.environ.get("MOOT", "moot"),
            "review",
            *words,
            "--sarif",
            str(sarif),
            "--markdown",
            str(summary),
        ]
        code = subprocess.run(command, check=False).returncode  # noqa: S603 - the program of this job
        return code, summary.read_text(encoding="utf-8") if summary.exists() else ""


def read_known(session: str, require: list[str], sarif: Path) -> tuple[int, str] | None:
    """What became of the review of this commit that an earlier run began, and that the author may have answered since."""
    shown = call_moot("show", session, *require)
    summary = call_moot("export", session, "summary")
    if summary.returncode:
        return None
    exported = call_moot("export", session, "sarif")
    # Without a verdict there is none: an empty one would close the alerts of earlier runs.
    if exported.returncode == 0:
        sarif.write_text(exported.stdout, encoding="utf-8")
    return shown.returncode, summary.stdout


def call_moot(*words: str) -> "subprocess.CompletedProcess[str]":
    command = [os.environ.get("MOOT", "moot"), *words]
    return subprocess.run(command, check=False, capture_output=True, text=True)  # noqa: S603


def invite_author(session: str, server: str) -> str:
    """The line that tells the author how to answer; empty if no code could be made."""
    made = call_moot(
        "invite", session, "--seat", AUTHOR, "--code", "--lasts", "1d", "--url", server, "--json"
    )
    if made.returncode:
        print(f"review.py: no code for the author: {made.stderr.strip()}", file=sys.stderr)
        return ""
    line = json.loads(made.stdout)["command"]
    return f"The author, or an agent of theirs, can answer these findings within a day: `{line}` (works once).\n\n"


def changes_nothing(span: str) -> bool:
    """Whether a range of commits has no change; what git cannot read is left to `moot review`, which says why."""
    command = ["git", "diff", "--quiet", "--end-of-options", span, "--"]
    try:
        return subprocess.run(command, check=False, capture_output=True).returncode == 0  # noqa: S603
    except OSError:
        return False


def print_review(body: str) -> None:
    """Print the review, and add it to the summary of the job where there is one."""
    print(body)
    summary = os.environ.get("GITHUB_STEP_SUMMARY")
    if summary:
        with Path(summary).open("a", encoding="utf-8") as file:
            file.write(f"{body}\n")


def find_pull(given: int | None, ref: str) -> int | None:
    match = re.fullmatch(r"refs/pull/(\d+)/\w+", ref)
    return given if given is not None else int(match[1]) if match else None


def parse_words() -> argparse.Namespace:
    """The options of this script; ends it with 2 where they are wrong."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "--range", dest="span", help="the commits to review, such as origin/main..HEAD"
    )
    parser.add_argument("--diff", help="a diff to review instead")
    parser.add_argument(
        "--pull", type=int, help="the number of the pull request; default: that of GITHUB_REF"
    )
    parser.add_argument(
        "--require",
        action="append",
        default=[],
        help="the verdict without which the job fails: approve",
    )
    parser.add_argument(
        "--require-worth",
        choices=("strong", "fair", "weak", "any"),
        help="what the verdict must be worth with --require; default: fair",
    )
    parser.add_argument(
        "--sarif", default="moot-review.sarif", help="where the findings are written"
    )
    parser.add_argument(
        "--upload", action="store_true", help="upload the findings to the forge's code scanning"
    )
    parser.add_argument(
        "--inline", action="store_true", help="comment on the lines of the findings as well"
    )
    parser.add_argument(
        "--author",
        default="",
        help="only a comment of this account is updated, such as github-actions[bot]",
    )
    parser.add_argument(
        "--answer",
        metavar="URL",
        help="your Moot server on the same MOOT_LEDGER, where the author may answer",
    )
    parser.add_argument(
        "words", nargs="*", metavar="-- OPTION", help="further options of moot review"
    )
    given = parser.parse_args()
    if (given.span is None) == (given.diff is None):
        parser.error("give one of --range and --diff")
    return given


def report(given: argparse.Namespace, pull: int | None, summary: str, note: str) -> int:
    """Tell the forge what the review came to, or print it; 1 where the forge failed."""
    # Without a verdict nothing is new or resolved: what an earlier run raised stays as it is.
    findings: list[Finding] | None = None
    if Path(given.sarif).exists():
        findings = read_findings(Path(given.sarif).read_text(encoding="utf-8"))
    body = build_comment(summary, note)
    forge = Forge(
        os.environ.get("GITHUB_API_URL", "https://api.github.com"),
        os.environ.get("GITHUB_REPOSITORY", ""),
        os.environ.get("GITHUB_TOKEN", ""),
    )
    try:
        if pull is None:
            print(body)
        else:
            comment, former = forge.find_comment(pull, given.author)
            body = build_comment(summary, note, find_known_line(former))
            if findings is not None:
                since = compare_findings(former, findings)
                body = build_comment(summary, note, list_for_next_run(findings), since)
            print(f"comment: {forge.write_comment(pull, body, comment)}", file=sys.stderr)
            if given.inline and findings is not None:
                comment_lines(forge, pull, findings, given.author)
        upload(forge, given)
    except urllib.error.HTTPError as cause:
        print(f"review.py: the forge did not take the review: {cause}", file=sys.stderr)
        print_review(body)
        return int(cause.code not in FORBIDDEN)
    except (urllib.error.URLError, OSError, ValueError) as cause:
        print(
            f"review.py: the forge did not take the review: {cause}; the findings are in {given.sarif}",
            file=sys.stderr,
        )
        return 1
    return 0


def comment_lines(forge: Forge, pull: int, findings: "Sequence[Finding]", author: str) -> None:
    refused = forge.write_inline(pull, find_head(), findings, author)
    if refused:
        print(f"review.py: {refused} of the lines are not shown by the forge", file=sys.stderr)


def upload(forge: Forge, given: argparse.Namespace) -> None:
    """Upload the findings where that is wanted and there is a verdict."""
    if given.upload and not Path(given.sarif).exists():
        print("review.py: without a verdict nothing is uploaded", file=sys.stderr)
    elif given.upload:
        text = Path(given.sarif).read_text(encoding="utf-8")
        forge.upload_sarif(text, os.environ.get("GITHUB_SHA", ""), os.environ.get("GITHUB_REF", ""))


def main() -> int:
    given = parse_words()
    if given.span is not None and changes_nothing(given.span):
        print(
            f"review.py: {given.span} changes nothing; there is nothing to review", file=sys.stderr
        )
        return 0
    words = ["--range", given.span] if given.diff is None else ["--diff", given.diff]
    require = [word for choice in given.require for word in ("--require", choice)]
    if given.require_worth:
        require += ["--require-worth", given.require_worth]
    # What an earlier run wrote there is not of this one.
    Path(given.sarif).unlink(missing_ok=True)
    pull = find_pull(given.pull, os.environ.get("GITHUB_REF", ""))
    session, known = (
        f"review-{pull or 0}-{os.environ.get('GITHUB_SHA', '')[:12] or os.getpid()}",
        None,
    )
    if given.answer:
        words += ["--seat", f"{AUTHOR}=mailbox", "--session", session]
        known = read_known(session, require, Path(given.sarif))
    code, summary = known or review([*words, *require, *given.words], Path(given.sarif))
    if not summary:
        return code or 1
    invited = invite_author(session, given.answer) if given.answer and code == WAITS else ""
    note = f"{invited}Written by `moot review`; a later run updates this comment."
    failed = report(given, pull, summary, note)
    # A gate is a gate, whether its comment could be written or not.
    return failed if not given.require and code in ADVISED else code or failed


if __name__ == "__main__":
    sys.exit(main())
