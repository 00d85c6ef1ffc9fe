"""Why something could not be done: a code that every language has a sentence for, its values, and the words of others as they were.

The ledger keeps the code. What a provider, a program or a person wrote is a quotation: nobody translates it.
"""

from collections.abc import Mapping
from dataclasses import field, replace
from typing import Final, Literal, Self, TypeAlias

from moothall.domain.replace import dataclass
from moothall.domain.safe_text import fix_surrogates

MAX_WORDS: Final = 500
"""How many characters of the words of others a cause keeps."""
MAX_VALUE: Final = 300
"""The same of each of its values."""
OPTIONAL_VALUES: Final = ("status", "wait", "fetch")
"""Values that a sentence can do without; each comes with words of its own."""

CauseCode: TypeAlias = Literal[
    "said",
    "deadline",
    "slow",
    "slow_more",
    "slow_alone",
    "slow_more_alone",
    "no_answer",
    "silent",
    "crashed",
    "cut_off",
    "cancelled",
    "endless",
    "broke_files",
    "no_speech",
    "out",
    "rejected_key",
    "scripted",
    "script_ended",
    "person_left",
    "no_terminal",
    "no_chinese",
    "returned_none",
    "no_server",
    "needs_key",
    "wants_key",
    "rejects_key",
    "no_package",
    "no_credit",
    "no_model",
    "no_chat_model",
    "not_taken",
    "rate_limit",
    "declined",
    "broke_off",
    "not_reached",
    "not_run",
    "printed_too_much",
    "ended_with",
    "failed",
]
"""What can be the cause. `said`: what others wrote, and nothing else is known."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Cause:
    """Why something could not be done."""

    code: CauseCode = "said"
    values: Mapping[str, str] = field(default_factory=dict)
    """What stands in the sentence of the code: names, keys, addresses, numbers."""
    words: str = ""
    """What a provider, a program or a person wrote."""

    def __bool__(self) -> bool:
        return self.code != "said" or self.words != ""

    def __str__(self) -> str:
        """The cause in English."""
        return word_cause(self, "en")


NO_CAUSE: Final = Cause()
"""Nothing is known of the cause."""


class CauseSentence(str):
    """The English sentence of a cause, for a log, an error or a library's user; it knows its cause."""

    __slots__ = ("cause",)
    cause: Cause

    def __new__(cls, cause: Cause) -> Self:
        made = super().__new__(cls, str(cause))
        made.cause = cause
        return made


def state_cause(code: CauseCode, words: str = "", /, **values: object) -> CauseSentence:
    """Return the sentence of a code that Moot knows, with its values and with what others wrote of it."""
    stated = {name: str(value) for name, value in values.items() if value is not None}
    return CauseSentence(Cause(code=code, values=stated, words=words))


def find_cause(sentence: str) -> Cause:
    """Return the cause of a sentence: what it knows, or its words. It is short enough for the ledger, and can be stored there."""
    cause = sentence.cause if isinstance(sentence, CauseSentence) else Cause(words=sentence)
    values = {name: fix_surrogates(value)[:MAX_VALUE] for name, value in cause.values.items()}
    return replace(cause, values=values, words=fix_surrogates(cause.words)[:MAX_WORDS])


class _Values(dict[str, str]):
    """The values of a cause. A record that was imported may lack one that its sentence names."""

    def __missing__(self, name: str) -> str:
        return "?"


def word_cause(cause: Cause, language: str, *, has_words: bool = True) -> str:
    """Say a cause in a language: the sentence of its code, what others wrote if it `has_words`, and what can be done."""
    quoted = cause.words if has_words else ""
    if cause.code == "said":
        return quoted
    # Imported here: every process reads facts, and few say a cause.
    from moothall.locale.catalogues import LOSS_DETAILS

    texts = LOSS_DETAILS[language]
    values = _Values(cause.values)
    for name in OPTIONAL_VALUES:
        value = values.get(name, "")
        values[name] = texts.optional[name].format(value=value) if value else ""
    sentence = texts.details[cause.code].format_map(values)
    if quoted:
        sentence = texts.quoted.format(sentence=sentence, words=quoted)
    remedy = texts.remedies.get(cause.code, "").format_map(values)
    if remedy:
        return texts.remedied.format(sentence=sentence, remedy=remedy)
    return sentence
