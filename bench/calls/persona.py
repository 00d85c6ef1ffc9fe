"""Persona meetings: what the settings `bids` and `ageing` cost and change, and what each kind of ask sends.

Five seats of one model talk for ten turns: two loud ones react with 0.9 and 0.8, three with 0.5, and all want to speak each time.
Tokens are counted roughly, at four characters each, over everything that is sent and answered.
"""

import json
from collections import Counter
from dataclasses import dataclass, field

from bench.calls.sessions import hold_session
from moothall.codec.adapters import as_json
from moothall.domain.budget import Budget
from moothall.domain.effects import Brief
from moothall.features.persona.facts import (
    Draft,
    DraftClaim,
    FloorGiven,
    Intent,
    JointBids,
    NamedIntent,
    PersonaSettings,
    PersonaSpeech,
    Position,
    Stand,
)
from moothall.ports.participant import Answer, NoAnswer, OnText
from moothall.reading.schemas import build_user_prompt

TURNS = 10
REACTIONS = {"seat1": 0.9, "seat2": 0.8, "seat3": 0.5, "seat4": 0.5, "seat5": 0.5}
SPEECH = (
    "We should cut a tenth of the cost of {who} by May, because the cash lasts for two quarters. "
    * 5
)
VARIANTS = {
    "apart": PersonaSettings(),
    "together": PersonaSettings(bids="together"),
    "apart, ageing 0.1": PersonaSettings(ageing=0.1),
    "together, ageing 0.1": PersonaSettings(bids="together", ageing=0.1),
}


@dataclass
class TalkingMind:
    """Answers at once, and counts calls and tokens by what it was asked for."""

    calls: Counter[str] = field(default_factory=Counter)
    sent: Counter[str] = field(default_factory=Counter)
    answered: Counter[str] = field(default_factory=Counter)

    async def ready(self) -> str | None:
        return None

    async def respond(self, brief: Brief, on_text: OnText) -> Answer | NoAnswer:
        kind, said = brief.ask.kind, answer_brief(brief)
        self.calls[kind] += 1
        self.sent[kind] += (len(brief.system) + len(build_user_prompt(brief))) // 4
        self.answered[kind] += len(json.dumps(as_json(said), ensure_ascii=False)) // 4
        return Answer(said=said)


def answer_brief(brief: Brief) -> object:
    """Return an answer to any ask of a persona meeting."""
    seat = brief.seat.id
    match brief.ask.kind:
        case "position":
            return Position(position="It depends on the cash.", confidence=0.6)
        case "intent":
            return Intent(
                reaction_score=REACTIONS[seat],
                intent_to_speak=True,
                reason="The cash was left out.",
            )
        case "bids":
            assert brief.schema is not None
            names = brief.schema["properties"]["bids"]["items"]["properties"]["node_id"]["enum"]
            return JointBids(
                bids=tuple(
                    NamedIntent(
                        node_id=name,
                        reaction_score=REACTIONS[name],
                        intent_to_speak=True,
                        reason="The cash was left out.",
                    )
                    for name in names
                )
            )
        case "speech":
            return PersonaSpeech(content=SPEECH.format(who=seat))
        case "draft":
            return Draft(decision=DraftClaim(text="Cut a tenth.", entries=(2,)), confidence=0.7)
        case _:
            return Stand(verdict="support", confidence=0.7, position="So be it.")


async def report_settings() -> list[str]:
    """Hold one meeting for each variant; return a line for each."""
    lines = [
        f"{'bids':<22}{'calls':>6}{'tokens in':>11}{'out':>6}{'speakers':>10}   calls by what was asked for"
    ]
    for name, settings in VARIANTS.items():
        mind = TalkingMind()
        facts = await hold_session("persona", mind, settings, Budget(turns=TURNS))
        speakers = {fact.seat for fact in facts if isinstance(fact, FloorGiven)}
        asked = ", ".join(f"{kind} {count}" for kind, count in mind.calls.items())
        lines.append(
            f"{name:<22}{mind.calls.total():>6}{mind.sent.total():>11}{mind.answered.total():>6}{len(speakers):>10}   {asked}"
        )
    return lines


async def report_asks() -> list[str]:
    """Return the tokens that one ask of each kind sends, on average over a meeting."""
    lines = [f"{'ask':<12}{'calls':>6}{'tokens each':>13}"]
    mind = TalkingMind()
    await hold_session("persona", mind, PersonaSettings(), Budget(turns=TURNS))
    await hold_session("persona", mind, PersonaSettings(bids="together"), Budget(turns=TURNS))
    return [
        *lines,
        *(
            f"{kind:<12}{mind.calls[kind]:>6}{mind.sent[kind] / mind.calls[kind]:>13.0f}"
            for kind in mind.calls
        ),
    ]
