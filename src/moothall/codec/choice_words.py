"""Finds what was chosen in words: by number, by label, by name, by a word for it, or in a sentence; people and models alike.

Only what is certain is read. "Nobody can support this" is not support.
"""

import re
import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Final

from moothall.domain.person import PersonChoice
from moothall.domain.topic import normalize_label
from moothall.domain.vocabulary import BARE_WORDS, CHOICE_WORDS, LONE_WORDS

LONGEST_SENTENCE: Final = 400
"""Where a position is looked for: in the first sentence, and not beyond so many characters."""

# Words that may stand before a position, as in "I would strongly support". No filler is made of others: a text of fillers alone
# must not be matched in many ways.
_FILLER: Final = (
    r"(?:(?:i|i'm|i'd|i'll|we|we'd|my|our|vote|votes|position|verdict|answer|stance|choice|final|is|am|are|do|would|will|can|have|"
    r"must|to|be|it|hereby|strongly|fully|clearly|firmly|cautiously|still|also|therefore|thus|overall|so|well|hm|in|the|motion|"
    r"decision|proposal|this|that|and|a|an|on|as|for|me|personally|inclined|think)(?![a-z0-9_'])|"
    r"(?:我们|我|投票|投|表示|对此|对|这个|该|动议|决定|提案|完全|坚决|还是|也|就|会|选择|的|意见|态度|立场|是|给|认为|应该|应当))"
)
_NOT: Final = r"(?:not|never|cannot|can't|cant|don't|dont|won't|wouldn't|doesn't|isn't)"
_AFTER_LONE: Final = r"(?=\s*(?:$|[,.;:!?，。；：！？、—–-]))"
_AFTER_BARE: Final = (
    r"(?=\s*(?:$|[,.;:!?，。；：！？、—–-]|(?:because|since|as|if|unless|but|to|on|provided|so)\b|因为|如果|只要|但))"
)
_IF: Final = (
    r"(?:but\s+)?(?:only\s+)?(?:if|when|once|unless|assuming|provided(?:\s+that)?|as\s+long\s+as|so\s+long\s+as|"
    r"on\s+(?:the\s+)?condition(?:\s+that)?|如果|只要|只有|前提是|条件是|但须|但需|除非|假如|若)"
)
_OBJECT: Final = r"(?:\s*(?:it|this|that|the\s+(?:motion|proposal|decision|resolution|idea)|#\d+|它|该动议|动议|这个决定|提案))?"
_SENTENCE_END = re.compile(r"[.!?](?=\s|$)|[。！？;；\n]")
_CLAUSE_END = re.compile(r"[,.;:!?，。；：！？、\n—–]|\b(?:because|since|so|but)\b|因为|所以|但")
_LETTER = re.compile(r"(?:option\s+|answer\s+|选项\s*)?(?P<mark>[a-z]|\d{1,2})\s*(?:[.):、）：]|$)\s*(?P<rest>.*)", re.DOTALL)
_FIRST_PERSON = re.compile(r"[,，:：]\s*(?=(?:i|we|my|our|then)\b|我|就)|(?<=\s)(?=(?:i|we|my|our)\b)|(?<=[\w，])(?=我)")
# What a clause of one's own cannot hang on: "the claim that I support it".
_HANGING = re.compile(r"(?:\b(?:that|whether|why|how|until|before|should|could|can|do|did|if|when)|是否|为何)\s*$")
# Words that turn a name beside them into its opposite.
_DENIAL: Final = re.compile(
    r"\b(?:not(?! only)|no(?! doubt)|never|neither|nor|nobody|none|cannot|\w+n['’]t|against|avoid|reject|oppose|without|except|"
    r"instead|rather|unlike|drop|worse|(?:anything|everything|all) but)\b"
    r"|不(?!错)|非(?!常)|(?<!特)别(?!的)|否|没(?!错|问题)|无(?!论)|除|避免|反对|拒绝"
)
# Words beside which a position is not one's own, or not the whole of it.
_DOUBT: Final = re.compile(
    r"\b(?:conditional|conditionally|if|unless|provided|but|who|others|they|everyone|everybody|somebody|someone|some|many|few)\b"
    r"|有条件|如果|除非|前提|但|谁|别人|他们|她们|大家|有人"
)
_LINE_NUMBER: Final = re.compile(r"#(\d{1,6})")
_NUMBERED_CLAUSE: Final = re.compile(r"[.;；。\n]|\s(?:and|but|while)\s|[,，、](?=[^#]{0,40}#\d)|而|但")
_AGAINST: Final = ("oppose", "challenge", "contest", "REJECTED", "declined")
_FOR: Final = frozenset({"support", "agree", "APPROVED", "adopted"})


@dataclass(frozen=True, slots=True)
class PositionRead:
    """A position that was found in a text, and its condition, if it has one."""

    value: str
    condition: str = ""


@lru_cache(maxsize=256)
def split_by_line_number(text: str) -> list[tuple[int, str]]:
    """Return what each clause says of the lines that it names: "I support #5 and oppose #6" speaks of both apart."""
    found = []
    for clause in _NUMBERED_CLAUSE.split(text):
        numbers = [int(number) for number in _LINE_NUMBER.findall(clause)]
        found += [(number, " ".join(_LINE_NUMBER.sub(" it ", clause).split())) for number in numbers]
    return found


def build_choices(options: tuple[str, ...]) -> tuple[PersonChoice, ...]:
    """Return options as choices."""
    return tuple(PersonChoice(value=option, text=option) for option in options)


def list_words(choice: PersonChoice) -> tuple[str, ...]:
    """Return every word that means a choice: its value, what is shown, and what else says the same."""
    return (choice.value, choice.text, *choice.words, *_get_synonyms(choice))


def has_meaning(choices: Sequence[PersonChoice]) -> bool:
    """Whether the choices are positions, verdicts or the like, which have other words, and not names alone."""
    return any(_get_synonyms(choice) for choice in choices)


def _get_synonyms(choice: PersonChoice) -> tuple[str, ...]:
    return CHOICE_WORDS.get(choice.value) or CHOICE_WORDS.get(normalize_label(choice.value), ())


def find_choice(text: str, choices: Sequence[PersonChoice]) -> PositionRead | None:
    """Return the one choice that a text makes, in its first words or as a name; None if that is not certain."""
    if has_meaning(choices):
        return read_position(text, choices)
    option = read_option(text, choices)
    return None if option is None else PositionRead(option)


def read_position(text: str, choices: Sequence[PersonChoice]) -> PositionRead | None:
    """Return the position that a text takes, such as "Yes, if it ships by May."; None if that is not certain."""
    plain = unicodedata.normalize("NFKC", text).strip()
    chosen = read_choice(plain, choices)
    if chosen is not None:
        return PositionRead(chosen)
    end = _SENTENCE_END.search(plain)
    # Nobody takes a position by asking for one.
    if end is not None and end[0] in "?？":
        return None
    sentence = plain[: end.start() if end else len(plain)][:LONGEST_SENTENCE].replace("’", "'")
    pattern, values = _build_position_pattern(tuple(choices))
    found = pattern.match(sentence.casefold())
    if found is not None:
        return _judge_position(found, sentence, values, choices)
    return _read_late_position(sentence, pattern, values, choices) or _find_short_position(sentence, choices)


@lru_cache(maxsize=64)
def _build_position_pattern(choices: tuple[PersonChoice, ...]) -> tuple[re.Pattern[str], dict[str, str]]:
    """Return the pattern of a sentence that begins with a position, and the value of each word."""
    values = _index_words(choices)
    # Longest first: "no opinion" before "no", "不支持" before "不".
    listed = "|".join(_build_word_pattern(word) for word in sorted(values, key=len, reverse=True)) or r"(?!)"
    lead = rf"[\W_]*(?:{_FILLER}[\s,，:：*]*)*"
    negated = rf"(?P<not>{_NOT}\s+)?"
    return re.compile(rf"{lead}{negated}(?P<word>{listed})(?P<rest>.*)", re.DOTALL), values


@lru_cache(maxsize=256)
def _index_words(choices: tuple[PersonChoice, ...]) -> dict[str, str]:
    """Return the value of each word. A choice by its own name comes before a word for another one."""
    values = {name: each.value for each in reversed(choices) for name in (_fold(each.value), _fold(each.text))}
    for choice in choices:
        for word in list_words(choice):
            values.setdefault(_fold(word), choice.value)
    values.pop("", None)
    return values


def _build_word_pattern(word: str) -> str:
    escaped = re.escape(word).replace(r"\ ", r"[\s_]+")
    if word in LONE_WORDS:
        return escaped + _AFTER_LONE
    if word in BARE_WORDS:
        return escaped + _AFTER_BARE
    # Chinese is written without spaces, so only a Latin word has an end that can be seen.
    return rf"{escaped}(?![a-z0-9_])" if word.isascii() else escaped


def _judge_position(
    found: re.Match[str], sentence: str, values: dict[str, str], choices: Sequence[PersonChoice]
) -> PositionRead | None:
    value = values[" ".join(found["word"].replace("_", " ").split())]
    known = {choice.value for choice in choices}
    if found["not"]:
        # "I cannot support it" opposes it; what "I do not oppose it" means is for the person to say.
        against = next((side for side in _AGAINST if side in known), None)
        return PositionRead(against) if value in _FOR and against is not None else None
    # As it was written, and not in lower case.
    rest = sentence[len(sentence) - len(found["rest"]) :] if len(sentence.casefold()) == len(sentence) else found["rest"]
    conditional = _find_conditional(choices)
    if value == conditional:
        condition = re.sub(
            rf"^[\s,，:：.-]*(?:{_OBJECT}\s*)?[,，:：]?\s*(?:{_IF}[\s,，:：]*)?", "", rest, count=1, flags=re.IGNORECASE
        )
        return PositionRead(value, condition.strip())
    if value != "support" or conditional is None:
        return PositionRead(value)
    tail = re.match(rf"{_OBJECT}[\s,，:：—–-]*(?P<if>{_IF})\s*(?P<what>.+)", rest, re.IGNORECASE | re.DOTALL)
    if tail is None:
        return PositionRead(value)
    is_unless = tail["if"].casefold().split()[-1] in {"unless", "除非"}
    return PositionRead(conditional, tail[0].strip(" ,，:：—–-") if is_unless else tail["what"].strip())


def _find_conditional(choices: Sequence[PersonChoice]) -> str | None:
    return next((each.value for each in choices if each.value in {"conditional", "conditional_support"}), None)


def _read_late_position(
    sentence: str, pattern: re.Pattern[str], values: dict[str, str], choices: Sequence[PersonChoice]
) -> PositionRead | None:
    """Read a position that comes after a clause: "After all that, I support it", or "If it is cheap, I support it"."""
    folded = sentence.casefold()
    if len(folded) != len(sentence):
        return None
    for start in _FIRST_PERSON.finditer(folded):
        clause = sentence[: start.start()].strip()
        lead = folded[: start.start()]
        if not start[0] and (_DENIAL.search(lead) or _HANGING.search(lead)):
            continue
        found = pattern.match(re.sub(r"^(?:then\s+|就)", "", folded[start.end() :]))
        if found is None:
            continue
        read = _judge_position(found, sentence[len(sentence) - len(found.string) :], values, choices)
        condition = re.match(rf"\W*{_IF}\s*(?P<what>.+)", clause, re.IGNORECASE | re.DOTALL)
        if condition is None or read is None:
            return read
        conditional = _find_conditional(choices)
        is_support = read.value == "support" and conditional is not None
        return PositionRead(conditional, condition["what"].strip()) if is_support and conditional else None
    return None


def _find_short_position(sentence: str, choices: Sequence[PersonChoice]) -> PositionRead | None:
    """Find the one position that a few words name, such as "full support", where nothing beside it denies or limits it."""
    said = _fold(sentence)
    names = {_fold(name): choice.value for choice in choices for name in (choice.value, choice.text)}
    named = [name for name in names if name and _holds_name(said, name)]
    longest = max(named, key=len, default="")
    # "conditional support" names "support" as well: the longest one is meant, if it holds the others.
    if not longest or not all(names[name] == names[longest] or _holds_name(longest, name) for name in named):
        return None
    outside = said.replace(longest, " ")
    if len(outside.split()) > 4 or _DENIAL.search(outside) or _DOUBT.search(outside):
        return None
    return PositionRead(names[longest])


def read_choice(text: str, choices: Sequence[PersonChoice]) -> str | None:
    """Return the choice that a whole text is: by number, by letter, by word or by a part of its name; None if not certain."""
    typed = _fold(text)
    known = _index_words(tuple(choices)).get(typed)
    if known is not None:
        return known
    mark = _LETTER.fullmatch(unicodedata.normalize("NFKC", text).strip().casefold())
    if mark is not None:
        return _read_marked_choice(mark["mark"], _fold(mark["rest"]), choices)
    begun = [choice.value for choice in choices if len(typed) >= 2 and _fold(choice.text).startswith(typed)]
    if len(begun) == 1:
        return begun[0]
    is_name = len(typed) >= 3 and not _DENIAL.fullmatch(typed)
    holding = [choice.value for choice in choices if is_name and _holds_name(_fold(choice.text), typed)]
    return holding[0] if len(holding) == 1 else None


def is_line_mark(text: str, choices: Sequence[PersonChoice]) -> bool:
    """Whether a text is the number or the letter of a line, and no choice is called that."""
    found = _LETTER.fullmatch(unicodedata.normalize("NFKC", text).strip().casefold())
    if found is None or found["rest"]:
        return False
    label = re.compile(rf"{re.escape(found['mark'])}(?:\W|$)")
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


def read_option(text: str, choices: Sequence[PersonChoice]) -> str | None:
    """Return the one option that a sentence names, such as "I propose Postgres, because …"; None if none or several."""
    whole = read_choice(text, choices)
    if whole is not None:
        return whole
    end = _SENTENCE_END.search(text, 3)
    first = text[: end.start()] if end else text
    return _find_named_option(first, choices) or _find_named_option(text, choices)


def _find_named_option(text: str, choices: Sequence[PersonChoice]) -> str | None:
    folded = unicodedata.normalize("NFKC", text).casefold()
    named: dict[str, str] = {}
    for choice in choices:
        names = {normalize_label(each) for each in (choice.value, choice.text)}
        names |= {name for each in tuple(names) if (mark := _LETTER.fullmatch(each)) and (name := mark["rest"].strip())}
        for name in names:
            found = _search_name(folded, name) if name else None
            if found is not None and not _is_denied(folded, found):
                named[name] = choice.value
    longest = max(named, key=len, default="")
    # "Do not ship" names "ship" as well: the longest one is meant, if it holds the others.
    is_one = all(value == named[longest] or _holds_name(longest, name) for name, value in named.items())
    return named[longest] if longest and is_one else None


def _is_denied(text: str, name: re.Match[str]) -> bool:
    """Whether the clause that names an option says something against it: "not Postgres", "Postgres is worse"."""
    starts = [found.end() for found in _CLAUSE_END.finditer(text, 0, name.start())]
    after = _CLAUSE_END.search(text, name.end())
    before = text[starts[-1] if starts else 0 : name.start()]
    behind = text[name.end() : after.start() if after else len(text)]
    return bool(_DENIAL.search(before) or _DENIAL.search(behind))


def _holds_name(text: str, name: str) -> bool:
    return _search_name(text, name) is not None


def _search_name(text: str, name: str) -> re.Match[str] | None:
    # A name of one letter is also a word ("a"): it must begin the text like a mark, or stand behind "option".
    if len(name) == 1 and name.isascii():
        mark = re.escape(name)
        return re.search(rf"^\s*{mark}\s*(?:$|[.):,，：;—–-])|(?:option\s+|answer\s+|选项?\s*){mark}(?:\W|$)", text)
    edge = r"(?<![a-z0-9_])" if name[0].isascii() else ""
    after = r"(?![a-z0-9_])" if name[-1].isascii() else ""
    return re.search(f"{edge}{re.escape(name)}{after}", text)


def _fold(text: str) -> str:
    return normalize_label(text.replace("_", " ")).strip("\"'`*.,;:!?()[]{}。，；：！？（）【】“”‘’ ")
