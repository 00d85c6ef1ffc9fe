"""The smallest protocol there is, for measuring: seats speak in turn, each shown the last messages, one call per turn."""

from collections.abc import Mapping
from dataclasses import dataclass

from moothall.domain.context import ContextWindow, Perception, Utterance
from moothall.domain.effects import AnswerForm, Ask, Brief, Effect, Record
from moothall.domain.facts import Closed, Entry, Fact, Opened, Reply
from moothall.domain.ids import ask_id

WINDOW = 6


@dataclass(frozen=True, slots=True, kw_only=True)
class Said:
    content: str


@dataclass(frozen=True, slots=True, kw_only=True)
class RingOpened(Opened):
    turns: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Spoke(Reply):
    said: Said


@dataclass(frozen=True, slots=True, kw_only=True)
class RingClosed(Closed):
    turns: int


@dataclass(frozen=True, slots=True)
class Ring:
    opened: RingOpened
    turn: int
    memory: ContextWindow
    is_closed: bool = False


class RingRules:
    name = "ring"
    kinds: Mapping[str, type[Fact]] = {
        "ring.opened": RingOpened,
        "ring.spoke": Spoke,
        "ring.closed": RingClosed,
    }
    forms: Mapping[str, AnswerForm] = {
        "speech": AnswerForm(kind="speech", reply=Spoke, shape=Said, form="text", max_tokens=300)
    }

    def initial(self, opened: Opened) -> Ring:
        assert isinstance(opened, RingOpened)
        return Ring(opened, 0, ContextWindow(window=WINDOW))

    def evolve(self, state: Ring, entry: Entry) -> Ring:
        fact = entry.fact
        if isinstance(fact, Spoke):
            heard = Utterance(id=state.turn + 1, speaker=fact.seat, text=fact.said.content)
            return Ring(state.opened, state.turn + 1, state.memory.add(heard, 0.5))
        if isinstance(fact, Closed):
            return Ring(state.opened, state.turn, state.memory, True)
        return state

    def decide(self, state: Ring) -> tuple[Effect, ...]:
        if state.is_closed:
            return ()
        if state.turn == state.opened.turns:
            return (Record(fact=RingClosed(turns=state.turn)),)
        seat = state.opened.seats[state.turn % len(state.opened.seats)].id
        return (
            Ask(
                id=ask_id(state.turn, "speech", seat),
                seat=seat,
                kind="speech",
                turn=state.turn,
                patience=60.0,
            ),
        )

    def brief(self, state: Ring, ask: Ask) -> Brief:
        shared = "\n".join(
            f"[#{heard.id} {heard.speaker}]\n| {heard.text}" for heard in state.memory.recent
        )
        return Brief(
            ask=ask,
            seat=next(seat for seat in state.opened.seats if seat.id == ask.seat),
            form=self.forms["speech"],
            language="en",
            seed=state.opened.seed,
            nth=state.turn,
            perception=Perception(goal=state.opened.topic, memory=state.memory),
            system="Speak.",
            shared=shared,
            own=f"You are {ask.seat}.",
        )


RING = RingRules()
