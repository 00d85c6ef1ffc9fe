"""The rulebook port: a protocol is a set of pure functions over the facts of a ledger."""

from collections.abc import Iterable, Mapping
from typing import Protocol, TypeVar

from moothall.domain.effects import AnswerForm, Ask, Brief, Effect
from moothall.domain.facts import Entry, Fact, Opened

S = TypeVar("S")


class Rulebook(Protocol[S]):
    """The rules of one protocol. `decide` reads only the state, so that a restarted engine gets the same effects again.

    A rulebook may also have `answer_rules(state, ask) -> AnswerRules`: the part of its brief by which an answer is read. Then an
    answer that comes from outside costs no prompt.
    """

    @property
    def name(self) -> str: ...

    @property
    def kinds(self) -> Mapping[str, type[Fact]]:
        """The protocol's own facts by their stored names."""
        ...

    @property
    def forms(self) -> Mapping[str, AnswerForm]:
        """The kinds of answers that the protocol asks for."""
        ...

    def initial(self, opened: Opened) -> S: ...

    def evolve(self, state: S, entry: Entry) -> S:
        """Return the state after one more entry. Never raises, whatever the entry holds."""
        ...

    def decide(self, state: S) -> tuple[Effect, ...]: ...

    def brief(self, state: S, ask: Ask) -> Brief: ...


def fold(rules: Rulebook[S], opened: Opened, entries: Iterable[Entry]) -> S:
    """Return the state after the opening and these entries."""
    state = rules.initial(opened)
    for entry in entries:
        state = rules.evolve(state, entry)
    return state
