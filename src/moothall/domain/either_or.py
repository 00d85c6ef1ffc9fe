"""Which answers a question names that yes or no does not answer: "PostgreSQL or MySQL?" (Q-2).

Until a session knows what kind of question it is, this guard asks and decides nothing. Where a question may be meant either way
("Do we need tests or documentation?") it names nothing, and yes counts.
"""

import re
from functools import lru_cache
from typing import Final

from moothall.domain.safe_text import compile_late, one_line
from moothall.domain.topic import MAX_LABEL_LENGTH, Topic, normalize_label

MAX_SENTENCE: Final = 240
"""A longer question is no list of two things."""
MAX_BARE_WORDS: Final = 14
MAX_UNMARKED_WORDS: Final = 3
"""A longer text without a question mark is a task: "Find bugs or risks"."""
MAX_NAMES: Final = 6

YES_OR_NO: Final = frozenset(
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
) | frozenset(("no", "nope", "n", "nein", "否", "不", "不是", "不对", "不可以"))
"""Labels that say yes or no and nothing else."""

_SENTENCE = compile_late(
    r"[^.!?。！？\n]*(?:[.!](?!\s|$)[^.!?。！？\n]*)*(?P<mark>[.!?。！？\n]|$)"
)
_OR = compile_late(r",? (?:or|oder) ", re.IGNORECASE)
_LEADS = compile_late(r"(?:either|entweder|lieber|rather|perhaps|vielleicht)\s+", re.IGNORECASE)
_TAILS = compile_late(r"(?:(?:doch|eher|rather|instead)\s+)?(?:lieber|besser)\s+", re.IGNORECASE)
_ASKS_WHICH = compile_late(
    r"(?:which|what|who|whom|whose|where|when|how|why|welche\w*|was|wer|wen|wem|wo|wann|wie|warum|womit|wohin)\b",
    re.IGNORECASE,
)
_POLAR = compile_late(
    r"\b(?:any\w*|at all|ever|irgend\w*|überhaupt|jemals|noch|schon)\b", re.IGNORECASE
)
# What stands behind the last "or" of a question that yes or no answers: "or not", "or older", "or is it too early".
_NO_THING = compile_late(
    r"(?:(?:doch\s+)?nicht|not|no|none|never|kein\w*|nein|what|so|else|more|less|fewer|older|newer|earlier|later|sooner|higher"
    r"|lower|above|below|mehr|weniger|älter\w*|neuer\w*|später|früher|something|etwas|others?|the like|is|are|was|were|would|will"
    r"|does|do|did|has|have|had|can|could|may|might|must|it|that|this|ist|sind|wäre|wird|hat|kann|geht|es)\b",
    re.IGNORECASE,
)
_SUBJECT: Final = (
    r"(?:we|i|you|they|he|she|one|(?:the|an?|our|my|this|your|each)\s+\w+(?:\s+\w+)?|[A-Z]\w+)"
)
_GERMAN_SUBJECT: Final = r"(?:wir|ich|sie|man|(?:die|der|das|ein\w*|unser\w*)\s+\w+)"
_BEGINS_POLAR = compile_late(
    r"(?:should|shall|do|does|did|is|are|was|were|will|would|can|could|may|might|must|has|have|had|need|sollen|sollten|soll"
    r"|sollte|wollen|will|wollten|dürfen|darf|können|kann|könnten|müssen|muss|ist|sind|war|waren|wäre|wären|hat|haben|hatte"
    r"|gibt|gab|wird|werden|würde\w*|brauchen|braucht|nehmen|nimmt|verwenden|nutzen|wählen|benutzen|reicht|reichen|hilft|helfen)\b",
    re.IGNORECASE,
)
_TAKE: Final = r"(?:use|choose|pick|take|adopt|select|prefer|buy|keep|have|go\s+(?:with|for)|stay\s+with|(?:switch|move|migrate)\s+to)"
_GERMAN_VERBS: Final = (
    "verwenden",
    "nehmen",
    "nutzen",
    "wählen",
    "benutzen",
    "einsetzen",
    "kaufen",
    "behalten",
    "einführen",
    "bevorzugen",
)
_GERMAN_TAKE: Final = f"(?:{'|'.join(_GERMAN_VERBS)})"
_BETTER: Final = (
    r"(?:the\s+)?(?:better|best|worse|worst|right|faster|slower|cheaper|safer|easier|simpler|stronger|more\s+\w+|less\s+\w+"
    r"|(?:die|der|das)\s+(?:bessere|beste|richtige)|besser|schlechter|schneller|langsamer|billiger|günstiger|sicherer|einfacher)"
)
_TAKES = compile_late(
    rf"(?:should|shall|do|does|would|will)\s+{_SUBJECT}\s+(?:rather\s+)?{_TAKE}\s+(?P<name>\S.*)",
    re.IGNORECASE,
)
_GERMAN_TAKES_LATE = compile_late(
    rf"(?:sollen|sollten|soll|sollte|wollen)\s+{_GERMAN_SUBJECT}\s+(?P<name>\S.*)", re.IGNORECASE
)
_GERMAN_TAKES = compile_late(rf"{_GERMAN_TAKE}\s+{_GERMAN_SUBJECT}\s+(?P<name>\S.*)", re.IGNORECASE)
_IS_BETTER = compile_late(
    r"(?:is|are|ist|sind|wäre|wären)\s+(?!(?:it|this|that|there|es|das|dies)\b)(?P<name>\S.*)",
    re.IGNORECASE,
)
_THAN_OTHERS = compile_late(rf"\s{_BETTER}\b", re.IGNORECASE)
_TWO_VERBS = compile_late(
    rf"(?:should|shall|sollen|sollten|wollen)\s+(?:{_SUBJECT}|{_GERMAN_SUBJECT})\s+"
    r"(?P<name>\w+|\w+\s+\w+en)",
    re.IGNORECASE,
)
_SHOULD = compile_late(rf"(?:should|shall)\s+{_SUBJECT}\s+(?P<name>\S.*)", re.IGNORECASE)
_BY_COMMA = compile_late(r",\s+or\s+", re.IGNORECASE)
_PREPOSITION = compile_late(r"(?:in|on|at|with|for|by|to|as|from)\s+", re.IGNORECASE)
_INFINITIVE: Final = ("en", "ern", "eln")
_PRONOUN = compile_late(r"\b(?:we|i|you|they|it|wir|ich|du|sie|es|man)\b(?!\s*$)", re.IGNORECASE)

_CHINESE_OR: Final = "还是"
_CHINESE_POLAR = compile_late(r"(?:[吗吧么呢]$)|是否|有没有|要不要|能不能")
# "还是" behind a subject or an adverb alone means "still": 我们还是用MySQL.
_CHINESE_STILL = compile_late(
    r"(?:我们?|咱们?|你们?|他们?|她们?|它们?|大家|团队|这|那|今天|现在|目前|先|就|都|也|最后|最终|应该|应当|要|想|是)*"
)
_CHINESE_LEAD = compile_late(r"(?:.{0,20}?(?:应该|应当|该|到底|究竟|是要|要))?(?:是)?(?P<name>.+)")
_CHINESE_TAKE = compile_late(r".{0,30}?(?:使用|采用|选用|选择|用|选)(?P<name>.+)")
_CHINESE_NO = compile_late(r"(?:是|说|就)?[不没别否]")


def is_yes_or_no(label: str) -> bool:
    """Whether a label says yes or no and nothing else."""
    return normalize_label(label) in YES_OR_NO


def find_unlisted_alternatives(question: str, subject: Topic) -> tuple[str, ...]:
    """Return the things that a question names itself; empty where its answers are listed, or yes or no may answer it."""
    return () if subject.options else find_alternatives(question)


def names_nothing(question: str, subject: Topic, choice: str, text: str = "") -> bool:
    """Whether an answer says yes or no where the question names two things: its label does, or without a label its text."""
    said = choice or text
    is_bare = len(said) <= MAX_LABEL_LENGTH and is_yes_or_no(said)
    return is_bare and bool(find_unlisted_alternatives(question, subject))


@lru_cache(maxsize=256)
def find_alternatives(question: str) -> tuple[str, ...]:
    """Return the things of which a question asks for one; empty where yes or no may answer it, or where that is not sure."""
    sentence = _find_question(question)
    if len(sentence) > MAX_SENTENCE:
        return ()
    if _CHINESE_OR in sentence:
        names = _split_chinese(sentence)
    else:
        names = _split_latin(sentence)
    return _validate(names)


def _validate(names: list[str]) -> tuple[str, ...]:
    shown = [one_line(name).strip(" ,，:：'\"“”") for name in names]
    labels = set(map(normalize_label, shown))
    is_list = 1 < len(shown) <= MAX_NAMES and len(labels) == len(shown)
    if not is_list or "" in labels or labels & YES_OR_NO:
        return ()
    if max(map(len, shown)) > MAX_LABEL_LENGTH:
        return ()
    return tuple(shown)


def _find_question(text: str) -> str:
    """Return the last question of a text without its mark; "PostgreSQL or MySQL" needs none."""
    end = text.replace("還是", _CHINESE_OR)[-4 * MAX_SENTENCE :]
    sentences = [each for each in _SENTENCE.finditer(end) if each[0].strip(" .!?。！？\n")]
    asked = [each for each in sentences if each["mark"] in {"?", "？"}]
    is_short = len(sentences) == 1 and len(text.split()) <= MAX_UNMARKED_WORDS
    if not asked and not is_short:
        return ""
    last = (asked or sentences)[-1]
    return last[0].strip(" .!?。！？\n")


def _split_latin(sentence: str) -> list[str]:
    sentence = " ".join(sentence.split())
    head, *others = _OR.split(sentence)
    if not others or _POLAR.search(sentence):
        return []
    if _SHOULD.match(head):
        others[-1] = _drop_repeated_should(others[-1])
    if ":" in " ".join(others) or any(_NO_THING.match(each) for each in others):
        return []
    others = [_drop_tail(each) for each in others]
    which = _ASKS_WHICH.match(head)
    lead, mark, rest = head.partition(":" if ":" in head else ",")
    if which is not None:
        return [*_split_commas(rest), *others] if mark else []
    if mark == ":":
        return [*_split_commas(rest), *others]
    if _BEGINS_POLAR.match(lead):
        return _split_asked_first(sentence, head, others)
    return _split_bare(sentence, head, others)


def _drop_tail(part: str) -> str:
    preferred = _TAILS.match(part)
    return part if preferred is None else part[preferred.end() :]


def _drop_repeated_should(part: str) -> str:
    again = _SHOULD.fullmatch(part)
    return part if again is None else again["name"]


def _split_commas(text: str) -> list[str]:
    return [part for part in text.split(",") if part.strip()]


def _split_bare(sentence: str, head: str, others: list[str]) -> list[str]:
    """Return the things of "X or Y?"; in German a question of two words may begin with its verb."""
    if len(sentence.split()) > MAX_BARE_WORDS or _PRONOUN.search(sentence):
        return []
    led = _LEADS.match(head)
    if re.search(r"\soder\s", sentence, re.IGNORECASE) and led is None:
        is_preferred = re.search(r"\b(?:lieber|besser)\b", sentence, re.IGNORECASE) is not None
        last_words = [each.rpartition(" ")[2] for each in (head, *others)]
        are_verbs = all(each.islower() and each.endswith(_INFINITIVE) for each in last_words)
        if " " in head and not is_preferred and not are_verbs:
            return []
    rest = head if led is None else head[led.end() :]
    return [*_split_commas(rest), *others]


def _split_asked_first(sentence: str, head: str, others: list[str]) -> list[str]:
    """Return the things of a question that begins as one for yes or no does, where it is sure that it asks for a choice."""
    taken = _TAKES.fullmatch(head) or _GERMAN_TAKES.fullmatch(head)
    if taken is not None:
        return [*_split_commas(taken["name"]), *others]
    late, (last, _, verb) = _GERMAN_TAKES_LATE.fullmatch(head), others[-1].rpartition(" ")
    if late is not None and last and verb in _GERMAN_VERBS:
        return [*_split_commas(late["name"]), *others[:-1], last]
    compared, better = _IS_BETTER.fullmatch(head), _THAN_OTHERS.search(others[-1])
    if compared is not None and better is not None:
        last = others[-1][: better.start()]
        return [*_split_commas(compared["name"]), *others[:-1], last]
    verbs = _TWO_VERBS.fullmatch(head)
    if verbs is not None and len(others) == 1 and " " not in others[0]:
        return [verbs["name"], *others]
    should = _SHOULD.fullmatch(head)
    if should is None or len(others) > 1:
        return []
    if sentence.count(",") == 1 and _BY_COMMA.search(sentence):
        return [should["name"], *others]
    return _split_by_preposition(should["name"], others[0])


def _split_by_preposition(head: str, other: str) -> list[str]:
    """Return the things of "in Postgres or in files"."""
    named = _PREPOSITION.match(other)
    if named is None:
        return []
    _, preposition, name = f" {head}".rpartition(f" {named[0].strip()} ")
    return [name, other[named.end() :]] if preposition else []


def _split_chinese(sentence: str) -> list[str]:
    if _CHINESE_POLAR.search(sentence):
        return []
    clause = re.split(r"[，,：:；;]", sentence.partition(_CHINESE_OR)[0])[-1]
    head, *others = [clause, *sentence.split(_CHINESE_OR)[1:]]
    if _CHINESE_STILL.fullmatch(head.strip()):
        return []
    if any(_CHINESE_NO.match(each.strip()) for each in others):
        return []
    return [_drop_chinese_lead(each.strip()) for each in (head, *others)]


def _drop_chinese_lead(part: str) -> str:
    taken = _CHINESE_TAKE.fullmatch(part) or _CHINESE_LEAD.fullmatch(part)
    return part if taken is None else taken["name"]
