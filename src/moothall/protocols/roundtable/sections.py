"""The sections of speeches and minutes, recognised kindly: headings of any level, bold lines, lines that end with a colon.

A session is replayed with the words of this module (`MinutesReturned` is computed with them): a change of them changes which
minutes count as complete.
"""

import re
from dataclasses import dataclass
from typing import Final, Literal

from moothall.domain.facts import Language
from moothall.domain.roster import Seat
from moothall.domain.safe_text import one_line
from moothall.locale.catalogues import ROUNDTABLE_PROMPT

MinutesSection = Literal["summary", "consensus", "disagreements", "actions"]

# Bounded repetitions: a speech is text from outside, and no line of it may make the search slow.
_HEAD: Final = re.compile(
    r"^(?:#{1,6}[ \t]*(?P<marked>\S.*)|[ \t]{0,8}\*\*(?P<bold>[^*\n]{1,80})\*\*[ \t]{0,8}[:：]?[ \t]{0,8}|"
    r"[ \t]{0,8}(?P<plain>[^\s#*|>:：][^\n#*|:：]{0,39})[:：][ \t]{0,8})$",
    re.MULTILINE,
)
_MINUTES: Final[dict[MinutesSection, re.Pattern[str]]] = {
    "summary": re.compile(r"summar|overview|recap|摘要|概要|概述|总结|综述", re.IGNORECASE),
    "consensus": re.compile(r"consensus|\bagreed|\bagreement|共识|(?<!不)一致", re.IGNORECASE),
    "disagreements": re.compile(
        r"disagree|dissent|dispute|unresolved|left open|open (?:question|issue|point)|分歧|未决|争议|不一致", re.IGNORECASE
    ),
    "actions": re.compile(r"\baction|next step|\bto-?do\b|行动|待办|下一步|后续", re.IGNORECASE),
}
_SPEECH: Final = (("立场", "stance"), ("分析", "analysis"), ("回应", "response", "提问", "questions"))


@dataclass(frozen=True, slots=True)
class Section:
    """A heading and the text under it. `is_marked`: the heading has the `#` of Markdown."""

    title: str
    text: str
    is_marked: bool


def split_sections(text: str) -> list[Section]:
    """Split a text at its headings; what stands before the first one is left out."""
    heads = list(_HEAD.finditer(text))
    ends = [*(head.start() for head in heads[1:]), len(text)]
    return [
        Section(
            title=(head["marked"] or head["bold"] or head["plain"]).strip(),
            text=text[head.end() : end].strip(),
            is_marked=head["marked"] is not None,
        )
        for head, end in zip(heads, ends, strict=False)
    ]


def find_missing_sections(text: str, language: Language = "en") -> tuple[str, ...]:
    """Return the names of the sections that a speech should have and lacks."""
    titles = [section.title.casefold() for section in split_sections(text)]
    return tuple(
        name
        for name, words in zip(ROUNDTABLE_PROMPT[language].speech_heads, _SPEECH, strict=True)
        if not any(word in title for title in titles for word in words)
    )


def is_speechlike(text: str) -> bool:
    """Whether a text has at least one of a speech's sections."""
    return len(find_missing_sections(text)) < len(_SPEECH)


def extract_speech_section(text: str, place: Literal[0, 1, 2]) -> str:
    """Return the text of a speech's stance (0), analysis (1) or response (2); empty if it has no such section."""
    words = _SPEECH[place]
    return next((each.text for each in split_sections(text) if any(word in each.title.casefold() for word in words)), "")


def find_missing_minutes(text: str) -> tuple[MinutesSection, ...]:
    """Return the sections that minutes should have and lack."""
    titles = [section.title for section in split_sections(text)]
    return tuple(name for name, words in _MINUTES.items() if not any(words.search(title) for title in titles))


def name_minutes_sections(missing: tuple[str, ...], language: Language) -> str:
    """Return the headings of these sections, for people to read."""
    return ", ".join(f"## {head}" for name, head in ROUNDTABLE_PROMPT[language].minutes_heads.items() if name in missing)


def extract_minutes_section(text: str, name: MinutesSection) -> str:
    """Return the text of a section of the minutes; empty if there is none.

    A heading that begins with the section's word comes before one that only contains it.
    """
    words = _MINUTES[name]
    sections: list[Section] = []
    for section in split_sections(text):
        # A bold line or one with a colon may stand inside a section: it begins another one only if it names one of the four.
        if sections and not section.is_marked and not any(each.search(section.title) for each in _MINUTES.values()):
            whole = f"{sections[-1].text}\n\n{section.title}:\n{section.text}".strip()
            sections[-1] = Section(sections[-1].title, whole, sections[-1].is_marked)
        else:
            sections.append(section)
    found = [each for each in sections if words.search(each.title)]
    return next((each.text for each in found if words.match(each.title)), found[0].text if found else "")


def describe_role(seat: Seat) -> str:
    """Return what a role is for, on one line; empty if nothing was said about it."""
    return one_line(f"{seat.stance} {seat.instructions}")
