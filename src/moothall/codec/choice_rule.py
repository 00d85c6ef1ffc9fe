"""The one rule by which words become a choice: a vote, a verdict, an option (M-14).

A text is read clause by clause. A clause makes a choice only if every word of it is known: openers, "I", adverbs, exactly one
word for the choice, and its object ("this motion", "#3"). Every other clause must be silent: no word for any choice, no denial,
no doubt, nobody else who speaks. Words such as "yes" and "ok" make a choice only as the whole answer; in front of a clause that
makes one they must not contradict it. What does not fit is not read, and the seat is asked: a wrong reading is worse than a loss.

The words of a clause that counts are a closed list on purpose. A list of the words that can turn a vote into its opposite would
never be complete. What stands before the choice ("Ada: confirmed"), and a tag behind it ("support, my foot"), must be known, too.
"""

import re
import unicodedata
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Final

from moothall.domain.person import PersonChoice
from moothall.domain.safe_text import compile_late
from moothall.domain.text.signs import fold_text
from moothall.domain.topic import normalize_label
from moothall.domain.vocabulary import (
    BARE_WORDS,
    CHOICE_WORDS,
    CLAUSE_WORDS,
    DEGREES,
    EMPTY_WORDS,
    LONE_WORDS,
    PATTERNS,
)

MAX_READ: Final = 2_000
"""A longer text is an essay: nothing is read from it."""

_PLAIN: Final = frozenset(CLAUSE_WORDS["plain"])
_PICK: Final = frozenset(CLAUSE_WORDS["pick"])
_DENIAL: Final = PATTERNS["denial"]
_DOUBT: Final = PATTERNS["doubt"]
_IF: Final = PATTERNS["if"]
# What is hardly said for a thing: a text that is for it and says so is asked about.
_BLAME: Final = PATTERNS["blame"]
_FOR: Final = frozenset(
    {
        "support",
        "conditional_support",
        "conditional",
        "APPROVED",
        "confirmed",
        "adopted",
        "agree",
        "yes",
    }
)
_AGAINST: Final = frozenset({"oppose", "challenge", "REJECTED", "refuted", "declined", "no"})
# Thumbs and ticks, for and against; the colour of a hand and the form of a sign say nothing.
_THUMBS: Final = compile_late(r"([👍✅✔])|[👎❌✖✗✘]|[\U0001f3fb-\U0001f3ff\ufe0f]")
# Struck out, denied by a sign, or a box that is not ticked.
_STRUCK: Final = compile_late(r"~|\[\s?\]|☐|^\s*[!¬]")
_OWN: Final = compile_late(r"\b(?:i|we|my|our)\b|我|本席")
_GOES_ON: Final = compile_late(r"(?:is|was|are|were|would|has|had|does|did|must|needs|requires)\b")
_SENTENCE_END: Final = compile_late(r"[.!](?=\s|$)|[。！;；\n]")
_REASON: Final = compile_late(r"\b(?:because|since)\b|因为|由于")
_CLAUSE_END: Final = compile_late(rf"[,.;:!\n—–(){{}}，。；：！、]+|\s-+\s|{_REASON.pattern}")
_LATIN: Final = compile_late(r"[a-z0-9#']+")
_REFERENCE: Final = compile_late(r"#?[1-9]\d{0,5}")
_MEASURE: Final = compile_late(r"[%=≠/+]|\b\d+ of\b")
_PHRASES: Final = compile_late(r"\bgo (?:with|for)\b|\bi think\b|\bwould like\b|\bi'd like\b")
# "Support: zero" and "support: 2/10" say how much, not why.
_AMOUNT: Final = compile_late(
    r"\W*(?:\d|(?:zero|one|two|three|later|soon|tomorrow)\b|(?:[a-z]|[\u3400-\u9fff])\W*$)"
)
_VALUES: Final = frozenset({*DEGREES, *EMPTY_WORDS, *BARE_WORDS, *LONE_WORDS})
# How a clause begins that states something of the matter. Any other one hangs on the choice: "support, as a joke".
_STATES: Final = PATTERNS["states"]
# A sentence of its own may begin with any noun ("Caching at the edge saves time"), but not as an adverb does.
_SENTENCE: Final = PATTERNS["sentence"]
_FRONT: Final = PATTERNS["front"]
_HAN: Final = compile_late(r"[\u3400-\u9fff]")
# A third language: other scripts, or Latin letters that English does not have; and pictures.
_PICTURE: Final = compile_late(r"[\u2190-\u2bff\U0001f000-\U0001faff]")
_FOREIGN: Final = compile_late(r"[^\W\d_a-z\u3400-\u9fff]")
_QUOTED: Final = compile_late(r"[\"“”„«»「」『』]")
_LABEL: Final = compile_late(
    r"(?P<label>[^.:;!\n—–，。：；！]{1,40})[.:;!\n—–。：；！](?P<rest>.+)", re.DOTALL
)
_SELF_REFERENCE: Final = compile_late(r"\b(?:as|like) i said\b|如前所述|正如我所说")
_OPENERS: Final = frozenset(
    {"ok", "okay", "well", "alright", "hm", "hmm", "so", "then", "好", "好的", "嗯"}
)
_STANCES: Final = (
    "support",
    "conditional",
    "oppose",
    "abstain",
    "challenge",
    "declined",
    "REJECTED",
    "APPROVED",
)
"""Whose words keep a text from being read as something else, whatever it may choose from."""
_WHOLE_ANSWERS: Final = frozenset({"是的", "好的", "不行", "不可以", "sure"})
"""Words that make a choice as a whole answer only, beside those of the vocabulary."""


@dataclass(frozen=True, slots=True)
class PositionRead:
    """A choice that a text makes."""

    value: str
    condition: str = ""
    """What must hold for it, in the words of the text."""


@dataclass(frozen=True, slots=True)
class Lexicon:
    """What words mean where certain choices are offered."""

    strong: dict[str, str]
    """Words that make a choice within a clause, and its value."""
    weak: dict[str, str]
    """Words that make a choice as a whole answer only, and its value."""
    pattern: re.Pattern[str]
    """Finds the strong words and those for what is not offered, the longest first."""
    marks: frozenset[str]
    """The longest word of each of those in Latin letters."""
    han: tuple[str, ...]
    """Those in other letters."""
    is_of_names: bool
    """Whether the choices are names, which no other words stand for."""
    is_of_types: bool
    """Whether the choices are kinds of contributions, whose text follows: "challenge: it does not scale"."""


def apply_rule(text: str, choices: Sequence[PersonChoice]) -> PositionRead | None:
    """Return the choice that a text makes; None if it does not make exactly one."""
    if _THUMBS.search(text):
        return _read_thumbs(text, choices)
    plain = fold_text(text)
    if not plain or len(plain) > MAX_READ or _FOREIGN.search(plain) or _STRUCK.search(text):
        return None
    lexicon = build_lexicon(tuple(choices))
    whole = _strip_marks(plain)
    if (value := lexicon.weak.get(whole) or lexicon.strong.get(whole)) is not None:
        return PositionRead(value)
    chosen = _strip_marks(PATTERNS["chosen"].sub("", plain))
    if (
        named := next((each.value for each in choices if fold_text(each.value) == chosen), None)
    ) is not None:
        return PositionRead(named)
    if "?" in plain or _QUOTED.search(plain) or _PICTURE.search(plain):
        return None
    plain = _SELF_REFERENCE.sub(" ", plain)
    return (
        _read_label(plain, lexicon)
        or _read_condition(plain, text, lexicon, choices)
        or _read_clauses(plain, lexicon)
    )


def _read_thumbs(text: str, choices: Sequence[PersonChoice]) -> PositionRead | None:
    """Read thumbs and ticks: they are the whole answer, or its words say the same."""
    signs = {hit[1] is not None for hit in _THUMBS.finditer(text) if hit[1] or hit[0] in "👎❌✖✗✘"}
    words = _THUMBS.sub(" ", text).strip()
    sides = _FOR - {"conditional_support", "conditional"} if signs == {True} else _AGAINST
    bare = next((PositionRead(choice.value) for choice in choices if choice.value in sides), None)
    read = find_choice(words, choices) if words else bare
    return None if read is None or signs != {read.value not in _AGAINST} else read


def _read_label(plain: str, lexicon: Lexicon) -> PositionRead | None:
    """Read a contribution that begins with the name of its kind; its text may deny whatever it likes, but not at once."""
    match = (
        _LABEL.match(plain)
        if lexicon.is_of_types or "challenge" in lexicon.strong.values()
        else None
    )
    if match is None:
        return None
    label, rest = _strip_marks(PATTERNS["of_line"].sub(" ", match["label"])), match["rest"].strip()
    value = lexicon.strong.get(label) or lexicon.weak.get(label)
    first = rest.split(maxsplit=1)[0] if rest and not _AMOUNT.match(rest) else "no"
    others = {
        lexicon.strong.get(" ".join(hit[0].split())) for hit in lexicon.pattern.finditer(rest)
    }
    return (
        PositionRead(value)
        if value is not None and others <= {value} and not _DENIAL.search(first)
        else None
    )


def is_silent(text: str, choices: Sequence[PersonChoice]) -> bool:
    """Whether a text says nothing about the choices: no word for any, no denial, no doubt."""
    return not _is_loud(fold_text(text), build_lexicon(tuple(choices)))


def names_choice(text: str, choices: Sequence[PersonChoice]) -> bool:
    """Whether a text holds a word that means a choice wherever it stands, as "yes" does not."""
    lexicon, plain = build_lexicon(tuple(choices)), fold_text(text)
    # Looking for all of them at once is slow, and most texts have none.
    is_likely = not lexicon.marks.isdisjoint(_LATIN.findall(plain)) or any(
        word in plain for word in lexicon.han
    )
    return (is_likely and lexicon.pattern.search(plain) is not None) or PATTERNS["chosen"].match(
        plain
    ) is not None


def is_plain_name(name: str) -> bool:
    """Whether a field is called as a choice is: "my_vote", "finalAnswer", "立场", and not "previous_vote" or "bob"."""
    return _is_plain(
        fold_text(re.sub(r"(?<=[a-z])(?=[A-Z])|_", " ", name)), build_lexicon(POSITIONS)
    )


def split_clauses(text: str) -> list[str]:
    return _strip_parts(_CLAUSE_END.split(fold_text(text)))


def split_sentences(text: str) -> list[str]:
    return _strip_parts(_SENTENCE_END.split(text))


def _strip_parts(parts: Iterable[str]) -> list[str]:
    """Return the parts without the space around them; empty ones are left out."""
    stripped = [part.strip() for part in parts]
    return [part for part in stripped if part]


def _read_clauses(plain: str, lexicon: Lexicon) -> PositionRead | None:
    """Read a text of one clause that makes a choice and others that are silent."""
    # Names may hold marks ("Node.js"): each word for a choice becomes one sign before the text is cut into clauses.
    words: list[str] = []

    def replace_word(hit: re.Match[str]) -> str:
        words.append(" ".join(hit[0].split()))
        return f" {_SIGN} "

    signed = lexicon.pattern.sub(replace_word, plain)
    values = {lexicon.strong.get(word) for word in words}
    if len(values) > 1 or None in values:
        return None
    value = next(iter(values), None)
    opener: str | None = None
    number, is_led = -1, False
    letters = dict(zip("abcdefgh", dict.fromkeys(lexicon.strong.values()), strict=False))
    for sentence in map(str.strip, _SENTENCE_END.split(signed)):
        is_fronted = is_amount = False
        states = _REASON.search(sentence) is not None
        for clause in map(str.strip, _CLAUSE_END.split(sentence)):
            word, number = _strip_marks(clause), number + 1
            # "B. SQLite, because it is small": the letter of its line.
            is_letter = number == 0 and word in letters
            if not word or word in _OPENERS or (is_letter and letters[word] == value):
                continue
            if word in lexicon.weak and (number == 0 or lexicon.weak[word] == opener):
                opener = lexicon.weak[word]
            elif _SIGN in clause:
                is_apart = is_fronted and not _OWN.search(clause)
                # What a choice is of, where other things were spoken of before it.
                is_unclear = (
                    is_led
                    and not lexicon.is_of_names
                    and not PATTERNS["named_matter"].search(clause)
                )
                if (
                    clause.count(_SIGN) > 1
                    or not _is_plain(clause, lexicon)
                    or is_apart
                    or is_unclear
                ):
                    return None
                is_amount = not states
                states = states or _STATED.search(sentence) is not None
            elif _is_plain(clause, lexicon) and not is_letter and not _is_loud(clause, lexicon):
                continue
            elif (
                not _is_beside(clause, value or opener, lexicon)
                or (is_amount and (word in _VALUES or _AMOUNT.match(clause)))
                or not (
                    states
                    or _is_statement(clause, is_sentence=_SIGN not in sentence)
                    or _FRONT.match(sentence)
                )
            ):
                return None
            else:
                is_fronted, states, is_amount = not _REASON.match(sentence), True, False
                # "Leave it as it is. I support that": what is supported is not the motion.
                is_led = is_led or (
                    is_fronted
                    and not (PATTERNS["of_matter"].match(clause) or _FRONT.match(sentence))
                )
    if (
        value is None
        and opener is not None
        and (_REASON.search(plain) or PATTERNS["headed"].match(plain) or lexicon.is_of_types)
    ):
        value = opener
    return None if value is None or opener not in {None, value} else PositionRead(value)


_SIGN: Final = "\ue000"
_STATED: Final = compile_late(rf"{_REASON.pattern}|{_SIGN}[^,.;!\n，。；！、]*[:：—–]")


def _is_plain(clause: str, lexicon: Lexicon) -> bool:
    """Whether every word beside the one for the choice is known."""
    known = _PLAIN | _PICK if lexicon.is_of_names else _PLAIN
    words = _LATIN.findall(_PHRASES.sub(" ", clause))
    if _MEASURE.search(clause) or any(
        word not in known and not _REFERENCE.fullmatch(word) for word in words
    ):
        return False
    return (
        _HAN.search((_HAN_OF_NAMES if lexicon.is_of_names else _HAN_WORDS).sub(" ", clause)) is None
    )


def _is_beside(clause: str, value: str | None, lexicon: Lexicon) -> bool:
    """Whether a clause says nothing of the choice: no other one, no denial or doubt, no blame of what is supported."""
    words = (word for word in _LATIN.findall(clause) if len(word) > 1 and word not in LONE_WORDS)
    is_other = any(lexicon.weak.get(word, value) != value for word in words)
    return not (
        is_other
        or _is_loud(clause, lexicon)
        or (value in _FOR and _BLAME.search(clause))
        or _GOES_ON.match(clause)
    )


def _is_statement(clause: str, *, is_sentence: bool) -> bool:
    """Whether a clause states something of the matter, and is not a tag that may turn the choice round ("support, my foot")."""
    if _STATES.match(clause):
        return True
    if _HAN.search(clause):
        return len(_LATIN.findall(clause)) + len(_HAN.findall(clause)) >= 3
    return (
        is_sentence
        and _SENTENCE.match(clause) is not None
        and PATTERNS["function"].search(clause) is not None
    )


def _compile_words(words: Sequence[str]) -> re.Pattern[str]:
    return re.compile("|".join(re.escape(word) for word in sorted(words, key=len, reverse=True)))


_HAN_WORDS: Final = _compile_words(CLAUSE_WORDS["plain_han"])
_HAN_OF_NAMES: Final = _compile_words((*CLAUSE_WORDS["plain_han"], *CLAUSE_WORDS["pick_han"]))


def _read_condition(
    plain: str, text: str, lexicon: Lexicon, choices: Sequence[PersonChoice]
) -> PositionRead | None:
    """Read "I support it if it ships by May", "If it is cheap, I support it", or "conditional support: with tests"."""
    conditional = next(
        (each.value for each in choices if each.value in {"conditional", "conditional_support"}),
        None,
    )
    if conditional is None:
        return None
    # As it was written, where folding has kept every character in its place.
    written = unicodedata.normalize("NFKC", text).strip()
    written = written if len(written) == len(plain) else plain
    mark = _IF.search(plain)
    if mark is None:
        colon = re.search(r"[:：—–]|\s-\s", plain)
        head = "" if colon is None else _strip_marks(plain[: colon.start()])
        if (
            colon is None
            or lexicon.strong.get(head) != conditional
            or lexicon.pattern.search(plain, colon.end())
        ):
            return None
        return PositionRead(conditional, written[colon.end() :].strip(_EDGES))
    head, tail = plain[: mark.start()].strip(_EDGES), plain[mark.end() :]
    end = (_SENTENCE_END if head else _COMMA).search(tail)
    stop = len(tail) if end is None else end.start()
    after = "" if end is None else tail[end.end() :]
    condition = written[
        mark.start() if head and mark[0].endswith(("unless", "除非")) else mark.end() : mark.end()
        + stop
    ].strip(_EDGES)
    # A condition may deny ("if it does not cost more"), but it takes no side and holds no second one.
    if not condition or any(
        each.search(tail, 0, stop) for each in (lexicon.pattern, _IF, PATTERNS["second_thought"])
    ):
        return None
    # What comes after it is silent, or the position itself: "If it is cheap, I support it."
    read = _read_clauses(f"{head}\n{after}", lexicon)
    word = _strip_marks(head)
    opens = word not in LONE_WORDS and not _is_loud(after, lexicon) and lexicon.weak.get(word)
    side = opens or (None if read is None else read.value)
    return PositionRead(conditional, condition) if side in {"support", conditional} else None


def _is_loud(text: str, lexicon: Lexicon) -> bool:
    """Whether a text says something about a choice, denies or doubts."""
    return any(each.search(text) for each in (lexicon.pattern, _DENIAL, _DOUBT))


_EDGES: Final = " ,，:：—–-.。"
_COMMA: Final = compile_late(r"[,，]|\bthen\b|就")


@lru_cache(maxsize=256)
def build_lexicon(choices: tuple[PersonChoice, ...]) -> Lexicon:
    """Build what words mean where these choices are offered."""
    # Who may abstain from a choice among names still chooses among names.
    is_of_names = not has_meaning([choice for choice in choices if choice.value != "abstain"])
    offered = {choice.value for choice in choices}
    is_of_types = bool(offered & {"propose", "synthesize", "extend", "vote", "pass"})
    strong: dict[str, str] = {}
    weak: dict[str, str] = {}
    for choice in choices:
        names = (choice.value, choice.text, *choice.words)
        for word in (
            *names,
            *(each for name in names for each in _list_unmarked(name)),
            *list_synonyms(choice),
        ):
            folded = fold_text(word)
            is_weak = (
                folded in BARE_WORDS
                or folded in LONE_WORDS
                or folded in _WHOLE_ANSWERS
                or len(folded) == 1
            )
            # The name of a kind of contribution is a word like any other: "I pass".
            is_weak = is_weak and not (is_of_types and folded == choice.value)
            if folded:
                (weak if is_weak else strong).setdefault(folded, choice.value)
    others: list[str] = []
    for value in _STANCES:
        if value not in offered:
            others.extend(CHOICE_WORDS[value])
    blocking = (
        {fold_text(word) for word in (*others, *CLAUSE_WORDS["more_stances"])}
        - weak.keys()
        - BARE_WORDS
        - LONE_WORDS
    )
    known = set(strong)
    if not is_of_names:
        known |= blocking
    listed = sorted(known, key=len, reverse=True)
    pattern = re.compile("|".join(_build_word_pattern(word) for word in listed) or r"(?!)")
    return Lexicon(
        strong=strong,
        weak=weak,
        pattern=pattern,
        marks=_list_longest_latin(listed),
        han=tuple(word for word in listed if not _LATIN.search(word)),
        is_of_names=is_of_names,
        is_of_types=is_of_types,
    )


def _list_longest_latin(texts: Iterable[str]) -> frozenset[str]:
    """Return the longest Latin word of each text that has one."""
    longest: set[str] = set()
    for text in texts:
        words = _LATIN.findall(text)
        if words:
            longest.add(max(words, key=len))
    return frozenset(longest)


def list_synonyms(choice: PersonChoice) -> tuple[str, ...]:
    """Return the words that mean the same as a choice, in both languages."""
    return CHOICE_WORDS.get(choice.value) or CHOICE_WORDS.get(normalize_label(choice.value), ())


def _list_unmarked(name: str) -> tuple[str, ...]:
    """Return what else names an option: "B. Postgres" is Postgres, and A is option A."""
    folded = fold_text(name)
    marked = re.fullmatch(r"(?:[a-z]|\d{1,2})\s*[.):、]\s*(\S.*)", folded)
    if marked is not None:
        return (marked[1],)
    return (
        (f"option {folded}", f"answer {folded}", f"选项{folded}", f"选项 {folded}")
        if len(folded) == 1
        else ()
    )


def _build_word_pattern(word: str) -> str:
    escaped = re.escape(word).replace(r"\ ", r"\s+")
    before = r"(?<![a-z0-9_'])" if word[0].isascii() else ""
    after = r"(?![a-z0-9_'])" if word[-1].isascii() else ""
    return f"{before}{escaped}{after}"


def _strip_marks(text: str) -> str:
    return " ".join(text.strip("\"'.,;:!(){}。，；：！（）【】“”‘’- ").split())


_LETTER = compile_late(
    r"(?:option\s+|answer\s+|选项\s*)?(?P<mark>[a-z]|\d{1,2})\s*(?:[.):、）：]|$)\s*(?P<rest>.*)",
    re.DOTALL,
)
_LINE_NUMBER: Final = compile_late(r"#(\d{1,6})")
_NUMBERED_CLAUSE: Final = compile_late(
    r"[.;；。\n]|\s(?:and|but|while)\s|[,，、](?=[^#]{0,40}#\d)|而|但"
)
_JOINED: Final = compile_late(r"(?<=\d)\s*(?:[,，、&和与]|and\b)\s*(?=#\d)")
MIN_PREFIX: Final = 4
"""How many letters of a word for a choice must be typed: "con" may be the beginning of a condition, or against it."""


@lru_cache(maxsize=256)
def split_by_line_number(text: str) -> list[tuple[int | None, str]]:
    """Return what each clause says of the lines that it names: "I support #5 and oppose #6" speaks of both apart.

    A clause that names no line has None: what it says may take back what another one says.
    """
    clauses: list[tuple[int | None, str]] = []
    for clause in filter(str.strip, _NUMBERED_CLAUSE.split(_JOINED.sub(" ", text))):
        words = " ".join(_LINE_NUMBER.sub(" it ", clause).split())
        clauses += [(int(number), words) for number in _LINE_NUMBER.findall(clause)] or [
            (None, words)
        ]
    return clauses


def build_choices(options: tuple[str, ...]) -> tuple[PersonChoice, ...]:
    return tuple(PersonChoice(value=option, text=option) for option in options)


POSITIONS: Final = build_choices(("support", "conditional_support", "oppose", "abstain"))
"""The sides that a vote may take."""


def list_words(choice: PersonChoice) -> tuple[str, ...]:
    """Return every word that means a choice: its value, what is shown, and what else says the same."""
    return (choice.value, choice.text, *choice.words, *list_synonyms(choice))


def has_meaning(choices: Sequence[PersonChoice]) -> bool:
    """Whether the choices are positions, verdicts or the like, which have other words, and not names alone."""
    return any(list_synonyms(choice) for choice in choices)


def find_choice(text: str, choices: Sequence[PersonChoice]) -> PositionRead | None:
    """Return the one choice that a text makes; None if it does not make exactly one."""
    chosen = read_choice(text, choices)
    return PositionRead(chosen) if chosen is not None else apply_rule(text, choices)


def is_sentence(text: str, choices: Sequence[PersonChoice]) -> bool:
    """Whether neither a text nor its first line just names a choice: what it says of one is taken from its words."""
    return all(
        read_choice(each, choices) is None for each in (text, text.strip().partition("\n")[0])
    )


def read_option(text: str, choices: Sequence[PersonChoice]) -> str | None:
    """Return the one option that a text names, such as "I propose Postgres, because …"; None if none or several."""
    read = find_choice(text, choices)
    return None if read is None else read.value


@lru_cache(maxsize=256)
def _index_words(choices: tuple[PersonChoice, ...]) -> dict[str, str]:
    """Return the value of each word. A choice by its own name comes before a word for another one."""
    values = {
        name: each.value
        for each in reversed(choices)
        for name in (_fold(each.value), _fold(each.text))
    }
    for choice in choices:
        for word in list_words(choice):
            values.setdefault(_fold(word), choice.value)
    values.pop("", None)
    return values


def read_choice(text: str, choices: Sequence[PersonChoice]) -> str | None:
    """Return the choice that a whole text is: by number, by letter, by word or by a part of its name; None if not certain."""
    text = text.strip()
    if len(text) > MAX_READ:
        return None
    typed = _fold(text)
    if _STRUCK.search(text) or (
        re.search(r"[?？]\W*$", text) and not any("?" in fold_text(each.text) for each in choices)
    ):
        return None
    if (value := _index_words(tuple(choices)).get(typed)) is not None:
        return value
    mark = _LETTER.fullmatch(unicodedata.normalize("NFKC", text).strip().casefold())
    if mark is not None:
        return _read_marked_choice(mark["mark"], _fold(mark["rest"]), choices)
    shortest = MIN_PREFIX if typed.isascii() and has_meaning(choices) else 2
    begun = [
        choice
        for choice in choices
        if len(typed) >= shortest and _fold(choice.text).startswith(typed)
    ]
    before = r"(?<![a-z0-9_])" if typed[:1].isascii() else ""
    name = re.compile(
        before + re.escape(typed) + (r"(?![a-z0-9_])" if typed[-1:].isascii() else "")
    )
    holding = [choice for choice in choices if len(typed) >= 3 and name.search(_fold(choice.text))]
    meant = begun if len(begun) == 1 else holding
    # "Cache" is no part of "No cache", and "no" says nothing of it.
    return (
        meant[0].value
        if len(meant) == 1 and not _DENIAL.search(fold_text(f"{typed} {meant[0].text}"))
        else None
    )


def is_line_mark(text: str, choices: Sequence[PersonChoice]) -> bool:
    """Whether a text is the number or the letter of a line, and no choice is called that."""
    mark = _LETTER.fullmatch(unicodedata.normalize("NFKC", text).strip().casefold())
    if mark is None or mark["rest"]:
        return False
    label = re.compile(rf"{re.escape(mark['mark'])}(?:\W|$)")
    return not any(
        label.match(word.casefold()) for choice in choices for word in list_words(choice)
    )


def _read_marked_choice(mark: str, rest: str, choices: Sequence[PersonChoice]) -> str | None:
    """Read "2", "B. Postgres" and, of names, "b" ("a" may be abstain); an option's own mark must be the one of its name."""
    if rest:
        bare = [choice.value for choice in choices if _fold(choice.text) == mark]
        named = [
            choice.value for choice in choices if rest in {_fold(choice.text), _fold(choice.value)}
        ]
        own = [choice.value for choice in choices if _fold(choice.text).startswith(f"{mark}.")]
        if bare:
            return bare[0]
        return named[0] if named and (not own or own == named) else None
    # An option that is called "B. Postgres" itself comes before the second of the list.
    lettered = [
        choice.value
        for choice in choices
        if re.match(rf"{re.escape(mark)}\W", choice.text.casefold())
    ]
    if lettered:
        return lettered[0] if len(lettered) == 1 else None
    if mark.isdigit():
        at = int(mark) - 1
    elif has_meaning(choices):
        return None
    else:
        at = ord(mark) - ord("a")
    return choices[at].value if 0 <= at < len(choices) else None


def _fold(text: str) -> str:
    return normalize_label(text.replace("_", " ")).strip(
        "\"'`*.,;:!?()[]{}。，；：！？（）【】“”‘’ "
    )
