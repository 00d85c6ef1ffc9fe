"""The sections of speeches and minutes, recognised kindly: headings of any level, bold lines, lines that end with a colon.

A session is replayed with the words of this module (`MinutesReturned` is computed with them): a change of them changes which
minutes count as complete.
"""

import re
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Final, Literal

from moothall.domain.context import MAX_DIGEST_LENGTH
from moothall.domain.replace import dataclass
from moothall.domain.topic import MAX_ACTIONS, ActionItem
from moothall.domain.vocabulary import PATTERNS
from moothall.features.roundtable.words import ROUNDTABLE_PROMPT, SPEECH_DIGEST
from moothall.plugins import Language, Seat, compile_late, extract_first_sentence, one_line

MinutesSection = Literal["summary", "consensus", "disagreements", "actions", "choice"]
"""`choice`: one of the options, the same behind the mark and in the text; it is no heading."""

# Bounded repetitions: a speech is text from outside, and no line of it may make the search slow.
_HEAD: Final = compile_late(
    r"^(?:#{1,6}[ \t]*(?P<marked>\S.*)|[ \t]{0,8}\*\*(?P<bold>[^*\n]{1,80})\*\*[ \t]{0,8}[:：]?[ \t]{0,8}|"
    r"[ \t]{0,8}(?P<plain>[^\s#*|>:：][^\n#*|:：]{0,39})[:：][ \t]{0,8})$",
    re.MULTILINE,
)
_ON_ITS_LINE: Final = compile_late(
    r"^[ \t]{0,8}(?:\*\*)?[^\s#*|>:：][^\n#*|:：]{0,39}[:：](?:\*\*)?[ \t]{0,8}(?=[^\s*])",
    re.MULTILINE,
)
"""A heading with a colon whose text goes on behind it: "Consensus: we ship."."""
_MINUTES: Final[dict[MinutesSection, re.Pattern[str]]] = {
    "summary": compile_late(r"summar|overview|recap|摘要|概要|概述|总结|综述", re.IGNORECASE),
    "consensus": compile_late(r"consensus|\bagreed|\bagreement|共识|(?<!不)一致", re.IGNORECASE),
    "disagreements": compile_late(
        r"disagree|dissent|dispute|unresolved|left open|open (?:question|issue|point)|分歧|未决|争议|不一致",
        re.IGNORECASE,
    ),
    "actions": compile_late(r"\baction|next step|\bto-?do\b|行动|待办|下一步|后续", re.IGNORECASE),
}
_SPEECH: Final = (
    ("立场", "stance"),
    ("分析", "analysis"),
    ("回应", "response", "提问", "questions"),
)


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
    sections: list[Section] = []
    for head, end in zip(heads, ends, strict=False):
        title = head["marked"] or head["bold"] or head["plain"]
        sections.append(
            Section(
                title=title.strip(),
                text=text[head.end() : end].strip(),
                is_marked=head["marked"] is not None,
            )
        )
    return sections


def find_missing_sections(text: str, language: Language = "en") -> tuple[str, ...]:
    """Return the names of the sections that a speech should have and lacks."""
    titles = [section.title.casefold() for section in split_sections(text)]
    missing: list[str] = []
    for name, words in zip(ROUNDTABLE_PROMPT[language].speech_heads, _SPEECH, strict=True):
        if not any(word in title for title in titles for word in words):
            missing.append(name)
    return tuple(missing)


def is_speechlike(text: str) -> bool:
    """Whether a text has at least one of a speech's sections."""
    return len(find_missing_sections(text)) < len(_SPEECH)


def extract_speech_section(text: str, place: Literal[0, 1, 2]) -> str:
    """Return the text of a speech's stance (0), analysis (1) or response (2); empty if it has no such section."""
    words = _SPEECH[place]
    return next(
        (
            each.text
            for each in split_sections(text)
            if any(word in each.title.casefold() for word in words)
        ),
        "",
    )


_ACTION: Final = compile_late(
    r"^[ \t]{0,8}(?:[-*•]|\d{1,3}[.)、])[ \t]+(?P<item>\S[^\n]*)$", re.MULTILINE
)
_WHO: Final = compile_late(
    r"\*{0,2}(?P<who>[^:：*\n]{1,60})\*{0,2}[:：](?!//)\*{0,2}[ \t]*(?P<text>\S.*)"
)
_DUE: Final = compile_late(
    r"[(（](?:(?:by|until|due)[ :]|截止[:：]?)(?P<due>[^()（）]{1,100})[)）][.。;；]?",
    re.IGNORECASE,
)


def read_actions(section: str) -> tuple[ActionItem, ...]:
    """Return the action items of minutes: a line each, as they are asked for, `- WHO: WHAT (by WHEN)`.

    A line in another form is an item whose words stand as they are, for nobody and without a date.
    """
    actions: list[ActionItem] = []
    for line in _ACTION.finditer(section):
        item = one_line(line["item"])
        if PATTERNS["nothing"].fullmatch(item):
            continue
        item, due = _split_due(item)
        named = _WHO.fullmatch(item)
        actions.append(
            ActionItem(
                who="" if named is None else one_line(named["who"]),
                text=(item if named is None else named["text"]).strip()[:2_000],
                due=due,
            )
        )
    return tuple(actions[:MAX_ACTIONS])


def _split_due(item: str) -> tuple[str, str]:
    """Return an item without the brackets at its end that say by when, and what they say."""
    at = max(item.rfind("("), item.rfind("（"))
    due = _DUE.fullmatch(item[at:]) if at > 0 else None
    if due is None:
        return item, ""
    return item[:at].rstrip(), due["due"].strip()


def find_missing_minutes(text: str) -> tuple[MinutesSection, ...]:
    titles = [section.title for section in split_sections(text)]
    return tuple(
        name for name, words in _MINUTES.items() if not any(words.search(title) for title in titles)
    )


def name_minutes_sections(missing: tuple[str, ...], language: Language) -> str:
    """Return the headings of these sections, for people to read."""
    heads = ROUNDTABLE_PROMPT[language].minutes_heads
    return ", ".join(
        head if name == "choice" else f"## {head}"
        for name, head in heads.items()
        if name in missing
    )


def extract_minutes_section(text: str, name: MinutesSection) -> str:
    """Return the text of a section of the minutes; empty if there is none.

    A heading that begins with the section's word comes before one that only contains it.
    """
    words = _MINUTES[name]
    sections: list[Section] = []
    for section in split_sections(text):
        # A bold line or one with a colon may stand inside a section: it begins another one only if it names one of the four.
        if (
            sections
            and not section.is_marked
            and not any(each.search(section.title) for each in _MINUTES.values())
        ):
            whole = f"{sections[-1].text}\n\n{section.title}:\n{section.text}".strip()
            sections[-1] = Section(sections[-1].title, whole, sections[-1].is_marked)
        else:
            sections.append(section)
    matching = [each for each in sections if words.search(each.title)]
    if not matching and (below := _ON_ITS_LINE.sub(_put_below, text)) != text:
        return extract_minutes_section(below, name)
    return next(
        (each.text for each in matching if words.match(each.title)),
        matching[0].text if matching else "",
    )


def _put_below(head: re.Match[str]) -> str:
    return (
        f"{head[0]}\n"
        if any(each.match(head[0].lstrip(" \t*")) for each in _MINUTES.values())
        else head[0]
    )


def describe_role(seat: Seat) -> str:
    """Return what a role is for, on one line; empty if nothing was said about it."""
    return one_line(f"{seat.stance} {seat.instructions}")


MIN_SHARE: Final = 80
"""A text that would be cut to less says nothing."""

_READ: Final = 6_000
"""How much of a speech a digest is made from."""

_SENTENCES: Final = compile_late(r"(?<=[。！？\n])|(?<=[.!?]) ")
_BECAUSE: Final = compile_late(
    r"\b(?:because|since|therefore)\b|因为|由于|因此|所以", re.IGNORECASE
)
_FIGURE: Final = compile_late(r"\d")
_MARKUP: Final = "-*•># \t"


@dataclass(frozen=True, slots=True)
class SpeechText:
    """A speech as it is shown: whole, cut off, or as a digest."""

    number: int
    seat: str
    text: str
    how: Literal["whole", "cut", "digest"] = "whole"


@dataclass(frozen=True, slots=True)
class FittedSpeeches:
    """The speeches that fit, by number; so many are `left_out`, as a rule the oldest."""

    shown: tuple[SpeechText, ...]
    left_out: int = 0


def fit_speeches(
    speeches: Sequence[SpeechText],
    room: int,
    head_room: int,
    language: Language,
    render: Callable[[str], str] = str,
) -> FittedSpeeches:
    """Fit speeches into so many characters, each with `head_room` for the line above it; `render` makes what is shown."""
    # The plain lengths first: the texts of a long conference are not rendered only to learn that they do not fit.
    if sum(len(each.text) + head_room for each in speeches) <= room:
        whole = [replace(each, text=render(each.text)) for each in speeches]
        if sum(len(each.text) + head_room for each in whole) <= room:
            return FittedSpeeches(tuple(whole))
    last = {each.seat: each for each in speeches}
    # Two thirds for whole texts, so that the older speeches keep some room for their digests.
    whole_room = room * 2 // 3
    shown = _share_room(
        sorted(last.values(), key=lambda each: -each.number), whole_room, head_room, render
    )
    whole_room -= sum(len(each.text) + head_room for each in shown)
    older = [each for each in reversed(speeches) if last[each.seat] is not each]
    while older and (text := _render_within(older[0], whole_room - head_room, render)) is not None:
        shown.append(replace(older[0], text=text))
        whole_room -= len(text) + head_room
        older = older[1:]
    left = room - sum(len(each.text) + head_room for each in shown)
    for each in older:
        text = render(build_digest(each.text, language))
        left -= len(text) + head_room
        if left < 0:
            break
        shown.append(replace(each, text=text, how="digest"))
    return FittedSpeeches(
        tuple(sorted(shown, key=lambda each: each.number)), len(speeches) - len(shown)
    )


def _share_room(
    speeches: list[SpeechText], room: int, head_room: int, render: Callable[[str], str]
) -> list[SpeechText]:
    """Share the room equally; what a short speech leaves over goes to the longer ones, which are cut to their share."""
    shown: list[SpeechText] = []
    waiting = sorted(speeches, key=lambda each: len(each.text))
    for at, each in enumerate(waiting):
        share = room // (len(waiting) - at) - head_room
        if share < MIN_SHARE:
            break
        # Rendering may add characters, never remove many: twice the share is enough to fill it.
        text = render(each.text[: 2 * share + 1])
        is_whole = len(each.text) <= 2 * share + 1 and len(text) <= share
        text = text if is_whole else f"{text[: share - 1]}…"
        shown.append(replace(each, text=text, how="whole" if is_whole else "cut"))
        room -= len(text) + head_room
    return shown


def _render_within(speech: SpeechText, room: int, render: Callable[[str], str]) -> str | None:
    """Return the rendered text; None if it does not fit."""
    if len(speech.text) > room:
        return None
    text = render(speech.text)
    return text if len(text) <= room else None


def build_digest(content: str, language: Language) -> str:
    """Shorten a speech to its stand, the figures that it names, and its reason."""
    words, content = SPEECH_DIGEST[language], content[:_READ]
    stance, analysis = extract_speech_section(content, 0), extract_speech_section(content, 1)
    stand = extract_first_sentence((stance or content).lstrip(_MARKUP + "\n"))
    spoken = [each for each in _SENTENCES.split(content) if not each.lstrip().startswith("#")]
    stripped = [one_line(each).strip(_MARKUP) for each in spoken]
    sentences = [line for line in stripped if line]
    reason = next(
        (each for each in sentences if _BECAUSE.search(each)), extract_first_sentence(analysis)
    )
    figures = [each for each in sentences if _FIGURE.search(each) and each not in {stand, reason}]
    parts = [words.stand.format(text=stand)]
    if figures:
        parts.append(words.figures.format(text=_clip(" ".join(figures[:2]))))
    if reason and reason != stand:
        parts.append(words.reason.format(text=_clip(reason)))
    return " ".join(parts)


def _clip(text: str) -> str:
    return text if len(text) <= MAX_DIGEST_LENGTH else f"{text[: MAX_DIGEST_LENGTH - 1]}…"
