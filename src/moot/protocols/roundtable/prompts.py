"""The prompts of a conference: pure functions of what the seat may see, of bounded length."""

import re
from functools import partial
from typing import Final

from moot.domain.context import ContextWindow, Perception, Utterance
from moot.domain.effects import Ask, Brief
from moot.domain.safe_text import one_line, quote_lines
from moot.protocols.roundtable.facts import FORMS, MODERATOR, ConferenceOpened
from moot.protocols.roundtable.person import build_person_ask
from moot.protocols.roundtable.prompt_text import PROMPT_TEXT, RoundtablePromptText
from moot.protocols.roundtable.state import RECENT, Conference, NumberedSpeech

LONGEST_SPEECH: Final = 6_000
LONGEST_RECORD: Final = 60_000
"""The most characters of one speech that the next speakers read, and of all speeches that the moderator reads."""

_SENTENCES = re.compile(r"(?<=[。！？.!?\n])")
MOST_QUESTIONS: Final = 3


def build_brief(state: Conference, ask: Ask) -> Brief:
    """Build the brief of an ask."""
    words = PROMPT_TEXT[state.opened.language]
    memory = ContextWindow(window=RECENT)
    for speech in state.recent:
        memory = memory.add(Utterance(id=speech.number, speaker=speech.seat, text=speech.said.content), 0.5)
    own = next((speech.said.content for speech in reversed(state.speeches) if speech.seat == ask.seat), "")
    return Brief(
        ask=ask,
        seat=state.seat(ask.seat),
        form=FORMS[ask.kind],
        language=state.opened.language,
        seed=state.opened.seed,
        nth=state.round if ask.kind == "speech" else 1,
        perception=Perception(goal=state.opened.topic, memory=memory, own_words=own),
        system=words.system,
        shared=_build_shared_prompt(state, words, ask.kind),
        own=_build_own_prompt(state, words, ask),
        subject=state.speeches[-1].said.content if state.speeches else state.opened.topic,
        person=partial(build_person_ask, state, ask),
    )


def _build_shared_prompt(state: Conference, words: RoundtablePromptText, kind: str) -> str:
    opened = state.opened
    agenda = "\n".join(part for part in (opened.topic, opened.settings.agenda) if part)
    parts = [f"{words.agenda}\n{quote_lines(agenda[:LONGEST_RECORD])}\n{words.roles.format(roles=' → '.join(state.speakers))}"]
    shown = state.speeches if kind == "minutes" else state.recent
    if shown:
        room = LONGEST_SPEECH if kind == "speech" else max(200, LONGEST_RECORD // len(shown))
        older = len(state.speeches) - len(shown)
        lines = [words.all_speeches if kind == "minutes" else words.latest]
        lines += [words.earlier.format(count=older)] if older else []
        lines += [_format_speech(words, speech, room) for speech in shown]
        parts.append("\n".join(lines))
    return "\n\n".join(parts)


def _format_speech(words: RoundtablePromptText, speech: NumberedSpeech, room: int) -> str:
    quoted = quote_lines(speech.said.content)
    cut = quoted if len(quoted) <= room else f"{quoted[:room]}…"
    return f"{words.speech.format(number=speech.number, seat=speech.seat, round=speech.round)}\n{cut}"


def _build_own_prompt(state: Conference, words: RoundtablePromptText, ask: Ask) -> str:
    seat = state.seat(ask.seat)
    lines = [words.moderator if seat.id == MODERATOR else words.you.format(seat=seat.id)]
    if seat.stance:
        lines.append(one_line(seat.stance))
    if seat.instructions:
        lines.append(words.instructions.format(instructions=seat.instructions.strip()))
    if ask.kind == "speech" and state.prompt:
        lines += ["", words.prompt, quote_lines(state.prompt)]
    if state.inputs:
        lines += ["", words.inputs, *(quote_lines(text[:LONGEST_SPEECH]) for text in state.inputs[-RECENT:])]
    return "\n".join([*lines, "", words.now, words.conclude if ask.kind == "minutes" else words.speak])


def build_first_prompt(opened: ConferenceOpened) -> str:
    """Return the default instruction to the first speaker."""
    return PROMPT_TEXT[opened.language].first


def build_next_prompt(state: Conference, speech: NumberedSpeech) -> str:
    """Return the instruction to the next speaker if the last one left none: its questions, else that it has spoken."""
    words = PROMPT_TEXT[state.opened.language]
    sentences = _SENTENCES.split(speech.said.content[:LONGEST_SPEECH])
    asked = [one_line(each).lstrip("-*•># ") for each in sentences if each.endswith(("?", "？"))]
    questions = [each for each in asked if each.strip("?？")][-MOST_QUESTIONS:]
    if questions:
        return words.asked.format(seat=speech.seat, questions=" ".join(questions))[:2_000]
    return words.following.format(seat=speech.seat)
