"""The files of a repository at one commit, for seats that read and search them (G-7): through git's objects, never the work tree.

Nothing is checked out, no link is followed, no program of the repository is run, and nothing is fetched. Each call is bounded in
time, in bytes and in files: what the names and texts of a repository hold is data.
"""

import os
import re
import subprocess
import threading
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any, Final

from moothall.domain.facts import Language
from moothall.domain.safe_text import fix_surrogates, one_line, quote_lines, shorten_text
from moothall.domain.topic import ContextFile, RepositoryTree
from moothall.locale.catalogues import CONTEXT_FILES
from moothall.reports.given_tools import READ, SEARCH, ToolResult, run_tool

GIT_SECONDS: Final = 20.0
MAX_BLOB: Final = 4_000_000
"""Bytes of one file that are read; what is longer is refused with its size."""
MAX_SEARCHED: Final = 400_000
"""Bytes of one file whose passages are compared; a longer one is searched to there."""
MAX_OUTPUT: Final = 4_000_000
"""Bytes of what git lists."""
MAX_FILES: Final = 30
"""How many files passages are taken from, those with the rarest words first."""
MAX_TERMS: Final = 6
MAX_NAMES: Final = 200
MAX_PATH_LENGTH: Final = 1_000
_BINARY: Final = 8_000
"""In how many first bytes of a file a NUL says that it is no text, as git has it."""
_COMMIT: Final = re.compile(r"[0-9a-f]{40}|[0-9a-f]{64}")
_TERM: Final = re.compile(r"[^\W_]\w*")
_OPTIONS: Final = (
    "--no-pager",
    "--literal-pathspecs",
    # What a repository sets for itself starts no program here.
    "-c",
    "core.fsmonitor=false",
    "-c",
    "core.quotepath=off",
    "-c",
    "grep.fallbackToNoIndex=false",
)
_ENVIRON: Final[Mapping[str, str]] = {
    "GIT_NO_LAZY_FETCH": "1",
    "GIT_OPTIONAL_LOCKS": "0",
    "GIT_TERMINAL_PROMPT": "0",
    "LC_ALL": "C",
}


@dataclass(frozen=True, slots=True)
class TreeEntry:
    """A file, a link, a folder or a submodule at a commit."""

    mode: str
    kind: str
    """`blob`, `tree` or `commit`."""
    digest: str
    path: str


class GitTree:
    """Reads and searches one commit. Its methods block: call them on a thread."""

    def __init__(self, tree: RepositoryTree, language: Language) -> None:
        self._tree = tree
        self._language = language
        self._words = CONTEXT_FILES[language].tree

    def run(self, tool: str, arguments: Mapping[str, Any]) -> ToolResult:
        """Run a call of `read` or `search`; what cannot be shown is said in a sentence."""
        is_there = Path(self._tree.repository).is_dir() and self._find_kind() == "commit"
        if not is_there:
            return self._refuse("missing", commit=self._tree.commit[:12])
        if tool == READ:
            return self._read(arguments)
        return self._search(arguments)

    def _find_kind(self) -> str:
        if not _COMMIT.fullmatch(self._tree.commit):
            return ""
        return self._git("cat-file", "-t", self._tree.commit).decode("ascii", "replace").strip()

    def _read(self, arguments: Mapping[str, Any]) -> ToolResult:
        # No path has a NUL, and no program can be given one.
        asked = str(arguments.get("file", ""))[:MAX_PATH_LENGTH].replace("\0", "")
        # Models write paths as diffs and shells do; no path of a commit begins so.
        path = asked.removeprefix("./").strip("/")
        if not path or path == ".":
            return self._list_folder("", self._list_entries(self._tree.commit))
        entry = self._find(path)
        if entry is None:
            return self._refuse("no_file", file=asked, near=self._list_near(path))
        if entry.kind == "tree":
            return self._list_folder(path, self._list_entries(entry.digest))
        if entry.kind == "commit":
            return self._refuse("submodule", file=path)
        size = int(self._git("cat-file", "-s", entry.digest) or b"0")
        if entry.mode == "120000":
            target = self._git("cat-file", "blob", entry.digest, most=MAX_PATH_LENGTH)
            return self._refuse("link", file=path, target=_decode(target))
        if size > MAX_BLOB:
            return self._refuse("large", file=path, size=size)
        raw = self._git("cat-file", "blob", entry.digest, most=MAX_BLOB)
        if b"\0" in raw[:_BINARY]:
            return self._refuse("binary", file=path, size=size)
        if not raw.strip():
            return self._refuse("empty", file=path)
        file = ContextFile(name=path, text=_decode(raw))
        return run_tool(self._language, (file,), READ, {**arguments, "file": path})

    def _search(self, arguments: Mapping[str, Any]) -> ToolResult:
        query = str(arguments.get("words", ""))
        terms = list(dict.fromkeys(_TERM.findall(query)))[:MAX_TERMS]
        if not terms:
            return run_tool(self._language, (), SEARCH, arguments)
        scores: defaultdict[str, float] = defaultdict(float)
        for term in terms:
            holding = self._list_holding(term)
            for path in holding:
                # A word that stands everywhere says little about where to look.
                scores[path] += 1 / len(holding)
        files: list[ContextFile] = []
        for path, _ in sorted(scores.items(), key=lambda item: (-item[1], item[0]))[:MAX_FILES]:
            entry = self._find(path)
            if entry is None or entry.kind != "blob" or entry.mode == "120000":
                continue
            raw = self._git("cat-file", "blob", entry.digest, most=MAX_SEARCHED)
            files.append(ContextFile(name=path, text=_decode(raw)))
        return run_tool(self._language, tuple(files), SEARCH, {"words": query})

    def _list_holding(self, term: str) -> list[str]:
        """Return the text files that hold a word, in any case."""
        words = ("grep", "-I", "-i", "-F", "-l", "-z", "--no-color", "-e", term)
        listed = self._git(*words, self._tree.commit, "--")
        prefix = f"{self._tree.commit}:"
        return [_decode(name).removeprefix(prefix) for name in listed.split(b"\0") if name]

    def _find(self, path: str) -> TreeEntry | None:
        listed = self._git("ls-tree", "-z", "--full-tree", self._tree.commit, "--", path)
        return next((each for each in _parse_entries(listed) if each.path == path), None)

    def _list_entries(self, tree: str) -> list[TreeEntry]:
        return list(_parse_entries(self._git("ls-tree", "-z", "--full-tree", tree)))

    def _list_folder(self, path: str, entries: Sequence[TreeEntry]) -> ToolResult:
        names = [_name_entry(each) for each in entries[:MAX_NAMES]]
        if len(entries) > MAX_NAMES:
            names.append(f"… +{len(entries) - MAX_NAMES}")
        head = self._words["folder"].format(folder=one_line(path) or ".")
        return ToolResult(text=f"{head}\n{quote_lines(chr(10).join(names))}")

    def _list_near(self, path: str) -> str:
        """Return files of the same name elsewhere: who names a file without its folder finds it."""
        last = path.rpartition("/")[2].casefold()
        listed = self._git("ls-tree", "-r", "-z", "--full-tree", "--name-only", self._tree.commit)
        near: list[str] = []
        for name in map(_decode, listed.split(b"\0")):
            if name.rpartition("/")[2].casefold() == last and len(near) < 10:
                near.append(one_line(name))
        return ", ".join(near) or "–"

    def _refuse(self, why: str, **values: object) -> ToolResult:
        named = {key: shorten_text(one_line(str(value)), 300) for key, value in values.items()}
        return ToolResult(text=self._words[why].format(**named), outcome="refused")

    def _git(self, *words: str, most: int = MAX_OUTPUT) -> bytes:
        """Return what git writes, at most so many bytes of it within its time; nothing where it fails."""
        command = ["git", *_OPTIONS, f"--git-dir={self._tree.repository}", *words]
        # The environment of a hook names another repository.
        inherited = {
            name: value for name, value in os.environ.items() if not name.startswith("GIT_")
        }
        try:
            process = subprocess.Popen(  # noqa: S603 - git, and no shell; a path stands behind `--`
                command,
                cwd=self._tree.repository,
                env={**inherited, **_ENVIRON},
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
            )
        except OSError:
            return b""
        with process:
            watch = threading.Timer(GIT_SECONDS, process.kill)
            watch.daemon = True
            watch.start()
            try:
                return _read_bounded(process, most)
            finally:
                watch.cancel()


def _read_bounded(process: "subprocess.Popen[bytes]", most: int) -> bytes:
    stdout: IO[bytes] | None = process.stdout
    if stdout is None:
        return b""
    raw = stdout.read(most)
    # What is beyond it is not read: the program may have any amount left to write.
    process.kill()
    return raw


def _parse_entries(listed: bytes) -> Iterator[TreeEntry]:
    for line in listed.split(b"\0"):
        head, tab, name = line.partition(b"\t")
        parts = head.split()
        if tab and len(parts) >= 3:
            mode, kind, digest = (part.decode("ascii", "replace") for part in parts[:3])
            yield TreeEntry(mode, kind, digest, _decode(name))


def _name_entry(entry: TreeEntry) -> str:
    name = one_line(entry.path)
    if entry.kind == "tree":
        return f"{name}/"
    return name


def _decode(raw: bytes) -> str:
    try:
        return raw.decode()
    except UnicodeDecodeError:
        return fix_surrogates(raw.decode("cp1252", "replace"))


def find_repository(folder: Path | None = None) -> str:
    """Return the absolute git directory of a folder, the current one by default; empty where it is in no repository."""
    command = ["git", "rev-parse", "--absolute-git-dir"]
    try:
        done = subprocess.run(  # noqa: S603 - git, and no shell
            command, cwd=folder, capture_output=True, timeout=GIT_SECONDS, check=False
        )
    except (OSError, subprocess.TimeoutExpired):
        return ""
    if done.returncode:
        return ""
    return os.path.realpath(done.stdout.decode(errors="replace").strip())


def resolve_commit(repository: str, name: str) -> str:
    """Return the commit that a name stands for in a repository; empty where it is none."""
    command = [
        "git",
        f"--git-dir={repository}",
        "rev-parse",
        "--verify",
        "--quiet",
        "--end-of-options",
        f"{name}^{{commit}}",
    ]
    try:
        done = subprocess.run(  # noqa: S603 - git, and no shell
            command, capture_output=True, timeout=GIT_SECONDS, check=False
        )
    except (OSError, subprocess.TimeoutExpired, ValueError):
        return ""
    commit = done.stdout.decode("ascii", "replace").strip()
    if done.returncode or not _COMMIT.fullmatch(commit):
        return ""
    return commit
