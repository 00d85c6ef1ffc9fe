"""A change as reviewers read it: the files of a diff, or whole files, line by line with their numbers, cut into parts."""

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import chain
from typing import Final

from moothall.domain.given_search import split_lines
from moothall.domain.quotations import locate_changed_lines
from moothall.plugins import ContextFile

_HUNK: Final = re.compile(
    r"@@ -(?P<old>\d{1,9})(?:,(?P<olds>\d{1,9}))? \+(?P<new>\d{1,9})(?:,(?P<news>\d{1,9}))? @@"
)
_PART: Final = re.compile(r'diff --(?:git|cc|combined) (?:.* (?="?b/))?(?P<name>.+)')
_NAMED: Final = re.compile(r'(?:--- |\+\+\+ )(?P<name>"(?:[^"\\]|\\.)*"|[^\t]+)')
_NOWHERE: Final = "/dev/null"
_BINARY: Final = "GIT binary patch"
_MODE: Final = re.compile(r"(?:old|new) mode |new file mode (?!100644)|rename (?:from|to) ")
"""What git says of a file beside its lines, and a reviewer has to see: that it can be run now, is a link, or had another name."""
LEFT_OUT: Final = "left out by rule: "
"""Begins the line that stands in a change for a file that nobody reviews."""
_LOCK_FILES: Final = frozenset(
    (
        "package-lock.json",
        "npm-shrinkwrap.json",
        "yarn.lock",
        "pnpm-lock.yaml",
        "bun.lock",
        "poetry.lock",
        "uv.lock",
        "pdm.lock",
        "Pipfile.lock",
        "Cargo.lock",
        "Gemfile.lock",
        "composer.lock",
        "go.sum",
        "flake.lock",
        "mix.lock",
        "packages.lock.json",
        "gradle.lockfile",
    )
)
_GENERATED: Final = (
    ".min.js",
    ".min.css",
    ".js.map",
    ".css.map",
    "_pb2.py",
    "_pb2.pyi",
    "_pb2_grpc.py",
    ".pb.go",
    ".pb.cc",
    ".pb.h",
    ".g.dart",
)
"""How the names of generated files end."""
_SECTION: Final = re.compile(r"^diff --git ", re.MULTILINE)
_BEGINS: Final = re.compile(r"(?:diff |--- |Index: |(?:From|commit) [0-9a-f]{40}\b)")


@dataclass(frozen=True, slots=True)
class ChangedLine:
    """A line of a change: `mark` is `+`, `-` or a space; `number` counts in the new file, also where a line was removed."""

    number: int
    mark: str
    text: str


@dataclass(frozen=True, slots=True)
class ChangedFile:
    """The lines of one file that a change shows."""

    name: str
    lines: tuple[ChangedLine, ...]

    @property
    def size(self) -> int:
        return len(self.name) + sum(len(line.text) + 9 for line in self.lines)

    def render(self) -> str:
        """The lines with their numbers in the new file and the marks of a diff; a removed line has no number."""
        numbers = ("" if line.mark == "-" else str(line.number) for line in self.lines)
        return "\n".join(
            f"{number:>6} {line.mark} {line.text}".rstrip()
            for number, line in zip(numbers, self.lines, strict=True)
        )


@dataclass(frozen=True, slots=True)
class QuotedPlace:
    """Where quoted lines stand in a change: the first and the last number in the new file."""

    file: str
    first: int
    last: int


@lru_cache(maxsize=16)
def read_change(context: tuple[ContextFile, ...]) -> tuple[ChangedFile, ...]:
    """Return the files of a change: those that a given diff changes, and every other given file as it is."""
    files = chain.from_iterable(_read_given(each) for each in context)
    return tuple(each for each in files if each.lines)


def is_diff(text: str) -> bool:
    return bool(re.search(r"^(?:diff --git |--- )", text, re.MULTILINE)) and any(
        file.lines for file in parse_diff(text)
    )


def _read_given(file: ContextFile) -> Iterable[ChangedFile]:
    # A file that quotes a diff somewhere is read as it is.
    if is_diff(file.text) and (
        file.name.endswith((".diff", ".patch")) or _BEGINS.match(file.text.lstrip())
    ):
        return parse_diff(file.text)
    lines = split_lines(file.text) if file.text else ()
    return (
        ChangedFile(
            file.name, tuple(ChangedLine(number, " ", line) for number, line in enumerate(lines, 1))
        ),
    )


@lru_cache(maxsize=16)
def parse_diff(text: str) -> tuple[ChangedFile, ...]:
    """Parse a unified diff, as git and diff write it.

    What stands between the hunks is left out; a file without hunks (binary, renamed, merged from several) is what git says of it.
    """
    files: dict[str, list[ChangedLine]] = {}
    heads: dict[str, list[ChangedLine]] = {}
    names, part = ["", ""], ""
    modes: list[ChangedLine] = []
    old = new = number = 0
    is_hunk = False
    for line in split_lines(text):
        if begun := _PART.match(line):
            part, old, new, is_hunk = _read_name(begun["name"]), 0, 0, False
            heads[part] = []
        elif hunk := _HUNK.match(line):
            old, new, number, is_hunk = (
                int(hunk["olds"] or 1),
                int(hunk["news"] or 1),
                int(hunk["new"]),
                True,
            )
            modes = [each for each in heads.pop(part, ()) if _MODE.match(each.text)]
        elif old <= 0 and new <= 0 and (named := _NAMED.match(line)):
            names[line.startswith("+++")], is_hunk = _read_name(named["name"]), False
        # Whoever writes a diff by hand counts its lines wrong: what goes on with marks belongs to the hunk.
        elif is_hunk and (old > 0 or new > 0 or (line[:1] in {"+", "-", " "} and line != "-- ")):
            mark = line[:1] or " "
            if mark not in "+- ":
                continue
            # A removed line has the place of the line that follows it.
            name = (names[0] if names[1] in {"", _NOWHERE} else names[1]) or "?"
            if name not in files:
                files[name] = modes
            files[name].append(ChangedLine(max(1, number), mark, line[1:]))
            old, new, number = old - (mark != "+"), new - (mark != "-"), number + (mark != "-")
        elif not line.startswith("\\"):
            is_hunk, head = False, heads.get(part, [])
            if line and not (head and head[-1].text == _BINARY):
                head.append(ChangedLine(len(head) + 1, " ", line))
    return tuple(ChangedFile(name, tuple(lines)) for name, lines in {**heads, **files}.items())


def explain_left_out(name: str) -> str:
    """Why a file of a change is not reviewed, by its name: a lock file, or generated code; empty for all others."""
    last = name.rpartition("/")[2]
    if last in _LOCK_FILES:
        return "a lock file"
    return "generated code" if last.endswith(_GENERATED) else ""


def leave_out_by_rule(diff: str) -> str:
    """Return a diff with one line in place of what is in lock files and generated code; as it is where it has nothing else.

    That line says how many lines were added and removed, so that reviewers and readers know what nobody looked at.
    """
    starts = [match.start() for match in _SECTION.finditer(diff)]
    if not starts:
        return diff
    sections: list[str] = []
    is_left = False
    for start, end in zip(starts, [*starts[1:], len(diff)], strict=True):
        section = diff[start:end]
        head = section.partition("\n")[0]
        name = _PART.match(head)
        why = explain_left_out(_read_name(name["name"])) if name else ""
        is_left = is_left or not why
        if why:
            added = len(re.findall(r"^\+(?!\+\+ )", section, re.MULTILINE))
            removed = len(re.findall(r"^-(?!-- )", section, re.MULTILINE))
            section = f"{head}\n{LEFT_OUT}{why}, +{added} −{removed} lines\n"
        sections.append(section)
    if not is_left:
        return diff
    return "".join((diff[: starts[0]], *sections))


def list_left_out(context: tuple[ContextFile, ...]) -> list[str]:
    """The files of a change that nobody reviews, each with the reason."""
    left_out: list[str] = []
    for file in read_change(context):
        first = file.lines[0].text
        if len(file.lines) == 1 and first.startswith(LEFT_OUT):
            left_out.append(f"{file.name} ({first.removeprefix(LEFT_OUT)})")
    return left_out


def _read_name(word: str) -> str:
    """The path in the head of a file: without its prefix, and without the quotation of unusual letters."""
    name = word.strip()
    if name.startswith('"'):
        # git writes bytes above 127 as octal escapes.
        plain = re.sub(r"\\([0-7]{3})", lambda match: chr(int(match[1], 8) & 255), name[1:-1])
        plain = re.sub(
            r"\\(.)", lambda match: {"t": "\t", "n": "\n"}.get(match[1], match[1]), plain
        )
        name = plain.encode("latin-1", "replace").decode("utf-8", "replace")
    return name if name == _NOWHERE else re.sub(r"^[abciow12]/", "", name)


@lru_cache(maxsize=16)
def split_parts(context: tuple[ContextFile, ...], size: int) -> tuple[tuple[ChangedFile, ...], ...]:
    """Cut a change into parts of at most so many characters: files stay whole where they fit, others are cut between lines."""
    parts: list[list[ChangedFile]] = []
    room = 0
    for piece in chain.from_iterable(_cut_file(file, size) for file in read_change(context)):
        if piece.size > room or not parts:
            parts.append([])
            room = size
        parts[-1].append(piece)
        room -= piece.size
    return tuple(map(tuple, parts))


def _cut_file(file: ChangedFile, size: int) -> Iterator[ChangedFile]:
    lines: list[ChangedLine] = []
    used = len(file.name)
    for line in file.lines:
        # One long line, as of a bundled file, does not fill a prompt.
        shown = (
            line
            if len(line.text) <= size // 4
            else replace(line, text=f"{line.text[: size // 4]}…")
        )
        if lines and used + len(shown.text) + 9 > size:
            yield ChangedFile(file.name, tuple(lines))
            lines, used = [], len(file.name)
        lines.append(shown)
        used += len(shown.text) + 9
    if lines:
        yield ChangedFile(file.name, tuple(lines))


def locate_evidence(
    change: tuple[ChangedFile, ...], name: str, line: int, evidence: str
) -> QuotedPlace | None:
    """Return where quoted lines stand: in the named file, nearest to the named line; else in another. None if nowhere."""
    for file in sorted(change, key=lambda each: each.name != name):
        text = ContextFile(name=file.name, text=_join_lines(file))
        near = next((at for at, each in enumerate(file.lines, 1) if each.number >= line), 1)
        at, count = locate_changed_lines(evidence, text, near)
        if at:
            last = min(len(file.lines), at + count - 1)
            # A diff of several commits may go back to lines further up.
            first = file.lines[at - 1].number
            return QuotedPlace(file.name, first, max(first, file.lines[last - 1].number))
    return None


@lru_cache(maxsize=256)
def _join_lines(file: ChangedFile) -> str:
    return "\n".join(line.text for line in file.lines)
