"""Which files of a folder its `.gitignore` files name, as `git check-ignore` says it.

The rules come from strangers. Each is matched byte by byte for all its places at once, without going back: a name
costs as many steps as it has bytes, whatever the rule is.
"""

import os
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from string import ascii_letters, ascii_lowercase, ascii_uppercase, digits, hexdigits, punctuation
from typing import Final

from moothall.errors import BadSetting

MAX_SIZE: Final = 1_000_000
MAX_RULES: Final = 20_000
MAX_RULE_SIZE: Final = 10_000
"""Bytes and rules of one file, and bytes of a rule: those of a large project are some hundred rules."""

_SLASH: Final = ord("/")
_BACKSLASH: Final = ord("\\")
_STAR: Final = ord("*")
_SPECIAL: Final = frozenset(b"*?[\\")
_GRAPHIC: Final = ascii_letters + digits + punctuation
_LETTERS: Final = {
    b"alpha": ascii_letters,
    b"digit": digits,
    b"alnum": ascii_letters + digits,
    b"lower": ascii_lowercase,
    b"upper": ascii_uppercase,
    b"xdigit": hexdigits,
}
_CLASSES: Final = {
    **_LETTERS,
    b"blank": " \t",
    b"space": " \t\n\r",
    b"cntrl": "".join(map(chr, (*range(32), 127))),
    b"print": f" {_GRAPHIC}",
    b"graph": _GRAPHIC,
    b"punct": punctuation,
}
_EVERY: Final = frozenset(range(256))
_NOT_SLASH: Final = _EVERY - {_SLASH}
_SINGLE: Final = [frozenset({byte}) for byte in range(256)]


class _Malformed(Exception):
    """A pattern that matches nothing: a class that is not closed, or a backslash at its end."""


@dataclass(slots=True)
class _Glob:
    """A pattern as a row of sets of bytes. Bit `n` of a set of states says that what stands before place `n` fits."""

    places: list[frozenset[int]]
    """The bytes that fit at each place."""
    runs: int = 0
    """At which places any number of such bytes may stand, also none."""
    folders: int = 0
    """At which places `**/` begins: two places, which may be left out together."""
    masks: dict[int, tuple[int, int]] = field(default_factory=dict)

    def fits(self, name: bytes) -> bool:
        end = len(self.places)
        optional = self.runs.bit_count() + self.folders.bit_count()
        if len(name) < end - optional:
            return False
        is_open = not end or self.runs >> (end - 1) & 1
        if not is_open and name[-1] not in self.places[-1]:
            return False
        states = self._leave_out(0, 1)
        for byte in name:
            stays, goes = self.masks.get(byte) or self._build_masks(byte)
            states = self._leave_out(states & stays, (states & goes) << 1)
            if not states:
                return False
        return bool(states >> end & 1)

    def _leave_out(self, staying: int, coming: int) -> int:
        """Return all states with those that are reached without a byte; `**/` is left out by what has not begun it."""
        states = staying | coming | (coming & self.folders) << 2
        return states | (states & self.runs) << 1

    def _build_masks(self, byte: int) -> tuple[int, int]:
        """Return where a byte stays in a run, and where it leads to the next place."""
        fitting = 0
        for place, fit in enumerate(self.places):
            if byte in fit:
                fitting |= 1 << place
        masks = (fitting & self.runs, fitting & ~self.runs)
        self.masks[byte] = masks
        return masks


@dataclass(frozen=True, slots=True)
class IgnoreRule:
    """One line of a `.gitignore`."""

    glob: _Glob
    is_taken: bool
    """Whether it takes files back in."""
    is_for_folders: bool
    is_for_names: bool
    """Whether it is meant at every depth: it has no slash before its end."""

    def fits(self, path: bytes, *, is_folder: bool) -> bool:
        """Whether it names a path, which begins in the folder of its file."""
        if self.is_for_folders and not is_folder:
            return False
        return self.glob.fits(path.rpartition(b"/")[2] if self.is_for_names else path)


class IgnoreRules:
    """The rules of a folder, read from above while one walks through it."""

    def __init__(self) -> None:
        self._rules: dict[str, list[IgnoreRule]] = {}

    def read(self, folder: Path, prefix: str) -> None:
        """Read the rules of a folder, whose paths begin with the prefix; raises BadSetting where they are too many."""
        path = folder / ".gitignore"
        try:
            # A pipe or a device might never end; Git follows no link here either.
            if path.is_symlink() or not path.is_file():
                return
            with path.open("rb") as file:
                raw = file.read(MAX_SIZE + 1)
        except OSError:
            return
        lines = raw.split(b"\n", MAX_RULES)
        if len(raw) > MAX_SIZE or len(lines) > MAX_RULES or max(map(len, lines)) > MAX_RULE_SIZE:
            raise BadSetting(
                f"{path} is too large: at most {MAX_RULES} rules of {MAX_RULE_SIZE} bytes are read"
            )
        rules = list(parse_rules(raw))
        if rules:
            self._rules[prefix] = rules

    def ignores(self, path: str, *, is_folder: bool) -> bool:
        """Whether the rules name a path; in a folder that they name they are not asked."""
        # The rules nearest to a file come first, and the last one that fits it counts.
        prefix = path
        while prefix:
            prefix = prefix[: prefix.rfind("/", 0, -1) + 1]
            name = os.fsencode(path[len(prefix) :])
            for rule in reversed(self._rules.get(prefix, ())):
                if rule.fits(name, is_folder=is_folder):
                    return not rule.is_taken
        return False


def parse_rules(raw: bytes) -> Iterator[IgnoreRule]:
    """Yield the rules of a file."""
    for line in raw.removeprefix(b"\xef\xbb\xbf").split(b"\n"):
        word = _trim(line.removesuffix(b"\r").partition(b"\0")[0])
        if word.startswith(b"#"):
            continue
        is_taken = word.startswith(b"!")
        word = word.removeprefix(b"!")
        is_for_folders = word.endswith(b"/")
        word = word.removesuffix(b"/")
        if not word:
            continue
        is_for_names = b"/" not in word
        try:
            glob = _compile_names(word) if is_for_names else _compile_paths(word.removeprefix(b"/"))
        except _Malformed:
            continue
        yield IgnoreRule(glob, is_taken, is_for_folders, is_for_names)


def _trim(line: bytes) -> bytes:
    """Take the spaces at the end off, but for one behind a backslash."""
    trimmed = line.rstrip(b" ")
    backslashes = len(trimmed) - len(trimmed.rstrip(b"\\"))
    is_escaped = backslashes % 2 == 1 and len(trimmed) < len(line)
    return line[: len(trimmed) + 1] if is_escaped else trimmed


def _compile_names(word: bytes) -> _Glob:
    """Compile a pattern that is held against names: they hold no slash."""
    glob = _Glob([])
    at = 0
    while at < len(word):
        if word[at] == _STAR:
            at = _skip_stars(word, at)
            _add_run(glob, _EVERY)
        else:
            at = _add_byte(glob, word, at)
    return glob


def _compile_paths(word: bytes) -> _Glob:
    """Compile a pattern that is held against paths: only `**` between slashes stands for a slash."""
    glob = _Glob([])
    first = next((at for at, byte in enumerate(word) if byte in _SPECIAL), len(word))
    at = 0
    while at < len(word):
        if word[at] != _STAR:
            at = _add_byte(glob, word, at)
            continue
        end = _skip_stars(word, at)
        # Git compares what stands before the first sign by itself: behind it a pattern begins anew.
        begins = at == first or word[at - 1] == _SLASH
        ends = end == len(word) or word.startswith((b"/", b"\\/"), end)
        is_for_folders = word.startswith(b"/", end)
        is_again = len(glob.places) > 1 and glob.folders >> (len(glob.places) - 2) & 1
        if end - at < 2 or not begins or not ends:
            _add_run(glob, _NOT_SLASH)
        elif is_for_folders and is_again:
            # `**/**/` is `**/`.
            end += 1
        else:
            glob.folders |= is_for_folders << len(glob.places)
            _add_run(glob, _EVERY)
        at = end
    return glob


def _skip_stars(word: bytes, at: int) -> int:
    while at < len(word) and word[at] == _STAR:
        at += 1
    return at


def _add_run(glob: _Glob, fit: frozenset[int]) -> None:
    glob.runs |= 1 << len(glob.places)
    glob.places.append(fit)


def _add_byte(glob: _Glob, word: bytes, at: int) -> int:
    """Add the sign at a place, and return the place behind it; raises _Malformed."""
    byte = word[at]
    if byte == ord("?"):
        glob.places.append(_NOT_SLASH)
        return at + 1
    if byte == ord("["):
        fit, end = _read_class(word, at)
        glob.places.append(fit)
        return end
    if byte == _BACKSLASH:
        at += 1
        byte = _get(word, at)
    glob.places.append(_SINGLE[byte])
    return at + 1


def _read_class(word: bytes, at: int) -> tuple[frozenset[int], int]:
    """Return the bytes of a class such as `[a-z]`, and the place behind it; raises _Malformed."""
    at += 1
    is_negated = word[at : at + 1] in {b"!", b"^"}
    at += is_negated
    fit = set[int]()
    # The byte before a `-`; none behind a range or the name of a class.
    before: int | None = None
    is_first = True
    while is_first or _get(word, at) != ord("]"):
        is_first = False
        byte = _get(word, at)
        if byte == _BACKSLASH:
            at += 1
            before = _get(word, at)
            fit.add(before)
        elif byte == ord("-") and before is not None and word[at + 1 : at + 2] not in {b"", b"]"}:
            at += 1
            if word[at] == _BACKSLASH:
                at += 1
            fit.update(range(before, _get(word, at) + 1))
            before = None
        elif word.startswith(b"[:", at) and (named := _read_named(word, at)) is not None:
            fit |= named[0]
            at = named[1]
            before = None
        else:
            fit.add(byte)
            before = byte
        at += 1
    chosen = _EVERY - fit if is_negated else fit
    return frozenset(chosen) - {_SLASH}, at + 1


def _read_named(word: bytes, at: int) -> tuple[frozenset[int], int] | None:
    """Return the bytes of `[:digit:]`, and the place of its last bracket; None where it is no such name."""
    end = word.find(b"]", at + 2)
    if end < 0:
        raise _Malformed
    if word[end - 1] != ord(":") or end - 1 < at + 2:
        return None
    letters = _CLASSES.get(word[at + 2 : end - 1])
    if letters is None:
        raise _Malformed
    return frozenset(letters.encode()), end


def _get(word: bytes, at: int) -> int:
    if at >= len(word):
        raise _Malformed
    return word[at]
