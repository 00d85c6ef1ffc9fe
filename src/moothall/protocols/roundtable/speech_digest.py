"""Fits many speeches into little room: the newest and each role's last ones whole, older ones as digests. Pure."""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final, Literal

from moothall.domain.context import MAX_DIGEST_LENGTH, extract_first_sentence
from moothall.domain.facts import Language
from moothall.domain.safe_text import one_line
from moothall.locale.catalogues import SPEECH_DIGEST
from moothall.protocols.roundtable.sections import extract_speech_section

MIN_SHARE: Final = 80
"""A text that would be cut to less says nothing."""

_READ: Final = 6_000
"""How much of a speech a digest is made from."""

_SENTENCES: Final = re.compile(r"(?<=[。！？\n])|(?<=[.!?]) ")
_BECAUSE: Final = re.compile(r"\b(?:because|since|therefore)\b|因为|由于|因此|所以", re.IGNORECASE)
_FIGURE: Final = re.compile(r"\d")
_MARKUP: Final = "-*•># \t"


@dataclass(frozen=True, slots=True)
class SpeechText:
    """A speech as it was given."""

    number: int
    seat: str
    content: str


@dataclass(frozen=True, slots=True)
class ShownSpeech:
    """A speech as it is shown: whole, cut off, or as a digest."""

    number: int
    seat: str
    text: str
    how: Literal["whole", "cut", "digest"] = "whole"


@dataclass(frozen=True, slots=True)
class FittedSpeeches:
    """The speeches that fit, by number; so many are `left_out`, as a rule the oldest."""

    shown: tuple[ShownSpeech, ...]
    left_out: int = 0


def fit_speeches(
    speeches: Sequence[SpeechText], room: int, head_room: int, language: Language, render: Callable[[str], str] = str
) -> FittedSpeeches:
    """Fit speeches into so many characters, each with `head_room` for the line above it; `render` makes what is shown."""
    # The plain lengths first: the texts of a long conference are not rendered only to learn that they do not fit.
    if sum(len(each.content) + head_room for each in speeches) <= room:
        whole = [ShownSpeech(each.number, each.seat, render(each.content)) for each in speeches]
        if sum(len(each.text) + head_room for each in whole) <= room:
            return FittedSpeeches(tuple(whole))
    last = {each.seat: each for each in speeches}
    # Two thirds for whole texts, so that the older speeches keep some room for their digests.
    whole_room = room * 2 // 3
    shown = _share_room(sorted(last.values(), key=lambda each: -each.number), whole_room, head_room, render)
    whole_room -= sum(len(each.text) + head_room for each in shown)
    older = [each for each in reversed(speeches) if last[each.seat] is not each]
    while older and (text := _render_within(older[0], whole_room - head_room, render)) is not None:
        shown.append(ShownSpeech(older[0].number, older[0].seat, text))
        whole_room -= len(text) + head_room
        older = older[1:]
    left = room - sum(len(each.text) + head_room for each in shown)
    for each in older:
        text = render(build_digest(each.content, language))
        left -= len(text) + head_room
        if left < 0:
            break
        shown.append(ShownSpeech(each.number, each.seat, text, "digest"))
    return FittedSpeeches(tuple(sorted(shown, key=lambda each: each.number)), len(speeches) - len(shown))


def _share_room(speeches: list[SpeechText], room: int, head_room: int, render: Callable[[str], str]) -> list[ShownSpeech]:
    """Share the room equally; what a short speech leaves over goes to the longer ones, which are cut to their share."""
    shown: list[ShownSpeech] = []
    waiting = sorted(speeches, key=lambda each: len(each.content))
    for at, each in enumerate(waiting):
        share = room // (len(waiting) - at) - head_room
        if share < MIN_SHARE:
            break
        # Rendering may add characters, never remove many: twice the share is enough to fill it.
        text = render(each.content[: 2 * share + 1])
        is_whole = len(each.content) <= 2 * share + 1 and len(text) <= share
        text = text if is_whole else f"{text[: share - 1]}…"
        shown.append(ShownSpeech(each.number, each.seat, text, "whole" if is_whole else "cut"))
        room -= len(text) + head_room
    return shown


def _render_within(speech: SpeechText, room: int, render: Callable[[str], str]) -> str | None:
    """Return the rendered text; None if it does not fit."""
    if len(speech.content) > room:
        return None
    text = render(speech.content)
    return text if len(text) <= room else None


def build_digest(content: str, language: Language) -> str:
    """Shorten a speech to its stand, the figures that it names, and its reason."""
    words, content = SPEECH_DIGEST[language], content[:_READ]
    stance, analysis = extract_speech_section(content, 0), extract_speech_section(content, 1)
    stand = extract_first_sentence((stance or content).lstrip(_MARKUP + "\n"))
    sentences = [line for each in _SENTENCES.split(content) if (line := one_line(each).strip(_MARKUP)) and not _is_head(each)]
    reason = next((each for each in sentences if _BECAUSE.search(each)), extract_first_sentence(analysis))
    figures = [each for each in sentences if _FIGURE.search(each) and each not in {stand, reason}][:2]
    parts = [words.stand.format(text=stand)]
    parts += [words.figures.format(text=_clip(" ".join(figures)))] if figures else []
    parts += [words.reason.format(text=_clip(reason))] if reason and reason != stand else []
    return " ".join(parts)


def _is_head(line: str) -> bool:
    return line.lstrip().startswith("#")


def _clip(text: str) -> str:
    return text if len(text) <= MAX_DIGEST_LENGTH else f"{text[: MAX_DIGEST_LENGTH - 1]}…"
