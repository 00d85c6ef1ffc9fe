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
import gzip
import json
import os
import re
import subprocess
import sys
import tempfile
import urllib.error
import urllib.request
from pathlib import Path
from typing import Any

MARK = "<!-- moot-review -->"
"""The first line of the comment, by which a later run finds it."""
MAX_BODY = 60_000
PAGE = 100
AUTHOR = "author"
"""The seat of who wrote the change."""
WAITS = 3
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

    def write_comment(self, pull: int, body: str, author: str) -> str:
        """Update the comment of an earlier run, or write the first one; returns its address."""
        known = self._find_comment(pull, author)
        if known is None:
            made = self.call("POST", f"/issues/{pull}/comments", {"body": body})
        else:
            made = self.call("PATCH", f"/issues/comments/{known}", {"body": body})
        return str(made.get("html_url", ""))

    def _find_comment(self, pull: int, author: str) -> int | None:
        page = 1
        while True:
            comments = self.call("GET", f"/issues/{pull}/comments?per_page={PAGE}&page={page}")
            for each in comments:
                is_own = not author or (each.get("user") or {}).get("login") == author
                if is_own and str(each.get("body", "")).startswith(MARK):
                    return int(each["id"])
            if len(comments) < PAGE:
                return None
            page += 1

    def upload_sarif(self, sarif: str, commit: str, ref: str) -> None:
        packed = base64.b64encode(gzip.compress(sarif.encode())).decode()
        self.call(
            "POST", "/code-scanning/sarifs", {"commit_sha": commit, "ref": ref, "sarif": packed}
        )


def build_comment(summary: str, note: str) -> str:
    """The comment: what reviewers wrote names nobody, loads no picture, and hides nothing."""
    lines, is_code = [], False
    for line in summary.splitlines():
        is_code ^= line.startswith("```")
        safe = (
            line
            if is_code
            else line.replace("@", "@\u200b").replace("![", "!\\[").replace("<!--", "&lt;!--")
        )
        lines.append(safe)
    body = "\n".join((MARK, *lines, "", note))
    return (
        body
        if len(body) <= MAX_BODY
        else f"{body[:MAX_BODY]}\n```\n\n… cut; `moot show` has all of it."
    )


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


def main() -> int:
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
    body = build_comment(
        summary, f"{invited}Written by `moot review`; a later run updates this comment."
    )
    forge = Forge(
        os.environ.get("GITHUB_API_URL", "https://api.github.com"),
        os.environ.get("GITHUB_REPOSITORY", ""),
        os.environ.get("GITHUB_TOKEN", ""),
    )
    failed = 0
    try:
        if pull is None:
            print(body)
        else:
            print(f"comment: {forge.write_comment(pull, body, given.author)}", file=sys.stderr)
        if given.upload and not Path(given.sarif).exists():
            print("review.py: without a verdict nothing is uploaded", file=sys.stderr)
        elif given.upload:
            text = Path(given.sarif).read_text(encoding="utf-8")
            forge.upload_sarif(
                text, os.environ.get("GITHUB_SHA", ""), os.environ.get("GITHUB_REF", "")
            )
    except urllib.error.HTTPError as cause:
        print(f"review.py: the forge did not take the review: {cause}", file=sys.stderr)
        print_review(body)
        failed = int(cause.code not in FORBIDDEN)
    except (urllib.error.URLError, OSError, ValueError) as cause:
        print(
            f"review.py: the forge did not take the review: {cause}; the findings are in {given.sarif}",
            file=sys.stderr,
        )
        failed = 1
    # A gate is a gate, whether its comment could be written or not.
    return failed if not given.require and code in ADVISED else code or failed


if __name__ == "__main__":
    sys.exit(main())
