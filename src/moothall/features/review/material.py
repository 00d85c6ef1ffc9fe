"""Reads what is reviewed (a diff from a file, standard input or git, or whole files) into the options of a session."""

import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from moothall.app.given_files import decode_text, read_given_files, read_text
from moothall.features.review.change import (
    is_diff,
    leave_out_by_rule,
    list_left_out,
    split_parts,
)
from moothall.features.review.facts import ReviewOpened
from moothall.features.review.prompts import describe_change
from moothall.plugins import (
    BadSetting,
    ContextFile,
    Opened,
    Options,
    RepositoryTree,
    find_repository,
    one_line,
    resolve_commit,
)

STDIN: Final = "-"
PANEL: Final = "reviewers"
GIT_SECONDS: Final = 60.0
DIFF_NAME: Final = "change.diff"
READS: Final = 4
"""How many calls a reviewer has for one answer, to read other files of the repository."""
READ_TOKENS: Final = 8_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Reviewed:
    """What is to be reviewed: exactly one of the first three."""

    sources: Sequence[str | Path | ContextFile] = ()
    """Files, or `-` for a diff on standard input."""
    diff: str | Path | None = None
    """The text of a diff, or the path of its file."""
    commits: str | None = None
    """A range of commits, such as `main..HEAD`."""
    folder: Path | None = None
    """Where the repository of the commits is; None for the current folder."""


def read_reviewed(wanted: Reviewed, environ: Mapping[str, str]) -> list[ContextFile]:
    """Read what is to be reviewed: files, or one diff. Raises BadSetting when it is nothing, two things, or no diff."""
    sources, diff, span = wanted.sources, wanted.diff, wanted.commits
    given = [bool(sources), diff is not None, span is not None]
    if sum(given) != 1:
        raise BadSetting(
            "give one thing to review: files, - for a diff on standard input, --diff FILE, or --range A..B"
        )
    if span is not None:
        return [_check_diff(_read_range(span, wanted.folder), f"--range {span}")]
    if isinstance(diff, str):
        return [_check_diff(diff, "the text of the diff")]
    if diff is not None or STDIN in sources:
        if len(sources) > 1:
            raise BadSetting("- is a diff on standard input; files are reviewed without it")
        text = read_text(str(diff or STDIN), environ)
        return [_check_diff(text, str(diff or "standard input"))]
    return read_given_files(sources, environ).files


def find_tree(wanted: Reviewed) -> RepositoryTree | None:
    """Return the repository at the last commit of a range, which reviewers may read; None where the change ends in no commit.

    Of one revision alone git compares the work tree, which nobody has committed.
    """
    if wanted.commits is None or ".." not in wanted.commits:
        return None
    repository = find_repository(wanted.folder)
    last = wanted.commits.rpartition("..")[2] or "HEAD"
    commit = resolve_commit(repository, last) if repository else ""
    if not commit:
        return None
    return RepositoryTree(repository=repository, commit=commit)


def _check_diff(text: str, label: str) -> ContextFile:
    text = leave_out_by_rule(text)
    if not is_diff(text):
        raise BadSetting(
            f"{label} is not a diff with changed lines; expected what `git diff` writes"
        )
    return ContextFile(name=DIFF_NAME, text=text)


def _read_range(span: str, folder: Path | None) -> str:
    """Return the diff of a range of commits. Raises BadSetting with what git says."""
    if span.startswith("-") or not span.strip():
        raise BadSetting(f"--range {span!r}: expected commits such as main..HEAD")
    command = [
        "git",
        "-c",
        "core.quotepath=off",
        "diff",
        "--no-color",
        "--no-ext-diff",
        "--end-of-options",
        span,
        "--",
    ]
    try:
        done = subprocess.run(  # noqa: S603 - git, and no shell
            command, cwd=folder, capture_output=True, timeout=GIT_SECONDS, check=False
        )
    except NotADirectoryError as cause:
        raise BadSetting(f"{folder} is not a folder") from cause
    except FileNotFoundError as cause:
        if folder is not None and not folder.is_dir():
            raise BadSetting(f"{folder} is not a folder") from cause
        raise BadSetting(
            "--range needs git, which is not installed here; give the diff with --diff FILE"
        ) from cause
    except subprocess.TimeoutExpired as cause:
        raise BadSetting(
            f"--range {span}: git did not answer within {GIT_SECONDS:.0f} s"
        ) from cause
    if done.returncode:
        raise BadSetting(f"--range {span}: {one_line(done.stderr.decode(errors='replace'))}")
    text = decode_text(f"--range {span}", done.stdout)
    if not text.strip():
        raise BadSetting(f"--range {span} changes nothing; there is nothing to review")
    return text


def build_review_options(
    files: Sequence[ContextFile],
    about: str | None,
    options: Options,
    tree: RepositoryTree | None = None,
) -> tuple[str, Options]:
    """Return the question and the options of a review of these files, before the shipped panel where none is named."""
    language = options.get("language") or "en"
    own: Options = {} if options.get("panel") or options.get("seats") else {"panel": PANEL}
    # Earlier decisions are on other changes: a reviewer who reads them looks less at this one.
    fixed: Options = {
        "protocol": "review",
        "files": list(files),
        "memory": options.get("memory", False),
    }
    reads: Options = {}
    if tree is not None:
        # Each call sends the prompt once more: few of them, and short ones, unless the owner says otherwise.
        reads = {"tree": tree, "tool_calls": READS, "tool_budget": {"ask.tokens": READ_TOKENS}}
    return about or describe_change(files, language), {**own, **reads, **options, **fixed}


def describe_parts(opened: Opened) -> list[str]:
    """How much there is to read, in one line."""
    assert isinstance(opened, ReviewOpened)
    parts = split_parts(opened.subject.context, opened.settings.part_size)
    names = {file.name for part in parts for file in part}
    lines = sum(len(file.lines) for part in parts for file in part)
    size = opened.settings.part_size
    left_out = "; ".join(map(one_line, list_left_out(opened.subject.context)))
    described: list[str] = []
    if left_out:
        described.append(f"left out by rule: {left_out}")
    described.append(
        f"files: {len(names)}, lines: {lines}, parts: {len(parts)} (at most {size} characters of the change each)"
    )
    if opened.tree is not None and opened.tools.switch != "off":
        commit, calls, tokens = opened.tree.commit[:12], opened.tools.calls, opened.tools.tokens
        described.append(
            f"models may read the repository at {commit}: at most {calls} calls and {tokens} tokens for an answer (--tools off: none)"
        )
    return described
