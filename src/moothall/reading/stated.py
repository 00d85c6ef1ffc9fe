"""The choice that a text states beside its words: on a line of its own that is a label and a choice, or at the beginning of its
first line (Q-5). What follows the choice is its reason.

Everything else is asked back: two choices, a condition that stands apart, anything taken back, a reason that says the
other side. No rule here decides what a sentence means that does not say it.
"""

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Final

from moothall.domain.person import PersonChoice
from moothall.domain.safe_text import compile_late
from moothall.domain.text.signs import fold_text
from moothall.domain.vocabulary import CHOICE_LABELS, LONE_WORDS, PATTERNS
from moothall.reading.choices import (
    Lexicon,
    build_lexicon,
    drop_pictures,
    fits_pictures,
    fold_key,
    is_against,
    is_for,
    is_struck,
    is_weak,
    read_choice,
)

MAX_READ: Final = 20_000
"""A longer text is not looked through for a choice."""
MAX_LINE: Final = 2_000
"""How many characters of one line are."""
_CONDITIONAL: Final = frozenset({"conditional", "conditional_support"})
MAX_REASON: Final = 120
"""How much of a reason is looked at."""
MAX_TAG: Final = 60
"""A shorter sentence behind a choice may be a tag that turns it round."""
MAX_TAG_HAN: Final = 14
MAX_HEAD: Final = 40
MAX_STATEMENTS: Final = 20
"""In how many sentences of a person's text a statement is looked for."""
MIN_WORDS: Final = 5
"""How many words a sentence behind a choice has at least: "As if." and "You wish." are no reasons."""
MIN_ARGUMENT: Final = 18
"""How many words a reason has at least that may name another choice: a shorter one is asked about."""
MIN_TAG_WORDS: Final = 2
"""The same behind a dash or a colon: "no rollback" is one, "zero" is none."""
_STOPS: Final = frozenset({".", "!", "。", "！", "…", ";", "；"})
_POINTS: Final = frozenset({":", "：", "—", "–", " - "})
_WHY: Final = compile_late(
    r"\s*(?:because\b|since\b|as (?:it|the|this|we|there|they|our)\b|due to\b|on the grounds\b|因为|由于|理由|原因|鉴于|毕竟)"
)
_PRAISED: Final = frozenset({"support", "APPROVED", "adopted", "agree", "yes"})
"""Choices that are hardly made for a thing that is blamed in the same breath."""
_LINE_LEAD: Final = compile_late(r"(?:[\s>#•·–*-]|\d{1,2}[.)](?=\s))*")
_LABEL: Final = compile_late(
    rf"(?:(?:{'|'.join(CHOICE_LABELS['leads'])})\s*){{0,3}}(?:{'|'.join(CHOICE_LABELS['names'])})"
    r"\s*(?:\([^()]{0,40}\)\s*)?"
)
_SEPARATOR: Final = compile_late(
    r"\s*(?:[:：=]|(?:\bis\b|是|为)(?:\s*(?:now|therefore|thus|hence|still|to))?\s*[:：]?|[—–]|-(?=\s))\s*"
)
_BOXED: Final = compile_late(r"\\boxed\{(?:\\(?:text|mathrm|textbf)\{)?([^{}]{1,200})\}")
_TAGGED: Final = compile_late(r"<(?P<tag>[\w-]{1,30})>\s*(?P<said>[^<>]{1,300}?)\s*</(?P=tag)>")
_BOX: Final = compile_late(r"\s*(?:[-*+]\s*)?(?P<box>\[[xX✓✔ ]?\]|[☐☑☒✅])\s*(?P<said>\S.*)")
_FENCE: Final = compile_late(r"^[ \t]{0,8}```.*$", re.MULTILINE)
_SENTENCE_END: Final = compile_late(r"(?<=[.!?])(?=\s|$)|(?<=[。！？；;])|\n")
_AFTER: Final = compile_late(
    r"\s*(?:$|(?P<mark>[.!:;—–(…]|\s-\s|[。！：；（]|\n)|(?P<comma>[,，、])"
    rf"|(?P<why>{_WHY.pattern}))"
)
_OR: Final = compile_late(r"\W*(?:or\b|and\b|/|\||vs\b|but not\b|或|和|与|还是)")
_AMOUNT: Final = compile_late(
    r"\W*(?:\d[\d.,/]*\s*%?\W*$|\d[\d.,/]*\s*(?:of|out of|points?|votes?|criteria|分|票)"
    r"|(?:zero|no) (?:points?|votes?)"
    r"|(?:zero|no|none|not|never|one|two|three|later|soon|tomorrow|false|true)\b\W*$|[不没无]\W*$)"
)
_CLAUSE_MARK: Final = compile_late(
    r"[,，:：;；—–]\s*(?:(?:but|so|still|hence|therefore|thus|and|yet|所以|因此|但|但是|不过|总体上)\s*,?\s*)?"
)
_CLAUSE_END: Final = compile_late(r"[:：]\s+|：|\s[—–-]\s")
_LETTERED: Final = compile_late(r"\(?(?P<letter>[a-h])(?:[.:)]|\s[—–-])\s+(?P<rest>.+)", re.DOTALL)
_PRONOUN: Final = compile_late(r"(?:i|we)\s+")
_IT_IS: Final = compile_late(r"(?:\s+it is)?")
_EMPHASIS: Final = compile_late(
    r"(?:final|fine|good|ok|done|period|full stop|definitely|clearly|no doubt|就这样)\W*"
)
_IS: Final = compile_late(
    r"\b(?:is|goes to|would be|remains|must be|has to be)\b|[是为]\s*[:：]?\s*[\"“「]?$|:\s*$"
)
_PICKS: Final = compile_late(
    rf"{_IS.pattern}|\b(?:choose|chose|pick|picked|select|selected|on|voted? for|decided for)\b|选|决定"
)
_WOULD: Final = compile_late(r"\bwould\b|'d\b")
_OWN: Final = compile_late(
    r"(?:i|we|my|our|the (?:final|answer|verdict|vote))\b|我|本席|本人|最终|结论|因此|所以"
)
_HINTS: Final = (
    (frozenset({"support", "conditional_support", "APPROVED", "adopted"}), "hints_against"),
    (frozenset({"oppose", "REJECTED", "declined"}), "hints_for"),
    (frozenset({"confirmed", "confirm"}), "hints_refuting"),
    (frozenset({"refuted", "dispute"}), "hints_confirming"),
    (frozenset({"abstain", "unsure", "unclear"}), "hints_sure"),
)
"""What is asked about beside which choices."""
_OBJECT: Final = PATTERNS["choice_object"]
_STATEMENT: Final = PATTERNS["statement_lead"]
_STATES: Final = PATTERNS["states"]
_IF: Final = PATTERNS["if"]
_LATIN_WORD: Final = compile_late(r"[a-z0-9][\w'./%-]*")
_HAN: Final = compile_late(r"[\u3400-\u9fff]")
_EDGES: Final = " \t,，:：;；!！—–-.。()（）*_"

_LINE_NUMBER: Final = compile_late(r"#(\d{1,6})")
_NUMBERED_CLAUSE: Final = compile_late(
    r"[.;；。\n]|\s(?:and|but|while)\s|[,，、](?=[^#]{0,40}#\d)|而|但"
)
_ITS: Final = compile_late(r"\bit(?: it)+\b")
_LED_BY_IT: Final = compile_late(r"^it\s?[:：]\s?")
_JOINED: Final = compile_late(r"(?<=\d)\s*(?:[,，、&和与]|and\b)\s*(?=#\d)")


@dataclass(frozen=True, slots=True)
class PositionRead:
    """A choice that a text makes."""

    value: str
    condition: str = ""
    """What must hold for it, in the words of the text."""


def find_choice(text: str, choices: Sequence[PersonChoice]) -> PositionRead | None:
    """Return the one choice that a text makes; None where it makes none plainly."""
    value = read_choice(text, choices)
    if value is not None:
        return PositionRead(value)
    return find_stated_choice(text, choices)


def find_stated_choice(text: str, choices: Sequence[PersonChoice]) -> PositionRead | None:
    """Return the one choice that a text states on a labelled line or at its beginning; None if it is not plain."""
    if len(text) > MAX_READ or not text.strip():
        return None
    return _agree_on(_Reader(text, tuple(choices)).find_all(), text, choices)


def find_shown_choice(text: str, choices: Sequence[PersonChoice]) -> PositionRead | None:
    """Return the choice that a person's text makes, who is shown what was understood and may change it (Q-6).

    Beside what counts for everybody it may be one plain sentence: "OK, I reject this.". None if it is not plain.
    """
    read = find_choice(text, choices)
    if read is not None or len(text) > MAX_READ:
        return read
    return _agree_on(_Reader(text, tuple(choices)).find_statements(), text, choices)


def _agree_on(
    stated: Iterable[PositionRead], text: str, choices: Sequence[PersonChoice]
) -> PositionRead | None:
    """Return the one choice of all that a text states; None where they are several, or something in it speaks against it."""
    reads = list(stated)
    values = {each.value for each in reads}
    if len(values) != 1:
        return None
    value = values.pop()
    if find_other_side(text, value, choices):
        return None
    for read in reads:
        if read.condition:
            return read
    return PositionRead(value)


def is_sentence(text: str, choices: Sequence[PersonChoice]) -> bool:
    """Whether a text says more than the name of a choice: what it makes is taken from its words."""
    first = text.strip().partition("\n")[0]
    return read_choice(text, choices) is None and read_choice(first, choices) is None


def is_label(text: str) -> bool:
    """Whether a text is what a choice is called: "my vote", "Final answer", 立场; not "previous vote", and not a name."""
    return _LABEL.fullmatch(fold_text(text)) is not None


def is_label_name(name: str) -> bool:
    """Whether a field is called as a choice is: "my_vote", "finalAnswer"."""
    return is_label(re.sub(r"(?<=[a-z])(?=[A-Z])|_", " ", name))


def split_clauses(text: str) -> list[str]:
    parts = re.split(r"[,.;:!\n—–(){}，。；：！、]+|\s-+\s", fold_text(text))
    return [part.strip() for part in parts if part.strip()]


def split_sentences(text: str) -> list[str]:
    return [part.strip() for part in _SENTENCE_END.split(text) if part.strip()]


@lru_cache(maxsize=256)
def split_by_line_number(text: str) -> list[tuple[int | None, str]]:
    """Return what each clause says of the lines that it names: "I support #5 and oppose #6" speaks of both apart.

    A clause that names no line has None: what it says may take back what another one says.
    """
    clauses: list[tuple[int | None, str]] = []
    for clause in filter(str.strip, _NUMBERED_CLAUSE.split(_JOINED.sub(" ", text))):
        words = _ITS.sub("it", " ".join(_LINE_NUMBER.sub(" it ", clause).split()))
        words = _LED_BY_IT.sub("", words)
        clauses += [(int(number), words) for number in _LINE_NUMBER.findall(clause)] or [
            (None, words)
        ]
    return clauses


def read_option(text: str, choices: Sequence[PersonChoice]) -> str | None:
    """Return the one option that a text names, such as "I propose Postgres, because …"; None if none or several."""
    read = find_choice(text, choices)
    return None if read is None else read.value


class _Reader:
    """Looks through one text for what states a choice."""

    def __init__(self, text: str, choices: tuple[PersonChoice, ...]) -> None:
        self._text = _FENCE.sub("", text)
        self._choices = choices
        self._lexicon = build_lexicon(choices)
        self._values = {choice.value for choice in choices}

    def find_all(self) -> Iterator[PositionRead]:
        lines = [line.strip() for line in self._text.splitlines() if line.strip()]
        yield from self._find_marked()
        yield from self._find_boxes(lines)
        yield from self._find_rows(lines)
        yield from self._find_labelled(lines)
        yield from self._find_ends(lines)

    def _find_marked(self) -> Iterator[PositionRead]:
        r"""Yield what stands in `\boxed{…}` and in tags that are called as a choice is."""
        for boxed in _BOXED.finditer(self._text):
            yield from self._name(boxed[1])
        for tagged in _TAGGED.finditer(self._text):
            if is_label_name(tagged["tag"]):
                yield from self._read_value(tagged["said"])

    def _find_boxes(self, lines: Sequence[str]) -> Iterator[PositionRead]:
        """Yield the one ticked line of several with a box."""
        matches = [_BOX.fullmatch(line) for line in lines]
        boxes = [box for box in matches if box is not None and self._is_choice(box["said"])]
        ticked = [box["said"] for box in boxes if box["box"].strip("[] ") not in {"", "☐"}]
        if len(boxes) < 2:
            return
        if len(ticked) != 1:
            yield from (PositionRead(value) for value in self._values)
            return
        yield from self._read_value(ticked[0])

    def _is_choice(self, text: str) -> bool:
        return read_choice(text, self._choices) is not None

    def _find_rows(self, lines: Sequence[str]) -> Iterator[PositionRead]:
        """Yield the row of a table that is a label and a choice, or the choice of its one row below a label.

        A column of names is one of other seats.
        """
        rows = [_split_cells(line) for line in lines if line.count("|") >= 2]
        rows = [row for row in rows if not all(set(cell) <= set(":- ") for cell in row)]
        for row in rows:
            if len(row) == 2 and is_label(row[0]):
                yield from self._name(row[1])
        is_of_seats = bool(rows) and any(
            PATTERNS["seat_column"].fullmatch(fold_text(each)) for each in rows[0]
        )
        if len(rows) == 2 and len(rows[0]) == len(rows[1]) and not is_of_seats:
            for label, said in zip(*rows, strict=True):
                if is_label(label):
                    yield from self._name(said)

    def _find_labelled(self, lines: Sequence[str]) -> Iterator[PositionRead]:
        """Yield each line that is a label and a choice; a heading may have its choice on the line below."""
        for at, line in enumerate(lines):
            if line.count("|") >= 2:
                continue
            plain = self.fold_line(line)
            label = _LABEL.match(plain)
            if label is None:
                continue
            rest = plain[label.end() :].strip(" *_")
            separator = _SEPARATOR.match(plain, label.end())
            if not rest.strip(":：= ") and at + 1 < len(lines):
                yield from self._read_value(lines[at + 1])
            elif separator is not None:
                yield from self._read_value(plain[separator.end() :])

    def _find_ends(self, lines: Sequence[str]) -> Iterator[PositionRead]:
        """Yield the choice that the first line begins with, and the one that the last line is."""
        if not lines:
            return
        yield from self._read_value(lines[0])
        # "OK, I reject this." begins with another word for a choice.
        yield from self._read_statement_at(self.fold_line(lines[0]), 0, lines[0])
        if self._is_choice(lines[0]):
            # A list of the choices begins with one of them, too.
            for line in lines[1:]:
                yield from self._name(self.fold_line(line))
        if len(lines) > 1 and not self._is_weak_line(lines[-1]):
            yield from self._name(lines[-1])

    def _is_weak(self, name: str) -> bool:
        return is_weak(name) and name not in self._lexicon.kinds

    def _is_weak_line(self, line: str) -> bool:
        return self._is_weak(self.fold_line(line).strip(_EDGES))

    def _name(self, text: str) -> Iterator[PositionRead]:
        """Yield the choice that a text is."""
        value = read_choice(text, self._choices)
        if value is not None:
            yield PositionRead(value)

    def _read_value(self, text: str) -> Iterator[PositionRead]:
        """Yield the choice that a text is, or begins with: "oppose — no rollback", "B, because …", "yes, if it is tested"."""
        value = read_choice(text, self._choices)
        if value is not None:
            yield PositionRead(value)
            return
        if is_struck(text):
            return
        plain = self.fold_line(text)
        named = self._lexicon.leading.match(plain)
        lettered = _LETTERED.match(plain) if self._lexicon.is_of_names else None
        if named is None and lettered is not None and _count_words(lettered["rest"]) >= MIN_WORDS:
            yield from self._name(lettered["letter"])
            return
        if named is None:
            yield from self._read_statement_at(plain, 0, text)
            return
        yield from self._read_after(plain, named, text)

    def find_value(self, name: str) -> str:
        return self._lexicon.names[fold_key(name)]

    def _read_after(self, plain: str, named: re.Match[str], text: str) -> Iterator[PositionRead]:
        """Yield a choice by what follows its name: nothing, a reason, or a condition."""
        value, end = self.find_value(named["name"]), named.end()
        if named["name"] in LONE_WORDS or not fits_pictures(text[:MAX_REASON], value):
            return
        if not self._is_weak(named["name"]):
            acted = (_IT_IS if self._lexicon.is_of_names else _OBJECT).match(plain, end)
            end = end if acted is None else acted.end()
        condition = _IF.match(plain, _skip(plain, end))
        if condition is not None:
            yield from self._read_condition(plain, condition, value, text)
            return
        after = _AFTER.match(plain, end)
        if after is None:
            return
        rest = plain[after.end() :].strip(_EDGES)
        if value in _CONDITIONAL and rest:
            yield PositionRead(value, _find_written(text, rest))
            return
        is_explained = after["why"] is not None and self._explains(rest, value)
        is_bare = not rest or _EMPHASIS.fullmatch(rest) is not None
        if is_bare or is_explained or self._is_reason(rest, named["name"], value, after):
            yield PositionRead(value)

    def _explains(self, rest: str, value: str) -> bool:
        """Whether the words behind "because" say something, and are not another choice."""
        names = [] if _count_words(rest) >= MIN_ARGUMENT else self._lexicon.within.finditer(rest)
        is_other = any(self.find_value(each["name"]) != value for each in names)
        return not is_other and _count_words(rest) >= MIN_TAG_WORDS

    def _is_reason(self, rest: str, name: str, value: str, after: re.Match[str]) -> bool:
        """Whether what follows a choice may be its reason: no second choice, no amount, no tag that turns it round."""
        first = split_sentences(rest)[0]
        repeated = fold_key(_CLAUSE_MARK.split(first)[0]) == fold_key(name)
        is_same = read_choice(first, self._choices) == value and not self._is_weak_line(first)
        if is_same or (repeated and not self._is_weak(name)):
            # "批准（APPROVED）": the same in another language.
            return True
        is_explained = _WHY.match(rest) is not None
        if _OR.match(rest) or _AMOUNT.match(rest):
            return False
        if after["comma"] is not None and _STATES.match(rest) is None:
            return False
        if self._is_weak(name) and after["mark"] not in _POINTS and not is_explained:
            return False
        least = MIN_WORDS if after["mark"] in _STOPS else MIN_TAG_WORDS
        if _count_words(rest) < least:
            return False
        # A challenge may doubt what it likes.
        takes_side = is_for(value) or is_against(value) or self._lexicon.is_of_names
        takes_side = takes_side and value != "challenge"
        is_doubted = _is_tag(first) and PATTERNS["doubt"].search(first) is not None
        if takes_side and is_doubted and not is_explained:
            return False
        if value in _PRAISED and PATTERNS["blame"].search(rest, 0, MAX_REASON):
            return False
        head = _CLAUSE_MARK.split(first)[0][:MAX_HEAD]
        is_tag = after["mark"] in _POINTS or _count_words(first) < MIN_WORDS
        if is_tag and self._lexicon.is_of_names and PATTERNS["denial"].search(head):
            return False
        is_short = _count_words(rest) < MIN_ARGUMENT
        names = self._lexicon.within.finditer(rest if is_short else head)
        return all(self.find_value(each["name"]) == value for each in names)

    def _read_condition(
        self, plain: str, mark: re.Match[str], value: str, text: str
    ) -> Iterator[PositionRead]:
        """Yield the conditional choice of "yes, if the tests pass"."""
        conditional = next((each for each in self._values if each in _CONDITIONAL), None)
        rest = plain[mark.end() :]
        if mark[0].endswith(("unless", "除非")):
            rest = f"{mark[0].strip()} {rest.strip()}"
        if conditional is None or not (is_for(value) or value in _CONDITIONAL):
            return
        sentence = split_sentences(rest)[0] if rest.strip() else ""
        words = sentence.strip(_EDGES)
        if (
            not words
            or PATTERNS["second_thought"].search(rest)
            or self._lexicon.within.search(rest)
        ):
            return
        yield PositionRead(conditional, _find_written(text, words))

    def _find_first_word(self, plain: str) -> Iterator[str]:
        """Yield the side that a sentence begins with: "反对，太贵了"; behind a comma in English it may be of something else."""
        first = self._lexicon.leading.match(plain)
        if first is None or self._lexicon.is_of_names or self._is_weak(first["name"]):
            return
        after = _AFTER.match(plain, first.end())
        if after is not None and (after["comma"] is None or _HAN.search(plain)):
            yield self.find_value(first["name"])

    def find_sides(self, sentence: str) -> Iterator[str]:
        """Yield what a sentence names or states of any matter, to ask about it."""
        plain = self.fold_line(sentence)
        named = [] if self._is_weak_line(sentence) else [sentence]
        last = _CLAUSE_END.split(sentence)[-1]
        if last != sentence and not self._is_weak_line(last):
            named.append(last)
        for each in named:
            value = read_choice(each, self._choices)
            if value is not None:
                yield value
        for read in self._find_labelled([sentence]):
            yield read.value
        yield from self._find_first_word(plain)
        for start in self._list_starts(plain):
            for read in self._read_statement_at(plain, start, sentence):
                yield read.value

    def _list_starts(self, plain: str) -> list[int]:
        """Return where a sentence may begin to state a choice: at its beginning, and behind clauses that set no condition."""
        starts = [0]
        sentence = split_sentences(plain)[:1] or [""]
        for mark in _CLAUSE_MARK.finditer(sentence[0]):
            if PATTERNS["condition_word"].search(plain, 0, mark.start()):
                break
            if _OWN.match(plain, mark.end()):
                starts.append(mark.end())
        return starts[:8]

    def _read_statement_at(self, plain: str, start: int, text: str) -> Iterator[PositionRead]:
        lead = _STATEMENT.match(plain, start)
        if lead is None or lead.end() == start:
            return
        named = self._find_name(plain, start, lead.end())
        if named is None or (self._is_weak(named["name"]) and not _PICKS.search(lead[0])):
            return
        is_wish = not _IS.search(lead[0]) and _WOULD.search(lead[0]) is not None
        if is_wish and not self._lexicon.is_of_names:
            return
        yield from self._read_after(plain, named, text)

    def find_statements(self) -> Iterator[PositionRead]:
        """Yield the choices that the sentences of a text begin with; what stands behind one on its line may turn it round."""
        sentences = 0
        for line in self._text.splitlines():
            rest = line.strip()
            for sentence in split_sentences(line):
                sentences += 1
                if sentences > MAX_STATEMENTS:
                    return
                yield from self._read_statement_at(self.fold_line(rest), 0, rest)
                rest = rest[len(sentence) :].strip()

    def _find_name(self, plain: str, start: int, end: int) -> re.Match[str] | None:
        """Return the name at the end of what leads to it, or behind "I" alone: "I am for it" is one word for a choice."""
        named = self._lexicon.leading.match(plain, end)
        if named is not None and named["name"] not in LONE_WORDS:
            return named
        pronoun = _PRONOUN.match(plain, start)
        places = (start,) if pronoun is None else (pronoun.end(), start)
        for place in places:
            named = self._lexicon.leading.match(plain, place)
            if named is not None and not self._is_weak(named["name"]):
                return named
        return None

    def fold_line(self, line: str) -> str:
        plain = drop_pictures(fold_text(line[:MAX_LINE]))
        lead = _LINE_LEAD.match(plain)
        assert lead is not None
        return " ".join(plain[lead.end() :].split())


def _is_tag(sentence: str) -> bool:
    """Whether a sentence behind a choice is so short that it may be a tag."""
    if _HAN.search(sentence):
        return len(sentence) <= MAX_TAG_HAN
    return len(sentence) <= MAX_TAG


def _split_cells(line: str) -> list[str]:
    return [cell.strip() for cell in line.strip().strip("|").split("|")]


def _count_words(text: str) -> int:
    """Return about how many words a text has; two Chinese characters are one."""
    return len(_LATIN_WORD.findall(text)) + len(_HAN.findall(text)) // 2


def _skip(plain: str, end: int) -> int:
    """Return where the words behind a choice begin."""
    while end < len(plain) and plain[end] in " ,，(（:：—–-":
        end += 1
    return end


def _find_written(text: str, words: str) -> str:
    """Return words of a text as it has them, where folding has not changed their length."""
    at = text.casefold().find(words)
    if at < 0:
        return words.strip(_EDGES)
    return text[at : at + len(words)].strip(_EDGES)


def is_silent(text: str, choices: Sequence[PersonChoice]) -> bool:
    """Whether a text says nothing about the choices: no word for any, no denial, no doubt."""
    plain = fold_text(text)
    loud = (build_lexicon(tuple(choices)).within, PATTERNS["denial"], PATTERNS["doubt"])
    return not any(each.search(plain) for each in loud)


def _drop_open_boxes(text: str) -> str:
    """Return a text without the lines whose box is not ticked: they name what was not chosen."""
    lines: list[str] = []
    for line in text.splitlines():
        box = _BOX.fullmatch(line.strip())
        if box is None or box["box"].strip("[] ") not in {"", "☐"}:
            lines.append(line)
    return "\n".join(lines)


def find_other_side(text: str, value: str, choices: Sequence[PersonChoice]) -> str:
    """Return what a text says beside a choice that does not fit it: another one, a denial, or words that take it back.

    It never decides anything: its writer is asked. Empty where it says nothing of the kind.
    """
    text = _drop_open_boxes(text)
    whole = read_choice(text, choices)
    if whole is not None:
        return "" if _fits(whole, value) else whole
    plain = " ".join(fold_text(text).split())
    taken = PATTERNS["second_thoughts"].search(plain)
    if taken is not None:
        return taken[0]
    reader = _Reader(text, tuple(choices))
    lexicon = build_lexicon(tuple(choices))
    for sentence in split_sentences(text)[:200]:
        other = _find_stated_side(reader, lexicon, sentence, value)
        if other:
            return other
    return ""


def _find_stated_side(reader: _Reader, lexicon: Lexicon, sentence: str, value: str) -> str:
    for side in reader.find_sides(sentence):
        if not _fits(side, value):
            return side
    plain = reader.fold_line(sentence)
    if value == "support" and PATTERNS["only_if"].fullmatch(plain.rstrip(".。")):
        return plain
    if len(plain) > 300 or "?" in plain:
        return ""
    for said in PATTERNS["passive"].finditer(plain):
        named = lexicon.leading.match(plain, said.end())
        if named is None:
            continue
        other = reader.find_value(named["name"])
        is_denied = said["denied"] is not None
        if is_denied == _fits(other, value):
            return said[0] + named[0]
    for denied in PATTERNS["denies"].finditer(plain):
        named = lexicon.leading.match(plain, denied.end())
        if named is not None and _fits(reader.find_value(named["name"]), value):
            return denied[0] + named[0]
    hinted = _find_hint(plain, value)
    if hinted or not lexicon.is_of_names:
        return hinted
    return _find_winner(lexicon, plain, value)


def _find_hint(plain: str, value: str) -> str:
    """Return words that are hardly said beside a choice; empty where there are none."""
    for values, pattern in _HINTS:
        if value not in values:
            continue
        hint = PATTERNS[pattern].search(plain)
        if hint is not None:
            return hint[0]
    return ""


def _find_winner(lexicon: Lexicon, plain: str, value: str) -> str:
    """Return the other option of which a sentence says that it wins; empty where it says so of none."""
    for named in lexicon.within.finditer(plain):
        if lexicon.names[fold_key(named["name"])] == value:
            continue
        is_before = PATTERNS["winner_before"].search(plain[: named.start()])
        if is_before or PATTERNS["winner_behind"].match(plain, named.end()):
            return named["name"]
    return ""


def _fits(said: str, chosen: str) -> bool:
    """Whether what is said fits a choice: it is the same, a part of its name, or the support behind a condition."""
    if said.casefold() in chosen.casefold():
        return True
    return chosen in _CONDITIONAL and said == "support"
