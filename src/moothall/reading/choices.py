"""What names a choice: its own name, another word for it, or its letter and its place in the list (Q-5).

Marks, case, width and script do not count. Nothing is taken from a part of a name, but for people, who see the list.
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
from moothall.domain.vocabulary import BARE_WORDS, CHOICE_WORDS, LONE_WORDS, PATTERNS

MAX_NAMED: Final = 2_000
"""A longer text is not the name of a choice."""
MIN_PREFIX: Final = 4
"""How many letters of a word for a choice must be typed: "con" may be the beginning of a condition, or against it."""
_EDGES: Final = " \t\n\"'`*.,;:!()[]{}。，；：！（）【】「」『』《》“”‘’–—-"
_THUMBS: Final = compile_late(r"(?P<up>[👍✅✔])|[👎❌✖✗✘]")
# The colour of a hand, the form of a sign, and pictures that say nothing.
_PICTURE: Final = compile_late(
    r"[\u2190-\u21ff\u2300-\u27bf\u2b00-\u2bff\ufe0f\u200d\U0001f000-\U0001faff]"
)
_FOR: Final = frozenset({"support", "APPROVED", "confirmed", "confirm", "adopted", "agree", "yes"})
_AGAINST: Final = frozenset(
    {"oppose", "challenge", "REJECTED", "refuted", "dispute", "declined", "no"}
)
_KINDS: Final = frozenset({"propose", "synthesize", "extend", "vote", "pass"})
_LETTER: Final = compile_late(
    r"\(?(?:(?:option|answer|choice)\s+|选项\s*|答案\s*)?(?P<mark>[a-z]|\d{1,2})"
    r"\s*(?:[.):、）：]|$)\s*(?P<rest>.*)",
    re.DOTALL,
)
_OWN_MARK: Final = compile_late(r"\(?(?:[a-z]|\d{1,2})\s*[.):、）]\s*(\S.*)")
# White space counts between letters alone, where a hyphen is as good.
_SPACE: Final = compile_late(r"(?<![a-z])\s+|\s+(?![a-z])")
_JOINT: Final = compile_late(r"(?<=[a-z])(?:\s+|-)(?=[a-z])")
_STRUCK: Final = compile_late(r"~~|\[\s?\]|☐|^\s*[!¬]|!=|≠")
_UP: Final = compile_late(r"[👍✅✔☑🟢🎉💯]")
_DOWN: Final = compile_late(r"[👎❌✖✗✘🚫⛔🛑🔴]")
_FACE: Final = compile_late(r"[\U0001f600-\U0001f64f\U0001f910-\U0001f92f\U0001f970-\U0001f97a]")
_SHRUGS: Final = "🙋🙌🙏🤝"
_ASKED: Final = compile_late(r"[?？]\W*$")


@dataclass(frozen=True, slots=True)
class Lexicon:
    """What words mean where certain choices are offered."""

    names: dict[str, str]
    """The value of each name that stands for a choice as a whole answer, folded and without white space."""
    leading: re.Pattern[str]
    """Finds a name at the beginning of a folded text, the longest first."""
    within: re.Pattern[str]
    """Finds a name that means a choice within a sentence, too, as "yes" and "B" do not."""
    is_of_names: bool
    """Whether the choices are names, which no other words stand for."""
    kinds: frozenset[str]
    """Names of kinds of contributions, which are words like any other: "I pass"."""


def build_choices(options: tuple[str, ...]) -> tuple[PersonChoice, ...]:
    return tuple(PersonChoice(value=option, text=option) for option in options)


POSITIONS: Final = build_choices(("support", "conditional_support", "oppose", "abstain"))
"""The sides that a vote may take."""


def list_synonyms(choice: PersonChoice) -> tuple[str, ...]:
    """Return the words that mean the same as a choice, in both languages."""
    return CHOICE_WORDS.get(choice.value) or CHOICE_WORDS.get(normalize_label(choice.value), ())


def list_words(choice: PersonChoice) -> tuple[str, ...]:
    """Return every word that means a choice: its value, what is shown, and what else says the same."""
    return (choice.value, choice.text, *choice.words, *list_synonyms(choice))


def has_meaning(choices: Sequence[PersonChoice]) -> bool:
    """Whether the choices are positions, verdicts or the like, which have other words, and not names alone."""
    return any(list_synonyms(choice) for choice in choices)


def drop_pictures(text: str) -> str:
    return _PICTURE.sub(" ", text)


def fold_key(name: str) -> str:
    """Return the form in which the name of a choice is compared with what was written."""
    plain = drop_pictures(fold_text(name))
    return _JOINT.sub(" ", _SPACE.sub("", plain.strip(_EDGES)))


@lru_cache(maxsize=256)
def build_lexicon(choices: tuple[PersonChoice, ...]) -> Lexicon:
    """Build what words mean where these choices are offered."""
    # Who may abstain from a choice among names still chooses among names.
    is_of_names = not has_meaning([choice for choice in choices if choice.value != "abstain"])
    names: dict[str, str] = {}
    spelled: dict[str, str] = {}
    for choice in choices:
        for name in (choice.value, choice.text):
            _add_name(names, spelled, name, choice.value)
    for choice in choices:
        for name in list_words(choice):
            _add_name(names, spelled, name, choice.value)
            for other in _list_unmarked(name):
                _add_name(names, spelled, other, choice.value)
    offered = {choice.value for choice in choices}
    kinds = frozenset(offered if offered & _KINDS else ())
    strong = [name for name in spelled if name in kinds or not is_weak(name)]
    return Lexicon(
        names=names,
        leading=_compile_names(spelled, r"[\s\"“「『'(（]*(?:the\s+)?(?P<name>{})[\"”」』')）]*"),
        within=_compile_names(strong, r"(?P<name>{})"),
        is_of_names=is_of_names,
        kinds=kinds,
    )


def is_weak(name: str) -> bool:
    """Whether a word means a choice only where nothing hangs on it: "no problem" is not "no", and "a" is no option."""
    return len(name) == 1 or name in BARE_WORDS or name in LONE_WORDS


def _add_name(names: dict[str, str], spelled: dict[str, str], name: str, value: str) -> None:
    folded = fold_text(name).strip(_EDGES)
    key = fold_key(name)
    if key and folded:
        names.setdefault(key, value)
        spelled.setdefault(folded, value)


def _compile_names(names: Iterable[str], form: str) -> re.Pattern[str]:
    listed = sorted(names, key=len, reverse=True)
    return re.compile(form.format("|".join(map(_build_pattern, listed)) or r"(?!)"))


def _build_pattern(name: str) -> str:
    joined = re.escape(_JOINT.sub("\0", name)).replace(r"\ ", r"\s*")
    escaped = joined.replace(re.escape("\0"), r"(?:\s+|-)")
    before = r"(?<![a-z0-9_'])" if name[0].isascii() and name[0].isalnum() else ""
    after = r"(?![a-z0-9_'+#]|[.-][a-z0-9])" if name[-1].isascii() and name[-1].isalnum() else ""
    return f"{before}{escaped}{after}"


def _list_unmarked(name: str) -> tuple[str, ...]:
    """Return what else names an option: "B. Postgres" is Postgres, and A is option A."""
    folded = fold_text(name)
    marked = _OWN_MARK.fullmatch(folded)
    if marked is not None:
        return (marked[1],)
    if len(folded) != 1:
        return ()
    return (f"option {folded}", f"answer {folded}", f"选项{folded}")


def read_choice(text: str, choices: Sequence[PersonChoice]) -> str | None:
    """Return the choice that a whole text names, by its words, its number or its letter; None for anything else."""
    text = text.strip()
    if not text or len(text) > MAX_NAMED or _STRUCK.search(text):
        return None
    lexicon = build_lexicon(tuple(choices))
    key = fold_key(text)
    if _ASKED.search(text) and f"{key}?".strip() not in lexicon.names:
        named = lexicon.names.get(f"{key}?") or lexicon.names.get(key)
        return named if named is not None and named.endswith(("?", "？")) else None
    if not key:
        return _read_thumbs(text, choices)
    value = lexicon.names.get(key)
    if value is not None:
        return value if fits_pictures(text, value) else None
    mark = _LETTER.fullmatch(unicodedata.normalize("NFKC", text).strip(" \t\n*`\"'_").casefold())
    if mark is not None:
        return _read_marked_choice(mark["mark"], fold_key(mark["rest"]), choices)
    return None


def _read_thumbs(text: str, choices: Sequence[PersonChoice]) -> str | None:
    """Read thumbs and ticks that are the whole answer."""
    signs = {hit["up"] is not None for hit in _THUMBS.finditer(text)}
    if len(signs) != 1:
        return None
    sides = _FOR if signs == {True} else _AGAINST
    for choice in choices:
        if choice.value in sides:
            return choice.value
    return None


def fits_pictures(text: str, value: str) -> bool:
    """Whether the pictures beside a choice say nothing else: no thumb of the other side, and no face, which may mean a joke."""
    if any(face[0] not in _SHRUGS for face in _FACE.finditer(text)):
        return False
    is_up, is_down = _UP.search(text) is not None, _DOWN.search(text) is not None
    if value in _AGAINST:
        return not is_up
    return not is_down


def is_struck(text: str) -> bool:
    """Whether a text is struck out, denied by a sign, or beside a box that is not ticked."""
    return _STRUCK.search(text) is not None


def is_for(value: str) -> bool:
    """Whether a choice is for what is voted on, without a condition."""
    return value in _FOR


def is_against(value: str) -> bool:
    return value in _AGAINST


def is_line_number(text: str, choices: Sequence[PersonChoice]) -> bool:
    """Whether a text is the number of a line, and no choice is called that."""
    mark = _LETTER.fullmatch(unicodedata.normalize("NFKC", text).strip().casefold())
    if mark is None or mark["rest"] or not mark["mark"].isdigit():
        return False
    label = re.compile(rf"{re.escape(mark['mark'])}(?:\W|$)")
    return not any(
        label.match(word.casefold()) for choice in choices for word in list_words(choice)
    )


def _read_marked_choice(mark: str, rest: str, choices: Sequence[PersonChoice]) -> str | None:
    """Read "2", "B. Postgres" and, of names, "b" ("a" may be abstain); an option's own mark must be the one of its name."""
    if rest:
        return _read_named_mark(mark, rest, choices)
    # An option that is called "B. Postgres" itself comes before the second of the list.
    own = re.compile(rf"\(?(?:option\s+|选项\s*|方案\s*)?{re.escape(mark)}(?:\W|$)")
    lettered = [choice.value for choice in choices if own.match(choice.text.casefold())]
    if lettered:
        return lettered[0] if len(lettered) == 1 else None
    if mark.isdigit():
        at = int(mark) - 1
    elif has_meaning(choices):
        return None
    else:
        at = ord(mark) - ord("a")
    return choices[at].value if 0 <= at < len(choices) else None


def _read_named_mark(mark: str, rest: str, choices: Sequence[PersonChoice]) -> str | None:
    """Read "B. Postgres": the name counts where the mark is its own, that of its place, or nobody's."""
    for choice in choices:
        if fold_key(choice.text) == mark:
            return choice.value
    for at, choice in enumerate(choices):
        if rest not in {fold_key(choice.text), fold_key(choice.value)}:
            continue
        places = {str(at + 1), chr(ord("a") + at)}
        owners = [
            other.value
            for other in choices
            if other.value != choice.value
            and re.match(rf"\(?{re.escape(mark)}[.):]", other.text.casefold())
        ]
        is_of_list = not mark.isdigit() or int(mark) <= len(choices)
        if owners or (mark not in places and is_of_list):
            return None
        return choice.value
    return None


def read_typed_choice(text: str, choices: Sequence[PersonChoice]) -> str | None:
    """Return the choice that a person typed, who sees the list: also by the beginning of its name, or by a part of it."""
    value = read_choice(text, choices)
    if value is not None or len(text) > MAX_NAMED or _STRUCK.search(text) or _ASKED.search(text):
        return value
    typed = normalize_label(text.replace("_", " ")).strip(_EDGES)
    shortest = MIN_PREFIX if typed.isascii() and has_meaning(choices) else 2
    if len(typed) < shortest:
        return None
    begun = [choice for choice in choices if _fold_shown(choice).startswith(typed)]
    name = re.compile(_build_pattern(typed)) if len(typed) >= 3 else re.compile(r"(?!)")
    holding = [choice for choice in choices if name.search(_fold_shown(choice))]
    meant = begun if len(begun) == 1 else holding
    # "Cache" is no part of "No cache", and "no" says nothing of it.
    if len(meant) != 1 or PATTERNS["denial"].search(fold_text(f"{typed} {meant[0].text}")):
        return None
    return meant[0].value


def _fold_shown(choice: PersonChoice) -> str:
    return normalize_label(choice.text.replace("_", " ")).strip(_EDGES)
