"""Checks by code what is quoted and cited: whether the words stand in what was given, or in what was said, and where.

Words are compared character for character after normalizing: width, case, kinds of quotation marks and dashes, white space and
emphasis do not count. `…` and brackets in a quotation stand for what was left out. A source is what was given or fetched, and what the
user wrote: what stands in the entries of seats alone was said, by whom it may be, and is evidence of nothing.
"""

import re
import unicodedata
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from itertools import islice
from operator import attrgetter
from typing import Final, Literal

from moothall.domain.cited_claims import cut_claim, find_differences
from moothall.domain.given_search import split_lines
from moothall.domain.ids import USER
from moothall.domain.quoted_forms import (
    blank_spans,
    find_blocks,
    list_block_forms,
    list_change_forms,
    list_forms,
)
from moothall.domain.replace import dataclass
from moothall.domain.safe_text import compile_late
from moothall.domain.topic import ContextFile

Verdict = Literal["found", "said", "elsewhere", "not_found", "no_place", "differs"]
"""Where it was said to stand, or in a source where nothing was said; in an entry of a seat alone; in another place; nowhere; a place
that does not exist; a number, date or name that the cited line has otherwise."""

MAX_CHECKED_LENGTH: Final = 20_000
MAX_QUOTATIONS: Final = 40
"""How much of one contribution is checked."""
MIN_WORDS: Final = 3
MIN_CJK: Final = 6
"""Less is a word in quotation marks, and no quotation."""
MAX_GAP: Final = 2_000
"""How far apart the parts of a quotation may stand in the source."""
MAX_LOOKS: Final = 20_000
"""How many places are looked at for all quotations of one contribution."""
MAX_STARTS: Final = 100
"""At how many places of its rarest part a quotation in parts may begin."""
MAX_COUNTED: Final = 3
"""How many of its parts are counted for that."""
LINE_TOLERANCE: Final = 2
MAX_CITED_LINES: Final = 200
MAX_COMPARED: Final = 40
"""How many citations of one contribution are compared with what stands beside them."""
NAMED_BEFORE: Final = 80
"""How far before a quotation it is said where it comes from."""

_CJK: Final = r"\u3040-\u30ff\u3400-\u9fff\uff00-\uffef\u3000-\u303f"
_QUOTED: Final = compile_late(
    '“(?P<a>[^“”]{2,2000})”|“(?P<i>[^“”"\\n]{2,2000})"|„(?P<b>[^„“”]{2,2000})[“”]|«(?P<c>[^«»]{2,2000})»|「(?P<d>[^「」]{2,2000})」'
    '|『(?P<e>[^『』]{2,2000})』|(?<!\\w)"(?P<f>[^"\\n]{2,2000}(?:\\n(?!\\s*\\n)[^"\\n]{0,2000}){0,5})"(?!\\w)|(?<!\\w)‘(?P<g>[^‘]{12,2000})’(?!\\w)'
    "|(?<![`\\w])`(?P<j>[^`\\n]{12,500})`(?!`)"
    "|^[ \\t]*>(?P<h>[^\\n]{2,2000}(?:\\n[ \\t]*>[^\\n]{0,2000}){0,40})",
    re.MULTILINE,
)
_SOURCE: Final = "(?:in|from|of|see|见|出自|在)"
_BEHIND: Final = compile_late(
    rf"\s{{0,3}}(?:[(（\[—–-]\s{{0,2}}(?:{_SOURCE}\s{{0,2}})?|[,，]?\s{{0,2}}{_SOURCE}\s{{0,2}})"
)
"""What stands between a quotation and its place right behind it."""
_LETTER: Final = compile_late(r"\[(\w)\](?=\w)")
"""A letter that was made large or small."""
_GAP: Final = compile_late(r"\[[^\]\n]{0,60}\]|…+|\.{3,}")
_LINES: Final = r"(?::(?:L)?(?P<first>\d{1,7})(?:\s?[-–—]\s?L?(?P<last>\d{1,7}))?)?"
_ENTRY: Final = compile_late(r"#(\d{1,6})\b")
_VERBS: Final = "says|said|states|stated|reads|writes|wrote|written|quotes?|quoted|quoting|argues|argued|claims|claimed|put it"
_CJK_VERBS: Final = "规定|写道|写明|写着|指出|原文|引用|声称|说|称|提到|载明|约定"
_STATED: Final = compile_late(
    rf"(?:\b(?P<subject>[\w-]{{1,64}})\W{{1,3}}(?:also |then |himself |herself )?)?\b(?:{_VERBS}|according|verbatim)\b|{_CJK_VERBS}",
    re.IGNORECASE,
)
"""Who or what says it: a person, or a paper."""
_PAPER: Final = compile_late(
    r"\b(?:clause|section|paragraph|document|file|contract|page)\b|条款|文件", re.IGNORECASE
)
_PERSONS: Final = frozenset(
    {
        "i",
        "you",
        "he",
        "she",
        "they",
        "we",
        "who",
        "others",
        "people",
        "我",
        "你",
        "他",
        "她",
        "我们",
        "他们",
    }
)
_CJK_LETTER: Final = compile_late(f"[{_CJK}]")
_FOLDED: Final = str.maketrans(
    {
        **dict.fromkeys("“”„«»「」『』＂", '"'),
        **dict.fromkeys("‘’‚‹›`´", "'"),
        **dict.fromkeys("‐‑‒–—―−", "-"),
        "。": ".",
        "、": ",",
    }
)
_DROPPED: Final = compile_late("[*\u00ad\u200b-\u200f\u2060\ufeff]")
_NEAR_CJK: Final = compile_late(f"(?<=[{_CJK}]) | (?=[{_CJK}])")
_EDGES: Final = " \t\n.,;:!?'\"-"


@dataclass(frozen=True, slots=True)
class Quotation:
    """A quotation or a citation that was checked. `place` is where it stands: `notes.md:12`, `#3`; empty if nowhere.

    `is_counted`: it claims a source, or stands in one, and so it is part of the record of its author.
    """

    text: str
    cited: str
    """What it was said to stand in; empty where nothing was named."""
    verdict: Verdict
    place: str = ""
    is_counted: bool = True

    @property
    def holds(self) -> bool:
        """Whether it stands where it is said to, or in a source."""
        return self.verdict == "found"

    @property
    def is_fault(self) -> bool:
        """Whether readers are warned of it: repeating the words of another seat claims no source."""
        return not self.holds and (self.is_counted or self.verdict != "said")


@dataclass(frozen=True, slots=True)
class _Citation:
    start: int
    end: int
    file: ContextFile | None = None
    entry: int = 0
    first: int = 0
    last: int = 0

    @property
    def label(self) -> str:
        if self.file is None:
            return f"#{self.entry}"
        lines = (
            f":{self.first}" + (f"-{self.last}" if self.last != self.first else "")
            if self.first
            else ""
        )
        return f"{self.file.name}{lines}"


@dataclass(frozen=True, slots=True)
class _Quoted:
    """Words in a contribution that may be a quotation. `is_code`: in a block or in backticks, as code of one's own stands, too."""

    start: int
    end: int
    words: str
    is_code: bool = False


@dataclass(frozen=True, slots=True)
class _Origin:
    """Where a contribution says that words come from: a place, a speaker, or a paper without a name."""

    cited: "_Citation | None" = None
    speaker: str = ""
    is_paper: bool = False
    is_stated: bool = False

    @property
    def claims_source(self) -> bool:
        if self.cited is not None:
            return self.cited.file is not None
        return self.is_paper


@dataclass(frozen=True, slots=True)
class _Texts:
    """All that can be quoted. `said` are entries, and under numbers below zero what tools returned."""

    files: tuple[ContextFile, ...]
    said: Mapping[int, str]
    speakers: Mapping[int, str]

    def is_source(self, entry: int) -> bool:
        return entry < 0 or self.speakers.get(entry) == USER

    def list_entries(self, *, are_sources: bool) -> list[int]:
        return [entry for entry in self.said if self.is_source(entry) == are_sources]


def check_quotations(
    text: str,
    files: tuple[ContextFile, ...],
    said: Mapping[int, str],
    *,
    speakers: Mapping[int, str] | None = None,
    is_all_said: bool = True,
) -> list[Quotation]:
    """Check what a contribution quotes and cites; `said` are the texts of entries, without this one, and under
    numbers below zero what tools returned; `speakers` says who wrote which entry.

    What is in quotation marks without a word of where it comes from, and stands nowhere, is no quotation of a source and is left
    alone. So is what may stand in an entry that is not here (`is_all_said`).
    """
    text = text[:MAX_CHECKED_LENGTH]
    citations = _find_citations(text, files)
    texts = _Texts(files, said, speakers or {})
    looks = _Looks()
    checked = [Quotation("", each.label, "no_place") for each in citations if _is_past_end(each)]
    all_quoted = _list_quoted(text)
    for quoted in all_quoted[:MAX_QUOTATIONS]:
        origin = _read_origin(text, quoted, citations, texts)
        if quoted.is_code and not origin.is_stated:
            continue
        if not _is_long_enough(quoted.words, is_cited=origin.cited is not None):
            continue
        judged = _judge(quoted, origin, texts, looks)
        is_attributed = origin.cited is not None or (is_all_said and origin.is_stated)
        if judged.verdict != "not_found" or is_attributed:
            checked.append(judged)
    return [*checked, *_compare_claims(text, citations, all_quoted)]


def _list_quoted(text: str) -> list[_Quoted]:
    blocks = find_blocks(text)
    quoted: list[_Quoted] = []
    for start, end, words in blocks:
        quoted.append(_Quoted(start, end, words, is_code=True))
    # Quotation marks within code are no quotations.
    plain = blank_spans(text, list(map(attrgetter("start", "end"), quoted)))
    for match in islice(_QUOTED.finditer(plain), MAX_QUOTATIONS):
        words = next(part for part in match.groups() if part is not None)
        if match["h"]:
            words = re.sub(r"\n[ \t]*>[ \t]?", "\n", words)
        words = _LETTER.sub(r"\1", words)
        quoted.append(_Quoted(match.start(), match.end(), words, is_code=bool(match["j"])))
    return sorted(quoted, key=lambda each: each.start)


def _read_origin(
    text: str, quoted: _Quoted, citations: Sequence["_Citation"], texts: _Texts
) -> _Origin:
    """Read where the words are said to come from: the nearest place, or who or what says them right before."""
    cited = _find_nearest(citations, text, quoted.start, quoted.end)
    begin = max(0, quoted.start - NAMED_BEFORE)
    stated = list(_STATED.finditer(text, begin, quoted.start))
    is_paper = _PAPER.search(text, begin, quoted.start) is not None
    speaker = ""
    is_person = False
    if stated:
        subject = (stated[-1]["subject"] or "").casefold()
        names = set(map(str.casefold, texts.speakers.values()))
        if subject in names and subject != USER:
            speaker = subject
        is_person = bool(speaker) or subject in _PERSONS
        is_paper = not is_person
    is_stated = bool(stated) or is_paper
    # Code of a seat's own stands below the name of a file as well.
    if quoted.is_code:
        is_stated = bool(stated) or (cited is not None and _stands_alone(text, cited, quoted))
    return _Origin(cited, speaker, is_paper, is_stated)


def _stands_alone(text: str, cited: "_Citation", quoted: _Quoted) -> bool:
    """Whether a place stands right behind a quotation, or begins the line before it, as a heading does."""
    if cited.start >= quoted.end:
        return _BEHIND.fullmatch(text, quoted.end, cited.start) is not None
    begin = text.rfind("\n", 0, cited.start) + 1
    around = text[begin : cited.start] + text[cited.end : quoted.start]
    return not around.strip(" \t\n:：*`>#-")


def _judge(quoted: _Quoted, origin: _Origin, texts: _Texts, looks: "_Looks") -> Quotation:
    """Look for words first in what they are said to stand in, then in sources, then in what seats wrote."""
    cited = origin.cited
    label = cited.label if cited else ""
    shown = " ".join(quoted.words.split())
    forms = list_block_forms(quoted.words) if quoted.is_code else list_forms(quoted.words)
    named = _list_named(origin, texts)
    # It is right to quote another seat; it is no evidence.
    entry = _find_entry(forms, named, texts, looks)
    if entry:
        is_counted = texts.is_source(entry)
        return Quotation(shown, label, "found", _name_entry(entry), is_counted)
    place = _find_in_files(forms, texts.files, cited, looks)
    if not place:
        source = _find_entry(forms, texts.list_entries(are_sources=True), texts, looks)
        place = _name_entry(source)
    if place:
        verdict: Verdict = "found" if cited is None or _fits(cited, place) else "elsewhere"
        return Quotation(shown, label, verdict, place)
    entry = _find_entry(forms, texts.list_entries(are_sources=False), texts, looks)
    if not entry:
        return Quotation(shown, label, "not_found")
    # Another seat said it than the one that was named.
    if origin.speaker or (cited is not None and cited.file is None):
        return Quotation(shown, label, "elsewhere", _name_entry(entry), is_counted=False)
    return Quotation(shown, label, "said", _name_entry(entry), origin.claims_source)


def _list_named(origin: _Origin, texts: _Texts) -> list[int]:
    """The entries that words are said to stand in."""
    if origin.cited is not None:
        return [origin.cited.entry] if origin.cited.entry in texts.said else []
    if not origin.speaker:
        return []
    by_speaker: list[int] = []
    for entry, speaker in texts.speakers.items():
        if speaker.casefold() == origin.speaker and entry in texts.said:
            by_speaker.append(entry)
    return by_speaker


def _name_entry(entry: int) -> str:
    if entry > 0:
        return f"#{entry}"
    return f"[{-entry}]" if entry else ""


def _compare_claims(
    text: str, citations: Sequence["_Citation"], quoted: Sequence[_Quoted]
) -> list[Quotation]:
    """Compare the numbers, dates and names beside each cited line with it."""
    spans = list(map(attrgetter("start", "end"), (*quoted, *citations)))
    bare = blank_spans(text, sorted(spans))
    differing: dict[tuple[str, str], Quotation] = {}
    for each in islice(filter(_has_lines, citations), MAX_COMPARED):
        claim = cut_claim(bare, each.start, each.end)
        cited, near = _read_cited_lines(each)
        for words in find_differences(claim, cited, near):
            differing[words, each.label] = Quotation(
                words, each.label, "differs", each.label, is_counted=False
            )
    return list(differing.values())


def _read_cited_lines(cited: "_Citation") -> tuple[str, str]:
    """The lines that are cited, and these with those around them."""
    assert cited.file is not None
    lines = split_lines(cited.file.text)
    first = cited.first - 1
    last = min(max(cited.first, cited.last), cited.first + MAX_CITED_LINES)
    near = lines[max(0, first - LINE_TOLERANCE) : last + LINE_TOLERANCE]
    return "\n".join(lines[first:last]), "\n".join(near)


def _is_past_end(cited: _Citation) -> bool:
    """Whether a citation names a line that its file does not have."""
    if cited.file is None or not cited.file.text:
        return False
    return max(cited.first, cited.last) > len(split_lines(cited.file.text))


def locate_quotation(words: str, file: ContextFile, line: int) -> int:
    """Return the line of a file at which quoted words begin, nearest to a line first; 0 where they do not stand in it.

    A single word is a quotation only where it is a whole line.
    """
    cited = _Citation(0, 0, file, 0, line, line)
    place = _find_in_files([words], (file,), cited, _Looks())
    at = int(place.rpartition(":")[2] or 0)
    if not _is_long_enough(words, is_cited=True):
        return at if fold_quotation(words) in _fold_lines(file.text) else 0
    return at


def locate_changed_lines(words: str, file: ContextFile, line: int) -> tuple[int, int]:
    """Return the line of a change at which quoted lines begin, nearest to a line first, and how many they are; 0 where they do not
    stand in it. Fences, numbers and marks do not count."""
    for form in list_change_forms(words):
        at = locate_quotation(form, file, line)
        if at:
            return at, max(1, len(form.strip().splitlines()))
    return 0, 0


def list_cited_lines(text: str, files: tuple[ContextFile, ...]) -> list[tuple[str, int, int]]:
    """The lines that a contribution cites: the file, the first and the last of them."""
    cited: list[tuple[str, int, int]] = []
    for each in _find_citations(text[:MAX_CHECKED_LENGTH], files):
        if each.file is None or not _has_lines(each):
            continue
        last = max(each.first, each.last)
        last = min(last, each.first + MAX_CITED_LINES, len(split_lines(each.file.text)))
        cited.append((each.file.name, each.first, last))
    return cited


@lru_cache(maxsize=4_096)
def fold_quotation(text: str) -> str:
    """Return the form in which quotations are compared."""
    folded = _DROPPED.sub(
        "", unicodedata.normalize("NFKC", text.translate(_FOLDED)).casefold().translate(_FOLDED)
    )
    return _NEAR_CJK.sub("", " ".join(folded.split()))


@lru_cache(maxsize=16)
def _fold_lines(text: str) -> frozenset[str]:
    return frozenset(fold_quotation.__wrapped__(line) for line in split_lines(text))


@dataclass(frozen=True, slots=True)
class _FoldedFile:
    text: str
    starts: list[int]


@lru_cache(maxsize=256)
def _fold_file(text: str) -> _FoldedFile:
    parts, starts, size = list[str](), list[int](), 0
    for line in split_lines(text):
        folded = fold_quotation.__wrapped__(line)
        joint = (
            ""
            if not size or not folded or _NEAR_CJK.search(f"{parts[-1][-1:]} {folded[:1]}")
            else " "
        )
        starts.append(size + len(joint))
        if folded:
            parts.append(joint + folded)
            size += len(parts[-1])
    return _FoldedFile("".join(parts), starts)


def _find_in_files(
    forms: Sequence[str],
    files: Sequence[ContextFile],
    cited: _Citation | None,
    looks: "_Looks",
) -> str:
    """Where one of the forms of a quotation stands in a file: first in the one that was cited."""
    for file in sorted(files, key=lambda each: cited is None or each is not cited.file):
        folded = _fold_file(file.text)
        begins = [0]
        # Of several places the cited one counts.
        if cited is not None and cited.file is file and _has_lines(cited):
            begins.insert(0, folded.starts[max(0, cited.first - 1 - LINE_TOLERANCE)])
        for begin in begins:
            for words in forms:
                at = _find_words(words, folded.text, begin, looks)
                if at >= 0:
                    return f"{file.name}:{bisect_right(folded.starts, at)}"
    return ""


def _find_entry(
    forms: Sequence[str], entries: Iterable[int], texts: _Texts, looks: "_Looks"
) -> int:
    """The first of these entries in which one of the forms of a quotation stands; 0 for none."""
    for entry in entries:
        source = fold_quotation(texts.said[entry])
        if any(_find_words(words, source, 0, looks) >= 0 for words in forms):
            return entry
    return 0


def _has_lines(cited: _Citation) -> bool:
    return cited.file is not None and 0 < cited.first <= len(split_lines(cited.file.text))


@dataclass(slots=True)
class _Looks:
    """How many more places are looked at for one contribution, in all texts: strangers write both the text and the quotations."""

    left: int = MAX_LOOKS

    def find_whole_words(self, part: str, source: str, begin: int, end: int) -> Iterator[int]:
        """Find whole words: `able to pay` does not stand in `unable to pay`, nor `000 euros` in `40,000 euros`."""
        at = source.find(part, begin, end)
        while at >= 0 and self.left > 0:
            self.left -= 1
            if not _is_inside(source, at) and not _is_inside(source, at + len(part)):
                yield at
            at = source.find(part, at + 1, end)

    def find_first(self, part: str, source: str, begin: int, end: int) -> int:
        return next(self.find_whole_words(part, source, begin, end), -1)

    def find_last(self, part: str, source: str, begin: int, end: int) -> int:
        at = source.rfind(part, begin, end)
        while at >= 0 and self.left > 0:
            self.left -= 1
            if not _is_inside(source, at) and not _is_inside(source, at + len(part)):
                return at
            at = source.rfind(part, begin, at + len(part) - 1)
        return -1


def _find_words(words: str, source: str, begin: int, looks: _Looks) -> int:
    """Where a quotation begins in a source, whole or in parts; -1 where it does not stand there."""
    whole = fold_quotation(words).strip(_EDGES)
    at = looks.find_first(whole, source, begin, len(source)) if whole else -1
    if at >= 0:
        return at
    pieces = _GAP.split(words)
    folded = [fold_quotation(each).strip(_EDGES) for each in pieces]
    parts = [part for part in folded if part]
    if not parts or (len(parts) < 2 and len(parts) == len(pieces)):
        return -1
    rarest = _find_rarest(parts, source, begin, looks)
    starts = looks.find_whole_words(parts[rarest], source, begin, len(source))
    for start in islice(starts, MAX_STARTS):
        at = _find_before(parts[:rarest], source, begin, start, looks)
        end = start + len(parts[rarest])
        if at >= 0 and _has_behind(parts[rarest + 1 :], source, end, looks):
            return at
    return -1


def _find_rarest(parts: Sequence[str], source: str, begin: int, looks: _Looks) -> int:
    """Return which of the longest parts stands in the source least often: the others are looked for near to it alone.

    Where all of them stand there everywhere it is the first: the others are behind it.
    """
    longest = sorted(range(len(parts)), key=lambda each: -len(parts[each]))[:MAX_COUNTED]
    rarest = 0
    least = MAX_STARTS + 1
    for each in longest:
        hits = looks.find_whole_words(parts[each], source, begin, len(source))
        count = sum(1 for _ in islice(hits, least))
        if count < least:
            rarest = each
            least = count
        if not least:
            break
    return rarest


def _find_before(parts: Sequence[str], source: str, begin: int, start: int, looks: _Looks) -> int:
    """Where the first of the parts before a place begins, each near to the next one; -1 where one is not there."""
    at = start
    for part in reversed(parts):
        at = looks.find_last(part, source, max(begin, at - MAX_GAP), at)
        if at < 0:
            break
    return at


def _has_behind(parts: Sequence[str], source: str, end: int, looks: _Looks) -> bool:
    """Whether the parts stand behind a place, each near to the one before it."""
    for part in parts:
        at = looks.find_first(part, source, end, end + MAX_GAP)
        if at < 0:
            return False
        end = at + len(part)
    return True


def _is_inside(source: str, at: int) -> bool:
    """Whether a cut before this character would cut a word or a number."""
    before, after = source[max(0, at - 2) : at], source[at : at + 2]
    if not before or not after or _CJK_LETTER.match(before[-1]) or _CJK_LETTER.match(after[0]):
        return False
    if before[-1] in ",." and before[0].isdigit() and after[0].isdigit():
        return True
    if before[-1].isdigit() and after[0] in ",." and after[1:].isdigit():
        return True
    return before[-1].isalnum() and after[0].isalnum()


def _is_long_enough(words: str, *, is_cited: bool) -> bool:
    cjk = len(re.findall(f"[{_CJK}]", words))
    count = len(re.findall(r"[^\W_]+", re.sub(f"[{_CJK}]", " ", words)))
    min_words, min_cjk = MIN_WORDS, MIN_CJK
    if is_cited:
        min_words -= 1
        min_cjk -= 2
    return count >= min_words or cjk >= min_cjk or (count > 0 and cjk > 1)


def _find_citations(text: str, files: Sequence[ContextFile]) -> list[_Citation]:
    """The places that a text names: files by their name or its last part, with lines or without, and entries."""
    places = [
        _Citation(match.start(), match.end(), entry=int(match[1]))
        for match in _ENTRY.finditer(text)
    ]
    lowered = text.casefold()
    # Which letters are part of a place already.
    taken = bytearray(len(text))
    for place in places:
        taken[place.start : place.end] = b"\1" * (place.end - place.start)
    for file in files:
        names = {file.name, file.name.rpartition("/")[2]}
        for name in sorted(names, key=len, reverse=True):
            if name.casefold() not in lowered:
                continue
            for match in re.finditer(
                rf"(?<![\w/]){re.escape(name)}{_LINES}(?![\w/])", text, re.IGNORECASE
            ):
                first = int(match["first"] or 0)
                place = _Citation(
                    match.start(), match.end(), file, 0, first, int(match["last"] or first)
                )
                # `a/notes.md` and `b/notes.md`: the whole name was looked for first, and a part of it names no other file.
                if not taken[place.start]:
                    taken[place.start : place.end] = b"\1" * (place.end - place.start)
                    places.append(place)
    return sorted(places, key=lambda each: each.start)


def _find_nearest(
    citations: Sequence[_Citation], text: str, start: int, end: int
) -> _Citation | None:
    """The place that stands nearest to a quotation, within its paragraph: right behind it, else before it."""
    outside = [each for each in citations if each.end <= start or each.start >= end]
    after = [
        each for each in outside if each.start >= end and _BEHIND.fullmatch(text, end, each.start)
    ]
    before = [
        each
        for each in outside
        if each.end <= start and start - each.end < 160 and "\n\n" not in text[each.end : start]
    ]
    later = [
        each
        for each in outside
        if each.start >= end
        and each.start - end < 80
        and not re.search(r"[.!?。！？\n]", text[end : each.start])
    ]
    return next(iter((*after[:1], *before[-1:], *later[:1])), None)


def _fits(cited: _Citation, place: str) -> bool:
    if cited.file is None:
        return place == f"#{cited.entry}"
    name, _, line = place.rpartition(":")
    if name != cited.file.name or not cited.first:
        return name == cited.file.name
    return (
        cited.first - LINE_TOLERANCE <= int(line) <= max(cited.first, cited.last) + LINE_TOLERANCE
    )
