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
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Final

from moothall.domain.person import PersonChoice
from moothall.domain.topic import normalize_label
from moothall.domain.vocabulary import BARE_WORDS, CHOICE_WORDS, CLAUSE_WORDS, LONE_WORDS

MAX_READ: Final = 2_000
"""A longer text is an essay: nothing is read from it."""

# What else may stand in a clause that makes a choice.
_PLAIN: Final = frozenset(CLAUSE_WORDS["plain"])
_PICK: Final = frozenset(CLAUSE_WORDS["pick"])
_PLAIN_HAN: Final = CLAUSE_WORDS["plain_han"]
_PICK_HAN: Final = CLAUSE_WORDS["pick_han"]
_DENIAL: Final = re.compile(
    r"\b(?:no|not|never|neither|nor|nobody|none|nothing|nowhere|cannot|cant|dont|wont|[a-z]+n't|without|hardly|barely|scarcely|"
    r"rarely|seldom|unable|refus[a-z]+|fail[a-z]*|deny|denies|denied|lack[a-z]*|withh[a-z]+|withdr[a-z]+|un|non|anti|ex|instead|"
    r"rather|except|unlike|less|far from|anything but|nicht|kein[a-z]*|nein|pas|nie|nunca|ditch|drop[a-z]*|avoid[a-z]*|"
    r"abandon[a-z]*|worse|worst|bad|wrong)\b"
    r"|不|没|无|非(?!常)|未|(?<!特)别(?!的)|勿|莫|否|拒|难以|放弃|休想|才怪"
)
_DOUBT: Final = re.compile(
    r"\b(?:if|unless|provided|whether|but|however|although|though|yet|whereas|despite|said|says?|saying|argu[a-z]+|claims|claimed|"
    r"according|quot[a-z]+|wrote|pretend[a-z]*|suppose[a-z]*|imagin[a-z]+|kidding|joking|sarcas[a-z]+|iron[a-z]+|maybe|perhaps|"
    r"possibly|probably|lean[a-z]*|tend[a-z]*|partly|partial|partially|once|until|till|pending|subject|provisional[a-z]*)\b"
    r"|如果|若|除非|只要|假如|前提|但|不过|虽|尽管|说|称|问|据|假装|开玩笑|反话|也许|可能|大概|几乎|部分"
)
_IF: Final = re.compile(
    r"\b(?:but )?(?:only )?(?:if|unless|assuming|provided that|provided|as long as|so long as|on the condition that|"
    r"on condition that|on the condition)\b|如果|只要|前提是|条件是|但须|但需|除非|假如"
)
_UNLESS: Final = ("unless", "除非")
_SECOND_THOUGHT: Final = re.compile(r"\b(?:otherwise|else|were|had|not for)\b|否则|不是为")
# What is hardly said for a thing: a text that is for it and says so is asked about.
_BLAME: Final = re.compile(
    r"\b(?:terrible|terribly|awful[a-z]*|horrib[a-z]+|stupid[a-z]*|dangerous[a-z]*|disast[a-z]+|foolish|nonsense|false|dreams?|mess)\b"
    r"|坏|差|蠢|糟|烂|屁|荒唐|危险"
)
_FOR: Final = frozenset({"support", "conditional_support", "conditional", "APPROVED", "confirmed", "adopted", "agree", "yes"})
_OWN: Final = re.compile(r"\b(?:i|we|my|our)\b|我|本席")
_GOES_ON: Final = re.compile(r"(?:is|was|are|were|would|has|had|does|did)\b")
_SENTENCE_END: Final = re.compile(r"[.!](?=\s|$)|[。！;；\n]")
_REASON: Final = re.compile(r"\b(?:because|since)\b|因为|由于")
_CLAUSE_END: Final = re.compile(rf"[,.;:!\n—–(){{}}，。；：！、]+|\s-+\s|{_REASON.pattern}")
_LATIN: Final = re.compile(r"[a-z0-9#']+")
_REFERENCE: Final = re.compile(r"#?\d{1,6}")
_HAN: Final = re.compile(r"[\u3400-\u9fff]")
# A third language: other scripts, or Latin letters that English does not have. Pictures, but for a tick and a thumb up.
_PICTURE: Final = re.compile(r"[\u2190-\u2704\u2706-\u2713\u2715-\u2bff\U0001f000-\U0001f44c\U0001f44e-\U0001faff]")
_FOREIGN: Final = re.compile(r"[^\W\d_a-z\u3400-\u9fff]")
_QUOTED: Final = re.compile(r"[\"“”„«»「」『』]")
_MARKUP: Final = re.compile(r"[*_`~|\[\]<>]+")
_SIMPLIFIED: Final = str.maketrans(
    "贊對棄權條這個動議決認為應該當們堅選擇給強沒無難別駁過絕證實偽確錯誤屬質採納補擴總結綜論態見說稱問寫項還",
    "赞对弃权条这个动议决认为应该当们坚选择给强没无难别驳过绝证实伪确错误属质采纳补扩总结综论态见说称问写项还",
)
_TYPES: Final = frozenset({"propose", "synthesize", "extend", "vote", "pass"})
_LABEL: Final = re.compile(r"(?P<label>[^.:;!\n—–，。：；！]{1,40})[.:;!\n—–。：；！](?P<rest>.+)", re.DOTALL)
_SELF_REFERENCE: Final = re.compile(r"\b(?:as|like) i said\b|如前所述|正如我所说")
_OPENERS: Final = frozenset({"ok", "okay", "well", "alright", "hm", "hmm", "so", "then", "好", "好的", "嗯"})
_STANCES: Final = ("support", "conditional", "oppose", "abstain", "challenge", "declined", "REJECTED", "APPROVED")
"""Whose words keep a text from being read as something else, whatever it may choose from."""
_MORE_STANCES: Final = CLAUSE_WORDS["more_stances"]
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
    plain = fold_text(text)
    if not plain or len(plain) > MAX_READ or _FOREIGN.search(plain):
        return None
    lexicon = build_lexicon(tuple(choices))
    whole = _strip_marks(plain)
    if (value := lexicon.weak.get(whole) or lexicon.strong.get(whole)) is not None:
        return PositionRead(value)
    if "?" in plain or _QUOTED.search(plain) or _PICTURE.search(plain):
        return None
    plain = _SELF_REFERENCE.sub(" ", plain)
    return _read_label(plain, lexicon) or _read_condition(plain, text, lexicon, choices) or _read_clauses(plain, lexicon)


def _read_label(plain: str, lexicon: Lexicon) -> PositionRead | None:
    """Read a contribution that begins with the name of its kind; its text may deny whatever it likes, but not at once."""
    match = _LABEL.match(plain) if lexicon.is_of_types else None
    if match is None:
        return None
    label, rest = _strip_marks(match["label"]), match["rest"].strip()
    value = lexicon.strong.get(label) or lexicon.weak.get(label)
    first = rest.split(maxsplit=1)[0] if rest else ""
    others = {lexicon.strong.get(" ".join(hit[0].split())) for hit in lexicon.pattern.finditer(rest)}
    return PositionRead(value) if value is not None and others <= {value} and not _DENIAL.search(first) else None


def is_silent(text: str, choices: Sequence[PersonChoice]) -> bool:
    """Whether a text says nothing about the choices: no word for any, no denial, no doubt."""
    return not _is_loud(fold_text(text), build_lexicon(tuple(choices)))


def names_choice(text: str, choices: Sequence[PersonChoice]) -> bool:
    """Whether a text holds a word that means a choice wherever it stands, as "yes" does not."""
    lexicon, plain = build_lexicon(tuple(choices)), fold_text(text)
    # Looking for all of them at once is slow, and most texts have none.
    is_likely = not lexicon.marks.isdisjoint(_LATIN.findall(plain)) or any(word in plain for word in lexicon.han)
    return is_likely and lexicon.pattern.search(plain) is not None


def split_clauses(text: str) -> list[str]:
    return [clause for each in _CLAUSE_END.split(fold_text(text)) if (clause := each.strip())]


def split_sentences(text: str) -> list[str]:
    return [sentence for each in _SENTENCE_END.split(text) if (sentence := each.strip())]


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
    number = -1
    for sentence in map(str.strip, _SENTENCE_END.split(signed)):
        is_fronted = False
        for clause in map(str.strip, _CLAUSE_END.split(sentence)):
            word, number = _strip_marks(clause), number + 1
            if not word or word in _OPENERS:
                continue
            if word in lexicon.weak and (number == 0 or lexicon.weak[word] == opener):
                opener = lexicon.weak[word]
            elif _SIGN in clause:
                if clause.count(_SIGN) > 1 or not _is_plain(clause, lexicon) or (is_fronted and not _OWN.search(clause)):
                    return None
            elif not _is_beside(
                clause, value or opener, lexicon, is_reason=_SIGN not in sentence or bool(_STATED.search(signed))
            ):
                return None
            else:
                is_fronted = not _REASON.match(sentence) and not _is_plain(clause, lexicon)
    if value is None and opener is not None and (_REASON.search(plain) or lexicon.is_of_types):
        value = opener
    return None if value is None or opener not in {None, value} else PositionRead(value)


_SIGN: Final = "\ue000"
_STATED: Final = re.compile(rf"{_REASON.pattern}|{_SIGN}[^,.;!\n，。；！、]*[:：—–]")


def _is_plain(clause: str, lexicon: Lexicon) -> bool:
    """Whether every word beside the one for the choice is known."""
    known = _PLAIN | _PICK if lexicon.is_of_names else _PLAIN
    if any(word not in known and not _REFERENCE.fullmatch(word) for word in _LATIN.findall(clause)):
        return False
    return _HAN.search((_HAN_OF_NAMES if lexicon.is_of_names else _HAN_WORDS).sub(" ", clause)) is None


def _is_beside(clause: str, value: str | None, lexicon: Lexicon, *, is_reason: bool) -> bool:
    """Whether a clause says nothing of the choice: no other one, no denial or doubt, no blame of what is supported, no tag."""
    words = _LATIN.findall(clause)
    others = {lexicon.weak.get(word, value) for word in words if len(word) > 1 and word not in LONE_WORDS} - {value}
    if others or _is_loud(clause, lexicon) or (value in _FOR and _BLAME.search(clause)):
        return False
    is_tag = len(words) + len(_HAN.findall(clause)) < 3 and not is_reason
    return _is_plain(clause, lexicon) or not (is_tag or _GOES_ON.match(clause))


def _compile_words(words: Sequence[str]) -> re.Pattern[str]:
    return re.compile("|".join(re.escape(word) for word in sorted(words, key=len, reverse=True)))


_HAN_WORDS: Final = _compile_words(_PLAIN_HAN)
_HAN_OF_NAMES: Final = _compile_words((*_PLAIN_HAN, *_PICK_HAN))


def _read_condition(plain: str, text: str, lexicon: Lexicon, choices: Sequence[PersonChoice]) -> PositionRead | None:
    """Read "I support it if it ships by May", "If it is cheap, I support it", or "conditional support: with tests"."""
    conditional = next((each.value for each in choices if each.value in {"conditional", "conditional_support"}), None)
    if conditional is None:
        return None
    # As it was written, where folding has kept every character in its place.
    written = unicodedata.normalize("NFKC", text).strip()
    written = written if len(written) == len(plain) else plain
    mark = _IF.search(plain)
    if mark is None:
        colon = re.search(r"[:：—–]|\s-\s", plain)
        head = "" if colon is None else _strip_marks(plain[: colon.start()])
        if colon is None or lexicon.strong.get(head) != conditional or lexicon.pattern.search(plain, colon.end()):
            return None
        return PositionRead(conditional, written[colon.end() :].strip(_EDGES))
    head, tail = plain[: mark.start()].strip(_EDGES), plain[mark.end() :]
    end = (_SENTENCE_END if head else _COMMA).search(tail)
    stop = len(tail) if end is None else end.start()
    after = "" if end is None else tail[end.end() :]
    condition = written[mark.start() if head and mark[0].endswith(_UNLESS) else mark.end() : mark.end() + stop].strip(_EDGES)
    # A condition may deny ("if it does not cost more"), but it takes no side and holds no second one.
    if not condition or any(each.search(tail, 0, stop) for each in (lexicon.pattern, _IF, _SECOND_THOUGHT)):
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
_COMMA: Final = re.compile(r"[,，]|\bthen\b|就")


@lru_cache(maxsize=256)
def build_lexicon(choices: tuple[PersonChoice, ...]) -> Lexicon:
    """Build what words mean where these choices are offered."""
    is_of_names = not any(list_synonyms(choice) for choice in choices)
    offered = {choice.value for choice in choices}
    is_of_types = bool(offered & _TYPES)
    strong: dict[str, str] = {}
    weak: dict[str, str] = {}
    for choice in choices:
        names = (choice.value, choice.text, *choice.words)
        for word in (*names, *(each for name in names for each in _list_unmarked(name)), *list_synonyms(choice)):
            folded = fold_text(word)
            is_weak = folded in BARE_WORDS or folded in LONE_WORDS or folded in _WHOLE_ANSWERS or len(folded) == 1
            # The name of a kind of contribution is a word like any other: "I pass".
            is_weak = is_weak and not (is_of_types and folded == choice.value)
            if folded:
                (weak if is_weak else strong).setdefault(folded, choice.value)
    others = (word for value in _STANCES if value not in offered for word in CHOICE_WORDS[value])
    blocking = {fold_text(word) for word in (*others, *_MORE_STANCES)} - weak.keys() - BARE_WORDS - LONE_WORDS
    listed = sorted({*strong, *(() if is_of_names else blocking)}, key=len, reverse=True)
    pattern = re.compile("|".join(_build_word_pattern(word) for word in listed) or r"(?!)")
    return Lexicon(
        strong=strong,
        weak=weak,
        pattern=pattern,
        marks=frozenset(max(words, key=len) for word in listed if (words := _LATIN.findall(word))),
        han=tuple(word for word in listed if not _LATIN.search(word)),
        is_of_names=is_of_names,
        is_of_types=is_of_types,
    )


def list_synonyms(choice: PersonChoice) -> tuple[str, ...]:
    """Return the words that mean the same as a choice, in both languages."""
    return CHOICE_WORDS.get(choice.value) or CHOICE_WORDS.get(normalize_label(choice.value), ())


def _list_unmarked(name: str) -> tuple[str, ...]:
    """Return what else names an option: "B. Postgres" is Postgres, and A is option A."""
    folded = fold_text(name)
    marked = re.fullmatch(r"(?:[a-z]|\d{1,2})\s*[.):、]\s*(\S.*)", folded)
    if marked is not None:
        return (marked[1],)
    return (f"option {folded}", f"answer {folded}", f"选项{folded}", f"选项 {folded}") if len(folded) == 1 else ()


def _build_word_pattern(word: str) -> str:
    escaped = re.escape(word).replace(r"\ ", r"\s+")
    before = r"(?<![a-z0-9_'])" if word[0].isascii() else ""
    after = r"(?![a-z0-9_'])" if word[-1].isascii() else ""
    return f"{before}{escaped}{after}"


def fold_text(text: str) -> str:
    """Return a text in the form in which it is compared: one width, lower case, simplified, without markup."""
    folded = text.casefold()
    if not text.isascii():
        folded = unicodedata.normalize("NFKC", text).casefold().replace("’", "'").translate(_SIMPLIFIED)
    return _MARKUP.sub(" ", folded).strip()


def _strip_marks(text: str) -> str:
    return " ".join(text.strip("\"'.,;:!(){}。，；：！（）【】“”‘’- ").split())


_LETTER = re.compile(r"(?:option\s+|answer\s+|选项\s*)?(?P<mark>[a-z]|\d{1,2})\s*(?:[.):、）：]|$)\s*(?P<rest>.*)", re.DOTALL)
_LINE_NUMBER: Final = re.compile(r"#(\d{1,6})")
_NUMBERED_CLAUSE: Final = re.compile(r"[.;；。\n]|\s(?:and|but|while)\s|[,，、](?=[^#]{0,40}#\d)|而|但")
MIN_PREFIX: Final = 4
"""How many letters of a word for a choice must be typed: "con" may be the beginning of a condition, or against it."""


@lru_cache(maxsize=256)
def split_by_line_number(text: str) -> list[tuple[int | None, str]]:
    """Return what each clause says of the lines that it names: "I support #5 and oppose #6" speaks of both apart.

    A clause that names no line has None: what it says may take back what another one says.
    """
    clauses: list[tuple[int | None, str]] = []
    for clause in filter(str.strip, _NUMBERED_CLAUSE.split(text)):
        words = " ".join(_LINE_NUMBER.sub(" it ", clause).split())
        clauses += [(int(number), words) for number in _LINE_NUMBER.findall(clause)] or [(None, words)]
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
    return all(read_choice(each, choices) is None for each in (text, text.strip().partition("\n")[0]))


def read_option(text: str, choices: Sequence[PersonChoice]) -> str | None:
    """Return the one option that a text names, such as "I propose Postgres, because …"; None if none or several."""
    read = find_choice(text, choices)
    return None if read is None else read.value


@lru_cache(maxsize=256)
def _index_words(choices: tuple[PersonChoice, ...]) -> dict[str, str]:
    """Return the value of each word. A choice by its own name comes before a word for another one."""
    values = {name: each.value for each in reversed(choices) for name in (_fold(each.value), _fold(each.text))}
    for choice in choices:
        for word in list_words(choice):
            values.setdefault(_fold(word), choice.value)
    values.pop("", None)
    return values


def read_choice(text: str, choices: Sequence[PersonChoice]) -> str | None:
    """Return the choice that a whole text is: by number, by letter, by word or by a part of its name; None if not certain."""
    typed = _fold(text)
    if text.rstrip().endswith(("?", "？")) and not any("?" in fold_text(each.text) for each in choices):
        return None
    if (value := _index_words(tuple(choices)).get(typed)) is not None:
        return value
    mark = _LETTER.fullmatch(unicodedata.normalize("NFKC", text).strip().casefold())
    if mark is not None:
        return _read_marked_choice(mark["mark"], _fold(mark["rest"]), choices)
    shortest = MIN_PREFIX if typed.isascii() and has_meaning(choices) else 2
    begun = [choice.value for choice in choices if len(typed) >= shortest and _fold(choice.text).startswith(typed)]
    if len(begun) == 1:
        return begun[0]
    is_name = len(typed) >= 3 and not _DENIAL.search(fold_text(typed))
    holding = [choice.value for choice in choices if is_name and _holds_name(_fold(choice.text), typed)]
    return holding[0] if len(holding) == 1 else None


def is_line_mark(text: str, choices: Sequence[PersonChoice]) -> bool:
    """Whether a text is the number or the letter of a line, and no choice is called that."""
    mark = _LETTER.fullmatch(unicodedata.normalize("NFKC", text).strip().casefold())
    if mark is None or mark["rest"]:
        return False
    label = re.compile(rf"{re.escape(mark['mark'])}(?:\W|$)")
    return not any(label.match(word.casefold()) for choice in choices for word in list_words(choice))


def _read_marked_choice(mark: str, rest: str, choices: Sequence[PersonChoice]) -> str | None:
    """Read "2", "b" or "B. Postgres"; where options bear marks themselves, the name must be the one of its mark."""
    if rest:
        bare = [choice.value for choice in choices if _fold(choice.text) == mark]
        named = [choice.value for choice in choices if rest in {_fold(choice.text), _fold(choice.value)}]
        own = [choice.value for choice in choices if _fold(choice.text).startswith(f"{mark}.")]
        return bare[0] if bare else named[0] if named and (not own or own == named) else None
    # An option that is called "B. Postgres" itself comes before the second of the list.
    lettered = [choice.value for choice in choices if re.match(rf"{re.escape(mark)}\W", choice.text.casefold())]
    if lettered:
        return lettered[0] if len(lettered) == 1 else None
    at = int(mark) - 1 if mark.isdigit() else ord(mark) - ord("a")
    return choices[at].value if 0 <= at < len(choices) else None


def _holds_name(text: str, name: str) -> bool:
    edge = r"(?<![a-z0-9_])" if name[0].isascii() else ""
    after = r"(?![a-z0-9_])" if name[-1].isascii() else ""
    return re.search(f"{edge}{re.escape(name)}{after}", text) is not None


def _fold(text: str) -> str:
    return normalize_label(text.replace("_", " ")).strip("\"'`*.,;:!?()[]{}。，；：！？（）【】“”‘’ ")
