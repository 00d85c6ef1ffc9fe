"""The prompts of a persona meeting: pure functions of what the seat may see.

All seats share the first part, word for word (system, question, summary, last turns); the seat's own part comes last, so that a
provider's prefix cache hits.
"""

from functools import lru_cache, partial

from moot.domain.context import ContextWindow, Digest, Perception, Utterance
from moot.domain.effects import Ask, Brief, no_fault
from moot.domain.facts import Language
from moot.domain.ids import SeatId
from moot.domain.roster import Seat
from moot.domain.safe_text import FENCE, one_line, quote_lines
from moot.protocols.persona.facts import FORMS, Draft
from moot.protocols.persona.person import build_person_ask
from moot.protocols.persona.prompt_text import PROMPT_TEXT, PersonaPromptText
from moot.protocols.persona.state import Meeting


def build_brief(state: Meeting, ask: Ask) -> Brief:
    """Build the brief of an ask."""
    words = PROMPT_TEXT[state.opened.language]
    seat = state.seat(ask.seat)
    memory = ContextWindow(window=state.memory.window) if ask.kind == "position" else state.memory
    before = state.positions.get(seat.id)
    own_words = state.own_words.get(seat.id, "" if before is None else before.position)
    perception = Perception(goal=state.opened.topic, memory=memory, own_words=own_words)
    return Brief(
        ask=ask,
        seat=seat,
        form=FORMS[ask.kind],
        language=state.opened.language,
        seed=state.opened.seed,
        nth=_count_ask(state, ask),
        perception=perception,
        system=words.system,
        shared=build_shared_prompt(state.opened.language, perception.goal, memory),
        own=build_own_prompt(words, state, seat, ask.kind),
        subject=_find_subject(state, ask.kind),
        # The decider's bid also says whether enough was said, which a yes-or-no probe cannot express.
        probe=words.probe.format(newest=state.about) if ask.kind == "intent" and seat.id != state.decider else "",
        fault=_DraftValidator(state.last_id) if ask.kind == "draft" else no_fault,
        person=partial(build_person_ask, state, ask),
    )


@lru_cache(maxsize=32)
def build_shared_prompt(language: Language, goal: str, memory: ContextWindow) -> str:
    """Return what every seat reads, in the same words: built once per turn, not once per seat."""
    words = PROMPT_TEXT[language]
    parts = [f"{words.question}\n{quote_lines(goal)}"]
    if memory.older:
        lines = [_format_digest(line) for line in memory.older]
        if memory.left_out:
            lines.append(words.left_out.format(count=memory.left_out))
        parts.append("\n".join([words.earlier, *lines]))
    if memory.recent:
        parts.append("\n".join([words.last_turns, *(_format_utterance(words, utterance) for utterance in memory.recent)]))
    return "\n\n".join(parts)


def build_own_prompt(words: PersonaPromptText, state: Meeting, seat: Seat, kind: str) -> str:
    """Return what only this seat reads: who it is, and what it is asked for."""
    lines = [words.you, words.seat.format(seat=seat.id)]
    if seat.stance:
        lines.append(words.stance.format(stance=one_line(seat.stance)))
    if seat.instructions:
        lines.append(words.instructions.format(instructions=seat.instructions.strip()))
    lines += _format_context(words, state, seat, kind)
    return "\n".join([*lines, "", words.now, _format_request(words, state, seat, kind)])


def _format_context(words: PersonaPromptText, state: Meeting, seat: Seat, kind: str) -> list[str]:
    if kind == "speech" and seat.id in state.own_words:
        return [words.own_words, quote_lines(state.own_words[seat.id])]
    if kind == "draft":
        return _format_consensus(words, state)
    if kind == "stand" and state.draft is not None:
        before = state.positions.get(seat.id)
        taken = [] if before is None else [words.taken_before, quote_lines(before.position)]
        return [*taken, words.decision, quote_lines(state.draft.decision.text)]
    return []


def _format_consensus(words: PersonaPromptText, state: Meeting) -> list[str]:
    seats = len(state.seats)
    agreed = [f"#{point.entry} {point.speaker}" for point in state.points if point.compute_status(seats) == "agreed"]
    contested = [
        f"#{point.entry} {point.speaker} ✗ {', '.join(point.contested)}"
        for point in state.points
        if point.compute_status(seats) == "contested"
    ]
    return [
        f"{words.agreed} {'; '.join(agreed) or words.nothing}",
        f"{words.contested} {'; '.join(contested) or words.nothing}",
    ]


def _format_request(words: PersonaPromptText, state: Meeting, seat: Seat, kind: str) -> str:
    match kind:
        case "position":
            return words.position.format()
        case "intent":
            extra = words.intent_decider if state.decider == seat.id else ""
            return words.intent.format(newest=state.about, seat=seat.id, decider=extra)
        case "speech":
            return words.speech
        case "draft":
            return words.draft.format(newest=state.last_id)
        case _:
            return words.stand.format(author=state.author)


def _format_utterance(words: PersonaPromptText, utterance: Utterance) -> str:
    answers = f", {words.answering} #{utterance.refers_to}" if utterance.refers_to else ""
    return f"[#{utterance.id} {utterance.speaker}{answers}]\n{quote_lines(utterance.text)}"


def _format_digest(line: Digest) -> str:
    return f"[#{line.id} {line.speaker}]\n{FENCE}{one_line(line.text)}"


def _find_subject(state: Meeting, kind: str) -> str:
    if kind == "stand" and state.draft is not None:
        return state.draft.decision.text
    latest = state.memory.latest
    return state.opened.topic if latest is None or kind in {"position", "draft"} else latest.text


def _count_ask(state: Meeting, ask: Ask) -> int:
    if ask.kind == "intent":
        return state.turn
    if ask.kind == "speech":
        return state.speeches.get(SeatId(ask.seat), 0) + 1
    return max(1, state.endings)


class _DraftValidator:
    """Validates a draft: every claim must name existing entries."""

    def __init__(self, newest: int) -> None:
        self._newest = newest

    def __call__(self, said: object) -> str | None:
        assert isinstance(said, Draft)
        claims = (said.decision, *said.reasons, *said.dissent, *said.open_questions)
        unknown = sorted({entry for claim in claims for entry in claim.entries if entry > self._newest})
        if unknown:
            return f"draft: entry {unknown[0]} does not exist; the entries are 1 to {self._newest}"
        bare = next((claim.text for claim in claims if not claim.entries), None)
        if bare is not None:
            return f"draft: {bare[:60]!r} names no entries; every claim names those (1 to {self._newest}) that it rests on"
        return None
