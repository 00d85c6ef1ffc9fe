"""What kind of question a session asks, and which answers there are (Q-1).

A frame is made before a session opens: of the answers that are given, or by these patterns of the question's own words. They stand
in `frame.toml`. Where it is not plain what is asked, there is no frame: a wrong one would forbid the right answer.
"""

import math
import re
import tomllib
from dataclasses import replace
from functools import cache, lru_cache
from importlib.resources import files
from typing import Any, Final, Literal, NamedTuple, TypeVar

from moothall.domain.safe_text import one_line
from moothall.domain.topic import MAX_LABEL_LENGTH, Frame, QuestionKind, normalize_label
from moothall.errors import BadSetting
from moothall.locale.catalogues import PARTICIPANT_PROMPT

T = TypeVar("T")

Framing = Literal["auto", "off"]
"""Whether a session is framed."""

MAX_ANSWERS: Final = 6
MAX_ANSWER_LENGTH: Final = 60
MAX_ANSWER_WORDS: Final = 8
MAX_NOUN_WORDS: Final = 5
MAX_SENTENCE: Final = 240
"""A longer question is no list of answers."""
MAX_TEXT: Final = 2_000
"""A longer text is a task, with a question in it."""
MAX_BARE_WORDS: Final = 14
MAX_UNMARKED_WORDS: Final = 3
"""A longer text without a question mark is a task: "Find bugs or risks"."""


YES: Final = frozenset(
    (
        "yes",
        "yeah",
        "yep",
        "yup",
        "y",
        "ja",
        "jawohl",
        "是",
        "是的",
        "对",
        "对的",
        "好",
        "好的",
        "可以",
    )
)
YES_OR_NO: Final = YES | frozenset(
    ("no", "nope", "n", "nein", "否", "不", "不是", "不对", "不可以")
)
"""Labels that say yes or no and nothing else."""
_MASK: Final = "ǂ"
"""A letter that stands for a quotation: what is quoted is no part of the sentence."""


@cache
def _load_tables() -> dict[str, Any]:
    # When the first question is read: most commands read none.
    return tomllib.loads((files(__package__) / "frame.toml").read_text("utf-8"))


@cache
def _list_words(name: str) -> frozenset[str]:
    return frozenset(_load_tables()["words"][name])


@cache
def _pattern(name: str) -> re.Pattern[str]:
    return re.compile(_join_pattern(name), re.IGNORECASE)


def _join_pattern(name: str) -> str:
    source = "".join(_load_tables()["patterns"][name].splitlines())
    return re.sub(r"%(\w+)%", lambda part: _join_pattern(part[1]), source)


class AskedKind(NamedTuple):
    """What the words of a question say."""

    kind: QuestionKind
    names: tuple[str, ...] = ()
    """The answers that a choice names."""
    is_sure: bool = True
    """Whether the words say it; "which database?" may be a choice whose answers they do not name."""


OPEN: Final = AskedKind("open")
MAYBE_OPEN: Final = AskedKind("open", is_sure=False)


def is_yes_or_no(label: str) -> bool:
    """Whether a label says yes or no and nothing else."""
    return normalize_label(label) in YES_OR_NO


def is_either_or(answers: tuple[str, ...]) -> bool:
    """Whether these are the answers to a question that neither yes nor no answers."""
    return bool(answers) and YES_OR_NO.isdisjoint(map(normalize_label, answers))


def names_nothing(answers: tuple[str, ...], choice: str, text: str = "") -> bool:
    """Whether an answer says yes or no where none of the listed ones does: its label does, or without a label its text."""
    said = choice or text
    is_bare = len(said) <= MAX_LABEL_LENGTH and is_yes_or_no(said)
    return is_bare and is_either_or(answers)


def is_none_of_these(label: str) -> bool:
    """Whether a label says that none of the listed answers is meant."""
    return normalize_label(label) in _list_words("none")


def settle_own_choice(said: T) -> T:
    """Return an answer whose choice is its own words, where it chose none of the listed ones and has some; or its number."""
    own = one_line(getattr(said, "own_choice", ""))
    choice = getattr(said, "choice", "")
    number = getattr(said, "number", None)
    if number is not None and not choice and not own:
        return replace(said, choice=format_number(number))  # type: ignore[type-var]  # a shape is a dataclass
    if not own:
        return said
    if choice and not is_none_of_these(choice):
        own = choice
    return replace(said, choice=own, own_choice="")  # type: ignore[type-var]  # a shape is a dataclass


def build_frame(
    question: str, language: str, *, options: tuple[str, ...] = (), kind: QuestionKind | None = None
) -> Frame | None:
    """Return the frame of a question: as it is given, else by its words; None where neither says it.

    Raises BadSetting for a choice without answers.
    """
    read = read_question(question)
    if options:
        given: QuestionKind = "choice" if is_either_or(options) else "yes_no"
        return Frame(kind=kind or given, answers=options, made_by="opener")
    if kind == "choice" and (read is None or not read.names):
        raise BadSetting(
            "kind = 'choice' needs its answers, and the question does not name them; give them as options: "
            "--option A --option B"
        )
    if kind is not None:
        names = read.names if read is not None and kind == "choice" else ()
        answers = names or _list_answers(kind, language)
        return Frame(
            kind=kind, answers=answers, made_by="opener", unit=_find_unit_of(kind, question)
        )
    if read is None:
        return None
    answers = read.names or _list_answers(read.kind, language)
    return Frame(kind=read.kind, answers=answers, unit=_find_unit_of(read.kind, question))


def _find_unit_of(kind: QuestionKind, question: str) -> str:
    return find_unit(question) if kind == "number" else ""


def _list_answers(kind: QuestionKind, language: str) -> tuple[str, ...]:
    return list_yes_and_no(language) if kind in {"yes_no", "forecast"} else ()


def find_unit(question: str) -> str:
    """Return what a number is counted in, where a question says it: "days", "percent"; else nothing."""
    match = _pattern("unit").search(question)
    if match is None:
        return ""
    named = {name: text for name, text in match.groupdict().items() if text}
    if named.keys() & {"share", "rate"}:
        return "%"
    return one_line(next(iter(named.values()), ""))


def format_number(number: float, unit: str = "") -> str:
    """Return a number as it is shown, with its unit."""
    shown = f"{number:,.10g}" if abs(number) >= 10_000 else f"{number:.10g}"
    return f"{shown} {unit}".strip()


def read_plain_number(text: str, unit: str = "") -> float | None:
    """Return the number that a text is, with or without its unit; None for any other text."""
    bare = one_line(text).removesuffix(unit).replace(",", "").strip()
    try:
        number = float(bare)
    except ValueError:
        return None
    return number if math.isfinite(number) else None


def list_yes_and_no(language: str) -> tuple[str, ...]:
    """Return yes and no in the language of a session."""
    words = PARTICIPANT_PROMPT[language]
    return (words.yes, words.no)


def asks_which_one(question: str) -> bool:
    """Whether a question, or one of its sentences, asks for one of several things: then yes is no answer to it."""
    if names_several(question):
        return True
    for each in _pattern("sentence").finditer(question):
        sentence = each[0].strip()
        # A Chinese question has its word anywhere, one in Latin letters at its beginning.
        if _is_chinese(sentence):
            match = _pattern("chinese_which_one").search(sentence)
        else:
            match = _pattern("asks_which").match(sentence)
        if match is not None:
            return True
    return False


def names_several(question: str) -> bool:
    """Whether a question has a word such as "or" between two things: then yes is no answer to it."""
    text = one_line(question).strip(" .!?。！？").replace("還是", "还是")
    plain = _pattern("or_not").sub("", _pattern("idiom").sub("", text))
    return _names_or(plain) or _pattern("versus").fullmatch(plain) is not None


@lru_cache(maxsize=256)
def read_question(text: str) -> AskedKind | None:
    """Return what kind of question a text is; None where that is not plain."""
    if len(text) > MAX_TEXT or "```" in text or _MASK in text:
        return None
    quoted: list[str] = []

    def mask(match: re.Match[str]) -> str:
        quoted.append(match[0])
        return f"{_MASK}{len(quoted) - 1}{_MASK}"

    masked = _pattern("quotation").sub(mask, text.strip().replace("還是", "还是"))
    # Who quotes a question asks for something else.
    if re.search(r"[?？]", "".join(quoted)):
        return None
    read = _read_sentences(masked.replace("vs. ", "vs "))
    if read is None or not read.names:
        return read
    names = tuple(_unmask(name, quoted) for name in read.names)
    return AskedKind("choice", names)


def _unmask(name: str, quoted: list[str]) -> str:
    def show(match: re.Match[str]) -> str:
        return quoted[int(match[1])][1:-1]

    return one_line(re.sub(f"{_MASK}(\\d+){_MASK}", show, name))


def _read_sentences(text: str) -> AskedKind | None:
    """Return what the one question of a text asks, or the last of two, where it names the answers to the first."""
    sentences: list[str] = []
    asked: list[int] = []
    for each in _pattern("sentence").finditer(text):
        sentence = each[0].strip(" .!?。！？\n")
        if not sentence:
            continue
        if each["mark"] in {"?", "？"}:
            asked.append(len(sentences))
        sentences.append(sentence)
    if not sentences:
        return None
    is_task = any(map(_is_task, sentences))
    if not asked:
        return _read_unmarked(sentences, is_task=is_task)
    if is_task or asked[-1] != len(sentences) - 1:
        return None
    last = _read_sentence(sentences[-1])
    if len(asked) == 1:
        return last
    before = sentences[-2]
    is_answered = asked == [len(sentences) - 2, len(sentences) - 1] and bool(
        _pattern("asks_which").match(before)
    )
    names_answers = last is not None and last.kind == "choice"
    return last if is_answered and names_answers and not _names_or(before) else None


def _names_or(sentence: str) -> bool:
    return _pattern("or").search(sentence) is not None or "还是" in sentence


def _is_task(sentence: str) -> bool:
    first = re.split(r"\W", sentence, maxsplit=1)[0].casefold()
    if first in _list_words("tasks"):
        return not re.match(r"\w+ or \w+$|rewrite .* or ", sentence, re.IGNORECASE)
    return _pattern("chinese_task").match(sentence) is not None


def _read_unmarked(sentences: list[str], *, is_task: bool) -> AskedKind | None:
    """Read a text without a question mark: "PostgreSQL or MySQL" and "should we ship" need none."""
    only = sentences[0]
    if is_task:
        return OPEN
    if len(sentences) > 1:
        return None
    is_short = len(only.split()) <= MAX_UNMARKED_WORDS
    read = _read_sentence(only)
    if read is None or _is_chinese(only):
        return None
    is_polar = read.kind == "yes_no" and only[:6].casefold() in {"should", "shall "}
    return read if is_polar or (is_short and read.kind == "choice") else None


def _is_chinese(sentence: str) -> bool:
    return _pattern("chinese").search(sentence) is not None


def _read_sentence(sentence: str) -> AskedKind | None:
    if len(sentence) > MAX_SENTENCE:
        return None
    if _is_chinese(sentence):
        return _read_chinese(sentence)
    return _read_latin(" ".join(sentence.split()))


def _read_latin(sentence: str) -> AskedKind | None:
    sentence = _pattern("idiom").sub("", sentence)
    plain = _pattern("or_not").sub("", sentence)
    is_denied = plain != sentence
    lead = _pattern("lead").match(plain)
    main = plain if lead is None else plain[lead.end() :]
    if lead is not None and not _begins_question(main):
        main = plain
    compared = _read_comparison(plain)
    if compared is not None:
        return compared
    if not _names_or(main):
        return _read_without_or(main, is_denied=is_denied)
    if is_denied or _pattern("undecided").search(main):
        return None
    return _build_choice(_split_latin(main))


def _begins_question(sentence: str) -> bool:
    return any(_pattern(name).match(sentence) for name in ("polar", "asks_which"))


def _build_choice(names: list[str]) -> AskedKind | None:
    """Return a choice of these; None where they are no list of answers."""
    shown = [one_line(name).strip(" ,，:：'") for name in names]
    labels = [normalize_label(name) for name in shown]
    is_list = 1 < len(shown) <= MAX_ANSWERS and len(set(labels)) == len(labels)
    if not is_list or "" in labels or YES_OR_NO.intersection(labels):
        return None
    vague = _list_words("vague").intersection(labels)
    is_long = any(len(name.split()) > MAX_ANSWER_WORDS for name in shown)
    if vague or is_long or max(map(len, shown)) > MAX_ANSWER_LENGTH:
        return None
    if any(_pattern("names_clause").search(name) for name in shown):
        return None
    return AskedKind("choice", tuple(shown))


def _read_comparison(sentence: str) -> AskedKind | None:
    """Read "X vs Y", "which of X, Y and Z" and "between X and Y, which"."""
    versus = _pattern("versus").fullmatch(sentence)
    if versus is not None:
        return _build_choice(_trim_nouns([versus["one"], versus["other"]]))
    which = _pattern("which_of").fullmatch(sentence)
    if which is not None:
        return _build_choice(_trim_nouns([*which["names"].split(","), which["last"]]))
    between = _pattern("between").fullmatch(sentence)
    if between is not None:
        return _build_choice(_trim_nouns([between["one"], between["last"]]))
    return None


def _read_without_or(sentence: str, *, is_denied: bool) -> AskedKind | None:
    if _pattern("number").match(sentence) and not re.search(r"\band\b|, ", sentence):
        return AskedKind("number")
    if _pattern("how_likely").match(sentence):
        return AskedKind("forecast")
    if _pattern("request").match(sentence):
        return OPEN
    if not _pattern("polar").match(sentence):
        return _read_asking(sentence)
    if _pattern("wonders").search(sentence) or ":" in sentence:
        return None
    is_forecast = _pattern("will").match(sentence) and _pattern("by_when").search(sentence)
    if is_forecast and not is_denied:
        return AskedKind("forecast")
    return AskedKind("yes_no")


def _read_asking(sentence: str) -> AskedKind | None:
    """Read "how should we …?", which is open, and "which database?", which may have few answers."""
    if _pattern("asks_why").match(sentence):
        return OPEN
    return MAYBE_OPEN if _pattern("asks_which").match(sentence) else None


def _split_latin(sentence: str) -> list[str]:
    head, *others = _pattern("or").split(sentence)
    if _pattern("should").match(head):
        others[-1] = _drop_repeated_should(others[-1])
    if ":" in " ".join(others) or any(_pattern("no_thing").match(each) for each in others):
        return []
    others = [_drop_afterthought(each) for each in others]
    lead, mark, rest = head.partition(":" if ":" in head else ",")
    if _pattern("asks_why").match(head):
        return []
    if _pattern("asks_which").match(head):
        return _trim_things([*_split_commas(rest), *others]) if mark else []
    if mark == ":":
        return []
    if _pattern("polar").match(lead) or _pattern("german_polar").match(lead):
        return _split_asked_first(sentence, head, others)
    return _split_bare(sentence, head, others)


def _drop_afterthought(part: str) -> str:
    preferred = _pattern("afterthought").match(part)
    return part if preferred is None else part[preferred.end() :]


def _drop_repeated_should(part: str) -> str:
    again = _pattern("should").fullmatch(part)
    return part if again is None else again["name"]


def _split_commas(text: str) -> list[str]:
    return [part for part in text.split(",") if part.strip()]


def _find_first_word(name: str) -> str:
    return name.strip().partition(" ")[0].casefold()


def _trim_nouns(names: list[str], *, is_sure: bool = True) -> list[str]:
    """Return names without what belongs to all of them; nothing where it is not sure that these are the answers.

    Not `is_sure`: "use mocks or stubs" may ask whether to use them, so that only names of one thing each are taken.
    """
    *heads, last = [name.strip() for name in names]
    for word in sorted(_list_words("shared")):
        cut = re.search(f" {word} ", last)
        is_shared = not any(f" {word} " in f" {head} " for head in heads)
        if cut is not None and is_shared:
            last = last[: cut.start()]
    if _find_first_word(heads[0]) in _list_words("shared") and " " not in last:
        heads[0] = heads[0].partition(" ")[2]
    first, _, end = last.rpartition(" ")
    if first and end.casefold() in _list_words("adverbs"):
        last = first
    listed = [*heads, last]
    has_article = [_has_article(name) for name in listed]
    are_plural = [_pattern("plural").fullmatch(name) is not None for name in listed]
    is_one_noun = has_article[0] and not has_article[-1] and last[:1].islower()
    is_one_noun = is_one_noun and not are_plural[-1]
    are_bare = [
        _pattern("bare_noun").fullmatch(name) is not None and not article
        for name, article in zip(listed, has_article, strict=True)
    ]
    if is_one_noun or (any(are_bare) and not is_sure):
        return []
    if max(len(name.split()) for name in listed) > MAX_NOUN_WORDS:
        return []
    return [_drop_article(name) for name in listed]


def _has_article(name: str) -> bool:
    first = _find_first_word(name)
    return first in _list_words("articles") or first in _list_words("determiners")


def _drop_article(name: str) -> str:
    article, _, rest = name.partition(" ")
    return rest if rest and article.casefold() in _list_words("articles") else name


def _split_bare(sentence: str, head: str, others: list[str]) -> list[str]:
    """Return the things of "X or Y?"; in German a question of two words may begin with its verb."""
    is_long = len(sentence.split()) > MAX_BARE_WORDS
    if is_long or any(_pattern(name).search(sentence) for name in ("pronoun", "something")):
        return []
    led = _pattern("preference").match(head)
    if " oder " in sentence and led is None:
        is_preferred = _pattern("german_preference").search(sentence) is not None
        last_words = [each.rpartition(" ")[2] for each in (head, *others)]
        are_verbs = all(
            each.islower() and each.endswith(("en", "ern", "eln")) for each in last_words
        )
        if " " in head and not is_preferred and not are_verbs:
            return []
    rest = head if led is None else head[led.end() :]
    return _trim_things([*_split_commas(rest), *others])


def _trim_things(names: list[str]) -> list[str]:
    """Return things to do as they are, and other things without what belongs to all of them."""
    first, *others = [_find_first_word(name) for name in names]
    # "Go" is a verb where it stands first: "Python or Go" names two languages.
    lower = {
        word for word, name in zip(others, names[1:], strict=True) if name.lstrip()[:1].islower()
    }
    is_done = bool(_list_words("verbs") & {first, *lower})
    return names if is_done else _trim_nouns(names)


def _split_asked_first(sentence: str, head: str, others: list[str]) -> list[str]:
    """Return the things of a question that begins as one for yes or no does, where it is sure that it asks for a choice."""
    prefers = _pattern("prefers").fullmatch(head)
    if prefers is not None:
        return _trim_nouns([*_split_commas(prefers["name"]), *others])
    compared, better = (
        _pattern("is_better").fullmatch(head),
        _pattern("than_others").search(others[-1]),
    )
    if compared is not None and better is not None:
        last = others[-1][: better.start()]
        return _trim_nouns([*_split_commas(compared["name"]), *others[:-1], last])
    if head[:3].casefold() in {"sho", "sha"}:
        return _split_should(sentence, head, others)
    for name in ("does_take", "german_takes"):
        taken = _pattern(name).fullmatch(head)
        if taken is not None:
            return _trim_nouns([*_split_commas(taken["name"]), *others], is_sure=False)
    return _split_german(head, others)


def _split_german(head: str, others: list[str]) -> list[str]:
    late = _pattern("german_takes_late").fullmatch(head)
    last, _, verb = others[-1].rpartition(" ")
    if late is not None and last and verb in _list_words("german_verbs"):
        return [*_split_commas(late["name"]), *others[:-1], last]
    verbs = _pattern("german_two_verbs").fullmatch(head)
    if verbs is not None and len(others) == 1 and " " not in others[0]:
        return [verbs["name"], *others]
    return []


def _split_should(sentence: str, head: str, others: list[str]) -> list[str]:
    """Return what "should we …" names: two things to take, two things to be, or two things to do."""
    should = _pattern("should").fullmatch(head)
    if should is None:
        return []
    if len(others) == 1:
        done = _split_verbs(sentence, should["name"], others[0])
        if done:
            return done
        placed = _split_by_preposition(should["name"], others[0])
        if placed:
            return placed
    if any(_find_first_word(name) in _list_words("verbs") for name in others):
        return []
    taken = _pattern("should_take").fullmatch(head)
    if taken is not None:
        return _trim_nouns([*_split_commas(taken["name"]), *others], is_sure=False)
    being = _pattern("should_be").fullmatch(head)
    if being is None or any(
        _pattern("participle").fullmatch(name) for name in (being["name"], *others)
    ):
        return []
    if any(len(name.split()) > 2 for name in others):
        return []
    return _trim_nouns([being["name"], *others])


def _split_verbs(sentence: str, head: str, other: str) -> list[str]:
    """Return "rewrite the parser" and "keep it"; nothing where both may be done, or the second is a part of the first."""
    one, two = _find_first_word(head), _find_first_word(other)
    has_contrary = bool(_list_words("contrary") & {one, two})
    are_alone = " " not in head and " " not in other
    is_parted = sentence.count(",") == 1 and f", or {other}" in sentence
    is_parted = is_parted or re.search(r", or (?:should|shall) ", sentence) is not None
    is_shared = " " not in head and " " in other and two not in _list_words("going")
    if is_shared or (one in _list_words("causing") and " " in head) or re.search(r" to \w+$", head):
        return []
    if are_alone and _pattern("participle").fullmatch(other) is None:
        return [head, other]
    are_verbs = _list_words("verbs") >= {one, two}
    return [head, other] if are_verbs and (has_contrary or is_parted) else []


def _split_by_preposition(head: str, other: str) -> list[str]:
    """Return the things of "in Postgres or in files"."""
    named = _pattern("preposition").match(other)
    if named is None:
        return []
    _, preposition, name = f" {head}".rpartition(f" {named[0].strip()} ")
    return _trim_nouns([name, other[named.end() :]]) if preposition else []


def _read_chinese(sentence: str) -> AskedKind | None:
    if _pattern("chinese_request").search(sentence):
        return None
    which = _pattern("chinese_which").fullmatch(sentence)
    if which is not None:
        return _build_choice([which["one"], which["other"]])
    has_or = "还是" in sentence
    if _pattern("chinese_wonders").search(sentence):
        why = OPEN if _pattern("chinese_asks_why").search(sentence) else MAYBE_OPEN
        return None if has_or else why
    if not has_or and _pattern("chinese_number").search(sentence):
        return AskedKind("number")
    if _pattern("chinese_clause").search(sentence):
        return None
    if has_or:
        return _read_chinese_choice(sentence)
    is_polar = _pattern("chinese_polar").search(sentence) is not None
    if _pattern("chinese_exists").search(sentence) or not is_polar:
        return None
    says_will = _pattern("chinese_will_word").search(sentence) is not None
    is_expected = says_will and _pattern("chinese_by_when").search(sentence) is not None
    return AskedKind("forecast" if is_expected else "yes_no")


def _read_chinese_choice(sentence: str) -> AskedKind | None:
    if _pattern("chinese_polar_end").search(sentence) or _pattern("chinese_polar").search(sentence):
        return None
    clause = re.split(r"[，,：:；;]", sentence.partition("还是")[0])[-1].strip()
    head, *others = [clause, *(each.strip() for each in sentence.split("还是")[1:])]
    if _pattern("chinese_still").fullmatch(head):
        return None
    denied = _pattern("chinese_not").fullmatch(others[0])
    if denied is not None and len(others) == 1:
        is_opposite = bool(denied["rest"]) and head.endswith(denied["rest"])
        return AskedKind("yes_no") if is_opposite else None
    if any(_pattern("chinese_denial").match(each) for each in others):
        return None
    # What follows a comma is a reason, or asks for more.
    if re.search("[，,；;]", others[-1]):
        return None
    better = _pattern("chinese_better").fullmatch(others[-1])
    if better is not None:
        others[-1] = better["name"]
    names = [_drop_chinese_lead(each) for each in (head, *others)]
    names = [*names[0].split("、"), *names[1:]]
    # What stands before the first answer may belong to all of them: 会议定在周一还是周五.
    if _measure_chinese(names[0]) > _measure_chinese(names[-1]) + 2:
        return None
    return _build_choice(names)


def _measure_chinese(name: str) -> int:
    """Return the length of a name, where a word in Latin letters is as long as two characters."""
    return len(re.sub(r"[\w.+#-]+", "xx", name, flags=re.ASCII).replace(" ", ""))


def _drop_chinese_lead(part: str) -> str:
    for name in ("chinese_take", "chinese_place", "chinese_lead"):
        led = _pattern(name).fullmatch(part)
        if led is not None:
            return led["name"]
    return part
