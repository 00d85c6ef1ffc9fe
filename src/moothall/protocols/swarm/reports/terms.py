"""The swarm's own terms (roles, states, events, operations) in words. The records keep the terms of the source (M-11)."""

import re
from typing import Final

from moothall.locale.catalogues import LANGUAGE, SwarmReportText

_LATIN_WORDS: Final = re.compile(r"[A-Za-z]{3,}[^\u3400-\u9fff]*$")
_STRIKES: Final = re.compile(r"([a-z_]{1,40}) \((\d{1,4})\)")


def translate_term(words: SwarmReportText, term: str) -> str:
    """A role, a state, an event or an operation; what is none stays as it is."""
    strikes = _STRIKES.fullmatch(term)
    if strikes is not None and strikes[1] in words.terms:
        return words.strikes.format(term=words.terms[strikes[1]], count=strikes[2])
    return next((each[term] for each in (words.terms, words.events, words.verdicts, words.consensus_types) if term in each), term)


def translate_phrase(words: SwarmReportText, term: str) -> str:
    """A term in a sentence."""
    return translate_term(words, term).replace("_", " ")


def translate_detail(words: SwarmReportText, detail: str) -> str:
    """What exactly was wrong: recorded in English, and left out of a report for others unless it is a name."""
    is_hidden = LANGUAGE[words.language].english_details == "hidden"
    return "" if is_hidden and _LATIN_WORDS.search(detail) and " " in detail else detail
